"""What a planned release leaves of single values of its columns, counted in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlanon.assess.profiling.facts import ColumnProfile
from sqlanon.assess.profiling.proposed import MOST_RECORDS
from sqlanon.core.models import least_count
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.policy import Policy
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    column,
    count_distinct,
    count_rows,
    cte,
    named,
    number,
    table,
    union_all,
    when,
    with_ctes,
)

LEAST_LIMIT, FEW_VALUES, FEWEST = 0.01, 10, 20
"""The share of the records that may be left out, at least; values of a column, at most, and records of one, at least
and at least twice that share, of which it is asked whether most would be."""
MOST_OF_ONE, UNEVEN = 0.5, 0.25
"""The share of the records of one value beyond which most are left out; and from which on a draft says so."""


def _losses_of_values(
    plan: Plan,
    policy: Policy,
    levels: Collection[str],
    protected: Collection[str],
    found: Mapping[str, ColumnProfile],
) -> dict[str, list[tuple[float, float]]]:
    """Return, of each column of which few values are published, the share of the records of each of these that is left
    out, with the share of all records that it has before.

    Args:
        levels, protected: the quasi-identifiers and the sensitive columns that the plan publishes.
    """
    losses: dict[str, list[tuple[float, float]]] = {}
    records = plan.ledger.records
    if records > MOST_RECORDS or not plan.ledger.suppressed:
        return losses
    classes = plan.classes(plan.levels)
    held = classes.column(len(plan.levels))
    before: dict[str, dict[Any, int]] = {}
    for name in levels:
        sums = pa.table({"value": classes[name], "held": held}).group_by("value").aggregate([("held", "sum")])
        before[name] = dict(zip(sums["value"].to_pylist(), sums["held_sum"].to_pylist(), strict=True))
    own = [item for item in policy.columns if item.name in protected]
    for item in own:
        if item.level is not None or found[item.name].distinct <= FEW_VALUES:
            before[item.name] = _counted(plan, item.name, plan.source.relation.copy())
    least = max(FEWEST, 2 * LEAST_LIMIT * records)
    for name, counts in before.items():
        if len(counts) > FEW_VALUES + 1:
            continue
        type_name = plan.source.types[name] if name in protected else "VARCHAR"
        after = _counted(plan, name, plan.generalized_query({name: type_name}).subquery("released"))
        losses[name] = [(1 - after.get(value, 0) / n, n / records) for value, n in counts.items() if n >= least]
    return losses


def too_uneven(
    plan: Plan,
    policy: Policy,
    levels: Collection[str],
    protected: Collection[str],
    found: Mapping[str, ColumnProfile],
) -> dict[str, tuple[float, float]]:
    """Return the columns of one of whose values too many records are left out, of an outcome ``UNEVEN``, with the
    largest share of one, and the share of all records that may be left out so that it stays below.

    Of a group of values it is ``MOST_OF_ONE`` at most.
    """
    uneven: dict[str, tuple[float, float]] = {}
    for name, shares in _losses_of_values(plan, policy, levels, protected, found).items():
        most = UNEVEN if name in protected else MOST_OF_ONE
        worst = MOST_OF_ONE if plan.levels.get(name) else 1.0
        beyond = [(min(lost, worst), held * most) for lost, held in shares if lost > most]
        if beyond:
            uneven[name] = max(lost for lost, _ in beyond), min(limit for _, limit in beyond)
    return uneven


def uneven_values(
    plan: Plan,
    policy: Policy,
    levels: Collection[str],
    protected: Collection[str],
    found: Mapping[str, ColumnProfile],
) -> dict[str, float]:
    """Return the columns of one of whose values a share of ``UNEVEN`` of the records is left out, or more, with it."""
    losses = {} if policy.entity is not None else _losses_of_values(plan, policy, levels, protected, found)
    worst = {name: max(lost for lost, _ in shares) for name, shares in losses.items() if shares}
    return {name: lost for name, lost in worst.items() if lost >= UNEVEN}


def with_one_value(plan: Plan, levels: Collection[str], protected: Collection[str]) -> list[str]:
    """Return the columns that a plan publishes and of which it leaves one value, NULL or another, in all records."""
    if plan.ledger.records > MOST_RECORDS or not levels:
        return []
    types = {**dict.fromkeys(levels, "VARCHAR"), **{name: plan.source.types[name] for name in protected}}
    values = [exp.Add(this=count_distinct(column(name)), expression=_lacks_some(name)) for name in types]
    query = exp.select(*values).from_(plan.generalized_query(types).subquery("released"))
    [row] = plan.engine.run("values left", query)
    return [name for name, held in zip(types, row, strict=True) if int(held) < 2]


def _lacks_some(name: str) -> exp.Expr:
    """Return 1 where some records have no value in a column, else 0."""
    return when(exp.LT(this=exp.Count(this=column(name)), expression=count_rows()), number(1), number(0))


def _counted(plan: Plan, name: str, rows: exp.Expr) -> dict[Any, int]:
    """Return the values of a column of some rows with how many rows have each."""
    query = exp.select(column(name), count_rows()).from_(rows).group_by(column(name))
    return {value: int(held) for value, held in plan.engine.run("values", query)}


def few_if_known(
    plan: Plan, policy: Policy, levels: Collection[str], protected: Collection[str]
) -> dict[tuple[str, ...], int]:
    """Return, for each sensitive column, each two and all of them, the published records that stand in groups of fewer
    than k, if others know these of a person beside the quasi-identifiers, and no other sensitive one. With an entity,
    persons in groups of fewer than k persons. For no column, return all of which something is published.

    Args:
        levels, protected: the quasi-identifiers and the sensitive columns that the plan publishes.
    """
    if plan.ledger.records > MOST_RECORDS or not protected:
        return {}
    k, of_persons = least_count(policy.models), policy.entity is not None
    known = [item.name for item in plan.catalog.attributes if item.name in levels]
    types = {**dict.fromkeys(known, "VARCHAR"), **{name: plan.source.types[name] for name in protected}}
    released = cte("released", plan.generalized_query(types, entities=of_persons), materialized=True)
    person = [column(names.ENTITY)] if of_persons else []
    number_of = exp.Count(this=exp.Distinct(expressions=person)) if of_persons else count_rows()
    some = [*combinations(protected, 1), *combinations(protected, 2), (*protected,)]
    asked: list[tuple[str, ...]] = list(dict.fromkeys([(), *some]))
    parts: list[exp.Query] = []
    for place, also in enumerate(asked):
        keys = [column(name) for name in (*known, *also)]
        units = exp.select(*keys, *person).from_(table("released"))
        units = units.distinct() if of_persons else units
        held = exp.Window(this=count_rows(), partition_by=[key.copy() for key in keys])
        counted = exp.select(named(held, "held"), *person).from_(units.subquery("units")).subquery("counted")
        query = exp.select(named(number(place), "place"), named(number_of.copy(), "few")).from_(counted)
        if also:
            query = query.where(exp.LT(this=column("held"), expression=number(k)))
        parts.append(query)
    rows = plan.engine.run("few if known", with_ctes(union_all(parts), [released]))
    return {asked[int(place)]: int(found) for place, found in rows}
