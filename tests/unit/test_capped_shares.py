"""δ-disclosure and β-likeness: nothing that could be published of a failing class is more than their bound allows.

The brute force tries every number of records of each value that a union of published parts could hold.
"""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from effort import Block, enough, seeds

from sqlanon.core.models import capped_shares
from sqlanon.core.models.base import ColumnModel
from sqlanon.core.models.beta_likeness import BetaLikeness
from sqlanon.core.models.classes import ClassArrays, ValueFacts
from sqlanon.core.models.delta_disclosure import DeltaDisclosure


def arrays(classes: list[list[int]], overall: list[int]) -> ClassArrays:
    """Classes by their records of each value; those of value 0 are left out."""
    parts = [[(v, m) for v, m in enumerate(held) if m] for held in classes]
    share = np.array(overall) / sum(overall)
    nothing, no_places = np.zeros(0), np.zeros(0, np.int64)
    return ClassArrays(
        n=np.array([sum(held) for held in classes]),
        starts=np.cumsum([0, *map(len, parts)])[:-1],
        counts=np.array([m for part in parts for _, m in part]),
        values=np.array([v for part in parts for v, _ in part]),
        facts=ValueFacts(share, no_places, nothing, nothing, nothing, nothing, nothing),
    )


def judged(model: ColumnModel, classes: list[list[int]], overall: list[int]) -> list[tuple[bool, int]]:
    values = model.audit_values(0) if isinstance(model, BetaLikeness) else {"factor": 2.0**model.delta}
    fails, least = model.judge(arrays(classes, overall), values)
    return [(bool(f), int(s)) for f, s in zip(fails, least, strict=True)]


def within_caps(held: tuple[int, ...], cap: list[Fraction | float]) -> bool:
    """The upper side of both models, for a union of classes that pass."""
    return all(m <= a * sum(held) for m, a in zip(held, cap, strict=True))


def random_case(rng: random.Random) -> tuple[ColumnModel, list[Fraction | float], list[int]]:
    """A model, the cap of each value, and the records of each value in the table."""
    overall = [rng.choice([1, 2, 3, 5, 9, 30]) for _ in range(rng.randint(1, 4))]
    p = [Fraction(r, sum(overall)) for r in overall]
    if rng.random() < 0.5:
        delta = rng.choice([0.25, 0.5, 1, 1, 2])
        return DeltaDisclosure("s", delta), [x * Fraction(2.0**delta) for x in p], overall
    beta = rng.choice([0.25, 0.5, 1, 2])
    if rng.random() < 0.5:
        return BetaLikeness("s", beta), [x * (1 + Fraction(beta)) for x in p], overall
    return BetaLikeness("s", beta, True), [float(x) * (1 + min(beta, -np.log(float(x)))) for x in p], overall


@seeds(200, 100)
def test_no_union_of_published_parts_is_larger_than_the_bound(block: Block) -> None:
    failed = close = 0
    for seed in block:
        rng = random.Random(seed)
        model, cap, overall = random_case(rng)
        classes = [[rng.choice([0, 1, 2, 3, 6]) for _ in overall] for _ in range(4)]
        classes = [held for held in classes if any(held)] or [[1] * len(overall)]
        for held, (fails, least) in zip(classes, judged(model, classes, overall), strict=True):
            unions = itertools.product(*(range(m + 1) for m in held))
            most = max(sum(union) for union in unions if within_caps(union, [a + Fraction(1, 10**9) for a in cap]))
            if not fails:
                assert least == 0 and most == sum(held), (seed, held)
                continue
            assert 0 <= least <= sum(held) - most, (seed, held, least, most)
            above = not within_caps(tuple(held), [a + Fraction(1, 10**6) for a in cap])
            assert above == (least > 0), (seed, held, least)  # too rare a value alone suppresses nothing
            failed += 1
            close += least >= sum(held) - most - 1
    assert enough(failed > 200 and close > 0.9 * failed)


@seeds(200, 100)
def test_the_bound_holds_where_a_person_is_in_several_parts(block: Block) -> None:
    """Persons with several records, in parts at random; those that break a cap are suppressed, the others published."""
    tight = 0
    for seed in block:
        rng = random.Random(seed)
        model, cap, overall = random_case(rng)
        people = rng.randint(1, 8)
        records = [
            (rng.randrange(people), rng.randrange(rng.randint(1, len(overall))), rng.randrange(4)) for _ in range(14)
        ]

        def persons(of: list[tuple[int, int, int]], values: int = len(overall)) -> list[int]:
            return [len({person for person, v, _ in of if v == value}) for value in range(values)]

        held = persons(records)
        [(fails, _)] = judged(model, [held], overall)
        class_of_records = arrays([held], overall)
        class_of_records = ClassArrays(
            np.array([len(records)]), None, class_of_records.starts, class_of_records.counts, class_of_records.values
        )
        of_values = np.array([float(a) for a in cap])[class_of_records.values]
        [least] = capped_shares.min_suppressed(class_of_records, of_values)
        suppressed = 0
        for place in range(4):
            part = [record for record in records if record[2] == place]
            if part and not within_caps(tuple(persons(part)), [a + Fraction(1, 10**9) for a in cap]):
                suppressed += len(part)
        assert least <= suppressed, (seed, held, least)
        tight += bool(fails and least > 0)
    assert enough(tight > 15)


@pytest.mark.parametrize("model, factor", [(DeltaDisclosure("s", 1), 2), (BetaLikeness("s", 1), 2)], ids=str)
def test_large_counts_do_not_overflow(model: ColumnModel, factor: int) -> None:
    """2^40 records times a billion are more than 64 bits hold. Half of the table has the value that fills a class."""
    large = 2**40
    overall = [large, 3 * large]
    [(fails, least), (fine, nothing)] = judged(model, [[large, large // 4], [large, 4 * large]], overall)
    assert fails and not fine and nothing == 0  # at most half of what is published may be of the first value
    assert large - large // 4 - 10**4 <= least <= large - large // 4
    assert factor == 2


@pytest.mark.parametrize(
    "model, held, expected",
    [
        (DeltaDisclosure("s", 1), [1, 2], (False, 0)),
        (DeltaDisclosure("s", 1), [3, 1], (True, 2)),
        (DeltaDisclosure("s", 1), [1, 9], (True, 0)),
        (DeltaDisclosure("s", 1), [1, 1], (True, 0)),  # twice the share: strict
        (DeltaDisclosure("s", 1), [2, 0], (True, 2)),
        (BetaLikeness("s", 1), [1, 1], (False, 0)),
        (BetaLikeness("s", 1), [3, 1], (True, 2)),
        (BetaLikeness("s", 1), [0, 1], (False, 0)),
        (BetaLikeness("s", 1, True), [0, 1], (True, 1)),  # -ln 0.75 = 0.29, and the value gains 0.33
        (BetaLikeness("s", 1e9), [5, 0], (False, 0)),
    ],
)
def test_the_tables_of_the_files(model: ColumnModel, held: list[int], expected: tuple[bool, int]) -> None:
    assert judged(model, [held], [1, 3]) == [expected]
