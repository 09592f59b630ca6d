"""What killed runs left behind: workplaces of releases, folders that databases spilled to, files of older versions."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlanon.core.disk.folders import PrivateFolder, discard, is_own, spill_folders
from sqlanon.core.disk.locks import is_alive
from sqlanon.core.disk.writing import WORKPLACE, workplace_of
from sqlanon.core.publish.workplace import REMOVED, settle
from sqlanon.errors import InputError

PARTIAL = re.compile(r"\.(?P<target>.+)\.sqlanon-(?P<process>\d+)-[0-9a-f]+\.partial(\..*)?")
"""Names that earlier versions wrote under, with the process that wrote."""
FOUND, IN_USE, STUCK = "left behind", "in use", "cannot be removed"


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that was found: where, and what became of it.

    Attributes:
        state: ``completed`` (the release was in place, its papers followed), ``undone`` (the old release stands, with
            its papers), ``removed``, ``in use`` by a living process, ``cannot be removed``; if we only look,
            ``left behind``.
    """

    path: Path
    state: str


def clean(place: Path, *, dry_run: bool = False) -> list[Leftover]:
    """Settle and remove what killed runs left in a directory, or beside one target, and in the place to spill to.

    Only what is provably ours is touched: private folders whose lock nobody holds, and names of ours with the number of
    a dead process.

    Args:
        dry_run: only look.

    Raises:
        InputError: there is no such directory.
    """
    place = place.absolute()
    if not place.is_dir() and not place.parent.is_dir():
        raise InputError(f"There is no directory {str(place.parent)!r}.", hint="name a directory, or a target in one.")
    targets = [workplace_of(place)] if workplace_of(place).exists() else []
    spilled = [*spill_folders(Path(tempfile.gettempdir()))]
    if place.is_dir():
        targets += sorted(entry for entry in place.iterdir() if entry.name.endswith(WORKPLACE))
        spilled += [path for path in spill_folders(place) if path not in spilled]
    folders = [path for path in (*targets, *spilled) if is_own(path)]
    found = [_settled(path, dry_run=dry_run) for path in folders]
    return [*(item for item in found if item is not None), *_old_partials(place, dry_run=dry_run)]


def _settled(path: Path, *, dry_run: bool) -> Leftover | None:
    """Settle and remove a folder of ours; None when it is none."""
    if not PrivateFolder.is_one(path):
        return None
    if dry_run and not any(path.iterdir()):
        return Leftover(path, FOUND)
    folder = PrivateFolder.left_behind(path)
    if folder is None:
        return Leftover(path, IN_USE if path.exists() else REMOVED)
    if dry_run:
        folder.abandon()
        return Leftover(path, FOUND)
    try:
        done = settle(folder)
    except OSError:
        folder.abandon()
        return Leftover(path, STUCK)
    folder.remove()
    return Leftover(path, STUCK if path.exists() else done or REMOVED)


def _old_partials(place: Path, *, dry_run: bool) -> Iterator[Leftover]:
    directory, target = (place, None) if place.is_dir() else (place.parent, place.name)
    for entry in sorted(directory.iterdir()):
        match = PARTIAL.fullmatch(entry.name)
        if match is None or (target is not None and match["target"] != target):
            continue
        if is_alive(int(match["process"])):
            yield Leftover(entry, IN_USE)
        elif dry_run:
            yield Leftover(entry, FOUND)
        else:
            discard(entry)
            yield Leftover(entry, STUCK if entry.exists() else REMOVED)
