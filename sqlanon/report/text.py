"""The report as plain text: 100 columns, for a terminal or a mail to oneself."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Sequence

from sqlanon.audit.null_bias import NullBias
from sqlanon.audit.nulls import REMARK, NullAudit
from sqlanon.publish.ledger import Ledger
from sqlanon.report.charts import blocks, loss_scale
from sqlanon.report.summary import FailureSummary, RecodingSummary, RunSummary, SearchSummary
from sqlanon.report.wording import (
    BIAS_REMARK,
    ENTITIES,
    FOR_THE_OPERATOR,
    LOSS_OF_ATTRIBUTE,
    MATCHES,
    NO_PARTS,
    NOT_PUBLISHED,
    REASONS,
    ROLES,
    RULE,
    RULES,
    RULES_MEANING,
    count,
    counted,
    duration,
    figure,
    judged,
    null_rows,
    share,
    shares_told,
    size_range,
    visible,
)

WIDTH = 100
INDENT = "  "
BAR = 30
"""Characters of a full bar."""
NAME = 32
"""Characters of a name before it is broken."""

Row = Sequence[str]


def text_report(summary: RunSummary) -> str:
    """The report of a run, as text that ends in a newline."""
    kind = summary.recoding.kind if summary.recoding is not None else None
    parts = [*_head(summary)]
    if summary.failure is not None:
        parts += _section("NEAREST NODE", _nearest(summary.failure))
    if summary.ledger is not None:
        parts += _section("RECORDS", _ledger(summary.ledger, summary.allowed, kind))
    parts += _section("CLASSES BY SIZE", _sizes(summary))
    parts += _section("QUASI-IDENTIFIERS", _attributes(summary))
    if (recoding := summary.recoding) is not None:
        parts += _section(RULES[recoding.kind].upper(), _rules(recoding))
    parts += _section("PRIVACY MODELS", _models(summary))
    if summary.nulls is not None:
        parts += _section("NULLS IN THE RELEASE", _nulls(summary.nulls))
    if summary.bias is not None:
        parts += _section("RECORDS WITH A NULL ARE EXCLUDED", _bias(summary.bias))
    if summary.search is not None:
        parts += _section("SEARCH", _search(summary.search, kind))
    parts += _section("TIME", _seconds(summary.seconds))
    parts += _section("SETTINGS", _table([(s.name, s.value) for s in summary.settings]))
    parts += _section("OTHER COLUMNS", _table([(c.name, ROLES.get(c.role, c.role)) for c in summary.columns]))
    return "\n".join(parts) + "\n"


def _head(summary: RunSummary) -> Iterator[str]:
    yield "sqlanon: report of a run"
    yield FOR_THE_OPERATOR
    yield ""
    failed = f" {summary.failure.error}:" if summary.failure is not None else ""
    yield from _wrapped(summary.headline + failed)
    if summary.proof:
        yield from _wrapped(summary.proof)
    if summary.failure is not None:
        yield from _failure(summary.failure)
    yield ""
    source = summary.source or "an open connection"
    facts = [
        ("source", f"{source}, table {summary.table}" if summary.table else source),
        *(("written", f"{kind} {name}") for kind, name in summary.output),
        ("time", summary.when),
        ("policy", f"SHA-256 {summary.fingerprint}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in summary.versions)),
    ]
    yield from _table(facts)
    for warning in summary.warnings:
        yield ""
        yield from _wrapped(f"Warning: {warning}")


def _failure(failure: FailureSummary) -> Iterator[str]:
    for line in failure.message.splitlines():
        yield from _wrapped(line)
    if failure.hint:
        yield from _wrapped(f"Hint: {failure.hint}")


def _nearest(failure: FailureSummary) -> Iterator[str]:
    nearest = failure.nearest
    if nearest is None:
        return
    if nearest.suppressed is not None:
        yield from _wrapped(f"It would suppress {counted(nearest.suppressed, nearest.unit)}.", INDENT)
    yield from _table([(level.name, f"level {level.level}", level.description) for level in nearest.levels])


def _ledger(ledger: Ledger, allowed: int | None, kind: str | None) -> Iterator[str]:
    reasons = REASONS | NOT_PUBLISHED.get(kind or "", {})
    rows = [("published", ledger.published)]
    rows += [(reasons[reason], number) for reason, number in ledger.reasons.items() if number]
    lines = [(name, count(n), _share(n, ledger.records), blocks(n, ledger.records, BAR)) for name, n in rows]
    lines.append(("all records", count(ledger.records), "", ""))
    yield from _table(lines, right=(1, 2), widths={0: 45})
    if (whose := ledger.entities) is not None:
        parts = [(told, number) for key, told in ENTITIES.items() if (number := whose.to_dict()[key])]
        shares = [(told, count(number), _share(number, whose.total)) for told, number in parts]
        yield from _table([*shares, ("all entities", count(whose.total), "")], right=(1, 2), widths={0: 45})
    if allowed is not None:
        suppressed = ledger.suppressed if whose is None else whose.suppressed
        unit = "Suppressed" if whose is None else "Entities that lose a record"
        yield from _wrapped(f"{unit}: {count(suppressed)} of at most {count(allowed)}.", INDENT)


def _share(part: int, whole: int) -> str:
    return share(part / whole) if whole else ""


def _sizes(summary: RunSummary) -> Iterator[str]:
    buckets = summary.sizes
    if not buckets:
        return
    scale = max(b.records + b.suppressed_records for b in buckets)
    apart = summary.recoding is None or any(b.suppressed_records for b in buckets)
    rows: list[Row] = [("records in a class", "classes", "records", *(["suppressed"] if apart else []), "")]
    for b in buckets:
        marked = f"{size_range(b.least, b.most)}  ← k = {summary.k}" if _holds(b.least, b.most, summary.k) else ""
        drawn = blocks(b.records, scale, BAR) + "░" * round(BAR * b.suppressed_records / scale)
        numbers = [count(b.classes), count(b.records), *([count(b.suppressed_records)] if apart else [])]
        rows.append((marked or size_range(b.least, b.most), *numbers, drawn))
    yield from _table(rows, right=(1, 2, 3)[: 2 + apart], head=True)
    ledger = summary.ledger
    if ledger is not None and ledger.smallest_class is not None and ledger.largest_class is not None:
        told = f"{counted(ledger.classes, 'class')} published: the smallest holds {count(ledger.smallest_class)}, "
        told += f"the largest {counted(ledger.largest_class, 'record')}."
        yield from _wrapped(told + " ░ is suppressed." if apart else told, INDENT)


def _holds(least: int, most: int, k: int | None) -> bool:
    return k is not None and least <= k <= most


def _attributes(summary: RunSummary) -> Iterator[str]:
    attributes = summary.attributes
    if summary.failure is not None:
        yield from _table([(a.name, a.hierarchy) for a in attributes])
        return
    losses = [a.loss for a in attributes if a.loss is not None]
    scale = loss_scale(summary.measure, losses)
    weighted = any(a.weight != 1.0 for a in attributes)
    rows: list[Row] = []
    if attributes:
        rows.append(("", "level", "published as", "values left", *(["loss", ""] if losses else [])))
    for a in attributes:
        name = f"{a.name} (weight {figure(a.weight)})" if weighted else a.name
        row = [name, f"{', '.join(map(str, a.levels))} of {(a.height or 1) - 1}", a.description or ""]
        left = "by record," if a.values_left is None else count(a.values_left)
        row.append(f"{left} of {count(a.values or 0)}")
        if a.loss is not None:
            row += [figure(a.loss), blocks(a.loss, scale, BAR // 3)]
        rows.append(row)
    widths = {0: 22, 2: 30} if summary.recoding is None else {0: 22, 1: 14, 2: 32}
    yield from _table(rows, right=(1, 3, 4), head=True, widths=widths)
    if losses and summary.certificate is not None:
        folded = (summary.aggregate or "").replace("_", " ")
        together = f"Together ({folded}): {figure(summary.certificate.loss)}. A full bar is {figure(scale)}."
        yield from _wrapped(together, INDENT)
        yield from _wrapped(f"Loss: {LOSS_OF_ATTRIBUTE.get(summary.measure, summary.measure)}", INDENT)
    elif attributes and summary.recoding is not None:
        yield from _wrapped(NO_PARTS, INDENT)
    elif attributes:
        yield from _wrapped(f"{summary.measure} is a measure of classes; it has no part by attribute.", INDENT)


def _rules(recoding: RecodingSummary) -> Iterator[str]:
    yield from _wrapped(RULES_MEANING[recoding.kind], INDENT)
    yield from _table(recoding.facts, widths={0: 70})
    most = max((rule.records for rule in recoding.rules), default=0)
    rows: list[Row] = [(RULE[recoding.kind], "records", "share", "classes", "smallest", "largest", "")]
    for rule in recoding.listed:
        numbers = (count(rule.classes), count(rule.smallest), count(rule.largest))
        part = _share(rule.records, recoding.records)
        rows.append((rule.description, count(rule.records), part, *numbers, blocks(rule.records, most, BAR // 3)))
    yield ""
    yield from _table(rows, right=(1, 2, 3, 4, 5), head=True, widths={0: 36})
    yield from _wrapped(f"{shares_told(most, recoding.records)} {recoding.remainder}".strip(), INDENT)


def _models(summary: RunSummary) -> Iterator[str]:
    if any(m.suppressed is not None for m in summary.models):
        rows: list[Row] = [("", "suppresses alone")]
        rows += [(m.label, counted(m.suppressed or 0, "record")) for m in summary.models]
        yield from _table(rows, right=(1,), head=True, widths={0: 70})
    else:
        yield from _table([(m.label,) for m in summary.models], widths={0: 90})


def _search(search: SearchSummary, kind: str | None) -> Iterator[str]:
    what, number, part = judged(kind, search.evaluated, search.lattice_size)
    rows = [
        ("strategy", search.strategy),
        (what, f"{number} ({part})" if part else number),
        *((f"… from {name}", count(number)) for name, number in search.sources),
        ("statements", count(search.statements)),
        ("snapshots made", count(search.snapshots)),
        *((f"{search.strategy}: {name}", figure(number)) for name, number in search.statistics),
    ]
    yield from _table(rows)


def _nulls(audit: NullAudit) -> Iterator[str]:
    part = share(audit.records_with_null / audit.records)
    told = (
        f"{counted(audit.records_with_null, 'record')} ({part}) with a NULL, in {counted(audit.patterns, 'pattern')}."
    )
    yield from _wrapped(told, INDENT)
    rows: list[Row] = [("", *MATCHES)]
    rows += [(name, count(m.extended), count(m.right_maybe), count(m.maybe)) for name, m in null_rows(audit)]
    yield from _table(rows, right=(1, 2, 3), head=True, widths={0: 45})
    yield from _wrapped(REMARK, INDENT)
    yield ""
    most = max(audit.nulls.values(), default=0)
    yield from _table([(name, f"{count(n)} NULL", blocks(n, most, BAR)) for name, n in audit.nulls.items()], right=(1,))


def _bias(bias: NullBias) -> Iterator[str]:
    told = f"{count(bias.excluded)} of {counted(bias.records, 'record')} ({share(bias.share_excluded)}) are excluded."
    yield from _wrapped(f"{told} {BIAS_REMARK}", INDENT)
    rows: list[Row] = [("", "distance", "by chance", "p", "values lost")]
    for column in bias.columns:
        shift = column.shift_without_null
        if shift is None:
            rows.append((column.column, "-", "-", "-", "-"))
            continue
        figures = (shift.total_variation, shift.total_variation_by_chance, shift.p_value)
        told_figures = ["-" if number is None else figure(number) for number in figures]
        rows.append((column.column, *told_figures, f"{count(column.values - column.kept_values)} of {column.values:,}"))
    yield from _table(rows, right=(1, 2, 3, 4), head=True)


def _seconds(seconds: Sequence[tuple[str, float]]) -> Iterator[str]:
    whole = sum(value for _, value in seconds)
    yield from _table([(n, duration(value), blocks(value, whole, BAR)) for n, value in seconds], right=(1,))


def _section(title: str, lines: Iterator[str]) -> list[str]:
    """A titled part; nothing when there are no lines."""
    found = list(lines)
    return ["", title, *found] if found else []


def _table(
    rows: Sequence[Row],
    *,
    right: Sequence[int] = (),
    head: bool = False,
    widths: dict[int, int] | None = None,
) -> Iterator[str]:
    """Rows in columns as wide as they need to be; what is too wide is broken into lines.

    Args:
        right: the columns that are flush right.
        head: the first row is ruled off.
        widths: the largest width of a column, by its number; by default the first has ``NAME``, the last what is left.
    """
    if not rows:
        return
    places = range(len(rows[0]))
    shown = [[visible(cell) for cell in row] for row in rows]
    most = {0: NAME, **(widths or {})}
    wide = [min(max(cells(row[i]) for row in shown), most.get(i, WIDTH)) for i in places]
    room = WIDTH - len(INDENT) - sum(wide[:-1]) - 2 * (len(wide) - 1)
    wide[-1] = max(min(wide[-1], room), 1)
    for number, row in enumerate(shown):
        broken = [_broken(cell, width) for cell, width in zip(row, wide, strict=True)]
        for line in range(max(map(len, broken))):
            texts = [column[line] if line < len(column) else "" for column in broken]
            yield _line(texts, wide, right)
        if head and number == 0:
            yield _line(["─" * width for width in wide], wide, ())


def _line(texts: Sequence[str], wide: Sequence[int], right: Sequence[int]) -> str:
    told = []
    for i, (text, width) in enumerate(zip(texts, wide, strict=True)):
        space = " " * (width - cells(text))
        told.append(space + text if i in right else text + space)
    return (INDENT + "  ".join(told)).rstrip()


def _broken(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` cells, broken between words where that is possible."""
    lines, line = [], ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if cells(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        line = ""
        for character in word:
            if cells(line + character) > width:
                lines.append(line)
                line = ""
            line += character
    return [*lines, line]


def cells(text: str) -> int:
    """The width of a text on a terminal: wide characters take two cells, combining ones none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1 for c in text
    )


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        visible(text), WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=True
    ) or [""]
