"""The audit of tables of counts as they were written: they are read again, and judged as a reader would (``reader``).

Which cells are unsafe follows from rules of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sqlanon.counts.counting import Counted
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.facts import Flags, Floats, Numbers, Vector
from sqlanon.counts.grid import Grid
from sqlanon.counts.keys import CountsFacts
from sqlanon.counts.reader import CellAudit, rows_of
from sqlanon.counts.released import WrittenColumns, columns_of
from sqlanon.errors import AuditError


def audit_written(
    rows: pa.Table,
    counted: Counted,
    policy: CountsPolicy,
    witnesses: Sequence[Sequence[Vector]] = (),
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
    grid, rules, truth = counted.grid, policy.rules, counted.contributors
    counts, amounts = shown_cells(rows, counted, policy)
    of_counts, of_sums, *_ = (*witnesses, (), ())
    unsafe = (truth > 0) & (truth < rules.threshold)
    for name in rules.groups:
        unsafe |= _alone(truth, grid, [*policy.dimensions].index(name))
    unsafe &= grid.is_published
    ends, is_shown = _ranges(counts, rules, steps), ~np.isnan(counts)
    found = {"counts of other cells": int((is_shown & ((truth < ends[0]) | (truth > ends[1]))).sum())}
    if rules.method == "keys":
        found["small counts"] = int(((counts > 0) & (counts <= rules.keys.blocked)).sum())
        found["cells of nobody that are above 0"] = int(((counts > 0) & (truth == 0)).sum())
    else:
        relations = rows_of(grid, rules.joint)
        if rules.round is not None:
            found["unsafe cells published"] = int(rules.suppress and (unsafe & is_shown).sum())
            if rules.additive:
                found |= CellAudit(relations, counts, counts).faults(0, unsafe & False, 0, 0)
        audit = CellAudit(relations, *ends)
        audit.learn(truth.astype(np.float64), of_counts)
        found |= audit.faults(rules.threshold, unsafe, *(rules.interval or (0, rules.threshold)))
    if counted.amounts is not None:
        found |= _faults_of_sums(amounts, counted, rules, unsafe, of_sums)
    hint = "the source may have changed meanwhile; run again, and report it as a defect if it stays."
    refuse(found, "What was written is not safe", hint, ". Nothing was published.")


def refuse(faults: Mapping[str, int], said: str, hint: str, end: str = ".") -> None:
    """Raise AuditError if there are faults: kinds with numbers of cells, which the message lists."""
    if any(faults.values()):
        listed = ", ".join(f"{kind}: {count}" for kind, count in faults.items() if count)
        raise AuditError(f"{said} ({listed}){end}", hint=hint)


def _faults_of_sums(
    shown: Floats, counted: Counted, rules: CountsFacts, unsafe: Flags, witnesses: Sequence[Vector]
) -> dict[str, int]:
    """Return what is wrong with the sums of a release, by kind, with how many cells it concerns.

    Args:
        unsafe: the cells whose counts are; they may be empty, and sum up to 0.
    """
    assert counted.amounts is not None
    assert counted.largest is not None
    unit = max(float(counted.amounts.max(initial=0.0)), 1e-6) / 1e6  # the solver's tolerance is not relative
    truth, (first, second) = counted.amounts / unit, counted.largest.T / unit
    top = first + (second if rules.dominance.n == 2 else 0)
    guessed = rules.p_percent * first - (truth - first - second)
    width = np.maximum(top / max(rules.dominance.k, 1e-6) - truth, guessed)
    width = np.where((width > 1e-6 / unit) & (first > 0) & counted.grid.is_published, width, 0.0)
    grid = counted.grid.of_records()
    audit = audit_of(grid, rules.joint, shown / unit)
    audit.learn(truth, [(cells, changes / unit) for cells, changes in witnesses], near=1e-9)
    least = np.where(unsafe, 0.0, np.maximum(truth - width, 0.0))
    found = audit.faults(0, (width > 0) | unsafe, least, truth + width)
    return {f"{kind} (sums)": number for kind, number in found.items()}


def audit_of(grid: Grid, joint: int, shown: Floats) -> CellAudit:
    """Return the audit of cells of which a table shows these values, NaN where none."""
    return CellAudit(rows_of(grid, joint), shown, shown)


def _ranges(values: Floats, rules: CountsFacts, steps: int) -> tuple[Floats, Floats]:
    """Return what published counts stand for."""
    away: float = 0
    if rules.method == "keys":
        away = rules.keys.most
    elif rules.round is not None:
        nearest = rules.rounding == "nearest" and not rules.additive
        away = rules.round / 2 if nearest else steps * rules.round - 1
    return np.maximum(values - away, 0.0), values + away


def _alone(counts: Numbers, grid: Grid, position: int) -> Flags:
    """Return the cells that hold all contributors of their row, which has other categories of a dimension: those are
    empty, or the row has no more."""
    rows, wholes = grid.all_keys, grid.all_keys
    wholes[:, position] = 0
    held = {tuple(key): int(count) for key, count in zip(rows.tolist(), counts, strict=True)}
    whole = np.array([held.get(tuple(key), -1) for key in wholes.tolist()])
    rows[:, position] = grid.dimensions[position].level[rows[:, position]]
    row = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    cells, filled = np.bincount(row)[row], np.bincount(row, counts > 0)[row]
    found: Flags = (rows[:, position] >= 0) & (counts > 0) & ((filled == 1) | (counts == whole)) & (cells > 1)
    return found


def shown_cells(rows: pa.Table, counted: Counted, policy: CountsPolicy) -> tuple[Floats, Floats]:
    """Return of every cell the count and the sum that a table shows, NaN where it shows none.

    A cell without a row is 0 where zeros are left out. A table that is not whole is no release: AuditError.
    """
    names, grid = columns_of(policy), counted.grid
    known = [
        {(int(d.level[c]), d.texts[c]): c for c in range(1, len(d.texts))} | {(-1, policy.rules.total): 0}
        for d in grid.dimensions
    ]
    own = zip(grid.all_keys.tolist(), grid.is_published.tolist(), strict=True)
    number = {tuple(key): cell for cell, (key, is_shown) in enumerate(own) if is_shown}
    faults = {"rows of no cell": 0, "cells with several rows": 0, "cells without a row": 0}
    found: dict[int, tuple[float | None, float | None]] = {}
    for row in rows.to_pylist() if policy.rules.form == "long" else _unpivoted(rows, counted, policy):
        place = []
        for (name, level_name), categories, dimension in zip(names.dimensions, known, grid.dimensions, strict=True):
            written = dimension.levels[0] if level_name is None else row[level_name]
            at = -1 if row[name] == policy.rules.total or written is None else int(written)
            place.append(categories.get((at, row[name]), -1))
        hidden = str(row[names.suppressed]).lower() in ("true", "1", "t")
        count = None if hidden or row[names.count] is None else float(row[names.count])
        cell = number.get(tuple(place))
        if cell is None or (count is None) != hidden:
            faults["rows of no cell"] += 1
        else:
            before = found.setdefault(cell, (count, None))
            faults["cells with several rows"] += before[0] != count
            found[cell] = (count, _amount(row, names, count) if before[1] is None else before[1])
    if policy.rules.zeros == "omit":
        found |= dict.fromkeys(number.values() - found.keys(), (0.0, 0.0))
    faults["cells without a row"] = len(number) - len(found)
    refuse(faults, "The written table is not whole", "report it as a defect of sqlanon.")
    both = np.full((2, len(grid)), np.nan)
    both[:, [*found]] = np.array([*found.values()], np.float64).reshape(-1, 2).T
    return both[0], both[1]


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
