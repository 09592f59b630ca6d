"""Files of SPSS, Stata and SAS: labels, declared missing values, dates and numbers are texts that a person expects."""

import random
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from effort import scaled

import sqlanon
from sqlanon.core.formats.base import findings_of
from sqlanon.core.policy.extensions import NOTHING
from sqlanon.errors import SourceError, SqlanonError, UnsupportedError
from sqlanon.interop.formats import FORMATS, apart

pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat reads and writes these files (extra stat)")
pandas = pytest.importorskip("pandas", reason="pyreadstat writes frames of pandas (extra pandas)")
from sqlanon.interop.formats import coded  # noqa: E402

CANARY = "Zz7canaryqQ"
PEOPLE = {
    "id": [1, 2, 3, 4],
    "sex": [1.0, 2.0, 9.0, None],
    "name": ["Ä", "", "b", " x"],
    "born": [date(1980, 2, 3), None, date(1700, 1, 1), date(2020, 12, 31)],
    "seen": [datetime(2020, 1, 2, 3, 4, 5), None, datetime(1999, 1, 1), datetime(2000, 1, 1)],
    "w": [72.5, 0.1, 1e20, 72],
}
TEXTS = [
    ("1", "1", "Ä", "1980-02-03", "2020-01-02 03:04:05", "72.5"),
    ("2", "2", None, None, None, "0.1"),
    ("3", "9", "b", "1700-01-01", "1999-01-01 00:00:00", "100000000000000000000"),
    ("4", None, " x", "2020-12-31", "2000-01-01 00:00:00", "72"),
]
LABELS = {"sex": {1: "male", 2: "female", 9: "unknown"}}


def look(path: Path, **options: Any) -> tuple[list[tuple[str | None, ...]], list[str]]:
    """The records and the notes, read in this process."""
    found = coded.look(path, options)
    return [row for columns in found.batches for row in zip(*columns)], [*found.notes]


def read(path: Path, **options: Any) -> Any:
    known = NOTHING.format_of(path.suffix)
    assert known is not None
    return known[1].read(path, options)


def with_sex(*values: str | None) -> list[tuple[str | None, ...]]:
    return [(row[0], value, *row[2:]) for row, value in zip(TEXTS, values)]


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xpt"])
def test_values_are_the_texts_that_a_person_expects(tmp_path: Path, ending: str) -> None:
    path, frame = tmp_path / f"a.{ending}", pandas.DataFrame(PEOPLE)
    if ending == "zsav":
        pyreadstat.write_sav(frame, path, compress=True)
    else:
        {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}[ending](frame, path)
    table = read(path)
    assert table.schema.names == [*PEOPLE] and findings_of(table.schema) == ((), {})
    assert [tuple(row.values()) for row in table.read_all().to_pylist()] == TEXTS


def test_labels_stand_for_codes_where_each_has_one(tmp_path: Path) -> None:
    path, frame = tmp_path / "a.sav", pandas.DataFrame(PEOPLE)
    pyreadstat.write_sav(frame, path, variable_value_labels=LABELS, missing_ranges={"sex": [9]})
    rows, notes = look(path)
    assert rows == with_sex("male", "female", None, None)
    assert notes == [
        "Labels stand in place of codes (labels: false keeps the codes): 'sex'.",
        "Values that the file declares missing are NULL (user_missing: true keeps them); records: 'sex' 1.",
    ]
    assert look(path, user_missing=True) == (with_sex("male", "female", "unknown", None), notes[:1])
    assert look(path, labels=False) == (with_sex("1", "2", None, None), notes[1:])
    assert look(path, labels=False, user_missing=True) == (TEXTS, [])


def test_codes_stay_where_labels_say_less(tmp_path: Path) -> None:
    path, frame = tmp_path / "a.sav", pandas.DataFrame(PEOPLE)
    pyreadstat.write_sav(frame, path, variable_value_labels={"sex": {1: "male", 2: "female"}, "w": {72: "usual"}})
    stay = "Codes stay where some have no label; records with such codes: 'sex' 1, 'w' 3."
    assert look(path) == (TEXTS, [stay])
    pyreadstat.write_sav(frame, path, variable_value_labels={"sex": {1: "other", 2: "other", 9: "unknown"}})
    assert look(path) == (TEXTS, ["Codes stay where two have the same label: 'sex'."])


def test_missing_values_of_ranges_texts_and_letters(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"c": ["x", "y", "", "z"], "d": [-99.0, 1, 2, 3]})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", missing_ranges={"c": ["x"], "d": [{"lo": -100, "hi": -1}]})
    assert look(tmp_path / "a.sav")[0] == [(None, None), ("y", "1"), (None, "2"), ("z", "3")]
    lettered = pandas.DataFrame({"a": pandas.Series([1.0, 2.0, None, "a"], dtype=object), "c": ["x", "y", "a", "z"]})
    pyreadstat.write_dta(lettered, tmp_path / "a.dta", missing_user_values={"a": ["a"]})
    rows, notes = look(tmp_path / "a.dta")
    assert rows == [("1", "x"), ("2", "y"), (None, "a"), (None, "z")] and "records: 'a' 1." in notes[0]
    assert look(tmp_path / "a.dta", user_missing=True)[0][3] == ("a", "z")


def test_numbers_of_single_precision_have_no_digits_that_nobody_wrote() -> None:
    single = coded.Coded({}, (), False, True)
    assert [single.text(value, False, False) for value in (0.10000000149011612, 3.0, 72.5)] == ["0.1", "3", "72.5"]


@pytest.mark.slow
def test_dates_of_a_policy_need_no_format(tmp_path: Path) -> None:
    frame = pandas.DataFrame(
        {"born": [date(1980 + number % 2, 2, 3) for number in range(60)], "t": ["01/02/2020"] * 60}
    )
    pyreadstat.write_dta(frame, tmp_path / "a.dta")
    dates = {"role": "quasi_identifier", "hierarchy": {"dates": {"levels": ["year"]}}}
    policy = {"source": str(tmp_path / "a.dta"), "undeclared": "drop", "privacy": [{"type": "k_anonymity", "k": 5}]}
    plan = sqlanon.plan(None, {**policy, "columns": {"born": dates}})
    assert plan.source.types["born"] == "DATE" and "Types found in 'a.dta': 'born' DATE." in plan.warnings
    with pytest.raises(SourceError, match=r"fit several formats .* Hint: say how they are written, dates"):
        sqlanon.plan(None, {**policy, "columns": {"t": dates}})


def test_pieces_hold_all_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pandas.DataFrame({"a": [float(number) for number in range(1000)], "b": ["x", "y"] * 500})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels={"b": {"x": "Ex", "y": "Why"}})
    monkeypatch.setattr(coded, "ROWS", 100)
    rows, _ = look(tmp_path / "a.sav")
    assert rows == [(str(number), ("Ex", "Why")[number % 2]) for number in range(1000)]


@pytest.mark.slow
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"a": [float(number) for number in range(5000)], "b": [CANARY] * 5000})
    for ending, write in (("sav", pyreadstat.write_sav), ("dta", pyreadstat.write_dta)):
        path = tmp_path / f"a.{ending}"
        write(frame, path)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(SourceError) as caught:
            read(path).read_all()
        assert CANARY not in str(caught.value) and "save it anew" in str(caught.value)
    pyreadstat.write_sav(frame.head(0), tmp_path / "b.sav")
    with pytest.raises(SourceError, match="has 0 records"):
        look(tmp_path / "b.sav")


def test_another_encoding_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.dta"
    pyreadstat.write_dta(pandas.DataFrame({"a": ["Jürgen"]}), path, version=15)
    path.write_bytes(path.read_bytes().replace("ü".encode(), b"\xfc\xfc"))
    with pytest.raises(SourceError, match="option encoding"):
        look(path)
    assert look(path, encoding="latin-1")[0] == [("Jüürgen",)]
    with pytest.raises(SourceError):
        look(path, encoding="no such encoding")


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "find_spec", lambda name: None)
    for known in FORMATS[2:]:
        with pytest.raises(UnsupportedError, match=r'install "sqlanon\[stat\]"'):
            known.read(tmp_path / f"a{known.endings[0]}", {})
        with pytest.raises(UnsupportedError):
            known.write(tmp_path / "b", Any, {})  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_damaged_copies_end_in_an_error_of_ours(tmp_path: Path, ending: str) -> None:
    """Some of them crash the reader, and so its process, but not this one."""
    frame = pandas.DataFrame({**PEOPLE, "name": [CANARY] * 4})
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}[ending]
    write(frame, tmp_path / f"a.{ending}")
    data = (tmp_path / f"a.{ending}").read_bytes()
    for number in range(scaled(20)):
        draw, path = random.Random(number), tmp_path / f"b.{ending}"
        copy = bytearray(data)
        for _ in range(draw.choice([1, 2, 20])):
            copy[draw.randrange(len(copy))] = draw.randrange(256)
        path.write_bytes(copy[: draw.randrange(len(copy))] if draw.random() < 0.2 else copy)
        try:
            read(path).read_all()
        except SqlanonError as error:
            assert CANARY not in str(error)
