"""What a policy says about a hierarchy: one frozen dataclass a kind. Rows are (value, level 1, level 2, …)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

Rows = tuple[tuple[str | None, ...], ...]
KINDS = ("file", "table", "levels", "redact", "intervals", "dates", "groups", "suppress")
"""What a policy calls the kinds below."""
DATE_LEVELS = ("day", "week", "month", "quarter", "year", "decade")


@dataclass(frozen=True, slots=True)
class FileHierarchy:
    """An ARX-style CSV file without header: original value, then level 1, 2, …"""

    path: Path
    delimiter: str = ";"
    null: str | None = None
    encoding: str = "utf-8"


@dataclass(frozen=True, slots=True)
class TableHierarchy:
    """A relation of the source's database, its columns in the order of the levels."""

    table: str


@dataclass(frozen=True, slots=True)
class LevelsHierarchy:
    """An inline mapping of values to their levels."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class GroupsHierarchy:
    """An inline tree of groups, all leaves at one depth, under one root ``*``."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class RedactHierarchy:
    """Mask one more character a level; ``direction`` is the side that is masked first."""

    direction: str = "right"
    char: str = "*"
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class IntervalsHierarchy:
    """Intervals of a width, each further level joining ``fanout`` of them; the root last."""

    width: Decimal
    fanouts: tuple[int, ...] = ()
    origin: Decimal = Decimal(0)
    lower: Decimal | None = None
    upper: Decimal | None = None
    labels: str = "range"


@dataclass(frozen=True, slots=True)
class DatesHierarchy:
    """Calendar periods, finest first; the root last."""

    levels: tuple[str, ...] = ("day", "month", "quarter", "year", "decade")


@dataclass(frozen=True, slots=True)
class SuppressHierarchy:
    """One level above the values: everything to ``*``."""


@dataclass(frozen=True, slots=True)
class ExtensionHierarchy:
    """One that a builder from outside the package makes; ``options`` are its parameters by name."""

    kind: str
    options: Mapping[str, Any]


HierarchySpec = (
    FileHierarchy
    | TableHierarchy
    | LevelsHierarchy
    | GroupsHierarchy
    | RedactHierarchy
    | IntervalsHierarchy
    | DatesHierarchy
    | SuppressHierarchy
    | ExtensionHierarchy
)
