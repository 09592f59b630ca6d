"""The facts of a run for its report: the policy, the result, the cost. Neither text nor HTML.

For the operator: counts are exact (``recipient`` has what may travel). There are names and numbers, but no value of
the data and no label of a hierarchy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from sqlanon.assess.relations.null_bias import NullBias
from sqlanon.assess.relations.nulls import NullAudit
from sqlanon.core.audit.judged_columns import JudgedColumn
from sqlanon.core.facts import pick
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.sizes.histogram import ClassSizes as ClassSizes
from sqlanon.report.wording import FULLY_SUPPRESSED, RULE, count, counted, share

if TYPE_CHECKING:
    from sqlanon.assess.risk.facts import RiskComparison
    from sqlanon.assess.utility.facts import Utility

MOST_RULES = 30
"""The most rules that a report lists."""


@dataclass(frozen=True, slots=True)
class AttributeSummary:
    """A quasi-identifier. After a failed run only its settings in the policy are known.

    Attributes:
        hierarchy: its kind, in words.
        height: number of levels, level 0 included.
        levels, description: the level that was chosen, as a number and in words; several where rules differ in it.
        values, values_left: distinct values in the source and in the release, NULL among them; where the release is not
            measured, those that the level can hold. ``values_left`` is None where there are several levels.
        loss: its own loss by the policy's measure, before weights; None for measures of classes and several rules.
        at_root: records whose values no hierarchy lists, and that are the root at every level (``uncovered: top``).
        fully_suppressed: the release has one value of it, the source several, or some that no hierarchy lists.
    """

    name: str
    hierarchy: str
    weight: float = 1.0
    height: int | None = None
    levels: tuple[int, ...] = ()
    description: str | None = None
    values: int | None = None
    values_left: int | None = None
    loss: float | None = None
    at_root: int = 0
    fully_suppressed: bool = False


@dataclass(frozen=True, slots=True)
class RuleSummary:
    """A rule that publishes records.

    Attributes:
        description: the columns that a pattern suppresses, or the levels of a node that are not 0.
        records: that it publishes, in ``classes`` classes of ``smallest`` to ``largest`` records.
    """

    description: str
    records: int
    classes: int
    smallest: int
    largest: int


@dataclass(frozen=True, slots=True)
class RecodingSummary:
    """Several rules that publish the records, and what comes of them together.

    Attributes:
        kind: ``patterns`` or ``local_recoding``.
        rules: in the order in which they were tried.
        facts: figures with their names.
    """

    kind: str
    rules: tuple[RuleSummary, ...]
    facts: tuple[tuple[str, str], ...]

    @property
    def listed(self) -> tuple[RuleSummary, ...]:
        """Return the rules that publish most records, ``MOST_RULES`` at most, in their order."""
        by_records = sorted(range(len(self.rules)), key=lambda i: -self.rules[i].records)
        return tuple(self.rules[i] for i in sorted(by_records[:MOST_RULES]))

    @property
    def records(self) -> int:
        """Return how many records all rules publish."""
        return sum(rule.records for rule in self.rules)

    @property
    def remainder(self) -> str:
        """Return in one sentence what the rules that are not listed publish; empty when all are listed."""
        more = len(self.rules) - len(self.listed)
        if not more:
            return ""
        records = self.records - sum(rule.records for rule in self.listed)
        part = f"{counted(records, 'record')} ({share(records / self.records)})"
        return f"{counted(more, f'more {RULE[self.kind]}')} {'publishes' if more == 1 else 'publish'} {part}."


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """A privacy model, and the records that it would suppress alone."""

    label: str
    suppressed: int | None = None


@dataclass(frozen=True, slots=True)
class SearchSummary:
    """The cost of the search.

    Attributes:
        sources: how many nodes were judged from the base and from each snapshot.
        statistics: what the strategy counts of its own work.
    """

    strategy: str
    evaluated: int
    lattice_size: int
    statements: int
    snapshots: int
    sources: tuple[tuple[str, int], ...]
    statistics: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class LevelOfNode:
    """A column's level at a node, in words too."""

    name: str
    level: int
    description: str


@dataclass(frozen=True, slots=True)
class NearestNode:
    """The node that came nearest to the policy; the error message names the models that it fails.

    ``unit`` is what ``suppressed`` counts: a record, or an entity that loses any.
    """

    suppressed: int | None
    levels: tuple[LevelOfNode, ...]
    unit: str = "record"


@dataclass(frozen=True, slots=True)
class FailureSummary:
    """Why a run ended without a release."""

    error: str
    message: str
    hint: str
    nearest: NearestNode | None = None


@dataclass(frozen=True, slots=True)
class AskedSummary:
    """The source of a run and its requests: the facts of a run that follow from its policy.

    Attributes:
        when: the time of the run, ISO 8601 in UTC.
        source: name of the file, without its folder; None for an open connection.
        fingerprint: SHA-256 of the policy.
        settings: of the policy, with their values in words.
        columns: those that are no quasi-identifiers, with their roles.
        measure, aggregate: the quality measure.
        k: the least size of a class that k-anonymity allows; None without it.
        allowed: the largest number of records that may be suppressed; with an entity, of entities that may lose any.
    """

    when: str
    source: str | None
    table: str | None
    versions: tuple[tuple[str, str], ...]
    fingerprint: str
    settings: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...]
    attributes: tuple[AttributeSummary, ...]
    models: tuple[ModelSummary, ...]
    measure: str
    aggregate: str | None
    k: int | None
    allowed: int | None = None


@dataclass(frozen=True, slots=True)
class RunSummary(AskedSummary):
    """The facts of a run. What a run did not reach is None or empty.

    Attributes:
        sizes: how large the classes are, in buckets of powers of two.
        proof: what is proven, in one sentence.
        recoding: the rules, where several publish the records.
        seconds: by phase, in order.
        output: what was written, of a file its name.
        nulls: what an attacker gains who takes NULLs for wildcards; None for a release without NULLs, or with very
            many classes.
        bias: how the columns change because records with a NULL are excluded (basic match).
        beside: what is published beside the quasi-identifiers, with the records that are alone by it and those in
            groups of fewer than k; None where they are not counted.
        asked, promised, not_promised, null_words: what the policy says, in words (``story``).
        least: the least number of records of a class by the models; smaller counts are not for recipients.
        counts_entities: persons are counted, not records.
        public_certificate: the certificate as it travels with the release; None after a failed run.
        risk: of the source's records and of the release; None where no record takes part.
        utility: what the release still says, without the values that label its charts; None likewise.
    """

    ledger: Ledger | None = None
    sizes: tuple[ClassSizes, ...] = ()
    certificate: Certificate | None = None
    proof: str = ""
    search: SearchSummary | None = None
    recoding: RecodingSummary | None = None
    seconds: tuple[tuple[str, float], ...] = ()
    output: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    nulls: NullAudit | None = None
    bias: NullBias | None = None
    beside: tuple[tuple[JudgedColumn, tuple[int, int] | None], ...] = ()
    failure: FailureSummary | None = None
    asked: tuple[tuple[str, str], ...] = ()
    promised: tuple[str, ...] = ()
    not_promised: tuple[str, ...] = ()
    null_words: tuple[str, ...] = ()
    least: int = 1
    counts_entities: bool = False
    public_certificate: Mapping[str, Any] | None = None
    risk: RiskComparison | None = None
    utility: Utility | None = None

    @property
    def headline(self) -> str:
        """Return the run in one sentence."""
        if self.failure is not None or self.ledger is None:
            return "Nothing was published."
        ledger = self.ledger
        extent = f"{count(ledger.published)} of {counted(ledger.records, 'record')}"
        if ledger.records:
            extent += f" ({share(ledger.published / ledger.records)})"
        extent += f" in {counted(ledger.classes, 'class')}"
        if ledger.smallest_class is not None:
            extent += f" of at least {ledger.smallest_class}"
            if ledger.entities is not None and ledger.entities.smallest_class is not None:
                extent += f" records and {counted(ledger.entities.smallest_class, 'entity')}"
        return f"Published: {extent}." if self.output else f"Nothing was written. The release would hold {extent}."

    @property
    def lost(self) -> str:
        """Return which quasi-identifiers are fully suppressed, in one sentence; empty if none is."""
        lost = [a.name for a in self.attributes if a.fully_suppressed]
        return f"{FULLY_SUPPRESSED.capitalize()}, in every record: {', '.join(lost)}." if lost else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the facts for JSON; for the operator."""
        pairs = ("versions", "settings", "columns", "asked", "seconds", "output")
        document = pick(self, *(f.name for f in fields(self) if f.name not in (*pairs, "beside", "public_certificate")))
        document |= {name: dict(getattr(self, name)) for name in pairs}
        document["beside"] = [
            {**column.to_dict(), "alone_in_release": counts and counts[0], "in_groups_below_k": counts and counts[1]}
            for column, counts in self.beside
        ]
        return document
