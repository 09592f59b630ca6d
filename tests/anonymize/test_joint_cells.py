"""Releases judged together: over random histories no joint cell holds fewer than k persons, and optima are optima."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import brute
import brute_joint
import duckdb
import pyarrow as pa
import pytest
from brute_joint import Release
from effort import Block, enough, seeds
from policies import quasi
from random_cases import POOL, random_tree
from sqlglot import exp
from tables import store, text_table

import sqlanon
from sqlanon.core.evaluate.session import Session
from sqlanon.core.plan.full_domain import Plan, search_plan
from sqlanon.core.source.encoding import encode_source
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, named, table
from sqlanon.ledger.joint import FormerValues, former_policy, label_source

VALUES = ["flu", "flu", "cold", None, "NULL"]


@dataclass
class Shown:
    """What was released: to whom, and the class and the sensitive value of each person."""

    recipient: str
    classes: Release
    values: dict[str, brute.Text]


@dataclass
class History:
    """A source that changes, and what was released of it to whom.

    ``persons`` has of each person the quasi-identifiers and a sensitive value.
    """

    rng: random.Random
    trees: list[brute.Tree]
    pools: list[list[brute.Text]]
    k: int
    models: list[dict[str, Any]]
    persons: dict[str, tuple[brute.Text, ...]] = field(default_factory=dict)
    releases: list[Shown] = field(default_factory=list)
    born: int = 0

    @classmethod
    def of(cls, seed: int) -> History:
        rng = random.Random(seed)
        pools = [rng.sample(POOL, rng.randint(2, 4)) for _ in range(rng.choice([1, 2, 2, 3]))]
        trees = [random_tree(rng, pool, rng.choice(["error", "error", "suppress"])) for pool in pools]
        models = [] if rng.random() < 0.6 else [rng.choice(MODELS)]
        found = cls(rng, trees, pools, rng.choice([2, 2, 3, 5]), models)
        for _ in range(rng.choice([8, 25, 60])):
            found.be_born()
        return found

    def record(self) -> tuple[brute.Text, ...]:
        return (*(self.rng.choice(pool) for pool in self.pools), self.rng.choice(VALUES))

    def be_born(self) -> None:
        self.persons[f"p{self.born}"] = self.record()
        self.born += 1

    def go_on(self) -> None:
        """Persons leave, come, come back, and move."""
        leaving, moving = self.rng.choice([0, 0.02, 0.2]), self.rng.choice([0, 0.02, 0.3])
        for person, record in list(self.persons.items()):
            if self.rng.random() < leaving:
                del self.persons[person]
            elif self.rng.random() < moving:
                changed, what = self.record(), self.rng.choice(["place", "value", "both"])
                place, value = record[:-1] if what == "value" else changed[:-1], record if what == "place" else changed
                self.persons[person] = (*place, value[-1])
        for _ in range(self.rng.choice([0, 1, 4, 20])):
            self.be_born()
        if self.born and self.rng.random() < 0.3:
            self.persons.setdefault(f"p{self.rng.randrange(self.born)}", self.record())

    def policy(self) -> dict[str, Any]:
        rng = self.rng
        columns: dict[str, Any] = {"id": {"role": "drop"}, "value": {"role": "keep"}}
        if self.models:
            columns["value"] = {"role": "sensitive", "models": self.models}
        for i, tree in enumerate(self.trees):
            columns[f"c{i}"] = quasi(
                {"levels": {row[0]: list(row[1:]) for row in tree.rows}},
                uncovered=tree.uncovered,
                weight=rng.choice([1, 2, 0.5]),
            )
        return {
            "table": "t",
            "columns": columns,
            "privacy": [{"type": "k_anonymity", "k": self.k}],
            "suppression_limit": rng.choice([0.1, 0.5, 1]),
            "nulls": rng.choice(["extended", "extended", "basic"]),
            "quality": {"measure": rng.choice(["loss", "loss", "precision"])},
            "search": {
                "where": rng.choice(["auto", "auto", "auto", "engine"]),
                "strategy": rng.choice(["auto", "exhaustive"]),
            },
        }

    def known_to(self, recipients: Sequence[str]) -> list[Shown]:
        return [shown for shown in self.releases if shown.recipient in recipients]


MODELS = [
    {"type": "distinct_l_diversity", "l": 2},
    {"type": "entropy_l_diversity", "l": 1.5},
    {"type": "recursive_l_diversity", "l": 2, "c": 2},
]


def diverse(models: Sequence[Mapping[str, Any]], values: Sequence[brute.Text]) -> bool:
    """Whether the values of some persons meet the models."""
    counts = sorted(Counter(values).values(), reverse=True)
    for model in models:
        least = model["l"]
        if model["type"] == "distinct_l_diversity" and len(counts) < least:
            return False
        shares = [n / sum(counts) for n in counts]
        if model["type"] == "entropy_l_diversity" and -sum(p * math.log(p) for p in shares) < math.log(least) - 1e-12:
            return False
        if model["type"] == "recursive_l_diversity" and counts[0] >= model["c"] * sum(counts[least - 1 :]):
            return False
    return True


def planned(
    connection: duckdb.DuckDBPyConnection, history: History, policy: sqlanon.Policy, earlier: list[Shown]
) -> Plan:
    """Return the plan of a policy, of the history's persons beside earlier releases."""
    columns = ["id", *(f"c{i}" for i in range(len(history.trees))), "value"]
    text_table(connection, columns, [(person, *record) for person, record in history.persons.items()])
    members = [members_table(connection, place, release) for place, release in enumerate(earlier)]
    opened = open_policy_source(connection, policy)
    if not members:
        encoding = encode_source(opened.engine, opened.relation, policy, opened.readable)
        return search_plan(Session.begin(policy, policy, opened, encoding, {"encode": 0.0}))
    persons = exp.select(named(column("id"), "value"), named(column("id"), "person")).from_(table("t"))
    former = [
        FormerValues(f"{names.FORMER}{place}_0", "value", members[place])
        for place, shown in enumerate(earlier)
        if history.models
        and any(shown.values[p] != history.persons[p][-1] for p in {*shown.values} & {*history.persons})
    ]
    found = label_source(
        opened.engine, opened.relation, opened.types, "id", persons.subquery("persons"), members, former
    )
    encoded = former_policy(policy, former)
    types = {**opened.readable, **{item.name: "VARCHAR" for item in former}}
    encoding = encode_source(opened.engine, found.relation, encoded, types, earlier=found.members)
    return search_plan(Session.begin(policy, encoded, opened, encoding, {"encode": 0.0}))


def members_table(connection: duckdb.DuckDBPyConnection, place: int, shown: Shown) -> exp.Expr:
    numbers = {own: number for number, own in enumerate(dict.fromkeys(shown.classes.values()))}
    rows = [(person, numbers[own], shown.values[person]) for person, own in shown.classes.items()]
    data = pa.table(
        {
            "person": pa.array([row[0] for row in rows], pa.string()),
            "class": pa.array([row[1] for row in rows], pa.int64()),
            "value": pa.array([row[2] for row in rows], pa.string()),
        }
    )
    store(connection, data, f"members_{place}")
    return table(f"members_{place}")


def released(history: History, document: dict[str, Any], earlier: list[Shown]) -> Release | None:
    """Release the history's persons, compare everything with the brute force, and return their classes."""
    weights = [document["columns"][f"c{i}"]["weight"] for i in range(len(history.trees))]
    basic, measure = document["nulls"] == "basic", document["quality"]["measure"]
    taking = {p: r[:-1] for p, r in history.persons.items() if not (basic and None in r[:-1])}
    covered = {p: r for p, r in taking.items() if all(t.covers(v) for t, v in zip(history.trees, r))}

    def passes(persons: set[str]) -> bool:
        former = [[shown.values[p] for p in persons] for shown in earlier if persons & {*shown.values}]
        values = [[history.persons[p][-1] for p in persons], *former]
        return len(persons) >= history.k and all(diverse(history.models, of_release) for of_release in values)

    def judged(node: Sequence[int]) -> brute_joint.Judged:
        classes = {p: tuple(t.generalize(v, l) for t, v, l in zip(history.trees, r, node)) for p, r in covered.items()}
        return brute_joint.judge(
            classes, [shown.classes for shown in earlier], passes, history.k, whole=bool(history.models)
        )

    def loss_at(node: Sequence[int]) -> float:
        return brute_joint.loss(taking, history.trees, node, answers[node].published, weights, measure)

    answers = {node: judged(node) for node in brute.nodes(history.trees)}
    allowed = math.floor(document["suppression_limit"] * len(taking) + 1e-9)
    feasible = [n for n, a in answers.items() if a.published and len(taking) - len(a.published) <= allowed]
    with duckdb.connect() as connection:
        try:
            plan = planned(connection, history, sqlanon.Policy.from_dict(document), earlier)
        except sqlanon.NoSolutionError:
            assert not feasible or not taking
            return None
        with plan:
            assert feasible
            best = min(loss_at(node) for node in feasible)
            assert plan.certificate.optimal
            assert any(answers[n].tied for n in feasible) or plan.certificate.loss == pytest.approx(best, abs=1e-9)
            looked_at = list(answers) if history.rng.random() < 0.25 else [plan.node]
            verdicts = plan.evaluate_many([plan.catalog.levels(node) for node in looked_at])
            for verdict, node in zip(verdicts, looked_at, strict=True):
                answer = answers[node]
                assert verdict.suppressed == len(taking) - len(answer.published), node
                shown = Counter(answer.published.values())
                assert answer.tied or (verdict.classes, verdict.smallest) == (
                    len(shown),
                    min(shown.values(), default=None),
                ), node
                assert answer.tied or verdict.loss == pytest.approx(loss_at(node), rel=1e-9, abs=1e-9), node
                assert verdict.feasible is (node in feasible)
            if len(looked_at) == len(answers):
                best = min(verdict.loss for verdict in verdicts if verdict.feasible)
                assert plan.certificate.loss == pytest.approx(best, rel=1e-9, abs=1e-9)
            check_bounds(verdicts, allowed)
            rows = plan.engine.run("released", plan.generalized_query({**plan.generalized, "id": "VARCHAR"}))
            shown = [*plan.generalized, "id"]
        places = [shown.index(f"c{i}") for i in range(len(history.trees))]
        classes = {row[-1]: tuple(row[place] for place in places) for row in rows}
        assert len(classes) == plan.ledger.published
        answer = answers[plan.node]
        assert answer.tied or classes == answer.published
        return classes


def check_bounds(verdicts: Sequence[Any], allowed: int) -> None:
    """What a verdict says of the nodes at or below its own holds."""
    for upper in verdicts:
        for lower in verdicts:
            if all(a <= b for a, b in zip(lower.node, upper.node, strict=True)) and lower.feasible:
                assert upper.lower_bounds.suppressed <= lower.suppressed


@pytest.mark.slow
@seeds(120, 20, first=20_000)
def test_no_joint_cell_of_any_colluding_releases_holds_fewer_than_k(block: Block) -> None:
    judged = beside = 0
    for seed in block:
        history = History.of(seed)
        together = history.rng.random() < 0.7
        for _ in range(history.rng.choice([2, 3, 4])):
            recipient = history.rng.choice("AB")
            known_to = "AB" if together else recipient
            earlier = history.known_to(known_to)
            classes = released(history, history.policy(), earlier)
            if classes is not None:
                history.releases.append(Shown(recipient, classes, {p: history.persons[p][-1] for p in classes}))
                judged += 1
                beside += bool(earlier)
            history.go_on()
        for recipients in ("AB",) if together else ("A", "B"):
            known = history.known_to(recipients)
            smallest = brute_joint.smallest_cell([shown.classes for shown in known])
            assert smallest is None or smallest >= history.k, seed
            if history.models:
                assert_diverse(history, known)
    assert enough(judged > 20 and beside > 10)


def assert_diverse(history: History, known: Sequence[Shown]) -> None:
    """The values that any release shows of the persons of a joint cell meet the models."""
    for some in itertools.chain.from_iterable(itertools.combinations(known, n + 1) for n in range(len(known))):
        for cell, persons in brute_joint.joint_cells([shown.classes for shown in some]).items():
            for own, shown in zip(cell, some, strict=True):
                assert own is None or diverse(history.models, [shown.values[person] for person in persons])


@pytest.mark.parametrize("where", ["auto", "engine"])
@pytest.mark.parametrize("judged", [True, False])
def test_values_that_a_release_showed_before_they_changed_are_judged(
    where: str, judged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six persons had one value in a, another in b; now both have both: who tells a from b tells what they had."""
    history = History(random.Random(1), [brute.Tree([("a", "*"), ("b", "*")])], [["a", "b"]], 2, MODELS[:1])
    before = {f"p{i}": "flu" if i < 3 else "cold" for i in range(6)}
    now = ["flu", "cold", "flu", "cold", "flu", "cold"]
    history.persons = {person: ("a" if i < 3 else "b", now[i]) for i, person in enumerate(before)}
    document = {**history.policy(), "search": {"where": where}, "suppression_limit": 0, "nulls": "extended"}
    document["quality"] = {"measure": "loss"}
    if not judged:
        monkeypatch.setattr(f"{__name__}.former_policy", lambda policy, _: policy)
    with duckdb.connect() as connection:
        earlier = [Shown("A", dict.fromkeys(before, ("*",)), before)]
        with planned(connection, history, sqlanon.Policy.from_dict(document), earlier) as plan:
            assert plan.node == ((1,) if judged else (0,))
