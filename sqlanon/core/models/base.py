"""The protocol of a privacy model.

The meaning of a model is a file of ``sql/model``: per class, does it fail, and if so, at least how many of its records
are suppressed at every more specific node, too (``min_suppressed``). This bound makes a search prune: if a class fails
at a node, the bound holds for all nodes below, and the sum over the failing classes of a node bounds their suppression.
Each model's docstring has the proof, ``tests/unit/test_claims.py`` the brute force.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.errors import UnsupportedError
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
        """Its parameters in a policy, which its constructor takes by name (places of records excepted: ``subset``, and
        ``population`` unless it is a number)."""
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
    def live_file(self) -> str | None:
        """Its condition in a live view, a SELECT of ``passes``; None: it is built in, or cannot be one.

        From ``histogram``: ``n`` records of a value in the class, ``total`` of it among all, ``everything`` in all; of
        a model that watches no column from ``classes``: ``n`` records of the class.
        """
        return None

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
        """Whether all records of a failing class are suppressed at every more specific node (min_suppressed = n)."""
        ...

    @property
    def needs_rejection(self) -> bool:
        """Whether a class without records of the subset rules a node out (δ-presence, ``reject``)."""
        return False

    @property
    def of_persons(self) -> bool:
        """Whether its classes are of persons, by all of their rows (``profile_k``): then those of a node are, and each
        other model is judged in the rows that the persons of a class have in common (``compiler.profiles``)."""
        return False

    @property
    def label(self) -> str:
        """Its name in reports, e.g. ``occupation: entropy_l_diversity(l=3)``."""
        ...

    @property
    def words(self) -> str:
        """Its name with its parameters, in a sentence: ``k-anonymity with k = 5``."""
        return self.label

    def sentence(self, who: str) -> str:
        """Return what it promises of a release, as a report says it.

        Args:
            who: what is counted, ``records`` or ``persons``.
        """
        return f"Each class meets {self.label}."

    def for_source(self, catalog: Catalog) -> PrivacyModel:
        """Return the model with what it takes from an encoded source; before, it knows the policy alone."""
        return self

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


def is_of_release(model: PrivacyModel) -> bool:
    """Return whether a model judges all classes of a node together (``models.release``); it declares ``of_release``."""
    return getattr(model, "of_release", False) is True


def judges_sets(model: PrivacyModel) -> bool:
    """Return whether a model judges the classes on every set of at most ``at_most`` quasi-identifiers (``of_sets``)."""
    return bool(getattr(model, "of_sets", False))


def refuse_release_models(models: Iterable[PrivacyModel], why: str) -> None:
    """Raise UnsupportedError if some models judge all classes of a node together, where only classes are judged.

    Args:
        why: what judges classes one by one, as the beginning of a sentence.
    """
    together = sorted({model.type for model in models if is_of_release(model)})
    if together:
        raise UnsupportedError(
            f"{why}, but {', '.join(together)} judges all classes of a release together.",
            hint="publish one node for all records (without transformation) as a table or a file.",
        )


def closes_upward(model: PrivacyModel) -> bool:
    """Return whether a node that suppresses nothing by this model has no generalization that does.

    It holds of every model of classes that unions of passing classes pass, and of most others; one of which it does not
    declares ``closes_upward``. A model of classes of which it does not is no model for several rules either, because
    two of them may publish their classes by the same texts.
    """
    return bool(getattr(model, "closes_upward", True))


def judges_persons(models: Iterable[PrivacyModel]) -> bool:
    """Return whether one of some models makes the classes of a node classes of persons (``of_persons``)."""
    return any(getattr(model, "of_persons", False) is True for model in models)


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
