"""What the levels of ages, prefixes, codes, ZIP areas and frequent values are called: never a value, never a label.

Nor a threshold of ``frequent``: a value that the release shows 16 times, and of which the source has 20 at least, was
suppressed 4 times or more.
"""

from __future__ import annotations

import math

from sqlanon.core.hierarchies import specs
from sqlanon.core.hierarchies.code_builders import PREFIXES

NAMED = specs.Ages | specs.Prefix | specs.FrequentValues | specs.Codes | specs.Zip3
EVERYTHING = "fully suppressed (*)"
TITLES = {
    "atc": "ATC codes", "countries": "countries", "geohash": "geohashes", "icd10": "ICD-10 codes", "nuts": "NUTS codes"
}  # fmt: skip


def describe_code_level(spec: NAMED, level: int) -> str:
    """Return what a level above 0 publishes.

    >>> describe_code_level(specs.Codes("icd10"), 2), describe_code_level(specs.FrequentValues([50]), 1)
    ('ICD-10 blocks', 'values that many records have, the others as one group')
    """
    words = _levels(spec)
    return words[level - 1] if level <= len(words) else EVERYTHING


def _levels(spec: NAMED) -> list[str]:
    if isinstance(spec, specs.Ages):
        widths = [spec.width * math.prod(spec.fanouts[:depth]) for depth in range(len(spec.fanouts) + 1)]
        return ["ages in years" if width == 1 else f"ages in intervals of {width:f} years" for width in widths]
    if isinstance(spec, specs.FrequentValues):
        words, number = "values that many records have, the others as one group", len(spec.at_least)
        return [words] if number == 1 else [f"{words} (step {step} of {number})" for step in range(1, number + 1)]
    if isinstance(spec, specs.Zip3):
        return ["three-digit ZIP areas, small ones as 000", "first digits of ZIP areas, small ones as 000"]
    if isinstance(spec, specs.Codes) and spec.system not in PREFIXES:
        found = {"icd10": ["ICD-10 categories of three characters", "ICD-10 blocks", "ICD-10 chapters"]}
        return found.get(spec.system, ["sub-regions of UN M49", "regions of UN M49"])
    lengths = PREFIXES[spec.system] if isinstance(spec, specs.Codes) else spec.lengths
    return [f"first {length} characters" if length > 1 else "first character" for length in lengths]


def describe_codes(spec: NAMED) -> str:
    """Return the kind of the hierarchy in a few words.

    >>> describe_codes(specs.Prefix([3, 1]))
    'first 3, 1 characters'
    """
    if isinstance(spec, specs.Ages):
        return f"ages on {spec.at}"
    if isinstance(spec, specs.FrequentValues):
        return "frequent values"
    if isinstance(spec, specs.Zip3):
        return "three-digit ZIP areas"
    if isinstance(spec, specs.Codes):
        return TITLES[spec.system]
    return f"first {', '.join(map(str, spec.lengths))} characters"
