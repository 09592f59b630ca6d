"""Answers to agents, made of what is measured for the operator. Every key is chosen here; nothing passes by itself."""

from __future__ import annotations

from math import ceil
from typing import Any

from sqlanon.assess.profiling.facts import Profile
from sqlanon.assess.profiling.topics import topic_of
from sqlanon.assess.risk.facts import AT_RISK, AT_RISK_OVER, Risk
from sqlanon.commands.agents.looks import looks_of, values_of
from sqlanon.commands.agents.sieve import Sieve, shown
from sqlanon.core.audit.check import CheckResult
from sqlanon.core.plan.planned import Planned
from sqlanon.core.publish.ledger import Entities
from sqlanon.recoding.local.recoded_plan import RecodedPlan

FEW_VALUES = "few_values"
"""Fewer than k records have a value, or none has."""
FEW = 3
"""Stands for all numbers of distinct values below k; one would be a constant, and two a flag."""

OF_CLASSES = ("prosecutor_average", "distinction")
"""Figures of risk that are the classes as a share of the records."""
SMALL = "sample_below_k"
"""The records in classes of fewer than k."""
OF_PERSONS = "entities_below_k"
"""The one that counts persons."""


def profile_answer(profile: Profile, sieve: Sieve) -> dict[str, Any]:
    """Return the columns with what they look like and the roles they may have; no bound, length or shape of values."""
    n = profile.records
    return {
        "records": sieve.count(n),
        "columns": [
            {
                "name": shown(item.name),
                "type": shown(item.type.split("(")[0]),  # the values of an ENUM stand in its type
                **looks_of(item, sieve),
                "topic": topic_of(item.name),
                "records_without_a_value": sieve.share(item.nulls, n),
                "distinct_values": values_of(item, sieve),
            }
            for item in profile.columns
        ],
    }


def risk_answer(risk: Risk, sieve: Sieve) -> dict[str, Any]:
    """Return how many records stand in small classes, by the figures of ``sqlanon risk``, or how many persons do.

    A class is small if it has fewer records than a multiple of the sieve's k: a figure with another limit, of records
    alone in their class for example, would tell small classes apart, and a limit nearby what lies between both.

    A record more in a class may be the same person's: no answer contains a figure that counts persons once a class.
    """
    n, figures = risk.records if risk.entities is None else risk.entities, {}
    for item in risk:
        if risk.entities is not None:
            is_told = item.key == OF_PERSONS
        else:
            limit = AT_RISK.get(item.key.removeprefix(AT_RISK_OVER))
            is_told = item.key == SMALL or (limit is not None and ceil(1 / limit) % sieve.k == 0)
            if item.key in OF_CLASSES and isinstance(_classes(risk, sieve), int):
                figures[item.key] = sieve.share(risk.classes, n)
        if is_told:
            figures[item.key] = sieve.share(item.records, n)
    return {
        "quasi_identifiers": list(map(shown, risk.quasi_identifiers)),
        "k": risk.k,
        **_extent(risk, sieve),
        "figures": figures,
    }


def check_answer(found: CheckResult, sieve: Sieve) -> dict[str, Any]:
    """Return whether the models hold, and how many records fail k-anonymity; of persons whether they hold alone.

    Where a class is smaller than k, only k-anonymity is judged: two values of a column that differ in all records, for
    example, would tell a class of one record from one of two. The records of classes with one sensitive value would
    tell how many classes have another one, and so how many records have it.
    """
    models: list[dict[str, Any]] = []
    small = _has_small(found.smallest_class, sieve)
    for place, item in enumerate(found.models):  # k-anonymity is the first
        told: dict[str, Any] = {"model": shown(item.model)}
        if small and place > 0:
            told["holds"] = None
        else:
            told["holds"] = item.holds
            if found.entities is None and place == 0:
                told["failing_records"] = sieve.share(item.failing_records, found.records)
        models.append(told)
    return {"holds": all(told["holds"] for told in models), **_extent(found, sieve), "models": models}


def _extent(judged: Risk | CheckResult, sieve: Sieve) -> dict[str, Any]:
    """Return how many records, or persons, a relation has, and its classes."""
    unit, n = ("records", judged.records) if judged.entities is None else ("persons", judged.entities)
    return {
        "counts": unit,
        unit: sieve.count(n),
        "classes": _classes(judged, sieve),
        "smallest_class": sieve.size(judged.smallest_class),
    }


def _classes(judged: Risk | CheckResult, sieve: Sieve) -> int | str | None:
    """Return the number of classes, of all records or persons."""
    n = judged.records if judged.entities is None else judged.entities
    return sieve.kinds(judged.classes, n, small=_has_small(judged.smallest_class, sieve))


def _has_small(smallest_class: int | None, sieve: Sieve) -> bool:
    return smallest_class is not None and smallest_class < sieve.k


def plan_answer(plan: Planned, sieve: Sieve) -> dict[str, Any]:
    """Return the solution and its proof; what the manifest of the release would withhold is withheld."""
    certificate, account = plan.certificate, plan.ledger.entities or plan.ledger
    n = account.total if isinstance(account, Entities) else account.records
    rules = {"rules": len(plan.rules)} if isinstance(plan, RecodedPlan) else {}
    levels = {
        shown(attribute.name): own[0] if len(own) == 1 else list(own)
        for attribute, own in zip(plan.catalog.attributes, plan.published_levels, strict=True)
    }
    return {
        "levels": levels,
        "heights": {shown(attribute.name): attribute.height - 1 for attribute in plan.catalog.attributes},
        **rules,
        "models": [shown(model.label) for model in plan.models],
        "optimal": certificate.optimal,
        "measure": certificate.measure,
        "loss": sieve.mean(certificate.loss, n),
        "counts": "persons" if isinstance(account, Entities) else "records",
        "all": sieve.count(n),
        "published": sieve.share(account.published, n),
        "suppressed": sieve.share(account.suppressed, n),
        "classes": sieve.kinds(plan.ledger.classes, n, small=_has_small(account.smallest_class, sieve)),
        "smallest_class": sieve.size(account.smallest_class),
    }
