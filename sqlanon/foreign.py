"""Calls of code from outside the package: whatever they raise becomes an error that says who failed, and holds no
value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlanon.errors import InputError, SqlanonError

Answer = TypeVar("Answer")


def attempt(what: str, call: Callable[[], Answer], error: type[SqlanonError] = InputError) -> Answer:
    """What ``call`` gives. Its own errors of sqlanon come through; the text of any other may quote a value.

    Raises:
        SqlanonError: of the class ``error``, when anything else is raised; ``what`` begins its message.
    """
    try:
        return call()
    except (SqlanonError, StopIteration):
        raise
    except Exception as raised:  # of foreign code
        failure = type(raised).__name__
    raise error(
        f"{what} failed ({failure}).",
        hint="it comes from outside of sqlanon: see its documentation, or tell its author.",
    )
