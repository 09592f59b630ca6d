"""The parts of a policy, as frozen facts. ``Policy`` itself stands in ``policy.policy``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any

from sqlanon.core.hierarchies import specs
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.policy.columns import ROLES, Column, Travels
from sqlanon.core.policy.extensions import NOTHING, Extensions
from sqlanon.core.policy.key import Key
from sqlanon.core.policy.ledger import LedgerSpec
from sqlanon.core.policy.models import Model
from sqlanon.core.policy.output import TARGETS, Output
from sqlanon.core.policy.paths import FilePatterns, is_url
from sqlanon.core.policy.plain import set_plain
from sqlanon.core.policy.representatives import Publish
from sqlanon.core.policy.search import ENGINES, ON_INTERRUPT, WHERE, EngineOptions, Quality, SearchOptions
from sqlanon.core.policy.transformation import Transformation
from sqlanon.core.policy.variables import WrittenPlace

__all__ = [
    "ENGINES", "ON_INTERRUPT", "ROLES", "TARGETS", "WHERE", "Column", "EngineOptions", "Join", "Model", "Output",
    "PolicyFacts", "Quality", "SearchOptions", "Travels",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Join:
    """A further source, joined by key: each record of the sources before it meets at most one of its rows.

    Attributes:
        key: pairs of a column of the sources before it and the column of this source that is equal to it. One name, a
            list of names, and a mapping are taken too.
        source: a path; None is a table of the policy's own source.
        csv, formats: options of its format.
    """

    key: tuple[tuple[str, str], ...]
    source: str | None = None
    table: str | None = None
    csv: Mapping[str, Any] = field(default_factory=dict)
    formats: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        set_plain(self)
        given: Any = [self.key] if isinstance(self.key, str) else self.key
        pairs: Any = given.items() if isinstance(given, Mapping) else given if isinstance(given, list | tuple) else ()
        pairs = tuple(pair if isinstance(pair, tuple) else (pair, pair) for pair in pairs)
        object.__setattr__(self, "key", pairs)


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """What to publish and how safe it must be: the keys of a policy as fields, and what follows from them.

    Without a ``transformation`` all records are published at one node (full domain). ``entity`` is a column of the
    source that identifies the person (or other entity) a record is about: then models, limits and audits count
    distinct entities instead of records. ``key`` says where the secret stands that pseudonyms are made by. ``source``
    is one path or URL; ``files`` are patterns of paths, in its place.
    ``ledger`` says where releases are written down, to be judged together.
    ``variables`` are the places that were written with variables of the environment.
    ``accept`` names columns that are published though they identify persons. ``publish`` says of which
    quasi-identifiers numbers or dates are published. ``suppression_limit`` may be given as any number or its text; it
    is the decimal fraction that is written.
    """

    columns: tuple[Column, ...]
    privacy: tuple[Model, ...]
    source: str | None = None
    table: str | None = None
    csv: Mapping[str, Any] = field(default_factory=dict)
    formats: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    join: tuple[Join, ...] = ()
    entity: str | None = None
    key: Key | None = None
    accept: tuple[str, ...] = ()
    undeclared: str = "error"
    row_security: str = "refuse"
    uncovered: str = "error"
    suppression_limit: Decimal = Decimal(0)
    suppression_count: int | None = None
    nulls: str = "extended"
    quality: Quality = field(default_factory=Quality)
    search: SearchOptions = field(default_factory=SearchOptions)
    suppressed: str = "drop"
    transformation: Transformation | None = None
    output: Output | None = None
    if_exists: str = "error"
    report: str | None = None
    engine: EngineOptions = field(default_factory=EngineOptions)
    version: int = 1
    files: tuple[str, ...] = ()
    publish: tuple[Publish, ...] = ()
    ledger: LedgerSpec | None = None
    certificate: str | None = None
    variables: tuple[WrittenPlace, ...] = field(default=(), compare=False)
    base_directory: Path = field(default_factory=Path.cwd, compare=False)
    extensions: Extensions = field(default=NOTHING, compare=False)
    file: Path | None = field(default=None, compare=False)

    @property
    def quasi_identifiers(self) -> tuple[Column, ...]:
        """The quasi-identifiers in the order of the policy."""
        return tuple(c for c in self.columns if c.role == "quasi_identifier")

    @property
    def sensitive(self) -> tuple[Column, ...]:
        """The sensitive columns in the order of the policy."""
        return tuple(c for c in self.columns if c.role == "sensitive")

    def uncovered_of(self, column: Column) -> str:
        """Return ``error``, ``top`` or ``suppress``: what happens to values that a column's hierarchy does not list.

        The column's own setting comes before the policy's; for a sensitive column it is always ``error``.
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

    @property
    def population(self) -> Mapping[str, Any] | None:
        """Where the records of the population come from, of which the source is a sample (k-map): ``file`` or
        ``table``; None without such a table."""
        found = (model.parameters.get("population") for model in self.privacy)
        return next((where for where in found if isinstance(where, Mapping)), None)

    def allowed_suppressions(self, records: int) -> int:
        """Return the largest number of records that may be suppressed: floor(limit * records) in decimal arithmetic.

        With an ``entity``, records are entities: how many may lose any of their records that take part.
        """
        if self.suppression_count is not None:
            return min(self.suppression_count, records)
        return int((self.suppression_limit * records).to_integral_value(ROUND_FLOOR))

    def resolve(self, path: str) -> str:
        """Return a path of the policy as an absolute one; URLs pass through."""
        return path if is_url(path) else str((self.base_directory / path).absolute())

    @property
    def patterns(self) -> FilePatterns:
        """The patterns of ``files``, relative to the folder of the policy."""
        return FilePatterns(self.files, self.base_directory.absolute())

    @property
    def person_column(self) -> str | None:
        """The column that says whose a record is, by which a ledger knows the persons of several releases."""
        return self.entity if self.ledger is None or self.ledger.record is None else self.ledger.record

    @property
    def _secret_files(self) -> tuple[str, ...]:
        """The files of keys, and the ledger."""
        keys = [self.key, *([] if self.ledger is None else [self.ledger.key])]
        files = [key.file for key in keys if key is not None] + ([] if self.ledger is None else [self.ledger.file])
        return tuple(file for file in files if file is not None)

    @property
    def read_files(self) -> tuple[Path, ...]:
        """The files that a run reads, and may not write to: the policy itself, sources, hierarchies, the subset,
        the population."""
        hierarchies = [column.hierarchy for column in self.columns]
        beside = [(place or {}).get("file") for place in (self.subset, self.population)]
        named = [self.source, *(join.source for join in self.join), *beside]
        return (
            *([self.file] if self.file is not None else []),
            *(Path(self.resolve(name)) for name in named if name is not None and not is_url(name)),
            *self.patterns.files(),
            *(Path(self.resolve(name)) for name in self._secret_files),
            *(spec.path for spec in hierarchies if isinstance(spec, specs.FileHierarchy)),
            *(
                spec.populations
                for spec in hierarchies
                if isinstance(spec, specs.Zip3) and spec.populations is not None
            ),
        )
