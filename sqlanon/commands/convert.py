"""``sqlanon convert``: an ANON definition to a policy, a policy to a definition, and an ARX project to either."""

from __future__ import annotations

import json
from pathlib import Path

from sqlanon.commands.common import warn
from sqlanon.commands.verbosity import say
from sqlanon.interop.anon.convert import convert, convert_project
from sqlanon.interop.arx.importing import ENDING


def execute(source: str, target: str, inline: bool, replace: bool, data: bool, as_json: bool) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code.

    It is 1 where a policy lacks a privacy model of its ARX project: the policy is written, and protects less.
    """
    if Path(source).suffix.lower() == ENDING:
        return _execute_import(source, target, inline, replace, data, as_json)
    remarks = convert(Path(source), Path(target), inline=inline, replace=replace, data=data)
    for remark in remarks:
        warn(remark)
    if as_json:
        print(json.dumps({"target": target, "remarks": remarks}))
    else:
        say(f"{target} says what {source} says.")
    return 0


def _execute_import(source: str, target: str, inline: bool, replace: bool, data: bool, as_json: bool) -> int:
    imported = convert_project(Path(source), Path(target), inline=inline, replace=replace, data=data)
    notes = imported.notes
    for remark in notes.texts:
        warn(remark)
    if as_json:
        result = {"target": target, "remarks": notes.texts, "files": list(imported.files), "notes": notes.found}
        print(json.dumps(result))
    else:
        lacking = len(notes.found["unprotected"])
        said = f"{target} says what {source} says, except where the notes say otherwise"
        say(f"{target} protects less than {source}: {lacking} notes say where." if lacking else f"{said}.")
        for name in imported.files:
            say(f"  {name}")
    return 1 if notes.found["unprotected"] else 0
