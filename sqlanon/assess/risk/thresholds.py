"""Thresholds that people cite, with their sources, beside the figures that come nearest to them.

Each was set for one kind of data, recipient and measurement. That a figure stays within a number proves no compliance.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.assess.risk.facts import CitedThreshold
from sqlanon.core.sizes.histogram import SizeHistogram
from sqlanon.core.words import counted, probability

POPULATION = (
    "It is about the people who live in an area, of whom these figures know nothing: compare the areas of the release "
    "with a census."
)


@dataclass(frozen=True, slots=True)
class _Cited:
    """A threshold on the smallest class: ``size`` records at least; None where it is about something else."""

    key: str
    name: str
    about: str
    source: str
    size: int | None
    risk: float | None = None


CITED = (
    _Cited(
        "pdpc_3",
        "PDPC Singapore, within an organisation: k = 3",
        "k-anonymity of data that stays within the organisation, on its indirect identifiers.",
        "Personal Data Protection Commission Singapore, Guide to Basic Anonymisation (2022), step 4",
        3,
    ),
    _Cited(
        "pdpc_5",
        "PDPC Singapore, to others: k = 5",
        "k-anonymity of data that is shared with others, on its indirect identifiers.",
        "Personal Data Protection Commission Singapore, Guide to Basic Anonymisation (2022), step 4",
        5,
    ),
    _Cited(
        "cihi_0.05",
        "CIHI, a public use file: .05",
        "The probability of re-identifying a record of a public use file of hospital discharges (.04 to .05).",
        "El Emam, Paton, Dankar, Koru: De-identifying a public use microdata file from the Canadian national discharge "
        "abstract database, BMC Medical Informatics and Decision Making 11:53 (2011)",
        20,
        0.05,
    ),
    _Cited(
        "ema_0.09",
        "EMA and Health Canada, clinical reports in public: .09",
        "The highest probability of re-identifying a participant in published clinical reports, where the risk is "
        "measured.",
        "European Medicines Agency, External guidance on the implementation of Policy 0070; Health Canada, Public "
        "Release of Clinical Information: guidance document",
        12,
        0.09,
    ),
    _Cited(
        "hipaa_20000",
        "HIPAA Safe Harbor: 20,000 people",
        "The first three digits of a ZIP code may stay where all codes with these digits hold more than 20,000 people.",
        "45 CFR 164.514(b)(2)(i)(B)",
        None,
    ),
    _Cited(
        "opensafely_7",
        "OpenSAFELY: counts of 7 or fewer are suppressed",
        "Counts in tables that researchers publish: those of 7 or fewer are redacted, the others rounded. It is about "
        "aggregates; a class is the count of one cell of a table over all of the attributes.",
        "OpenSAFELY documentation, Releasing files: disclosure controls",
        8,
    ),
)
"""The thresholds in the order of a report. A highest risk of at most .09 needs classes of 12: 1/11 is .0909."""


def thresholds(sizes: SizeHistogram, unit: str, *, partial: bool = False) -> tuple[CitedThreshold, ...]:
    """Compare the classes with the thresholds that people cite.

    Args:
        partial: the relation has records that stand in no class: it may be beyond what its classes are within.
    """
    return tuple(_judged(cited, sizes.smallest, unit, partial) for cited in CITED)


def _judged(cited: _Cited, smallest: int | None, unit: str, partial: bool) -> CitedThreshold:
    met = None
    if cited.size is None:
        sentence = POPULATION
    elif smallest is None:
        sentence = "There is no class."
    else:
        met = smallest >= cited.size
        relation = "within" if met else "beyond"
        if cited.risk is None:
            sentence = f"The smallest class has {counted(smallest, unit)}: {relation} it."
        else:
            sentence = f"The highest risk is {probability(1 / smallest)}: {relation} it."
        if met and partial:
            met, sentence = None, f"{sentence} For the records with a NULL in a quasi-identifier this is not known."
    return CitedThreshold(cited.key, cited.name, cited.about, cited.source, met, sentence)
