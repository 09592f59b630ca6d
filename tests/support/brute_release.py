"""The models of a whole release in plain Python (SPEC-risk): classes are suppressed in ascending size until all hold.

It shares nothing with the package. Of classes of one size those go first that have lost least; of those, one after the
other, the class that adds least to the policy's measure; then by their generalized values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
        if 1 not in sizes:
            return True
        if model["estimator"] == "zayatz":
            return brute_risk.zayatz(sizes, model["population"]) <= threshold
        share = brute_risk.pitman_share(sizes, model["population"])
        return share is not None and share <= threshold * (1 + 1e-9)
    return sizes.count(1) <= threshold * records


def class_loss(world: World, node: Sequence[int], members: list[Record]) -> Fraction:
    """What a record of a class has lost by generalization, weighted."""
    found = Fraction(0)
    weights = world.weights or [1.0] * len(world.trees)
    for i, (tree, level) in enumerate(zip(world.trees, node)):
        seen = tree.seen(r[0][i] for r in world.taking_part)
        domain = tree.domain(seen)
        if domain > 1:
            leaves = tree.leaves(members[0][0][i], level, seen)
            found += Fraction(str(weights[i])) * Fraction(leaves - 1, domain - 1)
    return found


def values(world: World, node: Sequence[int], members: list[Record]) -> tuple:
    """What orders classes that are equal in all else: their generalized values, byte by byte, NULL last."""
    texts = [tree.generalize(members[0][0][i], node[i]) for i, tree in enumerate(world.trees)]
    return tuple((text is None, (text or "").encode()) for text in texts)


def suppressed(
    world: World,
    node: Sequence[int],
    passing: dict[tuple, list[Record]],
    models: list[dict],
    loss_without: Callable[[list[tuple]], float] | None = None,
) -> list[tuple]:
    """The keys of the classes that the models of the release suppress, of those that pass all others.

    Args:
        loss_without: the loss if these classes are suppressed, too; None: only how many are is asked for.
    """
    reverse = any(model.get("ties") == "greatest_loss" for model in models)

    def rank(key: tuple) -> tuple:
        loss = class_loss(world, node, passing[key])
        return len(passing[key]), -loss if reverse else loss

    ranks = {key: rank(key) for key in sorted(passing, key=lambda key: values(world, node, passing[key]))}
    gone: list[tuple] = []
    left = sorted(ranks, key=ranks.__getitem__)
    while left and not all(holds(model, [len(passing[key]) for key in left]) for model in models):
        equal = [key for key in left if ranks[key] == ranks[left[0]]]
        if loss_without is not None and len(equal) > 1:
            losses = [loss_without([*gone, key]) for key in equal]
            equal = [key for key, own in zip(equal, losses) if own <= min(losses) * (1 + 1e-12)]
        gone.append(equal[0])
        left.remove(equal[0])
    return gone
