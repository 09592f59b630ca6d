"""Columns that folders called ``key=value`` make, and their types: the same for files of this machine and of a store.

A reader that guesses types makes one value of two texts: 01 and 1, or 2020-01-01 and 2020-1-1. Here a value is a number
or a date only if its text is the one that the number or date is written as.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path

from sqlglot import exp

from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.duckdb.files import parquet_relation
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column
from sqlanon.errors import SourceError

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
TEXT = "VARCHAR"


def type_of_partitions(values: Collection[str]) -> str:
    """Return BIGINT or DATE if all names of folders stand for one, or for NULL, and are written as it is; or VARCHAR.

    >>> [type_of_partitions(values) for values in (["1", "20"], ["1", "02"], ["2020-01-31"], ["2020-1-31"])]
    ['BIGINT', 'VARCHAR', 'DATE', 'VARCHAR']
    """
    known = [value for value in values if value != NULL_FOLDER]
    if known and all(WHOLE_NUMBER.fullmatch(value) for value in known):
        return "BIGINT"
    return "DATE" if known and all(map(_is_date, known)) else TEXT


def types_of_folders(files: Iterable[Path]) -> dict[str, str]:
    """Return the types of the columns that the folders of files make; of keys that not all of them have, none."""
    values: dict[str, set[str]] = {}
    count: dict[str, int] = {}
    folders = [file.parent for file in files]
    for folder in folders:
        for key, value in {key: value for key, sign, value in map(_parted, folder.parts) if sign}.items():
            values.setdefault(key, set()).add(value)
            count[key] = count.get(key, 0) + 1
    return {key: type_of_partitions(found) for key, found in values.items() if count[key] == len(folders)}


def refuse_hidden_values(engine: DuckDBEngine, files: Sequence[Path], types: Mapping[str, str]) -> None:
    """Raise SourceError if files hold a column that their folders make too, with other values, which no reader shows.

    Args:
        types: of the columns that folders make.
    """
    inside = parquet_relation(files)
    held = [name for name, _ in engine.catalog.columns(inside)]
    twice = [name for name in held if name.casefold() in map(str.casefold, types)]
    if not twice:
        return
    path = names.unused("path", held)
    named_files = parquet_relation(files, path=path)
    other = [_differs(name, path) for name in twice]
    if engine.run("hidden values", exp.select(exp.convert(1)).from_(named_files).where(exp.or_(*other)).limit(1)):
        raise SourceError(
            f"The files hold columns that their folders hide, with other values: {', '.join(map(repr, twice))}.",
            hint="leave them out of the files, or rename them there.",
        )


def _differs(name: str, path: str) -> exp.Expr:
    """Return whether a value in a file is another than the one that the folder of the file names."""
    pattern = exp.Literal.string(f"(?i).*[/\\\\]{re.escape(name)}=([^/\\\\]*)[/\\\\]")
    found = exp.Anonymous(this="regexp_extract", expressions=[column(path), pattern, exp.convert(1)])
    folder = exp.Nullif(this=found, expression=exp.Literal.string(NULL_FOLDER))
    value = exp.Anonymous(this="url_decode", expressions=[folder])
    return exp.NullSafeNEQ(this=exp.cast(column(name), TEXT), expression=value)


def _parted(name: str) -> tuple[str, str, str]:
    """Return the key and the value of a folder; DuckDB takes no folder with a second equals sign for a column."""
    return name.partition("=") if name.count("=") == 1 else (name, "", "")


def _is_date(text: str) -> bool:
    try:
        return DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False
