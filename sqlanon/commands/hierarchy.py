"""``sqlanon hierarchy``: work with hierarchy files."""

from __future__ import annotations

import json
from pathlib import Path

from sqlanon.commands.verbosity import say
from sqlanon.core.hierarchies.readers import check_rows, read_rows


def execute(file: str, delimiter: str, null_text: str | None, as_json: bool) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    path = Path(file)
    checked = check_rows(read_rows(path, delimiter, null_text, "utf-8"), path.name)
    widths = [len(set(level)) for level in zip(*checked.rows, strict=True)]
    if as_json:
        print(json.dumps({"height": len(widths), "values": widths, "collapsed": checked.collapsed}))
    else:
        say(f"{path.name}: a tree of {len(widths)} levels with {' > '.join(map(str, widths))} values.")
        if checked.collapsed:
            say(f"{checked.collapsed} identical rows stand more than once; they count once.")
    return 0
