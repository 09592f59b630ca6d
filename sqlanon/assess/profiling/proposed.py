"""What a proposal of a draft is: a release that it could make, with what is left of each column, and its price."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sqlanon.assess.profiling.facts import percent
from sqlanon.assess.profiling.wishes import UnmetWish
from sqlanon.core.facts import Facts
from sqlanon.core.hierarchies.wording import describe_levels
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.plan.planned import Planned
from sqlanon.core.policy import Column, Model
from sqlanon.errors import NoSolutionError, SearchStoppedError

UNPROTECTED = (Model("distinct_l_diversity", {"l": 1}),)
"""The models of a sensitive column that is left out of the release: any class will do."""
BESIDE_FIRST = "No release by one rule with something of it was found beside the columns that the table is more about."
NONE_FOUND = (NoSolutionError, SearchStoppedError)
"""No release meets the policy, or none was found in the time of a search."""
MOST_RECORDS = 300_000
"""Records up to which several rules are tried, and values counted that are left out."""
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ColumnLeft(Facts):
    """What a proposal leaves of a quasi-identifier.

    Attributes:
        publishes: its level in words; several (``levels``) where rules differ in it.
        values, values_left: distinct values in the source and the release, NULL among them; None with several levels.
        left: 1 - its own loss, suppressed records counted: 1 is every value of every record. Of several rules, about so
            much: the records of each are taken to be like all.
    """

    name: str
    publishes: str
    levels: tuple[int, ...]
    values: int
    values_left: int | None
    left: float | None
    fully_suppressed: bool


@dataclass(frozen=True, slots=True)
class Gain(Facts):
    """What the other columns gain where one is dropped: the mean of what is left of them, before and after."""

    column: str
    before: float
    after: float

    @property
    def sentence(self) -> str:
        """The column and the gain."""
        return (
            f"Dropping {self.column!r} gains most: {percent(self.after)} would be left of the other columns, "
            f"in place of {percent(self.before)}."
        )


@dataclass(frozen=True, slots=True)
class ProposalCounts:
    """What was counted of the records that a proposal publishes; nothing where it was not counted.

    Attributes:
        few_if_known: protected columns (each, each two, all) -> published records, or persons, in groups of fewer than
            k, if others know these of a person beside the quasi-identifiers; no column -> all of them.
        uneven: columns -> the share of the records of one of its values that is left out, the largest, if it is large.
    """

    few_if_known: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    uneven: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal(Facts):
    """A release that the draft could make. For the operator: counts are exact.

    Attributes:
        rules: ``one``, or ``several`` (local recoding).
        loss: the mean of the columns' own losses, those that are left out among them, each as 1; suppressed records
            count in each.
        records, published, suppressed: records; with an entity, persons instead (``unit``).
        highest_risk, average_risk: of prosecutors: 1 / the smallest class, classes / published records.
        blank: columns that travel with another, and would be blank in some records.
        protected: the sensitive columns that are published as they are, each with its model; ``left_out`` are the
            others, whose models would cost too much. ``in_bands``: of the protected ones, those that are published at a
            level of a hierarchy.
        limit: the share of the records that may be left out, where it is less than a draft's usual one.
        counted: what its classes do not say of it.
        optimal: whether it is proven that no node does better by the weights and wishes of the proposal.
        weights, max_levels: the keys of columns that make a run find the same.
        displaced: columns that could be kept, and are left out of it and its ``columns``, with their price in words.
    """

    KEYS = (
        "name rules loss unit records published suppressed smallest_class highest_risk average_risk? optimal columns "
        "protected left_out unmet drop?"
    )
    name: str
    rules: str
    loss: float
    unit: str
    records: int
    published: int
    suppressed: int
    smallest_class: int | None
    average_risk: float | None
    optimal: bool
    columns: tuple[ColumnLeft, ...]
    protected: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    unmet: tuple[UnmetWish, ...] = ()
    drop: Gain | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    max_levels: Mapping[str, int] = field(default_factory=dict)
    displaced: Mapping[str, str] = field(default_factory=dict)
    in_bands: tuple[str, ...] = ()
    limit: float | None = None
    counted: ProposalCounts = field(default_factory=ProposalCounts)

    @property
    def highest_risk(self) -> float:
        """1 / the smallest class; 0 where nothing is published."""
        return 1.0 / self.smallest_class if self.smallest_class else 0.0

    @property
    def gone(self) -> tuple[str, ...]:
        """The columns of which it keeps nothing apart."""
        return tuple(item.name for item in self.columns if item.fully_suppressed)

    @property
    def left(self) -> float:
        """What is left of the columns, on average."""
        return 1.0 - self.loss


def left_by_rules(plan: Planned) -> dict[str, float]:
    """Return what several rules leave of each column, their records taken to be like all of them."""
    rules, records = getattr(plan, "rules", ()), plan.ledger.records
    return {
        item.name: sum(rule.records * item.costs[rule.node[place]] for rule in rules) / (item.costs[0] * records)
        if item.costs[0] and records else 0.0
        for place, item in enumerate(plan.catalog.attributes)
    }  # fmt: skip


def published_of(proposal: Proposal) -> set[str]:
    """Return the columns of which a proposal publishes something."""
    return {*proposal.protected, *(item.name for item in proposal.columns if not item.fully_suppressed)}


def account(plan: Planned) -> tuple[str, int, int, int, int | None]:
    """Return what a plan counts, how many there are, are published and suppressed, and the smallest class."""
    ledger = plan.ledger
    if (persons := ledger.entities) is not None:
        return "persons", persons.total, persons.published, persons.suppressed, persons.smallest_class
    return "records", ledger.records, ledger.published, ledger.suppressed, ledger.smallest_class


def _mean_loss(plan: Planned, displaced: Container[str] = ()) -> float:
    losses = plan.attribute_losses
    if losses is None:
        return plan.certificate.loss
    counted = [loss for name, loss in losses.items() if name not in displaced]
    return sum(counted) / len(counted) if counted else 1.0


def proposal_of(
    name: str,
    plan: Planned,
    *,
    unmet: tuple[UnmetWish, ...] = (),
    weights: Mapping[str, float] | None = None,
    max_levels: Mapping[str, int] | None = None,
    displaced: Mapping[str, str] = NOTHING,
    limit: float | None = None,
) -> Proposal:
    """Return the proposal that a plan makes.

    Args:
        weights, max_levels: what makes a run find the same.
        displaced: the columns that are left out, with the reason.
        limit: see ``Proposal``.
    """
    losses = plan.attribute_losses
    if not isinstance(plan, Plan):
        losses = {each: 1.0 - share for each, share in left_by_rules(plan).items()}
    hierarchies: dict[str, Column] = {item.name: item for item in plan.policy.quasi_identifiers}
    gone, values = set(plan.nothing_left), plan.published_types().count_values(plan.engine, plan.catalog)
    columns = tuple(
        ColumnLeft(
            item.name,
            describe_levels(hierarchies[item.name].hierarchy, levels, item.height),
            levels,
            item.widths[0],
            values.get(item.name),
            None if losses is None else 1.0 - losses[item.name],
            item.name in gone,
        )
        for item, levels in zip(plan.catalog.attributes, plan.published_levels, strict=True)
        if item.name not in displaced
    )
    ledger = plan.ledger
    return Proposal(
        name,
        "one" if isinstance(plan, Plan) else "several",
        _mean_loss(plan, displaced),
        *account(plan),
        ledger.classes / ledger.published if ledger.entities is None and ledger.published else None,
        plan.certificate.optimal,
        columns,
        tuple(item.name for item in plan.policy.columns if item.models not in ((), UNPROTECTED)),
        tuple(item.name for item in plan.policy.columns if item.models == UNPROTECTED),
        tuple(n for n, item in plan.travelling.items() if max(plan.published_levels[item.position]) > item.level),
        unmet,
        None,
        dict(weights or {}),
        dict(max_levels or {}),
        dict(displaced),
        tuple(item.name for item in plan.policy.columns if item.level is not None),
        limit,
    )
