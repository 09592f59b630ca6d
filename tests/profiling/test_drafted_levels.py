"""The levels that a draft gives columns of a table say what a person would: read from the releases of a run."""

import datetime
import random
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlanon
from sqlanon.assess.profiling.drafted_hierarchies import drafted_hierarchy
from sqlanon.assess.profiling.facts import TAIL
from sqlanon.assess.profiling.profile import profile

pytestmark = pytest.mark.slow
RECORDS = 1500
_DAY = datetime.date(1960, 1, 1)
COLUMNS: dict[str, Callable[[random.Random], Any]] = {
    "children": lambda r: min(int(r.expovariate(0.9)), 9),
    "age": lambda r: min(18 + int(r.betavariate(1.6, 2) * 82), 101),
    "satisfaction": lambda r: r.choice([1, 2, 2, 3, 4, 4, 5]),
    "region_cd": lambda r: r.choice([11, 12, 27, 40, 58, 91]),
    "race": lambda r: r.choices([1, 2, 3, 4, 5], [70, 12, 10, 5, 3])[0],
    "percent_attended": lambda r: min(100, max(0, int(r.gauss(60, 22)))),
    "plz": lambda r: f"{r.choice(['10', '12', '20', '80'])}{r.randrange(1000):03}",
    "employer_name_of_town": lambda r: f"T{int(r.paretovariate(0.8)) % 300}",
    "admitted": lambda r: _DAY + datetime.timedelta(r.randrange(20_000)),
    "discharged_on": lambda r: (_DAY + datetime.timedelta(r.randrange(700))).strftime("%d.%m.%Y"),
    "balance": lambda r: round(r.gauss(200, 900), 2),
    "price": lambda r: round(r.lognormvariate(5, 1.2), 2),
    "tenure": lambda r: min(int(r.expovariate(0.15)), 22),
    "visits": lambda r: r.choice([0, 0, 1, 1, 2, 3, 4, 5, 6]) if r.random() < 0.97 else r.choice([9, 14, 22, 30, 37]),
    "tickets": lambda r: 0 if r.random() < 0.8 else 1 + int(r.expovariate(0.1)),
    "fine": lambda r: 0 if r.random() < 0.6 else int(r.expovariate(0.02)),
}


@pytest.fixture(scope="module")
def levels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[set[str]]]:
    """The texts of each level of each column, the values first."""
    folder, draw = tmp_path_factory.mktemp("levels"), random.Random(11)
    data = {name: [make(draw) for _ in range(RECORDS)] for name, make in COLUMNS.items()}
    pq.write_table(pa.table(data), folder / "t.parquet")
    found = profile(folder / "t.parquet")
    keys = {item.name: dict(drafted_hierarchy(item, is_text=False, records=RECORDS).keys) for item in found.columns}
    columns: dict[str, Any] = {name: {"role": "quasi_identifier", "hierarchy": own} for name, own in keys.items()}
    policy: dict[str, Any] = {"version": 1, "uncovered": "top", "suppression_limit": 0,
                              "privacy": [{"type": "k_anonymity", "k": 1}]}  # fmt: skip
    with sqlanon.plan(folder / "t.parquet", policy | {"columns": columns}) as plan:
        heights = {item.name: item.height for item in plan.catalog.attributes}
    result: dict[str, list[set[str]]] = {name: [] for name in columns}
    for level in range(max(heights.values())):
        for name, height in heights.items():
            own = min(level, height - 1)
            columns[name] |= {"min_level": own, "max_level": own}
        with sqlanon.anonymize(folder / "t.parquet", policy | {"columns": columns}) as release:
            rows = release.to_arrow()
        for name in [name for name, height in heights.items() if level < height]:
            result[name].append({str(text) for text in rows.column(name).to_pylist()})
    return result


def _bands(texts: set[str]) -> list[tuple[float, float]]:
    """Return intervals as their ends, in order; open ones reach infinity."""
    found = []
    for text in texts:
        low, high = re.fullmatch(r"\[(.+), (.+)\)", text).groups() if text[0] == "[" else (None, None)  # type: ignore
        found.append(
            (float(low), float(high)) if low else (float("-inf"), float(text[1:])) if text[0] == "<"
            else (float(text[2:]), float("inf"))
        )  # fmt: skip
    return sorted(found)


def _are_apart(texts: set[str]) -> bool:
    bands = _bands(texts)
    return all(a[1] <= b[0] for a, b in pairwise(bands))


def test_every_hierarchy_ends_in_one_group(levels: dict[str, list[set[str]]]) -> None:
    assert {name for name, texts in levels.items() if texts[-1] != {"*"}} == set()
    assert all(len(lower) >= len(upper) for texts in levels.values() for lower, upper in pairwise(texts))


def test_counts_are_single_numbers_up_to_many(levels: dict[str, list[set[str]]]) -> None:
    assert levels["children"][1] == {"0", "1", "2", ">=3"}


def test_bands_of_ages_do_not_overlap_their_open_ends(levels: dict[str, list[set[str]]]) -> None:
    for texts, width in zip(levels["age"][1:-1], (5, 10, 20), strict=True):
        assert _are_apart(texts) and all(high - low <= width for low, high in _bands(texts)[1:-1])
        assert {">=90"} <= texts or {">=80"} <= texts
    assert levels["age"][3] >= {"[20, 40)", "[40, 60)", "[60, 80)"}


def test_scales_keep_their_order_and_codes_are_no_numbers(levels: dict[str, list[set[str]]]) -> None:
    assert levels["satisfaction"][1] == {"1-2", "3", "4-5"}
    for name in ("region_cd", "race"):
        assert not any(text[0] in "[<>" for texts in levels[name] for text in texts)


def test_percentages_have_round_bands(levels: dict[str, list[set[str]]]) -> None:
    assert _are_apart(levels["percent_attended"][1]) and "[50, 60)" in levels["percent_attended"][1]
    assert not any(text.startswith(("<0", "[-")) for text in levels["percent_attended"][1])


def test_postcodes_are_cut_and_rare_values_grouped(levels: dict[str, list[set[str]]]) -> None:
    assert [max(map(len, texts)) for texts in levels["plz"]] == [5, 5, 4, 3, 2, 1]
    kept = [len(texts) for texts in levels["employer_name_of_town"]]
    assert kept == sorted(kept, reverse=True) and "(other)" in levels["employer_name_of_town"][1]


def test_dates_are_periods_by_what_they_span(levels: dict[str, list[set[str]]]) -> None:
    assert levels["admitted"][-2] == {"1960-1979", "1980-1999", "2000-2019"}
    assert all(re.fullmatch(r"[0-9]{3}0s", text) for text in levels["admitted"][-3])
    assert {"1960-1964", "1965-1969"} < levels["admitted"][-4]
    assert levels["discharged_on"][-3] == {f"{year}-H{half}" for year in (1960, 1961) for half in (1, 2)}
    assert all(re.fullmatch(r"19[0-9]{2}", text) for text in levels["discharged_on"][-2])
    assert all(re.fullmatch(r"19[0-9]{2}-[0-9]{2}", text) for text in levels["discharged_on"][1])


def test_skewed_amounts_have_intervals_of_shares(levels: dict[str, list[set[str]]]) -> None:
    assert [len(texts) for texts in levels["price"][-3:]] == [6, 3, 1]
    assert all(_are_apart(texts) for name in ("price", "fine") for texts in levels[name][1:-1])
    assert all("<1" in texts for texts in levels["fine"][1:-1]), "nothing at all is an interval of its own"


def test_amounts_have_no_band_that_holds_nothing(levels: dict[str, list[set[str]]]) -> None:
    for texts in levels["balance"][1:-1]:
        assert _are_apart(texts)


@pytest.mark.parametrize("name", ["tenure", "visits", "tickets"])
def test_counts_keep_their_order_whatever_they_are_about(levels: dict[str, list[set[str]]], name: str) -> None:
    assert len(levels[name]) > 2 and all(_are_apart(texts) for texts in levels[name][1:-1]), levels[name]
    assert len(levels[name][-2]) <= 5


def test_numbers_of_which_most_are_0_are_told_from_it(levels: dict[str, list[set[str]]]) -> None:
    assert len(levels["tickets"][-2]) == 2


@pytest.mark.parametrize("seed", range(12))
def test_no_band_holds_few_records(seed: int) -> None:
    """Also of numbers that are few or lie in heaps, counted over all records in plain Python."""
    draw, records = random.Random(seed), 600
    heaps = [draw.randrange(40) for _ in range(draw.randrange(2, 30))]
    weights = [draw.random() ** 6 for _ in heaps]
    data = {
        "heaps": draw.choices(heaps, weights, k=records),
        "amount": [round(draw.lognormvariate(3, 1.5), 2) if draw.random() < 0.9 else 0.0 for _ in range(records)],
        "text": [None if draw.random() < 0.2 else str(draw.randrange(1_000)) for _ in range(records)],
        "one": [7] * records,
    }
    found = profile(pa.table(data))
    for name, values in data.items():
        spread = found.column(name).spread
        edges = spread.bands if spread is not None else ()
        held = Counter(bisect(edges, float(value)) for value in values if value is not None)
        assert [*edges] == sorted({*edges}) and (not edges or len(held) == len(edges) + 1)
        assert min(held.values()) >= TAIL, (name, edges)
        assert len(edges) >= {"amount": 3}.get(name, 0) and (name != "one" or not edges)
