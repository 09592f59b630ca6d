"""The facts of a project of ARX: its XML, and of its serialized configuration what the XML leaves out.

``WorkerSave`` of ARX writes a folder ``input/`` with the configuration that is edited, and ``output/`` with that of the
last result, which is not read here. The XML names privacy models and measures by their texts alone, so the serialized
configuration is asked first; what cannot be read of it is taken from the texts, and reported as unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from lxml import etree

from sqlanon.interop.arx.java_stream import JavaObject, JavaStreamError, mapping, members, read_java
from sqlanon.interop.arx.project_opening import ProjectFile, Rows

NEWEST = (3, 9)
"""The version of ARX up to which its projects are known."""
TYPES = ("IDENTIFYING_ATTRIBUTE", "QUASI_IDENTIFYING_ATTRIBUTE", "SENSITIVE_ATTRIBUTE", "INSENSITIVE_ATTRIBUTE")
CONFIGURATION = "ModelConfiguration"
"""The class of ``input/config.dat``."""
CLUSTERED = "CLUSTERING_AND_MICRO_AGGREGATION"
"""The mode of an attribute that is generalized to form the classes, and aggregated in them."""
ASSIGNED = "assigment"  # codespell:ignore
"""The element of an attribute, in ARX's spelling."""
PREFIX = "input/"
DATA = "data/input.csv"


@dataclass(frozen=True, slots=True)
class ArxAttribute:
    """A column of the project's data.

    Attributes:
        kind: one of ``TYPES``.
        datatype, format: as ARX names them: ``String``, ``Integer``, ``Decimal``, ``Date/Time``, ``Ordinal``.
        has_hierarchy: whether the project holds a hierarchy of it.
        least, most: the levels that its generalization is limited to; None: all.
        function: the function that aggregates it in a class; None where it is generalized.
        clustered: whether it is generalized to form the classes, though it is aggregated.
    """

    name: str
    kind: str
    datatype: str
    format: str | None
    has_hierarchy: bool
    least: int | None
    most: int | None
    function: str | None
    clustered: bool


@dataclass(frozen=True, slots=True)
class Criterion:
    """A privacy model: its text, and its serialized object where that could be read."""

    text: str
    object: JavaObject | None = None


@dataclass(frozen=True, slots=True)
class Project:
    """The settings of a project.

    Attributes:
        metric_text, metric: the measure, like a criterion.
        limit: the share of records that may be suppressed.
        suppressed_types: the kinds of attributes that a suppressed record loses.
        subset: numbers of the records of the research subset; None when unknown.
        records: how many records the project had when the subset was chosen.
        unread: why the serialized configuration could not be read; None when it was.
    """

    version: str
    delimiter: str
    attributes: tuple[ArxAttribute, ...]
    weights: dict[str, float]
    limit: Decimal
    criteria: tuple[Criterion, ...]
    metric_text: str
    metric: JavaObject | None
    suppressed_types: frozenset[str]
    suppression_text: str
    assumes_monotonicity: bool
    heuristic: bool
    builders: dict[str, str]
    subset: tuple[int, ...] | None
    records: int
    unread: str | None


def read_project(file: ProjectFile) -> Project:
    """Read the settings of a project.

    Raises:
        InputError: an entry is missing or damaged, or the project is none that ARX writes.
    """
    version, vocabulary = _version(file)
    described = _texts(file.xml("project.xml"))
    settings = file.xml(f"{PREFIX}config.xml")
    configuration, unread = _configuration(file, settings)
    config = configuration.get("config") if configuration is not None else None
    texts = [_text(item) for item in settings.iterfind("criteria/criterion")]
    objects = [item for item in members(config.get("criteria")) if isinstance(item, JavaObject)] if config else []
    modes = mapping(configuration.get("transformationModes")) if configuration is not None else {}
    definition = file.xml(f"{PREFIX}definition.xml")
    values = _texts(settings)
    builders = mapping(configuration.get("hierarchyBuilders")) if configuration is not None else {}
    subset, records = _subset(configuration)
    return Project(
        version=version,
        delimiter=described.get("separator") or ";",
        attributes=tuple(_attribute(file, item, vocabulary, modes) for item in definition.iterfind(ASSIGNED)),
        weights=dict(_weights(file, settings)),
        limit=_limit(file, values.get("relativeMaxOutliers", "0")),
        criteria=tuple(Criterion(text) for text in texts) if config is None else tuple(_criteria(objects, texts)),
        metric_text=values.get("metric", ""),
        metric=config.get("metric") if config is not None else None,
        suppressed_types=frozenset(_text(item) for item in settings.iterfind("suppressedAttributeTypes/type")),
        suppression_text=values.get("suppressionString", "*"),
        assumes_monotonicity=values.get("practicalMonotonicity") == "true",
        heuristic=config is not None and config.get("heuristicSearchEnabled") is True,
        builders={name: item.name for name, item in builders.items() if isinstance(item, JavaObject)},
        subset=subset,
        records=records,
        unread=unread,
    )


def hierarchy_rows(file: ProjectFile, project: Project, attribute: ArxAttribute) -> Rows:
    """Return the hierarchy of an attribute, each row a value and its levels."""
    return file.rows(f"{PREFIX}hierarchies/{attribute.name}.csv", project.delimiter)


def data_rows(file: ProjectFile, project: Project) -> Rows:
    """Return the records of a project, the names of the columns first."""
    rows = file.rows(DATA, project.delimiter)
    if not rows or len({len(row) for row in rows}) > 1:
        raise file.refused("its records do not all have the same number of fields", "save it again with ARX.")
    return rows


# -- XML ---------------------------------------------------------------------------------------------------------------


def _text(element: etree._Element) -> str:
    return (element.text or "").strip()


def _texts(element: etree._Element) -> dict[str, str]:
    """Return the texts of the elements that have no elements in them; of a separator white space counts."""
    kept = {"separator", "escape", "quote"}
    return {str(item.tag): (item.text or "") if item.tag in kept else _text(item) for item in element if not len(item)}


def _version(file: ProjectFile) -> tuple[str, str]:
    """Return the version of ARX and of its vocabulary; projects before 2.1 name none of the latter."""
    if not file.has("metadata.xml"):
        raise file.refused("it has no 'metadata.xml'", "give a project that ARX has saved (.deid).")
    texts = _texts(file.xml("metadata.xml"))
    version, vocabulary = texts.get("version", ""), texts.get("vocabulary", "1.0")
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or vocabulary not in ("1.0", "2.0"):
        raise file.refused("its version is not known", "save it with ARX 2.0 to 3.9.")
    if (int(numbers[1]), int(numbers[2])) > NEWEST:
        file.remarks.append(
            f"The project was saved by ARX {version}; projects up to {'.'.join(map(str, NEWEST))} are known: "
            "compare the "
            "policy with what ARX shows."
        )
    return version, vocabulary


def _attribute(file: ProjectFile, item: etree._Element, vocabulary: str, modes: dict[Any, Any]) -> ArxAttribute:
    texts = _texts(item)
    name, kind = texts.get("name", ""), texts.get("type", "")
    if not name or kind not in TYPES:
        raise file.refused("an attribute has no name, or no type that is known", "save it again with ARX.")
    datatype, pattern = texts.get("datatype", "String"), texts.get("format")
    if vocabulary == "1.0" and datatype not in ("String", "Decimal"):  # which named a date by its format
        datatype, pattern = "Date/Time", datatype
    function = texts.get("microaggregationFunction") if kind == TYPES[1] else None
    mode = modes.get(name)
    return ArxAttribute(
        name=name,
        kind=kind,
        datatype=datatype,
        format=pattern,
        has_hierarchy=file.has(f"{PREFIX}hierarchies/{name}.csv"),
        least=_level(file, texts.get("min", "All")),
        most=_level(file, texts.get("max", "All")),
        function=function,
        clustered=function is not None and (mode == CLUSTERED or (not mode and "ref" in texts)),
    )


def _level(file: ProjectFile, text: str) -> int | None:
    if text == "All":
        return None
    if not re.fullmatch(r"\d{1,4}", text):
        raise file.refused("a limit of generalization is no level", "save it again with ARX.")
    return int(text)


def _weights(file: ProjectFile, settings: etree._Element) -> Iterator[tuple[str, float]]:
    for item in settings.iterfind("attributeWeights/attributeWeight"):
        texts = _texts(item)
        try:
            weight = float(texts["weight"])
            if not math.isfinite(weight):
                break
            yield texts["attribute"], weight
        except (KeyError, ValueError):
            break
    else:
        return
    raise file.refused("a weight is no number", "save it again with ARX.")


def _limit(file: ProjectFile, text: str) -> Decimal:
    """Return the limit as the decimal fraction that is written."""
    try:
        limit = Decimal(text)
    except InvalidOperation:
        limit = Decimal(-1)
    if not limit.is_finite() or not 0 <= limit <= 1:
        raise file.refused("its suppression limit is no share", "save it again with ARX.")
    return limit


# -- serialized objects ------------------------------------------------------------------------------------------------


def _configuration(file: ProjectFile, settings: etree._Element) -> tuple[JavaObject | None, str | None]:
    """Return the serialized configuration if it can be read, and agrees with the XML; otherwise why not."""
    entry = f"{PREFIX}config.dat"
    if not file.has(entry):
        return None, "it is not there"
    try:
        found = read_java(file.read(entry))
    except JavaStreamError as error:
        return None, str(error).partition(": ")[2].partition(". Hint")[0]
    config = found.get("config") if isinstance(found, JavaObject) and found.name == CONFIGURATION else None
    if not isinstance(config, JavaObject):
        return None, "it holds no configuration"
    limit, count = config.get("relMaxOutliers"), len(members(config.get("criteria")))
    written = _limit(file, _texts(settings).get("relativeMaxOutliers", "0"))
    if not isinstance(limit, float) or limit != float(written) or count != len(settings.findall("criteria/criterion")):
        return None, "it disagrees with the XML beside it"
    return found, None


def _criteria(objects: list[JavaObject], texts: list[str]) -> Iterator[Criterion]:
    """Pair objects and texts: both stand in the order of one set, unless a text shows otherwise."""
    for index, item in enumerate(objects):
        yield Criterion(texts[index], item)


def _subset(configuration: JavaObject | None) -> tuple[tuple[int, ...] | None, int]:
    """Return the numbers of the records that a set of rows holds, 64 bits a number, and of how many."""
    rows = configuration.get("researchSubset") if configuration is not None else None
    if not isinstance(rows, JavaObject):
        return None, 0
    words, length, size = rows.get("array"), rows.get("length"), rows.get("size")
    if not isinstance(words, list) or not isinstance(length, int) or len(words) * 64 < length:
        return None, 0
    members = tuple(i for i in range(length) if words[i >> 6] >> (i & 63) & 1)
    return (members if len(members) == size else None), length
