"""The release that a pack is about: published now, as ``sqlanon run`` does, or there already and found to belong.

A release that is there belongs to a policy when its accompanying files name its digest, the policy's fingerprint is
theirs, and planning the policy again gives the same levels, rules, models, counts and loss.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlanon.core.anonymizer import anonymize, plan, recode
from sqlanon.core.engines.journal import Watcher
from sqlanon.core.plan.planned import Planned
from sqlanon.core.plan.release import Release
from sqlanon.core.policy import Policy
from sqlanon.core.publish.papers import CERTIFICATE, check_papers, paper_beside
from sqlanon.core.publish.recipient_certificate import is_recipients
from sqlanon.core.publish.workplace import settle_left_behind
from sqlanon.core.sqltrees import names
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.live.view import KIND

PUBLISHED, FOUND, DESCRIBED = "published", "found", "described"
"""How a release came to its pack: it was published now; it was there and belongs to the policy; nothing was written."""
COMPARED = ("policy_fingerprint", "models", "columns", "rules", "entity", "ledger")
"""The keys of a manifest that a release shares with the plan of its policy; and of its certificate:"""
CERTIFIED = ("measure", "aggregate", "loss")
"""The loss where both state it, because earlier versions stated it in more cases."""


@dataclass(frozen=True, slots=True)
class Evidenced:
    """A release with the way it came to its pack.

    Attributes:
        came: ``published``, ``found`` or ``described``.
        marker: the text of redacted rows, where the policy redacts.
        certificate: the recipient's certificate that stands beside a release which was there; None for one of this run,
            or of a version that wrote the proof there.
    """

    release: Release
    came: str
    marker: str | None
    certificate: str | None = None

    @property
    def is_written(self) -> bool:
        """Whether there is something that can be read and counted again."""
        return self.came != DESCRIBED


def refuse_live(policy: Policy) -> None:
    """Raise UnsupportedError for a policy whose output changes with its source, so that no evidence of it lasts."""
    if policy.output is not None and policy.output.kind == KIND:
        raise UnsupportedError(
            "A live view changes with its source, so that evidence of it would be outdated at once.",
            hint="publish a table or a file: output: {file: released.parquet}.",
        )


@contextmanager
def evidenced(
    source: object, policy: Policy, *, watch: Watcher | None, prepare: Callable[[Planned], None]
) -> Iterator[Evidenced]:
    """Yield the release of a policy; its plan stays open until the block ends.

    Args:
        prepare: called with the plan before anything is published.

    Raises:
        SqlanonError: as ``anonymize`` does.
        InputError: a release is there that does not belong to the policy, or not to its papers.
    """
    target = Path(policy.output.target) if policy.output is not None and policy.output.kind == "file" else None
    redacted = names.SUPPRESSED_MARKER if policy.suppressed == "redact" else None
    if target is not None and policy.if_exists != "replace":
        settle_left_behind(target)
        if os.path.lexists(target):
            with _found(source, policy, target, watch=watch, prepare=prepare) as release:
                yield Evidenced(release, FOUND, redacted, _certificate_beside(target))
            return
    with anonymize(source, policy, watch=watch, prepare=prepare) as release:
        yield Evidenced(release, PUBLISHED if release.output else DESCRIBED, release.marker)


@contextmanager
def _found(
    source: object, policy: Policy, target: Path, *, watch: Watcher | None, prepare: Callable[[Planned], None]
) -> Iterator[Release]:
    manifest = _manifest(target, policy)
    planned = (plan if policy.transformation is None else recode)(source, policy, watch=watch)
    with planned:
        prepare(planned)
        described = planned.publish_to(None)
        if not _agree(_compared(manifest), _compared(json.loads(json.dumps(described.manifest)))):
            raise InputError(
                f"The release {target.name!r} is there, and is not what the policy gives today: its manifest has other "
                "levels, counts or another loss.",
                hint="the source or a hierarchy changed; set if_exists: replace, or name another output.",
            )
        yield replace(described, manifest=manifest, output={"file": str(target)}, _kind="file", _target=str(target))


def _manifest(target: Path, policy: Policy) -> dict[str, Any]:
    """Return the manifest of a release that is there.

    Raises:
        InputError: they do not belong together, or it is of another policy.
    """
    hint = "set if_exists: replace to publish it again, or name another output."
    if (manifest := paper_beside(target)) is None:
        raise InputError(f"The release {target.name!r} is there, without a manifest that can be read.", hint=hint)
    belonging = check_papers(target)
    if not belonging.holds:
        raise InputError(f"The release {target.name!r} is there. {' '.join(belonging.faults)}", hint=hint)
    if manifest.get("policy_fingerprint") != policy.fingerprint():
        raise InputError(f"The release {target.name!r} is there, and was published by another policy.", hint=hint)
    return manifest


def _certificate_beside(target: Path) -> str | None:
    path = target.with_name(target.name + CERTIFICATE)
    if not path.exists():
        return None
    text = path.read_text(encoding="utf-8")
    return text if is_recipients(json.loads(text)) else None


def _agree(found: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """Return whether what is compared of two manifests is the same."""
    untold = {"loss"} if None in (found["loss"], expected["loss"]) else set()
    return all(found[key] == expected[key] for key in expected if key not in untold)


def _compared(manifest: Mapping[str, Any]) -> dict[str, Any]:
    certificate = manifest.get("certificate")
    certified = certificate if isinstance(certificate, Mapping) else {}
    return {key: manifest.get(key) for key in COMPARED} | {key: certified.get(key) for key in CERTIFIED}
