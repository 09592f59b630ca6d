"""Renames that replace nothing, or change places; and what is on the disk when they return."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

NO_REPLACE, EXCHANGE = 1, 2
"""What Linux calls RENAME_NOREPLACE and RENAME_EXCHANGE."""
AT_WORKING_DIRECTORY = -100
UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)
"""Answers of a system or a disk that does not have such a rename."""


def rename_new(old: Path, new: Path) -> None:
    """Rename a file or a folder to a name that nothing has.

    On Linux that is one step. Elsewhere a file is linked, which is one step too; where a disk has no links, and for
    folders, the name is looked up before.

    Raises:
        FileExistsError: something has the name.
        OSError: the disk refused.
    """
    if _rename(old, new, NO_REPLACE):
        return
    if not old.is_dir():
        try:
            os.link(old, new)
        except FileExistsError:
            raise
        except OSError:
            pass
        else:
            old.unlink()
            return
    if os.path.lexists(new):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    old.rename(new)


def exchange(one: Path, other: Path) -> bool:
    """Let two names change places in one step; return False where the system cannot.

    Raises:
        OSError: the disk refused.
    """
    return _rename(one, other, EXCHANGE)


def _rename(old: Path, new: Path, flag: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    sys.audit("os.rename", str(old), str(new), -1, -1)
    if rename(AT_WORKING_DIRECTORY, os.fsencode(old), AT_WORKING_DIRECTORY, os.fsencode(new), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in UNKNOWN:
        return False
    raise OSError(code, os.strerror(code))  # as the fitting child of OSError


def sync(path: Path) -> None:
    """Return when a file, or the names in a folder, are on the disk."""
    if path.is_dir():
        with suppress(OSError):  # which some systems and disks refuse for folders
            _sync(path)
    else:
        _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
