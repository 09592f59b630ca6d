"""``sqlanon run``: carry a policy out, publish and audit the release, and print what was done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sqlanon.anonymizer import anonymize
from sqlanon.commands.common import read_policy, warn
from sqlanon.commands.guarded import pick
from sqlanon.commands.progress import progress
from sqlanon.disk.writing import check_directory, write_text
from sqlanon.errors import Interrupted, SqlanonError, TargetError
from sqlanon.plan.planned import Planned
from sqlanon.plan.recoding.recoded_plan import RecodedPlan
from sqlanon.plan.release import Release
from sqlanon.policy import Policy
from sqlanon.policy.paths import same_file
from sqlanon.publish.papers import PAPERS
from sqlanon.publish.proof_file import write_proof
from sqlanon.report.files import check_report, write_report
from sqlanon.report.summary import summarize, summarize_failure
from sqlanon.report.wording import describe_proof, search_extent

PROOF = ("optimal", "gap", "lower_bound")
"""What documents hold of a certificate."""
MOST_RULES = 20
"""The most rules of a recoding that are printed for a person; ``--json`` has all."""


def execute(
    policy: str,
    as_json: bool,
    dry_run: bool,
    script: str | None,
    certificate: str | None,
    report: str | None,
    audience: str,
    **search: str | float | None,
) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    loaded = read_policy(policy, **search)
    if dry_run:
        loaded = replace(loaded, output=None, report=None)
    if report is not None:
        check_report(Path(report))
        loaded = replace(loaded, report=str(Path(report).absolute()))
    return run_policy(loaded, as_json=as_json, script=script, certificate=certificate, audience=audience)


def run_policy(
    policy: Policy,
    *,
    as_json: bool,
    script: str | None = None,
    certificate: str | None = None,
    audience: str = "operator",
) -> int:
    """Run a policy, print what came of it, and return the exit code. A run that fails has its report too."""
    named = {"report": policy.report, "script": script, "certificate": certificate}
    beside = {what: Path(name) for what, name in named.items() if name}
    _check_beside(policy, beside)
    report = beside.get("report")
    with progress() as watch:
        try:
            release = anonymize(None, policy, watch=watch)
        except SqlanonError as error:
            if report is not None:
                write_report(summarize_failure(policy, error), report, audience=audience)
            raise
    with release:
        try:
            _report(release, beside, as_json=as_json, audience=audience)
        except KeyboardInterrupt:
            if not release.output:
                raise
            raise Interrupted("The release itself was published before.", published=True) from None
    return 0


def _report(release: Release, beside: Mapping[str, Path], *, as_json: bool, audience: str) -> None:
    """Print what came of a run, and write what stands beside the release."""
    for warning in release.warnings:
        warn(warning)
    try:
        _write_beside(release, beside, audience)
    except SqlanonError as error:
        if release.output:
            warn("the release itself was published; what follows failed after it.")
        raise error
    if as_json:
        print(json.dumps(result(release)))
    else:
        _print_release(release)
        if "report" in beside:
            print(f"  report: {beside['report']}")


def _check_beside(policy: Policy, beside: Mapping[str, Path]) -> None:
    """Check that nothing beside a release is written over a file of the run, or over another of its kind.

    Raises:
        TargetError: it would be; nothing has been done yet.
    """
    used = list(policy.read_files)
    if policy.output is not None and policy.output.kind == "file":
        used += [Path(policy.output.target + ending) for ending in ("", *PAPERS)]
    for what, path in beside.items():
        if what == "report":
            check_report(path)
        else:
            check_directory(path)
        if path.is_dir():
            raise TargetError(f"The {what} {path.name!r} is a folder.", hint="name a file in it.")
        if any(same_file(path, other) for other in used):
            raise TargetError(f"The {what} {path.name!r} is another file of this run.", hint="choose another name.")
        used.append(path)


def _write_beside(release: Release, beside: Mapping[str, Path], audience: str) -> None:
    if "script" in beside:
        write_text(beside["script"], release.sql)
    if "certificate" in beside:
        _write_certificate(beside["certificate"], release)
    if "report" in beside:
        write_report(summarize(release), beside["report"], audience=audience)


def result(release: Release) -> dict[str, Any]:
    """Return the document of ``run --json``. For the operator: its counts are exact."""
    plan, ledger, certificate = release.plan, release.ledger, release.certificate
    document = {
        "strategy": certificate.strategy,
        "levels": release.levels,
        **pick(certificate, *PROOF, "loss", "measure", "aggregate"),
        **pick(ledger, "records", "published", "suppressed", "excluded"),
        **({} if ledger.entities is None else {"entities": ledger.entities.to_dict()}),
        "reasons": dict(ledger.reasons),
        "models": [{"model": label, "suppressed": count} for label, count in plan.suppressed_by_model],
        **pick(ledger, "classes", "smallest_class", "largest_class"),
        **pick(certificate, "lattice_size", "evaluated"),
        "snapshots": plan.snapshots,
        "verdict_sources": release.verdict_sources,
        "statements": plan.statements,
        "seconds": {name: round(value, 6) for name, value in release.seconds.items()},
        "output": release.output,
        "report": plan.policy.report,
        "warnings": list(release.warnings),
        "beside": plan.beside,
        "nothing_left": [_nothing_left(plan, name) for name in plan.nothing_left],
    }
    return document | {"transformation": _recoding(plan)} if isinstance(plan, RecodedPlan) else document


def _nothing_left(plan: Planned, name: str) -> dict[str, Any]:
    """Return a column of which nothing is left, and a node that keeps something of it (``cost_to_keep``)."""
    keeping = plan.cost_to_keep(name)
    if keeping is None:
        return {"column": name, "keeping": None}
    counts = {"suppressed": keeping.counted_against_limit, "allowed": plan.catalog.allowed}
    levels = plan.catalog.levels(keeping.node)
    return {"column": name, "keeping": {"levels": levels, **pick(keeping, "loss", "feasible"), **counts}}


def _describe_nothing_left(plan: Planned, name: str) -> str:
    """Return in words that nothing is left of a column, and what keeping something of it would cost."""
    text = f"{name}: nothing of it is left"
    keeping = plan.cost_to_keep(name)
    if keeping is None:
        return text
    if keeping.feasible:
        more = keeping.loss - plan.certificate.loss
        return (
            f"{text}; to keep something of it costs {more:.6f} more at most (the best such node that was found "
            f"loses {keeping.loss:.6f})"
        )
    return (
        f"{text}; no node was found that keeps something of it: even with all other columns generalized, "
        f"{keeping.counted_against_limit} {plan.catalog.unit} would be suppressed, and {plan.catalog.allowed} may be"
    )


def _recoding(plan: RecodedPlan) -> dict[str, Any]:
    """Return what the rules of a recoding publish, in their order; the key ``transformation`` of ``run --json``."""
    document: dict[str, Any] = {"type": plan.kind, "seed": plan.seed}
    if plan.full_domain is not None and plan.full_domain_certificate is not None:
        document["full_domain"] = asdict(plan.full_domain) | pick(plan.full_domain_certificate, *PROOF)
        document["candidates"] = plan.candidates
        document["chosen"] = [{"levels": levels, "loss": loss} for levels, loss in plan.gains]
    if plan.quality is not None:
        document |= asdict(plan.quality)
    rules = []
    for rule in plan.rules:
        patterns = {"suppressed": plan.suppressed_columns(rule)} if plan.kind == "patterns" else {}
        counts = pick(rule, "records", "classes", "smallest", "largest")
        rules.append({**patterns, "levels": plan.catalog.levels(rule.node), **counts})
    return document | {"rules": rules}


def _print_release(release: Release) -> None:
    ledger, certificate, plan = release.ledger, release.certificate, release.plan
    recoded = plan if isinstance(plan, RecodedPlan) else None
    kind = recoded.kind if recoded is not None else None
    noun, extent, _ = search_extent(kind, certificate.evaluated, certificate.lattice_size)
    if recoded is not None and recoded.candidates:
        extent += f" alone, {recoded.candidates} sets of nodes"
    print(f"{certificate.measure} {certificate.loss:.6f}, {certificate.nearness} ({certificate.strategy})")
    print(f"  {noun}: {extent}; {plan.statements} statements")
    print(
        f"  {ledger.records} records = {ledger.published} published + {ledger.suppressed} suppressed "
        f"+ {ledger.excluded} excluded; {ledger.classes} classes, the smallest has {ledger.smallest_class}"
    )
    if (entities := ledger.entities) is not None:
        print(
            f"  {entities.total} entities = {entities.published} published whole + {entities.suppressed} with a "
            f"suppressed record + {entities.excluded} excluded; the smallest class has {entities.smallest_class}"
        )
    for label, count in plan.suppressed_by_model:
        print(f"  {label}: {count} records are in classes that fail it")
    if recoded is not None:
        _print_rules(recoded)
    for attribute in plan.catalog.attributes:
        if attribute.name in release.levels:
            print(f"  {attribute.name}: level {release.levels[attribute.name]} of {attribute.height - 1}")
    for name in plan.nothing_left:
        print(f"  {_describe_nothing_left(plan, name)}")
    print("  " + ", ".join(f"{name} {value:.2f} s" for name, value in release.seconds.items()))
    for place, name in release.output.items():
        print(f"  {place}: {name}")


def _print_rules(plan: RecodedPlan) -> None:
    """Print what the rules gain, and those that publish most, in the order in which they were tried."""
    if plan.full_domain is not None:
        before = plan.full_domain.loss
        saved = (before - plan.certificate.loss) / before if before else 0.0
        print(f"  the best single node loses {before:.6f}: {saved:.1%} of it is saved")
        if plan.full_domain_certificate is not None:
            print(f"  {describe_proof(plan.full_domain_certificate)} (of that node)")
    if (quality := plan.quality) is not None:
        print(
            f"  {quality.suppressions} cells suppressed; usefulness {quality.usefulness:.3f}, {quality.row_types} row "
            f"types of {quality.average:.3f} records on average and {quality.largest} at most"
        )
    largest = sorted(plan.rules, key=lambda rule: -rule.records)[:MOST_RULES]
    for rule in plan.rules:
        if rule in largest:
            print(f"  {rule.records} records in {rule.classes} classes: {plan.describe(rule)}")
    if len(plan.rules) > len(largest):
        print(f"  … and {len(plan.rules) - len(largest)} rules that publish fewer (run --json names them)")


def _write_certificate(path: Path, release: Release) -> None:
    document = release.plan.proof_document
    if document is None:
        reason = "has a proof that cannot be run again" if release.certificate.optimal else "has proven nothing"
        warn(f"{release.certificate.strategy} {reason}, so there is no certificate.")
    else:
        write_proof(document, path)
