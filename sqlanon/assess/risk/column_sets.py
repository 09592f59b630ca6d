"""Which sets of columns single records out: distinct combinations, uniques, and minimal sample uniques (SUDA2).

The records are grouped once by all columns, and the values of each column are numbered, into a base of packed keys with
counts (``assess/risk/packed_base.py``). A set of columns is then a mask: its combinations are the GROUP BY of
``key & mask`` over the base, and one statement groups by many masks. Nothing but counts comes back.

Definitions (f: the records of a combination; n: the records; Q: the columns):

- distinction: combinations / n; separation: 1 - Σ C(f, 2) / C(n, 2), the share of pairs of records that differ
  (Motwani and Xu, "Efficient algorithms for masking and finding quasi-identifiers", 2007).
- a minimal sample unique of a record: a set of columns on which it is alone, while it is alone on no proper subset
  (Elliot, Manning and Ford, "A computational algorithm for handling the special uniques problem", 2002). The score of a
  record is the sum, over its minimal uniques of size s ≤ m, of Π_{i=s}^{m} (Q - i), where m is the largest size looked
  for. The contribution of a column is the share of all scores that comes from minimal uniques with this column. A
  minimal unique counts for each of its columns, so that the contributions add up to more than 1.

What is pruned changes no result: the supersets of a set that separates all records (a key) separate them too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod

from sqlglot import exp

from sqlanon.assess.relations.nulls import columns_of, printable, working_tables
from sqlanon.assess.risk.packed_base import PackedBase, create_base
from sqlanon.core.engines.base import Engine
from sqlanon.core.facts import Facts
from sqlanon.errors import InputError, UnsupportedError

LARGEST_MINIMAL = 3
"""The largest minimal uniques that are looked for, as studies with SUDA do: larger ones score little, and records with
none but large ones are seldom found by what an attacker knows."""
MOST_COLUMNS = 62
"""Columns at most: a set of them is a mask of one word."""
MOST_SETS = 2_000
"""Sets that are looked at, at most, unless the caller says otherwise."""
MOST_WORK = {"duckdb": 100_000_000}
"""Rows of the base times sets, at most, by the dialect of the engine: some twenty seconds on two cores."""
OTHER_WORK = 20_000_000
"""The same for other engines."""
TELLING = 1.1
"""A set is worth naming if it singles out so many times what the best of its parts does."""
NEARLY_ALL = 0.95
"""The share of records from which on larger sets are not worth naming."""


@dataclass(frozen=True, slots=True)
class ColumnSet(Facts):
    """How far a set of columns distinguishes the records.

    Attributes:
        combinations: distinct ones.
        uniques: records whose combination nobody else has.
        separation: None with fewer than two records.
        minimal_uniques: records of which the set is a minimal unique; None where that was not looked for.
    """

    KEYS = "columns combinations uniques distinction separation minimal_uniques"
    columns: tuple[str, ...]
    records: int
    combinations: int
    uniques: int
    separation: float | None
    minimal_uniques: int | None = None

    @property
    def distinction(self) -> float:
        """The distinct combinations as a share of the records."""
        return self.combinations / self.records if self.records else 0.0

    @property
    def share_of_uniques(self) -> float:
        """The uniques as a share of the records."""
        return self.uniques / self.records if self.records else 0.0


@dataclass(frozen=True, slots=True)
class MinimalUniques(Facts):
    """The minimal sample uniques of all records, up to a size, and their scores (SUDA).

    Attributes:
        largest: the size up to which they were looked for (m).
        records: with a minimal unique.
        by_smallest: size -> records whose smallest minimal unique has it.
        highest: the highest score of a record.
        total: the sum of all scores.
        mean: the score of a record on average, those without a minimal unique included.
        contributions: column -> the share of all scores from minimal uniques with this column.
    """

    KEYS = "largest records by_smallest highest_score=highest total_score=total mean_score=mean contributions"
    largest: int
    records: int
    by_smallest: dict[int, int]
    highest: int
    total: int
    mean: float
    contributions: dict[str, float]


@dataclass(frozen=True, slots=True)
class ColumnSets(Facts):
    """What was found of the sets of some columns; for the operator, because the counts are exact.

    Attributes:
        records: those that take part.
        left_out: records with a NULL in a column, where NULL does not match NULL (``basic``).
        sets: those that were looked at, small ones first, in the order of the columns; the last one holds all columns.
        complete_to: sizes up to this one were looked at in full.
        minimal: None where nothing was looked for (a size of 0), or there are no records.
    """

    KEYS = "columns records left_out sets_looked_at sets_possible=possible complete_to sets minimal_uniques=minimal"
    columns: tuple[str, ...]
    records: int
    left_out: int
    sets: tuple[ColumnSet, ...]
    complete_to: int
    minimal: MinimalUniques | None

    @property
    def possible(self) -> int:
        """The number of sets there are."""
        return (1 << len(self.columns)) - 1

    @property
    def whole(self) -> ColumnSet:
        """The set of all columns."""
        return self.sets[-1]

    def of(self, *names: str) -> ColumnSet | None:
        """Return what was found of a set, whatever the order of the names; None where it was not looked at."""
        return next((item for item in self.sets if set(item.columns) == set(names)), None)

    def scope(self) -> str:
        """Return in a sentence what was looked at."""
        if len(self.sets) == self.possible:
            return f"All {self.possible} sets of the {len(self.columns)} columns were looked at."
        return (
            f"{len(self.sets)} of {self.possible:,} sets of the {len(self.columns)} columns were looked at: all of at "
            f"most {self.complete_to} column{'s' if self.complete_to != 1 else ''}, and all columns together."
        )

    @property
    def sets_looked_at(self) -> int:
        """How many sets were looked at."""
        return len(self.sets)


def measure_column_sets(
    engine: Engine,
    relation: exp.Expr,
    columns: Sequence[str],
    *,
    nulls: str = "extended",
    largest_minimal: int = LARGEST_MINIMAL,
    most_sets: int = MOST_SETS,
    most_work: int | None = None,
) -> ColumnSets:
    """Measure the sets of some columns of a relation; every working table is dropped again.

    Sizes are looked at in full while both limits allow, the smallest first; single columns and the set of all columns
    always are. Minimal uniques are looked for up to ``largest_minimal`` columns, and at most one fewer than there are:
    of all columns together the score is 0 by definition.

    Args:
        nulls: ``extended`` (NULL is a value of its own) or ``basic`` (a record with a NULL in a column is left out).
        most_sets: sets at most.
        most_work: rows of the base times sets at most; None is what the engine does in some twenty seconds.

    Raises:
        InputError: no column is named, or one of the limits is below 0.
        SourceError: the relation has no such column.
        UnsupportedError: there are more than 62 columns, or one has our prefix.
    """
    if not columns:
        raise InputError("No column is named, so there are no sets of columns.", hint="name one or more.")
    if min(largest_minimal, most_sets, most_work or 0) < 0 or nulls not in ("extended", "basic"):
        raise InputError(
            "A limit on sets of columns is below 0, or the NULL match is not known.",
            hint="give limits of 0 or more, and extended or basic.",
        )
    wanted = columns_of(engine, relation, columns)
    if len(wanted) > MOST_COLUMNS:
        raise UnsupportedError(
            f"Sets of {len(wanted)} columns cannot be looked at: {MOST_COLUMNS} at most.", hint="name fewer columns."
        )
    work = work_of(engine) if most_work is None else most_work
    with working_tables(engine) as create:
        base = create_base(engine, create, relation, wanted, leave_out_nulls=nulls == "basic")
        look = _Look(base, tuple(wanted), most_sets, work, largest_minimal)
        return look.all_sizes()


class _Look:
    """A look at the sets of some columns, size by size."""

    def __init__(
        self, base: PackedBase, columns: tuple[str, ...], most_sets: int, most_work: int, largest_minimal: int
    ) -> None:
        self._base, self._columns = base, columns
        self._found: dict[int, ColumnSet] = {}
        """By the mask of its columns."""
        self._keys: list[int] = []
        """The sets that separate all records."""
        self._sizes = _complete_sizes(len(columns), base.combinations, most_sets, most_work)
        self._largest = min(largest_minimal, self._sizes, max(len(columns) - 1, 1)) if base.records else 0

    def all_sizes(self) -> ColumnSets:
        """Return what is found."""
        base, everything = self._base, (1 << len(self._columns)) - 1
        self._add(everything, base.combinations, base.uniques, base.pairs)
        for size in range(1, self._sizes + 1):
            self._look_at(size)
        ordered = sorted(self._found, key=lambda mask: (mask.bit_count(), _places(mask)))
        return ColumnSets(
            self._columns,
            base.records,
            base.left_out,
            tuple(self._found[mask] for mask in ordered),
            self._sizes,
            self._minimal() if self._largest else None,
        )

    def _look_at(self, size: int) -> None:
        """Look at the sets of a size: those that follow from smaller ones are not counted."""
        minimal = size <= self._largest
        masks = [sum(1 << place for place in chosen) for chosen in combinations(range(len(self._columns)), size)]
        counted = [mask for mask in masks if not _holds_one(mask, self._keys)]
        for mask in set(masks) - set(counted):
            self._add(mask, self._base.records, self._base.records, 0, 0 if minimal else None)
        asked = [mask for mask in counted if mask not in self._found or minimal]
        weight = self._weight(size) if minimal else None
        new_keys: list[int] = []
        for counts in self._base.count_sets(asked, weight):
            self._add(counts.mask, counts.combinations, counts.uniques, counts.pairs, counts.minimal)
            if counts.combinations == self._base.records:
                new_keys.append(counts.mask)
        self._keys += new_keys

    def _add(self, mask: int, combined: int, uniques: int, pairs: int, minimal: int | None = None) -> None:
        records = self._base.records
        possible = comb(records, 2)
        separation = (possible - pairs) / possible if possible else None
        named = tuple(self._columns[place] for place in _places(mask))
        self._found[mask] = ColumnSet(named, records, combined, uniques, separation, minimal)

    def _weight(self, size: int) -> int:
        """Return what a minimal unique of a size adds to the score of its record: Π_{i=s}^{m} (Q - i)."""
        return prod(len(self._columns) - i for i in range(size, self._largest + 1))

    def _minimal(self) -> MinimalUniques:
        records, by_smallest, highest = self._base.scores()
        points = {
            mask: (item.minimal_uniques or 0) * self._weight(mask.bit_count())
            for mask, item in self._found.items()
            if mask.bit_count() <= self._largest
        }
        total = sum(points.values())
        shares = {
            name: sum(score for mask, score in points.items() if mask >> place & 1) / total if total else 0.0
            for place, name in enumerate(self._columns)
        }
        mean = total / self._base.records
        return MinimalUniques(self._largest, records, by_smallest, highest, total, mean, shares)


def work_of(engine: Engine) -> int:
    """Return how many rows of the base times sets an engine is asked to group, at most."""
    return MOST_WORK.get(engine.capabilities.dialect, OTHER_WORK)


def columns_to_combine(records: int, work: int, size: int = 3) -> int:
    """Return of how many columns all sets of at most ``size`` are looked at, when all records differ: at least five."""
    columns = 5
    while columns < MOST_COLUMNS and records * sum(comb(columns + 1, i) for i in range(1, size + 1)) <= work:
        columns += 1
    return columns


def _complete_sizes(columns: int, rows: int, most_sets: int, most_work: int) -> int:
    """Return up to which size all sets are looked at: one column at least."""
    size, sets = 1, columns
    while size < columns:
        sets += comb(columns, size + 1)
        if sets > most_sets or sets * rows > most_work:
            break
        size += 1
    return size


def _places(mask: int) -> tuple[int, ...]:
    """Return the places of the columns of a set."""
    return tuple(place for place in range(mask.bit_length()) if mask >> place & 1)


def _holds_one(mask: int, sets: Sequence[int]) -> bool:
    """Return True if one of some sets is a part of a set, or the set itself."""
    return any(part & mask == part for part in sets)


def rank_sets(found: ColumnSets, *, at_most: int = 10, per_size: int = 2) -> tuple[ColumnSet, ...]:
    """Return the sets that single out most, the smallest first: of each size the best ones, and of those only sets that
    single out a tenth more records than every part of them that was looked at, and half of what a smaller set does.

    A larger set always singles out as many records as its parts. It is worth naming for what it adds, and no larger
    sets are where one singles out nearly all (``NEARLY_ALL``).
    """
    chosen: list[ColumnSet] = []
    known = {frozenset(item.columns): item.uniques for item in found.sets}
    for size in range(1, len(found.columns) + 1):
        of_size = [item for item in found.sets if len(item.columns) == size and item.uniques]
        least = max((item.uniques for item in chosen), default=0) / 2
        telling = [item for item in of_size if item.uniques >= max(TELLING * _best_part(item, known), least)]
        best = sorted(telling, key=lambda item: -item.uniques)[:per_size]
        chosen += best
        if len(chosen) >= at_most or (best and best[0].share_of_uniques >= NEARLY_ALL):
            break
    return tuple(chosen[:at_most])


def _best_part(item: ColumnSet, known: Mapping[frozenset[str], int]) -> int:
    """Return the most records that a proper part of a set singles out, of the parts that were looked at."""
    own = frozenset(item.columns)
    smaller = [known[own - {name}] for name in own if own - {name} in known]
    return max(smaller or [uniques for part, uniques in known.items() if part < own], default=0)


def singling_out(item: ColumnSet) -> str:
    """Return in a sentence how many records a set of columns singles out.

    >>> singling_out(ColumnSet(("sex", "zip"), 200, 190, 174, 0.99))
    'sex and zip together single out 87 % of the records (174 of 200).'
    """
    shown = [*map(printable, item.columns)]
    one = len(shown) == 1
    listed = shown[0] if one else f"{', '.join(shown[:-1])} and {shown[-1]} together"
    share = 100 * item.share_of_uniques
    figure = f"{share:.0f}" if share >= 10 or share == 0 else f"{share:.2g}"
    if item.uniques < item.records and figure == "100":
        figure = "more than 99"
    if item.uniques and share < 0.01:
        figure = "less than 0.01"
    verb = "singles out" if one else "single out"
    return f"{listed} {verb} {figure} % of the records ({item.uniques:,} of {item.records:,})."
