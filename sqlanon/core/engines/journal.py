"""The journal: which statements ran, how often and for how long; and what a run does at a moment, for whoever watches.

It holds names and counts, never SQL or values.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

logger = logging.getLogger("sqlanon")
STATEMENT = "statement %s took %.6f s"
"""What is logged of every statement: its name and its seconds."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a run does at a moment.

    Attributes:
        phase: ``reading``, ``encoding``, ``searching``, ``trying patterns``, ``solving``, ``inserting nodes``,
            ``assigning records``, ``publishing``, ``auditing``; also ``judging`` (of verify), ``generating`` (of demo),
            ``counting`` and ``protecting`` (of counts).
        statement: the name of the statement that has begun; empty between statements.
        done, total, unit: how much of the phase is done, of how much (None: that is not known), in which unit.
        loss, lower_bound: of a search: that of its best solution, and what no solution loses less than; None so far.
        what: what ``loss`` is: of counts, the weight of the cells that protect others.
    """

    phase: str
    statement: str = ""
    done: int = 0
    total: int | None = None
    unit: str = ""
    loss: float | None = None
    lower_bound: float | None = None
    what: str = "loss"

    @property
    def evaluated(self) -> int:
        """How much is done: of a search, the nodes that were judged."""
        return self.done


Watcher = Callable[[Step], None]
"""Called in the thread that runs: when a phase or a statement begins, and after every batch of work."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A statement that ran: its name and its duration in seconds."""

    name: str
    seconds: float


class Journal:
    """The statements of one plan, recorded by the engine that runs them.

    Attributes:
        verdicts: how many nodes were judged from which grain: ``base``, or ``snapshot`` with the levels of its node.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.verdicts: Counter[str] = Counter()
        self._watch: Watcher | None = None
        self._step = Step("reading")
        self._thread = 0

    def watched_by(self, watch: Watcher | None) -> None:
        """Let ``watch`` see every step from now on; None: nobody."""
        self._watch, self._thread = watch, threading.get_ident()

    def follow(self, other: Journal) -> None:
        """Continue the steps of another journal, for whoever watches that one."""
        self._step = other._step
        self.watched_by(other._watch)

    def report(self, phase: str, **facts: Any) -> None:
        """Say that a phase begins, or how far it is; ``facts`` are those of ``Step``."""
        self._step = Step(phase, **facts)
        if self._watch is not None:
            self._watch(self._step)

    @contextmanager
    def phase(self, phase: str) -> Iterator[None]:
        """Be in a phase until the block ends, and then in the one before."""
        before = self._step
        self.report(phase)
        yield
        self.report(before.phase)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Append a statement that runs within, whether it ends or fails."""
        if self._watch is not None and threading.get_ident() == self._thread:  # not those of lanes
            self._watch(replace(self._step, statement=name))
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            self.entries.append(Entry(name, seconds))
            logger.debug(STATEMENT, name, seconds)

    @property
    def statements(self) -> int:
        """The number of statements so far."""
        return len(self.entries)

    def counts(self) -> dict[str, int]:
        """Return the number of statements by name, in order of first use."""
        return dict(Counter(entry.name for entry in self.entries))
