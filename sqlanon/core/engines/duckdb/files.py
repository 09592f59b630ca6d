"""Relations over files that DuckDB reads, and writing a table into a database file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.duckdb.dialect import quoted
from sqlanon.errors import SourceError

GLOB = "*?["
"""Characters that make a pattern of a path."""


def literal_path(path: Path) -> str:
    """Return the text by which DuckDB reads this very file, whatever characters its path has.

    >>> literal_path(Path("/data/q[12]?.csv"))
    '/data/q[[]12][?].csv'

    Raises:
        SourceError: it has a backslash beside a character of patterns, which DuckDB cannot express.
    """
    text = str(path)
    if not any(character in text for character in GLOB):
        return text
    if "\\" in text:
        raise SourceError(
            f"The path of {path.name!r} has a backslash and a *, ? or [, so that DuckDB cannot read it.",
            hint="rename the file or its folder.",
        )
    return "".join(f"[{character}]" if character in GLOB else character for character in text)


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How a CSV file is written; the defaults are what a release is.

    Attributes:
        null: the text that, unquoted, is NULL.
        skip: lines above the header, or above the first record.
        compression: ``none``, ``gzip``, ``zstd`` or ``zip``, of which DuckDB reads the others alone.
        skip_last: records at the end that are not read; DuckDB would read them.
    """

    delimiter: str = ","
    quote: str = '"'
    null: str = ""
    encoding: str = "utf-8"
    header: bool = True
    skip: int = 0
    compression: str = "none"
    skip_last: int = 0


def csv_relation(files: Sequence[Path], columns: Sequence[str], form: CsvForm, *, ordered: bool = False) -> exp.Table:
    """Return the table function that reads CSV files as text, with nothing about it left to be sniffed.

    No line is a comment: DuckDB would leave out records whose first text begins with ``#``.

    Args:
        columns: of the files, in order; their headers are passed over.
        ordered: the records come in their order, by one thread.
    """
    texts = [
        exp.PropertyEQ(this=exp.Literal.string(name), expression=exp.Literal.string("VARCHAR")) for name in columns
    ]
    options: dict[str, exp.Expr] = {
        "columns": exp.Struct(expressions=texts),
        "auto_detect": exp.false(),
        "delim": exp.Literal.string(form.delimiter),
        "quote": exp.Literal.string(form.quote),
        "escape": exp.Literal.string(form.quote),
        "nullstr": exp.Literal.string(form.null),
        "encoding": exp.Literal.string(form.encoding),
        "header": exp.Boolean(this=form.header),
        "skip": exp.Literal.number(form.skip),
        "compression": exp.Literal.string(form.compression),
        "hive_partitioning": exp.false(),
        "allow_quoted_nulls": exp.false(),
        "null_padding": exp.false(),
        "strict_mode": exp.true(),
        "comment": exp.Literal.string(""),
    }
    if ordered:
        options["parallel"] = exp.false()
    return _reader("read_csv", map(literal_path, files), options)


def listing_file(path: Path, delimiter: str) -> exp.Table:
    """Return the table function that reads the first field of each line of a hierarchy file, as ``listed``."""
    options: dict[str, exp.Expr] = {
        "delim": exp.Literal.string(delimiter),
        "header": exp.false(),
        "all_varchar": exp.true(),
        "names": exp.Array(expressions=[exp.Literal.string("listed")]),
    }
    return _reader("read_csv", [literal_path(path)], options)


def parquet_relation(
    files: Sequence[Path], *, partitions: Mapping[str, str] | None = None, path: str | None = None
) -> exp.Table:
    """Return the table function that reads Parquet files with the same columns.

    Args:
        partitions: folders called ``key=value`` are columns, of these types or texts; None: a path says nothing about
            its records.
        path: a further column, with the path of the file that a record is in.
    """
    if partitions is None:
        shown: dict[str, exp.Expr] = {} if path is None else {"filename": exp.Literal.string(path)}
        return _reader("read_parquet", map(literal_path, files), {"hive_partitioning": exp.false(), **shown})
    options: dict[str, exp.Expr] = {"hive_partitioning": exp.true(), "hive_types_autocast": exp.false()}
    if partitions:
        types = [
            exp.PropertyEQ(this=exp.Literal.string(name), expression=exp.Literal.string(kind))
            for name, kind in partitions.items()
        ]
        options["hive_types"] = exp.Struct(expressions=types)
    return _reader("read_parquet", map(literal_path, files), options)


def partitions_relation(folder: Path, *, inside: bool = False) -> exp.Table:
    """Return the table function that reads a folder of partitions: its folders ``key=value`` are columns of texts.

    Args:
        inside: only what the files hold by themselves.
    """
    options: dict[str, exp.Expr] = {
        "hive_partitioning": exp.Boolean(this=not inside),
        "hive_types_autocast": exp.false(),
        "union_by_name": exp.true(),
    }
    return _reader("read_parquet", [f"{literal_path(folder)}/**/*.parquet"], options)


def object_relation(url: str) -> exp.Table:
    """Return the table function that reads Parquet files in an object store; a ``*`` in the URL is a pattern."""
    return _reader("read_parquet", [url], {"hive_partitioning": exp.false()})


def _reader(function: str, paths: Iterable[str], options: Mapping[str, exp.Expr]) -> exp.Table:
    listed: list[exp.Expr] = [exp.Literal.string(path) for path in paths]
    read = listed[0] if len(listed) == 1 else exp.Array(expressions=listed)
    named = [exp.PropertyEQ(this=exp.to_identifier(name), expression=value) for name, value in options.items()]
    return exp.Table(this=exp.Anonymous(this=function, expressions=[read, *named]))


def write_table(path: Path, table: str, batches: Iterable[pa.Table]) -> None:
    """Write Arrow tables of the same columns, one at least, into a DuckDB file, which is created if it is not there."""
    with duckdb.connect(str(path)) as connection:
        for number, data in enumerate(batches):
            connection.register("data", data)
            into = f"INSERT INTO {quoted(table)}" if number else f"CREATE TABLE {quoted(table)} AS"
            connection.execute(f"{into} SELECT * FROM data")
