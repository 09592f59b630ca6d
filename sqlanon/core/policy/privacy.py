"""The built-in privacy models as a policy names them: ``KAnonymity(5)`` is ``Model("k_anonymity", {"k": 5})``.

Each function holds the parameters as they are given; the policy checks them. The models themselves, which judge
classes, stand in ``sqlanon.models``. A number is taken as the decimal fraction that it is written as.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from sqlanon.core.policy.facts import Model

Number = int | float | Decimal


def KAnonymity(k: int) -> Model:
    """Return k-anonymity: a class holds at least ``k`` records.

    >>> KAnonymity(5)
    Model(type='k_anonymity', parameters={'k': 5})
    """
    return Model("k_anonymity", {"k": k})


def DistinctLDiversity(l: int) -> Model:  # noqa: E741  the field's own name for it
    """Return distinct ℓ-diversity: a class holds at least ``l`` values of the sensitive column."""
    return Model("distinct_l_diversity", {"l": l})


def EntropyLDiversity(l: Number) -> Model:  # noqa: E741
    """Return entropy ℓ-diversity: the entropy of the sensitive values of a class is at least ln ``l``."""
    return Model("entropy_l_diversity", {"l": l})


def RecursiveLDiversity(l: int, c: Number) -> Model:  # noqa: E741
    """Return recursive (c, ℓ)-diversity: r₁ < c (r_ℓ + r_ℓ₊₁ + …) for the sorted counts of a class, and ℓ values."""
    return Model("recursive_l_diversity", {"l": l, "c": c})


def TCloseness(t: Number, distance: Literal["equal", "hierarchical", "ordered"] | None = None) -> Model:
    """Return t-closeness: the sensitive values of a class are distributed as among all records, to a distance of ``t``.

    Without a ``distance`` all values are equally far from each other.
    """
    return Model("t_closeness", _given(t=t, distance=distance))


def DeltaDisclosure(delta: Number) -> Model:
    """Return δ-disclosure privacy: shares of sensitive values in a class differ by a factor below 2^``delta``.

    They are compared with the shares among all records, for the values that occur in the class.
    """
    return Model("delta_disclosure", {"delta": delta})


def BetaLikeness(beta: Number, enhanced: bool | None = None) -> Model:
    """Return β-likeness: no sensitive value gains more than ``beta`` in a class, relative to its share of all records.

    ``enhanced``: nor more than -ln of that share, so that frequent values may gain less.
    """
    return Model("beta_likeness", _given(beta=beta, enhanced=enhanced))


def DeltaPresence(
    min: Number,
    max: Number,
    subset: str | Path | Mapping[str, Any],
    public_only: Literal["ignore", "reject"] | None = None,
) -> Model:
    """Return δ-presence: the share of the records of a class that belong to the subset is between ``min`` and ``max``.

    Args:
        min, max: the bounds of the share.
        subset: a file; or one of the keys ``file``, ``table`` and ``column`` with what it names, and options of a file.
        public_only: what a class without records of the subset means; without it, such a class does not count.
    """
    where = {"file": str(subset)} if isinstance(subset, str | Path) else subset
    return Model("delta_presence", _given(min=min, max=max, subset=where, public_only=public_only))


def AverageRisk(threshold: Number, ties: Literal["least_loss", "greatest_loss"] | None = None) -> Model:
    """Return average risk: published classes per published record are at most ``threshold``.

    The smallest classes are suppressed until it holds; of those of one size first the ones that have lost least by
    generalization, or with ``ties="greatest_loss"`` the others.

    >>> AverageRisk(0.05)
    Model(type='average_risk', parameters={'threshold': 0.05})
    """
    return Model("average_risk", _given(threshold=threshold, ties=ties))


def SampleUniqueness(threshold: Number, ties: Literal["least_loss", "greatest_loss"] | None = None) -> Model:
    """Return sample uniqueness: at most this share of the published records are alone in their class."""
    return Model("sample_uniqueness", _given(threshold=threshold, ties=ties))


def KMap(
    k: int,
    population: int | str | Path | Mapping[str, Any] | None = None,
    estimator: Literal["poisson", "zero_truncated_poisson"] | None = None,
    significance: Number | None = None,
) -> Model:
    """Return k-map: at least ``k`` persons of the population belong to the class of each published record.

    Args:
        population: a file of its records; or one of the keys ``file`` and ``table`` with what it names, and options of
            a file; or the number of its records, from which the size of a class is estimated. Without it the source is
            the population of a subset (δ-presence).
        estimator, significance: of an estimate; without them ``poisson`` and 0.05.
    """
    where = {"file": str(population)} if isinstance(population, Path) else population
    if isinstance(where, str) and where != "source":
        where = {"file": where}
    return Model("k_map", _given(k=k, population=where, estimator=estimator, significance=significance))


def ProfileK(k: int, at_most: int | None = None) -> Model:
    """Return profile k: at least ``k`` persons have the same multiset of generalized rows (needs an ``entity``).

    Args:
        at_most: only of so many rows of a person, whichever, is it promised that ``k`` persons have them: 1, 2 or 3.
    """
    return Model("profile_k", _given(k=k, at_most=at_most))


def PopulationUniqueness(
    threshold: Number,
    population: int,
    estimator: Literal["pitman", "zayatz"],
    ties: Literal["least_loss", "greatest_loss"] | None = None,
) -> Model:
    """Return population uniqueness: by an estimate, at most this share of so many people is unique among them."""
    return Model(
        "population_uniqueness", _given(threshold=threshold, population=population, estimator=estimator, ties=ties)
    )


def BoundedKnowledge(k: int, at_most: int) -> Model:
    """Return bounded knowledge: whoever knows ``at_most`` quasi-identifiers finds at least ``k`` published records.

    >>> BoundedKnowledge(k=5, at_most=3)
    Model(type='bounded_knowledge', parameters={'k': 5, 'at_most': 3})
    """
    return Model("bounded_knowledge", {"k": k, "at_most": at_most})


def _given(**parameters: Any) -> dict[str, Any]:
    """Return the parameters that were given."""
    return {name: value for name, value in parameters.items() if value is not None}
