"""From grains that hold a row a key and entity to what the models and the limit see: distinct entities.

The relations are those of ``compiler.evaluate`` with an entity: ``parts`` (node, key with codes, entity), ``entities``
(node, class, entity), ``classes`` (node, class: ``n`` entities, ``records``) and a histogram a watched column (node,
class, value: ``n`` entities). An entity with several values in a class counts once for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.lattice.catalog import Catalog
from sqlanon.models.base import PrivacyModel
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import bigint, both, column, count_if, cte, equal, masked, named, number, table, total, when

SUPPRESSED = "suppressed_entities"
"""Count of a node: the entities with a record in a failing class;"""
MIN_SUPPRESSED = "min_suppressed_entities"
"""those with one in a class whose records are suppressed at every more special node;"""
SMALLEST = "smallest_entities"
"""and the entities of the published class that has the fewest."""


def relations(
    catalog: Catalog, watched: Sequence[str], grouped: exp.Query, class_keys: Sequence[exp.Expr]
) -> list[exp.CTE]:
    """What the models see, from the grouped grains of some nodes.

    Args:
        watched: the sensitive columns whose values are counted; without any the keys hold no codes.
        class_keys: over the keys of ``grouped``, those of the classes.
    """
    key_names = _key_names(catalog)
    keys = [column("node"), *class_keys]
    named_keys = [keys[0], *[named(part, name) for part, name in zip(class_keys, key_names[1:], strict=True)]]
    of_classes = cte("classes", classes(key_names, catalog.has_population), materialized=True)
    if not watched:
        return [cte("entities", grouped, materialized=True), of_classes]
    people = entities(keys, named_keys, catalog.has_population)
    ctes = [cte("parts", grouped, materialized=True), cte("entities", people, materialized=True), of_classes]
    for position, name in enumerate(watched):
        attribute = catalog.sensitive_attribute(name)
        value = masked(column(names.key(attribute.word)), number(attribute.code))
        own = [item.copy() for item in named_keys]
        counted = histogram(own, key_names, value, alone=len(catalog.sensitive) == 1)
        ctes += [cte(f"histogram_{position}", counted), cte(f"weights_{position}", weights(position, key_names))]
    return ctes


def totals(catalog: Catalog, counts: exp.Query, columns: Sequence[str], monotone: bool) -> list[exp.CTE]:
    """``totals``: one row a node, the ``counts`` of its classes with the entities that it charges.

    Args:
        columns: of the result, in order.
        monotone: whatever is suppressed is lost.
    """
    return [
        cte("counts", counts),
        cte("charged", counted_against_limit(_key_names(catalog), monotone=monotone)),
        cte("totals", with_charges(columns), materialized=True),
    ]


def lasting(models: Sequence[PrivacyModel], failing: Sequence[exp.Expr]) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """The failures that last at every more special node, and the records that they lose.

    A failure of a monotone model lasts: of no value has a part of a class more entities than the class. So does that of
    a class with fewer records than the model lets pass. What the other models say of ``min_suppressed`` rests on each record
    being in one part only; an entity may be in several, so nothing is certain of it. (Persons 1 to 9 are ill with a, 10
    with b, and 10 has nine records, each in another part with one of the others: all parts pass, the class does not.)
    Unless the model knows it (``knows_parts``).
    """
    lasts: list[exp.Expr] = []
    min_suppressed: list[exp.Expr] = []
    for position, (model, fails) in enumerate(zip(models, failing, strict=True)):
        few = exp.LT(this=column("records", "classes"), expression=number(model.size))
        known = knows_parts(model)
        lasts.append(fails if model.monotone or known else exp.and_(fails.copy(), few))
        min_suppressed.append(
            column("min_suppressed", min_suppressed_name(position)) if known else column("records", "classes")
        )
    return lasts, min_suppressed


def knows_parts(model: PrivacyModel) -> bool:
    """A model that is not monotone says ``min_suppressed`` where an entity may be in several parts of a class.

    It does so by the formula of its file when ``n`` of a class is its records, and of a value its entities: see
    ``models.t_closeness``. What it says is less than all records only if the class has parts that may pass.
    """
    return not model.monotone and bool(getattr(model, "in_parts", False))


def min_suppressed_name(position: int) -> str:
    """What the relation is called in which the model at ``position`` says so."""
    return f"min_cost_{position}"


def classes_of_records(key_names: Sequence[str]) -> exp.Select:
    """The classes with their records for ``n``."""
    keys = [column(name) for name in key_names]
    return exp.select(*keys, named(column("records"), names.COUNT)).from_(table("classes"))


def with_min_suppressed_in_parts(
    query: exp.Select, models: Sequence[PrivacyModel], key_names: Sequence[str]
) -> exp.Select:
    """A query over ``classes``, joined with what the models say of ``min_suppressed`` (``knows_parts``)."""
    for position, model in enumerate(models):
        if knows_parts(model):
            name = min_suppressed_name(position)
            on = both(equal(column(k, "classes"), column(k, name)) for k in key_names)
            query = query.join(table(name), on=on, join_type="left", copy=False)
    return query


def _key_names(catalog: Catalog) -> list[str]:
    """What a class of a batch is known by."""
    return ["node", *[names.key(word) for word in range(catalog.words)]]


def counters(has_population: bool) -> list[exp.Expr]:
    """The summed records of a grain."""
    wanted = [names.COUNT, names.POPULATION] if has_population else [names.COUNT]
    return [named(total(column(name)), name) for name in wanted]


def entities(keys: Sequence[exp.Expr], named_keys: Sequence[exp.Expr], has_population: bool) -> exp.Select:
    """Per class and entity its records, from the parts."""
    return (
        exp.select(*named_keys, column(names.ENTITY), *counters(has_population))
        .from_(table("parts"))
        .group_by(*keys, column(names.ENTITY))
    )


def classes(key_names: Sequence[str], has_population: bool) -> exp.Select:
    """Per class its entities (of the subset, and of the population, where there is a subset) and its records."""
    everyone = bigint(exp.Count(this=exp.Star()))
    counted = [named(count_if(_counts()), names.COUNT), named(everyone, names.POPULATION)]
    if not has_population:
        counted = [named(everyone, names.COUNT)]
    return (
        exp.select(*[column(name) for name in key_names], *counted, named(total(column(names.COUNT)), "records"))
        .from_(table("entities"))
        .group_by(*[column(name) for name in key_names])
    )


def histogram(keys: Sequence[exp.Expr], key_names: Sequence[str], value: exp.Expr, *, alone: bool) -> exp.Select:
    """Per class and value its entities.

    Args:
        keys: of a class, over ``parts``, named ``key_names``.
        alone: the keys of ``parts`` hold no other value, so that every row is another entity.
    """
    seen = exp.select(*keys, named(value, "value"), column(names.ENTITY)).from_(table("parts")).where(_counts())
    if not alone:
        seen = seen.distinct()
    return (
        exp.select(*[column(name) for name in (*key_names, "value")], named(_rows(), names.COUNT))
        .from_(seen.subquery("seen"))
        .group_by(*[column(name) for name in (*key_names, "value")])
    )


def weights(position: int, key_names: Sequence[str]) -> exp.Select:
    """Per class what its shares of values are taken of: the entities of all values, summed.

    An entity with several values counts for each, so these are no fewer than the entities of the class.
    """
    return (
        exp.select(*[column(name) for name in key_names], named(total(column(names.COUNT)), names.COUNT))
        .from_(table(f"histogram_{position}"))
        .group_by(*[column(name) for name in key_names])
    )


def counted_against_limit(key_names: Sequence[str], *, monotone: bool) -> exp.Select:
    """Per node the entities with a suppressed record, and unless all of these are lost, those in a class that loses all
    of its records. (Of a class that loses some, whose they are is not certain.)"""
    records = column(names.COUNT, "judged")
    sure = when(exp.GTE(this=column("min_suppressed", "judged"), expression=records), number(1), number(0))
    hit = (
        exp.select(
            column("node", "entities"),
            column(names.ENTITY, "entities"),
            *([] if monotone else [named(exp.Max(this=sure), "min_suppressed")]),
        )
        .from_(table("entities"))
        .join(
            table("judged"),
            on=both(equal(column(k, "entities"), column(k, "judged")) for k in key_names),
        )
        .where(
            equal(column("fails", "judged"), number(1)),
            exp.GT(this=column(names.COUNT, "entities"), expression=number(0)),
        )
        .group_by(column("node", "entities"), column(names.ENTITY, "entities"))
    )
    counted = [named(_rows(), SUPPRESSED)]
    if not monotone:
        counted.append(named(total(column("min_suppressed")), MIN_SUPPRESSED))
    return exp.select(column("node"), *counted).from_(hit.subquery("hit")).group_by(column("node"))


def with_charges(columns: Sequence[str]) -> exp.Select:
    """The counts of the nodes (``counts``) with their entities (``counted_against_limit``), in the order of ``columns``."""
    own = (SUPPRESSED, MIN_SUPPRESSED)
    wanted = [
        named(exp.Coalesce(this=column(name, "charged"), expressions=[number(0)]), name)
        if name in own
        else column(name, "counts")
        for name in columns
    ]
    return (
        exp.select(*wanted)
        .from_(table("counts"))
        .join(
            table("charged"),
            on=equal(column("node", "counts"), column("node", "charged")),
            join_type="left",
        )
    )


def _counts() -> exp.Expr:
    return exp.GT(this=column(names.COUNT), expression=number(0))


def _rows() -> exp.Expr:
    return bigint(exp.Count(this=exp.Star()))
