"""Certificates hold when they are run again, for every model and measure, and fail when anything in them is changed."""

import json
import random
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from effort import Block, enough, scaled, seeds
from random_worlds import document, load, mapped_world, random_world
from solved_plans import skewed_policy
from tables import text_table

import sqlanon
from sqlanon.core.lattice.nodes import Lattice
from sqlanon.core.publish.proof_file import digest, write_proof
from sqlanon.core.search import STRATEGIES
from sqlanon.core.search.base import Claim
from sqlanon.core.search.branching import Branching
from sqlanon.core.search.proof import first_gap

EXACT = ("box", "exhaustive", "best_first", "flash_two_phase")


def certified(made: sqlanon.Plan, path: Path) -> dict:
    """The certificate of a plan, written and read back."""
    assert made.proof_document is not None
    write_proof(made.proof_document, path)
    return json.loads(path.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("strategy", EXACT)
@seeds(15, 15)
def test_certificates_hold_for_every_model_and_measure(block: Block, tmp_path: Path, strategy: str) -> None:
    held = 0
    for seed in block:
        seed = len(EXACT) * seed + EXACT.index(strategy)
        world = random_world(seed) if seed % 3 else mapped_world(seed)
        asked = {**document(world, random.Random(seed)), "search": {"strategy": strategy}}
        policy = sqlanon.Policy.from_dict(asked)
        with duckdb.connect() as connection:
            load(connection, world)
            try:
                found_plan = sqlanon.plan(connection, policy)
            except sqlanon.NoSolutionError:
                continue
            with found_plan:
                assert found_plan.certificate.optimal, seed
                written = certified(found_plan, tmp_path / "certificate.json")
            found = sqlanon.verify(tmp_path / "certificate.json", policy, connection)
            assert found.holds and found.optimal, (seed, found.faults)
            assert found.boxes == len(written["boxes"])
            held += 1
    assert enough(held > 0)


@pytest.fixture
def skewed(connection: duckdb.DuckDBPyConnection):
    """A plan whose optimum suppresses more than k records, so that its certificate tells all numbers."""
    with sqlanon.plan(connection, skewed_policy(connection, ["a", "b", "c"], 11)) as found_plan:
        assert found_plan.ledger.suppressed >= 4
        yield found_plan


@pytest.mark.slow
def test_whatever_is_changed_in_a_certificate_is_found(connection, skewed, tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    written = certified(skewed, path)
    assert sqlanon.verify(path, skewed.policy, connection).holds
    boxes = written["boxes"]
    tops = [int(digit) for digit in written["top"]]

    def changed(**keys: object) -> bool:
        document = {**written, **keys}
        path.write_text(json.dumps({**document, "sha256": digest(document)}))
        return not sqlanon.verify(path, skewed.policy, connection).holds

    for number, box in random.Random(5).sample(list(enumerate(boxes)), scaled(2)):
        assert changed(boxes=boxes[:number] + boxes[number + 1 :]), "a box is missing"
        if box[3] is not None:
            raised = [*box[:3], 1e9 if box[3] == "loss" else box[3] * 1.0001, *box[4:]]
            assert changed(boxes=[*boxes[:number], raised, *boxes[number + 1 :]]), "a bound was raised"
            nothing = [*box[:3], None, *box[4:]]
            assert changed(boxes=[*boxes[:number], nothing, *boxes[number + 1 :]]), "a box is said to be empty"
        for corner in (0, 1):
            axis = (number + corner) % len(tops)
            level = int(box[corner][axis])
            other = level - 1 if level == tops[axis] else level + 1
            text = box[corner][:axis] + str(other) + box[corner][axis + 1 :]
            moved = [text if place == corner else item for place, item in enumerate(box)]
            assert changed(boxes=[*boxes[:number], moved, *boxes[number + 1 :]]), "a level was changed"
    higher = (int(written["chosen"][0]) + 1) % (tops[0] + 1)
    assert changed(chosen=f"{higher}{written['chosen'][1:]}")
    assert changed(loss=written["loss"] * 0.999)
    assert changed(lower_bound=written["lower_bound"] * 1.001, loss=written["loss"] * 1.001)
    assert changed(measure="precision")
    assert changed(top="222")
    path.write_text(json.dumps({**written, "evaluated": written["evaluated"] + 1}))
    assert not sqlanon.verify(path, skewed.policy, connection).holds, "the digest is another"


@pytest.mark.slow
def test_a_stopped_search_certifies_its_gap(connection, skewed, tmp_path: Path) -> None:
    asked = {**skewed.policy.to_dict(), "search": {"max_evaluations": skewed.search.evaluated // 2}}
    policy = sqlanon.Policy.from_dict(asked)
    with sqlanon.plan(connection, policy) as stopped:
        assert 0 < stopped.certificate.gap < 1
        written = certified(stopped, tmp_path / "certificate.json")
    found = sqlanon.verify(tmp_path / "certificate.json", policy, connection)
    assert found.holds and not found.optimal, found.faults
    assert found.lower_bound >= written["lower_bound"] * (1 - 1e-9)


@pytest.mark.parametrize("measure", ["loss", "discernibility", "average_class_size"])
@pytest.mark.slow
def test_a_search_may_be_stopped_after_any_evaluation(connection, skewed, tmp_path: Path, measure: str) -> None:
    for limit in (1, 2, 5):
        asked = {**skewed.policy.to_dict(), "search": {"max_evaluations": limit}, "quality": {"measure": measure}}
        policy = sqlanon.Policy.from_dict(asked)
        with sqlanon.plan(connection, policy) as stopped:
            certified(stopped, tmp_path / "certificate.json")
        found = sqlanon.verify(tmp_path / "certificate.json", policy, connection)
        assert found.holds, (limit, found.faults)


def test_a_certificate_tells_no_small_count(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """One record is suppressed: neither the loss nor any bound that it enters is told, and the proof still holds."""
    connection.execute("CREATE TABLE t AS SELECT 'a' || (i % 4) AS a, 'b' || (i // 50) AS b FROM range(100) r(i)")
    connection.execute("INSERT INTO t VALUES ('z', 'b0')")
    levels = {**{f"a{i}": [f"a{i // 2}x", "*"] for i in range(4)}, "z": ["z", "*"]}
    columns = {
        "a": {"role": "quasi_identifier", "hierarchy": {"levels": levels}},
        "b": {"role": "quasi_identifier", "hierarchy": {"levels": {"b0": "*", "b1": "*"}}},
    }
    asked = {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 5}], "suppression_limit": 0.05}
    policy = sqlanon.Policy.from_dict(asked)
    with sqlanon.plan(connection, policy) as found_plan:
        assert found_plan.ledger.suppressed == 1 and found_plan.certificate.optimal
        written = certified(found_plan, tmp_path / "certificate.json")
    assert written["loss"] is None and written["lower_bound"] is None and written["optimal"]
    assert all(box[3] in (None, "loss") for box in written["boxes"])
    found = sqlanon.verify(tmp_path / "certificate.json", policy, connection)
    assert found.holds and found.optimal
    written["chosen"] = written["top"]
    written["sha256"] = digest(written)
    (tmp_path / "certificate.json").write_text(json.dumps(written))
    assert not sqlanon.verify(tmp_path / "certificate.json", policy, connection).holds


@pytest.mark.slow
@pytest.mark.parametrize("search", [{}, {"max_evaluations": 9}, {"gap": 0.3}, {"strategy": "exhaustive"}])
def test_no_bound_tells_a_number_of_suppressed_records(connection, skewed, search: dict) -> None:
    """Bounds are of generalization alone, or of nodes that suppress nothing: nothing can be subtracted."""
    policy = sqlanon.Policy.from_dict({**skewed.policy.to_dict(), "search": search})
    with sqlanon.plan(connection, policy) as found_plan:
        reported = found_plan.proof_document
        assert reported is not None
        suppressed = {v.node: v.suppressed for v in found_plan._evaluator.judged}
        numbers = 0
        for _, _, witness, bound in reported["boxes"]:
            if isinstance(bound, float):
                numbers += 1
                assert witness is None or suppressed[tuple(map(int, reported["nodes"][witness]))] == 0
                assert bound >= reported["lower_bound"]
        assert numbers and reported["lower_bound"] <= found_plan.certificate.lower_bound


@pytest.mark.slow
def test_without_quasi_identifiers_every_strategy_ends_and_certifies(connection, tmp_path: Path) -> None:
    text_table(connection, ["a"], [("x",)] * 9)
    for strategy, _ in STRATEGIES:
        asked = {"table": "t", "columns": {"a": {"role": "keep"}}, "search": {"strategy": strategy}}
        policy = sqlanon.Policy.from_dict({**asked, "privacy": [{"type": "k_anonymity", "k": 3}]})
        with sqlanon.plan(connection, policy) as found_plan:
            assert found_plan.certificate.optimal and found_plan.ledger.published == 9, strategy
            certified(found_plan, tmp_path / "certificate.json")
        assert sqlanon.verify(tmp_path / "certificate.json", policy, connection).optimal


@pytest.mark.slow
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1" * 401])
def test_a_number_that_is_none_is_refused(connection, skewed, tmp_path: Path, number: str) -> None:
    path = tmp_path / "certificate.json"
    written = certified(skewed, path)
    path.write_text(json.dumps({**written, "loss": "here"}).replace('"here"', number))
    with pytest.raises(sqlanon.InputError):
        sqlanon.verify(path, skewed.policy, connection)


@pytest.mark.slow
def test_an_interrupt_while_boxes_are_cut_leaves_a_proof(connection, skewed, tmp_path: Path, monkeypatch) -> None:
    policy = replace(skewed.policy, search=replace(skewed.policy.search, on_interrupt="publish"))
    for turn in (2, 5, 11):
        calls = iter(range(10_000))

        def cut(self, *given, turn=turn, calls=calls, real=Branching.cut):
            if next(calls) == turn:
                raise KeyboardInterrupt
            return real(self, *given)

        with monkeypatch.context() as patched:
            patched.setattr(Branching, "cut", cut)
            with sqlanon.plan(connection, policy) as found_plan:
                certified(found_plan, tmp_path / "certificate.json")
        assert found_plan.certificate.gap > 0
        assert sqlanon.verify(tmp_path / "certificate.json", skewed.policy, connection).holds


def test_first_gap_agrees_with_counting_the_nodes() -> None:
    rng = random.Random(7)
    for _ in range(300):
        top = tuple(rng.randrange(4) for _ in range(rng.randrange(1, 4)))
        nodes = list(Lattice((0,) * len(top), top).nodes())
        claims = []
        for _ in range(rng.randrange(1, 9)):
            a, b = rng.choice(nodes), rng.choice(nodes)
            bottom, high = tuple(map(min, a, b)), tuple(map(max, a, b))
            claims.append(Claim(bottom, high, high, None, 0.0))
        held = {node for c in claims for node in Lattice(c.bottom, c.top).nodes()}
        gap = first_gap(claims, (0,) * len(top), top)
        assert (gap is None) == (len(held) == len(nodes))
        assert gap is None or gap not in held


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "{}", "[]", '{"certificate_version": 1}', '{"certificate_version": 2}'])
def test_what_is_no_certificate_is_an_error_that_says_so(plan, connection, tmp_path: Path, text: str) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(text)
    with pytest.raises(sqlanon.InputError):
        sqlanon.verify(path, plan.policy, connection)
    with pytest.raises(sqlanon.InputError):
        sqlanon.verify(tmp_path / "missing.json", plan.policy, connection)


@pytest.mark.slow
def test_another_policy_is_refused_before_the_source_is_opened(connection, skewed, tmp_path: Path) -> None:
    with sqlanon.plan(connection, skewed.policy) as found_plan:
        certified(found_plan, tmp_path / "certificate.json")
    keys = skewed.policy.to_dict()
    others = [
        {"privacy": [{"type": "k_anonymity", "k": 77}]},
        {"suppression_limit": 0.5},
        {"nulls": "basic"},
        {"quality": {"measure": "height"}},
        {"columns": {name: {**column, "weight": 2} for name, column in keys["columns"].items()}},
    ]
    for other in others:
        base = {key: value for key, value in keys.items() if not (key.startswith("suppression") and key in str(other))}
        policy = sqlanon.Policy.from_dict({**base, "source": "not_there.parquet", **other})
        found = sqlanon.verify(tmp_path / "certificate.json", policy)
        assert not found.holds and found.nodes == 0, other
        [fault] = found.faults
        assert "another policy" in fault
    same = sqlanon.Policy.from_dict({**keys, "search": {"strategy": "flash"}, "if_exists": "replace"})
    assert sqlanon.verify(tmp_path / "certificate.json", same, connection).holds


@pytest.mark.slow
def test_another_policy_of_an_older_certificate_is_noticed_at_the_first_node(
    connection, skewed, tmp_path: Path
) -> None:
    """It says nothing of its question but the fingerprint of the whole policy; no fault is said twice."""
    with sqlanon.plan(connection, skewed.policy) as found_plan:
        document = certified(found_plan, tmp_path / "certificate.json")
    assert len(document["nodes"]) > 1
    del document["question_fingerprint"]
    write_proof({**document, "sha256": digest(document)}, tmp_path / "certificate.json")
    assert sqlanon.verify(tmp_path / "certificate.json", skewed.policy, connection).holds
    other = replace(skewed.policy, privacy=(sqlanon.KAnonymity(77),))
    steps = []
    found = sqlanon.verify(tmp_path / "certificate.json", other, connection, watch=steps.append)
    assert not found.holds and {step.done for step in steps if step.phase == "judging"} == {1}
    assert len(set(found.faults)) == len(found.faults)
