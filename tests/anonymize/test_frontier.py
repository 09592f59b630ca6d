"""Frontiers: every point is the optimum that a brute force finds, and what a run of its own gives, on every engine.

``SQLANON_EFFORT=20 python -m pytest -m "" tests/anonymize/test_frontier.py`` looks at more tables than the default.
"""

import json
import math
import random
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import brute
import brute_models
import duckdb
import pytest
from command_line import sqlanon as command
from effort import Block, enough, seeds
from policies import document_of
from postgres_server import Server, execute
from random_worlds import document, load, random_world
from tables import text_table
from whole_runs import losses_of

import sqlanon
from sqlanon.assess.frontier.points import Effort, Frontier, FrontierPoint, dominated_points, knee_of
from sqlanon.assess.frontier.verb import with_point
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.search.certificate import Certificate
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.report.cards import html_card
from sqlanon.report.frontier_chart import html_chart, svg_chart

KS = (1, 2, 3, 5)
LIMITS = ("0", "0.1", "0.4", "1")


def at_k(world: brute_models.World, k: int) -> brute_models.World:
    """The world with another k, which is added where it has none."""
    others = [(column, model) for column, model in world.models if model["type"] != "k_anonymity"]
    return brute_models.World(
        world.records, world.trees, world.sensitive, [*others, (None, {"type": "k_anonymity", "k": k})], world.nulls
    )


@pytest.mark.slow
@seeds(40, 4)
def test_every_point_is_the_optimum_and_what_a_run_of_its_own_gives(block: Block) -> None:
    solved = unsolved = 0
    for seed in block:
        world, rng = random_world(seed), random.Random(seed)
        keys = document(world, rng)
        population = len(world.members)
        if rng.random() < 0.5:
            keys["search"] = {"where": "engine"}
        policy = sqlanon.Policy.from_dict(keys)
        with duckdb.connect() as connection:
            load(connection, world)
            found = sqlanon.frontier(connection, policy, KS, LIMITS)
            assert [point.place for point in found.points] == [(k, Decimal(limit)) for k in KS for limit in LIMITS]
            for k in KS:
                mine = at_k(world, k)
                answers = {n: brute_models.judge(mine, n) for n in brute.nodes(world.trees)} if population else {}
                losses = losses_of(mine, answers, keys)
                for limit in LIMITS:
                    allowed = math.floor(float(limit) * population + 1e-9)
                    feasible = [n for n, a in answers.items() if a.candidate and a.classes and a.suppressed <= allowed]
                    point, context = found.point(k, limit), (seed, k, limit, keys)
                    alone = with_point(policy, k, Decimal(limit))
                    if not feasible:
                        unsolved += 1
                        assert not point.found and point.reason and not point.optimal, context
                        continue
                    solved += 1
                    assert point.optimal and point.levels is not None and point.ledger is not None, context
                    answer = answers[tuple(point.levels.values())]
                    assert point.loss == pytest.approx(min(losses[n] for n in feasible), rel=1e-9, abs=1e-9), context
                    assert point.smallest_class == answer.smallest, context
                    assert point.average_risk == pytest.approx(answer.classes / (population - answer.suppressed))
                    if rng.random() < 0.8:  # every run encodes the table again
                        continue
                    with sqlanon.plan(connection, alone) as plan:
                        assert (point.levels, point.ledger) == (plan.levels, plan.ledger), context
                        assert point.certificate == plan.certificate, context
    assert enough(solved and unsolved)


@seeds(40, 10)
def test_what_carries_over_holds_for_every_node(block: Block) -> None:
    """With k, what is suppressed and every measure's loss rise, and candidates become fewer."""
    risen = 0
    for seed in block:
        world, rng = random_world(seed), random.Random(seed)
        weights = [rng.choice([1, 2, 0.5]) for _ in world.trees]
        if not world.members:
            continue
        for measure in ("loss", "precision", "non_uniform_entropy", "discernibility", "average_class_size"):
            aggregate = rng.choice([None, "sum", "geometric_mean", "maximum"])
            for node in brute.nodes(world.trees):
                before = None
                for k in KS:
                    mine = at_k(world, k)
                    answer = brute_models.judge(mine, node)
                    lost = brute_models.loss(mine, node, answer, measure, aggregate, weights)
                    if before is not None:
                        assert answer.suppressed >= before[0] and lost >= before[1] - 1e-9, (seed, node, k, measure)
                        assert answer.candidate == before[2] and (before[3] or not answer.classes)
                        risen += lost > before[1] + 1e-9
                    before = (answer.suppressed, lost, answer.candidate, answer.classes)
    assert enough(risen)


def small_policy(**changes: Any) -> dict[str, Any]:
    """A policy for ``small_rows``."""
    quasi = {"role": "quasi_identifier", "hierarchy": {"redact": {"direction": "right"}}}
    return document_of({"zip": quasi, "age": "redact", "n": "drop"}, changes, k=2, table="t")


def small_rows(seed: int = 5, count: int = 300) -> list[tuple[str, str, str]]:
    rng = random.Random(seed)
    lengths = [3] * 60 + [4] * 30 + [6] * 6 + [9] * 4
    return [
        ("".join(rng.choices("0123", k=rng.choice(lengths))), str(rng.randrange(20, 60)), str(i % 7))
        for i in range(count)
    ]


@pytest.fixture
def small() -> Any:
    with duckdb.connect() as connection:
        text_table(connection, ["zip", "age", "n"], small_rows())
        yield connection


def compare(source: object, policy: sqlanon.Policy, found: Frontier) -> None:
    """Hold every point against a run of its own."""
    for point in found.points:
        alone = with_point(policy, point.k, point.limit)
        if not point.found:
            with pytest.raises(sqlanon.NoSolutionError):
                sqlanon.plan(source, alone)
            continue
        with sqlanon.plan(source, alone) as plan:
            assert (point.levels, point.certificate, point.ledger) == (plan.levels, plan.certificate, plan.ledger)


@pytest.mark.slow
def test_a_width_that_depends_on_k_is_encoded_for_each(small: duckdb.DuckDBPyConnection) -> None:
    policy = sqlanon.Policy.from_dict(small_policy())
    found = sqlanon.frontier(small, policy, (2, 20, 20, 40, 100), (0.2,))
    assert found.effort.encodings == 3
    compare(small, policy, replace(found, points=found.points[1:]))
    assert sqlanon.frontier(small, fixed_widths(), (2, 20, 40, 100), (0.2,)).effort.encodings == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "strategy", ["exhaustive", "flash", "ola", "incognito", "best_first", "anon", "datafly", "igreedy"]
)
@pytest.mark.few(4)
def test_every_strategy_gives_what_it_gives_alone(strategy: str, small: duckdb.DuckDBPyConnection) -> None:
    policy = sqlanon.Policy.from_dict(fixed_widths(search={"strategy": strategy}))
    found = sqlanon.frontier(small, policy, (2, 10, 50), (0, 0.1))
    compare(small, policy, found)
    assert all(point.found and not point.carried for point in found.points)
    assert found.effort.judged < found.effort.evaluated


@pytest.mark.slow
@pytest.mark.parametrize("where", ["auto", "engine"])
def test_persons_are_counted_where_a_policy_names_them(where: str) -> None:
    keys = small_policy(entity="n", search={"where": where})
    rows = [(code, age, str(i // 3)) for i, (code, age, _) in enumerate(small_rows())]
    with duckdb.connect() as connection:
        text_table(connection, ["zip", "age", "n"], rows)
        policy = sqlanon.Policy.from_dict(keys)
        found = sqlanon.frontier(connection, policy, (2, 5), (0, 0.1, 0.5))
        compare(connection, policy, found)
    points = [point for point in found.points if point.ledger is not None]
    assert points and found.unit == "entities"
    for point in points:
        assert point.ledger.entities is not None and point.smallest_class == point.ledger.entities.smallest_class
        assert point.average_risk is None


@pytest.mark.slow
@pytest.mark.parametrize("where", ["auto", "local", "engine"])
def test_sqlite_gives_the_same_points(where: str, tmp_path: Path, small: duckdb.DuckDBPyConnection) -> None:
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (zip TEXT, age TEXT, n TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", small_rows())
        connection.commit()
    policy = small_policy(search={"where": where})
    found = sqlanon.frontier(path, policy, (2, 5, 20), ("0.02", "0.2"))
    expected = sqlanon.frontier(small, policy, (2, 5, 20), ("0.02", "0.2"))
    assert [(p.place, p.loss, p.optimal) for p in found.points] == [
        (p.place, p.loss, p.optimal) for p in expected.points
    ]
    compare(path, sqlanon.Policy.from_dict(policy), found)


@pytest.mark.parametrize("where", ["local", "engine"])
def test_postgres_gives_the_same_points(where: str, postgres: Server, small: duckdb.DuckDBPyConnection) -> None:
    pytest.importorskip("sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed")
    rows = ", ".join(f"('{code}', '{age}', '{n}')" for code, age, n in small_rows())
    execute(postgres, "CREATE TABLE frontier_t (zip TEXT, age TEXT, n TEXT)", f"INSERT INTO frontier_t VALUES {rows}")
    try:
        policy = small_policy(search={"where": where}, table="frontier_t")
        found = sqlanon.frontier(postgres.uri(), policy, (2, 5, 20), ("0.02", "0.2"))
        expected = sqlanon.frontier(small, small_policy(), (2, 5, 20), ("0.02", "0.2"))
        for mine, other in zip(found.points, expected.points, strict=True):
            assert (mine.place, mine.found, mine.optimal) == (other.place, other.found, other.optimal)
            assert mine.loss == pytest.approx(other.loss, rel=1e-12)
        compare(postgres.uri(), sqlanon.Policy.from_dict(policy), found)
    finally:
        execute(postgres, "DROP TABLE frontier_t")


@pytest.mark.slow
@seeds(20, 2)
def test_a_search_that_is_stopped_takes_what_the_others_prove(block: Block) -> None:
    for seed in block:
        world, rng = random_world(seed), random.Random(seed)
        keys = document(world, rng)
        with duckdb.connect() as connection:
            load(connection, world)
            exact = sqlanon.frontier(connection, keys, KS, LIMITS)
            for most in (2, 4):
                found = sqlanon.frontier(connection, keys | {"search": {"max_evaluations": most}}, KS, LIMITS)
                for point, best in zip(found.points, exact.points, strict=True):
                    context = (seed, most, point.place)
                    if not point.found:
                        assert point.stopped or not best.found, context
                        continue
                    assert best.found and point.certificate is not None and point.ledger is not None, context
                    assert point.certificate.lower_bound is not None
                    assert point.certificate.lower_bound <= best.loss * (1 + 1e-9) + 1e-12, context
                    assert best.loss <= point.loss * (1 + 1e-9) + 1e-12, context
                    if point.optimal:
                        assert point.loss == pytest.approx(best.loss, rel=1e-9, abs=1e-12), context
                    answer = brute_models.judge(at_k(world, point.k), tuple((point.levels or {}).values()))
                    assert (point.ledger.suppressed, point.ledger.classes) == (answer.suppressed, answer.classes)


def fixed_widths(**changes: Any) -> dict[str, Any]:
    """The policy for ``small_rows`` whose encoding does not depend on k."""
    keys = small_policy(**changes)
    for name, width in (("zip", 9), ("age", 2)):
        keys["columns"][name]["hierarchy"] = {"redact": {"width": width, "direction": "right"}}
    return keys


@pytest.mark.slow
def test_what_is_carried_over_can_prove_an_optimum(small: duckdb.DuckDBPyConnection) -> None:
    exact = sqlanon.frontier(small, fixed_widths())
    better = proven = 0
    for most in (2, 3, 4, 5, 6):
        search = {"max_evaluations": most}
        found = sqlanon.frontier(small, fixed_widths(search=search))
        for point, best in zip(found.points, exact.points, strict=True):
            assert point.certificate is not None and point.certificate.lower_bound is not None
            assert point.certificate.lower_bound <= best.loss * (1 + 1e-12) <= point.loss * (1 + 1e-9)
            if point.carried:
                alone = with_point(sqlanon.Policy.from_dict(fixed_widths(search=search)), *point.place)
                with sqlanon.plan(small, alone) as plan:
                    own = plan.certificate
                assert own.lower_bound is not None and not own.optimal
                better += point.loss < own.loss or point.certificate.lower_bound > own.lower_bound
                proven += point.optimal
    assert better and proven


def test_a_policy_without_k_gets_one_and_a_count_is_replaced(small: duckdb.DuckDBPyConnection) -> None:
    keys = small_policy(suppression_count=3, output={"file": "never.parquet"})
    keys["columns"]["n"] = {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}
    del keys["privacy"]
    found = sqlanon.frontier(small, sqlanon.Policy.from_dict(keys), (2,), (0.1,))
    policy = with_point(sqlanon.Policy.from_dict(keys), 2, Decimal("0.1"))
    assert [model.label for model in policy.models] == ["k_anonymity(k=2)", "n: distinct_l_diversity(l=2)"]
    assert policy.suppression_count is None and found.points[0].ledger is not None
    assert found.points[0].ledger.suppressed <= 30
    assert not Path("never.parquet").exists()


@pytest.mark.slow
def test_the_searches_spare_each_other_work(small: duckdb.DuckDBPyConnection) -> None:
    found = sqlanon.frontier(small, fixed_widths())
    effort = found.effort
    assert effort.evaluated == sum(p.certificate.evaluated for p in found.points if p.certificate is not None) + sum(
        not p.found for p in found.points
    )
    assert effort.formed is not None and effort.formed <= 30 and effort.judged < effort.evaluated * 0.8
    by_sql = sqlanon.frontier(small, fixed_widths(search={"where": "engine"})).effort
    assert by_sql.formed is None and by_sql.judged < by_sql.evaluated


@pytest.mark.slow
def test_little_room_for_classes_changes_nothing(
    small: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = sqlanon.frontier(small, fixed_widths())
    monkeypatch.setattr("sqlanon.core.evaluate.in_process.KEPT_ROWS", 100)
    monkeypatch.setattr("sqlanon.core.evaluate.shared_counts.MOST_LEVELS", 8)
    found = sqlanon.frontier(small, fixed_widths())
    assert found.points == expected.points
    assert found.effort.formed is not None and expected.effort.formed is not None
    assert found.effort.formed > expected.effort.formed and found.effort.judged > expected.effort.judged


def test_what_cannot_be_asked_is_refused(small: duckdb.DuckDBPyConnection) -> None:
    policy = small_policy()
    for wrong in ((), (0,), (True,), ("2",), (2.0,), "25"):
        with pytest.raises(InputError, match="k"):
            sqlanon.frontier(small, policy, wrong)  # type: ignore[arg-type]
    for wrong in ((), (-0.1,), (1.1,), ("x",), ("NaN",), (True, "a")):
        with pytest.raises(InputError, match="limits"):
            sqlanon.frontier(small, policy, (2,), wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="10,000 points"):
        sqlanon.frontier(small, policy, range(1, 5000))
    with pytest.raises(UnsupportedError, match="single nodes"):
        sqlanon.frontier(small, policy | {"transformation": {"type": "patterns"}})
    with pytest.raises(KeyError):
        sqlanon.frontier(small, policy, (2,), (0,)).point(3, 0)


def point(k: int, smallest: int, loss: float, limit: str = "0") -> FrontierPoint:
    """A point of a frontier with 1,000 records."""
    reasons = {"failing_class": 0, "uncovered": 0, "null": 0}
    certificate = Certificate("loss", None, loss, loss, 0.0, True, "box", 1, 1)
    return FrontierPoint(
        k, Decimal(limit), {"a": 0}, certificate, Ledger(1000, 1000, 0, 0, reasons, 10, smallest, smallest)
    )


def test_dominated_points_and_knees() -> None:
    curve = [point(2, 2, 0.1), point(4, 4, 0.15), point(10, 10, 0.2), point(20, 20, 0.6), point(100, 100, 1.0)]
    assert dominated_points(curve) == {}
    knee = knee_of(curve)
    assert knee is not None and knee[0].k == 10
    risk, loss = (0.1 - 0.01) / (0.5 - 0.01), (0.2 - 0.1) / 0.9
    assert knee[1] == pytest.approx(1 - risk - loss)
    worse = point(3, 4, 0.2, "0.1")
    assert dominated_points([*curve, worse]) == {(3, Decimal("0.1")): curve[1]}
    twin = point(5, 4, 0.15)
    assert dominated_points([*curve, twin]) == {}, "equal points do not dominate each other"
    assert knee_of(curve[:2]) is None and knee_of([]) is None
    assert knee_of([point(2, 2, 0.0), point(4, 4, 0.9), point(10, 10, 1.0)]) is None, "above its chord"
    assert knee_of([point(2, 2, 0.5)] * 4) is None


def test_a_frontier_of_entities_counts_them_wherever_it_is_shown(tmp_path: Path) -> None:
    rows = [(person, person % 7 if person < 60 else person) for person in range(63) for _ in range(1 + person % 3)]
    (tmp_path / "t.csv").write_text("person,age\n" + "".join(f"{p},{a}\n" for p, a in rows))
    document = document_of({"person": "drop", "age": "suppress"}, k=5, source=str(tmp_path / "t.csv"), entity="person")
    found = sqlanon.frontier(None, sqlanon.Policy.from_dict(document), k=[5], limit=["0.1"])
    [best] = found.points
    assert best.ledger is not None and (best.suppressed, best.ledger.suppressed) == (3, 6)
    assert best.suppressed_share == 3 / 63 and best.to_dict()["suppressed"] == 6, "the key counts records as before"
    page = html_chart(found)
    assert 'data-label="suppressed entities">3</td>' in page and "highest risk of an entity" in page
    assert "Suppressed entities" in html_card(found) and "4.8% suppressed" in page


def test_a_step_says_what_it_costs() -> None:
    effort = Effort(3, 3, 3, 1, {"encode": 0.0, "search": 0.0})
    points = (point(5, 5, 0.1), point(10, 10, 0.112), point(20, 23, 0.112), FrontierPoint(50, Decimal(0), reason="No."))
    found = Frontier(points, "loss", None, "records", effort)
    first, second = [step.sentence for step in found.steps]
    assert first == (
        "At a limit of 0 %, going from k = 5 to k = 10 raises the loss by 0.012 (12 % of it) and halves the highest "
        "risk, from 1 in 5 to 1 in 10."
    )
    assert second.endswith("leaves the loss as it is and lowers the highest risk from 1 in 10 to 1 in 23.")
    document = found.to_dict()
    assert document["points"][3] | {"reason": ""} == {
        **dict.fromkeys(document["points"][3]), "k": 50, "limit": 0.0, "found": False, "optimal": False, "reason": "",
        "carried": False, "knee": False,
    }  # fmt: skip
    json.dumps(document)
    for drawn in (svg_chart(found), html_chart(found)):
        assert (
            drawn.count("<circle") == 3 and "k = 10" in drawn and drawn.count("http") <= 1 + drawn.count("http-equiv")
        )


def test_a_frontier_without_any_solution_can_be_drawn() -> None:
    effort = Effort(1, 1, 1, 1, {"encode": 0.0, "search": 0.0})
    found = Frontier((FrontierPoint(2, Decimal(0), reason="No node."),), "loss", None, "records", effort)
    assert "No node." in html_chart(found) and "<circle" not in svg_chart(found)
    assert found.knees == () and found.steps == () and found.pareto == ()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("zip,age,n\n" + "".join(",".join(row) + "\n" for row in small_rows()))
    document = small_policy(source="t.csv")
    del document["table"]
    (tmp_path / "p.json").write_text(json.dumps(document))
    return tmp_path


@pytest.mark.slow
def test_the_command_prints_a_table_json_and_charts(folder: Path) -> None:
    policy = folder / "p.json"
    done = command("frontier", policy, "--k", "2, 5,10", "--limit", "0.1,0.05", "--chart", folder / "f.svg")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^  +5 +10 % +0\.\d{6} ", done.stdout, re.MULTILINE) and "chart: " in done.stdout
    assert (folder / "f.svg").read_text().startswith("<svg ")
    done = command("frontier", policy, "--k", "2,5,10", "--limit", "0.1,0.05", "--json", "--chart", folder / "f.html")
    document = json.loads(done.stdout)
    assert [(p["k"], p["limit"]) for p in document["points"]] == [
        (k, limit) for k in (2, 5, 10) for limit in (0.05, 0.1)
    ]
    assert document["chart"] == str(folder / "f.html") and "<table>" in (folder / "f.html").read_text()
    ran = json.loads(command("run", policy, "--json").stdout)
    alone = json.loads(command("frontier", policy, "--k", "2", "--limit", "0", "--json").stdout)["points"][0]
    assert all(ran[key] == alone[key] for key in ("levels", "loss", "lower_bound", "optimal", "suppressed", "classes"))


def test_the_command_refuses_what_it_cannot_read(folder: Path) -> None:
    policy = folder / "p.json"
    wrong = (
        ("--k", "2,x"), ("--k", "0"), ("--limit", "2"), ("--limit", "a"), ("--chart", folder / "f.png"),
        ("--chart", folder / "absent" / "f.svg"),
    )  # fmt: skip
    for options in wrong:
        done = command("frontier", policy, *options)
        assert done.returncode == 2 and not done.stdout, options
    done = command("frontier", policy, "--k", "400", "--json")
    assert done.returncode == 1 and not any(point["found"] for point in json.loads(done.stdout)["points"])


def test_a_chart_is_never_written_over_the_policy(folder: Path) -> None:
    (folder / "p.json").rename(folder / "p.svg.json")
    (folder / "link.svg").symlink_to(folder / "p.svg.json")
    done = command("frontier", folder / "p.svg.json", "--k", "2", "--chart", folder / "link.svg")
    assert done.returncode == 2 and "another file of this run" in done.stderr


def test_adult(shared: Path) -> None:
    """24 points of ADULT: what a run gives at k = 5 and 5 %, and how many nodes are grouped for all of them."""
    data = shared / "data" / "adult"
    names = ("age", "education", "marital-status", "native-country", "race", "salary-class", "sex", "workclass")
    columns = {
        name: {"role": "quasi_identifier", "hierarchy": {"file": str(data / f"adult_hierarchy_{name}.csv")}}
        for name in names
    }
    policy = sqlanon.Policy.from_dict(
        {"source": str(data / "adult.csv"), "csv": {"delimiter": ";"}, "undeclared": "drop", "columns": columns,
             "privacy": [{"type": "k_anonymity", "k": 2}],
         "quality": {"measure": "loss", "aggregate": "geometric_mean"}}
    )  # fmt: skip
    found = sqlanon.frontier(None, policy)
    assert all(point.optimal for point in found.points) and len(found.points) == 24
    chosen = found.point(5, 0.05)
    assert chosen.highest_risk == 0.2 and chosen.average_risk == pytest.approx(0.0137771, abs=5e-8)
    with sqlanon.plan(None, with_point(policy, 5, Decimal("0.05"))) as plan:
        assert (chosen.levels, chosen.certificate) == (plan.levels, plan.certificate)
    assert found.effort.formed is not None
    assert found.effort.formed < 900 < 2900 < found.effort.evaluated
    for k in found.ks:
        losses = [found.point(k, limit).loss for limit in found.limits]
        assert losses == sorted(losses, reverse=True)
    assert replace(found, warnings=()).to_dict()["knees"]
