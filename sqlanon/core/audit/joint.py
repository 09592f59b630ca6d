"""The audit of releases that are judged together: the persons by their classes in all of them.

It reads who is in which class, of the earlier releases from their ledger and of the new one from the rows that are
about to be published, and knows nothing of the numbers by which a search distinguishes joint cells.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.audit.models import ModelAudit
from sqlanon.core.audit.trees import rows_of_all
from sqlanon.core.engines.base import Engine
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import column, count_rows, equal, named, number, union_all, when
from sqlanon.errors import AuditError

NEW = "new_class"


def audit_joint(
    engine: Engine,
    earlier: Sequence[exp.Expr],
    rows: exp.Expr,
    quasi_identifiers: Sequence[str],
    models: Sequence[ModelAudit],
    *,
    k: int,
) -> None:
    """Prove that the joint cells of a release and earlier ones hold no or at least k persons, and meet its models.

    Args:
        earlier: the members of each earlier release: ``person`` and ``class``.
        rows: the rows of the new one, with their persons (``names.PERSON``) and the numbers of their classes
            (``names.LEDGER_CLASS``).
        quasi_identifiers: the columns of the rows that form classes.
        models: of the release.

    Raises:
        AuditError: with the number of joint cells that offend; never a value.
    """
    before = [f"class_{place}" for place in range(len(earlier))]
    new = exp.select(named(column(names.PERSON), "person"), named(column(names.LEDGER_CLASS), "class"))
    histories = _histories([*earlier, new.from_(rows.copy()).subquery("new")], [*before, NEW])
    whole = int(any(model.column is not None for model in models))
    cells = bind(
        "audit/joint_cells.sql",
        relations={"histories": histories.subquery()},
        columns={"earlier_class": before},
        values={"k": k, "whole": whole},
    )
    own = [f"{names.EARLIER}_{place}" for place in range(len(earlier))]
    beside = exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier("rows", quoted=True))).from_(
        exp.select("*").from_(rows.copy()).subquery("rows")
    )
    for place, (relation, name) in enumerate(zip(earlier, own, strict=True)):
        members = exp.select("*").from_(relation.copy()).subquery(f"earlier_{place}")
        beside = beside.select(named(column("class", f"earlier_{place}"), name))
        met = equal(column(names.PERSON, "rows"), column("person", f"earlier_{place}"))
        beside = beside.join(members, on=met, join_type="left")
    judged = beside.subquery("beside")
    audits = [cells, *[query for model in models for query in model.queries(judged, [*quasi_identifiers, *own])]]
    counts = [exp.select(named(count_rows(), "offending")).from_(query.subquery("offending")) for query in audits]
    sizes = [int(row[0]) for query in counts for row in rows_of_all(engine, "audit joint cells", [query])]
    if any(sizes):
        raise AuditError(
            f"What was to be published does not satisfy the policy together with the earlier releases of the ledger: "
            f"{max(sizes)} joint classes offend. Nothing was published.",
            hint="the source may have changed meanwhile; run again, and report it as a defect if it stays.",
        )


def _histories(releases: Sequence[exp.Expr], own: Sequence[str]) -> exp.Select:
    """Return a row a person of any release, with the class in each."""
    parts = [
        exp.select(column("person"), column("class"), named(number(place), "release")).from_(relation.copy())
        for place, relation in enumerate(releases)
    ]
    classes = [
        named(exp.Max(this=when(equal(column("release"), number(place)), column("class"))), name)
        for place, name in enumerate(own)
    ]
    query = exp.select(column("person"), *classes).from_(union_all(parts).subquery("members"))
    return query.group_by(column("person"))
