"""From grains that hold a row a key and entity to profiles: the persons (entities) with the same multiset of rows.

A profile is a class of persons, and each row of it is a class of the models: the records of its persons that are one
generalized row. A profile is suppressed whole when any of its rows fails. So ``judged`` holds, per node and row, the
records of the persons that are published and, apart from them, of those that are suppressed.

The number of a profile is that of its first person. It is found in rounds, each of which gives pairs of neighbouring
numbers one number (``sql/judge/paired_numbers.sql``): as many as double 1 up to the most rows of a person. Nothing is
hashed, so persons with different rows never have one number.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import (
    column,
    count_rows,
    cte,
    drop_columns,
    equal,
    equal_columns,
    named,
    number,
    row_number,
    sum_if,
    table,
    total,
)

PROFILE = "profile"
"""The column that holds the number of a profile."""
PERSONS = "persons"
"""The relation of the persons of some nodes with their profiles."""
PROFILES = "profiles"
"""The relation of the profiles of some nodes: whether they fail."""
GRAIN_ROWS, ROWS = "grain_rows", "judged_rows"
alone = names.namer("alone")
"""Name of the column of ``judged`` with the records that the model at a position suppresses, were it alone."""


def rounds(catalog: Catalog) -> int:
    """Return how many rounds pair up the rows of the person who has most."""
    most = max((records for records, _ in catalog.shares_of_records), default=1)
    return max(most - 1, 0).bit_length()


def profiled(catalog: Catalog, grouped: exp.Query, class_keys: Sequence[exp.Expr]) -> tuple[list[exp.CTE], exp.Select]:
    """Return the relations up to ``persons`` (node, entity, profile), and the rows of a grain with their profiles.

    Args:
        grouped: the grouped grain of some nodes.
        class_keys: the node and the words of a key without the bits of sensitive values, named, over ``grouped``.
    """
    key_names = [item.alias_or_name for item in class_keys]
    words = key_names[1:]
    rows = bind("judge/entities.sql", relations={"parts": table(GRAIN_ROWS)}, columns={"class_key": class_keys})
    drop_columns(rows, {names.POPULATION})
    number_ = row_number(*map(column, words), partition=[column("node"), column(names.ENTITY)])
    place = named(exp.Sub(this=number_, expression=number(1)), "place")
    wanted = [column(name) for name in (*key_names, names.ENTITY, names.COUNT)]
    placed = exp.select(*wanted, place).from_(rows.subquery("rows_of_persons"))
    first = bind("judge/first_numbers.sql", columns={"row_key": words})
    ctes = [cte(GRAIN_ROWS, grouped, materialized=True), cte("placed", placed), cte("numbered_0", first)]
    last = rounds(catalog)
    for turn in range(last):
        paired = bind(
            "judge/paired_numbers.sql",
            relations={"numbered": table(f"numbered_{turn}")},
            values={"place": 1 << turn, "pairs": -(2 << turn)},
        )
        ctes.append(cte(f"numbered_{turn + 1}", paired))
    of_persons = exp.select(column("node"), column(names.ENTITY), named(column("number"), PROFILE))
    ctes.append(cte(PERSONS, of_persons.from_(table(f"numbered_{last}")), materialized=True))
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier(GRAIN_ROWS, quoted=True))
    parts = exp.select(everything, column(PROFILE, PERSONS)).from_(table(GRAIN_ROWS))
    return ctes, parts.join(table(PERSONS), on=equal_columns(("node", names.ENTITY), GRAIN_ROWS, PERSONS))


def folded(rows: exp.Query, key_names: Sequence[str], *, monotone: bool, models: int) -> list[exp.CTE]:
    """Return the relations from the judged rows of profiles to ``judged``, with ``profiles`` before it.

    Args:
        rows: per node, profile and row what ``judged`` holds elsewhere.
        key_names: of a row: the node and the words.
        monotone: ``rows`` does not say what is certain, because all records of a failing row are.
        models: how many models have columns of their own, ``fails_<i>``.
    """
    certain = {"min_suppressed": [names.COUNT]} if monotone else {}
    of_profiles = bind("judge/profiles.sql", relations={"judged_rows": table(ROWS)}, columns=certain)
    query = exp.select(*[column(name, ROWS) for name in key_names]).from_(table(ROWS))
    query = query.join(table(PROFILES), on=equal_columns(("node", PROFILE), ROWS, PROFILES))
    records = column(names.COUNT, ROWS)
    query.select(named(total(records), names.COUNT), copy=False)
    query.select(named(total(column("entities", ROWS)), "entities"), column("fails", PROFILES), copy=False)
    if not monotone:
        is_certain = equal(column("is_certain", PROFILES), number(1))
        query.select(named(sum_if(is_certain, records.copy()), "min_suppressed"), copy=False)
    for i in range(models):
        flag = f"fails_{i}"
        of_profiles.select(named(exp.Max(this=column(flag)), flag), copy=False)
        fails = equal(column(flag, PROFILES), number(1))
        query.select(named(sum_if(fails, records.copy()), alone(i)), copy=False)
    query = query.group_by(*[column(name, ROWS) for name in key_names], column("fails", PROFILES))
    return [
        cte(ROWS, rows, materialized=True),
        cte(PROFILES, of_profiles, materialized=True),
        cte("judged", query, materialized=True),
    ]


def settled(grouped: exp.Query, persons: str, key_names: Sequence[str], *, models: int) -> list[exp.CTE]:
    """Return the relations up to ``judged`` where each person was judged alone (``compiler.known_rows``).

    A person is a profile of their own.

    Args:
        grouped: the grouped grain of the node.
        persons: the table of its persons: node, entity, and whether they fail.
        key_names: of a row: the node and the words.
        models: how many models have columns of their own: one, or none.
    """
    own = named(column(names.ENTITY), PROFILE)
    of_persons = exp.select(column("node"), column(names.ENTITY), own).from_(table(persons))
    shown = [column("node"), own.copy(), column("fails"), named(column("fails"), "is_certain")]
    rows = [column(name, GRAIN_ROWS) for name in key_names]
    fails = column("fails", "settled")
    query = exp.select(*rows, named(total(column(names.COUNT, GRAIN_ROWS)), names.COUNT))
    query = query.select(named(count_rows(), "entities"), fails).from_(table(GRAIN_ROWS))
    for i in range(models):
        lost = sum_if(equal(fails.copy(), number(1)), column(names.COUNT, GRAIN_ROWS))
        query = query.select(named(lost, alone(i)))
    query = query.join(table(persons, "settled"), on=equal_columns(("node", names.ENTITY), GRAIN_ROWS, "settled"))
    return [
        cte(GRAIN_ROWS, grouped, materialized=True),
        cte(PERSONS, of_persons),
        cte(PROFILES, exp.select(*shown).from_(table(persons))),
        cte("judged", query.group_by(*[item.copy() for item in (*rows, fails)]), materialized=True),
    ]


def person_counts(*, monotone: bool) -> exp.Select:
    """Return per node the persons that count against the limit, and those that certainly do further down."""
    query = bind("judge/person_counts.sql", relations={"persons": table(PERSONS), "profiles": table(PROFILES)})
    if monotone:
        drop_columns(query, {"min_suppressed_entities"})
    return query


def published_persons() -> exp.Select:
    """Return the persons of the one node that was judged whose profiles pass."""
    same = equal_columns(("node", PROFILE), PERSONS, PROFILES)
    query = exp.select(column(names.ENTITY, PERSONS)).from_(table(PERSONS)).join(table(PROFILES), on=same)
    return query.where(equal(column("fails", PROFILES), number(0)))
