"""Reading XML as a table: which elements are records, what their columns are, and what no table can hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from lxml import etree

from sqlanon.errors import SourceError
from sqlanon.interop.formats.safe_xml import fed_from, pull_parser

INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
NIL = f"{{{INSTANCE}}}nil"
NOT_DATA = (f"{{{INSTANCE}}}", "{http://www.w3.org/XML/1998/namespace}")
"""Attributes of these namespaces (xsi:, xml:) say how to read an element; they are no columns."""
NAMED = ("column", "field")
"""Elements that carry the name of their column in the attribute ``name``."""
BLANK = " \t\r\n"
MOST_COLUMNS = 10_000
ROWS, CELLS, CHARACTERS = 50_000, 1_000_000, 16_000_000
"""A batch ends at the first of these."""


@dataclass(frozen=True, slots=True)
class Document:
    """An XML document that has no DOCTYPE, and how its records are found."""

    path: Path
    record: str | None
    null: str | None

    def columns(self) -> list[str]:
        """Return the columns in the order of their first appearance; looks through the whole document."""
        attributes: set[str] = set()
        elements: set[str] = set()
        columns: dict[str, str] = {}  # the name in lower case -> the name
        for number, record in self._records():
            in_attributes, in_elements = self._texts(number, record)
            if in_attributes.keys() <= attributes and in_elements.keys() <= elements:
                continue
            attributes |= in_attributes.keys()
            elements |= in_elements.keys()
            if both := attributes & elements:
                fault = f"has the attribute {min(both)!r}, and there are elements of that name"
                raise self._fault(number, record, fault, "rename one of them.")
            for name in (*in_attributes, *in_elements):
                twin = columns.setdefault(name.lower(), name)
                if twin != name:
                    fault = f"has a column {name!r}, which differs from {twin!r} by case only"
                    raise self._fault(number, record, fault, "write the name in one way.")
            if len(columns) > MOST_COLUMNS:
                fault = f"brings the columns to more than {MOST_COLUMNS}"
                raise self._fault(number, record, fault, "keep values in texts, not in names.")
        if not columns:
            raise SourceError(
                f"The XML file {self.path.name!r} has records without any column.",
                hint="name the elements whose children are the columns: xml: {record: NAME}.",
            )
        return list(columns.values())

    def batches(self, columns: list[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows, in the order of the document."""
        most = max(1, min(ROWS, CELLS // len(columns)))
        known = set(columns)
        rows: list[list[str | None]] = []
        characters = 0
        for number, record in self._records():
            attributes, elements = self._texts(number, record)
            texts = attributes | elements
            if not texts.keys() <= known or len(texts) < len(attributes) + len(elements):
                raise SourceError(
                    f"The XML file {self.path.name!r} changed while it was read.",
                    hint="work on a copy that nobody writes to.",
                )
            rows.append([texts.get(name) for name in columns])
            characters += sum(len(value) for value in texts.values() if value)
            if len(rows) >= most or characters >= CHARACTERS:
                yield _batch(rows, schema)
                rows, characters = [], 0
        if rows:
            yield _batch(rows, schema)

    def _records(self) -> Iterator[tuple[int, etree._Element]]:
        """Yield the record elements with their numbers from 1; what lies behind the parser is removed piecewise."""
        root_tag, name = self._opening()
        parser = pull_parser(("start", "end"), (root_tag, f"{{*}}{name}"))
        root: etree._Element | None = None
        latest: etree._Element | None = None
        number = 0
        for _ in fed_from(self.path, parser):
            events = list(parser.read_events())
            if root is None:
                if not events:
                    continue
                root = events[0][1]
            self._refuse_others(root, name)
            for event, element in events:
                if event == "start" or _local(element.tag) != name:
                    continue
                if self.record is not None or element.getparent() is root:  # else a column called as the records are
                    number, latest = number + 1, element
                    yield number, element
            last = self._cut(root, name)
            if last is not None and last is not latest:
                self._texts(number + 1, last)  # its faults show before it ends, or fills the memory
        if not number:
            raise self._no_records()

    def _opening(self) -> tuple[str, str]:
        """Return the root's tag, and the local name of the records."""
        parser = pull_parser(("start",))
        root_tag = ""
        for _ in fed_from(self.path, parser):
            for _, element in parser.read_events():
                if root_tag or self.record is not None:
                    return root_tag or element.tag, self.record or _local(element.tag)
                root_tag = element.tag
        raise self._no_records()

    def _refuse_others(self, root: etree._Element, name: str) -> None:
        """Raise SourceError unless all children of the root, if they are the records, have one name."""
        if self.record is not None:
            return
        for child in root:
            if _local(child.tag) != name:
                raise SourceError(
                    f"The root of the XML file {self.path.name!r} has children of different names: {name!r}, and "
                    f"{_local(child.tag)!r}{_line(child)}.",
                    hint="name those that are the records: xml: {record: NAME}.",
                )

    def _cut(self, root: etree._Element, name: str) -> etree._Element | None:
        """Remove what has ended, but for last children, to which the parser may still add; returns the last record."""
        node = root
        while node is root if self.record is None else _local(node.tag) != name:
            if not len(node):
                return None
            del node[:-1]
            node = node[-1]
        return node

    def _texts(self, number: int, record: etree._Element) -> tuple[dict[str, str | None], dict[str, str | None]]:
        """Return the columns of a record with their texts: its attributes and its elements."""
        attributes: dict[str, str | None] = {}
        for tag, value in record.items():
            if tag.startswith(NOT_DATA):
                continue
            name = _local(tag)
            if name in attributes:
                raise self._twice(number, record, name)
            attributes[name] = None if value == self.null else value
        elements: dict[str, str | None] = {}
        self._refuse_stray(number, record, record.text)
        for child in record:
            name, value = self._column(number, child)
            if name in elements:
                raise self._twice(number, child, name)
            elements[name] = None if value == self.null else value
            self._refuse_stray(number, record, child.tail)
        return attributes, elements

    def _refuse_stray(self, number: int, record: etree._Element, text: str | None) -> None:
        if text and text.strip(BLANK):
            raise self._fault(number, record, "has text beside its columns", "put the text into an element of its own.")

    def _column(self, number: int, element: etree._Element) -> tuple[str, str | None]:
        name = _local(element.tag)
        if len(element):
            fault = f"has an element {name!r} with elements of its own, and a table has no place for them"
            raise self._fault(
                number, element, fault, "make a table of it; or name the record elements: xml: {record: NAME}."
            )
        if name == self.record:
            raise self._fault(number, element, f"has an element {name!r}, a record in a record", "make a table of it.")
        named, nil = name, False
        for tag, value in element.items():
            if tag == NIL:
                nil = value.strip(BLANK) in ("true", "1")
            elif tag == "name" and name in NAMED:
                named = value
            elif not tag.startswith(NOT_DATA):
                fault = f"has an element {name!r} with an attribute {_local(tag)!r}, which is no column"
                raise self._fault(number, element, fault, "make it an element of the record, or remove it.")
        if nil and element.text:
            raise self._fault(number, element, f"has a text in {named!r}, which is nil", "remove the one or the other.")
        return named, None if nil else element.text or ""

    def _twice(self, number: int, element: etree._Element, name: str) -> SourceError:
        return self._fault(
            number, element, f"has the column {name!r} twice", "keep one, or make a table of the repeated elements."
        )

    def _fault(self, number: int, element: etree._Element, fault: str, hint: str) -> SourceError:
        return SourceError(f"Record {number}{_line(element)} of the XML file {self.path.name!r} {fault}.", hint=hint)

    def _no_records(self) -> SourceError:
        missing = "no children in its root element" if self.record is None else f"no elements {self.record!r}"
        return SourceError(
            f"The XML file {self.path.name!r} has no records: {missing}.", hint="check xml: {record: …}."
        )


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _line(element: etree._Element) -> str:
    """Return where an element stands; from 65535 on libxml2 knows only the line of a text nearby."""
    line = element.sourceline or 65535
    return f" (line {line})" if line < 65535 else f" (near line {line})" if line > 65535 else ""


def _batch(rows: list[list[str | None]], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
