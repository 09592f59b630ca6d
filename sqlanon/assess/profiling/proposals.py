"""Releases that a draft could make, searched and set beside each other.

The source is encoded once. Columns are chosen in the order of interest (``interest``): each that fits beside those
before it, at the coarsest level at which it still says something, which one node answers. Then a search finds the best
levels; wishes that most readers have are limits of levels, met as far as that costs little, and further columns are
published where they cost the first ones little. Of what is not met or published the price is said. Other proposals put
the columns of place, time or the person first, or publish by several rules where these lose much less.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import chain, combinations

from sqlanon.assess.profiling.facts import ColumnProfile, percent
from sqlanon.assess.profiling.interest import (
    FIRST,
    OF_A_PAIR,
    by_interest,
    is_asked_of_persons,
    said_before,
    subject_scores,
    tells_apart,
    worths_of,
)
from sqlanon.assess.profiling.proposed import (
    BESIDE_FIRST,
    NONE_FOUND,
    NOTHING,
    UNPROTECTED,
    Gain,
    Proposal,
    ProposalCounts,
    account,
    proposal_of,
    published_of,
)
from sqlanon.assess.profiling.several import by_several_rules
from sqlanon.assess.profiling.values_left import (
    LEAST_LIMIT,
    MOST_OF_ONE,
    few_if_known,
    too_uneven,
    uneven_values,
    with_one_value,
)
from sqlanon.assess.profiling.wishes import UnmetWish, floor_of, wishes_of, years_of
from sqlanon.core import anonymizer
from sqlanon.core.hierarchies.code_specs import FrequentValues
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.policy import Column, Policy, SearchOptions

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
BALANCED = "balanced"
PROPOSALS = 3
WEIGHT = 4.0
"""Of the columns that a proposal puts first; the others weigh 1."""
SECONDS, SECONDS_BY_SQL, ALL_SECONDS, GAP = 3.0, 8.0, 30.0, 0.02
"""Of one search, in the process and by SQL, and of all; and the proven gap that is near enough."""
MUCH_MORE = 0.15
"""How much more is left of the other columns, on average, where a column is given up for them."""
LARGEST_GAIN = 0.25
"""What the other columns must gain together, one column as it is being 1, before it is said which one to drop."""
WISHES_COST = 0.1
"""What is left of all columns may fall by so much, at most, for all wishes of readers together."""
SOMETHING_COSTS = 0.04
"""What is left of all columns may fall by so much, at most, for something of one more column to be left."""
EXCHANGES = 3
"""How often one of the chosen columns is given up for others, at most."""
SAYS_LITTLE = 0.4
"""What a column says, at most, that is given up for a wish of what most readers ask of persons."""
FEW_SENSITIVE = 8
"""Sensitive columns among the first, at most."""
ENOUGH = 9
"""Columns that are chosen first, each with something of it; further ones, where they cost these little."""
ENOUGH_PROTECTED = f"{FEW_SENSITIVE} sensitive columns are published; with more, hardly two persons would be alike."
NOTHING_LEFT = "All records that are published would have the same value of it."
LOST = "Most records with one of its values would be left out, because they are few in each class."


def propose(
    source: object, policy: Policy, found: Mapping[str, ColumnProfile], *, several_rules: bool = True
) -> tuple[Proposal, ...]:
    """Return the releases that a drafted policy could make, ``PROPOSALS`` at most, the balanced one first.

    Args:
        source: as for ``sqlanon.plan``.
        policy: with every quasi-identifier that could be published, each with a hierarchy.
        found: the columns by name.
        several_rules: try local recoding too, which takes most of the time.

    Raises:
        SqlanonError: see ``sqlanon.plan``.
    """
    by_sql = policy.entity is not None and any(item.role == "sensitive" for item in policy.columns)
    seconds = SECONDS_BY_SQL if by_sql else SECONDS
    wide = replace(policy, output=None, search=SearchOptions(time_limit=seconds, gap=GAP))
    with anonymizer.plan(source, _encoding(wide)) as whole:
        search = _Searches(whole, wide, found)
        balanced = search.balanced()
        gain = search.largest_gain(balanced)
        while gain is not None and search.gives_up(gain):
            balanced = search.balanced()
            gain = search.largest_gain(balanced)
        balanced = replace(balanced, drop=gain)
        proposals = [balanced]
        first = search.first()
        several = by_several_rules(source, wide, balanced, first) if several_rules else None
        if several is not None:
            proposals.append(several)
        for name, weights in search.emphases(balanced):
            if len(proposals) == PROPOSALS or search.late:
                break
            other = search.emphasis(name, weights)
            if all(_shown(other) != _shown(known) for known in proposals):
                proposals.append(other)
        return tuple(map(search.counted, proposals))


def _shown(proposal: Proposal) -> list[tuple[str, str]]:
    return [(item.name, item.publishes) for item in proposal.columns]


def _encoding(policy: Policy) -> Policy:
    """Return a policy that encodes the source, and that the first node meets: its search ends at once."""
    columns = tuple(replace(item, models=UNPROTECTED) if item.models else item for item in policy.columns)
    return replace(policy, columns=columns, suppression_limit=Decimal(1), search=SearchOptions(gap=0.99))


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The columns that a release publishes.

    Attributes:
        levels: the highest level of each quasi-identifier among them.
        protected: the sensitive columns among them.
        beyond: why others are not.
    """

    levels: Mapping[str, int] = field(default_factory=dict)
    protected: tuple[str, ...] = ()
    beyond: Mapping[str, str] = field(default_factory=dict)

    def but(self, levels: Mapping[str, int]) -> _Chosen:
        """Return them with other levels of some columns, or with further columns."""
        return replace(self, levels={**self.levels, **levels})

    def __contains__(self, name: object) -> bool:
        return name in self.levels or name in self.protected

    def without(self, name: str, reason: str) -> _Chosen:
        """Return them with the reason why a column is not among them."""
        return replace(self, beyond={**self.beyond, name: reason})


class _Searches:
    """Searches of one encoded source, of releases that publish something of the columns that are chosen.

    Whether columns fit together is judged at one node, the one of their coarsest levels that still say something: more
    columns, and more detail, never part fewer records.
    """

    def __init__(self, whole: Plan, policy: Policy, found: Mapping[str, ColumnProfile]) -> None:
        self._whole, self._policy, self._found = whole, policy, found
        self._deadline = time.monotonic() + ALL_SECONDS
        self._known: dict[frozenset[object], bool] = {}
        self._lost: dict[str, tuple[float, float]] = {}
        self._plans: dict[str, tuple[Plan, _Chosen]] = {}
        self.limit: float | None = None
        self._tops = {attribute.name: attribute.height - 1 for attribute in whole.catalog.attributes}
        rest = {item.name for item in policy.quasi_identifiers if isinstance(item.hierarchy, FrequentValues)}
        years = {item.name: years_of(found[item.name], item.hierarchy) for item in policy.quasi_identifiers}
        floors = {
            item.name: floor_of(item, with_rest=item.name in rest, coarsest=years[item.name])
            for item in whole.catalog.attributes
            if tells_apart(found[item.name])
        }
        self._floors = {name: level for name, level in floors.items() if level is not None}
        self._sensitive = [item.name for item in policy.columns if item.role == "sensitive"]
        candidates = [found[name] for name in found if name in self._floors or name in self._sensitive]
        title = (policy.source, policy.table)
        order = by_interest(candidates, found.values(), title)
        self._scores = subject_scores(candidates, found.values(), title)
        self._near = said_before([found[name] for name in order])
        self._order = [name for name in order if name not in self._near]
        self._wishes = sorted(
            (
                (item.name, *wish)
                for item in policy.quasi_identifiers
                for wish in wishes_of(found[item.name], item.hierarchy, self._tops[item.name] + 1)
            ),
            key=lambda wish: wish[3],
        )

    @property
    def late(self) -> bool:
        """Whether the time is spent."""
        return time.monotonic() > self._deadline

    def balanced(self) -> Proposal:
        """Return the best release of the chosen columns that meets the wishes it can, the most important first.

        Where most records with one of few values of a column would be left out, or many with one of an outcome, fewer
        records may be: in the second case as far as that costs little. Where most are lost nevertheless, or all that
        are left have one value, the column is given up.
        """
        found, lost = self._balanced(), self._lost
        if lost:
            policy, limit, plans = self._policy, self.limit, dict(self._plans)
            self._narrow(min(most for _, most in lost.values()))
            narrowed = self._balanced()
            costs = narrowed.loss > found.loss + WISHES_COST or not published_of(found) <= published_of(narrowed)
            if costs and all(share <= MOST_OF_ONE for share, _ in lost.values()):
                self._policy, self.limit, self._plans = policy, limit, plans
                self._known.clear()
                return found
            found, lost = narrowed, self._lost
        given_up = {name: LOST for name, (share, _) in lost.items() if share > MOST_OF_ONE}
        if BALANCED in self._plans:
            plan, chosen = self._plans[BALANCED]
            given_up |= dict.fromkeys(with_one_value(plan, chosen.levels, chosen.protected), NOTHING_LEFT)
        if given_up and given_up.keys() < {*self._order}:
            self._near |= given_up
            self._order = [name for name in self._order if name not in given_up]
            found = self._balanced()
        return found

    def _narrow(self, limit: float) -> None:
        """Let no more than a share of the records be left out, or ``LEAST_LIMIT``."""
        self.limit = max(LEAST_LIMIT, round(limit, 3))
        self._policy = replace(self._policy, suppression_limit=Decimal(str(self.limit)), suppression_count=None)
        self._known.clear()

    def _balanced(self) -> Proposal:
        chosen = self._chosen(self._order)
        plan, unmet = self._best(chosen), list[UnmetWish]()
        most = self._cost(plan, chosen) + WISHES_COST
        wished = set[str]()
        for name, level, wish, _ in self._wishes:
            if name in wished or chosen.levels.get(name, -1) <= level:
                continue
            finer = chosen.but({name: level})
            tried = self._searched(finer)
            if tried is None and is_asked_of_persons(self._found[name]):
                tried, finer = self._in_place_of_another(finer, name, wish)
            if tried is None:
                unmet.append(self._price(name, wish, finer))
            elif self._cost(tried, finer) > most:
                before, after = self._left(plan, chosen), self._left(tried, chosen)
                unmet.append(UnmetWish(name, wish, before=before, after=after))
            else:
                plan, chosen = tried, finer
                wished.add(name)
        plan, chosen = self._with_further(plan, chosen)
        if self._policy.entity is None:
            self._lost = too_uneven(plan, self._policy, chosen.levels, chosen.protected, self._found)
        return self._proposal(BALANCED, plan, chosen, unmet=tuple(unmet))

    def _in_place_of_another(self, finer: _Chosen, name: str, wish: str) -> tuple[Plan | None, _Chosen]:
        """Return the best plan with one chosen column finer, without one that says little: the one that says least of
        those that make room for it."""
        worths = worths_of(self._order, self._found, self._scores)
        others = [each for each in finer.levels if worths[each] <= SAYS_LITTLE and self._scores[each] <= 0]
        for gone in sorted(others, key=lambda each: worths[each]):
            levels = {each: level for each, level in finer.levels.items() if each != gone}
            fewer = replace(finer, levels=levels).without(gone, f"Its room is taken by {wish}.")
            if (plan := self._searched(fewer)) is not None:
                return plan, fewer
        return None, finer

    def emphasis(self, name: str, weights: Mapping[str, float]) -> Proposal:
        """Return the best release by weights, whose columns come first."""
        chosen = self._chosen([*weights, *(item for item in self._order if item not in weights)])
        return self._proposal(name, self._best(chosen, weights), chosen, weights=weights)

    def _chosen(self, order: Iterable[str]) -> _Chosen:
        """Return columns of which something can be published together, ``ENOUGH`` at most: the first of an order, some
        given up where others say more in their place."""
        first, left_out = list(order), frozenset[str]()
        worths = worths_of(first, self._found, self._scores)
        order = [*first[:FIRST], *sorted(first[FIRST:], key=lambda name: -worths[name])]

        def worth(chosen: _Chosen) -> float:
            return sum(worths[name] for name in order if name in chosen)

        chosen = self._filled(order, left_out)
        for _ in range(EXCHANGES):
            best, without = chosen, left_out
            others = [n for n in order[FIRST:] if n in chosen and not is_asked_of_persons(self._found[n])]
            for gone in chain.from_iterable(combinations(others, many) for many in (1, 2)):
                if time.monotonic() > self._deadline - ALL_SECONDS * 2 / 3:
                    return best
                tried = self._filled(order, left_out.union(gone))
                if worth(tried) > worth(best) + 1e-9:
                    best, without = tried, left_out.union(gone)
            if best is chosen:
                break
            chosen, left_out = best, without
        return chosen

    def _filled(self, order: Iterable[str], left_out: Container[str]) -> _Chosen:
        """Return the first columns of an order of which something can be published together, without some."""
        chosen = _Chosen(beyond=self._near)
        for name in order:
            if len(chosen.levels) + len(chosen.protected) == ENOUGH:
                break
            if name in self._sensitive and len(chosen.protected) == FEW_SENSITIVE:
                chosen = chosen.without(name, ENOUGH_PROTECTED)
                continue
            more = self._with(chosen, name)
            fits = name not in left_out and self._fits(more)
            chosen = more if fits else chosen.without(name, BESIDE_FIRST)
        return chosen

    def _fits(self, chosen: _Chosen) -> bool:
        """Return whether something of the chosen columns can be published together."""
        key = frozenset((*chosen.levels.items(), *chosen.protected))
        if key not in self._known:
            self._known[key] = self._searched(chosen, exact=True) is not None
        return self._known[key]

    def _with(self, chosen: _Chosen, name: str) -> _Chosen:
        if name in self._sensitive:
            return replace(chosen, protected=(*chosen.protected, name))
        return chosen.but({name: self._floors[name]})

    def _with_further(self, plan: Plan, chosen: _Chosen) -> tuple[Plan, _Chosen]:
        """Return a plan that publishes further columns, one by one, as long as they cost the chosen ones little.

        Wishes stay met. Of what is not published the price is said.
        """
        first, most, until = chosen, self._cost(plan, chosen) + SOMETHING_COSTS, self._deadline - ALL_SECONDS / 2
        worths = worths_of(self._order, self._found, self._scores)
        for name in sorted(self._order, key=lambda each: -worths[each]):
            if name in chosen or name in chosen.beyond:
                continue
            if name in self._sensitive and len(chosen.protected) >= FEW_SENSITIVE:
                chosen = chosen.without(name, ENOUGH_PROTECTED)
                continue
            if time.monotonic() > until:
                chosen = chosen.without(name, "There was no time to search for a release with it.")
                continue
            more = self._with(chosen, name)
            tried = self._searched(more) if self._fits(more) else None
            if tried is not None and self._cost(tried, first) <= most:
                plan, chosen = tried, more
                continue
            price = BESIDE_FIRST
            if tried is not None:
                left, before = percent(self._left(tried, first)), percent(self._left(plan, first))
                price = f"With it, {left} would be left of the columns that the table is about, in place of {before}."
            chosen = chosen.without(name, price)
        return plan, chosen

    def _best(self, chosen: _Chosen, weights: Mapping[str, float] = NOTHING) -> Plan:
        """Return the best plan that publishes the chosen columns; the one of all columns where none was found."""
        return self._searched(chosen, weights) or self._searched(chosen, exact=True) or self._whole

    def _searched(
        self, chosen: _Chosen, weights: Mapping[str, float] = NOTHING, *, exact: bool = False, **keys: object
    ) -> Plan | None:
        """Return the best plan that publishes the chosen columns, up to their levels or ``exact`` at them; None where
        there is none."""
        columns = tuple(self._column(item, chosen, weights, exact=exact) for item in self._policy.columns)
        try:
            return self._whole.with_policy(replace(self._policy, columns=columns, **keys))  # type: ignore[arg-type]
        except NONE_FOUND:
            return None

    def _column(self, item: Column, chosen: _Chosen, weights: Mapping[str, float], *, exact: bool) -> Column:
        """Return a column as a search has it; one that is not chosen is fully suppressed, and weighs nothing."""
        if item.role == "sensitive":
            return replace(item, models=item.models if item.name in chosen.protected else UNPROTECTED)
        if item.role != "quasi_identifier":
            return item
        level = chosen.levels.get(item.name)
        if level is None:
            return replace(item, weight=0.0 if chosen.levels else 1.0, min_level=self._tops[item.name])
        return replace(
            item, weight=weights.get(item.name, 1.0), max_level=level, min_level=level if exact else item.min_level
        )

    def _cost(self, plan: Plan, chosen: _Chosen) -> float:
        """Return the mean loss of the chosen columns."""
        losses = plan.attribute_losses
        about = [loss for name, loss in (losses or {}).items() if name in chosen.levels]
        return sum(about) / len(about) if about else plan.certificate.loss

    def _left(self, plan: Plan, chosen: _Chosen) -> float:
        return 1 - self._cost(plan, chosen)

    def _price(self, column: str, wish: str, chosen: _Chosen) -> UnmetWish:
        """Return what the best release found that meets one more wish suppresses, whatever the limit."""
        plan = self._searched(chosen, suppression_limit=Decimal(1), suppression_count=None)
        if plan is None:
            return UnmetWish(column, wish)
        unit, all_of_them, _, suppressed, _ = account(plan)
        return UnmetWish(column, wish, unit, suppressed, suppressed / all_of_them if all_of_them else 0.0)

    def largest_gain(self, of: Proposal) -> Gain | None:
        """Return the column whose loss would help the others most; None where none helps much."""
        gains = []
        chosen = _Chosen({item.name: self._limit(item.name, of) for item in of.columns}, self._protected(of))
        for dropped in of.columns if len(of.columns) > 1 else ():
            if self.late:
                break
            others = replace(chosen, levels={k: v for k, v in chosen.levels.items() if k != dropped.name})
            plan = self._searched(others)
            if plan is None:
                continue
            before = [item.left or 0.0 for item in of.columns if item.name != dropped.name]
            gains.append(Gain(dropped.name, sum(before) / len(before), self._left(plan, others)))
        gains = [gain for gain in gains if (gain.after - gain.before) * (len(of.columns) - 1) >= LARGEST_GAIN]
        return max(gains, key=lambda gain: gain.after - gain.before, default=None)

    def gives_up(self, gain: Gain) -> bool:
        """Return whether a column is given up, because much more is left of the others without it."""
        about_it = gain.column in self._order[:FIRST] or self._scores.get(gain.column, 0) >= OF_A_PAIR
        asked = about_it or is_asked_of_persons(self._found[gain.column])
        if asked or gain.after - gain.before < MUCH_MORE:
            return False
        self._near = self._near | {gain.column: gain.sentence}
        self._order = [name for name in self._order if name != gain.column]
        return True

    def first(self) -> list[str]:
        """Return the quasi-identifiers that come first, whether they fit together or not."""
        return [name for name in self._order if name in self._floors][:ENOUGH]

    def _limit(self, name: str, of: Proposal) -> int:
        return of.max_levels.get(name, self._floors.get(name, self._tops[name]))

    def _protected(self, of: Proposal) -> tuple[str, ...]:
        return tuple(name for name in self._sensitive if name not in of.left_out)

    def emphases(self, balanced: Proposal) -> Iterator[tuple[str, dict[str, float]]]:
        """Yield names and weights of further proposals: by theme, then by the column that lost most."""
        for title, (looks, topics) in THEMES.items():
            own = [
                name
                for name in self._order
                if name in self._floors and (self._found[name].looks_like in looks or self._found[name].topic in topics)
            ]
            if own and len(own) < len(self._floors):
                yield title, dict.fromkeys(own, WEIGHT)
        for item in sorted(balanced.columns, key=lambda item: item.left or 0.0)[:PROPOSALS]:
            if item.name in self._floors:
                yield f"most detail of {item.name}", {item.name: WEIGHT}

    def _proposal(
        self,
        name: str,
        plan: Plan,
        chosen: _Chosen,
        *,
        unmet: tuple[UnmetWish, ...] = (),
        weights: Mapping[str, float] = NOTHING,
    ) -> Proposal:
        """Return a proposal that a run makes again: its columns, with their limits, and no others."""
        self._plans.pop(name, None)
        if plan is self._whole:
            return proposal_of(name, plan, unmet=unmet, limit=self.limit)
        left_out = [each for each in (*self._tops, *self._sensitive) if each not in chosen]
        beyond = {each: chosen.beyond.get(each, BESIDE_FIRST) for each in left_out}
        own = {each: weight for each, weight in weights.items() if each in chosen.levels}
        self._plans[name] = plan, chosen
        return proposal_of(
            name, plan, unmet=unmet, weights=own, max_levels=chosen.levels, displaced=beyond, limit=self.limit
        )

    def counted(self, proposal: Proposal) -> Proposal:
        """Return a proposal with whom its protected columns would single out, and with the values that lose many of
        their records, if it is one of a search of this one."""
        if proposal.name not in self._plans:
            return proposal
        plan, chosen = self._plans[proposal.name]
        few = few_if_known(plan, self._policy, chosen.levels, proposal.protected)
        uneven = uneven_values(plan, self._policy, chosen.levels, proposal.protected, self._found)
        return replace(proposal, counted=ProposalCounts(few, uneven))
