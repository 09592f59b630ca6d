"""The audit of a release: SQL over what was written, which shares no code with the compiler that wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.audit.models import ModelAudit
from sqlanon.audit.trees import column
from sqlanon.engines.base import Engine
from sqlanon.errors import AuditError
from sqlanon.sqltrees.binding import bind


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
    audits = release_audits(
        relation,
        types=dict(described),
        quasi_identifiers=quasi_identifiers,
        models=models,
        published=published,
        redacted=redacted,
        marker=marker,
        nulls=nulls,
        lookups=lookups,
    )
    _refuse(engine, audits, failures)


def audit_entities(
    engine: Engine,
    relation: exp.Expr,
    *,
    entity: str,
    quasi_identifiers: Sequence[str],
    models: Sequence[ModelAudit],
) -> None:
    """Run the audits of the models over released rows that still tell whom they are of, counting distinct entities.

    Args:
        relation: the released rows before they are written.
        entity: its column of entities, with the values of the source: the plan may have numbered them wrongly.

    Raises:
        AuditError: names the audits that failed, with the number of offending classes; never a value.
    """
    _refuse(engine, [(model.name, model.offending(relation, list(quasi_identifiers), entity)) for model in models])


def audit_copies(
    engine: Engine, written: exp.Expr, staged: exp.Expr, *, columns: Sequence[str], marker: str | None
) -> None:
    """Prove that what was written holds the rows that were audited with their entities, and those alone.

    Args:
        written: the release; its redacted rows, in which every column is ``marker``, are passed over.
        staged: the audited rows without their entities, as texts.

    Raises:
        AuditError: rows are lacking on either side; never a value.
    """
    every = {"released_column": list(columns)}
    written = unmarked(written, columns, marker)
    texts = [exp.alias_(exp.cast(column(name), "VARCHAR"), name, quoted=True) for name in columns]
    told = exp.select(*texts).from_(written.copy())
    compared = bind("audit/other_rows.sql", relations={"staged": staged, "written": told}, columns=every)
    _refuse(engine, [("other_rows", compared)])


def unmarked(relation: exp.Expr, columns: Sequence[str], marker: str | None) -> exp.Expr:
    """The rows of a relation without the redacted ones, in which every column is ``marker`` (None: there are none)."""
    if marker is None:
        return relation
    every = {"released_column": list(columns)}
    rows = bind("audit/records.sql", relations={"release": relation}, columns=every, values={"marker": marker})
    return rows.subquery("records")


def _refuse(engine: Engine, audits: Sequence[tuple[str, exp.Query]], failures: dict[str, int] | None = None) -> None:
    """Run audits, and raise AuditError if any finds an offending row, or anything failed before."""
    failures = dict(failures or {})
    for name, query in audits:
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
) -> list[tuple[str, exp.Query]]:
    """The audits as (name, SELECT of the offending rows), without running them."""
    rows = {"release": relation}
    every = {"released_column": list(types)}
    audits: list[tuple[str, exp.Query]] = [
        ("row_count", bind("audit/row_count.sql", relations=rows, values={"expected": published + redacted}))
    ]
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
