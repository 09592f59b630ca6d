"""The statements that count the classes of a node by their size: a row a size that occurs."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.compiler.judged import grouped_node, judged
from sqlanon.core.compiler.question import Question
from sqlanon.core.compiler.tallies import class_without_earlier
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import bigint, column, count_rows, equal, keys, named, number, table, total, with_ctes

ENTITIES = "entities"
"""The counter of distinct entities of a class that was judged."""


def class_sizes(
    question: Question, grain: str, node: Node, *, published: bool, by: Sequence[str] = (names.COUNT,)
) -> exp.Query:
    """Return the published classes of a node (or the others) by their size, and how many have it.

    A class without records of the subset (δ-presence) is none.

    Args:
        grain: the table of a grain at or below the node.
        by: the counters of a class that are its size: ``n``, ``population``, ``entities``.
    """
    catalog = question.catalog
    masks = [number(mask) for mask in question.masks(node)]
    grouped = grouped_node(grain, number(0), masks, catalog.has_population, catalog.has_entity)
    wanted = equal(column("fails", "judged"), number(0 if published else 1))
    sizes = exp.select(*[column(name, "judged") for name in by]).from_(table("judged"))
    sizes = sizes.where(wanted).where(_holds_records("judged"))
    if published and catalog.earlier is not None:  # a published class is the union of its joint cells
        parts = class_without_earlier(catalog, "judged")
        sizes.set("expressions", [named(total(column(name, "judged")), name) for name in by])
        sizes = sizes.group_by(*parts)
    return with_ctes(count_by(sizes.subquery("sizes"), by), judged(question, grouped))


def all_class_sizes(catalog: Catalog, grain: str, node: Node) -> exp.Query:
    """Return all classes of a node by ``risk_counters``, whether or not they meet the models."""
    by = risk_counters(catalog)
    masks = [number(mask) for mask in catalog.masks(node)]
    grouped = grouped_node(grain, number(0), masks, catalog.has_population, catalog.has_entity)
    if catalog.has_entity:
        classes = exp.select(named(bigint(count_rows()), ENTITIES)).from_(grouped.subquery("grouped"))
        classes = classes.where(_holds_records("grouped")).group_by(*keys(catalog.words, "grouped"))
    else:
        classes = exp.select(*[column(name, "grouped") for name in by]).from_(grouped.subquery("grouped"))
        classes = classes.where(_holds_records("grouped"))
    return count_by(classes.subquery("sizes"), by)


def without_population(catalog: Catalog) -> exp.Select:
    """Return how many records of the base share their original values with no record of the population."""
    masks = [number(mask) for mask in catalog.masks(catalog.bottom)]
    grouped = grouped_node(names.BASE, number(0), masks, has_population=True)
    query = exp.select(named(total(column(names.COUNT)), names.COUNT)).from_(grouped.subquery("grouped"))
    return query.where(equal(column(names.POPULATION), number(0)))


def risk_counters(catalog: Catalog) -> tuple[str, ...]:
    """Return the counters of a class that its risk rests on; with entities the population of a class is not kept."""
    if catalog.has_entity:
        return (ENTITIES,)
    return (names.COUNT, names.POPULATION) if catalog.has_population else (names.COUNT,)


def count_by(classes: exp.Expr, by: Sequence[str]) -> exp.Select:
    """Return a row for each size of ``classes``: the counters ``by``, and how many classes have them."""
    counters = [column(name) for name in by]
    counted = exp.select(*counters, named(bigint(count_rows()), "classes")).from_(classes)
    return counted.group_by(*[counter.copy() for counter in counters])


def _holds_records(owner: str) -> exp.Expr:
    return exp.GT(this=column(names.COUNT, owner), expression=number(0))
