"""The statements by which hierarchies meet the values of a source: distinct values, listed rows, and what is counted of
both. Each is about all columns at once: ``attribute`` is the position of the column that a row is of.

values                                listed
attribute | value | n | raw_1         attribute | level_0 | level_1 | level_2 | place
0         | Graz  | 2 |               0         | Graz    | south   | *       | 0
1         | 34    | 1 | 34            1         | 34      | *       |         |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import EntityColumn, TakingPart
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import GROUPED_AS_THEY_ARE, data_type
from sqlanon.core.sqltrees.trees import (
    FLOATS,
    among,
    bigint,
    both,
    by_position,
    canonical,
    column,
    count_distinct,
    count_if,
    count_rows,
    cte,
    equal,
    is_null,
    named,
    not_null,
    number,
    of_attribute,
    table,
    total,
    union_all,
    when,
    with_ctes,
)

ORDERED = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "DATE", "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE",
)  # fmt: skip
"""Types whose least value every engine finds."""


OTHERS = -1
"""The ``place`` of listed rows that are computed for values that only the population has: they are no leaves."""
READ = "read_value_"
"""The columns of what a builder reads from a value (a number, a date), step by step, before the number of the step."""


def read_column(step: int) -> exp.Expr:
    """Return what a step read, the first being 1."""
    return column(f"{READ}{step}")


@dataclass(frozen=True, slots=True)
class CountedColumn:
    """A column whose distinct values are counted.

    Attributes:
        sensitive: only values of records (of the subset) that take part are.
        typed: the values are kept in the type of the column too.
    """

    name: str
    type: str
    sensitive: bool = False
    typed: bool = False

    @property
    def has_raw(self) -> bool:
        """Return whether ``VALUES`` has a column for the values in their type: a text says all of some."""
        return self.typed and self.type != "VARCHAR" and self.type.upper() not in FLOATS

    def value(self, position: int, table_name: str | None = None) -> exp.Expr:
        """Return a distinct value in the type of the column, from ``VALUES``."""
        if self.has_raw:
            return column(names.raw(position), table_name)
        text = column("value", table_name)
        return text if self.type == "VARCHAR" else exp.cast(text, self.type)  # without the sign of a zero or of NaN

    def least(self, value: exp.Expr) -> exp.Expr:
        """Return one value of those that have the same text."""
        if self.type.upper().split("(")[0] in ORDERED:
            return exp.Min(this=value)  # built in everywhere, where PostgreSQL 15 has no ANY_VALUE: any will do
        return exp.AnyValue(this=value)


def distinct_values(
    source: exp.Expr,
    columns: Sequence[CountedColumn],
    taking_part: TakingPart,
    entity: EntityColumn | None = None,
    *,
    together: bool,
) -> exp.Query:
    """Return the distinct values of columns: canonical text, records of the population that take part, typed values.

    Args:
        entity: identifies the entities; of values of sensitive columns they are counted too, as ``entities``.
        together: count all columns while the source is read once. (Distinct entities are counted column by column:
            engines that hash sort for them.)
    """
    alone = [i for i, item in enumerate(columns) if not together or (item.sensitive and entity is not None)]
    shared = [i for i in range(len(columns)) if i not in alone]
    if len(shared) == 1:
        alone, shared = sorted([*alone, *shared]), []
    parts: list[exp.Query] = [_values_together(source, columns, shared, taking_part, entity)] if shared else []
    parts += [_values_of(source, columns, position, taking_part, entity) for position in alone]
    return union_all(parts)


def values_of_population(
    population: exp.Expr, columns: Sequence[CountedColumn], *, together: bool, entities: bool
) -> exp.Select:
    """Return the rows of ``VALUES`` for what only the population has of the quasi-identifiers; their count is NULL.

    Args:
        columns: all columns, the quasi-identifiers first.
        entities: ``VALUES`` counts entities too.
    """
    quasi = [item for item in columns if not item.sensitive]
    raws = {i: item for i, item in enumerate(quasi) if item.has_raw}
    found = distinct_values(population, quasi, TakingPart(()), together=together)
    values = [column("attribute"), column("value"), *[column(names.raw(i)) for i in raws]]
    new = exp.select(*values, named(number(1), "is_new")).from_(found.subquery("found"))
    known = exp.select(*[value.copy() for value in values], named(number(0), "is_new")).from_(table(names.VALUES))
    merged = exp.select(column("attribute"), column("value"), named(bigint(exp.null()), names.COUNT))
    for i, item in enumerate(columns):
        if item.has_raw:
            none = exp.null() if item.type.upper().startswith("ENUM") else exp.cast(exp.null(), data_type(item.type))
            merged.select(named(item.least(column(names.raw(i))) if i in raws else none, names.raw(i)), copy=False)
    if entities:
        merged.select(named(bigint(exp.null()), "entities"), copy=False)
    merged = merged.from_(union_all([new, known]).subquery("merged")).where(among(list(range(len(quasi)))))
    is_new = equal(exp.Min(this=column("is_new")), number(1))
    return merged.group_by(column("attribute"), column("value")).having(is_new)


def _values_of(
    source: exp.Expr,
    columns: Sequence[CountedColumn],
    position: int,
    taking_part: TakingPart,
    entity: EntityColumn | None,
) -> exp.Select:
    """Return the distinct values of one column."""
    own = columns[position]
    text = canonical(own.name, own.type)
    query = exp.select(
        named(exp.cast(number(position), "BIGINT"), "attribute"),
        named(text, "value"),
        named(_records_if(taking_part.of_population.conditions()), names.COUNT),
    ).from_(source.copy())
    for other, item in enumerate(columns):
        if item.has_raw:
            none = exp.null() if item.type.upper().startswith("ENUM") else exp.cast(exp.null(), data_type(item.type))
            value = own.least(column(own.name)) if other == position else none
            query.select(named(value, names.raw(other)), copy=False)
    if entity is not None:
        counted = entity.count() if own.sensitive else exp.cast(exp.null(), "BIGINT")
        query.select(named(bigint(counted), "entities"), copy=False)
    if own.sensitive and taking_part.conditions():
        query.where(taking_part.condition(), copy=False)
    return query.group_by(text.copy(), copy=False)


def _values_together(
    source: exp.Expr,
    columns: Sequence[CountedColumn],
    shared: Sequence[int],
    taking_part: TakingPart,
    entity: EntityColumn | None,
) -> exp.Select:
    """Return the distinct values of several columns: one reading of the source, a grouping set a column.

    Plain columns are grouped as they are, so that a text is made of each value, and not of each record.
    """
    texts = {i: f"text_{i}" for i in shared}
    plain = [i for i in shared if columns[i].type.upper() in GROUPED_AS_THEY_ARE]
    keys = {i: column(columns[i].name) if i in plain else canonical(columns[i].name, columns[i].type) for i in shared}
    records = exp.select(*[named(keys[i], texts[i]) for i in shared])
    for i in shared:
        if columns[i].has_raw:
            records.select(named(column(columns[i].name), names.raw(i)), copy=False)
    conditions = {"in_population": taking_part.of_population.conditions(), "takes_part": taking_part.conditions()}
    for name, found in conditions.items():
        if found:
            records.select(named(when(both(found), number(1), number(0)), name), copy=False)
    counts = {name: [equal(column(name), number(1))] if found else [] for name, found in conditions.items()}
    is_of = {i: equal(exp.Grouping(expressions=[column(texts[i])]), number(0)) for i in shared}
    attribute = exp.Case(ifs=[exp.If(this=is_of[i].copy(), true=number(i)) for i in shared])
    first, *others = (canonical(texts[i], columns[i].type) if i in plain else column(texts[i]) for i in shared)
    value: exp.Expr = exp.Coalesce(this=first, expressions=others)
    query = exp.select(
        named(exp.cast(attribute, "BIGINT"), "attribute"),
        named(value, "value"),
        named(_records_if(counts["in_population"]), names.COUNT),
    ).from_(records.from_(source.copy(), copy=False).subquery("records", copy=False), copy=False)
    for i, item in enumerate(columns):
        if item.has_raw:
            own = i in shared
            value = item.least(column(names.raw(i))) if own else exp.cast(exp.null(), data_type(item.type))
            query.select(named(when(is_of[i].copy(), value) if own else value, names.raw(i)), copy=False)
    if entity is not None:
        query.select(named(exp.cast(exp.null(), "BIGINT"), "entities"), copy=False)
    sets = exp.GroupingSets(expressions=[exp.paren(column(texts[i])) for i in shared])
    query.set("group", exp.Group(expressions=[sets]))
    sensitive = [i for i in shared if columns[i].sensitive]
    if sensitive and counts["takes_part"]:  # of these n is the same: anyone who takes part is of the population
        is_sensitive = exp.or_(*[is_of[i].copy() for i in sensitive])
        counted = exp.Case(
            ifs=[exp.If(this=is_sensitive, true=_records_if(counts["takes_part"]))],
            default=_records_if(counts["in_population"]),
        )
        query.expressions[2].set("this", counted)
        # not by HAVING: there Spark does not know the columns of a grouping set beside a sum
        held = exp.GT(this=column(names.COUNT), expression=number(0))
        query = exp.select("*").from_(query.subquery("counted")).where(exp.or_(exp.not_(among(sensitive)), held))
    return query


def _records_if(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """Count the records that meet all conditions."""
    return count_if(both(item.copy() for item in conditions)) if conditions else bigint(count_rows())


def lengths(positions: Sequence[int]) -> exp.Select:
    """Return, of some columns, how many records have a value of which length: attribute, length, records."""
    length = exp.Length(this=column("value"))
    return (
        exp.select(column("attribute"), named(length, "length"), named(total(column(names.COUNT)), "held"))
        .from_(table(names.VALUES))
        .where(among(positions), not_null(column("value")))
        .group_by(column("attribute"), length.copy())
    )


def lengths_of_entities(
    source: exp.Expr, texts: Mapping[int, exp.Expr], entity: EntityColumn, taking_part: TakingPart
) -> exp.Query:
    """Return how many entities have a value of which length; of an entity its longest counts."""
    longest = [named(exp.Max(this=exp.Length(this=text.copy())), f"length_{i}") for i, text in texts.items()]
    by_entity = exp.select(*longest).from_(source.copy()).group_by(entity.text())
    conditions = taking_part.of_population.conditions()
    if conditions:
        by_entity = by_entity.where(*conditions)
    parts = []
    for i in texts:
        length = column(f"length_{i}")
        counted = exp.select(named(number(i), "attribute"), named(length, "length"), named(count_rows(), "held"))
        parts.append(counted.from_(table("longest")).where(not_null(length.copy())).group_by(length.copy()))
    return with_ctes(union_all(parts), [cte("longest", by_entity, materialized=True)])


def texts_of(positions: Sequence[int]) -> exp.Select:
    """Return the distinct texts of some columns in their order, without NULL: attribute, value."""
    query = exp.select(column("attribute"), column("value")).from_(table(names.VALUES))
    return query.where(among(positions), not_null(column("value"))).order_by(column("attribute"), column("value"))


def listed_from_builders(
    built: Mapping[int, Sequence[exp.Expr]],
    tallest: int,
    *,
    read: Mapping[int, Sequence[exp.Expr]] | None = None,
    partial: Sequence[int] = (),
    of_population: bool = False,
) -> exp.Query:
    """Return the rows of hierarchies that are computed: the distinct values of the source and their generalizations.

    Args:
        built: by position, the expressions of level 1, 2, …
        tallest: the greatest height of all hierarchies.
        read: by position, of some, what is read from a value before, step by step (``read_column``).
        partial: the columns whose values have no row, and are uncovered, where the first level is NULL.
        of_population: of the values that only the population has; their ``place`` is ``OTHERS``.
    """
    place = number(OTHERS) if of_population else exp.null()
    queries: list[exp.Query] = []
    for position, expressions in built.items():
        values: exp.Expr = table(names.VALUES)
        for step, found in enumerate((read or {}).get(position, ()), start=1):
            values = exp.select("*", named(found, f"{READ}{step}"), copy=False).from_(values, copy=False)
            values = values.subquery("read_values", copy=False)
        texts = [column("value"), *expressions]
        texts += [exp.cast(exp.null(), "VARCHAR") for _ in range(tallest - len(texts))]
        rows = (
            exp.select(
                named(exp.cast(number(position), "BIGINT"), "attribute"),
                *[named(text, names.level(level)) for level, text in enumerate(texts)],
                named(exp.cast(place.copy(), "BIGINT"), "place"),
            )
            .from_(values, copy=False)
            .where(of_attribute(position), not_null(column("value")), copy=False)
        )
        if of_population:
            rows = rows.where(is_null(column(names.COUNT)), copy=False)
        if position in partial:
            shown = ["attribute", *[names.level(level) for level in range(tallest)], "place"]
            rows = exp.select(*map(column, shown)).from_(rows.subquery("built"))
            rows = rows.where(not_null(column(names.level(1))))
        queries.append(rows)
    return union_all(queries)


def listed_faults(heights: Mapping[int, int], foreign: Sequence[int]) -> exp.Query | None:
    """Return what is wrong with computed hierarchies: attribute, level, count.

    The count is of the values of the level with more than one parent; with the level -1, of the values without a text
    on some level.

    Args:
        heights: of the computed hierarchies, by position.
        foreign: those of them that may lack texts.
    """
    queries: list[exp.Query] = []
    listed, lacking = table(names.LISTED), [i for i in foreign if heights[i] > 1]
    for position in lacking:
        missing = [is_null(column(names.level(level))) for level in range(1, heights[position])]
        rows = exp.select(*_fault(number(position), -1)).from_(listed.copy())
        queries.append(rows.where(of_attribute(position), exp.or_(*missing)))
    for lower in range(max(heights.values(), default=1) - 1):
        keys = [column("attribute"), column(names.level(lower))]
        parents = exp.GT(this=count_distinct(column(names.level(lower + 1))), expression=number(1))
        torn = exp.select(*keys).from_(listed.copy()).group_by(*[key.copy() for key in keys]).having(parents)
        torn = torn.where(among([i for i, height in heights.items() if height > lower + 1]))
        counted = exp.select(*_fault(column("attribute"), lower)).from_(torn.subquery("torn"))
        queries.append(counted.group_by(column("attribute")))
    return union_all(queries) if queries else None


def _fault(attribute: exp.Expr, level: int) -> list[exp.Expr]:
    return [named(attribute, "attribute"), named(number(level), "level"), named(count_rows(), "faults")]


def hierarchy_facts(heights: Mapping[int, int], topped: Sequence[int]) -> exp.Query:
    """Return two rows a column at most, which add up: those of ``listed_facts``, and the records with NULL."""
    facts = listed_facts(heights, topped).select(named(bigint(number(0)), "null_records"))
    nothing = [bigint(number(0)), bigint(number(0)), bigint(number(0)), exp.cast(exp.null(), "VARCHAR")]
    nulls = exp.select(column("attribute"), *nothing, bigint(number(0)), column(names.COUNT)).from_(table(names.VALUES))
    return union_all([facts, nulls.where(is_null(column("value")))])


def listed_facts(heights: Mapping[int, int], topped: Sequence[int]) -> exp.Select:
    """Return, of each column with listed rows: attribute, listed rows, NULL rows, distinct roots, one root, and texts
    of the root further down.

    Args:
        topped: the positions of the columns whose roots are looked for further down.
    """
    root = by_position({i: column(names.level(height - 1)) for i, height in heights.items()})
    listed = exp.select("*", named(root, "root")).from_(table(names.LISTED))
    clashes: exp.Expr = number(0)
    if topped:
        last = exp.Window(this=exp.Max(this=column("root")), partition_by=[column("attribute")])
        listed = exp.select("*", named(last, "last_root")).from_(listed.subquery("rooted"))
        below = [
            exp.and_(among(positions), equal(column(names.level(lower)), column("last_root")))
            for lower in range(max(heights.values()) - 1)
            if (positions := [i for i in topped if heights[i] > lower + 1])
        ]
        clashes = count_if(exp.or_(*below)) if below else clashes
    return (
        exp.select(
            column("attribute"),
            named(bigint(count_rows()), "leaves"),
            named(count_if(is_null(column(names.level(0)))), "null_rows"),
            named(bigint(count_distinct(column("root"))), "roots"),
            named(exp.Max(this=column("root")), "root"),
            named(bigint(clashes), "clashes"),
        )
        .from_(listed.subquery("listed", copy=False), copy=False)
        .group_by(column("attribute"), copy=False)
    )


def unlisted(positions: Sequence[int]) -> exp.Select:
    """Return those of some columns that hold a value without a listed row, as ``attribute``."""
    same_column = equal(column("attribute", "v"), column("attribute", "h"))
    met = exp.and_(same_column, equal(column("value", "v"), column(names.level(0), "h")), copy=False)
    query = exp.select(column("attribute", "v")).distinct().from_(table(names.VALUES, "v"))
    query = query.join(table(names.LISTED, "h"), on=met, join_type="left")
    has_records = exp.GT(this=column(names.COUNT, "v"), expression=number(0))
    lacks_row = is_null(column("attribute", "h"))
    return query.where(among(list(positions), "v"), not_null(column("value", "v")), has_records, lacks_row)


def header_rows(position: int, height: int) -> exp.Select:
    """Count the listed row that comes first if it shares no text with other rows, nor its value with the source."""
    first, other = "first", "other"
    levels = [names.level(level) for level in range(height)]
    shared = [equal(column(level, other), column(level, first)) for level in levels]
    repeated = exp.select(number(1)).from_(table(names.LISTED, other))
    repeated = repeated.where(of_attribute(position, other), _after_first(other), exp.or_(*shared))
    occurs = exp.select(number(1)).from_(table(names.VALUES, other))
    occurs = occurs.where(of_attribute(position, other), equal(column("value", other), column(levels[0], first)))
    return (
        exp.select(named(count_rows(), "headers"))
        .from_(table(names.LISTED, first))
        .where(
            of_attribute(position, first),
            exp.Not(this=_after_first(first)),
            not_null(column(levels[0], first)),
            exp.NEQ(this=column(levels[0], first), expression=column(levels[-1], first)),
            exp.Not(this=exp.Exists(this=repeated)),
            exp.Not(this=exp.Exists(this=occurs)),
        )
    )


def _after_first(table_name: str) -> exp.Expr:
    return exp.GT(this=column("place", table_name), expression=number(0))
