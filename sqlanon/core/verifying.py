"""The nodes of a certificate judged again, from the original values of a source that the search did not look at so."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from sqlanon.core.compiler import readable, readable_nodes
from sqlanon.core.compiler.readable_nodes import COSTED, NODE
from sqlanon.core.engines.base import Engine
from sqlanon.core.evaluate.problem import measured
from sqlanon.core.evaluate.verified_settling import settle_verified
from sqlanon.core.lattice.catalog import Attribute
from sqlanon.core.lattice.nodes import Lattice, Node
from sqlanon.core.measures.base import AttributeMeasure, Counts, LowerBounds
from sqlanon.core.models import least_size
from sqlanon.core.models.base import PrivacyModel, judges_persons
from sqlanon.core.policy import Policy
from sqlanon.core.publish.proof_file import AT_LEAST, OPEN, CertificateBox, Statement, digest, stated
from sqlanon.core.search.base import Claim, Problem, Verdict
from sqlanon.core.search.proof import GroupBounds, Parts, first_gap, group_lattice, rests_soundly
from sqlanon.core.search.verdicts import required_counts, verdict_of
from sqlanon.core.source.encoding import Encoding
from sqlanon.core.sqltrees import names

TOLERANCE = 1e-9
"""Relative: sums of logarithms and means are not the same to the last digit when they are added up otherwise."""
MOST_FAULTS = 20
NODES_AT_ONCE = 32
"""Nodes that are judged by one statement: planning it costs as much as reading some 100,000 rows, and more of them
together gain nothing."""
ROWS_AT_ONCE = 1_000_000
"""Rows that one statement judges, unless a single node has more: they bound its memory."""


UNKNOWN = ("smallest", "largest", "smallest_entities")
"""What is not 0 but unknown of a node without any class."""


@dataclass(slots=True)
class Verification:
    """The result of a verification.

    Attributes:
        faults: why the certificate does not hold, at most ``MOST_FAULTS``; empty when it does.
        remarks: what is worth knowing though nothing is wrong.
        boxes, nodes: how many boxes were checked, and how many nodes were judged again.
        loss, lower_bound: of the chosen node, and the least bound that was proven again.
        optimal: the chosen node is proven optimal.
        audience: whose certificate it is, ``operator`` or ``recipient``.
        proof: where the proof comes from: ``certificate``, ``file`` (the operator's, given beside a recipient's
            certificate), ``search`` (made again), or ``none`` (nothing is claimed to be proven).
    """

    faults: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    boxes: int = 0
    nodes: int = 0
    loss: float | None = None
    lower_bound: float | None = None
    optimal: bool = False
    audience: str = "operator"
    proof: str = "certificate"

    @property
    def holds(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.faults

    def blame(self, text: str) -> None:
        """Add a fault, unless there are enough, or it was found before: that the first box shows is shown by many."""
        if len(self.faults) < MOST_FAULTS and text not in self.faults:
            self.faults.append(text)


class Verifier:
    """One verification: an engine with the original values, and the problem with its costs counted again."""

    def __init__(
        self,
        engine: Engine,
        encoding: Encoding,
        policy: Policy,
        problem: Problem,
        models: tuple[PrivacyModel, ...],
        result: Verification,
    ) -> None:
        self._engine = engine
        self._policy = policy
        self._models = models
        self._size = least_size(models)
        self._cost_query = ""  # the same for any nodes
        self._groups: list[GroupBounds] = []
        self.result = result
        catalog = problem.catalog
        rows = engine.create("originals", names.ORIGINALS, readable.originals(encoding.source))
        self._at_once = min(max(ROWS_AT_ONCE // max(rows, 1), 1), NODES_AT_ONCE)
        counted = self._counted(catalog.attributes, surprising=problem.measure.needs == "surprisals")
        if _facts(counted) != _facts(catalog.attributes):
            self.result.blame("The encoding of the source has other counts than the source itself.")
        self._catalog = replace(catalog, attributes=counted)
        self._needs = problem.measure.needs
        self._problem = measured(self._catalog, problem.lattice, policy, models, batch=1)

    def _counted(self, attributes: tuple[Attribute, ...], *, surprising: bool) -> tuple[Attribute, ...]:
        """Return the attributes with their costs and widths counted over the original values."""
        if not attributes:
            return ()
        run = self._engine.run
        costs = {
            row[0]: [int(cost or 0) for cost in row[1:]] for row in run("level costs", readable.level_costs(attributes))
        }
        counted = {row[0]: row[1:] for row in run("level widths", readable.level_widths(attributes))}
        widths, others = counted, bool(attributes[0].all_widths)
        if others:
            of_source = readable.level_widths(attributes, of_source=True)
            widths = {row[0]: row[1:] for row in run("level widths", of_source)}
        sums: dict[tuple[int, int], float] = {}
        if surprising:
            sums = {
                (row[0], row[1]): float(row[2] or 0.0) for row in run("surprisals", readable.surprisals(attributes))
            }
        return tuple(
            replace(
                attribute,
                costs=tuple(costs[position][: attribute.height]),
                widths=tuple(map(int, widths[position][: attribute.height])),
                all_widths=tuple(map(int, counted[position][: attribute.height])) if others else (),
                surprisals=tuple(sums[position, level] for level in range(-1, attribute.height)) if surprising else (),
            )
            for position, attribute in enumerate(attributes)
        )

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
        parts = [box for partition in statement.groups for _, boxes in partition for box in boxes]
        every = [*statement.boxes, *parts]
        named = [node for box in every for node in (box.claim.witness, box.claim.below) if node is not None]
        nodes = list(dict.fromkeys([statement.chosen, *named]))
        bounding = [box.claim.witness for box in every if box.claim.witness and box.claim.bound is not None]
        self._number(nodes, {statement.chosen, *bounding})
        [chosen] = self._judge({0: statement.chosen})
        self._engine.journal.report("judging", done=1, total=len(nodes), unit="nodes judged")
        result.loss = chosen.loss
        self._check_chosen(statement, chosen)
        if result.faults and result.remarks:  # another policy, as the first node shows already
            return result
        judged = {statement.chosen: chosen}
        for first in range(1, len(nodes), self._at_once):
            some = dict(enumerate(nodes[first : first + self._at_once], start=first))
            judged |= {verdict.node: verdict for verdict in self._judge(some)}
            self._engine.journal.report("judging", done=len(judged), total=len(nodes), unit="nodes judged")
        result.boxes, result.nodes = len(every), len(judged)
        checked = [self._check_partition(groups, statement.top, judged) for groups in statement.groups]
        self._groups = [bounds for bounds in checked if bounds is not None]
        bounds = [bound for box in statement.boxes if (bound := self._check_box(box, statement, judged)) is not None]
        result.lower_bound = min([chosen.loss, *bounds])
        if result.proof != "none":
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
            if not attribute.same_parts(useful, high):
                blame(f"Column {attribute.name!r} has other classes at the boxes' top than at the lattice's.")

    def _check_chosen(self, statement: Statement, chosen: Verdict) -> None:
        if not chosen.feasible or statement.chosen not in self._problem.lattice:
            self.result.blame("The chosen node does not meet the policy.")
        if statement.loss is not None and abs(chosen.loss - statement.loss) > self._noise(chosen.loss):
            self.result.blame("The chosen node has another loss than the certificate says.")

    def _check_partition(
        self,
        partition: Sequence[tuple[tuple[int, ...], Sequence[CertificateBox]]],
        top: Node,
        judged: dict[Node, Verdict],
    ) -> GroupBounds | None:
        """Check the proofs of groups; return the bounds that their boxes show, None where they prove nothing."""
        problem, measure, blame = self._problem, self._problem.measure, self.result.blame
        listed = [column for columns, _ in partition for column in columns]
        if not isinstance(measure, AttributeMeasure) or not measure.adds_up or sorted(listed) != [*range(len(top))]:
            blame("Groups do not part the columns, or the measure is not the sum of what they lose.")
            return None
        shown: dict[tuple[int, ...], list[tuple[Claim, Parts]]] = {}
        for columns, boxes in partition:
            lattice, claims = group_lattice(problem.lattice, top, columns), [box.claim for box in boxes]
            shown[columns] = []
            for claim in claims:
                if claim.witness is None or not rests_soundly(claim) or claim.top not in lattice:
                    blame("A box of a group does not lie below the node that it rests on.")
                    return None
                witness = judged[claim.witness]
                infeasible = problem.infeasible_below(witness)
                if claim.bound is None and not infeasible:
                    blame("A box of a group is said to hold no candidate, but its node does not show it.")
                if not infeasible:
                    parts = problem.parts_under(witness)
                    shown[columns].append((claim, [parts[i] for i in columns]))
            if not claims or first_gap(claims, lattice.bottom, lattice.top) is not None:
                blame("The boxes of a group do not cover its lattice.")
                return None
        return GroupBounds(measure.unit or 0.0, shown)

    def _check_box(self, box: CertificateBox, statement: Statement, judged: dict[Node, Verdict]) -> float | None:
        """Check the claim about a box; return the bound that holds, None when it has no candidates."""
        claim, blame = box.claim, self.result.blame
        if not rests_soundly(claim):
            blame("A box does not lie below the node that it rests on.")
            return -float("inf")
        witness = judged[claim.witness] if claim.witness is not None else None
        alone = witness is not None and claim.bottom == claim.top == witness.node
        if claim.by_groups and not self._groups:
            blame("A box rests on groups, but there are none.")
            return -float("inf")
        by_groups = -math.inf
        if claim.by_groups:
            under = None if witness is None else self._problem.parts_under(witness)
            by_groups = max(bounds.of(claim.bottom, claim.top, under) for bounds in self._groups)
        if claim.bound is None:
            if by_groups == math.inf:
                return None
            if witness is None or not (self._problem.infeasible_below(witness) or (alone and not witness.feasible)):
                blame("A box is said to hold no candidate, but its node does not show it.")
                return -float("inf")
            return None
        if claim.by_groups:
            holds = by_groups
        elif alone and witness is not None:
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

    def _number(self, nodes: Sequence[Node], costed: Collection[Node]) -> None:
        """Give the statements the nodes by number, and the costs of the texts if ``costed`` nodes need them."""
        listed: dict[str, list[int]] = {NODE: [*range(len(nodes))], COSTED: [int(node in costed) for node in nodes]}
        for position, levels in enumerate(zip(*nodes, strict=True)):
            listed[names.level(position)] = [*levels]
        rows = pa.table({name: pa.array(numbers, pa.int32()) for name, numbers in listed.items()})
        self._engine.load("nodes", names.CERTIFIED, rows, replayed=False)
        if self._needs == "costs" and self._catalog.attributes:
            query = readable.least_costs(self._catalog.attributes)
            self._engine.create("least costs", names.LEAST_COSTS, query, replayed=False)
        if self._needs in ("costs", "surprisals") and self._catalog.attributes:
            surprising = self._needs == "surprisals"
            self._cost_query = self._engine.render(readable_nodes.node_costs(self._catalog, surprising=surprising))

    def _judge(self, nodes: Mapping[int, Node]) -> list[Verdict]:
        """Return the verdicts of nodes, given by their numbers, from the original values."""
        engine, catalog = self._engine, self._catalog
        engine.create(
            "generalized", names.GENERALIZED, readable_nodes.generalized(catalog, nodes.values()), replayed=False
        )
        of_persons = judges_persons(self._models)
        if of_persons:
            engine.create(
                "profiles", names.PROFILES, readable_nodes.profiles(catalog, self._models, nodes), replayed=False
            )
        judged = readable_nodes.judged(catalog, self._models, nodes)
        engine.create("judged", names.JUDGED, judged, replayed=False)
        totals = settle_verified(engine, catalog, self._models, nodes, self._problem.measure)
        query = readable_nodes.node_counts(catalog, nodes, self._size, of_persons=of_persons)
        columns = query.named_selects
        counted = {row[0]: dict(zip(columns[1:], row[1:], strict=True)) for row in engine.run("node counts", query)}
        nothing = {name: None if name in UNKNOWN else 0 for name in columns}
        costs = self._costs() if self._cost_query else {}
        for relation in (names.JUDGED, names.GENERALIZED, *([names.PROFILES] if of_persons else [])):
            engine.drop(relation)
        required = required_counts(self._models, catalog.has_entity)
        verdicts = []
        for number, node in nodes.items():
            rows = [costs.get((number, position), [0.0] * (level + 2)) for position, level in enumerate(node)]
            counts = Counts.from_row(
                counted.get(number, nothing),
                required=required,
                uncovered=catalog.uncovered,
                costs=[row[0] for row in rows],
                min_costs=[row[1 : level + 2] for level, row in zip(node, rows, strict=True)],
            )
            counts = replace(counts, min_total=totals.get(number, 0) + catalog.uncovered)
            verdicts.append(verdict_of(self._problem, self._models, node, counts))
        return verdicts

    def _costs(self) -> dict[tuple[int, int], list[float]]:
        """Return, by number of a node and position, the cost of the suppressed records, then by level the least costs
        of those that are certain to be suppressed; nothing where nothing is suppressed, or no costs are asked for."""
        rows = self._engine.run("node costs", self._cost_query)
        if self._needs == "surprisals":  # the least cost is the same at every level
            tallest = max(attribute.height for attribute in self._catalog.attributes)
            return {(row[0], row[1]): [float(row[2] or 0), *[float(row[3] or 0)] * tallest] for row in rows}
        return {(row[0], row[1]): [int(cost or 0) for cost in row[2:]] for row in rows}  # some engines sum to decimals


def _facts(attributes: Sequence[Attribute]) -> list[tuple[object, ...]]:
    return [(attribute.costs, attribute.widths, attribute.all_widths) for attribute in attributes]
