"""``sqlanon clean``: settle and remove what killed runs left behind."""

from __future__ import annotations

import json
from pathlib import Path

from sqlanon.core.publish.leftovers import IN_USE, STUCK, clean


def execute(place: str, dry_run: bool, as_json: bool) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    cleaned = clean(Path(place), dry_run=dry_run)
    stuck = any(item.state == STUCK for item in cleaned)
    if as_json:
        document = {"dry_run": dry_run, "found": [{"path": str(item.path), "state": item.state} for item in cleaned]}
        print(json.dumps(document))
    else:
        for item in cleaned:
            print(f"{item.state}: {item.path}")
        if all(item.state == IN_USE for item in cleaned):
            print("Nothing was left behind.")
    return 2 if stuck else 0
