"""Small sqlglot trees that every statement is put together from."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, reduce

from sqlglot import exp

from sqlanon.core.sqltrees import names

COMPUTED_FIRST = "computed_first"
"""The mark of a part of a statement that is computed before anything is joined to it (``cte``)."""
FLOATS = ("FLOAT", "DOUBLE", "REAL")
"""The types with NaN and with two zeros."""
TRIMMED = "TRIM_SCALE"
"""The function that takes the zeros from the end of a DECIMAL; an engine with DECIMALs without a scale has it."""
HMAC, HEX_NUMBER, SHIFTED = "SQLANON_HMAC", "SQLANON_HEX_NUMBER", "SQLANON_SHIFTED"
"""The functions of engines that have ``keyed``, which each writes in its own words: the keyed hash of a text from two
blocks of a key (hexadecimal digits); the number of the first 15 digits of a hash; a date or time so many days later."""
NORMAL, CASED = "SQLANON_NORMAL", "SQLANON_CASED"
"""The functions of these engines that return the normal form of a text (``normal_text``), as far as they know it, and
that with its capitals."""


def column(name: str, table: str | None = None) -> exp.Column:
    """Return a quoted column reference."""
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(table or None, quoted=True))


def table(name: str, alias: str | None = None) -> exp.Expr:
    """Return a quoted reference to a relation of ours."""
    relation = exp.Table(this=exp.to_identifier(name, quoted=True))
    return aliased(relation, alias) if alias else relation


def of_attribute(position: int, table_name: str | None = None) -> exp.EQ:
    """Return the condition that a row is of the encoded column at a position."""
    return equal(column("attribute", table_name), number(position))


def lookup_rows(position: int, alias: str | None = None) -> exp.Subquery:
    """Return the lookup of the encoded column at a position; under the name of it, unless there is an ``alias``."""
    rows = exp.select("*").from_(table(names.LOOKUP)).where(of_attribute(position))
    return rows.subquery(exp.to_identifier(alias or names.lookup(position), quoted=True))


def joined_lookup(query: exp.Select, position: int, on: exp.Expr, *, side: str | None = None) -> exp.Select:
    """Join ``query`` with the lookup of the encoded column at a position, under its name, in place.

    The condition that a row is of this column is part of that of the join, so that an index serves both.
    """
    name = names.lookup(position)
    condition = exp.and_(of_attribute(position, name), on, copy=False)
    query.append("joins", exp.Join(this=table(names.LOOKUP, name), on=condition, side=side))  # join() parses the side
    return query


def by_position(
    values: Mapping[int, exp.Expr], otherwise: exp.Expr | None = None, table_name: str | None = None
) -> exp.Expr:
    """Return what a row has by the encoded column that it is of: ``CASE WHEN attribute = … THEN value … END``.

    Args:
        values: by position; positions with equal values share an arm.
        otherwise: for the others; NULL by default.
    """
    grouped: dict[exp.Expr, list[int]] = {}
    for position, value in values.items():
        grouped.setdefault(value, []).append(position)
    if not grouped:
        return exp.null() if otherwise is None else otherwise
    arms = [exp.If(this=among(positions, table_name), true=value) for value, positions in grouped.items()]
    return exp.Case(ifs=arms, default=otherwise)


def among(positions: Sequence[int], table_name: str | None = None) -> exp.Expr:
    """Return the condition that a row is of one of the encoded columns at some positions; FALSE when there are none."""
    if not positions:
        return exp.false()
    return exp.paren(exp.or_(*[of_attribute(position, table_name) for position in positions], copy=False), copy=False)


def aliased(relation: exp.Expr, alias: str) -> exp.Expr:
    """Return a copy of ``relation`` under ``alias``."""
    copy = relation.copy()
    copy.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return copy


def named(expression: exp.Expr, name: str) -> exp.Alias:
    """Return ``expression AS "name"``."""
    return exp.Alias(this=expression, alias=exp.to_identifier(name, quoted=True))


def number(value: int) -> exp.Expr:
    """Return an integer literal (negative ones included)."""
    literal = exp.Literal.number(str(abs(value)))
    return exp.Neg(this=literal) if value < 0 else literal


def bigint(expression: exp.Expr) -> exp.Cast:
    """Return CAST to BIGINT: SUM over BIGINT is HUGEINT in DuckDB."""
    return exp.Cast(this=expression, to=exp.DataType(this=exp.DataType.Type.BIGINT))


def masked(key: exp.Expr, mask: exp.Expr) -> exp.BitwiseAnd:
    """Return ``key & mask``."""
    return exp.BitwiseAnd(this=key, expression=mask)


def same(left: exp.Expr, right: exp.Expr) -> exp.NullSafeEQ:
    """Return ``left IS NOT DISTINCT FROM right``."""
    return exp.NullSafeEQ(this=left, expression=right)


def equal(left: exp.Expr, right: exp.Expr) -> exp.EQ:
    """Return ``left = right``."""
    return exp.EQ(this=left, expression=right)


def when(condition: exp.Expr, value: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Case:
    """Return ``CASE WHEN condition THEN value ELSE otherwise END``; without ``otherwise``, NULL."""
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=otherwise)


def union_all(queries: Iterable[exp.Query]) -> exp.Query:
    """Return ``first UNION ALL second UNION ALL …``; at least one query."""
    return reduce(lambda left, right: exp.union(left, right, distinct=False, copy=False), queries)


def is_null(value: exp.Expr) -> exp.Is:
    """Return ``value IS NULL``."""
    return exp.Is(this=value, expression=exp.null())


def not_null(value: exp.Expr) -> exp.Not:
    """Return ``NOT value IS NULL``."""
    return exp.Not(this=is_null(value))


def or_zero(value: exp.Expr) -> exp.Coalesce:
    """Return ``COALESCE(value, 0)``."""
    return exp.Coalesce(this=value, expressions=[number(0)])


def both(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Return the conjunction of all conditions; TRUE when there are none."""
    items = list(conditions)
    return exp.and_(*items, copy=False) if items else exp.true()


def equal_columns(columns: Iterable[str], left: str, right: str) -> exp.Expr:
    """Return the condition that two relations agree in all columns; TRUE when there are none."""
    return both(equal(column(name, left), column(name, right)) for name in columns)


def either_bits(parts: Sequence[exp.Expr]) -> exp.Expr:
    """Return ``a | b | …``; 0 when there are none."""
    return reduce(lambda left, right: exp.BitwiseOr(this=left, expression=right), parts) if parts else bigint(number(0))


def every_bit(parts: Sequence[exp.Expr]) -> exp.Expr:
    """Return ``a & b & …`` of one part or more."""
    return reduce(lambda left, right: exp.BitwiseAnd(this=left, expression=right), parts)


def count_rows() -> exp.Count:
    """Return ``COUNT(*)``."""
    return exp.Count(this=exp.Star())


def count_distinct(value: exp.Expr) -> exp.Count:
    """Return ``COUNT(DISTINCT value)``: NULL does not count."""
    return exp.Count(this=exp.Distinct(expressions=[value]))


def row_number(*order: exp.Expr, partition: Sequence[exp.Expr] = ()) -> exp.Window:
    """Return ``ROW_NUMBER() OVER (PARTITION BY … ORDER BY … NULLS LAST)``; without an order, any numbers."""
    window = exp.Window(this=exp.RowNumber(), partition_by=list(partition))
    if order:
        ordered = [exp.Ordered(this=item, nulls_first=False) for item in order]
        window.set("order", exp.Order(expressions=ordered))
    return window


def count_if(condition: exp.Expr) -> exp.Expr:
    """Count the rows that meet ``condition``, portably: SUM over a CASE."""
    return total(when(condition, number(1), number(0)))


def sum_if(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Return the sum of ``value`` over the rows that meet ``condition``, 0 when there are none."""
    return total(when(condition, value, number(0)))


def greatest(first: exp.Expr, *others: exp.Expr) -> exp.Expr:
    """Return the largest of some values, none of them NULL."""
    return exp.Greatest(this=first, expressions=list(others), ignore_nulls=True)


def total(value: exp.Expr) -> exp.Expr:
    """Return ``CAST(COALESCE(SUM(value), 0) AS BIGINT)``."""
    return bigint(or_zero(exp.Sum(this=value)))


def wide_sum(value: exp.Expr) -> exp.Expr:
    """Return a sum of squares or products of counts: beyond 64 bits on large data."""
    return exp.cast(or_zero(exp.Sum(this=value)), "HUGEINT", copy=False)


def cte(name: str, query: exp.Query, *, materialized: bool = False, computed_first: bool = False) -> exp.CTE:
    """Return ``"name" AS (query)``.

    Args:
        materialized: its rows are kept while the statement runs.
        computed_first: nothing that is joined to it is joined before its own relations are. A planner that would do
            otherwise has a fence written for it; its rows need not be kept.
    """
    part = exp.CTE(
        this=query,
        alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)),
        materialized=materialized or None,
    )
    part.meta.update({COMPUTED_FIRST: True} if computed_first else {})
    return part


def drop_columns(query: exp.Select, unwanted: Collection[str]) -> None:
    """Remove the projections that nothing reads from a query, in place."""
    query.set("expressions", [item for item in query.expressions if item.alias_or_name not in unwanted])


def with_ctes(query: exp.Query, ctes: list[exp.CTE]) -> exp.Query:
    """Return ``WITH … query``."""
    query.set("with_", exp.With(expressions=ctes))
    return query


def keys(words: int, table_name: str | None = None) -> list[exp.Column]:
    """Return the key columns of a grain."""
    return [column(names.key(word), table_name) for word in range(words)]


def masked_keys(masks: Iterable[exp.Expr], table_name: str | None = None) -> list[exp.Expr]:
    """Return the bits of the key columns of a grain that the masks, one a word, keep."""
    return [masked(column(names.key(word), table_name), mask) for word, mask in enumerate(masks)]


def as_keys(parts: Iterable[exp.Expr]) -> list[exp.Alias]:
    """Return the parts under the names of the key columns, in the order of the words."""
    return [named(part, names.key(word)) for word, part in enumerate(parts)]


def rolled_up(relation: exp.Expr, parts: Sequence[exp.Expr], *by: exp.Expr, owner: str | None = None) -> exp.Select:
    """Return the records of a grain added up by what is left of its key.

    ``SELECT by…, part AS key_<word>…, SUM(n) AS n FROM relation GROUP BY by…, part…``

    Args:
        owner: the relation that holds ``n``, where the caller joins others to it.
    """
    return (
        exp.select(*by, *as_keys(parts), named(total(column(names.COUNT, owner)), names.COUNT))
        .from_(relation)
        .group_by(*[item.copy() for item in (*by, *parts)])
    )


def mask_columns(words: int, table_name: str) -> list[exp.Column]:
    """Return the columns of a table of masks, one a word."""
    return [column(names.mask(word), table_name) for word in range(words)]


def with_id(query: exp.Select) -> exp.Select:
    """Return ``query`` with one column before the others, ``id``: the number of the row."""
    query.set("expressions", [named(exp.cast(row_number(), "INTEGER"), "id"), *query.expressions])
    return query


def canonical(name: str, type_name: str, table_name: str | None = None) -> exp.Expr:
    """Return the canonical text of a source column, by which it meets its hierarchy.

    Values that are equal have one text: floats are added to 0 first, so that -0.0 reads like 0.0, NaN has no sign
    (DuckDB writes that of inf - inf, on some processors, as -nan), and a DECIMAL without a scale of its own, in which
    each value has its own, loses the zeros at its end (1.00 reads like 1). Texts are compared byte by byte, whatever
    the collation of their column: every engine writes a cast to VARCHAR so. NULL stays NULL.
    """
    return _without_sign(exp.cast(_one_of_equals(column(name, table_name), type_name), "VARCHAR"), type_name)


def own_text(name: str, type_name: str, table_name: str | None = None) -> exp.Expr:
    """Return the canonical text of a source column; texts are equal where the values of the column are.

    A collation that ignores case makes one of texts that differ in case.
    """
    return _without_sign(exp.cast(_one_of_equals(column(name, table_name), type_name), "TEXT"), type_name)


def _without_sign(text: exp.Expr, type_name: str) -> exp.Expr:
    """Return the text of a float without the sign that NaN may have."""
    if type_name.upper() not in FLOATS:
        return text
    signed, plain = exp.Literal.string("-nan"), exp.Literal.string("nan")
    return exp.Replace(this=text, expression=signed, replacement=plain)


def _one_of_equals(value: exp.Expr, type_name: str) -> exp.Expr:
    if type_name.upper() in FLOATS:
        return exp.Add(this=value, expression=number(0))
    return exp.Anonymous(this=TRIMMED, expressions=[value]) if type_name.upper() == "DECIMAL" else value


def normal_text(text: str, *, cased: bool = False) -> str:
    """Return the normal form of a key or a name: in NFKC, in lower case (unless ``cased``), without blanks at its ends
    and what no font shows. ``Ministry ``, ``ministry`` and fullwidth letters are one text."""
    shown = unicodedata.normalize("NFKC", text.translate(blanks()))
    return unicodedata.normalize("NFKC", shown if cased else shown.casefold()).strip()


JOINERS = (0x034F, *range(0xFE00, 0xFE10))
"""Characters that no font shows, beside those of the category Cf: the grapheme joiner and variation selectors."""


@cache
def blanks() -> dict[int, str | None]:
    """Return what stands for white space, a blank, and for the characters that no font shows, which is nothing."""
    every = [code for code in range(0xFFFF) if not 0xD800 <= code < 0xE000]
    shown: dict[int, str | None] = {code: " " for code in every if chr(code).isspace()}
    return shown | {code: None for code in every if unicodedata.category(chr(code)) == "Cf" or code in JOINERS}


@cache
def widths() -> dict[int, str | None]:
    """Return, beside ``blanks``, what stands for a fullwidth or halfwidth character."""
    wide = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFF01, 0xFFEF)}
    return {code: text for code, text in wide.items() if len(text) == 1 and text != chr(code)} | blanks()


def translated(text: str, characters: Mapping[int, str | None]) -> str:
    """Return SQL that replaces single characters of a text, itself SQL; what has nothing in its place is removed."""
    replaced = {chr(code): new for code, new in characters.items() if new is not None}
    removed = "".join(chr(code) for code, new in characters.items() if new is None)
    old, new = (
        exp.Literal.string(part).sql("postgres") for part in ("".join(replaced) + removed, "".join(replaced.values()))
    )
    return f"TRANSLATE({text}, {old}, {new})"


def differs(value: exp.Expr) -> exp.Expr:
    """Return 1 where the records of a group hold several values, NULL being one; otherwise 0."""
    held, low, high = (kind(this=value.copy()) for kind in (exp.Count, exp.Min, exp.Max))
    alike = exp.or_(equal(held, number(0)), exp.and_(equal(held.copy(), count_rows()), equal(low, high)))
    return when(alike, number(0), number(1))
