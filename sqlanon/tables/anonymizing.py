"""The verb of several tables: from their policy to an audited release of all of them, or of none."""

from __future__ import annotations

import time
from contextlib import nullcontext

from sqlanon.core.engines.journal import Step, Watcher
from sqlanon.core.evaluate.driver import run_search
from sqlanon.core.interrupts import finishing
from sqlanon.core.plan.beside import root_warnings
from sqlanon.core.plan.planned import versions
from sqlanon.core.publish.manifest import TO_READERS
from sqlanon.core.publish.papers import Papers
from sqlanon.core.publish.replaced import Replacing
from sqlanon.core.publish.targets import Target
from sqlanon.tables.drafting import ChosenNode, drafted
from sqlanon.tables.encoding import EncodedTables, encode_tables
from sqlanon.tables.linking import LinkedSource, open_tables
from sqlanon.tables.policy import TablesPolicy, TablesPolicyLike
from sqlanon.tables.publishing import check_tables_target, publish_tables
from sqlanon.tables.release import TableLedger, TablesRelease, count_persons, tables_manifest
from sqlanon.tables.search import ForestEvaluator, build_tables_problem, own_losses


def anonymize_tables(policy: TablesPolicyLike, *, source: object = None, watch: Watcher | None = None) -> TablesRelease:
    """Publish several tables whose rows stay linked, so that at least k persons have the same tree of rows.

    Args:
        policy: a ``TablesPolicy``, the keys of its file, or its path; without an output nothing is published.
        source: a path or an open DuckDB connection in the place of the policy's ``source``.
        watch: called with what is being done.

    Raises:
        InputError and its children: the policy, a hierarchy or a table is unusable, or keys do not link the tables.
        NoSolutionError: no node meets the policy.
        SearchStoppedError: a limit was reached before any solution was found.
        AuditError: what was written does not satisfy the policy. On any error nothing is left behind.
    """
    asked, start = TablesPolicy.of(policy), time.perf_counter()
    if watch is not None:
        watch(Step("reading"))
    with open_tables(source, asked) as linked:
        journal = linked.engine.journal
        journal.watched_by(watch)
        try:
            target = check_tables_target(linked, asked)
            with nullcontext() if target is None else target.reserved() as target:
                journal.report("encoding")
                encoded = encode_tables(linked, asked)
                return _release(asked, linked, encoded, target, start)
        finally:
            journal.watched_by(None)


def _release(
    policy: TablesPolicy, linked: LinkedSource, encoded: EncodedTables, target: Target | None, start: float
) -> TablesRelease:
    """Search, and publish the best node if there is a target."""
    engine = linked.engine
    seconds = {"encode": time.perf_counter() - start}
    searching = time.perf_counter()
    excluded = linked.excluded[0]
    problem = build_tables_problem(policy, encoded.catalogs, persons=encoded.forest.persons, excluded=excluded)
    merged, stands_for = encoded.forest.merged()
    evaluator = ForestEvaluator(problem, merged, policy.k, engine.journal)
    outcome = run_search(problem, evaluator, policy.first.search, extensions=policy.first.extensions)
    verdict = outcome.verdict
    suppressed = evaluator.suppressed(verdict.node)[stands_for]
    published = encoded.forest.rows_of(~suppressed)
    chosen = ChosenNode(verdict.node, encoded.persons[~suppressed], published)
    seconds["search"] = time.perf_counter() - searching
    persons = count_persons(problem, verdict)
    document = tables_manifest(
        policy,
        problem.catalog,
        verdict.node,
        persons=persons,
        published=dict(zip(policy.names, published, strict=True)),
        certificate=outcome.certificate,
        versions=versions(engine),
    )
    publishing, refuses = time.perf_counter(), policy.first.repeats == "refuse"
    replacing = Replacing(policy.k, persons=True, refuses=refuses)
    if policy.if_exists == "replace":
        document["repeats"] = TO_READERS
    if target is not None:
        engine.journal.report("publishing")
        ending = f".{policy.folder_format or 'duckdb'}"
        with (
            finishing("The interrupt came while the release was being put in place: it was published."),
            drafted(engine, encoded, policy, chosen, ending) as drafts,
        ):
            document = publish_tables(linked, target, drafts, policy, Papers(document), replacing) or document
        seconds["publish"] = time.perf_counter() - publishing
    uncovered = [
        f"Table {each.name!r}: {text}"
        for each, encoding in zip(policy.tables, encoded.encodings, strict=True)
        for text in root_warnings(encoding.catalog, outcome.certificate)
    ]
    return TablesRelease(
        policy=policy,
        levels=problem.catalog.levels(verdict.node),
        heights={a.name: a.height for a in problem.catalog.attributes},
        losses=own_losses(problem, evaluator, verdict.node),
        persons=persons,
        classes=verdict.classes,
        largest_class=verdict.largest,
        tables=_ledgers(policy, linked, published, target),
        certificate=outcome.certificate,
        output={} if policy.output is None else {policy.output.kind: policy.output.target},
        manifest=document,
        warnings=(*encoded.warnings, *uncovered, *replacing.warnings),
        seconds=seconds,
        statements=engine.journal.statements,
    )


def _ledgers(
    policy: TablesPolicy, linked: LinkedSource, published: tuple[int, ...], target: Target | None
) -> dict[str, TableLedger]:
    """Return the account of the rows of each table."""
    ledgers = {}
    for position, item in enumerate(policy.tables):
        records, excluded = linked.records[position], linked.excluded[position]
        place = None if target is None else item.name
        if place is not None and policy.folder_format is not None:
            place = f"{item.name}.{policy.folder_format}"
        ledgers[item.name] = TableLedger(
            records, published[position], records - excluded - published[position], excluded, place,
            linked.beyond[position],
        )  # fmt: skip
    return ledgers
