"""The parts of a policy, as frozen facts. ``Policy`` itself stands in ``policy.policy``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, replace
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any

from sqlanon.core.hierarchies import specs
from sqlanon.core.hierarchies.spec_values import FRACTION
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.policy.columns import ROLES, UNCOVERED, Column, Travels
from sqlanon.core.policy.extensions import NOTHING, Extensions
from sqlanon.core.policy.key import Key
from sqlanon.core.policy.ledger import LedgerSpec
from sqlanon.core.policy.like import Like
from sqlanon.core.policy.models import Model
from sqlanon.core.policy.output import OUTPUT_KEYS, TARGETS, Output
from sqlanon.core.policy.parts import ALWAYS, HERE, PATH, PolicyPart, entry, keys_of, part_of
from sqlanon.core.policy.paths import FilePatterns, is_url
from sqlanon.core.policy.periods import Periods
from sqlanon.core.policy.representatives import Publish
from sqlanon.core.policy.search import ENGINES, ON_INTERRUPT, WHERE, EngineOptions, Quality, SearchOptions
from sqlanon.core.policy.sources import CSV_OPTIONS, JOIN_KEYS, Join
from sqlanon.core.policy.transformation import Transformation
from sqlanon.core.policy.variables import WrittenPlace
from sqlanon.parameters import NAMES, TEXT, choice, find, is_number, names, parts, shaped, text, whole

__all__ = [
    "ENGINES", "ON_INTERRUPT", "ROLES", "TARGETS", "WHERE", "Column", "EngineOptions", "Join", "Model", "Output",
    "PolicyFacts", "Quality", "SearchOptions", "Travels",
]  # fmt: skip
_FILES = replace(
    names(
        "a pattern, or a list of patterns",
        "This is no list of patterns.",
        "write files: visits/*.csv, or a list.",
        or_name=True,
    ),
    schema={"anyOf": [TEXT, NAMES]},
)


_SHARE = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}


def _share_fault(value: Any) -> str | None:
    """Return a hint unless a value is a share of persons that can be drawn."""
    return None if is_number(value) and 0 < value < 1 else "give a number between 0 and 1, such as 0.1."


@dataclass(frozen=True, slots=True)
class RecordKeys(PolicyPart):
    """The keys of which records are read, whose they are, and what each column is.

    ``source`` is one path or URL; ``files`` of ``PolicyFacts`` are patterns of paths, in its place. ``entity`` is a
    column of the source that identifies the person (or other entity) a record is about: then models, limits and audits
    count distinct entities instead of records. ``key`` says where the secret stands that pseudonyms are made by.
    ``accept`` names columns that are published though they identify persons.
    """

    columns: tuple[Column, ...] = entry(
        replace(part_of(Column, "mapping of columns to their keys"), kind="by_name"),
        MISSING,
        about="What each column of the source is.",
        example="{age: {role: quasi_identifier, hierarchy: {intervals: {width: 5}}}, length_of_stay: {role: keep}}",
        page="policy.md#columns",
    )
    privacy: tuple[Model, ...] = entry(
        replace(parts("models", "a privacy model, or a list of them"), part=Model),
        (),
        about="The privacy models of classes and of the whole release. Those of a sensitive column stand under its "
        "models. A policy needs one model at least.",
        example="[{type: k_anonymity, k: 5}]",
        page="policy.md#privacy-models",
    )
    source: str | None = entry(
        text(),
        about="Where the records are: a file (.csv, .parquet, .xml, .duckdb, .sqlite) or the URL of a database. A "
        "path is relative to the policy file.",
        example="hospital.duckdb",
        page="policy.md#files",
        kept=PATH,
    )
    table: str | None = entry(
        text(),
        about="The relation of a database, with its schema if need be. A database needs it.",
        example="discharges",
    )
    csv: Mapping[str, Any] = entry(
        parts("mapping", "mapping", CSV_OPTIONS),
        dict,
        about="How CSV files are read.",
        example='{delimiter: ";", "null": NA}',
        page="policy.md#files",
    )
    formats: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    join: tuple[Join, ...] = entry(
        replace(part_of(Join, "list of mappings", JOIN_KEYS), kind="list"),
        (),
        about="Further sources, joined by key: each record of those before it meets at most one of its rows.",
        example='[{source: departments.csv, csv: {delimiter: ";"}, key: {department: name}}]',
        page="policy.md#columns",
    )
    entity: str | None = entry(
        text(),
        about="The column that says whose a record is: persons are counted instead of records, in every model, in "
        "the limits and in the audits.",
        example="patient_id",
        page="entities.md",
        without="none: records are counted",
    )
    key: Key | None = entry(
        part_of(Key),
        about="Where the secret is kept for pseudonyms and shifted dates. The policy never holds it.",
        example="{file: secret.key}",
        page="policy.md#persons-that-stay-linked",
    )
    accept: tuple[str, ...] = entry(
        names("list of columns", "This is not a list of columns.", "write accept: [email]."),
        (),
        about="Columns with the role keep or sensitive that are published although they identify persons.",
        example="[length_of_stay]",
        page="beside.md",
        without="none",
    )
    undeclared: str = entry(
        choice(error="the run ends", drop="they are not published"),
        "error",
        about="What becomes of columns of the source that the policy does not list.",
        example="drop",
        kept=ALWAYS,
    )
    row_security: str = entry(
        choice(
            refuse="the run ends", accept="what the role sees of a source under row-level security is taken for all"
        ),
        "refuse",
        about="What happens where row-level security hides records of the source.",
        example="accept",
        page="warehouse.md",
    )
    uncovered: str = entry(
        UNCOVERED,
        "error",
        about="What becomes of values that a hierarchy does not list, or cannot read.",
        example="top",
        page="hierarchies.md#what-they-cannot-read",
        kept=ALWAYS,
    )

    @property
    def quasi_identifiers(self) -> tuple[Column, ...]:
        """The quasi-identifiers in the order of the policy."""
        return tuple(c for c in self.columns if c.role == "quasi_identifier")

    @property
    def sensitive(self) -> tuple[Column, ...]:
        """The sensitive columns in the order of the policy, as they are judged."""
        return tuple(c.as_judged for c in self.columns if c.role == "sensitive")

    @property
    def models_by_key(self) -> tuple[tuple[str, Model], ...]:
        """The models of classes and those of sensitive columns, each with the place of its key in a document."""
        of_columns = (
            (f"columns.{c.name}.models[{place}]", m) for c in self.columns for place, m in enumerate(c.models)
        )
        return (*((f"privacy[{place}]", model) for place, model in enumerate(self.privacy)), *of_columns)

    def uncovered_of(self, column: Column) -> str:
        """Return ``error``, ``top`` or ``suppress``: what happens to values that a column's hierarchy does not list.

        The column's own setting comes before the policy's; for a sensitive column it is always ``error``, unless it
        is published at a level.
        """
        exact = column.role == "sensitive" and column.level is None
        return "error" if exact else column.uncovered or self.uncovered


@dataclass(frozen=True, slots=True)
class ReleaseKeys(RecordKeys):
    """The keys of what may be lost, how it is searched, and where the release goes.

    Without a ``transformation`` all records are published at one node (full domain). ``suppression_limit`` may be given
    as any number or its text; it is the decimal fraction that is written.
    """

    suppression_limit: Decimal = entry(
        shaped(
            {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string", "pattern": FRACTION}]},
            "number from 0 to 1, or its text",
        ),
        Decimal(0),
        about="How many records may be left out at most: 0 is none, 1 balances freely.",
        unit="a share of the records; with an entity, of the persons",
        example="0.05",
    )
    suppression_count: int | None = entry(
        whole(0),
        about="How many records may be left out at most, in the place of suppression_limit.",
        unit="records; with an entity, persons",
        example="100",
    )
    nulls: str = entry(
        choice(extended="NULL is a value like others", basic="records with a NULL in a quasi-identifier are left out"),
        "extended",
        about="How NULL is matched in quasi-identifiers.",
        example="basic",
        page="commands.md#nulls",
        kept=ALWAYS,
    )
    quality: Quality = entry(
        part_of(Quality),
        Quality,
        about="What the release shall lose as little of as possible.",
        example="{measure: loss, aggregate: arithmetic_mean}",
        page="policy.md#measures",
        kept=ALWAYS,
    )
    search: SearchOptions = entry(
        part_of(SearchOptions),
        SearchOptions,
        about="How the best node is looked for, and how long.",
        example="{time_limit: 60, gap: 0.02}",
        page="policy.md#strategies",
        kept=ALWAYS,
    )
    suppressed: str = entry(
        choice(drop="they are not there", redact="they are there with a marker in every column"),
        "drop",
        about="How records that are left out appear in the release.",
        example="redact",
        kept=ALWAYS,
    )
    transformation: Transformation | None = entry(
        parts("transformation", "mapping"),
        about="What is done to the records, when it is not one node for all of them.",
        example="{type: local_recoding, nodes: 16}",
        page="patterns.md",
        without="one node for all records (full_domain)",
    )
    output: Output | None = entry(
        part_of(Output, "mapping with one target, or the path of a file", OUTPUT_KEYS),
        about="Where the release goes.",
        example="{file: released.parquet}",
        page="policy.md#output-and-engine",
        without="none: the run searches and reports, and writes nothing",
    )
    if_exists: str = entry(
        choice(error="the run ends", replace="it is replaced, once the new release has passed its audit"),
        "error",
        about="What happens to a target that is there already. A release that is replaced without a ledger is compared "
        "with the new one: see repeats.",
        page="ledger.md#a-release-that-is-replaced-without-a-ledger",
        example="replace",
        kept=ALWAYS,
    )
    report: str | None = entry(
        text(),
        about="The file of a report for people, .html, .md, .txt or .json; for the operator.",
        example="report.html",
        page="report.md",
        without="none",
        kept=HERE,
    )
    engine: EngineOptions = entry(
        part_of(EngineOptions),
        EngineOptions,
        about="The engine that works on files, and its settings.",
        example="{memory_limit: 4GB, threads: 2}",
        page="policy.md#output-and-engine",
        kept=HERE,
    )
    version: int = entry(
        shaped({"const": 1}, "the number 1"),
        1,
        about="The version of the policy's keys.",
        example="1",
        kept=ALWAYS,
    )

    def allowed_suppressions(self, records: int) -> int:
        """Return the largest number of records that may be suppressed: floor(limit * records) in decimal arithmetic.

        With an ``entity``, records are entities: how many may lose any of their records that take part.
        """
        if self.suppression_count is not None:
            return min(self.suppression_count, records)
        return int((self.suppression_limit * records).to_integral_value(ROUND_FLOOR))


@dataclass(frozen=True, slots=True)
class PolicyFacts(ReleaseKeys):
    """What to publish and how safe it must be: the keys of a policy as fields, and what follows from them.

    ``ledger`` says where releases are written down, to be judged together.
    ``variables`` are the places that were written with variables of the environment.
    ``publish`` says of which quasi-identifiers numbers or dates are published.
    """

    order = (
        "version", "source", "files", "table", "csv", "join", "columns", "entity", "key", "sample", "accept",
        "row_security", "privacy", "undeclared", "uncovered", "nulls", "suppressed", "if_exists", "suppression_limit",
        "suppression_count", "quality", "search", "transformation", "publish", "ledger", "like", "periods", "repeats",
        "output",
        "report", "certificate", "engine",
    )  # fmt: skip

    files: tuple[str, ...] = entry(
        _FILES,
        (),
        about="Patterns of CSV or Parquet files with the same columns, which together are the source.",
        example="visits/2024-*.parquet",
        page="policy.md#files",
        kept=PATH,
    )
    publish: tuple[Publish, ...] = entry(
        replace(part_of(Publish, "mapping of quasi-identifiers to what is published of them"), kind="by_name"),
        (),
        about="Numbers and dates that are published beside a generalized text, or in its place.",
        example="{age: {as: [low, high]}}",
        page="policy.md#numbers-and-dates-for-software",
    )
    ledger: LedgerSpec | None = entry(
        part_of(LedgerSpec, "mapping, or the path of a file"),
        about="Where it is written down what was released of a source to whom, so that releases are judged together.",
        example="{file: private/ledger.duckdb, record: patient_id, recipient: ministry, key: {env: LEDGER_KEY}}",
        page="ledger.md",
    )
    like: Like | None = entry(
        part_of(Like, "mapping, or the path of a manifest"),
        about="An earlier release whose levels are kept: they are judged, and not searched.",
        example="released.parquet.manifest.json",
        page="ledger.md#levels-that-stay",
        without="the levels are searched",
        kept=HERE,
    )
    repeats: str = entry(
        choice(
            refuse="the run ends, and says how many classes would differ by fewer than k records",
            accept="it is replaced, with a warning",
        ),
        "refuse",
        about="What happens where a release of the same policy over nearly the same records would be replaced by one "
        "from which it differs, without a ledger and without like.",
        example="accept",
        page="ledger.md#a-release-that-is-replaced-without-a-ledger",
        kept=HERE,
    )
    periods: Periods | None = entry(
        part_of(Periods),
        about="The periods that the records are released by: each once, when it is closed, at the levels of the first "
        "run, beside those that were released before.",
        example="{column: admitted, every: day, closes_after: 2 days}",
        page="lakehouse.md#closed-periods",
        without="none: a run releases all records",
    )
    sample: float | None = entry(
        shaped(_SHARE, "number between 0 and 1", _share_fault),
        about="The share of the persons (of the records, without an entity) that is drawn with the key before anything "
        "is judged; the others are not published. k_map knows the whole source as the population.",
        unit="a share",
        example="0.1",
        page="policy.md#a-sample",
        without="all records",
    )
    certificate: str | None = entry(
        text(),
        about="The file of the operator's proof, for sqlanon verify. It is not to be handed on.",
        example="../proof.json",
        page="commands.md#a-release-and-its-accompanying-files",
        without="none",
        kept=HERE,
    )
    variables: tuple[WrittenPlace, ...] = field(default=(), compare=False)
    base_directory: Path = field(default_factory=Path.cwd, compare=False)
    extensions: Extensions = field(default=NOTHING, compare=False)
    file: Path | None = field(default=None, compare=False)

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
        """Where the records of the population come from, of which the source is a sample (k-map): ``file``, ``table``,
        or ``sampled``, that a sample is drawn of; None without such a table."""
        found = [(model.type, model.parameters.get("population")) for model in self.privacy]
        named = next((where for _, where in found if isinstance(where, Mapping)), None)
        of_source = ("k_map", None) in found or ("k_map", "source") in found
        return {"sampled": self.sample} if named is None and self.sample is not None and of_source else named

    def resolve(self, path: str) -> str:
        """Return a path of the policy as an absolute one; URLs pass through."""
        return path if is_url(path) else str((self.base_directory / path).absolute())

    @property
    def patterns(self) -> FilePatterns:
        """The patterns of ``files``, relative to the folder of the policy."""
        return FilePatterns(self.files, self.base_directory.absolute())

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


TOP_KEYS = tuple(
    find(keys_of(PolicyFacts), name)
    for name in (
        "version", "source", "files", "table", "csv", "join", "columns", "entity", "key", "sample", "accept",
        "undeclared", "row_security", "uncovered", "privacy", "suppression_limit", "suppression_count", "nulls",
        "quality", "search", "suppressed", "transformation", "publish", "ledger", "like", "periods", "output",
        "if_exists", "repeats", "report", "certificate", "engine",
    )
)  # fmt: skip
"""Keys of a policy in the order of its schema, beside those that hold the options of further file formats."""
