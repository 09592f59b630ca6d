"""What a page offers to choose from: kinds of hierarchies and privacy models, with what each of them takes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import yaml

from sqlanon.assess.profiling.facts import ColumnProfile
from sqlanon.core.hierarchies import specs
from sqlanon.core.policy.extensions import NOTHING
from sqlanon.errors import InputError
from sqlanon.parameters import Parameter, ValueCheck

HIERARCHIES: Mapping[str, tuple[str, tuple[Parameter, ...]]] = {
    "intervals": ("ranges of numbers", specs.Intervals.options),
    "dates": ("parts of dates", specs.Dates.options),
    "ages": ("ages of dates of birth", specs.Ages.options),
    "prefix": ("first characters", specs.Prefix.options),
    "redact": ("masked characters", specs.Redact.options),
    "frequent": ("frequent values, and the rest", specs.FrequentValues.options),
    "groups": ("groups by hand", ()),
    "codes": ("a system of codes", specs.Codes.options),
    "zip3": ("ZIP codes of the US, by three digits", specs.Zip3.options),
    "suppress": ("kept or suppressed", ()),
    "file": ("a file of levels", specs.FileHierarchy.options),
    "table": ("a table of levels", ()),
    "levels": ("levels by hand", ()),
}
"""By the key of a policy: what it is in words, and its options."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option with its value as it is typed; ``words`` are what it may be, where these are few."""

    name: str
    about: str
    value: str
    words: tuple[str, ...] = ()
    required: bool = False


def hierarchy_of(keys: Mapping[str, Any]) -> tuple[str, list[Option]]:
    """Return the kind of a column's hierarchy, and its options with their values."""
    written = keys.get("hierarchy")
    if isinstance(written, str):
        written = {"file": {"file": written}}
    if not written:
        return "", []
    [(kind, given)] = written.items() if len(written) == 1 else (("file", written),)
    if kind == "groups":
        return kind, [Option("groups", "A group a line: its name, a colon, and its values with commas.", _lines(given))]
    if kind not in HIERARCHIES or not HIERARCHIES[kind][1]:
        about = {"table": "The name of the table.", "levels": "Each value with its levels."}.get(kind, "")
        return kind, [Option("", about, typed(given))] if about else []
    options = HIERARCHIES[kind][1]
    if not isinstance(given, Mapping):
        given = {options[0].name: given}
    return kind, _options(options, given)


def models_for(column: bool) -> list[str]:
    """Return the types of models that stand under a sensitive column, or under ``privacy``."""
    known = (name for name in NOTHING.names("models") if name != "k_anonymity")
    return [name for name in known if bool(getattr(NOTHING.model(name), "watches", False)) is column]


def parameters_of(model: Mapping[str, Any]) -> list[Option]:
    """Return the parameters of a model with their values."""
    given = {name: value for name, value in model.items() if name != "type"}
    return _options(tuple(getattr(NOTHING.model(model["type"]), "parameters", ())), given)


def _options(parameters: tuple[Parameter, ...], given: Mapping[str, Any]) -> list[Option]:
    options = []
    for each in parameters:
        words = tuple(each.check.words) if isinstance(each.check, ValueCheck) else ()
        value = typed(given[each.name]) if each.name in given else ""
        about = each.about + (f" For example {each.example}." if each.example and not words else "")
        options.append(Option(each.name, about, value, words, each.required))
    return options


def listed(models: Any) -> list[dict[str, Any]]:
    """Return models as a list: a policy may have one alone."""
    return list(models) if isinstance(models, list) else [models]


def typed(value: Any) -> str:
    """Return a value as a person types it."""
    if isinstance(value, str):
        return value
    return yaml.safe_dump(value, default_flow_style=True, width=10**9, allow_unicode=True).removesuffix("...\n").strip()


def example_of(kind: str, profile: ColumnProfile | None) -> Any:
    """Return what a hierarchy or model of a kind begins with: what its documentation has as an example.

    Raises:
        InputError: there is no such kind.
    """
    if kind in HIERARCHIES:
        spread = None if profile is None else profile.spread
        if kind == "intervals" and spread is not None:
            width = max(spread.step, round((spread.q95 - spread.q05) / 20 / spread.step) * spread.step) or 1
            width = int(width) if float(width).is_integer() else width
            return {"width": width, "fanouts": [2, 2]}
        by_class = {"suppress": {}, "groups": {"others": ["-"]}, "levels": {"-": ["*"]}, "zip3": {}, "table": "levels"}
        if kind in by_class:
            return by_class[kind]
        spec: Any = next(item for item in vars(specs).values() if getattr(item, "kind", None) == kind)
        return yaml.safe_load(spec.example)
    if kind in NOTHING.names("models"):
        needed = [each for each in getattr(NOTHING.model(kind), "parameters", ()) if each.required]
        values = {each.name: yaml.safe_load(each.example) for each in needed}
        return {"type": kind} | {k: 5 if isinstance(v, Mapping | list) and k == "k" else v for k, v in values.items()}
    raise InputError("The page asks for what this version does not know.", hint="load the page anew.")


def read_groups(text: str) -> dict[str, list[str]]:
    """Return groups that were typed: lines of a name, a colon, and values with commas; or a mapping in braces.

    Raises:
        InputError: a line has no colon, or no value, or a name stands twice.
    """
    groups: dict[str, list[str]] = {}
    if text.lstrip().startswith("{"):
        with suppress(yaml.YAMLError, ValueError, RecursionError):
            given = yaml.safe_load(text)
            if isinstance(given, dict) and all(isinstance(values, list) for values in given.values()):
                return given
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, values = line.partition(":")
        listed = [value.strip() for value in values.split(",") if value.strip()]
        if not colon or not name.strip() or not listed or name.strip() in groups:
            raise InputError("A line is no group.", hint="write a name, a colon, and values with commas; a name once.")
        groups[name.strip()] = listed
    if not groups:
        raise InputError("There is no group.", hint="write a name, a colon, and its values with commas, line by line.")
    return groups


def _lines(groups: Any) -> str:
    """Return groups as lines; as a mapping in braces where lines would be read as other groups."""
    if isinstance(groups, Mapping) and all(isinstance(values, list) for values in groups.values()):
        lines = "\n".join(f"{name}: {', '.join(map(str, values))}" for name, values in groups.items())
        with suppress(InputError):
            if read_groups(lines) == groups:
                return lines
    return typed(groups)
