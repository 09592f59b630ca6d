"""``sqlanon run --diff``: what changed since an earlier release, of one table or of several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sqlanon.commands.common import warn
from sqlanon.commands.verbosity import verbosity
from sqlanon.core.policy import Policy
from sqlanon.report.changes import Earlier, change_lines
from sqlanon.tables.policy import TablesPolicy


def earlier_release(path: Path, policy: Policy | TablesPolicy) -> Earlier:
    """Return the earlier release that a run is compared with, read before the run, which may replace its manifest.

    Raises:
        InputError: the manifest cannot be read, or is of another kind of release.
    """
    earlier = Earlier.read(path, policy.fingerprint(), several=isinstance(policy, TablesPolicy))
    if earlier.shares_no_column(_published(policy)):
        warn(f"the manifest {path.name!r} has no column that the policy publishes; is it of another release?")
    return earlier


def _published(policy: Policy | TablesPolicy) -> Iterator[str]:
    """Yield the columns of a release as its manifest names them."""
    if isinstance(policy, TablesPolicy):
        for item in policy.tables:
            yield from (f"{item.name}.{name}" for name in (*_published(item.policy), *item.keys))
    else:
        yield from (column.name for column in policy.columns if column.role != "drop")


def print_changes(changed: Mapping[str, Any]) -> None:
    """Print what changed; it was asked for, so it is printed by a quiet command too."""
    stream = verbosity().summary  # standard output may hold the release
    lines = list(change_lines(changed))
    head = "since the earlier release" + (":" if lines else " nothing changed that manifests show")
    for line in [head, *(f"  {line}" for line in lines)]:
        print(line, file=stream)
