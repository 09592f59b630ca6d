"""The facts of a profile. They hold counts, shares and rounded bounds, and never a value of a record.

What is near the edge of a distribution is a value of few records. So a spread is made of quantiles that leave at least
``TAIL`` records on each side, rounded outward; lengths likewise (``core/source/widths.py`` gives the reason).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlanon.assess.reading.findings import ReadingFinding
from sqlanon.assess.risk.column_sets import ColumnSets
from sqlanon.core.cards import WithCard
from sqlanon.core.facts import Facts

FEW = 5
"""Counts below it stand in no draft."""
TAIL = 10
"""Records that lie at or beyond a bound, at least."""
FEWEST_FOR_SPREAD = 4 * TAIL
"""Records with a number, or a date, without which no spread is given."""
THRESHOLDS = (5, 20, 50, 100, 1000)
"""The numbers of records for which a profile counts the values that so many have; shares of the records (%) too."""
THRESHOLD_SHARES = (1, 2, 5, 10, 20)

LOOKS = (
    "empty", "constant", "identifier", "uuid", "email", "phone", "name", "address", "url", "ip", "birth_date", "date",
    "moment", "year", "age", "zip", "postcode", "place", "country", "latitude", "longitude", "coordinates", "icd10",
    "atc", "household", "provider", "free_text", "amount", "number", "flag", "code", "category", "other",
)  # fmt: skip
"""What a column can look like."""
ROLES = ("identifier", "quasi_identifier", "sensitive", "keep", "drop")
"""The roles that a profile suggests."""
DROPPED = ("identifier", "drop")
"""Those that a policy drops: what identifies a person by itself, and what is left out for another reason."""


def percent(share: float) -> str:
    """Return a share in words: 100 % is all, and 0 % none.

    >>> percent(0.5), percent(0.9996), percent(0.0004), percent(1.0), percent(0.123)
    ('50 %', '> 99.9 %', '< .1 %', '100 %', '12.3 %')
    """
    if 0 < share < 0.001:
        return "< .1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


@dataclass(frozen=True, slots=True)
class Spread:
    """Where the numbers of a column lie, or the years of its dates: rounded quantiles, of many records each.

    Attributes:
        low, high: the quantiles of 1 and 99 %, or further inside where fewer than ``TAIL`` records lie there and
            beyond, rounded outward.
        q05, q25, q50, q75, q95: quantiles, rounded to the next ``step``.
        places: digits after the point that nearly all numbers have at most; 0: whole numbers.
        bands: edges between rounded quantiles that leave no band with few records.
    """

    low: float
    q05: float
    q25: float
    q50: float
    q75: float
    q95: float
    high: float
    step: float
    places: int = 0
    bands: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many characters the texts of a column have.

    Attributes:
        shortest, longest: at least ``TAIL`` records are no longer, and no shorter.
        median: of the records.
        usual: the most frequent length, and ``usual_share`` of the records have it.
    """

    shortest: int
    median: int
    longest: int
    usual: int
    usual_share: float


@dataclass(frozen=True, slots=True)
class Frequent:
    """How many values at least so many records have, and how many records these are."""

    at_least: int
    values: int
    records: int


@dataclass(frozen=True, slots=True)
class ColumnCounts(Facts):
    """The counts of a column: see ``ColumnProfile``."""

    name: str
    type: str
    records: int
    nulls: int = 0
    empty: int = 0
    distinct: int = 0
    alone: int = 0
    most: int = 0
    exact: bool = True
    frequent: tuple[Frequent, ...] = ()
    separation: float | None = None

    @property
    def filled(self) -> int:
        """The records with a value that is not NULL."""
        return self.records - self.nulls

    @property
    def uniqueness(self) -> float:
        """The share of the records with a value whose value nobody else has."""
        return self.alone / self.filled if self.filled else 0.0

    @property
    def distinction(self) -> float:
        """The distinct values as a share of the records with a value."""
        return self.distinct / self.filled if self.filled else 0.0


@dataclass(frozen=True, slots=True)
class NearNumbers:
    """The columns whose numbers say something of those of another one.

    Attributes:
        equals: the first column before it that holds the same number in most records.
        bounds: the columns whose number is hardly ever less than its, or hardly ever more.
        told_by: two columns of which it is a sum, each times something.
    """

    equals: str | None = None
    bounds: tuple[str, ...] = ()
    told_by: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ColumnProfile(ColumnCounts):
    """What was found of a column.

    Attributes:
        type: in DuckDB's words, without the values of an ENUM; all columns of a CSV file are VARCHAR.
        empty: records with a text without a character, or with blanks alone.
        distinct: values, NULL not counted; ``alone``: records whose value nobody else has.
        exact: False where both were estimated from a part of the values.
        most: records with the most frequent value.
        reads_as: ``whole``, ``number``, ``date``, ``moment`` or ``text``: what at least 95 % of the records with a
            value read as, whatever the type.
        misfits: records with a value that do not read so.
        no_codes: records with a value that is no code of the system that the column looks like (ICD-10, countries, …).
        date_format: of dates that are written otherwise than 2024-12-31, in the words of STRPTIME.
        ambiguous: day and month could change places in all values.
        number_share: of the records with a value, those that read as a number.
        looks_like: one of ``LOOKS``, and ``because`` of what.
        topic: what its name is about (``sex``, ``health``, …).
        role: one of ``ROLES``; ``reason`` is a sentence, and ``question`` what a person must decide.
        otherwise: the role that it would have if a person answered the question otherwise; None without such a one.
        follows_from: of a column with the role ``keep``: those that are sensitive or could be kept whose values give
            its value away; and keys of persons from which it follows, whatever its role.
        names_persons: the quasi-identifiers that follow from it as from the key of persons; -1 where it is no such key.
        keys: what a policy says of it beside its role, where a preset gives it: a hierarchy, or models.
        leader: the column that it follows from, as one attribute, and ``how`` (``Follower``); None where it leads.
        decides: the columns that hold a value only beside some of its values: they say more of it.
        near: the columns of numbers that say something of its own.
        shapes: share of the values that have a shape (``assess/profiling/shapes.py``), where it is not 0.
        examined: values that shapes, lengths and spread were taken from.
        separation: the share of pairs of records that differ in the column; None with fewer than two records.
    """

    KEYS = (
        "name type looks_like because topic role reason question records nulls empty distinct alone exact uniqueness "
        "distinction separation reads_as misfits date_format ambiguous number_share examined spread lengths frequent "
        "shapes follows_from"
    )
    reads_as: str = "text"
    misfits: int = 0
    no_codes: int = 0
    date_format: str | None = None
    ambiguous: bool = False
    number_share: float = 0.0
    looks_like: str = "other"
    because: str = ""
    topic: str | None = None
    role: str = "keep"
    reason: str = ""
    question: str | None = None
    otherwise: str | None = None
    follows_from: tuple[str, ...] = ()
    names_persons: int = -1
    keys: Mapping[str, Any] | None = None
    leader: str | None = None
    how: str = ""
    decides: tuple[str, ...] = ()
    near: NearNumbers = field(default_factory=NearNumbers)
    spread: Spread | None = None
    lengths: Lengths | None = None
    shapes: Mapping[str, float] = field(default_factory=dict)
    examined: int = 0

    @property
    def policy_role(self) -> str:
        """The role in a policy: what identifies a person by itself is dropped."""
        return "drop" if self.role in DROPPED else self.role


def few_or(count: int) -> str:
    """Return a count in words for a file that may be handed on: none below ``FEW`` but 0."""
    return f"fewer than {FEW}" if 0 < count < FEW else f"{count:,}"


def is_mixed(found: ColumnProfile) -> bool:
    """Return whether a column holds numbers and other texts."""
    return found.reads_as == "text" and 0.05 <= found.number_share < 0.95


@dataclass(frozen=True, slots=True)
class RankedSet(Facts):
    """A set of columns that singles records out, with a sentence about it."""

    KEYS = "columns uniques share sentence"
    columns: tuple[str, ...]
    uniques: int
    records: int
    sentence: str

    @property
    def share(self) -> float:
        """The share of the records that the set singles out."""
        return self.uniques / self.records if self.records else 0.0


@dataclass(frozen=True, slots=True)
class PresetFit(Facts):
    """That a table fits a preset (``assess/presets/``), with the evidence.

    Attributes:
        about: what the table is taken for.
        matched: columns with a name of the preset, and values that agree with it.
        differing: those with such a name and other values; they are judged as usual.
        others: the columns that the preset does not know; they are judged as usual.
        entity: the column that says whose record it is, where the preset knows one.
        one_record: a person has one record in such a table.
    """

    KEYS = "name about matched differing others entity one_record"
    name: str
    about: str
    matched: tuple[str, ...]
    differing: tuple[str, ...]
    others: tuple[str, ...]
    entity: str | None
    one_record: bool

    @property
    def sentence(self) -> str:
        """The evidence, and the way to go without the preset."""
        total = len(self.matched) + len(self.differing) + len(self.others)
        text = (
            f"It is taken for {self.about} (preset {self.name}): {len(self.matched)} of its {total} columns have the "
        )
        text += "names of it and values that agree; these have the roles and reasons of the preset."
        if self.differing:
            text += f" By name, but not by values: {', '.join(self.differing)}."
        return f"{text} Without it: --preset none."


@dataclass(frozen=True, slots=True)
class Follower(Facts):
    """A column that follows from the leader of its attribute.

    Attributes:
        how: ``same`` (and the leader from it), ``value``, ``year``, ``quarter``, ``month`` or ``day`` (that of a date),
            ``finer`` (it says more, and contradicts), ``part`` (a part of the date whose year leads), ``point`` (one of
            a map, in the place that leads), ``preset`` (what is known of the schema says so).
        breaks: records that contradict.
    """

    KEYS = "column how breaks"
    column: str
    leader: str
    how: str = "value"
    breaks: int = 0


@dataclass(frozen=True, slots=True)
class SameColumns(Facts):
    """Columns that say the same: one leads, the others follow from it."""

    KEYS = "leader followers sentence"
    leader: str
    followers: tuple[Follower, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them, the leader first."""
        return (self.leader, *(item.column for item in self.followers))

    @property
    def sentence(self) -> str:
        """The attribute in a line: ``born = year, month``; with how many records contradict it."""
        line = f"{self.leader} = {', '.join(item.column for item in self.followers)}"
        broken = [f"{item.column} in {item.breaks:,}" for item in self.followers if item.breaks]
        return f"{line} (records that contradict: {', '.join(broken)})" if broken else line


@dataclass(frozen=True, slots=True, repr=False)
class Profile(WithCard, Facts):
    """What a table holds; for the operator, because its counts are exact.

    Attributes:
        source, table: as they were given; None where a file has no tables.
        csv: how a text file is read, as a policy has it under ``csv``: the options that were given, and those that
            were recognised; ``reading`` says of these what was found, with counts.
        formats: the options by which a file of another format was read, under its name.
        engine: the database that counted.
        is_text: the source is a text file, whose columns are texts until a policy says otherwise.
        candidates: the columns whose sets were looked at; ``sets`` is None where there is none.
        is_frame: the source is a frame or an open connection, and ``source`` what it is called.
        attributes: columns that say the same; ``not_compared``: columns that were left out because there are too many.
        kept_together: all columns that would be published as they are, as one set; None with fewer than two.
        preset: the preset that the table fits, whose roles its columns have; None where it fits none.
    """

    KEYS = (
        "source table csv reading formats engine records columns attributes candidates ranking kept_together sets "
        "preset warnings"
    )
    source: str
    table: str | None
    csv: Mapping[str, Any]
    engine: str
    is_text: bool
    records: int
    columns: tuple[ColumnProfile, ...]
    candidates: tuple[str, ...] = ()
    sets: ColumnSets | None = None
    ranking: tuple[RankedSet, ...] = ()
    kept_together: RankedSet | None = None
    warnings: tuple[str, ...] = ()
    is_frame: bool = False
    reading: tuple[ReadingFinding, ...] = ()
    preset: PresetFit | None = None
    attributes: tuple[SameColumns, ...] = ()
    not_compared: int = 0
    formats: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def column(self, name: str) -> ColumnProfile:
        """Return the profile of a column by its exact name.

        Raises:
            KeyError: there is no such column.
        """
        for item in self.columns:
            if item.name == name:
                return item
        raise KeyError(name)

    def with_role(self, role: str) -> tuple[ColumnProfile, ...]:
        """Return the columns for which a role is suggested."""
        return tuple(item for item in self.columns if item.role == role)
