"""What the core asks of the periods of a run: the closed ones that were not released yet."""

from __future__ import annotations

from typing import Any, Protocol


class OpenPeriods(Protocol):
    """The periods that a run releases, and what those before them were released at."""

    @property
    def released(self) -> tuple[str, ...]:
        """The names of the periods of this run, ascending."""
        ...

    def plan(self, session: Any) -> Any:
        """Return the plan of their records: at the levels of earlier periods, if there are some.

        Raises:
            NoSolutionError, InputError: these levels do not fit, or mean something else now.
        """
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
        ...

    def extend_lake(self, engine: Any, lake: Any, written: Any, draft: Any) -> Any:
        """Return the manifest of written rows and of the periods before, which stand in a table of a lakehouse.

        Raises:
            TargetError: another run released periods meanwhile.
        """
