"""Consistent worlds: all source tables of a few records that give one release, counted by enumeration.

A world is a multiset of records over the product of a few values. The arrays here judge all worlds of a size at once,
in plain arithmetic; nothing of the package is imported.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, product

import numpy as np
from policies import quasi

Node = tuple[int, ...]
NOISE = 1e-9


@dataclass(frozen=True)
class TinyPolicy:
    """k-anonymity, perhaps with distinct ℓ-diversity, over columns with few values.

    Attributes:
        columns: per quasi-identifier, its values with their texts on each level, the value itself first.
        sensitive: values of a sensitive column; () for none.
        limit: the greatest number of suppressed records.
    """

    columns: tuple[dict[str, tuple[str, ...]], ...]
    k: int
    sensitive: tuple[str, ...] = ()
    l: int = 1
    limit: int = 2
    weights: tuple[float, ...] = ()

    @property
    def names(self) -> list[str]:
        return ["abc"[i] for i in range(len(self.columns))]

    @cached_property
    def domain(self) -> list[tuple[str, ...]]:
        """All records that could be: quasi-identifiers, then the sensitive value if there is one."""
        return list(product(*self.columns, *([self.sensitive] if self.sensitive else [])))

    @cached_property
    def nodes(self) -> list[Node]:
        return list(product(*[range(len(next(iter(column.values())))) for column in self.columns]))

    def document(self, records: int) -> dict:
        """The policy as the package reads it, for sources of so many records."""
        columns: dict[str, dict] = {
            name: quasi({"levels": {value: list(texts[1:]) for value, texts in column.items()}}, weight=weight)
            for name, column, weight in zip(self.names, self.columns, self._weights, strict=True)
        }
        if self.sensitive:
            columns["s"] = {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": self.l}]}
        limit = {"suppression_count": self.limit}
        return {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": self.k}], **limit}

    @property
    def _weights(self) -> tuple[float, ...]:
        return self.weights or (1.0,) * len(self.columns)


@dataclass(frozen=True)
class Judged:
    """What all worlds come to at one node; a row a world.

    Attributes:
        published: counts by class and sensitive value, 0 where the class is suppressed.
        suppressed: records.
        loss: the weighted mean of the columns' losses; infinite beyond the limit.
    """

    published: np.ndarray
    suppressed: np.ndarray
    loss: np.ndarray


class Worlds:
    """All worlds of a number of records, or some of them."""

    def __init__(self, policy: TinyPolicy, records: int) -> None:
        self.policy, self.records = policy, records
        picks = np.array(list(combinations_with_replacement(range(len(policy.domain)), records)), dtype=np.int16)
        self.counts = np.zeros((len(picks), len(policy.domain)), dtype=np.int16)
        for place in range(records):
            np.add.at(self.counts, (np.arange(len(picks)), picks[:, place]), 1)

    def rows(self, world: int) -> list[tuple[str, ...]]:
        """The records of a world."""
        return [row for row, n in zip(self.policy.domain, self.counts[world], strict=True) for _ in range(n)]

    def at(self, node: Node) -> Judged:
        """Judge all worlds at a node, by the definitions."""
        policy, several = self.policy, max(len(self.policy.sensitive), 1)
        texts = [self.texts(row, node) for row in policy.domain]
        classes = sorted(set(texts))
        groups = np.zeros((len(policy.domain), len(classes), several), dtype=np.int16)
        for place, (row, text) in enumerate(zip(policy.domain, texts, strict=True)):
            groups[place, classes.index(text), policy.sensitive.index(row[-1]) if policy.sensitive else 0] = 1
        held = np.tensordot(self.counts, groups, axes=1)
        passes = (held.sum(axis=2) >= policy.k) & ((held > 0).sum(axis=2) >= policy.l)
        published = held * passes[:, :, None]
        suppressed = self.records - published.sum(axis=(1, 2))
        weights, total = policy._weights, sum(policy._weights)
        per_class = np.array(
            [sum(w * self.cost(i, text[i], node[i]) for i, w in enumerate(weights)) / total for text in classes]
        )
        loss = (published.sum(axis=2) @ per_class + suppressed) / self.records
        return Judged(published, suppressed, np.where(suppressed > policy.limit, np.inf, loss))

    def texts(self, row: tuple[str, ...], node: Node) -> tuple[str, ...]:
        """What a node leaves of a record's quasi-identifiers."""
        return tuple(column[value][level] for column, value, level in zip(self.policy.columns, row, node, strict=False))

    def cost(self, place: int, text: str, level: int) -> float:
        """The loss of a published value: (leaves - 1) / (D - 1)."""
        column = self.policy.columns[place]
        leaves = sum(texts[level] == text for texts in column.values())
        return (leaves - 1) / (len(column) - 1)

    @cached_property
    def _least(self) -> np.ndarray:
        return np.min([self.at(node).loss for node in self.policy.nodes], axis=0)

    def best(self, world: int) -> list[Node]:
        """The optimal nodes of a world; [] when nothing meets the policy."""
        losses = {node: self.at(node).loss[world] for node in self.policy.nodes}
        least = min(losses.values())
        return [node for node, loss in losses.items() if loss <= least + NOISE] if np.isfinite(least) else []

    def consistent(self, world: int, node: Node) -> np.ndarray:
        """The worlds that could have been published like ``world`` at ``node`` by somebody who obeys the policy."""
        found = self.at(node)
        same = (found.published == found.published[world]).all(axis=(1, 2)) & np.isfinite(found.loss)
        return np.flatnonzero(same)

    def optimal(self, world: int, node: Node) -> np.ndarray:
        """Of these, the worlds of which no node loses less: what minimality leaves."""
        found = self.consistent(world, node)
        return found[self.at(node).loss[found] <= self._least[found] + NOISE]
