"""The line on a terminal that says what a command does at the moment."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sqlanon.engines.journal import Step, Watcher

FORCED = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables by which Rich takes any standard error for a terminal."""


@contextmanager
def progress() -> Iterator[Watcher | None]:
    """Show a line on standard error while a command runs; nothing when standard error is no terminal."""
    if not getattr(sys.stderr, "isatty", bool)() and not any(os.environ.get(name) for name in FORCED):
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("reading")
        yield lambda step: bar.update(task, description=line(step))


def line(step: Step) -> str:
    """Return what is being done, in words.

    >>> line(Step("searching", "evaluate", done=42, unit="nodes judged", loss=0.5, lower_bound=0.25))
    'searching: 42 nodes judged, loss 0.5000, at least 0.2500 (evaluate)'
    >>> line(Step("judging", done=3, total=1200, unit="nodes judged"))
    'judging: 3 of 1,200 nodes judged'
    """
    parts = []
    if step.done or step.total is not None:
        parts.append(f"{step.done:,}{'' if step.total is None else f' of {step.total:,}'} {step.unit}")
    if step.loss is not None:
        parts.append(f"loss {step.loss:.4f}")
        if step.lower_bound is not None and step.loss:
            parts.append(f"at least {step.lower_bound:.4f}")
    text = step.phase + (": " + ", ".join(parts) if parts else "")
    return f"{text} ({step.statement})" if step.statement else text
