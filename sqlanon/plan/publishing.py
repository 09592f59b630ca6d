"""Publish a plan: write, audit and put in place its rows, and describe them in a manifest."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlanon.engines.base import Engine
from sqlanon.errors import UnsupportedError
from sqlanon.plan.planned import Planned, versions
from sqlanon.plan.release import Release
from sqlanon.policy import Output
from sqlanon.publish.live.view import KIND, SNAPSHOT, WARNING
from sqlanon.publish.manifest import manifest, write_manifest
from sqlanon.publish.proof_file import write_proof
from sqlanon.publish.publication import Publication, publish
from sqlanon.publish.targets import CERTIFICATE, MANIFEST, Target
from sqlanon.search.certificate import Certificate

NOWHERE = Publication({}, None)
"""What was published of a plan without an output."""


@dataclass(slots=True, kw_only=True)
class PublishablePlan(Planned):
    """A plan that can be published."""

    def publish(self, output: Output | None = None) -> Release:
        """Write the release, audit what was written, and put it in place; without an output, only describe it.

        Args:
            output: None takes the policy's.

        Raises:
            AuditError: what was written does not satisfy the policy; nothing was published.
            SourceChangedError, TargetError: see there; nothing was published.
        """
        output = output or self.policy.output
        return self.publish_to(Target.of(self.source, self.policy, output) if output is not None else None)

    def publish_to(self, target: Target | None) -> Release:
        """Publish as ``publish`` does, to a target of this plan's source and policy.

        The target is checked here again, however early it was checked before.
        """
        start = time.perf_counter()
        published, output = NOWHERE, None
        if target is not None:
            output = target.output
            published = self._publish_live(target) if output.kind == KIND else self._publish_rows(target)
        ledger, certified = self.ledger, self.proof_document
        document = manifest(
            self.policy,
            self.catalog,
            levels=self.published_levels,
            rules=self._rules(),
            ledger=ledger,
            certificate=_public_certificate(self.certificate, certified),
            output=published.output,
            versions=versions(self.engine),
        )
        if output is not None and output.kind == "file":
            write_manifest(document, Path(output.target + MANIFEST))
            if certified is not None:
                write_proof(certified, Path(output.target + CERTIFICATE))
        return Release(
            levels=dict(self.levels),
            ledger=ledger,
            certificate=self.certificate,
            manifest=document,
            output=dict(published.output),
            seconds={**self.seconds, "publish": time.perf_counter() - start},
            warnings=self.warnings + _access_warnings(self.engine, output),
            verdict_sources=self.verdict_sources,
            plan=self,
            marker=published.marker,
            _kind=output.kind if output else None,
            _target=output.target if output else "",
        )

    def _publish_rows(self, target: Target) -> Publication:
        """Write, audit and put in place the released rows."""
        with self._audited_rows() as (rows, claim):
            return publish(
                self.engine,
                target,
                rows,
                claim,
                redacted=self.ledger.suppressed if self.policy.suppressed == "redact" else None,
                verify_source=self.source.verify,
                copied=self.catalog.has_entity,
            )

    def _publish_live(self, target: Target) -> Publication:
        """Put a live view in place of the release."""
        raise UnsupportedError("A live view publishes one node, no transformation.", hint=f"{SNAPSHOT}.")


def _public_certificate(certificate: Certificate, certified: Mapping[str, Any] | None) -> Certificate:
    """Return the certificate with the lower bound of the proof that travels with the release.

    The bound of a search that was stopped may rest on small counts.
    """
    if certified is None or certified["lower_bound"] is None:
        return certificate
    return replace(certificate, lower_bound=certified["lower_bound"], gap=certified["gap"])


def _access_warnings(engine: Engine, output: Output | None) -> tuple[str, ...]:
    """Warn of who can read a release in the database of its source."""
    if output is None or output.kind == "file":
        return ()
    live = (WARNING,) if output.kind == KIND else ()
    kind = output.kind.replace("_", " ")
    if not engine.has("roles"):
        return (
            *live,
            f"A {kind} in the source database protects nobody who can open that database; "
            "for hand-over publish a fresh file (output: {file: …}).",
        )
    if not output.readers:
        return (*live, f"Nobody but its owner may read the {kind}; name roles (output: {{…, readers: [role]}}).")
    return live
