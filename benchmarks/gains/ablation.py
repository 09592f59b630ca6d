"""What each part of the evaluation saves, one by one: roll-up to the base, masks, batches, cores, snapshots.

    python benchmarks/gains/ablation.py --data DIR [--only adult cup …] [--json FILE]

The nodes that a search for the optimum judges are judged again in the same order, each time with one part more, like
the figure of the ARX implementation page. All ways must suppress the same records at every node, or the command fails.

- lookups on the source: a node is a GROUP BY over the source joined with its lookup tables;
- roll-up: the same over the distinct records with their counts;
- masks: one masked integer a record instead of the joins, a statement a node;
- batches: several nodes a statement, as many as the search asked for at once;
- cores: statements side by side;
- snapshots: grains kept as tables, as the search's requests make them pay.

The first two are timed on some of the nodes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlglot import exp

import sqlanon
from sqlanon.core.compiler import readable
from sqlanon.core.evaluate.driver import run_search
from sqlanon.core.evaluate.evaluator import Evaluator
from sqlanon.core.evaluate.snapshots import SnapshotStore
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models import least_size
from sqlanon.core.policy import SearchOptions
from sqlanon.core.search.base import Request
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import count_if, number, sum_if

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the modules that benchmarks share
from cases import search_case

CASES = {
    "adult": {"dataset": "adult", "columns": 9},
    "adult_t": {"dataset": "adult", "columns": 8, "model": "t_closeness"},
    "cup": {"dataset": "cup", "columns": 8},
    "creditcard": {"dataset": "creditcard", "columns": 10},
}
SOME = 30


class _Recorder(Evaluator):
    """An evaluator that remembers what it was asked."""

    batches: list[list[Request]]

    def judge(self, requests: Sequence[Request], *, exact: bool = False) -> list[Any]:
        self.batches.append(list(requests))
        return super().judge(requests, exact=exact)


def ablation(data: Path, name: str) -> dict[str, Any]:
    """Milliseconds and rows a node for every step of one case."""
    with sqlanon.plan(None, search_case(data, **CASES[name])) as plan:
        engine, models = plan._session.source.engine, plan.policy.models
        plan._session.snapshots.clear()
        problem = plan._problem

        def fresh(kind: type[Evaluator], tables: int, **options: Any) -> Evaluator:
            store = SnapshotStore(engine, problem.catalog, table_budget=tables)
            return kind(engine, store, problem, models, **options)

        recorder = fresh(_Recorder, 0)
        recorder.batches = []  # type: ignore[attr-defined]
        run_search(problem, recorder, SearchOptions())
        batches: list[list[Request]] = recorder.batches  # type: ignore[attr-defined]
        asked = [request for batch in batches for request in batch]
        right = {verdict.node: verdict.suppressed for verdict in recorder.judged}
        steps: list[dict[str, Any]] = []

        def step(title: str, judge: Callable[[], dict[Node, int]], rows: Callable[[], int]) -> None:
            start = time.perf_counter()
            found = judge()
            seconds = time.perf_counter() - start
            if any(right[node] != suppressed for node, suppressed in found.items()):
                sys.exit(f"{name}: {title} suppresses other records")
            steps.append({"step": title, "ms": 1e3 * seconds / len(found), "rows": rows() / len(found)})

        some = [request.node for request in asked[:: max(1, len(asked) // SOME)]]
        if problem.catalog.sensitive == ():
            step(
                "lookups on the source",
                lambda: {node: _on_source(plan, node) for node in some},
                lambda: problem.catalog.records * len(some),
            )
        distinct = engine.create("originals", names.ORIGINALS, readable.originals(plan._session.encoding.source))
        step(
            "roll-up",
            lambda: {node: _on_originals(plan, node) for node in some},
            lambda: distinct * len(some),
        )
        for title, tables, options, together in (
            ("masks", 0, {"most": 1, "lanes": 1}, False),
            ("batches", 0, {"lanes": 1}, True),
            ("cores", 0, {}, True),
            ("snapshots", 64, {}, True),
        ):
            evaluator = fresh(Evaluator, tables, **options)

            def judge(evaluator: Evaluator = evaluator, together: bool = together) -> dict[Node, int]:
                with engine.side_by_side():
                    for batch in batches if together else [[request] for request in asked]:
                        evaluator.judge(batch)
                return {verdict.node: verdict.suppressed for verdict in evaluator.judged}

            step(title, judge, lambda evaluator=evaluator: evaluator.rows_read)
        return {"nodes": len(right), "base_rows": problem.catalog.base_rows, "steps": steps}


def _on_source(plan: sqlanon.Plan, node: Node) -> int:
    """Records in classes smaller than k, counted over the source joined with its lookups."""
    k = least_size(plan.policy.models)
    classes = exp.maybe_parse(plan.node_sql(plan.catalog.levels(node)), dialect="duckdb")
    counted = exp.column(classes.expressions[-1].alias, quoted=True)
    small = exp.LT(this=counted, expression=number(k))
    query = exp.select(sum_if(small, counted.copy()), count_if(exp.true())).from_(classes.subquery("classes"))
    return int(plan._session.source.engine.run("node over the source", query)[0][0]) + plan.catalog.uncovered


def _on_originals(plan: sqlanon.Plan, node: Node) -> int:
    """Records in failing classes, counted over the distinct records joined with the lookups."""
    models = plan.policy.models
    query = readable.node_counts(plan.catalog, models, node, least_size(models))
    row = plan._session.source.engine.run("node over distinct records", query)[0]
    return int(row[2]) + plan.catalog.uncovered


def main() -> None:
    """Print one table a case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    found = {}
    for name in arguments.only:
        found[name] = ablation(arguments.data, name)
        print(f"{name}: {found[name]['nodes']} nodes, {found[name]['base_rows']} distinct records")
        before = None
        for item in found[name]["steps"]:
            gain = f"{before / item['ms']:5.1f} times faster" if before else ""
            print(f"  {item['step']:24}{item['ms']:9.3f} ms a node{item['rows']:12,.0f} rows a node  {gain}")
            before = item["ms"]
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
