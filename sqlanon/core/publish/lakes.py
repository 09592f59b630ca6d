"""Tables of a lakehouse as targets: files are added to them in one transaction, with the manifest of the release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from sqlanon.core.doors import behind
from sqlanon.core.policy import Output
from sqlanon.errors import TargetError

MANIFEST_KEY = "sqlanon.manifest"
"""Under this name a transaction holds the manifest of all that is released by then."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A Parquet file of a release, and what all of its records have in the columns that it is partitioned by."""

    path: Path
    values: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class LakeRelease:
    """What is added to a table.

    Attributes:
        by: the columns that the files are partitioned by.
        manifest: as JSON.
        last_look: called before the transaction ends; where it fails nothing is added.
    """

    files: Sequence[WrittenFile]
    schema: pa.Schema
    by: Sequence[str]
    manifest: str
    last_look: Callable[[], None]


class LakeTable(Protocol):
    """A table of a lakehouse, as it was when it was opened."""

    @property
    def frame(self) -> Any:
        """The open table, which can be a source; None where there is no table."""
        ...

    def manifest(self) -> str:
        """Return the manifest of the last release to the table; an empty text where none was released to it."""
        ...

    def values(self, name: str) -> pa.RecordBatchReader:
        """Return one column of the table."""
        ...

    def refuse(self, schema: pa.Schema) -> None:
        """Refuse a release that the table cannot hold, before anything is added to it.

        Raises:
            TargetError: it has types that the format lacks, or other columns than the table.
        """
        ...

    def append(self, release: LakeRelease) -> None:
        """Add the files of a release in one transaction; the first one creates the table.

        Raises:
            TargetError: the table is not what it was when it was opened, or cannot be written; nothing was added.
        """
        ...


def open_lake(output: Output) -> LakeTable:
    """Return the table that an output names.

    Raises:
        InputError: the package of its format is not installed.
        TargetError: it cannot be read, or something else is there.
    """
    found: LakeTable = behind(f"lake {output.kind}")(output.target)
    return found


def changed_meanwhile(name: str) -> TargetError:
    """Return the error of a target that another run has published to."""
    return TargetError(
        f"The target {name!r} is not what it was when the run began: another run published to it, or it was removed.",
        hint="run again; nothing was published.",
    )
