"""The judged classes of one node as a working table, which release models settle (``models.release``).

The table holds what ``compiler.judged`` gives of the node: the keys of its classes, their counters, ``fails`` and
``min_suppressed``. A release model fails some classes more; then the next version of the table takes its place. Once
nothing changes any more, everything that reads ``judged`` reads the table (``Question.settled``).
"""

from __future__ import annotations

from sqlglot import exp

from sqlanon.core.compiler.judged import grouped_node, judged
from sqlanon.core.compiler.question import Question
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.loss import record_factors
from sqlanon.core.models.joint_cells import JointCells
from sqlanon.core.models.release import SizeCut
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import (
    bigint,
    both,
    column,
    count_rows,
    equal,
    keys,
    masked,
    named,
    number,
    row_number,
    sum_if,
    table,
    total,
    union_all,
    when,
    with_ctes,
)

PLACE = names.PLACE
BEFORE, TURN = "before", "turn"
"""Columns of ``names.GO_FIRST``: a place in the order by cost and values, and by the order in which classes go."""


def judged_node(question: Question, node: Node, grain: str) -> exp.Query:
    """Return the judged classes of a node by its class models, from a grain at or below it."""
    catalog = question.catalog
    masks = [bigint(number(mask)) for mask in question.masks(node)]
    grouped = grouped_node(grain, bigint(number(0)), masks, catalog.has_population, catalog.has_entity)
    return with_ctes(exp.select("*").from_(table("judged")), judged(question, grouped, by_classes=True))


def counted_classes(question: Question, settled: str) -> exp.Select:
    """Return how many classes have how many records (``n``), whether they fail, and how many records of each are
    certain to be suppressed at every more specific node, too."""
    certain: exp.Expr = column("min_suppressed")
    if question.monotone:
        certain = when(equal(column("fails"), number(1)), column(names.COUNT), number(0))
    by = [column(names.COUNT), column("fails"), named(certain, "certain")]
    rows = exp.select(*by).from_(table(settled))
    rows = rows.where(exp.GT(this=column(names.COUNT), expression=number(0)))
    kept = [column(item.alias_or_name, "judged") for item in by]
    query = exp.select(*kept, named(bigint(count_rows()), "classes")).from_(rows.subquery("judged"))
    return query.group_by(*[item.copy() for item in kept])


def without_smallest(
    question: Question, node: Node, settled: str, cut: SizeCut, *, greatest: bool, lasts: bool, turns: bool = False
) -> exp.Query:
    """Return the settled classes of a node when its smallest passing classes fail, too (``smallest_classes.sql``).

    Args:
        greatest: of classes of one size, those whose values have lost most come first (``ties``).
        lasts: a class that fails is suppressed whole at every more specific node.
        turns: ``names.GO_FIRST`` says which of them go.
    """
    key_names = [names.key(word) for word in range(question.catalog.words)]
    ranks = ranked(question.catalog, node, settled, cut.size, greatest=greatest)
    found = bind(
        "model/smallest_classes.sql",
        relations={
            "judged": _with_certain(question, settled),
            "ranked": in_turn(ranks, question.catalog.words) if turns else ranks,
        },
        columns={"class_key": key_names},
        values={"size": cut.size, "classes": cut.classes, "lasts": int(lasts)},
    )
    replaced = {item.alias: item for item in found.expressions if item.alias in ("fails", "min_suppressed")}
    kept = [column(name, "judged") for name in settled_columns(question) if name not in replaced]
    found.set("expressions", [*kept, *[replaced[name] for name in settled_columns(question) if name in replaced]])
    return found


def records_by_earlier(question: Question, settled: str) -> exp.Select:
    """Return per number of earlier classes: the number, its records, and how many of them are certain to be suppressed
    at every more specific node."""
    failing = equal(column("fails"), number(1))
    query = exp.select(named(_earlier(question), names.EARLIER), named(total(column(names.COUNT)), "records"))
    query = query.select(named(sum_if(failing, column("min_suppressed")), "certain")).from_(table(settled))
    return query.group_by(_earlier(question))


def without_joint_cells(question: Question, settled: str, model: JointCells) -> exp.Query:
    """Return the settled joint cells of a node when those fail that would leave too few persons absent."""
    catalog = question.catalog
    key_names = [names.key(word) for word in range(catalog.words)]
    found = bind(
        model.file,
        relations={
            "judged": exp.select("*", named(_earlier(question), "earlier")).from_(table(settled)),
            "earlier": table(names.EARLIER_CLASSES),
        },
        columns={"class_key": key_names},
        values=model.audit_values(0),
    )
    replaced = {item.alias: item for item in found.expressions if item.alias in ("fails", "min_suppressed")}
    kept = [name for name in settled_columns(question) if name not in (*replaced, *key_names, names.COUNT)]
    [inner] = [source for source in found.find_all(exp.Subquery) if source.alias == "cells"]
    inner.this.select(*[column(name, "judged") for name in kept], copy=False)
    found.set("expressions", [replaced.get(name, column(name)) for name in settled_columns(question)])
    return found


def _earlier(question: Question) -> exp.Expr:
    """Return the number of the earlier classes of a joint cell, from its key."""
    earlier = question.catalog.earlier
    assert earlier is not None
    bits = masked(column(names.key(earlier.word)), number(earlier.mask))
    return exp.BitwiseRightShift(this=exp.paren(bits), expression=number(earlier.shift))


def settled_columns(question: Question) -> list[str]:
    """Return the columns of the table, in an order."""
    catalog = question.catalog
    counters = [names.COUNT, *([names.POPULATION] if catalog.has_population and not catalog.has_entity else [])]
    by_model = [f"fails_{place}" for place in range(len(question.models))] if question.by_model else []
    return [
        "node",
        *[names.key(word) for word in range(catalog.words)],
        *counters,
        *(["entities"] if catalog.has_entity else []),
        "fails",
        *([] if question.monotone else ["min_suppressed"]),
        *by_model,
    ]


def _with_certain(question: Question, settled: str) -> exp.Expr:
    """Return the settled classes with ``min_suppressed``, which they lack where all of their records are certain."""
    if not question.monotone:
        return table(settled)
    return exp.select("*", named(column(names.COUNT), "min_suppressed")).from_(table(settled))


def ranked(catalog: Catalog, node: Node, settled: str, size: int, *, greatest: bool, facts: bool = False) -> exp.Select:
    """Return the passing classes of a size with their place in the order in which they are suppressed.

    First those of which suppressing a record costs most by the weighted measure ``loss`` (``greatest``: least), because
    their values have lost least; then by their generalized values, in the order of the columns.

    Args:
        facts: return their costs and the places of their values in place of the words of their keys.
    """
    words = catalog.words
    tied = exp.select(*keys(words)).from_(table(settled))
    tied = tied.where(equal(column("fails"), number(0))).where(equal(column(names.COUNT), number(size)))
    cost: exp.Expr = bigint(number(0))
    joined = exp.select(*keys(words, "tied")).from_(tied.subquery("tied"))
    attributes = range(len(node))
    for position, factor in enumerate(record_factors(catalog)):
        own = f"value_{position}"
        joined = joined.join(table(names.VALUE_PLACES, own), on=_value_of(catalog, position, node, "tied", own))
        cost = exp.Add(this=cost, expression=exp.Mul(this=bigint(number(factor)), expression=column("cost", own)))
        joined = joined.select(named(column(PLACE, own), own), named(column("cost", own), f"cost_{position}"))
    joined = joined.select(named(cost, "cost"))
    own_cost = column("cost", "priced")
    order = [own_cost if greatest else exp.Neg(this=own_cost), *[column(f"value_{i}", "priced") for i in attributes]]
    place = row_number(*order)
    of_class = [column(f"{kind}_{i}", "priced") for kind in ("value", "cost") for i in attributes]
    wanted = [own_cost.copy(), *of_class] if facts else keys(words, "priced")
    return exp.select(*wanted, named(place, PLACE)).from_(joined.subquery("priced"))


def _value_of(catalog: Catalog, position: int, node: Node, classes: str, values: str) -> exp.Expr:
    """Return the condition that a row of ``names.VALUE_PLACES`` is the value of an attribute in a class."""
    level = node[position]
    met = [equal(column("attribute", values), number(position)), equal(column("level", values), number(level))]
    for word in range(catalog.words):
        mask = catalog.attributes[position].mask(level, word)
        own = masked(column(names.key(word), classes), number(mask)) if mask else number(0)
        met.append(equal(column(names.key(word), values), own))
    return both(met)


def gone_values(catalog: Catalog, node: Node, settled: str, size: int) -> exp.Query:
    """Return per attribute and place of a generalized value what suppressing a record costs, and how many records are
    suppressed with it before any of a size: those that fail, and all smaller classes."""
    parts = []
    for position in range(len(node)):
        met = _value_of(catalog, position, node, "judged", "value")
        by = [column(PLACE, "value"), column("cost", "value")]
        query = exp.select(named(number(position), "position"), *by, bigint(total(column(names.COUNT, "judged"))))
        gone = exp.or_(equal(column("fails"), number(1)), exp.LT(this=column(names.COUNT), expression=number(size)))
        some = exp.select("*").from_(table(settled)).where(gone)
        some = some.where(exp.GT(this=column(names.COUNT), expression=number(0)))
        query = query.from_(some.subquery("judged")).join(table(names.VALUE_PLACES, "value"), on=met)
        parts.append(query.group_by(*[item.copy() for item in by]))
    return union_all(parts)


def in_turn(ranks: exp.Select, words: int) -> exp.Select:
    """Return ranked classes with the places that ``names.GO_FIRST`` gives them; without those it does not name."""
    query = exp.select(*keys(words, "before"), named(column(TURN, "turns"), PLACE)).from_(ranks.subquery("before"))
    return query.join(table(names.GO_FIRST, "turns"), on=equal(column(PLACE, "before"), column(BEFORE, "turns")))
