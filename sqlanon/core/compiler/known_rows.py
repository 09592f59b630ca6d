"""Persons of whom few rows are known (``profile_k`` with ``at_most``): the statements of a search, and of a release.

The rows of a node's grain become units: the first, the second, … copy of a row that a person has, numbered over all
rows. A sub-multiset of a person's rows is a chain of units in ascending order, in which a further copy follows the one
before it; so each sub-multiset is one chain, the same for whoever has these rows. Rounds drop the persons with a chain
that fewer than k of the remaining persons have (``evaluate.settling``).
"""

from __future__ import annotations

from sqlglot import exp

from sqlanon.core.compiler.judged import grouped_node
from sqlanon.core.compiler.question import Question
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.row_sets import ranked
from sqlanon.core.sqltrees.trees import (
    bigint,
    column,
    count_rows,
    cte,
    equal,
    is_null,
    named,
    number,
    table,
    union_all,
    when,
    with_ctes,
)

COPY, ROW, UNIT = "copy", "row_number", "unit"
STEP = 4
"""Numbers of units from one row to the next: more than the copies that are known at most."""


def unit_name(place: int) -> str:
    """Return the column with the unit at a place of a chain; 0 where the chain is shorter."""
    return f"unit_{place}"


def units(question: Question, node: Node, grain: str, at_most: int) -> exp.Query:
    """Return the units of a node's persons: ``entity``, the number of the unit, and which copy it is."""
    words = [names.key(word) for word in range(question.catalog.words)]
    rows = exp.select(column(names.ENTITY), column(names.COUNT), named(ranked(words), ROW))
    rows = rows.from_(_grouped(question, node, grain).subquery("grain_rows"))
    copies: list[exp.Query] = []
    for copy in range(1, at_most + 1):
        first = exp.Mul(this=bigint(column(ROW)), expression=number(STEP))
        unit = named(exp.Add(this=first, expression=number(copy)), UNIT)
        held = exp.select(column(names.ENTITY), unit, named(number(copy), COPY)).from_(table("numbered"))
        copies.append(held.where(exp.GTE(this=column(names.COUNT), expression=number(copy))))
    return with_ctes(union_all(copies), [cte("numbered", rows, materialized=True)])


def chains(held: str, at_most: int) -> exp.Query:
    """Return the sub-multisets of one to ``at_most`` rows that each person has: ``entity``, and a unit a place.

    Args:
        held: the table of units.
    """
    sizes: list[exp.Query] = []
    for size in range(1, at_most + 1):
        of_place = [bigint(column(UNIT, f"held_{place}") if place < size else number(0)) for place in range(at_most)]
        shown = [named(unit, unit_name(place)) for place, unit in enumerate(of_place)]
        query = exp.select(column(names.ENTITY, "held_0"), *shown).from_(table(held, "held_0"))
        for place in range(1, size):
            before, own = f"held_{place - 1}", f"held_{place}"
            same = equal(column(names.ENTITY, "held_0"), column(names.ENTITY, own))
            later = exp.GT(this=column(UNIT, own), expression=column(UNIT, before))
            following = exp.Add(this=column(UNIT, before), expression=number(1))
            further = exp.or_(_is_first(own), equal(column(UNIT, own), following))
            query = query.join(table(held, own), on=exp.and_(same, later, further))
        sizes.append(query.where(_is_first("held_0")))
    return union_all(sizes)


def remaining(known: str, at_most: int, k: int) -> exp.Query:
    """Return the chains of the persons of whom every chain is one of at least k persons.

    Args:
        known: the table of chains.
    """
    of_chain: list[exp.Expr] = [column(unit_name(place)) for place in range(at_most)]
    persons = exp.Window(this=count_rows(), partition_by=of_chain)
    counted = exp.select(column(names.ENTITY), named(persons, "persons")).from_(table(known))
    few = exp.LT(this=column("persons"), expression=number(k))
    failing = exp.select(column(names.ENTITY)).distinct().from_(counted.subquery("counted")).where(few)
    wanted = [column(name, "known") for name in (names.ENTITY, *(unit_name(place) for place in range(at_most)))]
    query = exp.select(*wanted).from_(table(known, "known"))
    query = query.join(table("failing"), on=_same_person("known", "failing"), join_type="left")
    query = query.where(is_null(column(names.ENTITY, "failing")))
    return with_ctes(query, [cte("failing", failing, materialized=True)])


def settled_persons(question: Question, node: Node, grain: str, known: str) -> exp.Query:
    """Return the persons of a node and whether they fail: those without a chain in ``known`` do."""
    everybody = (
        exp.select(column(names.ENTITY)).distinct().from_(_grouped(question, node, grain).subquery("grain_rows"))
    )
    left = exp.select(column(names.ENTITY)).distinct().from_(table(known))
    fails = when(is_null(column(names.ENTITY, "passing")), number(1), number(0))
    shown = [named(bigint(number(0)), "node"), column(names.ENTITY, "persons"), named(fails, "fails")]
    query = exp.select(*shown).from_(everybody.subquery("persons"))
    return query.join(left.subquery("passing"), on=_same_person("persons", "passing"), join_type="left")


def _is_first(units_of: str) -> exp.Expr:
    return equal(column(COPY, units_of), number(1))


def _same_person(left: str, right: str) -> exp.Expr:
    return equal(column(names.ENTITY, left), column(names.ENTITY, right))


def _grouped(question: Question, node: Node, grain: str) -> exp.Select:
    masks = [bigint(number(mask)) for mask in question.masks(node)]
    return grouped_node(grain, bigint(number(0)), masks, has_population=False, has_entity=True)
