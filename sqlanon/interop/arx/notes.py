"""The notes of an import: what a policy cannot express, what has another meaning here, and what to look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

HEADINGS = {
    "unprotected": "Not protected as in ARX",
    "left_out": "Not expressed",
    "different": "Different from ARX",
    "note": "To look at",
}
"""Kinds of notes, in the order in which they are listed."""


@dataclass(slots=True)
class Notes:
    """Notes by kind; each is a sentence or two: what, why, and what to do."""

    found: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in HEADINGS})

    def unprotected(self, text: str) -> None:
        """Note a privacy model that the policy lacks."""
        self.found["unprotected"].append(text)

    def left_out(self, text: str) -> None:
        """Note a setting that the policy lacks."""
        self.found["left_out"].append(text)

    def different(self, text: str) -> None:
        """Note a setting that means something else."""
        self.found["different"].append(text)

    def note(self, text: str) -> None:
        """Note something to look at."""
        self.found["note"].append(text)

    @property
    def texts(self) -> list[str]:
        """All notes, each with its kind."""
        return [f"{HEADINGS[kind]}: {text}" for kind, texts in self.found.items() for text in texts]

    def comment(self, first: str) -> Iterator[str]:
        """Yield the lines of a comment that lists them."""
        yield f"# {first}"
        for kind, texts in self.found.items():
            if texts:
                yield f"# {HEADINGS[kind]}:"
                yield from (f"# - {' '.join(text.split())}" for text in texts)
