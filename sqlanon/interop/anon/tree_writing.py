"""Writing hierarchies of a policy into a definition: trees and rows of values, groups, files, builders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lxml import etree

from sqlanon.core.hierarchies.spec_values import canonical_text
from sqlanon.core.hierarchies.specs import LISTED_OPTION
from sqlanon.errors import Fault
from sqlanon.interop.anon import definition_words as words
from sqlanon.interop.anon.definition_values import NUMBER, listed, mapping, put, write_mapping

DEEPEST_TREE = 50
"""Levels of a tree; rows hold hierarchies with more."""
Row = tuple[str | None, ...]


def write_hierarchy(element: etree._Element, value: Any, key: str, faults: list[Fault]) -> None:
    """Fill the element of a hierarchy from its specification in a policy."""
    given = {"file": value} if isinstance(value, str) else dict(mapping(value, key, faults))
    losses = given.pop("information_loss", None)
    if losses is not None:
        _losses(etree.SubElement(element, "levels"), losses, f"{key}.information_loss", faults)
    if "file" in given:
        write_mapping(etree.SubElement(element, "file"), given, words.FILE, key, faults)
        return
    if len(given) != 1:
        faults.append(Fault(key, "This does not name exactly one kind of hierarchy.", "see docs/definition.md."))
        return
    [(kind, body)] = given.items()
    HIERARCHIES.get(kind, _builder)(element, str(kind), body, f"{key}.{kind}", faults)


def _losses(element: etree._Element, value: Any, key: str, faults: list[Fault]) -> None:
    for number, loss in enumerate(listed(value, key, faults)):
        text = NUMBER.write(loss)
        if text is None:
            faults.append(Fault(f"{key}[{number}]", "This is not a number.", "give a number of at least 0."))
        else:
            etree.SubElement(element, "level", {"number": str(number), "information-loss": text})


def _builder(element: etree._Element, kind: str, body: Any, key: str, faults: list[Fault]) -> None:
    short = kind in LISTED_OPTION and isinstance(body, list | tuple | str | int)
    options = {LISTED_OPTION[kind]: body} if short else mapping(body, key, faults)
    known = words.BUILDERS.get(kind)
    child = etree.SubElement(element, "builder" if known is None else kind)
    if known is None:
        put(child, "kind", kind, key, faults)
    write_mapping(child, options, known or {}, key, faults)


def _table(element: etree._Element, kind: str, body: Any, key: str, faults: list[Fault]) -> None:
    if isinstance(body, str):
        put(etree.SubElement(element, kind), "name", body, key, faults)
    else:
        faults.append(Fault(key, "This is not a table's name.", "give the name of a relation of the database."))


def _levels(element: etree._Element, kind: str, body: Any, key: str, faults: list[Fault]) -> None:
    """Write a tree, or rows if a tree would not keep their order."""
    rows: list[Row] = []
    for value, levels in mapping(body, key, faults).items():
        listed = list(levels) if isinstance(levels, list | tuple) else [levels]
        rows.append((canonical_text(value), *map(canonical_text, listed)))
    if len({row[0] for row in rows}) < len(rows):
        faults.append(Fault(key, "Two values have one text.", "list each value once."))
    if len(set(map(len, rows))) > 1:
        faults.append(Fault(key, "The values have different numbers of levels.", "give every value as many levels."))
    elif _is_ordered_tree(rows):
        _tree(etree.SubElement(element, "tree"), rows, key, faults)
    else:
        listing = etree.SubElement(element, "rows")
        for row in rows:
            child = etree.SubElement(listing, "row")
            for text in row:
                _value(child, text, key, faults)


def _is_ordered_tree(rows: Sequence[Row]) -> bool:
    """Return True if the rows are the leaves of a tree in depth-first order, with NULL among the values only."""
    left: set[Row] = set()
    before: Row = ()
    for row in rows:
        above = row[1:]
        if None in above or len(above) > DEEPEST_TREE:
            return False
        for level in range(len(above)):
            if above[level:] != before[level:]:
                if above[level:] in left:
                    return False
                left.add(above[level:])
        before = above
    return True


def _tree(element: etree._Element, rows: Sequence[Row], key: str, faults: list[Fault]) -> None:
    """Write elements inside each other, the root outermost; a group opens where the row before is of another one."""
    open_groups: list[etree._Element] = []
    before: Row = ()
    for row in rows:
        above = row[1:]
        shared = next((len(above) - level for level in range(len(above)) if above[level:] == before[level:]), 0)
        del open_groups[shared:]
        for text in reversed(above[: len(above) - shared]):
            open_groups.append(_value(open_groups[-1] if open_groups else element, text, key, faults))
        _value(open_groups[-1] if open_groups else element, row[0], key, faults)
        before = above


def _value(element: etree._Element, text: str | None, key: str, faults: list[Fault]) -> etree._Element:
    child = etree.SubElement(element, "null" if text is None else "value")
    if text is not None:
        put(child, "name", text, key, faults)
    return child


def _groups(element: etree._Element, kind: str, body: Any, key: str, faults: list[Fault]) -> None:
    _members(etree.SubElement(element, kind), body, key, faults)


def _members(element: etree._Element, body: Any, key: str, faults: list[Fault]) -> None:
    if isinstance(body, list | tuple):
        for value in body:
            _value(element, canonical_text(value), key, faults)
        return
    given = [(canonical_text(name), members) for name, members in mapping(body, key, faults).items()]
    if len({name for name, _ in given}) < len(given) or any(name is None for name, _ in given):
        faults.append(Fault(key, "A group has no name, or two have one text.", "give each group a name of its own."))
    for name, members in given:
        child = etree.SubElement(element, "group")
        put(child, "name", name or "", key, faults)
        _members(child, members, key, faults)


HIERARCHIES: Mapping[str, Callable[[etree._Element, str, Any, str, list[Fault]], None]] = {
    "levels": _levels,
    "groups": _groups,
    "table": _table,
}
"""How the kinds are written that hold values or a name; any other is a builder."""
