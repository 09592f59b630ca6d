"""Relations over files that DuckDB reads, and writing a table into a database file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from sqlanon.engines.duckdb.dialect import quoted
from sqlanon.errors import SourceError


def file_relation(path: Path, csv: Mapping[str, Any]) -> exp.Expr:
    """Return the table function that reads a Parquet or CSV file; CSV is read as text.

    Only an unquoted empty field of a CSV file is NULL, unless ``csv`` has a ``null`` text. No line is a comment: DuckDB
    would leave out records whose first text begins with ``#``.

    Raises:
        SourceError: the file's ending is not known.
    """
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return parquet_relation([path])
    if suffix in (".csv", ".tsv", ".txt"):
        options: dict[str, exp.Expr] = {
            "delim": exp.Literal.string(csv.get("delimiter") or ("\t" if suffix == ".tsv" else ",")),
            "quote": exp.Literal.string(csv.get("quote") or '"'),
            "nullstr": exp.Literal.string(csv.get("null") or ""),
            "encoding": exp.Literal.string(csv.get("encoding") or "utf-8"),
            "header": exp.Boolean(this=csv.get("header", True)),
            "all_varchar": exp.true(),
            "allow_quoted_nulls": exp.false(),
            "null_padding": exp.false(),
            "strict_mode": exp.true(),
            "comment": exp.Literal.string(""),
        }
        if not csv.get("header", True):
            options["skip"] = exp.Literal.number(0)  # with a header, blank lines may stand before it
        arguments: list[exp.Expr] = [exp.Literal.string(str(path))]
        arguments += [exp.PropertyEQ(this=exp.to_identifier(name), expression=value) for name, value in options.items()]
        return exp.Table(this=exp.Anonymous(this="read_csv", expressions=arguments))
    raise SourceError(
        f"The source file {path.name!r} has an ending that is not known.",
        hint="give a .duckdb, .db, .parquet, .csv, .tsv or .xml file, or an open DuckDB connection.",
    )


def parquet_relation(files: Sequence[Path]) -> exp.Expr:
    """Return the table function that reads Parquet files with the same columns."""
    listed: list[exp.Expr] = [exp.Literal.string(str(file)) for file in files]
    read = listed[0] if len(listed) == 1 else exp.Array(expressions=listed)
    return exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[read]))


def write_table(path: Path, table: str, data: pa.Table) -> None:
    """Write an Arrow table into a DuckDB file, which is created if it does not exist."""
    with duckdb.connect(str(path)) as connection:
        connection.register("data", data)
        connection.execute(f"CREATE TABLE {quoted(table)} AS SELECT * FROM data")
