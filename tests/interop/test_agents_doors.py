"""``sqlanon mcp``: no file but those of the folder is read, whatever a question, a database or a policy names."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest
from policies import document_of, quasi

import sqlanon
from sqlanon.commands.agents import tools as asking
from sqlanon.commands.agents.places import SOURCES, TEXTS, Places
from sqlanon.commands.agents.sieve import Sieve
from sqlanon.commands.agents.tools import Tools
from sqlanon.core.source.opening import open_source
from sqlanon.errors import EngineError, InputError, SourceChangedError, SourceError, SqlanonError, UnsupportedError

SECRET = "geheimnis"
QI = ["a"]


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A folder with a database of 40 records, and beside it files that no agent may read."""
    folder = tmp_path / "served"
    folder.mkdir()
    (tmp_path / "secret.csv").write_text(f"{SECRET},b\n" + "1,2\n" * 40)
    with duckdb.connect(str(folder / "d.duckdb")) as database:
        database.execute("CREATE TABLE t AS SELECT i % 2 AS a, i AS b FROM range(40) AS r(i)")
        database.execute(f"COPY (SELECT 1 AS {SECRET} FROM range(40)) TO '{tmp_path}/secret.parquet'")
        database.execute(f"ATTACH '{tmp_path}/other.duckdb' AS other")
        database.execute(f"CREATE TABLE other.t AS SELECT 1 AS {SECRET} FROM range(40)")
    return folder


def tools_of(folder: Path, **options: Any) -> Tools:
    return Tools(Places(folder), Sieve(5), SOURCES, **options)


VIEWS = {
    "a function": "SELECT * FROM read_csv('{0}/secret.csv')",
    "text": "SELECT content AS a FROM read_text('{0}/secret.csv')",
    "bytes": "SELECT content AS a FROM read_blob('{0}/secret.csv')",
    "a quoted name": "SELECT * FROM '{0}/secret.csv'",
    "a quoted Parquet file": "SELECT * FROM '{0}/secret.parquet'",
    "metadata": "SELECT name AS a FROM parquet_schema('{0}/secret.parquet')",
    "a dialect": "SELECT * FROM sniff_csv('{0}/secret.csv')",
    "a listing": "SELECT file AS a FROM glob('{0}/*')",
    "a query": "SELECT * FROM query('SELECT * FROM read_csv(''{0}/secret.csv'')')",
    "a table macro": "SELECT * FROM reads()",
    "a macro": "SELECT told() AS a FROM t",
    "secrets": "SELECT name AS a FROM duckdb_secrets()",
    "a computed name": "SELECT * FROM query_table('{0}/secret.csv')",
    "another database": "SELECT * FROM read_duckdb('{0}/other.duckdb', table_name='t')",
    "the process": "SELECT content AS a FROM read_blob('/proc/self/environ')",
    "a way round": "SELECT content AS a FROM read_text('{0}/served/d.duckdb/../../secret.csv')",
}


def written_view(folder: Path, query: str) -> None:
    with duckdb.connect(str(folder / "d.duckdb")) as database:
        path = folder.parent
        database.execute("CREATE MACRO later() AS TABLE SELECT 1 AS a")
        database.execute(f"CREATE MACRO reads() AS TABLE SELECT * FROM read_csv('{path}/secret.csv')")
        database.execute(f"CREATE MACRO told() AS (SELECT min(content) FROM read_text('{path}/secret.csv'))")
        database.execute("CREATE VIEW v AS FROM later()")  # what it reads is looked at when it is read
        database.execute(f"CREATE OR REPLACE MACRO later() AS TABLE {query.format(path)}")


@pytest.mark.parametrize("way", VIEWS)
def test_a_view_of_a_served_database_reads_no_file(served: Path, way: str) -> None:
    written_view(served, VIEWS[way])
    tools = tools_of(served)
    try:  # of secrets there are none, and none is looked for
        answer = tools.profile("d.duckdb", "v")
    except SqlanonError as error:
        assert SECRET not in str(error)
    else:
        assert way == "secrets" and answer["records"] == "<5"
    if way not in ("secrets", "a macro", "text", "bytes", "a listing", "metadata", "a dialect", "the process"):
        with pytest.raises(SqlanonError, match="PermissionException"):
            tools.risk("d.duckdb", [SECRET], "v")


@pytest.mark.parametrize(
    "table",
    [
        "{0}/secret.csv", "{0}/./secret.csv", '"{0}/secret.csv"', "{0}/secret.parquet", "{0}/./none.csv",
        "../../../etc/passwd", "other.main.t", "other.t", "memory.main.t", "temp.main.t", "system.main.duckdb_views",
        "information_schema.tables", "system.information_schema.tables", "pg_catalog.pg_class", "duckdb_secrets",
    ],
)  # fmt: skip
def test_a_table_is_a_listed_relation(served: Path, table: str) -> None:
    tools = tools_of(served)
    for ask in (
        lambda: tools.profile("d.duckdb", table.format(served.parent)),
        lambda: tools.risk("d.duckdb", QI, table.format(served.parent)),
        lambda: tools.check("d.duckdb", QI, table=table.format(served.parent)),
    ):
        with pytest.raises(SqlanonError) as caught:
            ask()
        assert "no table or view" in str(caught.value) or "no name of a relation" in str(caught.value)


def test_a_name_is_compared_as_the_database_compares_it(served: Path) -> None:
    """The sign of Kelvin in small letters is a k: such a table is no reason to look for a file of the other name."""
    with duckdb.connect(str(served / "d.duckdb")) as database:
        database.execute('CREATE TABLE "\N{KELVIN SIGN}.csv" AS FROM t')
    with pytest.raises(SourceError, match="lists no table"):
        open_source(served / "d.duckdb", '"k.csv"')
    with open_source(served / "d.duckdb", '"\N{KELVIN SIGN}.CSV"') as opened:
        assert opened.types == {"a": "BIGINT", "b": "BIGINT"}


def test_an_engine_that_is_confined_cannot_be_opened_again(served: Path) -> None:
    places = Places(served)
    with places.opened([served / "d.duckdb"]), open_source(served / "d.duckdb", "t") as opened:
        for statement in (
            "SET enable_external_access = true", "SET threads = 1", "SET allowed_paths = ['/etc/passwd']",
            "LOAD httpfs", "INSTALL httpfs", f"ATTACH '{served.parent}/other.duckdb'",
            f"COPY (SELECT 1) TO '{served}/out.csv'",
            "CREATE TABLE sqlanon_source.x (a INT)", f"FROM '{served.parent}/secret.csv'",
            "CREATE PERSISTENT SECRET s (TYPE s3)", "FROM served",
        ):  # fmt: skip
            with pytest.raises(EngineError):
                opened.engine.run("attack", statement)
    assert not (served / "out.csv").exists()
    with open_source(served.parent / "secret.parquet", None) as opened:
        assert list(opened.types) == [SECRET], "afterwards nobody is confined"


def policy(served: Path, name: str = "p.yaml", **changes: Any) -> str:
    """Write a policy; a key that is None is left out."""
    document = document_of({"a": "suppress", "b": "drop"}, k=5, source="d.duckdb", table="t")
    written = {key: value for key, value in {**document, **changes}.items() if value is not None}
    (served / name).write_text(json.dumps(written))
    return name


def elsewhere(served: Path) -> dict[str, dict[str, Any]]:
    outside = served.parent
    (outside / "h.csv").write_text("0;*\n1;*\n")
    (served / "linked.csv").symlink_to(outside / "h.csv")
    (served / "folder").mkdir()
    (served / "folder/x.parquet").symlink_to(outside / "secret.parquet")
    listed = {"role": "quasi_identifier", "hierarchy": {"file": "../h.csv"}}
    flat = {"columns": {SECRET: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}, "table": None}
    return {
        "source": {"source": "../other.duckdb", **flat, "table": "t"},
        "absolute": {"source": str(outside / "secret.parquet"), **flat},
        "files": {"files": "../secret*.parquet", "source": None, **flat},
        "variable": {"source": "${SQLANON_TEST_PLACE}", **flat},
        "linked folder": {"source": "folder", **flat},
        "server": {"source": "postgresql://localhost/x"},
        "object": {"source": "https://localhost/x.parquet", **flat},
        "hierarchy": {"columns": {"a": listed, "b": {"role": "drop"}}},
        "linked hierarchy": {"columns": {"a": {**listed, "hierarchy": {"file": "linked.csv"}}, "b": {"role": "drop"}}},
        "join": {"join": [{"source": "../other.duckdb", "table": "t", "key": {"a": SECRET}}]},
        "subset": {"privacy": [{"type": "delta_presence", "min": 0, "max": 1, "subset": {"file": "../secret.csv"}}]},
        "cluster": {"source": "folder", "engine": {"name": "spark"}, **flat},
        "temporary": {"engine": {"temp_directory": str(outside)}},
    }


@pytest.mark.parametrize(
    "way",
    ["source", "absolute", "files", "variable", "linked folder", "server", "object", "hierarchy", "linked hierarchy",
     "join", "subset", "cluster", "temporary"],
)  # fmt: skip
def test_a_policy_reads_the_folder_alone(served: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLANON_TEST_PLACE", str(served.parent / "secret.parquet"))
    name = policy(served, **elsewhere(served)[way])
    tools = tools_of(served)
    for ask in (tools.plan, tools.explain):
        with pytest.raises(UnsupportedError, match="outside the folder"):
            ask(name)
    if way in ("source", "absolute", "variable", "hierarchy", "files"):
        assert tools_of(served, elsewhere=True).plan(name)["smallest_class"]


def test_a_policy_may_read_what_lies_in_the_folder(served: Path) -> None:
    (served / "h.csv").write_text("0;*\n1;*\n")
    columns = {"a": {"role": "quasi_identifier", "hierarchy": {"file": "h.csv"}}, "b": {"role": "drop"}}
    assert tools_of(served).plan(policy(served, columns=columns))["levels"] == {"a": 0}
    written_view(served, VIEWS["a function"])
    flat = {SECRET: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "b": {"role": "drop"}}
    for ask in (tools_of(served).plan, tools_of(served).explain):
        with pytest.raises(SqlanonError, match="PermissionException"):
            ask(policy(served, table="v", columns=flat))
    macro = policy(served, table="v", columns={**columns, "a": quasi({"table": "v"})})
    with pytest.raises(SqlanonError):
        tools_of(served).plan(macro)


def test_patterns_name_files_of_the_folder_alone(served: Path) -> None:
    with duckdb.connect(str(served / "d.duckdb")) as database:
        for number in (1, 2):
            database.execute(f"COPY t TO '{served}/part{number}.parquet'")
    flat = {"source": None, "table": None}
    assert tools_of(served).plan(policy(served, **flat, files="part*.parquet"))["all"] == 80
    (served / "link").symlink_to(served.parent)
    for files in ("lin?/secret.parquet", "lin?/none.parquet", "**/none.parquet", "lin?/serv?d/none.parquet"):
        with pytest.raises(UnsupportedError, match="outside the folder"):
            tools_of(served).plan(policy(served, **flat, files=files))


def test_a_log_that_is_a_link_is_not_read(served: Path) -> None:
    (served / "h.csv").write_text("0;*\n1;*\n")
    (served / "h.csv.wal").symlink_to(served.parent / "secret.csv")
    written_view(served, "SELECT * FROM read_csv('{0}/served/h.csv.wal')")
    columns = {"c": {"role": "quasi_identifier", "hierarchy": {"file": "h.csv"}}}
    with pytest.raises(SqlanonError) as caught:
        tools_of(served).plan(policy(served, table="v", columns=columns))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "named",
    [
        {"columns": {"a": {"role": "quasi_identifier", "hierarchy": "/etc/FILE"}}},
        {"columns": {"a": {"role": "quasi_identifier", "hierarchy": {"zip3": {"populations": "/etc/FILE"}}}}},
        {"privacy": [{"type": "delta_presence", "min": 0, "max": 1, "subset": "/etc/FILE"}]},
        {"source": "/etc/FILE"}, {"files": "/etc/FILE*", "source": None, "table": None}, {"key": {"file": "/etc/FILE"}},
        {"source": "${HOME}/FILE"}, {"join": [{"source": "../FILE", "key": {"a": "a"}}]},
    ],
)  # fmt: skip
def test_no_answer_shows_which_files_exist_elsewhere(served: Path, named: dict[str, Any]) -> None:
    said = set()
    for file in ("passwd", "none"):
        changes = json.loads(json.dumps(named).replace("FILE", file))
        with pytest.raises(UnsupportedError) as caught:
            tools_of(served).plan(policy(served, **changes))
        said.add(str(caught.value))
    assert len(said) == 1


def test_a_policy_reads_no_first_line_of_a_csv_file_that_is_not_served(served: Path) -> None:
    (served / "people.csv").write_text("Jane Doe,19\n" + "b,2\n" * 40)
    listed = {"19": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    flat = {"source": None, "table": None, "columns": listed}
    for changes in ({**flat, "source": "people.csv"}, {**flat, "files": "people.c?v"},
                    {"join": [{"source": "people.csv", "key": {"b": "19"}}]}):  # fmt: skip
        for options in ({}, {"elsewhere": True}):
            with pytest.raises(UnsupportedError, match="--headers") as caught:
                tools_of(served, **options).plan(policy(served, **changes))
            assert "Jane" not in str(caught.value)
    shown = Tools(Places(served), Sieve(5), SOURCES + TEXTS)
    with pytest.raises(SqlanonError, match="have no role"):
        shown.plan(policy(served, **flat | {"source": "people.csv"}))


def test_a_table_of_a_lakehouse_names_its_files_itself(served: Path) -> None:
    (served / "lake/_delta_log").mkdir(parents=True)
    added = {"add": {"path": f"{served.parent}/secret.parquet", "size": 1, "dataChange": True}}
    (served / "lake/_delta_log/00000000000000000000.json").write_text(json.dumps(added))
    with pytest.raises(UnsupportedError, match="lakehouse"):
        tools_of(served).plan(policy(served, source="lake"))


def test_functions_and_files_of_sqlite(served: Path) -> None:
    with sqlite3.connect(served / "s.sqlite") as database:
        database.execute("CREATE TABLE t AS SELECT 1 AS a FROM pragma_function_list LIMIT 40")
        database.execute(f"CREATE VIEW loads AS SELECT load_extension('{served.parent}/x') AS a FROM t")
        database.execute(f"CREATE VIEW reads AS SELECT readfile('{served.parent}/secret.csv') AS a FROM t")
        database.execute("CREATE VIEW lists AS SELECT file AS a FROM pragma_database_list, t")
    tools = tools_of(served)
    assert tools.risk("s.sqlite", QI, "t")["records"] == 40
    for table in ("loads", "reads", "lists", "pragma_database_list", "sqlite_schema", "sqlite_master", "other.t"):
        with pytest.raises(SqlanonError):
            tools.risk("s.sqlite", QI, table)
    with (
        Places(served).opened([served / "s.sqlite"]),
        open_source(served / "s.sqlite", "t") as opened,
        pytest.raises(EngineError),
    ):
        opened.engine.run("attack", f"ATTACH '{served.parent}/x.sqlite' AS x")


def test_a_file_that_is_replaced_while_it_is_asked_about_is_noticed(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = asking.risk

    def replaced(source: str, *given: Any, **named: Any) -> Any:
        path = Path(source)
        path.unlink()
        path.symlink_to(served.parent / "other.duckdb")
        return measured(source, [SECRET], **named)

    monkeypatch.setattr(asking, "risk", replaced)
    with pytest.raises(SourceChangedError):
        tools_of(served).risk("d.duckdb", QI, "t")


@pytest.mark.parametrize("keys", [{"like": "../{}"}, {"periods": {"column": "a", "every": "day"}}])
def test_no_policy_follows_a_release(served: Path, keys: dict[str, Any]) -> None:
    """What is at the path of a manifest, and whether anything is, is no answer to an agent."""
    told = set()
    for name in ("secret.csv", "nothing.json"):
        own = {key: value.format(name) if isinstance(value, str) else value for key, value in keys.items()}
        columns = {"a": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
        if "periods" in keys:
            columns = {"a": {"role": "quasi_identifier"}}
        document = {"source": "d.duckdb", "table": "t", "columns": columns, "undeclared": "drop"}
        document |= {"privacy": [{"type": "k_anonymity", "k": 5}], **own}
        (served / "p.json").write_text(json.dumps(document))
        with pytest.raises(UnsupportedError, match="the operator alone reads") as caught:
            tools_of(served).plan("p.json")
        told.add(str(caught.value))
    assert len(told) == 1


def test_counts_are_told_from_one_release_alone(served: Path) -> None:
    """Exactly what the file shows; no other file, no changed one, no smaller threshold, nothing of the source."""
    pytest.importorskip("highspy", reason="needs HiGHS: the extra exact")
    with duckdb.connect(str(served / "d.duckdb")) as database:
        database.execute(
            "CREATE TABLE p AS SELECT i // 2 AS person, CASE WHEN i % 9 = 0 THEN 'x' ELSE 'y' END AS a, "
            "CASE WHEN i < 63 THEN 'm' ELSE NULL END AS b FROM range(72) AS r(i)"
        )
    document = {"source": str(served / "d.duckdb"), "table": "p", "counts": {"t": {"dimensions": ["a", "b"]}}}
    release = sqlanon.counts(None, document | {"output": {"file": str(served / "c.parquet")}})
    (served / "d.duckdb").unlink()
    tools = tools_of(served, tables=True)
    assert tools.list_files()["counts"] == ["c.parquet"]
    told = tools.counts("c.parquet")
    shown = {(c["a"], c["b"]): c["count"] for c in told["cells"]}
    rows = release.to_arrow().to_pylist()
    assert shown == {(r["a"], r["b"] or "NULL"): "suppressed" if r["suppressed"] else r["count"] for r in rows}
    assert "suppressed" in shown.values() and told["counts"] == "records" and not told["more"]
    [one] = tools.counts("c.parquet", {"a": "Total", "b": "NULL"})["cells"]
    assert one["count"] == shown["Total", "NULL"]
    assert tools.counts("c.parquet", {"a": "' OR 1=1"})["cells"] == []
    for name, where in (
        ("../secret.parquet", {}),
        ("d.duckdb", {}),
        ("c.parquet", {"count": "9"}),
        ("c.parquet", {"z": ""}),
    ):
        with pytest.raises(InputError) as refused:
            tools.counts(name, where)
        assert SECRET not in str(refused.value)
    for others in (
        Tools(Places(served), Sieve(6), SOURCES, tables=True),
        tools_of(served, tables=True, entity="person"),
    ):
        with pytest.raises(UnsupportedError, match="below the operator's k"):
            others.counts("c.parquet")
    with duckdb.connect() as database:  # a file with other rows beside the same manifest
        database.execute(f"COPY (SELECT * REPLACE (7 AS count) FROM '{served}/c.parquet') TO '{served}/d.parquet'")
    (served / "d.parquet").replace(served / "c.parquet")
    with pytest.raises(InputError, match="not the release"):
        tools.counts("c.parquet")
    manifest = served / "c.parquet.manifest.json"
    manifest.replace(served.parent / "m.json")
    manifest.symlink_to(served.parent / "m.json")  # a manifest elsewhere is none
    assert tools.list_files()["counts"] == [] and "counts" not in tools_of(served).list_files()
