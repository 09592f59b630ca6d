"""XML is read as what it says, written so that it is read back, and refused where a table has no place for it."""

import resource
import time
import traceback
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from effort import scaled
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlanon.errors import SourceError, TargetError
from sqlanon.interop.formats import FORMATS
from sqlanon.interop.formats import xml_document as reading
from sqlanon.interop.formats.safe_xml import HEAD, PIECE, refuse_doctype
from sqlanon.interop.formats.xml import Xml
from sqlanon.interop.formats.xml_writing import LONGEST

CANARY = "Zz7canaryqQ"
HOSTILE = [
    "order", 'a"b', "key_0", "n", "x" * 70, "x; DROP TABLE y", "a b", "1st", "a:b", "", " ", "xmlns", "XML", "record",
    "column", "field", "name", "release", "<a>", "&amp;", "a\nb", "a\r\n\tb", "größe", "日付", "Ÿ", "K", "}", "{x}y",
    "-a", "a.b", "nil", "xsi", "\u0085", "\u2028", "\U0001f600", "a" * 300,
]  # fmt: skip
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff"), max_size=12).filter(
    lambda text: all(c >= " " or c in "\t\n\r" for c in text)
)


def read(path: Path, **options: Any) -> pa.Table:
    return Xml().read(path, options).read_all()


def rows(path: Path, **options: Any) -> list[dict[str, str | None]]:
    return read(path, **options).to_pylist()


def write(path: Path, table: pa.Table) -> None:
    Xml().write(path, table.to_reader(), {})


def texts(**columns: list[str | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


@pytest.fixture
def given_file(tmp_path: Path):
    def make(document: str | bytes) -> Path:
        path = tmp_path / "given.xml"
        path.write_bytes(document.encode() if isinstance(document, str) else document)
        return path

    return make


def refusal(path: Path, **options: Any) -> str:
    """The message of the SourceError, from which nothing leads to a value."""
    with pytest.raises(SourceError) as caught:
        read(path, **options)
    printed = "".join(traceback.format_exception(caught.value)) + repr(caught.value.__context__)
    assert CANARY not in printed + repr(vars(caught.value))
    assert "Hint: " in str(caught.value)
    return str(caught.value)


def test_what_xml_says() -> None:
    [xml] = [each for each in FORMATS if isinstance(each, Xml)]
    assert (xml.name, xml.endings, xml.writes) == ("xml", (".xml",), True)
    record, null = xml.options
    assert record.check("patient") is None and null.check("") is None
    assert all(record.check(value) for value in ("", "*", "{*}a", "a:b", "a b", 3, None))


class TestReading:
    def test_elements_and_attributes_are_columns_in_order_of_appearance(self, given_file) -> None:
        path = given_file('<p><r id="1"><b>x</b></r><r id="2"><a>y</a><b>z</b></r></p>')
        assert read(path).column_names == ["id", "b", "a"]
        assert rows(path) == [{"id": "1", "b": "x", "a": None}, {"id": "2", "b": "z", "a": "y"}]

    def test_missing_nil_empty_and_blank_are_told_apart(self, given_file) -> None:
        head = '<p xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        path = given_file(
            f'{head}<r><a/></r><r/><r><a xsi:nil="true"/></r><r><a xsi:nil=" 1 "/></r><r><a></a></r><r><a> </a></r>'
            '<r><a xsi:nil="false">v</a></r></p>'
        )
        assert [row["a"] for row in rows(path)] == ["", None, None, None, "", " ", "v"]

    def test_a_text_can_mean_null(self, given_file) -> None:
        path = given_file('<p><r b="NA"><a>NA</a></r><r b=""><a/></r></p>')
        assert rows(path, null="NA") == [{"b": None, "a": None}, {"b": "", "a": ""}]
        assert rows(path, null="") == [{"b": "NA", "a": "NA"}, {"b": None, "a": None}]

    def test_namespaces_are_left_out(self, given_file) -> None:
        path = given_file('<p xmlns="u" xmlns:v="v"><v:r v:id="1" xml:lang="de"><a>x</a></v:r><r><v:a>y</v:a></r></p>')
        assert rows(path) == [{"id": "1", "a": "x"}, {"id": None, "a": "y"}]
        assert rows(path, record="r") == rows(path)

    def test_references_cdata_and_comments_are_part_of_a_text(self, given_file) -> None:
        path = given_file("<p><!-- c --><r><?pi?><a>x&lt;&#13;<!-- c -->y<![CDATA[<z> &]]><?pi?>w</a></r></p>")
        assert rows(path) == [{"a": "x<\ryw".replace("w", "<z> &w")}]

    def test_records_anywhere_by_name(self, given_file) -> None:
        path = given_file("<d><meta><v>1</v></meta><l><r><a>1</a></r></l><x/><l><m><r><a>2</a></r></m></l></d>")
        assert rows(path, record="r") == [{"a": "1"}, {"a": "2"}]

    def test_the_root_can_be_the_only_record(self, given_file) -> None:
        assert rows(given_file("<r><a>1</a></r>"), record="r") == [{"a": "1"}]

    def test_a_column_can_be_called_as_the_records_are(self, given_file) -> None:
        assert rows(given_file("<r><r><r>1</r></r><r><r>2</r></r></r>")) == [{"r": "1"}, {"r": "2"}]

    def test_a_dump_of_mysql(self, given_file) -> None:
        path = given_file(
            '<mysqldump xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><database name="d">'
            '<table_structure name="t"><field Field="id" Type="int"/></table_structure>'
            '<table_data name="t"><row><field name="id">1</field><field name="zip" xsi:nil="true" /></row></table_data>'
            "</database></mysqldump>"
        )
        assert rows(path, record="row") == [{"id": "1", "zip": None}]

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-15", "windows-1252"])
    def test_encodings(self, given_file, encoding: str) -> None:
        declared = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>'
        path = given_file(f"{declared}<p><r><größe>ü€</größe></r></p>".encode(encoding))
        assert rows(path) == [{"größe": "ü€"}]

    def test_batches_end_early_when_records_are_wide_or_long(self, given_file, monkeypatch) -> None:
        path = given_file("<p>" + "".join(f"<r><a>{n}</a><b/></r>" for n in range(10)) + "</p>")
        monkeypatch.setattr(reading, "CELLS", 6)
        assert [batch.num_rows for batch in Xml().read(path, {})] == [3, 3, 3, 1]
        monkeypatch.setattr(reading, "CHARACTERS", 2)
        assert [batch.num_rows for batch in Xml().read(path, {})] == [2] * 5

    def test_records_that_straddle_the_pieces(self, given_file) -> None:
        value = "ü" * (PIECE // 3)
        path = given_file("<p>" + f"<r><a>{value}</a></r>" * 7 + "</p>")
        assert [row["a"] for row in rows(path)] == [value] * 7


class TestFaults:
    @pytest.mark.parametrize(
        ("document", "told"),
        [
            (f"<p>\n<r><a>{CANARY}</b></r></p>", "at line 2 (tag name mismatch)"),
            (f"<p>\n\n<r><a>{CANARY}", "at line 3 (tag not finished)"),
            (f"<p><r>\n<a>&{CANARY};</a></r></p>", "at line 2 (undeclared entity)"),
            (f"<p><r><a>\n\n{CANARY}\x01</a></r></p>", "at line 3 (invalid char)"),
            (f'<p><r a="{CANARY}"\na="x"/></p>', "at line 2 (attribute redefined)"),
            (f"<p><r><a>x</a></r></p>\n{CANARY}", "at line 2 (document end)"),
            (CANARY, "not well-formed XML at line 1"),
            ("", "not well-formed XML"),
            (f"<p>\n<r><a>{CANARY}</a>\n<a>x</a></r></p>", "Record 1 (line 3) … has the column 'a' twice"),
            (f"<p>\n<r>\n<a><b>{CANARY}</b></a></r></p>", "Record 1 (line 3) … has an element"),
            (f"<p>\n<r>{CANARY}</r></p>", "Record 1 (line 2) … has text beside its columns"),
            (f"<p>\n<r><a/>{CANARY}<b/></r></p>", "has text beside its columns"),
            (f'<p>\n<r><a unit="{CANARY}">1</a></r></p>', "has an element 'a' with an attribute 'unit'"),
            (f"<p><r><a>{CANARY}</a></r>\n<r><A/></r></p>", "Record 2 (line 2) … has a column"),
            (f'<p><r a="{CANARY}"/>\n<r><a/></r></p>', "Record 2 (line 2) … has the attribute"),
            (f'<p xmlns:v="v"><r a="{CANARY}" v:a="x"/></p>', "has the column 'a' twice"),
            (f'<p><r><a>{CANARY}</a><column name="a"/></r></p>', "has the column 'a' twice"),
            (f"<p><m>{CANARY}</m>\n<r/></p>", "children of different names: 'm', and 'r' (line 2)"),
            (
                f'<p xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><r><a xsi:nil="true">{CANARY}</a></r></p>',
                "has a text in 'a', which is nil",
            ),
            ("<p/>", "has no records: no children in its root element"),
            ("<p><r/><r/></p>", "has records without any column"),
        ],
    )  # fmt: skip
    def test_a_fault_says_where_and_never_a_value(self, given_file, document: str, told: str) -> None:
        assert told in refusal(given_file(document)).replace("of the XML file 'given.xml'", "…")

    def test_no_record_of_the_name(self, given_file) -> None:
        assert "no elements 'r'" in refusal(given_file("<p><q/></p>"), record="r")

    def test_a_record_in_a_record(self, given_file) -> None:
        assert "a record in a record" in refusal(given_file("<p><r><a/><r/></r></p>"), record="r")
        assert "with elements of its own" in refusal(given_file("<p><r><r><a/></r></r></p>"), record="r")

    @pytest.mark.slow
    def test_lines_far_down_are_near(self, given_file) -> None:
        path = given_file("<p>\n" + "<r>\n<a>x</a>\n</r>\n" * 30_000 + f"<r><b>{CANARY}</b>\n<b>x</b></r></p>")
        message = refusal(path)
        assert "Record 30001 (near line 9000" in message

    def test_too_many_columns(self, given_file, monkeypatch) -> None:
        monkeypatch.setattr(reading, "MOST_COLUMNS", 3)
        assert "Record 4 " in refusal(given_file("<p>" + "".join(f"<r><c{n}/></r>" for n in range(5)) + "</p>"))

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        assert "cannot be read (No such file" in refusal(tmp_path / "none.xml")

    def test_a_file_that_changes_meanwhile(self, given_file) -> None:
        reader = Xml().read(given_file("<p><r><a>1</a></r></p>"), {})
        given_file(f"<p><r><a>1</a><b>{CANARY}</b></r></p>")
        with pytest.raises(SourceError, match="changed while it was read"):
            reader.read_all()


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
BOMB = f'<!DOCTYPE p [<!ENTITY l0 "ha">{LAUGHS}]><p><r><a>&l11;</a></r></p>'


class TestSafety:
    @pytest.mark.parametrize(
        "document",
        [
            BOMB,
            '<!DOCTYPE p [<!ENTITY e SYSTEM "file:///etc/hostname">]><p><r><a>&e;</a></r></p>',
            '<!DOCTYPE p [<!ENTITY % e SYSTEM "http://127.0.0.1:9/x.dtd"> %e;]><p><r><a>1</a></r></p>',
            '<!DOCTYPE p SYSTEM "http://127.0.0.1:9/x.dtd"><p><r><a>1</a></r></p>',
            '<?xml version="1.0"?>\n<!-- c --><?pi?>\n<!DOCTYPE p><p><r><a>1</a></r></p>',
            "<!DOCTYPE html><p><r><a>1</a></r></p>",
        ],
    )
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
    def test_a_doctype_is_refused_in_any_encoding(self, given_file, document: str, encoding: str) -> None:
        if "?xml" in document:
            document = document.replace("?>", f' encoding="{encoding.removesuffix("-sig").split("-be")[0]}"?>', 1)
        start = time.perf_counter()
        message = refusal(given_file(document.encode(encoding)))
        assert "has a DOCTYPE" in message or "is not well-formed" in message
        assert "has a DOCTYPE" in message or encoding in ("utf-32", "utf-16-be")  # without a mark of the byte order
        assert time.perf_counter() - start < 1

    @pytest.mark.parametrize("filler", ["<!--" + "x" * 1000 + "-->\n", " " * 1000 + "\n"])
    def test_a_doctype_behind_much_else_is_refused(self, given_file, filler: str) -> None:
        message = refusal(given_file(filler * 10_000 + BOMB))
        assert f"no root element within its first {HEAD} bytes" in message
        assert "has a DOCTYPE" in refusal(given_file(filler * 500 + BOMB))

    def test_a_doctype_in_a_huge_comment_is_none(self, given_file) -> None:
        assert rows(given_file("<!-- <!DOCTYPE p> --><p><r><a><![CDATA[<!DOCTYPE p>]]></a></r></p>")) == [
            {"a": "<!DOCTYPE p>"}
        ]
        assert "no root element" in refusal(given_file("<!--" + "x" * 2 * HEAD + "--><p><r><a>1</a></r></p>"))

    def test_a_doctype_after_the_root_began_is_not_well_formed(self, given_file) -> None:
        assert "not well-formed" in refusal(given_file("<p><!DOCTYPE p><r><a>1</a></r></p>"))

    def test_encodings_that_hide_ascii(self, given_file) -> None:
        declared = f'<?xml version="1.0" encoding="UTF-7"?>{BOMB}'
        assert "has a DOCTYPE" in refusal(given_file(declared))
        hidden = '<?xml version="1.0" encoding="UTF-7"?>' + BOMB.replace("<", "+ADw-")
        refusal(given_file(hidden))
        refusal(given_file(f'<?xml version="1.0" encoding="cp037"?>{BOMB}'.encode("cp037")))

    def test_nothing_is_included(self, given_file, tmp_path: Path) -> None:
        (tmp_path / "other.txt").write_text(CANARY)
        document = (
            '<p xmlns:i="http://www.w3.org/2001/XInclude"><r><a><i:include href="other.txt" parse="text"/></a></r></p>'
        )
        assert "with elements of its own" in refusal(given_file(document))

    def test_limits_on_texts_and_depth_are_kept(self, given_file) -> None:
        assert "is not well-formed" in refusal(given_file("<p><r><a>" + "x" * 11_000_000 + "</a></r></p>"))
        assert "is not well-formed" in refusal(given_file("<p>" * 3000), record="r")

    @pytest.mark.slow
    def test_a_wrapped_table_is_refused_before_it_fills_the_memory(self, given_file) -> None:
        path = given_file("<d><p>" + "<r><a>1</a></r>" * 200_000 + "</p></d>")
        tracemalloc.start()
        assert "name the record elements" in refusal(path)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
        tracemalloc.stop()

    @pytest.mark.slow
    def test_only_the_head_is_looked_at(self, given_file) -> None:
        path = given_file("<p>" + "<r><a>1</a></r>" * 100_000 + "</q>")
        refuse_doctype(path)
        assert "tag name mismatch" in refusal(path)


class TestWriting:
    def test_a_release_as_text(self, tmp_path: Path) -> None:
        path = tmp_path / "release.xml"
        write(path, texts(**{"sex": ["f", None], "age at visit": ["4<7", ""], "1st": [" a\r\n\t", None]}))
        assert path.read_bytes().decode() == (
            "<?xml version='1.0' encoding='utf-8'?>\n"
            '<release xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">\n'
            '<record><sex>f</sex><column name="age at visit">4&lt;7</column><column name="1st"> a&#13;\n\t</column>'
            "</record>\n"
            '<record><sex xsi:nil="true"></sex><column name="age at visit"></column>'
            '<column name="1st" xsi:nil="true"></column></record>\n'
            "</release>"
        )

    @settings(max_examples=scaled(150))
    @given(
        st.lists(TEXTS | st.sampled_from(HOSTILE), min_size=1, max_size=5, unique_by=str.lower).flatmap(
            lambda names: st.lists(
                st.tuples(*[st.none() | TEXTS for _ in names]), min_size=1, max_size=5
            ).map(lambda values: (names, values))
        )
    )  # fmt: skip
    @pytest.mark.slow
    def test_what_is_written_is_read_back(
        self, tmp_path_factory: pytest.TempPathFactory, case: tuple[list[str], list[tuple[str | None, ...]]]
    ) -> None:
        path = tmp_path_factory.mktemp("xml") / "release.xml"
        names, values = case
        table = pa.table([pa.array(column, pa.string()) for column in zip(*values)], names=names)
        write(path, table)
        assert read(path).equals(table)
        assert read(path, record="record").equals(table)

    def test_hostile_names_all_at_once(self, tmp_path: Path) -> None:
        table = pa.table([pa.array([None, "", name], pa.string()) for name in HOSTILE], names=HOSTILE)
        write(tmp_path / "release.xml", table)
        assert read(tmp_path / "release.xml").equals(table)

    @pytest.mark.parametrize("kind", [pa.large_string(), pa.string(), pa.dictionary(pa.int32(), pa.string())])
    def test_any_kind_of_text(self, tmp_path: Path, kind: pa.DataType) -> None:
        values = ["x", None, ""]
        table = pa.table({"a": pa.array(values, pa.string()).cast(kind), "b": pa.nulls(3)})
        write(tmp_path / "release.xml", table)
        assert read(tmp_path / "release.xml").to_pydict() == {"a": values, "b": [None] * 3}

    def test_equal_rows_make_equal_files(self, tmp_path: Path) -> None:
        table = texts(a=["x", None], b=["1", "2"])
        write(tmp_path / "one.xml", table)
        write(tmp_path / "two.xml", pa.concat_tables([table.slice(0, 1), table.slice(1)]))
        assert (tmp_path / "one.xml").read_bytes() == (tmp_path / "two.xml").read_bytes()

    @pytest.mark.parametrize("character", ["\x00", "\x0b", "\x1f", "\ufffe", "\uffff"])
    def test_characters_that_xml_has_not_are_refused(self, tmp_path: Path, character: str) -> None:
        for table in (texts(ok=["x"], bad=[CANARY + character]), texts(**{"ok": ["x"], "bad" + character: [CANARY]})):
            with pytest.raises(TargetError, match="The column 'bad") as caught:
                write(tmp_path / "release.xml", table)
            printed = "".join(traceback.format_exception(caught.value)) + repr(caught.value.__context__)
            assert CANARY not in printed and "'ok'" not in printed

    @pytest.mark.slow
    def test_what_could_not_be_read_back_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "release.xml"
        for table, reported in [
            (texts(a=["x"], A=["y"]), "differ by case only"),
            (pa.table([["x"], ["y"]], names=["a", "a"]), "or not at all"),
            (texts(a=[]), "without records"),
            (pa.table({}), "without columns"),
            (texts(a=["ü" * (LONGEST // 2 + 1)]), f"more than {LONGEST} bytes"),
        ]:
            with pytest.raises(TargetError, match=reported):
                write(path, table)
        write(path, texts(a=["&" * LONGEST]))
        assert rows(path) == [{"a": "&" * LONGEST}]

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
    def test_a_full_disk_is_the_targets_fault(self, tmp_path: Path) -> None:
        (tmp_path / "full.xml").symlink_to("/dev/full")
        with pytest.raises(TargetError, match="could not be written"):
            write(tmp_path / "full.xml", texts(a=[CANARY] * 100_000))
        with pytest.raises(TargetError, match="No such file"):
            write(tmp_path / "none" / "release.xml", texts(a=["x"]))

    def test_a_fault_of_the_rows_stays_what_it_is(self, tmp_path: Path) -> None:
        def broken() -> Iterator[pa.RecordBatch]:
            yield from texts(a=["x"]).to_batches()
            raise SourceError("The rows broke.")

        reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.string())]), broken())
        with pytest.raises(SourceError, match="The rows broke"):
            Xml().write(tmp_path / "release.xml", reader, {})


STATM = Path("/proc/self/statm")


@pytest.mark.slow
@pytest.mark.skipif(not STATM.exists(), reason="no /proc tells what libxml2 holds; tracemalloc does not see it")
def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.xml"
    held: list[int] = []
    cut = reading.Document._cut

    def measured(self: reading.Document, *args: Any) -> Any:
        held.append(int(STATM.read_text().split()[1]) * resource.getpagesize())
        return cut(self, *args)

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, 200_000, 10_000):
            numbers = [str(n) for n in range(start, start + 10_000)]
            yield pa.record_batch({"a": numbers, "b": ["text"] * 10_000, "c": ["x" * 20] * 10_000})

    monkeypatch.setattr(reading.Document, "_cut", measured)
    monkeypatch.setattr(reading, "ROWS", 5_000)
    schema = pa.schema([(name, pa.string()) for name in "abc"])
    Xml().write(path, pa.RecordBatchReader.from_batches(schema, batches()), {})
    assert sum(batch.num_rows for batch in Xml().read(path, {})) == 200_000
    assert len(held) > 80  # pieces, in two looks
    assert max(held[4:]) - held[4] < 20_000_000  # the tree of the whole file would take 100 MB
