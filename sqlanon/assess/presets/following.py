"""Whether the columns of a table fit a preset, and the roles that they have then.

A preset proposes as a name does, and the values decide: a column whose values are not what its name promises is judged
as usual, and none that identifies persons by its values is published because a preset says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlanon.assess.presets.facts import NONE, Preset, PresetEntry, named_presets, plain_name
from sqlanon.assess.profiling.attributes import OF_A_GROUP, find_attributes, find_keys, with_attributes
from sqlanon.assess.profiling.dependencies import find_deciders, find_dependencies
from sqlanon.assess.profiling.facts import DROPPED, ColumnProfile, Follower, NearNumbers, PresetFit, SameColumns
from sqlanon.assess.profiling.near_numbers import find_near_numbers
from sqlanon.assess.profiling.roles import ASK_DROPPED, MOSTLY_UNIQUE
from sqlanon.core.engines.base import Engine
from sqlanon.core.source.known import MANY
from sqlanon.errors import InputError

PRESET = "preset"
CAUTION = ("keep", "sensitive", "quasi_identifier", "drop", "identifier")
"""Roles, those that publish most first."""
IDENTIFYING = ("uuid", "email", "phone", "name", "address", "url", "ip", "free_text")
"""Looks of values that stay dropped, whatever a preset says of their name."""


def as_schema(
    engine: Engine, relation: exp.Expr, types: Mapping[str, str], columns: list[ColumnProfile], wanted: str | None
) -> tuple[list[ColumnProfile], PresetFit | None, tuple[SameColumns, ...], int]:
    """Return the columns as preset and attributes have them, the evidence, the latter, and how many were not compared.

    Which of its columns say the same is known to the preset; what it drops is not compared with others.

    Raises:
        InputError: the wanted preset is not known, or does not fit.
    """
    decided = find_deciders(engine, relation, types, columns)
    columns = [replace(item, decides=decided.get(item.name, ())) for item in columns]
    columns, fit = follow(columns, wanted)
    known = () if fit is None else fit.matched
    left = [item for item in columns if item.name not in known or item.role not in DROPPED]
    dependencies, not_compared = find_dependencies(engine, relation, types, left)
    near, linear = find_near_numbers(engine, relation, types, left)
    left = [replace(item, near=near.get(item.name, NearNumbers())) for item in left]
    dependencies += linear
    unknown = [item for item in dependencies if item.of not in known or item.follows not in known]
    keys = find_keys(left, unknown)
    left = [
        replace(item, role="identifier", reason=OF_A_GROUP, question=ASK_DROPPED) if item.name in keys else item
        for item in left
    ]
    found = find_attributes(left, unknown)
    left = with_attributes(left, found)
    by_name = {item.name: item for item in left}
    groups: dict[str, list[Follower]] = {}
    for item in columns:
        if item.how == PRESET and item.leader is not None:
            groups.setdefault(item.leader, []).append(Follower(item.name, item.leader, PRESET))
    known_same = tuple(SameColumns(leader, tuple(followers)) for leader, followers in groups.items())
    return [by_name.get(item.name, item) for item in columns], fit, known_same + found, not_compared


def follow(columns: list[ColumnProfile], wanted: str | None) -> tuple[list[ColumnProfile], PresetFit | None]:
    """Return the columns with the roles of the preset that they fit best, and the evidence; as they are without one.

    Args:
        columns: with the role that each would have by itself.
        wanted: the name of a preset or of a family; ``none``: none is looked for; None: any may fit.

    Raises:
        InputError: the wanted preset is not known, or does not fit.
    """
    open_to = named_presets(wanted)
    matches = [(item, _matched(item, columns)) for item in open_to]
    fitting = [(item, found) for item, found in matches if not _missing(item, found)]
    if not fitting:
        if wanted is not None and wanted != NONE:
            _refuse(wanted, matches, columns)
        return columns, None
    preset, found = max(fitting, key=lambda pair: len(pair[1]))
    named = [item.name for item in columns if preset.entry_of(item.name) is not None]
    fit = PresetFit(
        preset.name,
        preset.about,
        tuple(found),
        tuple(name for name in named if name not in found),
        tuple(item.name for item in columns if item.name not in named),
        column_of(preset.entity, columns),
        not preset.entity,
    )
    leaders = {id(entry): _leader(entry, columns, found) for entry in preset.columns if entry.is_one}
    return [_as_preset(item, found[item.name], leaders, fit) if item.name in found else item for item in columns], fit


def column_of(names: Sequence[str], columns: Sequence[ColumnProfile]) -> str | None:
    """Return the column that has the first of some names of a preset that there is; None without one."""
    by_name = {plain_name(item.name): item.name for item in reversed(columns)}
    return next((by_name[name] for name in names if name in by_name), None)


def _matched(preset: Preset, columns: Sequence[ColumnProfile]) -> dict[str, PresetEntry]:
    """Return the columns whose name is one of the preset's and whose values agree, with their entries."""
    pairs = ((item, preset.entry_of(item.name)) for item in columns)
    return {item.name: entry for item, entry in pairs if entry is not None and entry.agrees(item)}


def _missing(preset: Preset, found: Mapping[str, PresetEntry]) -> list[str]:
    """Return what a table lacks to fit a preset, in words; nothing where it fits."""
    plain = {plain_name(name) for name in found}
    lacking = [" or ".join(_written(preset, names)[:3]) for names in preset.needs if not plain & set(names)]
    if not lacking and len(found) < preset.fewest:
        lacking = [f"{preset.fewest - len(found)} more of its columns"]
    return lacking


def _written(preset: Preset, names: Sequence[str]) -> list[str]:
    return [preset.spelled.get(name, name) for name in names]


def _refuse(
    wanted: str, matches: Sequence[tuple[Preset, dict[str, PresetEntry]]], columns: Sequence[ColumnProfile]
) -> None:
    """Raise InputError: say what the table lacks to fit the preset, or the nearest of its family."""
    preset, found = max(matches, key=lambda pair: len(pair[1]))
    what = f"{preset.about} (preset {preset.name})" + ("" if wanted == preset.name else f", the nearest of {wanted}")
    differing = [item.name for item in columns if preset.entry_of(item.name) is not None and item.name not in found]
    more = f" The values of {', '.join(differing)} are not what the name says." if differing else ""
    raise InputError(
        f"The columns do not fit {what}: {', '.join(_missing(preset, found))} would be needed.{more}",
        hint=f"name another preset or table, or say --preset {NONE} to judge each column by itself.",
    )


def _leader(entry: PresetEntry, columns: Sequence[ColumnProfile], found: Mapping[str, PresetEntry]) -> str | None:
    """Return which of the columns that say the same is published: the first by the preset that tells records apart."""
    theirs = [item for item in columns if found.get(item.name) is entry]
    theirs.sort(key=lambda item: entry.names.index(plain_name(item.name)))
    telling = [item.name for item in theirs if not _says_nothing(item) and item.looks_like not in IDENTIFYING]
    return next(iter([*telling, *(item.name for item in theirs)]), None)


def _says_nothing(item: ColumnProfile) -> bool:
    """Return whether a column distinguishes no records; one value beside NULL does."""
    return item.looks_like == "empty" or (item.looks_like == "constant" and not item.nulls)


def _as_preset(
    item: ColumnProfile, entry: PresetEntry, leaders: Mapping[int, str | None], fit: PresetFit
) -> ColumnProfile:
    """Return a column with the role of its preset, unless its values tell that more caution is needed."""
    leader = leaders.get(id(entry), item.name)
    if leader != item.name and item.role != "identifier":
        reason = f"By the preset it says the same as {leader!r}, which stands for it."
        return replace(item, role="drop", reason=reason, question=None, leader=leader, how=PRESET)
    is_key = item.looks_like == "identifier" and item.uniqueness >= MOSTLY_UNIQUE
    if entry.role not in DROPPED and (item.looks_like in IDENTIFYING or is_key or _says_nothing(item)):
        return item
    if entry.role == "quasi_identifier" and item.role == "identifier" and item.distinct > MANY:
        return item
    by_values = item.uniqueness >= MOSTLY_UNIQUE or item.role == "quasi_identifier"
    if entry.role in ("keep", "sensitive") and by_values and CAUTION.index(item.role) > CAUTION.index(entry.role):
        return item
    return replace(
        item,
        role=entry.role,
        reason=entry.reason,
        question=entry.question,
        looks_like=entry.look or item.looks_like,
        because=f"preset {fit.name}",
        keys=entry.keys,
    )
