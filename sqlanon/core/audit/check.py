"""The data test of a relation as it is: does every class meet the privacy models? Extended match."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.audit.models import audit_of, profiled, seen_once
from sqlanon.core.audit.trees import as_equal, compared_as_read
from sqlanon.core.cards import WithCard
from sqlanon.core.engines.base import Engine
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import canonical, column, number, total
from sqlanon.errors import InputError, SourceError, UnsupportedError


@dataclass(frozen=True, slots=True)
class ModelResult:
    """The result of one model: the classes that fail it, and their records.

    With an entity a record is what ``ModelAudit.offending`` counts: an entity in a class, with one value where the
    model watches a column.
    """

    model: str
    failing_classes: int
    failing_records: int

    @property
    def holds(self) -> bool:
        """No class fails."""
        return self.failing_classes == 0


@dataclass(frozen=True, slots=True, repr=False)
class CheckResult(WithCard):
    """Counts only; ``holds`` when no class fails any model.

    With an entity ``smallest_class`` counts entities, and ``entities`` how many there are.
    """

    holds: bool
    records: int
    classes: int
    smallest_class: int
    models: tuple[ModelResult, ...]
    entities: int | None = None

    @property
    def unit(self) -> str:
        """The unit that the models count, in the plural."""
        return "records" if self.entities is None else "entities"


def check_relation(
    engine: Engine,
    relation: exp.Expr,
    *,
    quasi_identifiers: Sequence[str],
    models: Sequence[PrivacyModel],
    reference: exp.Expr | None = None,
    hierarchies: Mapping[str, exp.Expr] | None = None,
    levels: Mapping[str, int] | None = None,
    entity: str | None = None,
) -> CheckResult:
    """Count the classes of ``relation`` over the quasi-identifiers; without any, all records are one class.

    Args:
        models: with the columns of the relation that they watch.
        reference: the relation that t-closeness (all records) and δ-presence (the population) are judged against.
        hierarchies: sensitive column -> relation of value, level and ancestor; ``levels`` below the root.
        entity: the column of entities of the relation (and of the reference): distinct entities are counted instead of
            records. Records without an entity (NULL) do not count.

    Raises:
        InputError: the relation or the reference is empty, or a reference is missing.
        SourceError: a relation has no such column.
    """
    types = dict(engine.catalog.columns(relation))
    wanted = exact_columns(types, "The relation", quasi_identifiers)
    refuse_reserved(wanted)
    exact_columns(types, "The relation", [m.column for m in models if m.column is not None])
    relation = compared_as_read(relation, types, entity=entity, quasi_identifiers=wanted)
    relation = as_equal(relation, types, [model.column for model in models])
    query = bind("audit/class_sizes.sql", relations={"release": relation}, columns={"quasi_identifier": wanted})
    classes, records, smallest = engine.run("check classes", query)[0]
    entities = None
    if entity is not None:
        [entity] = exact_columns(types, "The relation", [entity])
        counted = bind(
            "audit/entity_classes.sql", relations={"release": relation},
            columns={"quasi_identifier": wanted, "entity": [entity]},
        )  # fmt: skip
        entities, smallest = engine.run("check entities", counted)[0]
    if not records:
        raise InputError("The relation holds no records, so there is nothing to check.", hint="check the table name.")
    checks = []
    reference_types = {} if reference is None else dict(engine.catalog.columns(reference))
    if reference is not None:
        some = exp.select(number(1)).from_(reference.copy()).limit(1)
        if not engine.run("check reference", some):
            raise InputError(
                "The reference holds no records.", hint="a stream of records is read once; check its path."
            )
    audits = []
    for model in models:
        references = _references(model, wanted, reference, reference_types, hierarchies or {}, entity)
        audits.append(audit_of(model, references, levels=(levels or {}).get(model.column or "", 0)))
    relation, of_class = profiled(audits, relation, wanted, entity)
    for model, audit in zip(models, audits, strict=True):
        audit, classes_failing, records_failing = audit.settled(engine, relation, of_class, entity), 0, 0
        for failing in audit.queries(
            relation, of_class if audit.at_most is None and audit.rows_known is None else wanted, entity
        ):
            offending = failing.subquery("offending")
            counts = exp.select(exp.Count(this=exp.Star()), total(exp.column("records"))).from_(offending)
            some_classes, some_records = engine.run(f"check {model.type}", counts)[0]
            classes_failing, records_failing = classes_failing + some_classes, records_failing + some_records
        checks.append(ModelResult(model.label, classes_failing, records_failing))
    return CheckResult(all(item.holds for item in checks), records, classes, smallest, tuple(checks), entities)


def exact_columns(actual: Collection[str], subject: str, wanted: Sequence[str]) -> list[str]:
    """Return the exact names of the wanted columns among the actual ones, matched in any case where no name is equal.

    Raises:
        SourceError: the relation has no such column, or several that differ by case only.
    """
    columns = [names.matching(name, actual) for name in wanted]
    missing = [name for name, matches in zip(wanted, columns, strict=True) if len(matches) != 1]
    if missing:
        raise SourceError(
            f"{subject} has no column {', '.join(map(repr, missing))}, or several that differ by case.",
            hint=f"it has {len(actual)} columns; check the names; a CSV file needs a header line with them.",
        )
    return [matches[0] for matches in columns]


def refuse_reserved(columns: Iterable[str], where: str = "relation") -> None:
    """Raise UnsupportedError if a column of a relation, or of a source (``where``), has the prefix of our own names."""
    ours = [name for name in columns if name.casefold().startswith(names.PREFIX)]
    if ours:
        raise UnsupportedError(
            f"The columns {', '.join(map(repr, ours))} have the prefix that sqlanon keeps for itself.",
            hint=f"rename them in a view of the {where}.",
        )


def _references(
    model: PrivacyModel,
    quasi_identifiers: Sequence[str],
    reference: exp.Expr | None,
    types: Mapping[str, str],
    hierarchies: Mapping[str, exp.Expr],
    entity: str | None,
) -> dict[str, exp.Expr]:
    wanted = model.references
    if not wanted:
        return {}
    if reference is None:
        raise InputError(
            f"{model.label} is judged against a reference, and there is none.",
            hint="pass --reference, in Python reference=: all records before suppression (t-closeness, δ-disclosure, "
            "β-likeness), or the population with the quasi-identifiers generalized as in the relation (δ-presence, "
            "k-map).",
        )
    own = exact_columns(types, "The reference", [entity]) if entity is not None else []
    if "population" in wanted:
        found_in = exact_columns(types, "The reference", quasi_identifiers)
        reference = compared_as_read(reference, types, entity=entity, quasi_identifiers=found_in)
        relation = seen_once(reference, found_in, own[0]) if own else reference
        return {"population": _population(relation, found_in, quasi_identifiers)}
    assert model.column is not None
    [name] = exact_columns(types, "The reference", [model.column])
    reference = compared_as_read(reference, types, entity=entity, quasi_identifiers=[])
    reference = seen_once(reference, [name], own[0]) if own else reference
    value = canonical(name, types[name])
    order = exp.Order(expressions=[exp.Ordered(this=exp.AnyValue(this=column(name)), nulls_first=False)])
    distribution = (
        exp.select(
            exp.alias_(value, "value"),
            exp.alias_(exp.Count(this=exp.Star()), "records"),
            exp.alias_(exp.Window(this=exp.RowNumber(), order=order), "place"),
        )
        .from_(reference.copy())
        .group_by(value.copy())
    )
    references: dict[str, exp.Expr] = {"reference": distribution}
    if "hierarchy" in wanted:
        if model.column not in hierarchies:
            raise InputError(
                f"{model.label} is judged along a hierarchy, and there is none.",
                hint="add hierarchy=FILE to the --sensitive of the column.",
            )
        references["hierarchy"] = hierarchies[model.column]
    return references


def _population(reference: exp.Expr, found: Sequence[str], quasi_identifiers: Sequence[str]) -> exp.Expr:
    columns = [column(name) for name in found]
    counted = exp.select(
        *[exp.alias_(c, wanted, quoted=True) for c, wanted in zip(columns, quasi_identifiers, strict=True)],
        exp.alias_(exp.Count(this=exp.Star()), "sqlanon_count"),
    ).from_(reference.copy())
    return counted.group_by(*[c.copy() for c in columns]) if columns else counted
