"""A report before it has a form: whom it is for, its head and its sections."""

from __future__ import annotations

from sqlanon.assess.attack.facts import AttackReport
from sqlanon.core.search.certificate import Certificate
from sqlanon.counts.release import CountsRelease
from sqlanon.errors import InputError
from sqlanon.report.attack_view import attack_view
from sqlanon.report.blocks import View
from sqlanon.report.counts_view import counts_view
from sqlanon.report.recipient import RecipientSummary, for_recipient
from sqlanon.report.recipient_sections import sections_for_recipient
from sqlanon.report.sections import key_figures, origin, sections_of
from sqlanon.report.summary import RunSummary
from sqlanon.report.wording import NO_NEARNESS, NOTICES, count, counted, describe_proof, share, shown

Reported = RunSummary | CountsRelease | AttackReport
"""What a report is of."""
AUDIENCES = tuple(NOTICES)
"""For whom a report may be."""


def check_audience(audience: str) -> None:
    """Raise InputError if there is no such audience."""
    if audience not in AUDIENCES:
        raise InputError("This audience is not known.", hint=f"use {' or '.join(AUDIENCES)}.")


def view_of(run: Reported, audience: str = "operator") -> View:
    """Return the report of a run to an audience.

    Raises:
        InputError: there is no such audience, or it may not see this.
    """
    check_audience(audience)
    if isinstance(run, AttackReport):
        if audience != "operator":
            raise InputError("What attacks find is for the operator.", hint="leave the audience out.")
        return attack_view(run)
    if not isinstance(run, RunSummary):
        return counts_view(run, audience)
    return _for_operator(run) if audience == "operator" else _for_recipient(for_recipient(run))


def _for_operator(run: RunSummary) -> View:
    return View(
        audience="operator",
        notice=NOTICES["operator"],
        title=run.table or run.source or "Open connection",
        about=run.source if run.source and run.table else "",
        when=run.when,
        headline=run.headline,
        proof=run.proof,
        failure=run.failure,
        origin=origin(run),
        warnings=run.warnings,
        figures=key_figures(run),
        sections=sections_of(run),
        facts=run.to_dict(),
        lost=run.lost,
    )


def _for_recipient(run: RecipientSummary) -> View:
    return View(
        audience="recipient",
        notice=NOTICES["recipient"],
        title=run.name or "A release",
        about="",
        when=run.day,
        headline=_headline(run),
        proof=_proof(run),
        failure=None,
        origin=(
            *((("release", run.name),) if run.name else ()),
            ("day", run.day),
            ("versions", ", ".join(f"{name} {version}" for name, version in run.versions)),
        ),
        warnings=(),
        figures=_figures(run),
        sections=sections_for_recipient(run),
        facts=run.to_dict(),
    )


def _headline(run: RecipientSummary) -> str:
    ledger = run.ledger
    if ledger is None:
        return "Nothing was published."
    extent = f"{shown(ledger['published'])} records in {counted(ledger['classes'], 'class')}"
    if ledger["smallest_class"] is not None:
        extent += f" of at least {ledger['smallest_class']}"
    return f"Published: {extent}." if run.name else f"Nothing was written. The release would hold {extent}."


def _proof(run: RecipientSummary) -> str:
    certificate = run.certificate
    if certificate is None:
        return ""
    if not certificate["optimal"] and certificate["gap"] is None:
        return NO_NEARNESS
    loss = 0.0 if certificate["loss"] is None else certificate["loss"]
    return describe_proof(Certificate(**{**certificate, "loss": loss}))


def _figures(run: RecipientSummary) -> tuple[tuple[str, str, str], ...]:
    ledger = run.ledger
    if ledger is None or run.certificate is None:
        return ()
    whole = ledger["records"]
    part = "" if run.hides or not isinstance(whole, int) else f"{share(ledger['published'] / whole)} of all"
    smallest = ledger["smallest_class"]
    limit = f", k\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{run.k}" if run.k > 1 else ""
    return (
        ("Records", shown(ledger["published"]), part),
        ("Classes", count(ledger["classes"]), "" if smallest is None else f"the smallest holds {smallest}{limit}"),
        ("Optimum", "proven" if run.certificate["optimal"] else "not proven", str(run.certificate["strategy"])),
    )
