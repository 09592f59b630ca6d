"""The evaluator: nodes in, verdicts out. It owns the memo of verdicts and chooses grain, form and batch size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlanon.catalog import Catalog
from sqlanon.compiler import evaluate as compiler
from sqlanon.engines.duckdb import DuckDBEngine
from sqlanon.lattice import Node
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
    """Judges nodes for one threshold k over the snapshots of a plan."""

    def __init__(
        self, engine: DuckDBEngine, catalog: Catalog, snapshots: SnapshotStore, problem: Problem, *, k: int
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._snapshots = snapshots
        self._problem = problem
        self._k = k
        self._memo: dict[Node, Verdict] = {}
        self._texts: dict[tuple[str, int, bool], str] = {}

    @property
    def evaluated(self) -> int:
        """Distinct nodes that were given a verdict."""
        return len(self._memo)

    def judge(self, requests: Sequence[Request], *, exact: bool = False) -> list[Verdict]:
        """The verdicts of the requested nodes, in their order; a repeated node costs no statement.

        ``exact`` asks for the costs of nodes beyond the suppression limit too.
        """
        wanted: dict[Node, Node] = {}
        for request in requests:
            known = self._memo.get(request.node)
            if known is None or (exact and not known.exact):
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
        cross = self._catalog.words == 1 and snapshot.rows <= CROSS_ROWS
        form: compiler.Form = "cross" if cross else "union"
        self._snapshots.show(snapshot)
        bound = compiler.parameters(self._catalog, nodes, form=form)
        rows = self._engine.run("evaluate", self._text(len(nodes), form, exact), bound)
        for verdict in verdicts(self._problem, nodes, rows, exact=exact):
            self._memo[verdict.node] = verdict

    def _text(self, nodes: int, form: compiler.Form, exact: bool) -> str:
        slot = (form, nodes, exact)
        if slot not in self._texts:
            query = compiler.batch(
                nodes,
                self._catalog.words,
                attributes=len(self._catalog.attributes),
                k=self._k,
                costs=self._problem.measure.needs_costs,
                form=form,
                limit=None if exact else self._catalog.allowed - self._catalog.uncovered,
            )
            self._texts[slot] = self._engine.render(query)
        return self._texts[slot]


def verdicts(problem: Problem, nodes: Sequence[Node], rows: Sequence[tuple[Any, ...]], *, exact: bool) -> list[Verdict]:
    """Fold the result rows of ``compiler.batch`` into one verdict per node (pure; any engine's rows will do)."""
    catalog = problem.catalog
    totals: dict[int, tuple[int, int, int, int | None, int | None]] = {}
    costs = [[0] * len(catalog.attributes) for _ in nodes]
    for row in rows:
        position, attribute, classes, failing, suppressed, smallest, largest, cost = row
        if attribute == compiler.TOTALS:
            totals[position] = (classes, failing, suppressed, smallest, largest)
        else:
            costs[position][attribute] = cost
    result = []
    for position, node in enumerate(nodes):
        classes, failing, small, smallest, largest = totals.get(position, (0, 0, 0, None, None))
        suppressed = small + catalog.uncovered
        penalty = problem.measure.penalty(node, small, costs[position])
        result.append(
            Verdict(
                node=node,
                classes=classes - failing,
                suppressed=suppressed,
                smallest=smallest,
                largest=largest,
                penalty=penalty,
                loss=problem.loss(problem.measure.floor(node), penalty),
                feasible=classes > failing and suppressed <= catalog.allowed,
                grain=classes,
                exact=exact or suppressed <= catalog.allowed or not problem.measure.needs_costs,
            )
        )
    return result
