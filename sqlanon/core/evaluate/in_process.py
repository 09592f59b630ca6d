"""Judging nodes in the process: the same verdicts as by SQL, from arrays of codes and counts.

The statements of ``sql/judge`` and ``sql/model`` are the definition; this is the way for grains that fit in memory and
models that have a ``judge`` (``can_judge``). A node takes one sort of the masked keys of the nearest grain, sums over
its classes, and sums over the values in its failing classes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlanon.core.compiler.question import Question
from sqlanon.core.engines.base import Engine
from sqlanon.core.evaluate.arrays import CodeArrays, fetch_orders
from sqlanon.core.evaluate.class_values import ClassValues
from sqlanon.core.evaluate.grains import Grain, Grains, Rest
from sqlanon.core.evaluate.grouping import group_starts, sums
from sqlanon.core.evaluate.key_layout import KeyLayout, Whole
from sqlanon.core.evaluate.known_sets import BaseRows, KeptOfSets, KnownSets, NodeSets
from sqlanon.core.evaluate.node_costs import FailingClasses, NodeCosts, no_costs
from sqlanon.core.evaluate.release_models import settled, suppressed_alone
from sqlanon.core.evaluate.transfer import Transferred
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import Counts
from sqlanon.core.models import MODELS
from sqlanon.core.models.base import PrivacyModel, is_of_release, judges_sets
from sqlanon.core.models.checked import judge_checked
from sqlanon.core.models.classes import ClassArrays
from sqlanon.core.models.joint_cells import JointCells
from sqlanon.core.models.release import NodeClasses

if TYPE_CHECKING:
    from sqlanon.core.models.classes import Flags, Judgement

MOST_ROWS = 1_000_000
"""Bases of more rows are judged by SQL, which is as fast there and needs less memory."""
EXACT = 2**53
"""Sums of costs below this are exact in floating point."""
THREAD_ROWS = 1_000_000
"""Fewer rows than this, over all nodes of a batch, are judged by one thread (measured)."""
MOST_THREADS = 8
"""Most threads that judge nodes side by side; each needs some 30 bytes a row."""
WIDE = 2**62
"""Sums of squares below this fit a word."""
KEPT_ROWS = 8_000_000
"""Rows that are kept for other questions, where any are: classes of judged nodes, their parts, and the grains that they
came from. Some 200 MB."""

BUILT_IN = (*MODELS, JointCells)
Watched = tuple[tuple[str, ...], bool]
"""The sensitive columns whose values are counted, and whether rows of the base know their classes (``traced``)."""


def can_judge(catalog: Catalog, models: Sequence[PrivacyModel]) -> bool:
    """Return whether nodes can be judged in the process: the base fits, and all models can judge arrays.

    A ``judge`` that a model from outside inherits does not count: it knows nothing of what the class changes.
    """
    largest = max((attribute.domain for attribute in catalog.attributes), default=1)
    return (
        catalog.base_rows <= MOST_ROWS
        and not catalog.has_entity
        and all(type(model) in BUILT_IN or callable(vars(type(model)).get("judge")) for model in models)
        and max(catalog.encoded, 1) * largest < EXACT
        and KeyLayout.of(catalog, watched_columns(catalog, models)) is not None
    )


def watched_columns(catalog: Catalog, models: Sequence[PrivacyModel]) -> tuple[str, ...]:
    """Return the sensitive columns whose values the models count, in the order of the catalog."""
    watched = {model.column for model in models}
    return tuple(attribute.name for attribute in catalog.sensitive if attribute.name in watched)


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """The counts of a node, whether they hold its costs, and the grain that it was judged from."""

    node: Node
    counts: Counts
    has_costs: bool
    grain: Grain


@dataclass(frozen=True, slots=True)
class _Classes:
    """The classes of a node: their keys, in ascending order, and their counters.

    Attributes:
        of_base: per row of the base, its class, where models judge sets of attributes.
    """

    keys: Whole
    rest: Rest | None
    n: Whole
    population: Whole | None
    of_base: Whole | None = None


@dataclass(frozen=True, slots=True)
class _Histogram:
    """The parts of the classes by one sensitive column; ``of_classes``: the classes that have any, None for all."""

    arrays: ClassArrays
    of_classes: Whole | None


@dataclass(frozen=True, slots=True)
class _Formed:
    """What a node is judged by, whatever the thresholds of the models: its classes, and the grain they came from."""

    grain: Grain
    classes: _Classes
    histograms: dict[str, _Histogram]

    @property
    def rows(self) -> int:
        """The rows that are held: classes, and their parts by each sensitive column."""
        return len(self.classes.n) + sum(len(histogram.arrays.n) for histogram in self.histograms.values())


class FormedClasses:
    """The classes of judged nodes, kept for questions with other thresholds, up to ``KEPT_ROWS``; first in, first out.

    Attributes:
        formed: how many nodes had their classes formed by sorting.
        reused: how many were judged from classes that had been formed before.
    """

    def __init__(self) -> None:
        self.formed = self.reused = 0
        self._kept: dict[tuple[Watched, Node], _Formed] = {}
        self._uses: Counter[Node] = Counter()
        self._rows = 0
        self._lock = Lock()

    def find(self, watched: Watched, node: Node) -> _Formed | None:
        """Return the classes of a node with their parts by the watched columns, if they are kept."""
        found = self._kept.get((watched, node))
        with self._lock:
            self.reused += found is not None
            self.formed += found is None
        return found

    def keep(self, watched: Watched, node: Node, formed: _Formed) -> None:
        """Keep the classes of a node, and with them their grain; the oldest make room."""
        with self._lock:
            self._kept[watched, node] = formed
            self._rows += formed.rows
            self._count(formed.grain, 1)
            while self._rows > KEPT_ROWS and len(self._kept) > 1:
                oldest = self._kept.pop(next(iter(self._kept)))
                self._rows -= oldest.rows
                self._count(oldest.grain, -1)

    def _count(self, grain: Grain, change: int) -> None:
        """Count the uses of a grain, whose rows are kept as long as there are any; the base is kept anyway."""
        before = self._uses[grain.node]
        self._uses[grain.node] = before + change
        if any(grain.node) and 0 in (before, before + change):
            self._rows += change * grain.rows

    def clear(self) -> None:
        """Forget all classes."""
        self._kept.clear()
        self._uses.clear()
        self._rows = 0


class InProcess:
    """The arrays of one source, and the grains that are held of it: plans of the same source share them.

    Args:
        threads: that judge nodes side by side; None: as many as there are cores.

    Attributes:
        classes: the classes of judged nodes, where they are kept for further questions; None: they are not.
    """

    def __init__(self, arrays: CodeArrays, *, threads: int | None = None) -> None:
        self._arrays = arrays
        self._threads = min(MOST_THREADS, threads or os.cpu_count() or 1)
        self._grains: dict[Watched, Grains] = {}
        self._known: dict[tuple[int, int], KnownSets] = {}
        self._of_sets = KeptOfSets()
        self.classes: FormedClasses | None = None

    def judge_for(self, question: Question) -> InProcessJudge:
        """Return what answers a question."""
        slot = question.histograms, any(map(judges_sets, question.models))
        if slot not in self._grains:
            layout = KeyLayout.of(self._arrays.catalog, question.histograms)
            assert layout is not None  # see ``can_judge``
            self._grains[slot] = Grains(self._arrays, layout, question.histograms, traced=slot[1])
        return InProcessJudge(self._grains[slot], question, self._threads, self.classes, self._known_sets)

    def _known_sets(self, k: int, at_most: int) -> KnownSets:
        """Return the classes on sets of attributes, which all plans of the source share."""
        if (k, at_most) not in self._known:
            self._known[k, at_most] = KnownSets(BaseRows.of(self._arrays), at_most, k, self._of_sets)
        return self._known[k, at_most]

    def with_orders(self, engine: Engine) -> None:
        """Fetch the order of the values, unless that was done."""
        if self._arrays.orders is None:
            fetch_orders(engine, self._arrays)

    @property
    def fetched(self) -> tuple[Transferred, ...]:
        """The tables that were fetched."""
        return self._arrays.fetched

    def close(self) -> None:
        """Forget all rows; nothing is judged afterwards."""
        self._arrays.close()
        if self.classes is not None:
            self.classes.clear()
        self._known.clear()
        self._of_sets.clear()
        for grains in self._grains.values():
            grains.close()

    @property
    def built(self) -> int:
        """Number of grains that were kept so far, beside the base."""
        return sum(grains.built for grains in self._grains.values())


class InProcessJudge:
    """Judges nodes for some models from the grains of one source."""

    def __init__(
        self,
        grains: Grains,
        question: Question,
        threads: int,
        classes: FormedClasses | None,
        known_sets: Callable[[int, int], KnownSets],
    ) -> None:
        self.grains = grains
        self._known_sets = known_sets
        self._kept = classes
        self._threads = threads
        self._question = question
        self._monotone = question.monotone
        self._watched = question.histograms
        self._values = [dict(model.values(question.catalog)) for model in question.models]
        self._of_release = [model for model in question.models if is_of_release(model)]
        self._costs = NodeCosts(grains, question) if question.has_costs else None
        catalog = question.catalog
        self._uncovered = catalog.uncovered
        self._size = max(question.size, 1)
        largest = max(catalog.population, self._size, 1)
        self._joint = catalog.earlier
        self._wide = max(catalog.encoded, 1) * largest >= WIDE

    def judge(self, nodes: Sequence[Node], *, exact: bool) -> list[NodeCounts]:
        """Return the counts of some nodes.

        Args:
            exact: also the costs of nodes beyond the limit, and what each model suppresses alone.
        """
        limit = None if exact else self._question.limit
        judged: list[tuple[Node, dict[str, Any], bool, Grain]] = []
        asked: list[tuple[Node, FailingClasses]] = []
        work = list(zip(nodes, self.grains.nearest(nodes), strict=True))
        for (node, grain), (counts, certain, failing) in zip(work, self._judged_all(work, exact), strict=True):
            has_costs = self._costs is None or limit is None or certain <= limit
            if self._costs is not None and has_costs:
                asked.append((node, failing))
            judged.append((node, counts, has_costs, grain))
        costs = iter(self._costs.of(asked) if self._costs is not None else ())
        found = []
        for node, counts, has_costs, grain in judged:
            own, least = next(costs) if self._costs is not None and has_costs else no_costs(node)
            found.append(NodeCounts(node, Counts(**counts, costs=own, min_costs=least), has_costs, grain))
        return found

    def _judged_all(
        self, work: Sequence[tuple[Node, Grain]], exact: bool
    ) -> Iterable[tuple[dict[str, Any], int, FailingClasses]]:
        """Judge each node from its grain; many rows on every core, because numpy sorts beside other threads."""
        if min(len(work), self._threads) == 1 or sum(grain.rows for _, grain in work) < THREAD_ROWS:
            return [self._judged(grain, node, exact) for node, grain in work]
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(lambda item: self._judged(item[1], item[0], exact), work))

    def _judged(self, grain: Grain, node: Node, exact: bool) -> tuple[dict[str, Any], int, FailingClasses]:
        """Return the counts of a node, how many records are certain to be suppressed, and its failing classes."""
        formed = self._formed(grain, node)
        grain, classes, histograms = formed.grain, formed.classes, formed.histograms
        fails = np.zeros(len(classes.n), bool)
        least: Whole | None = None if self._monotone else np.zeros(len(classes.n), np.int64)
        by_model = []
        for model, values in zip(self._question.models, self._values, strict=True):
            if is_of_release(model):
                by_model += [self._alone(model, formed, node)] if exact else []
                continue
            its_fails, its_least = self._judgement(model, values, classes, histograms)
            fails |= its_fails
            if exact:
                by_model.append(int(classes.n[its_fails].sum()))
            if least is not None:
                amounts = classes.n if its_least is None else its_least
                np.maximum(least, np.where(its_fails, amounts, 0), out=least)
        total_of_release = 0
        if self._of_release:
            certain_so_far = np.where(fails, classes.n, 0) if least is None else least
            together = settled(self._of_release, self._as_seen(formed, node, fails, certain_so_far, exact))
            fails, total_of_release = together.fails, together.total
            least = None if least is None else together.certain
        where = fails.nonzero()[0]
        n, certain = classes.n[where], None if least is None else least[where]
        counts, total = self._totals(classes, fails, n, certain)
        counts["by_model"] = tuple(by_model)
        if total_of_release:
            counts["min_total"], total = total_of_release + self._uncovered, max(total, total_of_release)
        failing = FailingClasses(
            grain,
            classes.keys[where],
            classes.rest,
            n.astype(np.float64),
            None if certain is None else certain.astype(np.float64),
        )
        return counts, total, failing

    def _as_seen(
        self, formed: _Formed, node: Node, fails: Flags, certain: Whole, exact: bool, *, chooses: bool = True
    ) -> NodeClasses:
        """Return the classes of a node as release models see them; not ``chooses``: only how many fail counts."""
        classes = formed.classes
        values = ClassValues(self.grains, formed.grain, node, classes.keys, classes.rest)
        # only of nodes whose costs are not asked for beyond the limit may be counted less than all that is suppressed
        limit = None if exact or self._costs is None else self._question.limit

        def known_sets(k: int, at_most: int) -> NodeSets:
            assert classes.of_base is not None
            return NodeSets(self._known_sets(k, at_most), node, classes.of_base, len(classes.n), limit)

        def first_to_go(places: Whole, many: int, gone: Flags, greatest: bool) -> Whole:
            n = np.where(gone, classes.n, 0)
            n[places] = classes.n[places]
            catalog, measure = self._question.catalog, self._question.measure
            many_records = int(classes.n[gone].sum()) + many * int(classes.n[places[0]])
            if not chooses or (not exact and self._question.beyond(many_records)):
                measure = None
            return values.first_to_go(places, many, n, catalog=catalog, measure=measure, greatest=greatest)

        layout, earlier = self.grains.layout, None
        if self._joint is not None:
            earlier = (classes.keys >> layout.class_shift) & ((1 << layout.earlier_bits) - 1)
        of_classes = values.numbers, first_to_go, known_sets, values.words_of
        return NodeClasses(node, classes.n, fails, certain, *of_classes, earlier)

    def _alone(self, model: PrivacyModel, formed: _Formed, node: Node) -> int:
        """Return how many records of a node a release model suppresses, were it alone."""
        nobody = np.zeros(len(formed.classes.n), np.int64)
        return suppressed_alone(model, self._as_seen(formed, node, nobody.astype(bool), nobody, True, chooses=False))

    def _formed(self, grain: Grain, node: Node) -> _Formed:
        """Return the classes of a node: those that are kept, or formed from a grain."""
        if self._kept is None:
            return _Formed(grain, *self._classes(grain, node))
        watched = self._watched, self.grains.traced
        found = self._kept.find(watched, node)
        if found is None:
            found = _Formed(grain, *self._classes(grain, node))
            self._kept.keep(watched, node, found)
        return found

    def _totals(
        self, classes: _Classes, fails: Flags, failing_n: Whole, certain: Whole | None
    ) -> tuple[dict[str, Any], int]:
        """Return the counts of ``sql/judge/totals.sql``, and how many records are certain to be suppressed."""
        passing = classes.n[~fails] if self._joint is None else self._published(classes, fails)
        if classes.population is not None:
            passing = passing[passing > 0]
            if certain is not None:
                certain = certain[failing_n > 0]
            failing_n = failing_n[failing_n > 0]
        suppressed = int(failing_n.sum())
        least = suppressed if certain is None else int(certain.sum())
        counts: dict[str, Any] = {
            "suppressed": suppressed + self._uncovered,
            "min_suppressed": least + self._uncovered,
            "grain": len(classes.n),
            "classes": len(passing),
        }
        if len(passing):
            counts["smallest"], counts["largest"] = int(passing.min()), int(passing.max())
        if self._question.needs == "classes":
            counts |= self._sizes(classes.n, passing, failing_n, failing_n if certain is None else certain)
        if self._question.rejects:
            counts["public_only"] = int((classes.n <= 0).sum())
        return counts, least

    def _published(self, classes: _Classes, fails: Flags) -> Whole:
        """Return the sizes of the published classes: the unions of the joint cells that agree in all but the earlier
        classes, without those that fail. Cells of one class stand side by side where they have no population."""
        layout = self.grains.layout
        starts = group_starts(classes.keys, layout.rest_shift)
        sizes = sums(np.where(fails, 0, classes.n), starts)
        return sizes[sizes > 0]

    def _sizes(self, n: Whole, passing: Whole, failing: Whole, certain: Whole) -> dict[str, int]:
        """Return the counts that measures of classes need."""
        size, population = self._size, self._question.catalog.population
        small = n < size
        counts = {"large": int((~small).sum()), "small_records": int(n[small].sum())}
        if self._wide:  # sums of products that a word may not hold
            n, passing, failing, certain = (array.astype(object) for array in (n, passing, failing, certain))
        counts["squares"] = int((passing * passing).sum())
        counts["spread"] = int((n * np.maximum(n, size)).sum())
        counts["forced"] = int((certain * np.maximum(population - np.maximum(failing, size), 0)).sum())
        return counts

    def _judgement(
        self, model: PrivacyModel, values: dict[str, Any], classes: _Classes, histograms: dict[str, _Histogram]
    ) -> Judgement:
        """Judge each class by a model; a class without records of the subset fails no model of values."""
        judge: Callable[..., Judgement] = model.judge  # type: ignore[attr-defined]  # see ``can_judge``
        if type(model) not in BUILT_IN:
            judge = partial(judge_checked, model)
        if model.column is None:
            return judge(ClassArrays(classes.n, classes.population), values)
        histogram = histograms[model.column]
        fails, least = judge(histogram.arrays, values)
        if histogram.of_classes is None:
            return fails, least
        all_fail, all_least = np.zeros(len(classes.n), bool), np.zeros(len(classes.n), np.int64)
        all_fail[histogram.of_classes] = fails
        all_least[histogram.of_classes] = histogram.arrays.n if least is None else least
        return all_fail, all_least

    def _classes(self, grain: Grain, node: Node) -> tuple[_Classes, dict[str, _Histogram]]:
        """Return the classes of a node, and a histogram a watched column."""
        layout, grains = self.grains.layout, self.grains
        classes: _Classes | None = None
        histograms = {}
        shift = layout.value_shift
        for name, bits in zip(self._watched, layout.value_bits, strict=True):
            of_value = ((1 << bits) - 1) << shift
            parts, rest, n, population, keys = grains.parts(grain, node, of_value)
            starts = group_starts(parts, layout.class_shift)
            if classes is None:
                of_population = None if population is None else sums(population, starts)
                of_base = grains.of_base(grain, keys, group_starts(keys, layout.class_shift)) if grains.traced else None
                classes = _Classes(parts[starts] & layout.of_class, rest, sums(n, starts), of_population, of_base)
            owners = None
            absent = grains.arrays.sensitive[name].absent
            if population is not None or absent is not None:
                counts = n > 0
                if absent is not None:
                    counts &= (parts & of_value) >> shift != absent
                parts, n = parts[counts], n[counts]
                starts = group_starts(parts, layout.class_shift)
                owners = np.searchsorted(classes.keys, parts[starts] & layout.of_class)
            of_classes = classes.n if owners is None else classes.n[owners]
            facts = grains.arrays.sensitive[name].facts
            numbers = (parts & of_value) >> shift
            histograms[name] = _Histogram(ClassArrays(of_classes, None, starts, n, numbers, facts), owners)
            shift += bits
        if classes is None and grains.traced:
            keys, rest = grains.sorted_keys(grain, node)
            starts, n, population = grains.grouped(grain, keys, layout.class_shift)
            classes = _Classes(keys[starts], rest, n, population, grains.of_base(grain, keys, starts))
        elif classes is None:
            ordered = self._joint is not None
            classes = _Classes(*grains.groups(grain, node, layout.class_shift, ordered=ordered))
        return classes, histograms
