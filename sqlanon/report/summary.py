"""The facts of a run for its report: the policy, the result, the cost. Neither text nor HTML.

For the operator: counts are exact (``recipient`` has what may travel). There are names and numbers, but no value of
the data and no label of a hierarchy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlanon.assess.relations.null_bias import NullBias
from sqlanon.assess.relations.nulls import NullAudit
from sqlanon.core.audit.judged_columns import JudgedColumn
from sqlanon.core.engines.duckdb.engine import VERSION as DUCKDB_VERSION
from sqlanon.core.facts import pick
from sqlanon.core.models import least_count
from sqlanon.core.models.base import judges_persons
from sqlanon.core.plan.planned import Planned
from sqlanon.core.plan.release import Release
from sqlanon.core.policy import Policy
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.sizes.histogram import ClassSizes as ClassSizes
from sqlanon.errors import NoSolutionError, SqlanonError, UnsupportedError
from sqlanon.recoding.local.recoded_plan import RecodedPlan
from sqlanon.report.settings import file_name, settings_of
from sqlanon.report.story import IDENTITY, asked, meaning_of_nulls, not_promised, promised
from sqlanon.report.wording import (
    FULLY_SUPPRESSED,
    RULE,
    count,
    counted,
    describe_hierarchy,
    describe_level,
    describe_levels,
    describe_proof,
    figure,
    share,
)
from sqlanon.version import VERSION

if TYPE_CHECKING:
    from sqlanon.assess.risk.facts import RiskComparison
    from sqlanon.assess.utility.facts import Utility

QUERIES = 200
"""Random counts that a report asks: enough for a median and a 95th percentile, in a part of a second."""
MOST_RULES = 30
"""The most rules that a report lists."""


@dataclass(frozen=True, slots=True)
class AttributeSummary:
    """A quasi-identifier. After a failed run only its settings in the policy are known.

    Attributes:
        hierarchy: its kind, in words.
        height: number of levels, level 0 included.
        levels, description: the level that was chosen, as a number and in words; several where rules differ in it.
        values, values_left: distinct values in the source and at the level, NULL among them. ``values_left`` is None
            where there are several levels.
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
    """What the search cost.

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
class RunSummary:
    """The facts of a run. What a run did not reach is None or empty.

    Attributes:
        when: the time of the run, ISO 8601 in UTC.
        source: name of the file, without its folder; None for an open connection.
        fingerprint: SHA-256 of the policy.
        settings: of the policy, with their values in words.
        columns: those that are no quasi-identifiers, with their roles.
        measure, aggregate: the quality measure.
        k: the least size of a class that k-anonymity allows; None without it.
        allowed: the largest number of records that may be suppressed; with an entity, of entities that may lose any.
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
        left_out = (*pairs, "beside", "public_certificate")
        found = pick(self, *(item.name for item in fields(self) if item.name not in left_out))
        found |= {name: dict(getattr(self, name)) for name in pairs}
        found["beside"] = [
            {**column.to_dict(), "alone_in_release": counts and counts[0], "in_groups_below_k": counts and counts[1]}
            for column, counts in self.beside
        ]
        return found


def summarize(release: Release, *, now: str | None = None) -> RunSummary:
    """Return the facts of a run that came to a release; its plan must still be open.

    Args:
        now: the time of the run, ISO 8601 in UTC; None is the present.
    """
    plan, policy, certificate = release.plan, release.plan.policy, release.certificate
    shown = policy.as_written()
    named = shown.source == policy.source or plan.source.frame is not None
    statements = plan.statements  # without those of the report itself
    audited, refused = _null_audit(plan)
    taking_part = plan.catalog.population > 0
    measures_utility = taking_part and not judges_persons(policy.models)
    return RunSummary(
        **_asked(policy, now),
        source=plan.source_name if named else file_name(shown.source or ""),
        attributes=attributes_of(plan, plan.attribute_losses or {}),
        models=_models(plan),
        measure=certificate.measure,
        aggregate=certificate.aggregate,
        allowed=plan.catalog.allowed,
        ledger=release.ledger,
        sizes=_sizes(plan),
        certificate=certificate,
        proof=describe_proof(certificate),
        search=SearchSummary(
            strategy=certificate.strategy,
            evaluated=certificate.evaluated,
            lattice_size=certificate.lattice_size,
            statements=statements,
            snapshots=plan.snapshots,
            sources=tuple(release.verdict_sources.items()),
            statistics=tuple(sorted(plan.statistics.items())),
        ),
        recoding=_recoding(plan) if isinstance(plan, RecodedPlan) else None,
        seconds=tuple(release.seconds.items()),
        output=tuple(
            (kind, file_name(name) if kind == "file" else name)
            for kind, name in ((kind, policy.shown_target(kind, name)) for kind, name in release.output.items())
        ),
        warnings=tuple(map(policy.conceal, (*release.warnings, *refused))),
        nulls=audited,
        bias=plan.null_bias(),
        beside=_beside(plan),
        public_certificate=release.manifest["certificate"],
        risk=plan.risk() if taking_part else None,
        utility=plan.utility(queries=QUERIES).without_values() if measures_utility else None,
    )


def _beside(plan: Planned) -> tuple[tuple[JudgedColumn, tuple[int, int] | None], ...]:
    alone = {columns[0]: (records, few) for columns, records, few in plan.beside_release.alone if len(columns) == 1}
    return tuple((found, alone.get(found.name)) for found in plan.beside_source.columns if found.role != "drop")


def summarize_failure(policy: Policy, error: SqlanonError, *, now: str | None = None) -> RunSummary:
    """Return the facts of a run that ended in an error: what the policy requires, and what the error reports."""
    shown = policy.as_written()
    return RunSummary(
        **_asked(policy, now),
        source=file_name(shown.source) if shown.source is not None else None,
        attributes=tuple(
            AttributeSummary(c.name, describe_hierarchy(c.hierarchy), float(c.weight)) for c in shown.quasi_identifiers
        ),
        models=tuple(ModelSummary(model.label) for model in policy.models),
        measure=policy.quality.measure,
        aggregate=policy.quality.aggregate,
        failure=FailureSummary(
            error=type(error).__name__,
            message=policy.conceal(error.message),
            hint=policy.conceal(error.hint),
            nearest=_nearest(shown, error.nearest) if isinstance(error, NoSolutionError) else None,
        ),
    )


def _asked(policy: Policy, now: str | None) -> dict[str, Any]:
    """Return what is known of any run: its time, its versions, and what the policy requires."""
    policy = policy.as_written()
    k = [int(model.parameters["k"]) for model in policy.privacy if model.type in IDENTITY]
    return {
        "when": now or datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": (("sqlanon", VERSION), ("duckdb", DUCKDB_VERSION)),
        "table": policy.table,
        "fingerprint": policy.fingerprint(),
        "settings": settings_of(policy),
        "columns": tuple((c.name, c.role) for c in policy.columns if c.role != "quasi_identifier"),
        "k": max(k, default=None),
        "asked": asked(policy),
        "promised": promised(policy),
        "not_promised": not_promised(policy),
        "null_words": meaning_of_nulls(policy),
        "least": least_count(policy.models),
        "counts_entities": policy.entity is not None,
    }


def _models(plan: Planned) -> tuple[ModelSummary, ...]:
    alone = dict(plan.suppressed_by_model)
    return tuple(ModelSummary(model.label, alone.get(model.label)) for model in plan.models)


def attributes_of(plan: Planned, losses: Mapping[str, float]) -> tuple[AttributeSummary, ...]:
    """Return the quasi-identifiers of a plan with their levels and their own losses, as far as these are known."""
    pairs = zip(plan.policy.quasi_identifiers, plan.policy.as_written().quasi_identifiers, strict=True)
    hierarchies = {
        own.name: written.hierarchy if encoded == own.hierarchy else encoded
        for own, written in pairs
        for encoded in (plan.described_hierarchy(own),)
    }
    return tuple(
        AttributeSummary(
            name=a.name,
            hierarchy=describe_hierarchy(hierarchies[a.name]),
            weight=a.weight,
            height=a.height,
            levels=levels,
            description=describe_levels(hierarchies[a.name], levels, a.height),
            values=a.widths[0],
            values_left=a.widths[levels[0]] if len(levels) == 1 else None,
            loss=losses.get(a.name),
            at_root=plan.catalog.at_root.get(a.name, 0),
            fully_suppressed=a.name in plan.nothing_left,
        )
        for a, levels in zip(plan.catalog.attributes, plan.published_levels, strict=True)
    )


def _recoding(plan: RecodedPlan) -> RecodingSummary:
    noun = RULE[plan.kind]
    facts = [(f"{noun}s that publish records", count(len(plan.rules)))]
    if (classes := sum(rule.classes for rule in plan.rules)) != plan.ledger.classes:
        facts.append((f"their classes, those of several {noun}s that read the same counted apart", count(classes)))
    if plan.full_domain is not None:
        before, after = plan.full_domain.loss, plan.certificate.loss
        facts.append(("loss of the best single node", figure(before)))
        if plan.full_domain_certificate is not None:
            facts.append(("proof of that node", describe_proof(plan.full_domain_certificate)))
        facts.append(("saved by several nodes", share((before - after) / before) if before else share(0.0)))
    if (quality := plan.quality) is not None:
        facts += [
            ("suppressed cells", count(quality.suppressions)),
            ("usefulness", figure(quality.usefulness)),
            ("row types", count(quality.row_types)),
            ("records of a row type, on average", figure(quality.average)),
            ("records of the largest row type", count(quality.largest)),
        ]
    rules = tuple(
        RuleSummary(plan.describe(rule), rule.records, rule.classes, rule.smallest, rule.largest) for rule in plan.rules
    )
    return RecodingSummary(plan.kind, rules, tuple(facts))


def _sizes(plan: Planned) -> tuple[ClassSizes, ...]:
    """Return a bucket per power of two from the smallest to the largest class, also where no class is so large."""
    published = {least: rest for least, *rest in plan.class_sizes()}
    suppressed = {least: rest for least, *rest in plan.class_sizes(published=False)}
    found = published.keys() | suppressed.keys()
    if not found:
        return ()
    powers = [1 << i for i in range(min(found).bit_length() - 1, max(found).bit_length())]
    nothing = [0, 0, 0]
    return tuple(
        ClassSizes(power, 2 * power - 1, *published.get(power, nothing)[1:], *suppressed.get(power, nothing)[1:])
        for power in powers
    )


def _null_audit(plan: Planned) -> tuple[NullAudit | None, tuple[str, ...]]:
    """Return the audit, and a warning if it was refused; the release stands all the same."""
    try:
        return plan.null_audit(), ()
    except UnsupportedError as error:
        return None, (f"The NULLs of the release were not audited. {error.message}",)


def _nearest(policy: Policy, nearest: Mapping[str, Any] | None) -> NearestNode | None:
    levels = nearest.get("levels", {}) if nearest is not None else {}
    if nearest is None or (policy.transformation is not None and not levels):  # the rules are no node
        return None
    hierarchies = {column.name: column.hierarchy for column in policy.quasi_identifiers}
    return NearestNode(
        suppressed=nearest.get("suppressed"),
        levels=tuple(
            LevelOfNode(name, level, describe_level(hierarchies.get(name), level, None))
            for name, level in levels.items()
        ),
        unit="record" if policy.entity is None else "entity",
    )
