"""Which files the databases of this process may open while somebody asks who is not the operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_ALLOWED: list[tuple[Path, ...]] = []
"""Of the whole process: a thread that a question starts is confined as well."""


@contextmanager
def confined(files: Iterable[Path]) -> Iterator[None]:
    """Let the databases that are opened meanwhile read these files, and nothing else of the machine.

    One question is answered at a time.
    """
    _ALLOWED.append(tuple(files))
    try:
        yield
    finally:
        _ALLOWED.pop()


def allowed_files() -> tuple[Path, ...] | None:
    """Return the files that may be opened; None: nobody is confined."""
    return _ALLOWED[-1] if _ALLOWED else None
