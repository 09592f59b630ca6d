"""``sqlanon ledger``: what a ledger holds, whether its releases are safe together, and forgetting one of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.core.disk.digests import digest_of
from sqlanon.core.facts import Facts, pick
from sqlanon.core.policy import Policy
from sqlanon.core.sqltrees.trees import column, count_distinct, equal, named
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.ledger.cohorts.histories import distinguishes, holds_histories, members_of
from sqlanon.ledger.cohorts.state import shown_digests
from sqlanon.ledger.database import LedgerDatabase
from sqlanon.ledger.entries import ACCEPTED, KNOWN, accepted_releases, known_targets, read_releases, target_of
from sqlanon.ledger.facts import OF_COUNTS, EarlierRelease, collude, same_name
from sqlanon.ledger.joint import JointCounts, count_joint
from sqlanon.ledger.releases import KNOWN_AGAIN
from sqlanon.ledger.seals import Seals, miscounted, open_sealed, refuse_missing

SAME, CHANGED, MISSING, REPLACED, UNKNOWN = "same", "changed", "missing", "replaced", "unknown"
"""What became of the file of a release: a later one took its place (``replaced``), or it is no file (``unknown``)."""
CHECKED, NO_SEALS, NOT_CHECKED = "checked", "none", "no policy"
STATE = "state"
"""What ``--accept`` takes beside releases: the ledger as it is."""
POLICIES = (".yaml", ".yml", ".json", ".toml")


@dataclass(frozen=True, slots=True)
class ReviewedRelease(Facts):
    """A release of a ledger, and what became of its file."""

    KEYS = "*release file"
    release: EarlierRelease
    file: str


@dataclass(frozen=True, slots=True)
class ReviewedGroup(Facts):
    """Releases of one source that somebody may have together.

    Attributes:
        releases: their numbers.
        recipients: who received them, as far as they are named.
        k: each joint cell has to hold so many persons, or none: the smallest k of them.
        counts: of their joint cells.
        strangers: pairs of releases, one after the other, of which hardly anybody is in both, and nobody accepted that.
    """

    KEYS = "source releases recipients k *counts hardly_anybody_in_both=strangers holds"
    source: str
    releases: tuple[int, ...]
    recipients: tuple[str, ...]
    k: int
    counts: JointCounts
    strangers: tuple[tuple[int, int], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no joint cell holds fewer, and persons were known again."""
        return not self.counts.small and not self.strangers


@dataclass(frozen=True, slots=True)
class LedgerReview:
    """The review of a ledger: its releases, their joint cells, and its faults.

    Attributes:
        file: the ledger.
        releases: all that it holds.
        groups: which of them were looked at together.
        sealed: whether its seals were checked: ``checked``, ``none`` (an older build wrote it), or ``no policy``, whose
            key they are made with, was given.
        faults: how it differs from what was written, as sentences.
        counts: when which tables of counts were released: source, recipient and time; they are not looked at here.
    """

    file: str
    releases: tuple[ReviewedRelease, ...]
    groups: tuple[ReviewedGroup, ...] = ()
    sealed: str = NOT_CHECKED
    faults: tuple[str, ...] = ()
    counts: tuple[tuple[str, str | None, str], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no joint cell is too small, persons were known again, and no file and no entry was changed."""
        return (
            not self.faults
            and all(group.holds for group in self.groups)
            and all(item.file != CHANGED for item in self.releases)
        )

    def to_dict(self, *, checked: bool) -> dict[str, Any]:
        """Return the keys of a JSON document; for the operator."""
        return pick(self, "file releases groups seals=sealed faults holds" if checked else "file releases")


@dataclass(frozen=True, slots=True)
class MeasuredRates(Facts):
    """How the persons of a ledger's releases changed, a day on average, by those whom consecutive releases show.

    Where these are less than a day apart on average: a release.
    """

    releases: int
    days: float
    arrivals: float
    departures: float
    persons_first: int
    persons_last: int


def ledger_file(place: str, *, missing: bool = False) -> tuple[Path, Policy | None]:
    """Return the file of a ledger, given it or a policy that names it, and that policy.

    Args:
        missing: it need not be there.

    Raises:
        InputError: the policy names none, or there is no such file.
    """
    path, policy = Path(place), None
    if path.suffix.lower() in POLICIES:
        policy = Policy.from_file(path)
        spec = policy.ledger
        if spec is None or spec.file is None:
            raise InputError(f"The policy {path.name!r} names no ledger.", hint="name the file of the ledger itself.")
        path = Path(spec.file)
    if not missing and not path.exists():
        refuse_missing(path)
        raise InputError(
            f"There is no ledger {path.name!r}.", hint="check the path; the first release of a policy creates it."
        )
    return path, policy


@contextmanager
def opened(path: Path, policy: Policy | None = None) -> Iterator[tuple[LedgerDatabase, Seals | None]]:
    """Yield a ledger, locked, and its seals, which the key of a policy opens; no person is looked up.

    Raises:
        InputError: it is no ledger, others may read it, a run works with it, or it has another key.
    """
    key = None if policy is None or policy.ledger is None else policy.ledger.key or policy.key
    seals: Seals | None = None
    if key is not None:
        database, seals, _ = open_sealed(path, key)
    else:
        database = LedgerDatabase.claim(path)
    try:
        if not database.attached and database.exists:
            database.attach()
        with database.reading():
            yield database, seals
    finally:
        database.close()


def _required(seals: Seals | None) -> Seals:
    if seals is None:
        raise InputError(
            "To change a ledger takes the key of its seals.", hint="name the policy in place of the ledger's file."
        )
    return seals


def show_ledger(path: Path) -> LedgerReview:
    """Return the releases of a ledger, of microdata and of counts."""
    with opened(path) as (database, _):
        with database.reading(ValueError, KeyError):
            own = [json.loads(v) for name, v in database.facts().items() if name.startswith(OF_COUNTS) and v]
            counts = sorted(((each["source"], each["recipient"], each["time"]) for each in own), key=lambda c: c[2])
        return LedgerReview(str(database.path), _reviewed(read_releases(database)), counts=tuple(counts))


def check_ledger_file(path: Path, policy: Policy | None = None) -> LedgerReview:
    """Count the joint cells of all releases that somebody may have together, and compare files with their digests.

    Groups are as large as they can be: cells of fewer releases are unions of cells of more, so they hold if these do.

    Raises:
        InputError: the ledger is not what was written, and its cells cannot be counted.
        UnsupportedError: see ``count_joint``.
    """
    with opened(path, policy) as (database, seals):
        releases = read_releases(database)
        try:
            groups = [_counted(database, group) for group in groups_of(releases)]
        except UnsupportedError:
            if seals is not None:
                seals.check()
            raise
        wrong = miscounted(database, {item.number: item.entry.persons for item in releases})
        faults = [f"holds more or fewer persons of release {number} than its entry states" for number in wrong]
        for item in releases:
            if holds_histories(database, item.number):
                own = [other for other in releases if same_name(other.entry.source, item.entry.source)]
                of = [members_of(database, other.number) for other in own if other.number <= item.number]
                if not all(distinguishes(database, item.number, part) for part in of):
                    faults.append(f"does not tell the histories of records up to release {item.number} apart")
        if seals is not None and (fault := seals.fault()):
            faults.append(fault)
        sealed = NOT_CHECKED if seals is None else CHECKED if seals.sealed else NO_SEALS
        return LedgerReview(str(database.path), _reviewed(releases), tuple(groups), sealed, tuple(faults))


def forget_release(path: Path, policy: Policy | None, release: str) -> EarlierRelease:
    """Forget a release for good: its file is written anew without it. Return what was forgotten.

    Args:
        policy: whose key seals the ledger.
        release: its number or its id.

    Raises:
        InputError: the ledger does not hold it, is not what was written, or cannot be written.
    """
    with opened(path, policy) as (database, seals):
        _required(seals).check()
        forgotten = _find(database, release)
        _refuse_within(database, forgotten, read_releases(database))
        accepted = sorted(accepted_releases(database) - {forgotten.entry.release})
        facts = database.facts() | ({ACCEPTED: json.dumps(accepted)} if ACCEPTED in database.facts() else {})
        _required(seals).rewrite(f"forget {forgotten.number}", forgotten.number, facts)
        return forgotten


def _refuse_within(database: LedgerDatabase, release: EarlierRelease, releases: Sequence[EarlierRelease]) -> None:
    """Raise InputError if later releases continue a release in cohorts, or none could continue the one before."""
    own = [item for item in releases if item.entry.cohorts and same_name(item.entry.source, release.entry.source)]
    if release.entry.cohorts and (later := [item.number for item in own if item.number > release.number]):
        raise InputError(
            f"Release {later[0]} continues the cohorts of release {release.number}, which is therefore not forgotten.",
            hint="only the last release in cohorts can be; or begin another ledger, if nobody has its releases.",
        )
    before = max((item.number for item in own if item.number < release.number), default=None)
    if release.entry.cohorts and before is not None and not shown_digests(database, before):
        raise InputError(
            f"The ledger does not hold the rows of release {before} any more: without release {release.number} no "
            "later one could continue it.",
            hint="publish the next release, which continues this one; or begin another ledger, if nobody has the "
            "releases of this one.",
        )


def accept_release(path: Path, policy: Policy | None, release: str) -> EarlierRelease:
    """Write down that the persons of a release are other ones than those of later releases. Return the release.

    Args:
        policy: whose key seals the ledger.
        release: its number or its id.

    Raises:
        InputError: the ledger does not hold it, is not what was written, or cannot be written.
    """
    with opened(path, policy) as (database, seals):
        _required(seals).check()
        taken = _find(database, release)
        accepted = accepted_releases(database) | {taken.entry.release}
        with _required(seals).writing(f"accept {taken.number}"):
            database.set_fact(ACCEPTED, json.dumps(sorted(accepted)))
        return taken


def accept_state(path: Path, policy: Policy | None) -> None:
    """Take a ledger as it is, and what stands at the target of the policy: somebody looked at both.

    One that is missing begins anew, empty.

    Raises:
        InputError: it cannot be read or written.
    """
    with opened(path, policy) as (database, seals):
        read_releases(database), accepted_releases(database)  # what cannot be read is not taken
        known, output = known_targets(database), None if policy is None else policy.output
        if output is not None:
            there = output.kind == "file" and Path(output.target).exists()
            known[target_of(output)] = digest_of(Path(output.target)) if there else ""
        if not database.attached:
            database.create(_required(seals).facts())
        _required(seals).restart({KNOWN: json.dumps(known)})


def _find(database: LedgerDatabase, release: str) -> EarlierRelease:
    for item in read_releases(database):
        if release in (str(item.number), item.entry.release):
            return item
    raise InputError(
        f"The ledger {database.path.name!r} holds no release {release!r}.",
        hint="`sqlanon ledger show` lists the numbers and ids of its releases.",
    )


def groups_of(releases: Sequence[EarlierRelease]) -> list[list[EarlierRelease]]:
    """Return the largest sets of releases that somebody may have: a release, and all that its recipient may get."""
    held = [
        {
            other.number
            for other in releases
            if same_name(other.entry.source, item.entry.source) and (other is item or collude(item.entry, other.entry))
        }
        for item in releases
    ]
    largest = {frozenset(one): None for one in held if not any(one < other for other in held)}
    return [[item for item in releases if item.number in group] for group in largest]


def _counted(database: LedgerDatabase, group: Sequence[EarlierRelease]) -> ReviewedGroup:
    members = [members_of(database, item.number) for item in group]
    k = min(item.entry.k for item in group)
    return ReviewedGroup(
        group[0].entry.source,
        tuple(item.number for item in group),
        tuple(sorted({item.entry.recipient for item in group if item.entry.recipient is not None})),
        k,
        count_joint(database.engine, members, k),
        tuple((one.number, other.number) for one, other in pairwise(group) if _strangers(database, one, other)),
    )


def _strangers(database: LedgerDatabase, one: EarlierRelease, other: EarlierRelease) -> bool:
    """Return whether hardly anybody of a release is in the next, and nobody said that they are other persons."""
    if one.entry.release in accepted_releases(database):
        return False
    return persons_in_both(database, one, other) < KNOWN_AGAIN * one.entry.persons


def persons_in_both(database: LedgerDatabase, one: EarlierRelease, other: EarlierRelease) -> int:
    """Return how many persons are in both of two releases."""
    queries = [exp.select(column("person")).from_(database.table("members")) for _ in range(2)]
    mine, yours = (
        q.where(equal(column("number"), exp.convert(i.number))) for q, i in zip(queries, (one, other), strict=True)
    )
    both = exp.select(named(count_distinct(column("person")), "n")).from_(mine.subquery("mine"))
    both = both.where(exp.In(this=column("person"), query=exp.Subquery(this=yours)))
    return int(database.engine.run("persons in both", both)[0][0])


def measured_rates(policy: Policy) -> tuple[Mapping[str, Sequence[int]] | None, MeasuredRates | None]:
    """Return the levels of the last release of a policy's ledger, and how its persons changed; None: of none, of one.

    Raises:
        InputError: the ledger cannot be read, or holds releases of several sources, and the policy names none.
    """
    spec = policy.ledger
    if spec is None or spec.file is None or not Path(spec.file).exists():
        return None, None
    with opened(Path(spec.file), policy) as (database, _):
        releases = [item for item in read_releases(database) if spec.source in (None, item.entry.source)]
        if len({item.entry.source for item in releases}) > 1:
            raise InputError("The ledger holds releases of several sources.", hint="name this one: ledger.source.")
        if not releases:
            return None, None
        first, last = releases[0].entry, releases[-1].entry
        days = (datetime.fromisoformat(last.time) - datetime.fromisoformat(first.time)).total_seconds() / 86_400
        levels = last.levels
        if last.cohorts:  # at several nodes, of which the first is that of the first release
            levels = {name: (level,) for name, level in zip(levels, last.cohorts["chain"][0], strict=True)}
        if len(releases) < 2:
            return levels, None
        came = left = 0.0
        for one, other in pairwise(releases):
            both = persons_in_both(database, one, other)
            came += (other.entry.persons - both) / max(1, one.entry.persons)
            left += (one.entry.persons - both) / max(1, one.entry.persons)
        times = max(days, len(releases) - 1)
        rates = min(0.99, came / times), min(0.99, left / times)
        return levels, MeasuredRates(len(releases), days, *rates, first.persons, last.persons)


def _reviewed(releases: Sequence[EarlierRelease]) -> tuple[ReviewedRelease, ...]:
    last = {item.entry.output.get("file"): item.number for item in releases}
    return tuple(ReviewedRelease(item, _state(item, last)) for item in releases)


def _state(item: EarlierRelease, last: Mapping[str | None, int]) -> str:
    target, digest = item.entry.output.get("file"), item.entry.digest
    if target is None or digest is None:
        return UNKNOWN
    if last[target] != item.number:
        return REPLACED
    with suppress(OSError):
        return SAME if digest_of(Path(target)) == digest else CHANGED
    return MISSING
