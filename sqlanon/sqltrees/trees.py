"""Small sqlglot trees that every statement is put together from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import reduce

from sqlglot import exp

from sqlanon.sqltrees import names

TRIMMED = "TRIM_SCALE"
"""The function that takes the zeros from the end of a DECIMAL; an engine with DECIMALs without a scale has it."""


def column(name: str, table: str | None = None) -> exp.Column:
    """A quoted column reference."""
    return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(table, quoted=True) if table else None)


def table(name: str, alias: str | None = None) -> exp.Expr:
    """A quoted reference to a relation of ours."""
    relation = exp.Table(this=exp.to_identifier(name, quoted=True))
    return aliased(relation, alias) if alias else relation


def aliased(relation: exp.Expr, alias: str) -> exp.Expr:
    """A copy of ``relation`` under ``alias``."""
    copy = relation.copy()
    copy.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return copy


def named(expression: exp.Expr, name: str) -> exp.Alias:
    """``expression AS "name"``."""
    return exp.Alias(this=expression, alias=exp.to_identifier(name, quoted=True))


def number(value: int) -> exp.Expr:
    """An integer literal (negative ones included)."""
    literal = exp.Literal.number(str(abs(value)))
    return exp.Neg(this=literal) if value < 0 else literal


def bigint(expression: exp.Expr) -> exp.Cast:
    """CAST to BIGINT: SUM over BIGINT is HUGEINT in DuckDB."""
    return exp.Cast(this=expression, to=exp.DataType(this=exp.DataType.Type.BIGINT))


def masked(key: exp.Expr, mask: exp.Expr) -> exp.BitwiseAnd:
    """``key & mask``."""
    return exp.BitwiseAnd(this=key, expression=mask)


def same(left: exp.Expr, right: exp.Expr) -> exp.NullSafeEQ:
    """``left IS NOT DISTINCT FROM right``."""
    return exp.NullSafeEQ(this=left, expression=right)


def equal(left: exp.Expr, right: exp.Expr) -> exp.EQ:
    """``left = right``."""
    return exp.EQ(this=left, expression=right)


def when(condition: exp.Expr, value: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Case:
    """``CASE WHEN condition THEN value ELSE otherwise END``; without ``otherwise``, NULL."""
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=otherwise)


def union_all(queries: Iterable[exp.Query]) -> exp.Query:
    """``first UNION ALL second UNION ALL …``; at least one query."""
    return reduce(lambda left, right: exp.union(left, right, distinct=False, copy=False), queries)


def both(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """All conditions; TRUE when there are none."""
    items = list(conditions)
    return exp.and_(*items, copy=False) if items else exp.true()


def either_bits(parts: Sequence[exp.Expr]) -> exp.Expr:
    """``a | b | …``; 0 when there are none."""
    return reduce(lambda left, right: exp.BitwiseOr(this=left, expression=right), parts) if parts else bigint(number(0))


def count_if(condition: exp.Expr) -> exp.Expr:
    """The number of rows that meet ``condition``, portable: SUM over a CASE."""
    return total(when(condition, number(1), number(0)))


def sum_if(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """The sum of ``value`` over the rows that meet ``condition``, 0 when there are none."""
    return total(when(condition, value, number(0)))


def greatest(first: exp.Expr, *others: exp.Expr) -> exp.Expr:
    """The largest of some values, none of them NULL."""
    return exp.Greatest(this=first, expressions=list(others), ignore_nulls=True)


def total(value: exp.Expr) -> exp.Expr:
    """``CAST(COALESCE(SUM(value), 0) AS BIGINT)``."""
    return bigint(exp.Coalesce(this=exp.Sum(this=value), expressions=[number(0)]))


def wide_sum(value: exp.Expr) -> exp.Expr:
    """A sum of squares or products of counts: beyond 64 bits on large data."""
    return exp.cast(exp.Coalesce(this=exp.Sum(this=value), expressions=[number(0)]), "HUGEINT")


def cte(name: str, query: exp.Query, *, materialized: bool = False) -> exp.CTE:
    """``"name" AS (query)``."""
    return exp.CTE(
        this=query,
        alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)),
        materialized=materialized or None,
    )


def drop_columns(query: exp.Select, unwanted: Collection[str]) -> None:
    """Remove the projections that nothing reads from a query, in place."""
    query.set("expressions", [item for item in query.expressions if item.alias_or_name not in unwanted])


def with_ctes(query: exp.Query, ctes: list[exp.CTE]) -> exp.Query:
    """``WITH … query``."""
    query.set("with_", exp.With(expressions=ctes))
    return query


def keys(words: int, table_name: str | None = None) -> list[exp.Column]:
    """The key columns of a grain."""
    return [column(names.key(word), table_name) for word in range(words)]


def canonical(name: str, type_name: str, table_name: str | None = None) -> exp.Expr:
    """The canonical text of a source column, by which it meets its hierarchy.

    Values that are equal have one text: floats are added to 0 first, so that -0.0 reads like 0.0, and a DECIMAL without
    a scale of its own, in which each value has its own, loses the zeros at its end (1.00 reads like 1). Texts are
    compared byte by byte. NULL stays NULL.
    """
    return exp.cast(_one_of_equals(column(name, table_name), type_name), "VARCHAR")


def own_text(name: str, type_name: str, table_name: str | None = None) -> exp.Expr:
    """The canonical text of a source column, compared as the column is: what its database takes for one value is one.

    A collation that ignores case makes one of texts that differ in case.
    """
    return exp.cast(_one_of_equals(column(name, table_name), type_name), "TEXT")


def _one_of_equals(value: exp.Expr, type_name: str) -> exp.Expr:
    if type_name.upper() in ("FLOAT", "DOUBLE", "REAL"):
        return exp.Add(this=value, expression=number(0))
    return exp.Anonymous(this=TRIMMED, expressions=[value]) if type_name.upper() == "DECIMAL" else value
