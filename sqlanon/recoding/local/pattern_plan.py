"""Patterns: each record keeps or suppresses columns by one of the patterns that the policy allows.

Under k-anonymity alone the patterns are tried in waves (``patterns.greedy``) or chosen by an integer program
(``patterns.exact_assignment``); under other models they are tried one after the other like any nodes (``sequence``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from secrets import randbits

from sqlanon.core.compiler.question import Question
from sqlanon.core.evaluate.problem import build_problem
from sqlanon.core.evaluate.session import Session
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models import least_size
from sqlanon.core.policy import Patterns
from sqlanon.core.policy.pattern_order import Pattern
from sqlanon.core.search.base import Problem
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.sqltrees import names
from sqlanon.errors import UnsupportedError
from sqlanon.recoding.local.recoded_plan import RecodedPlan, accounted, load_rules
from sqlanon.recoding.local.rules import Rule
from sqlanon.recoding.local.trials import Trials
from sqlanon.recoding.patterns.bounds import pattern_table
from sqlanon.recoding.patterns.exact_assignment import SUPPRESSED_CELLS, exactly
from sqlanon.recoding.patterns.greedy import Assignment, greedy
from sqlanon.recoding.patterns.pattern_set import PatternSet, constrained, listed

MOST_PATTERNS = 4096
"""Patterns that are tried one after the other, for models besides k-anonymity."""
PREDICTABLE = (
    "Patterns recode locally: a record that suppresses more shows that the patterns before its own failed for it "
    "(refinement attack), and the order of the patterns is {order}. Full domain, the default, is not open to this."
)

ORDERS = {"random": "drawn with a seed that is not published", "listed": "that of the policy's list: keep it secret"}


def pattern_set(asked: Patterns, columns: Sequence[str], seed: int | None) -> PatternSet:
    """Return the patterns that a policy allows, over the positions of its quasi-identifiers."""

    def places(group: Sequence[str]) -> list[int]:
        return [columns.index(name) for name in group]

    if asked.patterns is not None:
        patterns = [places(pattern) for pattern in asked.patterns]
        return listed(len(columns), patterns, outliers=asked.outliers, ties=asked.ties, seed=seed)
    return constrained(
        len(columns),
        never=places(asked.never),
        together=[places(group) for group in asked.together],
        exclusive=[places(group) for group in asked.exclusive],
        most=asked.at_most,
        outliers=asked.outliers,
        ties=asked.ties,
        seed=seed,
    )


def patterns_plan(session: Session) -> RecodedPlan:
    """Return the plan of the patterns that the session's policy asks for.

    Raises:
        NoSolutionError: more records would be left over than the policy allows.
        Interrupted: the user stopped the solver.
        UnsupportedError: there are too many patterns for the solver or the models, or no solver is installed.
    """
    start, asked = time.perf_counter(), session.policy.transformation
    assert isinstance(asked, Patterns)
    session.engine.journal.report("trying patterns")
    problem, models = build_problem(session.engine, session.encoding, session.encoded_policy)
    catalog = problem.catalog
    seed = None
    if asked.ties == "random":
        seed = randbits(63) if asked.seed is None else asked.seed
    patterns = pattern_set(asked, [a.name for a in catalog.attributes], seed)
    weights = tuple(a.weight for a in catalog.attributes)
    given = None if set(weights) == {1.0} else weights
    session.engine.drop(names.ASSIGNED)
    if all(model.type == "k_anonymity" for model in models):
        solve = _exact if asked.solver == "exact" else _greedy
        rules, certificate = solve(session, catalog, patterns, given, least_size(models))
    else:
        question = Question(catalog, models, least_size(models), problem.measure.needs)
        rules, certificate = _one_by_one(session, problem, question, patterns, given)
    load_rules(session, catalog, rules)
    ledger = accounted(session, catalog, rules)
    order = ORDERS.get(asked.ties, "the documented one: say ties: random")
    return RecodedPlan(
        catalog=catalog,
        certificate=replace(certificate, loss=_loss(catalog, rules, ledger.suppressed)),
        seconds={**session.seconds, "search": time.perf_counter() - start},
        warnings=(*session.warnings, PREDICTABLE.format(order=order)),
        kind="patterns",
        rules=rules,
        seed=seed,
        _session=session,
        _ledger=ledger,
        _split=asked.solver == "exact",
    )


Solved = tuple[tuple[Rule, ...], Certificate]


def _greedy(
    session: Session, catalog: Catalog, patterns: PatternSet, weights: Sequence[float] | None, k: int
) -> Solved:
    """Run Algorithm 1; where more is left over than may be, a class joins it."""
    limit = session.policy.search.time_limit
    run = partial(greedy, session.engine, catalog, patterns, k, weights=weights, time_limit=limit)
    assignment = run()
    if assignment.left_over > catalog.allowed:
        assignment = run(left_over=False)
    return _rules(catalog, assignment), _certificate("patterns_greedy", assignment.tried, patterns.size)


def _exact(session: Session, catalog: Catalog, patterns: PatternSet, weights: Sequence[float] | None, k: int) -> Solved:
    """Solve the integer program of section 2.2; its bound is that of HiGHS."""
    limits = session.policy.search
    assignment, proof = exactly(
        session.engine, catalog, patterns, k, weights=weights, most=catalog.allowed, limits=limits
    )
    certificate = _certificate("patterns_exact", patterns.size, patterns.size)
    whole = _all_cells(catalog)
    return _rules(catalog, assignment), replace(
        certificate, lower_bound=proof.bound / whole if whole else 0.0, gap=proof.gap, optimal=proof.optimal
    )


def _one_by_one(
    session: Session, problem: Problem, question: Question, patterns: PatternSet, weights: Sequence[float] | None
) -> Solved:
    """Run Algorithm 1 for any models: a pattern takes the classes that are large enough among what is left.

    Sensitive values have no part in that (``holding``, 3); classes that fail in the end are suppressed. How large is
    large enough is what loses least (``trials``).
    """
    if patterns.size > MOST_PATTERNS:
        raise UnsupportedError(
            f"Models besides k-anonymity try patterns one after the other, and there are {patterns.size:,}.",
            hint=f"allow at most {MOST_PATTERNS:,}, with at_most or never, say.",
        )
    catalog = problem.catalog
    ordered = list(patterns.ordered(weights))
    nodes = [pattern_node(catalog, pattern) for pattern in ordered]
    limit = session.policy.search.time_limit
    deadline = None if limit is None else time.monotonic() + limit
    trials = Trials(session.engine, problem, question, 0.0, deadline)
    best, least = question.size, math.inf
    for size in trials.sizes(question.size):
        left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        trial = trials.fitted(nodes, size, time_limit=left)
        lost = _loss(catalog, trial.rules, trials.suppressed(trial))
        if lost >= least:
            break
        if trials.suppressed(trial) <= catalog.allowed:
            best, least = size, lost
    trial = trials.fitted(nodes, best)
    session.engine.drop(names.PATTERNS)
    session.engine.load("patterns", names.PATTERNS, pattern_table(catalog, ordered))
    return trial.rules, _certificate("patterns_greedy", len(ordered), patterns.size)


def _rules(catalog: Catalog, assignment: Assignment) -> tuple[Rule, ...]:
    return tuple(
        Rule(use.number, pattern_node(catalog, use.pattern), use.records, use.row_types, use.smallest, use.largest)
        for use in assignment.uses
    )


def pattern_node(catalog: Catalog, pattern: Pattern) -> Node:
    """Return the node of a pattern: its columns at the top of their hierarchies, the others as they are."""
    return tuple(a.height - 1 if i in pattern else 0 for i, a in enumerate(catalog.attributes))


def _certificate(strategy: str, tried: int, patterns: int) -> Certificate:
    return Certificate(SUPPRESSED_CELLS, None, 0.0, None, None, False, strategy, tried, patterns)


def _all_cells(catalog: Catalog) -> float:
    """Return the weight of all cells."""
    return catalog.population * math.fsum(a.weight for a in catalog.attributes)


def _loss(catalog: Catalog, rules: Sequence[Rule], suppressed: int) -> float:
    """Return the share of the cells that are suppressed, by weight; those of suppressed records all are."""
    whole = _all_cells(catalog)
    weights = [a.weight for a in catalog.attributes]
    losses = [
        rule.records * math.fsum(w for w, level in zip(weights, rule.node, strict=True) if level) for rule in rules
    ]
    return (math.fsum(losses) + suppressed * math.fsum(weights)) / whole if whole else 0.0
