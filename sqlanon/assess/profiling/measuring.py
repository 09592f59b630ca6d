"""The counting of a profile, in the database: a bounded number of statements, whatever the number of columns.

1. The distinct values of all columns with their records (``core/compiler/hierarchies.py``), from one reading.
2. Per column: values, records, those alone, those of the most frequent value, and values with many records.
3. A part of the values to look at closely: all that many records have, and of the others evenly many (``EXAMINED``),
   each of which stands for several. Their weights make shares of the records and of the values.
4. Shapes, lengths and quantiles of that part; only shares, lengths and quantiles come back.
5. The records whose value does not read as what the column is taken for: exact, over all values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import comb

from sqlglot import exp

from sqlanon.assess.profiling.drafted_hierarchies import bands
from sqlanon.assess.profiling.facts import (
    FEWEST_FOR_SPREAD,
    TAIL,
    THRESHOLD_SHARES,
    THRESHOLDS,
    ColumnCounts,
    ColumnProfile,
    Frequent,
    Spread,
)
from sqlanon.assess.profiling.looks import year_is_last
from sqlanon.assess.profiling.odd_records import odd_record_notes
from sqlanon.assess.profiling.shapes import READ_BY, SHAPES
from sqlanon.core.audit.check import refuse_reserved
from sqlanon.core.audit.trees import TERMS
from sqlanon.core.compiler.encoded_source import TakingPart
from sqlanon.core.compiler.hierarchies import CountedColumn, distinct_values
from sqlanon.core.engines.base import Engine
from sqlanon.core.hierarchies.code_builders import known_code
from sqlanon.core.hierarchies.code_specs import Codes, Zip3
from sqlanon.core.source.columns import is_scalar
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import without_values
from sqlanon.core.sqltrees.trees import (
    among,
    bigint,
    by_position,
    column,
    count_if,
    count_rows,
    equal,
    is_null,
    named,
    not_null,
    number,
    or_zero,
    sum_if,
    table,
    total,
    when,
)

VALUES = names.PREFIX + "profile_values"
PART = names.PREFIX + "profile_part"
"""The values that are looked at closely: attribute, value, n, weight (the values that it stands for)."""
EXAMINED = 4_000
"""Values of a column that are looked at closely, besides those with many records: a share of theirs is right to two
hundredths, nearly always."""
FEWEST_IN_A_BAND = 20
"""Records of a band of numbers, at least, in tables of a thousand records and more; ``TAIL`` in smaller ones."""
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
WEIGHT = "weight"


@dataclass(slots=True)
class Examined:
    """What was found of a part of the values of a column.

    Attributes:
        values: how many were looked at.
        of_values: shape -> the share of the values that have it.
        of_records: the same of the records with a value, for what a column can be read by (``READ_BY``).
        lengths: length -> records, about.
        quantiles: of the numbers, or of the years, in the order of ``QUANTILES``.
    """

    values: int = 0
    of_values: dict[str, float] = field(default_factory=dict)
    of_records: dict[str, float] = field(default_factory=dict)
    lengths: dict[int, float] = field(default_factory=dict)
    quantiles: tuple[float, ...] = ()


class Measures:
    """The counts of the columns of a relation; its working tables are dropped by ``close``."""

    def __init__(self, engine: Engine, relation: exp.Expr, types: Mapping[str, str]) -> None:
        refuse_reserved(types, "source")
        self._engine, self._relation, self._types = engine, relation, types
        self.names = [name for name, kind in types.items() if is_scalar(kind)]
        """The columns whose values can be compared; others are not looked at."""
        columns = [CountedColumn(name, types[name]) for name in self.names]
        self.records = int(engine.run("records", exp.select(count_rows()).from_(relation.copy()))[0][0])
        for start in range(0, len(columns), TERMS):
            part = columns[start : start + TERMS]
            query = distinct_values(relation, part, TakingPart(()), together=engine.capabilities.groups_by_sets)
            moved = exp.select(
                named(exp.Add(this=column("attribute"), expression=number(start)), "attribute"),
                column("value"), column(names.COUNT),
            ).from_(query.subquery("counted"))  # fmt: skip
            if start:
                engine.insert("distinct values", VALUES, moved)
            else:
                engine.create("distinct values", VALUES, moved, replayed=False)

    def close(self) -> None:
        """Drop the working tables."""
        for name in (PART, VALUES):
            self._engine.drop(name)

    def odd_records(self, columns: Sequence[ColumnProfile]) -> tuple[str, ...]:
        """Return what is to say of records that are copies or sums of others."""
        types = {name: self._types[name] for name in self.names}
        return odd_record_notes(self._engine, self._relation, types, VALUES, columns)

    def count(self) -> dict[str, ColumnCounts]:
        """Return the counts of each column, exact; ``frequent`` has the thresholds of ``THRESHOLDS`` and of shares."""
        if not self.names:
            return {}
        held = column(names.COUNT)
        filled = not_null(column("value"))
        shares = [-(-self.records * share // 100) for share in THRESHOLD_SHARES]
        limits = sorted({*THRESHOLDS, *(limit for limit in shares if limit > 1)})
        blank = exp.and_(filled.copy(), equal(exp.Trim(this=column("value")), exp.Literal.string("")))
        others = exp.paren(exp.Sub(this=held.copy(), expression=number(1)))
        counts: list[exp.Expr] = [
            sum_if(is_null(column("value")), held.copy()),
            sum_if(blank, held.copy()),
            count_if(filled),
            count_if(exp.and_(filled.copy(), equal(held.copy(), number(1)))),
            bigint(or_zero(exp.Max(this=when(filled.copy(), held.copy())))),
            total(exp.Mul(this=held.copy(), expression=others)),
        ]
        for limit in limits:
            many = exp.and_(filled.copy(), exp.GTE(this=held.copy(), expression=number(limit)))
            counts += [count_if(many), sum_if(many.copy(), held.copy())]
        query = exp.select(column("attribute"), *counts).from_(table(VALUES)).group_by(column("attribute"))
        kinds = {name: without_values(self._types[name]) for name in self.names}
        counts_of = {name: ColumnCounts(name, kind, self.records) for name, kind in kinds.items()}
        pairs = comb(self.records, 2)
        for attribute, *row in self._engine.run("count values", query):
            nulls, empty, distinct, alone, most, ordered_pairs, *held_by_many = map(int, row)
            alike = ordered_pairs // 2  # NULLs are alike, too
            name = self.names[int(attribute)]
            counts_of[name] = ColumnCounts(
                name, kinds[name], self.records, nulls, empty, distinct, alone, most,
                frequent=tuple(map(Frequent, limits, held_by_many[::2], held_by_many[1::2])),
                separation=(pairs - alike) / pairs if pairs else None,
            )  # fmt: skip
        return counts_of

    def examine(self, counts: Mapping[str, ColumnCounts]) -> dict[str, Examined]:
        """Return the shapes and lengths of a part of the values of each column."""
        found = {name: Examined() for name in self.names}
        if not self.records or not self.names:
            return found
        self._engine.create("values to examine", PART, self._part(counts), replayed=False)
        weight = column(WEIGHT)
        weighted: exp.Expr = exp.Mul(this=column(names.COUNT), expression=weight.copy())
        sums: list[exp.Expr] = [count_rows(), total(weight.copy()), total(weighted.copy())]
        for pattern in SHAPES.values():
            matches = exp.RegexpLike(this=column("value"), expression=exp.Literal.string(pattern))
            sums.append(sum_if(matches, weight.copy()))
        for shape in READ_BY:
            matches = exp.RegexpLike(this=column("value"), expression=exp.Literal.string(SHAPES[shape]))
            sums.append(sum_if(matches, weighted.copy()))
        query = exp.select(column("attribute"), *sums).from_(table(PART)).group_by(column("attribute"))
        for attribute, examined, values, records, *row in self._engine.run("shapes", query):
            own = found[self.names[int(attribute)]]
            own.values = int(examined)
            own.of_values = {shape: int(row[i]) / int(values) for i, shape in enumerate(SHAPES)}
            shared = row[len(SHAPES) :]
            own.of_records = {shape: int(shared[i]) / int(records) for i, shape in enumerate(READ_BY)}
        length = exp.Length(this=column("value"))
        lengths = exp.select(column("attribute"), named(length, "characters"), named(weighted.copy(), "held"))
        query = exp.select(column("attribute"), column("characters"), total(column("held")))
        query = query.from_(lengths.from_(table(PART)).subquery("lengths"))
        for attribute, characters, held in self._engine.run(
            "lengths", query.group_by(column("attribute"), column("characters"))
        ):
            found[self.names[int(attribute)]].lengths[int(characters)] = int(held)
        return found

    def _part(self, counts: Mapping[str, ColumnCounts]) -> exp.Select:
        """Select the values that are looked at: those of many records, each for itself, and every so manieth other."""
        steps = {}
        for place, name in enumerate(self.names):
            step = max(1, counts[name].distinct // EXAMINED)
            if step > 1:
                steps[place] = number(step)
        many = max(self.records // EXAMINED, 1)
        own_step = by_position(steps, number(1))
        is_frequent = exp.GT(this=column(names.COUNT), expression=number(many))
        order = exp.Window(this=exp.RowNumber(), partition_by=[column("attribute")])
        numbered = exp.select(
            column("attribute"), column("value"), column(names.COUNT), named(own_step, "step"), named(order, "place"),
        ).from_(table(VALUES)).where(not_null(column("value")))  # fmt: skip
        is_chosen = equal(exp.Mod(this=column("place"), expression=column("step")), number(0))
        weight = when(is_frequent.copy(), number(1), column("step"))
        return (
            exp.select(column("attribute"), column("value"), column(names.COUNT), named(bigint(weight), WEIGHT))
            .from_(numbered.subquery("numbered"))
            .where(exp.or_(is_frequent, is_chosen))
        )

    def misfits(self, read_as: Mapping[str, str]) -> dict[str, int]:
        """Return how many records hold a value that does not have the shape that its column is read by.

        Args:
            read_as: column -> shape.
        """
        shapes = {shape: exp.Literal.string(SHAPES[shape]) for shape in dict.fromkeys(read_as.values())}
        wrong = {
            shape: exp.not_(exp.RegexpLike(this=column("value"), expression=pattern))
            for shape, pattern in shapes.items()
        }
        return dict.fromkeys(read_as, 0) | self._records_with("values that do not fit", read_as, wrong)

    def no_codes(self, systems: Mapping[str, Codes | Zip3]) -> dict[str, int]:
        """Return how many records hold a value that is no code of the system which their column seems to be written in.

        Args:
            systems: column -> system.
        """
        wrong = {name: is_null(known_code(system, column("value"))) for name, system in systems.items()}
        return self._records_with("values no code", {name: name for name in systems}, wrong)

    def _records_with(self, name: str, of: Mapping[str, str], wrong: Mapping[str, exp.Expr]) -> dict[str, int]:
        """Return how many records of some columns hold a value that is wrong by the condition that each has."""
        places = {place: of[name] for place, name in enumerate(self.names) if name in of}
        if not places:
            return {}
        arms = [
            exp.If(this=among([place for place, own in places.items() if own == key]), true=condition)
            for key, condition in wrong.items()
        ]
        query = (
            exp.select(column("attribute"), total(column(names.COUNT)))
            .from_(table(VALUES))
            .where(among(list(places)), not_null(column("value")), exp.Case(ifs=arms, default=exp.false()))
            .group_by(column("attribute"))
        )
        return {self.names[int(place)]: int(records) for place, records in self._engine.run(name, query)}

    def quantiles(self, read_as: Mapping[str, str]) -> dict[str, tuple[float, ...]]:
        """Return quantiles of the numbers of some columns, and of the years of others, by what they are read as.

        Args:
            read_as: column -> ``number``, or the shape of its dates.
        """
        found: dict[str, tuple[float, ...]] = {}
        places = {place: read_as[name] for place, name in enumerate(self.names) if name in read_as}
        if not places:
            return found
        held = exp.Mul(this=column(names.COUNT), expression=column(WEIGHT))
        typed = (
            exp.select(column("attribute"), named(_as_number(places), "x"), named(bigint(held), "held"))
            .from_(table(PART))
            .where(among(list(places)))
        )
        attribute, x = column("attribute"), column("x")
        sums = {"whole": None, "below": exp.Ordered(this=x.copy()), "above": exp.Ordered(this=x.copy(), desc=True)}
        windows = []
        for name, order in sums.items():
            summed = exp.Window(this=exp.Sum(this=column("held")), partition_by=[attribute.copy()])
            if order is not None:
                summed.set("order", exp.Order(expressions=[order]))
            windows.append(named(_double(summed), name))
        inner = (
            exp.select(attribute.copy(), x.copy(), *windows).from_(typed.subquery("typed")).where(not_null(x.copy()))
        )
        cells = [_quantile(share) for share in QUANTILES]
        query = exp.select(attribute.copy(), exp.Max(this=column("whole")), *cells)
        query = query.from_(inner.subquery("summed")).group_by(attribute.copy())
        for place, whole, *row in self._engine.run("quantiles", query):
            if whole >= FEWEST_FOR_SPREAD:
                found[self.names[int(place)]] = tuple(sorted(float(value) for value in row))
        return found

    def bands(self, spreads: Mapping[str, Spread]) -> dict[str, tuple[float, ...]]:
        """Return edges between the numbers of columns that leave no band with few records, counted over all."""
        edges, fewest = {name: bands(spread) for name, spread in spreads.items()}, self.records // 50
        fewest = max(TAIL, min(FEWEST_IN_A_BAND, fewest))
        places = {place: edges[name] for place, name in enumerate(self.names) if edges.get(name)}
        if not places:
            return {}
        x = _as_number(dict.fromkeys(places, "number"))
        arms = [exp.If(this=among([place]), true=_band(own)) for place, own in places.items()]
        typed = exp.select(column("attribute"), named(x, "x"), column(names.COUNT)).from_(table(VALUES))
        typed = typed.where(among(list(places)))
        banded = exp.select(column("attribute"), named(exp.Case(ifs=arms), "band"), column(names.COUNT))
        banded = banded.from_(typed.subquery("typed")).where(not_null(column("x")))
        query = exp.select(column("attribute"), column("band"), total(column(names.COUNT)))
        query = query.from_(banded.subquery("banded"))
        held = {place: [0] * (len(own) + 1) for place, own in places.items()}
        for place, band, records in self._engine.run(
            "records of bands", query.group_by(column("attribute"), column("band"))
        ):
            held[int(place)][int(band)] = int(records)
        return {self.names[place]: _joined(own, held[place], fewest) for place, own in places.items()}


def _band(edges: Sequence[float]) -> exp.Expr:
    """Return how many edges a number reaches."""
    reached = (when(exp.GTE(this=column("x"), expression=exp.convert(edge)), number(1), number(0)) for edge in edges)
    found: exp.Expr = next(reached)
    for one in reached:
        found = exp.Add(this=found, expression=one)
    return found


def _joined(edges: Sequence[float], held: list[int], fewest: int) -> tuple[float, ...]:
    """Return the edges without those of bands of few records, which join the smaller band beside them.

    >>> _joined([1, 2, 3], [50, 2, 40, 30], 5)
    (1, 3)
    """
    left, held = list(edges), list(held)
    while left and (least := min(held)) < fewest:
        band = held.index(least)
        edge = band - 1 if band == len(left) or (band and held[band - 1] <= held[band + 1]) else band
        held[edge : edge + 2] = [held[edge] + held[edge + 1]]
        del left[edge]
    return tuple(left)


def _quantile(share: float) -> exp.Expr:
    """Return a quantile of the numbers of a column, with at least ``TAIL`` records at it and beyond."""
    name, part, extreme = ("below", share, exp.Min) if share <= 0.5 else ("above", 1 - share, exp.Max)
    needed = exp.Mul(this=column("whole"), expression=exp.Literal.number(f"{part:.2f}"))
    enough = exp.GTE(this=column(name), expression=exp.Literal.number(TAIL))
    return extreme(this=when(exp.and_(exp.GTE(this=column(name), expression=needed), enough), column("x")))


def _double(value: exp.Expr) -> exp.Cast:
    return exp.cast(value, "DOUBLE")


def _as_number(places: Mapping[int, str]) -> exp.Expr:
    """Return the number of a value, or the year of its date, by its column; NULL where it is none."""
    arms = []
    for shape in dict.fromkeys(places.values()):
        text: exp.Expr = column("value")
        if shape != "number":
            last = shape.startswith("date ") and year_is_last(shape.removeprefix("date "))
            start = exp.Sub(this=exp.Length(this=column("value")), expression=number(3)) if last else number(1)
            text = exp.Substring(this=column("value"), start=start, length=number(4))
        matches = exp.RegexpLike(this=column("value"), expression=exp.Literal.string(SHAPES[shape]))
        of_shape = among([place for place, own in places.items() if own == shape])
        arms.append(exp.If(this=exp.and_(of_shape, matches), true=_double(exp.Trim(this=text))))
    return exp.Case(ifs=arms)
