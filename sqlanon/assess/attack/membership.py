"""Membership: say of somebody whose values are known whether they are in the release.

The attacker knows everybody of a population, of whom some are in the release, and counts in each class the rows and
the people of the population whom it covers: of n people and r rows, r / n of the people are in. A threshold of that
share makes the claims. It is chosen among one half of the types and used on the other half, because a threshold that
is chosen and judged by the same records looks better than it is. Without a control group nothing can be claimed
wrongly, so that there is no such attack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from sqlanon.assess.attack.facts import MEMBERSHIP, Control, Finding, NotApplicable, Outcome
from sqlanon.assess.attack.ranked import FEWEST, prc, ranked
from sqlanon.assess.attack.statements import CLASS, DISTANCE, IN_RELEASE, PART, TYPE, other
from sqlanon.assess.attack.world import AttackWorld
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import bigint, both, column, count_rows, equal, named, number, table

SCORE, HALF = "score", "half"
FALSE_CLAIMS = 0.01
"""The share of false claims at which few of them are accepted."""
Scores = Sequence[tuple[int, int, int, int]]
"""Part, half, score and how many records have them."""


def by_membership(world: AttackWorld) -> Iterator[Outcome]:
    """Yield how well the release tells who is in it, by the quasi-identifiers and by all columns."""
    several: list[tuple[str, tuple[str, ...], str]] = [("membership_by_quasi_identifiers", (), "the quasi-identifiers")]
    several += [("membership_by_all_columns", world.beside, "all columns")] if world.beside else []
    for attack, beside, known in several:
        if not world.controls or not world.published:
            yield NotApplicable(attack, MEMBERSHIP, "It needs a release, and a control group that is not in it.")
            continue
        rows = world.engine.run("membership", _scores(range(len(beside))))
        found = [(int(part), int(half), int(score), int(records)) for part, half, score, records in rows]
        yield _finding(world, attack, (*world.quasi_identifiers, *beside), found, known)


def _finding(world: AttackWorld, attack: str, columns: tuple[str, ...], scores: Scores, known: str) -> Finding:
    assert world.controls is not None
    claimed = [0, 0]
    for half in (0, 1):
        threshold = _threshold([row for row in scores if row[1] != half])
        for part, own, score, records in scores:
            claimed[part] += records if own == half and threshold is not None and score >= threshold else 0
    right, wrong = claimed
    everybody = world.records + world.controls
    sure = [
        (min(score, 1000), records, records * (part == IN_RELEASE)) for part, _, score, records in scores if score >= 0
    ]
    return Finding(
        attack=attack,
        risk=MEMBERSHIP,
        columns=columns,
        attempts=world.records,
        successes=right,
        baseline_successes=round(world.records * (right + wrong) / everybody),
        control=Control(world.records, right, world.controls, wrong),
        ranked=ranked(sure, everybody, naive=prc(world.records / everybody, 1.0)) if world.controls >= FEWEST else None,
        how=f"Know {known} of {everybody:,} people, and claim of those that they are in the release of whom a large "
        "share of the people whom their class covers is; a success is a claim about somebody who is. The baseline "
        "makes as many claims at random.",
        meaning=f"Of {right + wrong:,} people of whom it is claimed that they are in the release, {right:,} are.",
        figures={"right_with_1_percent_wrong": _right_with_few_wrong(scores, FALSE_CLAIMS * world.controls)},
    )


def _cumulated(scores: Scores) -> Iterator[tuple[int, int, int]]:
    """Yield the scores, the highest first, with the records of each part that have so high a one."""
    counts = [0, 0]
    for score in sorted({row[2] for row in scores}, reverse=True):
        for part, _, own, records in scores:
            counts[part] += records if own == score else 0
        yield score, counts[0], counts[1]


def _threshold(scores: Scores) -> int | None:
    """Return the score from which on right claims are the more frequent than wrong ones; None if they never are."""
    inside, outside = (sum(row[3] for row in scores if row[0] == part) for part in (0, 1))
    if not inside or not outside:
        return None
    best, threshold = 0.0, None
    for score, right, wrong in _cumulated(scores):
        if right / inside - wrong / outside > best:
            best, threshold = right / inside - wrong / outside, score
    return threshold


def _right_with_few_wrong(scores: Scores, most: float) -> int:
    return max((right for _, right, wrong in _cumulated(scores) if wrong <= most), default=0)


def _scores(places: Sequence[int]) -> exp.Select:
    """Return part, half and score of the records, and how many have them.

    The score of a record is the share of the people whom its class covers that is in the release, in thousandths, the
    largest of its classes; for each step that a class is merely near, a tenth of that.
    """
    values = [other(place) for place in places]
    rows = exp.select(column(CLASS), *map(column, values), named(count_rows(), "rows"))
    rows = rows.from_(table(names.RELEASED_ROWS)).group_by(column(CLASS), *map(column, values))
    of_people = [column(CLASS, "covering"), *[column(name, "targets") for name in values]]
    people = exp.select(*of_people, named(count_rows(), "people")).from_(table(names.COVERING, "covering"))
    people = people.join(table(names.TARGETS, "targets"), on=equal(column(TYPE, "targets"), column(TYPE, "covering")))
    people = people.group_by(*[item.copy() for item in of_people])
    thousandfold = exp.Mul(this=column("rows", "rows"), expression=number(1000))
    share = exp.IntDiv(this=thousandfold, expression=column("people", "people"))
    step = exp.cast(exp.Pow(this=number(10), expression=column(DISTANCE, "covering")), "BIGINT")
    score = exp.Max(this=exp.IntDiv(this=bigint(share), expression=step))
    by = [column(TYPE, "covering"), *[column(name, "people") for name in values]]
    scored = exp.select(*by, named(score, SCORE)).from_(table(names.COVERING, "covering"))
    scored = scored.join(people.subquery("people"), on=equal(column(CLASS, "people"), column(CLASS, "covering")))
    alike = both(equal(column(name, "people"), column(name, "rows")) for name in (CLASS, *values))
    scored = scored.join(rows.subquery("rows"), on=alike).group_by(*[item.copy() for item in by])
    met = both(equal(column(name, "scored"), column(name, "targets")) for name in (TYPE, *values))
    found = exp.Coalesce(this=column(SCORE, "scored"), expressions=[exp.Neg(this=number(1))])
    half = exp.Mod(this=column(TYPE, "targets"), expression=number(2))
    query = exp.select(column(PART, "targets"), named(half, HALF), named(found, SCORE), count_rows())
    query = query.from_(table(names.TARGETS, "targets")).join(scored.subquery("scored"), on=met, join_type="left")
    return query.group_by(column(PART, "targets"), half.copy(), found.copy())
