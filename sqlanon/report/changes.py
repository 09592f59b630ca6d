"""What changed from one release to the next, by their manifests: names, levels and counts that both may show."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlanon.errors import InputError
from sqlanon.report.wording import visible

FINGERPRINT = "policy_fingerprint"
"""The key of a manifest that holds the fingerprint of its policy."""
COUNTS = ("records", "published", "suppressed", "excluded", "classes", "smallest_class", "largest_class")
OF_CERTIFICATE = ("measure", "aggregate", "strategy", "optimal", "loss")
WITHHELD = "withheld"
"""What a person reads for a number that a manifest does not tell."""


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
    def read(cls, path: Path, fingerprint: str) -> Earlier:
        """Read its manifest; raise InputError if that is none."""
        return cls(read_manifest(path), fingerprint)

    def changes(self, after: Mapping[str, Any]) -> dict[str, Any]:
        """Return what changed, by the manifest of a run of the policy."""
        return changes(self.manifest, {**after, FINGERPRINT: self.fingerprint})


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of an earlier release.

    Raises:
        InputError: it cannot be read, or is none of one table.
    """
    document: Any = None
    failure = None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        failure = error.strerror or "the system refused"
    except (ValueError, RecursionError):
        failure = "it is no JSON"
    if failure is None and not _is_manifest(document):
        failure = "it is no manifest of a release of one table"
    if failure is not None:
        raise InputError(
            f"The manifest {path.name!r} cannot be read: {failure}.",
            hint="give the .manifest.json that `sqlanon run` wrote beside the earlier release.",
        )
    found: dict[str, Any] = document
    return found


def _is_manifest(document: Any) -> bool:
    if not isinstance(document, dict) or document.get("manifest_version") != 1:
        return False
    kinds = {"models": list, "columns": list, "ledger": dict, "certificate": dict, "versions": dict}
    if not all(isinstance(document.get(key), kind) for key, kind in kinds.items()):
        return False
    return all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in document["columns"])


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return what differs between two manifests, for JSON; the key ``diff`` of ``run --json``.

    A manifest holds the fingerprint of its policy, and of its keys only what a recipient may know. So ``policy`` says
    that the policy changed, and the ``keys`` of it that show in the manifest. Counts that a manifest hides stay so.
    """
    columns = [{column["name"]: column for column in manifest["columns"]} for manifest in (before, after)]
    both = [name for name in columns[1] if name in columns[0]]
    certificates, versions = ((before[key], after[key]) for key in ("certificate", "versions"))
    return {
        "policy": {
            "changed": before.get(FINGERPRINT) != after[FINGERPRINT],
            "keys": _keys(before, after),
        },
        "models": {
            "added": [model for model in after["models"] if model not in before["models"]],
            "removed": [model for model in before["models"] if model not in after["models"]],
        },
        "columns": {
            "added": [name for name in columns[1] if name not in columns[0]],
            "removed": [name for name in columns[0] if name not in columns[1]],
            "changed": {
                name: _pair(columns[0][name], columns[1][name]) for name in both if columns[0][name] != columns[1][name]
            },
        },
        "counts": _differing(COUNTS, before["ledger"], after["ledger"]),
        "certificate": _differing(OF_CERTIFICATE, *certificates),
        "versions": _differing(sorted({**versions[0], **versions[1]}), *versions),
    }


def _pair(before: Any, after: Any) -> dict[str, Any]:
    return {"before": before, "after": after}


def _differing(names: Sequence[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _pair(before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}


def _keys(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the keys of the policy whose change shows in the manifests."""

    def asked(manifest: Mapping[str, Any]) -> dict[str, Any]:
        levels = ("level", "levels")
        return {
            "privacy": manifest["models"],
            "columns": [{k: v for k, v in column.items() if k not in levels} for column in manifest["columns"]],
            "quality": [manifest["certificate"].get(name) for name in ("measure", "aggregate")],
            "transformation": "rules" in manifest,
            "entity": bool(manifest.get("entity")),
        }

    first, second = asked(before), asked(after)
    return [key for key in second if first[key] != second[key]]


def change_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what changed, a line each, for a person."""
    if found["policy"]["changed"]:
        shown = found["policy"]["keys"]
        yield f"policy: changed, {', '.join(shown)}" if shown else "policy: changed, in what no manifest shows"
    for what in ("added", "removed"):
        for model in found["models"][what]:
            yield f"model {what}: {_model(model)}"
    for what in ("added", "removed"):
        for name in found["columns"][what]:
            yield f"column {what}: {visible(name)}"
    for name, pair in found["columns"]["changed"].items():
        before, after = pair["before"], pair["after"]
        for key in dict.fromkeys([*before, *after]):
            if before.get(key) != after.get(key):
                yield f"{visible(name)}: {key} {_shown(before.get(key))} -> {_shown(after.get(key))}"
    for part in ("counts", "certificate", "versions"):
        for name, pair in found[part].items():
            yield f"{name}: {_shown(pair['before'])} -> {_shown(pair['after'])}"


def _model(model: Mapping[str, Any]) -> str:
    given = ", ".join(f"{name}={_shown(value)}" for name, value in model.items() if name not in ("type", "column"))
    text = f"{model.get('type')}({given})"
    return visible(f"{model['column']}: {text}" if "column" in model else text)


def _shown(value: Any) -> str:
    if value is None:
        return WITHHELD
    return value if isinstance(value, str) else f"{value:.6f}" if isinstance(value, float) else json.dumps(value)
