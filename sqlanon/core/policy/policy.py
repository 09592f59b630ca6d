"""The policy: reads what a user writes, makes its paths absolute, and refuses what is not sound."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlanon.core.hierarchies.specs import FileHierarchy, Zip3, exact
from sqlanon.core.policy.checks import LISTED, check
from sqlanon.core.policy.documents import read_document, shape_fault
from sqlanon.core.policy.extensions import NOTHING, Extensions
from sqlanon.core.policy.facts import Column, PolicyFacts
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.ledger import LedgerSpec
from sqlanon.core.policy.output import PATHS
from sqlanon.core.policy.parsing import parse, read_parts
from sqlanon.core.policy.paths import is_url
from sqlanon.core.policy.variables import WrittenPlace, expand
from sqlanon.core.policy.writing import canonical, document, question
from sqlanon.core.policy.written_places import as_written, conceal
from sqlanon.errors import Fault, InputError, PolicyError


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
        if not isinstance(document, Mapping) or shape_fault(document) is not None:
            places: tuple[WrittenPlace, ...] = ()
        else:
            document, places = expand(document)
        faults = Faults()
        try:
            values = parse(faults, document, base_directory, extensions)
            values |= {"base_directory": base_directory, "extensions": extensions, "file": file, "variables": places}
            policy = cls(**values)
            faults.finish()
            return policy
        except PolicyError as error:
            found = tuple(dict.fromkeys([*faults.items, *error.faults]))
        if places:
            texts = ([conceal(text, places, base_directory) for text in (f.key, f.message, f.hint)] for f in found)
            found = tuple(Fault(*three) for three in texts)
        raise PolicyError(found)

    def __post_init__(self) -> None:
        PolicyFacts.__post_init__(self)
        for name in ("base_directory", "file"):
            if isinstance(given := getattr(self, name), str):
                object.__setattr__(self, name, Path(given))
        for name, kind in LISTED.items():
            value = getattr(self, name)
            value = tuple(value) if isinstance(value, list) else (value,) if isinstance(value, kind) else value
            object.__setattr__(self, name, value)
        faults = Faults()
        for name, value in read_parts(faults, self).items():
            object.__setattr__(self, name, value)
        faults.finish()
        object.__setattr__(self, "suppression_limit", exact(self.suppression_limit))
        check(self)
        object.__setattr__(self, "columns", tuple(map(self._located, self.columns)))
        if self.output is not None and self.output.kind in PATHS and not is_url(str(self.output.target)):
            target = str((self.base_directory / self.output.target).absolute())
            object.__setattr__(self, "output", replace(self.output, target=target))
        if self.key is not None and self.key.file is not None:
            object.__setattr__(self, "key", replace(self.key, file=self.resolve(self.key.file)))
        if self.ledger is not None:
            object.__setattr__(self, "ledger", self._located_ledger(self.ledger))
        if self.like is not None and self.like.manifest is not None:
            object.__setattr__(self, "like", replace(self.like, manifest=self.resolve(self.like.manifest)))
        for name in ("report", "certificate"):
            if (path := getattr(self, name)) is not None:
                object.__setattr__(self, name, str((self.base_directory / path).absolute()))

    def _located_ledger(self, spec: LedgerSpec) -> LedgerSpec:
        """Return a ledger with the absolute paths of its file and of its key."""
        key = spec.key
        if key is not None and key.file is not None:
            key = replace(key, file=self.resolve(key.file))
        return replace(spec, key=key, file=None if spec.file is None else self.resolve(spec.file))

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

    def as_written(self) -> Policy:
        """Return the policy with the variables of the environment (``${NAME}``) in its places, to describe it."""
        return as_written(self)

    def shown_target(self, kind: str, target: str) -> str:
        """Return how the target of a release is shown: as the policy's own was written, any other as it is."""
        own, written = self.output, self.as_written().output
        same = own is not None and written is not None and (own.kind, own.target) == (kind, target)
        return written.target if same and written is not None else target

    def __repr__(self) -> str:
        return PolicyFacts.__repr__(as_written(self))

    def conceal(self, text: str) -> str:
        """Return a message about the policy in which what its variables stand for is replaced by their names."""
        return conceal(text, self.variables, self.base_directory)

    def fingerprint(self) -> str:
        """Return SHA-256 (hex) of the policy, independent of the folders it names, and of the values of variables."""
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
