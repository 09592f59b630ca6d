"""From a policy and an encoded source to the problem of a search: limits, lattice, models and measure."""

from __future__ import annotations

from dataclasses import replace

from sqlanon.core.engines.base import Engine
from sqlanon.core.evaluate.evaluator import batch_size
from sqlanon.core.lattice.catalog import Attribute, Catalog
from sqlanon.core.lattice.nodes import Lattice
from sqlanon.core.models import for_source, joint_models, least_size
from sqlanon.core.models.base import PrivacyModel, closes_upward
from sqlanon.core.policy import Column, Policy
from sqlanon.core.search.base import Problem
from sqlanon.core.search.box import useful_top
from sqlanon.core.source.encoding import Encoding, with_surprisals
from sqlanon.core.sqltrees import names
from sqlanon.errors import HierarchyError, NoSolutionError, UnsupportedError, attempt


def build_problem(
    engine: Engine, encoding: Encoding, policy: Policy, *, lanes: int | None = None
) -> tuple[Problem, tuple[PrivacyModel, ...]]:
    """Return the problem that a policy poses for an encoded source, and its privacy models.

    Args:
        lanes: statements side by side where nodes are judged; None: as many as the engine of the source has.

    Raises:
        HierarchyError: a column asks for levels that its hierarchy does not have.
        NoSolutionError: there is nothing to publish, or no class at all can pass the models.
        UnsupportedError: the measure is not defined for the source.
    """
    catalog = encoding.catalog
    if catalog.population == 0:
        raise NoSolutionError(
            f"The source holds no records to publish ({catalog.records} in all, {catalog.excluded} excluded).",
            hint="check the source; with nulls: basic every record with a NULL is excluded.",
            nearest=None,
        )
    columns = policy.quasi_identifiers
    for attribute, column in zip(catalog.attributes, columns, strict=True):
        check_levels(attribute, column)
    catalog = replace(
        catalog,
        allowed=policy.allowed_suppressions(catalog.counted),
        attributes=tuple(
            replace(a, weight=float(c.weight), losses=c.information_loss or ())
            for a, c in zip(catalog.attributes, columns, strict=True)
        ),
    )
    lattice = Lattice(
        tuple(c.min_level or 0 for c in columns),
        tuple(
            a.height - 1 if c.max_level is None else c.max_level
            for a, c in zip(catalog.attributes, columns, strict=True)
        ),
    )
    models = (*for_source(policy.models, catalog), *joint_models(policy.models, catalog))
    problem = measured(catalog, lattice, policy, models, batch=batch_size(lanes or engine.lanes, catalog.base_rows))
    if problem.measure.needs == "surprisals":
        catalog = with_surprisals(engine, encoding, catalog)
        problem = measured(catalog, lattice, policy, models, batch=problem.batch)
    if catalog.earlier is not None and problem.measure.needs == "classes":
        raise UnsupportedError(
            f"The measure {problem.measure.name} counts classes, which is not defined beside earlier releases.",
            hint="use a measure of attributes, such as loss.",
        )
    _refuse_unmeetable(models, problem)
    return problem, models


def check_levels(attribute: Attribute, column: Column) -> None:
    """Raise HierarchyError for limits and information losses of levels that the hierarchy does not have."""
    highest = attribute.height - 1
    for key, limit in (("min_level", column.min_level), ("max_level", column.max_level)):
        if limit is not None and limit > highest:
            raise HierarchyError(
                f"Column {column.name!r} asks for {key} {limit}, but its hierarchy ends at level {highest}.",
                hint=f"set {key} to at most {highest}.",
            )
    if column.information_loss is not None and len(column.information_loss) != attribute.height:
        raise HierarchyError(
            f"Column {column.name!r} gives {len(column.information_loss)} information losses, but its hierarchy has "
            f"{attribute.height} levels, level 0 included.",
            hint=f"give information_loss {attribute.height} numbers.",
        )


def measured(
    catalog: Catalog, lattice: Lattice, policy: Policy, models: tuple[PrivacyModel, ...], *, batch: int
) -> Problem:
    """Return the problem with the policy's quality measure."""
    quality = policy.quality
    size = least_size(models)
    measure = policy.extensions.quality_measure(quality.measure, catalog, quality.aggregate, size)
    upward_closed = all(closes_upward(model) and (model.monotone or not catalog.has_entity) for model in models)
    return Problem(catalog, lattice, measure, batch, upward_closed)


def _refuse_unmeetable(models: tuple[PrivacyModel, ...], problem: Problem) -> None:
    """Raise NoSolutionError, with the reasons, when no class at all can pass: then every node suppresses everything."""
    catalog = problem.catalog
    obstacles = {model.label: reason for model in models if (reason := _obstacle(model, catalog))}
    if obstacles:
        raise NoSolutionError(
            f"No class can meet the policy: {'; '.join(f'{label}: {reason}' for label, reason in obstacles.items())}.",
            hint="lower the parameter of the model, or use more data.",
            nearest={
                "levels": catalog.levels(useful_top(problem)),
                "suppressed": catalog.counted,
                "allowed": catalog.allowed,
                "models": [{"model": label, "suppressed": catalog.population} for label in obstacles],
            },
        )


def _obstacle(model: PrivacyModel, catalog: Catalog) -> str | None:
    """Return why no class can pass a model, after checking that it returns the values of its file."""

    def reason_against() -> str | None:
        model.values(catalog)
        if model.column is not None and model.column.startswith(names.FORMER):
            return None  # it is not asked of records that no earlier release shows
        return model.obstacle(catalog)

    return attempt(f"The privacy model {model.type!r}", reason_against)
