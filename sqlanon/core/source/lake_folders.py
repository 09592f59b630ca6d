"""Folders of tables of a lakehouse, whose files are not what the table holds.

Such a folder holds files with records that were deleted, or that a newer version replaced. Only the log of the table
says which of them count. So no file in it, and no folder of its files, is ever read by itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from sqlanon.core.policy.paths import is_folder
from sqlanon.errors import SourceError

DELTA_LOG, METADATA, HUDI = "_delta_log", "metadata", ".hoodie"
METADATA_ENDING = ".metadata.json"
NUMBERED = re.compile(r"v?\d+\b.*\.metadata\.json(\.gz)?")
"""Names of the files of metadata that Iceberg writes. Another file of this ending says nothing about its neighbors."""

DELETED = "Files of such a table may hold records that were deleted from it."
WHOLE = "name the folder of the table: source: path/to/folder; on Spark, a table of its catalog."


def is_lake_path(path: Path) -> bool:
    """Return True for the folder of a Delta or Iceberg table, and for a file of metadata of the latter."""
    if path.name.endswith(METADATA_ENDING):
        return True
    return is_folder(path) and (is_folder(path / DELTA_LOG) or any(path.joinpath(METADATA).glob(f"*{METADATA_ENDING}")))


def refuse_files_of_lakes(paths: Iterable[Path]) -> None:
    """Raise SourceError if a file or folder lies in the folder of a table of a lakehouse, or is that of Hudi."""
    real = (Path(form) for path in paths for form in (os.path.abspath(path), os.path.realpath(path)))
    for folder in dict.fromkeys(folder for path in real for folder in (path, *path.parents)):
        if is_folder(folder / HUDI):
            raise SourceError(
                f"The files that the source names lie in {folder.name!r}, a Hudi table, which is not read. Its files "
                "may hold records that were deleted from it, or older versions of them.",
                hint="export its current records to Parquet, or pass them as a frame, in Python.",
            )
        if is_table(folder):
            raise SourceError(
                f"The files that the source names lie in {folder.name!r}, a Delta or Iceberg table. {DELETED}",
                hint=WHOLE,
            )


def is_table(folder: Path) -> bool:
    """Return True for the folder of a Delta or Iceberg table."""
    if is_folder(folder / DELTA_LOG):
        return True
    try:
        return holds_metadata(os.listdir(folder / METADATA))
    except OSError:  # there is no such folder, or it is nobody's business
        return False


def holds_metadata(names: Iterable[str]) -> bool:
    """Return True if one of the names of files is that of metadata of Iceberg."""
    return any(NUMBERED.fullmatch(name) for name in names)
