"""The checks of a sound policy, however it was written: as a file, a dict or with constructors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, replace
from decimal import Decimal
from typing import Any

from sqlanon.core.models.base import closes_upward, judges_persons
from sqlanon.core.policy.columns import check_column, check_travelling
from sqlanon.core.policy.extensions import found
from sqlanon.core.policy.facts import Column, Model, PolicyFacts
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.key import check_key
from sqlanon.core.policy.keyed import check_keyed
from sqlanon.core.policy.ledger import check_ledger
from sqlanon.core.policy.like import check_like
from sqlanon.core.policy.models import check_model, check_release_models
from sqlanon.core.policy.output import check_epoch_fits, check_lake_fits, check_output, check_partitions_fit
from sqlanon.core.policy.parts import PolicyPart, keys_of
from sqlanon.core.policy.parts import check as check_keys
from sqlanon.core.policy.periods import check_periods
from sqlanon.core.policy.representatives import check_publish
from sqlanon.core.policy.search import check_engine, check_search, find_named
from sqlanon.core.policy.sources import check_report, check_sources
from sqlanon.core.policy.transformation import CELL_AGGREGATES, CELL_MEASURES, Patterns, check_transformation
from sqlanon.parameters import ValueCheck

PARTS: Mapping[str, ValueCheck] = {
    each.name: each.check
    for each in keys_of(PolicyFacts)
    if isinstance(each.check, ValueCheck) and each.check.part is not None
}
"""Fields that hold parts."""
LISTED: Mapping[str, type[PolicyPart]] = {name: each.part for name, each in PARTS.items() if each.kind != "mapping"}
"""Those of them that hold tuples of parts."""
RELATED = {"privacy", "accept", "entity", "key", "sample", "publish", "ledger", "like", "periods", "transformation"}
"""Keys whose faults may follow from a column that is left out."""


def check(policy: PolicyFacts) -> None:
    """Raise PolicyError with all faults of a policy."""
    kinds, faults = Faults(), Faults()
    _check_kinds(kinds, policy)
    if kinds.items:  # the checks below rely on the kinds
        policy = _of_their_kinds(policy)
    _check_parts(faults, policy)
    wrong = {fault.key.partition("[")[0].partition(".")[0] for fault in kinds.items}
    wrong |= {fault.key for fault in kinds.items} | (RELATED if "columns" in wrong else set())
    kinds.items += [fault for fault in faults.items if fault.key not in wrong]
    kinds.finish()


def _check_parts(faults: Faults, policy: PolicyFacts) -> None:
    """Note the faults of a policy whose parts are objects of their classes."""
    check_keys(faults, "", policy, beside=("accept",))
    check_sources(faults, policy)
    _check_columns(faults, policy)
    _check_entity(faults, policy.entity, policy.columns)
    if policy.key is not None:
        check_key(faults, "key", policy.key)
    check_keyed(faults, policy)
    _check_accepted(faults, policy)
    _check_privacy(faults, policy)
    check_release_models(faults, policy)
    check_persons(faults, policy)
    check_search(faults, policy.quality, policy.search, policy.extensions)
    check_engine(faults, policy.engine)
    check_transformation(faults, policy.transformation, [c.name for c in policy.quasi_identifiers])
    if policy.transformation is not None:
        _check_fit(faults, policy)
    check_publish(faults, policy)
    check_travelling(faults, policy)
    check_ledger(faults, policy)
    check_like(faults, policy)
    check_periods(faults, policy)
    if policy.output is not None:
        check_output(faults, policy.output, policy.extensions)
        check_epoch_fits(faults, policy)
        check_lake_fits(faults, policy)
        check_partitions_fit(faults, policy, policy.output)
    check_report(faults, policy.report)


def _check_kinds(faults: Faults, policy: PolicyFacts) -> None:
    """Note every part that is no object of its class, such as a dict or a text in its place."""
    reading = "Policy.from_dict reads the keys of a policy file."
    for key, known in PARTS.items():
        given, kind, example = getattr(policy, key), known.part, known.part.built
        if key not in LISTED:
            if not isinstance(given, kind) and not (given is None and _usual(key) is None):
                faults.add(key, "This is not an object of its class.", f"write {example}, say; {reading}")
            continue
        if not isinstance(given, tuple):
            faults.add(key, "This is not a tuple.", f"write ({example},); {reading}")
            continue
        for number, part in enumerate(given):
            if not isinstance(part, kind):
                faults.add(f"{key}[{number}]", f"This is not a {kind.__name__}.", f"write {example}, say; {reading}")
            elif isinstance(part, Column) and not isinstance(part.name, str):
                faults.add(f"{key}[{number}]", "A column's name is not a text.", "put it in quotes.")
            elif isinstance(part, Column) and not _are_models(part.models):
                hint = f"write sqlanon.TCloseness(t=0.3), say; {reading}"
                faults.add(f"columns.{part.name}.models", "This is not a tuple of models.", hint)


def _usual(key: str) -> Any:
    """Return the default of a field that holds one part."""
    known = PolicyFacts.__dataclass_fields__[key]
    return known.default if known.default_factory is MISSING else known.default_factory()


def _of_their_kinds(policy: PolicyFacts) -> PolicyFacts:
    """Return the policy without the parts that are no objects of their classes."""
    values = {item.name: getattr(policy, item.name) for item in fields(PolicyFacts)}
    for key, kind in LISTED.items():
        parts = values[key] if isinstance(values[key], tuple) else ()
        values[key] = tuple(part for part in parts if isinstance(part, kind))
    named = [column for column in values["columns"] if isinstance(column.name, str)]
    values["columns"] = tuple(c if _are_models(c.models) else replace(c, models=()) for c in named)
    for key in PARTS.keys() - LISTED.keys():
        if not isinstance(values[key], PARTS[key].part):
            values[key] = _usual(key)
    return PolicyFacts(**values)


def _are_models(models: object) -> bool:
    return isinstance(models, tuple) and all(isinstance(model, Model) for model in models)


def _check_entity(faults: Faults, entity: object, columns: Sequence[Column]) -> None:
    """Note a fault if the column that identifies the entity of a record would be published."""
    for column in columns:
        if column.name == entity and column.role not in ("drop", "pseudonym"):
            message = f"The column {column.name!r} identifies the entity of a record, and has the role {column.role}."
            hint = "give it the role drop (or pseudonym), or no role at all; to publish it too, copy it in a view."
            faults.add("entity", message, hint)


def _check_accepted(faults: Faults, policy: PolicyFacts) -> None:
    """Note a fault unless ``accept`` lists columns that are published as they are."""
    if not isinstance(policy.accept, tuple) or not all(isinstance(name, str) for name in policy.accept):
        faults.add("accept", "This is not a list of columns.", "write accept: [email].")
        return
    published = [column.name for column in policy.columns if column.role in ("sensitive", "keep")]
    for name in policy.accept:
        if name not in published:
            message = f"The column {name!r} is not published as it is, so there is nothing to accept."
            faults.add("accept", message, "list columns with the role keep or sensitive.")


def _check_columns(faults: Faults, policy: PolicyFacts) -> None:
    columns = policy.columns
    seen: dict[str, str] = {}
    if not columns:
        faults.add("columns", "There is no column.", "declare each column of the source with a role.")
    for column in columns:
        twin = seen.setdefault(column.name.casefold(), column.name)
        if twin != column.name or sum(c.name == column.name for c in columns) > 1:
            faults.add(f"columns.{column.name}", "Another column has this name, in whatever case.", "rename one.")
        bare = isinstance(policy.transformation, Patterns) or column.name == getattr(policy.periods, "column", None)
        check_column(faults, column, policy.extensions, bare=bare)
    if columns and all(c.role == "drop" for c in columns):
        faults.add("columns", "Every column is dropped.", "keep a column, or declare a quasi_identifier.")


def _check_privacy(faults: Faults, policy: PolicyFacts) -> None:
    if not policy.privacy and not any(c.models for c in policy.columns):
        faults.add("privacy", "There is no privacy model.", "add {type: k_anonymity, k: 5}, say.")
    for number, model in enumerate(policy.privacy):
        check_model(faults, f"privacy[{number}]", model, policy.extensions)
    subsets = [m.parameters["subset"] for m in policy.privacy if "subset" in m.parameters]
    if any(subset != subsets[0] for subset in subsets):
        faults.add("privacy", "The models name different subsets.", "name one subset.")
    _check_populations(faults, policy, subsets)
    limit = policy.suppression_limit
    if not isinstance(limit, Decimal) or not limit.is_finite() or not 0 <= limit <= 1:
        faults.add("suppression_limit", "This is not a share.", "give a number between 0 (none) and 1 (all).")


def _check_populations(faults: Faults, policy: PolicyFacts, subsets: Sequence[Any]) -> None:
    """Note a fault unless all models of a population mean the same one, and it is known where that is."""
    tables = []
    for number, model in enumerate(policy.privacy):
        key = f"privacy[{number}].population"
        where = model.parameters.get("population")
        if isinstance(where, Mapping):
            tables.append(where)
            if subsets:
                message = "The source is the population of the subset already."
                faults.add(key, message, "leave out population (the source is meant), or the subset.")
        elif model.type == "k_map" and where in (None, "source") and not subsets and policy.sample is None:
            message = "There is no population: the source is one only where a subset or a sample of it is published."
            hint = "write population: {file: …} or {table: …}, or the number of its records; or draw a sample."
            faults.add(key, message, hint)
    if any(where != tables[0] for where in tables):
        faults.add("privacy", "The models name different populations.", "name one population.")


def _check_fit(faults: Faults, policy: PolicyFacts) -> None:
    """Note what patterns and local recoding are not defined for."""
    columns, privacy, quality, search = policy.columns, policy.privacy, policy.quality, policy.search
    patterns = policy.transformation if isinstance(policy.transformation, Patterns) else None
    kind = "Patterns" if patterns else "Local recoding"
    for name in dict.fromkeys(m.type for m in privacy if _counts_population(m)):
        message = f"{kind} cannot know in which class a person of the population who is not published would be."
        faults.add("transformation", message, f"leave out {name}, or the transformation.")
    _check_unions(faults, policy, kind)
    measures, aggregates = (("loss",), ("arithmetic_mean",)) if patterns else (CELL_MEASURES, CELL_AGGREGATES)
    for key, asked, known in (
        ("measure", quality.measure, measures),
        ("aggregate", quality.aggregate, (None, *aggregates)),
    ):
        if asked not in known:
            message = f"{kind} cannot be measured by {asked}."
            faults.add(f"quality.{key}", message, f"choose {' or '.join(filter(None, known))}.")
    if patterns is None:
        return
    for key in ("min_level", "max_level"):
        for column in columns:
            if column.role == "quasi_identifier" and getattr(column, key) is not None:
                message = "Patterns keep or suppress a column; they know no levels."
                faults.add(f"columns.{column.name}.{key}", message, "remove it; see transformation.never.")
    if search.strategy != "auto" or search.max_evaluations is not None:
        key = "strategy" if search.strategy != "auto" else "max_evaluations"
        faults.add(f"search.{key}", "Patterns are not searched by a strategy.", "see transformation.solver.")
    others = [m.type for m in privacy if m.type != "k_anonymity"] + [m.type for c in columns for m in c.models]
    if patterns.solver == "exact" and others:
        message = f"The exact solver knows k_anonymity alone, not {others[0]}."
        faults.add("transformation.solver", message, "take the greedy solver.")


def _counts_population(model: Model) -> bool:
    """Return whether a model counts the records of a class in a population."""
    if model.type == "k_map":
        return not isinstance(model.parameters.get("population"), int)
    return "subset" in model.parameters


def _check_unions(faults: Faults, policy: PolicyFacts, kind: str) -> None:
    """Note models that two rules may break together, each of whose classes pass."""
    for column in policy.columns:
        for number, model in enumerate(column.models):
            key = f"columns.{column.name}.models[{number}]"
            if not closes_upward(find_named(faults, f"{key}.type", policy.extensions.model, model.type)):
                message = (
                    f"{kind} may publish two classes by the same texts, and a union of classes that pass {model.type} "
                    "may fail it."
                )
                faults.add(key, message, "use another model, such as beta_likeness, or leave out the transformation.")


def check_persons(faults: Faults, policy: PolicyFacts) -> None:
    """Note what a model of persons (``profile_k``) lacks, and what is not defined beside it."""
    profiles = [(number, model) for number, model in enumerate(policy.privacy) if _is_of_persons(policy, model)]
    if not profiles:
        return
    number, model = profiles[0]
    if len(profiles) > 1:
        faults.add(
            f"privacy[{profiles[1][0]}]", "Another model of persons is listed before it.", "keep the stricter one."
        )
    if policy.entity is None:
        message = f"{model.type} is about persons, and the policy does not say whose a record is."
        faults.add(f"privacy[{number}]", message, "add entity: COLUMN.")
    if policy.transformation is not None:
        message = f"{model.type} judges persons at one node for all records."
        faults.add("transformation", message, "leave it out, or the model.")
    _check_others(faults, policy, model)
    _check_measure(faults, policy, model)


def _check_others(faults: Faults, policy: PolicyFacts, model: Model) -> None:
    """Note what is not defined beside a model of persons; models of sensitive columns are judged in its classes."""
    k, bounded = model.parameters.get("k"), "at_most" in model.parameters
    for column in policy.columns if bounded else ():
        if column.models:
            message = f"{model.type} with at_most has no classes in which the values of this column could be judged."
            faults.add(f"columns.{column.name}.models", message, f"leave the models out, or at_most of {model.type}.")
    for number, other in enumerate(policy.privacy):
        key = f"privacy[{number}]"
        if _is_of_persons(policy, other):
            continue
        if bounded:
            message = f"{model.type} with at_most is the only model under privacy; k_anonymity up to its k is implied."
            faults.add(key, message, f"leave {other.type} out, or at_most of {model.type}.")
            continue
        if other.type != "k_anonymity":
            message = f"{other.type} judges classes of records, and {model.type} suppresses whole persons."
            faults.add(key, message, f"leave out one of them; {model.type} implies k_anonymity.")
            continue
        asked = other.parameters.get("k")
        if isinstance(asked, int) and isinstance(k, int) and asked > k:
            message = f"k_anonymity asks for more persons in a class than {model.type}, which suppresses whole persons."
            faults.add(key, message, f"say {{type: {model.type}, k: {asked}}}, which implies it.")


def _check_measure(faults: Faults, policy: PolicyFacts, model: Model) -> None:
    """Note a measure of the sizes of classes: part of a class of rows may be suppressed."""
    kind = found(policy.extensions.measure, policy.quality.measure)
    if getattr(kind, "needs", None) == "classes":
        message = f"{policy.quality.measure} is about the sizes of classes, part of which {model.type} suppresses."
        faults.add("quality.measure", message, "choose loss, precision or non_uniform_entropy, say.")


def _is_of_persons(policy: PolicyFacts, model: Model) -> bool:
    kind = found(policy.extensions.model, model.type)
    return kind is not None and judges_persons([kind])  # type: ignore[list-item]  # a class has it, too
