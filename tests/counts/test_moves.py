"""Large tables: what moves suppress protects in whole numbers, and the audit believes no witness that does not fit."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from effort import Block, seeds

import sqlanon
from sqlanon.counts import exact, protecting
from sqlanon.counts.attacker import Attacker
from sqlanon.counts.exact import suppress_by_moves
from sqlanon.counts.facts import ALONE, Demand, Flags, Floats, SparseRows, System
from sqlanon.counts.grid import Dimension, Grid, sets_of
from sqlanon.counts.heuristic import Suppressing
from sqlanon.counts.moves import MoveSearch
from sqlanon.counts.reader import CellAudit
from sqlanon.errors import SearchStoppedError

pytest.importorskip("highspy", reason="needs HiGHS: the extra exact")
NO_TIME_LIMIT = 1e9


def dimension(name: str, sizes: list[int], several: bool) -> Dimension:
    """A dimension with so many categories at each level, the finest first; each number divides the one before."""
    texts: list[str | None] = [None, *[f"{level}.{i}" for level, size in enumerate(sizes) for i in range(size)]]
    level = np.repeat([-1, *range(len(sizes))], [1, *sizes])
    codes = np.concatenate([[0], *[np.arange(size) for size in sizes]])
    above = {}
    for coarse, size in enumerate(sizes):
        own = np.full(len(texts), -1)
        for fine in range(coarse + 1):
            own[level == fine] = np.flatnonzero(level == coarse)[np.arange(sizes[fine]) * size // sizes[fine]]
        above[coarse] = own
    steps = frozenset({(0, None)}) if several else frozenset()
    return Dimension(name, tuple(range(len(sizes))), tuple(texts), level, codes, above, steps)


def world(seed: int, shape: float = 0.8) -> tuple[Grid, System]:
    """The cells of a random table of two or three dimensions with totals, and what must be protected.

    Args:
        shape: of the gamma distribution of cells; a small one leaves most empty.
    """
    draw = np.random.default_rng(seed)
    shapes = [[[6], [5]], [[6, 3], [4]], [[4], [4], [3]], [[8, 4, 2], [6, 2]], [[4], [6, 2], [3]]]
    sizes = shapes[seed % len(shapes)]
    several = seed % 10 == 5
    dimensions = tuple(dimension(f"d{i}", own, several and not i) for i, own in enumerate(sizes))
    names = [d.name for d in dimensions]
    sets = tuple(sets_of({d.name: d.levels for d in dimensions}, names, names))
    grid = Grid(dimensions, sets, (True,) * len(sets))
    finest = [own[0] for own in sizes]
    leaves = draw.poisson(draw.gamma(shape, draw.choice([4, 8, 20]), finest)).reshape(-1)
    places = np.indices(finest).reshape(len(finest), -1)
    values = np.zeros(len(grid))
    for number, levels in enumerate(sets):
        keys = [
            np.zeros(len(leaves), np.int64) if level is None else d.above[level][1 + places[p]]
            for p, (d, level) in enumerate(zip(dimensions, levels, strict=True))
        ]
        np.add.at(values, grid.cells(number, np.stack(keys, axis=1)), leaves)
    if several:  # a person in two categories of the first dimension counts once in its total
        keys = grid.all_keys
        for own in range(1, sizes[1][0] + 1):
            parts = values[(keys[:, 1] == own) & (keys[:, 0] > 0)]
            values[(keys[:, 1] == own) & (keys[:, 0] == 0)] = max(parts.max(), parts.sum() - 1)
        values[(keys == 0).all(axis=1)] = values[(keys[:, 0] == 0) & (keys[:, 1] > 0)].sum()
    threshold = int(draw.choice([3, 5]))
    unsafe = (values > 0) & (values < threshold)
    own = np.where(unsafe & (values == 1), np.arange(len(grid)), ALONE)
    system = System(
        values,
        np.ones(len(grid), bool),
        protecting.rows_of(grid),
        unsafe,
        np.where(unsafe, 0.0, values),
        np.where(unsafe, float(threshold), values),
        np.maximum(values, 1.0) if seed % 3 == 0 else np.ones(len(grid)),
        values == 0 if seed % 4 == 0 else np.zeros(len(grid), bool),
        own if seed % 2 else np.empty(0, np.int64),
        waives=True,
    )
    return grid, system


def is_met(demand: Demand, table: Floats) -> bool:
    """Whether a table meets what is demanded of an unsafe cell."""
    return bool(demand.sign * (table[demand.cell] - demand.value) >= 0)


@pytest.mark.slow
@seeds(300, 60)
def test_witnesses_protect_what_is_suppressed(block: Block) -> None:
    """Each witness keeps all relations exactly, and together they meet every demand, those of insiders too."""
    met = 0
    for seed in block:
        grid, system = world(seed)
        search = MoveSearch(grid, system, NO_TIME_LIMIT)
        left = set(search.suppress())
        before = search.hidden.sum()
        search.reduce()
        assert search.hidden.sum() <= before and not (system.exempt & search.hidden & ~system.unsafe).any()
        tables = [system.values.copy() for _ in search.witnesses]
        for table, (cells, changes) in zip(tables, search.witnesses.values(), strict=True):
            table[cells] += changes
        assert all(system.holds(table, search.hidden) for table in tables)
        every = np.array(tables).reshape(len(tables), len(system))
        for [demand] in system.demands():
            if (demand.cell, -1) not in left:
                assert any(is_met(demand, table) for table in tables)
                met += 1
        own = system.contributor if len(system.contributor) else np.full(len(system), ALONE)
        for known in np.flatnonzero(own != ALONE).tolist():
            kept = every[every[:, known] == system.values[known]]
            for other in np.flatnonzero(system.unsafe & (own != own[known])).tolist():
                assert (kept[:, other] != system.values[other]).any() or {(other, known), (other, -1)} & left
    assert met > 5 * len(block)


@pytest.mark.parametrize("seconds", [20.0, 0.0])
@seeds(60, 12)
def test_what_moves_do_not_meet_programs_do_or_the_grand_total(
    block: Block, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without time moves with the grand total do, unless cells must be shown or persons have several categories."""
    for seed in block:
        grid, system = world(seed, 0.8 if seconds else 0.1)
        whole = grid.whole
        system = replace(system, grand=-1 if whole is None or system.unsafe[whole] else whole)
        if not seconds:
            needs_programs = system.exempt.any() or (system.rows.lower < system.rows.upper).any()
            monkeypatch.setattr(exact, "GRACE", 20.0 if needs_programs else 0.0)
        try:
            found = suppress_by_moves(grid, system, seconds)
        except sqlanon.NoSolutionError:
            assert system.exempt.any()
            continue
        tables = []
        for cells, changes in found.witnesses:
            table = system.values.copy()
            table[cells] += changes
            assert system.holds(table, found.suppressed)
            tables.append(table)
        assert all(any(is_met(d, t) for t in tables) for [d] in system.demands())
        assert found.lower_bound <= found.weight


def test_when_the_time_is_over_moves_try_all_of_many_categories(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of a category may lie in late ones of another dimension; here no program is left to find them."""

    def met(work: Suppressing, left: list[tuple[int, int]], hidden: Flags) -> Flags:
        if left:
            raise SearchStoppedError("late")
        return hidden

    monkeypatch.setattr(Suppressing, "met_by_programs", met)
    draw = np.random.default_rng(7)
    first, second = draw.integers(10, 50, 30), draw.choice(5, 30, p=[0.6, 0.2, 0.1, 0.07, 0.03])
    table = pa.table({"a": pa.array([str(a) for a in first]), "b": pa.array([str(b) for b in second])})
    found = sqlanon.counts(table, {"counts": {"t": {"dimensions": ["a", "b"]}}, "time_limit": 0}).protection
    assert found.how == "heuristic" and found.unsafe > 30 and not found.optimal


def test_moves_go_on_where_the_first_program_ends_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise SearchStoppedError("late")

    monkeypatch.setattr(Attacker, "scatter", late)
    grid, system = world(1)
    assert suppress_by_moves(grid, system, 20.0).suppressed.sum() > system.unsafe.sum() > 0


@pytest.mark.parametrize("others", [0, 50_000_000])
def test_the_audit_checks_each_witness(others: int) -> None:
    """A table of two by two with totals: one that fits is learnt from, others are not, however large the totals are."""
    shape = np.arange(9).reshape(3, 3)  # the last row and column are totals
    lines = [*shape.tolist(), *shape.T.tolist()]
    rows = SparseRows.of((line, [1.0, 1.0, -1.0], 0.0, 0.0) for line in lines)
    truth = np.array([2.0, 9, 11, 9, 9, 18, 11, 18, 29])
    truth[[1, 2, 3, 6, 4, 5, 7, 8]] += np.array([1, 1, 1, 1, 1, 2, 2, 3]) * float(others)
    inner = np.array([0, 1, 3, 4])
    hidden = np.isin(shape.reshape(-1), inner)
    low, high = np.where(hidden, 0.0, truth), np.where(hidden, np.inf, truth)
    fitting = (inner, np.array([3.0, -3, -3, 3]))
    wrong = [
        (inner, np.array([3.0, -3, -3, 2])),  # sums differ
        (inner, np.array([-3.0, 3, 3, -3])),  # below 0
        (np.array([0, 2, 6, 8]), np.full(4, 3.0)),  # shown cells
    ]
    for told, known in (([], False), (wrong, False), ([*wrong, fitting], True)):
        audit = CellAudit(rows, low, high)
        audit.learn(truth, told)
        assert audit._most[0] == (5.0 if known else -np.inf)
    first = shape.reshape(-1) == 0
    assert not CellAudit(rows, low, high).faults(5, first, np.zeros(9), np.full(9, 5.0))


def test_sums_of_persons_in_several_categories_are_sums_of_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their unknowns are the cells of all dimensions, as the audit has it, though those of the counts are not."""
    monkeypatch.setattr(protecting, "FEW", 5)
    draw = np.random.default_rng(0)
    columns: dict[str, Any] = {name: [f"{name}{value}" for value in draw.integers(0, 4, 120)] for name in "abc"}
    table = pa.table({**columns, "person": draw.integers(0, 96, 120), "cost": np.rint(draw.lognormal(2, 1.3, 120))})
    tables = {own: {"dimensions": [*own], "measures": [{"sum": "cost"}]} for own in ("ab", "bc", "ac")}
    document = {"counts": tables, "entity": "person", "threshold": 3, "insiders": False, "time_limit": 5}
    found = sqlanon.counts(table, document).to_dict()
    assert found["system"] == "published" and found["unsafe"] > 5


@pytest.mark.slow
def test_a_large_table_is_published_and_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some 4,000 cells: no program is solved for a demand, and the audit asks for no interval."""
    draw = np.random.default_rng(1)
    sizes = {"a": 24, "b": 12, "c": 10}
    columns = {
        name: draw.choice(n, 40_000, p=(w := np.arange(1, n + 1) ** -0.7) / w.sum()) for name, n in sizes.items()
    }
    table = pa.table({name: pa.array([f"{name}{value}" for value in own]) for name, own in columns.items()})
    asked: list[object] = []
    monkeypatch.setattr(CellAudit, "interval", lambda self, cell: asked.append(cell) or (0.0, np.inf))
    found = sqlanon.counts(table, {"counts": {"t": {"dimensions": [*sizes]}}, "threshold": 5, "time_limit": 30})
    told = found.to_dict()
    assert told["cells"] > protecting.LARGE and told["unsafe"] > 100 and not asked
    assert 0 < told["lower_bound"] <= told["complementary"] and told["gap"] < 1 and not told["optimal"]
