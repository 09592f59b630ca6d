"""Tables of counts that were released, for agents: cells of one protected file, and nothing that the source would tell.

Every question is answered from the rows that stand in the file, so that all questions of all sessions are one release.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from sqlanon.commands.agents.places import Places
from sqlanon.commands.agents.sieve import Sieve, shown
from sqlanon.core.disk.digests import digest_of
from sqlanon.core.publish.papers import MANIFEST, paper_beside
from sqlanon.errors import InputError, SourceError, UnsupportedError

RELEASES = (".parquet",)
"""Files in which released tables of counts stand for agents."""
MOST_CELLS, MOST_BYTES = 200, 50_000_000
"""Cells of an answer, and bytes of a file, at most."""
SUPPRESSED = "suppressed"


def is_counts(places: Places, path: Path) -> bool:
    """Return whether a table of counts stands in a file, by the manifest beside it."""
    return _manifest(places, path) is not None


def counts_answer(
    places: Places, path: Path, where: Mapping[str, str], sieve: Sieve, entity: str | None
) -> dict[str, Any]:
    """Return the cells of a released table of counts that have some categories.

    Raises:
        InputError: the file is no such release, was changed since, or a column is no dimension.
        UnsupportedError: its cells count less, or others, than the operator lets be counted.
    """
    manifest = _manifest(places, path)
    if manifest is None:
        raise InputError("This is no table of counts.", hint="ask about one of the counts of list_files.")
    threshold = manifest.get("rules", {}).get("threshold")
    if (
        not isinstance(threshold, int)
        or threshold < sieve.k
        or (entity is not None and manifest.get("unit") != "entity")
    ):
        raise UnsupportedError(
            "The table has counts below the operator's k, noise, or does not count the operator's persons.",
            hint="the operator releases one with that threshold and entity.",
        )
    table = _read(path, manifest)
    names = [name for each in manifest["counts"] if isinstance(each, dict) for name in each.get("dimensions", ())]
    dimensions = [name for name in table.column_names if name == "table" or name in names]
    if "count" not in table.column_names or "suppressed" not in table.column_names:
        raise UnsupportedError("Cells are told of the long form alone.", hint="the operator leaves out form: wide.")
    if any(name not in dimensions for name in where):
        raise InputError("This is no dimension of the table.", hint="an answer without where names them.")
    rows = [row for row in table.to_pylist() if all(_text(row[name]) == text for name, text in where.items())]
    cells = [
        {shown(name): shown(_text(row[name])) for name in dimensions}
        | {"count": SUPPRESSED if row["suppressed"] else row["count"]}
        for row in rows[:MOST_CELLS]
    ]
    unit = "persons" if manifest.get("unit") == "entity" else "records"
    return {"counts": unit, "threshold": threshold, "cells": cells, "more": len(rows) > MOST_CELLS}


def _text(value: object) -> str:
    return "NULL" if value is None else str(value)


def _manifest(places: Places, path: Path) -> dict[str, Any] | None:
    beside = path.with_name(path.name + MANIFEST)
    manifest = paper_beside(path) if beside.is_file() and places.holds(beside) else None
    good = manifest is not None and isinstance(manifest.get("counts"), list) and isinstance(manifest.get("rules"), dict)
    return manifest if good else None


def _read(path: Path, manifest: Mapping[str, Any]) -> pa.Table:
    """Return the rows of a release that is as its manifest says."""
    if path.stat().st_size > MOST_BYTES or digest_of(path) != dict(manifest.get("sha256") or {}).get("release"):
        raise InputError(
            "The file is not the release that its manifest describes.", hint="the operator releases it anew."
        )
    with suppress(pa.ArrowException, OSError):
        return parquet.read_table(path, partitioning=None)
    raise SourceError("The release cannot be read.", hint="the operator releases it anew.")
