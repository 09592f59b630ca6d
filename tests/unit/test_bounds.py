"""What a search keeps of judged nodes: bounds for the boxes under them, and which of them are infeasible below."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon.core.lattice.catalog import Attribute, Catalog
from sqlanon.core.lattice.nodes import Lattice, leq
from sqlanon.core.measures import MEASURES
from sqlanon.core.measures.base import (
    AGGREGATES,
    AttributeMeasure,
    BottomFacts,
    BoxBounds,
    LowerBounds,
    PartBounds,
    bounds_under,
    fold,
)
from sqlanon.core.measures.loss import Loss
from sqlanon.core.measures.precision import Precision
from sqlanon.core.search.infeasible import InfeasibleBelow


@st.composite
def inserted_and_asked(draw: st.DrawFn) -> tuple[Lattice, list[tuple[int, ...]], list[tuple[int, ...]]]:
    bottom = tuple(draw(st.lists(st.integers(0, 2), max_size=5)))
    top = tuple(low + draw(st.integers(0, 3)) for low in bottom)
    nodes = st.tuples(*(st.integers(low, high) for low, high in zip(bottom, top)))
    return Lattice(bottom, top), draw(st.lists(nodes, max_size=80)), draw(st.lists(nodes, max_size=20))


@given(inserted_and_asked())
def test_a_node_below_an_infeasible_one_is_known_to_be_with_a_witness(
    case: tuple[Lattice, list[tuple[int, ...]], list[tuple[int, ...]]],
) -> None:
    lattice, inserted, asked = case
    known = InfeasibleBelow(lattice)
    for count, node in enumerate(inserted):
        for other in asked:
            witness = known.above(other)
            assert (witness is not None) == any(leq(other, one) for one in inserted[:count])
            assert witness is None or (witness in inserted[:count] and leq(other, witness))
        known.insert(node)
        assert known.above(node) is not None


def catalog(rng: random.Random) -> Catalog:
    attributes = []
    for i in range(rng.randint(0, 4)):
        height, domain = rng.randint(1, 4), rng.randint(1, 9)
        costs = sorted((rng.randint(0, 90 * (domain - 1)) for _ in range(height)), reverse=True)
        surprisals = sorted(rng.uniform(1, 400) for _ in range(height + 1))
        attributes.append(
            Attribute(
                f"q{i}", "TEXT", height, domain, (), tuple(costs), tuple(range(height, 0, -1)), (True,) * height,
                weight=rng.choice([0.0, 0.5, 1.0, 3.0]), surprisals=tuple(surprisals),
            )
        )  # fmt: skip
    return Catalog(tuple(attributes), 1, 100, 0, 10, 80, 50)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("kind", MEASURES, ids=lambda kind: kind.name)
def test_bounds_under_a_node_are_those_of_the_measure(kind: type, aggregate: str) -> None:
    rng = random.Random(7)
    for _ in range(60):
        facts = catalog(rng)
        measure = kind(facts, aggregate, 2)
        top = tuple(rng.randint(0, a.height - 1) for a in facts.attributes)
        bottom = tuple(rng.randint(0, high) for high in top)
        penalty = tuple(tuple(sorted((rng.random() for _ in range(own + 1)), reverse=True)) for own in top)
        lower_bounds = LowerBounds(rng.randint(0, 50), rng.choice([(), penalty]), forced=rng.randint(0, 9))
        below = rng.choice([None, BottomFacts(rng.randint(0, 99), rng.randint(0, 9), rng.randint(0, 9))])
        under = bounds_under(measure, top, lower_bounds)
        assert under.of(bottom, below) == measure.bound(bottom, below, lower_bounds)
        rows, unit = under.climbs(bottom, below)
        axes = measure.bounds_along_axes(bottom, top, below, lower_bounds)
        for axis, (row, steps) in enumerate(zip(rows, axes, strict=True)):
            for level in range(bottom[axis], top[axis] + 1):
                raised = (*bottom[:axis], level, *bottom[axis + 1 :])
                bound = measure.bound(raised, below, lower_bounds)
                assert steps[level - bottom[axis]] == pytest.approx(bound, rel=1e-12)
                assert (row[level] - row[bottom[axis]]) * unit == pytest.approx(
                    bound - steps[0], abs=1e-12 * (1 + bound)
                )


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_bound_is_the_fold_of_capped_sums_of_generalization_and_penalty(aggregate: str) -> None:
    rng = random.Random(11)
    for _ in range(60):
        facts = catalog(rng)
        measure = Loss(facts, aggregate)
        bottom = tuple(rng.randint(0, a.height - 1) for a in facts.attributes)
        penalty = tuple(tuple(rng.random() for _ in range(a.height)) for a in facts.attributes)
        parts = [min(f + penalty[i][bottom[i]], 1.0) for i, f in enumerate(measure.floor(bottom))]
        weights = [attribute.weight for attribute in facts.attributes]
        assert measure.bound(bottom, None, LowerBounds(9, penalty)) == fold(aggregate, parts, weights)


def test_the_penalty_of_the_loss_is_what_its_suppressed_records_add() -> None:
    rng = random.Random(13)
    for _ in range(60):
        facts = catalog(rng)
        measure = Loss(facts)
        node = tuple(rng.randint(0, a.height - 1) for a in facts.attributes)
        costs = [[rng.randint(0, 99) for _ in range(a.height)] for a in facts.attributes]
        assert measure.penalty(node, 5, costs) == AttributeMeasure.penalty(measure, node, 5, costs)


def test_a_measure_with_bounds_of_its_own_is_asked_for_them() -> None:
    class Cautious(Precision):
        def bound(self, *_: object) -> float:
            return 0.0

    facts = catalog(random.Random(3))
    node = (0,) * len(facts.attributes)
    assert type(bounds_under(Precision(facts), node, LowerBounds(0))) is PartBounds
    under = bounds_under(Cautious(facts), node, LowerBounds(0))
    assert type(under) is BoxBounds and under.of(node, None) == 0.0
