"""The statements that a node is read and published with: its classes as a person writes them, and its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import COVERED, SOURCE, EncodedSource
from sqlanon.core.compiler.entities import with_entities
from sqlanon.core.compiler.judged import grouped_node, judged
from sqlanon.core.compiler.profiles import published_persons
from sqlanon.core.compiler.question import Question
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import (
    as_keys,
    bigint,
    both,
    column,
    count_rows,
    cte,
    equal,
    equal_columns,
    keys,
    lookup_rows,
    masked,
    named,
    number,
    table,
    with_ctes,
)

PERSON = names.PREFIX + "person"
"""Column of records: the number of the entity, beside the entity's own value."""


def readable_grain(source: EncodedSource, node: Node, *, whole_population: bool = False) -> exp.Select:
    """Return a node as a person would write it: the source joined with its lookups, grouped by the published texts.

    With a subset it counts the records of the subset, or, for ``whole_population``, all records. With an entity the
    last column counts its distinct values.
    """
    quasi = source.quasi
    columns = [item.name for item in quasi.items]
    texts = [column(names.level(level), names.lookup(position)) for position, level in enumerate(node)]
    projections = [named(text, name) for text, name in zip(texts, columns, strict=True)]
    projections.append(named(bigint(count_rows()), names.unused(names.COUNT, columns)))
    if source.entity is not None:
        entities = source.entity.count(table_name=SOURCE)
        projections.append(named(bigint(entities), names.unused("entities", columns)))
    query = quasi.encoded(projections)
    if not whole_population:
        query = of_subset(source, query)
    return query.group_by(*[text.copy() for text in texts], copy=False) if texts else query


def of_subset(source: EncodedSource, query: exp.Select) -> exp.Select:
    """Return ``query`` about the records of the subset, if there is one."""
    return query.where(column(names.MEMBER, SOURCE), copy=False) if source.taking_part.members else query


def typed(value: exp.Expr, type_name: str, *, generalized: bool) -> exp.Expr:
    """Return a released value in the type of its column; what is neither generalized nor text passes as it is."""
    if generalized or type_name == "VARCHAR":
        return exp.cast(value, data_type(type_name))
    return value


def release(
    source: EncodedSource,
    question: Question,
    node: Node,
    *,
    published: Mapping[str, str],
    entities: bool = False,
    values: Mapping[str, str] = MappingProxyType({}),
    instead: Mapping[str, exp.Expr] = MappingProxyType({}),
) -> exp.Query:
    """Return the rows of a release: every record whose class passes all models, generalized; no suppressed ones.

    Args:
        published: the columns of the release and their types, in order; quasi-identifiers are generalized, the
            others pass unchanged (ENUMs as text).
        entities: the rows end with the source's column of entities as ``names.ENTITY``, for audits before anything is
            written: its own values, which do not rest on the numbers that the plan counts.
        values: columns of the source whose own values the rows hold besides, under other names: for what is computed
            of a class, or audited before anything is written.
        instead: what stands in the place of published columns, by their names.
    """
    catalog, quasi = question.catalog, source.quasi
    level_of = {
        item.name: column(names.level(level), names.lookup(position))
        for position, (item, level) in enumerate(zip(quasi.items, node, strict=True))
    }
    projections: list[exp.Expr] = []
    for index, (name, type_name) in enumerate(published.items()):
        value = level_of[name] if name in level_of else instead.get(name, column(name, SOURCE))
        projections.append(named(typed(value, type_name, generalized=name in level_of), f"column_{index}"))
    shown = [named(column(f"column_{i}", "records"), name) for i, name in enumerate(published)]
    rows = exp.select(*shown)
    if entities and source.entity is not None:
        projections.append(named(column(source.entity.name, SOURCE), names.ENTITY))
        rows = rows.select(column(names.ENTITY, "records"))
    for name, alias in values.items():
        projections.append(named(column(name, SOURCE), alias))
        rows = rows.select(column(alias, "records"))
    projections += as_keys(
        masked(exp.paren(quasi.packed(word)), number(mask)) for word, mask in enumerate(catalog.masks(node))
    )
    same_key = equal_columns(map(names.key, range(catalog.words)), "records", "passing")
    if question.of_persons and source.entity is not None:  # who is published is so with all records
        quasi = replace(quasi, relation=with_entities(source.relation, source.entity))
        projections.append(named(column(names.ENTITY, SOURCE), PERSON))
        same_key = equal(column(PERSON, "records"), column(names.ENTITY, "passing"))
    records = of_subset(source, quasi.encoded(projections))
    query = rows.from_(table("records")).join(table("passing"), on=same_key)
    ctes = [cte("records", records, computed_first=True), *passing_classes(question, node, names.BASE)]
    return with_ctes(query, ctes)


def coded_release(
    source: EncodedSource,
    question: Question,
    node: Node,
    *,
    published: Mapping[str, str],
    records: exp.Expr,
    held: Sequence[str],
) -> exp.Query:
    """Return the rows that ``release`` returns, from records by their codes, which meet the texts of their classes.

    Args:
        records: what ``encode.coded_records`` returns.
        held: the columns that it holds beside the keys; the others that are published are quasi-identifiers.
    """
    masks, places = question.catalog.masks(node), {name: f"column_{place}" for place, name in enumerate(held)}
    texts = {name: type_name for name, type_name in published.items() if name not in places}
    keyed = {names.key(word): names.unused(names.key(word), published) for word in range(len(masks))}
    also = [named(column(key, "passing"), own) for key, own in keyed.items()]
    classes = released_classes(source, question, node, published=texts, also=also)
    shown: list[exp.Expr] = [column(name, "generalized") for name in published]
    for place, (name, type_name) in enumerate(published.items()):
        if name in places:
            shown[place] = named(typed(column(places[name], "records"), type_name, generalized=False), name)
    own = as_keys(masked(column(key), number(mask)) for key, mask in zip(keyed, masks, strict=True))
    coded = exp.select(*own, *map(column, places.values())).from_(records).subquery("records")
    met = both(equal(column(key, "records"), column(own, "generalized")) for key, own in keyed.items())
    query = exp.select(*shown).from_(coded).join(table("generalized"), on=met)
    return with_ctes(query, [cte("generalized", classes, materialized=True)])


def released_classes(
    source: EncodedSource, question: Question, node: Node, *, published: Mapping[str, str], also: Sequence[exp.Expr]
) -> exp.Query:
    """Return the distinct rows of a release of quasi-identifiers alone, from the base and not from the source.

    Args:
        published: the columns of the release and their types, in order: quasi-identifiers.
        also: what else of each class there is in ``passing``, which has its key and its records.
    """
    catalog, passing = question.catalog, "passing"
    places = {item.name: position for position, item in enumerate(source.quasi.items)}
    cells = [
        named(typed(column("text", names.lookup(places[name])), type_name, generalized=True), name)
        for name, type_name in published.items()
    ]
    query = exp.select(*cells, *also).from_(table(passing))
    for position, (attribute, level) in enumerate(zip(catalog.attributes, node, strict=True)):
        bits = [(word, mask) for word in range(catalog.words) if (mask := attribute.mask(level, word))]
        keys_of_level = [named(masked(column(names.key(word)), number(mask)), names.key(word)) for word, mask in bits]
        texts = exp.select(*keys_of_level, named(column(names.level(level)), "text")).distinct()
        texts = texts.from_(lookup_rows(position)).where(equal(column(COVERED), number(1)))
        lookup = names.lookup(position)
        met = [
            equal(masked(column(names.key(word), passing), number(mask)), column(names.key(word), lookup))
            for word, mask in bits
        ]
        query = query.join(texts.subquery(lookup), on=both(met))
    return with_ctes(query, passing_classes(question, node, names.BASE, column(names.COUNT)))


def passing_classes(question: Question, node: Node, snapshot: str, *also: exp.Expr) -> list[exp.CTE]:
    """Return the relations that end with ``passing``: the keys of the classes that pass all models, and ``also``.

    Where classes are of persons, it holds the persons of those that pass.
    """
    catalog = question.catalog
    wanted = [bigint(number(mask)) for mask in question.masks(node)]
    grouped = grouped_node(snapshot, bigint(number(0)), wanted, catalog.has_population, catalog.has_entity)
    if question.of_persons:
        return [*judged(question, grouped), cte("passing", published_persons())]
    passing = (
        exp.select(*keys(catalog.words), *also)
        .from_(table("judged"))
        .where(equal(column("fails"), number(0)))
        .where(exp.GT(this=column(names.COUNT), expression=number(0)))
    )
    return [*judged(question, grouped), cte("passing", passing)]
