"""The evaluator: nodes in, verdicts out. It owns the memo of verdicts and chooses grain, form and batch size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlanon.core.compiler import batch as compiler
from sqlanon.core.compiler.question import Question
from sqlanon.core.compiler.tallies import TOTALS
from sqlanon.core.engines.base import Engine, Job
from sqlanon.core.evaluate.node_costs import no_costs
from sqlanon.core.evaluate.settling import settle, suppressed_alone
from sqlanon.core.evaluate.shared_counts import SharedCounts
from sqlanon.core.evaluate.snapshots import Snapshot, SnapshotStore
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import Counts
from sqlanon.core.measures.loss import decides
from sqlanon.core.models import least_size
from sqlanon.core.models.base import PrivacyModel, is_of_release
from sqlanon.core.search.base import Problem, Progress, Request, Verdict
from sqlanon.core.search.verdicts import required_counts, verdict_of
from sqlanon.core.sqltrees import names

if TYPE_CHECKING:  # arrays are imported where they are used
    from sqlanon.core.evaluate.in_process import InProcess, InProcessJudge
    from sqlanon.core.evaluate.person_judging import PersonsInProcess, PersonsJudge

CROSS_ROWS = 80_000
"""Up to this many grain rows a cross join with the masks beats a UNION ALL of the nodes (measured with keys of one to
three words)."""
STATEMENT_ROWS = 300_000
"""The fixed price of a statement, in grain rows x nodes: measured 5 ms, most of it planning, at 17 ns a row."""
LANE_ROWS = 100_000
"""Fewer grain rows x nodes than this are not worth a second statement side by side."""
MOST_ARMS = 4
"""Most grains that a batch is judged from."""
ARM_ROWS = 60_000
"""Each grain but one must save this many rows: the price of one more in a statement (measured: about 1 ms)."""
MAX_BATCH = 64
"""Most nodes of one statement."""
MAX_SHARE = 16
"""Most nodes of one lane that a search should request at once: more are judged too early, and in vain."""
PLACES = (1, 4, 16, MAX_BATCH)
"""Sizes of statements of the form ``cross``, whose last places may stay free: few texts, so that few are compiled."""
CHUNK_ROWS = 4_000_000
"""Largest grain rows x nodes of one statement."""


MOST_LEVELS = 2_000_000
"""Levels of the verdicts that a search with its own proof may hold: with the boxes under them some 700 MB."""


class Evaluator:
    """Judges nodes for the models of one policy over the snapshots of a plan.

    Args:
        most: nodes of one statement; 1 judges them one by one.
        lanes: statements side by side; None is what the engine has.
        local: judges in the process; None: by SQL.

    Attributes:
        shared: counts that searches under other limits share; None: there are no others.
        origins: how many verdicts of the search came from which grain: ``base``, or a snapshot by its levels.
        rows_read: grain rows times nodes, over all statements: what a search costs whatever the machine.
    """

    def __init__(
        self,
        engine: Engine,
        snapshots: SnapshotStore,
        problem: Problem,
        models: Sequence[PrivacyModel],
        *,
        most: int = MAX_BATCH,
        lanes: int | None = None,
        local: InProcess | PersonsInProcess | None = None,
    ) -> None:
        self._engine = engine
        catalog = self._catalog = problem.catalog
        self._snapshots = snapshots
        self._problem = problem
        limit = catalog.allowed - catalog.uncovered
        measure = problem.measure
        self._question = Question(catalog, tuple(models), least_size(models), measure.needs, limit, measure=measure)
        self._full = replace(self._question, limit=None, by_model=True)
        self._most = most
        self._lanes = engine.lanes if lanes is None else min(lanes, engine.lanes)
        self._memo: dict[Node, Verdict] = {}
        self.origins: Counter[str] = Counter()
        self.rows_read = 0
        self._local = None if local is None else local.judge_for(self._question)
        self.shared: SharedCounts | None = None
        self._of_release = any(map(is_of_release, models))
        self._batches: dict[tuple[bool, str | None], compiler.Batch] = {}
        self._texts: dict[tuple[str, tuple[int, ...], bool, str | None], str] = {}

    @property
    def judged(self) -> Collection[Verdict]:
        """All verdicts so far."""
        return self._memo.values()

    @property
    def question(self) -> Question:
        """The question that ``judge(exact=True)`` answers."""
        return self._full

    def forget(self) -> None:
        """Drop the oldest quarter of the verdicts, where there are too many; nodes are judged again when asked for."""
        most = MOST_LEVELS // max(len(self._catalog.attributes), 1)
        if len(self._memo) > most:
            for node in list(islice(self._memo, max(most // 4, 1))):
                del self._memo[node]

    def report(self, progress: Progress) -> None:
        """Say how far a search is, to whoever watches."""
        best, bound = progress.incumbent, progress.lower_bound
        loss = None if best is None else best.loss
        self._engine.journal.report(
            "searching",
            done=progress.evaluated,
            unit="nodes judged",
            loss=loss,
            lower_bound=bound if bound is None or loss is None else min(bound, loss),
        )

    def judge(self, requests: Sequence[Request], *, exact: bool = False) -> list[Verdict]:
        """Return the verdicts of the requested nodes, in their order; a repeated node costs no statement.

        ``exact`` asks for the costs of nodes that cannot be candidates too, and for the counts of each model.
        """
        wanted: dict[Node, Node] = {}
        for request in requests:
            known = self._memo.get(request.node)
            if known is None or (exact and not known.by_model):
                wanted.setdefault(request.node, request.floor)
        if self.shared is not None and not exact:
            wanted = self._not_shared(self.shared, wanted)
        if self._local is not None:
            if wanted:
                self._judge_locally(self._local, wanted, exact)
            return [self._memo[request.node] for request in requests]
        self._snapshots.prepare(list(wanted))
        if self._of_release:
            for node in wanted:
                self._judge_settled(node, exact)
            return [self._memo[request.node] for request in requests]
        work = [self._job(share, exact) for share in self._shares(list(wanted))]
        question = self._full if exact else self._question
        answers = self._engine.run_many("evaluate", [job for _, job in work])
        for (nodes, _), rows in zip(work, answers, strict=True):
            for node, counts, has_costs in counted(question, nodes, rows):
                self._note(node, counts, has_costs=has_costs, exact=exact)
        return [self._memo[request.node] for request in requests]

    def _not_shared(self, shared: SharedCounts, wanted: Mapping[Node, Node]) -> dict[Node, Node]:
        """Answer the nodes whose counts are shared, and return the others, with their floors."""
        left = {}
        for node, floor in wanted.items():
            known = shared.find(self._question, node)
            if known is None:
                left[node] = floor
            else:
                counts, has_costs = known
                self._memo[node] = verdict_of(self._problem, self._question.models, node, counts, exact=has_costs)
        return left

    def _note(self, node: Node, counts: Counts, *, has_costs: bool, exact: bool) -> None:
        """Remember the verdict of a node that was judged, and share its counts; those of the search only."""
        self._memo[node] = verdict_of(self._problem, self._question.models, node, counts, exact=has_costs)
        if self.shared is not None and not exact:
            beyond = self._question.beyond(counts.suppressed - self._catalog.uncovered)
            if beyond and self._of_release and decides(self._question.measure):
                return  # which of equal classes are suppressed was not asked for
            self.shared.keep(node, counts, has_costs=has_costs)

    def _judge_locally(self, judge: InProcessJudge | PersonsJudge, wanted: Mapping[Node, Node], exact: bool) -> None:
        """Judge nodes in the process; they are given with their floors."""
        judge.grains.prepare(list(wanted.values()))
        titles: Counter[str] = Counter()
        for found in judge.judge(list(wanted), exact=exact):
            self._note(found.node, found.counts, has_costs=found.has_costs, exact=exact)
            self.rows_read += found.grain.rows
            titles[found.grain.title] += 1
        self._engine.journal.verdicts.update(titles)
        if not exact:
            self.origins.update(titles)

    def _judge_settled(self, node: Node, exact: bool) -> None:
        """Judge a node whose classes release models settle in a table of their own."""
        question, snapshot = self._full if exact else self._question, self._snapshots.nearest(node)
        found = settle(self._engine, question, node, snapshot.table)
        _, job = self._job([(node, snapshot)], exact, settled=found.table)
        [rows] = self._engine.run_many("evaluate", [job])
        found.drop()
        [(_, counts, has_costs)] = counted(question, [node], rows)
        if question.has_costs and question.limit is not None and found.total > question.limit:
            has_costs, (own, least) = False, no_costs(node)  # known after they were counted, and not needed
            counts = replace(counts, costs=own, min_costs=least)
        counts = replace(counts, min_total=found.total + self._catalog.uncovered)
        if exact and not question.of_persons:  # a model of persons has no other beside it
            alone = [
                suppressed_alone(self._engine, question, node, snapshot.table, model) if is_of_release(model) else own
                for model, own in zip(question.models, counts.by_model, strict=True)
            ]
            counts = replace(counts, by_model=tuple(alone))
        self._note(node, counts, has_costs=has_costs, exact=exact)

    def _shares(self, nodes: Sequence[Node]) -> Iterator[list[tuple[Node, Snapshot]]]:
        """Yield the nodes with the grains to judge them from, in shares of about the same work: one a statement."""
        served = self._served(nodes)
        served.sort(key=lambda item: (item[1].rows, item[1].node))
        total = sum(snapshot.rows for _, snapshot in served)
        fair = max(-(-total // self._lanes), LANE_ROWS // 2)
        share: list[tuple[Node, Snapshot]] = []
        rows = 0
        for node, snapshot in served:
            full = rows >= fair or rows + snapshot.rows > max(CHUNK_ROWS, snapshot.rows)
            if share and (full or len(share) >= self._most):
                yield share
                share, rows = [], 0
            share.append((node, snapshot))
            rows += snapshot.rows
        if share:
            yield share

    def _served(self, nodes: Sequence[Node]) -> list[tuple[Node, Snapshot]]:
        """Return each node with the grain to judge it from.

        It is the nearest one, if enough nodes share it to be worth a part of a statement of its own; otherwise the
        nearest one that serves all.
        """
        common = self._snapshots.nearest(tuple(map(min, zip(*nodes, strict=True)))) if nodes else self._snapshots.base
        served = [(node, self._snapshots.nearest(node)) for node in nodes]
        gains: Counter[Node] = Counter()
        for _, snapshot in served:
            gains[snapshot.node] += common.rows - snapshot.rows
        worth = {node for node, gain in gains.most_common(MOST_ARMS - 1) if gain > ARM_ROWS}
        return [(node, snapshot if snapshot.node in worth else common) for node, snapshot in served]

    def _job(
        self, share: Sequence[tuple[Node, Snapshot]], exact: bool, *, settled: str | None = None
    ) -> tuple[list[Node], Job]:
        """Return the statement that judges a share of the nodes; of one, whose classes are ``settled`` in a table."""
        question = replace(self._full if exact else self._question, settled=settled)
        grains = list({snapshot.node: snapshot for _, snapshot in share}.values())
        arm_of = {snapshot.node: arm for arm, snapshot in enumerate(grains)}
        nodes = [node for node, _ in share]
        arms = [arm_of[snapshot.node] for _, snapshot in share]
        cross = all(grain.rows <= CROSS_ROWS for grain in grains)
        form: compiler.Form = "cross" if cross else "union"
        places = next(size for size in PLACES if size >= len(nodes)) if cross else len(nodes)
        text = self._text(question, _spread(len(grains), places) if cross else tuple(arms), form, exact)
        bound = compiler.parameters(question, nodes, arms, form=form, places=places)
        for arm in arms:
            self.rows_read += grains[arm].rows
            self._engine.journal.verdicts[grains[arm].title] += 1
            if not exact:
                self.origins[grains[arm].title] += 1
        return nodes, Job({names.grain(arm): grain.table for arm, grain in enumerate(grains)}, text, bound)

    def _text(self, question: Question, arms: tuple[int, ...], form: compiler.Form, exact: bool) -> str:
        batch, slot = (exact, question.settled), (form, arms, exact, question.settled)
        if slot not in self._texts:
            if batch not in self._batches:
                self._batches[batch] = compiler.Batch(question)
            self._texts[slot] = self._engine.prepared(self._batches[batch].of(arms, form=form))
        return self._texts[slot]


def _spread(grains: int, places: int) -> tuple[int, ...]:
    """Return an arm a place such that every grain occurs."""
    return tuple(min(place, grains - 1) for place in range(places))


def batch_size(lanes: int, base_rows: int) -> int:
    """Return how many nodes a search should request at once.

    They are enough, on every lane, that the fixed price of the statements does not matter.
    """
    return lanes * max(2, min(MAX_SHARE, STATEMENT_ROWS // max(base_rows, 1)))


def verdicts(
    problem: Problem, question: Question, nodes: Sequence[Node], rows: Sequence[tuple[Any, ...]]
) -> list[Verdict]:
    """Fold the rows of ``compiler.batch`` into one verdict per node (pure; any engine's rows will do)."""
    return [
        verdict_of(problem, question.models, node, counts, exact=has_costs)
        for node, counts, has_costs in counted(question, nodes, rows)
    ]


def counted(
    question: Question, nodes: Sequence[Node], rows: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[Node, Counts, bool]]:
    """Yield each node with its counts, and whether they hold its costs, from the rows of ``compiler.batch``."""
    catalog = question.catalog
    totals: dict[int, dict[str, Any]] = {}
    required = required_counts(question.models, catalog.has_entity)
    nothing = dict.fromkeys((*required, question.limited), 0)  # the counts of a node without any class
    nothing |= dict.fromkeys((f"model_{i}" for i in range(len(question.models) if question.by_model else 0)), 0)
    width = len(question.cost_columns)
    costs = [[(0,) * width] * len(catalog.attributes) for _ in nodes]
    for row in rows:
        position, attribute = row[0], row[1]
        if attribute == TOTALS:
            totals[position] = dict(zip(question.columns, row, strict=True))
        else:
            costs[position][attribute] = row[-width:]
    for position, node in enumerate(nodes):
        own, least = _costs(question, node, costs[position])
        row_of_node = totals.get(position, nothing)
        counts = Counts.from_row(
            row_of_node, required=required, uncovered=catalog.uncovered, costs=own, min_costs=least
        )
        certain = row_of_node[question.limited]
        yield node, counts, not question.has_costs or question.limit is None or certain <= question.limit


def _costs(
    question: Question, node: Node, rows: Sequence[Sequence[float]]
) -> tuple[list[float], list[tuple[float, ...]]]:
    """Return per attribute the cost of the suppressed records, and per level the least of those that are certain."""
    if not question.has_costs:
        return [0] * len(node), [(0,) * (level + 1) for level in node]
    if question.needs == "surprisals":  # lower levels cost more, by an amount that was not asked for
        return [row[0] for row in rows], [(row[-1],) * (level + 1) for row, level in zip(rows, node, strict=True)]
    if question.monotone:
        least = [tuple(row[: level + 1]) for row, level in zip(rows, node, strict=True)]
        return [per[-1] for per in least], least
    return [row[0] for row in rows], [tuple(row[1 : level + 2]) for row, level in zip(rows, node, strict=True)]
