"""Reading a sheet of a workbook, in the process apart (``apart``): where its table begins, and what its cells hold."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import python_calamine
from lxml import etree

from sqlanon.errors import SourceError, listing
from sqlanon.interop.formats.apart import CELLS, GIB, MEMORY, ROWS, Found, text_of
from sqlanon.interop.formats.safe_xml import NOTHING_RESOLVED

LOOKED_AT = 50
"""Rows among which the header is looked for."""
PIECE = 1 << 22
"""Bytes of a part that are looked through at once."""
LONGEST = 1 << 22
"""Bytes of a row, at most, that are looked through where a piece ends in it."""
ERRORS = {"#N/A", "#NV", "#DIV/0!", "#REF!", "#BEZUG!", "#VALUE!", "#WERT!", "#NAME?", "#NUM!", "#ZAHL!", "#NULL!"}
"""What cells show that hold an error."""
ERROR = re.compile(rb'<(?:\w+:)?c\b[^<>]*\bt="e"')
NEVER_CALCULATED = re.compile(
    rb"<(?:\w+:)?f\b[^<>]*(?:/>|>[^<]*</(?:\w+:)?f>)(?:<(?:\w+:)?v(?:/>|></(?:\w+:)?v>))?</(?:\w+:)?c>"
)
STYLED = re.compile(rb'<(?:\w+:)?c\b(?=[^<>]*\bs="(\d+)")(?![^<>]*\bt="(?!n"))[^<>]*[^/]>')
"""A cell with a number and the number of its style."""
ZEROS = re.compile("0{2,}")
"""The format of numbers that are shown with zeros before them."""
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
Cells = list[list[Any]]


def look(path: Path, options: Mapping[str, Any]) -> Found:
    """Return the records of a sheet; raises as ``Excel.read``."""
    if zipfile.is_zipfile(path):
        _refuse_bomb(path, options.get("memory", MEMORY))
    try:
        book = python_calamine.load_workbook(str(path))
    except python_calamine.PasswordError:
        raise SourceError(f"The workbook {path.name!r} is encrypted.", hint="save it without a password.") from None
    sheet, left = _sheet(book, path, options.get("sheet"))
    notes = [f"Of {path.name!r} the sheet {sheet.name!r} is read; not {left}."] if left else []
    return _table(sheet, path, options, [*notes, *_lost_cells(path, sheet.name)])


def _refuse_bomb(path: Path, memory: float) -> None:
    """Unpack every part once, which checks the sizes that the file declares, and refuse what is too large."""
    most = int(memory * GIB)
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        if (size := sum(part.file_size for part in parts)) > most:
            raise SourceError(
                f"The workbook {path.name!r} unpacks to {size / GIB:.1f} GiB, more than the {memory:g} GiB allowed.",
                hint=f"if it is to be trusted, say excel: {{memory: {int(size / GIB) + 2}}}; or export it to CSV.",
            )
        for part in parts:
            with archive.open(part) as data:
                while data.read(PIECE):
                    pass


def _sheet(book: Any, path: Path, name: str | None) -> tuple[Any, str]:
    """Return the sheet that is read, and what the others are, in words."""
    kind, shown = python_calamine.SheetTypeEnum.WorkSheet, python_calamine.SheetVisibleEnum.Visible
    listed = [item for item in book.sheets_metadata if item.typ == kind]
    if name is not None:
        if name not in [item.name for item in listed]:
            raise SourceError(
                f"The workbook {path.name!r} has no sheet {name!r}.",
                hint=f"it has {listing(item.name for item in listed)}.",
            )
        return book.get_sheet_by_name(name), ""
    hidden = [item.name for item in listed if item.visible != shown]
    sheets = [book.get_sheet_by_name(item.name) for item in listed if item.visible == shown]
    filled = [sheet for sheet in sheets if sheet.height]
    if len(filled) != 1:
        sizes = ", ".join(f"{sheet.name!r} ({sheet.height:,} rows, {sheet.width:,} columns)" for sheet in filled[:30])
        raise SourceError(
            f"The workbook {path.name!r} has {len(filled)} sheets with cells{': ' * bool(sizes)}{sizes}, and "
            f"{len(hidden)} hidden ones.",
            hint="name the one that holds the records: excel: {sheet: NAME}.",
        )
    return filled[0], f"the hidden {listing(hidden)}" if hidden else ""


def _lost_cells(path: Path, name: str) -> Iterator[str]:
    """Yield how many cells of an .xlsx file hold an error or a formula without a value, which are read as blank, or are
    numbers that are shown with zeros before them, which are read without."""
    errors, formulas, padded, rest = 0, 0, 0, b""
    with suppress(zipfile.BadZipFile, KeyError, etree.XMLSyntaxError), zipfile.ZipFile(path) as archive:
        parsed = [
            etree.fromstring(archive.read(f"xl/{part}"), etree.XMLParser(**NOTHING_RESOLVED))
            for part in ("workbook.xml", "_rels/workbook.xml.rels")
        ]
        zeros = _with_zeros(archive)
        part = next(item.get(RELATION) for item in parsed[0].iter("{*}sheet") if item.get("name") == name)
        target = next(item.get("Target") for item in parsed[1].iter("{*}Relationship") if item.get("Id") == part)
        with archive.open(target[1:] if target.startswith("/") else f"xl/{target}") as data:
            while piece := data.read(PIECE):
                begun = rest + piece
                cut = begun.rfind(b"row>") + 4
                errors += len(ERROR.findall(begun, 0, cut))
                formulas += len(NEVER_CALCULATED.findall(begun, 0, cut))
                padded += sum(style in zeros for style in STYLED.findall(begun, 0, cut)) if zeros else 0
                rest = begun[cut:][-LONGEST:]
    if errors:
        yield f"In the sheet {name!r} {errors:,} cells hold an error (#N/A, say), and are NULL."
    if formulas:
        never = "formulas have never been calculated, and are NULL: a spreadsheet program does so when saving."
        yield f"In the sheet {name!r} {formulas:,} {never}"
    if padded:
        shown = "cells show a number with zeros before it, and are read without them: make texts of them"
        yield f"In the sheet {name!r} {padded:,} {shown} if they are codes."


def _with_zeros(archive: zipfile.ZipFile) -> set[bytes]:
    """Return the numbers of the styles of an .xlsx file that show zeros before a number, as 00000 does."""
    with suppress(KeyError):
        styles = etree.fromstring(archive.read("xl/styles.xml"), etree.XMLParser(**NOTHING_RESOLVED))
        codes = {item.get("numFmtId"): item.get("formatCode") or "" for item in styles.iter("{*}numFmt")}
        used = (item.get("numFmtId") for cells in styles.iter("{*}cellXfs") for item in cells.iter("{*}xf"))
        return {str(place).encode() for place, each in enumerate(used) if ZEROS.fullmatch(codes.get(each, ""))}
    return set()


def _table(sheet: Any, path: Path, options: Mapping[str, Any], notes: list[str]) -> Found:
    """Return the records of a sheet: what stands below its header, but for blank rows and columns."""
    if not sheet.height:
        raise _nothing(sheet, path)
    first = [*islice(sheet.iter_rows(), LOOKED_AT)]
    skip, has_header = options.get("skip"), options.get("header", True)
    if skip is None:
        skip = _first_full(first)
        if has_header and not all(isinstance(cell, str) for cell in first[skip]):
            raise SourceError(
                f"Row {skip + 1} of the sheet {sheet.name!r} of {path.name!r}, the first that fills most columns, has "
                "numbers or dates: it may be a record.",
                hint="say excel: {header: false} if it is one, or how many rows stand above the header: excel: {skip: "
                f"{skip}}}.",
            )
        if has_header and any(
            len({cell for cell in row if cell and isinstance(cell, str)}) > 1 for row in first[:skip]
        ):
            raise SourceError(
                f"Above row {skip + 1} of the sheet {sheet.name!r} of {path.name!r}, the first that fills most "
                "columns, a row has several names: it may be the header.",
                hint="say how many rows stand above the header: excel: {skip: …}, or excel: {header: false}.",
            )
        if skip:
            notes.append(f"Above the table of the sheet {sheet.name!r} {skip} rows are left out (skip: {skip}).")
    begin, end = skip + has_header, sheet.end[0] + 1 - options.get("skip_last", 0)
    header = next(islice(sheet.iter_rows(), skip, None), [""] * sheet.width) if has_header else [""] * sheet.width
    names = [" ".join((text_of(cell) or "").split()) for cell in header]
    kinds: list[set[type]] = [set() for _ in names]
    filled: set[int] = set()
    records, errors = 0, 0
    for columns in _chunks(sheet, begin, end):
        records += len(columns[0])
        for place, column in enumerate(columns):
            kinds[place].update(map(type, column))
            errors += sum(map(ERRORS.__contains__, column))
            if column.count("") < len(column):
                filled.add(place)
    if not records:
        raise _nothing(sheet, path)
    kept = [place for place, name in enumerate(names) if name or place in filled]
    left = {
        "blank rows are left out": end - begin - records,
        "nameless blank columns are left out": len(names) - len(kept),
    }
    left["cells have the text of an error (#N/A, say), and are NULL"] = errors
    notes += [f"In the sheet {sheet.name!r} {count:,} {what}." for what, count in left.items() if count]
    merged = sum(last[0] >= begin and first_of != last for first_of, last in sheet.merged_cell_ranges or ())
    if merged:
        shown = (
            f"range{'s' * (merged != 1)} of merged cells: each has its value in the first cell, and NULL in the others"
        )
        notes.append(f"The sheet {sheet.name!r} has {merged:,} {shown}.")
    moments = {place for place in kept if {date, datetime} <= kinds[place]}

    def batches() -> Iterator[list[list[str | None]]]:
        for columns in _chunks(sheet, begin, end):
            yield [[_text(cell, place in moments) for cell in columns[place]] for place in kept]

    used = {**options, "sheet": sheet.name, "skip": skip}
    return Found([names[place] for place in kept], batches(), used, notes)


def _first_full(rows: Cells) -> int:
    """Return the first row that has cells in most columns; of a table with row numbers the first may be blank."""
    counts = [len(row) - row.count("") for row in rows]
    most = max(counts)
    full = (
        place
        for place, (row, count) in enumerate(zip(rows, counts, strict=True))
        if count * 3 >= most * 2 or (row[0] == "" and count >= max(most - 1, 1))
    )
    return next(full, 0)


def _chunks(sheet: Any, begin: int, end: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the records between two rows as columns; rows without cells are none."""
    rows = islice(sheet.iter_rows(), begin, max(begin, end))
    while chunk := [*islice(rows, max(1, min(ROWS, CELLS // sheet.width)))]:
        if filled := [row for row in chunk if row.count("") < len(row)]:
            yield [*zip(*filled, strict=True)]


def _text(cell: Any, is_moment: bool) -> str | None:
    if is_moment and type(cell) is date:
        return f"{cell.isoformat()} 00:00:00"
    return None if isinstance(cell, str) and cell in ERRORS else text_of(cell)


def _nothing(sheet: Any, path: Path) -> SourceError:
    return SourceError(f"The sheet {sheet.name!r} of {path.name!r} holds no records.", hint="name another sheet.")
