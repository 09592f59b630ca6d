"""From grains that hold a row a key and entity to what the models and the limit see: distinct entities (``sql/judge``).

The relations are those of ``compiler.judged`` with an entity: ``parts`` (node, key with codes, entity), ``entities``
(node, class, entity), ``classes`` (node, class: ``n`` entities, ``records``) and a histogram a watched column (node,
class, value: ``n`` entities). An entity with several values in a class counts once for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import both, column, cte, drop_columns, equal, masked, named, number, table


def relations(
    catalog: Catalog, watched: Sequence[str], grouped: exp.Query, class_keys: Sequence[exp.Expr]
) -> list[exp.CTE]:
    """Return the relations that the models see, from the grouped grains of some nodes.

    Args:
        watched: the sensitive columns whose values are counted; without any the keys hold no codes.
        class_keys: the node and the keys of a class, named, over the keys of ``grouped``.
    """
    key_names = [item.alias_or_name for item in class_keys]
    of_classes = cte("classes", classes(key_names, catalog.has_population), materialized=True)
    if not watched:
        return [cte("entities", grouped, materialized=True), of_classes]
    of_entities = bind("judge/entities.sql", columns={"class_key": class_keys})
    if not catalog.has_population:
        drop_columns(of_entities, {names.POPULATION})
    ctes = [cte("parts", grouped, materialized=True), cte("entities", of_entities, materialized=True), of_classes]
    for position, name in enumerate(watched):
        ctes.append(cte(f"histogram_{position}", histogram(catalog, name, class_keys)))
        ctes.append(cte(f"weights_{position}", weights(position, key_names)))
    return ctes


def classes(key_names: Sequence[str], has_population: bool) -> exp.Select:
    """Return per class its entities (of the subset, and of the population, where there is a subset) and its records."""
    query = bind("judge/classes_of_entities.sql", columns={"class_key": key_names})
    if not has_population:
        drop_columns(query, {names.POPULATION})
    return query


def histogram(catalog: Catalog, name: str, class_keys: Sequence[exp.Expr]) -> exp.Select:
    """Return per class and value of a sensitive column its entities."""
    attribute = catalog.sensitive_attribute(name)
    value = named(masked(column(names.key(attribute.word)), number(attribute.code)), "value")
    key_names = [item.alias_or_name for item in class_keys]
    query = bind(
        "judge/histogram_of_entities.sql",
        columns={"class_key": key_names, "part_key": class_keys, "sensitive_value": [value]},
    )
    distinct = query.find(exp.Distinct)
    if distinct is not None and len(catalog.sensitive) == 1:
        distinct.pop()  # no other value makes two parts of one: every row is another entity
    return query


def weights(position: int, key_names: Sequence[str]) -> exp.Select:
    """Return per class what its shares of values are taken of: the entities of all values, summed."""
    histogram = table(f"histogram_{position}")
    return bind("judge/weights.sql", relations={"histogram": histogram}, columns={"class_key": key_names})


def entity_counts(catalog: Catalog, *, monotone: bool) -> exp.Select:
    """Return per node the entities that count against the limit, and those that certainly do further down.

    Args:
        monotone: all records of a failing class are certain to be suppressed at every more specific node.
    """
    keys = ["node", *[names.key(word) for word in range(catalog.words)]]
    of_entities = bind("judge/entity_counts.sql", columns={"class_key": keys})
    if monotone:
        drop_columns(of_entities, {"min_suppressed_entities"})
        drop_columns(next(of_entities.find_all(exp.Subquery)).this, {"is_certain"})
    return of_entities


def totals(counts: exp.Query, columns: Sequence[str], of_entities: exp.Select) -> list[exp.CTE]:
    """Return ``totals``: one row a node, the ``counts`` of its classes with those ``of_entities``.

    Args:
        columns: of the result, in order.
        of_entities: a row a node, ``entity_counts`` or ``profiles.person_counts``.
    """
    joined = {item.alias_or_name for item in of_entities.expressions} - {"node"}
    everything = [
        named(exp.Coalesce(this=column(name, "entity_counts"), expressions=[number(0)]), name)
        if name in joined
        else column(name, "counts")
        for name in columns
    ]
    same_node = equal(column("node", "counts"), column("node", "entity_counts"))
    query = exp.select(*everything).from_(table("counts")).join(table("entity_counts"), on=same_node, join_type="left")
    return [cte("counts", counts), cte("entity_counts", of_entities), cte("totals", query, materialized=True)]


def lasting_failures(
    models: Sequence[PrivacyModel], known: Sequence[PrivacyModel], failing: Sequence[exp.Expr]
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return the failures that last at every more specific node, and the records that are suppressed there for certain.

    A failure of a monotone model lasts: of no value has a part of a class more entities than the class. So does that of
    a class with fewer records than the model lets pass. What the other models return as ``min_suppressed`` rests on
    each record being in one part only; an entity may be in several, so nothing is certain of it. (Persons 1 to 9 are
    ill with a, 10 with b, and 10 has nine records, each in another part with one of the others: all parts pass, the
    class does not.) Unless the model's bound holds for such parts, too: it is ``known`` (``knows_parts``).
    """
    lasts: list[exp.Expr] = []
    min_suppressed: list[exp.Expr] = []
    for position, (model, fails) in enumerate(zip(models, failing, strict=True)):
        few = exp.LT(this=column("records", "classes"), expression=number(model.size))
        lasts.append(fails if model.monotone or model in known else exp.and_(fails.copy(), few))
        min_suppressed.append(
            column("min_suppressed", min_suppressed_name(position)) if model in known else column("records", "classes")
        )
    return lasts, min_suppressed


def min_suppressed_name(position: int) -> str:
    """Return the name of the relation with the bound of the model at ``position`` (``knows_parts``)."""
    return f"min_suppressed_{position}"


def classes_of_records(key_names: Sequence[str]) -> exp.Select:
    """Return the classes with their records for ``n``."""
    keys = [column(name) for name in key_names]
    return exp.select(*keys, named(column("records"), names.COUNT)).from_(table("classes"))


def with_min_suppressed_in_parts(
    query: exp.Select, models: Sequence[PrivacyModel], known: Sequence[PrivacyModel], key_names: Sequence[str]
) -> exp.Select:
    """Join ``classes`` with the bounds of the models on ``min_suppressed`` that are ``known``."""
    for position, model in enumerate(models):
        if model in known:
            name = min_suppressed_name(position)
            on = both(equal(column(k, "classes"), column(k, name)) for k in key_names)
            query = query.join(table(name), on=on, join_type="left", copy=False)
    return query
