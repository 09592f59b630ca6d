"""What a recipient of a release may read of a run: what the release, its manifest and the policy's words show already.

That is the rule, and its reason: whoever holds the release can count in it, and whatever else is reported could be
subtracted from what was counted. So two sources that give the same release and the same manifest give the same
report (``tests/publish/test_recipient.py``). Of the source there is no risk, no distribution and no figure of loss but
the manifest's; of the search no time; of the policy no path, no fingerprint and no column that was left out. Counts
below k read ``<k``, as in the manifest (``publish.ledger``), and no share, bar or picture is made of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlanon.core.audit.judged_columns import JudgedColumn
from sqlanon.core.facts import Facts, pick
from sqlanon.core.publish.ledger import Ledger, in_steps, is_small
from sqlanon.report.story import DROPPED
from sqlanon.report.summary import AttributeSummary, RunSummary

if TYPE_CHECKING:
    from sqlanon.assess.risk.facts import CitedThreshold, Figure

OF_A_RELEASE = ("prosecutor_", "records_at_risk_", "sample_", "distinction", "separation")
"""Figures of risk that a reader of a release can compute from it, by how their keys begin."""
ADDS_UP = ("loss", "precision")
"""Measures whose part by column follows from the release, its hierarchies and the number of suppressed records."""
SOME, NONE = "some", "none"
"""What is reported of records where persons are counted: few persons may have many records."""


@dataclass(frozen=True, slots=True)
class PublishedColumn(Facts):
    """A quasi-identifier as it is published.

    Attributes:
        levels: at which it is published, of ``height`` levels.
        loss: its part of the loss; None where the manifest withholds the loss, or no part may be shown.
        at_root: the records whose values no hierarchy lists, as the manifest has them; None: there are none.
    """

    KEYS = "column=name levels height published_as=description loss at_root?"
    name: str
    levels: tuple[int, ...]
    height: int
    description: str
    loss: float | None = None
    at_root: int | str | None = None


@dataclass(frozen=True, slots=True)
class PublishedRule(Facts):
    """What a rule publishes; the manifest holds the same."""

    KEYS = "rule=description records classes"
    description: str
    records: int
    classes: int


@dataclass(frozen=True, slots=True)
class PublishedSizes:
    """The published records in classes of ``least`` to ``most`` records; at least k of them, or none."""

    least: int
    most: int
    records: int


@dataclass(frozen=True, slots=True)
class KeptColumn(Facts):
    """A column that is published as it is.

    Attributes:
        alone, few: published records that nobody shares the quasi-identifiers and this column with, and those in such
            groups of fewer than k: a count, ``<k``, ``<=`` a count, or a word; None where they are not counted.
    """

    KEYS = "column=name role alone in_groups_below_k=few"
    name: str
    role: str
    alone: int | str | None = None
    few: int | str | None = None


@dataclass(frozen=True, slots=True)
class RecipientSummary(Facts):
    """The facts of a run for those who get its release.

    Attributes:
        name: of what was written; None if nothing was.
        day: of the run, ISO 8601.
        k: the least size of a class by the models; counts below it read ``<k``.
        ledger: as in the manifest; None after a failed run.
        certificate: as in the manifest.
        hides: a count of the ledger is coarsened.
        nulls: quasi-identifier -> published records with NULL, where there are any.
        risk, thresholds: of the published records, where records are counted.
    """

    KEYS = (
        "release=name day versions k asked promised not_promised nulls_mean=null_words models counts_entities ledger "
        "certificate quasi_identifiers=columns rules class_sizes=sizes published_as_they_are=beside "
        "records_with_null=nulls risk thresholds"
    )
    name: str | None
    day: str
    versions: tuple[tuple[str, str], ...]
    k: int
    asked: tuple[tuple[str, str], ...]
    promised: tuple[str, ...]
    not_promised: tuple[str, ...]
    null_words: tuple[str, ...]
    models: tuple[str, ...]
    counts_entities: bool
    ledger: Mapping[str, Any] | None
    hides: bool
    certificate: Mapping[str, Any] | None
    columns: tuple[PublishedColumn, ...]
    rules: tuple[PublishedRule, ...]
    rule_kind: str
    sizes: tuple[PublishedSizes, ...]
    beside: tuple[KeptColumn, ...]
    nulls: Mapping[str, int | str]
    risk: tuple[Figure, ...] = ()
    thresholds: tuple[CitedThreshold, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        risk = [pick(figure, "key kind value sentence") for figure in self.risk]
        return pick(self, self.KEYS) | {"versions": dict(self.versions), "asked": dict(self.asked), "risk": risk}


def for_recipient(run: RunSummary) -> RecipientSummary:
    """Return of a run what a recipient of its release may read."""
    ledger, k = run.ledger, run.least
    hides = ledger is not None and ledger.hides(k)
    return RecipientSummary(
        name=run.output[0][1] if run.output else None,
        day=run.when[:10],
        versions=run.versions,
        k=k,
        asked=tuple((name, words) for name, words in run.asked if name != DROPPED),
        promised=run.promised,
        not_promised=run.not_promised,
        null_words=run.null_words,
        models=tuple(model.label for model in run.models),
        counts_entities=run.counts_entities,
        ledger=None if ledger is None else ledger.coarsened(k),
        hides=hides,
        certificate=_certificate(run, hides=hides),
        columns=tuple(_column(a, run, hides=hides) for a in run.attributes if ledger is not None),
        rules=_rules(run),
        rule_kind=run.recoding.kind if run.recoding is not None else "",
        sizes=tuple(PublishedSizes(max(b.least, k), b.most, b.records) for b in run.sizes if b.records and b.most >= k),
        beside=tuple(_kept(judged, counts, run) for judged, counts in run.beside),
        nulls=_nulls(run),
        risk=_risk(run),
        thresholds=() if run.risk is None or run.counts_entities else run.risk.after.thresholds,
    )


def _risk(run: RunSummary) -> tuple[Figure, ...]:
    """Return the figures that a reader can compute from the release: none of the source, and none of all records.

    With an entity the release does not show whose the records are, so that there are none.
    """
    if run.risk is None or run.counts_entities:
        return ()
    figures = [figure for figure in run.risk.after if figure.key.startswith(OF_A_RELEASE) and figure.value is not None]
    return tuple(
        figure for figure in figures if not is_small(round(figure.records or 0), run.least) or not figure.records
    )


def _certificate(run: RunSummary, *, hides: bool) -> Mapping[str, Any] | None:
    """Return the manifest's certificate, with its loss and bound withheld where a count is."""
    if run.certificate is None:
        return None
    if hides:
        return run.certificate.coarsened()
    return run.certificate.for_recipients() if run.public_certificate is None else run.public_certificate


def _column(a: AttributeSummary, run: RunSummary, *, hides: bool) -> PublishedColumn:
    public = run.public_certificate
    shows_loss = not hides and run.measure in ADDS_UP and (public is None or public["loss"] is not None)
    unread = (SOME if run.counts_entities else in_steps(a.at_root, run.least)) if a.at_root else None
    return PublishedColumn(a.name, a.levels, a.height or 1, a.description or "", a.loss if shows_loss else None, unread)


def _rules(run: RunSummary) -> tuple[PublishedRule, ...]:
    """Return the rules without their order, which would reveal why a record has the one that it has."""
    if run.recoding is None:
        return ()
    rules = (PublishedRule(rule.description, rule.records, rule.classes) for rule in run.recoding.rules)
    return tuple(sorted(rules, key=lambda rule: rule.description))


def _kept(judged: JudgedColumn, counts: tuple[int, int] | None, run: RunSummary) -> KeptColumn:
    if counts is None or run.ledger is None:
        return KeptColumn(judged.name, judged.role)
    if run.counts_entities:
        return KeptColumn(judged.name, judged.role, *(SOME if records else NONE for records in counts))
    return KeptColumn(judged.name, judged.role, *coarse_parts(counts, run.ledger, run.least))


def coarse_parts(counts: Sequence[int], ledger: Ledger, k: int) -> tuple[int | str, int | str]:
    """Return the records that are alone, and those in small groups, of which they are a part.

    Neither a small count nor a small difference of two of them, or of one and the published records, is given back.

    >>> ledger = Ledger(100, 100, 0, 0, {"failing_class": 0, "uncovered": 0, "null": 0}, 9, 5, 30)
    >>> coarse_parts((7, 9), ledger, 5), coarse_parts((3, 20), ledger, 5), coarse_parts((20, 98), ledger, 5)
    (('<=9', 9), ('<5', 20), ('<=100', '<=100'))
    """
    alone, few = counts
    shown = coarse_part(few, ledger.published, k)
    if is_small(few, k) or isinstance(shown, str):
        return shown, shown
    return coarse_part(alone, few, k), shown


def coarse_part(part: int, whole: int, k: int) -> int | str:
    """Return a part of a whole that readers know: ``<k`` where it is small, ``<=`` the whole where the rest is.

    Each text stands for at least two numbers: where the whole has no room for both, every part but none reads ``<=``.

    >>> [coarse_part(part, 12, 5) for part in (0, 1, 5, 7, 8, 12)]
    [0, '<5', 5, 7, '<=12', '<=12']
    """
    if (not part and not is_small(part, k)) or k <= 1:
        return part
    if whole < 2 * k:
        return f"<={whole}"
    if is_small(part, k):
        return f"<{k}"
    return f"<={whole}" if whole - part < k else part


def _nulls(run: RunSummary) -> dict[str, int | str]:
    """Return the published records with NULL by quasi-identifier; they make up whole classes."""
    audit = run.nulls
    if audit is None or run.counts_entities:
        return {}
    return {name: coarse_part(number, audit.records, run.least) for name, number in audit.nulls.items()}
