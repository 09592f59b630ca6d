"""Reading the hierarchies of a definition as those of a policy: trees and rows of values, groups, files, builders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lxml import etree

from sqlanon.errors import Fault
from sqlanon.interop.anon import definition_words as words
from sqlanon.interop.anon.definition_schema import note
from sqlanon.interop.anon.definition_values import NUMBER, read_mapping

Rows = list[tuple[str | None, ...]]


def read_hierarchy(element: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    """Return the hierarchy of a policy that an element stands for."""
    body = element[-1]
    hierarchy = HIERARCHIES.get(str(body.tag), _builder)(body, faults)
    levels = element.find("levels")
    if levels is None:
        return hierarchy
    for place, level in enumerate(levels):
        if level.get("number") is not None and int(str(level.get("number"))) != place:
            note(faults, level, f"This is level {place}.", "number the levels 0, 1, 2, …")
    return {**hierarchy, "information_loss": [NUMBER.read(str(level.get("information-loss"))) for level in levels]}


def _tree(element: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    leaves = list(_leaves(element, ()))
    return _levels(element, [row for row, _ in leaves], [leaf for _, leaf in leaves], faults)


def _leaves(element: etree._Element, above: tuple[str | None, ...]) -> Iterator[tuple[tuple[str | None, ...], Any]]:
    """Yield the rows of a tree (value, level 1, …, root) with the element of each value, in the document's order."""
    for child in element:
        path = (child.get("name"), *above)
        if len(child):
            yield from _leaves(child, path)
        else:
            yield path, child


def _rows(element: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    return _levels(element, [tuple(item.get("name") for item in row) for row in element], list(element), faults)


def _levels(
    element: etree._Element, rows: Rows, places: Sequence[etree._Element], faults: list[Fault]
) -> dict[str, Any]:
    """Return rows as ``levels``, if each value is there once and all have as many levels."""
    _even(list(map(len, rows)), places, faults)
    counts = Counter(row[0] for row in rows)
    twins = [number for number, row in enumerate(rows) if counts[row[0]] > 1]
    if twins:
        message = f"{len(twins)} values of this hierarchy are there more than once; the first is here."
        note(faults, places[twins[0]], message, "list each value once.")
    return {"levels": {row[0]: list(row[1:]) for row in rows}}


def _even(depths: Sequence[int], places: Sequence[etree._Element], faults: list[Fault]) -> None:
    usual = Counter(depths).most_common(1)[0][0] if depths else 0
    uneven = [number for number, depth in enumerate(depths) if depth != usual]
    if uneven:
        message = f"{len(uneven)} values of this hierarchy lie at another depth than the others; the first is here."
        note(faults, places[uneven[0]], message, "give every value as many levels.")


def _groups(element: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    leaves = list(element.iter("value", "null"))
    _even([sum(1 for _ in leaf.iterancestors("group")) for leaf in leaves], leaves, faults)
    return {"groups": _members(element, faults)}


def _members(element: etree._Element, faults: list[Fault]) -> Any:
    """Return a mapping of groups, or a list of values."""
    if element.find("group") is None:
        return [item.get("name") for item in element]
    groups: dict[str | None, Any] = {}
    for group in element:
        if group.get("name") in groups:
            note(faults, group, "Another group beside it has this name.", "join the two.")
        groups[group.get("name")] = _members(group, faults)
    return groups


def _builder(element: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    kind = str(element.get("kind", element.tag))
    return {kind: read_mapping(element, words.BUILDERS[kind] if element.get("kind") is None else {}, faults)}


HIERARCHIES: Mapping[str, Callable[[etree._Element, list[Fault]], dict[str, Any]]] = {
    "tree": _tree,
    "rows": _rows,
    "groups": _groups,
    "file": lambda element, faults: read_mapping(element, words.FILE, faults),
    "table": lambda element, _: {"table": element.get("name")},
}
"""The kinds of hierarchy by their bodies; any other is a builder."""
