"""Files that the engine does not read itself, from policy to audited release: XML, and formats that misbehave."""

import json
import logging
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner
from effort import scaled
from hostile_names import NAMES
from hypothesis import given, settings
from hypothesis import strategies as st
from policies import document_of, file_of
from tables import text_table

import sqlanon
from sqlanon.cli import main
from sqlanon.core.policy.extensions import BUILT_IN
from sqlanon.core.source.joining import open_policy_source
from sqlanon.errors import AuditError, SourceChangedError, SourceError, TargetError
from sqlanon.interop.formats.xml import Xml

pytestmark = pytest.mark.slow

Text = str | None
CANARY = "Zz7canaryqQ"
RESERVED = ("record", "column", "release", "xmlns", "xsi:nil", "1st", "<a>", "&amp;", "a\nb", "größe")


def policy(directory: Path, columns: dict | None = None, **keys: Any) -> sqlanon.Policy:
    extensions = keys.pop("extensions", sqlanon.Extensions())
    document = document_of(
        columns or {**suppressed("a"), "b": {"role": "keep"}}, keys, k=2, table="t", output={"file": "release.xml"}
    )
    return sqlanon.Policy.from_dict(document, base_directory=directory, extensions=extensions)


def suppressed(*names: str) -> dict:
    return {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in names}


def read(path: Path) -> Counter[tuple[Text, ...]]:
    return Counter(zip(*Xml().read(path, {}).read_all().to_pydict().values()))


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error.__context__) + repr(vars(error))


@pytest.fixture
def people(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Classes of 4, 3, 2 and 1 records by a, the third of NULLs; b holds what formats like to confuse."""
    a = ["x"] * 4 + [""] * 3 + [None] * 2 + ["lonely"]
    b = [None, "", "NULL", "<&>", "\ttext\r\n", "[suppressed]", " ", "ü", "*", "last"]
    text_table(connection, ["a", "b"], list(zip(a, b)))
    return connection


class TestSource:
    DOCUMENT = """<hospital><about><v>1</v></about>
        <patient id="1"><sex>f</sex><zip>NA</zip></patient><patient id="2"><zip>NA</zip></patient>
        <patient id="3"><sex/><zip>8010</zip></patient>
        <patient id="4"><sex>f</sex><zip>8010</zip></patient></hospital>"""
    RECORDS = (("1", "f", None), ("2", None, None), ("3", "", "8010"), ("4", "f", "8010"))

    def made(self, directory: Path, **keys: Any) -> sqlanon.Policy:
        (directory / "patients.xml").write_text(self.DOCUMENT)
        columns = {"id": {"role": "drop"}, **suppressed("sex", "zip")}
        given = {"source": "patients.xml", "xml": {"record": "patient", "null": "NA"}, **keys}
        return policy(directory, columns, **{"suppression_limit": 1, **given})

    def test_the_options_say_what_is_a_record_and_what_is_null(self, tmp_path: Path) -> None:
        chosen_policy = self.made(tmp_path)
        with open_policy_source(None, chosen_policy) as opened:
            assert opened.types == dict.fromkeys(("id", "sex", "zip"), "VARCHAR")
            rows = opened.engine.run("read", f"SELECT * FROM {opened.engine.render(opened.relation)}")
        assert sorted(rows) == sorted(self.RECORDS)
        assert sqlanon.Policy.from_dict(chosen_policy.to_dict(), base_directory=tmp_path) == chosen_policy
        assert chosen_policy.fingerprint() != self.made(tmp_path, xml={"record": "patient"}).fingerprint()

    def test_without_the_options_it_is_another_table(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match="children of different names"):
            sqlanon.plan(None, self.made(tmp_path, xml=None))
        with open_policy_source(None, self.made(tmp_path, xml={"record": "patient"})) as opened:
            query = f"SELECT zip FROM {opened.engine.render(opened.relation)} WHERE id = '1'"
            assert opened.engine.run("read", query) == [("NA",)]

    def test_nulls_are_matched_as_the_policy_says(self, tmp_path: Path) -> None:
        with sqlanon.anonymize(None, self.made(tmp_path, nulls="basic")) as release:
            assert (release.ledger.excluded, release.ledger.published) == (2, 2)
        extended = self.made(tmp_path, output=None, suppression_limit=0)
        with sqlanon.anonymize(None, extended) as release:
            assert (release.ledger.excluded, release.ledger.published) == (0, 4)

    @pytest.mark.parametrize("option", [{"record": "a:b"}, {"null": None}, {"rekord": "a"}, "patient", {"record": 1}])
    def test_faults_of_the_options(self, tmp_path: Path, option: Any) -> None:
        with pytest.raises(sqlanon.PolicyError) as caught:
            self.made(tmp_path, xml=option)
        assert {fault.key.split(".")[0] for fault in caught.value.faults} == {"xml"}

    @pytest.mark.parametrize(
        "text",
        [
            f"<d><r><a>{CANARY}</r></d>",
            f"<d><r><a>1</a><a>{CANARY}</a></r></d>",
            f"<d><r a='{CANARY}'><A>{CANARY}</A></r></d>",
            f"<!DOCTYPE d [<!ENTITY e '{CANARY}'>]><d><r><a>&e;</a></r></d>",
            "<d/>",
            "",
        ],
    )
    def test_a_file_that_cannot_be_read_leaves_nothing_and_tells_no_value(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "s.xml").write_text(text)
        chosen_policy = policy(tmp_path, source="s.xml", table=None)
        with pytest.raises(SourceError) as caught:
            sqlanon.plan(None, chosen_policy)
        assert CANARY not in told(caught.value) and files(tmp_path) == ["s.xml"]

    @pytest.mark.parametrize("change", ["written", "removed"])
    def test_a_source_that_changes_after_the_plan_stops_publication(self, tmp_path: Path, change: str) -> None:
        with sqlanon.plan(None, self.made(tmp_path)) as plan:
            source = tmp_path / "patients.xml"
            source.unlink() if change == "removed" else source.write_text(self.DOCUMENT + "\n")
            with pytest.raises(SourceChangedError):
                plan.publish()
        assert files(tmp_path) == ([] if change == "removed" else ["patients.xml"])

    @pytest.mark.parametrize("target", ["patients.xml", "./patients.xml"])
    def test_the_source_is_never_the_target(self, tmp_path: Path, target: str) -> None:
        with pytest.raises(TargetError, match="in use as a source"):
            sqlanon.anonymize(None, self.made(tmp_path, output={"file": target}, if_exists="replace"))
        with pytest.raises(TargetError, match="cannot hold a table"):
            sqlanon.anonymize(None, self.made(tmp_path, output={"table": "t"}))
        assert (tmp_path / "patients.xml").read_text() == self.DOCUMENT

    def test_an_xml_subset_is_found_again(self, tmp_path: Path) -> None:
        (tmp_path / "part.xml").write_text("<p><patient><id>1</id></patient><patient><id>2</id></patient></p>")
        presence = {"type": "delta_presence", "min": 0, "max": 1, "subset": {"file": "part.xml"}}
        chosen_policy = self.made(tmp_path, privacy=[presence], output=None)
        with sqlanon.anonymize(None, chosen_policy) as release:
            assert release.ledger.records == 2


class TestTarget:
    def test_what_is_published_is_what_is_read_back(self, people, tmp_path: Path) -> None:
        with sqlanon.anonymize(people, policy(tmp_path, suppression_count=1)) as release:
            assert release.levels == {"a": 0} and release.ledger.published == 9
            assert release.output == {"file": str(tmp_path / "release.xml")}
            wanted = Counter(people.execute("SELECT a, b FROM t WHERE a IS DISTINCT FROM 'lonely'").fetchall())
            assert read(tmp_path / "release.xml") == wanted
            assert Counter(zip(*release.to_arrow().to_pydict().values())) == wanted
        names = ["release.xml", "release.xml.certificate.json", "release.xml.manifest.json"]
        assert files(tmp_path) == names
        manifest = json.loads((tmp_path / names[2]).read_text())
        assert manifest["output"] == {"file": "release.xml"} or "release.xml" in manifest["output"]["file"]
        found = sqlanon.verify(tmp_path / names[1], policy(tmp_path, suppression_count=1), people)
        assert found.holds and found.optimal

    def test_a_generalized_release(self, people, tmp_path: Path) -> None:
        with sqlanon.anonymize(people, policy(tmp_path)) as release:
            assert release.levels == {"a": 1}
        assert {row[0] for row in read(tmp_path / "release.xml")} == {"*"}

    def test_redacted_records_hold_one_unused_marker(self, people, tmp_path: Path) -> None:
        chosen_policy = policy(tmp_path, suppression_count=1, suppressed="redact")
        with sqlanon.anonymize(people, chosen_policy) as release:
            assert release.marker == "[suppressed] 2"
        rows = read(tmp_path / "release.xml")
        assert rows.total() == 10 and rows["[suppressed] 2", "[suppressed] 2"] == 1

    def test_types_become_texts(self, connection, tmp_path: Path) -> None:
        connection.execute(
            "CREATE TABLE t AS SELECT (i % 2)::INTEGER AS a, {'x': i, 'y': [i]} AS b, DATE '2020-02-29' AS d, "
            "CASE WHEN i > 1 THEN 1.5::DOUBLE END AS e, 1e300::DOUBLE AS f, 'x'::ENUM('x', 'secret') AS g "
            "FROM range(4) r(i)"
        )
        columns = {**suppressed("a"), **{name: {"role": "keep"} for name in "bdefg"}}
        with sqlanon.anonymize(connection, policy(tmp_path, columns)) as release:
            assert set(map(str, release.to_arrow().schema.types)) == {"string"}
        wanted = connection.execute("SELECT COLUMNS(*)::VARCHAR FROM t").fetchall()
        assert read(tmp_path / "release.xml") == Counter(wanted)
        assert "secret" not in (tmp_path / "release.xml").read_text()

    def test_a_release_that_exists_is_refused_or_replaced_with_what_stands_beside_it(self, people, tmp_path) -> None:
        with sqlanon.anonymize(people, policy(tmp_path, suppression_count=1)):
            pass
        before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
        with pytest.raises(TargetError, match="exists already"):
            sqlanon.anonymize(people, policy(tmp_path))
        assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == before
        with sqlanon.anonymize(people, policy(tmp_path, if_exists="replace", repeats="accept")) as release:
            assert release.ledger.published == 10
        after = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
        assert after.keys() == before.keys() and not set(after.values()) & set(before.values())

    def test_hostile_column_names(self, connection, tmp_path: Path) -> None:
        names = [*NAMES, *RESERVED]
        text_table(connection, names, [tuple(f"{c}{i % 2}" for c in range(len(names))) for i in range(8)])
        columns = {**suppressed(*names[:3]), **{name: {"role": "keep"} for name in names[3:]}}
        with sqlanon.anonymize(connection, policy(tmp_path, columns)) as release:
            assert release.to_arrow().column_names == names
            assert release.levels == dict.fromkeys(names[:3], 0)
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        assert read(tmp_path / "release.xml") == Counter(connection.execute(f"SELECT {quoted} FROM t").fetchall())

    @pytest.mark.parametrize("place", ["text", "name"])
    def test_what_xml_cannot_hold_leaves_nothing(self, connection, tmp_path: Path, place: str) -> None:
        name = "b\x01" if place == "name" else "b"
        value = CANARY + ("\x0b" if place == "text" else "")
        text_table(connection, ["a", name], [("x", "y"), ("x", value)])
        chosen_policy = policy(tmp_path, {**suppressed("a"), name: {"role": "keep"}})
        with pytest.raises(TargetError, match="control character") as caught:
            sqlanon.anonymize(connection, chosen_policy)
        assert CANARY not in told(caught.value) and files(tmp_path) == []

    def test_everything_suppressed_and_redacted_is_no_release(self, people, tmp_path: Path) -> None:
        chosen_policy = policy(
            tmp_path, privacy=[{"type": "k_anonymity", "k": 11}], suppression_limit=1, suppressed="redact"
        )
        with pytest.raises(sqlanon.NoSolutionError):
            sqlanon.anonymize(people, chosen_policy)
        assert files(tmp_path) == []

    def test_rows_that_cannot_be_read_leave_nothing(self, connection, tmp_path: Path) -> None:
        connection.execute("CREATE TABLE raw AS SELECT 'x' AS a, '1' AS b FROM range(100)")
        connection.execute("CREATE VIEW t AS SELECT a, CAST(b AS INTEGER) AS b FROM raw")
        with sqlanon.plan(connection, policy(tmp_path)) as plan:
            connection.execute("UPDATE raw SET b = ? WHERE rowid = 77", [CANARY])
            with pytest.raises(sqlanon.EngineError) as caught:
                plan.publish()
            assert CANARY not in told(caught.value) and files(tmp_path) == []
            connection.execute("UPDATE raw SET b = '2' WHERE rowid = 77")
            assert plan.publish().ledger.published == 100  # the connection is as good as before

    def test_no_log_journal_or_file_beside_it_holds_a_value(
        self, connection, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        text_table(connection, ["a", "b"], [("x", "y"), ("x", "z"), (CANARY, CANARY)])
        with sqlanon.anonymize(connection, policy(tmp_path, suppression_count=1)) as release:
            journal = repr(release.plan._session.source.engine.journal.entries)
        assert not any(CANARY in text for text in (caplog.text, journal))
        assert not any(CANARY.encode() in path.read_bytes() for path in tmp_path.iterdir())


class Odd(Xml):
    """XML under another name and ending, with something wrong."""

    name = "odd"
    endings = (".odd",)
    options = ()

    def change(self, rows: list[dict[str, Text]]) -> list[dict[str, Text]]:
        return rows

    def write(self, path: Path, rows: pa.RecordBatchReader, options: Mapping[str, Any]) -> None:
        table = rows.read_all()
        changed = pa.Table.from_pylist(self.change(table.to_pylist()), table.schema)
        super().write(path, changed.to_reader(), options)


class Unique(Odd):
    """One record gets a value of its own, of which no class is large enough."""

    def change(self, rows: list[dict[str, Text]]) -> list[dict[str, Text]]:
        return [{**rows[0], "a": CANARY}, *rows[1:]]


class Moved(Odd):
    """A record of the largest class moves to the smallest: the texts are known, but a NULL is left alone."""

    def change(self, rows: list[dict[str, Text]]) -> list[dict[str, Text]]:
        place = next(i for i, row in enumerate(rows) if row["a"] is None)
        return [{**row, "a": "x"} if i == place else row for i, row in enumerate(rows)]


class Loses(Odd):
    """A record is left out."""

    def change(self, rows: list[dict[str, Text]]) -> list[dict[str, Text]]:
        return rows[1:]


class Doubles(Odd):
    """A record is there twice."""

    def change(self, rows: list[dict[str, Text]]) -> list[dict[str, Text]]:
        return [*rows, rows[-1]]


class Unreadable(Odd):
    """What is written is no XML."""

    def write(self, path: Path, rows: pa.RecordBatchReader, options: Mapping[str, Any]) -> None:
        path.write_text("<r>" + str(rows.read_all().to_pylist()))


class Forgets(Odd):
    """Nothing is written."""

    def write(self, path: Path, rows: pa.RecordBatchReader, options: Mapping[str, Any]) -> None:
        rows.read_all()


class Drops(Odd):
    """A column is left out."""

    def write(self, path: Path, rows: pa.RecordBatchReader, options: Mapping[str, Any]) -> None:
        Xml.write(self, path, rows.read_all().select(["b"]).to_reader(), options)


class Breaks(Odd):
    """Writing fails in the middle, with a value in the message."""

    error: type[BaseException] = RuntimeError

    def write(self, path: Path, rows: pa.RecordBatchReader, options: Mapping[str, Any]) -> None:
        path.write_text(CANARY)
        rows.read_next_batch()
        raise self.error(f"cannot write {CANARY}")


class Full(Breaks):
    """The disk is full."""

    error = OSError


class Interrupted(Breaks):
    """Ctrl-C."""

    error = KeyboardInterrupt


class Stubborn(Odd):
    """What is read back fails in the middle, with a value in the message."""

    def read(self, path: Path, options: Mapping[str, Any]) -> pa.RecordBatchReader:
        rows = super().read(path, options)

        def broken() -> Iterator[pa.RecordBatch]:
            yield from rows
            raise ValueError(f"cannot read {CANARY}")

        return pa.RecordBatchReader.from_batches(rows.schema, broken())


FAULTS: dict[type[Odd], type[BaseException] | tuple[type[BaseException], ...]] = {
    Unique: AuditError,
    Moved: AuditError,
    Loses: (AuditError, SourceChangedError),
    Doubles: (AuditError, SourceChangedError),
    Unreadable: AuditError,
    Forgets: sqlanon.SqlanonError,
    Drops: sqlanon.SqlanonError,
    Breaks: TargetError,
    Full: TargetError,
    Interrupted: KeyboardInterrupt,
    Stubborn: AuditError,
}


class TestFaultyFormats:
    """Faults of a package's format are also looked for before the audit; the audit needs no such help.

    What is built in raises errors of sqlanon itself, so that nothing withholds its others.
    """

    def made(self, directory: Path, kind: type[Odd] | None, **keys: Any) -> sqlanon.Policy:
        extensions = sqlanon.Extensions(formats={"odd": kind()} if kind is not None else {})
        keys = {"output": {"file": "release.odd"}, "suppression_count": 1, **keys}
        return policy(directory, extensions=extensions, **keys)

    def test_a_format_that_does_nothing_wrong(self, people, tmp_path: Path) -> None:
        with sqlanon.anonymize(people, self.made(tmp_path, Odd)) as release:
            assert release.to_arrow().num_rows == 9

    @pytest.mark.parametrize(
        ("kind", "built_in"),
        [(kind, False) for kind in FAULTS] + [(kind, True) for kind in FAULTS if kind not in (Breaks, Full, Stubborn)],
    )
    @pytest.mark.parametrize("there", [False, True])
    @pytest.mark.slow
    @pytest.mark.few(8)
    def test_what_is_not_written_well_is_not_published(
        self, people, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Odd], there: bool, built_in: bool
    ) -> None:
        if built_in:
            monkeypatch.setitem(BUILT_IN["formats"], "xml", kind())  # type: ignore[arg-type]
        if there:
            (tmp_path / "release.odd").write_text("of another run")
            (tmp_path / "release.odd.manifest.json").write_text("{}")
        before = {name: (tmp_path / name).read_text() for name in files(tmp_path)}
        chosen_policy = self.made(tmp_path, None if built_in else kind, if_exists="replace")
        with sqlanon.plan(people, chosen_policy) as plan:
            with pytest.raises(FAULTS[kind]) as caught:
                plan.publish()
            assert isinstance(caught.value, KeyboardInterrupt) or CANARY not in told(caught.value)
            assert {name: (tmp_path / name).read_text() for name in files(tmp_path)} == before
            assert plan.publish(sqlanon.Output("file", str(tmp_path / "good.csv"))).ledger.published == 9
        assert people.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("t",)]

    def test_an_ending_of_nobody_is_refused_by_the_policy(self, tmp_path: Path) -> None:
        with pytest.raises(sqlanon.PolicyError, match=r"output\.file"):
            policy(tmp_path, output={"file": "release.odd"})


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.exit_code, result.output


class TestCommandLine:
    @pytest.fixture
    def definition(self, tmp_path: Path) -> Path:
        records = "".join(f'<p n="{i}"><a>{i % 3}</a><b>{i % 2}</b></p>' for i in range(30))
        (tmp_path / "people.xml").write_text(f"<d><l>{records}</l></d>")
        columns = {"n": "drop", **suppressed("a", "b")}
        document = document_of(columns, k=5, source="people.xml", xml={"record": "p"}, output={"file": "release.xml"})
        return file_of(tmp_path / "policy.json", document)

    def test_from_xml_to_xml(self, definition: Path) -> None:
        release = definition.with_name("release.xml")
        code, text = run("run", definition, "--json")
        assert code == 0, text
        assert json.loads(text)["output"] == {"file": str(release)} and json.loads(text)["published"] == 30
        assert read(release).total() == 30
        assert run("check", release, "--qi", "a,b", "--k", 5)[0] == 0
        code, text = run("check", release, "--qi", "a,b", "--k", 6, "--json")
        assert (code, json.loads(text)["smallest_class"]) == (1, 5)
        assert run("verify", f"{release}.certificate.json", definition)[0] == 0
        assert run("run", definition)[0] == 2  # it is there

    def test_check_is_told_by_a_reference_in_xml(self, definition: Path) -> None:
        release = definition.with_name("release.xml")
        assert run("run", definition)[0] == 0
        code, text = run(
            "check", release, "--qi", "a", "--sensitive", "b:t_closeness:t=0.01", "--reference", release
        )  # fmt: skip
        assert code == 0, text

    def test_check_cannot_say_of_what_cannot_be_read(self, definition: Path) -> None:
        definition.with_name("broken.xml").write_text(f"<d><r><a>{CANARY}</r></d>")
        for name, column in (("broken.xml", "a"), ("none.xml", "a"), ("people.xml", "nowhere")):
            code, text = run("check", definition.with_name(name), "--qi", column, "--k", 2)
            assert code == 2 and CANARY not in text and "Hint: " in text

    def test_dry_run_and_explain_write_nothing(self, definition: Path) -> None:
        before = files(definition.parent)
        assert run("run", definition, "--dry-run")[0] == 0
        assert run("explain", definition)[0] == 0
        assert files(definition.parent) == before


TEXTS = st.none() | st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=6
)


@settings(max_examples=scaled(15))
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12))
@pytest.mark.slow
def test_any_texts_are_published_as_they_are(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Text, Text]]
) -> None:
    directory = tmp_path_factory.mktemp("texts")
    with duckdb.connect() as connection:
        text_table(connection, ["a", "b"], rows)
        chosen_policy = policy(directory, privacy=[{"type": "k_anonymity", "k": 1}])
        with sqlanon.anonymize(connection, chosen_policy) as release:
            assert release.levels == {"a": 0}
    assert read(directory / "release.xml") == Counter(rows)
    back = policy(
        directory, source="release.xml", output={"file": "again.xml"}, privacy=[{"type": "k_anonymity", "k": 1}]
    )
    with sqlanon.anonymize(None, back):
        assert read(directory / "again.xml") == Counter(rows)
