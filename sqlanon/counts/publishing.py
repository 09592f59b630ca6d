"""Publication of tables of counts: written, audited as they were written, and put in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
from sqlanon.counts.counting import Counted
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.protecting import Protection
from sqlanon.counts.released import types_of
from sqlanon.counts.written import audit_written

ROW = names.PREFIX + "row"
"""Column of the working table of released rows: their order."""


def publish_rows(
    opened: Source,
    target: Target,
    rows: pa.Table,
    counted: Counted,
    asked: CountsPolicy,
    document: Mapping[str, Any],
    protection: Protection,
) -> dict[str, Any] | None:
    """Write the rows, audit them as they were written, and put them in place; return the manifest of a file."""
    engine, types = opened.engine, types_of(rows)
    engine.load("load counts", names.COUNTED, rows.append_column(ROW, pa.array(range(rows.num_rows), pa.int64())))
    written = types_there(engine, target.output, types)
    every = exp.select(*map(column, types)).from_(table(names.COUNTED))
    ordered = exp.select(*map(column, written)).order_by(column(ROW))
    query = ordered.from_(typed_rows(exp.select("*").from_(table(names.COUNTED)), types, written, ROW).subquery("rows"))
    claim = ReleaseClaim(types=written, quasi_identifiers=(), models=(), published=rows.num_rows)

    def audit(auditor: Engine, relation: exp.Expr) -> None:
        found = auditor.arrow("audit counts", exp.select(*map(column, written)).from_(relation.copy()))
        audit_written(found, counted, asked, protection.witnesses, steps=protection.steps)

    copied = as_texts(every, types, written)
    return put(engine, Draft(query, claim, copied, opened.verify, target, Papers(document), audit))
