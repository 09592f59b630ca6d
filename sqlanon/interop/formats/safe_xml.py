"""Opening XML from an untrusted source: no DOCTYPE, hence no entities to expand and nothing to fetch.

A DOCTYPE can only stand before the root element (XML 1.0, section 2.8, production 22), so one look at the head of a
document finds it, however long the document is. The look is done by the parser that reads the document, with the same
bytes, so that both agree about its encoding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lxml import etree

from sqlanon.errors import SourceError

HEAD = 1 << 20
"""The root element begins within so many bytes; comments that take up more hide something."""
PIECE = 1 << 18
"""Bytes that a parser is fed at once."""
NOTHING_RESOLVED: Mapping[str, bool] = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "dtd_validation": False,
    "attribute_defaults": False,
    "huge_tree": False,
    "recover": False,
    "remove_comments": True,
    "remove_pis": True,
}
"""Options of every parser of lxml; definitions (``policy.anon``) are opened with them too."""


class _SeenEnoughError(Exception):
    """The head of the document has been seen."""


class _Head:
    """A parser's target that stops it at a DOCTYPE, before the first declaration in it, or at the root element."""

    def __init__(self) -> None:
        self.doctype_seen = False

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        self.doctype_seen = True
        raise _SeenEnoughError

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        raise _SeenEnoughError

    def close(self) -> None:
        """Return nothing: the parser asks for a result."""


def refuse_doctype(path: Path) -> None:
    """Look at the head of an XML document, and refuse it when there is a DOCTYPE.

    Raises:
        SourceError: there is a DOCTYPE; there is no root element within the first MiB; the head is not well-formed; the
            file cannot be opened.
    """
    head = _Head()
    parser = etree.XMLParser(target=head, **NOTHING_RESOLVED)
    seen, fed = False, 0
    try:
        for _ in fed_from(path, parser):
            fed += PIECE
            if fed >= HEAD:
                break
    except _SeenEnoughError:
        seen = True
    if head.doctype_seen:
        raise SourceError(
            f"The XML file {path.name!r} has a DOCTYPE, which could define entities or name other files.",
            hint="remove the DOCTYPE, and write out the entities that it defines.",
        )
    if not seen:
        raise SourceError(
            f"The XML file {path.name!r} has no root element within its first {HEAD} bytes.",
            hint="remove the comments at its head.",
        )


def pull_parser(events: Sequence[str], tags: Sequence[str] | None = None) -> etree.XMLPullParser:
    """Return a parser that resolves nothing, fetches nothing and keeps libxml2's limits on texts, names and depth.

    Comments and processing instructions are left out, so that the text around them is one.
    """
    return etree.XMLPullParser(
        events=events,
        tag=tags,
        **NOTHING_RESOLVED,
    )


def fed_from(path: Path, parser: etree.XMLParser) -> Iterator[None]:
    """Feed a file to a parser, pausing after each piece and at the end.

    Raises:
        SourceError: the file cannot be read, or is not well-formed; never with the parser's own message, which may
            quote what it stumbled over.
    """
    failure: str | None = None
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                parser.feed(piece)
                yield
        parser.close()
        yield
    except etree.XMLSyntaxError as error:
        failure = f"is not well-formed XML{_fault(error, parser)}."
    except OSError as error:
        failure = f"cannot be read ({error.strerror})."
    if failure:
        raise SourceError(
            f"The file {path.name!r} {failure}", hint="look at that line, or check the file with xmllint --noout."
        )


def _fault(error: etree.XMLSyntaxError, parser: etree.XMLParser) -> str:
    """Return line and kind of the first fault, e.g. `` at line 3 (tag name mismatch)``."""
    entries = [(entry.line, entry.type_name) for entry in parser.feed_error_log]
    line, kind = entries[0] if entries else (error.lineno, "ERR_DOCUMENT_END")
    fault = kind.removeprefix("ERR_").replace("_", " ").lower()
    return f" at line {line} ({fault})" if line else f" ({fault})"
