"""Hierarchies and their levels in words. They hold no value of the data and no label."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlanon.core.hierarchies import specs
from sqlanon.core.hierarchies.code_builders import PREFIXES
from sqlanon.core.words import trimmed

NAMED = specs.Ages | specs.Prefix | specs.FrequentValues | specs.Codes | specs.Zip3
EVERYTHING = "fully suppressed (*)"
TITLES = {
    "atc": "ATC codes", "countries": "countries", "geohash": "geohashes", "icd10": "ICD-10 codes", "nuts": "NUTS codes"
}  # fmt: skip
UNGENERALIZED = "ungeneralized"


def describe_level(spec: specs.HierarchySpec | None, level: int, height: int | None) -> str:
    """Return what a level publishes, from the hierarchy's specification: never a value, never a label.

    Args:
        height: the number of levels, level 0 included; None when the hierarchy did not meet the source.

    >>> describe_level(specs.Redact(), 3, 6)
    'last 3 characters masked'
    """
    if level == 0:
        return UNGENERALIZED
    if isinstance(spec, specs.Suppress):
        return EVERYTHING
    if isinstance(spec, specs.Intervals):
        return _interval(spec, level)
    if isinstance(spec, specs.Redact):
        return _mask(spec, level, height)
    if isinstance(spec, specs.Dates):
        return _period(spec, level, height)
    if isinstance(spec, specs.Ages | specs.Prefix | specs.FrequentValues | specs.Codes | specs.Zip3):
        return describe_code_level(spec, level)
    if isinstance(spec, specs.Groups) and level == len(spec.rows[0]) - 1:
        return EVERYTHING
    place = f"level {level}" if height is None else f"level {level} of {height - 1}"
    return f"{place} of the {describe_hierarchy(spec)}"


def describe_levels(spec: specs.HierarchySpec | None, levels: Sequence[int], height: int | None) -> str:
    """Return what several levels publish, those without a description of their own together.

    >>> describe_levels(specs.Dates(("month", "year")), [1, 2, 3], 4)
    'month, year or fully suppressed (*)'
    >>> describe_levels(specs.TableHierarchy("codes"), [0, 1, 3], 4)
    'ungeneralized or level 1 or 3 of 3 of the table codes'
    """
    described = [describe_level(spec, level, height) for level in levels]
    by_number = [level for level, words in zip(levels, described, strict=True) if words.startswith(f"level {level} ")]
    if len(by_number) > 1:
        first = f"level {by_number[0]} "
        together = f"level {_either(list(map(str, by_number)))} "
        described = [together + words.removeprefix(first) if words.startswith(first) else words for words in described]
        described = [words for words in described if words.startswith(together) or not words.startswith("level ")]
    return _either(described)


def _either(words: Sequence[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _interval(spec: specs.Intervals, level: int) -> str:
    if level > len(spec.fanouts if spec.edges is None else spec.edges[1:]) + 1:
        return EVERYTHING
    if spec.edges is not None:
        return f"{len(spec.edges[level - 1]) + 1} intervals"
    return f"intervals of width {_width(spec, level - 1)}"


def _width(spec: specs.Intervals, depth: int) -> str:
    return trimmed(f"{spec.width * math.prod(spec.fanouts[:depth]):,f}")


def _mask(spec: specs.Redact, level: int, height: int | None) -> str:
    highest = None if height is None else height - 1
    if spec.steps is not None and level > spec.steps:
        return EVERYTHING
    if level == highest:  # with fewer steps than characters the last level would have been the root
        return "all characters masked"
    side = "last" if spec.direction == "right" else "first"
    return f"{side} character masked" if level == 1 else f"{side} {level} characters masked"


def _period(spec: specs.Dates, level: int, height: int | None) -> str:
    """Return the period of a level. A column of dates has no level for the day, because that is its level 0."""
    if "day" in spec.levels and height is None:
        return f"level {level} of the calendar periods {', '.join(spec.levels)}"
    without_day = height is not None and height - 2 < len(spec.levels)
    periods = [name for name in spec.levels if name != "day" or not without_day]
    return periods[level - 1] if level <= len(periods) else EVERYTHING


def describe_hierarchy(spec: specs.HierarchySpec | None) -> str:
    """Return the kind of a hierarchy in a few words."""
    if isinstance(spec, specs.FileHierarchy):
        return f"file {spec.path.name}"
    if isinstance(spec, specs.TableHierarchy):
        return f"table {spec.table}"
    if isinstance(spec, specs.Levels):
        return "levels in the policy"
    if isinstance(spec, specs.Groups):
        return "groups in the policy"
    if isinstance(spec, specs.Intervals) and spec.edges is not None:
        return "intervals between stated edges"
    if isinstance(spec, specs.Intervals):
        return f"intervals of width {', '.join(_width(spec, depth) for depth in range(len(spec.fanouts) + 1))}"
    if isinstance(spec, specs.Redact):
        return f"characters masked from the {spec.direction}"
    if isinstance(spec, specs.Dates):
        return f"calendar periods: {', '.join(spec.levels)}"
    if isinstance(spec, specs.Suppress):
        return "one level above the values"
    if isinstance(spec, specs.Ages | specs.Prefix | specs.FrequentValues | specs.Codes | specs.Zip3):
        return describe_codes(spec)
    return f"hierarchy {spec.kind}" if isinstance(spec, specs.ExtensionHierarchy) else "hierarchy"


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
        return "frequent values"  # without their threshold: counts of released values would show what was suppressed
    if isinstance(spec, specs.Zip3):
        return "three-digit ZIP areas"
    if isinstance(spec, specs.Codes):
        return TITLES[spec.system]
    return f"first {', '.join(map(str, spec.lengths))} characters"
