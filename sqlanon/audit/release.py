"""The audit of a release: SQL over what was written, which shares no code with the compiler that wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.audit.models import ModelAudit
from sqlanon.binding import bind
from sqlanon.engines.base import Engine
from sqlanon.errors import AuditError


def audit_release(
    engine: Engine,
    relation: exp.Expr,
    *,
    columns: Sequence[str],
    quasi_identifiers: Sequence[str],
    models: Sequence[ModelAudit],
    published: int,
    redacted: int,
    marker: str | None,
    nulls: str,
    lookups: Mapping[str, exp.Expr] | None,
) -> None:
    """Run every audit of ``sql/audit`` and report all that fail.

    Args:
        relation: the release as it was written.
        columns: its columns, exactly, in order.
        models: the audits of the policy's privacy models.
        published: number of records, without the redacted ones.
        redacted: number of rows in which every column is ``marker``.
        marker: None when suppressed records were dropped.
        nulls: ``extended``, or ``basic``: then no quasi-identifier may be NULL.
        lookups: per quasi-identifier, a relation with the column ``value``: the texts of its level.

    Raises:
        AuditError: names the audits that failed, with the number of offending rows; never a value.
    """
    described = engine.columns(relation)
    found = [name for name, _ in described]
    if found != list(columns):
        extra = [name for name in found if name not in columns]
        raise AuditError(
            f"The audit unexpected_columns failed: the release has {len(found)} columns, "
            f"{len(extra)} of them unexpected ({', '.join(map(repr, extra)) or 'none'}); "
            f"{len(columns)} in the order of the policy are due.",
            hint="nothing was published; report it as a defect of sqlanon.",
        )
    failures: dict[str, int] = {}
    enums = sum("ENUM(" in type_name.upper() for _, type_name in described)
    if enums:
        failures["enum_types"] = enums
    for name, query in release_audits(
        relation,
        types=dict(described),
        quasi_identifiers=quasi_identifiers,
        models=models,
        published=published,
        redacted=redacted,
        marker=marker,
        nulls=nulls,
        lookups=lookups,
    ):
        offending = exp.select(exp.Count(this=exp.Star())).from_(query.subquery("offending"))
        count = int(engine.run(f"audit {name}", offending)[0][0])
        if count:
            failures[name] = count
    if failures:
        told = ", ".join(f"{name} ({count} offending)" for name, count in failures.items())
        raise AuditError(
            f"What was written does not satisfy the policy; failed audits: {told}. Nothing was published.",
            hint="the source may have changed meanwhile; run again, and report it as a defect if it stays.",
        )


def release_audits(
    relation: exp.Expr,
    *,
    types: Mapping[str, str],
    quasi_identifiers: Sequence[str],
    models: Sequence[ModelAudit],
    published: int,
    redacted: int,
    marker: str | None,
    nulls: str,
    lookups: Mapping[str, exp.Expr] | None,
) -> list[tuple[str, exp.Select]]:
    """The audits as (name, SELECT of the offending rows), without running them."""
    rows = {"release": relation}
    every = {"released_column": list(types)}
    audits = [("row_count", bind("audit/row_count.sql", relations=rows, values={"expected": published + redacted}))]
    records: exp.Expr = relation
    if marker is not None:
        marked = {"marker": marker}
        audits.append(("redacted_rows", bind("audit/redacted_rows.sql", relations=rows, columns=every, values=marked)))
        audits.append(
            (
                "redacted_count",
                bind(
                    "audit/redacted_count.sql",
                    relations=rows,
                    columns=every,
                    values={**marked, "expected": redacted},
                ),
            )
        )
        records = bind("audit/records.sql", relations=rows, columns=every, values=marked)
    among = {"release": records}
    quasi = {"quasi_identifier": list(quasi_identifiers)}
    for model in models:
        audits.append((model.name, model.offending(records, list(quasi_identifiers))))
    if nulls == "basic":
        audits.append(("null_records", bind("audit/null_records.sql", relations=among, columns=quasi)))
    for name, lookup in (lookups or {}).items():
        query = bind(
            "audit/untranslated_values.sql",
            relations={"release": records, "lookup": lookup},
            columns={"audited_column": [name]},
            released_type=types[name],
        )
        audits.append((f"untranslated_values of {name}", query))
    return audits
