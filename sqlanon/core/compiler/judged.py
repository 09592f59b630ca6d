"""From a grouped grain to classes that pass or fail the privacy models."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.compiler import distinct_entities, profiles
from sqlanon.core.compiler.question import Question
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.base import PrivacyModel, is_of_release, knows_parts, refuse_release_models
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import (
    both,
    column,
    cte,
    drop_columns,
    equal,
    greatest,
    masked,
    named,
    number,
    or_zero,
    table,
    total,
    when,
)


def counters(has_population: bool, table_name: str | None = None) -> list[exp.Expr]:
    """Return the summed counters of a grain: ``n``, and ``population`` where there is one."""
    return [named(total(column(name, table_name)), name) for name in _counter_names(has_population)]


def identity(has_entity: bool, table_name: str | None = None) -> list[exp.Expr]:
    """Return what a grain is grouped by beside its keys."""
    return [column(names.ENTITY, table_name)] if has_entity else []


def grouped_node(
    grain: str, node: exp.Expr, masks: Sequence[exp.Expr], has_population: bool, has_entity: bool = False
) -> exp.Select:
    """Return the grain of one node, grouped from another grain."""
    return (
        exp.select(
            named(node, "node"),
            *[named(masked(column(names.key(w)), mask), names.key(w)) for w, mask in enumerate(masks)],
            *identity(has_entity),
            *counters(has_population),
        )
        .from_(table(grain))
        .group_by(*[exp.Literal.number(2 + w) for w in range(len(masks) + has_entity)])
    )


def judged(question: Question, grouped: exp.Query, *, by_classes: bool = False) -> list[exp.CTE]:
    """Return the relations from the grouped grain of some nodes to ``judged``.

    ``judged`` holds, per node and class, its counters, ``fails`` and ``min_suppressed``. A class fails when any model
    fails it, and of its records at least as many are suppressed further down as the strictest failing model proves.

    Args:
        grouped: ``node``, the keys (with the sensitive codes where a model counts values), with an entity its number,
            and the counters. Its ``n`` is what the models see while they judge; in ``judged`` it is always records.
        by_classes: release models are to judge the classes afterwards.

    Raises:
        UnsupportedError: there are release models, which nothing has asked.
    """
    catalog = question.catalog
    row_names = ["node", *[names.key(w) for w in range(catalog.words)]]
    key_names = [*row_names, profiles.PROFILE] if question.of_persons else row_names
    if question.settled is not None:
        return _settled(question, question.settled, grouped, row_names)
    ctes = _seen_by_models(question, grouped)
    if not by_classes:
        refuse_release_models(question.models, "This statement judges classes one by one")
    query = exp.select(*[column(name, "classes") for name in key_names]).from_(table("classes"))
    if catalog.has_entity:
        query.select(named(column("records", "classes"), names.COUNT), copy=False)
        query.select(named(column(names.COUNT, "classes"), "entities"), copy=False)
    else:
        query.select(*[column(name, "classes") for name in _counter_names(catalog.has_population)], copy=False)
    fails: list[exp.Expr] = []
    min_suppressed: list[exp.Expr] = []
    for position, model in enumerate(question.models):
        if is_of_release(model):  # it judges the classes of a node together, afterwards
            fails.append(number(0))
            min_suppressed.append(number(0))
            continue
        answer = _bound(question, model, key_names)
        if model.column is None:
            fails.append(_projection(answer, "fails"))
            min_suppressed.append(_projection(answer, "min_suppressed"))
            continue
        name = f"model_{position}"
        ctes.append(cte(name, answer))
        matches = both(equal(column(k, "classes"), column(k, name)) for k in key_names)
        query.join(table(name), on=matches, join_type="left", copy=False)
        fails.append(column("fails", name))
        min_suppressed.append(column("min_suppressed", name))
    failing = [_is_set(f) for f in fails]
    any_fails = exp.or_(*failing) if failing else exp.false()
    query.select(named(when(any_fails, number(1), number(0)), "fails"), copy=False)
    if not question.monotone:
        if catalog.has_entity:
            known = [] if question.of_persons else [model for model in question.models if knows_parts(model)]
            ctes += _min_suppressed_in_parts(question, key_names, known)
            query = distinct_entities.with_min_suppressed_in_parts(query, question.models, known, key_names)
            failing, min_suppressed = distinct_entities.lasting_failures(question.models, known, failing)
        amounts: list[exp.Expr] = [
            when(f.copy(), amount, number(0)) for f, amount in zip(failing, min_suppressed, strict=True)
        ]
        strictest = amounts[0] if len(amounts) == 1 else greatest(*amounts)
        # a model whose file returns NULL proves nothing
        query.select(named(or_zero(strictest), "min_suppressed"), copy=False)
    if question.by_model:
        query.select(*[named(f.copy(), f"fails_{i}") for i, f in enumerate(fails)], copy=False)
    if question.of_persons:
        models = len(question.models) if question.by_model else 0
        return [*ctes, *profiles.folded(query, row_names, monotone=question.monotone, models=models)]
    query.add_comments(["A class fails when any model fails it; of the bounds of these models the strictest counts."])
    ctes.append(cte("judged", query, materialized=True))
    return ctes


def _settled(question: Question, relation: str, grouped: exp.Query, row_names: Sequence[str]) -> list[exp.CTE]:
    """Return the relations up to ``judged`` where release models settled the classes, or the persons, of the node."""
    if question.of_persons:
        return profiles.settled(grouped, relation, row_names, models=len(question.models) if question.by_model else 0)
    return [*_seen_by_models(question, grouped), cte("judged", exp.select("*").from_(table(relation)))]


def _seen_by_models(question: Question, grouped: exp.Query) -> list[exp.CTE]:
    """Return ``classes``, and a histogram for every column that a model watches."""
    catalog = question.catalog
    class_keys = [
        column("node"),
        *[
            named(masked(column(names.key(w)), number(~codes)), names.key(w)) if codes else column(names.key(w))
            for w, codes in enumerate(catalog.codes)
        ],
    ]
    if question.of_persons:
        ctes, parts = profiles.profiled(catalog, grouped, class_keys)
        of_profiles = [*class_keys, column(profiles.PROFILE)]
        return ctes + distinct_entities.relations(catalog, question.histograms, parts, of_profiles)
    if catalog.has_entity:
        return distinct_entities.relations(catalog, question.histograms, grouped, class_keys)
    if not question.histograms:
        return [cte("classes", grouped)]
    classes = bind("judge/classes.sql", columns={"class_key": class_keys})
    if not catalog.has_population:
        drop_columns(classes, {names.POPULATION})
    ctes = [cte("parts", grouped, materialized=True), cte("classes", classes, materialized=True)]
    for position, name in enumerate(question.histograms):
        ctes.append(cte(f"histogram_{position}", _histogram(catalog, name, class_keys)))
    return ctes


def _histogram(catalog: Catalog, name: str, class_keys: Sequence[exp.Expr]) -> exp.Select:
    """Return per class and value of a sensitive column the number of records."""
    attribute = catalog.sensitive_attribute(name)
    value = named(masked(column(names.key(attribute.word)), number(attribute.code)), "value")
    query = bind("judge/histogram.sql", columns={"class_key": class_keys, "sensitive_value": [value]})
    if len(catalog.sensitive) == 1:  # no other value makes two parts of one: nothing is left to group
        query.set("group", None)
        query.expressions[-1].replace(column(names.COUNT))
    if attribute.absent is not None:
        query = query.where(exp.NEQ(this=value.this.copy(), expression=number(attribute.absent)), copy=False)
    return query


def _min_suppressed_in_parts(
    question: Question, key_names: Sequence[str], known: Sequence[PrivacyModel]
) -> list[exp.CTE]:
    """Return the bounds of the models whose bound holds where an entity may be in several parts of a class."""
    of_records = distinct_entities.classes_of_records(key_names)
    return [
        cte(distinct_entities.min_suppressed_name(position), _bound(question, model, key_names, classes=of_records))
        for position, model in enumerate(question.models)
        if model in known
    ]


def _counter_names(has_population: bool) -> list[str]:
    return [names.COUNT, names.POPULATION] if has_population else [names.COUNT]


def _bound(
    question: Question, model: PrivacyModel, key_names: Sequence[str], *, classes: exp.Expr | None = None
) -> exp.Select:
    """Bind the meaning of a model (``sql/model``) to the classes of the batch, or to others."""
    relations: dict[str, exp.Expr] = {"classes": table("classes")}
    if model.column is not None:
        place = [s.name for s in question.catalog.sensitive].index(model.column)
        position = question.histograms.index(model.column)
        relations["histogram"] = table(f"histogram_{position}")
        if question.catalog.has_entity:
            relations["classes"] = classes or table(f"weights_{position}")
        relations["overall"] = table(names.overall(place))
        relations["ancestors"] = table(names.ancestors(place))
    values = dict(model.values(question.catalog))
    return bind(model.file, relations=relations, columns={"class_key": key_names}, values=values)


def _is_set(flag: exp.Expr) -> exp.Expr:
    """Return ``flag = 1``, or of the flag ``CASE WHEN condition THEN 1 ELSE 0 END`` the condition."""
    if isinstance(flag, exp.Case):
        condition: exp.Expr = flag.args["ifs"][0].this.copy()
        if flag == when(condition.copy(), number(1), number(0)):
            return condition
    return equal(flag, number(1))


def _projection(query: exp.Select, name: str) -> exp.Expr:
    """Return the expression that a model about classes alone gives for ``name``, for a query over the classes."""
    expression: exp.Expr = next(item.this for item in query.expressions if item.alias == name).copy()
    for reference in list(expression.find_all(exp.Column)):
        reference.set("table", exp.to_identifier("classes", quoted=True))
    return expression
