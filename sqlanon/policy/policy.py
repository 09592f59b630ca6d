"""The policy: reads what a user writes, makes its paths absolute, and refuses what is not sound."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from sqlanon.errors import InputError, PolicyError
from sqlanon.policy.checks import LISTED, check
from sqlanon.policy.documents import read_document
from sqlanon.policy.extensions import NOTHING, Extensions
from sqlanon.policy.facts import Column, PolicyFacts
from sqlanon.policy.faults import Faults
from sqlanon.policy.hierarchy.specs import FileHierarchy, Zip3, exact
from sqlanon.policy.parsing import parse, read_parts
from sqlanon.policy.plain import plain
from sqlanon.policy.writing import canonical, document, question


@dataclass(frozen=True, slots=True)
class Policy(PolicyFacts):
    """What to publish and how safe it must be. All faults are in one PolicyError.

    The fields are those of ``PolicyFacts``: the keys of a policy file. A policy file, a dict and the constructors of
    ``sqlanon`` lead to equal policies. Relative paths are relative to ``base_directory``.
    """

    @classmethod
    def from_file(cls, path: str | Path, *, extensions: Extensions = NOTHING) -> Policy:
        """Read a policy from a .yaml, .yml, .json or .toml file, or an ANON definition (.xml); relative paths are
        relative to it.

        Raises:
            InputError: the file cannot be read.
            PolicyError: the policy has faults.
        """
        return cls._read(read_document(Path(path)), Path(path).absolute().parent, extensions, Path(path).absolute())

    @classmethod
    def from_dict(
        cls,
        document: Mapping[str, Any],
        *,
        base_directory: str | Path | None = None,
        extensions: Extensions = NOTHING,
    ) -> Policy:
        """Read a policy from the keys of a policy file.

        Raises:
            PolicyError: the policy has faults.
        """
        base = Path(base_directory) if base_directory is not None else Path.cwd()
        return cls._read(document, base, extensions, None)

    @classmethod
    def _read(cls, document: Any, base_directory: Path, extensions: Extensions, file: Path | None) -> Policy:
        """Read a document; its faults and those of what was read are raised together."""
        faults = Faults()
        values = parse(faults, document, base_directory, extensions)
        try:
            policy = cls(**values, base_directory=base_directory, extensions=extensions, file=file)
        except PolicyError as error:
            raise PolicyError(tuple(dict.fromkeys([*faults.items, *error.faults]))) from None
        faults.finish()
        return policy

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if field.name in ("base_directory", "file"):
                value = Path(given) if isinstance(given, str) else given
            else:
                value = plain(given)
            if field.name in ("columns", "privacy", "join", "publish"):
                kind = LISTED[field.name][0]
                value = tuple(value) if isinstance(value, list) else (value,) if isinstance(value, kind) else value
            if field.name in ("accept", "files"):
                value = tuple(value) if isinstance(value, list) else value
            if field.name == "files":
                value = (value,) if isinstance(value, str) else value
            object.__setattr__(self, field.name, value)
        faults = Faults()
        for name, value in read_parts(faults, self).items():
            object.__setattr__(self, name, value)
        faults.finish()
        object.__setattr__(self, "suppression_limit", exact(self.suppression_limit))
        check(self)
        object.__setattr__(self, "columns", tuple(map(self._located, self.columns)))
        if self.output is not None and self.output.kind == "file":
            target = str((self.base_directory / self.output.target).absolute())
            object.__setattr__(self, "output", replace(self.output, target=target))
        if self.report is not None:
            object.__setattr__(self, "report", str((self.base_directory / self.report).absolute()))

    def _located(self, column: Column) -> Column:
        """Return a column with the absolute path of its hierarchy file."""
        spec = column.hierarchy
        if isinstance(spec, Zip3) and spec.populations is not None:
            path = (self.base_directory / spec.populations).absolute()
            return replace(column, hierarchy=Zip3(path, spec.at_most))
        if not isinstance(spec, FileHierarchy):
            return column
        return replace(column, hierarchy=replace(spec, path=(self.base_directory / spec.path).absolute()))

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a policy file that mean the same; ``from_dict`` reads an equal policy from them."""
        return document(self)

    def fingerprint(self) -> str:
        """Return SHA-256 (hex) of the policy, independent of the folders it names."""
        return _digest(document(self, portable=True))

    def question_fingerprint(self) -> str:
        """Return SHA-256 (hex) of what a proof is about: columns, levels, weights, models, limits, measure.

        Two policies may differ in everything else, and a certificate holds for both.
        """
        return _digest(question(self))


PolicyLike = Policy | Mapping[str, Any] | str | os.PathLike[str]
"""A policy, the keys of a policy file, or its path."""


def as_policy(given: object) -> Policy:
    """Return a policy; the path of a policy file and the keys of one are read.

    Raises:
        InputError: it is none of these, or a file that cannot be read.
        PolicyError: it has faults.
    """
    if isinstance(given, Policy):
        return given
    if isinstance(given, str | os.PathLike):
        return Policy.from_file(os.fsdecode(given))
    if isinstance(given, Mapping):
        return Policy.from_dict(given)
    raise InputError(
        f"This is no policy, but of the type {type(given).__name__}.",
        hint="give a sqlanon.Policy, the path of a policy file, or its keys as a dict.",
    )


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(canonical(value), default=str).encode()).hexdigest()
