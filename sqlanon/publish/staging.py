"""Released rows with their entities: audited while they still tell whom they are of, and written without it.

A release does not hold the column of its entities, so nobody can tell from it alone that its classes are of k of them.
So the rows are staged with their entities, as the source tells them, in a table of ours, the models are audited there,
the target is written from that table, and what was written is compared with it row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlglot import exp

from sqlanon.audit.models import ModelAudit
from sqlanon.audit.release import audit_entities
from sqlanon.engines.base import Engine
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import column, table


@contextmanager
def staged_release(
    engine: Engine,
    query: exp.Query,
    *,
    columns: Sequence[str],
    quasi_identifiers: Sequence[str],
    models: Sequence[ModelAudit],
) -> Iterator[exp.Query]:
    """The released rows without their entities, from a table that lasts as long as the context.

    Args:
        query: the rows, with the column ``names.ENTITY``: the values of the entity column.
        columns: what is published of them.
        models: the audits of the policy's models, which are run here, counting distinct entities.

    Raises:
        AuditError: a class does not satisfy the policy.
        EngineError: the database refused a statement.
    """
    engine.create("stage release", names.STAGED_RELEASE, engine.render(query))
    try:
        audit_entities(
            engine,
            table(names.STAGED_RELEASE),
            entity=names.ENTITY,
            quasi_identifiers=quasi_identifiers,
            models=models,
        )
        yield exp.select(*[column(name) for name in columns]).from_(table(names.STAGED_RELEASE))
    finally:
        engine.drop(names.STAGED_RELEASE)
