"""ARX's attributes as columns of a policy: roles, hierarchies, limits, and what is aggregated in a class."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlanon.core.hierarchies.readers import check_rows
from sqlanon.errors import HierarchyError, InputError
from sqlanon.interop.arx.criteria import Models
from sqlanon.interop.arx.notes import Notes
from sqlanon.interop.arx.project_opening import ProjectFile, Rows
from sqlanon.interop.arx.project_reading import ArxAttribute, Project, hierarchy_rows

LEAST_CLASS = 5
"""The least k with which a policy publishes means of classes."""
MEAN = "arithmetic mean"
TYPED = {"Integer": "BIGINT", "Decimal": "DOUBLE"}
NOTHING_ABOVE = {"hierarchy": {"suppress": {}}, "max_level": 0}
"""An attribute without a hierarchy, which ARX never generalizes."""
ALWAYS_TOP = {"hierarchy": {"suppress": {}}, "min_level": 1}
"""An attribute that forms no class."""
DATE_PARTS = {
    "yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "SSS": "%g", "MMM": "%b",
    "MMMM": "%B", "EEE": "%a", "EEEE": "%A",
}  # fmt: skip
"""Parts of Java's formats of dates that DuckDB reads likewise. ``MM`` and ``dd`` take one digit too, in both."""


@dataclass(slots=True)
class Columns:
    """The key ``columns`` of a policy, and what follows from the same attributes.

    Attributes:
        hierarchies: the rows of each hierarchy, by column; the policy names them as files.
        levels: of each quasi-identifier how many levels it has above its values.
        publish: quasi-identifiers whose means of classes are published.
        types: columns of the data that are no texts.
        date_format: how dates are written, where their order counts.
    """

    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    hierarchies: dict[str, Rows] = field(default_factory=dict)
    levels: dict[str, int] = field(default_factory=dict)
    publish: dict[str, dict[str, Any]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    date_format: str | None = None


def columns_of(file: ProjectFile, project: Project, models: Models, notes: Notes) -> Columns:
    """Return the columns of a policy, and note what it cannot express of them.

    Raises:
        InputError: two attributes have one name, or a hierarchy cannot be read.
    """
    names = [attribute.name for attribute in project.attributes]
    if not names or len({name.casefold() for name in names}) < len(names):
        raise InputError(
            f"The project {file.name!r} has no attributes, or two whose names differ in case at most.",
            hint="rename them in ARX, and save the project again.",
        )
    columns = Columns()
    largest_k = max((model["k"] for model in models.privacy if model["type"] == "k_anonymity"), default=0)
    kept = []
    for attribute in project.attributes:
        if attribute.kind == "QUASI_IDENTIFYING_ATTRIBUTE":
            _add_quasi_identifier(file, project, attribute, largest_k, columns, notes)
        elif attribute.kind == "SENSITIVE_ATTRIBUTE" and attribute.name in models.watched:
            _add_sensitive(file, project, attribute, models.watched[attribute.name], columns, notes)
        elif attribute.kind == "IDENTIFYING_ATTRIBUTE":
            columns.keys[attribute.name] = {"role": "drop"}
        else:
            kept.append(attribute.name)
            columns.keys[attribute.name] = {"role": "keep"}
            if attribute.kind == "SENSITIVE_ATTRIBUTE":
                notes.unprotected(
                    f"Sensitive attribute {attribute.name!r}: no privacy model of the policy watches it, so it is "
                    "published as it is. Add models, or drop it."
                )
    _note_strays(project, models, notes)
    if kept:
        notes.note(
            f"Published as they are: {', '.join(map(repr, kept))}. A run refuses those that identify persons: drop "
            "them, or "
            "name them under accept."
        )
    return columns


def _note_strays(project: Project, models: Models, notes: Notes) -> None:
    """Note models of attributes that are not sensitive: ARX refuses to run them."""
    sensitive = {a.name for a in project.attributes if a.kind == "SENSITIVE_ATTRIBUTE"}
    for name in models.watched:
        if name not in sensitive:
            notes.unprotected(
                f"Models of {name!r}: it is no sensitive attribute of the project, so that nothing watches it. Give it "
                "the role sensitive, and models."
            )


def _rows(file: ProjectFile, project: Project, attribute: ArxAttribute, notes: Notes) -> Rows | None:
    """Return the hierarchy of an attribute that has levels, and note why a run will refuse it, if it will."""
    if not attribute.has_hierarchy:
        return None
    rows = hierarchy_rows(file, project, attribute)
    if not rows or max(map(len, rows)) < 2:
        return None
    fault = None
    try:
        check_rows([(row[0] or None, *row[1:]) for row in rows], attribute.name)
    except HierarchyError as error:
        fault = str(error)
    if fault is not None:
        notes.note(f"{fault} ARX takes such a hierarchy, sqlanon does not: correct its file before you run the policy.")
    return rows


def _add_quasi_identifier(
    file: ProjectFile, project: Project, attribute: ArxAttribute, k: int, columns: Columns, notes: Notes
) -> None:
    name = attribute.name
    rows = _rows(file, project, attribute, notes)
    keys: dict[str, Any] = {"role": "quasi_identifier"}
    if attribute.function is not None and not attribute.clustered:
        if not _publishes_mean(attribute, k, columns, notes, "it is dropped"):
            columns.keys[name] = {"role": "drop"}
            return
        columns.keys[name] = keys | ALWAYS_TOP
        columns.levels[name] = 1
        return
    if attribute.function is not None:
        _publishes_mean(attribute, k, columns, notes, "it is published generalized")
    if rows is None:
        keys |= NOTHING_ABOVE
        columns.levels[name] = 1
        notes.note(f"ArxAttribute {name!r} has no hierarchy with levels: its values are published, or suppressed.")
    else:
        columns.hierarchies[name] = rows
        columns.levels[name] = max(map(len, rows)) - 1
        limits = {"min_level": attribute.least, "max_level": attribute.most}
        keys |= {key: level for key, level in limits.items() if level is not None}
        if keys.get("min_level") == 0:
            del keys["min_level"]
    columns.keys[name] = keys


def _publishes_mean(attribute: ArxAttribute, k: int, columns: Columns, notes: Notes, otherwise: str) -> bool:
    """Publish the mean of each class, if a policy can, and say what is different; otherwise note what becomes of it."""
    name, function = attribute.name, str(attribute.function)
    if function.lower() != MEAN or k < LEAST_CLASS or attribute.datatype not in TYPED:
        why = (
            f"sqlanon has no aggregate {function!r}"
            if function.lower() != MEAN
            else f"means need k-anonymity with k of {LEAST_CLASS} at least, and whole or decimal numbers"
        )
        notes.left_out(f"Microaggregation of {name!r}: {why}; {otherwise}.")
        return False
    columns.publish[name] = {"as": ["class_mean"]}
    columns.types[name] = TYPED[attribute.datatype]
    notes.different(
        f"Microaggregation of {name!r}: the mean of each class is in a column of its own ({name}_class_mean), "
        "and is "
        "NULL for a class in which a value is missing. The quality measure looks at its generalization, not at the "
        "error "
        "of the means."
    )
    return True


def _add_sensitive(
    file: ProjectFile,
    project: Project,
    attribute: ArxAttribute,
    models: list[dict[str, Any]],
    columns: Columns,
    notes: Notes,
) -> None:
    name = attribute.name
    distances = {model.get("distance") for model in models}
    keys: dict[str, Any] = {"role": "sensitive", "models": models}
    if "hierarchical" in distances:
        rows = _rows(file, project, attribute, notes)
        if rows is None:
            raise InputError(
                f"The project has no hierarchy of {name!r}, which its hierarchical t-closeness needs.",
                hint="assign one in ARX, and save the project again.",
            )
        columns.hierarchies[name] = rows
    if "ordered" in distances:
        _add_order(attribute, "hierarchical" in distances, keys, columns, notes)
    columns.keys[name] = keys


def _add_order(
    attribute: ArxAttribute, has_hierarchy: bool, keys: dict[str, Any], columns: Columns, notes: Notes
) -> None:
    """Order the values of a column as ARX does: by its data type."""
    name = attribute.name
    if has_hierarchy:
        notes.different(
            f"Ordered distance of {name!r}: ARX orders by the data type, sqlanon by the rows of the hierarchy that "
            "the other "
            "distance needs. Sort the rows of its file."
        )
    elif attribute.datatype in ("Ordinal", "OrderedString") and attribute.format not in (None, "", "Default"):
        keys["hierarchy"] = {"levels": {value: ["*"] for value in str(attribute.format).splitlines()}}
    elif attribute.datatype == "Date/Time":
        pattern = strptime(attribute.format or "dd.MM.yyyy")
        if pattern is None or "%H" in pattern or columns.date_format not in (None, pattern):
            notes.left_out(
                f"Format of the dates of {name!r}: sqlanon has no such format, or one of the policy's columns has "
                "another. "
                "Give the column the type DATE, and say csv: {date_format: …}."
            )
        else:
            columns.date_format, columns.types[name] = pattern, "DATE"
            notes.different(f"Dates of {name!r}: they are ordered as dates, and so published as 2024-12-31.")
    else:
        if attribute.datatype not in TYPED:
            columns.types[name] = "VARCHAR"
        if attribute.format:
            notes.left_out(
                f"Format of the numbers of {name!r}: sqlanon reads numbers without separators of thousands, with a "
                "decimal point. Write them so."
            )


def strptime(pattern: str) -> str | None:
    """Return Java's format of a date (``SimpleDateFormat``) as one of strptime; None where it has a part that is none.

    >>> strptime("dd.MM.yyyy")
    '%d.%m.%Y'
    """
    parts = re.findall(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|([^A-Za-z'%]+)|(.)", pattern)
    found = []
    for quoted, letters, _, other, unknown in parts:
        if unknown or (letters and letters not in DATE_PARTS) or "%" in quoted:
            return None
        found.append(DATE_PARTS[letters] if letters else other or quoted.replace("''", "'") or "'")
    return "".join(found)


def with_weights(columns: Columns, weights: Mapping[str, float]) -> None:
    """Give quasi-identifiers their weights."""
    for name, weight in weights.items():
        if name in columns.keys and columns.keys[name]["role"] == "quasi_identifier":
            columns.keys[name]["weight"] = int(weight) if weight == int(weight) else weight
