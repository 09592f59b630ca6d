"""Says a tree in a dialect, by its table; what the table does not know is refused before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp
from sqlglot.errors import ErrorLevel
from sqlglot.errors import UnsupportedError as NotWritten

from sqlanon.errors import UnsupportedError
from sqlanon.scripts.dialects.base import ARGUMENTS, ASOF, WIDE, Dialect, Lacks, Same

WIDEST = 2**63 - 1
"""The largest integer that every dialect reads as 64 bits."""
UNCHECKED = "use another dialect, and report it: a statement of sqlanon was not checked for this one."


def say(statement: exp.Expr, dialect: Dialect, *, properties: Sequence[exp.Expr] = ()) -> str:
    """The text of ``statement`` in ``dialect``, every identifier quoted.

    Args:
        properties: what CREATE TABLE says of the table, in the dialect.

    Raises:
        UnsupportedError: the dialect lacks something, or a node, an argument or a type was not checked for it.
    """
    tree = typed_functions(statement.copy())
    check(tree, dialect)
    tree = _rewritten(tree, dialect) if dialect.write is None else statement.copy()
    if properties:
        tree.set("properties", exp.Properties(expressions=[item.copy() for item in properties]))
    if dialect.write is not None:
        return dialect.write(tree)
    failure: str | None = None
    try:
        text = tree.sql(
            dialect=dialect.writes, identify=True, pretty=True, comments=False, unsupported_level=ErrorLevel.RAISE
        )
    except NotWritten as error:
        failure = str(error)
    if failure is not None:
        raise UnsupportedError(f"A statement cannot be said in {dialect.title} ({failure}).", hint=UNCHECKED)
    return text


def typed_functions(tree: exp.Expr) -> exp.Expr:
    """The functions that are called by DuckDB's names, as the nodes that sqlglot has for them."""
    for node in reversed(list(tree.find_all(exp.Anonymous))):
        known = exp.func(node.name, *[argument.copy() for argument in node.expressions], dialect="duckdb")
        if not isinstance(known, exp.Anonymous):
            node.replace(known)
    return tree


def check(tree: exp.Expr, dialect: Dialect) -> None:
    """Every node, argument, type and name is one that the dialect's table knows and has.

    Raises:
        UnsupportedError: one is not; names the first.
    """
    for node in tree.walk():
        _check_node(node, dialect)
    check_names((node.name for node in tree.find_all(exp.Identifier)), dialect)


def check_names(names: Iterable[str], dialect: Dialect, *, released: bool = False) -> None:
    """Every name fits the dialect; ``released``: it names a column of the release.

    Raises:
        UnsupportedError: one is too long, or holds a character that the dialect refuses.
    """
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


def _check_node(node: exp.Expr, dialect: Dialect) -> None:
    kind = type(node)
    said = dialect.nodes.get(kind)
    if isinstance(node, exp.Anonymous):
        _refuse(dialect.functions.get(node.name.upper()), f"the function {node.name}", dialect)
        return
    if isinstance(node, exp.Join) and node.method == "ASOF":
        _refuse(Same() if dialect.asof else ASOF, "Join", dialect)
        return
    if isinstance(node, exp.Placeholder):
        raise _unchecked("a placeholder", dialect)
    if isinstance(node, exp.Join) and (node.side not in ("", "LEFT") or node.kind not in ("", "CROSS", "INNER")):
        raise _unchecked(f"a {node.side or node.kind} JOIN", dialect)
    _refuse(said, kind.__name__, dialect)
    unknown = {name for name, value in node.args.items() if value not in (None, False, [])} - ARGUMENTS[kind]
    if unknown:
        raise _unchecked(f"{kind.__name__} with {', '.join(sorted(unknown))}", dialect)
    if isinstance(node, exp.DataType):
        _refuse(dialect.types.get(node.this), f"the type {node.sql(dialect='duckdb')}", dialect)
    if isinstance(node, exp.TimeToStr):
        _refuse(dialect.patterns.get(_pattern(node)), f"the date format {_pattern(node)!r}", dialect)
    whole = isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()
    if whole and not dialect.wide_literals and int(node.name) > WIDEST:
        _refuse(WIDE, node.name, dialect)


def _refuse(said: object, what: str, dialect: Dialect) -> None:
    if said is None:
        raise _unchecked(what, dialect)
    if isinstance(said, Lacks):
        raise UnsupportedError(f"{dialect.title} lacks {said.reason}.", hint=said.hint)


def _unchecked(what: str, dialect: Dialect) -> UnsupportedError:
    return UnsupportedError(f"A statement uses {what}, which is not checked for {dialect.title}.", hint=UNCHECKED)


def _pattern(node: exp.TimeToStr) -> str:
    return str(node.args["format"].name)


def _rewritten(tree: exp.Expr, dialect: Dialect) -> exp.Expr:
    """The tree by the dialect's rules, leaves first, so that a rule meets arguments that are in the dialect already."""
    for node in reversed(list(tree.bfs())):
        new = _said(node, dialect)
        if node is tree:
            tree = new
        elif new is not node:
            node.replace(new)
    return tree


def _said(node: exp.Expr, dialect: Dialect) -> exp.Expr:
    if isinstance(node, exp.DataType):
        name = dialect.types[node.this]
        return exp.DataType.build(name, dialect=dialect.writes) if isinstance(name, str) else node
    if isinstance(node, exp.Anonymous):
        rule = dialect.functions[node.name.upper()]
    elif isinstance(node, exp.TimeToStr):
        rule = dialect.patterns[_pattern(node)]
    else:
        rule = dialect.nodes[type(node)]
    return rule(node) if callable(rule) else node
