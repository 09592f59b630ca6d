"""The words of a report: for levels, proofs, numbers and names. They hold no value of the data."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

from sqlanon.core.hierarchies import specs
from sqlanon.core.hierarchies.code_builders import PREFIXES
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.words import count as count
from sqlanon.core.words import counted as counted
from sqlanon.core.words import figure as figure
from sqlanon.core.words import probability as probability
from sqlanon.core.words import share as share
from sqlanon.core.words import trimmed

NAMED = specs.Ages | specs.Prefix | specs.FrequentValues | specs.Codes | specs.Zip3
EVERYTHING = "fully suppressed (*)"
TITLES = {
    "atc": "ATC codes", "countries": "countries", "geohash": "geohashes", "icd10": "ICD-10 codes", "nuts": "NUTS codes"
}  # fmt: skip

FOR_THE_OPERATOR = "For the operator: holds exact counts; do not hand it on with the release."
FOR_THE_RECIPIENT = (
    "For the recipient: holds no more than the release and its manifest show; small counts are not exact."
)
NOTICES = {"operator": FOR_THE_OPERATOR, "recipient": FOR_THE_RECIPIENT}
"""For whom a report is, by its audience; each form begins with it."""
UNGENERALIZED = "ungeneralized"
FULLY_SUPPRESSED = "fully suppressed"
LOSS_OF_ATTRIBUTE = {
    "loss": "0: every value as in the source, 1: fully suppressed; a suppressed record counts as 1 in every column.",
    "precision": "0: level 0, 1: the top of the hierarchy; a suppressed record counts as 1 in every column.",
    "non_uniform_entropy": "Bits needed to find the original values from what is published.",
    "weighted_information_loss": "What the level loses by its hierarchy, before the column's weight; "
    "suppressed records do not count.",
    "height": "The level itself; suppressed records do not count.",
}
"""What the number of one quasi-identifier means, by measure."""
REASONS = {
    "failing_class": "suppressed: class fails a privacy model",
    "uncovered": "suppressed: value that no hierarchy lists",
    "null": "excluded: NULL in a quasi-identifier",
}
"""Why records are not published, by the reasons of the ledger."""
ENTITIES = {
    "published": "published with all records",
    "suppressed": "a record of theirs is suppressed",
    "excluded": "excluded with all records",
}
"""What became of the entities, by the counts of the ledger."""
MATCHES = ("extended match", "right maybe match", "maybe match")
"""How an attacker may read a NULL: as a value, as a wildcard in the release, as a wildcard on either side."""
NULLS_MEANING = (
    "What an attacker sees who reads NULL as a value (extended), as a wildcard of the release (right maybe), or as a "
    "wildcard on either side (maybe)."
)
BIAS_REMARK = (
    "Distance: the share of the records left that would have to hold another value for the column to look as it does "
    "among all records, its NULLs apart; by chance: what leaving out as many records at random would give on average, "
    "at most."
)
NOT_PUBLISHED = {
    "patterns": {"failing_class": "suppressed: no pattern publishes it"},
    "local_recoding": {"failing_class": "suppressed: no node publishes it"},
}
"""Reasons that read otherwise where several rules publish records, by kind: what no rule publishes forms no class."""
BESIDE = (
    "Unique values: the share of records whose value no other {unit} has. Unique with it: the share of published "
    "records that share the quasi-identifiers and this column with no other {unit}. Rare with it: the share of those "
    "in such groups of fewer than k {many}."
)
"""What the figures of columns that are published as they are mean, by the unit of groups (``risk.facts.units``)."""
BESIDE_FOR_RECIPIENTS = (
    "Unique with it: published records that share the quasi-identifiers and this column with no other {unit}. Rare "
    "with it: those in such groups of fewer than k {many}. Anyone who knows this column of a person finds these "
    "records by it."
)
"""The same for recipients, of the release alone."""
RULE = {"patterns": "pattern", "local_recoding": "node"}
"""The noun for a rule, by kind."""
RULES = {"patterns": "Patterns", "local_recoding": "Nodes, local recoding"}
"""The title of the section of the rules, by kind."""
RULES_MEANING = {
    "patterns": "Each record is published by one of several patterns: some of its columns as they are, the others "
    "suppressed. The patterns stand in their order, which is for the operator alone.",
    "local_recoding": "Each record is published at one of several nodes (local recoding); columns that a node does not "
    "name stand at level 0. The nodes stand in their order, which is for the operator alone.",
}
"""What the rules are, by kind."""
RULES_FOR_RECIPIENTS = {
    "patterns": "Each record is published by one of several patterns: some of its columns as they are, the others "
    "suppressed. They are listed by name.",
    "local_recoding": "Each record is published at one of several nodes (local recoding); columns that a node does not "
    "name stand at level 0. They are listed by name.",
}
"""The same for recipients, who do not learn the order."""
NO_LOSS = "not shown, because with suppressed records it would reveal more than the release does"
NO_NEARNESS = "How near this is to the optimum is not shown: a number would reveal suppressed records."
NO_PARTS = "Records may differ in their levels, so that there is no loss by attribute."
ROLES = {
    "drop": "left out",
    "keep": "published as it is",
    "sensitive": "published as it is, protected by models",
    "pseudonym": "published as a keyed pseudonym of the person",
    "shift": "published with its dates shifted by one number of days a person",
}
"""What becomes of a column, by its role."""


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


def with_root(description: str, records: str) -> str:
    """Return how a column is published, with the records whose values no hierarchy lists, so that they lose them."""
    more = f"; {EVERYTHING} in {records} records, whose values the hierarchy does not list"
    return f"{description}{more}" if records else description


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
    if level > len(spec.fanouts) + 1:
        return EVERYTHING
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


def describe_proof(certificate: Certificate) -> str:
    """Return in one sentence what is proven about the loss.

    >>> describe_proof(Certificate("loss", "sum", 0.5, 0.4, 0.2, False, "box", 7, 90))
    'Proven to be within 20 % of the optimum: no version that meets the policy loses less than 0.4.'
    """
    if certificate.optimal and certificate.strategy == "patterns_exact":
        return "Proven optimal: no assignment of these patterns suppresses less (the bound is that of HiGHS)."
    if certificate.optimal:
        return "Proven optimal: no version that meets the policy loses less."
    if certificate.gap is None or certificate.lower_bound is None:
        return f"Nothing is proven about how near this is to the optimum (strategy {certificate.strategy})."
    what = "version that meets the policy loses"
    if certificate.strategy == "patterns_exact":
        what = "assignment of these patterns loses"
    return (
        f"Proven to be within {share(certificate.gap)} of the optimum: "
        f"no {what} less than {figure(certificate.lower_bound)}."
    )


def search_extent(kind: str | None, evaluated: int, whole: int) -> tuple[str, str, str]:
    """Return what a search judged, how much of the whole, and which share that is; ``kind`` is that of a recoding.

    >>> search_extent(None, 6, 8)
    ('nodes judged', '6 of 8', '75 %')
    """
    what = "patterns tried" if kind == "patterns" else "nodes judged"
    return what, f"{count(evaluated)} of {count(whole)}", share(evaluated / whole) if whole else ""


def shown(number: int | str | None) -> str:
    """Return a count, or what stands for it, as it reads in a report."""
    if number is None:
        return "not shown"
    return count(number) if isinstance(number, int) else number


def duration(seconds: float) -> str:
    """Return a time: 0.07 s, 12.3 s, 3 min 05 s."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60):02d} s"


def size_range(least: int, most: int) -> str:
    """Return the sizes of a bucket: 4–7."""
    return count(least) if least == most else f"{count(least)}–{count(most)}"


def visible(text: str) -> str:
    r"""Return a name with its invisible characters, and those that change the direction of text, written out.

    >>> visible("a\u202eb\nc")
    'a\\u202eb\\u000ac'
    """
    return "".join(f"\\u{ord(c):04x}" if _hidden(c) else c for c in text)


def _hidden(character: str) -> bool:
    kind = unicodedata.category(character)
    return kind.startswith("C") or kind in ("Zl", "Zp")


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
