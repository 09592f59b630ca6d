"""Reading hierarchies from ARX-style CSV files, and checking that their rows form a tree.

A file has no header; its fields are the original value, then level 1, 2, … Only an unquoted empty field is NULL,
as in CSV sources. No message holds a value: lines, levels and counts only.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlanon.errors import HierarchyError

Row = tuple[str | None, ...]
QUOTE = '"'


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """Rows that form a tree, each once; ``collapsed`` counts the identical rows that were left out."""

    rows: tuple[Row, ...]
    collapsed: int


def read_rows(path: Path, delimiter: str, null: str | None, encoding: str) -> list[Row]:
    """The rows of a hierarchy file.

    Args:
        null: a text that stands for NULL beside the unquoted empty field; None for no such text.

    Raises:
        HierarchyError: the file cannot be read, or a quote is not closed.
    """
    failure = ""
    text = ""
    try:
        text = path.read_text(encoding=encoding).removeprefix("\ufeff")
    except OSError as error:
        failure = error.strerror or "it cannot be opened"
    except (UnicodeDecodeError, LookupError):
        failure = f"it is not {encoding} text"
    if failure:
        raise HierarchyError(
            f"The hierarchy file {path.name!r} cannot be read: {failure}.", hint="check its path and its encoding."
        )
    nulls = {"", null} if null is not None else {""}
    if QUOTE not in text:
        lines = text.split("\n")
        return [
            tuple(None if field in nulls else field for field in line.split(delimiter))
            for line in (item.removesuffix("\r") for item in lines)
            if line
        ]
    return _quoted_rows(text, delimiter, nulls, path.name)


def _quoted_rows(text: str, delimiter: str, nulls: set[str], name: str) -> list[Row]:
    """The slow path: QUOTE_NOTNULL reads an unquoted empty field as None and a quoted one as an empty text."""
    rows: list[Row] = []
    if hasattr(csv, "QUOTE_NOTNULL") and _reader_knows_null():
        for fields in csv.reader(io.StringIO(text), delimiter=delimiter, quoting=csv.QUOTE_NOTNULL):
            if fields:
                rows.append(tuple(None if field is None or field in nulls - {""} else field for field in fields))
        return rows
    return _split(text, delimiter, nulls, name)


def _reader_knows_null() -> bool:
    reader = csv.reader(io.StringIO('"",'), quoting=getattr(csv, "QUOTE_NOTNULL", 0))
    return list(reader) == [["", None]]


def _split(text: str, delimiter: str, nulls: set[str], name: str) -> list[Row]:
    rows: list[Row] = []
    row: list[str | None] = []
    field: list[str] = []
    quoted = inside = False
    position, end = 0, len(text)

    def close_field() -> None:
        nonlocal quoted
        value = "".join(field)
        row.append(value if quoted or value not in nulls else None)
        field.clear()
        quoted = False

    while position < end:
        char = text[position]
        if inside:
            if char == QUOTE and text[position + 1 : position + 2] == QUOTE:
                field.append(QUOTE)
                position += 1
            elif char == QUOTE:
                inside = False
            else:
                field.append(char)
        elif char == QUOTE and not field:
            inside = quoted = True
        elif char == delimiter:
            close_field()
        elif char == "\n" or (char == "\r" and text[position + 1 : position + 2] == "\n"):
            if char == "\n":
                if row or field or quoted:
                    close_field()
                    rows.append(tuple(row))
                row = []
        else:
            field.append(char)
        position += 1
    if inside:
        raise HierarchyError(
            f"A quote of the hierarchy file {name!r} is not closed.", hint='double a quote inside a field ("").'
        )
    if row or field or quoted:
        close_field()
        rows.append(tuple(row))
    return rows


def check_rows(rows: Sequence[Row], name: str) -> CheckedRows:
    """The rows, each once, when they form a tree with all levels.

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
