"""``sqlanon evidence``: run a policy and write an evidence pack of its release."""

from __future__ import annotations

import json

from sqlanon.commands.common import read_policy, warn
from sqlanon.commands.progress import progress
from sqlanon.commands.verbosity import say
from sqlanon.errors import SqlanonError
from sqlanon.report.evidence.catalogs import catalog
from sqlanon.report.evidence.pack import EvidencePack, evidence


def execute(policy: str, folder: str, audience: str, as_json: bool) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    loaded = read_policy(policy)
    try:
        with progress() as watch:
            pack = evidence(None, loaded, to=folder, audience=audience, watch=watch)
    except SqlanonError as error:
        for note in getattr(error, "__notes__", ()):
            warn(note)
        raise
    for warning in pack.warnings:
        warn(warning)
    if as_json:
        print(json.dumps(pack.to_dict()))
    else:
        _print_pack(pack)
    return 0


def _print_pack(pack: EvidencePack) -> None:
    say(f"{pack.folder}: evidence pack of {len(pack.files)} files, for the {pack.audience}")
    say(f"  {catalog('words')['came'][pack.came]}")
    if pack.release is not None:
        say(f"  release: {pack.release}{f' (SHA-256 {pack.release_sha256})' if pack.release_sha256 else ''}")
    words = catalog("attacks")
    for key, outcome in pack.outcomes.items():
        say(f"  {words['tried'][key]['name']}: {words['outcomes'][outcome]}")
    say(f"  {catalog('words')['status']}")
