"""Sources joined by key: each record of the first source once, with what the other sources say of it, or NULLs."""

import json
import logging
import os
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner
from effort import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from policies import diverse, document_of, file_of
from pyarrow import parquet

import sqlanon
from sqlanon.cli import main
from sqlanon.core.source.joining import open_policy_source
from sqlanon.errors import PolicyError, SourceChangedError, SourceError, TargetError, UnsupportedError
from sqlanon.interop.formats.xml import Xml

Text = str | None
Rows = Sequence[tuple[Any, ...]]
CANARY = "Zz7canaryqQ"
FIRST = [("1", "x"), ("2", "y"), ("1", "x"), (None, "y"), ("7", None), ("", "x")]
OTHER = [("1", "p"), ("2", None), ("", "q"), ("9", "r"), (None, "s")]
JOINED = [("1", "x", "p"), ("2", "y", None), ("1", "x", "p"), (None, "y", None), ("7", None, None), ("", "x", "q")]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def fill(connection: duckdb.DuckDBPyConnection, name: str, columns: Sequence[str], rows: Rows, *types: str) -> None:
    """Make a table of texts, or of the types given."""
    typed = [f"{quoted(c)} {t}" for c, t in zip(columns, types or ["VARCHAR"] * len(columns))]
    connection.execute(f"CREATE TABLE {quoted(name)} ({', '.join(typed)})")
    if rows:
        connection.executemany(f"INSERT INTO {quoted(name)} VALUES ({', '.join('?' * len(columns))})", list(rows))


def stored(kind: str, directory: Path, name: str, columns: Sequence[str], rows: Rows) -> dict[str, str]:
    """Write texts to a file of a kind; what a policy says of it."""
    path = directory / f"{name}.{kind}"
    table = pa.table({c: pa.array([row[i] for row in rows], pa.string()) for i, c in enumerate(columns)})
    if kind == "duckdb":
        with duckdb.connect(str(path)) as database:
            fill(database, name, columns, rows)
        return {"source": path.name, "table": name}
    if kind == "csv":
        lines = [",".join("" if v is None else '"' + v.replace('"', '""') + '"' for v in row) for row in rows]
        path.write_text("\n".join([",".join(map(quoted, columns)), *lines, ""]))
    elif kind == "parquet":
        parquet.write_table(table, path)
    else:
        Xml().write(path, table.to_reader(), {})
    return {"source": path.name}


def policy(directory: Path, *joins: dict, columns: dict | None = None, **keys: Any) -> sqlanon.Policy:
    document = document_of(
        columns or {name: {"role": "keep"} for name in ("id", "a", "b")}, keys, k=1, table="first", join=list(joins)
    )
    return sqlanon.Policy.from_dict(document, base_directory=directory)


def suppressed(*names: str) -> dict:
    return {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in names}


def joined(source: object, made: sqlanon.Policy) -> tuple[list[str], Counter, tuple[str, ...]]:
    """The columns, the records and the warnings of a source with what is joined to it."""
    with open_policy_source(source, made) as opened:
        names = ", ".join(map(quoted, opened.types))
        rows = opened.engine.run("read", f"SELECT {names} FROM {opened.engine.render(opened.relation)}")
        return list(opened.types), Counter(rows), opened.warnings


def databases(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT database_name FROM duckdb_databases()").fetchall()}


@contextmanager
def nothing_left(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Nothing of ours stays in the user's connection."""

    def seen() -> list[tuple[Any, ...]]:
        tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        return sorted(tables + connection.execute("FROM duckdb_views() SELECT view_name WHERE NOT internal").fetchall())

    before = databases(connection), seen()
    yield
    assert (databases(connection), seen()) == before


@pytest.fixture
def first(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    fill(connection, "first", ["id", "a"], FIRST)
    return connection


KINDS = ("duckdb", "csv", "parquet", "xml")
PAIRS = [(one, other) for one in ("connection", *KINDS) for other in KINDS]
PAIRS += [("connection", "table"), ("duckdb", "table"), ("duckdb", "same file")]


@pytest.mark.parametrize(("one", "other"), PAIRS)
@pytest.mark.slow
@pytest.mark.few(8)
def test_every_kind_of_source_meets_every_other(
    one: str, other: str, tmp_path: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    if one == "connection":
        fill(connection, "first", ["id", "a"], FIRST)
        own: dict[str, str] = {}
    else:
        own = stored(one, tmp_path, "first", ["id", "a"], FIRST)
    if other in ("table", "same file"):
        with duckdb.connect(str(tmp_path / "first.duckdb")) if own else connection.cursor() as beside:
            fill(beside, "other", ["id", "b"], OTHER)
        join = {"table": "other", **({"source": f"{tmp_path}/./first.duckdb"} if other == "same file" else {})}
    else:
        join = stored(other, tmp_path, "other", ["id", "b"], OTHER)
    chosen_policy = policy(tmp_path, {**join, "key": "id"}, output={"file": "out.parquet"}, **own)
    with nothing_left(connection), sqlanon.anonymize(None if own else connection, chosen_policy) as release:
        assert Counter(zip(*release.to_arrow().to_pydict().values())) == Counter(JOINED)
        assert release.ledger.records == release.ledger.published == len(FIRST)
        reported = " ".join(release.warnings)
        assert "2 records have no row in the joined source" in reported  # 7 and NULL
        assert "2 rows of the joined source" in reported  # 9 and NULL
        assert "types" not in reported
    assert [p.name for p in tmp_path.iterdir() if "sqlanon" in p.name or p.suffix == ".wal"] == []


def test_options_of_formats_stand_beside_each_source(tmp_path: Path) -> None:
    (tmp_path / "first.csv").write_text("id;a\n1;x\n2;y\n")
    (tmp_path / "b.csv").write_text("id|b\n1|-\n2|q\n")
    (tmp_path / "c.xml").write_text("<d><m><n/></m><r id='1'><c>NA</c></r><r id='2'><c>z</c></r></d>")
    chosen_policy = policy(
        tmp_path,
        {"source": "b.csv", "key": "id", "csv": {"delimiter": "|", "null": "-"}},
        {"source": "c.xml", "key": ["id"], "xml": {"record": "r", "null": "NA"}},
        source="first.csv",
        csv={"delimiter": ";"},
    )
    assert joined(None, chosen_policy)[:2] == (
        ["id", "a", "b", "c"],
        Counter([("1", "x", None, None), ("2", "y", "q", "z")]),
    )
    assert sqlanon.Policy.from_dict(chosen_policy.to_dict(), base_directory=tmp_path) == chosen_policy


class TestKeys:
    def test_composite_keys_match_in_all_parts(self, first, tmp_path: Path) -> None:
        fill(first, "c", ["x", "y", "c"], [("1", "x", "c1"), ("1", "y", "c2"), ("7", None, "c3"), (None, "y", "c4")])
        columns, rows, warnings = joined(first, policy(tmp_path, {"table": "c", "key": {"id": "x", "a": "y"}}))
        assert columns == ["id", "a", "c"]
        assert rows == Counter((*row, "c1" if row == ("1", "x") else None) for row in FIRST)
        assert warnings == (
            "4 records have no row in the joined source 'c'; its columns are NULL there.",
            "3 rows of the joined source 'c' belong to no record and are left out.",
        )

    def test_a_join_can_use_columns_of_a_join_before_it(self, first, tmp_path: Path) -> None:
        fill(first, "other", ["id", "b"], OTHER)
        fill(first, "third", ["code", "c"], [("p", "c1"), ("q", "c2")])
        chosen_policy = policy(tmp_path, {"table": "other", "key": "id"}, {"table": "third", "key": {"b": "code"}})
        columns, rows, _ = joined(first, chosen_policy)
        assert columns == ["id", "a", "b", "c"]
        assert rows == Counter((*row, {"p": "c1", "q": "c2"}.get(row[2])) for row in JOINED)

    @pytest.mark.parametrize(
        ("left", "right", "values"),
        [
            ("INTEGER", "VARCHAR", {1: "1", 2: "02", 3: " 3"}),
            ("VARCHAR", "BIGINT", {"1": 1, "02": 2, "3.0": 3}),
            ("BIGINT", "TINYINT", {1: 1, 300: 3}),
            ("DATE", "VARCHAR", {"2020-02-29": "2020-02-29", "2020-03-01": "01.03.2020"}),
            ("DECIMAL(9,2)", "VARCHAR", {1: "1.00", 2: "2"}),
            ("ENUM('u', 'v')", "ENUM('v', 'w')", {"u": "w", "v": "v"}),
            ("UUID", "VARCHAR", {"00000000-0000-0000-0000-000000000001": "00000000-0000-0000-0000-000000000001"}),
        ],
    )  # fmt: skip
    def test_keys_of_different_types_are_compared_as_texts(
        self, connection, tmp_path: Path, left: str, right: str, values: dict
    ) -> None:
        fill(connection, "first", ["id"], [(value,) for value in values], left)
        fill(connection, "other", ["id", "b"], [(v, i) for i, v in enumerate(values.values())], right, "INTEGER")
        _, rows, warnings = joined(connection, policy(tmp_path, {"table": "other", "key": "id"}))
        texts = connection.execute("SELECT CAST(id AS VARCHAR) FROM other ORDER BY b").fetchall()
        own = connection.execute("SELECT id, CAST(id AS VARCHAR) FROM first").fetchall()
        assert rows == Counter((value, texts.index((text,)) if (text,) in texts else None) for value, text in own)
        alike = all((text,) in texts for _, text in own)
        plain = f"{left.split('(', maxsplit=1)[0]} and {right.split('(', maxsplit=1)[0]}"
        assert warnings[2:] == (() if alike else (
            f"Keys of 'other' have different types, {plain}, and were compared as texts.",
        ))  # fmt: skip

    @pytest.mark.parametrize("key", ["id", {"id": "id", "a": "a"}])
    def test_repeated_keys_are_counted_and_refused(self, first, tmp_path: Path, key: Any) -> None:
        columns = ["id", "b"] if key == "id" else ["id", "a", "b"]
        rows = [("1", "x", "p"), ("1", "x", "q"), ("2", "y", "p"), ("2", "y", "p"), ("2", "y", "q"), ("3", "x", "p")]
        nulls = [(None, "x", "p")] * 3  # a NULL matches nothing, so that it multiplies nothing
        rows = [row if len(columns) == 3 else (row[0], row[2]) for row in [*rows, *nulls]]
        fill(first, "other", columns, rows)
        with nothing_left(first), pytest.raises(SourceError, match="2 keys occur more than once"):
            sqlanon.plan(first, policy(tmp_path, {"table": "other", "key": key}))

    def test_keys_that_are_equal_by_a_collation_only_multiply_nothing(self, connection, tmp_path: Path) -> None:
        fill(connection, "first", ["id"], [("p",), ("q",)], "VARCHAR COLLATE NOCASE")
        fill(connection, "other", ["id", "b"], [("p", "1"), ("P", "2")])
        with pytest.raises(SourceError, match="has 2 records, but the join has 3"):
            sqlanon.plan(connection, policy(tmp_path, {"table": "other", "key": "id"}))


SIDES = st.tuples(st.sampled_from([None, 0, 1, 2, 10]), st.sampled_from([None, 0, 1, 2]))


class TestProperties:
    @settings(max_examples=scaled(40))
    @given(
        left=st.lists(SIDES, max_size=8),
        right=st.lists(SIDES, max_size=8),
        composite=st.booleans(),
        types=st.tuples(*[st.sampled_from(["INTEGER", "VARCHAR", "BIGINT"])] * 2),
    )
    def test_the_join_is_a_left_join_that_keeps_every_record_once(
        self, left: list, right: list, composite: bool, types: tuple[str, str]
    ) -> None:
        parts = 2 if composite else 1
        keys = [row[:parts] for row in right if None not in row[:parts]]
        repeated = sum(count > 1 for count in Counter(keys).values())
        numbered = [(*row, i) for i, row in enumerate(right)]
        with duckdb.connect() as connection:
            fill(connection, "first", "kln", [(*r, i) for i, r in enumerate(left)], types[0], types[0], "INTEGER")
            fill(connection, "other", "xym", numbered, types[1], types[1], "INTEGER")
            chosen_policy = policy(Path.cwd(), {"table": "other", "key": dict(zip(("k", "l")[:parts], "xy"))})
            if repeated:
                with pytest.raises(SourceError, match=f"^{repeated} keys occur"):
                    joined(connection, chosen_policy)
                return
            columns, rows, warnings = joined(connection, chosen_policy)
        own = {row[:parts]: row for row in numbered if None not in row[:parts]}
        text = (lambda v: v if v is None else str(v)) if types[0] == "VARCHAR" else (lambda v: v)
        other = (lambda v: v if v is None else str(v)) if types[1] == "VARCHAR" else (lambda v: v)
        wanted = Counter(
            (text(row[0]), text(row[1]), i, *(other(v) for v in met[parts:-1]), met[-1])
            for i, row in enumerate(left)
            for met in [own.get(row[:parts], (None,) * 3)]
        )
        assert (rows, rows.total()) == (wanted, len(left))
        assert columns == ["k", "l", "n", *("xy"[parts:]), "m"]
        lonely = sum(row[:parts] not in own for row in left)
        unused = len(right) - len({row[:parts] for row in left} & set(own))
        counts = [int(reported.split()[0]) for reported in warnings if not reported.startswith("Keys")]
        assert counts == [count for count in (lonely, unused) if count]

    @settings(max_examples=scaled(10))
    @given(rows=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=1, max_size=20), k=st.integers(1, 4))
    def test_a_release_of_joined_sources_equals_that_of_one_table(self, rows: list, k: int) -> None:
        with duckdb.connect() as connection:
            fill(connection, "first", ["id", "a"], rows, "INTEGER", "INTEGER")
            fill(connection, "other", ["id", "b"], [(i, i % 3) for i in range(10)], "INTEGER", "INTEGER")
            connection.execute("CREATE TABLE both_ AS SELECT id, a, id % 3 AS b FROM first")
            keys = document_of({"id": "drop", **suppressed("a", "b")}, k=k, suppression_limit="0.3")
            chosen_policy = policy(Path.cwd(), {"table": "other", "key": "id"}, **keys)
            whole = policy(Path.cwd(), table="both_", **keys)
            try:
                expected = sqlanon.anonymize(connection, whole)
            except sqlanon.NoSolutionError:
                with pytest.raises(sqlanon.NoSolutionError):
                    sqlanon.plan(connection, chosen_policy)
                return
            with expected, sqlanon.anonymize(connection, chosen_policy) as release:
                assert (release.levels, release.ledger) == (expected.levels, expected.ledger)
                counts = [Counter(zip(*r.to_arrow().to_pydict().values())) for r in (release, expected)]
                assert counts[0] == counts[1]


class TestRefusals:
    def test_columns_that_several_sources_have_in_whatever_case(self, first, tmp_path: Path) -> None:
        fill(first, "other", ["id", "A"], OTHER)
        fill(first, "third", ["ID", "b"], OTHER)
        with pytest.raises(SourceError, match="share the columns 'A', 'a'"):
            sqlanon.plan(first, policy(tmp_path, {"table": "other", "key": "id"}))
        with pytest.raises(SourceError, match="share the columns 'b'"):
            again = {"table": "third", "key": {"id": "ID"}}
            sqlanon.plan(first, policy(tmp_path, again, again))

    def test_a_key_of_another_name_may_be_called_as_a_column_before_it(self, first, tmp_path: Path) -> None:
        fill(first, "other", ["A", "b"], OTHER)  # the key leaves, so that nothing is there twice
        assert joined(first, policy(tmp_path, {"table": "other", "key": {"id": "A"}}))[1] == Counter(JOINED)

    @pytest.mark.parametrize(
        ("key", "told"),
        [
            ("nowhere", "The joined source 'other' has no column 'nowhere'.*columns are 'id', 'b'"),
            ({"id": "ID"}, "The joined source 'other' has no column 'ID'"),
            ({"nowhere": "id"}, "What 'other' is joined to has no column 'nowhere'.*columns are 'id', 'a'"),
            ({"b": "id"}, "What 'other' is joined to has no column 'b'"),
        ],
    )
    def test_key_columns_that_are_not_there(self, first, tmp_path: Path, key: Any, told: str) -> None:
        fill(first, "other", ["id", "b"], OTHER)
        with nothing_left(first), pytest.raises(SourceError, match=told):
            sqlanon.plan(first, policy(tmp_path, {"table": "other", "key": key}))

    def test_sources_that_are_not_there(self, first, tmp_path: Path) -> None:
        stored("duckdb", tmp_path, "other", ["id", "b"], OTHER)
        (tmp_path / "broken.duckdb").write_text("no database")
        (tmp_path / "other.docx").touch()
        for join, reported in [
            ({"table": "nowhere"}, "'nowhere' cannot be read"),
            ({"table": "no.such.schema"}, "'no.such.schema' cannot be read"),
            ({"source": "none.csv"}, "There is no file 'none.csv'"),
            ({"source": "other.duckdb", "table": "nowhere"}, "'other.duckdb: nowhere' cannot be read"),
            ({"source": "broken.duckdb", "table": "t"}, "'broken.duckdb: t' cannot be read"),
            ({"source": "other.DUCKDB", "table": "t"}, "There is no file"),
            ({"source": "other.docx"}, "ending that is not known"),
        ]:
            with nothing_left(first), pytest.raises(SourceError, match=reported):
                sqlanon.plan(first, policy(tmp_path, {**join, "key": "id"}))
        with pytest.raises(UnsupportedError, match="is read as the first source only"):
            sqlanon.plan(first, policy(tmp_path, {"source": "https://host/other.csv", "key": "id"}))

    def test_columns_with_our_prefix(self, first, tmp_path: Path) -> None:
        fill(first, "other", ["id", "sqlanon_found_0"], OTHER)
        with nothing_left(first), pytest.raises(UnsupportedError, match="'sqlanon_found_0'"):
            sqlanon.plan(first, policy(tmp_path, {"table": "other", "key": "id"}))

    def test_columns_without_a_role(self, first, tmp_path: Path) -> None:
        fill(first, "other", ["id", "b", "secret"], [(*row, CANARY) for row in OTHER])
        join = {"table": "other", "key": "id"}
        with nothing_left(first), pytest.raises(sqlanon.InputError, match="The columns 'secret'"):
            sqlanon.plan(first, policy(tmp_path, join))
        with sqlanon.anonymize(first, policy(tmp_path, join, undeclared="drop")) as release:
            assert release.to_arrow().column_names == ["id", "a", "b"]

    def test_the_key_of_the_joined_source_is_no_column_of_its_own(self, first, tmp_path: Path) -> None:
        fill(first, "other", ["person", "b"], OTHER)
        columns = {name: {"role": "keep"} for name in ("id", "a", "b", "person")}
        with pytest.raises(SourceError, match="no column 'person'"):
            sqlanon.plan(first, policy(tmp_path, {"table": "other", "key": {"id": "person"}}, columns=columns))

    @pytest.mark.parametrize(
        ("join", "keys"),
        [
            ({"table": "o"}, {"join[0].key"}),
            ({"table": "o", "key": 5}, {"join[0].key"}),
            ({"table": "o", "key": True}, {"join[0].key"}),
            ({"table": "o", "key": []}, {"join[0].key"}),
            ({"table": "o", "key": {}}, {"join[0].key"}),
            ({"table": "o", "key": [["id"]]}, {"join[0].key"}),
            ({"table": "o", "key": {"id": None}}, {"join[0].key"}),
            ({"table": "o", "key": ["id", "ID"]}, {"join[0].key"}),
            ({"table": "o", "key": {"id": "x", "a": "x"}}, {"join[0].key"}),
            ({"key": "id"}, {"join[0].table"}),
            ({"source": "x.db", "key": "id"}, {"join[0].table"}),
            ({"source": 3, "table": [], "key": "id"}, {"join[0].source", "join[0].table"}),
            ({"source": "x.csv", "key": "id", "csv": {"delim": ";"}}, {"join[0].csv.delim"}),
            ({"source": "x.xml", "key": "id", "xml": {"record": "a:b"}}, {"join[0].xml.record"}),
            ({"source": "x.csv", "kee": "id"}, {"join[0].kee", "join[0].key"}),
            ("x.csv", {"join[0]", "join[0].key", "join[0].table"}),
            (None, {"join[0].key", "join[0].table"}),
        ],
    )
    def test_faults_are_told_by_their_key(self, tmp_path: Path, join: Any, keys: set[str]) -> None:
        with pytest.raises(PolicyError) as caught:
            policy(tmp_path, join)
        assert {fault.key for fault in caught.value.faults} == keys

    @pytest.mark.parametrize("value", ["x.csv", {"source": "x.csv", "key": "id"}, 5])
    def test_a_join_is_a_list(self, value: Any, tmp_path: Path) -> None:
        with pytest.raises(PolicyError) as caught:
            policy(tmp_path, **{"join": value})  # type: ignore[arg-type]
        assert [fault.key for fault in caught.value.faults] == ["join"]

    def test_hand_made_joins_are_checked_too(self) -> None:
        for join in (sqlanon.Join((), table="o"), sqlanon.Join((("id", "id"),))):
            with pytest.raises(PolicyError):
                sqlanon.Policy((sqlanon.Column("a", "keep"),), (sqlanon.Model("k_anonymity", {"k": 1}),), join=(join,))


class TestHostileInput:
    NAMES = ("order", 'a"b', "key_0", "x; DROP TABLE first", "before", "other_0", "x" * 70, "é ü", "n", "value")

    @pytest.mark.parametrize("kind", [*KINDS, "table"])
    def test_names_of_tables_columns_and_files(self, connection, tmp_path: Path, kind: str) -> None:
        name = "it's x; DROP TABLE --"
        key, *others = self.NAMES
        fill(connection, 'fi"rst; order', ["Ä'", "sel ect"], [("1", "x"), ("2", "y")])
        row = ("1", *map(str, range(len(others))))
        if kind == "table":
            fill(connection, name, self.NAMES, [row])
        join = {"table": name} if kind == "table" else stored(kind, tmp_path, name, self.NAMES, [row])
        chosen_policy = policy(
            tmp_path,
            {**join, "key": {"Ä'": key}},
            table='fi"rst; order',
            columns={c: {"role": "keep"} for c in ("Ä'", "sel ect", *others)},
            output={"table": "ne w"},
        )
        with sqlanon.anonymize(connection, chosen_policy) as release:
            table = release.to_arrow()
            assert table.column_names == ["Ä'", "sel ect", *others]
            assert Counter(zip(*table.to_pydict().values())) == Counter(
                [("1", "x", *row[1:]), ("2", "y", *[None] * len(others))]
            )
        assert len(connection.execute('SELECT * FROM "fi""rst; order"').fetchall()) == 2

    def test_schemas_and_views(self, first, tmp_path: Path) -> None:
        for connection in (first, duckdb.connect(str(tmp_path / "o.duckdb"))):
            connection.execute("CREATE SCHEMA s")
            fill(connection, "o", ["id", "b"], OTHER)
            connection.execute("CREATE TABLE s.o AS SELECT id, upper(b) AS b FROM o")
            connection.execute("CREATE VIEW s.v AS SELECT id, b || '!' AS b FROM s.o")
        connection.close()
        for extra in ({}, {"source": "o.duckdb"}):
            for name, change in (("o", str), ("s.o", str.upper), ("s.v", lambda b: b.upper() + "!")):
                chosen_policy = policy(tmp_path, {"table": name, "key": "id", **extra})
                wanted = Counter((i, a, b if b is None else change(b)) for i, a, b in JOINED)
                assert joined(first, chosen_policy)[1] == wanted, (name, extra)

    @pytest.mark.parametrize("kind", ["table", "duckdb", "csv", "parquet"])
    def test_an_empty_joined_source_leaves_its_columns_null(self, first, tmp_path: Path, kind: str) -> None:
        if kind == "table":
            fill(first, "other", ["id", "b"], [])
        join = {"table": "other"} if kind == "table" else stored(kind, tmp_path, "other", ["id", "b"], [])
        columns, rows, warnings = joined(first, policy(tmp_path, {**join, "key": "id"}))
        assert (columns, rows) == (["id", "a", "b"], Counter((*row, None) for row in FIRST))
        assert len(warnings) == 1 and warnings[0].startswith("6 records have no row")

    def test_an_empty_first_source_has_no_solution(self, connection, tmp_path: Path) -> None:
        fill(connection, "first", ["id", "a"], [])
        fill(connection, "other", ["id", "b"], OTHER)
        chosen_policy = policy(tmp_path, {"table": "other", "key": "id"})
        assert joined(connection, chosen_policy)[2] == (
            "5 rows of the joined source 'other' belong to no record and are left out.",
        )
        with nothing_left(connection), pytest.raises(sqlanon.NoSolutionError, match="no records"):
            sqlanon.plan(connection, chosen_policy)

    def test_no_line_of_a_csv_file_is_a_comment_and_none_is_left_out(self, connection, tmp_path: Path) -> None:
        (tmp_path / "first.csv").write_text("id,a\n#1,x\n2,y\n#3,z\n")
        (tmp_path / "other.csv").write_text("id,b\n#1,p\n#3,q\n")
        chosen_policy = policy(tmp_path, {"source": "other.csv", "key": "id"}, source="first.csv", table=None)
        assert joined(None, chosen_policy)[1] == Counter([("#1", "x", "p"), ("2", "y", None), ("#3", "z", "q")])
        headless = tmp_path / "headless.csv"
        headless.write_text("1\n\n#2\n")
        one = sqlanon.Policy.from_dict(
            document_of({"column0": "keep"}, k=1, source=str(headless), csv={"header": False})
        )
        assert joined(None, one)[1] == Counter([("1",), (None,), ("#2",)])
        headless.write_text("1,2\n1,2\n1,2,3\n")
        with pytest.raises(SourceError, match=r"Line 3 .* has 3 fields, line 1 has 2"):
            joined(None, one)


class TestChanges:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("change", ["written", "removed"])
    def test_a_joined_file_that_changes_after_the_plan_stops_publication(
        self, first, tmp_path: Path, kind: str, change: str
    ) -> None:
        join = stored(kind, tmp_path, "other", ["id", "b"], OTHER)
        path = tmp_path / join["source"]
        chosen_policy = policy(tmp_path, {**join, "key": "id"}, output={"file": "out.parquet"})
        with sqlanon.plan(first, chosen_policy) as plan:
            path.unlink()
            if change == "written":
                time.sleep(0.01)
                stored(kind, tmp_path, "other", ["id", "b"], [*OTHER, ("7", "t")])
            with pytest.raises(SourceChangedError, match=f"'{path.name}' changed or disappeared"):
                plan.publish()
        left = [path.name] if change == "written" else []
        assert [p.name for p in tmp_path.iterdir()] == left

    def test_what_was_joined_is_what_is_published(self, first, tmp_path: Path) -> None:
        """Records of an open connection that change later are not mixed with those that were judged."""
        fill(first, "other", ["id", "b"], OTHER)
        with sqlanon.plan(first, policy(tmp_path, {"table": "other", "key": "id"}, output={"table": "out"})) as plan:
            first.execute("DELETE FROM first")
            first.execute("UPDATE other SET b = 'changed'")
            plan.publish()
        assert Counter(first.execute("SELECT * FROM out").fetchall()) == Counter(JOINED)

    def test_a_database_that_takes_the_release_is_no_changed_source(self, tmp_path: Path) -> None:
        own = stored("duckdb", tmp_path, "first", ["id", "a"], FIRST)
        with duckdb.connect(str(tmp_path / "first.duckdb")) as beside:
            fill(beside, "other", ["id", "b"], OTHER)
        chosen_policy = policy(
            tmp_path, {"source": "first.duckdb", "table": "other", "key": "id"}, output={"table": "out"}, **own
        )
        with sqlanon.anonymize(None, chosen_policy) as release:
            assert release.ledger.published == len(FIRST)
        with duckdb.connect(str(tmp_path / "first.duckdb"), read_only=True) as opened:
            assert Counter(opened.execute("SELECT * FROM out").fetchall()) == Counter(JOINED)


class TestTargets:
    @pytest.mark.parametrize("kind", KINDS)
    def test_no_joined_file_is_a_target(self, first, tmp_path: Path, kind: str) -> None:
        join = stored(kind, tmp_path, "other", ["id", "b"], OTHER)
        before = (tmp_path / join["source"]).read_bytes()
        keys = {"output": {"file": join["source"]}, "if_exists": "replace"}
        with pytest.raises(TargetError, match="in use as a source"):
            sqlanon.anonymize(first, policy(tmp_path, {**join, "key": "id"}, **keys))
        with (
            sqlanon.plan(first, policy(tmp_path, {**join, "key": "id"}, if_exists="replace")) as plan,
            pytest.raises(TargetError, match="in use as a source"),
        ):
            plan.publish(sqlanon.Output("file", str(tmp_path / join["source"])))
        assert (tmp_path / join["source"]).read_bytes() == before

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["first", "OTHER", "main.other", "levels", "part"])
    @pytest.mark.parametrize("kind", ["table", "view"])
    def test_no_relation_that_was_read_is_replaced(self, first, tmp_path: Path, name: str, kind: str) -> None:
        fill(first, "other", ["id", "b"], OTHER)
        fill(first, "levels", ["l0", "l1"], [("x", "*"), ("y", "*")])
        fill(first, "part", ["id", "a"], FIRST[:3])
        columns = {
            "id": {"role": "keep"},
            "a": {"role": "quasi_identifier", "hierarchy": {"table": "levels"}},
            "b": {"role": "keep"},
        }
        presence = {"type": "delta_presence", "min": 0, "max": 1, "subset": {"table": "part"}}
        keys: dict = {"columns": columns, "privacy": [presence], "if_exists": "replace", "suppression_limit": 1}
        join = {"table": "other", "key": "id"}
        before = first.execute("SELECT table_name, estimated_size FROM duckdb_tables()").fetchall()
        with pytest.raises(TargetError, match="is the source itself"):
            sqlanon.anonymize(first, policy(tmp_path, join, **keys, output={kind: name}))
        with (
            sqlanon.plan(first, policy(tmp_path, join, **keys)) as plan,
            pytest.raises(TargetError, match="is the source itself"),
        ):
            plan.publish(sqlanon.Output(kind, name))
        assert first.execute("SELECT table_name, estimated_size FROM duckdb_tables()").fetchall() == before

    def test_no_file_of_a_hierarchy_or_subset_is_replaced(self, first, tmp_path: Path) -> None:
        (tmp_path / "levels.csv").write_text("x;*\ny;*\n")
        (tmp_path / "part.csv").write_text("id,a\n1,x\n2,y\n")
        columns = {"id": {"role": "keep"}, "a": {"role": "quasi_identifier", "hierarchy": {"file": "levels.csv"}}}
        presence = {"type": "delta_presence", "min": 0, "max": 1, "subset": {"file": "part.csv"}}
        for name in ("levels.csv", "part.csv"):
            before = (tmp_path / name).read_text()
            with pytest.raises(TargetError, match="in use as a source"):
                sqlanon.anonymize(
                    first,
                    policy(
                        tmp_path, columns=columns, privacy=[presence], output={"file": name}, if_exists="replace",
                        suppression_limit=1,
                    ),
                )  # fmt: skip
            assert (tmp_path / name).read_text() == before


class TestUsersConnection:
    @pytest.mark.parametrize("fails", ["", "no solution", "repeated", "clash", "missing"])
    def test_nothing_of_ours_stays(self, first, tmp_path: Path, fails: str) -> None:
        rows = [*OTHER, *OTHER] if fails == "repeated" else OTHER
        join = stored("duckdb", tmp_path, "other", ["id", "a" if fails == "clash" else "b"], rows)
        chosen_policy = policy(
            tmp_path,
            {**join, "key": "nowhere" if fails == "missing" else "id"},
            privacy=[{"type": "k_anonymity", "k": 99 if fails == "no solution" else 1}],
        )
        with nothing_left(first):
            if fails:
                with pytest.raises(sqlanon.SqlanonError):
                    sqlanon.plan(first, chosen_policy)
            else:
                with sqlanon.plan(first, chosen_policy):
                    assert databases(first) == {"memory", "system", "temp"}
        with duckdb.connect(str(tmp_path / "other.duckdb")) as free:  # nobody holds it
            free.execute("CREATE TABLE later (x INTEGER)")

    def test_two_plans_stand_on_one_connection(self, first, tmp_path: Path) -> None:
        join = {**stored("duckdb", tmp_path, "other", ["id", "b"], OTHER), "key": "id"}
        with nothing_left(first):
            one, two = (sqlanon.plan(first, policy(tmp_path, join)) for _ in range(2))
            one.close()
            with two.publish() as release:
                assert Counter(zip(*release.to_arrow().to_pydict().values())) == Counter(JOINED)

    def test_two_threads_plan_on_one_connection(self, first, tmp_path: Path) -> None:
        files = [stored("duckdb", tmp_path, f"o{i}", ["id", "b"], OTHER) for i in range(3)]
        joins = [{**file, "key": "id"} for file in files * 2]
        found: list[Any] = []

        def work(join: dict) -> None:
            try:
                found.append(joined(first.cursor(), policy(tmp_path, join))[1])
            except BaseException as error:
                found.append(error)

        with nothing_left(first):
            threads = [threading.Thread(target=work, args=(join,)) for join in joins]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert found == [Counter(JOINED)] * 6

    def test_a_file_that_the_user_has_attached_stays_attached(self, first, tmp_path: Path) -> None:
        join = {**stored("duckdb", tmp_path, "other", ["id", "b"], OTHER), "key": "id"}
        os.symlink(tmp_path / "other.duckdb", tmp_path / "link.duckdb")
        first.execute(f"ATTACH '{tmp_path / 'other.duckdb'}' AS mine")
        with nothing_left(first):
            for source in ("other.duckdb", "link.duckdb"):
                assert joined(first, policy(tmp_path, {**join, "source": source}))[1] == Counter(JOINED)
        first.execute("INSERT INTO mine.other VALUES ('7', 'still there')")
        chosen_policy = policy(tmp_path, join, output={"file": "other.duckdb"}, if_exists="replace")
        with pytest.raises(TargetError, match="in use as a source"):
            sqlanon.anonymize(first, chosen_policy)

    def test_the_connections_own_file(self, tmp_path: Path) -> None:
        with duckdb.connect(str(tmp_path / "own.duckdb")) as user:
            fill(user, "first", ["id", "a"], FIRST)
            fill(user, "other", ["id", "b"], OTHER)
            join = {"source": "own.duckdb", "table": "other", "key": "id"}
            with nothing_left(user), sqlanon.anonymize(user, policy(tmp_path, join)) as release:
                assert release.ledger.published == len(FIRST)

    def test_a_name_of_ours_that_is_taken(self, first, tmp_path: Path) -> None:
        join = {**stored("duckdb", tmp_path, "other", ["id", "b"], OTHER), "key": "id"}
        first.execute("ATTACH ':memory:' AS sqlanon_joined_0")
        with nothing_left(first):
            assert joined(first, policy(tmp_path, join))[1] == Counter(JOINED)

    def test_several_tables_of_one_file(self, first, tmp_path: Path) -> None:
        stored("duckdb", tmp_path, "other", ["id", "b"], OTHER)
        with duckdb.connect(str(tmp_path / "other.duckdb")) as database:
            database.execute("CREATE TABLE third AS SELECT id, upper(b) AS c FROM other")
        joins = [{"source": "other.duckdb", "table": name, "key": "id"} for name in ("other", "third")]
        with nothing_left(first):
            columns, rows, warnings = joined(first, policy(tmp_path, *joins))
        assert columns == ["id", "a", "b", "c"]
        assert rows == Counter((*row, row[2] and row[2].upper()) for row in JOINED)
        assert "'other.duckdb: other'" in warnings[0] and "'other.duckdb: third'" in warnings[2]


class TestPolicies:
    def made(self, directory: Path, **keys: Any) -> sqlanon.Policy:
        return policy(
            directory,
            {"source": "sub/b.csv", "key": "id", "csv": {"delimiter": "|", "header": True}},
            {"source": "c.duckdb", "table": "s.c", "key": {"id": "x", "a": "y"}},
            {"table": "d", "key": ["id", "a"]},
            {"source": "e.xml", "key": "id", "xml": {"record": "r", "null": ""}},
            source="first.duckdb",
            **keys,
        )

    def test_a_policy_with_joins_is_written_and_read_back(self, tmp_path: Path) -> None:
        chosen_policy = self.made(tmp_path)
        document = json.loads(json.dumps(chosen_policy.to_dict()))
        again = sqlanon.Policy.from_dict(document, base_directory=tmp_path)
        assert again == chosen_policy and again.fingerprint() == chosen_policy.fingerprint()
        (tmp_path / "p.json").write_text(json.dumps(document))
        assert sqlanon.Policy.from_file(tmp_path / "p.json") == chosen_policy

    def test_the_fingerprint_is_of_names_not_of_folders(self, tmp_path: Path) -> None:
        one = policy(tmp_path, {"source": "sub/b.csv", "key": "id"})
        assert one.fingerprint() == policy(Path("/"), {"source": "b.csv", "key": {"id": "id"}}).fingerprint()
        others = [
            {"source": "c.csv", "key": "id"},
            {"source": "b.csv", "key": {"id": "x"}},
            {"source": "b.csv", "key": "a"},
            {"source": "b.csv", "key": "id", "csv": {"delimiter": ";"}},
            {"source": "b.csv", "table": "t", "key": "id"},
        ]
        prints = {policy(tmp_path, other).fingerprint() for other in others}
        assert len(prints | {one.fingerprint(), policy(tmp_path).fingerprint()}) == 7

    def test_a_plan_takes_no_other_join(self, first, tmp_path: Path) -> None:
        fill(first, "other", ["id", "b"], OTHER)
        fill(first, "same", ["id", "b"], OTHER)
        join = {"table": "other", "key": "id"}
        with sqlanon.plan(first, policy(tmp_path, join)) as plan:
            for joins in ([{"table": "same", "key": "id"}], [], [join, {"table": "same", "key": {"b": "id"}}]):
                with pytest.raises(sqlanon.InputError, match="differs in what was encoded"):
                    plan.with_policy(policy(tmp_path, *joins))
            looser = policy(tmp_path, join, suppression_limit="0.5")
            assert plan.with_policy(looser).solution == plan.solution

    def test_a_plan_takes_no_join_of_another_folder(self, first, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        for directory in (tmp_path, tmp_path / "sub"):
            join = {**stored("csv", directory, "other", ["id", "b"], OTHER), "key": "id"}
        with sqlanon.plan(first, policy(tmp_path, join)) as plan:
            with pytest.raises(sqlanon.InputError, match="differs in what was encoded"):
                plan.with_policy(policy(tmp_path / "sub", join))
            plan.with_policy(policy(tmp_path / "sub", {**join, "source": str(tmp_path / "other.csv")}))


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    """A policy file over a CSV of visits, a database of patients and an XML file of wards; 60 visits."""
    visits = [(str(i % 24), "w" + str(i % 5), str(i % 3)) for i in range(60)]
    stored("csv", tmp_path, "visits", ["patient", "ward", "stay"], visits)
    stored("duckdb", tmp_path, "patients", ["id", "sex"], [(str(i), "mf"[i % 2]) for i in range(24)])
    stored("xml", tmp_path, "wards", ["ward", "floor"], [(f"w{i}", str(i // 2)) for i in range(5)])
    document = document_of(
        {"patient": "drop", **suppressed("ward", "sex", "floor"), "stay": diverse(2)},
        k=4,
        source="visits.csv",
        join=[
            {"source": "patients.duckdb", "table": "patients", "key": {"patient": "id"}},
            {"source": "wards.xml", "key": "ward"},
        ],
        suppression_limit=0.1,
        output={"file": "released.parquet"},
    )
    return file_of(tmp_path / "policy.json", document)


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.exit_code, result.output


class TestWholeRuns:
    @pytest.mark.slow
    def test_run_check_and_verify(self, hospital: Path) -> None:
        released = hospital.with_name("released.parquet")
        code, output = run("run", hospital, "--json")
        assert code == 0, output
        assert json.loads(output)["records"] == 60 and json.loads(output)["optimal"]
        check = ("check", released, "--qi", "ward,sex,floor", "--sensitive", "stay:distinct_l_diversity:l=2")
        assert run(*check, "--k", 4)[0] == 0
        assert run(*check, "--k", 40)[0] == 1
        code, output = run("verify", f"{released}.certificate.json", hospital)
        assert code == 0 and "The certificate holds" in output
        code, output = run("explain", hospital)
        assert code == 0 and "sqlanon_joined" in output
        stored_again = [(str(i), "mf"[i % 5 == 0]) for i in range(24)]
        hospital.with_name("patients.duckdb").unlink()
        stored("duckdb", hospital.parent, "patients", ["id", "sex"], stored_again)
        code, output = run("verify", f"{released}.certificate.json", hospital)
        assert code == 1, output

    @pytest.mark.slow
    def test_the_proof_of_any_models_over_joined_sources_holds(self, hospital: Path, tmp_path: Path) -> None:
        chosen_policy = sqlanon.Policy.from_file(hospital)
        with sqlanon.anonymize(None, chosen_policy) as release:
            assert release.certificate.optimal
        found = sqlanon.verify(f"{release.output['file']}.certificate.json", chosen_policy)
        assert found.holds and found.optimal, found.faults

    def test_the_script_replays(self, hospital: Path) -> None:
        """Where a format of ours reads a file, the operator loads its records; the rest runs as it stands."""
        chosen_policy = sqlanon.Policy.from_file(hospital)
        with sqlanon.anonymize(None, chosen_policy) as release:
            wanted, script = Counter(zip(*release.to_arrow().to_pydict().values())), release.sql
        assert "load the records of the file here" in script and ".partial" not in script
        head, _, tail = script.partition("load the records of the file here\n")
        made_table, _, after = tail.partition(";\n")
        with duckdb.connect() as fresh:
            fresh.execute(head + "\n" + made_table)
            wards = Xml().read(hospital.with_name("wards.xml"), {}).read_all()
            fresh.register("wards", wards)
            fresh.execute("INSERT INTO sqlanon_joined_1 SELECT * FROM wards")
            fresh.execute(after)
            assert Counter(fresh.fetchall()) == wanted

    def test_the_script_of_a_database_file_names_no_partial_file(self, hospital: Path) -> None:
        chosen_policy = sqlanon.Policy.from_dict(
            {**sqlanon.Policy.from_file(hospital).to_dict(), "output": {"file": "released.duckdb"}},
            base_directory=hospital.parent,
        )
        with sqlanon.anonymize(None, chosen_policy) as release:
            assert ".partial" not in release.sql and "sqlanon_release" not in release.sql

    def test_a_subset_by_a_joined_column(self, first, tmp_path: Path) -> None:
        rows = [("1", "p", True), ("2", "q", False), ("", "p", True)]
        fill(first, "other", ["id", "b", "member"], rows, "VARCHAR", "VARCHAR", "BOOLEAN")
        first.execute("DELETE FROM first WHERE id IS NULL OR id = '7'")
        columns = {**suppressed("a", "b"), "id": {"role": "drop"}, "member": {"role": "drop"}}
        presence = {"type": "delta_presence", "min": 0, "max": 1, "subset": {"column": "member"}}
        chosen_policy = policy(tmp_path, {"table": "other", "key": "id"}, columns=columns, privacy=[presence])
        with sqlanon.anonymize(first, chosen_policy) as release:
            assert release.ledger.records == 3
            assert release.to_arrow().to_pydict() == {"a": ["x"] * 3, "b": ["p"] * 3}


def everything_told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error.__context__) + repr(vars(error))


def spoilt(kind: str, directory: Path) -> None:
    """A file that cannot be joined, with the canary in it."""
    texts: dict[str, str] = {
        "ragged.csv": f"id,b\n1,{CANARY}\n2,3,{CANARY}\n",
        "late.csv": "id,b\n" + f"1,{CANARY}\n" * 30_000 + f"1,2,{CANARY}\n",
        "headless.csv": f"1,{CANARY}\n2,{CANARY}\n",
        "quotes.csv": f'id,b\n1,"{CANARY}\n',
        "bytes.csv": "id,b\n1,ü" + CANARY + "\n",
        "broken.xml": f"<d><r><id>1</id><b>{CANARY}</r></d>",
        "text.parquet": CANARY,
        "repeated.csv": f"id,b\n{CANARY},1\n{CANARY},2\n",
        "clash.csv": f"id,a\n1,{CANARY}\n",
    }
    (directory / kind).write_bytes(texts[kind].encode("latin-1"))


SPOILT = (
    "ragged.csv", "late.csv", "headless.csv", "quotes.csv", "bytes.csv", "broken.xml", "text.parquet", "repeated.csv",
    "clash.csv",
)  # fmt: skip


class TestCanary:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", SPOILT)
    @pytest.mark.parametrize("place", ["joined", "first"])
    def test_no_error_holds_a_value(self, first, tmp_path: Path, name: str, place: str) -> None:
        spoilt(name, tmp_path)
        fill(first, "other", ["id", "b"], [(CANARY, CANARY)])
        if place == "joined":
            source, built = first, policy(tmp_path, {"source": name, "key": "id"})
        else:
            stored("parquet", tmp_path, "o", ["id", "c"], [(CANARY, CANARY)] * 2)
            source, built = None, policy(tmp_path, {"source": "o.parquet", "key": "id"}, source=name, table=None)
        with nothing_left(first), pytest.raises(sqlanon.SqlanonError) as caught:
            sqlanon.plan(source, built)
        assert isinstance(caught.value, sqlanon.InputError), caught.value
        assert CANARY not in everything_told(caught.value) and "Hint: " in str(caught.value)

    def test_no_key_or_type_is_told(self, connection, tmp_path: Path) -> None:
        fill(connection, "first", ["id", "a"], [(CANARY, CANARY), ("x", "y")], f"ENUM('{CANARY}', 'x')", "VARCHAR")
        fill(connection, "other", ["id", "b"], [(CANARY, CANARY), ("z", CANARY)])
        _, _, warnings = joined(connection, policy(tmp_path, {"table": "other", "key": "id"}))
        assert len(warnings) == 3 and CANARY not in " ".join(warnings)

    def test_no_log_journal_manifest_or_output_holds_a_value(
        self, first, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        rows = [(CANARY, CANARY), ("1", "p"), ("2", CANARY), ("", "q")]
        joins = [
            {**stored(kind, tmp_path, f"o_{kind}", ["id", f"b_{kind}"], rows), "key": "id"}
            for kind in ("duckdb", "csv", "parquet", "xml")
        ]
        columns = {"id": {"role": "drop"}, **suppressed("a"), **{f"b_{k}": {"role": "drop"} for k in KINDS}}
        chosen_policy = policy(tmp_path, *joins, columns=columns, output={"file": "out.parquet"})
        with sqlanon.anonymize(first, chosen_policy) as release:
            journal = repr(release.plan._session.source.engine.journal.entries)
            script = release.sql
        reported = [caplog.text, journal, script, *release.warnings, *capfd.readouterr(), chosen_policy.fingerprint()]
        reported += [(tmp_path / f"out.parquet.{name}.json").read_text() for name in ("manifest", "certificate")]
        assert not any(CANARY in text for text in reported)
        assert CANARY.encode() not in (tmp_path / "out.parquet").read_bytes()


def test_the_statements_of_a_joined_source_are_these(first, tmp_path: Path) -> None:
    join = stored("duckdb", tmp_path, "other", ["id", "b"], OTHER)
    with open_policy_source(first, policy(tmp_path, {**join, "key": "id"})) as opened:
        assert [entry.name for entry in opened.engine.journal.entries] == [
            "private relations", "collations", "relations", "describe", "databases", "databases", "databases", "attach",
            "collations", "relations", "describe", "repeated keys", "join",
            "records before the join", "joined records", "rows to join", "used rows", "drop", "drop column", "detach",
            "describe",
        ]  # fmt: skip


def test_the_order_of_the_rows_changes_nothing(connection, tmp_path: Path) -> None:
    columns = {"id": {"role": "drop"}, **suppressed("a", "b")}
    keys: dict = {"columns": columns, "privacy": [{"type": "k_anonymity", "k": 6}], "suppression_limit": "0.2"}
    found = []
    for number, order in enumerate((list, sorted, reversed)):
        fill(connection, f"f{number}", ["id", "a"], list(order([(str(i % 7), str(i % 3)) for i in range(30)])))
        fill(connection, f"o{number}", ["id", "b"], list(order([(str(i), str(i % 2)) for i in range(6)])))
        chosen_policy = policy(tmp_path, {"table": f"o{number}", "key": "id"}, **{**keys, "table": f"f{number}"})
        with sqlanon.plan(connection, chosen_policy) as plan:
            found.append((plan.solution, plan.ledger))
    assert found[0] == found[1] == found[2]
