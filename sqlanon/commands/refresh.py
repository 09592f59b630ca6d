"""``sqlanon refresh``: look at what a live view loses, and plan it anew when that is more than the policy allows."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from sqlanon.commands.common import STDERR, guarded, policy_of
from sqlanon.commands.run import progress
from sqlanon.refreshing import REASONS, Refresh, refresh


@click.command(name="refresh")
@click.argument("policy", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")
@click.option("--dry-run", is_flag=True, help="Say whether a refresh is due; write nothing.")
@click.option("--force", is_flag=True, help="Plan anew even if nothing demands it.")
def refresh_command(policy: str, as_json: bool, dry_run: bool, force: bool) -> None:
    """Replace the live view of POLICY by a new plan when it loses more records than the policy allows, is not there, or
    was made with another policy or hierarchy. Without a solution the old view stays."""

    def action() -> int:
        made = policy_of(policy)
        with progress(not as_json or STDERR.is_terminal) as watch:
            found = refresh(None, made, force=force, dry_run=dry_run, watch=watch)
        for warning in found.warnings:
            print(f"Warning: {warning}", file=sys.stderr)
        if as_json:
            print(json.dumps(refresh_result(found)))
        else:
            _tell(found)
        return 0

    guarded(action, as_json=as_json)


def refresh_result(found: Refresh) -> dict[str, Any]:
    """The document of ``refresh --json``."""
    before = found.before
    return {
        "refreshed": found.refreshed,
        "due": found.due,
        "reason": found.reason,
        "records": found.records,
        "published": found.published,
        "suppressed": found.suppressed,
        "excluded": found.excluded,
        "allowed": found.allowed,
        "levels": found.levels,
        "before": {"published": before.published, "suppressed": before.suppressed} if before is not None else None,
        "output": found.output,
        "warnings": list(found.warnings),
        "seconds": round(found.seconds, 6),
    }


def _tell(found: Refresh) -> None:
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
