"""Bounded knowledge in plain Python: every set of at most L quasi-identifiers, not the maximal ones alone.

It shares nothing with the package, and counts by another way: a record is removed as soon as one of its classes is too
small, one record at a time, in random order.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import brute_models
from brute_models import Answer, Record, World

BOUNDED = "bounded_knowledge"


def sets_of(width: int, at_most: int) -> list[tuple[int, ...]]:
    """All sets of at most so many attributes, but the empty one."""
    return [known for size in range(1, min(at_most, width) + 1) for known in combinations(range(width), size)]


def valid_classes(
    classes: Mapping[tuple, Sequence[Record]], models: Sequence[dict[str, Any]], seed: int = 0
) -> dict[tuple, Sequence[Record]]:
    """The classes that are left when every record's class on every set is large enough, and the others removed."""
    left = {key: members for key, members in classes.items() if members}
    rng = random.Random(seed)
    while True:
        bad = [key for key in left if any(not _holds(left, key, model) for model in models)]
        if not bad:
            return left
        del left[rng.choice(bad)]


def _holds(left: Mapping[tuple, Sequence[Record]], key: tuple, model: dict[str, Any]) -> bool:
    for known in sets_of(len(key), model["at_most"]):
        n = sum(len(members) for other, members in left.items() if all(other[i] == key[i] for i in known))
        if n < model["k"]:
            return False
    return True


def judge(world: World, node: Sequence[int]) -> Answer:
    """What a node publishes and suppresses, by all models of a world."""
    bounded = [model for _, model in world.models if model["type"] == BOUNDED]
    others = replace(world, models=[item for item in world.models if item[1]["type"] != BOUNDED])
    answer = brute_models.judge(others, node)
    by_class = {key: [r for r in records if r[2]] for key, records in world.classes(node).items()}
    published = {id(members[0]) for members in answer.published}
    passing = {key: members for key, members in by_class.items() if members and id(members[0]) in published}
    left = valid_classes(passing, bounded)
    released: Counter = Counter((*key, *r[1]) for key, members in left.items() for r in members)
    sizes = [len(members) for members in left.values()]
    removed = [r for r in world.members if not world.covered(r)]
    removed += [r for key, members in by_class.items() if key not in left for r in members]
    own = iter(answer.by_model)
    by_model = [
        sum(len(m) for m in by_class.values()) - sum(len(m) for m in valid_classes(by_class, [model]).values())
        if model["type"] == BOUNDED
        else next(own)
        for _, model in world.models
    ]
    return Answer(
        len(removed), len(sizes), min(sizes, default=None), by_model, answer.candidate, released, list(left.values()),
        removed,
    )  # fmt: skip
