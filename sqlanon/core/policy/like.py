"""``like`` and ``repeats``: what a policy says of the release that came before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.parts import PATH, PolicyPart, check, entry
from sqlanon.parameters import flag, text


@dataclass(frozen=True, slots=True)
class Like(PolicyPart):
    """An earlier release, by its manifest, whose levels are kept: ``Like("released.parquet.manifest.json")``."""

    built = 'sqlanon.Like("released.parquet.manifest.json")'
    alone = "manifest"

    manifest: str | None = entry(
        text(),
        about="The manifest of the earlier release, which this one may replace.",
        example="like: released.parquet.manifest.json",
        kept=PATH,
    )
    replan: bool = entry(
        flag(),
        False,
        about="Whether the levels are searched again, from those of the earlier release. It need not exist then.",
        example="like: {manifest: released.parquet.manifest.json, replan: true}",
    )


def check_like(faults: Faults, policy: Any) -> None:
    """Note the faults of ``like`` of a policy (``PolicyFacts``)."""
    if policy.like is None:
        return
    check(faults, "like", policy.like)
    if policy.like.manifest is None:
        faults.add("like", "The earlier release is missing.", "write like: released.parquet.manifest.json, say.")
    if policy.transformation is not None:
        message = "A manifest does not hold the rules of a transformation in their order, so they cannot be kept."
        hint = "leave out like; or leave out transformation, so that one node publishes all records."
        faults.add("like", message, hint)
