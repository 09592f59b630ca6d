"""The verification of a certificate of counts: what it claims is judged anew from the source, apart from the search.

Nothing of the search takes part: neither its programs, cuts and heuristics nor the relations that it wrote down. What is
shared defines the claim: the document, the counting of cells and their numbers, and which cells are unsafe.

- *Protection.* Each witness is a table of whole numbers. That it keeps all relations, agrees with what is shown and
  meets a demand is arithmetic of whole numbers; no solver is asked.
- *Least weight.* An inequality is not stated: it is computed here in whole numbers from the multipliers and relations
  of the certificate, each of which must be a relation of the cells as they are counted now. What rests on whole numbers
  alone, an inequality that was tried or an insider from whom nothing can keep a cell, is solved again. HiGHS is trusted
  for these, and for the least weight that fulfils all inequalities.
- *Release.* The rows that the suppression makes of the source are audited; those that were written must be the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.journal import Step, Watcher
from sqlanon.core.highs import highs_module
from sqlanon.core.policy.paths import is_database
from sqlanon.core.publish.proof_file import digest
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.source.opening import Source, open_source
from sqlanon.core.verifying import Verification
from sqlanon.counts.certificate import MOST, VERSION, cells_digest
from sqlanon.counts.counting import Counted, count_cells
from sqlanon.counts.document import CountsPolicy, as_counts_policy
from sqlanon.counts.grid import Grid, Levels, is_finer
from sqlanon.counts.protecting import unsafe_counts, unsafe_sums
from sqlanon.counts.released import released_rows
from sqlanon.counts.written import audit_written
from sqlanon.errors import AuditError, InputError, SearchStoppedError, SourceError

PARTS = 5_040
"""A multiplier is so many parts of 1."""
NEAR = 1e-6
"""HiGHS's own tolerance."""
Row = Mapping[int, int]
"""Cells with their factors: the sum of the products is at least 0, or 0."""
Demand = tuple[int, int, int]
"""A cell, 1 or -1, and the value that a witness has at least or at most."""


@dataclass(slots=True)
class CountsVerification(Verification):
    """The result of verifying a certificate of counts.

    Attributes:
        cells, suppressed: of the tables.
        witnesses, inequalities: how many were checked.
        weight: of the complementary cells; ``lower_bound`` is the least that the inequalities leave.
    """

    cells: int = 0
    suppressed: int = 0
    witnesses: int = 0
    inequalities: int = 0
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class _Cut:
    """An inequality as the certificate has it: whose demand is not met, and for each demand multipliers, or cells."""

    cell: int
    sign: int
    known: int
    multipliers: Sequence[Mapping[int, int]]
    tried: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class _Stated:
    """A certificate as read."""

    suppressed: frozenset[int]
    relations: Sequence[tuple[Row, bool]]
    witnesses: Sequence[Mapping[int, int]]
    waived: frozenset[tuple[int, int]]
    cuts: Sequence[_Cut]
    weight: float
    lower_bound: float
    optimal: bool


def verify_counts(
    document: Mapping[str, Any], policy: object, source: object = None, *, watch: Watcher | None = None
) -> CountsVerification:
    """Verify the certificate of a release of counts against its source; behind the door of ``sqlanon.verify``.

    Raises:
        InputError and its children: the certificate, the document or the source is unusable.
        SearchStoppedError: the time limit came before the least weight was known.
    """
    asked, result = as_counts_policy(policy), CountsVerification()
    if document.get("certificate_version") != VERSION:
        raise InputError(
            f"This is no certificate of counts of version {VERSION}.", hint="verify it with the version that wrote it."
        )
    if document.get("sha256") != digest(document):
        result.blame("The certificate was changed after it was written: its digest differs.")
    if document.get("policy_fingerprint") != asked.fingerprint():
        result.blame("The certificate is of another document of counts: tables, rules or source differ.")
        return result
    if watch is not None:
        watch(Step("reading"))
    with open_policy_source(source, asked.policy) as opened:
        opened.engine.journal.watched_by(watch)
        opened.engine.journal.report("counting")
        counted = count_cells(opened, asked)
        if document.get("cells_sha256") != cells_digest(counted):
            result.blame("The source has other cells than it had when the certificate was written.")
            return result
        opened.engine.journal.report("protecting")
        stated = _read(document, counted.grid, asked.rules.joint)
        _Verifier(counted, asked, stated, result).run()
        if result.holds:
            _check_release(opened, counted, asked, stated, result)
    return result


def _whole(value: Any, least: int = -MOST, most: int = MOST) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError("no whole number of its range")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= MOST:
        raise ValueError("no number of its range")
    return float(value)


def _read(document: Mapping[str, Any], grid: Grid, joint: int) -> _Stated:
    """Return what a certificate states.

    Raises:
        InputError: it is not well formed.
    """
    shown, size = len(grid), len(grid) + len(_joint_places(grid, joint))

    def pairs(listed: Any, most: int) -> dict[int, int]:
        found = {_whole(place, 0, most - 1): _whole(number) for place, number in listed}
        if len(found) < len(listed):
            raise ValueError("named twice")
        return found

    def cut_of(cell: Any, sign: Any, known: Any, why: Any) -> _Cut:
        tried = frozenset(_whole(c, 0, shown - 1) for c in why["tried"]) if isinstance(why, dict) else None
        parts = [pairs(each, len(relations)) for each in why] if tried is None else []
        if _whole(sign, -1, 1) == 0:
            raise ValueError("no sign")
        return _Cut(_whole(cell, 0, shown - 1), sign, _whole(known, -1, shown - 1), parts, tried)

    try:
        relations = [(pairs(row, size), bool(_whole(is_equation, 0, 1))) for row, is_equation in document["relations"]]
        if type(document["optimal"]) is not bool:
            raise ValueError("no flag")
        return _Stated(
            frozenset(_whole(cell, 0, shown - 1) for cell in document["suppressed"]),
            relations,
            [pairs(each, size) for each in document["witnesses"]],
            frozenset((_whole(one, 0, shown - 1), _whole(other, 0, shown - 1)) for one, other in document["waived"]),
            [cut_of(*row) for row in document["inequalities"]],
            _number(document["weight"]),
            _number(document["lower_bound"]),
            document["optimal"],
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(
            "The certificate is not well formed.", hint="give the certificate as it was written."
        ) from None


def _joint_places(grid: Grid, most: int) -> list[tuple[int, ...]]:
    """Return the cells of all dimensions where these are unknowns beside the cells of the tables."""
    finest = [d.categories(d.levels[0]).tolist() for d in grid.dimensions]
    if math.prod(map(len, finest)) > most or any(d.several for d in grid.dimensions):
        return []
    return list(product(*finest))


def _weight(place: Sequence[int], cell: int, counted: Counted, asked: CountsPolicy) -> float:
    """Return what suppressing a cell costs."""
    given = asked.rules.weights
    if isinstance(given, str):
        return float(max(counted.contributors[cell], 1)) if given == "records" and cell < len(counted.grid) else 1.0
    own = zip(asked.dimensions, place, strict=True)
    return math.prod(float(given.get(name, 1)) for name, category in own if category)


def _relations(grid: Grid, joint: Sequence[tuple[int, ...]], number: Mapping[Any, int]) -> Iterator[tuple[Row, bool]]:
    """Yield what relates the unknowns, with whether it is an equation; parents and children of all pairs of sets.

    An entity in several parts of a cell is in as many parts of a cell around it, where different parts of the one lie
    in different parts of the other. So the parts of the first exceed it by no more than those of the second do theirs.
    """

    def above(place: Sequence[int], levels: Levels) -> int:
        steps = zip(grid.dimensions, place, levels, strict=True)
        return number[tuple(0 if level is None else int(d.above[level][c]) for d, c, level in steps)]

    loose: dict[tuple[Levels, Levels], dict[int, list[int]]] = {}
    places = {levels: [tuple(key) for key in grid.keys(n).tolist()] for n, levels in enumerate(grid.sets)}
    finest: Levels = tuple(d.levels[0] for d in grid.dimensions)
    fine_sets = dict(places) if not joint or finest in places else {**places, finest: joint}
    for (fine, own), coarse in product(fine_sets.items(), places):
        if fine == coarse or not is_finer(fine, coarse):
            continue
        children: dict[int, list[int]] = {}
        for place in own:
            children.setdefault(above(place, coarse), []).append(number[place])
        steps = zip(grid.dimensions, fine, coarse, strict=True)
        exact = not any(low != high and (low, high) in d.several for d, low, high in steps)
        for parent, parts in children.items():
            yield {**dict.fromkeys(parts, 1), parent: -1}, exact
            if not exact:
                yield from (({parent: 1, part: -1}, False) for part in parts)
        if not exact:
            loose[fine, coarse] = children
    for inner, outer in permutations(loose, 2):
        if all(
            (f, c) == (of, oc) if f != c else of == oc and is_finer((f,), (of,))
            for f, c, of, oc in zip(*inner, *outer, strict=True)
        ):
            for place in places[inner[1]]:
                cell, around = number[place], above(place, outer[1])
                row = Counter({around: -1})
                row.update(loose[outer][around])
                row.update({cell: 1})
                row.subtract(loose[inner][cell])
                yield {c: factor for c, factor in row.items() if factor}, False


class _Verifier:
    """One verification: what must be met, by the cells as they were counted."""

    def __init__(self, counted: Counted, asked: CountsPolicy, stated: _Stated, result: CountsVerification) -> None:
        grid, rules = counted.grid, asked.rules
        self._stated, self._result, self._limit = stated, result, rules.time_limit
        self._module = highs_module("Verifying a certificate of counts")
        self._number = {tuple(key): cell for cell, key in enumerate(grid.all_keys.tolist())}
        joint = _joint_places(grid, rules.joint)
        for place, cell in zip(joint, range(len(grid), len(grid) + len(joint)), strict=True):
            self._number.setdefault(place, cell)
        self._same = {cell: self._number[place] for cell, place in enumerate(joint, len(grid))}
        self.size = len(grid) + len(joint)
        self._values = [*map(int, counted.contributors.tolist()), *[0] * len(joint)]
        self._shown = {*np.flatnonzero(grid.is_published).tolist()}
        counts = unsafe_counts(counted, asked)
        unsafe = counts if counted.amounts is None else counts | unsafe_sums(counted, asked, counts)[0]
        self._counts, self._unsafe = np.flatnonzero(counts).tolist(), {*np.flatnonzero(unsafe).tolist()}
        self._range = rules.interval or (0, rules.threshold)
        self._weights = {cell: _weight(place, cell, counted, asked) for place, cell in self._number.items()}
        exempt = (counted.contributors == 0) & (rules.zeros == "omit")
        if rules.never == "totals":
            exempt |= (grid.all_keys == 0).any(axis=1)
        self._waives = not (exempt & (counted.contributors > 0)).any()
        self._may = self._shown - self._unsafe - {*np.flatnonzero(exempt).tolist()}
        self._insiders = [cell for cell in self._counts if self._values[cell] == 1] if rules.insiders else []
        self._relations: dict[frozenset[tuple[int, int]], bool] = {}
        for row, is_equation in _relations(grid, joint, self._number):
            key = frozenset(row.items())
            self._relations[key] = self._relations.get(key, False) or is_equation
        result.cells, result.suppressed = len(self._shown), len(stated.suppressed)

    def run(self) -> None:
        """Check protection, then the weight and its bound."""
        result, stated = self._result, self._stated
        if not stated.suppressed >= self._unsafe:
            result.blame("A cell that is unsafe is not suppressed.")
        if not stated.suppressed <= self._unsafe | self._may:
            result.blame("A cell is suppressed that no table shows, or that may not be.")
        if not result.holds:
            return
        result.weight = math.fsum(self._weights[cell] for cell in stated.suppressed - self._unsafe)
        if abs(result.weight - stated.weight) > 1e-9 * result.weight:
            result.blame("The weight is not that of the suppressed cells.")
        self._check_protection()
        cuts = [cut for cut in map(self._inequality, stated.cuts) if cut is not None]
        result.inequalities = len(cuts)
        if result.holds:
            self._check_bound(cuts)

    def _demands(self, cell: int, sign: int, known: int) -> list[Demand]:
        """Return the demands that a cell, a sign and an insider's cell stand for, one of which is enough; or nothing."""
        value = self._values[cell]
        if known >= 0:
            every = [(cell, 1, value + 1), (cell, -1, value - 1)][: 2 if value >= 1 else 1]
            return every if known in self._insiders and cell in self._unsafe and cell != known else []
        wanted = self._range[1] if sign > 0 else self._range[0]
        return [(cell, sign, wanted)] if cell in self._counts and sign * (value - wanted) < 0 else []

    def _check_protection(self) -> None:
        """Check that each witness is one, and that together they meet all demands."""
        size, blame, stated = self.size, self._result.blame, self._stated
        truth = np.array(self._values, np.int64)
        entries = [(r, c, f) for r, row in enumerate(self._relations) for c, f in row]
        rows, columns, factors = (
            np.array(part, np.int64) for part in (zip(*entries, strict=True) if entries else [()] * 3)
        )
        equations = np.array([*self._relations.values()], bool)
        found = []
        for changes in stated.witnesses:
            witness = truth.copy()
            for cell, change in changes.items():
                place = self._same.get(cell, cell)
                if place == cell:
                    witness[cell] += change
                if place in self._shown and change and place == cell and cell not in stated.suppressed:
                    blame("A witness changes a cell that is shown.")
            sums = np.zeros(len(equations), np.int64)
            np.add.at(sums, rows, factors * witness[columns])
            if (witness < 0).any() or (sums < 0).any() or (sums[equations] != 0).any():
                blame("A witness is no table: it has a value below 0, or breaks a relation of the cells.")
            found.append(witness)
        self._result.witnesses = len(found)
        witnesses = np.array(found, np.int64).reshape(-1, size)
        for cell, sign in product(self._counts, (1, -1)):
            for _, _, value in self._demands(cell, sign, -1):
                if not (sign * (witnesses[:, cell] - value) >= 0).any():
                    blame("No witness shows that an unsafe cell is protected.")
        unsafe = sorted(self._unsafe)
        moved = witnesses != truth
        for known in self._insiders:
            open_ = moved[~moved[:, known]][:, unsafe].any(axis=0)
            for other in [c for c, met in zip(unsafe, open_.tolist(), strict=True) if not met and c != known]:
                if not self._waives or (known, other) not in stated.waived:
                    blame("No witness shows that an insider does not know another unsafe cell.")
                elif self._is_possible(self._demands(other, 0, known), known, self._may):
                    blame("An insider could be kept from an unsafe cell, which the certificate denies.")

    def _is_possible(self, demands: Sequence[Demand], known: int, suppressed: frozenset[int] | set[int]) -> bool:
        """Return whether some table of whole numbers meets a demand, where further cells are suppressed."""
        module, free = self._module, self._unsafe | suppressed
        for cell, sign, wanted in demands:
            highs = module.Highs()
            highs.setOptionValue("output_flag", False)
            highs.setOptionValue("time_limit", self._limit)
            for each, value in enumerate(self._values):
                is_open = each != known and (each in free or each not in self._shown)
                low, high = (0.0, module.kHighsInf) if is_open else (value, value)
                if each == cell:
                    low, high = (max(low, wanted), high) if sign > 0 else (low, min(high, wanted))
                if low > high:
                    break
                highs.addVar(low, high)
                highs.changeColIntegrality(each, module.HighsVarType.kInteger)
            else:
                for row, is_equation in self._relations.items():
                    places, factors = zip(*row, strict=True)
                    highs.addRow(0.0, 0.0 if is_equation else module.kHighsInf, len(row), places, factors)
                highs.run()
                status = highs.getModelStatus()
                if status == module.HighsModelStatus.kOptimal:
                    return True
                if status not in (module.HighsModelStatus.kInfeasible, module.HighsModelStatus.kUnboundedOrInfeasible):
                    raise _stopped()
        return False

    def _inequality(self, cut: _Cut) -> dict[int, Fraction] | None:
        """Return the coefficients of an inequality, ``Σ a · y >= 1``, computed anew; None, with a fault, if it is none."""
        demands = self._demands(cut.cell, cut.sign, cut.known)
        if not demands or (cut.known, cut.cell) in self._stated.waived:
            self._result.blame("An inequality is of a demand that there is not.")
            return None
        if cut.tried is not None:
            if (
                cut.tried & self._unsafe
                or not cut.tried <= self._may
                or self._is_possible(demands, cut.known, self._may - cut.tried)
            ):
                self._result.blame("An inequality that whole numbers alone are to show does not hold.")
                return None
            return dict.fromkeys(cut.tried, Fraction(1))
        found: Counter[int] | dict[int, Fraction] = {}
        if len(cut.multipliers) != len(demands):
            self._result.blame("An inequality lacks the multipliers of a demand.")
            return None
        for demand, multipliers in zip(demands, cut.multipliers, strict=True):
            own = self._shown_by(demand, cut.known, multipliers)
            if own is None:
                return None
            found = {cell: max(found.get(cell, Fraction(0)), own.get(cell, Fraction(0))) for cell in {*found, *own}}
        return found

    def _shown_by(self, demand: Demand, known: int, multipliers: Mapping[int, int]) -> dict[int, Fraction] | None:
        """Return the coefficients that multipliers of relations show: see ``counts/cuts.py`` for the statement.

        All relations are bounded by 0, so that multipliers add nothing but what remains of the cells.
        """
        blame, (cell, sign, wanted) = self._result.blame, demand
        rest = Counter({cell: sign * PARTS})
        for number, multiplier in multipliers.items():
            stated, is_equation = self._stated.relations[number]
            row: Counter[int] = Counter()
            for each, factor in stated.items():
                row[self._same.get(each, each)] += factor
            kept = frozenset((each, factor) for each, factor in row.items() if factor)
            if kept and (kept not in self._relations or (is_equation and not self._relations[kept])):
                blame("A relation of the certificate is none of the cells.")
                return None
            if multiplier > 0 and not is_equation:
                blame("A multiplier has the wrong sign: its relation has no upper bound.")
                return None
            for each, factor in kept:
                rest[each] -= multiplier * factor
        if any(factor > 0 for each, factor in rest.items() if each not in self._shown):
            blame("Multipliers do not show an inequality: a cell that no table shows remains.")
            return None
        own = {each: factor for each, factor in rest.items() if factor and each in self._shown}
        lacking = sign * wanted * PARTS - sum(factor * self._values[each] for each, factor in own.items())
        helps = {c: None if factor > 0 else -factor * self._values[c] for c, factor in own.items() if c != known}
        always = [step for each, step in helps.items() if each in self._unsafe]
        if None in always or (lacking := lacking - sum(step or 0 for step in always)) <= 0:
            blame("Multipliers do not show an inequality: nothing is lacking.")
            return None
        steps = {each: step for each, step in helps.items() if each in self._may and step != 0}
        return {
            each: Fraction(1) if step is None else min(Fraction(step, lacking), Fraction(1))
            for each, step in steps.items()
        }

    def _check_bound(self, cuts: Sequence[Mapping[int, Fraction]]) -> None:
        """Check that no suppression of less weight than the bound fulfils all inequalities, and what is concluded."""
        result, stated, weight = self._result, self._stated, self._stated.weight
        is_enough = stated.lower_bound <= 0
        result.lower_bound = stated.lower_bound if is_enough or self._master(cuts) else 0.0
        if stated.lower_bound > (result.lower_bound or 0.0):
            result.blame("The lower bound does not follow from the inequalities.")
        result.optimal = result.holds and weight <= stated.lower_bound
        if result.optimal != stated.optimal and result.holds:
            result.blame("The bound does not show what the certificate says of the optimum.")

    def _master(self, cuts: Sequence[Mapping[int, Fraction]]) -> bool:
        """Return whether all suppressions that fulfil inequalities have at least the weight of the bound.

        A cell that is suppressed alone in an equation of shown cells is computed, and protects nothing: of those of
        least weight, one has none.
        """
        module, cells = self._module, sorted(self._may)
        place = {cell: position for position, cell in enumerate(cells)}
        weights = [self._weights[cell] for cell in cells]
        is_whole = all(weight == int(weight) for weight in weights)
        highs = module.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("time_limit", self._limit)
        highs.setOptionValue("mip_rel_gap", 0.0)
        highs.setOptionValue("mip_abs_gap", 0.999 if is_whole else NEAR)
        for weight in weights:
            highs.addVar(0.0, 1.0)
        for position, weight in enumerate(weights):
            highs.changeColCost(position, weight)
        for cut in cuts:  # a coefficient is rounded up: that weakens its inequality
            factors = [math.nextafter(float(factor), math.inf) for factor in cut.values()]
            highs.addRow(1.0, module.kHighsInf, len(cut), [place[cell] for cell in cut], factors)
        for row, is_equation in self._relations.items():
            own = {cell for cell, _ in row}
            if is_equation and own <= self._shown and not own & self._unsafe:
                others = own & self._may
                for cell in others:
                    factors = [-1.0 if each == cell else 1.0 for each in others]
                    highs.addRow(0.0, module.kHighsInf, len(others), [place[each] for each in others], factors)
        for kind in (module.HighsVarType.kContinuous, module.HighsVarType.kInteger):
            for position in range(len(cells)):
                highs.changeColIntegrality(position, kind)
            highs.run()
            info, status = highs.getInfo(), highs.getModelStatus()
            if status == module.HighsModelStatus.kInfeasible:
                self._result.blame("No suppression fulfils the inequalities, not the one of the certificate either.")
                return False
            is_last = kind == module.HighsVarType.kInteger
            done = status == module.HighsModelStatus.kOptimal
            bound = info.mip_dual_bound if is_last else info.objective_function_value if done else 0.0
            tolerance = NEAR * max(1.0, abs(bound))
            certain = math.ceil(bound - tolerance) if is_whole and math.isfinite(bound) else bound - tolerance / 2
            if certain >= self._stated.lower_bound:
                return True
        if not done:
            raise _stopped()
        return False


def _stopped() -> SearchStoppedError:
    return SearchStoppedError(
        "The time limit came before the certificate was judged.",
        hint="use a faster machine: the document's time_limit is part of what is certified.",
    )


def _check_release(
    opened: Source, counted: Counted, asked: CountsPolicy, stated: _Stated, result: CountsVerification
) -> None:
    """Check that what was written is the suppression of the certificate, and safe to a reader."""
    suppressed = np.zeros(len(counted.grid), bool)
    suppressed[sorted(stated.suppressed)] = True
    rows = released_rows(counted, asked, suppressed)
    try:
        audit_written(rows, counted, asked)
    except AuditError as error:
        result.blame(error.message)
    output = asked.policy.output
    if output is None or output.kind != "file" or not Path(output.target).exists():
        result.remarks.append("No released file was found, so that only what it would hold was judged.")
        return
    path, is_same = Path(output.target), False
    with suppress(SourceError), open_source(path, "release" if is_database(path.name) else None) as written:
        there = written.engine.arrow("released rows", exp.select("*").from_(written.relation))
        is_same = there.column_names == rows.column_names and _plain(there, rows) == _plain(rows, rows)
    if not is_same:
        result.blame("The released file shows other cells than the certificate says.")


def _plain(rows: pa.Table, like: pa.Table) -> Counter[tuple[Any, ...]]:
    """Return rows, in any order, as they are in any format: numbers, and texts, of which an empty one is none."""
    columns = []
    for field in like.schema:
        values = rows.column(field.name).to_pylist()
        found = [None if value is None else str(value) for value in values]
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        columns.append(
            [float(t) if is_number and t else {"True": "true", "False": "false"}.get(t, t) or None for t in found]
        )
    return Counter(zip(*columns, strict=True))
