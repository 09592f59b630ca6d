"""Reading a policy at the border: the document of a policy file becomes the parts of a policy.

Only what has no place in these parts is a fault here. What a sound policy is stands in ``policy.checks``.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from sqlanon.errors import InputError
from sqlanon.policy.anon.definition_reading import read_definition
from sqlanon.policy.checks import CHOICES
from sqlanon.policy.extensions import Extensions
from sqlanon.policy.facts import ROLES, Column, EngineOptions, Model, Quality, SearchOptions
from sqlanon.policy.faults import Faults
from sqlanon.policy.hierarchies import parse_hierarchy
from sqlanon.policy.hierarchy.specs import is_list
from sqlanon.policy.paths import is_database, is_server
from sqlanon.policy.sources import parse_join, parse_options, parse_output
from sqlanon.policy.transformation import Patterns, parse_transformation

TOP_KEYS = (
    "version", "source", "table", "csv", "join", "columns", "entity", "undeclared", "uncovered", "privacy",
    "suppression_limit", "suppression_count", "nulls", "quality", "search", "suppressed", "transformation", "output",
    "if_exists", "report", "engine",
)  # fmt: skip
ENGINE_KEYS = ("name", "memory_limit", "threads", "temp_directory", "master", "settings")
SEARCH_KEYS = ("strategy", "time_limit", "max_evaluations", "gap", "where")
COLUMN_KEYS = ("role", "hierarchy", "min_level", "max_level", "weight", "uncovered", "models")
SAME = (*CHOICES, "source", "table", "entity", "suppression_limit", "suppression_count", "report")
"""Keys that are fields of a policy as they stand."""


class _UniqueKeyLoader(yaml.SafeLoader):
    """A loader of YAML that refuses a key that stands twice in one mapping."""


def _unique_mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    loader.flatten_mapping(node)
    pairs = loader.construct_pairs(node, deep=True)
    result = dict(pairs)
    if len(result) != len(pairs):
        raise yaml.constructor.ConstructorError(None, None, "a key stands twice", node.start_mark)
    return result


_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_mapping)


def read_document(path: Path) -> Any:
    """Return the document of a policy file, or of an ANON definition (.xml), as it stands.

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


def parse(faults: Faults, document: Any, base_directory: Path, extensions: Extensions) -> dict[str, Any]:
    """Return the fields of the policy that a document describes, and note what has no place in them."""
    if not isinstance(document, Mapping):
        faults.add("policy", "The document is not a mapping.", "start with the keys source, columns and privacy.")
        faults.finish()
    keys = faults.mapping("", document, (*TOP_KEYS, *extensions.names("formats")))
    if keys.get("version", 1) != 1 or isinstance(keys.get("version"), bool):
        faults.add("version", "This version of the policy schema is not known.", "say version: 1.")
    if "suppression_limit" in keys and "suppression_count" in keys:
        faults.add("suppression_count", "suppression_limit is given too.", "keep one of the two.")
    source = keys.get("source")
    if isinstance(source, str) and "table" not in keys and (is_server(source) or is_database(source)):
        faults.add("table", "A database source needs a table.", "add the key table.")
    values = {
        **{key: keys[key] for key in SAME if key in keys},
        **parse_options(keys, extensions),
        "join": parse_join(faults, keys.get("join"), extensions),
        "columns": _columns(faults, keys.get("columns"), base_directory, extensions),
        "privacy": _models(faults, "privacy", keys.get("privacy")),
        "quality": Quality(**faults.mapping("quality", keys.get("quality"), ("measure", "aggregate"))),
        "search": SearchOptions(**faults.mapping("search", keys.get("search"), SEARCH_KEYS)),
        "transformation": parse_transformation(faults, keys.get("transformation")),
        "output": parse_output(faults, keys.get("output")),
        "engine": EngineOptions(**faults.mapping("engine", keys.get("engine"), ENGINE_KEYS)),
    }
    limited = "suppression_limit" in keys or keys.get("suppression_count") is not None
    if not limited and isinstance(values["transformation"], Patterns):
        values["suppression_count"] = _left_over(values["privacy"])
    return values


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
        hierarchy, losses = _hierarchy_with_losses(keys.pop("hierarchy", None))
        spec = None
        if hierarchy is not None:
            spec = parse_hierarchy(faults, f"{key}.hierarchy", hierarchy, base_directory, extensions)
        if hierarchy is not None and spec is None:
            continue  # its faults are noted
        keys["models"] = _models(faults, f"{key}.models", keys.get("models"))
        columns.append(Column(name, **keys, hierarchy=spec, information_loss=losses))
    return tuple(columns)


def _hierarchy_with_losses(value: Any) -> tuple[Any, Any]:
    """Return a hierarchy of a document without the information losses of its levels, and these."""
    if not isinstance(value, Mapping) or "information_loss" not in value:
        return value, None
    losses = value["information_loss"]
    rest = {key: item for key, item in value.items() if key != "information_loss"}
    return rest, tuple(losses) if is_list(losses) else losses


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


def _left_over(privacy: Sequence[Model]) -> int | None:
    """Return how many records patterns may leave over by default: fewer than k, as in the paper."""
    sizes = [model.parameters.get("k") for model in privacy if model.type == "k_anonymity"]
    whole = [size for size in sizes if isinstance(size, int) and size > 0]
    return max(whole) - 1 if whole else None
