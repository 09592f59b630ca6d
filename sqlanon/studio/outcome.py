"""Figures of a plan beyond those of a report: prices of finer levels, levels in numbers, rows before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlanon.core.hierarchies.wording import describe_level
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.plan.planned import Planned
from sqlanon.core.policy import Policy
from sqlanon.errors import NoSolutionError, SearchStoppedError

FINER_SECONDS = 2
"""Seconds that the search of a price may take."""
MOST_VALUES, MOST_SHOWN = 3_000, 30
"""Values of a level that are counted, and those that are shown, at most."""
ROWS = 6


@dataclass(frozen=True, slots=True)
class Price:
    """The price of the next finer level of a column.

    Attributes:
        level, words: the level, and what it publishes.
        loss, suppressed: of the best release with it, beside those of the present one; ``suppressed`` counts persons
            where the policy does, otherwise records. None where no release meets the policy.
        coarser: the columns that become coarser for it.
        lifts: there is none within the limits of the other columns' levels; this is the best without them.
        optimal: it is proven that no release with that level loses less.
        reason: why there is no such release.
    """

    column: str
    level: int
    words: str
    loss: float | None = None
    loss_now: float = 0.0
    suppressed: int = 0
    suppressed_now: int = 0
    unit: str = "records"
    coarser: tuple[str, ...] = ()
    lifts: bool = False
    optimal: bool = True
    reason: str = ""


def finer_levels(plan: Plan, policy: Policy) -> Iterator[Price]:
    """Yield the price of each column's next finer level, where it has one: that of the best release with it.

    Args:
        policy: that of the plan, with a limit on the time of each search.
    """
    now, unit = _account(plan)
    for attribute, level in zip(plan.catalog.attributes, plan.node, strict=True):
        if level == 0:
            continue
        [item] = [column for column in policy.quasi_identifiers if column.name == attribute.name]
        words = describe_level(item.hierarchy, level - 1, attribute.height)
        price = Price(item.name, level - 1, words, loss_now=plan.certificate.loss, suppressed_now=now, unit=unit)
        lower = replace(item, max_level=level - 1, min_level=min(item.min_level or 0, level - 1))
        columns = [lower if column.name == item.name else column for column in policy.columns]
        free = [each if each.name == item.name else replace(each, max_level=None) for each in columns]
        for lifts, tried in enumerate([columns] if free == columns else [columns, free]):
            try:
                found = plan.with_policy(replace(policy, columns=tuple(tried)))
            except NoSolutionError:
                price = replace(price, reason="No release with it meets the policy.")
            except SearchStoppedError:
                price = replace(price, reason=f"None was found within {FINER_SECONDS} seconds.")
            else:
                pairs = zip(plan.catalog.attributes, plan.node, found.node, strict=True)
                price = replace(
                    price,
                    loss=found.certificate.loss,
                    suppressed=_account(found)[0],
                    coarser=tuple(attribute.name for attribute, old, new in pairs if new > old),
                    lifts=lifts > 0,
                    optimal=found.certificate.optimal,
                )
                break
        yield price


def _account(plan: Planned) -> tuple[int, str]:
    """Return how many are suppressed, and what is counted."""
    persons = plan.ledger.entities
    return (plan.ledger.suppressed, "records") if persons is None else (persons.suppressed, "persons")


@dataclass(frozen=True, slots=True)
class LevelInNumbers:
    """A level of a hierarchy: what it publishes, how many values that are, and the largest with their counts.

    Attributes:
        shown: texts with their records, none of fewer than k; None where the level has too many values to count.
        few: values of fewer records, which are not shown.
    """

    level: int
    words: str
    values: int
    shown: tuple[tuple[str, int], ...] | None
    few: int = 0
    chosen: bool = False


def levels_in_numbers(
    plan: Plan, least: int, known: Mapping[str, Sequence[LevelInNumbers]]
) -> dict[str, list[LevelInNumbers]]:
    """Return the levels of each quasi-identifier; those whose values are few are counted by the database.

    Args:
        least: values of fewer records are not shown.
        known: the levels of columns that were counted already.
    """
    tops = {attribute.name: attribute.height - 1 for attribute in plan.catalog.attributes}
    specs = {item.name: item.hierarchy for item in plan.policy.quasi_identifiers}
    found: dict[str, list[LevelInNumbers]] = {}
    for attribute, chosen in zip(plan.catalog.attributes, plan.node, strict=True):
        levels = list(known.get(attribute.name, ()))
        if not levels:
            for level, width in enumerate(attribute.widths):
                words = describe_level(specs[attribute.name], level, attribute.height)
                item = LevelInNumbers(level, words, width, None)
                counts = width <= MOST_VALUES and width > 1
                levels.append(_counted(plan, {**tops, attribute.name: level}, attribute.name, item, least)
                              if counts else item)  # fmt: skip
        found[attribute.name] = [replace(item, chosen=item.level == chosen) for item in levels]
    return found


def _counted(plan: Plan, levels: Mapping[str, int], name: str, item: LevelInNumbers, least: int) -> LevelInNumbers:
    """Return a level with its values that enough records have."""
    counted = plan.classes(levels)
    count = next(reversed([each for each in counted.column_names if each not in levels]))
    pairs = zip(counted[name].to_pylist(), counted[count].to_pylist(), strict=True)
    rows = [("NULL" if text is None else str(text), int(number)) for text, number in pairs]
    enough = [row for row in rows if row[1] >= least]
    most = sorted(enough, key=lambda row: (-row[1], row[0]))[:MOST_SHOWN]
    return replace(item, shown=tuple(sorted(most, key=_as_read)), few=len(rows) - len(enough))


def _as_read(row: tuple[str, int]) -> tuple[float, str]:
    """Return the key that orders labels as people read them: by the number that they begin with, then by letters."""
    digits = ""
    for sign in row[0].lstrip("[(<>=≥ "):
        if not (sign.isdigit() or sign in ".-"):
            break
        digits += sign
    try:
        return (-0.5 if row[0].startswith("<") else 0.0) + float(digits), row[0]
    except ValueError:
        return float("inf"), row[0]


def rows_beside(plan: Plan) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return some records that are published: per quasi-identifier, pairs of the value and what is published of it."""
    names = [attribute.name for attribute in plan.catalog.attributes]
    types = dict.fromkeys(names, "VARCHAR")
    aliases = {name: f"_sqlanon_before_{place}" for place, name in enumerate(names)}
    query = plan.generalized_query(types, values=aliases, of_source=True)
    rows = plan.engine.arrow("rows before and after", query.limit(ROWS))
    return [
        (name, [(_text(a), _text(b)) for a, b in
                zip(rows[aliases[name]].to_pylist(), rows[name].to_pylist(), strict=True)])
        for name in names
    ]  # fmt: skip


def _text(value: object) -> str:
    return "NULL" if value is None else str(value)
