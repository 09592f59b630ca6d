"""The rows of a release as they are written: typed, redacted, shuffled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import column, equal, named

NOT_IN_PARQUET = ("HUGEINT", "UHUGEINT", "BIT", "BIGNUM", "VARINT")
"""Types that Parquet would turn into floats, or refuse; they are written as text."""


def release_query(
    query: exp.Query, types: Mapping[str, str], written: Mapping[str, str], *, marker: str | None, redacted: int
) -> exp.Query:
    """Return the rows in their written types and the redacted rows, shuffled."""
    rows: exp.Query = typed_rows(query, types, written)
    if marker is not None and redacted:
        fillers = exp.Table(this=exp.GenerateSeries(start=exp.convert(1), end=exp.convert(redacted)))
        texts = exp.select(*[named(exp.Literal.string(marker), name) for name in written]).from_(fillers)
        rows = exp.union(rows, texts, distinct=False)
    every = exp.select(*[column(name) for name in written])
    return every.from_(rows.subquery("released")).order_by(exp.Rand())


def unused_marker(engine: Engine, query: exp.Query, columns: Sequence[str]) -> str:
    """Return the text of redacted rows: the usual marker, with a number if a published value equals it."""
    number, marker = 1, names.SUPPRESSED_MARKER
    while True:
        hits = [equal(_cast(column(name), "VARCHAR"), exp.convert(marker)) for name in columns]
        probe = exp.select(exp.convert(1)).from_(query.subquery("published")).where(exp.or_(*hits)).limit(1)
        if not hits or not engine.run("marker", probe):
            return marker
        number += 1
        marker = f"{names.SUPPRESSED_MARKER} {number}"


def written_types(types: Sequence[str], ending: str, marker: str | None) -> list[str]:
    """Return the types that are written.

    ENUMs leave as text. Everything does beside redacted rows, and in files without types.
    """
    as_text = ending not in ("", ".duckdb", ".parquet") or marker is not None
    refused = NOT_IN_PARQUET if ending == ".parquet" else ()
    return ["VARCHAR" if as_text or "ENUM(" in name.upper() or name.upper() in refused else name for name in types]


def typed_texts(lookup: exp.Expr, type_name: str) -> exp.Subquery:
    """Return ``lookup`` with its texts as values of ``type_name`` read: 05 in an INTEGER column reads 5."""
    value = column("value") if type_name == "VARCHAR" else _cast(_cast(column("value"), type_name), "VARCHAR")
    relation = lookup.copy()
    relation.set("alias", exp.TableAlias(this=exp.to_identifier("texts", quoted=True)))
    return exp.select(named(value, "value")).from_(relation).subquery("typed")


def as_texts(query: exp.Query, types: Mapping[str, str], written: Mapping[str, str]) -> exp.Subquery:
    """Return the rows of a query in their written types, as texts."""
    return texts_of(typed_rows(query, types, written).subquery("typed"), list(written))


def texts_of(relation: exp.Expr, columns: Sequence[str]) -> exp.Subquery:
    """Return the rows of a relation as texts."""
    texts = [named(_cast(column(name), "VARCHAR"), name) for name in columns]
    return exp.select(*texts).from_(relation).subquery("texts")


def typed_rows(query: exp.Query, types: Mapping[str, str], written: Mapping[str, str], *also: str) -> exp.Select:
    """Return the rows of a query in their written types, and ``also`` other columns as they are."""
    cells: list[exp.Expr] = [
        named(column(name) if types[name] == new else _cast(column(name), new), name) for name, new in written.items()
    ]
    cells += [column(name) for name in also]
    return exp.select(*cells).from_(query.subquery("published"))


def typed_column(name: str, type_name: str) -> exp.Alias:
    """Return a column as values of a type."""
    return named(_cast(column(name), type_name), name)


def _cast(expression: exp.Expr, type_name: str) -> exp.Cast:
    return exp.cast(expression, data_type(type_name))
