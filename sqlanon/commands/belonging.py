"""``sqlanon check --manifest``: whether a release and its accompanying files belong together."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sqlanon.core.facts import pick
from sqlanon.core.publish.papers import Belonging, check_papers
from sqlanon.core.publish.workplace import COMPLETED, settle_left_behind

BESIDE = "*"
"""The value of ``--manifest`` without a file."""


def find_belonging(release: str, manifest: str) -> Belonging:
    """Compare a release with its accompanying files, after a publication to it that was interrupted is settled.

    Raises:
        InputError: one cannot be read, or the manifest holds no digests.
    """
    path = Path(release).absolute()
    if (done := settle_left_behind(path)) is not None:
        what = "The new release got its papers." if done == COMPLETED else "The old release stands, with its papers."
        print(f"A publication to {path.name!r} was interrupted. {what}", file=sys.stderr)
    return check_papers(path, None if manifest == BESIDE else Path(manifest))


def belonging_lines(found: Belonging) -> list[str]:
    """Return what to print."""
    if found.holds:
        return [f"The release and its accompanying files belong together (SHA-256 {found.sha256})."]
    return ["The release and its accompanying files do not belong together.", *(f"  {fault}" for fault in found.faults)]


def belonging_document(found: Belonging) -> dict[str, Any]:
    """Return what to print as JSON."""
    return pick(found, "file=manifest holds sha256 faults")
