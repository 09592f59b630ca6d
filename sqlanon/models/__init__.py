"""Privacy models, one a file; ``MODELS`` lists them in the order of the documentation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlanon.models.base import PrivacyModel
from sqlanon.models.delta_presence import DeltaPresence
from sqlanon.models.distinct_l_diversity import DistinctLDiversity
from sqlanon.models.entropy_l_diversity import EntropyLDiversity
from sqlanon.models.k_anonymity import KAnonymity
from sqlanon.models.recursive_l_diversity import RecursiveLDiversity
from sqlanon.models.t_closeness import TCloseness

ModelKind = Callable[..., PrivacyModel]
"""The class of a model: called with its parameters. ``type``, ``parameters`` and ``watches`` are its attributes."""

MODELS: tuple[ModelKind, ...] = (
    KAnonymity,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
    TCloseness,
    DeltaPresence,
)


def least_size(models: Sequence[PrivacyModel]) -> int:
    """Return the least number of records that a class must hold to pass all models; at least 1."""
    return max((model.size for model in models), default=1)
