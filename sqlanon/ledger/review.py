"""``sqlanon ledger``: what a ledger holds, whether its releases are safe together, and forgetting one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.disk.digests import digest_of
from sqlanon.errors import InputError
from sqlanon.ledger.database import LedgerDatabase
from sqlanon.ledger.facts import EarlierRelease, collude
from sqlanon.ledger.joint import JointCounts, count_joint
from sqlanon.ledger.releases import read_releases
from sqlanon.policy import Policy
from sqlanon.sqltrees.trees import column, equal

SAME, CHANGED, MISSING, REPLACED, UNKNOWN = "same", "changed", "missing", "replaced", "unknown"
"""What became of the file of a release: a later one took its place (``replaced``), or it is no file (``unknown``)."""
POLICIES = (".yaml", ".yml", ".json", ".toml")


@dataclass(frozen=True, slots=True)
class ReviewedRelease:
    """A release of a ledger, and what became of its file."""

    release: EarlierRelease
    file: str

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a JSON document; for the operator."""
        return {**self.release.to_dict(), "file": self.file}


@dataclass(frozen=True, slots=True)
class ReviewedGroup:
    """Releases of one source that somebody may have together.

    Attributes:
        releases: their numbers.
        recipients: who received them, as far as they are named.
        k: each joint cell has to hold so many persons, or none: the smallest k of them.
        counts: of their joint cells.
    """

    source: str
    releases: tuple[int, ...]
    recipients: tuple[str, ...]
    k: int
    counts: JointCounts

    @property
    def holds(self) -> bool:
        """Whether no joint cell holds fewer."""
        return not self.counts.small

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a JSON document; for the operator."""
        return {
            "source": self.source,
            "releases": list(self.releases),
            "recipients": list(self.recipients),
            "k": self.k,
            **self.counts.to_dict(),
            "holds": self.holds,
        }


@dataclass(frozen=True, slots=True)
class LedgerReview:
    """What was found in a ledger.

    Attributes:
        file: the ledger.
        releases: all that it holds.
        groups: which of them were looked at together.
    """

    file: str
    releases: tuple[ReviewedRelease, ...]
    groups: tuple[ReviewedGroup, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no joint cell is too small, and no file of a release was changed."""
        return all(group.holds for group in self.groups) and all(item.file != CHANGED for item in self.releases)

    def to_dict(self, *, checked: bool) -> dict[str, Any]:
        """Return the keys of a JSON document; for the operator."""
        document: dict[str, Any] = {"file": self.file, "releases": [item.to_dict() for item in self.releases]}
        return document | ({"groups": [g.to_dict() for g in self.groups], "holds": self.holds} if checked else {})


def ledger_file(place: str) -> Path:
    """Return the file of a ledger, given it or a policy that names it.

    Raises:
        InputError: the policy names none, or there is no such file.
    """
    path = Path(place)
    if path.suffix.lower() in POLICIES:
        spec = Policy.from_file(path).ledger
        if spec is None or spec.file is None:
            raise InputError(f"The policy {path.name!r} names no ledger.", hint="name the file of the ledger itself.")
        path = Path(spec.file)
    if not path.exists():
        raise InputError(
            f"There is no ledger {path.name!r}.", hint="check the path; the first release of a policy creates it."
        )
    return path


@contextmanager
def opened(path: Path) -> Iterator[LedgerDatabase]:
    """Yield a ledger, locked; its key is not needed, because no person is looked up.

    Raises:
        InputError: it is no ledger, others may read it, or a run works with it.
    """
    database = LedgerDatabase.claim(path)
    try:
        database.attach()
        yield database
    finally:
        database.close()


def show_ledger(path: Path) -> LedgerReview:
    """Return what a ledger holds."""
    with opened(path) as database:
        return LedgerReview(str(database.path), _reviewed(read_releases(database)))


def check_ledger_file(path: Path) -> LedgerReview:
    """Count the joint cells of all releases that somebody may have together, and compare files with their digests.

    Groups are as large as they can be: cells of fewer releases are unions of cells of more, so they hold if these do.

    Raises:
        UnsupportedError: see ``count_joint``.
    """
    with opened(path) as database:
        releases = read_releases(database)
        groups = [_counted(database, group) for group in groups_of(releases)]
        return LedgerReview(str(database.path), _reviewed(releases), tuple(groups))


def forget_release(path: Path, release: str) -> EarlierRelease:
    """Forget a release for good: its file is written anew without it. Return what was forgotten.

    Args:
        release: its number or its id.

    Raises:
        InputError: the ledger does not hold it, or cannot be written.
    """
    with opened(path) as database:
        found = [item for item in read_releases(database) if release in (str(item.number), item.entry.release)]
        if not found:
            raise InputError(
                f"The ledger {database.path.name!r} holds no release {release!r}.",
                hint="`sqlanon ledger show` lists the numbers and ids of its releases.",
            )
        database.rewrite(found[0].number)
        return found[0]


def groups_of(releases: Sequence[EarlierRelease]) -> list[list[EarlierRelease]]:
    """Return the largest sets of releases that somebody may have: a release, and all that its recipient may get."""
    held = [
        {
            other.number
            for other in releases
            if other.entry.source == item.entry.source and (other is item or collude(item.entry, other.entry))
        }
        for item in releases
    ]
    largest = {frozenset(one): None for one in held if not any(one < other for other in held)}
    return [[item for item in releases if item.number in group] for group in largest]


def _counted(database: LedgerDatabase, group: Sequence[EarlierRelease]) -> ReviewedGroup:
    members = [
        exp.select(column("person"), column("class"))
        .from_(database.table("members"))
        .where(equal(column("number"), exp.convert(item.number)))
        .subquery("members")
        for item in group
    ]
    k = min(item.entry.k for item in group)
    return ReviewedGroup(
        group[0].entry.source,
        tuple(item.number for item in group),
        tuple(sorted({item.entry.recipient for item in group if item.entry.recipient is not None})),
        k,
        count_joint(database.engine, members, k),
    )


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
