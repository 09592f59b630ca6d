"""Publish a release as a file or a folder: write in the workplace beside the target, audit, put in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from sqlglot import exp

from sqlanon.core.audit.release import records_of
from sqlanon.core.engines.base import Engine, Place
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.duckdb.files import CsvForm, csv_relation, parquet_relation
from sqlanon.core.formats.base import FileFormat
from sqlanon.core.interrupts import no_return
from sqlanon.core.publish.draft import Draft
from sqlanon.core.publish.targets import FOLDER_ENDING, check_folder
from sqlanon.core.publish.written_rows import texts_of, typed_column
from sqlanon.core.source.csv_records import column_names, count_records
from sqlanon.core.source.files import read_file
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import AuditError, EngineError, SourceError, TargetError, instead_of

TABLE = "release"
"""The table of a DuckDB file."""
Publisher = Callable[[Engine, Draft, Path], dict[str, Any] | None]


def publish_folder(engine: Engine, draft: Draft, path: Path) -> dict[str, Any] | None:
    """Publish a folder that the engine's machines write, read back and audit; return its manifest."""
    with draft.target.working() as workplace:
        written = engine.targets.write_folder("write", draft.query, workplace.partial)
        _tidy(workplace.partial)
        draft.audit(engine, written)
        draft.compare(engine, written, lambda: engine.targets.read_folder(path))
        document = workplace.prepare(draft.papers, draft.target.output.mode)
        draft.last_look(workplace.digest)
        check_folder(path, draft.target.if_exists)
        no_return()
        workplace.put_in_place(if_exists=draft.target.if_exists)
        draft.placed()
    return document


def _tidy(folder: Path) -> None:
    """Remove what is no Parquet file: marks and checksums of the writer."""
    for entry in folder.iterdir():
        if entry.suffix != FOLDER_ENDING or entry.name.startswith((".", "_")):
            entry.unlink()


def publish_apart(engine: Engine, draft: Draft, path: Path, publish: Publisher) -> dict[str, Any] | None:
    """Publish a file of an engine that writes none, through an embedded DuckDB (``publish``); return its manifest.

    The released rows, and what audits need, are copied there. What is written is compared with the rows that left the
    engine, whatever types they pass through.
    """
    embedded, types = DuckDBEngine(), draft.claim.types
    embedded.journal.follow(engine.journal)
    try:
        rows = engine.targets.fetch_release(draft.query, dict(types))
        embedded.load("carry release", names.CARRIED, rows, replayed=False)
        query = exp.select(*[typed_column(name, kind) for name, kind in types.items()]).from_(table(names.CARRIED))
        copied = texts_of(records_of(table(names.CARRIED), draft.claim), draft.claim.columns)
        there = _with_references(engine, embedded, replace(draft, copied=None))
        return publish(embedded, replace(there, query=query, copied=copied), path)
    finally:
        embedded.close()


def publish_file(engine: Engine, draft: Draft, path: Path) -> dict[str, Any] | None:
    """Publish a file that DuckDB, or a format of the policy's extensions, writes; return its manifest."""
    assert isinstance(engine, DuckDBEngine)  # others lack "files"
    form = draft.target.file_format()
    with draft.target.working() as workplace:
        partial = workplace.partial
        with instead_of(EngineError, lambda error: as_target_error(error, path)):
            if path.suffix.lower() == ".duckdb":
                with draft.writing(engine):
                    write_database(engine, {TABLE: draft.query}, partial)
                _audit_apart(engine, draft, path, partial, None)
            elif form is not None:
                with draft.writing(engine), engine.batches("write", draft.query) as rows:
                    form.write(partial, rows, {})
                _audit_apart(engine, draft, path, partial, form)
            else:
                with draft.writing(engine):
                    write_flat(engine, draft.query, partial)
                columns = draft.claim.columns
                draft.audit(engine, written := written_flat(partial, columns))
                draft.compare(engine, written, lambda: written_flat(path, columns))
        document = workplace.prepare(draft.papers, draft.target.output.mode)
        draft.last_look(workplace.digest)
        no_return()
        workplace.put_in_place(if_exists=draft.target.if_exists)
        draft.placed()
    return document


def as_target_error(error: EngineError, path: Path) -> TargetError | EngineError:
    """Return a failed write of a file as a fault of the target, and any other error as it is."""
    if error.kind != "IOException":
        return error
    return TargetError(
        f"The target file {path.name!r} could not be written. {error.message}",
        hint="check the permissions and the room on the disk, also of engine.temp_directory.",
    )


def write_database(engine: DuckDBEngine, tables: Mapping[str, exp.Expr], partial: Path) -> None:
    """Write tables, queries by their names, to a new database file in one transaction."""
    alias = f"{names.PREFIX}release_{token_hex(4)}"
    engine.attach(partial, alias, read_only=False, replayed=False)
    try:
        with engine.transaction():
            for name, query in tables.items():
                target = Place(alias, "main", name).table
                engine.run("write", exp.Create(this=target, kind="TABLE", expression=query))
    finally:
        engine.detach(alias)


def auditor_beside(engine: DuckDBEngine) -> DuckDBEngine:
    """Return a new engine with the limits of another, which sees nothing of it."""
    names_of = ("memory_limit", "threads")
    wanted = exp.select(*[exp.Anonymous(this="current_setting", expressions=[exp.convert(s)]) for s in names_of])
    limits = zip(names_of, engine.run("settings", wanted)[0], strict=True)
    auditor = DuckDBEngine(settings={**engine.settings, **dict(limits)})
    auditor.journal.follow(engine.journal)
    return auditor


def _audit_apart(engine: DuckDBEngine, draft: Draft, path: Path, partial: Path, form: FileFormat | None) -> None:
    """Audit the closed file as a recipient would: by a new connection with only the file and what the audits need.

    Args:
        path: where the file will be put, in the place of an earlier release.
        form: the format that reads the file back; None for a DuckDB file.
    """

    def opened(file: Path, name: str) -> exp.Table:
        if form is not None:
            return _read_back(auditor, file, form, name)
        auditor.attach(file, name, read_only=True)
        return Place(name, "main", TABLE).table

    with closing(auditor_beside(engine)) as auditor:
        relation = opened(partial, names.WRITTEN)
        _with_references(engine, auditor, draft).audit(auditor, relation)
        draft.compare(auditor, relation, lambda: opened(path, names.REPLACED))


def _read_back(auditor: DuckDBEngine, path: Path, form: FileFormat, into: str) -> exp.Table:
    """Return the records of a file of a format that the engine does not read itself, as its reader gives them back.

    Raises:
        AuditError: the file cannot be read.
    """
    hint = "nothing was published; write Parquet or CSV, and report this as a fault of the format."
    unread = "What was written cannot be read back."
    with instead_of(SourceError, lambda error: AuditError(f"{unread} {error.message}", hint=hint)):
        auditor.load_batches("read written file", into, read_file(form, path, {}), replayed=False)
    return exp.to_table(into, quoted=True)


def _with_references(engine: Engine, auditor: DuckDBEngine, draft: Draft) -> Draft:
    """Return the draft with what it is audited against as tables of ``auditor``.

    These are the texts of levels, counts of values, generalized texts, and the rows that it must be a copy of.
    """

    def transferred(name: str, relation: exp.Expr, into: str) -> exp.Expr:
        copy = relation.copy()
        if isinstance(copy, exp.Query) and not isinstance(copy, exp.Subquery):
            copy = copy.subquery("reference")
        auditor.load(name, into, engine.arrow(name, exp.select(exp.Star()).from_(copy)))
        return table(into)

    lookups = {
        name: transferred("lookup texts", lookup, names.lookup(position))
        for position, (name, lookup) in enumerate(draft.claim.lookups.items())
    }
    models = []
    for number, model in enumerate(draft.claim.models):
        references = {
            name: transferred("audit reference", relation, f"{names.PREFIX}reference_{number}_{name}")
            for name, relation in model.references.items()
        }
        models.append(replace(model, references=references))
    copied = None if draft.copied is None else transferred("copied rows", draft.copied, names.COPIED)
    return replace(draft, claim=replace(draft.claim, lookups=lookups, models=tuple(models)), copied=copied)


def written_flat(partial: Path, columns: list[str]) -> exp.Table:
    """Return the records of what ``write_flat`` wrote."""
    if partial.suffix.lower() == ".csv":
        form = CsvForm()
        found = count_records(partial, form).columns
        same = found == column_names(columns)  # a header is read without the blanks at the ends of its names
        return csv_relation([partial], columns if same else found, form)
    return parquet_relation([partial])


def write_flat(engine: DuckDBEngine, query: exp.Query, partial: Path) -> None:
    """Write by COPY; in CSV a NULL is an empty field and an empty text a quoted one, so that both survive."""
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
    rows = query.subquery()
    engine.run("write", exp.Copy(this=rows, kind=False, files=[exp.convert(str(partial))], params=parameters))
