"""Downcoding: how many published records can be written strictly finer than they were published, and be right.

Cohen, "Attacks on Deidentification's Defenses" (USENIX Security 2022): generalization that is minimal says that
nothing finer would have done. Of a class of n records whose parts at a more specific rule were not published, each part
holds fewer than k. If m parts are possible, each therefore holds at least n - (m - 1)(k - 1) of them. A release does
not order its records, so as many of them as that can be written with each of the parts, and the result generalizes the
source and is finer than the release. That holds under k-anonymity alone; under other models a part may have failed for
its values.

With one rule for all records, the optimum, only this is known: with one level less of a column at least one record
more would be suppressed, or the rule with that level would have been better. If a single class can be split by that
level, it is split, and into two parts that are known where there are two: a record of each falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.assess.attack.first_fit import (
    CLASS,
    CLASSES,
    GENERAL,
    INSIDE,
    PAIRS,
    SPECIAL,
    combinations,
    find_inside,
    high,
    low,
    more_special,
)
from sqlanon.core.engines.base import Engine
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    both,
    column,
    count_rows,
    cte,
    equal,
    named,
    number,
    or_zero,
    table,
    total,
    with_ctes,
)


@dataclass(frozen=True, slots=True)
class Downcoded:
    """Published records that can be written finer than they were published, out of how many; in how many classes."""

    records: int
    finer: int
    classes: int


def downcode(engine: Engine, catalog: Catalog, rules: Sequence[Node], k: int) -> Downcoded:
    """Return what the classes that several rules published give away, after ``first_fit.load_rules``."""
    if not catalog.attributes or not list(more_special(rules)):
        return Downcoded(_records(engine), 0, 0)
    find_inside(engine, catalog)
    parts = _parts(catalog)
    inside = exp.select(column(CLASS), column(SPECIAL), named(count_rows(), "found")).from_(table(INSIDE))
    inside = inside.group_by(column(CLASS), column(SPECIAL))
    met = [equal(column(name, "parts"), column(name, "inside")) for name in (CLASS, SPECIAL)]
    possible = exp.Sub(this=column("parts", "parts"), expression=or_zero(column("found", "inside")))
    query = exp.select(column(CLASS, "parts"), column(names.COUNT, "parts"), named(possible, "possible"))
    query = query.from_(table("parts")).join(inside.subquery("inside"), on=both(met), join_type="left")
    others = exp.paren(exp.Sub(this=column("possible"), expression=number(1)))
    most = exp.Mul(this=others, expression=number(k - 1))
    least = exp.paren(exp.Sub(this=column(names.COUNT), expression=most))
    finer = exp.Mul(this=column("possible"), expression=least)
    wanted = [exp.GTE(this=column("possible"), expression=number(2)), exp.GT(this=least.copy(), expression=number(0))]
    best = exp.select(column(CLASS), named(exp.Max(this=finer), "finer")).from_(query.subquery("possible"))
    best = best.where(both(wanted)).group_by(column(CLASS))
    counts = exp.select(total(column("finer")), count_rows()).from_(best.subquery("best"))
    [(found, classes)] = engine.run("records downcoded", with_ctes(counts, [cte("parts", parts)]))
    return Downcoded(_records(engine), int(found), int(classes))


def _parts(catalog: Catalog) -> exp.Select:
    """Return, per class and more specific rule, its records and into how many parts the rule could split it."""
    words = range(catalog.words)
    shown: list[exp.Expr] = [column(CLASS, GENERAL), column(SPECIAL, PAIRS), column(names.COUNT, GENERAL)]
    shown += [named(column(names.key(w), GENERAL), f"outer_{w}") for w in words]
    shown += [column(name(i), PAIRS) for name in (low, high) for i in range(len(catalog.attributes))]
    pairs = exp.select(*shown).from_(table(CLASSES, GENERAL))
    pairs = pairs.join(table(PAIRS), on=equal(column("rule", GENERAL), column(GENERAL, PAIRS)))
    return combinations(catalog, source=pairs.subquery("pair")).select(column(names.COUNT, "pair"))


def _records(engine: Engine) -> int:
    return int(engine.run("records", exp.select(total(column(names.COUNT))).from_(table(CLASSES)))[0][0])


def downcode_single(engine: Engine, catalog: Catalog, k: int) -> Downcoded:
    """Return what the classes of one minimal rule give away, after ``first_fit.load_rules`` of those one level below it
    and of itself. A class that falls in several columns counts once."""
    if not catalog.attributes:
        return Downcoded(_records(engine), 0, 0)
    parts = _parts(catalog)
    n = column(names.COUNT)
    small = exp.Mul(this=exp.paren(exp.Sub(this=column("parts"), expression=number(1))), expression=number(k - 1))
    all_small = exp.Mul(this=column("parts"), expression=number(k - 1))
    fits = exp.LTE(this=n, expression=all_small)
    most = exp.Case(
        ifs=[exp.If(this=equal(column("parts"), number(1)), true=number(0)), exp.If(this=fits, true=n.copy())],
        default=small,
    )
    of_rule = exp.Window(this=exp.Sum(this=most), partition_by=[column(SPECIAL)])
    query = exp.select(exp.Star(), named(most.copy(), "most"), named(of_rule, "everything")).from_(table("parts"))
    others = exp.paren(exp.Sub(this=column("everything"), expression=column("most")))
    needed = exp.Sub(this=number(1), expression=others)
    must = exp.select(column(CLASS), named(needed, "needed"), column("parts")).from_(query.subquery("classes"))
    falls = [exp.GTE(this=column("needed"), expression=number(1)), equal(column("parts"), number(2))]
    fallen = exp.select(column(CLASS)).distinct().from_(must.subquery("must")).where(both(falls))
    counts = exp.select(count_rows()).from_(fallen.subquery("fallen"))
    [(classes,)] = engine.run("records downcoded", with_ctes(counts, [cte("parts", parts)]))
    return Downcoded(_records(engine), 2 * int(classes), int(classes))
