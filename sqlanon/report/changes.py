"""The changes from one release to the next, by their manifests: names, levels, and counts that reveal no small group.

Each manifest hides its small counts. Side by side they reveal more: that three more records were published, or a
count that the first hides, if the second holds it. So a comparison has rules of its own (``_counts``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlanon.core.publish.earlier_manifests import (
    ACCOUNT,
    FINGERPRINT,
    OF_CERTIFICATE,
    OF_PERSONS,
    columns_of,
    is_of_tables,
    least_crowd,
    read_manifest,
)
from sqlanon.report.wording import visible

WITHHELD = "withheld"
"""What a person reads for a number that a manifest withholds."""
NOTHING = "none"
"""What a person reads where one of the manifests has no such entry."""
HIDDEN = {"before": None, "after": None}
"""What stands for two counts whose difference must not be shown."""
FEWER = re.compile(r"<(\d+)")
LEAST = 3
"""The least bound below which differences are withheld: one that is known to be below two would be known to be one."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier release.

    Attributes:
        manifest: its document.
        fingerprint: that of the policy now, as it is published by; a run that writes nothing has another.
    """

    manifest: Mapping[str, Any]
    fingerprint: str

    @classmethod
    def read(cls, path: Path, fingerprint: str, *, several: bool = False) -> Earlier:
        """Read its manifest; raise InputError if that is none of one table (or of several)."""
        return cls(read_manifest(path, several=several), fingerprint)

    def shares_no_column(self, names: Iterable[str]) -> bool:
        """Return whether none of these columns is one of the earlier release, so that it is hardly one of the same."""
        return not columns_of(self.manifest).keys() & set(names)

    def changes(self, after: Mapping[str, Any]) -> dict[str, Any]:
        """Return the changes, by the manifest of a run of the policy."""
        return changes(self.manifest, {**after, FINGERPRINT: self.fingerprint})


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the differences of two manifests, for JSON; the key ``diff`` of ``run --json``.

    A manifest holds the fingerprint of its policy, and of its keys only what a recipient may know. So ``policy`` says
    that the policy changed, and the ``keys`` of it that show in the manifest. Both are of one table, or of several.
    """
    columns = [columns_of(manifest) for manifest in (before, after)]
    counts, hidden = _counts(before, after)
    certificates, versions = ((before[key], after[key]) for key in ("certificate", "versions"))
    proven = _differing(OF_CERTIFICATE, *certificates)
    if hidden and "loss" in proven:  # with the release it reveals how many records were suppressed
        proven["loss"] = HIDDEN
    tables = {}
    if is_of_tables(after):
        linked = [{item["name"]: item.get("parent") for item in manifest["tables"]} for manifest in (before, after)]
        tables = {"tables": _named(*linked)}
    return {
        "policy": {
            "changed": before.get(FINGERPRINT) != after[FINGERPRINT],
            "keys": _keys(before, after),
        },
        "models": {
            "added": [model for model in after["models"] if model not in before["models"]],
            "removed": [model for model in before["models"] if model not in after["models"]],
        },
        **tables,
        "columns": _named(*columns),
        "counts": counts,
        "certificate": proven,
        "versions": _differing(sorted({**versions[0], **versions[1]}), *versions),
    }


def _counts(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the counts that differ, and whether some are withheld; such a pair is ``HIDDEN``.

    The account (records, published, suppressed, excluded; of several tables persons, and rows by table) is shown as a
    whole or not at all, because each of its counts follows from the others. It is withheld if

    1. two of its counts differ by fewer than k, the larger k of both manifests, and at least by ``LEAST - 1``: what
       is withheld then has two readings;
    2. a manifest withholds one of its counts, and both sources may be of one size, or nearly: then the other manifest
       reveals that size, or bounds it;
    3. it counts rows of persons: a difference of many rows may be that of one person. The persons of several tables
       are counted apart, so that their rows are shown where k persons more or fewer are published.

    Sizes of classes are shown if they do not differ by fewer than k; the number of classes is no number of persons.
    """
    least = max(LEAST, least_crowd(before), least_crowd(after))
    if is_of_tables(after):
        persons, others = before["persons"], after["persons"]
        rows = [{item["name"]: item["published"] for item in manifest["tables"]} for manifest in (before, after)]
        both = [name for name in rows[1] if name in rows[0]]
        hidden = _tells_of_few(OF_PERSONS, persons, others, least) or (
            abs(others["published"] - persons["published"]) < least and bool(_differing(both, *rows))
        )
        changes = {
            **_told(OF_PERSONS, persons, others, hidden=hidden),
            **_sizes(("smallest_class",), persons, others, least),
            **{f"rows of {name}": pair for name, pair in _told(both, *rows, hidden=hidden).items()},
        }
        return changes, hidden
    first, second = before["ledger"], after["ledger"]
    of_persons = any(manifest.get("entity") for manifest in (before, after))
    hidden = _tells_of_few(ACCOUNT, first, second, least) or (of_persons and bool(_differing(ACCOUNT, first, second)))
    sizes = _sizes(("classes", "smallest_class", "largest_class"), first, second, least)
    if of_persons:
        sizes |= {name: HIDDEN for name in sizes if name != "classes"}
    return {**_told(ACCOUNT, first, second, hidden=hidden), **sizes}, hidden


def _tells_of_few(names: Sequence[str], before: Mapping[str, Any], after: Mapping[str, Any], least: int) -> bool:
    """Return whether counts of an account, side by side, reveal a group of fewer than ``least``."""
    if not _differing(names, before, after):
        return False
    if any(_is_near(before.get(name), after.get(name), least) for name in names):
        return True
    totals = [_total(counts) for counts in (before, after)]
    (low, high), (lowest, highest) = totals
    return (low, lowest) != (high, highest) and max(lowest - high, low - highest) < least


def _is_near(before: Any, after: Any, least: int) -> bool:
    """Return whether two counts are exact, and differ by fewer than ``least``; equal ones do not."""
    return isinstance(before, int) and isinstance(after, int) and 0 < abs(after - before) < least


def _total(counts: Mapping[str, Any]) -> tuple[float, float]:
    """Return between which numbers the source of a release has records (or persons)."""
    bounds = [_bounds(counts.get(name)) for name in OF_PERSONS]
    return sum(low for low, _ in bounds), sum(high for _, high in bounds)


def _bounds(count: Any) -> tuple[float, float]:
    if isinstance(count, int):
        return count, count
    few = FEWER.fullmatch(count) if isinstance(count, str) else None
    return 0, math.inf if few is None else int(few[1]) - 1


def _told(names: Sequence[str], before: Mapping[str, Any], after: Mapping[str, Any], *, hidden: bool) -> dict[str, Any]:
    changes = _differing(names, before, after)
    return dict.fromkeys(changes, HIDDEN) if hidden else changes


def _sizes(names: Sequence[str], before: Mapping[str, Any], after: Mapping[str, Any], least: int) -> dict[str, Any]:
    """Return the sizes that differ, by themselves: None is that of no class."""
    changes = _differing(names, before, after)
    near = [name for name in changes if name != "classes" and None not in changes[name].values()]
    return changes | {name: HIDDEN for name in near if _is_near(before[name], after[name], least)}


def _named(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return which entries were added, removed and changed."""
    return {
        "added": [name for name in after if name not in before],
        "removed": [name for name in before if name not in after],
        "changed": {
            name: _pair(before[name], after[name]) for name in after if name in before and before[name] != after[name]
        },
    }


def _pair(before: Any, after: Any) -> dict[str, Any]:
    return {"before": before, "after": after}


def _differing(names: Sequence[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _pair(before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}


def _keys(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the keys of the policy whose change shows in the manifests."""

    def asked(manifest: Mapping[str, Any]) -> dict[str, Any]:
        levels = ("level", "levels")
        columns = columns_of(manifest).items()
        several = {"tables": [(item["name"], item.get("parent")) for item in manifest.get("tables", [])]}
        return {
            "privacy": manifest["models"],
            **(several if is_of_tables(manifest) else {}),
            "columns": [(name, {k: v for k, v in column.items() if k not in levels}) for name, column in columns],
            "quality": [manifest["certificate"].get(name) for name in ("measure", "aggregate")],
            "transformation": "rules" in manifest,
            "entity": bool(manifest.get("entity")),
        }

    first, second = asked(before), asked(after)
    return [key for key in second if first[key] != second[key]]


def change_lines(changes: Mapping[str, Any]) -> Iterator[str]:
    """Yield the changes, a line each, for a person; each begins with a word of ours, whatever names hold."""
    yield from map(visible, _lines(changes))


def _lines(changes: Mapping[str, Any]) -> Iterator[str]:
    if changes["policy"]["changed"]:
        shown = changes["policy"]["keys"]
        yield f"policy: changed, {', '.join(shown)}" if shown else "policy: changed, in what no manifest shows"
    for what in ("added", "removed"):
        for model in changes["models"][what]:
            yield f"model {what}: {_model(model)}"
    for kind in ("table", "column"):
        named = changes.get(f"{kind}s", {"added": [], "removed": [], "changed": {}})
        for what in ("added", "removed"):
            for name in named[what]:
                yield f"{kind} {what}: {name}"
        for name, pair in named["changed"].items():
            before, after = pair["before"] or {}, pair["after"] or {}
            for key in dict.fromkeys([*before, *after]):
                first, second = before.get(key), after.get(key)
                if first != second:
                    yield f"{kind} {name}: {key} {_shown(first, NOTHING)} -> {_shown(second, NOTHING)}"
    for part in ("counts", "certificate", "versions"):
        for name, pair in changes[part].items():
            what = f"version of {name}" if part == "versions" else name
            absent = WITHHELD if part == "counts" or name == "loss" else NOTHING
            if pair == HIDDEN:
                yield f"{what}: changed; the difference would reveal a few"
            else:
                yield f"{what}: {_shown(pair['before'], absent)} -> {_shown(pair['after'], absent)}"


def _model(model: Mapping[str, Any]) -> str:
    parameters = {name: value for name, value in model.items() if name not in ("type", "column")}
    given = ", ".join(f"{name}={_shown(value, NOTHING)}" for name, value in parameters.items())
    text = f"{model['type']}({given})"
    return f"{model['column']}: {text}" if "column" in model else text


def _shown(value: Any, absent: str) -> str:
    if value is None:
        return absent
    return value if isinstance(value, str) else f"{value:.6f}" if isinstance(value, float) else json.dumps(value)
