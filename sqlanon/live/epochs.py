"""Live views with an epoch: the rows that one shows until the epoch ends, and how the next state takes their place.

Beneath the view ``v`` stand ``v_shown``, the rows with their records, persons and groups, and ``v_left``, the records
that are not shown any more: they were once, or came with others that did not meet the models. ``v_frozen`` has the
number of the epoch. ``live/compiler/epochs.py`` says who comes and who goes, and why no two states single anybody out.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.core.audit.epochs import audit_changes, audit_state
from sqlanon.core.engines.base import Engine, Place
from sqlanon.core.engines.clock import read_clock
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.policy import Output
from sqlanon.core.policy.output import seconds_of
from sqlanon.core.publish.targets import FACT_COLUMNS, FROZEN, LEFT, SHOWN, frozen_tables
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import (
    both,
    column,
    count_distinct,
    count_rows,
    equal,
    named,
    table,
    union_all,
)
from sqlanon.errors import InputError
from sqlanon.live.compiler.epochs import EpochView, Lookups
from sqlanon.live.compiler.live_models import LiveView
from sqlanon.live.deciding import Turn, decide, drop_work, judge_first, turn_of, work
from sqlanon.live.facts import Fact

EPOCH, NUMBER, STATE = "epoch", "number", "state"
"""The kind of the facts about the epoch, and their names: its number, and a random text that each state has for
itself."""
STATES, START, NODES = "states", "start", "nodes"
"""Others of them: how many states it showed; the first node at which newcomers come; the lookups of all nodes."""
RECORDS = "records"
"""The kind of the facts that name its tables."""
Places = tuple[Lookups | None, ...]


@dataclass(frozen=True, slots=True)
class EpochStep:
    """The account of the end of an epoch. For the operator: its counts are exact.

    Attributes:
        number: of the epoch that begins, counted from 1970 by the clock of the database.
        joined: records that came, in groups.
        gone: records that went, with so many others of their group that they meet the models.
        withdrawn: records of groups of which too few were left.
        held: records that are shown as they were, though the source has changed or lost them.
    """

    number: int
    joined: int
    gone: int
    withdrawn: int
    held: int


def epoch_view(
    view: LiveView, where: Place, output: Output, places: Places | None = None, start: int = 0
) -> EpochView | None:
    """Return a live view with the tables of its epoch; None without an epoch.

    Args:
        places: the lookups of each node at which groups are shown; None: those of the view.
    """
    if output.epoch is None or output.record is None:
        return None
    shown, left = (where.named(where.name + ending).table for ending in (SHOWN, LEFT))
    if places is None:
        places = ({item.name: item.lookup for item in view.quasi if item.lookup is not None},)
    return EpochView(view, output.record, shown, left, places, start)


def is_complete(facts: Sequence[Fact]) -> bool:
    """Return whether the facts about an epoch, if there are any, are those that this version writes."""
    known = {name for kind, name, _ in facts if kind == EPOCH}
    return not known or known >= {NUMBER, STATE, STATES, START, NODES}


def places_of(facts: Sequence[Fact], where: Place) -> tuple[Places, int]:
    """Return the lookups of each node at which a live view shows groups, and the first at which newcomers come."""
    values = {name: value for kind, name, value in facts if kind == EPOCH}
    listed = json.loads(values[NODES])
    places = [at and {name: where.named(lookup).table for name, lookup in at.items()} for at in listed]
    return tuple(places), int(values[START])


def first_state(engine: Engine, epoch: EpochView) -> EpochView:
    """Decide the first state in working tables, before the transaction of the view, and return what stands on them.

    Args:
        epoch: its lookups are those that were frozen.

    Raises:
        InputError: the records have no key.
    """
    refuse_keys(engine, epoch)
    first = replace(epoch, shown=table(names.SHOWN), left=table(names.LEFT))
    work(engine, names.SHOWN, first.first())
    work(engine, names.LEFT, exp.select(column(names.RECORD)).from_(first.shown.copy()).where(exp.false()))
    if not first.cohorts.by_size:
        judge_first(engine, first.cohorts, first.present())
        failed = exp.select(column(names.RECORD)).from_(table(names.FAILED))
        engine.run("write epoch", exp.Insert(this=first.left.copy(), expression=failed))
        drop_work(engine)
    return first


def begin(engine: Engine, where: Place, epoch: EpochView, first: EpochView) -> list[Place]:
    """Create the tables of a view from those of its first state, audit it, and return their places."""
    for relation, rows in ((epoch.shown, first.shown), (epoch.left, first.left)):
        query = exp.select(exp.Star()).from_(rows.copy())
        engine.run("write epoch", exp.Create(this=relation.copy(), kind="TABLE", expression=query))
        engine.targets.analyze(relation)
    audit_state(engine, epoch.shown, [item.name for item in epoch.view.quasi], epoch.view.models)
    return [where.named(where.name + ending) for ending in (SHOWN, LEFT)]


def facts_of_epoch(where: Place, *, number: int, places: Places, states: int = 1, start: int = 0) -> list[Fact]:
    """Return the facts of a state: its tables, the number of its epoch and its own, and the lookups of its nodes."""
    tables = [(RECORDS, where.name + ending, "") for ending in (SHOWN, LEFT)]
    written = json.dumps([at and {name: lookup.name for name, lookup in at.items()} for at in places])
    state = {NUMBER: number, STATE: _new_state(), STATES: states, START: start, NODES: written}
    return [*tables, *((EPOCH, name, str(value)) for name, value in state.items())]


def keep_state(engine: Engine, where: Place) -> bool:
    """Keep the records that a live view with an epoch shows (``names.FATES``), and return whether there is one."""
    old, columns = where.named(where.name + SHOWN), engine.catalog.columns
    own = (names.RECORD, names.PERSON, names.COHORT)
    if old not in frozen_tables(engine, where) or not set(own) <= {name for name, _ in columns(old.table)}:
        return False
    work(engine, names.FATES, _as_texts(old.table))
    return True


def compare_states(engine: Engine, epoch: EpochView) -> tuple[str, ...]:
    """Return a warning that counts whom the kept state and this one single out together; nothing if they do not."""
    least = max(model.k for model in epoch.view.models if isinstance(model, KAnonymity))
    relations = {"was": table(names.FATES), "shown": _as_texts(epoch.shown).subquery("shown")}
    query = bind("epoch/alone.sql", relations=relations, values={"k": least})
    alone, persons = (int(count or 0) for count in engine.run("compare states", query)[0])
    if not alone:
        return ()
    unit = "records" if epoch.view.entity is None else "persons"
    return (
        f"What the live view showed last and what it shows now single out {alone} of {persons} {unit}: fewer than "
        f"{least} are in the same group in both. Who has read both states can find them (docs/live-views.md).",
    )


def _as_texts(relation: exp.Expr) -> exp.Select:
    """Return records and persons as texts, whatever they were, with their groups."""
    texts = [named(exp.cast(column(name), "VARCHAR"), name) for name in (names.RECORD, names.PERSON)]
    return exp.select(*texts, column(names.COHORT)).from_(relation.copy())


def number_now(engine: Engine, output: Output) -> int:
    """Return the number of the epoch by the clock of the database, counted from 1970-01-01 00:00 UTC."""
    assert output.epoch is not None
    return int(read_clock(engine).timestamp()) // seconds_of(output.epoch)


def advance(engine: Engine, where: Place, epoch: EpochView, output: Output) -> EpochStep | None:
    """Bring a live view to its next state, in one transaction; None if its epoch has not ended.

    What is decided is computed before the transaction, which writes to the database of the view alone; if another
    session has brought the view to another state meanwhile, nothing is written.

    Raises:
        AuditError: the next state, or what it differs in, does not meet the models. The view stays as it is.
        EngineError: the database refused a statement. The view stays as it is.
    """
    facts, now = where.named(where.name + FROZEN).table, number_now(engine, output)
    found = read_state(engine, where)
    if int(found[NUMBER]) >= now:
        return None
    state = int(found[STATES]) + 1
    following, counted = decide_state(engine, epoch, turn_of(output.cohorts, state, epoch.newcomers_at))
    with engine.transaction():
        if not same_state(engine, where, found):
            return None
        for relation, rows in ((epoch.shown, following.shown), (epoch.left, following.left)):
            engine.run("write epoch", exp.Delete(this=relation.copy()))
            query = exp.select(exp.Star()).from_(rows.copy())
            engine.run("write epoch", exp.Insert(this=relation.copy(), expression=query))
        audit_step(engine, epoch)
        for name, value in ((NUMBER, str(now)), (STATES, str(state)), (STATE, _new_state())):
            _write_fact(engine, facts, name, exp.Literal.string(value))
    engine.drop(names.FATES)
    drop_work(engine)
    return EpochStep(now, *counted)


def decide_state(engine: Engine, epoch: EpochView, turn: Turn) -> tuple[EpochView, list[int]]:
    """Decide the next state in working tables; return what stands on them, and how many came, went, were withdrawn and
    are held."""
    decide(engine, epoch.cohorts, epoch.present(), turn)
    work(engine, names.NEXT, epoch.cohorts.following())
    gone = [exp.select(column(names.RECORD)).from_(table(name)) for name in (names.GONE, names.FAILED)]
    work(engine, names.LEFT, union_all([exp.select(column(names.RECORD)).from_(epoch.left.copy()), *gone]))
    counted = engine.run("count epoch", epoch.cohorts.counts(table(names.NEXT)))[0]
    following = replace(epoch, shown=table(names.NEXT), left=table(names.LEFT))
    return following, [int(count or 0) for count in counted]


def audit_step(engine: Engine, epoch: EpochView) -> None:
    """Audit the state that was written, and what it differs in from the one before (``names.FATES``)."""
    with engine.journal.phase("auditing"):
        audit_state(engine, epoch.shown, [item.name for item in epoch.view.quasi], epoch.view.models)
        audit_changes(engine, table(names.FATES), epoch.shown, epoch.view.models)


def read_state(engine: Engine, where: Place) -> dict[str, str]:
    """Return the facts about the epoch of a live view."""
    kind, name, value = map(column, FACT_COLUMNS)
    rows = exp.select(name, value).from_(where.named(where.name + FROZEN).table)
    state: dict[str, str] = dict(engine.run("read epoch", rows.where(equal(kind, exp.Literal.string(EPOCH)))))
    return state


def same_state(engine: Engine, where: Place, state: Mapping[str, str]) -> bool:
    """Return whether a live view still shows the state that was read, which no other session changes from now on."""
    _write_fact(engine, where.named(where.name + FROZEN).table, NUMBER, column(FACT_COLUMNS[2]))  # locks it
    return read_state(engine, where) == state


def _write_fact(engine: Engine, facts: exp.Table, name: str, value: exp.Expr) -> None:
    wanted = both(
        equal(column(key), exp.Literal.string(text)) for key, text in zip(FACT_COLUMNS, (EPOCH, name), strict=False)
    )
    written = equal(column(FACT_COLUMNS[2]), value)
    engine.run("write epoch", exp.Update(this=facts, expressions=[written], where=exp.Where(this=wanted)))


def _new_state() -> str:
    return secrets.token_hex(8)


def refuse_keys(engine: Engine, epoch: EpochView) -> None:
    """Raise InputError unless each record of the source has a key of its own."""
    keys = exp.select(named(count_rows(), "records"), named(count_distinct(column(epoch.record)), "keys"))
    records, known = engine.run("count keys", keys.from_(epoch.view.source.copy()))[0]
    if records != known:
        raise InputError(
            f"The column {epoch.record!r} is no key of the records: {records - known} of {records} have none, or that "
            "of another.",
            hint="name the key column of the source: output: {…, record: admission_id}.",
        )
