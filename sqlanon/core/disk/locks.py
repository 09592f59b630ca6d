"""Locks of files that end with the process that holds them, however it ends."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
"""What the system answers when another holds the lock; anything else means that the disk has no locks."""


def acquire(path: Path, *, create: bool) -> int | None:
    """Lock a file and return its handle; closing it, or the end of the process, frees the lock.

    Return None when another process or thread holds it. Where the disk has no locks, the process that the file names
    holds it as long as it lives.

    Raises:
        OSError: the file cannot be opened; FileNotFoundError when it was removed meanwhile.
    """
    handle = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0) | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if _is_free(handle) and os.path.samestat(os.fstat(handle), os.lstat(path)):
            os.ftruncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, str(os.getpid()).encode())
            return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _is_free(handle: int) -> bool:
    """Lock an open file; return False when another holds it."""
    try:
        _lock(handle)
    except OSError as error:
        if error.errno in HELD:
            return False
        holder = os.read(handle, 32)
        return not holder.isdigit() or not is_alive(int(holder))
    return True


def is_alive(pid: int) -> bool:
    """Return False when no process of this machine has that number; True when that cannot be said."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def holder_of(path: Path) -> str:
    """Return the number of the process that locked a file last, as a text; empty when that cannot be read."""
    with suppress(OSError, UnicodeError):
        return path.read_text(encoding="ascii")[:32]
    return ""
