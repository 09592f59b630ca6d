"""The wiring: policy and source in, plan and release out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlanon.errors import InputError, UnsupportedError
from sqlanon.evaluate.driver import Watcher
from sqlanon.evaluate.session import Session
from sqlanon.plan.full_domain import Plan, search_plan
from sqlanon.plan.planned import Planned
from sqlanon.plan.recoding.node_plan import nodes_plan
from sqlanon.plan.recoding.pattern_plan import patterns_plan, with_suppression
from sqlanon.plan.recoding.recoded_plan import RecodedPlan
from sqlanon.plan.release import Release
from sqlanon.policy import Patterns, Policy, Transformation, require_policy
from sqlanon.publish.live.view import KIND, check_live, refuse_policy
from sqlanon.publish.targets import Target, check_target
from sqlanon.source.columns import check_columns
from sqlanon.source.encoding import encode_source
from sqlanon.source.joining import open_policy_source


def plan(source: object, policy: Policy, *, watch: Watcher | None = None, writable: bool | None = None) -> Plan:
    """Encode a source and search its lattice; publishes nothing.

    Args:
        source: a path to a DuckDB, Parquet or CSV file, or an open DuckDB connection; None takes the policy's.
        watch: called after every batch of verdicts.
        writable: open a database file for writing; by default only if the policy's output goes into it.

    Raises:
        InputError and its children: the policy, a hierarchy or the source is unusable.
        NoSolutionError: no node meets the policy.
        SearchStoppedError: a limit was reached before any solution was found.
    """
    require_policy(policy)
    if policy.transformation is not None:
        raise InputError(
            "The policy asks for a transformation, which has no single node to plan.",
            hint="use sqlanon.recode, or leave out the transformation.",
        )
    session, seconds = _encoded(source, policy, writable=writable, publishing=False)
    with _closing(session):
        return search_plan(session, policy, seconds, watch)


def recode(
    source: object, policy: Policy, *, watch: Watcher | None = None, writable: bool | None = None
) -> RecodedPlan:
    """Encode a source and find the rules of the policy's transformation; publishes nothing.

    Args:
        source, watch, writable: as for ``plan``.

    Raises:
        InputError and its children: the policy, a hierarchy or the source is unusable, or there is no transformation.
        NoSolutionError: more records would be suppressed than the policy allows.
        SearchStoppedError: a limit was reached before any solution was found.
    """
    require_policy(policy)
    if policy.transformation is None:
        raise InputError(
            "The policy asks for no transformation.", hint="use sqlanon.plan, or add transformation: {type: patterns}."
        )
    session, seconds = _encoded(source, policy, writable=writable, publishing=False)
    with _closing(session):
        return _recoded(session, policy, policy.transformation, seconds, watch)


def anonymize(source: object, policy: Policy, *, watch: Watcher | None = None) -> Release:
    """Plan and publish: the main job, from a table to an audited release with a proof.

    Raises:
        SqlanonError: see ``plan``, ``recode`` and ``Plan.publish``; on any error nothing is left behind.
    """
    require_policy(policy)
    session, seconds = _encoded(source, policy, writable=None, publishing=True)
    with _closing(session):
        made: Planned
        if policy.transformation is None:
            made = search_plan(session, policy, seconds, watch)
        else:
            made = _recoded(session, policy, policy.transformation, seconds, watch)
        return made.publish()


def _encoded(
    source: object, policy: Policy, *, writable: bool | None, publishing: bool
) -> tuple[Session, dict[str, float]]:
    """An encoded source and the time it took; one that is to be published looks at its target before any work."""
    start = time.perf_counter()
    if policy.entity is not None and policy.transformation is not None:
        raise UnsupportedError(
            "Patterns and local recoding count records: which rule publishes an entity with several is not defined.",
            hint="leave out transformation, because one node for all records counts entities; or leave out entity.",
        )
    if writable is None:
        writable = policy.output is not None and policy.output.kind != "file"
    is_live = publishing and policy.output is not None and policy.output.kind == KIND
    if is_live:
        refuse_policy(policy)
    opened = open_policy_source(source, policy, writable=writable)
    try:
        if publishing and policy.output is not None:
            if is_live:
                check_live(opened, policy, policy.output)
            check_target(opened.engine, Target.of(opened, policy, policy.output))
        check_columns(policy, opened.types)
        encoded = with_suppression(policy) if isinstance(policy.transformation, Patterns) else policy
        encoding = encode_source(opened.engine, opened.relation, encoded, opened.types)
        session = Session.begun(opened, encoding, policy.engine, policy.search.where)
        return session, {"encode": time.perf_counter() - start}
    except BaseException:
        opened.engine.close()
        raise


def _recoded(
    session: Session, policy: Policy, asked: Transformation, seconds: dict[str, float], watch: Watcher | None
) -> RecodedPlan:
    if isinstance(asked, Patterns):
        return patterns_plan(session, policy, asked, seconds)
    return nodes_plan(session, policy, asked, seconds, watch)


@contextmanager
def _closing(session: Session) -> Iterator[None]:
    """Close the session when what is done with it fails."""
    try:
        yield
    except BaseException:
        session.close()
        raise
