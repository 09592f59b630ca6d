"""Lookups of a script as files: what is loaded from them is what the hierarchy lists, and scripts stay small."""

import json
import random
import re
import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dialect_world import Table, in_duckdb, literal, multiset
from policies import document_of, quasi
from postgres_server import Server, binaries

import sqlanon
from sqlanon.cli import main
from sqlanon.interop.scripts import listed_rows
from sqlanon.interop.scripts.dialect_script import dialect_script
from sqlanon.interop.scripts.dialects import DIALECTS, dialect_named
from sqlanon.interop.scripts.parts import RELEASE, of_run
from sqlanon.interop.scripts.warehouse import script_in, script_parts

HOSTILE = (
    "", "-", "=", "=x", 'a"b', "O'Hara", "x\ny", "c\\d", "\\.", "\\N", "NULL", "a,b", "a;b", "$x", "é", " blank ",
    "tab\tx", "r\rq", "r\r\nq",
)  # fmt: skip
LOADING = [dialect.name for dialect in DIALECTS if dialect.loads is not None]


def world(rows: int = 700) -> tuple[Table, dict[str, Any]]:
    """A table and its policy, whose hierarchy has ``rows`` rows."""
    rng = random.Random(2)
    plain = [f"v{i}" for i in range(rows - len(HOSTILE))]
    values = [rng.choice([*HOSTILE, None]) if rng.random() < 0.5 else rng.choice(plain[:40]) for _ in range(900)]
    table = Table("people", {"a": "VARCHAR", "b": "INTEGER"}, [(value, rng.randrange(3)) for value in values])
    levels = {text: ["u", "*"] for text in HOSTILE} | {text: [f"g{text[-1]}", "*"] for text in plain}
    policy = document_of(
        {"a": quasi({"levels": levels}, max_level=0), "b": "suppress"}, k=3, table="people", suppression_limit=1
    )
    return table, policy


@pytest.fixture(scope="module")
def few() -> Iterator[sqlanon.Plan]:
    """The plan of a hierarchy that scripts list, and that becomes a file only if a folder is given."""
    table, policy = world()
    with sqlanon.plan(in_duckdb(table), policy) as plan:
        yield plan


def written(plan: sqlanon.Plan, dialect: str, folder: Path) -> Path:
    """The script of a plan, with its files in the folder ``lookups`` beside it."""
    script = folder / "script.sql"
    script.write_text(script_in(plan, dialect, lookups=str(folder / "lookups"), run=RUN), encoding="utf-8")
    assert LISTS not in script.read_text(encoding="utf-8")
    return script


def released(plan: sqlanon.Plan) -> Counter[tuple[str | None, ...]]:
    rows = multiset(plan._session.engine.run("release", plan._release_query()))
    assert len({value for value, _ in rows} & set(HOSTILE)) > 10
    return rows


LISTS = "'v600'"
RUN = "0a1b2c3d"
RELEASED = of_run(RELEASE, RUN)
AS_JSON = f"SELECT json_array(a, CAST(b AS TEXT)) FROM {RELEASED}"


def test_duckdb_loads_the_files(few: sqlanon.Plan, tmp_path: Path) -> None:
    connection = in_duckdb(world()[0])
    script = written(few, "duckdb", tmp_path).read_text(encoding="utf-8")
    for _ in range(2):  # a script can be run again
        connection.execute(script)
        assert multiset(connection.execute(f"SELECT a, b FROM {RELEASED}").fetchall()) == released(few)


def test_the_shell_of_sqlite_loads_the_files(few: sqlanon.Plan, tmp_path: Path) -> None:
    if shutil.which("sqlite3") is None:
        pytest.skip("the shell sqlite3 is not installed")
    table = world()[0]
    with closing(sqlite3.connect(tmp_path / "people.db")) as connection:  # the shell reads \r\n as \n
        connection.execute(f"CREATE {table.created({'VARCHAR': 'TEXT'})}")
        connection.execute(table.inserted(literal))
        connection.commit()
    script = written(few, "sqlite", tmp_path).read_text(encoding="utf-8")
    shell = subprocess.run(
        ["sqlite3", "-bail", "-batch", str(tmp_path / "people.db")],
        input=f"{script}\n.print rows\n{AS_JSON};\n".encode(),
        capture_output=True,
        check=True,
    )
    lines = shell.stdout.decode().split("rows\n")[1].splitlines()
    assert multiset([tuple(json.loads(line)) for line in lines]) == released(few)


@pytest.mark.postgres
def test_psql_loads_the_files(few: sqlanon.Plan, tmp_path: Path, postgres: Server) -> None:
    programs = binaries()
    if programs is None or not (programs / "psql").exists():
        pytest.skip("psql is not installed")
    table = world()[0]
    setup = f"CREATE TEMPORARY {table.created({'VARCHAR': 'TEXT'})}; {table.inserted(literal)};\n"
    script = written(few, "postgres", tmp_path).read_text(encoding="utf-8")
    rows = AS_JSON.replace("json_array", "json_build_array")
    shell = subprocess.run(
        [str(programs / "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", postgres.uri()],
        input=f"{setup}{script}\n\\echo rows\n{rows};\nDROP TABLE {RELEASED};\n".encode(),
        capture_output=True,
        check=True,
    )
    lines = shell.stdout.decode().split("rows\n")[1].splitlines()
    assert multiset([tuple(json.loads(line)) for line in lines]) == released(few)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", LOADING)
@pytest.mark.few(4)
def test_the_files_are_named_and_loaded_in_every_dialect(few: sqlanon.Plan, tmp_path: Path, dialect: str) -> None:
    script = written(few, dialect, tmp_path).read_text(encoding="utf-8")
    [file] = (tmp_path / "lookups").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert script.count(file.name) >= 2 and f"It loads sqlanon_{RUN}_listed.csv" in script
    assert not re.search(r"\$[a-z]", script)
    text = file.read_text(encoding="utf-8")
    assert text.startswith('"attribute","level_0","level_1","level_2","place"\n"=0","=","=u","=*","=0"\n')
    without = script_in(few, dialect)
    assert LISTS in without and "_file" not in without


@pytest.mark.slow
@pytest.mark.parametrize("dialect", [dialect.name for dialect in DIALECTS])
@pytest.mark.few(4)
def test_a_hierarchy_beyond_the_size_needs_a_folder(
    few: sqlanon.Plan, dialect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listed_rows, "LISTED", 699)
    if dialect not in LOADING:
        assert LISTS in script_in(few, dialect)
        with pytest.raises(sqlanon.InputError, match="loads no files"):
            script_in(few, dialect, lookups=str(tmp_path))
        return
    with pytest.raises(sqlanon.InputError, match=r"700 rows.*--lookups FOLDER"):
        script_in(few, dialect)
    assert len(written(few, dialect, tmp_path).read_bytes()) < 40_000
    monkeypatch.setattr(listed_rows, "LISTED", 700)
    assert LISTS in script_in(few, dialect)


def test_a_script_that_a_warehouse_would_not_take_needs_a_folder(few: sqlanon.Plan) -> None:
    parts, dialect = script_parts(few), replace(dialect_named("bigquery"), longest_script=30_000)
    with pytest.raises(sqlanon.InputError, match=r"bytes, and BigQuery takes 30000.*--lookups FOLDER"):
        dialect_script(parts, dialect)
    assert len(dialect_script(parts, dialect, lookups="lookups")) < 30_000
    assert dialect_named("bigquery").longest_script == 1 << 20


@pytest.mark.parametrize("folder", ["it's", 'a"b', "a\nb", "a$b", "a\\b", ""])
def test_a_folder_that_cannot_be_named_is_refused(few: sqlanon.Plan, tmp_path: Path, folder: str) -> None:
    place = str(tmp_path / folder) if folder else ""
    with pytest.raises(sqlanon.InputError, match="cannot be named"):
        script_in(few, "duckdb", lookups=place)
    assert not list(tmp_path.iterdir())


def test_the_command_writes_the_files(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("city\n" + "v1\n" * 5)
    (tmp_path / "cities.csv").write_text("".join(f"v{i},*\n" for i in range(600)))
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "source: people.csv\ncolumns:\n"
        "  city: {role: quasi_identifier, hierarchy: {file: cities.csv, delimiter: ','}}\n"
        "privacy: [{type: k_anonymity, k: 2}]\n"
    )
    lookups = tmp_path / "lookups"
    asked = ["explain", str(policy), "--lookups", str(lookups)]
    alone = CliRunner().invoke(main, asked)
    assert alone.exit_code == 2 and "add --dialect" in alone.output
    result = CliRunner().invoke(main, [*asked, "--dialect", "snowflake", "--source-table", "people"])
    assert result.exit_code == 0, result.output
    [file] = lookups.iterdir()
    assert f"PUT 'file://{file}'" in result.output
    assert len(file.read_text().splitlines()) == 601
