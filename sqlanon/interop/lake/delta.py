"""Delta tables, written by the package ``deltalake``.

The manifest of a release is in the record of its commit. A commit names the run of its periods as a transaction of
ours, which Delta accepts once, and is not tried again on another version than the one that was opened: of two runs at
the same time one is refused. The log is kept, because a later run reads the last manifest from it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs, parquet

from sqlanon.core.disk.renames import sync
from sqlanon.core.policy.paths import is_url
from sqlanon.core.publish.lakes import MANIFEST_KEY, LakeRelease, WrittenFile
from sqlanon.core.source.lake import StoredPlace, stored_place
from sqlanon.core.source.lake_folders import DELTA_LOG
from sqlanon.errors import InputError, SourceError, TargetError, instead_of
from sqlanon.interop.lake.appended import Appended, refuse_types

APPLICATION = "sqlanon"
"""The name under which a commit counts the releases to a table."""
RECENT = 50
"""Commits that are looked at first for the last manifest."""
PROPERTIES = {"delta.enableExpiredLogCleanup": "false"}
OWN = re.compile(r"sqlanon-[0-9a-f-]{36}\.parquet")
"""The names of our files: a run that is killed before it commits leaves some, which no reader of the table sees."""


class DeltaTarget(Appended):
    """A Delta table that releases are added to; see ``core.publish.lakes.LakeTable``."""

    def __init__(self, target: str) -> None:
        self._folder = None if is_url(target) else Path(target).absolute()
        self._url = target if self._folder is None else self._folder.as_uri()
        self._place = _place_of(target)
        self.name = self._place.name
        if "%" in str(self._folder or ""):
            raise TargetError(
                f"The path of the target {self._place.name!r} has a percent sign, which the package of Delta decodes.",
                hint="choose another folder.",
            )
        self.frame = self._opened()

    def _opened(self) -> Any:
        """Return the table; None where nothing is.

        Raises:
            TargetError: something else is there, or it cannot be read.
        """
        failure = ""
        try:
            from deltalake import DeltaTable

            if self._place.listed(DELTA_LOG):
                return DeltaTable(self._url)
            if all(OWN.fullmatch(entry.base_name) for entry in self._place.below()):
                return None
        except ImportError:
            raise InputError(
                "The target is a Delta table, and what writes it is not installed.",
                hint="run: python -m pip install 'sqlanon[delta]'.",
            ) from None
        except Exception as error:  # of the package, and its message may hold paths and more
            failure = type(error).__name__
        if failure:
            raise self.unwritable(failure)
        raise TargetError(
            f"The target {self._place.name!r} exists, and is no Delta table.", hint="choose another name."
        )

    def manifest(self) -> str:
        if self.frame is None:
            return ""
        for limit in (RECENT, None):
            for commit in self.frame.history(limit):
                if isinstance(text := commit.get(MANIFEST_KEY), str):
                    return text
        return ""

    def values(self, name: str) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_stream(self.frame.scan(columns=[name]))

    def refuse(self, schema: pa.Schema) -> None:
        refuse_types(schema, "A Delta table", narrow=True)
        if self.frame is not None and self.frame.schema() != _schema(schema):
            raise TargetError(
                f"The table {self._place.name!r} has other columns than the release.",
                hint="restore its columns; nothing was published.",
            )

    def add(self, release: LakeRelease, added: list[str]) -> None:
        if self._folder is not None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        actions = [self._brought(file, added) for file in release.files]
        release.last_look()
        self._commit(actions, release.schema, release.by, release.manifest)

    def opened_again(self) -> Self:
        return type(self)(self._url if self._folder is None else str(self._folder))

    def holds(self, file: str) -> bool:
        return self.frame is not None and any(uri.endswith(f"/{file}") for uri in self.frame.file_uris())

    @property
    def version(self) -> int | None:
        """The number of the last commit; None where there is no table."""
        return None if self.frame is None else int(self.frame.version())

    def take_back(self, added: Sequence[str]) -> None:
        """Remove files that were not committed, as far as the store allows it; no reader sees them."""
        for name in added:
            with suppress(OSError):
                self._place.system.delete_file(self._below(name))

    def _commit(self, actions: list[Any], schema: pa.Schema, by: Sequence[str], manifest: str) -> None:
        from deltalake import CommitProperties, Transaction
        from deltalake.transaction import create_table_with_add_actions

        before = None if self.frame is None else self.frame.transaction_version(APPLICATION)
        own = CommitProperties(
            custom_metadata={MANIFEST_KEY: manifest},
            app_transactions=[Transaction(APPLICATION, 1 if before is None else before + 1)],
            max_commit_retries=0,
        )
        kinds, columns = _schema(schema), list(by)
        if self.frame is not None:
            self.frame.create_write_transaction(actions, "append", kinds, columns, commit_properties=own)
            return
        create_table_with_add_actions(
            self._url, kinds, actions, "error", columns, configuration=PROPERTIES, commit_properties=own
        )

    def _brought(self, file: WrittenFile, added: list[str]) -> Any:
        """Copy a file to the table, where no reader sees it before it is committed; return what commits it."""
        from deltalake.transaction import AddAction

        name = f"sqlanon-{uuid4()}.parquet"
        added.append(name)
        fs.copy_files(
            str(file.path),
            self._below(name),
            source_filesystem=fs.LocalFileSystem(),
            destination_filesystem=self._place.system,
        )
        if self._folder is not None:
            sync(self._folder / name)
        records = json.dumps({"numRecords": parquet.read_metadata(file.path).num_rows})
        size, now = file.path.stat().st_size, int(time.time() * 1000)
        return AddAction(name, size, dict(file.values), now, True, records)

    def _below(self, name: str) -> str:
        return f"{self._place.path.rstrip('/')}/{name}"

    def unwritable(self, failure: str) -> TargetError:
        return _unwritable(self._place.name, failure)


def _place_of(target: str) -> StoredPlace:
    refused = (SourceError, OSError, ValueError, pa.ArrowException)
    with instead_of(refused, lambda error: _unwritable(target.rpartition("/")[2], type(error).__name__)):
        return stored_place(target if is_url(target) else Path(target))


def _schema(schema: pa.Schema) -> Any:
    from deltalake import Schema

    return Schema.from_arrow(schema)


def _unwritable(name: str, failure: str) -> TargetError:
    return TargetError(
        f"The Delta table {name!r} could not be read or written ({failure}).",
        hint="check its path, its permissions and, in an object store, the credentials.",
    )
