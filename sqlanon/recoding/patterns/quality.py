"""The quality of a pattern-guided solution: suppressions, usefulness and row types of the output (the paper, 3.3)."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from sqlanon.core.engines.base import Engine
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.recoding.compiler import pattern_quality as compiler


@dataclass(frozen=True, slots=True)
class PatternQuality:
    """The quality criteria of the paper; those of section 3.3, for all records that take part.

    Attributes:
        suppressions: s, suppressed cells.
        usefulness: u, the mean over the output row types of the sum over the columns of the diversity of their original
            values (Definitions 3 to 5): from 0 to the number of columns, less is better.
        row_types: #h, row types of the output; fully suppressed records are one.
        average: h_avg, the mean number of records of a row type.
        largest: h_max, the records of the largest.
    """

    suppressions: int
    usefulness: float
    row_types: int
    average: float
    largest: int


def quality(engine: Engine, catalog: Catalog, *, numeric: Collection[str] = ()) -> PatternQuality:
    """Measure the solution in the tables ``names.ASSIGNED`` and ``names.PATTERNS``.

    A row type of the input may stand in ``names.ASSIGNED`` several times, with parts of its records. The diversity of
    a column with names is the share of its values that occur in a row type; that of one with numbers (``numeric``)
    the share of its range. The paper does not say which columns it takes for numbers. Its figures come out with age and
    the other numbers of ADULT in Table 1, age in Tables 2 and 8, age and the number of children in Table 7, and no
    column in Tables 3, 4 and 6.

    Args:
        numeric: the columns whose values are numbers. One that holds NaN or an infinite number has no range: its values
            count as names.
    """
    row_types, records, largest, cells = engine.run("row type sizes", compiler.row_type_sizes(catalog))[0]
    if not row_types:
        return PatternQuality(0, 0.0, 0, 0.0, 0)
    spreads = {
        position: engine.run("spreads", compiler.spreads(catalog, position))
        for position, attribute in enumerate(catalog.attributes)
        if attribute.name in numeric
    }
    spans = {position: rows for position, rows in spreads.items() if all(math.isfinite(row[0] or 0) for row in rows)}
    named = [position for position in range(len(catalog.attributes)) if position not in spans]
    summed = Fraction()
    if named:
        for _, diversity, domain in engine.run("diversities", compiler.diversities(catalog, named)):
            summed += Fraction(diversity, domain)
    usefulness = (float(summed) + math.fsum(map(_range_share, spans.values()))) / row_types
    return PatternQuality(cells, usefulness, row_types, records / row_types, largest)


def _range_share(rows: list[tuple[float | None, int | None]]) -> float:
    """Return the sum over the row types of the share of the range that they span."""
    whole = next((width for width, types in rows if types is None), None)
    if not whole:
        return 0.0
    return math.fsum(width * types for width, types in rows if width is not None and types is not None) / whole
