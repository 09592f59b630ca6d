"""Which columns follow from others, counted in the database: functional dependencies, and those that few records break.

1. Pairs that counts rule out are not tried: a column that follows has no more values, and no fewer pairs alike.
2. A part of the records (``LOOKED_AT``) refutes most others: one statement groups it by each column, and by the year,
   quarter, month and day of each date, and counts the groups in which another column differs.
3. What is left is counted over all records: those that break the dependency, and the errors in guessing that it spares.

NULL is a value: where a column is NULL, the other must have one value too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from sqlglot import exp

from sqlanon.assess.profiling.facts import DROPPED, ColumnProfile
from sqlanon.core.audit.judged_columns import DETERMINES, FEWEST, SEVERAL
from sqlanon.core.audit.trees import rows_of_all
from sqlanon.core.engines.base import Engine
from sqlanon.core.hierarchies.expressions import are_digits
from sqlanon.core.source.beside import compared
from sqlanon.core.source.columns import is_scalar
from sqlanon.core.source.words import kinds_of
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    bigint,
    canonical,
    column,
    count_distinct,
    count_if,
    count_rows,
    differs,
    equal,
    named,
    not_null,
    number,
    or_zero,
    row_number,
    total,
    when,
)

NEARLY = 0.02
"""The share of the records that may break a dependency: slips, and values that were corrected in one column only."""
LOOKED_AT = 20_000
"""Records that refute dependencies before all are counted."""
MOST_DECISIONS, SPARSE, HELD = 5, 0.2, 0.5
"""Values of a column that decides what others hold, at most; records without a value in these, at least; and the share
of the records with a value that decides so which hold one."""
MOST_COLUMNS = 40
"""Columns that are compared with each other, at most."""
MOST_PAIRS = 120
"""Pairs that are counted over all records, at most."""
MEASURED = 0.2
"""The share of the records whose number nobody else has, from which on a number is no code."""
NUMBERS = ("number", "amount")
MOST_PARTS = 150
"""Values of a column that may be a part of a date, at most."""
VALUE = "value"
AGE, SUM = "age", "sum"
FEW_NUMBERS = 10
"""Numbers with more values are parts of totals, or totals."""
MOST_NUMBERS = 12
ALMOST = 0.005
"""By so much of a total, at most, the sums of its parts over all records differ from it."""
PARTS = ("year", "quarter", "month", "day")
"""What is taken of a date, the coarsest first: its year; with it, its quarter or month; its day."""
_QUARTERS = {"1": ("01", "02", "03"), "2": ("04", "05", "06"), "3": ("07", "08", "09"), "4": ("10", "11", "12")}


@dataclass(frozen=True, slots=True)
class Dependency:
    """A column that follows from another.

    Attributes:
        how: ``value``, or the part of a date (``PARTS``) from which it follows; ``age``: a birth that follows from an
            age, but for a year; ``sum``: one of the parts of a total.
        breaks: records that hold another value than most with the same value of ``of``.
    """

    of: str
    follows: str
    how: str
    breaks: int


@dataclass(frozen=True, slots=True)
class _Given:
    """What a column may follow from: another one, or a part of its dates."""

    item: ColumnProfile
    how: str
    value: exp.Expr

    def may_give(self, other: ColumnProfile) -> bool:
        """Return False where the counts show that a column does not follow, however few records break it."""
        item, slack = self.item, NEARLY * self.item.records
        if other.name == item.name or (item.role == "identifier") != (other.role == "identifier"):
            return False
        if self.how != VALUE:
            return other.distinct <= MOST_PARTS
        if item.filled - item.distinct < FEWEST or other.distinct > item.distinct + slack:
            return False
        if item.role == "identifier" and item.distinct > other.distinct + slack:
            return False
        alike = (other.separation or 0.0) <= (item.separation or 0.0) + 2 * NEARLY
        return alike and max(other.most, other.nulls) >= item.most - slack


def find_dependencies(
    engine: Engine, relation: exp.Expr, types: Mapping[str, str], columns: Sequence[ColumnProfile]
) -> tuple[list[Dependency], int]:
    """Return which columns follow from others, and how many columns were not looked at because there are too many.

    Args:
        columns: with their roles. What identifies persons is compared among itself alone.
    """
    varying = [item for item in columns if item.distinct > 1 and is_scalar(item.type)]
    asked = sorted(varying, key=lambda item: item.distinct)[:MOST_COLUMNS]
    if len(asked) < 2:
        return [], 0
    values = {item.name: compared(item.name, types[item.name]) for item in asked}
    givens = [given for item in asked for given in _givens(item, values[item.name], types[item.name])]
    tried = _not_refuted(engine, relation, givens, asked, values)
    entity = _entity(columns)
    found = _counted(engine, relation, tried, values, None if entity is None else column(entity))
    found = _without_chance(engine, relation, types, found, {item.name: item for item in asked})
    found += [*_ages(engine, relation, types, asked), *_sums(engine, relation, types, asked)]
    return found, len(varying) - len(asked)


def find_deciders(
    engine: Engine, relation: exp.Expr, types: Mapping[str, str], columns: Sequence[ColumnProfile]
) -> dict[str, tuple[str, ...]]:
    """Return the columns of few values that decide whether others hold anything, with these: they say more of it.

    ``search_conducted`` decides whether there is a ``search_basis``, ``ended`` whether there is an ``end_date``.
    """
    scalar = [item for item in columns if is_scalar(item.type) and item.distinct and item.role not in DROPPED]
    few = [item for item in scalar if item.distinct <= MOST_DECISIONS and 2 * item.filled >= item.records]
    few = [item for item in few if item.distinct + (item.nulls > 0) > 1][:MOST_COLUMNS]
    gaps = [item.name for item in scalar if SPARSE * item.records <= item.nulls < item.records - FEWEST][:MOST_COLUMNS]
    questions = []
    for place, item in enumerate(few if gaps else ()):
        held = [named(exp.Count(this=column(gap)), f"held_{i}") for i, gap in enumerate(gaps)]
        values = exp.select(named(number(place), "place"), named(count_rows(), "n"), *held).from_(relation.copy())
        questions.append(values.group_by(compared(item.name, types[item.name])))
    rows: dict[int, list[tuple[int, ...]]] = {}
    for place, *counts in rows_of_all(engine, "columns that decide", questions):
        rows.setdefault(int(place), []).append(tuple(map(int, counts)))
    decided: dict[str, tuple[str, ...]] = {}
    for i, gap in enumerate(gaps):
        sure = {few[place].name: _decides(counts, i + 1) for place, counts in rows.items() if few[place].name != gap}
        best = max(sure, key=lambda name: sure[name], default="")  # of equal ones the first of the table
        if best and sure[best]:
            decided[best] = (*decided.get(best, ()), gap)
    return decided


def _decides(rows: Sequence[tuple[int, ...]], place: int) -> float:
    """Return the least share of the records that hold a column beside values with which most do, if beside the others
    hardly any does; 0 where there are not both."""
    shares = [row[place] / row[0] for row in rows if row[0]]
    held = [share for share in shares if share >= HELD]
    others = [share for share in shares if share < HELD]
    return min(held) if held and others and max(others) <= NEARLY else 0.0


def _givens(item: ColumnProfile, value: exp.Expr, type_name: str) -> Iterable[_Given]:
    yield _Given(item, VALUE, value)
    places = _places(item) if item.reads_as in ("date", "moment") else None
    if places is None:
        return
    text = canonical(item.name, type_name)
    year, month, day = (
        exp.Substring(this=text.copy(), start=number(start), length=number(length)) for start, length in places
    )
    arms = [
        exp.If(this=exp.In(this=month.copy(), expressions=[exp.Literal.string(text) for text in texts]),
               true=exp.Literal.string(quarter))
        for quarter, texts in _QUARTERS.items()
    ]  # fmt: skip
    for how, part in zip(PARTS, (year, exp.Case(ifs=arms), month, day), strict=True):
        yield _Given(item, how, part)


def _places(item: ColumnProfile) -> tuple[tuple[int, int], ...] | None:
    """Return where year, month and day stand in the text of a date, with their lengths; None where that varies."""
    written = item.date_format or "%Y-%m-%d"
    shown = written.replace("%Y", "YYYY").replace("%m", "MM").replace("%d", "DD")
    lengths = item.lengths
    if item.date_format is not None and (lengths is None or not len(shown) == lengths.shortest == lengths.longest):
        return None
    return tuple((shown.index(part) + 1, len(part)) for part in ("YYYY", "MM", "DD"))


def _year(item: ColumnProfile, type_name: str) -> exp.Expr | None:
    """Return the year of a date, or what a column of years holds, as a number; None of other columns."""
    text = canonical(item.name, type_name)
    if item.reads_as in ("date", "moment") and (places := _places(item)) is not None:
        start, length = places[0]
        text = exp.Substring(this=text, start=number(start), length=number(length))
    elif item.looks_like != "year":
        return None
    return when(are_digits(text, range(1, 5)), bigint(text))


def _ages(
    engine: Engine, relation: exp.Expr, types: Mapping[str, str], columns: Sequence[ColumnProfile]
) -> Iterable[Dependency]:
    """Yield the births that follow from ages, of one day or of the day of a date, but for a year."""
    years = {item.name: year for item in columns if (year := _year(item, types[item.name])) is not None}
    births = [name for name in years if "birth_date" in kinds_of(name)]
    days = [None, *[name for name in years if name not in births][:3]]
    for age in (item for item in columns if item.looks_like == "age" and item.reads_as == "whole" and not item.misfits):
        for birth in births:
            for day in days:
                at = exp.Add(this=years[birth].copy(), expression=bigint(canonical(age.name, types[age.name])))
                value = at if day is None else exp.Sub(this=at, expression=years[day].copy())
                each = exp.select(named(value, "born")).from_(relation.copy()).subquery("each")
                counts = exp.select(column("born"), named(count_rows(), "held")).from_(each)
                counts = counts.where(not_null(column("born"))).group_by(column("born"))
                rows = engine.run("ages", counts.order_by(exp.Ordered(this=column("held"), desc=True)).limit(2))
                near, held = abs(rows[0][0] - rows[-1][0]) <= 1 if rows else False, sum(int(row[1]) for row in rows)
                if near and held >= (1 - NEARLY) * age.records:
                    yield Dependency(age.name, birth, AGE, age.records - held)
                    break


def _sums(
    engine: Engine, relation: exp.Expr, types: Mapping[str, str], columns: Sequence[ColumnProfile]
) -> Iterable[Dependency]:
    """Yield the parts of totals: two or three numbers whose sum another one is in all records that hold them."""
    wanted = [
        item.name for item in columns if item.looks_like in NUMBERS and not item.misfits and item.distinct > FEW_NUMBERS
    ][:MOST_NUMBERS]
    if len(wanted) < 3:
        return
    values: dict[str, exp.Expr] = {name: exp.cast(canonical(name, types[name]), "DOUBLE") for name in wanted}
    sums = [or_zero(exp.Sum(this=value.copy())) for value in values.values()]
    [row] = engine.run("totals", exp.select(*sums).from_(relation.copy()))
    totals = {name: float(whole) for name, whole in zip(wanted, row, strict=True) if float(whole) > 0}
    for name, whole in totals.items():
        for parts in (parts for size in (2, 3) for parts in combinations([n for n in totals if n != name], size)):
            if abs(sum(totals[part] for part in parts) - whole) > ALMOST * whole:
                continue
            rest = values[name]
            for part in parts:
                rest = exp.Sub(this=rest, expression=values[part].copy())
            wrong = exp.GT(this=exp.Abs(this=exp.paren(rest.copy())), expression=exp.Literal.number("0.01"))
            counts = [exp.Count(this=exp.paren(rest.copy())), count_if(wrong)]
            [(held, breaks)] = engine.run("parts of totals", exp.select(*counts).from_(relation.copy()))
            if held >= FEWEST and breaks <= NEARLY * held:
                yield from (Dependency(name, part, SUM, int(breaks)) for part in parts)
                break


def _entity(columns: Sequence[ColumnProfile]) -> str | None:
    """Return the column that seems to name persons who have several records: what they have in common is of one person,
    and no sign that a column follows from another."""
    repeated = [
        item
        for item in columns
        if item.role == "identifier" and not item.nulls and 0 < item.distinct * SEVERAL <= item.filled
    ]
    return max(repeated, key=lambda item: item.distinct).name if repeated else None


def _not_refuted(
    engine: Engine,
    relation: exp.Expr,
    givens: Sequence[_Given],
    columns: Sequence[ColumnProfile],
    values: Mapping[str, exp.Expr],
) -> list[tuple[_Given, ColumnProfile]]:
    """Return the pairs that a part of the records does not refute, those with the fewest groups that differ first."""
    part = exp.select("*").from_(relation.copy()).limit(LOOKED_AT).subquery("looked_at")
    records = min(columns[0].records, LOOKED_AT)
    questions = []
    wanted = [[given.may_give(other) for other in columns] for given in givens]
    for place, given in enumerate(givens):
        if not any(wanted[place]):
            continue
        differing = [
            named(differs(values[other.name]) if asked else number(0), f"differs_{i}")
            for i, (other, asked) in enumerate(zip(columns, wanted[place], strict=True))
        ]
        groups = exp.select(*differing).from_(part.copy()).group_by(given.value.copy())
        sums = [total(column(f"differs_{i}")) for i in range(len(columns))]
        questions.append(exp.select(named(number(place), "place"), *sums).from_(groups.subquery("groups")))
    found: list[tuple[int, _Given, ColumnProfile]] = []
    for place, *impure in rows_of_all(engine, "columns that differ", questions):
        for other, asked, groups_differing in zip(columns, wanted[int(place)], impure, strict=True):
            if asked and int(groups_differing) <= 2 * NEARLY * records:
                found.append((int(groups_differing), givens[int(place)], other))
    found.sort(key=lambda triple: triple[0])
    return [(given, other) for _, given, other in found[:MOST_PAIRS]]


def _counted(
    engine: Engine,
    relation: exp.Expr,
    pairs: Sequence[tuple[_Given, ColumnProfile]],
    values: Mapping[str, exp.Expr],
    entity: exp.Expr | None,
) -> list[Dependency]:
    """Return the dependencies that hold over all records, or nearly."""
    questions = []
    for place, (given, other) in enumerate(pairs):
        of_records = entity is None or given.item.role == "identifier"
        owners = count_rows() if of_records or entity is None else count_distinct(entity.copy())
        cells = exp.select(
            named(given.value.copy(), "given"),
            named(values[other.name].copy(), "other"),
            named(count_rows(), names.COUNT),
            named(owners, "owners"),
        )
        cells = cells.from_(relation.copy()).group_by(given.value.copy(), values[other.name].copy())
        whole, most = (kind(this=column(names.COUNT)) for kind in (exp.Sum, exp.Max))
        groups = exp.select(
            named(column("given"), "given"),
            named(exp.Sub(this=whole, expression=most), "breaks"),
            named(exp.Sum(this=column("owners")), "shared"),
            named(exp.Max(this=column("owners")), "most"),
        )
        groups = groups.from_(cells.subquery("cells")).group_by(column("given"))
        speaks = exp.and_(not_null(column("given")), exp.GT(this=column("shared"), expression=number(1)))
        counts = [total(when(speaks.copy(), column(name), number(0))) for name in ("shared", "most")]
        row = exp.select(named(number(place), "place"), total(column("breaks")), *counts)
        questions.append(row.from_(groups.subquery("groups")))
    found = []
    for place, breaks, shared, right in rows_of_all(engine, "columns that follow", questions):
        given, other = pairs[int(place)]
        if breaks <= NEARLY * other.records and _spared(other, int(shared), int(right)) >= DETERMINES:
            found.append(Dependency(given.item.name, other.name, given.how, int(breaks)))
    return found


def _without_chance(
    engine: Engine,
    relation: exp.Expr,
    types: Mapping[str, str],
    found: Sequence[Dependency],
    columns: Mapping[str, ColumnProfile],
) -> list[Dependency]:
    """Return the dependencies without columns that are no bands of a number which few records share.

    Whoever died is told by a time that nobody else has, and by no interval of it. In the order of the number, such a
    column changes more often than it has values.
    """
    questions = []
    for place, each in enumerate(found):
        item, other = columns[each.of], columns[each.follows]
        if each.how == VALUE and _is_measured(item) and other.distinct <= MOST_PARTS:
            of, to = (canonical(name, types[name]) for name in (each.of, each.follows))
            cells = exp.select(named(of, "given"), named(to, "other"), named(count_rows(), "held"))
            cells = cells.from_(relation.copy()).where(not_null(column(each.of))).group_by(of.copy(), to.copy())
            most = row_number(exp.Neg(this=column("held")), column("other"), partition=[column("given")])
            value = named(exp.cast(column("given"), "DOUBLE"), "value")
            ranked = exp.select(value, column("other"), named(most, "place_")).from_(cells.subquery("cells"))
            order = exp.Order(expressions=[exp.Ordered(this=column("value"), nulls_first=False)])
            before = exp.Window(this=exp.Lag(this=column("other")), order=order)
            steps = exp.select(column("other"), named(before, "before")).from_(ranked.subquery("ranked"))
            steps = steps.where(equal(column("place_"), number(1)))
            changes = count_if(exp.NullSafeNEQ(this=column("other"), expression=column("before")))
            row = exp.select(named(number(place), "place"), named(changes, "changes"))
            questions.append(row.from_(steps.subquery("steps")))
    changed = {int(place): int(changes or 0) for place, changes in rows_of_all(engine, "bands of numbers", questions)}
    return [
        each
        for place, each in enumerate(found)
        if changed.get(place, 0) <= 2 * (columns[each.follows].distinct + each.breaks) + 1
    ]


def _is_measured(item: ColumnProfile) -> bool:
    """Return whether a column holds numbers that are no codes: many of them are of one record alone."""
    is_number = item.looks_like in NUMBERS and item.reads_as in ("whole", "number")
    return is_number and not item.misfits and item.uniqueness >= MEASURED


def _spared(other: ColumnProfile, shared: int, right: int) -> float:
    """Return the share of the errors in guessing a column that are spared (``core/audit/beside.py``); 0 of too few."""
    base = max(other.most, other.nulls) / other.records
    if (1 - base) * shared < FEWEST:
        return 0.0
    return (right / shared - base) / (1 - base)
