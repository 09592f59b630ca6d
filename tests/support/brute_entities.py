"""Privacy models that count distinct persons, and whom a node loses, in plain Python over lists of records.

It shares nothing with the package. Who a record is of stands beside it; a person is seen once a class, and where a
model watches a column once a class and value.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import brute_models


@dataclass
class Owned:
    """A problem whose records are of persons: ``persons`` are parallel to the records of the world."""

    world: brute_models.World
    persons: list[Any]
    citizens: list[Any] | None = None
    """The persons of the records of a population (None: nobody knows whose one is); None: each is another person."""

    def crowd(self, node: Sequence[int]) -> dict[Any, set[Any]]:
        """The persons of the population by their class at a node."""
        whose = self.citizens if self.citizens is not None else [*range(len(self.world.population or []))]
        found: dict[Any, set[Any]] = defaultdict(set)
        for row, person in zip(self.world.population or [], whose, strict=True):
            if person is not None:
                for key in replace(self.world, population=[row]).people(node):
                    found[key].add(person)
        return found

    def __post_init__(self) -> None:
        self.owner = {id(record): person for record, person in zip(self.world.records, self.persons, strict=True)}

    def people(self, records: Sequence[brute_models.Record]) -> set[Any]:
        return {self.owner[id(record)] for record in records}

    def once(self, records: Sequence[brute_models.Record], column: int) -> list[brute_models.Record]:
        """One record for each person and value of a sensitive column."""
        seen = {(self.owner[id(record)], record[1][column]): record for record in records}
        return list(seen.values())


@dataclass
class Answer:
    """``plain`` counts records, but by the verdicts on persons; the rest counts persons."""

    plain: brute_models.Answer
    suppressed: int
    smallest: int | None


def passes(
    owned: Owned,
    column: int | None,
    model: dict[str, Any],
    records: Sequence[brute_models.Record],
    crowd: Collection[Any],
) -> bool:
    """The definition of every model over the persons of a class."""
    members = [record for record in records if record[2]]
    if model["type"] == "k_anonymity":
        return len(owned.people(members)) >= model["k"]
    if model["type"] == "delta_presence":
        low, high = Fraction(str(model["min"])), Fraction(str(model["max"]))
        return low <= Fraction(len(owned.people(members)), len(owned.people(records))) <= high
    if model["type"] == "k_map":
        return len(crowd) >= model["k"]
    assert column is not None
    everyone = replace(owned.world, records=owned.once(owned.world.members, column))
    seen = owned.once(members, column)
    return brute_models.passes(everyone, column, model, seen, len(seen))


def judge(owned: Owned, node: Sequence[int]) -> Answer:
    """What a node publishes and suppresses, and of whom."""
    world = owned.world
    published, released, removed = [], Counter(), []
    by_model, candidate = [0] * len(world.models), True
    crowd = owned.crowd(node)
    for key, records in world.classes(node).items():
        members = [record for record in records if record[2]]
        if not members:
            for _, model in world.models:
                if model["type"] == "delta_presence" and model.get("public_only") == "reject" and model["min"] > 0:
                    candidate = False
            continue
        people = owned.people(records) if world.population is None else crowd.get(key, ())
        failing = [not passes(owned, column, model, records, people) for column, model in world.models]
        for i, fails in enumerate(failing):
            by_model[i] += len(members) * fails
        if any(failing):
            removed += members
        else:
            published.append(members)
            released.update((*key, *record[1]) for record in members)
    sizes = [len(members) for members in published]
    plain = brute_models.Answer(
        len(removed), len(published), min(sizes, default=None), by_model, candidate, released, published, removed
    )
    smallest = min((len(owned.people(members)) for members in published), default=None)
    return Answer(plain, len(owned.people(removed)), smallest)
