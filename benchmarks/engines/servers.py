"""A run, its verification and its script on a database that is no DuckDB, beside the plain GROUP BY of its classes.

    python benchmarks/engines/servers.py --records 200000                               # a server of its own
    python benchmarks/engines/servers.py --records 2000000 --url postgresql:///scratch  # yours
    python benchmarks/engines/servers.py --engine sqlite --records 1000000 --nine       # a file in a temporary folder

``--nine`` publishes with nine quasi-identifiers in place of seven. Generated discharges (``commands/demo_world.py``)
are written to the table ``sqlanon_benchmark``. Fails when the ledger does not add up to the records, a class of a
release has fewer than k records, the certificate does not hold, or the script publishes another number of records than
the run. Seconds are information, ``cpu`` those of processors that this process took for the run; ``times`` is the run
by the plain GROUP BY over what was published.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any, Protocol

import yaml

import sqlanon
from sqlanon.commands.demo_world import POLICY, codes, discharge_batches
from sqlanon.interop.scripts.warehouse import script_in

TABLE, RELEASE = "sqlanon_benchmark", "sqlanon_benchmark_release"
SCRIPTED = "sqlanon_release"
"""The table that a script publishes into."""
K = 5
NINE = {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in ("department", "discharge_to")}
"""The columns that are quasi-identifiers besides those of the demo's policy."""

Figures = dict[str, Any]


class Database(Protocol):
    """A database: how records get there, and how plain SQL and scripts are run in it."""

    source: str
    dialect: str

    def write(self, records: int) -> None:
        """Create the source."""

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""

    def script(self, text: str) -> None:
        """Run a script as an operator would."""


class Postgres:
    """A database of PostgreSQL: how records get there, and how plain SQL is run in it."""

    dialect = "postgres"

    def __init__(self, url: str) -> None:
        self.source = url

    def write(self, records: int) -> None:
        """Create the source."""
        from adbc_driver_postgresql import dbapi

        with closing(dbapi.connect(self.source, autocommit=True)) as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
            for number, batch in enumerate(discharge_batches(records)):
                cursor.adbc_ingest(TABLE, batch, mode="append" if number else "create")

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        from adbc_driver_postgresql import dbapi

        with closing(dbapi.connect(self.source, autocommit=True)) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall()) if statement.startswith("SELECT") else []

    def script(self, text: str) -> None:
        """Run a script as an operator would."""
        command = ["psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--output=/dev/null", self.source]
        subprocess.run(command, input=text, text=True, check=True)


class SQLite:
    """A file of SQLite."""

    dialect = "sqlite"

    def __init__(self, path: str) -> None:
        self.source = path

    def write(self, records: int) -> None:
        """Create the source; dates are texts of the form YYYY-MM-DD."""
        with closing(sqlite3.connect(self.source)) as connection, connection:
            for number, batch in enumerate(discharge_batches(records)):
                if not number:
                    kinds = {"int": "INTEGER", "dat": "DATE"}
                    listed = ", ".join(
                        f"{field.name} {kinds.get(str(field.type)[:3], 'TEXT')}" for field in batch.schema
                    )
                    connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
                    connection.execute(f"CREATE TABLE {TABLE} ({listed})")
                dated = [
                    column.cast("string") if str(column.type).startswith("date") else column for column in batch.columns
                ]
                marks = ", ".join("?" * batch.num_columns)
                rows = zip(*(column.to_pylist() for column in dated), strict=True)
                connection.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", rows)

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        with closing(sqlite3.connect(self.source)) as connection, connection:
            return list(connection.execute(statement).fetchall())

    def script(self, text: str) -> None:
        """Run a script as an operator would."""
        subprocess.run(["sqlite3", "-bail", self.source], input=text, text=True, check=True, stdout=subprocess.DEVNULL)


ENGINES: dict[str, Callable[[str], Database]] = {"postgres": Postgres, "sqlite": SQLite}


def own_server() -> Any:
    """Start a PostgreSQL in a temporary folder, which the tests use too."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))
    import postgres_server

    return postgres_server.server()


def policy_of(folder: Path, source: str, output: dict[str, str], *, nine: bool) -> sqlanon.Policy:
    """Return the demo's policy for the source, of seven quasi-identifiers, or of ``nine``."""
    (folder / "hierarchies").mkdir(exist_ok=True)
    rows = "".join(f"{code};{group};{chapter};*\n" for code, group, chapter in codes())
    (folder / "hierarchies" / "diagnosis.csv").write_text(rows)
    document = yaml.safe_load(POLICY) | {"source": source, "table": TABLE, "output": output}
    document.pop("report")
    if nine:
        document["columns"] |= NINE
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return sqlanon.Policy.from_file(path)


def timed(seconds: dict[str, float], name: str, work: Callable[[], Any]) -> Any:
    """Return the result of ``work`` and note its seconds."""
    start = time.perf_counter()
    result = work()
    seconds[name] = round(time.perf_counter() - start, 2)
    return result


def smallest_class(database: Database, relation: str, quasi: list[str]) -> tuple[int, int]:
    """Return the size of the smallest class of a relation and the number of its records."""
    listed = ", ".join(quasi)
    query = f"SELECT MIN(n), CAST(SUM(n) AS BIGINT) FROM (SELECT COUNT(*) AS n FROM {relation} GROUP BY {listed}) AS c"
    least, total = database.run(query)[0]
    return int(least), int(total)


def slowest(entries: Any) -> dict[str, float]:
    """Return the seconds of the statements that took most, by name."""
    seconds: dict[str, float] = {}
    for entry in entries:
        seconds[entry.name] = seconds.get(entry.name, 0.0) + entry.seconds
    return {name: round(spent, 2) for name, spent in sorted(seconds.items(), key=lambda item: -item[1])[:12]}


def measured(database: Database, folder: Path, records: int, *, nine: bool) -> Figures:
    """Run everything once and check the answers."""
    seconds: dict[str, float] = {}
    timed(seconds, "write source", lambda: database.write(records))
    policy = policy_of(folder, database.source, {"table": RELEASE}, nine=nine)
    quasi = [column.name for column in policy.quasi_identifiers]
    begun = time.process_time()
    with timed(seconds, "run", lambda: sqlanon.anonymize(None, policy)) as release:
        cpu, ledger, parts = time.process_time() - begun, release.ledger, release.seconds
        entries = release.plan.engine.journal.entries
    faults = []
    if ledger.records != records or ledger.published + ledger.suppressed + ledger.excluded != records:
        faults.append("the ledger does not add up")
    least, published = timed(seconds, "plain GROUP BY", lambda: smallest_class(database, RELEASE, quasi))
    if least < K or published != ledger.published:
        faults.append(f"the release has {published} records and a class of {least}")
    filed = policy_of(folder, database.source, {"file": "released.parquet"}, nine=nine)
    with sqlanon.anonymize(None, filed):
        pass
    certificate = folder / "released.parquet.certificate.json"
    verified = timed(seconds, "verify", lambda: sqlanon.verify(certificate, filed))
    faults += verified.faults
    with sqlanon.plan(None, policy) as plan:
        text = script_in(plan, database.dialect, run="")
    database.run(f"DROP TABLE IF EXISTS {SCRIPTED}")
    timed(seconds, "script", lambda: database.script(text))
    if smallest_class(database, SCRIPTED, quasi) != (least, published):
        faults.append("the script publishes other records than the run")
    for relation in (TABLE, RELEASE, SCRIPTED):
        database.run(f"DROP TABLE IF EXISTS {relation}")
    return {
        "records": records,
        "published": published,
        "nodes verified": verified.nodes,
        "seconds": seconds,
        "cpu": round(cpu, 2),
        "parts of the run": {name: round(spent, 2) for name, spent in parts.items()},
        "statements": len(entries),
        "slowest": slowest(entries),
        "times": round(seconds["run"] / seconds["plain GROUP BY"], 1),
        "faults": faults,
    }


def main() -> None:
    """Run and report one line of JSON; exit 1 when an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=list(ENGINES), default="postgres")
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--url", help="the database or file to write to; without it one of its own")
    parser.add_argument("--nine", action="store_true", help="nine quasi-identifiers")
    arguments = parser.parse_args()
    served = arguments.engine == "postgres" and not arguments.url
    with own_server() if served else nullcontext() as server, tempfile.TemporaryDirectory() as folder:
        url = arguments.url or (server.uri() if served else str(Path(folder, "benchmark.sqlite")))
        database = ENGINES[arguments.engine](url)
        figures = measured(database, Path(folder), arguments.records, nine=arguments.nine)
    print(json.dumps({"engine": arguments.engine} | figures))
    sys.exit(1 if figures["faults"] else 0)


if __name__ == "__main__":
    main()
