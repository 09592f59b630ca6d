"""Which nodes are published and how large their classes must be, before chance holds records back.

Nodes take classes by their size alone, so that what a node took says nothing of sensitive values (``holding``). Where
models judge these, the classes that fail in the end are suppressed, like those of a single node. The larger classes
must be, the fewer fail and the more is generalized; so several sizes are tried, from the least that the models
let pass. Nodes are chosen without a look at sensitive values.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlanon.core.compiler.question import Question
from sqlanon.core.engines.base import Engine
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.policy import SearchOptions
from sqlanon.core.search.base import Problem
from sqlanon.recoding.local.holding import Starts
from sqlanon.recoding.local.insertion import ChosenNodes, choose
from sqlanon.recoding.local.rules import Recoding
from sqlanon.recoding.local.sequence import first_fit

GROWTH = 1.5
"""Each size that is tried is so many times the one before."""
SIZES = 8
"""Sizes that are tried at most."""
FEW = 4
"""Nodes by which sizes are compared, before all nodes are chosen for the best."""
MARGIN = Fraction(3, 2)
"""What chance may suppress is expected to be this many times its mean at most."""


def by_size_alone(question: Question) -> bool:
    """Return whether the models of a question judge the size of a class and nothing else."""
    return all(isinstance(model, KAnonymity) for model in question.models)


def of_size(question: Question, size: int) -> Question:
    """Return the question whether a class holds so many records."""
    return replace(question, models=(KAnonymity(size),), size=size)


@dataclass(frozen=True, slots=True)
class Trial:
    """A sequence of nodes, and what it publishes when no record is held back.

    Attributes:
        size: the least number of records of a class that a node takes.
        chosen: how the nodes were chosen; None: they were given.
    """

    nodes: tuple[Node, ...]
    size: int
    recoding: Recoding
    chosen: ChosenNodes | None = None


@dataclass(slots=True)
class Trials:
    """The engine, question and tables that sequences are tried with.

    Attributes:
        question: the models of the policy.
        hold: the share of the records that is held back.
        deadline: of choosing, by ``time.monotonic``; None: none. An interrupt that publishes moves it to that moment.
        on_interrupt: as in ``SearchOptions``.
        candidates: sets of nodes that were judged so far.
        stopped: why a choice of nodes was stopped; None: none was.
    """

    engine: Engine
    problem: Problem
    question: Question
    hold: float
    deadline: float | None
    on_interrupt: str = "discard"
    candidates: int = 0
    stopped: str | None = None

    @property
    def late(self) -> bool:
        """Whether nothing more is chosen."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    @property
    def judge(self) -> Question | None:
        """The models that classes are judged by in the end; None where a node that takes a class has judged them."""
        return None if by_size_alone(self.question) else self.question

    @property
    def limit(self) -> Fraction:
        """The share of the records that may be suppressed."""
        catalog = self.problem.catalog
        return Fraction(catalog.allowed, max(catalog.population, 1))

    def fitted(
        self, nodes: Sequence[Node], size: int, starts: Starts | None = None, *, time_limit: float | None = None
    ) -> Recoding:
        """Publish the records by some nodes (``first_fit``).

        The deadline is one of choosing: what was chosen is fitted after it, too, unless a time limit is given here.
        """
        return first_fit(
            self.engine,
            self.problem,
            of_size(self.question, size),
            nodes,
            time_limit=time_limit,
            starts=starts,
            judge=self.judge,
        )

    def stop(self, reason: str | None) -> None:
        """Note why a choice was stopped; after an interrupt nothing more is chosen."""
        self.stopped = self.stopped or reason
        if reason == "interrupted":
            self.stopped, self.deadline = reason, time.monotonic()

    def suppressed(self, recoding: Recoding) -> int:
        """Return the suppressed records, ``uncovered`` included."""
        return self.problem.catalog.population - sum(rule.records for rule in recoding.rules)

    def fits(self, trial: Trial) -> bool:
        """Return whether a sequence stays within the limit of the policy, with room for what chance will suppress."""
        room = self.problem.catalog.allowed - self.suppressed(trial.recoding)
        if self.hold and len(trial.nodes) > 1:
            none = Starts.of(self.hold, len(trial.nodes), self.limit, 0).none
            room -= math.ceil(MARGIN * none * self.problem.catalog.population)
        return room >= 0

    def best(self, tried: Callable[[int], Trial | None], sizes: Iterator[int]) -> Trial | None:
        """Return the trial that loses least, of sizes that grow until the loss does; None when none fits."""
        best: Trial | None = None
        for size in sizes:
            if self.late:
                self.stop("time limit")
                break
            try:
                trial = tried(size)
            except KeyboardInterrupt:
                if self.on_interrupt == "discard":
                    raise
                self.stop("interrupted")
                break
            if trial is None or not self.fits(trial):
                continue
            if best is not None and _loss(trial) >= _loss(best):
                break
            best = trial
        return best

    def sizes(self, first: int) -> Iterator[int]:
        """Yield the sizes to try: the first alone where models judge nothing else."""
        most = 1 if self.judge is None else SIZES
        size = first
        for _ in range(most):
            if size > self.problem.catalog.population:
                return
            yield size
            size = math.ceil(size * GROWTH)

    def chosen(self, start: Node, most: int, seed: int, limits: SearchOptions) -> Trial | None:
        """Choose nodes that begin with the best single one; None when none are found within the limit.

        Raises:
            Interrupted: see ``choose``.
        """
        first, few = self.question.size, None
        if self.judge is not None and most > FEW:
            few = self.best(lambda size: self._with_top(start, FEW, seed, size, limits), self.sizes(first))
            if few is None or self.late:
                return few
            first = few.size
        trial = self.best(lambda size: self._with_top(start, most, seed, size, limits), self.sizes(first))
        return few if few is not None and (trial is None or _loss(few) < _loss(trial)) else trial

    def _with_top(self, start: Node, most: int, seed: int, size: int, limits: SearchOptions) -> Trial:
        """Choose nodes; where too many records would be left over, the last is the most general of all."""
        trial = self._choose(start, most, seed, size, limits)
        top = self.problem.lattice.top
        if self.fits(trial) or top in trial.nodes or most == 1 or not self.hold:
            return trial
        if len(trial.nodes) == most and not self.late:
            again = self._choose(start, most - 1, seed, size, limits)
            if again.chosen is not None and again.chosen.stopped is None:
                trial = again
        nodes = (*trial.nodes[: most - 1], top)
        return replace(trial, nodes=nodes, recoding=self.fitted(nodes, size))

    def _choose(self, start: Node, most: int, seed: int, size: int, limits: SearchOptions) -> Trial:
        if self.deadline is not None:
            limits = replace(limits, time_limit=max(self.deadline - time.monotonic(), 0.0))
        question = of_size(self.question, size)
        sequence = choose(self.engine, self.problem, question, start, most=most, seed=seed, limits=limits)
        self.candidates += sequence.evaluated
        self.stop(sequence.stopped)
        nodes = sequence.nodes or (start,)
        return Trial(nodes, size, self.fitted(nodes, size), sequence)


def _loss(trial: Trial) -> float:
    loss = trial.recoding.loss
    return 1.0 if loss is None else loss
