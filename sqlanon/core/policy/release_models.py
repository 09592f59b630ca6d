"""What release models (``models.release``) are not defined for: faults of a policy, before anything is read."""

from __future__ import annotations

from sqlanon.core.policy.extensions import found
from sqlanon.core.policy.facts import PolicyFacts
from sqlanon.core.policy.faults import Faults


def check_release_models(faults: Faults, policy: PolicyFacts) -> None:
    """Note what a policy asks of models that judge all classes of a release together, and what cannot be had."""
    for number, model in enumerate(policy.privacy):
        kind = found(policy.extensions.model, model.type)
        if getattr(kind, "of_release", False) is not True:  # of profile_k it is a question (``check_persons``)
            continue
        key = f"privacy[{number}].type"
        if policy.transformation is not None:
            message = f"{model.type} judges all classes of a release together; patterns and local recoding add them up."
            faults.add(key, message, "leave out transformation.")
        if policy.entity is not None and not getattr(kind, "counts_entities", False):
            message = f"{model.type} counts records, and the policy counts entities."
            faults.add(key, message, "leave out entity, or the model.")
        if policy.output is not None and policy.output.kind == "live_view" and not getattr(kind, "judged_live", False):
            message = f"{model.type} judges all classes of a release together, which a live view does not."
            faults.add(key, message, "publish a table or a file.")
