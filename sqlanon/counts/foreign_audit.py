"""The audit of tables of counts made elsewhere: which suppressed cells a reader computes, how narrowly, and by what."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

from sqlglot import exp

from sqlanon.core.facts import Facts
from sqlanon.core.source.files import Reading
from sqlanon.core.source.opening import ONLY_TABLE, Source, open_source
from sqlanon.core.sqltrees.trees import column
from sqlanon.counts.foreign import CategoryPath, ForeignPlace, ForeignTable, base_of, recognize
from sqlanon.counts.foreign_cells import HIDDEN, AskedOfTable, Bounds
from sqlanon.counts.foreign_system import ForeignAudit, SumRelation
from sqlanon.errors import InputError

MOST_CELLS, MOST_ROWS, JOINT = 200_000, 100_000, 10_000
SECONDS = 300.0
"""How long cells are judged, at most."""
LISTED = 50
"""Broken relations that are named, at most."""


@dataclass(frozen=True, slots=True)
class ComputedCell(Facts):
    """What a reader can compute of a cell that is not shown.

    Attributes:
        cell: its category in each dimension.
        shown: ``suppressed``, ``bounded``, or ``absent`` where it has no row.
        finding: ``exact``; ``narrow``: below the threshold, or narrower than the bounds that are shown; ``above zero``:
            it cannot be 0, and may be a small count; ``open``.
        width: how many values are possible beside one; None without an end.
        how: relations that give the exact value, none of which can be spared.
    """

    cell: Mapping[str, str]
    shown: str
    finding: str
    low: int
    high: int | None
    how: tuple[str, ...] = ()

    @property
    def width(self) -> int | None:
        """How many values are possible beside one."""
        return None if self.high is None else self.high - self.low


@dataclass(frozen=True, slots=True)
class CountsCheck(Facts):
    """What the audit of tables of counts made elsewhere found. The cells are for the operator.

    Attributes:
        verdict: ``fails``, ``holds``, or ``cannot say``: relations contradict each other, or not all was judged.
        relations: of each dimension, how many sums hold, are broken, or have cells that are not shown.
        small: cells that show a count above 0 and below the threshold.
        contradictions: relations that are broken.
        reasons: why nothing is claimed.
    """

    KEYS = (
        "verdict threshold dimensions cells shown suppressed bounded absent small rounded_to=base relations "
        "contradictions reasons notes"
    )

    threshold: int
    dimensions: Mapping[str, int]
    cells: int
    shown: int
    suppressed: int
    bounded: int
    absent: int
    small: tuple[Mapping[str, str], ...]
    base: int
    relations: Mapping[str, Mapping[str, int]]
    contradictions: tuple[str, ...]
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    computed: tuple[ComputedCell, ...]

    @property
    def verdict(self) -> Literal["fails", "holds", "cannot say"]:
        """What is said of the tables as a whole."""
        if self.contradictions:
            return "cannot say"
        if self.small or any(each.finding in ("exact", "narrow") for each in self.computed):
            return "fails"
        return "cannot say" if self.reasons else "holds"


def check_counts(
    source: object,
    table: str | None = None,
    *,
    beside: Sequence[str] = (),
    threshold: int | None = None,
    reading: Reading | None = None,
    **named: Any,
) -> CountsCheck:
    """Audit tables of counts that were made elsewhere: what a reader computes of cells that are not shown.

    Args:
        source: a path, a URL, an open connection or a frame.
        beside: further tables or sheets of it, and files, that are judged together with it where dimensions agree.
        threshold: counts below it are unsafe; without, the one that the table shows (``<5``), or 5.
        named: what is not recognized, or not rightly, as lists: ``by``, the columns with categories
            (``region>district`` are nested), ``count``, those with counts (``sex=F,M,Total`` are categories of a
            dimension), ``total``, the categories that are totals (``North=a,b`` is the sum of two others), and
            ``mark``, texts for a suppressed count, or for ``TEXT=COUNT`` (``-=0``, ``c=1-4``); and ``rounded``, the
            base that counts are rounded to, 1 for none.

    Raises:
        InputError and its children: the source cannot be read, or what it means is not clear.
    """
    asked = AskedOfTable(**named)
    reading = reading or Reading(needs_records=True, finds_delimiter=True)
    tables = []
    for number, name in enumerate([table, *beside]):
        path, own, read = _named(source, name, reading, is_first=not number)
        with open_source(path, own, reading=read) as opened:
            tables.append(recognize(name or opened.name or "the table", _fetched(opened), asked))
    return _Judging(tables, asked, threshold).check()


def _named(source: object, name: str | None, reading: Reading, *, is_first: bool) -> tuple[object, str | None, Reading]:
    """Return what to open for a table, sheet or file that is named."""
    ending = Path(str(source)).suffix.lower()
    if not is_first and name is not None and Path(name).is_file():
        return name, None, reading
    if name is not None and ending in (".xlsx", ".xlsm", ".xls", ".ods"):
        options = {**reading.formats.get("excel", {}), "sheet": name}
        return source, None, replace(reading, formats={**reading.formats, "excel": options})
    is_database = ending in (".duckdb", ".sqlite", ".db") or "://" in str(source)
    return source, name or (ONLY_TABLE if is_database else None), reading


def _fetched(opened: Source) -> dict[str, list[object]]:
    """Return the columns of a table, after its size is looked at."""
    rows = opened.engine.run("count rows", exp.select(exp.Count(this=exp.Star())).from_(opened.relation.copy()))[0][0]
    if rows > MOST_ROWS or rows * len(opened.types) > MOST_CELLS * 5:
        raise InputError(
            f"The table has {rows:,} rows, and at most {MOST_ROWS:,} of counts are judged.",
            hint="it may hold records; `sqlanon counts` makes tables of them.",
        )
    query = exp.select(*map(column, opened.types)).from_(opened.relation.copy())
    found: dict[str, list[object]] = opened.engine.arrow("table of counts", query).to_pydict()
    return found


class _Judging:
    """One audit: the cells of all tables as one system."""

    def __init__(self, tables: Sequence[ForeignTable], asked: AskedOfTable, threshold: int | None) -> None:
        titles = [title for table in tables for title in table.dimensions]
        folded = dict.fromkeys(title.casefold() for title in titles)
        self.asked = asked
        self.names = [next(title for title in titles if title.casefold() == name) for name in folded]
        self.notes = [note if len(tables) == 1 else f"{t.name}: {note}" for t in tables for note in t.notes]
        self.reasons = [f"{t.name}: {what}" for t in tables for what in t.unread]
        self.contradictions: list[str] = []
        self.bounds: dict[ForeignPlace, Bounds] = {}
        self.kinds: dict[ForeignPlace, str] = {}
        self.account: dict[str, dict[str, int]] = {}
        self._occurring: list[list[set[CategoryPath]]] = []
        grids = [self._merged(table) for table in tables]
        if len(tables) > 1:
            joint = [{path for grid in grids for path in grid[place]} for place in range(len(self.names))]
            alike = all(len(grid[n]) in (1, len(own)) for grid in grids for n, own in enumerate(joint))
            grids += [joint] if alike and math.prod(map(len, joint)) <= JOINT else []
        self.relations = [*dict.fromkeys(each for grid in grids for each in _relations(grid))]
        limits = [high + 1 for cell, (low, high) in self.bounds.items() if self.kinds[cell] == "bound" and low < 2]
        self.threshold = threshold or int(min((each for each in limits if math.isfinite(each)), default=5))
        numbers = [low for cell, (low, high) in self.bounds.items() if self.kinds[cell] == "count"]
        self.base = asked.rounded or base_of(numbers)

    def _merged(self, table: ForeignTable) -> list[set[CategoryPath]]:
        """Add the cells of a table, and return the categories that it has in each dimension of all."""
        own = {title.casefold(): place for place, title in enumerate(table.dimensions)}
        at = [own.get(name.casefold()) for name in self.names]
        for place, bounds in table.cells.items():
            cell = tuple(() if number is None else place[number] for number in at)
            if self.bounds.setdefault(cell, bounds) != bounds:
                low, high = max(bounds[0], self.bounds[cell][0]), min(bounds[1], self.bounds[cell][1])
                self.bounds[cell] = (low, high)
                if low > high:
                    self.contradictions.append(f"two tables show other counts of {self.words(cell)}")
            if self.kinds.setdefault(cell, table.kinds[place]) != "count":
                self.kinds[cell] = table.kinds[place]
        none: set[CategoryPath] = {()}
        paths = [none if number is None else {place[number] for place in table.cells} for number in at]
        self._occurring.append(paths)
        closed = [{path[:end] for path in each for end in range(len(path) + 1)} for each in paths]
        if math.prod(map(len, closed)) > MOST_CELLS:
            raise InputError(
                f"{table.name!r} has {math.prod(map(len, closed)):,} cells; at most {MOST_CELLS:,} are judged.",
                hint="name nested dimensions, --by 'region>district', or judge parts of it.",
            )
        return closed

    def words(self, cell: ForeignPlace) -> str:
        """Return where a cell is."""
        return ", ".join(f"{name}={value}" for name, value in self.position(cell).items()) or "the only cell"

    def position(self, cell: ForeignPlace) -> dict[str, str]:
        """Return the categories of a cell, a total as such."""
        return {name: " > ".join(path) or "Total" for name, path in zip(self.names, cell, strict=True)}

    def _said(self, relation: SumRelation) -> str:
        """Return a relation in words."""
        name, place = self.names[relation.dimension], self.position(relation.parent)
        said = f"{name}: {place.pop(name)} is the sum of {len(relation.children)}"
        at = ", ".join(f"{other}={value}" for other, value in place.items())
        return f"{said} ({at})" if at else said

    def _with_absent(self) -> set[ForeignPlace]:
        """Take cells without a row for 0 where all sums say so of which the others are shown; return the rest."""
        sums, before = dict(self.bounds), -1
        while before < len(sums):  # a total without a row, of cells that are shown, hides nothing
            before = len(sums)
            for each in self.relations:
                known = [sums.get(cell, HIDDEN) for cell in each.children]
                if all(low == high for low, high in known):
                    sums.setdefault(each.parent, (sum(low for low, _ in known),) * 2)
        absent = {cell for each in self.relations for cell in (each.parent, *each.children) if cell not in sums}
        shows = []
        for each in self.relations:
            inner = [self.bounds[cell] for cell in each.children if cell in self.bounds]
            known = [self.bounds.get(each.parent, HIDDEN), *inner]
            if 0 < len(inner) < len(each.children) and all(low == high for low, high in known):
                shows.append(known[0][0] == sum(low for low, _ in inner))
        # a table would show a cell if each of its categories occurs in it
        shown = {c for own in self._occurring for c in absent if all(map(set.__contains__, own, c))}
        if shows and all(shows):
            self.notes.append(f"{len(shown):,} cells without a row are 0, as {len(shows):,} sums show")
            self.bounds |= dict.fromkeys(shown, (0.0, 0.0))
            return set()
        if shown:
            self.reasons.append(f"{len(shown):,} cells have no row, and may be 0 or suppressed")
        return shown

    def check(self) -> CountsCheck:
        """Return what was found."""
        deadline = time.monotonic() + SECONDS
        absent = self._with_absent()
        declared = dict(self.bounds)
        tried = [0] if self.base == 1 else [self.base // 2, self.base - 1]
        for steps in tried if self.asked.rounded else [0, *tried]:
            self.bounds = declared | {
                cell: (max(0.0, low - steps), low + steps)
                for cell, (low, _) in declared.items()
                if self.kinds.get(cell) == "count" and steps
            }
            audit = ForeignAudit([each for each in self.relations if self._open(each)], self.bounds, deadline)
            broken = self._tally() or audit.broken()
            if not broken:
                break
        if self.base > 1:
            how = f"rounded {'to the nearest' if steps < self.base - 1 else 'to one beside'}" if steps else "exact"
            self.notes.append(f"counts are multiples of {self.base}, and read as {how}; --rounded says otherwise")
        self.base = self.base if steps else 1
        self.contradictions += [self._said(each) for each in broken[:LISTED]]
        computed = [] if self.contradictions else [*self._computed(audit, declared, absent)]
        kinds = [self.kinds[cell] for cell in declared if cell in self.kinds]
        small = [c for c, (low, high) in declared.items() if self.kinds.get(c) == "count" and 0 < high < self.threshold]
        return CountsCheck(
            threshold=self.threshold,
            dimensions={
                name: len({cell[place] for cell in declared if cell[place]}) for place, name in enumerate(self.names)
            },
            cells=len(kinds) + len(absent),
            shown=kinds.count("count"),
            suppressed=len(kinds) - kinds.count("count") - kinds.count("bound"),
            bounded=kinds.count("bound"),
            absent=len(absent),
            small=tuple(map(self.position, small if self.base == 1 else [])),
            base=self.base,
            relations=self.account,
            contradictions=tuple(self.contradictions),
            reasons=tuple(self.reasons),
            notes=tuple(self.notes),
            computed=tuple(computed),
        )

    def _open(self, relation: SumRelation) -> list[ForeignPlace]:
        """Return the cells of a relation that are not known."""
        return [c for c in (relation.parent, *relation.children) if len({*self.bounds.get(c, HIDDEN)}) > 1]

    def _tally(self) -> list[SumRelation]:
        """Count of each dimension the sums that hold, are broken or open; return the broken ones."""
        self.account, broken = {}, []
        for each in self.relations:
            if each.parent not in self.kinds:
                continue
            known = [self.bounds.get(cell, HIDDEN) for cell in (each.parent, *each.children)]
            low, high = (sum(bounds[end] for bounds in known[1:]) for end in (0, 1))
            agrees = low <= known[0][1] and known[0][0] <= high
            is_open = any(bounds[0] != bounds[1] for bounds in known)
            own = self.account.setdefault(self.names[each.dimension], {"hold": 0, "broken": 0, "open": 0})
            own["broken" if not agrees else "open" if is_open else "hold"] += 1
            broken += [] if agrees else [each]
        return broken

    def _computed(
        self, audit: ForeignAudit, declared: Mapping[ForeignPlace, Bounds], absent: set[ForeignPlace]
    ) -> Iterator[ComputedCell]:
        """Yield what a reader computes of each cell that is not shown."""
        hidden = [cell for cell, kind in self.kinds.items() if kind != "count" and len({*declared[cell]}) > 1]
        open_in: dict[ForeignPlace, int] = {}  # what a single sum gives comes first
        for each in audit.relations:
            cells = self._open(each)
            open_in |= {cell: min(len(cells), open_in.get(cell, len(cells))) for cell in cells}
        audit.scatter()
        left = 0
        for cell in sorted([*hidden, *absent], key=lambda cell: open_in.get(cell, 0)):
            try:
                low, high = audit.range_of(cell)
            except TimeoutError:  # of those that are left some may be known already
                left += 1
                continue
            is_bounded, own = self.kinds.get(cell) == "bound", declared.get(cell, HIDDEN)
            finding = "above zero" if 0 < low < self.threshold else "open"
            if low == high and (low or cell not in absent):
                finding = "exact"
            elif (low, high) != own if is_bounded else cell not in absent and high < self.threshold:
                finding = "narrow"
            how = audit.why(cell) if finding == "exact" else []
            shown = "bounded" if is_bounded else "absent" if cell in absent else "suppressed"
            most = None if math.isinf(high) else int(high)
            yield ComputedCell(self.position(cell), shown, finding, int(low), most, tuple(map(self._said, how)))
        if left:
            judged = f"{len(hidden) + len(absent) - left:,} were, and are listed with what they may be"
            self.reasons.append(f"{left:,} cells were not judged within {SECONDS:.0f} s; {judged}")
        if audit.undecided:
            self.reasons.append(f"{audit.undecided:,} bounds are not proven for whole numbers, which may say more")


def _relations(grid: Sequence[set[CategoryPath]]) -> Iterator[SumRelation]:
    """Yield each category that has parts in a dimension, with every cell of the other dimensions."""
    for place, paths in enumerate(grid):
        inner: dict[CategoryPath, list[CategoryPath]] = {}
        for path in sorted(paths):
            if path:
                inner.setdefault(path[:-1], []).append(path)
        for rest in product(*(sorted(own) for other, own in enumerate(grid) if other != place)):
            for parent, children in inner.items():
                cells = [(*rest[:place], path, *rest[place:]) for path in (parent, *children)]
                yield SumRelation(place, cells[0], tuple(cells[1:]))
