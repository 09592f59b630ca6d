"""How dates are written as text."""

from __future__ import annotations

_YEAR, _MONTH, _DAY = "(18|19|20)[0-9]{2}", "(0?[1-9]|1[0-2])", "(0?[1-9]|[12][0-9]|3[01])"

ISO = "%Y-%m-%d"
FORMATS: dict[str, str] = {
    ISO: f"^{_YEAR}-{_MONTH}-{_DAY}$",
    "%Y/%m/%d": f"^{_YEAR}/{_MONTH}/{_DAY}$",
    "%d.%m.%Y": rf"^{_DAY}\.{_MONTH}\.{_YEAR}$",
    "%d/%m/%Y": f"^{_DAY}/{_MONTH}/{_YEAR}$",
    "%m/%d/%Y": f"^{_MONTH}/{_DAY}/{_YEAR}$",
    "%d-%m-%Y": f"^{_DAY}-{_MONTH}-{_YEAR}$",
    "%m-%d-%Y": f"^{_MONTH}-{_DAY}-{_YEAR}$",
    "%Y.%m.%d": rf"^{_YEAR}\.{_MONTH}\.{_DAY}$",
    "%Y%m%d": "^(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$",
}
"""The formats of dates that a CSV source can be read by (``core/source/csv_types.py``), with a pattern of their texts.
Two formats that differ by the order of day and month stand beside each other."""
SWAPPED = {"%d/%m/%Y": "%m/%d/%Y", "%d-%m-%Y": "%m-%d-%Y"}
"""Formats that both fit where no day is beyond 12."""


def year_is_last(written: str) -> bool:
    """Return whether the last four characters are the year; otherwise the first four are."""
    return written.endswith("%Y")
