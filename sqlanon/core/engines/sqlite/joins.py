"""The order of joins in SQLite, which this module decides in place of its planner.

The planner guesses from conditions how many rows are left, and guesses wrong: it would begin with every combination of
rows of the lookups, or look through all classes for each record. SQLite documents how to decide the order: a CROSS JOIN
keeps its sides in their places, and so does a LEFT JOIN that is not taken for an inner one (``pinned``). What stands at
the right of a join is then found by an index. SQLite builds one for a statement only where it expects many rows at the
left, and after a GROUP BY it expects a hundred. So our tables get lasting ones (``joined_columns``), and parts of a
statement that are joined or computed once become tables (``parts_as_tables``). Nothing is left to decide, and
nothing is analyzed: of a table without statistics SQLite expects a million rows, and uses the index.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import aliased, column, table, with_ctes

part_prefix = names.PREFIX + "part_"
"""How the names of temporary tables begin that stand for parts of a WITH."""


def pinned(select: exp.Select, *, nested: bool) -> exp.Select:
    """Return a SELECT whose relations are joined in the order in which they are written.

    Args:
        nested: the SELECT is a part of another. LIMIT -1 keeps the planner from merging both, where it would join all
            relations anew, and take a LEFT JOIN for an inner one because of a condition of the other.
    """
    if not select.args.get("joins"):
        return select
    select = select.copy()
    for join in select.args["joins"]:
        if not join.side and not join.method and (join.args.get("on") or join.args.get("using")):
            join.set("kind", "CROSS")
    where = select.args.get("where")
    for part in list(where.this.flatten()) if where is not None else []:
        if isinstance(part, exp.EQ) and part.find_ancestor(exp.Where, exp.Or, exp.Not) is where:
            part.replace(exp.Is(this=part.this.copy(), expression=part.expression.copy()))
    return select.limit(-1, copy=False) if nested and not select.args.get("limit") else select


def parts_as_tables(statement: exp.Expr) -> tuple[list[tuple[str, exp.Query]], exp.Expr]:
    """Return the parts of a statement that are tables of their own, as names and queries in the order in which they are
    created, and the statement that reads them.

    They are the parts of a WITH that are computed once or read twice, and what stands at the right of a join. Other
    parts of a WITH stay where they are; a query that reads one gets a copy of it.
    """
    statement = statement.copy()
    found = statement.expression if isinstance(statement, exp.Create | exp.Insert) else statement
    created: list[tuple[str, exp.Query]] = []
    if isinstance(found, exp.Query):
        _take_parts(found, [], created)
    return created, statement


def _take_parts(query: exp.Query, before: list[exp.CTE], created: list[tuple[str, exp.Query]]) -> None:
    """Replace the parts of ``query`` by tables, in place, and add these to ``created``.

    Args:
        before: the CTEs around the query that it may read.
    """
    before = list(before)
    clause = query.args.get("with_")
    if clause is not None:
        if clause.recursive:
            return
        kept = []
        for part in list(clause.expressions):
            _take_parts(part.this, before, created)
            read = sum(relation.name == part.alias for relation in query.find_all(exp.Table))
            if part.args.get("materialized") or read > 1:
                part.pop()
                _read_table(query, part.alias, _take(part.alias, part.this, before, created))
            else:
                kept.append(part)
                before.append(part)
        query.set("with_", exp.With(expressions=kept) if kept else None)
    for inner in _inner_queries(query):
        if not isinstance(inner, exp.Subquery):
            _take_parts(inner, before, created)
            continue
        _take_parts(inner.this, before, created)
        if isinstance(inner.parent, exp.Join) and inner.alias:
            inner.replace(aliased(table(_take(inner.alias, inner.this, before, created)), inner.alias))


def _inner_queries(query: exp.Query) -> list[exp.Query]:
    """Return the queries that a query reads rows from or consists of; those within an expression may depend on it."""
    if isinstance(query, exp.SetOperation):
        return [query.this, query.expression]
    if isinstance(query, exp.Subquery):
        return [query.this]
    source = query.args.get("from_")
    relations = [*([source.this] if source is not None else []), *[join.this for join in query.args.get("joins") or []]]
    return [relation for relation in relations if isinstance(relation, exp.Subquery)]


def _take(part: str, query: exp.Query, before: list[exp.CTE], created: list[tuple[str, exp.Query]]) -> str:
    """Add a part to ``created`` and return the name of its table."""
    name = names.unused(part_prefix + part, [name for name, _ in created])
    read: list[exp.CTE] = []
    wanted = {relation.name for relation in query.find_all(exp.Table)}
    for other in reversed(before):
        if other.alias in wanted:
            read.insert(0, other.copy())
            wanted |= {relation.name for relation in other.find_all(exp.Table)}
    query = query.copy()
    own = query.args.get("with_")
    created.append((name, with_ctes(query, [*read, *(own.expressions if own is not None else [])]) if read else query))
    return name


def _read_table(query: exp.Expr, part: str, name: str) -> None:
    """Let what reads the part read the table ``name`` under the same alias, in place."""
    for relation in list(query.find_all(exp.Table)):
        if relation.name == part and not relation.db:
            relation.replace(aliased(table(name), relation.alias or part))


def joined_columns(statement: exp.Expr) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the tables of ours that stand at the right of a join, each with the columns by which its rows are found."""
    for join in statement.find_all(exp.Join):
        relation = join.this
        if not isinstance(relation, exp.Table) or relation.db or not relation.name.startswith(names.PREFIX):
            continue
        found = [name.name for name in join.args.get("using") or []]
        on = join.args.get("on")
        for part in on.flatten() if isinstance(on, exp.And) else [on]:
            found += _found_by(part, relation.alias_or_name)
        if found:
            yield relation.name, tuple(dict.fromkeys(found))


def _found_by(condition: exp.Expr | None, relation: str) -> Iterator[str]:
    """Yield the column of ``relation`` that a condition compares with what is known before."""
    if not isinstance(condition, exp.EQ | exp.NullSafeEQ | exp.GTE):
        return
    sides = [condition.this, condition.expression]
    for own, other in (sides, sides[::-1]):
        known = all(item.table != relation for item in other.find_all(exp.Column))
        if isinstance(own, exp.Column) and own.table == relation and known:
            yield own.name
            return


def index_on(relation: str, columns: tuple[str, ...]) -> exp.Create:
    """Return the statement that creates the index of a table of ours; both are dropped together."""
    parameters = exp.IndexParameters(columns=[column(name) for name in columns])
    name = exp.to_identifier("_".join((relation, "by", *columns)), quoted=True)
    return exp.Create(this=exp.Index(this=name, table=table(relation), params=parameters), kind="INDEX", exists=True)
