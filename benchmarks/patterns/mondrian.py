"""Mondrian (LeFevre, DeWitt, Ramakrishnan 2006), with which the paper on patterns compares its heuristic (section 3.5).

It belongs to the benchmarks: it publishes ranges that overlap in no pattern and no lattice, so that nothing of the
package could audit or release them. It is there to be compared with.

A region is a box: a range for each column, at first the range of the column's values. A cut of a column divides the
records of a region at their lower median, values up to the median to the left; it is allowed when both sides hold k
records. All records of a value go to one side (*strict* partitioning). A region is cut in the allowed column whose
range is the widest as a share of the column's first range, the first of them on ties; the left side takes the range up
to the median, the right side the range from it. The range is that of the box, not of the records in it. A region
without an allowed cut is an output row type.

The paper ran the UTD Anonymization Toolbox, whose rules these are. The toolbox needs numbers for categories, and where
the median falls depends on them: with the places in which values first appear in the file, Tables 3 and 4 come out to
the last digit.

All regions of a depth are cut at once, over distinct records: one sort a column and a depth.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def mondrian(values: Numbers, counts: Numbers, k: int) -> Numbers:
    """The output row type, from 0, of each distinct record.

    Args:
        values: one row a distinct record, one column an attribute.
        counts: records a distinct record.
        k: least number of records of an output row type.

    >>> mondrian(np.array([[1], [2], [3], [4]]), np.array([1, 1, 1, 1]), 2)
    array([0, 0, 1, 1])
    """
    row_types = np.zeros(len(values), np.int64)
    done = 0
    rows = np.arange(len(values))
    region = np.zeros(len(values), np.int64)
    low, high = values.min(axis=0)[None, :], values.max(axis=0)[None, :]
    first_range = np.maximum(high - low, 1)
    while len(rows):
        medians, allowed = _cuts(values[rows], counts[rows], region, len(low), k)
        widths = np.where(allowed, (high - low) / first_range, 0.0)
        chosen = widths.argmax(axis=1)
        splits = allowed.any(axis=1)
        final = np.cumsum(~splits) - 1 + done
        ends = ~splits[region]
        row_types[rows[ends]] = final[region[ends]]
        done += int((~splits).sum())

        rows, region = rows[~ends], (np.cumsum(splits) - 1)[region[~ends]]
        column, median = chosen[splits], medians[splits, chosen[splits]]
        right = values[rows, column[region]] > median[region]
        region = 2 * region + right
        low, high = np.repeat(low[splits], 2, axis=0), np.repeat(high[splits], 2, axis=0)
        place = np.arange(len(column))
        high[2 * place, column] = median
        low[2 * place + 1, column] = median
    return row_types


def _cuts(
    values: Numbers, counts: Numbers, region: Numbers, regions: int, k: int
) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Per region and column: the lower median, and whether both of its sides hold k records."""
    totals = np.bincount(region, counts, regions)
    before = np.cumsum(totals) - totals
    medians = np.zeros((regions, values.shape[1]), np.int64)
    allowed = np.zeros(medians.shape, np.bool_)
    for column in range(values.shape[1]):
        order = np.lexsort((values[:, column], region))
        running = np.cumsum(counts[order])
        median = values[order, column][np.searchsorted(running, before + totals / 2)]
        left = np.bincount(region, np.where(values[:, column] <= median[region], counts, 0), regions)
        medians[:, column] = median
        allowed[:, column] = (left >= k) & (totals - left >= k)
    return medians, allowed
