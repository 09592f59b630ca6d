"""Opening a definition from an untrusted source: one encoding, no DOCTYPE, nothing fetched, limits on size.

A document is decoded once, by the encoding that it declares, and both parsers are given the same UTF-8: what the first
has not seen cannot be there for the second. The first is expat, which stops at a DOCTYPE (hence no entities, no bombs,
no external files) and at elements that are nested too deep; the second is lxml, which resolves nothing.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from xml.parsers import expat

from lxml import etree

from sqlanon.errors import InputError
from sqlanon.interop.formats.safe_xml import NOTHING_RESOLVED

LARGEST = 64 << 20
"""Bytes of a definition; values by the million belong in hierarchy files."""
DEEPEST = 100
"""Elements inside each other."""
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
"""How a document begins, and what its encoding is then, whatever it declares (XML 1.0, appendix F)."""
DECLARED = re.compile(r"""(<\?xml\s[^>]*?\bencoding\s*=\s*)(["'])([A-Za-z][A-Za-z0-9._-]*)\2""")
NO_CHARACTER_SETS = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"}
"""Codecs of Python that are no encodings of files."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A well-formed document: its root element, its text, and the number of comments in it."""

    root: etree._Element
    text: bytes
    comments: int


class _RefusedError(Exception):
    """The first parser stops; the arguments are the reason and the hint."""


def opened(data: bytes, name: str) -> Opened:
    """Return the elements of a document; comments and processing instructions are left out.

    Args:
        name: what messages call the document.

    Raises:
        InputError: too large, not in its encoding, not well-formed, nested too deep, or with a DOCTYPE; the message
            names the line and never quotes the document.
    """
    if len(data) > LARGEST:
        raise InputError(
            f"The definition {name!r} has more than {LARGEST >> 20} MiB.",
            hint="keep large hierarchies in CSV files, and name them: <file path=…/>.",
        )
    text = _decoded(data, name).encode()
    comments = _looked_through(text, name)
    parser = etree.XMLParser(**NOTHING_RESOLVED)
    failure: str | None = None
    try:
        return Opened(etree.fromstring(text, parser), text, comments)
    except etree.XMLSyntaxError as error:
        kind = str(parser.error_log[0].type_name if parser.error_log else "XML").lower()
        fault = kind.removeprefix("err_").replace("_", " ")
        failure = f"near line {error.lineno}, {fault}"
    raise InputError(
        f"The definition {name!r} cannot be read: {failure}.",
        hint="look at that line; prefixes of names have to be declared, and a value has at most 10 million bytes.",
    )


def _decoded(data: bytes, name: str) -> str:
    """Return the text of a document, declared as UTF-8."""
    found = DECLARED.match(data[:1024].decode("latin-1"))
    declared = found[3] if found else "utf-8"
    encoding = next((encoding for mark, encoding in MARKS if data.startswith(mark)), declared)
    failure: str | None = None
    text = ""
    try:
        if codecs.lookup(encoding).name.replace("_", "-") in NO_CHARACTER_SETS:
            raise LookupError
        text = data.decode(encoding)
        text.encode()
    except LookupError:
        failure = "its encoding is not known"
    except UnicodeError:
        failure = f"it is not {encoding} text"
    if failure:
        raise InputError(
            f"The definition {name!r} cannot be read: {failure}.",
            hint='save it as UTF-8 and begin it with <?xml version="1.0" encoding="UTF-8"?>.',
        )
    declaration = DECLARED.match(text)
    return f'{declaration[1]}"utf-8"{text[declaration.end() :]}' if declaration else text


def _looked_through(text: bytes, name: str) -> int:
    """Return the number of comments in a document that is well-formed and harmless."""
    parser = expat.ParserCreate("utf-8")
    comments = depth = 0

    def refuse_doctype(*_: object) -> None:
        raise _RefusedError("it has a DOCTYPE, which could define entities or name other files", "remove the DOCTYPE.")

    def start(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise _RefusedError(f"its elements are nested deeper than {DEEPEST}", "write <rows>, or name a file.")

    def end(*_: object) -> None:
        nonlocal depth
        depth -= 1

    def comment(*_: object) -> None:
        nonlocal comments
        comments += 1

    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.EntityDeclHandler = refuse_doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CommentHandler = comment
    failure, hint = "", ""
    try:
        parser.Parse(text, True)
    except _RefusedError as refusal:
        failure, hint = f"near line {parser.CurrentLineNumber}, {refusal.args[0]}", refusal.args[1]
    except expat.ExpatError as error:
        failure = f"in line {error.lineno} it is not well-formed XML ({expat.ErrorString(error.code)})"
        hint = "look at that line: every element is closed, values are in quotes, & is written &amp; and < &lt;."
    if failure:
        raise InputError(f"The definition {name!r} cannot be read: {failure}.", hint=hint)
    return comments
