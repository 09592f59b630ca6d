"""The privacy models that a policy names, and how one is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlanon.core.policy.extensions import Extensions, found
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.parts import PolicyPart
from sqlanon.core.policy.search import find_named
from sqlanon.errors import SqlanonError


@dataclass(frozen=True, slots=True)
class Model(PolicyPart):
    """A privacy model and its parameters, e.g. ``Model("k_anonymity", {"k": 5})``.

    The built-in models have constructors of their own (``KAnonymity(5)``); this one names models of extensions too.
    """

    built = "sqlanon.KAnonymity(5)"

    type: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


def check_model(
    faults: Faults,
    key: str,
    model: Model,
    extensions: Extensions,
    *,
    column: str | None = None,
    without: Sequence[str] = (),
) -> None:
    """Note the faults of one model.

    Args:
        column: the column it stands under.
        without: parameters that it need not name.
    """
    known = extensions.names("models")
    faults.choice(f"{key}.type", model.type, known)
    if model.type not in known:
        return
    kind = find_named(faults, f"{key}.type", extensions.model, model.type)
    if kind is None:
        return
    if getattr(kind, "watches", False) != (column is not None):
        place = "under privacy" if column is not None else "under models of the sensitive column it watches"
        faults.add(f"{key}.type", f"{model.type} does not belong here.", f"write it {place}.")
        return
    before = len(faults.items)
    parameters = getattr(kind, "parameters", ())
    given = faults.parameters(key, model.parameters, parameters, owner=model.type, without=without)
    for name, message, hint in getattr(kind, "faults", lambda _: ())(given):
        faults.add(f"{key}.{name}", message, hint)
    if len(faults.items) == before:
        _check_construction(faults, key, model, extensions, column)


def _check_construction(faults: Faults, key: str, model: Model, extensions: Extensions, column: str | None) -> None:
    """Note a fault unless the model can be constructed; the text of its own errors may quote a value."""
    try:
        extensions.privacy_model(model.type, model.parameters, column)
    except SqlanonError as error:
        faults.add(f"{key}.type", error.message, error.hint)
    except Exception as error:  # of a model from outside the package
        message = f"{model.type} cannot be built from these parameters ({type(error).__name__})."
        faults.add(key, message, "see the documentation of the model.")


def check_release_models(faults: Faults, policy: Any) -> None:
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
