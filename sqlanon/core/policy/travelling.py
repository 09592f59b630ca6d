"""``with``: columns that travel with a quasi-identifier, blank wherever they would reveal more than it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlanon.core.policy.facts import PolicyFacts, Travels
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.keys.columns import TRAVEL_KEYS
from sqlanon.core.policy.transformation import Patterns
from sqlanon.parameters import names_of


def parse_travels(faults: Faults, key: str, value: Any) -> Travels | None:
    """Read the value of ``with``: the name of a column, or a mapping with its level too."""
    if value is None or isinstance(value, str | Travels):
        return Travels(value) if isinstance(value, str) else value
    keys = faults.mapping(key, value, names_of(TRAVEL_KEYS))
    if isinstance(value, Mapping) and "column" not in keys:
        faults.add(f"{key}.column", "The quasi-identifier is missing.", "write with: region, say.")
    return Travels(keys["column"], keys.get("level")) if "column" in keys else None


def written_travels(travels: Travels) -> str | dict[str, Any]:
    """Return it as a policy file has it."""
    return travels.column if travels.level is None else {"column": travels.column, "level": travels.level}


def check_travelling(faults: Faults, policy: PolicyFacts) -> None:
    """Note the faults of columns that travel with a quasi-identifier."""
    quasi = {column.name for column in policy.quasi_identifiers}
    replaced = {asked.name for asked in policy.publish if asked.instead}
    for column in policy.columns:
        travels, key = column.travels, f"columns.{column.name}.with"
        if travels is None:
            continue
        if not isinstance(travels, Travels) or not isinstance(travels.column, str):
            faults.add(key, "This names no quasi-identifier.", "write with: region, say.")
            continue
        if column.role != "keep":
            message = f"A column with the role {column.role} does not travel with another."
            faults.add(key, message, "give it the role keep, or remove with.")
        elif travels.column not in quasi:
            faults.add(key, "This is no quasi-identifier of the policy.", "name one that this column follows from.")
        elif travels.column in replaced:
            message = f"Numbers or dates take the place of {travels.column!r}, and this column follows from its text."
            faults.add(key, message, f"publish them beside it: publish: {{{travels.column}: [low, high]}}.")
        if travels.level is None:
            continue
        if faults.integer(f"{key}.level", travels.level, 0) and isinstance(policy.transformation, Patterns):
            faults.add(f"{key}.level", "Patterns keep or suppress a column; they know no levels.", "remove it.")
