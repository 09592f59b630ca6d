"""A suppression that protects: for each demand the witness that is cheapest to make possible, then fewer cells.

For a demand that no witness meets, a program finds the witness whose deviation from the true values costs least (Kelly,
Golden and Assad, Networks 1992), a cell that is suppressed already costing nothing. What it changes is suppressed, so
that it is a witness from then on. Then each further cell is published again, the dearest first, if all demands are met
without it. One witness meets many demands: those found are kept, and asked before any program is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from sqlanon.counts.attacker import NEAR, Attacker, stopped
from sqlanon.counts.facts import ALONE, Choice, Flags, Floats, System, Vector
from sqlanon.errors import NoSolutionError, SearchStoppedError

LOOKS = 40
"""Witnesses that are looked for with many demands at once, before any is with one."""


class Witnesses:
    """Witnesses that were found, and which demands they meet."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.unsafe = np.flatnonzero(system.unsafe)
        self._place = {int(cell): place for place, cell in enumerate(self.unsafe)}
        self._near = 0.0 if system.whole else NEAR
        self.waived: set[Choice] = set()
        self.vectors: list[Vector] = []
        self._moved = np.zeros((0, len(system)), bool)
        self._values = np.zeros((0, len(self.unsafe)))

    def add(self, witness: Floats) -> None:
        """Keep a witness."""
        moved = self.moved(witness)
        changes = witness - self.system.values
        self.vectors.append((np.flatnonzero(changes), changes[changes != 0]))
        self._moved = np.vstack([self._moved, moved])
        self._values = np.vstack([self._values, witness[self.unsafe]])

    def moved(self, witness: Floats) -> Flags:
        """Return which published cells a witness changes."""
        found: Flags = np.abs(witness - self.system.values) > self._near
        found[~self.system.published] = False
        return found

    def open(self, hidden: Flags) -> Iterator[Choice]:
        """Yield what no witness meets that differs from the truth in hidden cells alone, as long as that is so."""
        system = self.system
        for choice in system.demands():
            if not self.meets(choice, hidden):
                yield choice
        if not len(system.contributor):
            return
        own = system.contributor[self.unsafe]
        usable = ~(self._moved & ~hidden).any(axis=1)
        moved = self._moved[usable][:, self.unsafe].astype(np.float32)
        for place in np.flatnonzero(own != ALONE).tolist():
            kept = moved[:, place] == 0
            wanted = (kept.astype(np.float32) @ moved == 0) & (own != own[place])
            wanted[place] = False
            for other in np.flatnonzero(wanted).tolist():
                choice = system.of_insider(int(self.unsafe[place]), int(self.unsafe[other]))
                if choice not in self.waived and not self.meets(choice, hidden):
                    yield choice

    def meets(self, choice: Choice, hidden: Flags) -> bool:
        """Return whether a witness that differs from the truth in hidden cells alone meets one of some demands."""
        for demand in choice:
            values = self._values[:, self._place[demand.cell]]
            fits = demand.sign * (values - demand.value) >= -self._near
            if demand.known >= 0:
                fits &= ~self._moved[:, demand.known]
            rows = np.flatnonzero(fits)
            if len(rows) and bool((~(self._moved[rows] & ~hidden).any(axis=1)).any()):
                return True
        return False


class Suppressing:
    """Extends and reduces suppressions of one system."""

    def __init__(self, system: System, deadline: float) -> None:
        self.system = system
        self.witnesses = Witnesses(system)
        self._draw = np.random.default_rng(0)
        self.attacker = Attacker(system, deadline)
        self._costs = np.where(system.exempt, np.inf, system.weights)
        self._without_grand = self._costs.copy()
        self._without_grand[system.grand : system.grand + 1] = np.inf

    def extended(self, hidden: Flags) -> Flags:
        """Return hidden cells and further ones with which all demands are met.

        Raises:
            NoSolutionError: there are none.
            SearchStoppedError: the deadline came.
        """
        hidden = hidden.copy()
        self._scatter(hidden, LOOKS)
        for choice in self.system.demands():
            self._extend(choice, hidden)
        self._scatter(hidden, LOOKS)
        for choice in list(self._in_time(self.witnesses.open(hidden))):
            self._extend(choice, hidden)
        return hidden

    def met_by_programs(self, left: Sequence[tuple[int, int]], hidden: Flags) -> Flags:
        """Return hidden cells with which some demands are met, too: of an unsafe cell, and of who knows another or -1.

        Raises: as ``extended``.
        """
        hidden = hidden.copy()
        for cell, known in sorted(left, key=lambda pair: pair[1]):
            for choice in self.system.demands([cell]) if known < 0 else [self.system.of_insider(known, cell)]:
                self._extend(choice, hidden)
        return hidden

    def _in_time(self, choices: Iterator[Choice]) -> Iterator[Choice]:
        """Yield demands until the deadline, which raises."""
        for choice in choices:
            if time.monotonic() >= self.attacker.deadline:
                raise stopped()
            yield choice

    def _extend(self, choice: Choice, hidden: Flags) -> None:
        """Suppress, in place, the cheapest cells with which one of some demands is met; raises as ``extended``."""
        if self.witnesses.meets(choice, hidden):
            return
        grand, best, least = self.system.grand, None, np.inf
        for costs in (self._costs,) if grand < 0 or hidden[grand] else (self._without_grand, self._costs):
            for demand in choice if best is None else ():
                witness = self.attacker.extend(demand, hidden, costs)
                if witness is None:
                    continue
                moved = self.witnesses.moved(witness) & ~hidden
                if (cost := float(self.system.weights[moved].sum())) < least:
                    best, least = witness, cost
        if best is None and self.system.waives and choice[0].known >= 0:
            self.witnesses.waived.add(choice)
            return
        if best is None:
            raise NoSolutionError(
                "What may be suppressed does not protect the unsafe cells; nothing was published.",
                hint="leave out never: totals, or show coarser levels.",
            )
        hidden |= self.witnesses.moved(best)
        self._keep(best, hidden)

    def scattered(self, seconds: float) -> Iterator[Vector]:
        """Yield what witnesses change that leave all but unsafe cells as they are, as long as there are new ones."""
        late = self.attacker.deadline
        self.attacker.deadline = min(late, time.monotonic() + seconds)
        try:
            for _ in range(2 * LOOKS):
                before = len(self.witnesses.vectors)
                self._scatter(self.system.unsafe, 1)
                if len(self.witnesses.vectors) == before or not len(self.witnesses.vectors[-1][0]):
                    return
                yield self.witnesses.vectors[-1]
        except SearchStoppedError:
            return
        finally:
            self.attacker.deadline = late

    def _scatter(self, hidden: Flags, times: int) -> None:
        """Find witnesses that meet many demands at once, also those of insiders, whose cells they keep."""
        for _ in range(times):
            if time.monotonic() >= self.attacker.deadline:
                return
            way = self._draw.integers(0, 4, len(self.system))
            own = self.system.unsafe & hidden
            witness = self.attacker.scatter(hidden, own & (way == 0), own & (way == 1))
            if witness is not None and self.system.holds(witness, hidden):
                self.witnesses.add(witness)

    def met(self, choice: Choice, hidden: Flags) -> bool:
        """Return whether one of some demands is met by a witness of a suppression; it is kept."""
        return self.witnesses.meets(choice, hidden) or self.refuted(choice, hidden) is None

    def unmet(self, hidden: Flags) -> Iterator[Choice]:
        """Yield what no witness of a suppression meets; raises as ``extended``."""
        self._scatter(hidden, LOOKS)
        for choice in self._in_time(self.witnesses.open(hidden)):
            if not self.met(choice, hidden):
                yield choice

    def refuted(self, choice: Choice, hidden: Flags) -> list[Floats] | None:
        """Return why no witness meets any of some demands: multipliers of the relations for each.

        They are all 0 if whole numbers alone are why. None: a witness meets one, and it is kept.
        """
        open_, found = hidden.astype(np.float64), []
        for demand in choice:
            witness, multipliers = self.attacker.attack(demand, open_)
            if witness is not None and not self.system.holds(witness, hidden):
                witness, multipliers = self.attacker.attack(demand, open_, whole=True)
            if witness is not None:
                self._keep(witness, hidden)
                return None
            found.append(multipliers)
        return found

    def _keep(self, witness: Floats, hidden: Flags) -> None:
        """Keep a witness; one that is none by exact arithmetic proves nothing."""
        if not self.system.holds(witness, hidden):
            raise SearchStoppedError(
                "HiGHS found no table in exact whole numbers; nothing was published.",
                hint="show coarser levels, or fewer tables at once.",
            )
        self.witnesses.add(witness)

    def reduced(self, hidden: Flags, until: float) -> Flags:
        """Return hidden cells without such as are not needed, the dearest first."""
        hidden = hidden.copy()
        for cell in self.system.dearest(hidden):
            if time.monotonic() >= until:
                break
            hidden[cell] = False
            try:
                self._scatter(hidden, 2)
                needed = any(not self.met(choice, hidden) for choice in self._in_time(self.witnesses.open(hidden)))
            except SearchStoppedError:
                needed = True
            hidden[cell] = needed
        return hidden
