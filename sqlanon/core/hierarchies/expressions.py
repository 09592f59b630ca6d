"""The small SQL expressions that builders of hierarchies share, as sqlglot trees.

They keep to what every engine has, and most warehouses: no pattern is matched, and no length is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import sqlglot
from sqlglot import exp

from sqlanon.core.sqltrees.trees import both, when

ROOT = "*"
DIGITS = tuple("0123456789")


def unless_null(value: exp.Expr, result: exp.Expr) -> exp.Expr:
    """Return an expression that is NULL where the value is."""
    missing = exp.Is(this=value.copy(), expression=exp.null())
    return when(missing, exp.null(), result)


def literal(text: str) -> exp.Expr:
    """Return a text."""
    return exp.Literal.string(text)


def first(value: exp.Expr, count: int) -> exp.Expr:
    """Return the first characters of a text."""
    return exp.Left(this=value.copy(), expression=exp.Literal.number(count))


def character_at(value: exp.Expr, place: int) -> exp.Expr:
    """Return one character of a text, the first at 1; the empty text beyond its end."""
    return exp.Substring(this=value.copy(), start=exp.Literal.number(place), length=exp.Literal.number(1))


def among_texts(value: exp.Expr, texts: Iterable[str]) -> exp.Expr:
    """Return the condition that a text is one of some."""
    return exp.In(this=value.copy(), expressions=[literal(text) for text in texts])


def are_digits(value: exp.Expr, places: Iterable[int]) -> exp.Expr:
    """Return the condition that a text has digits at some places."""
    return both([among_texts(character_at(value, place), DIGITS) for place in places])


def joined(*parts: exp.Expr) -> exp.Expr:
    """Return the texts one after another."""
    return exp.Concat(expressions=list(parts), safe=False, coalesce=False)


def number_in_text(value: exp.Expr) -> exp.Expr:
    """Return the number that a text is, as DOUBLE; NULL for other texts, NaN and infinities among them.

    What remains of a number without its digits is a sign, a point, both or nothing.
    """
    rest = value.copy()
    for digit in DIGITS:
        rest = exp.Anonymous(this="REPLACE", expressions=[rest, literal(digit), literal("")])
    written = among_texts(rest, ("", "-", "+", ".", "-.", "+."))
    return when(written, exp.TryCast(this=value.copy(), to=exp.DataType.build("DOUBLE", dialect="duckdb")))


@cache
def _template(sql: str) -> exp.Expr:
    return sqlglot.parse_one(sql, dialect="duckdb")


def bind_template(sql: str, integer: str = "INT128", /, **parts: exp.Expr | int | str) -> exp.Expr:
    """Return a template with its placeholders replaced on the tree; integers are cast to a type, texts are literals."""

    def replace(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Placeholder):
            return node
        part = parts[node.name]
        if isinstance(part, int):
            return exp.cast(exp.convert(part), integer)
        return exp.Literal.string(part) if isinstance(part, str) else exp.paren(part.copy(), copy=False)

    return _template(sql).transform(replace)
