"""Several rules in place of one for all records (local recoding), as a release that a draft could make."""

from __future__ import annotations

import time
from collections.abc import Container, Sequence
from dataclasses import replace

from sqlanon.assess.profiling.interest import FIRST
from sqlanon.assess.profiling.proposed import (
    BESIDE_FIRST,
    MOST_RECORDS,
    NONE_FOUND,
    Proposal,
    proposal_of,
)
from sqlanon.assess.profiling.wishes import FLOOR
from sqlanon.core import anonymizer
from sqlanon.core.policy import Column, LocalRecoding, Policy
from sqlanon.errors import UnsupportedError

SEVERAL_RULES = "several rules"
SEVERAL_SAVE = 0.25
"""The share of the loss that several rules must save before they are proposed, or they leave something of more."""
RULES_SECONDS, ALL_RULES_SECONDS, RULES_TRIED = 8.0, 16.0, 4
"""For which several rules are looked for, once and before they are not tried again, and how often, each time with fewer
columns."""
LITTLE = 0.4
"""What is left of a column by several rules, at least, for it to be published."""


def by_several_rules(source: object, policy: Policy, single: Proposal, first: Sequence[str]) -> Proposal | None:
    """Return what several rules publish of the first columns; None where they say no more than a single one.

    Where they leave little of a column, the least of the others are left out; the last time, the column itself.
    """
    if policy.entity is not None or single.records > MOST_RECORDS or not single.loss:
        return None
    names, limits = [*first], replace(policy.search, time_limit=RULES_SECONDS)
    proposal, until, is_last = None, time.monotonic() + ALL_RULES_SECONDS, False
    for tried in range(1, RULES_TRIED + 1):
        columns = tuple(_by_rules(item, names, single, first[:FIRST]) for item in policy.columns)
        rules = replace(policy, columns=columns, search=limits, transformation=LocalRecoding())
        try:
            with anonymizer.recode(source, rules, bounded=False) as plan:
                if len(getattr(plan, "rules", ())) < 2:
                    break
                levels = {c.name: c.max_level for c in columns if c.max_level is not None and c.name in names}
                beyond = {each.name: BESIDE_FIRST for each in policy.quasi_identifiers if each.name not in names}
                proposal = proposal_of(SEVERAL_RULES, plan, unmet=(), max_levels=levels, displaced=beyond)
        except (*NONE_FOUND, UnsupportedError):
            break
        proposal = replace(proposal, left_out=single.left_out)
        little = {item.name for item in proposal.columns if (item.left or 0.0) < LITTLE}
        if not little or is_last:
            break
        is_last = tried == RULES_TRIED - 1 or time.monotonic() > until
        names = [name for name in names if name not in little] if is_last else names[: -3 + tried]
        if len(names) < 2:
            break
    return proposal if proposal is not None and _says_more(proposal, single) else None


def _says_more(several: Proposal, single: Proposal) -> bool:
    """Return whether several rules leave something of more columns than a single one, or lose much less."""
    many = sum((item.left or 0.0) >= FLOOR for item in several.columns)
    return many > len(single.columns) or several.loss <= (1 - SEVERAL_SAVE) * single.loss


def _by_rules(item: Column, names: Container[str], single: Proposal, first: Container[str]) -> Column:
    """Return a column as several rules publish it: what a single one publishes of the first, or as it is, each of them
    publishes; what is beyond goes."""
    if item.role == "quasi_identifier":
        limit = single.max_levels.get(item.name)
        limit = limit if limit == 0 or item.name in first else None
        return replace(item, max_level=limit) if item.name in names else Column.drop(item.name)
    followed = item.travels is not None and item.travels.column not in names
    return Column.drop(item.name) if item.name in single.left_out or followed else item
