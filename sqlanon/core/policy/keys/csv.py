"""The options of CSV files: the key ``csv`` of a policy, and of a joined source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlanon.parameters import flag, option, shaped, text, whole

CSV_TYPES = (
    "VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
    "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE",
    "UUID",
)  # fmt: skip
"""What the texts of a CSV column can be read as; DECIMAL may have a precision and a scale."""


def column_types(value: Any) -> str | None:
    """Return a hint unless ``value`` maps columns to types."""
    if not isinstance(value, Mapping):
        return "write {column: BIGINT}."
    for kind in value.values():
        base = (
            re.sub(r"^DECIMAL\([1-9][0-9]?(, ?[0-9]{1,2})?\)$", "DECIMAL", kind.upper())
            if isinstance(kind, str)
            else None
        )
        if base not in CSV_TYPES:
            return f"the types are {', '.join(CSV_TYPES)} and DECIMAL(18, 2), say."
    return None


_TYPES = {"type": "object", "additionalProperties": {"type": "string"}}
CSV_OPTIONS = (
    option(
        "delimiter",
        text(),
        about="The character between two fields.",
        example='";"',
        default='","; in .tsv a tab',
    ),
    option(
        "null",
        text(empty=True),
        about="The unquoted text that is NULL.",
        example="NA",
        default="the empty field",
    ),
    option(
        "quote",
        text(),
        about="The character around a field that holds a delimiter or a line end.",
        example='"\'"',
        default='a double quote, "',
    ),
    option("encoding", text(), about="The encoding.", example="latin-1", default="utf-8"),
    option(
        "header",
        flag(),
        about="Whether the first line names the columns.",
        example="false",
        default="true",
    ),
    option(
        "skip",
        whole(0),
        about="Lines above the header that are left out.",
        unit="lines",
        example="3",
        default="0",
    ),
    option(
        "types",
        shaped(_TYPES, "mapping of columns to types", column_types),
        about=f"Columns that are no texts: {', '.join(CSV_TYPES)}; a DECIMAL may have digits, as DECIMAL(18, 2).",
        example="{age: BIGINT}",
        default="texts; numbers or dates are looked for where a hierarchy or a model needs them",
    ),
    option(
        "date_format",
        text(),
        about="How dates are written.",
        example='"%d.%m.%Y"',
        default="found from all values",
    ),
    option(
        "timestamp_format",
        text(),
        about="How dates with a time of day are written.",
        example='"%d.%m.%Y %H:%M"',
        default="found from all values",
    ),
)
