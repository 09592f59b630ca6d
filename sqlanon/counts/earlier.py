"""Tables of counts beside earlier releases of the same source that somebody holds: one system, as linked tables are.

The tables of earlier releases are counted again with the new ones. Where every count that was shown is the same
still, nothing changed that anybody can see: what was shown stays shown, what was suppressed stays suppressed, and
further cells keep both from being computed. A release of microdata shows the cells that its columns and levels
determine.

Where the source changed, a reader has the differences of what both show: a count that was shown and differs now by less
than the threshold is unsafe, unless the document says ``changes: allow``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sqlanon.core.doors import behind
from sqlanon.core.policy import Policy
from sqlanon.core.source.hierarchy_digests import private_digests
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees import names
from sqlanon.core.words import counted as counted_words
from sqlanon.counts.counting import Counted, count_cells
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.grid import Grid
from sqlanon.counts.keys import CountsTable
from sqlanon.counts.protecting import Held, Protection, protect
from sqlanon.counts.reader import CellAudit, numbers_of, rows_of
from sqlanon.counts.written import bounds_of, shown_cells
from sqlanon.errors import AuditError, InputError, NoSolutionError

Key = tuple[tuple[str, int, str | None], ...]
"""A cell by its categories: dimension, level and text; the totals are left out."""
FORM = 1
"""Of what is written down of a release."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The cells of a document and of earlier releases, counted together.

    Attributes:
        held: what is known of them.
        own: of each cell of the document, its number among all.
        known: of each cell of an earlier table, what that shows; None is suppressed.
        changed: whether a count differs from what was shown.
    """

    counted: Counted
    asked: CountsPolicy
    held: Held
    own: np.ndarray[Any, np.dtype[np.int64]]
    known: Mapping[int, int | None]
    changed: bool


@contextmanager
def ledger_of(asked: CountsPolicy, opened: Source, given: object) -> Iterator[Any]:
    """Yield the ledger of a document, locked; None where it names none."""
    if asked.policy.ledger is None:
        yield None
        return
    with closing(behind("ledger counts")(asked.policy, opened, given)) as ledger:
        yield ledger


def described(opened: Source, asked: CountsPolicy, counted: Counted, suppressed: Any) -> dict[str, Any]:
    """Return what a ledger writes down of a release: its tables and its cells, a suppressed one as None."""
    keys = keys_of(counted.grid)
    published = counted.grid.is_published
    values = [None if hidden else int(x) for x, hidden in zip(counted.contributors, suppressed, strict=True)]
    cells = [[key, value] for key, value, own in zip(keys, values, published, strict=True) if own]
    columns = asked.policy.to_dict()["columns"]
    return {
        "form": FORM,
        **_kind_of(asked),
        "columns": {name: columns[name] for name in asked.dimensions},
        "hierarchies": _digests(opened, asked),
        "tables": [[dict(table.dimensions), list(table.totalled)] for table in asked.tables],
        "cells": cells,
        "changes": asked.rules.changes,
        "fingerprint": asked.fingerprint(),
    }


def _digests(opened: Source, asked: CountsPolicy) -> dict[str, str]:
    """Return of each dimension the SHA-256 of its hierarchy, as far as it has one."""
    found = private_digests(opened.engine, asked.policy)
    return {name: found[name] for name in asked.dimensions if name in found}


def _kind_of(asked: CountsPolicy) -> dict[str, Any]:
    return {"entity": asked.policy.entity, "nulls": asked.policy.nulls}


def keys_of(grid: Grid) -> list[Key]:
    """Return the categories of all cells of a grid."""
    parts = [
        [(d.name, int(level), text) for level, text in zip(d.level, d.texts, strict=True)] for d in grid.dimensions
    ]
    return [
        tuple(sorted((parts[p][c] for p, c in enumerate(key) if c), key=lambda part: part[0]))
        for key in grid.all_keys.tolist()
    ]


def join_earlier(
    opened: Source,
    asked: CountsPolicy,
    counted: Counted,
    earlier: Sequence[Mapping[str, Any]],
    microdata: Sequence[Any],
) -> Joined | None:
    """Return the cells of a document beside those of earlier releases; None without any that tell something.

    Raises:
        InputError: the earlier ones count something else, or by other categories.
    """
    if not earlier and not microdata:
        return None
    whole = _combined(asked, earlier)
    digests = _digests(opened, whole)
    for told in [document["hierarchies"] for document in earlier]:
        _refuse_others([name for name, digest in told.items() if digests.get(name) != digest])
    for entry in microdata:  # values as they are determine all levels, whatever the hierarchy
        coarse = [name for name, levels in entry.levels.items() if max(levels) and name in digests]
        _refuse_others([name for name in coarse if entry.hierarchies.get(name) != digests[name]])
    if whole is asked:
        every = counted
    else:
        opened.engine.drop(names.LOOKUP)  # of the new tables alone
        every = count_cells(opened, whole)
    keys = keys_of(every.grid)
    places = {key: number for number, key in enumerate(keys)}
    known: dict[int, int | None] = {}
    shown = np.zeros(len(keys), bool)
    gone = False
    for document in earlier:
        for parts, value in document["cells"]:
            place = places.get(tuple((str(name), int(level), text) for name, level, text in parts))
            gone = gone or (place is None and bool(value))  # a category that nobody is in any more
            if place is not None and (value is not None or place not in known):
                known[place] = value
    values = every.contributors
    changed = gone or any(value is not None and value != values[place] for place, value in known.items())
    unsafe = np.zeros(len(keys), bool)
    hidden = np.zeros(len(keys), bool)
    for place, value in known.items():
        if not changed:
            shown[place], hidden[place] = value is not None, value is None
        elif value is not None and asked.rules.changes == "suppress":
            unsafe[place] = 0 < abs(int(values[place]) - value) < asked.rules.threshold
    for entry in microdata:
        shown |= _determined(every.grid, entry.levels)
    own = np.array([places[key] for key in keys_of(counted.grid)], np.int64)
    published = np.zeros(len(keys), bool)
    published[own[counted.grid.is_published]] = True
    return Joined(every, whole, Held(shown, hidden & ~shown, unsafe & published, published), own, known, changed)


def _combined(asked: CountsPolicy, earlier: Sequence[Mapping[str, Any]]) -> CountsPolicy:
    """Return a document with the tables of earlier ones beside its own.

    Raises:
        InputError: they cannot be counted together.
    """
    own = asked.policy.to_dict()
    columns, tables = dict(own["columns"]), list(asked.tables)
    for document in earlier:
        if {name: document[name] for name in ("entity", "nulls")} != _kind_of(asked):
            raise InputError(
                "An earlier table of the ledger counts others: by another entity, or with NULLs read in another way.",
                hint="count the same; or name a recipient who does not share with those of that table (colludes).",
            )
        for column, spec in document["columns"].items():
            _refuse_others([column] if columns.setdefault(column, spec) != spec else [])
        for number, (dimensions, totalled) in enumerate(document["tables"]):
            levels = {name: tuple(each) for name, each in dimensions.items()}
            tables.append(CountsTable(f"earlier {len(tables)} {number}", levels, (), tuple(totalled)))
    if len(tables) == len(asked.tables):
        return asked
    policy = Policy.from_dict(own | {"columns": columns}, base_directory=asked.policy.base_directory)
    return replace(asked, policy=policy, tables=tuple(tables))


def _refuse_others(columns: Sequence[str]) -> None:
    """Raise InputError if some columns were shown by other categories."""
    if columns:
        raise InputError(
            f"An earlier release of the ledger shows {columns[0]!r} by other categories, which may overlap.",
            hint="use the same hierarchy, at any of its levels; or name a recipient who does not share with those of "
            "that release (colludes).",
        )


def _determined(grid: Grid, levels: Mapping[str, Sequence[int]]) -> Any:
    """Return which cells follow from classes of microdata: all their categories are at such levels, or above."""
    found = np.zeros(len(grid), bool)
    for number, own in enumerate(grid.sets):
        wanted = {d.name: level for d, level in zip(grid.dimensions, own, strict=True) if level is not None}
        if all(name in levels and max(levels[name]) <= level for name, level in wanted.items()):
            found[grid.starts[number] : grid.starts[number + 1]] = True
    return found


def protect_joined(
    joined: Joined, counted: Counted, asked: CountsPolicy, report: Callable[..., None] | None
) -> Protection:
    """Return which cells of a document are suppressed, so that nothing follows from it and what is known already.

    Raises:
        NoSolutionError: an unsafe cell was shown before, or cannot be protected any more; besides as ``protect``.
    """
    failure: NoSolutionError | None = None
    try:
        found = protect(joined.counted, joined.asked, report, joined.held)
    except NoSolutionError as error:
        failure = error
    if failure is not None:
        cells = counted_words(int((joined.held.shown & joined.held.own).sum()), "cell")
        raise NoSolutionError(
            "Beside what the recipient, or those who share with them, hold already, the unsafe cells cannot be "
            f"protected: earlier releases show {cells} of this one. Nothing was published.",
            hint="show coarser levels; leave out the tables that repeat an earlier one; or name another recipient.",
            nearest=None,
        )
    hidden = (found.suppressed | joined.held.hidden)[joined.own] & counted.grid.is_published
    unsafe = (counted.contributors > 0) & (counted.contributors < asked.rules.threshold) & counted.grid.is_published
    return replace(found, suppressed=hidden, primary=unsafe & hidden, values=counted.contributors, witnesses=())


def audit_joined(rows: pa.Table, joined: Joined, counted: Counted, asked: CountsPolicy) -> None:
    """Audit released rows together with what earlier tables show.

    Raises:
        AuditError: an unsafe cell can be computed from both.
    """
    if joined.changed:
        return  # what both show does not add up; the differences were judged
    grid, rules, truth = joined.counted.grid, asked.rules, joined.counted.contributors
    number = numbers_of(grid, rules.joint)
    shown, is_known = np.full(len(number), np.nan), np.zeros(len(number), bool)
    shown[joined.own] = shown_cells(rows, counted, asked)[0]
    is_known[: len(grid)] = joined.held.own
    for cell, value in joined.known.items():
        is_known[cell], shown[cell] = True, np.nan if value is None else value
    is_small = np.pad((truth > 0) & (truth < rules.threshold), (0, len(number) - len(grid)))
    demands = (np.full(len(number), float(end)) for end in rules.interval or (0, rules.threshold))
    audit = CellAudit(rows_of(grid, number), *bounds_of(shown, shown))
    found = audit.faults(0, is_small & is_known & np.isnan(shown), *demands)
    if found:
        listed = ", ".join(f"{kind}: {count}" for kind, count in found.items())
        raise AuditError(
            f"Together with earlier releases of the ledger what was written is not safe ({listed}).",
            hint="nothing was published; report it as a defect of sqlanon.",
        )
