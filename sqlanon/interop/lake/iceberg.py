"""Iceberg tables, written by the package ``pyiceberg`` through a catalog of its configuration.

The manifest of a release is a property of the table, set in the transaction that adds its files. A transaction is
refused where the table has another snapshot than the one that was opened: of two runs at the same time one fails.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self
from uuid import uuid4

import pyarrow as pa

from sqlanon.core.publish.lakes import MANIFEST_KEY, LakeRelease
from sqlanon.errors import InputError, TargetError
from sqlanon.interop.lake.appended import Appended, refuse_types


class IcebergTarget(Appended):
    """An Iceberg table that releases are added to; see ``core.publish.lakes.LakeTable``."""

    def __init__(self, target: str) -> None:
        self.name = target
        self._io: Any = None
        catalog, _, self._name = target.partition(".")
        failure = ""
        try:
            from pyiceberg.catalog import load_catalog
            from pyiceberg.exceptions import NoSuchTableError

            self._catalog = load_catalog(catalog)
            try:
                self.frame: Any = _without_retries(self._catalog.load_table(self._name))
            except NoSuchTableError:
                self.frame = None
        except ImportError:
            raise InputError(
                "The target is an Iceberg table, and what writes it is not installed.",
                hint="run: python -m pip install 'sqlanon[iceberg]', and what its catalog needs.",
            ) from None
        except Exception as error:  # of the package, and its message may hold more than names
            failure = type(error).__name__
        if failure:
            raise self.unwritable(failure)

    def manifest(self) -> str:
        return "" if self.frame is None else str(self.frame.properties.get(MANIFEST_KEY, ""))

    def values(self, name: str) -> pa.RecordBatchReader:
        return self.frame.scan(selected_fields=(name,)).to_arrow_batch_reader()

    def refuse(self, schema: pa.Schema) -> None:
        refuse_types(schema, "An Iceberg table", narrow=False)
        if self.frame is not None and [field.name for field in self.frame.schema().fields] != schema.names:
            raise TargetError(
                f"The table {self.name!r} has other columns than the release.",
                hint="restore its columns; nothing was published.",
            )

    def add(self, release: LakeRelease, added: list[str]) -> None:
        new = self.frame is None
        begun = self._catalog.create_table_transaction(self._name, release.schema) if new else self.frame.transaction()
        location = begun.table_metadata.location
        self._io = self._file_io(location)
        for file in release.files:
            added.append(f"{location.rstrip('/')}/data/sqlanon-{uuid4()}.parquet")
            with file.path.open("rb") as written, self._io.new_output(added[-1]).create() as stream:
                shutil.copyfileobj(written, stream)
        begun.add_files(added, check_duplicate_files=False)
        begun.set_properties({MANIFEST_KEY: release.manifest})
        release.last_look()
        self._commit(begun)

    def opened_again(self) -> Self:
        return type(self)(self.name)

    def holds(self, file: str) -> bool:
        return self.frame is not None and any(task.file.file_path == file for task in self.frame.scan().plan_files())

    def take_back(self, added: Sequence[str]) -> None:
        """Remove files that were not committed, as far as the store allows it; no reader sees them."""
        for name in added:
            with suppress(Exception):
                self._io.delete(name)

    @property
    def version(self) -> str | None:
        """The file of the table's metadata; None where there is no table."""
        return None if self.frame is None else str(self.frame.metadata_location)

    def _commit(self, begun: Any) -> None:
        begun.commit_transaction()

    def _file_io(self, location: str) -> Any:
        from pyiceberg.io import load_file_io

        return load_file_io(self._catalog.properties, location)

    def unwritable(self, failure: str) -> TargetError:
        return TargetError(
            f"The Iceberg table {self.name!r} could not be read or written ({failure}).",
            hint="check the catalog in the configuration of PyIceberg (.pyiceberg.yaml), and that the namespace is "
            "there.",
        )


def _without_retries(table: Any) -> Any:
    """Return an open table whose transactions fail where it has changed; the package would add to what is new."""
    properties = {**table.metadata.properties, "commit.retry.num-retries": "0"}  # of this object, not of the table
    table.metadata = table.metadata.model_copy(update={"properties": properties})
    return table
