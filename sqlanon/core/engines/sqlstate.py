"""What an SQLSTATE reveals of an error without a value."""

from __future__ import annotations

WITHHELD = "its message is withheld because it may quote a value"

CLASSES: dict[str, str] = {
    "08": "connection exception",
    "0A": "feature not supported",
    "21": "cardinality violation",
    "22": "data exception",
    "23": "integrity constraint violation",
    "25": "invalid transaction state",
    "28": "invalid authorization",
    "40": "transaction rolled back",
    "42": "syntax error or access rule violation",
    "53": "insufficient resources",
    "54": "program limit exceeded",
    "55": "object not in the right state",
    "57": "operator intervention",
    "58": "system error",
    "XX": "internal error",
}
"""What the class, the first two characters of an SQLSTATE, means."""


def error_class(state: str | None) -> str:
    """Return the words for the class of an SQLSTATE."""
    return CLASSES.get((state or "")[:2], "error")
