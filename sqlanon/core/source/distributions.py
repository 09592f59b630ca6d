"""How the values of a sensitive column are distributed among all records."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.core.compiler import sensitive
from sqlanon.core.compiler.encoded_source import EncodedColumn
from sqlanon.core.engines.base import Engine
from sqlanon.core.hierarchies.specs import lists_its_values
from sqlanon.core.lattice.catalog import SensitiveAttribute
from sqlanon.core.source.matching import counted_column
from sqlanon.core.source.packing import MeasuredColumn
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, count_rows, is_null, lookup_rows, or_zero, table
from sqlanon.errors import HierarchyError


def distribution_of(
    engine: Engine, position: int, place: int, fact: MeasuredColumn, item: EncodedColumn, counted: str
) -> SensitiveAttribute:
    """Return the distribution of a sensitive column among all records (or entities: ``counted``) that take part, and
    the ancestors of its values.

    Raises:
        HierarchyError: a hierarchical distance is asked for, but the hierarchy has no levels or no single root.
    """
    rooted = item.height > 1 and fact.single_root
    if not rooted and any(model.parameters.get("distance") == "hierarchical" for model in fact.spec.models):
        raise HierarchyError(
            f"The hierarchy of column {item.name!r} has {item.height} levels and "
            f"{'one root' if fact.single_root else 'several roots'}; "
            "a hierarchical distance needs two levels and a root.",
            hint="add a last level with one value, or use the distance equal.",
        )
    typed = None if lists_its_values(fact.spec.hierarchy) else counted_column(fact.spec, item.type).value(position, "v")
    overall = sensitive.overall(position, item, typed, counted=counted)
    engine.create("overall", names.overall(place), overall)
    facts = exp.select(count_rows(), or_zero(exp.Max(this=column("area")))).from_(table(names.overall(place)))
    values, area = engine.run("overall facts", facts)[0]
    if rooted:
        engine.create("ancestors", names.ancestors(place), sensitive.ancestors(place, item))
    absent = None
    if item.name.startswith(names.FORMER):
        bits = exp.select(column(names.key(item.fields[0][0]))).from_(lookup_rows(position, "l"))
        codes = engine.run("records without a value", bits.where(is_null(column("value"))))
        absent = int(codes[0][0]) if codes else None
    return SensitiveAttribute(
        absent=absent,
        name=item.name,
        height=item.height,
        values=values,
        word=item.fields[0][0],
        code=sensitive.code_mask(item, 0),
        area=float(area),
        rooted=rooted,
    )
