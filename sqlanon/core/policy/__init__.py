"""The policy of a user, as frozen facts, and everything that it can name."""

from sqlanon.core.policy.facts import (
    ENGINES,
    ON_INTERRUPT,
    ROLES,
    WHERE,
    Column,
    EngineOptions,
    Join,
    Model,
    Output,
    Quality,
    SearchOptions,
)
from sqlanon.core.policy.key import Key
from sqlanon.core.policy.ledger import CohortsSpec, LedgerSpec
from sqlanon.core.policy.like import Like
from sqlanon.core.policy.periods import Periods
from sqlanon.core.policy.policy import Policy, PolicyLike, as_policy
from sqlanon.core.policy.representatives import Publish
from sqlanon.core.policy.transformation import LocalRecoding, Patterns, Transformation

__all__ = [
    "ENGINES",
    "ON_INTERRUPT",
    "ROLES",
    "WHERE",
    "CohortsSpec",
    "Column",
    "EngineOptions",
    "Join",
    "Key",
    "LedgerSpec",
    "Like",
    "LocalRecoding",
    "Model",
    "Output",
    "Patterns",
    "Periods",
    "Policy",
    "PolicyLike",
    "Publish",
    "Quality",
    "SearchOptions",
    "Transformation",
    "as_policy",
]
