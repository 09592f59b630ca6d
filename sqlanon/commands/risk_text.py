"""The risk of a relation as text: its figures with their sentences, or before and after side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sqlanon.assess.relations.nulls import printable
from sqlanon.assess.risk.column_sets import rank_sets, singling_out
from sqlanon.assess.risk.facts import GROUPS, CitedThreshold, Risk, RiskComparison
from sqlanon.core.sizes.histogram import ClassSizes
from sqlanon.report.charts import blocks
from sqlanon.report.wording import count, counted, share, size_range

WIDTH = 100
LABEL = 36
"""The width of the labels of figures."""
VALUE = 20
"""The width of a value."""
BAR = 30
"""The cells of the longest bar."""
JUDGED = {True: "within", False: "beyond", None: "not judged"}
NO_COMPLIANCE = "Commonly cited thresholds (no proof of compliance)"


def risk_lines(risk: Risk) -> Iterator[str]:
    """Yield the lines of the figures of one relation, without what is left out."""
    for group in GROUPS:
        if figures := risk.of_group(group):
            yield from ("", f"{risk.title(group)}:")
            for figure in figures:
                yield f"  {risk.label(figure):{LABEL}}{figure.text}"
                yield from _wrapped(figure.sentence, 6)
    yield from _size_lines("Classes by size", risk.sizes, risk.unit)
    yield from _set_lines(risk, "")
    yield from ("", f"{NO_COMPLIANCE}:")
    for threshold in risk.thresholds:
        yield f"  {JUDGED[threshold.met]:{12}}{threshold.name}"
        yield from _about(threshold, threshold.sentence)
    for note in risk.other_notes:
        yield from ("", *_wrapped(f"Note: {note}", 0))


def comparison_lines(compared: RiskComparison) -> Iterator[str]:
    """Yield the lines of the figures before and after, with the sentences of what is published."""
    before, after = compared.before, compared.after
    title = ""
    head = f"  {'':{LABEL}}{'before':{VALUE}}after"
    for pair in compared.pairs():
        known = next(figure for figure in reversed(pair) if figure is not None)
        if after.title(known.group) != title:
            title = after.title(known.group)
            yield from ("", f"{title}:", head)
        first, second = (figure.text if figure is not None else "–" for figure in pair)
        later = pair[1]
        if later is not None and later.of_all is not None and after.suppressed and later.of_all != later.value:
            second += f" ({later.text_of_all} of all)"
        yield f"  {after.label(known):{LABEL}}{first:{VALUE}}{second}"
        yield from _wrapped(known.sentence, 6)
    yield from _size_lines("Classes by size, before", before.sizes, before.unit)
    yield from _size_lines("Classes by size, after", after.sizes, after.unit)
    yield from _set_lines(before, ", before")
    yield from _set_lines(after, ", after")
    yield from ("", f"{NO_COMPLIANCE}:", f"  {'before':12}{'after':12}")
    for earlier, threshold in zip(before.thresholds, after.thresholds, strict=True):
        yield f"  {JUDGED[earlier.met]:12}{JUDGED[threshold.met]:12}{threshold.name}"
        yield from _about(threshold, threshold.sentence)
    for name, risk in (("before", before), ("after", after)):
        for note in risk.other_notes:
            yield from ("", *_wrapped(f"Note ({name}): {note}", 0))


def _about(threshold: CitedThreshold, sentence: str) -> Iterator[str]:
    yield from _wrapped(f"{sentence} {threshold.about} Source: {threshold.source}.", 6)


def _size_lines(title: str, sizes: Sequence[ClassSizes], unit: str) -> Iterator[str]:
    """Yield a row a bucket: its sizes, its classes, its records, and a bar of these."""
    if not sizes:
        return
    plural = "records" if unit == "record" else "entities"
    rows = [(f"{plural} in a class", "classes", plural, "")]
    most = max(bucket.records for bucket in sizes)
    rows += [
        (size_range(b.least, b.most), count(b.classes), count(b.records), blocks(b.records, most, BAR)) for b in sizes
    ]
    wide = [max(len(row[i]) for row in rows) for i in range(3)]
    yield from ("", f"{title}:")
    for name, classes, records, bar in rows:
        yield f"  {name:{wide[0]}}  {classes:>{wide[1]}}  {records:>{wide[2]}}  {bar}".rstrip()


def _set_lines(risk: Risk, when: str) -> Iterator[str]:
    """Yield the records that sets of columns single out, and the share of each column in it."""
    sets = risk.column_sets
    if sets is None:
        return
    yield from ("", f"Sets of columns that single records out{when}:")
    ranked = rank_sets(sets)
    for item in ranked:
        yield from _wrapped(singling_out(item), 2, more=2)
    if not ranked:
        yield f"  None singles out a record{' that takes part' if risk.left_out else ''}."
    yield from _wrapped(sets.scope(), 2)
    minimal = sets.minimal
    if minimal is None or not minimal.total:
        return
    columns = "column" if minimal.largest == 1 else "columns"
    yield from ("", f"Contribution of each column to the scores of minimal sample uniques (SUDA){when}:")
    yield from _wrapped(
        f"{counted(minimal.records, 'record')} can be singled out by {minimal.largest} {columns} or fewer. A minimal "
        "unique counts for each of its columns, so that the shares add up to more than 100 %.", 2
    )  # fmt: skip
    ranking = sorted(minimal.contributions.items(), key=lambda item: -item[1])
    wide = max(len(printable(name)) for name, _ in ranking)
    for name, part in ranking:
        yield f"  {printable(name):{wide}}  {share(part):>8}  {blocks(part, 1.0, BAR)}".rstrip()


def _wrapped(text: str, indent: int, *, more: int = 0) -> list[str]:
    first, rest = " " * indent, " " * (indent + more)
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False)
