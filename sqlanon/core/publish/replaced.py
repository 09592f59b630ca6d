"""A release that takes the place of another, without a ledger: what whoever has both learns by subtracting one from
the other. Both are counted by class, in the database, before the earlier one goes.

Where the earlier one cannot be read, or has other quasi-identifiers, there is no comparison, and no error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.core.audit.release import ReleaseClaim, records_of
from sqlanon.core.engines.base import Engine
from sqlanon.core.facts import Facts
from sqlanon.core.publish.papers import MANIFEST
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import column, named
from sqlanon.errors import SqlanonError

CLOSE = (
    "The release replaces one that almost agrees with it: {} classes differ by fewer than {} records, {} records in "
    "all. If both are of the same persons, anyone who has both subtracts one from the other and sees these records "
    "alone or among few."
)
OF_PERSONS = (
    "A release does not show its persons, so that records are counted: where it differs from the one that it replaces, "
    "all records that came to a class, or went from it, may be of one person."
)
LEVELS = (
    "The release that it replaces has other levels ({}). Anyone who has both knows two classes of a person, and fewer "
    "than {} may share them: without a ledger this is not counted."
)
APART = (
    "The release that it replaces was generalized differently: no class is in both. Anyone who has both knows two "
    "classes of a person, and fewer than {} may share them: without a ledger this is not counted."
)
CURE = (
    "Have releases judged together (ledger: {file, record, recipient}, docs/ledger.md), or let no recipient have both. "
    "The counts are for the operator alone."
)


@dataclass(frozen=True, slots=True)
class Replacing:
    """A publication that may replace an earlier release of the same target.

    Attributes:
        k: the least size of a class that the models allow.
        sensitive: the columns whose values a reader compares beside the sizes of classes.
        persons: whether the policy counts persons, whom a release does not show.
        warnings: receives what the operator must know of the release that goes.
    """

    k: int
    sensitive: tuple[str, ...] = ()
    persons: bool = False
    warnings: list[str] = field(default_factory=list)

    def rows(self, engine: Engine, earlier: Callable[[], exp.Expr], claim: ReleaseClaim) -> exp.Select | None:
        """Return the rows of an earlier release, as texts: quasi-identifiers, then the sensitive columns that it has.

        None where it cannot be read, or has other quasi-identifiers. (Where the release will be a relation, this is
        asked before the transaction, which some databases end at the first error.)
        """
        quasi = claim.quasi_identifiers
        if self.k < 2 or not quasi:
            return None
        try:
            relation = earlier()
            there = {name for name, _ in engine.columns(relation)}
            if not {*quasi} <= there:
                return None
            records = records_of(relation, claim) if {*claim.columns} <= there else relation
            cells = dict.fromkeys([*quasi, *[name for name in self.sensitive if name in there]])
            found = exp.select(*map(_as_text, cells)).from_(records.copy())
            engine.run("look at old release", found.limit(1))
        except (SqlanonError, OSError):
            return None
        return found

    def compare(
        self,
        engine: Engine,
        before: exp.Select | None,
        written: exp.Expr,
        claim: ReleaseClaim,
        levels: Mapping[str, tuple[str, str]] | None = None,
    ) -> None:
        """Compare a release as it was written with the rows of the one that it will replace (``rows``).

        Args:
            levels: the columns whose levels differ, before and now; None where those before are not known.
        """
        if before is None:
            return
        quasi, cells = list(claim.quasi_identifiers), before.named_selects
        now = exp.select(*map(_as_text, cells)).from_(records_of(written, claim).copy())
        try:
            found = count_differences(engine, before, now, quasi, cells[len(quasi) :], k=self.k)
        except SqlanonError:
            return
        warnings = []
        if found.close_classes:
            warnings.append(CLOSE.format(found.close_classes, self.k, found.close_rows))
        if self.persons and (found.came or found.went):
            warnings.append(OF_PERSONS)
        if levels:
            listed = ", ".join(f"{name} {earlier}, now {now}" for name, (earlier, now) in levels.items())
            warnings.append(LEVELS.format(listed, self.k))
        elif found.came and found.went and not found.classes_in_both:
            warnings.append(APART.format(self.k))
        if warnings:
            self.warnings.append(" ".join([*warnings, CURE]))


def other_levels(release: Path, manifest: Mapping[str, Any] | None) -> dict[str, tuple[str, str]] | None:
    """Return the columns whose levels in the manifest beside a release file are not those of a new one, with both.

    None where there is no such manifest.
    """
    try:
        document = json.loads(release.with_name(release.name + MANIFEST).read_text(encoding="utf-8"))
        before, now = (_levels(found["columns"]) for found in (document, manifest or {}))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return {name: (before[name], level) for name, level in now.items() if before.get(name, level) != level}


def _as_text(name: str) -> exp.Expr:
    return named(exp.cast(column(name), "VARCHAR"), name)


def _levels(columns: list[dict[str, Any]]) -> dict[str, str]:
    """Return the levels of the quasi-identifiers, as numbers alone: an earlier manifest may hold anything."""
    found = {item["name"]: item.get("levels", [item.get("level")]) for item in columns}
    return {name: "/".join(str(int(level)) for level in levels) for name, levels in found.items() if levels != [None]}


@dataclass(frozen=True, slots=True)
class Differences(Facts):
    """The rows by which two states of a release differ, counted by class (what is published of the quasi-identifiers).

    Whoever reads a live view twice, or gets two snapshots, subtracts the classes of one from those of the other. A
    record that came to its class alone is singled out by the difference, whatever k is, with all that is published.

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
