"""The statements of attacks that guess values: the guess for each combination of known values, and how many are right.

A guess is of a type, that is, of a combination of quasi-identifiers, and of the values of further columns that the
attacker knows. A target that no class covers has no guess, and is no attempt: of records that were not in the release,
as many are left out as of records that were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.assess.attack.facts import Control
from sqlanon.assess.attack.ranked import Ranked, prc, ranked
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
    not_null,
    number,
    row_number,
    table,
    total,
)

guessed = names.namer("guessed")
"""Name of the column of a guess that holds the guessed value of the column at a place."""
guess_table = names.namer(names.GUESSES)
"""Name of the table of the guesses of a round."""
Round = tuple[exp.Query, Sequence[int]]
"""Guesses by type and some known columns, with these columns."""
CHOICES = "choices"
"""Column of guesses: how many values the release leaves possible."""
CONFIDENCE = "confidence"
"""Column of guesses: the share of the rows that have the guessed value, in thousandths."""


@dataclass(frozen=True, slots=True)
class Guessed:
    """How many guesses were tried and how many are right.

    Attributes:
        attempts, successes: about records that the release was made of.
        baseline: of these, right guesses by the naive guess.
        certain, certain_right: guesses where the release leaves one value possible, and those that are right.
        control: None without a control group.
        ranked: the guesses by how sure they are; None without any.
    """

    attempts: int
    successes: int
    baseline: int
    certain: int
    certain_right: int
    control: Control | None
    ranked: Ranked | None = None


def possible(known: Sequence[int], secret: Sequence[int], *, exactly: bool = False) -> exp.Select:
    """Return type, ``o_<j>`` of known and secret columns, and ``n``: the rows of the classes that cover the type.

    Args:
        exactly: classes that are merely near are left out.
    """
    values = [other(place) for place in (*known, *secret)]
    held = exp.select(column(CLASS), *map(column, values), named(count_rows(), names.COUNT))
    held = held.from_(table(names.RELEASED_ROWS)).group_by(column(CLASS), *map(column, values))
    by = [column(TYPE, "covering"), *[column(name, "held") for name in values]]
    query = exp.select(*by, named(total(column(names.COUNT, "held")), names.COUNT))
    query = query.from_(exact_covering() if exactly else table(names.COVERING, "covering"))
    query = query.join(held.subquery("held"), on=equal(column(CLASS, "held"), column(CLASS, "covering")))
    return query.group_by(*[item.copy() for item in by])


def most_frequent(known: Sequence[int], secret: Sequence[int]) -> exp.Select:
    """Return the guess of each type and known values: what most rows of its classes have; of several such values, the
    one that most rows of the release have."""
    values, secrets = [other(place) for place in known], [other(place) for place in secret]
    overall = exp.select(*map(column, secrets), named(count_rows(), "overall"))
    overall = overall.from_(table(names.RELEASED_ROWS)).group_by(*map(column, secrets))
    by = [column(TYPE, "possible"), *[column(name, "possible") for name in values]]
    order = [
        exp.Neg(this=column(names.COUNT, "possible")),
        exp.Neg(this=column("overall", "overall")),
        *[column(name, "possible") for name in secrets],
    ]
    place = row_number(*order, partition=[item.copy() for item in by])
    choices = exp.Window(this=count_rows(), partition_by=[item.copy() for item in by])
    rows = exp.Window(this=exp.Sum(this=column(names.COUNT, "possible")), partition_by=[item.copy() for item in by])
    thousandfold = exp.Mul(this=column(names.COUNT, "possible"), expression=number(1000))
    sure = exp.IntDiv(this=thousandfold, expression=bigint(rows))
    shown = [named(column(name, "possible"), guessed(item)) for name, item in zip(secrets, secret, strict=True)]
    query = exp.select(*by, *shown, named(place, "place"), named(choices, CHOICES), named(sure, CONFIDENCE))
    query = query.from_(possible(known, secret).subquery("possible"))
    alike = both(equal(column(name, "possible"), column(name, "overall")) for name in secrets)
    query = query.join(overall.subquery("overall"), on=alike)
    return first_of(query)


def first_of(ranked: exp.Query) -> exp.Select:
    """Return the rows of a ranked query that are first (``place``)."""
    return exp.select(exp.Star()).from_(ranked.subquery("ranked")).where(equal(column("place"), number(1)))


def count_guesses(
    world: AttackWorld,
    rounds: Sequence[Round],
    secret: Sequence[int],
    *,
    naive: Round | None = None,
) -> Guessed:
    """Count the right guesses about all targets that a class covers.

    Args:
        rounds: queries of guesses with the columns that they take to be known; the first that has a guess for a target
            is asked.
        naive: the guess of the baseline; None guesses for everybody what most rows of the release have.
    """
    engine, several = world.engine, [*rounds, *([] if naive is None else [naive])]
    try:
        for place, (query, _) in enumerate(several):
            engine.create("guesses", guess_table(place), query, replayed=False)
        knowns = [known for _, known in several]
        counting = _right(knowns, secret, last_is_naive=naive is not None)
        rows = engine.run("right guesses", counting)
    finally:
        for place in range(len(several)):
            engine.drop(guess_table(place))
    counts: dict[int, list[int]] = {}
    sure: dict[int, list[tuple[int, int, int]]] = {}
    for part, confidence, *others in rows:
        known = counts.setdefault(int(part), [0] * 5)
        counts[int(part)] = [held + int(more) for held, more in zip(known, others, strict=True)]
        sure.setdefault(int(part), []).append((int(confidence), int(others[0]), int(others[1])))
    attempts, successes, baseline, certain, certain_right = counts.get(IN_RELEASE, [0] * 5)
    own = ranked(sure.get(IN_RELEASE, ()), world.records, naive=prc(baseline / max(attempts, 1), 1.0))
    control = None
    if world.controls is not None:
        tried, right, *_ = counts.get(CONTROL, [0] * 5)
        beside = ranked(sure.get(CONTROL, ()), world.controls, naive=0.0)
        control = Control(attempts, successes, tried, right, None if beside is None else beside.prc)
    return Guessed(attempts, successes, baseline, certain, certain_right, control, own)


def _right(knowns: Sequence[Sequence[int]], secret: Sequence[int], *, last_is_naive: bool) -> exp.Select:
    """Return by part and confidence attempts, right guesses, right naive guesses, certain and certain right ones."""
    covered = exp.select(column(TYPE)).distinct().from_(table(names.COVERING))
    query = exp.select().from_(table(names.TARGETS, "targets"))
    query = query.join(covered.subquery("covered"), on=equal(column(TYPE, "covered"), column(TYPE, "targets")))
    aliases = [f"guesses_{place}" for place in range(len(knowns))]
    for place, (alias, known) in enumerate(zip(aliases, knowns, strict=True)):
        met = [equal(column(TYPE, alias), column(TYPE, "targets"))]
        met += [equal(column(other(item), alias), column(other(item), "targets")) for item in known]
        query = query.join(table(guess_table(place), alias), on=both(met), join_type="left")
    if last_is_naive:
        naive = aliases.pop()
    else:
        naive = "naive"
        query = query.join(_naive(secret).subquery(naive), join_type="cross")
    there = [not_null(column(CHOICES, alias)) for alias in aliases]
    choices = _first(there, [column(CHOICES, alias) for alias in aliases])
    hits = [
        equal(_first(there, [column(guessed(item), alias) for alias in aliases]), column(other(item), "targets"))
        for item in secret
    ]
    naive_hits = both(equal(column(guessed(item), naive), column(other(item), "targets")) for item in secret)
    certain = equal(choices, number(1))
    counted = [both(hits), naive_hits, certain, both([certain.copy(), *[hit.copy() for hit in hits]])]
    part, confidence = column(PART, "targets"), _first(there, [column(CONFIDENCE, alias) for alias in aliases])
    query = query.select(part, named(confidence, CONFIDENCE), count_rows(), *map(count_if, counted))
    return query.group_by(part.copy(), confidence.copy())


def _first(conditions: Sequence[exp.Expr], values: Sequence[exp.Expr]) -> exp.Expr:
    pairs = zip(conditions, values, strict=True)
    ifs = [exp.If(this=condition.copy(), true=value) for condition, value in pairs]
    return exp.Case(ifs=ifs)


def _naive(secret: Sequence[int]) -> exp.Select:
    """Return what most rows of the release have in some columns."""
    values = [column(other(item)) for item in secret]
    query = exp.select(*values, named(count_rows(), names.COUNT)).from_(table(names.RELEASED_ROWS))
    query = query.group_by(*[item.copy() for item in values])
    place = row_number(exp.Neg(this=column(names.COUNT)), *[item.copy() for item in values])
    shown = [named(column(other(item)), guessed(item)) for item in secret]
    return first_of(exp.select(*shown, named(place, "place")).from_(query.subquery("values")))
