"""The chain of nodes at which cohorts are published: which nodes, with which releases newcomers come, and the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlanon.core.evaluate.evaluator import Evaluator
from sqlanon.core.evaluate.problem import build_problem
from sqlanon.core.evaluate.session import Session
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import AttributeMeasure, fold
from sqlanon.core.models import least_size
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.policy import Model
from sqlanon.core.policy.ledger import CohortsSpec
from sqlanon.core.search.base import Problem, Request
from sqlanon.core.search.certificate import Certificate
from sqlanon.live.deciding import Turn

STRATEGY = "cohorts"
"""What a certificate names as the strategy where records come and go, and nothing is searched."""
PLACES, FEWER = 5, 4
"""The most nodes of a chain, and how many times fewer classes each has than the one before."""


def problem_of_sizes(session: Session) -> Problem:
    """Return the problem of a policy as if it asked for the least size of a class and for nothing else.

    So whether there is a next release, and at which nodes, does not depend on sensitive values.
    """
    policy = session.encoded_policy
    size = Model("k_anonymity", {"k": least_size(policy.models)})
    plain = replace(policy, privacy=(size,), columns=tuple(replace(item, models=()) for item in policy.columns))
    return build_problem(session.engine, session.encoding, plain)[0]


def choose_chain(session: Session, problem: Problem, node: Node) -> tuple[Node, ...]:
    """Return a chain of nodes from one to the top, each more general than the one before and with far fewer classes.

    On the way one attribute is raised by a level at a time, the one that costs least by the measure of the policy.
    Classes are judged by their size alone: sensitive values have no part in the way.
    """
    size = KAnonymity(least_size(session.encoded_policy.models))
    evaluator = Evaluator(session.judging, problem.catalog, session.snapshots, problem, [size], local=session.local())
    top = problem.lattice.top
    [verdict] = evaluator.judge([Request(node, problem.catalog.bottom)], exact=True)
    chain, classes = [node], verdict.classes
    while node != top:
        raised = [(*node[:i], level + 1, *node[i + 1 :]) for i, level in enumerate(node) if level < top[i]]
        judged = evaluator.judge([Request(other, problem.catalog.bottom) for other in raised], exact=True)
        best = min(judged, key=lambda one: (one.loss, one.suppressed, one.node))
        node = best.node
        if FEWER * best.classes <= classes and len(chain) < PLACES - 1 and node != top:
            chain.append(node)
            classes = best.classes
    return (*chain, node) if node != chain[-1] else tuple(chain)


def turn_of(asked: CohortsSpec, state: int, places: int) -> Turn:
    """Return what a state may do.

    With ``coarser_after`` coming and going take turns: to classes that lose somebody each time nobody could come.
    """
    turn = asked.coarser_after
    comes = turn is None or state % turn == 0
    at = 1 if turn is None else places
    return Turn(
        margin=asked.margin, places=at if comes else 0, now=state, hold=asked.hold, still=turn is not None and comes
    )


def certificate_of(problem: Problem, chain: Sequence[Node], at: Mapping[int, int], records: int) -> Certificate:
    """Return a certificate that proves nothing; a record that is not shown has lost all.

    Args:
        at: how many records are shown at each place of the chain.
        records: all that could be shown.
    """
    measure, loss = problem.measure, 0.0
    if isinstance(measure, AttributeMeasure) and measure.ceiling == 1.0:
        own = [measure.floor(node) for node in chain]
        kept = [sum(n * (1 - own[place][i]) for place, n in at.items()) for i in range(len(problem.catalog.attributes))]
        weights = [attribute.weight for attribute in problem.catalog.attributes]
        loss = fold(measure.aggregate or "sum", [1 - each / records if records else 0.0 for each in kept], weights)
    return Certificate(measure.name, measure.aggregate, loss, None, None, False, STRATEGY, 0, problem.lattice.size)
