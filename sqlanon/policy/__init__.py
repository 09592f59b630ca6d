"""What the user wants, as frozen facts, and everything that a policy can name."""

from sqlanon.policy.facts import (
    ENGINES,
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
from sqlanon.policy.policy import Policy, require_policy
from sqlanon.policy.transformation import LocalRecoding, Patterns, Transformation

__all__ = [
    "ENGINES",
    "ROLES",
    "WHERE",
    "Column",
    "EngineOptions",
    "Join",
    "LocalRecoding",
    "Model",
    "Output",
    "Patterns",
    "Policy",
    "Quality",
    "SearchOptions",
    "Transformation",
    "require_policy",
]
