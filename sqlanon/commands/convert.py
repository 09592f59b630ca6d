"""``sqlanon convert``: an ANON definition to a policy, a policy to a definition."""

from __future__ import annotations

import json
from pathlib import Path

from sqlanon.commands.common import warn
from sqlanon.policy.anon.convert import convert


def execute(source: str, target: str, inline: bool, replace: bool, as_json: bool) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    remarks = convert(Path(source), Path(target), inline=inline, replace=replace)
    for remark in remarks:
        warn(remark)
    print(json.dumps({"target": target, "remarks": remarks}) if as_json else f"{target} says what {source} says.")
    return 0
