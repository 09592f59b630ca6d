"""``sqlanon nulls``: what wildcard matches of NULLs give an attacker, and what excluding the NULLs does to the data."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sqlanon.audit.null_bias import null_bias
from sqlanon.audit.nulls import REMARK, audit_nulls
from sqlanon.commands.common import guarded
from sqlanon.errors import InputError
from sqlanon.source.files import Reading
from sqlanon.source.opening import open_source


@click.command()
@click.argument("source", type=click.Path())
@click.argument("table", required=False)
@click.option("--qi", required=True, help="Quasi-identifiers, with commas.")
@click.option("--k", type=click.IntRange(min=1), help="Count the records that only wildcards would call safe at k.")
@click.option("--delimiter", default=None, help="Of a CSV source.")
@click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")
def nulls(source: str, table: str | None, qi: str, k: int | None, delimiter: str | None, as_json: bool) -> None:
    """Audit the NULLs of a relation: class sizes when they are wildcards, and the bias of leaving them out.

    The first part tells what an attacker gains who takes a NULL for a wildcard (maybe match, right maybe match). It is
    never used to justify a release: with NULLs as wildcards, records look safe that an attacker singles out who knows
    of a NULL. The second part tells what the basic match, which excludes the records with a NULL in --qi, does to the
    distribution of every column. Neither judges anything: exit 0 when they could be computed, 2 when not. For the
    operator: the counts are exact.
    """

    def action() -> int:
        columns = [part.strip() for part in qi.split(",") if part.strip()]
        if not columns:
            raise InputError("--qi names no column.", hint="give the quasi-identifiers, with commas.")
        name = table or ("release" if Path(source).suffix.lower() == ".duckdb" else None)
        reading = Reading({"delimiter": delimiter} if delimiter else {})
        with open_source(source, name, reading=reading) as opened:
            opened.engine.require("null_audit")
            audit = audit_nulls(opened.engine, opened.relation, columns, k=k)
            bias = null_bias(opened.engine, opened.relation, columns)
        if as_json:
            print(json.dumps({"remark": REMARK, "audit": audit.to_dict(), "bias": bias.to_dict()}))
        else:
            print("\n".join([*audit.lines(), "", *bias.lines()]))
        return 0

    guarded(action, as_json=as_json)
