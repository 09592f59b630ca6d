"""The roles that need a key: pseudonyms of persons, and dates that are shifted by one number of days a person."""

from __future__ import annotations

from sqlanon.core.policy.columns import KEYED_ROLES, MOST_DAYS, Column
from sqlanon.core.policy.facts import PolicyFacts
from sqlanon.core.policy.faults import Faults

PROTECTING = ("profile_k",)
"""The privacy models that protect records which a pseudonym links."""
WEEK = 7


def shift_of(policy: PolicyFacts) -> Column | None:
    """Return a column whose dates are shifted, with the window that all have; None without one."""
    return next((column for column in policy.columns if column.role == "shift"), None)


def check_keyed(faults: Faults, policy: PolicyFacts) -> None:
    """Note the faults of pseudonyms, shifted dates and a sample."""
    if policy.sample is not None and policy.key is None:
        hint = "add key: {file: secret.key}, or key: {env: STUDY_KEY}."
        faults.add("sample", "A sample is drawn with a key, so that nobody else knows who is in it.", hint)
    if policy.sample is not None and policy.subset is not None:
        faults.add("sample", "The source is the population of the subset already.", "leave out sample, or the subset.")
    for column in policy.columns:
        key = f"columns.{column.name}"
        if column.role in KEYED_ROLES and policy.key is None:
            hint = "add key: {file: secret.key}, or key: {env: STUDY_KEY}."
            faults.add(f"{key}.role", f"The role {column.role} needs a key.", hint)
        if column.role == "pseudonym":
            _check_pseudonym(faults, policy, column)
        elif column.role == "shift":
            _check_shift(faults, policy, column)
        if column.role != "shift":
            for name, given in (("days", column.days is not None), ("keep_weekday", column.keep_weekday)):
                if given:
                    faults.add(f"{key}.{name}", "This key belongs to dates that are shifted.", "remove it.")


def _check_pseudonym(faults: Faults, policy: PolicyFacts, column: Column) -> None:
    """Note a fault unless the column names persons, and a model protects what its pseudonyms link."""
    key = f"columns.{column.name}.role"
    if policy.entity != column.name:
        message = "A pseudonym is published of the column that identifies the person of a record."
        faults.add(key, message, f"say entity: {column.name} too, or give the column another role.")
    if not any(model.type in PROTECTING for model in policy.privacy):
        message = (
            "Pseudonyms link the records of a person: anyone who knows of several finds the others, however many "
            "persons share each record's class."
        )
        faults.add(key, message, f"ask for {PROTECTING[0]} under privacy, say {{type: {PROTECTING[0]}, k: 5}}.")


def _check_shift(faults: Faults, policy: PolicyFacts, column: Column) -> None:
    """Note the faults of a column whose dates are shifted; all have one window, so that intervals stay exact."""
    key = f"columns.{column.name}"
    if policy.entity is None:
        message = "Dates are shifted by one number of days a person, and the policy does not say whose they are."
        faults.add(f"{key}.role", message, "name the column of persons: entity: patient_id.")
    if not isinstance(column.keep_weekday, bool):
        faults.add(
            f"{key}.keep_weekday", "This is neither true nor false.", "write keep_weekday: true, or leave it out."
        )
        return
    least = WEEK if column.keep_weekday else 1
    days = column.days
    if isinstance(days, bool) or not isinstance(days, int) or not least <= days <= MOST_DAYS:
        message = "Shifted dates need a window." if days is None else "This is not a window of days."
        hint = f"say by how many days a date is shifted at most, from {least} to {MOST_DAYS}, e.g. days: 180."
        faults.add(f"{key}.days", message, hint)
    first = shift_of(policy)
    if first is not None and (first.days, first.keep_weekday) != (days, column.keep_weekday):
        message = f"The column {first.name!r} has another window, and all dates of a person are shifted alike."
        faults.add(f"{key}.days", message, "give all shifted columns the same days and keep_weekday.")
