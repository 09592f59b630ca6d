"""The policy that a source is encoded with where patterns keep or suppress whole cells."""

from __future__ import annotations

from dataclasses import replace

from sqlanon.core.hierarchies.specs import Suppress
from sqlanon.core.policy import Patterns, Policy


def encoded_policy(policy: Policy) -> Policy:
    """Return the policy that a source is encoded with: the policy itself, unless it asks for patterns.

    For patterns every quasi-identifier has one level above its values, whatever hierarchy the policy names.
    """
    if not isinstance(policy.transformation, Patterns):
        return policy
    columns = tuple(
        replace(c, hierarchy=Suppress(), information_loss=None, uncovered=None) if c.role == "quasi_identifier" else c
        for c in policy.columns
    )
    return replace(policy, columns=columns, uncovered="error")
