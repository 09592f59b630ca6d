"""The subset of δ-presence: which records of the source belong to what is published.

The subset is named by a boolean column of the source, or by a relation (a file, a table) whose records are found again
in the source by all columns that the two share; copies are matched one to one, NULL matches NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from sqlanon.core.compiler import subset as compiler
from sqlanon.core.engines.base import Engine
from sqlanon.core.policy import Policy
from sqlanon.core.source.columns import without_enum
from sqlanon.core.source.population import named_records
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, count_if, is_null, named, table
from sqlanon.errors import InputError, SourceError, listing


def with_membership(engine: Engine, source: exp.Expr, policy: Policy, types: Mapping[str, str]) -> exp.Expr:
    """Return the source with the column ``names.MEMBER``: TRUE for the records of the policy's subset.

    Raises:
        SourceError: the subset cannot be read, or has no column of the source.
        InputError: records of it are not in the source, or it leaves open which of them are meant.
    """
    subset = policy.subset
    assert subset is not None
    if "column" in subset:
        return _flagged(engine, source, subset["column"], types)
    relation, columns = named_records(engine, policy, types, "subset", subset, into=names.SUBSET)
    found = list(columns)
    foreign = [name for name in found if name not in types]
    if foreign or not found:
        lacking = f"the columns {listing(foreign)}" if foreign else "no columns"
        if "file" in subset and foreign:  # its first line may be a record
            lacking = f"{len(foreign)} of {len(found)} columns"
        raise SourceError(
            f"The subset has {lacking}, which the source lacks.",
            hint="give it columns of the source only (all of them, or a key); check the delimiter of a CSV file.",
        )
    shared = [(name, without_enum(types[name])) for name in found]
    used = {*(c.name for c in policy.columns if c.role != "drop"), policy.entity}
    others = [
        (name, without_enum(type_name)) for name, type_name in types.items() if name in used and name not in found
    ]
    missing, unclear = engine.run("match subset", compiler.membership_faults(source, relation, shared, others))[0]
    if missing:
        raise InputError(
            f"{missing} records of the subset are not in the source.",
            hint="the subset must be a part of the source; compare how the two write numbers, dates and NULL.",
        )
    if unclear:
        raise InputError(
            f"The subset is ambiguous: {unclear} of its records match several records of the source that differ.",
            hint="give the subset all columns of the source, or a key.",
        )
    engine.create("membership", names.RECORDS, compiler.memberships(source, relation, shared, list(types)))
    return table(names.RECORDS)


def _flagged(engine: Engine, source: exp.Expr, name: Any, types: Mapping[str, str]) -> exp.Expr:
    if name not in types:
        raise SourceError(f"The source has no column {name!r} that marks the subset.", hint="check subset.column.")
    flag = exp.TryCast(this=column(name), to=exp.DataType.build("BOOLEAN"))
    query = exp.select(named(count_if(is_null(flag)), "unclear")).from_(source.copy())
    unclear = engine.run("check subset", query)[0][0]
    if unclear:
        raise InputError(
            f"Column {name!r}, which marks the subset, is neither true nor false in {unclear} records.",
            hint="use a BOOLEAN column, or 0 and 1, without NULLs.",
        )
    return exp.select("*", named(flag.copy(), names.MEMBER)).from_(source.copy()).subquery("flagged")
