"""The data test of a relation as it is: does every class hold at least k records? Extended match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.binding import bind
from sqlanon.engines.duckdb import DuckDBEngine
from sqlanon.errors import InputError, SourceError


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Counts only; ``holds`` when no class is smaller than k."""

    holds: bool
    records: int
    classes: int
    failing_classes: int
    failing_records: int
    smallest_class: int


def check_relation(
    engine: DuckDBEngine, relation: exp.Expr, *, quasi_identifiers: Sequence[str], k: int
) -> CheckResult:
    """Count the classes of ``relation`` over the quasi-identifiers; without any, all records are one class.

    Raises:
        InputError: k is below 1, or the relation is empty, so nothing can be said.
        SourceError: the relation has no such column.
    """
    if k < 1:
        raise InputError(f"k is {k}.", hint="give a whole number of at least 1.")
    actual = {name.casefold(): name for name, _ in engine.columns(relation)}
    missing = [name for name in quasi_identifiers if name.casefold() not in actual]
    if missing:
        raise SourceError(
            f"The relation has no column {', '.join(map(repr, missing))}.",
            hint=f"its columns are {', '.join(map(repr, actual.values()))}.",
        )
    wanted = [actual[name.casefold()] for name in quasi_identifiers]
    query = bind(
        "audit/class_sizes.sql",
        relations={"release": relation},
        columns={"quasi_identifier": wanted},
        values={"k": k},
    )
    classes, records, failing_classes, failing_records, smallest = engine.run("check classes", query)[0]
    if not records:
        raise InputError("The relation holds no records, so there is nothing to check.", hint="check the table name.")
    return CheckResult(not failing_classes, records, classes, failing_classes, failing_records, smallest)
