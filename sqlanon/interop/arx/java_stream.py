"""Reading Java's serialized objects as inert data: names, numbers and texts. No class is looked up, none is created.

Source: Java Object Serialization Specification, version 6.0, chapter 6 (the grammar of the stream). ARX keeps what its
XML does not say (the subset, the aggregate of a measure, estimators) in such a stream. Whatever the grammar does not
settle without the classes themselves (externalized objects of the old protocol, exceptions, references to what was not
read) ends the reading, and so do streams that are too large or too deep.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlanon.errors import InputError

MOST = 20_000_000
"""Objects, texts and classes of a stream."""
DEEPEST = 60
"""Objects inside each other."""
MAGIC = b"\xac\xed\x00\x05"
FIRST_HANDLE = 0x7E0000
PRIMITIVES = {"B": "b", "C": "H", "D": "d", "F": "f", "I": "i", "J": "q", "S": "h", "Z": "?"}
"""Type codes of Java and their formats of ``struct``, big-endian."""
WRITES_ITSELF, SERIALIZABLE, EXTERNALIZABLE, BLOCKS = 1, 2, 4, 8
END = object()
"""What ends the annotation of a class or an object."""


class JavaStreamError(InputError):
    """A stream that cannot be read as inert data."""


@dataclass(slots=True, eq=False)
class JavaObject:
    """An object: the full name of its class, its fields by name, and what its class wrote besides.

    Where several classes of its ancestry have a field of one name, the most special one counts.
    """

    type: str
    fields: dict[str, Any] = field(default_factory=dict)
    written: list[Any] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of its class without the package."""
        return self.type.rpartition(".")[2]

    def get(self, name: str) -> Any:
        """Return a field, as a Python value where it is a boxed number or flag; None when there is none."""
        return plain(self.fields.get(name))


@dataclass(slots=True, frozen=True)
class JavaEnum:
    """A constant of an enumeration."""

    type: str
    constant: str


@dataclass(slots=True, eq=False)
class _JavaClass:
    name: str
    flags: int = 0
    fields: list[tuple[str, str]] = field(default_factory=list)
    parent: _JavaClass | None = None


def plain(value: Any) -> Any:
    """Return the Python value of a boxed number or flag, and the name of a constant; others as they are."""
    if isinstance(value, JavaObject) and value.type.startswith("java.lang."):
        return value.fields.get("value")
    return value.constant if isinstance(value, JavaEnum) else value


def mapping(value: Any) -> dict[Any, Any]:
    """Return the entries of a ``java.util.HashMap``; an absent one has none."""
    if not isinstance(value, JavaObject):
        return {}
    items = [plain(item) for item in value.written if not isinstance(item, bytes)]
    return {key: item for key, item in zip(items[::2], items[1::2], strict=False) if isinstance(key, str | int)}


def members(value: Any) -> list[Any]:
    """Return the members of a ``java.util.HashSet`` or of a list; an absent one has none."""
    return [i for i in value.written if not isinstance(i, bytes)] if isinstance(value, JavaObject) else []


def read_java(data: bytes) -> Any:
    """Return the first object of a stream.

    Raises:
        JavaStreamError: it is no such stream, ends early, is too large or too deep, or cannot be read without its
            classes.
    """
    reader = _StreamReader(data)
    try:
        return reader.first()
    except (struct.error, IndexError, UnicodeError, KeyError):
        pass
    raise reader.refused("it ends early, or is damaged")


class _StreamReader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0
        self.depth = 0
        self.known: list[Any] = []
        self.texts: dict[bytes, str] = {}
        self.readers: dict[int, Callable[[], Any]] = {
            0x70: lambda: None,
            0x71: self._reference,
            0x72: self._class,
            0x73: self._object,
            0x74: lambda: self._keep(self._text(self._number(">H"))),
            0x75: self._array,
            0x76: self._class_object,
            0x77: lambda: self._bytes(self._number(">B")),
            0x78: lambda: END,
            0x7A: lambda: self._bytes(self._number(">I")),
            0x7C: lambda: self._keep(self._text(self._number(">Q"))),
            0x7D: self._proxy_class,
            0x7E: self._enum,
        }

    def refused(self, why: str) -> JavaStreamError:
        return JavaStreamError(
            f"Java's serialized objects cannot be read: {why}.",
            hint="open the project in a current ARX and save it again.",
        )

    def first(self) -> Any:
        if self._bytes(len(MAGIC)) != MAGIC:
            raise self.refused("they do not begin as such")
        content = self._content()
        return self.first_after_blocks() if isinstance(content, bytes) else content

    def first_after_blocks(self) -> Any:
        while isinstance(content := self._content(), bytes):
            pass
        return content

    # -- the grammar ---------------------------------------------------------------------------------------------------

    def _content(self) -> Any:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.refused(f"objects are nested deeper than {DEEPEST}")
        tag = self._number(">B")
        if tag not in self.readers:
            raise self.refused(f"they hold a part ({tag:#x}) that only their classes can read")
        found = self.readers[tag]()
        self.depth -= 1
        return found

    def _annotation(self) -> Iterator[Any]:
        while (found := self._content()) is not END:
            yield found

    def _reference(self) -> Any:
        place = self._number(">I") - FIRST_HANDLE
        if not 0 <= place < len(self.known):
            raise self.refused("they refer to what is not there")
        return self.known[place]

    def _description(self) -> _JavaClass | None:
        content = self._content()
        if content is None or isinstance(content, _JavaClass):
            return content
        raise self.refused("a class is expected, and is none")

    def _class(self) -> _JavaClass:
        found: _JavaClass = _JavaClass(self._text(self._number(">H")))
        self._bytes(8)  # serialVersionUID
        self._keep(found)
        found.flags = self._number(">B")
        for _ in range(self._number(">H")):
            code, name = chr(self._number(">B")), self._text(self._number(">H"))
            if code in "[L":
                self._content()  # the name of its type
            elif code not in PRIMITIVES:
                raise self.refused("a field has no type")
            found.fields.append((code, name))
        list(self._annotation())
        found.parent = self._description()
        return found

    def _proxy_class(self) -> _JavaClass:
        found: _JavaClass = _JavaClass("proxy", SERIALIZABLE)
        self._keep(found)
        for _ in range(self._number(">I")):
            self._text(self._number(">H"))
        list(self._annotation())
        found.parent = self._description()
        return found

    def _class_object(self) -> _JavaClass | None:
        found = self._description()
        self._keep(found)
        return found

    def _object(self) -> JavaObject:
        described = self._description()
        if described is None:
            raise self.refused("an object has no class")
        found: JavaObject = JavaObject(described.name)
        self._keep(found)
        ancestry: list[_JavaClass] = []
        while described is not None:
            if len(ancestry) == DEEPEST:
                raise self.refused(f"a class has more than {DEEPEST} ancestors")
            ancestry.append(described)
            described = described.parent
        for each in reversed(ancestry):
            if each.flags & SERIALIZABLE:
                for code, name in each.fields:
                    found.fields[name] = self._value(code)
                if each.flags & WRITES_ITSELF:
                    found.written.extend(self._annotation())
            elif each.flags & EXTERNALIZABLE and each.flags & BLOCKS:
                found.written.extend(self._annotation())
            else:
                raise self.refused("an object wrote itself in a way that only its class can read")
        return found

    def _value(self, code: str) -> Any:
        return self._content() if code in "[L" else self._number(f">{PRIMITIVES[code]}")

    def _array(self) -> list[Any]:
        described = self._description()
        if described is None or described.name[:1] != "[":
            raise self.refused("an array has no type")
        found: list[Any] = []
        self._keep(found)
        count, code = self._number(">I"), described.name[1]
        if code in PRIMITIVES:
            size = struct.calcsize(f">{PRIMITIVES[code]}")
            found.extend(struct.unpack(f">{count}{PRIMITIVES[code]}", self._bytes(count * size)))
        else:
            if count > MOST:
                raise self.refused("an array is too large")
            for _ in range(count):
                found.append(self._content())  # noqa: PERF401 - references may lead to the array while it is read
        return found

    def _enum(self) -> JavaEnum:
        described = self._description()
        if described is None:
            raise self.refused("a constant has no class")
        place = len(self.known)
        self._keep(None)
        constant = self._content()
        if not isinstance(constant, str):
            raise self.refused("a constant has no name")
        found = JavaEnum(described.name, constant)
        self.known[place] = found
        return found

    # -- bytes ---------------------------------------------------------------------------------------------------------

    def _keep(self, found: Any) -> Any:
        if len(self.known) >= MOST:
            raise self.refused(f"they are more than {MOST:,}")
        self.known.append(found)
        return found

    def _bytes(self, count: int) -> bytes:
        end = self.place + count
        if end > len(self.data):
            raise IndexError
        part = self.data[self.place : end]
        self.place = end
        return part

    def _number(self, kind: str) -> Any:
        (found,) = struct.unpack_from(kind, self.data, self.place)
        self.place += struct.calcsize(kind)
        return found

    def _text(self, size: int) -> str:
        """Return a text in Java's own variant of UTF-8: two bytes for NUL, three for each half of a large character."""
        data = self._bytes(size)
        if (known := self.texts.get(data)) is not None:  # a hierarchy repeats its texts by the million
            return known
        text = data.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
        if not text.isascii():
            text = text.encode("utf-16", "surrogatepass").decode("utf-16")
        self.texts[data] = text
        return text
