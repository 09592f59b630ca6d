"""The statements that judge nodes as a person would: over the original values and the lookups, without masks.

They serve the verification of certificates. Each record stands once per node, with the number of the node and what the
node leaves of its values; plain GROUP BYs do the rest, for many nodes as for one. With the statements of a search they
share the files of ``sql/model``. Packed keys, grains, batches, the judging statement and its counts are not shared.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from sqlanon.core.compiler import readable_profiles
from sqlanon.core.compiler.encoded_source import least_cost
from sqlanon.core.compiler.readable import n_ln_n, original_value, with_texts
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models.base import PrivacyModel, is_of_release, judges_persons, knows_parts
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import (
    bigint,
    both,
    column,
    cte,
    equal,
    equal_columns,
    greatest,
    named,
    number,
    or_zero,
    table,
    total,
    union_all,
    when,
    wide_sum,
    with_ctes,
)

CLASS = "class"
"""The number of a class among those of all nodes of a statement."""
NODE = "node"
"""The number of a node among those of a certificate (``names.CERTIFIED``)."""
COSTED = "costed"
"""Column of ``names.CERTIFIED``: 1 for a node whose suppressed records' costs are asked for."""


def text_of(position: int) -> str:
    """Return the column of ``names.JUDGED`` with the number of the text of the attribute at a position."""
    return f"text_{position}"


def _text_at(position: int, level: int) -> str:
    return f"text_{position}_{level}"


def generalized(catalog: Catalog, nodes: Collection[Node]) -> exp.Select:
    """Return the original values with the numbers of their texts at every level that the nodes have, and the counters.

    A row of this relation (``names.GENERALIZED``) is a row of the originals.
    """
    used = sorted({place for node in nodes for place in enumerate(node)})
    query = exp.select(
        *[named(column(names.text_number(level), names.lookup(i)), _text_at(i, level)) for i, level in used],
        *[column(name, "o") for name in _kept(catalog)],
    ).from_(table(names.ORIGINALS, "o"))
    for position in range(len(catalog.attributes)):
        with_texts(query, position)
    return query


def judged(catalog: Catalog, models: Sequence[PrivacyModel], nodes: Mapping[int, Node]) -> exp.Query:
    """Return the relation ``names.JUDGED``: the classes of some nodes, by the numbers of the nodes.

    Release models settle it afterwards (``readable_release``).

    A class has its node, its texts, its counters, whether it fails, and how many of its records are certain to be
    suppressed at every more specific node.
    """
    texts = [text_of(position) for position in range(len(catalog.attributes))]
    values = [original_value(len(texts) + place) for place in range(len(catalog.sensitive))]
    of_persons = judges_persons(models)
    records = _records(catalog, nodes)
    if of_persons:  # a class is what the persons of a profile have in common
        records, texts = readable_profiles.with_profiles(records, NODE), [*texts, readable_profiles.PROFILE]
    ctes = [cte("records", records)]
    ctes.append(cte("classes", _classes(catalog, texts), materialized=True))
    watched = {model.column for model in models}
    for place, attribute in enumerate(catalog.sensitive):
        if attribute.name in watched:
            ctes.append(cte(f"histogram_{place}", _histogram(texts, values[place], catalog.has_entity)))
            if catalog.has_entity:
                ctes.append(cte(f"weights_{place}", _weights(place)))
    query = exp.select(*[column(name, "classes") for name in (NODE, *texts)]).from_(table("classes"))
    if catalog.has_entity:
        query.select(named(column("records", "classes"), names.COUNT), copy=False)
        query.select(named(column(names.COUNT, "classes"), "entities"), copy=False)
    else:
        query.select(column(names.COUNT, "classes"), copy=False)
    fails, min_suppressed = [], []
    for position, model in enumerate(models):
        if is_of_release(model):
            continue
        name = f"model_{position}"
        ctes.append(cte(name, _answers(catalog, model)))
        query.join(table(name), on=_same_class(name), join_type="left", copy=False)
        fails.append(equal(column("fails", name), number(1)))
        certain: exp.Expr = column("min_suppressed", name)
        if catalog.has_entity:  # an entity may be in several parts of a class: only what holds of each part is certain
            few = exp.LT(this=column("records", "classes"), expression=number(model.size))
            lasts = exp.true() if model.monotone else few
            certain = when(lasts, column("records", "classes"), number(0))
            if knows_parts(model) and not of_persons:
                in_parts = f"in_parts_{position}"
                of_records = exp.select(column(CLASS), named(column("records"), names.COUNT)).from_(table("classes"))
                ctes.append(cte(in_parts, _answers(catalog, model, classes=of_records)))
                query.join(table(in_parts), on=_same_class(in_parts), join_type="left", copy=False)
                certain = column("min_suppressed", in_parts)
        min_suppressed.append(when(fails[-1].copy(), certain, number(0)))
    any_fails = exp.or_(*fails) if fails else exp.false()
    query.select(named(when(any_fails, number(1), number(0)), "fails"), copy=False)
    query.select(
        named(greatest(*min_suppressed) if min_suppressed else bigint(number(0)), "min_suppressed"), copy=False
    )
    if of_persons:
        query = readable_profiles.suppressed_whole(query, NODE, texts)
    return with_ctes(query, ctes)


def profiles(catalog: Catalog, models: Sequence[PrivacyModel], nodes: Mapping[int, Node]) -> exp.Query:
    """Return the relation ``names.PROFILES``: the profile of every entity at each of the nodes."""
    if any(map(is_of_release, models)):  # each person is judged alone, in rounds
        return readable_profiles.persons(_records(catalog, nodes), NODE)
    texts = [text_of(position) for position in range(len(catalog.attributes))]
    return readable_profiles.profiles(_records(catalog, nodes), NODE, texts)


def node_counts(catalog: Catalog, nodes: Mapping[int, Node], size: int, *, of_persons: bool) -> exp.Query:
    """Return a row a node: its number, and what its classes come to (``sql/audit/node_counts.sql``).

    With an entity the row also counts the entities with suppressed records (``node_entities.sql``).

    Args:
        of_persons: classes are of persons, so that a class of rows may be partly suppressed.
    """
    texts = [text_of(position) for position in range(len(catalog.attributes))]
    query = bind(
        "audit/node_counts.sql",
        relations={"judged": readable_profiles.by_rows(NODE, texts) if of_persons else table(names.JUDGED)},
        values={"size": max(size, 1), "population": catalog.population},
    )
    if not catalog.has_entity:
        return query
    records = _records(catalog, nodes)
    counted = readable_profiles.entities if of_persons else _of_entities
    of_entities = counted(records, NODE, texts)
    wanted = [column(name, "counts") for name in query.named_selects]
    wanted += [column(name, "of_entities") for name in of_entities.named_selects if name != NODE]
    both_rows = exp.select(*wanted).from_(query.subquery("counts"))
    same_node = equal(column(NODE, "counts"), column(NODE, "of_entities"))
    return both_rows.join(of_entities.subquery("of_entities"), on=same_node, copy=False)


def _of_entities(records: exp.Query, node: str, texts: Sequence[str]) -> exp.Select:
    """Return per ``node`` the entities with suppressed records (``sql/audit/node_entities.sql``)."""
    same = equal_columns((node, *texts), "records", "judged")
    hit = readable_profiles.with_fates(records, node, "judged")
    hit = hit.join(table(names.JUDGED, "judged"), on=same, join_type="left")
    return bind("audit/node_entities.sql", relations={"judged": hit})


def node_costs(catalog: Catalog, *, surprising: bool) -> exp.Query:
    """Return per costed node and attribute: number, position, the cost of the suppressed records, and the least costs.

    The least costs are of the records that are certain to be suppressed further down, at every level up to the node's
    (from ``least_costs``). ``surprising`` asks for the sums of s ln s over the texts instead.
    """
    tallest = max(attribute.height for attribute in catalog.attributes)
    positions = range(len(catalog.attributes))
    return union_all(
        _surprisals_of_texts(position) if surprising else _costs_of_leaves(position, tallest) for position in positions
    )


def _costs_of_leaves(position: int, tallest: int) -> exp.Select:
    def summed(counter: str, cost: str) -> exp.Expr:
        return wide_sum(exp.Mul(this=column(counter, "judged"), expression=column(cost, "costs")))

    of_text = [
        equal(column("position", "costs"), number(position)),
        equal(column("level", "costs"), column(names.level(position), "nodes")),
        equal(column("text", "costs"), column(text_of(position), "judged")),
    ]
    return (
        _of_failing(
            exp.select(
                column(NODE, "judged"),
                number(position),
                summed(names.COUNT, "cost"),
                *[summed("min_suppressed", least_cost(lower)) for lower in range(tallest)],
            )
        )
        .join(table(names.LEAST_COSTS, "costs"), on=both(of_text))
        .group_by(column(NODE, "judged"))
    )


def _surprisals_of_texts(position: int) -> exp.Select:
    counters = [named(exp.Sum(this=column(name, "judged")), name) for name in (names.COUNT, "min_suppressed")]
    keys = [column(NODE, "judged"), column(text_of(position), "judged")]
    grouped = _of_failing(exp.select(column(NODE, "judged"), *counters)).group_by(*keys)
    sums = [or_zero(exp.Sum(this=n_ln_n(column(name)))) for name in (names.COUNT, "min_suppressed")]
    query = exp.select(column(NODE), number(position), *sums).from_(grouped.subquery("grouped"))
    return query.group_by(column(NODE))


def _of_failing(query: exp.Select) -> exp.Select:
    """Let a query read the failing classes of the nodes whose costs are asked for."""
    costed = [
        equal(column(NODE, "nodes"), column(NODE, "judged")),
        equal(column(COSTED, "nodes"), number(1)),
    ]
    fails = equal(column("fails", "judged"), number(1))
    return (
        query.from_(table(names.JUDGED, "judged")).join(table(names.CERTIFIED, "nodes"), on=both(costed)).where(fails)
    )


def _kept(catalog: Catalog) -> list[str]:
    """Return the columns of the originals that no level changes."""
    values = [original_value(len(catalog.attributes) + place) for place in range(len(catalog.sensitive))]
    return [*values, names.COUNT, names.POPULATION, *([names.ENTITY] if catalog.has_entity else [])]


def _records(catalog: Catalog, nodes: Mapping[int, Node]) -> exp.Query:
    """Return what is left of every record at each of the nodes: the number of the node and those of its texts."""
    return union_all(
        exp.select(
            named(number(place), NODE),
            *[named(column(_text_at(position, level)), text_of(position)) for position, level in enumerate(node)],
            *[column(name) for name in _kept(catalog)],
        ).from_(table(names.GENERALIZED))
        for place, node in nodes.items()
    )


def _classes(catalog: Catalog, texts: Sequence[str]) -> exp.Select:
    """Return the classes of the nodes, numbered, with their counters: of records, or of entities and records."""
    counted = [named(total(column(counter)), counter) for counter in (names.COUNT, names.POPULATION)]
    if catalog.has_entity:
        counted = [named(_entities(of_subset=True), names.COUNT), named(_entities(of_subset=False), names.POPULATION)]
        counted.append(named(total(column(names.COUNT)), "records"))
    keys = [column(name) for name in (NODE, *texts)]
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
    known = exp.GT(this=column(names.POPULATION), expression=number(0))
    return exp.Count(this=exp.Distinct(expressions=[when(known, own)]))


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
        .join(table("classes"), on=equal_columns((NODE, *texts), "records", "classes"), join_type="left")
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
