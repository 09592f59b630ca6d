"""Small sqlglot trees of the audits. The compiler's are not used: an audit shares no code with what it audits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp


def column(name: str, table: str | None = None) -> exp.Column:
    """A quoted column."""
    return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(table, quoted=True) if table else None)


def table(name: str, alias: str | None = None) -> exp.Table:
    """A quoted relation of ours."""
    return exp.table_(name, alias=alias, quoted=True)


def number(value: int) -> exp.Expr:
    """An integer that is not negative."""
    return exp.Literal.number(value)


def bigint(value: exp.Expr) -> exp.Expr:
    """CAST to BIGINT: SUM over BIGINT is HUGEINT in DuckDB."""
    return exp.cast(value, "BIGINT")


def both_bits(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """``(left & right)``."""
    return exp.paren(exp.BitwiseAnd(this=left, expression=right), copy=False)


def is_null(value: exp.Expr) -> exp.Expr:
    """``value IS NULL``."""
    return exp.Is(this=value, expression=exp.null())


def value_if(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """``value`` where ``condition`` holds, else 0."""
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=number(0))


def total(value: exp.Expr) -> exp.Expr:
    """The sum as BIGINT, 0 of no rows."""
    return bigint(exp.Coalesce(this=exp.Sum(this=value), expressions=[number(0)]))


def any_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Some condition holds; FALSE when there are none."""
    items = list(conditions)
    return exp.paren(exp.or_(*items), copy=False) if items else exp.false()


ALIKE = ("DECIMAL", "FLOAT", "DOUBLE", "REAL")
"""Types with values that are equal and read differently: 1 and 1.00 (of no scale), 0.0 and -0.0."""


def compared_as_read(
    relation: exp.Expr, types: Mapping[str, str], *, entity: str | None, quasi_identifiers: Sequence[str]
) -> exp.Expr:
    """A relation whose values differ wherever a reader sees a difference, whatever the collations of its columns.

    Args:
        types: of all its columns.
        entity: the column of entities, which is compared as its database compares it; in any case of letters.
        quasi_identifiers: their numbers are compared as texts. (Sensitive ones are not: fewer values are counted.)
    """
    compared: dict[str, exp.Expr] = {}
    for name, kind in types.items():
        if kind == "VARCHAR" and name.casefold() != (entity or "").casefold():
            compared[name] = exp.Collate(this=column(name), expression=exp.to_identifier("C", quoted=True))
        elif kind in ALIKE and name in quasi_identifiers:
            compared[name] = exp.cast(column(name), "VARCHAR")
    if not compared:
        return relation
    cells = [exp.alias_(compared[name], name, quoted=True) if name in compared else column(name) for name in types]
    return exp.select(*cells).from_(relation.copy()).subquery("compared")
