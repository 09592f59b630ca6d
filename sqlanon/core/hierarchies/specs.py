"""The hierarchies of a policy: one frozen dataclass per kind. Rows are (value, level 1, level 2, …).

A constructor takes values as a user writes them. ``faults`` yields what is wrong with them as (option, message, hint);
the option is empty for a fault of the hierarchy as a whole. ``kind`` is the key of the hierarchy in a policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

from sqlanon.core.hierarchies.calendar_specs import Ages, Dates
from sqlanon.core.hierarchies.code_specs import Codes, FrequentValues, Prefix, Zip3
from sqlanon.core.hierarchies.spec_values import (
    DECIMAL,
    DECIMAL_ABOVE_0,
    EDGES,
    FANOUTS,
    SCALAR,
    Exact,
    Found,
    Rows,
    canonical_text,
    exact,
    is_list,
    set_fields,
)
from sqlanon.core.plain import DEEPEST, plain, set_plain
from sqlanon.parameters import Parameter, ValueCheck, character, choice, flag, option, or_nothing, shaped, text, whole

__all__ = [
    "KINDS", "LISTED_OPTION", "Ages", "Codes", "Dates", "Exact", "ExtensionHierarchy", "FileHierarchy",
    "FrequentValues", "Groups", "HierarchySpec", "Intervals", "Levels", "Prefix", "Redact", "Rows", "Suppress",
    "TableHierarchy", "Zip3", "canonical_text", "exact", "is_list", "lists_its_values", "reads_texts",
]  # fmt: skip


@dataclass(frozen=True, slots=True, init=False)
class FileHierarchy:
    """A CSV file in the style of ARX: original value, then level 1, 2 and so on.

    A relative path is relative to the policy's ``base_directory``. ``null`` is a text that stands for NULL. ``header``
    says whether the first line names the levels; without it there is none, and a line that reads like one is refused.
    """

    kind: ClassVar[str] = "file"
    example: ClassVar[str] = "age.csv"
    options: ClassVar[tuple[Parameter, ...]] = (
        Parameter("file", text(), about="The path of the file, relative to the policy file.", example="age.csv"),
        option("delimiter", character(), about="The character between two fields.", example='","'),
        option(
            "null", or_nothing(text(empty=True)), about="The text that stands for NULL.", example="NA", default="none"
        ),
        option("encoding", text(), about="The encoding.", example="cp1252"),
        option(
            "header",
            or_nothing(flag()),
            about="Whether the first line names the levels.",
            example="true",
            default="there is none, and a line that looks like one is refused",
        ),
    )
    path: Path
    delimiter: str
    null: str | None
    encoding: str
    header: bool | None

    def __init__(
        self,
        path: str | Path,
        delimiter: str = ";",
        null: str | None = None,
        encoding: str = "utf-8",
        header: bool | None = None,
    ) -> None:
        path = plain(path)
        set_fields(self, path=Path(path) if isinstance(path, str) else path, delimiter=delimiter, null=null)
        set_fields(self, encoding=encoding, header=header)

    def faults(self) -> Found:
        """Yield a path that is none, and options that are not of their kind."""
        if not isinstance(self.path, Path) or not self.path.name:
            yield "", "This is not a path.", "give the path of an ARX-style CSV file."
        if character()(self.delimiter):
            yield "delimiter", "This is not one character.", 'say delimiter: ";", for example.'
        if self.header is not None and not isinstance(self.header, bool):
            yield "header", "This is neither true nor false.", "say header: true if the first line names the levels."
        if self.null is not None and (hint := text(empty=True)(self.null)):
            yield "null", "This is not a text.", hint
        if not _is_encoding(self.encoding):
            yield "encoding", "This is not an encoding of text.", "say encoding: utf-8, or cp1252, for example."


def _is_encoding(name: Any) -> bool:
    try:
        return isinstance("".encode(name), bytes)
    except (LookupError, TypeError, ValueError):
        return False


@dataclass(frozen=True, slots=True)
class TableHierarchy:
    """A relation of the source's database, its columns in the order of the levels."""

    kind: ClassVar[str] = "table"
    value: ClassVar[ValueCheck] = text()
    example: ClassVar[str] = "age_levels"
    table: str

    def __post_init__(self) -> None:
        set_plain(self)

    def faults(self) -> Found:
        """Yield a name that is none."""
        if not isinstance(self.table, str) or not self.table:
            yield "", "This is not a table's name.", "give the name of a relation of the database."


@dataclass(frozen=True, slots=True, init=False)
class Levels:
    """Values with their levels, one by one: ``Levels({"flu": ["respiratory", "*"], "gastritis": ["stomach", "*"]})``.

    A single level may stand without a list.
    """

    kind: ClassVar[str] = "levels"
    value: ClassVar[ValueCheck] = shaped(
        {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"anyOf": [SCALAR, {"type": "array", "items": SCALAR}]},
        },
        "mapping of values to a list of their levels",
    )
    example: ClassVar[str] = '{flu: [respiratory, "*"], gastritis: [stomach, "*"]}'
    rows: Rows

    def __init__(self, levels: Mapping[Any, Any]) -> None:
        levels = plain(levels)
        given = levels.items() if isinstance(levels, Mapping) else ()
        listed = [(value, *above) if is_list(above) else (value, above) for value, above in given]
        nested = any(isinstance(cell, Mapping | list | tuple) for row in listed for cell in row)
        set_fields(self, rows=() if nested else tuple(tuple(map(canonical_text, row)) for row in listed))

    def faults(self) -> Found:
        """Yield an empty mapping, and values with different numbers of levels."""
        if not self.rows:
            yield "", "This is not a mapping of values to their levels.", "write value: [level 1, level 2, …]."
        elif len({len(row) for row in self.rows}) > 1:
            yield "", "The values have different numbers of levels.", "give every value as many levels."


@dataclass(frozen=True, slots=True, init=False)
class Groups:
    """A tree of groups, all values at one depth, under one root ``*``: ``Groups({"north": ["10", "11"]})``."""

    kind: ClassVar[str] = "groups"
    value: ClassVar[ValueCheck] = shaped(
        {"type": ["object", "array"]}, "mapping of groups to lists of values, or to further groups"
    )
    example: ClassVar[str] = "{partner: [married], no partner: [single, divorced]}"
    rows: Rows

    def __init__(self, groups: Mapping[Any, Any] | Sequence[Any]) -> None:
        set_fields(self, rows=tuple(_group_rows(plain(groups), ("*",)) or ()))

    def faults(self) -> Found:
        """Yield what is no tree, and values at different depths."""
        if not self.rows:
            hint = "write {group: [values]} or {group: {subgroup: [values]}}."
            yield "", "This is not a tree of groups.", hint
        elif len({len(row) for row in self.rows}) > 1:
            yield "", "The values lie at different depths.", "put every value below as many groups."


def _group_rows(node: Any, above: tuple[str | None, ...]) -> list[tuple[str | None, ...]] | None:
    """Return the rows below a group; None if it is no tree."""
    if isinstance(node, Mapping) and node and len(above) <= DEEPEST:
        parts = [_group_rows(child, (canonical_text(name), *above)) for name, child in node.items()]
        return None if any(part is None for part in parts) else [row for part in parts for row in part or ()]
    if not is_list(node) or any(isinstance(leaf, Mapping | list) for leaf in node):
        return None
    return [(canonical_text(leaf), *above) for leaf in node]


@dataclass(frozen=True, slots=True)
class Redact:
    """Mask one more character a level; ``direction`` is the side that is masked first.

    Attributes:
        steps: the number of levels; None: as many as a text has characters.
        width: characters of every text from level 1 on: shorter values are filled up with ``char``, longer ones cut.
            None: as many as the values of enough records have (``source.widths``).
    """

    kind: ClassVar[str] = "redact"
    example: ClassVar[str] = '{direction: right, char: "*"}'
    options: ClassVar[tuple[Parameter, ...]] = (
        option("direction", choice("left", "right"), about="The side that is masked first.", example="right"),
        option("char", character(), about="The sign that masks.", example='"*"'),
        option(
            "steps",
            or_nothing(whole(1)),
            about="How many levels there are.",
            example="3",
            unit="levels",
            default="as many as a text has characters",
        ),
        option(
            "width",
            or_nothing(whole(1)),
            about="How long every text is from level 1 on: shorter values are filled up, longer ones are cut.",
            unit="characters",
            example="5",
            default="the length that the values of enough records reach",
        ),
    )
    direction: Literal["left", "right"] = "right"
    char: str = "*"
    steps: int | None = None
    width: int | None = None

    def __post_init__(self) -> None:
        set_plain(self)

    def faults(self) -> Found:
        """Yield options out of their range."""
        if self.direction not in ("left", "right"):
            yield "direction", "This is not a side.", "say left or right."
        if character()(self.char):
            yield "char", "This is not one character.", 'say char: "*", for example.'
        for name, value in (("steps", self.steps), ("width", self.width)):
            if value is not None and (hint := whole(1)(value)):
                yield name, "This is not a whole number in the range.", hint


@dataclass(frozen=True, slots=True, init=False)
class Intervals:
    """Half-open intervals of a width, each further level joining so many of them as ``fanouts`` says; the root last.

    Or intervals between stated ``edges``, where most numbers lie close together and some far away.

    Attributes:
        width: of an interval on level 1.
        fanouts: how many intervals of a level are joined on the next, level by level.
        origin: an edge.
        lower, upper: values below ``lower``, and from ``upper`` on, have one label each on all levels.
        labels: ``range`` is ``[20, 25)``, ``start`` is ``20``.
        edges: those of level 1, 2, … in place of a width, each list some of the one before: ``[[20, 50, 100], [50]]``
            is ``<20``, ``[20, 50)``, ``[50, 100)`` and ``>=100``, then ``<50`` and ``>=50``.
    """

    kind: ClassVar[str] = "intervals"
    example: ClassVar[str] = "{width: 5, fanouts: [2, 2], lower: 0, upper: 100}"
    one_of: ClassVar[tuple[str, ...]] = ("width", "edges")
    options: ClassVar[tuple[Parameter, ...]] = (
        option(
            "width",
            or_nothing(DECIMAL_ABOVE_0),
            about="The width of an interval on level 1.",
            example="5",
            default="none, where edges are given",
        ),
        option("fanouts", FANOUTS, about="How many intervals are joined, level by level.", example="[2, 2]"),
        option("origin", or_nothing(DECIMAL), about="An edge.", example="2", default="0"),
        option(
            "lower",
            or_nothing(DECIMAL),
            about="Values below have one label on all levels.",
            example="0",
            default="none",
        ),
        option(
            "upper",
            or_nothing(DECIMAL),
            about="Values from here on have one label on all levels.",
            example="100",
            default="none",
        ),
        option("labels", choice(range="[20, 25)", start="20"), about="What an interval is called.", example="start"),
        option(
            "edges",
            or_nothing(EDGES),
            about="The edges of each level, in place of a width; those of a level are among those of the one before.",
            example="[[20, 50, 100, 500], [50]]",
            default="none",
        ),
    )
    width: Decimal
    fanouts: tuple[int, ...]
    origin: Decimal
    lower: Decimal | None
    upper: Decimal | None
    labels: str
    edges: tuple[tuple[Decimal, ...], ...] | None

    def __init__(
        self,
        width: Exact | None = None,
        fanouts: Sequence[int] = (),
        origin: Exact = 0,
        lower: Exact | None = None,
        upper: Exact | None = None,
        labels: Literal["range", "start"] = "range",
        edges: Sequence[Sequence[Exact]] | None = None,
    ) -> None:
        nested = is_list(edges) and all(is_list(level) for level in edges or ())
        found = tuple(tuple(map(exact, level)) for level in edges or ()) if nested else edges
        set_fields(self, edges=found)
        set_fields(self, width=exact(width), origin=Decimal(0) if origin is None else exact(origin))
        set_fields(self, lower=exact(lower), upper=exact(upper), labels=labels)
        set_fields(self, fanouts=tuple(fanouts) if is_list(fanouts) else fanouts)

    def faults(self) -> Found:
        """Yield options out of their range."""
        numbers = {name: getattr(self, name) for name in ("width", "origin", "lower", "upper")}
        good = {
            k: v for k, v in numbers.items() if isinstance(v, Decimal) and v.is_finite() and (k != "width" or v > 0)
        }
        if self.edges is not None:
            yield from self._faults_of_edges()
        elif self.width is None:
            yield "width", "The width is missing.", "add width: 5, or edges: [[20, 50, 100]], say."
        for name, number in numbers.items():
            if number is not None and (name not in good or (name == "width" and number <= 0)):
                yield name, "This is not a number in the range.", "give a finite number (width above 0)."
        if not isinstance(self.fanouts, tuple):
            yield "fanouts", "This is not a list.", "write fanouts: [2, 5]."
        elif hints := [hint for fanout in self.fanouts if (hint := whole(2)(fanout))]:
            yield "fanouts", "This is not a whole number in the range.", hints[0]
        if self.labels not in ("range", "start"):
            yield "labels", "This is not a kind of label.", "say range or start."
        if "lower" in good and "upper" in good and good["lower"] >= good["upper"]:
            yield "lower", "lower is not below upper.", "swap them."

    def _faults_of_edges(self) -> Found:
        """Yield edges that are none, that do not grow or nest, and what does not go with them."""
        levels = self.edges if isinstance(self.edges, tuple) else ()
        numbers = [edge for level in levels if isinstance(level, tuple) for edge in level]
        if not levels or not all(levels) or not all(isinstance(n, Decimal) and n.is_finite() for n in numbers):
            yield "edges", "These are no lists of numbers.", "write edges: [[20, 50, 100], [50]]."
            return
        if any(level != tuple(sorted(set(level))) for level in levels):
            yield "edges", "The edges of a level do not grow.", "write each once, from the least to the greatest."
        if any(not set(coarser) < set(finer) for finer, coarser in pairwise(levels)):
            yield (
                "edges",
                "Not all edges of a level are among those of the one before.",
                "leave edges out, level by level.",
            )
        beside = [number for number in (self.width, self.lower, self.upper) if number is not None]
        if beside or self.fanouts or self.origin or self.labels != "range":
            yield "edges", "Edges stand in place of a width and all that goes with one.", "leave the others out."


@dataclass(frozen=True, slots=True)
class Suppress:
    """One level above the values: everything to ``*``."""

    kind: ClassVar[str] = "suppress"
    example: ClassVar[str] = "{}"
    options: ClassVar[tuple[Parameter, ...]] = ()

    def faults(self) -> Found:
        """Yield nothing: there are no options."""
        yield from ()


@dataclass(frozen=True, slots=True)
class ExtensionHierarchy:
    """A hierarchy that a builder from outside the package builds; ``options`` are its parameters by name."""

    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        set_plain(self)

    def faults(self) -> Found:
        """Yield nothing: the builder judges its options."""
        yield from ()


HierarchySpec = (
    FileHierarchy | TableHierarchy | Levels | Groups | Redact | Intervals | Dates | Suppress | ExtensionHierarchy
    | Ages | Prefix | FrequentValues | Codes | Zip3
)  # fmt: skip


def lists_its_values(hierarchy: HierarchySpec | None) -> bool:
    """Return True for a hierarchy that lists the values that it knows, whatever the source holds."""
    return isinstance(hierarchy, FileHierarchy | Groups | Levels | TableHierarchy)


def follows_from_value(hierarchy: HierarchySpec | None) -> bool:
    """Return True for a hierarchy whose levels are computed from each value by itself."""
    known = Intervals | Dates | Ages | Codes | Prefix | Zip3
    return isinstance(hierarchy, known) or (isinstance(hierarchy, Redact) and hierarchy.width is not None)


def reads_texts(hierarchy: HierarchySpec | None) -> bool:
    """Return True for a hierarchy that is computed from the canonical texts of the values, whatever their type."""
    return isinstance(hierarchy, Redact | Suppress | Prefix | FrequentValues | Codes | Zip3)


LISTED_OPTION = {"dates": "levels", "prefix": "lengths", "frequent": "at_least", "codes": "system"}
"""The option that a list (a text) stands for, where a policy gives one instead of a mapping."""
KINDS = (
    "file", "table", "levels", "redact", "intervals", "dates", "groups", "suppress",
    "ages", "prefix", "frequent", "codes", "zip3",
)  # fmt: skip
"""What a policy calls the kinds that are built in, in the order of the documentation."""
