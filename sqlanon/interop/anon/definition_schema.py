"""Checking a definition against its schema, anon_definition.xsd: every fault with its line and its cure.

libxml2 reports faults in English that quotes the document. Here each kind of fault has a message of our own, with
the names of elements and attributes, and never a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from lxml import etree

from sqlanon.errors import Fault, PolicyError
from sqlanon.interop.anon.definition_opening import Opened
from sqlanon.interop.formats.safe_xml import NOTHING_RESOLVED

SCHEMA = Path(__file__).with_name("anon_definition.xsd")
MOST = 100
"""Faults that are reported; a document with more has one fault that repeats."""
MANY = Fault("definition", "There are more faults.", "correct these first.")
EXACT_LINES = 65534
"""Beyond them libxml2 knows only the line of a text nearby."""
XS = "{http://www.w3.org/2001/XMLSchema}"
PLACE = re.compile(r"Element '([^']*)'(?:, attribute '([^']*)')?: ")
EXPECTED = re.compile(r"Expected is (?:one of )?\( ([^)]*) \)\.$")
MISSING = re.compile(r"The attribute '([^']*)' is required but missing\.$")
CONSTRAINT = re.compile(r"^Duplicate key-sequence.*'([a-z-]+)'\.$", re.DOTALL)
MESSAGES = {
    "SCHEMAV_CVC_ELT_1": (
        "This is not the root of a definition.",
        "begin with <definition>, without a namespace; an XML file of records is a datasource.",
    ),
    "SCHEMAV_CVC_COMPLEX_TYPE_3_2_1": ("The attribute {attribute!r} is not known here.", "{known}"),
    "SCHEMAV_CVC_COMPLEX_TYPE_4": ("The attribute {attribute!r} is missing.", "give {give}."),
    "SCHEMAV_ELEMENT_CONTENT": ("{element} is not in its place.", "{expected}"),
    "incomplete": ("{element} lacks something inside.", "{expected}"),
    "SCHEMAV_CVC_COMPLEX_TYPE_2_1": ("{element} holds something, and should be empty.", "remove what is inside."),
    "SCHEMAV_CVC_COMPLEX_TYPE_2_3": ("There is text between the elements.", "put values into attributes."),
    "hierarchy-names": ("Another hierarchy has this name.", "rename one."),
    "attribute-names": ("Another attribute has this name.", "list each column once."),
    "hierarchies-of-attributes": (
        "There is no hierarchy of this name.",
        "name one of the section hierarchies, or add it there.",
    ),
}
"""Message and hint for kinds of faults of libxml2, and for our constraints by name."""
VALUE = ("The attribute {attribute!r} has a value that does not fit.", "give {give}.")
OTHER = ("This does not fit the schema of definitions.", "compare it with docs/definition.md.")
SECTIONS = "the sections are parameters, datasources, output, attributes, hierarchies, in this order."


def validate(definition: Opened) -> etree._Element:
    """Return the root of a document, when it is a definition.

    Raises:
        PolicyError: it is none; the key of each fault is its line and its place.
    """
    schema: Any = etree.XMLSchema(etree.fromstring(SCHEMA.read_bytes()))
    streamed = _streamed(definition.text, schema)
    if len(streamed) > MOST:
        raise PolicyError([*map(_fault, streamed[:MOST]), MANY])
    if not schema(definition.root):
        raise PolicyError(
            _one_per_place(
                [*filter(None, map(_entry, schema.error_log)), *islice(_dangling(definition.root), MOST + 1)]
            )
        )
    return definition.root


def _streamed(text: bytes, schema: Any) -> list[_Entry]:
    """Return the first faults of a document, read line by line: each with its line, without the names above it.

    To locate a node, libxml2 counts its siblings, for every fault: with many of both that takes hours. So a look
    ahead stops when there are too many.
    """
    parser: Any = etree.XMLPullParser(events=(), schema=schema, **NOTHING_RESOLVED)
    entries: list[_Entry] = []
    known = 0
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        parser.feed(line)
        if len(parser.feed_error_log) > known:
            fresh = list(parser.feed_error_log)[known:]
            known += len(fresh)
            entries += [replace(entry, line=number) for entry in filter(None, map(_entry, fresh))]
            if len(entries) > MOST:
                break
    return entries


@dataclass(frozen=True, slots=True)
class _Entry:
    """A fault as libxml2 reports it, without the values that it quotes."""

    line: int
    kind: str
    place: str
    element: str
    attribute: str
    expected: str


def note(faults: list[Fault], element: etree._Element, message: str, hint: str, *, attribute: str = "") -> None:
    """Add a fault of an element or its attribute, unless there are enough; its key is its line and the names above."""
    if len(faults) < MOST:
        line: Any = element.sourceline
        faults.append(Fault(_key(int(line or 0), element.getroottree().getpath(element), attribute), message, hint))
    elif len(faults) == MOST:
        faults.append(MANY)


def _key(line: int, path: str, attribute: str = "") -> str:
    inner = path.strip("/").removeprefix("definition/")
    near = "near " if line > EXACT_LINES else ""
    return f"{near}line {line}: {inner}" + (f"/@{attribute}" if attribute else "")


def _one_per_place(entries: Iterable[_Entry]) -> list[Fault]:
    """Return one fault for each place, in the order of the lines."""
    places: dict[tuple[int, str, str], _Entry] = {}
    for entry in entries:
        places.setdefault((entry.line, entry.place, entry.attribute), entry)
    faults = [_fault(entry) for entry in sorted(places.values(), key=lambda entry: entry.line)]
    return [*faults[:MOST], MANY] if len(faults) > MOST else faults or [Fault("definition", *OTHER)]


def _dangling(root: etree._Element) -> Iterator[_Entry]:
    """Yield references to hierarchies that are missing; libxml2 lacks their lines, and errs when names repeat."""
    names = {item.get("name") for item in root.iterfind("hierarchies/hierarchy")}
    for attribute in root.iterfind("attributes/*[@hierarchy]"):
        if attribute.get("hierarchy") not in names:
            line: Any = attribute.sourceline
            path = attribute.getroottree().getpath(attribute)
            yield _Entry(int(line or 0), "hierarchies-of-attributes", path, str(attribute.tag), "hierarchy", "")


def _entry(entry: Any) -> _Entry | None:
    """Return the fault that an entry of the log stands for; None for the echo of another one."""
    match = PLACE.match(entry.message)
    element, attribute = (match[1], match[2] or "") if match else ("", "")
    message = entry.message[match.end() :] if match else ""
    kind = str(entry.type_name)
    if kind == "SCHEMAV_CVC_IDC":
        constraint = CONSTRAINT.search(message)
        if constraint is None:
            return None
        kind, attribute = constraint[1], "name"
    missing = MISSING.search(message) if kind == "SCHEMAV_CVC_COMPLEX_TYPE_4" else None
    expected = EXPECTED.search(message) if kind == "SCHEMAV_ELEMENT_CONTENT" else None
    if expected and message.startswith("Missing child"):
        kind = "incomplete"
    return _Entry(
        int(entry.line),
        kind,
        "definition" if kind == "SCHEMAV_CVC_ELT_1" else entry.path or element,
        element,
        missing[1] if missing else attribute,
        expected[1] if expected else "",
    )


def _fault(entry: _Entry) -> Fault:
    message, hint = MESSAGES.get(entry.kind, VALUE if entry.attribute else OTHER)
    attributes = _attributes().get(entry.element, {})
    words = {
        "element": entry.element,
        "attribute": entry.attribute,
        "give": attributes.get(entry.attribute, "another value"),
        "known": f"{entry.element} takes {', '.join(attributes)}." if attributes else "remove it.",
        "expected": f"expected here: {entry.expected}." if entry.expected else f"remove or move it; {SECTIONS}",
    }
    return Fault(_key(entry.line, entry.place, entry.attribute), message.format(**words), hint.format(**words))


@cache
def _attributes() -> Mapping[str, Mapping[str, str]]:
    """Return per element, its attributes and what their values are, in the words of the schema."""
    root = etree.fromstring(SCHEMA.read_bytes())
    types = {item.get("name"): item for item in root.iterchildren(f"{XS}complexType")}
    groups = {item.get("name"): item for item in root.iterchildren(f"{XS}attributeGroup")}
    words = {item.get("name"): item.findtext(f"{XS}annotation/{XS}documentation") for item in root}
    attributes: dict[str, dict[str, str]] = {}
    for element in root.iter(f"{XS}element"):
        kind = element.find(f"{XS}complexType")
        if kind is None:
            kind = types[element.get("type")]
        for part in (kind, *[groups[group.get("ref")] for group in kind.iterchildren(f"{XS}attributeGroup")]):
            for attribute in part.iterchildren(f"{XS}attribute"):
                meaning = words[attribute.get("type")] or ""
                attributes.setdefault(str(element.get("name")), {})[str(attribute.get("name"))] = meaning
    return attributes
