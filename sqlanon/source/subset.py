"""The subset of δ-presence: which records of the source belong to what is published.

The subset is named by a boolean column of the source, or by a relation (a file, a table) whose records are found again
in the source by all columns that the two share; copies are matched one to one, NULL matches NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from sqlanon.compiler import subset as compiler
from sqlanon.engines.base import Engine
from sqlanon.errors import EngineError, InputError, SourceError, listing
from sqlanon.policy import Policy
from sqlanon.policy.paths import is_file
from sqlanon.source.columns import without_enum
from sqlanon.source.csv_types import Wanted, is_read_as
from sqlanon.source.files import Reading
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import column, count_if, is_null, named, table


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
    if "file" in subset:
        path = policy.base_directory / subset["file"]
        if not is_file(path):
            raise SourceError(
                f"There is no subset file {path.name!r} in {str(path.absolute().parent)!r}.",
                hint="check subset.file; relative paths are relative to the policy file.",
            )
        csv = {**policy.csv, "types": None, **{k: v for k, v in subset.items() if k != "file"}}
        wanted = {name: Wanted(kind) for name, kind in types.items() if is_read_as(kind)}
        reading = Reading(csv, policy.formats, policy.extensions, wanted)
        relation = reading.records(engine, path.absolute(), into=names.SUBSET).relation
    else:
        relation = engine.source_table(subset["table"])
    found = _columns(engine, relation)
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


def _columns(engine: Engine, relation: exp.Expr) -> list[str]:
    try:
        return [name for name, _ in engine.columns(relation)]
    except EngineError as error:
        kind = error.kind
    raise SourceError(
        f"The subset cannot be read ({kind}).",
        hint="check subset.table, or the format of subset.file: delimiter, quoting, encoding and line ends.",
    )


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
