"""The error of random COUNT queries over the quasi-identifiers, answered from the release.

A query asks how many records hold, of each of its columns, one of some values. Its columns, how many of their values it
takes and which follow Xiao and Tao (Anatomy: simple and effective privacy preservation, VLDB 2006, section 6); queries
as a measure of a generalized release are LeFevre, DeWitt and Ramakrishnan's (Workload-aware anonymization, KDD 2006).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlanon.assess.utility.facts import QueryError, QueryErrors
from sqlanon.assess.utility.released import Flags, Margin, QuasiValues, Real, ReleasedTypes

ESTIMATES = ("contained", "overlapping", "uniform")
MOST_COLUMNS = 3
"""A query asks of at most so many columns."""
SELECTIVITY = (0.01, 0.10)
"""Of a query: its columns take shares of their values whose product is drawn from here."""
MOST_SETS, MOST_SETS_OF_ENGINE = 60, 12
"""The queries are spread over at most so many sets of columns; over fewer where each is grouped by the engine."""
WORK = 1_000_000_000
"""At most so many combinations are looked at, over all queries."""
BOUND_SHARE, BOUND_RECORDS = 0.001, 10
"""The sanity bound: this share of the records, at least so many."""


@dataclass(frozen=True, slots=True)
class CountQuery:
    """A query: per column, by its position among the quasi-identifiers, which of its values it takes."""

    wanted: dict[int, Flags]


def query_errors(types: ReleasedTypes, *, queries: int, seed: int) -> QueryErrors | None:
    """Return the errors of random COUNT queries; None where no quasi-identifier has two values, or none is asked."""
    columns = [i for i, values in enumerate(types.values) if values.occurs.sum() > 1]
    if not columns or not queries:
        return None
    sets = column_sets(columns, MOST_SETS if types.held else MOST_SETS_OF_ENGINE, seed)
    asked: dict[tuple[int, ...], list[int]] = {}
    for number in range(queries):
        asked.setdefault(sets[number % len(sets)], []).append(number)
    bound = max(BOUND_RECORDS, BOUND_SHARE * types.catalog.population)
    errors = []
    for positions, numbers in asked.items():
        margin = types.margin(positions)
        most = max(1, WORK // (len(asked) * max(len(margin.n), 1)))
        for number in numbers[:most]:
            query = draw(types.values, positions, seed, number)
            truth, estimates = answer(types.values, positions, margin, query)
            errors.append(np.abs(estimates - truth) / max(truth, bound))
    found = np.array(errors)
    return QueryErrors(
        queries=len(found),
        seed=seed,
        sanity_bound=bound,
        columns=tuple(types.values[i].attribute.name for i in columns),
        errors=tuple(
            QueryError(name, float(np.median(of)), float(np.percentile(of, 95)), float(of.mean()))
            for name, of in zip(ESTIMATES, found.T, strict=True)
        ),
    )


def column_sets(columns: list[int], most: int, seed: int) -> list[tuple[int, ...]]:
    """Return random sets of one to ``MOST_COLUMNS`` columns, ``most`` of them, some perhaps equal."""
    chance = np.random.default_rng(seed)
    sets = []
    for _ in range(most):
        size = int(chance.integers(1, min(MOST_COLUMNS, len(columns)) + 1))
        sets.append(tuple(sorted(chance.choice(columns, size, replace=False).tolist())))
    return sets


def draw(values: tuple[QuasiValues, ...], positions: tuple[int, ...], seed: int, number: int) -> CountQuery:
    """Draw the query of a number, which depends on nothing but the seed and what values there are."""
    chance = np.random.default_rng([seed, number])
    selectivity = chance.uniform(*SELECTIVITY)
    wanted = {}
    for position in positions:
        of_column = values[position]
        occurring = of_column.occurs.nonzero()[0]
        if of_column.ordered:
            occurring = occurring[np.isfinite(of_column.places[occurring])]
        taken = min(len(occurring), max(1, int(np.ceil(len(occurring) * selectivity ** (1 / len(positions))))))
        if of_column.ordered:
            first = int(chance.integers(0, len(occurring) - taken + 1))
            chosen = occurring[first : first + taken]
        else:
            chosen = chance.choice(occurring, taken, replace=False)
        marks = np.zeros(len(of_column.places), bool)
        marks[chosen] = True
        wanted[position] = marks
    return CountQuery(wanted)


def answer(
    values: tuple[QuasiValues, ...], positions: tuple[int, ...], margin: Margin, query: CountQuery
) -> tuple[float, Real]:
    """Return how many records meet a query, and the estimates of ``ESTIMATES`` from the release."""
    meets: Real = margin.n.astype(np.float64)
    shares = [meets] * len(ESTIMATES)
    for place, position in enumerate(positions):
        of_column, marks = values[position], query.wanted[position]
        tables = np.zeros((len(ESTIMATES), of_column.attribute.height + 1, len(marks)))
        for level in of_column.levels:
            covering = of_column.covering(level)
            covered, sizes = covering.covered(marks), covering.sizes
            of_cell = ((covered == sizes) & (sizes > 0), covered > 0, covered / np.maximum(sizes, 1))
            for kind, share in enumerate(of_cell):
                tables[kind, level + 1] = share[covering.cell]
        at = margin.levels[place] + 1, margin.values[place]
        meets = meets * marks[margin.values[place]]
        shares = [share * table[at] for share, table in zip(shares, tables, strict=True)]
    return float(meets.sum()), np.array([share.sum() for share in shares])
