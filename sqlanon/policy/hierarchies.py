"""Reading the ``hierarchy`` of a column: one kind, its options checked, paths made absolute."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from sqlanon.errors import InputError
from sqlanon.policy.extensions import Extensions
from sqlanon.policy.faults import Faults
from sqlanon.policy.hierarchy import specs
from sqlanon.policy.paths import is_file

OPTIONS = {
    "file": ("file", "delimiter", "null", "encoding"),
    "table": ("table",),
    "levels": ("levels",),
    "redact": ("direction", "char", "steps"),
    "intervals": ("width", "fanouts", "origin", "lower", "upper", "labels"),
    "dates": ("levels",),
    "groups": ("groups",),
    "suppress": (),
}


def parse_hierarchy(
    faults: Faults, key: str, value: Any, base_directory: Path, extensions: Extensions
) -> specs.HierarchySpec | None:
    """The hierarchy that ``value`` describes, or None after noting its faults."""
    if isinstance(value, str):
        value = {"file": value}
    foreign = extensions.names("hierarchies")
    known = tuple(dict.fromkeys((*specs.KINDS, *foreign)))
    kinds = [kind for kind in known if isinstance(value, Mapping) and kind in value]
    if len(kinds) != 1:
        faults.add(key, "This does not name exactly one kind of hierarchy.", f"choose one of {', '.join(known)}.")
        return None
    [kind] = kinds
    if kind in foreign:
        faults.mapping(key, value, (kind,))
        return _extension(faults, f"{key}.{kind}", kind, value[kind], extensions)
    if kind == "file":
        return _file(faults, key, faults.mapping(key, value, OPTIONS["file"]), base_directory)
    faults.mapping(key, value, (kind,))
    inner = value[kind]
    if kind == "table":
        if isinstance(inner, str) and inner:
            return specs.TableHierarchy(inner)
        faults.add(f"{key}.table", "This is not a table's name.", "give the name of a relation of the database.")
        return None
    if kind == "levels":
        return _levels(faults, f"{key}.levels", inner)
    if kind == "groups":
        return _groups(faults, f"{key}.groups", inner)
    if kind == "dates" and isinstance(inner, Sequence) and not isinstance(inner, str):
        inner = {"levels": inner}
    options = faults.mapping(f"{key}.{kind}", inner, OPTIONS[kind])
    if kind == "suppress":
        return specs.SuppressHierarchy()
    if kind == "dates":
        return _dates(faults, f"{key}.dates", options)
    if kind == "redact":
        return _redact(faults, f"{key}.redact", options)
    return _intervals(faults, f"{key}.intervals", options)


def _extension(
    faults: Faults, key: str, kind: str, value: Any, extensions: Extensions
) -> specs.ExtensionHierarchy | None:
    """One that a builder from outside the package makes: its options are sound when it can be made from them."""
    before = len(faults.items)
    try:
        builder = extensions.builder(kind)
    except InputError as error:
        faults.add(key, error.message, error.hint)
        return None
    options = faults.parameters(key, value, getattr(builder, "parameters", ()), owner=kind)
    if len(faults.items) > before:
        return None
    try:
        builder(**options)
    except Exception as error:  # of a builder from outside the package
        told = f"{kind} cannot be made from these options ({type(error).__name__})."
        faults.add(key, told, "see the documentation of the builder.")
        return None
    return specs.ExtensionHierarchy(kind, options)


def _file(faults: Faults, key: str, options: Mapping[str, Any], base: Path) -> specs.FileHierarchy | None:
    name = options.get("file")
    if not isinstance(name, str) or not name:
        faults.add(f"{key}.file", "This is not a path.", "give the path of an ARX-style CSV file.")
        return None
    path = (base / name).absolute()
    if not is_file(path):
        faults.add(f"{key}.file", f"There is no file {path.name!r}.", "relative paths are relative to the policy file.")
        return None
    delimiter = options.get("delimiter", ";")
    if not isinstance(delimiter, str) or len(delimiter) != 1:
        faults.add(f"{key}.delimiter", "This is not one character.", 'say delimiter: ";", for example.')
        return None
    return specs.FileHierarchy(path, delimiter, options.get("null"), options.get("encoding", "utf-8"))


def canonical_text(value: Any) -> str | None:
    """An inline value as the database would cast it to text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, datetime.date):
        return value.isoformat()
    return str(value)


def _levels(faults: Faults, key: str, value: Any) -> specs.LevelsHierarchy | None:
    if not isinstance(value, Mapping) or not value:
        faults.add(key, "This is not a mapping of values to their levels.", "write value: [level 1, level 2, …].")
        return None
    rows = []
    for item, levels in value.items():
        listed = list(levels) if isinstance(levels, Sequence) and not isinstance(levels, str) else [levels]
        rows.append((canonical_text(item), *map(canonical_text, listed)))
    if len({len(row) for row in rows}) > 1:
        faults.add(key, "The values have different numbers of levels.", "give every value as many levels.")
        return None
    return specs.LevelsHierarchy(tuple(rows))


def _groups(faults: Faults, key: str, value: Any) -> specs.GroupsHierarchy | None:
    rows: list[tuple[str | None, ...]] = []

    def walk(node: Any, above: tuple[str | None, ...]) -> bool:
        if isinstance(node, Mapping):
            return bool(node) and all(walk(child, (canonical_text(name), *above)) for name, child in node.items())
        if isinstance(node, Sequence) and not isinstance(node, str):
            rows.extend((canonical_text(leaf), *above) for leaf in node)
            return all(not isinstance(leaf, Mapping | list) for leaf in node)
        return False

    if not walk(value, ("*",)) or not rows:
        faults.add(key, "This is not a tree of groups.", "write {group: [values]} or {group: {subgroup: [values]}}.")
        return None
    if len({len(row) for row in rows}) > 1:
        faults.add(key, "The values lie at different depths.", "put every value below as many groups.")
        return None
    return specs.GroupsHierarchy(tuple(rows))


def _dates(faults: Faults, key: str, options: Mapping[str, Any]) -> specs.DatesHierarchy | None:
    levels = options.get("levels", specs.DatesHierarchy().levels)
    order = {name: place for place, name in enumerate(specs.DATE_LEVELS)}
    if isinstance(levels, str) or not isinstance(levels, Sequence) or not all(x in order for x in levels):
        faults.add(key, "These are not periods.", f"choose from {', '.join(specs.DATE_LEVELS)}.")
        return None
    if [order[x] for x in levels] != sorted({order[x] for x in levels}):
        faults.add(key, "The periods do not grow.", f"put them in the order {', '.join(specs.DATE_LEVELS)}, each once.")
        return None
    if "week" in levels and levels[-1] != "week":
        faults.add(key, "Weeks cross the borders of months and years.", "leave out week, or end with it.")
        return None
    return specs.DatesHierarchy(tuple(levels))


def _redact(faults: Faults, key: str, options: Mapping[str, Any]) -> specs.RedactHierarchy | None:
    made = specs.RedactHierarchy(**options)
    good = True
    if made.direction not in ("left", "right"):
        faults.add(f"{key}.direction", "This is not a side.", "say left or right.")
        good = False
    if not isinstance(made.char, str) or len(made.char) != 1:
        faults.add(f"{key}.char", "This is not one character.", 'say char: "*", for example.')
        good = False
    if made.steps is not None and not faults.integer(f"{key}.steps", made.steps, 1):
        good = False
    return made if good else None


def _intervals(faults: Faults, key: str, options: Mapping[str, Any]) -> specs.IntervalsHierarchy | None:
    numbers: dict[str, Decimal] = {}
    good = True
    for name in ("width", "origin", "lower", "upper"):
        value = options.get(name)
        if value is None:
            continue
        try:
            numbers[name] = Decimal(str(value))
            bad = isinstance(value, bool) or not numbers[name].is_finite()
        except InvalidOperation:
            bad = True
        if bad or (name == "width" and numbers[name] <= 0):
            faults.add(f"{key}.{name}", "This is not a number in the range.", "give a finite number (width above 0).")
            good = False
    if "width" not in options:
        faults.add(f"{key}.width", "The width is missing.", "add width: 5, say.")
        good = False
    fanouts = options.get("fanouts", ())
    if isinstance(fanouts, str) or not isinstance(fanouts, Sequence):
        faults.add(f"{key}.fanouts", "This is not a list.", "write fanouts: [2, 5].")
        good = False
    else:
        for fanout in fanouts:
            good = faults.integer(f"{key}.fanouts", fanout, 2) and good
    if options.get("labels", "range") not in ("range", "start"):
        faults.add(f"{key}.labels", "This is not a kind of label.", "say range or start.")
        good = False
    if good and "lower" in numbers and "upper" in numbers and numbers["lower"] >= numbers["upper"]:
        faults.add(f"{key}.lower", "lower is not below upper.", "swap them.")
        good = False
    if not good:
        return None
    return specs.IntervalsHierarchy(fanouts=tuple(fanouts), labels=options.get("labels", "range"), **numbers)
