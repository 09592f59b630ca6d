"""What the core asks of a ledger of releases, which is open as long as a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlglot import exp

from sqlanon.core.audit.release import ReleaseClaim
from sqlanon.core.facts import Facts
from sqlanon.core.policy import Output, Policy
from sqlanon.core.source.opening import Source


@dataclass(frozen=True, slots=True)
class JudgedTogether:
    """A source as it is encoded beside earlier releases.

    Attributes:
        relation: its records, with the number of their person's classes in earlier releases (``names.EARLIER``).
        members: per number, the persons of the earlier releases with it (``EarlierClasses.members``).
        policy: what it is encoded with: the models of the policy, and the same for what earlier releases show.
        types: of the columns of the source, as encoding reads them.
    """

    relation: exp.Expr
    members: tuple[int, ...]
    policy: Policy
    types: dict[str, str]


@dataclass(frozen=True, slots=True)
class Recorded(Facts):
    """What a run wrote down, or would have: the key ``ledger`` of ``run --json``.

    Attributes:
        file: the ledger.
        release: the id of the release; None where nothing was recorded.
        earlier: with how many earlier releases it was judged together.
        others: how many releases of other sources the ledger holds, which it was not judged with.
    """

    KEYS = "file release earlier *more"
    file: str
    release: str | None
    earlier: int
    others: int = 0
    more: Mapping[str, Any] = field(default_factory=dict)


class Recording(Protocol):
    """What writes one release down: its rows are read, it is pending, it stands, or it failed."""

    warnings: tuple[str, ...]

    @property
    def person_column(self) -> str:
        """The column by which persons are known."""
        ...

    def read(self, session: Any, rows: exp.Expr, claim: ReleaseClaim) -> None:
        """Read who is in which class of staged rows, which hold their persons as ``names.ENTITY``.

        Raises:
            AuditError: the release cannot be recorded, or too few persons share their classes in several releases.
        """

    def begin(self, digest: str | None) -> None:
        """Write the release down as pending; ``digest`` is the SHA-256 of a file."""

    def placed(self) -> None:
        """Note that the release is at its place."""

    def failed(self, error: BaseException) -> None:
        """Take a pending release back, if it is certain that it did not take its place."""


class OpenLedger(Protocol):
    """The ledger of a policy, open and locked."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know of it."""
        ...

    def load_persons(self, policy: Policy, opened: Source) -> None:
        """Load the persons of a source that was checked, with their digests.

        Raises:
            InputError: some records have no person, two records have one key, or keys had another type before.
        """

    def judge_together(self, policy: Policy, encoded: Policy, opened: Source) -> JudgedTogether | None:
        """Return how a source is encoded beside the earlier releases; None where there are none.

        Args:
            encoded: what the source would be encoded with alone.

        Raises:
            InputError: hardly anybody of an earlier release is known again, and nobody accepted that.
            UnsupportedError: the policy asks for what is not judged together with other releases.
        """
        ...

    def next_plan(self, session: Any) -> Any | None:
        """Return the plan of a release that continues the earlier ones; None where a node is searched.

        Raises:
            InputError: the ledger lacks what it would continue.
        """
        ...

    def check_apart(self, policy: Policy, output: Output | None) -> tuple[str, ...]:
        """Return a warning if the ledger is in the folder of a release.

        Raises:
            InputError: it is the release itself, or in it.
        """
        ...

    def recording(self, session: Any, plan: Any, output: Output, manifest: Mapping[str, Any]) -> Recording:
        """Return the recording of a release.

        Raises:
            UnsupportedError: a plan under another policy was published from this source since it was opened.
            InputError: what stands at the target is in the ledger under no release.
        """
        ...

    def recorded(self, recording: Recording | None) -> Recorded:
        """Return what a run wrote down, or that it wrote nothing."""
        ...

    def close(self) -> None:
        """Release the lock and close the file."""
