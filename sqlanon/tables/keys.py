"""The keys of a policy of several tables, where they are not those of a policy of one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlanon.core.policy.columns import Column
from sqlanon.core.policy.facts import TOP_KEYS
from sqlanon.core.policy.output import Output
from sqlanon.core.policy.parts import keys_of
from sqlanon.parameters import TEXT, Parameter, choice, find, option, or_nothing, parts, shaped, text, whole

SHARED = (
    "version", "source", "csv", "undeclared", "uncovered", "suppression_limit", "suppression_count", "quality",
    "search", "repeats", "engine",
)  # fmt: skip
"""Keys beside ``tables`` that each table's own policy has too."""
OWN = ("source", "table", "csv", "columns", "accept", "undeclared", "uncovered")
"""Keys of a table that its own policy has."""
MODEL = "profile_k"
FOLDER_FORMATS = ("parquet", "csv")
COLUMN_ROLES = ("quasi_identifier", "keep", "drop")


@dataclass(frozen=True, slots=True)
class Latest:
    """Of the rows that belong to one row of the parent, so many are taken: those with the latest value of a column."""

    rows: int
    by: str


def _some(parameters: Sequence[Parameter], names: Sequence[str]) -> tuple[Parameter, ...]:
    return tuple(find(parameters, name) for name in names)


COLUMN_KEYS = (
    replace(keys_of(Column)[0], check=choice(*COLUMN_ROLES)),
    *_some(keys_of(Column), ("hierarchy", "min_level", "max_level", "weight", "uncovered")),
)
LATEST_KEYS = (
    option("rows", whole(1), about="How many rows, at most.", example="latest: {rows: 3, by: day}"),
    option("by", text(), about="The column that says which rows are the latest.", example="latest: {rows: 3, by: day}"),
)
TABLE_KEYS = (
    *(
        replace(parameter, check=parts("by_name", "mapping of columns to their keys", COLUMN_KEYS))
        if parameter.name == "columns"
        else parameter
        for parameter in _some(TOP_KEYS, OWN)
    ),
    option(
        "key",
        or_nothing(text()),
        about="The column that identifies the rows of the table. Tables that others belong to need it; its pseudonym "
        "is published where other tables need it.",
        example="tables: {patients: {key: patient_id, columns: {sex: {role: keep}}}}",
    ),
    option(
        "parent",
        or_nothing(
            shaped(
                {"type": "object", "additionalProperties": TEXT, "minProperties": 1, "maxProperties": 1},
                "mapping of one table to the column here that holds its key",
            )
        ),
        about="The table that the rows belong to. One table has none, that of the persons.",
        example="tables: {visits: {parent: {patients: patient_id}, columns: {ward: {role: keep}}}}",
    ),
    option(
        "latest",
        or_nothing(parts("mapping", "mapping with rows and by", LATEST_KEYS)),
        about="Take so many rows of each row of the parent, those with the latest date or number; the others are left "
        "out before anything is counted. How many rows a person has is known, and no hierarchy hides it.",
        example="tables: {visits: {parent: {patients: patient_id}, latest: {rows: 3, by: day}, columns: {}}}",
    ),
)
OUTPUT_KEYS = (
    option(
        "file",
        text(),
        about="A fresh DuckDB file that holds all tables.",
        example="output: {file: release.duckdb}",
    ),
    option(
        "folder",
        text(),
        about="A folder with a file for each table.",
        example="output: {folder: release, format: csv}",
    ),
    option(
        "format",
        or_nothing(choice(*FOLDER_FORMATS)),
        about="The format of the files of a folder.",
        example="output: {folder: release, format: csv}",
        default="parquet",
    ),
    find(keys_of(Output), "mode"),
)
KEYS = (
    *_some(TOP_KEYS, SHARED),
    Parameter(
        "tables",
        parts("by_name", "mapping of tables to their keys", TABLE_KEYS),
        about="The tables, which are published together; the keys between them become pseudonyms.",
        example="{patients: {key: patient_id, columns: {sex: {role: keep}}}}",
        page="tables.md",
    ),
    replace(
        find(TOP_KEYS, "privacy"),
        required=True,
        about="The one model that several tables know: at least k persons have the same rows in all tables.",
        example="[{type: profile_k, k: 5}]",
        page="tables.md",
    ),
    *_some(TOP_KEYS, ("nulls", "key")),
    replace(
        find(TOP_KEYS, "output"),
        check=parts("mapping", "mapping with one target, or the path of a DuckDB file", OUTPUT_KEYS, or_text=True),
        example="{file: release.duckdb}",
        page="tables.md",
    ),
    find(TOP_KEYS, "if_exists"),
)
"""Keys of the policy."""
