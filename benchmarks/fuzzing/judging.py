"""What a release must be, by plain Python alone: classes counted in the rows that were written, or derived anew."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import brute_entities
import brute_knowledge
import brute_models
import brute_profiles
from brute_entities import Owned
from brute_models import World

from fuzzing.cases import Case
from fuzzing.columns import Text

Row = tuple[Text, ...]
OF_CLASSES = ("k_anonymity", "distinct_l_diversity", "entropy_l_diversity", "recursive_l_diversity", "t_closeness",
              "delta_disclosure", "beta_likeness", "delta_presence")  # fmt: skip
OF_RELEASE = ("average_risk", "sample_uniqueness", "population_uniqueness")


def faults(case: Case, names: Sequence[str], rows: list[Row], result: dict[str, Any]) -> list[str]:
    """Return what is wrong with the rows of a release, beside what its run says of them."""
    document, redacted = case.document, 0
    if document.get("suppressed") == "redact":
        marked = [row for row in rows if row and row[0] is not None and len({*row}) == 1 and "suppressed" in row[0]]
        redacted = result["suppressed"]
        if len(marked) < redacted:
            return [f"{len(marked)} rows are redacted instead of {redacted}"]
        for row in marked[:redacted]:
            rows.remove(row)
    found = []
    if len(rows) != result["published"]:
        found.append(f"{len(rows)} rows instead of {result['published']}")
    if result["records"] != result["published"] + result["suppressed"] + result["excluded"]:
        found.append("the ledger does not add up")
    present = [name for name in document["columns"] if name in names]
    if missing := {*case.named("quasi_identifier"), *case.named("keep"), *case.named("sensitive")} - {*present}:
        found.append(f"{len(missing)} columns are missing")
    if shown := {*case.named("drop")} & {*names}:
        found.append(f"{len(shown)} dropped columns are published")
    if found:
        return found
    places = [[*names].index(name) for name in case.named("quasi_identifier")]
    classes: dict[Row, list[Row]] = defaultdict(list)
    for row in rows:
        classes[tuple(row[place] for place in places)].append(row)
    found += _recount(case, [*names], classes, result)
    world = _world(case)
    if not found and world is not None:
        found += _derive(case, world, [*names], rows, result)
    return found


def _models(case: Case) -> list[tuple[str | None, dict[str, Any]]]:
    found = [(None, model) for model in case.document["privacy"]]
    for name in case.named("sensitive"):
        found += [(name, model) for model in case.document["columns"][name].get("models", ())]
    return found


def _recount(case: Case, names: list[str], classes: dict[Row, list[Row]], result: dict[str, Any]) -> list[str]:
    """Count the classes as they were written."""
    found, sizes = [], [len(rows) for rows in classes.values()]
    plain = case.document.get("transformation", {}).get("type", "full_domain") == "full_domain"
    said = (result["classes"], result["smallest_class"])
    if plain and "publish" not in case.document and sizes and said != (len(sizes), min(sizes)):
        found.append(f"{len(sizes)} classes, the smallest of {min(sizes)}: the run says otherwise")
    for name, model in _models(case):
        kind = model["type"]
        if kind == "k_anonymity" and min(sizes, default=model["k"]) < model["k"]:
            found.append(f"a class of {min(sizes)} records under k = {model['k']}")
        if kind == "average_risk" and plain and len(sizes) > Fraction(str(model["threshold"])) * sum(sizes):
            found.append("the average risk is too high")
        if kind == "bounded_knowledge" and case.entity is None:
            known = min(model["at_most"], len(next(iter(classes), ())))
            for places in itertools.combinations(range(len(next(iter(classes), ()))), known):
                part = Counter(tuple(key[place] for place in places) for key, rows in classes.items() for _ in rows)
                if part and min(part.values()) < model["k"]:
                    found.append(f"{min(part.values())} records agree on {len(places)} columns")
        if name is None or name not in names or case.entity is not None:
            continue
        for rows in classes.values():
            counts = sorted(Counter(row[names.index(name)] for row in rows).values(), reverse=True)
            if not _diverse(kind, model, counts):
                found.append(f"a class fails {kind}")
    return found


def _diverse(kind: str, model: dict[str, Any], counts: list[int]) -> bool:
    total = sum(counts)
    if kind == "distinct_l_diversity":
        return len(counts) >= model["l"]
    if kind == "entropy_l_diversity":
        return -sum(n / total * math.log(n / total) for n in counts) >= math.log(model["l"]) - 1e-9
    if kind == "recursive_l_diversity":
        return len(counts) >= model["l"] and counts[0] < Fraction(str(model["c"])) * sum(counts[model["l"] - 1 :])
    return True


def _world(case: Case) -> World | None:
    """Return the case as the brute forces know it; None where they do not know all of it."""
    document, kinds = case.document, {model["type"] for _, model in _models(case)}
    if document.get("transformation", {}).get("type", "full_domain") != "full_domain" or "publish" in document:
        return None
    if any(case.trees[name] is None for name in case.named("quasi_identifier")):
        return None
    if case.entity is not None and kinds & {*OF_RELEASE, "bounded_knowledge"}:
        return None
    if not kinds <= {*OF_CLASSES, *OF_RELEASE, "bounded_knowledge", "profile_k"}:
        return None
    if kinds & {"bounded_knowledge"} and kinds & {*OF_RELEASE, "delta_presence"}:
        return None
    sensitive, columns = case.named("sensitive"), {column.name: column for column in case.columns}
    for name, model in _models(case):
        if model.get("estimator") == "pitman" or (model["type"] == "profile_k" and len(_models(case)) > 1
                                                  and "at_most" in model):  # fmt: skip
            return None
        listed = document["columns"][name].get("hierarchy", {}).keys() & {"levels", "file"} if name else ()
        ordered = model.get("distance") == "ordered" and name is not None
        if ordered and not (
            listed or (columns[name].type == "VARCHAR" and "hierarchy" not in document["columns"][name])
        ):
            return None
    shown = [*sensitive, *[n for n in case.named("keep") if "with" not in document["columns"][n]]]
    quasi = case.named("quasi_identifier")
    trees = []
    for name in quasi:
        tree = case.trees[name]
        assert tree is not None
        tree.uncovered = document["columns"][name].get("uncovered", document.get("uncovered", "error"))
        trees.append(tree)
    member = columns.get("member of") if "delta_presence" in kinds else None
    records = [
        (
            tuple(columns[name].values[i] for name in quasi),
            tuple(columns[name].values[i] for name in shown),
            member is None or member.values[i] in ("true", "1"),
        )
        for i in range(case.size)
    ]
    models = [(sensitive.index(name) if name else None, model) for name, model in _models(case)]
    watched = [case.sensitive.get(name) for name in sensitive] + [None] * (len(shown) - len(sensitive))
    weights = [document["columns"][name].get("weight", 1) for name in quasi]
    return World(records, trees, watched, models, document.get("nulls", "extended"), weights)


def _derive(case: Case, world: World, names: list[str], rows: list[Row], result: dict[str, Any]) -> list[str]:
    """Generalize the source anew, suppress what fails, and compare all rows."""
    document = case.document
    node = [result["levels"][name] for name in case.named("quasi_identifier")]
    kinds = {model["type"] for _, model in world.models}
    if case.entity is not None:
        owned = Owned(world, list(case.entity.values))
        judged = brute_profiles.judge(owned, node) if "profile_k" in kinds else brute_entities.judge(owned, node)
        answer = judged.plain
        if result["entities"]["suppressed"] != judged.suppressed:
            return [f"{result['entities']['suppressed']} persons are suppressed instead of {judged.suppressed}"]
    elif "bounded_knowledge" in kinds:
        answer = brute_knowledge.judge(world, node)
    else:
        answer = brute_models.judge(world, node)
    found = []
    if answer.suppressed != result["suppressed"]:
        found.append(f"{result['suppressed']} records are suppressed instead of {answer.suppressed}")
    shown = [n for n in (*case.named("sensitive"), *case.named("keep")) if "with" not in document["columns"][n]]
    places = [names.index(name) for name in (*case.named("quasi_identifier"), *shown)]
    ours = Counter(tuple(row[place] for place in places) for row in rows)
    if not found and ours != answer.released:
        found.append(f"{sum((ours - answer.released).values())} rows differ from those derived from the source")
    return found


def is_known(case: Case) -> bool:
    """Return True where the rows of a release are compared with those derived from the source."""
    return _world(case) is not None
