"""The policy: what the user wants, as frozen facts. Reading and checking one is ``policy.parsing``'s work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any

from sqlanon.models.base import PrivacyModel
from sqlanon.policy.extensions import NOTHING, Extensions
from sqlanon.policy.hierarchy import specs
from sqlanon.policy.paths import is_url
from sqlanon.policy.transformation import LocalRecoding, Patterns, Transformation

__all__ = [
    "ENGINES",
    "ROLES",
    "WHERE",
    "Column",
    "EngineOptions",
    "Join",
    "LocalRecoding",
    "Model",
    "Output",
    "Patterns",
    "Policy",
    "Quality",
    "SearchOptions",
    "Transformation",
]

ENGINES = ("duckdb", "spark")
WHERE = ("auto", "engine", "local")
ROLES = ("quasi_identifier", "sensitive", "keep", "drop")


@dataclass(frozen=True, slots=True)
class Model:
    """A privacy model and its parameters, e.g. ``Model("k_anonymity", {"k": 5})``."""

    type: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the source: its role and, for a quasi-identifier, its hierarchy and limits.

    ``information_loss`` is that of every level of the hierarchy, level 0 first, for weighted information loss; None is
    the level's share of the highest. ``weight`` is what ANON calls the priority.
    """

    name: str
    role: str
    hierarchy: specs.HierarchySpec | None = None
    min_level: int | None = None
    max_level: int | None = None
    weight: float = 1.0
    information_loss: tuple[float, ...] | None = None
    uncovered: str | None = None
    models: tuple[Model, ...] = ()


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality measure and the aggregate that folds the attributes' losses; None is the measure's own default."""

    measure: str = "loss"
    aggregate: str | None = None


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The strategy and the limits of the search; ``gap`` is the relative gap that is good enough.

    ``where`` nodes are judged: in the engine of the source, in an embedded one (``local``), or what suits (``auto``).
    """

    strategy: str = "auto"
    time_limit: float | None = None
    max_evaluations: int | None = None
    gap: float = 0.0
    where: str = "auto"


@dataclass(frozen=True, slots=True)
class Join:
    """A further source, joined by key: each record of what stands before meets at most one of its rows.

    Attributes:
        key: pairs of a column of what stands before and the column of this source that is equal to it.
        source: a path; None is a table of the policy's own source.
        csv, formats: options of its format.
    """

    key: tuple[tuple[str, str], ...]
    source: str | None = None
    table: str | None = None
    csv: Mapping[str, Any] = field(default_factory=dict)
    formats: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Output:
    """Where the release goes: kind is view, live_view, table or file; a file's target is an absolute path.

    ``owner`` and ``readers`` are roles of a server: who owns the release, and who may read it.
    """

    kind: str
    target: str
    owner: str | None = None
    readers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The engine that works on files, and its settings.

    Attributes:
        name: ``duckdb`` (None) or ``spark``.
        memory_limit, threads, temp_directory: of the embedded DuckDB.
        master, settings: of Spark: where the cluster is, and its own settings by their names.
    """

    name: str | None = None
    memory_limit: str | None = None
    threads: int | None = None
    temp_directory: str | None = None
    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def embedded(self) -> dict[str, Any]:
        """The settings of the embedded DuckDB."""
        return {key: getattr(self, key) for key in ("memory_limit", "threads", "temp_directory")}


@dataclass(frozen=True, slots=True)
class Policy:
    """What to publish and how safe it must be. Every fault raises one PolicyError that lists them all.

    Without a ``transformation`` all records are published at one node (full domain). ``entity`` is a column of the
    source that tells whom a record is of: then models, limits and audits count distinct entities instead of records.
    """

    columns: tuple[Column, ...]
    privacy: tuple[Model, ...]
    source: str | None = None
    table: str | None = None
    csv: Mapping[str, Any] = field(default_factory=dict)
    formats: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    join: tuple[Join, ...] = ()
    entity: str | None = None
    undeclared: str = "error"
    uncovered: str = "error"
    suppression_limit: Decimal = Decimal(0)
    suppression_count: int | None = None
    nulls: str = "extended"
    quality: Quality = Quality()
    search: SearchOptions = SearchOptions()
    suppressed: str = "drop"
    transformation: Transformation | None = None
    output: Output | None = None
    if_exists: str = "error"
    report: str | None = None
    engine: EngineOptions = EngineOptions()
    version: int = 1
    base_directory: Path = field(default_factory=Path.cwd, compare=False)
    extensions: Extensions = field(default=NOTHING, compare=False)
    file: Path | None = field(default=None, compare=False)

    @classmethod
    def from_file(cls, path: str | Path, *, extensions: Extensions = NOTHING) -> Policy:
        """Read a policy from a .yaml, .yml, .json or .toml file, or an ANON definition (.xml); relative paths are
        relative to it.

        Raises:
            InputError: the file cannot be read.
            PolicyError: the policy has faults.
        """
        from sqlanon.policy.parsing import load

        return load(Path(path), extensions)

    @classmethod
    def from_dict(
        cls,
        document: Mapping[str, Any],
        *,
        base_directory: str | Path | None = None,
        extensions: Extensions = NOTHING,
    ) -> Policy:
        """Make a policy from the keys of a policy file.

        Raises:
            PolicyError: the policy has faults.
        """
        from sqlanon.policy.parsing import parse

        return parse(document, Path(base_directory) if base_directory is not None else Path.cwd(), extensions)

    def __post_init__(self) -> None:
        from sqlanon.policy.checks import check

        check(self)

    @property
    def quasi_identifiers(self) -> tuple[Column, ...]:
        """The quasi-identifiers in the order of the policy."""
        return tuple(c for c in self.columns if c.role == "quasi_identifier")

    @property
    def sensitive(self) -> tuple[Column, ...]:
        """The sensitive columns in the order of the policy."""
        return tuple(c for c in self.columns if c.role == "sensitive")

    def uncovered_of(self, column: Column) -> str:
        """What happens to values of a column that its hierarchy does not list: ``error``, ``top`` or ``suppress``.

        The column's own word comes before the policy's; of a sensitive column it is always ``error``.
        """
        return "error" if column.role == "sensitive" else column.uncovered or self.uncovered

    @property
    def models(self) -> tuple[PrivacyModel, ...]:
        """All privacy models: those of ``privacy``, then those of the sensitive columns, in their order."""
        entries = [(model, None) for model in self.privacy]
        watched = [(model, column.name) for column in self.columns for model in column.models]
        return tuple(self.extensions.privacy_model(m.type, m.parameters, name) for m, name in [*entries, *watched])

    @property
    def subset(self) -> Mapping[str, Any] | None:
        """Where the subset of δ-presence comes from: one of ``file``, ``table`` and ``column``; None without one."""
        return next((m.parameters["subset"] for m in self.privacy if "subset" in m.parameters), None)

    def allowed_suppressions(self, records: int) -> int:
        """The largest number of records that may be suppressed: floor(limit * records) in decimal arithmetic.

        With an ``entity``, of entities: how many may lose any of their records that take part.
        """
        if self.suppression_count is not None:
            return min(self.suppression_count, records)
        return int((self.suppression_limit * records).to_integral_value(ROUND_FLOOR))

    def resolve(self, path: str) -> str:
        """A path of the policy as an absolute one; URLs pass through."""
        return path if is_url(path) else str((self.base_directory / path).absolute())

    @property
    def read_files(self) -> tuple[Path, ...]:
        """The files that a run reads, and may not write to: the policy itself, sources, hierarchies, the subset."""
        hierarchies = [column.hierarchy for column in self.columns]
        named = [self.source, *(join.source for join in self.join), (self.subset or {}).get("file")]
        return (
            *([self.file] if self.file is not None else []),
            *(Path(self.resolve(name)) for name in named if name is not None and not is_url(name)),
            *(spec.path for spec in hierarchies if isinstance(spec, specs.FileHierarchy)),
        )

    def to_dict(self) -> dict[str, Any]:
        """The keys of a policy file that say the same; ``from_dict`` gives an equal policy."""
        from sqlanon.policy.writing import document

        return document(self)

    def fingerprint(self) -> str:
        """SHA-256 (hex) of the policy, independent of the folders it names."""
        from sqlanon.policy.writing import canonical, document

        text = json.dumps(canonical(document(self, portable=True)), default=str)
        return hashlib.sha256(text.encode()).hexdigest()
