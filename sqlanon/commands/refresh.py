"""``sqlanon refresh``: look at what a live view loses, and plan it anew when that is more than the policy allows."""

from __future__ import annotations

import json
from typing import Any

import click

from sqlanon.commands.common import STDERR, GuardedCommand, json_option, on_interrupt_option, pick, read_policy, warn
from sqlanon.commands.progress import progress
from sqlanon.refreshing import REASONS, Refresh, refresh


@click.command(name="refresh", cls=GuardedCommand)
@click.argument("policy", type=click.Path())
@json_option
@on_interrupt_option
@click.option("--dry-run", is_flag=True, help="Say whether a refresh is due; write nothing.")
@click.option("--force", is_flag=True, help="Plan anew even if nothing demands it.")
def refresh_command(policy: str, as_json: bool, on_interrupt: str | None, dry_run: bool, force: bool) -> int:
    """Replace the live view of POLICY by a new plan when it loses more records than the policy allows, is not there, or
    was made with another policy or hierarchy. Without a solution the old view stays."""
    loaded = read_policy(policy, on_interrupt=on_interrupt)
    with progress(not as_json or STDERR.is_terminal) as watch:
        found = refresh(None, loaded, force=force, dry_run=dry_run, watch=watch)
    for warning in found.warnings:
        warn(warning)
    if as_json:
        print(json.dumps(_document(found)))
    else:
        _print_refresh(found)
    return 0


def _document(found: Refresh) -> dict[str, Any]:
    """Return the document of ``refresh --json``."""
    counts = ("records", "published", "suppressed", "excluded", "allowed")
    return {
        **pick(found, "refreshed", "due", "reason", *counts, "levels"),
        "before": pick(found.before, "published", "suppressed") if found.before is not None else None,
        "output": found.output,
        "warnings": list(found.warnings),
        "seconds": round(found.seconds, 6),
    }


def _print_refresh(found: Refresh) -> None:
    [(_, name)] = found.output.items()
    if found.before is not None:
        print(f"{name} held {found.before.published} records and lost {found.before.suppressed}.")
    if found.reason is None:
        print("It is left as it is.")
    elif found.refreshed:
        print(f"It was planned anew: {REASONS[found.reason]}.")
    else:
        print(f"A refresh is due: {REASONS[found.reason]}.")
    print(
        f"  {found.records} records = {found.published} published + {found.suppressed} suppressed + {found.excluded} "
        f"excluded; {found.allowed} may be suppressed"
    )
    for column, level in (found.levels or {}).items():
        print(f"  {column}: level {level}")
