"""The classes of a relation as bit strings, with the pattern of their NULLs, as sqlglot trees.

A class (extended match) becomes two bit strings, in as many BIGINT words of 62 bits as they need: ``key``, in which
each quasi-identifier has bits of its own for the number of its value (0 for NULL), and ``known``, all bits of the
quasi-identifiers that are not NULL. ``known`` is the NULL pattern.

    age | zip | n       class | n | key_0 | known_0       age has the values 20 and 30: bits 0 and 1
    20  | 1*  | 2       1     | 2 | 0b101 | 0b111         zip has the value 1*: bit 2
    30  |     | 1       2     | 1 | 0b010 | 0b011
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.audit.trees import any_of, value_if
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import bigint, column, is_null, number, sum_if, table, total

WORD_BITS = 62
GROUPS = names.PREFIX + "null_groups"
CLASSES = names.PREFIX + "null_classes"
PATTERNS = names.PREFIX + "null_patterns"
_RECORDS = names.PREFIX + "records"


@dataclass(frozen=True, slots=True)
class BitField:
    """Where a quasi-identifier stands in the packed key: its word, its lowest bit and its bits."""

    word: int
    shift: int
    bits: int

    @property
    def mask(self) -> int:
        """All bits of the place, as a part of its word."""
        return ((1 << self.bits) - 1) << self.shift


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of all quasi-identifiers, in their order."""

    places: tuple[BitField, ...]

    @property
    def words(self) -> range:
        """The numbers of the words of a key, at least one."""
        return range(max((place.word for place in self.places), default=0) + 1)

    def full(self, word: int) -> int:
        """Return the word of the pattern without NULL."""
        return sum(place.mask for place in self.places if place.word == word)


def layout(distinct: Sequence[int]) -> Layout:
    """Give each column the bits that its number of values (without NULL) needs, at least one; split no column."""
    places: list[BitField] = []
    word = used = 0
    for values in distinct:
        bits = max(values.bit_length(), 1)
        if used + bits > WORD_BITS:
            word, used = word + 1, 0
        places.append(BitField(word, used, bits))
        used += bits
    return Layout(tuple(places))


def known(word: int) -> str:
    """Return the name of a word of the NULL pattern."""
    return f"known_{word}"


def has_null(shape: Layout, owner: str | None = None) -> exp.Expr:
    """Return the condition that a class, of the relation ``owner``, holds a NULL."""
    return any_of(column(known(w), owner).neq(number(shape.full(w))) for w in shape.words)


def groups(relation: exp.Expr, columns: Sequence[str]) -> exp.Select:
    """Select the classes of a relation: its distinct combinations of values, and their records."""
    keys = [column(name) for name in columns]
    counted = exp.select(
        *[exp.alias_(key, _value(i)) for i, key in enumerate(keys)], exp.alias_(exp.Count(this=exp.Star()), _RECORDS)
    ).from_(relation.copy())
    return counted.group_by(*[key.copy() for key in keys]) if keys else counted.having(exp.Count(this=exp.Star()) > 0)


def profile(columns: int) -> exp.Select:
    """Select one row: classes, records, records with a NULL, then per column its values and its records with NULL."""
    missing = [is_null(column(_value(i))) for i in range(columns)]
    return exp.select(
        exp.Count(this=exp.Star()),
        total(column(_RECORDS)),
        sum_if(any_of(missing), column(_RECORDS)),
        *[exp.Count(this=exp.Distinct(expressions=[column(_value(i))])) for i in range(columns)],
        *[sum_if(null.copy(), column(_RECORDS)) for null in missing],
    ).from_(table(GROUPS))


def classes(shape: Layout) -> exp.Select:
    """Select the classes as bit strings: ``class, n, key_0, …, known_0, …``."""
    query = exp.select(
        exp.alias_(exp.Window(this=exp.RowNumber()), "class"),
        exp.alias_(column(_RECORDS, "grouped"), names.COUNT),
        *[exp.alias_(_packed(shape, w, _number_of), names.key(w)) for w in shape.words],
        *[exp.alias_(_packed(shape, w, _bits_of), known(w)) for w in shape.words],
    ).from_(table(GROUPS, "grouped"))
    for i in range(len(shape.places)):
        numbered = exp.select(
            exp.alias_(column(_value(i)), "value"), exp.alias_(exp.Window(this=exp.RowNumber()), "number")
        ).from_(table(GROUPS))
        numbered = numbered.where(is_null(column(_value(i))).not_()).group_by(column(_value(i)))
        same = column(_value(i), "grouped").eq(column("value", f"numbered_{i}"))
        query = query.join(numbered.subquery(f"numbered_{i}"), on=same, join_type="left", copy=False)
    return query


def patterns(shape: Layout) -> exp.Select:
    """Select the patterns of the classes with a NULL: ``pattern`` (1, 2, …), ``known_0, …`` and their ``classes``."""
    return (
        exp.select(
            exp.alias_(exp.Window(this=exp.RowNumber()), "pattern"),
            *[column(known(w)) for w in shape.words],
            exp.alias_(exp.Count(this=exp.Star()), "classes"),
        )
        .from_(table(CLASSES))
        .where(has_null(shape))
        .group_by(*[column(known(w)) for w in shape.words])
    )


def count_patterns() -> exp.Select:
    """Select one row: patterns with a NULL, and the classes with a NULL."""
    return exp.select(exp.Count(this=exp.Star()), total(column("classes"))).from_(table(PATTERNS))


def _packed(shape: Layout, word: int, part: Callable[[int, BitField], exp.Expr]) -> exp.Expr:
    packed: exp.Expr = number(0)
    for i, place in enumerate(shape.places):
        if place.word == word:
            packed = exp.Add(this=packed, expression=part(i, place))
    return bigint(packed)


def _number_of(position: int, place: BitField) -> exp.Expr:
    found = exp.Coalesce(this=column("number", f"numbered_{position}"), expressions=[number(0)])
    return exp.Mul(this=bigint(found), expression=number(1 << place.shift))


def _bits_of(position: int, place: BitField) -> exp.Expr:
    return value_if(is_null(column(_value(position), "grouped")).not_(), number(place.mask))


def _value(position: int) -> str:
    return f"{names.PREFIX}value_{position}"
