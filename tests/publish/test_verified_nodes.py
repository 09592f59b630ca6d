"""A verification judges many nodes by one statement, as it judges one, and as the search judged them."""

import ast
import json
import random
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from effort import Block, enough, seeds
from policies import document_of
from random_worlds import document, load, random_world
from solved_plans import skewed_policy
from tables import text_table

import sqlanon
from sqlanon.core import verification, verifying
from sqlanon.core.compiler import readable, readable_nodes, readable_release
from sqlanon.core.engines.journal import Step
from sqlanon.core.evaluate.problem import build_problem
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.publish.proof_file import digest, write_proof
from sqlanon.core.search.base import Verdict
from sqlanon.core.source.encoding import encode_source
from sqlanon.core.source.joining import open_policy_source


def judged_again(connection: duckdb.DuckDBPyConnection, policy: sqlanon.Policy, nodes: list[Node]) -> list[Verdict]:
    """The verdicts of a verification, with the costs of every node."""
    opened = open_policy_source(connection, policy)
    try:
        encoding = encode_source(opened.engine, opened.relation, policy, opened.readable, numbered=True)
        problem, models = build_problem(opened.engine, encoding, policy)
        verifier = verifying.Verifier(opened.engine, encoding, policy, problem, models, sqlanon.Verification())
        verifier._number(nodes, nodes)
        return verifier._judge(dict(enumerate(nodes)))
    finally:
        opened.engine.close()


@pytest.mark.slow
@seeds(60, 20)
def test_nodes_that_are_judged_together_have_the_verdicts_of_the_search(block: Block) -> None:
    compared = 0
    for seed in block:
        world = random_world(seed)
        policy = sqlanon.Policy.from_dict(
            {**document(world, random.Random(seed)), "search": {"strategy": "exhaustive"}, "suppression_limit": 1}
        )
        with duckdb.connect() as connection:
            load(connection, world)
            try:
                plan = sqlanon.plan(connection, policy)
            except sqlanon.NoSolutionError:
                continue
            with plan:
                nodes = [*plan._problem.lattice.nodes()]
                verdicts = plan.evaluate_many([plan.catalog.levels(node) for node in nodes])
            for own, other in zip(judged_again(connection, policy, nodes), verdicts, strict=True):
                assert own.node == other.node
                for name in ("classes", "suppressed", "smallest", "largest", "feasible", "grain", "ruled_out"):
                    assert getattr(own, name) == getattr(other, name), (seed, own.node, name)
                assert own.bottom_facts == other.bottom_facts, (seed, own.node)
                counted = plan._problem.measure.needs == "classes"  # a search counts what its measure needs
                assert own.loss == pytest.approx(other.loss, rel=1e-9, abs=1e-9), (seed, own.node)
                bounds = own.lower_bounds, other.lower_bounds
                assert len({(b.suppressed, b.forced * counted, b.entities) for b in bounds}) == 1, (seed, own.node)
                for mine, theirs in zip(*(b.penalty for b in bounds), strict=True):
                    assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-9), (seed, own.node)
                compared += 1
    assert enough(compared > 20)


@pytest.fixture
def certified(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> tuple[Path, sqlanon.Policy]:
    """A certificate that rests on many nodes, and its policy."""
    policy = skewed_policy(connection, ["a", "b", "c", "d", "e"], 3)
    path = tmp_path / "certificate.json"
    with sqlanon.plan(connection, policy) as plan:
        assert plan.proof_document is not None
        write_proof(plan.proof_document, path)
    return path, policy


def statements(path: Path, policy: sqlanon.Policy, connection: duckdb.DuckDBPyConnection) -> Counter[str]:
    """How often each statement of a verification ran."""
    seen: list[Step] = []
    assert sqlanon.verify(path, policy, connection, watch=seen.append).holds
    return Counter(step.statement for step in seen if step.statement)


@pytest.mark.slow
def test_statements_do_not_grow_with_nodes(certified, connection, monkeypatch: pytest.MonkeyPatch) -> None:
    path, policy = certified
    nodes = len(json.loads(path.read_text())["nodes"])
    assert nodes > verifying.NODES_AT_ONCE
    ran = statements(path, policy, connection)
    batches = 1 + -(-nodes // verifying.NODES_AT_ONCE)
    for name in ("generalized", "judged", "node counts", "node costs"):
        assert 2 <= ran[name] <= batches, name
    for name in ("originals", "level costs", "level widths", "least costs"):
        assert ran[name] == 1, name
    monkeypatch.setattr(verifying, "ROWS_AT_ONCE", 1)  # node by node, as one of many records is judged
    assert nodes <= statements(path, policy, connection)["judged"] <= nodes + 1


@pytest.mark.slow
def test_every_other_key_of_a_certificate_is_checked_too(certified, connection) -> None:
    path, policy = certified
    written = json.loads(path.read_text())

    def refused(**keys: object) -> bool:
        document = {**written, **keys}
        path.write_text(json.dumps({**document, "sha256": digest(document)}))
        try:
            return not sqlanon.verify(path, policy, connection).holds
        except sqlanon.InputError:
            return True

    assert not refused()
    nodes = written["nodes"]
    witnesses = [box[2] for box in written["boxes"] if box[2] is not None]
    for place in sorted({witnesses[0], witnesses[len(witnesses) // 2], witnesses[-1]}):
        for other in ("00000", nodes[place - 1]):  # at least one box does not lie below it
            assert refused(nodes=[*nodes[:place], other, *nodes[place + 1 :]]), (place, other)
    for key, value in {
        "aggregate": "maximum",
        "gap": 0.25,
        "lattice_size": written["lattice_size"] + 1,
        "bottom": "00001",
        "useful_top": "33332",
        "question_fingerprint": "0" * 64,
        "attributes": ["a", "b", "c", "e", "d"],
        "nodes": nodes[:-1],
        "lower_bound": None,
    }.items():
        if key == "lower_bound":
            assert refused(lower_bound=None, gap=None, optimal=False) is False, "a number may be withheld"
        else:
            assert refused(**{key: value}), key


def test_a_node_without_any_class_publishes_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    """No record has only values that the hierarchies list: there is nothing to group."""
    text_table(connection, ["a", "b"], [("x", "y"), ("y", "x")])
    columns = {c: {"role": "quasi_identifier", "hierarchy": {"levels": {"x": ["*"]}}} for c in "ab"}
    policy = sqlanon.Policy.from_dict(document_of(columns, k=1, table="t", uncovered="suppress", suppression_limit=1))
    for verdict in judged_again(connection, policy, [(0, 0), (1, 1)]):
        assert (verdict.classes, verdict.suppressed, verdict.smallest, verdict.feasible) == (0, 2, None, False)


def test_a_verification_shares_no_statement_and_no_mask_with_the_search() -> None:
    """Of the compiler only what defines the input may be read: no keys, masks, grains, batches or judging statement."""
    for module in (readable, readable_nodes, readable_release, verifying, verification):
        tree = ast.parse(Path(module.__file__ or "").read_text())
        imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
        compiler = {node.module for node in imported if (node.module or "").startswith("sqlanon.core.compiler")}
        known = {"", ".readable", ".readable_nodes", ".readable_release"}
        known |= set() if module in (verifying, verification) else {".encoded_source"}
        assert compiler <= {f"sqlanon.core.compiler{name}" for name in known}, module.__name__
        judging = ("sqlanon.core.search", "sqlanon.core.evaluate")
        rooms = {node.module for node in imported if (node.module or "").startswith(judging)}
        allowed = {"search.base", "search.proof", "search.verdicts", "evaluate.problem", "evaluate.verified_settling"}
        assert rooms <= {f"sqlanon.core.{name}" for name in allowed}, module.__name__
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        if module is readable_release:  # by the codes of a class is defined when it is suppressed
            names -= {"mask", "key"}
        assert not names & {"BASE", "MASKS", "mask", "grain_table", "snapshot", "key"}, module.__name__
