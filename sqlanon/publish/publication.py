"""Publication: write under a temporary name, audit what was written, then rename. A failure leaves nothing.

- A table or a view is made in one transaction: nobody sees it before the audits have passed, and a crash or a
  failed audit rolls everything back.
- A view stands on a released table of its own (``<view>_released``), never on the source.
- A file is written beside its target and renamed at the end. A DuckDB file is always a fresh one (dropped
  rows would stay behind in an old one as raw bytes), and is audited by a fresh connection that sees
  nothing else.

Rows are shuffled; ENUM types become text. Comments, constraints and defaults do not survive a SELECT.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial as bound
from pathlib import Path
from secrets import token_hex

from sqlglot import exp

from sqlanon.audit.models import ModelAudit
from sqlanon.engines.base import Engine, Place
from sqlanon.publish.draft import _audit, _Draft
from sqlanon.publish.files import _publish_apart, _publish_file, _publish_folder
from sqlanon.publish.ledger import Ledger
from sqlanon.publish.targets import (
    RELEASED,
    Target,
    check_target,
    place,
    tables_beneath,
)
from sqlanon.publish.written_rows import (
    as_texts,
    column,
    release_query,
    typed_texts,
    unused_marker,
    written_types,
)
from sqlanon.sqltrees import names

__all__ = ["Publication", "publish"]


@dataclass(frozen=True, slots=True)
class Publication:
    """What was published: ``{"view" | "table" | "file": target}``, and the redaction marker, if any."""

    output: dict[str, str]
    marker: str | None


def publish(
    engine: Engine,
    target: Target,
    *,
    query: exp.Query,
    columns: Sequence[str],
    types: Sequence[str],
    quasi_identifiers: Sequence[str],
    models: Sequence[ModelAudit],
    nulls: str,
    ledger: Ledger,
    suppressed: str,
    lookups: Mapping[str, exp.Expr] | None,
    verify_source: Callable[[], None],
    copied: bool = False,
) -> Publication:
    """Write, audit and put in place the rows of ``query``.

    Args:
        target: a view, a table or a file (.duckdb, .parquet, .csv, .xml or that of another format).
        query: the published rows: generalized, without suppressed records, in any order.
        columns, types: of its rows, in order.
        models: the audits of the policy's privacy models.
        nulls: ``extended`` or ``basic``.
        suppressed: ``drop``, or ``redact``: then ``ledger.suppressed`` rows hold one marker in every column.
        lookups: per quasi-identifier, a relation with the column ``value``: the texts of its level.
        verify_source: raises SourceChangedError; called last, before the release is put in place.
        copied: the rows of ``query`` were audited before with what is not published of them: what is written is held
            against them, row by row.

    Raises:
        TargetError: the target exists, is the source, or cannot be written.
        SourceChangedError: the number of rows is not the ledger's, or ``verify_source`` says so.
        AuditError: what was written does not satisfy the policy.
        EngineError: the database refused a statement.
    """
    output, path = target.output, Path(target.output.target)
    is_file = output.kind == "file"
    check_target(engine, target, read=[query])
    marker = unused_marker(engine, query, columns) if suppressed == "redact" else None
    redacted = ledger.suppressed if marker is not None else 0
    carried = is_file and not engine.writes_folders and not engine.has("files")
    in_file = [engine.file_type(name) for name in types] if carried else types
    written = dict(zip(columns, written_types(in_file, path.suffix.lower() if is_file else "", marker), strict=True))
    audit = bound(
        _audit, columns=columns, quasi_identifiers=quasi_identifiers, published=ledger.published,
        redacted=redacted, marker=marker, nulls=nulls,
    )  # fmt: skip
    source_types = dict(zip(columns, types, strict=True))
    draft = _Draft(
        query=release_query(query, source_types, written, marker=marker, redacted=redacted),
        columns=tuple(columns),
        types=tuple(written.values()),
        audit=audit,
        lookups={name: typed_texts(lookup, source_types[name]) for name, lookup in (lookups or {}).items()},
        models=tuple(models),
        copied=as_texts(query, source_types, written) if copied else None,
        marker=marker,
        verify_source=verify_source,
        target=target,
    )
    if is_file and engine.writes_folders:
        _publish_folder(engine, draft, path)
    elif carried:
        _publish_apart(engine, draft, path)
    elif is_file:
        _publish_file(engine, draft, path)
    else:
        _publish_relation(engine, draft, place(engine, output.target, target.catalog))
    return Publication({output.kind: output.target}, marker)


def _publish_relation(engine: Engine, draft: _Draft, where: Place) -> None:
    output, view = draft.target.output, draft.target.output.kind == "view"
    base = where.named(where.name + RELEASED) if view else where
    temporary = where.named(f"{names.PREFIX}release_{token_hex(4)}")
    with engine.transaction():
        engine.make_schema(where)
        engine.run("write", exp.Create(this=temporary.table, kind="TABLE", expression=draft.query))
        draft.audit(engine, temporary.table, draft.lookups, draft.models, draft.copied)
        draft.verify_source()
        if draft.target.if_exists == "replace":
            beneath = tables_beneath(engine, where)
            if found := engine.existing(where):
                engine.run("drop old release", exp.Drop(tables=[where.table], kind=found.upper()))
            for old in beneath:
                engine.run("drop old tables", exp.Drop(tables=[old.table], kind="TABLE"))
        rename = exp.AlterRename(this=exp.Table(this=exp.to_identifier(base.name, quoted=True)))
        engine.run("rename", exp.Alter(this=temporary.table, kind="TABLE", actions=[rename]))
        if view:
            rows = exp.select(*[column(name) for name in draft.columns]).from_(base.table)
            engine.create_view(where, rows)
            draft.audit(engine, where.table, draft.lookups, draft.models, draft.copied)
        engine.hand_over(where, [base] if view else [], output.owner, output.readers)
