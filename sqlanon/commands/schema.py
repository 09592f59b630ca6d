"""``sqlanon schema``: the JSON Schema of a policy, for editors and checks."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlanon.commands.reference.schema import DIALECT, policy_schema
from sqlanon.core.disk.writing import require_directory, write_text
from sqlanon.core.policy.schema_line import COMMENT
from sqlanon.errors import TargetError


def execute(out: str | None) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    text = json.dumps(policy_schema(), indent=1, ensure_ascii=False) + "\n"
    if out is None:
        print(text, end="")
        return 0
    target = Path(out)
    _refuse_others(target)
    require_directory(target)
    write_text(target, text)
    print(f"{target} holds the schema of policies. The first line of a policy in its folder names it:")
    print(COMMENT + target.name)
    return 0


def _refuse_others(target: Path) -> None:
    """Raise TargetError if there is a file that is no schema of policies; an old schema is replaced."""
    if not target.exists():
        return
    found: Any = None
    with suppress(OSError, ValueError):
        found = json.loads(target.read_bytes())
    if not isinstance(found, dict) or found.get("$schema") != DIALECT:
        raise TargetError(f"The file {target.name!r} is there, and is no JSON Schema.", hint="choose another name.")
