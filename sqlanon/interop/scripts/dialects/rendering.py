"""How a tree is written in a dialect; what was not checked for the dialect is refused before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import Dialect as SqlglotDialect
from sqlglot import exp

from sqlanon.core.engines.rendering import SETTINGS, generate
from sqlanon.errors import UnsupportedError
from sqlanon.interop.scripts.dialects.base import ARGUMENTS, ASOF, SAME, WIDE, Dialect, Lacks, Rule, TypeName

WIDEST = 2**63 - 1
"""The largest integer that every dialect reads as 64 bits."""
UNCHECKED = "use another dialect, and report it: a statement of sqlanon was not checked for this one."


def render(statement: exp.Expr, dialect: Dialect, *, properties: Sequence[exp.Expr] = ()) -> str:
    """Return the text of ``statement`` in ``dialect``, every identifier quoted.

    Args:
        properties: the properties of the table in a CREATE TABLE, in the dialect.

    Raises:
        UnsupportedError: the dialect lacks something, or a node, an argument or a type was not checked for it.
    """
    tree = typed_functions(statement.copy())
    check(tree, dialect)
    tree = rewritten(tree, dialect) if dialect.write is None else statement.copy()
    if properties:
        tree.set("properties", exp.Properties(expressions=[item.copy() for item in properties]))
    if dialect.write is not None:
        return dialect.write(tree)
    generator = SqlglotDialect.get_or_raise(dialect.writes).generator(pretty=True, **SETTINGS)
    return generate(generator, tree, dialect.title, hint=UNCHECKED)


def render_rows(statement: exp.Expr, dialect: Dialect) -> str:
    """Return the text of an INSERT of literals, whose nodes need no rule: there may be many.

    Raises:
        UnsupportedError: the dialect cannot write it.
    """
    if dialect.write is not None:
        return dialect.write(statement)
    check_names([statement.this.name], dialect)
    generator = SqlglotDialect.get_or_raise(dialect.writes).generator(pretty=True, **SETTINGS)
    written = exp.Insert(this=rewritten(statement.this.copy(), dialect), expression=statement.expression)
    return generate(generator, written, dialect.title, hint=UNCHECKED)


def typed_functions(tree: exp.Expr) -> exp.Expr:
    """Replace calls of functions by DuckDB's names by the nodes that sqlglot has for them."""
    for node in reversed(list(tree.find_all(exp.Anonymous))):
        known = exp.func(node.name, *[argument.copy() for argument in node.expressions], dialect="duckdb")
        if not isinstance(known, exp.Anonymous):
            node.replace(known)
    return tree


def check(tree: exp.Expr, dialect: Dialect) -> None:
    """Raise UnsupportedError for the first node, argument, type or name that is lacking or was not checked."""
    for node in tree.walk():
        _check_node(node, dialect)
    check_names((node.name for node in tree.find_all(exp.Identifier)), dialect)


def check_names(names: Iterable[str], dialect: Dialect, *, released: bool = False) -> None:
    """Raise UnsupportedError if a name is too long, or a ``released`` column has a character that is refused."""
    for name in names:
        if dialect.longest_name is not None and len(name.encode()) > dialect.longest_name:
            raise UnsupportedError(
                f"{dialect.title}: the name {name!r} is longer than {dialect.longest_name} bytes.",
                hint="use a shorter name in a view of the source.",
            )
        found = sorted(set(name) & set(dialect.refused_characters)) if released else []
        if found:
            raise UnsupportedError(
                f"{dialect.title}: {name!r} cannot be the name of a column, because of {', '.join(map(repr, found))}.",
                hint="rename it in a view of the source.",
            )


def check_distinct(names: Iterable[str], dialect: Dialect) -> None:
    """Raise UnsupportedError if two names are one as the dialect writes them."""
    owners: dict[str, str] = {}
    for name in names:
        stored = rewritten(exp.to_identifier(name, quoted=True), dialect).name
        other = owners.setdefault(stored, name)
        if other != name:
            raise UnsupportedError(
                f"{dialect.title}: the columns {other!r} and {name!r} would both be called {stored!r}.",
                hint="rename one in a view of the source, here and there.",
            )


def _check_node(node: exp.Expr, dialect: Dialect) -> None:
    kind, rule = type(node), dialect.rule(node)
    if isinstance(node, exp.Anonymous):
        _refuse(rule, f"the function {node.name}", dialect)
        return
    if isinstance(node, exp.Join) and node.method == "ASOF":
        _refuse(SAME if dialect.asof else ASOF, "Join", dialect)
        return
    if isinstance(node, exp.Placeholder):
        raise _unchecked("a placeholder", dialect)
    if isinstance(node, exp.Join) and (node.side not in ("", "LEFT") or node.kind not in ("", "CROSS", "INNER")):
        raise _unchecked(f"a {node.side or node.kind} JOIN", dialect)
    is_date_text = isinstance(node, exp.TimeToStr)
    _refuse(rule, f"the date format {node.args['format'].name!r}" if is_date_text else kind.__name__, dialect)
    unknown = {name for name, value in node.args.items() if value not in (None, False, [])} - ARGUMENTS[kind]
    if unknown:
        raise _unchecked(f"{kind.__name__} with {', '.join(sorted(unknown))}", dialect)
    if isinstance(node, exp.DataType):
        _refuse(dialect.types.get(node.this), f"the type {node.sql(dialect='duckdb')}", dialect)
    whole = isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()
    if whole and not dialect.wide_literals and int(node.name) > WIDEST:
        _refuse(WIDE, node.name, dialect)


def _refuse(rule: Rule | TypeName | None, what: str, dialect: Dialect) -> None:
    """Raise UnsupportedError if there is no rule, or the dialect lacks what it is for."""
    if rule is None:
        raise _unchecked(what, dialect)
    if isinstance(rule, Lacks):
        raise UnsupportedError(f"{dialect.title} lacks {rule.reason}.", hint=rule.hint)


def _unchecked(what: str, dialect: Dialect) -> UnsupportedError:
    return UnsupportedError(f"A statement uses {what}, which is not checked for {dialect.title}.", hint=UNCHECKED)


def rewritten(tree: exp.Expr, dialect: Dialect) -> exp.Expr:
    """Return the tree by the dialect's rules, leaves first: a rule meets arguments that are in the dialect already."""
    for node in reversed(list(tree.bfs())):
        new = _rewrite_node(node, dialect)
        if node is tree:
            tree = new
        elif new is not node:
            node.replace(new)
    return tree


def _rewrite_node(node: exp.Expr, dialect: Dialect) -> exp.Expr:
    if isinstance(node, exp.DataType):
        name = dialect.types[node.this]
        return exp.DataType.build(name, dialect=dialect.writes) if isinstance(name, str) else node
    rule = dialect.rule(node)
    return rule(node) if callable(rule) else node
