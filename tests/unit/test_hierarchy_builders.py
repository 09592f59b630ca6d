"""Computed hierarchies: executed by DuckDB, compared with plain Python, and trees whatever the values are."""

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from effort import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from sqlanon.core.hierarchies.builders import levels
from sqlanon.core.hierarchies.specs import Dates, HierarchySpec, Intervals, Redact, Suppress
from sqlanon.errors import HierarchyError, UnsupportedError

Texts = list[tuple[str | None, ...]]
quick = settings(max_examples=scaled(30))
CONNECTION = duckdb.connect()
COLUMN = 'a"b; DROP TABLE y'


def build(spec: HierarchySpec, type_name: str, values: list[Any], longest: int = 1) -> Texts:
    """One row a value: its canonical text, then its text on level 1, 2, …"""
    expressions = levels(spec, exp.column(COLUMN, quoted=True), type_name, longest=longest)
    texts = [item.sql(dialect="duckdb", identify=True) for item in expressions]
    name = exp.to_identifier(COLUMN, quoted=True).sql(dialect="duckdb")
    query = f"""SELECT CAST({name} AS VARCHAR), {", ".join(texts)}
                FROM (SELECT CAST(u.item[1] AS {type_name}) AS {name}, u.place
                      FROM (SELECT unnest($1) AS item, generate_subscripts($1, 1) AS place) u) ORDER BY place"""
    written = [[None if item is None else str(item)] for item in values]
    return CONNECTION.execute(query, [written]).fetchall()


def assert_tree(rows: Texts, first: int = 1) -> None:
    """Every level determines the next, and the last has one value, or NULL."""
    for level in range(first, len(rows[0]) - 1):
        parents: dict[str | None, str | None] = {}
        for row in rows:
            assert parents.setdefault(row[level], row[level + 1]) == row[level + 1]
    assert len({row[-1] for row in rows} - {None}) <= 1
    assert all((row[0] is None) == (item is None) for row in rows for item in row)


def decimal_text(number: Fraction, scale: int) -> str:
    whole = number * 10**scale
    assert whole.denominator == 1
    return format(Decimal(whole.numerator).scaleb(-scale), "f") if scale else str(whole.numerator)


def edge_text(cut: Decimal | None, edge: Fraction, nearer: Any, scale: int, labels: str) -> str:
    """The edge of an interval, or the bound that cuts it, with the places that it has."""
    if cut is None or labels == "start" or nearer(Fraction(cut), edge) == edge:
        return decimal_text(edge, scale)
    return f"{cut:f}" if places(cut) > scale else decimal_text(Fraction(cut), scale)


def interval(spec: Intervals, number: Fraction, scale: int) -> list[str]:
    result = []
    for depth in range(len(spec.fanouts) + 1):
        width = Fraction(spec.width) * math.prod(spec.fanouts[:depth])
        start = Fraction(spec.origin) + (number - Fraction(spec.origin)) // width * width
        cuts = (spec.lower, start, max), (spec.upper, start + width, min)
        edges = [edge_text(cut, edge, nearer, scale, spec.labels) for cut, edge, nearer in cuts]
        label = f"[{edges[0]}, {edges[1]})" if spec.labels == "range" else edges[0]
        if spec.lower is not None and number < Fraction(spec.lower):
            label = f"<{spec.lower:f}"
        elif spec.upper is not None and number >= Fraction(spec.upper):
            label = f">={spec.upper:f}"
        result.append(label)
    return [*result, "*"]


small = st.decimals(-300, 300, places=2, allow_nan=False)
fanouts = st.lists(st.integers(2, 7), max_size=3).map(tuple)
intervals = st.builds(
    Intervals,
    width=st.decimals("0.01", 40, places=2),
    fanouts=fanouts,
    origin=small,
    lower=st.none() | st.decimals(-300, -1, places=3),
    upper=st.none() | st.decimals(1, 300, places=3),
    labels=st.sampled_from(["range", "start"]),
)


def places(*numbers: Decimal) -> int:
    return max(0, *(-int(number.normalize().as_tuple().exponent) for number in numbers))


@quick
@given(intervals, st.lists(st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-400, 400), min_size=1))
def test_intervals_of_integers_equal_plain_python(spec: Intervals, values: list[int | None]) -> None:
    rows = build(spec, "BIGINT", values)
    scale = places(spec.width, spec.origin)
    for value, row in zip(values, rows, strict=True):
        assert list(row[1:]) == (
            [None] * (len(spec.fanouts) + 2) if value is None else interval(spec, Fraction(value), scale)
        )
    assert_tree(rows)


ends = st.integers(0, 90).flatmap(lambda far: st.sampled_from([-(2**63) + far, 2**63 - 1 - far, far, -far]))
whole = st.integers(-300, 300).map(Decimal)
far_bounds = st.none() | whole | st.sampled_from([Decimal(2**62), Decimal(-(2**62)) + Decimal("0.5")])
whole_intervals = st.builds(
    Intervals,
    width=st.sampled_from([1, 2, 3, 7, 10, 64, 2**31]).map(Decimal),
    fanouts=st.sampled_from([(), (2,), (2, 1), (1, 1)]),
    origin=whole | st.sampled_from([Decimal(2**32), Decimal(-(2**32))]),
    lower=far_bounds,
    upper=far_bounds,
    labels=st.sampled_from(["range", "start"]),
)


@quick
@given(whole_intervals, st.lists(ends | st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_intervals_of_whole_numbers_keep_to_64_bits(spec: Intervals, values: list[int | None]) -> None:
    """At the ends of the type too, where an interval reaches beyond it."""
    expressions = levels(spec, exp.column("a"), "BIGINT", longest=1)
    numbers = [int(found.name) for item in expressions for found in item.find_all(exp.Literal) if not found.is_string]
    assert max(numbers) < 2**63
    assert not [found for item in expressions for found in item.find_all(exp.DataType) if found.is_type("INT128")]
    rows = build(spec, "BIGINT", values)
    for value, row in zip(values, rows, strict=True):
        assert list(row[1:]) == (
            [None] * (len(spec.fanouts) + 2) if value is None else interval(spec, Fraction(value), 0)
        )


@quick
@given(intervals, st.lists(st.decimals(-999999, 999999, places=3), min_size=1))
def test_intervals_of_decimals_equal_plain_python(spec: Intervals, values: list[Decimal]) -> None:
    rows = build(spec, "DECIMAL(12,3)", values)
    for value, row in zip(values, rows, strict=True):
        assert list(row[1:]) == interval(spec, Fraction(value), 3)
    assert_tree(rows)


@quick
@given(intervals, st.lists(st.decimals(-400, 400, places=2), min_size=1))
def test_intervals_of_short_floats_equal_the_decimals_that_they_read_as(spec: Intervals, values: list[Decimal]) -> None:
    scale = places(spec.width, spec.origin)
    for type_name in ("DOUBLE", "FLOAT"):
        rows = build(spec, type_name, values)
        for value, row in zip(values, rows, strict=True):
            assert list(row[1:]) == interval(spec, Fraction(value), scale)
        assert_tree(rows)


@quick
@given(intervals, st.lists(st.none() | st.floats(width=64), min_size=1))
def test_intervals_of_any_floats_are_a_tree(spec: Intervals, values: list[float | None]) -> None:
    rows = build(spec, "DOUBLE", values)
    assert_tree(rows)
    for value, row in zip(values, rows, strict=True):
        if value is not None and not math.isfinite(value):
            assert set(row[1:-1]) == {row[0]} == {str(value)}
        elif value is not None and row[1].startswith("["):
            start, end = map(float, row[1][1:-1].split(", "))
            assert start <= value < end


@quick
@given(intervals, st.lists(st.integers(-(2**127), 2**127 - 1), min_size=1))
def test_intervals_of_huge_integers_are_a_tree(spec: Intervals, values: list[int]) -> None:
    assert_tree(build(spec, "HUGEINT", values))
    assert_tree(build(spec, "UHUGEINT", [value + 2**127 for value in values]))


def test_interval_labels() -> None:
    spec = Intervals(Decimal(5), (2,), lower=Decimal(0), upper=Decimal("1E+2"))
    assert build(spec, "INTEGER", [20, -1, 0, 99, 100, None]) == [
        ("20", "[20, 25)", "[20, 30)", "*"),
        ("-1", "<0", "<0", "*"),
        ("0", "[0, 5)", "[0, 10)", "*"),
        ("99", "[95, 100)", "[90, 100)", "*"),
        ("100", ">=100", ">=100", "*"),
        (None, None, None, None),
    ]
    tenth = Intervals(Decimal("0.1"), (10,))
    assert [row[1] for row in build(tenth, "DOUBLE", [0.3, 0.7, -0.3, -0.05, "nan", "-inf", 1e300])] == [
        "[0.3, 0.4)", "[0.7, 0.8)", "[-0.3, -0.2)", "[-0.1, 0.0)", "nan", "-inf", "far",
    ]  # fmt: skip
    start = Intervals(Decimal("0.25"), labels="start")
    assert [row[1] for row in build(start, "DECIMAL(38,2)", ["-0.01", "0.25", "9" * 36 + ".99"])] == [
        "-0.25", "0.25", "far",
    ]  # fmt: skip


def test_a_bound_finer_than_the_values_is_not_rounded() -> None:
    spec = Intervals(Decimal(1), lower=Decimal("1E-12"))
    assert [row[1] for row in build(spec, "INTEGER", [0, 1])] == ["<0.000000000001", "[1, 2)"]


@pytest.mark.parametrize(
    ("type_name", "values"),
    [
        ("DOUBLE", ["-2", "-1", "0.3", "0.5", "19.99", "20", "50", "1e300", "nan", "inf", None]),
        ("FLOAT", ["0.5", "0.7", "0.25", "50"]),
        ("INTEGER", [-2, -1, 0, 1, 19, 20, 49, 50, None]),
        ("BIGINT", [-(2**63), 0, 2**63 - 1]),
        ("HUGEINT", [-(2**70), 0, 1, 50]),
        ("UBIGINT", [0, 1, 2**64 - 1]),
        ("DECIMAL(10,2)", ["-1.01", "0.49", "0.5", "49.99", "50"]),
    ],
)
def test_intervals_between_edges_equal_plain_python(type_name: str, values: list[Any]) -> None:
    """Also of a type whose values are whole, between edges that are not."""
    chain = [["-1", "0.5", "0.7", "20", "50"], ["0.5", "50"], ["50"]]
    rows = build(Intervals(edges=chain), type_name, values)
    for value, row in zip(values, rows, strict=True):
        expected = [None if value is None else _between(value, list(map(Decimal, edges))) for edges in chain]
        assert list(row[1:]) == [*expected, None if value is None else "*"]
    assert_tree(rows, first=0)


def _between(value: Any, edges: list[Decimal]) -> str:
    if not Decimal(value).is_finite():
        return str(value)
    place = sum(Decimal(value) >= edge for edge in edges)
    if place in (0, len(edges)):
        return f"<{edges[0]}" if place == 0 else f">={edges[-1]}"
    return f"[{edges[place - 1]}, {edges[place]})"


@pytest.mark.parametrize(
    ("edges", "words"),
    [([[1, 0]], "do not grow"), ([[1], [2]], "among those"), ([[1, 2], [1, 2]], "among those"), ([], "no lists"),
     ([[]], "no lists"), ([1, 2], "no lists"), ([["a"]], "no lists"), ([[float("nan")]], "no lists")],
)  # fmt: skip
def test_edges_grow_and_nest(edges: Any, words: str) -> None:
    [(option, message, hint)] = Intervals(edges=edges).faults()
    assert (option, bool(hint)) == ("edges", True) and words in message
    assert [option for option, _, _ in Intervals(edges=[[1]], width=5).faults()] == ["edges"]


@pytest.mark.parametrize("type_name", ["DATE", "BOOLEAN", "TIMESTAMP", "INTEGER[]", "BLOB"])
def test_intervals_need_numbers(type_name: str) -> None:
    with pytest.raises(UnsupportedError, match="intervals cannot serve") as caught:
        levels(Intervals(Decimal(5)), exp.column("a"), type_name, longest=1)
    assert "cast the column" in caught.value.hint


@pytest.mark.parametrize(
    "spec",
    [
        Intervals(Decimal("1E+99")),
        Intervals(Decimal("1E-99")),
        Intervals(Decimal(1), (10,) * 38),
        Intervals(Decimal(1), origin=Decimal("1E+20")),
        Intervals(Decimal(1), upper=Decimal("1E+999999999")),
    ],
)
def test_numbers_too_long_to_be_exact_are_refused(spec: Intervals) -> None:
    with pytest.raises(HierarchyError, match="so many digits"):
        levels(spec, exp.column("a"), "DOUBLE", longest=1)


HOSTILE = st.text(alphabet="ab*é日😀'\"\\; \n", max_size=6)


@quick
@given(
    st.lists(st.none() | HOSTILE, min_size=1, max_size=12),
    st.sampled_from(["left", "right"]),
    st.sampled_from(["*", "a", "'", "\\", "é", "😀"]),
    st.none() | st.integers(1, 8),
    st.none() | st.integers(1, 8),
)
def test_redact_equals_plain_python_and_is_a_tree(
    values: list[str | None], direction: str, char: str, steps: int | None, width: int | None
) -> None:
    longest = max([1, *(len(value) for value in values if value is not None)])
    rows = build(Redact(direction, char, steps, width), "VARCHAR", values, longest)
    longest = width or longest
    count = min(steps or longest, longest)
    for value, row in zip(values, rows, strict=True):
        expected: list[str | None] = []
        for level in range(1, count + 1):
            kept = longest - level
            if value is None:
                expected.append(None)
            elif direction == "right":
                expected.append(value[:kept].ljust(longest, char))
            else:
                expected.append(value[max(0, len(value) - kept) :].rjust(longest, char))
        if count < longest:
            expected.append(None if value is None else "*")
        assert list(row[1:]) == expected
    assert_tree(rows, first=0)


def test_redact_ends_in_one_root() -> None:
    assert build(Redact(), "VARCHAR", ["a*", "ab"], 2) == [("a*", "a*", "**"), ("ab", "a*", "**")]
    assert build(Redact(steps=1), "VARCHAR", ["ab", ""], 2) == [("ab", "a*", "*"), ("", "**", "*")]


def period(name: str, day: datetime.date) -> str:
    iso = day.isocalendar()
    return {
        "day": day.isoformat(),
        "week": f"{iso.year:04}-W{iso.week:02}",
        "week_year": f"{iso.year:04}-W",
        "month": f"{day.year:04}-{day.month:02}",
        "quarter": f"{day.year:04}-Q{(day.month + 2) // 3}",
        "half_year": f"{day.year:04}-H{1 if day.month < 7 else 2}",
        "year": f"{day.year:04}",
        "five_years": f"{day.year // 5 * 5}-{day.year // 5 * 5 + 4}",
        "decade": f"{day.year // 10 * 10}s",
        "twenty_years": f"{day.year // 20 * 20}-{day.year // 20 * 20 + 19}",
    }[name]


CHAINS = [("day", "month", "quarter", "year", "decade"), ("day", "week"), ("week",), ("month", "decade"), ("year",), ()]
CHAINS += [("day", "week", "week_year"), ("week_year",), ("month", "half_year", "five_years", "twenty_years")]
CHAINS += [("half_year", "year", "five_years", "decade", "twenty_years")]


@quick
@given(st.sampled_from(CHAINS), st.lists(st.none() | st.dates(datetime.date(1, 1, 8)), min_size=1))
def test_dates_equal_plain_python_and_are_a_tree(chain: tuple[str, ...], values: list[datetime.date | None]) -> None:
    for type_name in ("DATE", "TIMESTAMP", "TIMESTAMP_S"):
        rows = build(Dates(chain), type_name, values)
        shown = [name for name in chain if (name, type_name) != ("day", "DATE")]
        for value, row in zip(values, rows, strict=True):
            texts = [None if value is None else period(name, value) for name in shown]
            assert list(row[1:]) == [*texts, None if value is None else "*"]
        assert_tree(rows, first=0)


def test_dates_of_moments_infinity_and_before_christ() -> None:
    spec = Dates(("day", "month", "quarter", "year", "decade"))
    rows = build(spec, "TIMESTAMP", ["1999-12-31 23:59:59.999999", "infinity", "-infinity", "0044-03-15 (BC)", None])
    assert rows[0][1:] == ("1999-12-31", "1999-12", "1999-Q4", "1999", "1990s", "*")
    assert rows[1][1:] == ("infinity",) * 5 + ("*",)
    assert rows[2][1:] == ("-infinity",) * 5 + ("*",)
    assert rows[3][4:] == ("-43", "-50s", "*")
    assert rows[4][1:] == (None,) * 6
    assert_tree(rows)
    weeks = build(Dates(("week", "week_year")), "DATE", ["2024-12-30", "2021-01-01", "infinity"])
    assert [row[1] for row in weeks] == ["2025-W01", "2020-W53", "infinity"]
    assert [row[2] for row in weeks] == ["2025-W", "2020-W", "infinity"]
    zoned = build(Dates(("day", "year")), "TIMESTAMP WITH TIME ZONE", ["2024-06-15 12:00:00+00", None])
    assert zoned[0][1:] == ("2024-06-15", "2024", "*")


@pytest.mark.parametrize("type_name", ["VARCHAR", "INTEGER", "TIME", "INTERVAL"])
def test_dates_need_dates(type_name: str) -> None:
    with pytest.raises(UnsupportedError, match="dates cannot serve") as caught:
        levels(Dates(), exp.column("a"), type_name, longest=1)
    assert "cast the column" in caught.value.hint


def test_suppress_is_one_root() -> None:
    assert build(Suppress(), "VARCHAR", ["*", "", "x", None]) == [
        ("*", "*"),
        ("", "*"),
        ("x", "*"),
        (None, None),
    ]


@pytest.mark.parametrize(
    "spec, type_name",
    [
        (Redact(char="'"), "VARCHAR"),
        (Intervals(Decimal("0.1"), (2, 5), lower=Decimal(-1), upper=Decimal(1)), "DOUBLE"),
        (Intervals(Decimal("0.1"), (2, 5)), "DECIMAL(10,2)"),
        (Dates(), "DATE"),
        (Suppress(), "VARCHAR"),
    ],
)
def test_building_is_pure(spec: HierarchySpec, type_name: str) -> None:
    column = exp.column("a", quoted=True)
    first = [item.sql(dialect="duckdb") for item in levels(spec, column, type_name, longest=3)]
    assert [item.sql(dialect="duckdb") for item in levels(spec, column, type_name, longest=3)] == first
    assert column.sql() == '"a"' and column.parent is None
