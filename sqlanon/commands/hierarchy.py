"""``sqlanon hierarchy``: work with hierarchy files."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sqlanon.commands.common import GuardedCommand
from sqlanon.policy.hierarchy.readers import check_rows, read_rows


@click.group()
def hierarchy() -> None:
    """Work with hierarchy files."""


@hierarchy.command("check", cls=GuardedCommand)
@click.argument("file", type=click.Path())
@click.option("--delimiter", default=";", show_default=True)
@click.option("--null", "null_text", default=None, help="The text that stands for NULL.")
@click.option("--json", "as_json", is_flag=True)
def hierarchy_check(file: str, delimiter: str, null_text: str | None, as_json: bool) -> int:
    """Check an ARX-style hierarchy FILE: a tree, no missing levels, no contradictions."""
    path = Path(file)
    checked = check_rows(read_rows(path, delimiter, null_text, "utf-8"), path.name)
    widths = [len(set(level)) for level in zip(*checked.rows, strict=True)]
    if as_json:
        print(json.dumps({"height": len(widths), "values": widths, "collapsed": checked.collapsed}))
    else:
        print(f"{path.name}: a tree of {len(widths)} levels with {' > '.join(map(str, widths))} values.")
        if checked.collapsed:
            print(f"{checked.collapsed} identical rows stand more than once; they count once.")
    return 0
