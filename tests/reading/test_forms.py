"""Random tables in random forms: what is written is read, by the options of its form and by recognised ones."""

import random
from pathlib import Path
from typing import Any

import effort
import pytest

from sqlanon.assess.reading.columns import FEWEST, _codes_of_none
from sqlanon.assess.reading.recognition import recognise
from sqlanon.core.source.files import Reading
from sqlanon.core.source.opening import open_source

Column = tuple[list[str], list[str], dict[str, Any]]
"""Texts as they are written, what they are, and the keys of the column."""
RECORDS = 40


def numbers(chance: random.Random) -> Column:
    decimal, thousands = chance.choice([(",", "."), (",", " "), (".", ","), (".", "'"), (",", ""), (".", "")])
    unit = chance.choice(["", "", " kg", " €", "%"])
    written, read = [], []
    for place in range(RECORDS):
        value = chance.choice([chance.randrange(1000), chance.randrange(1000, 10**7)])
        rest = f"{chance.randrange(100):02d}" if place % 2 else ""
        sign = chance.choice(["", "", "-"])
        grouped = f"{value:,}".replace(",", thousands)
        written.append(f"{sign}{grouped}{decimal + rest if rest else ''}{unit}")
        read.append(f"{sign}{value}{'.' + rest if rest else ''}")
    keys = {"decimal": decimal, "thousands": thousands, "unit": unit.strip()}
    return written, read, {name: value for name, value in keys.items() if value}


def dates(chance: random.Random) -> Column:
    formats = chance.choice([["%d.%m.%Y"], ["%d.%m.%Y", "%Y-%m-%d"], ["%m/%d/%Y", "%Y-%m-%d"], ["%d/%m/%Y"]])
    written, read = [], []
    for place in range(RECORDS):
        day, month = 28 if place < 4 else chance.randrange(1, 29), chance.randrange(1, 13)
        year = chance.randrange(1900, 2030)
        form = formats[place % len(formats)]
        written.append(form.replace("%d", f"{day:02d}").replace("%m", f"{month:02d}").replace("%Y", str(year)))
        read.append(f"{year}-{month:02d}-{day:02d}")
    return written, read, {"dates": formats}


def codes(chance: random.Random) -> Column:
    kinds = ("{0:05d}", "V{0}.{1}", "{1}.{0}.{1}", "A{0},B{1}", "+49 {0} {1}", "{0}-{1}", "0{0},{1}", "Nr. {0}")
    texts = [chance.choice(kinds).format(chance.randrange(10**4), chance.randrange(100)) for _ in range(RECORDS)]
    return texts, texts, {}


def write(chance: random.Random, path: Path, columns: dict[str, Column]) -> dict[str, Any]:
    """Write a table in a random form, and return the options by which it is read."""
    delimiter = chance.choice([";", "|", "\t"])
    lines = [
        delimiter.join(columns),
        *map(delimiter.join, zip(*(texts for texts, *_ in columns.values()), strict=True)),
    ]
    csv: dict[str, Any] = {"delimiter": delimiter}
    if chance.random() < 0.5:
        lines, csv["skip"] = ["A list of 2024", "", *lines], 2
    if chance.random() < 0.5:
        lines, csv["skip_last"] = [*lines, "Total"], 1
    csv["encoding"] = chance.choice(["utf-8", "cp1252", "utf-16"])
    text = chance.choice(["\n", "\r\n"]).join([*lines, ""])
    path.write_bytes(text.encode(csv["encoding"]))
    csv["columns"] = {name: keys for name, (*_, keys) in columns.items() if keys}
    return csv


def read(path: Path, csv: Any) -> dict[str, list[Any]]:
    with open_source(path, None, reading=Reading(csv, reports=False)) as opened:
        names = list(opened.types)
        rows = opened.engine.run("rows", f"SELECT * FROM {opened.engine.render(opened.relation)}")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.slow
@effort.seeds(300, 12)
def test_what_is_written_is_read(block: effort.Block, tmp_path: Path) -> None:
    """By the options of its form, and by those that are recognised; codes stay as they are."""
    for seed in block:
        chance = random.Random(seed)
        columns = {"name": ([f"Änneliese Öhl{i} – 2" for i in range(RECORDS)],) * 2 + ({},)}
        columns |= {f"c{i}": chance.choice([numbers, dates, codes])(chance) for i in range(4)}  # type: ignore[dict-item]
        path = tmp_path / f"t{seed}.csv"
        csv = write(chance, path, columns)  # type: ignore[arg-type]
        expected = {name: values for name, (_, values, _) in columns.items()}
        assert read(path, csv) == expected, seed
        found = read(path, recognise(path, {}).csv)
        assert list(found) == list(columns), seed
        for name, (written, values, keys) in columns.items():  # dates in one usual format need no option
            assert found[name] == (written if len(keys.get("dates", "..")) == 1 else values), (seed, name)


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([1, 2, 3, 4, 5, 8, 9], [8, 9]),
        ([*range(11), 98, 99], [98, 99]),
        ([-9, -8, 1, 2], [-9, -8]),
        ([-1, *range(100)], [-1]),
        ([*range(90), 99], [99]),
        ([0, 1, 2, 3, 4, 5, 7, 99], [99]),
        ([*range(97), 99], []),
        ([11, 21, 22, 23, 81, 99], []),  # kinds of places
        ([-1, 0, 1], []),
        ([*range(10)], []),
        ([*range(6), 8], []),  # children
        (["01", "02", "03", "99"], []),
    ],
)
def test_numbers_stand_for_no_answer_only_beyond_a_gap(values: list[object], codes: list[int]) -> None:
    texts = {str(value): FEWEST for value in values}
    assert sorted(map(int, _codes_of_none(texts))) == codes
    assert not _codes_of_none(dict.fromkeys(texts, FEWEST - 1)), "few records are persons"


def test_what_most_records_say_is_an_answer_and_a_date_alone_in_its_year_is_none() -> None:
    assert _codes_of_none({"1": 50, "2": 50, "3": 50, "9": 80}) == ["9"]
    assert not _codes_of_none({"1": 50, "2": 50, "3": 50, "9": 900}), "nearly all went home"
    births = {f"{day:02}.03.19{year}": 3 for day in range(1, 29) for year in (48, 63, 77)}
    assert _codes_of_none({**births, "01.01.1900": 40}) == ["01.01.1900"]
    assert not _codes_of_none({**births, "01.01.1900": 40, "13.07.1900": 1}), "somebody was born in that year"
    assert not _codes_of_none({**births, "01.01.1900": 5}), "few records are persons"


def test_nines_beside_others_of_the_file_stand_for_no_answer(tmp_path: Path) -> None:
    """``ped`` has a clear code: so ``999`` far beyond all others is one, and ``9`` of many; of few it may be none."""
    columns = {
        "ped": [*"12345" * 40, *"9" * 20],
        "pressure": [*["110", "120", "130"] * 71, *["999"] * 7],
        "stay": [*["1", "2", "30", "44"] * 54, *["99"] * 4],
        "price": ["1.5", "2", "9.99", "4"] * 55,
        "income": [*"12345" * 39, *"6" * 5, *"9" * 20],
        "wives": [*"12345" * 43, *"9" * 5],
        "visits": ["7", "60", "99", "80"] * 55,
    }

    def nulls(names: set[str]) -> dict[str, list[str]]:
        rows = zip(*(columns[name] for name in columns if name in names), strict=True)
        head = ",".join(name for name in columns if name in names)
        path = tmp_path / f"{len(names)}.csv"
        path.write_text("\n".join([head, *map(",".join, rows)]), encoding="utf-8")
        return {
            name: keys["null"] for name, keys in recognise(path, {}).csv.get("columns", {}).items() if "null" in keys
        }

    assert nulls({*columns}) == {"ped": ["9"], "pressure": ["999"], "income": ["9"]}
    assert nulls({*columns} - {"ped"}) == {}
