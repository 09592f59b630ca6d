"""A statement of a session as a person can paste it: the working tables that it reads become parts of itself.

What a session has created, it has noted in its replay. The tables that a statement reads, and those that they were
created from, stand before it as common table expressions, one a line, so that the statement reads the source alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from sqlanon.core.engines.base import Engine, replayed
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import cte, table, union_all


def standalone(engine: Engine, query: exp.Query) -> str:
    """Return the text of ``query`` for another session of the database, which has none of the working tables."""
    text = engine.portable(standalone_query(engine, query, as_text=True), pretty=True)
    return "\n".join([*engine.before(text), text])


def standalone_query(engine: Engine, query: exp.Query, *, as_text: bool = False) -> exp.Query:
    """Return ``query`` with the working tables that it reads as parts of itself.

    Args:
        as_text: the parts are texts in the engine's SQL, each one line.
    """
    tables = _Tables()
    for _, statement in replayed(engine):
        tables.follow(statement)
    whole = tables.reading(query)
    needed: dict[str, exp.CTE] = {}
    tables.need(engine if as_text else None, whole, needed)
    own = whole.args.get("with_")
    parts = [*needed.values(), *(own.expressions if own is not None else [])]
    if parts:
        recursive = own.args.get("recursive") if own is not None else None
        whole.set("with_", exp.With(expressions=parts, recursive=recursive))
    return whole


@dataclass(slots=True)
class _Tables:
    """The working tables of a session. A table that is filled after it was read, or created again, has versions.

    Attributes:
        current: table -> its latest version.
        parts: version -> the queries whose rows it holds.
        read: versions that another table was created from.
    """

    current: dict[str, str] = field(default_factory=dict)
    parts: dict[str, list[exp.Query]] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)

    def follow(self, statement: exp.Expr) -> None:
        """Note what a statement of the replay has created or filled; others are passed over."""
        query = statement.args.get("expression")
        if not isinstance(statement, exp.Create | exp.Insert) or not isinstance(query, exp.Query):
            return
        name = statement.this.name
        rows = self.reading(query)
        self.read |= set(self._versions(rows))
        before = self.current.get(name)
        if isinstance(statement, exp.Insert) and before is not None and before not in self.read:
            self.parts[before].append(rows)
            return
        version = names.unused(name, self.parts)
        filled = isinstance(statement, exp.Insert) and before is not None
        self.parts[version] = [exp.select("*").from_(table(str(before))), rows] if filled else [rows]
        self.current[name] = version

    def reading(self, query: exp.Query) -> exp.Query:
        """Return a query that reads the latest version of every working table."""
        return _renamed(query.copy(), self.current)

    def need(self, engine: Engine | None, query: exp.Expr, needed: dict[str, exp.CTE]) -> None:
        """Add the versions that a query reads to those that are ``needed``, after those that they rest on."""
        for version in self._versions(query):
            if version in needed:
                continue
            rows = self.parts[version]
            if len(rows) > 1:
                rows = [exp.select("*").from_(part.copy().subquery("part")) for part in rows]
            body = union_all([part.copy() for part in rows])
            self.need(engine, body, needed)
            text = body if engine is None else exp.Var(this=engine.portable(exp.CTE(this=body).this))
            needed[version] = cte(version, text, materialized=True)  # type: ignore[arg-type]

    def _versions(self, query: exp.Expr) -> Iterator[str]:
        """Yield the versions of working tables that a query reads, each once."""
        listed = (item.name for item in query.find_all(exp.Table) if not item.db and item.name in self.parts)
        yield from dict.fromkeys(listed)


def _renamed(query: exp.Query, current: Mapping[str, str]) -> exp.Query:
    """Let a query read other relations by their new names, under the names that its columns use."""
    for item in list(query.find_all(exp.Table)):
        version = current.get(item.name, item.name)
        if not item.db and version != item.name:
            if not item.alias:
                item.set("alias", exp.TableAlias(this=exp.to_identifier(item.name, quoted=True)))
            item.set("this", exp.to_identifier(version, quoted=True))
    return query
