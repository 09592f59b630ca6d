"""Writing Java's serialized objects, as ``ObjectOutputStream`` does, apart from the package that reads them."""

import struct
from dataclasses import dataclass, field
from typing import Any

SERIALIZABLE, WRITES, ENUM = 2, 1, 16


@dataclass(eq=False)
class Object:
    """An object: its classes from the root down, each with its fields, and what a class writes by itself.

    ``classes`` holds (name, fields by name, written): a field's value is a bool, int, float, text, list of ints
    (``long[]``), list of lists of texts (``String[][]``), another object, or None.
    """

    classes: list[tuple[str, dict[str, Any], list[Any] | None]] = field(default_factory=list)


@dataclass(frozen=True)
class Constant:
    """A constant of an enumeration."""

    type: str
    name: str


@dataclass(frozen=True)
class Block:
    """Raw bytes that a class writes."""

    data: bytes


def simple(name: str, parent: str | None = None, **fields: Any) -> Object:
    """Return an object whose fields all belong to its own class."""
    return Object([*([(parent, {}, None)] if parent else []), (name, fields, None)])


def boxed(value: Any) -> Any:
    """Return what a collection holds for a value."""
    if isinstance(value, bool):
        return simple("java.lang.Boolean", value=value)
    if isinstance(value, int):
        return Object([("java.lang.Number", {}, None), ("java.lang.Integer", {"value": value}, None)])
    if isinstance(value, float):
        return Object([("java.lang.Number", {}, None), ("java.lang.Double", {"value": value}, None)])
    return value


def long(value: int) -> Object:
    return Object([("java.lang.Number", {}, None), ("java.lang.Long", {"value": Long(value)}, None)])


class Long(int):
    """A ``long``."""


class Single(float):
    """A ``float``."""


def hash_map(entries: dict[Any, Any]) -> Object:
    items = [boxed(each) for pair in entries.items() for each in pair]
    head = Block(struct.pack(">ii", 16, len(entries)))
    fields = {"loadFactor": Single(0.75), "threshold": 12}
    return Object([("java.util.HashMap", fields, [head, *items])])


def hash_set(items: list[Any]) -> Object:
    return Object([("java.util.HashSet", {}, [Block(struct.pack(">ifi", 16, 0.75, len(items))), *items])])


def serialized(*objects: Any) -> bytes:
    """Return the stream that holds the objects."""
    writer = _Writer()
    for each in objects:
        writer.content(each)
    return bytes(writer.out)


class _Writer:
    def __init__(self) -> None:
        self.out = bytearray(b"\xac\xed\x00\x05")
        self.handles: dict[Any, int] = {}

    def _new(self, key: Any) -> None:
        self.handles[key] = len(self.handles)

    def _utf(self, text: str, size: str = ">H") -> None:
        data = text.encode("utf-16", "surrogatepass").decode("utf-16")
        halves = "".join(
            c if ord(c) < 0x10000 else chr(0xD800 + (ord(c) - 0x10000 >> 10)) + chr(0xDC00 + (ord(c) - 0x10000 & 0x3FF))
            for c in data
        )
        encoded = halves.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
        self.out += struct.pack(size, len(encoded)) + encoded

    def _known(self, key: Any) -> bool:
        if key in self.handles:
            self.out += b"\x71" + struct.pack(">I", 0x7E0000 + self.handles[key])
            return True
        return False

    def content(self, value: Any) -> None:
        if value is None:
            self.out += b"\x70"
        elif isinstance(value, Block):
            self.out += b"\x77" + bytes([len(value.data)]) + value.data
        elif isinstance(value, str):
            self._string(value)
        elif isinstance(value, Constant):
            if not self._known(value):
                self.out += b"\x7e"
                self._class(value.type, {}, SERIALIZABLE | ENUM, [("java.lang.Enum", {}, SERIALIZABLE | ENUM)])
                self._new(value)
                self._string(value.name)
        elif isinstance(value, list):
            self._array(value)
        elif not self._known(id(value)):
            self._object(value)

    def _string(self, text: str) -> None:
        if not self._known(("text", text)):
            self.out += b"\x74"
            self._new(("text", text))
            self._utf(text)

    def _array(self, items: list[Any]) -> None:
        self.out += b"\x75"
        nested = bool(items) and isinstance(items[0], list)
        texts = bool(items) and isinstance(items[0], str)
        code = "[[Ljava.lang.String;" if nested else "[Ljava.lang.String;" if texts else "[J"
        self._class(code, {}, SERIALIZABLE, [])
        self._new(id(items))
        self.out += struct.pack(">I", len(items))
        for item in items:
            if nested or texts:
                self.content(item)
            else:
                self.out += struct.pack(">q", item)

    def _class(self, name: str, fields: dict[str, Any], flags: int, parents: list[tuple[str, Any, int]]) -> None:
        if self._known(("class", name)):
            return
        self.out += b"\x72"
        self._utf(name)
        self.out += b"\0" * 8
        self._new(("class", name))
        ordered = _ordered(fields)
        self.out += struct.pack(">BH", flags, len(ordered))
        for each, value in ordered:
            code = _code(value)
            self.out += code[:1].encode()
            self._utf(each)
            if code[0] in "[L":
                self._string(code)
        self.out += b"\x78"
        if parents:
            self._class(parents[0][0], parents[0][1], parents[0][2], parents[1:])
        else:
            self.out += b"\x70"

    def _object(self, value: Object) -> None:
        self.out += b"\x73"
        flags = [SERIALIZABLE | (WRITES if written is not None else 0) for _, _, written in value.classes]
        described = [(name, fields, flag) for (name, fields, _), flag in zip(value.classes, flags)][::-1]
        self._class(described[0][0], described[0][1], described[0][2], described[1:])
        self._new(id(value))
        for _, fields, written in value.classes:
            for _, each in _ordered(fields):
                self._value(each)
            if written is not None:
                for each in written:
                    self.content(each)
                self.out += b"\x78"

    def _value(self, value: Any) -> None:
        code = _code(value)[0]
        if code in "[L":
            self.content(value)
        else:
            self.out += struct.pack({"Z": ">?", "I": ">i", "D": ">d", "J": ">q", "F": ">f"}[code], value)


def _code(value: Any) -> str:
    for kind, code in ((bool, "Z"), (Long, "J"), (int, "I"), (Single, "F"), (float, "D"), (str, "Ljava/lang/String;")):
        if isinstance(value, kind):
            return code
    if isinstance(value, list):
        return "[[Ljava/lang/String;" if value and isinstance(value[0], list) else "[J"
    return "Ljava/lang/Object;"


def _ordered(fields: dict[str, Any]) -> list[tuple[str, Any]]:
    """Primitive fields by name, then the others by name, as Java orders them."""
    return sorted(fields.items(), key=lambda item: (_code(item[1])[0] in "[L", item[0]))
