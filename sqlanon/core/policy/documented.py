"""Documents beside the policy of one table: what all of them have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from sqlanon.core.policy.documents import read_document
from sqlanon.core.policy.extensions import NOTHING, Extensions
from sqlanon.errors import InputError


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
