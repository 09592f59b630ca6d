"""The words of ``sqlanon run`` on a release: the document of ``--json``, and lines for a person."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context
from typing import Any

from sqlanon.commands.verbosity import say
from sqlanon.core.facts import pick
from sqlanon.core.plan.planned import Planned
from sqlanon.core.plan.release import Release
from sqlanon.core.publish.ledger import Ledger
from sqlanon.recoding.local.recoded_plan import RecodedPlan
from sqlanon.report.wording import counted, describe_proof, search_extent

PROOF = "optimal gap lower_bound"
"""What documents hold of a certificate."""
MOST_RULES = 20
"""The most rules of a recoding that are printed for a person; ``--json`` has all."""


def describe_release(release: Release) -> dict[str, Any]:
    """Return the document of ``run --json``. For the operator: its counts are exact."""
    plan, ledger, certificate = release.plan, release.ledger, release.certificate
    document = {
        "strategy": certificate.strategy,
        "levels": release.levels,
        **pick(certificate, PROOF, "loss measure aggregate"),
        **pick(ledger, "records published suppressed excluded entities? reasons"),
        **({} if plan.source.drawn is None else {"sample": plan.source.drawn.to_dict()}),
        "models": [{"model": label, "suppressed": count} for label, count in plan.suppressed_by_model],
        **pick(ledger, "classes smallest_class largest_class"),
        **pick(certificate, "lattice_size evaluated"),
        **pick(release, "snapshots=plan.snapshots verdict_sources statements=plan.statements"),
        **pick(release, "seconds", digits=6),
        **pick(release, "output ledger?=recorded"),
        **({} if plan.source.periods is None else {"periods": list(plan.source.periods.released)}),
        "report": plan.policy.report,
        "warnings": [plan.policy.conceal(warning) for warning in release.warnings],
        "beside": plan.beside,
        "at_root": plan.catalog.at_root,
        "nothing_left": [_nothing_left(plan, name) for name in plan.nothing_left],
    }
    return document | {"transformation": _recoding(plan)} if isinstance(plan, RecodedPlan) else document


def _nothing_left(plan: Planned, name: str) -> dict[str, Any]:
    """Return a column that is fully suppressed, and a node that keeps some detail of it (``cost_to_keep``)."""
    keeping = plan.cost_to_keep(name)
    if keeping is None:
        return {"column": name, "keeping": None}
    counts = {"suppressed": keeping.counted_against_limit, "allowed": plan.catalog.allowed}
    levels = plan.catalog.levels(keeping.node)
    return {"column": name, "keeping": {"levels": levels, **pick(keeping, "loss feasible"), **counts}}


def _describe_nothing_left(plan: Planned, name: str) -> str:
    """Return a sentence that a column is fully suppressed, and what keeping some detail would cost."""
    text = f"{name}: fully suppressed"
    keeping = plan.cost_to_keep(name)
    if keeping is None:
        return text
    if keeping.feasible:
        more = keeping.loss - plan.certificate.loss
        if more < 0:  # nothing was searched, or not to the end
            return f"{text}; a node was found that keeps some detail and loses less ({keeping.loss:.6f})"
        return (
            f"{text}; keeping some detail would raise the loss by at most {_rounded_up(more)} "
            f"(the best such node found loses {keeping.loss:.6f})"
        )
    return (
        f"{text}; no node was found that keeps some detail: even with all other columns fully generalized, "
        f"{keeping.counted_against_limit:,} {plan.catalog.unit} would be suppressed; the limit is "
        f"{plan.catalog.allowed:,}"
    )


def _rounded_up(loss: float) -> str:
    """Return an upper bound of a loss in two significant digits."""
    return format(Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(loss), "f")


def _recoding(plan: RecodedPlan) -> dict[str, Any]:
    """Return the account of a recoding, its rules in their order; the key ``transformation`` of ``run --json``."""
    document: dict[str, Any] = {"type": plan.kind, "seed": plan.seed}
    if plan.kind == "local_recoding":
        document |= {"hold": plan.hold, "size": plan.size}
    if plan.full_domain is not None and plan.full_domain_certificate is not None:
        document["full_domain"] = pick(plan.full_domain) | pick(plan.full_domain_certificate, PROOF)
        document["candidates"] = plan.candidates
        document["chosen"] = [{"levels": levels, "loss": loss} for levels, loss in plan.gains]
    if plan.quality is not None:
        document |= pick(plan.quality)
    rules = []
    for rule in plan.rules:
        patterns = {"suppressed": plan.suppressed_columns(rule)} if plan.kind == "patterns" else {}
        counts = pick(rule, "records classes smallest largest")
        rules.append({**patterns, "levels": plan.catalog.levels(rule.node), **counts})
    return document | {"rules": rules}


def _classes(ledger: Ledger) -> str:
    smallest = ledger.smallest_class
    least = "" if smallest is None else f", the smallest has {counted(smallest, 'record')}"
    return counted(ledger.classes, "class") + least


def print_release(release: Release) -> None:
    """Print what was published and suppressed, by which node or rules, and where it is. For the operator."""
    ledger, certificate, plan = release.ledger, release.certificate, release.plan
    recoded = plan if isinstance(plan, RecodedPlan) else None
    kind = recoded.kind if recoded is not None else None
    noun, extent, _ = search_extent(kind, certificate.evaluated, certificate.lattice_size)
    if recoded is not None and recoded.candidates:
        extent += f" alone, {recoded.candidates} sets of nodes"
    say(f"{certificate.measure} {certificate.loss:.6f}, {certificate.nearness} ({certificate.strategy})")
    say(f"  {noun}: {extent}; {plan.statements:,} statements")
    say(
        f"  {ledger.records:,} records = {ledger.published:,} published + {ledger.suppressed:,} suppressed "
        f"+ {ledger.excluded:,} excluded; {_classes(ledger)}"
    )
    if (entities := ledger.entities) is not None:
        say(
            f"  {entities.total:,} entities = {entities.published:,} published whole + {entities.suppressed:,} with a "
            f"suppressed record + {entities.excluded:,} excluded"
            + (
                ""
                if entities.smallest_class is None
                else f"; the smallest class has {entities.smallest_class:,} entities"
            )
        )
    for label, count in plan.suppressed_by_model:
        say(f"  {label}: {count:,} records are in classes that fail it")
    if recoded is not None:
        _print_rules(recoded)
    for attribute in plan.catalog.attributes:
        if attribute.name in release.levels:
            unread = plan.catalog.at_root.get(attribute.name, 0)
            fully = f"{unread:,} of {plan.catalog.encoded:,} values are not in the hierarchy, and fully suppressed"
            more = f"; {fully}" if unread else ""
            say(f"  {attribute.name}: level {release.levels[attribute.name]} of {attribute.height - 1}{more}")
    if gone := plan.nothing_left:
        say(f"  {len(gone)} of {counted(len(plan.catalog.attributes), 'quasi-identifier')} fully suppressed:")
    for name in gone:
        say(f"    {_describe_nothing_left(plan, name)}")
    say("  " + ", ".join(f"{name} {value:.2f} s" for name, value in release.seconds.items()))
    if release.recorded is not None and "cohorts" in release.recorded.more:
        counts = release.recorded.more["cohorts"]
        say("  records in cohorts: " + ", ".join(f"{count:,} {what}" for what, count in counts.items()))
    if plan.source.periods is not None:
        say(f"  periods: {', '.join(plan.source.periods.released)}")
    for place, name in release.output.items():
        say(f"  {place}: {name}")


def _print_rules(plan: RecodedPlan) -> None:
    """Print what the rules gain, and those that publish most, in the order in which they were tried."""
    if plan.full_domain is not None:
        before = plan.full_domain.loss
        saved = (before - plan.certificate.loss) / before if before else 0.0
        say(f"  the best single node loses {before:.6f}: {saved:.1%} of it is saved")
        if plan.full_domain_certificate is not None:
            say(f"  {describe_proof(plan.full_domain_certificate)} (of that node)")
    if (quality := plan.quality) is not None:
        say(
            f"  {quality.suppressions:,} cells suppressed; usefulness {quality.usefulness:.3f}, "
            f"{quality.row_types:,} row types of {quality.average:.3f} records on average and {quality.largest} at most"
        )
    largest = sorted(plan.rules, key=lambda rule: -rule.records)[:MOST_RULES]
    for rule in plan.rules:
        if rule in largest:
            say(f"  {rule.records:,} records in {counted(rule.classes, 'class')}: {plan.describe(rule)}")
    if len(plan.rules) > len(largest):
        say(f"  … and {len(plan.rules) - len(largest)} rules that publish fewer (run --json names them)")
