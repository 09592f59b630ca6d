"""Judging nodes in the process where classes are of persons (``profile_k``): the verdicts of ``compiler.profiles``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqlanon.core.compiler.question import Question
from sqlanon.core.evaluate.arrays import CodeArrays, Real
from sqlanon.core.evaluate.in_process import EXACT, MOST_THREADS, THREAD_ROWS, FormedClasses
from sqlanon.core.evaluate.key_layout import Whole
from sqlanon.core.evaluate.person_grains import Flags, PersonGrain, PersonGrains, PersonLayout, Rows, costs_of, summed
from sqlanon.core.evaluate.transfer import Transferred
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import Counts
from sqlanon.core.models.base import PrivacyModel, is_of_release, judges_persons
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.models.profile_k import ProfileK

MOST_ROWS = 20_000_000
"""Bases of more rows are judged by SQL; so many take some 2 GB at most."""


def can_judge_persons(catalog: Catalog, models: Sequence[PrivacyModel]) -> bool:
    """Return whether nodes can be judged in the process: classes are of persons, counted alone, and the base fits."""
    largest = max((attribute.domain for attribute in catalog.attributes), default=1)
    return (
        judges_persons(models)
        and all(type(model) in (KAnonymity, ProfileK) for model in models)
        and not any(map(is_of_release, models))  # what is known of a person is bounded: rounds by SQL
        and catalog.has_entity
        and not catalog.has_population
        and 0 < catalog.base_rows <= MOST_ROWS
        and catalog.encoded * largest < EXACT
        and PersonLayout.of(catalog) is not None
    )


@dataclass(frozen=True, slots=True)
class PersonCounts:
    """The counts of a node, whether they hold its costs, and the grain that it was judged from."""

    node: Node
    counts: Counts
    has_costs: bool
    grain: PersonGrain


class PersonsInProcess:
    """The arrays of one source with entities, and the grains of persons that are held of it.

    Args:
        threads: that judge nodes side by side; None: as many as there are cores.

    Attributes:
        classes: what other ways keep for further questions; here it stays as it is.
    """

    def __init__(self, arrays: CodeArrays, *, threads: int | None = None) -> None:
        layout = PersonLayout.of(arrays.catalog)
        assert layout is not None  # see ``can_judge_persons``
        self._threads = min(MOST_THREADS, threads or os.cpu_count() or 1)
        self.fetched: tuple[Transferred, ...] = arrays.fetched
        self._grains = PersonGrains(arrays, layout)
        arrays.close()  # profiles stand for the rows of persons from here on
        self.classes: FormedClasses | None = None

    def judge_for(self, question: Question) -> PersonsJudge:
        """Return what answers a question."""
        return PersonsJudge(self._grains, question, self._threads)

    def close(self) -> None:
        """Forget all rows; nothing is judged afterwards."""
        self._grains.close()

    @property
    def built(self) -> int:
        """Number of grains that were kept so far, beside the base."""
        return self._grains.built


class PersonsJudge:
    """Judges nodes for some models from the grains of persons of one source."""

    def __init__(self, grains: PersonGrains, question: Question, threads: int) -> None:
        self.grains = grains
        self._question = question
        self._threads = threads
        self._sizes = [model.size for model in question.models]

    def judge(self, nodes: Sequence[Node], *, exact: bool) -> list[PersonCounts]:
        """Return the counts of some nodes.

        Args:
            exact: also the costs of nodes beyond the limit, and what each model suppresses alone.
        """
        work = list(zip(nodes, self.grains.nearest(nodes), strict=True))
        return list(self._judged_all(work, exact))

    def _judged_all(self, work: Sequence[tuple[Node, PersonGrain]], exact: bool) -> Iterable[PersonCounts]:
        if min(len(work), self._threads) == 1 or sum(grain.rows for _, grain in work) < THREAD_ROWS:
            return [self._judged(grain, node, exact) for node, grain in work]
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(lambda item: self._judged(item[1], item[0], exact), work))

    def _judged(self, grain: PersonGrain, node: Node, exact: bool) -> PersonCounts:
        """Return the counts of a node."""
        keys, above = self.grains.generalized(grain, node)
        likely, rows, having = self._likely(grain, above)
        passes = having >= max(self._sizes)
        persons = grain.persons[likely][passes]
        rows = rows.of(passes)
        of_rows = np.repeat(persons, rows.lengths).astype(np.float64)
        published = summed(rows.codes, rows.counts * of_rows, len(keys))
        owners = summed(rows.codes, of_rows, len(keys))
        failing = summed(above, grain.of_keys, len(keys)) - published
        lost = int(grain.persons.sum() - persons.sum())
        counts = self._counts(published, owners, failing)
        counts |= {"suppressed_entities": lost, "min_suppressed_entities": lost}
        if exact:
            of_profiles = grain.persons * grain.records
            all_records, among = int(of_profiles.sum()), of_profiles[likely]
            counts["by_model"] = tuple(all_records - int(among[having >= size].sum()) for size in self._sizes)
        limit = None if exact else self._question.limit
        has_costs = not self._question.has_costs or limit is None or lost <= limit
        if self._question.has_costs and has_costs:
            where = np.flatnonzero(failing)
            surprising = self._question.needs == "surprisals"
            own, least = costs_of(self.grains, node, keys[where], failing[where], surprising=surprising)
        else:
            own, least = [0] * len(node), [(0,) * (level + 1) for level in node]
        return PersonCounts(node, Counts(**counts, costs=own, min_costs=least), has_costs, grain)

    def _likely(self, grain: PersonGrain, above: Whole) -> tuple[Flags, Rows, Whole]:
        """Return which profiles of a grain may have enough persons at a node, their rows there, and how many persons
        have the same rows.

        The sums of all others are shared by fewer persons than any model asks for, and so are their rows.
        """
        _, groups = np.unique(self.grains.sums(grain.parts, above), return_inverse=True)
        likely = (np.bincount(groups, grain.persons) >= min(self._sizes))[groups]
        rows = grain.parts.of(likely)
        merged = self.grains.layout.merged(rows.owners, above[rows.codes], rows.counts, len(rows.starts) - 1)
        numbers = self.grains.numbers(merged)
        having = np.bincount(numbers, grain.persons[likely]).astype(np.int64)[numbers]
        return likely, merged, having

    def _counts(self, published: Real, owners: Real, failing: Real) -> dict[str, Any]:
        """Return the counts of ``sql/judge/totals.sql`` from the records, and the persons, of each key."""
        shown = published[published > 0]
        suppressed = int(failing.sum()) + self._question.catalog.uncovered
        counts: dict[str, Any] = {
            "suppressed": suppressed,
            "min_suppressed": suppressed,
            "grain": len(shown) + int((failing > 0).sum()),
            "classes": len(shown),
        }
        if len(shown):
            counts |= {"smallest": int(shown.min()), "largest": int(shown.max())}
            counts["smallest_entities"] = int(owners[owners > 0].min())
        return counts
