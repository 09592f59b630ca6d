"""No statement on SQLite looks through all rows of one relation for each row of another, whatever the planner guesses.

The plans depend on the statements alone, because nothing is analyzed: a small table has those of a large one.
"""

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from effort import fast_of
from policies import document_of, intervals
from query_plans import Explained, explained, unindexed

import sqlanon
from sqlanon.core.audit.check import check_relation
from sqlanon.core.engines.sqlite import engine as sqlite_engine

pytestmark = pytest.mark.slow

DISTANCES = ("equal", "hierarchical")
LEVELS = {"flu": ["lung", "*"], "cold": ["lung", "*"], "gout": ["joint", "*"]}
MODELS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "diversity": [
        {"type": "distinct_l_diversity", "l": 2},
        {"type": "entropy_l_diversity", "l": 1.5},
        {"type": "recursive_l_diversity", "l": 2, "c": 9},
    ],
    "equal and hierarchical": [{"type": "t_closeness", "t": 0.6, "distance": kind} for kind in DISTANCES],
    "ordered": [{"type": "t_closeness", "t": 0.6, "distance": "ordered"}],
}
RECORDS = 120


def source(path: Path) -> Path:
    draw = random.Random(26)
    rows = [
        (i // 2, draw.randrange(20, 60), draw.choice("mf"), f"8{draw.randrange(30):02d}", draw.choice(list(LEVELS)),
         draw.random() < 0.4)
        for i in range(RECORDS)
    ]  # fmt: skip
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (person INT, age INT, sex TEXT, zip TEXT, illness TEXT, member BOOL)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.commit()
    return path


def document(folder: Path, models: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    illness = {"role": "sensitive", "hierarchy": {"levels": LEVELS}, "models": models} if models else {"role": "keep"}
    return document_of(
        {"age": intervals(5, 4), "sex": "suppress", "zip": "redact", "illness": illness},
        changes,
        k=3,
        source=str(folder / "t.sqlite"),
        table="t",
        undeclared="drop",
        suppression_limit=0.2,
        search={"where": "engine"},
        output={"file": str(folder / "released.csv")},
    )


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> type[Explained]:
    """The plans of all statements that SQLite is given during a test."""
    monkeypatch.setattr(sqlite_engine, "_connect", explained)
    monkeypatch.setattr(Explained, "offending", [])
    monkeypatch.setattr(Explained, "statements", 0)
    return Explained


@pytest.mark.parametrize("entity", fast_of([None, "person"], "person"))
@pytest.mark.parametrize("kind", fast_of(list(MODELS), "diversity"))
@pytest.mark.few(2)
def test_run_and_verify_join_by_indexes_alone(
    tmp_path: Path, plans: type[Explained], kind: str, entity: str | None
) -> None:
    source(tmp_path / "t.sqlite")
    named = {"entity": entity} if entity else {}
    policy = sqlanon.Policy.from_dict(document(tmp_path, MODELS[kind], **named))
    release = sqlanon.anonymize(None, policy)
    release.close()
    after_run = plans.statements
    assert after_run > 50
    sqlanon.verify(tmp_path / "released.csv.certificate.json", policy)
    assert plans.statements > after_run + 20
    assert plans.offending == []


@pytest.mark.parametrize("changes", [
    {"suppressed": "redact", "output": {"table": "released"}},
    {"privacy": [{"type": "k_anonymity", "k": 3}, {"type": "delta_presence", "min": 0, "max": 0.9,
                                                    "subset": {"column": "member"}}]},
    {"nulls": "basic", "quality": {"measure": "non_uniform_entropy"}},
    {"nulls": "basic", "output": {"view": "released_view"}},
])  # fmt: skip
@pytest.mark.few(2)
def test_other_releases_join_by_indexes_alone(tmp_path: Path, plans: type[Explained], changes: dict[str, Any]) -> None:
    source(tmp_path / "t.sqlite")
    if "privacy" in changes:
        changes = {**changes, "output": {"file": str(tmp_path / "released.csv")}}
    sqlanon.anonymize(None, document(tmp_path, MODELS["diversity"], **changes)).close()
    assert plans.statements > 50
    assert plans.offending == []


def test_check_joins_by_indexes_alone(tmp_path: Path, plans: type[Explained]) -> None:
    source(tmp_path / "t.sqlite")
    checked = sqlite_engine.SQLiteEngine(tmp_path / "t.sqlite")
    models = sqlanon.Policy.from_dict(document(tmp_path, MODELS["diversity"])).models
    relation = checked.catalog.source_table("t")
    check_relation(checked, relation, quasi_identifiers=["sex", "age"], models=models, reference=relation)
    check_relation(
        checked, relation, quasi_identifiers=["sex", "age"], reference=relation, entity="person",
        models=sqlanon.Policy.from_dict(document(tmp_path, [{"type": "t_closeness", "t": 0.2}])).models,
    )  # fmt: skip
    checked.close()
    assert plans.statements > 10
    assert plans.offending == []


def test_the_planner_itself_would_look_through_all_classes_for_every_record() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE base (key_0, n INT)")
        parts = (
            "WITH classes AS (SELECT key_0, SUM(n) AS n FROM base GROUP BY 1), judged AS MATERIALIZED (SELECT key_0, n "
        )
        parts += "FROM classes), passing AS MATERIALIZED (SELECT key_0 FROM judged WHERE n > 4) "
        guessed = connection.execute(
            f"EXPLAIN QUERY PLAN {parts} SELECT * FROM base JOIN passing ON base.key_0 = passing.key_0"
        ).fetchall()
    assert list(unindexed(guessed)), "this version of SQLite guesses well; the other tests prove less than they say"
