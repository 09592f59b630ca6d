"""Compare two states of one release: which records came or went, and which of them stand alone in the difference.

Whoever reads a live view twice, or gets two snapshots, subtracts the classes of one from those of the other. A record
that came to its class alone is singled out by the difference, whatever k is, with all that is published of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.facts import Facts
from sqlanon.core.sqltrees.binding import bind


@dataclass(frozen=True, slots=True)
class Differences(Facts):
    """The rows by which two states of a release differ, counted by class (what is published of the quasi-identifiers).

    Attributes:
        came, went: the rows that only the later, or only the earlier state has; equal rows are counted. A record whose
            values changed went and came.
        came_alone, went_alone: those that are the only one that came to, or went from, their class.
        came_among_few, went_among_few: those with which fewer than k came to, or went from, their class.
        replaced: the classes to which one came and from which one went: as a rule, a record whose values changed.
        classes_in_both: the classes that both states have.
        close_classes: the classes to which 1 to k - 1 came, from which so many went, or whose sizes differ by so many.
        close_rows: the rows that came to these classes or went from them.
    """

    came: int = 0
    went: int = 0
    came_alone: int = 0
    went_alone: int = 0
    came_among_few: int = 0
    went_among_few: int = 0
    replaced: int = 0
    classes_in_both: int = 0
    close_classes: int = 0
    close_rows: int = 0

    @property
    def rows(self) -> int:
        """The rows that came or went."""
        return self.came + self.went

    @property
    def alone(self) -> int:
        """The rows that stand alone in what came to, or went from, their class: singled out by the difference."""
        return self.came_alone + self.went_alone

    @property
    def among_few(self) -> int:
        """The rows with which fewer than k came or went, those that stand alone included."""
        return self.came_among_few + self.went_among_few


def count_differences(
    engine: Engine,
    earlier: exp.Expr,
    later: exp.Expr,
    quasi_identifiers: Sequence[str],
    others: Sequence[str] = (),
    *,
    k: int,
) -> Differences:
    """Return how two states of a release differ, counted by one statement; NULL is a value like any other.

    Args:
        earlier, later: relations with all these columns, in types that compare.
        quasi_identifiers: the columns that form classes; without any, all rows are one.
        others: the other published columns, which distinguish a row from others of its class.
        k: rows of a class that come or go with fewer than so many are counted as among few.
    """
    query = bind(
        "risk/differences.sql",
        relations={"earlier": earlier, "later": later},
        columns={"quasi_identifier": quasi_identifiers, "other_value": others},
        values={"k": k},
    )
    [row] = engine.run("differences", query)
    return Differences(*map(int, row))
