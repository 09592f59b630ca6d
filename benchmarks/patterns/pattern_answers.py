"""What the heuristic, the exact solver and Mondrian give for the tables of the paper on patterns, judged anew.

Every answer is decoded and judged in numpy by the records themselves: no record is lost, each row type of the output
holds k (the fully suppressed excepted), each row keeps what one of the patterns keeps, and what the answer says of
itself is so.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mondrian import mondrian
from pattern_data import Bools, Numbers, Records, RowTypes, records
from pattern_figures import PaperTable

import sqlanon
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.policy import SearchOptions
from sqlanon.core.policy.pattern_order import Pattern, Ties
from sqlanon.core.source.encoding import encode_source
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.sqltrees import names
from sqlanon.recoding.patterns.exact_assignment import exactly
from sqlanon.recoding.patterns.greedy import Assignment, greedy
from sqlanon.recoding.patterns.pattern_set import PatternSet, all_patterns, at_most, constrained
from sqlanon.recoding.patterns.quality import quality


def scenario(columns: Sequence[str], ties: Ties) -> PatternSet:
    """The four constraints of section 3.6 on ADULT2, and the pattern of ☆ alone for outliers."""
    place = columns.index
    return constrained(
        len(columns),
        most=2,
        never=[place("education"), place("salary-class")],
        together=[[place("workclass"), place("occupation")]],
        exclusive=[[place("age"), place("sex"), place("race")]],
        outliers=True,
        ties=ties,
    )


PATTERNS: Mapping[str, Callable[[Sequence[str], Ties], PatternSet]] = {
    "all": lambda columns, ties: all_patterns(len(columns), ties=ties),
    "at most two": lambda columns, ties: at_most(len(columns), 2, outliers=True, ties=ties),
    "scenario": scenario,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a method gave: the paper's figures of it, what is wrong with it, and the proven bound of a solver."""

    figures: Mapping[str, float]
    faults: tuple[str, ...] = ()
    bound: float | None = None


class Prepared:
    """A dataset, encoded in a database, and its distinct records beside it. A context manager."""

    def __init__(self, dataset: Records, path: Path) -> None:
        dataset.write(path)
        role = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
        policy = sqlanon.Policy.from_dict(
            {
                "source": str(path),
                "columns": dict.fromkeys(dataset.columns, role),
                "privacy": [{"type": "k_anonymity", "k": 2}],
            }
        )
        self.dataset = dataset
        self.row_types: RowTypes = dataset.row_types()
        self._source = open_policy_source(None, policy)
        self.engine: DuckDBEngine = self._source.engine
        self.catalog: Catalog = encode_source(self.engine, self._source.relation, policy, self._source.types).catalog
        self._codes = [self._code(position) for position in range(len(dataset.columns))]

    def __enter__(self) -> Prepared:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    def _code(self, position: int) -> tuple[int, int, Numbers, Numbers]:
        """Of a column: the word of its bits, the bits, and what they are in ascending order with their numbers."""
        attribute, coding = self.catalog.attributes[position], self.dataset.coding()[position]
        word = next((w for w in range(self.catalog.words) if attribute.mask(0, w)), 0)
        rows = f'SELECT value, {names.key(word)} FROM "{names.LOOKUP}" WHERE attribute = {position}'
        lookup = self.engine.arrow("read lookup", rows)
        bits = np.array(lookup[names.key(word)].to_pylist(), np.int64)
        numbers = np.array([coding[str(value)] for value in lookup["value"].to_pylist()], np.int64)
        order = np.argsort(bits)
        return word, attribute.mask(0, word), bits[order], numbers[order]

    def assigned(self, found: Assignment) -> tuple[RowTypes, Bools]:
        """The rows that a method left in the database, and what of each is suppressed."""
        rows = self.engine.arrow("read assigned", f'SELECT * FROM "{names.ASSIGNED}"')
        words = [rows[names.key(w)].to_numpy() for w in range(self.catalog.words)]
        columns = [numbers[np.searchsorted(bits, words[word] & mask)] for word, mask, bits, numbers in self._codes]
        suppressed = _stars([use.pattern for use in found.uses], len(columns))
        place = {use.number: i for i, use in enumerate(found.uses)}
        pattern = np.array([place.get(number, -1) for number in rows[names.RULE].to_pylist()], np.int64)
        counts = rows[names.COUNT].to_numpy()
        return RowTypes(np.stack(columns, axis=1), counts, self.row_types.numerical), suppressed[pattern]

    def judged(
        self, rows: RowTypes, suppressed: Bools, patterns: PatternSet, k: int
    ) -> tuple[dict[str, float], list[str]]:
        """The figures of a solution, and what is wrong with it."""
        row_types, outputs = np.unique(np.where(suppressed, -1, rows.values), axis=0, return_inverse=True)
        sizes = np.bincount(outputs, rows.counts)
        figures = {"s": float((suppressed.sum(axis=1) * rows.counts).sum()), **rows.figures(outputs)}
        used = {tuple(np.flatnonzero(row).tolist()) for row in np.unique(row_types < 0, axis=0)}
        faults = []
        if not self._same_records(rows):
            faults.append("records were lost or changed")
        if (sizes[(row_types >= 0).any(axis=1)] < k).any():
            faults.append(f"a row type holds fewer than {k}")
        if not all(pattern in patterns for pattern in used - {patterns.nothing_kept}):
            faults.append("a row matches no pattern")
        return figures, faults

    def untrue(self, found: Assignment, figures: Mapping[str, float]) -> Iterator[str]:
        """What a method, and the quality that the package computes in the database, say of it and is not so."""
        said = quality(self.engine, self.catalog, numeric=self.dataset.numerical)
        of_itself = {"s": said.suppressions, "#h": said.row_types, "h_avg": said.average, "h_max": said.largest}
        for figure, value in {**of_itself, "u": said.usefulness}.items():
            if abs(value - figures[figure]) > 1e-9 * figures[figure]:
                yield f"{figure} is said to be {value}"
        if (found.suppressions, found.row_types) != (said.suppressions, said.row_types):
            yield f"it says {found.suppressions} suppressions and {found.row_types} row types"

    def _same_records(self, rows: RowTypes) -> bool:
        values, place = np.unique(rows.values, axis=0, return_inverse=True)
        counts = np.bincount(place, rows.counts)
        return np.array_equal(values, self.row_types.values) and np.array_equal(counts, self.row_types.counts)


def _stars(patterns: Sequence[Pattern], columns: int) -> Bools:
    """One row a pattern, True where it suppresses; a last row for what is suppressed altogether."""
    rows = [[column in pattern for column in range(columns)] for pattern in patterns]
    return np.array([*rows, [True] * columns])


class Answers:
    """Answers of the methods, each computed once. A context manager."""

    def __init__(self, data: Path, time_limit: float) -> None:
        self._data, self._time_limit = data, time_limit
        self._folder = tempfile.TemporaryDirectory()
        self._prepared: dict[Hashable, Prepared] = {}
        self._known: dict[Hashable, Answer] = {}

    def __enter__(self) -> Answers:
        return self

    def __exit__(self, *_: object) -> None:
        for prepared in self._prepared.values():
            prepared.engine.close()
        self._folder.cleanup()

    def answer(self, table: PaperTable, method: str, k: int) -> Answer:
        """What ``method`` gives for the dataset and the patterns of a table."""
        key = (self._key(table), table.patterns, table.ties, method, k)
        if key not in self._known:
            self._known[key] = getattr(self, f"_{method}")(table, k)
        return self._known[key]

    def prepared(self, table: PaperTable) -> Prepared:
        """The dataset of a table, encoded."""
        key = self._key(table)
        if key not in self._prepared:
            dataset = records(self._data, table.dataset, table.numerical, table.columns)
            self._prepared[key] = Prepared(dataset, Path(self._folder.name) / f"{len(self._prepared)}.parquet")
        return self._prepared[key]

    def _key(self, table: PaperTable) -> Hashable:
        return (table.dataset, table.numerical, table.columns)

    def _greedy(self, table: PaperTable, k: int) -> Answer:
        prepared = self.prepared(table)
        patterns = PATTERNS[table.patterns](prepared.dataset.columns, table.ties)
        start = time.perf_counter()
        found = greedy(prepared.engine, prepared.catalog, patterns, k)
        seconds = time.perf_counter() - start
        figures, faults = prepared.judged(*prepared.assigned(found), patterns, k)
        faults += prepared.untrue(found, figures)
        return Answer({**figures, "r": seconds}, tuple(faults))

    def _exact(self, table: PaperTable, k: int) -> Answer:
        prepared = self.prepared(table)
        patterns = PATTERNS[table.patterns](prepared.dataset.columns, table.ties)
        start = time.perf_counter()
        limits = SearchOptions(time_limit=self._time_limit)
        found, proof = exactly(prepared.engine, prepared.catalog, patterns, k, left_over=False, limits=limits)
        seconds = time.perf_counter() - start
        rows, suppressed = prepared.assigned(found)
        figures, faults = prepared.judged(rows, suppressed, patterns, k)
        faults += prepared.untrue(found, figures)
        alone = int(rows.counts[suppressed.all(axis=1)].sum())
        if 0 < alone < k:
            faults.append(f"{alone} records are fully suppressed, fewer than {k}")
        if proof.cost != figures["s"] or proof.optimal != (proof.bound == proof.cost):
            faults.append(f"it says {proof.cost} suppressions, the bound being {proof.bound}")
        return Answer({**figures, "r": seconds}, tuple(faults), proof.bound)

    def _mondrian(self, table: PaperTable, k: int) -> Answer:
        rows = self.prepared(table).dataset.complete().row_types()
        start = time.perf_counter()
        outputs = mondrian(rows.values, rows.counts, k)
        seconds = time.perf_counter() - start
        small = (np.bincount(outputs, rows.counts) < k).any()
        return Answer({**rows.figures(outputs), "r": seconds}, (f"a row type holds fewer than {k}",) if small else ())
