"""The report of tables of counts: as they were published, what suppression cost, and, for the operator, why it was.

A recipient's is made of the released rows and their manifest alone. So it cannot tell an unsafe cell from one that
protects it, nor how many there are of either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import compress
from typing import Any

from sqlanon.core.words import trimmed
from sqlanon.counts.release import UNITS, CountsRelease
from sqlanon.counts.released import PROTECTING, WrittenColumns, columns_of
from sqlanon.report.blocks import (
    SHORT_BAR,
    Bar,
    Block,
    Cell,
    Field,
    Listing,
    Noted,
    Part,
    Parts,
    Section,
    Sentence,
    Table,
    View,
    facts,
    share_of,
)  # fmt: skip
from sqlanon.report.settings import target_name
from sqlanon.report.wording import count, counted, duration, figure, share, visible

MOST_ROWS = 60
"""Rows of a table that are shown; of a longer one the first."""
MOST_COLUMNS = 8
"""The most categories of a last dimension that stand side by side."""
MARK = "x"
"""What stands for a suppressed cell."""
FOR_WHOM = {
    "operator": "For the operator: says which suppressed cells are unsafe; do not hand it on with the release.",
    "recipient": "For the recipient: holds no more than the released tables and their manifest show.",
}
"""For whom a report of counts is, by its audience."""
LIMITS = (
    "Other releases: a table of the same records by other categories, or of another day, may differ from this one by "
    "few of them.",
    "Large cells: that everybody in one has a property is published, unless its dimension was named as sensitive "
    "(groups).",
    "What others know: two persons in a cell who tell each other know the rest of it.",
    "Zeros and categories: that nobody is in a cell, or that somebody is in a category, is published.",
)
"""What suppression does not protect from; docs/counts-limits.md says more."""
LIMITS_OF_NOISE = (
    "Somebody or nobody: a count above 0 says that somebody is in the cell, as 0 stays 0.",
    "Averages: many parts of a total, or many tables, tell more of a count than one does.",
    "Bounds: each count is within D of the true one.",
)
"""What noise does not protect from; docs/counts.md says more."""
Place = tuple[tuple[int | None, str | None], ...]
"""A cell: of each dimension its level, where several are shown, and its category."""


@dataclass(frozen=True, slots=True)
class PublishedCells:
    """The released rows, and nothing else that a recipient has not.

    Attributes:
        reasons: of each row why its cell is suppressed; empty for recipients.
        total: the name of a total.
    """

    rows: Sequence[Mapping[str, Any]]
    columns: WrittenColumns
    total: str
    reasons: Sequence[str]

    def place(self, row: Mapping[str, Any], names: Sequence[str] | None = None) -> Place:
        """Return the cell of a row by some dimensions, or all."""
        levels = dict(self.columns.dimensions)
        of = [(name, levels[name]) for name in (levels if names is None else names)]
        return tuple((None if level is None else row[level], row[name]) for name, level in of)

    def in_order(self, names: Sequence[str], numbers: Sequence[int]) -> list[int]:
        """Return rows by their categories, each dimension in the order of the release, but for totals, which are last.

        Args:
            numbers: of the rows.
        """
        of_dimension = [dict.fromkeys(self.place(self.rows[n], [name])[0] for n in numbers) for name in names]
        ranks = [{each: (each[1] == self.total, place) for place, each in enumerate(own)} for own in of_dimension]
        return sorted(
            numbers, key=lambda n: [r[p] for r, p in zip(ranks, self.place(self.rows[n], names), strict=True)]
        )


def counts_view(release: CountsRelease, audience: str) -> View:
    """Return the report of tables of counts to an audience."""
    is_operator, manifest, output = audience == "operator", release.manifest, dict(release.output)
    number, hidden = manifest["cells"]["published"], manifest["cells"]["suppressed"]
    unit, reasons = UNITS[manifest["unit"]], release.reasons if is_operator and hidden else ()
    cells = PublishedCells(release.long.to_pylist(), columns_of(release.policy), release.policy.rules.total, reasons)
    extent = f"{counted(number, 'cell')} of {counted(len(manifest['counts']), 'table')}, {count(hidden)} of them"
    names = [target_name(*item) for item in output.items()]
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    when = now if is_operator else now[:10]
    policy, least = release.policy.policy, manifest["rules"].get("threshold")
    versions = ", ".join(f"{name} {version}" for name, version in manifest["versions"].items())
    written = [("written", f"{kind} {name}") for kind, name in zip(output, names, strict=True)]
    perturbed = manifest["system"] == "keys"
    more, what = ("counts.md", "noise") if perturbed else ("counts-limits.md", "suppression")
    limits = f"More: docs/{more} of sqlanon. All counts above are of {unit}."
    listed = Listing(LIMITS_OF_NOISE if perturbed else LIMITS)
    sections = (
        Section("asked", "What was asked", facts(_asked(manifest, unit), width=45)),
        Section("suppressed", "What became of the cells", tuple(_account(cells, manifest))),
        *(
            Section(f"table-{place}", f"Table {visible(table['name'])}", tuple(_table(cells, table, unit, place)))
            for place, table in enumerate(manifest["counts"], start=1)
        ),
        *([Section("cost", "What it cost, by dimension", tuple(_cost(cells)))] if hidden else ()),
        *([Section("proof", "Proof", tuple(_proof(release)))] if is_operator and hidden else ()),
        Section("limits", f"What {what} does not protect from", (listed, Sentence(limits))),
    )
    return View(
        audience,
        FOR_WHOM[audience],
        title=policy.table or "Tables of counts" if is_operator else next(iter(names), "Tables of counts"),
        about="",
        when=when,
        headline=f"Published: {extent} suppressed."
        if output
        else f"Nothing was written. The release would hold {extent} suppressed.",
        proof=_proven(release) if is_operator else "",
        failure=None,
        origin=(*written, ("time" if is_operator else "day", when), ("versions", versions)),
        warnings=tuple(map(policy.conceal, release.warnings)) if is_operator else (),
        figures=(
            ("Cells", count(number), f"counts of {unit}"),
            ("Suppressed", count(hidden), share_of(hidden, number)),
            *((("Threshold", str(least), f"{unit}; below it a count is unsafe"),) if least else ()),
        ),
        sections=sections,
        facts=release.to_dict()
        if is_operator
        else {name: value for name, value in manifest.items() if name != "policy_fingerprint"},
    )


def _asked(manifest: Mapping[str, Any], unit: str) -> Iterator[tuple[str, str]]:
    """Yield the rules of a release, as its manifest has them."""
    yield "what is counted", unit
    for name, value in manifest["rules"].items():
        words = ", ".join(f"{key} {each}" for key, each in value.items()) if isinstance(value, Mapping) else value
        words = ", ".join(map(str, words)) if isinstance(words, list) else words
        words = ("yes" if words else "no") if isinstance(words, bool) else str(words)
        yield name.replace("_", " "), f"{words} {unit}" if name in ("threshold", "interval") else words
    yield "NULL", "its records are left out" if manifest["nulls"] == "basic" else "a category"
    system = {"joint": "the cells of all dimensions together", "published": "the published cells"}
    if manifest["system"] in system:
        yield "what a reader solves for", system[manifest["system"]]


def _account(cells: PublishedCells, manifest: Mapping[str, Any]) -> Iterator[Block]:
    """Yield how many cells are shown and suppressed, and for the operator by which rules."""
    number, hidden = manifest["cells"]["published"], manifest["cells"]["suppressed"]
    parts = [("published", "shown", number - hidden), ("suppressed", "suppressed", hidden)]
    by_cell = {cells.place(row): why for row, why in zip(cells.rows, cells.reasons, strict=False) if why}
    if cells.reasons:
        further = sum(why == PROTECTING for why in by_cell.values())
        parts[1:] = [("suppressed", "suppressed: unsafe", len(by_cell) - further)]
        parts += [("null", "suppressed: complementary, so that unsafe ones cannot be computed", further)]
    drawn = tuple(Part(kind, name, n, count(n), share_of(n, number)) for kind, name, n in parts)
    yield Parts("Cells", drawn, ("What became of them", "Cells", "Share"), ("all cells", count(number), ""))
    rules = Counter(rule for why in by_cell.values() for rule in why.split(", ") if rule != PROTECTING)
    if rules:
        rows = tuple((rule.replace("_", " "), count(n)) for rule, n in rules.items())
        yield Table((Field("Unsafe by the rule"), Field("Cells", "number")), rows)


def _table(cells: PublishedCells, table: Mapping[str, Any], unit: str, place: int) -> Iterator[Block]:
    """Yield a table as it was published: its last dimension sideways where that has few categories."""
    names, named = [*table["dimensions"]], cells.columns.table
    own = [n for n, row in enumerate(cells.rows) if named is None or row[named] == table["name"]]
    own = cells.in_order(names, own)
    across = dict.fromkeys(cells.place(cells.rows[n], names[-1:])[0] for n in own)
    is_crossed = len(names) > 1 and len(across) <= MOST_COLUMNS and table["measures"] == ["count"]
    fields = [Field(name, width=None if is_crossed else 30) for name in (names[:-1] if is_crossed else names)]
    rows: dict[Place, list[Cell]] = {}
    if is_crossed:
        shown = {cells.place(cells.rows[n], names): _shown(cells, n, cells.columns.count) for n in own}
        for key in shown:
            rows.setdefault(key[:-1], [*(_category(each) for each in key[:-1])])
        for key, row in rows.items():
            row += [shown.get((*key, each), "") for each in across]
        fields += [Field(_category(each), "number", width=9, plain=_category(each)) for each in across]
    else:
        measures = [cells.columns.count, *(m for m in cells.columns.measures if m in table["measures"])]
        for n in own:
            key = cells.place(cells.rows[n], names)
            rows[key] = [*map(_category, key), *(_shown(cells, n, name) for name in measures)]
        fields += [Field(name, "number") for name in measures]
    drawn = tuple(map(tuple, rows.values()))
    across_words = f", {names[-1]} from left to right" if is_crossed else ""
    marks = f"{MARK}: suppressed."
    if cells.reasons:
        marks = f"{MARK}: suppressed; t: below the threshold, g: a group, d: dominance, p: p %, c: complementary."
    yield Sentence(f"Counts of {unit}{across_words}. {marks}")
    yield Table(tuple(fields), drawn[:MOST_ROWS])
    if len(drawn) > MOST_ROWS:
        yield Sentence(f"And {counted(len(drawn) - MOST_ROWS, 'row')} more, which the release has.", soft=False)


def _category(category: tuple[int | None, str | None]) -> str:
    return "NULL" if category[1] is None else category[1]


def _shown(cells: PublishedCells, number: int, name: str) -> Cell:
    """Return a value of a row as it was published; of a suppressed one the operator sees why, by the first letters."""
    row = cells.rows[number]
    value = row[name]
    if row[cells.columns.suppressed]:
        why = (
            " ".join(rule[0] for rule in cells.reasons[number].split(", "))
            if cells.reasons and name == cells.columns.count
            else ""
        )
        return Noted(MARK, why) if why else MARK
    if isinstance(value, float):
        return share(value) if name.startswith("share") else trimmed(f"{value:,.2f}")
    return "" if value is None else count(value)


def _cost(cells: PublishedCells) -> Iterator[Block]:
    """Yield of each dimension how many of the cells with each of its categories are suppressed."""
    every = {cells.place(row): bool(row[cells.columns.suppressed]) for row in cells.rows}
    for place, (name, level_name) in enumerate(cells.columns.dimensions):
        shown = Counter(key[place] for key in every if key[place][1] != cells.total)
        hidden = Counter(key[place] for key in compress(every, every.values()))
        fields = [Field(name, width=30), *([Field("Level", "number")] if level_name else [])]
        fields += [Field("Cells", "number"), Field("Suppressed", "number"), Field("Share", "number")]
        rows: list[tuple[Cell, ...]] = []
        for each, number in [*shown.items()][:MOST_ROWS]:
            named = [_category(each), *([str(each[0])] if level_name else [])]
            figures = (count(number), count(hidden[each]), share_of(hidden[each], number))
            rows.append((*named, *figures, Bar(hidden[each], number)))
        more = len(shown) - MOST_ROWS
        caption = f"And {counted(more, 'category')} more." if more > 0 else ""
        yield Table((*fields, Field("", "bar", SHORT_BAR, "lost")), tuple(rows), caption, "bars")


def _proven(release: CountsRelease) -> str:
    protection = release.protection
    if protection.how == "keys":
        return "Nothing is proven: noise protects by chance, and excludes what is further than D from a count."
    if protection.how == "rounding":
        return "Proven: of no unsafe cell do the rounded counts exclude an end of its interval."
    if protection.optimal:
        return "Proven optimal: nothing of less weight protects the unsafe cells."
    return f"Not proven the least: {share(protection.gap)} of the weight of complementary cells might be saved at most."


def _proof(release: CountsRelease) -> Iterator[Block]:
    """Yield how the complementary cells were found, for the operator."""
    protection = release.protection
    weights = {"cells": "1", "records": "its count"}.get(str(release.policy.rules.weights), "as the document says")
    rows = {"weight of the complementary cells": figure(protection.weight), "a cell weighs": weights}
    rows |= {"no choice has less than": figure(protection.lower_bound), "gap": share(protection.gap)}
    rows |= {"found by": protection.how}
    rows |= {f"time to {name}": duration(seconds) for name, seconds in release.seconds.items()}
    yield from facts(rows.items(), width=45)
