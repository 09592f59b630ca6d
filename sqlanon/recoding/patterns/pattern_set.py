"""Sets of patterns, by rules or as a list, in a fixed order (``order``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

from sqlanon.core.policy.pattern_order import Never, Pattern, Rank, Ties, places, rank, shuffled, stars, weight
from sqlanon.errors import InputError
from sqlanon.recoding.patterns.enumeration import Rules


def _wanted(bits: int) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class PatternSet:
    """A set of patterns over some columns, by rules or as a list; nothing is enumerated until it is asked for.

    Created by ``all_patterns``, ``at_most``, ``constrained`` and ``listed``. The rules hold for all of its patterns but
    the one of outliers.

    Attributes:
        columns: number of columns, m.
        items: columns that are suppressed together or not at all, each ascending; columns in no item never are.
        conflicts: per item the items that are not suppressed beside it, as bits.
        most: the largest number of ☆.
        outliers: the pattern of ☆ alone is a member, whatever the rules say.
        patterns: the members, in place of rules; None: the rules decide.
        ties: the order of equals (see ``order``).
        seed: what ``random`` ties are drawn from; other ties use none.

    Raises:
        InputError: random ties without a seed.
    """

    columns: int
    items: tuple[Pattern, ...]
    conflicts: tuple[int, ...]
    most: int
    outliers: bool
    patterns: tuple[Pattern, ...] | None = None
    ties: Ties = "descending"
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.ties == "random" and self.seed is None:
            raise InputError("Random ties need a seed.", hint="give a seed, or another order.")

    @property
    def nothing_kept(self) -> Pattern:
        """The pattern of ☆ alone."""
        return tuple(range(self.columns))

    @property
    def rules(self) -> Rules:
        """The rules alone."""
        return Rules(self.columns, self.items, self.conflicts, self.most)

    @property
    def size(self) -> int:
        """Number of patterns; those of rules are counted without enumerating them."""
        added = 1 if self.outliers and not self._obeys(self.nothing_kept) else 0
        return (self.rules.count() if self.patterns is None else len(self.patterns)) + added

    def __contains__(self, pattern: object) -> bool:
        if not isinstance(pattern, tuple):
            return False
        return (self.outliers and pattern == self.nothing_kept) or self._obeys(pattern)

    def __iter__(self) -> Iterator[Pattern]:
        return self.ordered()

    def ranking(self, weights: Sequence[float] | None = None) -> Callable[[Pattern], Rank]:
        """Return the key by which the members, and what rules leave out, are sorted in their order."""
        if self.patterns is None or self.ties in ("descending", "colexicographic"):
            return partial(rank, weights=weights, places=places(self.columns, self.ties, self.seed))
        listed = range(len(self.patterns)) if self.ties == "listed" else shuffled(len(self.patterns), self.seed)
        place = {self.patterns[number]: (i,) for i, number in enumerate(listed)}
        return lambda pattern: (weight(pattern, weights), len(pattern), place.get(pattern, ()))

    def ordered(self, weights: Sequence[float] | None = None, never: Never = _wanted) -> Iterator[Pattern]:
        """Yield the patterns, lazily, in their order.

        Args:
            weights: of the columns, none negative; None: all 1.
            never: asked for sets of columns; patterns within one for which it is true are left out, without being
                enumerated where the order permits. Its answers may change from false to true meanwhile.
        """
        if weights is not None and (len(weights) != self.columns or any(not 0 <= w < math.inf for w in weights)):
            raise InputError(
                f"The {len(weights)} weights do not fit the {self.columns} columns, or are negative.",
                hint="give each column one weight, 0 or more.",
            )
        last = self.nothing_kept
        for pattern in self._obeying(weights, never):
            if not (self.outliers and pattern == last):
                yield pattern
        if self.outliers:  # the heaviest, with the most ☆
            yield last

    def _obeying(self, weights: Sequence[float] | None, never: Never) -> Iterator[Pattern]:
        if self.patterns is not None:
            ordered = sorted(self.patterns, key=self.ranking(weights))
            return (pattern for pattern in ordered if not never(stars(pattern)))
        numbers = places(self.columns, self.ties, self.seed)
        if weights is not None:
            return self.rules.by_weight(weights, numbers, never)
        return self.rules.by_number(numbers, never)

    def _obeys(self, pattern: Pattern) -> bool:
        return self.rules.obeyed(pattern) if self.patterns is None else pattern in self.patterns


def all_patterns(columns: int, *, ties: Ties = "descending", seed: int | None = None) -> PatternSet:
    """Return all 2^m patterns.

    >>> list(all_patterns(2))
    [(), (1,), (0,), (0, 1)]
    """
    return constrained(columns, outliers=True, ties=ties, seed=seed)


def at_most(
    columns: int, number: int, *, outliers: bool, ties: Ties = "descending", seed: int | None = None
) -> PatternSet:
    """Return the patterns with at most some ☆, and with ``outliers`` the one of ☆ alone.

    >>> at_most(10, 2, outliers=True).size
    57
    """
    return constrained(columns, most=number, outliers=outliers, ties=ties, seed=seed)


def constrained(
    columns: int,
    *,
    outliers: bool,
    never: Iterable[int] = (),
    together: Iterable[Iterable[int]] = (),
    exclusive: Iterable[Iterable[int]] = (),
    most: int | None = None,
    ties: Ties = "descending",
    seed: int | None = None,
) -> PatternSet:
    """Return the patterns that obey rules (the paper, section 3.6, ADULT2).

    Args:
        columns: number of columns.
        outliers: add the pattern of ☆ alone, whatever the rules say.
        never: columns that are not suppressed.
        together: groups of columns that are suppressed together or not at all; groups that share a column are one.
        exclusive: groups of columns of which at most one is suppressed.
        most: the largest number of ☆.
        ties: the order of equals.
        seed: of ``random`` ties.

    Raises:
        InputError: a position that is no column, a negative number of ☆, an order that only lists have, or random ties
            without a seed.

    >>> list(constrained(3, outliers=False, never=[0], together=[[1, 2]]))
    [(), (1, 2)]
    """
    kept, groups, rivals = set(never), [set(g) for g in together], [set(g) for g in exclusive]
    named = kept.union(*groups, *rivals)
    if not named <= set(range(columns)) or (most is not None and most < 0):
        raise InputError(
            f"The rules name a column that is none of the {columns}, or a negative number of suppressed columns.",
            hint="name columns by their positions, 0 first.",
        )
    merged: list[set[int]] = [{position} for position in range(columns)]
    for group in groups:
        touched = [item for item in merged if item & group]
        merged = [item for item in merged if not item & group]
        if touched:
            merged.append(set().union(*touched))
    items = sorted(
        tuple(sorted(item)) for item in merged if not item & kept and not any(len(item & rival) > 1 for rival in rivals)
    )
    conflicts = [0] * len(items)
    for rival in rivals:
        for left, right in combinations([i for i, item in enumerate(items) if rival.intersection(item)], 2):
            conflicts[left] |= 1 << right
            conflicts[right] |= 1 << left
    limit = columns if most is None else min(most, columns)
    if ties == "listed":
        raise InputError("Patterns by rules have no listed order.", hint="give a list, or another order.")
    return PatternSet(columns, tuple(items), tuple(conflicts), limit, outliers, None, ties, seed)


def listed(
    columns: int,
    patterns: Iterable[Iterable[int]],
    *,
    outliers: bool,
    ties: Ties = "descending",
    seed: int | None = None,
) -> PatternSet:
    """Return the patterns of a list; with ``outliers`` also the one of ☆ alone.

    Raises:
        InputError: a position that is no column, or random ties without a seed.
    """
    members = tuple(dict.fromkeys(tuple(sorted(set(pattern))) for pattern in patterns))
    if any(position not in range(columns) for member in members for position in member):
        raise InputError(
            f"A pattern names a column that is none of the {columns}.", hint="name columns by their positions, 0 first."
        )
    return PatternSet(columns, (), (), columns, outliers, members, ties, seed)
