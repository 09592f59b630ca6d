"""The statements that bring a release and its source to numbers, so that they can be compared.

``KNOWN_VALUES`` numbers the values of the quasi-identifiers (``v``), ``KNOWN_TEXTS`` holds the number of the text of
each at each level that may be published (``t``), ``KNOWN_WORDS`` numbers the values beside them (``o``). So::

    TARGETS           record | part | type | o_0 | …      a record of the source
    TARGET_TYPES      type | v_0 | v_1 | …                its quasi-identifiers
    RELEASED_ROWS     row | class | o_0 | …               a row of the release
    RELEASED_CLASSES  class | t_0 | t_1 | … | n
    COVERING          type | class | distance             every text of the class covers the value of the type

A text covers the values of which it is the text at a level that may be published. Where a text stands at several
levels, it covers what it covers at any: the release does not say which is meant. Of a release with a policy every
distance is 0; of others (``assess.attack.files``) a type whose values no class covers has the nearest classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import (
    among,
    bigint,
    both,
    canonical,
    column,
    count_rows,
    cte,
    equal,
    named,
    not_null,
    number,
    row_number,
    same,
    table,
    union_all,
    when,
    with_ctes,
)

SOURCE, RELEASE = "source", "release"
RECORD, PART, TYPE, ROW, CLASS, LEVEL = "record", "part", "type", "row", "class", "level"
DISTANCE = "distance"
IN_RELEASE, CONTROL = 0, 1
"""``part`` of a record: the release was made of it, or it belongs to the control group."""
value, text, other = (names.namer(stem) for stem in ("v", "t", "o"))
"""Names of the columns that hold the number of a quasi-identifier's value, of its text, and of another column's value.
"""


def known_values(heights: Sequence[int], covered: str) -> exp.Select:
    """Return the values of the quasi-identifiers that a hierarchy covers: attribute, value, ``v`` and their levels."""
    levels = [column(names.level(i)) for i in range(max(heights))]
    in_order = bigint(row_number(column("attribute"), column("value")))  # one seed draws one predicate
    query = exp.select(column("attribute"), column("value"), *levels, named(in_order, "v"))
    query = query.from_(table(names.LOOKUP)).where(among(range(len(heights))))
    return query.where(equal(column(covered), number(1)))


def known_texts(levels: Sequence[Sequence[int]]) -> exp.Select:
    """Return attribute, ``v``, level, text and the number of the text among those of the attribute.

    Args:
        levels: per quasi-identifier, the levels that may be published.
    """
    parts = []
    for level in sorted({level for own in levels for level in own}):
        positions = [position for position, own in enumerate(levels) if level in own]
        of_level = [column("attribute"), column("v"), named(number(level), LEVEL)]
        query = exp.select(*of_level, named(column(names.level(level)), "text"))
        parts.append(query.from_(table(names.KNOWN_VALUES)).where(among(positions)))
    order = exp.Order(expressions=[exp.Ordered(this=column("text"), nulls_first=False)])
    rank = exp.Window(this=exp.DenseRank(), partition_by=[column("attribute")], order=order)
    return exp.select(exp.Star(), named(bigint(rank), "t")).from_(union_all(parts).subquery("texts"))


def known_words(source: exp.Expr, release: exp.Expr, types: Sequence[tuple[str, str, str]]) -> exp.Select:
    """Return place, word and ``o``: the values of the columns beside the quasi-identifiers.

    Args:
        types: per column its name, and its types in the source and in the release.
    """
    parts: list[exp.Query] = []
    for place, (name, of_source, of_release) in enumerate(types):
        for relation, kind in ((source, of_source), (release, of_release)):
            query = exp.select(named(number(place), "place"), named(canonical(name, kind), "word")).distinct()
            parts.append(query.from_(relation.copy()))
    every = exp.select(column("place"), column("word")).distinct().from_(union_all(parts).subquery("words"))
    order = [exp.Ordered(this=column("word"), nulls_first=False)]
    rank = exp.Window(this=exp.RowNumber(), partition_by=[column("place")], order=exp.Order(expressions=order))
    return exp.select(exp.Star(), named(bigint(rank), "o")).from_(every.subquery("words"))


@dataclass(frozen=True, slots=True)
class TargetRecords:
    """The records of a source that an attacker may know of.

    Attributes:
        condition: by which records of the relation take part.
        part: what says to which part they belong.
        key: the text of what is known of a record where several releases are compared; None without others.
    """

    relation: exp.Expr
    condition: exp.Expr
    part: exp.Expr
    key: exp.Expr | None = None


def targets(source: TargetRecords, quasi: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]) -> exp.Select:
    """Return the records of the source that take part: record, part, ``v_<i>`` and ``o_<j>``; NULL where a value is
    covered by no hierarchy. The key comes after the others, as one more ``o_<j>``."""
    numbered = exp.select(exp.Star(), named(bigint(row_number()), names.PREFIX + RECORD)).from_(source.relation.copy())
    numbered = numbered.where(source.condition)
    shown = [named(column(names.PREFIX + RECORD, SOURCE), RECORD), named(source.part, PART)]
    query = exp.select(*shown).from_(numbered.subquery(SOURCE))
    for position, (name, kind) in enumerate(quasi):
        query = _with_value(query, position, canonical(name, kind, SOURCE))
    query = _with_words(query, others, SOURCE)
    return query if source.key is None else query.select(named(source.key, other(len(others))))


def key_of(columns: Sequence[tuple[str, str]]) -> exp.Expr:
    """Return one text for what a record of the source has in some columns, by which releases of it are compared."""
    texts = [exp.MD5(this=canonical(name, kind, SOURCE)) for name, kind in columns]
    shown = [exp.Coalesce(this=text, expressions=[exp.Literal.string("-")]) for text in texts]
    return exp.Concat(expressions=shown, safe=True, coalesce=False)


def _with_value(query: exp.Select, position: int, read: exp.Expr) -> exp.Select:
    alias = f"values_{position}"
    met = [equal(column("attribute", alias), number(position)), same(column("value", alias), read)]
    query = query.join(table(names.KNOWN_VALUES, alias), on=both(met), join_type="left")
    return query.select(named(column("v", alias), value(position)))


def _with_words(query: exp.Select, others: Sequence[tuple[str, str]], owner: str) -> exp.Select:
    for place, (name, kind) in enumerate(others):
        alias = f"words_{place}"
        met = [equal(column("place", alias), number(place)), same(column("word", alias), canonical(name, kind, owner))]
        query = query.join(table(names.KNOWN_WORDS, alias), on=both(met)).select(
            named(column("o", alias), other(place))
        )
    return query


def numbered_by(relation: exp.Query, columns: Sequence[str], name: str) -> exp.Select:
    """Return a relation with one column more: the number of the row's combination of some columns."""
    order = exp.Order(expressions=[exp.Ordered(this=column(item), nulls_first=False) for item in columns])
    rank = exp.Window(this=exp.DenseRank(), order=order) if columns else number(1)
    return exp.select(exp.Star(), named(bigint(rank), name)).from_(relation.subquery("numbered"))


def target_types(count: int) -> exp.Select:
    """Return the distinct combinations of values of the targets, without those that a hierarchy does not cover."""
    values = [column(value(position)) for position in range(count)]
    return exp.select(column(TYPE), *values).distinct().from_(table(names.TARGETS)).where(both(map(not_null, values)))


def text_levels(*, every: bool) -> exp.Select:
    """Return attribute, ``t`` and level: each text at its lowest level of those at which it covers the same values.

    Args:
        every: several levels of a column may be published, so that one text may stand at several.
    """
    if not every:
        return exp.select(column("attribute"), column("t"), column(LEVEL)).distinct().from_(table(names.KNOWN_TEXTS))
    by = [column("attribute"), column("t"), column(LEVEL)]
    ordered = exp.Order(this=column("v"), expressions=[exp.Ordered(this=column("v"))])
    covered = exp.select(*by, named(exp.ArrayAgg(this=ordered), "covered")).from_(table(names.KNOWN_TEXTS))
    covered = covered.group_by(*[item.copy() for item in by])
    lowest = [named(exp.Min(this=column(LEVEL)), LEVEL)]
    query = exp.select(column("attribute"), column("t"), *lowest).from_(covered.subquery("covered"))
    return query.group_by(column("attribute"), column("t"), column("covered"))


def released_rows(
    release: exp.Expr, quasi: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]], texts: Mapping[int, str]
) -> exp.Select:
    """Return the rows of the release: row, ``t_<i>`` (NULL: no level that may be published has such a text), ``o_<j>``.

    Args:
        quasi: the quasi-identifiers with their types in the release.
        texts: per position, the type in which the texts of its levels are compared with the release.
    """
    numbered = exp.select(exp.Star(), named(bigint(row_number()), names.PREFIX + ROW)).from_(release.copy())
    query = exp.select(named(column(names.PREFIX + ROW, RELEASE), ROW)).from_(numbered.subquery(RELEASE))
    for position, (name, kind) in enumerate(quasi):
        alias = f"texts_{position}"
        read = canonical(name, kind, RELEASE)
        known = _known_texts(position, texts.get(position))
        query = query.join(known.subquery(alias), on=same(column("text", alias), read), join_type="left")
        query = query.select(named(column("t", alias), text(position)))
    return _with_words(query, others, RELEASE)


def _known_texts(position: int, type_name: str | None) -> exp.Select:
    """Return the texts of a quasi-identifier and their numbers, as the release writes them."""
    written: exp.Expr = column("text")
    if type_name is not None:
        cast = exp.TryCast(this=column("text"), to=data_type(type_name))
        typed = exp.select(named(cast, "typed"), column("t"))
        typed = typed.distinct().from_(table(names.KNOWN_TEXTS)).where(among([position]))
        read = canonical("typed", type_name)
        query = exp.select(named(read, "text"), named(exp.Min(this=column("t")), "t")).from_(typed.subquery("typed"))
        return query.group_by(read.copy())
    query = exp.select(named(written, "text"), column("t")).distinct().from_(table(names.KNOWN_TEXTS))
    return query.where(among([position]))


def released_classes(count: int) -> exp.Select:
    """Return the classes of the release: class, ``t_<i>`` and ``n``."""
    by = [column(CLASS), *[column(text(position)) for position in range(count)]]
    query = exp.select(*by, named(bigint(count_rows()), names.COUNT)).from_(table(names.RELEASED_ROWS))
    return query.group_by(*[item.copy() for item in by])


def covering(levels: Sequence[Sequence[int]]) -> exp.Query:
    """Return which classes cover which types: ``type``, ``class``, distance 0, each pair once.

    The texts of a value stand in one row before they are joined, because no planner foresees how few rows of
    ``KNOWN_TEXTS`` a combination of levels meets.

    Args:
        levels: per quasi-identifier, the levels that may be published.
    """
    positions = range(len(levels))
    of_class = exp.select(column(CLASS, "classes"), *[column(text(i), "classes") for i in positions])
    of_class = of_class.from_(table(names.RELEASED_CLASSES, "classes"))
    for position in positions:
        alias = f"at_{position}"
        met = [
            equal(column("attribute", alias), number(position)),
            equal(column("t", alias), column(text(position), "classes")),
        ]
        of_class = of_class.join(table(TEXT_LEVELS, alias), on=both(met))
        of_class = of_class.select(named(column(LEVEL, alias), names.level(position)))
    placed: list[exp.Expr] = [column(names.level(i)) for i in positions] or [named(number(0), "nothing")]
    signatures = exp.select(*placed).distinct().from_(table("placed"))
    read = exp.select(column(TYPE, "types")).from_(table(names.TARGET_TYPES, "types"))
    shown: list[exp.Expr] = [column(TYPE, "read")]
    here: list[exp.Expr] = []
    for position, own in enumerate(levels):
        alias = f"texts_{position}"
        read = read.join(
            _texts_of_values(position, own).subquery(alias),
            on=equal(column("v", alias), column(value(position), "types")),
        )
        read = read.select(*[named(column(f"at_{level}", alias), f"text_{position}_{level}") for level in own])
        cases = [exp.If(this=number(level), true=column(f"text_{position}_{level}", "read")) for level in own]
        chosen = exp.Case(this=column(names.level(position), "levels"), ifs=cases)
        shown += [named(chosen, text(position)), column(names.level(position), "levels")]
        here += [
            equal(column(name, "placed"), column(name, "covered")) for name in (text(position), names.level(position))
        ]
    covered = exp.select(*shown).from_(table("read")).join(signatures.subquery("levels"), join_type="cross")
    query = exp.select(column(TYPE, "covered"), column(CLASS, "placed"), named(number(0), DISTANCE)).distinct()
    query = query.from_(covered.subquery("covered")).join(table("placed"), on=both(here))
    return with_ctes(query, [cte("placed", of_class, materialized=True), cte("read", read, materialized=True)])


def exact_covering() -> exp.Subquery:
    """Return which classes cover which types, without classes that are merely near."""
    pairs = exp.select(column(TYPE), column(CLASS)).from_(table(names.COVERING))
    return pairs.where(equal(column(DISTANCE), number(0))).subquery("covering")


def _texts_of_values(position: int, levels: Sequence[int]) -> exp.Select:
    """Return, per value of a quasi-identifier, the numbers of its texts at some levels: ``v``, ``at_<level>``."""
    texts = [
        named(exp.Max(this=when(equal(column(LEVEL), number(level)), column("t"))), f"at_{level}") for level in levels
    ]
    query = exp.select(column("v"), *texts).from_(table(names.KNOWN_TEXTS)).where(among([position]))
    return query.group_by(column("v"))


TEXT_LEVELS = names.PREFIX + "text_levels"
"""The levels of each text (``text_levels``)."""


def all_equal(columns: Sequence[str], marker: str) -> exp.Expr:
    """Return the condition that a row of a release is redacted: each column has one text, which begins with a marker.

    Args:
        marker: holds no character of patterns.
    """
    texts = [exp.cast(column(name), "VARCHAR") for name in columns]
    starts = exp.Like(this=texts[0].copy(), expression=exp.Literal.string(f"{marker}%"))
    return both([starts, *(equal(item.copy(), texts[0].copy()) for item in texts[1:])])
