"""The audit of a release: SQL over what was written, which shares no code with the compiler that wrote it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sqlanon.core.audit.keyed import KeyedClaim, keyed_audits
from sqlanon.core.audit.models import RECORDS, ModelAudit, profiled
from sqlanon.core.audit.represented import RepresentedClaim, beside_classes, represented_audits
from sqlanon.core.audit.trees import as_equal, compared_as_read, rows_of_all
from sqlanon.core.engines.base import Engine
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import Value, bind
from sqlanon.core.sqltrees.trees import column, count_rows, named, number
from sqlanon.errors import AuditError, EngineError


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseClaim:
    """The claims of a release, which its audits check.

    Attributes:
        types: its columns with their types, in order.
        quasi_identifiers: those of its columns that form classes.
        models: the audits of the policy's privacy models.
        published: number of records, without the redacted ones.
        redacted: number of rows in which every column is ``marker``.
        marker: the text of redacted rows; None when suppressed records are dropped.
        nulls: ``extended``, or ``basic``: then no quasi-identifier may be NULL.
        lookups: per quasi-identifier, a relation with the column ``value``: the texts of its levels.
        represented: the quasi-identifiers of which numbers or dates are published.
        keyed: what was made by a key.
    """

    types: Mapping[str, str]
    quasi_identifiers: tuple[str, ...]
    models: tuple[ModelAudit, ...]
    published: int
    redacted: int = 0
    marker: str | None = None
    nulls: str = "extended"
    lookups: Mapping[str, exp.Expr] = field(default_factory=dict)
    represented: tuple[RepresentedClaim, ...] = ()
    keyed: KeyedClaim | None = None

    @property
    def class_columns(self) -> list[str]:
        """The columns by which a reader forms classes: the quasi-identifiers and what stands beside them."""
        return [*self.quasi_identifiers, *beside_classes(self.represented)]

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self.types)

    def without_models(self) -> ReleaseClaim:
        """Return the claim of rows whose models and persons were audited elsewhere (``audit_entities``)."""
        return replace(self, models=(), keyed=None)


def audit_release(engine: Engine, relation: exp.Expr, claim: ReleaseClaim) -> None:
    """Run every audit of ``sql/audit`` over a release as it was written, and report all that fail.

    Raises:
        AuditError: names the audits that failed, with the number of offending rows; never a value.
    """
    described = engine.catalog.columns(relation)
    columns = [name for name, _ in described]
    if columns != claim.columns:
        extra = [name for name in columns if name not in claim.types]
        raise AuditError(
            f"The audit unexpected_columns failed: the release has {len(columns)} columns, "
            f"{len(extra)} of them unexpected ({', '.join(map(repr, extra)) or 'none'}); "
            f"{len(claim.types)} in the order of the policy are due.",
            hint="nothing was published; report it as a defect of sqlanon.",
        )
    failures: dict[str, int] = {}
    enums = sum("ENUM(" in type_name.upper() for _, type_name in described)
    if enums:
        failures["enum_types"] = enums
    relation = compared_as_read(relation, dict(described), entity=None, quasi_identifiers=[])
    claim = replace(claim, types=dict(described))
    classes = _read_classes(engine, relation, claim)
    try:
        audits = release_audits(relation, claim, engine, classes)
        # those of the models hold all classes at once, which must not add up
        _run(engine, audits, failures, apart={model.name for model in claim.models})
    finally:
        if classes is not None:
            with suppress(EngineError):  # the connection may be gone, and says why itself
                engine.drop(classes.name)


def _read_classes(engine: Engine, relation: exp.Expr, claim: ReleaseClaim) -> exp.Table | None:
    """Return the classes of a release with their records in a working table, where that spares readings."""
    cells = [column(name) for name in claim.class_columns]
    if not cells or all(model.name != "small_classes" for model in claim.models):
        return None
    classes = exp.select(*cells, named(count_rows(), RECORDS)).from_(records_of(relation, claim).copy())
    classes = classes.group_by(*[cell.copy() for cell in cells])
    classes_read = engine.read_once("audit classes", names.AUDITED_CLASSES, classes.subquery("classes"))
    return classes_read if isinstance(classes_read, exp.Table) else None


def audit_entities(engine: Engine, relation: exp.Expr, claim: ReleaseClaim, *, entity: str) -> None:
    """Run the audits of the models over released rows that still have their entities, counting distinct entities.

    Args:
        relation: the released rows before they are written.
        entity: its column of entities, with the values of the source: the plan may have numbered them wrongly.

    Raises:
        AuditError: names the audits that failed, with the number of offending classes; never a value.
    """
    quasi = claim.class_columns
    described = dict(engine.catalog.columns(relation))
    relation = compared_as_read(relation, described, entity=entity, quasi_identifiers=[])
    relation = as_equal(relation, described, [model.column for model in claim.models])
    relation, quasi = profiled(claim.models, relation, quasi, entity)
    settled = [model.settled(engine, relation, quasi, entity) for model in claim.models]
    audits = [(model.name, query) for model in settled for query in model.queries(relation, quasi, entity)]
    audits += [] if claim.keyed is None else keyed_audits(relation, claim.keyed, entity=entity)
    _run(engine, audits, {}, apart={name for name, _ in audits})


def audit_copies(engine: Engine, written: exp.Expr, staged: exp.Expr, claim: ReleaseClaim) -> None:
    """Prove that what was written holds the rows that were audited before, and those alone.

    Args:
        written: the release; its redacted rows are passed over.
        staged: the audited rows, as texts.

    Raises:
        AuditError: rows are lacking on either side; never a value.
    """
    texts = [named(exp.cast(column(name), "VARCHAR"), name) for name in claim.columns]
    rows = exp.select(*texts).from_(records_of(written, claim).copy())
    every = {"released_column": claim.columns}
    compared = bind("audit/other_rows.sql", relations={"staged": staged, "written": rows}, columns=every)
    _run(engine, [("other_rows", compared)], {})


def records_of(relation: exp.Expr, claim: ReleaseClaim) -> exp.Expr:
    """Return the rows of a relation without the redacted ones, in which every column is the marker."""
    if claim.marker is None:
        return relation
    every = {"released_column": claim.columns}
    marked = {"marker": claim.marker}
    rows = bind("audit/records.sql", relations={"release": relation}, columns=every, values=marked)
    return rows.subquery("records")


def _run(
    engine: Engine, audits: Sequence[tuple[str, exp.Query]], failures: dict[str, int], *, apart: Collection[str] = ()
) -> None:
    """Run audits, and raise AuditError if any finds an offending row, or if anything failed before.

    Args:
        apart: audits that are a statement each; the others are one together.
    """
    counted: dict[tuple[str, int], list[exp.Query]] = {}
    for place, (name, query) in enumerate(audits):
        counts = exp.select(named(number(place), "place"), named(count_rows(), "offending"))
        title = (f"audit {name}", place) if name in apart else ("audit", 0)
        counted.setdefault(title, []).append(counts.from_(query.subquery("offending", copy=False), copy=False))
    rows = sorted(row for (title, _), queries in counted.items() for row in rows_of_all(engine, title, queries))
    for place, count in rows:
        if count:
            name = audits[int(place)][0]
            failures[name] = failures.get(name, 0) + int(count)
    refuse_failures(failures)


def refuse_failures(failures: Mapping[str, int]) -> None:
    """Raise AuditError if an audit failed, with its name and the number of offending rows or classes."""
    if failures:
        listed = ", ".join(f"{name} ({count} offending)" for name, count in failures.items())
        raise AuditError(
            f"What was written does not satisfy the policy; failed audits: {listed}. Nothing was published.",
            hint="the source may have changed meanwhile; run again, and report it as a defect if it stays.",
        )


def release_audits(
    relation: exp.Expr, claim: ReleaseClaim, engine: Engine | None = None, classes: exp.Table | None = None
) -> list[tuple[str, exp.Query]]:
    """Return the audits as (name, SELECT of the offending rows), without running them.

    Args:
        relation: the release as it was written.
        claim: with the types that its columns have there.
        engine: asked for class sizes, where SQL alone does not know whether a model holds (``ModelAudit.settled``).
        classes: those of the release with their records, where they were read before.
    """
    rows, every = {"release": relation}, {"released_column": claim.columns}
    expected = {"expected": claim.published + claim.redacted}
    audits: list[tuple[str, exp.Query]] = [("row_count", bind("audit/row_count.sql", relations=rows, values=expected))]
    records, quasi = records_of(relation, claim), list(claim.quasi_identifiers)
    if claim.marker is not None:
        marked: dict[str, Value] = {"marker": claim.marker}
        counted = {**marked, "expected": claim.redacted}
        audits += [
            ("redacted_rows", bind("audit/redacted_rows.sql", relations=rows, columns=every, values=marked)),
            ("redacted_count", bind("audit/redacted_count.sql", relations=rows, columns=every, values=counted)),
        ]
    judged = as_equal(records, claim.types, [model.column for model in claim.models])
    for model in claim.models:  # the classes of a population are known by their texts alone
        keyed = quasi if "population" in model.references else claim.class_columns
        if classes is not None and model.name == "small_classes":
            few = exp.LT(this=column(RECORDS), expression=number(int(model.values["k"])))
            audits.append((model.name, exp.select(column(RECORDS)).from_(classes.copy()).where(few)))
            continue
        settled = model if engine is None else model.settled(engine, judged, keyed)
        audits += [(model.name, query) for query in settled.queries(judged, keyed)]
    audits += represented_audits(records, quasi, claim.represented)
    if claim.nulls == "basic":
        unbounded = {represented.name for represented in claim.represented if represented.instead}
        texts = [name for name in quasi if name not in unbounded]
        among, keys = {"release": records}, {"quasi_identifier": texts}
        audits.append(("null_records", bind("audit/null_records.sql", relations=among, columns=keys)))
    for name, lookup in claim.lookups.items():
        query = bind(
            "audit/untranslated_values.sql",
            relations={"release": records if classes is None else classes, "lookup": lookup},
            columns={"audited_column": [name]},
            released_type=claim.types[name],
        )
        audits.append((f"untranslated_values of {name}", query))
    return audits
