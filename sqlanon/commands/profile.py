"""``sqlanon profile``: what a table holds, which of its columns single people out, and a draft of a policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sqlanon.assess.profiling.drafting import draft
from sqlanon.assess.profiling.profile import profile
from sqlanon.assess.profiling.text import profile_lines
from sqlanon.commands.common import warn
from sqlanon.commands.csv_options import read_csv_options
from sqlanon.core.disk.writing import require_directory, write_text
from sqlanon.errors import InputError, TargetError

WRITTEN = (".yaml", ".yml")
"""Endings of a draft: its comments, which say why, are YAML's."""


def execute(
    source: str,
    table: str | None,
    csv: tuple[str, ...],
    preset: str | None,
    write: str | None,
    replace_it: bool,
    as_json: bool,
) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    target = None if write is None else Path(write)
    if target is not None:
        _check_target(target, replace_it)
    found = profile(source, table, csv=read_csv_options(csv), preset=preset)
    for warning in found.warnings:
        warn(warning)
    document = found.to_dict()
    decisions: tuple[Any, ...] = ()
    if target is not None:
        drafted = draft(found, output=_release_beside(target), folder=target.absolute().parent)
        write_text(target, drafted.yaml)
        decisions = drafted.decisions
        document |= {"written": str(target), "decisions": [item.to_dict() for item in decisions]}
    if as_json:
        print(json.dumps(document))
        return 0
    print("\n".join(profile_lines(found)))
    if target is not None:
        print(f"\nThe draft of a policy is in {target}. Decisions that it leaves to you:")
        for decision in decisions:
            print(f"  {'' if decision.column is None else decision.column + ': '}{decision.sentence}")
        print(f"Run it as it is: sqlanon run {target}")
    else:
        print("\nA draft of a policy from this: add --write policy.yaml")
    return 0


def _check_target(target: Path, replace_it: bool) -> None:
    """Raise unless the draft can be written, before any work.

    Raises:
        InputError: it would be no YAML.
        TargetError: it is there already, or its folder is not.
    """
    if target.suffix.lower() not in WRITTEN:
        raise InputError(
            f"The draft {target.name!r} would not be YAML, whose comments hold the reasons.",
            hint="end its name with .yaml.",
        )
    if target.exists() and not replace_it:
        raise TargetError(f"The file {target.name!r} is there already.", hint="choose another name, or say --replace.")
    require_directory(target)


def _release_beside(target: Path) -> str:
    """Return the name of the release that the draft asks for; it is free, so that the draft runs as it stands."""
    names = ("released.parquet", f"{target.stem}_released.parquet")
    return next((name for name in names if not (target.absolute().parent / name).exists()), names[-1])
