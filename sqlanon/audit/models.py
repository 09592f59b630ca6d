"""The audit of each privacy model: which file of ``sql/audit`` checks it, with which values and references.

The audits share nothing with the statements of the search (``sql/model``): they read the published texts, and compute
distances by their definitions over all values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from sqlglot import exp

from sqlanon.models.base import PrivacyModel
from sqlanon.sqltrees.binding import Value, bind
from sqlanon.sqltrees.trees import column


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
        """The name of the audit in messages: its file, and the sensitive column."""
        stem = PurePath(self.file).stem
        return f"{stem} of {self.column}" if self.column is not None else stem

    def offending(self, relation: exp.Expr, quasi_identifiers: list[str], entity: str | None = None) -> exp.Query:
        """Select the classes of ``relation`` that fail the model, one row each with its ``records``.

        Args:
            entity: the column of entities. Then the model sees each entity once a class (and value of the sensitive
                column), which is what ``records`` counts too. Records without an entity are not seen, and a class that
                holds no others offends.
        """
        if entity is not None:
            watched = [self.column] if self.column is not None else []
            once = seen_once(relation, [*quasi_identifiers, *watched], entity)
            seen = self.offending(once, quasi_identifiers)
            without_entity = bind(
                "audit/classes_of_nobody.sql",
                relations={"release": relation},
                columns={"quasi_identifier": quasi_identifiers, "entity": [entity]},
            )
            return exp.union(seen, without_entity, distinct=False, copy=False)
        columns = {"quasi_identifier": quasi_identifiers}
        if self.column is not None:
            columns["audited_column"] = [self.column]
        return bind(
            self.file,
            relations={"release": relation, **self.references},
            columns=columns,
            values=self.values,
        )


def seen_once(relation: exp.Expr, columns: Sequence[str], entity: str) -> exp.Subquery:
    """Select each entity once for every combination of the columns that its records hold.

    Records without an entity are left out.
    """
    wanted = [column(name) for name in dict.fromkeys([*columns, entity])]
    given = exp.Not(this=exp.Is(this=column(entity), expression=exp.null()))
    return exp.select(*wanted).distinct().from_(relation.copy()).where(given).subquery("seen")


def audit_of(model: PrivacyModel, references: Mapping[str, exp.Expr], *, levels: int = 0) -> ModelAudit:
    """Return the audit of a model.

    Args:
        references: ``reference`` (value, records, and place for an ordered distance), ``hierarchy`` (value, level,
            ancestor) and ``population`` (the quasi-identifiers, ``sqlanon_count``), as the model requires.
        levels: of the hierarchy, those below its root (hierarchical distance).
    """
    return ModelAudit(
        file=model.audit_file,
        column=model.column,
        values=dict(model.audit_values(levels)),
        references={name: references[name] for name in model.references},
    )
