"""What stands at the target of a run: the manifest of the periods that were released before.

It stands beside a folder; of a table ``t`` it is the last row of ``t_manifest``, to which each run adds one in the
transaction that adds its rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.core.engines.base import Engine, Place
from sqlanon.core.publish.papers import MANIFEST, check_papers
from sqlanon.core.publish.targets import Target, place
from sqlanon.core.sqltrees.trees import column
from sqlanon.errors import TargetError

ENDING = "_manifest"
"""The table of the manifests of a table: its name with this ending."""
RUN, DOCUMENT = "run", "manifest"
"""Its columns: the number of a run, from 1 on, and the manifest of all periods that were released by then."""


def read_earlier(engine: Engine, target: Target) -> Mapping[str, Any] | None:
    """Return the manifest of what stands at a target; None where nothing does.

    Raises:
        TargetError: it is no release by periods, or was changed since.
    """
    output, path = target.output, Path(target.output.target)
    if output.kind == "file":
        return _checked(path.name, _read_folder(path)) if path.exists() else None
    where = place(engine, output.target, target.catalog)
    manifests = manifests_of(where)
    if not engine.existing(where) and not engine.existing(manifests):
        return None
    known = [name for name, _ in engine.columns(manifests.table)] if engine.existing(manifests) == "table" else []
    if engine.existing(where) != "table" or known != [RUN, DOCUMENT]:
        return _checked(where.name, "null")
    last = exp.select(column(DOCUMENT)).from_(manifests.table).order_by(column(RUN).desc()).limit(1)
    return _checked(where.name, *(str(row[0]) for row in engine.run("read periods", last)))


def manifests_of(where: Place) -> Place:
    """Return the place of the manifests of a table."""
    return where.named(where.name + ENDING)


def released_of(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the periods of a manifest in the order of time: the name of each, and its released records."""
    found: list[dict[str, Any]] = manifest["periods"]["released"]
    return found


def _read_folder(path: Path) -> str:
    if not check_papers(path).holds:
        raise TargetError(
            f"The target {path.name!r} is not what its manifest says: files were changed, added or removed.",
            hint="restore it from a copy, or release to a new target; see sqlanon check --manifest.",
        )
    return path.with_name(path.name + MANIFEST).read_text(encoding="utf-8")


def _checked(name: str, text: str = "null") -> Mapping[str, Any]:
    found: Any = json.loads(text)
    if not isinstance(found, dict) or not isinstance(found.get("periods"), dict):
        raise TargetError(
            f"The target {name!r} exists, and was not released by periods.", hint="choose another name, or remove it."
        )
    return found
