"""Folders of our own for what nobody else may read: mode 0700, locked by their process, removed at its end.

A folder holds its lock (``LOCK``). Who can lock it knows that the process that worked in it has ended, however it
ended: kill -9, a power cut. So what such a process left behind is ours to remove, and nothing else is.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from sqlanon.core.disk.locks import acquire
from sqlanon.core.interrupts import held

LOCK = "sqlanon.lock"
"""The file of a folder that is locked while somebody works in it."""
SPILL = "sqlanon-spill-"
"""The beginning of the names of folders that databases spill to."""


class PrivateFolder:
    """A locked folder that only its owner can open."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle = handle

    @classmethod
    def claim(cls, path: Path) -> PrivateFolder | None:
        """Create a folder, or take over one that a dead process left behind, with what is in it.

        Return None when a living process holds it.

        Raises:
            OSError: it cannot be created, or is another user's.
        """
        while True:
            created = False
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
                created = True
            if not is_own(path):
                if not os.path.lexists(path):  # still empty, it was taken for what a dead process had left
                    continue
                raise PermissionError(f"{path.name} is another user's")
            with suppress(FileNotFoundError):  # its last holder removed it at this moment
                path.chmod(0o700)
                try:
                    handle = acquire(path / LOCK, create=True)
                except OSError:
                    if created:
                        _undo(path)
                    raise
                return None if handle is None else cls(path, handle)

    @classmethod
    def fresh(cls, parent: Path, prefix: str) -> PrivateFolder:
        """Create a folder under a name that no other has.

        Raises:
            OSError: it cannot be created.
        """
        while True:
            folder = cls.claim(parent / f"{prefix}{token_hex(8)}")
            if folder is not None:
                return folder

    @staticmethod
    def is_one(path: Path) -> bool:
        """Return True if a folder has the lock of ours, or is empty because its process was killed before that."""
        with suppress(OSError):
            return (path / LOCK).is_file() or not any(path.iterdir())
        return False

    @classmethod
    def left_behind(cls, path: Path) -> PrivateFolder | None:
        """Take over a folder whose process is dead; None when there is none, or it is not provably ours to remove."""
        if not is_own(path):
            return None
        try:
            handle = acquire(path / LOCK, create=False)
        except FileNotFoundError:
            with suppress(OSError):  # it is not empty, and so not ours
                path.rmdir()
            return None
        except OSError:
            return None
        return None if handle is None else cls(path, handle)

    def remove(self) -> None:
        """Remove the folder with all that is in it, the lock last; what the disk refuses to remove stays."""
        if self._handle < 0:
            return
        with held():
            self._remove()

    def _remove(self) -> None:
        handle, self._handle = self._handle, -1
        with suppress(OSError):
            for entry in self.path.iterdir():
                if entry.name != LOCK:
                    discard(entry)
        if sys.platform == "win32":  # which removes no open file
            os.close(handle)
        with suppress(OSError):
            if [entry.name for entry in self.path.iterdir()] == [LOCK]:
                (self.path / LOCK).unlink()
                self.path.rmdir()
        if sys.platform != "win32":
            os.close(handle)

    def abandon(self) -> None:
        """Free the lock and leave all as it is, for the next who claims the folder."""
        if self._handle >= 0:
            handle, self._handle = self._handle, -1
            os.close(handle)


def _undo(path: Path) -> None:
    """Remove a new folder whose lock could not be written: a disk that is full has room for the name alone."""
    with suppress(FileNotFoundError):
        if (path / LOCK).stat().st_size == 0:
            (path / LOCK).unlink()
    with suppress(OSError):  # another has it now
        path.rmdir()


def discard(path: Path) -> None:
    """Remove a file or a folder, if it can be removed."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def is_own(path: Path) -> bool:
    """Return True if ``path`` is a folder of this user's, and no link."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and (sys.platform == "win32" or status.st_uid == os.geteuid())


def spill_folder(parent: Path) -> PrivateFolder:
    """Return a new folder to spill to, after what dead processes left in ``parent`` was removed.

    Raises:
        OSError: it cannot be created.
    """
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in spill_folders(parent):
        if (folder := PrivateFolder.left_behind(path)) is not None:
            folder.remove()
    return PrivateFolder.fresh(parent, SPILL)


def spill_folders(parent: Path) -> list[Path]:
    """Return the folders that databases spill to, or spilled to, in the order of their names."""
    with suppress(OSError):
        return sorted(entry for entry in parent.iterdir() if entry.name.startswith(SPILL))
    return []
