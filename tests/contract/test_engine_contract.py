"""One contract for all engines: what DuckDB encodes, judges, finds, publishes and refuses, every other one does too.

What an engine lacks it declares (``Capabilities.lacks``), and then refuses with an error that names the alternative.
"""

import datetime
import logging
import math
import random
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_kinds import Kind, duckdb, encoded, forget, planned, rows_of_table, some_nodes, texts
from policies import diverse, document_of, intervals, sensitive
from random_cases import random_case
from random_worlds import MEASURES
from sqlglot import exp

import sqlanon
from sqlanon.core.compiler.batch import roll_up
from sqlanon.core.engines.base import Engine, Job
from sqlanon.core.engines.capabilities import FEATURES
from sqlanon.core.engines.described import capability_table
from sqlanon.core.engines.replay import rows_of
from sqlanon.core.evaluate import evaluator, snapshots
from sqlanon.core.models import MODELS
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.policy import Output
from sqlanon.core.publish.order import ReleasedRows
from sqlanon.core.publish.publication import publish
from sqlanon.core.publish.targets import Target, check_target
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import bigint, column, named, number, table, total
from sqlanon.errors import AuditError, EngineError, SourceChangedError, TargetError, UnsupportedError

SECRET = "canary-7f3a"
HOSTILE = ("order", 'a"b', "key_0", "n", "Case", "x; DROP TABLE y", "$1", "?", "%s", "\\", "é", "a.b", "`", " ")


@pytest.fixture
def fresh(kind: Kind, request: pytest.FixtureRequest) -> Iterator[Any]:
    """As many new engines as a test asks for."""
    opened: list[Engine] = []

    def make() -> Engine:
        opened.append(kind.open(request))
        return opened[-1]

    yield make
    for built in opened:
        built.close()


# -- cases -------------------------------------------------------------------------------------------------------------


def case(seed: int) -> tuple[pa.Table, dict[str, Any]]:
    """Random texts with NULL, the empty text, 'NULL' and '*', under random hierarchies."""
    rows, _, document = random_case(seed)
    columns = list(document["columns"])
    return texts({name: [row[i] for row in rows] for i, name in enumerate(columns)}), document


ODD = ("", "é", "x'y", "b\\", "*")


def typed_case(records: int = 300, **changes: Any) -> tuple[pa.Table, dict[str, Any]]:
    """Records of several types with NULLs, under hierarchies that are computed."""
    draw = random.Random(7)
    first = datetime.date(1950, 1, 1)
    data = pa.table(
        {
            "age": pa.array([draw.choice([None, *range(18, 60)]) for _ in range(records)], pa.int64()),
            "born": pa.array([first + datetime.timedelta(draw.randrange(9000)) for _ in range(records)]),
            "zip": pa.array([draw.choice([None, *ODD, *(f"8{i:03d}" for i in range(20))]) for _ in range(records)]),
            "illness": pa.array([draw.choice(["flu", "gout", "asthma", "NULL", None]) for _ in range(records)]),
            "days": pa.array([draw.choice([None, *range(9)]) for _ in range(records)], pa.int64()),
            "name": pa.array([f"{SECRET}-{i}" for i in range(records)]),
        }
    )
    columns = {
        "age": intervals(5, 4),
        "born": {"role": "quasi_identifier", "hierarchy": {"dates": {"levels": ["month", "year"]}}},
        "zip": "redact",
        "illness": diverse(2),
        "days": "keep",
        "name": "drop",
    }
    document = document_of(columns, changes, k=3, table="t", suppression_limit=0.1)
    return data, document


def model_case(models: list[dict[str, Any]], privacy: list[dict[str, Any]], measure: str) -> tuple[pa.Table, dict]:
    """Records with a skewed sensitive column under given models and measure."""
    draw = random.Random(11)
    size = 80
    data = pa.table(
        {
            "a": pa.array([draw.choice(["x1", "x2", "y1", "y2", None]) for _ in range(size)]),
            "b": pa.array([draw.choice(["p", "q", "r"]) for _ in range(size)]),
            "s": pa.array(draw.choices(["flu", "cold", "gout", None], [6, 3, 2, 1], k=size)),
            "member": pa.array([draw.random() < 0.5 for _ in range(size)]),
        }
    )
    columns: dict[str, Any] = {
        "a": {"role": "quasi_identifier", "hierarchy": {"levels": {v: [v[0], "*"] for v in ("x1", "x2", "y1", "y2")}}},
        "b": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
        "s": {
            "role": "sensitive",
            "hierarchy": {"levels": {"flu": ["lung", "*"], "cold": ["lung", "*"], "gout": ["foot", "*"]}},
            "models": models,
        },
        "member": {"role": "drop"},
    }
    if not models:
        columns["s"] = {"role": "drop"}
    return data, document_of(columns, table="t", privacy=privacy, suppression_limit=0.4, quality={"measure": measure})


SIZE = [{"type": "k_anonymity", "k": 3}]
PEOPLE = {"file": "people.parquet"}
"""The population of a k-map, in some folder (``with_people``)."""
MODEL_CASES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "k_anonymity": ([], SIZE),
    "distinct_l_diversity": ([{"type": "distinct_l_diversity", "l": 2}], SIZE),
    "entropy_l_diversity": ([{"type": "entropy_l_diversity", "l": 1.7}], SIZE),
    "recursive_l_diversity": ([{"type": "recursive_l_diversity", "l": 2, "c": 1.1}], SIZE),
    "t_closeness equal": ([{"type": "t_closeness", "t": 0.25, "distance": "equal"}], SIZE),
    "t_closeness hierarchical": ([{"type": "t_closeness", "t": 0.2, "distance": "hierarchical"}], SIZE),
    "t_closeness ordered": ([{"type": "t_closeness", "t": 0.2, "distance": "ordered"}], SIZE),
    "delta_disclosure": ([{"type": "delta_disclosure", "delta": 1.2}], SIZE),
    "beta_likeness": ([{"type": "beta_likeness", "beta": 0.8}], SIZE),
    "beta_likeness enhanced": ([{"type": "beta_likeness", "beta": 0.8, "enhanced": True}], SIZE),
    "delta_presence": (
        [],
        [{"type": "delta_presence", "min": 0.1, "max": 0.7, "subset": {"column": "member"}}],
    ),
    "k_map": ([{"type": "distinct_l_diversity", "l": 2}], [{"type": "k_map", "k": 40, "population": PEOPLE}]),
    "k_map estimated": ([], [{"type": "k_map", "k": 9, "population": 160}]),
    "bounded_knowledge": ([], [{"type": "bounded_knowledge", "k": 16, "at_most": 1}]),
    "bounded_knowledge beside": (
        [{"type": "t_closeness", "t": 0.25, "distance": "equal"}],
        [{"type": "bounded_knowledge", "k": 4, "at_most": 2}],
    ),
    "average_risk": ([], [{"type": "average_risk", "threshold": 0.1}]),
    "average_risk beside": (
        [{"type": "distinct_l_diversity", "l": 2}],
        [{"type": "average_risk", "threshold": 0.12}, {"type": "sample_uniqueness", "threshold": 0.01}],
    ),
    "sample_uniqueness": ([], [{"type": "sample_uniqueness", "threshold": 0.0}]),
    "population_uniqueness": (
        [],
        [{"type": "population_uniqueness", "threshold": 0.0, "population": 100_000, "estimator": "zayatz"}],
    ),
    "several": (
        [{"type": "distinct_l_diversity", "l": 2}, {"type": "t_closeness", "t": 0.3, "distance": "equal"}],
        SIZE,
    ),
}


def test_every_model_is_judged_by_some_case() -> None:
    of_persons = {"profile_k"}  # has engines of its own: test_profile_k_engines.py
    assert {name.split()[0] for name in MODEL_CASES} - {"several"} == {model.type for model in MODELS} - of_persons


def same(own: Any, other: Any) -> bool:
    """Equal, and floats up to the order in which they were summed."""
    if isinstance(own, tuple | list):
        return len(own) == len(other) and all(map(same, own, other))
    if hasattr(own, "__dataclass_fields__"):
        return all(same(getattr(own, name), getattr(other, name)) for name in own.__dataclass_fields__)
    if isinstance(own, float) or isinstance(other, float):
        return own == other or math.isclose(own, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(own == other)


def everything(name: str) -> exp.Select:
    return exp.select("*").from_(table(name))


def content(engine: Engine, name: str) -> Counter[tuple[Any, ...]]:
    return Counter(engine.run("read", everything(name)))


# -- tables and statements ---------------------------------------------------------------------------------------------


GONE = {"postgres": "42P01", "spark": "TABLE_OR_VIEW_NOT_FOUND"}
"""The kind of the error about a table that is not there, by dialect."""


def test_tables_are_loaded_appended_created_inserted_and_dropped(engine: Engine) -> None:
    data = pa.table({"a": pa.array([1, None], pa.int64()), "b": ["x", None], "c": [0.5, None], "d": [True, None]})
    engine.load("load", "t", data)
    engine.load("append", "t", data.slice(0, 1), more=True)
    found = engine.arrow("read", everything("t"))
    assert rows_of_table(found) == Counter({(1, "x", 0.5, True): 2, (None, None, None, None): 1})
    assert found.schema.equals(data.schema) or engine.capabilities.dialect == "sqlite"
    assert engine.create("create", "u", everything("t")) == 3
    engine.insert("insert", "u", everything("t"))
    assert len(engine.run("read", everything("u"))) == 6
    engine.drop_column("u", "b")
    assert engine.catalog.columns(table("u")) == [("a", "BIGINT"), ("c", "DOUBLE"), ("d", "BOOLEAN")]
    engine.drop("u")
    engine.drop("u")
    with pytest.raises(EngineError) as raised:
        engine.run("gone", everything("u"))
    assert raised.value.statement == "gone"
    assert raised.value.hint
    assert raised.value.kind == GONE.get(engine.capabilities.dialect, raised.value.kind)
    assert [entry.name for entry in engine.journal.entries][-1] == "gone"


def test_empty_tables_keep_their_columns(engine: Engine) -> None:
    data = pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())})
    engine.load("load", "t", data)
    found = engine.arrow("read", everything("t"))
    assert (found.schema.names, found.num_rows) == (["a", "b"], 0)
    assert engine.run("read", everything("t")) == []
    assert engine.create("copy", "u", everything("t")) == 0
    assert engine.catalog.columns(table("u")) == [("a", "BIGINT"), ("b", "VARCHAR")]


def test_parameters_are_bound_in_the_order_of_the_text(engine: Engine) -> None:
    """A WITH clause stands first in the text and last in the tree."""
    inner = exp.select(named(bigint(exp.Placeholder()), "a"))
    query = exp.select(column("a"), bigint(exp.Placeholder()), exp.Placeholder()).from_(table("c"))
    query = query.with_(exp.to_identifier("c", quoted=True), as_=inner)
    assert engine.run("bound", query, [1, 2**62, "?$1'\\"]) == [(1, 2**62, "?$1'\\")]
    assert engine.run("bound", query, [None, -(2**63), ""]) == [(None, -(2**63), "")]


def test_jobs_read_the_tables_that_they_are_shown(engine: Engine) -> None:
    for name, value in (("one", 1), ("two", 2)):
        engine.load("load", name, pa.table({name: pa.array([value], pa.int64())}))  # views of other columns follow
    text = engine.render(exp.select(exp.Star(), named(bigint(exp.Placeholder()), "i")).from_(table("view")))
    jobs = [Job({"view": shown}, text, [i]) for i, shown in enumerate(("one", "two", "two", "one"))]
    with engine.side_by_side():
        assert engine.run_many("job", jobs) == [[(1, 0)], [(2, 1)], [(2, 2)], [(1, 3)]]
    if engine.capabilities.has("transactions"):
        with pytest.raises(ZeroDivisionError), engine.transaction():
            engine.run_many("job", jobs[1:2])
            raise ZeroDivisionError
    assert engine.run_many("job", jobs[:2]) == [[(1, 0)], [(2, 1)]]
    engine.drop("two")
    engine.load("load", "two", pa.table({"two": pa.array([3], pa.int64())}))
    assert engine.run_many("job", jobs[1:2]) == [[(3, 1)]]


def test_a_transaction_is_all_or_nothing(engine: Engine) -> None:
    if not engine.capabilities.has("transactions"):
        pytest.skip(engine.capabilities.lacks["transactions"].reason)
    data = pa.table({"a": pa.array([1], pa.int64())})
    with engine.transaction():
        engine.load("load", "t", data)
    with pytest.raises(ZeroDivisionError), engine.transaction():
        engine.load("append", "t", data, more=True)
        engine.create("create", "u", everything("t"))
        raise ZeroDivisionError
    with pytest.raises(EngineError), engine.transaction():
        engine.load("load", "inside", data)
        engine.run("fails", everything("nothing"))
    assert engine.run("read", everything("t")) == [(1,)]
    for relation in ("u", "inside"):
        with pytest.raises(EngineError):
            engine.run("gone", everything(relation))


def test_nobody_else_sees_our_tables(fresh: Any) -> None:
    one, other = fresh(), fresh()
    if not one.capabilities.has("private_tables"):
        pytest.skip(one.capabilities.lacks["private_tables"].reason)
    one.load("load", "t", pa.table({"a": pa.array([1], pa.int64())}))
    with pytest.raises(EngineError):
        other.run("unseen", everything("t"))


def test_no_error_holds_a_value(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    text = exp.Literal.string(SECRET)
    engine.load("load", "t", pa.table({"a": [SECRET]}))
    for statement in (
        exp.select(named(exp.cast(text, "BIGINT"), "x")),
        exp.select(named(exp.cast(column("a"), "BIGINT"), "x")).from_(table("t")),
        exp.select(named(exp.cast(column("a"), "DOUBLE"), "x")).from_(table("t")),
        exp.select(named(exp.cast(column("a"), "DATE"), "x")).from_(table("t")),
        exp.select(column("nothing")).from_(table("t")).where(exp.EQ(this=column("a"), expression=text)),
        exp.select(exp.Star()).from_(table("nothing")).where(exp.EQ(this=column("a"), expression=text)),
        f"SELECT ('{SECRET}'",
    ):
        with pytest.raises(EngineError) as raised:
            engine.run("asked", statement)
        error = raised.value
        assert error.statement == "asked"
        assert error.hint
        assert SECRET not in f"{error!s}{error!r}{vars(error)}", statement
        assert error.__context__ is None and error.__cause__ is None
    assert SECRET not in caplog.text
    assert engine.run("still there", exp.select(named(number(1), "x"))) == [(1,)]


def test_a_replayed_script_makes_the_same_tables(fresh: Any) -> None:
    data = pa.table({"a": pa.array([1, None], pa.int64()), "b": ["x'\\", None]})
    one, other = fresh(), fresh()
    one.load("load", "t", data)
    one.load("append", "t", data, more=True)
    one.load("empty", "e", data.slice(0, 0))
    one.create("create", "u", everything("t"))
    one.insert("insert", "u", everything("t"))
    if one.capabilities.name == "Spark":
        pytest.skip("its tables stand in memory, which its SQL cannot insert into")
    for name, reported in one.replay:
        other.run(name, reported if isinstance(reported, exp.Expr) else reported())
    for relation in ("t", "u", "e"):
        assert content(other, relation) == content(one, relation), relation


# -- encode, evaluate, search ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine makes of a case: the tables of its encoding and verdicts, or why it refuses it."""

    error: tuple[type[Exception], str] | None = None
    catalog: Any = None
    tables: Any = None
    verdicts: Any = None
    nodes: tuple[tuple[int, ...], ...] = ()


def answered(engine: Engine, data: pa.Table, document: dict[str, Any], seed: int = 0) -> Answer:
    try:
        prepared = encoded(engine, data, document)
    except sqlanon.SqlanonError as error:
        return Answer((type(error), error.message))
    nodes = some_nodes(prepared.problem, seed)
    relations = [names.BASE, names.LOOKUP, names.LEAF, names.MASKS]
    tables = {relation: content(engine, relation) for relation in relations}
    return Answer(None, prepared.encoding.catalog, tables, prepared.verdicts(nodes), tuple(nodes))


@cache
def reference_answer(seed: int) -> Answer:
    with duckdb() as engine:
        return answered(engine, *case(seed), seed)


@cache
def reference_typed() -> Answer:
    with duckdb() as engine:
        return answered(engine, *typed_case())


@cache
def reference_rows() -> Counter[tuple[Any, ...]]:
    with duckdb() as engine:
        return rows_of_table(planned(engine, *typed_case(nulls="basic")).publish().to_arrow())


def assert_alike(own: Answer, other: Answer, seed: int = 0) -> None:
    assert other.error == own.error, seed
    assert other.catalog == own.catalog, seed
    assert other.tables == own.tables, seed
    assert same(own.verdicts, other.verdicts), (seed, own.verdicts, other.verdicts)


@pytest.mark.slow
def test_records_are_encoded_and_nodes_judged_as_in_duckdb(kind: Kind, fresh: Any) -> None:
    judged = 0
    for seed in kind.seeds:
        own = reference_answer(seed)
        assert_alike(own, answered(fresh(), *case(seed), seed), seed)
        judged += len(own.nodes)
    assert judged >= kind.cases


def test_hierarchies_that_are_computed_are_those_of_duckdb(engine: Engine) -> None:
    data, document = typed_case()
    own = reference_typed()
    assert own.error is None
    assert_alike(own, answered(engine, data, document))


@contextmanager
def with_people(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The policy with a population in a file, where it names one: copies, NULLs, values that no hierarchy lists."""
    draw = random.Random(5)
    rows = [(draw.choice(["x1", "x2", "y1", "z9", None]), draw.choice("pqrt"), draw.random()) for _ in range(300)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / PEOPLE["file"]
        pq.write_table(pa.table(dict(zip(["a", "b", "x"], map(list, zip(*rows, strict=True)), strict=True))), path)
        privacy = [{**m, "population": {"file": str(path)}} if m.get("population") == PEOPLE else m
                   for m in document["privacy"]]  # fmt: skip
        yield {**document, "privacy": privacy}


def judged_twice(engine: Engine, case_name: str, measure: str) -> list[Any]:
    """The verdicts of some nodes, by both forms of a batch."""
    data, document = model_case(*MODEL_CASES[case_name], measure)
    with with_people(document) as placed:
        prepared = encoded(engine, data, placed)
    nodes, found = some_nodes(prepared.problem, 1, 9), []
    with pytest.MonkeyPatch.context() as patch:
        for largest in (evaluator.CROSS_ROWS, 0):
            patch.setattr(evaluator, "CROSS_ROWS", largest)
            found.append(prepared.verdicts(nodes))
            prepared.evaluator._memo.clear()
    return found


@cache
def reference_verdicts(case_name: str, measure: str) -> list[Any]:
    with duckdb() as engine:
        return judged_twice(engine, case_name, measure)


@pytest.mark.slow
@pytest.mark.parametrize("case_name", MODEL_CASES)
def test_every_model_judges_as_in_duckdb(engine: Engine, case_name: str) -> None:
    own = reference_verdicts(case_name, "loss")
    assert same(own, judged_twice(engine, case_name, "loss"))
    assert len({verdict.suppressed for verdict in own[0]}) > 1  # the models tell nodes apart


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_judges_as_in_duckdb(engine: Engine, measure: str) -> None:
    own = reference_verdicts("several", measure)
    assert same(own, judged_twice(engine, "several", measure))
    assert len({verdict.loss for verdict in own[0]}) > 1


def test_snapshots_are_rolled_up_and_judge_as_in_duckdb(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "WORTH", 1.0)  # of so few rows none would be kept
    data, document = model_case(*MODEL_CASES["several"], "loss")
    node, above = (1, 0), [(1, 0), (1, 1), (2, 0), (2, 1)]
    with duckdb() as reference:
        own, other = encoded(reference, data, document), encoded(engine, data, document)
        for built in (own, other):
            masks = built.encoding.catalog.grain_masks(node)
            built.engine.create("snapshot", "rolled", roll_up(names.BASE, masks))
            assert built.snapshots._materialise(node, built.snapshots.base) is not None
        assert content(other.engine, "rolled") == content(own.engine, "rolled")
        mine, theirs = own.verdicts(above), other.verdicts(above)
        assert same(mine, theirs)
        assert other.snapshots.nearest((1, 1)).table != names.BASE
        assert engine.journal.verdicts["snapshot 1,0"] == len(above)


def best(engine: Engine, seed: int) -> Any:
    """The optimum of a case, judged in the engine or in an embedded one in turn, with its proof and ledger."""
    data, document = case(seed)
    expected = {**document, "search": {**document["search"], "where": ("engine", "local")[seed % 2]}}
    try:
        plan = planned(engine, data, expected)
    except sqlanon.SqlanonError as error:
        return type(error), error.message
    plan._session.judging.close()
    return plan.node, plan.certificate, plan.proof, plan.ledger


@cache
def reference_best(seed: int) -> Any:
    with duckdb() as engine:
        return best(engine, seed)


@pytest.mark.slow
def test_the_search_finds_the_same_optimum_with_the_same_proof(kind: Kind, fresh: Any) -> None:
    found = 0
    for seed in kind.seeds:
        own = reference_best(seed)
        assert same(own, best(fresh(), seed)), seed
        found += len(own) == 4
    assert found > 0


# -- publish, audit, conserve ------------------------------------------------------------------------------------------


def released(plan: Plan, kind: str, target: str) -> Counter[tuple[Any, ...]]:
    return rows_of_table(plan.publish(Output(kind, target)).to_arrow())


@pytest.mark.slow
@pytest.mark.parametrize("output", ["table", "view", "file"])
def test_a_release_has_the_rows_of_duckdbs(engine: Engine, output: str, tmp_path: Path) -> None:
    """Records are conserved, the audits pass, and what was published is what DuckDB publishes."""
    data, document = typed_case(nulls="basic")
    target = str(tmp_path / "release.parquet") if output == "file" else "released"
    expected = reference_rows()
    plan = planned(engine, data, document)
    if output != "file" and not engine.capabilities.has(f"{output}s"):
        with pytest.raises(UnsupportedError) as raised:
            plan.publish(Output(output, target))
        assert raised.value.hint
        return
    try:
        assert released(plan, output, target) == expected
        ledger = plan.ledger
        assert ledger.records == data.num_rows == ledger.published + ledger.suppressed + ledger.excluded
        assert ledger.suppressed > 0 and ledger.excluded > 0
        assert sum(expected.values()) == ledger.published
        with pytest.raises(TargetError):
            plan.publish(Output(output, target))
        assert plan.script()
    finally:
        if output != "file":
            forget(engine, "released", "released_released")


@pytest.mark.parametrize("output, ending", [("view", "_released"), ("live_view", "_frozen")])
def test_a_view_replaces_no_table_that_a_release_is_not_on(engine: Engine, output: str, ending: str) -> None:
    """A table of the user's may have a name like those that stand beneath views."""
    target = Target(Output(output, "shown"), if_exists="replace")
    if not engine.capabilities.has(f"{output}s"):
        with pytest.raises(UnsupportedError):
            check_target(engine, target)
        return
    view, mine, other = (engine.targets.place([name], None) for name in ("shown", f"shown{ending}", "other"))
    try:
        for place in (mine, other):
            engine.run("mine", exp.Create(this=place.table, kind="TABLE", expression=rows_of(pa.table({"x": ["y"]}))))
        for beneath in (None, other, mine):
            if beneath is not None:
                engine.targets.create_view(view, exp.select(column("x")).from_(beneath.table))
            if output == "view" and beneath is mine:  # named and made like a release of ours
                check_target(engine, target)
            else:
                with pytest.raises(TargetError, match="not beneath one"):
                    check_target(engine, target)
            forget(engine, "shown")
        assert engine.catalog.existing(mine) == "table"
    finally:
        forget(engine, "shown", mine.name, "other")


@pytest.mark.slow
def test_a_view_is_replaced_with_its_table(engine: Engine) -> None:
    if not engine.capabilities.has("views"):
        return
    data, document = typed_case(nulls="basic")
    plan = planned(engine, data, {**document, "if_exists": "replace"})
    try:
        assert released(plan, "view", "shown") == released(plan, "view", "shown") == reference_rows()
        assert released(plan, "table", "other") == reference_rows()
        with pytest.raises(TargetError, match="is a view, not a table"):
            plan.publish(Output("table", "shown"))
    finally:
        forget(engine, "shown", "shown_released", "other")


def told_case(seed: int) -> tuple[pa.Table, dict[str, Any]]:
    data, document = case(seed)
    return data, {**document, "suppressed": random.Random(seed).choice(["drop", "redact"])}


@cache
def reference_release(seed: int) -> Any:
    with duckdb() as engine:
        try:
            plan = planned(engine, *told_case(seed))
        except sqlanon.SqlanonError:
            return None
        return plan.ledger, released(plan, "table", "released")


@pytest.mark.slow
def test_what_is_redacted_and_suppressed_adds_up(kind: Kind, fresh: Any) -> None:
    seen = 0
    for seed in kind.seeds:
        expected = reference_release(seed)
        if expected is None:
            continue
        data, reported = told_case(seed)
        engine = fresh()
        plan = planned(engine, data, reported)
        ledger = plan.ledger
        assert ledger == expected[0], seed
        assert ledger.records == data.num_rows == ledger.published + ledger.suppressed + ledger.excluded
        try:
            found = released(plan, "table", "released")
            redacted = ledger.suppressed if reported["suppressed"] == "redact" else 0
            assert sum(found.values()) == ledger.published + redacted, seed
            assert sum(n for row, n in found.items() if set(row) == {names.SUPPRESSED_MARKER}) == redacted, seed
            assert found == expected[1], seed
        finally:
            forget(engine, "released")
        seen += ledger.suppressed > 0
    assert seen or kind.cases < 6


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["small class", "foreign text", "rows missing", "too little diversity"])
def test_a_fault_in_what_was_written_is_found_and_nothing_is_left(engine: Engine, fault: str) -> None:
    data, document = typed_case()
    plan = planned(engine, data, document)
    query, ledger = plan._release_query(), plan.ledger
    columns, quasi = list(plan.released), ["age", "born", "zip"]
    good = exp.select("*").from_(query.subquery("good"))
    error: type[sqlanon.SqlanonError] = AuditError
    if fault == "foreign text":
        every: list[exp.Expr] = [
            named(exp.Literal.string("foreign") if name == "zip" else column(name), name) for name in columns
        ]
        bad, said = exp.select(*every).from_(query.subquery("good")), "untranslated_values of zip"
    elif fault == "rows missing":
        bad, said, error = good.limit(ledger.published - 1), "rows were written", SourceChangedError
    elif fault == "small class":
        order = exp.Order(expressions=[exp.Ordered(this=column("days"))])
        place = exp.Window(this=exp.RowNumber(), partition_by=[column(name) for name in quasi], order=order)
        numbered = exp.select("*", named(place, "place")).from_(query.subquery("good"))
        bad = exp.select(*[column(name) for name in columns]).from_(numbered.subquery("numbered"))
        bad, said = bad.where(exp.EQ(this=column("place"), expression=number(1))), "small_classes"
        lost = ledger.published - ledger.classes
        reasons = {**ledger.reasons, "failing_class": ledger.reasons["failing_class"] + lost}
        ledger = replace(ledger, published=ledger.classes, suppressed=ledger.suppressed + lost, reasons=reasons)
    else:
        every = [named(exp.Literal.string("flu") if n == "illness" else column(n), n) for n in columns]
        bad, said = exp.select(*every).from_(query.subquery("good")), "distinct_l_diversity"
    with pytest.raises(error) as raised:
        publish(
            engine,
            Target(Output("table", "released")),
            ReleasedRows(bad),
            replace(plan._claim(), published=ledger.published),
            redacted=None,
            verify_source=lambda: None,
        )
    assert said in raised.value.message
    assert SECRET not in str(raised.value)
    assert engine.catalog.existing(engine.targets.place(["released"], None)) is None


def visits() -> tuple[pa.Table, dict[str, Any]]:
    """Persons with one to four records each, who mostly stay in one place; persons count."""
    draw, rows = random.Random(3), []
    for person in range(150):
        home = draw.choice([None, "", *(f"8{i:02d}" for i in range(8))])
        for _ in range(draw.choice([1, 1, 2, 4])):
            region = home if draw.random() < 0.8 else f"8{draw.randrange(8):02d}"
            rows.append((person, draw.randrange(20, 60), region, draw.choice(["flu", "gout", None])))
    titles = ("person", "age", "zip", "illness")
    data = pa.table({title: pa.array(values) for title, values in zip(titles, zip(*rows, strict=True), strict=True)})
    return data, document_of(
        {"age": intervals(5, 2, 2), "zip": "redact", "illness": sensitive("t_closeness", t=0.4, distance="equal")},
        k=5,
        table="t",
        entity="person",
        suppression_limit=0.3,
        search={"where": "engine"},
    )


@cache
def reference_visits() -> Any:
    with duckdb() as engine:
        plan = planned(engine, *visits())
        return plan.node, plan.certificate, plan.ledger, released(plan, "table", "released")


@pytest.mark.slow
def test_persons_are_counted_as_in_duckdb(kind: Kind, engine: Engine) -> None:
    node, certificate, ledger, rows = reference_visits()
    assert ledger.entities is not None and ledger.entities.suppressed
    data, document = visits()
    if kind.cases == 1:  # a search on a cluster takes a minute; its verdicts are compared elsewhere
        document = {**document, "search": {"where": "local"}}
    plan = planned(engine, data, document)
    assert (plan.node, plan.ledger) == (node, ledger)
    assert same(plan.certificate, certificate)
    try:
        assert released(plan, "table", "released") == rows
    finally:
        forget(engine, "released")


# -- names and NULLs ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_hostile_names_stay_names(engine: Engine) -> None:
    draw = random.Random(3)
    data = texts({name: [draw.choice(["a", "", "NULL", None]) for _ in range(40)] for name in HOSTILE[:5]})
    extra = texts({name: ["same"] * 40 for name in HOSTILE[5:]})
    for name in extra.column_names:
        data = data.append_column(name, extra[name])
    document = {
        "table": "t",
        "columns": {
            name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
            if name in HOSTILE[:5]
            else {"role": "keep"}
            for name in HOSTILE
        },
        "privacy": [{"type": "k_anonymity", "k": 3}],
        "suppression_limit": 0.3,
    }
    with duckdb() as reference:
        expected = planned(reference, data, document)
        plan = planned(engine, data, document)
        assert plan.node == expected.node
        target = 'x; DROP TABLE t --"'
        try:
            engine.catalog.existing(engine.targets.place([target], None))
        except TargetError:  # what it does not take is refused, not changed
            target = "released"
        quoted = exp.to_identifier(target, quoted=True).sql(dialect=engine.capabilities.dialect)
        try:
            assert released(plan, "table", quoted) == rows_of_table(expected.publish().to_arrow())
            assert engine.catalog.existing(engine.targets.place([target], None)) == "table"
        finally:
            forget(engine, target)


@pytest.mark.parametrize("nulls", ["extended", "basic"])
def test_null_is_neither_the_empty_text_nor_the_text_null(engine: Engine, nulls: str) -> None:
    values: list[str | None] = [None, "", "NULL", "null", " "]
    data = texts({"q": [value for value in values for _ in range(3)], "other": ["x"] * 15})
    columns = {
        "q": {
            "role": "quasi_identifier",
            "hierarchy": {"levels": {value: ["*"] for value in values if value is not None}},
        },
        "other": "keep",
    }
    document = document_of(columns, k=3, table="t", nulls=nulls)
    plan = planned(engine, data, document)
    assert plan.node == (0,)
    assert plan.ledger.excluded == (3 if nulls == "basic" else 0)
    published = rows_of_table(plan.publish().to_arrow())
    kept = values if nulls == "extended" else values[1:]
    assert published == Counter({(value, "x"): 3 for value in kept})


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_an_engine_that_nobody_closes_is_freed_with_its_last_user(kind: str) -> None:
    """It would hold its connection, and the file beneath it, until Python looks for circles."""
    from sqlanon.core.engines.duckdb.engine import DuckDBEngine
    from sqlanon.core.engines.sqlite.engine import SQLiteEngine

    forgotten: Engine = DuckDBEngine() if kind == "duckdb" else SQLiteEngine()
    assert not forgotten.catalog.relations() and forgotten.targets.place(["t"], None).name == "t"
    last = weakref.ref(forgotten)
    del forgotten
    assert last() is None


# -- what an engine lacks ----------------------------------------------------------------------------------------------


def test_what_an_engine_lacks_is_refused_with_an_alternative(engine: Engine) -> None:
    for feature in FEATURES:
        assert engine.capabilities.has(feature) is (feature not in engine.capabilities.lacks)
        if engine.capabilities.has(feature):
            engine.capabilities.require(feature)
            continue
        lack = engine.capabilities.lacks[feature]
        assert lack.reason and lack.instead
        with pytest.raises(UnsupportedError) as raised:
            engine.capabilities.require(feature)
        assert engine.capabilities.name in raised.value.message
        assert raised.value.hint == lack.instead
    assert engine.capabilities.has("side_by_side") or engine.lanes == 1


def test_a_sum_beyond_64_bits_is_exact_or_refused(engine: Engine) -> None:
    """Never wrapped, and never a float."""
    largest = 2**63 - 1
    engine.load("load", "big", pa.table({"n": pa.array([largest] * 3, pa.int64())}))
    wide = exp.cast(exp.Sum(this=exp.cast(column("n"), "HUGEINT")), "HUGEINT")
    square = exp.Mul(this=exp.cast(exp.Max(this=column("n")), "HUGEINT"), expression=number(largest))
    wanted = {3 * largest: wide, largest**2: exp.cast(square, "HUGEINT")}
    for expected, value in wanted.items():
        query = exp.select(named(value, "x")).from_(table("big"))
        if engine.capabilities.has("wide_sums"):
            found = engine.run("sum", query)[0][0]
            assert int(found) == expected and not isinstance(found, float)
        else:
            with pytest.raises(UnsupportedError) as raised:
                engine.run("sum", query)
            assert raised.value.hint
    with pytest.raises(
        (EngineError, UnsupportedError)
    ):  # and what is to fit 64 bits, but does not, is no number at all
        engine.run("total", exp.select(named(total(column("n")), "x")).from_(table("big")))


def test_roles_are_given_or_refused_before_any_work(engine: Engine) -> None:
    data, document = model_case(*MODEL_CASES["k_anonymity"], "loss")
    if engine.capabilities.has("roles"):
        pytest.skip("tested on the engine's own")
    plan = planned(engine, data, document)
    with pytest.raises(UnsupportedError) as raised:
        plan.publish(Output("table", "released", owner="keeper", readers=("analyst",)))
    assert raised.value.hint
    assert engine.catalog.existing(engine.targets.place(["released"], None)) is None


def test_the_table_of_capabilities_tells_every_lack_with_its_reason() -> None:
    from sqlanon.core.engines.duckdb.engine import DuckDBEngine
    from sqlanon.core.engines.sqlite.engine import SQLiteEngine

    reported = capability_table([DuckDBEngine.capabilities, SQLiteEngine.capabilities])
    lines = reported.splitlines()
    assert lines[0] == "| | DuckDB | SQLite |"
    assert len([line for line in lines if line.startswith("| ")]) == len(FEATURES) + 1
    for capabilities in (DuckDBEngine.capabilities, SQLiteEngine.capabilities):
        for feature, lack in capabilities.lacks.items():
            assert f"{capabilities.name}: {lack.reason} Instead: {lack.instead}" in reported
            assert any(line.startswith(f"| {FEATURES[feature]} |") and "no (" in line for line in lines)
