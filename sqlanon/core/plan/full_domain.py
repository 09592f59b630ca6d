"""Full domain: one node for all records. A plan is an encoded source with the best node found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler import release as compiler
from sqlanon.core.compiler.batch import literal_batch
from sqlanon.core.compiler.class_sizes import class_sizes, risk_counters
from sqlanon.core.compiler.encoded_source import SOURCE
from sqlanon.core.compiler.question import Question
from sqlanon.core.engines.base import Row
from sqlanon.core.engines.standalone import standalone
from sqlanon.core.evaluate.driver import SearchResult, run_search
from sqlanon.core.evaluate.evaluator import Evaluator
from sqlanon.core.evaluate.problem import build_problem
from sqlanon.core.evaluate.session import LOCAL_LANES, Session
from sqlanon.core.evaluate.settling import settle
from sqlanon.core.evaluate.shared_counts import SharedCounts
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import Measure
from sqlanon.core.models.base import is_of_release
from sqlanon.core.plain import plain
from sqlanon.core.plan.keyed import keyed_source, refuse_scripts
from sqlanon.core.plan.planned import as_buckets, versions
from sqlanon.core.plan.published import PublishedClasses, PublishedTypes
from sqlanon.core.plan.publishing import PublishablePlan
from sqlanon.core.plan.represented import NO_VALUES
from sqlanon.core.policy import Model, Policy, as_policy
from sqlanon.core.publish.ledger import Entities, Ledger
from sqlanon.core.publish.proof_file import proof_document
from sqlanon.core.search.base import Problem, Progress, Request, Verdict, rank
from sqlanon.core.search.proof import Proof
from sqlanon.core.sizes.histogram import SizeHistogram, read_sizes
from sqlanon.core.source.widths import shared_width
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column
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
class Plan(PublishablePlan):
    """An encoded source with the best node found. A context manager.

    Attributes:
        solution: the best node.
        proof: why it is, as boxes that cover the lattice; None when nothing is proven.
        search: effort of the search (``evaluated``).
        node: the best node, as levels in the order of the policy.
    """

    solution: Solution
    proof: Proof | None
    search: Progress
    node: Node
    _verdict: Verdict
    _evaluator: Evaluator
    _problem: Problem

    @property
    def ledger(self) -> Ledger:
        return ledger_of(self.catalog, self._verdict)

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

    @property
    def levels(self) -> dict[str, int]:
        return self.solution.levels

    @property
    def published_levels(self) -> tuple[tuple[int, ...], ...]:
        return tuple((level,) for level in self.node)

    @property
    def verdict_sources(self) -> dict[str, int]:
        return dict(self._evaluator.origins.most_common())

    def evaluate(self, levels: Mapping[str, int]) -> Verdict:
        """Return the verdict of any node; columns that are not named stay at level 0.

        ``suppressed`` is what the models suppress together, ``by_model`` what each would alone.

        Raises:
            InputError: an unknown column, or a level that its hierarchy does not have.
        """
        node = self._node(levels)
        return self._evaluator.judge([Request(node, self.catalog.bottom)], exact=True)[0]

    @property
    def suppressed_by_model(self) -> tuple[tuple[str, int], ...]:
        return self.evaluate(self.solution.levels).by_model

    @property
    def attribute_losses(self) -> dict[str, float] | None:
        if self.certificate.aggregate is None:
            return None
        losses = self.evaluate(self.solution.levels).by_attribute
        return dict(zip(self.solution.levels, losses, strict=True))

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

    def evaluate_many(self, nodes: Sequence[Mapping[str, int]]) -> list[Verdict]:
        """Return the verdicts of several nodes, in as few statements as possible."""
        bottom = self.catalog.bottom
        return self._evaluator.judge([Request(self._node(levels), bottom) for levels in nodes], exact=True)

    def node_sql(self, levels: Mapping[str, int]) -> str:
        """Return a readable GROUP BY for a node: per class its records, and with an entity its distinct entities.

        It runs in any session of the source's database: the lookups that it reads are parts of it, a line each. For the
        operator: it holds the texts of hierarchies.
        """
        refuse_scripts(self._session)
        return standalone(self.engine, self._classes(levels))

    def classes(self, levels: Mapping[str, int]) -> pa.Table:
        """Return the classes of a node, as ``node_sql`` gives them. For the operator: it holds values."""
        return self.engine.arrow("classes", self._classes(levels))

    def verdict_sql(self, levels: Mapping[str, int]) -> str:
        """Return the statement that judges a node, for any session of the source's database, as ``node_sql`` is."""
        refuse_scripts(self._session)
        node = self._node(levels)
        return standalone(self.engine, literal_batch(self._settled_at(node), [node], names.BASE))

    def _classes(self, levels: Mapping[str, int]) -> exp.Query:
        return compiler.readable_grain(self._session.encoding.source, self._node(levels))

    @property
    def statistics(self) -> dict[str, float]:
        return dict(self.search.statistics)

    def class_sizes(
        self, levels: Mapping[str, int] | None = None, *, published: bool = True
    ) -> tuple[tuple[int, int, int, int], ...]:
        """Return how large the classes of a node are (by default the chosen one): the published or the suppressed ones.

        Raises:
            InputError: as ``evaluate``.
        """
        node = self.node if levels is None else self._node(levels)
        return as_buckets(SizeHistogram.of(self._sizes(node, published=published)))

    def _sizes(self, node: Node, *, published: bool, by: Sequence[str] = (names.COUNT,)) -> list[Row]:
        """Return the classes of a node by the counters ``by``, and how many have them."""
        snapshot, question = self._session.snapshots.nearest(node), self.question
        if not any(map(is_of_release, question.models)):
            query = class_sizes(question, snapshot.table, node, published=published, by=by)
            return self._session.judging.run("class sizes", query)
        found = settle(self._session.judging, question, node, snapshot.table, f"{names.SETTLED}_sizes")
        query = class_sizes(replace(question, settled=found.table), snapshot.table, node, published=published, by=by)
        rows = self._session.judging.run("class sizes", query)
        found.drop()
        return rows

    def published_classes(self) -> PublishedClasses:
        catalog, suppressed, by = self.catalog, self.ledger.suppressed, risk_counters(self.catalog)
        if catalog.has_entity:  # who is suppressed in several classes counts once in each, as who is published
            suppressed = SizeHistogram.of(self._sizes(self.node, published=False, by=by)).records + catalog.uncovered
        rows = self._sizes(self.node, published=True, by=by)
        classes, population = read_sizes(rows, suppressed=suppressed, excluded=catalog.excluded)
        read = partial(self.generalized_query, of_source=True)
        return PublishedClasses(classes, population, read, self.generalized, self.node)

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
        """What was searched: limits, lattice and measure."""
        return self._problem

    @property
    def _settled_question(self) -> Question:
        """The question with what is published of the chosen node: the classes that release models left over."""
        return self._once("settled", lambda: self._settled_at(self.node))

    def _settled_at(self, node: Node) -> Question:
        """Return the question about one node, with the table of its classes where release models judge them."""
        if not any(map(is_of_release, self.question.models)):
            return self.question
        stem = f"{names.SETTLED}_{len(self.engine.replay)}"
        found = settle(self.engine, self.question, node, names.BASE, stem, replayed=True)
        return replace(self.question, settled=found.table)

    @property
    def question(self) -> Question:
        """The question that every node is judged by."""
        return self._evaluator.question

    def _node(self, levels: Mapping[str, int]) -> Node:
        heights = {a.name: a.height for a in self.catalog.attributes}
        levels = plain(levels)
        if not isinstance(levels, Mapping):
            raise InputError("This is not a node.", hint="write {column: level}; columns without a level stay at 0.")
        for name, level in levels.items():
            if name not in heights:
                raise InputError(
                    f"{name!r} is not a quasi-identifier of the policy.",
                    hint=f"the quasi-identifiers are {', '.join(map(repr, heights))}.",
                )
            if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level < heights[name]:
                raise InputError(
                    f"Column {name!r} has no such level; its levels are 0 to {heights[name] - 1}.",
                    hint="give a whole number in that range.",
                )
        return tuple(levels.get(name, 0) for name in heights)

    def generalized_query(
        self,
        published: Mapping[str, str],
        *,
        entities: bool = False,
        values: Mapping[str, str] = NO_VALUES,
        of_source: bool = False,
    ) -> exp.Query:
        source, held_by = keyed_source(self._session, {} if of_source else published)
        instead = {
            name: item.value(column(name, SOURCE), published[name], [self.node[item.position]])
            for name, item in self.travelling.items()
            if name in published
        }
        return compiler.release(
            source,
            self._settled_question,
            self.node,
            published=published,
            snapshot=names.BASE,
            entities=entities,
            values=values,
            instead=instead | {name: column(held, SOURCE) for name, held in held_by.items()},
        )

    def _records_by_levels(self) -> list[tuple[Node, int]]:
        return [(self.node, self.ledger.published)]

    def published_types(self) -> PublishedTypes:
        from sqlanon.core.compiler.released_types import one_rule

        return PublishedTypes(one_rule(self._settled_question, self.node), {0: self.node})

    def _counted_query(self, published: Mapping[str, str], copies: str) -> exp.Query:
        return compiler.released_classes(
            self._session.encoding.source,
            self._settled_question,
            self.node,
            published=published,
            snapshot=names.BASE,
            copies=copies,
        )

    def _readable(self) -> list[tuple[str, exp.Query]]:
        return [("classes of the chosen node", compiler.readable_grain(self._session.encoding.source, self.node))]


def ledger_of(catalog: Catalog, verdict: Verdict) -> Ledger:
    """Return the account of every record, and of every entity where a policy names them, at a judged node."""
    entities = None
    if catalog.entities is not None and verdict.suppressed_entities is not None:
        entities = Entities(
            total=catalog.entities + catalog.excluded_entities,
            published=catalog.entities - verdict.suppressed_entities,
            suppressed=verdict.suppressed_entities,
            excluded=catalog.excluded_entities,
            smallest_class=verdict.smallest_entities,
        )
    return Ledger.of(
        catalog,
        verdict.suppressed,
        classes=verdict.classes,
        smallest=verdict.smallest,
        largest=verdict.largest,
        entities=entities,
    )


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
            found = run_search(problem, evaluator, policy.search, extensions=policy.extensions)
        else:
            found = choose(problem, evaluator)
    return Plan(
        catalog=problem.catalog,
        solution=_solution(problem.catalog, found.verdict),
        certificate=found.certificate,
        proof=found.proof,
        search=found.progress,
        seconds={**session.seconds, "search": time.perf_counter() - start},
        warnings=session.warnings + _ignored_aggregate(policy, problem.measure),
        node=found.verdict.node,
        _verdict=found.verdict,
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
    evaluator = Evaluator(engine, problem.catalog, session.snapshots, problem, models, local=local)
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
    """Return what the encoding of a source depends on; policies that agree in it can share one."""
    columns = tuple(
        (c.name, c.role, c.hierarchy, policy.uncovered_of(c))
        for c in policy.columns
        if c.role in ("quasi_identifier", "sensitive")
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
