"""Persons by all of their rows, in plain Python: who has the same multiset of generalized rows, and what a node loses.

It shares nothing with the package. A profile is a person's multiset of rows; its persons are suppressed together when
they are fewer than k, or when another model fails in one of its rows.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import brute_entities
import brute_models
from brute_entities import Owned

PROFILE = "profile_k"


def profiles(owned: Owned, node: Sequence[int]) -> dict[frozenset, list[Any]]:
    """The persons of each profile, by the rows with how often each stands."""
    rows: dict[Any, Counter] = defaultdict(Counter)
    for key, records in owned.world.classes(node).items():
        for record in records:
            rows[owned.owner[id(record)]][key] += 1
    found: dict[frozenset, list[Any]] = defaultdict(list)
    for person, counted in rows.items():
        found[frozenset(counted.items())].append(person)
    return found


def parts(rows: frozenset, size: int) -> set[frozenset]:
    """All sub-multisets of at most so many rows, as sets of (row, how often)."""
    each = [row for row, times in rows for _ in range(times)]
    return {
        frozenset(Counter(chosen).items()) for n in range(1, size + 1) for chosen in itertools.combinations(each, n)
    }


def known_by_few(owned: Owned, node: Sequence[int], k: int, at_most: int) -> set[Any]:
    """The persons outside of the greatest set in which each part of a person's rows is in those of k of its persons."""
    rows = {person: dict(profile) for profile, persons in profiles(owned, node).items() for person in persons}
    own = {person: parts(frozenset(counted.items()), at_most) for person, counted in rows.items()}
    left = set(rows)

    def holds(person: Any, part: frozenset) -> bool:
        return all(rows[person].get(row, 0) >= times for row, times in part)

    def is_known(person: Any) -> bool:
        return any(sum(holds(other, part) for other in left) < k for part in own[person])

    while failing := {person for person in left if is_known(person)}:
        left -= failing
    return set(rows) - left


def judge(owned: Owned, node: Sequence[int]) -> brute_entities.Answer:
    """What a node publishes and suppresses, and of whom."""
    world = owned.world
    classes = world.classes(node)
    by_model, lost = [0] * len(world.models), set()
    bounds = [model for _, model in world.models if "at_most" in model]
    if bounds:
        assert len(world.models) == 1
        lost = known_by_few(owned, node, bounds[0]["k"], bounds[0]["at_most"])
        by_model = [sum(owned.owner[id(record)] in lost for records in classes.values() for record in records)]
    for rows, persons in [] if bounds else profiles(owned, node).items():
        members, everything = set(persons), 0
        failing = [False] * len(world.models)
        for key, _ in rows:
            part = [record for record in classes[key] if owned.owner[id(record)] in members]
            everything += len(part)
            for i, (column, model) in enumerate(world.models):
                if model["type"] == PROFILE:
                    failing[i] |= len(members) < model["k"]
                else:
                    failing[i] |= not brute_entities.passes(owned, column, model, part, ())
        for i, fails in enumerate(failing):
            by_model[i] += everything * fails
        if any(failing):
            lost |= members
    published, released, removed = [], Counter(), []
    for key, records in classes.items():
        shown = [record for record in records if owned.owner[id(record)] not in lost]
        removed += [record for record in records if owned.owner[id(record)] in lost]
        released.update((*key, *record[1]) for record in shown)
        if shown:
            published.append(shown)
    sizes = [len(shown) for shown in published]
    plain = brute_models.Answer(
        len(removed), len(published), min(sizes, default=None), by_model, True, released, published, removed
    )
    return brute_entities.Answer(plain, len(lost), min((len(owned.people(s)) for s in published), default=None))
