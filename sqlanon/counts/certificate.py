"""The operator's certificate of a release of counts: a suppression, and what shows that it protects and is the least.

It does not travel with a release: it tells unsafe cells from those that protect them, and its witnesses and multipliers
tell the true values. Nothing is in it that a verification can find by itself: of an inequality the multipliers alone,
and of a relation the cells, which must be those of a relation then. Cells are numbered as they are counted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from sqlanon.core.publish.proof_file import digest
from sqlanon.counts.counting import Counted
from sqlanon.counts.facts import CellSuppression, Numbers, SparseRows
from sqlanon.counts.protecting import Protection

VERSION = 1
MOST = 2**40
"""Beyond it no number of a certificate is: sums of so large ones stay exact."""


def counts_certificate(
    found: Protection, counted: Counted, fingerprint: str, versions: Mapping[str, str]
) -> dict[str, Any]:
    """Return the certificate of a document with a fingerprint, ready for JSON."""
    evidence, weight, suppressed = found.evidence, found.weight, np.flatnonzero(found.suppressed)
    assert evidence is not None
    rows, relations = evidence.system.rows, dict[int, int]()
    inequalities: list[list[Any]] = []
    witnesses, waived = _enough(evidence, suppressed)
    for cut in evidence.cuts:
        own = cut.choice[0]
        why: Any = {"tried": cut.cells.tolist()}
        if cut.multipliers:
            why = []
            for parts in cut.multipliers:
                bounds = np.where(parts > 0, rows.upper, rows.lower)
                used = np.flatnonzero((parts != 0) & np.isfinite(bounds)).tolist()
                why.append([[relations.setdefault(row, len(relations)), int(parts[row])] for row in used])
        inequalities.append([own.cell, own.sign, own.known, why])
    lower = min(evidence.lower_bound, weight) if evidence.how == "exact" else 0.0  # others rest on no cuts
    document = {
        "certificate_of": "counts",
        "certificate_version": VERSION,
        "policy_fingerprint": fingerprint,
        "weight": weight,
        "lower_bound": lower,
        "gap": (weight - lower) / weight if weight else 0.0,
        "optimal": weight <= lower,
        "cells_sha256": cells_digest(counted),
        "suppressed": suppressed.tolist(),
        "relations": [_relation(rows, row) for row in relations],
        "witnesses": witnesses,
        "waived": waived,
        "inequalities": inequalities,
        "versions": dict(versions),
    }
    return {**document, "sha256": digest(document)}


def cells_digest(counted: Counted) -> str:
    """Return SHA-256 (hex) of the cells as they were counted: categories, numbers and values."""
    grid = counted.grid
    facts = [
        [[d.name, d.texts, d.level.tolist(), sorted(map(str, d.several))] for d in grid.dimensions],
        [grid.sets, grid.published, counted.contributors.tolist()],
        None if counted.amounts is None else counted.amounts.tolist(),
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _relation(rows: SparseRows, row: int) -> list[Any]:
    factors = rows.factors[rows.starts[row] : rows.starts[row + 1]].astype(np.int64)
    return [np.stack([rows.cells_of(row), factors], axis=1).tolist(), int(rows.is_equal[row])]


def _enough(evidence: CellSuppression, suppressed: Numbers) -> tuple[list[list[list[int]]], list[list[int]]]:
    """Return witnesses that change suppressed cells alone, and the pairs of cells of which none keeps an insider.

    Witnesses that meet nothing that others do not are left out.
    """
    system = evidence.system
    hidden = ~system.published
    hidden[suppressed] = True
    unsafe = np.flatnonzero(system.unsafe)
    values = system.values[unsafe]
    is_met = np.zeros((2, len(unsafe)), bool)
    is_known = np.zeros((len(unsafe), len(unsafe)), bool)
    insiders = system.contributor[unsafe] >= 0 if len(system.contributor) else np.zeros(len(unsafe), bool)
    kept = []
    for cells, changes in evidence.witnesses:
        if not hidden[cells].all():
            continue
        change = np.zeros(len(system))
        change[cells] = changes
        now, moved = values + change[unsafe], change[unsafe] != 0
        meets = np.array([now >= system.greatest[unsafe], now <= system.least[unsafe]])
        tells = np.ix_(insiders & ~moved, moved)
        if (meets & ~is_met).any() or not is_known[tells].all():
            is_met |= meets
            is_known[tells] = True
            kept.append(np.stack([cells, changes.astype(np.int64)], axis=1).tolist())
    unknown = insiders[:, None] & ~is_known & ~np.eye(len(unsafe), dtype=bool)
    return kept, [[int(unsafe[known]), int(unsafe[other])] for known, other in np.argwhere(unknown).tolist()]
