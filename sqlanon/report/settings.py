"""The requirements of a policy in words: its settings without hierarchies, values and folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlanon.core.policy import Column, LocalRecoding, Policy
from sqlanon.core.policy.output import PATHS
from sqlanon.core.policy.paths import is_url
from sqlanon.report.wording import figure, share

NULLS = {
    "extended": "extended match: NULL is a value of its own",
    "basic": "basic match: a record with a NULL in a quasi-identifier is excluded",
}
UNCOVERED = {"error": "are an error", "top": "become the root", "suppress": "suppress their records"}
SUPPRESSED = {"drop": "left out", "redact": "kept as redacted rows"}


def settings_of(policy: Policy) -> tuple[tuple[str, str], ...]:
    """Return the settings with their values in words, without those that change nothing."""
    search, quality = policy.search, policy.quality
    joined = [file_name(join.source) if join.source else f"table {join.table}" for join in policy.join]
    settings: dict[str, str | None] = {
        "entities are counted, by column": policy.entity,
        "sample, drawn with the key": None if policy.sample is None else sample_of(policy),
        "suppression limit": limit_of(policy),
        "suppressed records": SUPPRESSED.get(policy.suppressed, policy.suppressed),
        "NULLs": NULLS.get(policy.nulls, policy.nulls),
        "values that no hierarchy lists": UNCOVERED.get(policy.uncovered, policy.uncovered),
        "quality measure": quality.measure if quality.aggregate is None else f"{quality.measure}, {quality.aggregate}",
        "transformation": _transformation(policy),
        "strategy": search.strategy,
        "time limit": f"{search.time_limit:g} s" if search.time_limit is not None else None,
        "most evaluations": f"{search.max_evaluations:,}" if search.max_evaluations is not None else None,
        "gap that is good enough": share(search.gap) if search.gap else None,
        "interrupted search": "its best node is published" if search.on_interrupt == "publish" else None,
        "subset (δ-presence)": _place(policy.subset),
        "population (k-map)": _place(policy.population),
        "joined by key": ", ".join(joined) or None,
        "columns that the policy does not name": "dropped" if policy.undeclared == "drop" else None,
        "rows that row-level security hides": "left out" if policy.row_security == "accept" else None,
        "limits on levels": _level_limits(policy.quasi_identifiers),
    }
    return tuple((name, value) for name, value in settings.items() if value is not None)


def sample_of(policy: Policy) -> str:
    """Return which share of whom a policy draws with its key."""
    unit = "records" if policy.entity is None else "persons"
    return f"{figure(100 * float(policy.sample or 1))} % of the {unit}"


def limit_of(policy: Policy) -> str:
    """Return how many records, or entities, may be suppressed."""
    unit = "records" if policy.entity is None else "entities"
    if policy.suppression_count is not None:
        return f"{policy.suppression_count:,} {unit}"
    return f"{figure(100 * float(policy.suppression_limit))} % of the {unit}"


def _transformation(policy: Policy) -> str | None:
    """Return the transformation in words; None for one node for all records."""
    asked = policy.transformation
    if asked is None:
        return None
    if isinstance(asked, LocalRecoding):
        nodes = f"at most {asked.nodes}" if isinstance(asked.nodes, int) else f"{len(asked.nodes)} given"
        held = f"{figure(100 * float(asked.hold))} % of the records held back" if asked.hold else "none held back"
        return f"local recoding by several nodes, {nodes}, {held}"
    rules = {
        "never": ", ".join(asked.never),
        "together": "; ".join(map(", ".join, asked.together)),
        "at most one of": "; ".join(map(", ".join, asked.exclusive)),
        "at most": "" if asked.at_most is None else str(asked.at_most),
        "listed": "" if asked.patterns is None else str(len(asked.patterns)),
        "outliers": "suppressed altogether" if asked.outliers else "",
        "ties": asked.ties,
    }
    listed = "; ".join(f"{name}: {value}" for name, value in rules.items() if value)
    return f"patterns, {asked.solver} ({listed})"


def _place(where: Mapping[str, Any] | None) -> str | None:
    """Return where records are that a model compares with."""
    for kind in ("column", "table", "file"):
        if where is not None and kind in where:
            return f"{kind} {file_name(str(where[kind])) if kind == 'file' else where[kind]}"
    return None


def _level_limits(columns: Sequence[Column]) -> str | None:
    """Return the columns whose levels the policy limits, with their limits."""
    limits = []
    for column in columns:
        bounds = [("at least", column.min_level), ("at most", column.max_level)]
        words = " and ".join(f"{side} {level}" for side, level in bounds if level is not None)
        if words:
            limits.append(f"{column.name} {words}")
    return "; ".join(limits) or None


def target_name(kind: str, target: str) -> str:
    """Return how a target is shown: of a path its last part, any other as it is."""
    return file_name(target) if kind in PATHS else target


def file_name(path: str) -> str:
    """Return the last part of a path; of a URL neither user nor password nor query."""
    return Path(path.split("?", maxsplit=1)[0] if is_url(path) else path).name
