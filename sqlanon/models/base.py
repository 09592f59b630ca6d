"""What a privacy model says of itself. Its meaning is a file of ``sql/model``: per class, does it fail, and if so how
many of its records are suppressed at least, whatever more special node is looked at (``min_suppressed``).

``min_suppressed`` is what makes a search prune: if a class y fails, every node below y suppresses at least s(y) of its
records, and the sum over the failing classes of a node bounds the suppression of all nodes below it. Each model's
docstring has the proof, ``tests/test_claims.py`` the brute force.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Protocol

from sqlanon.lattice.catalog import Catalog
from sqlanon.parameters import Parameter

Number = int | float


class PrivacyModel(Protocol):
    """A privacy model with its parameters, bound to the column it watches.

    Attributes:
        type: its name in a policy.
        parameters: what it takes in a policy; its constructor is given these by name (``subset`` excepted).
        watches: it stands under the sensitive column it watches, and its constructor is given ``column`` too;
            otherwise it stands under ``privacy``.
        column: the sensitive column, None for models of class sizes and presence.
        file: its meaning in ``sql/model``; an absolute path outside of the package.
        audit_file: the audit in ``sql/audit``: a SELECT of the classes of a release that fail, with their ``records``;
            an absolute path outside of the package.
        references: what the audit reads beside the release: ``reference`` (value, records, and place in the order),
            ``hierarchy`` (value, level, ancestor), ``population`` (quasi-identifiers, ``sqlanon_count``).
        size: no class with fewer records than this can pass.
        monotone: the records of a failing class stay failing at every more special node (min_suppressed = n).
        needs_rejection: a class without records of the subset rules a node out (δ-presence, ``reject``).
    """

    @property
    def type(self) -> str:
        """Its name in a policy."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What it takes."""
        ...

    @property
    def watches(self) -> bool:
        """It is about a sensitive column."""
        ...

    @property
    def column(self) -> str | None:
        """The sensitive column it watches."""
        ...

    @property
    def file(self) -> str:
        """Its meaning in ``sql``."""
        ...

    @property
    def audit_file(self) -> str:
        """Its audit in ``sql``."""
        ...

    @property
    def references(self) -> tuple[str, ...]:
        """What the audit reads beside the release."""
        ...

    @property
    def size(self) -> int:
        """Least records of a class that can pass."""
        ...

    @property
    def monotone(self) -> bool:
        """All records of a failing class are suppressed at every more special node."""
        ...

    @property
    def needs_rejection(self) -> bool:
        """It can rule a node out."""
        ...

    @property
    def label(self) -> str:
        """What reports call it, e.g. ``occupation: entropy_l_diversity(l=3)``."""
        ...

    def values(self, catalog: Catalog) -> Mapping[str, Number]:
        """What the placeholders of its file mean for an encoded source."""
        ...

    def audit_values(self, levels: int) -> Mapping[str, Number]:
        """What the placeholders of its audit mean; ``levels`` of the column's hierarchy lie below the root."""
        ...

    def obstacle(self, catalog: Catalog) -> str | None:
        """Why no class at all can pass, in words and counts; None when some may."""
        ...


def knows_parts(model: PrivacyModel) -> bool:
    """Return whether the bound of a model holds where an entity may be in several parts of a class.

    A model says so with ``in_parts``: its file then gives a sound ``min_suppressed`` when ``n`` of a class is its records,
    and ``n`` of a value its entities (``models.t_closeness``). It is less than all records only if the class has parts
    that may pass. A monotone model needs no such bound: all records of a failing class stay suppressed.
    """
    return not model.monotone and bool(getattr(model, "in_parts", False))


def labelled(column: str | None, type_name: str, **parameters: object) -> str:
    """``column: type(parameter=value, …)``."""
    told = ", ".join(f"{name}={value}" for name, value in parameters.items())
    return f"{column}: {type_name}({told})" if column is not None else f"{type_name}({told})"


def fraction(value: Any) -> tuple[int, int]:
    """The exact numerator and denominator of a number as the user wrote it.

    >>> fraction(0.05)
    (1, 20)
    """
    return Decimal(str(value)).as_integer_ratio()


def too_few_values(catalog: Catalog, column: str, wanted: float) -> str | None:
    """The obstacle that all ℓ-diversities share: fewer values in the whole source than a class must hold."""
    present = catalog.sensitive_attribute(column).values
    if present >= wanted:
        return None
    return f"a class must hold {wanted:g} values of column {column!r}, but the source holds {present}"
