"""A local search for good incumbents, where a lattice is too large to be proven soon. It proves nothing.

Source: iterated local search (Lourenço, Martin and Stützle 2003) with strategic oscillation (Glover 1989) and variable
neighbourhoods (Hansen and Mladenović 1997). It descends from the top, level by level, as in top-down specialization
(Fung, Wang and Yu 2005). Then it moves one attribute at a time to any other level as long as that gains. At a local
optimum it sets a few attributes at random and descends again, from the better one of the two optima. The longer this
gains nothing, the more attributes it sets, at last all of them: that is a restart from anywhere, and then it begins
with a few again. So it goes on for as long as it is asked.

A move whose loss cannot be less, by the bound of the measure, is not judged.

Nodes that suppress too much may be passed through: what exceeds the limit is charged with a price, which falls while
the optima meet the limit and rises while they do not, so that the search keeps to the border where good nodes stand.

The walk is the same for every run of a problem: its chance has a fixed seed.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterable, Iterator

from sqlanon.core.lattice.nodes import Lattice, Node, leq
from sqlanon.core.measures.base import LowerBounds
from sqlanon.core.search.base import TIE, Problem, Verdict

AT_ONCE = 8
"""Neighbours that are judged at once; the best of them is taken if it gains."""
KICK = 3
"""Attributes that are set at random at a local optimum at first."""
PATIENCE = 4
"""Optima that gain nothing before one attribute more is set at random."""
RAISE, LOWER = 2.0, 0.5
"""What multiplies the price of exceeding the limit after an optimum that exceeds it, and after one that meets it."""
PRICES = (0.05, 50.0)
"""Least and largest price of suppressing all records beyond the limit, as a multiple of what the top loses."""
MOST_KNOWN = 100_000
"""Nodes whose value is remembered."""
IDLE = 50
"""The walk ends after so many optima in a row for which no unknown node had to be judged."""

_Walk = Generator[list[Node], None, None]


class LocalSearch:
    """The walk from ``top``. It wants nodes judged, a few at a time, and is shown their verdicts.

    Attributes:
        wanted: the nodes whose verdicts it waits for; empty when it has ended.
    """

    def __init__(self, problem: Problem, top: Verdict) -> None:
        self._problem = problem
        self._lattice = Lattice(problem.lattice.bottom, top.node)
        self._scale = top.loss
        self._chance = random.Random(0)
        self._price = 1.0
        self._values: dict[Node, tuple[float, float]] = {}
        self._least = problem.bounds_under(top)
        self._seen: dict[Node, Verdict] = {}
        self._note(top)
        self._steps = self._walk(top.node)
        self.wanted: list[Node] = next(self._steps, [])

    def see(self, verdicts: Iterable[Verdict]) -> None:
        """Go on with the verdicts of the nodes that were wanted."""
        self._seen = {verdict.node: verdict for verdict in verdicts}
        for verdict in self._seen.values():
            self._note(verdict)
        self.wanted = next(self._steps, [])

    def _note(self, verdict: Verdict) -> None:
        """Remember the loss of a node and the share of records (or entities) by which it exceeds the limit."""
        catalog = self._problem.catalog
        loss, excess = verdict.loss, 0.0
        if not verdict.exact:
            least = self._problem.measure.bound(verdict.node, None, LowerBounds(catalog.uncovered))
            loss = least + max(self._scale - least, 0.0) * verdict.suppressed / catalog.population
        if not verdict.feasible:
            beyond = verdict.counted_against_limit - catalog.allowed
            excess = beyond / catalog.counted if beyond > 0 else 1.0
        self._values[verdict.node] = (loss, excess)

    def _value(self, node: Node) -> float:
        """Return the loss of a node with the price of what exceeds the limit."""
        loss, excess = self._values[node]
        return loss + self._price * self._scale * excess

    def _walk(self, top: Node) -> _Walk:
        best = yield from self._descend(top)
        free = [axis for axis, low in enumerate(self._lattice.bottom) if low < top[axis]]
        node, idle, patience = best, 0, 0
        while free and idle < IDLE:
            known = len(self._values)
            node = yield from self._climb(node)
            patience = 0 if self._gains(node, best) else patience + 1
            best = min(best, node, key=lambda node: (self._value(node), node))
            self._price *= RAISE if self._values[node][1] else LOWER
            self._price = min(max(self._price, PRICES[0]), PRICES[1])
            idle = idle + 1 if len(self._values) == known else 0
            if known > MOST_KNOWN:
                self._values = {best: self._values[best]}
            node, kick = best, KICK + patience // PATIENCE
            if kick > len(free):
                patience = 0
            for axis in self._chance.sample(free, min(kick, len(free))):
                node = self._chance.choice(list(self._moved(node, axis)))
            yield from self._judged([node])

    def _descend(self, node: Node) -> Generator[list[Node], None, Node]:
        """Lower the level by which the loss falls most, as long as it falls."""
        while True:
            lower = [
                (*node[:axis], own - 1, *node[axis + 1 :])
                for axis, (own, low) in enumerate(zip(node, self._lattice.bottom, strict=True))
                if own > low
            ]
            found = yield from self._best(self._open(lower, node))
            if found is None or not self._gains(found, node):
                return node
            node = found

    def _climb(self, node: Node) -> Generator[list[Node], None, Node]:
        """Move one attribute at a time, as long as that gains."""
        while True:
            others = self._open([other for axis in range(len(node)) for other in self._moved(node, axis)], node)
            self._chance.shuffle(others)
            for first in range(0, len(others), AT_ONCE):
                found = yield from self._best(others[first : first + AT_ONCE])
                if found is not None and self._gains(found, node):
                    node = found
                    break
            else:
                return node

    def _open(self, nodes: list[Node], node: Node) -> list[Node]:
        """Return the nodes that may gain over one, by their bounds: those below it are bounded by its verdict."""
        verdict = self._seen.get(node)
        below = self._least if verdict is None else self._problem.bounds_under(verdict)
        most = self._value(node) - TIE * self._scale
        return [other for other in nodes if (below if leq(other, node) else self._least).of(other, None) < most]

    def _gains(self, node: Node, other: Node) -> bool:
        return self._value(node) < self._value(other) - TIE * self._scale

    def _moved(self, node: Node, axis: int) -> Iterator[Node]:
        """Yield the node with every other level of an attribute."""
        for level in range(self._lattice.bottom[axis], self._lattice.top[axis] + 1):
            if level != node[axis]:
                yield (*node[:axis], level, *node[axis + 1 :])

    def _best(self, nodes: list[Node]) -> Generator[list[Node], None, Node | None]:
        yield from self._judged(nodes)
        return min(nodes, key=lambda node: (self._value(node), node), default=None)

    def _judged(self, nodes: list[Node]) -> _Walk:
        """Wait for the verdicts of those nodes that are not known."""
        if unknown := [node for node in nodes if node not in self._values]:
            yield unknown
