"""Suppressions of counts: what protects, what the least is and what it rests on, against enumeration of all tables."""

from __future__ import annotations

import itertools
import json
import random
import time
from contextlib import suppress as suppressed
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from effort import Block, seeds
from enumerated_tables import Enumerated

import sqlanon
from sqlanon.counts.attacker import Attacker
from sqlanon.counts.exact import suppress
from sqlanon.counts.facts import ALONE, Demand, Floats, SparseRows, System
from sqlanon.counts.heuristic import Suppressing
from sqlanon.counts.reader import CellAudit
from sqlanon.errors import NoSolutionError, SearchStoppedError

pytest.importorskip("highspy", reason="needs HiGHS: the extra exact")
ORACLES = Path(__file__).parents[3] / "shared" / "oracles" / "counts_small.jsonl"
Relation = tuple[list[int], list[float], float, float]


def total_of(children: list[int], parent: int, *, exact: bool = True) -> list[Relation]:
    """The relation of a parent and its children; where it is not exact, the parent is from the largest to the sum."""
    both = [*children, parent]
    most: Relation = (both, [*[1.0] * len(children), -1.0], 0.0, 0.0 if exact else np.inf)
    return [most] if exact else [most, *(([parent, child], [1.0, -1.0], 0.0, np.inf) for child in children)]


def system_of(
    values: list[int] | Floats, relations: list[Relation], threshold: int, *, insiders: bool, **changes: Any
) -> System:
    """A system of counts with the demands of a threshold."""
    truth = np.array(values, np.float64)
    size = len(truth)
    published = changes.pop("published", np.ones(size, bool))
    unsafe = (truth > 0) & (truth < threshold) & published
    alone = np.where(unsafe & (truth == 1), np.arange(size), ALONE)
    given: dict[str, Any] = {
        "published": published,
        "weights": np.ones(size),
        "exempt": np.zeros(size, bool),
        "contributor": alone if insiders else np.empty(0, np.int64),
    }
    return System(
        truth,
        rows=SparseRows.of(relations),
        unsafe=unsafe,
        least=np.zeros(size),
        greatest=np.full(size, float(threshold)),
        **{**given, **changes},
    )


def with_totals(table: np.ndarray[Any, Any]) -> tuple[Floats, list[Relation]]:
    """The cells of a table with totals in all dimensions, and their relations."""
    for axis in range(table.ndim):
        table = np.concatenate([table, table.sum(axis=axis, keepdims=True)], axis=axis)
    numbers = np.arange(table.size).reshape(table.shape)
    relations = []
    for axis in range(table.ndim):
        for line in np.moveaxis(numbers, axis, -1).reshape(-1, table.shape[axis]).tolist():
            relations += total_of(line[:-1], line[-1])
    return table.reshape(-1).astype(np.float64), relations


def random_system(seed: int) -> System:
    """A small system: two or three dimensions, a hierarchy, linked tables, or persons in several categories."""
    pick = random.Random(seed)
    kind = ("two-way", "three-way", "hierarchy", "linked", "several")[seed % 5]
    threshold = 2 if kind in ("three-way", "linked", "hierarchy") else pick.choice([2, 3])
    changes: dict[str, Any] = {"insiders": pick.random() < 0.5}

    def drawn(*shape: int) -> np.ndarray[Any, Any]:
        return np.array(
            [
                pick.choice([0, 1, 1, 2] if np.prod(shape) == 8 else [0, 1, 1, 2, 3, 4])
                for _ in range(int(np.prod(shape)))
            ]
        ).reshape(shape)

    if kind in ("two-way", "three-way", "linked"):
        shape = {"two-way": (2, pick.choice([2, 3])), "three-way": (2, 2, 2), "linked": (2, 2, 2)}[kind]
        values, relations = with_totals(drawn(*shape))
        if kind == "linked":  # the tables of the first two and of the last two dimensions
            places = np.stack(np.unravel_index(np.arange(27), (3, 3, 3)))
            changes["published"] = (places[0] == 2) | (places[2] == 2)
    elif kind == "hierarchy":  # four values in two groups, by two columns
        leaves = drawn(4, 2)
        nodes = np.vstack([leaves, leaves[:2].sum(0), leaves[2:].sum(0), leaves.sum(0)])
        values = np.hstack([nodes, nodes.sum(1, keepdims=True)]).reshape(-1).astype(np.float64)
        relations = [r for row in range(7) for r in total_of([3 * row, 3 * row + 1], 3 * row + 2)]
        for column in range(3):
            for children, parent in (([0, 1], 4), ([2, 3], 5), ([4, 5], 6)):
                relations += total_of([3 * c + column for c in children], 3 * parent + column)
    else:  # the columns' persons may be in both rows
        table = drawn(2, 2)
        whole = [int(pick.randint(max(column), sum(column))) for column in table.T.tolist()]
        nodes = np.vstack([table, whole])
        values = np.hstack([nodes, nodes.sum(1, keepdims=True)]).reshape(-1).astype(np.float64)
        relations = [r for row in range(3) for r in total_of([3 * row, 3 * row + 1], 3 * row + 2)]
        relations += [r for c in range(3) for r in total_of([c, 3 + c], 6 + c, exact=False)]
    if pick.random() < 0.3:
        changes["weights"] = np.maximum(values, 1)
    if pick.random() < 0.3:
        changes["exempt"] = values == 0
    return system_of(values, relations, threshold, **changes)


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.skipif(not ORACLES.exists(), reason="needs the oracles beside the repository")
@pytest.mark.parametrize("insiders", [False, True])
def test_the_least_suppressions_are_those_of_the_oracles(insiders: bool) -> None:
    for line in ORACLES.read_text().splitlines():
        known = json.loads(line)
        values, relations = with_totals(np.array(known["rows"]))
        found = suppress(system_of(values, relations, known["threshold"], insiders=insiders), 60)
        assert found.optimal
        assert found.weight == known["least_insiders" if insiders else "least"]


@pytest.mark.slow
@seeds(500, 25)
def test_a_proven_suppression_protects_and_is_the_least(block: Block) -> None:
    for seed in block:
        system = random_system(seed)
        enumerated = Enumerated(system, int(system.greatest[0]))
        least = enumerated.least()
        if least is None:
            with pytest.raises(NoSolutionError):
                suppress(system, 60)
            continue
        found = suppress(system, 60)
        assert enumerated.protects(found.suppressed), seed
        assert found.optimal, seed
        assert found.weight == least, seed
        quick = suppress(system, 60, exact=False)
        assert enumerated.protects(quick.suppressed), seed
        assert quick.weight >= least, seed


@pytest.mark.slow
@seeds(50, 10)
def test_what_a_cell_may_be_is_what_it_is_in_all_tables(block: Block) -> None:
    for seed in block:
        system = random_system(seed)
        hidden = system.published & (np.random.default_rng(seed).random(len(system)) < 0.5)
        enumerated = Enumerated(system, 2)
        attacker, open_ = Attacker(system, time.monotonic() + 60), hidden.astype(np.float64)
        for cell in np.flatnonzero(hidden).tolist():
            value = system.values[cell]
            for sign, end in zip((-1, 1), enumerated.interval(hidden, cell), strict=True):
                far = abs(end - value) >= 2  # what was not enumerated may be farther
                for by in (end, end + sign) if not far else (end,):
                    if sign * (by - value) > 0 and by >= 0:
                        found, _ = attacker.attack(Demand(cell, sign, by), open_, whole=True)
                        assert (found is not None) == (by == end), (seed, cell, by)


@pytest.mark.slow
@seeds(80, 10)
def test_sums_are_protected_as_all_sums_of_small_size_say(block: Block) -> None:
    """By dominance and p %, from the contributions: what is unsafe and by how much, the intervals, and the least."""
    least_of_all = 0
    for seed in block:
        draw = random.Random(seed)
        n, k, p, columns = draw.choice([1, 2]), draw.choice([0.6, 0.9]), draw.choice([0.1, 0.5]), draw.choice([2, 3])
        rows = [
            {"a": str(i), "b": str(j), "cost": draw.choice([0, 1, 2, 4])}
            for i, j in np.ndindex(2, columns)
            for _ in range(draw.choice([2, 3]))
        ]
        keys = [*itertools.product(("0", "1", "Total"), (*map(str, range(columns)), "Total"))]
        given = [[r["cost"] for r in rows if a in (r["a"], "Total") and b in (r["b"], "Total")] for a, b in keys]
        asked = {"counts": {"t": {"dimensions": ["a", "b"], "measures": [{"sum": "cost"}]}}, "insiders": False}
        asked |= {"threshold": 2, "dominance": {"n": n, "k": k}, "p_percent": p}
        inner = [sum(own) for own, key in zip(given, keys, strict=True) if "Total" not in key]
        values, relations = with_totals(np.array(inner).reshape(2, columns))
        tops = np.array([sorted([*own, 0, 0])[:-3:-1] for own in given], float)
        lacking = np.maximum(tops[:, :n].sum(1) / k - values, (1 + p) * tops[:, 0] + tops[:, 1] - values)
        unsafe = (lacking > 1e-9) & (tops[:, 0] > 0)
        least = np.where(unsafe, np.floor(np.maximum(values - lacking, 0) + 1e-6), values)
        greatest = np.where(unsafe, np.ceil(values + lacking - 1e-6), values)
        ones = np.ones(len(values))
        system = System(values, ones > 0, SparseRows.of(relations), unsafe, least, greatest, ones, ones < 0)
        above = int((greatest - values).max()) + 1
        enumerated = Enumerated(system, above)
        fewest = enumerated.least()
        try:
            found = sqlanon.counts(pa.Table.from_pylist(rows), asked)
        except NoSolutionError:
            assert fewest is None, seed
            continue
        shown = {(row["a"], row["b"]): row["suppressed"] for row in found.rows.to_pylist()}
        hidden = np.array([shown[key] for key in keys])
        assert not (unsafe & ~hidden).any() and enumerated.protects(hidden), seed
        assert fewest is not None and fewest <= (hidden & ~unsafe).sum(), seed
        assert found.protection.unsafe == unsafe.sum()
        assert fewest == (hidden & ~unsafe).sum() or not found.protection.optimal, seed
        least_of_all += fewest == (hidden & ~unsafe).sum()
        audit = CellAudit(system.rows, np.where(hidden, 0.0, values), np.where(hidden, np.inf, values))
        for cell in np.flatnonzero(unsafe).tolist():
            (low, high), (lowest, highest) = audit.interval(cell), enumerated.interval(hidden, cell)
            assert low - 1e-6 <= lowest <= max(low, values[cell] - above) + 1e-6, seed
            assert high + 1e-6 >= highest >= min(high, values[cell] + above) - 1e-6, seed
    assert 2 * least_of_all > len(block)


@seeds(60, 20)
def test_the_grand_total_is_suppressed_only_where_nothing_else_protects(block: Block) -> None:
    for seed in block:
        system = random_system(seed)
        grand = len(system) - 1
        if system.unsafe[grand] or system.exempt[grand]:
            continue
        exempt = system.exempt.copy()
        exempt[grand] = True
        with suppressed(NoSolutionError):
            found = suppress(replace(system, grand=grand), 60, exact=False)
            if found.suppressed[grand]:
                with pytest.raises(NoSolutionError):
                    suppress(replace(system, exempt=exempt), 60, exact=False)


def test_one_program_meets_the_demands_of_many_insiders(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(1).choice([1, 1, 2, 3, 40, 60], (12, 15))
    values, relations = with_totals(table)
    system = system_of(values, relations, 5, insiders=True)
    asked, solved = [], Attacker._solved

    def counting(attacker: Attacker, *arguments: Any, **named: Any) -> Any:
        asked.append(arguments)
        return solved(attacker, *arguments, **named)

    monkeypatch.setattr(Attacker, "_solved", counting)
    work = Suppressing(system, time.monotonic() + 600)
    hidden = work.extended(system.unsafe)
    assert not [*work.witnesses.open(hidden)]
    pairs = int((system.contributor != ALONE).sum()) * int(system.unsafe.sum())
    assert 100 * len(asked) < 3 * pairs, "far fewer than one program for each pair of cells"


def test_the_deadline_ends_what_is_asked_of_insiders() -> None:
    values, relations = with_totals(np.array([[1, 2, 9], [3, 1, 9], [9, 9, 9]]))
    work = Suppressing(system_of(values, relations, 5, insiders=True), time.monotonic() - 1)
    with pytest.raises(SearchStoppedError):
        [*work._in_time(work.witnesses.open(work.system.unsafe))]
