"""The line that says what a run does at the moment: on a terminal, and in a notebook."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from sqlanon.core.engines.journal import Step, Watcher
from sqlanon.core.words import share

FORCED = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables by which Rich takes any standard error for a terminal."""
EVERY = 0.2
"""Seconds that a line in a notebook stands, at least: a search reports more often than a browser can draw."""


def watching(watch: Watcher | bool | None) -> AbstractContextManager[Watcher | None]:
    """Return who watches a run: a function of the user's, nobody, or, for True, a line that is shown until the end."""
    if watch is True:
        return _notebook_line() if _in_notebook() else terminal_line()
    return nullcontext(watch or None)


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return running is not None and getattr(running, "kernel", None) is not None


@contextmanager
def _notebook_line() -> Iterator[Watcher]:
    """Show a line below a cell, as plain text, which goes when the run ends."""
    from IPython.display import display

    def bundle(text: str) -> dict[str, str]:
        return {"text/plain": text}

    handle = display(bundle("reading"), raw=True, display_id=True)  # type: ignore[no-untyped-call]
    shown = time.monotonic()

    def show(step: Step) -> None:
        nonlocal shown
        if time.monotonic() - shown >= EVERY:
            shown = time.monotonic()
            handle.update(bundle(line(step)), raw=True)

    try:
        yield show
    finally:
        handle.update(bundle(""), raw=True)


@contextmanager
def terminal_line(*, quiet: bool = False) -> Iterator[Watcher | None]:
    """Show a line on standard error until the block ends; nothing when that is no terminal, or ``quiet``."""
    if quiet or not (getattr(sys.stderr, "isatty", bool)() or any(os.environ.get(name) for name in FORCED)):
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
    >>> line(Step("protecting", done=8, unit="cuts", loss=12, lower_bound=9, what="weight"))
    'protecting: 8 cuts, weight 12, at least 9, gap 25 %'
    """
    parts = []
    if step.done or step.total is not None:
        parts.append(f"{step.done:,}{'' if step.total is None else f' of {step.total:,}'} {step.unit}")
    if step.loss is not None:
        form = ".4f" if step.what == "loss" else ",.6g"
        parts.append(f"{step.what} {step.loss:{form}}")
        if step.lower_bound is not None and step.loss:
            parts.append(f"at least {step.lower_bound:{form}}")
            if step.what != "loss":
                parts.append(f"gap {share(1 - step.lower_bound / step.loss)}")
    text = step.phase + (": " + ", ".join(parts) if parts else "")
    return f"{text} ({step.statement})" if step.statement else text
