"""Files and folders that appear as a whole: written in a private folder beside their place, and renamed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from sqlanon.core.disk.folders import PrivateFolder, discard
from sqlanon.core.disk.modes import settle_mode
from sqlanon.core.disk.renames import exchange, rename_new, sync
from sqlanon.core.interrupts import held
from sqlanon.errors import TargetError, instead_of, system_refusals

WORKPLACE = ".sqlanon"
"""The ending of the folder beside a file in which it is written; its name begins with a dot."""
NEW = "new"
"""The folder in the workplace of a release in which it is written, under its own name."""
PATIENCE = 10.0
"""Seconds to wait for another process that writes the same small file."""


def workplace_of(path: Path) -> Path:
    """Return the folder in which a file or a folder is written. A ``=`` in its name would be a partition to DuckDB."""
    path = path.absolute()
    return path.with_name(f".{path.name.replace('=', '-')}{WORKPLACE}")


def check_directory(path: Path) -> None:
    """Raise TargetError unless a file can be created beside ``path``."""
    require_directory(path)
    with directory_refusals(path), suppress(FileExistsError), held():  # if it exists, somebody works there, or did
        workplace_of(path).mkdir(mode=0o700)
        workplace_of(path).rmdir()


def require_directory(path: Path) -> None:
    """Raise TargetError unless the directory of ``path`` is there."""
    directory = path.absolute().parent
    if not directory.is_dir():
        raise TargetError(
            f"The directory {str(directory)!r} of the target {path.name!r} is not there.",
            hint="create it first, or choose another target.",
        )


def directory_refusals(path: Path) -> AbstractContextManager[None]:
    """Raise TargetError where the directory of ``path`` cannot be written."""
    what = f"The directory {str(path.absolute().parent)!r} of the target {path.name!r} cannot be written"
    return system_refusals(TargetError, what, hint="check its permissions and the room on the disk.")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a path to write to; when the block ends, the file takes the place of ``path``, and otherwise never.

    Raises:
        TargetError: it cannot be put in place.
    """
    with _folder_beside(path, "file") as folder:
        partial = folder / path.name
        yield partial
        settle_mode(partial, path, None)
        sync(partial)
        os.replace(partial, path)
        sync(path.absolute().parent)


@contextmanager
def whole_folder(path: Path, *, replaces: bool = False) -> Iterator[Path]:
    """Yield an empty folder to write to; when the block ends, it takes the place of ``path``, and otherwise never.

    An interrupt that comes while it is put in place waits until it stands.

    Args:
        replaces: a folder that is there is replaced; where the system can exchange names, in one step.

    Raises:
        TargetError: it cannot be put in place, or something is there that must not be replaced.
    """
    path = path.absolute()
    with _folder_beside(path, "folder") as folder:
        partial = folder / path.name
        discard(partial)  # of a process that was killed
        partial.mkdir(mode=0o700)
        yield partial
        settle_mode(partial, path, None)
        for entry in sorted(partial.rglob("*")):
            sync(entry)
        sync(partial)
        with held():
            if not replaces or not os.path.lexists(path):
                rename_new(partial, path)
            elif not exchange(partial, path):
                path.rename(folder / f"{path.name}.old")
                rename_new(partial, path)
            sync(path.parent)


@contextmanager
def _folder_beside(path: Path, kind: str) -> Iterator[Path]:
    """Yield the workplace of a small file or folder, and raise TargetError where the system refuses."""
    require_directory(path)
    unwritten = f"The {kind} {path.name!r} could not be written"
    hint = "check the permissions and the room on the disk."

    def refused(error: OSError) -> TargetError:  # its text may be that of a writer, and quote a value
        return TargetError(f"{unwritten} ({error.strerror or 'the system refused'}).", hint=hint)

    with (
        instead_of(OSError, refused),
        instead_of(FileExistsError, lambda _: TargetError(f"{unwritten} (it appeared meanwhile).", hint=hint)),
    ):
        folder = _claimed(path)
        try:
            yield folder.path
        finally:
            folder.remove()


def _claimed(path: Path) -> PrivateFolder:
    """Return the workplace of a small file or folder, when nobody else writes it."""
    until = time.monotonic() + PATIENCE
    while (folder := PrivateFolder.claim(workplace_of(path))) is None:
        if time.monotonic() > until:
            raise TargetError(f"Another process writes {path.name!r}.", hint="wait until it has ended.")
        time.sleep(0.05)
    return folder


def write_text(path: Path, text: str) -> None:
    """Write a small file, whole or not at all.

    Raises:
        TargetError: it cannot be written.
    """
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def write_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write small files into a folder, which is created if need be, readable by its owner alone.

    Raises:
        TargetError: one cannot be written.
    """
    what, hint = f"The folder {folder.name!r} could not be created", "check the path and its permissions."
    with system_refusals(TargetError, what, hint=hint):
        folder.mkdir(mode=0o700, exist_ok=True)
    for name, text in texts.items():
        write_text(folder / name, text)
