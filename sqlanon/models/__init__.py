"""Privacy models, one a file; ``MODELS`` lists them in the order of the documentation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlanon.models.base import PrivacyModel
from sqlanon.models.delta_presence import DeltaPresence
from sqlanon.models.distinct_l_diversity import DistinctLDiversity
from sqlanon.models.entropy_l_diversity import EntropyLDiversity
from sqlanon.models.k_anonymity import KAnonymity
from sqlanon.models.recursive_l_diversity import RecursiveLDiversity
from sqlanon.models.t_closeness import TCloseness
from sqlanon.policy import Model, Policy

MODELS: tuple[Callable[..., PrivacyModel], ...] = (
    KAnonymity,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
    TCloseness,
    DeltaPresence,
)


def made(model: Model, column: str | None = None) -> PrivacyModel:
    """The privacy model that an entry of a policy asks for; ``column`` is the sensitive column it stands under."""
    parameters: dict[str, Any] = {name: value for name, value in model.parameters.items() if name != "subset"}
    if column is not None:
        parameters["column"] = column
    kind = next(item for item in MODELS if getattr(item, "type", None) == model.type)
    return kind(**parameters)


def models_of(policy: Policy) -> tuple[PrivacyModel, ...]:
    """All models of a policy: those of ``privacy``, then those of the sensitive columns, in their order."""
    return (
        *(made(model) for model in policy.privacy),
        *(made(model, column.name) for column in policy.columns for model in column.models),
    )


def least_size(models: Sequence[PrivacyModel]) -> int:
    """The least number of records that a class must hold to pass all models; at least 1."""
    return max((model.size for model in models), default=1)
