"""The verb ``forecast``: what a policy would show of newcomers, and for how long, if it were released every night.

The classes of the source are counted by their size, in the database: no record is read. The figures are expectations
for cohorts at frozen levels (``sustained``), and for records that come and leave at random, whoever they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from sqlanon.core.anonymizer import encoded_session
from sqlanon.core.compiler.class_sizes import all_class_sizes
from sqlanon.core.engines.journal import Watcher
from sqlanon.core.evaluate.session import Session
from sqlanon.core.facts import Facts
from sqlanon.core.plan.full_domain import judging, search_plan
from sqlanon.core.policy import Policy
from sqlanon.core.progress import watching
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.ledger.review import MeasuredRates, measured_rates
from sqlanon.ledger.sustained import Rates, Sustained, sustain
from sqlanon.live.deciding import choose_chain

RATE = 0.01
"""The share of the records that comes, and that leaves, each day where neither is given or was measured."""
MARGINS = (0, 2, 5, 10, 20, 50)
"""The margins that are compared."""


@dataclass(frozen=True, slots=True)
class MarginForecast(Facts):
    """The shares that a margin would sustain: of records, or of persons where the policy has an entity.

    Attributes:
        within_7, within_30: of the newcomers, those that are shown at one of their first 7 or 30 releases.
        true_days: of all days of all records, those on which they are shown as they are.
        not_shown_last: the share of the source that is not shown as it is on the last day.
        not_shown_ever: and after a time without end; None where nobody leaves, or nobody comes.
        not_true_ever: of the rows shown then, those that are not true any more.
        limit_passed: the first day on which more than ``suppression_limit`` is not shown as it is; None: none.
    """

    margin: int
    within_7: float
    within_30: float
    true_days: float
    not_shown_last: float
    not_shown_ever: float | None
    not_true_ever: float | None
    limit_passed: int | None

    @classmethod
    def of(cls, margin: int, sustained: Sustained, limit: float) -> MarginForecast:
        """Return the shares of expected records."""
        missing, (present, true, held) = 1 - sustained.true / sustained.present, map(float, sustained.steady)
        passed = (missing > limit).nonzero()[0]
        return cls(
            margin,
            float(sustained.seen[6]),
            float(sustained.seen[29]),
            float(sustained.true.sum() / sustained.present.sum()),
            float(missing[-1]),
            1 - true / present if present else None,
            held / (held + true) if true else None,
            int(passed[0]) + 1 if len(passed) else None,
        )


@dataclass(frozen=True, slots=True)
class Forecast(Facts):
    """The forecast of releases every night.

    Attributes:
        unit: what is counted: ``records`` or ``persons``.
        frozen: the levels are those of the last release of the ledger; otherwise they were searched now.
        counted, in_small: what the source holds, and of that in classes of fewer than k.
        measured: the rates of the ledger's releases; None with fewer than two.
        margins: the forecasts, by ascending margin.
        margin, coarser_after: of the policy; None where it has none.
        in_large: without ``coarser_after``, what is in classes that k or more leave a day. They lose somebody with
            nearly every release, and newcomers wait longer for it than is forecast.
        best: the margin with the most true days.
    """

    KEYS = (
        "unit k levels frozen counted classes counted_below_k=in_small counted_in_large=in_large *rates "
        "days suppression_limit=limit measured margins margin coarser_after best"
    )
    DIGITS = 6
    unit: str
    k: int
    levels: dict[str, int]
    frozen: bool
    counted: int
    classes: int
    in_small: int
    rates: Rates
    days: int
    limit: float
    measured: MeasuredRates | None
    margins: tuple[MarginForecast, ...]
    margin: int | None
    coarser_after: int | None
    in_large: int

    @property
    def best(self) -> int:
        return max(self.margins, key=lambda each: each.true_days).margin


def forecast(
    policy: Policy, rates: tuple[float | None, float | None, float], days: int, watch: Watcher | None = None
) -> Forecast:
    """Return the forecast of a policy's releases, one a day. Nothing is published or written down.

    Args:
        rates: who comes, leaves and changes a day, as shares of the records; None: as measured from the ledger's
            releases, or 1 %.

    Raises:
        UnsupportedError: the policy has no single node, or does not ask for k-anonymity.
        InputError: a rate is none, or the ledger cannot be read.
        NoSolutionError: the policy cannot be met.
    """
    if any(rate is not None and not 0 <= rate < 1 for rate in rates):
        raise InputError("A rate is a share of the records a day.", hint="give numbers from 0 to below 1, as 0.01.")
    if policy.transformation is not None or not any(model.type == "k_anonymity" for model in policy.models):
        raise UnsupportedError(
            "A forecast is of one node and its classes of at least k records.",
            hint="ask for k_anonymity, and leave out transformation.",
        )
    earlier, measured = measured_rates(policy)
    cohorts = None if policy.ledger is None else policy.ledger.cohorts
    turn = None if cohorts is None else cohorts.coarser_after
    planned = replace(policy, ledger=None, output=None, report=None)
    with watching(watch) as seen, encoded_session(None, planned, seen) as (session, _), closing(session):
        levels = dict(search_plan(session).levels) if earlier is None else _frozen_levels(session, earlier)
        node = tuple(levels[own.name] for own in session.encoding.catalog.attributes)
        nodes = [node] if turn is None else choose_chain(session, judging(session)[0], node)
        chain = [_class_sizes(session, each) for each in nodes]
    usual = (RATE, RATE) if measured is None else (measured.arrivals, measured.departures)
    come, leave = (own if one is None else one for one, own in zip(rates[:2], usual, strict=True))
    taken, limit = Rates(come, leave, rates[2]), float(policy.suppression_limit)
    sizes, k = chain[0], max(model.size for model in policy.models)
    own = cohorts.margin if cohorts is not None else None if policy.output is None else policy.output.margin
    margins = sorted({*MARGINS, *([] if own is None else [own])})
    return Forecast(
        unit="records" if policy.entity is None else "persons",
        k=k,
        levels=levels,
        frozen=earlier is not None,
        counted=sum(size * classes for size, classes in sizes.items()),
        classes=sum(sizes.values()),
        in_small=sum(size * classes for size, classes in sizes.items() if size < k),
        rates=taken,
        days=days,
        limit=limit,
        measured=measured,
        margins=tuple(MarginForecast.of(each, sustain(chain, k, each, taken, days, turn), limit) for each in margins),
        margin=own,
        coarser_after=turn,
        in_large=sum(size * classes for size, classes in sizes.items() if size * leave >= k) if turn is None else 0,
    )


def _frozen_levels(session: Session, levels: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Return the levels of the last release of a ledger."""
    attributes = session.encoding.catalog.attributes
    if any(len(levels.get(own.name, ())) != 1 or levels[own.name][0] >= own.height for own in attributes):
        raise UnsupportedError(
            "The last release of the ledger has no single node of these quasi-identifiers.",
            hint="forecast with the policy of that release, or without its ledger.",
        )
    return {own.name: levels[own.name][0] for own in attributes}


def _class_sizes(session: Session, node: tuple[int, ...]) -> dict[int, int]:
    """Return how many classes of a node there are of each size, by one GROUP BY."""
    query = all_class_sizes(session.encoding.catalog, session.snapshots.nearest(node).table, node)
    return {int(row[0]): int(row[-1]) for row in session.judging.run("class sizes", query)}
