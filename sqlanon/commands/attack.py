"""``sqlanon attack``: what attackers find in a release, beside its source."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlanon.assess.attack.attacking import attack, attack_file
from sqlanon.assess.attack.facts import RISKS, AttackReport, Finding
from sqlanon.commands.common import read_policy, warn
from sqlanon.commands.progress import progress
from sqlanon.errors import InputError
from sqlanon.report.attack_view import TITLES
from sqlanon.report.files import check_report, write_report
from sqlanon.report.wording import share


def execute(
    release: str,
    table: str | None,
    seed: int,
    fail_over: float | None,
    report: str | None,
    as_json: bool,
    **asked: Any,
) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    if fail_over is not None and not 0 <= fail_over <= 1:
        raise InputError("The rate of --fail-over is not from 0 to 1.", hint="give a share: 0.1 is 10 %.")
    if report is not None:
        check_report(Path(report))
    source = asked.pop("source"), asked.pop("source_table")
    columns = asked.pop("qi"), asked.pop("sensitive")
    with progress() as watch:
        found = _attacked(release, source=source, columns=columns, table=table, seed=seed, watch=watch, **asked)
    for warning in found.warnings:
        warn(warning)
    if report is not None:
        write_report(found, report)
    above = () if fail_over is None else found.above(fail_over)
    if as_json:
        named = {} if fail_over is None else {"fail_over": fail_over, "above": [item.attack for item in above]}
        print(json.dumps(found.to_dict() | named))
    else:
        print("\n".join(_lines(found)))
        if fail_over is not None:
            names = ", ".join(item.attack for item in above)
            print(f"Attacks above {fail_over:.1%}: {names or 'none'}.")
    return 1 if above else 0


def _attacked(
    release: str,
    policy: str | None,
    source: tuple[str | None, str | None],
    columns: tuple[tuple[str, ...], tuple[str, ...]],
    also: tuple[tuple[str, str], ...],
    holdout: str | None,
    **others: Any,
) -> AttackReport:
    """Attack a release of a policy, or any file beside its source.

    Raises:
        InputError: neither a policy nor the source and its quasi-identifiers are named, or both.
    """
    share = None
    with suppress(ValueError):
        share = float(holdout or 0.5)
    if policy is not None:
        beside = dict(zip(("--source", "--source-table", "--qi", "--sensitive"), (*source, *columns), strict=True))
        if twice := [name for name, given in beside.items() if given]:
            raise InputError(
                f"The policy says what {' and '.join(twice)} would say.", hint="leave the option out, or the policy."
            )
        if share is None:
            raise InputError("This is not a share of records to hold out.", hint="a file is compared without --policy.")
        releases = [(path, read_policy(own)) for path, own in also]
        return attack(release, read_policy(policy), also=releases, holdout=share, **others)
    path, (known, sensitive) = source[0], columns
    if path is None or not known or also or (holdout and share is not None):
        raise InputError(
            "Without a policy a file needs --source and --qi, and has no --also and no share to hold out.",
            hint="give --policy FILE; or --source, --qi and as --holdout a file that RELEASE was not made of.",
        )
    return attack_file(release, source, known, sensitive=sensitive, control=holdout, **others)


def _lines(report: AttackReport) -> list[str]:
    lines = [f"{report.release}: {report.published:,} records, of {report.records:,} records of the source."]
    lines.append(f"Control group: {report.control}")
    for risk in RISKS:
        own = [item for item in report.findings if item.risk == risk]
        others = [item for item in report.not_applicable if item.risk == risk]
        lines += [TITLES[risk], *(line for item in own for line in _finding(item))]
        lines += [f"  {item.attack}: not tried. {item.reason}" for item in others]
        lines += [] if own or others else ["  no attack was tried"]
    return lines


def _finding(item: Finding) -> list[str]:
    title = f"  {item.attack}: {item.successes:,} of {item.attempts:,} attempts succeed"
    if item.rate is not None and item.interval is not None:
        title += f" ({share(item.rate)}; {_span(item.interval)})"
    lines = [title]
    if item.baseline is not None:
        lines.append(f"    baseline (the naive guess): {share(item.baseline)}")
    if item.control is not None:
        counts = f"{item.control.control_successes:,} of {item.control.control_attempts:,}"
        interval = item.control.interval
        excess = (
            "not known" if item.excess is None or interval is None else f"{_points(item.excess)} ({_span(interval)})"
        )
        lines.append(f"    control group: {counts} attempts succeed; excess over it {excess}")
    if item.ranked is not None and (coefficient := item.loss_coefficient) is not None:
        best = item.ranked.best
        lines.append(
            f"    anonymity loss coefficient: {coefficient:.2f}, by the surest {best.attempts:,} guesses, of which "
            f"{share(best.successes / best.attempts)} are right"
        )
    return [*lines, f"    {item.meaning}"]


def _points(excess: float) -> str:
    return f"{round(100 * excess, 1) + 0.0:g} %"


def _span(interval: tuple[float, float]) -> str:
    low, high = (round(100 * value, 2) + 0.0 for value in interval)
    return f"95 % interval: {low:g} % to {high:g} %"
