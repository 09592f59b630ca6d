"""Releases by several rules: published, audited, accounted for and replayed like those of one node."""

import itertools
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import yaml
from click.testing import CliRunner
from effort import Block, enough, fast_of, is_full, scaled, seeds
from policies import document_of, file_of
from pyarrow import parquet
from random_worlds import document as model_document
from random_worlds import load, random_world
from tables import text_table

import sqlanon
from sqlanon.cli import main
from sqlanon.commands.demo_world import generate

Row = tuple[str | None, ...]
COLUMNS = ["a", "b", "c", "d"]
LEVELLED = {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in COLUMNS}


def rows_of(seed: int, number: int = 60) -> list[Row]:
    """Records with NULLs, empty texts and stars; the last column is unique, so that records can be told apart."""
    chance = random.Random(seed)
    values = ["x", "y", "z", "*", "", None, "NULL"]
    weights = [9, 5, 3, 1, 1, 2, 1]
    return [(*chance.choices(values, weights, k=4), str(number)) for number in range(number)]


def policy_of(transformation: dict[str, Any], k: int = 3, **changes: Any) -> sqlanon.Policy:
    quasi = {name: {"role": "quasi_identifier"} for name in COLUMNS}
    document = document_of({**quasi, "e": "keep"}, k=k, table="t", transformation=transformation)
    if "e" in changes.get("columns", document["columns"]):
        document["accept"] = ["e"]
    return sqlanon.Policy.from_dict({**document, **changes})


def released(release: sqlanon.Release) -> list[Row]:
    return list(zip(*release.to_arrow().to_pydict().values(), strict=True))


def suppressed_in(row: Row, published: Row) -> set[int]:
    """The positions that a published row may have suppressed; its other values are the record's own."""
    assert all(new in (old, "*") for old, new in zip(row, published, strict=True))
    return {i for i, (old, new) in enumerate(zip(row, published, strict=True)) if new == "*" and old != "*"}


def check_records(rows: list[Row], found: list[Row], k: int) -> None:
    """Every published row is a record of the source with some values replaced, and its class holds k."""
    records = {row[-1]: row for row in rows}
    assert len({row[-1] for row in found}) == len(found)
    for row in found:
        suppressed_in(records[row[-1]][:-1], row[:-1])
    assert min(Counter(row[:-1] for row in found).values(), default=k) >= k


@pytest.mark.parametrize("solver", ["greedy", "exact"])
@pytest.mark.parametrize("seed", range(scaled(3)))
def test_patterns_publish_the_records_themselves(seed: int, solver: str) -> None:
    if solver == "exact":
        pytest.importorskip("highspy", reason="the exact solver is an extra")
    rows, k = rows_of(seed), 2 + seed % 3
    with duckdb.connect() as connection:
        text_table(connection, [*COLUMNS, "e"], rows)
        policy = policy_of({"type": "patterns", "solver": solver}, k)
        with sqlanon.anonymize(connection, policy) as release:
            found = released(release)
            ledger, certificate, plan = release.ledger, release.certificate, release.plan
            assert isinstance(plan, sqlanon.RecodedPlan)
            quality = plan.quality
            assert quality is not None
    check_records(rows, found, k)
    sizes = Counter(row[:-1] for row in found)
    assert (ledger.classes, ledger.smallest_class) == (len(sizes), min(sizes.values()))
    assert ledger.largest_class == max(sizes.values())
    assert ledger.suppressed == len(rows) - len(found) < k
    records = {row[-1]: row[:-1] for row in rows}
    cells = sum(len(suppressed_in(records[row[-1]], row[:-1])) for row in found)
    stars = sum(value == "*" for row in rows for value in row[:-1])  # cannot be told from suppressed ones
    assert cells + 4 * ledger.suppressed <= quality.suppressions <= cells + 4 * ledger.suppressed + stars
    assert certificate.loss == pytest.approx(quality.suppressions / (4 * len(rows)))
    assert certificate.optimal == (solver == "exact")
    assert sum(rule.records for rule in plan.rules) == ledger.published


@pytest.mark.slow
@seeds(4, 4)
def test_the_exact_solver_is_never_worse_and_says_when_it_is_proven(block: Block) -> None:
    pytest.importorskip("highspy", reason="the exact solver is an extra")
    better = 0
    for seed in block:
        with duckdb.connect() as connection:
            text_table(connection, [*COLUMNS, "e"], rows_of(seed, 40))
            losses = {}
            for solver in ("greedy", "exact"):
                with sqlanon.recode(connection, policy_of({"type": "patterns", "solver": solver})) as plan:
                    losses[solver] = plan.certificate.loss
                    bound = plan.certificate.lower_bound
        assert bound == pytest.approx(losses["exact"])
        assert losses["exact"] <= losses["greedy"] + 1e-12
        better += losses["exact"] < losses["greedy"] - 1e-12
    assert enough(better)


def cheapest(rows: list[Row], patterns: list[tuple[int, ...]], k: int, allowed: int, weights: list[float]) -> float:
    """The least weight of suppressed cells of all assignments, of which ``allowed`` records may be left over."""
    best = float("inf")
    for chosen in itertools.product([None, *patterns], repeat=len(rows)):
        groups = Counter(
            (pattern, tuple(value for i, value in enumerate(row) if i not in pattern))
            for row, pattern in zip(rows, chosen, strict=True)
            if pattern is not None
        )
        if groups and min(groups.values()) >= k and chosen.count(None) <= allowed:
            cells = [range(len(weights)) if pattern is None else pattern for pattern in chosen]
            best = min(best, sum(weights[i] for pattern in cells for i in pattern))
    return best


@seeds(40)
@pytest.mark.slow
def test_the_exact_solver_claims_no_more_than_holds_under_any_limit(block: Block) -> None:
    pytest.importorskip("highspy", reason="the exact solver is an extra")
    outcomes: Counter[str] = Counter()
    for seed in block:
        chance = random.Random(seed)
        rows = [tuple(chance.choice("aab") for _ in range(3)) for _ in range(chance.randint(3, 6))]
        patterns = chance.sample(
            [p for n in range(4) for p in itertools.combinations(range(3), n)], chance.randint(1, 3)
        )
        k, count, weights = (
            chance.choice([2, 3, 4]),
            chance.choice([None, 0, 1, 2]),
            chance.choice([[1, 1, 1], [1, 0.5, 3]]),
        )
        transformation = {
            "type": "patterns",
            "solver": "exact",
            "patterns": [[COLUMNS[i] for i in p] for p in patterns],
        }
        columns = {COLUMNS[i]: {"role": "quasi_identifier", "weight": weights[i]} for i in range(3)}
        limit = {} if count is None else {"suppression_count": count}
        want = cheapest(rows, patterns, k, k - 1 if count is None else count, weights)
        with duckdb.connect() as connection:
            text_table(connection, COLUMNS[:3], rows)
            try:
                plan = sqlanon.recode(connection, policy_of(transformation, k, columns=columns, **limit))
            except sqlanon.NoSolutionError:
                assert want == float("inf"), seed
                outcomes["none"] += 1
                continue
            with plan:
                cells = len(rows) * sum(weights)
                cost, bound = plan.certificate.loss * cells, plan.certificate.lower_bound * cells
                assert bound - 1e-9 <= want <= cost + 1e-9, seed
                if plan.certificate.optimal:
                    assert cost == pytest.approx(want), seed
                outcomes["optimal" if plan.certificate.optimal else "bound"] += 1
    assert enough(outcomes["optimal"] > len(block) // 4 and outcomes["none"] > 0)


def test_the_exact_solver_finds_what_the_greedy_one_does_not() -> None:
    pytest.importorskip("highspy", reason="the exact solver is an extra")
    rows = [("a", "a"), ("b", "a"), ("b", "a"), ("c", "a"), ("c", "a"), ("c", "c")]
    columns = {name: {"role": "quasi_identifier"} for name in "ab"}
    transformation = {"type": "patterns", "patterns": [["a"], []]}
    with duckdb.connect() as connection:
        text_table(connection, ["a", "b"], rows)
        with pytest.raises(sqlanon.NoSolutionError, match="would suppress 2 of 6") as caught:
            sqlanon.recode(connection, policy_of(transformation, 2, columns=columns))
        assert "solver: exact" in caught.value.hint
        exact = policy_of({**transformation, "solver": "exact"}, 2, columns=columns)
        with sqlanon.recode(connection, exact) as plan:
            assert plan.ledger.suppressed == 1
            assert plan.certificate.loss == pytest.approx(5 / 12)


@pytest.mark.slow
def test_many_columns_with_weights_are_not_enumerated() -> None:
    chance = random.Random(1)
    names = [f"c{i}" for i in range(20)]
    rows = [tuple(str(chance.randrange(9)) for _ in names) for _ in range(60)]
    columns = {name: {"role": "quasi_identifier", "weight": 1 + i / 7} for i, name in enumerate(names)}
    with duckdb.connect() as connection:
        text_table(connection, names, rows)
        with sqlanon.recode(connection, policy_of({"type": "patterns"}, 5, columns=columns)) as plan:
            assert plan.certificate.lattice_size == 2**20
            assert plan.certificate.evaluated < 2000
        stopped = policy_of({"type": "patterns"}, 5, columns=columns, search={"time_limit": 0})
        with pytest.raises(sqlanon.SearchStoppedError, match="before all patterns were tried"):
            sqlanon.recode(connection, stopped)


@pytest.mark.slow
def test_a_time_limit_stops_patterns_that_are_tried_one_after_the_other() -> None:
    transformation = {"type": "patterns"}
    columns = {**LEVELLED, "e": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}}
    with duckdb.connect() as connection:
        text_table(connection, [*COLUMNS, "e"], rows_of(1))
        policy = policy_of(transformation, columns=columns, suppression_limit=1)
        with sqlanon.recode(connection, policy) as plan:
            assert plan.rules
        with pytest.raises(sqlanon.SearchStoppedError, match="before all nodes were tried"):
            sqlanon.recode(connection, policy_of(transformation, columns=columns, search={"time_limit": 0}))


@pytest.mark.slow
@pytest.mark.parametrize("columns", [64, 70])
def test_columns_beyond_a_word(columns: int) -> None:
    names = [f"c{i}" for i in range(columns)]
    rows = [tuple(str(row // 3 if i < 2 else 0) for i in range(columns)) for row in range(9)]
    given = {name: {"role": "quasi_identifier"} for name in names}
    with duckdb.connect() as connection:
        text_table(connection, names, [*rows, ("x",) * columns])
        with sqlanon.recode(connection, policy_of({"type": "patterns"}, 3, columns=given)) as plan:
            assert [rule.node for rule in plan.rules] == [(0,) * columns]
            assert plan.ledger.suppressed == 1


def test_the_rules_of_the_policy_hold() -> None:
    rows = [(*(f"{name}{value}" for name, value in zip(COLUMNS, row)), row[-1]) for row in rows_of(3, 200)]
    rules = {"never": ["a"], "together": [["b", "c"]], "at_most": 2}
    with duckdb.connect() as connection:
        text_table(connection, [*COLUMNS, "e"], rows)
        policy = policy_of({"type": "patterns", **rules}, suppression_limit=1)
        with sqlanon.anonymize(connection, policy) as release:
            found = released(release)
    check_records(rows, found, 3)
    records = {row[-1]: row[:-1] for row in rows}
    patterns = {frozenset(suppressed_in(records[row[-1]], row[:-1])) for row in found}
    assert patterns == {frozenset(), frozenset({3}), frozenset({1, 2})}


@seeds(8, 8)
@pytest.mark.slow
def test_a_limit_of_zero_leaves_nothing_over_and_a_tight_one_is_kept(block: Block) -> None:
    over = 0
    for seed in block:
        with duckdb.connect() as connection:
            text_table(connection, [*COLUMNS, "e"], rows_of(seed))
            with sqlanon.recode(connection, policy_of({"type": "patterns"}, 4)) as plan:
                over += plan.ledger.suppressed > 0
            strict = policy_of({"type": "patterns"}, 4, suppression_limit=0)
            with sqlanon.anonymize(connection, strict) as release:
                assert release.ledger.suppressed == 0
                check_records(rows_of(seed), released(release), 4)
            narrow = policy_of({"type": "patterns", "at_most": 1}, 4)
            with pytest.raises(sqlanon.NoSolutionError, match="would suppress"):
                sqlanon.recode(connection, narrow)
    assert enough(over > 0)


def test_weights_decide_what_is_suppressed() -> None:
    rows = [("x", str(i % 3), "p", str(i // 3 % 3), str(i)) for i in range(18)]
    lost = {}
    for heavy, light in (("b", "d"), ("d", "b")):
        with duckdb.connect() as connection:
            text_table(connection, [*COLUMNS, "e"], rows)
            columns = {name: {"role": "quasi_identifier"} for name in COLUMNS} | {"e": {"role": "keep"}}
            columns[heavy]["weight"] = 5
            policy = policy_of({"type": "patterns"}, 4, columns=columns)
            with sqlanon.recode(connection, policy) as plan:
                [rule] = plan.rules
                lost[heavy] = plan.suppressed_columns(rule)
                assert plan.certificate.loss == pytest.approx(1 / 8)
            assert lost[heavy] == (light,)


LIKENESS = {"type": "beta_likeness", "beta": 1}


@pytest.mark.parametrize("transformation", [{"type": "patterns"}, {"type": "local_recoding", "nodes": 4}])
@seeds(8, 4)
def test_other_models_hold_in_every_class(block: Block, transformation: dict[str, Any]) -> None:
    """What is written is audited by SQL of its own; this judges a few of the models in Python besides."""
    met = 0
    for seed in block:
        world = random_world(seed)
        document = {**model_document(world, random.Random(seed)), "suppression_limit": 0.5}
        document["privacy"] = [m for m in document["privacy"] if m["type"] != "delta_presence"] or [
            {"type": "k_anonymity", "k": 2}
        ]
        document["quality"] = {"measure": "loss"}
        for column in document["columns"].values():
            if "models" in column:  # δ-disclosure is refused
                column["models"] = [LIKENESS if m["type"] == "delta_disclosure" else m for m in column["models"]]
            for key in ("min_level", "max_level") if transformation["type"] == "patterns" else ():
                column.pop(key, None)
        with duckdb.connect() as connection:
            load(connection, world)
            try:
                policy = sqlanon.Policy.from_dict({**document, "transformation": transformation})
                release = sqlanon.anonymize(connection, policy)
            except sqlanon.NoSolutionError:
                continue
            with release:
                table = release.to_arrow().to_pydict()
                met += 1
        quasi = [name for name, column in document["columns"].items() if column["role"] == "quasi_identifier"]
        keys = list(zip(*(table[name] for name in quasi), strict=True))
        k = max((m["k"] for m in document["privacy"] if m["type"] == "k_anonymity"), default=1)
        assert min(Counter(keys).values()) >= k, seed
        for name, column in document["columns"].items():
            for model in column.get("models", []):
                if model["type"] == "beta_likeness" and not model.get("enhanced"):
                    classes = Counter(keys)
                    overall = Counter(r[1][int(name[1:])] for r in world.members)
                    for (key, value), n in Counter(zip(keys, table[name], strict=True)).items():
                        gain = n / classes[key] / (overall[value] / len(world.members)) - 1
                        assert gain <= model["beta"] + 1e-9, seed
                if model["type"] == "distinct_l_diversity":
                    values: dict[Any, set[Any]] = {}
                    for key, value in zip(keys, table[name], strict=True):
                        values.setdefault(key, set()).add(value)
                    assert min(map(len, values.values())) >= model["l"], seed
    assert enough(met > 0)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The policy of the demo, on 3,000 generated records."""
    return generate(tmp_path_factory.mktemp("demo"), records=3000)


def changed(demo: Path, folder: Path, name: str = "policy.yaml", **changes: Any) -> Path:
    """The policy of the demo with other keys, as a file; None removes a key."""
    document = yaml.safe_load(demo.read_text(encoding="utf-8"))
    document["source"] = str(demo.parent / document["source"])
    document["output"] = {"file": "out.parquet"}
    document.pop("report", None)
    for key, value in changes.items():
        document.pop(key, None) if value is None else document.update({key: value})
    for column in document["columns"].values():
        hierarchy = column.get("hierarchy", {})
        if "file" in hierarchy:
            hierarchy["file"] = str(demo.parent / hierarchy["file"])
    return file_of(folder / name, document)


def run(*arguments: object) -> tuple[int, Any, str]:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    out = result.stdout
    return result.exit_code, json.loads(out) if "--json" in arguments and out else out, result.stderr


@pytest.mark.slow
def test_local_recoding_from_the_command_line(demo: Path, tmp_path: Path) -> None:
    path = changed(demo, tmp_path, transformation={"type": "local_recoding", "nodes": 5})
    code, output, warnings = run("run", path, "--json")
    assert code == 0
    recoding = output["transformation"]
    assert output["strategy"] == "local_recoding" and output["levels"] == {} and not output["optimal"]
    assert output["loss"] < recoding["full_domain"]["loss"]
    assert 1 < len(recoding["rules"]) <= 5
    losses = [recoding["full_domain"]["loss"], *(step["loss"] for step in recoding["chosen"])]
    assert losses == sorted(losses, reverse=True) and recoding["hold"] == 0.1
    assert losses[-1] < output["loss"]  # the choice judged records that nothing held back
    assert "Chance held 10% of them back" in warnings and "keep the seed secret" in warnings
    assert output["published"] + output["suppressed"] == output["records"]
    manifest = json.loads((tmp_path / "out.parquet.manifest.json").read_text(encoding="utf-8"))
    assert [rule["levels"] for rule in manifest["rules"]] == sorted(
        (rule["levels"] for rule in recoding["rules"]), key=lambda levels: list(levels.values())
    )
    assert str(recoding["seed"]) not in json.dumps(manifest) and manifest["hold"] == 0.1
    assert not (tmp_path / "out.parquet.certificate.json").exists()
    quasi = [c["name"] for c in manifest["columns"] if c["role"] == "quasi_identifier"]
    code, _, _ = run("check", tmp_path / "out.parquet", "--qi", ",".join(quasi), "--k", "5")
    assert code == 0


@pytest.mark.slow
def test_the_same_seed_gives_the_same_rules_and_the_fingerprint_does_not_tell_it(demo: Path, tmp_path: Path) -> None:
    def planned(seed: int) -> tuple[Any, str]:
        transformation = {"type": "local_recoding", "nodes": 4, "seed": seed}
        policy = sqlanon.Policy.from_file(changed(demo, tmp_path, transformation=transformation))
        with sqlanon.recode(None, policy) as plan:
            assert plan.seed == seed
            return plan.rules, policy.fingerprint()

    assert planned(7) == planned(7)
    assert planned(7)[1] == planned(8)[1]


def test_given_nodes_are_tried_in_their_order(tmp_path: Path) -> None:
    rows = [(str(i % 4), "x", str(i)) for i in range(12)]
    hierarchy = {"levels": {str(i): [str(i // 2), "*"] for i in range(4)}}
    columns = {"a": {"role": "quasi_identifier", "hierarchy": hierarchy}, "b": "keep", "c": "keep"}
    document = document_of(columns, k=3, table="t", accept=["c"])
    first: list[tuple[int, ...]] = []
    for nodes in ([{"a": 0}, {"a": 1}], [{"a": 1}, {"a": 0}]):
        with duckdb.connect() as connection:
            text_table(connection, ["a", "b", "c"], rows)
            policy = sqlanon.Policy.from_dict(
                {**document, "transformation": {"type": "local_recoding", "nodes": nodes, "hold": 0}}
            )
            with sqlanon.recode(connection, policy) as plan:
                first += [rule.node for rule in plan.rules]
                assert sum(rule.records for rule in plan.rules) == 12
    assert first == [(0,), (1,)]
    with duckdb.connect() as connection:
        text_table(connection, ["a", "b", "c"], rows)
        wrong = {**document, "transformation": {"type": "local_recoding", "nodes": [{"a": 3}]}}
        with pytest.raises(sqlanon.HierarchyError, match="its levels are 0 to 2"):
            sqlanon.recode(connection, wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    "output",
    fast_of([{"view": "anon.out"}, {"table": "out"}, {"file": "out.duckdb"}, {"file": "out.csv"}], {"file": "out.csv"}),
)
@pytest.mark.parametrize(
    "transformation",
    [
        {"type": "patterns", "ties": "random"},
        {"type": "local_recoding", "nodes": 3},
        {"type": "patterns", "solver": "exact", "at_most": 1, "outliers": True},
    ],
)
def test_every_target(output: dict[str, str], transformation: dict[str, Any], demo: Path, tmp_path: Path) -> None:
    if transformation.get("solver") == "exact":
        pytest.importorskip("highspy", reason="the exact solver is an extra")
    copied = tmp_path / "hospital.duckdb"
    copied.write_bytes((demo.parent / "hospital.duckdb").read_bytes())
    columns = yaml.safe_load(demo.read_text(encoding="utf-8"))["columns"]
    columns = {name: {"role": "keep"} if column["role"] == "sensitive" else column for name, column in columns.items()}
    path = changed(
        demo, tmp_path, source=str(copied), output=output, transformation=transformation, columns=columns,
        suppressed="redact", search={"time_limit": 4},
    )  # fmt: skip
    with sqlanon.anonymize(None, sqlanon.Policy.from_file(path)) as release:
        table, ledger = release.to_arrow(), release.ledger
        assert table.num_rows == ledger.published + ledger.suppressed
        assert release.output.keys() == output.keys()
    if "file" in output and output["file"].endswith(".duckdb"):
        with duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True) as written:
            tables = written.execute("SELECT table_name FROM information_schema.tables").fetchall()
            assert tables == [("release",)]


@pytest.mark.parametrize(
    "transformation",
    [
        {"type": "patterns"},
        {"type": "local_recoding", "nodes": 4, "hold": 0},
        {"type": "local_recoding", "nodes": 4, "hold": 0.4},
    ],
)
@pytest.mark.slow
def test_the_script_replays_to_the_same_release(transformation: dict[str, Any], demo: Path, tmp_path: Path) -> None:
    policy = sqlanon.Policy.from_file(changed(demo, tmp_path, transformation=transformation))
    with sqlanon.anonymize(None, policy) as release:
        script = release.sql
    with duckdb.connect() as fresh:
        rows = fresh.execute(script)
        titles = [column[0] for column in rows.description]
        replayed = pa.table(dict(zip(titles, zip(*rows.fetchall(), strict=True), strict=True)))
    judged = [c.name for c in policy.columns if c.role in ("quasi_identifier", "sensitive")]
    table = parquet.read_table(tmp_path / "out.parquet")
    if transformation.get("hold"):  # which of the records of a row type are held back is left to chance
        table, replayed = table.select(judged), replayed.select(judged)
    both = [Counter(zip(*rows.to_pydict().values(), strict=True)) for rows in (replayed, table)]
    assert both[0] == both[1]


@pytest.mark.slow
def test_the_script_of_an_exact_solution_replays_to_the_same_classes(tmp_path: Path) -> None:
    """Which records of a row type are published by which pattern is left to chance."""
    pytest.importorskip("highspy", reason="the exact solver is an extra")
    with duckdb.connect() as connection:
        text_table(connection, [*COLUMNS, "e"], rows_of(2, 80))
        with sqlanon.anonymize(connection, policy_of({"type": "patterns", "solver": "exact"})) as release:
            script, found = release.sql, released(release)
    with duckdb.connect() as fresh:
        text_table(fresh, [*COLUMNS, "e"], rows_of(2, 80))
        replayed = fresh.execute(script).fetchall()
    assert Counter(row[:-1] for row in replayed) == Counter(row[:-1] for row in found)
    check_records(rows_of(2, 80), replayed, 3)


@pytest.mark.slow
def test_explain_tells_the_rules_and_one_statement(demo: Path, tmp_path: Path) -> None:
    path = changed(demo, tmp_path, transformation={"type": "local_recoding", "nodes": 3})
    code, output, _ = run("explain", path)
    assert code == 0
    assert "-- 1. " in output and "-- 2. " in output
    release = output[output.index("-- the release") :]
    assert release.count(";") == 1 and "CASE" in release and '"sqlanon_rules"' in release
    assert not (tmp_path / "out.parquet").exists()
    code, _, error = run("explain", path, "--node", "0,0,0")
    assert code == 2 and "leave --node out" in error


def test_a_plan_of_one_node_and_one_of_rules_are_asked_for_by_their_names(demo: Path, tmp_path: Path) -> None:
    policy = sqlanon.Policy.from_file(changed(demo, tmp_path))
    with pytest.raises(sqlanon.InputError, match="asks for no transformation"):
        sqlanon.recode(None, policy)
    policy = sqlanon.Policy.from_file(changed(demo, tmp_path, transformation={"type": "local_recoding"}))
    with pytest.raises(sqlanon.InputError, match=r"use sqlanon\.recode"):
        sqlanon.plan(None, policy)


@pytest.mark.slow
def test_a_report_for_people(demo: Path, tmp_path: Path) -> None:
    for transformation in ({"type": "local_recoding", "nodes": 3}, {"type": "patterns"}):
        path = changed(demo, tmp_path, transformation=transformation, if_exists="replace", repeats="accept")
        endings = (".txt", ".html") if is_full() else (".html",) if "nodes" in transformation else (".txt",)
        for ending in endings:
            code, _, error = run("run", path, "--report", tmp_path / f"run{ending}")
            assert code == 0, error
            text = (tmp_path / f"run{ending}").read_text(encoding="utf-8")
            assert transformation["type"].replace("_", " ") in text.lower()


def test_faults_of_a_transformation_are_told_together() -> None:
    with pytest.raises(sqlanon.PolicyError) as caught:
        policy_of(
            {"type": "patterns", "never": ["nobody"], "at_most": -1, "solver": "best", "ties": "listed", "seed": 3},
            quality={"measure": "height"},
            search={"strategy": "flash"},
        )
    keys = {fault.key for fault in caught.value.faults}
    assert keys == {
        "transformation.never", "transformation.at_most", "transformation.solver", "transformation.ties",
        "transformation.seed", "quality.measure", "search.strategy",
    }  # fmt: skip
    assert "nobody" not in str(caught.value)
    with pytest.raises(sqlanon.PolicyError, match=r"nodes\[0\]\.z"):
        policy_of({"type": "local_recoding", "nodes": [{"z": 1}]})
    with pytest.raises(sqlanon.PolicyError, match="not known"):
        policy_of({"type": "microaggregation"})


@pytest.mark.parametrize("transformation", [{"type": "patterns"}, {"type": "local_recoding", "nodes": 4}])
def test_a_model_that_a_union_of_passing_classes_may_fail_is_refused(transformation: dict[str, Any]) -> None:
    """Half of one class is rare and none of another: in both together too rare."""
    columns = {**LEVELLED, "s": {"role": "sensitive", "models": [LIKENESS, {"type": "delta_disclosure", "delta": 1}]}}
    with pytest.raises(sqlanon.PolicyError, match="union of classes that pass delta_disclosure may fail it") as caught:
        policy_of(transformation, columns=columns)
    assert [fault.key for fault in caught.value.faults] == ["columns.s.models[1]"]
    assert "beta_likeness" in str(caught.value)


def test_what_only_the_operator_may_know_is_not_in_the_fingerprint() -> None:
    nodes = [{"a": 1}, {"b": 1}, {}]
    given = [policy_of({"type": "local_recoding", "nodes": order}, columns=LEVELLED) for order in (nodes, nodes[::-1])]
    assert given[0].fingerprint() == given[1].fingerprint() != policy_of({"type": "patterns"}).fingerprint()
    listed = [["a"], ["b"], []]
    pairs = [policy_of({"type": "patterns", "ties": "listed", "patterns": order}) for order in (listed, listed[::-1])]
    assert pairs[0].fingerprint() == pairs[1].fingerprint() and pairs[0] != pairs[1]
    drawn = [policy_of({"type": "patterns", "ties": "random", "seed": seed}) for seed in (1, 2)]
    assert drawn[0].fingerprint() == drawn[1].fingerprint()


@pytest.mark.parametrize("transformation", [{"type": "patterns"}, {"type": "local_recoding"}])
def test_without_quasi_identifiers_there_is_nothing_to_transform(transformation: dict[str, Any]) -> None:
    with pytest.raises(sqlanon.PolicyError, match="no quasi-identifier"):
        policy_of(transformation, columns={"a": {"role": "keep"}})


def test_lists_of_something_else_are_faults() -> None:
    for key, value in (("patterns", [[["a"]]]), ("never", [1]), ("together", "a"), ("exclusive", [None])):
        with pytest.raises(sqlanon.PolicyError, match=f"transformation.{key}"):
            policy_of({"type": "patterns", key: value})
    with pytest.raises(sqlanon.PolicyError, match=r"transformation\.seed"):
        policy_of({"type": "local_recoding", "nodes": [{}], "hold": 0, "seed": 1}, columns=LEVELLED)
    for hold in (-0.1, 0.001, 0.049, 0.95, "much", True, float("nan")):
        with pytest.raises(sqlanon.PolicyError, match=r"transformation\.hold"):
            policy_of({"type": "local_recoding", "hold": hold}, columns=LEVELLED)


def test_patterns_leave_over_fewer_than_k_unless_the_policy_says_a_limit() -> None:
    assert policy_of({"type": "patterns"}, 7).suppression_count == 6
    assert policy_of({"type": "patterns"}, 7, suppression_limit=0).suppression_count is None
    assert policy_of({"type": "patterns"}, 7, suppression_count=2).suppression_count == 2


@pytest.mark.slow
def test_hostile_columns(tmp_path: Path) -> None:
    """Names that SQL finds hard, types that texts must not lose, an empty table, one row."""
    names = ["order", 'a"b', "key_0", "n", "rule", "x; DROP TABLE y"]
    with duckdb.connect() as connection:
        quoted = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}" {kind}' for name, kind in zip(
            names, ["INTEGER", "DATE", "DOUBLE", "ENUM ('u', 'v')", "VARCHAR", "DECIMAL(9, 2)"]))  # fmt: skip
        connection.execute(f"CREATE TABLE t ({quoted})")
        document = document_of(
            {name: {"role": "quasi_identifier"} for name in names}, k=2, table="t", transformation={"type": "patterns"}
        )
        policy = sqlanon.Policy.from_dict(document)
        with pytest.raises(sqlanon.NoSolutionError):
            sqlanon.anonymize(connection, policy)
        for number in range(9):
            day, letter = f"DATE '2020-01-0{1 + number % 2}'", "uv"[number % 2]
            connection.execute(
                f"INSERT INTO t VALUES ({number % 3}, {day}, {number % 2}, '{letter}', NULL, {number}.5)"
            )
            if number == 0:
                with pytest.raises(sqlanon.NoSolutionError):
                    sqlanon.anonymize(connection, policy)
        with sqlanon.anonymize(connection, policy) as release:
            table = release.to_arrow()
        assert table.column_names == names
        assert table.num_rows == release.ledger.published >= 8
        assert not any("ENUM" in str(kind) or "dictionary" in str(kind) for kind in table.schema.types)
        left = connection.execute("SELECT table_name FROM information_schema.tables").fetchall()
        assert left == [("t",)]


@pytest.mark.slow
def test_all_ways_through_the_ties_publish_valid_classes() -> None:
    rows = rows_of(5, 120)
    seen = set()
    for ties, seed in (("descending", 0), ("colexicographic", 0), ("random", 0), ("random", 1), ("random", 2)):
        transformation = {"type": "patterns", "ties": ties} | ({"seed": seed} if ties == "random" else {})
        with duckdb.connect() as connection:
            text_table(connection, [*COLUMNS, "e"], rows)
            with sqlanon.anonymize(connection, policy_of(transformation)) as release:
                found = released(release)
        check_records(rows, found, 3)
        seen.add(frozenset(found))
    assert len(seen) > 1
