"""Publication: write under a temporary name, audit what was written, then rename. On any failure nothing is left.

- A table or a view is made in one transaction: nobody sees it before the audits have passed, and a crash or a
  failed audit rolls everything back.
- A view stands on a released table of its own (``<view>_released``), never on the source.
- A file is written beside its target and renamed at the end. A DuckDB file is always a fresh one (dropped rows
  would stay behind in an old one as raw bytes), and is audited by a fresh connection that sees nothing else.

Rows are shuffled; ENUM types become text. Comments, constraints and defaults do not survive a SELECT.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial as bound
from pathlib import Path
from secrets import token_hex

from sqlglot import exp

from sqlanon import names
from sqlanon.accounting import Ledger
from sqlanon.audit.release import audit_release
from sqlanon.engines.duckdb import DIALECT, DuckDBEngine, file_relation
from sqlanon.errors import EngineError, SourceChangedError
from sqlanon.targets import (
    MANIFEST,
    RELEASED,
    Place,
    as_target_error,
    check_target,
    existing,
    partial_file,
    place,
    put_in_place,
)

__all__ = ["Publication", "check_target", "publish", "release_query"]

NOT_IN_PARQUET = ("HUGEINT", "UHUGEINT", "BIT", "BIGNUM", "VARINT")
"""Types that Parquet would turn into floats, or refuse; they are written as text."""

Audit = Callable[[DuckDBEngine, exp.Expression, Mapping[str, exp.Expression]], None]


@dataclass(frozen=True, slots=True)
class Publication:
    """What was published: ``{"view" | "table" | "file": target}``, and the text of redacted rows (None: dropped)."""

    output: dict[str, str]
    marker: str | None


@dataclass(frozen=True, slots=True)
class _Draft:
    """What every kind of target needs: the rows, how many are due, the audits, and a last look at the source."""

    query: exp.Query
    columns: tuple[str, ...]
    rows: int
    audit: Audit
    lookups: Mapping[str, exp.Expression]
    verify_source: Callable[[], None]
    if_exists: str


def publish(
    engine: DuckDBEngine,
    *,
    query: exp.Query,
    columns: Sequence[str],
    types: Sequence[str],
    quasi_identifiers: Sequence[str],
    k: int,
    nulls: str,
    ledger: Ledger,
    output_kind: str,
    target: str,
    if_exists: str,
    suppressed: str,
    target_catalog: str | None,
    source_path: Path | None,
    lookups: Mapping[str, exp.Expression] | None,
    verify_source: Callable[[], None],
    table_name: str = "release",
) -> Publication:
    """Write, audit and put in place the rows of ``query``.

    Args:
        query: the published rows: generalized, without suppressed records, in any order.
        columns, types: of its rows, in order.
        nulls: ``extended`` or ``basic``.
        output_kind: ``view``, ``table`` or ``file`` (.duckdb, .parquet, .csv).
        suppressed: ``drop``, or ``redact``: then ``ledger.suppressed`` rows hold one marker in every column.
        target_catalog: the database that tables and views go to; None: the connection's own.
        lookups: per quasi-identifier, a relation with the column ``value``: the texts of its level.
        verify_source: raises SourceChangedError; called last, before the release is put in place.
        table_name: the table of a DuckDB file.

    Raises:
        TargetError: the target exists, is the source, or cannot be written.
        SourceChangedError: the number of rows is not the ledger's, or ``verify_source`` says so.
        AuditError: what was written does not satisfy the policy.
        EngineError: the database refused a statement.
    """
    check_target(
        engine,
        output_kind=output_kind,
        target=target,
        if_exists=if_exists,
        target_catalog=target_catalog,
        source_path=source_path,
        source=query,
    )
    ending = Path(target).suffix.lower() if output_kind == "file" else ""
    marker = unused_marker(engine, query, columns) if suppressed == "redact" else None
    redacted = ledger.suppressed if marker is not None else 0
    written = dict(zip(columns, _written_types(types, ending, marker), strict=True))
    audit = bound(
        _audit, columns=columns, quasi_identifiers=quasi_identifiers, k=k, published=ledger.published,
        redacted=redacted, marker=marker, nulls=nulls,
    )  # fmt: skip
    source_types = dict(zip(columns, types, strict=True))
    draft = _Draft(
        query=release_query(query, source_types, written, marker=marker, redacted=redacted),
        columns=tuple(columns),
        rows=ledger.published + redacted,
        audit=audit,
        lookups={name: _typed(lookup, source_types[name]) for name, lookup in (lookups or {}).items()},
        verify_source=verify_source,
        if_exists=if_exists,
    )
    if output_kind == "file":
        _publish_file(engine, draft, Path(target), table_name)
    else:
        _publish_relation(engine, draft, place(engine, target, target_catalog), view=output_kind == "view")
    return Publication({output_kind: target}, marker)


def release_query(
    query: exp.Query, types: Mapping[str, str], written: Mapping[str, str], *, marker: str | None, redacted: int
) -> exp.Query:
    """The statement that is written: the rows in their written types, the redacted rows, shuffled."""
    rows: exp.Query = exp.select(
        *[
            _named(_column(name) if types[name] == new else _cast(_column(name), new), name)
            for name, new in written.items()
        ]
    ).from_(query.subquery("published"))
    if marker is not None and redacted:
        fillers = exp.Table(this=exp.Anonymous(this="range", expressions=[exp.convert(redacted)]))
        texts = exp.select(*[_named(exp.Literal.string(marker), name) for name in written]).from_(fillers)
        rows = exp.union(rows, texts, distinct=False)
    every = exp.select(*[_column(name) for name in written])
    return every.from_(rows.subquery("released")).order_by(exp.Rand())


def unused_marker(engine: DuckDBEngine, query: exp.Query, columns: Sequence[str]) -> str:
    """The text of redacted rows: the usual marker, or that with a number, so that no published value equals it."""
    number, marker = 1, names.SUPPRESSED_MARKER
    while True:
        hits = [exp.EQ(this=_cast(_column(name), "VARCHAR"), expression=exp.convert(marker)) for name in columns]
        probe = exp.select(exp.convert(1)).from_(query.subquery("published")).where(exp.or_(*hits)).limit(1)
        if not hits or not engine.run("marker", probe):
            return marker
        number += 1
        marker = f"{names.SUPPRESSED_MARKER} {number}"


def _written_types(types: Sequence[str], ending: str, marker: str | None) -> list[str]:
    """ENUMs leave as text; everything does for CSV and beside redacted rows."""
    as_text = ending == ".csv" or marker is not None
    refused = NOT_IN_PARQUET if ending == ".parquet" else ()
    return [
        "VARCHAR" if as_text or "ENUM(" in name.upper() or name.upper() in refused else name for name in types
    ]


def _audit(
    engine: DuckDBEngine,
    relation: exp.Expression,
    lookups: Mapping[str, exp.Expression],
    *,
    columns: Sequence[str],
    quasi_identifiers: Sequence[str],
    k: int,
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
        engine, relation, columns=columns, quasi_identifiers=quasi_identifiers, k=k, published=published,
        redacted=redacted, marker=marker, nulls=nulls, lookups=lookups,
    )  # fmt: skip


def _publish_relation(engine: DuckDBEngine, draft: _Draft, where: Place, *, view: bool) -> None:
    base = where.named(where.name + RELEASED) if view else where
    temporary = where.named(f"{names.PREFIX}release_{token_hex(4)}")
    with engine.transaction():
        schema = exp.Table(
            db=exp.to_identifier(where.schema, quoted=True), catalog=exp.to_identifier(where.catalog, quoted=True)
        )
        engine.run("create schema", exp.Create(this=schema, kind="SCHEMA", exists=True))
        engine.run("write", exp.Create(this=temporary.table, kind="TABLE", expression=draft.query))
        draft.audit(engine, temporary.table, draft.lookups)
        draft.verify_source()
        if draft.if_exists == "replace":
            for old, kind in ((where, "VIEW" if view else "TABLE"), (base, "TABLE")):
                if existing(engine, old) == kind.lower():
                    engine.run("drop old release", exp.Drop(this=old.table, kind=kind))
        rename = exp.AlterRename(this=exp.Table(this=exp.to_identifier(base.name, quoted=True)))
        engine.run("rename", exp.Alter(this=temporary.table, kind="TABLE", actions=[rename]))
        if view:
            rows = exp.select(*[_column(name) for name in draft.columns]).from_(base.table)
            engine.run("create view", exp.Create(this=where.table, kind="VIEW", expression=rows))
            draft.audit(engine, where.table, draft.lookups)


def _publish_file(engine: DuckDBEngine, draft: _Draft, path: Path, table_name: str) -> None:
    failure = None
    with partial_file(path) as partial:
        try:
            if path.suffix.lower() == ".duckdb":
                _write_database(engine, draft, partial, table_name)
                _audit_database(engine, draft, partial, table_name)
            else:
                _write_flat(engine, draft, partial)
                draft.audit(engine, file_relation(partial, {}), draft.lookups)
        except EngineError as error:
            failure = as_target_error(error, path)
        if failure:
            raise failure
        draft.verify_source()
        if draft.if_exists == "replace":
            with suppress(FileNotFoundError):
                path.with_name(path.name + MANIFEST).unlink()
        put_in_place(partial, path, if_exists=draft.if_exists)


def _write_database(engine: DuckDBEngine, draft: _Draft, partial: Path, table_name: str) -> None:
    alias = f"{names.PREFIX}release_{token_hex(4)}"
    engine.attach(partial, alias, read_only=False)
    try:
        with engine.transaction():
            table = Place(alias, "main", table_name).table
            engine.run("write", exp.Create(this=table, kind="TABLE", expression=draft.query))
    finally:
        engine.detach(alias)


def _audit_database(engine: DuckDBEngine, draft: _Draft, partial: Path, table_name: str) -> None:
    """Audit the closed file as a stranger: a new connection, read-only, with nothing but the texts of the lookups."""
    settings = ("memory_limit", "threads", "temp_directory")
    wanted = exp.select(*[exp.Anonymous(this="current_setting", expressions=[exp.convert(s)]) for s in settings])
    values = engine.run("settings", wanted)[0]
    stranger = DuckDBEngine(settings={s: value for s, value in zip(settings, values, strict=True) if value})
    try:
        stranger.attach(partial, "release", read_only=True)
        lookups: dict[str, exp.Expression] = {}
        for position, (name, lookup) in enumerate(draft.lookups.items()):
            texts = engine.arrow("lookup texts", exp.select(exp.Star()).from_(lookup.copy()))
            stranger.load("lookup texts", names.lookup(position), texts)
            lookups[name] = exp.Table(this=exp.to_identifier(names.lookup(position), quoted=True))
        draft.audit(stranger, Place("release", "main", table_name).table, lookups)
    finally:
        stranger.close()


def _write_flat(engine: DuckDBEngine, draft: _Draft, partial: Path) -> None:
    """COPY; in CSV a NULL is an empty field and an empty text a quoted one, so that both survive."""
    if partial.suffix.lower() == ".csv":
        options: dict[str, exp.Expression] = {
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
    engine.run(
        "write", exp.Copy(this=rows, kind=False, files=[exp.convert(str(partial))], params=parameters)
    )


def _typed(lookup: exp.Expression, type_name: str) -> exp.Subquery:
    """``lookup`` with its texts as values of ``type_name`` read: 05 in an INTEGER column reads 5."""
    value = _column("value") if type_name == "VARCHAR" else _cast(_cast(_column("value"), type_name), "VARCHAR")
    relation = lookup.copy()
    relation.set("alias", exp.TableAlias(this=exp.to_identifier("texts", quoted=True)))
    return exp.select(_named(value, "value")).from_(relation).subquery("typed")


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def _named(expression: exp.Expression, name: str) -> exp.Alias:
    return exp.Alias(this=expression, alias=exp.to_identifier(name, quoted=True))


def _cast(expression: exp.Expression, type_name: str) -> exp.Cast:
    return exp.cast(expression, exp.DataType.build(type_name, dialect=DIALECT))
