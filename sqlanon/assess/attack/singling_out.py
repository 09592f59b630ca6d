"""Singling out: a row of the release, taken as a question to the source, has one record as its answer.

The attacker takes a row of the release and asks who in the source is covered by its texts and has its values. Cohen and
Nissim, "Towards formalizing the GDPR's notion of singling out" (PNAS 2020), call this a predicate that isolates. One
that does so among as many records that were not in the release does it by being narrow, not by being about somebody.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.assess.attack.facts import SINGLING_OUT, Control, Finding, NotApplicable, Outcome
from sqlanon.assess.attack.statements import CLASS, CONTROL, IN_RELEASE, PART, TYPE, exact_covering, other
from sqlanon.assess.attack.world import AttackWorld
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    bigint,
    both,
    column,
    count_if,
    count_rows,
    equal,
    named,
    number,
    sum_if,
    table,
    total,
)

NEAR = 0.05
"""Groups whose sizes differ by more than this share are not compared: among more records, fewer questions isolate."""
HEXADECIMALS = 8
"""Digits of a hash that are read as a number."""
ROWS, IN, OUT = "rows", "found_in", "found_out"


def by_quasi_identifiers(world: AttackWorld) -> Outcome:
    """Return how many rows single a record out by their quasi-identifiers."""
    return _singled(world, "singling_out_quasi_identifiers", (), "quasi-identifiers")


def by_kept_columns(world: AttackWorld) -> Outcome:
    """Return how many rows single a record out by their quasi-identifiers and the kept columns."""
    attack = "singling_out_kept_columns"
    if not world.kept:
        return NotApplicable(attack, SINGLING_OUT, "No column is kept whose values can be compared.")
    return _singled(world, attack, world.kept, "quasi-identifiers and kept columns")


def by_all_columns(world: AttackWorld) -> Outcome:
    """Return how many rows single a record out by all columns, the sensitive ones too."""
    attack = "singling_out_all_columns"
    if not world.sensitive:
        return NotApplicable(attack, SINGLING_OUT, "There is no sensitive column whose values can be compared.")
    return _singled(world, attack, world.beside, "columns (the sensitive ones included)")


def _singled(world: AttackWorld, attack: str, beside: Sequence[str], what: str) -> Outcome:
    if not world.published:
        return NotApplicable(attack, SINGLING_OUT, "The release holds no record.")
    places = [world.beside.index(name) for name in beside]
    [(rows, alone, found, by_control)] = world.engine.run("singling out", _isolated(places))
    control = None
    if of_equal_size(world):
        control = Control(int(rows), int(found), int(rows), int(by_control))
    return Finding(
        attack=attack,
        risk=SINGLING_OUT,
        columns=(*world.quasi_identifiers, *beside),
        attempts=int(rows),
        successes=int(found),
        control=control,
        how=f"Ask of each row of the release whom its {what} cover in the source; a success has one record as its "
        "answer.",
        meaning=_meaning(int(rows), int(found), what),
        figures={"unique_rows": int(alone)},
    )


def of_equal_size(world: AttackWorld) -> bool:
    """Return whether there is a control group about as large as the group that the release was made of."""
    return world.controls is not None and abs(world.controls - world.records) <= max(1, NEAR * world.records)


def _meaning(rows: int, found: int, what: str) -> str:
    if not found:
        return f"No row of the release singles a record of the source out by its {what}."
    return (
        f"{found:,} of {rows:,} rows of the release ({found / rows:.1%}) are about one record of the source, which "
        f"anyone who knows these {what} finds and can distinguish from all others."
    )


def by_predicate(world: AttackWorld) -> Outcome:
    """Return how many classes single a record out once a hash divides them into as many parts as they have rows.

    Of a part that holds one record on average, one of n parts holds exactly one in (1 - 1/n)^(n - 1) of the cases: more
    than a third. Cohen and Nissim (PNAS 2020) break k-anonymity so: whether the predicate is about somebody, or as wide
    among people who are not in the release, shows the control group.
    """
    attack = "predicate_singling_out"
    if not world.published or not world.quasi_identifiers:
        return NotApplicable(attack, SINGLING_OUT, "The release has no classes.")
    [(classes, found, by_control)] = world.engine.run("predicates", _predicates(world))
    attempts, people = int(classes), max(world.records, 1)
    chance = (1 - 1 / people) ** (people - 1)
    return Finding(
        attack=attack,
        risk=SINGLING_OUT,
        columns=(*world.quasi_identifiers, *world.beside),
        attempts=attempts,
        successes=int(found),
        baseline_successes=round(attempts * chance),
        control=Control(attempts, int(found), attempts, int(by_control)) if of_equal_size(world) else None,
        how="Divide whom a class covers by a hash of the whole record, into as many parts as the class has rows; a "
        "success is one record of the source in the first part. The baseline divides the whole source.",
        meaning=f"Of {attempts:,} classes a hash singles a record out in {found:,}.",
    )


def _predicates(world: AttackWorld) -> exp.Select:
    """Return one row: classes, and those whose predicate holds for one record of the source, and of the control."""
    record = [column(TYPE, "targets"), *[column(other(place), "targets") for place in range(len(world.beside))]]
    texts = [exp.Literal.string(f"{world.seed}"), *[exp.cast(item, "VARCHAR") for item in record]]
    digest = exp.MD5(this=exp.ConcatWs(expressions=[exp.Literal.string("/"), *texts]))
    first = exp.Substring(this=digest, start=number(1), length=number(HEXADECIMALS))
    prefixed = exp.Concat(expressions=[exp.Literal.string("0x"), first], safe=True, coalesce=False)
    part = exp.Mod(this=bigint(prefixed), expression=column(names.COUNT, "classes"))
    holds = [
        named(count_if(both([equal(part, number(0)), equal(column(PART, "targets"), number(which))])), name)
        for which, name in ((IN_RELEASE, IN), (CONTROL, OUT))
    ]
    query = exp.select(column(CLASS, "classes"), *holds).from_(table(names.RELEASED_CLASSES, "classes"))
    query = query.join(
        exact_covering(), on=equal(column(CLASS, "classes"), column(CLASS, "covering")), join_type="left"
    )
    of_type = equal(column(TYPE, "targets"), column(TYPE, "covering"))
    query = query.join(table(names.TARGETS, "targets"), on=of_type, join_type="left")
    query = query.group_by(column(CLASS, "classes"))
    alone = [count_if(equal(column(name), number(1))) for name in (IN, OUT)]
    return exp.select(count_rows(), *alone).from_(query.subquery("answers"))


def _isolated(places: Sequence[int]) -> exp.Select:
    """Return one row: rows of the release, those that no other equals, those whose question has one record of the
    release's source as its answer, and those with one of the control group."""
    values = [other(place) for place in places]
    asked = exp.select(column(CLASS), *map(column, values), named(count_rows(), ROWS))
    asked = asked.from_(table(names.RELEASED_ROWS)).group_by(column(CLASS), *map(column, values))
    held = exp.select(column(TYPE), column(PART), *map(column, values), named(count_rows(), names.COUNT))
    held = held.from_(table(names.TARGETS)).group_by(column(TYPE), column(PART), *map(column, values))
    of_part = [
        named(sum_if(equal(column(PART, "held"), number(part)), column(names.COUNT, "held")), name)
        for part, name in ((IN_RELEASE, IN), (CONTROL, OUT))
    ]
    keys = [column(CLASS, "asked"), *[column(name, "asked") for name in values], column(ROWS, "asked")]
    alike = both(equal(column(name, "asked"), column(name, "held")) for name in values)
    met = equal(column(TYPE, "held"), column(TYPE, "covering"))
    answers = exp.select(*keys, *of_part).from_(asked.subquery("asked"))
    of_class = equal(column(CLASS, "asked"), column(CLASS, "covering"))
    answers = answers.join(exact_covering(), on=of_class, join_type="left")
    answers = answers.join(held.subquery("held"), on=both([met, alike]), join_type="left")
    answers = answers.group_by(*[key.copy() for key in keys])
    shown = [total(column(ROWS)), count_if(equal(column(ROWS), number(1)))]
    shown += [sum_if(equal(column(name), number(1)), column(ROWS)) for name in (IN, OUT)]
    return exp.select(*shown).from_(answers.subquery("answers"))
