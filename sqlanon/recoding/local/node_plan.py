"""Local recoding: an ordered set of nodes, chosen by what they gain over the best single node, or given."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from secrets import randbits

from sqlanon.core.compiler.question import Question
from sqlanon.core.evaluate.problem import build_problem
from sqlanon.core.evaluate.session import Session
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models import least_size
from sqlanon.core.plan.full_domain import Plan, search_plan
from sqlanon.core.policy import LocalRecoding, SearchOptions
from sqlanon.core.search.base import TIE, Problem
from sqlanon.errors import HierarchyError, NoSolutionError, SearchStoppedError
from sqlanon.recoding.local.bounding import lower_bound
from sqlanon.recoding.local.holding import TRIES, Starts
from sqlanon.recoding.local.insertion import certified
from sqlanon.recoding.local.recoded_plan import RecodedPlan, accounted, load_rules
from sqlanon.recoding.local.rules import Recoding
from sqlanon.recoding.local.trials import Trial, Trials

HELD = (
    "Records are recoded locally. Chance held {hold:.0%} of them back, drawn with a seed: keep the seed secret. So the "
    "node that publishes a record excludes no value that its class shows; for one record, odds between such values "
    "change by a factor of {odds:,.0f} at most (docs/patterns.md)."
)
NOT_HELD = (
    "Records are recoded locally, and none is held back (hold: 0): anyone who knows or guesses the order of the nodes "
    "learns from a record's own node that those before it failed for it (refinement attack). Full domain, the "
    "default, is not open to this."
)
GIVEN = "The order of the nodes is the one that the policy gives: keep it secret."
SINGLE = "One node is published for all records: no set of several was found that meets the policy and loses less."

SEED_BITS = 128
"""Bits of a seed that the policy does not give: who knows all other records could try out 64."""
GUESSED_BITS = 64
"""Bits of a given seed below which it is warned that it may be guessed."""
SHORT = (
    "The seed of the policy is short. Which records were held back follows from it, so that anyone who guesses it "
    "undoes that: leave transformation.seed out, and another one is drawn for each release."
)
SINGLE_SHARE = 0.25
"""The search for the single node may take this share of a time limit, and more only until it has found one; a large
lattice would take all of it."""
CHOOSING_SECONDS = 300.0
"""Nodes are chosen for so long where the policy sets no limit."""
STOPPED = "The choice of nodes was stopped ({}): a longer one may lose less (docs/patterns.md)."


def nodes_plan(session: Session) -> RecodedPlan:
    """Return the plan of the local recoding that the session's policy asks for.

    Raises:
        NoSolutionError: no single node meets the policy; or the given nodes suppress more than it allows.
        SearchStoppedError: a limit was reached before any solution was found.
        Interrupted: see ``run_search`` and ``choose``.
        HierarchyError: a given node has a level that a hierarchy does not have, or that the policy rules out.
    """
    asked = session.policy.transformation
    assert isinstance(asked, LocalRecoding)
    seed = randbits(SEED_BITS) if asked.seed is None else asked.seed
    if isinstance(asked.nodes, int):
        return _chosen(session, asked, asked.nodes, seed)
    return _given(session, asked, asked.nodes, seed)


def _chosen(session: Session, asked: LocalRecoding, most: int, seed: int) -> RecodedPlan:
    """Choose nodes by what they gain over the best single node, which is published where nothing is gained."""
    limits = session.policy.search
    start = time.perf_counter()
    full_domain = _best_single(session, limits.time_limit)
    problem, single = full_domain.problem, full_domain.solution.loss
    deadline = _deadline(limits, time.perf_counter() - start)
    trials = Trials(session.engine, problem, full_domain.question, asked.hold, deadline, limits.on_interrupt)
    if full_domain.search.stopped == "interrupt":
        trials.stop("interrupted")
    trial = trials.chosen(full_domain.node, most, seed, limits)
    recoding, starts, size = None, None, trials.question.size
    if trial is not None and _lossless(trial.recoding, single):
        recoding, starts, size = _held(trials, trial, asked.hold, seed, single)
    warnings = _warnings(asked, starts)
    if recoding is None:
        starts, size = None, trials.question.size
        recoding = trials.fitted([full_domain.node], size)
        warnings = [SINGLE]
    elif len(recoding.rules) == 1 and starts is None:
        warnings = [SINGLE]
    planned = _plan(session, problem, recoding, full_domain.certificate.evaluated, starts, trials, size)
    if trials.stopped is not None:
        warnings.append(STOPPED.format(trials.stopped))
    found = None if trial is None else trial.chosen
    return replace(
        planned,
        seconds={**full_domain.seconds, "search": time.perf_counter() - start},
        warnings=(*full_domain.warnings, *warnings),
        full_domain=full_domain.solution,
        full_domain_certificate=full_domain.certificate,
        gains=tuple((problem.catalog.levels(node), loss) for node, loss in found.gains) if found else (),
        candidates=trials.candidates,
        seed=seed,
    )


def _best_single(session: Session, limit: float | None) -> Plan:
    """Search for the best single node in its share of the time; beyond that, until one is found."""
    start = time.perf_counter()
    try:
        return search_plan(_limited(session, None if limit is None else limit * SINGLE_SHARE))
    except SearchStoppedError:
        left = 0.0 if limit is None else limit - (time.perf_counter() - start)
        if limit is None or not 0 < left <= limit * (1 - SINGLE_SHARE):
            raise
    return search_plan(_limited(session, left))


def _deadline(limits: SearchOptions, spent: float) -> float | None:
    """Return when choosing ends, after so many seconds of searching; None where evaluations alone are limited."""
    if limits.time_limit is None:
        return None if limits.max_evaluations is not None else time.monotonic() + CHOOSING_SECONDS
    return time.monotonic() + max(0.0, limits.time_limit - spent)


def _warnings(asked: LocalRecoding, starts: Starts | None) -> list[str]:
    """Return the promises and their limits for records that chance held back, or that none was."""
    if starts is None:
        return [NOT_HELD]
    short = asked.seed is not None and asked.seed.bit_length() <= GUESSED_BITS
    return [HELD.format(hold=asked.hold, odds=starts.odds), *([SHORT] if short else [])]


def _lossless(recoding: Recoding, single: float) -> bool:
    """Return whether a recoding loses no more than the best single node."""
    return recoding.loss is not None and recoding.loss <= single * (1 + TIE) + TIE


def _held(
    trials: Trials, trial: Trial, hold: float, seed: int, single: float = math.inf
) -> tuple[Recoding | None, Starts | None, int]:
    """Return the rules of the nodes when chance holds records back, the draw, and the least size of a class.

    There is no recoding when no draw is allowed. Where models judge sensitive values, records that are held back leave
    other classes, of which other numbers fail: larger ones are tried when no draw of a size stays within the limit. A
    single node excludes nothing, so that nothing is held back from it.
    """
    if not hold or len(trial.nodes) == 1:
        return trials.fitted(trial.nodes, trial.size), None, trial.size
    for number, size in enumerate(trials.sizes(trial.size)):
        for attempt in range(number * TRIES, (number + 1) * TRIES):
            starts = Starts.of(hold, len(trial.nodes), trials.limit, seed, attempt)
            recoding = trials.fitted(trial.nodes, size, starts)
            within = trials.suppressed(recoding) <= trials.problem.catalog.allowed
            if within and _lossless(recoding, single):
                return recoding, starts, size
        if within:  # the last draw loses too much, and classes of a larger size lose more
            break
    return None, None, trial.size


def _limited(session: Session, seconds: float | None) -> Session:
    """Return the session with what a search for the single node may take."""
    if seconds is None:
        return session
    policy = session.encoded_policy
    search = replace(policy.search, time_limit=seconds)
    return replace(session, encoded_policy=replace(policy, search=search))


def _given(session: Session, asked: LocalRecoding, given: Sequence[Mapping[str, int]], seed: int) -> RecodedPlan:
    """Take the nodes of the policy, in its order."""
    start, policy = time.perf_counter(), session.policy
    problem, models = build_problem(session.engine, session.encoding, policy)
    question = Question(problem.catalog, models, least_size(models), problem.measure.needs)
    nodes = tuple(dict.fromkeys(_node(problem, levels, number) for number, levels in enumerate(given)))
    limit = policy.search.time_limit
    deadline = None if limit is None else time.monotonic() + limit
    trials = Trials(session.engine, problem, question, asked.hold, deadline, policy.search.on_interrupt)

    def tried(size: int) -> Trial:
        return Trial(nodes, size, trials.fitted(nodes, size))

    trial = trials.best(tried, trials.sizes(question.size)) or tried(question.size)
    recoding, starts, size = _held(trials, trial, asked.hold, seed)
    if recoding is None:
        catalog = problem.catalog
        raise NoSolutionError(
            f"The given nodes suppress more than {catalog.allowed} of {catalog.population} records, with what chance "
            "holds back.",
            hint="give a more general node as the last, raise suppression_limit, or lower transformation.hold.",
            nearest={"levels": {}, "suppressed": trials.suppressed(trial.recoding), "allowed": catalog.allowed},
        )
    several = [*_warnings(asked, starts), GIVEN] if len(nodes) > 1 else []
    return replace(
        _plan(session, problem, recoding, len(nodes), starts, trials, size),
        seconds={**session.seconds, "search": time.perf_counter() - start},
        warnings=(*session.warnings, *several),
        seed=seed if starts else None,
    )


def _plan(
    session: Session,
    problem: Problem,
    recoding: Recoding,
    evaluated: int,
    starts: Starts | None,
    trials: Trials,
    size: int,
) -> RecodedPlan:
    load_rules(session, problem.catalog, recoding.rules)
    assert recoding.loss is not None
    bound, deadline = None, None if session.policy.search.time_limit is None else trials.deadline
    try:
        bound = lower_bound(session.engine, problem, trials.question.size, deadline) if session.bounded else None
    except KeyboardInterrupt:
        if trials.on_interrupt == "discard":
            raise
    return RecodedPlan(
        catalog=problem.catalog,
        certificate=certified(problem, recoding.loss, evaluated, bound),
        seconds=session.seconds,
        warnings=(),
        kind="local_recoding",
        rules=recoding.rules,
        _session=session,
        _ledger=accounted(session, problem.catalog, recoding.rules),
        hold=0.0 if starts is None else trials.hold,
        size=size,
        _split=starts is not None,
        _coded=starts is not None and trials.judge is not None and bool(trials.judge.histograms),
    )


def _node(problem: Problem, levels: Mapping[str, int], number: int) -> Node:
    """Return a given node; columns that it does not name stay at the least level of the policy."""
    catalog, lattice = problem.catalog, problem.lattice
    node = tuple(levels.get(a.name, low) for a, low in zip(catalog.attributes, lattice.bottom, strict=True))
    for a, level, low, high in zip(catalog.attributes, node, lattice.bottom, lattice.top, strict=True):
        if not low <= level <= high:
            raise HierarchyError(
                f"The node {number} of transformation.nodes has column {a.name!r} at level {level}; its levels are "
                f"{low} to {high}.",
                hint="give a level in that range.",
            )
    return node
