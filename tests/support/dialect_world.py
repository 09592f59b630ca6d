"""A policy that asks much of a dialect, on generated records, and the engines that can run its script for real."""

import datetime
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from policies import document_of, quasi
from sqlglot import exp

import sqlanon
from sqlanon.interop.scripts.dialects import DIALECTS, dialect_named
from sqlanon.interop.scripts.dialects.base import ASOF, WIDE, Dialect, Lacks
from sqlanon.interop.scripts.parts import RELEASE, STAGED
from sqlanon.interop.scripts.statements import script_statements
from sqlanon.interop.scripts.warehouse import script_in, script_parts

COLUMNS = {
    "city": "VARCHAR", "age": "INTEGER", "seen": "DATE", "zip": "VARCHAR", "order": "VARCHAR", "disease": "VARCHAR",
    "note": "INTEGER",
}  # fmt: skip
POLICY: dict[str, Any] = document_of(
    {
        "city": quasi(
            {"levels": {"Graz": ["south", "*"], "O'Hara\\": ["south", "*"], "Linz": ["north", "*"], "": ["north", "*"]}}
        ),
        "age": quasi({"intervals": {"width": 10, "fanouts": [2], "lower": 20, "upper": 60}}),
        "seen": quasi({"dates": ["month", "quarter", "decade"]}),
        "zip": quasi({"redact": {"steps": 2, "char": "'"}}),
        "order": quasi({"redact": {"direction": "left"}}),
        "disease": {
            "role": "sensitive",
            "models": [{"type": "distinct_l_diversity", "l": 2}, {"type": "t_closeness", "t": 0.35}],
        },
        "note": "keep",
    },
    k=4,
    table="people",
    accept=["note"],
    suppression_limit=0.1,
)


def records(number: int = 240, seed: int = 8) -> list[tuple[Any, ...]]:
    """Records in the order of ``COLUMNS``, with NULLs, quotes and backslashes, and dates before 1970."""
    rng = random.Random(seed)
    built = []
    for i in range(number):
        south = rng.random() < 0.6
        built.append((
            rng.choice(["Graz", "O'Hara\\", None] if south else ["Linz", ""]),
            rng.choice([None, *range(17, 64)]),
            datetime.date(rng.choice([1948, 1969]), rng.choice([1, 2, 5]), rng.randrange(1, 28)),
            f"8{rng.randrange(10, 13)}é",
            rng.choice(["x1", "y1", "y"]),
            rng.choice(["flu", "cold", "cold", "asthma", None]),
            i,
        ))  # fmt: skip
    return built


@dataclass(frozen=True)
class Table:
    """A table of a source: columns with DuckDB's types, and rows."""

    name: str
    columns: dict[str, str]
    rows: list[tuple[Any, ...]]

    def created(self, types: Mapping[str, str]) -> str:
        declared = ", ".join(f"{quoted(name)} {types.get(kind, kind)}" for name, kind in self.columns.items())
        return f"TABLE {self.name} ({declared})"

    def inserted(self, literal: Callable[[Any], str]) -> str:
        reported = ", ".join(f"({', '.join(map(literal, row))})" for row in self.rows)
        return f"INSERT INTO {self.name} VALUES {reported}"


def people(number: int = 240) -> Table:
    """The table of ``POLICY``."""
    return Table("people", COLUMNS, records(number))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """A value as a literal of standard SQL."""
    if value is None or isinstance(value, bool | int):
        return "NULL" if value is None else str(value).upper()
    return "'" + str(value).replace("'", "''") + "'"


Run = Callable[[str], list[tuple[Any, ...]]]


def in_duckdb(table: Table) -> duckdb.DuckDBPyConnection:
    """A database in memory with the table."""
    connection = duckdb.connect()
    connection.execute(f"CREATE {table.created({})}")
    if table.rows:
        connection.execute(table.inserted(literal))
    return connection


def duckdb_run(table: Table) -> Run:
    """What runs statements on another DuckDB with the table."""
    connection = in_duckdb(table)
    return lambda text: connection.execute(text).fetchall()


def sqlite_run(table: Table) -> Run:
    """What runs statements on SQLite with the table; dates are texts there."""
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE {table.created({'DATE': 'TEXT', 'VARCHAR': 'TEXT'})}")
    if table.rows:
        connection.execute(table.inserted(literal))
    return lambda text: connection.execute(text).fetchall()


def plain(value: Any) -> Any:
    """A value of chDB's Arrow: texts, and integers of 128 bits, arrive as bytes there."""
    if not isinstance(value, bytes):
        return value
    return int.from_bytes(value, "little", signed=True) if len(value) == 16 else value.decode()


def clickhouse_run(table: Table, session: Any) -> Run:
    """What runs statements in a session of chDB with the table."""
    types = {"VARCHAR": "String", "INTEGER": "Int32", "BIGINT": "Int64", "DATE": "Date32", "BOOLEAN": "Bool"}
    session.query("CREATE TEMPORARY " + table.created({k: f"Nullable({v})" for k, v in types.items()}))
    if table.rows:
        session.query(table.inserted(lambda value: literal(value).replace("\\", "\\\\")))

    def run(text: str) -> list[tuple[Any, ...]]:
        answer = session.query(text, "Arrow").bytes()
        if not answer:
            return []
        found = pa.ipc.open_file(pa.BufferReader(answer)).read_all()
        return list(zip(*[list(map(plain, column.to_pylist())) for column in found.columns], strict=True))

    return run


def postgres_run(table: Table, cursor: Any) -> Run:
    """What runs statements in a session of PostgreSQL with the table; wide sums arrive as texts of digits."""
    cursor.execute("CREATE TEMPORARY " + table.created({"VARCHAR": "TEXT"}))
    if table.rows:
        cursor.execute(table.inserted(literal))

    def run(text: str) -> list[tuple[Any, ...]]:
        cursor.execute(text)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    return run


class Ran:
    """What came of a script: the rows of its batch, of the release, and of the audits that gave any.

    Drops what the script made, so that a session can run another.

    Raises:
        UnsupportedError: the dialect lacks something; nothing was run then.
    """

    def __init__(self, plan: sqlanon.Plan, dialect: str, run: Run, *, source_table: str | None = None) -> None:
        self.verdicts: list[tuple[Any, ...]] = []
        self.encoded = 0
        self.offending: dict[str, int] = {}
        self.audits = 0
        parts = script_parts(plan)
        writes = dialect_named(dialect).writes
        for statement in list(script_statements(parts, dialect_named(dialect), source_table=source_table)):
            try:
                rows = run(statement.audit or statement.text)
            except Exception as error:
                raise AssertionError(f"{statement.title}: {error}\n{statement.text}") from error
            if statement.title.startswith("the verdicts"):
                self.verdicts = rows
            elif statement.title == "records that were encoded":
                self.encoded = int(rows[0][0])
            elif statement.title.startswith("audit"):
                self.audits += 1
                if statement.audit is not None and not rows:
                    run(statement.text)  # which fails where there are any
                if rows:
                    self.offending[statement.title] = len(rows)
        columns = ", ".join(name_in(name, writes) for name in parts.released)
        self.released = multiset(run(f"SELECT {columns} FROM {name_in(RELEASE, writes)}"))
        built = [tree.this.name for _, tree in parts.encoding if isinstance(tree, exp.Create)]
        for name in {RELEASE, STAGED, *built}:
            run(f"DROP TABLE IF EXISTS {name_in(name, writes)}")


def name_in(name: str, writes: str) -> str:
    """A quoted name in a dialect of sqlglot."""
    return exp.to_identifier(name, quoted=True).sql(dialect=writes)


def multiset(rows: Sequence[tuple[Any, ...]]) -> Counter[tuple[str | None, ...]]:
    """Rows as texts, however often each."""
    return Counter(tuple(None if x is None else str(x) for x in row) for row in rows)


GOLDEN = Path(__file__).parents[1] / "golden" / "dialects"
WAREHOUSES = ("bigquery", "databricks", "snowflake", "trino")
"""The dialects with a golden file: there are engines for the others, and their scripts are run."""
CITIES = ("Graz", "O'Hara\\", "Linz", "")
TWO_COLUMNS = {
    "city": quasi({"levels": {city: ["*"] for city in CITIES}}),
    "seen": {"role": "quasi_identifier", "hierarchy": {"dates": ["decade"]}},
}
"""What golden files are about: few enough columns to be read."""
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "dialects.md"
BEGIN, END = "<!-- lacking: begin -->", "<!-- lacking: end -->"


def scripts() -> dict[str, str]:
    """The script of ``POLICY`` in every dialect."""
    with in_duckdb(people()) as connection, sqlanon.plan(connection, POLICY) as plan:
        return {dialect.name: script_in(plan, dialect.name, run="0a1b2c3d") for dialect in DIALECTS}


def golden_scripts() -> dict[str, str]:
    """The statements of a script of ``TWO_COLUMNS`` in the warehouses' dialects, the first one of each title."""
    columns = {name: TWO_COLUMNS.get(name, {"role": "drop"}) for name in COLUMNS}
    policy = sqlanon.Policy.from_dict({**POLICY, "columns": columns, "accept": []})
    with in_duckdb(people()) as connection, sqlanon.plan(connection, policy) as plan:
        return {name: first_of_each(script_in(plan, name, run="0a1b2c3d")) for name in WAREHOUSES}


def first_of_each(script: str) -> str:
    """A script without the statements whose title stands above an earlier one, but for the column that it names."""
    head, *statements = re.split(r"(?m)^(?=-- \d+\. )", script)
    titled: dict[str, str] = {}
    for statement in statements:
        title = statement.split(". ", 1)[1].split("\n")[0]
        titled.setdefault(re.sub(r" of \w+:.*", "", title), statement)
    return head + "".join(titled.values())


def lacking(dialect: Dialect) -> dict[str, Lacks]:
    """What a dialect lacks, by reason."""
    said = [*dialect.rules.values(), *dialect.types.values(), *dialect.functions.values(), *dialect.patterns.values()]
    found = [item for item in said if isinstance(item, Lacks)]
    found += [*([] if dialect.asof else [ASOF]), *([] if dialect.wide_literals else [WIDE])]
    return {item.reason: item for item in found}


def lacking_table() -> str:
    """What each dialect lacks, as a table of the documentation."""
    reasons = {reason: item.hint for dialect in DIALECTS for reason, item in lacking(dialect).items()}
    titles = [dialect.name for dialect in DIALECTS]
    lines = [f"| lacks | {' | '.join(titles)} | instead |", "|---" * (len(titles) + 2) + "|"]
    for reason, hint in sorted(reasons.items()):
        marks = ["×" if reason in lacking(dialect) else "" for dialect in DIALECTS]
        lines.append(f"| {reason} | {' | '.join(marks)} | {hint} |")
    return "\n".join(lines)


if __name__ == "__main__":  # writes the golden files and the table of the documentation
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name, script in golden_scripts().items():
        (GOLDEN / f"{name}.sql").write_text(script, encoding="utf-8")
    before, rest = DOCUMENT.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    DOCUMENT.write_text(f"{before}{BEGIN}\n{lacking_table()}\n{END}{after}", encoding="utf-8")
