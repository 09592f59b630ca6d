"""The statements that a replayable script is made of: tables that are created, analyzed, and listed row by row."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp


def temporary_table(table: str, query: exp.Query) -> exp.Create:
    """Return the statement of the replayable script that creates a working table."""
    temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
    name = exp.to_table(table, quoted=True)
    return exp.Create(this=name, kind="TABLE", properties=temporary, expression=query.copy())


def analysis(relation: exp.Expr) -> exp.Analyze:
    """Return the statement that gathers statistics of a table: ``ANALYZE relation``."""
    return exp.Analyze(tables=[relation.copy()])


def rows_of(data: pa.Table) -> exp.Query:
    """Return the rows of a small Arrow table as a SELECT over VALUES."""
    columns = [exp.to_identifier(name, quoted=True) for name in data.column_names]
    kinds = [_kind(field.type) for field in data.schema]
    typed = [exp.cast(exp.column(name), kind).as_(name) for name, kind in zip(columns, kinds, strict=True)]
    if not data.num_rows:
        nothing = [exp.cast(exp.null(), kind).as_(name) for name, kind in zip(columns, kinds, strict=True)]
        return exp.select(*nothing).where(exp.false())
    tuples = [exp.Tuple(expressions=[exp.convert(v) for v in row.values()]) for row in data.to_pylist()]
    alias = exp.TableAlias(this=exp.to_identifier("rows", quoted=True), columns=[name.copy() for name in columns])
    return exp.select(*typed).from_(exp.Values(expressions=tuples, alias=alias))


def _kind(kind: pa.DataType) -> str:
    """Return the type of a column that is loaded from Arrow."""
    if pa.types.is_integer(kind):
        return "BIGINT" if kind.bit_width > 32 else "INT" if kind.bit_width > 16 else "SMALLINT"
    if pa.types.is_floating(kind):
        return "DOUBLE" if kind.bit_width > 32 else "FLOAT"
    return "BOOLEAN" if pa.types.is_boolean(kind) else "VARCHAR"
