"""Projects of ARX, entry by entry as its ``WorkerSave`` writes them."""

import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from java_objects import Constant, Object, boxed, hash_map, hash_set, long, serialized, simple

ARX = "org.deidentifier.arx"
ASSIGNED = "assigment"  # codespell:ignore
"""The element of an attribute, in ARX's spelling."""
QUASI, SENSITIVE = "QUASI_IDENTIFYING_ATTRIBUTE", "SENSITIVE_ATTRIBUTE"
INSENSITIVE, IDENTIFYING = "INSENSITIVE_ATTRIBUTE", "IDENTIFYING_ATTRIBUTE"
PRIVACY = f"{ARX}.criteria.PrivacyCriterion"
EXPLICIT = f"{ARX}.criteria.ExplicitPrivacyCriterion"


@dataclass
class Attribute:
    """A column: its type, its hierarchy, and what the definition says of it."""

    kind: str = QUASI
    hierarchy: list[list[str]] | None = None
    datatype: str = "String"
    format: str | None = None
    least: int | None = None
    most: int | None = None
    function: str | None = None
    mode: str | None = None


@dataclass
class Project:
    """What a project is written of. ``criteria`` and ``metric`` are pairs of a text and an object."""

    attributes: dict[str, Attribute]
    records: list[list[str]]
    criteria: list[tuple[str, Object]]
    metric: tuple[str, Object] = field(default_factory=lambda: loss())
    weights: dict[str, float] = field(default_factory=dict)
    limit: float = 0.0
    subset: list[int] | None = None
    version: str = "3.9.0"
    vocabulary: str | None = "2.0"
    delimiter: str = ";"
    encoding: str = "utf-8"
    monotonic: bool = False
    suppressed: tuple[str, ...] = (QUASI,)
    builders: dict[str, str] = field(default_factory=dict)
    serialized: bool = True
    entries: dict[str, bytes] = field(default_factory=dict)
    """Entries to put in, or in the place of those that are written."""

    def write(self, path: Path) -> Path:
        """Write the project, and return its path."""
        entries = self._entries() | self.entries
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, data in entries.items():
                archive.writestr(name, data)
        return path

    def _entries(self) -> dict[str, bytes]:
        vocabulary = [] if self.vocabulary is None else [("vocabulary", self.vocabulary)]
        entries = {
            "metadata.xml": xml("metadata", [("version", self.version), *vocabulary]),
            "project.dat": b"\xac\xed\x00\x05",
            "project.xml": xml("project", self._described()),
            "data/input.csv": self._csv([list(self.attributes), *self.records]),
        }
        if self.serialized:
            entries["input/config.dat"] = serialized(self.configuration())
        entries["input/config.xml"] = xml("config", self._settings())
        entries["input/definition.xml"] = xml("definition", [(ASSIGNED, self._assigned(n)) for n in self.attributes])
        for name, attribute in self.attributes.items():
            if attribute.hierarchy is not None:
                entries[f"input/hierarchies/{name}.csv"] = self._csv(attribute.hierarchy)
        return entries

    def _described(self) -> list[tuple[str, Any]]:
        return [
            ("name", "A project"), ("separator", self.delimiter), ("escape", '"'), ("quote", '"'),
            ("linebreak", "UNIX"), ("description", "With <angles> & an é"), ("locale", "EN"), ("historySize", 200),
            ("snapshotSizeDataset", 0.2), ("snapshotSizeSnapshot", 0.8), ("initialNodesInViewer", 100),
            ("maxNodesInViewer", 700), ("selectedAttribute", next(iter(self.attributes))), ("inputBytes", 0),
        ]  # fmt: skip

    def _settings(self) -> list[tuple[str, Any]]:
        weights = [[("attribute", name), ("weight", weight)] for name, weight in self.weights.items()]
        return [
            ("suppressTuplesInNonAnonymousOutput", "true"),
            ("suppressedAttributeTypes", [("type", kind) for kind in self.suppressed]),
            ("practicalMonotonicity", str(self.monotonic).lower()),
            ("relativeMaxOutliers", self.limit),
            ("metric", self.metric[0]),
            ("attributeWeights", [("attributeWeight", each) for each in weights]),
            ("criteria", [("criterion", text) for text, _ in self.criteria]),
        ]

    def _assigned(self, name: str) -> list[tuple[str, Any]]:
        attribute = self.attributes[name]
        datatype, given = attribute.datatype, attribute.format
        if self.vocabulary is None and datatype == "Date/Time":
            datatype, given = str(given), None
        found: list[tuple[str, Any]] = [("name", name), ("type", attribute.kind), ("datatype", datatype)]
        if given is not None:
            found += [("format", given), ("locale", "EN")]
        if attribute.hierarchy is not None:
            levels = [("min", attribute.least), ("max", attribute.most)]
            found.append(("ref", f"hierarchies/{name}.csv"))
            found += [(tag, "All" if level is None else level) for tag, level in levels]
        if attribute.function is not None:
            found += [("microaggregationFunction", attribute.function), ("microaggregationIgnoreMissingData", "true")]
        return found

    def _csv(self, rows: list[list[str]]) -> bytes:
        def written(text: str) -> str:
            special = any(c in text for c in (self.delimiter, '"', "\n", "\r"))
            return '"' + text.replace('"', '""') + '"' if special else text

        return "".join(self.delimiter.join(map(written, row)) + "\n" for row in rows).encode(self.encoding)

    def configuration(self) -> Object:
        """Return what ``input/config.dat`` holds."""
        count = len(self.records)
        members = range(count) if self.subset is None else self.subset
        words = [0] * (-(-count // 64))
        for number in members:
            words[number >> 6] |= 1 << (number & 63)
        words = [word - (1 << 64) if word >> 63 else word for word in words]
        config = simple(
            f"{ARX}.ARXConfiguration",
            relMaxOutliers=float(self.limit),
            criteria=hash_set([each for _, each in self.criteria]),
            metric=self.metric[1],
            practicalMonotonicity=self.monotonic,
            heuristicSearchEnabled=False,
            attributeWeights=hash_map(self.weights),
        )
        hierarchies = {
            name: simple(f"{ARX}.AttributeType$Hierarchy$DefaultHierarchy", hierarchy=attribute.hierarchy)
            for name, attribute in self.attributes.items()
            if attribute.hierarchy
        }
        modes = {
            name: Constant(f"{ARX}.gui.model.ModelTransformationMode", attribute.mode)
            for name, attribute in self.attributes.items()
            if attribute.mode
        }
        builders = {name: simple(f"{ARX}.aggregates.{kind}") for name, kind in self.builders.items()}
        return simple(
            f"{ARX}.gui.model.ModelConfiguration",
            modified=False,
            config=config,
            hierarchies=hash_map(hierarchies),
            transformationModes=hash_map(modes),
            hierarchyBuilders=hash_map(builders) if builders else None,
            researchSubset=simple(f"{ARX}.RowSet", length=count, size=len(members), array=words),
            suppressionWeight=boxed(0.5),
        )


def xml(root: str, children: list[tuple[str, Any]]) -> bytes:
    """Return a document as ARX's ``XMLWriter`` writes it: no declaration, tabs, everything but ASCII as numbers."""
    return _element(root, children, "").encode("ascii")


def _element(tag: str, content: Any, prefix: str) -> str:
    if isinstance(content, list):
        inner = "".join(_element(name, each, f"{prefix}\t") for name, each in content)
        return f"{prefix}<{tag}>\n{inner}{prefix}</{tag}>\n"
    text = str(content)
    for char, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&apos;")):
        text = text.replace(char, name)
    text = "".join(c if ord(c) < 128 else f"&#{ord(c)};" for c in text)
    return f"{prefix}<{tag}>{text}</{tag}>\n"


# -- privacy models ----------------------------------------------------------------------------------------------------


def _model(name: str, **fields: Any) -> Object:
    return simple(f"{ARX}.criteria.{name}", PRIVACY, **fields)


def _watching(name: str, attribute: str, parent: dict[str, Any] | None = None, **fields: Any) -> Object:
    classes = [(PRIVACY, {}, None), (EXPLICIT, {"attribute": attribute}, None)]
    if parent:
        classes.append((f"{ARX}.criteria.{parent.pop('class')}", parent, None))
    return Object([*classes, (f"{ARX}.criteria.{name}", fields, None)])


def k_anonymity(k: int) -> tuple[str, Object]:
    return f"{k}-anonymity", _model("KAnonymity", k=k)


def presence(low: float, high: float) -> tuple[str, Object]:
    return f"({low},{high})-presence", _model("DPresence", dMin=low, dMax=high, subset=None)


def inclusion() -> tuple[str, Object]:
    return "Inclusion", _model("Inclusion")


def k_map(k: int, population: int | None = None, level: float = 0.01, estimator: str = "POISSON") -> tuple[str, Object]:
    if population is None:
        return f"({k})-map", _model("KMap", k=k, significanceLevel=0.0, estimator=None, populationModel=None)
    size = simple(f"{ARX}.ARXPopulationModel", populationSize=long(population), region=None)
    constant = Constant(f"{ARX}.criteria.KMap$CellSizeEstimator", estimator)
    text = f"({k})-map estimated as (unknown)-anonymity ({estimator.title()})"
    return text, _model("KMap", k=k, significanceLevel=level, estimator=constant, populationModel=size)


def distinct(attribute: str, l: int) -> tuple[str, Object]:
    parent = {"class": "LDiversity", "l": float(l), "minSize": l}
    return f"distinct-{l}-diversity for attribute '{attribute}'", _watching("DistinctLDiversity", attribute, parent)


def entropy(attribute: str, l: float, estimator: str = "SHANNON") -> tuple[str, Object]:
    parent = {"class": "LDiversity", "l": float(l), "minSize": -int(-l // 1)}
    constant = Constant(f"{ARX}.criteria.EntropyLDiversity$EntropyEstimator", estimator)
    text = f"{estimator.lower()}-entropy-{float(l)}-diversity for attribute '{attribute}'"
    return text, _watching("EntropyLDiversity", attribute, parent, estimator=constant)


def recursive(attribute: str, c: float, l: int) -> tuple[str, Object]:
    parent = {"class": "LDiversity", "l": float(l), "minSize": l}
    text = f"recursive-({float(c)},{l})-diversity for attribute '{attribute}'"
    return text, _watching("RecursiveCLDiversity", attribute, parent, c=float(c))


def closeness(attribute: str, t: float, distance: str) -> tuple[str, Object]:
    name = f"{distance.title()}DistanceTCloseness"
    text = f"{t}-closeness with {distance} distance for attribute '{attribute}'"
    return text, _watching(name, attribute, {"class": "TCloseness", "t": float(t)})


def disclosure(attribute: str, delta: float) -> tuple[str, Object]:
    text = f"{float(delta)}-disclosure privacy for attribute '{attribute}'"
    return text, _watching("DDisclosurePrivacy", attribute, d=float(delta))


def likeness(attribute: str, beta: float, enhanced: bool) -> tuple[str, Object]:
    kind = "enhanced" if enhanced else "basic"
    name = "EnhancedBLikeness" if enhanced else "BasicBLikeness"
    return f"{kind}-{float(beta)}-likeness for attribute '{attribute}'", _watching(name, attribute, b=float(beta))


def _risk(name: str, threshold: float, **fields: Any) -> Object:
    parent = (f"{ARX}.criteria.RiskBasedCriterion", {"threshold": float(threshold)}, None)
    return Object([(PRIVACY, {}, None), parent, (f"{ARX}.criteria.{name}", fields, None)])


def average_risk(threshold: float, highest: float | None = None, share: float = 0.0) -> tuple[str, Object]:
    if highest is None:
        empty = {"highestRisk": None, "recordsAtRisk": None, "smallestSize": None}
        return f"({threshold})-avg-reidentification-risk", _risk("AverageReidentificationRisk", threshold, **empty)
    given = {"highestRisk": boxed(highest), "recordsAtRisk": boxed(share), "smallestSize": boxed(-int(-1 // highest))}
    text = f"({threshold}, {highest} ({highest}), {share})-avg-reidentification-risk"
    return text, _risk("AverageReidentificationRisk", threshold, **given)


def sample_uniqueness(threshold: float) -> tuple[str, Object]:
    return f"({threshold})-sample-uniqueness", _risk("SampleUniqueness", threshold)


def population_uniqueness(threshold: float, population: int, estimator: str) -> tuple[str, Object]:
    size = simple(f"{ARX}.ARXPopulationModel", populationSize=long(population), region=None)
    kind = Constant(f"{ARX}.risk.RiskModelPopulationUniqueness$PopulationUniquenessModel", estimator)
    text = f"({threshold})-population-uniqueness ({estimator.lower()})"
    return text, _risk("PopulationUniqueness", threshold, statisticalModel=kind, populationModel=size)


def unknown(text: str, name: str) -> tuple[str, Object]:
    return text, _model(name)


# -- measures ----------------------------------------------------------------------------------------------------------


def measure(text: str, name: str, aggregate: str | None = None, factor: float | None = None) -> tuple[str, Object]:
    """Return a measure; ``aggregate`` is a constant of ARX, ``factor`` that of the coding model."""
    fields = {} if factor is None else {"gsFactor": factor}
    classes: list[tuple[str, dict[str, Any], list[Any] | None]] = [(f"{ARX}.metric.Metric", fields, None)]
    if aggregate is not None:
        constant = Constant(f"{ARX}.metric.Metric$AggregateFunction", aggregate)
        classes.append((f"{ARX}.metric.v2.AbstractMetricMultiDimensional", {"function": constant}, None))
    return text, Object([*classes, (f"{ARX}.metric.v2.{name}", {}, None)])


def loss(aggregate: str = "ARITHMETIC_MEAN", factor: float = 0.5) -> tuple[str, Object]:
    return measure(f"Loss ({factor}/1.0/1.0)", "MetricMDNMLoss", aggregate, factor)
