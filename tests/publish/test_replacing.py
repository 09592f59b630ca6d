"""A run that replaces a release without a ledger warns of what both show together, and of nothing else."""

import importlib
import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import sqlanon as command
from effort import fast_of
from policies import diverse, document_of
from postgres_server import Server, execute

import sqlanon
from sqlanon.errors import EngineError, RepeatError

Row = tuple[str, str, str, str]
SAME: list[Row] = [(f"p{i}", "mf"[i % 2], f"8{i % 4 // 2}", ["flu", "cold"][i % 8 // 4]) for i in range(40)]
"""Four classes of ten records each."""
CHANGED = [*SAME[3:], ("q", "f", "80", "cold")]
"""Two classes lost a record each, one lost one and got another, and one is as it was."""
KINDS = ("r.csv", "r.parquet", "r.duckdb", "r.xml", "parts", "table", "view", "sqlite table", "sqlite r.parquet")
ALMOST = "almost agrees with it: {} classes differ by fewer than 5 records, {} records in all"


def write(folder: Path, rows: list[Row], *, sqlite: bool = False) -> Path:
    """Write the records to a database, and return it."""
    path = folder / ("source.sqlite" if sqlite else "source.duckdb")
    opened: Any = sqlite3.connect(path) if sqlite else duckdb.connect(str(path))
    opened.execute("DROP TABLE IF EXISTS t")
    opened.execute("CREATE TABLE t (id TEXT, sex TEXT, zip TEXT, ill TEXT)")
    opened.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    opened.commit()
    opened.close()
    return path


def document(output: dict[str, Any], **changes: Any) -> dict[str, Any]:
    columns = {"id": "drop", "sex": "suppress", "zip": "redact", "ill": diverse(2)}
    return document_of(
        columns, changes, k=5, table="t", suppression_limit=0, output=output, if_exists="replace", repeats="accept"
    )


def output_of(folder: Path, kind: str) -> dict[str, Any]:
    name = kind.removeprefix("sqlite ")
    if name in ("table", "view", "live_view"):
        return {name: "released"}
    return {"file": str(folder / name)} | ({"partition_by": ["sex"]} if name == "parts" else {})


def warned(source: Any, asked: dict[str, Any]) -> str:
    """Publish, and return what was warned of the release that was replaced."""
    with sqlanon.anonymize(source, asked) as release:
        assert all("replace" not in str(item) for item in release.manifest.items())
        return "\n".join(warning for warning in release.warnings if "replaces" in warning)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.few(4)
def test_classes_that_almost_agree_are_counted(tmp_path: Path, kind: str) -> None:
    asked, sqlite = document(output_of(tmp_path, kind)), kind.startswith("sqlite")
    for rows, wanted in ((SAME, ""), (SAME[::-1], ""), (CHANGED, ALMOST.format(3, 4)), (CHANGED, "")):
        found = warned(write(tmp_path, rows, sqlite=sqlite), asked)
        assert (wanted in found) if wanted else not found
    keeps_rows = document(output_of(tmp_path, kind), suppressed="redact")
    assert not warned(write(tmp_path, CHANGED, sqlite=sqlite), keeps_rows)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.few(3)
def test_other_levels_are_named(tmp_path: Path, kind: str) -> None:
    sqlite = kind.startswith("sqlite")
    source, asked = write(tmp_path, SAME, sqlite=sqlite), document(output_of(tmp_path, kind))
    coarser = asked | {"columns": asked["columns"] | {"zip": {**asked["columns"]["zip"], "min_level": 1}}}
    assert not warned(source, asked)
    found = warned(source, coarser)
    assert ("other levels (zip 0, now 1)" if "table" not in kind and kind != "view" else "no class is in both") in found


@pytest.mark.parametrize("what", ["other columns", "no table", "nothing"])
@pytest.mark.parametrize("kind", fast_of(["r.csv", "r.parquet", "r.duckdb", "table"], "r.csv", "table"))
def test_a_target_that_cannot_be_compared_is_replaced_in_silence(tmp_path: Path, kind: str, what: str) -> None:
    source, target = write(tmp_path, SAME), tmp_path / kind
    if kind == "table":
        with duckdb.connect(str(source)) as connection:
            connection.execute({"other columns": "CREATE TABLE released AS SELECT 1 AS x"}.get(what, "SELECT 1"))
    elif what != "nothing":
        target.write_text("a,b\n1,2\n" if what == "other columns" else "\x00\xff")
    assert not warned(source, document(output_of(tmp_path, kind)))


def test_a_comparison_that_fails_does_not_stop_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise EngineError("It is too large.", statement="differences", kind="OutOfMemoryException")

    asked = document({"table": "released"})
    assert not warned(write(tmp_path, SAME), asked)
    monkeypatch.setattr("sqlanon.core.publish.replaced.count_differences", fail)
    source = write(tmp_path, CHANGED)
    assert "could not be compared" in warned(source, asked)
    with duckdb.connect(str(source)) as connection:
        assert connection.execute("SELECT COUNT(*) FROM released").fetchall() == [(len(CHANGED),)]


def test_what_a_ledger_judges_is_not_compared(tmp_path: Path) -> None:
    key = tmp_path / "secret.key"
    key.write_text("0123456789abcdef" * 4)
    key.chmod(0o600)
    ledger = {"file": str(tmp_path / "ledger.duckdb"), "record": "id"}
    asked = document({"file": str(tmp_path / "r.csv")}, key={"file": str(key)}, ledger=ledger, suppression_limit=1)
    warned(write(tmp_path, SAME), asked)
    assert not warned(write(tmp_path, CHANGED), asked)


def test_persons_are_not_counted_and_the_warning_says_so(tmp_path: Path) -> None:
    asked = document({"table": "released"}, entity="id")
    assert not warned(write(tmp_path, SAME), asked)
    assert "records are counted" in warned(write(tmp_path, [*SAME, *[("q", "f", "81", "flu")] * 6]), asked)


def test_an_earlier_manifest_names_nothing_but_levels(tmp_path: Path) -> None:
    asked = document({"file": str(tmp_path / "r.csv")})
    warned(source := write(tmp_path, SAME), asked)
    manifest = tmp_path / "r.csv.manifest.json"
    manifest.write_text(manifest.read_text().replace('"level": 0', '"level": "canary"'))
    assert not warned(source, asked)


@pytest.mark.slow
def test_a_live_view_that_is_planned_anew_is_compared(tmp_path: Path) -> None:
    source, asked = write(tmp_path, [*SAME, *CHANGED[-1:] * 2]), document({"live_view": "released"})
    with sqlanon.anonymize(source, asked) as release:
        assert not [warning for warning in release.warnings if "replaces" in warning]
    stricter = sqlanon.Policy.from_dict(asked | {"privacy": [{"type": "k_anonymity", "k": 12}]})
    found = sqlanon.refresh(source, stricter)
    assert found.refreshed and "other levels" in "\n".join(found.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("output", [{"file": "r.duckdb"}, {"folder": "r", "format": "csv"}], ids=["file", "folder"])
def test_several_tables_are_compared_each(tmp_path: Path, output: dict[str, str]) -> None:
    names = {"id": "id", "sex": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    asked = {
        "source": "source.duckdb",
        "tables": {"t": {"key": "id", "columns": {"sex": names["sex"]}}},
        "undeclared": "drop",
        "privacy": [{"type": "profile_k", "k": 5}],
        "suppression_limit": 1,
        "output": output,
        "if_exists": "replace",
        "repeats": "accept",
    }
    found = []
    for rows in (SAME, SAME, SAME[1:]):
        write(tmp_path, rows)
        release = sqlanon.anonymize_tables(sqlanon.TablesPolicy.from_dict(asked, base_directory=tmp_path))
        found.append("\n".join(warning for warning in release.warnings if "replaces" in warning))
    assert found[:2] == ["", ""]
    assert found[2].startswith("Table 't': The release replaces one that " + ALMOST.format(1, 1))
    write(tmp_path, SAME)
    with pytest.raises(RepeatError, match="classes differ by fewer than 5"):
        sqlanon.anonymize_tables(sqlanon.TablesPolicy.from_dict(asked | {"repeats": "refuse"}, base_directory=tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["table", "view", "live_view"])
def test_postgres_compares_in_its_transaction(postgres: Server, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed")
    execute(postgres, "DROP SCHEMA IF EXISTS replacing CASCADE", "CREATE SCHEMA replacing")
    asked = document({kind: "replacing.released"}, table="replacing.t")

    def publish(rows: list[Row], **changes: Any) -> str:
        values = ", ".join(str(row) for row in rows)
        execute(postgres, "CREATE TABLE IF NOT EXISTS replacing.t (id text, sex text, zip text, ill text)")
        execute(postgres, "TRUNCATE replacing.t", f"INSERT INTO replacing.t VALUES {values}")
        return warned(postgres.uri(), asked | changes)

    assert not publish(SAME)
    wanted = "" if kind == "live_view" else ALMOST.format(3, 4)  # an old live view shows the new records
    assert wanted in publish(CHANGED)
    module = importlib.import_module("sqlanon.core.publish.replaced")
    bind: Callable[..., Any] = module.bind
    monkeypatch.setattr(module, "bind", lambda *a, **b: bind(*a, **b).select("1 / 0", append=True))
    assert "could not be compared" in publish(SAME)
    execute(postgres, "DROP SCHEMA replacing CASCADE")


@pytest.mark.slow
def test_spark_compares_folders(spark: Any, tmp_path: Path) -> None:
    asked, found = document({"file": str(tmp_path / "r.parquet")}), []
    for rows in (SAME, CHANGED):
        spark._cluster.session.createDataFrame(rows, ["id", "sex", "zip", "ill"]).createOrReplaceTempView("t")
        found.append(warned(spark._cluster.session, asked))
    assert not found[0] and ALMOST.format(3, 4) in found[1]


def test_a_release_that_repeats_another_is_refused_and_nothing_is_replaced(tmp_path: Path) -> None:
    asked = document({"file": str(tmp_path / "r.csv")}, repeats="refuse")
    warned(write(tmp_path, SAME), asked)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("r.csv*")}
    source = write(tmp_path, CHANGED)
    with pytest.raises(RepeatError) as caught:
        warned(source, asked)
    assert ALMOST.format(3, 4) in caught.value.message and "repeats: accept" in caught.value.hint
    assert caught.value.differing == {"classes": 3, "records": 4}
    assert {path.name: path.read_bytes() for path in tmp_path.glob("r.csv*")} == before
    assert ALMOST.format(3, 4) in warned(source, asked | {"like": str(tmp_path / "r.csv.manifest.json")})
    assert not warned(source, asked), "equal records go through"
    stricter = asked | {"privacy": [{"type": "k_anonymity", "k": 6}]}
    assert "of another policy: it must not have been handed on" in warned(write(tmp_path, SAME), stricter)
    weaker = asked | {"privacy": [{"type": "k_anonymity", "k": 2}]}
    assert "3 classes differ by fewer than 6 records" in warned(write(tmp_path, CHANGED), weaker)


@pytest.mark.parametrize(
    "changes",
    [
        {"search": {"strategy": "exhaustive"}},
        {"suppression_limit": 0.01},
        {"source": "dated.duckdb"},
        {"header": "SEX"},
    ],
    ids=["search", "limit", "source", "header"],
)
def test_what_changes_nothing_that_is_published_is_the_same_policy(tmp_path: Path, changes: dict[str, Any]) -> None:
    asked = document({"file": str(tmp_path / "r.csv")}, repeats="refuse", source=str(tmp_path / "source.duckdb"))
    write(tmp_path, SAME)
    warned(None, asked)
    source = write(tmp_path, CHANGED)
    if "header" in changes:
        (tmp_path / "r.csv").write_text((tmp_path / "r.csv").read_text().replace("sex", changes["header"]))
    elif "source" in changes:
        asked["source"] = str(source.rename(tmp_path / changes["source"]))
    else:
        asked |= changes
    with pytest.raises(RepeatError) as caught:
        warned(None, asked)
    assert caught.value.differing == {"classes": 3, "records": 4}


def test_columns_that_both_have_are_compared(tmp_path: Path) -> None:
    """One quasi-identifier more, or another one: whoever has both releases joins them on what they share."""
    both, drop = document({})["columns"], {"role": "drop"}
    asked = document({"file": str(tmp_path / "r.csv")}, repeats="refuse")
    source = write(tmp_path, SAME)
    assert not warned(source, asked | {"columns": both | {"zip": drop}})
    said = warned(source, asked)
    assert "of another policy: it must not have been handed on" in said and "almost agrees" not in said
    (tmp_path / "r.csv").unlink()
    assert not warned(source, asked | {"columns": both | {"zip": drop}})
    said = warned(write(tmp_path, CHANGED), asked)
    assert ALMOST.format(2, 4) in said and "of another policy: it must not have been handed on" in said
    assert not warned(source, asked | {"output": {"table": "released"}, "columns": both | {"zip": drop}})
    assert "of another policy" in warned(source, asked | {"output": {"table": "released"}})


def test_no_column_in_common_is_said(tmp_path: Path) -> None:
    both, drop = document({})["columns"], {"role": "drop"}
    asked = document({"file": str(tmp_path / "r.csv")}, repeats="refuse")
    source = write(tmp_path, SAME)
    assert not warned(source, asked | {"columns": both | {"zip": drop}})
    assert "of another policy: it must" in warned(source, asked | {"columns": both | {"sex": drop}})


def test_a_swap_within_a_class_is_found_by_any_published_column(tmp_path: Path) -> None:
    columns = document({})["columns"] | {"ill": {"role": "keep"}}
    asked = document({"file": str(tmp_path / "r.csv")}, repeats="refuse", columns=columns)
    warned(write(tmp_path, SAME), asked)
    assert not warned(write(tmp_path, SAME[::-1]), asked)
    swapped: list[Row] = [*SAME[1:], ("q", *SAME[0][1:3], "gout")]
    with pytest.raises(RepeatError) as caught:
        warned(write(tmp_path, swapped), asked)
    assert caught.value.differing == {"classes": 1, "records": 2}


@pytest.mark.slow
def test_pseudonyms_of_each_release_are_no_difference(tmp_path: Path) -> None:
    (tmp_path / "secret.key").write_text("0123456789abcdef" * 4)
    (tmp_path / "secret.key").chmod(0o600)
    columns = document({})["columns"] | {"id": {"role": "pseudonym"}, "ill": {"role": "keep"}}
    key = {"file": str(tmp_path / "secret.key")}
    asked = document({"file": str(tmp_path / "r.csv")}, repeats="refuse", columns=columns, entity="id", key=key)
    asked["privacy"] = [{"type": "profile_k", "k": 5}]
    source, linked = write(tmp_path, SAME), asked | {"key": {**key, "context": "study"}}
    assert not warned(source, asked) and not warned(source, asked)
    assert "of another policy" in warned(source, linked)
    assert not warned(source, linked)
    with pytest.raises(RepeatError):
        warned(write(tmp_path, CHANGED), linked)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["table", "view", "parts", "sqlite table", "r.duckdb"])
def test_every_kind_of_target_is_kept_from_a_repetition(tmp_path: Path, kind: str) -> None:
    sqlite = kind.startswith("sqlite")
    asked = document(output_of(tmp_path, kind), repeats="refuse")
    warned(write(tmp_path, SAME, sqlite=sqlite), asked)
    source = write(tmp_path, CHANGED, sqlite=sqlite)
    if "table" in kind or kind == "view":  # the source was written anew, with what stood in it, but for its own table
        with pytest.raises(RepeatError):
            warned(source, asked)
        return
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path != source}
    with pytest.raises(RepeatError):
        warned(source, asked)
    assert {path: path.read_bytes() for path in written} == written


@pytest.mark.slow
def test_what_shows_nothing_by_subtraction_goes_through(tmp_path: Path) -> None:
    columns = document({})["columns"] | {"ill": {"role": "keep"}}
    asked = document({"file": str(tmp_path / "r.csv")}, repeats="refuse", columns=columns)
    warned(write(tmp_path, SAME), asked)
    assert not warned(write(tmp_path, [*SAME, *[("q", "f", "81", "flu")] * 5]), asked), "a whole class came"
    watched = document({"file": str(tmp_path / "s.csv")}, repeats="refuse")
    warned(write(tmp_path, SAME), watched)
    with pytest.raises(RepeatError, match="not judged for the records"):
        warned(write(tmp_path, [*SAME, *[("q", "f", "81", "flu")] * 5]), watched)
    turned: list[Row] = [(key, sex, code, "cold" if ill == "flu" else "flu") for key, sex, code, ill in SAME[2:]]
    with pytest.raises(RepeatError):  # the same persons, whose values have all changed
        warned(write(tmp_path, turned), watched)
    few = document({"file": str(tmp_path / "r.csv")}, repeats="refuse", columns=columns, entity="id")
    others: list[Row] = [(f"o{i}", "mf"[i % 2], "9" + "01"[i % 2], "flu") for i in range(60)]
    (tmp_path / "r.csv").unlink()
    warned(write(tmp_path, SAME), few)
    assert "no class is in both" in warned(write(tmp_path, others), few)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_the_figures_are_those_of_a_full_join(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    columns = document({})["columns"] | {"ill": {"role": "keep"}}
    columns["zip"] = {"role": "quasi_identifier", "hierarchy": {"redact": {"width": 2}}, "min_level": 1, "max_level": 1}
    columns["sex"] = {**columns["sex"], "max_level": 0}
    asked = document({"file": str(tmp_path / "r.parquet")}, repeats="refuse", columns=columns, suppression_limit=1)
    rows: list[Row] = [(f"p{i}", chance.choice("mf"), f"{chance.randint(1, 5)}0", "flu") for i in range(150)]
    later = [row for row in rows if chance.random() > 0.04] + [
        (f"q{i}", chance.choice("mf"), f"{chance.randint(1, 5)}0", "flu") for i in range(chance.randint(0, 9))
    ]
    warned(write(tmp_path, rows), asked)
    shutil.copy(tmp_path / "r.parquet", tmp_path / "before.parquet")
    source, differing = write(tmp_path, later), {"classes": 0, "records": 0}
    try:
        warned(source, asked)
    except RepeatError as error:
        differing = error.differing
    warned(source, asked | {"repeats": "accept"})
    sizes = "SELECT sex, zip, COUNT(*) AS n FROM '{}' GROUP BY ALL"
    [(classes, records)] = duckdb.execute(
        f"""SELECT COUNT(*), COALESCE(SUM(d), 0) FROM (
              SELECT ABS(COALESCE(b.n, 0) - COALESCE(a.n, 0)) AS d
              FROM ({sizes.format(tmp_path / "before.parquet")}) a
              FULL JOIN ({sizes.format(tmp_path / "r.parquet")}) b USING (sex, zip)) WHERE d BETWEEN 1 AND 4"""
    ).fetchall()
    assert (classes, int(records)) == (differing["classes"], differing["records"])


@pytest.mark.slow
def test_an_equal_release_is_not_written_if_that_is_asked_for(tmp_path: Path) -> None:
    asked = {**document({"file": str(tmp_path / "r.csv")}), "source": "source.duckdb"}
    (tmp_path / "p.json").write_text(json.dumps(asked))

    def told() -> tuple[int, Any]:
        found = command("run", tmp_path / "p.json", "--json", "--if-changed")
        return found.returncode, json.loads(found.stdout)

    write(tmp_path, SAME)
    assert told()[0] == 0
    written = (tmp_path / "r.csv").stat().st_mtime_ns
    code, document_of_run = told()
    assert (code, document_of_run["unchanged"]) == (3, True) and (tmp_path / "r.csv").stat().st_mtime_ns == written
    write(tmp_path, CHANGED)
    assert told()[0] == 0 and (tmp_path / "r.csv").stat().st_mtime_ns > written
    asked["repeats"] = "refuse"
    (tmp_path / "p.json").write_text(json.dumps(asked))
    write(tmp_path, SAME)
    code, document_of_run = told()
    assert (code, document_of_run["error"]) == (2, "RepeatError") and document_of_run["differing"]["classes"] == 3
