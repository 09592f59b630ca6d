"""The journal: which statements ran, how often and for how long. It holds names and counts, never SQL or values."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass

logger = logging.getLogger("sqlanon")


@dataclass(frozen=True, slots=True)
class Entry:
    """One statement that ran: its name and its duration in seconds."""

    name: str
    seconds: float


class Journal:
    """Collects the statements of one plan. One owner: the engine that runs them.

    Attributes:
        verdicts: how many nodes were judged from which grain: ``base``, or ``snapshot`` with the levels of its node.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.verdicts: Counter[str] = Counter()

    def record(self, name: str, seconds: float) -> None:
        """Append one statement."""
        self.entries.append(Entry(name, seconds))
        logger.debug("statement %s took %.6f s", name, seconds)

    @property
    def statements(self) -> int:
        """Number of statements so far."""
        return len(self.entries)

    def counts(self) -> dict[str, int]:
        """Number of statements by name, in order of first use."""
        return dict(Counter(entry.name for entry in self.entries))
