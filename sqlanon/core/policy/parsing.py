"""Reading a policy at the border: the document of a policy file becomes the parts of a policy.

Only what has no place in these parts is a fault here. What a sound policy is stands in ``policy.checks``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from sqlanon.core.hierarchies.specs import FileHierarchy, HierarchySpec, Suppress, is_list
from sqlanon.core.plain import plain
from sqlanon.core.policy.columns import parse_travels
from sqlanon.core.policy.documents import plain_document, shape_fault
from sqlanon.core.policy.extensions import NOTHING, Extensions
from sqlanon.core.policy.facts import TOP_KEYS, Column, Model, PolicyFacts
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.hierarchies import check_hierarchy, parse_hierarchy
from sqlanon.core.policy.output import read_output
from sqlanon.core.policy.parts import fields_of_keys, keys_of, of_keys, read
from sqlanon.core.policy.paths import is_database, is_file, is_server
from sqlanon.core.policy.representatives import parse_publish
from sqlanon.core.policy.sources import parse_join, parse_options
from sqlanon.core.policy.transformation import Patterns, parse_transformation
from sqlanon.parameters import ValueCheck, names_of


def parse(faults: Faults, document: Any, base_directory: Path, extensions: Extensions) -> dict[str, Any]:
    """Return the fields of the policy that a document describes, and note what has no place in them."""
    document = plain_document(faults, document, "policy", "source, columns and privacy")
    if "tables" in document:
        faults.add(
            "tables",
            "A policy of several tables can be run, and nothing else is done with one yet.",
            "use sqlanon run, or sqlanon.anonymize_tables.",
        )
        faults.finish()
    keys = faults.mapping("", document, (*names_of(TOP_KEYS), *extensions.names("formats")))
    if keys.get("version", 1) != 1 or isinstance(keys.get("version"), bool):
        faults.add("version", "This version of the policy schema is not known.", "say version: 1.")
    if "suppression_limit" in keys and "suppression_count" in keys:
        faults.add("suppression_count", "suppression_limit is given too.", "keep one of the two.")
    source = keys.get("source")
    if isinstance(source, str) and "table" not in keys and (is_server(source) or is_database(source)):
        faults.add("table", "A database source needs a table.", "add the key table.")
    own = {name: keys[name] for name in keys if name in names_of(TOP_KEYS) and name not in ("version", "csv")}
    for name in [*READERS]:
        value = own.pop(name, None)
        if value is not None or name in ("columns", "privacy"):
            own[name] = READERS[name](faults, value, base_directory, extensions)
    values = fields_of_keys(faults, "", own, PolicyFacts) | parse_options(keys, extensions)
    limited = "suppression_limit" in keys or keys.get("suppression_count") is not None
    if not limited and isinstance(values.get("transformation"), Patterns):
        values["suppression_count"] = _left_over(values["privacy"])
    return values


def read_parts(faults: Faults, policy: PolicyFacts) -> dict[str, Any]:
    """Return the fields of a policy that were given as the keys of a policy file, not as objects, read as these."""
    given = {key: getattr(policy, key) for key in READERS}
    found = {
        key: READERS[key](faults, value, policy.base_directory, policy.extensions)
        for key, value in given.items()
        if _is_document(value)
    }
    columns = found.get("columns", policy.columns)
    if isinstance(columns, tuple):
        found["columns"] = _read_columns(faults, columns, policy.base_directory, policy.extensions)
    return found


def _is_document(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(item, Mapping) for item in value)
    return isinstance(value, Mapping | str)


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
        if isinstance(item, Column):
            columns.append(replace(item, name=name))
            continue
        keys = {"role": None, **faults.mapping(key, item, names_of(keys_of(Column)))}
        keys |= {"with": parse_travels(faults, f"{key}.with", keys.get("with")), "models": keys.get("models") or ()}
        columns.append(of_keys(faults, key, keys, Column, name=name))
    return _read_columns(faults, columns, base_directory, extensions)


def _read_columns(
    faults: Faults, columns: Sequence[Any], base_directory: Path, extensions: Extensions
) -> tuple[Any, ...]:
    """Return columns with their hierarchies and models read, where these are documents."""
    found = []
    for column in columns:
        if not isinstance(column, Column):  # not a column: the check of kinds says so
            found.append(column)
            continue
        key = f"columns.{column.name}"
        hierarchy, losses = _hierarchy_with_losses(column.hierarchy)
        changes: dict[str, Any] = {}
        if losses is not None:
            changes["information_loss"] = losses
        if hierarchy is not None and not isinstance(hierarchy, HierarchySpec):
            spec = parse_hierarchy(faults, f"{key}.hierarchy", hierarchy, base_directory, extensions)
            changes["hierarchy"] = spec or Suppress()  # a fault is noted: this lets the rest of the column be checked
        if not isinstance(column.models, tuple) or _is_document(column.models):
            changes["models"] = _models(faults, f"{key}.models", column.models)
        found.append(replace(column, **changes) if changes else column)
    return tuple(found)


def file_hierarchies(document: Any, base_directory: Path) -> dict[str, FileHierarchy]:
    """Return, by its column, each sound hierarchy of a file that a document names, whatever other faults it has."""
    columns = (
        plain(document).get("columns") if isinstance(document, Mapping) and shape_fault(document) is None else None
    )
    found = {}
    for column in _columns(Faults(), columns, base_directory, NOTHING):
        faults, spec = Faults(), column.hierarchy
        check_hierarchy(faults, "hierarchy", spec or Suppress(), NOTHING)
        if isinstance(spec, FileHierarchy) and not faults.items and is_file(base_directory / spec.path):
            found[column.name] = replace(spec, path=(base_directory / spec.path).absolute())
    return found


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
    given = [value] if isinstance(value, Mapping | Model) else value
    if not is_list(given):
        faults.add(key, "This is not a list of models.", "write [{type: k_anonymity, k: 5}].")
        return ()
    models = []
    for number, item in enumerate(given):
        if isinstance(item, Model):
            models.append(item)
            continue
        if not isinstance(item, Mapping) or not isinstance(item.get("type"), str):
            faults.add(f"{key}[{number}]", "A model needs a type.", "write {type: k_anonymity, k: 5}.")
            continue
        parameters = {str(k): v for k, v in item.items() if k != "type"}
        if isinstance(parameters.get("subset"), str):  # a plain string means a file
            parameters["subset"] = {"file": parameters["subset"]}
        if item["type"] == "k_map" and isinstance(where := parameters.get("population"), str) and where != "source":
            parameters["population"] = {"file": where}
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


def _read_part(name: str, kind: type[Any], faults: Faults, value: Any, *_: Any) -> Any:
    return read(faults, name, value, kind)


Read = Callable[[Faults, Any, Path, Extensions], Any]
READERS: Mapping[str, Read] = {
    **{
        key.name: partial(_read_part, key.name, key.check.part)
        for key in TOP_KEYS
        if isinstance(key.check, ValueCheck) and key.check.kind == "mapping" and key.check.part is not None
    },
    "join": lambda faults, value, _, extensions: parse_join(faults, value, extensions),
    "columns": _columns,
    "privacy": lambda faults, value, *_: _models(faults, "privacy", value),
    "transformation": lambda faults, value, *_: parse_transformation(faults, value),
    "publish": lambda faults, value, *_: parse_publish(faults, value),
    "output": lambda faults, value, *_: read_output(faults, value),
}
"""Fields of a policy that are objects, and how the keys of a policy file become such an object."""
