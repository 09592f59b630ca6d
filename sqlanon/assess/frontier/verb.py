"""The verb ``frontier``: risk against utility, as proven optima over a grid of k and limits on suppression.

**What the searches share.** The source is encoded once for all k's of the same encoding: only the width of ``redact``
depends on k, by the least size of a class (``source.widths``), so k's under which a column has another width are
encoded again. What is judged of a node is shared, too:

- The counts of a node by the models of one k do not depend on the limit (``evaluate.shared_counts``).
- Its classes do not depend on k: where nodes are judged in the process, each is grouped once, and every k counts the
  classes below it (``evaluate.in_process``).

Each search then takes the way that it would take alone, so that every point is what ``sqlanon run`` gives for its k and
limit, the choice among nodes of equal loss included.

**What carries over.** Let x be a node, k <= k', and l >= l' limits. A class that fails at k fails at k', because it
fails another model at both, or has fewer than k <= k' records. So what is suppressed at x under k is suppressed under
k' (also where models of class sizes suppress the smallest classes of those that are left until a figure holds: k'
leaves fewer of the smallest, average risk and sample uniqueness fall with each, and k' >= 2 leaves nobody alone), and

1. a candidate under (k', l') is one under (k, l): no more is suppressed under k than under k', which is within l' and
   so within l; something is published under k' and so under k; what rules a node out (δ-presence) knows no k.
2. its loss under k' is at least that under k, for every measure of ours. Those of attributes: loss_i = f_i + g_i, f_i
   does not depend on what is suppressed, g_i rises with each suppressed record (``measures.base``), and caps and
   aggregates rise with loss_i. Discernibility: n records of a class that fails now cost N each, where they cost n <= N.
   Average class size: N / (classes + 1 if anything is suppressed); if j >= 1 classes more fail, the divisor changes by
   -j, and by 1 if nothing was suppressed before: it does not rise. The loss does not depend on the limit.

Hence the optimum under (k', l') loses at least as much as that under (k, l): lower bounds carry over from smaller k's
and larger limits, solutions from larger k's and smaller limits, and where (k, l) has no solution, (k', l') has none. A
search that ends by itself needs none of this. Of one that a limit stops, the bound is the best of its own and of the
easier points, and the node the best of its own and of all other points' nodes, judged by its own k and limit.

For a measure of an extension, 2 is not known: then bounds carry over between the limits of one k alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlanon.assess.frontier.points import Effort, Frontier, FrontierPoint, percent
from sqlanon.core.anonymizer import encoded_session
from sqlanon.core.engines.journal import Watcher
from sqlanon.core.evaluate.in_process import FormedClasses
from sqlanon.core.evaluate.session import Session
from sqlanon.core.evaluate.shared_counts import SharedCounts
from sqlanon.core.measures import MEASURES
from sqlanon.core.models.base import is_of_release, judges_persons
from sqlanon.core.models.release import SizeModel
from sqlanon.core.plan.full_domain import judging, other_width, search_plan
from sqlanon.core.policy import Model, Policy, PolicyLike, as_policy
from sqlanon.core.progress import watching
from sqlanon.core.publish.ledger import ledger_of
from sqlanon.core.search.base import TIE, Problem, Request, better
from sqlanon.core.search.certificate import Certificate
from sqlanon.errors import InputError, NoSolutionError, SearchStoppedError, UnsupportedError

Place = tuple[int, Decimal]
"""The k and the limit of a point."""
KS = (2, 3, 5, 10, 20, 50)
"""The k's that are looked at unless others are named."""
LIMITS = ("0", "0.01", "0.05", "0.1")
"""The limits on suppression that are looked at unless others are named."""
MOST_POINTS = 10_000
"""Most points of a grid."""


def frontier(
    source: object,
    policy: PolicyLike,
    k: Iterable[int] = KS,
    limit: Iterable[float | str | Decimal] = LIMITS,
    *,
    watch: Watcher | bool | None = None,
) -> Frontier:
    """Find the optimum for every k and limit of a grid; publish nothing.

    A point that cannot be met is a point without a solution; it does not fail the others.

    Args:
        source: as for ``plan``; None takes the policy's.
        policy: everything but k and the limit: its ``k_anonymity`` is given each k, and is added where it has none; its
            ``suppression_limit`` or ``suppression_count`` is replaced. Limits of its search hold for each point.
        k: whole numbers of at least 1.
        limit: shares between 0 and 1, as decimal fractions.
        watch: as for ``plan``.

    Raises:
        InputError and its children: the grid, the policy, a hierarchy or the source is unusable.
        UnsupportedError: the policy asks for a transformation.
    """
    policy = as_policy(policy)
    if policy.transformation is not None:
        raise UnsupportedError(
            "A frontier is of single nodes: the policy asks for a transformation, whose rules are no proven optimum.",
            hint="leave out transformation for the frontier; run it at the k and limit that you choose.",
        )
    if judges_persons(policy.models):
        raise UnsupportedError(
            "A frontier varies the k of k_anonymity; this policy protects persons by all of their rows (profile_k).",
            hint="run the policy with each k and limit; sqlanon.plan and Plan.with_policy share one encoding.",
        )
    ks, limits = _whole_numbers(k), _shares(limit)
    if len(ks) * len(limits) > MOST_POINTS:
        raise InputError(f"The grid has more than {MOST_POINTS:,} points.", hint="name fewer k's or limits.")
    if others := [m.type for m in policy.models if is_of_release(m) and not isinstance(m, SizeModel)]:
        raise UnsupportedError(
            f"What a frontier carries from one k to another is not known of {others[0]}.",
            hint="leave it out, or run the policy at each k and limit.",
        )
    policy = replace(policy, output=None, report=None, search=replace(policy.search, on_interrupt="discard"))
    groups: list[_Group] = []
    left, encoded = ks, 0.0
    while left:
        first = with_point(policy, left[0], limits[0])
        with watching(watch) as seen, encoded_session(source, first, seen) as (session, _), closing(session):
            mine = [k for k in left if other_width(session, with_point(policy, k, limits[0])) is None]
            groups.append(_Group(session, policy))
            groups[-1].search(mine, limits)
            encoded += sum(session.seconds.values())
        left = [k for k in left if k not in mine]
    return _frontier(groups, ks, limits, encoded)


def with_point(policy: Policy, k: int, limit: Decimal) -> Policy:
    """Return the policy with another k and limit: what ``sqlanon run`` carries out at a point."""
    given = Model("k_anonymity", {"k": k})
    others = tuple(model for model in policy.privacy if model.type != "k_anonymity")
    at = next((i for i, model in enumerate(policy.privacy) if model.type == "k_anonymity"), 0)
    privacy = (*others[:at], given, *others[at:])
    return replace(policy, privacy=privacy, suppression_limit=limit, suppression_count=None)


def _whole_numbers(given: Iterable[int]) -> list[int]:
    """Return the k's, ascending, each once."""
    wanted: list[Any] = list(given) if isinstance(given, Iterable) else [given]
    if not wanted or not all(isinstance(k, int) and not isinstance(k, bool) and k >= 1 for k in wanted):
        raise InputError("These are no values of k.", hint="give whole numbers of at least 1, e.g. k=(2, 5, 10).")
    return sorted(set(wanted))


def _shares(given: Iterable[float | str | Decimal]) -> list[Decimal]:
    """Return the limits as the decimal fractions that they are written as, ascending, each once."""
    wanted: list[Any] = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    shares = []
    for share in wanted:
        try:
            shares.append(Decimal(str(share)))
        except InvalidOperation:
            shares.append(Decimal("NaN"))
    if not shares or not all(share.is_finite() and 0 <= share <= 1 for share in shares):
        raise InputError(
            "These are no limits on suppression.", hint="give shares between 0 and 1, e.g. limit=(0, 0.01, 0.05)."
        )
    return sorted(set(shares))


@dataclass(slots=True)
class _Group:
    """The points of the k's that share an encoding, by place, and what their searches took."""

    session: Session
    policy: Policy
    points: dict[Place, FrontierPoint] = field(default_factory=dict)
    stopped: list[Place] = field(default_factory=list)
    judged: list[SharedCounts] = field(default_factory=list)
    formed: FormedClasses | None = None
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0

    def search(self, ks: Sequence[int], limits: Sequence[Decimal]) -> None:
        """Search all points: easier ones first, and at each k the largest limit, which asks for the most counts."""
        start = time.perf_counter()
        local = self.session.local()
        if local is not None:
            self.formed = local.classes = FormedClasses()
        for k in ks:
            shared = SharedCounts()
            self.judged.append(shared)
            for limit in reversed(limits):
                self.points[k, limit] = self._search((k, limit), shared)
        for place in self.stopped:
            self.points[place] = self._carry(place)
        self.seconds = time.perf_counter() - start

    def under(self, place: Place) -> Session:
        """Return the session under the policy of a point."""
        return self.session.under(with_point(self.policy, *place))

    def _search(self, place: Place, shared: SharedCounts) -> FrontierPoint:
        """Return the point that a search of its own gives; note it if a limit has stopped it."""
        k, limit = place
        unmet = next((known for known in self.easier(place) if known in self.points and self._unmet(known)), None)
        if unmet is not None:
            asked = f"k = {unmet[0]} and a limit of {percent(unmet[1])}"
            return FrontierPoint(k, limit, reason=f"No node meets the policy at {asked} already, which asks for less.")
        limited = self.policy.search.time_limit is not None or self.policy.search.max_evaluations is not None
        try:
            found = search_plan(self.under(place), shared=shared)
        except NoSolutionError as error:
            return FrontierPoint(k, limit, reason=error.message)
        except SearchStoppedError as error:
            self.stopped += [place] if limited else []
            return FrontierPoint(k, limit, reason=error.message, stopped=True)
        if limited and not found.search.finished:
            self.stopped.append(place)
        self.warnings = tuple(dict.fromkeys((*self.warnings, *found.warnings)))
        return FrontierPoint(k, limit, found.levels, found.certificate, found.ledger)

    def _unmet(self, place: Place) -> bool:
        """Return whether it is proven that a point has no solution."""
        point = self.points[place]
        return not point.found and not point.stopped

    def easier(self, place: Place) -> list[Place]:
        """Return the points that ask for no more than a point does: no larger k, no smaller limit; itself is none."""
        k, limit = place
        return [other for other in self.points if other != place and other[0] <= k and other[1] >= limit]

    def _carry(self, place: Place) -> FrontierPoint:
        """Return a point whose search was stopped, with what the other points prove of it and their nodes give it."""
        own = self.points[place]
        problem, evaluator = judging(self.under(place))
        catalog = problem.catalog
        nodes = {tuple(point.levels.values()) for point in self.points.values() if point.levels is not None}
        verdicts = evaluator.judge([Request(node, catalog.bottom) for node in sorted(nodes)], exact=True)
        best = None
        for verdict in verdicts:
            if verdict.feasible and (best is None or better(verdict, best)):
                best = verdict
        if best is None:
            return own
        certificates = [(other, self.points[other].certificate) for other in (place, *self.easier(place))]
        same_loss = type(problem.measure) in MEASURES
        bounds = [
            certificate.lower_bound
            for (k, _), certificate in certificates
            if certificate is not None and certificate.lower_bound is not None and (same_loss or k == place[0])
        ]
        certificate = _certificate(problem, best.loss, max([*bounds, problem.least()]), own.certificate)
        if certificate == own.certificate and catalog.levels(best.node) == own.levels:
            return own
        ledger = ledger_of(catalog, best)
        return replace(
            own, levels=catalog.levels(best.node), certificate=certificate, ledger=ledger, carried=True, reason=None
        )


def _certificate(problem: Problem, loss: float, bound: float, own: Certificate | None) -> Certificate:
    """Return the certificate of a loss that other points bound from below."""
    bound = loss if bound >= loss - TIE * abs(loss) else bound
    return Certificate(
        measure=problem.measure.name,
        aggregate=problem.measure.aggregate,
        loss=loss,
        lower_bound=bound,
        gap=(loss - bound) / loss if loss else 0.0,
        optimal=bound == loss,
        strategy="carried over" if own is None else own.strategy,
        evaluated=0 if own is None else own.evaluated,
        lattice_size=problem.lattice.size,
    )


def _frontier(groups: Sequence[_Group], ks: Sequence[int], limits: Sequence[Decimal], encoded: float) -> Frontier:
    """Return the points of all groups in the order of the grid, with what they took."""
    points = {place: point for group in groups for place, point in group.points.items()}
    counts = [shared for group in groups for shared in group.judged]
    formed = [group.formed.formed for group in groups if group.formed is not None]
    first = groups[0].session
    quality = first.policy.quality
    named = next((point.certificate for point in points.values() if point.certificate is not None), None)
    effort = Effort(
        evaluated=sum(shared.answered + shared.judged for shared in counts),
        judged=sum(shared.judged for shared in counts),
        formed=sum(formed) if formed else None,
        encodings=len(groups),
        seconds={"encode": encoded, "search": sum(group.seconds for group in groups)},
    )
    return Frontier(
        points=tuple(points[k, limit] for k in ks for limit in limits),
        measure=quality.measure if named is None else named.measure,
        aggregate=quality.aggregate if named is None else named.aggregate,
        unit=first.encoding.catalog.unit,
        effort=effort,
        warnings=tuple(dict.fromkeys(warning for group in groups for warning in group.warnings)),
    )
