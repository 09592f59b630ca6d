"""The statements that a node is read and published with: its classes as a person writes them, and its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.compiler.encode import SOURCE, EncodedColumn, joined_lookups, packed, takes_part
from sqlanon.compiler.entities import EntityColumn
from sqlanon.compiler.judged import grouped_node, judged
from sqlanon.compiler.question import Question
from sqlanon.lattice.nodes import Node
from sqlanon.sqltrees import names
from sqlanon.sqltrees.data_types import data_type
from sqlanon.sqltrees.trees import bigint, both, column, cte, equal, keys, masked, named, number, table, with_ctes


def readable_grain(
    source: exp.Expr,
    items: Sequence[EncodedColumn],
    node: Node,
    basic: bool,
    *,
    whole_population: bool = False,
    entity: EntityColumn | None = None,
) -> exp.Select:
    """A node as a person would write it: the source joined with its lookups, grouped by the published texts.

    With a subset it counts the records of the subset, or, for ``whole_population``, all records. With an entity the
    last column counts its distinct values.
    """
    texts = [column(names.level(level), names.lookup(position)) for position, level in enumerate(node)]
    quasi = [item for item in items if not item.sensitive]
    counted = names.unused(names.COUNT, [item.name for item in quasi])
    of_entities = names.unused("entities", [item.name for item in quasi])
    query = joined_lookups(
        source,
        quasi,
        [
            *[named(text, item.name) for text, item in zip(texts, quasi, strict=True)],
            named(bigint(exp.Count(this=exp.Star())), counted),
            *([] if entity is None else [named(bigint(entity.count(table_name=SOURCE)), of_entities)]),
        ],
    ).where(takes_part(quasi, basic), copy=False)
    if not whole_population and any(item.has_population for item in items):
        query = query.where(column(names.MEMBER, SOURCE), copy=False)
    return query.group_by(*[text.copy() for text in texts], copy=False) if texts else query


def typed(value: exp.Expr, type_name: str, *, generalized: bool) -> exp.Expr:
    """A released value in the type of its column; what is neither generalized nor text passes as it is."""
    if generalized or type_name == "VARCHAR":
        return exp.cast(value, data_type(type_name))
    return value


def release(
    source: exp.Expr,
    items: Sequence[EncodedColumn],
    question: Question,
    node: Node,
    *,
    basic: bool,
    published: Mapping[str, str],
    snapshot: str,
    entity: EntityColumn | None = None,
) -> exp.Query:
    """The rows of a release: every record whose class passes all models, generalized; suppressed ones are absent.

    Args:
        published: the columns of the release and their types, in order; quasi-identifiers are generalized, the
            others pass unchanged (ENUMs as text).
        snapshot: the grain to read the classes from.
        entity: the rows end with its column as ``names.ENTITY``, for audits before anything is written: the source's
            own values, which do not rest on the numbers that the plan counts.
    """
    catalog = question.catalog
    masks = catalog.masks(node)
    position_of = {item.name: position for position, item in enumerate(items) if not item.sensitive}
    projections: list[exp.Expr] = []
    for index, (name, type_name) in enumerate(published.items()):
        if name in position_of:
            position = position_of[name]
            value: exp.Expr = column(names.level(node[position]), names.lookup(position))
        else:
            value = column(name, SOURCE)
        projections.append(named(typed(value, type_name, generalized=name in position_of), f"column_{index}"))
    if entity is not None:
        projections.append(named(column(entity.name, SOURCE), names.ENTITY))
    quasi = [item for item in items if not item.sensitive]
    for word in range(catalog.words):
        key = masked(exp.paren(packed(quasi, word)), number(masks[word]))
        projections.append(named(key, names.key(word)))
    records = joined_lookups(source, quasi, projections).where(takes_part(quasi, basic), copy=False)
    if catalog.has_population:
        records = records.where(column(names.MEMBER, SOURCE), copy=False)
    wanted = [bigint(number(mask)) for mask in question.masks(node)]
    grouped = grouped_node(snapshot, bigint(number(0)), wanted, catalog.has_population, catalog.has_entity)
    passing = (
        exp.select(*keys(catalog.words))
        .from_(table("judged"))
        .where(equal(column("fails"), number(0)))
        .where(exp.GT(this=column(names.COUNT), expression=number(0)))
    )
    query = (
        exp.select(
            *[named(column(f"column_{i}", "records"), name) for i, name in enumerate(published)],
            *([] if entity is None else [column(names.ENTITY, "records")]),
        )
        .from_(table("records"))
        .join(
            table("passing"),
            on=both(
                equal(left, right)
                for left, right in zip(keys(catalog.words, "records"), keys(catalog.words, "passing"), strict=True)
            ),
        )
    )
    return with_ctes(query, [cte("records", records), *judged(question, grouped), cte("passing", passing)])
