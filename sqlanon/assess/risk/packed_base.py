"""The distinct records of some columns as packed keys with counts, and the counts of sets of columns over them.

The values of a column are numbered from 1; NULL is 0. Each column owns bits of one of the words of the key, and a set
of columns is a mask a word (``assess/relations/null_patterns.py`` packs classes alike).

    sex | zip   | n        class | n | key_0       sex: bits 0 and 1, zip: bits 2 and 3
    f   | 10115 | 2        1     | 2 | 0b0101
    f   |       | 1        2     | 1 | 0b0001      the set {sex}: key_0 & 0b0011
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from sqlanon.assess.relations.null_patterns import BitField, Layout, layout
from sqlanon.core.engines.base import Engine
from sqlanon.core.source.beside import compared
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    as_keys,
    bigint,
    both,
    column,
    count_distinct,
    count_if,
    count_rows,
    either_bits,
    equal,
    masked,
    masked_keys,
    named,
    not_null,
    number,
    or_zero,
    table,
    total,
    wide_sum,
)

GROUPS = names.PREFIX + "set_groups"
BASE = names.PREFIX + "set_base"
SETS = names.PREFIX + "set_masks"
MARKED = names.PREFIX + "set_marked"
"""Class -> its minimal uniques, a bit each, which ``NUMBERED`` gives to the sets that have any."""
NUMBERED = names.PREFIX + "set_numbered"
GROUPED = names.PREFIX + "set_grouped"
MINIMAL = names.PREFIX + "set_minimal"
STEP = 4_000_000
"""Rows of the base times sets, about, that one statement groups: bounds its memory."""
CLASS, COLUMNS, WEIGHT = "class", "columns", "weight"
Create = Callable[[str, str, exp.Query], int]


@dataclass(frozen=True, slots=True)
class SetCounts:
    """The counts of a set of columns.

    Attributes:
        mask: its columns, a bit each.
        pairs: pairs of records with the same combination.
        minimal: records of which it is a minimal unique; None where that was not asked.
    """

    mask: int
    combinations: int
    uniques: int
    pairs: int
    minimal: int | None


@dataclass(slots=True)
class PackedBase:
    """The base in the engine, and its own counts.

    Attributes:
        records: those that take part; ``left_out`` hold a NULL.
        combinations: its rows.
        uniques: records alone in their row.
        pairs: pairs of records that share a row.
        numbered: the sets with a minimal unique, in the order of their bits.
    """

    engine: Engine
    create: Create
    shape: Layout
    records: int
    left_out: int
    combinations: int
    uniques: int
    pairs: int
    numbered: list[int] = field(default_factory=list)

    def count_sets(self, sets: Sequence[int], weight: int | None) -> Iterator[SetCounts]:
        """Yield the counts of sets of one size.

        Args:
            weight: what a minimal unique of this size adds to a score; None does not look for them. Smaller sizes have
                been looked at before.
        """
        if not sets:
            return
        at_once = max(STEP // max(self.combinations, 1), 1)
        smaller = [mask for mask in self.numbered if weight is not None and mask.bit_count() < sets[0].bit_count()]
        marks = layout([1] * len(smaller))
        if smaller:
            self._mark(smaller, marks)
        for start in range(0, len(sets), at_once):
            part = sets[start : start + at_once]
            held = [[i for i, other in enumerate(smaller) if other & mask == other] for mask in part]
            columns = [[i for i in range(len(self.shape.places)) if mask >> i & 1] for mask in part]
            self._load(SETS, part, _masks(self.shape, columns, names.mask) | _masks(marks, held, _mark))
            self.create("group sets", GROUPED, self._grouped())
            rows = {int(row[0]): row[1:] for row in self.engine.run("count sets", _figures())}
            minimal: dict[int, int] = {}
            if weight is not None:
                query = _minimal(weight, part[0].bit_count(), marks.words if smaller else range(0))
                self.engine.insert("minimal uniques", MINIMAL, query)
                minimal = dict(self.engine.run("count minimal uniques", _minimal_by_set(part)))
            self.numbered += [mask for mask in part if minimal.get(mask)]
            for used in (GROUPED, SETS):
                self.engine.drop(used)
            for mask in part:
                combined, uniques, ordered = map(int, rows.get(mask, (0, 0, 0)))
                found = None if weight is None else int(minimal.get(mask, 0))
                yield SetCounts(mask, combined, uniques, ordered // 2, found)

    def scores(self) -> tuple[int, dict[int, int], int]:
        """Return the records with a minimal unique, size -> records by their smallest one, and the highest score."""
        scored = exp.select(
            named(exp.Min(this=column("size")), "size"), named(wide_sum(column(WEIGHT)), "score")
        ).from_(table(MINIMAL)).group_by(column(CLASS))  # fmt: skip
        query = (
            exp.select(column("size"), count_rows(), exp.Max(this=column("score")))
            .from_(scored.subquery("scored"))
            .group_by(column("size"))
        )
        rows = sorted((int(size), int(count), int(high)) for size, count, high in self.engine.run("scores", query))
        by_smallest = {size: count for size, count, _ in rows}
        return sum(by_smallest.values()), by_smallest, max((high for *_, high in rows), default=0)

    def _mark(self, sets: Sequence[int], marks: Layout) -> None:
        """Note of each class which of some sets are its minimal uniques, a bit each: a larger set with one is none.

        So no join of the minimal uniques of a class with each other is needed to see that.
        """
        self._load(NUMBERED, sets, _masks(marks, [[place] for place in range(len(sets))], _mark))
        bits = [named(total(column(_mark(word), "s")), _mark(word)) for word in marks.words]
        marked = exp.select(column(CLASS, "u"), *bits).from_(table(MINIMAL, "u"))
        marked = marked.join(table(NUMBERED, "s"), on=equal(column(COLUMNS, "u"), column(COLUMNS, "s")))
        self.engine.drop(MARKED)
        self.create("mark minimal uniques", MARKED, marked.group_by(column(CLASS, "u")))
        self.engine.drop(NUMBERED)

    def _load(self, name: str, sets: Sequence[int], more: Mapping[str, Sequence[int]]) -> None:
        """Load some sets, with further columns."""
        columns = {key: pa.array(values, pa.int64()) for key, values in {COLUMNS: sets, **more}.items()}
        self.engine.load(name.removeprefix(names.PREFIX).replace("_", " "), name, pa.table(columns), replayed=False)

    def _grouped(self) -> exp.Select:
        """Select the combinations of the loaded sets: the set, the records, and a class of the base."""
        parts = masked_keys([column(names.mask(word), "m") for word in self.shape.words], "b")
        return (
            exp.select(
                column(COLUMNS, "m"),
                named(total(column(names.COUNT, "b")), names.COUNT),
                named(exp.Min(this=column(CLASS, "b")), CLASS),
            )
            .from_(table(BASE, "b"))
            .join(table(SETS, "m"), join_type="cross")
            .group_by(column(COLUMNS, "m"), *parts)
        )


def create_base(
    engine: Engine, create: Create, relation: exp.Expr, columns: Sequence[str], *, leave_out_nulls: bool
) -> PackedBase:
    """Create the base of some columns of a relation.

    Args:
        create: creates a working table, and drops it at the end.
        leave_out_nulls: records with a NULL in one of the columns do not take part.
    """
    types = dict(engine.catalog.columns(relation))
    values = [named(compared(name, types[name]), _value(i)) for i, name in enumerate(columns)]
    read = exp.select(*values).from_(relation.copy())
    cells = [column(_value(i)) for i in range(len(columns))]
    grouped = exp.select(*cells, named(bigint(count_rows()), names.COUNT)).from_(read.subquery("records"))
    grouped = grouped.group_by(*[cell.copy() for cell in cells])
    create("distinct records", GROUPS, grouped)
    takes_part = both(not_null(cell.copy()) for cell in cells) if leave_out_nulls else exp.true()
    left_out = exp.select(total(column(names.COUNT))).from_(table(GROUPS)).where(exp.not_(takes_part.copy()))
    left = int(engine.run("records left out", left_out)[0][0]) if leave_out_nulls else 0
    counts = exp.select(
        count_rows(), *_sums(), *[count_distinct(cell.copy()) for cell in cells]
    ).from_(table(GROUPS)).where(takes_part.copy())  # fmt: skip
    rows, records, alone, ordered, *distinct = map(int, engine.run("distinct values", counts)[0])
    shape = layout(distinct)
    create("packed records", BASE, _packed(shape, takes_part))
    engine.drop(GROUPS)
    create("no minimal uniques", MINIMAL, _none())
    return PackedBase(engine, create, shape, records, left, rows, alone, ordered // 2)


def _sums() -> list[exp.Expr]:
    """Return the records, those alone in their row, and the ordered pairs that share a row."""
    count = column(names.COUNT)
    others = exp.paren(exp.Sub(this=count.copy(), expression=number(1)))
    return [
        total(count.copy()),
        count_if(equal(count.copy(), number(1))),
        wide_sum(exp.Mul(this=count.copy(), expression=others)),
    ]


def _packed(shape: Layout, takes_part: exp.Expr) -> exp.Select:
    """Select the distinct records that take part as packed keys: class, n, and the words of the key."""
    words: list[exp.Expr] = []
    for word in shape.words:
        parts = [_shifted(i, place) for i, place in enumerate(shape.places) if place.word == word]
        words.append(bigint(exp.paren(either_bits(parts))))
    query = exp.select(
        named(bigint(exp.Window(this=exp.RowNumber())), CLASS), column(names.COUNT, "grouped"), *as_keys(words)
    ).from_(exp.select("*").from_(table(GROUPS)).where(takes_part).subquery("grouped"))
    for i in range(len(shape.places)):
        numbered = exp.select(
            named(column(_value(i)), "value"), named(bigint(exp.Window(this=exp.RowNumber())), "number")
        ).from_(table(GROUPS))
        numbered = numbered.where(not_null(column(_value(i))), takes_part.copy()).group_by(column(_value(i)))
        name = f"numbered_{i}"
        same = equal(column(_value(i), "grouped"), column("value", name))
        query = query.join(numbered.subquery(exp.to_identifier(name, quoted=True)), on=same, join_type="left")
    return query


def _shifted(position: int, place: BitField) -> exp.Expr:
    """Return the number of a value at its place in a word."""
    found = exp.paren(bigint(or_zero(column("number", f"numbered_{position}"))))
    return exp.paren(exp.BitwiseLeftShift(this=found, expression=number(place.shift)))


def _figures() -> exp.Select:
    """Select per set: its combinations, uniques, and ordered pairs of records that share one."""
    return (
        exp.select(column(COLUMNS), count_rows(), *_sums()[1:])
        .from_(table(GROUPED))
        .group_by(column(COLUMNS))
    )  # fmt: skip


def _none() -> exp.Select:
    """Select no minimal unique."""
    cells = [named(bigint(number(0)), name) for name in (CLASS, COLUMNS, "size", WEIGHT)]
    return exp.select(*cells).where(exp.false())


def _minimal(weight: int, size: int, words: range) -> exp.Select:
    """Select the records that are alone on a set and on no part of it: class, set, its size, and what it scores.

    A record that is alone on a part of a set is alone on a minimal unique within that part, which is marked.
    """
    query = exp.select(
        column(CLASS, "g"), column(COLUMNS, "g"), named(bigint(number(size)), "size"),
        named(bigint(number(weight)), WEIGHT),
    ).from_(table(GROUPED, "g"))  # fmt: skip
    query = query.where(equal(column(names.COUNT, "g"), number(1)))
    if not words:
        return query
    query = query.join(table(SETS, "m"), on=equal(column(COLUMNS, "g"), column(COLUMNS, "m")))
    query = query.join(table(MARKED, "u"), on=equal(column(CLASS, "g"), column(CLASS, "u")), join_type="left")
    marks = [exp.paren(masked(or_zero(column(_mark(word), "u")), column(_mark(word), "m"))) for word in words]
    return query.where(*[equal(mark, number(0)) for mark in marks])


def _minimal_by_set(sets: Sequence[int]) -> exp.Select:
    """Select per set of a size: the records of which it is a minimal unique."""
    size = sets[0].bit_count()
    query = exp.select(column(COLUMNS), count_rows()).from_(table(MINIMAL))
    return query.where(equal(column("size"), number(size))).group_by(column(COLUMNS))


def _value(position: int) -> str:
    return f"{names.PREFIX}value_{position}"


def _mark(word: int) -> str:
    return f"mark_{word}"


def _masks(shape: Layout, chosen: Sequence[Collection[int]], name: Callable[[int], str]) -> dict[str, list[int]]:
    """Return, word by word, the bits of the places that are chosen, of each of some choices."""
    return {
        name(word): [sum(shape.places[i].mask for i in own if shape.places[i].word == word) for own in chosen]
        for word in shape.words
    }
