"""Measures a release beside its quasi-identifiers: records that few share, classes of few persons, linked records.

``core/audit/beside.py`` judges the columns of the source; here their published records are counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sqlanon.core.audit.trees import rows_of_all
from sqlanon.core.engines.base import Engine
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import column, count_distinct, count_rows, named, number

CONSTANT = 0.95
"""A column links records where it stays the same for at least this share of the entities with several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedColumns:
    """The columns of the published records that are looked at, by the names that they have in a relation.

    Attributes:
        quasi_identifiers: their columns in the relation.
        kept: name -> column, of those published as they are and watched by no model.
        singled: name -> column, of further ones that are counted one by one.
        published: name -> column, of all that are published as they are.
        entity_like: name -> column, of those that look like the entity.
        entity: the column of entities; None where records are counted.
        copies: the column that says for how many records a row stands; None where each is of one.
    """

    quasi_identifiers: Sequence[str]
    kept: Mapping[str, str]
    singled: Mapping[str, str]
    published: Mapping[str, str]
    entity_like: Mapping[str, str]
    entity: str | None
    copies: str | None = None


@dataclass(frozen=True, slots=True)
class BesideRelease:
    """The findings beside the quasi-identifiers of a release. For the operator: its counts are exact.

    Attributes:
        records: that are published.
        alone: (columns, records that nobody shares the quasi-identifiers and these columns with, records that fewer
            than k share them with) of each column that is counted, and at the end of all kept ones together.
        few: column -> (classes, those with fewer than k of its values), of columns that look like the entity.
        linked: entities whose records the columns ``linking`` distinguish from those of all others.
        apart: those of them that stand in a set of classes which fewer than k of them share.
    """

    records: int = 0
    alone: tuple[tuple[tuple[str, ...], int, int], ...] = ()
    few: tuple[tuple[str, int, int], ...] = ()
    linking: tuple[str, ...] = ()
    linked: int = 0
    apart: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        document: dict[str, Any] = {
            "alone": [
                {"columns": list(columns), "records": records, "fewer": few} for columns, records, few in self.alone
            ],
            "entity_like": [{"column": name, "classes": classes, "fewer": few} for name, classes, few in self.few],
        }
        if self.linking:
            document["linked"] = {"columns": list(self.linking), "entities": self.linked, "apart": self.apart}
        return document


def judge_released(
    engine: Engine, relation: exp.Expr, columns: ReleasedColumns, *, k: int, records: int
) -> BesideRelease:
    """Count what a release gives away beside its quasi-identifiers, in three statements at most.

    Args:
        relation: the published records.
        k: how many persons a class should hold.
        records: how many are published.
    """
    counted = {**columns.singled, **columns.kept}
    together: list[tuple[str, ...]] = [(name,) for name in counted]
    if len(columns.kept) > 1:
        together.append(tuple(columns.kept))
    asked = [_alone(relation, columns, [counted[name] for name in names], k) for names in together]
    asked += [_few(relation, columns, judged, k) for judged in columns.entity_like.values()]
    rows: list[tuple[int, ...]] = []
    if asked:
        placed = [_with_place(place, query) for place, query in enumerate(asked)]
        rows = sorted(tuple(map(int, row)) for row in rows_of_all(engine, "records beside", placed))
    alone = tuple((names, row[1], row[2]) for names, row in zip(together, rows, strict=False))
    few = tuple((name, row[1], row[2]) for name, row in zip(columns.entity_like, rows[len(together) :], strict=True))
    linking = _linking(engine, relation, columns)
    linked = apart = 0
    if linking:
        query = bind(
            "audit/linked_entities.sql",
            relations={"release": relation},
            columns={
                "linking_column": [columns.published[name] for name in linking],
                "quasi_identifier": list(columns.quasi_identifiers),
                "entity": [str(columns.entity)],
            },
            values={"k": k},
        )
        linked, apart = map(int, engine.run("linked entities", query)[0])
    return BesideRelease(records, alone, few, linking if linked else (), linked, apart)


def _with_place(place: int, query: exp.Select) -> exp.Select:
    """Return a query of one row with its place before its two counts."""
    first, second = (item.unalias() for item in query.expressions)
    query.set("expressions", [named(number(place), "place"), named(first, "first"), named(second, "second")])
    return query


def _alone(relation: exp.Expr, columns: ReleasedColumns, beside: Sequence[str], k: int) -> exp.Select:
    size = count_rows() if columns.copies is None else exp.Sum(this=column(columns.copies))
    owners = size.copy() if columns.entity is None else count_distinct(column(columns.entity))
    return bind(
        "audit/alone_beside.sql",
        relations={"release": relation},
        columns={
            "quasi_identifier": list(columns.quasi_identifiers), "beside_column": list(beside), "size": [size],
            "owners": [owners],
        },
        values={"k": k},
    )  # fmt: skip


def _few(relation: exp.Expr, columns: ReleasedColumns, entity_like: str, k: int) -> exp.Select:
    return bind(
        "audit/classes_by_values.sql",
        relations={"release": relation},
        columns={"quasi_identifier": list(columns.quasi_identifiers), "audited_column": [entity_like]},
        values={"k": k},
    )


def _linking(engine: Engine, relation: exp.Expr, columns: ReleasedColumns) -> tuple[str, ...]:
    """Return the columns that stay the same for (nearly) every entity with several records."""
    if columns.entity is None or not columns.published:
        return ()
    asked = [
        _with_place(
            place,
            bind(
                "audit/constant_values.sql",
                relations={"release": relation},
                columns={"audited_column": [found], "entity": [columns.entity]},
            ),
        )
        for place, found in enumerate(columns.published.values())
    ]
    rows = sorted(tuple(map(int, row)) for row in rows_of_all(engine, "constant beside", asked))
    return tuple(
        name
        for name, (_, several, constant) in zip(columns.published, rows, strict=True)
        if several and constant >= CONSTANT * several
    )
