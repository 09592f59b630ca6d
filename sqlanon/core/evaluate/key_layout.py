"""How a class is known in the process: by one whole number of 63 bits, so that sorting puts rows into classes.

Its lowest bits count records (``n``), those above hold the numbers of sensitive values. Then come, where a ledger has
earlier releases, the number of the classes there (``EarlierClasses``), and the ``rest``: one number for the levels of
all attributes that do not fit. The highest bits are the codes of the others, from which a mask takes the levels below a
node's. No bit is a hash: rows are in one class if and only if these numbers are equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sqlanon.core.lattice.catalog import Attribute, Catalog

Whole = NDArray[np.int64]

BITS = 63
"""Bits of a key: what a signed word of 64 bits holds without its sign."""


@dataclass(frozen=True, slots=True)
class CodeField:
    """Where the code of an attribute stands: pieces of the words of the source, and a place in our own key.

    Attributes:
        bits: of the code; that of a level keeps the highest of them.
        dropped: per level, the number of low bits that it does not keep.
        pieces: (word, shift there, bits, shift in the code).
        shift: in the key; None for an attribute of the rest.
    """

    bits: int
    dropped: tuple[int, ...]
    pieces: tuple[tuple[int, int, int, int], ...]
    shift: int | None = None

    @classmethod
    def of(cls, attribute: Attribute) -> CodeField:
        """Return the field of an attribute that has no place yet; pieces that touch in a word are one."""
        pieces: list[tuple[int, int, int, int]] = []
        dropped, place = [], 0
        for masks in attribute.fields:
            dropped.append(place)
            for word, mask in enumerate(masks):
                if not mask:
                    continue
                shift, bits = (mask & -mask).bit_length() - 1, mask.bit_count()
                last = pieces[-1] if pieces else None
                if last is not None and last[0] == word and last[1] + last[2] == shift and last[3] + last[2] == place:
                    pieces[-1] = (word, last[1], last[2] + bits, last[3])
                else:
                    pieces.append((word, shift, bits, place))
                place += bits
        return cls(place, tuple(dropped), tuple(pieces))

    def code(self, keys: Sequence[Whole]) -> Whole:
        """Return the code that stands in the words of some keys of the source."""
        code = np.zeros(len(keys[0]), np.int64)
        for word, shift, bits, place in self.pieces:
            code |= ((keys[word] >> shift) & ((1 << bits) - 1)) << place
        return code

    def mask(self, level: int) -> int:
        """Return the bits of the code that a level keeps."""
        return ((1 << self.bits) - 1) >> self.dropped[level] << self.dropped[level]


@dataclass(frozen=True, slots=True)
class KeyLayout:
    """Where everything stands in a key, from its lowest bit on: counts, sensitive values, rest, codes.

    Attributes:
        count_bits: of ``n``, or of the number of a row.
        value_bits: per watched sensitive column.
        earlier_bits: of the number of the classes in earlier releases.
        rest_bits: of the rest; 0 when all attributes stand in the key.
        fields: per attribute.
    """

    count_bits: int
    value_bits: tuple[int, ...]
    rest_bits: int
    fields: tuple[CodeField, ...]
    earlier_bits: int = 0

    @classmethod
    def of(cls, catalog: Catalog, watched: Sequence[str]) -> KeyLayout | None:
        """Return the layout for some sensitive columns; None when a key has too few bits."""
        fields = [CodeField.of(attribute) for attribute in catalog.attributes]
        count_bits = max(catalog.encoded, catalog.base_rows, 1).bit_length()
        value_bits = tuple(catalog.sensitive_attribute(name).values.bit_length() for name in watched)
        earlier_bits = 0 if catalog.earlier is None else catalog.earlier.bits
        shift = count_bits + sum(value_bits) + earlier_bits
        if any(field.bits >= BITS for field in fields):
            return None
        rest_bits, room = 0, BITS - shift
        if sum(field.bits for field in fields) > room:
            rest_bits = catalog.base_rows.bit_length()
            room -= rest_bits
        if room < 0:
            return None
        shift += rest_bits
        for number in sorted(range(len(fields)), key=lambda i: _bits_a_level(catalog.attributes[i], fields[i])):
            if fields[number].bits <= room:
                fields[number] = replace(fields[number], shift=shift)
                shift, room = shift + fields[number].bits, room - fields[number].bits
        return cls(count_bits, value_bits, rest_bits, tuple(fields), earlier_bits)

    @property
    def counts(self) -> int:
        """The bits that count records."""
        return (1 << self.count_bits) - 1

    @property
    def value_shift(self) -> int:
        """Where the sensitive values begin."""
        return self.count_bits

    @property
    def class_shift(self) -> int:
        """Where what identifies a class begins, or of joint cells what identifies one: the earlier classes."""
        return self.count_bits + sum(self.value_bits)

    @property
    def rest_shift(self) -> int:
        """Where what identifies a published class begins: the rest."""
        return self.class_shift + self.earlier_bits

    @property
    def of_class(self) -> int:
        """The bits that identify a class."""
        return -1 << self.class_shift


def _bits_a_level(attribute: Attribute, field: CodeField) -> float:
    """Return what an attribute costs in a key: those with many levels change often, and a mask is the fastest way."""
    return field.bits / max(math.log(attribute.height), 1e-9)
