"""The listed rows of a hierarchy as a table of the database: from a file, a table or the policy, or built in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler import hierarchies
from sqlanon.core.compiler.hierarchies import CountedColumn
from sqlanon.core.engines.base import Computed, Engine
from sqlanon.core.engines.columns import text_column, whole_column
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.duckdb.files import listing_file
from sqlanon.core.engines.standalone import standalone
from sqlanon.core.hierarchies.builders import ReadValue, levels_of_read, reading
from sqlanon.core.hierarchies.readers import CheckedRows, check_rows, read_hierarchy
from sqlanon.core.hierarchies.specs import (
    Ages,
    Codes,
    Dates,
    ExtensionHierarchy,
    FileHierarchy,
    FrequentValues,
    Groups,
    HierarchySpec,
    Intervals,
    Levels,
    Rows,
    TableHierarchy,
    Zip3,
    reads_texts,
)
from sqlanon.core.policy import Column
from sqlanon.core.policy.extensions import NOTHING, Extensions
from sqlanon.core.source.columns import without_enum
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import canonical, column, count_rows, named, not_null, table
from sqlanon.errors import HierarchyError, attempt


@dataclass(frozen=True, slots=True)
class ListedColumn:
    """A column whose hierarchy is listed.

    Attributes:
        counted: its name and type, and where its values stand.
        longest: the length of its longest value, in characters; 1 where no level depends on it.
    """

    spec: Column
    counted: CountedColumn
    longest: int = 1


def list_rows(
    engine: Engine,
    columns: Mapping[int, ListedColumn],
    warnings: list[str],
    extensions: Extensions = NOTHING,
    *,
    kept: dict[int, Rows] | None = None,
) -> dict[int, int]:
    """Create the table of listed rows of all columns, and return the heights of their hierarchies, by position.

    Args:
        kept: receives the rows of the hierarchies that list their values, by position.
    """
    foreign = {i: _foreign(item.spec, extensions) for i, item in columns.items()}
    given = {i: check_rows(rows, columns[i].spec.name) for i, rows in _given_rows(engine, columns, foreign).items()}
    for position, checked in given.items():
        if checked.collapsed:
            warnings.append(
                f"The hierarchy of column {columns[position].spec.name!r} lists {checked.collapsed} identical rows "
                "more than once; they count once."
            )
    if kept is not None:
        kept |= {i: checked.rows for i, checked in given.items() if foreign[i] is None}
    built = {i: _levels(i, item, foreign[i]) for i, item in columns.items() if i not in given}
    heights = {i: len(checked.rows[0]) for i, checked in given.items()}
    heights |= {i: 1 + len(expressions) for i, expressions in built.items()}
    tallest = max(heights.values(), default=1)
    if given:
        engine.load("load hierarchies", names.LISTED, _as_table(given, tallest))
    if built:
        _compute(engine, columns, built, tallest, foreign, more=bool(given))
        _refuse_built(engine, columns, {i: heights[i] for i in built}, [i for i in built if foreign[i] is not None])
    return heights


def list_rows_of_others(
    engine: Engine, columns: Mapping[int, ListedColumn], heights: Mapping[int, int], extensions: Extensions = NOTHING
) -> None:
    """Add the rows of computed hierarchies for the values that only the population has (``encode.branches``).

    A hierarchy that lists its values has their rows already, or they are uncovered.

    Args:
        columns: the quasi-identifiers, by position.
        heights: of the hierarchies of all columns, by position.
    """
    foreign = {i: _foreign(item.spec, extensions) for i, item in columns.items()}
    built = {
        i: _levels(i, item, foreign[i])
        for i, item in columns.items()
        if not isinstance(item.spec.hierarchy, FileHierarchy | TableHierarchy | Levels | Groups)
        and not (foreign[i] is not None and hasattr(foreign[i], "rows"))
    }
    if built:
        _compute(engine, columns, built, max(heights.values()), foreign, more=True, of_population=True)
        _refuse_built(engine, columns, {i: heights[i] for i in built}, [i for i in built if foreign[i] is not None])


def _compute(
    engine: Engine,
    columns: Mapping[int, ListedColumn],
    built: Mapping[int, list[exp.Expr]],
    tallest: int,
    foreign: Mapping[int, Any],
    *,
    more: bool,
    of_population: bool = False,
) -> None:
    """Add the rows of computed hierarchies to the listed ones, which there are where there is ``more``."""
    read = {i: _read_before(i, columns[i], found) for i in built if (found := _reading(columns[i])) is not None}
    partial = [i for i in built if may_lack_rows(columns[i].spec.hierarchy, columns[i].counted.type)]
    query = hierarchies.listed_from_builders(built, tallest, read=read, partial=partial, of_population=of_population)
    computed = {
        i: Computed(columns[i].counted.name, columns[i].counted.type, _by_text(columns[i], foreign[i])) for i in built
    }
    engine.compute("build hierarchies", names.LISTED, query, computed, more=more)


def _foreign(spec: Column, extensions: Extensions) -> Any:
    """Return the builder of an extension's hierarchy, None for another."""
    if not isinstance(spec.hierarchy, ExtensionHierarchy):
        return None
    create = partial(extensions.builder(spec.hierarchy.kind), **spec.hierarchy.options)
    return attempt(_builder_of(spec), create, HierarchyError)


def _given_rows(
    engine: Engine, columns: Mapping[int, ListedColumn], foreign: Mapping[int, Any]
) -> dict[int, Sequence[tuple[str | None, ...]]]:
    """Return the rows of the hierarchies that are not computed by the database, by position."""
    given: dict[int, Sequence[tuple[str | None, ...]]] = {}
    with_rows = [i for i, builder in foreign.items() if builder is not None and hasattr(builder, "rows")]
    texts: dict[int, list[str]] = {i: [] for i in with_rows}
    if with_rows:
        for position, text in engine.run("values to build", hierarchies.texts_of(with_rows)):
            texts[int(position)].append(text)
    for position, item in columns.items():
        hierarchy = item.spec.hierarchy
        if isinstance(hierarchy, FileHierarchy):
            given[position] = read_hierarchy(hierarchy)
        elif isinstance(hierarchy, Levels | Groups):
            given[position] = hierarchy.rows
        elif isinstance(hierarchy, TableHierarchy):
            given[position] = table_rows(engine, hierarchy.table, item.spec.name)
        elif position in texts:
            given[position] = _foreign_rows(item.spec, foreign[position], texts[position])
    return given


def _as_table(given: Mapping[int, CheckedRows], tallest: int) -> pa.Table:
    """Return the rows of several hierarchies as one table, the lower ones with NULL above their last level."""
    parts = []
    for position, checked in given.items():
        columns = {"attribute": whole_column([position] * len(checked.rows))}
        levels = list(zip(*checked.rows, strict=True))
        for level in range(tallest):
            listed = level < len(levels)
            columns[names.level(level)] = (
                text_column(levels[level]) if listed else pa.nulls(len(checked.rows), pa.string())
            )
        parts.append(pa.table(columns | {"place": whole_column(range(len(checked.rows)))}))
    return pa.concat_tables(parts)


def refuse_header(engine: Engine, position: int, spec: Column, height: int) -> None:
    """Raise HierarchyError if the first row of a hierarchy file reads like the names of its levels.

    The hierarchy has two roots, one of them in this row only; no text of the row stands in another one, and the column
    has no such value.
    """
    hierarchy = spec.hierarchy
    if not isinstance(hierarchy, FileHierarchy) or hierarchy.header is not None or height == 1:
        return
    if engine.run("check header", hierarchies.header_rows(position, height))[0][0]:
        raise HierarchyError(
            f"The first line of the hierarchy file {hierarchy.path.name!r} of column {spec.name!r} reads like a "
            "header: its texts are nowhere else in the file, and the column has no such value.",
            hint="say header: true beside the file, or remove the line; header: false says that it is a row.",
        )


def table_rows(engine: Engine, name: str, column_name: str) -> list[tuple[str | None, ...]]:
    """Return the rows of a hierarchy that is a table, as canonical texts.

    Raises:
        HierarchyError: it is empty.
        EngineError: it cannot be read.
    """
    relation = engine.catalog.source_table(name)
    available = engine.catalog.columns(relation)
    query = exp.select(*[canonical(item, type_name) for item, type_name in available]).from_(relation)
    rows = engine.run("read hierarchy", query)
    if not rows:
        raise HierarchyError(
            f"The hierarchy table of column {column_name!r} is empty.", hint="fill it, or name another table."
        )
    return rows


def _foreign_rows(spec: Column, builder: Any, values: list[str]) -> Sequence[tuple[str | None, ...]]:
    """Return an extension's rows for the distinct texts of a column; the errors of its builder may quote them."""
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


def _by_text(item: ListedColumn, foreign: Any) -> bool:
    """Return whether a builder reads the texts of the values, whatever their type."""
    wants_text = reads_texts(item.spec.hierarchy) or getattr(foreign, "by_text", False)
    return item.spec.hierarchy is None or without_enum(item.counted.type) == "VARCHAR" or wants_text


def reads_type(spec: Column, type_name: str) -> bool:
    """Return whether the hierarchy of a column may be computed from its values in their own type."""
    if without_enum(type_name) == "VARCHAR":
        return False
    return isinstance(spec.hierarchy, Intervals | Dates | Ages | ExtensionHierarchy)


def may_lack_rows(hierarchy: HierarchySpec | None, type_name: str) -> bool:
    """Return whether a computed hierarchy may have no levels for some values, which are uncovered then."""
    if isinstance(hierarchy, Codes | Zip3 | FrequentValues | Ages):
        return True
    return reading(hierarchy, without_enum(type_name)) is not None


def _reading(item: ListedColumn) -> ReadValue | None:
    """Return how the values of a column are read before their levels are computed."""
    type_name = "VARCHAR" if reads_texts(item.spec.hierarchy) else without_enum(item.counted.type)
    return reading(item.spec.hierarchy, type_name)


def _read_before(position: int, item: ListedColumn, found: ReadValue) -> list[exp.Expr]:
    """Return what is read from the values of a column, step by step."""
    value = column("value") if _by_text(item, None) else item.counted.value(position)
    return [step(value if number == 0 else hierarchies.read_column(number)) for number, step in enumerate(found.steps)]


def _levels(position: int, item: ListedColumn, foreign: Any) -> list[exp.Expr]:
    """Return the expressions of the levels above the values of a column, over its distinct values."""
    if item.spec.hierarchy is None:  # a sensitive column: its values, without levels above them
        return []
    by_text = _by_text(item, foreign)
    value = column("value") if by_text else item.counted.value(position)
    spec, type_name = item.spec, "VARCHAR" if by_text else item.counted.type
    if foreign is None and (found := _reading(item)) is not None:
        value, type_name = hierarchies.read_column(len(found.steps)), found.type
    build = partial(levels_of_read, item.spec.hierarchy) if foreign is None else partial(_foreign_levels, spec, foreign)
    return build(value, type_name, longest=max(item.longest, 1))


def _refuse_built(
    engine: Engine, columns: Mapping[int, ListedColumn], heights: Mapping[int, int], foreign: Sequence[int]
) -> None:
    """Raise HierarchyError if a computed hierarchy is no tree, or lacks texts.

    A NULL above a value would join the branch of NULL, unseen by the check of the tree.
    """
    query = hierarchies.listed_faults(heights, foreign)
    faults = [] if query is None else sorted(map(tuple, engine.run("check hierarchies", query)))
    for position, level, count in faults:
        spec = columns[int(position)].spec
        if count and level < 0:
            raise HierarchyError(
                f"{_builder_of(spec)} returns no text on some level for {count} values.",
                hint="let every level be a text where the value is not NULL.",
            )
        if count:
            raise HierarchyError(
                f"The hierarchy built for column {spec.name!r} is not a tree: {count} values of level {level} "
                f"belong to several values of level {level + 1}.",
                hint="choose a mask character or bounds that do not occur in the values.",
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
        relation = engine.catalog.source_table(hierarchy.table)
        value, kind = engine.catalog.columns(relation)[0]
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
            "value": text_column([value for value, _, _ in triples]),
            "level": whole_column([level for _, level, _ in triples]),
            "ancestor": text_column([ancestor for _, _, ancestor in triples]),
        }
    )
    engine.load("load hierarchy", names.ancestors(position), data)
    return table(names.ancestors(position))
