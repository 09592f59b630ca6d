"""The document of a release of counts: its tables and rules as fields, beside the keys that it shares with a policy.

What concerns the source (where it is, its columns and hierarchies, whose records they are) is read and checked as that
of any policy; a dimension is a quasi-identifier there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import Any

from sqlanon.core.plain import plain
from sqlanon.core.policy import Policy
from sqlanon.core.policy.columns import UNCOVERED
from sqlanon.core.policy.documents import read_document, shape_fault
from sqlanon.core.policy.extensions import NOTHING, Extensions
from sqlanon.core.policy.facts import TOP_KEYS
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.parts import PolicyPart, check, entry, keys_of, of_keys, part_of, written
from sqlanon.errors import InputError, PolicyError
from sqlanon.parameters import (
    Parameter,
    choice,
    find,
    flag,
    is_number,
    names,
    names_of,
    number,
    or_nothing,
    parts,
    shaped,
    text,
    whole,
)

SHARED = (
    "version", "source", "files", "table", "csv", "join", "entity", "row_security", "uncovered", "nulls", "engine",
    "output", "if_exists",
)  # fmt: skip
"""Keys that mean what they mean in a policy."""
TARGETS = ("file", "table", "view")
"""Kinds of output that hold a table of counts."""
LEVELS = {"type": ["integer", "array", "null"], "items": {"type": "integer", "minimum": 0}, "minimum": 0}
DIMENSIONS = {
    "anyOf": [
        {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
        {"type": "object", "additionalProperties": LEVELS, "minProperties": 1},
    ]
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
WEIGHTS = {
    "anyOf": [
        {"enum": ["cells", "records"]},
        {"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0}},
    ]
}


@dataclass(frozen=True, slots=True)
class Measure:
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
    measures: tuple[Measure, ...] = entry(
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
        or_nothing(UNCOVERED),
        about="What becomes of values that the hierarchy does not list: error, or top.",
        example="columns: {age: {hierarchy: {intervals: {width: 10}}, uncovered: top}}",
        without="the document's own uncovered",
    )


@dataclass(frozen=True, slots=True)
class CountsFacts(PolicyPart):
    """The rules of a release of counts: which cells are unsafe, and what makes them safe."""

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
        or_nothing(choice(totals="no total is suppressed to protect other cells")),
        about="Which safe cells are never suppressed. Where nothing else protects, nothing is published.",
        example="totals",
        without="any cell may be",
    )
    zeros: str = entry(
        choice(publish="a cell without records is 0", omit="a cell without records has no row"),
        "publish",
        about="How a cell appears that no record falls into. Either way it is known to be 0.",
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


@dataclass(frozen=True, slots=True)
class CountsPolicy:
    """What tables of counts are published, and how safe they must be.

    Attributes:
        policy: how the source is read: every dimension is a quasi-identifier of it.
        tables: the tables, in their order.
        rules: which cells are unsafe, and what makes them safe.
    """

    policy: Policy
    tables: tuple[CountsTable, ...]
    rules: CountsFacts

    @classmethod
    def from_file(cls, path: str | Path, *, extensions: Extensions = NOTHING) -> CountsPolicy:
        """Read a document from a .yaml, .yml, .json or .toml file; relative paths are relative to it.

        Raises:
            InputError: the file cannot be read.
            PolicyError: the document has faults.
        """
        file = Path(path).absolute()
        found = cls.from_dict(read_document(Path(path)), base_directory=file.parent, extensions=extensions)
        return replace(found, policy=replace(found.policy, file=file))

    @classmethod
    def from_dict(
        cls,
        document: Mapping[str, Any],
        *,
        base_directory: str | Path | None = None,
        extensions: Extensions = NOTHING,
    ) -> CountsPolicy:
        """Read a document from its keys.

        Raises:
            PolicyError: it has faults.
        """
        base = Path(base_directory).absolute() if base_directory is not None else Path.cwd()
        return _Reader(base, extensions).read(document)

    @property
    def dimensions(self) -> dict[str, tuple[int, ...]]:
        """The dimensions of all tables, each with the levels that any of them shows, the finest first."""
        found: dict[str, tuple[int, ...]] = {}
        for table in self.tables:
            for name, levels in table.dimensions.items():
                found[name] = tuple(sorted({*found.get(name, ()), *levels}))
        return found

    @property
    def measured(self) -> str | None:
        """The column whose sums are needed; None where records or entities are counted alone."""
        return next((m.column for table in self.tables for m in table.measures if m.column is not None), None)

    @property
    def unit(self) -> str:
        """What a count counts: ``entity`` or ``record``."""
        return "record" if self.policy.entity is None else "entity"

    def fingerprint(self) -> str:
        """Return SHA-256 (hex) of the document, independent of the folders it names."""
        tables = [[t.name, dict(t.dimensions), [m.name for m in t.measures], list(t.totalled)] for t in self.tables]
        parts_ = [tables, written(self.rules, portable=True), self.policy.fingerprint()]
        return hashlib.sha256(json.dumps(parts_).encode()).hexdigest()


CountsLike = CountsPolicy | Mapping[str, Any] | str | Path
"""A document of counts, its keys, or its path."""


def as_counts_policy(given: object) -> CountsPolicy:
    """Return a document of counts; the path of its file and the keys of one are read.

    Raises:
        InputError: it is none of these, or a file that cannot be read.
        PolicyError: it has faults.
    """
    if isinstance(given, CountsPolicy):
        return given
    if isinstance(given, str | Path):
        return CountsPolicy.from_file(given)
    if isinstance(given, Mapping):
        return CountsPolicy.from_dict(given)
    raise InputError(
        f"This is no document of counts, but of the type {type(given).__name__}.",
        hint="give a sqlanon.CountsPolicy, the path of a file, or its keys as a dict.",
    )


class _Reader:
    """Reads one document; all its faults are raised together."""

    def __init__(self, base: Path, extensions: Extensions) -> None:
        self._base, self._extensions = base, extensions
        self._faults = Faults("The document of counts")

    def read(self, document: Any) -> CountsPolicy:
        """Return what the document says.

        Raises:
            PolicyError: it has faults.
        """
        faults = self._faults
        if not isinstance(document, Mapping):
            faults.add("counts", "The document is not a mapping.", "start with the keys source and counts.")
        elif (shape := shape_fault(document)) is not None:
            faults.add("counts", *shape)
        faults.finish()
        document = plain(document)
        known, every = names_of(KEYS), names_of(TOP_KEYS)
        for name in [name for name in document if name in every and name not in known]:
            faults.add(str(name), "Tables of counts do not have this key.", "leave it out.")
        own = {n: v for n, v in document.items() if n in known or n not in every}
        keys = faults.mapping("", own, (*known, *self._extensions.names("formats")))
        tables = self._tables(keys.get("counts"))
        rules_keys = {name: keys[name] for name in keys if name in names_of(keys_of(CountsFacts))}
        rules = of_keys(faults, "", rules_keys, CountsFacts)
        policy = self._policy(keys, tables)
        tables = tuple(replace(table, dimensions=self._levels(table.dimensions, keys)) for table in tables)
        if policy is not None:
            self._check_output(policy, tables, rules)
        self._check_rules(rules, tables)
        faults.finish()
        assert policy is not None
        return CountsPolicy(policy, tables, rules)

    def _tables(self, value: Any) -> tuple[CountsTable, ...]:
        faults = self._faults
        if not isinstance(value, Mapping) or not value:
            faults.add("counts", "There are no tables.", "write counts: {by_sex: {dimensions: [sex]}}.")
            return ()
        found = []
        for name, item in value.items():
            place = f"counts.{name}"
            if not faults.text("counts", name):
                continue
            keys = faults.mapping(place, item, names_of(keys_of(CountsTable)))
            dimensions = self._dimensions(f"{place}.dimensions", keys.get("dimensions"))
            margins = keys.get("margins", True)
            margins = tuple(margins) if isinstance(margins, list) else margins
            if not isinstance(margins, bool | tuple) or not (
                isinstance(margins, bool) or all(name in dimensions for name in margins)
            ):
                faults.add(
                    f"{place}.margins",
                    "This is neither true, false nor a list of dimensions of the table.",
                    "name dimensions of the table, or leave it out.",
                )
                margins = True
            measures = self._measures(f"{place}.measures", keys.get("measures"))
            table = CountsTable(name, dimensions, measures, margins)
            if any(m.kind == "share" for m in measures) and len(table.totalled) < len(dimensions):
                faults.add(
                    f"{place}.measures",
                    "A share is one of the grand total, which the table does not show.",
                    "leave out margins, or share.",
                )
            found.append(table)
        if len({table.name.casefold() for table in found}) < len(found):
            faults.add("counts", "Two tables differ in the case of their names only.", "rename one.")
        return tuple(found)

    def _dimensions(self, place: str, value: Any) -> dict[str, tuple[int, ...]]:
        """Return the dimensions of a table with their levels; () stands for those that are not named."""
        faults = self._faults
        given = dict.fromkeys(value) if isinstance(value, list) and all(isinstance(n, str) for n in value) else value
        if not isinstance(given, Mapping) or not given:
            faults.add(place, "This names no columns.", "write dimensions: [sex, age], or {sex: 0, age: [1, 2]}.")
            return {}
        if isinstance(value, list) and len(given) < len(value):
            faults.add(place, "This names a column twice.", "name each column once.")
        found = {}
        for name, levels in given.items():
            listed = [] if levels is None else levels if isinstance(levels, list) else [levels]
            good = faults.text(place, name) and all(faults.integer(f"{place}.{name}", n, 0) for n in listed)
            if good:
                found[name] = tuple(sorted(set(listed)))
        return found

    def _levels(self, dimensions: Mapping[str, tuple[int, ...]], keys: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """Return dimensions with the level of those that name none: the first above the values, or the values."""
        declared = keys.get("columns")
        found = {}
        for name, levels in dimensions.items():
            own = declared.get(name) if isinstance(declared, Mapping) else None
            has_hierarchy = isinstance(own, Mapping) and own.get("hierarchy") is not None
            found[name] = levels or ((1,) if has_hierarchy else (0,))
        return found

    def _measures(self, place: str, value: Any) -> tuple[Measure, ...]:
        faults, found = self._faults, []
        given = [] if value is None else value if isinstance(value, list) else [value]
        for number_, item in enumerate(given):
            if isinstance(item, str) and item in WORDS:
                found += [] if item == "count" else [Measure(item)]
            elif isinstance(item, Mapping) and len(item) == 1 and next(iter(item)) in OF_COLUMN:
                [(kind, name)] = item.items()
                if faults.text(f"{place}[{number_}].{kind}", name):
                    found.append(Measure(str(kind), name))
            else:
                faults.add(
                    f"{place}[{number_}]",
                    "This is no measure.",
                    "write count, share, {sum: cost} or {mean: cost}.",
                )
        return tuple(dict.fromkeys(found))

    def _policy(self, keys: Mapping[str, Any], tables: Sequence[CountsTable]) -> Policy | None:
        """Return how the source is read; the faults of that are noted."""
        faults, given = self._faults, keys.get("columns")
        own_keys = names_of(keys_of(CountsColumn))
        columns: dict[str, Any] = {}
        used = list(dict.fromkeys(name for table in tables for name in table.dimensions))
        if given is not None and not isinstance(given, Mapping):
            faults.add("columns", "This is not a mapping.", "write columns: {age: {hierarchy: …}}.")
        declared = dict(given) if isinstance(given, Mapping) else {}
        for name in [name for name in declared if name not in used]:
            faults.add(f"columns.{name}", "No table has this column as a dimension.", "leave it out.")
        for name in used:
            own = faults.mapping(f"columns.{name}", declared.get(name), own_keys)
            if own.get("uncovered") == "suppress" or keys.get("uncovered") == "suppress":
                faults.add(
                    f"columns.{name}.uncovered",
                    "A record that falls into no category would be missing from all totals.",
                    "list the values, or say uncovered: top.",
                )
                own.pop("uncovered", None)
            columns[name] = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}, **own}
        measured = dict.fromkeys(m.column for t in tables for m in t.measures if m.column is not None)
        if len(measured) > 1:
            faults.add("counts", "Sums of several columns are not protected together.", "measure one column a release.")
        for name in measured:
            columns.setdefault(name, {"role": "keep"})
        document = {key: keys[key] for key in keys if key in SHARED or key not in names_of(KEYS)}
        document |= {"columns": columns, "undeclared": "drop", "privacy": [{"type": "k_anonymity", "k": 2}]}
        if document.get("uncovered") == "suppress":
            document.pop("uncovered")
        try:
            return Policy.from_dict(document, base_directory=self._base, extensions=self._extensions)
        except PolicyError as error:
            for fault in error.faults:
                faults.add(fault.key, fault.message, fault.hint)
        return None

    def _check_rules(self, rules: CountsFacts, tables: Sequence[CountsTable]) -> None:
        """Note the faults of the rules, each by itself and beside others."""
        faults, before = self._faults, len(self._faults.items)
        check(faults, "", rules, beside=("interval", "weights", "groups"))
        used = {name for table in tables for name in table.dimensions}
        if isinstance(rules.dominance, Dominance):
            check(faults, "dominance", rules.dominance)
            if isinstance(rules.dominance.n, int) and rules.dominance.n > 2:
                faults.add("dominance.n", "More than two contributors are not looked at.", "give 1 or 2.")
        if len(faults.items) > before:
            return
        interval = rules.interval
        if interval is not None:
            pair = isinstance(interval, tuple) and len(interval) == 2
            if not (pair and all(faults.integer("interval", n, 0) for n in interval)):
                faults.add("interval", "These are not two numbers.", "write interval: [0, 5].")
            elif interval[0] > 0 or interval[1] < rules.threshold:
                faults.add("interval", "This is narrower than from 0 to the threshold.", "widen it, or leave it out.")
        for name in rules.groups if isinstance(rules.groups, tuple) else ():
            if name not in used:
                faults.add("groups", f"No table has the dimension {name!r}.", "name dimensions of a table.")
        self._check_weights(rules.weights, used)

    def _check_weights(self, weights: Any, used: set[str]) -> None:
        faults = self._faults
        if isinstance(weights, str):
            faults.choice("weights", weights, ("cells", "records"))
        elif not isinstance(weights, Mapping):
            faults.add("weights", "These are no weights.", "write cells, records, or {region: 2}.")
        else:
            for name, value in weights.items():
                if name not in used:
                    faults.add(f"weights.{name}", "No table has this dimension.", "name a dimension of a table.")
                elif not is_number(value) or value <= 0:
                    faults.add(f"weights.{name}", "This is not a number above 0.", "give a number above 0.")

    def _check_output(self, policy: Policy, tables: Sequence[CountsTable], rules: CountsFacts) -> None:
        """Note what an output or a form of counts cannot be."""
        faults, output = self._faults, policy.output
        if output is not None and (output.kind not in TARGETS or output.partition_by):
            hint = "write {file: counts.parquet}, or {table: …} or {view: …}."
            faults.add("output", "Tables of counts are not published so.", hint)
        if rules.form == "wide" and len(tables) > 1:
            faults.add("form", "Several tables have no common wide form.", "leave out form, or publish them apart.")


def columns_by(given: Sequence[str], types: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the dimensions and the columns of a document, of ``--by sex,age:10,region``.

    A number after a column is a width of its numbers, or of how many characters of its texts are kept; a word is the
    unit of its dates.

    Raises:
        InputError: a column is not there, or cannot be divided so.
    """
    dimensions: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    for item in given:
        name, colon, width = item.partition(":")
        if name not in types:
            raise InputError(
                f"The source has no column {name!r}.", hint="names are matched exactly; see sqlanon profile."
            )
        dimensions[name] = 1 if colon else 0
        if not colon:
            continue
        kind = types[name].upper()
        if width.isdigit() and int(width) > 0:
            is_text = kind.startswith(("VARCHAR", "ENUM"))
            spec: dict[str, Any] = (
                {"prefix": {"lengths": [int(width)]}} if is_text else {"intervals": {"width": int(width)}}
            )
        elif width and kind.startswith(("DATE", "TIMESTAMP")):
            spec = {"dates": {"levels": [width]}}
        else:
            raise InputError(
                f"The column {name!r} cannot be divided so.",
                hint=f"write {name}:10 for groups of ten, or a unit of dates, such as {name}:year.",
            )
        columns[name] = {"hierarchy": spec}
    return dimensions, columns
