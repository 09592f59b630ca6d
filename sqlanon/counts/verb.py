"""The verb of counts: from a source and a document to protected, audited and published tables."""

from __future__ import annotations

import time
from contextlib import nullcontext
from functools import partial
from typing import Any

from sqlanon.core.engines.journal import Step, Watcher
from sqlanon.core.plan.planned import versions
from sqlanon.core.policy.output import IN_DATABASE
from sqlanon.core.progress import watching
from sqlanon.core.publish.targets import Target, check_target
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.source.opening import Source
from sqlanon.counts.counting import count_cells
from sqlanon.counts.document import CountsLike, CountsPolicy
from sqlanon.counts.earlier import audit_joined, described, join_earlier, ledger_of, protect_joined
from sqlanon.counts.protecting import protect
from sqlanon.counts.release import CountsRelease
from sqlanon.counts.released import (
    counts_manifest,
    long_rows,
    publish_rows,
    reasons_of_rows,
    released_rows,
)
from sqlanon.counts.written import audit_written


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
    asked, start = CountsPolicy.of(policy), time.perf_counter()
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
                place = nullcontext() if target is None else target.reserved()
                with place as target, ledger_of(asked, opened, source) as ledger:
                    return release_counts(asked, opened, target, start, ledger)
            finally:
                journal.watched_by(None)


def release_counts(
    asked: CountsPolicy, opened: Source, target: Target | None, start: float, ledger: Any = None
) -> CountsRelease:
    """Count and protect what an open source holds, and publish if there is a target; raises as ``counts``.

    Args:
        ledger: knows what was released of the source before, and what is released now.
    """
    engine = opened.engine
    engine.journal.report("counting")
    counted = count_cells(opened, asked)
    query = engine.portable(counted.query.copy(), pretty=True)
    seconds = {"count": time.perf_counter() - start}
    engine.journal.report("protecting")
    report = partial(engine.journal.report, "protecting")
    joined = None if ledger is None else join_earlier(opened, asked, counted, *ledger.earlier())
    protection = protect(counted, asked, report) if joined is None else protect_joined(joined, counted, asked, report)
    shown = protection.shown(counted)
    rows = released_rows(shown, asked, protection.suppressed)
    if joined is not None:
        audit_joined(rows, joined, counted, asked)
    seconds["protect"] = time.perf_counter() - start - seconds["count"]
    audit = partial(
        audit_written, counted=counted, policy=asked, witnesses=protection.witnesses, steps=protection.steps
    )
    document = counts_manifest(counted, asked, protection, versions(engine))
    if target is None:
        audit(rows)
    else:
        engine.journal.report("publishing")
        entry = None if ledger is None else described(opened, asked, counted, protection.suppressed)
        with nullcontext() if entry is None else ledger.recording(entry):
            written = publish_rows(opened, target, rows, audit, document)
        document = written or document
        seconds["publish"] = time.perf_counter() - start - sum(seconds.values())
    return CountsRelease(
        policy=asked,
        rows=rows,
        long=rows if asked.rules.form == "long" else long_rows(shown, asked, protection.suppressed),
        reasons=reasons_of_rows(counted, asked, protection),
        protection=protection,
        cells=int(counted.grid.is_published.sum()),
        by_dimension=document["suppressed_by_dimension"],
        records=counted.records,
        left_out=counted.left_out,
        query=query,
        manifest=document,
        counted=counted,
        output={} if target is None else {target.output.kind: target.output.target},
        statements=engine.journal.statements,
        seconds=seconds,
        warnings=(*counted.warnings, *(() if ledger is None else ledger.warnings)),
    )
