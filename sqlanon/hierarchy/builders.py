"""Hierarchies that are computed: SQL expressions for the levels above a value, as sqlglot trees.

Each builder is a tree by construction (the argument stands with it), and the encoder checks it all the same.
"""

from __future__ import annotations

import math
from decimal import Decimal

from sqlglot import exp

from sqlanon.errors import HierarchyError, UnsupportedError
from sqlanon.hierarchy.specs import (
    DatesHierarchy,
    HierarchySpec,
    IntervalsHierarchy,
    RedactHierarchy,
    SuppressHierarchy,
)

ROOT = "*"
INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
FLOATS = ("FLOAT", "DOUBLE")
MAX_SCALE = 7
FAR = 10**15


def levels(spec: HierarchySpec, value: exp.Expr, type_name: str, *, longest: int) -> list[exp.Expr]:
    """The expressions of level 1, 2, … (text; NULL for a NULL value) of a column expression.

    Args:
        value: an expression of the type ``type_name`` (a DuckDB type); the canonical text for ``redact``.
        longest: length of the longest value as text, in characters.

    Raises:
        UnsupportedError: the builder cannot serve the type.
    """
    if isinstance(spec, SuppressHierarchy):
        return [_unless_null(value, exp.Literal.string(ROOT))]
    if isinstance(spec, RedactHierarchy):
        return _redact(spec, value, longest)
    if isinstance(spec, IntervalsHierarchy):
        return _intervals(spec, value, type_name)
    assert isinstance(spec, DatesHierarchy)
    return _dates(spec, value, type_name)


def _unless_null(value: exp.Expr, result: exp.Expr) -> exp.Expr:
    missing = exp.Is(this=value.copy(), expression=exp.null())
    return exp.Case(ifs=[exp.If(this=missing, true=exp.null())], default=result)


def _redact(spec: RedactHierarchy, value: exp.Expr, longest: int) -> list[exp.Expr]:
    """Level i keeps the first (last) ``longest - i`` characters and pads to ``longest`` with the mask character.

    A tree: with T the text of level i, level i + 1 is the padding of T's first longest - i - 1 characters, since
    padding first and cutting later gives what cutting first and padding later gives. So it depends on T alone, also
    for values that hold the mask character.
    """
    cut, pad = ("LEFT", "RPAD") if spec.direction == "right" else ("RIGHT", "LPAD")
    count = min(spec.steps or longest, longest)
    result: list[exp.Expr] = []
    for level in range(1, count + 1):
        kept = exp.Anonymous(this=cut, expressions=[value.copy(), exp.Literal.number(longest - level)])
        padded = exp.Anonymous(this=pad, expressions=[kept, exp.Literal.number(longest), exp.Literal.string(spec.char)])
        result.append(padded)
    if count < longest:
        result.append(_unless_null(value, exp.Literal.string(ROOT)))
    return result


def _scale(*numbers: Decimal | None) -> int:
    exponents = [n.normalize().as_tuple().exponent for n in numbers if n is not None]
    return max([0, *(-int(e) for e in exponents)])


def _huge(expression: exp.Expr) -> exp.Expr:
    return exp.cast(expression, "INT128")


def _integer(value: int) -> exp.Expr:
    return _huge(exp.convert(value))


def _floor_div(numerator: exp.Expr, divisor: int) -> exp.Expr:
    """Floor division of integers: (n - ((n % d) + d) % d) // d, exact for negative numbers too."""
    d = _integer(divisor)
    rest = exp.Mod(this=exp.paren(numerator.copy()), expression=d.copy())
    positive = exp.Mod(this=exp.paren(exp.Add(this=exp.paren(rest), expression=d.copy())), expression=d.copy())
    exact = exp.Sub(this=exp.paren(numerator.copy()), expression=exp.paren(positive))
    return exp.IntDiv(this=exp.paren(exact), expression=d.copy())


def _decimal_scale(type_name: str) -> int:
    return int(type_name.rstrip(")").split(",")[-1]) if "," in type_name else 0


def _intervals(spec: IntervalsHierarchy, value: exp.Expr, type_name: str) -> list[exp.Expr]:
    """Half-open intervals; every coarser level is computed from the integer bucket of level 1, hence a tree.

    Values below ``lower`` or at least ``upper`` keep one label each on all levels, apart from the intervals.
    """
    base_type = type_name.upper().split("(")[0]
    if base_type not in (*INTEGERS, *FLOATS, "DECIMAL"):
        raise UnsupportedError(
            f"intervals cannot serve the type {base_type}.",
            hint="cast the column to a number in a view of the source, or use another hierarchy.",
        )
    scale = max(_scale(spec.width, spec.origin), _decimal_scale(type_name) if base_type == "DECIMAL" else 0)
    if scale > MAX_SCALE:
        raise HierarchyError(
            f"intervals can keep {MAX_SCALE} decimal places, not {scale}.", hint="round the width, origin or column."
        )
    factor = 10**scale
    width, origin = int(spec.width * factor), int(spec.origin * factor)
    special: list[exp.If] = [exp.If(this=exp.Is(this=value.copy(), expression=exp.null()), true=exp.null())]
    text = exp.cast(value.copy(), "VARCHAR")
    if base_type in FLOATS:
        double = exp.cast(value.copy(), "DOUBLE")
        shifted = exp.Sub(this=double, expression=exp.cast(exp.Literal.string(str(spec.origin)), "DOUBLE"))
        quotient = exp.Div(this=exp.paren(shifted), expression=exp.cast(exp.Literal.string(str(spec.width)), "DOUBLE"))
        bucket_float = exp.Floor(this=quotient)
        infinite = exp.Not(this=exp.Anonymous(this="ISFINITE", expressions=[double.copy()]))
        special.append(exp.If(this=infinite, true=text))
        bucket: exp.Expr = exp.TryCast(this=bucket_float, to=exp.DataType.build("INT128", dialect="duckdb"))
        far = exp.GT(this=exp.Abs(this=bucket_float.copy()), expression=exp.convert(FAR))
    else:
        scaled = exp.Mul(this=value.copy(), expression=exp.convert(factor)) if factor > 1 else value.copy()
        if base_type in INTEGERS and factor > 1:
            scaled = exp.Mul(this=_huge(value.copy()), expression=_integer(factor))
        bucket = _floor_div(exp.Sub(this=_huge(exp.paren(scaled)), expression=_integer(origin)), width)
        far = None
    for bound, compare, sign in ((spec.lower, exp.LT, "<"), (spec.upper, exp.GTE, ">=")):
        if bound is not None:
            number = exp.cast(exp.Literal.string(str(bound)), "DOUBLE" if base_type in FLOATS else "DECIMAL(38, 9)")
            left = exp.cast(value.copy(), "DOUBLE" if base_type in FLOATS else "DECIMAL(38, 9)")
            beyond = exp.Literal.string(f"{sign}{bound}")
            special.append(exp.If(this=compare(this=left, expression=number), true=beyond))
    if far is not None:
        special.append(exp.If(this=far, true=exp.Literal.string("far")))
    result = []
    for depth in range(len(spec.fanouts) + 1):
        joined = math.prod(spec.fanouts[:depth])
        coarse = bucket if joined == 1 else _floor_div(bucket, joined)
        start = exp.Add(
            this=exp.Mul(this=exp.paren(coarse.copy()), expression=_integer(joined * width)),
            expression=_integer(origin),
        )
        label = _number_text(start, scale)
        if spec.labels == "range":
            end = exp.Add(this=exp.paren(start.copy()), expression=_integer(joined * width))
            parts = [exp.Literal.string("["), label, exp.Literal.string(", "), _number_text(end, scale)]
            label = exp.Concat(expressions=[*parts, exp.Literal.string(")")], safe=False, coalesce=False)
        result.append(exp.Case(ifs=[item.copy() for item in special], default=label))
    return [*result, _unless_null(value, exp.Literal.string(ROOT))]


def _number_text(scaled: exp.Expr, scale: int) -> exp.Expr:
    if not scale:
        return exp.cast(exp.paren(scaled.copy()), "VARCHAR")
    unit = exp.cast(exp.Literal.string(str(Decimal(1).scaleb(-scale))), f"DECIMAL({scale + 1}, {scale})")
    whole = exp.cast(exp.paren(scaled.copy()), "DECIMAL(28, 0)")
    return exp.cast(exp.paren(exp.Mul(this=whole, expression=unit)), "VARCHAR")


def _dates(spec: DatesHierarchy, value: exp.Expr, type_name: str) -> list[exp.Expr]:
    """Calendar periods: a day has one month, a month one quarter, a quarter one year, a year one decade."""
    base_type = type_name.upper()
    if base_type != "DATE" and not base_type.startswith("TIMESTAMP"):
        raise UnsupportedError(
            f"dates cannot serve the type {base_type}.",
            hint="cast the column to DATE in a view of the source, or use another hierarchy.",
        )
    moment = exp.cast(value.copy(), "TIMESTAMP") if base_type != "DATE" else value.copy()
    year = exp.Anonymous(this="YEAR", expressions=[moment.copy()])
    quarter = exp.cast(exp.Anonymous(this="QUARTER", expressions=[moment.copy()]), "VARCHAR")
    decade = exp.Mul(
        this=exp.cast(
            exp.Floor(this=exp.Div(this=year.copy(), expression=exp.cast(exp.convert(10), "DOUBLE"))), "BIGINT"
        ),
        expression=exp.convert(10),
    )

    def text(pattern: str) -> exp.Expr:
        return exp.Anonymous(this="STRFTIME", expressions=[moment.copy(), exp.Literal.string(pattern)])

    def joined(*parts: exp.Expr) -> exp.Expr:
        return exp.Concat(expressions=list(parts), safe=False, coalesce=False)

    periods = {
        "day": text("%Y-%m-%d"),
        "week": text("%G-W%V"),
        "month": text("%Y-%m"),
        "quarter": joined(text("%Y"), exp.Literal.string("-Q"), quarter),
        "year": text("%Y"),
        "decade": joined(exp.cast(decade, "VARCHAR"), exp.Literal.string("s")),
    }
    finite = exp.Anonymous(this="ISFINITE", expressions=[moment.copy()])
    result: list[exp.Expr] = []
    for name in spec.levels:
        if name == "day" and base_type == "DATE":
            continue  # level 0 reads the same
        period = exp.Case(
            ifs=[exp.If(this=finite.copy(), true=periods[name])], default=exp.cast(value.copy(), "VARCHAR")
        )
        result.append(_unless_null(value, period))
    return [*result, _unless_null(value, exp.Literal.string(ROOT))]
