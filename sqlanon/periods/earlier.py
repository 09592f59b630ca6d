"""The periods that were released before, by the manifest at the target of a run.

It stands beside a folder; of a table ``t`` it is the last row of ``t_manifest``, to which each run adds one in the
transaction that adds its rows.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.core.engines.base import Engine, Place
from sqlanon.core.policy.output import LAKES
from sqlanon.core.publish.lakes import LakeTable, open_lake
from sqlanon.core.publish.papers import DIGESTS, MANIFEST, check_papers
from sqlanon.core.publish.targets import Target, place
from sqlanon.core.sqltrees.trees import column, count_rows
from sqlanon.errors import TargetError

ENDING = "_manifest"
"""The table of the manifests of a table: its name with this ending."""
INDEX = "_runs"
"""The index that keeps each number of a run once: the name of that table with this ending."""
SEAL = "sha256"
"""The key of the periods of a manifest that holds its digest."""
RUN, DOCUMENT = "run", "manifest"
"""Its columns: the number of a run, from 1 on, and the manifest of all periods that were released by then."""


def read_earlier(engine: Engine, target: Target) -> Mapping[str, Any] | None:
    """Return the manifest of what stands at a target; None where nothing does.

    Raises:
        TargetError: it is no release by periods, or was changed since.
    """
    manifest, path = manifest_at(engine, target), Path(target.output.target)
    if manifest is None:
        return None
    if target.output.kind == "file":
        if not check_papers(path).holds:
            raise _changed(path.name, "files were changed, added or removed.")
        return manifest
    name = manifest["periods"]["column"]
    published = {each["period"]: each["published"] for each in released_of(manifest)}
    if target.output.kind in LAKES:
        found = _count_values(open_lake(target.output), name)
    else:
        found = count_periods(engine, place(engine, target.output.target, target.catalog).table, name)
    if found != published:
        raise _changed(path.name, "its periods have other numbers of rows.")
    return manifest


def manifest_at(engine: Engine, target: Target) -> Mapping[str, Any] | None:
    """Return the manifest at a target, as a run wrote it; None where nothing stands. Rows are not compared.

    Raises:
        TargetError: there is none, or it was changed.
    """
    output, path = target.output, Path(target.output.target)
    if output.kind == "file":
        return _checked(path.name, _text_beside(path)) if path.exists() else None
    if output.kind in LAKES:
        return manifest_in(open_lake(output), path.name)
    where = place(engine, output.target, target.catalog)
    catalog, manifests = engine.catalog, manifests_of(where)
    engine.render(manifests.named(manifests.name + INDEX).table)  # a server may have no names as long
    if not catalog.existing(where) and not catalog.existing(manifests):
        return None
    known = [name for name, _ in catalog.columns(manifests.table)] if catalog.existing(manifests) == "table" else []
    if catalog.existing(where) != "table" or known != [RUN, DOCUMENT]:
        return _checked(where.name)
    last = exp.select(column(DOCUMENT)).from_(manifests.table).order_by(column(RUN).desc()).limit(1)
    return _checked(where.name, *(str(row[0]) for row in engine.run("read periods", last)))


def manifest_in(lake: LakeTable, name: str) -> Mapping[str, Any] | None:
    """Return the manifest in a table of a lakehouse; None where there is none.

    Raises:
        TargetError: it is not of periods, or was changed.
    """
    return None if lake.frame is None else _checked(name, lake.manifest())


def manifests_of(where: Place) -> Place:
    """Return the place of the manifests of a table."""
    return where.named(where.name + ENDING)


def released_of(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the periods of a manifest in the order of time: the name of each, and its released records."""
    released: list[dict[str, Any]] = manifest["periods"]["released"]
    return released


def count_periods(engine: Engine, relation: exp.Expr, name: str) -> dict[str, int]:
    """Return the number of rows of each period that a relation has."""
    counted = exp.select(column(name), count_rows()).from_(relation).group_by(column(name))
    return {str(period): int(count) for period, count in engine.run("count periods", counted)}


def _count_values(lake: LakeTable, name: str) -> dict[str, int]:
    """Return the number of rows of each period that a table of a lakehouse has, read batch by batch."""
    counts: Counter[str] = Counter()
    for batch in lake.values(name):
        for counted in batch.column(0).value_counts():
            counts[str(counted["values"])] += counted["counts"].as_py()
    return dict(counts)


def seal(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with a SHA-256 of what is in it but digests, because the next run trusts its levels."""
    periods = {name: value for name, value in manifest["periods"].items() if name != SEAL}
    sealed = {name: value for name, value in manifest.items() if name != DIGESTS} | {"periods": periods}
    digest = hashlib.sha256(json.dumps(sealed, sort_keys=True).encode()).hexdigest()
    return {**manifest, "periods": {**periods, SEAL: digest}}


def first_open(manifest: Mapping[str, Any]) -> date:
    """Return the first day after the periods that had closed by the last run."""
    return date.fromisoformat(manifest["periods"]["through"]) + timedelta(days=1)


def begin_anew(manifest: Mapping[str, Any]) -> str:
    """Return the hint to a user who wants another policy, without a second release of the same records."""
    return f"release the later periods to a new target (periods: {{from: {first_open(manifest)}, …}})"


def _text_beside(path: Path) -> str:
    try:
        return path.with_name(path.name + MANIFEST).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _checked(name: str, text: str = "") -> Mapping[str, Any]:
    """Return the manifest that a text is, if a run by periods wrote it."""
    try:
        manifest = json.loads(text)
        if isinstance(manifest, dict) and isinstance(manifest.get("periods"), dict):
            if manifest == seal(manifest):
                return manifest
            raise _changed(name, "its manifest was changed.")
    except (ValueError, RecursionError):
        pass
    raise TargetError(
        f"The target {name!r} exists, and was not released by periods, or its manifest is damaged.",
        hint="choose another name; or restore its manifest from a copy.",
    )


def _changed(name: str, how: str) -> TargetError:
    hint = "restore it from a copy; what a run writes is not changed by hand."
    return TargetError(f"The target {name!r} is not what its manifest says: {how}", hint=hint)
