"""The facts of a run that failed, and those that any run has: its time, its versions, what the policy requires."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlanon.core.engines.duckdb.engine import VERSION as DUCKDB_VERSION
from sqlanon.core.hierarchies.wording import describe_hierarchy, describe_level
from sqlanon.core.models import least_count
from sqlanon.core.policy import Policy
from sqlanon.errors import NoSolutionError, SqlanonError
from sqlanon.report.settings import file_name, settings_of
from sqlanon.report.story import IDENTITY, asked, meaning_of_nulls, not_promised, promised
from sqlanon.report.summary import AttributeSummary, FailureSummary, LevelOfNode, ModelSummary, NearestNode, RunSummary
from sqlanon.version import VERSION


def summarize_failure(policy: Policy, error: SqlanonError, *, now: str | None = None) -> RunSummary:
    """Return the facts of a run that ended in an error: what the policy requires, and what the error reports."""
    shown = policy.as_written()
    nearest = _nearest(shown, error.nearest) if isinstance(error, NoSolutionError) else None
    return RunSummary(
        **facts_of_policy(policy, now),
        source=file_name(shown.source) if shown.source is not None else None,
        attributes=tuple(
            AttributeSummary(c.name, describe_hierarchy(c.hierarchy), float(c.weight)) for c in shown.quasi_identifiers
        ),
        models=tuple(ModelSummary(model.label) for model in policy.models),
        measure=policy.quality.measure,
        aggregate=policy.quality.aggregate,
        failure=FailureSummary(
            type(error).__name__, policy.conceal(error.message), policy.conceal(error.hint), nearest
        ),
    )


def facts_of_policy(policy: Policy, now: str | None) -> dict[str, Any]:
    """Return what is known of any run: its time, its versions, and what the policy requires."""
    policy = policy.as_written()
    k = [int(model.parameters["k"]) for model in policy.privacy if model.type in IDENTITY]
    return {
        "when": now or datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": (("sqlanon", VERSION), ("duckdb", DUCKDB_VERSION)),
        "table": policy.table,
        "fingerprint": policy.fingerprint(),
        "settings": settings_of(policy),
        "columns": tuple((c.name, c.role) for c in policy.columns if c.role != "quasi_identifier"),
        "k": max(k, default=None),
        "asked": asked(policy),
        "promised": promised(policy),
        "not_promised": not_promised(policy),
        "null_words": meaning_of_nulls(policy),
        "least": least_count(policy.models),
        "counts_entities": policy.entity is not None,
    }


def _nearest(policy: Policy, nearest: Mapping[str, Any] | None) -> NearestNode | None:
    levels = nearest.get("levels", {}) if nearest is not None else {}
    if nearest is None or (policy.transformation is not None and not levels):  # the rules are no node
        return None
    hierarchies = {column.name: column.hierarchy for column in policy.quasi_identifiers}
    return NearestNode(
        suppressed=nearest.get("suppressed"),
        levels=tuple(
            LevelOfNode(name, level, describe_level(hierarchies.get(name), level, None))
            for name, level in levels.items()
        ),
        unit="record" if policy.entity is None else "entity",
    )
