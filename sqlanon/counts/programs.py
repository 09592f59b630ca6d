"""Programs in HiGHS over rows of unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np

from sqlanon.core.highs import highs_module, run_highs
from sqlanon.counts.facts import Flags, Floats, SparseRows


def program(
    wants: str,
    rows: SparseRows,
    lower: Floats,
    upper: Floats,
    costs: Floats | None = None,
    *,
    whole: Flags | bool = False,
) -> Any:
    """Return a solver that minimizes the costs of unknowns between bounds.

    Args:
        wants: what needs HiGHS, the beginning of a sentence.
        whole: which unknowns are whole numbers.

    Raises:
        UnsupportedError: HiGHS is not installed.
    """
    module = highs_module(wants)
    solver, size = module.Highs(), len(lower)
    for name, value in (("output_flag", False), ("parallel", "off"), ("mip_rel_gap", 0.0)):
        solver.setOptionValue(name, value)
    solver.passModel(
        size, len(rows), len(rows.columns), int(module.MatrixFormat.kRowwise), int(module.ObjSense.kMinimize), 0.0,
        np.zeros(size) if costs is None else costs, lower, upper, rows.lower, rows.upper,
        rows.starts.astype(np.int32), rows.columns.astype(np.int32), rows.factors,
        np.broadcast_to(whole, size).astype(np.int32),
    )  # fmt: skip
    return solver


def set_whole(solver: Any, is_whole: bool) -> None:
    """Make all unknowns whole numbers, or none."""
    kinds = highs_module("This").HighsVarType
    size = solver.getNumCol()
    solver.changeColsIntegrality(
        size, np.arange(size, dtype=np.int32), np.full(size, kinds.kInteger if is_whole else kinds.kContinuous)
    )


def solved(solver: Any, seconds: float | None = None, *, cancels: bool = False) -> bool | None:
    """Solve; return whether there is a best solution, None where the solver was stopped before that is known.

    Args:
        seconds: how long it may take.
        cancels: an interrupt ends it at once; small linear programs end soon by themselves.
    """
    if seconds is not None:
        solver.setOptionValue("time_limit", solver.getRunTime() + seconds)
    if cancels:
        run_highs(solver)
    else:
        solver.run()
    known, status = highs_module("This").HighsModelStatus, solver.getModelStatus()
    if status in (known.kInfeasible, known.kUnbounded, known.kUnboundedOrInfeasible):
        return False
    return True if status == known.kOptimal else None


def end_of(solver: Any, number: int, sign: float) -> tuple[bool | None, Any]:
    """Solve for the least (``sign`` 1) or the greatest value (-1) of an unknown; return whether there is one, and the
    solution."""
    solver.changeColCost(number, sign)
    found = solved(solver), solver.getSolution()
    solver.changeColCost(number, 0.0)
    return found
