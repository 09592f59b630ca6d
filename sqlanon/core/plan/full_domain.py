"""Full domain: one node for all records. A plan is an encoded source with the best node found."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from sqlanon.core.evaluate.driver import SearchResult, run_search
from sqlanon.core.evaluate.evaluator import Evaluator
from sqlanon.core.evaluate.problem import build_problem
from sqlanon.core.evaluate.session import LOCAL_LANES, Session
from sqlanon.core.evaluate.shared_counts import SharedCounts
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.measures.base import Measure
from sqlanon.core.plan.at_node import NodePlan
from sqlanon.core.plan.planned import versions
from sqlanon.core.policy import Model, Policy, as_policy
from sqlanon.core.publish.proof_file import proof_document
from sqlanon.core.search.base import Problem, Progress, Request, Verdict, rank
from sqlanon.core.search.proof import Proof
from sqlanon.core.source.widths import shared_width
from sqlanon.errors import InputError

Choose = Callable[[Problem, Evaluator], SearchResult]
"""What chooses the node of a plan, with the judge of nodes."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A node that meets the policy: its levels, its loss and what it suppresses."""

    levels: dict[str, int]
    loss: float
    suppressed: int
    classes: int
    smallest_class: int | None


@dataclass(slots=True, kw_only=True, repr=False)
class Plan(NodePlan):
    """An encoded source with the best node found. A context manager.

    Attributes:
        solution: the best node.
        proof: why it is, as boxes that cover the lattice; None when nothing is proven.
        search: effort of the search (``evaluated``).
    """

    solution: Solution
    proof: Proof | None
    search: Progress
    _problem: Problem

    @property
    def proof_document(self) -> dict[str, Any] | None:
        if self.proof is None or self.catalog.earlier is not None:  # nobody else has the ledger to run it again
            return None
        return proof_document(
            self.certificate,
            self.proof,
            self._problem,
            chosen=self.node,
            judged={verdict.node: verdict for verdict in self._evaluator.judged},
            withheld=self.ledger.hides(self.threshold),
            fingerprints={
                "policy_fingerprint": self.policy.fingerprint(),
                "question_fingerprint": self.policy.question_fingerprint(),
            },
            versions=versions(self.engine),
        )

    def cost_to_keep(self, name: str) -> Verdict | None:
        """Return the best node known that keeps something of the column and meets the policy.

        Besides those that the search has judged, the chosen node is looked at with the column just as low as is needed,
        and with other columns generalized for it: one of them, or all. When none meets the policy, return the last.
        None when the policy's limits on levels rule such nodes out.
        """
        catalog, lattice = self.catalog, self._problem.lattice
        [axis] = [i for i, attribute in enumerate(catalog.attributes) if attribute.name == name]
        gone = next(level for level, width in enumerate(catalog.attributes[axis].widths) if width <= 1)
        if gone <= lattice.bottom[axis]:
            return None
        lower = (*self.node[:axis], gone - 1, *self.node[axis + 1 :])
        raised = [(*lower[:i], top, *lower[i + 1 :]) for i, top in enumerate(lattice.top) if i != axis]
        nodes = [lower, *raised, (*lattice.top[:axis], gone - 1, *lattice.top[axis + 1 :])]
        requests = [Request(node, catalog.bottom) for node in dict.fromkeys(nodes)]
        looked_at = self._evaluator.judge(requests, exact=True)
        known = [verdict for verdict in self.search.solutions if verdict.node[axis] < gone]
        meeting = [verdict for verdict in [*known, *looked_at] if verdict.feasible]
        return min(meeting, key=rank) if meeting else looked_at[-1]

    @property
    def statistics(self) -> dict[str, float]:
        return dict(self.search.statistics)

    def solutions(self, limit: int = 20) -> list[Solution]:
        """Return the best feasible nodes that were judged, best first."""
        return [_solution(self.catalog, v) for v in sorted(self.search.solutions, key=rank)[:limit]]

    def with_privacy(self, *privacy: Model) -> Plan:
        """Search again for other privacy models over the same encoded source; snapshots are reused.

        The plans share one connection: closing either closes both.
        """
        return self.with_policy(replace(self.policy, privacy=tuple(privacy)))

    def with_policy(self, policy: Policy) -> Plan:
        """Search again under another policy over the same encoded source; snapshots are reused.

        Models, limits, levels, weights, quality and search may differ; quasi-identifiers, sensitive columns with their
        hierarchies, the subset or population, the treatment of NULLs and uncovered values, and the ledger may not. The
        plans share one connection: closing either closes both.

        Raises:
            InputError: the policy needs another encoding.
        """
        policy = as_policy(policy)
        if _encoded_for(policy) != _encoded_for(self.policy):
            raise InputError(
                "The other policy differs in what was encoded (source, quasi-identifiers, sensitive columns, "
                "hierarchies, subset, population, NULLs, uncovered values, what is published as numbers, or the ledger "
                "of releases).",
                hint="make a new plan for it.",
            )
        if (name := other_width(self._session, policy)) is not None:
            raise InputError(
                f"The other policy allows classes of another size, and so column {name!r} has another width.",
                hint="make a new plan for it, or say redact: {width: …}.",
            )
        return search_plan(self._session.under(policy))

    @property
    def problem(self) -> Problem:
        """The problem that was searched: limits, lattice and measure."""
        return self._problem


def other_width(session: Session, policy: Policy) -> str | None:
    """Return a column that needs another encoding under a policy that differs in its models and limit alone.

    Models matter to an encoding by the least size of a class, which the width of ``redact`` follows from
    (``source.widths``). None: the policy's encoding is that of the session.
    """
    for measured in session.encoding.columns.values():
        if shared_width(measured.lengths, policy) != shared_width(measured.lengths, session.policy):
            return measured.spec.name
    return None


def search_plan(session: Session, *, shared: SharedCounts | None = None, choose: Choose | None = None) -> Plan:
    """Search the lattice of an encoded source, and return the plan of its best node.

    Args:
        shared: the counts of nodes by the same models and measure, for searches with other limits.
        choose: what chooses the node; by default a search by the policy's strategy.

    Raises:
        NoSolutionError, SearchStoppedError: see ``run_search``.
    """
    start = time.perf_counter()
    engine, policy = session.judging, session.encoded_policy
    engine.journal.report("searching")
    problem, evaluator = judging(session, shared=shared)
    with nullcontext() if session.judged_in_process else engine.side_by_side():
        if choose is None:
            outcome = run_search(problem, evaluator, policy.search, extensions=policy.extensions)
        else:
            outcome = choose(problem, evaluator)
    return Plan(
        catalog=problem.catalog,
        solution=_solution(problem.catalog, outcome.verdict),
        certificate=outcome.certificate,
        proof=outcome.proof,
        search=outcome.progress,
        seconds={**session.seconds, "search": time.perf_counter() - start},
        warnings=session.warnings + _ignored_aggregate(policy, problem.measure),
        node=outcome.verdict.node,
        _verdict=outcome.verdict,
        _session=session,
        _evaluator=evaluator,
        _problem=problem,
    )


def judging(session: Session, *, shared: SharedCounts | None = None) -> tuple[Problem, Evaluator]:
    """Return the problem that the policy of a session poses, and what judges its nodes; for ``shared`` as above.

    Raises:
        NoSolutionError and others: see ``build_problem``.
    """
    engine, local = session.judging, session.local()
    lanes = engine.lanes if local is None else LOCAL_LANES
    problem, models = build_problem(session.engine, session.encoding, session.encoded_policy, lanes=lanes)
    evaluator = Evaluator(engine, session.snapshots, problem, models, local=local)
    evaluator.shared = shared
    return problem, evaluator


def _ignored_aggregate(policy: Policy, measure: Measure) -> tuple[str, ...]:
    """Warn when the policy names an aggregate that its measure does not have."""
    asked = policy.quality.aggregate
    if asked is None or asked in measure.aggregates:
        return ()
    return (f"The aggregate {asked} does not apply to {measure.name}, which has its own definition.",)


def _solution(catalog: Catalog, verdict: Verdict) -> Solution:
    levels, suppressed, smallest = catalog.levels(verdict.node), verdict.suppressed, verdict.smallest
    return Solution(levels, loss=verdict.loss, suppressed=suppressed, classes=verdict.classes, smallest_class=smallest)


def _encoded_for(policy: Policy) -> tuple[object, ...]:
    """Return the parts of a policy that an encoding depends on; policies that agree in them can share one."""
    columns = tuple(
        (c.name, c.role, c.hierarchy, c.level, policy.uncovered_of(c))
        for c in policy.columns
        if c.role in ("quasi_identifier", "sensitive") or c.level is not None
    )
    source = policy.resolve(policy.source) if policy.source is not None else None
    joined = tuple(replace(j, source=policy.resolve(j.source)) if j.source is not None else j for j in policy.join)
    origin = (source, policy.files and policy.patterns, policy.table, dict(policy.csv), policy.formats, joined)
    foreign = (dict(policy.extensions.hierarchies), dict(policy.extensions.formats), dict(policy.extensions.redactors))
    published = tuple(sorted(policy.publish, key=lambda asked: asked.name))
    travels = tuple((c.name, c.travels, c.redact, c.redact_finds) for c in policy.columns if c.travels or c.redact)
    drawn = None if policy.sample is None else (policy.sample, policy.key)
    people = (policy.entity, policy.nulls, policy.subset, policy.population, policy.ledger, drawn)
    return (*origin, columns, travels, *people, published, foreign)
