"""Reading and checking a policy at the border: every fault is collected and all are raised together.

Messages name keys, columns and numbers, never values of a hierarchy.
"""

from __future__ import annotations

import difflib
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import yaml

from sqlanon.errors import Fault, InputError, PolicyError
from sqlanon.hierarchy_parsing import parse_hierarchy
from sqlanon.policy import (
    ROLES,
    Column,
    EngineOptions,
    Model,
    Output,
    Policy,
    Quality,
    SearchOptions,
)

MODELS = {
    "k_anonymity": ("k",),
    "distinct_l_diversity": ("l",),
    "entropy_l_diversity": ("l",),
    "recursive_l_diversity": ("l", "c"),
    "t_closeness": ("t", "distance"),
    "delta_presence": ("min", "max", "subset", "public_only"),
}
MEASURES = (
    "loss",
    "non_uniform_entropy",
    "precision",
    "discernibility",
    "average_class_size",
    "weighted_information_loss",
    "height",
)
STRATEGIES = (
    "auto",
    "box",
    "exhaustive",
    "flash",
    "flash_two_phase",
    "ola",
    "incognito",
    "best_first",
    "anon",
    "datafly",
    "igreedy",
)
AGGREGATES = ("arithmetic_mean", "sum", "geometric_mean", "maximum")
PRIVACY_MODELS = ("k_anonymity", "delta_presence")
"""Models of all records; the others stand under the sensitive column they watch."""
DISTANCES = ("equal", "hierarchical", "ordered")
AVAILABLE_STRATEGIES = tuple(name for name in STRATEGIES if name != "anon")
TOP_KEYS = (
    "version", "source", "table", "csv", "columns", "undeclared", "uncovered", "privacy", "suppression_limit",
    "suppression_count", "nulls", "quality", "search", "suppressed", "output", "if_exists", "engine",
)  # fmt: skip
COLUMN_KEYS = ("role", "hierarchy", "min_level", "max_level", "weight", "uncovered", "models")
CHOICES = {
    "undeclared": ("error", "drop"),
    "uncovered": ("error", "top", "suppress"),
    "nulls": ("extended", "basic"),
    "suppressed": ("drop", "redact"),
    "if_exists": ("error", "replace"),
}
FILE_SUFFIXES = (".duckdb", ".parquet", ".csv")


class Faults:
    """Collects faults; the parser goes on after each of them."""

    def __init__(self) -> None:
        self.items: list[Fault] = []

    def add(self, key: str, message: str, hint: str) -> None:
        """Note a fault."""
        self.items.append(Fault(key, message, hint))

    def mapping(self, key: str, value: Any, allowed: Sequence[str]) -> dict[str, Any]:
        """``value`` as a mapping with known keys only; anything else is a fault and is left out."""
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.add(key, "This is not a mapping.", f"write key: value pairs with the keys {', '.join(allowed)}.")
            return {}
        for name in value:
            if name not in allowed:
                close = difflib.get_close_matches(str(name), allowed, 1)
                hint = f"did you mean {close[0]!r}?" if close else f"the keys are {', '.join(allowed)}."
                self.add(f"{key}.{name}" if key else str(name), "This key is not known.", hint)
        return {str(name): item for name, item in value.items() if name in allowed}

    def choice(self, key: str, value: Any, known: Sequence[str], available: Sequence[str] = ()) -> None:
        """A fault unless ``value`` is one of ``known`` (and of ``available``, if given)."""
        if not isinstance(value, str) or value not in known:
            close = difflib.get_close_matches(str(value), known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(known)}."
            self.add(key, "This is not a known choice.", hint)
        elif available and value not in available:
            self.add(key, f"{value} is not available in this version.", f"choose one of {', '.join(available)}.")

    def integer(self, key: str, value: Any, least: int) -> bool:
        """True when ``value`` is a whole number of at least ``least``."""
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.add(key, "This is not a whole number in the range.", f"give a whole number of at least {least}.")
            return False
        return True

    def number(self, key: str, value: Any, least: float, most: float = math.inf) -> bool:
        """True when ``value`` is a finite number in [least, most]."""
        fits = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        if not fits or not math.isfinite(value) or not least <= value <= most:
            told = f"of at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
            self.add(key, "This is not a number in the range.", f"give a finite number {told}.")
            return False
        return True

    def text(self, key: str, value: Any) -> bool:
        """True when ``value`` is a text that is not empty."""
        if not isinstance(value, str) or not value:
            self.add(key, "This is not a text.", "give a text that is not empty.")
            return False
        return True

    def finish(self) -> None:
        """Raise everything that was collected."""
        if self.items:
            raise PolicyError(self.items)


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


def load(path: Path) -> Policy:
    """Read a policy file by its ending (see ``Policy.from_file``)."""
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
    return parse(document, path.absolute().parent)


def _safe(error: yaml.MarkedYAMLError) -> bool:
    return error.problem == "a key stands twice"


def parse(document: Any, base_directory: Path) -> Policy:
    """Make a policy from a document (see ``Policy.from_dict``)."""
    faults = Faults()
    if not isinstance(document, Mapping):
        faults.add("policy", "The document is not a mapping.", "start with the keys source, columns and privacy.")
        faults.finish()
    keys = faults.mapping("", document, TOP_KEYS)
    if keys.get("version", 1) != 1 or isinstance(keys.get("version"), bool):
        faults.add("version", "This version of the policy schema is not known.", "say version: 1.")
    for key in ("source", "table"):
        if keys.get(key) is not None:
            faults.text(key, keys[key])
    for key, known in CHOICES.items():
        if key in keys:
            faults.choice(key, keys[key], known)
    quality = faults.mapping("quality", keys.get("quality"), ("measure", "aggregate"))
    search = faults.mapping("search", keys.get("search"), ("strategy", "time_limit", "max_evaluations", "gap"))
    engine = faults.mapping("engine", keys.get("engine"), ("memory_limit", "threads", "temp_directory"))
    columns = _columns(faults, keys.get("columns"), base_directory)
    privacy = _models(faults, "privacy", keys.get("privacy"))
    limit, count = _suppression(faults, keys)
    output = _output(faults, keys.get("output"), base_directory)
    csv = _csv(faults, keys.get("csv"))
    _engine(faults, engine)
    source = keys.get("source")
    if isinstance(source, str) and "table" not in keys and source.endswith((".duckdb", ".db", ".ddb")):
        faults.add("table", "A database source needs a table.", "add the key table.")
    made = {
        "source": source,
        "table": keys.get("table"),
        "csv": csv,
        "columns": columns,
        "privacy": privacy,
        "suppression_limit": limit,
        "suppression_count": count,
        "quality": Quality(**quality),
        "search": SearchOptions(**search),
        "output": output,
        "engine": EngineOptions(**engine),
        "base_directory": base_directory,
        **{key: keys[key] for key in CHOICES if key in keys},
    }
    _check_parts(faults, columns, privacy, made["quality"], made["search"])
    faults.finish()
    return Policy(**made)


def check(policy: Policy) -> None:
    """The faults of a policy built from dataclasses."""
    faults = Faults()
    for key, known in CHOICES.items():
        faults.choice(key, getattr(policy, key), known)
    _check_parts(faults, policy.columns, policy.privacy, policy.quality, policy.search)
    if not isinstance(policy.suppression_limit, Decimal) or not 0 <= policy.suppression_limit <= 1:
        faults.add("suppression_limit", "This is not a share.", "give a Decimal between 0 and 1.")
    faults.finish()


def _check_parts(
    faults: Faults, columns: Sequence[Column], privacy: Sequence[Model], quality: Quality, search: SearchOptions
) -> None:
    """What parsed and hand-made policies share."""
    seen: dict[str, str] = {}
    if not columns:
        faults.add("columns", "There is no column.", "declare each column of the source with a role.")
    for column in columns:
        twin = seen.setdefault(column.name.casefold(), column.name)
        if twin != column.name or sum(c.name == column.name for c in columns) > 1:
            faults.add(f"columns.{column.name}", "Another column has this name, in whatever case.", "rename one.")
        _check_column(faults, column)
    if columns and all(c.role == "drop" for c in columns):
        faults.add("columns", "Every column is dropped.", "keep a column, or declare a quasi_identifier.")
    if not privacy and not any(c.models for c in columns):
        faults.add("privacy", "There is no privacy model.", "add {type: k_anonymity, k: 5}, say.")
    for number, model in enumerate(privacy):
        check_model(faults, f"privacy[{number}]", model, PRIVACY_MODELS)
    subsets = [m.parameters.get("subset") for m in privacy if m.type == "delta_presence"]
    if any(subset != subsets[0] for subset in subsets):
        faults.add("privacy", "The δ-presence models name different subsets.", "name one subset.")
    faults.choice("quality.measure", quality.measure, MEASURES)
    if quality.aggregate is not None:
        faults.choice("quality.aggregate", quality.aggregate, AGGREGATES)
    faults.choice("search.strategy", search.strategy, STRATEGIES, AVAILABLE_STRATEGIES)
    if search.time_limit is not None:
        faults.number("search.time_limit", search.time_limit, 0)
    if search.max_evaluations is not None:
        faults.integer("search.max_evaluations", search.max_evaluations, 1)
    faults.number("search.gap", search.gap, 0, 0.999999)


def _check_column(faults: Faults, column: Column) -> None:
    key = f"columns.{column.name}"
    if not column.name:
        faults.add("columns", "A column has no name.", "name it as in the source.")
    if column.role not in ROLES:
        faults.add(f"{key}.role", "This role is not known.", f"choose one of {', '.join(ROLES)}.")
    if column.role == "quasi_identifier" and column.hierarchy is None:
        faults.add(
            f"{key}.hierarchy", "A quasi-identifier needs a hierarchy.", "add one, e.g. hierarchy: {suppress: {}}."
        )
    if column.role in ("sensitive", "keep", "drop"):
        for name in ("min_level", "max_level", "uncovered"):
            if getattr(column, name) is not None:
                faults.add(f"{key}.{name}", "This key belongs to quasi-identifiers.", "remove it.")
    if column.role == "quasi_identifier" and column.models:
        faults.add(
            f"{key}.models", "A quasi-identifier takes no models.", "write k_anonymity under privacy, or use sensitive."
        )
    if column.role in ("keep", "drop"):
        for name, given in (("hierarchy", column.hierarchy), ("models", column.models or None)):
            if given is not None:
                faults.add(
                    f"{key}.{name}",
                    f"A column with the role {column.role} takes none.",
                    "remove it, or change the role.",
                )
    if column.role == "sensitive" and not column.models:
        faults.add(f"{key}.models", "A sensitive column needs a model.", "add one, or use the role keep.")
    for number, model in enumerate(column.models):
        check_model(faults, f"{key}.models[{number}]", model, tuple(set(MODELS) - set(PRIVACY_MODELS)))
        if model.parameters.get("distance") == "hierarchical" and column.hierarchy is None:
            faults.add(
                f"{key}.hierarchy", "A hierarchical distance needs a hierarchy.", "add one, or use distance: equal."
            )
    low, high = column.min_level, column.max_level
    fits = True
    for name, level in (("min_level", low), ("max_level", high)):
        fits = (level is None or faults.integer(f"{key}.{name}", level, 0)) and fits
    if fits and low is not None and high is not None and low > high:
        faults.add(f"{key}.min_level", f"min_level {low} is above max_level {high}.", "swap or remove one.")
    faults.number(f"{key}.weight", column.weight, 0)
    if column.uncovered is not None:
        faults.choice(f"{key}.uncovered", column.uncovered, CHOICES["uncovered"])


def check_model(faults: Faults, key: str, model: Model, here: Sequence[str], *, without: Sequence[str] = ()) -> None:
    """The faults of one model; ``here`` are the types that may stand in its place, ``without`` what it need not say."""
    faults.choice(f"{key}.type", model.type, tuple(MODELS))
    if model.type not in MODELS:
        return
    if model.type not in here:
        place = "under privacy" if model.type in PRIVACY_MODELS else "under models of the sensitive column it watches"
        faults.add(f"{key}.type", f"{model.type} does not belong here.", f"write it {place}.")
    given = faults.mapping(key, model.parameters, MODELS[model.type])
    optional = ("distance", "public_only", *without)
    for name in MODELS[model.type]:
        if name not in given and name not in optional:
            faults.add(f"{key}.{name}", f"{model.type} needs {name}.", f"add {name}.")
    for name, value in given.items():
        _check_parameter(faults, f"{key}.{name}", model.type, name, value)
    low, high = given.get("min"), given.get("max")
    if isinstance(low, int | float | Decimal) and isinstance(high, int | float | Decimal) and low > high:
        faults.add(f"{key}.min", "min is above max.", "swap them.")


def _check_parameter(faults: Faults, key: str, model: str, name: str, value: Any) -> None:
    if name == "k" or (name == "l" and model != "entropy_l_diversity"):
        faults.integer(key, value, 1)
    elif name == "l":
        faults.number(key, value, 1)
    elif name == "c":
        if faults.number(key, value, 0) and value == 0:
            faults.add(key, "No class meets c = 0.", "give a c above 0.")
        _check_decimals(faults, key, value)
    elif name in ("t", "min", "max"):
        faults.number(key, value, 0, 1)
        if name != "t":
            _check_decimals(faults, key, value)
    elif name == "distance":
        faults.choice(key, value, DISTANCES)
    elif name == "public_only":
        faults.choice(key, value, ("ignore", "reject"))
    elif name == "subset":
        _check_subset(faults, key, value)


def _check_decimals(faults: Faults, key: str, value: Any) -> None:
    """Fractions are compared exactly, as integers: with 18 decimals their products with counts fit 128 bits."""
    exponent = Decimal(str(value)).as_tuple().exponent if isinstance(value, int | float | Decimal) else 0
    if isinstance(exponent, int) and exponent < -18:
        faults.add(key, "This number has too many decimals.", "give at most 18.")


def _check_subset(faults: Faults, key: str, value: Any) -> None:
    kinds = ("file", "table", "column")
    options = ("delimiter", "null", "quote", "encoding", "header")
    if not isinstance(value, Mapping):
        faults.add(key, "This does not name a subset.", "write {file: …}, {table: …} or {column: …}.")
        return
    keys = faults.mapping(key, value, (*kinds, *options))
    named = [kind for kind in kinds if kind in keys]
    if len(named) != 1:
        faults.add(key, "This does not name exactly one subset.", "write {file: …}, {table: …} or {column: …}.")
        return
    faults.text(f"{key}.{named[0]}", keys[named[0]])
    if named != ["file"]:
        for option in (name for name in options if name in keys):
            faults.add(f"{key}.{option}", "This key belongs to files.", "remove it.")


def _columns(faults: Faults, value: Any, base_directory: Path) -> tuple[Column, ...]:
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
        hierarchy = keys.get("hierarchy")
        spec = None if hierarchy is None else parse_hierarchy(faults, f"{key}.hierarchy", hierarchy, base_directory)
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
                uncovered=keys.get("uncovered"),
                models=_models(faults, f"{key}.models", keys.get("models", [])),
            )
        )
    return tuple(columns)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal | int) and not isinstance(value, bool) else value


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


def model_named(text: str) -> tuple[str | None, Model]:
    """A model from the command line, ``column:type:key=value,…`` or ``type:key=value,…``, checked.

    Raises:
        PolicyError: it cannot be read, or has faults.
    """
    faults = Faults()
    parts = text.split(":")
    at = next((i for i, part in enumerate(parts) if part in MODELS), None)
    if at is None:
        faults.add(
            "model", "This names no privacy model.", f"write column:type:key=value, type one of {', '.join(MODELS)}."
        )
        faults.finish()
    assert at is not None
    column = ":".join(parts[:at]) or None
    parameters: dict[str, Any] = {}
    for pair in ":".join(parts[at + 1 :]).replace(":", ",").split(","):
        name, _, value = pair.partition("=")
        if pair:
            parameters[name.strip()] = _parameter(name.strip(), value.strip())
    extra = {name: parameters.pop(name) for name in ("hierarchy",) if name in parameters}
    model = Model(parts[at], parameters)
    here = PRIVACY_MODELS if column is None else tuple(set(MODELS) - set(PRIVACY_MODELS))
    check_model(faults, parts[at], model, here, without=("subset",))
    faults.finish()
    return column, Model(model.type, {**parameters, **extra})


def _parameter(name: str, value: str) -> Any:
    if name in ("distance", "public_only", "hierarchy"):
        return value
    try:
        number = Decimal(value)
    except InvalidOperation:
        return value
    return int(number) if number.is_finite() and number == int(number) else number


def _whole(value: float | Decimal) -> Any:
    return int(value) if math.isfinite(value) and value == int(value) else value


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


def _output(faults: Faults, value: Any, base_directory: Path) -> Output | None:
    kinds = ("view", "table", "file")
    if value is None:
        return None
    keys = faults.mapping("output", value, kinds)
    if len(keys) != 1:
        faults.add(
            "output",
            "This does not name exactly one target.",
            "write {file: release.parquet}, {table: …} or {view: …}.",
        )
        return None
    [(kind, target)] = keys.items()
    if not faults.text(f"output.{kind}", target):
        return None
    if kind == "file":
        if Path(target).suffix.lower() not in FILE_SUFFIXES:
            faults.add("output.file", "The file's ending is not known.", f"choose one of {', '.join(FILE_SUFFIXES)}.")
        target = str((base_directory / target).absolute())
    return Output(kind, target)


def _csv(faults: Faults, value: Any) -> dict[str, Any]:
    keys = faults.mapping("csv", value, ("delimiter", "null", "quote", "encoding", "header"))
    for key in ("delimiter", "quote", "encoding"):
        if key in keys:
            faults.text(f"csv.{key}", keys[key])
    if "header" in keys and not isinstance(keys["header"], bool):
        faults.add("csv.header", "This is not true or false.", "say header: true or header: false.")
    if "null" in keys and not isinstance(keys["null"], str):
        faults.add("csv.null", "This is not a text.", "put the text that stands for NULL in quotes.")
    return keys


def _engine(faults: Faults, keys: Mapping[str, Any]) -> None:
    if "threads" in keys:
        faults.integer("engine.threads", keys["threads"], 1)
    for key in ("memory_limit", "temp_directory"):
        if key in keys:
            faults.text(f"engine.{key}", keys[key])
