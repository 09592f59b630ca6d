"""How much a command prints beside its result: ``--quiet`` and ``--verbose``, and where colours are shown."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from sqlanon.commands.account import Account
    from sqlanon.commands.metrics import Metrics

KEY = "sqlanon.verbosity"


@dataclass(slots=True)
class Verbosity:
    """What was asked for, by the options of the program and of its command together.

    Attributes:
        quiet: no progress and no summary.
        verbose: statements are counted, and steps timed.
        account: what was counted so far, of a command that is verbose.
        metrics: what is measured of the run, where that is asked for.
        about: what messages begin with, of a command that does several things.
        summary: where summaries are printed; None is standard output.
    """

    quiet: bool = False
    verbose: bool = False
    account: Account | None = field(default=None, repr=False)
    metrics: Metrics | None = field(default=None, repr=False)
    about: str = ""
    summary: TextIO | None = None


def verbosity() -> Verbosity:
    """Return what was asked for of the command that runs; outside of a command, the usual."""
    context = click.get_current_context(silent=True)
    return Verbosity() if context is None else _of(context)


def _of(context: click.Context) -> Verbosity:
    found: Verbosity = context.meta.setdefault(KEY, Verbosity())
    return found


def _note(context: click.Context, param: click.Parameter, value: bool) -> None:
    if value and param.name is not None:
        setattr(_of(context), param.name, True)


def options() -> list[click.Parameter]:
    """Return the options that every command has, and the program itself."""
    common: dict[str, Any] = {"is_flag": True, "expose_value": False, "callback": _note}
    quiet = "Print neither progress nor a summary; what was asked for, warnings and errors stay."
    verbose = "Print on standard error how many statements ran, and the seconds of each step."
    return [
        click.Option(["-q", "--quiet"], help=quiet, **common),
        click.Option(["-v", "--verbose"], help=verbose, **common),
    ]


def say(text: str) -> None:
    """Print a line of a summary, unless the command is quiet."""
    asked = verbosity()
    if not asked.quiet:
        print(text, file=asked.summary)


def label(text: str, colour: str, stream: TextIO) -> str:
    """Return how a message begins: what it is about, and its kind, in a colour if the stream shows colours."""
    about = verbosity().about
    return about + click.style(text, fg=colour, bold=True) if shows_colours(stream) else about + text


def shows_colours(stream: TextIO) -> bool:
    """Return True for a terminal, unless ``NO_COLOR`` is set; ``FORCE_COLOR`` takes anything for a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return bool(getattr(stream, "isatty", bool)()) and os.environ.get("TERM") != "dumb"
