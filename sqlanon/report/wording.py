"""The words of a report: for levels, proofs, numbers and names. They hold no value of the data."""

from __future__ import annotations

import unicodedata

from sqlanon.core.hierarchies.wording import EVERYTHING as EVERYTHING
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.words import count as count
from sqlanon.core.words import counted as counted
from sqlanon.core.words import figure as figure
from sqlanon.core.words import probability as probability
from sqlanon.core.words import share as share

FOR_THE_OPERATOR = "For the operator: holds exact counts; do not hand it on with the release."
FOR_THE_RECIPIENT = (
    "For the recipient: holds no more than the release and its manifest show; small counts are not exact."
)
NOTICES = {"operator": FOR_THE_OPERATOR, "recipient": FOR_THE_RECIPIENT}
"""For whom a report is, by its audience; each form begins with it."""
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
    "sensitive": "published, protected by models",
    "pseudonym": "published as a keyed pseudonym of the person",
    "shift": "published with its dates shifted by one number of days a person",
}
"""What becomes of a column, by its role."""


def with_root(description: str, records: str) -> str:
    """Return how a column is published, with the records whose values no hierarchy lists, so that they lose them."""
    more = f"; {EVERYTHING} in {records} records, whose values the hierarchy does not list"
    return f"{description}{more}" if records else description


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
    if certificate.strategy == "local_recoding":
        what = "set of nodes, in whatever order, loses"
    return (
        f"Proven to be within {share(certificate.gap)} of the optimum: "
        f"no {what} less than {figure(certificate.lower_bound)}."
    )


def search_extent(kind: str | None, evaluated: int, whole: int) -> tuple[str, str, str]:
    """Return the extent of a search: the judged nodes, the whole, and their share; ``kind`` is that of a recoding.

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
