"""A policy as it was written: its places with ``${NAME}`` in them, for whatever describes it to a person or a file."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from sqlanon.core.hierarchies import specs
from sqlanon.core.policy.facts import Model, Output, PolicyFacts
from sqlanon.core.policy.paths import is_url
from sqlanon.core.policy.variables import VARIABLE, KeyPath, WrittenPlace, escape

SHORTEST = 3
"""Characters of the values that messages are searched for; shorter ones stand in too many words."""
AnyPolicy = TypeVar("AnyPolicy", bound=PolicyFacts)


def as_written(policy: AnyPolicy, *, to_read_again: bool = False) -> AnyPolicy:
    """Return a policy whose places hold the text that was written. It describes; it finds nothing.

    Args:
        to_read_again: keep defaults and folders, so that reading the text leads to the same places; otherwise only the
            names of variables are left.
    """
    if not policy.variables:
        return policy
    shown = copy.copy(policy)
    places = []
    for place in policy.variables:
        text = _located(policy, place) if to_read_again else brief(place.written)
        if _held(policy, place.path) in (place.value, policy.resolve(place.value)):
            name, *rest = place.path
            object.__setattr__(shown, str(name), _changed(getattr(shown, str(name)), rest, text))
            places.append(replace(place, value=text))
    object.__setattr__(shown, "variables", tuple(places))
    return shown


def brief(written: str) -> str:
    """Return a text with its variables by name alone.

    >>> brief("${DATA:-/srv/data}/a$$b.csv")
    '${DATA}/a$b.csv'
    """
    return VARIABLE.sub(lambda found: f"${{{found['name']}}}" if found["name"] else "$", written)


def _located(policy: PolicyFacts, place: WrittenPlace) -> str:
    """Return a text that leads to the same place from any folder, where the policy keeps an absolute path."""
    if _held(policy, place.path) == place.value or is_url(place.value):
        return place.written
    absolute = Path(place.value).is_absolute()
    return place.written if absolute else f"{escape(str(policy.base_directory.absolute()))}/{place.written}"


def _held(policy: PolicyFacts, path: KeyPath) -> str | None:
    """Return the text that a policy holds in a place; None: there is no such place any more."""
    name, *rest = path
    held: Any = getattr(policy, str(name), None)
    for key in rest:
        if isinstance(held, tuple) and isinstance(key, int):
            held = held[key] if key < len(held) else None
        elif isinstance(held, tuple):
            held = next((item for item in held if item.name == key), None)
        elif isinstance(held, Output):
            held = held.target if held.kind == key else None
        elif isinstance(held, Model):
            held = held.parameters.get(str(key))
        elif isinstance(held, specs.FileHierarchy) and key == "file":
            held = str(held.path)
        elif isinstance(held, specs.Zip3) and key == "zip3":
            continue
        elif isinstance(held, dict):
            held = held.get(key)
        else:
            held = getattr(held, str(key), None)
    return None if held is None else str(held)


def _changed(held: Any, path: list[str | int], text: str) -> Any:
    """Return the value of a policy with a text in a place of it."""
    if not path:
        return Path(text) if isinstance(held, Path) else text
    key, *rest = path
    if isinstance(held, tuple):
        return tuple(
            _changed(item, rest, text) if key in (number, getattr(item, "name", None)) else item
            for number, item in enumerate(held)
        )
    if isinstance(held, Output):
        return replace(held, target=text)
    if isinstance(held, Model):
        return replace(held, parameters={**held.parameters, str(key): _changed(held.parameters[str(key)], rest, text)})
    if isinstance(held, dict):
        return {**held, key: _changed(held[key], rest, text)}
    if isinstance(held, specs.FileHierarchy) and key == "file":
        return replace(held, path=Path(text))
    if isinstance(held, specs.Zip3):
        return specs.Zip3(Path(text), held.at_most)
    return replace(held, **{str(key): _changed(getattr(held, str(key)), rest, text)})


def conceal(text: str, variables: Iterable[WrittenPlace], base: Path) -> str:
    """Return a message in which what the variables stand for is replaced by their names."""
    if not (hidden := _hidden(variables, base)):
        return text
    longest = sorted(hidden, key=len, reverse=True)
    return re.sub(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)", lambda found: hidden[found[0]], text)


def _hidden(variables: Iterable[WrittenPlace], base: Path) -> dict[str, str]:
    """Return the texts that would show the value of a variable, each with what stands in its place."""
    pairs: list[tuple[str, str]] = []
    for place in variables:
        shown = brief(place.written)
        pairs += [(place.value, shown), (Path(place.value).name, Path(shown).name)]
        if not is_url(place.value):
            pairs.append((str((base / place.value).absolute()), shown))
        for name, value in place.variables:
            variable = f"${{{name}}}"
            path = Path(value)
            pairs += [(value, variable), (path.name, variable), (str(path.parent), f"{variable}/..")]
            pairs += [(password, "***") for password in _passwords(value)]
    found: dict[str, str] = {}
    for value, shown in pairs:
        if len(value) >= SHORTEST and value not in shown:
            found.setdefault(value, shown)
    return found


def _passwords(value: str) -> list[str]:
    try:
        parts = urlsplit(value if is_url(value) else "")
    except ValueError:
        return []
    asked = [text for key, texts in parse_qs(parts.query).items() if "password" in key.lower() for text in texts]
    return asked if parts.password is None else [parts.password, *asked]
