"""What a plan says of the numbers and dates that it publishes beside texts, or in their place."""

from __future__ import annotations

from sqlanon.audit.represented import RepresentedClaim
from sqlanon.compiler.representatives import RepresentedColumn
from sqlanon.policy import Policy
from sqlanon.policy.representatives import CLASS_MEAN


def mean_warnings(policy: Policy) -> tuple[str, ...]:
    """Return what the means of classes disclose of the records, for whoever publishes them."""
    names = [column for asked in policy.publish for column, value in asked.columns.items() if value == CLASS_MEAN]
    if not names:
        return ()
    return (
        f"The means of classes ({', '.join(names)}) are computed from the records themselves, not from the hierarchy: "
        "a mean times the size of its class is the sum of their values, but for rounding. Whoever knows all but one of "
        "them learns the last; where all are alike the mean is their value; and two releases that differ by a record "
        "show it. Ask for midpoint where that matters.",
    )


def claim_of(item: RepresentedColumn) -> RepresentedClaim:
    """Return what a release claims of the numbers or dates of a column."""
    beside = {} if item.instead else {value: name for name, value in item.columns.items()}
    by_text = {value: name for value, name in beside.items() if value != CLASS_MEAN}
    return RepresentedClaim(
        name=item.name,
        type=item.type,
        instead=item.instead,
        companions=tuple(by_text.values()),
        of_class=tuple(beside[value] for value in beside if value == CLASS_MEAN),
        ascending=tuple(by_text[value] for value in ("low", "midpoint", "high") if value in by_text),
    )
