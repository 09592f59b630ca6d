"""The source of a script: its name in the warehouse, and how it replaces the relation that was planned on."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sqlanon.core.engines.relation_names import relation_parts, table_reference
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import aliased, column
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.interop.scripts.dialects.base import VERBATIM, Dialect

PARTS = ("catalog", "db", "this")
WITH_ENTITY = names.PREFIX + "somebodys"
"""The alias of the records of the source that have an entity."""


def warehouse_table(policy_name: str | None, dialect: Dialect, source_table: str | None) -> exp.Table:
    """Return the table of the warehouse, its names quoted.

    Args:
        policy_name: the table as the policy names it: verbatim, unless it has a dot.
        source_table: its name in the dialect's own syntax, which wins. What is not quoted there keeps its letters, or
            is written in capitals where the dialect stores it so.

    Raises:
        InputError: no table is named, or the name cannot be read as that of one.
    """
    written = source_table or policy_name
    if not written:
        raise InputError(
            "The policy reads a file, and no table of the warehouse is named.", hint="add --source-table NAME."
        )
    parts = relation_parts(written, dialect.writes, alone=not source_table)
    relation = table_reference(parts)
    if source_table and exp.Identifier in dialect.rules:
        for part, given in zip(relation.parts, exp.to_table(source_table, dialect=dialect.writes).parts, strict=True):
            part.set("this", part.name if given.args.get("quoted") else part.name.upper())
            part.meta[VERBATIM] = True
    return relation


def parts_of(relation: exp.Table) -> tuple[str, ...]:
    """Return the names of a relation, from the outermost."""
    return tuple(part.name for part in relation.parts)


def with_entity(source: exp.Table, entity: str) -> exp.Expr:
    """Return the records of ``source`` that have an entity: where entities are counted, NULL is none."""
    known = exp.Not(this=exp.Is(this=column(entity), expression=exp.null()))
    return exp.select("*").from_(source.copy()).where(known).subquery(exp.to_identifier(WITH_ENTITY, quoted=True))


def replace_source(tree: exp.Expr, source: exp.Expr, wanted: exp.Expr, own: Mapping[str, str]) -> exp.Expr:
    """Return a copy of ``tree`` that reads ``wanted`` in place of ``source``, and ours by their names in ``own``."""

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Table) and is_source(node, source):
            return aliased(wanted, node.alias) if node.alias else wanted.copy()
        if isinstance(node, exp.Table) and node.name in own:
            node.set("this", exp.to_identifier(own[node.name], quoted=True))
        return node

    return tree.copy().transform(replaced)


def is_source(relation: exp.Expr, source: exp.Expr) -> bool:
    """Return True if both are one relation, by its name or by the function that reads it."""
    if isinstance(relation.this, exp.Identifier) and isinstance(source.this, exp.Identifier):
        return [relation.text(part) for part in PARTS] == [source.text(part) for part in PARTS]
    return bool(relation.this == source.this)


def check_relations(tree: exp.Expr, known: set[tuple[str, ...]]) -> None:
    """Check that every relation is the source, a table of the script, or a part of the statement.

    Raises:
        UnsupportedError: one is not, or a part of the statement has the name of the source.
    """
    inside = {(cte.alias,) for cte in tree.find_all(exp.CTE)}
    clashing = {name.casefold() for (name,) in inside} & {parts[0].casefold() for parts in known if len(parts) == 1}
    if clashing:
        raise UnsupportedError(
            f"A statement has a part of its own that is called {', '.join(map(repr, sorted(clashing)))}, as the table "
            "of the source is.",
            hint="name the table with its schema: --source-table schema.table.",
        )
    target = {id(tree.this)} if isinstance(tree, exp.Create | exp.Insert) else set()
    for relation in tree.find_all(exp.Table):
        within_schema = isinstance(relation.parent, exp.Schema)
        if id(relation) in target or within_schema or isinstance(tree, exp.Drop):
            continue
        if not isinstance(relation.this, exp.Identifier) or parts_of(relation) not in known | inside:
            raise UnsupportedError(
                "A statement of the encoding reads a relation besides the source, which a script cannot carry.",
                hint="make the join, or the subset as a column, a view, and let the policy read that.",
            )
