"""Which cells are suppressed: all unsafe ones, and others that keep them from being computed.

**Model.** The unknowns are the cells (in whole numbers, for counts), with a relation for each parent; or, where every
contributor has one category a dimension and the table of all dimensions is small, the cells of that table, of which
each published cell is the sum. A *witness* is a table of non-negative numbers that agrees with all that is published
and with the relations. An unsafe count is protected when some witness has at most ``interval[0]`` there, and another at
least ``interval[1]``; an insider learns nothing when a witness that agrees with his own cell differs elsewhere.

**Search.** A first suppression comes from ``heuristic``, the least and its proof from ``exact``. Sums are protected
after counts, by the heuristic alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from sqlanon.counts.certificate import Evidence
from sqlanon.counts.counting import Counted, Floats
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.exact import suppress, suppress_by_moves
from sqlanon.counts.facts import ALONE, CellSuppression, Flags, SparseRows, System
from sqlanon.counts.grid import CellRelation, Grid, Numbers, is_finer
from sqlanon.counts.keys import CountsFacts
from sqlanon.counts.moves import Vector, has_moves
from sqlanon.counts.perturbing import perturbed_counts
from sqlanon.counts.rounding import check_ranges, rounded_counts
from sqlanon.errors import NoSolutionError

NEAR = 1e-6
FEW, LARGE = 600, 3_000
"""Up to so many cells programs protect; beyond them moves do first, and beyond the second number alone."""
LARGEST = 1e6
"""What sums are brought to before a solver sees them: its tolerance is not relative."""


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
        values: of each cell, the count that is shown unless it is suppressed: as it is, rounded, or with noise.
        steps: of counts that are rounded so that they add up, within how many multiples they are.
        witnesses: of counts, and of sums: tables that fit what is shown, by what they differ in from the truth.
        evidence: what shows that suppression protects counts, and is the least; None where there is none.
    """

    suppressed: Flags
    unsafe: int
    complementary: int
    system: str
    optimal: bool
    weight: float
    lower_bound: float
    how: str
    values: Numbers
    steps: int = 1
    witnesses: tuple[list[Vector], ...] = ()
    evidence: Evidence | None = None

    def shown(self, counted: Counted) -> Counted:
        """Return the cells with the counts that are shown."""
        return replace(counted, contributors=self.values)

    @property
    def suppressed_cells(self) -> int:
        """How many cells are suppressed."""
        return int(self.suppressed.sum())

    @property
    def gap(self) -> float:
        """The share of the weight that might be saved at most."""
        return (self.weight - self.lower_bound) / self.weight if self.weight else 0.0


def unsafe_by_rule(counted: Counted, policy: CountsPolicy) -> dict[str, Flags]:
    """Return of each rule which published cells are unsafe by it."""
    grid, rules, values = counted.grid, policy.rules, counted.contributors
    small = (values > 0) & (values < rules.threshold)
    found = {"threshold": small, "groups": _alone_in_rows(counted, policy)}
    if counted.amounts is not None:
        by_share, by_guess, first = _lacking(counted, policy)
        found |= {"dominance": (by_share > NEAR) & (first > 0), "p_percent": (by_guess > NEAR) & (first > 0)}
    return {rule: own & grid.is_published for rule, own in found.items()}


def _alone_in_rows(counted: Counted, policy: CountsPolicy) -> Flags:
    """Return which cells hold all contributors of a row of a sensitive dimension."""
    grid, rules, values = counted.grid, policy.rules, counted.contributors
    unsafe = np.zeros(len(grid), bool)
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
    return unsafe


def unsafe_counts(counted: Counted, policy: CountsPolicy) -> Flags:
    """Return which published cells have an unsafe count."""
    found = unsafe_by_rule(counted, policy)
    return found["threshold"] | found["groups"]


def unsafe_sums(counted: Counted, policy: CountsPolicy, unsafe: Flags) -> tuple[Flags, Floats]:
    """Return which published cells have an unsafe sum, and by how much it must be uncertain to either side.

    Args:
        unsafe: the cells whose counts are.
    """
    by_share, by_guess, first = _lacking(counted, policy)
    found = ((by_share > NEAR) | (by_guess > NEAR) | unsafe) & (first > 0)
    width = np.maximum(np.maximum(by_share, by_guess), np.where(unsafe, policy.rules.p_percent * first, 0.0))
    return found & counted.grid.is_published, np.maximum(width, 0.0)


def _lacking(counted: Counted, policy: CountsPolicy) -> tuple[Floats, Floats, Floats]:
    """Return by how much each sum must be uncertain by dominance and by p %, and its largest contribution."""
    assert counted.amounts is not None
    assert counted.largest is not None
    rules, whole = policy.rules, counted.amounts
    first, second = counted.largest[:, 0], counted.largest[:, 1]
    top = first + (second if rules.dominance.n > 1 else 0.0)
    by_share = top / max(rules.dominance.k, NEAR) - whole
    return by_share, rules.p_percent * first - (whole - first - second), first


@dataclass(frozen=True, slots=True)
class Held:
    """What somebody holds already of the cells that are judged.

    Attributes:
        shown, hidden: by earlier releases, which stand.
        unsafe: would tell what changed since an earlier release.
        own: of the new release.
    """

    shown: Flags
    hidden: Flags
    unsafe: Flags
    own: Flags


def protect(
    counted: Counted,
    policy: CountsPolicy,
    report: Callable[..., None] | None = None,
    held: Held | None = None,
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
        values = perturbed_counts(counted, rules.keys)
        return Protection(nothing, 0, 0, "keys", False, 0.0, 0.0, "keys", values)
    unsafe = unsafe_counts(counted, policy)
    truth = counted.contributors.astype(np.float64)
    primary, width = unsafe, np.zeros(len(grid))
    if counted.amounts is not None:
        sums, width = unsafe_sums(counted, policy, unsafe)
        primary = unsafe | sums
    weights, exempt = _weights(counted, policy), _exempt(counted, rules)
    wide = np.zeros(len(grid), bool)
    if held is not None:
        unsafe = unsafe & (held.own | ~held.shown)
        if ((unsafe | held.unsafe) & held.shown).any():
            raise NoSolutionError("An unsafe cell was shown before.", hint="show coarser levels.", nearest=None)
        primary, exempt, wide = unsafe | held.unsafe, exempt | held.shown, held.unsafe & ~unsafe
        weights = np.where(held.hidden, 0.0, weights)
    low, high = rules.interval or (0, rules.threshold)
    least = np.where(unsafe, low, np.where(wide, np.maximum(truth - rules.threshold, 0), truth))
    greatest = np.where(unsafe, high, np.where(wide, truth + rules.threshold, truth))
    work = _Protecting(grid, rules, weights, exempt, report)
    own = np.where(unsafe & (counted.contributors == 1), np.arange(len(grid)), ALONE)
    waives = not (exempt & (truth > 0)).any()
    insiders: dict[str, Any] = {"contributor": own, "waives": waives} if rules.insiders else {}
    given = (grid, truth, primary, least, greatest)
    unknowns = "joint" if work.has_joint else "published"
    if not rules.suppress:
        system = work.system_of(*given, joint=work.has_joint, **insiders)
        values, steps = rounded_counts(counted, policy, system, np.zeros(len(system), bool))
        check_ranges(system, values, rules, steps)
        return Protection(nothing, int(unsafe.sum()), 0, unknowns, True, 0.0, 0.0, "rounding", values, steps)
    proven = work.suppressed(*given, **insiders)
    hidden = proven.suppressed
    if counted.amounts is not None:
        hidden = work.suppressed_sums(counted, unsafe, np.where(primary, width, 0.0), hidden)
    complementary = hidden & ~primary
    weight = float(weights[complementary].sum())
    values, steps = counted.contributors, 1
    if rules.round is not None:
        system = work.system_of(*given, joint=work.has_joint, **insiders)
        values, steps = rounded_counts(counted, policy, system, _padded(hidden, len(system) - len(grid), False))
    return Protection(
        hidden,
        int(primary.sum()),
        int(complementary.sum()),
        unknowns,
        weight <= proven.lower_bound,
        weight,
        proven.lower_bound,
        proven.how,
        values,
        steps,
        tuple(work.witnesses),
        work.evidence,
    )


class _Protecting:
    """Makes systems of the cells of a release, and suppresses in them; keeps the witnesses that moves found."""

    def __init__(
        self, grid: Grid, rules: CountsFacts, weights: Floats, exempt: Flags, report: Callable[..., None] | None
    ) -> None:
        self._rules, self._weights, self._exempt, self._report = rules, weights, exempt, report
        self._until = time.monotonic() + rules.time_limit  # sums have a quarter of it, at least
        self.has_joint = _is_joint(grid, rules.joint)
        self.witnesses: list[list[Vector]] = []
        self.evidence: Evidence | None = None

    def system_of(
        self, grid: Grid, values: Floats, fixed: Flags, least: Floats, greatest: Floats, *, joint: bool, **changes: Any
    ) -> System:
        """Return what must be protected: of the unsafe cells, what some table has at most and another at least."""
        further = _joint_cells(grid) if joint else 0
        parts = [(values, 0.0), (grid.is_published, False), (fixed & grid.is_published, False)]
        parts += [(least, 0.0), (greatest, 0.0), (self._weights, 1.0), (self._exempt, False)]
        values, published, fixed, least, greatest, costs, never = (_padded(part, further, rest) for part, rest in parts)
        if "contributor" in changes:
            changes["contributor"] = _padded(changes["contributor"], further, ALONE)
        return System(values, published, _rows(grid, joint=joint), fixed, least, greatest, costs, never, **changes)

    def suppressed_sums(self, counted: Counted, unsafe: Flags, width: Floats, hidden: Flags) -> Flags:
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
        given = (counted.grid.of_records(), amounts, hidden, least, greatest)
        found = self.suppressed(*given, exact=False, whole=False).suppressed
        self.witnesses[-1] = [(cells, changes * unit) for cells, changes in self.witnesses[-1]]
        return found

    def suppressed(self, grid: Grid, *given: Any, exact: bool = True, **changes: Any) -> CellSuppression:
        """Return a suppression that protects; raises as ``protect``."""
        begun, limit = None, max(self._until - time.monotonic(), self._rules.time_limit / 4)
        until = time.monotonic() + limit
        self.witnesses.append([])
        joint = _is_joint(grid, self._rules.joint)  # sums are of records: also where persons have several categories
        # where a table shows the cells of all dimensions, the joint ones are these
        if len(grid) > FEW and has_moves(grid) and (not joint or _shows_all(grid)):
            system = self.system_of(grid, *given, joint=False, **changes)
            first, vectors = suppress_by_moves(grid, system, limit / 2)
            self.witnesses[-1] += vectors
            if first.optimal or len(grid) > LARGE:
                self.evidence = self.evidence or Evidence(system, 0.0, (), vectors)
                return first
            begun = first.suppressed
        system = self.system_of(grid, *given, joint=joint, **changes)
        begun = None if begun is None else _padded(begun, len(system) - len(grid), False)
        left = until - time.monotonic()
        proven = suppress(system, left, exact=exact, begun=begun, report=self._report)
        found, own = proven.suppression, [] if proven.work is None else proven.work.witnesses.vectors()
        vectors = [*self.witnesses[-1], *own]
        self.evidence = self.evidence or Evidence(system, found.lower_bound, proven.cuts, vectors)
        return replace(found, suppressed=found.suppressed[: len(grid)])


def _exempt(counted: Counted, rules: CountsFacts) -> Flags:
    """Return which cells are not suppressed to protect others: such as have no row, and totals if they are exempt."""
    without_row: Flags = (counted.contributors == 0) & (rules.zeros == "omit")
    totals: Flags = (counted.grid.all_keys == 0).any(axis=1)
    return without_row | totals if rules.never == "totals" else without_row


def _padded(values: Any, further: int, rest: Any) -> Any:
    return np.pad(values, (0, further), constant_values=rest)


def _shows_all(grid: Grid) -> bool:
    """Return whether a table shows the cells of all dimensions at their finest levels."""
    finest = tuple(d.levels[0] for d in grid.dimensions)
    return any(levels == finest and own for levels, own in zip(grid.sets, grid.published, strict=True))


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


def _rows(grid: Grid, *, joint: bool) -> SparseRows:
    """Return the relations of the cells, and of those of the table of all dimensions, which follow them."""
    return SparseRows.of([*_relations(grid), *(_joint_rows(grid) if joint else ())])


def _relations(grid: Grid) -> Iterator[tuple[list[int], list[float], float, float]]:
    """Yield the relations of parents and children as rows."""
    for step in grid.steps():
        for parent, own in _by_parent(step).items():
            yield [*own, parent], [*[1.0] * len(own), -1.0], 0.0, 0.0 if step.exact else np.inf
            if not step.exact:
                for child in own:
                    yield [parent, child], [1.0, -1.0], 0.0, np.inf
    yield from _overlaps(grid)


def _overlaps(grid: Grid) -> Iterator[tuple[list[int], list[float], float, float]]:
    """Yield that the parts of a cell exceed it by no more than those of a cell around it do, as rows.

    An entity that several parts of a cell count is counted by as many parts of the cell around, at least.
    """
    numbers = range(len(grid.sets))
    pairs = [(f, c) for f in numbers for c in numbers if f != c and is_finer(grid.sets[f], grid.sets[c])]
    found = {pair: relation for pair in pairs if not (relation := grid.relation(*pair)).exact}
    parts = {pair: _by_parent(relation) for pair, relation in found.items()}
    for (fine, coarse), (outer_fine, outer_coarse) in permutations(found, 2):
        levels = [grid.sets[number] for number in (fine, coarse, outer_fine, outer_coarse)]
        if not all(
            (f, c) == (of, oc) if f != c else of == oc and is_finer((f,), (of,))
            for f, c, of, oc in zip(*levels, strict=True)
        ):
            continue
        keys = grid.keys(coarse)
        above = [d.up(keys[:, p], levels[3][p]) for p, d in enumerate(grid.dimensions)]
        for cell, outer in enumerate(grid.cells(outer_coarse, np.stack(above, axis=1)).tolist(), grid.starts[coarse]):
            inner, around = parts[fine, coarse][cell], parts[outer_fine, outer_coarse][outer]
            factors = [*[1.0] * len(around), -1.0, *[-1.0] * len(inner), 1.0]
            yield [*around, outer, *inner, cell], factors, 0.0, np.inf


def _by_parent(step: CellRelation) -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for child, parent in zip(step.children.tolist(), step.parents.tolist(), strict=True):
        children.setdefault(parent, []).append(child)
    return children


def _joint_cells(grid: Grid) -> int:
    return int(np.prod([len(d.categories(d.levels[0])) for d in grid.dimensions], dtype=np.int64))


def _joint_rows(grid: Grid) -> Iterator[tuple[list[int], list[float], float, float]]:
    """Yield each cell as the sum of cells of the table of all dimensions."""
    finest = [d.categories(d.levels[0]) for d in grid.dimensions]
    joint = np.stack([part.reshape(-1) for part in np.meshgrid(*finest, indexing="ij")], axis=1)
    for number, levels in enumerate(grid.sets):
        above = [d.up(joint[:, p], levels[p]) for p, d in enumerate(grid.dimensions)]
        own = grid.cells(number, np.stack(above, axis=1))
        for cell in range(grid.starts[number], grid.starts[number + 1]):
            parts = (np.flatnonzero(own == cell) + len(grid)).tolist()
            yield [*parts, cell], [*[1.0] * len(parts), -1.0], 0.0, 0.0
