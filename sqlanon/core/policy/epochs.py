"""``epoch``, ``margin`` and ``record`` of a live view: how long one state of it stays, and who may come to the next."""

from __future__ import annotations

import re

from sqlanon.core.policy.facts import Output, PolicyFacts
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.keys.output import EPOCH_KEYS, LENGTH
from sqlanon.parameters import names_of

UNITS = {"minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
"""Seconds of the units of an epoch."""
JUDGED = ("k_anonymity", "distinct_l_diversity", "entropy_l_diversity", "recursive_l_diversity")
"""The models of a group that say nothing of other records, and that a union of groups meets if each of them does."""
JUDGED_OF_PERSONS = ("k_anonymity", "distinct_l_diversity")
"""Those of them that hold of a union also where one person is in several of its groups."""


def seconds_of(epoch: str) -> int:
    """Return the length of an epoch, ``1 hour`` say, in seconds.

    Raises:
        ValueError: it is no such length.
    """
    found = re.fullmatch(LENGTH, epoch)
    if found is None:
        raise ValueError("no length of an epoch")
    return int(found[1]) * UNITS[found[2]]


def check_epoch(faults: Faults, output: Output) -> None:
    """Note the faults of the keys of an epoch, each by itself."""
    given = [key for key in names_of(EPOCH_KEYS) if getattr(output, key) is not None]
    if given and output.kind != "live_view":
        message = f"Only a live view has an epoch; a {output.kind} stays as it is until it is published anew."
        faults.add(f"output.{given[0]}", message, f"leave out {' and '.join(given)}, or publish a live_view.")
        return
    if given and output.epoch is None:
        message = "Without an epoch a live view does not know what it showed before."
        faults.add(f"output.{given[0]}", message, "add epoch: 1 hour, say.")
    if output.epoch is not None:
        if not isinstance(output.epoch, str) or re.fullmatch(LENGTH, output.epoch) is None:
            hint = "write a number and minutes, hours, days or weeks: epoch: 1 hour."
            faults.add("output.epoch", "This is no length of time.", hint)
        if output.record is None:
            message = "A live view with an epoch must know a record again when its values change."
            faults.add("output.record", message, "name the key column of the source: record: admission_id.")
        else:
            faults.value("output.record", output.record, EPOCH_KEYS)
    faults.value("output.margin", output.margin, EPOCH_KEYS)


def check_epoch_fits(faults: Faults, policy: PolicyFacts) -> None:
    """Note what a policy asks for besides an epoch and cannot have with it."""
    output = policy.output
    if output is None or output.kind != "live_view" or output.epoch is None:
        return
    for column in policy.columns:
        if column.name == output.record and column.role not in ("keep", "drop"):
            message = f"The key of the records, {column.name!r}, has the role {column.role}."
            faults.add("output.record", message, "give it the role drop, or no role at all.")
    known = JUDGED if policy.entity is None else JUDGED_OF_PERSONS
    asked = [(f"privacy[{place}]", model) for place, model in enumerate(policy.privacy)]
    asked += [
        (f"columns.{column.name}.models[{place}]", model)
        for column in policy.columns
        for place, model in enumerate(column.models)
    ]
    if not any(model.type == "k_anonymity" for model in policy.privacy):
        message = "With an epoch groups come and go, and nothing says how large a group must be."
        faults.add("privacy", message, "add {type: k_anonymity, k: 5}, say.")
    for key, model in asked:
        if model.type not in known:
            counted = " of persons" if policy.entity is not None else ""
            message = f"{model.type} cannot be judged{counted} of those alone who come or go at the end of an epoch."
            faults.add(f"{key}.type", message, f"choose {' or '.join(known)}, or leave out epoch.")
