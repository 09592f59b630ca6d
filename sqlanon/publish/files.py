"""Publish a release as a file or a folder: write beside the target, audit, rename."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial as bound
from pathlib import Path
from secrets import token_hex

from sqlglot import exp

from sqlanon.audit.models import ModelAudit
from sqlanon.audit.release import unmarked
from sqlanon.engines.base import Engine, Place
from sqlanon.engines.duckdb.engine import DuckDBEngine
from sqlanon.engines.duckdb.files import file_relation
from sqlanon.errors import AuditError, EngineError, SourceError
from sqlanon.policy.formats.base import FileFormat
from sqlanon.publish.draft import _Draft
from sqlanon.publish.partial_files import as_target_error, partial_file, put_in_place
from sqlanon.publish.target_folders import partial_folder, put_folder_in_place, tidy
from sqlanon.publish.targets import (
    CERTIFICATE,
    MANIFEST,
)
from sqlanon.publish.written_rows import (
    texts_of,
    typed_column,
)
from sqlanon.source.files import read_file
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import table

TABLE = "release"
"""The table of a DuckDB file."""


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
        made = engine.fetch_release(draft.query, dict(zip(draft.columns, draft.types, strict=True)))
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
