"""The verbs ``risk`` and ``check``: questions about a relation as it stands, a source or a release of anybody's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.assess.risk.facts import ALL_RECORDS, Risk, with_notes
from sqlanon.assess.risk.measure import Sample
from sqlanon.assess.risk.question import DEFAULT_K, RiskQuestion
from sqlanon.assess.risk.relation import measure_relation
from sqlanon.core.audit.check import CheckResult, check_relation
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.models import least_count
from sqlanon.core.policy import Model, Policy, PolicyLike, as_policy
from sqlanon.core.policy.paths import FilePatterns
from sqlanon.core.source.columns import match_columns
from sqlanon.core.source.files import Reading
from sqlanon.core.source.frames import is_frame, load_frame
from sqlanon.core.source.opening import ONLY_TABLE, Source, closed_on_error, open_source, other_records
from sqlanon.core.source.rights import with_readable_columns, with_visible_rows
from sqlanon.core.sqltrees.trees import table as working_table
from sqlanon.errors import EngineError, InputError, SourceError, instead_of

REFERENCE = "sqlanon_reference"
"""What a reference is read into, or its database attached as."""
Asked = PolicyLike | Sequence[str]
"""A policy, or the names of the quasi-identifiers alone."""


def risk(
    source: object,
    quasi_identifiers: Asked,
    *,
    k: int | None = None,
    table: str | None = None,
    entity: str | None = None,
    population_size: int | None = None,
    column_sets: bool = False,
    csv: Mapping[str, Any] | None = None,
) -> Risk:
    """Return what an attacker finds in a relation as it stands; ``Plan.risk`` compares a source with its release.

    Args:
        source: what ``plan`` takes; None is the policy's.
        quasi_identifiers: what the attacker knows: names of columns, or a policy, which also says ``k``, the entity and
            the match of NULLs.
        k: the size below which a class is counted as small; 5 by default.
        table: the relation of a database; it may be left out where there is one only.
        entity: the column whose values are counted instead of records.
        population_size: people in the population, for estimates of who is unique in it.
        column_sets: look also at which sets of the quasi-identifiers single records out.
        csv: how text files are read, as in a policy (``{"encoding": "latin-1"}``). Without a delimiter the one is taken
            by which all lines have the same number of fields.

    Raises:
        InputError: the relation holds no records, or something is said twice.
        SourceError: there is no such source, table or column.
    """
    policy = _policy_of(quasi_identifiers, k=k, entity=entity, csv=csv, models={}, fallback=DEFAULT_K)
    with _opened(source, policy, table) as opened:
        names = tuple(match_columns(opened, [item.name for item in policy.quasi_identifiers]))
        owner = None if policy.entity is None else match_columns(opened, [policy.entity])[0]
        least = least_count(policy.models)
        question = RiskQuestion(
            quasi_identifiers=names,
            unit="record" if owner is None else "entity",
            nulls=policy.nulls,
            k=k if k is not None else least if least > 1 else DEFAULT_K,
            population_size=population_size,
            column_sets=column_sets,
        )
        basic = policy.nulls == "basic"
        sample = Sample(opened.engine, opened.relation, names, opened.readable, owner, basic)
        notes = opened.warnings if policy.subset is None else (*opened.warnings, ALL_RECORDS)
        return with_notes(measure_relation(sample, question), *notes)


def check(
    source: object,
    quasi_identifiers: Asked,
    *,
    k: int | None = None,
    sensitive: Mapping[str, Any] | None = None,
    table: str | None = None,
    entity: str | None = None,
    reference: object = None,
    csv: Mapping[str, Any] | None = None,
) -> CheckResult:
    """Test whether every class of a relation, as it stands, meets privacy models; ``holds`` says so.

    Args:
        source: what ``plan`` takes, such as a release; None is the policy's.
        quasi_identifiers: names of columns, or a policy, whose models are checked.
        k: of k-anonymity.
        sensitive: column -> its model or models, such as ``{"diagnosis": sqlanon.DistinctLDiversity(2)}``.
        table: the relation of a database; it may be left out where there is one only.
        entity: the column whose values are counted instead of records.
        reference: a file or frame that models are judged against: all records before suppression (t-closeness,
            δ-disclosure, β-likeness), or the population, generalized in the same way (δ-presence, k-map).
        csv: how text files are read, as ``risk`` has it.

    Raises:
        PolicyError: a model has faults.
        InputError: the relation holds no records, a reference is missing, or something is said twice.
        SourceError: there is no such source, table or column.
    """
    policy = _policy_of(quasi_identifiers, k=k, entity=entity, csv=csv, models=sensitive or {}, fallback=None)
    with _opened(source, policy, table) as opened:
        return check_relation(
            opened.engine,
            opened.relation,
            quasi_identifiers=match_columns(opened, [item.name for item in policy.quasi_identifiers]),
            models=policy.models,
            reference=None if reference is None else _reference(opened, reference, policy, same=reference is source),
            entity=None if policy.entity is None else match_columns(opened, [policy.entity])[0],
        )


def _policy_of(
    asked: Asked,
    *,
    k: int | None,
    entity: str | None,
    csv: Mapping[str, Any] | None,
    models: Mapping[str, Any],
    fallback: int | None,
) -> Policy:
    """Return what is asked as a policy, which knows the models and finds their faults.

    Args:
        fallback: the k where none is given.
    """
    if not isinstance(asked, list | tuple):
        policy = as_policy(asked)
        if k is not None or entity is not None or models or csv is not None:
            raise InputError("The policy says what k, sensitive, entity or csv would say.", hint="leave them out.")
        return policy
    if not asked:
        raise InputError("No quasi-identifiers are named.", hint='name columns, e.g. ["age", "zip"].')
    if not isinstance(models, Mapping):
        raise InputError("Models of sensitive columns lack their columns.", hint="give sensitive={column: model}.")
    k = fallback if k is None else k
    if k is None and not models:
        raise InputError("There is nothing to check.", hint="give k=5, or sensitive={column: model}.")
    if both := [name for name in models if name in asked]:
        raise InputError(
            f"Columns are quasi-identifiers and sensitive: {', '.join(map(repr, both))}.", hint="name each once."
        )
    known = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    watched = {name: {"role": "sensitive", "models": _listed(model)} for name, model in models.items()}
    document: dict[str, Any] = {
        "columns": {**dict.fromkeys(asked, known), **watched},
        "privacy": [] if k is None else [{"type": "k_anonymity", "k": k}],
        "undeclared": "drop",
        "csv": csv or {},
    }
    return Policy.from_dict(document if entity is None else {**document, "entity": entity})


def _listed(models: Any) -> list[Any]:
    return [models] if isinstance(models, Model | Mapping) else list(models)


def _opened(source: object, policy: Policy, table: str | None) -> Source:
    """Open a relation to look at.

    Raises:
        InputError: there is no source, or the session sees some of its rows only.
    """
    given: object | FilePatterns | None = source
    if given is None:
        given = policy.patterns if policy.files else None if policy.source is None else policy.resolve(policy.source)
    if given is None:
        raise InputError("There is no source.", hint="pass one, or add the key source to the policy.")
    reading = replace(_reading(policy), needs_records=True)
    opened = open_source(given, table or policy.table or ONLY_TABLE, reading=reading, settings=policy.engine.embedded)
    with closed_on_error(opened.engine):
        return with_readable_columns(with_visible_rows(opened, accepted=policy.row_security == "accept"))


def _reading(policy: Policy) -> Reading:
    """Return how files are read: as a run of the policy does, or with the delimiter that fits where there is none."""
    named = policy.source is not None or bool(policy.files)
    return Reading(policy.csv, policy.formats, policy.extensions, finds_delimiter=not named)


def _reference(opened: Source, reference: object, policy: Policy, *, same: bool) -> exp.Expr:
    """Return the relation that models are judged against, beside an open source.

    Args:
        same: it is the source itself, which may be a stream that is read once.
    """
    if same and opened.frame is not None:
        return opened.relation
    opened.engine.capabilities.require("several_sources")
    assert isinstance(opened.engine, DuckDBEngine)  # others lack "several_sources"
    if is_frame(reference):
        load_frame(opened.engine, reference, REFERENCE)
        return working_table(REFERENCE)
    if not isinstance(reference, str | Path):
        raise SourceError(
            f"A reference of the type {type(reference).__name__} cannot be read.",
            hint="give the path of a file, or a frame.",
        )
    hint = "check its path and its format."
    with instead_of(EngineError, lambda error: SourceError(f"The reference cannot be read ({error.kind}).", hint=hint)):
        return other_records(opened, str(reference), ONLY_TABLE, _reading(policy), name=REFERENCE).relation
