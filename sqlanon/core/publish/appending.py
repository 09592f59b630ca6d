"""Publish a release to a table of a lakehouse: written and audited in a private folder, then added in one transaction.

So what stands in the table was audited as the files that it consists of, and readers see all of a release or nothing.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from sqlanon.core.disk.folders import spill_folder
from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.duckdb.files import partitions_relation
from sqlanon.core.interrupts import no_return
from sqlanon.core.publish.draft import Draft
from sqlanon.core.publish.files import write_flat
from sqlanon.core.publish.lakes import LakeRelease, WrittenFile, open_lake
from sqlanon.core.publish.partitions import NO_VALUE, audit_folder, refuse_partitions, write_partitions
from sqlanon.errors import TargetError, system_refusals


def publish_appended(engine: Engine, draft: Draft, target: Path) -> dict[str, Any]:
    """Publish to a table of a lakehouse; return the manifest that stands in its transaction.

    Raises:
        TargetError: the table cannot hold the release, or is not what it was; the disk refused.
        AuditError: the files do not hold what the release claims.
    """
    assert isinstance(engine, DuckDBEngine)  # others lack "files"
    from pyarrow.parquet import read_schema  # loaded by need

    assert draft.papers is not None
    by, periods, name = draft.target.output.partition_by, draft.target.periods, target.name
    private = _private_folder(engine, name)
    try:
        folder = private.path / "release"
        if by:
            refuse_partitions(engine, draft.query, by)
        else:
            folder.mkdir()
        with draft.writing(engine):
            if by:
                write_partitions(engine, draft.query, folder, by)
            else:
                write_flat(engine, draft.query, folder / "data_0.parquet")
        audit_folder(engine, draft, folder)
        files = [WrittenFile(path, _values(path, folder)) for path in sorted(folder.rglob("*.parquet"))]
        table = open_lake(draft.target.output)
        manifest = dict(draft.papers.manifest)
        if periods is not None:
            manifest = periods.extend_lake(engine, table, partitions_relation(folder), draft)
        inside = read_schema(files[0].path)
        kinds = {column: inside.field(column).type for column in inside.names} | dict.fromkeys(by, pa.string())
        schema = pa.schema([(column, kinds[column]) for column in draft.claim.columns])
        table.refuse(schema)

        def last_look() -> None:
            draft.last_look()
            no_return()

        table.append(LakeRelease(files, schema, by, json.dumps(manifest, ensure_ascii=False), last_look))
        draft.placed()
    finally:
        private.remove()
    return manifest


def _private_folder(engine: DuckDBEngine, name: str) -> Any:
    with system_refusals(
        TargetError,
        f"The files for the target {name!r} could not be written",
        hint="check the permissions and the room on the disk, also of engine.temp_directory.",
    ):
        return spill_folder(Path(engine.settings.get("temp_directory") or tempfile.gettempdir()).absolute())


def _values(path: Path, folder: Path) -> dict[str, str | None]:
    """Return the values in the names of the folders that a file is in, as readers of partitions decode them."""
    parts = [part.partition("=") for part in path.relative_to(folder).parts[:-1]]
    return {name: None if value == NO_VALUE else unquote(value) for name, _, value in parts}
