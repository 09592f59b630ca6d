"""The bound on several rules: no way to put records into classes loses less, by exhaustive search over tiny tables."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import cache
from itertools import combinations, product
from typing import Any

import duckdb
import numpy as np
import pytest
from effort import Block, enough, seeds
from tables import text_table

import sqlanon
from sqlanon.recoding.local import bounding
from sqlanon.recoding.local.bounding import lower_bound
from sqlanon.report.wording import describe_proof

LEVELS = {value: [value, pair, "*"] for value, pair in zip("abcd", "xxyy", strict=True)}
ABOVE = {value: levels[1:] for value, levels in LEVELS.items()}
LEAVES = {"a": 1, "b": 1, "c": 1, "d": 1, "x": 2, "y": 2, "*": 4}
Record = tuple[str, str]
NODES = list(product(range(3), range(3)))


def text(record: Record, node: Sequence[int]) -> tuple[str, ...]:
    return tuple(LEVELS[value][level] for value, level in zip(record, node, strict=True))


def cost(record: Record, node: Sequence[int]) -> float:
    return sum((LEAVES[each] - 1) / 3 for each in text(record, node)) / 2


def least_loss(records: Sequence[Record], size: int) -> float:
    """The least loss of any way to put records into sets of at least so many of one class, the others suppressed."""

    @cache
    def best(left: frozenset[int]) -> float:
        if not left:
            return 0.0
        first, found = min(left), 1.0 + best(left - {min(left)})
        for node in NODES:
            same = [i for i in left if i != first and text(records[i], node) == text(records[first], node)]
            for many in range(size - 1, len(same) + 1):
                for others in combinations(same, many):
                    own = frozenset((first, *others))
                    found = min(found, len(own) * cost(records[first], node) + best(left - own))
        return found

    return best(frozenset(range(len(records)))) / len(records)


def bound_of(records: Sequence[Record], size: int) -> float:
    columns: dict[str, Any] = {name: {"role": "quasi_identifier", "hierarchy": {"levels": ABOVE}} for name in "ab"}
    document = {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": size}]}
    with duckdb.connect() as connection:
        text_table(connection, ["a", "b"], records)
        policy = sqlanon.Policy.from_dict({**document, "suppression_limit": 1})
        with sqlanon.plan(connection, policy) as plan:
            found = lower_bound(plan.engine, plan._problem, size, None)
            assert found is not None
            return found


def tiny(seed: int) -> tuple[list[Record], int]:
    rng = random.Random(seed)
    values = "abcd"[: rng.choice([2, 3, 4, 4])]
    size = rng.choice([1, 2, 2, 3])
    return [(rng.choice(values), rng.choice(values)) for _ in range(rng.randint(size, 8))], size


@seeds(60, 20)
@pytest.mark.slow
def test_no_recoding_loses_less_than_the_bound(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    met = above = 0
    for seed in block:
        records, size = tiny(seed)
        least = least_loss(records, size)
        monkeypatch.setattr(bounding, "ROUNDS", 8)
        bound = bound_of(records, size)
        assert bound <= least, seed
        monkeypatch.setattr(bounding, "ROUNDS", 1)
        alone = sum(
            min([1.0, *[cost(r, x) for x in NODES if [text(o, x) for o in records].count(text(r, x)) >= size]])
            for r in records
        )
        first = bound_of(records, size)
        assert first == pytest.approx(alone / len(records), abs=1e-8) and first <= bound
        met += bound >= least - 1e-8
        above += bound > first + 1e-6
    assert enough(met > len(block) // 4 and above > 0)


@pytest.mark.slow
def test_prices_that_rise_by_more_are_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the dearest records of a class are taken for one less than there are."""
    clip = np.clip
    monkeypatch.setattr(bounding.np, "clip", lambda rest, low, high: clip(rest - 1, low, high))
    assert any(bound_of(*tiny(seed)) > least_loss(*tiny(seed)) + 1e-6 for seed in range(40))


def test_a_record_pays_for_the_mates_that_must_join_it(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [("a", "a")] * 3 + [("b", "a")]
    single, bound = 1 / 6 / 4, bound_of(records, 2)
    assert least_loss(records, 2) == pytest.approx(2 * single)  # (b, a) and one of the others at x
    assert single < bound <= 2 * single
    monkeypatch.setattr(bounding, "WORK", 0)
    with pytest.raises(AssertionError):
        bound_of(records, 2)


def test_a_plan_shows_the_gap_and_its_recipients_do_not_see_it() -> None:
    columns = {name: {"role": "quasi_identifier", "hierarchy": {"levels": ABOVE}} for name in "ab"}
    rng = random.Random(3)
    records = [(rng.choice("abcd"), rng.choice("aaabcd")) for _ in range(60)]
    document = {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 4}]}
    document |= {"suppression_limit": 0.1, "transformation": {"type": "local_recoding", "hold": 0}}
    with duckdb.connect() as connection:
        text_table(connection, ["a", "b"], records)
        with sqlanon.recode(connection, document) as plan:
            proof = plan.certificate
            assert proof.lower_bound is not None and proof.gap is not None and not proof.optimal
            assert 0 < proof.lower_bound < proof.loss
            assert math.isclose(proof.gap, (proof.loss - proof.lower_bound) / proof.loss)
            assert "no set of nodes, in whatever order, loses less than" in describe_proof(proof)
            assert proof.for_recipients()["gap"] is proof.for_recipients()["lower_bound"] is None
        with sqlanon.recode(connection, document, bounded=False) as plan:
            assert plan.certificate.lower_bound is None and plan.certificate.loss == proof.loss
