"""A sheet of a workbook is read as the table that a person sees in it; what is left out or cannot be told is said."""

import random
import sys
import traceback
import zipfile
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from effort import scaled
from policies import document_of

import sqlanon
from sqlanon.cli import main
from sqlanon.commands.csv_options import read_format_options
from sqlanon.core.formats.base import findings_of
from sqlanon.errors import PolicyError, SourceError, SqlanonError, UnsupportedError
from sqlanon.interop.formats import apart
from sqlanon.interop.formats.excel import Excel

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl writes the workbooks of these tests")
pytest.importorskip("python_calamine", reason="python-calamine reads workbooks (extra excel)")
from sqlanon.interop.formats import workbook  # noqa: E402

CANARY = "Zz7canaryqQ"


def book(path: Path, hidden: tuple[str, ...] = (), **sheets: list[list[Any]]) -> Path:
    """Write sheets; a text that begins with # is an error."""
    written = openpyxl.Workbook()
    written.remove(written.active)
    for name, rows in sheets.items():
        sheet = written.create_sheet(name)
        for row in rows:
            sheet.append(row)
        for cells in sheet.iter_rows():
            for cell in cells:
                if str(cell.value).startswith("#"):
                    cell.data_type = "e"
        sheet.sheet_state = "hidden" if name in hidden else "visible"
    written.save(path)
    return path


def look(path: Path, **options: Any) -> tuple[list[tuple[str | None, ...]], apart.Found]:
    """The header and the records, read in this process."""
    found = workbook.look(path, options)
    rows = [row for columns in found.batches for row in zip(*columns)]
    return [tuple(found.columns), *rows], found


def refusal(path: Path, *, apart: bool = False, **options: Any) -> str:
    """The message of the SourceError, of this process or of one apart, from which nothing leads to a value."""
    with pytest.raises(SourceError) as caught:
        Excel().read(path, options) if apart else look(path, **options)
    printed = "".join(traceback.format_exception(caught.value)) + repr(caught.value.__context__)
    assert CANARY not in printed + repr(vars(caught.value)) and "Hint: " in str(caught.value)
    return str(caught.value)


def test_cells_are_read_as_a_person_sees_them(tmp_path: Path) -> None:
    moment = datetime(2020, 1, 2, 3, 4, 5)
    rows = [
        ["id", "born", "seen", "weight", "smoker", "at", "slept", "note"],
        [1, date(1980, 2, 3), moment, 72.0, True, time(3, 4), timedelta(hours=30), "a\nb"],
        ["007", date(1901, 12, 31), date(2021, 1, 1), 72.5, False, time(23, 59, 59), timedelta(minutes=5), None],
        [12345678901234, None, None, 1e20, None, None, None, " x "],
    ]
    found, _ = look(book(tmp_path / "a.xlsx", people=rows))
    assert found == [
        ("id", "born", "seen", "weight", "smoker", "at", "slept", "note"),
        ("1", "1980-02-03", "2020-01-02 03:04:05", "72", "true", "03:04:00", "30:00:00", "a\nb"),
        ("007", "1901-12-31", "2021-01-01 00:00:00", "72.5", "false", "23:59:59", "00:05:00", None),
        ("12345678901234", None, None, "100000000000000000000", None, None, None, " x "),
    ]


def test_titles_blank_rows_and_columns_are_left_out_and_said(tmp_path: Path) -> None:
    rows = [
        ["Patients of 2020"], [], ["id", "", "age", "sex", ""], [1, None, 30, "f"], [], [2, None, 31, "m"], [],
        [3, None, 32, "f"], ["sum", None, 93],
    ]  # fmt: skip
    path = book(tmp_path / "a.xlsx", people=rows)
    found, told = look(path, skip_last=1)
    assert found == [("id", "age", "sex"), ("1", "30", "f"), ("2", "31", "m"), ("3", "32", "f")]
    assert told.options == {"skip_last": 1, "sheet": "people", "skip": 2}
    assert [*told.notes] == [
        "Above the table of the sheet 'people' 2 rows are left out (skip: 2).",
        "In the sheet 'people' 2 blank rows are left out.",
        "In the sheet 'people' 1 nameless blank columns are left out.",
    ]
    assert look(path, skip=4, header=False)[0] == [("",) * 3, ("2", "31", "m"), ("3", "32", "f"), ("sum", "93", None)]


def test_a_header_may_lack_the_name_of_row_numbers_and_names_are_made_unique(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", people=[[None, "Age", "age", " a \n b "], [0, 30, 1, 2], [1, 31, 3, 4]])
    table = Excel().read(path, {})
    assert table.schema.names == ["column0", "Age", "age_1", "a b"]
    notes, options = findings_of(table.schema)
    assert notes == (
        "2 columns of 'a.xlsx' have no name, or one that another has; here they are called 'column0', 'age_1'.",
    )
    assert options == {"sheet": "people", "skip": 0}
    assert table.read_all().to_pylist()[1] == {"column0": "1", "Age": "31", "age_1": "3", "a b": "4"}


def test_a_record_is_not_taken_for_a_header(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", people=[["Anna", 30], ["Bert", 31]])
    assert "Row 1 of the sheet 'people'" in refusal(path) and "header: false" in refusal(path)
    assert look(path, header=False)[0] == [("", ""), ("Anna", "30"), ("Bert", "31")]
    assert look(path, skip=0)[0][0] == ("Anna", "30")
    rows = [["name", "sex"], *(["Meier", "m", "Bonn", "x"] for _ in range(3))]
    path = book(tmp_path / "b.xlsx", people=rows)
    assert "it may be the header" in refusal(path) and "Meier" not in refusal(path) and "skip: " in refusal(path)
    assert look(path, skip=0)[0][1] == ("Meier", "m", "Bonn", "x")


def test_errors_and_formulas_without_a_value_are_counted(tmp_path: Path) -> None:
    rows = [["a", "b", "c"], ["#N/A", "=1+1", 1], ["#DIV/0!", "=A1", 2], ["x", "y", 3]]
    path = book(tmp_path / "a.xlsx", other=[["#REF!"]], people=rows)
    found, told = look(path, sheet="people")
    assert found[1:] == [(None, None, "1"), (None, None, "2"), ("x", "y", "3")]
    assert told.notes[0] == "In the sheet 'people' 2 cells hold an error (#N/A, say), and are NULL."
    assert "2 formulas have never been calculated" in told.notes[1] and len(told.notes) == 2


def test_pieces_of_a_part_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book(tmp_path / "a.xlsx", people=[["a", "b"], *([["#N/A", "x"]] * 99)])
    monkeypatch.setattr(workbook, "PIECE", 37)
    assert any(" 99 cells hold an error" in note for note in look(path)[1].notes)


def test_batches_hold_all_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[list[Any]] = [["a", "b"], *([number, None if number % 7 else number] for number in range(2500))]
    monkeypatch.setattr(workbook, "ROWS", 100)
    found, _ = look(book(tmp_path / "a.xlsx", people=rows))
    assert found[1:] == [(str(a), None if b is None else str(b)) for a, b in rows[1:]]


def test_of_several_sheets_one_is_named(tmp_path: Path) -> None:
    sheets = {"people": [["a", "b"], [1, 2]], "notes": [["x"], [1]], "old": [["a"], [9]], "empty": []}
    path = book(tmp_path / "a.xlsx", ("old",), **sheets)
    assert (
        "has 2 sheets with cells: 'people' (2 rows, 2 columns), 'notes' (2 rows, 1 columns), and 1 hidden ones."
        in refusal(path)
    )
    assert look(path, sheet="old")[0] == [("a",), ("9",)]
    assert "it has 'people', 'notes', 'old', 'empty'" in refusal(path, sheet="peple")
    assert "holds no records" in refusal(path, sheet="empty")
    assert "holds no records" in refusal(book(tmp_path / "b.xlsx", people=[["a", "b"]]))
    one = book(tmp_path / "c.xlsx", ("old",), people=sheets["people"], old=sheets["old"])
    assert look(one)[1].notes == ["Of 'c.xlsx' the sheet 'people' is read; not the hidden 'old'."]
    assert "has 0 sheets with cells, and 0 hidden ones" in refusal(book(tmp_path / "d.xlsx", empty=[]))


def ods(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path])  # odfpy adds to it
    opendocument = pytest.importorskip("odf.opendocument", reason="odfpy writes the .ods file of this test")
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    document, sheet = opendocument.OpenDocumentSpreadsheet(), Table(name="people")
    kinds = {
        "n": lambda value: {"valuetype": "float", "value": value},
        "d": lambda value: {"valuetype": "date", "datevalue": value},
        "b": lambda value: {"valuetype": "boolean", "booleanvalue": value},
        "s": lambda value: {"valuetype": "string"},
    }
    for cells in (
        "s:id s:born s:ill s:note",
        "n:1 d:1980-02-03 b:true s:#N/A",
        "n:2.5 d:1980-02-03T01:02:03 b:false s:x",
    ):
        row = TableRow()
        for cell in cells.split():
            kind, _, value = cell.partition(":")
            made = TableCell(**kinds[kind](value))
            made.addElement(P(text=value))
            row.addElement(made)
        sheet.addElement(row)
    document.spreadsheet.addElement(sheet)
    document.save(path)
    return path


def test_an_ods_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, told = look(ods(tmp_path / "a.ods", monkeypatch))
    assert found == [
        ("id", "born", "ill", "note"),
        ("1", "1980-02-03 00:00:00", "true", None),
        ("2.5", "1980-02-03 01:02:03", "false", "x"),
    ]
    assert told.notes == ["In the sheet 'people' 1 cells have the text of an error (#N/A, say), and are NULL."]


def test_words_for_null_may_be_several(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", people=[["a", "b"], ["NA", "-"], ["x", 9]])
    assert Excel().read(path, {"null": ["NA", "-", "9"]}).read_all().to_pylist() == [
        {"a": None, "b": None}, {"a": "x", "b": None},
    ]  # fmt: skip
    null = next(item for item in Excel.options if item.name == "null")
    assert null.check("NA") is None and null.check(["NA", ""]) is None
    assert null.check([1]) and null.check(None) and null.check({"a": 1})


def bomb(path: Path, size: int) -> Path:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("xl/a", "w", force_zip64=True) as part,
    ):
        for _ in range(size >> 20):
            part.write(bytes(1 << 20))
    return path


def test_a_bomb_is_refused_before_it_unpacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bomb(tmp_path / "a.xlsx", 40 << 20)
    monkeypatch.setattr(workbook, "GIB", 10 << 20)
    with pytest.raises(SourceError, match=r"unpacks to 4\.0 GiB, more than the 2 GiB allowed\. Hint: .*memory: 6"):
        look(path, memory=2)
    data = path.read_bytes().replace((40 << 20).to_bytes(4, "little"), (1 << 20).to_bytes(4, "little"))
    path.write_bytes(data)  # it says that it unpacks to less than it does
    with pytest.raises(zipfile.BadZipFile):
        look(path, memory=2)
    assert "cannot be read (BadZipFile)" in refusal(path, apart=True)


@pytest.mark.slow
def test_what_is_no_workbook_is_refused(tmp_path: Path) -> None:
    for name, data in {
        "text.xlsx": f"a;b\n{CANARY};1\n".encode(),
        "empty.xlsx": b"",
        "html.xls": f"<table><tr><td>{CANARY}".encode(),
        "zip.xlsx": bomb(tmp_path / "z.zip", 1 << 20).read_bytes(),
        "old.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000),
    }.items():
        (tmp_path / name).write_bytes(data)
        assert "may be damaged, or of another kind" in refusal(tmp_path / name, apart=True), name


def test_a_sheet_that_would_take_all_memory_is_refused(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", people=[["a", "b"], [1, 2]])
    sheet = openpyxl.load_workbook(path)
    sheet["people"]["XFD1048576"] = 1
    sheet.save(path)
    assert "crashed, or took more than 4 GiB of memory" in refusal(path, apart=True)


def test_a_column_without_any_name_gets_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []
    monkeypatch.setattr(apart, "_send", lambda out, kind, data: sent.append(bytes(data)))
    apart._send_all(sys.stdout.buffer, apart.Found([None, "a"], [], {}))  # type: ignore[list-item]
    assert b'"columns": ["", "a"]' in sent[0]


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match=r'install "sqlanon\[excel\]"'):
        Excel().read(book(tmp_path / "a.xlsx", people=[["a"], [1]]), {})
    with pytest.raises(UnsupportedError):
        Excel().write(tmp_path / "b.xlsx", Any, {})  # type: ignore[arg-type]


def people(records: int) -> list[list[Any]]:
    draw = random.Random(7)
    rows: list[list[Any]] = [["Discharges"], [], ["age", "sex", "zip", "admitted", "diagnosis"]]
    for _ in range(records):
        day = date(2020, draw.randint(1, 12), draw.randint(1, 28))
        rows.append([draw.randint(18, 90), draw.choice("mf"), f"0{draw.randint(1000, 1009)}", day, draw.choice("abc")])
    return rows


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, arguments)


@pytest.mark.slow
def test_a_workbook_is_profiled_drafted_and_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    book(tmp_path / "a.xlsx", people=people(600), notes=[["x"], [1]])
    profiled = run("profile", "a.xlsx", "--read=excel:sheet=people", "--write", "p.yaml")
    assert profiled.exit_code == 0 and "600 records, 5 columns" in profiled.stdout
    assert "Above the table of the sheet 'people' 2 rows are left out" in profiled.stderr
    assert "excel: {sheet: people, skip: 2}\n" in Path("p.yaml").read_text()
    ran = run("run", "p.yaml")
    assert ran.exit_code == 0 and "600 records" in ran.stdout, ran.stderr


def test_the_option_read_names_formats_and_their_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    book(tmp_path / "a.xlsx", people=[["a"], [1]], notes=[["x"], [1]])
    assert "--read excel:sheet=NAME" in run("profile", "a.xlsx").stderr
    assert "no format 'exel'" in run("risk", "a.xlsx", "--read", "exel:sheet=people", "--qi", "age").stderr
    assert "did you mean 'sheet'" in run("profile", "a.xlsx", "--read", "excel:shet=people").stderr
    assert "FORMAT:KEY=VALUE" in run("profile", "a.xlsx", "--read", "sheet=people").stderr
    assert read_format_options(["csv=x", "excel:sheet=a, b,skip=2", "excel:memory=1.5", "spss:labels=false"]) == {
        "excel": {"sheet": "a, b", "skip": 2, "memory": 1.5}, "spss": {"labels": False},
    }  # fmt: skip


@pytest.mark.slow
def test_every_question_is_asked_of_a_workbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    book(tmp_path / "a.xlsx", people=people(600), notes=[["x"], [1]])
    for command, more in (("risk", ()), ("check", ("--k", "2")), ("nulls", ())):
        asked = run(command, "a.xlsx", "--read=excel:sheet=people", "--qi", "age,sex", *more)
        assert asked.exit_code in (0, 1) and "Error" not in asked.stderr, asked.stderr
    found = sqlanon.profile("a.xlsx", formats={"excel": {"sheet": "people"}})
    assert found.to_dict()["formats"] == {"excel": {"sheet": "people", "skip": 2}}
    policy = document_of({"age": "suppress"}, k=2, source="a.xlsx", excel={"sheet": "people"}, undeclared="drop")
    with pytest.raises(PolicyError, match="ending is not known"):  # they are read only
        sqlanon.Policy.from_dict({**policy, "output": {"file": "b.xlsx"}})


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_damaged_copies_end_in_an_error_of_ours(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if ending == "ods":
        ods(tmp_path / "a.ods", monkeypatch)
    else:
        book(tmp_path / "a.xlsx", people=[["a", CANARY], *([CANARY, number] for number in range(300))])
    data = (tmp_path / f"a.{ending}").read_bytes()
    for number in range(scaled(20)):
        draw, path = random.Random(number), tmp_path / f"b.{ending}"
        copy = bytearray(data)
        for _ in range(draw.choice([1, 2, 20])):
            copy[draw.randrange(len(copy))] = draw.randrange(256)
        path.write_bytes(copy[: draw.randrange(len(copy))] if draw.random() < 0.2 else copy)
        try:
            Excel().read(path, {}).read_all()
        except SqlanonError as error:
            assert CANARY not in str(error)


def test_zeros_that_are_only_shown_and_merged_cells_are_said(tmp_path: Path) -> None:
    written = openpyxl.Workbook()
    sheet = written.active
    for row in [["ward", "zip", "number"], ["A", 1069, 1], [None, 4103, 2], ["B", 53111, 3]]:
        sheet.append(row)
    for row in (2, 3, 4):
        sheet.cell(row, 2).number_format = "00000"
        sheet.cell(row, 3).number_format = "0"
    sheet.merge_cells("A2:A3")
    written.save(tmp_path / "zeros.xlsx")
    rows, told = look(tmp_path / "zeros.xlsx")
    assert rows[1][1] == "1069" and rows[2][0] is None
    assert any("3 cells show a number with zeros before it" in note for note in told.notes)
    assert any("has 1 range of merged cells" in note for note in told.notes)
    _, told = look(book(tmp_path / "plain.xlsx", people=[["id", "age"], [1, 2]]))
    assert told.notes == []
