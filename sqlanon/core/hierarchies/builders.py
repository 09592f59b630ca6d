"""Hierarchies that are computed: SQL expressions for the levels above a value, as sqlglot trees.

Each builder is a tree by construction (the argument stands with it), and the encoder checks it all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial, reduce
from itertools import pairwise
from typing import Protocol

from sqlglot import exp

from sqlanon.core.hierarchies.calendar_builders import age_of, as_day, date_levels, day_written
from sqlanon.core.hierarchies.code_builders import code_levels, known_code
from sqlanon.core.hierarchies.expressions import ROOT, bind_template, number_in_text, unless_null
from sqlanon.core.hierarchies.specs import Ages, Codes, Dates, HierarchySpec, Intervals, Redact, Suppress, Zip3
from sqlanon.core.sqltrees.data_types import INTEGERS
from sqlanon.errors import HierarchyError, UnsupportedError
from sqlanon.parameters import Parameter

NARROW = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER")
"""Types whose intervals 64 bits are enough for, when these are whole numbers up to ``NARROW_LIMIT``."""
NARROW_LIMIT = 2**32
LEAST_LONG, MOST_LONG = -(2**63), 2**63 - 1
"""The ends of BIGINT. 64 bits are enough for its intervals too: one that reaches beyond an end has a known text."""
FLOATS = ("FLOAT", "DOUBLE")
MAX_DIGITS = 37
LIMIT = 10**37
"""Largest integer that intervals compute with: sums of five of them fit INT128."""
SHORT = 18
"""Digits of a DECIMAL, and of a power of ten, whose product every engine computes exactly."""
FAR = 10**15
"""Largest number of intervals from the origin at which a DOUBLE quotient is wrong by less than 1."""


class HierarchyBuilder(Protocol):
    """A builder from outside the package (``extensions``), created anew for each column with its options by name.

    It has one of two methods, and the encoder checks that what comes out of it is a tree:

        levels(value, type_name, *, longest) -> list[exp.Expr]
            SQL expressions of level 1, 2, … (text; NULL for NULL) over a column expression, as ``levels`` below. The
            database computes them.
        rows(values) -> Sequence[tuple[str | None, ...]]
            (value, level 1, level 2, …) for each of the distinct texts of the column; NULL is not among them.

    Attributes:
        parameters: its options.
        by_text: ``levels`` wants the canonical text of the value whatever the column's type; False if it is not there.
    """

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its options."""
        ...


def levels(spec: HierarchySpec, value: exp.Expr, type_name: str, *, longest: int) -> list[exp.Expr]:
    """Return the expressions of level 1, 2, … (text; NULL for a NULL value) of a column expression.

    Args:
        value: an expression of the type ``type_name`` (a DuckDB type); the canonical text for ``redact``.
        longest: length of the longest value as text, in characters; ``redact`` may have a width of its own.

    Raises:
        UnsupportedError: the builder cannot serve the type.
    """
    found = reading(spec, type_name)
    if found is not None:
        value, type_name = found.of(value), found.type
    return levels_of_read(spec, value, type_name, longest=longest)


def levels_of_read(spec: HierarchySpec, value: exp.Expr, type_name: str, *, longest: int) -> list[exp.Expr]:
    """Return the same of a value that was read from its text before (``reading``), if it has to be."""
    if isinstance(spec, Suppress):
        return [unless_null(value, exp.Literal.string(ROOT))]
    if isinstance(spec, Redact):
        return _redact(spec, value, longest)
    if isinstance(spec, Intervals):
        return _intervals(spec, value, type_name)
    if isinstance(spec, Dates):
        return date_levels(spec, value, type_name)
    if isinstance(spec, Ages):
        ages = Intervals(spec.width, spec.fanouts, lower=spec.lower, upper=spec.upper)
        return _intervals(ages, value, type_name)
    return code_levels(spec, value)


Step = Callable[[exp.Expr], exp.Expr]


@dataclass(frozen=True, slots=True)
class ReadValue:
    """What the levels of a value follow from, where that is not the value itself: the number, date or code that a text
    is read as, an age.

    Attributes:
        steps: each an expression over what the step before gave, the first over the value. The last gives NULL for a
            value that does not read so: it has no levels, and is uncovered.
        type: what the last one gives (a DuckDB type).
    """

    steps: tuple[Step, ...]
    type: str

    def of(self, value: exp.Expr) -> exp.Expr:
        """Return what is read, as one expression."""
        return reduce(lambda found, step: step(found), self.steps, value)


def reading(spec: HierarchySpec | None, type_name: str) -> ReadValue | None:
    """Return how values of a type are read before their levels are computed; None where they are not."""
    is_text = type_name.upper() == "VARCHAR"
    steps: tuple[Step, ...] = ()
    if is_text and isinstance(spec, Dates | Ages) and spec.format is not None:
        steps, type_name = (partial(day_written, spec.format), as_day), "DATE"
    if isinstance(spec, Ages):
        return ReadValue((*steps, partial(age_of, spec, type_name=type_name)), "INTEGER")
    if isinstance(spec, Intervals) and is_text:
        return ReadValue((number_in_text,), "DOUBLE")
    if isinstance(spec, Codes | Zip3):
        return ReadValue((partial(known_code, spec),), "VARCHAR")
    return ReadValue(steps, type_name) if steps else None


def _redact(spec: Redact, value: exp.Expr, longest: int) -> list[exp.Expr]:
    """Return levels: level i keeps the first (last) ``width - i`` characters, padded to ``width`` with the mask.

    A tree: with T the text of level i, level i + 1 is the padding of T's first width - i - 1 characters, since
    padding first and cutting later gives what cutting first and padding later gives. So it depends on T alone, also
    for values that hold the mask character, and for those that are longer than ``width``.
    """
    longest = longest if spec.width is None else spec.width
    cut, pad = ("LEFT", "RPAD") if spec.direction == "right" else ("RIGHT", "LPAD")
    count = min(spec.steps or longest, longest)
    result: list[exp.Expr] = []
    for level in range(1, count + 1):
        kept = exp.Anonymous(this=cut, expressions=[value.copy(), exp.Literal.number(longest - level)])
        padded = exp.Anonymous(this=pad, expressions=[kept, exp.Literal.number(longest), exp.Literal.string(spec.char)])
        result.append(padded)
    if count < longest:
        result.append(unless_null(value, exp.Literal.string(ROOT)))
    return result


def _scale(number: Decimal) -> int:
    """Return the decimal places without trailing zeros; ``normalize`` would round to the context's precision."""
    _, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits))
    return max(0, -int(exponent) - len(text) + len(text.rstrip("0"))) if number else 0


def _plain(number: Decimal) -> str:
    return format(number, "f")


def _intervals(spec: Intervals, value: exp.Expr, type_name: str) -> list[exp.Expr]:
    """Return half-open intervals between exact decimal edges.

    A tree: the index of a value's interval on level 1 is an integer, and each coarser level is a function of it.
    The index is counted from an offset below all values, a multiple of every fan-out, so that dividing is flooring.
    Values below ``lower`` or at least ``upper``, NaN, infinities, and values too large to compute with (``far``) keep
    one label each on all levels, apart from the intervals; ``lower`` and ``upper`` need not be edges. The label of an
    interval that one of them cuts ends there, so that no two labels overlap: ``[80, 90)`` beside ``>=90``.
    """
    base_type = type_name.upper().split("(")[0]
    if base_type not in (*INTEGERS, *FLOATS, "DECIMAL"):
        raise UnsupportedError(
            f"intervals cannot serve the type {base_type}.",
            hint="cast the column to a number in a view of the source, or use another hierarchy.",
        )
    given = (spec.width, spec.origin, spec.lower, spec.upper, *(spec.edges or [()])[0])
    numbers = [number for number in given if number is not None]
    if any(_scale(number) > MAX_DIGITS or number.adjusted() > MAX_DIGITS for number in numbers):
        raise _too_long()
    if spec.edges is not None:
        return _edged(spec.edges, value, type_name)
    scale = max(_scale(spec.width), _scale(spec.origin), _decimal_scale(type_name) if base_type == "DECIMAL" else 0)
    boundless = type_name.upper() == "DECIMAL"  # its values have any number of places
    if boundless:
        scale = max(scale, *(_scale(bound) for bound in (spec.lower, spec.upper) if bound is not None), 0)
    width, origin = (int(Fraction(number) * 10**scale) for number in (spec.width, spec.origin))
    widest = math.prod(spec.fanouts)
    remote = base_type in FLOATS and abs(origin) > FAR * width
    if max(width * widest, abs(origin)) > LIMIT or remote:
        raise _too_long()
    furthest = max((abs(bound) for bound in (spec.lower, spec.upper) if bound is not None), default=Decimal(0))
    if not scale and max(width * widest, abs(origin)) <= NARROW_LIMIT:
        if base_type in NARROW and furthest <= NARROW_LIMIT:
            return _narrow_intervals(spec, value, width, origin, widest)
        if base_type == "BIGINT" and furthest < MOST_LONG:
            return _long_intervals(spec, value, width, origin)
    reach = min(FAR, LIMIT // width) if base_type in FLOATS else 2 * LIMIT // width
    offset = widest * -(-(reach + 2) // widest)
    shift = origin - offset * width
    if base_type in FLOATS:
        number, index = _float_index(spec, value, base_type, scale, shift, offset)
        text = exp.cast(value.copy(), "VARCHAR")
        side: Side = _double_side
        special = [
            exp.If(this=bind_template("NOT ISFINITE(:number)", number=number), true=text),
            *_beyond(spec, number, side),
            exp.If(this=bind_template("ABS(:bucket) > :reach", bucket=_bucket(spec, number), reach=reach), true=_far()),
        ]
    else:
        short = boundless or (_decimal_digits(type_name) <= SHORT and scale <= SHORT)
        number = _floored(value, scale, "INT128" if boundless else "BIGINT") if short else _scaled(value, scale)
        index = bind_template("(:number - :shift) // :width", number=number, shift=shift, width=width)
        outside = "(:number BETWEEN :least AND :most) IS NOT TRUE"
        far = exp.If(this=bind_template(outside, number=number, least=-LIMIT, most=LIMIT), true=_far())
        side = _scaled_side(scale)
        beyond = _beyond(spec, number, side)
        special = [far, *beyond] if boundless else [*beyond, far]  # one without bound may be NaN, above every number
    return _labelled(value, index, special, _Cuts(spec, number, side, scale), width, shift)


def _edged(levels: Sequence[Sequence[Decimal]], value: exp.Expr, type_name: str) -> list[exp.Expr]:
    """Return half-open intervals between stated edges, with open ends.

    A tree: the edges of a level are among those of the level before, so that an interval is a union of finer ones.
    """
    base_type = type_name.upper().split("(")[0]
    text = exp.cast(value.copy(), "VARCHAR")
    number: exp.Expr = exp.cast(text.copy() if base_type == "FLOAT" else value.copy(), "DOUBLE")
    side: Side = _double_side
    special: list[exp.If] = []
    if base_type in FLOATS:
        special = [exp.If(this=bind_template("NOT ISFINITE(:number)", number=number), true=text)]
    elif base_type in (*NARROW, "BIGINT") and all(LEAST_LONG <= edge <= MOST_LONG for edge in levels[0]):
        number, side = exp.cast(value.copy(), "BIGINT"), _scaled_side(0, "BIGINT")
    else:
        scale = max(*map(_scale, levels[0]), _decimal_scale(type_name)) if base_type == "DECIMAL" else 0
        if max(abs(edge) for edge in levels[0]) * 10**scale > LIMIT:
            raise _too_long()
        number, side = _scaled(value, scale), _scaled_side(scale)
        if type_name.upper() == "DECIMAL":
            number = _floored(value, scale, "INT128")
        far = "(:number BETWEEN :least AND :most) IS NOT TRUE"
        special = [exp.If(this=bind_template(far, number=number, least=-LIMIT, most=LIMIT), true=_far())]
    missing = exp.If(this=exp.Is(this=value.copy(), expression=exp.null()), true=exp.null())
    result: list[exp.Expr] = []
    for edges in levels:
        texts = [_plain(edge) for edge in edges]
        labels = [f"<{texts[0]}", *(f"[{start}, {end})" for start, end in pairwise(texts))]
        below = [
            exp.If(
                this=bind_template(":number < :edge", number=number, edge=side(edge)), true=exp.Literal.string(label)
            )
            for edge, label in zip(edges, labels, strict=True)
        ]
        cases = [item.copy() for item in (missing, *special, *below)]
        result.append(exp.Case(ifs=cases, default=exp.Literal.string(f">={texts[-1]}")))
    return [*result, unless_null(value, exp.Literal.string(ROOT))]


def _narrow_intervals(spec: Intervals, value: exp.Expr, width: int, origin: int, widest: int) -> list[exp.Expr]:
    """Return the levels of intervals in BIGINT, which every engine has: no whole number of 32 bits is too large."""
    offset = widest * -(-(2 * NARROW_LIMIT // width + 2) // widest)
    shift = origin - offset * width
    number = exp.cast(value.copy(), "BIGINT")
    index = bind_template("(:number - :shift) // :width", "BIGINT", number=number, shift=shift, width=width)
    side = _scaled_side(0, "BIGINT")
    special, cuts = _beyond(spec, number, side), _Cuts(spec, number, side, 0)
    return _labelled(value, index, special, cuts, width, shift, "BIGINT")


def _long_intervals(spec: Intervals, value: exp.Expr, width: int, origin: int) -> list[exp.Expr]:
    """Return the same for all of BIGINT, without a number beyond it.

    No offset lies below all values, so the start of an interval is counted upwards from the first edge that is not
    negative, or downwards from the edge before. The intervals that reach beyond an end of the type have known texts.
    """
    number = exp.cast(value.copy(), "BIGINT")
    side = _scaled_side(0, "BIGINT")
    beyond, cuts = _beyond(spec, number, side), _Cuts(spec, number, side, 0)
    missing = exp.If(this=exp.Is(this=value.copy(), expression=exp.null()), true=exp.null())
    result: list[exp.Expr] = []
    for depth in range(len(spec.fanouts) + 1):
        joined = width * math.prod(spec.fanouts[:depth])
        zero = origin % joined
        first, last = (zero + (end - zero) // joined * joined for end in (LEAST_LONG, MOST_LONG))
        ends = [
            exp.If(
                this=bind_template(":number >= :last", "BIGINT", number=number, last=last),
                true=_known_label(spec, last, joined),
            )
        ]
        if first < LEAST_LONG:
            below = bind_template(":number < :next", "BIGINT", number=number, next=first + joined)
            ends.append(exp.If(this=below, true=_known_label(spec, first, joined)))
        start = bind_template(
            "CASE WHEN :number >= :zero THEN :zero + (:number - :zero) // :width * :width WHEN :number >= :before "
            "THEN :before ELSE :before - :width - (:before - :one - :number) // :width * :width END",
            "BIGINT", number=number, zero=zero, before=zero - joined, width=joined, one=1,
        )  # fmt: skip
        label = _number_text(start, 0)
        if spec.labels == "range":
            end = _number_text(bind_template(":start + :width", "BIGINT", start=start, width=joined), 0)
            label = bind_template("'[' || :start || ', ' || :end || ')'", start=label, end=end)
        special = (missing, *beyond, *cuts.at(joined, LEAST_LONG, MOST_LONG), *ends)
        result.append(exp.Case(ifs=[item.copy() for item in special], default=label))
    return [*result, unless_null(value, exp.Literal.string(ROOT))]


def _known_label(spec: Intervals, start: int, width: int) -> exp.Expr:
    """Return the text of an interval that is known beforehand."""
    return exp.Literal.string(f"[{start}, {start + width})" if spec.labels == "range" else str(start))


def _labelled(
    value: exp.Expr,
    index: exp.Expr,
    special: list[exp.If],
    cuts: _Cuts,
    width: int,
    shift: int,
    integer: str = "INT128",
) -> list[exp.Expr]:
    """Return the labels of the intervals, level by level, and of the special values."""
    spec, scale = cuts.spec, cuts.scale
    missing = exp.If(this=exp.Is(this=value.copy(), expression=exp.null()), true=exp.null())
    result: list[exp.Expr] = []
    for depth in range(len(spec.fanouts) + 1):
        joined = math.prod(spec.fanouts[:depth])
        coarse = bind_template(":index // :joined * :width", integer, index=index, joined=joined, width=joined * width)
        label = _number_text(bind_template(":coarse + :shift", integer, coarse=coarse, shift=shift), scale)
        if spec.labels == "range":
            end = _number_text(
                bind_template(":coarse + :shift", integer, coarse=coarse, shift=shift + joined * width), scale
            )
            label = bind_template("'[' || :start || ', ' || :end || ')'", start=label, end=end)
        cut = cuts.at(joined * width, -LIMIT, LIMIT)
        result.append(exp.Case(ifs=[item.copy() for item in (missing, *special, *cut)], default=label))
    return [*result, unless_null(value, exp.Literal.string(ROOT))]


def _too_long() -> HierarchyError:
    return HierarchyError(
        "intervals cannot compute exactly with a width, fan-outs, an origin or a bound of so many digits.",
        hint="round these numbers, or take fewer fan-outs.",
    )


def _decimal_scale(type_name: str) -> int:
    return int(type_name.rstrip(")").split(",")[-1]) if "," in type_name else 0


def _decimal_digits(type_name: str) -> int:
    """Return the digits of a DECIMAL; of another type more than ``SHORT``."""
    name, _, sizes = type_name.upper().partition("(")
    return int(sizes.rstrip(")").split(",")[0]) if name == "DECIMAL" and sizes else SHORT + 1


def _far() -> exp.Expr:
    return exp.Literal.string("far")


Side = Callable[[Decimal], exp.Expr]
"""The number that another one is compared with, in the units of that one."""


def _double_side(bound: Decimal) -> exp.Expr:
    return bind_template("CAST(:bound AS DOUBLE)", bound=_plain(bound))


def _scaled_side(scale: int, integer: str = "INT128") -> Side:
    return lambda bound: bind_template(":bound", integer, bound=_scaled_bound(bound, scale))


@dataclass(frozen=True, slots=True)
class _Cuts:
    """The labels of the intervals that ``lower`` and ``upper`` cut, of numbers that lie between these.

    Attributes:
        number: what is compared with edges, which ``side`` gives.
        scale: the decimal places of an edge.
    """

    spec: Intervals
    number: exp.Expr
    side: Side
    scale: int

    def at(self, width: int, least: int, most: int) -> list[exp.If]:
        """Return them for intervals of a width in units of 10^-scale; edges beyond least and most cut nothing off."""
        lower, upper = self.spec.lower, self.spec.upper
        found: list[exp.If] = []
        for bound, compare, far in ((lower, ":number < :edge", width), (upper, ":number >= :edge", 0)):
            if bound is None or self.spec.labels != "range":
                continue
            unit, origin = 10**self.scale, int(Fraction(self.spec.origin) * 10**self.scale)
            start = (math.floor(Fraction(bound) * unit) - origin) // width * width + origin
            if Fraction(start, unit) == Fraction(bound) or not least <= start <= start + width <= most:
                continue
            edge = self._number(start + far)
            ends = (
                self._text(start, lower, is_cut=lower is not None and Fraction(lower) * unit > start),
                self._text(start + width, upper, is_cut=upper is not None and Fraction(upper) * unit < start + width),
            )
            this = bind_template(compare, number=self.number, edge=self.side(edge))
            found.append(exp.If(this=this, true=exp.Literal.string(f"[{ends[0]}, {ends[1]})")))
        return found

    def _number(self, scaled: int) -> Decimal:
        return Decimal(f"{scaled}E-{self.scale}")

    def _text(self, scaled: int, bound: Decimal | None, *, is_cut: bool) -> str:
        """Return the text of an edge, or of the bound before it, with as many places."""
        if bound is None or not is_cut:
            return _plain(self._number(scaled))
        return _plain(bound) if _scale(bound) > self.scale else f"{bound:.{self.scale}f}"


def _beyond(spec: Intervals, number: exp.Expr, side: Side) -> list[exp.If]:
    result = []
    for bound, compare, sign in ((spec.lower, ":number < :bound", "<"), (spec.upper, ":number >= :bound", ">=")):
        if bound is not None:
            label = exp.Literal.string(f"{sign}{_plain(bound)}")
            result.append(exp.If(this=bind_template(compare, number=number, bound=side(bound)), true=label))
    return result


def _scaled(value: exp.Expr, scale: int) -> exp.Expr:
    """Return the integer value * 10^scale, exactly, by its digits; NULL when it does not fit."""
    if not scale:
        return exp.TryCast(this=value.copy(), to=exp.DataType.build("INT128", dialect="duckdb"))
    decimal = exp.TryCast(this=value.copy(), to=exp.DataType.build(f"DECIMAL(38, {scale})", dialect="duckdb"))
    return bind_template("CAST(REPLACE(CAST(:decimal AS VARCHAR), '.', '') AS INT128)", decimal=decimal)


def _floored(value: exp.Expr, scale: int, integer: str) -> exp.Expr:
    """Return the greatest integer at or below value * 10^scale (edges and bounds are multiples); NULL if too large.

    Of a DECIMAL of few digits the product is exact, and takes a third of the time of its digits as a text.
    """
    whole = bind_template("FLOOR(:value * :unit)", integer, value=value, unit=10**scale)
    return exp.TryCast(this=whole, to=exp.DataType.build("INT128", dialect="duckdb"))


def _scaled_bound(bound: Decimal, scale: int) -> int:
    """Return the least integer at or above bound * 10^scale; an integer is below it if it is below the bound."""
    least: int = math.ceil(Fraction(bound) * 10**scale)
    return max(-16 * LIMIT, min(16 * LIMIT, least))


def _bucket(spec: Intervals, number: exp.Expr) -> exp.Expr:
    sql = "FLOOR((:number - CAST(:origin AS DOUBLE)) / CAST(:width AS DOUBLE))"
    return bind_template(sql, number=number, origin=_plain(spec.origin), width=_plain(spec.width))


def _float_index(
    spec: Intervals, value: exp.Expr, base_type: str, scale: int, shift: int, offset: int
) -> tuple[exp.Expr, exp.Expr]:
    """Return the value as DOUBLE and its index: the rounded quotient, corrected by comparing with the edges as DOUBLE.

    Without the comparison 0.3 would stand in [0.2, 0.3), because 0.3 / 0.1 rounds to less than 3. Up to ``FAR`` the
    quotient is wrong by less than 1. A FLOAT is read by its text, as it is published: 0.7 is 0.7.
    """
    text = exp.cast(value.copy(), "VARCHAR") if base_type == "FLOAT" else value
    number = exp.cast(text.copy(), "DOUBLE")
    width = int(spec.width.scaleb(scale))
    bucket = exp.TryCast(this=_bucket(spec, number), to=exp.DataType.build("INT128", dialect="duckdb"))
    guess = bind_template(":bucket + :offset", bucket=bucket, offset=offset)
    edge = ":guess * :width + :shift"
    start, end = (bind_template(edge, guess=guess, width=width, shift=place) for place in (shift, shift + width))
    index = bind_template(
        ":guess + CASE WHEN :number < CAST(:start AS DOUBLE) THEN -1 "
        "WHEN :number >= CAST(:end AS DOUBLE) THEN 1 ELSE 0 END",
        guess=guess,
        number=number,
        start=_number_text(start, scale),
        end=_number_text(end, scale),
    )
    return number, index


def _number_text(scaled: exp.Expr, scale: int) -> exp.Expr:
    """Return the decimal text of an integer that counts units of 10^-scale: pad with zeros, then insert the point."""
    text: exp.Expr = exp.cast(exp.paren(scaled.copy(), copy=False), "VARCHAR", copy=False)
    steps = (("^(-?)", "\\1" + "0" * scale), (rf"^(-?)0*(\d+)(\d{{{scale}}})$", r"\1\2.\3")) if scale else ()
    for pattern, replacement in steps:
        arguments = [text, exp.Literal.string(pattern), exp.Literal.string(replacement)]
        text = exp.Anonymous(this="REGEXP_REPLACE", expressions=arguments)
    return text
