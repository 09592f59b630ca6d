"""The command risk as a user calls it: text, JSON, before and after, what is missing, what is wrong."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import sqlanon
from policies import file_of

ROWS = [("a", "1", "p"), ("a", "1", "q"), ("a", "2", "p"), ("b", "2", "r"), ("b", "2", "r"), (None, "2", "s")]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = [f"{a or ''},{b},{person},{i + 1}" for i, (a, b, person) in enumerate(ROWS)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,person,w", *lines]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def measured(*arguments: object) -> dict[str, Any]:
    done = sqlanon("risk", *arguments, "--json")
    assert done.returncode == 0, (done.stdout, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def values(risk: dict[str, Any]) -> dict[str, float | None]:
    return {figure["key"]: figure["value"] for figure in risk["figures"]}


def refused(*arguments: object) -> str:
    done = sqlanon("risk", *arguments)
    assert done.returncode == 2 and not done.stdout, (done.stdout, done.stderr)
    return str(done.stderr)


def test_figures_in_json_and_text() -> None:
    found = measured("t.csv", "--qi", "A,b", "--population-size", 1000)
    risk = found["risk"]
    assert found["quasi_identifiers"] == ["a", "b"] == risk["quasi_identifiers"] and found["source"] == "t.csv"
    assert (risk["records"], risk["classes"], risk["smallest_class"], risk["k"]) == (6, 4, 1, 5)
    assert values(risk)["prosecutor_average"] == pytest.approx(4 / 6)
    assert values(risk)["sample_uniques"] == pytest.approx(2 / 6)
    assert risk["column_sets"]["sets_looked_at"] == 3
    assert [(b["least"], b["classes"], b["records"]) for b in risk["class_sizes"]] == [(1, 2, 2), (2, 2, 4)]
    text = sqlanon("risk", "t.csv", "--qi", "a,b").stdout
    assert text.startswith("6 records in 4 classes, the smallest has 1.\n")
    assert "2 records (33.3 %) are alone: no other record shares these attributes." in text
    assert "no proof of compliance" in text and "SUDA" in text
    assert "SUDA" not in sqlanon("risk", "t.csv", "--qi", "a,b", "--no-column-sets").stdout


def test_nulls_entities_and_weights() -> None:
    basic = measured("t.csv", "--qi", "a,b", "--nulls", "basic")["risk"]
    assert (basic["records"], basic["excluded"], basic["nulls"]) == (5, 1, "basic")
    persons = measured("t.csv", "--qi", "a,b", "--entity", "PERSON")
    assert persons["entity"] == "person" and persons["risk"]["unit"] == "entity"
    assert (persons["risk"]["records"], persons["risk"]["smallest_class"]) == (5, 1)
    weighted = values(measured("t.csv", "--qi", "b", "--weights", "w")["risk"])
    assert 0 < (weighted["individual_average"] or 0) < 1 and weighted["expected_reidentifications"] is not None
    assert "no number" in refused("t.csv", "--qi", "b", "--weights", "a")
    assert "entities are counted" in refused("t.csv", "--qi", "b", "--weights", "w", "--entity", "person")


@pytest.mark.slow
def test_records_that_take_no_part_are_named_first(folder: Path) -> None:
    """Six unique records are excluded for a NULL: no line may say of the source that nobody is alone."""
    duckdb.sql(
        "COPY (SELECT 'x' AS a, 'y' AS b FROM range(20) UNION ALL SELECT NULL, 'z' || range FROM range(6)) "
        "TO 'n.parquet'"
    )
    text = sqlanon("risk", "n.parquet", "--qi", "a,b", "--nulls", "basic").stdout
    assert text.startswith("6 records with a NULL in a quasi-identifier take no part (NULL match basic). These figures")
    assert "\n20 records in 1 class, the smallest has 20.\n" in text
    assert "No record is alone" not in text and "  within" not in text
    assert "Of the 20 records without a NULL in a quasi-identifier, none is alone" in text
    assert "knows a target's two attributes, none of them NULL, and that" in text
    risk = measured("n.parquet", "--qi", "a,b", "--nulls", "basic")["risk"]
    assert risk["excluded"] == 6 and risk["notes"][0].startswith("6 records with a NULL")
    assert not any(threshold["met"] for threshold in risk["thresholds"])
    assert not any(figure["sentence"].startswith("No record") for figure in risk["figures"])
    path = policy(folder, source="n.parquet", nulls="basic")
    assert sqlanon("run", path).returncode == 0
    assert sqlanon("risk", "--policy", path).stdout.startswith("6 records with a NULL")
    text = sqlanon("risk", "--policy", path, "--compare", "r.parquet").stdout
    assert text.startswith("Before: 6 records with a NULL") and "After: 6 records" not in text
    extended = sqlanon("risk", "n.parquet", "--qi", "a,b").stdout
    assert extended.startswith("26 records in 7 classes") and "without a NULL" not in extended


def test_populations(folder: Path) -> None:
    duckdb.sql("COPY (FROM 't.csv' UNION ALL FROM 't.csv') TO 'twice.parquet'")
    found = values(measured("t.csv", "--qi", "b", "--population", "twice.parquet")["risk"])
    assert found["journalist_highest"] == 1 / 4 and found["marketer"] == pytest.approx((2 / 4 + 4 / 8) / 6)
    duckdb.sql("COPY (FROM 't.csv' LIMIT 3) TO 'some.parquet'")
    assert "no population of this sample: 1 class" in refused("t.csv", "--qi", "b", "--population", "some.parquet")
    assert "smaller than the sample" in refused("t.csv", "--qi", "b", "--population-size", 5)
    assert "cannot be read" in refused("t.csv", "--qi", "b", "--population-table", "nowhere")


def policy(folder: Path, **keys: Any) -> Path:
    hidden = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    document = {"source": "t.csv", "columns": {"a": hidden, "b": hidden}, "undeclared": "drop",
                "privacy": [{"type": "k_anonymity", "k": 2}], "suppression_limit": 0.4,
                "output": {"file": "r.parquet"}, "if_exists": "replace", **keys}  # fmt: skip
    return file_of(folder / "p.json", document)


@pytest.mark.slow
@pytest.mark.parametrize("suppressed", ["drop", "redact"])
def test_before_and_after(folder: Path, suppressed: str) -> None:
    path = policy(folder, suppressed=suppressed)
    ran = json.loads(sqlanon("run", path, "--json").stdout)
    found = measured("--policy", path, "--compare", "r.parquet", "--k", 3)
    before, after = found["before"], found["after"]
    assert found["release"] == "r.parquet" and "risk" not in found
    assert (before["records"], before["suppressed"], before["k"]) == (6, 0, 3)
    assert (after["records"], after["suppressed"]) == (ran["published"], ran["suppressed"]) and ran["suppressed"]
    assert after["smallest_class"] == ran["smallest_class"] >= 2
    average = next(figure for figure in after["figures"] if figure["key"] == "prosecutor_average")
    assert average["of_all"] == pytest.approx(average["value"] * ran["published"] / 6)
    text = sqlanon("risk", "--policy", path, "--compare", "r.parquet").stdout
    assert "before              after" in text and "Classes by size, after:" in text
    alone = measured("--policy", path)
    assert alone["risk"]["records"] == 6 and alone["risk"]["k"] == 2


def test_a_release_that_lacks_a_column(folder: Path) -> None:
    duckdb.sql("COPY (SELECT b FROM 't.csv') TO 'less.parquet'")
    found = measured("t.csv", "--qi", "a,b", "--compare", "less.parquet")
    assert found["after"]["classes"] == 2 and "no column 'a'" in found["after"]["notes"][0]
    entities = measured("t.csv", "--qi", "a,b", "--compare", "less.parquet", "--entity", "person")
    assert entities["before"]["unit"] == entities["after"]["unit"] == "record"
    assert any("both sides count records" in note for note in entities["after"]["notes"])
    duckdb.sql("COPY (SELECT w FROM 't.csv') TO 'other.parquet'")
    assert "none of the quasi-identifiers" in refused("t.csv", "--qi", "a,b", "--compare", "other.parquet")
    duckdb.sql("COPY (FROM 't.csv' UNION ALL FROM 't.csv') TO 'more.parquet'")
    assert "6 more records than the source" in refused("t.csv", "--qi", "a,b", "--compare", "more.parquet")


def test_records_are_not_compared_with_persons(folder: Path) -> None:
    """Forty persons of five records each, in classes of ten persons: in rows, a class of 50 meets any threshold."""
    duckdb.sql("COPY (SELECT range // 5 AS person, range // 50 AS a, 'x' AS b FROM range(200)) TO 'v.parquet'")
    path = policy(folder, source="v.parquet", entity="person")
    assert sqlanon("run", path, "--report", "report.json").returncode == 0
    counted = json.loads((folder / "report.json").read_text())["facts"]["risk"]
    assert counted["before"]["unit"] == counted["after"]["unit"] == "entity"
    found = measured("--policy", path, "--compare", "r.parquet")
    assert (found["before"]["unit"], found["before"]["records"]) == ("record", 200)
    assert (found["after"]["unit"], found["after"]["records"]) == ("record", 200)
    for side in ("before", "after"):
        assert not any(threshold["met"] for threshold in found[side]["thresholds"])
    text = sqlanon("risk", "--policy", path, "--compare", "r.parquet").stdout
    assert text.startswith("200 records in ") and "  within  " not in text and ": within it" not in text
    assert "both sides count records" in " ".join(text.split())


@pytest.mark.parametrize("name", ["person", "Person"])
def test_a_release_that_has_the_entity_is_compared_in_entities(folder: Path, name: str) -> None:
    """Forty persons of five records each, eight of whom are not released, in a column of this name."""
    duckdb.sql("COPY (SELECT range // 5 AS person, range // 50 AS a, 'x' AS b FROM range(200)) TO 'v.parquet'")
    duckdb.sql(f"COPY (SELECT person AS {name}, a, b FROM 'v.parquet' WHERE person % 10 < 8) TO 'some.parquet'")
    given = ("v.parquet", "--qi", "a,b", "--entity", "person", "--compare", "some.parquet")
    found = measured(*given)
    for side, persons in (("before", 40), ("after", 32)):
        counted = [found[side][key] for key in ("unit", "records", "entities", "smallest_class")]
        assert counted == ["entity", persons, persons, persons // 4], side
    assert {figure["of_all"] for figure in found["after"]["figures"]} == {None}  # 40 records, but how many persons?
    assert any("40 records of the source are not in the release" in note for note in found["after"]["notes"])
    text = sqlanon("risk", *given, "--no-column-sets").stdout
    assert "\nRelease: 32 entities (each once in every class of theirs) in 4 classes, the smallest has 8.\n" in text
    assert "of all)" not in text and "  highest risk of an entity  " in text
    assert "\nEntities that stand alone, or in small classes:\n" in text


def test_a_threshold_that_its_key_rounds_is_shown_as_a_fraction() -> None:
    text = sqlanon("risk", "t.csv", "--qi", "a,b", "--k", 7, "--no-column-sets").stdout
    assert "  at risk over 1/7  " in text and "  at risk over 1/3  " in text and "  at risk over 20 %  " in text
    assert "with a probability of more than 1/3: in classes of fewer than three records." in " ".join(text.split())


def test_what_is_missing_or_said_twice(folder: Path) -> None:
    assert "No relation is named" in refused()
    assert "No quasi-identifiers are named" in refused("t.csv")
    assert "--qi" in refused("--policy", policy(folder), "--qi", "a")
    assert "no column 'nix'" in refused("t.csv", "--qi", "nix")
    assert refused("nowhere.csv", "--qi", "a")
    with duckdb.connect("d.duckdb") as connection:
        connection.execute(
            "CREATE TABLE e (a TEXT); CREATE TABLE one AS SELECT 'x' AS a; CREATE TABLE t AS FROM 't.csv'"
        )
    assert "holds no record" in refused("d.duckdb", "e", "--qi", "a")
    found = measured("d.duckdb", "one", "--qi", "a")["risk"]
    assert found["records"] == 1 and values(found)["separation"] is None


def test_no_value_of_a_cell_is_printed(folder: Path) -> None:
    (folder / "s.csv").write_text("name,zip\n" + "".join(f"canary{i},{10000 + i}\n" for i in range(9)))
    for arguments in (["s.csv", "--qi", "name,zip"], ["s.csv", "--qi", "name", "--weights", "name"]):
        done = sqlanon("risk", *arguments)
        assert "canary" not in done.stdout + done.stderr and "1000" not in done.stdout + done.stderr
