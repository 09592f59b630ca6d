"""Several linked tables in plain Python: trees of rows, their nested profiles, and the best node by looking at all.

It imports nothing from the package. A world is a dictionary of tables, each a list of rows; a hierarchy is a dictionary
from a value to its texts, level by level.
"""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
Node = tuple[int, ...]


@dataclass
class World:
    """Tables with their keys, quasi-identifiers and hierarchies.

    ``shape``: name -> (key, parent, link), the persons' table first; ``quasi``: name -> columns; ``hierarchies``: a
    name and a column -> value -> texts by level.
    """

    shape: dict[str, tuple[str | None, str | None, str | None]]
    rows: dict[str, list[dict[str, Any]]]
    quasi: dict[str, list[str]]
    hierarchies: dict[tuple[str, str], dict[str, tuple[str, ...]]]
    nulls: str = "extended"
    attributes: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.attributes = [(name, column) for name in self.shape for column in self.quasi[name]]

    def height(self, attribute: tuple[str, str]) -> int:
        """How many levels an attribute has."""
        return len(next(iter(self.hierarchies[attribute].values())))

    def nodes(self) -> Iterator[Node]:
        """Every node."""
        return itertools.product(*(range(self.height(a)) for a in self.attributes))

    def text(self, attribute: tuple[str, str], value: str | None, level: int) -> str | None:
        """What a value is published as; NULL, which no hierarchy lists, joins the root at the last level."""
        if value is not None:
            return self.hierarchies[attribute][value][level]
        last = self.height(attribute) - 1
        return "*" if level == last > 0 else None

    def leaves(self, attribute: tuple[str, str], value: str | None, level: int, domain: int) -> int:
        """How many leaves lie under what a value is published as."""
        text = self.text(attribute, value, level)
        if text is None:
            return 1
        if level == self.height(attribute) - 1 > 0:
            return domain
        return sum(texts[level] == text for texts in self.hierarchies[attribute].values())

    def children(self, name: str) -> list[str]:
        """The tables that belong to a table."""
        return [child for child, (_, parent, _) in self.shape.items() if parent == name]

    def below(self, name: str, row: Row) -> Iterator[tuple[str, Row]]:
        """A row with all rows below it, each with its table."""
        yield name, row
        key = self.shape[name][0]
        for child in self.children(name):
            for other in self.rows[child]:
                if other[self.shape[child][2]] == row[key]:
                    yield from self.below(child, other)

    def profile(self, name: str, row: Row, levels: Mapping[tuple[str, str], int]) -> Any:
        """The generalized values of a row, and of each table below the multiset of the profiles of its rows."""
        own = tuple(self.text((name, c), row[c], levels[name, c]) for c in self.quasi[name])
        key, parts = self.shape[name][0], []
        for child in self.children(name):
            mine = [other for other in self.rows[child] if other[self.shape[child][2]] == row[key]]
            parts.append(frozenset(Counter(self.profile(child, other, levels) for other in mine).items()))
        return (own, *parts)

    @property
    def root(self) -> str:
        """The persons' table."""
        return next(iter(self.shape))

    def taking_part(self) -> list[dict[str, Any]]:
        """The persons that are not left out because of a NULL in any of their rows."""
        persons = self.rows[self.root]
        if self.nulls == "extended":
            return persons
        return [
            person
            for person in persons
            if all(row[c] is not None for name, row in self.below(self.root, person) for c in self.quasi[name])
        ]


@dataclass(frozen=True)
class Judged:
    """A node: the profiles of the published persons, how many are suppressed, and the losses of the attributes."""

    node: Node
    published: Counter[Any]
    suppressed: int
    losses: tuple[float, ...]
    rows: dict[str, int]

    @property
    def loss(self) -> float:
        """Their arithmetic mean."""
        return sum(self.losses) / len(self.losses) if self.losses else 0.0


def judge(world: World, node: Node, k: int) -> Judged:
    """Judge a node by the definition."""
    levels = dict(zip(world.attributes, node, strict=True))
    persons = world.taking_part()
    profiles = [world.profile(world.root, person, levels) for person in persons]
    sizes = Counter(profiles)
    trees = [list(world.below(world.root, person)) for person in persons]
    losses = []
    for attribute in world.attributes:
        name, column = attribute
        cells = [
            (row[column], sizes[profile] < k)
            for tree, profile in zip(trees, profiles, strict=True)
            for table, row in tree
            if table == name
        ]
        domain = len(world.hierarchies[attribute]) + any(value is None for value, _ in cells)
        if domain == 1 or not cells:
            losses.append(0.0)
            continue
        lost = [domain if fails else world.leaves(attribute, v, levels[attribute], domain) for v, fails in cells]
        losses.append(sum(lost_of - 1 for lost_of in lost) / (len(cells) * (domain - 1)))
    rows = Counter(table for tree, p in zip(trees, profiles, strict=True) if sizes[p] >= k for table, _ in tree)
    kept = Counter({profile: size for profile, size in sizes.items() if size >= k})
    return Judged(
        node, kept, len(persons) - sum(kept.values()), tuple(losses), {name: rows[name] for name in world.shape}
    )


def best(world: World, k: int, allowed: int) -> Judged | None:
    """The feasible node with the least loss; None if there is none."""
    judged = [judge(world, node, k) for node in world.nodes()]
    feasible = [found for found in judged if found.published and found.suppressed <= allowed]
    return min(feasible, key=lambda found: found.loss, default=None)


def published_profiles(
    world: World, released: Mapping[str, Sequence[Row]], keys: Mapping[str, str | None]
) -> Counter[Any]:
    """The profiles of the persons of a release, by its texts and pseudonyms.

    ``keys``: the key of each table as it was published.
    """

    def profile(name: str, row: Row) -> Any:
        own = tuple(row[c] for c in world.quasi[name])
        parts = []
        for child in world.children(name):
            mine = [other for other in released[child] if other[world.shape[child][2]] == row[keys[name]]]
            parts.append(frozenset(Counter(profile(child, other) for other in mine).items()))
        return (own, *parts)

    return Counter(profile(world.root, row) for row in released[world.root])


def random_hierarchy(draw: random.Random) -> dict[str, tuple[str, ...]]:
    """A tree of 2 to 3 levels over a few values."""
    values = [f"v{i}" for i in range(draw.randint(1, 4))]
    if draw.random() < 0.5:
        return {value: (value, "*") for value in values}
    return {value: (value, f"g{i // 2}", "*") for i, value in enumerate(values)}


def random_world(draw: random.Random, *, three: bool = True) -> World:
    """Two or three tables, or four with two children of one: few persons, ties, NULLs, persons without rows."""
    shape: dict[str, tuple[str | None, str | None, str | None]] = {
        "patients": ("pid", None, None),
        "visits": ("vid" if three else None, "patients", "patient"),
    }
    if three:
        shape["diagnoses"] = (None, "visits", "visit")
        if draw.random() < 0.3:
            shape["contacts"] = (None, "patients", "person")
    quasi = {name: [f"{name[0]}{i}" for i in range(draw.choice([0, 1, 1, 2]))] for name in shape}
    if not any(quasi.values()):
        quasi["patients"] = ["p0"]
    hierarchies = {(name, c): random_hierarchy(draw) for name in shape for c in quasi[name]}
    rate = draw.choice([0.0, 0.1])

    def values(name: str) -> dict[str, Any]:
        known = {c: [*hierarchies[name, c]] for c in quasi[name]}
        kept = {"kept": draw.choice("xy")}
        return {c: None if draw.random() < rate else draw.choice(v) for c, v in known.items()} | kept

    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in shape}
    for name, (key, parent, link) in shape.items():
        if parent is None or link is None:
            rows[name] = [{str(key): i * 7, **values(name)} for i in range(draw.randint(4, 14))]
            continue
        of_parent = shape[parent][0]
        number = 0
        for row in rows[parent]:
            for _ in range(draw.choice([0, 1, 1, 2])):
                number += 1
                own = {} if key is None else {key: f"{name}{number}"}
                rows[name].append({**own, link: row[of_parent], **values(name)})
        draw.shuffle(rows[name])
    return World(shape, rows, quasi, hierarchies, draw.choice(["extended", "basic"]))
