"""CSV files: every record is read or the run ends, a path is a path, and types are found where a builder needs them."""

import gzip
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import effort
import pyarrow as pa
import pytest
from command_line import sqlanon as command
from pyarrow import parquet

import sqlanon
from sqlanon.core.source import csv_records, files
from sqlanon.core.source.csv_records import count_records, csv_form, find_fault
from sqlanon.core.source.files import Reading
from sqlanon.core.source.opening import open_source
from sqlanon.errors import HierarchyError, PolicyError, SourceError, SqlanonError

PLAIN = {"a": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "b": {"role": "keep"}}
LISTED = {"a": {"role": "quasi_identifier", "hierarchy": {"file": "h.csv"}}, "b": {"role": "keep"}}


def document(**changes: Any) -> dict[str, Any]:
    return {"source": "s.csv", "columns": PLAIN, "privacy": [{"type": "k_anonymity", "k": 1}], **changes}


def run(folder: Path, **changes: Any) -> Any:
    """The ledger of a run, its rows and its warnings."""
    policy = sqlanon.Policy.from_dict(document(**changes), base_directory=folder)
    with sqlanon.anonymize(None, policy) as release:
        data = release.to_arrow()
        rows = Counter(zip(*(data.column(i).to_pylist() for i in range(data.num_columns)), strict=True))
        return release.ledger, rows, release.warnings


def write(folder: Path, name: str, *lines: str, end: str = "\n") -> Path:
    path = folder / name
    path.write_bytes(end.join([*lines, ""]).encode())
    return path


class TestEveryRecord:
    def test_lines_above_the_header_are_skipped_only_if_the_policy_says_so(self, tmp_path: Path) -> None:
        above = [f"{i % 5};{i % 3}" for i in range(40)]
        write(tmp_path, "s.csv", *above, "a,b", *[f"{i % 5},{i % 3}" for i in range(60)])
        with pytest.raises(SourceError, match=r"Line 41 .* has 2 fields, line 1 has 1") as raised:
            run(tmp_path)
        assert "csv: {skip: 40}" in str(raised.value.hint)
        ledger, rows, _ = run(tmp_path, csv={"skip": 40})
        assert ledger.records == 60 == rows.total()

    def test_records_in_another_form_are_not_skipped(self, tmp_path: Path) -> None:
        write(tmp_path, "s.csv", "a,b", *["1,2,3"] * 40, *["1,2"] * 60)
        with pytest.raises(SourceError, match=r"Line 2 .* has 3 fields, line 1 has 2"):
            run(tmp_path)

    def test_other_than_all_records_read_is_an_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(tmp_path, "s.csv", "a,b", "1,2", "3,4", "5,6")
        read = files.csv_relation
        monkeypatch.setattr(files, "csv_relation", lambda found, columns, form: read(found, columns, _skipping(form)))
        with pytest.raises(SourceError, match="hold 3 records, but 2 were read"):
            run(tmp_path)

    @pytest.mark.slow
    @effort.seeds(1000, 50)
    def test_records_are_counted_as_duckdb_reads_them(
        self, block: effort.Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read = 0
        for seed in block:
            chance = random.Random(seed)
            monkeypatch.setattr(csv_records, "CHUNK", chance.choice([7, 64, 2**20]))
            path = tmp_path / chance.choice(["s.csv", "s.csv.gz"])
            text = _random_text(chance).encode()
            path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
            try:
                with open_source(path, None, reading=Reading({"header": chance.random() < 0.8})) as opened:
                    read += opened.engine.run("rows", f"SELECT count(*) FROM {opened.relation}")[0][0]
            except SourceError as error:
                assert "were read" not in error.message, text
        assert read > 10

    def test_a_column_that_is_alone_has_a_record_in_a_blank_line(self, tmp_path: Path) -> None:
        write(tmp_path, "s.csv", "", "a", "1", "", '""', "1")
        ledger, rows, _ = run(tmp_path, columns={"a": {"role": "keep"}})
        assert ledger.records == 4
        assert rows == Counter({("1",): 2, (None,): 1, ("",): 1})


def _skipping(form: Any) -> Any:
    return replace(form, skip=form.skip + 1)


def _random_text(chance: random.Random) -> str:
    width, end = chance.choice([1, 2, 3]), chance.choice(["\n", "\r\n"])

    def field() -> str:
        kind = chance.random()
        if kind < 0.5:
            return chance.choice(["", "1", "ab", 'x"y', ' "z"', ' "a,b"', f' "a{end}b" '])
        return '"' + "".join(chance.choice(["a", end, ",", '""']) for _ in range(chance.randrange(4))) + '"'

    records = [",".join(field() for _ in range(width)) if chance.random() > 0.1 else "" for _ in range(8)]
    above = [""] * chance.choice([0, 0, 2])
    return end.join([*above, ",".join(f"h{i}" for i in range(width)), *records]) + chance.choice(["", end])


class TestFaults:
    @pytest.mark.parametrize(
        ("lines", "message", "cure"),
        [
            (["a,b", "1,2", '"x', 'y",3', "4"], "Line 5 .* has 1 field, line 1 has 2", "quotes"),
            (["a,b", "1,2", '"x"y,3'], "record in line 3 .* is not closed", "double a quote"),
            (["a;b", "1;2", "3;4"], "one column, but the same number of ';'", "delimiter: ';'"),
            (["a;b;c", "1,5;2;3", "3;4;5"], "one column, but the same number of ';'", "delimiter: ';'"),
            (["a,b;c", "1;2", "3;4"], "Line 2 .* has 1 field, line 1 has 2", "delimiter: ';'"),
            (["a,b"], "holds no records", "header: false"),
            ([], "is empty", "check the path"),
        ],
    )
    def test_are_reported_with_line_and_cure(self, tmp_path: Path, lines: list[str], message: str, cure: str) -> None:
        (tmp_path / "s.csv").write_text("\n".join(lines))
        with pytest.raises(SourceError, match=message) as raised:
            run(tmp_path)
        assert cure in str(raised.value.hint)

    def test_a_text_in_another_encoding_is_reported_with_its_line(self, tmp_path: Path) -> None:
        (tmp_path / "s.csv").write_bytes(b"a,b\n1,2\n\xe4,3\n")
        with pytest.raises(SourceError, match=r"Line 3 .* no UTF-8 text"):
            run(tmp_path)
        assert run(tmp_path, csv={"encoding": "latin-1"})[0].records == 2

    def test_a_file_without_faults_has_none(self, tmp_path: Path) -> None:
        path = write(tmp_path, "s.csv", "a,b", "1,2,", '3," x"')
        form = csv_form(path, {})
        assert find_fault(path, form, count_records(path, form)) is None

    def test_a_damaged_archive_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "s.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 1000)[:-20])
        with pytest.raises(SourceError, match="damaged"):
            run(tmp_path, source="s.csv.gz")


class TestHierarchyFiles:
    def test_a_header_is_recognised(self, tmp_path: Path) -> None:
        write(tmp_path, "s.csv", "a,b", "1,x", "2,y")
        write(tmp_path, "h.csv", "value;level 1;level 2", "1;odd;*", "2;even;*", "3;odd;*")
        with pytest.raises(HierarchyError, match="reads like a header") as raised:
            run(tmp_path, columns=LISTED)
        assert "header: true" in str(raised.value.hint)
        for header, leaves in ((True, 3), (False, 4)):
            hierarchy = {"file": "h.csv", "header": header}
            policy = document(columns={**LISTED, "a": {"role": "quasi_identifier", "hierarchy": hierarchy}})
            with sqlanon.plan(None, sqlanon.Policy.from_dict(policy, base_directory=tmp_path)) as plan:
                assert plan.catalog.attributes[0].domain == leaves

    def test_a_first_row_that_is_a_value_is_none(self, tmp_path: Path) -> None:
        write(tmp_path, "s.csv", "a,b", "1,x", "value,y")
        write(tmp_path, "h.csv", "value;other;none", "1;odd;*", "2;even;*", "3;odd;*")
        assert run(tmp_path, columns=LISTED)[0].records == 2

    def test_another_delimiter_is_recognised(self, tmp_path: Path) -> None:
        write(tmp_path, "s.csv", "a,b", "1,x", "2,y")
        write(tmp_path, "h.csv", "1,odd,*", "2,even,*")
        with pytest.raises(HierarchyError, match="one field in a line, but as many ','") as raised:
            run(tmp_path, columns=LISTED)
        assert "delimiter: ','" in str(raised.value.hint)


class TestPaths:
    """Files that a pattern of the same text would name lie beside each file."""

    ODD = "q[12]?*{1,2}"

    @pytest.mark.parametrize("ending", ["csv", "parquet", "csv.gz", "csv.zst"])
    def test_a_source_is_the_file_that_is_named(self, tmp_path: Path, ending: str) -> None:
        for name, value in ((self.ODD, "right"), ("q1xy1", "wrong"), ("q1xy{1,2}", "wrong")):
            self.stored(tmp_path / f"{name}.{ending}", value)
        assert set(run(tmp_path, source=f"{self.ODD}.{ending}")[1]) == {("right", "b")}

    def test_so_are_joined_files_subsets_hierarchies_and_targets(self, tmp_path: Path) -> None:
        folder = tmp_path / "[ab]"
        for place, value in ((folder, "right"), (tmp_path / "a", "wrong")):
            place.mkdir()
            write(place, "s.csv", "a,b", f"{value},1")
            write(place, "j[1].csv", "b,c", f"1,{value}")
            write(place, "j1.csv", "b,c", "1,wrong")
            write(place, "h[1].csv", f"{value};*")
            write(place, "h1.csv", "wrong;+")
        columns = {
            "a": {"role": "quasi_identifier", "hierarchy": {"file": "h[1].csv"}},
            "b": {"role": "drop"},
            "c": {"role": "keep"},
        }
        subset = {"type": "delta_presence", "min": 0, "max": 1, "subset": {"file": "s.csv"}}
        for name in ("o[1].csv", "o[1].parquet"):
            self.stored(folder / name.replace("[1]", "1"), "wrong")
            _, rows, _ = run(
                folder,
                columns=columns,
                join=[{"source": "j[1].csv", "key": "b"}],
                privacy=[{"type": "k_anonymity", "k": 1}, subset],
                output={"file": name},
            )
            assert set(rows) == {("right", "right")}
            assert (folder / name).is_file()

    def test_so_are_those_of_commands(self, tmp_path: Path) -> None:
        write(tmp_path, "q[1].csv", "a,b", "1,x", "2,y")
        write(tmp_path, "q1.csv", "a,b", "1,x", "1,y")
        assert command("check", tmp_path / "q[1].csv", "--qi", "a", "--k", "2").returncode == 1
        assert command("check", tmp_path / "q1.csv", "--qi", "a", "--k", "2").returncode == 0
        assert "2 records" in command("nulls", tmp_path / "q[1].csv", "--qi", "a").stdout

    def test_the_name_of_a_folder_is_no_column(self, tmp_path: Path) -> None:
        folder = tmp_path / "year=2020"
        folder.mkdir()
        self.stored(folder / "s.parquet", "1")
        self.stored(folder / "s.csv", "1")
        for name in ("s.parquet", "s.csv"):
            assert run(folder, source=name)[0].records == 1

    def test_a_path_that_duckdb_cannot_express_is_refused(self, tmp_path: Path) -> None:
        self.stored(tmp_path / "q\\[1].csv", "1")
        with pytest.raises(SourceError, match="backslash"):
            run(tmp_path, source="q\\[1].csv")

    @staticmethod
    def stored(path: Path, value: str) -> None:
        if path.suffix == ".parquet":
            parquet.write_table(pa.table({"a": [value], "b": ["b"]}), path)
            return
        text = f"a,b\n{value},b\n".encode()
        compression = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)
        with pa.output_stream(str(path), compression=compression) as file:
            file.write(text)


class TestPatternsOfFiles:
    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_name_one_source(self, tmp_path: Path, ending: str) -> None:
        folder = tmp_path / "[x]" / "visits"
        folder.mkdir(parents=True)
        for number in range(3):
            TestPaths.stored(folder / f"{number}.{ending}", str(number))
        for patterns, found in ((f"visits/*.{ending}", 3), ([f"visits/[01].{ending}", f"**/0.{ending}"], 2)):
            ledger, rows, _ = run(tmp_path / "[x]", source=None, files=patterns)
            assert ledger.records == found == len(rows)

    def test_with_other_columns_or_no_file_are_refused(self, tmp_path: Path) -> None:
        write(tmp_path, "1.csv", "a,b", "1,2")
        write(tmp_path, "2.csv", "b,a", "1,2")
        with pytest.raises(SourceError, match=r"other columns than '1.csv'"):
            run(tmp_path, source=None, files="*.csv")
        with pytest.raises(SourceError, match="no file that the key files names"):
            run(tmp_path, source=None, files="*.tsv")
        TestPaths.stored(tmp_path / "1.parquet", "1")
        with pytest.raises(SourceError, match="all are CSV, or all Parquet"):
            run(tmp_path, source=None, files="1.*")

    def test_stand_alone_and_survive_the_policy(self, tmp_path: Path) -> None:
        with pytest.raises(PolicyError, match="another source"):
            sqlanon.Policy.from_dict(document(files="*.csv"))
        policy = sqlanon.Policy.from_dict(document(source=None, files="*.csv"), base_directory=tmp_path)
        assert sqlanon.Policy.from_dict(policy.to_dict(), base_directory=tmp_path) == policy
        assert policy.files == ("*.csv",)

    def test_are_not_written_over(self, tmp_path: Path) -> None:
        write(tmp_path, "1.csv", "a,b", "1,2")
        with pytest.raises(SqlanonError, match="source"):
            run(tmp_path, source=None, files="*.csv", output={"file": "1.csv"}, if_exists="replace")


class TestTypes:
    """Columns are texts, but where a builder or a distance needs numbers or dates."""

    def hierarchy(self, kind: str, **options: Any) -> dict[str, Any]:
        return {"role": "quasi_identifier", "min_level": 1, "max_level": 1, "hierarchy": {kind: options["of"]}}

    def test_intervals_and_dates_work_and_kept_texts_stay(self, tmp_path: Path) -> None:
        kept = ["007", "1.50", "+1", "1e3", " 2"]
        rows = [f'{age},{day},"{text}"' for age, day, text in zip("12345", ["2020-01-31"] * 5, kept, strict=True)]
        write(tmp_path, "s.csv", "age,born,code", *rows)
        columns = {
            "age": self.hierarchy("intervals", of={"width": 10}),
            "born": self.hierarchy("dates", of=["month"]),
            "code": {"role": "keep"},
        }
        _, found, warnings = run(tmp_path, columns=columns)
        assert found == Counter(("[0, 10)", "2020-01", text) for text in kept)
        assert [text for text in warnings if "'age' BIGINT, 'born' DATE" in text]

    @pytest.mark.parametrize(
        ("texts", "title", "level"),
        [
            (["1", "2"], "BIGINT", "[0, 10)"),
            (["1.5", "2"], "DOUBLE", "[0, 10)"),
            (["1.50", "2.00"], "DECIMAL(18, 2)", "[0.00, 10.00)"),
            (["007", "8"], "BIGINT (1 texts are written otherwise)", "[0, 10)"),
        ],
    )
    def test_numbers_have_the_type_that_keeps_their_texts(
        self, tmp_path: Path, texts: list[str], title: str, level: str
    ) -> None:
        write(tmp_path, "s.csv", "x,b", *[f"{text},1" for text in texts])
        columns = {"x": self.hierarchy("intervals", of={"width": 10}), "b": {"role": "drop"}}
        _, found, warnings = run(tmp_path, columns=columns)
        assert set(found) == {(level,)}
        assert any(f"'x' {title}" in text for text in warnings)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("days", "options", "found"),
        [
            (["13.01.2020", "1.2.2020"], {}, {"2020-01", "2020-02"}),
            (["01/13/2020", "2/1/2020"], {}, {"2020-01", "2020-02"}),
            (["2020-01-13 10:00:00", "2020-02-01 00:00:00"], {}, {"2020-01", "2020-02"}),
            (["02/01/2020"], {"date_format": "%d/%m/%Y"}, {"2020-01"}),
            (["5 Jan 20"], {"date_format": "%d %b %y"}, {"2020-01"}),
            (["5 Jan 20 3pm"], {"timestamp_format": "%d %b %y %I%p"}, {"2020-01"}),
        ],
    )
    def test_dates_are_read_by_their_format(
        self, tmp_path: Path, days: list[str], options: dict[str, str], found: set[str]
    ) -> None:
        write(tmp_path, "s.csv", "day,b", *[f"{day},1" for day in days])
        columns = {"day": self.hierarchy("dates", of=["month"]), "b": {"role": "drop"}}
        assert {row[0] for row in run(tmp_path, columns=columns, csv=options)[1]} == found

    def test_dates_that_fit_several_formats_are_refused(self, tmp_path: Path) -> None:
        write(tmp_path, "s.csv", "day,b", "01/02/2020,1", "03/04/2020,1")
        columns = {"day": self.hierarchy("dates", of=["month"]), "b": {"role": "drop"}}
        with pytest.raises(SourceError, match=r"several formats \(%d/%m/%Y, %m/%d/%Y\)"):
            run(tmp_path, columns=columns)

    def test_a_text_that_does_not_fit_is_reported_by_column_count_and_line_without_its_value(
        self, tmp_path: Path
    ) -> None:
        write(tmp_path, "s.csv", "x,b", "1,1", "", '2,"y', 'z"', "canary,1", "3,1", "canary,1")
        columns = {"x": self.hierarchy("intervals", of={"width": 10}), "b": {"role": "drop"}}
        with pytest.raises(SourceError) as raised:
            run(tmp_path, columns=columns)
        assert "2 texts of column 'x' are no numbers; the first is in line 6 of 's.csv'" in raised.value.message
        assert "canary" not in str(raised.value)
        assert run(tmp_path, columns=columns, csv={"null": "canary"})[0].records == 5

    def test_types_that_the_policy_names_are_kept(self, tmp_path: Path) -> None:
        write(tmp_path, "s.csv", "a,b", "1,01", "1,2")
        _, rows, warnings = run(tmp_path, csv={"types": {"b": "integer"}})
        assert rows == Counter({("1", 1): 1, ("1", 2): 1})
        assert not any("Types found" in warning for warning in warnings)
        write(tmp_path, "s.csv", "a,b", "1,1.5")
        with pytest.raises(SourceError, match="1 texts of column 'b' are no INTEGER; the first is in line 2"):
            run(tmp_path, csv={"types": {"b": "INTEGER"}})
        with pytest.raises(SourceError, match="no column 'c'"):
            run(tmp_path, csv={"types": {"c": "INTEGER"}})
        for wrong in ({"b": "NUMBER"}, {"b": 1}, ["b"]):
            with pytest.raises(PolicyError, match="cannot use this types"):
                run(tmp_path, csv={"types": wrong})

    def test_an_ordered_distance_compares_numbers_as_numbers(self, tmp_path: Path) -> None:
        values = [2, 3, 10, 11]
        write(tmp_path, "s.csv", "a,b", *[f"{i // 2},{value}" for i, value in enumerate(values)])
        watched = {"role": "sensitive", "models": [{"type": "t_closeness", "t": 1, "distance": "ordered"}]}
        columns = {"a": PLAIN["a"], "b": watched}
        with sqlanon.plan(None, sqlanon.Policy.from_dict(document(columns=columns), base_directory=tmp_path)) as plan:
            assert plan.source.types["b"] == "BIGINT"
        write(tmp_path, "s.csv", "a,b", "1,007", "1,8")
        with pytest.raises(SourceError, match="1 of its texts would be published otherwise"):
            run(tmp_path, columns=columns)
        write(tmp_path, "s.csv", "a,b", "1,low", "1,high")
        assert run(tmp_path, columns=columns)[1] == Counter({("1", "low"): 1, ("1", "high"): 1})

    def test_a_subset_is_read_with_the_types_of_the_source(self, tmp_path: Path) -> None:
        write(tmp_path, "s.csv", "x,b", "01,1", "2,1")
        write(tmp_path, "subset.csv", "x", "1")
        columns = {"x": self.hierarchy("intervals", of={"width": 10}), "b": {"role": "drop"}}
        presence = {"type": "delta_presence", "min": 0, "max": 1, "subset": {"file": "subset.csv"}}
        assert run(tmp_path, columns=columns, privacy=[presence])[0].records == 1

    def test_a_joined_file_has_types_too(self, tmp_path: Path) -> None:
        write(tmp_path, "s.csv", "b", "1", "2")
        write(tmp_path, "j.csv", "b,x", "1,5", "2,6")
        columns = {"x": self.hierarchy("intervals", of={"width": 10}), "b": {"role": "drop"}}
        _, rows, warnings = run(tmp_path, columns=columns, join=[{"source": "j.csv", "key": "b"}])
        assert set(rows) == {("[0, 10)",)}
        assert any("'x' BIGINT" in text for text in warnings)


def test_blanks_at_the_ends_of_a_name_of_a_column_are_published(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    connection.execute('CREATE TABLE t AS SELECT i % 3 AS " a ", i % 2 AS "b " FROM range(60) AS r(i)')
    columns = {" a ": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "b ": {"role": "keep"}}
    policy = {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 5}]}
    with sqlanon.anonymize(connection, {**policy, "output": {"file": str(tmp_path / "released.csv")}}) as release:
        assert release.ledger.published == 60
    assert (tmp_path / "released.csv").read_text().splitlines()[0] in (" a ,b ", '" a ","b "')


def test_the_replayable_script_reads_what_the_run_read(tmp_path: Path) -> None:
    write(tmp_path, "s[1].csv", "above", "x,b", "1,007", "2,8")
    columns = {"x": TestTypes().hierarchy("intervals", of={"width": 10}), "b": {"role": "keep"}}
    policy = document(columns=columns, source="s[1].csv", csv={"skip": 1}, output={"file": "o.parquet"})
    with sqlanon.anonymize(None, sqlanon.Policy.from_dict(policy, base_directory=tmp_path)) as release:
        script = release.sql
    (tmp_path / "o.parquet").unlink()
    duckdb.connect().execute(script)
