"""The columns and the number of records of a CSV file, found without the reader that is checked by them.

A record ends with a line end outside quotes. A quote opens a field as its first character that is no blank; inside, it
is doubled. A line without a character is no record, but for a file of one column, where it is a NULL. The first record
names the columns, unless ``csv: {header: false}``. Above it only blank lines are left out, and what ``skip`` says.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlanon.core.engines.duckdb.files import CsvForm
from sqlanon.core.policy.paths import COMPRESSED, flat_ending
from sqlanon.core.source.zipped import DAMAGED, open_member
from sqlanon.errors import SourceError

Positions = npt.NDArray[np.int64]

CHUNK = 8 * 2**20
LONGEST = 64 * 2**20
"""Bytes of the longest record; DuckDB reads shorter ones only."""
LINE_FEED, RETURN = 10, 13
BLANKS = " \t\n\r\v\f"
NO_TEXT = ("base64", "bz2", "hex", "quopri", "rot_13", "uu", "zlib", "idna", "punycode", "unicode_escape",
           "raw_unicode_escape", "undefined")  # fmt: skip
"""Codecs of Python that no text file is written in."""
DELIMITERS = (";", ",", "\t", "|")
LOOKED_AT = 1000
"""Records that show which delimiter a file has, and how many fields."""
LOOKED_INTO = 2**20
"""Bytes in which these records are looked for."""
NEARLY_ALL = 0.9
"""Share of these records that show a delimiter where others have faults."""


@dataclass(frozen=True, slots=True)
class CsvRecords:
    """What a CSV file holds.

    Attributes:
        columns: their names as DuckDB gives them: trimmed, numbered where one is missing or stands twice.
        skip: lines that the reader leaves out above the header.
        records: without the header, and those that ``skip_last`` leaves out.
        unnamed: the columns without a name in the header.
        mixed: some lines end with a carriage return, and some do not; DuckDB reads no such file.
    """

    columns: tuple[str, ...]
    skip: int
    records: int
    unnamed: tuple[str, ...] = ()
    mixed: bool = False


@dataclass(frozen=True, slots=True)
class _Marks:
    """The bytes that separate records and fields."""

    delimiter: bytes
    quote: bytes
    line_end: int = LINE_FEED

    def ends(self, data: bytes, *, last: bool) -> Positions:
        """Return where the records in ``data`` end, which begins with one; at the end of the file, the last one too."""
        array = np.frombuffer(data, np.uint8)
        ends: Positions = np.flatnonzero(array == self.line_end)
        if self.quote in data:
            quotes: Positions = np.flatnonzero(array == self.quote[0])
            inside = np.searchsorted(quotes, ends) % 2 == 1
            outside = ends[~inside]
            stop = len(data) if last else int(outside[-1]) if len(outside) else 0
            regular = len(self.delimiter) == 1 and self._regular(array, quotes[quotes < stop])
            ends = outside if regular else self._ends_by_field(data)
        if last and data and (not len(ends) or ends[-1] != len(data) - 1):
            ends = np.append(ends, len(data))
        return ends

    def _regular(self, array: npt.NDArray[np.uint8], quotes: Positions) -> bool:
        """Return True if each quote opens a field, closes one, or is doubled: then every second one closes."""
        beside = np.zeros(256, np.bool_)
        beside[[self.delimiter[0], self.quote[0], LINE_FEED, RETURN]] = True
        opening, closing_ = quotes[::2], quotes[1::2]
        before = array[opening[opening > 0] - 1]
        after = array[closing_[closing_ < len(array) - 1] + 1]
        return bool(beside[before].all() and beside[after].all())

    def _ends_by_field(self, data: bytes) -> Positions:
        quote, delimiter, line_end = re.escape(self.quote), re.escape(self.delimiter), re.escape(bytes([self.line_end]))
        start = rb"(?:\A|(?<=\n)|(?<=\r)|(?<=" + delimiter + rb"))"
        field = (
            start
            + rb" *+"
            + quote
            + rb"[^"
            + quote
            + rb"]*+(?:"
            + quote * 2
            + rb"[^"
            + quote
            + rb"]*+)*(?:"
            + quote
            + rb"|\Z)"
        )
        tokens = re.finditer(field + rb"|(" + line_end + rb")", data)
        return np.fromiter((token.start() for token in tokens if token[1]), np.int64)

    def fields(self, record: bytes) -> list[tuple[bytes, bool]]:
        """Return the fields of a record, and whether each is well formed."""
        quote, delimiter = re.escape(self.quote), re.escape(self.delimiter)
        # No possessive quantifier stands around a group: Python before 3.11.5 backtracks wrongly there (gh-106052).
        inner = rb"[^" + quote + rb"]*"
        quoted = rb" *+" + quote + rb"(" + inner + rb"(?:" + quote * 2 + inner + rb")*)" + quote + rb" *+"
        plain = rb"(.*?)"
        field = re.compile(rb"(?:" + quoted + rb"|" + plain + rb")(" + delimiter + rb"|\Z)", re.DOTALL)
        found: list[tuple[bytes, bool]] = []
        position, more = 0, True
        while more:
            match = field.match(record, position)
            assert match is not None  # ``plain`` takes whatever there is
            in_quotes, text, end = match.groups()
            if in_quotes is not None:
                found.append((in_quotes.replace(self.quote * 2, self.quote), True))
            else:
                found.append((text, not text.lstrip(b" ").startswith(self.quote)))
            position, more = match.end(), bool(end)
        return found


@dataclass(frozen=True, slots=True)
class _Block:
    """Whole records of a file: their bytes, where each starts and ends, and the line, from 1, that it starts in."""

    data: bytes
    starts: Positions
    ends: Positions
    lines: Positions
    marks: _Marks

    def blank(self) -> npt.NDArray[np.bool_]:
        """Return which records have no character."""
        length = self.ends - self.starts
        single = np.flatnonzero(length == 1)
        length[single] -= np.frombuffer(self.data, np.uint8)[self.starts[single]] == RETURN
        blank: npt.NDArray[np.bool_] = length == 0
        return blank

    def returns(self) -> Positions:
        """Return where a carriage return stands before a line end."""
        places: Positions = self.ends[self.ends > self.starts] - 1
        found: Positions = places[np.frombuffer(self.data, np.uint8)[places] == RETURN]
        return found

    def plain(self, end: int) -> bytes:
        """Return the bytes up to a place without the carriage returns before line ends."""
        returns = self.returns()
        return np.delete(np.frombuffer(self.data, np.uint8)[:end], returns[returns < end]).tobytes()

    def record(self, number: int) -> bytes:
        """Return the bytes of a record without its line end."""
        return self.data[int(self.starts[number]) : int(self.ends[number])].removesuffix(b"\r")


def csv_form(path: Path, csv: Mapping[str, Any]) -> CsvForm:
    """Return how a CSV file is written, by its ending and the options of a policy.

    Raises:
        SourceError: its quote is not one ASCII character, or its encoding is none of texts.
    """
    form = CsvForm(
        delimiter=csv.get("delimiter") or ("\t" if flat_ending(path.name) == ".tsv" else ","),
        quote=csv.get("quote") or '"',
        null=null if isinstance(null := csv.get("null"), str) else "",
        encoding=csv.get("encoding") or "utf-8",
        header=csv.get("header", True),
        skip=csv.get("skip") or 0,
        compression=COMPRESSED.get(path.suffix.lower(), "none"),
        skip_last=csv.get("skip_last") or 0,
    )
    if len(form.quote.encode()) != 1:
        raise SourceError(f"The quote of the file {path.name!r} is not one ASCII character.", hint="name another.")
    with suppress(LookupError):
        if codecs.lookup(form.encoding).name.replace("-", "_") in NO_TEXT:
            raise SourceError(
                f"{form.encoding} is no encoding of text files.", hint="say csv: {encoding: cp1252}, say."
            )
    return form


def count_records(path: Path, form: CsvForm) -> CsvRecords:
    """Return the columns of a CSV file and the number of its records.

    Raises:
        SourceError: it is empty, cannot be read, or has another delimiter.
    """
    lines_above = form.skip
    first: tuple[bytes, ...] = ()
    records = blanks = above = returns = lines = 0
    with closing(record_blocks(path, form)) as blocks:
        for block in blocks:
            blank = block.blank()
            if not first and not blank.all():
                place = int(np.argmin(blank))
                first = tuple(field for field, _ in block.marks.fields(block.record(place)))
                above = records + place
                lines_above = int(block.lines[place]) - 1 if form.header else lines_above
            records += len(blank)
            blanks += int(blank.sum())
            returns += len(block.returns())
            lines += int((block.ends < len(block.data)).sum())
    if not first:
        raise SourceError(f"The file {path.name!r} is empty.", hint="check the path, and how the file was written.")
    if len(first) == 1:
        _refuse_other_delimiter(path, form)
    else:
        records -= blanks
        above = 0
    named = [_decoded(name, path).strip(BLANKS) if form.header else "" for name in first]
    columns = column_names(named)
    records -= above + 1 if form.header else 0
    if records < form.skip_last:
        raise SourceError(
            f"The file {path.name!r} has {records} records, of which {form.skip_last} are to be left out at its end.",
            hint="check csv: {skip_last: …}.",
        )
    unnamed = tuple(column for name, column in zip(named, columns, strict=True) if form.header and not name)
    return CsvRecords(columns, lines_above, records - form.skip_last, unnamed, 0 < returns < lines)


def kept_bytes(path: Path, form: CsvForm, held: CsvRecords) -> Iterator[bytes]:
    """Yield the header and the records of a file as UTF-8, without what ``skip`` and ``skip_last`` leave out."""
    remaining = held.records + form.header
    with closing(record_blocks(path, replace(form, skip=held.skip))) as blocks:
        for block in blocks:
            ends = block.ends if len(held.columns) == 1 else block.ends[~block.blank()]
            if len(ends) >= remaining:
                yield block.plain(int(ends[remaining - 1]) + 1) if remaining else b""
                return
            remaining -= len(ends)
            yield block.plain(int(block.ends[-1]) + 1)


def line_of(path: Path, form: CsvForm, held: CsvRecords, record: int) -> int:
    """Return the line, from 1, that a record begins in; records count from 1, without the header."""
    remaining = record + (1 if form.header else 0)
    with closing(record_blocks(path, replace(form, skip=held.skip))) as blocks:
        for block in blocks:
            lines = block.lines if len(held.columns) == 1 else block.lines[~block.blank()]
            if remaining <= len(lines):
                return int(lines[remaining - 1])
            remaining -= len(lines)
    raise SourceError(f"The file {path.name!r} changed while it was read.", hint="run again when nobody writes to it.")


def find_fault(path: Path, form: CsvForm, held: CsvRecords) -> tuple[str, str] | None:
    """Return what is wrong with the first record that cannot be read, and the cure; None if nothing is."""
    width = len(held.columns)
    remaining = held.records + form.header
    with closing(record_blocks(path, replace(form, skip=held.skip))) as blocks:
        for block in blocks:
            undecodable = _undecodable_line(block)
            numbers = np.flatnonzero(~block.blank())
            numbers, remaining = numbers[: remaining if form.skip_last else None], remaining - len(numbers)
            for number in numbers:
                line = int(block.lines[number])
                fields = block.marks.fields(block.record(int(number)))
                if undecodable is not None and line >= undecodable:
                    return (
                        f"Line {undecodable} of the file {path.name!r} is no UTF-8 text.",
                        "say csv: {encoding: latin-1}, or another encoding.",
                    )
                if not all(sound for _, sound in fields):
                    return (
                        f"A quoted field of the record in line {line} of the file {path.name!r} is not closed, or text "
                        "follows its end.",
                        'double a quote inside a field (""), and quote the whole field; csv: {quote: …} names another.',
                    )
                found = len(fields) - (len(fields) == width + 1 and not fields[-1][0])
                if found != width:
                    return (
                        f"Line {line} of the file {path.name!r} has {found} field{'s' * (found != 1)}, "
                        f"line {held.skip + 1} has {width}.",
                        _cure(path, form, block, int(number), width),
                    )
    return None


def _cure(path: Path, form: CsvForm, block: _Block, number: int, width: int) -> str:
    """Return a hint for a record with too few or too many fields, by how the file goes on."""
    delimiter = _other_delimiter(path, form)
    if delimiter is not None:
        return f"say csv: {{delimiter: {delimiter!r}}}, by which all lines have the same number of fields."
    following = [
        (int(block.lines[other]), len(block.marks.fields(block.record(other))))
        for other in range(number, min(len(block.ends), number + LOOKED_AT))
    ]
    usual, count = Counter(fields for _, fields in following).most_common(1)[0]
    if usual > max(width, 1) and count > max(len(following) / 2, 1):
        line = next(line for line, fields in following if fields == usual)
        return (
            f"nothing is skipped unaided: if the header stands in line {line}, where {usual} fields begin, say "
            f"csv: {{skip: {line - 1}}}."
        )
    return (
        "correct the line: a delimiter inside a field needs quotes; or name another delimiter and the lines above the "
        "header, such as csv: {delimiter: ';', skip: 2}."
    )


def _refuse_other_delimiter(path: Path, form: CsvForm) -> None:
    """Raise SourceError if a file of one column has several by another delimiter, in every line."""
    delimiter = _other_delimiter(path, form)
    if delimiter is not None:
        raise SourceError(
            f"The file {path.name!r} has one column, but the same number of {delimiter!r} in every line.",
            hint=f"say csv: {{delimiter: {delimiter!r}}}, or put the fields in quotes.",
        )


def _other_delimiter(path: Path, form: CsvForm) -> str | None:
    """Return another delimiter by which the first records have the same number of fields, more than one."""
    shares = _shares_alike(path, form).items()
    return next((delimiter for delimiter, (share, _) in shares if share == 1 and delimiter != form.delimiter), None)


def find_delimiter(path: Path, form: CsvForm) -> str | None:
    """Return the delimiter by which the first records of a file have the same number of fields, more than one.

    Where none does that for all, the best one is taken that does for nearly all: then a line with a fault is named.
    None: it is the delimiter of ``form``, or none that is known.

    Raises:
        SourceError: several do.
    """
    shares = _shares_alike(path, form)
    found = [delimiter for delimiter, (share, _) in shares.items() if share == 1]
    if not found and form.delimiter in shares and max(shares.values())[0] >= NEARLY_ALL:
        found = [max(shares, key=shares.__getitem__)]
    if len(found) > 1:
        raise SourceError(
            f"All first lines of the file {path.name!r} have the same number of fields by {len(found)} delimiters: "
            f"{', '.join(map(repr, found))}.",
            hint=f"say which one it is: csv: {{delimiter: {found[0]!r}}}.",
        )
    return found[0] if found and found[0] != form.delimiter else None


def _shares_alike(path: Path, form: CsvForm) -> dict[str, tuple[float, int]]:
    """Return, per delimiter, the share of the first records that have the usual number of fields, and this, if several.

    A record counts where its quotes stand around whole fields only.
    """
    shares = {}
    for delimiter in dict.fromkeys((form.delimiter, *DELIMITERS)):
        marks, records = _first_records(path, replace(form, delimiter=delimiter))
        found = [marks.fields(record) for record in records]
        counts = Counter(len(fields) if all(sound for _, sound in fields) else 0 for fields in found)
        usual, count = counts.most_common(1)[0] if counts else (0, 0)
        if usual > 1 and len(records) > 1:
            shares[delimiter] = (count / len(records), usual)
    return shares


def _first_records(path: Path, form: CsvForm) -> tuple[_Marks, list[bytes]]:
    """Return the first records of a file that are not blank, and the bytes that separate them and their fields."""
    with closing(_chunks(path, form, LOOKED_INTO)) as chunks:
        first = next(chunks, b"")
        marks = _marks_in(first, form)
        data = b"".join(_without_lines(iter([first]), bytes([marks.line_end]), form.skip))
        ends = marks.ends(data, last=next(chunks, None) is None)[:LOOKED_AT]
    starts = [0, *(int(end) + 1 for end in ends[:-1])]
    records = [data[start : int(end)].removesuffix(b"\r") for start, end in zip(starts, ends, strict=False)]
    return marks, [record for record in records if record]


def column_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns as DuckDB gives them: none is missing, and no two are alike but for case."""
    places = len(str(max(len(names) - 1, 0)))
    found: dict[str, str] = {}
    for number, name in enumerate(names):
        wanted = name.strip(BLANKS) or f"column{number:0{places}}"
        unique, suffix = wanted, 0
        while unique.casefold() in found:
            suffix += 1
            unique = f"{wanted}_{suffix}"
        found[unique.casefold()] = unique
    return tuple(found.values())


def _decoded(name: bytes, path: Path) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise SourceError(
            f"The first line of the file {path.name!r} is no UTF-8 text.",
            hint="say csv: {encoding: latin-1}, or another.",
        ) from None


def _undecodable_line(block: _Block) -> int | None:
    """Return the line of a record that is no UTF-8 text; None if all are."""
    try:
        block.data.decode()
    except UnicodeDecodeError as error:
        return int(block.lines[max(int(np.searchsorted(block.starts, error.start, side="right")) - 1, 0)])
    return None


def record_blocks(path: Path, form: CsvForm) -> Generator[_Block, None, None]:
    """Yield the records of a file below the lines that ``skip`` leaves out, block by block."""
    carried, line, last = b"", form.skip + 1, False
    chunks = _chunks(path, form)
    chunk = next(chunks, b"")
    marks = _marks_in(chunk, form)
    left = _without_lines(chain([chunk], chunks), bytes([marks.line_end]), form.skip)
    while not last:
        chunk = next(left, b"")
        last = not chunk
        data = carried + chunk
        ends = marks.ends(data, last=last)
        if not len(ends):
            carried = data
            if len(data) > LONGEST:
                raise SourceError(
                    f"The record in line {line} of the file {path.name!r} has no end.",
                    hint="close its quoted field; csv: {quote: …} names another quote.",
                )
            continue
        starts = np.concatenate([np.zeros(1, np.int64), ends[:-1] + 1])
        physical = np.flatnonzero(np.frombuffer(data, np.uint8) == marks.line_end)
        yield _Block(data, starts, ends, line + np.searchsorted(physical, starts), marks)
        cut = int(ends[-1]) + 1
        line += int(np.searchsorted(physical, cut))
        carried = data[cut:]


def _marks_in(chunk: bytes, form: CsvForm) -> _Marks:
    """Return the bytes that separate records and fields in a file that begins with ``chunk``."""
    line_end = RETURN if b"\n" not in chunk and b"\r" in chunk else LINE_FEED
    return _Marks(form.delimiter.encode(), form.quote.encode(), line_end)


def _without_lines(chunks: Iterator[bytes], line_end: bytes, count: int) -> Iterator[bytes]:
    """Yield what stands below the first lines of a text, whether or not these have quotes."""
    for chunk in chunks:
        start = 0
        while count and (end := chunk.find(line_end, start)) >= 0:
            start, count = end + 1, count - 1
        if not count and start < len(chunk):
            yield chunk[start:]


def stream_of(path: Path, form: CsvForm) -> Any:
    """Return the bytes of a file as a stream, decompressed."""
    if form.compression == "zip":
        return open_member(path)
    return pa.input_stream(str(path), compression=None if form.compression == "none" else form.compression)


def _chunks(path: Path, form: CsvForm, size: int = CHUNK) -> Generator[bytes, None, None]:
    """Yield the text of a file as UTF-8, decompressed by its ending, without a byte order mark.

    Raises:
        SourceError: it cannot be read, or is not in its encoding; bytes that say they are UTF-8 are not checked.
    """
    failure = ""
    try:
        codec = codecs.lookup(form.encoding)
        decoder = None if codec.name == "utf-8" else codec.incrementaldecoder("strict")
        with closing(stream_of(path, form)) as stream:
            mark = codecs.BOM_UTF8
            while chunk := stream.read(size):
                text = chunk if decoder is None else decoder.decode(chunk).encode()
                text, mark = text.removeprefix(mark), b""
                yield text
            if decoder is not None:
                decoder.decode(b"", final=True)
            return
    except (OSError, pa.ArrowException, *DAMAGED) as error:
        failure = "is damaged" if form.compression != "none" else f"cannot be read ({type(error).__name__})"
    except (UnicodeError, LookupError):
        failure = f"is no {form.encoding} text"
    raise SourceError(f"The file {path.name!r} {failure}.", hint="check the file, and csv: {encoding: …}.")
