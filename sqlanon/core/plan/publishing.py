"""Publish a plan: write, audit and put in place its rows, and describe them in a manifest."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlanon.core.cards import WithCard
from sqlanon.core.engines.base import Engine
from sqlanon.core.facts import pick
from sqlanon.core.interrupts import finishing
from sqlanon.core.plan.planned import Planned, versions
from sqlanon.core.plan.release import Release
from sqlanon.core.policy import Output
from sqlanon.core.policy.columns import KEYED_ROLES
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.output import IN_DATABASE, check_output, check_partitions_fit
from sqlanon.core.publish.manifest import TO_READERS, manifest
from sqlanon.core.publish.outputs import other_output
from sqlanon.core.publish.papers import Papers
from sqlanon.core.publish.publication import Publication, publish
from sqlanon.core.publish.recipient_certificate import recipient_document, sealed
from sqlanon.core.publish.targets import Target
from sqlanon.core.source.hierarchy_digests import manifest_digests
from sqlanon.core.source.recorded import Recording
from sqlanon.errors import InputError

if TYPE_CHECKING:  # loaded where a release is replaced
    from sqlanon.core.publish.replaced import Replacing

NOWHERE = Publication({}, None)
"""What was published of a plan without an output."""


@dataclass(slots=True, kw_only=True, repr=False)
class PublishablePlan(WithCard, Planned):
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
            check_partitions_fit(faults, self.policy, output)
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
        releases = self._session.releases
        apart = () if releases is None else releases.check_apart(self.policy, output)
        ledger, proof = self.ledger, self.proof_document
        proof = None if proof is None else sealed(proof)
        if not self.source.stamps:  # nothing may tell that the records changed since they were staged
            self._drop_staged()
        warnings = self.all_warnings  # counted first: where that fails, nothing is published
        document = manifest(
            self.policy.as_written(),
            self.catalog,
            levels=self.published_levels,
            recoding=self._recoding(),
            ledger=ledger,
            certificate=self.certificate,
            output={} if output is None else {output.kind: self.policy.shown_target(output.kind, output.target)},
            versions=versions(self.engine),
        )
        document |= manifest_digests(self.engine, self._session.encoding.columns, self.policy)
        if self.source.drawn is not None:
            document["sample"] = pick(self.source.drawn, "share records persons?")
        replacing = None if target is None else self._replacing(target)
        if self.policy.ledger is None and (replacing is not None or self.policy.like is not None):
            document["repeats"] = TO_READERS
        published, recording = NOWHERE, None
        if target is not None:
            other = other_output(target.output)
            papers = Papers(document, None if proof is None else recipient_document(proof, document["certificate"]))
            if releases is not None and other is None:
                recording = releases.recording(self._session, self, target.output, document)
            if other is not None:
                published = other.publish(self, target, self._claim(), replacing)
            else:
                published = self._publish_rows(replace(target, replacing=replacing), papers, recording)
        return Release(
            levels=dict(self.levels),
            ledger=ledger,
            certificate=self.certificate,
            manifest=published.manifest or document,
            output=dict(published.output),
            seconds={**self.seconds, "publish": time.perf_counter() - start},
            warnings=warnings
            + published.warnings
            + _access_warnings(self.engine, output)
            + apart
            + (() if recording is None else recording.warnings),
            recorded=None if releases is None else releases.recorded(recording),
            verdict_sources=self.verdict_sources,
            plan=self,
            marker=published.marker,
            proof=proof,
            _kind=output.kind if output else None,
            _target=output.target if output else "",
        )

    def _publish_rows(self, target: Target, papers: Papers, recording: Recording | None) -> Publication:
        """Write, audit and put in place the released rows, and record them."""
        output = target.output
        with _taking_back(recording), self._audited_rows(recording) as (rows, claim):
            return publish(
                self.engine,
                replace(target, recorder=recording, periods=self.source.periods),
                rows,
                claim,
                redacted=self.ledger.suppressed if self.policy.suppressed == "redact" else None,
                verify_source=self.source.verify,
                copied=self.catalog.has_entity,
                papers=papers if output.kind not in IN_DATABASE or self.source.periods is not None else None,
            )

    def _replacing(self, target: Target) -> Replacing | None:
        """Return the comparison of the release with one that it replaces; None where a ledger judges them together."""
        policy, output = self.policy, target.output
        is_new = output.kind == "file" and not os.path.lexists(output.target)
        alone = policy.ledger is None
        linked = policy.key is not None and policy.key.context is not None
        if target.if_exists != "replace" or is_new or not (alone or target.if_changed):
            return None
        from sqlanon.core.publish.replaced import Replacing

        return Replacing(
            self.threshold,
            bool(policy.sensitive),
            frozenset(item.name for item in policy.columns if not linked and item.role in KEYED_ROLES),
            persons=self.catalog.has_entity,
            refuses=policy.like is None and policy.repeats == "refuse" and output.kind != "live_view",
            if_changed=target.if_changed and output.kind != "live_view",
            alone=alone,
        )


@contextmanager
def _taking_back(recording: Recording | None) -> Iterator[None]:
    """Take a pending release back if the block fails, unless it may have taken its place."""
    try:
        yield
    except BaseException as error:
        if recording is not None:
            recording.failed(error)
        raise


def _access_warnings(engine: Engine, output: Output | None) -> tuple[str, ...]:
    """Warn of who can read a release in the database of its source."""
    if output is None or output.kind not in IN_DATABASE:
        return ()
    other = other_output(output)
    of_kind = () if other is None else (other.warning(output),)
    kind = output.kind.replace("_", " ")
    if not engine.capabilities.has("roles"):
        return (
            *of_kind,
            f"A {kind} in the source database protects nobody who can open that database; "
            "for hand-over publish a fresh file (output: {file: …}).",
        )
    if not output.readers:
        return (*of_kind, f"Nobody but its owner may read the {kind}; name roles (output: {{…, readers: [role]}}).")
    return of_kind
