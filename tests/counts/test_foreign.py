"""Tables of counts made elsewhere: they read as a person reads them, and their intervals are those of all tables."""

from __future__ import annotations

import itertools
import json
import random
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from counted_worlds import as_table, records
from effort import Block, seeds

import sqlanon
from sqlanon import CountsCheck, check_counts
from sqlanon.cli import main
from sqlanon.counts.foreign_system import ForeignAudit, SumRelation
from sqlanon.errors import InputError


def compositions(total: int, parts: int) -> np.ndarray[Any, Any]:
    """All vectors of whole numbers of a sum."""
    bars = np.array([*itertools.combinations(range(total + parts - 1), parts - 1)], np.int64).reshape(-1, parts - 1)
    ends = np.concatenate([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), total + parts - 1)], axis=1)
    return np.diff(ends, axis=1) - 1


def random_table(chance: random.Random) -> tuple[list[str], dict[tuple[str, ...], list[int]], list[int]]:
    """The dimensions of a table, of each cell the finest cells that it is the sum of, and the values of these."""
    shape = chance.choice([(2, 3), (3, 3), (2, 2, 2), (2, 4)])
    finest = [*itertools.product(*map(range, shape))]
    cells = {}
    for place in itertools.product(*(range(size + 1) for size in shape)):
        labels = tuple("Total" if at == size else f"{'pqr'[d]}{at}" for d, (at, size) in enumerate(zip(place, shape)))
        inside = [n for n, own in enumerate(finest) if all(a in (b, s) for a, b, s in zip(place, own, shape))]
        cells[labels] = inside
    return ["one", "two", "three"][: len(shape)], cells, [chance.choice([0, 0, 1, 1, 2, 3]) for _ in finest]


def nested_table(chance: random.Random) -> tuple[list[str], dict[tuple[str, ...], list[int]], list[int]]:
    """The same of a table of sexes by districts in regions, one row of which is written with a blank district."""
    districts = [("r0", "d0"), ("r0", "d1"), ("r1", "d2"), ("r1", "d3")]
    finest = [(region, district, sex) for region, district in districts for sex in "FM"]
    cells = {
        (region, district, sex): [n for n, own in enumerate(finest)
                                  if all(b in ("", "Total", a) for a, b in zip(own, (region, district, sex)))]
        for region, district in [*districts, ("r0", ""), ("r1", ""), ("Total", "")]
        for sex in ("F", "M", "Total")
    }  # fmt: skip
    return ["region", "district", "sex"], cells, [chance.choice([0, 0, 1, 1, 2, 3]) for _ in finest]


@seeds(60)
def test_intervals_are_those_of_all_tables_of_whole_numbers(block: Block, tmp_path: Path) -> None:
    for seed in block:
        chance = random.Random(seed)
        look_at(chance, nested_table(chance) if seed % 3 == 0 else random_table(chance), tmp_path / "table.csv")


def look_at(
    chance: random.Random, drawn: tuple[list[str], dict[tuple[str, ...], list[int]], list[int]], path: Path
) -> None:
    """Compare what is computed of a random table with what all tables of whole numbers allow."""
    names, cells, values = drawn
    values[0] += max(0, 3 - sum(values))
    while sum(values) > 10:
        values[values.index(max(values))] -= 1
    words: dict[tuple[str, ...], str] = {}
    bounds: dict[tuple[str, ...], tuple[int, int]] = {}
    every = compositions(sum(values), len(values))
    agrees = np.ones(len(every), bool)
    for labels, inside in cells.items():
        truth, lot = sum(values[n] for n in inside), chance.random()
        if lot < 0.4 and len(inside) < len(values):
            words[labels] = chance.choice(["x", "..", "[c]"])
        elif lot < 0.55 and 0 < truth < 4 and len(inside) < len(values):
            words[labels], bounds[labels] = "1-3", (1, 3)
        else:
            words[labels], bounds[labels] = str(truth), (truth, truth)
        if labels in bounds:
            own = every[:, inside].sum(axis=1)
            agrees &= (own >= bounds[labels][0]) & (own <= bounds[labels][1])
    rows: list[list[str]]
    if chance.random() < 0.5:
        rows = [[*names, "n"], *chance.sample([[*labels, word] for labels, word in words.items()], len(words))]
    else:
        last = [*dict.fromkeys(labels[-1] for labels in words)]
        outer = [*dict.fromkeys(labels[:-1] for labels in words)]
        rows = [[*names[:-1], *last], *([*own, *(words[*own, each] for each in last)] for own in outer)]
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")
    found = check_counts(path, rounded=1)
    assert not found.contradictions
    computed = {tuple(each.cell.values()): each for each in found.computed}
    hidden = {labels for labels, word in words.items() if not word.isdigit()}
    written = {(" > ".join(filter(None, labels[:2])), labels[2]) if "district" in names else labels: labels
               for labels in hidden}  # fmt: skip
    assert computed.keys() == written.keys()
    for labels, each in computed.items():
        own = every[agrees][:, cells[written[labels]]].sum(axis=1)
        assert (each.low, each.high) == (own.min(), own.max()), labels
        assert (each.finding == "exact") == (own.min() == own.max())


def table(text: str) -> str:
    """A table of a few lines, with a bar between its columns."""
    return "\n".join(line.strip() for line in text.strip().splitlines()).replace("|", ";") + "\n"


EXACT: dict[str, tuple[str, dict[str, Any], dict[str, int]]] = {
    "wide, with thousands and German totals": (
        """Region|Männer|Frauen|Insgesamt
        Nord|1.234|1.301|2.535
        Süd|x|x|2.001
        Ost|812|799|1.611
        West|x|1.200|x
        Insgesamt|4.200|4.100|8.300""",
        {},
        {"Süd/Männer": 1201, "Süd/Frauen": 800, "West/Männer": 953, "West/Total": 2153},
    ),
    "two bounds that add up": (
        """area|a|b|All
        X|4|<5|8
        Y|<5|< 5*|8
        Z|6|6|12
        All|14|14 (r)|28""",
        {"threshold": 4},
        {"X/b": 4, "Y/a": 4, "Y/b": 4},
    ),
    "bounds are above 0 where zeros are shown": (
        """area|a|b|Sum
        X|0|12|12
        Y|<5|<5|2
        Sum|1|13|14""",
        {},
        {"Y/a": 1, "Y/b": 1},
    ),
    "long, ages as categories": (
        """age|sex|n
        0-17|F|12
        0-17|M|under 5
        0-17|Total|14
        18+|F|20
        18+|M|30
        18+|Total|50
        Total|F|32
        Total|M|32
        Total|Total|64""",
        {},
        {"0-17/M": 2},
    ),
    "nested, blank ones as in merged cells": (
        """region|district|n
        North|Ash|120
        |Beech|x
        |Cedar|95
        North||222
        South|Dale|60
        |Elm|x
        |Firth|x
        South||80
        Total||302""",
        {},
        {"North > Beech": 7},
    ),
    "totals of districts before them": (
        """region|district|sex|n
        All||F|50
        All||M|60
        North||F|20
        North||M|30
        North|Ash|F|12
        North|Ash|M|13
        North|Elm|F|8
        North|Elm|M|x
        South||F|30
        South||M|30
        South|Dale|F|10
        South|Dale|M|11
        South|Oak|F|x
        South|Oak|M|19""",
        {},
        {"North > Elm/M": 17, "South > Oak/F": 20},
    ),
    "codes that begin with others": (
        """code|cases
        A|101
        A1|60
        A2|(D)
        B|1053
        B1|521
        B2|532
        Total|1154""",
        {},
        {"A > A2": 41},
    ),
    "a row that is the sum of those below, by the numbers alone": (
        """zone|2019|2020
        Europe|1234567|1200000
        France|700000|690000
        Germany|534567|510000
        Asia|5000000|4000010
        China|2000000|[c]
        India|3000000|3000001
        Monde|6234567|5200010""",
        {"total": ("Monde",)},
        {"Asia > China/2020": 1000009},
    ),
    "years in columns": (
        """cause|2019|2020|2021
        All causes|1200|1300|1251
        Cancer|400|410|421
        Heart|500|..|600
        Other|300|490|230""",
        {},
        {"Heart/2020": 400},
    ),
    "dashes that are named": (
        """area|F|M|Total
        A|-|12|12
        B|5|c|9
        Total|5|16|21""",
        {"mark": ("-=0", "c=1-9")},
        {"B/M": 4},
    ),
    "rows that are left out are what is missing": (
        """area|sex|n
        A|F|12
        B|F|5
        B|M|8
        Total|F|17
        Total|M|11
        Total|Total|28""",
        {},
        {"A/M": 3, "A/Total": 15},
    ),
    "rows that are left out are 0 where the sums say so": (
        """area|sex|n
        A|F|12
        A|Total|12
        B|F|5
        B|M|*
        B|Total|13
        Total|F|17
        Total|M|8
        Total|Total|25""",
        {},
        {"B/M": 8},
    ),
    "subtotals that are named": (
        """area|n
        North|x
        South|20
        Total coast|24
        Hills|10
        Total|34""",
        {"total": ("Total", "Total coast=North,South")},
        {"Total coast > North": 4},
    ),
    "codes beside names, and a remark": (
        """code|area|n|remark
        00|Total|50|
        01|North|x|revised
        02|South|30|
        03|West|17|""",
        {},
        {"01 > North": 3},
    ),
    "notes below, and a column of percentages": (
        """area|sex|n|percent
        A|F|12|40.0
        A|M|x|x
        A|All|20|66.7
        Source: the register of 2020|||""",
        {},
        {"A/M": 8},
    ),
}
"""Ugly tables with options, and what a person computes: the cells that are exact."""


def checked(tmp_path: Path, text: str, options: dict[str, Any]) -> CountsCheck:
    """What is found of a table."""
    path = tmp_path / "table.csv"
    path.write_text(table(text))
    return check_counts(path, **options)


@pytest.mark.parametrize("name", EXACT)
def test_a_table_reads_as_a_person_reads_it(name: str, tmp_path: Path) -> None:
    text, options, exact = EXACT[name]
    found = checked(tmp_path, text, options)
    assert found.verdict == "fails" and not found.contradictions
    assert {"/".join(each.cell.values()): each.low for each in found.computed if each.finding == "exact"} == exact
    assert all(each.how for each in found.computed if each.finding == "exact")


ASKED = {
    "area|F|M|Total\nA|-|12|12\nB|5|7|12": "may be 0, or suppressed",
    "area|n\nA|12\nB|?\nTotal|30": "'?' is no number",
    "area|n\nA|12\nA|13\nTotal|25": "the same categories",
    "area|n\nA|x\nA|x\nTotal|25": "the same categories",
    "area|n\nAll|25\nA|12\nB|13\nTotal|25": "may be its total: 'All', 'Total'",
    "area|n\nNorth|x\nSouth|20\nTotal coast|24\nHills|10\nTotal|34": "may be a subtotal",
    "area|n\nNorth|x\nSouth|20\nof which Bay|3\nTotal|25": "may be a subtotal",
    "area|name\nA|x\nB|y": "has no column of counts",
}


@pytest.mark.parametrize("text", ASKED)
def test_what_is_not_clear_is_asked(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=ASKED[text]) as caught:
        checked(tmp_path, text, {})
    assert caught.value.hint


def test_a_table_that_contradicts_itself_is_never_called_safe(tmp_path: Path) -> None:
    plain = checked(tmp_path, "area|F|M|Total\nA|15|12|28\nB|25|21|46\nTotal|40|x|74", {})
    assert plain.verdict == "cannot say" and plain.contradictions == ("column: Total is the sum of 2 (area=A)",)
    assert not plain.computed
    hidden = checked(tmp_path, "area|F|M|Total\nA|x|x|20\nB|x|x|40\nTotal|11|44|60", {})
    assert hidden.verdict == "cannot say" and hidden.contradictions
    rounded = "area|F|M|Total\nA|15|10|20\nB|25|20|50\nC|10|x|15\nD|40|45|90\nTotal|90|85|175"
    assert checked(tmp_path, rounded, {}).base == 5 and checked(tmp_path, rounded, {"rounded": 1}).contradictions


def test_only_what_was_judged_as_a_whole_is_called_safe(tmp_path: Path) -> None:
    safe = "area|F|M|Total\nA|x|x|20\nB|x|x|40\nTotal|22|38|60"
    assert checked(tmp_path, safe, {}).verdict == "holds"
    partly = checked(tmp_path, "area|F|M|Total|percent\nA|x|x|20|30.0\nB|x|x|40|70.0\nTotal|22|38|60|100", {})
    assert partly.verdict == "cannot say" and "percent" in partly.reasons[0]
    for lacks in ("area|F|M|Total\nA|x||20\nB|14||40\nTotal|22||60", "area|F|Total\nA|x|20\nB|14|40\nTotal|22|60"):
        assert checked(tmp_path, lacks, {"mark": ("x=1-9",)}).verdict == "fails"  # by its column
        assert checked(tmp_path, lacks.replace("22", "x"), {}).verdict == "cannot say"
    assert checked(tmp_path, safe.replace("|20", "|4").replace("60", "44").replace("22", "6"), {}).verdict == "fails"


def test_without_time_what_single_sums_tell_is_judged_and_the_rest_is_not_called_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sqlanon.counts.foreign_audit.SECONDS", -1.0)
    block = "area|F|M|Total\nA|x|x|20\nB|x|x|40\nC|{}|10|20\nTotal|32|48|80"
    open_ = checked(tmp_path, block.format("10"), {})
    assert open_.verdict == "cannot say" and "4 cells were not judged" in open_.reasons[0] and not open_.computed
    partly = checked(tmp_path, block.format("x"), {})
    assert partly.verdict == "fails" and "4 cells were not judged" in partly.reasons[0]
    assert [(each.cell["area"], each.finding, each.low) for each in partly.computed] == [("C", "exact", 10)]


@pytest.mark.slow
def test_sheets_are_one_system_and_values_are_shown_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    book.active.title = "by area"
    for row in (["Patients by area"], [], ["area", "Sex", "n"], ["A", "F", "x"], ["A", "M", 20], ["A", "All", "x"],
                ["B", "F", 30], ["B", "M", 17], ["B", "All", 47], ["All", "F", 33], ["All", "M", 37]):  # fmt: skip
        book.active.append(row)
    second = book.create_sheet("by age")
    for row in (["sex", "age", "n"], ["F", "young", 13], ["F", "old", 20], ["M", "young", 30], ["M", "old", "x"]):
        second.append(row)
    book.save(tmp_path / "book.xlsx")
    path = str(tmp_path / "book.xlsx")
    with pytest.raises(SystemExit) as done:
        main(["check", path, "by area", "--counts", "--with", "by age", "--json", "--show-values"])
    found = json.loads(capsys.readouterr().out)
    exact = {tuple(each["cell"].values()): each["low"] for each in found["computed"] if each["finding"] == "exact"}
    assert done.value.code == 1
    assert exact == {("A", "F", "Total"): 3, ("A", "Total", "Total"): 23, ("Total", "M", "old"): 7}
    with pytest.raises(SystemExit):
        main(["check", path, "by area", "--counts", "--with", "by age"])
    printed = capsys.readouterr().out
    assert "area A, Sex F" in printed and "Sex F, age Total: 3" not in printed and "It does not hold." in printed
    with pytest.raises(SystemExit) as done:
        main(["check", path, "--k", "5", "--mark", "x"])
    assert done.value.code == 2


def test_other_groups_of_a_dimension_are_no_further_parts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,sex,n\n0-17,F,20\n0-17,M,x\n18+,F,30\n18+,M,40\nTotal,F,50\nTotal,M,47\n")
    (tmp_path / "b.csv").write_text("age,n\n0-9,10\n10-19,x\n20+,60\nTotal,97\n")
    found = check_counts(tmp_path / "a.csv", beside=[str(tmp_path / "b.csv")])
    exact = {tuple(each.cell.values()): each.low for each in found.computed if each.finding == "exact"}
    assert exact[("0-17", "M")] == 7 and exact[("10-19", "Total")] == 27 and not found.contradictions


@pytest.mark.parametrize("seed", range(4))
def test_what_is_published_here_holds(seed: int) -> None:
    with duckdb.connect() as source:
        source.from_arrow(as_table(records(random.Random(seed), 200))).create("t")
        tables = {"by": {"dimensions": {"sex": 0, "region": 0}}}
        released = sqlanon.counts(source, {"table": "t", "counts": tables, "threshold": 5})
    found = check_counts(released.to_arrow(), threshold=5)
    assert found.verdict == "holds" and found.suppressed == released.protection.suppressed_cells


def squares(rows: list[int], columns: list[int]) -> list[np.ndarray[Any, Any]]:
    """All three by three tables of whole numbers with these sums."""
    found = []
    for a, b, c, d in itertools.product(*(range(min(rows[i], columns[j]) + 1) for i in (0, 1) for j in (0, 1))):
        upper = [[a, b, rows[0] - a - b], [c, d, rows[1] - c - d]]
        square = np.array([*upper, [total - x - y for total, x, y in zip(columns, *upper, strict=True)]])
        if (square >= 0).all():
            found.append(square)
    return found


def cube_of(seed: int) -> np.ndarray[Any, Any]:
    """A random table of three dimensions."""
    return np.random.default_rng(seed).integers(0, 2, (3, 3, 3))


@pytest.mark.parametrize("seed", range(6))
def test_intervals_of_three_dimensions_are_those_of_all_tables(seed: int) -> None:
    cube = cube_of(seed)
    rows = []
    for place in itertools.product(range(4), repeat=3):
        own = tuple(slice(None) if at == 3 else slice(at, at + 1) for at in place)
        word = str(cube[own].sum()) if 3 in place else "x"
        rows.append([*("Total" if at == 3 else f"{name}{at}" for name, at in zip("abc", place, strict=True)), word])
    layers = [squares(cube[:, :, k].sum(axis=1).tolist(), cube[:, :, k].sum(axis=0).tolist()) for k in range(3)]
    every = [np.stack([a, b, cube.sum(axis=2) - a - b], axis=2) for a in layers[0] for b in layers[1]]
    every = [each for each in every if (each >= 0).all()]
    table = pa.table({name: [row[n] for row in rows] for n, name in enumerate(("a", "b", "c", "n"))})
    found = check_counts(table, rounded=1)
    for each in found.computed:
        at = tuple(int(label[1]) for label in each.cell.values())
        values = [one[at] for one in every]
        assert (each.low, each.high) == (min(values), max(values))


def test_halves_are_no_counts() -> None:
    """Of three counts, two of which are at most 1 together, halves would make 1.5; of two such sets, 3."""
    cells = [[((f"{name}{n}",),) for name in "abc"] for n in range(2)]
    relations, bounds = [], {}
    for number, own in enumerate(cells):
        for pair in itertools.combinations(own, 2):
            parent = ((f"pair {number}", *pair[0][0], *pair[1][0]),)
            relations.append(SumRelation(0, parent, pair))
            bounds[parent] = (0.0, 1.0)
    relations += [SumRelation(0, ((f"sum {n}",),), tuple(own)) for n, own in enumerate(cells)]
    relations.append(SumRelation(0, (("all",),), (*cells[0], *cells[1])))
    audit = ForeignAudit(relations, bounds, time.monotonic() + 60)
    assert audit.range_of((("sum 0",),)) == (0, 1) and audit.range_of((("all",),)) == (0, 2)
    assert not audit.undecided
