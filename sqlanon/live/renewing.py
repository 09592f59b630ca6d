"""Renew a live view with an epoch: plan it anew, and keep what it promised.

A renewal is a next state. Who is shown stays in its group, at the node at which it came, until the group ends; who left
stays away; newcomers come at the new node, and at those of its chain. So records are in one group each, as before, and
the proof of ``live/compiler/epochs.py`` holds across the renewal: it asks for nothing of the nodes, nor of the
hierarchies. A place keeps its lookups as long as a group is shown there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlanon.core.interrupts import no_return
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.policy import Output, Policy
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import canonical, column, named, table
from sqlanon.errors import InputError
from sqlanon.live.compiler.epochs import EpochView
from sqlanon.live.deciding import drop_work, turn_of, work
from sqlanon.live.epochs import (
    NUMBER,
    STATES,
    EpochStep,
    audit_step,
    begin,
    decide_state,
    epoch_view,
    facts_of_epoch,
    number_now,
    places_of,
    read_state,
    refuse_keys,
    same_state,
)
from sqlanon.live.facts import QUESTION, Fact, facts_of, frozen_facts, question_of
from sqlanon.live.output import chain_of, frozen_at, released_at
from sqlanon.live.view import check_live, drop_old, frozen_view, source_place, write_facts, write_lookups

UNORDERED = ("columns", "quasi-identifiers", "models")
"""The parts of a question that are lists of which the order says nothing."""


def refuse_others(opened: Source, policy: Policy, facts: Sequence[Fact]) -> None:
    """Raise InputError if a policy asks for what would end the promises of a view: for other records, persons, columns
    or models than it was created with. Other levels and hierarchies, and another order of columns, are no reason."""
    now = dict(fact[1:] for fact in question_of(policy, source_place(opened)))
    was = {name: value for kind, name, value in facts if kind == QUESTION}
    others = [name for name, value in now.items() if name not in was or _parts(name, was[name]) != _parts(name, value)]
    if others:
        other = "other" if others[0] in UNORDERED else "another"
        raise InputError(
            f"The policy has {other} {others[0]} than the live view was created with, which a renewal has to keep.",
            hint="restore it, or publish this policy as another view. If nobody has kept a state, plan anew by "
            "--force, which forgets who was shown.",
        )


def _parts(name: str, value: str) -> object:
    """Return a part of a question as it is compared: columns and models in any order."""
    parts = json.loads(value)
    return parts if name not in UNORDERED else sorted(json.dumps(part, sort_keys=True) for part in parts)


def renew(plan: Plan, output: Output) -> EpochStep:
    """Bring a live view with an epoch to its next state, in which newcomers come at the node of a new plan.

    Raises:
        InputError: see ``refuse_others``; or the view changed meanwhile.
        AuditError, EngineError, SourceChangedError: as when it is published. In all cases, the view stays as it is.
    """
    engine, policy = plan.engine, plan.policy
    where = check_live(plan.source, policy, output)
    facts, state = frozen_facts(engine, where) or [], read_state(engine, where)
    refuse_others(plan.source, policy, facts)
    before, _ = places_of(facts, where)
    chain = chain_of(plan, output)
    was = dict(engine.catalog.columns(where.table))
    released = _types(was, released_at(plan, chain), {item.name for item in policy.quasi_identifiers})
    frozen = frozen_at(plan, chain, released)
    view = frozen_view(policy, plan.source, where, plan.node, released, {})
    put = epoch_view(view, where, output, (*before, *frozen), len(before))
    assert put is not None
    refuse_keys(engine, put)
    work(engine, names.SHOWN, _shown(put, was))
    states = int(state[STATES]) + 1
    turn = turn_of(output.cohorts, states, put.newcomers_at, comes=True)
    following, counted = decide_state(engine, replace(put, shown=table(names.SHOWN)), turn)
    places = exp.select(column(names.NODE_PLACE)).distinct().from_(following.shown.copy())
    used = {int(row[0]) for row in engine.run("places", places)}
    kept = tuple(at if place in used else None for place, at in enumerate(before))
    number = max(number_now(engine, output), int(state[NUMBER]))
    with engine.transaction():
        if not same_state(engine, where, state):
            raise InputError("The live view was changed since this renewal began.", hint="run it again.")
        old = [fact for fact in facts if fact[0] == "lookup"]
        lookups, new = write_lookups(engine, where, frozen, old)
        stays = {lookup.name for at in kept for lookup in (at or {}).values()}
        drop_old(engine, where, but={*stays, *(name for _, name, _ in lookups)})
        lookups += [fact for fact in old if fact[1] in stays]
        beneath = [where.named(name) for _, name, _ in lookups]
        beneath += begin(engine, where, put, following)
        audit_step(engine, put)
        written = facts_of_epoch(where, number=number, states=states, places=kept + new, start=len(kept))
        own = [*facts_of(engine, policy, plan.levels), *question_of(policy, source_place(plan.source))]
        beneath.append(write_facts(engine, where, [*own, *lookups, *written]))
        engine.targets.create_view(where, put.select())
        plan.source.verify()
        engine.targets.hand_over(where, beneath, output.owner, output.readers)
        no_return()
    drop_work(engine)
    return EpochStep(number, *counted)


def _types(was: Mapping[str, str], now: Mapping[str, str], quasi: set[str]) -> dict[str, str]:
    """Return the types of the columns of a renewed view: texts where those of a quasi-identifier differ.

    Raises:
        InputError: those of another column do.
    """
    differ = [name for name, kind in now.items() if was[name] != kind]
    if others := [name for name in differ if name not in quasi]:
        raise InputError(
            f"The type of column {others[0]!r} is not that of the live view.",
            hint="restore it in the source, or cast it in a view that the policy reads.",
        )
    return {name: "VARCHAR" if name in differ else kind for name, kind in now.items()}


def _shown(put: EpochView, was: Mapping[str, str]) -> exp.Select:
    """Return the rows that a view shows, in the types of the renewed one."""
    cells = [
        column(name) if was[name] == kind else named(canonical(name, was[name]), name)
        for name, kind in put.view.published.items()
    ]
    own = (names.RECORD, names.PERSON, names.COHORT, names.NODE_PLACE, names.SINCE)
    return exp.select(*cells, *map(column, own)).from_(put.shown.copy())
