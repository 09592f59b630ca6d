"""Pack the path codes of all columns into 62-bit words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlanon.compiler.encode import EncodedColumn
from sqlanon.errors import (
    UnsupportedError,
)

WORD_BITS = 62
"""Usable bits of a signed BIGINT word."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """A column after its hierarchy met the source: what packing needs to know."""

    item: EncodedColumn
    domain: int
    bits: tuple[int, ...]
    widths: tuple[int, ...]
    keeps_type: tuple[bool, ...]
    values: int
    uncovered_values: int
    uncovered_records: int
    single_root: bool
    quasi_identifiers: int


def _pack(
    measured: Sequence[_Measured],
) -> tuple[tuple[EncodedColumn, ...], list[list[list[int]]], int]:
    """Give every (attribute, level) its field of bits; first fit into words of 62 bits.

    Returns:
        the columns with fields, the masks by attribute, level and word, and the number of words.
    """
    word, used = 0, 0
    items = []
    for fact in measured:
        fields = []
        if fact.item.sensitive:
            if sum(fact.bits) > WORD_BITS:
                raise UnsupportedError(
                    f"The hierarchy of column {fact.item.name!r} branches too often: its codes take {sum(fact.bits)} "
                    f"bits, {WORD_BITS} are there.",
                    hint="leave out a level, or use the distance equal without a hierarchy.",
                )
            if used + sum(fact.bits) > WORD_BITS:  # a sensitive code stands in one word
                word, used = word + 1, 0
        for bits in fact.bits:
            if used + bits > WORD_BITS:
                word, used = word + 1, 0
            fields.append((word, used, bits))
            used += bits
        items.append(replace(fact.item, fields=tuple(fields)))
    words = word + 1
    masks = []
    for item in items:
        per_level = _fields(item, words)
        masks.append(
            [[sum(field[w] for field in per_level[level:]) for w in range(words)] for level in range(item.height)]
        )
    return tuple(items), masks, words


def _fields(item: EncodedColumn, words: int) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(((1 << bits) - 1) << shift if owner == word else 0 for word in range(words))
        for owner, shift, bits in item.fields
    )
