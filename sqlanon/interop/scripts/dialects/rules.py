"""The rules of dialects: each turns a node into one that means the same."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from sqlglot import exp

from sqlanon.core.engines.rendering import same_texts
from sqlanon.core.sqltrees.trees import number, when
from sqlanon.interop.scripts.dialects.base import DECIMAL_INTERVALS, VERBATIM, WEEKS, Rewrite, Rule

PATTERNS = ("%Y-%m-%d", "%Y-%m", "%Y", "%G-W%V")
"""The formats of dates in hierarchies, the last of them of weeks."""


def function(name: str, *arguments: str) -> Rewrite:
    """Call ``name`` with the named arguments of the node, in this order; absent ones are left out."""

    def rewritten(node: exp.Expr) -> exp.Expr:
        return call(name, *[node.args[argument] for argument in arguments if node.args.get(argument) is not None])

    return rewritten


def operator(name: str) -> Rewrite:
    """Call ``name`` with both operands, without the parentheses that an operator needs."""

    def rewritten(node: exp.Expr) -> exp.Expr:
        return call(name, node.this.unnest(), node.expression.unnest())

    return rewritten


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """Return ``name(…)``, as it is written."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def in_double(node: exp.Expr) -> exp.Expr:
    """Divide in DOUBLE: some databases truncate quotients of integers, others round those of decimals."""
    left = node.this
    while isinstance(left, exp.Paren):
        left = left.this
    if not (isinstance(left, exp.Cast) and left.to.this == exp.DType.DOUBLE):
        node.set("this", exp.cast(node.this.unnest(), "DOUBLE"))
    return node


def exact_quotient(node: exp.Expr) -> exp.Expr:
    """Return ``(a - a % b) / b``, which rounds like ``//`` where the quotient of decimals is rounded."""
    left, right = node.this, node.expression
    remainder = call("MOD", left.unnest().copy(), right.unnest().copy())
    whole = exp.paren(exp.Sub(this=exp.paren(left.unnest(), copy=False), expression=remainder), copy=False)
    return exp.Div(this=whole, expression=exp.paren(right.unnest(), copy=False), typed=True, safe=True)


def exact_whole_quotient(node: exp.Expr) -> exp.Expr:
    """Return ``exact_quotient`` without the decimal places that a division of decimals gives."""
    return exp.cast(exact_quotient(node), "DECIMAL(38, 0)")


def different_texts(node: exp.Expr) -> exp.Expr:
    """Return the opposite of ``same_texts``."""
    return exp.Not(this=same_texts(node))


def without_nulls(node: exp.Expr) -> exp.Expr:
    """Let GREATEST or LEAST leave NULLs out, in a database where one NULL turns it into NULL."""
    kind = type(node)

    def pair(left: exp.Expr, right: exp.Expr) -> exp.Expr:
        filled_left = exp.Coalesce(this=left.copy(), expressions=[right.copy()])
        filled_right = exp.Coalesce(this=right.copy(), expressions=[left.copy()])
        if _never_null(right):
            return kind(this=filled_left, expressions=[right])
        return kind(this=left if _never_null(left) else filled_left, expressions=[filled_right])

    folded: exp.Expr = reduce(pair, [node.this, *node.expressions])
    return folded


def plain_extreme(node: exp.Expr) -> exp.Expr:
    """Return GREATEST or LEAST as it is, for a database that leaves NULLs out anyway."""
    node.set("ignore_nulls", None)
    return node


def _never_null(node: exp.Expr) -> bool:
    while isinstance(node, exp.Cast | exp.Paren | exp.Neg):
        node = node.this
    return isinstance(node, exp.Literal)


def nulls_by_key(node: exp.Expr) -> exp.Expr:
    """Return ``x IS NULL, x`` for ``x NULLS LAST``, which not every window knows."""
    keys: list[exp.Expr] = []
    for key in node.expressions:
        if not isinstance(key, exp.Ordered):
            keys.append(key)
            continue
        if not key.args.get("desc") and not isinstance(key.this, exp.Is):
            missing = exp.paren(exp.Is(this=key.this.copy(), expression=exp.null()))
            keys.append(exp.Ordered(this=missing, nulls_first=True))
        keys.append(exp.Ordered(this=key.this, desc=key.args.get("desc"), nulls_first=not key.args.get("desc")))
    node.set("expressions", keys)
    return node


def by_text(node: exp.Expr) -> exp.Expr:
    """Return TRY_CAST of the text of a value, for a database that tries texts only."""
    node.set("this", exp.cast(node.this.unnest(), "VARCHAR"))
    return node


def number_cast(node: exp.Expr) -> exp.Expr:
    """Cast the argument to DOUBLE: a logarithm of an exact number would be computed digit by digit."""
    node.set("this", exp.cast(node.this.unnest(), "DOUBLE"))
    return node


def in_capitals(node: exp.Expr) -> exp.Expr:
    """Write a plain name in capitals, as a database stores it that was created without quotes; others as they are."""
    plain = node.name.isascii() and node.name.isidentifier() and node.name == node.name.lower()
    if plain and VERBATIM not in node.meta:
        node.set("this", node.name.upper())
    return node


def placed_in_integers(node: exp.Expr) -> exp.Expr:
    """Cast start and length of SUBSTRING to INT."""
    for name in ("start", "length"):
        if node.args.get(name) is not None:
            node.set(name, exp.cast(node.args[name], "INT"))
    return node


def named_columns(node: exp.Expr) -> exp.Expr:
    """Return ``t.c AS c`` for ``t.c`` in a SELECT, whose column is called ``t.c`` if two tables have a column ``c``."""
    items = [
        exp.Alias(this=item, alias=exp.to_identifier(item.name, quoted=True))
        if isinstance(item, exp.Column) and item.table and not item.is_star
        else item
        for item in node.expressions
    ]
    node.set("expressions", items)
    return node


def plain_part(node: exp.Expr) -> exp.Expr:
    """Leave AS MATERIALIZED out of a WITH: a hint that changes no row."""
    node.set("materialized", None)
    return node


def piped(node: exp.Expr) -> exp.Expr:
    """Return ``a || b || …``."""
    joined: exp.Expr = reduce(lambda left, right: exp.DPipe(this=left, expression=right, safe=True), node.expressions)
    return joined


def periods(name: str, formats: Mapping[str, str], *, format_first: bool = False) -> dict[str, Rule]:
    """Return the rules for texts of dates: calls of ``name`` with the dialect's own formats; weeks may be lacking."""

    def rule(own: str) -> Rewrite:
        def rewritten(node: exp.Expr) -> exp.Expr:
            arguments = [node.this, exp.Literal.string(own)]
            return call(name, *(reversed(arguments) if format_first else arguments))

        return rewritten

    return {pattern: rule(formats[pattern]) if pattern in formats else WEEKS for pattern in PATTERNS}


def extracted(node: exp.Expr) -> exp.Expr:
    """Return ``EXTRACT(YEAR FROM x)``."""
    return exp.Extract(this=exp.var("YEAR" if isinstance(node, exp.Year) else "QUARTER"), expression=node.this)


def first_characters(node: exp.Expr) -> exp.Expr:
    """Return ``SUBSTR(x, 1, n)`` for ``LEFT(x, n)``."""
    return call("SUBSTR", node.this, number(1), node.expression)


def last_characters(node: exp.Expr) -> exp.Expr:
    """Write ``RIGHT(x, n)`` by SUBSTR, in a database where a shorter text has no place -n."""
    kept = int(node.expression.name)
    if not kept:
        return exp.Literal.string("")
    whole = exp.LTE(this=call("LENGTH", node.this.copy()), expression=number(kept))
    return when(whole, node.this.copy(), call("SUBSTR", node.this, number(-kept)))


def padded_by_hand(node: exp.Expr) -> exp.Expr:
    """Write ``RPAD`` and ``LPAD`` by SUBSTR: the text with enough characters, cut to the width."""
    width = int(node.expression.name)
    filling = exp.Literal.string(node.args["fill_pattern"].name * width)
    if not node.args.get("is_left"):
        return call("SUBSTR", exp.DPipe(this=node.this, expression=filling, safe=True), number(1), number(width))
    cut = call("SUBSTR", node.this, number(1), number(width))
    return call("SUBSTR", exp.DPipe(this=filling, expression=cut, safe=True), number(-width))


def padded(right: str, left: str) -> Rewrite:
    """Pad a text by the functions of these names."""

    def rewritten(node: exp.Expr) -> exp.Expr:
        name = left if node.args.get("is_left") else right
        return call(name, node.this, node.expression, node.args["fill_pattern"])

    return rewritten


def truncating(node: exp.Expr) -> exp.Expr:
    """Return ``/`` between integers, which truncates."""
    return exp.Div(this=node.this, expression=node.expression, typed=True, safe=True)


def greatest_value(node: exp.Expr) -> exp.Expr:
    """Return MAX for ANY_VALUE: any of the values will do."""
    return exp.Max(this=node.this)


def year_of_text(node: exp.Expr) -> exp.Expr:
    """Return the year of a date that is a text."""
    return exp.cast(call("STRFTIME", exp.Literal.string("%Y"), node.this), "BIGINT")


def quarter_of_text(node: exp.Expr) -> exp.Expr:
    """Return the quarter of a date that is a text: ``(month + 2) / 3``."""
    month = exp.cast(call("STRFTIME", exp.Literal.string("%m"), node.this), "BIGINT")
    later = exp.paren(exp.Add(this=month, expression=number(2)))
    return exp.Div(this=later, expression=number(3), typed=True, safe=True)


WAREHOUSE: Mapping[type[exp.Expr], Rule] = {
    exp.Concat: piped,
    exp.CTE: plain_part,
    exp.Div: in_double,
    exp.Greatest: without_nulls,
    exp.Least: without_nulls,
    exp.RegexpReplace: DECIMAL_INTERVALS,
    exp.Replace: DECIMAL_INTERVALS,
}
"""The rules of most dialects."""
