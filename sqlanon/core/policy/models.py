"""The privacy models that a policy names, and how one is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlanon.core.policy.extensions import Extensions
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.parts import PolicyPart
from sqlanon.core.policy.search import find_named
from sqlanon.errors import SqlanonError


@dataclass(frozen=True, slots=True)
class Model(PolicyPart):
    """A privacy model and its parameters, e.g. ``Model("k_anonymity", {"k": 5})``.

    The built-in models have constructors of their own (``KAnonymity(5)``); this one names models of extensions too.
    """

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
