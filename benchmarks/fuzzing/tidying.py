"""Take out of a random policy what its own keys rule out, so that most cases end in a release and not in a refusal."""

from __future__ import annotations

import random
from typing import Any

from fuzzing.cases import Case
from fuzzing.columns import NESTED, NUMBERS

NO_QUASI_IDENTIFIERS = (*NESTED, "BLOB", "BIT", "INTERVAL")
OF_RELEASE = ("average_risk", "sample_uniqueness", "population_uniqueness", "bounded_knowledge")
ABOVE_RECORDS = (*OF_RELEASE, "k_map", "delta_presence")


def tidy(rng: random.Random, case: Case) -> None:
    """Leave out what cannot stand together."""
    document, columns = case.document, case.document["columns"]
    types = {column.name: column.type for column in case.columns}
    document["undeclared"] = "drop"
    for name in [*columns]:
        role = columns[name]["role"]
        if role in ("quasi_identifier", "sensitive") and types[name] in NO_QUASI_IDENTIFIERS:
            columns[name] = {"role": "drop"}
            case.trees.pop(name, None)
        elif role == "shift" and (case.entity is None or types[name] != "DATE"):
            columns[name] = {"role": "drop"}
        elif role == "shift" and "key" not in document:
            (case.folder / "secret.key").write_text("0123456789abcdef0123456789abcdef")
            (case.folder / "secret.key").chmod(0o600)
            document["key"] = {"file": "secret.key"}
        elif role == "quasi_identifier":
            _tidy_levels(case, name, columns[name])
        elif role == "keep" and columns[name].get("with") not in (None, *case.named("quasi_identifier")):
            del columns[name]["with"]
    for name in case.named("sensitive"):
        columns[name].setdefault("models", [{"type": "distinct_l_diversity", "l": 2}])
    if not {column["role"] for column in columns.values()} - {"drop", "pseudonym"}:
        columns[case.columns[-1].name] = {"role": "keep"}
    shown = [name for name, column in columns.items() if column["role"] in ("keep", "sensitive")]
    document |= {"accept": shown} if shown else {}
    _tidy_publish(rng, case, types)
    _tidy_live(case)
    _tidy_models(case)
    _tidy_transformation(case)


def _tidy_levels(case: Case, name: str, declared: dict[str, Any]) -> None:
    tree = case.trees[name]
    if declared.get("uncovered") == "top" and (tree is None or tree.root is None or tree.height == 1):
        declared["uncovered"] = "suppress"
    height = tree.height - 1 if tree is not None else 1
    for key in ("min_level", "max_level"):
        if key in declared:
            declared[key] = min(declared[key], height)


def _tidy_publish(rng: random.Random, case: Case, types: dict[str, str]) -> None:
    document = case.document
    if "publish" in document:
        fit = {}
        for name, wanted in document["publish"].items():
            hierarchy = document["columns"][name].get("hierarchy", {}).keys()
            if (types[name] in NUMBERS or hierarchy & {"intervals", "dates"}) and "class_mean" not in wanted["as"]:
                fit[name] = wanted
        document["publish"] = fit
        if not fit or document.get("suppressed") == "redact" or "live_view" in (document.get("output") or {}):
            del document["publish"]
    if '"' in str((document.get("output") or {}).get("view", "")) and rng.random() < 0.9:
        document["output"] = {"view": "released"}


def _tidy_live(case: Case) -> None:
    document = case.document
    if "live_view" not in (document.get("output") or {}):
        return
    document.pop("suppressed", None)
    document.pop("transformation", None)
    if document.get("uncovered") == "top":
        del document["uncovered"]
    for column in document["columns"].values():
        column.pop("with", None)
        if column.get("uncovered") == "top":
            column["uncovered"] = "suppress"
        if column["role"] in ("pseudonym", "shift"):
            column.clear()
            column["role"] = "drop"
    document.pop("key", None)
    document["privacy"] = [m for m in document["privacy"] if m["type"] not in (*OF_RELEASE, "profile_k", "k_map")]


def _tidy_models(case: Case) -> None:
    document = case.document
    roles = {column["role"] for column in document["columns"].values()}
    models = [model for model in document["privacy"] if case.entity is None or model["type"] not in OF_RELEASE]
    profiles = [model for model in models if model["type"] == "profile_k"]
    if profiles:
        models = [model for model in models if model["type"] not in (*ABOVE_RECORDS, "k_anonymity")]
        for model in profiles:
            model["k"] = max(2, model["k"])
        if "at_most" in profiles[0]:
            models = profiles
            for name in case.named("sensitive"):
                document["columns"][name] = {"role": "keep"}
            document["accept"] = [*case.named("keep")]
        for column in document["columns"].values():
            column.pop("with", None)
    if "pseudonym" not in roles and "shift" not in roles:
        document.pop("key", None)
    document["privacy"] = models or [{"type": "k_anonymity", "k": 2}]
    if document.get("quality", {}).get("measure") == "non_uniform_entropy":
        document["quality"] = {"measure": "loss"}


def _tidy_transformation(case: Case) -> None:
    document = case.document
    kind = document.get("transformation", {}).get("type", "full_domain")
    if kind == "full_domain":
        return
    if case.entity is not None or not case.named("quasi_identifier"):
        del document["transformation"]
        return
    document["privacy"] = [model for model in document["privacy"] if model["type"] not in OF_RELEASE]
    for column in document["columns"].values():
        column["models"] = [m for m in column.get("models", ()) if m["type"] != "delta_disclosure"]
        if not column["models"]:
            del column["models"]
            if column["role"] == "sensitive":
                column["role"] = "keep"
    document["quality"] = {"measure": "loss"}
    if kind == "patterns":
        document.pop("search", None)
        document.pop("publish", None)
        document.pop("suppressed", None)
        types = ("k_map", "delta_presence")
        document["privacy"] = [m for m in document["privacy"] if m["type"] not in types] or [
            {"type": "k_anonymity", "k": 2}
        ]
        quasi = case.named("quasi_identifier")
        if len(quasi) > 5:  # very many sets of columns are tried
            document["search"] = {"time_limit": 3}
        if "never" in document["transformation"]:
            document["transformation"]["never"] = quasi[:1]
        for name in quasi:
            for key in ("min_level", "max_level"):
                document["columns"][name].pop(key, None)
    document["privacy"] = document["privacy"] or [{"type": "k_anonymity", "k": 2}]
