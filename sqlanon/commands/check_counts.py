"""``sqlanon check --counts``: what a reader computes of the suppressed cells of tables of counts made elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sqlanon.commands.common import reading_with
from sqlanon.commands.standard_streams import STANDARD, spool_standard_input
from sqlanon.commands.verbosity import say
from sqlanon.core.words import counted
from sqlanon.counts.foreign_audit import ComputedCell, CountsCheck, check_counts
from sqlanon.errors import InputError

MOST = 60
"""Cells that are printed; --json has all."""
OWN = ("by", "count", "total", "mark", "beside", "threshold", "rounded", "show_values")
TEXTS = {
    "holds": "It holds: by these sums alone no cell is computed exactly, and each that may be small may be 0 to {}",
    "fails": "It does not hold",
    "cannot say": "Nothing is claimed of it",
}
FINDINGS = {
    "exact": "can be computed exactly",
    "narrow": "can be computed more narrowly than {threshold} and more, or than its bounds",
    "above zero": "cannot be 0: protected only where the count is no small one",
}


def execute(counts: bool, **given: Any) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    own = {name: given.pop(name) for name in OWN}
    if not counts:
        from sqlanon.commands.check import execute as check_models

        if named := [name for name, value in own.items() if value]:
            option = named[0].replace("_", "-").replace("beside", "with")
            raise InputError(f"--{option} is of tables of counts.", hint="give --counts too.")
        return check_models(**given)
    of_both = ("source", "table", "csv", "as_json")
    if others := [name for name, value in given.items() if value and name not in of_both]:
        raise InputError(
            f"--counts goes without --{others[0].replace('_', '-')}.", hint="that one is of records; check them apart."
        )
    path = str(spool_standard_input()) if given["source"] == STANDARD else given["source"]
    for name in ("by", "count"):
        own[name] = [part.strip() for text in own[name] for part in text.split(",")]
    checked = check_counts(
        path,
        given["table"],
        reading=reading_with(given["csv"]),
        **{name: value for name, value in own.items() if name != "show_values"},
    )
    if given["as_json"]:
        cells = [_document(cell, own["show_values"]) for cell in checked.computed]
        print(json.dumps(checked.to_dict() | {"computed": cells}))
    else:
        for line in _lines(checked, own["show_values"]):
            say(line)
    return {"holds": 0, "fails": 1, "cannot say": 2}[checked.verdict]


def _document(cell: ComputedCell, shows: bool) -> dict[str, Any]:
    document = cell.to_dict() | {"width": cell.width}
    return document if shows else {name: value for name, value in document.items() if name not in ("low", "high")}


def _lines(checked: CountsCheck, shows: bool) -> Iterator[str]:
    """Yield the recognized columns, and the findings, for a person."""
    hidden = {"suppressed": checked.suppressed, "bounded": checked.bounded, "without a row": checked.absent}
    parts = ", ".join(f"{number:,} {what}" for what, number in ({"shown": checked.shown} | hidden).items() if number)
    yield f"{counted(checked.cells, 'cell')} ({parts}) by {', '.join(checked.dimensions) or 'nothing'}"
    yield f"  a count below {checked.threshold} is small; that counts are of persons, or of records, no table says"
    yield from (f"  {note}" for note in checked.notes)
    for name, of in checked.relations.items():
        account = f"{of['hold']:,} hold, {of['open']:,} have cells that are not shown, {of['broken']:,} are broken"
        yield f"  sums of {name}: {account}"
    if checked.contradictions:
        yield "No table agrees with what is shown. These contradict it, or each other:"
        yield from (f"  {each}" for each in checked.contradictions)
        yield "Name the totals (--total), or leave out what is no part of them (--by, --count)."
    if checked.small:
        yield f"{counted(len(checked.small), 'cell')} with a small count that is shown:"
        yield from (f"  {_at(cell)}" for cell in checked.small[:MOST])
    for finding, words in FINDINGS.items():
        cells = [cell for cell in checked.computed if cell.finding == finding]
        if cells:
            yield f"{counted(len(cells), 'cell')} that {words.format(threshold=checked.threshold)}:"
        for cell in cells[:MOST]:
            ends = f": {cell.low}" + (f" to {'any' if cell.high is None else cell.high}" if cell.width != 0 else "")
            width = ", without an upper end" if cell.width is None else f", {cell.width} wide" if cell.width else ""
            how = f" (by {'; '.join(cell.how)})" if cell.how else ""
            yield f"  {_at(cell.cell)}{ends * shows}{width}{how}"
        if len(cells) > MOST:
            yield f"  and {len(cells) - MOST:,} more; --json has all"
    yield from (f"  {reason}" for reason in checked.reasons)
    yield f"{TEXTS[checked.verdict].format(checked.threshold)}."


def _at(cell: Any) -> str:
    return ", ".join(f"{name} {value}" for name, value in cell.items()) or "the only cell"
