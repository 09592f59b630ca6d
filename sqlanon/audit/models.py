"""The audit of each privacy model: which file of ``sql/audit`` says that it holds, with which values and references.

The audits share nothing with the statements of the search (``sql/model``): they read the published texts, and compute
distances by their definitions over all values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from sqlanon.binding import Value, bind
from sqlanon.models.base import PrivacyModel, fraction


@dataclass(frozen=True, slots=True)
class ModelAudit:
    """The audit of one model.

    Attributes:
        column: the sensitive column, None for models without one.
        references: what the file needs beside the release: ``reference``, ``hierarchy``, ``population``.
    """

    file: str
    column: str | None
    values: Mapping[str, Value]
    references: Mapping[str, exp.Expr] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What messages call the audit: its file, and the sensitive column."""
        stem = self.file.removesuffix(".sql")
        return f"{stem} of {self.column}" if self.column is not None else stem

    def offending(self, relation: exp.Expr, quasi_identifiers: list[str]) -> exp.Select:
        """The classes of ``relation`` that the model fails, one row each with its ``records``."""
        columns = {"quasi_identifier": quasi_identifiers}
        if self.column is not None:
            columns["audited_column"] = [self.column]
        return bind(
            f"audit/{self.file}",
            relations={"release": relation, **self.references},
            columns=columns,
            values=self.values,
        )


def _recursive(model: Any) -> dict[str, Value]:
    numerator, denominator = fraction(model.c)
    return {"l": model.l, "c_numerator": numerator, "c_denominator": denominator}


def _presence(model: Any) -> dict[str, Value]:
    low, high = fraction(model.min), fraction(model.max)
    return {
        "min_numerator": low[0],
        "min_denominator": low[1],
        "max_numerator": high[0],
        "max_denominator": high[1],
    }


VALUES: Mapping[str, tuple[str, Callable[[Any], dict[str, Value]]]] = {
    "k_anonymity": ("small_classes.sql", lambda model: {"k": model.k}),
    "distinct_l_diversity": ("distinct_l_diversity.sql", lambda model: {"l": model.l}),
    "entropy_l_diversity": ("entropy_l_diversity.sql", lambda model: {"l": float(model.l)}),
    "recursive_l_diversity": ("recursive_l_diversity.sql", _recursive),
    "t_closeness": ("t_closeness_{distance}.sql", lambda model: {"t": float(model.t)}),
    "delta_presence": ("delta_presence.sql", _presence),
}


def needs(model: PrivacyModel) -> tuple[str, ...]:
    """The references that the audit of a model asks for."""
    if model.type == "delta_presence":
        return ("population",)
    distance = getattr(model, "distance", None)
    return () if distance is None else ("reference", "hierarchy") if distance == "hierarchical" else ("reference",)


def audit_of(model: PrivacyModel, references: Mapping[str, exp.Expr], *, levels: int = 0) -> ModelAudit:
    """The audit of a model.

    Args:
        references: ``reference`` (value, records, and place for an ordered distance), ``hierarchy`` (value, level,
            ancestor) and ``population`` (the quasi-identifiers, ``sqlanon_count``), as ``needs`` says.
        levels: of the hierarchy, those below its root (hierarchical distance).
    """
    file, values = VALUES[model.type]
    bound = values(model)
    if getattr(model, "distance", None) == "hierarchical":
        bound["levels"] = levels
    return ModelAudit(
        file=file.format(distance=getattr(model, "distance", "")),
        column=model.column,
        values=bound,
        references={name: references[name] for name in needs(model)},
    )
