"""The driver of a strategy: hands requests to an evaluator, keeps the limits of the search, states what is proven."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.policy import SearchOptions
from sqlanon.core.policy.extensions import NOTHING, Extensions
from sqlanon.core.search.base import TIE, Claim, Problem, Progress, Request, Verdict, rank
from sqlanon.core.search.box import useful_top
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.search.proof import Proof, first_gap, proof_of
from sqlanon.errors import Interrupted, NoSolutionError, SearchStoppedError


class NodeJudge(Protocol):
    """What a search asks for verdicts: ``evaluate.Evaluator``, or another that counts other things."""

    @property
    def judged(self) -> Collection[Verdict]:
        """All verdicts so far."""
        ...

    def judge(self, requests: Sequence[Request], *, exact: bool = False) -> list[Verdict]:
        """Return the verdicts of the requested nodes, in their order."""
        ...

    def report(self, progress: Progress) -> None:
        """Say how far a search is, to whoever watches."""
        ...

    def forget(self) -> None:
        """Drop verdicts where there are too many."""
        ...


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search: the best node, its certificate, how the search went, and the proof itself."""

    verdict: Verdict
    certificate: Certificate
    progress: Progress
    proof: Proof | None


def run_search(
    problem: Problem,
    evaluator: NodeJudge,
    options: SearchOptions,
    *,
    extensions: Extensions = NOTHING,
    near: Node | None = None,
) -> SearchResult:
    """Search until the strategy ends or a limit is reached; return the best node and its proof.

    A strategy cannot claim that its answer is proven: boxes of nodes must cover the lattice (``proof``). An interrupt
    counts as a limit where the options say so (``on_interrupt``).

    Args:
        near: the node of an earlier release. It is judged first; and of the solutions that are proven to be within
            ``gap`` of the optimum, or else of those that lose as little as the best, the nearest to it is returned.

    Raises:
        Interrupted: the user interrupted the search, which the options do not count as a limit, or nothing was found.
        NoSolutionError: it is proven that no node meets the policy.
        SearchStoppedError: no solution was found, and it is not proven that there is none.
    """
    name, strategy = extensions.strategy(options.strategy)
    progress = Progress()
    if near is not None:
        progress.see(*evaluator.judge([Request(near, problem.lattice.bottom)]))
    generator = strategy(problem, progress, gap=float(options.gap))
    try:
        requests = next(generator)
        while True:
            progress.stopped = _limit(options, progress)
            if progress.stopped:
                break
            room = (options.max_evaluations or len(requests) + progress.evaluated) - progress.evaluated
            if room < len(requests):
                for verdict in evaluator.judge(requests[:room]):
                    progress.see(verdict)
                progress.stopped = "max_evaluations"
                break
            verdicts = evaluator.judge(requests)
            requests = generator.send(verdicts)
            evaluator.report(progress)
            if progress.claims is not None:  # other proofs are built from the verdicts at the end
                evaluator.forget()
    except StopIteration:
        evaluator.report(progress)
    except KeyboardInterrupt:
        progress.stopped = "interrupt"
    proof = _proof(problem, evaluator, progress, interrupted=progress.stopped == "interrupt")
    best = progress.incumbent
    if best is None:
        _give_up(problem, evaluator, progress, proof, name)
    certificate = _certify(problem, best, progress, proof, name)
    if near is not None:
        best = _nearest(progress.solutions, best, near, problem, certificate.lower_bound, float(options.gap))
        certificate = _certify(problem, best, progress, proof, name)
    if progress.stopped == "interrupt" and options.on_interrupt == "discard":
        raise interrupted(f"{progress.evaluated} evaluations", certificate, problem.catalog.levels(best.node))
    return SearchResult(best, certificate, progress, proof)


def interrupted(effort: str, best: Certificate | None = None, levels: Mapping[str, int] | None = None) -> Interrupted:
    """Return the error of a search that the user stopped, with the best solution so far, if there is one.

    >>> interrupted("7 evaluations").message
    'The search was interrupted after 7 evaluations; nothing was published. It had not found a solution.'
    """
    start = f"The search was interrupted after {effort}; nothing was published."
    if best is None:
        return Interrupted(f"{start} It had not found a solution.", hint="run it again.")
    bounds = {"loss": best.loss, "lower_bound": best.lower_bound, "gap": best.gap}
    return Interrupted(
        f"{start} The best solution so far loses {best.loss:.6f}, {best.nearness}.",
        hint="to publish what an interrupted search has found, say --on-interrupt publish, or search: {on_interrupt: "
        "publish}; to end a search sooner, search: {time_limit: 60, gap: 0.05}, say.",
        incumbent={"levels": None if levels is None else dict(levels), **bounds},
    )


def _proof(problem: Problem, evaluator: NodeJudge, progress: Progress, *, interrupted: bool) -> Proof | None:
    """Return the proof that the strategy has kept, or one from all judged nodes.

    Stopped before there is one, return what holds for every lattice.
    """
    incumbent = progress.incumbent
    if progress.claims is not None:
        kept = Proof(useful_top(problem), (*progress.claims, *progress.frontier()), progress.groups)
        if not interrupted or first_gap(kept.claims, problem.lattice.bottom, kept.top) is None:
            return kept
        progress.lower_bound = problem.least()  # the interrupt came while the strategy was cutting boxes
        return _trivial(problem)
    proof = proof_of(problem, evaluator.judged, incumbent.loss if incumbent is not None else math.inf)
    return proof if proof is not None or progress.finished else _trivial(problem)


def distance(problem: Problem, node: Node, other: Node) -> float:
    """Return how far two nodes are: the differences of their levels, each as a share of its hierarchy's levels, summed.

    So a distance of 1 is one column from its values to its root.
    """
    return sum(abs(a - b) / max(top, 1) for a, b, top in zip(node, other, problem.catalog.top, strict=True))


def _nearest(
    solutions: Sequence[Verdict], best: Verdict, near: Node, problem: Problem, lower: float | None, gap: float
) -> Verdict:
    """Return the solution nearest to a node among those within the gap of a lower bound, or as good as the best."""
    most = max(best.loss, -math.inf if lower is None else lower / (1.0 - gap))
    within = [verdict for verdict in (best, *solutions) if verdict.loss <= most + TIE * abs(most)]
    return min(within, key=lambda verdict: (distance(problem, verdict.node, near), rank(verdict)))


def judge_node(problem: Problem, evaluator: NodeJudge, node: Node, strategy: str) -> SearchResult:
    """Judge one node in the place of a search. Of other nodes nothing is proven.

    Raises:
        NoSolutionError: it does not meet the policy; the message has shares, and no count.
    """
    progress = Progress()
    progress.see(*evaluator.judge([Request(node, node)]))
    if progress.incumbent is None:
        raise _not_met(problem, evaluator, node)
    loss, measure = progress.incumbent.loss, problem.measure
    lattice_size = problem.lattice.size
    certificate = Certificate(measure.name, measure.aggregate, loss, None, None, False, strategy, 1, lattice_size)
    progress.finished = True
    return SearchResult(progress.incumbent, certificate, progress, None)


def _not_met(problem: Problem, evaluator: NodeJudge, node: Node) -> NoSolutionError:
    """Return the error of a node that does not meet the policy: which requirement fails, and by how much."""
    catalog = problem.catalog
    [verdict] = evaluator.judge([Request(node, node)], exact=True)
    report, lacking = _shortage(problem, verdict)
    models = ", ".join(f"{label} {count / catalog.population:.3%}" for label, count in lacking)
    unit = catalog.unit
    if verdict.ruled_out:
        reason = "it holds classes without records of the subset, which public_only: reject rules out"
    else:
        share, most = (count / catalog.counted for count in (verdict.counted_against_limit, catalog.allowed))
        reason = f"it would suppress {share:.3%} of the {unit}, and at most {most:.3%} are allowed"
    return NoSolutionError(
        f"The node of the earlier release does not meet the policy any more: {reason}"
        + (f" (records that each model would suppress: {models})." if models else "."),
        hint="say --replan, which searches from that node and says what changes; or raise suppression_limit.",
        nearest=report,
    )


def _shortage(problem: Problem, verdict: Verdict) -> tuple[dict[str, object], list[tuple[str, int]]]:
    """Return what a node lacks to be a solution, for ``NoSolutionError``, and the records by model."""
    catalog = problem.catalog
    lacking = [(label, count) for label, count in verdict.by_model if count]
    report: dict[str, object] = {
        "levels": catalog.levels(verdict.node),
        "suppressed": verdict.counted_against_limit,
        "allowed": catalog.allowed,
        "models": [{"model": label, "suppressed": count} for label, count in lacking],
    }
    return report, lacking


def _trivial(problem: Problem) -> Proof:
    """Return what holds without any verdict: every candidate loses at least ``least``."""
    lattice = problem.lattice
    return Proof(lattice.top, (Claim(lattice.bottom, lattice.top, None, None, problem.least()),))


def _limit(options: SearchOptions, progress: Progress) -> str:
    """Return the name of the limit that is reached; empty when none is."""
    if options.time_limit is not None and time.perf_counter() - progress.started >= float(options.time_limit):
        return "time_limit"
    if options.max_evaluations is not None and progress.evaluated >= options.max_evaluations:
        return "max_evaluations"
    return ""


def _certify(
    problem: Problem, incumbent: Verdict, progress: Progress, proof: Proof | None, strategy: str
) -> Certificate:
    """Return the certificate: every candidate that is neither judged nor pruned loses at least ``lower_bound``."""
    loss = incumbent.loss
    enough = loss - TIE * abs(loss)
    own = progress.lower_bound if progress.lower_bound is not None else -math.inf
    lower: float | None
    if proof is None:  # a strategy has ended; its own bound counts if it is higher than what the lattice alone proves
        lower = min(own, loss) if own > problem.least() else None
    else:
        shown = min((claim.bound for claim in proof.claims if claim.bound is not None), default=math.inf)
        lower = own if shown < own < enough else shown
        lower = loss if lower >= enough else lower
    gap = None if lower is None else (loss - lower) / loss if loss else 0.0
    return Certificate(
        measure=problem.measure.name,
        aggregate=problem.measure.aggregate,
        loss=loss,
        lower_bound=lower,
        gap=gap,
        optimal=proof is not None and lower == loss,
        strategy=strategy,
        evaluated=progress.evaluated,
        lattice_size=problem.lattice.size,
    )


def _give_up(
    problem: Problem, evaluator: NodeJudge, progress: Progress, proof: Proof | None, strategy: str
) -> NoReturn:
    """Raise the error of a search without a solution: NoSolutionError if it is proven that there is none."""
    if progress.stopped == "interrupt":
        raise interrupted(f"{progress.evaluated} evaluations")
    if not progress.finished:
        raise SearchStoppedError(
            f"The search was stopped ({progress.stopped}) after {progress.evaluated} evaluations, before any solution.",
            hint="raise time_limit or max_evaluations.",
        )
    if proof is None:
        raise SearchStoppedError(
            f"The strategy {strategy} ended after {progress.evaluated} evaluations without a solution, which does not "
            "prove that there is none.",
            hint="use the strategy box, which finds one if there is one.",
        )
    catalog = problem.catalog
    report: dict[str, object] | None = None
    shortfall = ""
    if progress.nearest is not None:  # judged again: a search need not know by how much a node fails
        [nearest] = evaluator.judge([Request(progress.nearest.node, progress.nearest.node)], exact=True)
        report, lacking = _shortage(problem, nearest)
        shortfall = f" The nearest node{_shortfall(problem, nearest, lacking)}."
    limit = f"{catalog.allowed} of {catalog.counted} {catalog.unit}"
    raise NoSolutionError(
        f"No node of the lattice meets the policy: at most {limit} may be suppressed, and some must be "
        f"published.{shortfall}",
        hint=_cure(problem, evaluator),
        nearest=report,
    )


def _shortfall(problem: Problem, nearest: Verdict, lacking: list[tuple[str, int]]) -> str:
    """Return in words what a node lacks to be a solution."""
    if nearest.ruled_out:
        return " holds classes without records of the subset, which rule it out (public_only: reject)"
    unit = problem.catalog.unit
    excess = nearest.counted_against_limit - problem.catalog.allowed
    text = f" suppresses {nearest.counted_against_limit} {unit}" + (" in part or whole" if unit != "records" else "")
    if excess > 0:
        text += f", {excess} more than allowed"
    if lacking:
        counts = ", ".join(f"{label}: {count}" for label, count in lacking)
        text += f" ({counts})" if unit == "records" else f" (records by model: {counts})"
    return text


def _cure(problem: Problem, evaluator: NodeJudge) -> str:
    """Return what may help.

    Whether loosening the limits on levels helps is known from the node that generalizes everything.
    """
    catalog, lattice = problem.catalog, problem.lattice
    limited = [a.name for a, own, top in zip(catalog.attributes, lattice.top, catalog.top, strict=True) if own < top]
    if not limited:
        return "raise suppression_limit, or loosen the privacy models."
    columns = ", ".join(map(repr, limited))
    if evaluator.judge([Request(catalog.top, catalog.top)], exact=True)[0].feasible:
        return f"raise max_level of {columns}: with everything generalized the policy is met."
    return f"raise suppression_limit, or loosen the privacy models; raising max_level of {columns} may help too."
