"""Which cells are suppressed: all unsafe ones, and others that keep them from being computed.

**Model.** The unknowns are the cells (in whole numbers, for counts), with a relation for each parent; or, where every
contributor has one category a dimension and the table of all dimensions is small, the cells of that table, of which
each published cell is the sum. A *witness* is a table of non-negative numbers that agrees with all that is published
and with the relations. An unsafe count is protected when some witness has at most ``interval[0]`` there, and another at
least ``interval[1]``; an insider learns nothing when a witness that agrees with his own cell differs elsewhere.

**Search.** For each demand that no witness meets, HiGHS finds the witness that differs from the true table in the
cheapest further cells (Kelly, Golden and Assad 1992 with whole numbers); these are suppressed, so that it remains a
witness. At the end each further cell is published again whose demands are met without it. Every demand is met by a
witness in whole numbers, so that no claim rests on a relaxation. The suppression is small, and not proven the least.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqlanon.counts.counting import Counted, Floats
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.grid import Grid, Numbers
from sqlanon.errors import NoSolutionError, SearchStoppedError, UnsupportedError

Flags = np.ndarray[Any, np.dtype[np.bool_]]
NEAR = 1e-6


@dataclass(frozen=True, slots=True)
class Protection:
    """Which cells are suppressed. Which of them were unsafe is known to the operator alone.

    Attributes:
        suppressed: of each cell, whether it is.
        unsafe, complementary: how many are because they are unsafe, and how many to protect these.
        system: ``joint`` or ``published``: the unknowns.
        optimal: nothing less protects them.
        weight, lower_bound: of the complementary cells, and the least that is certain.
        how: the way in which they were found.
    """

    suppressed: Flags
    unsafe: int
    complementary: int
    system: str
    optimal: bool
    weight: float
    lower_bound: float
    how: str

    @property
    def suppressed_cells(self) -> int:
        """How many cells are suppressed."""
        return int(self.suppressed.sum())

    @property
    def gap(self) -> float:
        """The share of the weight that might be saved at most."""
        return (self.weight - self.lower_bound) / self.weight if self.weight else 0.0


@dataclass(frozen=True, slots=True)
class WitnessDemand:
    """What some witness must have: a value of a cell, and the value of an insider's cell beside it.

    Attributes:
        low, high: the bounds of the value.
        known: the cell that an insider knows; -1 for none.
    """

    cell: int
    low: float
    high: float
    known: int = -1

    def met_by(self, witness: Floats, truth: Floats) -> bool:
        """Return whether a witness meets it."""
        value = witness[self.cell]
        agrees = self.known < 0 or abs(witness[self.known] - truth[self.known]) <= NEAR
        return bool(agrees and self.low - NEAR <= value <= self.high + NEAR)


def unsafe_counts(counted: Counted, policy: CountsPolicy) -> Flags:
    """Return which published cells have an unsafe count."""
    grid, rules, values = counted.grid, policy.rules, counted.contributors
    unsafe = (values > 0) & (values < rules.threshold)
    for name in rules.groups:
        position = [*policy.dimensions].index(name)
        for number, levels in enumerate(grid.sets):
            if levels[position] is None:
                continue
            own = slice(grid.starts[number], grid.starts[number + 1])
            shape = [len(d.categories(level)) for d, level in zip(grid.dimensions, levels, strict=True)]
            filled = (values[own] > 0).reshape(shape)
            alone = filled & (filled.sum(axis=position, keepdims=True) == 1) & (shape[position] > 1)
            unsafe[own] |= alone.reshape(-1)
    return unsafe & grid.is_published


def unsafe_sums(counted: Counted, policy: CountsPolicy, unsafe: Flags) -> tuple[Flags, Floats]:
    """Return which published cells have an unsafe sum, and by how much it must be uncertain to either side.

    Args:
        unsafe: the cells whose counts are.
    """
    assert counted.amounts is not None
    assert counted.largest is not None
    rules, whole = policy.rules, counted.amounts
    first, second = counted.largest[:, 0], counted.largest[:, 1]
    top = first + (second if rules.dominance.n > 1 else 0.0)
    by_share = top / max(rules.dominance.k, NEAR) - whole
    by_guess = rules.p_percent * first - (whole - first - second)
    found = ((by_share > NEAR) | (by_guess > NEAR) | unsafe) & (first > 0)
    width = np.maximum(np.maximum(by_share, by_guess), np.where(unsafe, rules.p_percent * first, 0.0))
    return found & counted.grid.is_published, np.maximum(width, 0.0)


def protect(counted: Counted, policy: CountsPolicy) -> Protection:
    """Return which cells are suppressed.

    Raises:
        NoSolutionError: what may be suppressed does not protect the unsafe cells.
        SearchStoppedError: the time limit came before all were protected.
        UnsupportedError: HiGHS is not installed, and some cell is unsafe.
    """
    rules, grid = policy.rules, counted.grid
    unsafe = unsafe_counts(counted, policy)
    low, high = rules.interval or (0, rules.threshold)
    truth = counted.contributors.astype(np.float64)
    primary, width = unsafe, np.zeros(len(grid))
    if counted.amounts is not None:
        sums, width = unsafe_sums(counted, policy, unsafe)
        primary = unsafe | sums
    hidden = primary.copy()
    system = "joint" if _is_joint(grid, rules.joint) else "published"
    if hidden.any():
        exempt = (counted.contributors == 0) & (rules.zeros == "omit")  # what has no row cannot be suppressed
        if rules.never == "totals":
            exempt = exempt | (grid.all_keys == 0).any(axis=1)
        deadline = time.monotonic() + rules.time_limit
        weights = _weights(counted, policy)
        search = _Suppressing(grid, truth, exempt, weights, deadline, joint=system == "joint", whole=True)
        demands = [WitnessDemand(int(c), *side) for c in np.flatnonzero(unsafe) for side in ((0, low), (high, np.inf))]
        insiders = _pairs(counted.contributors, unsafe) if rules.insiders else ()
        hidden = search.suppress(hidden, unsafe, demands, insiders)
        if counted.amounts is not None:
            search = _Suppressing(
                grid, counted.amounts, exempt, weights, deadline, joint=system == "joint", whole=False
            )
            sides = [
                WitnessDemand(int(c), *side)
                for c in np.flatnonzero(primary)
                for a, w in [(counted.amounts[c], width[c])]
                for side in ((0.0, max(a - w, 0.0)), (a + w, np.inf))
                if w > 0
            ]
            hidden = search.suppress(hidden, hidden, sides, ())
    complementary = hidden & ~primary
    weight = float(_weights(counted, policy)[complementary].sum())
    none = not complementary.any()
    return Protection(hidden, int(primary.sum()), int(complementary.sum()), system, none, weight, 0.0, "heuristic")


def _is_joint(grid: Grid, most: int) -> bool:
    """Return whether the cells of the table of all dimensions are the unknowns."""
    finest = [len(d.categories(d.levels[0])) for d in grid.dimensions]
    return int(np.prod(finest, dtype=np.float64)) <= most and not any(d.several for d in grid.dimensions)


def _weights(counted: Counted, policy: CountsPolicy) -> Floats:
    """Return what suppressing each cell costs."""
    given = policy.rules.weights
    if given == "records":
        return np.maximum(counted.contributors, 1).astype(np.float64)
    found, keys = np.ones(len(counted.grid)), counted.grid.all_keys
    for name, weight in given.items() if isinstance(given, Mapping) else ():
        found[keys[:, [*policy.dimensions].index(name)] != 0] *= float(weight)
    return found


def _pairs(values: Numbers, unsafe: Flags) -> Iterator[tuple[int, int]]:
    """Yield each unsafe cell of value 1 with every other unsafe cell that its contributor must not learn."""
    targets = np.flatnonzero(unsafe)
    for known in np.flatnonzero(unsafe & (values == 1)):
        for other in targets:
            if other != known:
                yield int(known), int(other)


class _Suppressing:
    """One program of HiGHS: the true table, and tables that differ from it in what may be suppressed."""

    def __init__(
        self, grid: Grid, truth: Floats, exempt: Flags, weights: Floats, deadline: float, *, joint: bool, whole: bool
    ) -> None:
        try:
            self._module = importlib.import_module("highspy")
        except ImportError as error:
            raise UnsupportedError(
                "Cells are unsafe, and protecting them needs HiGHS: highspy is not installed.",
                hint="install it with: pip install 'sqlanon[exact]'",
            ) from error
        self._grid, self._truth, self._exempt, self._weights = grid, truth, exempt, weights
        self._deadline, self._whole, self._size = deadline, whole, len(grid)
        self._witnesses: list[Floats] = [truth]
        self._impossible = False  # whether the last program had no solution at all
        self._only_zeros = not (exempt & (truth > 0)).any()
        self._highs = self._module.Highs()
        self._highs.setOptionValue("output_flag", False)
        self._highs.setOptionValue("threads", 1)
        rows = list(self._joint_rows() if joint else self._relations())
        columns = 3 * self._size + (self._joint_cells if joint else 0)
        endless = self._module.kHighsInf
        self._highs.addVars(columns, np.zeros(columns), np.full(columns, endless))
        for cells, factors, low, high in rows:
            self._highs.addRow(low, high, len(cells), np.asarray(cells, np.int32), np.asarray(factors, np.float64))
        for cell in range(self._size):  # value - more + less = truth
            places = np.array([cell, self._size + cell, 2 * self._size + cell], np.int32)
            self._highs.addRow(truth[cell], truth[cell], 3, places, np.array([1.0, -1.0, 1.0]))
        if whole:
            first = 3 * self._size if joint else 0
            unknowns = np.arange(first, columns if joint else self._size, dtype=np.int32)
            kinds = np.full(len(unknowns), self._module.HighsVarType.kInteger)
            self._highs.changeColsIntegrality(len(unknowns), unknowns, kinds)

    def _relations(self) -> Iterator[tuple[list[int], list[float], float, float]]:
        """Yield the relations of parents and children as rows."""
        endless = self._module.kHighsInf
        for step in self._grid.steps():
            children: dict[int, list[int]] = {}
            for child, parent in zip(step.children.tolist(), step.parents.tolist(), strict=True):
                children.setdefault(parent, []).append(child)
            for parent, own in children.items():
                yield [*own, parent], [*[1.0] * len(own), -1.0], 0.0, 0.0 if step.exact else endless
                if not step.exact:
                    for child in own:
                        yield [parent, child], [1.0, -1.0], 0.0, endless

    def _joint_rows(self) -> Iterator[tuple[list[int], list[float], float, float]]:
        """Yield each cell as the sum of cells of the table of all dimensions."""
        grid = self._grid
        finest = [d.categories(d.levels[0]) for d in grid.dimensions]
        joint = np.stack([part.reshape(-1) for part in np.meshgrid(*finest, indexing="ij")], axis=1)
        self._joint_cells = len(joint)
        for number, levels in enumerate(grid.sets):
            above = [d.up(joint[:, p], levels[p]) for p, d in enumerate(grid.dimensions)]
            own = grid.cells(number, np.stack(above, axis=1))
            for cell in range(grid.starts[number], grid.starts[number + 1]):
                parts = (np.flatnonzero(own == cell) + 3 * self._size).tolist()
                yield [*parts, cell], [*[1.0] * len(parts), -1.0], 0.0, 0.0

    def suppress(
        self, hidden: Flags, fixed: Flags, demands: Iterable[WitnessDemand], insiders: Iterable[tuple[int, int]]
    ) -> Flags:
        """Return ``hidden`` and further cells with which all demands are met.

        Args:
            fixed: the cells that are never published again.
        """
        hidden, fixed, needed = hidden.copy(), fixed | hidden, list(demands)
        for demand in needed:
            if not self._is_met(demand):
                self._extend(hidden, [demand])
        pairs = []
        for known, other in insiders:
            sides = self._sides(known, other)
            if any(map(self._is_met, sides)) or self._extend(hidden, sides, may_fail=self._only_zeros):
                pairs.append((known, other))
        choices = [[demand] for demand in needed] + [self._sides(*pair) for pair in pairs]
        further = np.flatnonzero(hidden & ~fixed)
        for cell in sorted(further.tolist(), key=lambda c: -self._weights[c]):
            if time.monotonic() < self._deadline:
                self._publish_again(hidden, cell, choices)
        return hidden

    def _sides(self, known: int, other: int) -> list[WitnessDemand]:
        value, truth = self._truth[other], float(self._truth[other])
        return [WitnessDemand(other, truth + 1, np.inf, known), WitnessDemand(other, 0.0, float(value) - 1, known)]

    def _is_met(self, demand: WitnessDemand) -> bool:
        return any(demand.met_by(witness, self._truth) for witness in self._witnesses)

    def _extend(self, hidden: Flags, sides: list[WitnessDemand], *, may_fail: bool = False) -> bool:
        """Suppress, in place, the cheapest cells with which one of the demands is met; return whether one can be.

        Args:
            may_fail: where zeros alone must be shown and still a cell follows from an insider's own, both have the same
                contributors, as the zeros say: nothing is learnt.
        """
        found, impossible = [], True
        for demand in sides:
            witness = self._witness(demand, hidden, may_extend=True)
            found += [] if witness is None else [witness]
            impossible &= self._impossible
        if not found:
            if time.monotonic() >= self._deadline:
                raise SearchStoppedError(
                    "The time limit came before every unsafe cell was protected; nothing was published.",
                    hint="raise time_limit, or show coarser levels.",
                )
            if may_fail and impossible:
                return False
            raise NoSolutionError(
                "What the document allows to suppress does not protect the unsafe cells; nothing was published.",
                hint="leave out never: totals, or show coarser levels.",
                nearest=None,
            )
        moved = [self._moved(witness) & ~hidden for witness in found]
        best = min(range(len(found)), key=lambda place: float(self._weights[moved[place]].sum()))
        hidden |= moved[best]
        self._witnesses.append(found[best])
        return True

    def _moved(self, witness: Floats) -> Flags:
        return (np.abs(witness - self._truth) > NEAR) & self._grid.is_published

    def _publish_again(self, hidden: Flags, cell: int, choices: list[list[WitnessDemand]]) -> None:
        """Publish a cell again, in place, if all demands can be met without it."""
        kept = [w for w in self._witnesses if abs(w[cell] - self._truth[cell]) <= NEAR]
        hidden[cell] = False
        for sides in choices:
            if any(demand.met_by(witness, self._truth) for demand in sides for witness in kept):
                continue
            found = next(
                (w for demand in sides if (w := self._witness(demand, hidden, may_extend=False)) is not None), None
            )
            if found is None:
                hidden[cell] = True
                return
            kept.append(found)
        self._witnesses = kept

    def _witness(self, demand: WitnessDemand, hidden: Flags, *, may_extend: bool) -> Floats | None:
        """Return the table that meets a demand and differs from the true one in the cheapest further cells."""
        if demand.high < demand.low:
            self._impossible = True
            return None
        size, endless, highs = self._size, self._module.kHighsInf, self._highs
        free = hidden | ~self._grid.is_published
        room = np.where(free | (may_extend & ~self._exempt), endless, 0.0)
        places = np.arange(size, 3 * size, dtype=np.int32)
        highs.changeColsBounds(2 * size, places, np.zeros(2 * size), np.concatenate([room, room]))
        cost = np.where(free, 0.0, self._weights)
        highs.changeColsCost(2 * size, places, np.concatenate([cost, cost]))
        highs.changeColBounds(demand.cell, demand.low, min(demand.high, endless))
        if demand.known >= 0:
            highs.changeColBounds(demand.known, self._truth[demand.known], self._truth[demand.known])
        highs.setOptionValue("time_limit", highs.getRunTime() + max(0.1, self._deadline - time.monotonic()))
        highs.run()
        is_found = highs.getModelStatus() == self._module.HighsModelStatus.kOptimal
        self._impossible = highs.getModelStatus() == self._module.HighsModelStatus.kInfeasible
        values = np.array(highs.getSolution().col_value[:size]) if is_found else None
        highs.changeColBounds(demand.cell, 0.0, endless)
        if demand.known >= 0:
            highs.changeColBounds(demand.known, 0.0, endless)
        if values is None:
            return None
        found = np.round(values) if self._whole else values
        return found if not self._whole or np.abs(found - values).max() <= 1e-4 else None
