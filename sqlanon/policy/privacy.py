"""The built-in privacy models as a policy names them: ``KAnonymity(5)`` is ``Model("k_anonymity", {"k": 5})``.

Each function holds the parameters as they are given; the policy checks them. The models themselves, which judge
classes, stand in ``sqlanon.models``. A number is taken as the decimal fraction that it is written as.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from sqlanon.policy.facts import Model

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


def _given(**parameters: Any) -> dict[str, Any]:
    """Return the parameters that were given."""
    return {name: value for name, value in parameters.items() if value is not None}
