"""Live views in plain Python: random sources that change, and which of their records must be there, row by row."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

Text = str | None
Row = dict[str, Any]
VALUES = ("a", "b", "c", "d", "", "NULL", "-", "=a", None)
"""Values of a quasi-identifier; the third part of them has no row in a lookup."""
SECRETS = ("flu", "cold", "", None)
PERSONS = ("p1", "p2", "p3", "p4", None)


@dataclass
class Wanted:
    """What a live view promises: k, distinct values of ``s`` (0: none asked), the share of the subset, and how."""

    k: int = 1
    l: int = 0
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    subset: bool = False
    reject: bool = False
    basic: bool = False
    entity: bool = False


@dataclass
class World:
    """A source with its lookups (None: the value passes as it is) and what is wanted of its live view."""

    lookups: list[dict[Text, Text] | None]
    wanted: Wanted
    rows: list[Row] = field(default_factory=list)
    made: int = 0

    @property
    def quasi(self) -> list[str]:
        return [f"q{i}" for i in range(len(self.lookups))]

    def new_row(self, random: Random) -> Row:
        self.made += 1
        row: Row = {name: random.choice(VALUES) for name in self.quasi}
        return row | {
            "s": random.choice(SECRETS),
            "flag": random.choices((True, False, None), (10, 12, 1))[0],
            "person": random.choices(PERSONS, (6, 6, 6, 6, 1))[0],
            "id": self.made,
        }

    def change(self, random: Random) -> str:
        """One step of a stream: records come, go or change, or all of them go."""
        kind = random.choices(("insert", "delete", "update", "clear"), (6, 4, 4, 1))[0]
        if kind == "insert" or not self.rows:
            self.rows += [self.new_row(random) for _ in range(random.randint(1, 9))]
        elif kind == "delete":
            self.rows = random.sample(self.rows, random.randint(0, len(self.rows)))
        elif kind == "update":
            for row in random.sample(self.rows, random.randint(1, len(self.rows))):
                fresh = self.new_row(random)
                name = random.choice([*self.quasi, "s", "flag", "person"])
                row[name] = fresh[name]
        else:
            self.rows = []
        return kind


def random_world(random: Random) -> World:
    """A world that often has classes on both sides of what is wanted."""
    lookups: list[dict[Text, Text] | None] = []
    for _ in range(random.choice((0, 1, 1, 2))):
        listed = random.sample(VALUES, random.randint(4, len(VALUES)))
        texts = random.choice((("*",), ("x", "y"), ("x", "", None)))
        lookups.append({value: random.choice(texts) for value in listed} if random.random() < 0.9 else None)
    subset = random.random() < 0.4
    low = Fraction(random.choice((0, 0, 1, 2, 3)), 10)
    wanted = Wanted(
        k=random.choice((1, 2, 2, 3, 5)),
        l=random.choice((0, 0, 2, 3)),
        low=low,
        high=max(low, Fraction(random.choice((4, 5, 7, 10)), 10)),
        subset=subset,
        reject=subset and random.random() < 0.3,
        basic=random.random() < 0.4,
        entity=random.random() < 0.4,
    )
    world = World(lookups, wanted)
    world.rows = [world.new_row(random) for _ in range(random.randint(0, 40))]
    return world


def worlds(seeds: Iterable[int], steps: int = 1) -> Iterator[World]:
    """Worlds as they are made, and after every step of a stream."""
    for seed in seeds:
        random = Random(seed)
        world = random_world(random)
        yield world
        for _ in range(steps - 1):
            world.change(random)
            yield world


def published(world: World) -> Counter[tuple[Any, ...]]:
    """The rows of the live view: texts of the quasi-identifiers, ``s``, ``id``; no more and no fewer."""
    wanted = world.wanted
    classes: defaultdict[tuple[Text, ...], list[Row]] = defaultdict(list)
    unplaced = 0
    for row in world.rows:
        values = [row[name] for name in world.quasi]
        if wanted.basic and None in values:
            continue
        lost = (wanted.subset and row["flag"] is None) or (wanted.entity and row["person"] is None)
        if lost or any(lookup is not None and value not in lookup for value, lookup in zip(values, world.lookups)):
            unplaced += 1
            continue
        texts = (value if lookup is None else lookup[value] for value, lookup in zip(values, world.lookups))
        classes[tuple(texts)].append(row)

    def number(rows: list[Row]) -> int:
        return len({row["person"] for row in rows}) if wanted.entity else len(rows)

    def members(rows: list[Row]) -> list[Row]:
        return [row for row in rows if row["flag"]] if wanted.subset else rows

    rejecting = wanted.subset and wanted.reject and wanted.low > 0
    if rejecting and (unplaced or not all(members(rows) for rows in classes.values())):
        return Counter()
    found: Counter[tuple[Any, ...]] = Counter()
    for texts, rows in classes.items():
        n, population = number(members(rows)), number(rows)
        holds = n >= wanted.k and len({row["s"] for row in members(rows)}) >= wanted.l
        if wanted.subset:
            holds &= n <= wanted.high * population and n >= wanted.low * (population + unplaced)
        if holds:
            found.update((*texts, row["s"], row["id"]) for row in members(rows))
    return found


def columns_of(world: World) -> Mapping[str, list[Any]]:
    """The columns of the source with their values."""
    listed = [*world.quasi, "s", "flag", "person", "id"]
    return {name: [row[name] for row in world.rows] for name in listed}
