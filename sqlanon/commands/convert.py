"""``sqlanon convert``: an ANON definition to a policy, a policy to a definition."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sqlanon.commands.common import GuardedCommand, json_option, warn
from sqlanon.policy.anon.convert import convert


@click.command("convert", cls=GuardedCommand)
@click.argument("source", type=click.Path())
@click.argument("target", type=click.Path())
@click.option("--inline", is_flag=True, help="Put hierarchies that are CSV files into the target.")
@click.option("--replace", is_flag=True, help="The target may be there already.")
@json_option
def convert_command(source: str, target: str, inline: bool, replace: bool, as_json: bool) -> int:
    """Write the policy or ANON definition SOURCE as TARGET; the endings (.xml, .yaml, .json) say what they are."""
    remarks = convert(Path(source), Path(target), inline=inline, replace=replace)
    for remark in remarks:
        warn(remark)
    print(json.dumps({"target": target, "remarks": remarks}) if as_json else f"{target} says what {source} says.")
    return 0
