"""deFinetti: a naive Bayes learnt from the release picks among the values of a class.

Kifer, "Attacks on privacy and deFinetti's theorem" (SIGMOD 2009): models of diversity take the values of a class to be
equally likely for each of its persons, while other classes teach which value goes with which quasi-identifiers. Here
the features are the person's quasi-identifiers, as they are, and the kept columns; a row of the release counts in
equal parts for all values that its text covers. The baseline leaves the features out: of the values of the class, it
takes the one that is most frequent in the release.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from sqlanon.assess.attack.facts import INFERENCE, NotApplicable, Outcome
from sqlanon.assess.attack.guesses import CHOICES, CONFIDENCE, count_guesses, first_of, guessed, possible
from sqlanon.assess.attack.inference import described
from sqlanon.assess.attack.statements import TYPE, other, text, value
from sqlanon.assess.attack.world import AttackWorld
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    bigint,
    both,
    column,
    count_distinct,
    count_rows,
    equal,
    named,
    number,
    or_zero,
    row_number,
    table,
    union_all,
)

ATTACK = "definetti"
"""The name of the attack."""
FEATURE, SECRET, WEIGHT, PRIOR = "feature", "secret", "weight", -1
"""Columns of what is learnt; ``PRIOR`` is the feature that all rows have."""
SCORE = "score"
"""The logarithm of the likelihood of a value; its posterior is the confidence of a guess."""
DECIMALS = 9
"""Logarithms that differ by less are equal: sums in another order must not change a guess."""


def definetti(world: AttackWorld) -> Iterator[Outcome]:
    """Yield how well a naive Bayes that is learnt from the release guesses each sensitive column."""
    features = len(world.quasi_identifiers) + len(world.kept)
    if not world.sensitive or not features or not world.published:
        yield NotApplicable(ATTACK, INFERENCE, "There is no sensitive column whose values can be compared.")
        return
    known = [world.beside.index(name) for name in world.kept]
    engine = world.engine
    for secret in world.sensitive:
        place = world.beside.index(secret)
        engine.create("learnt", names.LEARNT, _learnt(world, known, place), replayed=False)
        try:
            [sizes] = engine.run("domains", _domains(world, known))
            query = _best(world, known, place, [int(size) for size in sizes])
            naive = without_features(known, place)
            found = count_guesses(world, [(query, known)], [place], naive=(naive, known))
        finally:
            engine.drop(names.LEARNT)
        learnt = "the quasi-identifiers, and what a naive Bayes learns from all classes,"
        yield described(world, ATTACK, secret, found, learnt, "the classes and what most people have")


def _learnt(world: AttackWorld, known: Sequence[int], secret: int) -> exp.Query:
    """Return feature, value, sensitive value and the rows of the release that show both, in parts of rows.

    The quasi-identifiers are features by their positions, the kept columns follow; ``PRIOR`` are all rows.
    """
    hidden, parts = other(secret), []
    for position in range(len(world.quasi_identifiers)):
        covered = exp.select(column("t"), column("v")).distinct().from_(table(names.KNOWN_TEXTS))
        covered = covered.where(equal(column("attribute"), number(position)))
        size = exp.Window(this=count_rows(), partition_by=[column("t")])
        spread = exp.select(column("t"), column("v"), named(size, "size")).from_(covered.subquery("covered"))
        shown = column(text(position))
        rows = exp.select(named(shown, "t"), column(hidden), named(count_rows(), names.COUNT))
        rows = rows.from_(table(names.RELEASED_ROWS)).group_by(shown.copy(), column(hidden))
        share = exp.Div(
            this=exp.cast(column(names.COUNT, "rows"), "DOUBLE"), expression=column("size", "spread"), typed=False
        )
        by = [column("v", "spread"), column(hidden, "rows")]
        query = exp.select(named(number(position), FEATURE), named(by[0], "v"), named(by[1], SECRET))
        query = query.select(named(exp.Sum(this=share), WEIGHT)).from_(rows.subquery("rows"))
        query = query.join(spread.subquery("spread"), on=equal(column("t", "rows"), column("t", "spread")))
        parts.append(query.group_by(*[item.copy() for item in by]))
    for place, name in enumerate(map(other, known)):
        feature = len(world.quasi_identifiers) + place
        parts.append(_counted(feature, column(name), hidden).group_by(column(name), column(hidden)))
    parts.append(_counted(PRIOR, exp.cast(number(0), "BIGINT"), hidden).group_by(column(hidden)))
    return union_all(parts)


def _counted(feature: int, of: exp.Expr, hidden: str) -> exp.Select:
    counted = [named(of, "v"), named(column(hidden), SECRET), named(exp.cast(count_rows(), "DOUBLE"), WEIGHT)]
    return exp.select(named(number(feature), FEATURE), *counted).from_(table(names.RELEASED_ROWS))


def _domains(world: AttackWorld, known: Sequence[int]) -> exp.Select:
    """Return one row: how many values each feature has."""
    of_targets = [count_distinct(column(value(position))) for position in range(len(world.quasi_identifiers))]
    counted = [exp.select(of).from_(table(names.TARGETS)).subquery() for of in of_targets]
    of_rows = [count_distinct(column(other(item))) for item in known]
    return exp.select(*counted, *[exp.select(of).from_(table(names.RELEASED_ROWS)).subquery() for of in of_rows])


def _candidates(known: Sequence[int], secret: int) -> exp.Select:
    """Return the targets by type and known values, with each value of the secret column that their classes hold, and
    how many rows of the release hold it."""
    kept = [other(item) for item in known]
    targets = exp.select(column(TYPE), *map(column, kept)).distinct().from_(table(names.TARGETS))
    query = exp.select(column(TYPE, "targets"), *[column(name, "targets") for name in kept])
    query = query.select(named(column(other(secret), "possible"), SECRET), named(column(WEIGHT, "prior"), "prior"))
    query = query.from_(targets.subquery("targets"))
    of_type = equal(column(TYPE, "possible"), column(TYPE, "targets"))
    query = query.join(possible([], [secret]).subquery("possible"), on=of_type)
    prior = exp.select(column(SECRET), column(WEIGHT)).from_(table(names.LEARNT))
    prior = prior.where(equal(column(FEATURE), number(PRIOR)))
    return query.join(prior.subquery("prior"), on=equal(column(SECRET, "prior"), column(other(secret), "possible")))


def _best(world: AttackWorld, known: Sequence[int], secret: int, sizes: Sequence[int]) -> exp.Select:
    """Return the guess of each type and known values: the value with the highest score, ties as in the release."""
    count = len(world.quasi_identifiers)
    query = exp.select(exp.column(exp.Star(), table="candidates")).from_(
        _candidates(known, secret).subquery("candidates")
    )
    query = query.join(table(names.TARGET_TYPES, "types"), on=equal(column(TYPE, "types"), column(TYPE, "candidates")))
    score: exp.Expr = exp.Ln(this=column("prior", "candidates"))
    for feature, size in enumerate(sizes):
        alias = f"learnt_{feature}"
        own = (
            column(value(feature), "types") if feature < count else column(other(known[feature - count]), "candidates")
        )
        met = [equal(column(FEATURE, alias), number(feature)), equal(column("v", alias), own)]
        met.append(equal(column(SECRET, alias), column(SECRET, "candidates")))
        query = query.join(table(names.LEARNT, alias), on=both(met), join_type="left")
        seen = exp.paren(exp.Add(this=or_zero(column(WEIGHT, alias)), expression=number(1)))
        among_all = exp.paren(exp.Add(this=column("prior", "candidates"), expression=number(size)))
        score = exp.Add(this=score, expression=exp.Ln(this=exp.Div(this=seen, expression=among_all, typed=False)))
    by = [column(TYPE), *[column(other(item)) for item in known]]
    query = query.select(named(exp.Round(this=score, decimals=number(DECIMALS)), SCORE))
    best = exp.Window(this=exp.Max(this=column(SCORE)), partition_by=[item.copy() for item in by])
    odds = exp.Exp(this=exp.Sub(this=column(SCORE), expression=column("best")))
    scored = exp.select(exp.Star(), named(best, "best")).from_(query.subquery("scored"))
    scored = exp.select(exp.Star(), named(odds, "odds")).from_(scored.subquery("scored"))
    every = exp.Window(this=exp.Sum(this=column("odds")), partition_by=by)
    sure = exp.Round(this=exp.Div(this=number(1000), expression=every, typed=False), decimals=number(DECIMALS))
    return _first_by(scored, known, secret, [SCORE, "prior"], bigint(exp.Floor(this=sure)))


def without_features(known: Sequence[int], secret: int) -> exp.Select:
    """Return the guess that leaves the features out: of the values of the classes, the one most frequent in all."""
    return _first_by(_candidates(known, secret), known, secret, ["prior"], number(0))


def _first_by(
    query: exp.Query, known: Sequence[int], secret: int, order: Sequence[str], confidence: exp.Expr
) -> exp.Select:
    by = [column(TYPE), *[column(other(item)) for item in known]]
    place = row_number(*[exp.Neg(this=column(name)) for name in order], column(SECRET), partition=by)
    choices = exp.Window(this=count_rows(), partition_by=[item.copy() for item in by])
    shown = [item.copy() for item in by] + [named(column(SECRET), guessed(secret)), named(confidence, CONFIDENCE)]
    ranked = exp.select(*shown, named(place, "place"), named(choices, CHOICES)).from_(query.subquery("scored"))
    return first_of(ranked)
