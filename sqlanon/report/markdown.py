"""The report as Markdown: headings, lists and pipe tables, for a wiki, a ticket or a repository.

Names of the user's are escaped, so that none of them becomes a heading, a link, a tag or a column of a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlanon.report import blocks
from sqlanon.report.blocks import Block, Section, View, facts
from sqlanon.report.view import Reported, view_of
from sqlanon.report.wording import count, size_range, visible

SPECIAL = "\\`*_{}[]<>#|~&$^@"
"""Characters that may mean something anywhere in a line, in one dialect of Markdown or another."""
FIRST = re.compile(r"^(\s*)((?:\d+(?=[.)](?:\s|$)))?)([-+.)](?=\s|$)|[-=:]+$|=)")
"""What makes a list or a heading of a line that begins with it."""
BLANK = "\N{NO-BREAK SPACE}"


def markdown_report(run: Reported, audience: str = "operator") -> str:
    """Return the report of a run as Markdown that ends in a newline."""
    view = view_of(run, audience)
    lines = [*_head(view)]
    for section in view.sections:
        lines += ["", f"## {escaped(section.title)}", *_section(section)]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    r"""Return a text that Markdown shows as it is: in one line, with the characters escaped that mean something there.

    >>> escaped("a|b <script> *c*"), escaped("1. 3.5 %"), escaped("see http://x, www.x")
    ('a\\|b \\<script\\> \\*c\\*', '1\\. 3.5 %', 'see http\\://x, www\\.x')
    """
    text = "".join("\\" + character if character in SPECIAL else character for character in visible(text))
    text = FIRST.sub(r"\1\2\\\3", text)
    return re.sub(r"(?i)(\bwww(?=\.)|:(?=\S))", _apart, text)


def _apart(match: re.Match[str]) -> str:
    """Return what a bare address or a picture by its name (``:name:``) begins with, so that it is neither."""
    return "\\:" if match[0] == ":" else f"{match[0]}\\"


def _head(view: View) -> Iterator[str]:
    yield f"# {escaped(view.title)}"
    yield from ("", f"**{escaped(view.notice)}**", "")
    failure = view.failure
    yield escaped(view.headline if failure is None else f"{view.headline} {failure.error}:")
    if view.proof:
        yield from ("", escaped(view.proof))
    if view.lost:
        yield from ("", f"**{escaped(view.lost)}**")
    if failure is not None:
        for line in [*failure.message.splitlines(), *([f"Hint: {failure.hint}"] if failure.hint else [])]:
            yield from ("", escaped(line))
    for warning in view.warnings:
        yield from ("", f"> **Warning:** {escaped(warning)}")
    if view.figures:
        yield ""
        rows = [(name, value, remark) for name, value, remark in view.figures]
        yield from _rows([("", "", ""), *rows], right=(1,))
    for table in facts(view.origin):
        yield ""
        yield from _table(table)


def _section(section: Section) -> Iterator[str]:
    for block in section.blocks:
        lines = [*_block(block)]
        if lines:
            yield ""
            yield from lines


def _block(block: Block) -> Iterator[str]:
    match block:
        case blocks.Sentence():
            yield escaped(block.text)
        case blocks.Listing():
            if block.title:
                yield from (f"**{escaped(block.title)}**", "")
            yield from (f"- {escaped(item)}" for item in block.items)
        case blocks.Table():
            yield from _table(block)
        case blocks.Parts():
            yield from _parts(block)
        case blocks.Sizes():
            yield from _sizes(block)
        case blocks.ComparedSizes():
            yield from _compared_sizes(block)


def _table(table: blocks.Table) -> Iterator[str]:
    """Yield the caption and the rows without their bars, whose numbers stand beside them."""
    places = [i for i, field in enumerate(table.fields) if field.kind not in ("bar", "pair")]
    fields = [table.fields[i] for i in places]
    if table.caption:
        yield from (escaped(table.caption), "")
    rows = [[_cell(row[i]) for i in places] for row in (*table.rows, table.total) if row]
    titles = [field.title for field in fields]
    yield from _rows([titles, *rows], right=[i for i, field in enumerate(fields) if field.kind == "number"])


def _cell(cell: blocks.Cell) -> str:
    match cell:
        case blocks.Noted():
            return f"{cell.name} ({cell.note})"
        case str():
            return cell
    return ""


def _parts(parts: blocks.Parts) -> Iterator[str]:
    header = parts.header or ("", "")
    rows = [[p.name, p.text, p.share][: len(header)] for p in parts.parts]
    rows += [list(parts.total)] if parts.total else []
    yield from _rows([header, *rows], right=(1, 2))


def _sizes(sizes: blocks.Sizes) -> Iterator[str]:
    yield from (escaped(sizes.caption), "")
    unit = sizes.unit.capitalize()
    header = [f"{unit} in a class", *(["Classes"] if sizes.classes else []), unit]
    header += ["Suppressed"] if sizes.apart else []
    rows = []
    for bucket in sizes.buckets:
        numbers = [bucket.classes] if sizes.classes else []
        numbers += [bucket.records, *([bucket.suppressed_records] if sizes.apart else [])]
        rows.append([size_range(bucket.least, bucket.most), *map(count, numbers)])
    yield from _rows([header, *rows], right=range(1, len(header)))


def _compared_sizes(sizes: blocks.ComparedSizes) -> Iterator[str]:
    yield from (escaped(f"{sizes.unit.capitalize()} by the size of their class: {sizes.caption}"), "")
    header = (f"{sizes.unit.capitalize()} in a class", "Before", "After")
    rows = [
        (size_range(first.least, first.most), count(first.records), count(second.records))
        for first, second in sizes.rows
    ]
    yield from _rows([header, *rows], right=(1, 2))


def _rows(rows: Sequence[Sequence[str]], *, right: Sequence[int]) -> Iterator[str]:
    """Yield a table: its header, its alignment, its rows."""
    for number, row in enumerate(rows):
        yield f"| {' | '.join(escaped(cell) if cell else BLANK for cell in row)} |"
        if number == 0:
            yield f"|{'|'.join(' ---: ' if i in right else ' --- ' for i in range(len(row)))}|"
