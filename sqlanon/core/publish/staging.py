"""Released rows with their entities: audited while each row still has its entity, and written without it.

A release does not hold the column of its entities, so it does not show by itself that its classes are of k of them.
So the rows are staged with their entities, as the source has them, in a table of ours. The models are audited there,
the target is written from that table, and what was written is compared with it row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from sqlglot import exp

from sqlanon.core.audit.release import ReleaseClaim, audit_entities
from sqlanon.core.engines.base import Engine
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, table


@contextmanager
def staged_release(
    engine: Engine, query: exp.Query, claim: ReleaseClaim, *, made: AbstractContextManager[None] | None = None
) -> Iterator[exp.Query]:
    """Yield the released rows without their entities, from a table that lasts as long as the context.

    Args:
        query: the rows, with the column ``names.ENTITY``: the values of the entity column.
        claim: of the release. Its models are audited here, counting distinct entities, and what was made by a key.
        made: makes tables that the query reads, and that are gone before the rows are yielded.

    Raises:
        AuditError: a class does not satisfy the policy.
        EngineError: the database refused a statement.
    """
    staged = table(names.STAGED_RELEASE)
    with made or nullcontext():
        engine.create("stage release", names.STAGED_RELEASE, query, replayed=False)
    try:
        with engine.journal.phase("auditing"):
            audit_entities(engine, staged, claim, entity=names.ENTITY)
        yield exp.select(*[column(name) for name in claim.columns]).from_(staged)
    finally:
        engine.drop(names.STAGED_RELEASE)
