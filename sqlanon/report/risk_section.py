"""The section about risk: figures before and after, class sizes side by side, commonly cited thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sqlanon.assess.risk.facts import AT_RISK_OVER, over, units
from sqlanon.core.words import probability
from sqlanon.report.blocks import Block, Cell, ComparedSizes, Field, Listing, Pair, Sentence, Table
from sqlanon.report.wording import count, share

if TYPE_CHECKING:
    from sqlanon.assess.risk.facts import CitedThreshold, Figure, Risk, RiskComparison

TITLES = {
    "prosecutor_highest": "highest risk of {one} (prosecutor)",
    "prosecutor_average": "average risk of {one}",
    "prosecutor_lowest": "lowest risk of {one}",
    "journalist_highest": "highest risk, target perhaps not in the table (journalist)",
    "journalist_average": "average risk, target perhaps not in the table",
    "marketer": "{many} that linking identifies on average (marketer)",
    "sample_uniques": "unique {many} (alone in their class)",
    "sample_pairs": "{many} in a class of two",
    "sample_below_k": "{many} in classes below {k}",
    "entities_below_k": "entities in a class below {k}, each once",
    "population_uniques_zayatz": "unique in the population (estimate, Zayatz)",
    "population_uniques_pitman": "unique in the population (estimate, Pitman)",
    "individual_highest": "highest individual risk, by weights",
    "individual_average": "average individual risk, by weights",
    "expected_reidentifications": "expected re-identifications, by weights",
    "distinction": "distinct combinations per {unit} (distinction)",
    "separation": "pairs of {many} that differ (separation)",
}
"""The names of figures, by their keys, with what is counted; ``title`` names all."""
IN_WORDS = ("prosecutor_highest", "prosecutor_average", "sample_uniques")
"""The figures whose sentences are printed."""
LEFT_OUT = ("prosecutor_lowest", "sample_pairs")
"""Figures that are in the document alone: they say little beside the others."""
PAIRS = "\N{WHITE CIRCLE} before, \N{BLACK CIRCLE} after; a line goes from 0 to 100 %."
BEFORE_AFTER = (
    "Before: the records of the source as they are{}. After: the published records. An attacker is taken to know all "
    "quasi-identifiers of a target; one who does not know that the target is in the table succeeds no more often."
)
WITHOUT_SOME = ", without those with a NULL in a quasi-identifier"
ENTITIES = (
    "Entities (persons) are counted. Where a figure sums over classes, one with records in several classes counts once "
    "in each of them."
)
AFTER = "The published records alone. An attacker is taken to know all quasi-identifiers of a target."
NO_COMPLIANCE = (
    "Each threshold was set for one kind of data, readers and measurement. A figure within it is no proof of "
    "compliance."
)
DASH = "–"


def title(figure: Figure, k: int, unit: str = "record") -> str:
    """Return the name of a figure, which says whether it counts records or entities (``unit``)."""
    if figure.key.startswith(AT_RISK_OVER):
        return f"{units(unit)['many']} at risk over {over(figure.key, k)}"
    return TITLES.get(figure.key, figure.key.replace("_", " ")).format(**units(unit), k=k)


def compared(risk: RiskComparison, *, cite: bool = True) -> Iterable[Block]:
    """Yield the section of the operator's report, without the commonly cited thresholds unless ``cite``."""
    before, after = risk.before, risk.after
    if before.left_out:
        yield Sentence(f"Before: {before.left_out}", soft=False)
    for side, words in ((before, "Before"), (after, "After")):
        sentences = tuple(figure.sentence for key in IN_WORDS if (figure := side.get(key)) is not None)
        if sentences:
            yield Listing(sentences, words)
    rows: list[tuple[Cell, ...]] = []
    for first, second in risk.pairs():
        figure = first or second
        if figure is None or figure.key in LEFT_OUT or figure.bound:
            continue
        values = (_drawn(first), _drawn(second))
        rows.append((title(figure, before.k, before.unit), _value(first), _value(second), Pair(*values, 1.0)))
    fields = (
        Field("Figure", width=48, style="figure", plain=""),
        Field("Before", "number"),
        Field("After", "number"),
        Field("", "pair", style="pair"),
    )
    yield Table(fields, tuple(rows), style="stack", legend=PAIRS)
    yield Sentence(BEFORE_AFTER.format(WITHOUT_SOME if before.left_out else ""))
    if before.unit != "record":
        yield Sentence(ENTITIES)
    unit = "records" if before.unit == "record" else "entities"
    if before.sizes and after.sizes:
        caption = f"{_classes(before)} before, {_classes(after)} after."
        yield ComparedSizes(before.sizes, after.sizes, before.k, caption, unit)
    if cite:
        yield from cited(after.thresholds, before.thresholds)
    yield from (Sentence(note) for note in dict.fromkeys((*before.other_notes, *after.other_notes)))


def of_release(
    figures: Sequence[Figure],
    thresholds: Sequence[CitedThreshold],
    k: int,
    *,
    where: str = "In the release",
    unit: str = "record",
) -> Iterable[Block]:
    """Yield the section of the recipient's report: of the release alone, or of another relation."""
    if figures:
        sentences = tuple(figure.sentence for figure in figures if figure.key in IN_WORDS)
        shown = [figure for figure in figures if figure.key not in LEFT_OUT]
        yield Listing(sentences)
        fields = (Field("Figure", width=60, style="figure", plain=""), Field(where, "number"))
        yield Table(fields, tuple((title(figure, k, unit), _value(figure)) for figure in shown))
        if unit != "record":
            yield Sentence(ENTITIES)
        if where == "In the release":
            yield Sentence(AFTER)
    yield from cited(thresholds)


def cited(after: Sequence[CitedThreshold], before: Sequence[CitedThreshold] = ()) -> Iterable[Block]:
    """Yield the commonly cited thresholds, each with its source."""
    if not after:
        return
    earlier = {threshold.key: threshold for threshold in before}
    fields = [Field("Commonly cited threshold", width=40, style="threshold")]
    fields += [Field("Before", width=9)] if before else []
    fields += [Field("After" if before else "The release", width=10), Field("Source")]
    rows: list[tuple[Cell, ...]] = []
    for threshold in after:
        judged = (earlier.get(threshold.key), threshold) if before else (threshold,)
        rows.append((threshold.name, *map(_met, judged), threshold.source))
    yield Table(tuple(fields), tuple(rows), style="thresholds")
    yield Sentence(NO_COMPLIANCE)


def _met(threshold: CitedThreshold | None) -> str:
    if threshold is None or threshold.met is None:
        return "not judged"
    return "within" if threshold.met else "beyond"


def _value(figure: Figure | None) -> str:
    if figure is None or figure.value is None:
        return DASH
    if figure.kind == "count":
        return count(round(figure.value))
    return probability(figure.value) if figure.kind == "probability" else share(figure.value)


def _drawn(figure: Figure | None) -> float | None:
    return None if figure is None or figure.kind == "count" else figure.value


def _classes(risk: Risk) -> str:
    return f"{count(risk.classes)} class{'' if risk.classes == 1 else 'es'}"
