"""The statements that utility is measured with: what is published of each row type, and what its values cover.

A row type is a combination of quasi-identifiers of the records that take part. ``names.RELEASED_TYPES`` holds each with
its records and the rule that publishes them; the one node of a full-domain release is the rule 0. They are read by
codes and counts; texts are read of the values that a chart names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import COVERED, EncodedSource, leaves
from sqlanon.core.compiler.question import Question
from sqlanon.core.compiler.release import passing_classes
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    among,
    as_keys,
    bigint,
    both,
    by_position,
    column,
    count_distinct,
    cte,
    equal,
    is_null,
    keys,
    masked,
    masked_keys,
    named,
    not_null,
    number,
    or_zero,
    rolled_up,
    same,
    table,
    union_all,
    when,
    with_ctes,
)

POSITION = "position"
"""Column of a value's place on the scale of its column, as a floating-point number; NULL where it has none."""
MISFIT = "misfit"
"""Column: 1 if the text of a value does not read as a place on the scale of its column."""
UNLISTED = "unlisted"
"""Column: 1 for a value that its hierarchy does not list, and that is published at the root."""
LARGEST = "1e300"
"""A number beyond it, or NaN, has no place on a scale."""
DAYS_OF_MONTH, DAYS_OF_YEAR = 31, 372
"""The scale of dates: each month has so many days, and each year."""


def one_rule(question: Question, node: Node) -> exp.Query:
    """Return the row types of a release by one node: the key, ``n`` and ``rule`` (0; NULL: suppressed)."""
    catalog, types, passing = question.catalog, "types", "passing"
    parts = masked_keys(map(number, catalog.masks(catalog.bottom)), names.BASE)
    met = [
        equal(masked(column(names.key(word), types), number(mask)), column(names.key(word), passing))
        for word, mask in enumerate(catalog.masks(node))
    ]
    is_suppressed = is_null(column(names.key(0), passing))
    rule = when(is_suppressed, exp.cast(exp.null(), "INTEGER"), exp.cast(number(0), "INTEGER"))
    query = exp.select(*keys(catalog.words, types), column(names.COUNT, types), named(rule, names.RULE))
    query = query.from_(table(types)).join(table(passing), on=both(met), join_type="left")
    query = query.where(exp.GT(this=column(names.COUNT, types), expression=number(0)))
    rows = rolled_up(table(names.BASE), parts)
    return with_ctes(query, [cte(types, rows), *passing_classes(question, node, names.BASE)])


def several_rules(catalog: Catalog, *, split: bool, coded: bool = False) -> exp.Query:
    """Return the row types of a release by several rules, from ``names.ASSIGNED``: the key, ``n`` and ``rule``.

    Args:
        split: rules share the records of a row type; then also which of them.
        coded: ``names.ASSIGNED`` holds records with different sensitive values apart; here they are one row type.
    """
    if coded:
        return _without_sensitive_values(catalog)
    stretch = [column(names.STRETCH_FIRST), column(names.STRETCH_LAST)] if split else []
    query = exp.select(*keys(catalog.words), column(names.COUNT), column(names.RULE), *stretch)
    has_records = exp.GT(this=column(names.COUNT), expression=number(0))
    return query.from_(table(names.ASSIGNED)).where(has_records)


def _without_sensitive_values(catalog: Catalog) -> exp.Query:
    """Return the row types of the quasi-identifiers alone, whose records rules share."""
    words = catalog.words
    cleared = [
        masked(column(names.key(w)), number(~codes)) if codes else column(names.key(w))
        for w, codes in enumerate(catalog.codes)
    ]
    types = rolled_up(table(names.ASSIGNED), cleared).select(column(names.RULE)).group_by(column(names.RULE))
    return in_stretches(types, words)


def grouped_types(catalog: Catalog, positions: Sequence[int] | None = None) -> exp.Select:
    """Return the records by rule and what is left of the key for some attributes: ``rule``, the key and ``n``."""
    if positions is None:
        whole = exp.select(column(names.RULE), *keys(catalog.words), column(names.COUNT))
        return whole.from_(table(names.RELEASED_TYPES))
    masks = [sum(catalog.attributes[i].mask(0, word) for i in positions) for word in range(catalog.words)]
    return rolled_up(table(names.RELEASED_TYPES), masked_keys(map(number, masks)), column(names.RULE))


def covered_values(source: EncodedSource, catalog: Catalog, texts: Sequence[bool], scaled: Sequence[bool]) -> exp.Query:
    """Return the values of level 0 of all quasi-identifiers: attribute, key, leaves per level, position, misfit
    and unlisted.

    Args:
        texts: per quasi-identifier, its values are texts: one that is written as a code (007) is no number.
        scaled: per quasi-identifier, its values may have places on a scale.
    """
    tallest = max(attribute.height for attribute in catalog.attributes)
    positions = range(len(catalog.attributes))
    places: dict[int, exp.Expr] = {}
    for i in positions:
        if scaled[i]:
            is_date = source.items[i].type.upper().startswith(("DATE", "TIMESTAMP"))
            places[i] = place_of_date(column("value")) if is_date else place_of_number(column("value"), text=texts[i])
    no_place = exp.cast(exp.null(), "DOUBLE")
    inner = exp.select(column("attribute"), *keys(catalog.words), *[column(leaves(i)) for i in range(tallest)])
    inner = inner.select(column("value"), column(names.level(0)), named(by_position(places, no_place), POSITION))
    inner = inner.from_(table(names.LOOKUP)).where(equal(column(COVERED), number(1))).where(among(list(positions)))
    has_no_row = both([not_null(column("value")), exp.not_(same(column("value"), column(names.level(0))))])
    lacks_place = both([not_null(column("value")), is_null(column(POSITION))])
    by = [column("attribute"), *keys(catalog.words)]
    outer = exp.select(*by, *[named(exp.Max(this=column(leaves(i))), leaves(i)) for i in range(tallest)])
    outer = outer.select(named(exp.Min(this=column(POSITION)), POSITION))
    outer = outer.select(named(exp.Max(this=when(lacks_place, number(1), number(0))), MISFIT))
    outer = outer.select(named(exp.Max(this=when(has_no_row, number(1), number(0))), UNLISTED))
    return outer.from_(inner.subquery("v")).group_by(*[item.copy() for item in by])


def place_of_number(value: exp.Expr, *, text: bool) -> exp.Expr:
    """Return the place of a number: itself; of a text that is written as a code, NULL."""
    read = exp.cast(exp.TryCast(this=value, to=exp.DataType.build("DOUBLE")), "DOUBLE")
    bound = exp.Literal.number(LARGEST)
    finite: list[exp.Expr] = [exp.Between(this=read.copy(), low=exp.Neg(this=bound), high=bound.copy())]
    if text:
        zero, dot = (exp.Literal.string(pattern) for pattern in ("0_%", "0.%"))
        is_code = exp.and_(
            exp.Like(this=value.copy(), expression=zero), exp.not_(exp.Like(this=value.copy(), expression=dot))
        )
        finite.append(exp.not_(exp.paren(is_code)))
    return when(both(finite), read)


def place_of_date(value: exp.Expr) -> exp.Expr:
    """Return the place of a date or time, by its canonical text: its day, where each month has 31."""

    def part(start: int, length: int, factor: int) -> exp.Expr:
        digits = exp.Substring(this=value.copy(), start=number(start), length=number(length))
        read = exp.TryCast(this=digits, to=exp.DataType.build("DOUBLE"))
        return exp.Mul(this=read, expression=number(factor))

    year, month, day = part(1, 4, DAYS_OF_YEAR), part(6, 2, DAYS_OF_MONTH), part(9, 2, 1)
    return exp.Add(this=exp.Add(this=year, expression=month), expression=day)


def shown_texts(catalog: Catalog, levels: Collection[tuple[int, int]]) -> exp.Query:
    """Return the texts of the generalized values in ``names.SHOWN_VALUES``: id and text, each once.

    Args:
        levels: of which there are some: (position of the quasi-identifier, level).
    """
    shown, lookup = names.SHOWN_VALUES, names.LOOKUP
    parts: list[exp.Query] = []
    for position, level in sorted(levels):
        met: list[exp.Expr] = [
            equal(column("attribute", shown), number(position)),
            equal(column("level", shown), number(level)),
        ]
        met += [*_same_bits(catalog, position, level, lookup, shown), *_rows_of(position)]
        text = named(column(names.level(level), lookup), "text")
        texts = exp.select(column("id", shown), text).distinct().from_(table(shown))
        parts.append(texts.join(table(lookup), on=both(met)))
    return union_all(parts)


def _rows_of(position: int) -> list[exp.Expr]:
    """Return the conditions that a row of the lookups is of a covered value of the column at a position."""
    is_covered = equal(column(COVERED, names.LOOKUP), number(1))
    return [equal(column("attribute", names.LOOKUP), number(position)), is_covered]


def published_values(catalog: Catalog, row_types: exp.Query, levels: Mapping[int, int]) -> exp.Select:
    """Select one row: how many values are published of some quasi-identifiers, by the level of each position."""
    counts = []
    for position, level in levels.items():
        text: exp.Expr = exp.cast(exp.Literal.string(""), "VARCHAR")
        for word in range(catalog.words):
            if mask := catalog.attributes[position].mask(level, word):
                part = exp.cast(exp.paren(masked(column(names.key(word)), number(mask))), "VARCHAR")
                text = exp.DPipe(this=exp.DPipe(this=text, expression=exp.Literal.string("/")), expression=part)
        counts.append(named(count_distinct(text), f"values_{position}"))
    attributes = catalog.attributes
    whole = [sum(attributes[at].mask(level, word) for at, level in levels.items()) for word in range(catalog.words)]
    kept = as_keys(masked_keys(map(number, whole)))
    types = exp.select(*kept).distinct().from_(row_types.subquery("row_types"))
    return exp.select(*counts).from_(types.where(not_null(column(names.RULE))).subquery("published"))


def published_texts(
    catalog: Catalog, position: int, levels: Sequence[int], rules: Sequence[Sequence[int]]
) -> exp.Query:
    """Return the number of distinct texts that are published of a quasi-identifier, NULL being one.

    Args:
        levels: at which it is published.
        rules: per level, the rules that publish it there.
    """
    texts: list[exp.Query] = []
    for level, of_level in zip(levels, rules, strict=True):
        met = _same_bits(catalog, position, 0, names.RELEASED_TYPES, names.LOOKUP)
        text = named(column(names.level(level), names.LOOKUP), "text")
        query = exp.select(text).distinct().from_(table(names.RELEASED_TYPES))
        query = query.join(table(names.LOOKUP), on=both([*met, *_rows_of(position)]))
        texts.append(query.where(column(names.RULE, names.RELEASED_TYPES).isin(*map(number, of_level))))
    null = or_zero(exp.Max(this=when(is_null(column("text")), number(1), number(0))))
    counted = exp.Add(this=count_distinct(column("text")), expression=null)
    return exp.select(named(number(position), "attribute"), named(counted, "texts")).from_(
        union_all(texts).subquery("t")
    )


def _same_bits(catalog: Catalog, position: int, level: int, left: str, right: str) -> list[exp.Expr]:
    """Return the conditions that two relations agree in the bits of an attribute at a level."""
    attribute = catalog.attributes[position]
    return [
        equal(masked(column(names.key(word), left), number(mask)), masked(column(names.key(word), right), number(mask)))
        for word in range(catalog.words)
        if (mask := attribute.mask(level, word))
    ]


def in_stretches(types: exp.Query, words: int) -> exp.Select:
    """Return row types whose records rules share (the key, ``n`` and ``rule``) with which of them a rule publishes.

    The records of a row type are numbered from 1; a rule publishes those from ``first`` to ``last``.
    """
    row = [*keys(words), column(names.COUNT), column(names.RULE)]
    ordered = exp.Ordered(this=exp.Coalesce(this=column(names.RULE), expressions=[number(-1)]))
    running = exp.Window(
        this=exp.Sum(this=column(names.COUNT)), partition_by=keys(words), order=exp.Order(expressions=[ordered])
    )
    numbered = exp.select(*row, named(bigint(running), names.STRETCH_LAST)).from_(types.subquery("types"))
    before = exp.Sub(this=column(names.STRETCH_LAST), expression=column(names.COUNT))
    first = named(bigint(exp.Add(this=before, expression=number(1))), names.STRETCH_FIRST)
    stretched = exp.select(*[item.copy() for item in row], first, column(names.STRETCH_LAST))
    return stretched.from_(numbered.subquery("numbered"))
