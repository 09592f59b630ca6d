"""What the session's role may see of a source: all columns and rows, or some."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees.trees import column
from sqlanon.errors import SourceError


def with_visible_rows(opened: Source, *, accepted: bool) -> Source:
    """Return a source whose role sees all rows of what is read; or, if that is ``accepted``, with a warning.

    Raises:
        SourceError: row-level security hides rows, and the policy does not accept that.
    """
    engine = opened.engine
    read = {relation.sql(): relation for relation in (opened.relation, *opened.read)}
    names = [relation.name for relation in read.values() if engine.catalog.hides_rows(relation)]
    if accepted:
        engine.catalog.accept_visible_rows()
    if not names:
        return opened
    hidden = (
        f"Row-level security applies to the role of the session in {', '.join(map(repr, names))}: it sees some of the "
        "rows, or all"
    )
    if not accepted:
        raise SourceError(
            f"{hidden}, and which cannot be known.",
            hint="connect as a role that sees all rows (BYPASSRLS), or say row_security: accept, to release what the "
            "role sees as if it were all.",
        )
    return replace(opened, warnings=(*opened.warnings, f"{hidden}. What it sees was taken for all."))


def with_readable_columns(opened: Source) -> Source:
    """Return a source that lists its columns, if the session's role may read some of them only.

    Whatever reads all columns of the relation reads these.
    """
    source = replace(opened, unreadable=tuple(opened.engine.catalog.unreadable(opened.relation)))
    if not source.unreadable or not source.readable:
        return source
    query = exp.select(*map(column, source.readable)).from_(opened.relation.copy())
    return replace(source, relation=query.subquery("readable"), stored=opened.relation)
