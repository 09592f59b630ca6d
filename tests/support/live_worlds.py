"""Live views in plain Python: random sources that change, and which of their records must be there, row by row."""

import math
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
TREE: dict[Text, tuple[str, int]] = {
    "flu": ("airways", 2),
    "cold": ("airways", 0),
    "": ("other", 1),
    None: ("other", 3),
}
"""The hierarchy of ``s`` below its root, and the places of its values; NULL comes last wherever it is listed."""
PERSONS = ("p1", "p2", "p3", "p4", None)


@dataclass
class Wanted:
    """What a live view promises: k, distinct values of ``s`` (0: none asked), the share of the subset, and how.

    ``entropy``: ℓ (0: none asked). ``recursive``: ℓ and c. ``close``: t by distance. ``tree``: of ``s``, with places of
    an ordered distance; without one the order is that of texts.
    """

    k: int = 1
    l: int = 0
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    subset: bool = False
    reject: bool = False
    basic: bool = False
    entity: bool = False
    entropy: float = 0
    recursive: tuple[int, Fraction] | None = None
    close: dict[str, float] = field(default_factory=dict)
    tree: dict[Text, tuple[str, int]] | None = None
    delta: float = 0
    beta: float = 0
    enhanced: bool = False


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


def worlds(seeds: Iterable[int], steps: int = 1, *, of_distributions: bool = False) -> Iterator[World]:
    """Worlds as they are made, and after every step of a stream; their models may look at whole histograms."""
    for seed in seeds:
        random = Random(seed)
        world = random_world(random)
        if of_distributions:
            ask_for_distributions(world, random)
        yield world
        for _ in range(steps - 1):
            world.change(random)
            yield world


def ask_for_distributions(world: World, random: Random) -> None:
    """Ask for models of whole histograms too, alone or together, in place of others."""
    wanted = world.wanted
    wanted.k = random.choice((1, 1, 2, 3))
    wanted.l = random.choice((0, 0, 0, 2))
    known = ("entropy", "recursive", "equal", "hierarchical", "ordered", "delta", "beta")
    kinds = random.sample(known, random.choice((1, 1, 2, 3)))
    for kind in kinds:
        if kind == "entropy":
            wanted.entropy = random.choice((1, 1.5, 1.7, 2, 2.5, 3))
        elif kind == "recursive":
            fraction = random.choice((Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(7, 10)))
            wanted.recursive = (random.choice((1, 2, 2, 3)), fraction)
        elif kind == "delta":
            wanted.delta = random.choice((0.5, 1, 1, 1.5, 2))
        elif kind == "beta":
            wanted.beta, wanted.enhanced = random.choice((0.5, 1, 2)), random.random() < 0.5
        else:
            wanted.close[kind] = random.choice((0.05, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7))
    if "hierarchical" in kinds or ("ordered" in kinds and random.random() < 0.5):
        left_out = random.choice(("flu", "cold", "", None, "nothing", "nothing", "nothing", "nothing"))
        wanted.tree = {value: found for value, found in TREE.items() if value != left_out}
    for row in world.rows:
        row["s"] = random.choices(SECRETS, (4, 3, 2, 1))[0]


def sensitive_document(wanted: Wanted) -> dict[str, Any]:
    """The column ``s`` in a policy that asks for what is wanted of it; of a NULL that is not listed, it says so."""
    asked: list[dict[str, Any]] = [{"type": "distinct_l_diversity", "l": wanted.l}] if wanted.l else []
    if wanted.entropy:
        asked.append({"type": "entropy_l_diversity", "l": wanted.entropy})
    if wanted.recursive is not None:
        asked.append({"type": "recursive_l_diversity", "l": wanted.recursive[0], "c": float(wanted.recursive[1])})
    asked += [{"type": "t_closeness", "t": most, "distance": kind} for kind, most in wanted.close.items()]
    if wanted.delta:
        asked.append({"type": "delta_disclosure", "delta": wanted.delta})
    if wanted.beta:
        asked.append({"type": "beta_likeness", "beta": wanted.beta, "enhanced": wanted.enhanced})
    document: dict[str, Any] = {"role": "sensitive", "models": asked} if asked else {"role": "keep"}
    if wanted.tree is not None:
        listed = sorted(wanted.tree.items(), key=lambda item: item[1][1])
        document["hierarchy"] = {"levels": {value: [told[0], "*"] for value, told in listed}}
        wanted.tree.setdefault(None, ("NULL", 99))
    return document


def histogram(rows: list[Row], entity: bool) -> Counter[Text]:
    """Records by their value of ``s``, or persons."""
    if not entity:
        return Counter(row["s"] for row in rows)
    return Counter(value for value, _ in {(row["s"], row["person"]) for row in rows})


def diverse(held: Counter[Text], wanted: Wanted) -> bool:
    """Entropy and recursive diversity, by their definitions."""
    total = sum(held.values())
    if wanted.entropy:
        entropy = -math.fsum(n / total * math.log(n / total) for n in held.values())
        if entropy < math.log(wanted.entropy) - 1e-9:
            return False
    if wanted.recursive is not None:
        least, c = wanted.recursive
        counts = sorted(held.values(), reverse=True)
        if len(counts) < least or counts[0] >= c * sum(counts[least - 1 :]):
            return False
    return True


def distance(
    held: Counter[Text], everything: Counter[Text], kind: str, tree: dict[Text, tuple[str, int]] | None
) -> Fraction:
    """The distance of t-closeness, by its definition over all values."""

    def share(counts: Counter[Text], values: Iterable[Text]) -> Fraction:
        return Fraction(sum(counts[value] for value in values), sum(counts.values()))

    def half(groups: Iterable[list[Text]]) -> Fraction:
        return sum((abs(share(held, group) - share(everything, group)) for group in groups), Fraction(0)) / 2

    values = list(everything)
    single = [[value] for value in values]
    if kind == "equal":
        return half(single)
    if kind == "hierarchical":
        assert tree is not None
        groups: defaultdict[object, list[Text]] = defaultdict(list)
        for value in values:
            groups[tree[value][0] if value in tree else ("alone", value)].append(value)
        return (half(single) + half(groups.values())) / 2
    place = (lambda v: (v is None, v or "")) if tree is None else (lambda v: (v is None, tree[v][1]))
    ordered = sorted(values, key=place)
    if len(ordered) < 2:
        return Fraction(0)
    sums = (abs(share(held, ordered[:i]) - share(everything, ordered[:i])) for i in range(1, len(ordered) + 1))
    return sum(sums, Fraction(0)) / (len(ordered) - 1)


def near(held: Counter[Text], everything: Counter[Text], wanted: Wanted) -> bool:
    """How the shares of a class compare with those of all; no distance is defined in an order that lacks a value."""
    for value, n in held.items():
        share, overall = n / sum(held.values()), everything[value] / sum(everything.values())
        if wanted.delta and abs(math.log2(share / overall)) >= wanted.delta - 1e-9:
            return False
        gain = min(wanted.beta, -math.log(overall)) if wanted.enhanced else wanted.beta
        if wanted.beta and (share - overall) / overall > gain + 1e-9:
            return False
    for kind, most in wanted.close.items():
        if kind == "ordered" and wanted.tree is not None and any(value not in wanted.tree for value in everything):
            return False
        if distance(held, everything, kind, wanted.tree) > Fraction(str(most)) + Fraction(1, 10**9):
            return False
    return True


def published(world: World) -> Counter[tuple[Any, ...]]:
    """The rows of the live view: texts of the quasi-identifiers, ``s``, ``id``; no more and no fewer."""
    wanted = world.wanted
    classes: defaultdict[tuple[Text, ...], list[Row]] = defaultdict(list)
    unplaced, counted = 0, []
    for row in world.rows:
        values = [row[name] for name in world.quasi]
        if wanted.basic and None in values:
            continue
        lost = (wanted.subset and row["flag"] is None) or (wanted.entity and row["person"] is None)
        if not lost and (row["flag"] or not wanted.subset):
            counted.append(row)
        lost |= wanted.tree is not None and row["s"] not in wanted.tree
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
    everything = histogram(counted, wanted.entity)
    found: Counter[tuple[Any, ...]] = Counter()
    for texts, rows in classes.items():
        n, population = number(members(rows)), number(rows)
        holds = n >= wanted.k and len({row["s"] for row in members(rows)}) >= wanted.l
        if wanted.subset:
            holds &= n <= wanted.high * population and n >= wanted.low * (population + unplaced)
        if holds and (held := histogram(members(rows), wanted.entity)):
            holds = diverse(held, wanted) and near(held, everything, wanted)
        if holds:
            found.update((*texts, row["s"], row["id"]) for row in members(rows))
    return found


def columns_of(world: World) -> Mapping[str, list[Any]]:
    """The columns of the source with their values."""
    listed = [*world.quasi, "s", "flag", "person", "id"]
    return {name: [row[name] for row in world.rows] for name in listed}
