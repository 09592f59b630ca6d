"""Privacy models of ARX as models of a policy.

A model is known by the class of its serialized object, or else by the text that ARX writes of it; both state the same
parameters. What their formulas have in common was confirmed by the optima that ARX reports (``SPEC-measures``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlanon.interop.arx.java_stream import JavaObject
from sqlanon.interop.arx.notes import Notes
from sqlanon.interop.arx.project_reading import Criterion, Project

Facts = Mapping[str, Any]
NUMBER = r"[\d.E+-]+"
ATTRIBUTE = r" for attribute '(?P<attribute>.*)'"
REGIONS = {
    "AFRICA": 1_100_000_000, "AUSTRALIA": 23_130_900, "EUROPE": 740_000_000, "NORTH_AMERICA": 565_265_000,
    "SOUTH_AMERICA": 385_742_554, "EUROPEAN_UNION": 507_420_000, "BRASIL": 202_656_788, "CANADA": 34_834_841,
    "CHINA": 1_366_040_000, "FRANCE": 65_820_916, "GERMANY": 80_767_000, "INDIA": 1_210_569_573, "UK": 63_705_000,
    "USA": 317_238_626,
}  # fmt: skip
"""The populations of ARX's regions, which older projects name instead of a number (``ARXPopulationModel.Region``)."""


@dataclass(slots=True)
class Models:
    """The models of a policy: those of ``privacy``, and those of sensitive columns by their names.

    Attributes:
        subset: the policy's keys of the research subset, without its place; None when it has none.
    """

    privacy: list[dict[str, Any]] = field(default_factory=list)
    watched: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    subset: dict[str, Any] | None = None

    @property
    def presence(self) -> bool:
        """Whether the subset is more than what is published: its share of a class has bounds."""
        return self.subset is not None and (self.subset["min"] > 0 or self.subset["max"] < 1)

    @property
    def any(self) -> bool:
        """Whether there is a privacy model."""
        return bool(self.privacy or self.watched) or self.presence


@dataclass(frozen=True, slots=True)
class Known:
    """A model of ARX: its classes, its text, and which fields of the objects stand for the groups of the text."""

    classes: tuple[str, ...]
    text: str
    fields: Mapping[str, str]
    add: Callable[[Facts, Criterion, Models, Notes], None]


def models_of(project: Project, notes: Notes) -> Models:
    """Return the models of a project; those that a policy cannot state are noted."""
    models = Models()
    for criterion in project.criteria:
        known = next((known for known in KNOWN if _is(known, criterion)), None)
        if known is None or not _added(known, criterion, models, notes):
            notes.unprotected(
                f"{criterion.text}: sqlanon has no such model, or its numbers could not be read; the policy protects "
                "less than the project did. Choose another model (docs/policy.md) before you publish."
            )
    needed = models.subset is not None or any(m.get("population") == "source" for m in models.privacy)
    if needed and models.subset is None:
        models.subset = {"min": 0, "max": 1}
    return models


def _is(known: Known, criterion: Criterion) -> bool:
    if criterion.object is not None:
        return criterion.object.name in known.classes
    return re.fullmatch(known.text, criterion.text) is not None


def _added(known: Known, criterion: Criterion, models: Models, notes: Notes) -> bool:
    """Add a model, unless one of its parameters can be read neither from its object nor from its text."""
    match = re.fullmatch(known.text, criterion.text)
    stated = match.groupdict() if match else {}
    try:
        facts = {name: _number(text) for name, text in stated.items() if text is not None}
        if criterion.object is not None:
            parameters = {name: criterion.object.get(each) for name, each in known.fields.items()}
            facts |= {name: value for name, value in parameters.items() if isinstance(value, str | int | float)}
        if any(isinstance(value, float) and not math.isfinite(value) for value in facts.values()):
            return False
        known.add(facts, criterion, models, notes)
    except (KeyError, ValueError):
        return False
    return True


def _number(text: str | None) -> Any:
    return float(text) if text is not None and re.fullmatch(rf"{NUMBER}", text) else text


def short(number: float) -> float | int:
    """Return a number as it is written: whole ones without a fraction."""
    return int(number) if float(number).is_integer() else number


# -- models that watch a column ----------------------------------------------------------------------------------------


def _watch(models: Models, facts: Facts, kind: str, **parameters: Any) -> None:
    model = {"type": kind} | {k: short(v) if isinstance(v, float) else v for k, v in parameters.items()}
    models.watched.setdefault(str(facts["attribute"]), []).append(model)


def _distinct(facts: Facts, _: Criterion, models: Models, notes: Notes) -> None:
    _watch(models, facts, "distinct_l_diversity", l=int(facts["l"]))


def _entropy(facts: Facts, criterion: Criterion, models: Models, notes: Notes) -> None:
    if str(facts.get("estimator") or "shannon").lower() == "grassberger":
        notes.different(
            f"{criterion.text}: the policy asks for Shannon's entropy of each class, which Grassberger's estimate "
            "exceeds; it suppresses more than ARX and never less."
        )
    _watch(models, facts, "entropy_l_diversity", l=float(facts["l"]))


def _recursive(facts: Facts, _: Criterion, models: Models, notes: Notes) -> None:
    _watch(models, facts, "recursive_l_diversity", l=int(facts["l"]), c=float(facts["c"]))


def _closeness(distance: str) -> Callable[[Facts, Criterion, Models, Notes], None]:
    def add(facts: Facts, _: Criterion, models: Models, notes: Notes) -> None:
        _watch(models, facts, "t_closeness", t=float(facts["t"]), distance=distance)

    return add


def _disclosure(facts: Facts, _: Criterion, models: Models, notes: Notes) -> None:
    _watch(models, facts, "delta_disclosure", delta=float(facts["delta"]))


def _likeness(facts: Facts, criterion: Criterion, models: Models, notes: Notes) -> None:
    enhanced = criterion.text.startswith("enhanced") or (
        criterion.object is not None and criterion.object.name.startswith("Enhanced")
    )
    _watch(models, facts, "beta_likeness", beta=float(facts["beta"]), enhanced=enhanced)


# -- models of records, of the subset and of the population ------------------------------------------------------------


def _anonymity(facts: Facts, _: Criterion, models: Models, notes: Notes) -> None:
    models.privacy.append({"type": "k_anonymity", "k": int(facts["k"])})


def _presence(facts: Facts, _: Criterion, models: Models, notes: Notes) -> None:
    low, high = short(float(facts["min"])), short(float(facts["max"]))
    models.subset = {"min": low, "max": high} | ({"public_only": "reject"} if low > 0 else {})


def _inclusion(_: Facts, __: Criterion, models: Models, notes: Notes) -> None:
    models.subset = models.subset or {"min": 0, "max": 1}


def _map(facts: Facts, criterion: Criterion, models: Models, notes: Notes) -> None:
    k = int(facts["k"])
    estimated = facts.get("estimator") or facts.get("estimated")
    if not estimated:
        models.privacy.append({"type": "k_map", "k": k, "population": "source"})
        return
    population = _population(criterion.object)
    level = criterion.object.get("significanceLevel") if criterion.object is not None else None
    if population is None or not isinstance(level, float) or not 0 < level < 1:
        notes.unprotected(
            f"{criterion.text}: the population or the significance of its estimate could not be read, or is none that "
            f"sqlanon takes. Add {{type: k_map, k: {k}, population: N, significance: 0.01}} with ARX's numbers."
        )
        return
    truncated = estimated == "ZERO_TRUNCATED_POISSON"
    model = {"type": "k_map", "k": k, "population": population, "significance": level}
    models.privacy.append(model | ({"estimator": "zero_truncated_poisson"} if truncated else {}))
    if not truncated:
        notes.different(
            f"{criterion.text}: with its Poisson estimate ARX asks a class for one record more than the estimate says; "
            "sqlanon asks for what it says. Add k_anonymity with the k that ARX derived for the same classes."
        )


def _population(item: JavaObject | None) -> int | None:
    """Return the size of the population of a model; None when it is not known."""
    model = item.fields.get("populationModel") if item is not None else None
    if not isinstance(model, JavaObject):
        return None
    size = model.get("populationSize") or REGIONS.get(str(model.get("region")))
    return size if isinstance(size, int) and size > 0 else None


def _average(facts: Facts, criterion: Criterion, models: Models, notes: Notes) -> None:
    risk = short(float(facts["threshold"]))
    if not 0 < risk <= 1:
        notes.unprotected(f"{criterion.text}: a threshold of {risk} is none that sqlanon takes. Choose another.")
        return
    models.privacy.append({"type": "average_risk", "threshold": risk})
    if facts.get("highest") is None:
        return
    if facts["at_risk"] == 0 and facts.get("size"):
        models.privacy.append({"type": "k_anonymity", "k": int(facts["size"])})
        return
    notes.unprotected(
        f"{criterion.text}: its highest risk may be exceeded by a share of the records, which no model of sqlanon "
        "says; "
        "the policy holds the average alone. Add k_anonymity, which lets no record exceed it."
    )


def _sample(facts: Facts, _: Criterion, models: Models, notes: Notes) -> None:
    models.privacy.append({"type": "sample_uniqueness", "threshold": short(float(facts["threshold"]))})


def _uniqueness(facts: Facts, criterion: Criterion, models: Models, notes: Notes) -> None:
    estimator, population = str(facts["estimator"]).lower(), _population(criterion.object)
    if estimator not in ("pitman", "zayatz") or population is None:
        why = "its estimator is none of sqlanon's" if population is not None else "its population could not be read"
        notes.unprotected(
            f"{criterion.text}: {why}. Add {{type: population_uniqueness, threshold: {facts['threshold']}, "
            "population: N, estimator: pitman or zayatz}."
        )
        return
    threshold = short(float(facts["threshold"]))
    models.privacy.append(
        {"type": "population_uniqueness", "threshold": threshold, "population": population, "estimator": estimator}
    )


WATCHED = {"attribute": "attribute"}
DISTANCE = rf"(?P<t>{NUMBER})-closeness with {{}} (?:ground-)?distance{ATTRIBUTE}"
KNOWN = (
    Known(("KAnonymity",), r"(?P<k>\d+)-anonymity", {"k": "k"}, _anonymity),
    Known(("KMap",), r"\((?P<k>\d+)\)-map(?P<estimated> estimated .*)?", {"k": "k", "estimator": "estimator"}, _map),
    Known(
        ("DPresence",),
        rf"\((?P<min>{NUMBER}), ?(?P<max>{NUMBER})\)-presence",
        {"min": "dMin", "max": "dMax"},
        _presence,
    ),
    Known(("Inclusion", "Enclosure"), r"Inclusion|Enclosure", {}, _inclusion),
    Known(("DistinctLDiversity",), rf"distinct-(?P<l>\d+)-diversity{ATTRIBUTE}", WATCHED | {"l": "minSize"}, _distinct),
    Known(
        ("EntropyLDiversity",),
        rf"(?:(?P<estimator>\w+)-)?entropy-(?P<l>{NUMBER})-diversity{ATTRIBUTE}",
        WATCHED | {"l": "l", "estimator": "estimator"},
        _entropy,
    ),
    Known(
        ("RecursiveCLDiversity",),
        rf"recursive-\((?P<c>{NUMBER}), ?(?P<l>\d+)\)-diversity{ATTRIBUTE}",
        WATCHED | {"l": "minSize", "c": "c"},
        _recursive,
    ),
    Known(("EqualDistanceTCloseness",), DISTANCE.format("equal"), WATCHED | {"t": "t"}, _closeness("equal")),
    Known(
        ("HierarchicalDistanceTCloseness",),
        DISTANCE.format("hierarchical"),
        WATCHED | {"t": "t"},
        _closeness("hierarchical"),
    ),
    Known(("OrderedDistanceTCloseness",), DISTANCE.format("ordered"), WATCHED | {"t": "t"}, _closeness("ordered")),
    Known(
        ("DDisclosurePrivacy",),
        rf"(?P<delta>{NUMBER})-disclosure privacy{ATTRIBUTE}",
        WATCHED | {"delta": "d"},
        _disclosure,
    ),
    Known(
        ("BasicBLikeness", "EnhancedBLikeness"),
        rf"(?:basic|enhanced)-(?P<beta>{NUMBER})-likeness{ATTRIBUTE}",
        WATCHED | {"beta": "b"},
        _likeness,
    ),
    Known(
        ("AverageReidentificationRisk", "RiskBasedThresholdAverageRisk"),
        rf"\((?P<threshold>{NUMBER})(?:, [\d.E-]+ \((?P<highest>{NUMBER})\), (?P<at_risk>{NUMBER}))?\)"
        r"-avg-reidentification-risk",
        {"threshold": "threshold", "highest": "highestRisk", "at_risk": "recordsAtRisk", "size": "smallestSize"},
        _average,
    ),
    Known(
        ("SampleUniqueness", "RiskBasedThresholdSampleUniques"),
        rf"\((?P<threshold>{NUMBER})\)-sample-uniqueness",
        {"threshold": "threshold"},
        _sample,
    ),
    Known(
        ("PopulationUniqueness", "RiskBasedThresholdPopulationUniques"),
        rf"\((?P<threshold>{NUMBER})\)-population-uniqueness \((?P<estimator>\w+)\)",
        {"threshold": "threshold", "estimator": "statisticalModel"},
        _uniqueness,
    ),
)
