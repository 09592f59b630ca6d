"""What the core asks of the periods of a run: the closed ones that were not released yet."""

from __future__ import annotations

from typing import Any, Protocol

from sqlanon.core.policy import Policy


class OpenPeriods(Protocol):
    """The periods that a run releases, and what those before them were released at."""

    @property
    def released(self) -> tuple[str, ...]:
        """The names of the periods of this run, ascending."""
        ...

    @property
    def frozen(self) -> bool:
        """Whether the levels are those of earlier periods."""
        ...

    def freeze(self, policy: Policy) -> Policy:
        """Return the policy that the records are encoded with: at the levels of earlier periods, if there are some."""
        ...

    def extend_folder(self, engine: Any, folder: Any, draft: Any) -> Any:
        """Put the earlier periods beside those in a written folder, and return the papers of all of them.

        Raises:
            TargetError: the release at the target is not the one that the run began with, or the disk refused.
        """
        ...

    def extend_table(self, engine: Any, where: Any, written: Any, draft: Any) -> None:
        """Add the rows of a written table to the table at a place, in the transaction that is open.

        Raises:
            TargetError: another run released periods meanwhile, or the table has other columns.
        """
