"""Answers to agents, made of what is measured for the operator. Every key is chosen here; nothing passes by itself."""

from __future__ import annotations

from typing import Any

from sqlanon.audit.check import CheckResult
from sqlanon.commands.agents.sieve import Sieve
from sqlanon.plan.planned import Planned
from sqlanon.plan.recoding.recoded_plan import RecodedPlan
from sqlanon.profiling.facts import Profile
from sqlanon.publish.ledger import Entities
from sqlanon.risk.facts import AT_RISK_OVER, Risk

FIGURES = ("prosecutor_average", "sample_uniques", "sample_below_k", "distinction", "separation")
"""Figures of risk that answers contain, beside the shares of records at risk."""
OF_PERSONS = "entities_below_k"
"""The one that counts persons."""


def profile_answer(found: Profile, sieve: Sieve) -> dict[str, Any]:
    """Return the columns with what they look like and the roles they may have; no bound, length or shape of values."""
    n = found.records
    return {
        "records": sieve.count(n),
        "columns": [
            {
                "name": item.name,
                "type": item.type.split("(")[0],  # the values of an ENUM stand in its type
                "looks_like": item.looks_like,
                "topic": item.topic,
                "suggested_role": item.role,
                "records_without_a_value": sieve.share(item.nulls, n) if item.nulls else 0,
                "distinct_values": sieve.count(item.distinct),
                "records_whose_value_nobody_else_has": sieve.share(item.alone, n) if item.alone else 0,
            }
            for item in found.columns
        ],
    }


def risk_answer(found: Risk, sieve: Sieve) -> dict[str, Any]:
    """Return how many records stand in small classes, by the figures of ``sqlanon risk``, or how many persons do.

    A record more in a class may be the same person's: no answer contains a figure that counts persons once a class.
    """
    n, figures = found.records if found.entities is None else found.entities, {}
    for item in found:
        if found.entities is not None:
            is_told = item.key == OF_PERSONS
        else:
            is_told = item.key in FIGURES or item.key.startswith(AT_RISK_OVER)
        if not is_told:
            continue
        if item.records is not None:
            figures[item.key] = sieve.share(item.records, n) if item.records else 0.0
        else:
            figures[item.key] = sieve.mean(item.value, n)
    return {
        "quasi_identifiers": list(found.quasi_identifiers),
        "k": found.k,
        **_extent(found, sieve),
        "figures": figures,
    }


def check_answer(found: CheckResult, sieve: Sieve) -> dict[str, Any]:
    """Return whether the models hold, and how many records fail each; of persons whether they hold alone."""
    models = []
    for item in found.models:
        told: dict[str, Any] = {"model": item.model, "holds": item.holds}
        if found.entities is None:
            told["failing_records"] = 0 if item.holds else sieve.share(item.failing_records, found.records)
        models.append(told)
    return {"holds": found.holds, **_extent(found, sieve), "models": models}


def _extent(found: Risk | CheckResult, sieve: Sieve) -> dict[str, Any]:
    """Return how many records, or persons, a relation has, and its classes."""
    unit, n = ("records", found.records) if found.entities is None else ("persons", found.entities)
    return {
        "counts": unit,
        unit: sieve.count(n),
        "classes": sieve.count(found.classes),
        "smallest_class": sieve.size(found.smallest_class),
    }


def plan_answer(found: Planned, sieve: Sieve) -> dict[str, Any]:
    """Return the solution and its proof; what the manifest of the release would withhold is withheld."""
    certificate, account = found.certificate, found.ledger.entities or found.ledger
    n = account.total if isinstance(account, Entities) else account.records
    rules = {"rules": len(found.rules)} if isinstance(found, RecodedPlan) else {}
    levels = {
        attribute.name: own[0] if len(own) == 1 else list(own)
        for attribute, own in zip(found.catalog.attributes, found.published_levels, strict=True)
    }
    return {
        "levels": levels,
        "heights": {attribute.name: attribute.height - 1 for attribute in found.catalog.attributes},
        **rules,
        "models": [model.label for model in found.models],
        "optimal": certificate.optimal,
        "measure": certificate.measure,
        "loss": sieve.mean(certificate.loss, n),
        "counts": "persons" if isinstance(account, Entities) else "records",
        "all": sieve.count(n),
        "published": sieve.share(account.published, n) if account.published < n else 1.0,
        "suppressed": sieve.share(account.suppressed, n) if account.suppressed else 0.0,
        "classes": sieve.count(found.ledger.classes),
        "smallest_class": sieve.size(account.smallest_class),
        "warnings": len(found.all_warnings),
    }
