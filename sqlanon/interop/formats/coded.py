"""Reading a file of SAS, SPSS or Stata, in the process apart (``apart``): codes, labels, and what counts as missing."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyreadstat

from sqlanon.errors import SourceError, listing
from sqlanon.interop.formats.apart import CELLS, CURE, ROWS, Found, text_of

CUT_OFF = "it may be cut off: "
READERS = {
    ".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat", ".xpt": "read_xport",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Coded:
    """A column: what its codes mean, and which of them count as missing.

    Attributes:
        letters: other missing values, which Stata and SAS write as letters (.a to .z), are among its numbers.
        single: its numbers are of single precision.
    """

    labels: Mapping[Any, str]
    ranges: tuple[Mapping[str, Any], ...]
    letters: bool
    single: bool

    def is_missing(self, value: Any) -> bool:
        """Return True for a value that the file declares missing."""
        if self.letters and isinstance(value, str):
            return True
        return any(_within(value, each["lo"], each["hi"]) for each in self.ranges)

    def text(self, value: Any, labelled: bool, keeps: bool) -> str | None:
        """Return a value as a text."""
        if value is None or (not keeps and self.is_missing(value)):
            return None
        label = self.labels.get(value) if labelled else None
        if label is not None:
            return label
        return text_of(float(str(np.float32(value))) if self.single and isinstance(value, float) else value)


def look(path: Path, options: Mapping[str, Any]) -> Found:
    """Return the records of a file; raises as ``Statistical.read``."""
    ending, keeps = path.suffix.lower(), options.get("user_missing", False)
    read = partial(_read, path, getattr(pyreadstat, READERS[ending]), output_format="dict")
    if "encoding" in options:
        read = partial(read, encoding=options["encoding"])
    if ending != ".xpt":
        read = partial(read, user_missing=True)
    _, about = read(metadataonly=True)
    columns = {name: _coded(about, name, ending) for name in about.column_names}
    labelled, notes = _judged(read, columns, options.get("labels", True), keeps)
    texts = {
        name: lru_cache(4096)(partial(item.text, labelled=name in labelled, keeps=keeps))
        for name, item in columns.items()
    }

    def batches() -> Iterator[list[list[str | None]]]:
        records = 0
        for piece in _pieces(read, [*columns]):
            yield [[texts[name](value) for value in values] for name, values in piece.items()]
            records += len(next(iter(piece.values())))
        if records < (about.number_rows or 1):
            said = f"says that it holds {about.number_rows:,}" if about.number_rows else "is whole"
            raise SourceError(f"The file {path.name!r} {said}, and has {records:,} records.", hint=f"{CUT_OFF}{CURE}")

    return Found([*columns], batches(), options, notes)


def _read(path: Path, reader: Any, **given: Any) -> Any:
    """Return what pyreadstat reads, and what it says of it; iconv, which it asks, knows fewer names of encodings."""
    try:
        if "encoding" in given:
            given["encoding"] = codecs.lookup(given["encoding"]).name.upper()
        return reader(str(path), **given)
    except (pyreadstat.ReadstatError, UnicodeError, LookupError) as error:
        if isinstance(error, pyreadstat.ReadstatError) and not re.search("convert|character set", str(error)):
            raise
    raise SourceError(
        f"The texts of the file {path.name!r} are not in the encoding that it names, or that you named.",
        hint="name another by the option encoding (cp1252, say).",
    )


def _coded(about: Any, name: str, ending: str) -> Coded:
    kind = about.readstat_variable_types[name]
    letters = kind != "string" and ending in (".dta", ".sas7bdat")
    labels = about.variable_value_labels.get(name, {})
    return Coded(labels, tuple(about.missing_ranges.get(name, ())), letters, kind == "float")


def _pieces(read: Any, names: list[str]) -> Iterator[dict[str, list[Any]]]:
    """Yield the records of some columns, so many at a time."""
    most, begin = max(1, min(ROWS, CELLS // max(len(names), 1))), 0
    while names:
        piece, _ = read(usecols=names, row_offset=begin, row_limit=most)
        found = len(piece[names[0]])
        if found:
            yield {name: piece[name] for name in names}
        if found < most:
            return
        begin += found


def _judged(read: Any, columns: Mapping[str, Coded], wanted: bool, keeps: bool) -> tuple[set[str], list[str]]:
    """Return the columns whose labels stand in place of codes, and notes: one look through the file.

    A label stands for a code only where every code in the column has one, and no two have the same.
    """
    missing: Counter[str] = Counter()
    bare: Counter[str] = Counter()
    watched = [name for name, item in columns.items() if item.labels or item.ranges or item.letters]
    for piece in _pieces(read, watched):
        for name, values in piece.items():
            item = columns[name]
            for value, count in Counter(values).items():
                if value not in (None, ""):
                    of = missing if not keeps and item.is_missing(value) else bare if value not in item.labels else None
                    if of is not None:
                        of[name] += count
    coded = {name: item for name, item in columns.items() if item.labels and wanted}
    labelled = {
        name for name, item in coded.items() if not bare[name] and len({*item.labels.values()}) == len(item.labels)
    }
    counted = [f"{name!r} {bare[name]:,}" for name in coded if bare[name]]
    alike = [name for name in coded if name not in labelled and not bare[name]]
    lost = ", ".join(f"{name!r} {count:,}" for name, count in missing.items())
    notes = {
        f"Labels stand in place of codes (labels: false keeps the codes): {listing(sorted(labelled))}": labelled,
        f"Codes stay where some have no label; records with such codes: {', '.join(counted)}": counted,
        f"Codes stay where two have the same label: {listing(alike)}": alike,
        f"Values that the file declares missing are NULL (user_missing: true keeps them); records: {lost}": lost,
    }
    return labelled, [f"{note}." for note, of in notes.items() if of]


def _within(value: Any, low: Any, high: Any) -> bool:
    return isinstance(value, str) == isinstance(low, str) and bool(low <= value <= high)
