"""Measure the utility of a release: from the row types of its source, with what is published of them."""

from __future__ import annotations

from sqlanon.assess.utility.association import association
from sqlanon.assess.utility.categories import ComparedRecords
from sqlanon.assess.utility.columns import quasi_columns
from sqlanon.assess.utility.facts import Association, Prediction, Utility
from sqlanon.assess.utility.learners import check_learners
from sqlanon.assess.utility.others import OtherColumns
from sqlanon.assess.utility.prediction import prediction
from sqlanon.assess.utility.queries import query_errors
from sqlanon.assess.utility.released import ReleasedTypes
from sqlanon.core.models import for_source, least_count
from sqlanon.core.models.base import judges_persons
from sqlanon.core.plan.planned import Planned
from sqlanon.core.policy.columns import KEYED_ROLES
from sqlanon.core.source.columns import is_scalar
from sqlanon.core.sqltrees import names
from sqlanon.errors import InputError, UnsupportedError, listing

MOST_QUERIES = 100_000
"""More queries are refused: they would take long, and show no more."""


def utility_of_plan(
    plan: Planned,
    target: str | None = None,
    *,
    queries: int = 1000,
    seed: int = 1,
    ml: bool = False,
    pairs: bool = True,
) -> Utility:
    """Return what a planned release is still good for: see ``Planned.utility``.

    Raises:
        InputError: the release has no such target, or a number is out of its range.
        UnsupportedError: whole persons are suppressed; or the learners of scikit-learn are asked for (``ml``) and
            cannot be had.
    """
    _check(queries, seed)
    if judges_persons(plan.policy.models):
        raise UnsupportedError(
            "Utility is measured of rows by their quasi-identifiers, and where whole persons are suppressed, some "
            "of equal rows are published and others not.",
            hint="compare the release with its source yourself, or measure a policy that asks for k_anonymity.",
        )
    if ml:
        if target is None:
            raise InputError("The learners have nothing to predict.", hint="name a target.")
        check_learners()
    catalog = plan.catalog
    others, warnings = _others(plan, target)
    order = {item.name: place for place, item in enumerate(plan.policy.columns)}
    least = max(2, least_count(for_source(plan.policy.models, catalog)))
    with ReleasedTypes(plan.engine, plan.session.encoding, catalog, plan.published_types()) as types:
        columns = quasi_columns(types, plan.attribute_losses, plan.certificate.measure, least)
        errors = query_errors(types, queries=queries, seed=seed)
        published = types.records_published
        with OtherColumns(types, others) as found:
            columns += found.facts(least)
            associated, predicted = None, None
            if pairs or target is not None:
                associated, predicted = _compared(types, found, target, seed if ml else None)
    return Utility(
        records=catalog.population,
        published=published,
        suppressed=catalog.population - published,
        excluded=catalog.excluded,
        least=least,
        columns=tuple(sorted(columns, key=lambda column: order[column.name])),
        queries=errors,
        association=associated,
        prediction=predicted,
        warnings=warnings,
    )


def _others(plan: Planned, target: str | None) -> tuple[list[tuple[str, str, str]], tuple[str, ...]]:
    """Return the published columns that are no quasi-identifiers (name, role, type), and what is left out.

    Raises:
        InputError: the release has no such target, or its values cannot be compared.
    """
    roles = {item.name: item.role for item in plan.policy.columns if item.role not in ("drop", *KEYED_ROLES)}
    types = {name: plan.session.encoding.types[name] for name, role in roles.items() if role != "quasi_identifier"}
    left = [name for name, kind in types.items() if not is_scalar(kind)]
    blank = [item.name for item in plan.policy.columns if item.travels is not None]
    if target is not None and (target not in roles or target in (*left, *blank)):
        raise InputError(
            f"The release has no column {target!r} that could be predicted.",
            hint=f"its columns are {listing([name for name in roles if name not in (*left, *blank)])}.",
        )
    warnings = [f"Left out, because their values cannot be compared: {', '.join(left)}."] if left else []
    if blank:
        warnings.append(f"Left out, because they say no more than the columns they travel with: {', '.join(blank)}.")
    return [(name, roles[name], kind) for name, kind in types.items() if name not in (*left, *blank)], tuple(warnings)


def _compared(
    types: ReleasedTypes, others: OtherColumns, target: str | None, learner_seed: int | None
) -> tuple[Association | None, Prediction | None]:
    """Return how the columns go together, and how well the target is predicted."""
    engine = types.engine
    with ComparedRecords(types, others, target) as compared:
        if len(compared.names) < 2:
            return None, None
        found = association(types, compared.names, compared.left_out)
        if target is None:
            return found, None
        try:
            return found, prediction(engine, compared.names, target, learner_seed=learner_seed)
        finally:
            engine.drop(names.PARTED)


def _check(queries: int, seed: int) -> None:
    """Raise InputError for numbers out of their range."""
    if isinstance(queries, bool) or not isinstance(queries, int) or not 0 <= queries <= MOST_QUERIES:
        raise InputError("This is not a number of queries.", hint=f"give a whole number from 0 to {MOST_QUERIES:,}.")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise InputError("This is not a seed.", hint="give a whole number from 0 to 2^63 - 1.")
