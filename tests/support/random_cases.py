"""Random tables, hierarchies and policies of k-anonymity, for a comparison with the brute force."""

import random

import brute
from policies import document_of, quasi

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
    policy = document_of(
        {
            f"c{i}": quasi(
                {"levels": {r[0]: list(r[1:]) for r in t.rows}},
                uncovered=t.uncovered,
                weight=rng.choice([1, 1, 2, 0.5]),
            )
            for i, t in enumerate(trees)
        },
        k=rng.choice([1, 2, 3, 5]),
        table="t",
        suppression_limit=rng.choice([0, 0.1, 0.5, 1]),
        nulls=rng.choice(["extended", "basic"]),
        quality={
            "measure": rng.choice(["loss", "loss", "precision"]),
            "aggregate": rng.choice(["arithmetic_mean", "sum", "geometric_mean", "maximum"]),
        },
        search={"strategy": rng.choice(["box", "exhaustive"])},
    )
    return rows, trees, policy
