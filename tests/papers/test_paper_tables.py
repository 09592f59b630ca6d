"""Cells of the papers' tables that are cheap to compute; ``benchmarks/papers/tables_201*.py`` print all of them."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import tables_2015
import tables_2016
from cases import Plans
from tables_2015 import Cell, Selection

from sqlanon.core.search.antichain import OPTIONS, antichain


@pytest.fixture(scope="module")
def plans(shared: Path) -> Iterator[Plans]:
    """Plans over encodings that the tables share."""
    with Plans(shared / "data") as opened:
        yield opened


def test_utility_lost_by_ignoring_non_monotonicity(plans: Plans) -> None:
    selection = Selection(["adult_2015"], list(tables_2015.TABLE_6), ["(k)"])
    cells = list(tables_2015.table_6(plans, selection))
    assert [cell.paper for cell in cells] == [79, 91, 9, 73]
    assert [round(cell.ours) for cell in cells] == [79, 91, 9, 73]
    assert not any(cell.wrong for cell in cells)


def test_pruning_power_without_suppression(plans: Plans) -> None:
    selection = Selection(["adult_2015"], [], ["(k)", "(l)", "(t)"])
    cells = list(tables_2015.table_7(plans, selection))
    assert [round(cell.ours, 1) for cell in cells] == [97.3, 97.7, 99.2]
    assert not any(cell.wrong for cell in cells)


def test_statistics_of_predictive_properties(plans: Plans) -> None:
    cells = list(tables_2016.statistics(plans, ["adult_2015"], 1))
    assert [round(cell.ours, 2) for cell in cells] == list(tables_2016.STATISTICS["adult_2015"].values())
    assert not any(cell.wrong for cell in cells)


def test_options_answer_recorded_calls_alike() -> None:
    """What the comparison of options checks, on random calls; a call with another answer is told."""
    chance = random.Random(7)
    reference = antichain("up")
    calls: list[tables_2016.Call] = []
    for _ in range(300):
        node = tuple(chance.randrange(4) for _ in range(5))
        method = chance.choice(["insert", "covers", "__contains__"])
        calls.append((0, method, node, getattr(reference, method)(node)))
    for option, _ in OPTIONS:
        assert tables_2016.played(["up"], calls, option)[2] == 0
    calls[0] = (*calls[0][:3], not calls[0][3])
    assert tables_2016.played(["up"], calls, "tree")[2] == 1


def test_cells_are_wrong_beyond_their_tolerance_and_when_faulty() -> None:
    right = Cell(table="7", row="(k)", paper=97.3, ours=97.25, tolerance=0.05)
    assert not right.wrong
    assert Cell(table="7", row="(k)", paper=97.3, ours=97.2, tolerance=0.05).wrong
    assert not Cell(table="7", row="(d)", paper=97.3, ours=97.2, tolerance=0.05, claimed=False).wrong
    assert Cell(table="7", row="(d)", paper=97.3, ours=97.3, tolerance=0.05, claimed=False, fault="no proof").wrong
