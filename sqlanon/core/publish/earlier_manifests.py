"""Manifests of earlier releases: read, and refused unless they are what a run writes.

Whoever compares two releases prints what stands in both manifests. So nothing is taken from a file but names of
columns, tables, models and versions, levels, and counts as manifests write them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from sqlanon.core.models import least_count
from sqlanon.core.policy.extensions import NOTHING
from sqlanon.errors import InputError, SqlanonError, attempt

VERSION = 1
"""The version of manifests that is read."""
LARGEST = 50_000_000
"""Bytes of a manifest at most."""
FINGERPRINT = "policy_fingerprint"
"""The key of a manifest that holds the fingerprint of its policy."""
ACCOUNT = ("records", "published", "suppressed", "excluded")
SIZES = ("classes", "smallest_class", "largest_class")
OF_PERSONS = ("published", "suppressed", "excluded")
OF_CERTIFICATE = ("measure", "aggregate", "strategy", "optimal", "loss")
COARSE = re.compile(r"<=?(\d{1,18})(?: entities)?|\d{1,18}-\d{1,18}")
"""A count that a manifest does not state exactly."""
DIGEST = re.compile(r"[0-9a-f]{64}")


def read_manifest(path: Path, *, several: bool = False) -> dict[str, Any]:
    """Return the manifest of an earlier release.

    Args:
        several: it must be of several tables that were published together; otherwise of one.

    Raises:
        InputError: it cannot be read, or is no such manifest.
    """
    document: Any = None
    failure = None
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST + 1)
        failure = "it is too large" if len(text) > LARGEST else None
        document = None if failure else json.loads(text.decode("utf-8"), parse_constant=_no_number, parse_float=_number)
    except OSError as error:
        failure = error.strerror or "the system refused"
    except (ValueError, RecursionError):
        failure = "it is no JSON"
    failure = failure or _fault(document, several=several)
    if failure is not None:
        raise InputError(
            f"The manifest {path.name!r} cannot be read: {failure}.",
            hint="give the .manifest.json that `sqlanon run` wrote beside the earlier release.",
        )
    found: dict[str, Any] = document
    return found


def _number(text: str) -> float:
    if math.isfinite(number := float(text)):
        return number
    raise ValueError(text)


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def is_of_tables(manifest: Mapping[str, Any]) -> bool:
    """Return whether a manifest is of several tables that were published together."""
    return "tables" in manifest


def columns_of(manifest: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the columns by name; of several tables each with its table, as the levels of a run are named."""
    if not is_of_tables(manifest):
        return {column["name"]: column for column in manifest["columns"]}
    return {f"{item['name']}.{column['name']}": column for item in manifest["tables"] for column in item["columns"]}


def least_crowd(manifest: Mapping[str, Any]) -> int:
    """Return the least number of records (or persons) that its models let stand alone; at least 1.

    Where a model is not of this package, or was written with what no longer is there, it is the smallest class.
    """
    counts = manifest["persons"] if is_of_tables(manifest) else manifest["ledger"]
    found = [1, *(int(match[1] or 1) for text in counts.values() if (match := _coarse(text)) is not None)]
    for model in manifest["models"]:
        own = {name: value for name, value in model.items() if name not in ("type", "column")}
        kind = "k_anonymity" if model["type"] == "profile_k" and is_of_tables(manifest) else model["type"]
        least = partial(_least_of, kind, own, model.get("column"))
        try:
            found.append(attempt("A model", least))
        except SqlanonError:
            found.append(int(counts.get("smallest_class") or 1))
    return max(found)


def _least_of(kind: str, parameters: Mapping[str, Any], column: str | None) -> int:
    return least_count([NOTHING.privacy_model(kind, parameters, column)])


def _coarse(value: Any) -> re.Match[str] | None:
    return COARSE.fullmatch(value) if isinstance(value, str) else None


def _fault(document: Any, *, several: bool) -> str | None:
    """Return what is wrong with the document of a manifest; None: it is what a run writes."""
    version = document.get("manifest_version") if isinstance(document, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        return "it is no manifest of a release"
    if version != VERSION:
        return f"it is of version {version}, and this sqlanon reads version {VERSION}"
    if is_of_tables(document) != several:
        one, more = "one table", "several tables"
        return f"it is of {more if not several else one}, and the policy publishes {one if not several else more}"
    wrong = [name for name, holds in _kinds(several=several).items() if not holds(document.get(name))]
    return f"its key {wrong[0]!r} is not what a run writes" if wrong else None


def _kinds(*, several: bool) -> dict[str, Callable[[Any], bool]]:
    own: dict[str, Callable[[Any], bool]] = (
        {"tables": _are_tables, "persons": partial(_are_counts, needed=OF_PERSONS)}
        if several
        else {"columns": _are_columns, "ledger": partial(_are_counts, needed=ACCOUNT)}
    )
    return {
        FINGERPRINT: lambda value: isinstance(value, str) and DIGEST.fullmatch(value) is not None,
        "models": _are_models,
        **own,
        "certificate": _is_certificate,
        "hierarchies": lambda value: value is None or _are_digests(value),
        "entity_digest": lambda value: value is None or _are_digests({"": value}),
        "handling": lambda value: value is None or _is_handling(value),
        "versions": lambda value: isinstance(value, dict) and all(isinstance(item, str) for item in value.values()),
    }


def _are_models(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(model, dict)
        and isinstance(model.get("type"), str)
        and isinstance(model.get("column", ""), str)
        and all(isinstance(model.get(name, 1), int | float) for name in ("k", "l"))
        for model in value
    )


def _are_digests(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) and DIGEST.fullmatch(each) for each in value.values())


def _is_handling(value: Any) -> bool:
    return isinstance(value, dict) and value.get("nulls") in ("basic", "extended")


def _are_columns(value: Any) -> bool:
    return _are_named(value) and all(isinstance(column.get("role"), str) for column in value)


def _are_tables(value: Any) -> bool:
    return _are_named(value) and all(
        _is_count(item.get("published")) and _is_parent(item.get("parent", {})) and _are_columns(item.get("columns"))
        for item in value
    )


def _is_parent(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _are_named(value: Any) -> bool:
    """Return whether this is a list of mappings, each with a name of its own."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return False
    names = [item.get("name") for item in value]
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _are_counts(value: Any, needed: tuple[str, ...]) -> bool:
    if not isinstance(value, dict) or not set(needed) <= value.keys():
        return False
    return all(
        value.get(name) is None or _is_count(value[name]) or _coarse(value[name]) is not None
        for name in (*ACCOUNT, *SIZES)
    )


def _is_certificate(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("measure"), str):
        return False
    texts = (value.get("aggregate"), value.get("strategy"))
    loss = value.get("loss")
    known = loss is None or (isinstance(loss, int | float) and not isinstance(loss, bool))
    return known and all(text is None or isinstance(text, str) for text in texts)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
