"""What the ANON report says of its figures, as assertions: what the modules of findings share.

Thresholds for the report's adjectives were fixed before the first full run: "tremendous", "remarkably" and "quite flat"
are a factor of 2, "significantly", "dramatically" and "not very much" of 1.5. The first line of a check's docstring
quotes the report. A finding that does not hold on these records is marked ``not_reproduced`` with the reason and does
not fail; a narrower one stands behind it, with what holds ("narrower": stated after the figures were known).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from anon_figures import LIMITED, OCCUPATIONS, Grid, at_k
from anon_settings import Experiments, Run, Setting

TREMENDOUS = FLAT = 2.0
SIGNIFICANT = 1.5

Outcome = tuple[bool, str]
"""Whether a finding holds, and what was measured."""
Check = Callable[[Experiments, Grid], Outcome]


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding that was checked.

    Attributes:
        not_reproduced: why it need not hold on these records; empty when it must.
    """

    name: str
    holds: bool
    measured: str
    not_reproduced: str = ""

    @property
    def wrong(self) -> bool:
        """It must hold and does not."""
        return not self.holds and not self.not_reproduced

    def __str__(self) -> str:
        mark = "PASS" if self.holds else "FAIL" if self.wrong else "NOT REPRODUCED"
        reason = f" [{self.not_reproduced}]" if self.not_reproduced and not self.holds else ""
        return f"{mark}  {self.name} {self.measured}{reason}"


def visits(runs: Iterable[Run]) -> list[int]:
    """Visited nodes of runs."""
    return [run.visited for run in runs]


def over_k(
    e: Experiments,
    grid: Grid,
    suppression: float,
    *,
    sensitive: bool,
    most: int = 1000,
    priorities: str = "rising",
) -> list[Run]:
    """Runs of all quasi-identifiers over the k of the grid up to ``most``."""
    ks = [k for k in grid.ks if k <= most]
    return [e.run(at_k(grid, k, suppression, sensitive=sensitive, priorities=priorities)) for k in ks]


def over_l(e: Experiments, grid: Grid, qis: int, priorities: str, most: int = OCCUPATIONS) -> list[Run]:
    """A line of figure 7 up to ℓ = ``most``."""
    return [
        e.run(Setting(qis=qis, k=14, l2=asked, suppression=LIMITED, priorities=priorities))
        for asked in grid.ls
        if asked <= most
    ]


def rises(numbers: Sequence[float]) -> bool:
    """No number is less than the one before it."""
    return all(low <= high for low, high in pairwise(numbers))


def answers_are_proven(e: Experiments, grid: Grid) -> Outcome:
    """Not of the report: every answer is a proven optimum, and box finds the same loss."""
    wrong = [f"{run.setting}: {run.fault}" for run in e.runs if run.fault]
    return not wrong, f"{len(e.runs)} anonymizations" + "".join(f"; {told}" for told in wrong)


def found(e: Experiments, grid: Grid, checks: Iterable[tuple[Check, str]]) -> list[Finding]:
    """The findings of checks; the runs that they need and that are not there yet are made."""
    return [finding(check(e, grid), check.__doc__ or "", reason) for check, reason in checks]


def finding(outcome: Outcome, doc: str, reason: str) -> Finding:
    """A finding by the first line of its docstring."""
    holds, measured = outcome
    return Finding(doc.splitlines()[0], holds, measured, reason)
