"""The wiring: policy and source in, plan and release out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlanon.core.doors import behind
from sqlanon.core.engines.journal import Step, Watcher
from sqlanon.core.evaluate.session import Session
from sqlanon.core.plan.full_domain import Plan, search_plan
from sqlanon.core.plan.like import check_earlier, like_plan
from sqlanon.core.plan.publishing import PublishablePlan
from sqlanon.core.plan.release import Release
from sqlanon.core.policy import Policy, PolicyLike, as_policy
from sqlanon.core.policy.output import IN_DATABASE
from sqlanon.core.policy.suppression import encoded_policy
from sqlanon.core.progress import watching
from sqlanon.core.publish.outputs import OtherOutput, other_output
from sqlanon.core.publish.targets import Target, check_target
from sqlanon.core.source.columns import check_columns
from sqlanon.core.source.encoding import encode_source
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.source.opening import Source
from sqlanon.core.source.recorded import OpenLedger
from sqlanon.core.source.shifting import check_shifted
from sqlanon.errors import InputError, UnsupportedError

if TYPE_CHECKING:  # what plans with several rules are: their wing is loaded where a policy asks for one
    from sqlanon import RecodedPlan


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
        return plan_of(session)


def recode(
    source: object,
    policy: PolicyLike,
    *,
    watch: Watcher | bool | None = None,
    writable: bool | None = None,
    bounded: bool = True,
) -> RecodedPlan:
    """Encode a source and find the rules of the policy's transformation; publish nothing.

    Args:
        source, watch, writable: as for ``plan``.
        bounded: say what no other rules of local recoding lose less than, which takes as long as to choose them.

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
        return _recoded(replace(session, bounded=bounded))


def anonymize(
    source: object,
    policy: PolicyLike,
    *,
    watch: Watcher | bool | None = None,
    prepare: Callable[[PublishablePlan], None] | None = None,
    if_changed: bool = False,
) -> Release:
    """Plan and publish: the main job, from a table to an audited release with a proof.

    Args:
        prepare: called with the plan before it is published, while the source is read as it was planned on.
        if_changed: do not replace a release that is equal to the new one.

    Raises:
        NothingNewError: they are equal (``if_changed``); nothing was published.
        SqlanonError: see ``plan``, ``recode`` and ``Plan.publish``; on any error nothing is left behind.
    """
    policy = as_policy(policy)
    with watching(watch) as seen, encoded_session(source, policy, seen, publishing=True) as (session, target):
        found = published_plan(session)
        if prepare is not None:
            prepare(found)
        return found.publish_to(target if target is None else replace(target, if_changed=if_changed))


@contextmanager
def encoded_session(
    source: object,
    policy: Policy,
    watch: Watcher | None,
    *,
    writable: bool | None = None,
    publishing: bool = False,
    draw: Callable[[Source], Source] | None = None,
) -> Iterator[tuple[Session, Target | None]]:
    """Yield a session with an encoded source, and where its release goes; close it if what is done with it fails.

    Args:
        publishing: the release will be published: before any work is done its target is checked, and reserved.
        draw: takes the place of the open source by some of its records.
    """
    start = time.perf_counter()
    other = _refuse_early(policy, publishing=publishing)
    if writable is None:
        writable = policy.output is not None and policy.output.kind in IN_DATABASE
    if watch is not None:
        watch(Step("reading"))
    opened = open_policy_source(source, policy, writable=writable)
    journals = [opened.engine.journal]
    opened.engine.journal.watched_by(watch)
    closing = ExitStack()
    closing.callback(opened.engine.close)
    try:
        ledger: OpenLedger | None = None
        if policy.ledger is not None:
            ledger = behind("ledger")(policy, opened, source)
            closing.callback(ledger.close)
        target = _checked_target(policy, opened, other) if publishing else None
        opened = opened if draw is None else draw(opened)
        with nullcontext() if target is None else target.reserved() as target:
            if policy.periods is not None:
                policy, opened = behind("periods")(policy, opened, target)
            session = _begin(policy, opened, ledger, start)
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


def _refuse_early(policy: Policy, *, publishing: bool) -> OtherOutput | None:
    """Refuse what no source could do, before any is opened; return what publishes an output that is not rows."""
    if policy.entity is not None and policy.transformation is not None:
        raise UnsupportedError(
            "Patterns and local recoding count records: which rule publishes an entity with several is not defined.",
            hint="leave out transformation, because one node for all records counts entities; or leave out entity.",
        )
    if policy.like is not None:
        check_earlier(policy)
    if not publishing:
        return None
    other = other_output(policy.output)
    if other is not None:
        other.refuse(policy)
    if policy.key is not None:
        policy.key.secret()  # which may be missing
    return other


def _checked_target(policy: Policy, opened: Source, other: OtherOutput | None) -> Target | None:
    """Return where the release goes, after the checks that need no work; None without an output."""
    if policy.output is None:
        return None
    target = Target.of(opened, policy, policy.output)
    if other is not None:
        other.check(opened, policy, target.output)
    check_target(opened.engine, target)
    return target


def _begin(policy: Policy, opened: Source, ledger: OpenLedger | None, start: float) -> Session:
    """Check the columns of an open source, encode it, beside earlier releases where a ledger has some, and begin."""
    check_columns(policy, opened)
    if ledger is not None:
        ledger.load_persons(policy, opened)
    check_shifted(opened.engine, opened.relation, policy, opened.types)
    encoded = encoded_policy(policy)
    opened.engine.journal.report("encoding")
    together = None if ledger is None else ledger.judge_together(policy, encoded, opened)
    if together is not None:
        encoded = together.policy
    encoding = encode_source(
        opened.engine,
        opened.relation if together is None else together.relation,
        encoded,
        opened.readable if together is None else together.types,
        earlier=() if together is None else together.members,
    )
    seconds = {"encode": time.perf_counter() - start}
    return Session.begin(policy, encoded, opened, encoding, seconds, ledger)


def published_plan(session: Session) -> PublishablePlan:
    """Return the plan that is published: one that continues earlier releases of a ledger, or a new one."""
    if session.releases is not None:
        continued: PublishablePlan | None = session.releases.next_plan(session)
        if continued is not None:
            return continued
    return plan_of(session) if session.policy.transformation is None else _recoded(session)


def plan_of(session: Session) -> Plan:
    """Return the plan of one node: searched, or that of an earlier release, or of earlier periods."""
    if session.source.periods is not None:
        found: Plan = session.source.periods.plan(session)
        return found
    return search_plan(session) if session.policy.like is None else like_plan(session)


def _recoded(session: Session) -> RecodedPlan:
    """Return the plan of several rules: its planner is behind the door of the policy's transformation."""
    found: RecodedPlan = behind(f"plan {type(session.policy.transformation).__name__}")(session)
    return found
