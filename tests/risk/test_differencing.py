"""Two states of a release are compared as by a brute force, on the engines; a record that came alone is found."""

import random
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa
import pytest
from effort import enough, scaled
from engine_kinds import KINDS, Kind, duckdb

from sqlanon.core.engines.base import Engine
from sqlanon.core.publish.replaced import Differences, count_differences
from sqlanon.core.sqltrees.trees import table

Row = tuple[str | None, ...]
EARLIER, LATER = "state_earlier", "state_later"
ENGINES = [kind for kind in KINDS if kind.name != "spark"]
TEXTS = (None, "", "NULL", "*", "a", "A")


def brute(earlier: Sequence[Row], later: Sequence[Row], quasi: int, k: int) -> Differences:
    """Count the differences row by row."""
    came, went = Counter(later) - Counter(earlier), Counter(earlier) - Counter(later)
    arrivals: Counter[Row] = Counter()
    departures: Counter[Row] = Counter()
    for row, n in came.items():
        arrivals[row[:quasi]] += n
    for row, n in went.items():
        departures[row[:quasi]] += n
    sizes = [Counter(row[:quasi] for row in rows) for rows in (earlier, later)]
    close = {
        key
        for key in {*sizes[0], *sizes[1]}
        if any(0 < n < k for n in (arrivals[key], departures[key], abs(sizes[1][key] - sizes[0][key])))
    }
    return Differences(
        came=came.total(),
        went=went.total(),
        came_alone=sum(n == 1 for n in arrivals.values()),
        went_alone=sum(n == 1 for n in departures.values()),
        came_among_few=sum(n for n in arrivals.values() if n < k),
        went_among_few=sum(n for n in departures.values() if n < k),
        replaced=sum(n == 1 and departures[key] == 1 for key, n in arrivals.items()),
        classes_in_both=len(sizes[0].keys() & sizes[1].keys()),
        close_classes=len(close),
        close_rows=sum(arrivals[key] + departures[key] for key in close),
    )


def counted(engine: Engine, earlier: Sequence[Row], later: Sequence[Row], quasi: int, k: int) -> Differences:
    names = [f"c{i}" for i in range(len((*earlier, *later, ("x",) * 3)[0]))]
    for name, rows in ((EARLIER, earlier), (LATER, later)):
        data = {column: pa.array([row[i] for row in rows], pa.string()) for i, column in enumerate(names)}
        engine.load("state", name, pa.table(data), replayed=False)
    try:
        return count_differences(engine, table(EARLIER), table(LATER), names[:quasi], names[quasi:], k=k)
    finally:
        engine.drop(EARLIER)
        engine.drop(LATER)


def changed(rng: random.Random, rows: list[Row], width: int) -> list[Row]:
    """The rows after some came, went and changed."""
    kept = [row for row in rows if rng.random() < rng.choice([1, 0.9, 0.5])]
    fresh = [tuple(rng.choice(TEXTS) for _ in range(width)) for _ in range(rng.choice([0, 1, 3, 9]))]
    return kept + fresh


@pytest.mark.parametrize("kind", ENGINES, ids=str)
def test_the_counts_are_those_of_a_brute_force(kind: Kind, request: pytest.FixtureRequest) -> None:
    engine, alone = kind.open(request), 0
    request.addfinalizer(engine.close)
    for seed in range(scaled(4 * kind.cases)):
        rng = random.Random(seed)
        width, quasi, k = rng.randint(1, 3), rng.randint(0, 2), rng.choice([1, 2, 3, 5])
        quasi = min(quasi, width)
        rows = [tuple(rng.choice(TEXTS) for _ in range(width)) for _ in range(rng.choice([0, 1, 8, 30]))]
        after = changed(rng, rows, width)
        if not rows or not after:  # the brute force needs to know how many columns there are
            continue
        wanted = brute(rows, after, quasi, k)
        assert counted(engine, rows, after, quasi, k) == wanted, seed
        alone += wanted.alone
    assert enough(alone)


def test_a_record_that_came_alone_is_found_and_a_class_that_appears_whole_is_not() -> None:
    state = [("2*", "flu")] * 5
    one_more, whole_class = [*state, ("2*", "cold")], [*state, *[("3*", "cold")] * 5]
    with duckdb() as engine:
        alone = counted(engine, state, one_more, 1, 5)
        whole = counted(engine, state, whole_class, 1, 5)
        changed_value = counted(engine, one_more, [*state, ("2*", "none")], 1, 5)
    assert (alone.alone, alone.came_among_few + alone.went_among_few, alone.rows) == (1, 1, 1)
    assert (whole.alone, whole.came_among_few + whole.went_among_few, whole.rows) == (0, 0, 5)
    assert (changed_value.alone, changed_value.replaced) == (2, 1)
