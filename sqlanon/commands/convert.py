"""``sqlanon convert``: an ANON definition to a policy, a policy to a definition."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from sqlanon.commands.common import guarded
from sqlanon.policy.anon.convert import convert


@click.command("convert")
@click.argument("source", type=click.Path())
@click.argument("target", type=click.Path())
@click.option("--inline", is_flag=True, help="Put hierarchies that are CSV files into the target.")
@click.option("--replace", is_flag=True, help="The target may be there already.")
@click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")
def convert_command(source: str, target: str, inline: bool, replace: bool, as_json: bool) -> None:
    """Write the policy or ANON definition SOURCE as TARGET; the endings (.xml, .yaml, .json) say what they are."""

    def action() -> int:
        remarks = convert(Path(source), Path(target), inline=inline, replace=replace)
        for remark in remarks:
            print(f"Warning: {remark}", file=sys.stderr)
        if as_json:
            print(json.dumps({"target": target, "remarks": remarks}))
        else:
            print(f"{target} says what {source} says.")
        return 0

    guarded(action, as_json=as_json)
