"""Chooses the nodes of a sequence one after the other, each for what it gains.

A sequence is ordered by what generalization alone costs, so that each record is published by the cheapest node that
can. It begins with the full-domain optimum, and no node is inserted by which the loss rises: the sequence never loses
more than the node it began with.

What a node would gain falls, as a rule, when others are inserted. So the gains of earlier steps are kept, the largest
are judged anew until none that is still old exceeds the best new one (lazily, as in submodular maximisation: CELF of
Leskovec et al., KDD 2007), and from the best the neighbours in the lattice are climbed. In the process gains are
estimated, and the best are followed through the whole sequence: every gain that a node is chosen for is exact.

Which records are published by which node reveals something of those that were not taken before, the more so the better
the order is known. So the order of nodes that cost about as much (``state.BLUR``) and the choice among nearly equal
gains (``NEARLY``) are left to chance, by a seed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlanon.core.compiler.question import Question
from sqlanon.core.engines.base import Engine
from sqlanon.core.evaluate.driver import interrupted
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.policy import SearchOptions
from sqlanon.core.search.base import TIE, Problem
from sqlanon.core.search.certificate import Certificate
from sqlanon.recoding.local.kept import check_measure, check_models
from sqlanon.recoding.local.rows import opened
from sqlanon.recoding.local.state import BLOCKED, Candidate, State

NO_LIMITS = SearchOptions()
NEARLY = 0.01
"""Candidates whose gains differ from the best by less than this share are chosen among by chance."""
ROUND = 48
"""Old gains that are judged anew at once."""
ROUNDS = 8
"""How often in a step old gains are judged anew."""
AT_ONCE = 64
"""Candidates that are judged at once, at most, so that whoever watches sees that something is done."""
CLIMBS = 3
"""Candidates whose neighbours are climbed in a step."""
FOLLOWED = 8
"""Candidates that are followed through the whole sequence at once, the best by their estimates."""
MOST_FOLLOWED = 64
"""Candidates of a step that are followed, where none of those before gains."""


@dataclass(frozen=True, slots=True)
class ChosenNodes:
    """A chosen sequence.

    Attributes:
        nodes: in order.
        loss: by the problem's measure.
        start: the loss of the full-domain node it began with.
        gains: in the order of choice, each node and the loss after it; some may have left the sequence again.
        evaluated: candidate sequences judged.
        stopped: ``time limit``, ``evaluations`` or ``interrupted``; None: it ended by itself.
    """

    nodes: tuple[Node, ...]
    loss: float
    start: float
    gains: tuple[tuple[Node, float], ...]
    evaluated: int
    stopped: str | None


def choose(
    engine: Engine,
    problem: Problem,
    question: Question,
    start: Node,
    *,
    most: int,
    seed: int,
    limits: SearchOptions = NO_LIMITS,
) -> ChosenNodes:
    """Choose at most so many nodes for the records of the base.

    An interrupt ends the choice with what was found so far, if the limits say so (``on_interrupt``).

    Args:
        engine: where the base of the problem's catalog stands.
        start: a node that meets the policy.
        most: nodes of the sequence, at least 1.
        seed: of what is left to chance.
        limits: ``time_limit``, in seconds, ``max_evaluations``, candidate sequences, and ``on_interrupt``.

    Raises:
        UnsupportedError: the measure does not add over cells, or a model is about classes of a population.
        Interrupted: the user interrupted the choice, and the limits do not say that this ends it.
    """
    check_models(problem)
    check_measure(problem)
    with opened(engine, problem, question, seed) as state:
        choice = _Choice(state, most, random.Random(seed), limits)
        return choice.found(start)


def batched(nodes: Sequence[Node], most: int) -> Iterator[Sequence[Node]]:
    """Yield nodes, so many at once."""
    for first in range(0, len(nodes), most):
        yield nodes[first : first + most]


def certified(problem: Problem, lost: float, evaluated: int, bound: float | None = None) -> Certificate:
    """Return the certificate of a local recoding: what no other loses less than (``bounding``), if that is known."""
    gap = None if bound is None else (lost - bound) / lost if lost > 0 else 0.0
    return Certificate(
        measure=problem.measure.name,
        aggregate=problem.measure.aggregate,
        loss=lost,
        lower_bound=bound,
        gap=gap,
        optimal=False,
        strategy="local_recoding",
        evaluated=evaluated,
        lattice_size=problem.lattice.size,
    )


class _Stopped(Exception):
    """A limit is reached."""


@dataclass(slots=True)
class _Choice:
    """One run: what is known of candidates in this step (``fresh``) and what they gained in earlier ones (``old``)."""

    state: State
    most: int
    chance: random.Random
    limits: SearchOptions
    loss: float = 1.0
    fresh: dict[Node, float] = field(default_factory=dict)
    old: dict[Node, float] = field(default_factory=dict)
    gains: list[tuple[Node, float]] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def found(self, start: Node) -> ChosenNodes:
        stopped = None
        first = self.state.judge([start])[0]
        self.loss = first.loss
        self.state.accept(first)
        self._report()
        try:
            self.state.advance(0)
            while len(self.state.nodes) < self.most and self._step():
                pass
        except _Stopped as reason:
            stopped = str(reason)
            self._insert_best()
        except KeyboardInterrupt:
            if self.limits.on_interrupt == "discard":
                reached = certified(self.state.problem, self.loss, self.state.evaluated)
                raise interrupted(f"{self.state.evaluated} sets of nodes", reached) from None
            stopped = "interrupted"
            self._insert_best()
        return ChosenNodes(
            nodes=tuple(node for node, own in zip(self.state.nodes, self.state.published, strict=True) if own.records),
            loss=self.loss,
            start=first.loss,
            gains=tuple(self.gains),
            evaluated=self.state.evaluated,
            stopped=stopped,
        )

    def _report(self) -> None:
        """Say how far the choice is, to whoever watches."""
        unit = f"sets of nodes judged ({len(self.state.nodes)} of {self.most} nodes chosen)"
        self.state.engine.journal.report("inserting nodes", done=self.state.evaluated, unit=unit, loss=self.loss)

    def _step(self) -> bool:
        """Insert one node; False when none is found that gains."""
        self.fresh = {}
        self._renew()
        if self._best_gain() <= TIE:
            self._ask(self._around(self.state.nodes))
        self._climb()
        place = self._insert_best()
        if place is None:
            place = self._catch_all()
        if place is None:
            return False
        if len(self.state.nodes) < self.most:
            self.state.advance(place)
        return True

    def _catch_all(self) -> int | None:
        """Insert the most general node where candidates fail only because they leave too many records over.

        It may gain nothing by itself, but the candidates are tried again. Return its place, None if it was not put.
        """
        state, top = self.state, self.state.problem.lattice.top
        blocked = {node: self.loss - state.exact(node).loss for node, gain in self.fresh.items() if gain == BLOCKED}
        blocked = {node: gain for node, gain in blocked.items() if gain > TIE}
        if not blocked or top in state.nodes or len(state.nodes) + 1 >= self.most:
            return None
        self._ask([top])
        self.old |= blocked
        return self._insert(state.exact(top), spared=True)

    def _renew(self) -> None:
        """Judge old gains anew, largest first, until the best new one exceeds those that are left."""
        for _ in range(ROUNDS):
            best = max(self._best_gain(), 0.0)
            waiting = [node for node, gain in self.old.items() if gain > best and node not in self.fresh]
            waiting.sort(key=lambda node: (-self.old[node], node))
            if not self._ask(waiting[:ROUND]):
                return

    def _climb(self) -> None:
        """Climb from the best candidates to better neighbours, until there are none."""
        tops = sorted(self.fresh, key=self._order)[:CLIMBS]
        while tops:
            self._ask(node for top in tops for node in self._neighbours(top))
            better = []
            for top in tops:
                known = [node for node in self._neighbours(top) if node in self.fresh]
                best = min(known, key=self._order, default=top)
                if self._gain(best) > self._gain(top) + TIE:
                    better.append(best)
            tops = list(dict.fromkeys(better))

    def _insert_best(self) -> int | None:
        """Insert the best candidate of this step, or one that is nearly as good, by chance; return its place."""
        promising = [node for node in sorted(self.fresh, key=self._order) if self._gain(node) > TIE]
        for some in batched(promising[:MOST_FOLLOWED], FOLLOWED):
            followed = {node: self.state.exact(node) for node in some}
            for node, candidate in followed.items():
                fits = candidate.suppressed <= self.state.problem.catalog.allowed
                self.fresh[node] = self.old[node] = self.loss - candidate.loss if fits else BLOCKED
            best = max(map(self._gain, some))
            if best > TIE:
                good = sorted(node for node in some if self._gain(node) >= best * (1 - NEARLY))
                return self._insert(followed[self.chance.choice(good)])
        return None

    def _insert(self, candidate: Candidate, *, spared: bool = False) -> int:
        self.fresh = {}  # first, so that an interrupt inserts nothing twice
        self.state.accept(candidate, spared=spared)
        self.loss = candidate.loss
        self.gains.append((candidate.node, candidate.loss))
        return candidate.place

    def _ask(self, nodes: Iterable[Node]) -> int:
        """Judge the nodes that are not known yet, and return their number."""
        present = set(self.state.nodes)
        wanted = [node for node in dict.fromkeys(nodes) if node not in self.fresh and node not in present]
        if not wanted:
            return 0
        limit, most = self.limits.time_limit, self.limits.max_evaluations
        room = len(wanted)
        if most is not None:
            room = max(most - self.state.evaluated, 0)
        for some in batched(wanted[:room], AT_ONCE):
            if limit is not None and time.perf_counter() - self.started >= limit:
                raise _Stopped("time limit")
            gains = dict(zip(some, self.state.gains(some, self.loss), strict=True))
            self.fresh |= gains
            self.old |= gains
            self._report()
        if room < len(wanted):
            raise _Stopped("evaluations")
        return len(wanted)

    def _gain(self, node: Node) -> float:
        """Return the gain of a candidate, as far as it is known."""
        return self.fresh.get(node, BLOCKED)

    def _best_gain(self) -> float:
        return max(map(self._gain, self.fresh), default=0.0)

    def _order(self, node: Node) -> tuple[float, Node]:
        return (-self._gain(node), node)

    def _around(self, nodes: Sequence[Node]) -> Iterator[Node]:
        for node in nodes:
            yield from self._neighbours(node)

    def _neighbours(self, node: Node) -> Iterator[Node]:
        """Yield the nodes one level below or above in one attribute, as far as the policy's levels allow."""
        lattice = self.state.problem.lattice
        for axis, level in enumerate(node):
            for other in (level - 1, level + 1):
                if lattice.bottom[axis] <= other <= lattice.top[axis]:
                    yield (*node[:axis], other, *node[axis + 1 :])
