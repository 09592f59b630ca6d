"""Random tables of NULLs, empty strings, 'NULL' and '*': verdicts, releases and optima equal a brute force."""

import random
from collections import Counter
from pathlib import Path

import brute
import duckdb
import pytest
from effort import Block, enough, seeds
from policies import file_of
from random_cases import random_case
from tables import text_table

import sqlanon


@pytest.mark.slow
@seeds(60)
def test_optimum_verdicts_and_release_equal_brute_force(block: Block) -> None:
    solved = 0
    for seed in block:
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
    assert enough(solved > 0)


@seeds(20, first=3000)
def test_values_that_no_hierarchy_can_read_cost_all_of_their_column(block: Block, tmp_path: Path) -> None:
    """Hierarchies list one value or none of the source; by the loss, each record of the others costs 1 in its column,
    in the search, at every node, in the process and in SQL, and in a verification of the certificate."""
    solved = 0
    for seed in block:
        rows, trees, document = random_case(seed)
        rng = random.Random(seed)
        for i, keys in enumerate(document["columns"].values()):
            if rng.random() < 0.7:
                listed = rng.choice([rng.choice(rows)[i], "elsewhere"])
                trees[i] = brute.Tree([(listed, "MIDDLE", "ROOT")], "top")
                keys |= {"hierarchy": {"levels": {listed: ["MIDDLE", "ROOT"]}}, "uncovered": "top"}
        document["quality"]["measure"], document["search"] = "loss", {"strategy": "box"}
        k, basic = document["privacy"][0]["k"], document["nulls"]
        aggregate, weights = document["quality"]["aggregate"], [c["weight"] for c in document["columns"].values()]
        answers = {n: brute.judge(rows, trees, n, k, nulls=basic) for n in brute.nodes(trees)}
        taking = [r for r in rows if basic == "extended" or None not in r]
        feasible = [
            a for a in answers.values() if a.suppressed <= int(document["suppression_limit"] * len(taking) + 1e-9)
        ]
        if not any(a.classes for a in feasible):
            continue
        solved += any(tree.seen(r[i] for r in taking).unlisted for i, tree in enumerate(trees))
        with duckdb.connect() as connection:
            text_table(connection, list(document["columns"]), rows)
            policy = sqlanon.Policy.from_dict(document)
            with sqlanon.plan(connection, policy) as plan:
                best = min(a.loss(aggregate, weights) for a in feasible if a.classes)
                assert plan.certificate.optimal
                assert plan.certificate.loss == pytest.approx(best, rel=1e-9, abs=1e-12), seed
                covered = [r for r in taking if all(t.covers(v) for t, v in zip(trees, r, strict=True))]
                for i, (name, tree) in enumerate(zip(document["columns"], trees, strict=True)):
                    unread = sum(r[i] is not None and r[i] not in tree.map for r in covered)
                    assert plan.catalog.at_root.get(name, 0) == unread, (seed, name)
                for node, answer in answers.items():
                    verdict = plan.evaluate(dict(zip(document["columns"], node, strict=True)))
                    expected = answer.loss(aggregate, weights)
                    assert verdict.loss == pytest.approx(expected, rel=1e-9, abs=1e-12), (seed, node)
                if plan.proof_document is not None:
                    path = file_of(tmp_path / f"{seed}.json", plan.proof_document)
                    verified = sqlanon.verify(path, policy, connection)
                    assert verified.holds and verified.loss == pytest.approx(best, rel=1e-9, abs=1e-12), seed
    assert enough(solved > 0)


@seeds(15, 5, first=1000)
def test_exhaustive_resolves_ties_over_the_whole_lattice(block: Block) -> None:
    for seed in block:
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
            with sqlanon.plan(connection, document) as found_plan:
                assert found_plan.node == expected, seed
                assert found_plan.search.evaluated == len(answers)
