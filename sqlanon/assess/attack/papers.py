"""What the papers beside a release reveal beyond it: sums over all records, from which suppressed ones are decoded.

A bound of generalization alone, as the operator's certificate holds it, is a weighted mean of the losses of the columns
at the levels of its box, each the sum over *all* records of (leaves - 1) / (N (D - 1)). Many boxes make a system of
linear equations; where it fixes the loss of a column at a level, N (D - 1) times that is a whole number, the published
records' part can be counted in the release, and what is left are the leaves of the suppressed records. Few multisets of
groups have these sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from sqlglot import exp

from sqlanon.assess.attack.facts import INFERENCE, Finding, NotApplicable, Outcome
from sqlanon.assess.attack.statements import text
from sqlanon.assess.attack.world import PolicyWorld
from sqlanon.core.compiler.encoded_source import COVERED, leaves
from sqlanon.core.measures.loss import Loss
from sqlanon.core.publish.proof_file import stated
from sqlanon.core.publish.recipient_certificate import is_recipients
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import both, column, count_rows, equal, named, number, table

ATTACK = "papers_suppressed_values"
FEW = 3
"""A column is decoded if at most so many multisets of groups are left."""
MOST_SUPPRESSED, MOST_STATES = 60, 200_000
"""More suppressed records, or more partial sums, are not decoded: there are too many multisets to be few."""
NOISE = 1e-3
"""How far a sum may be from a whole number, because certificates hold floating-point numbers."""


@dataclass(frozen=True, slots=True)
class _Groups:
    """The groups of a column at one level: their leaves there and above, and how many groups have the same."""

    position: int
    levels: tuple[int, ...]
    kinds: tuple[tuple[tuple[int, ...], int], ...]
    published: tuple[int, ...]


def by_papers(world: PolicyWorld) -> Outcome:
    """Return of how many columns the papers beside the release give away the values of the suppressed records."""
    reason = _nothing_to_try(world)
    if reason is not None:
        return NotApplicable(ATTACK, INFERENCE, reason)
    manifest, certificate = world.manifest, world.certificate
    assert manifest is not None and certificate is not None
    suppressed = int(manifest["ledger"]["suppressed"])
    published = _levels(world, manifest)
    sums = {} if is_recipients(certificate) else _level_sums(world, certificate, manifest)
    tried = decoded = guessed = 0
    for position, level in enumerate(published):
        top = world.encoding.catalog.attributes[position].height - 1
        groups = _groups(world, position, level, tuple(range(level, top + 1))) if level < top else None
        if groups is None or sum(count for _, count in groups.kinds) < 2:
            continue
        tried += 1
        guessed += comb(suppressed + sum(count for _, count in groups.kinds) - 1, suppressed) <= FEW
        known = {at: total for at, total in enumerate(sums.get(position, ())) if total is not None}
        decoded += _is_decoded(groups, known, suppressed)
    return Finding(
        attack=ATTACK,
        risk=INFERENCE,
        attempts=tried,
        successes=decoded,
        baseline_successes=guessed,
        how="Subtract the published records from the sums over all records that the bounds of a certificate hold; a "
        f"success leaves at most {FEW} multisets of groups that the suppressed records can have in a column. (Groups "
        "that occur in the source.) The baseline has the release and the number of suppressed records alone.",
        meaning=_meaning(tried, decoded, suppressed, is_recipients(certificate)),
        figures={"suppressed_records": suppressed},
    )


def _nothing_to_try(world: PolicyWorld) -> str | None:
    """Return why the papers cannot be attacked; None if they can."""
    if world.certificate is None or world.manifest is None:
        return "No certificate and manifest are beside the release."
    ledger = world.manifest.get("ledger", {})
    if world.policy.entity is not None or "rules" in world.manifest:
        return "The release is of several rules, or counts persons, for which nothing is decoded."
    if not all(isinstance(ledger.get(key), int) for key in ("records", "suppressed", "excluded")):
        return "The manifest withholds the number of suppressed records, and with it all losses and bounds."
    if not ledger["suppressed"]:
        return "No record is suppressed."
    measure = world.certificate.get("measure"), world.certificate.get("aggregate")
    if measure[0] != Loss.name or measure[1] not in ("arithmetic_mean", "sum"):
        return "Only bounds of the measure loss, as a sum or a mean, are decoded."
    return None


def _meaning(tried: int, decoded: int, suppressed: int, of_recipient: bool) -> str:
    if of_recipient:
        return "The certificate beside the release is a recipient's: it holds no bound, and nothing is decoded from it."
    warning = "The operator's certificate is beside the release: keep it elsewhere."
    if not decoded:
        return f"{warning} What the {suppressed:,} suppressed records have in common was not decoded from its bounds."
    return (
        f"{warning} Of {decoded} of {tried} columns its bounds leave at most {FEW} possibilities for the values that "
        f"the {suppressed:,} suppressed records have together."
    )


def _levels(world: PolicyWorld, manifest: Mapping[str, Any]) -> list[int]:
    level_of = {item["name"]: item.get("level") for item in manifest["columns"]}
    return [int(level_of[name]) for name in world.quasi_identifiers]


def _level_sums(
    world: PolicyWorld, certificate: Mapping[str, Any], manifest: Mapping[str, Any]
) -> dict[int, list[int | None]]:
    """Return per column and level the sum over all records of leaves - 1, where the bounds determine it.

    Raises:
        InputError: the certificate is of other columns than the policy.
    """
    attributes = world.encoding.catalog.attributes
    statement = stated(certificate, world.encoding.catalog)
    ledger = manifest["ledger"]
    records = ledger["records"] - ledger["excluded"]
    starts = np.cumsum([0, *(a.height for a in attributes)])
    weights = np.array([a.weight for a in attributes], dtype=float)
    weights = weights / weights.sum() if certificate["aggregate"] == "arithmetic_mean" else weights
    rows, values = [], []
    exact = world.policy.uncovered != "top" and ledger["reasons"]["uncovered"] == 0
    for position, column_of in enumerate(world.policy.quasi_identifiers):
        if exact and world.policy.uncovered_of(column_of) != "top":  # a value stands for itself
            rows.append(_unit(starts[-1], {int(starts[position]): 1.0}))
            values.append(0.0)
    for position, attribute in enumerate(attributes):  # the top stands for everything
        if attribute.domain > 1 and attribute.widths[-1] == 1:
            rows.append(_unit(starts[-1], {int(starts[position]) + attribute.height - 1: 1.0}))
            values.append(1.0)
    for box in statement.boxes:
        if box.kind == "number" and box.claim.bound is not None:
            at = {int(starts[i]) + level: weights[i] for i, level in enumerate(box.claim.bottom)}
            rows.append(_unit(starts[-1], at))
            values.append(box.claim.bound)
    if not rows:
        return {}
    matrix = np.array(rows)
    solution, *_ = np.linalg.lstsq(matrix, np.array(values), rcond=None)
    _, singular, right = np.linalg.svd(matrix)
    rank = int((singular > 1e-9 * singular[0]).sum())
    free = np.abs(right[rank:]).max(axis=0, initial=0.0)
    found: dict[int, list[int | None]] = {}
    for position, attribute in enumerate(attributes):
        scale = records * (attribute.domain - 1)
        places = range(int(starts[position]), int(starts[position + 1]))
        found[position] = [_whole(solution[at] * scale) if free[at] < 1e-7 else None for at in places]
    return found


def _unit(length: int, at: Mapping[int, float]) -> list[float]:
    row = [0.0] * int(length)
    for place, value in at.items():
        row[place] = value
    return row


def _whole(value: float) -> int | None:
    return round(value) if abs(value - round(value)) < NOISE else None


def _groups(world: PolicyWorld, position: int, level: int, levels: tuple[int, ...]) -> _Groups:
    """Return the groups of a column at its published level, and the published records' sums of leaves - 1."""
    lookup = table(names.LOOKUP, "l")
    own = [column("attribute", "l"), number(position)]
    met = both([equal(*own), equal(column(COVERED, "l"), number(1))])
    sizes = [named(exp.Min(this=column(leaves(at), "l")), leaves(at)) for at in levels]
    by_text = [named(column(names.level(level), "l"), "text"), *sizes]
    groups = exp.select(*by_text).from_(lookup).where(met).group_by(column(names.level(level), "l"))
    listed = [column(leaves(at)) for at in levels]
    kinds = exp.select(*listed, named(count_rows(), "groups")).from_(groups.subquery("listed"))
    kinds = kinds.group_by(*[item.copy() for item in listed])
    engine = world.engine
    found = [tuple(map(int, row)) for row in engine.run("groups of a column", kinds)]
    known = exp.select(column("t"), named(exp.Min(this=column("v")), "v")).from_(table(names.KNOWN_TEXTS))
    known = known.where(equal(column("attribute"), number(position))).group_by(column("t"))
    values = equal(column("v", "known"), column("v", "values"))
    of_value = both(
        [
            equal(column("attribute", "l"), number(position)),
            exp.NullSafeEQ(this=column("value", "l"), expression=column("value", "values")),
        ]
    )
    joined = exp.select(
        *[exp.Sum(this=column(names.COUNT, "classes") * (column(leaves(at), "l") - number(1))) for at in levels]
    )
    joined = joined.from_(table(names.RELEASED_CLASSES, "classes"))
    joined = joined.join(known.subquery("known"), on=equal(column("t", "known"), column(text(position), "classes")))
    joined = joined.join(table(names.KNOWN_VALUES, "values"), on=values)
    joined = joined.join(table(names.LOOKUP, "l"), on=of_value)
    [sums] = engine.run("leaves of published records", joined)
    return _Groups(position, levels, tuple((row[:-1], row[-1]) for row in found), tuple(int(s or 0) for s in sums))


def _is_decoded(groups: _Groups, known: Mapping[int, int], suppressed: int) -> bool:
    """Return whether at most ``FEW`` multisets of groups have the sums that are left for the suppressed records."""
    places = [place for place, level in enumerate(groups.levels) if level in known]
    if not places or suppressed > MOST_SUPPRESSED:
        return False
    left = tuple(known[groups.levels[place]] - groups.published[place] for place in places)
    kinds: dict[tuple[int, ...], int] = {}
    for sizes, count in groups.kinds:
        costs = tuple(sizes[place] - 1 for place in places)
        kinds[costs] = kinds.get(costs, 0) + count
    ways = multisets([*kinds.items()], suppressed, left)
    return ways is not None and 0 < ways <= FEW


def multisets(kinds: Sequence[tuple[tuple[int, ...], int]], size: int, sums: tuple[int, ...]) -> int | None:
    """Return how many multisets of so many groups have these sums; None where it is too much to count.

    >>> multisets([((0,), 1), ((1,), 2), ((3,), 1)], 2, (3,))
    1
    >>> multisets([((0,), 1), ((1,), 2), ((3,), 1)], 2, (2,))
    3
    """
    states: dict[tuple[int, tuple[int, ...]], int] = {(0, (0,) * len(sums)): 1}
    for costs, count in kinds:
        after: dict[tuple[int, tuple[int, ...]], int] = {}
        for (used, reached), ways in states.items():
            for taken, total in _taking(size - used, reached, costs, sums):
                key = used + taken, total
                after[key] = after.get(key, 0) + ways * comb(taken + count - 1, taken)
        if len(after) > MOST_STATES:
            return None
        states = after
    return states.get((size, sums), 0)


def _taking(
    most: int, reached: tuple[int, ...], costs: tuple[int, ...], sums: tuple[int, ...]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield how many records can be of a group, and the sums that they reach."""
    for taken in range(most + 1):
        total = tuple(one + taken * cost for one, cost in zip(reached, costs, strict=True))
        if any(one > allowed for one, allowed in zip(total, sums, strict=True)):
            return
        yield taken, total
