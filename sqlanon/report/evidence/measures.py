"""Risk and utility as papers of a pack: exact for the operator; for a recipient, as release and manifest show them.

A recipient sees what the report for recipients has (``report.recipient``). Figures of the source, and those that
compare it with the release, are functions of which records were suppressed. However coarse they are, and even which of
them are shown, they reveal such records to whoever counts in the release; so none is given.
"""

from __future__ import annotations

from typing import Any

from sqlanon.assess.risk.facts import CitedThreshold, Figure, Risk, RiskComparison
from sqlanon.assess.utility.facts import DEFINITIONS
from sqlanon.core.words import probability
from sqlanon.report.evidence.catalogs import catalog
from sqlanon.report.recipient import RecipientSummary
from sqlanon.report.risk_section import title
from sqlanon.report.summary import RunSummary
from sqlanon.report.wording import figure, share

LEFT_OUT = (
    "Records of the source with a NULL in a quasi-identifier take no part (NULL match basic; manifest.md counts "
    "them). The figures say nothing of them."
)
"""What a recipient reads before the figures if records are excluded: the same whatever their number."""
RATIOS = ("total_variation", "total_variation_published", "wasserstein", "wasserstein_published")
"""Of a column, between the source and the release."""


def risk_paper(run: RunSummary, visible: RecipientSummary | None) -> dict[str, Any]:
    """Return the document of risk before and after; ``visible`` is what a recipient may read, None for the operator."""
    if visible is not None:
        return _visible_risk(visible, run.risk)
    risk = run.risk
    if risk is None:
        nothing: dict[str, list[str]] = {key: [] for key in ("figures", "sentences", "thresholds", "notes")}
        return {"measured": False, "withheld": None, "left_out": "", **nothing}
    sentences = [f"Before: {risk.before[key].sentence}" for key in _SAID if risk.before.get(key)]
    sentences += [f"After: {risk.after[key].sentence}" for key in _SAID if risk.after.get(key)]
    return {
        "measured": True,
        "withheld": None,
        "left_out": risk.before.left_out and f"Before: {risk.before.left_out}",
        "unit": risk.before.unit,
        "k": risk.before.k,
        "figures": [_row(first, second, risk.before) for first, second in risk.pairs()],
        "sentences": sentences,
        "thresholds": [_threshold(item) for item in risk.after.thresholds],
        "notes": list(dict.fromkeys((*risk.before.other_notes, *risk.after.other_notes))),
        "before": risk.before.to_dict(),
        "after": risk.after.to_dict(),
    }


def _visible_risk(visible: RecipientSummary, risk: RiskComparison | None) -> dict[str, Any]:
    """Return the risk of the release, as a recipient can compute it; of ``risk`` only what the policy says is read."""
    small = visible.k if risk is None else risk.after.k
    basic = risk is not None and risk.after.nulls == "basic"
    excludes = basic and visible.ledger is not None and visible.ledger["excluded"] != 0
    return {
        "measured": _is_published(visible),
        "withheld": catalog("words")["withheld"],
        "left_out": LEFT_OUT if excludes else "",
        "unit": "entity" if visible.counts_entities else "record",
        "k": visible.k,
        "figures": [
            {"key": item.key, "name": title(item, small), "after": _text(item), "after_value": item.value}
            for item in visible.risk
        ],
        "sentences": [f"After: {item.sentence}" for item in visible.risk if item.key in _SAID],
        "thresholds": [_threshold(item) for item in visible.thresholds],
        "notes": [],
        "class_sizes": [{"least": s.least, "most": s.most, "records": s.records} for s in visible.sizes],
    }


def _is_published(visible: RecipientSummary) -> bool:
    return visible.ledger is not None and visible.ledger["published"] != 0


_SAID = ("prosecutor_highest", "prosecutor_average", "sample_uniques")
"""The figures whose sentences are shown."""


def _row(first: Figure | None, second: Figure | None, risk: Risk) -> dict[str, Any]:
    known = first or second
    assert known is not None
    return {"key": known.key, "name": title(known, risk.k, risk.unit), "before": _text(first), "after": _text(second)}


def _threshold(item: CitedThreshold) -> dict[str, Any]:
    met = {True: "within", False: "beyond", None: "none of these figures decides it"}[item.met]
    return {"key": item.key, "name": item.name, "about": item.about, "source": item.source, "release": met}


def _text(item: Figure | None) -> str:
    if item is None or item.value is None:
        return "–"
    at_most = "at most " if item.bound else ""
    if item.kind == "count":
        return f"{at_most}{item.value:,.0f}"
    return at_most + (probability(item.value) if item.kind == "probability" else share(item.value))


def utility_paper(run: RunSummary, visible: RecipientSummary | None) -> dict[str, Any]:
    """Return the document of what the release is still good for."""
    if visible is not None:
        return _visible_utility(visible)
    utility = run.utility
    if utility is None:
        return {"measured": False, "withheld": None, "columns": [], "errors": [], "warnings": [], "definitions": {}}
    return {
        "measured": True,
        "withheld": None,
        "columns": [
            {
                "column": column.name,
                "role": column.role,
                "levels": [level.level for level in column.levels],
                "loss": _loss(column.loss),
                **{name: _share(getattr(column, name)) for name in RATIOS},
            }
            for column in utility.columns
        ],
        "errors": [
            {"estimate": item.estimate, "median": _share(item.median), "percentile_95": _share(item.percentile_95)}
            for item in (utility.queries.errors if utility.queries is not None else ())
        ],
        "warnings": list(utility.warnings),
        "definitions": {name: DEFINITIONS[name] for name in _DEFINED},
        "exact": {key: value for key, value in utility.to_dict().items() if key != "definitions"},
    }


_DEFINED = ("loss", "total_variation", "wasserstein", "queries", "contained", "overlapping", "uniform")


def _visible_utility(visible: RecipientSummary) -> dict[str, Any]:
    """Return the levels that are published, and the part of the loss that follows from them."""
    return {
        "measured": _is_published(visible),
        "withheld": catalog("words")["withheld"],
        "columns": [
            {
                "column": column.name,
                "role": "quasi_identifier",
                "levels": list(column.levels),
                "loss": _loss(column.loss),
            }
            for column in visible.columns
        ],
        "errors": [],
        "warnings": [],
        "definitions": {"loss": DEFINITIONS["loss"]},
    }


def _loss(value: float | None) -> str:
    return "not shown" if value is None else figure(value)


def _share(value: float | None) -> str:
    return "–" if value is None else share(value)
