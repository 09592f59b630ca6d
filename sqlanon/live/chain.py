"""The chain of nodes at which newcomers are shown, in a live view with an epoch or in releases in cohorts, and when."""

from __future__ import annotations

from sqlanon.core.evaluate.evaluator import Evaluator
from sqlanon.core.evaluate.session import Session
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models import least_size
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.policy.ledger import CohortsSpec
from sqlanon.core.search.base import Problem, Request
from sqlanon.live.deciding import Turn

PLACES, FEWER = 5, 4
"""The most nodes of a chain, and how many times fewer classes each has than the one before."""


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


def turn_of(asked: CohortsSpec, state: int, places: range, *, comes: bool = False) -> Turn:
    """Return what a state may do.

    With ``coarser_after`` coming and going take turns: to classes that lose somebody each time nobody could come.

    Args:
        places: those of the chain at which newcomers may come.
        comes: they may with this state, whoever's turn it is.
    """
    turn = asked.coarser_after
    comes = comes or turn is None or state % turn == 0
    return Turn(
        margin=asked.margin,
        places=(places[:1] if turn is None else places) if comes else range(0),
        now=state,
        hold=asked.hold,
        still=turn is not None and comes,
    )
