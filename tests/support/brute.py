"""A brute force in plain Python that shares nothing with the package: SPEC definitions, row by row."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Text = str | None


class Seen(NamedTuple):
    """What of a column's values its leaves depend on."""

    nulls: bool
    unlisted: bool


@dataclass
class Tree:
    """A hierarchy as rows (level 0 first); ``uncovered`` says what happens to other values."""

    rows: list[tuple[Text, ...]]
    uncovered: str = "error"

    def __post_init__(self) -> None:
        self.rows = list(dict.fromkeys(self.rows))
        self.map = {row[0]: row for row in self.rows}
        self.height = len(self.rows[0])
        roots = {row[-1] for row in self.rows}
        self.root = next(iter(roots)) if len(roots) == 1 else None

    def covers(self, value: Text) -> bool:
        return value is None or value in self.map or self.uncovered == "top"

    def generalize(self, value: Text, level: int) -> Text:
        if value in self.map:
            return self.map[value][level]
        if value is None:
            return self.root if self.root is not None and self.height > 1 and level == self.height - 1 else None
        return self.root

    def seen(self, values: Iterable[Text]) -> Seen:
        values = list(values)
        unlisted = [v for v in values if self.uncovered == "top" and v is not None and v not in self.map]
        return Seen(None in values, bool(unlisted) and self.height > 1)

    def domain(self, seen: Seen) -> int:
        """All leaves. Where unlisted values stand at the root beside a single one, the root stands for two at least."""
        return max(len(self.rows) + (1 if seen.nulls and None not in self.map else 0), 2 if seen.unlisted else 1)

    def leaves(self, value: Text, level: int, seen: Seen) -> int:
        whole = self.domain(seen)
        listed = value in self.map
        if not listed and value is not None:
            return whole
        general = self.generalize(value, level)
        if not listed and general is None:
            return 1
        count = sum(1 for row in self.rows if row[level] == general)
        if self.root is not None and level == self.height - 1 and (self.height > 1 or len(self.rows) == whole):
            return whole
        return count


@dataclass
class Answer:
    suppressed: int
    excluded: int
    published: int
    classes: int
    smallest: int | None
    losses: list[float]
    released: Counter

    def loss(self, aggregate: str = "arithmetic_mean", weights: Sequence[float] | None = None) -> float:
        w = list(weights) if weights is not None else [1.0] * len(self.losses)
        if not self.losses:
            return 0.0
        parts = [a * b for a, b in zip(self.losses, w)]
        return {
            "arithmetic_mean": lambda: sum(parts) / sum(w),
            "sum": lambda: sum(parts),
            "maximum": lambda: max(parts),
            "geometric_mean": lambda: math.prod(p + 1 for p in parts) ** (1 / len(parts)) - 1,
        }[aggregate]()


def judge(
    rows: Iterable[tuple[Text, ...]],
    trees: Sequence[Tree],
    node: Sequence[int],
    k: int,
    *,
    nulls: str = "extended",
    measure: str = "loss",
) -> Answer:
    rows = list(rows)
    taking = [r for r in rows if nulls == "extended" or None not in r]
    excluded = len(rows) - len(taking)
    covered = [r for r in taking if all(t.covers(v) for t, v in zip(trees, r))]
    n, uncovered = len(taking), len(taking) - len(covered)
    seen = [tree.seen(r[i] for r in taking) for i, tree in enumerate(trees)]
    classes: dict[tuple, list] = defaultdict(list)
    for r in covered:
        classes[tuple(t.generalize(v, l) for t, v, l in zip(trees, r, node))].append(r)
    published = {key: members for key, members in classes.items() if len(members) >= k}
    suppressed = n - sum(map(len, published.values()))
    assert suppressed >= uncovered
    losses = []
    for i, tree in enumerate(trees):
        if measure == "precision":
            share = node[i] / (tree.height - 1) if tree.height > 1 else 0
            losses.append(((n - suppressed) * share + suppressed) / n if tree.height > 1 and n else 0.0)
            continue
        domain = tree.domain(seen[i])
        if domain <= 1 or n == 0:
            losses.append(0.0)
            continue
        total = sum(tree.leaves(r[i], node[i], seen[i]) / domain for members in published.values() for r in members)
        losses.append(max(0.0, (total + suppressed - n / domain) / (n - n / domain)))
    return Answer(
        suppressed,
        excluded,
        n - suppressed,
        len(published),
        min(map(len, published.values()), default=None),
        losses,
        Counter({key: len(members) for key, members in published.items()}),
    )


def nodes(trees: Sequence[Tree]) -> Iterable[tuple[int, ...]]:
    return itertools.product(*(range(t.height) for t in trees))
