"""The audit of each privacy model: which file of ``sql/audit`` checks it, with which values and references.

The audits share nothing with the statements of the search (``sql/model``): they read the published texts, and compute
distances by their definitions over all values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import PurePath

from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.models.base import PrivacyModel, judges_persons, judges_sets
from sqlanon.core.sqltrees import row_sets
from sqlanon.core.sqltrees.binding import Value, bind
from sqlanon.core.sqltrees.trees import aliased, column, count_rows, cte, named, number, table, union_all, with_ctes
from sqlanon.errors import InputError

SETS_AT_ONCE = 32
"""Sets of quasi-identifiers that one statement audits: they bound its memory and the depth of its tree."""


@dataclass(frozen=True, slots=True)
class ModelAudit:
    """The audit of one model.

    Attributes:
        column: the sensitive column, None for models without one.
        at_most: the classes on every set of at most so many quasi-identifiers are audited; None: the classes on all.
        references: what the file needs beside the release: ``reference``, ``hierarchy``, ``population``.
        of_persons: the model is about persons by all of their rows.
        rows_known: of a model about persons, how many of a person's rows are known; None: all of them.
        holds: decides by (size, classes), ascending, whether a release holds, where the file cannot. It becomes the
            value ``holds``, and until ``settled`` nothing holds.
    """

    file: str
    column: str | None
    values: Mapping[str, Value]
    references: Mapping[str, exp.Expr] = field(default_factory=dict)
    of_persons: bool = False
    at_most: int | None = None
    rows_known: int | None = None
    holds: Callable[[Sequence[tuple[int, int]]], bool] | None = None

    def settled(
        self, engine: Engine, relation: exp.Expr, quasi_identifiers: list[str], entity: str | None = None
    ) -> ModelAudit:
        """Return the audit with the answer of ``holds`` for the classes of a relation, if the audit has it."""
        if self.holds is None:
            return self
        seen = relation if entity is None else seen_once(relation, quasi_identifiers, entity)
        columns = {"quasi_identifier": quasi_identifiers}
        query = bind("audit/sizes_of_classes.sql", relations={"release": seen}, columns=columns)
        sizes = sorted((int(size), int(classes)) for size, classes in engine.run("audit sizes", query))
        return replace(self, values={**self.values, "holds": int(self.holds(sizes))})

    @property
    def name(self) -> str:
        """The name of the audit in messages: its file, and the sensitive column."""
        stem = PurePath(self.file).stem
        return f"{stem} of {self.column}" if self.column is not None else stem

    def queries(
        self, relation: exp.Expr, quasi_identifiers: Sequence[str], entity: str | None = None
    ) -> list[exp.Query]:
        """Return the statements that select the classes which fail the model (``offending``): mostly one.

        Of a model about sets of quasi-identifiers the maximal sets are audited, some by each statement: the class of a
        record on a smaller set holds one of its classes on a larger one.
        """
        if self.at_most is None:
            return [self.offending(relation, list(quasi_identifiers), entity)]
        columns = [*quasi_identifiers, *([self.column] if self.column else []), *([entity] if entity else [])]
        cells: list[exp.Expr] = [column(name) for name in dict.fromkeys(columns)]
        read = exp.select(*(cells or [number(1)])).from_(relation.copy())
        rows = table("known_rows")
        sets = list(combinations(quasi_identifiers, min(self.at_most, len(quasi_identifiers))))
        queries = []
        for first in range(0, len(sets), SETS_AT_ONCE):
            own = [self.offending(rows, list(known), entity) for known in sets[first : first + SETS_AT_ONCE]]
            queries.append(with_ctes(union_all(own), [cte("known_rows", read.copy(), materialized=True)]))
        return queries

    def offending(self, relation: exp.Expr, quasi_identifiers: list[str], entity: str | None = None) -> exp.Query:
        """Select the classes of ``relation`` that fail the model, one row each with its ``records``.

        Args:
            entity: the column of entities; a model about persons needs it, and their profiles (``profiled``). Other
                models see each entity once a class (and value of the sensitive column), which is what ``records``
                counts too. Records without an entity are not seen, and a class that holds no others offends.

        Raises:
            InputError: the model is about persons, and no entity is named.
        """
        if self.of_persons:
            if entity is None:
                raise InputError(
                    f"The model {self.name} is about persons, and no entity is named.",
                    hint="name the column that identifies the person of a record: entity, or --entity COLUMN.",
                )
            if self.rows_known is not None:
                counted = counted_rows(relation, quasi_identifiers, entity)
                return few_share(counted, quasi_identifiers, entity, self.rows_known, int(self.values["k"]))
            release, columns = {"release": relation}, {"entity": [entity]}
            return bind(self.file, relations=release, columns=columns, values=self.values)
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
        of_persons=judges_persons([model]),
        holds=getattr(model, "holds", None),
        rows_known=getattr(model, "at_most", None) if judges_persons([model]) else None,
        at_most=model.at_most if judges_sets(model) else None,  # type: ignore[attr-defined]  # those models have it
    )


def profiled(
    audits: Sequence[ModelAudit], relation: exp.Expr, quasi_identifiers: Sequence[str], entity: str | None
) -> tuple[exp.Expr, list[str]]:
    """Return a relation and the columns of its classes as audits of models see them.

    Where one of them is about persons, the persons' profiles stand beside the rows, and a class of every other model is
    what the persons of one profile have in common.
    """
    quasi = list(quasi_identifiers)
    if entity is None or not any(audit.of_persons and audit.rows_known is None for audit in audits):
        return relation, quasi
    return with_profiles(relation, quasi, entity), [*quasi, PROFILE]


PROFILE = "sqlanon_profile"
"""The column that holds the number of a person's profile."""
RECORDS = "sqlanon_records"


def with_profiles(relation: exp.Expr, quasi_identifiers: Sequence[str], entity: str) -> exp.Expr:
    """Return a relation with the profile of each record's entity in the column ``PROFILE``; NULL without an entity.

    Args:
        quasi_identifiers: the columns that make the rows of a person.
        entity: the column of entities.
    """
    profiles = bind(
        "audit/profiles.sql",
        relations={"counted": counted_rows(relation, quasi_identifiers, entity)},
        columns={"quasi_identifier": quasi_identifiers, "entity": [entity]},
    )
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier("owned", quoted=True))
    same = exp.EQ(this=column(entity, "owned"), expression=column(entity, "profiles"))
    query = exp.select(everything, column(PROFILE, "profiles")).from_(aliased(relation, "owned"))
    return query.join(profiles.subquery("profiles"), on=same, join_type="left").subquery("profiled")


def counted_rows(relation: exp.Expr, quasi_identifiers: Sequence[str], entity: str) -> exp.Select:
    """Return per person and class how many rows there are; records without an entity belong to nobody."""
    wanted = [column(name) for name in (*quasi_identifiers, entity)]
    given = exp.Not(this=exp.Is(this=column(entity), expression=exp.null()))
    query = exp.select(*wanted, named(count_rows(), RECORDS)).from_(relation.copy()).where(given)
    return query.group_by(*[item.copy() for item in wanted])


def few_share(counted: exp.Select, quasi_identifiers: Sequence[str], entity: str, at_most: int, k: int) -> exp.Query:
    """Select the sub-multisets of at most so many rows that fewer than k persons hold, with their persons: ``records``.

    Args:
        counted: the rows of each person (``counted_rows``).
    """
    rows = exp.select(
        named(column(entity), row_sets.OWNER),
        named(column(RECORDS), row_sets.COPIES),
        named(row_sets.ranked(quasi_identifiers), row_sets.PLACE),
    ).from_(counted.subquery("counted"))
    few = [row_sets.held_by_few("rows_of_persons", shape, k) for shape in row_sets.shapes(at_most)]
    return with_ctes(union_all(few), [cte("rows_of_persons", rows, materialized=True)])
