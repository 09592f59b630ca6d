"""A plan as a dbt release: its statements, its seeds and their properties. Nothing is written here."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sqlanon.core.engines.base import Place
from sqlanon.core.hierarchies.specs import lists_its_values
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.policy import Policy
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, lookup_rows, named
from sqlanon.errors import UnsupportedError
from sqlanon.interop.scripts.dbt.rules import computed_lookup, refuse_extension, refuse_settings
from sqlanon.interop.scripts.dbt.statements import broken_classes, failing_classes, needs_source, too_many_suppressed
from sqlanon.interop.scripts.dbt.template import TEXTS, Call, ref, refuse_signs, written
from sqlanon.live.compiler.live import TEXT, VALUE, live_view
from sqlanon.live.compiler.live_models import SNAPSHOT, FrozenColumn, LiveView
from sqlanon.live.lookups import has_lookup, sensitive_with_lookup, with_key
from sqlanon.live.output import frozen_at
from sqlanon.live.view import frozen_view, heights_of, refuse_policy

ROWS = 50_000
"""Rows of a seed beyond which dbt loads it slowly."""

Lookup = tuple[tuple[str | None, str | None], ...]
"""The rows of a lookup: a value, and what is published for it."""
LOOKUP = "_lookup_"


@dataclass(frozen=True, slots=True)
class DbtRelease:
    """The parts of the files of a release.

    Attributes:
        name: of the model; those of seeds and tests begin with it.
        dialect: one of ``template.DIALECTS``.
        source: the relation of the records in the dbt project.
        declares: the project does not declare the source; the file of all its sources does (``sources``).
        view: what the model publishes of ``source``.
        lookups: seeds by name.
        policy: limits are taken from it.
        materialized: ``table`` or ``view``.
        manifest: that of the release.
    """

    name: str
    dialect: str
    source: Call
    declares: bool
    view: LiveView
    lookups: Mapping[str, Lookup]
    policy: Policy
    materialized: str
    manifest: Mapping[str, Any]


def refuse_release(policy: Policy) -> None:
    """Raise UnsupportedError, before any work, if the release of a policy is no model of dbt."""
    refusal: UnsupportedError | None = None
    try:
        refuse_policy(policy)
    except UnsupportedError as error:
        refusal = error
    if refusal is None and policy.output is not None and policy.output.epoch is not None:
        refusal = UnsupportedError(
            "It knows nothing of what it showed before, and the policy asks for an epoch.",
            hint="leave epoch, margin and record out, or run sqlanon refresh once an epoch instead of dbt.",
        )
    if refusal is None and (listed := sensitive_with_lookup(policy)):
        refusal = UnsupportedError(
            f"It has no seed for the hierarchy of the sensitive column {listed[0].name!r}.",
            hint=f"use the distance equal, or {SNAPSHOT}.",
        )
    if refusal is not None:
        raise UnsupportedError(f"A dbt model is built as a live view. {refusal.message}", hint=refusal.hint)


def dbt_release(
    plan: Plan, *, policy: Policy, name: str, source: Call, declares: bool, dialect: str, materialized: str,
    with_values: bool,
) -> DbtRelease:  # fmt: skip
    """Return the release of a plan.

    Args:
        policy: the policy whose limits hold; the plan may have another if it was created for one node.
        with_values: a computed hierarchy becomes a seed of the values that occur, not SQL.

    Raises:
        UnsupportedError: see ``refuse_release`` and the refusals of ``rules``; or a name reads like a template.
        SourceChangedError: a hierarchy has changed since the source was encoded.
    """
    types, released = plan.source.types, plan.released
    refuse_release(policy)
    [frozen] = frozen_at(plan, [plan.node], released)
    lookups: dict[str, Lookup] = {}
    quasi = []
    for position, (spec, level) in enumerate(zip(policy.quasi_identifiers, plan.node, strict=True)):
        lookup: exp.Expr | None = None
        by_value = TEXTS[dialect].by_value(types[spec.name])
        listed = lists_its_values(spec.hierarchy) or with_values
        if has_lookup(spec.hierarchy, level) and listed:
            seeded = f"{name}{LOOKUP}{position}"
            rows = exp.select(column(VALUE), column(TEXT)).from_(frozen[spec.name].copy())
            lookups[seeded] = _rows(plan, with_key(rows, types[spec.name]) if by_value else rows)
            lookup = ref(seeded).relation
        elif has_lookup(spec.hierarchy, level):
            refuse_extension(spec)
            if materialized == "view":
                refuse_settings(spec, types[spec.name], TEXTS[dialect])
            lookup = computed_lookup(
                source.relation, plan.encoded_column(spec), types[spec.name], level,
                root=_root(plan, position), released=released[spec.name],
            )  # fmt: skip
        quasi.append(FrozenColumn(spec.name, types[spec.name], lookup, signed=listed, by_value=by_value and listed))
    placed = frozen_view(policy, plan.source, Place("", "", name), plan.node, released, heights_of(plan.catalog))
    view = replace(placed, source=source.relation, quasi=tuple(quasi), collation=TEXTS[dialect].collation)
    document = plan.publish().manifest
    return DbtRelease(name, dialect, source, declares, view, lookups, policy, materialized, document)


def _rows(plan: Plan, rows: exp.Query) -> Lookup:
    query = exp.select(column(VALUE), column(TEXT)).from_(rows.subquery("rows")).order_by(column(VALUE))
    return tuple((value, text) for value, text in plan.source.engine.run("read lookup", query))


def _root(plan: Plan, position: int) -> str | None:
    """Return what the chosen level publishes for NULL: the text of a single root at the last level, else None."""
    attribute, level = plan.catalog.attributes[position], plan.node[position]
    if level < attribute.height - 1:
        return None
    text = column(names.level(level))
    query = exp.select(named(exp.Min(this=text), "least"), named(exp.Max(this=text.copy()), "most"))
    query = query.from_(lookup_rows(position)).where(exp.Not(this=exp.Is(this=column(VALUE), expression=exp.null())))
    least, most = plan.source.engine.run("root of a hierarchy", query)[0]
    return least if least == most else None


def files(release: DbtRelease, folders: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a release by their paths in the project, with their texts.

    Args:
        folders: the folders of ``models``, ``seeds`` and ``tests``.

    Raises:
        UnsupportedError: the dialect cannot write a statement, or a name reads like a template.
    """
    name, view, released = release.name, release.view, ref(release.name).relation
    for column_name in view.published:
        refuse_signs(column_name)
    rows = written(live_view(view), release.dialect)
    texts = {
        f"{folders['models']}/{name}.sql": _headed(f"materialized='{release.materialized}'", rows),
        **{f"{folders['seeds']}/{key}.csv": seed(lookup) for key, lookup in release.lookups.items()},
    }
    policy = release.policy
    exceeded = too_many_suppressed(view, released, limit=policy.suppression_limit, count=policy.suppression_count)
    texts[f"{folders['tests']}/{name}_suppressed.sql"] = _headed("severity='warn'", written(exceeded, release.dialect))
    for number, model in enumerate(view.models):
        if model.type not in _TESTS and (failing := failing_classes(view, released, model)) is not None:
            query = written(failing, release.dialect)
            texts[f"{folders['tests']}/{name}_{model.type}_{number}.sql"] = _headed("severity='error'", query)
    if needs_source(view):
        broken = written(broken_classes(view, released), release.dialect)
        texts[f"{folders['tests']}/{name}_classes.sql"] = _headed("severity='error'", broken)
    return texts


def _headed(config: str, statement: str) -> str:
    return f"-- Written by `sqlanon dbt`: change the policy, not this file.\n{{{{ config({config}) }}}}\n{statement}\n"


def properties(release: DbtRelease) -> dict[str, Any]:
    """Return the properties of a release: the model with its tests, and the seeds with their types."""
    text = {"duckdb": "varchar", "postgres": "text"}[release.dialect]
    documents: dict[str, Any] = {"version": 2}
    documents["models"] = [{"name": release.name, "data_tests": _tests(release)}]
    config = {"column_types": {VALUE: text, TEXT: text}, "quote_columns": True}
    if release.lookups:
        documents["seeds"] = [{"name": key, "config": config.copy()} for key in release.lookups]
    return documents


def _tests(release: DbtRelease) -> list[dict[str, Any]]:
    """Return the generic tests of the package, one for each model of the policy that it knows.

    Records are counted: with an entity that is implied, and the statement ``broken_classes`` counts persons.
    """
    quasi = [item.name for item in release.view.quasi]
    tests: list[dict[str, Any]] = []
    for number, model in enumerate(release.view.models):
        test = _TESTS.get(model.type)
        if test is None or (model.type == "entropy_l_diversity" and release.view.entity is not None):
            continue
        name, arguments = test(model)
        arguments = {"quasi_identifiers": quasi, **arguments}
        tests.append({f"sqlanon.{name}": {"name": f"{release.name}_{name}_{number}", "arguments": arguments}})
    return tests


_TESTS: Mapping[str, Callable[[Any], tuple[str, dict[str, Any]]]] = {
    "k_anonymity": lambda model: ("k_anonymous", {"k": model.k}),
    "distinct_l_diversity": lambda model: ("l_diverse", {"sensitive": model.column, "l": model.l}),
    "entropy_l_diversity": lambda model: ("l_diverse", {"sensitive": model.column, "l": model.l, "kind": "entropy"}),
}
"""The generic tests of the package, with their arguments, by the models that they know."""


def signed(text: str | None) -> str:
    """Return ``=`` and the text; ``-`` for NULL."""
    return "-" if text is None else "=" + text


def seed(rows: Iterable[tuple[str | None, str | None]]) -> str:
    """Return the file of a lookup: values, and what is published for them."""
    written = io.StringIO()
    writer = csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([VALUE, TEXT])
    writer.writerows([signed(value), signed(text)] for value, text in rows)
    return written.getvalue()
