"""Reading the ``hierarchy`` of a column: one kind with its options, as the object that stands for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlanon.core.hierarchies import specs
from sqlanon.core.policy.extensions import Extensions
from sqlanon.core.policy.faults import Faults, named
from sqlanon.core.policy.paths import is_file
from sqlanon.errors import InputError
from sqlanon.parameters import names_of, suggest

WITH_OPTIONS = {
    each.kind: each
    for each in (
        specs.Redact, specs.Intervals, specs.Dates, specs.Suppress, specs.Ages, specs.Prefix, specs.FrequentValues,
        specs.Codes, specs.Zip3,
    )
}  # fmt: skip
"""Kinds whose options are a mapping in a policy; each option is a field."""
WITH_ONE_VALUE = {each.kind: each for each in (specs.TableHierarchy, specs.Levels, specs.Groups)}
"""Kinds that stand for one value in a policy."""


def parse_hierarchy(
    faults: Faults, key: str, value: Any, base_directory: Path, extensions: Extensions
) -> specs.HierarchySpec | None:
    """Return the hierarchy that ``value`` describes, or None after noting why there is none."""
    if isinstance(value, str):
        value = {"file": value}
    known = tuple(dict.fromkeys((*specs.KINDS, *extensions.names("hierarchies"))))
    kinds = [kind for kind in known if isinstance(value, Mapping) and kind in value]
    if len(kinds) != 1:
        meant = next(iter(named(value)), None) if isinstance(value, Mapping) and not kinds else None
        faults.add(key, "This does not name exactly one kind of hierarchy.", suggest(meant, known))
        return None
    [kind] = kinds
    if kind == "file" and "file" not in extensions.names("hierarchies"):
        given = faults.mapping(key, value, names_of(specs.FileHierarchy.options))
        return _file(faults, key, given.pop("file"), given, base_directory)
    faults.mapping(key, value, (kind,))
    inner = value[kind]
    if kind in extensions.names("hierarchies"):
        return specs.ExtensionHierarchy(kind, named(inner) if isinstance(inner, Mapping) else inner or {})
    if kind in WITH_ONE_VALUE:
        return WITH_ONE_VALUE[kind](inner)
    if kind in specs.LISTED_OPTION and not isinstance(inner, Mapping):
        inner = {specs.LISTED_OPTION[kind]: inner}
    options = faults.mapping(f"{key}.{kind}", inner, names_of(WITH_OPTIONS[kind].options))
    options = {option.name: None for option in WITH_OPTIONS[kind].options if option.required} | options
    path = options.get("populations")
    if isinstance(path, str) and path and not is_file(base_directory / path):
        hint = "relative paths are relative to the policy file."
        faults.add(f"{key}.{kind}.populations", f"There is no file {Path(path).name!r}.", hint)
    return WITH_OPTIONS[kind](**options)


def _file(faults: Faults, key: str, path: Any, options: Mapping[str, Any], base_directory: Path) -> specs.FileHierarchy:
    """Return the hierarchy of a file; note a fault unless the file is there."""
    if isinstance(path, str) and path and not is_file(base_directory / path):
        hint = "relative paths are relative to the policy file."
        faults.add(f"{key}.file", f"There is no file {Path(path).name!r}.", hint)
    return specs.FileHierarchy(path, **options)


def check_hierarchy(faults: Faults, key: str, spec: object, extensions: Extensions) -> None:
    """Note the faults of a column's hierarchy."""
    if isinstance(spec, specs.ExtensionHierarchy):
        _check_extension(faults, f"{key}.{spec.kind}", spec, extensions)
    elif not isinstance(spec, specs.HierarchySpec):
        faults.add(key, "This is not a hierarchy.", "write sqlanon.Redact(), say; Policy.from_dict reads a mapping.")
    else:
        beside = isinstance(spec, specs.FileHierarchy)  # options of a file stand beside the key ``file``
        for option, message, hint in spec.faults():
            inner = key if beside and option else f"{key}.{spec.kind}"
            faults.add(f"{inner}.{option}" if option else inner, message, hint)


def _check_extension(faults: Faults, key: str, spec: specs.ExtensionHierarchy, extensions: Extensions) -> None:
    """Note a fault unless a builder from outside the package can be built with these options."""
    before = len(faults.items)
    try:
        builder = extensions.builder(spec.kind)
    except KeyError:
        faults.choice(key, spec.kind, extensions.names("hierarchies"))
        return
    except InputError as error:
        faults.add(key, error.message, error.hint)
        return
    options = faults.parameters(key, spec.options, getattr(builder, "parameters", ()), owner=spec.kind)
    if len(faults.items) > before:
        return
    try:
        builder(**options)
    except Exception as error:  # of a builder from outside the package
        message = f"{spec.kind} cannot be built from these options ({type(error).__name__})."
        faults.add(key, message, "see the documentation of the builder.")
