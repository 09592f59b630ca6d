"""Write several tables, audit them as they were written, and put them in place as one: all of them or none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial as bound
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.core.audit.linked import audit_links
from sqlanon.core.audit.release import audit_release
from sqlanon.core.disk.writing import check_directory
from sqlanon.core.engines.base import Place
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.duckdb.files import parquet_relation
from sqlanon.core.engines.relation_names import relation_parts
from sqlanon.core.interrupts import no_return
from sqlanon.core.policy.paths import same_file
from sqlanon.core.publish.files import as_target_error, auditor_beside, write_database, write_flat, written_flat
from sqlanon.core.publish.papers import Papers
from sqlanon.core.publish.replaced import Replacing
from sqlanon.core.publish.targets import Target, check_target, refuse_folders_of_papers
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import AuditError, EngineError, SqlanonError, TargetError, instead_of
from sqlanon.tables.drafting import TableDraft
from sqlanon.tables.linking import LinkedSource
from sqlanon.tables.policy import TablesPolicy

ALIAS = "release"
"""The name under which an audit opens a file that was written."""


def check_tables_target(linked: LinkedSource, policy: TablesPolicy) -> Target | None:
    """Return the target, after it was checked that it can be published to; None if there is none.

    Raises:
        TargetError: it exists, it is the source, or it cannot be written.
    """
    if policy.output is None:
        return None
    source, output = linked.source, replace(policy.output, kind="file")
    target = Target(output, policy.if_exists, source.target_catalog, source.path, read_files=source.files)
    if policy.folder_format is None:
        check_target(linked.engine, target)
    else:
        _check_folder(target, policy)
    return target


def _check_folder(target: Target, policy: TablesPolicy) -> None:
    """Refuse a folder that must not be created or replaced.

    Raises:
        TargetError: it is there and may not be replaced, holds something else than such a release, or a source.
    """
    path = Path(target.output.target)
    used = [*target.read_files, *([target.source_path] if target.source_path is not None else [])]
    if any(same_file(path, file) or path.resolve() in file.resolve().parents for file in used):
        raise TargetError(f"The target folder {path.name!r} holds the source.", hint="choose another place.")
    check_directory(path)
    refuse_folders_of_papers(path)
    if not os.path.lexists(path):
        return
    if policy.if_exists != "replace":
        raise TargetError(
            f"The target folder {path.name!r} exists already.",
            hint="choose another name, or set if_exists: replace.",
        )
    wanted = {f".{form}" for form in ("parquet", "csv")}
    if path.is_symlink() or not path.is_dir() or any(e.suffix not in wanted or e.is_dir() for e in path.iterdir()):
        raise TargetError(
            f"The target {path.name!r} is no folder of released tables alone, and is not replaced.",
            hint="choose another name, or remove it yourself.",
        )


def publish_tables(
    linked: LinkedSource,
    target: Target,
    drafts: Sequence[TableDraft],
    policy: TablesPolicy,
    papers: Papers,
    replacing: Replacing,
) -> dict[str, Any] | None:
    """Write the tables, audit them, and put them in place with their papers; return the manifest.

    Args:
        replacing: receives what the tables reveal together with those that they replace.

    Raises:
        AuditError: what was written does not satisfy the policy.
        SourceChangedError: the source is not what was planned on.
        TargetError: the target cannot be written.
    """
    engine, path = linked.engine, Path(target.output.target)
    with target.working() as workplace:
        partial = workplace.partial
        with instead_of(EngineError, lambda error: as_target_error(error, path)):
            if policy.folder_format is None:
                write_database(engine, {draft.place.name: draft.query for draft in drafts}, partial)
            else:
                partial.mkdir(mode=0o700)
                for draft in drafts:
                    write_flat(engine, draft.query, partial / f"{draft.place.name}.{policy.folder_format}")
            with engine.journal.phase("auditing"):
                audit_tables(engine, drafts, policy, partial, path if path.exists() else None, replacing)
        document = workplace.prepare(papers, target.output.mode)
        linked.source.verify()
        no_return()
        workplace.put_in_place(if_exists=target.if_exists)
    return document


def audit_tables(
    engine: DuckDBEngine,
    drafts: Sequence[TableDraft],
    policy: TablesPolicy,
    partial: Path,
    old: Path | None,
    replacing: Replacing,
) -> None:
    """Audit what was written as a recipient would: by a new connection with the files and what they are compared with.

    Args:
        old: the tables that they will replace, with which they are compared last.

    Raises:
        AuditError: there is something else than the tables, a table does not hold what it must, rows lost their
            parents, or fewer than k persons have the same rows.
    """
    with closing(auditor_beside(engine)) as auditor:
        if policy.folder_format is None:
            auditor.attach(partial, ALIAS, read_only=True)
            auditor.source_catalog = ALIAS
            dialect = auditor.capabilities.dialect  # relations are listed as a policy would write them
            written = [relation_parts(name, dialect)[-1] for name in auditor.catalog.relations()]
        else:
            written = [file.stem for file in partial.iterdir()]
        if sorted(written) != sorted(policy.names):
            raise AuditError(
                f"The audit unexpected_tables failed: {len(written)} tables were written, and {len(policy.names)} are "
                "due. Nothing was published.",
                hint="report it as a defect of sqlanon.",
            )
        audited = []
        for position, draft in enumerate(drafts):
            relation = _written(draft, policy, partial)
            lookups = {}
            for place, (name, texts) in enumerate(draft.texts.items()):
                into = f"{names.lookup(place)}_{position}"
                auditor.load("lookup texts", into, texts, replayed=False)
                lookups[name] = table(into)
            audit_release(auditor, relation, replace(draft.claim, lookups=lookups))
            audited.append(replace(draft.place, relation=relation))
        audit_links(auditor, audited, k=policy.k)
        if old is not None:
            _compare(auditor, drafts, policy, partial, old, replacing)


def _compare(
    auditor: DuckDBEngine,
    drafts: Sequence[TableDraft],
    policy: TablesPolicy,
    partial: Path,
    old: Path,
    replacing: Replacing,
) -> None:
    """Compare each table with the one that it will replace.

    Raises:
        RepeatError: it repeats that one, and this is refused.
    """
    if policy.folder_format is None:
        try:
            auditor.attach(old, names.REPLACED, read_only=True)
        except SqlanonError:
            return
    for draft in drafts:
        own = replace(replacing, warnings=[], varies=(draft.place.key, draft.place.link))
        before = own.rows(auditor, bound(_written, draft, policy, old, names.REPLACED), draft.claim)
        own.compare(auditor, before, _written(draft, policy, partial), draft.claim)
        replacing.warnings.extend(f"Table {draft.place.name!r}: {warning}" for warning in own.warnings)


def _written(draft: TableDraft, policy: TablesPolicy, partial: Path, alias: str = ALIAS) -> exp.Expr:
    """Return the rows of a table as they were written."""
    if policy.folder_format is None:
        return Place(alias, "main", draft.place.name).table
    file = partial / f"{draft.place.name}.{policy.folder_format}"
    return written_flat(file, draft.claim.columns) if file.suffix == ".csv" else parquet_relation([file])
