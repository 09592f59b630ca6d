"""Judges the columns beside the quasi-identifiers: which of them identify persons, whatever classes the others form.

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
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.core.audit.judged_columns import FEWEST, NEARLY, OF_A_PERSON, JudgedColumn, SourceColumn, repeats
from sqlanon.core.audit.trees import rows_of_all
from sqlanon.core.engines.base import Engine, Row
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import column, count_distinct, count_rows, differs, equal, named, number, total, when
from sqlanon.errors import UnsupportedError

WHOLE = 0.95
"""The share of whole numbers in a column of them: one dirty value does not make another column of it."""
COPIES = 200
"""Pairs of columns that one statement compares."""
AT_ONCE, SPILLED = 20, 100_000_000
"""Columns whose distinct values one statement counts, of fewer records than this."""
MANY, FIRST = 20_000, 0.3
"""Records of which the first are counted before all, and their share: more than 1 - ``NEARLY`` of the errors."""
LIKELY = 20
"""Columns that are not published and may look like the entity, at most: those with the most values."""


def judge_columns(
    engine: Engine,
    relation: exp.Expr,
    columns: Sequence[SourceColumn],
    quasi_identifiers: Sequence[SourceColumn],
    *,
    entity: exp.Expr | None = None,
    k: int = 2,
    records: int = 0,
) -> tuple[JudgedColumn, ...]:
    """Judge columns of a source beside its quasi-identifiers; a statement holds some tens of the questions.

    Args:
        relation: the records that take part.
        columns: those that are published as they are, and those that are not published.
        entity: identifies the entity of a record; None counts records.
        k: a value that fewer have stands for persons.
        records: how many the relation has; 0 is unknown.

    Returns:
        The published columns, and those of the others that may look like the entity.

    Raises:
        UnsupportedError: a published column holds values that cannot be compared; names it.
    """
    if entity is not None or not quasi_identifiers:  # nothing can look like the entity
        columns = [item for item in columns if item.role != "drop"]
    columns = _with_likely(engine, relation, columns, records)
    if not columns:
        return ()
    every = (*columns, *quasi_identifiers)
    rows = _counted(engine, every, relation, entity, k)
    unit = "records" if entity is None else "persons"
    facts = [
        JudgedColumn(
            item.name, item.role, item.kind, values, held, alone, few, few_values, scarce, 0 < WHOLE * held <= whole,
            most, squares, parts=item.parts, k=k, unit=unit,
        )
        for item, row in zip(every, rows, strict=True)
        for _, values, held, alone, few, few_values, scarce, most, squares, whole in [map(int, row)]
    ]  # fmt: skip
    judged = facts[: len(columns)]
    varying = [
        _Guessed(item, counted.most / counted.records, counted.values)
        for item, counted in zip(quasi_identifiers, facts[len(columns) :], strict=True)
        if counted.records and counted.most < counted.records
    ]
    pairs = _pairs(columns, judged, varying, counts_entities=entity is not None)
    pairs = _decided(engine, relation, columns, judged, pairs, varying, entity)
    if entity is None and not engine.capabilities.writes_folders:  # on a cluster the first rows are dear
        pairs = _bounded(engine, relation, columns, judged, pairs)
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
    """The share of guesses that a column spares, where it is known without counting them."""

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
        may_be_entity = not counts_entities and repeats(found.values, found.records) and 2 * len(reached) > len(varying)
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
    wanted = {(i, guessed.column.name) for i, guessed in pairs}
    grouped = []
    for i in asked:
        own = [guessed if (i, guessed.column.name) in wanted else None for guessed in varying]
        grouped.append(_with_place(i, _differing(columns[i], own, relation, entity)))
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


def _bounded(
    engine: Engine,
    relation: exp.Expr,
    columns: Sequence[SourceColumn],
    judged: Sequence[JudgedColumn],
    pairs: Sequence[tuple[int, _Guessed]],
) -> list[tuple[int, _Guessed]]:
    """Return the pairs with what is known of them after their first records were counted, of columns with many.

    Among all records the guesses of a value err at least as often as the best guess errs among some of them.
    """
    questions, decided = [], list(pairs)
    for place, (index, guessed) in enumerate(pairs):
        if guessed.spares is None and judged[index].records >= MANY:
            first = exp.select("*").from_(relation.copy()).limit(int(FIRST * judged[index].records)).subquery("first")
            questions.append(_with_place(place, _guesses(columns[index], guessed.column, first, None)))
    for place, shared, right in rows_of_all(engine, "first records beside", questions):
        index, guessed = pairs[place]
        most = guessed.spared(judged[index].records, judged[index].records - int(shared) + int(right))
        decided[place] = (index, replace(guessed, spares=most if most < NEARLY else None))
    return decided


def _may_decide(judged: JudgedColumn, guessed: _Guessed) -> bool:
    """Return False when a column has so few values that a pair is not decided even if records of each differ.

    Then each value errs once, and at most one record a value is left out because nobody shares its value.
    """
    return guessed.spared(judged.records - judged.values, judged.records - 2 * judged.values) < NEARLY


def _with_likely(
    engine: Engine, relation: exp.Expr, columns: Sequence[SourceColumn], records: int
) -> list[SourceColumn]:
    """Return the columns without those that are not published and cannot look like the entity.

    Their values are counted alone, which costs little however many columns there are. Of ``SPILLED`` records and more a
    column is grouped at a time: the values of COUNT(DISTINCT) stay in memory, those of a group may be spilled.
    """
    dropped = [item for item in columns if item.role == "drop"]
    values: dict[str, int] = {}
    at_once = AT_ONCE if records < SPILLED else 1
    for start in range(0, len(dropped), at_once):
        asked = dropped[start : start + at_once]
        counts = [
            named(count, f"{name}_{place}")
            for place, item in enumerate(asked)
            for name, count in (("records", exp.Count(this=item.compared)), ("values", count_distinct(item.compared)))
        ]
        query = exp.select(*counts).from_(relation.copy())
        if records >= SPILLED:
            each = exp.select(named(exp.Count(this=asked[0].compared), "n")).from_(relation.copy())
            groups = each.group_by(asked[0].compared).subquery("groups")
            query = exp.select(total(column("n")), total(when(column("n") > 0, number(1), number(0)))).from_(groups)
        [row] = engine.run("repeats beside", query)
        for item, held, distinct in zip(asked, row[::2], row[1::2], strict=True):
            if repeats(int(distinct), int(held)):
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


def _may_be_copied(item: SourceColumn, judged: JudgedColumn, guessed: _Guessed) -> bool:
    """Return whether the texts of a column may be those of a quasi-identifier."""
    return item.role != "drop" and item.kind != "bytes" and guessed.may_be_copied(judged.values)


def _with_shares(judged: JudgedColumn, shares: dict[str, float], varying: Sequence[_Guessed]) -> JudgedColumn:
    follow = sum(share >= NEARLY for share in shares.values())
    generalized = {guessed.column.name for guessed in varying if guessed.column.generalized}
    return replace(
        judged,
        determines={name: share for name, share in shares.items() if share >= NEARLY and name in generalized},
        entity_like=not judged.parts and repeats(judged.values, judged.records) and 2 * follow > len(varying),
    )


def _with_place(place: int, query: exp.Select) -> exp.Select:
    """Return a query of one row with its place before the other columns."""
    query.set("expressions", [named(number(place), "place"), *query.expressions])
    return query


def _owners(entity: exp.Expr | None) -> exp.Expr:
    return count_rows() if entity is None else count_distinct(entity.copy())


def _values_of(item: SourceColumn, relation: exp.Expr, entity: exp.Expr | None, k: int) -> exp.Select:
    value, whole = column("sqlanon_value"), number(0)
    if item.kind == "number":
        # towards 0: the greatest DECIMAL cannot be rounded, nor the least BIGINT be given without its sign
        down, up = (equal(kind(this=value.copy()), value.copy()) for kind in (exp.Floor, exp.Ceil))
        truncated = when(exp.GTE(this=value.copy(), expression=number(0)), down, up)
        whole = when(truncated, number(1), number(0))
    compared, counted, owners = item.compared, _owners(None), _owners(entity)
    if item.counted is not None and entity is None:
        relation, compared = item.counted, column("value")
        counted, owners = total(column("n")), total(column("n"))
    return bind(
        "audit/column_values.sql",
        relations={"source": relation},
        columns={"audited_column": [compared], "counted": [counted], "owners": [owners], "whole": [whole]},
        values={"k": k, "of_a_person": OF_A_PERSON},
    )


def _differing(
    item: SourceColumn, varying: Sequence[_Guessed | None], relation: exp.Expr, entity: exp.Expr | None
) -> exp.Select:
    differing, impure = list[exp.Expr](), list[exp.Expr]()
    for place, guessed in enumerate(varying):
        if guessed is None:
            impure.append(named(number(0), f"impure_{place}"))
            continue
        name = f"sqlanon_differs_{place}"
        differing.append(named(differs(guessed.column.compared), name))
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
