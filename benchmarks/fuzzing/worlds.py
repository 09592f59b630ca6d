"""Sources are written, and releases read, by the databases' own drivers: nothing here comes from the package."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import yaml

from fuzzing.cases import Case
from fuzzing.columns import Text, canonical

Row = tuple[Text, ...]


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def write_source(case: Case, uri: str | None = None) -> None:
    """Write the table of a case, and its policy as ``policy.yaml``."""
    path = case.folder / case.place
    if case.source == "csv":
        _write_csv(case, path)
    elif case.source == "sqlite":
        with closing(sqlite3.connect(path)) as connection, connection:
            declared = {"VARCHAR": "TEXT", "BIGINT": "INTEGER"}
            columns = ", ".join(f"{quoted(c.name)} {declared[c.type]}" for c in case.columns)
            connection.execute(f"CREATE TABLE t ({columns})")
            marks = ", ".join("?" for _ in case.columns)
            connection.executemany(f"INSERT INTO t VALUES ({marks})", _rows(case))
    elif case.source == "postgres":
        assert uri is not None
        _write_postgres(case, uri)
        case.place = case.document["source"] = uri
    else:
        _write_duckdb(case, path)
    text = yaml.safe_dump(case.document, allow_unicode=True, sort_keys=False)
    (case.folder / "policy.yaml").write_text(text, encoding="utf-8")


def _rows(case: Case) -> list[Row]:
    return list(zip(*[column.values for column in case.columns], strict=True))


def _write_csv(case: Case, path: Path) -> None:
    """NULL is an empty field, and an empty text a quoted one."""
    delimiter = case.delimiter

    def cell(value: Text) -> str:
        return "" if value is None else '"' + value.replace('"', '""') + '"'

    lines = [[column.name for column in case.columns], *_rows(case)]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(delimiter.join(map(cell, line)) + "\n" for line in lines)


def _write_duckdb(case: Case, path: Path) -> None:
    database = path if case.source == "duckdb" else ":memory:"
    data = pa.table({f"c{i}": pa.array(column.values, pa.string()) for i, column in enumerate(case.columns)})
    casts = ", ".join(f"CAST(c{i} AS {column.type}) AS {quoted(column.name)}" for i, column in enumerate(case.columns))
    with duckdb.connect(str(database)) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("given", data)
        connection.execute(f"CREATE TABLE t AS SELECT {casts} FROM given")
        if case.source == "parquet":
            connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")


def _write_postgres(case: Case, uri: str) -> None:
    from adbc_driver_postgresql import dbapi

    columns = ", ".join(f"{quoted(c.name)} {'text' if c.type == 'VARCHAR' else c.type}" for c in case.columns)
    values = ", ".join(
        "(" + ", ".join("NULL" if v is None else "'" + v.replace("'", "''") + "'" for v in row) + ")"
        for row in _rows(case)
    )
    with closing(dbapi.connect(uri, autocommit=True)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA IF NOT EXISTS fuzz")
        cursor.execute(f"CREATE TABLE fuzz.t{case.seed} ({columns})")
        if values:
            cursor.execute(f"INSERT INTO fuzz.t{case.seed} VALUES {values}")


def read_release(case: Case, document: dict[str, Any]) -> tuple[list[str], list[Row]] | None:
    """Return the columns and rows of a release, as texts; None where nothing was published, or as XML."""
    [(kind, place)] = document["output"].items() if document["output"] else [(None, "")]
    if kind is None or place.endswith(".xml"):
        return None
    if kind == "file" and place.endswith(".csv"):
        return _read_csv(Path(place))
    if kind == "file" and place.endswith(".parquet"):
        return _read_duckdb(":memory:", f"read_parquet('{place}')")
    if kind == "file":
        return _read_duckdb(place, "release")
    name = ".".join(map(quoted, place.split("."))) if case.source != "sqlite" else quoted(place)
    if case.source == "sqlite":
        with closing(sqlite3.connect(case.folder / case.place)) as connection:
            return _fetched(connection.execute(f"SELECT * FROM {name}"))
    if case.source == "postgres":
        from adbc_driver_postgresql import dbapi

        with closing(dbapi.connect(case.place)) as server, server.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {name}")
            return _fetched(cursor)
    return _read_duckdb(str(case.folder / case.place), name)


def _fetched(cursor: Any) -> tuple[list[str], list[Row]]:
    names = [entry[0] for entry in cursor.description]

    def text(value: Any) -> Text:
        return str(value).lower() if isinstance(value, bool) else value if value is None else str(value)

    return names, [tuple(map(text, row)) for row in cursor.fetchall()]


def _read_csv(path: Path) -> tuple[list[str], list[Row]]:
    """A field that is empty and not quoted is NULL; Python's own reader cannot tell it from an empty text."""
    options = "header = true, all_varchar = true, allow_quoted_nulls = false, nullstr = '', quote = '\"', escape = '\"'"
    names, rows = _read_duckdb(
        ":memory:", f"read_csv('{path}', delim = ',', auto_detect = false, columns = {_header(path)}, {options})"
    )
    return names, rows


def _header(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        names = next(csv.reader(file))
    return "{" + ", ".join("'" + name.replace("'", "''") + "': 'VARCHAR'" for name in names) + "}"


def _read_duckdb(database: str, relation: str) -> tuple[list[str], list[Row]]:
    with duckdb.connect(database, read_only=database != ":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        described = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
        names, types = [row[0] for row in described], [row[1] for row in described]
        casts = ", ".join(f"CAST(r.{quoted(name)} AS VARCHAR)" for name in names)
        rows = connection.execute(f"SELECT {casts} FROM {relation} AS r").fetchall()
    return names, [tuple(map(_plain, row, types)) for row in rows]


def _plain(text: Text, type_name: str) -> Text:
    """-0.0 reads like 0.0, as it does in the package."""
    return canonical(type_name, text) if type_name in ("FLOAT", "DOUBLE") else text


def papers(folder: Path) -> Sequence[tuple[str, str]]:
    """Return the papers of a release, which recipients may read: names and texts."""
    found = [*folder.glob("*.manifest.json"), *folder.glob("*certificate.json"), *folder.glob("report.*")]
    return [(path.name, path.read_text(encoding="utf-8")) for path in found]


def strict_json(text: str) -> Any:
    """Return the one document of a text; a number that JSON does not know is an error."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)
