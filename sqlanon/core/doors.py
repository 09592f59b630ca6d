"""Doors: what the core asks for by a name, and a wing answers. Both stand in ``sqlanon.wings``."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from sqlanon.errors import UnsupportedError
from sqlanon.wings import BEHIND


def behind(door: str) -> Any:
    """Return what stands behind a door.

    Raises:
        UnsupportedError: the wing is not installed.
    """
    if not is_installed(door):
        raise UnsupportedError(
            f"This installation of sqlanon lacks what it needs for {door!r}.", hint="install sqlanon again, whole."
        )
    module, _, name = BEHIND[door].partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found


def has_door(name: str) -> bool:
    """Return whether there is such a door."""
    return name in BEHIND


def is_installed(door: str) -> bool:
    """Return whether the wing that answers is installed."""
    return find_spec(".".join(BEHIND[door].split(".")[:2])) is not None


class VerbFolder(ModuleType):
    """A folder with the name of its verb: ``sqlanon.counts(…)`` is that, whatever was imported before."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        verb = import_module(f"{self.__name__}.verb")
        return getattr(verb, self.__name__.rpartition(".")[2])(*args, **options)
