"""``sqlanon refresh``: look at what a live view loses, and plan it anew when that is more than the policy allows."""

from __future__ import annotations

import json
from typing import Any

from sqlanon.commands.common import read_policy, warn
from sqlanon.commands.guarded import pick
from sqlanon.commands.progress import progress
from sqlanon.refreshing import REASONS, Refresh, refresh


def execute(policy: str, as_json: bool, on_interrupt: str | None, dry_run: bool, force: bool) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    loaded = read_policy(policy, on_interrupt=on_interrupt)
    with progress() as watch:
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
