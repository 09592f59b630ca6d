"""Privacy models, one a file; ``MODELS`` lists them in the order of the documentation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.average_risk import AverageRisk
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.models.beta_likeness import BetaLikeness
from sqlanon.core.models.bounded_knowledge import BoundedKnowledge
from sqlanon.core.models.delta_disclosure import DeltaDisclosure
from sqlanon.core.models.delta_presence import DeltaPresence
from sqlanon.core.models.distinct_l_diversity import DistinctLDiversity
from sqlanon.core.models.entropy_l_diversity import EntropyLDiversity
from sqlanon.core.models.joint_cells import JointCells
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.models.k_map import KMap
from sqlanon.core.models.population_uniqueness import PopulationUniqueness
from sqlanon.core.models.profile_k import ProfileK
from sqlanon.core.models.recursive_l_diversity import RecursiveLDiversity
from sqlanon.core.models.sample_uniqueness import SampleUniqueness
from sqlanon.core.models.t_closeness import TCloseness

ModelKind = Callable[..., PrivacyModel]
"""The class of a model: called with its parameters. ``type``, ``parameters`` and ``watches`` are its attributes."""

MODELS: tuple[ModelKind, ...] = (
    KAnonymity,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
    TCloseness,
    DeltaDisclosure,
    BetaLikeness,
    DeltaPresence,
    AverageRisk,
    SampleUniqueness,
    KMap,
    ProfileK,
    PopulationUniqueness,
    BoundedKnowledge,
)


def for_source(models: Sequence[PrivacyModel], catalog: Catalog) -> tuple[PrivacyModel, ...]:
    """Return the models of a policy with what they take from an encoded source (``PrivacyModel.for_source``).

    A model from outside the package may take nothing, and lack the method.
    """
    return tuple(model.for_source(catalog) if hasattr(model, "for_source") else model for model in models)


def joint_models(models: Sequence[PrivacyModel], catalog: Catalog) -> tuple[PrivacyModel, ...]:
    """Return what judges the persons of earlier releases that are absent from the new one; () where there are none.

    Args:
        models: of the policy, which judge the other joint cells.
    """
    if catalog.earlier is None:
        return ()
    whole = any(model.column is not None for model in models)
    return (JointCells(least_size(models), catalog.earlier.members, whole),)


def least_count(models: Sequence[PrivacyModel]) -> int:
    """Return the least number of records that agree with what an attacker knows; at least 1.

    Smaller counts and shared lengths single somebody out. Where an attacker is to know a few quasi-identifiers only, it
    is more than the least size of a class on all of them.
    """
    return max([least_size(models), *[int(getattr(model, "least_count", 1)) for model in models]])


def least_size(models: Sequence[PrivacyModel]) -> int:
    """Return the least number of records that a class must hold to pass all models; at least 1."""
    return max((model.size for model in models), default=1)
