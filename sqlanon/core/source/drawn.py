"""What is said of a sample that was drawn of a source."""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.core.facts import Facts


@dataclass(frozen=True, slots=True)
class Drawn(Facts):
    """A sample that was drawn of a source: its share, and how many records, and persons where they are known."""

    KEYS = "share records drawn persons? drawn_persons?"
    share: float
    records: int
    drawn: int
    persons: int | None = None
    drawn_persons: int | None = None

    @property
    def words(self) -> str:
        """How many were drawn, in words."""
        of_persons = "" if self.persons is None else f", of {self.drawn_persons:,} of {self.persons:,} persons"
        return f"{self.drawn:,} of {self.records:,} records were drawn{of_persons} (sample: {self.share:g})"
