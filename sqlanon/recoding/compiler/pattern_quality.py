"""The statements that read a pattern-guided solution: patterns that are used, row types of the output, and how diverse
their rows were."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import (
    bigint,
    both,
    column,
    count_rows,
    cte,
    equal,
    joined_lookup,
    keys,
    mask_columns,
    masked,
    masked_keys,
    named,
    number,
    or_zero,
    rolled_up,
    table,
    total,
    union_all,
    with_ctes,
)
from sqlanon.recoding.compiler.patterns import masks

TAKEN = "taken"


def _output_row_types(catalog: Catalog) -> exp.Select:
    """Return the row types of the output: ``rule``, the generalized key, ``n``, ``rows``; those left over are one."""
    parts = masked_keys(mask_columns(catalog.words, names.PATTERNS), names.ASSIGNED)
    types = rolled_up(table(names.ASSIGNED), parts, column(names.RULE, names.ASSIGNED))
    types = types.select(named(bigint(count_rows()), "rows"))
    return types.join(table(names.PATTERNS), on=_same_pattern(), join_type="left")


def used(catalog: Catalog) -> exp.Select:
    """Return per pattern that took rows, in order, and last for those left over: ``rule``, records, row types of the
    output, the sizes of the smallest and the largest of them, and row types of the input."""
    query = bind("patterns/by_rule.sql", relations={"published": _output_row_types(catalog)})
    return query.select(named(total(column("rows", "published")), "rows"))


def row_type_sizes(catalog: Catalog) -> exp.Query:
    """Return one row about the output: its row types, its records, the largest row type, the suppressed cells."""
    n, cells = column(names.COUNT), column("cells")
    query = exp.select(
        count_rows(),
        total(n),
        or_zero(exp.Max(this=n.copy())),
        total(cells),
    )
    return _with_taken(catalog, query.from_(_types(catalog).subquery("types")))


def diversities(catalog: Catalog, positions: Sequence[int]) -> exp.Query:
    """Return per column whose values are names: ``position``, the sum over the output row types of the number of its
    distinct values among their rows, and its number of distinct values (Definition 3)."""
    queries: list[exp.Query] = []
    for position in positions:
        codes: list[exp.Expr] = [column(value) for value in _values(catalog, position)]
        own = codes or [number(0)]  # a constant has no bits
        distinct = [
            exp.select(*columns).distinct().from_(table(TAKEN)).subquery("v")
            for columns in ([*_type_columns(catalog), *own], [item.copy() for item in own])
        ]
        counts = [exp.select(count_rows()).from_(values) for values in distinct]
        queries.append(exp.select(number(position), *[count.subquery(copy=False) for count in counts]))
    return _with_taken(catalog, union_all(queries))


def spreads(catalog: Catalog, position: int) -> exp.Query:
    """Return, of a column of numbers, the differences of the largest and the smallest value among the rows of
    an output row type, with the number of row types that have it; and in the row whose number is NULL that of all
    rows. Values that are no numbers count as missing."""
    values = [column(value, TAKEN) for value in _values(catalog, position)]
    lookup = names.lookup(position)
    words = [w for w in range(catalog.words) if catalog.attributes[position].mask(0, w)]
    numbers = exp.select(
        *_type_columns(catalog, TAKEN),
        named(exp.TryCast(this=column("value", lookup), to=exp.DataType.build("DOUBLE")), "number"),
    ).from_(table(TAKEN))
    met = both(equal(value, column(names.key(w), lookup)) for w, value in zip(words, values, strict=True))
    joined_lookup(numbers, position, met)
    width = exp.Sub(this=exp.Max(this=column("number")), expression=exp.Min(this=column("number")))
    types = exp.select(named(width, "width")).from_(table("numbers")).group_by(*_type_columns(catalog))
    by_width = exp.select(column("width"), count_rows()).from_(types.subquery("t")).group_by(column("width"))
    everything = exp.select(width.copy(), exp.cast(exp.null(), "BIGINT")).from_(table("numbers"))
    query = _with_taken(catalog, union_all([by_width, everything]))
    query.args["with_"].append("expressions", cte("numbers", numbers))
    return query


def _with_taken(catalog: Catalog, query: exp.Query) -> exp.Query:
    """Return ``query`` about ``taken``: per assigned row type its output row type (what is kept of each word, and the
    key), its records, its suppressed cells and the code of each column. Those left over are suppressed fully."""
    everything = tuple(range(len(catalog.attributes)))
    kept = [
        exp.Coalesce(this=column(names.mask(w), names.PATTERNS), expressions=[number(top)])
        for w, top in enumerate(masks(catalog, everything))
    ]
    key = keys(catalog.words, names.ASSIGNED)
    stars = exp.Coalesce(this=column("stars", names.PATTERNS), expressions=[number(len(everything))])
    n = column(names.COUNT, names.ASSIGNED)
    taken = (
        exp.select(*[named(item, names.mask(w)) for w, item in enumerate(kept)])
        .select(*[named(masked(item, kept[w].copy()), names.key(w)) for w, item in enumerate(key)])
        .select(n, named(exp.Mul(this=n.copy(), expression=stars), "cells"))
        .select(
            *[
                named(masked(key[w].copy(), number(mask)), f"value_{position}_{w}")
                for position, attribute in enumerate(catalog.attributes)
                for w in range(catalog.words)
                if (mask := attribute.mask(0, w))
            ]
        )
        .from_(table(names.ASSIGNED))
        .join(table(names.PATTERNS), on=_same_pattern(), join_type="left")
    )
    return with_ctes(query, [cte(TAKEN, taken, materialized=True)])


def _types(catalog: Catalog) -> exp.Select:
    columns = _type_columns(catalog)
    sums = [named(total(column(name)), name) for name in (names.COUNT, "cells")]
    return exp.select(*sums).from_(table(TAKEN)).group_by(*columns)


def _type_columns(catalog: Catalog, owner: str | None = None) -> list[exp.Expr]:
    """Return the columns that identify an output row type in ``taken``."""
    return [column(name, owner) for w in range(catalog.words) for name in (names.mask(w), names.key(w))]


def _values(catalog: Catalog, position: int) -> list[str]:
    attribute = catalog.attributes[position]
    return [f"value_{position}_{w}" for w in range(catalog.words) if attribute.mask(0, w)]


def _same_pattern() -> exp.Expr:
    """Return the rule of an assigned row type is this pattern."""
    return equal(column(names.RULE, names.ASSIGNED), column(names.PATTERN, names.PATTERNS))
