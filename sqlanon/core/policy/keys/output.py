"""The keys of ``output``."""

from __future__ import annotations

from sqlanon.parameters import (
    NAMES,
    names_of,
    option,
    or_nothing,
    shaped,
    text,
    whole,
)

TARGET_KEYS = (
    option(
        "view",
        text(),
        about="A view of the source's database, over a table that holds the released rows.",
        example="anon.patients",
        page="warehouse.md",
    ),
    option(
        "live_view",
        text(),
        about="A view that generalizes and counts the source on every read; with an epoch, at its end only.",
        example="anon.patients",
        page="live-views.md",
    ),
    option(
        "table",
        text(),
        about="A table of the source's database.",
        example="anon.patients",
        page="warehouse.md",
    ),
    option(
        "file",
        text(),
        about="A file; its ending is the format: .parquet, .csv, .xml, or .duckdb for a fresh database.",
        example="released.parquet",
    ),
)
"""Kinds of output."""
ROLE_KEYS = (
    option(
        "owner",
        or_nothing(text()),
        about="The role of a server that owns the release. Of views and tables.",
        example="output: {view: anon.patients, owner: anonymizer}",
        page="warehouse.md",
        default="the role that publishes",
    ),
    option(
        "readers",
        or_nothing(shaped({"anyOf": [{"type": "string"}, NAMES]}, "a role, or a list of roles")),
        about="The roles of a server that may read the release. Of views and tables.",
        example="output: {view: anon.patients, readers: [analyst]}",
        page="warehouse.md",
        default="nobody but the owner",
    ),
)
MODE = "0?[4-7][0-7][0-7]"
"""The permissions of a file, which its owner can read."""
MODE_KEY = option(
    "mode",
    or_nothing(shaped({"type": "string", "pattern": f"^{MODE}$"}, "text of three or four octal digits, in quotes")),
    about="The permissions of a file and its accompanying files, as chmod writes them.",
    example='output: {file: released.parquet, mode: "0640"}',
    page="policy.md#output-and-engine",
    default='those of the file that is replaced, or else "0600"',
)
PARTITION_KEY = option(
    "partition_by",
    or_nothing(shaped({"anyOf": [{"type": "string"}, NAMES]}, "a quasi-identifier, or a list of them")),
    about="Quasi-identifiers by whose released values a file becomes a folder of Parquet files.",
    example="output: {file: released, partition_by: [region, zip]}",
    page="lakehouse.md#a-release-in-partitions",
    default="none: a release is one file",
)
LENGTH = "([1-9][0-9]{0,5}) (minute|hour|day|week)s?"
"""The length of an epoch."""
EPOCH_KEYS = (
    option(
        "epoch",
        or_nothing(shaped({"type": "string", "pattern": f"^{LENGTH}$"}, "text, such as 1 hour")),
        about="How long a live view stays as it is. Then it changes by groups.",
        unit="minutes, hours, days or weeks",
        example="output: {live_view: anon.patients, epoch: 1 hour, record: patient_id}",
        page="live-views.md#epochs",
        default="none: it shows each change at once",
    ),
    option(
        "margin",
        or_nothing(whole(0)),
        about="Newcomers of a live view with an epoch are at least so many more than a class must hold.",
        unit="records; with an entity, persons",
        example="output: {live_view: anon.patients, epoch: 1 hour, margin: 2, record: patient_id}",
        page="live-views.md#epochs",
        default="0",
    ),
    option(
        "record",
        or_nothing(text()),
        about="The column of the source that is the key of its records. A live view with an epoch needs it.",
        example="output: {live_view: anon.patients, epoch: 1 hour, record: patient_id}",
        page="live-views.md#epochs",
    ),
)
OUTPUT_KEYS = (*TARGET_KEYS, *ROLE_KEYS, MODE_KEY, PARTITION_KEY, *EPOCH_KEYS)
TARGETS = names_of(TARGET_KEYS)
"""Kinds of output."""
