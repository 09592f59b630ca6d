"""Local recoding: an ordered set of nodes, chosen by what they gain over the best single node, or given."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from secrets import randbits

from sqlanon.compiler.question import Question
from sqlanon.errors import AuditError, HierarchyError
from sqlanon.evaluate.problem import build_problem
from sqlanon.evaluate.session import Session
from sqlanon.lattice.nodes import Node
from sqlanon.models import least_size
from sqlanon.plan.full_domain import search_plan
from sqlanon.plan.recoding.insertion import choose, unproven
from sqlanon.plan.recoding.recoded_plan import RecodedPlan, accounted, load_rules
from sqlanon.plan.recoding.rules import Recoding
from sqlanon.plan.recoding.sequence import first_fit
from sqlanon.policy import LocalRecoding
from sqlanon.search.base import TIE, Problem

PREDICTABLE = (
    "Records are recoded locally: who knows or guesses the order of the nodes learns from a record's own node that "
    "those before it failed for it (refinement attack). {order} Full domain, the default, is not open to this."
)
DRAWN = "Nodes that gain about as much were drawn with a seed that is not published: keep it, and the order, secret."
GIVEN = "The order is the one that the policy gives: keep it secret."

SINGLE_SHARE = 0.25
"""The search for the single node may take this share of a time limit; a large lattice would take all of it."""


def nodes_plan(session: Session) -> RecodedPlan:
    """Return the plan of the local recoding that the session's policy asks for.

    Raises:
        NoSolutionError: no single node meets the policy; or the given nodes suppress more than it allows.
        SearchStoppedError: a limit was reached before any solution was found.
        Interrupted: see ``run_search`` and ``choose``.
        HierarchyError: a given node has a level that a hierarchy does not have, or that the policy rules out.
    """
    asked = session.policy.transformation
    assert isinstance(asked, LocalRecoding)
    if isinstance(asked.nodes, int):
        return _chosen(session, asked.nodes, randbits(63) if asked.seed is None else asked.seed)
    return _given(session, asked.nodes)


def _chosen(session: Session, most: int, seed: int) -> RecodedPlan:
    """Choose nodes by what they gain over the best single node."""
    limits = session.policy.search
    full_domain = search_plan(_limited(session, limits.time_limit))
    start = time.perf_counter()
    problem, question = full_domain.problem, full_domain.question
    if limits.time_limit is not None:
        limits = replace(limits, time_limit=max(0.0, limits.time_limit - full_domain.seconds["search"]))
    found = choose(
        session.engine,
        problem,
        question,
        full_domain.node,
        most=most,
        seed=seed,
        limits=limits,
    )
    recoding = first_fit(session.engine, problem, question, found.nodes)
    planned = _plan(session, problem, recoding, full_domain.certificate.evaluated)
    if planned.certificate.loss > full_domain.solution.loss * (1 + TIE) + TIE:
        raise AuditError(
            f"The recoding loses {planned.certificate.loss:g}, more than the node it began with.", hint="report this."
        )
    stopped = () if found.stopped is None else (f"The choice of nodes was stopped ({found.stopped}).",)
    search = full_domain.seconds["search"] + time.perf_counter() - start
    return replace(
        planned,
        seconds={**full_domain.seconds, "search": search},
        warnings=(*full_domain.warnings, PREDICTABLE.format(order=DRAWN), *stopped),
        full_domain=full_domain.solution,
        full_domain_certificate=full_domain.certificate,
        gains=tuple((problem.catalog.levels(node), loss) for node, loss in found.gains),
        candidates=found.evaluated,
        seed=seed,
    )


def _limited(session: Session, seconds: float | None) -> Session:
    """Return the session with what the search for the single node may take of a time limit."""
    if seconds is None:
        return session
    policy = session.encoded_policy
    search = replace(policy.search, time_limit=seconds * SINGLE_SHARE)
    return replace(session, encoded_policy=replace(policy, search=search))


def _given(session: Session, asked: Sequence[Mapping[str, int]]) -> RecodedPlan:
    """Take the nodes of the policy, in its order."""
    start, policy = time.perf_counter(), session.policy
    problem, models = build_problem(session.engine, session.encoding, policy)
    question = Question(problem.catalog, models, least_size(models), problem.measure.needs)
    nodes = [_node(problem, levels, number) for number, levels in enumerate(asked)]
    recoding = first_fit(session.engine, problem, question, nodes, time_limit=policy.search.time_limit)
    return replace(
        _plan(session, problem, recoding, len(set(nodes))),
        seconds={**session.seconds, "search": time.perf_counter() - start},
        warnings=(*session.warnings, PREDICTABLE.format(order=GIVEN)),
    )


def _plan(session: Session, problem: Problem, recoding: Recoding, evaluated: int) -> RecodedPlan:
    load_rules(session, problem.catalog, recoding.rules)
    assert recoding.loss is not None
    return RecodedPlan(
        catalog=problem.catalog,
        certificate=unproven(problem, recoding.loss, evaluated),
        seconds=session.seconds,
        warnings=(),
        kind="local_recoding",
        rules=recoding.rules,
        _session=session,
        _ledger=accounted(session, problem.catalog, recoding.rules),
    )


def _node(problem: Problem, levels: Mapping[str, int], number: int) -> Node:
    """Return a given node; columns that it does not name stay at the least level of the policy."""
    catalog, lattice = problem.catalog, problem.lattice
    node = tuple(levels.get(a.name, low) for a, low in zip(catalog.attributes, lattice.bottom, strict=True))
    for a, level, low, high in zip(catalog.attributes, node, lattice.bottom, lattice.top, strict=True):
        if not low <= level <= high:
            raise HierarchyError(
                f"The node {number} of transformation.nodes has column {a.name!r} at level {level}; its levels are "
                f"{low} to {high}.",
                hint="give a level in that range.",
            )
    return node
