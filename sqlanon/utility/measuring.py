"""Measure the utility of a release: from the row types of its source, with what is published of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlanon.engines.base import Engine
from sqlanon.errors import InputError
from sqlanon.lattice.catalog import Catalog
from sqlanon.models import least_size
from sqlanon.policy import Policy
from sqlanon.source.encoding import Encoding
from sqlanon.utility.columns import quasi_columns
from sqlanon.utility.facts import Utility
from sqlanon.utility.queries import query_errors
from sqlanon.utility.released import PublishedTypes, ReleasedTypes

MOST_QUERIES = 100_000
"""More queries are refused: they would take long, and tell no more."""


@dataclass(frozen=True, slots=True)
class Measurable:
    """A planned release, with what its utility is measured by.

    Attributes:
        engine: where the source is.
        published: what the plan publishes.
        released: the columns of the release with their types, in the order of the policy.
        losses: per quasi-identifier, its part of the policy's measure; None where it has none.
        measure: the policy's.
    """

    engine: Engine
    encoding: Encoding
    catalog: Catalog
    policy: Policy
    published: PublishedTypes
    released: Mapping[str, str]
    losses: Mapping[str, float] | None
    measure: str


def measure_utility(plan: Measurable, *, queries: int, seed: int) -> Utility:
    """Return what a planned release is still good for.

    Raises:
        InputError: a number out of its range.
    """
    _check(queries, seed)
    catalog = plan.catalog
    least = max(2, least_size(plan.policy.models))
    with ReleasedTypes(plan.engine, plan.encoding, catalog, plan.published) as types:
        columns = quasi_columns(types, plan.losses, plan.measure, least)
        errors = query_errors(types, queries=queries, seed=seed)
        published = types.records_published
    return Utility(
        records=catalog.population,
        published=published,
        suppressed=catalog.population - published,
        excluded=catalog.excluded,
        least=least,
        columns=tuple(columns),
        queries=errors,
    )


def _check(queries: int, seed: int) -> None:
    """Raise InputError for numbers out of their range."""
    if isinstance(queries, bool) or not isinstance(queries, int) or not 0 <= queries <= MOST_QUERIES:
        raise InputError("This is not a number of queries.", hint=f"give a whole number from 0 to {MOST_QUERIES:,}.")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise InputError("This is not a seed.", hint="give a whole number from 0 to 2^63 - 1.")
