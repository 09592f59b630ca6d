"""The manifest: what travels with a release. Names and counts; no values, no paths, no small counts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlanon.publish.ledger import Ledger
from sqlanon.publish.partial_files import check_directory, partial_file, put_in_place
from sqlanon.search.certificate import Certificate


def manifest(
    *,
    policy_fingerprint: str,
    levels: Mapping[str, Sequence[int]],
    rules: Sequence[Mapping[str, Any]] | None,
    heights: Mapping[str, int],
    ledger: Ledger,
    certificate: Certificate,
    k: int,
    models: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str],
    output: Mapping[str, str],
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """The document, ready for JSON.

    Counts below k are coarsened (``Ledger.coarsened``); where one is, the loss and its bound are withheld,
    because they would give it back (``Certificate.coarsened``).

    Args:
        levels: quasi-identifier -> the levels at which records are published.
        rules: what each rule publishes, in an order that says nothing; None when one node publishes all records.
        columns: released column -> role.
        output: kind -> target; of a file only its name is told.
    """
    proven = certificate.coarsened() if ledger.hides(k) else certificate.to_dict()
    return {
        "manifest_version": 1,
        "policy_fingerprint": policy_fingerprint,
        "models": [_plain(model) for model in models],
        "columns": [
            {"name": name, "role": role} | (_levels(levels[name], heights[name]) if name in levels else {})
            for name, role in columns.items()
        ],
        **({} if rules is None else {"rules": [dict(rule) for rule in rules]}),
        **({} if ledger.entities is None else {"entity": True}),
        "ledger": ledger.coarsened(k),
        "certificate": proven,
        "output": {kind: Path(name).name if kind == "file" else name for kind, name in output.items()},
        "versions": dict(versions),
    }


def _levels(levels: Sequence[int], height: int) -> dict[str, Any]:
    """One level, or several where rules publish at different ones."""
    return {"level": levels[0], "height": height} if len(levels) == 1 else {"levels": list(levels), "height": height}


def write_manifest(document: Mapping[str, Any], path: Path) -> None:
    """Write the manifest beside its release, whole or not at all.

    The release is in place by then, and the manifest of an older one was removed before (``publication``), so
    that a manifest never describes other data. If this fails the release stays: it is complete and audited.

    Raises:
        TargetError: the directory cannot be written.
    """
    check_directory(path)
    with partial_file(path) as partial:
        partial.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        put_in_place(partial, path)


def _plain(value: Any) -> Any:
    """``value`` for JSON; a path, also one under the key ``file``, is cut to its name."""
    if isinstance(value, Mapping):
        return {
            str(key): Path(item).name if key == "file" and isinstance(item, str) else _plain(item)
            for key, item in value.items()
        }
    if isinstance(value, Path):
        return value.name
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
