"""Pack the path codes of all columns into 62-bit words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlanon.core.compiler.encoded_source import EncodedColumn
from sqlanon.core.lattice.catalog import EarlierClasses
from sqlanon.core.policy import Column
from sqlanon.errors import UnsupportedError

WORD_BITS = 62
"""Usable bits of a signed BIGINT word."""


@dataclass(frozen=True, slots=True)
class MeasuredColumn:
    """A column after its hierarchy met the source.

    Attributes:
        bits, widths, keeps_type: per level: of a branch number, distinct values, whether its texts read as the type.
        records: that take part, of the population; each has a value, or NULL.
        uncovered_values, uncovered_records: those without a row of the hierarchy.
        lengths: how many records have a value of which length, where the width of the hierarchy follows from it.
        listed: the rows of a hierarchy that lists its values, where numbers or dates are published of it.
        all_widths: ``widths`` with the values that only a population beside the source has; () without one.
    """

    spec: Column
    item: EncodedColumn
    domain: int
    bits: tuple[int, ...]
    widths: tuple[int, ...]
    keeps_type: tuple[bool, ...]
    records: int
    uncovered_values: int
    uncovered_records: int
    single_root: bool
    lengths: tuple[tuple[int, int], ...] = ()
    listed: tuple[tuple[str | None, ...], ...] | None = None
    all_widths: tuple[int, ...] = ()


def pack(measured: Sequence[MeasuredColumn]) -> tuple[tuple[EncodedColumn, ...], list[list[list[int]]], int]:
    """Give every (attribute, level) its field of bits; first fit into words of 62 bits.

    Returns:
        the columns with fields, the masks by attribute, level and word, and the number of words.

    Raises:
        UnsupportedError: the code of a sensitive column does not fit a word.
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
        per_level = fields_of(item, words)
        masks.append(
            [[sum(field[w] for field in per_level[level:]) for w in range(words)] for level in range(item.height)]
        )
    return tuple(items), masks, words


def fields_of(item: EncodedColumn, words: int) -> tuple[tuple[int, ...], ...]:
    """Return the bits that each level of a column owns, by word."""
    return tuple(
        tuple(((1 << bits) - 1) << shift if owner == word else 0 for word in range(words))
        for owner, shift, bits in item.fields
    )


def earlier_field(
    items: Sequence[EncodedColumn], words: int, members: Sequence[int]
) -> tuple[EarlierClasses | None, int]:
    """Return where the number of a record's classes in earlier releases stands, and the number of words then.

    Args:
        items: the columns with their fields.
        members: per number, the persons of the earlier releases with it; () where there are no releases.
    """
    if not members:
        return None, words
    bits, used = (len(members) - 1).bit_length(), [0] * words
    for item in items:
        for word, shift, own in item.fields:
            used[word] = max(used[word], shift + own)
    word = next((word for word in range(words) if used[word] + bits <= WORD_BITS), words)
    return EarlierClasses(word, [*used, 0][word], bits, tuple(members)), max(words, word + 1)
