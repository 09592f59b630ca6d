"""The policy of several tables that are published together: its facts.

Each table is a policy of its own for whatever concerns it alone (columns, hierarchies, where it is read), so that it is
read, checked and encoded as any other. What the tables share stands once, beside ``tables``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from sqlanon.core.policy import Output, Policy
from sqlanon.core.policy.documents import Documented, has_key
from sqlanon.core.policy.extensions import Extensions
from sqlanon.core.policy.key import Key
from sqlanon.core.policy.variables import WrittenPlace
from sqlanon.core.policy.written_places import brief, conceal
from sqlanon.tables.reading import LinkedTable, read_tables

__all__ = ["LinkedTable", "TablesPolicy", "TablesPolicyLike", "is_tables_file", "names_tables"]


@dataclass(frozen=True, slots=True)
class TablesPolicy(Documented):
    """What to publish of several tables, and how safe it must be.

    Attributes:
        tables: the persons' own table first, and each after the one that it belongs to.
        source: what is read where a table names no source of its own.
        k: at least so many published persons have the same tree of rows.
        nulls: ``basic`` excludes persons with a NULL in a quasi-identifier of any of their rows.
        key: where the secret of the pseudonyms stands; None: a random one a release, which nobody keeps.
        output: a DuckDB file, or a folder of files of one format; None publishes nothing.
        variables: the places that were written with variables of the environment.
    """

    SAID = "policy of several tables", "policy file"

    tables: tuple[LinkedTable, ...]
    source: str | None
    k: int
    nulls: str
    key: Key | None
    output: Output | None
    folder_format: str | None
    if_exists: str
    base_directory: Path
    file: Path | None = None
    variables: tuple[WrittenPlace, ...] = ()

    @classmethod
    def _parsed(cls, document: Any, base: Path, extensions: Extensions) -> TablesPolicy:
        """Return the policy of a document."""
        return cls(**read_tables(document, base, extensions))

    def _with_file(self, file: Path) -> TablesPolicy:
        """Return the policy with the file that it was read from."""
        return replace(self, file=file)

    def __repr__(self) -> str:
        shown = (f"{item.name}={getattr(self, item.name)!r}" for item in fields(self))
        return self.conceal(f"{type(self).__name__}({', '.join(shown)})")

    def conceal(self, text: str) -> str:
        """Return a message in which what the variables of the policy stand for is replaced by their names."""
        return conceal(text, self.variables, self.base_directory)

    @property
    def shown_target(self) -> str:
        """The name of the file or folder of the release, as it was written."""
        written = [brief(place.written) for place in self.variables if place.path[0] == "output"]
        return Path(*written or [self.output.target if self.output is not None else ""]).name

    @property
    def first(self) -> Policy:
        """The policy of the persons' own table, which has all that the tables share."""
        return self.tables[0].policy

    def with_search(self, **changes: Any) -> TablesPolicy:
        """Return the policy with other options of its search; None leaves one as it is."""
        wanted = {name: value for name, value in changes.items() if value is not None}
        if not wanted:
            return self
        first = replace(self.first, search=replace(self.first.search, **wanted))
        return replace(self, tables=(replace(self.tables[0], policy=first), *self.tables[1:]))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(item.name for item in self.tables)

    @property
    def published_keys(self) -> tuple[bool, ...]:
        """Whether the key of each table is published: another table refers to it."""
        referred = {item.parent for item in self.tables}
        return tuple(position in referred for position in range(len(self.tables)))

    @property
    def attributes(self) -> tuple[tuple[int, str], ...]:
        """The quasi-identifiers of all tables, each with the position of its table."""
        return tuple(
            (position, column.name)
            for position, item in enumerate(self.tables)
            for column in item.policy.quasi_identifiers
        )

    def fingerprint(self) -> str:
        """Return SHA-256 (hex) of the policy, independent of the folders it names, and of its key."""
        parts: list[tuple[Any, ...]] = [
            (item.name, item.key, item.parent, item.link, item.policy.fingerprint())
            + (() if item.latest is None else (item.latest.rows, item.latest.by))
            for item in self.tables
        ]
        return hashlib.sha256(json.dumps([parts, self.k, self.nulls]).encode()).hexdigest()

    @property
    def read_files(self) -> tuple[Path, ...]:
        """The files that a run reads, and may not write to."""
        paths = [path for item in self.tables for path in item.policy.read_files]
        paths += [Path(self.key.file)] if self.key is not None and self.key.file is not None else []
        return (*([self.file] if self.file is not None else []), *dict.fromkeys(paths))


def is_tables_file(path: str | Path) -> bool:
    """Return True for the file of a policy of several tables; a file that cannot be read is none."""
    return has_key(Path(path), "tables")


def names_tables(document: object) -> bool:
    """Return True for the document of a policy of several tables."""
    return isinstance(document, Mapping) and "tables" in document


TablesPolicyLike = TablesPolicy | Mapping[str, Any] | str | Path
"""A policy of several tables, the keys of its file, or its path."""
