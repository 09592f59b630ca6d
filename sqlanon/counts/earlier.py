"""Tables of counts beside earlier releases of the same source that somebody holds: one system, as linked tables are.

Where every count that was shown is the same still, what was shown stays shown, what was suppressed stays suppressed,
and further cells keep both from being computed. A release of microdata shows the cells that its columns and levels
determine. Where the source changed, a count that was shown and differs by less than the threshold is unsafe, unless
the document says ``changes: allow``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
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
from sqlanon.counts.facts import Flags, Floats, Numbers
from sqlanon.counts.keys import CountsTable
from sqlanon.counts.protecting import Held, Protection, protect, unsafe_by
from sqlanon.counts.written import audit_of, refuse, shown_cells
from sqlanon.errors import InputError, NoSolutionError

FORM = 1
"""Of what is written down of a release."""


@dataclass(frozen=True, slots=True)
class Joined(Held):
    """The cells of a document and of earlier releases, counted together.

    Attributes:
        numbers: of each cell of the document, its number among all.
        is_known, known: of each cell, whether an earlier table shows it, and what; NaN is suppressed.
        changed: whether a count differs from what was shown.
    """

    counted: Counted
    asked: CountsPolicy
    numbers: Numbers
    is_known: Flags
    known: Floats
    changed: bool


def ledger_of(asked: CountsPolicy, opened: Source, given: object) -> AbstractContextManager[Any]:
    """Return the ledger of a document, locked until the context ends; None where it names none."""
    if asked.policy.ledger is None:
        return nullcontext()
    return closing(behind("ledger counts")(asked.policy, opened, given))


def described(opened: Source, asked: CountsPolicy, counted: Counted, suppressed: Any) -> dict[str, Any]:
    """Return what a ledger writes down of a release: its tables and its cells, a suppressed one as None."""
    grid, columns = counted.grid, asked.policy.to_dict()["columns"]
    every = zip(grid.named_keys(), counted.contributors, suppressed, grid.is_published, strict=True)
    cells = [[key, None if hidden else int(value)] for key, value, hidden, is_shown in every if is_shown]
    return {
        "form": FORM,
        **_kind_of(asked),
        "columns": {name: columns[name] for name in asked.dimensions},
        "hierarchies": _digests(opened, asked),
        "tables": [[dict(table.dimensions), list(table.totalled)] for table in asked.tables],
        "cells": cells,
        "changes": asked.rules.changes,
        "rules": _rules_of(asked),
        "fingerprint": asked.fingerprint(),
    }


def _digests(opened: Source, asked: CountsPolicy) -> dict[str, str]:
    """Return of each dimension the SHA-256 of its hierarchy, as far as it has one."""
    found = private_digests(opened.engine, asked.policy)
    return {name: found[name] for name in asked.dimensions if name in found}


def _rules_of(asked: CountsPolicy) -> dict[str, Any]:
    """Return what made cells unsafe, which holds of them in later releases."""
    rules = asked.rules
    low, high = rules.interval or (0, rules.threshold)
    return {
        "threshold": rules.threshold,
        "interval": [low, high],
        "groups": list(rules.groups),
        "insiders": rules.insiders,
    }


def _kind_of(asked: CountsPolicy) -> dict[str, Any]:
    return {"entity": asked.policy.entity, "nulls": asked.policy.nulls}


def join_earlier(
    opened: Source,
    asked: CountsPolicy,
    counted: Counted,
    earlier: Sequence[Mapping[str, Any]],
    microdata: Sequence[Any],
) -> Joined | None:
    """Return the cells of a document beside those of earlier releases; None without any that tell something."""
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
    used = {frozenset(asked.dimensions), *(frozenset(document["columns"]) for document in earlier)}
    if asked.policy.nulls == "basic" and every.left_out and len(used) > 1:
        raise InputError(
            "An earlier table of the ledger leaves out other records: those with a NULL in its own dimensions.",
            hint="say nulls: extended in both; use the same dimensions; or leave such records out in a view of the "
            "source.",
        )
    keys = every.grid.named_keys()
    places = {key: number for number, key in enumerate(keys)}
    known, is_known = np.full(len(keys), np.nan), np.zeros(len(keys), bool)
    changed, truth, nothing = False, every.contributors, np.zeros(len(keys), bool)
    near, kept = nothing.copy(), nothing.copy()
    least, greatest = np.full(len(keys), np.inf), np.zeros(len(keys))
    for document in earlier:
        is_told = "rules" in document  # earlier builds wrote down none
        rules = document["rules"] if is_told else _rules_of(asked)
        was_unsafe = unsafe_by(every, whole, rules["threshold"], rules["groups"]) if is_told else truth > 0
        for parts, value in document["cells"]:
            place = places.get(tuple((str(name), int(level), text) for name, level, text in parts))
            if place is None:
                changed = changed or bool(value)  # a category that nobody is in any more
                continue
            is_known[place] = True
            if value is not None:
                by = abs(int(truth[place]) - value)
                changed, near[place] = changed or by > 0, near[place] or 0 < by < asked.rules.threshold
                known[place] = value
            elif was_unsafe[place]:
                count, (low, high) = int(truth[place]), rules["interval"]
                if not is_told and count >= high:  # it may have been unsafe
                    low, high = count - high, count + high
                kept[place], least[place], greatest[place] = True, min(least[place], low), max(greatest[place], high)
    shown = ~np.isnan(known)
    hidden, unsafe = is_known & ~shown, nothing
    if changed:
        shown, hidden, unsafe = nothing, nothing, near if asked.rules.changes == "suppress" else nothing
    for entry in microdata:
        shown = shown | _determined(every, entry.levels)
    numbers = np.array([places[key] for key in counted.grid.named_keys()], np.int64)
    own = nothing.copy()
    own[numbers[counted.grid.is_published]] = True
    kept &= own | (not changed)
    ends = np.where(kept, least, np.nan), np.where(kept, greatest, np.nan)
    held = (shown, hidden & ~shown, unsafe & own, own, kept & ~shown, *ends)
    return Joined(*held, every, whole, numbers, is_known, known, changed)


def _combined(asked: CountsPolicy, earlier: Sequence[Mapping[str, Any]]) -> CountsPolicy:
    """Return a document with the tables of earlier ones beside its own."""
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
    insiders = asked.rules.insiders or any("rules" not in each or each["rules"]["insiders"] for each in earlier)
    return replace(asked, policy=policy, tables=tuple(tables), rules=replace(asked.rules, insiders=insiders))


def _refuse_others(columns: Sequence[str]) -> None:
    """Raise InputError if some columns were shown by other categories."""
    if columns:
        raise InputError(
            f"An earlier release of the ledger shows {columns[0]!r} by other categories, which may overlap.",
            hint="use the same hierarchy, at any of its levels; or name a recipient who does not share with those of "
            "that release (colludes).",
        )


def _determined(counted: Counted, levels: Mapping[str, Sequence[int]]) -> Any:
    """Return which cells follow from classes of microdata: all their categories are at such levels, or above."""
    grid = counted.grid
    found = np.zeros(len(grid), bool)
    for number, own in enumerate(grid.sets):
        wanted = {d.name: level for d, level in zip(grid.dimensions, own, strict=True) if level is not None}
        if all(name in levels and max(levels[name]) <= level for name, level in wanted.items()):
            found[grid.starts[number] : grid.starts[number + 1]] = True
    return found


def protect_joined(
    joined: Joined, counted: Counted, asked: CountsPolicy, report: Callable[..., None] | None
) -> Protection:
    """Return which cells of a document are suppressed, so that nothing follows from it and what is known already;
    raises as ``protect``."""
    try:
        found = protect(joined.counted, joined.asked, report, joined)
    except NoSolutionError:
        cells = counted_words(int((joined.shown & joined.own).sum()), "cell")
        raise NoSolutionError(
            "Beside what the recipient, or those who share with them, hold already, the unsafe cells cannot be "
            f"protected: earlier releases show {cells} of this one. Nothing was published.",
            hint="show coarser levels; leave out the tables that repeat an earlier one; or name another recipient.",
        ) from None
    hidden = (found.suppressed | joined.hidden)[joined.numbers] & counted.grid.is_published
    unsafe = (counted.contributors > 0) & (counted.contributors < asked.rules.threshold) & counted.grid.is_published
    return replace(found, suppressed=hidden, primary=unsafe & hidden, values=counted.contributors, witnesses=())


def audit_joined(rows: pa.Table, joined: Joined, counted: Counted, asked: CountsPolicy) -> None:
    """Audit released rows together with what earlier tables show; raises as ``counts``."""
    if joined.changed:
        return  # what both show does not add up; the differences were judged
    truth, threshold = joined.counted.contributors, asked.rules.threshold
    shown = np.full(len(truth), np.nan)
    shown[joined.numbers] = shown_cells(rows, counted, asked)[0]
    shown = np.where(np.isnan(joined.known), shown, joined.known)
    is_small = (truth > 0) & (truth < threshold) & (joined.own | joined.is_known) & np.isnan(shown)
    audit = audit_of(joined.counted.grid, asked.rules.joint, shown)
    low, high = asked.rules.interval or (0, threshold)
    ends = np.where(is_small, low, np.inf), np.where(is_small, high, 0.0)
    ends = np.fmin(ends[0], joined.least), np.fmax(ends[1], joined.greatest)
    found = audit.faults(0, (is_small | joined.kept) & np.isnan(shown), *ends)
    said = "Together with earlier releases of the ledger what was written is not safe"
    refuse(found, said, "nothing was published; report it as a defect of sqlanon.")
