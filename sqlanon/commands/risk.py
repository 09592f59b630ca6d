"""``sqlanon risk``: what an attacker finds in a relation as it stands, and in a release beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sqlanon.assess.risk.facts import ALL_RECORDS, Risk, RiskComparison, with_notes
from sqlanon.assess.risk.measure import Sample
from sqlanon.assess.risk.population_table import PopulationTable, population_sample
from sqlanon.assess.risk.question import DEFAULT_K, RiskQuestion
from sqlanon.assess.risk.relation import measure_relation
from sqlanon.commands.common import Judged, open_relation, read_policy, reading_with, warn
from sqlanon.commands.risk_text import comparison_lines, risk_lines
from sqlanon.core.models import least_count
from sqlanon.core.policy import Policy
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import both, column, equal, is_null
from sqlanon.core.words import counted
from sqlanon.errors import InputError


@dataclass(frozen=True, slots=True)
class RiskOptions:
    """The options of ``sqlanon risk``, as they are given."""

    source: str | None
    table: str | None
    qi: tuple[str, ...]
    k: int | None
    nulls: str | None
    entity: str | None
    weights: str | None
    population: str | None
    population_table: str | None
    population_size: int | None
    compare: str | None
    compare_table: str | None
    policy: str | None
    csv: tuple[str, ...]
    column_sets: bool
    as_json: bool

    def with_policy(self, policy: Policy | None) -> RiskOptions:
        """Complete the options by what the policy states about the relation.

        Raises:
            InputError: an option states it too, or neither names the relation or its quasi-identifiers.
        """
        if policy is None:
            if self.source is None:
                raise InputError("No relation is named.", hint="give SOURCE and --qi COLUMN,…, or --policy FILE.")
            if not self.qi:
                raise InputError("No quasi-identifiers are named.", hint="give --qi COLUMN,…, or --policy FILE.")
            return replace(self, k=self.k or DEFAULT_K, nulls=self.nulls or "extended")
        twice = [f"--{name}" for name in ("qi", "nulls", "entity") if getattr(self, name)]
        if twice:
            raise InputError(
                f"The policy says what {' and '.join(twice)} would say.", hint="leave the option out, or the policy."
            )
        least = least_count(policy.models)
        return replace(
            self,
            source=self.source or policy.as_written().source,
            table=self.table or policy.as_written().table,
            qi=tuple(item.name for item in policy.quasi_identifiers),
            k=self.k or (least if least > 1 else DEFAULT_K),
            nulls=policy.nulls,
            entity=policy.entity,
        )


def execute(**given: Any) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    options = RiskOptions(**given)
    policy = None if options.policy is None else read_policy(options.policy)
    own_source = policy is not None and options.source is None
    options = options.with_policy(policy)
    with _open(options, policy if own_source else None) as opened:
        given_place = (options.source or "", options.table)
        judged = Judged.of(opened, given_place, options.qi, [options.weights], options.entity)
        sample = _sample(opened, judged, options)
        question = _question(opened, judged, options)
        before = measure_relation(sample, question)
        if policy is not None and policy.subset is not None:
            before = with_notes(before, ALL_RECORDS)
        csv = options.csv if own_source else ()  # of SOURCE, if it is named; a release is written in its own form
        compared = None if options.compare is None else _compared(options, sample, question, before, csv)
        before = before if compared is None else compared.before
    if options.as_json:
        document: dict[str, Any] = {"risk": before.to_dict()}
        if compared is not None:
            document = {**compared.to_dict(), "release": options.compare}
        print(json.dumps({**judged.to_dict(), **document}))
        return 0
    for name, risk in (("", before),) if compared is None else (("Before: ", before), ("After: ", compared.after)):
        if risk.left_out:
            print(f"{name}{risk.left_out}")
    print(_taking_part(before))
    for line in judged.lines():
        print(f"  {line}")
    if compared is not None and compared.after.smallest_class is not None:
        print(f"Release: {_taking_part(compared.after)}")
    for line in risk_lines(before) if compared is None else comparison_lines(compared):
        print(line)
    return 0


def _open(options: RiskOptions, policy: Policy | None) -> Source:
    """Open the relation, or the source of the policy where no other is named."""
    if policy is None:
        assert options.source is not None
        return open_relation(options.source, options.table, reading_with(options.csv))
    opened = open_policy_source(None, policy)
    for warning in opened.warnings:
        warn(warning)
    return opened


def _sample(opened: Source, judged: Judged, options: RiskOptions) -> Sample:
    basic = options.nulls == "basic"
    columns = judged.quasi_identifiers
    return Sample(opened.engine, opened.relation, columns, opened.readable, judged.entity, basic)


def _question(opened: Source, judged: Judged, options: RiskOptions) -> RiskQuestion:
    """Return the question to the relation; the population is opened beside it."""
    population = None
    if options.population is not None or options.population_table is not None:
        place = PopulationTable(options.population, options.population_table, reading_with(options.csv))
        population = population_sample(
            opened.engine,
            place.records(opened),
            judged.quasi_identifiers,
            entity=judged.entity,
            basic=options.nulls == "basic",
        )
    return RiskQuestion(
        quasi_identifiers=judged.quasi_identifiers,
        unit="record" if judged.entity is None else "entity",
        nulls=options.nulls or "extended",
        k=options.k or DEFAULT_K,
        population_size=options.population_size,
        population=population,
        weights=judged.watched[0],
        column_sets=options.column_sets,
    )


def _compared(
    options: RiskOptions, source: Sample, question: RiskQuestion, before: Risk, csv: Sequence[str]
) -> RiskComparison:
    """Return the figures of the source beside those of a release of its records.

    Raises:
        InputError: the release has none of the quasi-identifiers, or more records than the source.
    """
    assert options.compare is not None
    with open_relation(options.compare, options.compare_table, reading_with(csv)) as opened:
        sample, notes = _released_sample(opened, source, question)
        if sample.entity is None:
            question = replace(question, unit="record")
        weights, actual = options.weights, None
        if weights is not None:
            actual = _column_of(opened, weights)
            if actual is None:
                notes.append(f"The release has no column {weights!r}, so that the risk by its weights is not known.")
        if options.population is not None or options.population_table is not None:
            notes.append(
                "The population belongs to the source. To compare the release with it, measure the release alone, "
                "with a table of the population that is generalized in the same way."
            )
        suppressed = source.count() - sample.count()
        if suppressed < 0:
            raise InputError(
                f"The release has {-suppressed} more records than the source, so it is no release of it.",
                hint="check which relations are compared; with --policy, a release of the policy's own source.",
            )
        question = replace(question, population=None, weights=actual)
        after = with_notes(measure_relation(sample, question, suppressed=suppressed), *notes)
        if sample.entity is not None:
            return RiskComparison(before, _of_published(after) if suppressed else after)
        if source.entity is None:
            return RiskComparison(before, after)
        rows = measure_relation(replace(source, entity=None), replace(question, weights=weights))
        rows = with_notes(rows, *[note for note in before.notes if note == ALL_RECORDS])
        return RiskComparison(_of_rows(rows), _of_rows(after))


def _taking_part(risk: Risk) -> str:
    """Return how many records, or entities, stand in how many classes."""
    each = "" if risk.unit == "record" else " (each once in every class of theirs)"
    classes = counted(risk.classes, "class")
    return f"{counted(risk.records, risk.unit)}{each} in {classes}, the smallest has {risk.smallest_class:,}."


def _of_published(risk: Risk) -> Risk:
    """Return figures of entities without those over all: in which classes suppressed records were is not known."""
    note = (
        f"{counted(risk.suppressed, 'record')} of the source {'is' if risk.suppressed == 1 else 'are'} not in the "
        "release. Their classes, and so the entities of these, are not known: the figures are of what is published."
    )
    return with_notes(replace(risk, figures=tuple(replace(figure, of_all=None) for figure in risk)), note)


def _of_rows(risk: Risk) -> Risk:
    """Return figures of rows as such where an entity is named: classes of its rows may hold fewer entities."""
    unknown = ", by its records; by its entities this is not known."
    thresholds = tuple(
        replace(item, met=None, sentence=item.sentence.removesuffix(": within it.") + unknown) if item.met else item
        for item in risk.thresholds
    )
    return replace(risk, thresholds=thresholds)


def _released_sample(opened: Source, source: Sample, question: RiskQuestion) -> tuple[Sample, list[str]]:
    """Return a release with the quasi-identifiers that it has, and what to know of those that it lacks."""
    columns = {name: _column_of(opened, name) for name in question.quasi_identifiers}
    present = tuple(name for name in columns.values() if name is not None)
    lacking = [name for name, there in columns.items() if there is None]
    notes = []
    if not present and question.quasi_identifiers:
        raise InputError(
            "The release has none of the quasi-identifiers.",
            hint=f"its columns are compared by their names; the source has {', '.join(map(repr, lacking))}.",
        )
    if lacking:
        what = (
            f"no column {lacking[0]!r}" if len(lacking) == 1 else f"none of the columns {', '.join(map(repr, lacking))}"
        )
        notes.append(
            f"The release has {what}: all of its records agree in {'it' if len(lacking) == 1 else 'them'}, so that "
            "knowing that singles out no record."
        )
    entity = None if source.entity is None else _column_of(opened, source.entity)
    if source.entity is not None and entity is None:
        notes.append(
            f"The release has no column {source.entity!r}, so that both sides count records. An entity may have "
            "several records in a class: its risk may be higher than these figures, and no threshold is shown to be "
            "met. Release.risk() and the report of the run (run --report) count entities on both sides."
        )
    relation = opened.relation
    if present:
        marked = both(
            equal(exp.cast(column(name), "VARCHAR"), exp.convert(names.SUPPRESSED_MARKER)) for name in present
        )
        kept = exp.or_(exp.not_(marked, copy=False), is_null(exp.cast(column(present[0]), "VARCHAR")), copy=False)
        relation = exp.select("*").from_(relation.copy()).where(kept).subquery("published")
    return Sample(opened.engine, relation, present, opened.readable, entity, source.basic), notes


def _column_of(opened: Source, name: str) -> str | None:
    """Return the exact name of a column of a source; None when it has none, or several that differ by case."""
    found = names.matching(name, opened.readable)
    return found[0] if len(found) == 1 else None
