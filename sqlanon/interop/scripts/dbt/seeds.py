"""Lookups as seeds: CSV files whose fields begin with a sign, because some adapters read an empty text as NULL."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from sqlanon.live.compiler.live import TEXT, VALUE

ROWS = 50_000
"""Rows of a seed beyond which dbt loads it slowly."""


def signed(text: str | None) -> str:
    """Return ``=`` and the text; ``-`` for NULL."""
    return "-" if text is None else "=" + text


def seed(rows: Iterable[tuple[str | None, str | None]]) -> str:
    """Return the file of a lookup: values, and what is published for them."""
    written = io.StringIO()
    writer = csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([VALUE, TEXT])
    writer.writerows([signed(value), signed(text)] for value, text in rows)
    return written.getvalue()
