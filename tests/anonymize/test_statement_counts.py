"""How many statements a run takes, and how often these read the source: neither grows with the number of columns."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import cases
import duckdb
import pyarrow as pa
import pytest
from policies import document_of
from sqlglot import exp
from tables import store

import sqlanon
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.sqltrees import names


def world(connection: duckdb.DuckDBPyConnection, columns: int, **changes: Any) -> sqlanon.Policy:
    """A table of records and its policy: hierarchies of all kinds, and two columns that are kept."""
    draw = random.Random(columns)
    data: dict[str, Any] = {}
    found: dict[str, Any] = {}
    kinds: list[dict[str, Any]] = [
        {"levels": {str(value): [str(value // 4), "*"] for value in range(12)}},
        {"redact": {}},
        {"suppress": {}},
        {"intervals": {"width": 5, "fanouts": [2]}},
    ]
    for place in range(columns):
        kind = kinds[place % len(kinds)]
        values = [draw.randrange(12) for _ in range(300)]
        data[f"q{place}"] = pa.array(values) if "intervals" in kind else pa.array(map(str, values))
        found[f"q{place}"] = {"role": "quasi_identifier", "hierarchy": kind}
    for place in range(2):
        data[f"k{place}"] = pa.array([draw.randrange(12) for _ in range(300)])
        found[f"k{place}"] = {"role": "keep"}
    store(connection, pa.table(data))
    document = document_of(found, k=2, table="t", suppression_limit=1, search={"max_evaluations": 20})
    return sqlanon.Policy.from_dict({**document, **changes})


def counted(columns: int, **changes: Any) -> Counter[str]:
    """The statements of a run, without those of its search."""
    with duckdb.connect() as connection:
        policy = world(connection, columns, **changes)
        with sqlanon.plan(connection, policy) as plan:
            plan.publish()
            names = Counter(entry.name for entry in plan._session.source.engine.journal.entries)
    return Counter({name: count for name, count in names.items() if name not in ("evaluate", "snapshot")})


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"nulls": "basic"}], ids=["extended", "basic"])
def test_the_number_of_statements_does_not_depend_on_the_number_of_columns(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    few, many = (
        counted(columns, **changes, output={"file": str(tmp_path / f"{columns}.parquet")}) for columns in (4, 20)
    )
    assert many == few


def scans(plan: Any, relation: str) -> int:
    """How often a plan of DuckDB, as JSON, reads a relation."""
    if isinstance(plan, list):
        return sum(scans(item, relation) for item in plan)
    own = str(plan.get("extra_info", {}).get("Table", "")).split(".")[-1].strip('"') == relation
    return int(own) + scans(plan.get("children", []), relation)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [4, 20])
def test_encoding_reads_the_source_twice(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Once for the distinct values of all columns, and once for the base."""
    read: Counter[str] = Counter()
    run = DuckDBEngine.run

    def explained(self: DuckDBEngine, name: str, statement: Any, parameters: Any = ()) -> Any:
        text = statement if isinstance(statement, str) else self.render(statement)
        if '"t"' in text and text.startswith(("SELECT", "CREATE", "WITH")):
            found = self._connection.execute(f"EXPLAIN (FORMAT JSON) {text}", list(parameters)).fetchall()
            read[name] += scans(json.loads(found[0][1]), "t")
        return run(self, name, text, parameters)

    monkeypatch.setattr(DuckDBEngine, "run", explained)
    policy = world(connection, columns)
    with sqlanon.plan(connection, policy):
        pass
    encoding = {name: read[name] for name in ("count records", "distinct values", "base") if read[name]}
    assert encoding == {"distinct values": 1, "base": 1}


@pytest.mark.slow
def test_columns_of_many_values_are_numbered_one_by_one_with_the_same_codes(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every fifth value of a column is not listed, so that it stands at the root."""
    levels = {str(value): [str(value // 4), "*"] for value in range(12) if value % 5}
    policy = world(connection, 7)
    listed = {**policy.to_dict()["columns"]["q0"], "hierarchy": {"levels": levels}, "uncovered": "top"}
    policy = sqlanon.Policy.from_dict({**policy.to_dict(), "columns": {**policy.to_dict()["columns"], "q0": listed}})
    found = []
    for together in (10**9, 0):
        monkeypatch.setattr("sqlanon.core.source.matching.TOGETHER", together)
        with sqlanon.plan(connection, policy) as plan:
            engine, catalog = plan._session.engine, plan._session.encoding.catalog
            branches = [entry.name for entry in engine.journal.entries].count("branches")
            base, leaf = (
                sorted(engine.arrow("test", exp.select("*").from_(exp.to_identifier(name))).to_pylist(), key=repr)
                for name in (names.BASE, names.LEAF)
            )
            found.append((catalog, base, leaf, plan.solution.levels, plan.certificate))
        assert branches == (1 if together else 7)
    assert found[0] == found[1]


def test_a_run_on_adult_takes_few_statements(shared: Path, tmp_path: Path) -> None:
    """Nine quasi-identifiers; the search is among them."""
    policy = cases.search_case(shared / "data", "adult", 9, output={"file": str(tmp_path / "released.parquet")})
    with sqlanon.plan(None, policy) as plan:
        plan.publish()
        assert plan.certificate.optimal
        assert len(plan._session.source.engine.journal.entries) <= 40
