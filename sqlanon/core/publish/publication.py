"""Publication: write under a temporary name, audit what was written, then rename. A failure leaves nothing.

- A table or a view is created in one transaction: no other session sees it before the audits have passed, and a
  crash or a failed audit rolls everything back.
- A view stands on a released table of its own (``<view>_released``), never on the source.
- A file is written beside its target and put in place with its papers at the end (``workplace``). A DuckDB file is
  always a fresh one (dropped rows would stay behind in an old one as raw bytes), and is audited by a fresh connection
  that sees nothing else.

The order of rows shows nothing of the source (``order``); ENUM types become text. Comments, constraints and defaults do
not survive a SELECT.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from sqlglot import exp

from sqlanon.core.audit.release import ReleaseClaim
from sqlanon.core.engines.base import Engine, Place
from sqlanon.core.interrupts import no_return
from sqlanon.core.policy import Output
from sqlanon.core.policy.output import IN_DATABASE, LAKES
from sqlanon.core.publish.draft import Draft
from sqlanon.core.publish.files import Publisher, publish_apart, publish_file, publish_folder
from sqlanon.core.publish.order import ReleasedRows, ordered
from sqlanon.core.publish.papers import Papers
from sqlanon.core.publish.partitions import publish_partitions
from sqlanon.core.publish.targets import FOLDER_ENDING, RELEASED, Target, check_target, place, tables_beneath
from sqlanon.core.publish.written_rows import as_texts, typed_texts, unused_marker, written_types
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column


@dataclass(frozen=True, slots=True)
class Publication:
    """What was published: ``{"view" | "table" | "file": target}``, the redaction marker and the manifest, if any; and
    what whoever published it must know."""

    output: dict[str, str]
    marker: str | None
    manifest: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()


def publish(
    engine: Engine,
    target: Target,
    rows: ReleasedRows,
    claim: ReleaseClaim,
    *,
    redacted: int | None,
    verify_source: Callable[[], None],
    copied: bool = False,
    papers: Papers | None = None,
) -> Publication:
    """Write, audit and put in place the rows of a release.

    Args:
        target: a view, a table or a file (.duckdb, .parquet, .csv, .xml or that of another format).
        rows: the published rows: generalized, without suppressed records, in any order.
        claim: what the release claims; its types are those of the rows.
        redacted: as many rows with one marker in every column stand for the suppressed records; None: they are dropped.
        verify_source: raises SourceChangedError; called last, before the release is put in place.
        copied: the rows were audited before with what is not published of them: what is written is
            compared with them, row by row.
        papers: what travels beside a file; they are put in place with it.

    Raises:
        TargetError: the target exists, is the source, or cannot be written.
        SourceChangedError: the number of rows is not the claimed one, or ``verify_source`` finds a change.
        AuditError: what was written does not satisfy the policy.
        EngineError: the database refused a statement.
    """
    output, types, query = target.output, claim.types, rows.query
    check_target(engine, target, read=[query])
    marker = unused_marker(engine, query, claim.columns) if redacted is not None else None
    written = types_there(engine, output, types, marker)
    claim = replace(
        claim,
        types=written,
        redacted=redacted or 0,
        marker=marker,
        lookups={name: typed_texts(lookup, types[name]) for name, lookup in claim.lookups.items()},
    )
    copied_rows = as_texts(query, types, written) if copied else None
    with ordered(engine, rows, types, claim) as (written_rows, is_sorted):
        draft = Draft(written_rows, claim, copied_rows, verify_source, target, papers, sorted=is_sorted)
        document = put(engine, draft)
    warnings = () if target.replacing is None else tuple(target.replacing.warnings)
    return Publication({output.kind: output.target}, marker, document, warnings)


def types_there(engine: Engine, output: Output, types: Mapping[str, str], marker: str | None = None) -> dict[str, str]:
    """Return the types that columns have where a release is written."""
    is_file = output.kind not in IN_DATABASE
    in_file = [*map(engine.targets.file_type, types.values())] if _is_foreign(engine, output) else [*types.values()]
    ending = Path(output.target).suffix.lower() if is_file else ""
    ending = FOLDER_ENDING if output.partition_by or output.kind in LAKES else ending
    written = dict(zip(types, written_types(in_file, ending, marker), strict=True))
    return written | dict.fromkeys(output.partition_by, "VARCHAR")  # the name of a folder is a text


def _is_foreign(engine: Engine, output: Output) -> bool:
    """Return whether a release leaves its engine, to be written as a file."""
    able = engine.capabilities
    return output.kind not in IN_DATABASE and not able.writes_folders and not able.has("files")


def put(engine: Engine, draft: Draft) -> dict[str, Any] | None:
    """Write, audit and put in place a draft; return the manifest of a file.

    Raises:
        TargetError, SourceChangedError, AuditError, EngineError: see ``publish``.
    """
    output, path = draft.target.output, Path(draft.target.output.target)
    if output.kind in IN_DATABASE:
        _publish_relation(engine, draft, place(engine, output.target, draft.target.catalog))
        return None
    if engine.capabilities.writes_folders:
        return publish_folder(engine, draft, path)
    if _is_foreign(engine, output):
        return publish_apart(engine, draft, path, _publisher(output))
    if output.kind in LAKES:
        return _publisher(output)(engine, draft, path)
    return publish_partitions(engine, draft, path) if output.partition_by else publish_file(engine, draft, path)


def _publisher(output: Output) -> Publisher:
    """Return what publishes a file, or to a table of a lakehouse, by an embedded DuckDB."""
    if output.kind not in LAKES:
        return publish_file
    from sqlanon.core.publish.appending import publish_appended  # loaded by need

    return publish_appended


def _publish_relation(engine: Engine, draft: Draft, where: Place) -> None:
    """Publish a table, or a view on a table of its own, in one transaction."""
    output, view = draft.target.output, draft.target.output.kind == "view"
    base = where.named(where.name + RELEASED) if view else where
    temporary = where.named(f"{names.PREFIX}release_{token_hex(4)}")
    replacing, before = draft.target.replacing, None
    if replacing is not None and engine.catalog.existing(where):
        before = replacing.rows(engine, lambda: where.table, draft.claim)
    with engine.transaction():
        engine.targets.make_schema(where)
        with draft.writing(engine):
            engine.run("write", exp.Create(this=temporary.table, kind="TABLE", expression=draft.query))
        engine.targets.analyze(temporary.table)
        draft.audit(engine, temporary.table)
        if replacing is not None:
            replacing.compare(engine, before, temporary.table, draft.claim)
        draft.last_look()
        if draft.target.periods is not None:
            draft.target.periods.extend_table(engine, where, temporary, draft)
            return no_return()
        if draft.target.if_exists == "replace":
            beneath = tables_beneath(engine, where)
            if found := engine.catalog.existing(where):
                engine.run("drop old release", exp.Drop(tables=[where.table], kind=found.upper()))
            for old in beneath:
                engine.run("drop old tables", exp.Drop(tables=[old.table], kind="TABLE"))
        rename = exp.AlterRename(this=exp.Table(this=exp.to_identifier(base.name, quoted=True)))
        engine.run("rename", exp.Alter(this=temporary.table, kind="TABLE", actions=[rename]))
        if view:
            rows = exp.select(*[column(name) for name in draft.claim.columns]).from_(base.table)
            engine.targets.create_view(where, rows)
            draft.audit(engine, where.table)
        engine.targets.hand_over(where, [base] if view else [], output.owner, output.readers)
        no_return()
    draft.placed()
