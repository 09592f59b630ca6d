"""Rounded counts: what they may be, that totals add up, and what a reader can compute from them."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from counted_worlds import AGES, as_table, contingency, counted_by, records
from effort import Block, seeds
from engine_kinds import duckdb

import sqlanon
from sqlanon.core.source.release_key import ReleaseKey
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.facts import ALONE, SparseRows, System
from sqlanon.counts.protecting import protect
from sqlanon.counts.released import released_rows
from sqlanon.counts.rounding import rounded_at_random, rounded_to_add_up, rounded_to_nearest
from sqlanon.counts.written import audit_written

pytest.importorskip("highspy", reason="needs HiGHS: the extra exact")
TABLE = {"by": {"dimensions": {"sex": 0, "region": 0}}}
Table = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """The secret of the documents."""
    monkeypatch.setenv("COUNTS_KEY", "an invented secret of many bytes")


def with_totals(table: Table) -> Table:
    """Tables, in the last two axes, with their totals."""
    table = np.concatenate([table, table.sum(-1, keepdims=True)], -1)
    return np.concatenate([table, table.sum(-2, keepdims=True)], -2)


def released(values: Table, **changes: Any) -> tuple[Table, Any]:
    """The two-way table with totals as it is released, -1 where it is suppressed; it was audited."""
    asked = {"table": "t", "counts": TABLE, "threshold": 3, **changes}
    policy = CountsPolicy.from_dict(asked)
    with duckdb() as engine:
        counted = counted_by(engine, contingency(values.tolist()), asked)
    protection = protect(counted, policy)
    rows = released_rows(protection.shown(counted), policy, protection.suppressed)
    audit_written(rows, counted, policy, steps=protection.steps)
    shown = np.full([n + 1 for n in values.shape], -1)
    for row in rows.to_pylist():
        place = tuple(-1 if row[name] == "Total" else int(row[name][1:]) for name in ("sex", "region"))
        shown[place] = -1 if row["suppressed"] else row["count"]
    return shown, protection


def drawn(seed: int, choices: tuple[int, ...] = (0, 1, 2, 3, 4, 7)) -> Table:
    """A table of two rows, in each of which and in each column someone is."""
    values = np.random.default_rng(seed).choice(choices, (2, 3))
    return values + 5 * ((np.arange(3) == 0) | (np.arange(2)[:, None] == 1)) * (values == 0)


@cache
def all_tables() -> Table:
    """All tables of two rows of three whole numbers up to 8, with their totals."""
    return with_totals(np.indices([9] * 6, np.int8).reshape(6, -1).T.reshape(-1, 2, 3))


def is_told(true: Table, tables: Table, threshold: int) -> bool:
    """Whether a reader, to whom some tables are possible, or an insider excludes what may not be excluded."""
    unsafe = [tuple(p) for p in np.argwhere((true > 0) & (true < threshold)).tolist()]
    for own in unsafe:
        values = tables[(slice(None), *own)]
        if values.min() > 0 or values.max() < threshold:
            return True
        known = tables[values == true[own]]
        for other in unsafe if true[own] == 1 else ():
            if other != own and len(np.unique(known[(slice(None), *other)])) == 1:
                return True
    return False


@pytest.mark.slow
@seeds(60, size=6)
def test_rounding_without_suppression_is_refused_where_a_reader_would_learn_more(block: Block) -> None:
    """A brute force over all tables that are rounded to the same: those and no others are what a reader can exclude."""
    refused = 0
    for seed in block:
        values = drawn(seed)
        true = with_totals(values)
        every = all_tables()
        shown = rounded_to_nearest(true, 6)
        same = every[(rounded_to_nearest(every, 6) == shown).all((1, 2))]
        try:
            found, _ = released(values, round=6, suppress=False)
        except sqlanon.NoSolutionError:
            assert is_told(true, same, 3), seed
            refused += 1
            continue
        assert (found == shown).all()
        assert not is_told(true, same, 3), seed
    assert refused < len(block)


@seeds(40, size=8)
def test_controlled_rounding_adds_up_next_to_the_counts_and_is_the_nearest(block: Block) -> None:
    for seed in block:
        values = drawn(seed, (0, 3, 4, 7, 12, 20))
        true, base = with_totals(values), (3, 5, 10)[seed % 3]
        found, protection = released(values, round=base, additive=True, threshold=2)
        assert protection.steps == 1, "in two dimensions there always is one"
        assert (with_totals(found[:-1, :-1]) == found).all()
        assert (np.abs(found - true) < base).all()
        assert (found % base == 0).all()
        assert ((true % base > 0) | (found == true)).all()
        down = values // base
        up = np.stack([down, down + (values % base > 0)])
        inner = np.array([*itertools.product(*up.reshape(2, -1).T.tolist())]).reshape(-1, *values.shape)
        choices = with_totals(inner * base)
        near = choices[(np.abs(choices - true) < base).all((1, 2))]
        assert np.abs(found - true).sum() == np.abs(near - true).sum((1, 2)).min()


@seeds(40, size=8)
def test_controlled_rounding_without_suppression_protects(block: Block) -> None:
    """Unsafe counts are shown as 0; all tables within the range of each count agree with it."""
    for seed in block:
        values = drawn(seed)
        true = with_totals(values)
        found, protection = released(values, round=4, suppress=False, additive=True)
        assert not found[(true > 0) & (true < 3)].any()
        every = all_tables()
        fits = (np.abs(every - found) < 4 * protection.steps) & ((found == 0) | (every >= 3))
        assert not is_told(true, every[fits.all((1, 2))], 3), seed


def test_where_unsafe_counts_leave_none_next_to_all_counts_others_go_further() -> None:
    values = np.array([[2, 2, 2, 2, 2, 2], [0, 0, 0, 0, 0, 30]])
    found, protection = released(values, round=4, suppress=False, additive=True)
    assert protection.steps > 1
    assert (with_totals(found[:-1, :-1]) == found).all()
    assert (np.abs(found - with_totals(values)) < 4 * protection.steps).all()
    with pytest.raises(sqlanon.NoSolutionError, match="add up"):
        released(np.full((3, 40), 2), round=4, suppress=False, additive=True)


@pytest.mark.slow
def test_in_three_dimensions_controlled_rounding_may_go_further() -> None:
    """Totals add up where nothing is suppressed; how far counts go is said."""
    draw, steps = random.Random(3), set()
    asked = {"counts": {"by": {"dimensions": ["a", "b", "c"]}}, "round": 3, "additive": True, "threshold": 2}
    for _ in range(5):
        rows = [{n: draw.randrange(3) for n in "abc"} for _ in range(150)]
        release = sqlanon.counts(pa.Table.from_pylist(rows), asked | {"insiders": False})
        steps.add(release.manifest["rules"]["rounding"]["steps"])
        shown = {tuple(r[n] for n in "abc"): r["count"] for r in release.to_arrow().to_pylist()}
        for key, count in shown.items():
            for place in range(3):
                own = [n for k, n in shown.items() if k[:place] + k[place + 1 :] == key[:place] + key[place + 1 :]]
                assert None in own or 2 * max(own) == sum(own)
            assert count is None or count % 3 == 0
    assert steps <= {1, 2}


@seeds(30, size=6)
def test_what_is_shown_beside_suppressed_cells_does_not_depend_on_them(block: Block) -> None:
    """Of all tables of which suppression shows the same, controlled rounding makes the same."""
    for seed in block:
        draw = np.random.default_rng(seed)
        table = with_totals(draw.integers(0, 12, (3, 3)))
        cells = np.arange(16).reshape(4, 4)
        lines = [*cells.tolist(), *cells.T.tolist()]
        rows = SparseRows.of((line, [1.0, 1.0, 1.0, -1.0], 0.0, 0.0) for line in lines)
        hidden = np.zeros((4, 4), bool)
        hidden[np.ix_([0, 1], [0, 1])] = True
        made = []
        for moved in (table, table + np.outer([1, -1, 0, 0], [1, -1, 0, 0])):
            if moved.min() < 0:
                continue
            values, flags = moved.reshape(-1).astype(float), hidden.reshape(-1)
            nothing = np.zeros(16)
            system = System(
                values, np.ones(16, bool), rows, flags, nothing, nothing, nothing, flags, np.full(16, ALONE)
            )
            made.append(rounded_to_add_up(system, flags, 5, 60)[0][~flags])
        assert all((made[0] == other).all() for other in made)


@pytest.mark.slow
def test_random_rounding_has_the_count_as_its_mean() -> None:
    asked = {"table": "t", "entity": "person", "key": {"env": "COUNTS_KEY"}, "round": 5, "rounding": "random"}
    asked["counts"] = TABLE
    values = np.array([[0, 1, 2, 3, 4], [5, 6, 7, 8, 19]])
    with duckdb() as engine:
        counted = counted_by(engine, contingency(values.tolist()), asked)
    true, times = counted.contributors, 2000
    made = np.stack([rounded_at_random(counted, 5, ReleaseKey(bytes([n % 256, n // 256]))) for n in range(times)])
    assert (np.abs(made - true) < 5).all()
    assert (made % 5 == 0).all()
    assert (made[:, true % 5 == 0] == true[true % 5 == 0]).all()
    share = true % 5 / 5
    assert (np.abs(made.mean(0) - true) <= 5 * 5 * np.sqrt(share * (1 - share) / times)).all()
    alone = np.corrcoef((made - true)[:, true % 5 > 0].T)
    assert np.abs(alone - np.eye(len(alone))).max() < 0.15, "cells are rounded apart from each other"


@pytest.mark.slow
def test_random_rounding_is_the_same_in_every_run_and_tells_no_equal_cells() -> None:
    """Two cells of the same persons are rounded apart; each of them is rounded alike in all tables."""
    rows = [{"person": n, "sex": f"s{n // 7}", "region": f"r{n // 7}"} for n in range(7 * 40)]
    asked: dict[str, Any] = {"entity": "person", "key": {"env": "COUNTS_KEY"}, "round": 5, "rounding": "random"}
    shown = {}
    for dimensions in (["sex"], ["region"], ["sex", "region"]):
        found = sqlanon.counts(pa.Table.from_pylist(rows), asked | {"counts": {"by": {"dimensions": dimensions}}})
        for row in found.to_arrow().to_pylist():
            key = tuple(row.get(n, "Total") for n in ("sex", "region"))
            assert shown.setdefault(key, row["count"]) == row["count"]
    different = sum(shown[f"s{n}", "Total"] != shown["Total", f"r{n}"] for n in range(40))
    assert 5 < different < 35


WORLDS: dict[str, dict[str, Any]] = {
    "nearest": {"round": 5},
    "bare": {"round": 8, "suppress": False},
    "additive": {"round": 4, "additive": True},
    "additive and bare": {"round": 8, "additive": True, "suppress": False},
    "random": {"round": 4, "rounding": "random"},
}


@pytest.mark.slow
@seeds(30, size=10)
@pytest.mark.parametrize("world", WORLDS)
def test_releases_of_persons_in_several_categories_are_audited(world: str, block: Block) -> None:
    """Linked tables, hierarchies and persons who move: every release passes its audit, or says why there is none."""
    made = 0
    for seed in block:
        rows = records(random.Random(seed), 200)
        tables = {"ages": {"dimensions": {"sex": 0, "age": [1, 2]}}, "regions": {"dimensions": ["region", "sex"]}}
        asked = {"counts": tables, "columns": {"age": AGES}, "entity": "person", "threshold": 3, "insiders": False}
        asked |= WORLDS[world] | ({"key": {"env": "COUNTS_KEY"}} if world == "random" else {})
        try:
            found = sqlanon.counts(as_table(rows), asked)
        except sqlanon.NoSolutionError:
            continue
        made += 1
        values = [row["count"] for row in found.to_arrow().to_pylist()]
        assert all(value is None or value % WORLDS[world]["round"] == 0 for value in values)
        assert (None in values) == (found.protection.suppressed_cells > 0)
    assert made or world.endswith("bare")


def test_ten_five_is_the_published_table() -> None:
    """``ptable_10_5`` of ``cell-key-perturbation`` (ONS): from 10 on, what is added to 10, 11, 12, 13, 14."""
    counts = np.arange(10, 751)
    assert (rounded_to_nearest(counts, 5) - counts).tolist() == [(0, -1, -2, 2, 1)[n % 5] for n in counts.tolist()]


@pytest.mark.parametrize("changes", [{"round": 4}, {"round": 4, "additive": True}, {"round": 6, "suppress": False}])
@pytest.mark.parametrize("fault", ["another value", "an unsafe cell"])
def test_the_audit_refuses_other_counts(changes: dict[str, Any], fault: str) -> None:
    values = np.array([[1, 12, 14], [12, 7, 11]])
    asked = {"table": "t", "counts": TABLE, "threshold": 3, **changes}
    policy = CountsPolicy.from_dict(asked)
    with duckdb() as engine:
        counted = counted_by(engine, contingency(values.tolist()), asked)
    protection = protect(counted, policy)
    own = protection.values.copy()
    if fault == "another value":
        shown = np.flatnonzero(~protection.suppressed)
        own[shown[-1]] += 2 * (policy.rules.round or 0)
    elif changes.get("suppress", True):
        protection = replace(protection, suppressed=np.zeros(len(own), bool))
    else:
        own[np.flatnonzero(counted.contributors == 1)] = 6
    rows = released_rows(replace(counted, contributors=own), policy, protection.suppressed)
    with pytest.raises(sqlanon.AuditError):
        audit_written(rows, counted, policy, steps=protection.steps)


def test_an_insider_may_know_of_a_total_that_is_always_his_own_cell() -> None:
    """Where a dimension has one category, both have the same persons, whatever is shown."""
    values = np.array([[1], [31], [28]])
    found, _ = released(values, round=8, suppress=False)
    assert (found == rounded_to_nearest(with_totals(values), 8)).all()
