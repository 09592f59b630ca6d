"""The audit of each privacy model: which file of ``sql/audit`` says that it holds, with which values and references.

The audits share nothing with the statements of the search (``sql/model``): they read the published texts, and compute
distances by their definitions over all values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from sqlglot import exp

from sqlanon.binding import Value, bind
from sqlanon.models.base import PrivacyModel


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
        stem = PurePath(self.file).stem
        return f"{stem} of {self.column}" if self.column is not None else stem

    def offending(self, relation: exp.Expr, quasi_identifiers: list[str]) -> exp.Select:
        """The classes of ``relation`` that the model fails, one row each with its ``records``."""
        columns = {"quasi_identifier": quasi_identifiers}
        if self.column is not None:
            columns["audited_column"] = [self.column]
        return bind(
            self.file,
            relations={"release": relation, **self.references},
            columns=columns,
            values=self.values,
        )


def audit_of(model: PrivacyModel, references: Mapping[str, exp.Expr], *, levels: int = 0) -> ModelAudit:
    """The audit of a model.

    Args:
        references: ``reference`` (value, records, and place for an ordered distance), ``hierarchy`` (value, level,
            ancestor) and ``population`` (the quasi-identifiers, ``sqlanon_count``), as the model says.
        levels: of the hierarchy, those below its root (hierarchical distance).
    """
    return ModelAudit(
        file=model.audit_file,
        column=model.column,
        values=dict(model.audit_values(levels)),
        references={name: references[name] for name in model.references},
    )
