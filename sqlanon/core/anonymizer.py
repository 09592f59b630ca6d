"""The wiring: policy and source in, plan and release out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext

from sqlanon.core.engines.journal import Step, Watcher
from sqlanon.core.evaluate.session import Session
from sqlanon.core.plan.full_domain import Plan, search_plan
from sqlanon.core.plan.publishing import PublishablePlan
from sqlanon.core.plan.release import Release
from sqlanon.core.policy import Patterns, Policy, PolicyLike, as_policy
from sqlanon.core.policy.suppression import encoded_policy
from sqlanon.core.progress import watching
from sqlanon.core.publish.targets import Target, check_target
from sqlanon.core.source.columns import check_columns
from sqlanon.core.source.encoding import encode_source
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.source.shifting import check_shifted
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.ledger.opening import load_persons, policy_ledger
from sqlanon.ledger.together import judge_together
from sqlanon.live.view import KIND, check_live, refuse_policy
from sqlanon.recoding.local.recoded_plan import RecodedPlan


def plan(
    source: object, policy: PolicyLike, *, watch: Watcher | bool | None = None, writable: bool | None = None
) -> Plan:
    """Encode a source and search its lattice; publish nothing.

    Args:
        source: a path to a DuckDB, Parquet or CSV file, an open DuckDB connection, or a frame: whatever hands its
            records over as a stream of Arrow (pandas, polars, pyarrow, narwhals, Ibis, a relation of DuckDB).
            None takes the policy's.
        watch: called with what is being done: when a phase or a statement begins, and after every batch of work. True
            shows it, as one line in a notebook or on a terminal.
        writable: open a database file for writing; by default only if the policy's output goes into it.

    Raises:
        InputError and its children: the policy, a hierarchy or the source is unusable.
        NoSolutionError: no node meets the policy.
        SearchStoppedError: a limit was reached before any solution was found.
    """
    policy = as_policy(policy)
    if policy.transformation is not None:
        raise InputError(
            "The policy asks for a transformation, which has no single node to plan.",
            hint="use sqlanon.recode, or leave out the transformation.",
        )
    with watching(watch) as seen, encoded_session(source, policy, seen, writable=writable) as (session, _):
        return search_plan(session)


def recode(
    source: object, policy: PolicyLike, *, watch: Watcher | bool | None = None, writable: bool | None = None
) -> RecodedPlan:
    """Encode a source and find the rules of the policy's transformation; publish nothing.

    Args:
        source, watch, writable: as for ``plan``.

    Raises:
        InputError and its children: the policy, a hierarchy or the source is unusable, or there is no transformation.
        NoSolutionError: more records would be suppressed than the policy allows.
        SearchStoppedError: a limit was reached before any solution was found.
    """
    policy = as_policy(policy)
    if policy.transformation is None:
        raise InputError(
            "The policy asks for no transformation.", hint="use sqlanon.plan, or add transformation: {type: patterns}."
        )
    with watching(watch) as seen, encoded_session(source, policy, seen, writable=writable) as (session, _):
        return _recoded(session)


def anonymize(
    source: object,
    policy: PolicyLike,
    *,
    watch: Watcher | bool | None = None,
    prepare: Callable[[PublishablePlan], None] | None = None,
) -> Release:
    """Plan and publish: the main job, from a table to an audited release with a proof.

    Args:
        prepare: called with the plan before it is published, while the source is read as it was planned on.

    Raises:
        SqlanonError: see ``plan``, ``recode`` and ``Plan.publish``; on any error nothing is left behind.
    """
    policy = as_policy(policy)
    with watching(watch) as seen, encoded_session(source, policy, seen, publishing=True) as (session, target):
        found: PublishablePlan
        found = search_plan(session) if policy.transformation is None else _recoded(session)
        if prepare is not None:
            prepare(found)
        return found.publish_to(target)


@contextmanager
def encoded_session(
    source: object,
    policy: Policy,
    watch: Watcher | None,
    *,
    writable: bool | None = None,
    publishing: bool = False,
) -> Iterator[tuple[Session, Target | None]]:
    """Yield a session with an encoded source, and where its release goes; close it if what is done with it fails.

    Args:
        publishing: the release will be published: before any work is done its target is checked, and reserved.
    """
    start = time.perf_counter()
    output = policy.output
    if policy.entity is not None and policy.transformation is not None:
        raise UnsupportedError(
            "Patterns and local recoding count records: which rule publishes an entity with several is not defined.",
            hint="leave out transformation, because one node for all records counts entities; or leave out entity.",
        )
    if writable is None:
        writable = output is not None and output.kind != "file"
    if publishing and output is not None and output.kind == KIND:
        refuse_policy(policy)
    if publishing and policy.key is not None:
        policy.key.secret()  # which may be missing
    if watch is not None:
        watch(Step("reading"))
    opened = open_policy_source(source, policy, writable=writable)
    journals = [opened.engine.journal]
    opened.engine.journal.watched_by(watch)
    closing = ExitStack()
    closing.callback(opened.engine.close)
    try:
        ledger = policy_ledger(policy, opened, source)
        if ledger is not None:
            closing.callback(ledger.close)
        target = Target.of(opened, policy, output) if publishing and output is not None else None
        if target is not None:
            if target.output.kind == KIND:
                check_live(opened, policy, target.output)
            check_target(opened.engine, target)
        with nullcontext() if target is None else target.reserved() as target:
            check_columns(policy, opened)
            if ledger is not None:
                load_persons(ledger, policy, opened)
            check_shifted(opened.engine, opened.relation, policy, opened.types)
            encoded = encoded_policy(policy)
            opened.engine.journal.report("encoding")
            together = None if ledger is None else judge_together(ledger, policy, encoded, opened)
            encoding = encode_source(
                opened.engine,
                opened.relation if together is None else together.source.relation,
                encoded := encoded if together is None else together.policy,
                opened.readable if together is None else together.types,
                earlier=() if together is None else together.source.members,
            )
            seconds = {"encode": time.perf_counter() - start}
            session = Session.begin(policy, encoded, opened, encoding, seconds, ledger)
            closing.pop_all()
            closing.callback(session.close)
            journals.append(session.judging.journal)
            yield session, target
    except BaseException:
        closing.close()
        raise
    finally:
        for journal in journals:
            journal.watched_by(None)


def _recoded(session: Session) -> RecodedPlan:
    if isinstance(session.policy.transformation, Patterns):
        from sqlanon.recoding.local.pattern_plan import patterns_plan

        return patterns_plan(session)
    from sqlanon.recoding.local.node_plan import nodes_plan

    return nodes_plan(session)
