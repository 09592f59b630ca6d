"""Outputs that are not written as rows: a wing publishes them, by the claim that every release is audited by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from sqlanon.core.audit.release import ReleaseClaim
from sqlanon.core.doors import behind, has_door
from sqlanon.core.policy import Output, Policy
from sqlanon.core.publish.publication import Publication
from sqlanon.core.publish.targets import Target
from sqlanon.core.source.opening import Source

if TYPE_CHECKING:  # loaded where a release is replaced
    from sqlanon.core.publish.replaced import Replacing


class OtherOutput(Protocol):
    """A kind of output that a wing publishes."""

    def refuse(self, policy: Policy) -> None:
        """Refuse what the kind does not support, before any work.

        Raises:
            UnsupportedError: names it and the alternative.
        """

    def check(self, opened: Source, policy: Policy, output: Output) -> None:
        """Refuse what this source, or the place of the output, cannot have.

        Raises:
            UnsupportedError, TargetError: name it and the alternative.
        """

    def publish(self, plan: Any, target: Target, claim: ReleaseClaim, replacing: Replacing | None) -> Publication:
        """Put the release of a plan in place, audited as it will be read.

        Raises:
            AuditError, SourceChangedError, TargetError: nothing was published.
        """
        ...

    def warning(self, output: Output) -> str:
        """Return what the operator should know of every output of the kind."""
        ...


def other_output(output: Output | None) -> OtherOutput | None:
    """Return what publishes an output of another kind than rows; None for files, tables and views."""
    if output is None or not has_door(door := f"output {output.kind}"):
        return None
    found: OtherOutput = behind(door)
    return found
