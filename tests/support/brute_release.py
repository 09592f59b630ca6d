"""The models of a whole release in plain Python (SPEC-risk): classes are suppressed in ascending size until all hold.

It shares nothing with the package. Of classes of one size those come first that have lost least, then by their codes:
the texts of the levels from the root down, of the last quasi-identifier first.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import brute_risk

if TYPE_CHECKING:
    from brute_models import Record, World

KINDS = ("average_risk", "sample_uniqueness", "population_uniqueness")


def holds(model: dict[str, Any], sizes: Sequence[int]) -> bool:
    """Whether the published classes meet a model."""
    threshold, records = Fraction(str(model["threshold"])), sum(sizes)
    if model["type"] == "average_risk":
        return len(sizes) <= threshold * records
    if model["type"] == "population_uniqueness":
        assert model["estimator"] == "zayatz"
        return brute_risk.zayatz(sizes, model["population"]) <= threshold
    return sizes.count(1) <= threshold * records


def class_loss(world: World, node: Sequence[int], members: list[Record]) -> Fraction:
    """What a record of a class has lost by generalization, weighted."""
    found = Fraction(0)
    weights = world.weights or [1.0] * len(world.trees)
    for i, (tree, level) in enumerate(zip(world.trees, node)):
        has_nulls = any(r[0][i] is None for r in world.taking_part)
        domain = tree.domain(has_nulls)
        if domain > 1:
            leaves = tree.leaves(members[0][0][i], level, has_nulls)
            found += Fraction(weights[i]) * Fraction(leaves - 1, domain - 1)
    return found


def code(world: World, node: Sequence[int], members: list[Record]) -> tuple:
    """What orders classes of one size and loss."""
    parts = []
    for i in reversed(range(len(world.trees))):
        tree, value = world.trees[i], members[0][0][i]
        texts = [tree.generalize(value, level) for level in range(tree.height - 1, node[i] - 1, -1)]
        parts.append(tuple((text is None, (text or "").encode()) for text in texts))
    return tuple(parts)


def suppressed(
    world: World, node: Sequence[int], passing: dict[tuple, list[Record]], models: list[dict]
) -> list[tuple]:
    """The keys of the classes that the models of the release suppress, of those that pass all others."""
    reverse = any(model.get("ties") == "greatest_loss" for model in models)

    def rank(key: tuple) -> tuple:
        loss = class_loss(world, node, passing[key])
        return len(passing[key]), -loss if reverse else loss, code(world, node, passing[key])

    ordered = sorted(passing, key=rank)
    for cut in range(len(ordered) + 1):
        sizes = [len(passing[key]) for key in ordered[cut:]]
        if not sizes or all(holds(model, sizes) for model in models):
            return ordered[:cut]
    raise AssertionError
