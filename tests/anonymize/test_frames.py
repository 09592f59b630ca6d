"""Frames as sources and as what comes back: Arrow and relations of DuckDB, and pandas, polars, narwhals and Ibis."""

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pyarrow as pa
import pytest
from effort import seeds
from policies import document_of
from tables import store

import sqlanon
from sqlanon.core.engines.duckdb.spill import Spill
from sqlanon.core.source.frames import is_frame
from sqlanon.core.source.opening import open_source
from sqlanon.errors import SqlanonError

RECORDS = 300
SECRET = "planted-value"
AGE = {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 10, "fanouts": [2]}}}
COLUMNS = {"age": AGE, "ward": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "cost": {"role": "keep"}}


def policy(**changes: Any) -> dict[str, Any]:
    return document_of(COLUMNS, changes, k=5, suppression_limit=0.02, accept=["cost"])


def table() -> pa.Table:
    """Ages of two decades in two wards, and one record that no class but the top would keep."""
    ages = [20 + (7 * i) % 20 for i in range(RECORDS - 1)] + [99]
    wards = [("north", "south")[i % 2] for i in range(RECORDS - 1)] + [SECRET]
    return pa.table({"age": ages, "ward": pa.array(wards).dictionary_encode(), "cost": [i % 7 for i in range(RECORDS)]})


def as_pandas(data: pa.Table) -> Any:
    pandas = pytest.importorskip("pandas")
    frame = data.to_pandas()
    frame.index = pandas.Index([f"{SECRET}-{i}" for i in range(len(frame))], name="patient")
    return frame


def as_ibis(data: pa.Table) -> Any:
    ibis = pytest.importorskip("ibis")
    return ibis.memtable(data.cast(pa.schema([("age", pa.int64()), ("ward", pa.string()), ("cost", pa.int64())])))


KINDS: dict[str, Callable[[pa.Table], Any]] = {
    "Arrow table": lambda data: data,
    "DuckDB relation": lambda data: duckdb.connect().from_arrow(data),
    "pandas frame": as_pandas,
    "polars frame": lambda data: pytest.importorskip("polars").from_arrow(data),
    "narwhals frame": lambda data: pytest.importorskip("narwhals").from_native(as_pandas(data)),
    "Ibis table": as_ibis,
}


def rows(data: pa.Table) -> Counter:
    return Counter(zip(*data.to_pydict().values(), strict=True))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Counter:
    """The release of the same records from a file."""
    from pyarrow import parquet

    path = tmp_path_factory.mktemp("frames") / "t.parquet"
    parquet.write_table(table(), path)
    with sqlanon.anonymize(path, policy()) as release:
        return rows(release.to_arrow())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_a_frame_gives_the_release_of_a_file_with_its_records(kind: str, expected: Counter) -> None:
    with sqlanon.anonymize(KINDS[kind](table()), policy()) as release:
        assert release.plan.source_name == kind
        assert release.ledger.suppressed == 1
        data = release.to_arrow()
        assert data.column_names == ["age", "ward", "cost"] and not data.schema.metadata
        assert rows(data) == expected
        assert data.schema.field("ward").type == pa.string(), "a dictionary would list values of suppressed records"
        assert SECRET not in str(data.to_pydict()) and SECRET not in release.sql.split("distinct values")[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_a_frame_does_not_survive(kind: str) -> None:
    columns = {"n": {"role": "keep"}}
    data = pa.table({"n": list(range(RECORDS))})
    frame = data
    if "pandas" in kind:
        pytest.importorskip("pandas", reason="a frame of pandas needs pandas")
        frame = data.to_pandas()
    chosen = {"columns": columns, "privacy": [{"type": "k_anonymity", "k": 5}], "accept": ["n"]}
    if kind not in ("Arrow table", "pandas frame"):
        pytest.skip("all are read in the same way")
    with sqlanon.anonymize(frame, chosen) as release:
        found = release.to_arrow().column("n").to_pylist()
    assert sorted(found) == list(range(RECORDS)) and found != sorted(found)


def test_what_comes_back_is_taken_by_every_library(expected: Counter) -> None:
    with sqlanon.anonymize(table(), policy()) as release:
        assert rows(pa.table(release)) == expected
        assert is_frame(release)
        relation = release.relation
    assert Counter(relation.fetchall()) == expected, "it stays when the plan is closed"
    assert relation.columns == ["age", "ward", "cost"]


def test_a_relation_is_of_the_users_connection() -> None:
    with duckdb.connect() as connection:
        connection.register("people", table())
        with sqlanon.anonymize(connection, policy(table="people")) as release:
            relation = release.relation
        joined = relation.join(connection.sql("SELECT 1 AS other"), "true")
        assert len(joined.fetchall()) == RECORDS - 1


def test_pandas_and_polars_come_back(expected: Counter) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    with sqlanon.anonymize(table(), policy()) as release:
        frame = release.to_pandas()
        assert isinstance(frame, pandas.DataFrame) and isinstance(frame.index, pandas.RangeIndex)
        assert Counter(frame.itertuples(index=False, name=None)) == expected
        assert Counter(release.to_polars().iter_rows()) == expected
        assert Counter(polars.DataFrame(release).iter_rows()) == expected


@pytest.mark.parametrize(("method", "library"), [("to_pandas", "pandas"), ("to_polars", "polars")])
def test_an_absent_library_is_named_with_its_extra(method: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    absent = pytest.raises(sqlanon.UnsupportedError, match=rf"pip install 'sqlanon\[{library}\]'")
    with sqlanon.anonymize(table(), policy()) as release, absent:
        getattr(release, method)()


@pytest.mark.slow
def test_a_frame_of_arrow_needs_no_other_library() -> None:
    code = (
        "import sys, pyarrow as pa, sqlanon\n"
        "others = ('pandas', 'polars', 'narwhals', 'ibis')\n"
        "class Absent:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name.partition('.')[0] in others:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "sqlanon.anonymize(pa.table({'a': ['x'] * 9}), {'columns': {'a': {'role': 'quasi_identifier', "
        "'hierarchy': {'suppress': {}}}}, 'privacy': [{'type': 'k_anonymity', 'k': 2}]}).to_arrow()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_stream_is_read_once_and_a_file_is_written(tmp_path: Path, expected: Counter) -> None:
    written = tmp_path / "r.parquet"
    reader = table().to_reader()
    with sqlanon.anonymize(reader, policy(output={"file": str(written)})) as release:
        assert rows(release.to_arrow()) == expected
    assert written.exists() and "source" not in release.manifest
    with pytest.raises(sqlanon.NoSolutionError, match="no records"):
        sqlanon.anonymize(reader, policy())


def test_the_source_of_the_policy_is_not_read(expected: Counter) -> None:
    with sqlanon.anonymize(table(), policy(source="nowhere.parquet", table="none")) as release:
        assert rows(release.to_arrow()) == expected


def test_types_of_duckdb_that_arrow_changes_come_back() -> None:
    relation = duckdb.connect().sql(
        "SELECT 170141183460469231731687303715884105727::HUGEINT AS h, 'b'::ENUM('a', 'b') AS e, "
        "'f47ac10b-58cc-4372-a567-0e02b2c3d479'::UUID AS u, TIMESTAMPTZ '2024-05-01 12:00:00+02' AS z, "
        "[1, 2] AS l, INTERVAL 3 DAY AS i, NULL AS n, ['b']::ENUM('a', 'b')[1] AS f, "
        "{'x': 'b'}::STRUCT(x ENUM('a', 'b')) AS s, ['01:02:03+05'::TIMETZ] AS t, ['010'::BIT] AS b FROM range(3)"
    )
    with open_source(relation, None) as opened:
        assert opened.types == {
            "h": "HUGEINT", "e": "VARCHAR", "u": "UUID", "z": "TIMESTAMP WITH TIME ZONE", "l": "INTEGER[]",
            "i": "INTERVAL", "n": "VARCHAR", "f": "VARCHAR[1]", "s": "STRUCT(x VARCHAR)", "t": "TIME WITH TIME ZONE[]",
            "b": "BIT[]",
        }  # fmt: skip
        first = opened.engine.run("read", "SELECT h, e, u::VARCHAR, z::VARCHAR, l FROM sqlanon_staged")[0]
        parts = opened.engine.run("parts", "SELECT f[1], s.x, t[1]::VARCHAR, b[1]::VARCHAR FROM sqlanon_staged")[0]
    assert first[:3] == (2**127 - 1, "b", "f47ac10b-58cc-4372-a567-0e02b2c3d479")
    assert first[3:] == ("2024-05-01 10:00:00+00", [1, 2])
    assert parts == ("b", "b", "01:02:03+05", "010"), "not the number of the value in its ENUM"


def test_a_decimal_is_not_as_wide_as_the_widest_value() -> None:
    with open_source(of_pandas([Decimal("1.5"), Decimal("123456789.25")]), None) as opened:
        assert opened.types == {"age": "DECIMAL(38,2)"}


def test_times_of_polars_are_quasi_identifiers() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"age": [time(1, 2), time(3)] * 5})
    with sqlanon.anonymize(
        frame, policy(columns={"age": {**AGE, "hierarchy": {"suppress": {}}}}, accept=[])
    ) as release:
        assert release.levels == {"age": 0} and release.ledger.classes == 2


@seeds(10, 2)
def test_frames_give_what_a_database_gives_of_the_same_records(block: range, tmp_path: Path) -> None:
    """Values that are equal and look different, and those that are missing, in random small tables."""
    for seed in block:
        chance = random.Random(seed)
        kinds = chance.sample(sorted(VALUES), 3)
        count = chance.randint(8, 30)
        data = pa.table(
            {name: pa.array(chance.choices([None, *VALUES[name][1]], k=count), VALUES[name][0]) for name in kinds}
        )
        first, second, kept = kinds
        hierarchies = [{"hierarchy": chance.choice([{"suppress": {}}, {"redact": {}}])} for _ in range(2)]
        quasi = {name: {"role": "quasi_identifier", **h} for name, h in zip((first, second), hierarchies, strict=True)}
        chosen = document_of(
            {**quasi, kept: "keep"}, k=chance.choice([2, 3]), suppression_limit=chance.choice([0.2, 1]), accept=[kept]
        )
        path = tmp_path / f"{seed}.duckdb"
        with duckdb.connect(str(path)) as connection:
            store(connection, data)
        wanted = outcome(path, {**chosen, "table": "t"})
        frames = [data, pa.concat_tables([data.slice(0, 3), data.slice(0, 0), data.slice(3)]).to_reader()]
        if "polars" in sys.modules:
            frames.append(sys.modules["polars"].from_arrow(data))
        for frame in frames:
            assert outcome(frame, chosen) == wanted, (seed, type(frame))


VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "whole": (pa.uint64(), [2**64 - 1, 1]),
    "float": (pa.float64(), [0.0, -0.0, float("nan"), float("-inf"), 1.5]),
    "single": (pa.float32(), [0.1, -0.0, float("nan")]),
    "text": (pa.string(), ["a", "", "A", "\0", "é", "e\u0301"]),
    "decimal": (pa.decimal128(10, 2), [Decimal("1.00"), Decimal("2.50")]),
    "moment": (pa.timestamp("us", "Europe/Berlin"), [datetime(2020, 1, 1), datetime(2021, 5, 5, 5)]),
    "fine": (pa.timestamp("ns"), [1, 2, 3]),
    "time": (pa.time64("us"), [time(1, 2), time(3)]),
    "category": (pa.dictionary(pa.int8(), pa.string()), ["x", "y", "z"]),
    "flag": (pa.bool_(), [True, False]),
}


def outcome(source: Any, chosen: dict[str, Any]) -> Any:
    try:
        with sqlanon.anonymize(source, chosen) as release:
            found = Counter(tuple(map(repr, row)) for row in zip(*release.to_arrow().to_pydict().values(), strict=True))
            return release.levels, release.certificate.loss, release.ledger.suppressed, found
    except sqlanon.NoSolutionError:
        return None


def test_threads_read_a_release_once() -> None:
    with sqlanon.anonymize(table(), policy()) as release, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: release.to_arrow(), range(8)))
    assert len({id(data) for data in found}) == 1


def test_a_release_that_was_not_read_in_time_says_so() -> None:
    with sqlanon.anonymize(table(), policy()) as release:
        pass
    with pytest.raises(sqlanon.EngineError, match="before its block ends"):
        release.to_arrow()


def failing_reader() -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"age": [1]})
        raise ValueError(SECRET)

    return pa.RecordBatchReader.from_batches(pa.schema([("age", pa.int64())]), batches())


def mixed() -> Any:
    return pytest.importorskip("pandas").DataFrame({"age": [1, SECRET], "ward": ["a", "b"]})


def numbered() -> Any:
    return pytest.importorskip("pandas").DataFrame([[1, 2]])


def of_pandas(values: list[Any], name: str = "age") -> Any:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": pandas.Series(values, dtype=object)})
    frame.columns = pandas.Index([name], dtype=object)
    return frame


def binned() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"age": pandas.cut([1, 7], [0, 5, 9])})


def opaque_lists() -> pa.Table:
    opaque = pa.ExtensionArray.from_storage(pa.opaque(pa.int32(), "t", "v"), pa.array([5], pa.int32()))
    return pa.table({"age": pa.ListArray.from_arrays([0, 1], opaque)})


def periods() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"age": pandas.period_range("2020-01", periods=3, freq="M")})


def objects() -> Any:
    return pytest.importorskip("polars").DataFrame({"age": [object()]})


def lazy() -> Any:
    return pytest.importorskip("polars").LazyFrame({"age": [1]})


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "one name twice": (
        lambda: pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["age", "age"]), "of one name.*'age'"
    ),
    "names that differ by case": (lambda: pa.table({"age": [1], "AGE": [2]}), "differ by case only: 'AGE', 'age'"),
    "no name": (lambda: pa.table([[1]], names=[""]), "a column without a name"),
    "no columns": (lambda: pa.table({}), "has no columns"),
    "a column is no table": (lambda: pa.chunked_array([[1]]), "Arrow table cannot be read"),
    "types that DuckDB lacks": (
        lambda: pa.table({"age": [1], "h": pa.array([1], pa.float16()), "d": pa.array([1], pa.decimal256(50, 2))}),
        r"'h' \(halffloat\), 'd' \(decimal256",
    ),
    "a stream that fails": (failing_reader, "cannot be read"),
    "a query that fails": (
        lambda: duckdb.connect().sql(f"SELECT '{SECRET}'::INTEGER AS age FROM range(9)"), "cannot be read"
    ),
    "values of several types": (mixed, "not all of one type: 'age'"),
    "names that are no texts": (numbered, "2 columns whose names are no texts"),
    "dates and moments": (lambda: of_pandas([date(2020, 1, 1), datetime(2020, 1, 1, 5)]), "one type: 'age'"),
    "moments with and without a zone": (
        lambda: of_pandas([datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)]), "one type: 'age'"
    ),
    "texts and bytes": (lambda: of_pandas([SECRET, b"x"]), "one type: 'age'"),
    "dicts": (lambda: of_pandas([{"a": 1}, {SECRET: 2}]), "dicts, whose keys would be published: 'age'"),
    "lists of dicts": (lambda: of_pandas([[{"a": 1}], [{SECRET: 2}]]), "dicts"),
    "surrogates": (lambda: of_pandas(["\ud800" + SECRET]), "not all of one type: 'age'"),
    "a name with a surrogate": (lambda: of_pandas([1], "\ud800"), "1 columns whose names are no valid Unicode"),
    "a name with a NUL": (lambda: of_pandas([1], "a\0b"), "or hold a NUL"),
    "intervals as categories": (binned, r"'age' \(pandas.interval\)"),
    "an extension type in a list": (opaque_lists, r"'age' \(arrow.opaque\)"),
    "an extension type": (periods, r"'age' \(pandas.period\)"),
    "objects of Python": (objects, "Python objects: 'age'"),
    "a lazy frame": (lazy, r"frame.collect\(\)"),
    "a dict": (lambda: {"age": [1]}, "type dict cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_frame_that_cannot_be_read_is_refused_without_a_value(case: str) -> None:
    make, message = REFUSED[case]
    with pytest.raises(sqlanon.SourceError, match=message) as refused:
        sqlanon.plan(make(), policy())
    shown = [refused.value]
    while (before := shown[-1].__cause__ or shown[-1].__context__) is not None:
        shown.append(before)  # type: ignore[arg-type]
    assert len(shown) == 1 and SECRET not in str(refused.value)


@pytest.mark.parametrize("kind", ["view", "table"])
def test_a_frame_holds_no_view_and_no_table(kind: str) -> None:
    with pytest.raises(sqlanon.TargetError, match=f"keeps no {kind}"):
        sqlanon.anonymize(table(), policy(output={kind: "released"}))


def test_a_ledger_needs_a_name_for_a_frame(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(bytes(range(32)).hex())
    (tmp_path / "key").chmod(0o600)
    data = table().append_column("id", pa.array(range(RECORDS)))
    ledger = {"file": str(tmp_path / "l" / "ledger.duckdb"), "record": "id", "recipient": "b",
              "key": {"file": str(tmp_path / "key")}}  # fmt: skip
    (tmp_path / "l").mkdir(mode=0o700)
    chosen = policy(undeclared="drop", ledger=ledger, output={"file": str(tmp_path / "r.parquet")})
    with pytest.raises(sqlanon.InputError, match="a ledger would not know it again"):
        sqlanon.anonymize(data, chosen)
    with sqlanon.anonymize(data, {**chosen, "ledger": {**ledger, "source": "visits"}}) as release:
        assert release.recorded is not None


def test_a_report_names_the_kind_of_a_frame() -> None:
    with sqlanon.anonymize(table(), policy()) as release:
        run = sqlanon.summarize(release)
    assert run.source == "Arrow table"
    assert SECRET not in json.dumps(run.to_dict(), default=str)


@pytest.mark.slow
def test_all_verbs_take_frames() -> None:
    with sqlanon.plan(table(), policy()) as plan:
        assert plan.risk().before.records == RECORDS
    found = sqlanon.frontier(table(), policy(), k=(2, 5), limit=(0.02,))
    assert [point.found for point in found.points] == [True, True]
    patterns = policy(transformation={"type": "patterns"}, suppression_limit=1)
    with sqlanon.recode(table(), patterns) as recoded:
        assert recoded.ledger.records == RECORDS
    assert sqlanon.profile(table()).source == "Arrow table"
    assert sqlanon.profile(table()).to_dict()["records"] == RECORDS


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a file in an object store, which stands in memory."""
    pytest.importorskip("fsspec")
    from fsspec.implementations.memory import MemoryFileSystem
    from pyarrow import parquet

    class Store(MemoryFileSystem):
        protocol = ("s3",)
        store: ClassVar[dict[str, Any]] = {}
        pseudo_dirs: ClassVar[list[str]] = [""]

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return "/" + path.removeprefix("s3://").strip("/")

    stored, held = Store(skip_instance_cache=True), pa.BufferOutputStream()
    parquet.write_table(table(), held)
    stored.pipe("s3://bucket/visits.parquet", held.getvalue().to_pybytes())
    connect = Spill.connect

    def connected(self: Spill, *settings: Any) -> duckdb.DuckDBPyConnection:
        connection = connect(self, *settings)
        connection.register_filesystem(stored)
        return connection

    monkeypatch.setattr(Spill, "connect", connected)
    return "s3://bucket/visits.parquet"


@pytest.mark.slow
def test_a_file_of_an_object_store_is_a_source(bucket: str, expected: Counter) -> None:
    with sqlanon.anonymize(bucket, policy()) as release:
        assert rows(release.to_arrow()) == expected
    with sqlanon.anonymize(None, policy(source=bucket)) as release:
        assert rows(release.to_arrow()) == expected
    assert sqlanon.profile(bucket).source == bucket and not sqlanon.profile(bucket).is_frame


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("https://host/t.parquet?signature=x", "perhaps a secret"),
        ("s3://key:secret@bucket/t.parquet", "perhaps a secret"),
        ("s3://bucket/t.csv", "Parquet files are read"),
        ("s3://bucket/t.parquet", "INSTALL httpfs"),
    ],
)
def test_a_url_that_cannot_be_read_is_refused(url: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with pytest.raises(sqlanon.InputError, match=message) as refused:
        sqlanon.plan(url, policy())
    assert "secret@" not in str(refused.value) and "signature" not in str(refused.value)


def test_a_policy_without_frames_still_needs_a_source() -> None:
    with pytest.raises(SqlanonError, match="There is no source"):
        sqlanon.plan(None, policy())
