"""The statements that judge a node as a person would: over the original values and the lookups, without masks.

They serve the verification of certificates. With the statements of a search they share the files of ``sql/model``, and
from ``encoded_source`` what defines the input: which records take part, the texts of their values and
entities, how they are joined with the lookups, and the names of the lookups' columns. Packed keys, grains, batches, the
judging statement and its counts are not shared.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.compiler.encoded_source import COVERED, SOURCE, EncodedSource, least_cost, leaves
from sqlanon.lattice.catalog import Catalog
from sqlanon.lattice.nodes import Node
from sqlanon.models.base import PrivacyModel, knows_parts
from sqlanon.sqltrees import names
from sqlanon.sqltrees.binding import bind
from sqlanon.sqltrees.trees import (
    bigint,
    column,
    count_if,
    cte,
    equal,
    equal_columns,
    greatest,
    named,
    number,
    table,
    total,
    union_all,
    when,
    wide_sum,
    with_ctes,
)

CLASS = "class"
"""The number of a class among those of the node."""


def _value(position: int) -> str:
    return f"value_{position}"


def _text(position: int) -> str:
    return f"text_{position}"


def originals(source: EncodedSource) -> exp.Select:
    """Return the distinct combinations of original values among the records that take part, with their counters.

    A quasi-identifier is the number of its canonical text in the lookup (``id``): a number can be joined by, where of a
    text that may be NULL no database has statistics. A sensitive value is the code that its lookup gives it, an entity
    its text.
    """
    parts: list[exp.Expr] = []
    for position, item in enumerate(source.items):
        if item.sensitive:
            parts.append(source.code(position, item.fields[0][0]))
        else:
            parts.append(column("id", names.lookup(position)))
    members = source.taking_part.members
    counted = count_if(column(names.MEMBER, SOURCE)) if members else exp.Count(this=exp.Star())
    projections = [named(part, _value(position)) for position, part in enumerate(parts)]
    if source.entity is not None:
        parts.append(source.entity.text(SOURCE))
        projections.append(named(parts[-1], names.ENTITY))
    projections += [named(counted, names.COUNT), named(exp.Count(this=exp.Star()), names.POPULATION)]
    query = source.encoded(projections)
    return query.group_by(*[part.copy() for part in parts], copy=False)


def level_costs(position: int, height: int, domain: int) -> exp.Select:
    """Return one row: per level, the sum of D - leaves over the records that take part."""
    lookup = names.lookup(position)
    costs = [
        named(
            wide_sum(
                exp.Mul(
                    this=exp.cast(column(names.COUNT, "o"), "HUGEINT"),
                    expression=exp.paren(exp.Sub(this=number(domain), expression=column(leaves(level), lookup))),
                )
            ),
            f"cost_{level}",
        )
        for level in range(height)
    ]
    return exp.select(*costs).from_(table(names.ORIGINALS, "o")).join(table(lookup, lookup), on=_meets(position))


def level_widths(position: int, height: int) -> exp.Select:
    """Return one row: per level, the number of distinct texts, NULL being one."""
    counts = []
    for level in range(height):
        text = column(names.level(level))
        is_null = exp.Max(this=when(exp.Is(this=text, expression=exp.null()), number(1)))
        nulls = exp.Coalesce(this=is_null, expressions=[number(0)])
        distinct = exp.Count(this=exp.Distinct(expressions=[text.copy()]))
        counts.append(named(exp.Add(this=distinct, expression=nulls), f"width_{level}"))
    covered = equal(column(COVERED), number(1))
    return exp.select(*counts).from_(table(names.lookup(position))).where(covered)


def surprisals(position: int, level: int | None) -> exp.Select:
    """Return the sum of n ln n over the texts of a level; without a level, over the original values."""
    lookup = names.lookup(position)
    text = column(_value(position), "o") if level is None else column(names.level(level), lookup)
    grouped = (
        exp.select(named(exp.Sum(this=column(names.COUNT, "o")), names.COUNT))
        .from_(table(names.ORIGINALS, "o"))
        .join(table(lookup, lookup), on=_meets(position))
        .group_by(text)
    )
    return (
        exp.select(exp.Sum(this=_n_ln_n(column(names.COUNT))))
        .from_(grouped.subquery("grouped"))
        .where(exp.GT(this=column(names.COUNT), expression=number(0)))
    )


def node_counts(catalog: Catalog, models: Sequence[PrivacyModel], node: Node, size: int) -> exp.Query:
    """Return one row: what the classes of a node come to (``sql/audit/node_counts.sql``).

    With an entity the row also counts the entities with suppressed records (``node_entities.sql``).
    """
    query = bind(
        "audit/node_counts.sql",
        relations={"judged": table("judged")},
        values={"size": max(size, 1), "population": catalog.population},
    )
    ctes = _judged(catalog, models, node)
    if catalog.has_entity:
        classes_of = equal_columns(map(_text, range(len(node))), "records", "judged")
        hit = (
            exp.select(
                named(column(names.ENTITY, "records"), "entity"),
                *[column(name, "judged") for name in ("fails", "min_suppressed")],
                named(column(names.COUNT, "judged"), "records"),
                named(column(names.COUNT, "records"), names.COUNT),
                named(column("entities", "judged"), "entities"),
            )
            .from_(table("records"))
            .join(table("judged"), on=classes_of, join_type="left")
        )
        of_entities = bind("audit/node_entities.sql", relations={"judged": hit})
        wanted = [column(name) for name in (*query.named_selects, *of_entities.named_selects)]
        both_rows = exp.select(*wanted).from_(query.subquery("counts"))
        query = both_rows.join(of_entities.subquery("of_entities"), join_type="cross")
    return with_ctes(query, ctes)


def node_costs(catalog: Catalog, models: Sequence[PrivacyModel], node: Node, *, surprising: bool) -> exp.Query:
    """Return one row an attribute: its position, the cost of the suppressed records, and the least costs.

    The least costs are of the records that are certain to be suppressed further down, at every level up to the node's
    (from ``least_costs``). ``surprising`` asks for the sums of s ln s over the texts instead.
    """
    tallest = max(node, default=-1) + 1
    rows = [
        _surprisals_of_texts(position) if surprising else _costs_of_leaves(position, level, tallest)
        for position, level in enumerate(node)
    ]
    return with_ctes(union_all(rows), _judged(catalog, models, node))


def least_costs(catalog: Catalog, position: int, level: int) -> exp.Select:
    """Return, by the number of a text, D - leaves, and per lower level the least D - leaves among the values below."""
    domain = catalog.attributes[position].domain
    text = column(names.text_number(level))
    costs = [
        named(exp.Sub(this=number(domain), expression=exp.Max(this=column(leaves(lower)))), least_cost(lower))
        for lower in range(level + 1)
    ]
    covered = equal(column(COVERED), number(1))
    query = exp.select(named(text, "text"), *costs).from_(table(names.lookup(position))).where(covered)
    return query.group_by(text.copy())


def _costs_of_leaves(position: int, level: int, tallest: int) -> exp.Select:
    def cost(counter: str, of: int) -> exp.Expr:
        return wide_sum(exp.Mul(this=column(counter, "judged"), expression=column(least_cost(of), "costs")))

    min_suppressed = [
        cost("min_suppressed", lower) if lower <= level else bigint(exp.null()) for lower in range(tallest)
    ]
    return (
        exp.select(number(position), cost(names.COUNT, level), *min_suppressed)
        .from_(table("judged"))
        .join(
            table(names.least_costs(position, level), "costs"),
            on=equal(column(_text(position), "judged"), column("text", "costs")),
        )
        .where(equal(column("fails", "judged"), number(1)))
    )


def _surprisals_of_texts(position: int) -> exp.Select:
    grouped = (
        exp.select(
            named(exp.Sum(this=column(names.COUNT)), names.COUNT),
            named(exp.Sum(this=column("min_suppressed")), "min_suppressed"),
        )
        .from_(table("judged"))
        .where(equal(column("fails"), number(1)))
        .group_by(column(_text(position)))
    )
    sums = [
        exp.Coalesce(this=exp.Sum(this=_n_ln_n(column(name))), expressions=[number(0)])
        for name in (names.COUNT, "min_suppressed")
    ]
    return exp.select(number(position), *sums).from_(grouped.subquery("grouped"))


def _n_ln_n(count: exp.Expr) -> exp.Expr:
    product = exp.Mul(this=count, expression=exp.Ln(this=count.copy()))
    return when(exp.GT(this=count.copy(), expression=number(0)), product, number(0))


def _judged(catalog: Catalog, models: Sequence[PrivacyModel], node: Node) -> list[exp.CTE]:
    """Return the relations up to ``judged``.

    ``judged`` holds per class of a node its texts, its counters, whether it fails, and how many of its records are
    certain to be suppressed at every more special node.
    """
    texts = [_text(position) for position in range(len(node))]
    values = [_value(len(node) + place) for place in range(len(catalog.sensitive))]
    ctes = [cte("records", _records(catalog, node, values))]
    ctes.append(cte("classes", _classes(catalog, texts), materialized=True))
    watched = {model.column for model in models}
    for place, attribute in enumerate(catalog.sensitive):
        if attribute.name in watched:
            ctes.append(cte(f"histogram_{place}", _histogram(texts, values[place], catalog.has_entity)))
            if catalog.has_entity:
                ctes.append(cte(f"weights_{place}", _weights(place)))
    query = exp.select(*[column(name, "classes") for name in texts]).from_(table("classes"))
    if catalog.has_entity:
        query.select(named(column("records", "classes"), names.COUNT), copy=False)
        query.select(named(column(names.COUNT, "classes"), "entities"), copy=False)
    else:
        query.select(column(names.COUNT, "classes"), copy=False)
    query.select(column(names.POPULATION, "classes"), copy=False)
    fails, min_suppressed = [], []
    for position, model in enumerate(models):
        name = f"model_{position}"
        ctes.append(cte(name, _answers(catalog, model)))
        query.join(table(name), on=_same_class(name), join_type="left", copy=False)
        fails.append(equal(column("fails", name), number(1)))
        certain: exp.Expr = column("min_suppressed", name)
        if catalog.has_entity:  # an entity may be in several parts of a class: only what holds of each part is certain
            few = exp.LT(this=column("records", "classes"), expression=number(model.size))
            lasts = exp.true() if model.monotone else few
            certain = when(lasts, column("records", "classes"), number(0))
            if knows_parts(model):
                in_parts = f"in_parts_{position}"
                of_records = exp.select(column(CLASS), named(column("records"), names.COUNT)).from_(table("classes"))
                ctes.append(cte(in_parts, _answers(catalog, model, classes=of_records)))
                query.join(table(in_parts), on=_same_class(in_parts), join_type="left", copy=False)
                certain = column("min_suppressed", in_parts)
        min_suppressed.append(when(fails[-1].copy(), certain, number(0)))
    any_fails = exp.or_(*fails) if fails else exp.false()
    query.select(named(when(any_fails, number(1), number(0)), "fails"), copy=False)
    query.select(named(greatest(*min_suppressed) if min_suppressed else number(0), "min_suppressed"), copy=False)
    return [*ctes, cte("judged", query, materialized=True)]


def _records(catalog: Catalog, node: Node, values: Sequence[str]) -> exp.Select:
    """Return the original values that are left of a record at a node, with the numbers of the node's texts."""
    kept = [*values, names.COUNT, names.POPULATION, *([names.ENTITY] if catalog.has_entity else [])]
    query = exp.select(
        *[named(column(names.text_number(level), names.lookup(i)), _text(i)) for i, level in enumerate(node)],
        *[column(name, "o") for name in kept],
    ).from_(table(names.ORIGINALS, "o"))
    for position in range(len(node)):
        lookup = names.lookup(position)
        query.join(table(lookup, lookup), on=_meets(position), copy=False)
    return query


def _classes(catalog: Catalog, texts: Sequence[str]) -> exp.Select:
    """Return the classes of a node, numbered, with their counters: of records, or of entities and records."""
    counted = [named(total(column(counter)), counter) for counter in (names.COUNT, names.POPULATION)]
    if catalog.has_entity:
        counted = [named(_entities(of_subset=True), names.COUNT), named(_entities(of_subset=False), names.POPULATION)]
        counted.append(named(total(column(names.COUNT)), "records"))
    keys = [column(name) for name in texts]
    grouped = exp.select(*keys, *counted).from_(table("records")).group_by(*[key.copy() for key in keys], copy=False)
    numbered = named(exp.Window(this=exp.RowNumber()), CLASS)
    return exp.select(exp.Star(), numbered).from_(grouped.subquery("grouped"))


def _same_class(relation: str) -> exp.Expr:
    return equal(column(CLASS, "classes"), column(CLASS, relation))


def _entities(*, of_subset: bool) -> exp.Expr:
    """Return the number of distinct entities with a record of the subset, or with any."""
    own = column(names.ENTITY)
    if of_subset:
        counts = exp.GT(this=column(names.COUNT), expression=number(0))
        return exp.Count(this=exp.Distinct(expressions=[when(counts, own)]))
    return exp.Count(this=exp.Distinct(expressions=[own]))


def _weights(place: int) -> exp.Select:
    """Return per class the entities of its values, summed: what the shares of the values are taken of."""
    summed = named(total(column(names.COUNT)), names.COUNT)
    return exp.select(column(CLASS), summed).from_(table(f"histogram_{place}")).group_by(column(CLASS))


def _histogram(texts: Sequence[str], value: str, of_entities: bool) -> exp.Select:
    """Return per class and sensitive value the number of records, or of distinct entities."""
    entities = exp.Count(this=exp.Distinct(expressions=[column(names.ENTITY, "records")]))
    return (
        exp.select(
            column(CLASS, "classes"),
            named(column(value, "records"), "value"),
            named(entities if of_entities else total(column(names.COUNT, "records")), names.COUNT),
        )
        .from_(table("records"))
        .join(table("classes"), on=equal_columns(texts, "records", "classes"), join_type="left")
        .where(exp.GT(this=column(names.COUNT, "records"), expression=number(0)))
        .group_by(column(CLASS, "classes"), column(value, "records"))
    )


def _answers(catalog: Catalog, model: PrivacyModel, classes: exp.Expr | None = None) -> exp.Select:
    """Bind a model to the classes of the node, or to others: per class ``fails`` and ``min_suppressed``."""
    relations: dict[str, exp.Expr] = {"classes": table("classes")}
    if model.column is not None:
        place = [attribute.name for attribute in catalog.sensitive].index(model.column)
        relations["histogram"] = table(f"histogram_{place}")
        if catalog.has_entity:
            relations["classes"] = classes or table(f"weights_{place}")
        relations["overall"] = table(names.overall(place))
        relations["ancestors"] = table(names.ancestors(place))
    return bind(model.file, relations=relations, columns={"class_key": [CLASS]}, values=dict(model.values(catalog)))


def _meets(position: int) -> exp.Expr:
    """Return the condition that an original value meets its row of the lookup."""
    return equal(column(_value(position), "o"), column("id", names.lookup(position)))
