"""The tables of the paper on patterns: what was copied from it is consistent, and cells that are cheap to compute."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mondrian import mondrian
from pattern_answers import Answers
from pattern_data import NURSERY, records
from pattern_figures import CORRECTED, TABLES, WITH_EXACT, PaperTable, Printed
from pattern_tables import Cell, line

from sqlanon.recoding.patterns.greedy import greedy
from sqlanon.recoding.patterns.pattern_set import all_patterns, at_most

KS = [2, 3, 4, 5, 6, 7, 8, 9, 10, 25, 50, 75, 100]
RECORDS = {"adult": 32_561, "adult2": 32_561, "nursery": 12_960, "cmc": 1_473}
COMPLETE = {"adult": 30_162, "adult2": 30_162}
"""What Mondrian was given: records without unknown values."""
COLUMNS = {"adult": 14, "adult2": 9, "nursery": 8, "cmc": 10}


def by_number(number: str) -> PaperTable:
    return next(table for table in TABLES if table.number == number)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.number)
def test_printed_averages_are_records_by_row_types(table: PaperTable) -> None:
    rows = table.rows()
    assert list(rows) == [(k, method) for k in KS for method in ("greedy", table.other)]
    for (k, method), row in rows.items():
        complete = COMPLETE if method == "mondrian" else {}
        of = complete.get(table.dataset, RECORDS[table.dataset])
        assert row["h_avg"].agrees(of / row["#h"].value), (k, method)
        assert row["h_max"].value >= row["h_avg"].value - 1e-9
        assert 0 < row["u"].value <= COLUMNS[table.dataset]


@pytest.mark.parametrize("table", [t for t in TABLES if t.other == "exact"], ids=lambda table: table.number)
def test_printed_optima_are_below_the_heuristic(table: PaperTable) -> None:
    rows = table.rows()
    for k in KS:
        greedy, exact = (
            CORRECTED.get((table.number, k, method, "s"), rows[k, method]["s"]).value for method in ("greedy", "exact")
        )
        assert exact <= greedy <= RECORDS[table.dataset] * COLUMNS[table.dataset]
        assert set(rows[k, "greedy"]) == set(rows[k, "exact"]) == set(WITH_EXACT)
    for method in ("greedy", "exact"):
        suppressed = [rows[k, method]["s"].value for k in KS]
        assert suppressed == sorted(suppressed)


def test_corrected_optima_are_within_the_tolerance_of_cplex() -> None:
    for (number, k, method, figure), corrected in CORRECTED.items():
        if method == "exact":
            printed = by_number(number).rows()[k, method][figure].value
            assert corrected.value < printed <= corrected.value * 1.0001


def test_tables_3_and_6_print_the_same_heuristic() -> None:
    with_mondrian, with_exact = by_number("3").rows(), by_number("6").rows()
    for k in KS:
        longer, shorter = with_mondrian[k, "greedy"], with_exact[k, "greedy"]
        assert all(shorter[name].agrees(longer[name].value) for name in ("u", "r", "#h", "h_avg", "h_max"))
    assert {key[1] for key in CORRECTED if key[0] == "6"} == {
        k for k in KS if with_exact[k, "greedy"]["s"].text == "12690"
    }


@pytest.mark.parametrize(
    ("text", "number", "agrees"),
    [
        ("198", 198.54, True),
        ("198", 197.6, True),
        ("198", 199.0, False),
        ("3.20", 3.2, True),
        ("3.20", 3.206, True),
        ("3.20", 3.2101, False),
        ("4.0", 4.0, True),
        ("718", 718, True),
        ("718", 717, False),
    ],
)
def test_a_number_agrees_when_it_is_rounded_or_cut_to_what_is_printed(text: str, number: float, agrees: bool) -> None:
    assert Printed(text).agrees(number) is agrees


def test_nursery_is_every_combination_once(tmp_path: Path) -> None:
    nursery = records(tmp_path, "nursery")
    assert len(set(nursery.rows)) == len(nursery.rows) == 12_960
    assert [len(set(column)) for column in zip(*nursery.rows)] == [len(values) for values in NURSERY.values()]


def test_mondrian_cuts_the_widest_allowed_column_at_the_lower_median() -> None:
    values = np.array([[0, 0], [0, 9], [1, 0], [1, 9]])
    assert mondrian(values, np.array([1, 1, 1, 1]), 2).tolist() == [0, 0, 1, 1]
    assert mondrian(values, np.array([1, 1, 1, 1]), 3).tolist() == [0, 0, 0, 0]
    assert mondrian(values, np.array([4, 2, 1, 1]), 3).tolist() == [0, 1, 0, 1]


def test_mondrian_leaves_no_class_below_k_and_no_allowed_cut() -> None:
    chance = np.random.default_rng(3)
    values, counts = np.unique(chance.integers(0, 6, (300, 3)), axis=0, return_counts=True)
    for k in (1, 2, 7, 300, 301):
        row_types = mondrian(values, counts, k)
        sizes = np.bincount(row_types, counts)
        assert sizes.sum() == 300
        assert sizes.min() >= min(k, 300)
        for row_type in range(len(sizes)):
            inside = row_types == row_type
            for column in range(3):
                seen = values[inside, column]
                order = np.argsort(seen)
                running = np.cumsum(counts[inside][order])
                median = seen[order][np.searchsorted(running, running[-1] / 2)]
                left = counts[inside][seen <= median].sum()
                assert left < k or running[-1] - left < k


@pytest.fixture(scope="module")
def answers(shared: Path) -> Iterator[Answers]:
    """Answers over the real datasets."""
    with Answers(shared / "data", time_limit=60.0) as opened:
        yield opened


ALL_PATTERNS = [("4", k, {"#h": types, "h_max": most}) for k, types, most in ((2, 718, 4), (5, 258, 15), (10, 127, 18))]
TWO_STARS = [("7", k, {"s": lost, "#h": types}) for k, lost, types in ((2, 4112, 533), (5, 8952, 109), (10, 11678, 28))]


@pytest.mark.parametrize(("number", "k", "figures"), ALL_PATTERNS + TWO_STARS)
def test_patterns_of_cmc(answers: Answers, number: str, k: int, figures: dict[str, int]) -> None:
    found_line = line(by_number(number), k, "greedy", answers)
    assert {cell.figure: cell.ours for cell in found_line.cells}.items() >= figures.items()
    assert not found_line.wrong


@pytest.mark.parametrize(("number", "k"), [("2", 100), ("3", 5), ("6", 25), ("8", 2), ("8", 50)])
@pytest.mark.few(2)
def test_other_datasets(answers: Answers, number: str, k: int) -> None:
    found_line = line(by_number(number), k, "greedy", answers)
    assert all(cell.same for cell in found_line.cells if cell.figure != "r")
    assert not found_line.wrong


@pytest.mark.parametrize(("number", "k"), [("3", 2), ("3", 75), ("4", 2), ("4", 100)])
def test_mondrian_of_the_paper(answers: Answers, number: str, k: int) -> None:
    found_line = line(by_number(number), k, "mondrian", answers)
    assert all(cell.claimed and cell.same for cell in found_line.cells if cell.figure != "r")
    assert not found_line.faults


def test_a_mutilated_answer_is_faulty(answers: Answers) -> None:
    table = by_number("4")
    prepared = answers.prepared(table)
    patterns = all_patterns(len(prepared.dataset.columns))
    found = greedy(prepared.engine, prepared.catalog, patterns, 2)
    rows, suppressed = prepared.assigned(found)
    figures, faults = prepared.judged(rows, suppressed, patterns, 2)
    assert faults == [] and list(prepared.untrue(found, figures)) == []
    assert list(prepared.untrue(found, {**figures, "u": figures["u"] + 0.001})) == [f"u is said to be {figures['u']}"]

    fewer = replace(rows, counts=np.maximum(rows.counts - 1, 1))
    assert "records were lost or changed" in prepared.judged(fewer, suppressed, patterns, 2)[1]
    assert "a row type holds fewer than 2" in prepared.judged(rows, suppressed & False, patterns, 2)[1]
    none_but_outliers = at_most(10, 0, outliers=True)
    assert "a row matches no pattern" in prepared.judged(rows, suppressed, none_but_outliers, 2)[1]


def test_cells_are_wrong_when_they_were_claimed() -> None:
    document = {"table": "4", "k": 2, "method": "greedy", "figure": "#h", "paper": "718", "corrected": "718"}
    assert str(Cell(**document, ours=718, claimed=True)) == "718"
    assert not Cell(**document, ours=718, claimed=True).wrong
    assert Cell(**document, ours=717, claimed=True).wrong
    assert str(Cell(**document, ours=717, claimed=True)) == "717 (718)!"
    assert not Cell(**document, ours=717, claimed=False).wrong
    assert str(Cell(**document, ours=717, claimed=False)) == "717 (718)~"
    corrected = {**document, "corrected": "717"}
    assert str(Cell(**corrected, ours=717, claimed=True)) == "717 (718)*"
    assert Cell(**corrected, ours=718, claimed=True).wrong


@pytest.mark.parametrize(("number", "k"), [("6", 5), ("6", 100), ("7", 5), ("7", 10)])
@pytest.mark.few(2)
def test_optima(answers: Answers, number: str, k: int) -> None:
    pytest.importorskip("highspy")
    found_line = line(by_number(number), k, "exact", answers)
    assert found_line.cells[0].claimed and found_line.cells[0].same
    assert not found_line.wrong
