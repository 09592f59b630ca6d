"""What an attack came to: counts, a rate with its interval, and how far it exceeds the rate of a control group.

The definitions are those of Giomi, Boenisch, Wehmeyer and Tasnádi, "A Unified Framework for Quantifying Privacy Risk in
Synthetic Data" (PoPETs 2023): an attack is a number of guesses, a naive guess is its baseline, and the same attack on
records that were not in the release is its control.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlanon.assess.attack.ranked import Ranked, loss_coefficient
from sqlanon.core.facts import Facts

SINGLING_OUT, LINKABILITY, INFERENCE = "singling_out", "linkability", "inference"
MEMBERSHIP = "membership"
RISKS = (SINGLING_OUT, LINKABILITY, INFERENCE, MEMBERSHIP)
"""The three questions of the Article 29 Working Party, Opinion 05/2014 on anonymisation techniques, and who is in."""
Z = 1.959963984540054
"""The quantile of a 95 % interval."""
Interval = tuple[float, float]


def wilson(successes: int, attempts: int) -> Interval:
    """Return the 95 % interval of Wilson (1927) for a rate, from 0 to 1; of no attempts the whole range."""
    if not attempts:
        return (0.0, 1.0)
    middle, half = _wilson(successes, attempts)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    return low, 1.0 if successes == attempts else min(1.0, middle + half)


def _wilson(successes: int, attempts: int) -> tuple[float, float]:
    """Return the middle and half the width of the interval."""
    rate, square = successes / attempts, Z * Z
    share = 1 + square / attempts
    middle = (rate + square / (2 * attempts)) / share
    half = Z / share * math.sqrt(rate * (1 - rate) / attempts + square / (4 * attempts * attempts))
    return middle, half


@dataclass(frozen=True, slots=True)
class NotApplicable(Facts):
    """An attack that has nothing to try on a release, and why."""

    attack: str
    risk: str
    reason: str


@dataclass(frozen=True, slots=True)
class Control:
    """The same attack on records that were in a release, and on as good records that were not.

    Attributes:
        attempts, successes: on records that were in the release that the control belongs to.
        control_attempts, control_successes: on records that were not.
        prc: of the guesses about these, ranked (``assess.attack.ranked``); None where they are not.
    """

    attempts: int
    successes: int
    control_attempts: int
    control_successes: int
    prc: float | None = None

    @property
    def excess(self) -> float | None:
        """(r - c) / (1 - c) of the rates in and out of the release; below 0 if the control fares worse. None without
        attempts, or if the control always succeeds."""
        if not self.attempts or not self.control_attempts or self.control_successes == self.control_attempts:
            return None
        rate, control = self.successes / self.attempts, self.control_successes / self.control_attempts
        return (rate - control) / (1 - control)

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the excess: the errors of both rates propagated, as Giomi et al. do."""
        if self.excess is None:
            return None
        rate, error = _wilson(self.successes, self.attempts)
        control, control_error = _wilson(self.control_successes, self.control_attempts)
        middle = (rate - control) / (1 - control)
        half = math.hypot(error / (1 - control), control_error * (1 - rate) / (1 - control) ** 2)
        return min(middle - half, self.excess), min(1.0, max(middle + half, self.excess))

    @property
    def meaning(self) -> str:
        """What it means, in a sentence; empty without attempts."""
        if self.interval is None:
            return ""
        rate, control = self.successes / self.attempts, self.control_successes / self.control_attempts
        said = (
            f"Beside a control group it succeeds in {rate:.1%} of the attempts about records that a release was made "
            f"of, and in {control:.1%} about others"
        )
        if self.interval[0] > 0:
            return f"{said}: being in it adds to what an attacker finds."
        return f"{said}: the figures do not show that being in it adds to that."


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Facts):
    """What an attack came to.

    Attributes:
        attack: its name; ``columns``: what it is about, where a release has several such columns.
        risk: ``singling_out``, ``linkability``, ``inference`` or ``membership``.
        attempts, successes: guesses, and those that are right.
        baseline_successes: right guesses of as many attempts that look at no more than the release as a whole; None
            where there is no such guess.
        control: the attack beside a control group; None without one.
        how: what is attempted and what counts as a success, in a sentence.
        meaning: what the figures mean, in plain sentences.
        figures: further counts, by name.
        ranked: the guesses by how sure they are; None where that is not known.
    """

    KEYS = (
        "attack risk columns attempts successes rate interval baseline_successes baseline control_attempts "
        "control_successes excess excess_interval=control.interval excess_of_rate meaning how "
        "compared_attempts?=control.attempts compared_successes?=control.successes figures? loss_coefficient? ranked?"
    )
    DIGITS = 6
    attack: str
    risk: str
    attempts: int
    successes: int
    how: str
    meaning: str
    columns: tuple[str, ...] = ()
    baseline_successes: int | None = None
    control: Control | None = None
    figures: Mapping[str, int] = field(default_factory=dict)
    ranked: Ranked | None = None

    @property
    def loss_coefficient(self) -> float | None:
        """The anonymity loss coefficient (Francis and Wagner 2025), beside what is guessed without the release, and as
        well of records that are not in one; None where guesses are not ranked, or nothing was tried on such records."""
        if self.ranked is None or (self.control is not None and not self.control.control_attempts):
            return None
        beside = self.control.prc if self.control is not None else None
        return loss_coefficient(self.ranked.prc, max(self.ranked.naive, beside or 0.0))

    @property
    def rate(self) -> float | None:
        """The share of the attempts that succeed; None without attempts."""
        return self.successes / self.attempts if self.attempts else None

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the rate; None without attempts."""
        return wilson(self.successes, self.attempts) if self.attempts else None

    @property
    def baseline(self) -> float | None:
        """The share of the attempts at which the naive guess succeeds."""
        if self.baseline_successes is None or not self.attempts:
            return None
        return self.baseline_successes / self.attempts

    @property
    def control_attempts(self) -> int | None:
        """The attempts on records that were not in the release; None without a control."""
        return None if self.control is None else self.control.control_attempts

    @property
    def control_successes(self) -> int | None:
        """Those that succeed."""
        return None if self.control is None else self.control.control_successes

    @property
    def excess(self) -> float | None:
        """How far the attack does better on records of the release than on the control; None without a control."""
        return None if self.control is None else self.control.excess

    @property
    def excess_of_rate(self) -> float | None:
        """The excess of the rate itself over the control: larger if the release fares worse than the one that was made
        with the control group. None without a control that is attempted and fails at times."""
        control = self.control
        if control is None or self.rate is None or control.excess is None:
            return None
        rate = control.control_successes / control.control_attempts
        return (self.rate - rate) / (1 - rate)

    @property
    def fares_worse(self) -> bool:
        """Whether the release fares worse than the one with the control group, by intervals that do not overlap."""
        if self.control is None or self.interval is None:
            return False
        return self.interval[0] > wilson(self.control.successes, self.control.attempts)[1]

    def with_control(self, control: Control) -> Finding:
        """Return the finding beside a control group, with what that means."""
        beside = replace(self, control=control)
        worse = ""
        if beside.fares_worse:
            worse = (
                "The attack succeeds more often on the release itself, whose excess over the control group is larger."
            )
        return replace(beside, meaning=" ".join(filter(None, (self.meaning, control.meaning, worse))))


Outcome = Finding | NotApplicable


@dataclass(frozen=True, slots=True)
class AttackReport(Facts):
    """What all attacks on a release came to.

    Attributes:
        release: its name.
        records: the records of the source that take part.
        published: the records of the release.
        seed: of whatever is drawn.
        findings: of the attacks that were carried out.
        not_applicable: the others, with their reasons.
        control: how the control group came about, or why there is none.
        warnings: what the reader should know besides.
    """

    KEYS = "release records published seed control findings not_applicable warnings"
    release: str
    records: int
    published: int
    seed: int
    findings: tuple[Finding, ...]
    not_applicable: tuple[NotApplicable, ...]
    control: str
    warnings: tuple[str, ...] = ()

    def above(self, rate: float) -> tuple[Finding, ...]:
        """Return the findings whose excess over the control is above a rate: that of the release made with the control,
        or of the release itself. Where nothing was compared, the rate of the attack counts."""
        return tuple(item for item in self.findings if (_decisive(item) or 0.0) > rate)


def _decisive(item: Finding) -> float | None:
    if item.control is None or not item.control.attempts or not item.control.control_attempts:
        return item.rate
    return max((found for found in (item.excess, item.excess_of_rate) if found is not None), default=None)
