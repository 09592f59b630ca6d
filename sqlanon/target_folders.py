"""Where a release goes that many machines write: a folder of Parquet files, put in place as a whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlanon.errors import TargetError
from sqlanon.targets import partial_name

ENDING = ".parquet"


def check_folder(path: Path, if_exists: str, read_files: Sequence[Path] = ()) -> None:
    """Refuse a folder that cannot be published to, before any work.

    Args:
        read_files: the files and folders that were read.

    Raises:
        TargetError: it has another ending, is there, holds something else than a release, or stands within what is
            read, or around it.
    """
    place = path.resolve()
    for used in (file.resolve() for file in read_files):
        if place == used or place in used.parents or (used in place.parents and used.is_dir()):
            raise TargetError(
                f"The target folder {path.name!r} is in the source, or holds it.", hint="choose another place."
            )
    if path.suffix.lower() != ENDING:
        raise TargetError(
            f"The target {path.name!r} would be written by a cluster, which writes folders of Parquet files only.",
            hint=f"give it the ending {ENDING}.",
        )
    if not os.path.lexists(path):
        return
    if if_exists != "replace":
        raise TargetError(
            f"The target folder {path.name!r} exists already.",
            hint="choose another name, or set if_exists: replace.",
        )
    if path.is_symlink() or not path.is_dir() or not _is_release(path):
        raise TargetError(
            f"The target {path.name!r} is no folder of Parquet files alone, and is not replaced.",
            hint="choose another name, or remove it yourself.",
        )


def _is_release(folder: Path) -> bool:
    return all(entry.suffix == ENDING and entry.is_file() and not entry.is_symlink() for entry in folder.iterdir())


@contextmanager
def partial_folder(path: Path) -> Iterator[Path]:
    """A name beside ``path`` to write under; whatever is left of it is removed at the end, come what may."""
    partial = partial_name(path)
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def tidy(folder: Path) -> None:
    """Remove what is no Parquet file: marks and checksums of the writer."""
    for entry in folder.iterdir():
        if entry.suffix != ENDING or entry.name.startswith((".", "_")):
            entry.unlink()


def put_folder_in_place(partial: Path, path: Path, *, if_exists: str) -> None:
    """Rename ``partial`` to ``path``. An old folder is moved away first: for that moment there is none.

    Raises:
        TargetError: the target appeared or changed meanwhile, or the disk refused.
    """
    check_folder(path, if_exists)
    old = partial_name(path) if path.exists() else None
    failure = None
    try:
        if old is not None:
            os.rename(path, old)
        os.rename(partial, path)
    except OSError as error:
        failure = str(error.strerror)
        if old is not None and old.exists() and not path.exists():
            os.rename(old, path)
    if failure:
        raise TargetError(f"The target folder {path.name!r} could not be put in place ({failure}).", hint="run again.")
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)
