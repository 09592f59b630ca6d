"""What a certificate of counts claims, judged by the cells as they were counted.

- *Protection.* Each witness is a table of whole numbers. That it keeps all relations, agrees with what is shown and
  meets demands is arithmetic of whole numbers; no solver is asked.
- *Least weight.* No inequality is stated: it is computed here in whole numbers, as ``cuts`` proves, from multipliers
  and relations of the certificate, each of which must be a relation of the cells. What rests on whole numbers alone, an
  inequality that was tried or an insider from whom nothing keeps a cell, is solved again. HiGHS is trusted for these,
  and for the least weight under all inequalities.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from sqlanon.counts.certificate import MOST
from sqlanon.counts.counting import Counted
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.facts import SparseRows
from sqlanon.counts.grid import Grid
from sqlanon.counts.programs import program, set_whole, solved
from sqlanon.counts.reader import joint_places, numbers_of, relations_of
from sqlanon.counts.unsafe import exempt_cells, unsafe_counts, unsafe_sums, weights_of
from sqlanon.errors import InputError, SearchStoppedError

VERIFYING = "Verifying a certificate of counts"
PARTS = 5_040
"""A multiplier is so many parts of 1."""
NEAR = 1e-6
"""HiGHS's own tolerance."""
Row = frozenset[tuple[int, int]]
"""Cells with their factors: the sum of the products is 0, or at least 0."""
Demand = tuple[int, int, int]
"""A cell, 1 or -1, and the value that a witness has at least or at most."""


@dataclass(frozen=True, slots=True)
class StatedCut:
    """An inequality: whose demand is not met, and multipliers of relations for each, or the cells that were tried."""

    cell: int
    sign: int
    known: int
    multipliers: Sequence[Mapping[int, int]]
    tried: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class Stated:
    """A certificate as read."""

    suppressed: frozenset[int]
    relations: Sequence[tuple[Mapping[int, int], bool]]
    witnesses: Sequence[Mapping[int, int]]
    waived: frozenset[tuple[int, int]]
    cuts: Sequence[StatedCut]
    weight: float
    lower_bound: float
    gap: float
    optimal: bool

    @classmethod
    def of(cls, document: Mapping[str, Any], grid: Grid, joint: int) -> Stated:
        """Read a certificate; unknowns are numbered from 0, the cells first, then those of all dimensions.

        Raises:
            InputError: it is not well formed.
        """

        def read(value: Any, shape: Any) -> Any:
            """Return a value of a shape: a whole number among some, or a list of a shape, or of one for each."""
            if isinstance(shape, list | tuple):
                if type(value) is not list:
                    raise ValueError("no list")
                shapes = shape if isinstance(shape, tuple) else shape * len(value)
                return [read(*both) for both in zip(value, shapes, strict=True)]
            if type(value) is not int or value not in shape:
                raise ValueError("no whole number of its range")
            return value

        def pairs(listed: Any, keys: range) -> dict[int, int]:
            found: dict[int, int] = dict(read(listed, [(keys, range(-MOST, MOST + 1))]))
            if len(found) < len(listed):
                raise ValueError("named twice")
            return found

        def figure(name: str) -> float:
            if type(document[name]) not in (int, float) or not 0 <= document[name] <= MOST:
                raise ValueError("no number of its range")
            return float(document[name])

        def cut(own: Any, sign: Any, known: Any, why: Any) -> StatedCut:
            tried = frozenset(read(why["tried"], [cell])) if isinstance(why, dict) else None
            parts = [] if tried is not None else [pairs(each, range(len(relations))) for each in why]
            own, sign, known = read([own, sign, known], (cell, {-1, 1}, range(-1, len(grid))))
            return StatedCut(own, sign, known, parts, tried)

        cell, unknown = range(len(grid)), range(len(grid) + len(joint_places(grid, joint)))
        try:
            relations = [(pairs(row, unknown), read(flag, {0, 1}) == 1) for row, flag in document["relations"]]
            if type(document["optimal"]) is not bool:
                raise ValueError("no flag")
            return cls(
                frozenset(read(document["suppressed"], [cell])),
                relations,
                [pairs(each, unknown) for each in document["witnesses"]],
                frozenset(map(tuple, read(document["waived"], [(cell, cell)]))),
                [cut(*each) for each in document["inequalities"]],
                figure("weight"),
                figure("lower_bound"),
                figure("gap"),
                document["optimal"],
            )
        except (KeyError, TypeError, ValueError):
            pass
        raise InputError("The certificate is not well formed.", hint="give the certificate as it was written.")


class Judge:
    """Judges one certificate.

    Args:
        blame: told each fault.
    """

    def __init__(self, counted: Counted, asked: CountsPolicy, stated: Stated, blame: Callable[[str], None]) -> None:
        grid, rules, values = counted.grid, asked.rules, counted.contributors
        self._stated, self._blame, self._limit = stated, blame, rules.time_limit
        number, joint = numbers_of(grid, rules.joint), joint_places(grid, rules.joint)
        self._same = {cell: number[place] for cell, place in enumerate(joint, len(grid))}
        self._values: list[int] = [*values.tolist(), *[0] * len(joint)]
        self._relations: dict[Row, bool] = {}
        for factors, is_equation in relations_of(grid, number):
            row = frozenset(factors.items())
            self._relations[row] = self._relations.get(row, False) or is_equation
        self._rows = SparseRows.of(
            ([cell for cell, _ in row], [factor for _, factor in row], 0.0, 0.0 if is_equation else np.inf)
            for row, is_equation in self._relations.items()
        )
        self.shown = _cells(grid.is_published)
        counts = unsafe_counts(counted, asked)
        self._counts = _cells(counts)
        self._unsafe = self._counts | (
            set() if counted.amounts is None else _cells(unsafe_sums(counted, asked, counts)[0])
        )
        self._range = rules.interval or (0, rules.threshold)
        self._insiders = {cell for cell in self._counts if values[cell] == 1 and rules.insiders}
        exempt = exempt_cells(counted, rules)
        self._may = self.shown - self._unsafe - _cells(exempt)
        self._waives = not (exempt & (values > 0)).any()
        self._weights: list[float] = weights_of(counted, asked).tolist()

    def run(self) -> tuple[float, float]:
        """Judge the certificate; return the weight of the suppression, and the bound of it that holds."""
        stated, blame = self._stated, self._blame
        weight = math.fsum(self._weights[cell] for cell in stated.suppressed - self._unsafe)
        if not self._unsafe <= stated.suppressed <= self._unsafe | self._may:
            blame("An unsafe cell is not suppressed, or a cell is that no table shows or that may not be.")
            return weight, 0.0
        if abs(weight - stated.weight) > 1e-9 * weight:
            blame("The weight is not that of the suppressed cells.")
        self._check_protection()
        found = [self._inequality(cut) for cut in stated.cuts]
        cuts = [cut for cut in found if cut is not None]
        holds = len(cuts) == len(found) and (stated.lower_bound <= 0 or self._weighs_at_least(stated.lower_bound, cuts))
        if not holds:
            blame("The lower bound does not follow from the inequalities.")
        gap = (stated.weight - stated.lower_bound) / stated.weight if stated.weight else 0.0
        if stated.optimal != (stated.weight <= stated.lower_bound) or not 0 <= gap == stated.gap:
            blame("The weight and its bound do not show what the certificate says of the optimum.")
        return weight, stated.lower_bound if holds else 0.0

    def _demands(self, cell: int, sign: int, known: int) -> list[Demand]:
        """Return the demands, one of which is enough, of a cell, a sign and an insider's cell; or nothing."""
        value = self._values[cell]
        if known >= 0:
            every = [(cell, 1, value + 1), (cell, -1, value - 1)][: 2 if value else 1]
            return every if known in self._insiders and cell in self._unsafe and cell != known else []
        wanted = self._range[sign > 0]
        return [(cell, sign, wanted)] if cell in self._counts and sign * (value - wanted) < 0 else []

    def _check_protection(self) -> None:
        """Check that each witness is a table that agrees with what is shown, and that all demands are met."""
        blame, stated, rows = self._blame, self._stated, self._rows
        truth, factors = np.array(self._values, np.int64), rows.factors.astype(np.int64)
        witnesses = np.tile(truth, (len(stated.witnesses), 1))
        for witness, changes in zip(witnesses, stated.witnesses, strict=True):
            for cell, change in changes.items():
                witness[cell] += change if self._same.get(cell, cell) == cell else 0
            sums = np.diff(np.cumsum(np.append(0, factors * witness[rows.columns]))[rows.starts])
            if (witness < 0).any() or (sums < 0).any() or sums[rows.upper == 0].any():
                blame("A witness is no table: a value is below 0, or a relation of the cells does not hold.")
        moved = witnesses != truth
        if moved[:, sorted(self.shown - stated.suppressed)].any():
            blame("A witness changes a cell that is shown.")
        for cell, sign in product(self._counts, (1, -1)):
            if any(
                not (sign * (witnesses[:, cell] - value) >= 0).any() for _, _, value in self._demands(cell, sign, -1)
            ):
                blame("No witness shows that an unsafe cell is protected.")
        unsafe, insiders = sorted(self._unsafe), sorted(self._insiders)
        keeping = (~moved[:, insiders]).astype(np.float32)
        uncertain = keeping.T @ moved[:, unsafe].astype(np.float32) > 0
        for known, is_met in zip(insiders, uncertain.tolist(), strict=True):
            for other in [cell for cell, met in zip(unsafe, is_met, strict=True) if not met and cell != known]:
                if not self._waives or (known, other) not in stated.waived:
                    blame("No witness shows that an insider does not know another unsafe cell.")
                elif self._is_possible(self._demands(other, 0, known), known, self._may):
                    blame("An insider can be kept from an unsafe cell, which the certificate denies.")

    def _is_possible(self, demands: Sequence[Demand], known: int, further: frozenset[int]) -> bool:
        """Return whether some table of whole numbers meets a demand, where further cells are suppressed."""
        closed, values = np.zeros(len(self._values), bool), np.array(self._values, np.float64)
        closed[[*(self.shown - self._unsafe - further | {known} - {-1})]] = True
        for cell, sign, wanted in demands:
            low, high = np.where(closed, values, 0.0), np.where(closed, values, np.inf)
            if sign > 0:
                low[cell] = max(low[cell], wanted)
            else:
                high[cell] = min(high[cell], wanted)
            is_there = low[cell] <= high[cell] and self._solved(program(VERIFYING, self._rows, low, high, whole=True))
            if is_there is None:
                raise _stopped()
            if is_there:
                return True
        return False

    def _solved(self, solver: Any) -> bool | None:
        """Return whether a program has a best solution, None if the time limit came first."""
        return solved(solver, self._limit, cancels=True)

    def _inequality(self, cut: StatedCut) -> dict[int, Fraction] | None:
        """Return the coefficients of ``Σ a · y >= 1``; None, with a fault, if nothing shows it."""
        demands = self._demands(cut.cell, cut.sign, cut.known)
        if not demands or (cut.known, cut.cell) in self._stated.waived:
            return self._blame("An inequality is of a demand that there is not.")
        if cut.tried is not None:
            if not cut.tried <= self._may or self._is_possible(demands, cut.known, self._may - cut.tried):
                return self._blame("An inequality that whole numbers alone are to show does not hold.")
            return dict.fromkeys(cut.tried, Fraction(1))
        if len(cut.multipliers) != len(demands):
            return self._blame("An inequality lacks the multipliers of a demand.")
        found: dict[int, Fraction] = {}
        for demand, multipliers in zip(demands, cut.multipliers, strict=True):
            own = self._coefficients(demand, cut.known, multipliers)
            if own is None:
                return None
            found |= {cell: max(found.get(cell, Fraction(0)), coefficient) for cell, coefficient in own.items()}
        return found

    def _coefficients(self, demand: Demand, known: int, multipliers: Mapping[int, int]) -> dict[int, Fraction] | None:
        """Return what multipliers of relations show of a demand; all relations are bounded by 0, which adds nothing."""
        blame, (cell, sign, wanted) = self._blame, demand
        rest = Counter({cell: sign * PARTS})
        for number, multiplier in multipliers.items():
            stated, is_equation = self._stated.relations[number]
            factors = Counter[int]()
            for each, factor in stated.items():
                factors[self._same.get(each, each)] += factor
            row = frozenset((each, factor) for each, factor in factors.items() if factor)
            if row and (row not in self._relations or is_equation > self._relations[row]):
                return blame("A relation of the certificate is none of the cells.")
            if multiplier > 0 and not is_equation:
                return blame("A multiplier has the wrong sign: its relation has no upper bound.")
            for each, factor in row:
                rest[each] -= multiplier * factor
        if any(factor > 0 and each not in self.shown for each, factor in rest.items()):
            return blame("Multipliers show nothing: what no table shows may be as large as it likes.")
        terms = {each: factor * self._values[each] for each, factor in rest.items() if each in self.shown}
        lacking = sign * wanted * PARTS - sum(terms.values())
        helps = {
            each: term if rest[each] <= 0 else None for each, term in terms.items() if rest[each] and each != known
        }
        for each in helps.keys() & self._unsafe:
            term = helps[each]
            lacking = 0 if term is None else lacking + term
            if lacking <= 0:
                return blame("Multipliers show nothing: the unsafe cells alone may be enough.")
        if lacking <= 0:
            return blame("Multipliers show nothing: the demand is met by what is shown.")
        return {
            each: Fraction(1) if term is None else min(Fraction(-term, lacking), Fraction(1))
            for each, term in helps.items()
            if each in self._may and term != 0
        }

    def _weighs_at_least(self, bound: float, cuts: Sequence[Mapping[int, Fraction]]) -> bool:
        """Return whether every suppression that fulfils inequalities has at least some weight.

        A cell that is suppressed alone in an equation of shown cells is computed, and protects nothing: of the
        suppressions of least weight, one has none.
        """
        cells = sorted(self._may)
        place = {cell: position for position, cell in enumerate(cells)}
        weights = np.array([self._weights[cell] for cell in cells])
        is_whole = bool((weights == np.rint(weights)).all())
        # a coefficient is rounded up, which weakens its inequality
        rows = [({cell: math.nextafter(float(factor), 2.0) for cell, factor in cut.items()}, 1.0) for cut in cuts]
        for row, is_equation in self._relations.items():
            own = {cell for cell, _ in row}
            if is_equation and own <= self.shown and not own & self._unsafe:
                own &= self._may
                rows += [({each: -1.0 if each == cell else 1.0 for each in own}, 0.0) for cell in own]
        nothing = np.zeros(len(cells))
        listed = (([place[cell] for cell in row], [*row.values()], least, np.inf) for row, least in rows)
        highs = program(VERIFYING, SparseRows.of(listed), nothing, nothing + 1, weights)
        highs.setOptionValue("mip_abs_gap", 0.999 if is_whole else NEAR)
        for whole in (False, True):
            set_whole(highs, whole)
            is_solved, info = self._solved(highs), highs.getInfo()
            least = info.mip_dual_bound if whole else info.objective_function_value if is_solved else math.inf
            if math.isfinite(least):
                least -= (1.0 if is_whole else 0.5) * NEAR * max(1.0, abs(least))
                if bound <= (math.ceil(least) if is_whole else least):
                    return True
        if is_solved is None:
            raise _stopped()
        return False


def _stopped() -> SearchStoppedError:
    return SearchStoppedError(
        "The time limit of the document came before the certificate was judged.", hint="verify it on a faster machine."
    )


def _cells(flags: Any) -> frozenset[int]:
    return frozenset(np.flatnonzero(flags).tolist())
