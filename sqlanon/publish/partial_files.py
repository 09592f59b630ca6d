"""Files that are written under a temporary name and renamed when they are whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlanon.errors import EngineError, TargetError


def check_directory(path: Path) -> None:
    """Raise TargetError unless a file can be created beside ``path``."""
    directory = path.absolute().parent
    if not directory.is_dir():
        raise TargetError(
            f"The directory {str(directory)!r} of the target {path.name!r} is not there.",
            hint="create it first, or choose another target.",
        )
    probe = partial_name(path)
    failure = None
    try:
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        failure = error.strerror
    if failure:
        raise TargetError(
            f"The directory {str(directory)!r} of the target {path.name!r} cannot be written ({failure}).",
            hint="check its permissions and the room on the disk.",
        )


def partial_name(path: Path) -> Path:
    """Return a name beside ``path`` that no other process uses, with the process that uses it."""
    path = path.absolute()
    return path.with_name(f".{path.name}.sqlanon-{os.getpid()}-{secrets.token_hex(4)}.partial{path.suffix}")


@contextmanager
def partial_file(path: Path) -> Iterator[Path]:
    """Yield a name beside ``path`` to write under; whatever is left of it is removed at the end, come what may.

    Partial files of the same target whose process is dead (kill -9, power cut) are removed first. The name
    keeps the ending of ``path``, by which files are read back.
    """
    _remove_stale(path)
    partial = partial_name(path)
    try:
        yield partial
    finally:
        for leftover in (partial, Path(f"{partial}.wal"), Path(f"{partial}.tmp")):
            with suppress(OSError):
                leftover.unlink()


def _remove_stale(path: Path) -> None:
    start = f".{path.name}.sqlanon-"
    for candidate in path.absolute().parent.iterdir():
        pid = candidate.name.removeprefix(start).split("-")[0]
        if candidate.name.startswith(start) and ".partial" in candidate.name and pid.isdigit() and not _alive(int(pid)):
            with suppress(OSError):
                candidate.unlink()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def put_in_place(partial: Path, path: Path, *, if_exists: str = "replace") -> None:
    """Rename ``partial`` to ``path`` atomically; file and name are on the disk when this returns.

    Raises:
        TargetError: the target appeared meanwhile and must not be replaced, or the disk refused.
    """
    failure = None
    try:
        _sync(partial)
        if if_exists != "replace" and os.path.lexists(path):
            failure = "it appeared meanwhile"
        else:
            os.replace(partial, path)
            _sync(path.absolute().parent)
    except OSError as error:
        failure = str(error.strerror)
    if failure:
        raise TargetError(f"The target file {path.name!r} could not be put in place ({failure}).", hint="run again.")


def write_text(path: Path, text: str) -> None:
    """Write a small file, whole or not at all.

    Raises:
        TargetError: the directory cannot be written.
    """
    check_directory(path)
    with partial_file(path) as partial:
        partial.write_text(text, encoding="utf-8")
        put_in_place(partial, path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def as_target_error(error: EngineError, path: Path) -> TargetError | EngineError:
    """Return a failed write of a file as a fault of the target, and any other error as it is."""
    if error.kind != "IOException":
        return error
    return TargetError(
        f"The target file {path.name!r} could not be written. {error.message}",
        hint="check the permissions and the room on the disk, also of engine.temp_directory.",
    )
