"""A preset: the columns of a table of a common schema, with their roles and reasons; read from ``data/``.

A file is a family. Its ``presets`` map a name to what tells the table (``needs``, ``some``, ``fewest``) and to entries
of ``columns``: ``names`` are columns of one role, ``same`` columns that say the same, of which the first is published.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from sqlanon.assess.profiling.facts import ColumnProfile
from sqlanon.errors import InputError
from sqlanon.parameters import suggest

_DATA = Path(__file__).resolve().parent / "data"
NONE = "none"
"""In place of a preset: judge every column by itself."""


@dataclass(frozen=True, slots=True)
class PresetEntry:
    """Columns of a preset that have one role.

    Attributes:
        names: as ``plain_name`` gives them.
        is_one: they say the same: the first that has values is published, the others are not.
        look: what they look like, for their hierarchies; None: as their values do.
        reads: what their values read as; empty: anything.
        within: bounds of their numbers, or of the years of their dates.
        most: distinct values at most.
        keys: what a policy says of them beside their role: a hierarchy, or models; None: as drafted otherwise.
    """

    names: tuple[str, ...]
    is_one: bool
    role: str
    reason: str
    question: str | None = None
    look: str | None = None
    reads: tuple[str, ...] = ()
    within: tuple[float, float] | None = None
    most: int | None = None
    keys: Mapping[str, Any] | None = None

    def agrees(self, found: ColumnProfile) -> bool:
        """Return whether the values of a column are what its name promises; a column without any may be anything."""
        if found.looks_like in ("empty", "constant"):
            return True
        if (self.reads and found.reads_as not in self.reads) or found.distinct > (self.most or found.distinct):
            return False
        if self.within is None or (spread := found.spread) is None:
            return True
        return spread.low >= self.within[0] - spread.step and spread.high <= self.within[1] + spread.step


@dataclass(frozen=True, slots=True)
class Preset:
    """A table of a common schema.

    Attributes:
        needs: of each of these sets of names one column must be there.
        fewest: columns of the preset that must be there.
        key: names of the column that identifies the persons, one row each; empty where a person has several rows.
        entity: names of the column that says whose row it is.
        latest: names of the column by which the last rows of a person are found.
        linked: names of the columns that are published where several tables are linked; empty: none is.
        spelled: the names that are needed, as the schema writes them.
    """

    name: str
    family: str
    about: str
    needs: tuple[tuple[str, ...], ...]
    fewest: int
    columns: tuple[PresetEntry, ...]
    key: tuple[str, ...] = ()
    entity: tuple[str, ...] = ()
    latest: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    spelled: Mapping[str, str] = field(default_factory=dict)

    def entry_of(self, name: str) -> PresetEntry | None:
        """Return the entry that a column belongs to by its name."""
        plain = plain_name(name)
        return next((entry for entry in self.columns if plain in entry.names), None)


def plain_name(name: str) -> str:
    """Return a name as presets compare it: without case, separators, and numbers between separators.

    >>> plain_name("YEAR_OF_BIRTH"), plain_name("birthDate"), plain_name("address_0_postalCode"), plain_name("line[1]")
    ('yearofbirth', 'birthdate', 'addresspostalcode', 'line')
    """
    return re.sub(r"[\W_]+", "", re.sub(r"(?<=[\W_])\d+(?=[\W_]|$)", "", name.casefold()))


@cache
def presets() -> tuple[Preset, ...]:
    """Return all presets, those of a family after each other."""
    found = []
    for path in sorted(_DATA.glob("*.yaml")):
        document = yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        found += [_preset(path.stem, name, keys) for name, keys in document["presets"].items()]
    return tuple(found)


def named_presets(wanted: str | None) -> tuple[Preset, ...]:
    """Return the presets that a name stands for: one, a family, or all where there is no name.

    Raises:
        InputError: there is no such preset.
    """
    if wanted is None or wanted == NONE:
        return presets() if wanted is None else ()
    found = tuple(item for item in presets() if wanted in (item.name, item.family))
    if not found:
        known = sorted({item.family for item in presets()} | {item.name for item in presets()} | {NONE})
        raise InputError(f"There is no preset {wanted!r}.", hint=suggest(wanted, known))
    return found


def _preset(family: str, name: str, keys: Mapping[str, Any]) -> Preset:
    needs = [*([item] for item in keys.get("needs", ())), *keys.get("some", ())]
    sets = {each: _names(keys[each]) for each in ("key", "entity", "latest", "linked") if each in keys}
    columns = tuple(_entry(item) for item in keys["columns"])
    spelled = {plain_name(each): each for names in needs for each in names}
    needed = tuple(map(_names, needs))
    return Preset(name, family, keys["about"], needed, keys["fewest"], columns, **sets, spelled=spelled)


def _entry(keys: Mapping[str, Any]) -> PresetEntry:
    names = _names(keys.get("same") or keys["names"])
    own: dict[str, Any] = {each: keys[each] for each in ("question", "look", "most", "keys") if each in keys}
    own |= {each: tuple(keys[each]) for each in ("reads", "within") if each in keys}
    return PresetEntry(names, "same" in keys, keys["role"], keys["reason"], **own)


def _names(given: str | list[str]) -> tuple[str, ...]:
    """Return names as they are compared, each once."""
    return tuple(dict.fromkeys(map(plain_name, [given] if isinstance(given, str) else given)))
