"""The journal: which statements ran, how often and for how long. It holds names and counts, never SQL or values."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

logger = logging.getLogger("sqlanon")


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

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Append a statement that runs within, whether it ends or fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            self.entries.append(Entry(name, seconds))
            logger.debug("statement %s took %.6f s", name, seconds)

    @property
    def statements(self) -> int:
        """The number of statements so far."""
        return len(self.entries)

    def counts(self) -> dict[str, int]:
        """Return the number of statements by name, in order of first use."""
        return dict(Counter(entry.name for entry in self.entries))
