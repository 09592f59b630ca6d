"""Reading hierarchies from ARX-style CSV files, and checking that their rows form a tree.

The fields of a row are the original value, then level 1, 2, … Only an unquoted empty field is NULL, as in CSV
sources. No message holds a value: lines, levels and counts only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlanon.core.hierarchies.specs import FileHierarchy
from sqlanon.errors import HierarchyError

Row = tuple[str | None, ...]
QUOTE = '"'
DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """Rows that form a tree, each once; ``collapsed`` counts the identical rows that were left out."""

    rows: tuple[Row, ...]
    collapsed: int


def read_rows(path: Path, delimiter: str, null: str | None, encoding: str, *, header: bool = False) -> list[Row]:
    """Return the rows of a hierarchy file; blank lines are skipped.

    Args:
        null: a text that, unquoted, stands for NULL beside the unquoted empty field; None for no such text.
        header: the first line names the levels, and is no row.

    Raises:
        HierarchyError: the file cannot be read, the delimiter is unusable or another one, or a quoted field does not
            end well.
    """
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise HierarchyError(
            f"The delimiter of the hierarchy file {path.name!r} is not usable.",
            hint="give one character that is neither a quote nor a line end.",
        )
    failure = ""
    text = ""
    try:
        text = path.read_bytes().decode(encoding).removeprefix("\ufeff")
    except OSError as error:
        failure = error.strerror or "it cannot be opened"
    except (UnicodeError, LookupError):
        failure = f"it is not {encoding} text"
    if failure:
        raise HierarchyError(
            f"The hierarchy file {path.name!r} cannot be read: {failure}.", hint="check its path and its encoding."
        )
    nulls = {"", null} if null is not None else {""}
    rows = _rows(text, delimiter, nulls, path.name)
    if len(rows) > 1 and all(len(row) == 1 for row in rows):
        _refuse_other_delimiter(text, delimiter, nulls, path.name)
    return rows[1:] if header else rows


def read_hierarchy(spec: FileHierarchy) -> list[Row]:
    """Return the rows of the file of a hierarchy (``read_rows``)."""
    return read_rows(spec.path, spec.delimiter, spec.null, spec.encoding, header=bool(spec.header))


def _rows(text: str, delimiter: str, nulls: set[str], name: str) -> list[Row]:
    if QUOTE in text:
        return _quoted_rows(text, delimiter, nulls, name)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    rows: list[Row] = [tuple(line.split(delimiter)) for line in lines if line]
    return [row if nulls.isdisjoint(row) else tuple(None if field in nulls else field for field in row) for row in rows]


def _refuse_other_delimiter(text: str, delimiter: str, nulls: set[str], name: str) -> None:
    """Raise HierarchyError if rows of one field have several by another delimiter, all as many."""
    for other in DELIMITERS:
        if other != delimiter and other in text:
            widths = set(map(len, _rows(text, other, nulls, name)))
            if len(widths) == 1 and widths != {1}:
                raise HierarchyError(
                    f"The hierarchy file {name!r} has one field in a line, but as many {other!r} in every line.",
                    hint=f"say delimiter: {other!r} beside the file (--delimiter), or put the values in quotes.",
                )


def _quoted_rows(text: str, delimiter: str, nulls: set[str], name: str) -> list[Row]:
    """Read rows with quotes: one match a field with what ends it; an open quote costs one pass."""
    mark = re.escape(delimiter)
    quoted = r'("[^"]*+(?:""[^"]*+)*")'
    field = re.compile(rf'(?:{quoted}|((?!")[^{mark}\r\n]*+))({mark}|\r\n|\n|\r|\Z)')
    rows: list[Row] = []
    row: list[str | None] = []
    position = 0
    for match in field.finditer(text):
        if match.start() != position:
            break
        position = match.end()
        in_quotes, plain, end = match.groups()
        if in_quotes is not None:
            row.append(in_quotes[1:-1].replace('""', QUOTE))
        elif plain or row or end == delimiter:
            row.append(None if plain in nulls else plain)
        if end != delimiter:
            if row:
                rows.append(tuple(row))
            row = []
    if position != len(text) or row:
        line = len(re.findall(r"\r\n|\r|\n", text[:position])) + 1
        raise HierarchyError(
            f"A quoted field in line {line} of the hierarchy file {name!r} is not closed, or text follows its end.",
            hint='double a quote inside a field (""), and quote the whole field.',
        )
    return rows


def check_rows(rows: Sequence[Row], name: str) -> CheckedRows:
    """Return the rows, each once, if they form a tree with all levels.

    Args:
        name: what messages call the hierarchy (a column or a file).

    Raises:
        HierarchyError: no rows, missing levels, contradicting rows of one value, or not a tree.
    """
    if not rows:
        raise HierarchyError(f"The hierarchy of {name!r} is empty.", hint="give one row for each value.")
    height = Counter(map(len, rows)).most_common(1)[0][0]
    short = [number for number, row in enumerate(rows, start=1) if len(row) != height]
    if short:
        raise HierarchyError(
            f"The hierarchy of {name!r} lacks levels: {len(short)} rows do not have {height} fields; the first is row "
            f"{short[0]}.",
            hint="give every value as many levels, and check the delimiter.",
        )
    empty = [number for number, row in enumerate(rows, start=1) if None in row[1:]]
    if empty:
        raise HierarchyError(
            f"The hierarchy of {name!r} lacks levels: {len(empty)} rows have an empty field after the value; the first "
            f"is row {empty[0]}.",
            hint='fill the field; an empty text that is meant reads "" in quotes.',
        )
    unique = tuple(dict.fromkeys(rows))
    values = Counter(row[0] for row in unique)
    if len(values) != len(unique):
        contradicted = sum(1 for count in values.values() if count > 1)
        raise HierarchyError(
            f"Rows of the hierarchy of {name!r} contradict each other: {contradicted} values have several rows that "
            "differ.",
            hint="keep one row for each value.",
        )
    for level in range(1, height - 1):
        parents = Counter(value for value, _ in {(row[level], row[level + 1]) for row in unique})
        torn = sum(1 for count in parents.values() if count > 1)
        if torn:
            raise HierarchyError(
                f"The hierarchy of {name!r} is not a tree: {torn} values of level {level} belong to several values of "
                f"level {level + 1}.",
                hint="give each value of a level one parent.",
            )
    return CheckedRows(unique, len(rows) - len(unique))
