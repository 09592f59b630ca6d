"""What became of releases that were pending when their run ended, where a file shows it; otherwise they stay so."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sqlanon.core.disk.digests import digest_of
from sqlanon.core.disk.writing import NEW, workplace_of
from sqlanon.ledger.facts import PENDING, EarlierRelease

STANDS, NEVER_STOOD, UNKNOWN = "stands", "never stood", "unknown"


def fate_of(release: EarlierRelease) -> str:
    """Return what became of a pending release.

    - It stands: its file is at its place, with its digest.
    - It never stood: its file is still in the workplace beside the target, from where one rename takes it to its place.
    - Nothing is known: a file that is not there may have been handed on and removed, and of a table or a view nothing
      says which release it is. The release stays pending, and counts as published.
    """
    target = release.entry.output.get("file")
    if release.state != PENDING or target is None or release.entry.digest is None:
        return UNKNOWN
    path = Path(target)
    if _is(path, release.entry.digest):
        return STANDS
    return NEVER_STOOD if _is(workplace_of(path) / NEW / path.name, release.entry.digest) else UNKNOWN


def fates(releases: Iterable[EarlierRelease]) -> dict[int, str]:
    """Return what became of those that are pending, by their numbers."""
    return {item.number: fate_of(item) for item in releases if item.state == PENDING}


def _is(path: Path, digest: str) -> bool:
    with suppress(OSError):
        return path.exists() and digest_of(path) == digest
    return False
