"""The listed rows of a hierarchy as a table of the database: from a file, a table or the policy, or built in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlanon.compiler import encode
from sqlanon.engines.base import Engine
from sqlanon.engines.duckdb.engine import DuckDBEngine
from sqlanon.engines.duckdb.files import listing_file
from sqlanon.engines.standalone import standalone
from sqlanon.errors import HierarchyError, attempt
from sqlanon.policy import Column
from sqlanon.policy.extensions import NOTHING, Extensions
from sqlanon.policy.hierarchy.builders import levels as builder_levels
from sqlanon.policy.hierarchy.readers import check_rows, read_hierarchy
from sqlanon.policy.hierarchy.specs import (
    ExtensionHierarchy,
    FileHierarchy,
    Groups,
    Levels,
    Redact,
    Suppress,
    TableHierarchy,
)
from sqlanon.source.columns import without_enum
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import canonical, column, count_rows, is_null, named, not_null, or_zero, table


def list_rows(
    engine: Engine,
    position: int,
    spec: Column,
    type_name: str,
    warnings: list[str],
    extensions: Extensions = NOTHING,
) -> int:
    """Create the table of listed rows and return the hierarchy's height."""
    hierarchy = spec.hierarchy
    foreign = None
    if isinstance(hierarchy, ExtensionHierarchy):
        create = partial(extensions.builder(hierarchy.kind), **hierarchy.options)
        foreign = attempt(_builder_of(spec), create, HierarchyError)
    rows: Sequence[tuple[str | None, ...]]
    if isinstance(hierarchy, FileHierarchy):
        rows = read_hierarchy(hierarchy)
    elif isinstance(hierarchy, Levels | Groups):
        rows = hierarchy.rows
    elif isinstance(hierarchy, TableHierarchy):
        rows = table_rows(engine, hierarchy.table, spec.name)
    elif foreign is not None and hasattr(foreign, "rows"):
        rows = _foreign_rows(engine, position, spec, foreign)
    elif hierarchy is None:  # a sensitive column: its values, without levels above them
        engine.create("list values", names.listed(position), encode.listed_from_builder(position, []))
        return 1
    else:
        return _list_built(engine, position, spec, type_name, foreign)
    checked = check_rows(rows, spec.name)
    if checked.collapsed:
        warnings.append(
            f"The hierarchy of column {spec.name!r} lists {checked.collapsed} identical rows more than once; "
            "they count once."
        )
    height = len(checked.rows[0])
    data = pa.table(
        {names.level(i): pa.array(items, pa.string()) for i, items in enumerate(zip(*checked.rows, strict=True))}
        | {"place": pa.array(range(len(checked.rows)), pa.int64())}
    )
    engine.load("load hierarchy", names.listed(position), data)
    return height


def refuse_header(engine: Engine, position: int, spec: Column, height: int) -> None:
    """Raise HierarchyError if the first row of a hierarchy file reads like the names of its levels.

    The hierarchy has two roots, one of them in this row only; no text of the row stands in another one, and the column
    has no such value.
    """
    hierarchy = spec.hierarchy
    if not isinstance(hierarchy, FileHierarchy) or hierarchy.header is not None or height == 1:
        return
    if engine.run("check header", encode.header_rows(position, height))[0][0]:
        raise HierarchyError(
            f"The first line of the hierarchy file {hierarchy.path.name!r} of column {spec.name!r} reads like a "
            "header: its texts stand nowhere else in the file, and the column has no such value.",
            hint="say header: true beside the file, or remove the line; header: false says that it is a row.",
        )


def table_rows(engine: Engine, name: str, column_name: str) -> list[tuple[str | None, ...]]:
    """Return the rows of a hierarchy that is a table, as canonical texts.

    Raises:
        HierarchyError: it is empty.
        EngineError: it cannot be read.
    """
    relation = engine.source_table(name)
    available = engine.columns(relation)
    query = exp.select(*[canonical(item, type_name) for item, type_name in available]).from_(relation)
    rows = engine.run("read hierarchy", query)
    if not rows:
        raise HierarchyError(
            f"The hierarchy table of column {column_name!r} is empty.", hint="fill it, or name another table."
        )
    return rows


def _foreign_rows(engine: Engine, position: int, spec: Column, builder: Any) -> Sequence[tuple[str | None, ...]]:
    """Return an extension's rows for the distinct texts of a column; the errors of its builder may quote them."""
    query = exp.select(column("value")).from_(table(names.distinct_values(position)))
    query = query.where(not_null(column("value"))).order_by(column("value"))
    values = [row[0] for row in engine.run("values to build", query)]
    if not values:
        return [(None,)]
    rows = attempt(_builder_of(spec), lambda: list(builder.rows(values)), HierarchyError)
    texts = all(isinstance(row, tuple | list) and all(isinstance(text, str) for text in row) and row for row in rows)
    if not texts:
        raise HierarchyError(
            f"{_builder_of(spec)} returns rows that are no tuples of texts.",
            hint="a row is (value, level 1, level 2, …), all of them str.",
        )
    return [tuple(row) for row in rows]


def _builder_of(spec: Column) -> str:
    return f"The hierarchy builder of column {spec.name!r}"


def _list_built(engine: Engine, position: int, spec: Column, type_name: str, foreign: Any) -> int:
    values = names.distinct_values(position)
    lengths = exp.select(or_zero(exp.Max(this=exp.Length(this=column("value"))))).from_(table(values))
    has_width = isinstance(spec.hierarchy, Redact) and spec.hierarchy.width is not None
    longest = 1 if has_width else engine.run("longest value", lengths)[0][0]
    wants_text = isinstance(spec.hierarchy, Redact | Suppress) or getattr(foreign, "by_text", False)
    by_text = without_enum(type_name) == "VARCHAR" or wants_text
    assert spec.hierarchy is not None
    value = column("value") if by_text else column("raw")
    build = partial(builder_levels, spec.hierarchy) if foreign is None else partial(_foreign_levels, spec, foreign)
    expressions = build(value, "VARCHAR" if by_text else type_name, longest=max(int(longest), 1))
    query = encode.listed_from_builder(position, expressions)
    listed = names.listed(position)
    engine.compute("build hierarchy", listed, query, over=values, of=spec.name, type_name=type_name, by_text=by_text)
    height = len(expressions) + 1
    if foreign is not None:
        _refuse_missing_levels(engine, position, spec, height)
    if height > 1:
        conflicts = engine.run("check tree", encode.tree_conflicts(position, height))[0]
        for level, count in enumerate(conflicts):
            if count:
                raise HierarchyError(
                    f"The hierarchy built for column {spec.name!r} is not a tree: {count} values of level {level} "
                    f"belong to several values of level {level + 1}.",
                    hint="choose a mask character or bounds that do not occur in the values.",
                )
    return height


def _refuse_missing_levels(engine: Engine, position: int, spec: Column, height: int) -> None:
    """Raise HierarchyError if a NULL stands above a value: it would join the branch of NULL, unseen by the check of the
    tree."""
    missing = [is_null(column(names.level(level))) for level in range(1, height)]
    query = exp.select(count_rows()).from_(table(names.listed(position))).where(exp.or_(*missing))
    count = engine.run("check levels", query)[0][0] if missing else 0
    if count:
        raise HierarchyError(
            f"{_builder_of(spec)} returns no text on some level for {count} values.",
            hint="let every level be a text where the value is not NULL.",
        )


def _foreign_levels(spec: Column, builder: Any, value: exp.Expr, type_name: str, *, longest: int) -> list[exp.Expr]:
    """Return the expressions of a builder from outside the package, as texts."""
    build = partial(builder.levels, value, type_name, longest=longest)
    levels = attempt(_builder_of(spec), lambda: list(build()), HierarchyError)
    if not all(isinstance(item, exp.Expr) for item in levels):
        raise HierarchyError(
            f"{_builder_of(spec)} returns levels that are no SQL expressions.", hint="return sqlglot expressions."
        )
    return [exp.cast(item, "VARCHAR") for item in levels]


def uncovered_query(engine: Engine, source: exp.Expr, spec: Column, type_name: str) -> str:
    """Return a query for the operator that lists the values of a column that its hierarchy does not.

    A file is compared where the database reads files; elsewhere all values are listed.
    """
    text = canonical(spec.name, type_name)
    query = exp.select(named(text, "value"), named(count_rows(), "records")).from_(source.copy())
    query = query.where(not_null(text.copy()))
    hierarchy = spec.hierarchy
    listed: exp.Select | None = None
    if isinstance(hierarchy, FileHierarchy) and isinstance(engine, DuckDBEngine):
        listed = exp.select(column("listed")).from_(listing_file(hierarchy.path, hierarchy.delimiter))
        listed = listed.where(not_null(column("listed")))
    elif isinstance(hierarchy, TableHierarchy):
        relation = engine.source_table(hierarchy.table)
        value, kind = engine.columns(relation)[0]
        listed = exp.select(canonical(value, kind)).from_(relation)
        listed = listed.where(not_null(canonical(value, kind)))
    if listed is not None:
        query = query.where(exp.Not(this=exp.In(this=text.copy(), query=listed.subquery())))
    return standalone(engine, query.group_by(text.copy()))


def list_ancestors(engine: Engine, position: int, rows: Sequence[tuple[str | None, ...]]) -> exp.Expr:
    """Return a table of value, level and ancestor for the levels below the root, as the audits of t-closeness read it.

    A NULL that the hierarchy does not list is a branch of its own below the root.
    """
    if all(row[0] is not None for row in rows):
        rows = [*rows, (None,) * len(rows[0])]
    triples = [(row[0], level, row[level]) for row in rows for level in range(len(row) - 1)]
    data = pa.table(
        {
            "value": pa.array([value for value, _, _ in triples], pa.string()),
            "level": pa.array([level for _, level, _ in triples], pa.int64()),
            "ancestor": pa.array([ancestor for _, _, ancestor in triples], pa.string()),
        }
    )
    engine.load("load hierarchy", names.ancestors(position), data)
    return table(names.ancestors(position))
