"""``sqlanon ledger``: show, check and forecast a ledger of releases, forget one. For the operator: counts are exact."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from sqlanon.commands.common import read_policy, warn
from sqlanon.commands.progress import progress
from sqlanon.core.words import share
from sqlanon.errors import InputError
from sqlanon.ledger.cohorts.erasing import erase_records
from sqlanon.ledger.facts import PENDING
from sqlanon.ledger.forecast import Forecast, MarginForecast, forecast
from sqlanon.ledger.review import (
    CHANGED,
    NOT_CHECKED,
    STATE,
    LedgerReview,
    ReviewedGroup,
    ReviewedRelease,
    accept_release,
    accept_state,
    check_ledger_file,
    forget_release,
    ledger_file,
    show_ledger,
)

FORGOTTEN = (
    "From now on new releases are judged as if it had never been. If anybody has it, they may learn more from it "
    "and a new one than either alone gives away."
)


def show(ledger: str, as_json: bool) -> int:
    """Carry ``ledger show`` out, and return the exit code."""
    found = show_ledger(ledger_file(ledger)[0])
    if as_json:
        print(json.dumps(found.to_dict(checked=False)))
    else:
        print("\n".join(_lines(found)))
    return 0


def check(ledger: str, accept: str | None, as_json: bool) -> int:
    """Carry ``ledger check`` out, and return the exit code."""
    path, policy = ledger_file(ledger, missing=accept == STATE)
    if accept == STATE:
        accept_state(path, policy)
        warn("the ledger is taken as it is, and so is the release at the target of the policy.")
    elif accept is not None:
        accepted = accept_release(path, policy, accept)
        warn(
            f"release {accepted.number}: it is accepted that its persons are other ones than those of later releases, "
            "or go."
        )
    found = check_ledger_file(path, policy)
    if as_json:
        print(json.dumps(found.to_dict(checked=True)))
    else:
        print("\n".join([*_lines(found), *map(_group, found.groups)]))
        if found.releases:
            print("The releases are safe together." if found.holds else "The releases are NOT safe together.")
    for fault in found.faults:
        warn(f"the ledger {fault}.")
    if found.sealed == NOT_CHECKED:
        warn("whether somebody edited the ledger was not checked: name the policy, whose key seals its entries.")
    for item in found.releases:
        if item.file == CHANGED:
            warn(f"the file of release {item.release.number} is not what was published.")
    for one, other in (pair for group in found.groups for pair in group.strangers):
        warn(
            f"hardly any person of release {one} is in release {other}: if keys were given anew between them, the two "
            f"show more together than is counted here. If they are other persons, say --accept {one}."
        )
    return 0 if found.holds else 1


def forget(ledger: str, release: str, yes: bool, as_json: bool) -> int:
    """Carry ``ledger forget`` out, and return the exit code."""
    path, policy = ledger_file(ledger)
    if not yes:
        raise InputError(
            f"Nothing was forgotten. {FORGOTTEN}",
            hint="if it was never handed on, or all copies are destroyed, say --yes.",
        )
    found = forget_release(path, policy, release)
    if as_json:
        print(json.dumps({"file": str(path), "forgotten": found.to_dict()}))
    else:
        print(f"Release {found.number} ({found.entry.release}) was forgotten. {FORGOTTEN}")
    if (file := found.entry.output.get("file")) is not None and Path(file).exists():
        warn(f"its target still holds a file ({file}): remove it, or the next run to there is refused.")
    return 0


def erase(policy: str, records: str, as_json: bool) -> int:
    """Carry ``ledger erase`` out, and return the exit code."""
    found = erase_records(read_policy(policy), read_keys(Path(records)))
    if as_json:
        print(json.dumps(found.to_dict()))
    else:
        if found.unknown:
            warn(f"{found.unknown} of the {found.named} keys are known neither to the source nor to any release.")
        print(
            f"Records to be erased: {found.named}; the last release shows {found.shown} of them. They go with the next "
            "release (sqlanon run), which says how many others go with them. The ledger keeps the digests of their "
            "keys in a list of its own, so that they stay away if the source has them again."
        )
    return 0


def read_keys(path: Path) -> list[str]:
    """Return the keys of records that a file holds, one a line.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(
            f"The file {path.name!r} cannot be read.",
            hint="give a text file (UTF-8) with the key of a record in each line.",
        ) from None


def execute_forecast(
    policy: str, arrivals: float | None, departures: float | None, changes: float, days: int, as_json: bool
) -> int:
    """Carry ``ledger forecast`` out, and return the exit code."""
    with progress() as watch:
        found = forecast(read_policy(policy), (arrivals, departures, changes), days, watch)
    print(json.dumps(found.to_dict()) if as_json else "\n".join(_forecast(found)))
    return 0


def _forecast(found: Forecast) -> Iterator[str]:
    origin = "of the ledger's last release" if found.frozen else "that a search finds"
    yield f"Expected {found.unit}, at the levels {origin}: " + ", ".join(f"{n} {i}" for n, i in found.levels.items())
    yield f"  {found.counted:,} {found.unit} in {found.classes:,} classes; below k {found.k}: {found.in_small:,}"
    if (seen := found.measured) is not None:
        came, left = share(seen.arrivals), share(seen.departures)
        shown = f"the first showed {seen.persons_first:,} persons, the last {seen.persons_last:,}"
        per = "a day" if seen.days >= seen.releases - 1 else "a release"
        yield f"  {seen.releases} releases in {seen.days:.1f} days: {came} came and {left} left {per}; {shown}"
    rates = f"{share(found.rates.arrivals)} come, {share(found.rates.departures)} leave"
    yield f"  forecast: {found.days} days; each day {rates}, {share(found.rates.changes)} change"
    if found.coarser_after is not None:
        yield f"  newcomers come with each {found.coarser_after}th release, at more general levels where they are few"
    elif found.in_large:
        yield (
            f"  {found.in_large:,} {found.unit} are in classes that k or more leave a day: their newcomers wait longer "
            "than is forecast here (cohorts: coarser_after)"
        )
    heads = ("margin", "within 7", "within 30", "true days", "not shown", "in the end", "not true", "limit passed")
    rows = [heads, *map(_margin, found.margins)]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    yield f"  most true days: margin {found.best}" + ("" if found.margin is None else f"; the policy's: {found.margin}")


def _margin(own: MarginForecast) -> tuple[str, ...]:
    shares = (own.within_7, own.within_30, own.true_days, own.not_shown_last, own.not_shown_ever, own.not_true_ever)
    passed = "never" if own.limit_passed is None else f"day {own.limit_passed}"
    return (str(own.margin), *("" if each is None else share(each) for each in shares), passed)


def _lines(found: LedgerReview) -> Iterator[str]:
    for source, recipient, moment in found.counts:
        to = "" if recipient is None else f", to {recipient}"
        yield f"{found.file}: tables of counts of {source}, {moment}{to}"
    if not found.releases:
        yield f"{found.file}: no release {'of records ' if found.counts else ''}is recorded."
        return
    yield f"{found.file}: releases recorded: {len(found.releases)}"
    for item in found.releases:
        yield from _release(item)


def _release(item: ReviewedRelease) -> Iterator[str]:
    entry = item.release.entry
    to = f", to {entry.recipient}" if entry.recipient is not None else ""
    pending = ", pending: perhaps not published, but counted as published" if item.release.state == PENDING else ""
    yield f"{item.release.number}  {entry.time}{to}{pending}"
    yield f"   of {entry.source}, persons by {entry.person_column!r}"
    levels = ", ".join(f"{name} {'/'.join(map(str, levels))}" for name, levels in entry.levels.items())
    yield f"   {entry.persons} persons in {entry.classes} classes, k {entry.k}; levels: {levels or 'none'}"
    for kind, target in entry.output.items():
        yield f"   {kind}: {target}" + (f" ({item.file})" if kind == "file" else "")


def _group(group: ReviewedGroup) -> str:
    counts, numbers = group.counts, ", ".join(map(str, group.releases))
    smallest = f"the smallest holds {counts.smallest}" if counts.smallest is not None else "none holds a person"
    verdict = f"FAILS: {counts.small_persons} persons are in {counts.small} smaller cells" if counts.small else "holds"
    return f"together {numbers}: {counts.cells} joint cells, {smallest}; k {group.k} {verdict}"
