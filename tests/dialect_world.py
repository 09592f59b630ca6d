"""A policy that asks much of a dialect, on generated records, and the engines that can run its script for real."""

from __future__ import annotations

import datetime
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pyarrow as pa

import sqlanon
from sqlanon.dialects import dialect_named
from sqlanon.report.dialect_script import RELEASE, told_statements

COLUMNS = {
    "city": "VARCHAR", "age": "INTEGER", "seen": "DATE", "zip": "VARCHAR", 'a"b': "VARCHAR", "disease": "VARCHAR",
    "note": "INTEGER",
}  # fmt: skip
POLICY: dict[str, Any] = {
    "table": "people",
    "columns": {
        "city": {
            "role": "quasi_identifier",
            "hierarchy": {
                "levels": {
                    "Graz": ["south", "*"], "O'Hara\\": ["south", "*"], "Linz": ["north", "*"], "": ["north", "*"],
                },
            },
        },
        "age": {
            "role": "quasi_identifier",
            "hierarchy": {"intervals": {"width": 10, "fanouts": [2], "lower": 20, "upper": 60}},
        },
        "seen": {"role": "quasi_identifier", "hierarchy": {"dates": ["month", "quarter", "decade"]}},
        "zip": {"role": "quasi_identifier", "hierarchy": {"redact": {"steps": 2, "char": "'"}}},
        'a"b': {"role": "quasi_identifier", "hierarchy": {"redact": {"direction": "left"}}},
        "disease": {
            "role": "sensitive",
            "models": [{"type": "distinct_l_diversity", "l": 2}, {"type": "t_closeness", "t": 0.35}],
        },
        "note": {"role": "keep"},
    },
    "privacy": [{"type": "k_anonymity", "k": 4}],
    "suppression_limit": 0.1,
}  # fmt: skip


def records(number: int = 240, seed: int = 8) -> list[tuple[Any, ...]]:
    """Records in the order of ``COLUMNS``, with NULLs, quotes and backslashes, and dates before 1970."""
    rng = random.Random(seed)
    made = []
    for i in range(number):
        south = rng.random() < 0.6
        made.append((
            rng.choice(["Graz", "O'Hara\\", None] if south else ["Linz", ""]),
            rng.choice([None, *range(17, 64)]),
            datetime.date(rng.choice([1948, 1969]), rng.choice([1, 2, 5]), rng.randrange(1, 28)),
            f"8{rng.randrange(10, 13)}é",
            rng.choice(["x1", "y1", "y"]),
            rng.choice(["flu", "cold", "cold", "asthma", None]),
            i,
        ))  # fmt: skip
    return made


def duckdb_source(rows: Sequence[tuple[Any, ...]]) -> duckdb.DuckDBPyConnection:
    """The records in the table ``people`` of a database in memory."""
    connection = duckdb.connect()
    declared = ", ".join(f"{quoted(name)} {kind}" for name, kind in COLUMNS.items())
    connection.execute(f"CREATE TABLE people ({declared})")
    connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(COLUMNS))})", rows)
    return connection


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


Run = Callable[[str], list[tuple[Any, ...]]]


def sqlite_source(rows: Sequence[tuple[Any, ...]]) -> Run:
    """What runs statements on SQLite, where the records are."""
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE people ({', '.join(map(quoted, COLUMNS))})")
    told = [tuple(x.isoformat() if isinstance(x, datetime.date) else x for x in row) for row in rows]
    connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(COLUMNS))})", told)
    return lambda text: connection.execute(text).fetchall()


def literal(value: Any) -> str:
    """A value of the records as a literal of ClickHouse and PostgreSQL (``standard_conforming_strings``)."""
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def clickhouse_source(rows: Sequence[tuple[Any, ...]], session: Any) -> Run:
    """What runs statements in a session of chDB, where the records are."""
    types = {"VARCHAR": "Nullable(String)", "INTEGER": "Nullable(Int32)", "DATE": "Nullable(Date32)"}
    declared = ", ".join(f"{quoted(name)} {types[kind]}" for name, kind in COLUMNS.items())
    session.query(f"CREATE TEMPORARY TABLE people ({declared})")
    told = ", ".join(f"({', '.join(literal(x).replace(chr(92), chr(92) * 2) for x in row)})" for row in rows)
    session.query(f"INSERT INTO people VALUES {told}")

    def run(text: str) -> list[tuple[Any, ...]]:
        answer = session.query(text, "Arrow").bytes()
        if not answer:
            return []
        table = pa.ipc.open_file(pa.BufferReader(answer)).read_all()
        found = list(zip(*[column.to_pylist() for column in table.columns], strict=True))
        return [tuple(x.decode() if isinstance(x, bytes) else x for x in row) for row in found]

    return run


def postgres_source(rows: Sequence[tuple[Any, ...]], cursor: Any) -> Run:
    """What runs statements in a session of PostgreSQL, where the records are."""
    types = {"VARCHAR": "TEXT", "INTEGER": "INTEGER", "DATE": "DATE"}
    declared = ", ".join(f"{quoted(name)} {types[kind]}" for name, kind in COLUMNS.items())
    cursor.execute(f"CREATE TEMPORARY TABLE people ({declared})")
    told = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    cursor.execute(f"INSERT INTO people VALUES {told}")

    def run(text: str) -> list[tuple[Any, ...]]:
        cursor.execute(text)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    return run


class Ran:
    """What came of a script: the rows of its batch, of the release, and of the audits that gave any."""

    def __init__(self, plan: sqlanon.Plan, dialect: str, run: Run, *, source_table: str | None = None) -> None:
        self.verdicts: list[tuple[Any, ...]] = []
        self.encoded = 0
        self.offending: dict[str, int] = {}
        self.audits = 0
        for told in told_statements(plan.script_parts(), dialect_named(dialect), source_table=source_table):
            try:
                rows = run(told.text)
            except Exception as error:
                raise AssertionError(f"{told.title}: {error}\n{told.text}") from error
            if told.title.startswith("the verdicts"):
                self.verdicts = rows
            elif told.title == "records that were encoded":
                self.encoded = int(rows[0][0])
            elif told.title.startswith("audit"):
                self.audits += 1
                if rows:
                    self.offending[told.title] = len(rows)
        quote = dialect_named(dialect).writes
        columns = ", ".join(sqlanon_quoted(name, quote) for name in plan._released())
        self.released = multiset(run(f"SELECT {columns} FROM {sqlanon_quoted(RELEASE, quote)}"))


def sqlanon_quoted(name: str, dialect: str) -> str:
    from sqlglot import exp

    return exp.to_identifier(name, quoted=True).sql(dialect=dialect)


def multiset(rows: Sequence[tuple[Any, ...]]) -> Counter[tuple[str | None, ...]]:
    """Rows as texts, however often each."""
    return Counter(tuple(None if x is None else str(x) for x in row) for row in rows)
