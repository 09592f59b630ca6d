"""The ledger: every record of the source is published, suppressed or excluded, to the row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

from sqlanon.core.facts import Facts, pick
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.search.base import Verdict
from sqlanon.errors import AuditError

SUPPRESSION_REASONS = ("failing_class", "uncovered")
REASONS = (*SUPPRESSION_REASONS, "null")


@dataclass(frozen=True, slots=True)
class Entities(Facts):
    """Accounting of every entity (a person, say): total = published + suppressed + excluded.

    Attributes:
        published: entities whose records that take part are all published.
        suppressed: entities with a suppressed record, which is what the limit counts.
        excluded: entities none of whose records takes part.
        smallest_class: entities of the published class that has the fewest; None where nothing is published.

    Raises:
        AuditError: the counts do not add up.
    """

    KEYS = "total published suppressed excluded smallest_class"  # by name: of them a recipient sees coarse counts
    total: int
    published: int
    suppressed: int
    excluded: int
    smallest_class: int | None = None

    def __post_init__(self) -> None:
        counts = (self.published, self.suppressed, self.excluded)
        if min(counts) < 0 or self.total != sum(counts):
            raise AuditError(
                f"The entities do not add up ({self.total} in all, {self.published} published, {self.suppressed} "
                f"suppressed, {self.excluded} excluded).",
                hint=_DEFECT,
            )


@dataclass(frozen=True, slots=True)
class Ledger(Facts):
    """Accounting of every record.

    Attributes:
        records: all records of the source: published + suppressed + excluded.
        excluded: records with a NULL in a quasi-identifier, under the basic match.
        reasons: ``failing_class`` (some privacy model fails the class) + ``uncovered`` = suppressed; ``null`` =
            excluded.
        classes, smallest_class, largest_class: of the published records; None where there are none.
        entities: the same account by entity; None without an entity.

    Raises:
        AuditError: the counts do not add up.
    """

    KEYS = "records published suppressed excluded reasons classes smallest_class largest_class entities?"
    records: int
    published: int
    suppressed: int
    excluded: int
    reasons: Mapping[str, int] = field(hash=False)
    classes: int
    smallest_class: int | None
    largest_class: int | None
    entities: Entities | None = None

    @classmethod
    def of(
        cls,
        catalog: Catalog,
        suppressed: int,
        *,
        classes: int,
        smallest: int | None,
        largest: int | None,
        entities: Entities | None = None,
    ) -> Self:
        """Return the ledger of an encoded source of which so many records are suppressed, those uncovered included."""
        return cls(
            records=catalog.records,
            published=catalog.population - suppressed,
            suppressed=suppressed,
            excluded=catalog.excluded,
            reasons={
                "failing_class": suppressed - catalog.uncovered,
                "uncovered": catalog.uncovered,
                "null": catalog.excluded,
            },
            classes=classes,
            smallest_class=smallest,
            largest_class=largest,
            entities=entities,
        )

    def __post_init__(self) -> None:
        object.__setattr__(self, "reasons", MappingProxyType(dict(self.reasons)))
        if set(self.reasons) != set(REASONS):
            raise AuditError(f"The ledger must give the reasons {', '.join(REASONS)}.", hint=_DEFECT)
        if min(self.published, self.suppressed, self.excluded, *self.reasons.values()) < 0:
            raise AuditError(f"The ledger holds a negative count ({self._sum()}).", hint=_DEFECT)
        if self.records != self.published + self.suppressed + self.excluded:
            raise AuditError(f"The ledger does not add up ({self._sum()}).", hint=_DEFECT)
        if self.suppressed != sum(self.reasons[reason] for reason in SUPPRESSION_REASONS):
            raise AuditError(f"The reasons do not add up to {self.suppressed} suppressed records.", hint=_DEFECT)
        if self.excluded != self.reasons["null"]:
            raise AuditError(f"The reasons do not add up to {self.excluded} excluded records.", hint=_DEFECT)

    def _sum(self) -> str:
        return (
            f"{self.records} records, {self.published} published, {self.suppressed} suppressed, "
            f"{self.excluded} excluded"
        )

    def coarsened(self, k: int) -> dict[str, Any]:
        """Return the counts for files that travel: small ones read ``<k``, and subtraction does not give them back.

        A reader can count the published rows P in the release, and the suppressed ones S too where suppressed
        records are redacted. The rules, and why they hold:

        1. A count c is small when 0 < c < k, and then reads ``<k``. Zero is shown, unless k = 2: there ``<2``
           must cover 0 and 1, or it would mean exactly 1. So ``<k`` has at least two readings.
        2. ``records`` is exact when S and E (excluded) are; otherwise it is the range of the sums that the
           other texts allow. It is computed from those texts alone, so it reveals nothing that they do not.
        3. The split of S into ``failing_class`` and ``uncovered`` is shown when neither part is small.
           Otherwise both parts read alike, ``<k`` when S is small and ``<=S`` when it is not, whichever part
           is the small one: a reader who knows S still has at least two splits that read the same,
           because with (a, S - a) also (S - a, a) reads so, and with a = S - a also (a - 1, a + 1) does.
        4. S itself hides from a reader of a release that drops its suppressed records. In a redacted release
           S is there to count; who redacts chooses to show it.

        E is independent of S and its only reason is ``null``. Class sizes are at least k and countable in the
        release. Brute-forced in ``tests/test_accounting.py``.

        Where entities are counted, a count is small when it is of fewer than k entities, however many records they
        have: see ``_of_entities``.

        >>> reasons = {"failing_class": 3, "uncovered": 0, "null": 0}
        >>> Ledger(103, 100, 3, 0, reasons, 9, 5, 30).coarsened(5)["records"]
        '101-104'
        """
        if self.entities is not None:
            return self._of_entities(self.entities, k)
        split = [self.reasons[reason] for reason in SUPPRESSION_REASONS]
        if any(is_small(part, k) for part in split):
            hidden = f"<{k}" if is_small(self.suppressed, k) else f"<={self.suppressed}"
            shown: list[int | str] = [hidden for _ in split]
        else:
            shown = list(split)
        totals = [(count, *_bounds(count, k)) for count in (self.published, self.suppressed, self.excluded)]
        low, high = sum(total[1] for total in totals), sum(total[2] for total in totals)
        return {
            "records": self.records if low == high else f"{low}-{high}",
            "published": coarse(self.published, k),
            "suppressed": coarse(self.suppressed, k),
            "excluded": coarse(self.excluded, k),
            "reasons": {
                **dict(zip(SUPPRESSION_REASONS, shown, strict=True)),
                "null": coarse(self.excluded, k),
            },
            **pick(self, "classes smallest_class largest_class"),
        }

    def _of_entities(self, entities: Entities, k: int) -> dict[str, Any]:
        """Return the counts of records; those of fewer than k entities are hidden, and every sum that they are part of.

        No count of entities is shown but ``<k entities``. There is one reason to be suppressed (``uncovered: suppress``
        is not supported), so the reasons reveal no more than the counts.
        """
        suppressed, excluded = (
            f"<{k} entities" if is_small(whose, k) else records
            for records, whose in ((self.suppressed, entities.suppressed), (self.excluded, entities.excluded))
        )
        return {
            "records": None if self.hides(k) else self.records,
            "published": self.published,
            "suppressed": suppressed,
            "excluded": excluded,
            "reasons": {"failing_class": suppressed, "uncovered": 0, "null": excluded},
            **pick(self, "classes smallest_class largest_class"),
        }

    @property
    def moved(self) -> Mapping[str, int]:
        """Records that came, went and wait since an earlier release, for the operator alone; empty without one."""
        return {}

    def hides(self, k: int) -> bool:
        """Return whether ``coarsened(k)`` hides a count."""
        if self.entities is not None:
            return any(is_small(count, k) for count in (self.entities.suppressed, self.entities.excluded))
        return any(is_small(c, k) for c in (self.published, self.suppressed, self.excluded, *self.reasons.values()))


_DEFECT = "this is a defect of sqlanon or the source changed; run again, and report it if it stays."


def in_steps(count: int, k: int) -> int | str:
    """Return a count, rounded down to a multiple of k, for files that travel: one below k reads ``<k``.

    Neither the count nor what is left of a known total can so be told from k - 1 others.

    >>> in_steps(3, 5), in_steps(14, 5), in_steps(3, 1)
    ('<5', 10, 3)
    """
    return f"<{k}" if count < k else count - count % k


def is_small(count: int, k: int) -> bool:
    """Return whether a count must not travel: it is of fewer than k, and not zero (which k = 2 has to cover, too)."""
    return (1 if k > 2 else 0) <= count < k if k > 1 else False


def add_coarse(first: int | str, second: int | str) -> int | str:
    """Return the sum of two counts as they travel: a range where one of them is one.

    >>> add_coarse(7, 3), add_coarse("<5", 10), add_coarse("11-14", "<=9")
    (10, '11-14', '11-23')
    """
    (low, high), (least, most) = bounds_of(first), bounds_of(second)
    return low + least if (low, least) == (high, most) else f"{low + least}-{high + most}"


def bounds_of(shown: int | str) -> tuple[int, int]:
    """Return the smallest and the largest count that a count as it travels can mean."""
    if isinstance(shown, int):
        return shown, shown
    if shown.startswith("<="):
        return 0, int(shown[2:])
    if shown.startswith("<"):
        return (1 if int(shown[1:]) > 2 else 0), int(shown[1:]) - 1
    low, _, high = shown.partition("-")
    return int(low), int(high)


def _bounds(count: int, k: int) -> tuple[int, int]:
    """Return the smallest and the largest count that reads like ``count``."""
    return (1 if k > 2 else 0, k - 1) if is_small(count, k) else (count, count)


def coarse(count: int, k: int) -> int | str:
    """Return a count for what travels: ``<k`` if it is small."""
    return f"<{k}" if is_small(count, k) else count


def ledger_of(catalog: Catalog, verdict: Verdict) -> Ledger:
    """Return the account of every record, and of every entity where a policy names them, at a judged node."""
    entities = None
    if catalog.entities is not None and verdict.suppressed_entities is not None:
        entities = Entities(
            total=catalog.entities + catalog.excluded_entities,
            published=catalog.entities - verdict.suppressed_entities,
            suppressed=verdict.suppressed_entities,
            excluded=catalog.excluded_entities,
            smallest_class=verdict.smallest_entities,
        )
    return Ledger.of(
        catalog,
        verdict.suppressed,
        classes=verdict.classes,
        smallest=verdict.smallest,
        largest=verdict.largest,
        entities=entities,
    )
