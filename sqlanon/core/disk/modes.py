"""The permissions of what is written: a new file is its owner's alone, what replaces a file is for the same readers."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path

PRIVATE = 0o600
"""The permissions of a new file."""


def settle_mode(partial: Path, path: Path, mode: str | None) -> None:
    """Give a finished file or folder the permissions that it has from now on; nobody could read it before.

    What replaces a file keeps its group too. A group that cannot be kept gets no permissions: its members are others.

    Args:
        path: where it goes.
        mode: as ``chmod`` writes it; None: that of what is there, or ``PRIVATE``.

    Raises:
        OSError: the system refuses them.
    """
    if sys.platform == "win32":  # which has no such permissions
        return
    there = path.stat() if path.exists() else None
    wanted = PRIVATE if there is None else stat.S_IMODE(there.st_mode) & 0o777
    if mode is not None:
        wanted = int(mode, 8)
    for entry in sorted(partial.rglob("*")) if partial.is_dir() else []:
        _settle(entry, there, wanted)
    _settle(partial, there, wanted)


def _settle(path: Path, there: os.stat_result | None, wanted: int) -> None:
    """Set group and permissions. Who can read the files of a folder can enter it; its owner can move and empty it.

    A file that stands elsewhere too keeps there what it has: its own are set on a copy.
    """
    found = path.stat()
    other_group = there is not None and found.st_gid != there.st_gid
    if not path.is_dir() and found.st_nlink > 1:
        if not other_group and stat.S_IMODE(found.st_mode) == wanted & 0o666:
            return
        copy = path.with_name(f"{path.name}.copy")
        shutil.copy2(path, copy)
        copy.replace(path)
    if there is not None and path.stat().st_gid != there.st_gid:
        try:
            os.chown(path, -1, there.st_gid)
        except PermissionError:
            wanted &= 0o707
    path.chmod(wanted | (wanted & 0o444) >> 2 | stat.S_IRWXU if path.is_dir() else wanted & 0o666)
