"""The facts of a run that came to a release, asked of its plan while that is open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sqlanon.assess.relations.nulls import NullAudit
from sqlanon.core.audit.judged_columns import JudgedColumn
from sqlanon.core.hierarchies.wording import describe_hierarchy, describe_levels
from sqlanon.core.models.base import judges_persons
from sqlanon.core.plan.planned import Planned
from sqlanon.core.plan.release import Release
from sqlanon.core.sizes.histogram import ClassSizes
from sqlanon.errors import UnsupportedError
from sqlanon.recoding.local.recoded_plan import RecodedPlan
from sqlanon.report.failures import facts_of_policy
from sqlanon.report.settings import file_name, target_name
from sqlanon.report.summary import AttributeSummary, ModelSummary, RecodingSummary, RuleSummary, SearchSummary
from sqlanon.report.summary import RunSummary as RunSummary
from sqlanon.report.wording import RULE, count, describe_proof, figure, share

QUERIES = 200
"""Random counts that a report asks: enough for a median and a 95th percentile, in a part of a second."""


def summarize(
    release: Release, *, now: str | None = None, measure: Literal["all", "columns", "nothing"] = "all"
) -> RunSummary:
    """Return the facts of a run that came to a release; its plan must still be open.

    Args:
        now: the time of the run, ISO 8601 in UTC; None is the present.
        measure: of risk, utility and NULLs in the release: all; without what takes longest, how columns go together and
            random counts; or nothing.
    """
    plan, policy, certificate = release.plan, release.plan.policy, release.certificate
    shown = policy.as_written()
    named = shown.source == policy.source or plan.source.frame is not None
    statements = plan.statements  # without those of the report itself
    measures, thorough = measure != "nothing", measure == "all"
    audited, refused = _null_audit(plan) if measures else (None, ())
    alone = dict(plan.suppressed_by_model)
    taking_part = plan.catalog.population > 0
    in_cohorts = policy.ledger is not None and policy.ledger.cohorts is not None  # rows may be of records that left
    measures_utility = measures and taking_part and not judges_persons(policy.models) and not in_cohorts
    return RunSummary(
        **facts_of_policy(policy, now),
        source=plan.source_name if named else file_name(shown.source or ""),
        attributes=attributes_of(
            plan,
            plan.attribute_losses or {},
            plan.published_types().count_values(plan.engine, plan.catalog) if measures_utility else {},
        ),
        models=tuple(ModelSummary(model.label, alone.get(model.label)) for model in plan.models),
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
            (kind, target_name(kind, name))
            for kind, name in ((kind, policy.shown_target(kind, name)) for kind, name in release.output.items())
        ),
        warnings=tuple(map(policy.conceal, (*release.warnings, *refused))),
        nulls=audited,
        bias=plan.null_bias() if measures else None,
        beside=_beside(plan),
        public_certificate=release.manifest["certificate"],
        risk=plan.risk() if measures and taking_part else None,
        utility=plan.utility(queries=QUERIES if thorough else 0, pairs=thorough).without_values()
        if measures_utility
        else None,
    )


def _beside(plan: Planned) -> tuple[tuple[JudgedColumn, tuple[int, int] | None], ...]:
    alone = {columns[0]: (records, few) for columns, records, few in plan.beside_release.alone if len(columns) == 1}
    return tuple((judged, alone.get(judged.name)) for judged in plan.beside_source.columns if judged.role != "drop")


def attributes_of(
    plan: Planned, losses: Mapping[str, float], left: Mapping[str, int] | None = None
) -> tuple[AttributeSummary, ...]:
    """Return the quasi-identifiers of a plan with their levels and their own losses, as far as these are known.

    Args:
        left: how many values of each are published; None: those that its level can hold are said.
    """
    left = left or {}
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
            values_left=left.get(a.name, a.widths[levels[0]]) if len(levels) == 1 else None,
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
    buckets = published.keys() | suppressed.keys()
    if not buckets:
        return ()
    powers = [1 << i for i in range(min(buckets).bit_length() - 1, max(buckets).bit_length())]
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
