"""What a plan says of the numbers and dates that it publishes beside texts, or in their place."""

from __future__ import annotations

from sqlanon.audit.represented import RepresentedClaim
from sqlanon.compiler.representatives import RepresentedColumn
from sqlanon.policy.representatives import CLASS_MEAN


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
