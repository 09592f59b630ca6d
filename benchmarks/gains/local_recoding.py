"""What local recoding saves: the loss of the best single node, and of several nodes with and without holds.

    python benchmarks/gains/local_recoding.py --data DIR [--nodes 16] [--k 5] [--seed 1] [--only adult cup …]

ADULT with nine quasi-identifiers and CUP with eight under k-anonymity; ADULT with eight and ``occupation`` as the
sensitive column under distinct and entropy ℓ-diversity (ℓ = 3) and t-closeness (t = 0.3, equal distance). The measure
is the loss (arithmetic mean), at most 5 % of the records may be suppressed. Seconds are those of the choice of nodes,
the search for the single node included. The answers are checked on the released texts: what every record reads under
its rule gives the loss, and every class of every rule holds the models, by code that shares nothing with the package. A
wrong answer fails the command.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlanon
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.sqltrees import names
from sqlanon.recoding.local.recoded_plan import RecodedPlan

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the modules that benchmarks share
from cases import QUASI_IDENTIFIERS, policy_of

SENSITIVE = "occupation"
LIMIT = 0.05
CASES: dict[str, tuple[str, int, dict[str, Any] | None]] = {
    "adult": ("adult", 9, None),
    "cup": ("cup", 8, None),
    "adult_distinct": ("adult", 8, {"type": "distinct_l_diversity", "l": 3}),
    "adult_entropy": ("adult", 8, {"type": "entropy_l_diversity", "l": 3}),
    "adult_t": ("adult", 8, {"type": "t_closeness", "t": 0.3, "distance": "equal"}),
}
HOLDS = (0.0, 0.1)
"""The shares of the records that are held back."""
Class = tuple[int, tuple[str | None, ...]]
"""A rule and what its records read."""


def case_of(name: str, k: int) -> dict[str, Any]:
    """The fields of a case (``cases.policy_of``)."""
    dataset, columns, model = CASES[name]
    return {
        "dataset": dataset,
        "quasi_identifiers": list(QUASI_IDENTIFIERS[dataset][:columns]),
        "sensitive": SENSITIVE,
        "models": [model or {"type": "k_anonymity", "k": k}],
        "suppression_limit": LIMIT,
        "measure": "loss",
        "aggregate": "arithmetic_mean",
    }


def released(plan: Any, nodes: Mapping[int, Node]) -> tuple[dict[Class, Counter[Any]], int]:
    """Per rule and released texts the records by sensitive value, read through the lookups; and the suppressed."""
    engine, catalog = plan._session.source.engine, plan.catalog
    words = range(catalog.words)
    keys = ", ".join(f'"{names.key(w)}"' for w in words)
    texts: list[dict[tuple[int, ...], tuple[str | None, ...]]] = []
    for i, attribute in enumerate(catalog.attributes):
        levels = ", ".join(f'"{names.level(level)}"' for level in range(attribute.height))
        rows = engine.run("lookup", f'SELECT {keys}, {levels} FROM "{names.LOOKUP}" WHERE attribute = {i}')
        texts.append({_bits(row, attribute, words): row[len(words) :] for row in rows})
    same = " AND ".join(f'a."{names.key(w)}" = b."{names.key(w)}" & {~catalog.codes[w]}' for w in words)
    value = f'b."{names.key(catalog.sensitive[0].word)}" & {catalog.sensitive[0].code}' if catalog.sensitive else "0"
    own = ", ".join(f'a."{names.key(w)}"' for w in words)
    query = f'SELECT {own}, {value}, b.n, a."{names.RULE}" FROM "{names.BASE}" b JOIN "{names.ASSIGNED}" a ON {same}'
    if plan.hold:  # rules share row types, which sensitive values tell apart
        value = value.replace("b.", "a.")
        query = f'SELECT {own}, {value}, a.n, a."{names.RULE}" FROM "{names.ASSIGNED}" a'
    classes: dict[Class, Counter[Any]] = defaultdict(Counter)
    suppressed = 0
    for *key, sensitive, records, rule in engine.run("released", query):
        if rule is None:
            suppressed += records
            continue
        read = tuple(
            text[_bits(key, attribute, words)][level]
            for text, attribute, level in zip(texts, catalog.attributes, nodes[rule], strict=True)
        )
        classes[rule, read][sensitive] += records
    return classes, suppressed


def _bits(key: Sequence[Any], attribute: Any, words: range) -> tuple[int, ...]:
    return tuple(key[w] & attribute.mask(0, w) for w in words)


def leaves_of(data: Path, plan: Any, dataset: str) -> list[list[Counter[str | None]]]:
    """Per attribute and level, how many rows of the hierarchy's file a text stands for."""
    found = []
    for attribute in plan.catalog.attributes:
        path = data / dataset / f"{dataset}_hierarchy_{attribute.name}.csv"
        rows = {tuple(line.split(";")) for line in path.read_text().splitlines() if line}
        found.append([Counter(row[level] for row in rows) for level in range(attribute.height)])
    return found


def lost(
    plan: Any, leaves: list[list[Counter[str | None]]], nodes: Mapping[int, Node], classes: dict[Class, Counter[Any]]
) -> float:
    """The loss of the released texts; what is not released is lost wholly."""
    parts = []
    for i, by_level in enumerate(leaves):
        whole = by_level[0].total() - 1
        kept = sum(
            members.total() * (whole + 1 - by_level[nodes[rule][i]][read[i]])
            for (rule, read), members in classes.items()
        )
        parts.append(1 - kept / (whole * plan.catalog.population) if whole else 0.0)
    return math.fsum(parts) / len(parts)


def holds(model: dict[str, Any], members: Counter[Any], overall: Counter[Any]) -> bool:
    """A class meets a model."""
    n = members.total()
    if model["type"] == "k_anonymity":
        return n >= model["k"]
    if model["type"] == "distinct_l_diversity":
        return len(members) >= model["l"]
    if model["type"] == "entropy_l_diversity":
        return -sum(c / n * math.log(c / n) for c in members.values()) >= math.log(model["l"]) - 1e-9
    distance = sum(abs(members[v] / n - c / overall.total()) for v, c in overall.items()) / 2
    return distance <= model["t"] + 1e-9


def faults(data: Path, plan: RecodedPlan, case: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a recoding."""
    nodes = {rule.number: rule.node for rule in plan.rules}
    classes, suppressed = released(plan, nodes)
    overall = _everybody(plan) if plan.catalog.sensitive else Counter()
    failing = sum(not holds(model, members, overall) for model in case["models"] for members in classes.values())
    if failing:
        yield f"{failing} classes fail their model"
    loss = lost(plan, leaves_of(data, plan, case["dataset"]), nodes, classes)
    if abs(loss - plan.certificate.loss) > 1e-9:
        yield f"the released rows lose {loss}, not {plan.certificate.loss}"
    if plan.full_domain is None or loss > plan.full_domain.loss + 1e-9:
        yield "it loses more than the best single node"
    if suppressed != plan.ledger.suppressed or suppressed > plan.catalog.allowed:
        yield f"{suppressed} records are suppressed, where {plan.catalog.allowed} may be"


def _everybody(plan: Any) -> Counter[Any]:
    attribute = plan.catalog.sensitive[0]
    value = f'"{names.key(attribute.word)}" & {attribute.code}'
    query = f'SELECT {value}, CAST(SUM(n) AS BIGINT) FROM "{names.BASE}" GROUP BY 1'
    return Counter(dict(plan._session.source.engine.run("everybody", query)))


def measure(data: Path, name: str, most: int, k: int, seed: int) -> list[str]:
    """Print one case; what is wrong with it."""
    case, wrong = case_of(name, k), []
    for hold in HOLDS:
        transformation = sqlanon.LocalRecoding(nodes=most, hold=hold, seed=seed)
        start = time.perf_counter()
        with sqlanon.recode(None, replace(policy_of(data, case), transformation=transformation)) as plan:
            seconds = time.perf_counter() - start
            assert plan.full_domain is not None
            before, after = plan.full_domain.loss, plan.certificate.loss
            print(
                f"{name} ({case['models'][0]['type']}), hold {hold:g}: {before:.4f} -> {after:.4f} with "
                f"{len(plan.rules)} nodes, {1 - after / before:.0%} less; suppressed {plan.full_domain.suppressed} -> "
                f"{plan.ledger.suppressed}; classes of {plan.size} or more; {plan.candidates} sets of nodes judged, "
                f"{seconds:.1f} s",
                flush=True,
            )
            wrong += [f"{name}: {fault}" for fault in faults(data, plan, case)]
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 when an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    options = parser.parse_args(arguments)
    wrong = [
        fault for name in options.only for fault in measure(options.data, name, options.nodes, options.k, options.seed)
    ]
    for fault in wrong:
        print(fault, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
