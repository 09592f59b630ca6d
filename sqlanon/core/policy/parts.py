"""Parts of a policy whose fields are their keys: read, judged, written and described by what each field says of itself.

``entry`` says all that is known of a key: what it may be, what it means, how it is written. ``sqlanon schema``,
``sqlanon help`` and docs/reference/policy-keys.md are made of ``keys_of`` a part, and defaults are those of its fields.
What several keys have to do with each other is checked beside the part. docs/design/policy.md says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from sqlanon.core.plain import plain
from sqlanon.core.policy.faults import Faults
from sqlanon.parameters import TEXT, Parameter, ValueCheck, anything, names_of, or_nothing

ALWAYS, CHANGED, HERE, PATH = "always", "changed", "here", "path"
"""When a key is written: always; if its value is not the default; so too, but not to stand for the policy on other
machines, as it does not change the release; and the path of a file, which is its name on other machines."""
NAMES_OR_NAME = "names_or_name"
LISTED = ("names", NAMES_OR_NAME, "listed")
"""Kinds of values that are kept as tuples."""


def entry(
    check: ValueCheck,
    default: Any = None,
    *,
    about: str,
    example: str,
    unit: str = "",
    page: str = "",
    without: str = "",
    kept: str = CHANGED,
) -> Any:
    """Return the field of a key.

    Args:
        default: also a class, whose empty object it is. ``MISSING``: a policy must name the key. None: null stands for
            a key that is left out.
        without: what holds without the key, in words, where the default does not say so.
        kept: when it is written: ``ALWAYS``, ``CHANGED``, ``HERE`` or ``PATH``.
    """
    check = or_nothing(check) if default is None else check
    parameter = Parameter("", check, default is MISSING, about, unit, example, page, without)
    metadata = {"key": parameter, "kept": kept}
    if isinstance(default, type):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


class PolicyPart:
    """A part of a policy. While it is constructed its values are made plain, and lists of names tuples."""

    __slots__ = ()
    order: ClassVar[tuple[str, ...]] = ()
    """The fields that are written, and hashed, before the others."""
    alone: ClassVar[str] = ""
    """The key that a text means which stands for the mapping."""
    built: ClassVar[str] = ""
    """How Python builds one, for hints."""
    called: ClassVar[Mapping[str, str]] = {}
    """The keys of fields that have another name."""

    def __post_init__(self) -> None:
        for each in [known for known in _fields(self) if known.compare]:
            object.__setattr__(self, each.name, _settled(each, plain(getattr(self, each.name))))


AnyPart = TypeVar("AnyPart", bound=PolicyPart)


def part_of(kind: type[PolicyPart], label: str = "mapping", keys: Sequence[Parameter] = ()) -> ValueCheck:
    """Return the description of a value that is a part of a policy; ``keys`` if its keys are not its fields alone."""
    known = tuple(keys or keys_of(kind))
    return ValueCheck(anything, TEXT if kind.alone else {}, label, "mapping", keys=known, or_nothing=True, part=kind)


def keys_of(kind: type[PolicyPart]) -> tuple[Parameter, ...]:
    """Return the keys of a part, in the order of its fields."""
    return tuple(parameter for _, parameter in _keys(kind).values())


def read(faults: Faults, place: str, value: Any, kind: type[AnyPart]) -> AnyPart:
    """Return the part that a document describes, with the parts in it; what has no place in it is a fault."""
    if kind.alone and isinstance(value, str):
        value = {kind.alone: value}
    return of_keys(faults, place, faults.mapping(place, value, names_of(keys_of(kind))), kind)


def of_keys(faults: Faults, place: str, keys: Mapping[str, Any], kind: type[AnyPart], /, **others: Any) -> AnyPart:
    """Return the part of keys that it knows; ``others`` are fields that are no keys."""
    return kind(**fields_of_keys(faults, place, keys, kind), **others)


def fields_of_keys(faults: Faults, place: str, keys: Mapping[str, Any], kind: type[PolicyPart]) -> dict[str, Any]:
    """Return the fields of keys that a part knows, with the parts in them read; what null leaves out is left out."""
    found = {}
    for name, value in keys.items():
        each, parameter = _keys(kind)[name]
        known = parameter.check
        if isinstance(known, ValueCheck) and known.or_nothing and value is None:
            continue
        if isinstance(known, ValueCheck) and known.kind == "mapping" and known.part and isinstance(value, Mapping):
            value = read(faults, f"{place}.{name}", value, known.part)
        found[each.name] = value
    return found


def check(faults: Faults, place: str, part: PolicyPart, *, beside: Sequence[str] = ()) -> None:
    """Note the faults of each key of a part by itself, but for those of ``beside``."""
    for name, (each, parameter) in _keys(type(part)).items():
        value = getattr(part, each.name)
        if name not in beside and (value is not None or each.default is not None):
            faults.value(f"{place}.{name}" if place else name, value, parameter)


def written(part: PolicyPart, *, portable: bool = False, instead: Mapping[str, Any] = {}) -> dict[str, Any]:
    """Return the keys of a policy file.

    Args:
        portable: leave out folders and what does not change the result.
        instead: what is written of some fields; None is nothing.
    """
    known = {each.name: (each, name) for name, (each, _) in _keys(type(part)).items()}
    result: dict[str, Any] = {}
    for field_name in dict.fromkeys((*part.order, *known)):
        each, name = known[field_name]
        value, kept = getattr(part, field_name), each.metadata["kept"]
        usual = each.default if each.default_factory is MISSING else each.default_factory()
        if field_name in instead:
            value, usual = instead[field_name], None
        if value is None or (kept != ALWAYS and value == usual) or (kept == HERE and portable):
            continue
        result[name] = as_keys(_name(value) if kept == PATH and portable else value, portable=portable)
    return result


def as_keys(value: Any, *, portable: bool = False) -> Any:
    """Return a value of a policy as a policy file has it."""
    if isinstance(value, PolicyPart):
        return written(value, portable=portable)
    if isinstance(value, Mapping):
        return {name: as_keys(item, portable=portable) for name, item in value.items()}
    return [as_keys(item, portable=portable) for item in value] if isinstance(value, list | tuple) else value


def _name(path: Any) -> Any:
    """Return the name of a file, or those of files, without folders."""
    return Path(path).name if isinstance(path, str) else [Path(each).name for each in path]


def _fields(part: Any) -> tuple[Field[Any], ...]:
    """Return the fields of a part, or of its class: each is a dataclass."""
    return fields(part)


def _keys(kind: Any) -> Mapping[str, tuple[Field[Any], Parameter]]:
    """Return the keys of a part by name, each with its field."""
    return _keys_of_class(kind)


@cache
def _keys_of_class(kind: Any) -> Mapping[str, tuple[Field[Any], Parameter]]:
    stated = {kind.called.get(each.name, each.name): each for each in _fields(kind) if "key" in each.metadata}
    return {name: (each, replace(each.metadata["key"], name=name)) for name, each in stated.items()}


def _in_tuples(value: Any) -> Any:
    """Return lists as tuples, at any depth."""
    return tuple(map(_in_tuples, value)) if isinstance(value, list | tuple) else value


def _settled(each: Field[Any], value: Any) -> Any:
    """Return the value of a field as it is kept: a list as a tuple; a name, where one may stand for a list, in one."""
    kind = each.metadata["key"].check.kind if "key" in each.metadata else ""
    if kind == NAMES_OR_NAME and isinstance(value, str):
        return (value,)
    return _in_tuples(value) if kind in LISTED else value
