"""From the counts of a judged node to its verdict.

The evaluator of a search and the verification of a certificate count by different statements; what follows from the
counts is written here, once for both.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import Counts, LowerBounds
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.search.base import Problem, Verdict


def required_counts(models: Sequence[PrivacyModel], has_entity: bool) -> tuple[str, ...]:
    """Return the counts without which the verdict of a node would be a guess."""
    monotone = all(model.monotone for model in models)
    required = ["classes", "suppressed"] if monotone else ["classes", "suppressed", "min_suppressed"]
    if has_entity:
        required += ["suppressed_entities"] if monotone else ["suppressed_entities", "min_suppressed_entities"]
    if any(model.needs_rejection for model in models):
        required.append("public_only")
    return tuple(required)


def verdict_of(
    problem: Problem, models: Sequence[PrivacyModel], node: Node, counts: Counts, *, exact: bool = True
) -> Verdict:
    """Return the verdict of a node.

    Args:
        exact: the counts hold the costs of the suppressed records; otherwise the loss is a lower bound.
    """
    catalog, measure = problem.catalog, problem.measure
    suppressed = max(counts.min_suppressed, counts.min_total)
    # of what holds of the release as a whole the values are not known, only the number
    encoded = (suppressed if measure.needs is None else counts.min_suppressed) - catalog.uncovered
    entities = counts.min_suppressed_entities
    lower_bounds = LowerBounds(
        suppressed=suppressed,
        penalty=measure.penalty(node, encoded, counts.min_costs) if exact else (),
        forced=counts.forced,
        entities=None if entities is None else max(entities, catalog.fewest_entities(suppressed - catalog.uncovered)),
    )
    ruled_out = counts.public_only > 0 and any(model.needs_rejection for model in models)
    against_limit = counts.suppressed if counts.suppressed_entities is None else counts.suppressed_entities
    detailed = bool(counts.by_model)
    return Verdict(
        node=node,
        classes=counts.classes,
        suppressed=counts.suppressed,
        smallest=counts.smallest,
        largest=counts.largest,
        loss=measure.loss(node, counts),
        feasible=counts.classes > 0 and against_limit <= catalog.allowed and not ruled_out,
        grain=counts.grain,
        lower_bounds=lower_bounds,
        ruled_out=ruled_out,
        bottom_facts=counts.bottom_facts if measure.needs == "classes" else None,
        exact=exact,
        by_model=tuple((model.label, n) for model, n in zip(models, counts.by_model, strict=True)) if detailed else (),
        suppressed_entities=counts.suppressed_entities,
        smallest_entities=counts.smallest_entities,
        by_attribute=measure.losses(node, counts) if detailed else (),
    )
