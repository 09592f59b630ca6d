"""The audit of tables of counts as they were written: what a reader could compute from them.

It shares nothing with what suppresses: it reads the rows, finds for each cell what it consists of, and asks HiGHS for
the least and the greatest value of unsafe cells among all non-negative tables that agree with what is published.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from sqlanon.core.highs import highs_module
from sqlanon.counts.counting import Counted
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.grid import Grid
from sqlanon.counts.keys import CountsFacts
from sqlanon.counts.released import WrittenColumns, columns_of
from sqlanon.errors import AuditError

Place = tuple[int, ...]
"""A cell, by the number of its category in each dimension."""
Parts = dict[Place, list[tuple[list[Place], bool]]]
"""Of each cell, the cells that it consists of, set by set, with whether it is their sum."""
Witness = tuple[Any, Any]
"""Cells by their numbers, and what a table has there beyond the truth: two arrays."""
Overlap = tuple[tuple[Place, list[Place]], tuple[Place, list[Place]]]
"""A cell with its parts, and one around it with its own."""


class CellAudit:
    """Judges one released table, or several, by the published numbers.

    Args:
        shown: of each cell that a table shows, what is published; None is a suppressed one.
        overlaps: of which cells the first parts exceed their whole by no more than the second exceed theirs.
        ranges: of cells whose published value is rounded, what it stands for; they count as unpublished.
    """

    def __init__(
        self,
        parts: Parts,
        shown: Mapping[Place, float | None],
        overlaps: Sequence[Overlap] = (),
        ranges: Mapping[Place, tuple[float, float]] = {},
    ) -> None:
        self._known: tuple[dict[Place, float], dict[Place, float]] = ({}, {})
        self._parts, self._shown, self._overlaps, self._ranges = parts, shown, overlaps, ranges
        self._number: dict[Place, int] = {}
        for cell in [*shown, *parts, *(c for own in parts.values() for group, _ in own for c in group)]:
            self._number.setdefault(cell, len(self._number))
        self._solver: Any = None

    def faults(
        self, threshold: int, demands: Mapping[Place, tuple[float, float]], *, near: float = 1e-4
    ) -> dict[str, int]:
        """Return what is wrong with the tables, by kind, with how many cells it concerns.

        Args:
            threshold: no published count is between 1 and below it; 0 for sums.
            demands: of each unsafe cell, the value that must remain possible below and above.
        """
        exact = {cell: value for cell, value in self._shown.items() if value is not None and cell not in self._ranges}
        small = sum(0 < value < threshold for value in exact.values())
        broken = 0
        for parent, groups in self._parts.items():
            for children, is_sum in groups:
                broken += self._is_broken(parent, children, is_sum, near)
        open_cells = sum(cell in exact for cell in demands)
        found = {"small counts": small, "relations": broken, "unsafe cells published": open_cells}
        if demands and not any(found.values()):
            narrow = 0
            for cell, (low, high) in demands.items():
                if self._known[0].get(cell, high) <= low and self._known[1].get(cell, low) >= high:
                    continue
                least, most = self.interval(cell)
                slack = 1e-5 + near * (high - low)
                narrow += least > low + slack or most < high - slack
            found["unsafe cells that can be computed"] = narrow
        return {kind: count for kind, count in found.items() if count}

    def learn(
        self, truth: Mapping[Place, float], witnesses: Iterable[Mapping[Place, float]], near: float = 1e-4
    ) -> None:
        """Take from tables that are said to fit what is published how small and large cells may be; each is checked.

        Args:
            witnesses: what each table differs by from the true one; one that does not fit is left out.
        """
        told = [] if self._overlaps else [dict(each) for each in witnesses]
        changed = {cell for each in told for cell in each}
        groups = [(parent, *group) for parent, own in self._parts.items() for group in own] if told else []
        touched: dict[Place, list[tuple[int, float]]] = {cell: [] for cell in changed}
        for number, (parent, children, _) in enumerate(groups):
            for cell, factor in ((parent, -1.0), *((child, 1.0) for child in children)):
                if cell in changed:
                    touched[cell].append((number, factor))
        beyond: dict[int, float] = {}  # of each group, what the true parts sum up to beyond their whole
        least, most = self._known
        for each in told:
            if any(self._shown.get(cell) is not None or truth[cell] + by < -near for cell, by in each.items()):
                continue
            steps: dict[int, float] = {}
            for cell, by in each.items():
                for number, factor in touched[cell]:
                    steps[number] = steps.get(number, 0.0) + factor * by
            for number in steps.keys() - beyond.keys():
                parent, children, _ = groups[number]
                beyond[number] = sum(truth[child] for child in children) - truth[parent]
            if all(self._fits(groups[n], truth, each, beyond[n] + step, near) for n, step in steps.items()):
                for cell, by in each.items():
                    least[cell] = min(least.get(cell, np.inf), truth[cell] + by)
                    most[cell] = max(most.get(cell, -np.inf), truth[cell] + by)

    @staticmethod
    def _fits(
        group: tuple[Place, list[Place], bool],
        truth: Mapping[Place, float],
        changes: Mapping[Place, float],
        beyond: float,
        near: float,
    ) -> bool:
        parent, children, is_sum = group
        whole = truth[parent] + changes.get(parent, 0.0)
        slack = near * max(1.0, abs(whole))
        if is_sum:
            return abs(beyond) <= slack
        return beyond >= -slack and all(truth[cell] + changes.get(cell, 0.0) <= whole + slack for cell in children)

    def _is_broken(self, parent: Place, children: list[Place], is_sum: bool, near: float) -> bool:
        ranges = [self._range(cell) for cell in (parent, *children)]
        if any(high == math.inf for _, high in ranges):
            return False
        (least, most), *own = ranges
        slack = near * max(1.0, most)
        low, high = sum(low for low, _ in own), sum(high for _, high in own)
        if is_sum:
            return least > high + slack or most < low - slack
        return least > high + slack or most < max((low for low, _ in own), default=0.0) - slack

    def _range(self, cell: Place) -> tuple[float, float]:
        value = self._shown.get(cell)
        return self._ranges.get(cell, (0.0, math.inf) if value is None else (value, value))

    def interval(self, cell: Place) -> tuple[float, float]:
        """Return the least and the greatest value of a cell that agree with what is published."""
        module = highs_module("The audit of suppressed cells")
        if self._solver is None:
            self._solver = self._program(module)
        ends = self._end(cell, module.ObjSense.kMinimize), self._end(cell, module.ObjSense.kMaximize)
        self._solver.changeColCost(self._number[cell], 0.0)
        return ends

    def _end(self, cell: Place, sense: Any) -> float:
        """Return the least or the greatest value of a cell, whose cost stays 1."""
        module = highs_module("The audit of suppressed cells")
        self._solver.changeColCost(self._number[cell], 1.0)
        self._solver.changeObjectiveSense(sense)
        self._solver.run()
        status = self._solver.getModelStatus()
        endless = (module.HighsModelStatus.kUnbounded, module.HighsModelStatus.kUnboundedOrInfeasible)
        if status == module.HighsModelStatus.kOptimal:
            return float(self._solver.getInfo().objective_function_value)
        if sense == module.ObjSense.kMaximize and status in endless:
            return float("inf")
        raise AuditError(
            "What was written could not be audited: no table agrees with the published numbers.",
            hint="nothing was published; report it as a defect of sqlanon.",
        )

    def _program(self, module: Any) -> Any:
        solver, endless = module.Highs(), module.kHighsInf
        solver.setOptionValue("output_flag", False)
        for cell in self._number:
            low, high = self._range(cell)
            solver.addVar(low, endless if high == math.inf else high)
        for parent, groups in self._parts.items():
            for children, is_sum in groups:
                places = [self._number[cell] for cell in (*children, parent)]
                solver.addRow(0.0, 0.0 if is_sum else endless, len(places), places, [*[1.0] * len(children), -1.0])
                for child in () if is_sum else children:
                    solver.addRow(0.0, endless, 2, [self._number[parent], self._number[child]], [1.0, -1.0])
        for (parent, children), (outer, around) in self._overlaps:
            places = [self._number[cell] for cell in (*around, outer, *children, parent)]
            factors = [*[1.0] * len(around), -1.0, *[-1.0] * len(children), 1.0]
            solver.addRow(0.0, endless, len(places), places, factors)
        return solver


def audit_written(
    rows: pa.Table,
    counted: Counted,
    policy: CountsPolicy,
    witnesses: Sequence[Sequence[Witness]] = (),
    *,
    steps: int = 1,
) -> None:
    """Audit released rows as they were read back.

    Args:
        witnesses: of counts, and of sums: what tables that fit differ by from the truth. Each is checked, and spares
            programs; it is never trusted.
        steps: of counts that are rounded so that they add up, within how many multiples they are.

    Raises:
        AuditError: they are not safe, or not whole; names kinds and numbers of cells, never a value.
    """
    grid, rules = counted.grid, policy.rules
    shown = shown_cells(rows, counted, policy)
    parts = _parts(shown, counted.grid, rules.joint)
    keys = [tuple(key) for key in grid.all_keys.tolist()]
    truth = {key: cell for cell, key in enumerate(keys)}
    counts = {place: int(counted.contributors[truth[place]]) for place in shown}
    low, high = rules.interval or (0, rules.threshold)
    unsafe = [place for place, x in counts.items() if 0 < x < rules.threshold]
    for name in rules.groups:
        unsafe += _alone(counts, grid, [*policy.dimensions].index(name))
    demands = {place: (float(low), float(high)) for place in unsafe}
    values = {place: cell.count for place, cell in shown.items()}
    told = [
        ({keys[c]: by for c, by in zip(cells.tolist(), own.tolist(), strict=True)} for cells, own in part)
        for part in (*witnesses, (), ())
    ]
    ranges = {place: _range(v, rules, steps) for place, v in values.items() if v is not None}
    found = {"counts of other cells": sum(not low <= counts[p] <= high for p, (low, high) in ranges.items())}
    if rules.method == "keys":
        found["small counts"] = sum(0 < v <= rules.keys.blocked for v in values.values() if v is not None)
        found["cells of nobody that are above 0"] = sum(bool(values[p]) and not x for p, x in counts.items())
    else:
        if rules.round is not None:
            found["unsafe cells published"] = sum(rules.suppress and values[place] is not None for place in demands)
            if rules.additive:
                found |= CellAudit(parts, values).faults(0, {})
        overlaps = [*_overlaps(parts, grid)]
        of_counts = CellAudit(parts, values, overlaps, {} if rules.round is None else ranges)
        of_counts.learn(dict(zip(keys, counted.contributors.tolist(), strict=True)), told[0])
        found |= of_counts.faults(rules.threshold, demands)
    if counted.amounts is not None:
        found |= _faults_of_sums(shown, counted, rules, demands.keys(), told[1])
    if any(found.values()):
        listed = ", ".join(f"{kind}: {count}" for kind, count in found.items() if count)
        raise AuditError(
            f"What was written is not safe ({listed}). Nothing was published.",
            hint="the source may have changed meanwhile; run again, and report it as a defect if it stays.",
        )


def _faults_of_sums(
    shown: Mapping[Place, ShownCell],
    counted: Counted,
    rules: CountsFacts,
    unsafe: Collection[Place],
    witnesses: Iterable[Mapping[Place, float]],
) -> dict[str, int]:
    """Return what is wrong with the sums of a release, by kind, with how many cells it concerns."""
    assert counted.amounts is not None
    assert counted.largest is not None
    unit = max(float(counted.amounts.max(initial=0.0)), 1e-6) / 1e6  # the solver's tolerance is not relative
    keys = [tuple(key) for key in counted.grid.all_keys.tolist()]
    truth = dict(zip(keys, (counted.amounts / unit).tolist(), strict=True))
    largest = dict(zip(keys, (counted.largest / unit).tolist(), strict=True))
    widths = {}
    for place in shown:
        amount, (first, second) = truth[place], largest[place]
        top = first + (second if rules.dominance.n == 2 else 0)
        guessed = rules.p_percent * first - (amount - first - second)
        width = max(top / max(rules.dominance.k, 1e-6) - amount, guessed)
        if width > 1e-6 / unit and first > 0:
            widths[place] = (max(amount - width, 0.0), amount + width)
        if place in unsafe:  # who may be empty may sum up to 0
            widths[place] = (0.0, widths.get(place, (0.0, amount))[1])
    sums = {place: None if cell.amount is None else cell.amount / unit for place, cell in shown.items()}
    audit = CellAudit(_parts(shown, counted.grid.of_records(), rules.joint), sums)
    audit.learn(truth, ({place: by / unit for place, by in each.items()} for each in witnesses))
    return {f"{kind} (sums)": number for kind, number in audit.faults(0, widths).items()}


def _range(value: float, rules: CountsFacts, steps: int) -> tuple[float, float]:
    """Return what a published count stands for."""
    if rules.method == "keys":
        return max(value - rules.keys.most, 0.0), value + rules.keys.most
    if rules.round is None:
        return value, value
    away = rules.round / 2 if rules.rounding == "nearest" and not rules.additive else steps * rules.round - 1
    return max(value - away, 0.0), value + away


def _alone(counts: Mapping[Place, int], grid: Grid, position: int) -> list[Place]:
    """Return the cells that hold all contributors of their row, which has other categories of a dimension."""
    rows: dict[Place, list[Place]] = {}
    for place in counts:
        if place[position]:
            level = int(grid.dimensions[position].level[place[position]])
            rows.setdefault((*place[:position], level, *place[position + 1 :]), []).append(place)
    filled = [[place for place in row if counts[place]] for row in rows.values() if len(row) > 1]
    return [row[0] for row in filled if len(row) == 1]


@dataclass(frozen=True, slots=True)
class ShownCell:
    """What a table shows of a cell: None is suppressed, or, of an amount, not shown."""

    count: float | None
    amount: float | None


def shown_cells(rows: pa.Table, counted: Counted, policy: CountsPolicy) -> dict[Place, ShownCell]:
    """Return every cell that a table shows, as it reads; one without a row is 0 where zeros are left out.

    Raises:
        AuditError: a cell has no row, two rows that differ, or a category that there is not.
    """
    names = columns_of(policy)
    known = [
        {(int(d.level[c]), d.texts[c]): c for c in range(1, len(d.texts))} | {(-1, policy.rules.total): 0}
        for d in counted.grid.dimensions
    ]
    faults = {"rows of no cell": 0, "cells with several rows": 0, "cells without a row": 0}
    found: dict[Place, ShownCell] = {}
    for row in rows.to_pylist() if policy.rules.form == "long" else _unpivoted(rows, counted, policy):
        place = []
        of_dimension = zip(names.dimensions, known, counted.grid.dimensions, strict=True)
        for (name, level_name), categories, dimension in of_dimension:
            written = dimension.levels[0] if level_name is None else row[level_name]
            at = -1 if row[name] == policy.rules.total or written is None else int(written)
            place.append(categories.get((at, row[name]), -1))
        hidden = str(row[names.suppressed]).lower() in ("true", "1", "t")
        number = None if hidden or row[names.count] is None else float(row[names.count])
        amount = _amount(row, names, number)
        before = found.setdefault(tuple(place), ShownCell(number, amount))
        faults["rows of no cell"] += -1 in place or (number is None) != hidden
        faults["cells with several rows"] += before.count != number
        if before.amount is None and amount is not None:
            found[tuple(place)] = ShownCell(number, amount)
    every = {tuple(k) for k, own in zip(counted.grid.all_keys.tolist(), counted.grid.is_published, strict=True) if own}
    if policy.rules.zeros == "omit":
        found |= {place: ShownCell(0.0, 0.0) for place in every - set(found)}
    faults["cells without a row"] = len(every - set(found))
    if any(faults.values()):
        listed = ", ".join(f"{kind}: {count}" for kind, count in faults.items() if count)
        raise AuditError(f"The written table is not whole ({listed}).", hint="report it as a defect of sqlanon.")
    return found


def _amount(row: Mapping[str, Any], names: WrittenColumns, count: float | None) -> float | None:
    """Return the sum that a row tells, by itself or by its mean."""
    for name in names.measures:
        if count is not None and row[name] is not None and not name.startswith("share"):
            return float(row[name]) * (count if name.startswith("mean") else 1.0)
    return None


def _unpivoted(rows: pa.Table, counted: Counted, policy: CountsPolicy) -> Iterator[dict[str, Any]]:
    """Yield the cells of a wide form as rows of the long one."""
    names = columns_of(policy)
    last, texts = names.dimensions[-1][0], counted.grid.dimensions[-1].texts[1:]
    kept = [name for pair in names.dimensions[:-1] for name in pair if name is not None]
    for row in rows.to_pylist():
        for title, value in row.items():
            if title not in kept:
                text = None if title == "NULL" and None in texts else title
                cell = {last: text, names.count: value, names.suppressed: value is None}
                yield {name: row[name] for name in kept} | cell


def audited_parts(shown: Mapping[Place, Any], grid: Grid, joint: int) -> tuple[Parts, list[Overlap]]:
    """Return of what each cell consists, and what persons in several parts have in common."""
    parts = _parts(shown, grid, joint)
    return parts, [*_overlaps(parts, grid)]


def _parts(shown: Mapping[Place, Any], grid: Grid, joint: int) -> Parts:
    """Return of what each cell consists: the cells of every finer set that a table shows, and whether it is their sum.

    Where no table shows what two sets have in common, the cells of that are unknown, and consist of both.

    Args:
        joint: where every contributor has one category a dimension, up to so many cells of all dimensions are parts.
    """
    dimensions = grid.dimensions
    by_set: dict[tuple[int, ...], list[Place]] = {}
    for place in shown:
        by_set.setdefault(_levels_of(place, grid), []).append(place)
    every = list(by_set)
    for one in every:
        for other in every:
            common = tuple(-1 if -1 in pair else max(pair) for pair in zip(one, other, strict=True))
            if common not in every:
                every.append(common)
    finest = [np.flatnonzero(d.level == d.levels[0]).tolist() for d in dimensions]
    if not any(d.several for d in dimensions) and math.prod(map(len, finest)) <= joint:
        by_set.setdefault(tuple(d.levels[0] for d in dimensions), [*product(*finest)])
    found: Parts = {}
    for coarse in every:
        for fine in [levels for levels in by_set if levels != coarse]:
            steps = list(zip(dimensions, fine, coarse, strict=True))
            if any(high != -1 and (low == -1 or low > high) for _, low, high in steps):
                continue
            several = [(low, None if high == -1 else high) in d.several for d, low, high in steps if low != high]
            groups: dict[Place, list[Place]] = {}
            for place in by_set[fine]:
                own = zip(dimensions, place, coarse, strict=True)
                groups.setdefault(tuple(0 if h == -1 else int(d.above[h][c]) for d, c, h in own), []).append(place)
            for parent, children in groups.items():
                found.setdefault(parent, []).append((children, not any(several)))
    return found


def _levels_of(place: Place, grid: Grid) -> tuple[int, ...]:
    return tuple(int(d.level[c]) for d, c in zip(grid.dimensions, place, strict=True))


def _overlaps(parts: Parts, grid: Grid) -> Iterator[Overlap]:
    """Yield cells with such parts as may have persons in common, and the same of a cell around, in one dimension."""
    around = {
        (outer, _levels_of(own[0], grid)): own
        for outer, groups in parts.items()
        for own, is_sum in groups
        if not is_sum
    }
    for parent, groups in parts.items():
        for children in [own for own, is_sum in groups if not is_sum]:
            levels = _levels_of(children[0], grid)
            for place, dimension in enumerate(grid.dimensions):
                if levels[place] != _levels_of(parent, grid)[place]:
                    continue
                for above in (-1, *[level for level in dimension.levels if level > levels[place] >= 0]):
                    category = 0 if above == -1 else int(dimension.above[above][parent[place]])
                    outer = (*parent[:place], category, *parent[place + 1 :])
                    own = around.get((outer, (*levels[:place], above, *levels[place + 1 :])))
                    if outer != parent and own is not None:
                        yield (parent, children), (outer, own)
