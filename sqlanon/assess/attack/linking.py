"""Linkability: whether the release joins what is known of a person elsewhere with a row, or two parts of it.

A register holds the quasi-identifiers and kept columns of everybody, and claims a row for whom exactly one row fits: a
claim about somebody who is not in the release is false, so that the control group shows what a claim is worth. Two
parties, one with the quasi-identifiers and one with the columns beside them, let the release say which of their records
are of one person: Giomi et al. (PoPETs 2023), with rows of the class in place of nearest neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.assess.attack.facts import LINKABILITY, Control, Finding, NotApplicable, Outcome
from sqlanon.assess.attack.guesses import guess_table, guessed, most_frequent, possible
from sqlanon.assess.attack.singling_out import of_equal_size
from sqlanon.assess.attack.statements import CLASS, CONTROL, IN_RELEASE, PART, TYPE, exact_covering, other
from sqlanon.assess.attack.world import AttackWorld
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import both, column, count_if, count_rows, equal, named, number, table

HELD = "held"


def by_register(world: AttackWorld) -> Outcome:
    """Return for how many records a register finds exactly one row of the release."""
    attack = "linkage_register"
    if not world.published:
        return NotApplicable(attack, LINKABILITY, "The release holds no record.")
    known = [world.beside.index(name) for name in world.kept]
    counts = _by_part(world, _claims(known))
    (attempts, claims, sure), (tried, false_claims, _) = counts
    what = "quasi-identifiers and kept columns" if known else "quasi-identifiers"
    said = f"No row of the release is the only one that fits a person's {what}."
    if claims:
        said = (
            f"For {claims:,} of {attempts:,} records of the source exactly one row of the release fits their {what}; "
            f"for {sure:,} of them the row is of no other record."
        )
    if false_claims:
        said += f" A row is claimed for {false_claims:,} of {tried:,} records that are not in the release, wrongly."
    return Finding(
        attack=attack,
        risk=LINKABILITY,
        columns=(*world.quasi_identifiers, *world.kept),
        attempts=attempts,
        successes=claims,
        control=None if world.controls is None else Control(attempts, claims, tried, false_claims),
        how=f"Look up the {what} of each record of the source in the release; a success is exactly one row that fits.",
        meaning=said,
        figures={"nobody_else_fits": sure},
    )


def by_parts(world: AttackWorld) -> Outcome:
    """Return how many records' quasi-identifiers and other columns the release joins."""
    attack = "linkability_of_parts"
    if not world.published or not world.quasi_identifiers or not world.beside:
        return NotApplicable(attack, LINKABILITY, "The release has no columns beside its quasi-identifiers.")
    engine, places = world.engine, [*range(len(world.beside))]
    engine.create("guesses", guess_table(0), most_frequent([], places), replayed=False)
    try:
        (attempts, joined, _), (tried, by_control, _) = _by_part(world, _joined(places))
    finally:
        engine.drop(guess_table(0))
    beside = ", ".join(world.beside)
    return Finding(
        attack=attack,
        risk=LINKABILITY,
        columns=(*world.quasi_identifiers, *world.beside),
        attempts=attempts,
        successes=joined,
        control=Control(attempts, joined, tried, by_control) if of_equal_size(world) else None,
        how=f"Guess {beside} of each record that a class covers as most rows of the class have them; a success is one "
        "record of the source that has its quasi-identifiers and the guess, and is the record itself.",
        meaning=f"Of {attempts:,} records whose quasi-identifiers one party holds and whose other columns another, the "
        f"release joins the two parts of {joined:,}.",
    )


Counts = tuple[int, int, int]


def _by_part(world: AttackWorld, query: exp.Query) -> tuple[Counts, Counts]:
    """Return attempts and successes, with a third figure, of the records of the release and of the control group."""
    rows = world.engine.run("links", query)
    counts = {int(part): (int(a), int(b), int(c)) for part, a, b, c in rows}
    return counts.get(IN_RELEASE, (0, 0, 0)), counts.get(CONTROL, (0, 0, 0))


def _alike(values: Sequence[str], left: str, right: str) -> exp.Expr:
    """Return the condition that two relations agree in type and values."""
    return both(equal(column(name, left), column(name, right)) for name in (TYPE, *values))


def _held(values: Sequence[str]) -> exp.Select:
    """Return how many records of each part have a type and values."""
    by = [column(PART), column(TYPE), *map(column, values)]
    query = exp.select(*by, named(count_rows(), HELD)).from_(table(names.TARGETS))
    return query.group_by(*[item.copy() for item in by])


def _claims(known: Sequence[int]) -> exp.Select:
    """Return per part its records, those that exactly one row fits, and those whose row fits nobody else in the part.

    Whom a row fits is counted over all types that its class covers.
    """
    values = [other(place) for place in known]
    fitting = possible(known, [], exactly=True).subquery("fitting")
    query = exp.select().from_(_held(values).subquery("targets"))
    query = query.join(fitting, on=_alike(values, "targets", "fitting"), join_type="left")
    one = equal(column(names.COUNT, "fitting"), number(1))
    same_group = both(equal(column(name, "targets"), column(name, "fitted")) for name in (PART, TYPE, *values))
    query = query.join(_fitted(values).subquery("fitted"), on=same_group, join_type="left")
    alone = both([one.copy(), equal(column("people", "fitted"), number(1))])
    part, held = column(PART, "targets"), column(HELD, "targets")
    sums = [exp.Sum(this=exp.Case(ifs=[exp.If(this=hit, true=held.copy())], default=number(0))) for hit in (one, alone)]
    return query.select(part, exp.Sum(this=held), *sums).group_by(part.copy())


def _fitted(values: Sequence[str]) -> exp.Select:
    """Return per part, type and values how many records the rows fit that fit these, at most."""
    classes = exp.select(column(CLASS, "covering"), column(PART, "held"))
    classes = classes.select(*[column(name, "held") for name in values])
    classes = classes.select(named(exp.Sum(this=column(HELD, "held")), "people"))
    classes = classes.from_(exact_covering())
    classes = classes.join(_held(values).subquery("held"), on=equal(column(TYPE, "held"), column(TYPE, "covering")))
    classes = classes.group_by(column(CLASS, "covering"), column(PART, "held"), *[column(n, "held") for n in values])
    rows = exp.select(column(CLASS), *map(column, values)).distinct().from_(table(names.RELEASED_ROWS))
    by = [column(PART, "classes"), column(TYPE, "covering"), *[column(name, "classes") for name in values]]
    query = exp.select(*by, named(exp.Max(this=column("people", "classes")), "people"))
    query = query.from_(classes.subquery("classes"))
    of_rows = both(equal(column(name, "classes"), column(name, "rows")) for name in (CLASS, *values))
    query = query.join(rows.subquery("rows"), on=of_rows)
    met = equal(column(CLASS, "classes"), column(CLASS, "covering"))
    query = query.join(exact_covering(), on=met)
    return query.group_by(*[item.copy() for item in by])


def _joined(places: Sequence[int]) -> exp.Select:
    """Return per part its records with a guess, and those that alone have their type and the guessed values."""
    values = [other(place) for place in places]
    query = exp.select().from_(table(names.TARGETS, "targets"))
    query = query.join(table(guess_table(0), "guesses"), on=equal(column(TYPE, "guesses"), column(TYPE, "targets")))
    met = both(equal(column(name, "targets"), column(name, "held")) for name in (PART, TYPE, *values))
    query = query.join(_held(values).subquery("held"), on=met)
    right = [equal(column(guessed(place), "guesses"), column(other(place), "targets")) for place in places]
    hit = count_if(both([*right, equal(column(HELD, "held"), number(1))]))
    part = column(PART, "targets")
    return query.select(part, count_rows(), hit, number(0)).group_by(part.copy())
