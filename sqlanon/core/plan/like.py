"""A release like an earlier one: its levels, models and hierarchies are those of that release's manifest.

The node is judged, and not searched. Or (``replan``) it is where a search begins, and only the policy of today holds.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sqlanon.core.evaluate.driver import judge_node, run_search
from sqlanon.core.evaluate.session import Session
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.plan.full_domain import Plan, search_plan
from sqlanon.core.policy import Policy
from sqlanon.core.publish.earlier_manifests import read_manifest
from sqlanon.core.publish.manifest import handling_of
from sqlanon.core.publish.question import PolicyQuestion
from sqlanon.core.search.base import Problem
from sqlanon.core.source.hierarchy_digests import ENTITY, HIERARCHIES, entity_digest, manifest_digests
from sqlanon.errors import InputError, listing

STRATEGY = "like"
"""What a certificate names as the strategy where a node was judged, and not searched."""
REPLAN = "say --replan, which searches from the levels of the earlier release and says what changes"
HIGHER_IS_STRONGER = {("delta_presence", "min"), ("bounded_knowledge", "at_most"), ("profile_k", "at_most")}
LOWER_IS_STRONGER = {
    ("recursive_l_diversity", "c"), ("t_closeness", "t"), ("beta_likeness", "beta"), ("delta_disclosure", "delta"),
    ("delta_presence", "max"), ("average_risk", "threshold"), ("sample_uniqueness", "threshold"),
    ("population_uniqueness", "threshold"),
}  # fmt: skip
"""Parameters of models that may differ from those of the earlier release, in one direction; k and l may be higher."""
OTHERWISE = "The release differs from the earlier one in what is neither a level nor a model: {}."
NOT_COMPARED = (
    "Whether {} mean the same as in the earlier release was not compared: manifests of policies without a key hold no "
    "digest of what may list values of the source, by which readers could test guesses. Give the policy one (key: "
    "{{file: secret.key}}); the next release like this one is compared."
)


def check_earlier(policy: Policy) -> dict[str, Any] | None:
    """Return the manifest of the release that a policy is to be like, after what can be compared without a source.

    None where the policy plans anew and there is no such manifest.

    Raises:
        InputError: it cannot be read, has other quasi-identifiers, several rules, or stronger models.
    """
    assert policy.like is not None and policy.like.manifest is not None
    path = Path(policy.like.manifest)
    if not os.path.lexists(path):
        if policy.like.replan:
            return None
        raise InputError(
            f"There is no manifest {path.name!r} of an earlier release.",
            hint="for the first release say --replan, which needs none.",
        )
    manifest = read_manifest(path)
    if not policy.like.replan:
        now, then = PolicyQuestion.of(policy), PolicyQuestion.read(manifest)
        _compare_columns(now, then, _levels(manifest), path.name)
        _compare_models(now, then)
        if any((manifest.get(ENTITY) or digest) != digest for digest in entity_digest(policy).values()):
            raise InputError(
                "The earlier release counts persons by another column than this policy.",
                hint=f"name the entity as it was, and restore the policy's key; or {REPLAN}.",
            )
    return manifest


def like_plan(session: Session) -> Plan:
    """Return the plan whose node is that of an earlier release, or one that was searched from there (``replan``).

    Raises:
        InputError: as ``check_earlier``, or a hierarchy is not that of the earlier release.
        NoSolutionError: the node does not meet the policy.
        SearchStoppedError: see ``run_search``.
    """
    policy = session.encoded_policy
    manifest = check_earlier(policy)
    if policy.like is not None and policy.like.replan:
        return search_plan(session, choose=partial(_search_from, session, manifest))
    assert manifest is not None
    return judge_earlier(session, manifest, STRATEGY)


def judge_earlier(session: Session, manifest: Mapping[str, Any], strategy: str, *, instead: str = REPLAN) -> Plan:
    """Return the plan whose node is that of a manifest, if its hierarchies are those of the session.

    Args:
        strategy: what a certificate names as the strategy.
        instead: what a user does who wants other levels.

    Raises:
        InputError: a hierarchy is not that of the manifest.
        NoSolutionError: the node does not meet the policy.
    """
    policy, columns = session.encoded_policy, session.encoding.columns
    now = PolicyQuestion.of(policy, manifest_digests(session.engine, columns, policy)[HIERARCHIES])
    then = PolicyQuestion.read(manifest)
    node = _frozen(session.encoding.catalog, manifest, instead)
    if changed := now.other_hierarchies(then):
        raise InputError(
            f"The hierarchies of {listing(changed)} are not those of the earlier release.",
            hint=f"restore them, and the policy's key; or {instead}.",
        )

    def choose(problem: Problem, evaluator: Any) -> Any:
        if node not in problem.lattice:
            raise InputError(
                "The policy's limits on levels (min_level, max_level) exclude those of the earlier release.",
                hint=f"change the limits; or {instead}.",
            )
        return judge_node(problem, evaluator, node, strategy)

    plan = search_plan(session, choose=choose)
    names = [a.name for a in session.encoding.catalog.attributes if columns[a.name].spec.hierarchy is not None]
    unknown = [name for name in names if name not in now.hierarchies or name not in then.hierarchies]
    parts = [f"the hierarchies of {listing(unknown)}"] if unknown else []
    parts += ["the persons"] if policy.entity is not None and (policy.key is None or not manifest.get(ENTITY)) else []
    plan.warnings += (NOT_COMPARED.format(" and ".join(parts)),) if parts else ()
    other = [*_other_handling(policy, manifest), *_other_columns(now, then)]
    plan.warnings += (OTHERWISE.format(", ".join(other)),) if other else ()
    return plan


def _search_from(session: Session, manifest: Mapping[str, Any] | None, problem: Problem, evaluator: Any) -> Any:
    """Search, from the node of the earlier release where the lattice has it."""
    levels = {} if manifest is None else _levels(manifest)
    node = tuple(levels.get(attribute.name, (-1, 0))[0] for attribute in problem.catalog.attributes)
    policy = session.encoded_policy
    near = node if node in problem.lattice else None
    return run_search(problem, evaluator, policy.search, extensions=policy.extensions, near=near)


def _levels(manifest: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Return the level of each quasi-identifier, and how many levels its hierarchy has; -1: several, or none."""
    levels: dict[str, tuple[int, int]] = {}
    for item in manifest["columns"]:
        if item["role"] == "quasi_identifier":
            level, height = item.get("level"), item.get("height")
            are_counts = all(isinstance(each, int) and not isinstance(each, bool) for each in (level, height))
            levels[item["name"]] = (level, height) if are_counts and "rules" not in manifest else (-1, 0)
    return levels


def _compare_columns(
    now: PolicyQuestion, then: PolicyQuestion, levels: Mapping[str, tuple[int, int]], name: str
) -> None:
    """Refuse other quasi-identifiers, columns that were not published, and a release by several rules."""
    quasi, before = now.quasi_identifiers, then.quasi_identifiers
    added, gone = [name for name in quasi if name not in before], [name for name in before if name not in quasi]
    if added or gone:
        parts = [f"{what} {listing(which)}" for what, which in (("new are", added), ("gone are", gone)) if which]
        raise InputError(
            f"The quasi-identifiers are not those of the earlier release: {', '.join(parts)}.",
            hint=f"restore their roles; or {REPLAN}.",
        )
    if new := [name for name in now.columns if name not in then.columns]:
        raise InputError(
            f"The policy publishes what the earlier release did not: {listing(new)}.",
            hint=f"give them the role drop; or {REPLAN}.",
        )
    if any(level < 0 for level, _ in levels.values()):
        raise InputError(
            f"The release of {name!r} was published by several rules, which a manifest does not hold in their order.",
            hint="give the manifest of a release of one node; or say --replan.",
        )


def _other_handling(policy: Policy, manifest: Mapping[str, Any]) -> list[str]:
    handling = handling_of(policy)
    before: Mapping[str, Any] = manifest.get("handling") or {}
    names = ("suppressed", "uncovered")
    return [f"another {name!r}" for name in names if before.get(name, own := handling[name]) != own]


def _other_columns(now: PolicyQuestion, then: PolicyQuestion) -> list[str]:
    differences = {
        "columns that are gone": [name for name in then.columns if name not in now.columns],
        "another treatment of": [name for name, keys in now.columns.items() if then.columns.get(name, keys) != keys],
    }
    return [f"{what} {listing(which)}" for what, which in differences.items() if which]


def _compare_models(now: PolicyQuestion, then: PolicyQuestion) -> None:
    """Refuse models that promise less than the earlier release's."""
    weaker = [model for model in then.models if not any(_is_as_strong(own, model) for own in now.models)]
    if weaker:
        labels = [" ".join(filter(None, (model["type"], model.get("column")))) for model in weaker]
        raise InputError(
            f"The earlier release promises more than this policy: {listing(labels)} is missing or weaker.",
            hint=f"write the model as it was, or stronger; or {REPLAN}.",
        )
    if then.nulls not in (None, now.nulls):
        raise InputError(
            f"The earlier release was made with nulls: {then.nulls}, and this policy with nulls: {now.nulls}.",
            hint=f"write nulls: {then.nulls}; or {REPLAN}.",
        )
    if then.entity and not now.entity:
        raise InputError(
            "The earlier release counts persons, and this policy counts records.",
            hint=f"name the entity as it was; or {REPLAN}.",
        )


def _is_as_strong(own: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    """Return whether a model promises all that another does; parameters without a direction must be equal."""
    if own.get("type") != earlier["type"] or own.keys() != earlier.keys():
        return False
    for name, then in earlier.items():
        value, kind = own[name], (earlier["type"], name)
        are_numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (value, then))
        if value == then:
            continue
        if not are_numbers or not (
            (value > then and (name in ("k", "l") or kind in HIGHER_IS_STRONGER))
            or (value < then and kind in LOWER_IS_STRONGER)
        ):
            return False
    return True


def _frozen(catalog: Catalog, manifest: Mapping[str, Any], instead: str) -> Node:
    """Return the node of a manifest; refuse hierarchies with another number of levels."""
    levels = _levels(manifest)
    other: Sequence[str] = [a.name for a in catalog.attributes if levels[a.name][1] != a.height]
    if other:
        raise InputError(
            f"The hierarchies of {listing(other)} have another number of levels than in the earlier release.",
            hint=f"restore them (of redact, say width: as many characters as its texts had); or {instead}.",
        )
    node = tuple(levels[a.name][0] for a in catalog.attributes)
    if any(level >= a.height for level, a in zip(node, catalog.attributes, strict=True)):
        raise InputError("The manifest of the earlier release has levels beyond its hierarchies.", hint=f"{instead}.")
    return node
