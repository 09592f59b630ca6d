"""Texts without their digests and random names, in which any few digits or letters may stand by chance."""

import re

_BY_CHANCE = re.compile(r"(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|[0-9a-f]{16,}")


def without_digests(text: str) -> str:
    """Return a text without UUIDs and without runs of sixteen hexadecimal digits or more."""
    return _BY_CHANCE.sub("", text)
