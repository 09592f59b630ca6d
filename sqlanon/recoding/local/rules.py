"""The rules of a sequence of nodes: the records and classes that each publishes."""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.core.lattice.nodes import Node


@dataclass(frozen=True, slots=True)
class Rule:
    """A node of a sequence that publishes records.

    Attributes:
        number: its number in ``names.ASSIGNED``; numbers ascend in the order of the sequence.
        node: its levels.
        records: published records.
        classes: of this node.
        smallest: records of the smallest of them.
        largest: records of the largest of them.
    """

    number: int
    node: Node
    records: int
    classes: int
    smallest: int
    largest: int


@dataclass(frozen=True, slots=True)
class Recoding:
    """Which nodes publish the records.

    Attributes:
        rules: the nodes that publish any, in the order of the sequence.
        suppressed: encoded records that no rule publishes (``catalog.uncovered`` are others).
        loss: by the problem's measure; None when that does not add over cells (``kept.check_measure``).
    """

    rules: tuple[Rule, ...]
    suppressed: int
    loss: float | None
