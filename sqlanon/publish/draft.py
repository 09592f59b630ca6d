"""What every kind of target needs of a release that is about to be written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.audit.models import ModelAudit
from sqlanon.audit.release import audit_copies, audit_release
from sqlanon.engines.base import Engine
from sqlanon.errors import SourceChangedError
from sqlanon.publish.targets import (
    Target,
)

Audit = Callable[[Engine, exp.Expr, Mapping[str, exp.Expr], Sequence[ModelAudit], exp.Expr | None], None]


@dataclass(frozen=True, slots=True)
class _Draft:
    """What every kind of target needs: the rows, the audits, a last look at the source.

    ``copied`` are the rows that what is written must be a copy of, as texts; None where the audits say all. ``marker``
    is the text of redacted rows.
    """

    query: exp.Query
    columns: tuple[str, ...]
    types: tuple[str, ...]
    audit: Audit
    lookups: Mapping[str, exp.Expr]
    models: tuple[ModelAudit, ...]
    copied: exp.Expr | None
    marker: str | None
    verify_source: Callable[[], None]
    target: Target


def _audit(
    engine: Engine,
    relation: exp.Expr,
    lookups: Mapping[str, exp.Expr],
    models: Sequence[ModelAudit],
    copied: exp.Expr | None,
    *,
    columns: Sequence[str],
    quasi_identifiers: Sequence[str],
    published: int,
    redacted: int,
    marker: str | None,
    nulls: str,
) -> None:
    count = exp.select(exp.Count(this=exp.Star())).from_(relation.copy())
    rows = int(engine.run("count written rows", count)[0][0])
    if rows != published + redacted:
        raise SourceChangedError(
            f"{rows} rows were written where the plan has {published + redacted}: the source changed between "
            "planning and publication.",
            hint="work on a copy that nobody writes to, and run again; nothing was published.",
        )
    audit_release(
        engine, relation, columns=columns, quasi_identifiers=quasi_identifiers, models=models, published=published,
        redacted=redacted, marker=marker, nulls=nulls, lookups=lookups,
    )  # fmt: skip
    if copied is not None:
        audit_copies(engine, relation, copied, columns=columns, marker=marker)
