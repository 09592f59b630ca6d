"""The solver HiGHS, which is an extra, and how an interrupt ends it."""

from __future__ import annotations

import importlib
from typing import Any

from sqlanon.core.interrupts import interruptible
from sqlanon.errors import UnsupportedError


def highs_module(wants: str) -> Any:
    """Import the module ``highspy``.

    Args:
        wants: what needs it, the beginning of a sentence.

    Raises:
        UnsupportedError: it is not installed.
    """
    try:
        return importlib.import_module("highspy")
    except ImportError as error:
        raise UnsupportedError(
            f"{wants} needs HiGHS, and highspy is not installed.",
            hint="install it with: pip install 'sqlanon[exact]'",
        ) from error


def run_highs(solver: Any) -> None:
    """Let HiGHS solve; an interrupt cancels it, and is raised when it has ended."""
    solver.HandleUserInterrupt = True
    interruptible(solver.run, solver.cancelSolve)
