"""Releases that a draft could make, searched and set beside each other.

The source is encoded once; each proposal is the best of some searches of its lattice. The balanced one weighs all
columns alike and meets wishes that most readers have, as limits on levels: sex as it is, ages in bands of ten years at
most, years, then something of each column, as far as that costs little. Of a wish that is not met the price is said.
Others put the columns of place, time or the person first, by weights. A column of which a proposal keeps nothing apart
is left out of it: every record would hold the same there, so that nothing else changes.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from sqlanon.assess.profiling.facts import ColumnProfile, percent
from sqlanon.assess.profiling.roles import how_known
from sqlanon.assess.profiling.wishes import UnmetWish, wishes_of
from sqlanon.core import anonymizer
from sqlanon.core.facts import Facts
from sqlanon.core.hierarchies.wording import describe_levels
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.plan.planned import Planned
from sqlanon.core.policy import Column, LocalRecoding, Model, Policy, SearchOptions
from sqlanon.errors import NoSolutionError, SearchStoppedError, UnsupportedError

THEMES: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "most detail of place": (
        frozenset({"zip", "postcode", "place", "country", "latitude", "longitude", "coordinates"}), frozenset(),
    ),
    "most detail of time": (frozenset({"date", "moment", "year"}), frozenset()),
    "most detail of the person": (
        frozenset({"age", "birth_date"}),
        frozenset({"sex", "race", "marital", "education", "occupation", "household"}),
    ),
}  # fmt: skip
"""The names of proposals -> looks and topics of the columns that they put first."""
BALANCED, SEVERAL_RULES, ONE_RULE = "balanced", "several rules", "one rule for all records"
PROPOSALS = 3
WEIGHT, UNKNOWN = 4.0, 0.5
"""Of the columns that a proposal puts first, and of those of which nothing says that others know them; the others weigh
1."""
SECONDS, SECONDS_BY_SQL, ALL_SECONDS, GAP = 3.0, 8.0, 60.0, 0.02
"""Of one search, in the process and by SQL, and of all; and the proven gap that is near enough."""
SEVERAL_SAVE = 0.25
"""The share of the loss that several rules must save before they are proposed in place of one."""
LARGEST_GAIN = 0.25
"""What the other columns must gain together, one column as it is being 1, before it is said which one to drop."""
WISHES_COST = 0.1
"""What is left of all columns may fall by so much, at most, for all wishes of readers together."""
SOMETHING_COSTS = 0.04
"""What is left of all columns may fall by so much, at most, for something of one more column to be left."""
FEW_SENSITIVE = 2
"""Sensitive columns that are always published, with their models."""
LEFT_WITH_SENSITIVE = 0.8
"""The share of what would be left of the quasi-identifiers without sensitive columns that must be left with them."""
UNPROTECTED = (Model("distinct_l_diversity", {"l": 1}),)
"""The models of a sensitive column that is left out of the release: any class will do."""
NONE_FOUND = (NoSolutionError, SearchStoppedError)
"""No release meets the policy, or none was found in the time of a search."""
NOTHING: Mapping[str, Any] = MappingProxyType({})
MOST_RECORDS = 300_000
"""Records up to which several rules are tried."""
RULES_SECONDS = 10.0
"""For which several rules are looked for."""


@dataclass(frozen=True, slots=True)
class ColumnLeft(Facts):
    """What a proposal leaves of a quasi-identifier.

    Attributes:
        publishes: its level in words; several (``levels``) where rules differ in it.
        values, values_left: distinct values in the source and the release, NULL among them; None with several levels.
        left: 1 - its own loss, suppressed records counted: 1 is every value of every record; None with several rules.
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
class Proposal(Facts):
    """A release that the draft could make. For the operator: counts are exact.

    Attributes:
        rules: ``one``, or ``several`` (local recoding).
        loss: the mean of the columns' own losses, those that are left out among them, each as 1; suppressed records
            count in each.
        records, published, suppressed: records; with an entity, persons instead (``unit``).
        highest_risk, average_risk: of prosecutors: 1 / the smallest class, classes / published records.
        blank: columns that travel with another, and would be blank in some records.
        left_out: sensitive columns that are not published, because their models would cost too much of the others.
        optimal: whether it is proven that no node does better by the weights and wishes of the proposal.
        weights, max_levels: the keys of columns that make a run find the same.
        displaced: columns that could be kept, and are left out of it and its ``columns``, with their price in words.
    """

    KEYS = (
        "name rules loss unit records published suppressed smallest_class highest_risk average_risk? optimal columns "
        "left_out unmet drop?"
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
    left_out: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    unmet: tuple[UnmetWish, ...] = ()
    drop: Gain | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    max_levels: Mapping[str, int] = field(default_factory=dict)
    displaced: Mapping[str, str] = field(default_factory=dict)

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


def propose(source: object, policy: Policy, found: Mapping[str, ColumnProfile]) -> tuple[Proposal, ...]:
    """Return the releases that a drafted policy could make, ``PROPOSALS`` at most, the balanced one first.

    Args:
        source: as for ``sqlanon.plan``.
        policy: with every quasi-identifier that could be published, each with a hierarchy.
        found: the columns by name.

    Raises:
        SqlanonError: see ``sqlanon.plan``.
    """
    by_sql = policy.entity is not None and any(item.role == "sensitive" for item in policy.columns)
    seconds = SECONDS_BY_SQL if by_sql else SECONDS
    wide = replace(policy, output=None, search=SearchOptions(time_limit=seconds, gap=GAP))
    with anonymizer.plan(source, replace(wide, columns=_columns(wide))) as whole:
        search = _Searches(whole, wide, found)
        balanced = search.balanced()
        balanced = replace(balanced, drop=search.largest_gain(balanced))
        proposals = [balanced]
        several = _by_several_rules(source, wide, balanced)
        if several is not None and len(balanced.gone) > len(balanced.columns) / 2:
            proposals = [replace(several, name=BALANCED), replace(balanced, name=ONE_RULE)]
        elif several is not None:
            proposals.append(several)
        for name, weights in search.emphases(balanced):
            if len(proposals) == PROPOSALS or search.late:
                break
            other = search.emphasis(name, weights)
            if all(_shown(other) != _shown(known) for known in proposals):
                proposals.append(other)
    return tuple(proposals)


def _shown(proposal: Proposal) -> list[str]:
    return [item.publishes for item in proposal.columns]


def _columns(
    policy: Policy,
    protected: Container[str] = (),
    weights: Mapping[str, float] = NOTHING,
    max_levels: Mapping[str, int] = NOTHING,
    gone: Mapping[str, int] = NOTHING,
) -> tuple[Column, ...]:
    """Return the columns of a policy under other settings, in their order, so that one encoding serves them all.

    Args:
        protected: the sensitive columns whose models count; the others are left out of the release.
        gone: columns that are fully suppressed, with their highest level, and weigh nothing.
    """
    return tuple(
        replace(item, models=item.models if item.name in protected else UNPROTECTED)
        if item.role == "sensitive"
        else replace(item, weight=0.0, min_level=gone[item.name])
        if item.name in gone
        else replace(item, weight=weights.get(item.name, 1.0), max_level=max_levels.get(item.name))
        if item.role == "quasi_identifier"
        else item
        for item in policy.columns
    )


class _Searches:
    """Searches of one encoded source.

    Attributes:
        protected: the sensitive columns that are published.
    """

    def __init__(self, whole: Plan, policy: Policy, found: Mapping[str, ColumnProfile]) -> None:
        self._whole, self._policy, self._found = whole, policy, found
        self._deadline = time.monotonic() + ALL_SECONDS
        heights = {attribute.name: attribute.height for attribute in whole.catalog.attributes}
        self._own = {item.name: UNKNOWN for item in policy.quasi_identifiers if found[item.name].otherwise == "keep"}
        displaceable = self._own if len(self._own) < len(heights) else ()
        self._gone = {name: heights[name] - 1 for name in displaceable}
        self._displaced: dict[str, str] = {}
        wishes = [
            (item.name, *wish)
            for item in policy.quasi_identifiers
            if item.name not in self._gone
            for wish in wishes_of(found[item.name], item.hierarchy, heights[item.name])
        ]
        self._wishes = sorted(wishes, key=lambda wish: wish[3])
        self.protected = self._affordable([item.name for item in policy.columns if item.role == "sensitive"])

    def _affordable(self, sensitive: Sequence[str]) -> tuple[str, ...]:
        """Return the sensitive columns that are published: all, or as many as leave enough of the quasi-identifiers.

        Each model keeps classes together that others would part, and most so where nearly all records have one value:
        with dozens of columns nothing would be left. Those come first whose most frequent value has fewest records.
        """
        without = self._loss_with(()) if self._gone and sensitive else self._cost(self._whole)
        enough = 1 - LEFT_WITH_SENSITIVE * (1 - without)
        ordered = sorted(sensitive, key=lambda name: self._found[name].most)
        fitting, beyond = min(FEW_SENSITIVE, len(ordered)), len(ordered) + 1
        tried = len(ordered)
        while fitting < tried < beyond and not self.late:  # more models never lose less
            if self._loss_with(ordered[:tried]) <= enough:
                fitting = tried
            else:
                beyond = tried
            tried = (fitting + beyond) // 2
        return tuple(name for name in sensitive if name in ordered[:fitting])

    def _loss_with(self, protected: Sequence[str]) -> float:
        """Return the loss of the best release that publishes these sensitive columns; 1 where there is none."""
        columns = _columns(self._policy, protected, gone=self._gone)
        try:
            plan = self._whole.with_policy(replace(self._policy, columns=columns))
        except NONE_FOUND:
            return 1.0
        return self._cost(plan)

    @property
    def late(self) -> bool:
        """Whether the time is spent."""
        return time.monotonic() > self._deadline

    def balanced(self) -> Proposal:
        """Return the best release by equal weights that meets the wishes it can, the most important first."""
        plan, met, unmet = self._searched({}, {}) or self._whole, dict[str, int](), list[UnmetWish]()
        most = self._cost(plan) + WISHES_COST
        for column, level, wish, _ in self._wishes:
            if column in met:
                continue
            tried = self._searched({}, {**met, column: level})
            if tried is None:
                unmet.append(self._price(column, wish, level, met))
            elif self._cost(tried) > most:
                unmet.append(UnmetWish(column, wish, before=1 - self._cost(plan), after=1 - self._cost(tried)))
            else:
                plan, met = tried, {**met, column: level}
        plan, met = self._something_of_each(plan, met)
        plan, met = self._with_kept(plan, met)
        return _proposal(
            BALANCED, plan, unmet=tuple(unmet), weights=self._own, max_levels=met, displaced=self._displaced
        )

    def _cost(self, plan: Plan) -> float:
        """Return the mean loss of the columns that the table is about: of all, where each would be kept."""
        losses = plan.attribute_losses
        if losses is None:
            return plan.certificate.loss
        about = [loss for name, loss in losses.items() if name not in self._own] or [*losses.values()]
        return sum(about) / len(about)

    def _with_kept(self, plan: Plan, met: dict[str, int]) -> tuple[Plan, dict[str, int]]:
        """Return a plan and its limits that publish, one by one, what would be kept, as long as it costs others little.

        Wishes stay met. Columns of few values come first. Of what is not published the price is said.
        """
        most, until = self._cost(plan) + SOMETHING_COSTS, self._deadline - ALL_SECONDS / 2
        widths = {attribute.name: attribute.widths for attribute in plan.catalog.attributes}
        for name in sorted(self._gone, key=lambda name: (self._found[name].distinct, name)):
            finer = [level for level, width in enumerate(widths[name]) if width > 1]
            if not finer or time.monotonic() > until:
                self._displaced[name] = "There was no time to search for a release with it."
                continue
            highest, limits = self._gone.pop(name), {**met, name: finer[-1]}
            tried = self._searched({}, limits)
            if tried is not None and self._cost(tried) <= most:
                plan, met = tried, limits
                continue
            self._gone[name] = highest
            price = "No release with something of it was found that meets the limits and the wishes that are met."
            if tried is not None:
                left, before = percent(1 - self._cost(tried)), percent(1 - self._cost(plan))
                price = (
                    f"Something of it would leave {left} of the columns that the table is about, in place of {before}."
                )
            self._displaced[name] = price
        return plan, met

    def _something_of_each(self, plan: Plan, met: dict[str, int]) -> tuple[Plan, dict[str, int]]:
        """Return a plan and its limits with something left of further columns, what others know of a person first."""
        known = sorted(plan.catalog.attributes, key=lambda a: (how_known(self._found[a.name]), a.widths[0]))
        for attribute in known:
            if attribute.name in self._gone or attribute.name not in plan.nothing_left or self.late:
                continue
            finer = [level for level, width in enumerate(attribute.widths) if width > 1]
            limits = {**met, attribute.name: finer[-1]} if finer else met
            tried = self._searched({}, limits) if finer else None
            if tried is not None and self._cost(tried) <= self._cost(plan) + SOMETHING_COSTS:
                plan, met = tried, limits
        return plan, met

    def emphasis(self, name: str, weights: Mapping[str, float]) -> Proposal:
        """Return the best release by weights."""
        plan = self._searched(weights, {}) or self._whole
        return _proposal(name, plan, weights={**self._own, **weights}, displaced=self._displaced)

    def _searched(
        self,
        weights: Mapping[str, float],
        max_levels: Mapping[str, int],
        gone: Mapping[str, int] = NOTHING,
        **keys: object,
    ) -> Plan | None:
        """Return the best plan under settings of columns (``_columns``) and other keys; None where there is none."""
        weights, gone = {**self._own, **weights}, {**self._gone, **gone}
        columns = _columns(self._policy, self.protected, weights, max_levels, gone)
        try:
            return self._whole.with_policy(replace(self._policy, columns=columns, **keys))  # type: ignore[arg-type]
        except NONE_FOUND:
            return None

    def _price(self, column: str, wish: str, level: int, met: Mapping[str, int]) -> UnmetWish:
        """Return what the best release found that meets one more wish suppresses, whatever the limit."""
        plan = self._searched({}, {**met, column: level}, suppression_limit=Decimal(1), suppression_count=None)
        if plan is None:
            return UnmetWish(column, wish)
        unit, all_of_them, _, suppressed, _ = _account(plan)
        return UnmetWish(column, wish, unit, suppressed, suppressed / all_of_them if all_of_them else 0.0)

    def largest_gain(self, of: Proposal) -> Gain | None:
        """Return the column whose loss would help the others most; None where none helps much."""
        gains = []
        published = [item for item in of.columns if not item.fully_suppressed]
        for dropped in published if len(published) > 1 else ():
            if self.late:
                break
            limits = {name: level for name, level in of.max_levels.items() if name != dropped.name}
            [height] = [item.height for item in self._whole.catalog.attributes if item.name == dropped.name]
            plan = self._searched({}, limits, {dropped.name: height - 1})
            if plan is None:
                continue
            losses = plan.attribute_losses or {}
            left = [1.0 - loss for name, loss in losses.items() if name not in (dropped.name, *self._gone)]
            before = [item.left or 0.0 for item in of.columns if item.name != dropped.name]
            gains.append(Gain(dropped.name, sum(before) / len(before), sum(left) / len(left)))
        gains = [gain for gain in gains if (gain.after - gain.before) * (len(of.columns) - 1) >= LARGEST_GAIN]
        return max(gains, key=lambda gain: gain.after - gain.before, default=None)

    def emphases(self, balanced: Proposal) -> Iterator[tuple[str, dict[str, float]]]:
        """Yield names and weights of further proposals: by theme, then by the column that lost most."""
        names = [item.name for item in balanced.columns]
        for title, (looks, topics) in THEMES.items():
            own = [n for n in names if self._found[n].looks_like in looks or self._found[n].topic in topics]
            if own and len(own) < len(names):
                yield title, dict.fromkeys(own, WEIGHT)
        for item in sorted(balanced.columns, key=lambda item: item.left or 0.0):
            yield f"most detail of {item.name}", {item.name: WEIGHT}


def _by_several_rules(source: object, policy: Policy, single: Proposal) -> Proposal | None:
    """Return the balanced proposal by several rules, where they save much of the loss of the single node."""
    of_sizes = policy.entity is None and not any(item.role == "sensitive" for item in policy.columns)
    if not of_sizes or single.records > MOST_RECORDS or not single.loss:  # sensitive values leave one rule, mostly
        return None
    limits = replace(policy.search, time_limit=RULES_SECONDS)
    columns = tuple(
        Column.drop(item.name)
        if item.name in single.displaced or (item.travels is not None and item.travels.column in single.displaced)
        else replace(item, max_level=single.max_levels.get(item.name))
        for item in policy.columns
    )
    try:
        rules = replace(policy, columns=columns, search=limits, transformation=LocalRecoding())
        with anonymizer.recode(source, rules) as plan:
            several = _proposal(
                SEVERAL_RULES, plan, unmet=single.unmet, max_levels=single.max_levels, displaced=single.displaced
            )
    except (*NONE_FOUND, UnsupportedError):
        return None
    return several if several.loss <= (1 - SEVERAL_SAVE) * single.loss else None


def _account(plan: Planned) -> tuple[str, int, int, int, int | None]:
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
    return sum(counted) / len(counted)


def _proposal(
    name: str,
    plan: Planned,
    *,
    unmet: tuple[UnmetWish, ...] = (),
    weights: Mapping[str, float] | None = None,
    max_levels: Mapping[str, int] | None = None,
    displaced: Mapping[str, str] = NOTHING,
) -> Proposal:
    unit, records, published, suppressed, smallest = _account(plan)
    losses = plan.attribute_losses
    hierarchies: dict[str, Column] = {item.name: item for item in plan.policy.quasi_identifiers}
    gone = set(plan.nothing_left)
    columns = tuple(
        ColumnLeft(
            item.name,
            describe_levels(hierarchies[item.name].hierarchy, levels, item.height),
            levels,
            item.widths[0],
            item.widths[levels[0]] if len(levels) == 1 else None,
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
        unit,
        records,
        published,
        suppressed,
        smallest,
        ledger.classes / ledger.published if ledger.entities is None and ledger.published else None,
        plan.certificate.optimal,
        columns,
        tuple(item.name for item in plan.policy.columns if item.models == UNPROTECTED),
        tuple(n for n, item in plan.travelling.items() if max(plan.published_levels[item.position]) > item.level),
        unmet,
        None,
        dict(weights or {}),
        dict(max_levels or {}),
        dict(displaced),
    )
