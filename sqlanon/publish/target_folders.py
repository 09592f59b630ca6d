"""Where a release goes that many machines write: a folder of Parquet files, put in place as a whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlanon.errors import TargetError
from sqlanon.publish.partial_files import partial_name
from sqlanon.publish.targets import FOLDER_ENDING, check_folder


@contextmanager
def partial_folder(path: Path) -> Iterator[Path]:
    """Yield a name beside ``path`` to write under; whatever is left of it is removed at the end, come what may."""
    partial = partial_name(path)
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def tidy(folder: Path) -> None:
    """Remove what is no Parquet file: marks and checksums of the writer."""
    for entry in folder.iterdir():
        if entry.suffix != FOLDER_ENDING or entry.name.startswith((".", "_")):
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
