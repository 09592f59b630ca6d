"""Text files as people write them, read by stated options: what fits is rewritten and counted, and the rest stays."""

import codecs
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import sqlanon as command
from policies import document_of, intervals, quasi

import sqlanon
from sqlanon.commands.csv_options import read_csv_options
from sqlanon.core.policy.csv_columns import format_fault
from sqlanon.core.policy.sources import csv_options
from sqlanon.core.source.csv_readings import ColumnReading
from sqlanon.core.source.files import Reading
from sqlanon.core.source.opening import open_source
from sqlanon.core.sqltrees.trees import column
from sqlanon.errors import PolicyError, SourceError

Rows = list[tuple[str | None, ...]]


def read(path: Path, **csv: Any) -> tuple[Rows, tuple[str, ...]]:
    """The records of a file, in order of their texts, and what is reported of it."""
    with open_source(path, None, reading=Reading(csv_options(csv))) as opened:
        rows = opened.engine.run("rows", f"SELECT * FROM {opened.engine.render(opened.relation)}")
        return sorted(rows, key=lambda row: tuple(text or "" for text in row)), opened.warnings


def become(keys: Mapping[str, Any], *texts: str) -> list[str | None]:
    """What texts become in a column of these keys; None: they do not fit."""
    value = ColumnReading.of(keys, ()).fitting(column("text")).sql("duckdb")
    found = []
    for text in texts:
        [row] = duckdb.execute(f"SELECT {value} FROM (SELECT ? AS text)", [text]).fetchall()
        found.append(row[0])
    return found


class TestNumbers:
    def test_a_decimal_comma_becomes_a_point_and_nothing_else_changes(self) -> None:
        fits = become({"decimal": ","}, "72,5", "-1,50", "+3,0", "7", " 8,1 ", "0,123", "3.5", "1200,5", ",5", "−2,5")
        assert fits == ["72.5", "-1.50", "+3.0", "7", "8.1", "0.123", "3.5", "1200.5", ".5", "-2.5"]
        assert become({"decimal": ","}, "007", "1,2,3", "12,", "1.200,5", "1,5 kg", "", "x", "5-", "--5") == [None] * 9

    def test_thousands_stand_between_groups_of_three(self) -> None:
        points = {"decimal": ",", "thousands": "."}
        assert become(points, "1.200", "1.200,50", "12.345.678", "999", "72,5") == [
            "1200", "1200.50", "12345678", "999", "72.5"]  # fmt: skip
        others = ("1.2.3", "12.10", "0.123", "1.20", "1234.567", "192.168.1.1", "01.200", "1.200.5", "12.10.2024")
        assert become(points, *others) == [None] * len(others)
        assert become({"thousands": ","}, "1,200", "1,200.50", "1,2") == ["1200", "1200.50", None]
        assert become({"thousands": "'"}, "1'200.50", "1’200") == ["1200.50", "1200"]
        spaced = become({"decimal": ",", "thousands": " "}, "1 200,5", "1\u00a0200", "1\u202f200\u202f300", "030 123")
        assert spaced == ["1200.5", "1200", "1200300", None]

    def test_a_unit_stands_on_either_side_and_is_left_out(self) -> None:
        euro = {"decimal": ",", "thousands": ".", "unit": ["€", "EUR"]}
        assert become(euro, "€ 1.200,50", "1.200,50 EUR", "5", "-€5", "€ -5", "-5€") == [
            "1200.50", "1200.50", "5", "-5", "-5", "-5"]  # fmt: skip
        assert become(euro, "$ 5", "5 EURO", "€") == [None] * 3
        assert become({"unit": "kg/m2"}, "24.5 kg/m2", "24.5") == ["24.5", "24.5"]
        assert become({"unit": "%"}, "12 %", "12%", "12") == ["12", "12", "12"]

    def test_numbers_below_zero_have_one_sign(self) -> None:
        books = {"decimal": ",", "unit": "€", "negative": "parentheses"}
        assert become(books, "(3,00)", "(3,00) €", "(€ 3,00)", "-3", "3") == ["-3.00", "-3.00", "-3.00", "-3", "3"]
        assert become(books, "(3", "3)", "(-3)") == [None] * 3
        assert become({"negative": "trailing"}, "3.5-", "-3", "-3-", "3") == ["-3.5", "-3", None, "3"]
        assert become({"decimal": ","}, "(3)", "3-") == [None, None]


class TestDates:
    def test_each_text_is_read_by_the_format_that_it_has(self) -> None:
        keys = {"dates": ["%d.%m.%Y", "%Y-%m-%d", "%d. %B %Y", "%Y%m%d"]}
        texts = ("3.4.2024", "03.04.2024", "2024-04-03", "3. April 2024", "5. März 2024", "5. mars 2024", "20240403")
        assert become(keys, *texts) == ["2024-04-03"] * 4 + ["2024-03-05"] * 2 + ["2024-04-03"]
        assert become(keys, "31.2.2024", "4/3/2024", "2024", "3.4.24", "13. Foo 2024") == [None] * 5
        assert become({"dates": "%d.%m.%Y %H:%M"}, "3.4.2024 7:05") == ["2024-04-03 07:05:00"]
        assert become({"dates": "%d.%m.%Y %H"}, "3.4.2024 7") == ["2024-04-03 07:00:00"]
        halves = ("4/3/2024 7:05 PM", "04/03/2024 12:05 am", "4/3/2024 13:05 PM")
        assert become({"dates": "%m/%d/%Y %I:%M %p"}, *halves) == ["2024-04-03 19:05:00", "2024-04-03 00:05:00", None]
        assert format_fault("%m/%d/%Y %I:%M") == format_fault("%d.%m.%Y %H:%M %p") != format_fault("%d.%m.%Y %H:%M")
        assert become({"dates": ["%d-%b-%y"], "pivot": 2026}, "03-Okt-26", "3-DEC-27") == ["2026-10-03", "1927-12-03"]

    @pytest.mark.parametrize(
        ("pivot", "texts", "dates"),
        [
            (2026, ("01.02.26", "01.02.27", "01.02.00"), ["2026-02-01", "1927-02-01", "2000-02-01"]),
            (1999, ("01.02.26", "31.12.99", "29.02.00", "29.02.04"), ["1926-02-01", "1999-12-31", None, "1904-02-29"]),
            (2000, ("29.02.00",), ["2000-02-29"]),
            (2068, ("01.02.68", "01.02.69"), ["2068-02-01", "1969-02-01"]),
            (2100, ("01.02.00", "01.02.01"), ["2100-02-01", "2001-02-01"]),
        ],
    )
    def test_two_digits_of_a_year_end_with_the_pivot(self, pivot: int, texts: Any, dates: list[str | None]) -> None:
        assert become({"dates": "%d.%m.%y", "pivot": pivot}, *texts) == dates

    def test_a_text_that_two_formats_read_ends_the_run_and_stays_unsaid(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a,b\n25/04/2024,x\n03/04/2024,y\n04/04/2024,z\n")
        with pytest.raises(SourceError, match="1 texts of column 'a' are dates by two formats") as raised:
            read(tmp_path / "t.csv", columns={"a": {"dates": ["%d/%m/%Y", "%m/%d/%Y"]}})
        assert "03/04" not in str(raised.value)


class TestNothingInSilence:
    def test_what_is_rewritten_and_what_stays_is_counted(self, tmp_path: Path) -> None:
        lines = ["w;s;n", *["1.072,5 kg;ja;1"] * 70, *["80 kg;nein;-"] * 20, *["unknown;vielleicht;k.A."] * 10]
        (tmp_path / "t.csv").write_text("\n".join(lines))
        rows, notes = read(
            tmp_path / "t.csv",
            delimiter=";",
            null=["k.A.", "-"],
            columns={
                "w": {"decimal": ",", "thousands": ".", "unit": "kg"},
                "s": {"words": {"ja": "yes", "nein": "no"}},
            },
        )
        assert (
            rows == [("1072.5", "yes", "1")] * 70 + [("80", "no", None)] * 20 + [("unknown", "vielleicht", None)] * 10
        )
        assert notes == (
            "Columns of 't.csv' read by the options csv: 'w' 90 texts rewritten as numbers, 10 that are none and stay "
            "as they are; 's' 90 texts rewritten as words, 10 that are none and stay as they are; "
            "'n' 30 words for NULL.",
        )

    def test_signs_of_the_table_hold_for_columns_of_numbers_alone(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("p;v;d;m;o\n1.200,5;1.2.3;12.10.2024;1,5;7\n3;1.2.4;1.1.2024;x;08\n")
        rows, notes = read(tmp_path / "t.csv", delimiter=";", decimal=",", thousands=".")
        assert rows == [("1200.5", "1.2.3", "12.10.2024", "1,5", "7"), ("3", "1.2.4", "1.1.2024", "x", "08")]
        assert "'p' 1 texts rewritten as numbers" in notes[0] and "no such numbers: 'm' (1 texts)." in notes[0]

    def test_words_for_null_may_stand_in_quotes_and_columns_have_their_own(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text('land,n,e\nNA,NA,""\nDE,"NA",\n?, NA ,x\n')
        rows, _ = read(tmp_path / "t.csv", null=["NA"], columns={"land": {"null": "?"}})
        assert rows == [(None, None, "x"), ("DE", None, None), ("NA", None, "")]

    def test_a_text_stays_a_text_without_options(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text('a;b\n"1.200,50";NA\n007;k.A.\n')
        assert read(tmp_path / "t.csv", delimiter=";") == ([("007", "k.A."), ("1.200,50", "NA")], ())

    def test_types_and_hierarchies_stand_on_what_is_read(self, tmp_path: Path) -> None:
        lines = ["g;d;k", *[f"{60 + i % 30},5 kg;{1 + i % 9}.{1 + i % 4}.2024;{i}" for i in range(300)]]
        (tmp_path / "t.csv").write_text("\n".join(lines))
        csv = {"delimiter": ";", "columns": {"g": {"decimal": ",", "unit": "kg"}, "d": {"dates": "%d.%m.%Y"}}}
        columns = {"g": intervals(10), "d": quasi({"dates": ["month", "year"]})}
        policy = document_of(columns, k=5, source="t.csv", csv=csv, undeclared="drop")
        with sqlanon.anonymize(None, sqlanon.Policy.from_dict(policy, base_directory=tmp_path)) as release:
            assert release.ledger.records == 300 and any("300 texts rewritten" in note for note in release.warnings)
        wrong = policy | {"csv": csv | {"columns": {"g": {"decimal": ","}, "d": csv["columns"]["d"]}}}  # type: ignore[index]
        with pytest.raises(SourceError, match="300 texts of column 'g' are no numbers; the first is in line 2 of"):
            sqlanon.anonymize(None, sqlanon.Policy.from_dict(wrong, base_directory=tmp_path))


class TestFiles:
    TEXT = "Liste der Tage\r\n\r\nGröße;Preis;;Ort\r\n1;„2“;;Öd\r\n3;4 €;;Ä\r\nSumme;6\r\n\r\nQuelle: Amt\r\n"

    @pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-8-sig", "mac_roman"])
    @pytest.mark.parametrize("packed", [False, True])
    def test_titles_sums_blank_columns_and_encodings(self, tmp_path: Path, encoding: str, packed: bool) -> None:
        path = tmp_path / ("t.csv.zip" if packed else "t.csv")
        data = self.TEXT.encode(encoding)
        if packed:
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("inner.txt", data)
        else:
            path.write_bytes(data)
        csv = {"delimiter": ";", "encoding": encoding, "skip": 2, "skip_last": 2, "blank_columns": "drop"}
        rows, notes = read(path, **csv)
        assert rows == [("1", "„2“", "Öd"), ("3", "4 €", "Ä")]
        assert notes == (
            f"1 columns of {path.name!r} without a name and without a text are left out.",
            f"2 records at the end of {path.name!r} are left out (skip_last).",
        )

    def test_records_left_out_at_the_end_are_those_of_each_file(self, tmp_path: Path) -> None:
        for number in range(3):
            (tmp_path / f"f{number}.csv").write_text(f"a,b\n{number},1\nsum,1\n")
        (tmp_path / "n.csv").write_text("a,b\n1,2\n")
        policy = document_of({"a": "suppress", "b": "keep"}, k=1, files="f*.csv", csv={"skip_last": 1})
        with sqlanon.anonymize(None, sqlanon.Policy.from_dict(policy, base_directory=tmp_path)) as release:
            assert sorted(release.to_arrow().column("a").to_pylist()) == ["0", "1", "2"]
        with pytest.raises(SourceError, match=r"has 1 records, of which 2"):
            read(tmp_path / "n.csv", skip_last=2)

    def test_a_fault_among_the_records_is_named_and_not_below_them(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a,b\n1,2\n3\n4,5\nsum\n")
        with pytest.raises(SourceError, match=r"Line 3 of the file 't.csv' has 1 field, line 1 has 2"):
            read(tmp_path / "t.csv", skip_last=1)

    def test_blank_columns_that_hold_a_text_stay(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a,,\n1,,\n2,x,\n")
        assert read(tmp_path / "t.csv", blank_columns="drop")[0] == [("1", None), ("2", "x")]

    @pytest.mark.parametrize("fault", ["two", "none", "encrypted", "bomb", "damaged", "no zip"])
    def test_archives_that_are_refused(self, tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "t.csv.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in {"two": ["secret_a", "secret_b"], "none": []}.get(fault, ["secret_a"]):
                archive.writestr(name, "a,b\n" + "1,2\n" * 100_000)
        data = bytearray(path.read_bytes())
        if fault == "encrypted":
            data[6] |= 1
            data[data.index(b"PK\1\2") + 8] |= 1
        elif fault == "damaged":
            data[60:80] = b"\0" * 20
        path.write_bytes(b"a,b\n1,2\n" if fault == "no zip" else bytes(data))
        if fault == "bomb":
            monkeypatch.setattr("sqlanon.core.source.zipped.HARMLESS", 1000)
        with pytest.raises(SourceError) as raised:
            read(path)
        assert "t.csv.zip" in raised.value.message and "secret" not in str(raised.value) and raised.value.hint

    @pytest.mark.parametrize("fault", ["lzma", "version"])
    def test_archives_of_other_ways_are_refused(self, tmp_path: Path, fault: str) -> None:
        path = tmp_path / "t.csv.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
            archive.writestr("secret_a", "a,b\n" + "1,2\n" * 100_000)
        data = bytearray(path.read_bytes())
        if fault == "lzma":
            data[42:60] = b"\xff" * 18
        else:
            data[data.index(b"PK\1\2") + 6] = 99
        path.write_bytes(data)
        with pytest.raises(SourceError, match="is damaged"):
            read(path)

    @pytest.mark.parametrize("encoding", ["base64", "rot13", "hex", "idna", "punycode", "unicode_escape", "undefined"])
    def test_codecs_of_no_text_files_are_refused(self, tmp_path: Path, encoding: str) -> None:
        (tmp_path / "t.csv").write_text("a,b\n1,2\n")
        with pytest.raises(SourceError, match=f"{encoding} is no encoding of text files"):
            read(tmp_path / "t.csv", encoding=encoding)

    def test_utf_16_has_letters_beyond_the_first_65536(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_bytes(codecs.BOM_UTF16_BE + "a,b\n\U00020bb7,2\n".encode("utf-16-be"))
        assert read(tmp_path / "t.csv", encoding="utf-16")[0] == [("\U00020bb7", "2")]

    def test_no_copy_is_left(self, tmp_path: Path) -> None:
        place = tmp_path / "temporary"
        (tmp_path / "t.csv").write_bytes("a,b\n€,1\n€,2\n".encode("cp1252"))
        with open_source(
            tmp_path / "t.csv", None, reading=Reading({"encoding": "cp1252"}), settings={"temp_directory": str(place)}
        ) as opened:
            assert not [file for file in place.rglob("*") if file.suffix == ".csv"]
            assert len(opened.types) == 2


class TestWrongOptions:
    @pytest.mark.parametrize(
        ("csv", "said"),
        [
            ({"columns": {"a": {"decimals": ","}}}, "did you mean 'decimal'"),
            ({"columns": {"a": {"decimal": ";"}}}, "choose one of ',', '.'"),
            ({"columns": {"a": {"decimal": ".", "thousands": "."}}}, "same sign"),
            ({"columns": {"a": {"thousands": "."}}}, "same sign"),
            ({"columns": {"a": {"dates": "%d.%m.%y"}}}, "pivot: 2026"),
            ({"columns": {"a": {"dates": "%d.%m.%Y", "pivot": 2026}}}, "two digits"),
            ({"columns": {"a": {"dates": "%d.%m."}}}, "a month"),
            ({"columns": {"a": {"dates": "%d.%m.%Q"}}}, "made of"),
            ({"columns": {"a": {"decimal": ",", "dates": "%d.%m.%Y"}}}, "numbers and dates"),
            ({"columns": {"a": {"words": {"ja": True}}}}, "in quotes"),
            ({"columns": {"a": {"unit": "2 kg"}}}, "a unit"),
            *(({"columns": {"a": {"unit": unit}}}, "a unit") for unit in ("-", ".", "0", ",", "'", "(", "k5", " ")),
            ({"columns": {"a": {"dates": "%d.%m.%y", "pivot": 26}}}, "a year from 1900"),
            ({"decimal": ",", "thousands": ","}, "same sign"),
            ({"thousands": "."}, "same sign"),
            ({"columns": {"a": {}}}, "write {column"),
            ({"columns": ["a"]}, "write {column"),
            ({"null": [1]}, "in quotes"),
            ({"skip_last": -1}, "whole number"),
            ({"blank_columns": "yes"}, "keep, drop"),
        ],
    )
    def test_each_has_a_cure(self, csv: dict[str, Any], said: str) -> None:
        with pytest.raises(PolicyError, match=said.replace("{", r"\{").replace(".", r"\.")):
            csv_options(csv)

    def test_a_column_that_is_not_there(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a,b\n1,2\n")
        with pytest.raises(SourceError, match="no column 'c', whose reading is named"):
            read(tmp_path / "t.csv", columns={"c": {"decimal": ","}})


def test_the_command_line_takes_them(tmp_path: Path) -> None:
    texts = ["null=NA", "null=k.A.", "columns={a: {decimal: ',', null: ['-']}},decimal=,,skip_last=1,thousands=."]
    assert read_csv_options(texts) == {
        "null": ["NA", "k.A."], "columns": {"a": {"decimal": ",", "null": ["-"]}}, "decimal": ",", "skip_last": 1,
        "thousands": "."}  # fmt: skip
    (tmp_path / "t.csv").write_text("a;b\n1,5;NA\n2,5;-\n")
    done = command("risk", tmp_path / "t.csv", "--qi", "a", "--csv", "null=NA,null=-,columns={a: {decimal: ','}}")
    assert done.returncode == 0 and "'a' 2 texts rewritten as numbers; 'b' 2 words for NULL" in done.stderr
