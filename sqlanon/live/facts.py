"""The facts that a live view was created with: ``refresh`` compares them with policy and hierarchies as they are now.

They stand in the table ``v_frozen`` beneath the view ``v``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from sqlglot import exp

from sqlanon.core.engines.base import Engine, Place
from sqlanon.core.policy import Policy
from sqlanon.core.publish.question import PolicyQuestion
from sqlanon.core.publish.targets import FACT_COLUMNS, FROZEN, frozen_tables
from sqlanon.core.source.hierarchy_digests import content_digest
from sqlanon.core.sqltrees import files as sqlfiles
from sqlanon.core.sqltrees.trees import column
from sqlanon.errors import TargetError
from sqlanon.live.lookups import sensitive_with_lookup
from sqlanon.version import VERSION

NOTHING: Mapping[str, int] = MappingProxyType({})
QUESTION = "question"
"""The kind of the facts that say of what a view with an epoch is, and what it promises."""
Fact = tuple[str, str, str]
"""A fact that a live view was created with, as ``FACT_COLUMNS`` name its parts."""


def facts_of(
    engine: Engine, policy: Policy, levels: Mapping[str, int], heights: Mapping[str, int] = NOTHING
) -> list[Fact]:
    """Return the facts that a live view is created with; a changed policy, hierarchy or model has another hash.

    Args:
        levels: of the quasi-identifiers.
        heights: of the hierarchies of the sensitive columns.
    """
    return [
        ("version", "sqlanon", VERSION),
        ("policy", "", replace(policy, if_exists="replace").fingerprint()),
        *file_facts(engine, policy),
        *(("level", name, str(level)) for name, level in levels.items()),
        *(("height", name, str(height)) for name, height in heights.items()),
    ]


def question_of(policy: Policy, source: Place | None) -> list[Fact]:
    """Return the source and the promises of a view with an epoch: a renewal has to keep all of them."""
    assert policy.output is not None
    asked = PolicyQuestion.of(policy)
    parts = {
        "source": source and [source.schema, source.name],
        "record": policy.output.record,
        "entity": policy.entity,
        "columns": [*asked.columns],
        "quasi-identifiers": asked.quasi_identifiers,
        "models": asked.models,
    }
    return [(QUESTION, name, json.dumps(part)) for name, part in parts.items()]


def levels_of(facts: Sequence[Fact]) -> dict[str, str]:
    """Return the level of each quasi-identifier."""
    return {name: level for kind, name, level in facts if kind == "level"}


def file_facts(engine: Engine, policy: Policy) -> list[Fact]:
    """Return the SHA-256 of each hierarchy that stands in a file or a table, and of each model."""
    specs = (*policy.quasi_identifiers, *sensitive_with_lookup(policy))
    facts = [("hierarchy", spec.name, digest) for spec in specs if (digest := content_digest(engine, spec))]
    for position, model in enumerate(policy.models):
        facts.append(("model", f"{position} {model.type}", _digest_of_model(model.file)))
    return facts


def _digest_of_model(file: str) -> str:
    try:
        return hashlib.sha256(sqlfiles.text_with_parts(file).encode()).hexdigest()
    except OSError:
        return "unreadable"


def frozen_facts(engine: Engine, where: Place) -> list[Fact] | None:
    """Return the facts that the live view at ``where`` was created with; None when there is no live view.

    Raises:
        TargetError: there is a relation of that name which is no live view.
    """
    kind = engine.catalog.existing(where)
    facts = where.named(where.name + FROZEN)
    if kind == "view" and frozen_tables(engine, where):
        rows = exp.select(*[column(name) for name in FACT_COLUMNS]).from_(facts.table)
        return [(str(kind), str(name), str(value)) for kind, name, value in engine.run("read facts", rows)]
    if kind is not None:
        raise TargetError(
            f"The relation {where.schema}.{where.name} is a {kind}, and no live view of sqlanon.",
            hint="publish the policy under another name, or drop the relation yourself.",
        )
    return None
