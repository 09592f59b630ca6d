"""The sections of a recipient's report, made of nothing but what ``recipient`` lets through."""

from __future__ import annotations

from collections.abc import Iterable

from sqlanon.assess.risk.facts import units
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
from sqlanon.report.recipient import RecipientSummary
from sqlanon.report.risk_section import of_release
from sqlanon.report.sections import promises
from sqlanon.report.summary import ClassSizes
from sqlanon.report.wording import count, figure, shown

WITHHELD = (
    "This report holds what the release and its manifest show, and no more. Risk and distributions of the source, "
    "exact numbers of suppressed records where they are small, and times are in the report of its publisher."
)


def sections_for_recipient(run: RecipientSummary) -> tuple[Section, ...]:
    """Return the sections of the recipient's report in their order, without those that would be empty."""
    sections = (
        Section("asked", "What was asked", facts(run.asked, width=45)),
        Section("promised", "What is promised, and what is not", promises(run)),
        Section("risk", "Risk", tuple(of_release(run.risk, run.thresholds, run.k))),
        Section("records", "Records", tuple(_records(run)) if run.ledger else ()),
        Section("classes", "Classes by size", tuple(_sizes(run))),
        Section("attributes", "Quasi-identifiers", tuple(_columns(run))),
        Section("rules", wording.RULES.get(run.rule_kind, ""), tuple(_rules(run))),
        Section("models", "Privacy models", _models(run)),
        Section("beside", "Published as they are", tuple(_beside(run))),
        Section("nulls", "NULLs in the release", tuple(_nulls(run)) if run.ledger else ()),
        Section("search", "Search", tuple(_search(run))),
        Section("withheld", "What is not in this report", (Sentence(WITHHELD, soft=False),)),
    )
    return tuple(section for section in sections if section.blocks)


def _records(run: RecipientSummary) -> Iterable[Block]:
    """Yield the account of the records: with a bar and shares where no count is hidden, otherwise as texts alone."""
    assert run.ledger is not None
    words = wording.REASONS | wording.NOT_PUBLISHED.get(run.rule_kind, {})
    counts = {"published": run.ledger["published"]}
    counts |= {reason: number for reason, number in run.ledger["reasons"].items() if number}
    total, header = run.ledger["records"], ("What became of them", "Records", "Share")
    if not run.hides and isinstance(total, int):
        yield Parts(
            "What became of the records",
            tuple(Part(key, words.get(key, key), n, count(n), share_of(n, total)) for key, n in counts.items()),
            header=header,
            total=("all records", count(total), ""),
        )
        return
    fields = (Field(header[0], width=45), Field(header[1], "number"))
    rows = tuple((words.get(key, key), shown(number)) for key, number in counts.items())
    yield Table(fields, rows, total=("all records", shown(total)))
    yield Sentence(f"<{run.k}: fewer than {run.k}, the least size of a class, which is all that is reported of them.")


def _sizes(run: RecipientSummary) -> Iterable[Block]:
    if run.ledger is None or not run.sizes:
        return
    buckets = tuple(ClassSizes(s.least, s.most, 0, s.records) for s in run.sizes)
    text = f"{count(run.ledger['classes'])} classes published: the smallest holds "
    text += f"{count(run.ledger['smallest_class'])}, the largest {count(run.ledger['largest_class'])} records."
    yield Sizes(buckets, run.k if run.k > 1 else None, False, text, classes=False)


def _columns(run: RecipientSummary) -> Iterable[Block]:
    if not run.columns:
        return
    losses = any(column.loss is not None for column in run.columns)
    fields = [
        Field("Column", width=30, style="column", plain=""),
        Field("Level", "number", width=14, style="level"),
        Field("Published as", width=32),
    ]
    fields += [Field("Loss", "number", style="loss"), Field("", "bar", SHORT_BAR, "lost")] if losses else []
    rows: list[tuple[Cell, ...]] = []
    for column in run.columns:
        levels = f"{', '.join(map(str, column.levels))} of {column.height - 1}"
        loss = (figure(column.loss or 0.0), Bar(column.loss or 0.0, 1.0)) if losses else ()
        unread = "" if column.at_root is None else shown(column.at_root)
        rows.append((column.name, levels, wording.with_root(column.description, unread), *loss))
    yield Table(tuple(fields), tuple(rows), style="attributes stack" if losses else "")
    if losses and run.certificate is not None:
        yield Sentence(f"Loss: {wording.LOSS_OF_ATTRIBUTE[run.certificate['measure']]}")


def _rules(run: RecipientSummary) -> Iterable[Block]:
    if not run.rules:
        return
    yield Sentence(wording.RULES_FOR_RECIPIENTS[run.rule_kind], soft=False)
    whole = sum(rule.records for rule in run.rules)
    fields = (
        Field(wording.RULE[run.rule_kind].capitalize(), width=45),
        Field("Records", "number", style="count"),
        Field("Share", "number", style="share"),
        Field("Classes", "number", style="count"),
    )
    rows = tuple((r.description, count(r.records), share_of(r.records, whole), count(r.classes)) for r in run.rules)
    yield Table(fields, rows, "Shares of the records that are published.", "rules stack")


def _models(run: RecipientSummary) -> tuple[Block, ...]:
    rows = tuple((label,) for label in run.models)
    return (Table((Field("Model", width=90, plain=""),), rows),) if rows else ()


def _beside(run: RecipientSummary) -> Iterable[Block]:
    if not run.beside:
        return
    fields = (
        Field("Column", width=40, plain=""),
        Field("Unique with it", "number", plain="unique with it"),
        Field("Rare with it", "number", plain="rare with it"),
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Noted(kept.name, wording.ROLES.get(kept.role, kept.role)),
            *("not counted" if number is None else shown(number) for number in (kept.alone, kept.few)),
        )
        for kept in run.beside
    )
    yield Table(fields, rows)
    yield Sentence(wording.BESIDE_FOR_RECIPIENTS.format(**units("entity" if run.counts_entities else "record")))


def _nulls(run: RecipientSummary) -> Iterable[Block]:
    yield Listing(run.null_words)
    most = max((n for n in run.nulls.values() if isinstance(n, int)), default=0)
    if not run.nulls:
        return
    fields = (
        Field("Quasi-identifier", plain=""),
        Field("Records with NULL", "number"),
        Field("", "bar", FULL_BAR, "null"),
    )
    rows = tuple((name, shown(n), Bar(n if isinstance(n, int) else 0, most)) for name, n in run.nulls.items())
    yield Table(fields, rows, style="bars")


def _search(run: RecipientSummary) -> Iterable[Block]:
    certificate = run.certificate
    if certificate is None or run.ledger is None:
        return
    yield from facts(
        [
            ("strategy", certificate["strategy"]),
            ("measure", ", ".join(text for text in (certificate["measure"], certificate["aggregate"]) if text)),
            (
                "loss",
                wording.NO_LOSS if certificate["loss"] is None else figure(certificate["loss"]),
            ),
        ]
    )
