"""What was written, read again where it stands and counted by the audits alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlglot import exp

from sqlanon.core.audit.beside_release import ReleasedColumns, judge_released
from sqlanon.core.audit.check import CheckResult, check_relation
from sqlanon.core.engines.base import Engine
from sqlanon.core.models import least_count
from sqlanon.core.models.distinct_l_diversity import DistinctLDiversity
from sqlanon.core.policy import Output, Policy
from sqlanon.core.policy.output import LAKES
from sqlanon.core.policy.paths import is_database
from sqlanon.core.publish.lakes import open_lake
from sqlanon.core.publish.targets import place
from sqlanon.core.source.columns import is_scalar
from sqlanon.core.source.opening import open_source
from sqlanon.core.sqltrees.binding import bind
from sqlanon.errors import AuditError, InputError, SqlanonError
from sqlanon.report.evidence.release import Evidenced


@dataclass(frozen=True, slots=True)
class Recount:
    """What the audits count in a release that was written.

    Attributes:
        found: classes, and the models that need nothing but the release; None where it was not counted.
        reason: why it was not; a key of the results of the attack ``class_sizes``.
        beside: (columns that are published as they are, records that nobody shares them and the quasi-identifiers with,
            records that fewer than k share them with); of each column, and of all kept ones together.
        alike: column that is published as it is -> (classes whose records all share its value, their records).
    """

    found: CheckResult | None
    reason: str = ""
    beside: tuple[tuple[tuple[str, ...], int, int], ...] = ()
    alike: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def recount(evidenced: Evidenced) -> Recount:
    """Count the classes of what was written, and judge them by those models that need nothing else.

    Raises:
        AuditError: the release does not hold what its accompanying files say.
    """
    release = evidenced.release
    if not evidenced.is_written:
        return Recount(None, "not_written")
    if not release.ledger.published:
        return Recount(None, "empty")
    [(kind, target)] = release.output.items()
    if kind in LAKES:
        with open_source(open_lake(Output(kind, target)).frame, None) as opened:
            return _counted(opened.engine, opened.relation, evidenced)
    if kind != "file":
        engine = release.plan.engine
        written = place(engine, target, release.plan.source.target_catalog)
        return _counted(engine, written.table, evidenced)
    path = Path(target)
    if release.plan.policy.extensions.format_of(path.suffix) is not None:
        return Recount(None, "format")
    with open_source(path, "release" if is_database(path.name) else None) as opened:
        return _counted(opened.engine, opened.relation, evidenced)


def _counted(engine: Engine, relation: exp.Expr, evidenced: Evidenced) -> Recount:
    release = evidenced.release
    plan, policy = release.plan, release.plan.policy
    if evidenced.marker is not None:
        every, marked = {"released_column": [*plan.released]}, {"marker": evidenced.marker}
        rows = bind("audit/records.sql", relations={"release": relation}, columns=every, values=marked)
        relation = rows.subquery("records")
    # of entities nothing is published, so that their models were judged before the release was written
    alone = [model for model in plan.models if not model.references] if policy.entity is None else []
    known = [column.name for column in policy.quasi_identifiers]
    result: CheckResult | None = None
    try:
        result = check_relation(engine, relation, quasi_identifiers=known, models=alone)
    except InputError as error:  # it is empty, or lacks a column
        failure: SqlanonError = error
    if result is None:
        raise AuditError(f"The release is not what its accompanying files say. {failure.message}", hint=_HINT)
    if not result.holds or result.records != release.ledger.published:
        raise AuditError(
            "The release is not what its accompanying files say: counted again where it stands, it has another number "
            "of records, or classes that fail a model.",
            hint=_HINT,
        )
    beside = [column.name for column in policy.columns if column.role in ("keep", "sensitive")]
    beside = [name for name in beside if is_scalar(plan.released[name])]
    several = [DistinctLDiversity(column=name, l=TWO) for name in beside]
    judged = check_relation(engine, relation, quasi_identifiers=known, models=several).models if several else ()
    return Recount(
        result,
        beside=_beside(engine, relation, policy, beside, result.records),
        alike={n: (item.failing_classes, item.failing_records) for n, item in zip(beside, judged, strict=True)},
    )


def _beside(
    engine: Engine, relation: exp.Expr, policy: Policy, names: Sequence[str], records: int
) -> tuple[tuple[tuple[str, ...], int, int], ...]:
    """Count whom a column singles out besides the quasi-identifiers; a sensitive one is not taken to be known alone."""
    roles = {column.name: column.role for column in policy.columns}
    kept = {name: name for name in names if roles[name] == "keep"}
    watched = {name: name for name in names if roles[name] != "keep"}
    columns = ReleasedColumns(
        quasi_identifiers=[column.name for column in policy.quasi_identifiers],
        kept=kept,
        singled=watched,
        published={**watched, **kept},
        entity_like={},
        entity=None,
    )
    return judge_released(engine, relation, columns, k=max(2, least_count(policy.models)), records=records).alone


TWO = 2
"""Values of a column that a class must hold, so that whoever finds it does not learn the value."""
_HINT = "it was changed after it was written; publish it again with if_exists: replace."
