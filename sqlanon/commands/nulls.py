"""``sqlanon nulls``: what wildcard matches of NULLs give an attacker, and what excluding the NULLs does to the data."""

from __future__ import annotations

import json

from sqlanon.assess.relations.null_bias import null_bias
from sqlanon.assess.relations.nulls import REMARK, audit_nulls
from sqlanon.commands.common import Judged, open_relation, reading_with


def execute(
    source: str, table: str | None, qi: tuple[str, ...], k: int | None, csv: tuple[str, ...], as_json: bool
) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    with open_relation(source, table, reading_with(csv)) as opened:
        opened.engine.capabilities.require("null_audit")
        judged = Judged.of(opened, (source, table), qi)
        columns = judged.quasi_identifiers
        audit = audit_nulls(opened.engine, opened.relation, columns, k=k)
        bias = null_bias(opened.engine, opened.relation, columns)
    if as_json:
        print(json.dumps({"remark": REMARK, **judged.to_dict(), "audit": audit.to_dict(), "bias": bias.to_dict()}))
    else:
        first, *rest = audit.lines()
        print("\n".join([first, *(f"  {line}" for line in judged.lines()), *rest, "", *bias.lines()]))
    return 0
