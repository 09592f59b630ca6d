"""``sqlanon mcp``: a server by which agents ask about the policies and tables of a folder."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

from sqlanon.commands.agents.places import SOURCES, TEXTS, Places
from sqlanon.commands.agents.server import serve
from sqlanon.commands.agents.sieve import Sieve
from sqlanon.commands.agents.tools import Tools
from sqlanon.core.disk.writing import require_directory
from sqlanon.errors import InputError


def execute(
    folder: str, k: int, log: str | None, headers: bool, entity: str | None, counts: bool, allow_elsewhere: bool
) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"There is no folder {place.name!r}.", hint="name the folder of the policies and sources.")
    if log is not None:
        require_directory(Path(log))
        if Path(log).resolve().is_relative_to(place.resolve()):
            raise InputError("The log would be among the files that agents ask about.", hint="keep it elsewhere.")
    sources = SOURCES + TEXTS if headers else SOURCES
    tools = Tools(Places(place.resolve()), Sieve(k), sources, entity, allow_elsewhere, counts)
    with nullcontext(sys.stderr) if log is None else Path(log).open("a", encoding="utf-8") as written:
        serve(tools, written)
    return 0
