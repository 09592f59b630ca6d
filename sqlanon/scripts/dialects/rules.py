"""How one node becomes another that means the same: the rules that the tables of the dialects are made of."""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from sqlanon.scripts.dialects.base import Rewrite
from sqlanon.sqltrees.trees import equal, number, when


def function(name: str, *arguments: str) -> Rewrite:
    """A call of ``name`` with the named arguments of the node, in this order; absent ones are left out."""

    def rewritten(node: exp.Expr) -> exp.Expr:
        return call(name, *[node.args[argument] for argument in arguments if node.args.get(argument) is not None])

    return rewritten


def operator(name: str) -> Rewrite:
    """A call of ``name`` with both operands, without the parentheses that an operator needs."""

    def rewritten(node: exp.Expr) -> exp.Expr:
        return call(name, node.this.unnest(), node.expression.unnest())

    return rewritten


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """``name(…)``, as it is written."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def in_double(node: exp.Expr) -> exp.Expr:
    """A division of DOUBLE: of integers some databases truncate it, of decimals others round it."""
    left = node.this
    while isinstance(left, exp.Paren):
        left = left.this
    if not (isinstance(left, exp.Cast) and left.to.this == exp.DType.DOUBLE):
        node.set("this", exp.cast(node.this.unnest(), "DOUBLE"))
    return node


def exact_quotient(node: exp.Expr) -> exp.Expr:
    """``(a - a % b) / b``: rounds like ``//`` where the quotient of decimals is rounded."""
    left, right = node.this, node.expression
    remainder = call("MOD", left.unnest().copy(), right.unnest().copy())
    whole = exp.paren(exp.Sub(this=exp.paren(left.unnest(), copy=False), expression=remainder), copy=False)
    return exp.Div(this=whole, expression=exp.paren(right.unnest(), copy=False), typed=True, safe=True)


def exact_whole_quotient(node: exp.Expr) -> exp.Expr:
    """``exact_quotient`` without the decimal places that a division of decimals gives."""
    return exp.cast(exact_quotient(node), "DECIMAL(38, 0)")


def same_texts(node: exp.Expr) -> exp.Expr:
    """``COALESCE(a, '') = COALESCE(b, '') AND (a IS NULL) = (b IS NULL)``: equalities, which can be hashed.

    Our joins compare texts only.
    """
    left, right = node.this, node.expression
    texts = [exp.Coalesce(this=side.copy(), expressions=[exp.Literal.string("")]) for side in (left, right)]
    nulls = [exp.paren(exp.Is(this=side.copy(), expression=exp.null())) for side in (left, right)]
    pairs = [equal(one, other) for one, other in (texts, nulls)]
    both: exp.Expr = exp.paren(exp.and_(*pairs, copy=False), copy=False)
    return both


def different_texts(node: exp.Expr) -> exp.Expr:
    """The opposite of ``same_texts``."""
    return exp.Not(this=same_texts(node))


def without_nulls(node: exp.Expr) -> exp.Expr:
    """GREATEST or LEAST that leaves NULLs out, where one NULL makes it NULL."""
    kind = type(node)

    def two(left: exp.Expr, right: exp.Expr) -> exp.Expr:
        if _never_null(right):
            return _extreme(kind, exp.Coalesce(this=left, expressions=[right.copy()]), right)
        if _never_null(left):
            return _extreme(kind, left, exp.Coalesce(this=right, expressions=[left.copy()]))
        either = exp.Coalesce(this=left, expressions=[right.copy()])
        other = exp.Coalesce(this=right, expressions=[left.copy()])
        return _extreme(kind, either, other)

    folded: exp.Expr = reduce(two, [node.this, *node.expressions])
    return folded


def plain_extreme(node: exp.Expr) -> exp.Expr:
    """GREATEST or LEAST of a database that leaves NULLs out anyway."""
    node.set("ignore_nulls", None)
    return node


def _extreme(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return kind(this=left, expressions=[right])


def _never_null(node: exp.Expr) -> bool:
    while isinstance(node, exp.Cast | exp.Paren | exp.Neg):
        node = node.this
    return isinstance(node, exp.Literal)


def nulls_by_key(node: exp.Expr) -> exp.Expr:
    """``x IS NULL, x`` for ``x NULLS LAST``, which not every window knows."""
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
    """TRY_CAST of the text of a value, where it takes texts only."""
    node.set("this", exp.cast(node.this.unnest(), "VARCHAR"))
    return node


def number_cast(node: exp.Expr) -> exp.Expr:
    """CAST of the argument to DOUBLE: a logarithm of an exact number would be reckoned digit by digit."""
    node.set("this", exp.cast(node.this.unnest(), "DOUBLE"))
    return node


def placed_in_integers(node: exp.Expr) -> exp.Expr:
    """SUBSTRING with a start and a length of INT."""
    for name in ("start", "length"):
        node.set(name, exp.cast(node.args[name], "INT"))
    return node


def named_columns(node: exp.Expr) -> exp.Expr:
    """``t.c AS c`` for ``t.c`` in a SELECT, whose column is called ``t.c`` where two tables have a column ``c``."""
    items = [
        exp.Alias(this=item, alias=exp.to_identifier(item.name, quoted=True))
        if isinstance(item, exp.Column) and item.table and not item.is_star
        else item
        for item in node.expressions
    ]
    node.set("expressions", items)
    return node


def plain_part(node: exp.Expr) -> exp.Expr:
    """A part of a WITH without AS MATERIALIZED, a hint that changes no row."""
    node.set("materialized", None)
    return node


def materialized_part(node: exp.Expr) -> exp.Expr:
    """A part of a WITH that is computed once."""
    node.set("materialized", True)
    return node


def piped(node: exp.Expr) -> exp.Expr:
    """``a || b || …``."""
    joined: exp.Expr = reduce(lambda left, right: exp.DPipe(this=left, expression=right, safe=True), node.expressions)
    return joined


def period(name: str, text: str, *, format_first: bool = False) -> Rewrite:
    """The text of a date by the function ``name``, which takes the dialect's own format ``text``."""

    def rewritten(node: exp.Expr) -> exp.Expr:
        arguments = [node.this, exp.Literal.string(text)]
        return call(name, *(reversed(arguments) if format_first else arguments))

    return rewritten


def extracted(node: exp.Expr) -> exp.Expr:
    """``EXTRACT(YEAR FROM x)``."""
    return exp.Extract(this=exp.var("YEAR" if isinstance(node, exp.Year) else "QUARTER"), expression=node.this)


def first_characters(node: exp.Expr) -> exp.Expr:
    """``SUBSTR(x, 1, n)`` for ``LEFT(x, n)``."""
    return call("SUBSTR", node.this, number(1), node.expression)


def last_characters(node: exp.Expr) -> exp.Expr:
    """``RIGHT(x, n)`` where a text that is shorter has no place -n."""
    kept = int(node.expression.name)
    if not kept:
        return exp.Literal.string("")
    whole = exp.LTE(this=call("LENGTH", node.this.copy()), expression=number(kept))
    return when(whole, node.this.copy(), call("SUBSTR", node.this, number(-kept)))


def padded_by_hand(node: exp.Expr) -> exp.Expr:
    """``RPAD`` and ``LPAD`` of a database that has neither: the text with as many characters, cut to the width."""
    width = int(node.expression.name)
    filling = exp.Literal.string(node.args["fill_pattern"].name * width)
    if not node.args.get("is_left"):
        return call("SUBSTR", exp.DPipe(this=node.this, expression=filling, safe=True), number(1), number(width))
    cut = call("SUBSTR", node.this, number(1), number(width))
    return call("SUBSTR", exp.DPipe(this=filling, expression=cut, safe=True), number(-width))


def padded(right: str, left: str) -> Rewrite:
    """A padded text by the functions of these names."""

    def rewritten(node: exp.Expr) -> exp.Expr:
        name = left if node.args.get("is_left") else right
        return call(name, node.this, node.expression, node.args["fill_pattern"])

    return rewritten


def always(node: exp.Expr) -> exp.Expr:
    """TRUE: no date is infinite."""
    return exp.true()


def truncating(node: exp.Expr) -> exp.Expr:
    """``/`` between integers, which truncates."""
    return exp.Div(this=node.this, expression=node.expression, typed=True, safe=True)


def greatest_value(node: exp.Expr) -> exp.Expr:
    """MAX for ANY_VALUE: any of the values will do."""
    return exp.Max(this=node.this)


def year_of_text(node: exp.Expr) -> exp.Expr:
    """The year of a date that is a text."""
    return exp.cast(call("STRFTIME", exp.Literal.string("%Y"), node.this), "BIGINT")


def quarter_of_text(node: exp.Expr) -> exp.Expr:
    """The quarter of a date that is a text: ``(month + 2) / 3``."""
    month = exp.cast(call("STRFTIME", exp.Literal.string("%m"), node.this), "BIGINT")
    later = exp.paren(exp.Add(this=month, expression=number(2)))
    return exp.Div(this=later, expression=number(3), typed=True, safe=True)
