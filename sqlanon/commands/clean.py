"""``sqlanon clean``: settle and remove what killed runs left behind."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sqlanon.commands.common import GuardedCommand, json_option
from sqlanon.publish.leftovers import IN_USE, STUCK, clean


@click.command("clean", cls=GuardedCommand)
@click.argument("place", type=click.Path(), default=".")
@click.option("--dry-run", is_flag=True, help="List what was left behind; remove nothing.")
@json_option
def clean_command(place: str, dry_run: bool, as_json: bool) -> int:
    """Remove what killed runs left in PLACE, a directory or the target of a release, and where databases spill to.

    Only what is provably ours is touched: private folders that no living process holds. A release that was being put in
    place is completed, or the old one gets its papers back.
    """
    found = clean(Path(place), dry_run=dry_run)
    stuck = any(item.state == STUCK for item in found)
    if as_json:
        document = {"dry_run": dry_run, "found": [{"path": str(item.path), "state": item.state} for item in found]}
        print(json.dumps(document))
    else:
        for item in found:
            print(f"{item.state}: {item.path}")
        if all(item.state == IN_USE for item in found):
            print("Nothing was left behind.")
    return 2 if stuck else 0
