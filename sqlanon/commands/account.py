"""What a verbose command counts: statements by name, and the seconds of its steps. Neither SQL nor values."""

from __future__ import annotations

import logging
import sys
from collections import Counter

from sqlanon.commands.metrics import Phases
from sqlanon.core.engines.journal import STATEMENT, Watcher, logger


class Account(logging.Handler):
    """Counts the statements that the journals of engines log, until it is closed, and times what is watched."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._level = logger.level
        self.clear()
        logger.addHandler(self)
        logger.setLevel(logging.DEBUG)

    def clear(self) -> None:
        """Begin to count anew."""
        self._counts: Counter[str] = Counter()
        self._seconds: Counter[str] = Counter()
        self._phases = Phases()

    def emit(self, record: logging.LogRecord) -> None:
        """Count a statement; other messages are left alone."""
        if record.msg == STATEMENT and isinstance(record.args, tuple):
            name, seconds = record.args
            self._counts[str(name)] += 1
            self._seconds[str(name)] += seconds  # type: ignore[operator]

    def watching(self, watch: Watcher | None) -> Watcher:
        """Return a watcher that times the phases, and hands them on to another."""
        return self._phases.watching(watch)

    def lines(self) -> list[str]:
        """Return the counts, for a person."""
        self._phases.turn_to("")
        steps = "".join(f", {name} {spent.seconds:.2f} s" for name, spent in self._phases.spent.items())
        total = self._phases.total.seconds
        lines = [f"{total:.2f} s{steps}", f"{self._counts.total()} statements, {sum(self._seconds.values()):.2f} s"]
        return lines + [f"  {n} x {name}, {self._seconds[name]:.2f} s" for name, n in self._counts.most_common()]

    def report(self, about: str = "") -> None:
        """Print what was counted to standard error, and begin to count anew."""
        print("\n".join(f"{about}{line}" for line in self.lines()), file=sys.stderr)
        self.clear()

    def close(self) -> None:
        """Count no more."""
        logger.removeHandler(self)
        logger.setLevel(self._level)
        super().close()
