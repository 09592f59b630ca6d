"""The catalog: frozen facts about an encoded source. Search, measures and compiler read it; nobody changes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlanon.lattice import Node


@dataclass(frozen=True, slots=True)
class Attribute:
    """One quasi-identifier after encoding.

    Attributes:
        name: the column of the source.
        type: its type in the database.
        height: number of levels, level 0 included.
        domain: D, number of leaves of the hierarchy (SPEC: plus one for NULLs that it does not list).
        fields: per level, the bits that tell its branches apart, one mask per word.
        costs: per level, the sum over the encoded records of (D - leaves of the record's value); integer.
        widths: per level, the number of distinct generalized values (NULL is one) among those of the source.
        text_levels: per level, True when the published value no longer has the source's type.
        weight: importance in attribute-based measures.
    """

    name: str
    type: str
    height: int
    domain: int
    fields: tuple[tuple[int, ...], ...]
    costs: tuple[int, ...]
    widths: tuple[int, ...]
    keeps_type: tuple[bool, ...]
    weight: float = 1.0

    def mask(self, level: int, word: int) -> int:
        """The bits of ``word`` that remain when this attribute is generalized to ``level``."""
        return sum(field[word] for field in self.fields[level:])


@dataclass(frozen=True, slots=True)
class Catalog:
    """What is known of a source after encoding.

    Attributes:
        attributes: the quasi-identifiers in the order of the policy.
        words: number of BIGINT words of a key, at least 1.
        records: all records of the source.
        excluded: records left out before encoding (basic NULL match).
        uncovered: records suppressed before encoding (``uncovered: suppress``).
        base_rows: distinct encoded records.
        allowed: largest number of records that may be suppressed, ``uncovered`` included.
    """

    attributes: tuple[Attribute, ...]
    words: int
    records: int
    excluded: int
    uncovered: int
    base_rows: int
    allowed: int

    @property
    def population(self) -> int:
        """N: the records that measures and limits are about (all but the excluded ones)."""
        return self.records - self.excluded

    @property
    def encoded(self) -> int:
        """Records in the base."""
        return self.population - self.uncovered

    @property
    def bottom(self) -> Node:
        """The node that generalizes nothing."""
        return (0,) * len(self.attributes)

    @property
    def top(self) -> Node:
        """The node that generalizes everything."""
        return tuple(attribute.height - 1 for attribute in self.attributes)

    def masks(self, node: Node) -> tuple[int, ...]:
        """One mask per word: ``key & mask`` is the generalized key."""
        return tuple(
            sum(a.mask(level, word) for a, level in zip(self.attributes, node, strict=True))
            for word in range(self.words)
        )

    def levels(self, node: Sequence[int]) -> dict[str, int]:
        """The node as column -> level."""
        return {a.name: level for a, level in zip(self.attributes, node, strict=True)}
