"""What a reader of several rules concludes: which values a published record cannot have, because it would have joined a
more specific class.

Records are published by the first rule whose class passes (``recoding.local.sequence``), more specific rules first. So
a record in a class of rule y has no value by which it belongs to a class that a more specific rule x published: it was
left when x was tried, and would have joined it ("Exposing Privacy Risks in Anonymizing Clinical Data: Combinatorial
Refinement Attacks on k-Anonymity Without Auxiliary Information", arXiv 2509.03350). The order of the rules need not be
known, their partial order is enough.

The tables that the conclusions are drawn from, of one engine with an encoded source::

    RULES     rule | mask_0 | …             the rules of the release, by their masks
    PAIRS     special | general | low_0 | high_0 | …    pairs of rules, one more specific than the other
    CLASSES   class | rule | key_0 | … | n   the classes of the release by their packed keys
    DOMAIN    attribute | floor | key_0 | …  the values that a hierarchy lists; ``floor`` is above 0 for values that do
                                             not occur, of which the branch at that level is known, and no more
    CHILDREN  attribute | low | high | key_0 | … | children    the branches of a level under those of another
    INSIDE    class | special | parts | key_0 | …       published classes of more specific rules inside a class
    EXCLUDED  class | attribute | level | key_0 | …     the branches that no record of a class is in
    REMAINING class | attribute | …         what is left of the column of a class

All that leaves the database are counts of records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler.encoded_source import COVERED, leaves
from sqlanon.core.engines.base import Engine
from sqlanon.core.facts import Facts
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    as_keys,
    bigint,
    both,
    column,
    count_if,
    count_rows,
    cte,
    equal,
    greatest,
    keys,
    masked,
    named,
    number,
    table,
    total,
    union_all,
    when,
    with_ctes,
)

RULES, PAIRS, CLASSES, DOMAIN, CHILDREN, INSIDE, EXCLUDED, REMAINING = (
    f"{names.PREFIX}reasoned_{stem}"
    for stem in ("rules", "pairs", "classes", "domain", "children", "inside", "excluded", "remaining")
)
"""Names of the tables that conclusions are drawn from; see the module."""
SPECIAL, GENERAL, CLASS, FLOOR, ATTRIBUTE, LEVEL, LOW, HIGH, PARTS = (
    "special", "general", "class", "floor", "attribute", "level", "low", "high", "children",
)  # fmt: skip
low, high, number_of = (names.namer(stem) for stem in ("low", "high", "children"))
"""Names of the columns of a pair of rules that hold their levels of a quasi-identifier, and of its children."""


@dataclass(frozen=True, slots=True)
class Refined(Facts):
    """What is concluded of the quasi-identifiers of published records, from the release and its rules alone.

    Attributes:
        records: the published records that rules were found for.
        narrowed: those with a column of which a value is excluded that the published text stands for.
        finer: those with a column that is known strictly finer than it is published.
        original: those with a column of which the original value is known, where the release does not show it.
    """

    records: int
    narrowed: int
    finer: int
    original: int


def more_special(rules: Sequence[Node]) -> Iterator[tuple[int, int]]:
    """Yield the places of two rules of which the first is strictly more specific than the second."""
    for i, one in enumerate(rules):
        for j, other in enumerate(rules):
            if one != other and all(a <= b for a, b in zip(one, other, strict=True)):
                yield i, j


def load_rules(engine: Engine, catalog: Catalog, rules: Sequence[Node]) -> int:
    """Load the rules and their pairs, and what is known of the values; return the number of pairs."""
    words = range(catalog.words)
    masks = [catalog.masks(rule) for rule in rules]
    _load(engine, RULES, {"rule": [*range(len(rules))], **{names.mask(w): [m[w] for m in masks] for w in words}})
    pairs = list(more_special(rules))
    columns: dict[str, list[int]] = {
        SPECIAL: [x for x, _ in pairs],
        GENERAL: [y for _, y in pairs],
        **{names.mask(w): [masks[y][w] for _, y in pairs] for w in words},
    }
    for i in range(len(catalog.attributes)):
        columns[low(i)] = [rules[x][i] for x, _ in pairs]
        columns[high(i)] = [rules[y][i] for _, y in pairs]
    _load(engine, PAIRS, columns)
    create_anew(engine, "values that may be", DOMAIN, _domain(catalog))
    used = {(i, rules[x][i], rules[y][i]) for x, y in pairs for i in range(len(catalog.attributes))}
    create_anew(engine, "children", CHILDREN, _children(catalog, sorted(used)))
    return len(pairs)


def create_anew(engine: Engine, name: str, relation: str, query: exp.Query) -> None:
    """Create a working table that another attack may have created before."""
    engine.drop(relation)
    engine.create(name, relation, query, replayed=False)


def _load(engine: Engine, name: str, columns: dict[str, list[int]]) -> None:
    engine.drop(name)
    engine.load("rules", name, pa.table({k: pa.array(v, pa.int64()) for k, v in columns.items()}), replayed=False)


def _domain(catalog: Catalog) -> exp.Query:
    """Return the values of the hierarchies: those that occur, and a row for each branch that lists others besides."""
    parts: list[exp.Query] = []
    for i, attribute in enumerate(catalog.attributes):
        known = [equal(column(ATTRIBUTE), number(i)), equal(column(COVERED), number(1))]
        own = as_keys(_bits(catalog, i, 0))
        start = [named(number(i), ATTRIBUTE), named(number(0), FLOOR)]
        parts.append(exp.select(*start, *own).distinct().from_(table(names.LOOKUP)).where(both(known)))
        for level in range(1, attribute.height):
            shown = [*as_keys(_bits(catalog, i, level)), named(column(leaves(level)), "many")]
            below = [named(bits, f"below_{w}") for w, bits in enumerate(_bits(catalog, i, level - 1))]
            below.append(named(column(leaves(level - 1)), "few"))
            of_both = exp.select(*shown, *below).distinct().from_(table(names.LOOKUP)).where(both(known))
            fewer = exp.LT(this=column("few"), expression=column("many"))  # of several, one that is not listed has all
            listed = total(when(fewer, column("few"), number(0)))
            alone = exp.and_(equal(count_rows(), number(1)), equal(count_if(fewer), number(0)))
            others = exp.and_(
                exp.GT(this=exp.Max(this=column("many")), expression=listed), exp.not_(exp.paren(alone)), copy=False
            )
            start = [named(number(i), ATTRIBUTE), named(number(level), FLOOR)]
            query = exp.select(*start, *keys(catalog.words)).from_(of_both.subquery("branches"))
            parts.append(query.group_by(*keys(catalog.words)).having(others))
    return union_all(parts)


def _bits(catalog: Catalog, position: int, level: int, owner: str | None = None) -> list[exp.Expr]:
    """Return the words of a key with the bits of one quasi-identifier alone, at a level."""
    attribute = catalog.attributes[position]
    return [masked(column(names.key(w), owner), number(attribute.mask(level, w))) for w in range(catalog.words)]


def _children(catalog: Catalog, used: Sequence[tuple[int, int, int]]) -> exp.Query:
    """Return how many branches of a level stand under each branch of another; a value that does not occur is one."""
    words = catalog.words
    parts: list[exp.Query] = []
    for i, below, above in used:
        of_value = [*as_keys(_bits(catalog, i, above))]
        of_value += [named(bits, f"below_{w}") for w, bits in enumerate(_bits(catalog, i, below))]
        of_value.append(named(greatest(column(FLOOR), number(below)), FLOOR))
        known = exp.and_(
            equal(column(ATTRIBUTE), number(i)), exp.LTE(this=column(FLOOR), expression=number(above)), copy=False
        )
        rows = exp.select(*of_value).distinct().from_(table(DOMAIN)).where(known)
        start = [named(number(i), ATTRIBUTE), named(number(below), LOW), named(number(above), HIGH)]
        query = exp.select(*start, *keys(words), named(count_rows(), PARTS)).from_(rows.subquery("branches"))
        parts.append(query.group_by(*keys(words)))
    if not parts:
        empty = [named(exp.cast(exp.null(), "BIGINT"), name) for name in (ATTRIBUTE, LOW, HIGH, PARTS)]
        return exp.select(*empty, *as_keys(bigint(exp.null()) for _ in range(words))).where(exp.false())
    return union_all(parts)


def conclude(engine: Engine, catalog: Catalog, rules: Sequence[Node]) -> Refined:
    """Return what follows for the quasi-identifiers of the records in ``CLASSES``, after ``load_rules``."""
    if not catalog.attributes or not list(more_special(rules)):
        return Refined(_sum(engine, exp.select(total(column(names.COUNT))).from_(table(CLASSES))), 0, 0, 0)
    find_inside(engine, catalog)
    create_anew(engine, "excluded branches", EXCLUDED, _excluded(catalog, rules))
    create_anew(engine, "remaining values", REMAINING, _remaining(catalog, rules))
    tallest = max(attribute.height for attribute in catalog.attributes)
    finer = [equal(column(f"branches_{level}"), number(1)) for level in range(tallest)]
    counted = {
        "narrowed": exp.select(column(CLASS)).distinct().from_(table(EXCLUDED)),
        "finer": exp.select(column(CLASS)).distinct().from_(table(REMAINING)).where(exp.or_(*finer)),
        "original": exp.select(column(CLASS)).distinct().from_(table(REMAINING)).where(finer[0].copy()),
    }
    everything = exp.select(total(column(names.COUNT))).from_(table(CLASSES))
    found = {name: _sum(engine, _records_in(classes)) for name, classes in counted.items()}
    return Refined(_sum(engine, everything), **found)


def find_inside(engine: Engine, catalog: Catalog) -> None:
    """Create ``INSIDE``, after ``load_rules``."""
    create_anew(engine, "classes inside classes", INSIDE, _inside(catalog))


def _records_in(classes: exp.Query) -> exp.Select:
    query = exp.select(total(column(names.COUNT, "all"))).from_(table(CLASSES, "all"))
    same = equal(column(CLASS, "all"), column(CLASS, "found"))
    return query.join(classes.subquery("found"), on=same)


def _sum(engine: Engine, query: exp.Query) -> int:
    return int(engine.run("records concluded", query)[0][0])


def _inside(catalog: Catalog) -> exp.Select:
    """Return the published classes of more specific rules that lie inside a class: its key, and that of the other."""
    words = range(catalog.words)
    met: list[exp.Expr] = [equal(column("rule", GENERAL), column(GENERAL, PAIRS))]
    met += [
        equal(masked(column(names.key(w), SPECIAL), column(names.mask(w), PAIRS)), column(names.key(w), GENERAL))
        for w in words
    ]
    shown = [column(CLASS, GENERAL), column(SPECIAL, PAIRS), named(column(CLASS, SPECIAL), "inner")]
    shown += [column(names.key(w), SPECIAL) for w in words]
    shown += [named(column(names.key(w), GENERAL), f"outer_{w}") for w in words]
    shown += [column(name(i), PAIRS) for name in (low, high) for i in range(len(catalog.attributes))]
    query = exp.select(*shown).from_(table(PAIRS))
    query = query.join(table(CLASSES, SPECIAL), on=equal(column("rule", SPECIAL), column(SPECIAL, PAIRS)))
    return query.join(table(CLASSES, GENERAL), on=both(met))


def combinations(catalog: Catalog, *, source: exp.Expr) -> exp.Select:
    """Return how many classes of a more specific rule could lie inside a class: ``class``, ``special``, ``parts``, and
    per quasi-identifier its children.

    Args:
        source: rows with ``class``, ``special``, ``outer_<w>`` (the key of the class), and the levels of the pair.
    """
    words, attributes = range(catalog.words), range(len(catalog.attributes))
    query = exp.select(column(CLASS, "pair"), column(SPECIAL, "pair")).from_(source)
    product: exp.Expr = exp.cast(number(1), "DOUBLE")
    for i in attributes:
        alias = f"of_{i}"
        masks = [number(catalog.attributes[i].mask(0, w)) for w in words]  # a class has no bits below the level high
        own = [masked(column(f"outer_{w}", "pair"), mask) for w, mask in enumerate(masks)]
        met = [
            equal(column(ATTRIBUTE, alias), number(i)),
            equal(column(LOW, alias), column(low(i), "pair")),
            equal(column(HIGH, alias), column(high(i), "pair")),
            *(equal(column(names.key(w), alias), bits) for w, bits in enumerate(own)),
        ]
        many = exp.cast(column(PARTS, alias), "DOUBLE")
        query = query.join(table(CHILDREN, alias), on=both(met)).select(named(many, number_of(i)))
        product = exp.Mul(this=product, expression=many.copy())
    return query.select(named(product, "parts"))


def _excluded(catalog: Catalog, rules: Sequence[Node]) -> exp.Query:
    """Return the branches of which every combination with the other columns is a published class of one rule."""
    words, attributes = range(catalog.words), range(len(catalog.attributes))
    of_pair = [CLASS, SPECIAL, *(f"outer_{w}" for w in words), *(f(i) for f in (low, high) for i in attributes)]
    pairs = exp.select(*map(column, of_pair)).distinct().from_(table(INSIDE)).subquery("pair")
    parts: list[exp.Query] = []
    seen = {(i, rules[x][i]) for x, y in more_special(rules) for i in attributes if rules[x][i] < rules[y][i]}
    for i, level in sorted(seen):
        own = _bits(catalog, i, level)
        wanted = [equal(column(low(i)), number(level)), exp.GT(this=column(high(i)), expression=number(level))]
        rows = exp.select(column(CLASS), column(SPECIAL), *as_keys(own), named(count_rows(), "found"))
        rows = rows.from_(table(INSIDE)).where(both(wanted))
        rows = rows.group_by(column(CLASS), column(SPECIAL), *[bits.copy() for bits in own])
        shown = [column(CLASS, "counted"), named(number(i), ATTRIBUTE), named(number(level), LEVEL)]
        query = exp.select(*shown, *[column(names.key(w), "counted") for w in words]).distinct()
        met = [equal(column(name, "counted"), column(name, "all")) for name in (CLASS, SPECIAL)]
        every = exp.Div(this=column("parts", "all"), expression=column(number_of(i), "all"))
        query = query.from_(rows.subquery("counted")).join(table("combined", "all"), on=both(met))
        parts.append(query.where(exp.GTE(this=column("found", "counted"), expression=every)))
    found = union_all(parts)
    return with_ctes(found, [cte("combined", combinations(catalog, source=pairs), materialized=True)])


def _remaining(catalog: Catalog, rules: Sequence[Node]) -> exp.Query:
    """Return, per class and column of which something is excluded, in how many branches of each lower level the values
    lie that are left; NULL where all values of the class lie in one, or a value that is left has none there."""
    tallest = max(attribute.height for attribute in catalog.attributes)
    parts: list[exp.Query] = []
    seen = {(i, rule[i]) for rule in rules for i in range(len(rule)) if rule[i]}
    for i, above in sorted(seen):
        places = [number(place) for place, rule in enumerate(rules) if rule[i] == above]
        inside = [
            equal(bits, column_bits)
            for bits, column_bits in zip(
                _bits(catalog, i, above, "value"), _bits(catalog, i, above, "own"), strict=True
            )
        ]
        known = [
            equal(column(ATTRIBUTE, "value"), number(i)),
            exp.LTE(this=column(FLOOR, "value"), expression=number(above)),
            *inside,
        ]
        touched = exp.select(column(CLASS)).distinct().from_(table(EXCLUDED)).where(equal(column(ATTRIBUTE), number(i)))
        query = exp.select(named(column(CLASS, "own"), CLASS), column(FLOOR, "value"))
        query = query.select(named(_is_excluded(catalog, i, above), "gone"))
        query = query.select(*[column(names.key(w), "value") for w in range(catalog.words)])
        query = query.from_(table(CLASSES, "own"))
        query = query.join(touched.subquery("touched"), on=equal(column(CLASS, "own"), column(CLASS, "touched")))
        query = query.join(table(DOMAIN, "value"), on=both(known)).where(column("rule", "own").isin(*places))
        parts.append(_branches(catalog, i, above, query, tallest))
    return union_all(parts)


def _is_excluded(catalog: Catalog, position: int, above: int) -> exp.Expr:
    """Return 1 for a value that lies in an excluded branch of its class, and 0 for another."""
    met: list[exp.Expr] = []
    for level in range(above):
        here = [
            equal(column(LEVEL, "out"), number(level)),
            exp.LTE(this=column(FLOOR, "value"), expression=number(level)),
            *(
                equal(column(names.key(w), "out"), bits)
                for w, bits in enumerate(_bits(catalog, position, level, "value"))
            ),
        ]
        met.append(exp.paren(both(here)))
    own = [equal(column(CLASS, "out"), column(CLASS, "own")), equal(column(ATTRIBUTE, "out"), number(position))]
    found = exp.select(number(1)).from_(table(EXCLUDED, "out")).where(both([*own, exp.paren(exp.or_(*met))]))
    return when(exp.Exists(this=found), number(1), number(0))


def _branches(catalog: Catalog, position: int, above: int, values: exp.Select, tallest: int) -> exp.Select:
    """Return the columns ``branches_<level>`` of a class: 1 where what is left is known to lie in one branch there."""
    left = equal(column("gone"), number(0))
    shown: list[exp.Expr] = [column(CLASS), named(number(position), ATTRIBUTE)]
    for level in range(tallest):
        if level >= above:
            shown.append(named(exp.cast(exp.null(), "BIGINT"), f"branches_{level}"))
            continue
        shown.append(named(_one_branch(catalog, position, level, left), f"branches_{level}"))
    return exp.select(*shown).from_(values.subquery("values")).group_by(column(CLASS))


def _one_branch(catalog: Catalog, position: int, level: int, left: exp.Expr) -> exp.Expr:
    """Return 1 where the values that are left share their bits at a level, all have some, and not all values do."""
    bits = _bits(catalog, position, level)
    same = [
        equal(exp.Min(this=when(left.copy(), item.copy())), exp.Max(this=when(left.copy(), item.copy())))
        for item in bits
    ]
    floor = exp.Max(this=when(left.copy(), column(FLOOR)))
    placed = exp.LTE(this=floor, expression=number(level))
    differ: list[exp.Expr] = [
        exp.NEQ(this=exp.Min(this=item.copy()), expression=exp.Max(this=item.copy())) for item in bits
    ]
    differ.append(exp.GT(this=exp.Max(this=column(FLOOR)), expression=number(level)))
    return when(both([*same, placed, exp.paren(exp.or_(*differ))]), number(1))
