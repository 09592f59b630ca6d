"""The statements that encode a source: branches of the hierarchies, lookups, leaves and base, of all columns at once.

Path codes: a value's branch number at each level, root first, leaf last; every (attribute, level) owns a field of
bits in one of the words. Generalizing to level l clears the fields below l.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import (
    COVERED,
    SOURCE,
    EncodedColumn,
    EncodedSource,
    TakingPart,
    branch,
    least_cost,
    leaves,
)
from sqlanon.core.compiler.entities import with_entities
from sqlanon.core.compiler.hierarchies import OTHERS
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import (
    among,
    as_keys,
    bigint,
    by_position,
    canonical,
    column,
    count_distinct,
    count_if,
    count_rows,
    either_bits,
    equal,
    equal_columns,
    is_null,
    keys,
    masked_keys,
    named,
    not_null,
    number,
    or_zero,
    same,
    table,
    total,
    union_all,
    when,
    wide_sum,
    with_id,
)


def record_counts(source: exp.Expr, taking_part: TakingPart) -> exp.Select:
    """Return one row: all records (of the subset, if there is one), and those that take part."""
    return exp.select(
        named(count_if(taking_part.with_nulls.condition()), "records"),
        named(count_if(taking_part.condition()), "included"),
    ).from_(source.copy())


@dataclass(frozen=True, slots=True)
class Matching:
    """How the values of a column are placed that its hierarchy does not list.

    Attributes:
        domain: the number of leaves.
        null_listed: it lists NULL. One that is not listed keeps a branch of its own under the root and joins it at the
            last level, when there is one root and more than one level.
        root: the text of the only root; None where there are several.
        uncovered_top: a value without a row stands at the root; otherwise it is marked ``covered = 0``.
    """

    height: int
    domain: int
    null_listed: bool
    root: str | None
    uncovered_top: bool

    def joins_root(self, level: int) -> bool:
        """Return whether all values, NULL included, are the root at a level."""
        return self.root is not None and level == self.height - 1 > 0

    @property
    def root_text(self) -> exp.Expr:
        """The text of the only root."""
        return exp.null() if self.root is None else exp.Literal.string(self.root)


def branches(matchings: Sequence[Matching], *, apart: bool = False, others: bool = False) -> list[exp.Select]:
    """Return the values of the source with their levels, leaves and branch numbers, as one query or one a column.

    What is above the last level of a column is NULL, with the branch 0.

    Args:
        apart: one query a column: each has windows over the values of its own column alone.
        others: there are values that only the population has. They are no leaves, and their count is NULL.
    """
    tallest = max(matching.height for matching in matchings)
    if not apart:
        return [_branches(dict(enumerate(matchings)), tallest, others=others)]
    parts = []
    for position, matching in enumerate(matchings):
        own = _branches({position: matching}, matching.height, filtered=True, others=others)
        part = exp.select(*map(column, ("attribute", "value", names.COUNT, COVERED))).from_(own.subquery("own"))
        for i in range(tallest):
            within = i < matching.height
            part.select(
                column(names.level(i)) if within else named(exp.cast(exp.null(), "VARCHAR"), names.level(i)),
                column(leaves(i)) if within else named(bigint(exp.null()), leaves(i)),
                column(branch(i)) if within else named(number(0), branch(i)),
                copy=False,
            )
        parts.append(part)
    return parts


def _branches(
    found: Mapping[int, Matching], tallest: int, *, filtered: bool = False, others: bool = False
) -> exp.Select:
    """Return the branches of some columns, by their positions, with levels up to the tallest of them.

    Args:
        filtered: read the rows of these columns alone.
    """
    of_column = [] if filtered else [column("attribute")]
    counted: list[exp.Expr] = [column("attribute"), *[column(names.level(i)) for i in range(tallest)]]
    is_leaf = exp.NEQ(this=or_zero(column("place")), expression=number(OTHERS))
    for i in range(tallest):
        leaf_count = exp.Count(this=when(is_leaf.copy(), number(1))) if others else count_rows()
        of_level = exp.Window(this=leaf_count, partition_by=[*of_column, column(names.level(i))])
        at_root = {p: number(m.domain) for p, m in found.items() if m.joins_root(i)}
        counted.append(named(by_position(at_root, of_level), leaves(i)))
    listed = exp.select(*counted, named(number(1), "is_listed")).from_(table(names.LISTED))
    if filtered:
        listed = listed.where(among(list(found)), copy=False)

    is_listed, no_value = not_null(column("is_listed", "h")), is_null(column("value", "v"))
    listing = [p for p, m in found.items() if m.null_listed]
    lone_null = exp.and_(no_value, exp.not_(among(listing, "v")), copy=False) if listing else no_value
    topped = [p for p, m in found.items() if m.uncovered_top]

    def cases(listed_value: exp.Expr, null_value: exp.Expr, top: exp.Expr) -> exp.Case:
        return exp.Case(
            ifs=[exp.If(this=lone_null.copy(), true=null_value), exp.If(this=is_listed.copy(), true=listed_value)],
            default=top,
        )

    domain = by_position({p: number(m.domain) for p, m in found.items()}, table_name="v")
    projections: list[exp.Expr] = [column(name, "v") for name in ("attribute", "value", names.COUNT)]
    for i in range(tallest):
        null_texts = {p: m.root_text for p, m in found.items() if m.joins_root(i)}
        top_texts = {p: found[p].root_text for p in topped if i < found[p].height}
        null_text, top_text = (by_position(texts, table_name="v") for texts in (null_texts, top_texts))
        projections.append(named(cases(column(names.level(i), "h"), null_text, top_text), names.level(i)))
        at_root = {p: number(m.domain) for p, m in found.items() if m.joins_root(i)}
        null_leaves = by_position(at_root, number(1), "v")
        projections.append(named(bigint(cases(column(leaves(i), "h"), null_leaves, domain.copy())), leaves(i)))
    covered = exp.or_(lone_null.copy(), is_listed.copy(), *([among(topped, "v")] if topped else []), copy=False)
    projections.append(named(when(covered, number(1), number(0)), COVERED))
    same_column = equal(column("attribute", "v"), column("attribute", "h"))
    met = exp.and_(same_column, same(column("value", "v"), column(names.level(0), "h")), copy=False)
    joined = exp.select(*projections).from_(table(names.VALUES, "v"), copy=False)
    joined = joined.join(listed.subquery("h", copy=False), on=met, join_type="left", copy=False)
    if filtered:
        joined = joined.where(among(list(found), "v"), copy=False)
    ranked: list[exp.Expr] = [exp.Star()]
    for i in range(tallest):
        within = [*of_column, column(COVERED), *([column(names.level(i + 1))] if i + 1 < tallest else [])]
        order = exp.Order(expressions=[exp.Ordered(this=column(names.level(i)), nulls_first=False)])
        rank = exp.Window(this=exp.DenseRank(), partition_by=within, order=order)
        ranked.append(named(exp.Sub(this=rank, expression=number(1)), branch(i)))
    return exp.select(*ranked).from_(joined.subquery("joined", copy=False), copy=False)


def branch_facts(types: Sequence[str], tallest: int, *, others: bool = False) -> exp.Select:
    """Return a row a column: attribute, records, uncovered values and records, then per level the largest branch,
    distinct values, and texts that do not read as the type of the column.

    Args:
        types: of the columns, by position.
        others: there are values that only the population has, which count for branches alone; at the end, per level,
            the distinct values that there are with them.
    """
    with_others = equal(column(COVERED), number(1))
    is_covered = exp.and_(with_others, not_null(column(names.COUNT))) if others else with_others
    has_records = exp.GT(this=column(names.COUNT), expression=number(0))
    is_uncovered = exp.and_(equal(column(COVERED), number(0)), has_records)  # values of excluded records do not matter
    uncovered = exp.paren(exp.Sub(this=number(1), expression=column(COVERED)))
    read_as: dict[str, list[int]] = {}
    for position, type_name in enumerate(types):
        if type_name != "VARCHAR":
            read_as.setdefault(type_name, []).append(position)
    projections: list[exp.Expr] = [
        column("attribute"),
        total(column(names.COUNT)),
        count_if(is_uncovered),
        total(exp.Mul(this=uncovered, expression=column(names.COUNT))),
    ]
    for i in range(tallest):
        text = column(names.level(i))
        foreign = [
            exp.If(
                this=among(positions),
                true=when(same(_there_and_back(text, type_name), text.copy()), number(0), number(1)),
            )
            for type_name, positions in read_as.items()
        ]
        misfit = when(is_covered.copy(), exp.Case(ifs=foreign, default=number(0)), number(0)) if foreign else number(0)
        projections += [
            or_zero(exp.Max(this=column(branch(i)))),
            _distinct_texts(text, is_covered),
            total(misfit),
        ]
    if others:
        projections += [_distinct_texts(column(names.level(i)), with_others) for i in range(tallest)]
    facts = exp.select(*[named(p, f"f_{i}") for i, p in enumerate(projections)])
    return facts.from_(table(names.BRANCHES), copy=False).group_by(column("attribute"), copy=False)


def _distinct_texts(text: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """Return the number of distinct texts of the values that meet a condition; NULL is one."""
    covered_null = exp.and_(condition.copy(), is_null(text.copy()), copy=False)
    has_null = or_zero(exp.Max(this=when(covered_null, number(1), number(0))))
    texts = count_distinct(when(condition.copy(), text.copy()))
    return exp.Add(this=texts, expression=exp.paren(has_null, copy=False))


def _there_and_back(text: exp.Expr, type_name: str) -> exp.Expr:
    """Return the text of the value of a type that a text reads as; NULL where it reads as none."""
    return exp.cast(exp.TryCast(this=text.copy(), to=data_type(type_name)), "VARCHAR")


def lookup(items: Sequence[EncodedColumn], words: int) -> exp.Select:
    """Return the lookups of all columns: value, level texts, leaves, covered, and the bits of a value in each word."""
    tallest = max(item.height for item in items)
    projections: list[exp.Expr] = [column(name) for name in ("attribute", "value", COVERED, names.COUNT)]
    projections += [column(name(i)) for name in (names.level, leaves) for i in range(tallest)]
    for word in range(words):
        parts: list[exp.Expr] = []
        for level in range(tallest):
            shifts = {
                position: number(item.fields[level][1])
                for position, item in enumerate(items)
                if level < item.height and item.fields[level][0] == word and item.fields[level][2]
            }
            if shifts:
                code = exp.paren(bigint(column(branch(level))), copy=False)
                shifted = exp.BitwiseLeftShift(this=code, expression=exp.Paren(this=by_position(shifts, number(0))))
                parts.append(exp.paren(when(among(list(shifts)), shifted, number(0)), copy=False))
        projections.append(named(either_bits(parts), names.key(word)))
    return exp.select(*projections).from_(table(names.BRANCHES))


def numbered(query: exp.Select, tallest: int) -> exp.Select:
    """Return lookups with the number of each value, ``id``, and per level the number of its text, NULL being one.

    Numbers are never NULL: any database joins by them, and knows how many rows to expect.
    """
    ranks = []
    for level in range(tallest):
        text = exp.Ordered(this=exp.cast(column(names.level(level)), "VARCHAR"), nulls_first=False)
        order = exp.Order(expressions=[text])
        rank = exp.Window(this=exp.DenseRank(), partition_by=[column("attribute")], order=order)
        ranks.append(named(exp.cast(rank, "INTEGER"), names.text_number(level)))
    return with_id(query.select(*ranks, copy=False))


def value_places(domains: Sequence[int], tallest: int, words: int) -> exp.Select:
    """Return per attribute, level and generalized key what suppressing a record costs, and the place of the text.

    Texts are in the order of their bytes, NULL being last. For the args see ``leaf_rows``.
    """
    level = column("level", "m")
    texts = [exp.Min(this=column(names.level(i), "l")) for i in range(tallest)]
    text = exp.Case(ifs=[exp.If(this=equal(level.copy(), number(i)), true=own) for i, own in enumerate(texts)])
    rows = leaf_rows(domains, tallest, words).select(named(text, "text"))
    by_text = exp.Ordered(this=exp.cast(column("text"), "VARCHAR"), nulls_first=False)
    of_level = [column("attribute"), column("level")]
    order = exp.Order(expressions=[by_text])
    place = exp.Window(this=exp.DenseRank(), partition_by=[part.copy() for part in of_level], order=order)
    known = exp.select(*of_level, *keys(words), column("cost"), named(bigint(place), names.PLACE))
    return known.from_(rows.subquery("texts"))


def leaf_rows(domains: Sequence[int], tallest: int, words: int) -> exp.Select:
    """Return what suppressing a record costs, per attribute, level and generalized key: D - leaves (``cost``).

    ``cost_<l>`` is the least D - leaves at level l among the values below, for levels up to that of the row (NULL
    above): no record with this generalized value costs less when it is suppressed at level l.

    Args:
        domains: of the quasi-identifiers, by position.
        tallest: the greatest height of them.
    """
    domain = by_position({i: number(size) for i, size in enumerate(domains)}, table_name="m")
    level = column("level", "m")

    def cost(of_level: int) -> exp.Expr:
        return exp.Sub(this=exp.Max(this=domain.copy()), expression=exp.Max(this=column(leaves(of_level), "l")))

    own = [exp.If(this=equal(level.copy(), number(i)), true=cost(i)) for i in range(tallest)]
    least = [when(exp.GTE(this=level.copy(), expression=number(i)), cost(i)) if i else cost(i) for i in range(tallest)]
    generalized = masked_keys([column(names.mask(word), "m") for word in range(words)], "l")
    of_row = [column("attribute", "m"), level]
    return (
        exp.select(*of_row, *as_keys(generalized))
        .select(named(bigint(exp.Case(ifs=own)), "cost"), copy=False)
        .select(*[named(bigint(amount), least_cost(i)) for i, amount in enumerate(least)], copy=False)
        .from_(table(names.LOOKUP, "l"), copy=False)
        .join(table(names.MASKS, "m"), on=equal(column("attribute", "l"), column("attribute", "m")), copy=False)
        .where(equal(column(COVERED, "l"), number(1)), copy=False)
        .group_by(*[part.copy() for part in (*of_row, *generalized)], copy=False)
    )


def coded_records(source: EncodedSource, words: int) -> exp.Select:
    """Return the keys of the records that the base counts, with the columns that are published as they are."""
    beside = [named(column(name, SOURCE), f"column_{place}") for place, name in enumerate(source.coded or ())]
    return source.encoded([*as_keys(map(source.packed, range(words))), *beside])


def base(source: EncodedSource, words: int) -> exp.Select:
    """Return the frequency set of the encoded records, with the records of the population where there is one.

    With an entity, every row is of one. Of a population beside the source, rows with n = 0 are of what it alone has.
    """
    if source.coded is not None:
        coded = exp.select(*keys(words), named(bigint(count_rows()), names.COUNT)).from_(table(names.CODED))
        return coded.group_by(*keys(words))
    if source.population is not None:
        return _base_of_sample(source, words)
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


def _base_of_sample(source: EncodedSource, words: int) -> exp.Select:
    """Return the frequency set of the records of a sample and of its population, which are counted apart.

    A person of the population may have the number of an entity of the sample: neither counts for the other.
    """
    key_names = [names.key(word) for word in range(words)]
    parts: list[exp.Query] = []
    sample, identity = source, []
    if source.entity is not None:
        sample = replace(source, relation=with_entities(source.relation, source.entity))
        identity = [column(names.ENTITY, SOURCE)]
    for records, counter in ((sample, names.COUNT), (source.people, names.POPULATION)):
        packed = [records.packed(word) for word in range(words)]
        counts = [
            named(bigint(count_rows()) if name == counter else bigint(number(0)), name)
            for name in (names.COUNT, names.POPULATION)
        ]
        query = records.encoded([*as_keys(packed), *identity, *counts])
        parts.append(query.group_by(*[item.copy() for item in (*packed, *identity)], copy=False))
    keys = [column(name) for name in (*key_names, *([names.ENTITY] if identity else []))]
    summed = [named(total(column(name)), name) for name in (names.COUNT, names.POPULATION)]
    query = exp.select(*keys, *summed).from_(union_all(parts).subquery("counted"))
    return query.group_by(*[key.copy() for key in keys], copy=False)


def encoded_records() -> exp.Select:
    """Return the number of records in the base."""
    return exp.select(named(total(column(names.COUNT)), names.COUNT)).from_(table(names.BASE))


def population_counts(source: EncodedSource) -> exp.Select:
    """Return one row: the records of a population beside the source that take part, and those of them in the base."""
    people = source.people
    taking_part = exp.select(named(bigint(count_rows()), "records")).from_(people.relation.copy())
    taking_part = taking_part.where(people.taking_part.condition())
    counted = exp.select(named(total(column(names.POPULATION)), "counted")).from_(table(names.BASE))
    query = exp.select(column("records"), column("counted")).from_(taking_part.subquery("taking_part"))
    return query.join(counted.subquery("based"), join_type="cross", copy=False)


def uncovered_records(source: EncodedSource) -> exp.Select:
    """Return the number of records that take part but hold a value without a row."""
    quasi = source.quasi
    uncovered = exp.not_(exp.and_(*quasi.covered()))
    query = quasi.joined([named(bigint(count_rows()), names.COUNT)])
    return query.where(exp.and_(source.taking_part.of_population.condition(SOURCE), uncovered), copy=False)


def level_costs(domains: Sequence[int], tallest: int, words: int, *, from_base: bool) -> exp.Select:
    """Return a row a quasi-identifier: attribute, and per level the sum over the encoded records of D - leaves.

    Args:
        from_base: count the records of the base by its codes, because it leaves out some of those that the lookups
            count.
    """
    positions = list(range(len(domains)))
    domain = by_position({i: number(size) for i, size in enumerate(domains)}, table_name="c")
    covered = exp.and_(equal(column(COVERED), number(1)), among(positions))
    levels = [column(leaves(i)) for i in range(tallest)]
    if from_base:
        masks = [column(names.mask(word), "m") for word in range(words)]
        bits = masked_keys(masks, "b")
        counted = exp.select(column("attribute", "m"), *as_keys(bits), named(total(column(names.COUNT, "b")), "held"))
        counted = counted.from_(table(names.BASE, "b")).join(table(names.MASKS, "m"), join_type="cross")
        counted = counted.where(equal(column("level", "m"), number(0)))
        counted = counted.group_by(column("attribute", "m"), *[part.copy() for part in bits])
        keys = [names.key(word) for word in range(words)]
        values = exp.select(column("attribute"), *map(column, keys), *levels).distinct()
        values = values.from_(table(names.LOOKUP)).where(covered)
        met = equal_columns(["attribute", *keys], "g", "v")
        relation = exp.select(column("attribute", "v"), column("held", "g"))
        relation = relation.select(*[column(leaves(i), "v") for i in range(tallest)])
        relation = relation.from_(counted.subquery("g")).join(values.subquery("v"), on=met)
    else:
        relation = exp.select(column("attribute"), named(column(names.COUNT), "held"), *levels)
        relation = relation.from_(table(names.LOOKUP)).where(covered)
    sums = []
    for i in range(tallest):
        cost = exp.paren(exp.Sub(this=domain.copy(), expression=column(leaves(i), "c")), copy=False)
        records = exp.cast(column("held", "c"), "HUGEINT")
        sums.append(named(wide_sum(exp.Mul(this=records, expression=cost)), f"cost_{i}"))
    attribute = column("attribute", "c")
    return exp.select(attribute, *sums).from_(relation.subquery("c", copy=False)).group_by(attribute.copy())


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
