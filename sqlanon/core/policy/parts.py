"""Parts of a policy whose fields are their keys: read, judged, written and described by what each field says of itself.

``entry`` says all that is known of one: what it may be, what it means, how it is written. ``sqlanon schema``,
``sqlanon help`` and docs/reference/policy-keys.md are made of ``keys_of`` a part, and defaults are those of its fields.
What several keys have to do with each other is checked beside the part. docs/design.md says why no library does this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.plain import plain
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
    """Its fields in the order in which they are written and hashed, where that is not the order of the fields."""
    alone: ClassVar[str] = ""
    """The key that a text means which stands for the mapping."""
    called: ClassVar[Mapping[str, str]] = {}
    """The keys of fields that have another name."""

    def __post_init__(self) -> None:
        for each in _fields(self):
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
    for name, value in keys.items():
        each, parameter = _keys(kind)[name]
        if value is None and isinstance(parameter.check, ValueCheck) and parameter.check.or_nothing:
            continue
        inner = parameter.check.part if isinstance(parameter.check, ValueCheck) else None
        if inner is not None and isinstance(value, Mapping):
            value = read(faults, f"{place}.{name}", value, inner)
        others[each.name] = value
    return kind(**others)


def check(faults: Faults, place: str, part: PolicyPart, *, beside: Sequence[str] = ()) -> None:
    """Note the faults of each key of a part by itself, but for those of ``beside``."""
    for name, (each, parameter) in _keys(type(part)).items():
        if name not in beside:
            faults.value(f"{place}.{name}" if place else name, getattr(part, each.name), parameter)


def written(part: PolicyPart, *, portable: bool = False) -> dict[str, Any]:
    """Return the keys of a policy file; ``portable`` leaves out folders and what does not change the result."""
    known = {each.name: (each, name) for name, (each, _) in _keys(type(part)).items()}
    result: dict[str, Any] = {}
    for field_name in part.order or known:
        each, name = known[field_name]
        value, kept = getattr(part, field_name), each.metadata["kept"]
        usual = each.default if each.default_factory is MISSING else each.default_factory()
        if value is None or (kept != ALWAYS and value == usual) or (kept == HERE and portable):
            continue
        result[name] = Path(value).name if portable and kept == PATH else as_keys(value, portable=portable)
    return result


def as_keys(value: Any, *, portable: bool = False) -> Any:
    """Return a value of a policy as a policy file has it."""
    if isinstance(value, PolicyPart):
        return written(value, portable=portable)
    if isinstance(value, Mapping):
        return dict(value)
    return [as_keys(item, portable=portable) for item in value] if isinstance(value, list | tuple) else value


def _fields(part: Any) -> tuple[Field[Any], ...]:
    """Return the fields of a part, or of its class: each is a dataclass."""
    return fields(part)


def _keys(kind: type[PolicyPart]) -> Mapping[str, tuple[Field[Any], Parameter]]:
    """Return the keys of a part by name, each with its field."""
    if kind not in _KNOWN:
        stated = {kind.called.get(each.name, each.name): each for each in _fields(kind) if "key" in each.metadata}
        _KNOWN[kind] = {name: (each, replace(each.metadata["key"], name=name)) for name, each in stated.items()}
    return _KNOWN[kind]


_KNOWN: dict[type[PolicyPart], Mapping[str, tuple[Field[Any], Parameter]]] = {}


def _in_tuples(value: Any) -> Any:
    """Return lists as tuples, at any depth."""
    return tuple(map(_in_tuples, value)) if isinstance(value, list | tuple) else value


def _settled(each: Field[Any], value: Any) -> Any:
    """Return the value of a field as it is kept: a list as a tuple; a name, where one may stand for a list, in one."""
    kind = each.metadata["key"].check.kind if "key" in each.metadata else ""
    if kind == NAMES_OR_NAME and isinstance(value, str):
        return (value,)
    return _in_tuples(value) if kind in LISTED else value
