"""What a policy must say that protects persons by all of their rows (``keyed``: that links them needs it)."""

from __future__ import annotations

from sqlanon.core.models.base import judges_persons
from sqlanon.core.policy.extensions import found
from sqlanon.core.policy.facts import Model, PolicyFacts
from sqlanon.core.policy.faults import Faults


def check_persons(faults: Faults, policy: PolicyFacts) -> None:
    """Note what a model of persons (``profile_k``) lacks, and what is not defined beside it."""
    profiles = [(number, model) for number, model in enumerate(policy.privacy) if _is_of_persons(policy, model)]
    if not profiles:
        return
    number, model = profiles[0]
    if len(profiles) > 1:
        faults.add(
            f"privacy[{profiles[1][0]}]", "Another model of persons is listed before it.", "keep the stricter one."
        )
    if policy.entity is None:
        message = f"{model.type} is about persons, and the policy does not say whose a record is."
        faults.add(f"privacy[{number}]", message, "add entity: COLUMN.")
    if policy.transformation is not None:
        message = f"{model.type} judges persons at one node for all records."
        faults.add("transformation", message, "leave it out, or the model.")
    _check_others(faults, policy, model)
    _check_measure(faults, policy, model)


def _check_others(faults: Faults, policy: PolicyFacts, model: Model) -> None:
    """Note what is not defined beside a model of persons; models of sensitive columns are judged in its classes."""
    k, bounded = model.parameters.get("k"), "at_most" in model.parameters
    for column in policy.columns if bounded else ():
        if column.models:
            message = f"{model.type} with at_most has no classes in which the values of this column could be judged."
            faults.add(f"columns.{column.name}.models", message, f"leave the models out, or at_most of {model.type}.")
    for number, other in enumerate(policy.privacy):
        key = f"privacy[{number}]"
        if _is_of_persons(policy, other):
            continue
        if bounded:
            message = f"{model.type} with at_most is the only model under privacy; k_anonymity up to its k is implied."
            faults.add(key, message, f"leave {other.type} out, or at_most of {model.type}.")
            continue
        if other.type != "k_anonymity":
            message = f"{other.type} judges classes of records, and {model.type} suppresses whole persons."
            faults.add(key, message, f"leave out one of them; {model.type} implies k_anonymity.")
            continue
        asked = other.parameters.get("k")
        if isinstance(asked, int) and isinstance(k, int) and asked > k:
            message = f"k_anonymity asks for more persons in a class than {model.type}, which suppresses whole persons."
            faults.add(key, message, f"say {{type: {model.type}, k: {asked}}}, which implies it.")


def _check_measure(faults: Faults, policy: PolicyFacts, model: Model) -> None:
    """Note a measure of the sizes of classes: part of a class of rows may be suppressed."""
    kind = found(policy.extensions.measure, policy.quality.measure)
    if getattr(kind, "needs", None) == "classes":
        message = f"{policy.quality.measure} is about the sizes of classes, part of which {model.type} suppresses."
        faults.add("quality.measure", message, "choose loss, precision or non_uniform_entropy, say.")


def _is_of_persons(policy: PolicyFacts, model: Model) -> bool:
    kind = found(policy.extensions.model, model.type)
    return kind is not None and judges_persons([kind])  # type: ignore[list-item]  # a class has it, too
