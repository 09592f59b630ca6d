"""The facts of a risk assessment: figures with their sentences, thresholds that people cite, before and after.

For the operator: counts are exact. There are names of columns and numbers, but no value of the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlanon.assess.risk.column_sets import ColumnSets
from sqlanon.core.cards import WithCard
from sqlanon.core.facts import Facts
from sqlanon.core.sizes.histogram import ClassSizes, SizeHistogram
from sqlanon.core.words import expected, probability, share

GROUPS = {
    "prosecutor": "An attacker who knows that the target is in the table",
    "journalist": "An attacker who does not know whether the target is in the table",
    "marketer": "An attacker who wants as many targets as possible",
    "sample": "{Many} that stand alone, or in small classes",
    "population": "{Many} that stand alone in the population (estimates)",
    "individual": "{Many} that stand for others, by their weights",
    "columns": "What the attributes distinguish",
}
"""The groups of figures in their order, each with its title (``Risk.title``)."""

LABELS = {
    "prosecutor_highest": "highest risk of {one}",
    "prosecutor_average": "average risk",
    "prosecutor_lowest": "lowest risk",
    "journalist_highest": "highest risk of {one}",
    "journalist_average": "average risk",
    "marketer": "{many} identified on average",
    "sample_uniques": "alone in the table",
    "sample_pairs": "in a class of two",
    "sample_below_k": "in a class of fewer than k",
    "population_uniques_zayatz": "unique in the population (Zayatz)",
    "population_uniques_pitman": "unique in the population (Pitman)",
    "entities_below_k": "in such a class, each once",
    "individual_highest": "highest risk of {one}",
    "individual_average": "average risk",
    "expected_reidentifications": "expected re-identifications",
    "distinction": "distinction",
    "separation": "separation",
}
"""Short names of figures, below the title of their group (``Risk.label``)."""
ALL_RECORDS = "The policy is about a subset; these figures are of all records of the source."
"""A note on the figures of a source as it stands."""
AT_RISK_OVER = "records_at_risk_over_"
"""What the keys of the shares of records at risk begin with; the threshold follows (0.333 is 1/3)."""
AT_RISK = {"0.05": Fraction(1, 20), "0.09": Fraction(9, 100), "0.2": Fraction(1, 5), "0.333": Fraction(1, 3)}
"""The cited thresholds over which records are counted, by the text of their keys."""


def over(key: str, k: int) -> str:
    """Return the threshold of a share at risk as a person reads it: one that its key only rounds, as a fraction.

    >>> [over(AT_RISK_OVER + text, 7) for text in ("0.05", "0.333", "0.143")]
    ['5 %', '1/3', '1/7']
    """
    threshold = AT_RISK.get(key.removeprefix(AT_RISK_OVER), Fraction(1, k))
    return share(float(threshold)) if 1000 % threshold.denominator == 0 else str(threshold)


def units(unit: str) -> dict[str, str]:
    """Return what names of figures say of what is counted (``record`` or ``entity``)."""
    one, many = ("a record", "records") if unit == "record" else ("an entity", "entities")
    return {"one": one, "many": many, "Many": many.capitalize(), "unit": unit}


@dataclass(frozen=True, slots=True)
class Figure(Facts):
    """One figure of risk.

    Attributes:
        key: its name in JSON, as ``prosecutor_highest``.
        group: one of ``GROUPS``.
        kind: what the value is: ``probability`` (of a target), ``share`` (of records, or of the population), ``count``.
        value: over the records that stand in a class; None when the figure has none, and the sentence says why.
        of_all: the same with suppressed records counted as risk 0; equal to ``value`` where none is suppressed.
        records: the records that the figure counts, where it counts some.
        bound: the value is not known, but it is at most this.
        sentence: what the figure means, in plain words.
    """

    KEYS = "key group kind value of_all records bound sentence"
    key: str
    group: str
    kind: str
    value: float | None
    of_all: float | None
    sentence: str
    records: float | None = None
    bound: bool = False

    @property
    def text(self) -> str:
        """The value as a person reads it; a dash where there is none."""
        if self.value is None:
            return "–"
        text = {"probability": probability, "share": share, "count": expected}[self.kind](self.value)
        return f"≤ {'100 %' if text.startswith('>') else text}" if self.bound else text

    @property
    def text_of_all(self) -> str:
        """The value with suppressed records counted as risk 0, as a person reads it."""
        if self.of_all is None:
            return "–"
        return expected(self.of_all) if self.kind == "count" else share(self.of_all)


@dataclass(frozen=True, slots=True)
class CitedThreshold(Facts):
    """A threshold that people cite, with what it is about; that it is met is no proof of compliance.

    Attributes:
        key: its name in JSON, as ``pdpc_5``.
        name: who set it, and to what.
        about: what it is about, in one sentence.
        source: the document.
        met: whether the figure that comes nearest to it stays within it; None when none of these figures decides it.
        sentence: the figure beside the threshold.
    """

    key: str
    name: str
    about: str
    source: str
    met: bool | None
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Risk(WithCard, Facts):
    """The figures of one relation, or of one release.

    Attributes:
        quasi_identifiers: what the attacker knows.
        unit: what classes are made of: ``record``, or ``entity``: then an entity counts once in each of its classes.
        nulls: the match of NULLs, ``extended`` or ``basic``.
        k: the size below which classes are counted as small.
        records: n, the records (or entities) that stand in a class.
        classes, smallest_class, largest_class: of these; None where there is no class.
        suppressed: records that are not published, and so stand in no class.
        excluded: records with a NULL in a quasi-identifier, which take no part (basic match).
        figures: in the order of their groups.
        sizes: the classes by size, a bucket a power of two.
        thresholds: those that people cite.
        notes: what a reader must know to read the figures, in sentences.
        left_out: the note that comes before all figures: which records of the relation they say nothing of; empty where
            they are of all.
        column_sets: which sets of the quasi-identifiers single records out, and the scores of the columns (SUDA); they
            count records, also where the figures count entities. None where they were not looked at.
    """

    KEYS = (
        "quasi_identifiers unit nulls k records entities? suppressed excluded classes smallest_class largest_class "
        "figures class_sizes=sizes thresholds notes column_sets"
    )
    quasi_identifiers: tuple[str, ...]
    unit: str
    nulls: str
    k: int
    records: int
    classes: int
    smallest_class: int | None
    largest_class: int | None
    suppressed: int
    excluded: int
    figures: tuple[Figure, ...]
    sizes: tuple[ClassSizes, ...]
    thresholds: tuple[CitedThreshold, ...]
    notes: tuple[str, ...] = ()
    left_out: str = ""
    column_sets: ColumnSets | None = None
    entities: int | None = None
    histogram: SizeHistogram

    def __getitem__(self, key: str) -> Figure:
        """Return a figure by its key; KeyError when there is none."""
        for figure in self.figures:
            if figure.key == key:
                return figure
        raise KeyError(key)

    def __iter__(self) -> Iterator[Figure]:
        return iter(self.figures)

    def get(self, key: str) -> Figure | None:
        """Return a figure by its key; None when there is none."""
        return next((figure for figure in self.figures if figure.key == key), None)

    def of_group(self, group: str) -> tuple[Figure, ...]:
        """Return the figures of a group."""
        return tuple(figure for figure in self.figures if figure.group == group)

    def title(self, group: str) -> str:
        """Return the title of a group of figures, which says what is counted."""
        return GROUPS[group].format(**units(self.unit))

    def label(self, figure: Figure) -> str:
        """Return the short name of a figure, below the title of its group."""
        if figure.key.startswith(AT_RISK_OVER):
            return f"at risk over {over(figure.key, self.k)}"
        return LABELS[figure.key].format(**units(self.unit))

    @property
    def other_notes(self) -> tuple[str, ...]:
        """The notes that may come after the figures."""
        return tuple(note for note in self.notes if note != self.left_out)


@dataclass(frozen=True, slots=True, repr=False)
class RiskComparison(WithCard, Facts):
    """The same figures of the source's records as they are, and of the release."""

    before: Risk
    after: Risk

    def pairs(self) -> Iterator[tuple[Figure | None, Figure | None]]:
        """Yield the figures before and after, side by side in their order; None where one side has none."""
        order = list(GROUPS)
        keys = dict.fromkeys((figure.group, figure.key) for figure in (*self.before, *self.after))
        for _, key in sorted(keys, key=lambda pair: order.index(pair[0])):
            yield self.before.get(key), self.after.get(key)


def with_notes(risk: Risk, *notes: str) -> Risk:
    """Return the figures with more notes."""
    return replace(risk, notes=(*risk.notes, *notes))
