"""``sqlanon utility``: measure how well the release of a policy still describes its source."""

from __future__ import annotations

import json
from dataclasses import replace

from sqlanon.commands.common import read_policy, warn
from sqlanon.core.anonymizer import plan, recode
from sqlanon.report.text import section_lines
from sqlanon.report.utility_section import measured


def execute(policy: str, target: str | None, queries: int, seed: int, ml: bool, as_json: bool) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    loaded = replace(read_policy(policy), output=None)
    with (recode if loaded.transformation is not None else plan)(None, loaded) as planned:
        found = planned.utility(target, queries=queries, seed=seed, ml=ml)
        warnings = (*planned.warnings, *found.warnings)
    for warning in warnings:
        warn(warning)
    print(json.dumps(found.to_dict()) if as_json else "\n".join(section_lines(measured(found))))
    return 0
