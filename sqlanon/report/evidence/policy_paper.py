"""The policy as a paper of a pack: what was asked for, without values, secrets and folders of this machine.

A policy may list values of the source (inline hierarchies, texts that stand for NULL), hold passwords (the URL of a
server) and name folders. So the paper is made of what is known to hold none of them; everything else is withheld.
"""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any

from sqlanon.core.facts import pick
from sqlanon.core.hierarchies import specs
from sqlanon.core.policy import Column, LocalRecoding, Model, Policy
from sqlanon.core.policy.columns import written_travels
from sqlanon.core.policy.paths import is_connection_text, is_url, names_records
from sqlanon.core.policy.representatives import written_publish
from sqlanon.parameters import is_number
from sqlanon.report.settings import target_name

WITHHELD = "withheld: it may hold values"
"""Stands for a part of a policy that may hold values of the source."""
SERVER = "a database server"
"""Stands for the URL of a server, which may hold names and passwords."""
WORDS = ("equal", "hierarchical", "ordered", "ignore", "reject", "source", "poisson", "zero_truncated_poisson")
"""The texts that parameters of models may have."""


def policy_paper(policy: Policy, *, for_operator: bool) -> dict[str, Any]:
    """Return the policy as the keys of a policy file.

    Args:
        for_operator: the columns that are left out, the entity, the rules of a transformation, and who may read the
            release are named too.
    """
    policy = policy.as_written()
    columns = [c for c in policy.columns if for_operator or c.role != "drop"]
    document: dict[str, Any] = {"source": _relation(policy.source, policy), "table": policy.table}
    if policy.files:
        document["files"] = [_path(pattern, policy) for pattern in policy.files]
    if policy.join:
        document["join"] = [
            {"source": _relation(join.source, policy), "table": join.table}
            | ({"key": dict(join.key)} if for_operator else {})
            for join in policy.join
        ]
    document["columns"] = {column.name: _column(column, policy) for column in columns}
    document |= {
        "entity": policy.entity if for_operator or policy.entity is None else "records are counted by person",
        "accept": list(policy.accept),
        "privacy": [_model(model, policy) for model in policy.privacy],
        **pick(policy, "sample undeclared uncovered nulls suppressed"),
        **_limit(policy),
        "quality": pick(policy.quality, "measure aggregate"),
        "search": {"strategy": policy.search.strategy, "gap": float(policy.search.gap)},
        "transformation": _transformation(policy),
        "publish": written_publish(policy.publish),
        "output": _output(policy, for_operator=for_operator),
        "if_exists": policy.if_exists,
    }
    return {key: value for key, value in document.items() if value not in (None, [], {})}


def _limit(policy: Policy) -> dict[str, Any]:
    if policy.suppression_count is not None:
        return {"suppression_count": policy.suppression_count}
    return {"suppression_limit": float(policy.suppression_limit)}


def _column(column: Column, policy: Policy) -> dict[str, Any]:
    document = pick(column, "role min_level max_level level uncovered days")
    document["keep_weekday"] = column.keep_weekday or None
    document["with"] = None if column.travels is None else written_travels(column.travels)
    document |= pick(column, "redact? redact_finds") if column.redact else {}
    document["weight"] = float(column.weight) if column.weight != 1 else None
    document["models"] = [_model(model, policy) for model in column.models]
    document["hierarchy"] = None if column.hierarchy is None else _hierarchy(column.hierarchy, policy)
    return {key: value for key, value in document.items() if value not in (None, [])}


def _hierarchy(spec: specs.HierarchySpec, policy: Policy) -> dict[str, Any]:
    """Return the kind of a hierarchy and what is known to hold no value of the source."""
    match spec:
        case specs.FileHierarchy():
            return {"file": _path(str(spec.path), policy)}
        case specs.TableHierarchy():
            return {"table": spec.table}
        case specs.Levels() | specs.Groups():
            return {spec.kind: f"{WITHHELD}; {len(spec.rows[0]) - 1} levels above them"}
        case specs.Intervals(edges=(_, *_) as edges):
            return {"intervals": {"edges": [[_number(edge) for edge in level] for level in edges]}}
        case specs.Intervals():
            bounds = {"origin": spec.origin, "lower": spec.lower, "upper": spec.upper}
            numbers = {key: _number(value) for key, value in bounds.items() if value is not None}
            return {"intervals": {"width": _number(spec.width), "fanouts": list(spec.fanouts), **numbers}}
        case specs.Redact():
            return {"redact": {"direction": spec.direction, "steps": spec.steps, "width": spec.width}}
        case specs.Dates():
            return {"dates": {"levels": list(spec.levels)}}
        case specs.Suppress():
            return {"suppress": {}}
    return {getattr(spec, "kind", "hierarchy"): WITHHELD}


def _model(model: Model, policy: Policy) -> dict[str, Any]:
    document: dict[str, Any] = {"type": model.type}
    for name, value in model.parameters.items():
        if names_records(name, value):
            document[name] = {
                kind: _path(str(item), policy) if kind == "file" else str(item) for kind, item in value.items()
            }
        elif is_number(value):
            document[name] = _number(value)
        else:
            document[name] = value if value in WORDS else WITHHELD
    return document


def _number(value: Any) -> int | float:
    number = float(value)
    return int(number) if number.is_integer() else number


def _transformation(policy: Policy) -> dict[str, Any] | None:
    """Return the kind alone: which rules were given, and in which order, is the operator's (docs/patterns.md)."""
    asked = policy.transformation
    if asked is None:
        return None
    return {"type": "local_recoding" if isinstance(asked, LocalRecoding) else "patterns"}


def _output(policy: Policy, *, for_operator: bool) -> dict[str, Any] | None:
    output = policy.output
    if output is None:
        return None
    document: dict[str, Any] = {output.kind: target_name(output.kind, output.target)}
    if for_operator and output.readers:
        document["readers"] = list(output.readers)
    return document


def _relation(source: str | None, policy: Policy) -> str | None:
    return None if source is None else _path(source, policy)


def _path(path: str, policy: Policy) -> str:
    """Return a path relative to the policy, of one that lies elsewhere on this machine its last part."""
    if is_url(path) or is_connection_text(path):
        return SERVER if is_connection_text(path) or not path.startswith(("https://", "http://", "s3://")) else WITHHELD
    if not PurePath(path).is_absolute():
        return PurePath(path).as_posix()
    base = policy.base_directory.absolute()
    within = Path(path).is_relative_to(base)
    return Path(path).relative_to(base).as_posix() if within else PurePath(path).name
