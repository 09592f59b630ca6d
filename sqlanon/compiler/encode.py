"""The statements that encode a source: distinct values, branches of the hierarchies, lookups, leaves and base.

Path codes: a value's branch number at each level, root first, leaf last; every (attribute, level) owns a field of
bits in one of the words. Generalizing to level l clears the fields below l.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sqlanon.compiler.encoded_source import (
    COVERED,
    SOURCE,
    EncodedColumn,
    EncodedSource,
    TakingPart,
    branch,
    least_cost,
    leaves,
)
from sqlanon.compiler.entities import with_entities
from sqlanon.sqltrees import names
from sqlanon.sqltrees.data_types import data_type
from sqlanon.sqltrees.trees import (
    FLOATS,
    as_keys,
    bigint,
    canonical,
    column,
    count_distinct,
    count_if,
    count_rows,
    either_bits,
    equal,
    equal_columns,
    is_null,
    masked_keys,
    named,
    not_null,
    number,
    or_zero,
    rolled_up,
    same,
    table,
    total,
    union_all,
    when,
    wide_sum,
    with_id,
)

ORDERED = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "DATE", "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE",
)  # fmt: skip
"""Types whose least value every engine finds."""


def record_counts(source: exp.Expr, taking_part: TakingPart) -> exp.Select:
    """Return one row: all records (of the subset, if there is one), and those that take part."""
    return exp.select(
        named(count_if(taking_part.with_nulls.condition()), "records"),
        named(count_if(taking_part.condition()), "included"),
    ).from_(source.copy())


def distinct_values(
    source: exp.Expr,
    name: str,
    type_name: str,
    taking_part: TakingPart,
    *,
    included_only: bool = False,
    entity: exp.Expr | None = None,
) -> exp.Select:
    """Return the distinct values of a column: canonical text, one raw value, records of the population that take part.

    Args:
        included_only: leave out values of other records than those (of the subset) that take part.
        entity: identifies the entities; they are counted too, as ``entities``.
    """
    text = canonical(name, type_name)
    # of a text it is the text itself: some engines sort all records for any other, where they could hash
    raw: exp.Expr = text.copy() if type_name == "VARCHAR" else exp.AnyValue(this=column(name))
    if type_name.upper() in FLOATS:
        raw = exp.cast(text.copy(), type_name)  # without the sign of a zero or of NaN
    elif type_name.upper().split("(")[0] in ORDERED:
        raw = exp.Min(this=column(name))  # built in everywhere, where PostgreSQL 15 has no ANY_VALUE: any will do
    if included_only:
        source = exp.select("*").from_(source.copy()).where(taking_part.condition()).subquery("taking_part")
    return (
        exp.select(
            named(text, "value"),
            named(raw, "raw"),
            named(count_if(taking_part.of_population.condition()), names.COUNT),
            *([] if entity is None else [named(count_distinct(entity), "entities")]),
        )
        .from_(source.copy())
        .group_by(text.copy())
    )


def listed_from_builder(position: int, expressions: Sequence[exp.Expr]) -> exp.Select:
    """Return the rows of a builder's hierarchy: the distinct values of the source and their generalizations."""
    projections = [named(column("value"), names.level(0))]
    projections += [named(item, names.level(i)) for i, item in enumerate(expressions, start=1)]
    return exp.select(*projections).from_(table(names.distinct_values(position))).where(not_null(column("value")))


def tree_conflicts(position: int, height: int) -> exp.Select:
    """Return one row: per level, the number of values with more than one parent at the next."""
    counts = []
    for lower in range(height - 1):
        parents = count_distinct(column(names.level(lower + 1)))
        inner = (
            exp.select(column(names.level(lower)))
            .from_(table(names.listed(position)))
            .group_by(column(names.level(lower)))
            .having(exp.GT(this=parents, expression=number(1)))
        )
        count = exp.select(count_rows()).from_(inner.subquery("conflicts"))
        counts.append(named(count.subquery(), f"level_{lower}"))
    return exp.select(*counts)


def hierarchy_facts(position: int, height: int) -> exp.Select:
    """Return counts of the listed rows: leaves, NULL rows, distinct roots, one root, texts of roots further down."""
    relation = names.listed(position)
    last = names.level(height - 1)
    clash = [
        exp.In(this=column(names.level(lower)), query=exp.select(column(last)).from_(table(relation)).subquery())
        for lower in range(height - 1)
    ]
    return exp.select(
        named(count_rows(), "leaves"),
        named(count_if(is_null(column(names.level(0)))), "null_rows"),
        named(count_distinct(column(last)), "roots"),
        named(exp.Max(this=column(last)), "root"),
        named(count_if(exp.or_(*clash, copy=False) if clash else exp.false()), "clashes"),
    ).from_(table(relation))


def header_rows(position: int, height: int) -> exp.Select:
    """Count the listed row that comes first if it shares no text with other rows, nor its value with the source."""
    first, other = "first", "other"
    rows, found = names.listed(position), names.distinct_values(position)
    levels = [names.level(level) for level in range(height)]
    shared = [equal(column(level, other), column(level, first)) for level in levels]
    repeated = exp.select(number(1)).from_(table(rows, other)).where(_after_first(other), exp.or_(*shared))
    occurs = (
        exp.select(number(1)).from_(table(found, other)).where(equal(column("value", other), column(levels[0], first)))
    )
    return (
        exp.select(named(count_rows(), "headers"))
        .from_(table(rows, first))
        .where(
            exp.Not(this=_after_first(first)),
            not_null(column(levels[0], first)),
            exp.NEQ(this=column(levels[0], first), expression=column(levels[-1], first)),
            exp.Not(this=exp.Exists(this=repeated)),
            exp.Not(this=exp.Exists(this=occurs)),
        )
    )


def _after_first(table_name: str) -> exp.Expr:
    return exp.GT(this=column("place", table_name), expression=number(0))


def branches(
    position: int, height: int, *, domain: int, null_listed: bool, root: str | None, uncovered_top: bool
) -> exp.Select:
    """Return the values of the source with their levels, leaves and branch numbers.

    NULL that the hierarchy does not list keeps its own branch under the root and joins it at the last level (when
    there is one root and more than one level); a value without a row stands at the root (``uncovered_top``) or is
    marked ``covered = 0``.
    """
    joins_root = root is not None and height > 1
    counted = [named(column(names.level(i)), names.level(i)) for i in range(height)]
    for i in range(height):
        of_level = exp.Window(this=count_rows(), partition_by=[column(names.level(i))])
        counted.append(named(number(domain) if joins_root and i == height - 1 else of_level, leaves(i)))
    listed = exp.select(*counted, named(number(1), "is_listed")).from_(table(names.listed(position)))

    is_listed = not_null(column("is_listed", "h"))
    lone_null = exp.false() if null_listed else is_null(column("value", "v"))

    def cases(listed_value: exp.Expr, null_value: exp.Expr, top: exp.Expr) -> exp.Case:
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
        projections.append(named(cases(column(names.level(i), "h"), null_text, top_text), names.level(i)))
        null_leaves = number(domain if at_root else 1)
        projections.append(named(bigint(cases(column(leaves(i), "h"), null_leaves, number(domain))), leaves(i)))
    covered = exp.true() if uncovered_top else exp.or_(lone_null.copy(), is_listed.copy(), copy=False)
    projections.append(named(when(covered, number(1), number(0)), COVERED))
    joined = (
        exp.select(*projections)
        .from_(table(names.distinct_values(position), "v"))
        .join(listed.subquery("h"), on=same(column("value", "v"), column(names.level(0), "h")), join_type="left")
    )
    ranked: list[exp.Expr] = [exp.Star()]
    for i in range(height):
        rank = exp.Window(
            this=exp.DenseRank(),
            partition_by=[column(COVERED)] + ([column(names.level(i + 1))] if i + 1 < height else []),
            order=exp.Order(expressions=[exp.Ordered(this=column(names.level(i)), nulls_first=False)]),
        )
        ranked.append(named(exp.Sub(this=rank, expression=number(1)), branch(i)))
    return exp.select(*ranked).from_(joined.subquery("joined"))


def branch_facts(relation: str, height: int, type_name: str) -> exp.Select:
    """Return (un)covered values and records, then per level the largest branch, distinct values, texts of new type."""
    is_covered = equal(column(COVERED), number(1))
    has_records = exp.GT(this=column(names.COUNT), expression=number(0))
    is_uncovered = exp.and_(equal(column(COVERED), number(0)), has_records)  # values of excluded records do not matter
    uncovered = exp.paren(exp.Sub(this=number(1), expression=column(COVERED)))
    projections: list[exp.Expr] = [
        count_rows(),
        count_if(is_uncovered),
        total(exp.Mul(this=uncovered, expression=column(names.COUNT))),
    ]
    for i in range(height):
        text = column(names.level(i))
        back = exp.cast(exp.TryCast(this=text.copy(), to=data_type(type_name)), "VARCHAR")
        foreign = exp.Not(this=same(back, text.copy()))
        covered_null = exp.and_(is_covered.copy(), is_null(text.copy()), copy=False)
        has_null = or_zero(exp.Max(this=when(covered_null, number(1), number(0))))
        texts = count_distinct(when(is_covered.copy(), text))
        projections += [
            or_zero(exp.Max(this=column(branch(i)))),
            exp.Add(this=texts, expression=exp.paren(has_null)),
            count_if(exp.and_(is_covered.copy(), foreign, copy=False)),
        ]
    return exp.select(*[named(p, f"f_{i}") for i, p in enumerate(projections)]).from_(table(relation))


def lookup(relation: str, item: EncodedColumn, words: int) -> exp.Select:
    """Return the lookup table: value, level texts, leaves, covered, and the attribute's bits in each word."""
    projections: list[exp.Expr] = [column("value"), column(COVERED), column(names.COUNT)]
    projections += [column(name(i)) for name in (names.level, leaves) for i in range(item.height)]
    for word in range(words):
        parts = [
            exp.paren(exp.BitwiseLeftShift(this=exp.paren(bigint(column(branch(i)))), expression=number(shift)))
            for i, (owner, shift, bits) in enumerate(item.fields)
            if owner == word and bits
        ]
        projections.append(named(either_bits(parts), names.key(word)))
    return exp.select(*projections).from_(table(relation))


def numbered(query: exp.Select, item: EncodedColumn) -> exp.Select:
    """Return a lookup with the number of each value, ``id``, and per level the number of its text, NULL being one.

    Numbers are never NULL: any database joins by them, and knows how many rows to expect.
    """
    ranks = []
    for level in range(item.height):
        text = exp.Ordered(this=exp.cast(column(names.level(level)), "VARCHAR"), nulls_first=False)
        rank = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=[text]))
        ranks.append(named(exp.cast(rank, "INTEGER"), names.text_number(level)))
    return with_id(query.select(*ranks, copy=False))


def leaf_rows(
    position: int, item: EncodedColumn, domain: int, masks: Sequence[Sequence[int]], tallest: int
) -> exp.Query:
    """Return what suppressing a record costs, per attribute, level and generalized key: D - leaves (``cost``).

    ``cost_<l>`` is the least D - leaves at level l among the values below, for levels up to that of the row (NULL
    above): no record with this generalized value costs less when it is suppressed at level l. ``tallest`` is the
    number of such columns, the same for all attributes.
    """

    def cost(level: int) -> exp.Expr:
        return exp.Sub(this=number(domain), expression=exp.Max(this=column(leaves(level))))

    selects: list[exp.Query] = []
    for i in range(item.height):
        generalized = masked_keys(map(number, masks[i]))
        least = [cost(level) if level <= i else exp.null() for level in range(tallest)]
        selects.append(
            exp.select(
                named(exp.cast(number(position), "BIGINT"), "attribute"),
                named(exp.cast(number(i), "BIGINT"), "level"),
                *as_keys(generalized),
                named(bigint(cost(i)), "cost"),
                *[named(bigint(amount), least_cost(level)) for level, amount in enumerate(least)],
            )
            .from_(table(names.lookup(position)))
            .where(equal(column(COVERED), number(1)))
            .group_by(*[key.copy() for key in generalized])
        )
    return union_all(selects)


def base(source: EncodedSource, words: int) -> exp.Select:
    """Return the frequency set of the encoded records, with the records of the population where there is a subset.

    With an entity, every row is of one.
    """
    counted = [named(bigint(count_rows()), names.COUNT)]
    if source.taking_part.members:
        members = named(count_if(column(names.MEMBER, SOURCE)), names.COUNT)
        counted = [members, named(bigint(count_rows()), names.POPULATION)]
    identity: list[exp.Expr] = []
    if source.entity is not None:
        source = replace(source, relation=with_entities(source.relation, source.entity))
        identity = [column(names.ENTITY, SOURCE)]
    packed = [source.packed(word) for word in range(words)]
    query = source.encoded([*as_keys(packed), *identity, *counted])
    return query.group_by(*[item.copy() for item in (*packed, *identity)], copy=False)


def encoded_records() -> exp.Select:
    """Return the number of records in the base."""
    return exp.select(named(total(column(names.COUNT)), names.COUNT)).from_(table(names.BASE))


def uncovered_records(source: EncodedSource) -> exp.Select:
    """Return the number of records that take part but hold a value without a row."""
    quasi = source.quasi
    uncovered = exp.not_(exp.and_(*quasi.covered()))
    query = quasi.joined([named(bigint(count_rows()), names.COUNT)])
    return query.where(exp.and_(source.taking_part.of_population.condition(SOURCE), uncovered), copy=False)


def level_costs(position: int, item: EncodedColumn, domain: int, mask: Sequence[int]) -> exp.Select:
    """Return one row: per level, the sum over the base's records of D - leaves, and its distinct values."""
    words = range(len(mask))
    grain = rolled_up(table(names.BASE), masked_keys(map(number, mask)))
    costs = (
        exp.select(*[column(names.key(w)) for w in words], *[column(leaves(i)) for i in range(item.height)])
        .distinct()
        .from_(table(names.lookup(position)))
        .where(equal(column(COVERED), number(1)))
    )
    sums = []
    for i in range(item.height):
        cost = exp.paren(exp.Sub(this=number(domain), expression=column(leaves(i), "c")))
        records = exp.cast(column(names.COUNT, "g"), "HUGEINT")
        sums.append(named(wide_sum(exp.Mul(this=records, expression=cost)), f"cost_{i}"))
    return (
        exp.select(*sums)
        .from_(grain.subquery("g"))
        .join(costs.subquery("c"), on=equal_columns(map(names.key, words), "g", "c"))
    )


def surprisals(position: int, level: int, mask: Sequence[int]) -> exp.Select:
    """Return one row: attribute, level, and the sum of n ln n over the generalized values of the base's records."""
    grain = (
        exp.select(named(total(column(names.COUNT)), names.COUNT))
        .from_(table(names.BASE))
        .group_by(*masked_keys(map(number, mask)))
    )
    return _surprisal(position, level, grain)


def original_surprisals(source: EncodedSource, position: int) -> exp.Select:
    """Return one row: attribute, -1, and the sum of n ln n over the original values of the records that take part."""
    item = source.items[position]
    grain = (
        exp.select(named(bigint(count_rows()), names.COUNT))
        .from_(source.relation.copy())
        .where(source.taking_part.condition())
        .group_by(canonical(item.name, item.type))
    )
    return _surprisal(position, -1, grain)


def _surprisal(position: int, level: int, grain: exp.Select) -> exp.Select:
    product = exp.Mul(this=column(names.COUNT), expression=exp.Ln(this=column(names.COUNT)))
    return (
        exp.select(
            named(number(position), "attribute"),
            named(number(level), "level"),
            named(or_zero(exp.Sum(this=product)), "surprisal"),
        )
        .from_(grain.subquery("grain"))
        .where(exp.GT(this=column(names.COUNT), expression=number(0)))
    )
