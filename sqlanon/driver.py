"""Drives a strategy: hands its requests to an evaluator, keeps the limits of the search, and states what is proven."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlanon.certificate import Certificate
from sqlanon.errors import NoSolutionError, SearchStoppedError
from sqlanon.evaluator import Evaluator
from sqlanon.policy import SearchOptions
from sqlanon.search import strategy_named
from sqlanon.search.base import TIE, Problem, Progress, Request, Verdict

Watcher = Callable[[Progress], None]
"""Called after every batch of verdicts, to show progress."""


def search(
    problem: Problem, evaluator: Evaluator, options: SearchOptions, *, watch: Watcher | None = None
) -> tuple[Verdict, Certificate, Progress]:
    """Search until the strategy ends, a limit is reached, or the user interrupts; return the best node and its proof.

    Raises:
        NoSolutionError: the strategy has proven that no node meets the policy.
        SearchStoppedError: stopped before any solution was found.
    """
    name, strategy = strategy_named(options.strategy)
    progress = Progress()
    generator = strategy(problem, progress, gap=float(options.gap))
    stopped = ""
    try:
        requests = next(generator)
        while True:
            stopped = _limit(options, progress)
            if stopped:
                break
            room = (options.max_evaluations or len(requests) + progress.evaluated) - progress.evaluated
            if room < len(requests):
                for verdict in evaluator.judge(requests[:room]):
                    progress.see(verdict)
                stopped = "max_evaluations"
                break
            verdicts = evaluator.judge(requests)
            requests = generator.send(verdicts)
            if watch:
                watch(progress)
    except StopIteration:
        pass
    except KeyboardInterrupt:
        stopped = "interrupt"
    if progress.incumbent is None:
        _give_up(problem, evaluator, progress, stopped)
    assert progress.incumbent is not None
    return progress.incumbent, _certify(problem, progress, name, stopped), progress


def _limit(options: SearchOptions, progress: Progress) -> str:
    if options.time_limit is not None and time.perf_counter() - progress.started >= float(options.time_limit):
        return "time_limit"
    if options.max_evaluations is not None and progress.evaluated >= options.max_evaluations:
        return "max_evaluations"
    return ""


def _certify(problem: Problem, progress: Progress, strategy: str, stopped: str) -> Certificate:
    """The proof: every node not judged or pruned has at least ``lower_bound``; the incumbent is the rest."""
    incumbent = progress.incumbent
    assert incumbent is not None
    loss = incumbent.loss
    open_bound = progress.lower_bound
    if open_bound is None:
        assert progress.finished, f"search ended ({stopped}) without a bound"
        lower = loss
    else:
        lower = min(open_bound, loss)
    optimal = lower >= loss - TIE * abs(loss)
    if optimal:
        lower = loss
    return Certificate(
        measure=problem.measure.name,
        aggregate=problem.measure.aggregate,
        loss=loss,
        lower_bound=lower,
        gap=(loss - lower) / loss if loss else 0.0,
        optimal=optimal,
        strategy=strategy,
        evaluated=progress.evaluated,
        lattice_size=problem.lattice.size,
    )


def _give_up(problem: Problem, evaluator: Evaluator, progress: Progress, stopped: str) -> None:
    if not progress.finished:
        raise SearchStoppedError(
            f"The search was stopped ({stopped}) after {progress.evaluated} evaluations, before any solution.",
            hint="raise time_limit or max_evaluations.",
        )
    catalog, nearest = problem.catalog, progress.nearest
    report = None
    told = ""
    if nearest is not None:
        report = {"levels": catalog.levels(nearest.node), "suppressed": nearest.suppressed}
        told = f" The nearest node suppresses {nearest.suppressed}{_culprits(evaluator, nearest)}."
    raise NoSolutionError(
        f"No node of the lattice meets the policy: at most {catalog.allowed} of {catalog.population} records may be "
        f"suppressed, and some must be published.{told}",
        hint="raise suppression_limit, loosen the privacy models, or loosen max_level.",
        nearest=report,
    )


def _culprits(evaluator: Evaluator, nearest: Verdict) -> str:
    """Which models suppress how much at the nearest node."""
    verdict = evaluator.judge([Request(nearest.node, nearest.node)], exact=True)[0]
    if verdict.ruled_out:
        return "; classes without records of the subset rule it out (public_only: reject)"
    failing = [(label, count) for label, count in verdict.by_model if count]
    return " (" + ", ".join(f"{label}: {count}" for label, count in failing) + ")" if failing else ""
