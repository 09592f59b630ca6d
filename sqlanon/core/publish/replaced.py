"""A release that takes the place of another, without a ledger: what whoever has both learns by subtracting one from
the other. Both are counted by class, in the database, before the earlier one goes.

A release of the same policy that shares half of its rows with the earlier one repeats it. It is refused, unless the
policy says otherwise, or both show nothing more than each: they are equal; or records are counted, no model watches a
value, and no class differs by fewer than k records. They are compared on the columns that both have. Where the earlier
one cannot be read, or has none of the quasi-identifiers, there is no comparison, and no error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.core.audit.release import ReleaseClaim, records_of
from sqlanon.core.engines.base import Engine
from sqlanon.core.facts import Facts
from sqlanon.core.publish.papers import paper_beside
from sqlanon.core.publish.question import PolicyQuestion
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import column, named
from sqlanon.errors import NothingNewError, RepeatError, SqlanonError

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
VALUES = (
    "The release replaces one that almost agrees with it. The models of sensitive columns are not judged for the "
    "records by which they differ."
)
OTHER_POLICY = "The release that it replaces is of another policy: it must not have been handed on."
CURE = (
    "Have releases judged together (ledger: {file, record, recipient}, docs/ledger.md), or let no recipient have both. "
    "The counts are for the operator alone."
)
NOT_COUNTED = (
    "The release could not be compared with the one that it replaces: what anyone who has both learns is not known. "
    "Let no recipient have both."
)
REFUSED = "The release repeats the one that it would replace, of the same policy; nothing was replaced."
ANSWERS = (
    "have releases judged together (ledger: {file, record, recipient}); or keep the levels (like: MANIFEST), which "
    "warns of the same; or say repeats: accept where nobody has both releases, or their persons are others."
)


@dataclass(frozen=True, slots=True)
class ReplacedRelease:
    """What is known of an earlier release beside its rows; None where it has no manifest.

    Attributes:
        levels: the columns whose levels differ, before and now.
        same_policy: whether it publishes the same columns by the same hierarchies and models.
        same_account: whether its policy is the same in every key, and its account of records.
        k: the largest k of its models.
    """

    levels: Mapping[str, tuple[str, str]] | None = None
    same_policy: bool | None = None
    same_account: bool | None = None
    k: int = 1

    @classmethod
    def beside(cls, release: Path, manifest: Mapping[str, Any] | None) -> ReplacedRelease:
        """Return what the manifest beside a release says, compared with that of the new one."""
        try:
            document, own = paper_beside(release) or {}, manifest or {}
            same = [document[key] == own.get(key) for key in ("policy_fingerprint", "ledger")]
            # a manifest does not hold all of a transformation: of two releases by rules, the fingerprints alone tell
            asked, then = PolicyQuestion.read(own), PolicyQuestion.read(document)
            same_policy = same[0] or ("rules" not in {*document, *own} and asked.is_that_of(then))
            before, now = (_levels(found["columns"]) for found in (document, own))
            k = max([1, *(model["k"] for model in then.models if isinstance(model.get("k"), int))])
        except (ValueError, KeyError, TypeError, AttributeError):
            return cls()
        changed = {name: (before[name], level) for name, level in now.items() if before.get(name, level) != level}
        return cls(changed, same_policy, all(same), k)

    @property
    def may_equal(self) -> bool:
        """Whether nothing that is known of it differs."""
        return not self.levels and False not in (self.same_policy, self.same_account)


@dataclass(frozen=True, slots=True)
class Replacing:
    """A publication that may replace an earlier release of the same target.

    Attributes:
        k: the least size of a class that the models allow; two releases are compared with the larger of theirs.
        sensitive: whether models watch the values of columns.
        varies: the columns whose values differ from release to release by themselves, as pseudonyms do.
        persons: whether the policy counts persons, whom a release does not show.
        refuses: whether a release that repeats the earlier one is refused.
        if_changed: whether a release that is equal to the earlier one is not written.
        alone: whether no ledger judges both.
        warnings: receives what the operator must know of the release that goes.
    """

    k: int
    sensitive: bool = False
    varies: Collection[str | None] = ()
    persons: bool = False
    refuses: bool = False
    if_changed: bool = False
    alone: bool = True
    warnings: list[str] = field(default_factory=list)

    def rows(self, engine: Engine, earlier: Callable[[], exp.Expr], claim: ReleaseClaim) -> exp.Select | None:
        """Return the rows of an earlier release, as texts: the columns that both have, quasi-identifiers first.

        None where it cannot be read, or has no quasi-identifier of the new one. (Where the release will be a relation,
        this is asked before the transaction, which some databases end at the first error.)
        """
        quasi = claim.quasi_identifiers
        if (self.k < 2 or not quasi) and not self.if_changed:
            return None
        try:
            relation = earlier()
            there = {name for name, _ in engine.catalog.columns(relation)}
            cells = {name: own for name in [*quasi, *claim.columns] for own in names.matching(name, there)}
            if not cells or (quasi and not {*quasi} & {*cells}):
                return None
            records = records_of(relation, claim) if {*claim.columns} <= there else relation
            found = exp.select(*(_as_text(own, name) for name, own in cells.items())).from_(records.copy())
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
        earlier: ReplacedRelease = ReplacedRelease(),
    ) -> None:
        """Compare a release as it was written with the rows of the one that it will replace (``rows``).

        Raises:
            RepeatError: it repeats the earlier one, and that is refused.
            NothingNewError: it is the earlier one (``if_changed``).
        """
        k = max(self.k, earlier.k)
        if before is None:
            if earlier.same_policy is False and self.alone and k >= 2:
                self.warnings.append(f"{OTHER_POLICY} {CURE}")
            return
        cells = before.named_selects
        quasi = [name for name in claim.quasi_identifiers if name in cells]
        if others := len(quasi) < len(claim.quasi_identifiers):
            earlier = replace(earlier, same_policy=False)
        now = exp.select(*map(_as_text, cells, cells)).from_(records_of(written, claim).copy())
        count = partial(count_differences, engine, before, now, quasi, k=max(k, 2))
        try:
            same = self.if_changed and earlier.may_equal and {*cells} == {*claim.columns}
            unchanged = same and not count(cells[len(quasi) :]).rows
            found = count(shown := [name for name in cells[len(quasi) :] if name not in self.varies])
            of_classes = count([]) if shown else found
        except SqlanonError:
            self.warnings.append(NOT_COUNTED)
            return
        if unchanged:
            raise NothingNewError("The release at the target is the same as the new one; nothing was written.", hint="")
        if self.alone and k >= 2 and quasi:
            repeats = of_classes.repeats(claim.published, alike=not earlier.levels)
            common = bool(earlier.levels) or ((found.rows > 0 or others) and of_classes.common(claim.published) > 0)
            replace(self, k=k)._judge(found, earlier, repeats=repeats, common=common)

    def _judge(self, found: Differences, earlier: ReplacedRelease, *, repeats: bool, common: bool) -> None:
        """Refuse a release that repeats the one that it replaces, or warn of what both show.

        Args:
            repeats: both are of nearly the same records; ``common``: they differ, and may have records in common.
        """
        warnings = []
        if found.close_classes:
            warnings.append(CLOSE.format(found.close_classes, self.k, found.close_rows))
        if self.persons and found.rows:
            warnings.append(OF_PERSONS)
        if earlier.levels:
            listed = ", ".join(f"{name} {before}, now {now}" for name, (before, now) in earlier.levels.items())
            warnings.append(LEVELS.format(listed, self.k))
        elif found.came and found.went and not found.classes_in_both:
            warnings.append(APART.format(self.k))
        if not warnings and self.sensitive and found.rows and repeats:
            warnings.append(VALUES)
        if warnings and repeats and self.refuses and earlier.same_policy is not False:
            differing = {"classes": found.close_classes, "records": found.close_rows}
            raise RepeatError(" ".join([REFUSED, *warnings]), hint=ANSWERS, differing=differing)
        if earlier.same_policy is False and common:
            warnings.append(OTHER_POLICY)
        if warnings:
            self.warnings.append(" ".join([*warnings, CURE]))


def _as_text(own: str, name: str) -> exp.Expr:
    return named(exp.cast(column(own), "VARCHAR"), name)


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

    def common(self, later: int) -> int:
        """Return the rows that both states have, of a later one with so many."""
        return later - self.came

    def repeats(self, later: int, *, alike: bool = True) -> bool:
        """Return whether the states are of nearly the same records: at least half of the smaller one is in the other.

        Where other levels are published (``alike`` is false) no row is in both: then their numbers of rows decide.
        """
        earlier = later - self.came + self.went
        return 2 * (self.common(later) if alike else min(earlier, later)) >= (min if alike else max)(earlier, later) > 0

    @property
    def alone(self) -> int:
        """The rows that stand alone in what came to, or went from, their class: singled out by the difference."""
        return self.came_alone + self.went_alone


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
