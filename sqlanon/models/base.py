"""The protocol of a privacy model.

The meaning of a model is a file of ``sql/model``: per class, does it fail, and if so, at least how many of its records
are suppressed at every more special node, too (``min_suppressed``). This bound makes a search prune: if a class fails
at a node, the bound holds for all nodes below, and the sum over the failing classes of a node bounds their suppression.
Each model's docstring has the proof, ``tests/unit/test_claims.py`` the brute force.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from sqlanon.lattice.catalog import Catalog
from sqlanon.parameters import Parameter

Number = int | float


class PrivacyModel(Protocol):
    """A privacy model with its parameters, bound to the column that it watches.

    A model that inherits from it has the usual answers, and those of ``file`` and ``audit_file`` if it is built in.
    """

    __slots__ = ()

    @property
    def type(self) -> str:
        """Its name in a policy."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters in a policy, which its constructor takes by name (``subset`` excepted)."""
        ...

    @property
    def watches(self) -> bool:
        """Whether it stands under the sensitive column that it watches: then its constructor takes ``column``, too.

        Otherwise it stands under ``privacy``.
        """
        ...

    @property
    def column(self) -> str | None:
        """The sensitive column that it watches; None for models of class sizes and of presence."""
        ...

    @property
    def file(self) -> str:
        """Its meaning: a file of ``sql/model``; outside of the package, an absolute path."""
        return f"model/{self.type}.sql"

    @property
    def audit_file(self) -> str:
        """Its audit: a SELECT of the classes of a release that fail, with their ``records``.

        A file of ``sql/audit``; outside of the package, an absolute path.
        """
        return f"audit/{self.type}.sql"

    @property
    def references(self) -> tuple[str, ...]:
        """The relations that the audit reads beside the release.

        ``reference`` holds value, records, and place in the order; ``hierarchy`` value, level and ancestor;
        ``population`` the quasi-identifiers and ``sqlanon_count``.
        """
        return ()

    @property
    def size(self) -> int:
        """The least number of records of a class that can pass."""
        ...

    @property
    def monotone(self) -> bool:
        """Whether all records of a failing class are suppressed at every more special node (min_suppressed = n)."""
        ...

    @property
    def needs_rejection(self) -> bool:
        """Whether a class without records of the subset rules a node out (δ-presence, ``reject``)."""
        return False

    @property
    def label(self) -> str:
        """Its name in reports, e.g. ``occupation: entropy_l_diversity(l=3)``."""
        ...

    def values(self, catalog: Catalog) -> Mapping[str, Number]:
        """Return the values of the placeholders of its file, for an encoded source; usually those of its audit."""
        return self.audit_values(0)

    def audit_values(self, levels: int) -> Mapping[str, Number]:
        """Return the values of the placeholders of its audit.

        Args:
            levels: how many levels of the column's hierarchy lie below the root.
        """
        ...

    def obstacle(self, catalog: Catalog) -> str | None:
        """Return why no class at all can pass, in words and counts; None when some may."""
        return None


@dataclass(frozen=True, slots=True)
class ColumnModel(PrivacyModel):
    """A model that watches a sensitive column."""

    column: str = field()  # without it, the property of the protocol would be taken for a default
    watches = True


class LDiversity(ColumnModel):
    """A model whose classes hold at least ``size`` values of the column, and so as many records."""

    __slots__ = ()
    l: float  # noqa: E741  the field's own name for it

    @property
    def size(self) -> int:
        """ℓ values need ℓ records."""
        return math.ceil(self.l)

    def audit_values(self, levels: int) -> Mapping[str, Number]:
        return {"l": self.l}

    def obstacle(self, catalog: Catalog) -> str | None:
        return too_few_values(catalog, self.column, self.size)


def knows_parts(model: PrivacyModel) -> bool:
    """Return whether the bound of a model holds where an entity may be in several parts of a class.

    A model declares this with ``in_parts``: its file then gives a sound ``min_suppressed`` when ``n`` of a class is its
    records, and ``n`` of a value its entities (``models.t_closeness``). It is less than all records only if the class
    has parts that may pass. A monotone model needs no such bound: all records of a failing class stay suppressed.
    """
    return not model.monotone and bool(getattr(model, "in_parts", False))


def labelled(column: str | None, type_name: str, **parameters: object) -> str:
    """Return ``column: type(parameter=value, …)``."""
    listed = ", ".join(f"{name}={value}" for name, value in parameters.items())
    return f"{column}: {type_name}({listed})" if column is not None else f"{type_name}({listed})"


def fraction(value: Any) -> tuple[int, int]:
    """Return the exact numerator and denominator of a number as the user wrote it.

    >>> fraction(0.05)
    (1, 20)
    """
    return Decimal(str(value)).as_integer_ratio()


def too_few_values(catalog: Catalog, column: str, wanted: float) -> str | None:
    """Return the obstacle that all ℓ-diversities share: fewer values in the whole source than a class must hold."""
    present = catalog.sensitive_attribute(column).values
    if present >= wanted:
        return None
    return f"a class must hold {wanted:g} values of column {column!r}, but the source holds {present}"
