"""Columns that are published at one level of their hierarchy (``level``): as if the source held the texts of it."""

import json
import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from engine_kinds import KINDS, SOURCE, Kind
from sqlglot import exp
from tables import store

import sqlanon
from sqlanon import Policy, PolicyError
from sqlanon.assess.profiling.profile import profile
from sqlanon.core.source.levels import at_levels
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees.trees import column, table
from sqlanon.errors import HierarchyError, InputError, UnsupportedError
from sqlanon.interop.scripts.warehouse import script_in
from sqlanon.studio.drafts import changed, of_document

ENGINES = [kind for kind in KINDS if kind.name != "spark"]
NAMES = ["sex", "age", "wage", "seen"]
EDGES = [[1000, 2000, 3000], [2000]]
WAGE = {
    "role": "sensitive",
    "hierarchy": {"intervals": {"edges": EDGES}},
    "models": [{"type": "distinct_l_diversity", "l": 2}],
}
SEEN = {"role": "keep", "hierarchy": {"prefix": [7, 4]}, "level": 2}


def people(records: int = 600, seed: int = 5) -> list[tuple[Any, ...]]:
    draw = random.Random(seed)
    return [
        (
            draw.choice("fm"),
            draw.randrange(20, 60),
            draw.choice([None, *range(0, 4000, 10)]) if draw.random() < 0.9 else 500,
            f"202{draw.randrange(3)}-0{draw.randrange(1, 10)}-11",
        )
        for _ in range(records)
    ]


def banded(rows: list[tuple[Any, ...]], edges: list[int]) -> list[tuple[Any, ...]]:
    """The rows with the texts of a level in place of wages and days, by plain Python."""

    def band(wage: int | None) -> str | None:
        if wage is None:
            return None
        place = sum(wage >= edge for edge in edges)
        if place in (0, len(edges)):
            return f"<{edges[0]}" if not place else f">={edges[-1]}"
        return f"[{edges[place - 1]}, {edges[place]})"

    return [(sex, age, band(wage), seen[:4] + "*") for sex, age, wage, seen in rows]


def document(**wage: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "sex": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 5, "fanouts": [2, 2]}}},
        "wage": {**WAGE, **wage},
        "seen": SEEN,
    }
    return {"table": SOURCE, "columns": columns, "privacy": [{"type": "k_anonymity", "k": 6}], "suppression_limit": 0.1}


def as_it_is(model: dict[str, Any]) -> dict[str, Any]:
    """The policy over a source that holds the texts already."""
    found = document()
    found["columns"]["wage"] = {"role": "sensitive", "models": [model]}
    found["columns"]["seen"] = {"role": "keep"}
    return found


def stored(folder: Path, rows: list[tuple[Any, ...]]) -> Path:
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        store(connection, pa.table(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))))
    return folder / "people.duckdb"


@pytest.mark.parametrize("kind", ENGINES, ids=str)
@pytest.mark.parametrize("level", [1, 2])
def test_every_engine_reads_the_texts_of_the_level(kind: Kind, level: int, request: pytest.FixtureRequest) -> None:
    rows, engine = people(), kind.open(request)
    try:
        given = dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))
        engine.load("source", SOURCE, pa.table(given), replayed=False)
        opened = Source(engine, table(SOURCE), dict(engine.catalog.columns(table(SOURCE))), None, None)
        found = at_levels(opened, Policy.from_dict(document(level=level)))
        assert (found.types["wage"], [*found.types]) == ("VARCHAR", NAMES)
        query = exp.select(*map(column, NAMES)).from_(found.relation)
        assert Counter(engine.run("rows", query)) == Counter(banded(rows, EDGES[level - 1]))
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("level", "model"),
    [
        (1, {"type": "distinct_l_diversity", "l": 3}),
        (1, {"type": "t_closeness", "t": 0.35}),
        (2, {"type": "entropy_l_diversity", "l": 1.5}),
    ],
)
def test_a_release_is_that_of_a_source_of_these_texts(tmp_path: Path, level: int, model: dict[str, Any]) -> None:
    rows, found = people(), []
    worlds = ((rows, document(level=level, models=[model])), (banded(rows, EDGES[level - 1]), as_it_is(model)))
    for given, policy in worlds:
        with sqlanon.anonymize(stored(tmp_path, given), policy) as release:
            plan, released = release.plan, Counter(map(str, release.to_arrow().to_pylist()))
            found.append(
                (plan.levels, plan.ledger.published, plan.certificate.loss, plan.certificate.optimal, released)
            )
    assert found[0] == found[1] and found[0][1] > 300


def test_what_the_hierarchy_cannot_read_ends_the_run_or_is_the_root(tmp_path: Path) -> None:
    rows = [("fm"[i % 2], 30, "1500" if i % 10 else "secret", "2024-01-01") for i in range(200)]
    path = stored(tmp_path, rows)
    policy = document(level=1)
    with pytest.raises(HierarchyError, match=r"cannot read the values of 20 records\.") as error:
        sqlanon.plan(path, policy)
    assert "secret" not in str(error.value) and "uncovered: top" in str(error.value)
    with sqlanon.anonymize(path, policy | {"uncovered": "top"}) as release:
        counts = Counter(row["wage"] for row in release.to_arrow().to_pylist())
    assert counts == {"[1000, 2000)": 180, "*": 20}


@pytest.mark.parametrize(
    ("wage", "place"),
    [
        ({"role": "quasi_identifier", "models": []}, "level"),
        ({"hierarchy": {"groups": {"low": ["1"], "high": ["2"]}}}, "hierarchy"),
        ({"hierarchy": {"frequent": [20]}}, "hierarchy"),
        ({"hierarchy": {"suppress": {}}}, "hierarchy"),
        ({"hierarchy": {"redact": {}}}, "hierarchy"),
        ({"models": [{"type": "t_closeness", "t": 0.3, "distance": "ordered"}]}, "level"),
        ({"models": [{"type": "t_closeness", "t": 0.3, "distance": "hierarchical"}]}, "level"),
        ({"role": "drop", "models": []}, "level"),
        ({"level": 0}, "level"),
    ],
)
def test_a_level_that_cannot_be_published_is_a_fault(wage: dict[str, Any], place: str) -> None:
    with pytest.raises(PolicyError) as error:
        Policy.from_dict(document(**{"level": 1, **wage}))
    assert f"columns.wage.{place}" in str(error.value)


def test_a_level_beyond_the_hierarchy_is_refused(tmp_path: Path) -> None:
    path = stored(tmp_path, people(50))
    with pytest.raises(
        HierarchyError, match=r"no level 3 between its values and its root\. Hint: its highest one is 2"
    ):
        sqlanon.plan(path, document(level=3))


def test_a_plan_is_of_one_level_and_its_papers_name_it(tmp_path: Path) -> None:
    path = stored(tmp_path, people())
    policy = document(level=1) | {"output": {"file": str(tmp_path / "released.parquet")}}
    with sqlanon.plan(path, policy) as plan:
        with pytest.raises(InputError):
            plan.with_policy(Policy.from_dict(document(level=2)))
        with pytest.raises(UnsupportedError, match="some at a level"):
            script_in(plan, "duckdb")
        plan.publish()
    manifest = json.loads((tmp_path / "released.parquet.manifest.json").read_text())
    [wage] = [item for item in manifest["columns"] if item["name"] == "wage"]
    assert wage == {"name": "wage", "role": "sensitive", "generalized": "4 intervals"}
    again = Policy.from_dict(json.loads(json.dumps(Policy.from_dict(policy).to_dict())))
    assert again.fingerprint() == Policy.from_dict(policy).fingerprint()
    live = policy | {"output": {"live_view": "anon"}}
    with pytest.raises(UnsupportedError, match="at a level"):
        sqlanon.anonymize(path, live)


def test_rows_of_earlier_nights_are_not_published_at_a_level() -> None:
    """They keep the texts of their night: those of another level, or raw ones, would be published as if of this."""
    ledger: dict[str, Any] = {"file": "ledger.duckdb", "record": "id", "key": {"file": "secret.key"}}
    policy = document(level=1) | {"ledger": ledger}
    policy["columns"]["id"] = {"role": "drop"}
    assert Policy.from_dict(policy).ledger is not None
    ledger["cohorts"] = {"margin": 2}
    with pytest.raises(PolicyError, match="not published with level"):
        Policy.from_dict(policy)


def test_an_engine_without_the_functions_of_a_hierarchy_says_so(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE people (wage REAL)")
        connection.executemany("INSERT INTO people VALUES (?)", [(float(i % 7),) for i in range(90)])
        connection.commit()
    wage = {"role": "sensitive", "hierarchy": {"intervals": {"edges": [[2, 4]]}}, "level": 1, "models": WAGE["models"]}
    policy = {"table": "people", "columns": {"wage": wage}, "privacy": [{"type": "k_anonymity", "k": 5}]}
    with pytest.raises(
        UnsupportedError, match=r"SQLite cannot compute the level of 'wage' .*make the column in a view"
    ):
        sqlanon.plan(path, policy)


@pytest.mark.slow
def test_a_release_at_a_level_is_attacked_with_and_without_a_control_group(tmp_path: Path) -> None:
    path = stored(tmp_path, people())
    policy = document(level=1) | {"source": str(path), "output": {"file": str(tmp_path / "released.parquet")}}
    sqlanon.anonymize(None, policy)
    for share in (0, 0.5):
        found = {
            item.attack: item for item in sqlanon.attack(tmp_path / "released.parquet", policy, holdout=share).findings
        }
        assert found["singling_out_quasi_identifiers"].successes == 0 and found.keys() >= {"singling_out_kept_columns"}
        assert any(item.control is not None for item in found.values()) == bool(share)


@pytest.mark.parametrize("role", ["keep", "sensitive"])
def test_the_studio_keeps_the_level_of_a_column_whose_role_changes(tmp_path: Path, role: str) -> None:
    found = profile(stored(tmp_path, people()), SOURCE)
    given = of_document(document(level=1), found, tmp_path)
    made = changed(given, {"action": "role", "column": "wage", "value": role})
    assert (made.columns["wage"].keys["role"], made.columns["wage"].keys["level"]) == (role, 1)
    assert made.columns["wage"].keys["hierarchy"] == WAGE["hierarchy"]
    made = changed(made, {"action": "role", "column": "wage", "value": "quasi_identifier"})
    assert "level" not in made.columns["wage"].keys
