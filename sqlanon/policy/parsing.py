"""Reading a policy at the border: every fault is collected and all are raised together.

What a sound policy is stands in ``policy.checks``, hierarchies in ``policy.hierarchies``, sources and targets in
``policy.sources``.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import yaml

from sqlanon.errors import InputError
from sqlanon.parameters import is_number
from sqlanon.policy import ENGINES, ROLES, Column, EngineOptions, Model, Policy, Quality, SearchOptions
from sqlanon.policy.anon.definition_reading import read_definition
from sqlanon.policy.checks import CHOICES, check_entity, check_parts
from sqlanon.policy.extensions import NOTHING, Extensions
from sqlanon.policy.faults import Faults
from sqlanon.policy.hierarchies import parse_hierarchy
from sqlanon.policy.paths import is_database, is_server
from sqlanon.policy.sources import parse_csv, parse_formats, parse_join, parse_output, parse_report
from sqlanon.policy.transformation import Patterns, parse_transformation

TOP_KEYS = (
    "version", "source", "table", "csv", "join", "columns", "entity", "undeclared", "uncovered", "privacy",
    "suppression_limit", "suppression_count", "nulls", "quality", "search", "suppressed", "transformation", "output",
    "if_exists", "report", "engine",
)  # fmt: skip
ENGINE_KEYS = ("name", "memory_limit", "threads", "temp_directory", "master", "settings")
SEARCH_KEYS = ("strategy", "time_limit", "max_evaluations", "gap", "where")
COLUMN_KEYS = ("role", "hierarchy", "min_level", "max_level", "weight", "uncovered", "models")


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML that refuses a key that stands twice in one mapping."""


def _unique_mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    loader.flatten_mapping(node)
    pairs = loader.construct_pairs(node, deep=True)
    result = dict(pairs)
    if len(result) != len(pairs):
        raise yaml.constructor.ConstructorError(None, None, "a key stands twice", node.start_mark)
    return result


_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_mapping)


def load(path: Path, extensions: Extensions = NOTHING) -> Policy:
    """Read a policy file by its ending (see ``Policy.from_file``)."""
    return replace(parse(read_document(path), path.absolute().parent, extensions), file=path.absolute())


def read_document(path: Path) -> Any:
    """The document of a policy file, or of an ANON definition (.xml), as it stands.

    Raises:
        InputError: it cannot be read.
    """
    if path.suffix.lower() == ".xml":
        return read_definition(path)
    failure = ""
    document: Any = None
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix.lower() == ".json":
            document = json.loads(text)
        elif path.suffix.lower() == ".toml":
            document = tomllib.loads(text, parse_float=Decimal)
        else:
            document = yaml.load(text, Loader=_UniqueKeyLoader)
    except OSError as error:
        failure = error.strerror or "it cannot be opened"
    except yaml.MarkedYAMLError as error:
        line = f" near line {error.problem_mark.line + 1}" if error.problem_mark else ""
        failure = f"it is not valid YAML{line}: {error.problem or 'unreadable'}" if _safe(error) else f"bad YAML{line}"
    except (ValueError, yaml.YAMLError, TypeError) as error:
        line = f" near line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        failure = f"it is not valid {path.suffix.lstrip('.') or 'YAML'}{line}"
    if failure:
        raise InputError(
            f"The policy file {path.name!r} cannot be read: {failure}.",
            hint="check the path, the indentation and that each key stands once; it is UTF-8 text.",
        )
    return document


def _safe(error: yaml.MarkedYAMLError) -> bool:
    return error.problem == "a key stands twice"


def parse(document: Any, base_directory: Path, extensions: Extensions = NOTHING) -> Policy:
    """Make a policy from a document (see ``Policy.from_dict``)."""
    faults = Faults()
    if not isinstance(document, Mapping):
        faults.add("policy", "The document is not a mapping.", "start with the keys source, columns and privacy.")
        faults.finish()
    keys = faults.mapping("", document, (*TOP_KEYS, *extensions.names("formats")))
    if keys.get("version", 1) != 1 or isinstance(keys.get("version"), bool):
        faults.add("version", "This version of the policy schema is not known.", "say version: 1.")
    for key in ("source", "table"):
        if keys.get(key) is not None:
            faults.text(key, keys[key])
    for key, known in CHOICES.items():
        if key in keys:
            faults.choice(key, keys[key], known)
    quality = faults.mapping("quality", keys.get("quality"), ("measure", "aggregate"))
    search = faults.mapping("search", keys.get("search"), SEARCH_KEYS)
    engine = faults.mapping("engine", keys.get("engine"), ENGINE_KEYS)
    columns = _columns(faults, keys.get("columns"), base_directory, extensions)
    privacy = _models(faults, "privacy", keys.get("privacy"))
    transformation = parse_transformation(faults, keys.get("transformation"))
    limit, count = _suppression(faults, keys)
    if count is None and "suppression_limit" not in keys and isinstance(transformation, Patterns):
        count = _left_over(privacy)
    output = parse_output(faults, keys.get("output"), base_directory, extensions)
    _engine(faults, engine)
    source = keys.get("source")
    if isinstance(source, str) and "table" not in keys and (is_server(source) or is_database(source)):
        faults.add("table", "A database source needs a table.", "add the key table.")
    made = {
        "source": source,
        "table": keys.get("table"),
        "csv": parse_csv(faults, "csv", keys.get("csv")),
        "formats": parse_formats(faults, "", keys, extensions),
        "join": parse_join(faults, keys.get("join"), extensions),
        "columns": columns,
        "entity": keys.get("entity"),
        "privacy": privacy,
        "suppression_limit": limit,
        "suppression_count": count,
        "quality": Quality(**quality),
        "search": SearchOptions(**search),
        "transformation": transformation,
        "output": output,
        "report": parse_report(faults, keys.get("report"), base_directory),
        "engine": EngineOptions(**engine),
        "base_directory": base_directory,
        "extensions": extensions,
        **{key: keys[key] for key in CHOICES if key in keys},
    }
    check_parts(faults, columns, privacy, made["quality"], made["search"], transformation, extensions)
    check_entity(faults, made["entity"], columns)
    faults.finish()
    return Policy(**made)


def _columns(faults: Faults, value: Any, base_directory: Path, extensions: Extensions) -> tuple[Column, ...]:
    if not isinstance(value, Mapping):
        if value is not None:
            faults.add("columns", "This is not a mapping.", "write column: {role: …} pairs.")
        return ()
    columns = []
    for name, item in value.items():
        key = f"columns.{name}"
        if not isinstance(name, str):
            faults.add(key, "A column's name is not a text.", "put it in quotes.")
            continue
        keys = faults.mapping(key, item, COLUMN_KEYS)
        if "role" not in keys:
            faults.add(f"{key}.role", "The role is missing.", f"choose one of {', '.join(ROLES)}.")
            continue
        hierarchy, losses = _hierarchy_with_losses(keys.get("hierarchy"))
        spec = None
        if hierarchy is not None:
            spec = parse_hierarchy(faults, f"{key}.hierarchy", hierarchy, base_directory, extensions)
        if hierarchy is not None and spec is None:
            continue  # its faults are noted
        columns.append(
            Column(
                name=name,
                role=keys["role"],
                hierarchy=spec,
                min_level=keys.get("min_level"),
                max_level=keys.get("max_level"),
                weight=_plain(keys.get("weight", 1.0)),
                information_loss=losses,
                uncovered=keys.get("uncovered"),
                models=_models(faults, f"{key}.models", keys.get("models", [])),
            )
        )
    return tuple(columns)


def _hierarchy_with_losses(value: Any) -> tuple[Any, Any]:
    """What a policy says of a hierarchy, without the information losses of its levels, and these."""
    if not isinstance(value, Mapping) or "information_loss" not in value:
        return value, None
    losses = value["information_loss"]
    listed = isinstance(losses, Sequence) and not isinstance(losses, str)
    rest = {key: item for key, item in value.items() if key != "information_loss"}
    return rest, tuple(map(_plain, losses)) if listed else losses


def _plain(value: Any) -> Any:
    return float(value) if is_number(value) else value


def _models(faults: Faults, key: str, value: Any) -> tuple[Model, ...]:
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        faults.add(key, "This is not a list of models.", "write [{type: k_anonymity, k: 5}].")
        return ()
    models = []
    for number, item in enumerate(value):
        if not isinstance(item, Mapping) or not isinstance(item.get("type"), str):
            faults.add(f"{key}[{number}]", "A model needs a type.", "write {type: k_anonymity, k: 5}.")
            continue
        parameters = {str(k): v for k, v in item.items() if k != "type"}
        if isinstance(parameters.get("subset"), str):  # a plain string means a file
            parameters["subset"] = {"file": parameters["subset"]}
        if item["type"] != "entropy_l_diversity" and isinstance(parameters.get("l"), float | Decimal):
            parameters["l"] = _whole(parameters["l"])
        models.append(Model(item["type"], parameters))
    return tuple(models)


def _whole(value: float | Decimal) -> Any:
    return int(value) if abs(float(value)) < 1e18 and value == int(value) else value


def _suppression(faults: Faults, keys: Mapping[str, Any]) -> tuple[Decimal, int | None]:
    if "suppression_limit" in keys and "suppression_count" in keys:
        faults.add("suppression_count", "suppression_limit is given too.", "keep one of the two.")
    count = keys.get("suppression_count")
    if count is not None:
        faults.integer("suppression_count", count, 0)
    value = keys.get("suppression_limit", 0)
    share = None
    if isinstance(value, int | float | str | Decimal) and not isinstance(value, bool):
        try:
            share = Decimal(str(value))
        except InvalidOperation:
            share = None
    if share is None or not share.is_finite() or not 0 <= share <= 1:
        faults.add("suppression_limit", "This is not a share.", "give a number between 0 (none) and 1 (all).")
        share = Decimal(0)
    return share, count


def _left_over(privacy: Sequence[Model]) -> int | None:
    """What patterns may leave over unless the policy says it: fewer records than k, as in the paper."""
    sizes = [model.parameters.get("k") for model in privacy if model.type == "k_anonymity"]
    whole = [size for size in sizes if isinstance(size, int) and size > 0]
    return max(whole) - 1 if whole else None


def _engine(faults: Faults, keys: dict[str, Any]) -> None:
    if "threads" in keys:
        faults.integer("engine.threads", keys["threads"], 1)
    for key in ("memory_limit", "temp_directory", "master"):
        if key in keys:
            faults.text(f"engine.{key}", keys[key])
    if keys.get("name") is not None:
        faults.choice("engine.name", keys["name"], ENGINES)
    for key in ("master", "settings"):
        if key in keys and keys.get("name") != "spark":
            faults.add(f"engine.{key}", "Only Spark has this key.", "say name: spark, or leave it out.")
    settings = keys.get("settings")
    if "settings" in keys and not isinstance(settings, Mapping):
        faults.add("engine.settings", "This is not a mapping.", "write {spark.executor.memory: 4g}.")
        keys["settings"] = {}
    elif settings is not None:
        keys["settings"] = {str(name): str(value) for name, value in settings.items()}
