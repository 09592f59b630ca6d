"""The certificate of a search: what is proven about the loss of the node that was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlanon.core.facts import Facts


@dataclass(frozen=True, slots=True)
class Certificate(Facts):
    """What is proven.

    Attributes:
        measure, aggregate: what ``loss`` is; measures of classes have no aggregate.
        loss: of the chosen node.
        lower_bound: no node that meets the policy loses less; None for strategies without a bound.
        gap: (loss - lower_bound) / loss, 0 when the loss is 0; None without a bound.
        optimal: True only when proven by boxes that cover the lattice (``proof``).
        evaluated: distinct nodes with a verdict, of ``lattice_size``.
    """

    KEYS = "measure aggregate loss lower_bound gap optimal strategy evaluated lattice_size"  # by name, for they travel
    measure: str
    aggregate: str | None
    loss: float
    lower_bound: float | None
    gap: float | None
    optimal: bool
    strategy: str
    evaluated: int
    lattice_size: int

    @property
    def nearness(self) -> str:
        """How near to the optimum the loss is proven to be, in a few words."""
        if self.optimal:
            return "proven optimal"
        if self.gap is not None:
            return f"within {self.gap:.2%} of the optimum"
        return "no proof of how near to the optimum"

    def coarsened(self) -> dict[str, Any]:
        """Return the fields for files that travel with a release, where the loss must not: without it and its bound.

        loss = (C + S) / N for a C that a reader can compute from the release and the hierarchies; with
        N = P + S + E the loss gives the hidden count S back, and so do its first digits on a small table.
        Rounding only moves the leak to the edges of the rounding cells, so the numbers are withheld. A gap of
        0 stays: it reveals no more than ``optimal`` does. Of the rest see ``for_recipients``.
        """
        return {**self.for_recipients(), "loss": None, "lower_bound": None}

    def for_recipients(self) -> dict[str, Any]:
        """Return the fields for files that travel with a release whose loss its readers can compute themselves.

        What else was learned while searching depends on all records, the suppressed ones included, and is withheld:
        how many nodes were judged, and a lower bound and a gap that are not those of a proven optimum
        (``tests/publish/test_worlds.py`` counts the source tables that each would exclude).
        """
        closed = self.gap == 0
        bound = self.loss if closed else None
        return {**self.to_dict(), "lower_bound": bound, "gap": 0.0 if closed else None, "evaluated": None}
