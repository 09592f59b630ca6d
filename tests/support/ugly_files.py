"""Writes the ugly files of ``tests/corpus``, and beside each what a person says is right (``python ugly_files.py``).

All persons are invented. A case has the lines of a file and what is expected of it: ``options`` (``csv:`` of the
draft), ``columns``, ``cells`` (values of the first records, as they are read), ``questions`` (column, words of the
question), or ``refused`` (words of the error and its hint).
"""

import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent.parent / "corpus"
YEAR = "THIS YEAR"
"""Stands for the year in which a file is read."""
Case = tuple[str, bytes, dict[str, Any]]


def case(name: str, lines: list[str], *, encoding: str = "utf-8", end: str = "\n", **expected: Any) -> Case:
    return name, end.join([*lines, ""]).encode(encoding), expected


def columns_of(*columns: tuple[str, list[str]], delimiter: str = ";") -> list[str]:
    """The lines of a file with these columns, each with its texts; short ones begin anew."""
    most = max(len(texts) for _, texts in columns)
    lines = [delimiter.join(name for name, _ in columns)]
    return lines + [delimiter.join(texts[i % len(texts)] for _, texts in columns) for i in range(most)]


IDS = ("nr", [f"{number:03d}" for number in range(1, 9)])


def one(name: str, texts: list[str], *, cells: list[str | None] | None = None, asks: str = "", **keys: Any) -> Case:
    """A file with one column to be told, and what becomes of it; ``asks``: words of a question."""
    options: dict[str, Any] = {"delimiter": ";", **({"columns": {"wert": keys}} if keys else {})}
    expected = {"options": options, "columns": ["nr", "wert"], "cells": {"wert": cells or texts}}
    return case(name, columns_of(IDS, ("wert", texts)), **expected, questions=[["wert", asks]] if asks else [])


def files() -> Iterator[Case]:
    yield from of_files()
    yield from of_encodings()
    yield from of_missing()
    yield from of_numbers()
    yield from of_dates()
    yield from untouched()
    yield from refused()


PEOPLE = ["1;34;Bonn", "2;35;Kiel", "3;41;Ulm", "4;29;Jena"]
PLAIN = {"columns": ["id", "age", "city"], "cells": {"age": ["34", "35", "41", "29"]}}


def of_files() -> Iterator[Case]:
    head = "id;age;city"
    yield case("comma.csv", [line.replace(";", ",") for line in (head, *PEOPLE)], options={}, **PLAIN)
    yield case("semicolon.csv", [head, *PEOPLE], options={"delimiter": ";"}, **PLAIN)
    yield case("windows_lines.csv", [head, *PEOPLE], end="\r\n", options={"delimiter": ";"}, **PLAIN)
    mixed = [f"{line}\r" if place % 2 else line for place, line in enumerate((head, *PEOPLE))]
    yield case("mixed_lines.csv", mixed, options={"delimiter": ";"}, **PLAIN)
    yield case("header_twice.csv", [head, head, *PEOPLE], options={"delimiter": ";", "skip": 1},
               questions=[[None, "the header or a record"]], **PLAIN)  # fmt: skip
    yield case("header_again.csv", [head, *PEOPLE, head, "5;50;Köln"], options={"delimiter": ";"},
               questions=[[None, "among the records again"]], **PLAIN)  # fmt: skip
    yield case("tabs.tsv", [line.replace(";", "\t") for line in (head, *PEOPLE)], options={}, **PLAIN)
    yield case("pipes.txt", [line.replace(";", "|") for line in (head, *PEOPLE)], options={"delimiter": "|"}, **PLAIN)
    yield case("sep_line.csv", ["sep=;", head, *PEOPLE], options={"skip": 1, "delimiter": ";"}, **PLAIN)
    title = ["Patients of ward 3", "as of 2 May 2024", "", head, *PEOPLE]
    yield case("title.csv", title, options={"skip": 3, "delimiter": ";"}, **PLAIN)
    padded = ["Ward 3, May;;", ";;", head, *PEOPLE]
    yield case("title_padded.csv", padded, options={"delimiter": ";", "skip": 2}, **PLAIN)
    comma = ["Values, in part; of 2024", "", "id;age;city", *(f"{line}, Nord" for line in PEOPLE)]
    yield case("title_with_comma.csv", comma, options={"delimiter": ";", "skip": 2}, columns=["id", "age", "city"],
               questions=[[None, "the header or a record"]])  # fmt: skip
    yield case("sums.csv", [head, *PEOPLE, "Summe;139;"], options={"delimiter": ";", "skip_last": 1},
               questions=[[None, "no record"]], **PLAIN)  # fmt: skip
    yield case("mean_and_total.csv", [head, *PEOPLE, "Mean:;34.8;", "Total;139;"],
               options={"delimiter": ";", "skip_last": 2}, questions=[[None, "no record"]], **PLAIN)  # fmt: skip
    foot = [head, *PEOPLE, "Gesamt;139", "", "Quelle: Amt für Statistik"]
    yield case("foot.csv", foot, options={"delimiter": ";", "skip_last": 2}, questions=[[None, "no record"]], **PLAIN)
    rows = [head, *PEOPLE, "(4 rows affected)"]
    yield case("rows_affected.csv", rows, options={"delimiter": ";", "skip_last": 1},
               questions=[[None, "no record"]], **PLAIN)  # fmt: skip
    yield case("empty_records.csv", [head, *PEOPLE, ";;", ";;"], options={"delimiter": ";", "skip_last": 2}, **PLAIN)
    yield case("total_is_a_name.csv", [head, "1;34;Bonn", "2;35;Kiel", "3;36;Total", "4;29;Jena"],
               options={"delimiter": ";"}, columns=["id", "age", "city"])  # fmt: skip
    yield case("sum_is_a_name.csv", ["name;age", "Berg;34", "Ott;35", "Jahn;29", "Grand;41"],
               options={"delimiter": ";"}, cells={"name": ["Berg", "Ott", "Jahn", "Grand"]})  # fmt: skip
    yield case("sum_is_a_group.csv", ["group;n", "f;34", "m;35", "m;29", "total;41", "total;42"],
               options={"delimiter": ";"}, cells={"n": ["34", "35", "29", "41", "42"]})  # fmt: skip
    blank = [f"{line};;" for line in (head, *PEOPLE)]
    yield case("blank_columns.csv", blank, options={"delimiter": ";", "blank_columns": "drop"}, **PLAIN)
    framed = [";" + line.replace(";", ";;", 1) for line in (head, *PEOPLE)]
    yield case("blank_columns_before.csv", framed, options={"delimiter": ";", "blank_columns": "drop"}, **PLAIN)
    ends = [head, *(f"{line};" for line in PEOPLE)]
    yield case("delimiter_at_the_end.csv", ends, options={"delimiter": ";"}, **PLAIN)
    quoted = ['id,"name, first",note', *(f'{i},"Berg, Ina","said ""no""\nand left"' for i in range(4))]
    yield case("quoted.csv", quoted, options={}, columns=["id", "name, first", "note"],
               cells={"note": ['said "no"\nand left'] * 4})  # fmt: skip
    towns = columns_of(("town", ["Köln", "Münster", "Düren", "Jülich", "Würselen"]), ("year", ["2021", "2022"]))
    text = "\n".join(towns).encode() + b"\nJ\xfclich;2023\n"
    yield "one_bad_byte.csv", text, {"refused": ["is UTF-8, but for 1 byte", f"line {len(towns) + 1}", "encoding"]}
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("list.csv"), "\n".join([head, *PEOPLE]))
    yield "packed.csv.zip", data.getvalue(), {"options": {"delimiter": ";"}, **PLAIN}
    packed = gzip.compress("\n".join([head, *PEOPLE]).encode(), mtime=0)
    yield "packed.csv.gz", packed, {"options": {"delimiter": ";"}, **PLAIN}


def of_encodings() -> Iterator[Case]:
    german = columns_of(("name", ["Jürgen Groß", "Änne Öhl", "Käthe Müß", "Jörg Thür"]), ("ort", ["Köln", "Fürth"]))
    euro = columns_of(("name", ["Jürgen", "Änne", "Käthe"]), ("preis", ["5 € – neu", "7 €", "„8“ €"]))
    cells = {"ort": ["Köln", "Fürth"]}
    for encoding, said in (("cp850", "cp850"), ("mac_roman", "mac_roman"), ("latin-1", "latin-1")):
        yield case(
            f"{encoding}.csv", german, encoding=encoding, options={"encoding": said, "delimiter": ";"}, cells=cells
        )
    yield case("cp1252.csv", euro, encoding="cp1252", options={"encoding": "cp1252", "delimiter": ";"},
               cells={"preis": ["5 € – neu", "7 €", "„8“ €"]})  # fmt: skip
    yield case("utf8_mark.csv", german, encoding="utf-8-sig", options={"delimiter": ";"}, cells=cells,
               columns=["name", "ort"])  # fmt: skip
    yield case("utf16.csv", german, encoding="utf-16", options={"encoding": "utf-16", "delimiter": ";"}, cells=cells)
    yield case("utf16_unmarked.csv", german, encoding="utf-16-le",
               options={"encoding": "utf-16-le", "delimiter": ";"}, cells=cells)  # fmt: skip
    french = columns_of(("nom", ["Hélène", "Irène", "Zoé", "Thérèse"]), ("ville", ["Nîmes", "Sète"]))
    yield case("accents.csv", french, encoding="latin-1", options={"encoding": "latin-1", "delimiter": ";"},
               questions=[[None, "cp1250"]], cells={"ville": ["Nîmes", "Sète"]})  # fmt: skip
    capitals = columns_of(("nom", ["Île", "Ôdile", "Ève", "Êtienne"]), ("ville", ["Nîmes", "Sète"]))
    yield case("capitals.csv", capitals, encoding="latin-1", options={"encoding": "latin-1", "delimiter": ";"},
               questions=[[None, "cp1250"]], cells={"ville": ["Nîmes", "Sète"]})  # fmt: skip


def of_missing() -> Iterator[Case]:
    table = columns_of(IDS, ("alter", ["34", "NA", "n/a", "41"]), ("wohl", ["gut", "k.A.", "-", "NA"]))
    yield case("missing_words.csv", table, options={"delimiter": ";", "null": ["NA", "n/a", "-", "k.A."]},
               cells={"alter": ["34", None, None, "41"], "wohl": ["gut", None, None, None]})  # fmt: skip
    quoted = [line.replace("-", '"-"').replace("NA", '"NA"') for line in table]
    yield case("missing_quoted.csv", quoted, options={"delimiter": ";", "null": ["NA", "n/a", "-", "k.A."]},
               cells={"wohl": ["gut", None, None, None]})  # fmt: skip
    excel = columns_of(IDS, ("summe", ["34", "#N/A", "35", "#NV"]))
    yield case("missing_excel.csv", excel, options={"delimiter": ";", "null": ["#N/A", "#NV"]},
               cells={"summe": ["34", None, "35", None]})  # fmt: skip
    yield case("missing_point.csv", columns_of(IDS, ("score", ["3.5", ".", "4.5", "."])),
               options={"delimiter": ";", "null": ["."]}, cells={"score": ["3.5", None, "4.5", None]})  # fmt: skip
    yield one("rhesus.csv", ["+", "-", "+", "+"])
    yield one("answers.csv", ["unbekannt", "none", "999", "keine Angabe", "Nein danke"])
    yield one("countries.csv", ["DE", "FR", "NA", "GB", "IT", "PL", "ES", "AT"], asks="NA a code")
    yield one("ions.csv", ["NA", "K", "CL", "NA"], asks="NA a code")
    yield one("surnames.csv", ["MEIER", "NULL", "VON BERG", "OTT"], asks="NULL a code")
    mixed = columns_of(IDS, ("land", ["DE", "FR", "NA", "GB", "IT", "PL", "ES", "AT"]), ("n", ["1", "NA", "2"]))
    yield case("countries_and_missing.csv", mixed, questions=[["land", "NA a code"]],
               options={"delimiter": ";", "null": ["NA"], "columns": {"land": {"null": [""]}}},
               cells={"land": ["DE", "FR", "NA"], "n": ["1", None, "2"]})  # fmt: skip


def of_numbers() -> Iterator[Case]:
    yield one("decimal_comma.csv", ["72,5", "80,25", "-3,5", "7"], cells=["72.5", "80.25", "-3.5", "7"], decimal=",")
    yield one("german_amounts.csv", ["1.200,50", "999,00", "1.200", "12.345.678,9"], decimal=",", thousands=".",
              cells=["1200.50", "999.00", "1200", "12345678.9"])  # fmt: skip
    yield one(
        "english_amounts.csv", ["1,200.50", "999.00", "1,200"], cells=["1200.50", "999.00", "1200"], thousands=","
    )
    yield one("points_twofold.csv", ["1.200", "3.450", "12.500", "2.000"], asks="decimals, thousands")
    yield one("commas_twofold.csv", ["1,200", "3,450", "12,500", "2,000"], asks="decimals, thousands")
    yield one("three_decimals.csv", ["0.123", "1.234", "2.345", "0.500"])
    yield one("groups_vary.csv", ["1.200.300", "999", "45.000", "1.000"], decimal=",", thousands=".",
              cells=["1200300", "999", "45000", "1000"])  # fmt: skip
    yield one("numbers_of_identity.csv", ["12.345.678", "23.456.789", "34.567.890", "45.678.901"], asks="codes")
    yield one("spaces.csv", ["1 200,5", "1\u00a0200,5", "12\u202f345,0", "7,5"], decimal=",", thousands=" ",
              cells=["1200.5", "1200.5", "12345.0", "7.5"])  # fmt: skip
    yield one(
        "apostrophes.csv", ["1'200.50", "12’345.00", "7.50"], cells=["1200.50", "12345.00", "7.50"], thousands="'"
    )
    yield one("both_decimals.csv", ["72,5", "80.2", "71,1", "65"], cells=["72.5", "80.2", "71.1", "65"], decimal=",")
    yield one("clash.csv", ["1.200,50", "1,200.50", "3"], asks="decimals, thousands")
    yield one("kilograms.csv", ["72 kg", "80,5 kg", "71kg"], cells=["72", "80.5", "71"], decimal=",", unit="kg")
    yield one("unit_of_some.csv", ["72 kg", "80 kg", "71", "69 kg"], cells=["72", "80", "71", "69"], unit="kg",
              asks="no unit")  # fmt: skip
    yield one("visits.csv", ["t0", "t1", "t2"])
    yield one("lumbar.csv", ["L1", "L5", "L3"])
    yield one("hours.csv", ["1h", "4h", "2h"], asks="a unit")
    yield one("grams.csv", ["5 g", "7g", "12 g"], cells=["5", "7", "12"], unit="g")
    yield one("two_units.csv", ["72 kg", "160 lb", "71 kg", "150 lb"], asks="several units")
    yield one("euros.csv", ["€ 1.200,50", "€ 3,00", "-5,00 €"], cells=["1200.50", "3.00", "-5.00"], decimal=",",
              thousands=".", unit="€")  # fmt: skip
    yield one("percents.csv", ["12 %", "7%", "100 %"], cells=["12", "7", "100"], unit="%")
    yield one("parentheses.csv", ["(3,50)", "4,00", "12,25"], cells=["-3.50", "4.00", "12.25"], decimal=",",
              negative="parentheses", asks="below 0")  # fmt: skip
    yield one("trailing.csv", ["3,50-", "4,00", "12,25"], cells=["-3.50", "4.00", "12.25"], decimal=",",
              negative="trailing", asks="below 0")  # fmt: skip
    few = ["72,5"] * 30 + ["about 70"]
    yield one("nearly_all.csv", few, cells=["72.5"] * 30 + ["about 70"], decimal=",")


def of_dates() -> Iterator[Case]:
    yield one("german_dates.csv", ["3.4.2024", "25.12.2023", "1.1.2024"])
    yield one("two_formats.csv", ["3.4.2024", "2024-04-25", "01.01.2024"], dates=["%Y-%m-%d", "%d.%m.%Y"],
              cells=["2024-04-03", "2024-04-25", "2024-01-01"])  # fmt: skip
    yield one("month_first.csv", ["04/25/2024", "2024-05-01", "04/03/2024"], dates=["%Y-%m-%d", "%m/%d/%Y"],
              cells=["2024-04-25", "2024-05-01", "2024-04-03"])  # fmt: skip
    yield one("day_first.csv", ["25/04/2024", "2024-05-01", "04/03/2024"], dates=["%Y-%m-%d", "%d/%m/%Y"],
              cells=["2024-04-25", "2024-05-01", "2024-03-04"])  # fmt: skip
    yield one("mistyped_point.csv", [*["3.4.2010", "12.11.2011", "4.5.2010"] * 13, "01.13.2010"])
    yield one("mistyped_slash.csv", [*["3/4/2010", "12/11/2011", "4/5/2010"] * 13, "01/13/2010"], asks="several ways")
    yield one("day_or_month.csv", ["04/05/2024", "2024-05-01", "11/03/2024"], asks="several ways")
    yield one("day_and_month.csv", ["25/04/2024", "04/25/2024", "04/03/2024"], asks="several ways")
    yield one("two_digits.csv", ["25.04.24", "03.04.99", "01.12.03"], dates="%d.%m.%y", pivot=YEAR, asks="two digits",
              cells=["2024-04-25", "1999-04-03", "2003-12-01"])  # fmt: skip
    yield one("german_months.csv", ["3. März 2024", "25. Dezember 2023"], dates="%d. %B %Y",
              cells=["2024-03-03", "2023-12-25"])  # fmt: skip
    yield one(
        "english_months.csv", ["03-Mar-2024", "25-DEC-2023"], dates="%d-%b-%Y", cells=["2024-03-03", "2023-12-25"]
    )
    yield one("times_of_day.csv", ["3.4.2024 07:05", "25.12.2023 18:30"], dates="%d.%m.%Y %H:%M",
              cells=["2024-04-03 07:05:00", "2023-12-25 18:30:00"])  # fmt: skip
    yield one("halves_of_a_day.csv", ["12/25/2023 06:30:15 PM", "03/04/2024 12:05:00 AM"],
              dates="%m/%d/%Y %I:%M:%S %p", cells=["2023-12-25 18:30:15", "2024-03-04 00:05:00"])  # fmt: skip


def untouched() -> Iterator[Case]:
    yield one("ja_nein.csv", ["ja", "nein", "Ja", "nein"])
    yield one("oui_non.csv", ["oui", "non"])
    yield one("postcodes.csv", ["01067", "04109", "80331", "10115"])
    yield one("versions.csv", ["1.2.3", "1.2.10", "2.0.11"])
    yield one("versions_like_dates.csv", ["1.2.10", "2.3.11", "3.4.12"], asks="several ways")
    yield one("telephones.csv", ["0171 123 456", "030 123 4567", "+49 89 123456"])
    yield one("short_numbers.csv", ["301 234 567", "302 345 678", "303 456 789"], asks="codes")
    yield one("addresses_of_machines.csv", ["192.168.100.200", "192.168.100.201", "10.0.0.1"])
    yield one("times.csv", ["07:05", "18:30", "23:59"])
    yield one("days_of_a_year.csv", ["12.10", "24.12", "1.5"])
    yield one("several_answers.csv", ["1,2,3", "2", "1,3", "1,2,3,4"])
    yield one("codes_with_commas.csv", ["A1,B2", "A1", "C3,A2"])
    yield one("house_numbers.csv", ["Nr. 5", "5 a", "12", "7-9"])
    yield one("ranges.csv", ["20-29", "30-39", "40-49"])
    yield one("dosages.csv", ["2 x 5 mg", "1 x 10 mg"])
    yield one("zeros_in_front.csv", ["007,5", "012,5", "000,1"])


def refused() -> Iterator[Case]:
    yield case("two_delimiters.csv", ["name,x;age", *["1,5;2"] * 5], refused=["by 2 delimiters", "delimiter"])
    yield case("empty.csv", [], refused=["is empty"])
    rows = [f"{number};{name};m;Bonn" for number, name in enumerate(["Meier", "Berg", "Ott", "Jahn"], 1)]
    yield case("names_of_rows.csv", ["name;sex;town", *rows], refused=["Line 1", "so may line 2", "skip: 0"])
    yield case(
        "title_without_header.csv", ["List of patients", *rows], refused=["Line 1", "so may line 2", "header: false"]
    )
    padded = ["Export;Ward 3;;;", "id;name;sex;town;ward", *(f"{row};3" for row in rows)]
    yield case("title_of_two_fields.csv", padded, refused=["Line 1", "so may line 2", "skip: 1"])
    yield case("broken_line.csv", ["id;age;city", *PEOPLE[:2], "3;41", *PEOPLE], refused=["Line 4", "has 2 fields"])
    russian = columns_of(("имя", ["Анна", "Борис", "Вера"]), ("город", ["Москва", "Тверь"]))
    yield case("cyrillic.csv", russian, encoding="cp1251", refused=["cannot be told", "cp1251"])
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("a.csv", "b.csv"):
            archive.writestr(zipfile.ZipInfo(name), "id;age\n1;2\n")
    yield "two_members.csv.zip", data.getvalue(), {"refused": ["holds 2 files", "pack one"]}
    yield "no_archive.csv.zip", b"id;age\n1;2\n", {"refused": ["is damaged"]}
    yield "cut_off.csv.gz", gzip.compress(b"id;age\n1;2\n" * 100, mtime=0)[:40], {"refused": ["is damaged"]}


def with_year(expected: Any) -> Any:
    """What is expected, read this year."""
    if isinstance(expected, dict):
        return {key: with_year(value) for key, value in expected.items()}
    return datetime.now(UTC).year if expected == YEAR else expected


def main() -> None:
    CORPUS.mkdir(exist_ok=True)
    for old in CORPUS.iterdir():
        old.unlink()
    for name, data, expected in files():
        (CORPUS / name).write_bytes(data)
        text = json.dumps(expected, ensure_ascii=False, indent=1)
        (CORPUS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
