"""Cards: what a plan, a release, a profile, a risk or a frontier is at a glance, in a notebook or in a terminal.

A card is made of the blocks of a report, in the words of a report, from facts that are there already: nothing is
counted for it, so that it can be shown when the plan is closed. It holds names of columns, levels and exact counts, so
it is for the operator; it holds no value of the data. In HTML it needs nothing else: no script, no font, no link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from secrets import token_hex
from typing import Any

from markupsafe import Markup

from sqlanon.assess.frontier.points import Frontier, percent, shown_risk
from sqlanon.assess.profiling.facts import Profile
from sqlanon.assess.profiling.facts import percent as part
from sqlanon.assess.profiling.text import ROLES, profile_lines, reading
from sqlanon.assess.risk.facts import Risk, RiskComparison, units
from sqlanon.core.audit.check import CheckResult
from sqlanon.core.plan.planned import Planned
from sqlanon.core.plan.release import Release
from sqlanon.recoding.local.recoded_plan import RecodedPlan
from sqlanon.report.blocks import Block, Field, Listing, Sentence, Sizes, Table, facts
from sqlanon.report.frontier_chart import drawing
from sqlanon.report.html import environment
from sqlanon.report.risk_section import compared, of_release
from sqlanon.report.sections import attribute_table, record_blocks
from sqlanon.report.settings import target_name
from sqlanon.report.summarizing import attributes_of
from sqlanon.report.text import block_lines, wrapped
from sqlanon.report.wording import (
    FOR_THE_OPERATOR,
    RULE,
    RULES_MEANING,
    count,
    counted,
    describe_proof,
    figure,
    probability,
    share,
)

STYLES = ("report.css", "frontier.css")
"""Whose rules hold inside a card, and nowhere else on the page of a notebook."""
DARK = ('[data-jp-theme-light="false"]', ".vscode-dark", ".vscode-high-contrast", '[theme="dark"]')
LIGHT = ('[data-jp-theme-light="true"]', ".vscode-light", ".vscode-high-contrast-light")
"""What stands around a card in notebooks with a theme of their own: Jupyter, Visual Studio Code, Colab."""
MOST_RULES = 10
"""Rules that a card lists, at most."""
Figures = tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Card:
    """The content of a card.

    Attributes:
        kind: what it is of.
        lead: it in one sentence.
        remarks: further sentences, such as what is proven.
        figures: what most readers look for first: names, values and a remark on each.
        blocks: of a report.
        picture: an SVG, for HTML alone.
        text: lines that take the place of the blocks in plain text.
    """

    kind: str
    lead: str
    remarks: tuple[str, ...] = ()
    figures: Figures = ()
    blocks: tuple[Block, ...] = ()
    warnings: tuple[str, ...] = ()
    picture: str = ""
    text: tuple[str, ...] = ()


def html_card(thing: object) -> str:
    """Return the card of a thing as HTML, to stand in a page."""
    card = card_of(thing)
    template = environment().get_template("card.html.j2")
    return template.render(
        card=card,
        key=f"sqlanon-{token_hex(4)}",
        notice=FOR_THE_OPERATOR,
        picture=Markup(card.picture),
        style=Markup(card_style()),
    )


def text_card(thing: object) -> str:
    """Return the card of a thing as plain text of at most 100 columns."""
    card = card_of(thing)
    lines = [f"sqlanon: {card.kind}", FOR_THE_OPERATOR, ""]
    for sentence in (card.lead, *card.remarks):
        lines += wrapped(sentence)
    if card.text:
        return "\n".join([*lines, *card.text])
    for name, value, remark in card.figures:
        lines += wrapped(f"{name}: {value}{f' ({remark})' if remark else ''}", "  ")
    for block in card.blocks:
        lines += ["", *block_lines(block)]
    for warning in card.warnings:
        lines += ["", *wrapped(f"Warning: {warning}")]
    return "\n".join(lines)


def card_of(thing: object) -> Card:
    """Return the card of a thing."""
    match thing:
        case Release():
            return _of_release(thing)
        case Planned():
            return _of_plan(thing)
        case Profile():
            return _of_profile(thing)
        case Risk():
            return _of_risk(thing)
        case RiskComparison():
            return _of_comparison(thing)
        case Frontier():
            return _of_frontier(thing)
        case CheckResult():
            return _of_check(thing)
    raise TypeError(f"There is no card of a {type(thing).__name__}.")


def _of_plan(plan: Planned) -> Card:
    ledger = plan.ledger
    extent = f"{count(ledger.published)} of {counted(ledger.records, 'record')} can be published"
    return Card(
        "Plan",
        f"{extent} in {counted(ledger.classes, 'class')}; nothing is written.",
        (describe_proof(plan.certificate),),
        _figures(plan),
        tuple(_plan_blocks(plan)),
        _concealed(plan, plan.warnings),
    )


def _of_release(release: Release) -> Card:
    ledger, plan = release.ledger, release.plan
    extent = f"{count(ledger.published)} of {counted(ledger.records, 'record')} in {counted(ledger.classes, 'class')}"
    if release.output:
        [(kind, target)] = list(release.output.items())[:1]
        shown = plan.policy.shown_target(kind, target)
        name = target_name(kind, shown)
        lead = f"Published: {extent}, audited, as the {kind.replace('_', ' ')} {name}."
    else:
        lead = f"A release of {extent}; nothing is written (to_arrow() and its like give the audited rows)."
    proof = [describe_proof(release.certificate)]
    if release.proof is not None and "file" in release.output:
        proof.append("The certificate beside it can be run again: sqlanon.verify.")
    return Card(
        "Release", lead, tuple(proof), _figures(plan), tuple(_plan_blocks(plan)), _concealed(plan, release.warnings)
    )


def _concealed(plan: Planned, warnings: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(plan.policy.conceal, warnings))


def _figures(plan: Planned) -> Figures:
    """Return the figures of a plan that are there without counting anything: extent, loss, classes and risk."""
    ledger, certificate = plan.ledger, plan.certificate
    entities, unit = ledger.entities, "record"
    smallest = ledger.smallest_class
    if entities is not None:
        smallest, unit = entities.smallest_class, "entity"
    measure = ", ".join(name.replace("_", " ") for name in (certificate.measure, certificate.aggregate) if name)
    published = "none" if not ledger.records else share(ledger.published / ledger.records)
    figures = [
        (
            "Published",
            published,
            f"{counted(ledger.suppressed, 'record')} suppressed, {count(ledger.excluded)} excluded",
        ),
        ("Loss", figure(certificate.loss), f"{measure}; {certificate.nearness}"),
        ("Classes", count(ledger.classes), "" if smallest is None else f"the smallest holds {counted(smallest, unit)}"),
    ]
    if smallest:
        average = "" if entities is not None else f", {probability(ledger.classes / ledger.published)} on average"
        figures.append(("Highest risk", probability(1 / smallest), f"that a known target is found{average}"))
    return tuple(figures)


def _plan_blocks(plan: Planned) -> list[Block]:
    kind = plan.kind if isinstance(plan, RecodedPlan) else ""
    attributes = attributes_of(plan, {})  # their losses would have to be counted
    blocks: list[Block] = [attribute_table(attributes, several=bool(kind))] if attributes else []
    if isinstance(plan, RecodedPlan):
        blocks += [Sentence(RULES_MEANING[kind]), Listing(_rules(plan), f"{RULE[kind].capitalize()}s")]
    models = ", ".join(model.label for model in plan.models)
    blocks += facts([("privacy models", models)] if models else [])
    return [*blocks, *record_blocks(plan.ledger, plan.catalog.allowed, kind)]


def _rules(plan: RecodedPlan) -> tuple[str, ...]:
    shown = [f"{plan.describe(rule)}: {counted(rule.records, 'record')}" for rule in plan.rules[:MOST_RULES]]
    more = len(plan.rules) - len(shown)
    return (*shown, *([f"and {count(more)} more"] if more > 0 else []))


def _of_profile(profile: Profile) -> Card:
    what = profile.source if profile.table is None else f"{profile.source}, table {profile.table}"
    fields = (
        Field("Column", width=28),
        Field("Reads as"),
        Field("Looks like"),
        Field("Values", "number"),
        Field("Unique", "number"),
        Field("Empty", "number"),
        Field("Suggested role"),
    )
    rows = []
    for item in profile.columns:
        missing = (item.nulls + item.empty) / item.records if item.records else 0.0
        values = count(item.distinct) if item.exact else f"about {count(item.distinct)}"
        shares = (part(item.uniqueness), part(missing))
        role = item.policy_role.replace("_", " ")
        rows.append((item.name, reading(item), item.looks_like.replace("_", " "), values, *shares, role))
    blocks: list[Block] = [Table(fields, tuple(rows), style="stack")] if rows else []
    for role, title in ROLES.items():
        if reasons := tuple(f"{item.name}: {item.reason}" for item in profile.with_role(role) if item.reason):
            blocks.append(Listing(reasons, title))
    if asked := tuple(f"{item.name}: {item.question}" for item in profile.columns if item.question):
        blocks.append(Listing(asked, "Decisions for you"))
    if profile.ranking:
        blocks.append(Listing(tuple(item.sentence for item in profile.ranking), "What singles records out"))
    lead = f"{what}: {counted(profile.records, 'record')}, {counted(len(profile.columns), 'column')}."
    _, *lines = profile_lines(profile)
    return Card("Profile", lead, (), (), tuple(blocks), profile.warnings, text=tuple(lines))


def _of_risk(risk: Risk) -> Card:
    """Return the card of a relation as it stands."""
    each = "" if risk.unit == "record" else " (each once in every class of theirs)"
    what = f"{counted(risk.records, risk.unit)}{each} in {counted(risk.classes, 'class')}"
    least = "" if risk.smallest_class is None else f", the smallest has {count(risk.smallest_class)}"
    blocks = list(of_release(risk.figures, (), risk.k, where="In the relation", unit=risk.unit))
    if risk.sizes:
        words = units(risk.unit)
        caption = f"{words['Many']} by the size of their class."
        blocks.insert(1, Sizes(risk.sizes, risk.k, False, caption, unit=words["many"]))
    remarks = [risk.left_out] if risk.left_out else []
    return Card("Risk", f"{what}{least}.", (*remarks, _attacker(risk)), (), tuple(blocks))


def _of_comparison(comparison: RiskComparison) -> Card:
    before, after = (counted(risk.classes, "class") for risk in (comparison.before, comparison.after))
    records = counted(comparison.before.records, comparison.before.unit)
    lead = f"{records} in {before} before, {count(comparison.after.records)} in "
    return Card(
        "Risk before and after",
        f"{lead}{after} after.",
        (_attacker(comparison.before),),
        (),
        tuple(compared(comparison, cite=False)),
    )


def _attacker(risk: Risk) -> str:
    known = ", ".join(risk.quasi_identifiers) or "nothing"
    return f"An attacker is taken to know: {known}."


def _of_frontier(frontier: Frontier) -> Card:
    proven = sum(point.optimal for point in frontier.points)
    fields = (
        Field("k", "number"),
        Field("Limit", "number"),
        Field("Loss", "number"),
        Field(f"Suppressed {frontier.unit}", "number"),
        Field("Classes", "number"),
        Field("Highest risk", "number"),
        Field("Remark", width=40),
    )
    rows = []
    for point in frontier.points:
        ledger = point.ledger
        if ledger is None:
            shown = ("none", "", "", "", point.reason or "")
        else:
            shown = (
                figure(point.loss), count(point.suppressed), count(ledger.classes), shown_risk(point),
                frontier.remark(point),
            )  # fmt: skip
        rows.append((str(point.k), percent(point.limit), *shown))
    knees = tuple(
        f"Knee {'of all points' if knee.limit is None else f'at a limit of {percent(knee.limit)}'}: k = "
        f"{knee.point.k}, limit {percent(knee.point.limit)}."
        for knee in frontier.knees
    )
    lead = f"{counted(len(frontier.points), 'combination')} of k and limit, {count(proven)} of them proven optima."
    blocks = (Table(fields, tuple(rows), style="stack"),)
    return Card("Frontier", lead, knees, (), blocks, frontier.warnings, picture=drawing(frontier))


def _of_check(result: CheckResult) -> Card:
    of_entities = "" if result.entities is None else f" of {counted(result.entities, 'entity')}"
    extent = f"{counted(result.records, 'record')}{of_entities} in {counted(result.classes, 'class')}"
    fields = (
        Field("Model", width=60),
        Field("Result"),
        Field("Classes that fail", "number"),
        Field("Their records", "number"),
    )
    rows = tuple(
        (item.model, "holds" if item.holds else "fails", count(item.failing_classes), count(item.failing_records))
        for item in result.models
    )
    verdict = "All models hold" if result.holds else "Not all models hold"
    least = counted(result.smallest_class, "record" if result.entities is None else "entity")
    lead = f"{verdict}: {extent}, the smallest has {least}."
    return Card("Check", lead, (), (), (Table(fields, rows),) if rows else ())


@cache
def card_style() -> str:
    """Return the style of cards: the rules of the reports, inside a card, in the colours of its surroundings."""
    sheets = [files("sqlanon.report").joinpath(name).read_text(encoding="utf-8") for name in STYLES]
    palettes: list[Any] = [re.findall(r":root \{(.*?)\}", sheet, re.DOTALL) for sheet in sheets]
    light, dark = ("".join(sides) for sides in zip(*palettes, strict=True))
    rules = "\n".join(
        re.sub(r"@media screen and \(prefers-color-scheme: dark\) \{.*?\n\}\n", "", s, flags=re.DOTALL) for s in sheets
    )
    own = files("sqlanon.report").joinpath("card.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            f".sqlanon-card {{{light}}}",
            f"@media (prefers-color-scheme: dark) {{ .sqlanon-card {{{dark}}} }}",
            f"{', '.join(f'{around} .sqlanon-card' for around in LIGHT)} {{ color-scheme: light; {light} }}",
            f"{', '.join(f'{around} .sqlanon-card' for around in DARK)} {{ color-scheme: dark; {dark} }}",
            f"{'.sqlanon-card' * 3} {{\n{rules}\n{own}}}",  # above the rules of a notebook
        ]
    )
