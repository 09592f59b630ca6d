"""The statements of a dbt release: its model, and the tests that the generic ones do not cover.

The model is a live view (``live.compiler.live``): classes are counted whenever dbt builds it, and those that
fail are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from sqlanon.core.audit.models import ModelAudit
from sqlanon.core.models.base import PrivacyModel, fraction, is_of_release
from sqlanon.core.models.delta_presence import DeltaPresence
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.models.k_map import KMap
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import both, column, cte, equal, named, number, table, when, with_ctes
from sqlanon.live.compiler.live import live_view, losing, member_flag, takes_part
from sqlanon.live.compiler.live_models import LiveView

_SOURCED, _RELEASED, _TAKING_PART = "sourced", "released", "taking_part"
_RECORDS, _MEMBERS, _POPULATION = "records", "members", "population"


def too_many_suppressed(view: LiveView, released: exp.Table, *, limit: Decimal, count: int | None) -> exp.Select:
    """Return a query with a row if the release lacks more of the records that take part than the policy allows.

    With an entity it counts the persons who lose a record, by the source: the release does not contain them.

    Args:
        released: the relation of the release.
        limit: ``suppression_limit`` of the policy.
        count: ``suppression_count`` of the policy.
    """
    if view.entity is not None:
        whole: exp.Expr = column("entities")
        suppressed: exp.Expr = column("losing")
        query = exp.select(whole, suppressed).from_(losing(view).subquery("counted"))
    else:
        whole, held = column("included"), column("published")
        suppressed = exp.paren(exp.Sub(this=whole.copy(), expression=held.copy()))
        published = exp.select(named(exp.Count(this=exp.Star()), "published")).from_(released.copy())
        query = exp.select(whole, held).from_(takes_part(view).subquery("counted"))
        query = query.join(published.subquery(_RELEASED), join_type="cross", copy=False)
    if count is not None:
        return query.where(exp.GT(this=suppressed.copy(), expression=number(count)), copy=False)
    numerator, denominator = limit.as_integer_ratio()
    share = exp.Mul(this=whole.copy(), expression=number(numerator))
    return query.where(
        exp.GT(this=exp.Mul(this=suppressed.copy(), expression=number(denominator)), expression=share), copy=False
    )


def needs_source(view: LiveView) -> bool:
    """Return True if a model depends on what the release does not contain: persons, or the population of a subset."""
    return view.entity is not None or view.member is not None


def failing_classes(view: LiveView, released: exp.Table, model: PrivacyModel) -> exp.Query | None:
    """Return the audit of a model over the release, a row for each class that fails; None where it reads more."""
    if model.references or is_of_release(model) or needs_source(view):
        return None
    audit = ModelAudit(model.audit_file, model.column, model.audit_values(0))
    return audit.offending(released, [item.name for item in view.quasi])


def broken_classes(view: LiveView, released: exp.Table) -> exp.Query:
    """Return a query for the sizes of classes that are no whole classes of the source, or that break a model.

    It counts by GROUP BY, apart from the windows of the model. It is for policies that ``needs_source``.
    """
    quasi = [item.name for item in view.quasi]
    classes = [f"class_{position}" for position in range(len(quasi))]
    cells = [named(column(name), cell) for name, cell in zip(quasi, classes, strict=True)]
    grouped = [column(name) for name in quasi]
    records = exp.select(*cells, named(exp.Count(this=exp.Star()), _RECORDS)).from_(released.copy())
    sourced = exp.select(*[cell.copy() for cell in cells], *_counts(view)).from_(_taking_part(view))
    if view.entity is not None:
        sourced = sourced.where(exp.Not(this=exp.Is(this=column(view.entity), expression=exp.null())))
    if view.member is not None:
        sourced = sourced.where(exp.Not(this=exp.Is(this=column(view.member), expression=exp.null())))
    if quasi:
        records, sourced = records.group_by(*grouped), sourced.group_by(*[item.copy() for item in grouped])
    records = records.having(exp.GT(this=exp.Count(this=exp.Star()), expression=number(0)))
    meets = both(_same_cell(cell) for cell in classes)
    kept = ((_RECORDS, _RELEASED), (_MEMBERS, _SOURCED), (_POPULATION, _SOURCED))
    kept_rows = exp.select(*[column(name, relation) for name, relation in kept]).from_(table(_RELEASED))
    kept_rows = kept_rows.join(table(_SOURCED), on=meets, join_type="left", copy=False).where(exp.or_(*_faults(view)))
    return with_ctes(kept_rows, [cte(_RELEASED, records), cte(_SOURCED, sourced)])


def _taking_part(view: LiveView) -> exp.Subquery:
    """Return the records that take part and have a row in every lookup, at the level of the release."""
    shown: dict[str, str] = {item.name: view.published.get(item.name, item.type) for item in view.quasi}
    own: Mapping[str, str] = {
        name: kind for name, kind in ((view.entity, "BIGINT"), (view.member, view.member_type)) if name is not None
    }
    plain = replace(view, models=(), entity=None, member=None, published={**own, **shown}, shuffled=False)
    return live_view(plain).subquery(_TAKING_PART)


def _counts(view: LiveView) -> list[exp.Expr]:
    """Return three counts of a class of the source: records to publish, members of the subset, and the population."""
    everyone, counted = exp.Count(this=exp.Star()), exp.Count(this=exp.Star())
    records: exp.Expr = exp.Count(this=exp.Star())
    flag = member_flag(view.member, view.member_type) if view.member is not None else None
    wanted = equal(flag, number(1)) if flag is not None else None
    if wanted is not None:
        records = exp.Count(this=when(wanted, number(1)))
        counted = records.copy()
    if view.entity is not None:
        person: exp.Expr = column(view.entity)
        everyone = exp.Count(this=exp.Distinct(expressions=[person]))
        if wanted is not None:
            person = when(wanted.copy(), person.copy())
        counted = exp.Count(this=exp.Distinct(expressions=[person.copy()]))
    return [named(records, names.COUNT), named(counted, _MEMBERS), named(everyone, _POPULATION)]


def _same_cell(cell: str) -> exp.Expr:
    """Return the condition that two published cells are equal, or both NULL: as texts, which every engine can hash."""
    left, right = (
        exp.Coalesce(
            this=exp.DPipe(this=exp.Literal.string("="), expression=exp.cast(column(cell, side), "VARCHAR"), safe=True),
            expressions=[exp.Literal.string("-")],
        )
        for side in (_RELEASED, _SOURCED)
    )
    return equal(left, right)


def _faults(view: LiveView) -> list[exp.Expr]:
    """Return the conditions of which a sound class meets none."""
    members, population = column(_MEMBERS, _SOURCED), column(_POPULATION, _SOURCED)
    faults: list[exp.Expr] = [
        exp.Is(this=members, expression=exp.null()),
        exp.NEQ(this=column(_RECORDS, _RELEASED), expression=column(names.COUNT, _SOURCED)),
    ]
    for item in view.models:
        if isinstance(item, KAnonymity):
            faults.append(exp.LT(this=members.copy(), expression=number(item.k)))
        elif isinstance(item, KMap):
            faults.append(exp.LT(this=population.copy(), expression=number(item.k)))
        elif isinstance(item, DeltaPresence):
            for bound, trivial, compare in ((item.min, 0, exp.LT), (item.max, 1, exp.GT)):
                if bound == trivial:
                    continue
                numerator, denominator = fraction(bound)
                held = exp.Mul(this=members.copy(), expression=number(denominator))
                allowed = exp.Mul(this=population.copy(), expression=number(numerator))
                faults.append(compare(this=held, expression=allowed))
    return faults
