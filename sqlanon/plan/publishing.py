"""Publish a plan: write, audit and put in place its rows, and describe them in a manifest."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlanon.engines.base import Engine
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.interrupts import finishing
from sqlanon.plan.planned import Planned, versions
from sqlanon.plan.release import Release
from sqlanon.policy import Output
from sqlanon.policy.faults import Faults
from sqlanon.policy.sources import check_output
from sqlanon.publish.live.view import KIND, SNAPSHOT, WARNING
from sqlanon.publish.manifest import manifest
from sqlanon.publish.papers import Papers
from sqlanon.publish.publication import Publication, publish
from sqlanon.publish.targets import Target
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
        if isinstance(output, str | os.PathLike):
            output = Output.file(os.fsdecode(output))
        if output is not None and not isinstance(output, Output):
            raise InputError("This is not an output.", hint='write sqlanon.Output.file("released.parquet"), say.')
        if output is not None:
            faults = Faults("The output")
            check_output(faults, output, self.policy.extensions)
            faults.finish()
        output = output or self.policy.output
        return self.publish_to(Target.of(self.source, self.policy, output) if output is not None else None)

    def publish_to(self, target: Target | None) -> Release:
        """Publish as ``publish`` does, to a target of this plan's source and policy.

        The target is checked here again, however early it was checked before.

        Raises:
            Interrupted: an interrupt came too late: the release stands, with its papers. One that comes earlier is
                raised as KeyboardInterrupt, and nothing was published.
        """
        if target is not None and self.policy.report is not None:
            self.audit_source()
        self.engine.journal.report("publishing")
        with finishing("The interrupt came while the release was being put in place: it was published."):
            return self._published(target)

    def _published(self, target: Target | None) -> Release:
        start = time.perf_counter()
        output = None if target is None else target.output
        ledger, certified = self.ledger, self.proof_document
        warnings = self.all_warnings  # counted first: where that fails, nothing is published
        document = manifest(
            self.policy,
            self.catalog,
            levels=self.published_levels,
            rules=self._rules(),
            ledger=ledger,
            certificate=_public_certificate(self.certificate, certified),
            output={} if output is None else {output.kind: output.target},
            versions=versions(self.engine),
        )
        published = NOWHERE
        if target is not None:
            is_live = target.output.kind == KIND
            papers = Papers(document, certified)
            published = self._publish_live(target) if is_live else self._publish_rows(target, papers)
        return Release(
            levels=dict(self.levels),
            ledger=ledger,
            certificate=self.certificate,
            manifest=published.manifest or document,
            output=dict(published.output),
            seconds={**self.seconds, "publish": time.perf_counter() - start},
            warnings=warnings + _access_warnings(self.engine, output),
            verdict_sources=self.verdict_sources,
            plan=self,
            marker=published.marker,
            _kind=output.kind if output else None,
            _target=output.target if output else "",
        )

    def _publish_rows(self, target: Target, papers: Papers) -> Publication:
        """Write, audit and put in place the released rows."""
        with self._audited_rows() as (rows, claim):
            return publish(
                self.engine,
                target,
                self._rows(rows),
                claim,
                redacted=self.ledger.suppressed if self.policy.suppressed == "redact" else None,
                verify_source=self.source.verify,
                copied=self.catalog.has_entity,
                papers=papers if target.output.kind == "file" else None,
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
