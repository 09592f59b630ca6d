"""The statements that encode a source: distinct values, branches of the hierarchies, lookups, leaves and base.

Path codes: a value's branch number at each level, root first, leaf last; every (attribute, level) owns a field of
bits in one of the words. Generalizing to level l clears the fields below l.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.sqltrees import names
from sqlanon.sqltrees.data_types import data_type
from sqlanon.sqltrees.trees import (
    aliased,
    bigint,
    both,
    canonical,
    column,
    count_if,
    either_bits,
    equal,
    keys,
    masked,
    named,
    number,
    same,
    table,
    total,
    when,
)

SOURCE = "source"
COVERED = "covered"


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """A quasi-identifier or sensitive column while it is being encoded.

    Attributes:
        fields: per level word, shift and bits.
        sensitive: it is a sensitive column.
        has_population: the source tells the records of a subset (``names.MEMBER``).
    """

    name: str
    type: str
    height: int
    fields: tuple[tuple[int, int, int], ...] = ()
    sensitive: bool = False
    has_population: bool = False


def leaves(number_: int) -> str:
    """Name of the column that counts the leaves under a value's generalization to a level."""
    return f"leaves_{number_}"


def least_cost(level: int) -> str:
    """Name of the column of ``names.LEAF`` with the least D - leaves among the values of a lower level."""
    return f"cost_{level}"


def branch(number_: int) -> str:
    """Name of the column that numbers a value's branch at a level."""
    return f"branch_{number_}"


def included(columns: Sequence[str], basic: bool, table_name: str | None = None, *, members: bool = False) -> exp.Expr:
    """The records that take part: all (extended match), or those without a NULL (basic match); of the subset only."""
    conditions: list[exp.Expr] = [column(names.MEMBER, table_name)] if members else []
    if basic:
        conditions += [exp.Not(this=exp.Is(this=column(c, table_name), expression=exp.null())) for c in columns]
    return both(conditions)


def record_counts(source: exp.Expr, columns: Sequence[str], basic: bool, members: bool) -> exp.Select:
    """One row: all records (of the subset, if there is one), and those that take part."""
    return exp.select(
        named(count_if(included((), False, members=members)), "records"),
        named(count_if(included(columns, basic, members=members)), "included"),
    ).from_(source.copy())


def distinct_values(
    source: exp.Expr,
    name: str,
    type_name: str,
    columns: Sequence[str],
    basic: bool,
    *,
    members: bool = False,
    included_only: bool = False,
    entity: exp.Expr | None = None,
) -> exp.Select:
    """Distinct values of a column: canonical text, one raw value, and the records that take part.

    Args:
        members: the source tells the records of a subset.
        included_only: leave out values of other records than those (of the subset) that take part.
        entity: what tells the entities apart; they are counted too, as ``entities``.
    """
    text = canonical(name, type_name)
    # of a text it is the text itself: some engines sort all records for any other, where they could hash
    raw = text.copy() if type_name == "VARCHAR" else exp.AnyValue(this=column(name))
    if included_only:
        taking_part = included(columns, basic, members=members)
        source = exp.select("*").from_(source.copy()).where(taking_part).subquery("taking_part")
    return (
        exp.select(
            named(text, "value"),
            named(raw, "raw"),
            named(count_if(included(columns, basic)), names.COUNT),
            *([] if entity is None else [named(exp.Count(this=exp.Distinct(expressions=[entity])), "entities")]),
        )
        .from_(source.copy())
        .group_by(text.copy())
    )


def listed_from_builder(position: int, expressions: Sequence[exp.Expr]) -> exp.Select:
    """The rows of a builder's hierarchy: the distinct values of the source and their generalizations."""
    projections = [named(column("value"), names.level(0))]
    projections += [named(item, names.level(i)) for i, item in enumerate(expressions, start=1)]
    return (
        exp.select(*projections)
        .from_(table(names.distinct_values(position)))
        .where(exp.Not(this=exp.Is(this=column("value"), expression=exp.null())))
    )


def tree_conflicts(position: int, height: int) -> exp.Select:
    """One row: per level, the number of values with more than one parent at the next."""
    counts = []
    for lower in range(height - 1):
        inner = (
            exp.select(column(names.level(lower)))
            .from_(table(names.listed(position)))
            .group_by(column(names.level(lower)))
            .having(
                exp.GT(
                    this=exp.Count(this=exp.Distinct(expressions=[column(names.level(lower + 1))])),
                    expression=number(1),
                )
            )
        )
        counts.append(
            named(
                exp.select(exp.Count(this=exp.Star())).from_(inner.subquery("conflicts")).subquery(), f"level_{lower}"
            )
        )
    return exp.select(*counts)


def hierarchy_facts(position: int, height: int) -> exp.Select:
    """One row about the listed rows: leaves, NULL rows, distinct roots, one root, and roots' text met further down."""
    relation = names.listed(position)
    last = names.level(height - 1)
    clash = [
        exp.In(
            this=column(names.level(lower)),
            query=exp.select(column(last)).from_(table(relation)).subquery(),
        )
        for lower in range(height - 1)
    ]
    return exp.select(
        named(exp.Count(this=exp.Star()), "leaves"),
        named(count_if(exp.Is(this=column(names.level(0)), expression=exp.null())), "null_rows"),
        named(exp.Count(this=exp.Distinct(expressions=[column(last)])), "roots"),
        named(exp.Max(this=column(last)), "root"),
        named(count_if(exp.or_(*clash, copy=False) if clash else exp.false()), "clashes"),
    ).from_(table(relation))


def branches(
    position: int, height: int, *, domain: int, null_listed: bool, root: str | None, uncovered_top: bool
) -> exp.Select:
    """The values of the source with their levels, leaves and branch numbers.

    NULL that the hierarchy does not list keeps its own branch under the root and joins it at the last level (when
    there is one root and more than one level); a value without a row stands at the root (``uncovered_top``) or is
    marked ``covered = 0``.
    """
    counted = [named(column(names.level(i)), names.level(i)) for i in range(height)]
    counted += [
        named(
            number(domain)
            if root is not None and i == height - 1 and height > 1
            else exp.Window(this=exp.Count(this=exp.Star()), partition_by=[column(names.level(i))]),
            leaves(i),
        )
        for i in range(height)
    ]
    listed = exp.select(*counted, named(number(1), "is_listed")).from_(table(names.listed(position)))

    is_null = exp.Is(this=column("value", "v"), expression=exp.null())
    is_listed = exp.Not(this=exp.Is(this=column("is_listed", "h"), expression=exp.null()))
    lone_null = exp.false() if null_listed else is_null
    joins_root = root is not None and height > 1

    def cases(level: int, listed_value: exp.Expr, null_value: exp.Expr, top: exp.Expr) -> exp.Case:
        return exp.Case(
            ifs=[exp.If(this=lone_null.copy(), true=null_value), exp.If(this=is_listed.copy(), true=listed_value)],
            default=top,
        )

    root_text = exp.Literal.string(root) if root is not None else exp.null()
    projections: list[exp.Expr] = [column("value", "v"), column(names.COUNT, "v")]
    for i in range(height):
        at_root = joins_root and i == height - 1
        null_text = root_text.copy() if at_root else exp.null()
        top_text = root_text.copy() if uncovered_top else exp.null()
        projections.append(named(cases(i, column(names.level(i), "h"), null_text, top_text), names.level(i)))
        null_leaves = number(domain if at_root else 1)
        projections.append(named(bigint(cases(i, column(leaves(i), "h"), null_leaves, number(domain))), leaves(i)))
    covered = exp.true() if uncovered_top else exp.or_(lone_null.copy(), is_listed.copy(), copy=False)
    projections.append(named(when(covered, number(1), number(0)), COVERED))
    joined = (
        exp.select(*projections)
        .from_(table(names.distinct_values(position), "v"))
        .join(listed.subquery("h"), on=same(column("value", "v"), column(names.level(0), "h")), join_type="left")
    )
    ranked: list[exp.Expr] = [exp.Star()]
    for i in range(height):
        partition = [column(COVERED)] + ([column(names.level(i + 1))] if i + 1 < height else [])
        rank = exp.Window(
            this=exp.DenseRank(),
            partition_by=partition,
            order=exp.Order(expressions=[exp.Ordered(this=column(names.level(i)), nulls_first=False)]),
        )
        ranked.append(named(exp.Sub(this=rank, expression=number(1)), branch(i)))
    return exp.select(*ranked).from_(joined.subquery("joined"))


def branch_facts(relation: str, height: int, type_name: str) -> exp.Select:
    """One row: (un)covered values and records, then per level largest branch, distinct values, texts of a new type."""
    is_covered = equal(column(COVERED), number(1))
    is_uncovered = exp.and_(  # values of excluded records alone do not matter
        equal(column(COVERED), number(0)),
        exp.GT(this=column(names.COUNT), expression=number(0)),
    )
    projections: list[exp.Expr] = [
        exp.Count(this=exp.Star()),
        count_if(is_uncovered),
        total(
            exp.Mul(this=exp.paren(exp.Sub(this=number(1), expression=column(COVERED))), expression=column(names.COUNT))
        ),
    ]
    for i in range(height):
        text = column(names.level(i))
        back = exp.cast(exp.TryCast(this=text.copy(), to=data_type(type_name)), "VARCHAR")
        foreign = exp.Not(this=same(back, text.copy()))
        case = when(is_covered.copy(), text)
        is_null = exp.and_(is_covered.copy(), exp.Is(this=text.copy(), expression=exp.null()), copy=False)
        has_null = exp.Coalesce(
            this=exp.Max(this=when(is_null, number(1), number(0))),
            expressions=[number(0)],
        )
        projections += [
            exp.Coalesce(this=exp.Max(this=column(branch(i))), expressions=[number(0)]),
            exp.Add(this=exp.Count(this=exp.Distinct(expressions=[case])), expression=exp.paren(has_null)),
            count_if(exp.and_(is_covered.copy(), foreign, copy=False)),
        ]
    return exp.select(*[named(p, f"f_{i}") for i, p in enumerate(projections)]).from_(table(relation))


def lookup(relation: str, item: EncodedColumn, words: int) -> exp.Select:
    """The lookup table: value, level texts, leaves, covered, and the attribute's bits in each word."""
    projections: list[exp.Expr] = [column("value"), column(COVERED), column(names.COUNT)]
    projections += [column(names.level(i)) for i in range(item.height)]
    projections += [column(leaves(i)) for i in range(item.height)]
    for word in range(words):
        parts: list[exp.Expr] = [
            exp.BitwiseLeftShift(this=exp.paren(bigint(column(branch(i)))), expression=number(shift))
            for i, (owner, shift, bits) in enumerate(item.fields)
            if owner == word and bits
        ]
        projections.append(named(either_bits([exp.paren(p) for p in parts]), names.key(word)))
    return exp.select(*projections).from_(table(relation))


def leaf_rows(
    position: int, item: EncodedColumn, domain: int, masks: Sequence[Sequence[int]], tallest: int
) -> exp.Query:
    """What suppressing a record costs, per attribute, level and generalized key: D - leaves (``cost``).

    ``cost_<l>`` is the least D - leaves at level l among the values below, for levels up to that of the row (NULL
    above): no record with this generalized value costs less when it is suppressed at level l. ``tallest`` is the
    number of such columns, the same for all attributes.
    """
    words = len(masks[0])
    selects = []
    for i in range(item.height):
        generalized = [masked(column(names.key(word)), number(masks[i][word])) for word in range(words)]
        least = [
            exp.Sub(this=number(domain), expression=exp.Max(this=column(leaves(level)))) if level <= i else exp.null()
            for level in range(tallest)
        ]
        own = exp.Sub(this=number(domain), expression=exp.Max(this=column(leaves(i))))
        selects.append(
            exp.select(
                named(exp.cast(number(position), "BIGINT"), "attribute"),
                named(exp.cast(number(i), "BIGINT"), "level"),
                *[named(key, names.key(word)) for word, key in enumerate(generalized)],
                named(bigint(own), "cost"),
                *[named(bigint(cost), least_cost(level)) for level, cost in enumerate(least)],
            )
            .from_(table(names.lookup(position)))
            .where(equal(column(COVERED), number(1)))
            .group_by(*[key.copy() for key in generalized])
        )
    query: exp.Query = selects[0]
    for other in selects[1:]:
        query = exp.union(query, other, distinct=False, copy=False)
    return query


def joined_lookups(source: exp.Expr, items: Sequence[EncodedColumn], projections: Sequence[exp.Expr]) -> exp.Select:
    """The source LEFT JOINed with its lookups, NULL-safe, so that no record is lost."""
    query = exp.select(*projections).from_(aliased(source, SOURCE))
    for position, item in enumerate(items):
        name = names.lookup(position)
        query = query.join(
            table(name, name),
            on=same(canonical(item.name, item.type, SOURCE), column("value", name)),
            join_type="left",
            copy=False,
        )
    return query


def packed(items: Sequence[EncodedColumn], word: int) -> exp.Expr:
    """The word of a record's key: the bits of all attributes that own some of it."""
    return either_bits(
        [
            _bits(item, word, position)
            for position, item in enumerate(items)
            if any(owner == word and bits for owner, _, bits in item.fields)
        ]
    )


def _bits(item: EncodedColumn, word: int, position: int) -> exp.Expr:
    bits = column(names.key(word), names.lookup(position))
    if item.sensitive and item.has_population:  # only the values of the subset have codes
        return exp.Coalesce(this=bits, expressions=[number(0)])
    return bits


def takes_part(items: Sequence[EncodedColumn], basic: bool) -> exp.Expr:
    """The records that the base counts: not excluded, and every value covered."""
    quasi = [item.name for item in items if not item.sensitive]
    conditions = [
        equal(column(COVERED, names.lookup(position)), number(1))
        for position, item in enumerate(items)
        if not item.sensitive
    ]
    return both([*conditions, included(quasi, basic, SOURCE)])


def base(
    source: exp.Expr,
    items: Sequence[EncodedColumn],
    words: int,
    basic: bool,
    *,
    members: bool = False,
    entities: bool = False,
) -> exp.Select:
    """The frequency set of the encoded records, with the records of the population where there is a subset.

    Args:
        entities: the source tells the entities of its records; every row is of one.
    """
    identity = [column(names.ENTITY, SOURCE)] if entities else []
    projections = [*[named(packed(items, word), names.key(word)) for word in range(words)], *identity]
    everyone = bigint(exp.Count(this=exp.Star()))
    if members:
        counted = [named(count_if(column(names.MEMBER, SOURCE)), names.COUNT), named(everyone, names.POPULATION)]
    else:
        counted = [named(everyone, names.COUNT)]
    query = joined_lookups(source, items, [*projections, *counted]).where(takes_part(items, basic), copy=False)
    return query.group_by(*[packed(items, word) for word in range(words)], *[i.copy() for i in identity], copy=False)


def uncovered_records(source: exp.Expr, items: Sequence[EncodedColumn], basic: bool) -> exp.Select:
    """The number of records that take part but hold a value without a row."""
    quasi = [item for item in items if not item.sensitive]
    uncovered = exp.Not(this=exp.paren(takes_part(quasi, False)))
    query = joined_lookups(source, quasi, [named(bigint(exp.Count(this=exp.Star())), names.COUNT)])
    return query.where(exp.and_(included([i.name for i in quasi], basic, SOURCE), uncovered), copy=False)


def level_costs(position: int, item: EncodedColumn, domain: int, mask: Sequence[int]) -> exp.Select:
    """One row: per level, the sum over the base's records of D - leaves, and its distinct values."""
    words = len(mask)
    grain = (
        exp.select(
            *[named(masked(column(names.key(w)), number(mask[w])), names.key(w)) for w in range(words)],
            named(total(column(names.COUNT)), names.COUNT),
        )
        .from_(table(names.BASE))
        .group_by(*[masked(column(names.key(w)), number(mask[w])) for w in range(words)])
    )
    costs = (
        exp.select(*keys(words), *[column(leaves(i)) for i in range(item.height)])
        .distinct()
        .from_(table(names.lookup(position)))
        .where(equal(column(COVERED), number(1)))
    )
    return (
        exp.select(
            *[
                named(
                    exp.cast(
                        exp.Coalesce(
                            this=exp.Sum(
                                this=exp.Mul(
                                    this=exp.cast(column(names.COUNT, "g"), "HUGEINT"),
                                    expression=exp.paren(
                                        exp.Sub(this=number(domain), expression=column(leaves(i), "c"))
                                    ),
                                )
                            ),
                            expressions=[number(0)],
                        ),
                        "HUGEINT",
                    ),
                    f"cost_{i}",
                )
                for i in range(item.height)
            ]
        )
        .from_(grain.subquery("g"))
        .join(
            costs.subquery("c"),
            on=both(equal(column(names.key(w), "g"), column(names.key(w), "c")) for w in range(words)),
        )
    )


def surprisals(position: int, level: int, mask: Sequence[int]) -> exp.Select:
    """One row: attribute, level, and the sum of n ln n over the generalized values of the base's records."""
    grain = (
        exp.select(named(total(column(names.COUNT)), names.COUNT))
        .from_(table(names.BASE))
        .group_by(*[masked(column(names.key(w)), number(m)) for w, m in enumerate(mask)])
    )
    return _surprisal(position, level, grain)


def original_surprisals(source: exp.Expr, items: Sequence[EncodedColumn], position: int, basic: bool) -> exp.Select:
    """One row: attribute, -1, and the sum of n ln n over the original values of the records that take part."""
    item = items[position]
    quasi = [other.name for other in items if not other.sensitive]
    grain = (
        exp.select(named(bigint(exp.Count(this=exp.Star())), names.COUNT))
        .from_(source.copy())
        .where(included(quasi, basic, members=item.has_population))
        .group_by(canonical(item.name, item.type))
    )
    return _surprisal(position, -1, grain)


def _surprisal(position: int, level: int, grain: exp.Select) -> exp.Select:
    product = exp.Mul(this=column(names.COUNT), expression=exp.Ln(this=column(names.COUNT)))
    return (
        exp.select(
            named(number(position), "attribute"),
            named(number(level), "level"),
            named(exp.Coalesce(this=exp.Sum(this=product), expressions=[number(0)]), "surprisal"),
        )
        .from_(grain.subquery("grain"))
        .where(exp.GT(this=column(names.COUNT), expression=number(0)))
    )
