"""Publish a release as a folder of Parquet files in partitions: ``region=North/year=2020/data_0.parquet``.

The names of the folders are values of the release. So they are audited with it: the folder is read back as it was
written, its partitions as columns of texts, and nothing else may be in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.duckdb.files import partitions_relation
from sqlanon.core.interrupts import no_return
from sqlanon.core.publish.draft import Draft
from sqlanon.core.publish.targets import check_partitions_folder
from sqlanon.core.sqltrees.trees import column, count_rows, equal
from sqlanon.errors import AuditError, EngineError, TargetError

MOST = 10_000
"""Folders that a release is written to, at most."""
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The folder of NULL. Some readers take a text of this name for NULL too."""
LONGEST = 255
"""Bytes of the name of a folder."""
FILE = re.compile(r"data_\d+\.parquet")


def publish_partitions(engine: Engine, draft: Draft, path: Path) -> dict[str, Any] | None:
    """Publish a folder of partitions, audited as it was written; return its manifest.

    Raises:
        TargetError: values cannot be names of folders, or there are too many; the disk refused.
        AuditError: the folder does not hold what the release claims, or something else.
    """
    assert isinstance(engine, DuckDBEngine)  # others lack "files"
    by = draft.target.output.partition_by
    refuse_partitions(engine, draft.query, by)
    with draft.target.working() as workplace:
        with draft.writing(engine):
            write_partitions(engine, draft.query, workplace.partial, by)
        audit_folder(engine, draft, workplace.partial)
        periods = draft.target.periods
        papers = draft.papers if periods is None else periods.extend_folder(engine, workplace.partial, draft)
        document = workplace.prepare(papers, draft.target.output.mode)
        draft.last_look(workplace.digest)
        check_partitions_folder(engine, path, draft.target.if_exists)
        no_return()
        workplace.put_in_place(if_exists=draft.target.if_exists)
        draft.placed()
    return document


def refuse_partitions(engine: Engine, query: exp.Query, by: tuple[str, ...]) -> None:
    """Refuse partitions that are too many, none, or that a reader would not read back, before anything is written.

    Raises:
        TargetError: names the fault, and the columns; never a value.
    """
    faults = [(name, fault) for name in by for fault in _unreadable(name)]
    counts = [exp.Count(this=exp.Case(ifs=[exp.If(this=fault, true=exp.convert(1))])) for _, fault in faults]
    listed = exp.select(*[column(name) for name in by]).distinct().from_(query.copy().subquery("released"))
    found = engine.run("partitions", exp.select(count_rows(), *counts).from_(listed.subquery("partitions")))[0]
    if not found[0]:
        raise TargetError(
            "No record is published, and a folder of no partitions has no columns.",
            hint="leave out partition_by, or allow fewer suppressed records by a coarser hierarchy.",
        )
    if int(found[0]) > MOST:
        raise TargetError(
            f"The release has {int(found[0]):,} partitions; at most {MOST:,} are written.",
            hint="partition by fewer columns, or by those that are more generalized.",
        )
    refused = sorted({name for (name, _), count in zip(faults, found[1:], strict=True) if count})
    if refused:
        raise TargetError(
            f"Values of {', '.join(map(repr, refused))} cannot be names of folders: an empty text, the text "
            f"{NO_VALUE!r} that stands for NULL, or more than {LONGEST} bytes.",
            hint="partition by other columns, or rename the values in the hierarchy.",
        )


def _unreadable(name: str) -> list[exp.Expr]:
    encoded = exp.Anonymous(this="STRLEN", expressions=[exp.Anonymous(this="URL_ENCODE", expressions=[column(name)])])
    return [
        equal(column(name), exp.Literal.string("")),
        equal(column(name), exp.Literal.string(NO_VALUE)),
        exp.GT(this=encoded, expression=exp.convert(LONGEST - len(name) - len("="))),
    ]


def write_partitions(engine: DuckDBEngine, query: exp.Query, partial: Path, by: tuple[str, ...]) -> None:
    """Write by COPY, which encodes what a name of a folder cannot hold.

    Raises:
        TargetError: the disk refused. It names no folder: one is a value.
    """
    options: dict[str, exp.Expr] = {
        "FORMAT": exp.var("PARQUET"),
        "PARTITION_BY": exp.Tuple(expressions=[column(name) for name in by]),
        "FILENAME_PATTERN": exp.Literal.string("data_{i}"),
    }
    parameters = [exp.CopyParameter(this=exp.var(name), expression=value) for name, value in options.items()]
    copy = exp.Copy(this=query.subquery(), kind=False, files=[exp.convert(str(partial))], params=parameters)
    try:
        engine.run("write", copy)
        return
    except EngineError as error:
        if error.kind != "IOException":
            raise
    raise TargetError(
        f"The target folder {partial.name!r} could not be written.",
        hint="check the permissions and the room on the disk, also of engine.temp_directory, and how long its path is.",
    )


def audit_folder(engine: DuckDBEngine, draft: Draft, folder: Path) -> None:
    """Audit a folder as it was written, with the values in the names of its folders.

    Raises:
        AuditError: it holds something else, or other rows than the release claims.
    """
    by, claim = draft.target.output.partition_by, draft.claim
    strange = [entry for entry in folder.rglob("*") if not _is_due(entry.relative_to(folder), entry.is_dir(), by)]
    relation = partitions_relation(folder)
    if strange or not _has_columns(engine, folder, claim.columns, by):
        raise AuditError(
            "The audit unexpected_files failed: the folder holds other files or columns than the release. Nothing was "
            "published.",
            hint="report it as a defect of sqlanon.",
        )
    written = exp.select(*[column(name) for name in claim.columns]).from_(relation).subquery("written")
    draft.audit(engine, written)
    draft.compare(engine, written, lambda: partitions_relation(Path(draft.target.output.target)))


def _has_columns(engine: DuckDBEngine, folder: Path, columns: Sequence[str], by: tuple[str, ...]) -> bool:
    """Return True if folders and files hold these columns, each once: a folder hides a column of its files."""
    found = {name for name, _ in engine.catalog.columns(partitions_relation(folder))}
    inside = {name for name, _ in engine.catalog.columns(partitions_relation(folder, inside=True))}
    return found == set(columns) and inside == found - set(by)


def _is_due(path: Path, is_folder: bool, by: tuple[str, ...]) -> bool:
    """Return True if a path below the folder is one of a partition, or of a file of the last one."""
    folders = path.parts if is_folder else path.parts[:-1]
    if not all(part.startswith(f"{name}=") for part, name in zip(folders, by, strict=False)):
        return False
    return len(folders) <= len(by) if is_folder else len(folders) == len(by) and FILE.fullmatch(path.name) is not None
