"""What is published of counted cells: a typed row for each, the same in a wide form, and the manifest beside it.

    sex   | age      | count | suppressed
    ------+----------+-------+-----------
    f     | [20, 30) |    17 | false
    m     | [20, 30) |       | true
    Total | [20, 30) |    41 | false

Rows stand in the order of tables and categories: nothing of it comes from the records. A category that is NULL in the
source is NULL; a total has its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlanon.core.audit.release import ReleaseClaim
from sqlanon.core.engines.base import Engine
from sqlanon.core.publish.draft import Draft
from sqlanon.core.publish.papers import Papers
from sqlanon.core.publish.publication import put, types_there
from sqlanon.core.publish.targets import Target
from sqlanon.core.publish.written_rows import as_texts, typed_rows
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, table
from sqlanon.counts.counting import Counted, sets_of_tables
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.facts import Flags, Floats, Numbers
from sqlanon.counts.keys import CountsFacts, CountsTable
from sqlanon.counts.protecting import Protection
from sqlanon.counts.unsafe import unsafe_by_rule
from sqlanon.errors import InputError

TYPES = {pa.string(): "VARCHAR", pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.bool_(): "BOOLEAN"}
CITED = {8: "OpenSAFELY (7 and less are unsafe)", 10: "ONS, ACRO", 11: "CMS (10 and less are unsafe)"}
"""Thresholds that people cite, with who does."""
ROW = names.PREFIX + "row"
"""Column of the working table of released rows: their order."""
PROTECTING = "complementary"
"""Why a cell is suppressed that is not unsafe itself."""


@dataclass(frozen=True, slots=True)
class WrittenColumns:
    """The names of the columns of a released table: what an audit must know to read it.

    Attributes:
        table: names the table, where there are several.
        dimensions: of each dimension its text, and its level where several are shown.
        measures: of each measure but the count.
    """

    table: str | None
    dimensions: tuple[tuple[str, str | None], ...]
    count: str
    measures: tuple[str, ...]
    suppressed: str


def columns_of(policy: CountsPolicy) -> WrittenColumns:
    """Return the names of the columns of a release in the long form, none of which is another's."""
    taken: list[str] = [*policy.dimensions]

    def own(wanted: str) -> str:
        taken.append(names.unused(wanted, taken))
        return taken[-1]

    levels = [own(f"{name}_level") if len(levels) > 1 else None for name, levels in policy.dimensions.items()]
    measures = dict.fromkeys(measure.name for table in policy.tables for measure in table.measures)
    return WrittenColumns(
        table=own("table") if len(policy.tables) > 1 else None,
        dimensions=tuple(zip(policy.dimensions, levels, strict=True)),
        count=own("count"),
        measures=tuple(own(name) for name in measures),
        suppressed=own("suppressed"),
    )


def released_rows(counted: Counted, policy: CountsPolicy, suppressed: Flags) -> pa.Table:
    """Return the released table."""
    long = long_rows(counted, policy, suppressed)
    return long if policy.rules.form == "long" else _wide(long, counted, policy)


def long_rows(counted: Counted, policy: CountsPolicy, suppressed: Flags) -> pa.Table:
    """Return the released table in its long form, whichever the policy asks for."""
    grid, written = counted.grid, columns_of(policy)
    cells, tables = cells_of_rows(counted, policy, suppressed)
    keys, hidden, counts = grid.all_keys[cells], suppressed[cells], counted.contributors[cells]
    found: dict[str, pa.Array] = {}
    if written.table is not None:
        found[written.table] = pa.array([policy.tables[number].name for number in tables], pa.string())
    for own, dimension, (name, level_name) in zip(keys.T, grid.dimensions, written.dimensions, strict=True):
        texts = np.array([policy.rules.total, *dimension.texts[1:]], object)
        found[name] = pa.array(texts[own].tolist(), pa.string())
        if level_name is not None:
            levels = dimension.level[own]
            found[level_name] = pa.array(levels, pa.int64(), mask=levels < 0)
    found[written.count] = _nulled(counts, hidden)
    every = dict.fromkeys(measure for table in policy.tables for measure in table.measures)
    for measure, title in zip(every, written.measures, strict=True):
        shows = np.array([measure in table.measures for table in policy.tables])[tables]
        if measure.kind == "share" and grid.whole is not None and suppressed[grid.whole]:
            shows &= False  # of a total that is not published, every share would tell it
        values, lacks = _measured(measure.kind, counted, cells)
        found[title] = _nulled(values, hidden | lacks | ~shows)
    found[written.suppressed] = pa.array(hidden, pa.bool_())
    return pa.table(found)


def reasons_of_rows(counted: Counted, policy: CountsPolicy, protection: Protection) -> tuple[str, ...]:
    """Return why the cell of each row of the long form is suppressed: the rules by which it is unsafe, or that it
    protects others; empty where it is shown. For the operator.
    """
    by_rule, suppressed = unsafe_by_rule(counted, policy), protection.suppressed
    words = {cell: ", ".join(rule for rule, own in by_rule.items() if own[cell]) for cell in np.flatnonzero(suppressed)}
    cells, _ = cells_of_rows(protection.shown(counted), policy, suppressed)
    return tuple((words[cell] or PROTECTING) if suppressed[cell] else "" for cell in cells)


def cells_of_rows(counted: Counted, policy: CountsPolicy, suppressed: Flags) -> tuple[Numbers, Numbers]:
    """Return the cell of each row of the long form, and the number of its table.

    Where zeros are left out, suppressed cells have rows all the same: otherwise a row would say that somebody is there.
    """
    shows = suppressed | (counted.contributors > 0) | (policy.rules.zeros == "publish")
    grid, keys, found = counted.grid, counted.grid.all_keys, []
    for number, sets in enumerate(sets_of_tables(policy)):
        cells = np.concatenate([np.arange(grid.starts[n], grid.starts[n + 1]) for n in map(grid.sets.index, sets)])
        cells = cells[np.lexsort(keys[cells].T[::-1])]
        cells = cells[shows[cells]]
        found.append(np.stack([cells, np.full(len(cells), number)]))
    both = np.concatenate(found, axis=1)
    return both[0], both[1]


def _nulled(values: Any, where: Flags) -> pa.Array:
    """Return values with NULLs; Arrow would keep in its memory, and hand on, what a mask alone hides."""
    return pa.array(np.where(where, values.dtype.type(0), values), mask=where)


def _measured(kind: str, counted: Counted, cells: Numbers) -> tuple[Floats, Flags]:
    """Return the values of a measure, and where there is none."""
    counts, nowhere = counted.contributors[cells], np.zeros(len(cells), bool)
    if kind == "share":
        whole = 0 if counted.grid.whole is None else int(counted.contributors[counted.grid.whole])
        return counts / max(whole, 1), nowhere | (whole == 0)
    assert counted.amounts is not None
    amounts = counted.amounts[cells]
    return (amounts, nowhere) if kind == "sum" else (amounts / np.maximum(counts, 1), counts == 0)


def _wide(long: pa.Table, counted: Counted, policy: CountsPolicy) -> pa.Table:
    """Return a column for each category of the last dimension; its cells are counts, NULL where suppressed."""
    written, dimension = columns_of(policy), counted.grid.dimensions[-1]
    if written.measures or len(dimension.levels) > 1:
        raise InputError(
            "A wide form shows counts by one level of the last dimension.",
            hint="leave out the other measures and levels, or form: wide.",
        )
    last, _ = written.dimensions[-1]
    titles = ["NULL" if text is None else text for text in dimension.texts[1:]]
    if last in policy.tables[0].totalled:
        titles.append(policy.rules.total)
    rows = [name for name in long.column_names if name not in (last, written.count, written.suppressed)]
    if len({title.casefold() for title in (*titles, *rows)}) < len(titles) + len(rows):
        raise InputError(
            f"The categories of {last!r} cannot be names of columns: two are the same but for their case, or one is "
            "that of another column.",
            hint="use the long form, or name another dimension last.",
        )
    table: dict[tuple[Any, ...], dict[str, int | None]] = {}
    for row in long.to_pylist():
        own = table.setdefault(tuple(row[name] for name in rows), {})
        own["NULL" if row[last] is None else row[last]] = row[written.count]
    omitted = 0 if policy.rules.zeros == "omit" else None
    found = {name: pa.array([key[i] for key in table], long.schema.field(name).type) for i, name in enumerate(rows)}
    found |= {title: pa.array([row.get(title, omitted) for row in table.values()], pa.int64()) for title in titles}
    return pa.table(found)


def publish_rows(
    opened: Source, target: Target, rows: pa.Table, audit: Callable[[pa.Table], None], document: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Write the rows, audit them as they were written, and put them in place; return the manifest of a file.

    Args:
        audit: raises AuditError if the rows that it is given are not safe.
        document: the manifest.
    """
    engine, types = opened.engine, {field.name: TYPES[field.type] for field in rows.schema}
    engine.load("load counts", names.COUNTED, rows.append_column(ROW, pa.array(range(rows.num_rows), pa.int64())))
    written = types_there(engine, target.output, types)
    every = exp.select(*map(column, types)).from_(table(names.COUNTED))
    ordered = exp.select(*map(column, written)).order_by(column(ROW))
    query = ordered.from_(typed_rows(exp.select("*").from_(table(names.COUNTED)), types, written, ROW).subquery("rows"))
    claim = ReleaseClaim(types=written, quasi_identifiers=(), models=(), published=rows.num_rows)

    def read_again(auditor: Engine, relation: exp.Expr) -> None:
        audit(auditor.arrow("audit counts", exp.select(*map(column, written)).from_(relation.copy())))

    copied = as_texts(every, types, written)
    return put(engine, Draft(query, claim, copied, opened.verify, target, Papers(document), read_again))


def suppressed_by_dimension(counted: Counted, policy: CountsPolicy, suppressed: Flags) -> dict[str, dict[str, int]]:
    """Return, of each dimension, how many published cells and how many suppressed ones show it (are no total of it)."""
    keys, shown = counted.grid.all_keys, counted.grid.is_published
    found = {}
    for position, name in enumerate(policy.dimensions):
        own = shown & (keys[:, position] != 0)
        found[name] = {"cells": int(own.sum()), "suppressed": int((own & suppressed).sum())}
    return found


def counts_manifest(
    counted: Counted, policy: CountsPolicy, protection: Protection, versions: Mapping[str, str]
) -> dict[str, Any]:
    """Return what travels with a release: names, rules, and how many cells are suppressed.

    Which of them were unsafe, and how many, it does not say.
    """
    shown = counted.grid.is_published
    return {
        "manifest_version": 1,
        "policy_fingerprint": policy.fingerprint(),
        "counts": [_described(table) for table in policy.tables],
        "unit": policy.unit,
        "rules": _of_noise(policy.rules) if policy.rules.method == "keys" else _rules(policy, protection.steps),
        "nulls": policy.policy.nulls,
        "system": protection.system,
        "cells": {"published": int(shown.sum()), "suppressed": int((shown & protection.suppressed).sum())},
        "suppressed_by_dimension": suppressed_by_dimension(counted, policy, protection.suppressed),
        "versions": dict(versions),
    }


def _rules(policy: CountsPolicy, steps: int) -> dict[str, Any]:
    rules = policy.rules
    found: dict[str, Any] = {"threshold": rules.threshold}
    found |= {"threshold_cited_by": CITED[rules.threshold]} if rules.threshold in CITED else {}
    found |= {"interval": list(rules.interval or (0, rules.threshold)), "insiders": rules.insiders}
    if policy.measured is not None:
        found |= {"dominance": {"n": rules.dominance.n, "k": rules.dominance.k}, "p_percent": rules.p_percent}
    found |= {"groups": list(rules.groups)} if rules.groups else {}
    if rules.round is not None:
        to = {"to": "additive", "steps": steps} if rules.additive else {"to": rules.rounding}
        found["rounding"] = {"base": rules.round, **to}
        found |= {"totals_add_up": rules.additive, "unsafe_cells_are_suppressed": rules.suppress}
    return found


def _of_noise(rules: CountsFacts) -> dict[str, Any]:
    noise = {"D": rules.keys.most, "V": rules.keys.variance, "j": rules.keys.blocked}
    return {"method": "keys", "keys": noise, "totals_add_up": False, "totals_have": "noise of their own"}


def _described(table: CountsTable) -> dict[str, Any]:
    return {
        "name": table.name,
        "dimensions": {name: list(levels) for name, levels in table.dimensions.items()},
        "measures": ["count", *(measure.name for measure in table.measures)],
        "margins": list(table.totalled),
    }
