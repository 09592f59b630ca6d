"""From a policy and an encoded source to the problem of a search: limits, lattice, models and measure."""

from __future__ import annotations

from dataclasses import replace

from sqlanon.catalog import Catalog
from sqlanon.encoding import Encoding, with_surprisals
from sqlanon.engines.duckdb import DuckDBEngine
from sqlanon.errors import NoSolutionError
from sqlanon.evaluator import batch_size
from sqlanon.lattice import Lattice
from sqlanon.measures import measure_named
from sqlanon.models import least_size, models_of
from sqlanon.models.base import PrivacyModel
from sqlanon.policy import Policy
from sqlanon.search.base import Problem
from sqlanon.search.box import useful_top


def formulate(engine: DuckDBEngine, encoding: Encoding, policy: Policy) -> tuple[Problem, tuple[PrivacyModel, ...]]:
    """The problem that a policy poses for an encoded source, and its privacy models.

    Raises:
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
    catalog = replace(
        catalog,
        allowed=policy.allowed_suppressions(catalog.population),
        attributes=tuple(replace(a, weight=float(c.weight)) for a, c in zip(catalog.attributes, columns, strict=True)),
    )
    lattice = Lattice(
        tuple(c.min_level or 0 for c in columns),
        tuple(
            a.height - 1 if c.max_level is None else c.max_level
            for a, c in zip(catalog.attributes, columns, strict=True)
        ),
    )
    models = models_of(policy)
    problem = measured(catalog, lattice, policy, models, batch=batch_size(engine.lanes, catalog.base_rows))
    if problem.measure.needs == "surprisals":
        catalog = with_surprisals(engine, encoding, catalog, basic=policy.nulls == "basic")
        problem = measured(catalog, lattice, policy, models, batch=problem.batch)
    _refuse_unmeetable(models, problem)
    return problem, models


def measured(
    catalog: Catalog, lattice: Lattice, policy: Policy, models: tuple[PrivacyModel, ...], *, batch: int
) -> Problem:
    """The problem with the policy's quality measure."""
    quality = policy.quality
    measure = measure_named(quality.measure, catalog, quality.aggregate, least_size(models))
    return Problem(catalog, lattice, measure, batch)


def _refuse_unmeetable(models: tuple[PrivacyModel, ...], problem: Problem) -> None:
    """Raise NoSolutionError, with the reasons, when no class at all can pass: then every node suppresses everything."""
    catalog = problem.catalog
    obstacles = [f"{model.label}: {told}" for model in models if (told := model.obstacle(catalog))]
    if obstacles:
        raise NoSolutionError(
            f"No class can meet the policy: {'; '.join(obstacles)}.",
            hint="lower the parameter of the model, or use more data.",
            nearest={"levels": catalog.levels(useful_top(problem)), "suppressed": catalog.population},
        )
