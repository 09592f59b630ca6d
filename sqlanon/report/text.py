"""The report as plain text: 100 columns, for a terminal or a mail to oneself."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from sqlanon.report.blocks import (
    FULL_BAR,
    Bar,
    Block,
    Cell,
    ComparedSizes,
    Field,
    Listing,
    Noted,
    Pair,
    Parts,
    Sentence,
    Sizes,
    Table,
    View,
    facts,
)  # fmt: skip
from sqlanon.report.charts import blocks
from sqlanon.report.view import Reported, view_of
from sqlanon.report.wording import count, size_range, visible

WIDTH = 100
INDENT = "  "
NAME = 32
"""Characters of a name before it is broken."""


def text_report(run: Reported, audience: str = "operator") -> str:
    """Return the report of a run as text that ends in a newline."""
    view = view_of(run, audience)
    lines = [*_head(view)]
    for section in view.sections:
        lines += ["", section.title.upper(), *section_lines(section.blocks)]
    return "\n".join(lines) + "\n"


def _head(view: View) -> Iterator[str]:
    failure = view.failure
    paragraphs = [view.headline if failure is None else f"{view.headline} {failure.error}:"]
    if view.proof:
        paragraphs.append(view.proof)
    if view.lost:
        paragraphs.append(view.lost)
    if failure is not None:
        paragraphs += [*failure.message.splitlines(), *([f"Hint: {failure.hint}"] if failure.hint else [])]
    yield from (f"sqlanon: report of {view.of}", view.notice, "")
    for paragraph in paragraphs:
        yield from wrapped(paragraph)
    yield ""
    for table in facts(view.origin):
        yield from _table(table)
    for warning in view.warnings:
        yield from ("", *wrapped(f"Warning: {warning}"))


def section_lines(shown: Iterable[Block]) -> Iterator[str]:
    """Yield the lines of the blocks of a section. A blank line parts a table from figures or tables before it."""
    below = False
    for block in shown:
        if below and isinstance(block, Table | ComparedSizes):
            yield ""
        below = below or not isinstance(block, Sentence)
        yield from block_lines(block)


def block_lines(block: Block) -> Iterator[str]:
    """Yield a block of a report as lines."""
    match block:
        case Sentence():
            yield from wrapped(block.text, INDENT)
        case Listing():
            yield from _listing(block)
        case Table():
            yield from _table(block)
        case Parts():
            yield from _parts(block)
        case Sizes():
            yield from _sizes(block)
        case ComparedSizes():
            yield from _compared_sizes(block)


def _listing(listing: Listing) -> Iterator[str]:
    if listing.title:
        yield from wrapped(f"{listing.title}:", INDENT)
    for item in listing.items:
        first, *rest = wrapped(item, 2 * INDENT)
        yield f"{INDENT}- {first.lstrip()}"
        yield from rest


def _table(table: Table) -> Iterator[str]:
    """Yield the header, the rows with their bars last, and the caption."""
    drawn = [i for i, field in enumerate(table.fields) if field.kind == "bar" and field.width]
    places = [i for i, field in enumerate(table.fields) if field.kind not in ("bar", "pair")] + drawn
    fields = [table.fields[i] for i in places]
    rows = [[_cell(row[i], table.fields[i]) for i in places] for row in (*table.rows, table.total) if row]
    titles = [field.plain_title for field in fields]
    yield from _columns(
        [titles, *rows] if any(titles) else rows,
        right=[i for i, field in enumerate(fields) if field.kind == "number"],
        head=any(titles),
        widths={i: field.width for i, field in enumerate(fields) if field.width and field.kind != "bar"},
    )
    if table.caption:
        yield from wrapped(table.caption, INDENT)


def _cell(cell: Cell, field: Field) -> str:
    match cell:
        case Bar():
            return blocks(cell.value, cell.scale, field.width or 0)
        case Noted():
            return f"{cell.name} ({cell.note})"
        case Pair():
            return ""
    return cell


def _parts(parts: Parts) -> Iterator[str]:
    """Yield a row per part with its bar; with a header also with its share."""
    rows = [[p.name, p.text, p.share, blocks(p.value, parts.whole, FULL_BAR)] for p in parts.parts]
    rows += [[*parts.total, ""]] if parts.total else []
    if parts.header:
        yield from _columns(rows, right=(1, 2), widths={0: 45})
    else:
        yield from _columns([[name, text, bar] for name, text, _, bar in rows], right=(1,))


def _sizes(sizes: Sizes) -> Iterator[str]:
    scale = max(bucket.records + bucket.suppressed_records for bucket in sizes.buckets)
    titles = [f"{sizes.unit} in a class", *(["classes"] if sizes.classes else []), sizes.unit]
    rows = [[*titles, *(["suppressed"] if sizes.apart else []), ""]]
    for bucket in sizes.buckets:
        name = size_range(bucket.least, bucket.most)
        if sizes.k is not None and bucket.least <= sizes.k <= bucket.most:
            name += f"  ← k = {sizes.k}"
        bar = blocks(bucket.records, scale, FULL_BAR) + "░" * round(FULL_BAR * bucket.suppressed_records / scale)
        numbers = [bucket.classes] if sizes.classes else []
        numbers += [bucket.records, *([bucket.suppressed_records] if sizes.apart else [])]
        rows.append([name, *map(count, numbers), bar])
    yield from _columns(rows, right=range(1, len(rows[0]) - 1), head=True)
    yield from wrapped(f"{sizes.caption} ░ is suppressed." if sizes.apart else sizes.caption, INDENT)


def _compared_sizes(sizes: ComparedSizes) -> Iterator[str]:
    most = max((bucket.records for row in sizes.rows for bucket in row), default=0)
    rows = [[f"{sizes.unit} in a class", "before", "", "after", ""]]
    for before, after in sizes.rows:
        name = size_range(before.least, before.most)
        if sizes.k is not None and before.least <= sizes.k <= before.most:
            name += f"  ← k = {sizes.k}"
        bars = [blocks(bucket.records, most, FULL_BAR // 2) for bucket in (before, after)]
        rows.append([name, count(before.records), bars[0], count(after.records), bars[1]])
    yield from _columns(rows, right=(1, 3), head=True)
    yield from wrapped(f"{sizes.unit.capitalize()} by the size of their class: {sizes.caption}", INDENT)


def _columns(
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    head: bool = False,
    widths: dict[int, int] | None = None,
) -> Iterator[str]:
    """Yield rows in columns as wide as they need to be; what is too wide is broken into lines.

    Args:
        right: the columns that are flush right.
        head: the first row is ruled off.
        widths: the largest width of a column, by its number; by default the first has ``NAME``, the last what is left.
    """
    shown = [[visible(cell) for cell in row] for row in rows]
    most = {0: NAME, **(widths or {})}
    wide = [min(max(map(cells, column)), most.get(i, WIDTH)) for i, column in enumerate(zip(*shown, strict=True))]
    room = WIDTH - len(INDENT) - sum(wide[:-1]) - 2 * (len(wide) - 1)
    wide[-1] = max(min(wide[-1], room), 1)
    for number, row in enumerate(shown):
        broken = [_broken(cell, width) for cell, width in zip(row, wide, strict=True)]
        for texts in zip_longest(*broken, fillvalue=""):
            yield _line(texts, wide, right)
        if head and number == 0:
            yield _line(["─" * width for width in wide], wide, ())


def _line(texts: Sequence[str], wide: Sequence[int], right: Sequence[int]) -> str:
    padded = []
    for i, (text, width) in enumerate(zip(texts, wide, strict=True)):
        space = " " * (width - cells(text))
        padded.append(space + text if i in right else text + space)
    return (INDENT + "  ".join(padded)).rstrip()


def _broken(text: str, width: int) -> list[str]:
    """Return lines of at most ``width`` cells, broken between words where that is possible."""
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
    """Return the width of a text on a terminal: wide characters take two cells, combining ones none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1 for c in text
    )


def wrapped(text: str, indent: str = "") -> list[str]:
    """Return a paragraph as lines, with its invisible characters written out."""
    return textwrap.wrap(visible(text), WIDTH, initial_indent=indent, subsequent_indent=indent) or [""]
