"""The keys of a document of counts, as fields: its tables, its columns, and the rules by which cells are safe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from typing import Any, ClassVar

from sqlanon.core.policy.columns import UNCOVERED
from sqlanon.core.policy.facts import TOP_KEYS
from sqlanon.core.policy.parts import PolicyPart, entry, keys_of, part_of
from sqlanon.parameters import NAMES, Parameter, choice, find, flag, names, number, parts, shaped, text, whole

SHARED = (
    "version", "source", "files", "table", "csv", "join", "entity", "key", "row_security", "uncovered", "nulls",
    "engine", "output", "if_exists", "report", "certificate", "ledger",
)  # fmt: skip
"""Keys that mean what they mean in a policy."""
TARGETS = ("file", "table", "view")
"""Kinds of output that hold a table of counts."""
LEVELS = {"type": ["integer", "array", "null"], "items": {"type": "integer", "minimum": 0}, "minimum": 0}
DIMENSIONS = {
    "anyOf": [{**NAMES, "minItems": 1}, {"type": "object", "additionalProperties": LEVELS, "minProperties": 1}]
}
OF_COLUMN = ("sum", "mean")
WORDS = ("count", "share")
"""The measures: of a column, and by themselves."""
MEASURE = {
    "anyOf": [
        {"enum": list(WORDS)},
        {"type": "object", "propertyNames": {"enum": list(OF_COLUMN)}, "minProperties": 1, "maxProperties": 1},
    ]
}
INTERVAL = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2}
WEIGHT = {"type": "number", "exclusiveMinimum": 0}
WEIGHTS = {"anyOf": [{"enum": ["cells", "records"]}, {"type": "object", "additionalProperties": WEIGHT}]}


@dataclass(frozen=True, slots=True)
class CellMeasure:
    """What a cell shows beside its count: ``sum``, ``mean`` (of a column) or ``share`` (of the grand total)."""

    kind: str
    column: str | None = None

    @property
    def name(self) -> str:
        """The name of its column in the released table."""
        return self.kind if self.column is None else f"{self.kind}_{self.column}"


@dataclass(frozen=True, slots=True)
class CountsTable(PolicyPart):
    """One table: a cell for each combination of the categories of its dimensions.

    Attributes:
        dimensions: each dimension with the levels of its hierarchy that are published, the finest first.
        margins: the dimensions that have a total.
    """

    name: str
    dimensions: Mapping[str, tuple[int, ...]] = entry(
        shaped(DIMENSIONS, "list of columns, or mapping of columns to levels"),
        MISSING,
        about="The columns whose values are the categories, with the levels of their hierarchies that are published: "
        "one, or several that nest. A column without a hierarchy has its values, others the first level above them.",
        example="counts: {by_age: {dimensions: {sex: 0, age: [1, 2]}}}",
    )
    measures: tuple[CellMeasure, ...] = entry(
        shaped({"type": "array", "items": MEASURE}, "list of measures"),
        (),
        about="What is published of a cell beside its count: sum or mean of a column, and share, of the grand total.",
        example="counts: {by_sex: {dimensions: [sex], measures: [share, {mean: length_of_stay}]}}",
        without="the count alone",
    )
    margins: tuple[str, ...] | bool = entry(
        shaped({"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]}, "flag, or columns"),
        True,
        about="The dimensions that have a total: all, none, or those that are listed.",
        example="counts: {by_age: {dimensions: [sex, age], margins: [sex]}}",
    )

    @property
    def totalled(self) -> tuple[str, ...]:
        """The dimensions that have a total."""
        if isinstance(self.margins, bool):
            return tuple(self.dimensions) if self.margins else ()
        return self.margins


@dataclass(frozen=True, slots=True)
class Dominance(PolicyPart):
    """A sum is unsafe where its n largest contributors hold more than the share k of it."""

    n: int = entry(
        whole(1), 2, about="So many contributors, the largest ones: 1 or 2.", example="dominance: {n: 1, k: 0.75}"
    )
    k: float = entry(
        number(0, 1), 0.9, about="Hold more than this share of a sum.", example="dominance: {n: 2, k: 0.85}"
    )


@dataclass(frozen=True, slots=True)
class Noise(PolicyPart):
    """What is added to counts that are perturbed by keys: D, V and j of the cell-key method."""

    called: ClassVar[Mapping[str, str]] = {"most": "D", "variance": "V", "blocked": "j"}

    most: int = entry(
        whole(1), 5, about="A count changes by so much at most, up or down.", example="keys: {D: 5, V: 3, j: 2}"
    )
    variance: float = entry(
        number(0), 3.0, about="The variance of the noise, whose mean is 0.", example="keys: {D: 4, V: 2, j: 1}"
    )
    blocked: int = entry(
        whole(0), 2, about="No count of 1 up to this is shown; 0 excludes none.", example="keys: {D: 3, V: 1, j: 0}"
    )

    @property
    def last(self) -> int:
        """The count from which on all have one distribution of noise."""
        return self.most + self.blocked + 1

    def shifts(self, count: int) -> list[int]:
        """Return by how much a count above 0 may be changed, ascending: it stays 0 or above, and is none of 1 to j."""
        every = range(-self.most, self.most + 1)
        return [v for v in every if count + v == 0 or count + v > self.blocked]

    def fault(self) -> tuple[str, str] | None:
        """Return why there is no such noise, with a hint; None where there is."""
        if self.most > MOST_NOISE:
            return "The noise is wider than tables of noise are made.", f"give a D of at most {MOST_NOISE}."
        own = [self.shifts(count) for count in range(1, self.last + 1)]
        if not all(shifts[0] < 0 < shifts[-1] for shifts in own):
            return "With this D and j some count could not be changed both up and down.", "give a D above j."
        low, high = max(variances(shifts)[0] for shifts in own), min(variances(shifts)[1] for shifts in own)
        if low > high:
            return "With this D and j no noise has one variance at all counts.", "give a larger D, or a smaller j."
        if not low <= self.variance <= high or self.variance == 0:
            limits = f"from {low} to {high}" if low else f"above 0 and up to {high}"
            return "With this D and j no noise of mean 0 has the variance V.", f"give a V {limits}, or another D or j."
        return None


MOST_NOISE = 100
"""The largest D."""


def variances(shifts: Sequence[int]) -> tuple[int, int]:
    """Return the least and the greatest variance of a noise of mean 0 that takes these values, ascending.

    >>> variances([-1, 2, 3]), variances([-2, -1, 0, 1])
    ((2, 3), (0, 2))
    """
    low = 0 if 0 in shifts else -max(v for v in shifts if v < 0) * min(v for v in shifts if v > 0)
    return low, -shifts[0] * shifts[-1]


@dataclass(frozen=True, slots=True)
class CountsColumn(PolicyPart):
    """A column whose values are categories."""

    hierarchy: Any = entry(
        parts("hierarchy", "one kind of hierarchy with its options, or the path of a file", or_text=True),
        about="What its values are generalized to, level by level; a table says which levels it shows.",
        example="columns: {age: {hierarchy: {intervals: {width: 10}}}}",
        page="hierarchies.md",
        without="its values are the categories",
    )
    uncovered: str | None = entry(
        UNCOVERED,
        about="What becomes of values that the hierarchy does not list: error, or top.",
        example="columns: {age: {hierarchy: {intervals: {width: 10}}, uncovered: top}}",
        without="the document's own uncovered",
    )


@dataclass(frozen=True, slots=True)
class CountsFacts(PolicyPart):
    """The rules of a release of counts: which cells are unsafe, and what makes them safe."""

    method: str = entry(
        choice(
            suppress="unsafe cells and those that would give them away are suppressed",
            keys="each count is changed by noise that depends on whom it counts",
        ),
        "suppress",
        about="What makes cells safe. By keys, cells of the same entities have the same noise in all tables.",
        example="keys",
        page="counts.md#keys",
    )
    keys: Noise = entry(
        part_of(Noise), Noise, about="The noise of method: keys.", example="{D: 4, V: 2, j: 1}", page="counts.md#keys"
    )
    round: int | None = entry(
        whole(2),
        about="Counts are shown as multiples of this.",
        example="10",
        page="counts.md#rounding",
        without="counts are shown as they are",
    )
    rounding: str = entry(
        choice(
            nearest="to the nearest multiple; halfway to the even one",
            random="up or down by the key of the cell, with the count as the mean",
        ),
        "nearest",
        about="To which multiple counts are rounded.",
        example="random",
        page="counts.md#rounding",
    )
    additive: bool = entry(
        flag(),
        False,
        about="Whether rounded totals are the sums of their rounded parts.",
        example="true",
        page="counts.md#rounding",
    )
    suppress: bool = entry(
        flag(),
        True,
        about="Whether unsafe cells are suppressed; if not, rounding alone must keep them from being computed.",
        example="false",
        page="counts.md#rounding",
    )
    threshold: int = entry(
        whole(2),
        5,
        about="A count below it, and above 0, is unsafe.",
        unit="records; with an entity, persons",
        example="10",
        page="counts.md#thresholds",
    )
    dominance: Dominance = entry(
        part_of(Dominance),
        Dominance,
        about="When few contributors make up a sum, which is unsafe then.",
        example="{n: 2, k: 0.85}",
        page="counts.md#sums-and-means",
    )
    p_percent: float = entry(
        number(0, 1),
        0.1,
        about="A sum is unsafe where its second largest contributor could estimate the largest within this share.",
        unit="a share of the largest contribution",
        example="0.15",
        page="counts.md#sums-and-means",
    )
    groups: tuple[str, ...] = entry(
        names("list of dimensions", "This is not a list of dimensions.", "write groups: [diagnosis]."),
        (),
        about="Sensitive dimensions: a cell that holds all contributors of its row is unsafe, however large it is.",
        example="[diagnosis]",
        page="counts.md#groups",
        without="none",
    )
    changes: str = entry(
        choice(
            suppress="a count that was shown and differs by less than the threshold is suppressed",
            allow="such differences are shown, and written down",
        ),
        "suppress",
        about="What happens where the source changed since an earlier release of the ledger.",
        example="allow",
        page="counts.md#over-time",
    )
    interval: tuple[int, ...] | None = entry(
        replace(shaped(INTERVAL, "two whole numbers"), kind="listed"),
        about="What must remain possible of an unsafe count: at most the first number, and at least the second.",
        unit="records; with an entity, persons",
        example="[0, 10]",
        without="from 0 to the threshold",
    )
    insiders: bool = entry(
        flag(),
        True,
        about="Whether the one contributor of a cell of 1, who knows it, must not learn another unsafe cell exactly.",
        example="false",
        page="counts.md#insiders",
    )
    joint: int = entry(
        whole(0),
        10_000,
        about="Up to so many cells of the table of all dimensions together, they are the unknowns that protection is "
        "judged by; beyond, the published cells are.",
        unit="cells",
        example="0",
        page="counts.md#linked-tables",
    )
    weights: str | Mapping[str, float] = entry(
        shaped(WEIGHTS, "cells, records, or a mapping of dimensions to numbers"),
        "cells",
        about="What suppressing a cell costs: 1 (cells), its count (records), or the product of the numbers of the "
        "dimensions that it is no total of.",
        example="records",
    )
    never: str | None = entry(
        choice(totals="no total is suppressed to protect other cells"),
        about="Which safe cells are never suppressed. Where nothing else protects, nothing is published.",
        example="totals",
        without="any cell may be",
    )
    zeros: str = entry(
        choice(publish="a cell without records is 0", omit="it has no row, unless it is suppressed"),
        "publish",
        about="How a cell appears that no record falls into. Unless it is suppressed, it is known to be 0.",
        example="omit",
    )
    total: str = entry(text(), "Total", about="What a total is called in the place of a category.", example="All")
    form: str = entry(
        choice(
            long="a row for each cell, with a flag of suppressed ones",
            wide="a column for each category of the last dimension; NULL is a suppressed cell",
        ),
        "long",
        about="The form of the released table.",
        example="wide",
    )
    time_limit: float = entry(
        number(0),
        60.0,
        about="How long the proof of the least suppression is looked for, at most.",
        unit="seconds",
        example="300",
    )

    @property
    def by_key(self) -> bool:
        """Whether what is shown of a cell depends on its key."""
        return self.method == "keys" or (self.round is not None and self.rounding == "random")


_OUTPUT = (
    "Where the tables go: a file, or a table or view of the source's database. All tables of a document go together."
)
KEYS = (
    *(find(TOP_KEYS, name) for name in SHARED if name != "output"),
    Parameter(
        "columns",
        replace(part_of(CountsColumn, "mapping of columns to their keys"), kind="by_name"),
        required=False,
        about="The columns whose values are categories, with their hierarchies.",
        example="{age: {hierarchy: {intervals: {width: 10}}}}",
        page="counts.md",
        default="each column of a table has its values as categories",
    ),
    Parameter(
        "counts",
        replace(part_of(CountsTable, "mapping of tables to their keys"), kind="by_name"),
        about="The tables of counts, which are published together and protected as one.",
        example="{by_sex: {dimensions: [sex]}}",
        page="counts.md",
    ),
    replace(find(TOP_KEYS, "output"), about=_OUTPUT, example="{file: counts.parquet}", page="counts.md"),
    *keys_of(CountsFacts),
)
"""The keys of a document."""
