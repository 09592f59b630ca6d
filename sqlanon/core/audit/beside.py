"""What a source holds beside its quasi-identifiers: columns that identify persons, whatever classes the others form.

Three questions about a column that is published as it is (docs/beside.md gives the reasons):

- How many of its records hold a value that fewer than k persons have, and that so stands for them? (Motwani and Xu,
  "Efficient algorithms for masking and finding quasi-identifiers", 2007, measure how near columns are to a key by the
  share of the values that nobody else has.)
- How well does the value of a quasi-identifier follow from it? The share of errors that it spares who guesses the
  value: lambda of Goodman and Kruskal, "Measures of association for cross classifications", 1954. 0 helps nobody, 1
  gives the value away.
- Does it look like the entity of the records, which are then counted where persons should be?

The database counts; only counts come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from sqlanon.core.audit.trees import rows_of_all
from sqlanon.core.engines.base import Engine, Row
from sqlanon.core.facts import Facts, pick
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import column, count_distinct, count_rows, equal, named, number, total, when
from sqlanon.errors import UnsupportedError

FEW_TEXTS = 0.5
"""A text, a UUID or a document whose value fewer than k have in at least this share of its records identifies persons:
it points to most of whom it names. Codes and categories repeat; names, addresses and notes do not."""
UNIQUE_NUMBERS = 0.95
"""The same for whole numbers. A number that is given (a social security number, an account) occurs once however large
the table is, while amounts that are measured meet."""
WHOLE = 0.95
"""The share of whole numbers in a column of them: one dirty value does not make another column of it."""
HEAP = 0.05
"""A most frequent value of at least this share of the records is left out, as NULL is: a placeholder names nobody."""
FEWEST = 10
"""Records that must speak for a finding: of ten draws from a hundred equally frequent values, six samples in ten hold
no value twice, so that fewer show nothing."""
DETERMINES = 0.95
"""A column that spares this share of the errors gives a quasi-identifier away, as a copy with some noise does."""
NEARLY = 0.8
"""From this share on a column is reported, though it may be published. A column whose values meet by chance in pairs
spares half of the errors."""
SEVERAL = 1.1
"""Records that a value of an entity holds on average, at least."""
COPIES = 200
"""Pairs of columns that one statement compares."""
MANY_TEXTS = 100
"""Texts that repeat evenly, at least, to look like keys."""
OF_A_PERSON = 20
"""Records that a value which names a person has on average, at most."""
EVEN = 5
"""No value of a key has more than so many times the mean's records, while categories have a head."""
AT_ONCE = 20
"""Columns whose distinct values one statement counts."""
LIKELY = 20
"""Columns that are not published and may look like the entity, at most: those with the most values."""


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of a source that is to be judged.

    Attributes:
        role: ``quasi_identifier``, ``sensitive``, ``keep`` or ``drop``.
        kind: ``text`` (a label, whatever its type), ``bytes``, ``number``, or ``moment`` (dates and times).
        value: what its values are compared by; None is the column.
        generalized: of a quasi-identifier: it may be published at a level above its values.
        travels: the quasi-identifier that it travels with, and does not give away: it is blank where it would.
        parts: the columns that it joins, whose values are judged as one.
    """

    name: str
    role: str
    kind: str = "text"
    value: exp.Expr | None = None
    generalized: bool = True
    travels: str | None = None
    parts: tuple[str, ...] = ()

    @property
    def compared(self) -> exp.Expr:
        """Return what its values are compared by."""
        return column(self.name) if self.value is None else self.value.copy()


@dataclass(frozen=True, slots=True)
class JudgedColumn(Facts):
    """What was found of a column beside the quasi-identifiers. ``values`` and what follows leave out NULL.

    Attributes:
        values: distinct values.
        records: with a value.
        alone: records whose value nobody else has; with an entity, no other entity.
        few: records whose value fewer than ``k`` records have; with an entity, fewer than ``k`` entities.
        few_values: how many such values there are.
        scarce: records whose value at most ``OF_A_PERSON`` records (or entities) have.
        whole: its values are whole numbers.
        most: records with the most frequent value.
        determines: quasi-identifier -> the share of errors in guessing its value that the column spares, where that is
            at least ``NEARLY``.
        entity_like: it looks like the entity of the records: several records a value, and most quasi-identifiers
            follow from it.
        known: what its name and the shapes of its values say that it names persons by; empty for others.
        parts: the columns that it joins, where several are judged as one.
        unit: what ``k`` counts.
    """

    KEYS = "column=name role values records alone few known_by=known determines identifies entity_like"
    name: str
    role: str
    kind: str
    values: int
    records: int
    alone: int
    few: int = 0
    few_values: int = 0
    scarce: int = 0
    whole: bool = False
    most: int = 0
    determines: dict[str, float] = field(default_factory=dict)
    entity_like: bool = False
    known: str = ""
    parts: tuple[str, ...] = ()
    k: int = 2
    unit: str = "records"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it is about."""
        return self.parts or (self.name,)

    @property
    def unique(self) -> float:
        """The share of its records whose value nobody else has, those with a placeholder left out."""
        return self.alone / self.telling if self.telling else 0.0

    @property
    def telling(self) -> int:
        """The records with a value that is no placeholder."""
        heaped = self.most > 1 and self.most >= HEAP * self.records
        return self.records - self.most if heaped else self.records

    @property
    def singles_out(self) -> bool:
        """Whether it identifies persons by values that fewer than k have.

        Amounts that are measured are rare too. So whole numbers identify where nobody else has them, or where they
        repeat like the key of a person.
        """
        if self.few_values < FEWEST:
            return False
        if self.kind in ("text", "bytes"):
            return self.few >= FEW_TEXTS * self.telling
        return self.kind == "number" and self.whole and self.alone >= max(FEWEST, UNIQUE_NUMBERS * self.telling)

    @property
    def repeats_like_a_key(self) -> bool:
        """Whether it repeats like the key of a person: few records a value, which agree in most quasi-identifiers, or
        a hundred texts of which nearly none has many records, as that of a category would."""
        texts = self.kind in ("text", "bytes") and self.values >= MANY_TEXTS and self.unit == "records"
        evenly = texts and _repeats(self.values, self.telling) and self.scarce >= DETERMINES * self.telling
        return evenly or (self.entity_like and self.may_name)

    @property
    def may_name(self) -> bool:
        """Whether it may name persons: a value has few records on average, or many values have about as many."""
        even = self.values >= MANY_TEXTS and self.most * self.values <= EVEN * self.records
        return even or self.values * OF_A_PERSON >= self.records

    @property
    def gives_away(self) -> dict[str, float]:
        """The quasi-identifiers that it gives away."""
        return {name: share for name, share in self.determines.items() if share >= DETERMINES}

    @property
    def identifies(self) -> bool:
        """Whether it identifies persons when it is published."""
        return self.role != "drop" and bool(self.explained or self.gives_away)

    @property
    def explained(self) -> str:
        """How it identifies persons by itself, with figures; empty if it does not."""
        if self.singles_out and self.few == self.alone:
            return f"{self.alone} of {self.telling} values are nobody else's"
        if self.singles_out:
            return f"in {self.few} of {self.telling} records it has a value of fewer than {self.k} {self.unit}"
        why = self.known or ("it repeats like the key of a person" if self.repeats_like_a_key else "")
        return f"{self.values} values in {self.records} records: {why}" if why else ""

    def described(self) -> str:
        """Return in words, with figures, how it identifies persons."""
        given = [f"it gives {name!r} away to {share:.1%}" for name, share in self.gives_away.items()]
        return f"{self.name!r} ({'; '.join(filter(None, [self.explained, *given]))})"

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return pick(self, self.KEYS, digits=6) | {"known_by": self.known or None}


def judge_columns(
    engine: Engine,
    relation: exp.Expr,
    columns: Sequence[SourceColumn],
    quasi_identifiers: Sequence[SourceColumn],
    *,
    entity: exp.Expr | None = None,
    k: int = 2,
) -> tuple[JudgedColumn, ...]:
    """Judge columns of a source beside its quasi-identifiers; a statement holds some tens of the questions.

    Args:
        relation: the records that take part.
        columns: those that are published as they are, and those that are not published.
        entity: identifies the entity of a record; None counts records.
        k: a value that fewer have stands for persons.

    Returns:
        The published columns, and those of the others that may look like the entity.

    Raises:
        UnsupportedError: a published column holds values that cannot be compared; names it.
    """
    if entity is not None or not quasi_identifiers:  # nothing can look like the entity
        columns = [item for item in columns if item.role != "drop"]
    columns = _with_likely(engine, relation, columns)
    if not columns:
        return ()
    every = (*columns, *quasi_identifiers)
    rows = _counted(engine, every, relation, entity, k)
    unit = "records" if entity is None else "persons"
    facts = [
        JudgedColumn(
            item.name, item.role, item.kind, values, held, alone, few, few_values, scarce, 0 < WHOLE * held <= whole,
            most, parts=item.parts, k=k, unit=unit,
        )
        for item, row in zip(every, rows, strict=True)
        for _, values, held, alone, few, few_values, scarce, most, whole in [map(int, row)]
    ]  # fmt: skip
    judged = facts[: len(columns)]
    varying = [
        _Guessed(item, found.most / found.records, found.values)
        for item, found in zip(quasi_identifiers, facts[len(columns) :], strict=True)
        if found.records and found.most < found.records
    ]
    pairs = _pairs(columns, judged, varying, counts_entities=entity is not None)
    pairs = _decided(engine, relation, columns, judged, pairs, varying, entity)
    questions = [
        _with_place(place, _guesses(columns[index], guessed.column, relation, entity))
        for place, (index, guessed) in enumerate(pairs)
        if guessed.spares is None
    ]
    shares: dict[int, dict[str, float]] = {}
    for index, guessed in pairs:
        shares.setdefault(index, {})[guessed.column.name] = guessed.spares or 0.0
    copied = {
        place: (columns[index], guessed.column)
        for place, (index, guessed) in enumerate(pairs)
        if _may_be_copied(columns[index], judged[index], guessed)
    }
    answers = [*rows_of_all(engine, "quasi-identifiers beside", questions), *_copies(engine, copied, relation)]
    for place, shared, right in answers:
        index, guessed = pairs[place]
        known, name = shares[index], guessed.column.name
        known[name] = max(known[name], guessed.spared(int(shared), int(right)))
    return tuple(_with_shares(item, shares.get(i, {}), varying) for i, item in enumerate(judged))


@dataclass(frozen=True, slots=True)
class _Guessed:
    """A quasi-identifier, and the share of its most frequent value: who guesses that one is so often right."""

    column: SourceColumn
    base: float
    values: int
    spares: float | None = None
    """What a column spares, where that is known without counting the guesses."""

    def may_be_copied(self, values: int) -> bool:
        """Return whether a column with so many values may be a copy: of most of them, then, it has as many."""
        return abs(values - self.values) <= 0.1 * max(values, self.values)

    def spared(self, shared: int, right: int) -> float:
        """Return the share of errors that are spared when ``right`` of ``shared`` guesses are; 0 of too few."""
        if not shared or (1 - self.base) * shared < FEWEST:
            return 0.0
        return max(0.0, (right / shared - self.base) / (1 - self.base))

    def in_reach(self, values: int) -> bool:
        """Return False when so few values cannot spare ``NEARLY`` of the errors: each gives one value at most."""
        return min(1.0, values * self.base) >= self.base + NEARLY * (1 - self.base)


def _pairs(
    columns: Sequence[SourceColumn],
    judged: Sequence[JudgedColumn],
    varying: Sequence[_Guessed],
    *,
    counts_entities: bool,
) -> list[tuple[int, _Guessed]]:
    """Return which column may give which quasi-identifier away, by the number of its values."""
    pairs: list[tuple[int, _Guessed]] = []
    for index, (item, found) in enumerate(zip(columns, judged, strict=True)):
        reached = [guessed for guessed in varying if guessed.in_reach(found.values)]
        may_be_entity = (
            not counts_entities and _repeats(found.values, found.records) and 2 * len(reached) > len(varying)
        )
        if item.role != "drop":
            reached = reached if may_be_entity else [guessed for guessed in reached if guessed.column.generalized]
            reached = [guessed for guessed in reached if guessed.column.name != item.travels]
        elif not may_be_entity:
            reached = []
        pairs += [(index, guessed) for guessed in reached]
    return pairs


def _decided(
    engine: Engine,
    relation: exp.Expr,
    columns: Sequence[SourceColumn],
    judged: Sequence[JudgedColumn],
    pairs: Sequence[tuple[int, _Guessed]],
    varying: Sequence[_Guessed],
    entity: exp.Expr | None,
) -> list[tuple[int, _Guessed]]:
    """Return the pairs with what is known of them after each column was grouped once, for all quasi-identifiers.

    A guess errs at least once in each group that differs: that decides most pairs, and all of columns with many values,
    whose pairs take long to count. Few groups decide nothing: their pairs are counted at once.
    """
    counts_entities = entity is not None
    asked = list(dict.fromkeys(i for i, guessed in pairs if counts_entities or _may_decide(judged[i], guessed)))
    if not asked:
        return list(pairs)
    grouped = [_with_place(index, _differing(columns[index], varying, relation, entity)) for index in asked]
    rows = {int(index): counts for index, *counts in rows_of_all(engine, "groups beside", grouped)}
    decided = []
    for index, guessed in pairs:
        if index not in rows:
            decided.append((index, guessed))
            continue
        shared, *impure = map(int, rows[index])
        errors = impure[varying.index(guessed)]
        most = guessed.spared(shared, shared - errors)
        decided.append((index, replace(guessed, spares=most if errors == 0 or most < NEARLY else None)))
    return decided


def _may_decide(found: JudgedColumn, guessed: _Guessed) -> bool:
    """Return False when a column has so few values that a pair is not decided even if records of each differ.

    Then each value errs once, and at most one record a value is left out because nobody shares its value.
    """
    return guessed.spared(found.records - found.values, found.records - 2 * found.values) < NEARLY


def _with_likely(engine: Engine, relation: exp.Expr, columns: Sequence[SourceColumn]) -> list[SourceColumn]:
    """Return the columns without those that are not published and cannot look like the entity.

    Their values are counted alone, which costs little however many columns there are.
    """
    dropped = [item for item in columns if item.role == "drop"]
    values: dict[str, int] = {}
    for start in range(0, len(dropped), AT_ONCE):
        asked = dropped[start : start + AT_ONCE]
        counts = [
            named(count, f"{name}_{place}")
            for place, item in enumerate(asked)
            for name, count in (("records", exp.Count(this=item.compared)), ("values", count_distinct(item.compared)))
        ]
        [row] = engine.run("repeats beside", exp.select(*counts).from_(relation.copy()))
        for item, records, distinct in zip(asked, row[::2], row[1::2], strict=True):
            if _repeats(int(distinct), int(records)):
                values[item.name] = int(distinct)
    likely = sorted(values, key=lambda name: -values[name])[:LIKELY]
    return [item for item in columns if item.role != "drop" or item.name in likely]


def _counted(
    engine: Engine, columns: Sequence[SourceColumn], relation: exp.Expr, entity: exp.Expr | None, k: int
) -> list[Row]:
    """Return the row of ``column_values`` for each column, after its place."""
    try:
        placed = [_with_place(place, _values_of(item, relation, entity, k)) for place, item in enumerate(columns)]
        return sorted(rows_of_all(engine, "values beside", placed))
    except UnsupportedError:
        for item in columns:
            try:
                engine.run("values beside", _values_of(item, relation, entity, k))
            except UnsupportedError as error:
                raise UnsupportedError(f"Column {item.name!r}: {error.message}", hint=error.hint) from None
        raise


def _repeats(values: int, records: int) -> bool:
    """Return whether a column has many values with several records each, as an entity has."""
    return values >= FEWEST and records >= SEVERAL * values


def _may_be_copied(item: SourceColumn, found: JudgedColumn, guessed: _Guessed) -> bool:
    """Return whether the texts of a column may be those of a quasi-identifier."""
    return item.role != "drop" and item.kind != "bytes" and guessed.may_be_copied(found.values)


def _with_shares(found: JudgedColumn, shares: dict[str, float], varying: Sequence[_Guessed]) -> JudgedColumn:
    follow = sum(share >= NEARLY for share in shares.values())
    generalized = {guessed.column.name for guessed in varying if guessed.column.generalized}
    return replace(
        found,
        determines={name: share for name, share in shares.items() if share >= NEARLY and name in generalized},
        entity_like=not found.parts and _repeats(found.values, found.records) and 2 * follow > len(varying),
    )


def _with_place(place: int, query: exp.Select) -> exp.Select:
    """Return a query of one row with its place before the other columns."""
    query.set("expressions", [named(number(place), "place"), *query.expressions])
    return query


def _owners(entity: exp.Expr | None) -> exp.Expr:
    return count_rows() if entity is None else count_distinct(entity.copy())


def _values_of(item: SourceColumn, relation: exp.Expr, entity: exp.Expr | None, k: int) -> exp.Select:
    whole: exp.Expr = number(0)
    if item.kind == "number":
        # towards 0: the greatest DECIMAL cannot be rounded, nor the least BIGINT be given without its sign
        value = column("sqlanon_value")
        down, up = (equal(kind(this=value.copy()), value.copy()) for kind in (exp.Floor, exp.Ceil))
        truncated = when(exp.GTE(this=value.copy(), expression=number(0)), down, up)
        whole = when(truncated, number(1), number(0))
    return bind(
        "audit/column_values.sql",
        relations={"source": relation},
        columns={"audited_column": [item.compared], "owners": [_owners(entity)], "whole": [whole]},
        values={"k": k, "of_a_person": OF_A_PERSON},
    )


def _differing(
    item: SourceColumn, varying: Sequence[_Guessed], relation: exp.Expr, entity: exp.Expr | None
) -> exp.Select:
    differing, impure = [], []
    for place, guessed in enumerate(varying):
        value, name = guessed.column.compared, f"sqlanon_differs_{place}"
        given, low, high = (kind(this=value.copy()) for kind in (exp.Count, exp.Min, exp.Max))
        alike = exp.or_(equal(given, number(0)), exp.and_(equal(given.copy(), count_rows()), equal(low, high)))
        differing.append(named(when(alike, number(0), number(1)), name))
        impure.append(named(total(column(name)), f"impure_{place}"))
    return bind(
        "audit/differing_values.sql",
        relations={"source": relation},
        columns={
            "audited_column": [item.compared], "owners": [_owners(entity)], "differing": differing, "impure": impure,
        },
    )  # fmt: skip


def _guesses(item: SourceColumn, guessed: SourceColumn, relation: exp.Expr, entity: exp.Expr | None) -> exp.Select:
    columns = {"audited_column": [item.compared], "guessed": [guessed.compared], "owners": [_owners(entity)]}
    return bind("audit/guessed_values.sql", relations={"source": relation}, columns=columns)


def _copies(
    engine: Engine, pairs: Mapping[int, tuple[SourceColumn, SourceColumn]], relation: exp.Expr
) -> list[tuple[int, int, int]]:
    """Return, for pairs of columns by their places, the records with a value in the first, and those whose other reads
    the same. A statement counts many pairs while it reads the records once."""
    answers: list[tuple[int, int, int]] = []
    places = list(pairs)
    for start in range(0, len(places), COPIES):
        asked = places[start : start + COPIES]
        counts: list[exp.Expr] = []
        for place in asked:
            texts = [exp.cast(item.compared, "VARCHAR") for item in pairs[place]]
            counted = bind(
                "audit/copied_values.sql",
                columns=dict(zip(("audited_column", "guessed"), ([t] for t in texts), strict=True)),
            )
            counts += [named(count.unalias(), f"{count.alias}_{place}") for count in counted.expressions]
        [row] = engine.run("copies beside", exp.select(*counts).from_(relation.copy()))
        answers += zip(asked, map(int, row[::2]), map(int, row[1::2]), strict=True)
    return answers
