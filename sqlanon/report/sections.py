"""The sections of the operator's report, with exact counts; ``recipient_sections`` has those of a recipient's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlanon.assess.relations.null_bias import ColumnBias, NullBias
from sqlanon.assess.relations.nulls import REMARK, NullAudit
from sqlanon.assess.risk.facts import units
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.words import probability
from sqlanon.report import wording
from sqlanon.report.blocks import (
    FULL_BAR,
    SHORT_BAR,
    Bar,
    Block,
    Cell,
    Field,
    Listing,
    Noted,
    Part,
    Parts,
    Section,
    Sentence,
    Sizes,
    Table,
    facts,
    share_of,
)  # fmt: skip
from sqlanon.report.charts import loss_scale
from sqlanon.report.recipient import RecipientSummary
from sqlanon.report.risk_section import compared
from sqlanon.report.story import REVIEW
from sqlanon.report.summary import AttributeSummary, FailureSummary, RecodingSummary, RunSummary, SearchSummary
from sqlanon.report.utility_section import lost
from sqlanon.report.wording import count, counted, duration, figure, search_extent, share

PHASES = 4
"""Colours for the phases of a run. Further phases start again with the first colour."""


def sections_of(run: RunSummary) -> tuple[Section, ...]:
    """Return the sections of the operator's report in their order, without those that would be empty."""
    rules = run.recoding
    kind = rules.kind if rules is not None else ""
    columns = facts((name, wording.ROLES.get(role, role)) for name, role in run.columns)
    sections = (
        Section("nearest", "Nearest node", tuple(_nearest(run.failure)) if run.failure else ()),
        Section("asked", "What was asked", facts(run.asked, width=45)),
        Section("promised", "What is promised, and what is not", promises(run)),
        Section("risk", "Risk before and after", tuple(compared(run.risk)) if run.risk else ()),
        Section("records", "Records", tuple(record_blocks(run.ledger, run.allowed, kind)) if run.ledger else ()),
        Section("classes", "Classes by size", _sizes(run)),
        Section("attributes", "Quasi-identifiers", tuple(_attributes(run)) if run.attributes else ()),
        Section("utility", "What was lost, and what is left", tuple(lost(run.utility)) if run.utility else ()),
        Section("rules", wording.RULES.get(kind, ""), tuple(_rules(rules)) if rules else ()),
        Section("models", "Privacy models", _models(run)),
        Section("beside", "Published as they are", _beside(run)),
        Section("nulls", "NULLs in the release", tuple(_nulls(run))),
        Section("bias", "Records with a NULL are excluded", tuple(_bias(run.bias)) if run.bias else ()),
        Section("columns", "Other columns", columns, narrow=True),
        Section("settings", "Settings", facts(run.settings), narrow=True),
        Section("search", "Search", _search(run.search, kind) if run.search else (), folded=True),
        Section("time", "Time", _seconds(run.seconds), folded=True),
    )
    return tuple(section for section in sections if section.blocks)


def promises(run: RunSummary | RecipientSummary) -> tuple[Block, ...]:
    """Return the promises of the policy, and the risks that it leaves open."""
    if not run.promised or run.ledger is None:
        return ()
    written = run.name is not None if isinstance(run, RecipientSummary) else bool(run.output)
    return (
        Listing(run.promised, "Promised, and audited in what was written" if written else "Promised"),
        Listing(run.not_promised, "Not promised"),
        Sentence(REVIEW),
    )


def origin(run: RunSummary) -> tuple[tuple[str, str], ...]:
    """Return where a run read and wrote, when, and by which policy and versions."""
    source = run.source or "an open connection"
    return (
        ("source", f"{source}, table {run.table}" if run.table else source),
        *(("written", f"{kind} {name}") for kind, name in run.output),
        ("time", run.when),
        ("policy", f"SHA-256 {run.fingerprint}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in run.versions)),
    )


def key_figures(run: RunSummary) -> tuple[tuple[str, str, str], ...]:
    """Return the figures that most readers look for first: names, values and a remark on each."""
    ledger, certificate = run.ledger, run.certificate
    if ledger is None or certificate is None or run.search is None:
        return ()
    smallest = "" if ledger.smallest_class is None else f"the smallest holds {counted(ledger.smallest_class, 'record')}"
    if ledger.entities is not None and ledger.entities.smallest_class is not None:
        smallest = f"at least {counted(ledger.entities.smallest_class, 'entity')} in each"
    limit = "" if run.k is None else f", k\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{run.k}"
    measure = ", ".join(name.replace("_", " ") for name in (certificate.measure, certificate.aggregate) if name)
    proof = "proven optimal" if certificate.optimal else "not proven optimal"
    published = f"{count(ledger.published)} of {count(ledger.records)} records"
    return (
        ("Published", share_of(ledger.published, ledger.records) or "none", published),
        ("Loss", figure(certificate.loss), f"{measure}; {proof}"),
        ("Classes", count(ledger.classes), smallest + limit),
        *_highest_risk(run),
    )


def _highest_risk(run: RunSummary) -> tuple[tuple[str, str, str], ...]:
    after = None if run.risk is None else run.risk.after.get("prosecutor_highest")
    if after is None or after.value is None:
        return ()
    known = "of being found, for a person whose quasi-identifiers are known"
    return (("Highest risk", probability(after.value), known),)


def _beside(run: RunSummary) -> tuple[Block, ...]:
    if not run.beside:
        return ()
    published = run.ledger.published if run.ledger is not None else 0
    fields = (
        Field("Column", width=25, plain=""),
        Field("Values", "number"),
        Field("Unique values", "number", plain="unique values"),
        Field("Unique with it", "number", plain="unique with it"),
        Field("Rare with it", "number", plain="rare with it"),
        Field("Determines"),
    )
    rows = tuple(
        (
            Noted(judged.name, wording.ROLES.get(judged.role, judged.role)),
            count(judged.values),
            share(judged.unique),
            *(("", "") if counts is None else (share_of(records, published) for records in counts)),
            ", ".join(f"{name} ({share(spared)})" for name, spared in judged.determines.items()),
        )
        for judged, counts in run.beside
    )
    said = wording.BESIDE.format(**units("entity" if run.counts_entities else "record"))
    return (Table(fields, rows, style="stack"), Sentence(said))


def _nearest(failure: FailureSummary) -> Iterable[Block]:
    if (nearest := failure.nearest) is None:
        return
    if nearest.suppressed is not None:
        yield Sentence(f"It would suppress {counted(nearest.suppressed, nearest.unit)}.", soft=False)
    fields = (Field("Quasi-identifier", plain=""), Field("Level", "number"), Field("Published as"))
    yield Table(fields, tuple((level.name, str(level.level), level.description) for level in nearest.levels))


def record_blocks(ledger: Ledger, allowed: int | None, kind: str) -> Iterable[Block]:
    """Yield the account of the records, and of the entities.

    Args:
        allowed: most that may be suppressed.
        kind: of the rules, where several publish the records; otherwise empty.
    """
    reasons = wording.REASONS | wording.NOT_PUBLISHED.get(kind, {})
    counts = {"published": ledger.published} | {reason: n for reason, n in ledger.reasons.items() if n}
    yield Parts(
        "What became of the records",
        tuple(
            Part(key, reasons.get(key, key), number, count(number), share_of(number, ledger.records))
            for key, number in counts.items()
        ),
        header=("What became of them", "Records", "Share"),
        total=("all records", count(ledger.records), ""),
    )
    suppressed, noun, entities = ledger.suppressed, "Suppressed", ledger.entities
    if entities is not None:
        suppressed, noun = entities.suppressed, "Entities that lose a record"
        name = Field("What became of the entities", width=45, plain="")
        fields = (name, *(Field(title, "number", plain="") for title in ("Entities", "Share")))
        numbers = [(name, number) for key, name in wording.ENTITIES.items() if (number := entities.to_dict()[key])]
        rows = tuple((name, count(number), share_of(number, entities.total)) for name, number in numbers)
        yield Table(fields, rows, total=("all entities", count(entities.total), ""))
    if ledger.moved:
        yield Sentence(f"Records in cohorts: {', '.join(f'{count(n)} {what}' for what, n in ledger.moved.items())}.")
    elif allowed is not None:
        yield Sentence(f"{noun}: {count(suppressed)} of at most {count(allowed)}.")


def _sizes(run: RunSummary) -> tuple[Block, ...]:
    if run.ledger is None or not run.sizes:
        return ()
    text = f"{counted(run.ledger.classes, 'class')} published"
    if run.ledger.smallest_class is not None and run.ledger.largest_class is not None:
        text += f": the smallest holds {count(run.ledger.smallest_class)}, "
        text += f"the largest {counted(run.ledger.largest_class, 'record')}"
    apart = run.recoding is None or any(bucket.suppressed_records for bucket in run.sizes)
    return (Sizes(run.sizes, None if run.counts_entities else run.k, apart, f"{text}."),)


def _attributes(run: RunSummary) -> Iterable[Block]:
    if run.failure is not None:
        yield from facts((a.name, a.hierarchy) for a in run.attributes)
        return
    several, losses = run.recoding is not None, [a.loss for a in run.attributes if a.loss is not None]
    if not losses or run.certificate is None:
        yield attribute_table(run.attributes, several=several)
        yield Sentence(
            wording.NO_PARTS if several else f"{run.measure} is a measure of classes; it has no part by attribute."
        )
        return
    scale = loss_scale(run.measure, losses)
    folded = (run.aggregate or "").replace("_", " ")
    yield Table(
        (*_attribute_fields(several), Field("Loss", "number", style="loss"), Field("", "bar", SHORT_BAR, "lost")),
        _attribute_rows(run.attributes, scale),
        caption=f"Together ({folded}): {figure(run.certificate.loss)}. A full bar is {figure(scale)}.",
        style="attributes stack",
    )
    yield Sentence(f"Loss: {wording.LOSS_OF_ATTRIBUTE.get(run.measure, run.measure)}")


def attribute_table(attributes: Sequence[AttributeSummary], *, several: bool) -> Table:
    """Return the quasi-identifiers with their levels; with ``several`` rules, each may have several."""
    style = "attributes several stack" if several else "attributes stack"
    return Table(_attribute_fields(several), _attribute_rows(attributes), style=style)


def _attribute_fields(several: bool) -> tuple[Field, ...]:
    return (
        Field("Column", width=22, style="column", plain=""),
        Field("Level", "number", width=14 if several else None, style="level"),
        Field("Published as", width=32 if several else 30),
        Field("Values left", "number", style="left"),
    )


def _attribute_rows(attributes: Sequence[AttributeSummary], scale: float | None = None) -> tuple[tuple[Cell, ...], ...]:
    """Return a row per quasi-identifier, with its loss if there is a ``scale``."""
    weighted = any(a.weight != 1.0 for a in attributes)
    rows = []
    for a in attributes:
        name = Noted(a.name, f"weight {figure(a.weight)}") if weighted else a.name
        left = f"{'by record,' if a.values_left is None else count(a.values_left)} of {count(a.values or 0)}"
        loss = () if scale is None else (figure(a.loss or 0.0), Bar(a.loss or 0.0, scale))
        levels = f"{', '.join(map(str, a.levels))} of {(a.height or 1) - 1}"
        if a.fully_suppressed:
            published, left = wording.EVERYTHING, wording.FULLY_SUPPRESSED if a.values == a.values_left else left
        else:
            published = wording.with_root(a.description or "", count(a.at_root) if a.at_root else "")
        rows.append((name, levels, published, left, *loss))
    return tuple(rows)


def _rules(recoding: RecodingSummary) -> Iterable[Block]:
    yield Sentence(wording.RULES_MEANING[recoding.kind], soft=False)
    yield from facts(recoding.facts, width=70)
    most = max((rule.records for rule in recoding.rules), default=0)
    fields = (
        Field(wording.RULE[recoding.kind].capitalize(), width=36),
        Field("Records", "number", style="count"),
        Field("Share", "number", style="share"),
        Field("", "bar", SHORT_BAR, "published"),
        Field("Classes", "number", style="count"),
        Field("Smallest", "number", style="size"),
        Field("Largest", "number", style="size"),
    )
    rows = []
    for rule in recoding.listed:
        part, bar = share_of(rule.records, recoding.records), Bar(rule.records, most)
        sizes = (count(rule.classes), count(rule.smallest), count(rule.largest))
        rows.append((rule.description, count(rule.records), part, bar, *sizes))
    full = share_of(most, recoding.records)
    caption = f"Shares of the records that are published. A full bar is {full}." if full else ""
    yield Table(fields, tuple(rows), caption, "rules stack")
    if recoding.remainder:
        yield Sentence(recoding.remainder)


def _models(run: RunSummary) -> tuple[Block, ...]:
    if all(model.suppressed is None for model in run.models):
        rows: tuple[tuple[Cell, ...], ...] = tuple((model.label,) for model in run.models)
        return (Table((Field("Model", width=90, plain=""),), rows),) if rows else ()
    fields = (Field("Model", width=70, plain=""), Field("Suppresses alone", "number"))
    return (Table(fields, tuple((m.label, counted(m.suppressed or 0, "record")) for m in run.models)),)


def _nulls(run: RunSummary) -> Iterable[Block]:
    if run.failure is None and run.null_words:
        yield Listing(run.null_words)
    if run.nulls is not None:
        yield from _null_audit(run.nulls)


def _null_audit(audit: NullAudit) -> Iterable[Block]:
    part = share(audit.records_with_null / audit.records)
    records, patterns = counted(audit.records_with_null, "record"), counted(audit.patterns, "pattern")
    yield Sentence(f"{records} ({part}) with a NULL, in {patterns}.", soft=False)
    rows = [("records in the smallest class", audit.smallest)]
    if audit.k is not None and audit.below_k is not None:
        rows.append((f"records in classes below {audit.k}", audit.below_k))
    yield Table(
        (Field("Of all classes", width=45, plain=""), *(Field(match, "number") for match in wording.MATCHES)),
        tuple((name, count(m.extended), count(m.right_maybe), count(m.maybe)) for name, m in rows),
        caption=wording.NULLS_MEANING,
    )
    yield Sentence(REMARK)
    most = max(audit.nulls.values(), default=0)
    fields = (
        Field("Quasi-identifier", plain=""),
        Field("Records with NULL", "number", plain="records with NULL"),
        Field("", "bar", FULL_BAR, "null"),
    )
    yield Table(fields, tuple((name, count(n), Bar(n, most)) for name, n in audit.nulls.items()), style="bars")


def _bias(bias: NullBias) -> Iterable[Block]:
    part = share(bias.share_excluded)
    yield Sentence(f"{count(bias.excluded)} of {counted(bias.records, 'record')} ({part}) are excluded.", soft=False)
    yield Sentence(wording.BIAS_REMARK)
    shifts = [column.shift_without_null for column in bias.columns if column.shift_without_null is not None]
    distances = [d for s in shifts for d in (s.total_variation, s.total_variation_by_chance) if d is not None]
    scale = max(distances, default=0.0)
    fields = (
        Field("Column", plain=""),
        Field("Distance", "number"),
        Field("", "bar", 0, "null"),
        Field("By chance (the line)", "number", plain="by chance"),
        Field("p", "number"),
        Field("Values lost", "number"),
    )
    yield Table(fields, tuple(_bias_row(column, scale) for column in bias.columns), style="bars wide")


def _bias_row(column: ColumnBias, scale: float) -> tuple[Cell, ...]:
    shift = column.shift_without_null
    if shift is None:
        return (column.column, "–", Bar(0.0, scale), "–", "–", "–")
    distance, chance = shift.total_variation, shift.total_variation_by_chance
    first, second, p = ("–" if number is None else figure(number) for number in (distance, chance, shift.p_value))
    values_lost = f"{count(column.values - column.kept_values)} of {count(column.values)}"
    return (column.column, first, Bar(distance or 0.0, scale, chance), second, p, values_lost)


def _search(search: SearchSummary, kind: str) -> tuple[Block, ...]:
    noun, extent, part = search_extent(kind, search.evaluated, search.lattice_size)
    return facts(
        [
            ("strategy", search.strategy),
            (noun, f"{extent} ({part})" if part else extent),
            *((f"… from {name}", count(number)) for name, number in search.sources),
            ("statements", count(search.statements)),
            ("snapshots made", count(search.snapshots)),
            *((f"{search.strategy}: {name}", figure(number)) for name, number in search.statistics),
        ]
    )


def _seconds(seconds: Sequence[tuple[str, float]]) -> tuple[Block, ...]:
    parts = [Part(f"phase-{i % PHASES}", name, s, duration(s)) for i, (name, s) in enumerate(seconds)]
    return (Parts("Seconds by phase", tuple(parts)),) if parts else ()
