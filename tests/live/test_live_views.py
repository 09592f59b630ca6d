"""The SELECT of a live view publishes exactly the records it must, on every engine; a planted fault shows."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from effort import Block, enough, seeds
from live_worlds import Wanted, World, columns_of, published, random_world, worlds
from postgres_server import Server
from sqlglot import exp
from tables import store

from sqlanon.core.audit.check import check_relation
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.models.beta_likeness import BetaLikeness
from sqlanon.core.models.delta_disclosure import DeltaDisclosure
from sqlanon.core.models.delta_presence import DeltaPresence
from sqlanon.core.models.distinct_l_diversity import DistinctLDiversity
from sqlanon.core.models.entropy_l_diversity import EntropyLDiversity
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.models.recursive_l_diversity import RecursiveLDiversity
from sqlanon.core.models.t_closeness import TCloseness
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import UnsupportedError
from sqlanon.live import lookups
from sqlanon.live.compiler.live import live_view, takes_part
from sqlanon.live.compiler.live_models import FrozenColumn, LiveView, SensitiveColumn, refuse_models
from sqlanon.live.compiler.live_values import PLACE

Rows = list[tuple[Any, ...]]


def models(wanted: Wanted) -> tuple[PrivacyModel, ...]:
    built: list[PrivacyModel] = [KAnonymity(wanted.k)]
    if wanted.l:
        built.append(DistinctLDiversity("s", wanted.l))
    if wanted.subset:
        built.append(DeltaPresence(float(wanted.low), float(wanted.high), "reject" if wanted.reject else "ignore"))
    if wanted.entropy:
        built.append(EntropyLDiversity("s", wanted.entropy))
    if wanted.recursive is not None:
        built.append(RecursiveLDiversity("s", wanted.recursive[0], float(wanted.recursive[1])))
    if wanted.delta:
        built.append(DeltaDisclosure("s", wanted.delta))
    if wanted.beta:
        built.append(BetaLikeness("s", wanted.beta, wanted.enhanced))
    built += [TCloseness("s", most, distance) for distance, most in wanted.close.items()]
    return tuple(built)


def view_of(
    world: World,
    *,
    signed: bool = False,
    member_type: str = "BOOLEAN",
    shuffled: bool = True,
    collation: str | None = None,
) -> LiveView:
    quasi = tuple(
        FrozenColumn(name, "VARCHAR", None if lookup is None else table(f"l{i}"), signed=signed)
        for i, (name, lookup) in enumerate(zip(world.quasi, world.lookups))
    )
    return LiveView(
        source=table("t"),
        quasi=quasi,
        published={**dict.fromkeys(world.quasi, "VARCHAR"), "s": "VARCHAR", "id": "BIGINT"},
        models=models(world.wanted),
        basic=world.wanted.basic,
        entity="person" if world.wanted.entity else None,
        member="flag" if world.wanted.subset else None,
        member_type=member_type,
        shuffled=shuffled,
        collation=collation,
        sensitive=sensitive_of(world.wanted),
    )


def sensitive_of(wanted: Wanted) -> tuple[SensitiveColumn, ...]:
    if not (wanted.entropy or wanted.recursive or wanted.close or wanted.delta or wanted.beta):
        return ()
    lookup = table("ls") if wanted.tree is not None and set(wanted.close) - {"equal"} else None
    levels = 2 if "hierarchical" in wanted.close else 0
    return (SensitiveColumn("s", "VARCHAR", lookup, levels, lookup is not None),)


def sign(text: str | None) -> str:
    return "-" if text is None else "=" + text


def tables_of(world: World, *, signed: bool = False) -> dict[str, pa.Table]:
    texts = [*world.quasi, "s", "person"]
    kinds = {**dict.fromkeys(texts, pa.string()), "flag": pa.bool_(), "id": pa.int64()}
    document = {"t": pa.table({name: pa.array(items, kinds[name]) for name, items in columns_of(world).items()})}
    for i, lookup in enumerate(world.lookups):
        if lookup is not None:
            pairs = [(sign(v), sign(t)) if signed else (v, t) for v, t in lookup.items()]
            columns = {"value": [v for v, _ in pairs], "text": [t for _, t in pairs]}
            document[f"l{i}"] = pa.table({name: pa.array(items, pa.string()) for name, items in columns.items()})
    if world.wanted.tree is not None:
        listed = list(world.wanted.tree.items())
        told = {"value": [v for v, _ in listed], "level_1": [t[0] for _, t in listed]}
        document["ls"] = pa.table(
            {name: pa.array(items, pa.string()) for name, items in told.items()}
            | {"place": pa.array([t[1] for _, t in listed], pa.int64())}
        )
    return document


def on_duckdb(connection: duckdb.DuckDBPyConnection, world: World, query: exp.Expr, *, signed: bool = False) -> Rows:
    for name, data in tables_of(world, signed=signed).items():
        store(connection, data, name)
    return connection.execute(query.sql(dialect="duckdb", identify=True)).fetchall()


def on_sqlite(world: World, query: exp.Expr) -> Rows:
    connection = sqlite3.connect(":memory:")
    for name, data in tables_of(world).items():
        columns = ", ".join(f'"{column}"' for column in data.column_names)
        connection.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" * len(data.column_names))
        connection.executemany(
            f"INSERT INTO {name} VALUES ({marks})", [tuple(row.values()) for row in data.to_pylist()]
        )
    connection.execute(f"CREATE VIEW v AS {query.sql(dialect='sqlite', identify=True)}")
    return connection.execute("SELECT * FROM v").fetchall()


@seeds(60, 20)
def test_the_records_that_must_be_there_are_there_after_every_step(
    block: Block, connection: duckdb.DuckDBPyConnection
) -> None:
    sizes = Counter[bool]()
    for world in worlds(block, 5):
        expected = published(world)
        assert Counter(on_duckdb(connection, world, live_view(view_of(world)))) == expected, world
        sizes[bool(expected)] += 1
    assert enough(min(sizes.values()) > len(block) // 2)


@seeds(60, 30)
@pytest.mark.slow
def test_models_of_distributions_publish_what_they_must_after_every_step(
    block: Block, connection: duckdb.DuckDBPyConnection
) -> None:
    sizes = Counter[bool]()
    seen = Counter[str]()
    for world in worlds(block, 4, of_distributions=True):
        expected = published(world)
        query = live_view(view_of(world, collation=random_choice(world)))
        assert Counter(on_duckdb(connection, world, query)) == expected, world
        sizes[bool(expected)] += 1
        if expected:
            wanted = world.wanted
            asked = {name: getattr(wanted, name) for name in ("entropy", "recursive", "delta", "beta", "enhanced")}
            seen.update([*wanted.close, *(name for name, value in asked.items() if value)])
    assert enough(min(sizes.values()) > len(block) // 2 and len(seen) >= 6)


def random_choice(world: World) -> str | None:
    return "C" if len(world.rows) % 2 else None


def check_on_postgres(postgres: Server, worlds: Iterable[World], collation: str | None = None) -> None:
    """The SELECT publishes on PostgreSQL what it must."""
    module = pytest.importorskip(
        "sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed"
    )
    with closing(module.PostgresEngine(postgres.uri())) as engine:
        for world in worlds:
            for name, data in tables_of(world).items():
                engine.drop(name)
                engine.load("load", name, data)
            query = live_view(view_of(world, collation=collation))
            assert Counter(engine.run("live view", query)) == published(world), world


@seeds(60, 20)
def test_postgres_publishes_the_same_distributions(block: Block, postgres: Server) -> None:
    check_on_postgres(postgres, worlds(block, 2, of_distributions=True), collation="C")


@seeds(40, 20)
def test_an_independent_audit_of_the_rows_finds_nothing(block: Block, connection: duckdb.DuckDBPyConnection) -> None:
    engine = DuckDBEngine(connection=connection)
    audited = 0
    for world in worlds(block, 3):
        wanted = world.wanted
        rows = on_duckdb(connection, world, live_view(view_of(world)))
        if rows and not wanted.entity:
            audited += 1
            query = live_view(view_of(world)).sql(dialect="duckdb", identify=True)
            connection.execute(f"CREATE OR REPLACE VIEW v AS {query}")
            asked = [model for model in models(wanted) if not isinstance(model, DeltaPresence)]
            found = check_relation(engine, table("v"), quasi_identifiers=world.quasi, models=asked)
            assert found.holds and found.records == len(rows)
    assert enough(audited > 5)


@seeds(60, 20)
def test_sqlite_publishes_the_same_records(block: Block) -> None:
    for world in worlds(block, 2):
        query = live_view(view_of(world, member_type="INTEGER", shuffled=False))
        assert Counter(on_sqlite(world, query)) == published(world), world


@seeds(60, 20)
def test_postgres_publishes_the_same_records(block: Block, postgres: Server) -> None:
    check_on_postgres(postgres, worlds(block, 2))


@seeds(60, 20)
def test_lookups_with_signs_say_the_same(block: Block, connection: duckdb.DuckDBPyConnection) -> None:
    for world in worlds(block):
        query = live_view(view_of(world, signed=True))
        assert Counter(on_duckdb(connection, world, query, signed=True)) == published(world), world


@seeds(60, 20)
def test_the_records_that_take_part_are_counted(block: Block, connection: duckdb.DuckDBPyConnection) -> None:
    for world in worlds(block):
        wanted = world.wanted
        members = [row for row in world.rows if not wanted.subset or row["flag"]]
        included = [row for row in members if not wanted.basic or all(row[name] is not None for name in world.quasi)]
        assert on_duckdb(connection, world, takes_part(view_of(world))) == [(len(members), len(included))]


Fault = Callable[[exp.Expr], Any]


def left_joins(query: exp.Expr) -> None:
    for join in query.find_all(exp.Join):
        join.set("side", "LEFT")


def one_less(query: exp.Expr) -> None:
    least = next(query.args["where"].find_all(exp.GTE)).expression
    least.replace(exp.Literal.number(int(least.this) - 1))


def no_values(query: exp.Expr) -> None:
    for rank in [*query.find_all(exp.DenseRank)]:
        rank.replace(exp.RowNumber())


def keys_without_null(query: exp.Expr) -> None:
    for call in [*query.find_all(exp.Coalesce)]:
        call.replace(call.this)


def records_of_all(query: exp.Expr) -> None:
    for case in [*query.find_all(exp.Case)]:
        if isinstance(case.parent, exp.Sum | exp.Max):
            default = case.args["ifs"][0].args["true"]
            case.replace(default.copy())


def published_by_all(query: exp.Expr) -> None:
    for equal in [*query.args["where"].find_all(exp.EQ)]:
        equal.replace(exp.true())


def placed_only(query: exp.Expr) -> None:
    for column in [*query.args["where"].find_all(exp.Column)]:
        if column.name == "unplaced":
            column.replace(exp.Literal.number(0))


def whole_table(query: exp.Expr) -> None:
    for window in [*query.find_all(exp.Window)]:
        window.set("partition_by", None)


def nobody_is_somebody(query: exp.Expr) -> None:
    for where in [*query.find_all(exp.Where)]:
        if where.parent is not query:
            where.replace(exp.Where(this=exp.true()))


FAULTS: Sequence[Fault] = (
    left_joins, one_less, no_values, keys_without_null, records_of_all, published_by_all, placed_only, whole_table,
    nobody_is_somebody,
)  # fmt: skip


def shows(connection: duckdb.DuckDBPyConnection, fault: Fault, tried: Iterable[World]) -> bool:
    """Whether a view with a fault publishes other records than it must, in one world at least."""
    for world in tried:
        query = live_view(view_of(world))
        fault(query)
        if Counter(on_duckdb(connection, world, query)) != published(world):
            return True
    return False


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_shows(connection: duckdb.DuckDBPyConnection, fault: Fault) -> None:
    assert shows(connection, fault, worlds(Block(0, 80)))


def every_record(query: exp.Expr) -> None:
    """Each record of a value carries its count, not the first alone."""
    for case in [*query.find_all(exp.Case)]:
        condition = case.args["ifs"][0].this
        if isinstance(condition, exp.EQ) and condition.this.name.split("_", 1)[-1].startswith("first"):
            case.replace(case.args["ifs"][0].args["true"].copy())


def placed_alone(query: exp.Expr) -> None:
    """The classes are compared with the records that are in one, not with all that take part."""
    for join in query.find_all(exp.Join):
        join.set("side", "")


def ascending(query: exp.Expr) -> None:
    for ordered in query.find_all(exp.Ordered):
        ordered.set("desc", None)


def without_peers(query: exp.Expr) -> None:
    """What lies up to a value begins anew for each."""
    for window in [*query.find_all(exp.Window)]:
        if isinstance(window.this, exp.Sum):
            window.set("order", None)


def looser(query: exp.Expr) -> None:
    for compared in [*query.args["where"].find_all(exp.LTE, exp.LT)]:
        compared.replace(exp.true())


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", [every_record, placed_alone, ascending, without_peers, looser], ids=lambda fault: fault.__name__
)
def test_a_planted_fault_of_a_distribution_shows(connection: duckdb.DuckDBPyConnection, fault: Fault) -> None:
    assert shows(connection, fault, worlds(Block(0, 80), of_distributions=True))


def test_a_value_with_two_rows_in_a_lookup_is_suppressed(connection: duckdb.DuckDBPyConnection) -> None:
    """Its records would be multiplied, and the class would look larger than it is."""
    world = World([{"a": "x", "b": "y"}], Wanted(k=2))
    world.rows = [{"q0": q, "s": None, "flag": True, "person": None, "id": i} for i, q in enumerate("abb")]
    on_duckdb(connection, world, live_view(view_of(world)))
    connection.execute("INSERT INTO l0 VALUES ('a', 'x')")
    rows = connection.execute(live_view(view_of(world)).sql(dialect="duckdb", identify=True)).fetchall()
    assert sorted(rows) == [("y", None, 1), ("y", None, 2)]


def test_rows_do_not_come_in_the_order_of_the_source(connection: duckdb.DuckDBPyConnection) -> None:
    world = World([{"a": "x"}], Wanted(k=2))
    world.rows = [{"q0": "a", "s": None, "flag": True, "person": None, "id": i} for i in range(300)]
    seen = [[row[-1] for row in on_duckdb(connection, world, live_view(view_of(world)))] for _ in range(2)]
    assert sorted(seen[0]) == sorted(seen[1]) == list(range(300))
    assert seen[0] != seen[1] != list(range(300)) != seen[0]


@seeds(40, 20)
def test_nothing_in_the_text_belongs_to_one_engine(block: Block) -> None:
    for world in worlds(block):
        for dialect in ("duckdb", "postgres", "sqlite"):
            text = live_view(view_of(world)).sql(dialect=dialect, identify=True).upper()
            assert not any(word in text for word in ("QUALIFY", "FILTER", "DISTINCT", "HUGEINT", "ENUM"))


@pytest.mark.parametrize(
    ("model", "told"),
    [(RecursiveLDiversity("s", 2, 0.12345678901), "nine digits"), (DeltaPresence(0.12345678901, 0.5), "nine decimals")],
)  # fmt: skip
def test_what_no_window_can_say_is_refused(model: PrivacyModel, told: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        refuse_models([KAnonymity(2), model])
    assert told in str(caught.value) and "output: {view: …}" in str(caught.value)


def test_a_flag_that_is_a_text_is_refused() -> None:
    world = random_world(Random(0))
    world.wanted.subset = True
    with pytest.raises(UnsupportedError, match="BOOLEAN"):
        live_view(view_of(world, member_type="VARCHAR"))


@pytest.mark.parametrize("told", [[], [names.level(1)], [PLACE]])
@pytest.mark.parametrize("null_rows", [0, 1])
def test_a_null_that_a_hierarchy_does_not_list_has_a_row_whatever_is_told_of_it(
    told: list[str], null_rows: int
) -> None:
    """A hierarchy of values and a root tells nothing beside the value; the records with NULL stay all the same."""
    query = lookups._of_sensitive(lookups._ListedRows(2, null_rows, 1, "*"), 0, told)
    assert isinstance(query, exp.Union) == (not null_rows)
    assert all(len(part.expressions) == 1 + len(told) for part in query.find_all(exp.Select))
