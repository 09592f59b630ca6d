"""ARX's measures of quality, aggregates and weights as those of a policy.

ARX divides weights by the greatest, and takes 0.5 for an attribute without one (``AbstractMetricMultiDimensional``).
Its geometric mean multiplies each loss plus one by them, so that they change no optimum
(``ILMultiDimensionalGeometricMean``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlanon.interop.arx.java_stream import JavaObject
from sqlanon.interop.arx.notes import Notes
from sqlanon.interop.arx.project_reading import Project

USUAL_WEIGHT = 0.5
EQUAL_FACTORS = 0.5
"""The factor of the coding model at which generalization and suppression count alike."""
AGGREGATES = {
    "ARITHMETIC_MEAN": "arithmetic_mean", "GEOMETRIC_MEAN": "geometric_mean", "SUM": "sum", "MAXIMUM": "maximum",
    "MAX": "maximum",
}  # fmt: skip
FOLDED = ("loss", "non_uniform_entropy", "precision", "height", "levels")
"""Measures that fold losses of attributes; ``height`` and ``levels`` (monotonic precision) look at levels alone."""
VARIANTS = r"(?:Precomputed|PotentiallyPrecomputed)?"
MEASURES: tuple[tuple[str, str, str, str | None], ...] = (
    (rf"MetricMDNMLoss{VARIANTS}", r"loss( \(.*\))?", "loss", None),
    (
        rf"MetricMDNUNMEntropy{VARIANTS}|MetricNMEntropy",
        r"non-monotonic non-uniform entropy.*",
        "non_uniform_entropy",
        None,
    ),
    (
        rf"MetricMDNUNMNormalizedEntropy{VARIANTS}",
        r"normalized non-uniform entropy.*",
        "non_uniform_entropy",
        "sqlanon does not divide the entropy of an attribute by the greatest that it can have",
    ),
    (
        rf"MetricMDNUEntropy{VARIANTS}|MetricEntropy",
        r"(monotonic )?non-uniform entropy.*",
        "non_uniform_entropy",
        "in its monotonic variant suppressed records cost nothing besides; sqlanon counts them",
    ),
    (r"MetricMDNMPrecision|MetricNMPrecision", r"non-monotonic precision.*", "precision", None),
    (r"MetricMDPrecision|MetricPrecision", r"monotonic precision.*", "levels", None),
    (r"MetricSDAECS|MetricAECS", r"average equivalence class size.*", "average_class_size", None),
    (r"MetricSDNMDiscernability|MetricDM", r"non-monotonic discernability.*", "discernibility", None),
    (
        r"MetricSDDiscernability|MetricDMStar",
        r"(monotonic )?discernability.*",
        "discernibility",
        "in its monotonic variant suppressed classes cost as if they were published; sqlanon counts N for each record",
    ),
    (r"MetricMDHeight|MetricHeight", r"height.*", "height", None),
)
"""Classes of measures, their texts in small letters, the measure of the policy, and what is different about it."""


@dataclass(slots=True)
class ArxQuality:
    """The key ``quality`` of a policy, and the weights of its quasi-identifiers other than 1."""

    keys: dict[str, str]
    weights: dict[str, float] = field(default_factory=dict)


def quality_of(project: Project, levels: Mapping[str, int], notes: Notes) -> ArxQuality:
    """Return how a policy measures what a project measures; what differs is noted.

    Args:
        levels: of each quasi-identifier how many levels it has above its values.
    """
    measure, name = _measure(project, notes)
    if measure is None:
        return ArxQuality({"measure": "loss"})
    aggregate = _aggregate(project, measure, notes)
    _note_factor(project, name, notes)
    weights = _weights(project, levels)
    if measure in ("height", "levels"):
        return _of_levels(measure, aggregate, weights, levels, notes)
    if measure not in FOLDED:
        if len(set(weights.values())) > 1:
            notes.note(f"Attribute weights: {name} does not use them, in ARX as here; they are left out.")
        return ArxQuality({"measure": measure})
    keys = {"measure": measure} | ({"aggregate": aggregate} if aggregate else {})
    if len(set(weights.values())) < 2:
        return ArxQuality(keys)
    if aggregate == "geometric_mean":
        notes.different(
            "Attribute weights: with the geometric mean ARX multiplies its result by them, which changes no "
            "optimum; in a "
            "policy they would. They are left out, so that the optimum is ARX's: add weight to columns where it "
            "matters."
        )
        return ArxQuality(keys)
    if aggregate == "arithmetic_mean":
        notes.different(
            "The figure of the loss: ARX divides the weighted sum by the number of attributes, sqlanon by the sum "
            "of the "
            "weights; the optimum is the same."
        )
    return ArxQuality(keys, {each: weight for each, weight in weights.items() if weight != 1})


def _measure(project: Project, notes: Notes) -> tuple[str | None, str]:
    """Return the measure of the policy (or ``levels``), None where it has no such, and what ARX calls it."""
    text = project.metric_text or (project.metric.name if project.metric is not None else "The measure")
    for classes, texts, measure, difference in MEASURES:
        subject, pattern = (text.lower(), texts) if project.metric is None else (project.metric.name, classes)
        if re.fullmatch(pattern, subject):
            if difference:
                notes.different(f"Quality model {text!r}: {difference}. The policy minimizes {measure}.")
            return measure, text
    notes.left_out(
        f"Quality model {text!r}: sqlanon has no such measure; the policy minimizes loss. The privacy models do not "
        "depend on it: choose another under quality (docs/policy.md)."
    )
    return None, text


def _part(metric: JavaObject | None, name: str) -> Any:
    """Return a field of a measure, or of the one that it wraps."""
    if metric is None:
        return None
    wrapped = metric.fields.get("defaultMetric")
    part = metric.get(name)
    return wrapped.get(name) if part is None and isinstance(wrapped, JavaObject) else part


def _aggregate(project: Project, measure: str, notes: Notes) -> str | None:
    if measure not in FOLDED:
        return None
    given = _part(project.metric, "function")
    if given in AGGREGATES:
        return AGGREGATES[given]
    usual = "sum" if measure == "non_uniform_entropy" else "arithmetic_mean"
    why = "could not be read" if given is None else f"is {given}, which sqlanon lacks"
    if project.metric is not None and project.metric.name in ("MetricHeight", "MetricPrecision", "MetricNMPrecision"):
        return usual
    notes.left_out(
        f"Aggregate of the quality model: it {why}; the policy takes {usual}. See what ARX shows beside the quality "
        "model, and say quality: {aggregate: …}."
    )
    return usual


def _note_factor(project: Project, name: str, notes: Notes) -> None:
    """Note a coding model that favors generalization or suppression."""
    factor = _part(project.metric, "gsFactor")
    if factor is None and (match := re.match(r"Loss \((\d+(?:\.\d+)?)/", project.metric_text)):
        factor = float(match[1])
    if factor is not None and factor != EQUAL_FACTORS:
        notes.left_out(
            f"Coding model of {name!r}: its factor is {factor:g}, which favors "
            f"{'suppression' if factor < EQUAL_FACTORS else 'generalization'}; sqlanon counts a suppressed value "
            "like one "
            "at the top of its hierarchy (0.5). Choose suppression_limit, or max_level of columns, to steer "
            "between them."
        )


def _weights(project: Project, levels: Mapping[str, int]) -> dict[str, float]:
    """Return the weights of the quasi-identifiers, the greatest of them 1."""
    weights = {name: project.weights.get(name, USUAL_WEIGHT) for name in levels}
    greatest = max(weights.values(), default=0.0)
    return {name: weight / greatest if greatest > 0 else 1.0 for name, weight in weights.items()}


def _of_levels(
    measure: str, aggregate: str | None, weights: Mapping[str, float], levels: Mapping[str, int], notes: Notes
) -> ArxQuality:
    """Return a measure of levels: a weighted sum is ANON's information loss, with the heights in the weights."""
    if aggregate not in ("sum", "arithmetic_mean"):
        notes.different(
            f"The aggregate {aggregate} of levels: sqlanon adds up what the levels lose. The policy minimizes that sum."
        )
    if measure == "height" and len(set(weights.values())) < 2:
        return ArxQuality({"measure": "height"})
    scaled = {name: weight * (levels[name] if measure == "height" else 1) for name, weight in weights.items()}
    return ArxQuality(
        {"measure": "weighted_information_loss"}, {name: weight for name, weight in scaled.items() if weight != 1}
    )
