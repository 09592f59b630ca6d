"""The level of a computed hierarchy as SQL: a lookup that is in no file, because only the data show its values.

    SELECT value, <the level> AS text FROM (SELECT <canonical text> AS value, … FROM source GROUP BY 1)

It serves later values too. Those that are longer than the texts of ``redact`` are cut, as when it was planned.
"""

from __future__ import annotations

from sqlglot import exp

from sqlanon.core.engines.capabilities import TextFacts
from sqlanon.core.hierarchies.builders import levels as builder_levels
from sqlanon.core.hierarchies.specs import Ages, Dates, ExtensionHierarchy, FrequentValues, HierarchySpec, Intervals
from sqlanon.core.policy import Column
from sqlanon.core.source.lookups import may_lack_rows
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import canonical, column, named, not_null, same, when
from sqlanon.errors import UnsupportedError
from sqlanon.live.compiler.live import TEXT, VALUE

_RAW, _DISTINCT, _COMPUTED = "raw", "distinct_values", "computed"


def refuse_extension(spec: Column) -> None:
    """Raise UnsupportedError for a hierarchy that a builder from outside the package computes, or one by frequency."""
    hint = "list its values in a seed (--with-values), or write the hierarchy as a file."
    if isinstance(spec.hierarchy, ExtensionHierarchy):
        raise UnsupportedError(
            f"The hierarchy of column {spec.name!r} is built by an extension, which dbt does not have.", hint=hint
        )
    if isinstance(spec.hierarchy, FrequentValues):
        raise UnsupportedError(
            f"The hierarchy of column {spec.name!r} depends on how frequent values were when the source was planned.",
            hint=hint,
        )


def refuse_settings(spec: Column, type_name: str, texts: TextFacts) -> None:
    """Raise UnsupportedError for a hierarchy whose levels would depend on the settings of a reader's session."""
    periods = isinstance(spec.hierarchy, Dates) and type_name in ("DATE", "TIMESTAMP")
    if (texts.by_value(type_name) and not periods) or not texts.comparable(type_name):
        raise UnsupportedError(
            f"The levels of column {spec.name!r} would depend on settings of the session that reads the view.",
            hint="use --materialized table, or list the values in a seed (--with-values).",
        )


def computed_lookup(
    source: exp.Expr, spec: Column, type_name: str, level: int, *, root: str | None, released: str
) -> exp.Expr:
    """Return the lookup of a quasi-identifier at a level above 0, read from the source itself.

    Args:
        type_name: the type of the column of the source.
        root: what is published for NULL; None publishes NULL.
        released: the type of the column of the release; a text that does not read the same in it has no row.

    Raises:
        UnsupportedError: see ``refuse_extension``.
    """
    refuse_extension(spec)
    hierarchy: HierarchySpec | None = spec.hierarchy
    assert hierarchy is not None
    by_text = type_name == "VARCHAR" or not isinstance(hierarchy, Intervals | Dates | Ages)
    value = column(VALUE if by_text else _RAW)
    text = builder_levels(hierarchy, value, "VARCHAR" if by_text else type_name, longest=1)[level - 1]
    is_null = exp.Is(this=column(VALUE), expression=exp.null())
    for_null = exp.Literal.string(root) if root is not None else exp.null()
    cell = when(is_null, exp.cast(for_null, "VARCHAR"), exp.cast(text, "VARCHAR"))
    found = exp.select(column(VALUE), named(cell, TEXT)).from_(_values(source, spec.name, type_name, raw=not by_text))
    if may_lack_rows(hierarchy, type_name):
        has_row = exp.or_(is_null.copy(), not_null(column(TEXT)))
        found = exp.select(column(VALUE), column(TEXT)).from_(found.subquery("levelled")).where(has_row)
    if released != "VARCHAR":
        back = exp.TryCast(this=column(TEXT), to=data_type(released))
        reads = same(exp.cast(back, "VARCHAR"), column(TEXT))
        found = exp.select(column(VALUE), column(TEXT)).from_(found.subquery(_COMPUTED)).where(reads)
    return found.subquery(_COMPUTED)


def _values(source: exp.Expr, name: str, type_name: str, *, raw: bool) -> exp.Subquery:
    """Return the distinct values of a column, with one raw value each (-0.0 and 0.0 read alike)."""
    text = canonical(name, type_name)
    shown = [named(exp.Min(this=column(name)), _RAW)] if raw else []
    query = exp.select(named(text, VALUE), *shown).from_(source.copy()).group_by(text.copy())
    return query.subquery(_DISTINCT)
