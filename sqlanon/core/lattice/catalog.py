"""The catalog: frozen facts about an encoded source. Search, measures and compiler read it; nothing changes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlanon.core.lattice.nodes import Node


@dataclass(frozen=True, slots=True)
class Attribute:
    """One quasi-identifier after encoding.

    Attributes:
        name: the column of the source.
        type: its type in the database.
        height: number of levels, level 0 included.
        domain: D, number of leaves of the hierarchy (SPEC: plus one for NULLs that it does not list).
        fields: per level, the bits that distinguish its branches, one mask per word.
        costs: per level, the sum over the encoded records of (D - leaves of the record's value); integer.
        widths: per level, the number of distinct generalized values (NULL is one) among those of the source.
        keeps_type: per level, True when the published value still has the source's type.
        weight: importance in attribute-based measures.
        losses: per level, the information loss that the policy gives it; () is the level's share of the highest.
        surprisals: the sum over the original values of n ln n, n being the encoded records that hold the value; then,
            per level, the same over the generalized values. (Values that the hierarchy does not list may share a
            generalized value at level 0 already.)
        all_widths: ``widths`` with the values that only a population beside the source has; () without one.
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
    surprisals: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()
    all_widths: tuple[int, ...] = ()

    def same_parts(self, level: int, other: int) -> bool:
        """Return whether two levels part the values in the same way, those of the population too: each level is a
        coarsening of the one below, and equally many parts mean the same."""
        widths = self.all_widths or self.widths
        return widths[level] == widths[other]

    def mask(self, level: int, word: int) -> int:
        """Return the bits of ``word`` that remain when this attribute is generalized to ``level``."""
        return sum(field[word] for field in self.fields[level:])


@dataclass(frozen=True, slots=True)
class SensitiveAttribute:
    """A sensitive attribute after encoding: its codes stand in the key of a grain, beside the quasi-identifiers.

    Attributes:
        name: the column of the source.
        height: number of levels of its hierarchy, 1 without one.
        values: v, number of distinct values among the records that take part; NULL is one.
        word: the word of the key that holds its code.
        code: the bits of the code, in place: ``key & code`` is the value.
        area: sum over all places of the cumulative share of the values in their order.
        rooted: its hierarchy has levels above the values and one root, so that a hierarchical distance is defined.
        absent: the code, in place, of records that have no value to be judged (of what an earlier release shows of
            persons, that of persons who are not in it); None: all have one.
    """

    name: str
    height: int
    values: int
    word: int
    code: int
    area: float
    rooted: bool
    absent: int | None = None


@dataclass(frozen=True, slots=True)
class EarlierClasses:
    """The classes of the earlier releases that each record is in, as one number: bits of the key that every node keeps.

    So a row of a node's grain is a joint cell: the records that agree in their class of the node, and in those of the
    earlier releases. A published class is the union of its cells.

    Attributes:
        word, shift, bits: where the number stands in the key.
        members: per number, the persons of the earlier releases with it, whether the source still has them or not.
            0 is the number of those who are in no earlier release; it has no members.
    """

    word: int
    shift: int
    bits: int
    members: tuple[int, ...]

    @property
    def mask(self) -> int:
        """The bits of the number, in place."""
        return ((1 << self.bits) - 1) << self.shift


@dataclass(frozen=True, slots=True)
class EncodedKeys:
    """What is known of a source after encoding, and of the keys of its grains.

    Attributes:
        attributes: the quasi-identifiers in the order of the policy.
        words: number of BIGINT words of a key, at least 1.
        records: all records of the source.
        excluded: records left out before encoding (basic NULL match).
        uncovered: records suppressed before encoding (``uncovered: suppress``).
        base_rows: distinct encoded records.
        allowed: largest number of records that may be suppressed, ``uncovered`` included; with an entity, of entities
            that may lose any of their records that take part.
        sensitive: the encoded sensitive attributes.
        has_population: the grains count the records of the population beside those of the subset (δ-presence) or of
            the source, its sample (k-map); ``records`` and all that follows from it are about the subset, or sample.
        entities: distinct entities with a record that takes part; None when the policy names no entity.
        excluded_entities: entities none of whose records takes part.
        shares_of_records: how many entities have how many of the encoded records, as (records, entities), most first.
        earlier: what distinguishes records that earlier releases put into other classes; None: there are none.
        ordered: the source was encoded with the order of its generalized values (``names.VALUE_PLACES``).
    """

    attributes: tuple[Attribute, ...]
    words: int
    records: int
    excluded: int
    uncovered: int
    base_rows: int
    allowed: int
    sensitive: tuple[SensitiveAttribute, ...] = ()
    has_population: bool = False
    entities: int | None = None
    excluded_entities: int = 0
    shares_of_records: tuple[tuple[int, int], ...] = ()
    earlier: EarlierClasses | None = None
    ordered: bool = False

    @property
    def bottom(self) -> Node:
        """The node that generalizes nothing."""
        return (0,) * len(self.attributes)

    @property
    def top(self) -> Node:
        """The node that generalizes everything."""
        return tuple(attribute.height - 1 for attribute in self.attributes)

    def sensitive_attribute(self, name: str) -> SensitiveAttribute:
        """Return the sensitive attribute called ``name``."""
        return next(attribute for attribute in self.sensitive if attribute.name == name)

    @property
    def codes(self) -> tuple[int, ...]:
        """One mask per word: the bits of the sensitive codes."""
        return tuple(sum(s.code for s in self.sensitive if s.word == word) for word in range(self.words))

    def grain_masks(self, node: Node) -> tuple[int, ...]:
        """Return one mask per word that generalizes the quasi-identifiers and keeps the sensitive codes."""
        return tuple(mask | code for mask, code in zip(self.masks(node), self.codes, strict=True))

    def masks(self, node: Node) -> tuple[int, ...]:
        """Return one mask per word: ``key & mask`` is the generalized key of a class, without sensitive codes.

        Where there are earlier releases, it is that of a joint cell (``EarlierClasses``).
        """
        return tuple(
            sum(a.mask(level, word) for a, level in zip(self.attributes, node, strict=True)) | self.hidden_bits(word)
            for word in range(self.words)
        )

    def hidden_bits(self, word: int) -> int:
        """Return the bits of a word that distinguish the joint cells of one published class."""
        return self.earlier.mask if self.earlier is not None and self.earlier.word == word else 0

    def levels(self, node: Sequence[int]) -> dict[str, int]:
        """Return the node as column -> level."""
        return {a.name: level for a, level in zip(self.attributes, node, strict=True)}


@dataclass(frozen=True, slots=True)
class Catalog(EncodedKeys):
    """What is known of a source after encoding: its keys (``EncodedKeys``), and how much there is of it."""

    @property
    def has_entity(self) -> bool:
        """Models, limits and audits count distinct entities; the grains hold a row a key and entity."""
        return self.entities is not None

    @property
    def counted(self) -> int:
        """What limits and the sizes of classes are about: the entities that take part, or without an entity N."""
        return self.population if self.entities is None else self.entities

    def fewest_entities(self, records: int) -> int:
        """Return the least number of entities that can have so many encoded records: those with the most."""
        needed = 0
        for size, entities in self.shares_of_records:
            if records <= size * entities:
                return needed + max(-(-records // size), 0)
            records -= size * entities
            needed += entities
        return needed

    @property
    def unit(self) -> str:
        """What ``counted`` counts, in the plural."""
        return "records" if self.entities is None else "entities"

    @property
    def population(self) -> int:
        """N: the records that measures and limits are about (all but the excluded ones)."""
        return self.records - self.excluded

    @property
    def encoded(self) -> int:
        """Records in the base."""
        return self.population - self.uncovered

    @property
    def at_root(self) -> dict[str, int]:
        """The encoded records that hold a value which the hierarchy does not list, so that it stands at the root at
        every level (``uncovered: top``), by the columns that have any.

        At level 0 a listed value keeps D - 1, and the root nothing.
        """
        found = {
            a.name: self.encoded - a.costs[0] // (a.domain - 1)
            for a in self.attributes
            if a.height > 1 and a.domain > 1
        }
        return {name: records for name, records in found.items() if records}

    def fully_suppressed(self, attribute: Attribute, levels: Sequence[int]) -> bool:
        """Return whether a column with several values, or unlisted ones, has one value in all that is published."""
        several = attribute.widths[0] > 1 or attribute.name in self.at_root
        return bool(levels) and attribute.widths[min(levels)] <= 1 and several
