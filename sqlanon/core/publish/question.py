"""What a policy asks of a release, by which a later policy is known to ask the same.

A repetition may change the records, the levels that a search finds, and all that ``MAY_CHANGE`` names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlanon.core.policy import Policy
from sqlanon.core.policy.writing import canonical, document
from sqlanon.core.publish.manifest import asked_of

QUASI = "quasi_identifier"
MAY_CHANGE = (
    "version", "source", "files", "table", "csv", "join", "search", "quality", "output", "if_exists",
    "suppression_limit", "suppression_count", "key",
)  # fmt: skip
"""Keys of a policy that may differ from one release to the next, where all else must be the same."""
COMPARED = ("role", "value", "with", "of", "differs_by_release")
"""What a manifest says of a column that is asked, and not found."""


@dataclass(frozen=True, slots=True)
class PolicyQuestion:
    """What a policy asks, as far as a manifest or a ledger holds it.

    Attributes:
        columns: how each is published, by name: at least its role, where it is a quasi-identifier.
        models: as a manifest holds them.
        entity: whether persons are counted.
        nulls: how missing values are compared; None: not known.
        hierarchies: the digest of each that has one.
    """

    columns: Mapping[str, Mapping[str, Any]]
    models: list[Mapping[str, Any]]
    entity: bool = False
    nulls: str | None = None
    hierarchies: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, policy: Policy, hierarchies: Mapping[str, str] | None = None) -> PolicyQuestion:
        """Return what a policy asks."""
        return cls.read({**asked_of(policy), "hierarchies": hierarchies})

    @classmethod
    def read(cls, manifest: Mapping[str, Any]) -> PolicyQuestion:
        """Return what was asked of the release that a manifest describes."""
        return cls(
            {item["name"]: {key: item.get(key) for key in COMPARED} for item in manifest["columns"]},
            manifest["models"],
            bool(manifest.get("entity")),
            (manifest.get("handling") or {}).get("nulls"),
            manifest.get("hierarchies") or {},
        )

    @property
    def quasi_identifiers(self) -> list[str]:
        """Their names, in the order of the columns."""
        return [name for name, keys in self.columns.items() if keys["role"] == QUASI]

    def other_hierarchies(self, earlier: PolicyQuestion) -> list[str]:
        """Return the columns whose hierarchies differ, among those whose digests both have."""
        return [name for name, own in self.hierarchies.items() if earlier.hierarchies.get(name, own) != own]

    def is_that_of(self, earlier: PolicyQuestion) -> bool:
        """Return whether columns, models, entity and hierarchies are the same as far as both tell."""
        asked = ((each.columns, each.models, each.entity) for each in (self, earlier))
        return next(asked) == next(asked) and not self.other_hierarchies(earlier)


def digest_of_question(policy: Policy, **beside: Any) -> str:
    """Return the SHA-256 of all that a policy says but what may change, and of what is given beside it."""
    keys = {name: value for name, value in document(policy, portable=True).items() if name not in MAY_CHANGE}
    return hashlib.sha256(json.dumps(canonical(keys | beside), default=str, sort_keys=True).encode()).hexdigest()
