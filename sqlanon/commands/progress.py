"""The line on a terminal that says what a command does at the moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlanon.commands.verbosity import verbosity
from sqlanon.core.engines.journal import Watcher
from sqlanon.core.progress import terminal_line


@contextmanager
def progress() -> Iterator[Watcher | None]:
    """Show a line on standard error while a command runs; nothing when that is no terminal, or the command is quiet."""
    asked = verbosity()
    with terminal_line(quiet=asked.quiet) as watch:
        if asked.account is not None:
            watch = asked.account.watching(watch)
        yield watch if asked.metrics is None else asked.metrics.phases.watching(watch)
