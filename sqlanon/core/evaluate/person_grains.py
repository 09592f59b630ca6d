"""Grains of persons in memory: the profiles of a node, each with its rows and the number of its persons.

Persons with the same multiset of rows at a node have the same one at every more general node, so they are one from
then on: the base holds each profile of the bottom node once, and a grain that is held those of its own node. A node is
judged by sums of a random number a row, which differ only if the profiles do. Profiles with equal sums are compared row
by row, so that no two different ones ever count as one; those whose sum too few persons share need not be looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sqlanon.core.evaluate.arrays import AttributeValues, CodeArrays, Real
from sqlanon.core.evaluate.held_grains import HeldGrains
from sqlanon.core.evaluate.key_layout import BITS, CodeField, Whole
from sqlanon.core.evaluate.profiles import number_multisets, number_tuples
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node

Number = TypeVar("Number", np.int64, np.uint64)
Flags = NDArray[np.bool_]
SEED = 19
"""Of the random numbers: what is judged does not depend on them."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of some profiles, those of each together.

    Attributes:
        starts: where the rows of each profile begin, and the number of all rows at the end.
        codes: per row, the number of its key.
        counts: per row, how often it stands in its profile.
    """

    starts: Whole
    codes: Whole
    counts: Whole

    @property
    def lengths(self) -> Whole:
        """The number of rows of each profile."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Whole:
        """Per row, the number of its profile."""
        return np.repeat(np.arange(len(self.starts) - 1), self.lengths)

    def of(self, wanted: Flags) -> Rows:
        """Return the rows of the wanted profiles."""
        lengths = self.lengths
        rows = np.repeat(wanted, lengths)
        return Rows(np.concatenate(([0], lengths[wanted].cumsum())), self.codes[rows], self.counts[rows])


@dataclass(slots=True)
class PersonGrain:
    """The profiles of a node.

    Attributes:
        keys: the keys of all rows, ascending; ``parts.codes`` numbers them.
        parts: the rows of the profiles.
        persons: per profile, how many persons have it.
        records: per profile, the records of one of them.
        of_keys: per key, the records of all persons.
    """

    node: Node
    keys: Whole
    parts: Rows
    persons: Whole
    records: Whole
    of_keys: Real
    used: int = 0

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.parts.codes)

    @property
    def title(self) -> str:
        """Its name in reports."""
        return "snapshot " + ",".join(map(str, self.node)) if any(self.node) else "base"


@dataclass(frozen=True, slots=True)
class PersonLayout:
    """Where the code of every attribute stands in a key of one word, and how rows are packed to be sorted."""

    fields: tuple[CodeField, ...]
    code_bits: int
    count_bits: int

    @classmethod
    def of(cls, catalog: Catalog) -> PersonLayout | None:
        """Return the layout; None when a key, or a row with its person and count, does not fit a word."""
        shift, fields = 0, []
        for field in map(CodeField.of, catalog.attributes):
            fields.append(replace(field, shift=shift))
            shift += field.bits
        most = max((records for records, _ in catalog.shares_of_records), default=1)
        code_bits, count_bits = max(catalog.base_rows, 1).bit_length(), most.bit_length()
        fits = shift < BITS and (catalog.entities or 0).bit_length() + code_bits + count_bits <= BITS
        return cls(tuple(fields), code_bits, count_bits) if fits else None

    def mask(self, node: Node) -> int:
        """Return the bits of a key that a node keeps."""
        return sum(field.mask(level) << (field.shift or 0) for field, level in zip(self.fields, node, strict=True))

    def numbers(self, position: int, values: AttributeValues, level: int, keys: Whole) -> Whole:
        """Return the numbers of an attribute's values in the keys of a node, at its level."""
        field = self.fields[position]
        return values.numbers((keys >> (field.shift or 0)) & ((1 << field.bits) - 1), level)

    def merged(self, owners: Whole, codes: Whole, counts: Whole, profiles: int) -> Rows:
        """Return rows by owner and code, those that are the same as one, with their counts added up."""
        packed = (owners << self.code_bits | codes) << self.count_bits | counts
        packed.sort()
        keys = packed >> self.count_bits
        differs = np.flatnonzero(keys[1:] != keys[:-1]) + 1
        begins = np.concatenate(([0], differs)) if len(keys) else np.zeros(0, np.int64)
        packed &= (1 << self.count_bits) - 1
        summed = np.add.reduceat(packed, begins) if len(begins) else packed
        keys = keys[begins]
        starts = np.searchsorted(keys >> self.code_bits, np.arange(profiles + 1))
        return Rows(starts, keys & ((1 << self.code_bits) - 1), summed)


class PersonGrains(HeldGrains[PersonGrain]):
    """The grains of one source whose classes are of persons."""

    def __init__(self, arrays: CodeArrays, layout: PersonLayout) -> None:
        self.arrays = arrays
        self.layout = layout
        self._chance = np.random.default_rng(SEED).integers(0, 2**63, max(len(arrays.n), 1), np.uint64) | np.uint64(1)
        super().__init__(self._built_base(), [values.widths for values in arrays.attributes])

    def _built_base(self) -> PersonGrain:
        owners = self.arrays.owners
        assert owners is not None  # see ``can_judge_persons``
        packed = np.zeros(len(owners), np.int64)
        for field in self.layout.fields:
            packed |= field.code(self.arrays.keys) << (field.shift or 0)
        keys, codes = np.unique(packed, return_inverse=True)
        present = np.zeros(int(owners.max(initial=0)) + 1, np.int64)
        present[owners] = 1
        persons = int(present.sum())
        numbered = (present.cumsum() - 1)[owners]
        parts = self.layout.merged(numbered, codes.astype(np.int64), self.arrays.n, persons)
        return self._grain(self.arrays.catalog.bottom, keys, parts, np.ones(persons, np.int64))

    def rolled_up(self, source: PersonGrain, node: Node, most: int) -> PersonGrain:
        keys, above = self.generalized(source, node)
        parts = source.parts
        merged = self.layout.merged(parts.owners, above[parts.codes], parts.counts, len(source.persons))
        return self._grain(node, keys, merged, source.persons)

    def generalized(self, grain: PersonGrain, node: Node) -> tuple[Whole, Whole]:
        """Return the keys of a more general node, and for each key of the grain the number of its own there."""
        keys, above = np.unique(grain.keys & self.layout.mask(node), return_inverse=True)
        return keys, above.astype(np.int64)

    def _grain(self, node: Node, keys: Whole, parts: Rows, persons: Whole) -> PersonGrain:
        """Return a grain in which profiles that are the same are one."""
        numbers = self.numbers(parts)
        many = int(numbers.max(initial=-1)) + 1
        first = np.full(many, len(numbers), np.int64)
        np.minimum.at(first, numbers, np.arange(len(numbers)))
        chosen = np.zeros(len(numbers), bool)
        chosen[first] = True
        rows = parts.of(chosen)
        of_profile = np.bincount(numbers, persons, many).astype(np.int64)[numbers[chosen]]
        records = sums_of(rows.counts, rows.starts)
        weights = (rows.counts * np.repeat(of_profile, rows.lengths)).astype(np.float64)
        of_keys = summed(rows.codes, weights, len(keys))
        return PersonGrain(node, keys, rows, of_profile, records, of_keys)

    def sums(self, parts: Rows, above: Whole | None = None) -> NDArray[np.uint64]:
        """Return per profile the sum of the random numbers of its rows: of the same profiles the same.

        Args:
            above: per code its number at the node that is asked for; None: the codes are those of the node.
        """
        chance = self._chance if above is None else self._chance[above]
        of_rows = chance[parts.codes]
        of_rows *= parts.counts.view(np.uint64)
        return sums_of(of_rows, parts.starts)

    def numbers(self, parts: Rows) -> Whole:
        """Return a number for each profile, from 0, equal where the rows are equal; rows that are the same are one."""
        profiles = len(parts.starts) - 1
        sums = self.sums(parts)
        _, first, numbers = np.unique(sums, return_index=True, return_inverse=True)
        likely = first[numbers]
        lengths = parts.lengths
        same = bool((lengths[likely] == lengths).all())
        if same:
            others = likely != np.arange(profiles)
            lengths = lengths[others]
            places = np.arange(int(lengths.sum())) - np.repeat(lengths.cumsum() - lengths, lengths)
            own = np.repeat(parts.starts[:-1][others], lengths) + places
            other = np.repeat(parts.starts[likely[others]], lengths) + places
            same = bool(
                (parts.codes[own] == parts.codes[other]).all() and (parts.counts[own] == parts.counts[other]).all()
            )
        if same:
            return numbers.astype(np.int64)
        tuples, _ = number_tuples([parts.codes, parts.counts])  # sums that agree by chance
        return number_multisets(parts.owners, tuples, profiles)[0]


def sums_of(amounts: NDArray[Number], starts: Whole) -> NDArray[Number]:
    """Return the sums between consecutive ``starts``, of which none are equal."""
    found: NDArray[Number] = np.add.reduceat(amounts, starts[:-1]) if len(amounts) else amounts
    return found


def summed(numbers: Whole, weights: Whole | Real, many: int) -> Real:
    """Return the sum of the weights of each number below ``many``, exact below 2^53."""
    return np.bincount(numbers, weights, many).astype(np.float64, copy=False)


def costs_of(
    grains: PersonGrains, node: Node, keys: Whole, weights: Real, *, surprising: bool
) -> tuple[list[float], list[Sequence[float]]]:
    """Return what suppressing weighted keys of a node costs, per attribute: in all, and at each level up to the node's.

    Args:
        surprising: the sum of n ln n over the values in place of leaves, which is the same at every level.
    """
    own: list[float] = []
    least: list[Sequence[float]] = []
    for position, (values, level) in enumerate(zip(grains.arrays.attributes, node, strict=True)):
        costs = values.levels[level].costs
        counts = summed(grains.layout.numbers(position, values, level, keys), weights, costs.shape[1])
        if surprising:
            total = float((counts * np.log(np.where(counts > 0, counts, 1.0))).sum())
            own.append(total)
            least.append((total,) * (level + 1))
        else:
            least.append((costs @ counts).tolist())
            own.append(least[-1][-1])
    return own, least
