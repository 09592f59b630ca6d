"""The profiles of the persons of a relation, for audits: who has the same multiset of rows as whom.

They are found by other means than those of the search (``sql/audit/profiles.sql``), and two persons with different rows
never share one.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.sqltrees import row_sets
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import aliased, column, count_rows, cte, named, union_all, with_ctes

PROFILE = "sqlanon_profile"
"""The column that holds the number of a person's profile."""
RECORDS = "sqlanon_records"


def with_profiles(relation: exp.Expr, quasi_identifiers: Sequence[str], entity: str) -> exp.Expr:
    """Return a relation with the profile of each record's entity in the column ``PROFILE``; NULL without an entity.

    Args:
        quasi_identifiers: the columns that make the rows of a person.
        entity: the column of entities.
    """
    profiles = bind(
        "audit/profiles.sql",
        relations={"counted": counted_rows(relation, quasi_identifiers, entity)},
        columns={"quasi_identifier": quasi_identifiers, "entity": [entity]},
    )
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier("owned", quoted=True))
    same = exp.EQ(this=column(entity, "owned"), expression=column(entity, "profiles"))
    query = exp.select(everything, column(PROFILE, "profiles")).from_(aliased(relation, "owned"))
    return query.join(profiles.subquery("profiles"), on=same, join_type="left").subquery("profiled")


def counted_rows(relation: exp.Expr, quasi_identifiers: Sequence[str], entity: str) -> exp.Select:
    """Return per person and class how many rows there are; records without an entity belong to nobody."""
    wanted = [column(name) for name in (*quasi_identifiers, entity)]
    given = exp.Not(this=exp.Is(this=column(entity), expression=exp.null()))
    query = exp.select(*wanted, named(count_rows(), RECORDS)).from_(relation.copy()).where(given)
    return query.group_by(*[item.copy() for item in wanted])


def few_share(counted: exp.Select, quasi_identifiers: Sequence[str], entity: str, at_most: int, k: int) -> exp.Query:
    """Select the sub-multisets of at most so many rows that fewer than k persons hold, with their persons: ``records``.

    Args:
        counted: the rows of each person (``counted_rows``).
    """
    rows = exp.select(
        named(column(entity), row_sets.OWNER),
        named(column(RECORDS), row_sets.COPIES),
        named(row_sets.ranked(quasi_identifiers), row_sets.PLACE),
    ).from_(counted.subquery("counted"))
    few = [row_sets.held_by_few("rows_of_persons", shape, k) for shape in row_sets.shapes(at_most)]
    return with_ctes(union_all(few), [cte("rows_of_persons", rows, materialized=True)])
