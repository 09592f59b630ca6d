"""Risk and utility as papers of a pack: exact for the operator; for a recipient, what the release and wide bands say.

A recipient sees the figures of the release that can be computed from it (``report.recipient``). Figures of the source,
and those that compare it with the release, are made of counts that are not published: shares of few records would give
them back. So they are shown as bands, each so wide that at least k different counts of records lie in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sqlanon.report.recipient import RecipientSummary
from sqlanon.report.risk_section import title
from sqlanon.report.summary import RunSummary
from sqlanon.report.wording import figure, share
from sqlanon.risk.facts import CitedThreshold, Figure, RiskComparison
from sqlanon.risk.words import probability
from sqlanon.utility.facts import DEFINITIONS, ColumnUtility

STEPS = (0.01, 0.05, 0.1, 0.25)
"""Widths of bands, the finest first."""
NOT_SHOWN = "not shown"
LEFT_OUT = (
    "Records of the source with a NULL in a quasi-identifier take no part (NULL match basic; the paper on what was "
    "published counts them). The figures of the source say nothing of them: whoever sees them may tell them apart."
)
"""What a recipient reads before figures of a source of which records are excluded: the same whatever their number."""
OF_SOURCE = (
    "prosecutor_average",
    "sample_uniques",
    "sample_below_k",
    "records_at_risk_over_0.09",
    "records_at_risk_over_0.2",
)
"""The figures of the source that a recipient sees, as bands."""
RATIOS = ("total_variation", "total_variation_published", "wasserstein", "wasserstein_published")
"""Of a column, between the source and the release."""


def banded(value: float | None, records: int, k: int, *, most: float = 1.0) -> str:
    """Return the band of a share of ``records``, or of another ratio of their counts, in words.

    Args:
        k: counts of fewer records must not be given back: as many counts, at least, lie in one band.
        most: the largest value that there is.

    >>> banded(13 / 877, 877, 20), banded(0.5, 877, 20), banded(1.0, 877, 20), banded(0.3, 30, 20)
    ('less than 5 %', '50 to 55 %', '95 % or more', 'not shown')
    >>> banded(28.275, 5000, 5, most=math.inf)
    '2,800 to 2,900 %'
    """
    step = next((step for step in STEPS if step * records >= k), None)
    if value is None or step is None:
        return NOT_SHOWN
    while value >= 100 * step and value > 1:  # no more than two digits of what is no share
        step *= 10
    steps = math.floor(value / step + 1e-9)
    if math.isfinite(most):
        steps = min(steps, round(most / step) - 1)
    low, high = (f"{figure(100 * step * count)}" for count in (steps, steps + 1))
    if steps == 0:
        return f"less than {high} %"
    return f"{low} % or more" if math.isclose((steps + 1) * step, most) else f"{low} to {high} %"


def risk_paper(run: RunSummary, visible: RecipientSummary | None) -> dict[str, Any]:
    """Return the document of risk before and after; ``visible`` is what a recipient may read, None for the operator."""
    risk = run.risk
    if risk is None:
        return {"measured": False, "left_out": "", "figures": [], "sentences": [], "thresholds": [], "notes": []}
    if visible is None:
        listed = [_row(first, second, risk.before.k) for first, second in risk.pairs()]
        sentences = [f"Before: {risk.before[key].sentence}" for key in _SAID if risk.before.get(key)]
        sentences += [f"After: {risk.after[key].sentence}" for key in _SAID if risk.after.get(key)]
        return {
            "measured": True,
            "left_out": risk.before.left_out and f"Before: {risk.before.left_out}",
            "unit": risk.before.unit,
            "k": risk.before.k,
            "figures": listed,
            "sentences": sentences,
            "thresholds": [_threshold(item) for item in risk.after.thresholds],
            "notes": list(dict.fromkeys((*risk.before.other_notes, *risk.after.other_notes))),
            "before": risk.before.to_dict(),
            "after": risk.after.to_dict(),
        }
    return {
        "measured": True,
        "left_out": LEFT_OUT if _excludes(risk, visible) else "",
        "unit": risk.before.unit,
        "k": visible.k,
        "figures": _visible_rows(risk, visible),
        "sentences": [f"After: {item.sentence}" for item in visible.risk if item.key in _SAID],
        "thresholds": [_threshold(item) for item in visible.thresholds],
        "notes": [],
        "class_sizes": [{"least": s.least, "most": s.most, "records": s.records} for s in visible.sizes],
    }


_SAID = ("prosecutor_highest", "prosecutor_average", "sample_uniques")
"""The figures whose sentences are shown."""


def _excludes(risk: RiskComparison, visible: RecipientSummary) -> bool:
    """Return whether, by the ledger that a recipient sees and nothing else, records may be excluded."""
    return risk.before.nulls == "basic" and visible.ledger is not None and visible.ledger["excluded"] != 0


def _row(first: Figure | None, second: Figure | None, k: int) -> dict[str, Any]:
    known = first or second
    assert known is not None
    return {"key": known.key, "name": title(known, k), "before": _text(first), "after": _text(second)}


def _visible_rows(risk: RiskComparison, visible: RecipientSummary) -> list[dict[str, Any]]:
    """Return the figures of the release, beside bands of those of the source."""
    after = {item.key: item for item in visible.risk}
    rows = []
    for first, second in risk.pairs():
        known = first or second
        if known is None or (known.key not in after and known.key not in OF_SOURCE):
            continue
        before = NOT_SHOWN
        if first is not None and first.key in OF_SOURCE:
            before = banded(first.value, risk.before.records, visible.k)
        shown = after.get(known.key)
        rows.append(
            {
                "key": known.key,
                "name": title(known, risk.before.k),
                "before": before,
                "after": NOT_SHOWN if shown is None else _text(shown),
                "after_value": None if shown is None else shown.value,
            }
        )
    return rows


def _threshold(item: CitedThreshold) -> dict[str, Any]:
    met = {True: "within", False: "beyond", None: "no figure of these tells"}[item.met]
    return {"key": item.key, "name": item.name, "about": item.about, "source": item.source, "release": met}


def _text(item: Figure | None) -> str:
    if item is None or item.value is None:
        return "–"
    at_most = "at most " if item.bound else ""
    if item.kind == "count":
        return f"{at_most}{item.value:,.0f}"
    return at_most + (probability(item.value) if item.kind == "probability" else share(item.value))


def utility_paper(run: RunSummary, visible: RecipientSummary | None) -> dict[str, Any]:
    """Return the document of what the release is still good for.

    Where a count of the ledger is hidden, a recipient sees no figure that compares the release with its source: each of
    them is a function of how many records, and which, were suppressed.
    """
    found = run.utility
    if found is None:
        return {"measured": False, "withheld": False, "columns": [], "errors": [], "warnings": [], "definitions": {}}

    def text(value: float | None, most: float = 1.0) -> str:
        if value is None:
            return "–"
        if visible is None:
            return share(value)
        return NOT_SHOWN if visible.hides else banded(value, found.records, run.least, most=most)

    losses = {item.name: item.loss for item in (found.columns if visible is None else visible.columns)}
    document = {
        "measured": True,
        "withheld": visible is not None and visible.hides,
        "columns": [_column(column, losses.get(column.name), text) for column in found.columns],
        "errors": [
            {
                "estimate": item.estimate,
                "median": text(item.median, math.inf),
                "percentile_95": text(item.percentile_95, math.inf),
            }
            for item in (found.queries.errors if found.queries is not None else ())
        ],
        "warnings": list(found.warnings),
        "definitions": {name: DEFINITIONS[name] for name in _DEFINED},
    }
    if visible is None:
        document["exact"] = {key: value for key, value in found.to_dict().items() if key != "definitions"}
    return document


_DEFINED = ("loss", "total_variation", "wasserstein", "queries", "contained", "overlapping", "uniform")


def _column(column: ColumnUtility, loss: float | None, text: Callable[[float | None], str]) -> dict[str, Any]:
    """Return a column with its figures as texts."""
    return {
        "column": column.name,
        "role": column.role,
        "levels": [level.level for level in column.levels],
        "loss": NOT_SHOWN if loss is None else figure(loss),
        **{name: text(getattr(column, name)) for name in RATIOS},
    }
