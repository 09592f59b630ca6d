"""k-map: a population beside the source changes nothing but what is suppressed; estimates are those of their papers."""

import datetime
import itertools
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from effort import Block, enough, seeds
from policies import document_of
from tables import store

import sqlanon
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models.k_map import KMap, least_size_of
from sqlanon.interop.anon.definition_writing import write_definition

Row = tuple[Any, ...]
DAY = datetime.date(2020, 1, 1)
COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"intervals": {"width": 5, "fanouts": [2]}},
    "zip": {"redact": {}},
    "town": {"frequent": {"at_least": [8]}},
    "born": {"dates": {"levels": ["month", "year"]}},
}
"""Hierarchies that are built from the values of the source."""


def levels(rows: list[Row]) -> list[list[Callable[[Any], Any]]]:
    """Per column, what each level leaves of a value; as a class sees it, not as it reads."""
    towns = Counter(row[2] for row in rows)

    def known(level: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda value: None if value is None else level(value)

    def top(value: Any) -> str:
        return "*"

    return [
        [known(int), known(lambda v: v // 5), known(lambda v: v // 10), top],
        [known(str), *(known(lambda v, kept=kept: v[:kept]) for kept in (2, 1)), top],
        [known(str), known(lambda v: v if towns[v] >= 8 else "rest"), top],
        [known(str), known(lambda v: (v.year, v.month)), known(lambda v: v.year), top],
    ]


def table(rows: list[Row]) -> pa.Table:
    kinds = [pa.int64(), pa.string(), pa.string(), pa.date32()]
    return pa.table({name: pa.array([row[i] for row in rows], kinds[i]) for i, name in enumerate(COLUMNS)})


def draw(rng: random.Random, size: int, ages: range, letters: str, days: int) -> list[Row]:
    def some(value: Any) -> Any:
        return None if rng.random() < 0.05 else value

    return [
        (
            some(rng.choice(ages)),
            some("".join(rng.choices(letters, k=3))),
            some(rng.choice(letters)),
            some(DAY + datetime.timedelta(rng.randrange(days))),
        )
        for _ in range(size)
    ]


def keys(rows: list[Row], node: Node, of: list[list[Callable[[Any], Any]]]) -> list[Row]:
    return [tuple(of[i][level](value) for i, (value, level) in enumerate(zip(row, node))) for row in rows]


@seeds(10, 10)
def test_a_population_leaves_costs_and_domains_of_computed_hierarchies(block: Block) -> None:
    """Values that only the population has meet the source's on higher levels, and are no leaves."""
    judged = 0
    for seed in block:
        rng = random.Random(seed)
        rows, people = draw(rng, 60, range(20, 40), "ab", 90), draw(rng, 300, range(0, 70), "abc", 900)
        people += [row for row in rows if rng.random() < 0.5]
        nulls, k = rng.choice(["basic", "extended"]), rng.choice([2, 4, 8])
        quasi = {name: {"role": "quasi_identifier", "hierarchy": found} for name, found in COLUMNS.items()}
        alone = document_of(quasi, k=1, table="t", nulls=nulls, suppression_limit=1)
        mapped = {**alone, "privacy": [{"type": "k_map", "k": k, "population": {"table": "people"}}]}
        of = levels([row for row in rows if nulls == "extended" or None not in row])
        taking_part, counted = ([r for r in found if nulls == "extended" or None not in r] for found in (rows, people))
        with duckdb.connect() as connection:
            for name, found in (("t", rows), ("people", people)):
                store(connection, table(found), name)
            with sqlanon.plan(connection, alone) as before:
                facts = [(a.domain, a.height, a.costs, a.widths, a.keeps_type) for a in before.catalog.attributes]
                names = list(itertools.product(*(range(a.height) for a in before.catalog.attributes)))
                nodes = rng.sample(names, min(12, len(names)))
            with sqlanon.plan(connection, mapped) as plan:
                found_facts = [(a.domain, a.height, a.costs, a.widths, a.keeps_type) for a in plan.catalog.attributes]
                assert found_facts == facts, seed
                for node, verdict in zip(nodes, plan.evaluate_many([plan.catalog.levels(node) for node in nodes])):
                    members = Counter(keys(counted, node, of))
                    expected = sum(members[key] < k for key in keys(taking_part, node, of))
                    assert verdict.suppressed == expected, (seed, node)
                    judged += 0 < expected < len(taking_part)
    assert enough(judged > 20)


@pytest.mark.parametrize("truncated", [False, True])
def test_the_least_size_by_estimate_is_that_of_exact_sums(truncated: bool) -> None:
    rng = random.Random(3)
    for _ in range(300):
        k = rng.randint(1, 400)
        expected = max(rng.random() ** 3 * k, 1e-6)
        significance = rng.choice([0.05, 0.01, 0.5, 1e-12, 0.999])
        found = least_size_of(k, expected, significance, truncated=truncated)
        assert found == by_sums(k, expected, significance, truncated), (k, expected, significance)


def by_sums(k: int, expected: float, significance: float, truncated: bool) -> int:
    """min(k, k'), by sums of 60 digits from the least number on."""
    with localcontext() as context:
        context.prec = 60
        mean = Decimal(expected)
        nothing = (-mean).exp()
        whole = 1 - nothing if truncated else Decimal(1)
        term, below = nothing, nothing
        for size in range(1, k + 1):
            if (1 - below) / whole <= Decimal(significance):
                return size
            term *= mean / size
            below += term
    return k


def test_large_means_neither_overflow_nor_vanish() -> None:
    """Where e^-lambda is no float; about lambda + 1.645 sqrt(lambda)."""
    for mean in (1_000.0, 100_000.0, 10_000_000.0):
        found = least_size_of(2 * int(mean), mean, 0.05, truncated=False)
        assert abs(found - (mean + 1.645 * mean**0.5)) < 4
        assert least_size_of(2 * int(mean), mean, 0.05, truncated=True) == found


def test_an_estimate_is_k_anonymity_with_its_size(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE t AS SELECT i % 7 AS a, i % 3 AS b FROM range(200) AS r(i)")
    quasi = {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in "ab"}
    estimate = sqlanon.KMap(30, 1000)
    document = {"table": "t", "columns": quasi, "privacy": [estimate], "suppression_limit": 0.1}
    with sqlanon.anonymize(connection, document) as release:
        [model] = release.plan.models
        assert isinstance(model, KMap) and model.size == by_sums(30, 6.0, 0.05, False) == 11
        assert release.plan.suppressed_by_model[0][0] == "k_map(k=30, population=1000, estimator=poisson, least=11)"
        levels = release.levels
        assert release.ledger.smallest_class >= 11
    with sqlanon.plan(connection, {**document, "privacy": [sqlanon.KAnonymity(11)]}) as plan:
        assert plan.levels == levels
    with pytest.raises(sqlanon.NoSolutionError, match="population of 100 is smaller than its sample of 200 records"):
        sqlanon.plan(connection, {**document, "privacy": [sqlanon.KMap(30, 100)]})


@pytest.fixture
def people(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> Callable[..., sqlanon.Plan]:
    """A source of two classes, and what plans it with a population."""
    connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES (20, 'x'), (20, 'y'), (30, 'x'), (41, 'x')) v(age, s)")
    quasi = {"age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 10}}}, "s": {"role": "keep"}}

    def plan(population: Any, **keys: Any) -> sqlanon.Plan:
        privacy = [{"type": "k_map", "k": 2, "population": population}]
        document = {"table": "t", "columns": quasi, "privacy": privacy, "suppression_limit": 0.5, **keys}
        return sqlanon.plan(connection, sqlanon.Policy.from_dict(document, base_directory=tmp_path))

    return plan


def test_who_is_no_part_of_the_population_is_suppressed_and_counted(
    connection: duckdb.DuckDBPyConnection, people: Callable[..., sqlanon.Plan], tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text("Name;Age\nann;20\nbob;20\ncat;30\ndan;39\n")
    with people({"file": "people.csv", "delimiter": ";"}, columns={
        "age": {"role": "quasi_identifier", "max_level": 1, "hierarchy": {"intervals": {"width": 10}}},
        "s": {"role": "keep"},
    }) as plan:  # fmt: skip
        assert (plan.levels, plan.ledger.suppressed) == ({"age": 1}, 1)
        assert any("1 records of the source agree with no record of the population" in note for note in plan.warnings)
        found = {figure.key: figure.value for figure in plan.risk().after.figures}
        assert found["journalist_highest"] == 0.5


def test_values_that_the_source_cannot_have_count_for_no_class(
    connection: duckdb.DuckDBPyConnection, people: Callable[..., sqlanon.Plan]
) -> None:
    """20.5 is not rounded to a whole number, with which it would agree."""
    values = "(20.0), (20.5), (19.6), (30.0), (30.0), (NULL), (41.0), (42.0)"
    connection.execute(f"CREATE TABLE people AS SELECT age::DOUBLE AS age FROM (VALUES {values}) v(age)")
    with people({"table": "people"}) as plan:
        assert plan.evaluate({}).suppressed == 3  # all but the one of 30
        assert any("2 records of the population hold values that the types" in note for note in plan.warnings)


def test_what_cannot_be_meant_is_refused(
    connection: duckdb.DuckDBPyConnection, people: Callable[..., sqlanon.Plan]
) -> None:
    connection.execute("CREATE TABLE people AS SELECT 1 AS years")
    with pytest.raises(sqlanon.SourceError, match="The population has no column 'age'"):
        people({"table": "people"})
    with pytest.raises(sqlanon.SourceError, match=r"There is no population file .none\.csv."):
        people("none.csv")
    presence = {"type": "delta_presence", "min": 0, "max": 1, "subset": {"column": "s"}}
    beside = {"type": "k_map", "k": 2, "population": {"table": "people"}}
    for privacy, message in (
        ([presence, beside], "The source is the population of the subset already"),
        ([{"type": "k_map", "k": 2}], "There is no population"),
        ([beside, {**beside, "population": {"table": "others"}}], "The models name different populations"),
        ([{**beside, "estimator": "poisson"}], "counted, not estimated"),
        ([{"type": "k_map", "k": 2, "population": 5, "significance": 1}], "cannot use this significance"),
    ):
        with pytest.raises(sqlanon.PolicyError, match=message):
            people(None, privacy=privacy)
    with pytest.raises(sqlanon.PolicyError, match="leave out k_map, or the transformation"):
        people({"table": "people"}, transformation={"type": "local_recoding"})


def test_the_source_is_the_population_of_a_subset(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE t AS SELECT i % 4 AS a, i % 4 >= i // 4 AS member FROM range(16) r(i)")
    columns = {"a": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "member": {"role": "drop"}}
    presence = {"type": "delta_presence", "min": 0, "max": 1, "subset": {"column": "member"}}
    for population in ({}, {"population": "source"}):
        privacy = [presence, {"type": "k_map", "k": 4, **population}]
        with sqlanon.plan(connection, {"table": "t", "columns": columns, "privacy": privacy}) as plan:
            assert (plan.levels, plan.ledger.suppressed) == ({"a": 0}, 0)
        privacy[1] = {"type": "k_map", "k": 5, **population}
        with sqlanon.plan(connection, {"table": "t", "columns": columns, "privacy": privacy}) as plan:
            assert plan.levels == {"a": 1}


@pytest.mark.slow
@pytest.mark.parametrize("where", ["auto", pytest.param("engine", marks=pytest.mark.slow)])
@seeds(30, 15)
def test_release_models_suppress_what_is_left_of_the_classes(block: Block, where: str) -> None:
    """With models of the whole release: first F, then the smallest of the classes of the source that are left."""
    judged = 0
    for seed in block:
        rng = random.Random(seed)
        rows = [(rng.choice("abcd"), rng.choice("wxyz")) for _ in range(40)]
        people = rows + [(rng.choice("abcde"), rng.choice("wxyz")) for _ in range(60)]
        k, limit = rng.choice([2, 5, 9]), rng.choice([0.1, 0.3, 0.6])
        kind = rng.choice(["average_risk", "sample_uniqueness"])
        privacy = [
            {"type": "k_map", "k": k, "population": {"table": "people"}},
            {"type": kind, "threshold": limit},
        ]
        quasi = {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in "pq"}
        document = document_of(quasi, table="t", privacy=privacy, suppression_limit=1, search={"where": where})
        with duckdb.connect() as connection:
            for name, found in (("t", rows), ("people", people)):
                connection.execute(f"CREATE TABLE {name} (p VARCHAR, q VARCHAR)")
                connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", found)
            with sqlanon.anonymize(connection, document) as release:
                plan = release.plan
                for node in itertools.product((0, 1), repeat=2):
                    verdict = plan.evaluate(dict(zip("pq", node, strict=True)))
                    of = [lambda v, level=level: "*" if level else v for level in node]
                    sizes, members = (
                        Counter(tuple(map(lambda f, v: f(v), of, row)) for row in found) for found in (rows, people)
                    )
                    left = sorted(n for key, n in sizes.items() if members[key] >= k)
                    while left and (
                        len(left) > Decimal(str(limit)) * sum(left)
                        if kind == "average_risk"
                        else left.count(1) > Decimal(str(limit)) * sum(left)
                    ):
                        left.pop(0)
                    assert (verdict.suppressed, verdict.classes) == (40 - sum(left), len(left)), (seed, node)
                    judged += 0 < sum(left) < 40
                assert plan.certificate.optimal
                assert len(release.to_arrow()) == release.ledger.published
    assert enough(judged > 4)


def test_a_live_view_counts_the_source_as_the_population(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT i % 5 AS a, i % 3 = 0 AS member FROM range(34) r(i)")
        connection.execute("CREATE TABLE people AS SELECT 1 AS a")
    columns = {"a": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "member": {"role": "drop"}}
    presence = {"type": "delta_presence", "min": 0, "max": 1, "subset": {"column": "member"}}
    document = {
        "source": str(path),
        "table": "t",
        "columns": columns,
        "privacy": [presence, {"type": "k_map", "k": 7}],
        "suppression_limit": 0.5,
        "output": {"live_view": "released"},
    }
    with sqlanon.anonymize(None, document) as release:
        assert (release.levels, release.ledger.suppressed) == ({"a": 0}, 2)  # of a = 4 there are six
    with duckdb.connect(str(path)) as connection:
        rows = "SELECT a::VARCHAR, COUNT(*) FROM {} GROUP BY ALL ORDER BY ALL"
        assert connection.sql(rows.format("released")).fetchall() == [("0", 3), ("1", 2), ("2", 2), ("3", 3)]
        connection.execute("DELETE FROM t WHERE a = 0 AND NOT member")
        assert connection.sql(rows.format("released")).fetchall() == [("1", 2), ("2", 2), ("3", 3)]
    for privacy, message in (
        ({"type": "k_map", "k": 2, "population": {"table": "people"}}, "no table of a population"),
        ({"type": "k_map", "k": 2, "population": 1000}, "rests on how many records there are"),
    ):
        with pytest.raises(sqlanon.UnsupportedError, match=message):
            sqlanon.anonymize(None, {**document, "privacy": [privacy], "source": "nowhere.duckdb"})


def test_a_definition_holds_the_population(tmp_path: Path) -> None:
    quasi = {"a": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    for population in ({"file": "people.csv", "delimiter": ";"}, {"table": "people"}, 1000):
        model = {"type": "k_map", "k": 2, "population": population}
        document = {"source": "t.csv", "columns": quasi, "privacy": [model]}
        policy = sqlanon.Policy.from_dict(document, base_directory=tmp_path)
        (tmp_path / "policy.xml").write_bytes(write_definition(policy.to_dict()))
        again = sqlanon.Policy.from_file(tmp_path / "policy.xml")
        assert (again.privacy, again.fingerprint()) == (policy.privacy, policy.fingerprint())


@pytest.mark.parametrize(("size", "warned"), [(1000, False), (10**24, True)])
def test_an_estimate_that_lets_single_records_pass_is_a_warning(size: int, warned: bool) -> None:
    """A sample of a large population is so thin that a record alone stands for many."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT CAST(i % 4 AS VARCHAR) AS a FROM range(400) AS r (i)")
        policy = document_of({"a": "suppress"}, table="t", privacy=[{"type": "k_map", "k": 3, "population": size}])
        with sqlanon.plan(connection, policy) as plan:
            assert any("may hold a single record" in note for note in plan.warnings) == warned
