"""A table that is not there: the message lists those that are, by the names that a policy may write."""

import sqlite3
from pathlib import Path

import duckdb
import pytest
from command_line import sqlanon as shell
from policies import document_of, quasi
from postgres_server import Server, execute

import sqlanon
from sqlanon.core.source.opening import open_source

CREATED = 'CREATE TABLE patients (a INT); CREATE VIEW wards AS SELECT 1 AS a; CREATE TABLE "odd.name" (a INT);'


def hint(source: object, table: str | None) -> str:
    with pytest.raises(sqlanon.SourceError) as caught:
        open_source(source, table)
    return caught.value.hint


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(f"{CREATED} CREATE SCHEMA s; CREATE TABLE s.visits (a INT); INSERT INTO patients VALUES (1)")
    return tmp_path / "d.duckdb"


def test_duckdb(file: Path) -> None:
    assert hint(file, "nowhere") == "the source has '\"odd.name\"', 'patients', 's.visits', 'wards'."
    assert hint(file, "patient").startswith("did you mean 'patients'? the source has")
    assert hint(file, None) == hint(file, "nowhere")
    for name in ('"odd.name"', "patients", "s.visits", "wards"):
        open_source(file, name).engine.close()


def test_a_connection(file: Path) -> None:
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "CREATE TEMPORARY TABLE mine (a INT); ATTACH ':memory:' AS other; CREATE TABLE other.o (a INT)"
        )
        assert "'other.main.o', 'patients', 's.visits', 'wards'" in hint(connection, "nowhere")


def test_sqlite(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "d.sqlite") as connection:
        connection.executescript(f"{CREATED} CREATE TABLE sqlitedata (a INTEGER PRIMARY KEY AUTOINCREMENT);")
    assert hint(tmp_path / "d.sqlite", "nowhere") == "the source has '\"odd.name\"', 'patients', 'sqlitedata', 'wards'."


def files_as_tables(folder: Path) -> list[str]:
    """Names by which DuckDB would read a file, or a relation of its own; the last two files are not there."""
    (folder / "else").mkdir()
    (folder / "else/secret.csv").write_text("Jane Doe,19\nb,2\n")
    return [
        f"{folder}/./else/secret.csv", f"{folder}/else/secret.csv", f'"{folder}/else/secret.csv"', "else.secret.csv",
        "information_schema.tables", "system.information_schema.tables", "pg_catalog.pg_class", "duckdb_settings",
        "memory.main.patients", f"{folder}/./else/none.csv", f"{folder}/else/none.csv",
    ]  # fmt: skip


def refusals(source: object, tables: list[str]) -> set[str]:
    """What is said of each table, with its name taken out; a path with several dots is no name at all."""
    said = set()
    for name in tables:
        with pytest.raises((sqlanon.SourceError, sqlanon.InputError)) as caught:
            open_source(source, name)
        if "is no name of a relation" in str(caught.value):
            assert name.count(".") > 2 and "a file is named as a source, not as a table" in str(caught.value)
        else:
            said.add(str(caught.value).replace(repr(name), ""))
    return said


def test_a_file_is_no_table_of_a_duckdb_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    [said] = refusals(file, files_as_tables(file.parent))
    assert "a file is named as a source, not as a table" in said, "one text, whatever files there are"


def test_a_file_is_no_table_of_a_connection(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    frame = duckdb.sql("SELECT 1 AS a")
    with duckdb.connect(str(file)) as connection:
        [said] = refusals(connection, [*files_as_tables(file.parent), "frame"])
        assert "a file is named as a source" in said
        connection.register("frame", frame.arrow())
        open_source(connection, "frame").engine.close()
        for name in ("d.main.patients", "main.PATIENTS", "d.patients", "D.s.visits"):
            open_source(connection, name).engine.close()


def test_a_file_is_no_hierarchy_and_no_joined_table(file: Path) -> None:
    secret = files_as_tables(file.parent)[0]
    policy = document_of({"a": quasi({"table": secret})}, k=1, source=str(file), table="patients")
    joined = {**policy, "join": [{"table": secret, "key": "a"}], "columns": {"a": {"role": "keep"}}}
    for document in (policy, joined):
        with pytest.raises(sqlanon.SqlanonError) as caught:
            sqlanon.plan(None, document)
        assert "Jane" not in str(caught.value) and "a file is named as a source" in str(caught.value)


def test_functions_and_own_tables_of_sqlite_are_no_tables(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "d.sqlite") as connection:
        connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT)")
    tables = ["pragma_database_list", "pragma_function_list", "sqlite_schema", "sqlite_sequence", "main.dbstat"]
    [said] = refusals(tmp_path / "d.sqlite", tables)
    assert "lists no table or view" in said


def test_a_run_refuses_a_path_as_a_table(file: Path) -> None:
    policy = file.parent / "policy.yaml"
    written = (
        "source: d.duckdb\ntable: {table}\ncolumns: {{a: {{role: keep}}}}\nprivacy: [{{type: k_anonymity, k: 2}}]\n"
    )
    tables = files_as_tables(file.parent)
    for table in (tables[0], "../../../etc/passwd"):
        policy.write_text(written.format(table=table))
        run = shell("run", policy, "--dry-run")
        assert run.returncode == 2 and "Traceback" not in run.stderr and "Hint:" in run.stderr, run.stderr
        assert "root:" not in run.stderr and "Jane" not in run.stderr
        asked = shell("profile", file, "--table", table)
        assert asked.returncode == 2 and "Traceback" not in asked.stderr and "Hint:" in asked.stderr


def test_postgres(postgres: Server) -> None:
    execute(postgres, *CREATED.split("; "), "CREATE SCHEMA s", "CREATE TABLE s.visits (a INT)", "CREATE ROLE r LOGIN")
    assert hint(postgres.uri(), "nowhere") == "the source has '\"odd.name\"', 'patients', 's.visits', 'wards'."
    execute(postgres, "GRANT USAGE ON SCHEMA s TO r", "GRANT SELECT (a) ON s.visits TO r")
    assert hint(postgres.uri(user="r"), "nowhere") == "the source has 's.visits'."
    servers = ("pg_catalog.pg_class", "information_schema.tables", '"pg_catalog".pg_authid', "pg_toast.pg_toast_1255")
    [said] = refusals(postgres.uri(), list(servers))
    assert "lists no table or view of this name" in said


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        for number in range(100, 200):
            connection.execute(f"CREATE TABLE t{number} (a INT)")
    assert hint(tmp_path / "d.duckdb", "nowhere").endswith("'t129', … (100 in all).")


def test_check_speaks_of_no_policy(file: Path, tmp_path: Path) -> None:
    for arguments in ([file], [file, "nowhere"], [tmp_path / "none.csv"], [tmp_path], ["/dev/null"]):
        done = shell("check", *arguments, "--qi", "a", "--k", 2)
        printed = done.stderr.replace(str(tmp_path), "")
        assert done.returncode == 2 and "policy" not in printed and "key " not in printed, printed
