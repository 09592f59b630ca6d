"""The attacks that a pack tries on a release, with what they found; and those that it does not try.

What each is, and what its results mean, stands in ``texts/attacks.yaml``; here are the figures, which audits counted.
For a recipient they are coarsened as in the report for recipients (``report.recipient``), and whether an attack found
anything is decided by the coarsened figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlanon.assess.relations.nulls import NullAudit
from sqlanon.assess.relations.of_plan import COMPARED_CLASSES
from sqlanon.core.facts import Facts
from sqlanon.core.models import least_count
from sqlanon.core.plan.planned import Planned
from sqlanon.core.plan.release import Release
from sqlanon.core.publish.ledger import Ledger
from sqlanon.errors import UnsupportedError
from sqlanon.report.evidence.catalogs import catalog, sentence
from sqlanon.report.evidence.recount import Recount
from sqlanon.report.recipient import NONE, SOME, coarse_parts

Figures = dict[str, Any]
Found = tuple[str, str, Figures]
"""What an attack came to: its outcome, the key of its result, its figures."""
NO_FINDING, NEEDS_REVIEW, NOT_APPLICABLE, NOT_RUN = "no_finding", "needs_review", "not_applicable", "not_run"


@dataclass(frozen=True, slots=True)
class Attack(Facts):
    """An attack and what it came to.

    Attributes:
        knows: what the attacker is taken to know.
        outcome: ``no_finding``, ``needs_review``, ``not_applicable`` or ``not_run``.
        result: one or two sentences with the figures.
        figures: by name; coarsened where the pack is for a recipient.
    """

    KEYS = "key name attacker_knows=knows how outcome result figures reference"
    key: str
    name: str
    knows: str
    how: str
    outcome: str
    result: str
    figures: Mapping[str, Any]
    reference: str


def attacks(release: Release, recounted: Recount, *, for_operator: bool) -> tuple[Attack, ...]:
    """Return the attacks that are tried on a release; its plan must still be open."""
    plan = release.plan
    outcomes: dict[str, Found] = {
        "class_sizes": _class_sizes(plan, recounted),
        "models": _models(plan, recounted),
        "null_wildcards": _null_wildcards(plan),
        "identifying_columns": _identifying(plan),
        "kept_columns": _kept(plan, recounted, for_operator=for_operator),
        "alike": _alike(plan, recounted),
        "linked_records": _linked(plan, for_operator=for_operator),
    }
    return tuple(_described(key, *outcomes[key]) for key in catalog("attacks")["tried"])


def attacks_not_tried() -> Sequence[Mapping[str, str]]:
    """Return the known attacks that are not tried: ``name``, ``why`` and ``reference``."""
    listed: Sequence[Mapping[str, str]] = catalog("attacks")["not_tried"]
    return listed


def _described(key: str, outcome: str, result: str, figures: Figures) -> Attack:
    words = catalog("attacks")["tried"][key]
    return Attack(
        key=key,
        name=words["name"],
        knows=words["knows"],
        how=words["how"],
        outcome=outcome,
        result=sentence(words["results"][result], figures),
        figures=figures,
        reference=words["reference"],
    )


def _class_sizes(plan: Planned, recounted: Recount) -> Found:
    result, k = recounted.found, least_count(plan.models)
    if result is None:
        return NOT_RUN, recounted.reason, {}
    counted: Figures = {
        "records": result.records,
        "classes": result.classes,
        "smallest_class": result.smallest_class,
        "k": k,
    }
    outcome = NO_FINDING if result.smallest_class >= k > 1 else NEEDS_REVIEW
    by_person = outcome == NO_FINDING and plan.catalog.has_entity  # whose records they are is not in the release
    return outcome, "persons" if by_person else outcome, counted


def _models(plan: Planned, recounted: Recount) -> Found:
    if not plan.models:
        return NOT_APPLICABLE, NOT_APPLICABLE, {}
    if recounted.found is None and recounted.reason != "format":
        return NOT_RUN, recounted.reason, {}
    again = [] if recounted.found is None else [item.model for item in recounted.found.models]
    once = [model.label for model in plan.models if model.label not in again]
    listed: Figures = {"again": ", ".join(again), "once": ", ".join(once), "failing_classes": 0}
    return NO_FINDING, NO_FINDING, listed


def _null_wildcards(plan: Planned) -> Found:
    if not plan.ledger.published:
        return NOT_RUN, "empty", {}
    if plan.policy.nulls == "basic":
        return NOT_APPLICABLE, "basic", {}
    if not plan.engine.capabilities.has("null_audit"):
        return NOT_RUN, "engine", {}
    if plan.ledger.classes > COMPARED_CLASSES:
        return NOT_RUN, "too_many", {}
    try:
        audit = plan.null_audit()
    except UnsupportedError:
        return NOT_RUN, "refused", {}
    return (NOT_APPLICABLE, "no_nulls", {}) if audit is None else _wildcards(audit)


def _wildcards(audit: NullAudit) -> Found:
    """Return the sizes of the smallest crowds: each is a union of published classes, which a recipient can count."""
    smallest = audit.smallest
    sizes = {"extended": smallest.extended, "right_maybe": smallest.right_maybe, "maybe": smallest.maybe}
    only = audit.only_wildcards
    outcome = NEEDS_REVIEW if only is not None and (only.right_maybe or only.maybe) else NO_FINDING
    return outcome, outcome, sizes


def _identifying(plan: Planned) -> Found:
    """Return whether a column identifies persons: a policy that does not accept it would have been refused."""
    keys = ", ".join(name for name, _, few in plan.beside_release.few if few)
    if keys:
        return NEEDS_REVIEW, "keys", {"keys": keys, "accepted": ", ".join(plan.policy.accept)}
    published = [column for column in plan.policy.columns if column.role in ("keep", "sensitive")]
    if not published:
        return NOT_APPLICABLE, NOT_APPLICABLE, {}
    accepted = ", ".join(plan.policy.accept)
    outcome = NEEDS_REVIEW if accepted else NO_FINDING
    return outcome, outcome, {"columns": len(published), "accepted": accepted}


def _kept(plan: Planned, recounted: Recount, *, for_operator: bool) -> Found:
    """Return whom columns single out, counted in what was written; by person, or if nothing was, as the plan counts."""
    alone = plan.beside_release.alone
    if recounted.found is not None and not plan.catalog.has_entity:
        alone = recounted.beside
    if not alone:
        return NOT_APPLICABLE, NOT_APPLICABLE, {}
    least = max(2, least_count(plan.models))
    listed = []
    for columns, *counts in alone:
        first, second = _beside(counts, plan.ledger, least, plan, for_operator=for_operator)
        listed.append({"columns": list(columns), "alone": first, "in_groups_below_k": second})
    nothing = all(item[name] in (0, NONE) for item in listed for name in ("alone", "in_groups_below_k"))
    outcome = NO_FINDING if nothing else NEEDS_REVIEW
    groups_of = "persons" if plan.catalog.has_entity else "records"
    return outcome, outcome, {"least": least, "groups_of": groups_of, "by_column": listed}


def _beside(
    counts: Sequence[int], ledger: Ledger, least: int, plan: Planned, *, for_operator: bool
) -> tuple[int | str, int | str]:
    """Return the records that are alone, and those in small groups, as an audience may read them."""
    if for_operator:
        return counts[0], counts[1]
    if plan.catalog.has_entity:
        return _word(counts[0]), _word(counts[1])
    return coarse_parts(counts, ledger, least)


def _alike(plan: Planned, recounted: Recount) -> Found:
    """Return the classes that are of one value: whole classes, of k records at least, which a recipient can count."""
    if not any(column.role in ("keep", "sensitive") for column in plan.policy.columns):
        return NOT_APPLICABLE, NOT_APPLICABLE, {}
    if recounted.found is None:
        return NOT_RUN, recounted.reason, {}
    listed = [{"column": name, "classes": n, "records": count} for name, (n, count) in recounted.alike.items()]
    outcome = NEEDS_REVIEW if any(item["classes"] for item in listed) else NO_FINDING
    return outcome, outcome, {"of_one_value": listed}


def _linked(plan: Planned, *, for_operator: bool) -> Found:
    if not plan.catalog.has_entity:
        return NOT_APPLICABLE, NOT_APPLICABLE, {}
    judged, least = plan.beside_release, max(2, least_count(plan.models))
    counts: Figures = {"linked": judged.linked, "apart": judged.apart}
    figures: Figures = {"least": least, "columns": ", ".join(judged.linking)}
    figures |= counts if for_operator else {"apart": _word(judged.apart)}
    outcome = NEEDS_REVIEW if judged.apart else NO_FINDING
    return outcome, outcome, figures


def _word(count: int) -> str:
    return SOME if count else NONE
