"""The audit of several tables that were published together, by SQL over what was written.

It reads published texts and pseudonyms alone, and numbers profiles by ranks of lists, so that it shares neither the
codes nor the numbers of the search: of each row the values and, per table below, the ordered list of the ranks of its
child rows; equal ranks are equal lists, compared by the database element by element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.audit.release import refuse_failures
from sqlanon.core.engines.base import Engine
from sqlanon.core.sqltrees.trees import column, count_rows, equal, is_null, named, number, table, with_ctes
from sqlanon.core.sqltrees.trees import cte as common_table

RANK, LISTED, OWNER, COUNTED = "sqlanon_rank", "sqlanon_ranks", "sqlanon_owner", "sqlanon_counted"


@dataclass(frozen=True, slots=True)
class AuditedTable:
    """A table as it was written.

    Attributes:
        relation: where it is read.
        quasi_identifiers: its columns that form profiles.
        parent: the position of its parent; None for the persons' table.
        key: its column of pseudonyms to which other tables refer; None if none does.
        link: its column of pseudonyms of the parent's rows.
    """

    name: str
    relation: exp.Expr
    quasi_identifiers: tuple[str, ...]
    parent: int | None
    key: str | None
    link: str | None


def audit_links(engine: Engine, tables: Sequence[AuditedTable], *, k: int) -> None:
    """Prove that the published rows form whole trees, and that no class holds 1 to k - 1 persons.

    Raises:
        AuditError: names the audits that failed, with the number of offending rows or classes; never a value.
    """
    failures: dict[str, int] = {}
    for name, query in linked_audits(tables, k=k):
        [[offending]] = engine.run(f"audit {name}", query)
        if offending:
            failures[name] = int(offending)
    refuse_failures(failures)


def linked_audits(tables: Sequence[AuditedTable], *, k: int) -> list[tuple[str, exp.Query]]:
    """Return the audits as (name, SELECT of the number of offending rows), without running them."""
    audits: list[tuple[str, exp.Query]] = []
    for item in tables:
        if item.key is not None:
            repeated = exp.select(column(item.key)).from_(item.relation.copy()).group_by(column(item.key))
            twice = exp.GT(this=count_rows(), expression=number(1))
            missing = exp.GT(this=exp.CountIf(this=is_null(column(item.key))), expression=number(0))
            repeated = repeated.having(exp.or_(twice, missing))
            audits.append((f"repeated_keys of {item.name}", _count(repeated)))
        if item.link is not None and item.parent is not None:
            parent = tables[item.parent]
            assert parent.key is not None  # its child refers to it
            keys = exp.select(named(column(parent.key), OWNER)).from_(parent.relation.copy())
            lost = exp.select(column(item.link, "child")).from_(_aliased(item.relation, "child"))
            met = equal(column(item.link, "child"), column(OWNER, "parent"))
            lost = lost.join(keys.subquery("parent"), on=met, join_type="left").where(is_null(column(OWNER, "parent")))
            audits.append((f"lost_rows of {item.name}", _count(lost)))
    audits.append(("small_profiles", _small_profiles(tables, k)))
    return audits


def _small_profiles(tables: Sequence[AuditedTable], k: int) -> exp.Query:
    """Return the number of classes of persons with fewer than k of them."""
    ctes: list[exp.CTE] = []
    for position in reversed(range(len(tables))):  # children stand after their parents
        ctes += _ranked(tables, position)
    small = exp.select(column(RANK)).from_(table(_ranks(0))).group_by(column(RANK))
    small = small.having(exp.LT(this=count_rows(), expression=number(k)))
    return with_ctes(_count(small), ctes)


def _ranked(tables: Sequence[AuditedTable], position: int) -> list[exp.CTE]:
    """Return the rows of a table with the ranks of their profiles, then these as one list a parent's row."""
    item = tables[position]
    parts: list[exp.Expr] = [_as_read(column(name, "own")) for name in item.quasi_identifiers]
    query = exp.select().from_(_aliased(item.relation, "own"))
    for child, other in enumerate(tables):
        if other.parent == position and item.key is not None:
            alias = _lists(child)
            met = equal(column(item.key, "own"), column(OWNER, alias))
            query = query.join(table(alias), on=met, join_type="left")
            parts.append(column(LISTED, alias))
    order = exp.Order(expressions=[exp.Ordered(this=part, nulls_first=False) for part in parts])
    rank = exp.Window(this=exp.DenseRank(), order=order) if parts else number(1)
    query = query.select(named(rank, RANK))
    if item.link is None:
        return [common_table(_ranks(position), query)]
    query = query.select(named(column(item.link, "own"), OWNER))
    in_order = exp.Order(this=column(RANK), expressions=[exp.Ordered(this=column(RANK))])
    lists = exp.select(column(OWNER), named(exp.ArrayAgg(this=in_order), LISTED))
    lists = lists.from_(table(_ranks(position))).group_by(column(OWNER))
    return [common_table(_ranks(position), query), common_table(_lists(position), lists)]


def _as_read(value: exp.Expr) -> exp.Expr:
    """Return the text of a value, byte by byte: values are equal where a reader sees no difference."""
    return exp.cast(value, "VARCHAR")


def _ranks(position: int) -> str:
    return f"sqlanon_ranks_{position}"


def _lists(position: int) -> str:
    return f"sqlanon_lists_{position}"


def _aliased(relation: exp.Expr, alias: str) -> exp.Expr:
    return exp.select(exp.Star()).from_(relation.copy()).subquery(alias)


def _count(offending: exp.Query) -> exp.Select:
    return exp.select(named(count_rows(), COUNTED)).from_(offending.subquery("offending"))
