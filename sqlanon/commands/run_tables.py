"""``sqlanon run`` of several tables: publish all of them or none, and print what was done."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlanon.commands.common import warn
from sqlanon.commands.guarded import answer
from sqlanon.commands.progress import progress
from sqlanon.commands.run_beside import check_beside, note, taken_by
from sqlanon.commands.run_changes import earlier_release, print_changes
from sqlanon.commands.run_lineage import Lineage
from sqlanon.commands.verbosity import say
from sqlanon.errors import Interrupted, SqlanonError, UnsupportedError
from sqlanon.report.changes import Earlier
from sqlanon.report.wording import search_extent
from sqlanon.tables.anonymizing import anonymize_tables
from sqlanon.tables.policy import TablesPolicy
from sqlanon.tables.release import TablesRelease


def run_tables(
    policy: TablesPolicy,
    lacking: Collection[str],
    *,
    as_json: bool,
    dry_run: bool,
    openlineage: str | None = None,
    diff: str | None = None,
    **search: str | float | None,
) -> int:
    """Run the policy of several tables, and return the exit code.

    Args:
        lacking: options that ask for a file that there is for one table only.
        openlineage: the file of events that report the run to a catalog of lineage; one that fails, too.
        diff: the manifest of an earlier release, to say what changed.
        search: options of its search to override; None leaves the policy's own.

    Raises:
        UnsupportedError: an option asks for what there is for one table only.
    """
    if lacking:
        raise UnsupportedError(
            f"Of several tables that are published together there is no {' or '.join(lacking)} yet.",
            hint="leave the option out; --json has the levels, the ledger by table and what is proven.",
        )
    policy = policy.with_search(**search)
    since = None if diff is None else earlier_release(Path(diff), policy)
    beside = {} if openlineage is None else {"openlineage": Path(openlineage)}
    folder = policy.output if policy.folder_format is not None else None
    check_beside(taken_by(policy, diff), beside, folder=None if folder is None else Path(folder.target))
    if dry_run:
        policy = replace(policy, output=None, folder_format=None)
    lineage = None if openlineage is None else Lineage(Path(openlineage), policy)
    with progress() as watch:
        try:
            release = anonymize_tables(policy, watch=watch)
        except SqlanonError as error:
            _tell_failure(lineage, error)
            raise
    try:
        _report(release, lineage, since, as_json=as_json)
    except KeyboardInterrupt:
        if not release.output:
            raise
        raise Interrupted("The release itself was published before.", published=True) from None
    return 0


def _tell_failure(lineage: Lineage | None, error: SqlanonError) -> None:
    """Report a run that failed to a catalog; where that fails too, it must not hide the first failure."""
    try:
        if lineage is not None:
            lineage.fail(error)
    except SqlanonError as second:
        warn(f"there is no event of this failure: {second.message}")


def _report(release: TablesRelease, lineage: Lineage | None, since: Earlier | None, *, as_json: bool) -> None:
    """Print what came of a run, and report it to a catalog."""
    changed: Mapping[str, Any] | None = None if since is None else since.changes(release.manifest)
    for warning in release.warnings:
        warn(warning)
    note(release.to_dict)
    try:
        if lineage is not None:
            lineage.complete(release.manifest)
    except SqlanonError:
        if release.output:
            warn("the release itself was published; what follows failed after it.")
        raise
    if as_json:
        answer(release.to_dict() | ({} if changed is None else {"diff": changed}))
        return
    _print(release)
    if changed is not None:
        print_changes(changed)


def _print(release: TablesRelease) -> None:
    """Print what was published, for a person."""
    certificate, persons = release.certificate, release.persons
    say(f"{certificate.measure} {certificate.loss:.6f}, {certificate.nearness} ({certificate.strategy})")
    noun, extent, _ = search_extent(None, certificate.evaluated, certificate.lattice_size)
    say(f"  {noun}: {extent}; {release.statements} statements")
    say(
        f"  {persons.total} persons = {persons.published} published + {persons.suppressed} suppressed "
        f"+ {persons.excluded} excluded; {release.classes} classes of persons with the same rows, the smallest has "
        f"{persons.smallest_class}"
    )
    for name, ledger in release.tables.items():
        say(
            f"  {name}: {ledger.records} rows = {ledger.published} published + {ledger.suppressed} suppressed "
            f"+ {ledger.excluded} excluded"
            + (f"; {ledger.beyond} rows before the latest of each were not taken" if ledger.beyond else "")
        )
    for name, level in release.levels.items():
        say(f"  {name}: level {level} of {release.heights[name] - 1}")
    say("  " + ", ".join(f"{name} {value:.2f} s" for name, value in release.seconds.items()))
    for place, target in release.output.items():
        say(f"  {place}: {target}")
