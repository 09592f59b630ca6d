"""The verb of counts: from a source and a document to protected, audited and published tables."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.audit.release import ReleaseClaim
from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.journal import Step, Watcher
from sqlanon.core.plan.planned import versions
from sqlanon.core.policy.output import IN_DATABASE
from sqlanon.core.progress import watching
from sqlanon.core.publish.draft import Draft
from sqlanon.core.publish.papers import Papers
from sqlanon.core.publish.publication import put, types_there
from sqlanon.core.publish.targets import Target, check_target
from sqlanon.core.publish.written_rows import as_texts, typed_rows
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, table
from sqlanon.counts.counting import Counted, count_cells
from sqlanon.counts.document import CountsLike, CountsPolicy, as_counts_policy
from sqlanon.counts.protecting import protect
from sqlanon.counts.release import CountsRelease
from sqlanon.counts.released import counts_manifest, released_rows, suppressed_by_dimension, types_of
from sqlanon.counts.written import audit_written

ROW = names.PREFIX + "row"
"""Column of the working table of released rows: their order."""


def counts(
    source: object = None, policy: CountsLike | None = None, *, watch: Watcher | bool | None = None
) -> CountsRelease:
    """Count, protect, audit and publish the tables of a document.

    Args:
        source: a path, a URL, an open connection or a frame, in the place of the document's ``source``.
        policy: a ``CountsPolicy``, the keys of its file, or its path; without an output nothing is written.
        watch: called with what is being done; True shows it.

    Raises:
        InputError and its children: the document, a hierarchy, a value or the source is unusable.
        NoSolutionError: what the document allows to suppress protects nothing.
        AuditError: what was written is not safe. On any error nothing is left behind.
    """
    asked, start = as_counts_policy(policy), time.perf_counter()
    output = asked.policy.output
    with watching(watch) as seen:
        if seen is not None:
            seen(Step("reading"))
        writable = output is not None and output.kind in IN_DATABASE
        with open_policy_source(source, asked.policy, writable=writable) as opened:
            journal = opened.engine.journal
            journal.watched_by(seen)
            try:
                target = None if output is None else Target.of(opened, asked.policy, output)
                if target is not None:
                    check_target(opened.engine, target)
                with nullcontext() if target is None else target.reserved() as target:
                    return release_counts(asked, opened, target, start)
            finally:
                journal.watched_by(None)


def release_counts(asked: CountsPolicy, opened: Source, target: Target | None, start: float) -> CountsRelease:
    """Count and protect what an open source holds, and publish if there is a target; raises as ``counts``."""
    engine = opened.engine
    engine.journal.report("counting")
    counted = count_cells(opened, asked)
    query = engine.portable(counted.query.copy(), pretty=True)
    seconds = {"count": time.perf_counter() - start}
    engine.journal.report("protecting")
    protection = protect(counted, asked)
    rows = released_rows(counted, asked, protection.suppressed)
    seconds["protect"] = time.perf_counter() - start - seconds["count"]
    document = counts_manifest(
        counted,
        asked,
        protection.suppressed,
        system=protection.system,
        versions=versions(engine),
    )
    if target is None:
        audit_written(rows, counted, asked)
    else:
        engine.journal.report("publishing")
        document = _published(opened, target, rows, counted, asked, document) or document
        seconds["publish"] = time.perf_counter() - start - sum(seconds.values())
    return CountsRelease(
        policy=asked,
        rows=rows,
        protection=protection,
        cells=int(counted.grid.is_published.sum()),
        by_dimension=suppressed_by_dimension(counted, asked, protection.suppressed),
        records=counted.records,
        left_out=counted.left_out,
        query=query,
        manifest=document,
        output={} if target is None else {target.output.kind: target.output.target},
        statements=engine.journal.statements,
        seconds=seconds,
        warnings=counted.warnings,
    )


def _published(
    opened: Source, target: Target, rows: pa.Table, counted: Counted, asked: CountsPolicy, document: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Write the rows, audit them as they were written, and put them in place; return the manifest of a file."""
    engine, types = opened.engine, types_of(rows)
    engine.load("load counts", names.COUNTED, rows.append_column(ROW, pa.array(range(rows.num_rows), pa.int64())))
    written = types_there(engine, target.output, types)
    every = exp.select(*map(column, types)).from_(table(names.COUNTED))
    ordered = exp.select(*map(column, written)).order_by(column(ROW))
    query = ordered.from_(typed_rows(exp.select("*").from_(table(names.COUNTED)), types, written, ROW).subquery("rows"))
    claim = ReleaseClaim(types=written, quasi_identifiers=(), models=(), published=rows.num_rows)

    def audit(auditor: Engine, relation: exp.Expr) -> None:
        found = auditor.arrow("audit counts", exp.select(*map(column, written)).from_(relation.copy()))
        audit_written(found, counted, asked)

    copied = as_texts(every, types, written)
    return put(engine, Draft(query, claim, copied, opened.verify, target, Papers(document), audit))
