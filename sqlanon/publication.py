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
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial as bound
from pathlib import Path
from secrets import token_hex

from sqlglot import exp

from sqlanon.accounting import Ledger
from sqlanon.audit.models import ModelAudit
from sqlanon.audit.release import audit_copies, audit_release, unmarked
from sqlanon.engines.base import Engine, Place
from sqlanon.engines.duckdb.engine import DuckDBEngine
from sqlanon.engines.duckdb.files import file_relation
from sqlanon.errors import AuditError, EngineError, SourceChangedError, SourceError
from sqlanon.policy.formats.base import FileFormat
from sqlanon.source.files import read_file
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import table
from sqlanon.target_folders import partial_folder, put_folder_in_place, tidy
from sqlanon.targets import (
    CERTIFICATE,
    MANIFEST,
    RELEASED,
    Target,
    as_target_error,
    check_target,
    partial_file,
    place,
    put_in_place,
    tables_beneath,
)
from sqlanon.written_rows import (
    as_texts,
    column,
    release_query,
    texts_of,
    typed_column,
    typed_texts,
    unused_marker,
    written_types,
)

__all__ = ["Publication", "publish"]

TABLE = "release"
"""The table of a DuckDB file."""

Audit = Callable[[Engine, exp.Expr, Mapping[str, exp.Expr], Sequence[ModelAudit], exp.Expr | None], None]


@dataclass(frozen=True, slots=True)
class Publication:
    """What was published: ``{"view" | "table" | "file": target}``, and the redaction marker, if any."""

    output: dict[str, str]
    marker: str | None


@dataclass(frozen=True, slots=True)
class _Draft:
    """What every kind of target needs: the rows, the audits, a last look at the source.

    ``copied`` are the rows that what is written must be a copy of, as texts; None where the audits say all. ``marker``
    is the text of redacted rows.
    """

    query: exp.Query
    columns: tuple[str, ...]
    types: tuple[str, ...]
    audit: Audit
    lookups: Mapping[str, exp.Expr]
    models: tuple[ModelAudit, ...]
    copied: exp.Expr | None
    marker: str | None
    verify_source: Callable[[], None]
    target: Target


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


def _audit(
    engine: Engine,
    relation: exp.Expr,
    lookups: Mapping[str, exp.Expr],
    models: Sequence[ModelAudit],
    copied: exp.Expr | None,
    *,
    columns: Sequence[str],
    quasi_identifiers: Sequence[str],
    published: int,
    redacted: int,
    marker: str | None,
    nulls: str,
) -> None:
    count = exp.select(exp.Count(this=exp.Star())).from_(relation.copy())
    rows = int(engine.run("count written rows", count)[0][0])
    if rows != published + redacted:
        raise SourceChangedError(
            f"{rows} rows were written where the plan has {published + redacted}: the source changed between "
            "planning and publication.",
            hint="work on a copy that nobody writes to, and run again; nothing was published.",
        )
    audit_release(
        engine, relation, columns=columns, quasi_identifiers=quasi_identifiers, models=models, published=published,
        redacted=redacted, marker=marker, nulls=nulls, lookups=lookups,
    )  # fmt: skip
    if copied is not None:
        audit_copies(engine, relation, copied, columns=columns, marker=marker)


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


def _publish_folder(engine: Engine, draft: _Draft, path: Path) -> None:
    """A folder that the engine's machines write and read back; the audit runs there too."""
    with partial_folder(path) as partial:
        written = engine.write_folder("write", draft.query, partial)
        tidy(partial)
        draft.audit(engine, written, draft.lookups, draft.models, draft.copied)
        draft.verify_source()
        _remove_papers(path, draft)
        put_folder_in_place(partial, path, if_exists=draft.target.if_exists)


def _remove_papers(path: Path, draft: _Draft) -> None:
    """Remove manifest and certificate of a release that is replaced."""
    if draft.target.if_exists == "replace":
        for ending in (MANIFEST, CERTIFICATE):
            with suppress(FileNotFoundError):
                path.with_name(path.name + ending).unlink()


def _publish_apart(engine: Engine, draft: _Draft, path: Path) -> None:
    """Publish a file of an engine that writes none: the released rows, and what audits need, leave it for an embedded
    DuckDB. What is written is held against the rows that left, whatever types they pass through."""
    embedded = DuckDBEngine()
    try:
        made = engine.carried(draft.query, dict(zip(draft.columns, draft.types, strict=True)))
        embedded.load("carry release", names.CARRIED, made, replayed=False)
        cells = zip(draft.columns, draft.types, strict=True)
        rows = exp.select(*[typed_column(name, kind) for name, kind in cells]).from_(table(names.CARRIED))
        lookups, models, _ = _carried(engine, embedded, replace(draft, copied=None))
        copied = texts_of(unmarked(table(names.CARRIED), draft.columns, draft.marker), draft.columns)
        draft = replace(draft, query=rows, lookups=lookups, models=models, copied=copied)
        _publish_file(embedded, draft, path)
    finally:
        embedded.close()


def _publish_file(engine: Engine, draft: _Draft, path: Path) -> None:
    assert isinstance(engine, DuckDBEngine)  # others lack "files"
    made, failure = draft.target.file_format(), None
    with partial_file(path) as partial:
        try:
            if path.suffix.lower() == ".duckdb":
                _write_database(engine, draft, partial)
                _audit_apart(engine, draft, bound(_attached, path=partial))
            elif made is not None:
                with engine.batches("write", draft.query) as rows:
                    made.write(partial, rows, {})
                _audit_apart(engine, draft, bound(_read_back, path=partial, made=made))
            else:
                _write_flat(engine, draft, partial)
                draft.audit(engine, file_relation(partial, {}), draft.lookups, draft.models, draft.copied)
        except EngineError as error:
            failure = as_target_error(error, path)
        if failure:
            raise failure
        draft.verify_source()
        _remove_papers(path, draft)
        put_in_place(partial, path, if_exists=draft.target.if_exists)


def _write_database(engine: DuckDBEngine, draft: _Draft, partial: Path) -> None:
    alias = f"{names.PREFIX}release_{token_hex(4)}"
    engine.attach(partial, alias, read_only=False, replayed=False)
    try:
        with engine.transaction():
            target = Place(alias, "main", TABLE).table
            engine.run("write", exp.Create(this=target, kind="TABLE", expression=draft.query))
    finally:
        engine.detach(alias)


def _audit_apart(engine: DuckDBEngine, draft: _Draft, opened: Callable[[DuckDBEngine], exp.Expr]) -> None:
    """Audit the closed file as a stranger: a new connection with only the file and the lookups' texts."""
    settings = ("memory_limit", "threads", "temp_directory")
    wanted = exp.select(*[exp.Anonymous(this="current_setting", expressions=[exp.convert(s)]) for s in settings])
    values = engine.run("settings", wanted)[0]
    stranger = DuckDBEngine(settings={s: value for s, value in zip(settings, values, strict=True) if value})
    try:
        relation = opened(stranger)
        draft.audit(stranger, relation, *_carried(engine, stranger, draft))
    finally:
        stranger.close()


def _attached(stranger: DuckDBEngine, *, path: Path) -> exp.Expr:
    stranger.attach(path, "release", read_only=True)
    return Place("release", "main", TABLE).table


def _read_back(stranger: DuckDBEngine, *, path: Path, made: FileFormat) -> exp.Expr:
    """The records of a file of a format that the engine does not read itself, as its reader gives them back.

    Raises:
        AuditError: it cannot be read.
    """
    failure = ""
    try:
        stranger.load_batches("read written file", names.WRITTEN, read_file(made, path, {}), replayed=False)
    except SourceError as error:
        failure = error.message
    if failure:
        raise AuditError(
            f"What was written cannot be read back. {failure}",
            hint="nothing was published; write Parquet or CSV, and report this as a fault of the format.",
        )
    return table(names.WRITTEN)


def _carried(
    engine: Engine, stranger: DuckDBEngine, draft: _Draft
) -> tuple[dict[str, exp.Expr], tuple[ModelAudit, ...], exp.Expr | None]:
    """What a release is audited against (texts of levels, counts of values, generalized texts, the rows that it must be
    a copy of), as tables of the stranger."""

    def carried(name: str, relation: exp.Expr, into: str) -> exp.Expr:
        rows = engine.arrow(name, exp.select(exp.Star()).from_(_as_table(relation)))
        stranger.load(name, into, rows)
        return table(into)

    lookups = {
        name: carried("lookup texts", lookup, names.lookup(position))
        for position, (name, lookup) in enumerate(draft.lookups.items())
    }
    models = [
        replace(
            model,
            references={
                name: carried("audit reference", relation, f"{names.PREFIX}reference_{number}_{name}")
                for name, relation in model.references.items()
            },
        )
        for number, model in enumerate(draft.models)
    ]
    copied = draft.copied
    return lookups, tuple(models), carried("copied rows", copied, names.COPIED) if copied is not None else None


def _as_table(relation: exp.Expr) -> exp.Expr:
    copy = relation.copy()
    return copy.subquery("reference") if isinstance(copy, exp.Query) and not isinstance(copy, exp.Subquery) else copy


def _write_flat(engine: DuckDBEngine, draft: _Draft, partial: Path) -> None:
    """COPY; in CSV a NULL is an empty field and an empty text a quoted one, so that both survive."""
    if partial.suffix.lower() == ".csv":
        options: dict[str, exp.Expr] = {
            "FORMAT": exp.var("CSV"),
            "HEADER": exp.true(),
            "DELIMITER": exp.Literal.string(","),
            "QUOTE": exp.Literal.string('"'),
            "ESCAPE": exp.Literal.string('"'),
            "NULLSTR": exp.Literal.string(""),
        }
    else:
        options = {"FORMAT": exp.var("PARQUET")}
    parameters = [exp.CopyParameter(this=exp.var(name), expression=value) for name, value in options.items()]
    rows = draft.query.subquery()
    engine.run("write", exp.Copy(this=rows, kind=False, files=[exp.convert(str(partial))], params=parameters))
