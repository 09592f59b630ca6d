"""Random tables of NULLs, empty strings, 'NULL' and '*': verdicts, releases and optima equal a brute force."""

from __future__ import annotations

import random
from collections import Counter

import brute
import duckdb
import pytest
from conftest import text_table
from effort import cases

import sqlanon

POOL: list[brute.Text] = [None, "", "NULL", "*", "a", "b", "null", " ", "é", "x" * 70]


def random_tree(rng: random.Random, values: list[brute.Text], uncovered: str) -> brute.Tree:
    """A random hierarchy over the values that are not NULL (NULL is listed now and then)."""
    listed = [v for v in values if v is not None]
    if uncovered != "error" and len(listed) > 1:
        listed = rng.sample(listed, rng.randint(1, len(listed) - 1))
    if rng.random() < 0.3:
        listed.append(None)
    if all(v is None for v in listed):
        listed.append("extra")
    height = rng.randint(1, 4) if uncovered != "top" else rng.randint(2, 4)
    rows: dict[brute.Text, list[brute.Text]] = {v: [v] for v in listed}
    current = {v: v for v in listed}
    for level in range(1, height):
        last = level == height - 1
        one = last and (uncovered == "top" or rng.random() < 0.8)
        groups = sorted({str(c) + ("0" if c is None else "1") for c in current.values()})
        names = {g: "ROOT" if one else f"L{level}_{rng.randint(0, max(1, len(groups) // 2))}" for g in groups}
        if not one and rng.random() < 0.2:  # level texts that look like NULL or like a value
            names = {g: rng.choice(["NULL", f"M{level}", "_"]) for g in groups}
        for v in listed:
            key = str(current[v]) + ("0" if current[v] is None else "1")
            rows[v].append(names[key])
        current = {v: rows[v][-1] for v in listed}
    return brute.Tree([tuple(r) for r in rows.values()], uncovered)


def random_case(seed: int):
    rng = random.Random(seed)
    m = rng.randint(1, 4)
    pools = [rng.sample(POOL, rng.randint(1, 6)) for _ in range(m)]
    rows = [tuple(rng.choice(p) for p in pools) for _ in range(rng.choice([1, 2, 8, 30, 80]))]
    trees = [random_tree(rng, p, rng.choice(["error", "error", "top", "suppress"])) for p in pools]
    policy = {
        "table": "t",
        "columns": {
            f"c{i}": {
                "role": "quasi_identifier",
                "uncovered": t.uncovered,
                "weight": rng.choice([1, 1, 2, 0.5]),
                "hierarchy": {"levels": {r[0]: list(r[1:]) for r in t.rows}},
            }
            for i, t in enumerate(trees)
        },
        "privacy": [{"type": "k_anonymity", "k": rng.choice([1, 2, 3, 5])}],
        "suppression_limit": rng.choice([0, 0.1, 0.5, 1]),
        "nulls": rng.choice(["extended", "basic"]),
        "quality": {
            "measure": rng.choice(["loss", "loss", "precision"]),
            "aggregate": rng.choice(["arithmetic_mean", "sum", "geometric_mean", "maximum"]),
        },
        "search": {"strategy": rng.choice(["box", "exhaustive"])},
    }
    return rows, trees, policy


@pytest.mark.parametrize("block", range(10))
def test_optimum_verdicts_and_release_equal_brute_force(block: int) -> None:
    solved = 0
    for seed in range(block, cases(60), 10):
        rows, trees, document = random_case(seed)
        k = document["privacy"][0]["k"]
        basic = document["nulls"]
        measure, aggregate = document["quality"]["measure"], document["quality"]["aggregate"]
        weights = [c["weight"] for c in document["columns"].values()]
        answers = {n: brute.judge(rows, trees, n, k, nulls=basic, measure=measure) for n in brute.nodes(trees)}
        population = len(rows) - next(iter(answers.values())).excluded
        allowed = int(document["suppression_limit"] * population + 1e-9)
        feasible = {n: a for n, a in answers.items() if a.suppressed <= allowed and a.classes}
        with duckdb.connect() as connection:
            text_table(connection, list(document["columns"]), rows)
            policy = sqlanon.Policy.from_dict(document)
            if not feasible:
                with pytest.raises(sqlanon.NoSolutionError):
                    sqlanon.plan(connection, policy)
                continue
            solved += 1
            best = min(a.loss(aggregate, weights) for a in feasible.values())
            with sqlanon.anonymize(connection, policy) as release:
                context = f"seed {seed}"
                assert release.certificate.optimal, context
                assert release.certificate.loss == pytest.approx(best, rel=1e-9, abs=1e-12), context
                for node, answer in answers.items():
                    levels = dict(zip(document["columns"], node, strict=True))
                    verdict = release.plan.evaluate(levels)
                    assert verdict.suppressed == answer.suppressed, (context, node)
                    assert verdict.classes == answer.classes, (context, node)
                    assert verdict.smallest == answer.smallest, (context, node)
                    assert verdict.loss == pytest.approx(answer.loss(aggregate, weights), rel=1e-9, abs=1e-12), (
                        context,
                        node,
                    )
                    readable = release.plan.classes(levels).to_pydict()
                    *keys, counts = readable.values()
                    classes = {key: n for *key, n in zip(*keys, counts, strict=True) for key in [tuple(key)] if n >= k}
                    assert Counter(classes) == answer.released, (context, node)
                chosen = answers[tuple(release.levels.values())]
                released = Counter(zip(*release.to_arrow().to_pydict().values(), strict=True))
                assert released == chosen.released, context
                ledger = release.ledger
                assert ledger.records == len(rows) == ledger.published + ledger.suppressed + ledger.excluded
                assert (ledger.excluded, ledger.suppressed) == (chosen.excluded, chosen.suppressed)
    assert solved > 0


def test_exhaustive_resolves_ties_over_the_whole_lattice() -> None:
    for seed in range(1000, 1000 + cases(15)):
        rows, trees, document = random_case(seed)
        document["search"] = {"strategy": "exhaustive"}
        document["quality"] = {"measure": "precision", "aggregate": "arithmetic_mean"}
        k = document["privacy"][0]["k"]
        weights = [c["weight"] for c in document["columns"].values()]
        answers = {
            n: brute.judge(rows, trees, n, k, nulls=document["nulls"], measure="precision") for n in brute.nodes(trees)
        }
        population = len(rows) - next(iter(answers.values())).excluded
        allowed = int(document["suppression_limit"] * population + 1e-9)
        feasible = [n for n, a in answers.items() if a.suppressed <= allowed and a.classes]
        if not feasible:
            continue
        best = min(answers[n].loss("arithmetic_mean", weights) for n in feasible)
        tied = [n for n in feasible if answers[n].loss("arithmetic_mean", weights) <= best * (1 + 1e-12) + 1e-15]
        expected = min(tied, key=lambda n: (answers[n].suppressed, n))
        with duckdb.connect() as connection:
            text_table(connection, list(document["columns"]), rows)
            with sqlanon.plan(connection, sqlanon.Policy.from_dict(document)) as made:
                assert made.node == expected, seed
                assert made.search.evaluated == len(answers)
