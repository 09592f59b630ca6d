"""Local recoding: an ordered set of nodes, chosen by what they gain over the best single node, or given."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from secrets import randbits

from sqlanon.compiler.question import Question
from sqlanon.errors import AuditError, HierarchyError
from sqlanon.evaluate.driver import Watcher
from sqlanon.evaluate.problem import build_problem
from sqlanon.evaluate.session import Session
from sqlanon.lattice.nodes import Node
from sqlanon.models import least_size
from sqlanon.plan.full_domain import search_plan
from sqlanon.plan.planned import ignored_options
from sqlanon.plan.recoding.insertion import choose
from sqlanon.plan.recoding.recoded_plan import RecodedPlan, accounted, load_rules
from sqlanon.plan.recoding.rules import Recoding
from sqlanon.plan.recoding.sequence import first_fit
from sqlanon.policy import LocalRecoding, Policy
from sqlanon.search.base import TIE, Problem, Progress
from sqlanon.search.certificate import Certificate

PREDICTABLE = (
    "Records are recoded locally: who knows or guesses the order of the nodes learns from a record's own node that "
    "those before it failed for it (refinement attack). {order} Full domain, the default, is not open to this."
)
DRAWN = "Nodes that gain about as much were drawn with a seed that is not published: keep it, and the order, secret."
GIVEN = "The order is the one that the policy gives: keep it secret."


def nodes_plan(
    session: Session, policy: Policy, asked: LocalRecoding, seconds: dict[str, float], watch: Watcher | None
) -> RecodedPlan:
    """The plan of a local recoding.

    Raises:
        NoSolutionError: no single node meets the policy; or the given nodes suppress more than it allows.
        SearchStoppedError: a limit was reached before any solution was found.
        HierarchyError: a given node has a level that a hierarchy does not have, or that the policy rules out.
    """
    if isinstance(asked.nodes, int):
        return _chosen(session, policy, asked.nodes, asked.seed, seconds, watch)
    return _given(session, policy, asked.nodes, seconds)


def _chosen(
    session: Session, policy: Policy, most: int, seed: int | None, seconds: dict[str, float], watch: Watcher | None
) -> RecodedPlan:
    """Nodes chosen by what they gain over the best single node."""
    full_domain = search_plan(session, policy, seconds, watch)
    start = time.perf_counter()
    problem, question = full_domain.problem, full_domain.question
    drawn = randbits(63) if seed is None else seed
    limits = policy.search
    left = None if limits.time_limit is None else max(0.0, limits.time_limit - full_domain.seconds["search"])
    found = choose(
        session.engine,
        problem,
        question,
        full_domain.node,
        most=most,
        seed=drawn,
        time_limit=left,
        max_evaluations=limits.max_evaluations,
        watch=None if watch is None else _told(watch, full_domain.search),
    )
    recoding = first_fit(session.engine, problem, question, found.nodes)
    made = _plan(session, policy, problem, recoding, full_domain.certificate.evaluated, seconds)
    if made.certificate.loss > full_domain.solution.loss * (1 + TIE) + TIE:
        raise AuditError(
            f"The recoding loses {made.certificate.loss:g}, more than the node it began with.", hint="report this."
        )
    catalog = problem.catalog
    told = () if found.stopped is None else (f"The choice of nodes was stopped ({found.stopped}).",)
    return replace(
        made,
        seconds={
            **full_domain.seconds,
            "search": full_domain.seconds["search"] + time.perf_counter() - start,
        },
        warnings=(*full_domain.warnings, PREDICTABLE.format(order=DRAWN), *told),
        full_domain=full_domain.solution,
        full_domain_certificate=full_domain.certificate,
        gains=tuple((catalog.levels(node), loss) for node, loss in found.gains),
        candidates=found.evaluated,
        seed=drawn,
    )


def _told(watch: Watcher, progress: Progress) -> Callable[[int, float], None]:
    """Tells how far the choice is as progress of the search."""
    best = progress.incumbent

    def tell(evaluated: int, loss: float) -> None:
        now = None if best is None else replace(best, loss=loss)
        watch(Progress(evaluated=progress.evaluated + evaluated, incumbent=now))

    return tell


def _given(
    session: Session, policy: Policy, asked: Sequence[Mapping[str, int]], seconds: dict[str, float]
) -> RecodedPlan:
    """The nodes of the policy, in its order."""
    start = time.perf_counter()
    problem, models = build_problem(session.engine, session.encoding, policy)
    question = Question(problem.catalog, models, least_size(models), problem.measure.needs)
    nodes = [_node(problem, levels, number) for number, levels in enumerate(asked)]
    recoding = first_fit(session.engine, problem, question, nodes, time_limit=policy.search.time_limit)
    made = _plan(session, policy, problem, recoding, len(set(nodes)), seconds)
    return replace(
        made,
        seconds={**seconds, "search": time.perf_counter() - start},
        warnings=session.source.warnings
        + session.encoding.warnings
        + ignored_options(session.source, policy)
        + (PREDICTABLE.format(order=GIVEN),),
    )


def _plan(
    session: Session, policy: Policy, problem: Problem, recoding: Recoding, evaluated: int, seconds: dict[str, float]
) -> RecodedPlan:
    catalog, lattice = problem.catalog, problem.lattice
    load_rules(session, catalog, recoding.rules)
    ledger = accounted(session, catalog, recoding.rules)
    assert recoding.loss is not None
    return RecodedPlan(
        policy=policy,
        catalog=catalog,
        certificate=Certificate(
            measure=problem.measure.name,
            aggregate=problem.measure.aggregate,
            loss=recoding.loss,
            lower_bound=None,
            gap=None,
            optimal=False,
            strategy="local_recoding",
            evaluated=evaluated,
            lattice_size=lattice.size,
        ),
        seconds=seconds,
        warnings=(),
        kind="local_recoding",
        rules=recoding.rules,
        _session=session,
        _ledger=ledger,
        _quality=[],
    )


def _node(problem: Problem, levels: Mapping[str, int], number: int) -> Node:
    """A given node; columns that it does not name stay at the least level of the policy."""
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
