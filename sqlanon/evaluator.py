"""The evaluator: nodes in, verdicts out. It owns the memo of verdicts and chooses grain, form and batch size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlanon.catalog import Catalog
from sqlanon.compiler import evaluate as compiler
from sqlanon.compiler.evaluate import Question
from sqlanon.engines.duckdb import DuckDBEngine
from sqlanon.lattice import Node
from sqlanon.measures.base import Certain, Ground, Tally
from sqlanon.models import least_size
from sqlanon.models.base import PrivacyModel
from sqlanon.search.base import Problem, Request, Verdict
from sqlanon.snapshots import Snapshot, SnapshotStore

CROSS_ROWS = 50_000
"""Up to this many grain rows (one-word keys), a cross join with the masks beats a UNION ALL of the nodes."""
STATEMENT_ROWS = 150_000
"""What a statement costs beside its work, in grain rows x nodes (measured: about 4 ms, at 25 ns a row)."""
MAX_BATCH = 64
"""Most nodes of one statement."""
CHUNK_ROWS = 4_000_000
"""Largest grain rows x nodes of one statement."""


class Evaluator:
    """Judges nodes for the models of one policy over the snapshots of a plan."""

    def __init__(
        self,
        engine: DuckDBEngine,
        catalog: Catalog,
        snapshots: SnapshotStore,
        problem: Problem,
        models: Sequence[PrivacyModel],
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._snapshots = snapshots
        self._problem = problem
        limit = catalog.allowed - catalog.uncovered
        self._question = Question(catalog, tuple(models), least_size(models), problem.measure.needs, limit)
        self._full = replace(self._question, limit=None, by_model=True)
        self._memo: dict[Node, Verdict] = {}
        self._texts: dict[tuple[str, int, bool], str] = {}

    @property
    def evaluated(self) -> int:
        """Distinct nodes that were given a verdict."""
        return len(self._memo)

    @property
    def question(self) -> Question:
        """What a verdict of ``judge(exact=True)`` answers."""
        return self._full

    def judge(self, requests: Sequence[Request], *, exact: bool = False) -> list[Verdict]:
        """The verdicts of the requested nodes, in their order; a repeated node costs no statement.

        ``exact`` asks for the costs of nodes that cannot be candidates too, and for the counts of each model.
        """
        wanted: dict[Node, Node] = {}
        for request in requests:
            known = self._memo.get(request.node)
            if known is None or (exact and not known.by_model):
                wanted.setdefault(request.node, request.floor)
        for floor in dict.fromkeys(wanted.values()):
            self._snapshots.serve(floor, sum(1 for other in wanted.values() if other == floor))
        for snapshot, nodes in self._grouped(list(wanted)):
            size = max(1, min(MAX_BATCH, CHUNK_ROWS // max(snapshot.rows, 1)))
            for start in range(0, len(nodes), size):
                self._judge_batch(snapshot, nodes[start : start + size], exact)
        return [self._memo[request.node] for request in requests]

    def _grouped(self, nodes: Sequence[Node]) -> list[tuple[Snapshot, list[Node]]]:
        """The nodes by the grain to judge them from: each its nearest one, or one common grain when that is cheaper."""
        groups: dict[Node, tuple[Snapshot, list[Node]]] = {}
        for node in nodes:
            snapshot = self._snapshots.nearest(node)
            groups.setdefault(snapshot.node, (snapshot, []))[1].append(node)
        if len(groups) > 1:
            common = self._snapshots.nearest(tuple(map(min, zip(*nodes, strict=True))))
            apart = sum(snapshot.rows * len(members) + STATEMENT_ROWS for snapshot, members in groups.values())
            if common.rows * len(nodes) + STATEMENT_ROWS <= apart:
                return [(common, list(nodes))]
        return list(groups.values())

    def _judge_batch(self, snapshot: Snapshot, nodes: Sequence[Node], exact: bool) -> None:
        question = self._full if exact else self._question
        cross = self._catalog.words == 1 and snapshot.rows <= CROSS_ROWS
        form: compiler.Form = "cross" if cross else "union"
        self._snapshots.show(snapshot)
        bound = compiler.parameters(question, nodes, form=form)
        rows = self._engine.run("evaluate", self._text(question, len(nodes), form, exact), bound)
        for verdict in verdicts(self._problem, question, nodes, rows):
            self._memo[verdict.node] = verdict

    def _text(self, question: Question, nodes: int, form: compiler.Form, exact: bool) -> str:
        slot = (form, nodes, exact)
        if slot not in self._texts:
            self._texts[slot] = self._engine.render(compiler.batch(question, nodes, form=form))
        return self._texts[slot]


def verdicts(
    problem: Problem, question: Question, nodes: Sequence[Node], rows: Sequence[tuple[Any, ...]]
) -> list[Verdict]:
    """Fold the result rows of ``compiler.batch`` into one verdict per node (pure; any engine's rows will do)."""
    catalog = problem.catalog
    totals: dict[int, dict[str, Any]] = {}
    nothing: dict[str, Any] = dict.fromkeys(question.columns, 0) | {"smallest": None, "largest": None}
    costs = [[0.0] * len(catalog.attributes) for _ in nodes]
    lost_costs = [[0.0] * len(catalog.attributes) for _ in nodes]
    for row in rows:
        position, attribute = row[0], row[1]
        if attribute == compiler.TOTALS:
            totals[position] = dict(zip(question.columns, row, strict=True))
        else:
            costs[position][attribute], lost_costs[position][attribute] = row[-2], row[-1]
    result = []
    for position, node in enumerate(nodes):
        counts = totals.get(position, nothing)
        suppressed, lost = counts["suppressed"] + catalog.uncovered, counts["lost"]
        measure = problem.measure
        certain = Certain(
            suppressed=lost + catalog.uncovered,
            penalty=measure.penalty(node, lost, lost_costs[position]),
            forced=int(counts.get("forced", 0)),
        )
        ground = None
        if question.needs == "classes":
            ground = Ground(int(counts["spread"]), counts["large"], counts["small_records"])
        tally = Tally(suppressed, costs[position], counts["classes"], int(counts.get("squares", 0)))
        ruled_out = bool(question.rejects and counts["public_only"])
        has_costs = not question.has_costs or question.limit is None or lost <= question.limit
        result.append(
            Verdict(
                node=node,
                classes=counts["classes"],
                suppressed=suppressed,
                smallest=counts["smallest"],
                largest=counts["largest"],
                loss=measure.loss(node, tally),
                feasible=counts["classes"] > 0 and suppressed <= catalog.allowed and not ruled_out,
                grain=counts["grain"],
                certain=certain,
                ruled_out=ruled_out,
                ground=ground,
                exact=has_costs,
                by_model=tuple((model.label, counts[f"model_{i}"]) for i, model in enumerate(question.models))
                if question.by_model
                else (),
            )
        )
    return result
