"""``sqlanon nulls``: what wildcard matches of NULLs give an attacker, and what excluding the NULLs does to the data."""

from __future__ import annotations

import json

import click

from sqlanon.audit.null_bias import null_bias
from sqlanon.audit.nulls import REMARK, audit_nulls
from sqlanon.commands.common import GuardedCommand, Judged, json_option, open_relation, qi_option, reading_with


@click.command(cls=GuardedCommand)
@click.argument("source", type=click.Path())
@click.argument("table", required=False)
@qi_option
@click.option("--k", type=click.IntRange(min=1), help="Count the records that only wildcards would call safe at k.")
@click.option("--delimiter", default=None, help="Of a CSV source.")
@json_option
def nulls(
    source: str, table: str | None, qi: tuple[str, ...], k: int | None, delimiter: str | None, as_json: bool
) -> int:
    """Audit the NULLs of a relation: class sizes when they are wildcards, and the bias of leaving them out.

    The first part tells what an attacker gains who takes a NULL for a wildcard (maybe match, right maybe match). It is
    never used to justify a release: with NULLs as wildcards, records look safe that an attacker singles out who knows
    of a NULL. The second part tells what the basic match, which excludes the records with a NULL in --qi, does to the
    distribution of every column. Neither judges anything: exit 0 when they could be computed, 2 when not. For the
    operator: the counts are exact.
    """
    with open_relation(source, table, reading_with(delimiter)) as opened:
        opened.engine.require("null_audit")
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
