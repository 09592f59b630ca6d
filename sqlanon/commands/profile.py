"""``sqlanon profile``: what a table holds, which of its columns single people out, and a draft of a policy."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TypedDict, Unpack

from sqlanon.assess.presets.linking import draft_linked, has_linked
from sqlanon.assess.profiling.drafting import PolicyDraft, draft
from sqlanon.assess.profiling.profile import profile
from sqlanon.assess.profiling.text import profile_lines, proposal_lines
from sqlanon.commands.common import warn
from sqlanon.commands.csv_options import read_csv_options, read_format_options
from sqlanon.core.disk.writing import require_directory, write_text
from sqlanon.errors import InputError, TargetError

WRITTEN = (".yaml", ".yml")
"""Endings of a draft: its comments, which say why, are YAML's."""


class Drafting(TypedDict):
    """The options of a draft: its file, whether that may be there, and which of the searched releases it makes."""

    write: str | None
    replace_it: bool
    search: bool
    proposal: str | None


def execute(
    source: str,
    table: str | None,
    csv: tuple[str, ...],
    preset: str | None,
    as_json: bool,
    **drafting: Unpack[Drafting],
) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    write, search, proposal = drafting["write"], drafting["search"], drafting["proposal"]
    if proposal is not None and (write is None or not search):
        raise InputError("A proposal is a draft that was searched.", hint="say --write too, and not --no-search.")
    target = None if write is None else Path(write)
    if target is not None:
        _check_target(target, drafting["replace_it"])
    if preset is not None and has_linked(source, table, preset):
        return _linked(source, preset, target, as_json)
    profiled = profile(source, table, csv=read_csv_options(csv), formats=read_format_options(csv), preset=preset)
    for warning in profiled.warnings:
        warn(warning)
    document = profiled.to_dict()
    drafted = None
    if target is not None:
        drafted = draft(
            profiled, output=_release_beside(target), folder=target.absolute().parent, search=search, proposal=proposal
        )
        for warning in drafted.warnings:
            warn(warning)
        write_text(target, drafted.yaml)
        document |= {"written": str(target), **drafted.to_dict()}
    if as_json:
        print(json.dumps(document))
        return 0
    shown, asked = (profiled, None) if drafted is None else (drafted.profile, drafted.decisions)
    print("\n".join(profile_lines(shown, asked)))
    if drafted is None:
        print("\nA draft of a policy from this: add --write policy.yaml")
        return 0
    _print_proposals(drafted)
    print(f"\nThe draft of a policy is in {target}. Run it as it is: sqlanon run {target}")
    return 0


def _linked(source: str, preset: str, target: Path | None, as_json: bool) -> int:
    """Draft a policy of several tables, and print what it publishes."""
    folder = Path.cwd() if target is None else target.absolute().parent
    output = "released.duckdb" if target is None else _release_beside(target, ".duckdb")
    drafted = draft_linked(source, preset, output=output, folder=folder)
    if target is not None:
        write_text(target, drafted.yaml)
    if as_json:
        print(json.dumps({"written": None if target is None else str(target), **drafted.to_dict()}))
        return 0
    for item in drafted.tables:
        fit = item.profile.preset
        print(f"{item.profile.table}: {item.profile.records:,} records. {'' if fit is None else fit.sentence}")
        print(f"  Published: {', '.join(item.published)}; all else is left out, and keys become pseudonyms.")
    print("\n".join(drafted.notes))
    end = "A draft of a policy from this: add --write policy.yaml"
    if target is not None:
        end = f"The draft of a policy is in {target}. Run it as it is: sqlanon run {target}"
    print(f"\n{end}")
    return 0


def _print_proposals(drafted: PolicyDraft) -> None:
    """Print the releases that were searched, and how to have another one than the draft makes."""
    if not drafted.proposals:
        return
    print("\nReleases that were searched:")
    for line in proposal_lines(drafted.proposals):
        print(f"  {line}")
    for item in next(item.unmet for item in drafted.proposals if item.name == drafted.proposal):
        print(f"  {item.sentence}")
    others = [item.name for item in drafted.proposals if item.name != drafted.proposal]
    print(f"The draft makes the one that is {drafted.proposal!r}.", end="")
    print(f" For another: --proposal {shlex.quote(others[0])}" if others else "")


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


def _release_beside(target: Path, ending: str = ".parquet") -> str:
    """Return the name of the release that the draft asks for: one that no file has, and no other policy there names."""
    folder, names = target.absolute().parent, (f"released{ending}", f"{target.stem}_released{ending}")
    others = (path for path in folder.iterdir() if path.suffix.lower() in WRITTEN and path.name != target.name)
    readable = (path.read_bytes() for path in others if path.is_file() and os.access(path, os.R_OK))
    taken = (folder / names[0]).exists() or any(f" {names[0]}".encode() in text for text in readable)
    return names[1] if taken else names[0]
