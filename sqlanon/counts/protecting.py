"""Which cells are suppressed: all unsafe ones, and others that keep them from being computed.

The unknowns are the cells, with a relation for each parent; where every contributor has one category a dimension and
the table of all dimensions is small, the cells of that table, too. What is asked of witnesses, ``facts.System`` says.
A first suppression comes from ``heuristic`` or ``moves``, the least and its proof from ``exact``. Sums are protected
after counts, by the heuristic alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from sqlanon.counts.counting import Counted
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.exact import suppress, suppress_by_moves, suppress_late
from sqlanon.counts.facts import ALONE, CellSuppression, Flags, Floats, Numbers, SparseRows, System, Vector
from sqlanon.counts.grid import Grid, is_finer
from sqlanon.counts.inhabited import wanted_beside_others
from sqlanon.counts.keys import CountsFacts
from sqlanon.counts.moves import has_moves
from sqlanon.counts.perturbing import perturbed_counts
from sqlanon.counts.rounding import check_ranges, rounded_counts
from sqlanon.counts.unsafe import NEAR, exempt_cells, unsafe_counts, unsafe_sums, weights_of
from sqlanon.errors import NoSolutionError, SearchStoppedError

FEW, LARGE = 600, 3_000
"""Up to so many cells programs protect; beyond them moves do first, and beyond the second number alone."""
ROUNDS = 8
"""Searches, at most, until small categories are safe although each is known to have somebody."""
LARGEST = 1e6
"""What sums are brought to before a solver sees them: its tolerance is not relative."""


@dataclass(frozen=True, slots=True)
class Protection:
    """Which cells are suppressed. Which of them were unsafe is known to the operator alone.

    Attributes:
        suppressed: of each cell, whether it is; ``primary`` are those that are unsafe themselves.
        system: ``joint`` or ``published``: the unknowns.
        how: the way in which they were found.
        values: of each cell, the count that is shown unless it is suppressed: as it is, rounded, or with noise.
        steps: of counts that are rounded so that they add up, within how many multiples they are.
        weight, lower_bound: of the complementary cells, and the least that is certain.
        witnesses: of counts, and of sums: tables that fit what is shown, by what they differ in from the truth.
        evidence: the suppression of counts, with what shows it; None where nothing was looked for.
    """

    suppressed: Flags
    primary: Flags
    system: str
    how: str
    values: Numbers
    steps: int = 1
    weight: float = 0.0
    lower_bound: float = 0.0
    witnesses: Sequence[Sequence[Vector]] = ()
    evidence: CellSuppression | None = None

    def shown(self, counted: Counted) -> Counted:
        """Return the cells with the counts that are shown."""
        return replace(counted, contributors=self.values)

    @property
    def suppressed_cells(self) -> int:
        """How many cells are suppressed."""
        return int(self.suppressed.sum())

    @property
    def unsafe(self) -> int:
        """How many cells are unsafe."""
        return int(self.primary.sum())

    @property
    def complementary(self) -> int:
        """How many cells are suppressed to protect unsafe ones."""
        return int((self.suppressed & ~self.primary).sum())

    @property
    def optimal(self) -> bool:
        """Whether nothing less protects them; of noise nothing is proven."""
        return self.how != "keys" and self.weight <= self.lower_bound

    @property
    def gap(self) -> float:
        """The share of the weight that might be saved at most."""
        return (self.weight - self.lower_bound) / self.weight if self.weight else 0.0


@dataclass(frozen=True, slots=True)
class Held:
    """What somebody holds already of the cells that are judged.

    Attributes:
        shown, hidden: by earlier releases, which stand.
        unsafe: would tell what changed since an earlier release.
        own: of the new release.
        kept: suppressed, and unsafe by the rules of an earlier release, which hold of them still.
        least, greatest: what must remain possible of each of these, at most and at least.
    """

    shown: Flags
    hidden: Flags
    unsafe: Flags
    own: Flags
    kept: Flags
    least: Floats
    greatest: Floats


def unsafe_by(counted: Counted, policy: CountsPolicy, threshold: int, groups: Sequence[str]) -> Flags:
    """Return which published cells have an unsafe count by other rules than those of a document."""
    return unsafe_counts(
        counted, replace(policy, rules=replace(policy.rules, threshold=threshold, groups=tuple(groups)))
    )


def protect(
    counted: Counted, policy: CountsPolicy, report: Callable[..., None] | None = None, held: Held | None = None
) -> Protection:
    """Return which cells are suppressed; ``report`` is told how far the proof is.

    Raises:
        NoSolutionError: what may be suppressed does not protect the unsafe cells.
        SearchStoppedError: the time limit came before all were protected.
        UnsupportedError: HiGHS is not installed, and some cell is unsafe.
    """
    rules, grid = policy.rules, counted.grid
    nothing = np.zeros(len(grid), bool)
    if rules.method == "keys":
        return Protection(nothing, nothing, "keys", "keys", perturbed_counts(counted, rules.keys))
    unsafe = unsafe_counts(counted, policy)
    truth = counted.contributors.astype(np.float64)
    primary, width = unsafe, np.zeros(len(grid))
    if counted.amounts is not None:
        sums, width = unsafe_sums(counted, policy, unsafe)
        primary = unsafe | sums
    weights, exempt = weights_of(counted, policy), exempt_cells(counted, rules)
    wide = nothing
    if held is not None:
        unsafe = (unsafe & (held.own | ~held.shown)) | held.kept
        if ((unsafe | held.unsafe) & held.shown).any():
            raise NoSolutionError("An unsafe cell was shown before.", hint="show coarser levels.")
        primary, exempt, wide = unsafe | held.unsafe, exempt | held.shown, held.unsafe & ~unsafe
        weights = np.where(held.hidden, 0.0, weights)
    low, high = rules.interval or (0, rules.threshold)
    least = np.where(unsafe, low, np.where(wide, np.maximum(truth - rules.threshold, 0), truth))
    greatest = np.where(unsafe, high, np.where(wide, truth + rules.threshold, truth))
    if held is not None:
        least, greatest = np.fmin(least, held.least), np.fmax(greatest, held.greatest)
    work = _Protecting(rules, weights, exempt, report)
    own = np.where(unsafe & (counted.contributors == 1), np.arange(len(grid)), ALONE)
    waives = not (exempt & (truth > 0)).any()
    insiders: dict[str, Any] = {"contributor": own, "waives": waives} if rules.insiders else {}
    system = work.system_of(grid, truth, primary, least, greatest, **insiders)
    unknowns = "joint" if _is_joint(grid, rules.joint) else "published"
    if not rules.suppress:
        values, steps = rounded_counts(counted, policy, system, np.zeros(len(system), bool))
        check_ranges(system, values, rules, steps)
        return Protection(nothing, unsafe, unknowns, "rounding", values, steps)
    found = _beside_somebody(work, grid, system, unsafe, exempt)
    hidden, witnesses = found.suppressed, [found.witnesses]
    if counted.amounts is not None:
        width = np.where(primary, width, 0.0)
        of_sums = work.suppressed_sums(counted, unsafe, width, hidden[: len(grid)])
        hidden, witnesses = of_sums.suppressed, [found.witnesses, of_sums.witnesses]
    values, steps = rounded_counts(counted, policy, system, hidden)
    hidden = hidden[: len(grid)]
    weight, lower = float(weights[hidden & ~primary].sum()), found.lower_bound
    return Protection(hidden, primary, unknowns, found.how, values, steps, weight, lower, witnesses, found)


def _beside_somebody(work: _Protecting, grid: Grid, system: System, unsafe: Flags, exempt: Flags) -> CellSuppression:
    """Return a suppression that protects, also from who knows that each category has somebody (``inhabited``).

    What that takes is found by the heuristic alone, and the bound is that of the first; raises as ``protect``.

    Args:
        unsafe, exempt: of the cells of the grid, those with an unsafe count, and those that are not suppressed.
    """
    size, found = len(grid), work.suppressed(grid, system)
    truth, greatest, lower = system.values[:size], system.greatest[:size], found.lower_bound
    for _ in range(ROUNDS):
        beside = wanted_beside_others(grid, truth, found.suppressed[:size], unsafe, greatest, exempt)
        if beside == {}:
            return found
        if beside is None:
            break
        system = _with_further(system, beside)
        found = replace(work.suppressed(grid, system, exact=False), lower_bound=lower)
    raise NoSolutionError(
        "Small categories would be told by each having somebody; nothing was published.",
        hint="leave out never: totals, or show coarser levels.",
    )


class _Protecting:
    """Makes systems of the cells of a release, and suppresses in them."""

    def __init__(self, rules: CountsFacts, weights: Floats, exempt: Flags, report: Callable[..., None] | None) -> None:
        self._rules, self._weights, self._exempt, self._report = rules, weights, exempt, report
        self._until = time.monotonic() + rules.time_limit  # sums have a quarter of it, at least

    def system_of(
        self, grid: Grid, values: Floats, fixed: Flags, least: Floats, greatest: Floats, **changes: Any
    ) -> System:
        """Return what must be protected: of the unsafe cells, what some table has at most and another at least."""
        whole = grid.with_joint() if _is_joint(grid, self._rules.joint) else grid
        parts = [(values, 0.0), (grid.is_published, False), (fixed & grid.is_published, False)]
        parts += [(least, 0.0), (greatest, 0.0), (self._weights, 1.0), (self._exempt, False)]
        values, published, fixed, least, greatest, costs, never = (_padded(*part, len(whole)) for part in parts)
        if "contributor" in changes:
            changes["contributor"] = _padded(changes["contributor"], ALONE, len(whole))
        total = grid.whole
        changes["grand"] = -1 if total is None or fixed[total] or never[total] else total
        return System(values, published, rows_of(whole), fixed, least, greatest, costs, never, **changes)

    def suppressed_sums(self, counted: Counted, unsafe: Flags, width: Floats, hidden: Flags) -> CellSuppression:
        """Return what is suppressed that sums are protected, too; raises as ``protect``.

        Args:
            unsafe: the cells whose counts are; they may be empty, and sum up to 0.
            width: by how much each sum must be uncertain.
            hidden: the cells that are suppressed already.
        """
        assert counted.amounts is not None
        unit = 2.0 ** np.ceil(np.log2(max(counted.amounts.max(initial=0.0), NEAR) / LARGEST))
        amounts = counted.amounts / unit
        wide = np.where(width > 0, np.maximum(width / unit, 1_000 * NEAR), 0.0)
        least, greatest = np.where(unsafe, 0.0, np.maximum(amounts - wide, 0.0)), amounts + wide
        # sums are of records: they add up also where persons have several categories
        grid = counted.grid.of_records()
        found = self.suppressed(grid, self.system_of(grid, amounts, hidden, least, greatest, whole=False), exact=False)
        return replace(found, witnesses=[(cells, changes * unit) for cells, changes in found.witnesses])

    def suppressed(self, grid: Grid, system: System, *, exact: bool = True) -> CellSuppression:
        """Return a suppression that protects; raises as ``protect``."""
        first, limit = None, max(self._until - time.monotonic(), self._rules.time_limit / 4)
        until = time.monotonic() + limit
        if len(grid) > FEW and has_moves(grid) and len(system) == len(grid):
            first = suppress_by_moves(grid, system, limit / 2)
            if first.optimal or len(grid) > LARGE:
                return first
        left, begun = until - time.monotonic(), None if first is None else first.suppressed
        try:
            found = suppress(system, left, exact=exact, begun=begun, report=self._report)
        except SearchStoppedError:
            whole = grid.with_joint() if len(system) > len(grid) else grid
            if first is not None or not has_moves(whole):
                raise
            return suppress_late(whole, system, max(0.0, until - time.monotonic()))
        return found if first is None else replace(found, witnesses=[*first.witnesses, *found.witnesses])


def _with_further(system: System, wanted: Mapping[int, float]) -> System:
    """Return a system with further cells that are suppressed, and by how much each must be able to fall or grow."""
    unsafe, least, greatest = system.unsafe.copy(), system.least.copy(), system.greatest.copy()
    for cell, by in wanted.items():
        value = system.values[cell]
        unsafe[cell], least[cell], greatest[cell] = True, value + min(by, 0.0), value + max(by, 0.0)
    return replace(system, unsafe=unsafe, least=least, greatest=greatest)


def _padded(values: Any, rest: Any, size: int) -> Any:
    return np.pad(values, (0, size - len(values)), constant_values=rest)


def _is_joint(grid: Grid, most: int) -> bool:
    """Return whether the cells of the table of all dimensions are the unknowns."""
    finest = [len(d.categories(d.levels[0])) for d in grid.dimensions]
    return int(np.prod(finest, dtype=np.float64)) <= most and not any(d.several for d in grid.dimensions)


def rows_of(grid: Grid) -> SparseRows:
    """Return the relations of the cells."""
    return SparseRows.of(_relations(grid))


def _relations(grid: Grid) -> Iterator[tuple[list[int], list[float], float, float]]:
    """Yield the relations of parents and children as rows."""
    for step in grid.steps():
        is_sum = grid.is_sum(*step)
        for parent, own in grid.parts(*step).items():
            yield [*own, parent], [*[1.0] * len(own), -1.0], 0.0, 0.0 if is_sum else np.inf
            if not is_sum:
                yield from (([parent, child], [1.0, -1.0], 0.0, np.inf) for child in own)
    yield from _overlaps(grid)


def _overlaps(grid: Grid) -> Iterator[tuple[list[int], list[float], float, float]]:
    """Yield that the parts of a cell exceed it by no more than those of a cell around it do, as rows.

    An entity that several parts of a cell count is counted by as many parts of the cell around, at least.
    """
    pairs = [(f, c) for f, c in permutations(range(len(grid.sets)), 2) if is_finer(grid.sets[f], grid.sets[c])]
    parts = {pair: grid.parts(*pair) for pair in pairs if not grid.is_sum(*pair)}
    for inner, outer in permutations(parts, 2):
        levels = [grid.sets[number] for number in (*inner, *outer)]
        if not all(
            (f, c) == (of, oc) if f != c else of == oc and is_finer((f,), (of,))
            for f, c, of, oc in zip(*levels, strict=True)
        ):
            continue
        for cell, above in enumerate(grid.parents(inner[1], outer[1]).tolist(), grid.starts[inner[1]]):
            own, around = parts[inner][cell], parts[outer][above]
            factors = [*[1.0] * len(around), -1.0, *[-1.0] * len(own), 1.0]
            yield [*around, above, *own, cell], factors, 0.0, np.inf
