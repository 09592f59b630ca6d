"""What every statement about an encoded source has to know: its columns, its entities, which records take part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.core.lattice.catalog import EarlierClasses
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import GROUPED_AS_THEY_ARE
from sqlanon.core.sqltrees.trees import (
    aliased,
    bigint,
    both,
    canonical,
    column,
    count_distinct,
    either_bits,
    every_bit,
    joined_lookup,
    not_null,
    number,
    or_zero,
    own_text,
    same,
    when,
)

SOURCE = "source"
"""The alias of the source in every statement."""
COVERED = "covered"
"""Column of a lookup: 1 for a value that the hierarchy lists, 0 for another."""


leaves = names.namer("leaves")
"""Name of the column of a lookup that counts the leaves under a value's generalization to a level."""
least_cost = names.namer("cost")
"""Name of the column of ``names.LEAF`` with the least D - leaves among the values of a lower level."""
branch = names.namer("branch")
"""Name of the column that numbers a value's branch at a level."""


@dataclass(frozen=True, slots=True)
class TakingPart:
    """Which records of a source take part.

    Under the extended match all records do, under the basic match those without a NULL in a quasi-identifier. When the
    source marks the records of a subset (δ-presence), only these take part.

    Attributes:
        quasi: the quasi-identifiers.
        basic: a record with a NULL in a quasi-identifier does not take part.
        members: the source marks the records of a subset, by the column ``names.MEMBER``.
    """

    quasi: tuple[str, ...]
    basic: bool = False
    members: bool = False

    @property
    def of_population(self) -> TakingPart:
        """The same records and those outside the subset."""
        return replace(self, members=False)

    @property
    def with_nulls(self) -> TakingPart:
        """The same records and those that the basic match excludes."""
        return replace(self, basic=False)

    def conditions(self, table_name: str | None = None) -> list[exp.Expr]:
        """Return the conditions that a record takes part, all of which must hold."""
        conditions: list[exp.Expr] = [column(names.MEMBER, table_name)] if self.members else []
        return conditions + [not_null(column(name, table_name)) for name in self.quasi if self.basic]

    def condition(self, table_name: str | None = None) -> exp.Expr:
        """Return the condition that a record takes part; TRUE when all do."""
        return both(self.conditions(table_name))


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """A quasi-identifier or sensitive column of an encoded source.

    Attributes:
        fields: per level, the word that holds its bits, their shift and their number.
        sensitive: it is a sensitive column.
    """

    name: str
    type: str
    height: int
    fields: tuple[tuple[int, int, int], ...] = ()
    sensitive: bool = False


@dataclass(frozen=True, slots=True)
class EntityColumn:
    """The column of a source that identifies the entity (a person, say) of each record, with its type."""

    name: str
    type: str

    def text(self, table_name: str | None = None) -> exp.Expr:
        """Return the text that identifies an entity."""
        return own_text(self.name, self.type, table_name)

    @property
    def is_plain(self) -> bool:
        """Whether its values can be grouped as they are, which takes less time than their texts."""
        return self.type.upper() in GROUPED_AS_THEY_ARE

    def compared(self) -> exp.Expr:
        """Return what is equal where the entity is: the value where that ``is_plain``, else its ``text``."""
        return column(self.name) if self.is_plain else self.text()

    def count(self, condition: exp.Expr | None = None, table_name: str | None = None) -> exp.Expr:
        """Return the number of distinct entities with a record that meets ``condition``."""
        text = self.text(table_name)
        return count_distinct(text if condition is None else when(condition, text))


@dataclass(frozen=True, slots=True)
class EncodedSource:
    """A source whose columns have lookups.

    Attributes:
        relation: its records; with a subset, marked by the column ``names.MEMBER``.
        items: the quasi-identifiers, then the sensitive columns, in the order of their lookups.
        taking_part: which records take part.
        entity: the column that identifies the entity of each record; None counts records.
        population: records beside the source, of which it is a sample (k-map): its quasi-identifiers, in its types.
            A subset has no such table: its population is the source. With an entity, it numbers persons (names.ENTITY).
        earlier: where the number of a record's classes in earlier releases stands in the key; the relation has it in
            its column ``names.EARLIER``. It has no lookup.
        coded: the columns that ``names.CODED`` holds beside the keys of the records; None: there is no such table.
    """

    relation: exp.Expr
    items: tuple[EncodedColumn, ...]
    taking_part: TakingPart
    entity: EntityColumn | None = None
    population: exp.Expr | None = None
    earlier: EarlierClasses | None = None
    coded: tuple[str, ...] | None = None

    @property
    def people(self) -> EncodedSource:
        """The records of the population with the same lookups: of the table beside the source, or all of the source."""
        if self.population is None:
            return replace(self, taking_part=self.taking_part.of_population)
        person = None if self.entity is None else EntityColumn(names.ENTITY, "BIGINT")
        return replace(self.quasi, relation=self.population, entity=person, population=None)

    @property
    def quasi(self) -> EncodedSource:
        """The same source with its quasi-identifiers alone."""
        return replace(self, items=tuple(item for item in self.items if not item.sensitive))

    def joined(self, projections: Sequence[exp.Expr]) -> exp.Select:
        """Return the projections of the source LEFT JOINed with its lookups, NULL-safe, so that no record is lost."""
        query = exp.select(*projections).from_(aliased(self.relation, SOURCE))
        for position, item in enumerate(self.items):
            value = same(canonical(item.name, item.type, SOURCE), column("value", names.lookup(position)))
            joined_lookup(query, position, value, side="LEFT")
        return query

    def encoded(self, projections: Sequence[exp.Expr]) -> exp.Select:
        """Return the projections of the records that the base counts: of the population, those that take part and whose
        quasi-identifiers all hold values that are covered."""
        population = self.taking_part.of_population
        return self.joined(projections).where(both([*self.covered(), population.condition(SOURCE)]), copy=False)

    def covered(self) -> list[exp.Expr]:
        """Return the condition that every quasi-identifier of a record, joined with the lookups, is covered, if any.

        It is one, over the bits of all lookups. A condition on one lookup would make an inner join of its LEFT JOIN:
        of inner joins by the text of a value DuckDB and PostgreSQL expect hardly a row, so that DuckDB puts all records
        into the hash table of the next join, once a column. SQLite would reorder them.
        """
        flags: list[exp.Expr] = [
            or_zero(column(COVERED, names.lookup(position)))
            for position, item in enumerate(self.items)
            if not item.sensitive
        ]
        return [exp.NEQ(this=exp.paren(every_bit(flags), copy=False), expression=number(0))] if flags else []

    def code(self, position: int, word: int) -> exp.Expr:
        """Return the bits that a column's value has in a word of the key; of a sensitive column, only values of the
        records that take part have a code."""
        bits = column(names.key(word), names.lookup(position))
        return or_zero(bits) if self.items[position].sensitive and self.taking_part.members else bits

    def packed(self, word: int) -> exp.Expr:
        """Return the word of a record's key: the bits of all columns that own some of it."""
        owners = [
            position
            for position, item in enumerate(self.items)
            if any(owner == word and bits for owner, _, bits in item.fields)
        ]
        parts = [self.code(position, word) for position in owners]
        if self.earlier is not None and self.earlier.word == word:
            label = exp.paren(bigint(column(names.EARLIER, SOURCE)))
            parts.append(exp.paren(exp.BitwiseLeftShift(this=label, expression=number(self.earlier.shift))))
        return either_bits(parts)
