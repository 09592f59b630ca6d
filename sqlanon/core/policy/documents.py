"""Reading the document of a policy file. A file that cannot be read says why, in which line and column.

No message repeats what stands in the file: a policy may list values of the source.
"""

from __future__ import annotations

import json
import re
import tomllib
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Self

import yaml

from sqlanon.core.doors import behind
from sqlanon.core.plain import DEEPEST, is_unicode, plain
from sqlanon.core.policy.extensions import NOTHING, Extensions
from sqlanon.core.policy.faults import Faults
from sqlanon.errors import InputError

LARGEST = 100_000_000
"""Bytes of a file at most."""
MOST = 5_000_000
"""Values of a document at most; aliases of YAML make many values of few characters."""
TWICE = "a key is given twice in one mapping"
LONG_KEY = re.compile(rf"""(?:(?:"[^"\n]*+"|'[^'\n]*+'|[\w-]++)[ \t]*+\.[ \t]*+){{{DEEPEST}}}""")
"""A key of TOML with so many parts that reading it would take memory beyond measure."""


class _Unreadable(Exception):
    """Why a document cannot be read, and where, counted from 1."""

    def __init__(self, cause: str, line: int | None = None, column: int | None = None) -> None:
        place = "" if line is None else f"line {line}: " if column is None else f"line {line}, column {column}: "
        super().__init__(place + cause)


class _Loader(yaml.SafeLoader):
    """A loader of YAML that refuses a key that stands twice in one mapping, and marks values that it cannot read."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, OverflowError, TypeError, KeyError, AttributeError):  # of dates and numbers out of range
            pass
        raise yaml.constructor.ConstructorError(None, None, "a value cannot be read", node.start_mark)


def _unique_mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    own = {id(key) for key, _ in node.value}
    loader.flatten_mapping(node)
    pairs = loader.construct_pairs(node, deep=True)
    seen = set()
    for (key_node, _), (key, _) in zip(node.value, pairs, strict=True):
        if not isinstance(key, Hashable):
            raise yaml.constructor.ConstructorError(None, None, "a key is no text", key_node.start_mark)
        if id(key_node) not in own:  # of a mapping that is merged, which may be overridden
            continue
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, TWICE, key_node.start_mark)
        seen.add(key)
    return dict(pairs)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_mapping)


def read_document(path: Path) -> Any:
    """Return the document of a policy file, or of an ANON definition (.xml), as it stands.

    Raises:
        InputError: it cannot be read; says why, and in which line and column.
    """
    ending = path.suffix.lower()
    if ending == ".xml":
        return behind("document .xml")(path)
    name, parse = _PARSERS.get(ending, ("YAML", _parse_yaml))
    return _parsed(
        lambda: parse(_text(path)), f"The policy file {path.name!r}", f"that place of the file; it is {name}"
    )


def has_key(path: Path, key: str) -> bool:
    """Return whether the document in a file has a key; a file that cannot be read has none."""
    try:
        named = key.encode() in path.read_bytes()
    except OSError:
        return False
    return named and isinstance(document := read_document(path), Mapping) and key in document


def parse_document(content: bytes, title: str) -> Any:
    """Return the document of a policy in YAML or JSON that stands in no file.

    Raises:
        InputError: it cannot be read; says why, and in which line and column.
    """
    return _parsed(lambda: _parse_yaml(_decoded(content)), title, "that place of it; it is YAML or JSON")


def _parsed(parse: Callable[[], Any], title: str, place: str) -> Any:
    failure, hint = "", f"correct {place}, in UTF-8."
    try:
        return parse()
    except (OSError, ValueError) as error:
        failure = (error.strerror if isinstance(error, OSError) else None) or "it cannot be opened"
        hint = "check the path."
    except _Unreadable as error:
        failure = str(error)
    except RecursionError:
        failure = "it nests values too deeply"
        hint = f"nest them at most {DEEPEST} levels deep."
    raise InputError(f"{title} cannot be read: {failure}.", hint=hint)


def _text(path: Path) -> str:
    """Return the text of a file."""
    with path.open("rb") as file:
        return _decoded(file.read(LARGEST + 1))


def _decoded(content: bytes) -> str:
    """Return the text of what a file holds."""
    if len(content) > LARGEST:
        raise _Unreadable(f"it is larger than {LARGEST:,} bytes")
    try:
        return content.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        place = error.start
    raise _Unreadable("a byte is not UTF-8", *_place(content[:place].decode("utf-8")))


def _place(before: str) -> tuple[int, int]:
    """Return line and column of what follows a text."""
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _parse_yaml(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        cause = ", ".join(_without_quotes(part) for part in (error.context, error.problem) if part)
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else ()
    except yaml.reader.ReaderError as error:
        cause, place = "a character is not allowed in YAML", _place(text[: error.position])
    raise _Unreadable(cause or "it is not valid YAML", *place)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        cause, place = error.msg, (error.lineno, error.colno)
    except _Unreadable:
        _parse_yaml(text.replace("\t", " "))  # JSON is YAML, whose reader knows the line
        raise
    except ValueError:
        raise _Unreadable("a number is too long") from None
    raise _Unreadable(cause, *place)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Unreadable(TWICE)
    return found


def _parse_toml(text: str) -> Any:
    if (long := LONG_KEY.search(text)) is not None:
        raise _Unreadable("a key has too many parts", *_place(text[: long.start()]))
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        cause, _, place = str(error).partition(" (at ")
        place = place.removeprefix("end of document)")
    except ValueError:
        raise _Unreadable("a number is too long") from None
    raise _Unreadable(_without_quotes(cause), *(map(int, re.findall(r"\d+", place)) if place else _place(text)))


def _without_quotes(message: str) -> str:
    """Return a parser's message without what it quotes of the file; single characters and its own words may stay."""

    def kept(match: re.Match[str]) -> str:
        return match[0] if len(match[2]) == 1 or match[2].startswith("<") else ""

    return re.sub(r"""\s*(['"])(.*?)\1""", kept, re.sub(r"\s*\([^)]*\)", "", message)).strip().rstrip(".")


_PARSERS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    ".json": ("JSON", _parse_json),
    ".toml": ("TOML", _parse_toml),
}


def plain_document(faults: Faults, document: Any, place: str, first: str) -> dict[str, Any]:
    """Return a document in plain values.

    Args:
        place: where a fault is noted that concerns the whole; ``first`` are the keys that it begins with, in words.

    Raises:
        PolicyError: it is no mapping, or cannot be walked.
    """
    if not isinstance(document, Mapping):
        faults.add(place, "The document is not a mapping.", f"start with the keys {first}.")
    elif (shape := shape_fault(document)) is not None:
        faults.add(place, *shape)
    faults.finish()
    found: dict[str, Any] = plain(document)
    return found


def shape_fault(document: Any) -> tuple[str, str] | None:
    """Return the fault of a document as a whole, and the cure; None for one that can be walked.

    A document may hold itself (by an alias of YAML, or in Python), and texts that no file or database can hold.
    """
    waiting, values = [(document, 0)], 0
    while waiting:
        value, depth = waiting.pop()
        values += 1
        if depth > DEEPEST:
            return "It nests values too deeply.", f"nest them at most {DEEPEST} levels deep."
        if values > MOST:
            return "It holds too many values.", "put long hierarchies into files."
        if isinstance(value, str) and not is_unicode(value):
            return "It holds a text that is no valid Unicode.", "leave out escapes from \\ud800 to \\udfff."
        if isinstance(value, Mapping):
            waiting += [(part, depth + 1) for pair in value.items() for part in pair]
        elif isinstance(value, list | tuple):
            waiting += [(part, depth + 1) for part in value]
    return None


class Documented:
    """Base class of what a document says, read from its file or from its keys."""

    __slots__ = ()
    SAID: ClassVar[tuple[str, str]]
    """What it is, and what its file is, in messages."""

    @classmethod
    def from_file(cls, path: str | Path, *, extensions: Extensions = NOTHING) -> Self:
        """Read a document from a .yaml, .yml, .json or .toml file; relative paths are relative to it.

        Raises:
            InputError: the file cannot be read.
            PolicyError: the document has faults.
        """
        file = Path(path).absolute()
        found = cls.from_dict(read_document(Path(path)), base_directory=file.parent, extensions=extensions)
        return found._with_file(file)

    @classmethod
    def from_dict(
        cls,
        document: Mapping[str, Any],
        *,
        base_directory: str | Path | None = None,
        extensions: Extensions = NOTHING,
    ) -> Self:
        """Read a document from its keys.

        Raises:
            PolicyError: it has faults.
        """
        base = Path(base_directory).absolute() if base_directory is not None else Path.cwd()
        return cls._parsed(document, base, extensions)

    @classmethod
    def of(cls, given: object) -> Self:
        """Return a document; the path of its file and its keys are read.

        Raises:
            InputError: it is none of these, or a file that cannot be read.
            PolicyError: it has faults.
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, str | Path):
            return cls.from_file(given)
        if isinstance(given, Mapping):
            return cls.from_dict(given)
        what, file = cls.SAID
        raise InputError(
            f"This is no {what}, but of the type {type(given).__name__}.",
            hint=f"give a sqlanon.{cls.__name__}, the path of a {file}, or its keys as a dict.",
        )

    @classmethod
    @abstractmethod
    def _parsed(cls, document: Any, base: Path, extensions: Extensions) -> Self:
        """Return what a document says, with the directory of its relative paths; raises as ``from_dict``."""

    @abstractmethod
    def _with_file(self, file: Path) -> Self:
        """Return it with the file that it was read from."""
