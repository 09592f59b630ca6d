"""The folder of an evidence pack: when it may be written, its hashes, and how it appears as a whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from sqlanon.core.disk.writing import check_directory, whole_folder
from sqlanon.core.policy import Policy
from sqlanon.core.policy.paths import is_folder, same_file
from sqlanon.core.publish.papers import PAPERS
from sqlanon.errors import TargetError

SUMS = "SHA256SUMS"
"""The file that ``sha256sum -c`` reads; it names every other file of a pack."""
INDEX = "hashes.json"
"""The file that says what the others are; it is known by the key ``evidence_version``."""
VERSION = 1


def check_pack_folder(folder: Path, policy: Policy) -> None:
    """Refuse, before any work, a folder that must not be written or replaced.

    Raises:
        TargetError: something is there that is no pack of ours, or the policy does not say ``if_exists: replace``; or
            it is a file of the run, or lies in a folder that the run reads.
    """
    used = list(policy.read_files)
    if policy.output is not None and policy.output.kind == "file":
        used += [Path(policy.output.target + ending) for ending in ("", *PAPERS)]
    if any(same_file(folder, other) for other in used):
        raise TargetError(f"The folder {folder.name!r} is another file of this run.", hint="choose another name.")
    if any(is_folder(read) and read.resolve() in folder.resolve().parents for read in policy.read_files):
        raise TargetError(
            f"The folder {folder.name!r} is in the folder that is the source, and would be read as part of it.",
            hint="choose another place.",
        )
    if any(folder.resolve() in other.resolve().parents for other in used):
        raise TargetError(f"The folder {folder.name!r} holds a file of this run.", hint="choose a folder of its own.")
    if os.path.lexists(folder):
        if not is_pack(folder):
            raise TargetError(
                f"The folder {folder.name!r} exists, and is no evidence pack, or holds other files besides one.",
                hint="choose another name, or remove it yourself.",
            )
        if policy.if_exists != "replace":
            raise TargetError(
                f"The folder {folder.name!r} exists already.",
                hint="choose another name, or say if_exists: replace in the policy.",
            )
    check_directory(folder)


def is_pack(folder: Path) -> bool:
    """Return whether a folder holds an evidence pack of ours, and nothing else: no other file, folder or link."""
    try:
        if folder.is_symlink() or not folder.is_dir():
            return False
        entries = [*folder.iterdir()]
        if any(entry.is_symlink() or not entry.is_file() for entry in entries):
            return False
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        named = {line.partition("  ")[2] for line in (folder / SUMS).read_text(encoding="utf-8").splitlines()}
    except (OSError, ValueError, RecursionError):
        return False
    ours = isinstance(index, dict) and "evidence_version" in index
    return ours and {entry.name for entry in entries} == named | {SUMS}


def sha256_of(text: str) -> str:
    """Return the SHA-256 (hex) of the file that a text becomes."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def sums_of(texts: Mapping[str, str]) -> str:
    """Return what ``sha256sum *`` prints of files with these texts, by the bytes of their names."""
    names = sorted(texts, key=lambda name: name.encode())
    return "".join(f"{sha256_of(texts[name])}  {name}\n" for name in names)


def write_pack(folder: Path, texts: Mapping[str, str], *, replaces: bool) -> None:
    """Write the files of a pack with their sums; the folder appears as a whole or not at all.

    Raises:
        TargetError: it cannot be written, or appeared meanwhile.
    """
    with whole_folder(folder, replaces=replaces) as partial:
        for name, text in {**texts, SUMS: sums_of(texts)}.items():
            (partial / name).write_text(text, encoding="utf-8", newline="\n")
