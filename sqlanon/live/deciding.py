"""Decide who is shown next, in working tables; ``live/compiler/cohorts.py`` has the statements."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, or_zero, table
from sqlanon.live.compiler.cohorts import Cohorts

WORK = (
    names.PRESENT, names.PASSING, names.REMAINING, names.GONE, names.NEWCOMERS, names.LARGE, names.COMING, names.FAILED,
)  # fmt: skip
"""The tables in which it is decided who is shown; ``names.FATES`` also keeps what was shown before."""


def work(engine: Engine, name: str, query: exp.Query) -> None:
    """Create a working table anew."""
    engine.drop(name)
    engine.create("epoch", name, query, replayed=False)


def drop_work(engine: Engine) -> None:
    """Drop the working tables of a decision."""
    for name in WORK:
        engine.drop(name)


def decide(engine: Engine, cohorts: Cohorts, present: exp.Query, *, margin: int, places: int = 1, now: int = 0) -> None:
    """Read the source once, and decide who stays (``names.REMAINING``), who goes (``names.GONE``), who comes
    (``names.COMING``) and who never will (``names.FAILED``).

    Args:
        present: the rows of the source as they would be shown.
        places: so many places of the chain newcomers may come at: at the first, and, who are not enough there, at the
            next.
        now: the number of the state.
    """
    work(engine, names.PRESENT, present)
    work(engine, names.FATES, cohorts.fates(now))
    work(engine, names.PASSING, cohorts.deciding())
    work(engine, names.REMAINING, cohorts.remaining())
    work(engine, names.GONE, cohorts.going())
    for place in range(places):
        judge_newcomers(engine, cohorts, margin, place)


def judge_newcomers(engine: Engine, cohorts: Cohorts, margin: int, place: int = 0) -> None:
    """Decide which newcomers come at a place of the chain, and which of them never will."""
    if place == 0:
        nobody = exp.select(exp.Star()).from_(cohorts.shown.copy()).where(exp.false())
        work(engine, names.COMING, nobody)
        work(engine, names.FAILED, exp.select(column(names.RECORD)).from_(cohorts.shown.copy()).where(exp.false()))
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
