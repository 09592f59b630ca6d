"""The policy: reads what a user writes, makes its paths absolute, and refuses what is not sound."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlanon.errors import InputError, PolicyError
from sqlanon.policy.checks import check
from sqlanon.policy.extensions import NOTHING, Extensions
from sqlanon.policy.facts import Column, PolicyFacts
from sqlanon.policy.faults import Faults
from sqlanon.policy.hierarchy.specs import FileHierarchy, exact
from sqlanon.policy.parsing import parse, read_document
from sqlanon.policy.writing import canonical, document


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
        for name in ("columns", "privacy", "join"):
            given = getattr(self, name)
            object.__setattr__(self, name, tuple(given) if isinstance(given, list) else given)
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
        if not isinstance(spec, FileHierarchy):
            return column
        return replace(column, hierarchy=replace(spec, path=(self.base_directory / spec.path).absolute()))

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a policy file that mean the same; ``from_dict`` reads an equal policy from them."""
        return document(self)

    def fingerprint(self) -> str:
        """Return SHA-256 (hex) of the policy, independent of the folders it names."""
        text = json.dumps(canonical(document(self, portable=True)), default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def require_policy(policy: object) -> None:
    """Raise InputError unless ``policy`` is one: a path or a dict has to be read first."""
    if not isinstance(policy, Policy):
        raise InputError(
            f"This is no policy, but of the type {type(policy).__name__}.",
            hint="read it with sqlanon.Policy.from_file or sqlanon.Policy.from_dict.",
        )
