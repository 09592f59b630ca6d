"""Enumerates and counts sets of patterns that are given by rules: items that conflict, and a largest number of ☆.

An item are columns that are suppressed together; ``conflicts`` has per item the items that are not suppressed beside
it, as bits.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import or_

from sqlanon.core.policy.pattern_order import Never, Pattern, rank, stars, weight


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a set of patterns (see ``PatternSet``)."""

    columns: int
    items: tuple[Pattern, ...]
    conflicts: tuple[int, ...]
    most: int

    def obeyed(self, pattern: Pattern) -> bool:
        """Return whether a pattern obeys the rules."""
        if len(pattern) > self.most or list(pattern) != sorted(set(pattern)):
            return False
        rest, chosen = set(pattern), 0
        for number, item in enumerate(self.items):
            if rest.issuperset(item):
                if self.conflicts[number] & chosen:
                    return False
                chosen |= 1 << number
                rest.difference_update(item)
        return not rest

    def count(self) -> int:
        """Count the patterns without enumerating them.

        Items that conflict, directly or through others, are enumerated; the numbers of those that do not multiply.
        """
        sizes = [1]  # by number of ☆
        for component in self._components():
            sizes = _product(sizes, self._independent(component), self.most)
        return sum(sizes)

    def by_number(self, places: Sequence[int], never: Never) -> Iterator[Pattern]:
        """Yield the patterns, fewest ☆ first, equals in descending order of the numbers ``places`` of their columns."""
        if tuple(places) == tuple(range(self.columns)):
            return self._descending(never)
        positions = sorted(range(self.columns), key=places.__getitem__)  # of the columns that have these numbers
        columns_of_places = _renaming(positions)
        numbered = self._renumbered(places)._descending(lambda bits: never(columns_of_places(bits)))
        return (_renumbered(pattern, positions) for pattern in numbered)

    def _renumbered(self, places: Sequence[int]) -> Rules:
        """Return the same rules with other numbers for the columns."""
        items = sorted((_renumbered(item, places), number) for number, item in enumerate(self.items))
        new = {number: place for place, (_, number) in enumerate(items)}
        conflicts = tuple(
            sum(1 << new[other] for other in range(len(items)) if self.conflicts[number] >> other & 1)
            for _, number in items
        )
        return Rules(self.columns, tuple(item for item, _ in items), conflicts, self.most)

    def _descending(self, never: Never) -> Iterator[Pattern]:
        """Yield patterns depth first through the ascending positions, the largest first, for each number of ☆."""
        own = {item[0]: (stars(item), number) for number, item in enumerate(self.items)}
        blocked = [
            reduce(or_, (stars(other) for o, other in enumerate(self.items) if bits >> o & 1), 0)
            for bits in self.conflicts
        ]

        def below(chosen: Pattern, bits: int, owed: int, free: int, wanted: int) -> Iterator[Pattern]:
            """Yield the patterns that begin with ``chosen`` and have ``wanted`` more positions, all in ``free``."""
            if wanted == 0:
                if not owed and not never(bits):
                    yield chosen
                return
            if free.bit_count() < wanted or owed.bit_count() > wanted or never(bits | free):
                return
            begin = chosen[-1] + 1 if chosen else 0
            end = (owed & -owed).bit_length() if owed else self.columns
            for position in range(end - 1, begin - 1, -1):
                bit = 1 << position
                if not free & bit:
                    continue
                above = free & ~(2 * bit - 1)
                if owed & bit:
                    yield from below((*chosen, position), bits | bit, owed & ~bit, above, wanted - 1)
                elif position in own:
                    item, number = own[position]
                    after = above & ~blocked[number]
                    due = (owed | item) & ~bit
                    if item & ~bit & ~above or due & ~after:
                        continue
                    yield from below((*chosen, position), bits | bit, due, after, wanted - 1)

        allowed = reduce(or_, map(stars, self.items), 0)
        for number in range(min(self.most, self.columns) + 1):
            yield from below((), 0, 0, allowed, number)

    def by_weight(self, weights: Sequence[float], places: Sequence[int], never: Never) -> Iterator[Pattern]:
        """Yield the patterns, lightest first, then as ``by_number`` has them.

        In the queue a set of items is followed by the one with one more, and the one with the next in place of its
        last. Both weigh at least as much, so sets leave it by weight; equally heavy ones are sorted before they are
        yielded.
        """
        order = sorted(range(len(self.items)), key=lambda i: weight(self.items[i], weights))

        def entry(chosen: tuple[int, ...]) -> tuple[Fraction, tuple[int, ...], Pattern]:
            pattern = tuple(sorted(position for place in chosen for position in self.items[order[place]]))
            return (weight(pattern, weights), chosen, pattern)

        queue = [entry(())]
        equal: list[Pattern] = []
        while queue:
            current, chosen, pattern = heapq.heappop(queue)
            fits = len(pattern) <= self.most and not self._clash([order[place] for place in chosen])
            if fits and not never(stars(pattern)):
                equal.append(pattern)
            following = chosen[-1] + 1 if chosen else 0
            if following < len(order):
                if fits:  # otherwise no set with more items does
                    heapq.heappush(queue, entry((*chosen, following)))
                if chosen:
                    heapq.heappush(queue, entry((*chosen[:-1], following)))
            if equal and (not queue or queue[0][0] > current):
                yield from sorted(equal, key=lambda p: rank(p, weights, places))
                equal = []

    def _clash(self, chosen: Iterable[int]) -> bool:
        bits = sum(1 << item for item in chosen)
        return any(self.conflicts[item] & bits for item in range(len(self.items)) if bits >> item & 1)

    def _components(self) -> Iterator[list[int]]:
        """Yield the items, those together that conflict directly or through others."""
        left = set(range(len(self.items)))
        while left:
            component, waiting = [], [min(left)]
            left.discard(waiting[0])
            while waiting:
                item = waiting.pop()
                component.append(item)
                near = {other for other in left if self.conflicts[item] >> other & 1}
                left -= near
                waiting.extend(near)
            yield sorted(component)

    def _independent(self, component: Sequence[int]) -> list[int]:
        """Count the sets of items of a component without a conflict, by number of ☆."""
        sizes = [0] * (self.most + 1)

        def count(position: int, barred: int, number: int) -> None:
            if number > self.most:
                return
            if position == len(component):
                sizes[number] += 1
                return
            item = component[position]
            count(position + 1, barred, number)
            if not barred >> item & 1:
                count(position + 1, barred | self.conflicts[item], number + len(self.items[item]))

        count(0, 0, 0)
        return sizes


def _renumbered(pattern: Pattern, numbers: Sequence[int]) -> Pattern:
    return tuple(sorted(numbers[position] for position in pattern))


def _renaming(numbers: Sequence[int]) -> Callable[[int], int]:
    """Return a function that gives the columns of a set of bits other numbers, eight columns at a time."""
    parts = [numbers[begin : begin + 8] for begin in range(0, len(numbers), 8)]
    tables = [
        [sum(1 << number for place, number in enumerate(part) if byte >> place & 1) for byte in range(1 << len(part))]
        for part in parts
    ]

    def renamed(bits: int) -> int:
        return sum(table[bits >> 8 * place & 255] for place, table in enumerate(tables))

    return renamed


def _product(left: Sequence[int], right: Sequence[int], most: int) -> list[int]:
    """Return the product of two polynomials, cut off after ``most``."""
    product = [0] * (min(most, len(left) + len(right) - 2) + 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right[: max(0, len(product) - i)]):
            product[i + j] += a * b
    return product
