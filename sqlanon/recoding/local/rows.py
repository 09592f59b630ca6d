"""The state of a choice of nodes in the process: the same answers as by SQL, from arrays of codes and counts.

For classes that are judged by their size alone a node takes one sort of the rows, which is kept as the number of each
row's class. What a sequence publishes is then one count of classes a node, over the rows that are left. So candidates
are estimated by what they would take now, and only the best are followed through the nodes behind them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sqlanon.core.compiler.question import Question
from sqlanon.core.engines.base import Engine
from sqlanon.core.evaluate.arrays import CodeArrays, Real, fetch
from sqlanon.core.evaluate.grains import Grains
from sqlanon.core.evaluate.grouping import group_starts
from sqlanon.core.evaluate.key_layout import KeyLayout, Whole
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.search.base import Problem
from sqlanon.recoding.local.kept import has_costs, loss, shares
from sqlanon.recoding.local.state import Candidate, Published, State

MOST_ROWS = 1_000_000
"""Bases of more rows stay in the database: the numbers of their classes would take more memory than they save time."""
KEPT_NUMBERS = 50_000_000
"""Numbers of classes that are kept, a row and node one: some 200 MB. The oldest make room."""


@dataclass(slots=True)
class ClassNumbers:
    """The rows of the base: for each node the number of their class, and what they keep there of their information."""

    arrays: CodeArrays
    grains: Grains
    values: tuple[tuple[Real, ...], ...]
    _classes: dict[Node, Whole] = field(default_factory=dict)

    @classmethod
    def of(cls, engine: Engine, problem: Problem) -> ClassNumbers:
        """Fetch the rows; ``fits`` says whether they can be judged here."""
        catalog = problem.catalog
        layout, arrays = KeyLayout.of(catalog, ()), fetch(engine, catalog)
        assert layout is not None
        values = []
        for attribute, own, share in zip(catalog.attributes, arrays.attributes, shares(problem), strict=True):
            leaves, n = own.numbers(own.place.code(arrays.keys), 0), arrays.n * share
            if has_costs(problem):
                of_level = [n * at.costs[-1][above[leaves]] for at, above in zip(own.levels, own.above, strict=True)]
            else:
                of_level = [n * (attribute.height - 1 - level) for level in range(attribute.height)]
            values.append(tuple(of_level))
        return cls(arrays, Grains(arrays, layout, (), traced=True), tuple(values))

    def classes(self, node: Node) -> Whole:
        """Return per row the number of its class."""
        classes = self._classes.get(node)
        if classes is None:
            base = self.grains.base
            keys, _ = self.grains.sorted_keys(base, node)
            classes = self.grains.of_base(base, keys, group_starts(keys, self.grains.layout.rest_shift))
            while self._classes and (len(self._classes) + 1) * len(classes) > KEPT_NUMBERS:
                self._classes.pop(next(iter(self._classes)))
            self._classes[node] = classes = classes.astype(np.int32)
        return classes

    def large(self, node: Node, rows: Whole, size: int) -> NDArray[np.bool_]:
        """Return for some rows whether their class, among these rows, holds so many records."""
        classes = self.classes(node)[rows]
        is_large: NDArray[np.bool_] = (np.bincount(classes, self.arrays.n[rows]) >= size)[classes]
        return is_large

    def kept(self, node: Node, rows: Whole) -> Real:
        """Return the part that the records of some rows keep at a node, as a share of the loss of all."""
        amounts = np.zeros(len(rows))
        for by_level, level in zip(self.values, node, strict=True):
            amounts += by_level[level][rows]
        return amounts


def has_room(catalog: Catalog) -> bool:
    """Return whether the base fits in the process."""
    return catalog.base_rows <= MOST_ROWS and KeyLayout.of(catalog, ()) is not None


def fits(catalog: Catalog, question: Question) -> bool:
    """Return whether candidates are judged in the process: the base fits, and the size of a class alone matters."""
    return has_room(catalog) and all(isinstance(model, KAnonymity) for model in question.models)


@dataclass(slots=True)
class RowState(State):
    """A state whose rows stand in the process: each with the place of the node that publishes it."""

    rows: ClassNumbers = field(kw_only=True)
    _at: Whole = field(init=False)
    _kept: Real = field(init=False)

    def _create(self) -> None:
        self._at = np.zeros(len(self.rows.arrays.n), np.int32)
        self._kept = np.zeros(len(self._at))

    def _drop(self) -> None:
        self.rows.arrays.close()

    def gains(self, nodes: Sequence[Node], present: float) -> list[float]:
        """Return the gain of each node by the rows that it takes, whatever the nodes behind it lose by that."""
        self.evaluated += len(nodes)
        gains = []
        for node in nodes:
            left = np.flatnonzero(self._at >= self._place(node))
            taken = left[self.rows.large(node, left, self.question.size)]
            gains.append(float((self.rows.kept(node, taken) - self._kept[taken]).sum()))
        return gains

    def judge(self, nodes: Sequence[Node]) -> list[Candidate]:
        self.evaluated += len(nodes)
        return [self.exact(node) for node in nodes]

    def exact(self, node: Node) -> Candidate:
        place = self._place(node)
        after, kept = [], self._kept[self._at < place].sum()
        for own, taken in self._flow(place, [node, *self.nodes[place:]]):
            after.append(Published(int(self.rows.arrays.n[taken].sum()), ()))
            kept += self.rows.kept(own, taken).sum()
        records = sum(own.records for own in (*self.published[:place], *after))
        lost = loss(self.problem, [0] * len(node)) - float(kept)
        return Candidate(node, place, tuple(after), lost, self.problem.catalog.population - records)

    def advance(self, place: int) -> None:
        taken_by = list(self._flow(place, self.nodes[place:]))
        behind = self._at >= place
        self._at[behind], self._kept[behind] = len(self.nodes), 0.0
        for at, (node, taken) in enumerate(taken_by, start=place):
            self._at[taken], self._kept[taken] = at, self.rows.kept(node, taken)

    def _flow(self, place: int, nodes: Sequence[Node]) -> Iterator[tuple[Node, Whole]]:
        """Yield nodes that stand at a place and after it, each with the rows that it takes."""
        left = np.flatnonzero(self._at >= place)
        for node in nodes:
            large = self.rows.large(node, left, self.question.size)
            yield node, left[large]
            left = left[~large]


@contextmanager
def opened(engine: Engine, problem: Problem, question: Question, seed: int) -> Iterator[State]:
    """Yield a state without nodes; its tables are dropped at the end, and no script contains them."""
    state = State(engine, problem, question, seed)
    if fits(problem.catalog, question):
        state = RowState(engine, problem, question, seed, rows=ClassNumbers.of(engine, problem))
    replayed = len(engine.replay)
    try:
        with engine.side_by_side():
            state._create()
            yield state
    finally:
        state._drop()
        del engine.replay[replayed:]
