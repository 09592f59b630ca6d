"""How a text file is written: its encoding, delimiter, lines above the header and below the records.

The encoding is judged from all bytes, the lines from the first records and the last ones. Nothing is taken that is
stated.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from string import ascii_letters
from typing import Any

import numpy as np

from sqlanon.assess.reading.findings import ReadingFinding, Recognised
from sqlanon.core.engines.duckdb.files import CsvForm
from sqlanon.core.source.csv_records import DELIMITERS, LOOKED_AT, csv_form, find_delimiter, record_blocks, stream_of
from sqlanon.core.source.zipped import DAMAGED
from sqlanon.errors import SourceError

MARKS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
"""Byte order marks; one of UTF-8 needs no option."""
LETTERS = frozenset("äöüÄÖÜßéèêëàâáåæçîïìíñôóòõøœûùúÉÈÊËÀÂÁÅÆÇÎÏÌÍÑÔÓÒÕØŒÛÙÚŠšŽžãÃ")
SIGNS = frozenset("€–—„“”‚‘’…§°²³µ«»´·©®½¼¾¿¡ºª\u00a0")
"""Letters of western Europe beyond ASCII, and signs that stand beside words and numbers."""
ASCII_LETTERS = np.frombuffer(ascii_letters.encode(), np.uint8)
REPLACED, FEW_DAMAGED = "\ufffd", 4
"""The sign of a byte that is no UTF-8, and how many characters beyond ASCII are right for each one, at least, where a
file is UTF-8 but for these."""
SINGLE_BYTE = ("cp1252", "cp850", "mac_roman")
SURE = 0.98
"""Share of the bytes beyond ASCII that must be such letters."""
FOREIGN = 0.4
"""Share of all letters that are beyond ASCII in no text of western Europe."""
SUMS = frozenset((
    "summe,gesamtsumme,gesamt,insgesamt,zwischensumme,durchschnitt,mittelwert,total,totals,subtotal,sum,average,mean,"
    "grand total,total general,total général,somme,moyenne,totale,somma,media,suma,promedio,totaal,gemiddelde,σ,∑,Ø"
).casefold().split(","))  # fmt: skip
"""The first text of a line of sums or means, the whole of it but for a colon."""
MOST_SUMS = 3
MOSTLY = 0.8
"""Share of the records that have the usual number of fields; others have a fault."""
NO_NAME = re.compile(r"[0-9]+|[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}")
"""Digits or a date: what names no column where lines stand above it."""
LOOKED_BACK = 30
"""Records at the end that may be none."""
Row = tuple[int, tuple[str, ...]]
"""The line that a record begins in, and its fields without blanks around them."""


@dataclass(frozen=True, slots=True)
class _Start:
    """The first records by a delimiter: where the header stands, and the usual number of fields."""

    delimiter: str
    rows: list[Row]
    header: int
    width: int
    share: float
    kept: bool = False
    """Whether a line above the header may be the header, or it a record."""


def recognise_file(path: Path, given: Mapping[str, Any]) -> Recognised:
    """Return how a text file is written, as far as that is not stated.

    Raises:
        SourceError: it is in no encoding that can be told, or several delimiters fit, or lines may be the header.
    """
    csv, findings = dict(given), []
    if "encoding" not in csv and (found := _find_encoding(path, csv_form(path, csv))) is not None:
        encoding, finding = found
        csv |= {} if encoding is None else {"encoding": encoding}
        findings.append(finding)
    form = csv_form(path, csv)
    first = _first_lines(path, form)
    marked = re.fullmatch(r"(?i)sep=(.|\\t)\s*", first[0]) if first and "skip" not in csv else None
    if marked is not None:
        csv |= {"skip": 1, "delimiter": csv.get("delimiter", marked[1].replace("\\t", "\t"))}
        findings.append(ReadingFinding(None, "delimiter", f"the line sep= names the delimiter {csv['delimiter']!r}"))
        form = csv_form(path, csv)
    table = _find_table(path, form, None if "delimiter" not in csv else form.delimiter)
    if table is None:
        if "delimiter" not in csv and (delimiter := find_delimiter(path, form)) is not None:
            csv["delimiter"] = delimiter
        return Recognised(csv, tuple(findings))
    if "delimiter" not in csv and table.delimiter != form.delimiter:
        csv["delimiter"] = table.delimiter
        findings.append(ReadingFinding(None, "delimiter", f"the delimiter {table.delimiter!r}"))
    if "skip" not in given and form.header and table.kept:
        above, line = (table.rows[table.header + step][0] for step in (-1, 0))
        raise SourceError(
            f"Line {above} of the file {path.name!r} may be the header, and so may line {line}, where {table.width} "
            "fields begin; one of them may be a record.",
            hint=f"say csv: {{skip: {above - 1}}} or csv: {{skip: {line - 1}}}, with header: false if a record stands "
            "there; a header has as many fields as the records.",
        )
    again = [fields for _, fields in table.rows[table.header + 1 : table.header + 2]]
    if again == [table.rows[table.header][1]] and "skip" not in given:
        table = replace(table, header=table.header + 1)  # the header stands twice
    if table.header and "skip" not in given and form.header:
        csv["skip"] = table.rows[table.header][0] - 1
        lines = csv["skip"] - form.skip
        above = any(sum(map(bool, fields)) > 1 for _, fields in table.rows[: table.header])
        asked = f"Is none of the first {csv['skip']} lines the header or a record? They are left out (skip)."
        findings.append(ReadingFinding(None, "title", "no header and no records: skip", lines,
                                       question=asked if above else None))  # fmt: skip
    if "skip_last" not in csv and form.header and table.width > 1:
        findings += _find_end(path, csv_form(path, csv), table, csv)
    return Recognised(csv, tuple(findings))


def _find_encoding(path: Path, form: CsvForm) -> tuple[str | None, ReadingFinding] | None:
    """Return the encoding of a file that is no UTF-8, or has a mark; None if it is plain UTF-8.

    Raises:
        SourceError: its letters are none of western Europe, or it is UTF-8 but for a few bytes.
    """
    decoder, is_utf8, first = codecs.getincrementaldecoder("utf-8")("strict"), True, b""
    lenient, damage = codecs.getincrementaldecoder("utf-8")("replace"), _Damage()
    inside, outside = np.zeros(256, np.int64), np.zeros(256, np.int64)
    try:
        with closing(stream_of(path, form)) as stream:
            while chunk := stream.read(2**23):
                first = first or chunk[:4096]
                try:
                    is_utf8 = is_utf8 and decoder.decode(chunk) is not None
                except UnicodeDecodeError:
                    is_utf8 = False
                damage.count(lenient.decode(chunk), written=chunk.count(REPLACED.encode()))
                data = np.frombuffer(chunk, np.uint8)
                is_letter = ((data >= ord("a")) & (data <= ord("z"))) | (data >= 128)
                amid = np.zeros(len(data), np.bool_)
                amid[1:-1] = is_letter[:-2] & is_letter[2:]
                inside += np.bincount(data[amid], minlength=256)
                outside += np.bincount(data[~amid], minlength=256)
    except (OSError, *DAMAGED):  # the reader says so
        return None
    for mark, encoding in MARKS:
        if first.startswith(mark):
            return encoding, ReadingFinding(None, "encoding", f"{encoding.upper()} with a byte order mark")
    zeros = [first[place::2].count(0) for place in (0, 1)]
    if max(zeros) > len(first) / 8:
        encoding = "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
        return encoding, ReadingFinding(None, "encoding", f"{encoding.upper()} without a byte order mark")
    if is_utf8:
        marked = first.startswith(codecs.BOM_UTF8)
        return (None, ReadingFinding(None, "encoding", "UTF-8 with a byte order mark")) if marked else None
    if damage.wrong * FEW_DAMAGED <= damage.right:
        raise SourceError(
            f"The file {path.name!r} is UTF-8, but for {damage.wrong:,} byte{'s' * (damage.wrong != 1)}, the first in "
            f"line {damage.line:,}: read in another encoding, all other accents would be wrong.",
            hint="correct these bytes where the file is made; or say how all of it is read: csv: {encoding: cp1252}.",
        )
    return _single_byte(path, inside, outside)


@dataclass(slots=True)
class _Damage:
    """How many characters beyond ASCII of a text are UTF-8 (``right``), how many are none, and the first line of these.

    Attributes:
        lines: the ends of lines so far.
    """

    right: int = 0
    wrong: int = 0
    line: int = 0
    lines: int = 0

    def count(self, text: str, *, written: int) -> None:
        """Count the next part of a file, read with signs of replacement; ``written``: those that stand in the file."""
        beyond = 0 if text.isascii() else len(text) - len(text.encode("ascii", "ignore"))
        wrong = text.count(REPLACED) - written
        if wrong > 0 and not self.wrong:
            self.line = self.lines + text.count("\n", 0, text.index(REPLACED)) + 1
        self.right, self.wrong = self.right + beyond - wrong, self.wrong + wrong
        self.lines += text.count("\n")


def _single_byte(path: Path, inside: Any, outside: Any) -> tuple[str, ReadingFinding]:
    """Return the encoding, a byte a letter, in which the bytes beyond ASCII are letters and signs of western Europe.

    Args:
        inside: how often each byte stands between small letters, as small letters alone do; ``outside``: elsewhere.
    """
    counts = inside + outside
    high = [byte for byte in range(128, 256) if counts[byte]]
    total, plain_letters = int(counts[128:].sum()), int(counts[ASCII_LETTERS].sum())
    shares = {}
    for name in SINGLE_BYTE:
        letters = [byte for byte in high if bytes([byte]).decode(name, "replace") in LETTERS]
        known = [byte for byte in high if bytes([byte]).decode(name, "replace") in LETTERS | SIGNS]
        small = [byte for byte in letters if bytes([byte]).decode(name, "replace").islower()]
        among = inside[small].sum() / max(inside[128:].sum(), 1) if inside[128:].any() else 1.0
        shares[name] = min(among, (inside[small].sum() + outside[known].sum()) / total)
    best = max(SINGLE_BYTE, key=shares.__getitem__)
    accented = int(sum(counts[byte] for byte in high if bytes([byte]).decode(best, "replace") in LETTERS))
    if shares[best] < SURE or accented > FOREIGN * (accented + plain_letters):
        raise SourceError(
            f"The encoding of the file {path.name!r} cannot be told: it is no UTF-8, and its letters are none of "
            "western Europe.",
            hint="say which one it is, such as csv: {encoding: cp1251}.",
        )
    eastern = {byte: bytes([byte]).decode("cp1250", "replace") for byte in high}
    other = [byte for byte, read in eastern.items() if read.isalpha() and read != bytes([byte]).decode(best, "replace")]
    rivals = [name for name in SINGLE_BYTE if name != best and shares[name] >= SURE]
    rivals += ["cp1250"] if other and best == "cp1252" else []
    plain = best == "cp1252" and min(high) >= 0xA0
    question = f"Are all accents right? The bytes could also be {' or '.join(rivals)} (csv: {{encoding: …}})."
    form = "Latin-1" if plain else best
    return "latin-1" if plain else best, ReadingFinding(None, "encoding", form, question=question if rivals else None)


def _rows(path: Path, form: CsvForm, *, last: bool = False) -> Iterator[list[Row]]:
    """Yield the records of each block of a file, but blank ones: the first of a block, or the ``last``."""
    with closing(record_blocks(path, form)) as blocks:
        for block in blocks:
            numbers = np.flatnonzero(~block.blank())
            numbers = numbers[-LOOKED_BACK - 1 :] if last else numbers[:LOOKED_AT]
            yield [
                (int(block.lines[number]),
                 tuple(text.decode("utf-8", "replace").strip() for text, _ in block.marks.fields(block.record(number))))
                for number in map(int, numbers)
            ]  # fmt: skip


def _first_lines(path: Path, form: CsvForm) -> list[str]:
    """Return the first record of a file as one text."""
    rows: list[Row] = next(_rows(path, replace(form, delimiter="\x00")), [])
    return [rows[0][1][0]] if rows else []


def _find_table(path: Path, form: CsvForm, delimiter: str | None) -> _Start | None:
    """Return the first records by the delimiter that leaves the fewest of them above the header; None without one.

    Raises:
        SourceError: several delimiters do.
    """
    tables = []
    for each in [delimiter] if delimiter else dict.fromkeys((form.delimiter, *DELIMITERS)):
        rows: list[Row] = next(_rows(path, replace(form, delimiter=each)), [])
        found = _header_in(each, rows)
        if found is not None:
            tables.append(found)
    best = max((table.share for table in tables), default=0.0)  # below 1, the reader names the line with a fault
    tables = [table for table in tables if table.share == best]
    least = min((table.header for table in tables), default=0)
    fitting = [table for table in tables if table.header == least]
    if len(fitting) > 1:
        names = [table.delimiter for table in fitting]
        raise SourceError(
            f"All first lines of the file {path.name!r} have the same number of fields by {len(names)} delimiters: "
            f"{', '.join(map(repr, names))}.",
            hint=f"say which one it is: csv: {{delimiter: {names[0]!r}}}.",
        )
    return fitting[0] if fitting else None


def _header_in(delimiter: str, rows: list[Row]) -> _Start | None:
    """Return where the header stands among the first records; None if they have no usual number of fields."""
    widths = Counter(len(fields) for _, fields in rows)
    width = max(widths, key=lambda each: (widths[each], each), default=0)
    if width < 2 or widths[width] < 2:
        return None
    header = next(place for place, (_, fields) in enumerate(rows) if len(fields) == width)
    body = [fields for _, fields in rows[header:] if len(fields) == width]
    if header and len(rows[header - 1][1]) == width - 1 > 1 and not any(fields[-1] for fields in body):
        header, width = header - 1, width - 1  # each record ends with a delimiter, but the header does not
    filled = [sum(map(bool, fields)) for fields in body[1:]]
    usual = median(filled) if filled else 0
    while header < len(rows) - 1 and sum(map(bool, rows[header][1])) < max(min(2, usual), usual / 2):
        header += 1
    inner = [len(fields) for _, fields in rows[header:]]
    while inner and inner[-1] not in (width, width + 1):
        inner.pop()
    share = sum(length in (width, width + 1) for length in inner) / len(inner) if inner else 0.0
    kept = header > 0 and (
        _may_be_header(*rows[header - 1 : header + 1]) or any(map(NO_NAME.fullmatch, rows[header][1]))
    )
    return _Start(delimiter, rows, header, width, share, kept) if share >= MOSTLY else None


def _may_be_header(above: Row, next_row: Row) -> bool:
    """Return True if a row has several names, and no blank line stands between it and the next one."""
    held = [text for text in above[1] if text]
    return len({*held}) == len(held) > 1 and above[0] + 1 + sum(text.count("\n") for text in held) >= next_row[0]


def _find_end(path: Path, form: CsvForm, table: _Start, csv: dict[str, Any]) -> list[ReadingFinding]:
    """Find the records at the end of a file that are none, and let the options leave them out."""
    tail: list[Row] = []
    for rows in _rows(path, form, last=True):
        tail = (tail + rows)[-LOOKED_BACK - 1 :]
    kinds: Counter[str] = Counter()
    words = [Counter(fields[0].casefold() for _, fields in rows if fields) for rows in (table.rows, tail)]
    once = {word for word in words[1] if max(count[word] for count in words) == 1}
    for _, fields in tail[:0:-1]:
        kind = _kind_of_end(fields, table.width, once)
        if kind is None or (kind == "sums" and kinds[kind] == MOST_SUMS):
            break
        kinds[kind] += 1
    left = sum(kinds.values())
    if not left or left == len(tail) - 1:
        return []
    csv["skip_last"] = left
    question = f"Is what stands at the end no record? The last {left} are left out (skip_last: {left})."
    shown = " and ".join(kinds)
    return [ReadingFinding(None, "end", f"{shown} at the end: left out", left,
                           question=question if kinds["lines of text"] or kinds["sums"] else None)]  # fmt: skip


def _kind_of_end(fields: tuple[str, ...], width: int, once: set[str]) -> str | None:
    """Return what a record at the end is, if it is none; ``once`` are the first texts that no other record has."""
    held = [text for text in fields if text]
    if not held:
        return "empty records"
    word = held[0].casefold()
    others = [text for text in held[1:] if not re.search("[0-9]", text)]
    if word.rstrip(" :") in SUMS and not others and (word in once or not fields[0]):
        return "sums"
    is_line = len(held) == 1 and re.search(r"[^\W\d_].*[\s:]|^\(", held[0]) is not None
    return "lines of text" if len(fields) != width and is_line else None
