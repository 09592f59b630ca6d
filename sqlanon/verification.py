"""The verification of a certificate: its proof is run again, by other means than those of the search.

The boxes are held against the lattice (``proof.first_gap``). The nodes that they rest on are judged from the original
values of the source and the lookups, with statements that a person can read (``compiler.readable``). Neither masks nor
grains, snapshots, the evaluator, the judging statement (``sql/judge``) or any strategy take part.

What is shared defines the claim: the policy, the choice of the records that take part, the hierarchies as loaded into
lookups, the files of ``sql/model``, the formulas of the measures, and the arithmetic from the counts of a node to its
verdict (``search.verdicts``).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlanon.compiler import readable
from sqlanon.engines.base import Engine
from sqlanon.engines.journal import Step, Watcher
from sqlanon.errors import InputError
from sqlanon.evaluate.problem import build_problem, measured
from sqlanon.lattice.catalog import Attribute
from sqlanon.lattice.nodes import Lattice, Node
from sqlanon.measures.base import Counts, LowerBounds
from sqlanon.models import least_size
from sqlanon.models.base import PrivacyModel
from sqlanon.policy import Policy, PolicyLike, as_policy
from sqlanon.publish.proof_file import AT_LEAST, OPEN, CertificateBox, Statement, digest, read_proof, stated
from sqlanon.search.base import Problem, Verdict
from sqlanon.search.proof import first_gap, rests_soundly
from sqlanon.search.verdicts import required_counts, verdict_of
from sqlanon.source.columns import check_columns
from sqlanon.source.encoding import Encoding, encode_source
from sqlanon.source.joining import open_policy_source
from sqlanon.sqltrees import names

TOLERANCE = 1e-9
"""Relative: sums of logarithms and means are not the same to the last digit when they are added up otherwise."""
MOST_FAULTS = 20
OTHER_POLICY = (
    "The certificate was created for another policy: quasi-identifiers, sensitive columns, levels, weights, models, "
    "limits or measure differ from those of this one. Nothing was judged."
)


@dataclass(slots=True)
class Verification:
    """The result of a verification.

    Attributes:
        faults: why the certificate does not hold, at most ``MOST_FAULTS``; empty when it does.
        remarks: what is worth knowing though nothing is wrong.
        boxes, nodes: how many boxes were checked, and how many nodes were judged again.
        loss, lower_bound: of the chosen node, and the least bound that was proven again.
        optimal: the chosen node is proven optimal.
    """

    faults: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    boxes: int = 0
    nodes: int = 0
    loss: float | None = None
    lower_bound: float | None = None
    optimal: bool = False

    @property
    def holds(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.faults

    def blame(self, text: str) -> None:
        """Add a fault, unless there are enough, or it was found before: that the first box shows is shown by many."""
        if len(self.faults) < MOST_FAULTS and text not in self.faults:
            self.faults.append(text)


def verify(
    certificate: str | Path, policy: PolicyLike, source: object = None, *, watch: Watcher | None = None
) -> Verification:
    """Run the proof in a certificate file again.

    Args:
        source: what ``plan`` takes; None is the policy's own.
        watch: as for ``plan``.

    Raises:
        InputError and its children: the certificate, the policy, a hierarchy or the source is unusable.
        NoSolutionError: nothing can meet the policy, so that there is nothing to certify.
    """
    policy = as_policy(policy)
    if not isinstance(certificate, str | os.PathLike):
        raise InputError(
            f"This is no path of a certificate, but of the type {type(certificate).__name__}.", hint="give its path."
        )
    document = read_proof(Path(certificate))
    if document.get("question_fingerprint", asked := policy.question_fingerprint()) != asked:
        return Verification(faults=[OTHER_POLICY])
    if watch is not None:
        watch(Step("reading"))
    opened = open_policy_source(source, policy)
    opened.engine.journal.watched_by(watch)
    try:
        check_columns(policy, opened)
        opened.engine.journal.report("encoding")
        encoding = encode_source(opened.engine, opened.relation, policy, opened.readable, numbered=True)
        problem, models = build_problem(opened.engine, encoding, policy)
        return _Verifier(opened.engine, encoding, policy, problem, models).run(document)
    finally:
        opened.engine.close()


class _Verifier:
    """One verification: an engine with the original values, and the problem with its costs counted again."""

    def __init__(
        self,
        engine: Engine,
        encoding: Encoding,
        policy: Policy,
        problem: Problem,
        models: tuple[PrivacyModel, ...],
    ) -> None:
        self._engine = engine
        self._policy = policy
        self._models = models
        self._size = least_size(models)
        self._known_costs: set[tuple[int, int]] = set()
        self.result = Verification()
        catalog = problem.catalog
        engine.create("originals", names.ORIGINALS, readable.originals(encoding.source))
        needs = problem.measure.needs
        counted = tuple(
            self._counted(position, attribute, surprising=needs == "surprisals")
            for position, attribute in enumerate(catalog.attributes)
        )
        if _facts(counted) != _facts(catalog.attributes):
            self.result.blame("The encoding of the source has other counts than the source itself.")
        self._catalog = replace(catalog, attributes=counted)
        self._problem = measured(self._catalog, problem.lattice, policy, models, batch=1)

    def _counted(self, position: int, attribute: Attribute, *, surprising: bool) -> Attribute:
        """Return an attribute with its costs and widths counted over the original values."""
        costs = self._engine.run("level costs", readable.level_costs(position, attribute.height, attribute.domain))[0]
        widths = self._engine.run("level widths", readable.level_widths(position, attribute.height))[0]
        changed = replace(attribute, costs=tuple(int(cost or 0) for cost in costs), widths=tuple(map(int, widths)))
        if surprising:
            levels: list[int | None] = [None, *range(attribute.height)]
            sums = [self._engine.run("surprisals", readable.surprisals(position, level))[0][0] for level in levels]
            changed = replace(changed, surprisals=tuple(float(value or 0.0) for value in sums))
        return changed

    def run(self, document: dict[str, Any]) -> Verification:
        """Check everything that a certificate states."""
        result, catalog = self.result, self._catalog
        statement = stated(document, catalog)
        if document.get("sha256") != digest(document):
            result.blame("The certificate was changed after it was written: its digest differs.")
        before = len(result.faults)
        self._check_setting(statement)
        if len(result.faults) > before:  # it is about something else
            return result
        named = [node for box in statement.boxes for node in (box.claim.witness, box.claim.below) if node is not None]
        nodes = list(dict.fromkeys([statement.chosen, *named]))
        bounding = {box.claim.witness for box in statement.boxes if box.claim.bound is not None}
        judged: dict[Node, Verdict] = {}
        for number, node in enumerate(nodes, start=1):
            judged[node] = self._judge(node, with_costs=node == statement.chosen or node in bounding)
            self._engine.journal.report("judging", done=number, total=len(nodes), unit="nodes judged")
            if node == statement.chosen:
                result.loss = judged[node].loss
                self._check_chosen(statement, judged[node])
                if result.faults and result.remarks:  # another policy, as the first node shows already
                    return result
        result.boxes, result.nodes = len(statement.boxes), len(judged)
        chosen = judged[statement.chosen]
        bounds = [bound for box in statement.boxes if (bound := self._check_box(box, statement, judged)) is not None]
        result.lower_bound = min([chosen.loss, *bounds])
        self._check_cover(statement)
        self._check_conclusion(statement, chosen)
        result.optimal = statement.optimal and result.holds
        return result

    def _check_setting(self, statement: Statement) -> None:
        problem, blame = self._problem, self.result.blame
        if statement.fingerprint != self._policy.fingerprint():
            self.result.remarks.append("The certificate was created for a policy that differs from this one.")
        if (statement.measure, statement.aggregate) != (problem.measure.name, problem.measure.aggregate):
            blame("The certificate is about another quality measure than the policy.")
        if statement.lattice != problem.lattice:
            blame("The certificate is about another lattice than the policy.")
        if statement.lattice_size != problem.lattice.size:
            blame("The lattice has another size than the certificate says.")
        if statement.top not in problem.lattice:
            blame("The boxes' top is outside the lattice.")
        for attribute, useful, high in zip(self._catalog.attributes, statement.top, problem.lattice.top, strict=True):
            if attribute.widths[useful] != attribute.widths[high]:
                blame(f"Column {attribute.name!r} has other classes at the boxes' top than at the lattice's.")

    def _check_chosen(self, statement: Statement, chosen: Verdict) -> None:
        if not chosen.feasible or statement.chosen not in self._problem.lattice:
            self.result.blame("The chosen node does not meet the policy.")
        if statement.loss is not None and abs(chosen.loss - statement.loss) > self._noise(chosen.loss):
            self.result.blame("The chosen node has another loss than the certificate says.")

    def _check_box(self, box: CertificateBox, statement: Statement, judged: dict[Node, Verdict]) -> float | None:
        """Check the claim about a box; return the bound that holds, None when it has no candidates."""
        claim, blame = box.claim, self.result.blame
        if not rests_soundly(claim):
            blame("A box does not lie below the node that it rests on.")
            return -float("inf")
        witness = judged[claim.witness] if claim.witness is not None else None
        alone = witness is not None and claim.bottom == claim.top == witness.node
        if claim.bound is None:
            if witness is None or not (self._problem.infeasible_below(witness) or (alone and not witness.feasible)):
                blame("A box is said to hold no candidate, but its node does not show it.")
                return -float("inf")
            return None
        if alone and witness is not None:
            holds = witness.loss if witness.feasible else float("inf")
        else:
            facts = judged[claim.below].bottom_facts if claim.below is not None else None
            lower_bounds = witness.lower_bounds if witness is not None else LowerBounds(self._catalog.uncovered)
            holds = self._problem.measure.bound(claim.bottom, facts, lower_bounds)
            if witness is not None and self._problem.infeasible_below(witness):
                holds = float("inf")
        if box.kind == AT_LEAST:
            if judged[statement.chosen].loss > holds + self._noise(holds):
                blame("A box is said to lose at least what the chosen node loses, but its node does not show it.")
            return holds
        if box.kind == OPEN:
            return holds
        if abs(claim.bound - holds) > self._noise(claim.bound):
            blame("A box has another bound than its node shows.")
        if statement.lower_bound is not None and claim.bound < statement.lower_bound - self._noise(claim.bound):
            blame("A box has a bound below the certificate's lower bound.")
        return min(holds, claim.bound)

    def _noise(self, value: float) -> float:
        """Return how far two numbers may be apart that were added up in another order."""
        scale = 0.0
        if self._problem.measure.needs == "surprisals":
            population = self._catalog.population
            scale = population * math.log2(max(population, 2)) * len(self._catalog.attributes)
        return TOLERANCE * abs(value) + 1e-12 * scale

    def _check_cover(self, statement: Statement) -> None:
        claims = [box.claim for box in statement.boxes]
        lattice = self._problem.lattice
        if first_gap(claims, lattice.bottom, statement.top) is not None:
            self.result.blame("The boxes do not cover the lattice.")
        inside = all(claim.bottom in lattice and claim.top in lattice for claim in claims)
        volume = sum(Lattice(claim.bottom, claim.top).size for claim in claims)
        if not inside or (not statement.overlapping and volume != Lattice(lattice.bottom, statement.top).size):
            self.result.blame("The boxes overlap, or leave the lattice.")

    def _check_conclusion(self, statement: Statement, chosen: Verdict) -> None:
        blame, proven = self.result.blame, self.result.lower_bound
        assert proven is not None
        if statement.lower_bound is not None and statement.lower_bound > proven + self._noise(proven):
            blame("The lower bound does not follow from the boxes.")
        if statement.optimal and chosen.loss > proven + self._noise(proven):
            blame("The boxes do not show that the chosen node is optimal.")
        gap = None
        if statement.lower_bound is not None:
            gap = (chosen.loss - statement.lower_bound) / chosen.loss if chosen.loss > self._noise(0.0) else 0.0
        elif statement.optimal:
            gap = 0.0
        if (gap is None) != (statement.gap is None) or (
            gap is not None and abs(gap - (statement.gap or 0.0)) > TOLERANCE
        ):
            blame("The gap is not that of the loss and its lower bound.")

    def _judge(self, node: Node, *, with_costs: bool) -> Verdict:
        """Return the verdict of a node, from the original values."""
        query = readable.node_counts(self._catalog, self._models, node, self._size)
        row = self._engine.run("node counts", query)[0]
        counted = dict(zip((item.alias_or_name for item in query.expressions), row, strict=True))
        needs = self._problem.measure.needs
        own: Sequence[float] = [0.0] * len(node)
        least: Sequence[Sequence[float]] = [[0.0] * (level + 1) for level in node]
        if with_costs and counted["suppressed"] and node and needs in ("costs", "surprisals"):
            own, least = self._costs(node, surprising=needs == "surprisals")
        required = required_counts(self._models, self._catalog.has_entity)
        counts = Counts.from_row(
            counted, required=required, uncovered=self._catalog.uncovered, costs=own, min_costs=least
        )
        return verdict_of(self._problem, self._models, node, counts)

    def _costs(self, node: Node, *, surprising: bool) -> tuple[list[float], list[Sequence[float]]]:
        """Return per attribute the cost of the suppressed records, and per level the least of the certain ones."""
        if not surprising:
            for position, level in enumerate(node):
                if (position, level) not in self._known_costs:
                    self._known_costs.add((position, level))
                    costs = readable.least_costs(self._catalog, position, level)
                    self._engine.create("least costs", names.least_costs(position, level), costs)
        query = readable.node_costs(self._catalog, self._models, node, surprising=surprising)
        plain: Callable[[Any], float] = float if surprising else int  # some engines sum to decimals
        rows = {row[0]: [plain(cost or 0) for cost in row[1:]] for row in self._engine.run("node costs", query)}
        own = [rows[position][0] for position in range(len(node))]
        if surprising:
            return own, [[rows[position][1]] * (level + 1) for position, level in enumerate(node)]
        return own, [rows[position][1 : level + 2] for position, level in enumerate(node)]


def _facts(attributes: Sequence[Attribute]) -> list[tuple[object, ...]]:
    return [(attribute.costs, attribute.widths) for attribute in attributes]
