"""The statements that number the entities of a source, so that a grain can hold a row a key and entity.

An entity (a person, say) is known by the canonical text of its column, compared as the column is: whom the database
takes for one is one. Its number is its place in the order of these texts, and never published.
"""

from __future__ import annotations

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import SOURCE, EntityColumn, TakingPart
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    aliased,
    bigint,
    both,
    column,
    count_if,
    count_rows,
    equal,
    is_null,
    named,
    number,
    row_number,
    table,
    total,
)


def records_without_entity(source: exp.Expr, entity: EntityColumn) -> exp.Select:
    """Return the number of records whose entity is NULL."""
    return exp.select(named(count_if(is_null(column(entity.name))), "records")).from_(source.copy())


def number_entities(source: exp.Expr, entity: EntityColumn) -> exp.Select:
    """Return the entities of a source, each with a number of its own."""
    texts = exp.select(named(entity.text(), "value")).distinct().from_(source.copy())
    number_ = named(row_number(column("value")), names.ENTITY)  # some engines number no rows without an order
    return exp.select(column("value"), number_).from_(texts.subquery("texts"))


def with_entities(source: exp.Expr, entity: EntityColumn) -> exp.Expr:
    """Return the source with the column ``names.ENTITY``; a record of an entity that is not numbered has none."""
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier("records", quoted=True))
    return (
        exp.select(everything, column(names.ENTITY, "entities"))
        .from_(aliased(source, "records"))
        .join(
            table(names.ENTITIES, "entities"),
            on=equal(entity.text("records"), column("value", "entities")),
            join_type="left",
        )
        .subquery(SOURCE)
    )


def shares_of_records() -> exp.Select:
    """Count the entities by their number of encoded records (of the subset, if there is one), most records first."""
    counted = (
        exp.select(named(total(column(names.COUNT)), "records")).from_(table(names.BASE)).group_by(column(names.ENTITY))
    )
    return (
        exp.select(column("records"), named(bigint(count_rows()), "entities"))
        .from_(counted.subquery("counted"))
        .where(exp.GT(this=column("records"), expression=number(0)))
        .group_by(column("records"))
        .order_by(exp.Ordered(this=column("records"), desc=True, nulls_first=False))
    )


def entity_counts(source: exp.Expr, entity: EntityColumn, taking_part: TakingPart) -> exp.Select:
    """Return the numbers of entities with a record (of the subset, if any), and with one that takes part."""
    counts = []
    for name, wanted in (("entities", taking_part.with_nulls), ("included", taking_part)):
        conditions = wanted.conditions()
        counts.append(named(entity.count(both(conditions) if conditions else None), name))
    return exp.select(*counts).from_(source.copy())
