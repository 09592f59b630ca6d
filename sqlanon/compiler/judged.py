"""From a grouped grain to classes that pass or fail the privacy models."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.compiler import distinct_entities
from sqlanon.compiler.question import Question
from sqlanon.lattice.catalog import Catalog
from sqlanon.models.base import PrivacyModel
from sqlanon.sqltrees import names
from sqlanon.sqltrees.binding import bind
from sqlanon.sqltrees.trees import (
    both,
    column,
    cte,
    equal,
    greatest,
    masked,
    named,
    number,
    table,
    total,
    when,
)


def counters(has_population: bool, table_name: str | None = None) -> list[exp.Expr]:
    """The summed counters of a grain: ``n``, and ``population`` where there is one."""
    wanted = [names.COUNT, names.POPULATION] if has_population else [names.COUNT]
    return [named(total(column(name, table_name)), name) for name in wanted]


def _identity(has_entity: bool, table_name: str | None = None) -> list[exp.Expr]:
    """What a grain is grouped by beside its keys."""
    return [column(names.ENTITY, table_name)] if has_entity else []


def grouped_node(
    grain: str, node: exp.Expr, masks: Sequence[exp.Expr], has_population: bool, has_entity: bool = False
) -> exp.Select:
    """The grain of one node, grouped from another grain."""
    return (
        exp.select(
            named(node, "node"),
            *[named(masked(column(names.key(w)), mask), names.key(w)) for w, mask in enumerate(masks)],
            *_identity(has_entity),
            *counters(has_population),
        )
        .from_(table(grain))
        .group_by(*[exp.Literal.number(2 + w) for w in range(len(masks) + has_entity)])
    )


def judged(question: Question, grouped: exp.Query) -> list[exp.CTE]:
    """From the grouped grain of some nodes to ``judged``: per node and class its counters, ``fails`` and ``min_suppressed``.

    ``grouped`` holds ``node``, the keys (with the sensitive codes where a model counts values), with an entity its
    number, and the counters. ``n`` is what the models see while they judge; in ``judged`` it is always records.
    The classes are folded from it, each model is bound to the histogram of its column or to the classes, and what they
    say is joined: a class fails when any model fails, and loses the most that any failing model says.
    """
    catalog = question.catalog
    key_names = ["node", *[names.key(w) for w in range(catalog.words)]]
    class_keys = [named(part, names.key(w)) for w, part in enumerate(_without_codes(catalog))]
    ctes: list[exp.CTE] = []
    if catalog.has_entity:
        ctes += distinct_entities.relations(catalog, question.histograms, grouped, _without_codes(catalog))
    elif question.histograms:
        ctes.append(cte("parts", grouped, materialized=True))
        classes: exp.Query = (
            exp.select(column("node"), *class_keys, *counters(catalog.has_population))
            .from_(table("parts"))
            .group_by(column("node"), *_without_codes(catalog))
        )
        ctes.append(cte("classes", classes, materialized=True))
        for position, name in enumerate(question.histograms):
            ctes.append(cte(f"histogram_{position}", _histogram(question, name)))
    else:
        ctes.append(cte("classes", grouped))

    query = exp.select(*[column(name, "classes") for name in key_names]).from_(table("classes"))
    if catalog.has_entity:
        query = query.select(named(column("records", "classes"), names.COUNT), copy=False)
        query = query.select(named(column(names.COUNT, "classes"), "entities"), copy=False)
    else:
        query = query.select(*[column(c, "classes") for c in _counter_names(catalog)], copy=False)
    fails: list[exp.Expr] = []
    min_suppressed: list[exp.Expr] = []
    for position, model in enumerate(question.models):
        says = _bound(question, model, key_names)
        if model.column is None:
            fails.append(_projection(says, "fails"))
            min_suppressed.append(_projection(says, "min_suppressed"))
            continue
        name = f"model_{position}"
        ctes.append(cte(name, says))
        matches = both(equal(column(k, "classes"), column(k, name)) for k in key_names)
        query = query.join(table(name), on=matches, join_type="left", copy=False)
        fails.append(column("fails", name))
        min_suppressed.append(column("min_suppressed", name))
    failing: list[exp.Expr] = [equal(f, number(1)) for f in fails]
    query = query.select(
        named(_case(exp.or_(*failing) if failing else exp.false(), number(1), number(0)), "fails"), copy=False
    )
    if not question.monotone:
        if catalog.has_entity:
            ctes += _min_suppressed_in_parts(question, key_names)
            query = distinct_entities.with_min_suppressed_in_parts(query, question.models, key_names)
            failing, min_suppressed = distinct_entities.lasting(question.models, failing)
        amounts: list[exp.Expr] = [
            _case(f.copy(), amount, number(0)) for f, amount in zip(failing, min_suppressed, strict=True)
        ]
        query = query.select(named(_greatest(amounts), "min_suppressed"), copy=False)
    if question.by_model:
        query = query.select(*[named(f.copy(), f"fails_{i}") for i, f in enumerate(fails)], copy=False)
    ctes.append(cte("judged", query, materialized=True))
    return ctes


def _min_suppressed_in_parts(question: Question, key_names: Sequence[str]) -> list[exp.CTE]:
    """What models that know it say of ``min_suppressed`` where an entity may be in several parts of a class."""
    of_records = distinct_entities.classes_of_records(key_names)
    return [
        cte(distinct_entities.min_suppressed_name(position), _bound(question, model, key_names, classes=of_records))
        for position, model in enumerate(question.models)
        if distinct_entities.knows_parts(model)
    ]


def _without_codes(catalog: Catalog) -> list[exp.Expr]:
    """The keys of a class: the bits of the sensitive codes cleared."""
    return [
        masked(column(names.key(w)), number(~codes)) if codes else column(names.key(w))
        for w, codes in enumerate(catalog.codes)
    ]


def _counter_names(catalog: Catalog) -> list[str]:
    return [names.COUNT, names.POPULATION] if catalog.has_population else [names.COUNT]


def _histogram(question: Question, name: str) -> exp.Select:
    """Per class and value of a sensitive column, the number of records; classes and values without records are
    absent."""
    catalog = question.catalog
    attribute = catalog.sensitive_attribute(name)
    value = masked(column(names.key(attribute.word)), number(attribute.code))
    keys_ = [named(part, names.key(w)) for w, part in enumerate(_without_codes(catalog))]
    query = exp.select(column("node"), *keys_, named(value, "value")).from_(table("parts"))
    query = query.where(exp.GT(this=column(names.COUNT), expression=number(0)))
    if len(catalog.sensitive) == 1:
        return query.select(column(names.COUNT), copy=False)
    query = query.select(named(total(column(names.COUNT)), names.COUNT), copy=False)
    return query.group_by(column("node"), *_without_codes(catalog), value.copy(), copy=False)


def _bound(
    question: Question, model: PrivacyModel, key_names: Sequence[str], *, classes: exp.Expr | None = None
) -> exp.Select:
    """The meaning of a model (``sql/model``) about the classes of the batch, or about others."""
    relations: dict[str, exp.Expr] = {"classes": table("classes")}
    if model.column is not None:
        place = [s.name for s in question.catalog.sensitive].index(model.column)
        position = question.histograms.index(model.column)
        relations["histogram"] = table(f"histogram_{position}")
        if question.catalog.has_entity:
            relations["classes"] = classes or table(f"weights_{position}")
        relations["overall"] = table(names.overall(place))
        relations["ancestors"] = table(names.ancestors(place))
    return bind(
        model.file,
        relations=relations,
        columns={"class_key": key_names},
        values=dict(model.values(question.catalog)),
    )


def _projection(query: exp.Select, name: str) -> exp.Expr:
    """The expression that a model about classes alone gives for ``name``, to stand in a query over the classes."""
    expression: exp.Expr = next(item.this for item in query.expressions if item.alias == name).copy()
    for reference in list(expression.find_all(exp.Column)):
        reference.set("table", exp.to_identifier("classes", quoted=True))
    return expression


def _case(condition: exp.Expr, then: exp.Expr, otherwise: exp.Expr) -> exp.Case:
    return when(condition, then, otherwise)


def _greatest(items: list[exp.Expr]) -> exp.Expr:
    if len(items) == 1:
        return items[0]
    return greatest(*items) if items else number(0)
