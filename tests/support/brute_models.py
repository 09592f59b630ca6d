"""The privacy models and quality measures of SPEC-measures in plain Python, over lists of records.

It shares nothing with the package. A record is (quasi-identifier values, sensitive values, member); a tree is
``brute.Tree``."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import brute_release
from brute import Text, Tree

Record = tuple[tuple[Text, ...], tuple[Text, ...], bool]


@dataclass
class World:
    """A problem: records, trees of the quasi-identifiers, and per sensitive column its tree (None: no hierarchy)."""

    records: list[Record]
    trees: list[Tree]
    sensitive: list[Tree | None]
    models: list[tuple[int | None, dict[str, Any]]]
    """(sensitive column or None, model as in a policy)."""
    nulls: str = "extended"
    weights: Sequence[float] = ()
    """Of the quasi-identifiers; () is 1 for each."""
    population: list[tuple[Text, ...]] | None = None
    """The quasi-identifiers of the records of a population beside the records (k-map)."""
    quality: tuple[str, str | None] = ("loss", None)
    """Measure and aggregate: of equal classes, models of a release suppress those that add least to it."""

    def people(self, node: Sequence[int]) -> Counter:
        """The records of the population by their class at a node: those that the hierarchies list."""
        return Counter(
            tuple(t.generalize(v, level) for t, v, level in zip(self.trees, row, node))
            for row in self.population or []
            if all(t.covers(v) for t, v in zip(self.trees, row)) and (self.nulls == "extended" or None not in row)
        )

    @property
    def taking_part(self) -> list[Record]:
        return [r for r in self.records if self.nulls == "extended" or None not in r[0]]

    @property
    def members(self) -> list[Record]:
        return [r for r in self.taking_part if r[2]]

    def covered(self, record: Record) -> bool:
        return all(t.covers(v) for t, v in zip(self.trees, record[0]))

    def classes(self, node: Sequence[int]) -> dict[tuple, list[Record]]:
        found: dict[tuple, list[Record]] = defaultdict(list)
        for r in filter(self.covered, self.taking_part):
            found[tuple(t.generalize(v, level) for t, v, level in zip(self.trees, r[0], node))].append(r)
        return found


def order(values: set[Text], tree: Tree | None) -> list[Text]:
    """The values in the order of the hierarchy's level 0, or of the texts; NULL last."""
    if tree is not None:
        listed = [row[0] for row in tree.rows]
        return [v for v in listed if v in values and v is not None] + ([None] if None in values else [])
    return sorted((v for v in values if v is not None), key=lambda v: v.encode()) + ([None] if None in values else [])


def share(counts: Counter, value: Any) -> float:
    return counts[value] / sum(counts.values())


def distance(world: World, column: int, inside: list[Text], kind: str) -> float:
    """The distance of the values of a class from those of all records (of the subset)."""
    tree = world.sensitive[column]
    overall = [r[1][column] for r in world.members]

    def equal(p: Counter, q: Counter) -> float:
        return sum(abs(share(p, v) - share(q, v)) for v in set(p) | set(q)) / 2

    if kind == "equal":
        return equal(Counter(inside), Counter(overall))
    if kind == "hierarchical":
        assert tree is not None
        height = tree.height - 1

        levels = [  # SPEC's closed form; tests/test_models.py holds it against a solved transport problem
            equal(Counter(tree.generalize(v, lv) for v in inside), Counter(tree.generalize(v, lv) for v in overall))
            for lv in range(height)
        ]
        return sum(levels) / height
    row = order(set(overall), tree)
    if len(row) == 1:
        return 0.0
    p, q = Counter(inside), Counter(overall)
    running = work = 0.0
    for value in row:
        running += share(p, value) - share(q, value)
        work += abs(running)
    return work / (len(row) - 1)


def gains(world: World, column: int, inside: list[Text]) -> list[tuple[Fraction, Fraction]]:
    """Per value of a class: its share there as a multiple of that among all records, and this one."""
    p, q = Counter(r[1][column] for r in world.members), Counter(inside)
    n, everyone = sum(q.values()), sum(p.values())
    return [(Fraction(c * everyone, n * p[v]) if p[v] else math.inf, Fraction(p[v], everyone)) for v, c in q.items()]


def passes(world: World, column: int | None, model: dict[str, Any], members: list[Record], everyone: int) -> bool:
    """SPEC-measures, the table of privacy models."""
    n = len(members)
    if model["type"] == "k_anonymity":
        return n >= model["k"]
    if model["type"] == "delta_presence":
        low, high = Fraction(str(model["min"])), Fraction(str(model["max"]))
        return low <= Fraction(n, everyone) <= high
    if model["type"] == "k_map":
        return everyone >= model["k"]
    assert column is not None
    inside = [r[1][column] for r in members]
    counts = sorted(Counter(inside).values(), reverse=True)
    if model["type"] == "distinct_l_diversity":
        return len(counts) >= model["l"]
    if model["type"] == "entropy_l_diversity":
        return -sum(c / n * math.log(c / n) for c in counts) >= math.log(model["l"]) - 1e-12
    if model["type"] == "recursive_l_diversity":
        return len(counts) >= model["l"] and counts[0] < Fraction(str(model["c"])) * sum(counts[model["l"] - 1 :])
    if model["type"] == "delta_disclosure":
        return all(abs(math.log2(gain)) < model["delta"] - 1e-12 for gain, _ in gains(world, column, inside))
    if model["type"] == "beta_likeness":
        most = Fraction(str(model["beta"]))
        least = (lambda p: -math.log(p) + 1e-12) if model.get("enhanced") else (lambda p: math.inf)
        return all(gain - 1 <= min(most, least(p)) for gain, p in gains(world, column, inside))
    return distance(world, column, inside, model.get("distance", "equal")) <= model["t"] + 1e-12


@dataclass
class Answer:
    suppressed: int
    classes: int
    smallest: int | None
    by_model: list[int]
    candidate: bool
    """Nothing rules the node out (``public_only: reject``)."""
    released: Counter
    published: list[list[Record]]
    removed: list[Record]


def judge(world: World, node: Sequence[int]) -> Answer:
    """What a node publishes and suppresses."""
    published, released = [], Counter()
    removed = [r for r in world.members if not world.covered(r)]
    by_model = [0] * len(world.models)
    candidate = True
    people = None if world.population is None else world.people(node)
    of_release = [i for i, (_, model) in enumerate(world.models) if model["type"] in brute_release.KINDS]
    of_classes = [i for i in range(len(world.models)) if i not in of_release]
    seen = {key: members for key, records in world.classes(node).items() if (members := [r for r in records if r[2]])}
    passing = {}
    for i in of_release:
        by_model[i] = sum(len(seen[key]) for key in brute_release.suppressed(world, node, seen, [world.models[i][1]]))
    for key, records in world.classes(node).items():
        members = [r for r in records if r[2]]
        if not members:
            for _, model in world.models:
                if model["type"] == "delta_presence" and model.get("public_only") == "reject" and model["min"] > 0:
                    candidate = False
            continue
        everyone = len(records) if people is None else people[key]
        failing = [not passes(world, *world.models[i], members, everyone) for i in of_classes]
        for i, fails in zip(of_classes, failing):
            by_model[i] += len(members) * fails
        if any(failing):
            removed += members
        else:
            passing[key] = members

    def loss_without(gone: list[tuple]) -> float:
        left = [members for key, members in passing.items() if key not in gone]
        more = [*removed, *(r for key in gone for r in passing[key])]
        answer = Answer(len(more), len(left), None, [], True, Counter(), left, more)
        return loss(world, node, answer, *world.quality, world.weights or [1.0] * len(world.trees))

    models = [world.models[i][1] for i in of_release]
    cut = set(brute_release.suppressed(world, node, passing, models, loss_without))
    for key, members in passing.items():
        if key in cut:
            removed += members
            continue
        published.append(members)
        for r in members:
            released[(*key, *r[1])] += 1
    sizes = [len(members) for members in published]
    return Answer(
        len(removed), len(published), min(sizes, default=None), by_model, candidate, released, published, removed
    )


def loss(
    world: World, node: Sequence[int], answer: Answer, measure: str, aggregate: str | None, weights: Sequence[float]
) -> float:
    """SPEC-measures, quality measures."""
    members = world.members
    n, s = len(members), answer.suppressed
    if measure == "discernibility":
        return sum(len(c) ** 2 for c in answer.published) + n * s
    if measure == "average_class_size":
        return n / (answer.classes + (1 if s else 0)) if answer.classes else math.inf
    if measure == "height":
        return sum(node)
    scaled = [x / (t.height - 1) if t.height > 1 else 0.0 for x, t in zip(node, world.trees)]
    if measure == "weighted_information_loss":
        return sum(w * x for w, x in zip(weights, scaled))
    parts = []
    for i, tree in enumerate(world.trees):
        if measure == "precision":
            parts.append(((n - s) * scaled[i] + s) / n if tree.height > 1 else 0.0)
        elif measure == "non_uniform_entropy":
            originals = Counter(r[0][i] for r in members)
            general = Counter(tree.generalize(r[0][i], node[i]) for r in members)
            first = sum(c * math.log2(general[tree.generalize(v, node[i])] / c) for v, c in originals.items())
            gone = Counter(tree.generalize(r[0][i], node[i]) for r in answer.removed)
            parts.append(first + sum(c * math.log2(s / c) for c in gone.values()))
        else:
            seen = tree.seen(r[0][i] for r in world.taking_part)
            domain = tree.domain(seen)
            if domain <= 1:
                parts.append(0.0)
                continue
            kept = sum(tree.leaves(r[0][i], node[i], seen) / domain for c in answer.published for r in c)
            parts.append(max(0.0, (kept + s - n / domain) / (n - n / domain)))
    weighted = [w * p for w, p in zip(weights, parts)]
    default = "sum" if measure == "non_uniform_entropy" else "arithmetic_mean"
    return {
        "arithmetic_mean": lambda: sum(weighted) / sum(weights),
        "sum": lambda: sum(weighted),
        "maximum": lambda: max(weighted),
        "geometric_mean": lambda: math.prod(p + 1 for p in weighted) ** (1 / len(weighted)) - 1,
    }[aggregate or default]()
