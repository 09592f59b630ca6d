"""``sqlanon run`` of several tables: publish all of them or none, and print what was done."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sqlanon.commands.common import warn
from sqlanon.commands.guarded import answer
from sqlanon.commands.progress import progress
from sqlanon.commands.verbosity import say
from sqlanon.errors import UnsupportedError
from sqlanon.report.wording import search_extent
from sqlanon.tables.anonymizing import anonymize_tables
from sqlanon.tables.policy import TablesPolicy
from sqlanon.tables.release import TablesRelease


def run_tables(
    policy: TablesPolicy, beside: Collection[str], as_json: bool, dry_run: bool, **search: str | float | None
) -> int:
    """Run the policy of several tables, and return the exit code.

    Args:
        beside: options that ask for a file beside the release.
        search: options of its search to override; None leaves the policy's own.

    Raises:
        UnsupportedError: an option asks for what there is for one table only.
    """
    if beside:
        raise UnsupportedError(
            f"Of several tables that are published together there is no {' or '.join(beside)} yet.",
            hint="leave the option out; --json has the levels, the ledger by table and what is proven.",
        )
    policy = policy.with_search(**search)
    if dry_run:
        policy = replace(policy, output=None, folder_format=None)
    with progress() as watch:
        release = anonymize_tables(policy, watch=watch)
    for warning in release.warnings:
        warn(warning)
    if as_json:
        answer(release.to_dict())
    else:
        _print(release)
    return 0


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
        )
    for name, level in release.levels.items():
        say(f"  {name}: level {level} of {release.heights[name] - 1}")
    say("  " + ", ".join(f"{name} {value:.2f} s" for name, value in release.seconds.items()))
    for place, target in release.output.items():
        say(f"  {place}: {target}")
