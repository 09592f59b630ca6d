"""How many random cases the tests look at, and in which blocks.

The fast tier looks at a small part of the cases, all other runs look at every one. ``SQLANON_EFFORT=10`` in the
environment looks at ten times as many, in any tier.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

import pytest

FAST = 0.05
"""The effort of the fast tier."""

FULL = 1.0
"""The effort of every other run."""

_effort = FULL
_seed: int | None = None


def set_effort(fast: bool) -> None:
    """Choose the effort of this run, before test modules are imported."""
    global _effort
    _effort = float(os.environ.get("SQLANON_EFFORT", FAST if fast else FULL))


def is_full() -> bool:
    """Return True where every case is looked at."""
    return _effort >= FULL


def scaled(count: int) -> int:
    """Return ``count`` times the effort, and at least one."""
    return max(1, round(count * _effort))


def widened(step: int) -> int:
    """Return a step between cases, divided by the effort, and at least one."""
    return max(1, round(step / _effort))


class Block:
    """Consecutive seeds that one test looks at in a loop. The seed that a test fails at stands in its report."""

    def __init__(self, first: int, size: int) -> None:
        self._seeds = range(first, first + size)

    def __iter__(self) -> Iterator[int]:
        for seed in self._seeds:
            note_seed(seed)
            yield seed
        note_seed(None)

    def __len__(self) -> int:
        return len(self._seeds)

    def __str__(self) -> str:
        """Return the block's part of a test's id."""
        return f"seeds {self._seeds[0]}-{self._seeds[-1]}"


def blocks(total: int, size: int = 10, first: int = 0) -> list[Block]:
    """Return the seeds from ``first`` in blocks of ``size``: ``total`` of them at full effort.

    An effort that is too small for one block leaves a shorter one.
    """
    count = scaled(total)
    return [Block(first + start, min(size, count - start)) for start in range(0, count, size)]


def enough(reached: object) -> bool:
    """Return whether the random cases of a test reached what it is about. With an effort below 1 they need not."""
    return bool(reached) or not is_full()


def seeds(total: int, size: int = 10, first: int = 0) -> pytest.MarkDecorator:
    """Run a test once for each block of seeds, which it receives as its argument ``block``."""
    return pytest.mark.parametrize("block", blocks(total, size, first), ids=str)


def fast_of(values: Iterable[Any], *fast: Any) -> list[Any]:
    """Return parameters of a test, of which the fast tier takes only those in ``fast``."""
    return [value if value in fast else pytest.param(value, marks=pytest.mark.slow) for value in values]


def spread(values: Sequence[Any], count: int | None = None) -> Sequence[Any]:
    """Return ``count`` of the values, from the first to the last, evenly apart; by default all."""
    if count is None or count >= len(values):
        return values
    return [values[round(place * (len(values) - 1) / max(1, count - 1))] for place in range(count)]


def each_value(cases: Sequence[Set[Any]], seen: Iterable[Set[Any]] = ()) -> set[int]:
    """Return the places of cases in which every value occurs that is in none of ``seen``, each as often as others.

    Each case is a set of values. A case with the most values that are missing comes first, then one of rarer values.
    """
    counts = Counter(value for case in seen for value in case)
    chosen: set[int] = set()
    while True:
        left = [place for place in range(len(cases)) if place not in chosen]
        ranks = {i: (-sum(not counts[v] for v in cases[i]), sum(counts[v] for v in cases[i])) for i in left}
        best = min(left, key=ranks.__getitem__, default=None)
        if best is None or all(counts[value] for value in cases[best]):
            return chosen
        chosen.add(best)
        counts.update(cases[best])


def note_seed(seed: int | None) -> None:
    """Remember the seed that the running test has come to."""
    global _seed
    _seed = seed


def noted_seed() -> int | None:
    """Return the seed that the running test has come to, if it is in a loop over seeds."""
    return _seed
