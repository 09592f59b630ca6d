"""The report of attacks: what they find beside a guess and a control group, and how sure an attacker may be."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from sqlanon.assess.attack.facts import INFERENCE, RISKS, AttackReport, Finding
from sqlanon.report.blocks import SHORT_BAR, Bar, Block, Cell, Field, Listing, Section, Sentence, Table, View
from sqlanon.report.wording import FOR_THE_OPERATOR, count, share
from sqlanon.version import VERSION

TITLES = {
    "singling_out": "Singling out",
    "linkability": "Linkability",
    "inference": "Inference",
    "membership": "Membership",
}
"""The titles of what attacks are about, by risk."""
MEANINGS = (
    "Rate: successes by attempts, counted in records, with the source as the truth. Bar: the rate; its mark is the "
    "guess that looks at the release as a whole.",
    "Control: the same attack on records that were not in the release. Excess: how far the attack does better on those "
    "that were. Of no control, how much is due to the release is not known.",
    "Loss coefficient: an attacker need not guess about everybody. 0: being in the release tells nothing; 1: it tells "
    "all about everybody; 0.5 is taken for a loss that attracts no attacker (Francis and Wagner, arXiv 2507.01710).",
    "These attackers found so much; others may find more.",
)
"""What the figures mean; docs/attacks.md says more."""
POINTS = 10
"""Thresholds of a curve that are shown."""


def attack_view(report: AttackReport) -> View:
    """Return the report of attacks, which is for the operator."""
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    figures = [("Release", count(report.published), "records"), ("Source", count(report.records), "records")]
    compared = {item.excess: item.attack for item in report.findings if item.excess is not None}
    worst = max(compared, default=None)
    if worst is None:
        headline = "Nothing was compared with a control group, so that nobody knows how much is due to the release."
    elif worst <= 0:
        headline = "No attack does better on records of the release than on others."
    else:
        headline = f"Largest excess over a control group: {share(worst)} ({compared[worst]})."
        figures.append(("Largest excess", share(worst), compared[worst]))
    by_risk = [(risk, [item for item in report.findings if item.risk == risk]) for risk in RISKS]
    return View(
        audience="operator",
        notice=FOR_THE_OPERATOR,
        title=f"Attacks on {report.release}",
        about="",
        when=now,
        headline=headline,
        proof="",
        failure=None,
        origin=(("control group", report.control), ("seed", str(report.seed)), ("time", now), ("version", VERSION)),
        warnings=report.warnings,
        figures=tuple(figures),
        sections=(
            *(Section(risk, TITLES[risk], tuple(_findings(items))) for risk, items in by_risk if items),
            *_not_tried(report),
            Section("meaning", "What the figures mean", (Listing(MEANINGS),)),
        ),
        facts=report.to_dict(),
        of="attacks",
    )


def _findings(items: list[Finding]) -> Iterator[Block]:
    fields = (
        Field("Attack", width=40), Field("Attempts", "number"), Field("Rate", "number"),
        Field("", "bar", SHORT_BAR, "lost"), Field("Control", "number"), Field("Excess", "number"),
        Field("Loss coefficient", "number"),
    )  # fmt: skip
    yield Table(fields, tuple(map(_row, items)), style="bars")
    yield Listing(tuple(f"{_name(item)}: {item.how} {item.meaning}" for item in items))
    for item in items:
        yield from _curve(item)


def _name(item: Finding) -> str:
    return f"{item.attack} of {', '.join(item.columns)}" if item.risk == INFERENCE and item.columns else item.attack


def _row(item: Finding) -> tuple[Cell, ...]:
    control, coefficient = item.control, item.loss_coefficient
    of_control = control.control_successes / control.control_attempts if control and control.control_attempts else None
    shown = ["" if value is None else share(value) for value in (item.rate, of_control, item.excess)]
    bar = Bar(item.rate or 0.0, 1.0, item.baseline)
    loss = "" if coefficient is None else f"{coefficient:.2f}"
    return (_name(item), count(item.attempts), shown[0], bar, *shown[1:], loss)


def _curve(item: Finding) -> Iterator[Block]:
    """Yield how many guesses are right among the surest, from the surest on."""
    if item.ranked is None or len(item.ranked.points) < 2:
        return
    points, targets = item.ranked.points, item.ranked.targets
    step = -(-len(points) // POINTS)
    fields = (
        Field("At least so sure", "number"), Field("Guesses", "number"), Field("Of all targets", "number"),
        Field("Right", "number"), Field("", "bar", SHORT_BAR, "lost"),
    )  # fmt: skip
    rows = []
    for point in [point for place, point in enumerate(points) if (len(points) - 1 - place) % step == 0]:
        right = point.successes / point.attempts
        part = share(point.attempts / targets)
        rows.append((share(point.confidence), count(point.attempts), part, share(right), Bar(right, 1.0)))
    yield Table(fields, tuple(rows), caption=f"{_name(item)}: the surest guesses first", style="bars")


def _not_tried(report: AttackReport) -> Iterator[Section]:
    if report.not_applicable:
        listed = Listing(tuple(f"{item.attack}: {item.reason}" for item in report.not_applicable))
        yield Section("not-tried", "Not tried", (listed,))
    if not report.findings:
        yield Section("nothing", "Nothing to attack", (Sentence("No attack has anything to try."),))
