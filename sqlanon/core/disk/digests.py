"""Digests of what is on the disk, by which a file is known again."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def digest_of(path: Path) -> str:
    """Return the SHA-256 (hex) of a file.

    That of a folder is the SHA-256 of what ``sha256sum *`` prints in it, the names in the order of their bytes; files
    in its folders have their paths below it as names.

    Raises:
        OSError: it cannot be read.
    """
    if path.is_dir():
        found = {os.fsencode(entry.relative_to(path).as_posix()): entry for entry in path.rglob("*") if entry.is_file()}
        lines = (_line(digest_of(found[name]).encode(), name) for name in sorted(found))
        return hashlib.sha256(b"".join(lines)).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _line(digest: bytes, name: bytes) -> bytes:
    """Return the line of a file as ``sha256sum`` prints it, so that no name can pass for another line."""
    escaped = name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
    return (b"\\" if escaped != name else b"") + digest + b"  " + escaped + b"\n"
