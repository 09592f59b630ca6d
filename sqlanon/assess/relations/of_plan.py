"""What the NULLs of a plan's source and release do: to an attacker's matches, and to the columns that are published."""

from __future__ import annotations

from sqlanon.assess.relations.null_bias import NullBias, null_bias
from sqlanon.assess.relations.nulls import NullAudit, audit_nulls
from sqlanon.core.plan.keyed import without_keyed
from sqlanon.core.plan.planned import Planned
from sqlanon.core.policy.columns import KEYED_ROLES
from sqlanon.core.source.columns import is_scalar

COMPARED_CLASSES = 20_000
"""A release of more classes is not audited for what its NULLs give away, which may compare each with each."""


def null_audit_of_plan(plan: Planned) -> NullAudit | None:
    """Return what an attacker gains who takes the NULLs of a release for wildcards: see ``Planned.null_audit``."""
    engine = plan.engine
    compared = plan.policy.nulls != "basic" and 0 < plan.ledger.classes <= COMPARED_CLASSES
    if not compared or not engine.capabilities.has("null_audit"):
        return None
    release = plan.generalized_query(without_keyed(plan.session, plan.generalized)).subquery("release")
    found = audit_nulls(engine, release, [a.name for a in plan.catalog.attributes], k=plan.threshold)
    return found if found.records_with_null else None


def null_bias_of_plan(plan: Planned) -> NullBias | None:
    """Return how the columns change because records with a NULL are left out: see ``Planned.null_bias``."""
    encoding, catalog = plan.session.encoding, plan.catalog
    if not plan.engine.capabilities.has("null_audit") or not catalog.excluded or encoding.source.taking_part.members:
        return None
    released = [c.name for c in plan.policy.columns if c.role not in ("drop", *KEYED_ROLES)]
    compared = [name for name in released if is_scalar(encoding.types[name])]
    return null_bias(plan.engine, encoding.source.relation, [a.name for a in catalog.attributes], columns=compared)
