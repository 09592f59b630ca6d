"""Decide who is shown next, in working tables, and at which nodes; ``live/compiler/cohorts.py`` has the statements."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.evaluate.evaluator import Evaluator
from sqlanon.core.evaluate.problem import build_problem
from sqlanon.core.evaluate.session import Session
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models import least_size
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.policy.ledger import CohortsSpec
from sqlanon.core.search.base import Problem, Request
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, equal, number, or_zero, table
from sqlanon.live.compiler.cohorts import Cohorts

WORK = (
    names.PRESENT, names.PASSING, names.REMAINING, names.GONE, names.NEWCOMERS, names.LARGE, names.COMING, names.FAILED,
    names.ALONG,
)  # fmt: skip
"""The tables in which it is decided who is shown; ``names.FATES`` also keeps what was shown before."""
PLACES, FEWER = 5, 4
"""The most nodes of a chain, and how many times fewer classes each has than the one before."""


def work(engine: Engine, name: str, query: exp.Query) -> None:
    """Create a working table anew."""
    engine.drop(name)
    engine.create("epoch", name, query, replayed=False)


def drop_work(engine: Engine) -> None:
    """Drop the working tables of a decision."""
    for name in WORK:
        engine.drop(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The freedom of a next state.

    Attributes:
        margin: newcomers come if they are at least so many more than k.
        places: those of the chain at which they come: at the first, and, who are not enough there, at the next.
        now: the number of the state.
        hold: in how many states a row is shown at most that is so no longer; None: in any number.
        still: nobody goes but who is overdue, and others with them.
    """

    margin: int
    places: range = range(1)
    now: int = 0
    hold: int | None = None
    still: bool = False

    @property
    def latest(self) -> int:
        """Who is shown as it was since this state, or an earlier one, is overdue."""
        return 0 if self.hold is None else max(self.now - self.hold, 0)


def turn_of(asked: CohortsSpec, state: int, places: range, *, comes: bool = False) -> Turn:
    """Return the freedom of a state.

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


def decide(engine: Engine, cohorts: Cohorts, present: exp.Query, turn: Turn) -> None:
    """Read the source once, and decide who stays (``names.REMAINING``), who goes (``names.GONE``), who comes
    (``names.COMING``) and who never will (``names.FAILED``).

    Args:
        present: the rows of the source as they would be shown.
    """
    work(engine, names.PRESENT, present)
    work(engine, names.FATES, cohorts.fates(turn.now))
    if cohorts.erasing:
        _let_go(engine, names.ERASED, overdue=True)
    if cohorts.erasing or turn.hold is not None:
        work(engine, names.ALONG, cohorts.along(turn.latest))
        _let_go(engine, names.ALONG)
    work(engine, names.PASSING, cohorts.deciding())
    work(engine, names.REMAINING, cohorts.remaining(turn.latest) if turn.still else cohorts.remaining())
    work(engine, names.GONE, cohorts.going())
    _nobody(engine, cohorts)
    for place in turn.places:
        judge_newcomers(engine, cohorts, turn.margin, place)


def _nobody(engine: Engine, cohorts: Cohorts) -> None:
    """Begin with nobody who comes, and nobody who never will."""
    nobody = exp.select(exp.Star()).from_(cohorts.shown.copy()).where(exp.false())
    work(engine, names.COMING, nobody)
    work(engine, names.FAILED, exp.select(column(names.RECORD)).from_(cohorts.shown.copy()).where(exp.false()))


def _let_go(engine: Engine, name: str, *, overdue: bool = False) -> None:
    """Let the records of a working table go, whether the source has them as they are shown or not.

    Args:
        overdue: they go at once, and others with them.
    """
    goes = column(names.RECORD).isin(query=exp.select(column(names.RECORD)).from_(table(name)))
    part = equal(column(names.PART), exp.Mul(this=column(names.COHORT), expression=number(2)))
    changes = [equal(column("stays"), number(0)), part]
    if overdue:
        changes.append(equal(column(names.SINCE), number(0)))
    engine.run("epoch", exp.Update(this=table(names.FATES), expressions=changes, where=exp.Where(this=goes)))


def judge_first(engine: Engine, cohorts: Cohorts, present: exp.Query) -> None:
    """Judge the records that the first state does not show: ``names.FAILED`` are those that never will be.

    Args:
        present: as for ``decide``.
    """
    nobody = exp.select(exp.Star()).from_(cohorts.shown.copy()).where(exp.false())
    work(engine, names.GONE, nobody)
    _nobody(engine, cohorts)
    if not cohorts.by_size:
        work(engine, names.PRESENT, present)
        judge_newcomers(engine, cohorts, 0)


def judge_newcomers(engine: Engine, cohorts: Cohorts, margin: int, place: int = 0) -> None:
    """Decide which newcomers come at a place of the chain, and which of them never will."""
    newcomers = table(names.NEWCOMERS)
    work(engine, names.NEWCOMERS, cohorts.newcomers(place))
    work(engine, names.PASSING, cohorts.passing(newcomers, margin=margin))
    if not cohorts.by_size:
        work(engine, names.LARGE, cohorts.large(newcomers, margin=margin))
        engine.run("epoch", exp.Insert(this=table(names.FAILED), expression=cohorts.failed()))
    first = max(_last_group(engine, rows) for rows in (cohorts.shown, table(names.COMING)))
    engine.run("epoch", exp.Insert(this=table(names.COMING), expression=cohorts.coming(first, place)))


def _last_group(engine: Engine, rows: exp.Expr) -> int:
    last = or_zero(exp.Max(this=column(names.COHORT)))
    return int(engine.run("last group", exp.select(last).from_(rows.copy()))[0][0])


def problem_of_sizes(session: Session) -> Problem:
    """Return the problem that is searched ``by_sizes``."""
    return build_problem(session.engine, session.encoding, session.by_sizes().encoded_policy)[0]


def choose_chain(session: Session, problem: Problem, node: Node) -> tuple[Node, ...]:
    """Return a chain of nodes from one to the top, each more general than the one before and with far fewer classes.

    On the way one attribute is raised by a level at a time, the one that costs least by the measure of the policy.
    Classes are judged by their size alone: sensitive values have no part in the way.
    """
    size = KAnonymity(least_size(session.encoded_policy.models))
    evaluator = Evaluator(session.judging, session.snapshots, problem, [size], local=session.local())
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
