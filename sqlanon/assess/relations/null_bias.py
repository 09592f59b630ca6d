"""What the basic match does to the data: it excludes the records with a NULL in a quasi-identifier, seldom at random.

Every column is compared between all N records and the M kept ones, with n and m the records of a value, in the
database and as counts. Two facts help to read the figures. The kept records are a part of all, so that no distance
between the two exceeds the share excluded of the records compared, (N - M) / N. And an exclusion at random changes
distributions too; what it would change is shown beside each figure (``…_by_chance``), so that bias can be distinguished
from chance.

- total variation distance: ½ Σ |n/N - m/M|. By chance at most, on average, ½ Σ √(Var m) / M with
  Var m = M n/N (1 - n/N) (N - M)/(N - 1), because m is hypergeometric and E|x| ≤ √E x².
- chi-square of "kept" against the column: Σ (n M - m N)² / (n M (N - M)), with (values - 1) degrees of freedom; its
  average by chance is exactly N / (N - 1) times these. Cramér's V is √(χ² / N), since "kept" has two values;
  by chance about √(degrees / (N - 1)).
- p-value: the chi-square distribution's tail, given only if at most a fifth of the values are sparse (fewer than 5
  records expected among the kept or the excluded ones: Cochran's rule).
- Kolmogorov-Smirnov distance: max |F(x) - F_kept(x)|. By chance it stays below 1.358 √((N - M) / (N M)) in 95 % of
  the cases, or more with ties: the asymptotic two-sample quantile of kept and excluded records, times (N - M) / N.
- standardized mean difference: (mean kept - mean) / standard deviation. Its standard error by chance is
  √((N - M) / (M (N - 1))).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlglot import exp

from sqlanon.assess.relations.nulls import columns_of, nothing_to_audit, printable
from sqlanon.core.engines.base import Engine
from sqlanon.core.facts import Facts
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.data_types import NUMBERS

ORDERED = {
    *NUMBERS,
    *("DATE", "TIME", "TIME_NS", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
    *("TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS WITH TIME ZONE"),
}
COMPARED = ORDERED | {"VARCHAR", "JSON", "BOOLEAN", "UUID", "ENUM", "INTERVAL", "TIME WITH TIME ZONE"}
LEGEND = (
    "NULLs of a column are left out of its row. distance: total variation; V: Cramér's V of kept and the column;",
    "p: of its chi-square test; order: Kolmogorov-Smirnov distance; mean: standardized difference; vanished: values.",
    "By chance, if as many records were excluded at random: the distance at most, on average; V about; the order",
    "distance in 95 % of the cases; one standard error of the difference of means.",
)
LEAST_FOR_MEANS = 10
"""With fewer kept, or fewer excluded numbers, a mean or the difference of two reveals a value."""


@dataclass(frozen=True, slots=True)
class Shift:
    """How the distribution of a column changes from all records to the kept ones; the formulas are the module's.

    None stands for what is not defined: nothing is kept, nothing is excluded, or the p-value has no ground.

    Attributes:
        records: those compared, and ``kept`` of them.
        largest_share_change: the greatest |n/N - m/M| of a single value.
        sparse_values: values with fewer than 5 records expected among the kept or the excluded ones.
    """

    records: int
    kept: int
    total_variation: float | None
    total_variation_by_chance: float | None
    largest_share_change: float | None
    chi_square: float | None
    degrees_of_freedom: int
    cramers_v: float | None
    cramers_v_by_chance: float | None
    p_value: float | None
    sparse_values: int


@dataclass(frozen=True, slots=True)
class Moments:
    """Means and standard deviations (divided by the number of records) of finite numbers.

    All but the standardized difference are None where they would reveal a value: with fewer than 10 kept or excluded
    numbers, or when all, the kept or the excluded ones are equal.
    """

    mean: float | None
    kept_mean: float | None
    deviation: float | None
    kept_deviation: float | None
    standardized_difference: float | None
    standardized_difference_by_chance: float | None


@dataclass(frozen=True, slots=True)
class ColumnBias:
    """What the basic match does to one column; never a value of it, except means of many.

    Attributes:
        not_compared: why not; all that follows is empty then.
        shift: with NULL as a value of its own. In a quasi-identifier its largest part is that the NULLs are gone.
        shift_without_null: among the records where the column is not NULL. None when it always is.
        values, kept_values: distinct values, NULL not counted; the difference has vanished altogether.
        nulls, kept_nulls: records with NULL.
        order_distance: Kolmogorov-Smirnov; for ordered types.
    """

    column: str
    type: str
    not_compared: str | None
    shift: Shift | None
    shift_without_null: Shift | None
    values: int
    kept_values: int
    nulls: int
    kept_nulls: int
    order_distance: float | None
    order_distance_by_chance: float | None
    moments: Moments | None


@dataclass(frozen=True, slots=True)
class NullBias(Facts):
    """The bias report of the basic match; for the operator, because its counts are exact."""

    records: int
    kept: int
    excluded: int
    share_excluded: float
    columns: tuple[ColumnBias, ...]

    def lines(self) -> list[str]:
        """Return the report as text, a row per column, without its NULLs."""
        lines = [
            f"Basic match keeps {self.kept:,} of {self.records:,} records and excludes {self.excluded:,} "
            f"({self.share_excluded:.1%}).",
        ]
        width = max((len(printable(column.column)) for column in self.columns), default=0)
        heads = ("distance", "by chance", "V", "by chance", "p", "order", "by chance", "mean", "by chance", "vanished")
        lines.append(f"  {'':<{width}}" + "".join(f"{head:>11}" for head in heads))
        for column in self.columns:
            name = f"  {printable(column.column):<{width}}"
            if column.not_compared is not None:
                lines.append(f"{name}  not compared: {column.not_compared}")
                continue
            shift, moments = column.shift_without_null, column.moments
            figures = [
                shift and shift.total_variation,
                shift and shift.total_variation_by_chance,
                shift and shift.cramers_v,
                shift and shift.cramers_v_by_chance,
                shift and shift.p_value,
                column.order_distance,
                column.order_distance_by_chance,
                moments and moments.standardized_difference,
                moments and moments.standardized_difference_by_chance,
            ]
            cells = ["-" if figure is None else f"{figure:.4f}" for figure in figures]
            lines.append(name + "".join(f"{cell:>11}" for cell in [*cells, f"{column.values - column.kept_values:,}"]))
        return lines + [f"  {line}" for line in LEGEND]


def null_bias(
    engine: Engine,
    relation: exp.Expr,
    quasi_identifiers: Sequence[str],
    *,
    columns: Sequence[str] | None = None,
) -> NullBias:
    """Compare every column of ``relation``, or ``columns``, between all records and those without a NULL.

    Raises:
        InputError: the relation is empty.
        SourceError: the relation has no such column.
        UnsupportedError: a quasi-identifier, or one of ``columns``, has our prefix.
    """
    quasi = columns_of(engine, relation, quasi_identifiers)
    types = dict(engine.catalog.columns(relation))
    wanted = list(types) if columns is None else columns_of(engine, relation, columns)
    among = {"release": relation}
    counting = bind("audit/null_bias_records.sql", relations=among, columns={"quasi_identifier": quasi})
    [(records, kept)] = engine.run("null bias records", counting)
    if not records:
        raise nothing_to_audit()
    return NullBias(
        records=records,
        kept=kept,
        excluded=records - kept,
        share_excluded=_figure((records - kept) / records) or 0.0,
        columns=tuple(_column_bias(engine, relation, quasi, name, types[name]) for name in wanted),
    )


def _column_bias(engine: Engine, relation: exp.Expr, quasi: Sequence[str], name: str, type_name: str) -> ColumnBias:
    kind = _kind(type_name)
    reason = None if kind in COMPARED else f"values of the type {kind} are not grouped here"
    if name.casefold().startswith(names.PREFIX):
        reason = "its name has the prefix that sqlanon keeps for itself"
    if reason is not None:
        return ColumnBias(name, kind, reason, None, None, 0, 0, 0, 0, None, None, None)

    def ask(statement: str, file: str) -> list[tuple[Any, ...]]:
        bound = bind(
            f"audit/{file}.sql",
            relations={"release": relation},
            columns={"quasi_identifier": quasi, "audited_column": [name]},
        )
        return engine.run(statement, bound)

    found = {row[0]: _Compared(*row[1:]) for row in ask("null bias", "null_bias")}
    everything = found[1]
    present = found.get(0, _Compared(*[0] * len(everything)))
    distance, by_chance = None, None
    if kind in ORDERED and present.records:
        distance, by_chance = _order(*ask("null bias order", "null_bias_order")[0])
    numbers = ask("null bias numbers", "null_bias_numbers") if kind in NUMBERS and present.records else []
    return ColumnBias(
        column=name,
        type=kind,
        not_compared=None,
        shift=_shift(everything),
        shift_without_null=_shift(present) if present.records else None,
        values=present.values,
        kept_values=present.kept_values,
        nulls=everything.records - present.records,
        kept_nulls=everything.kept - present.kept,
        order_distance=distance,
        order_distance_by_chance=by_chance,
        moments=_moments(*numbers[0]) if numbers else None,
    )


class _Compared(NamedTuple):
    """A row of ``sql/audit/null_bias.sql``, as its file describes it."""

    records: int
    kept: int
    values: int
    kept_values: int
    difference: int
    largest: int
    squares: float
    spread: float
    sparse: int


def _shift(row: _Compared) -> Shift:
    """Return the figures of one row of ``sql/audit/null_bias.sql``."""
    records, kept, values, _, difference, largest, squares, spread, sparse = row
    excluded, degrees = records - kept, values - 1
    if not kept:
        return Shift(records, kept, None, None, None, None, degrees, None, None, None, sparse)
    variation, change = difference / (2 * records * kept), largest / (records * kept)
    if not excluded:
        return Shift(records, kept, variation, 0.0, change, None, degrees, None, None, None, sparse)
    expected = spread / (2 * records) * math.sqrt(excluded / ((records - 1) * kept))
    chi_square = squares / (kept * excluded)
    grounded = degrees > 0 and 5 * sparse <= values
    return Shift(
        records=records,
        kept=kept,
        total_variation=_figure(variation),
        total_variation_by_chance=_figure(min(expected, excluded / records)),
        largest_share_change=_figure(change),
        chi_square=_figure(chi_square),
        degrees_of_freedom=degrees,
        cramers_v=_figure(math.sqrt(chi_square / records)) if degrees else None,
        cramers_v_by_chance=_figure(math.sqrt(degrees / (records - 1))) if degrees else None,
        p_value=_figure(chi_square_tail(chi_square, degrees)) if grounded else None,
        sparse_values=sparse,
    )


def _order(distance: int, records: int, kept: int) -> tuple[float | None, float | None]:
    """Return the Kolmogorov-Smirnov distance, and its 95 % point by chance."""
    if not kept:
        return None, None
    return _figure(distance / (records * kept)), _figure(1.358 * math.sqrt((records - kept) / (records * kept)))


def _moments(
    records: int,
    kept: int,
    varied: int,
    mean: float,
    kept_mean: float | None,
    deviation: float,
    kept_deviation: float | None,
) -> Moments:
    """Return the figures of one row of ``sql/audit/null_bias_numbers.sql``."""
    excluded = records - kept
    standardized = by_chance = None
    if kept_mean is not None and deviation > 0:
        standardized = _figure((kept_mean - mean) / deviation)
        by_chance = _figure(math.sqrt(excluded / (kept * (records - 1))))
    if kept < LEAST_FOR_MEANS or 0 < excluded < LEAST_FOR_MEANS or varied < (3 if excluded else 2):
        return Moments(None, None, None, None, standardized, by_chance)
    assert kept_mean is not None and kept_deviation is not None
    return Moments(
        _figure(mean), _figure(kept_mean), _figure(deviation), _figure(kept_deviation), standardized, by_chance
    )


def _kind(type_name: str) -> str:
    """Return the type without its parameters: those of an ENUM are values."""
    if type_name.endswith("]"):
        return "LIST"
    head, _, rest = type_name.partition("(")
    return (head + rest.rpartition(")")[2]).strip().upper()


def _figure(value: float) -> float | None:
    """Return a float to 12 digits, because the order in which the database adds varies; None when it is not finite."""
    return float(f"{value:.12g}") if math.isfinite(value) else None


def chi_square_tail(statistic: float, degrees: int) -> float:
    """Return the probability that a chi-square variable exceeds ``statistic``: Q(degrees / 2, statistic / 2).

    The regularized incomplete gamma function by its series below the mean, by its continued fraction (Lentz) above
    (Press et al., Numerical Recipes, section 6.2); relative error about 1e-10.
    """
    a, x = degrees / 2, statistic / 2
    if x <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = summed = 1 / a
        n = a
        while term > summed * 1e-15:
            n += 1
            term *= x / n
            summed += term
        return max(1 - scale * summed, 0.0)
    b = x + 1 - a
    c, d = 1e300, 1 / b
    fraction = d
    for i in range(1, 1_000_000):
        b += 2
        step = -i * (i - a)
        d = 1 / _off_zero(step * d + b)
        c = _off_zero(b + step / c)
        fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return min(scale * fraction, 1.0)


def _off_zero(value: float) -> float:
    return value if abs(value) > 1e-300 else 1e-300
