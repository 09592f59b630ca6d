"""The statements that number the entities of a source, so that a grain can hold a row a key and entity.

An entity (a person, say) is known by the canonical text of its column, compared as the column is: whom the database
takes for one is one. Its number is its place in the order of these texts, and never published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.compiler.encode import SOURCE, included
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import bigint, column, count_if, equal, named, number, own_text, table, total, when


@dataclass(frozen=True, slots=True)
class EntityColumn:
    """The column of a source that tells whom a record is of, with its type."""

    name: str
    type: str

    def text(self, table_name: str | None = None) -> exp.Expr:
        """What an entity is known by."""
        return own_text(self.name, self.type, table_name)

    def count(self, condition: exp.Expr | None = None, table_name: str | None = None) -> exp.Expr:
        """The number of distinct entities with a record that meets ``condition``."""
        text = self.text(table_name)
        if condition is not None:
            text = when(condition, text)
        return exp.Count(this=exp.Distinct(expressions=[text]))


def nobodys(source: exp.Expr, entity: EntityColumn) -> exp.Select:
    """The number of records that are of no entity."""
    missing = exp.Is(this=column(entity.name), expression=exp.null())
    return exp.select(named(count_if(missing), "records")).from_(source.copy())


def numbered(source: exp.Expr, entity: EntityColumn) -> exp.Select:
    """The entities of a source, each with a number of its own."""
    texts = exp.select(named(entity.text(), "value")).distinct().from_(source.copy())
    row = exp.Window(  # some engines number no rows without an order
        this=exp.RowNumber(), order=exp.Order(expressions=[exp.Ordered(this=column("value"), nulls_first=False)])
    )
    return exp.select(column("value"), named(row, names.ENTITY)).from_(texts.subquery("texts"))


def with_entities(source: exp.Expr, entity: EntityColumn) -> exp.Expr:
    """The source with the column ``names.ENTITY``; a record of an entity that is not numbered has none."""
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier("records", quoted=True))
    relation = source.copy()
    relation.set("alias", exp.TableAlias(this=exp.to_identifier("records", quoted=True)))
    return (
        exp.select(everything, column(names.ENTITY, "entities"))
        .from_(relation)
        .join(
            table(names.ENTITIES, "entities"),
            on=equal(entity.text("records"), column("value", "entities")),
            join_type="left",
        )
        .subquery(SOURCE)
    )


def shares_of_records() -> exp.Select:
    """How many entities have how many of the encoded records (of the subset, if there is one), most records first."""
    counted = (
        exp.select(named(total(column(names.COUNT)), "records")).from_(table(names.BASE)).group_by(column(names.ENTITY))
    )
    return (
        exp.select(column("records"), named(bigint(exp.Count(this=exp.Star())), "entities"))
        .from_(counted.subquery("counted"))
        .where(exp.GT(this=column("records"), expression=number(0)))
        .group_by(column("records"))
        .order_by(exp.Ordered(this=column("records"), desc=True, nulls_first=False))
    )


def entity_counts(
    source: exp.Expr, entity: EntityColumn, columns: Sequence[str], basic: bool, members: bool
) -> exp.Select:
    """One row: the entities with a record (of the subset, if there is one), and those with one that takes part."""
    everyone = included((), False, members=members) if members else None
    taking_part = included(columns, basic, members=members) if members or (basic and columns) else None
    return exp.select(named(entity.count(everyone), "entities"), named(entity.count(taking_part), "included")).from_(
        source.copy()
    )
