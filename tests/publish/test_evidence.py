"""Evidence packs: whole or not at all, true to their hashes, and without values or small counts."""

import hashlib
import json
import random
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import sqlanon as command
from effort import fast_of, scaled
from policies import document_of, quasi
from postgres_server import Server, execute
from tables import text_table

import sqlanon
from sqlanon.core.publish import recipient_certificate
from sqlanon.report.document import json_report
from sqlanon.report.evidence import folder as pack_folder
from sqlanon.report.evidence import pack as packing
from sqlanon.report.evidence.folder import is_pack
from sqlanon.report.html import html_report
from sqlanon.report.markdown import markdown_report
from sqlanon.report.summarizing import summarize
from sqlanon.report.text import text_report

CANARY = "Zz7canaryqQ"
FORMS = (html_report, markdown_report, text_report, json_report)
ANNEXES = (
    "annex-a-hipaa-expert-determination.md",
    "annex-b-hipaa-safe-harbor.md",
    "annex-c-motivated-intruder.md",
    "annex-d-nist-sp-800-188.md",
)


def records(*, alone: int = 3, classes: int = 4, size: int = 30) -> list[tuple[str, ...]]:
    """Records in ``classes`` large classes, and ``alone`` that no hierarchy below the top hides."""
    rows = [(f"a{i % classes}", f"b{i % classes}", f"c{i % 7}", "m") for i in range(classes * size)]
    return rows + [(f"r{i}", f"b{i % classes}", "c0", "m") for i in range(alone)]


def document(**changes: Any) -> dict[str, Any]:
    columns = {"a": quasi("redact", max_level=0), "b": "suppress", "c": "keep", "d": "drop"}
    return document_of(columns, changes, k=20, table="t", suppression_limit=0.5)


@pytest.fixture
def people(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    text_table(connection, ["a", "b", "c", "d"], records())
    return connection


def made(source: object, tmp_path: Path, **changes: Any) -> tuple[sqlanon.EvidencePack, dict[str, str]]:
    """Return a pack of a file release, and its texts."""
    options = {key: changes.pop(key) for key in ("audience",) if key in changes}
    keys = {"output": {"file": str(tmp_path / "r.parquet")}, **changes}
    policy = sqlanon.Policy.from_dict(document(**keys), base_directory=tmp_path)
    found = sqlanon.evidence(source, policy, to=tmp_path / "pack", **options)
    return found, texts_of(tmp_path / "pack")


def texts_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# -- what is in a pack -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("audience", fast_of(["recipient", "operator"], "recipient"))
def test_every_file_has_its_hash_and_its_audience(
    people: duckdb.DuckDBPyConnection, tmp_path: Path, audience: str
) -> None:
    found, texts = made(people, tmp_path, audience=audience)
    files = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    assert found.files == dict(sorted(files.items()))
    listed = dict(reversed(line.split("  ")) for line in texts["SHA256SUMS"].splitlines())
    assert listed == {name: digest for name, digest in files.items() if name != "SHA256SUMS"}
    index = json.loads(texts["hashes.json"])
    assert index["files"] == {n: d for n, d in files.items() if n not in ("SHA256SUMS", "hashes.json", "hashes.md")}
    release = hashlib.sha256((tmp_path / "r.parquet").read_bytes()).hexdigest()
    assert index["release"]["sha256"] == found.release_sha256 == release
    for name, text in texts.items():
        if name.endswith(".md"):
            assert f"Audience: {audience}" in text and "no determination" in text, name
        elif name.endswith(".json") and not name.startswith("certificate."):
            assert json.loads(text)["audience"] == audience, name
    beside, own = (tmp_path / "r.parquet.certificate.json").read_text(), texts[f"certificate.{audience}.json"]
    assert own == beside if audience == "recipient" else json.loads(own)["boxes"]
    assert "boxes" not in json.loads(beside)
    assert texts.keys() >= {
        f"{n}.{e}" for n in ("manifest", "policy", "proof", "attacks", "limitations") for e in ("json", "md")
    }
    assert texts.keys() >= set(ANNEXES) and is_pack(tmp_path / "pack")


@pytest.mark.slow
@pytest.mark.parametrize("audience", ["recipient", "operator"])
def test_records_that_take_no_part_are_named_before_the_figures(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, audience: str
) -> None:
    """Seven records that are alone are excluded for a NULL; a recipient reads that there are some, not how many."""
    text_table(connection, ["a", "b", "c", "d"], [*records(alone=0), *((None, f"n{i}", "c0", "m") for i in range(7))])
    _, texts = made(connection, tmp_path, audience=audience, nulls="basic")
    paper, said = texts["risk.md"], json.loads(texts["risk.json"])
    assert "with a NULL in a quasi-identifier take no part" in said["left_out"]
    assert paper.index("NULL in a quasi-identifier take no part") < paper.index("After: ")
    assert "take no part" in texts["annex-a-hipaa-expert-determination.md"]
    assert ("7 records" in said["left_out"]) == (audience == "operator")
    assert not any(sentence.startswith("Before: No record") for sentence in said["sentences"])
    if audience == "recipient":
        assert not re.search(r"\b7 records|\b127\b", "".join(texts.values()))


@pytest.mark.slow
def test_the_sums_and_the_manifest_are_those_that_other_tools_check(
    people: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    made(people, tmp_path)
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path / "pack", capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    checked = command("check", tmp_path / "r.parquet", "--manifest", tmp_path / "pack" / "manifest.json")
    assert checked.returncode == 0, checked.stderr
    (tmp_path / "pack" / "policy.md").write_text("other")
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path / "pack", capture_output=True, check=False)
    assert done.returncode == 1


@pytest.mark.parametrize("audience", fast_of(["recipient", "operator"], "recipient"))
def test_no_value_and_no_folder_of_the_machine_is_in_any_file(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, audience: str
) -> None:
    """Every column, the inline hierarchies, the texts that stand for NULL, and what is left out hold the canary."""
    rows = [(CANARY, f"{CANARY}2", CANARY, CANARY)] * 2 + [
        ("xz"[i % 2], "y", (CANARY, "k")[i // 2 % 2], CANARY) for i in range(80)
    ]
    text_table(connection, ["a", "b", "c", "d"], rows)
    text_table(connection, ["v", "w"], [(CANARY, f"{CANARY}*"), (f"{CANARY}2", "*"), ("y", "*")], "steps")
    (tmp_path / "h.csv").write_text(f"{CANARY}2;{CANARY}3;*\ny;{CANARY}4;*\n")
    columns = document()["columns"] | {
        "a": quasi({"levels": {v: [f"{CANARY}5", "*"] for v in ("x", "z", CANARY)}}),
        "b": {"role": "quasi_identifier", "hierarchy": {"file": str(tmp_path / "h.csv"), "null": f"{CANARY}6"}},
        "c": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 1}]},
    }
    _, texts = made(connection, tmp_path, columns=columns, audience=audience)
    for name, text in texts.items():
        assert CANARY not in text and str(tmp_path) not in text, name
    assert json.loads(texts["policy.json"])["policy"]["columns"]["b"]["hierarchy"] == {"file": "h.csv"}


def test_secrets_of_a_policy_are_withheld(tmp_path: Path) -> None:
    from sqlanon.report.evidence.policy_paper import policy_paper

    (tmp_path / "zip.csv").write_text("1;*\n")
    base = tmp_path / "policies"
    base.mkdir()
    keys = document(
        source="postgresql://user:geheim@db.intern:5432/clinic",
        columns=document()["columns"] | {"e": quasi({"file": str(tmp_path / "zip.csv")})},
        output={"table": "anon.t", "readers": ["nurses"]},
        entity="d",
    )
    policy = sqlanon.Policy.from_dict(keys, base_directory=base)
    for for_operator in (True, False):
        text = json.dumps(policy_paper(policy, for_operator=for_operator))
        assert not any(word in text for word in ("geheim", "intern", "user", str(tmp_path))), text
        assert "zip.csv" in text and ("nurses" in text) == for_operator
        assert ('"d"' in text) == for_operator


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(scaled(20)))
def test_attacks_count_what_a_brute_force_counts(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, seed: int
) -> None:
    """Random tables with NULLs, counted again row by row in the file that was written."""
    chance = random.Random(seed)

    def cell(values: int, nulls: float) -> str | None:
        return None if chance.random() < nulls else f"v{chance.randrange(values)}"

    rows = [(cell(3, 0.1), cell(2, 0.2), cell(chance.choice((2, 9)), 0.3), cell(2, 0.1)) for _ in range(150)]
    text_table(connection, ["a", "b", "c", "d"], rows)
    columns = document()["columns"] | {"d": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 1}]}}
    changes = {"columns": columns, "privacy": [{"type": "k_anonymity", "k": 4}], "suppression_limit": 1}
    changes["accept"] = ["c", "d"]
    _, texts = made(connection, tmp_path, audience="operator", **changes)
    tried = {attack["key"]: attack["figures"] for attack in json.loads(texts["attacks.json"])["tried"]}
    released = connection.execute(f"SELECT a, b, c, d FROM '{tmp_path / 'r.parquet'}'").fetchall()
    classes = Counter((a, b) for a, b, _, _ in released)
    assert tried["class_sizes"]["smallest_class"] == min(classes.values())
    assert (tried["class_sizes"]["records"], tried["class_sizes"]["classes"]) == (len(released), len(classes))
    for place, name in ((2, "c"), (3, "d")):
        groups = Counter((row[0], row[1], row[place]) for row in released)
        sizes = [groups[row[0], row[1], row[place]] for row in released]
        [found] = [row for row in tried["kept_columns"]["by_column"] if row["columns"] == [name]]
        assert (found["alone"], found["in_groups_below_k"]) == (sizes.count(1), sum(size < 4 for size in sizes))
        values = {key: {row[place] for row in released if (row[0], row[1]) == key} for key in classes}
        one = [key for key, seen in values.items() if len(seen) == 1]
        [alike] = [row for row in tried["alike"]["of_one_value"] if row["column"] == name]
        assert (alike["classes"], alike["records"]) == (len(one), sum(classes[key] for key in one))
    assert {tuple(row["columns"]) for row in tried["kept_columns"]["by_column"]} == {("c",), ("d",)}


# -- small counts ------------------------------------------------------------------------------------------------------


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3})", "", text)))


@pytest.mark.slow
def test_a_small_count_is_in_no_file_for_recipients_and_in_some_for_the_operator(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    """13 of 877 records are suppressed: neither number, nor a share made of it, is in a recipient's file."""
    text_table(connection, ["a", "b", "c", "d"], records(alone=13, classes=6, size=144))
    _, texts = made(connection, tmp_path)
    share = {f"{13 / 877:.{digits}g}" for digits in range(2, 6)} | {
        f"{100 * 13 / 877:.{digits}g}" for digits in range(2, 6)
    }
    share |= {f"{100 * 864 / 877:.{digits}g}" for digits in range(3, 6)}
    for name, text in texts.items():
        if name != "SHA256SUMS" and not name.startswith("hashes"):
            text = re.sub(r"[0-9a-f]{64}", "", text)
            assert not numbers(text) & ({"13", "877"} | share), name
    assert "\\<20" in texts["manifest.md"]
    _, exact = made(connection, tmp_path, audience="operator", if_exists="replace")
    assert {"13", "877"} <= numbers(exact["manifest.md"])
    assert json.loads(exact["manifest.json"])["exact_ledger"]["suppressed"] == 13


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "sources"),
    [
        pytest.param(20, [[7], [16], [1] * 3], id="7 or 16 or 3 hidden ones"),
        pytest.param(5, [[1], [2], [1, 1]], id="1 or 2 hidden ones"),
        pytest.param(5, [[4, 3], [3, 2, 2], [1] * 7], id="7 that are known, in classes of any size"),
    ],
)
def test_sources_that_give_the_same_release_give_the_same_pack(
    connection: duckdb.DuckDBPyConnection,
    tmp_path: Path,
    k: int,
    sources: list[list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever sees a pack for recipients cannot tell how many were suppressed, nor in classes of which sizes."""
    monkeypatch.setattr(recipient_certificate, "commitment", lambda proof: "0" * 64)  # which is random
    found = []
    for place, sizes in enumerate(sources):
        few = [(f"r{i}", f"b{i}", "c0", "m") for i, size in enumerate(sizes) for _ in range(size)]
        published = [(f"a{i % 4}", f"b{i % 4}", f"c{i % 3}", "m") for i in range(98)]  # few rows stand once: no shuffle
        connection.execute("DROP TABLE IF EXISTS t")
        text_table(connection, ["a", "b", "c", "d"], [*published, *few])
        columns = document()["columns"]
        columns["b"] = columns["b"] | {"max_level": 0}
        folder = tmp_path / str(place)
        folder.mkdir()
        keys = {"output": {"file": str(folder / "r.csv")}, "quality": {"measure": "loss"}, "columns": columns}
        _, texts = made(connection, folder, privacy=[{"type": "k_anonymity", "k": k}], **keys)
        counts = json.loads(texts["manifest.json"])["ledger"]
        assert counts["published"] == len(published)
        assert counts["suppressed"] == (sum(sizes) if sum(sizes) >= k else f"<{k}")
        found.append(texts)
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
@pytest.mark.parametrize("thresholds", fast_of([[4321], [4321, 8642]], [4321]))
def test_no_threshold_of_frequent_values_is_in_any_file_for_recipients(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, thresholds: list[int]
) -> None:
    """A value that 4,321 records have, and the release shows 4,318 times, would tell that 3 were suppressed."""
    rows = [("v", f"b{i % 2}", "c", "m") for i in range(4318)] + [("v", "alone", "c", "m")] * 3
    text_table(connection, ["a", "b", "c", "d"], [*rows, *[("w", "b0", "c", "m")] * 30])
    columns = document()["columns"]
    columns["a"] = {"role": "quasi_identifier", "hierarchy": {"frequent": thresholds}, "min_level": 1, "max_level": 1}
    columns["b"] = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}, "max_level": 0}
    policy = sqlanon.Policy.from_dict(document(columns=columns), base_directory=tmp_path)
    with sqlanon.anonymize(connection, policy) as release:
        texts = {form.__name__: form(summarize(release), "recipient") for form in FORMS}
    _, pack = made(connection, tmp_path, columns=columns)
    texts |= pack | {path.name: path.read_text() for path in tmp_path.glob("r.parquet.*")}
    assert json.loads(texts["manifest.json"])["ledger"]["published"] == 4348
    assert all("values that many records have" in texts[name] for name in ("manifest.md", "text_report"))
    for name, text in texts.items():
        assert not numbers(re.sub(r"[0-9a-f]{64}", "", text)) & {"4321", "8642"}, name


@pytest.mark.parametrize("audience", fast_of(["recipient", "operator"], "recipient"))
def test_risk_and_utility_are_those_of_the_plan(
    people: duckdb.DuckDBPyConnection, tmp_path: Path, audience: str
) -> None:
    _, texts = made(people, tmp_path, audience=audience)
    risk, utility = json.loads(texts["risk.json"]), json.loads(texts["utility.json"])
    figures = {row["key"]: row for row in risk["figures"]}
    assert figures["prosecutor_highest"]["after"] == "1 in 30"
    assert figures["sample_uniques"]["after"] == "0 %"
    assert [row["column"] for row in utility["columns"]][:2] == ["a", "b"]
    if audience == "operator":  # 3 of 123 records are alone
        assert risk["before"]["figures"] and figures["sample_uniques"]["before"] == "2.4 %"
        assert utility["columns"][0]["total_variation"] == "2.4 %"
    else:
        assert "before" not in figures["sample_uniques"] and "before" not in risk
        assert utility["columns"][0].keys() == {"column", "role", "levels", "loss"} and "exact" not in utility
        for name in ("risk", "utility"):
            text = texts[f"{name}.md"]
            assert "No figure of the source is shown" in text and "source's records" not in text


# -- whole or not at all -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "failure", fast_of([KeyboardInterrupt, sqlanon.TargetError("It failed."), OSError("no room")], KeyboardInterrupt)
)
@pytest.mark.parametrize(
    "step",
    fast_of(["recount", "attacks", "summarize", "pack_texts", "write_pack", "sums_of", "swap"], "swap"),
)
def test_a_failure_in_any_step_leaves_no_folder_and_the_release_stands(
    people: duckdb.DuckDBPyConnection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    failure: BaseException | type[BaseException],
) -> None:
    def fails(*args: object, **options: object) -> object:
        raise failure

    with monkeypatch.context() as changed:
        if step == "swap":
            changed.setattr("sqlanon.core.disk.writing.rename_new", fails)
        elif step == "sums_of":  # while files are being written
            changed.setattr(pack_folder, "sums_of", fails)
        else:
            changed.setattr(packing, step, fails)
        with pytest.raises((sqlanon.SqlanonError, KeyboardInterrupt, OSError)) as caught:
            made(people, tmp_path)
    assert left_in(tmp_path) == {"r.parquet", "r.parquet.manifest.json", "r.parquet.certificate.json"}
    if isinstance(caught.value, sqlanon.SqlanonError):
        assert packing.ALREADY in caught.value.__notes__
    if isinstance(caught.value, KeyboardInterrupt):
        assert isinstance(caught.value, sqlanon.Interrupted) and caught.value.published
    again, _ = made(people, tmp_path)
    assert again.came == "found"


def test_a_policy_that_cannot_be_met_gives_exit_code_1_and_no_folder(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},{i}\n" for i in range(20)))
    (tmp_path / "p.json").write_text(
        json.dumps(document_of({n: quasi("redact", max_level=0) for n in "ab"}, k=5, source="t.csv", output="r.csv"))
    )
    done = command("evidence", tmp_path / "p.json", "--to", tmp_path / "pack", "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["error"] == "NoSolutionError"
    assert left_in(tmp_path) == {"t.csv", "p.json"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", fast_of(["pack error", "pack replace", "other replace", "more replace"], "pack replace")
)
def test_a_folder_is_replaced_only_if_it_is_a_pack_and_the_policy_says_so(
    people: duckdb.DuckDBPyConnection, tmp_path: Path, case: str
) -> None:
    before, if_exists = case.split()
    accepted = case == "pack replace"
    folder = tmp_path / "pack"
    if before == "other":
        folder.mkdir()
        (folder / "thesis.txt").write_text("of years")
    else:
        made(people, tmp_path)
        if before == "more":
            (folder / "thesis.txt").write_text("of years")
    there = texts_of(folder)
    if accepted:
        made(people, tmp_path, if_exists=if_exists, audience="operator")
        assert texts_of(folder).keys() != there.keys()
    else:
        with pytest.raises(sqlanon.TargetError, match="exists") as caught:
            made(people, tmp_path, if_exists=if_exists)
        assert caught.value.hint and texts_of(folder) == there
    assert not [name for name in left_in(tmp_path) if name.startswith(".")]


def test_a_folder_that_is_a_file_of_the_run_or_holds_one_is_refused(
    people: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    policy = sqlanon.Policy.from_dict(document(output={"file": str(tmp_path / "r.parquet")}), base_directory=tmp_path)
    for folder in (tmp_path / "r.parquet", tmp_path):
        with pytest.raises(sqlanon.TargetError):
            sqlanon.evidence(people, policy, to=folder)
    inside = replace(policy, output=sqlanon.Output.file(str(tmp_path / "pack" / "r.parquet")))
    with pytest.raises(sqlanon.TargetError, match="holds a file of this run"):
        sqlanon.evidence(people, inside, to=tmp_path / "pack")
    assert left_in(tmp_path) == set()


# -- a release that is there -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_release_that_is_there_is_left_as_it_is(people: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    policy = sqlanon.Policy.from_dict(document(output={"file": str(tmp_path / "r.parquet")}), base_directory=tmp_path)
    sqlanon.anonymize(people, policy).close()
    before = (tmp_path / "r.parquet").stat()
    found, texts = made(people, tmp_path)
    assert found.came == "found" and (tmp_path / "r.parquet").stat().st_mtime_ns == before.st_mtime_ns
    assert "were not compared with the source" in texts["limitations.md"]


def _other_policy(folder: Path, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    return {"privacy": [{"type": "k_anonymity", "k": 21}]}


def _other_source(folder: Path, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    connection.execute("INSERT INTO t SELECT * FROM t WHERE a = 'a0'")
    return {}


def _other_release(folder: Path, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    path = folder / "r.parquet"
    path.write_bytes(path.read_bytes() + b" ")
    return {}


def _no_manifest(folder: Path, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    (folder / "r.parquet.manifest.json").unlink()
    return {}


def _other_rows(folder: Path, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """A release with a record that is alone, and papers with its digest."""
    path, manifest = folder / "r.parquet", folder / "r.parquet.manifest.json"
    changed = "CASE WHEN row_number() OVER () = 1 THEN 'r9' ELSE a END"
    connection.execute(f"COPY (SELECT {changed} AS a, b, c FROM '{path}') TO '{folder / 'x.parquet'}'")
    (folder / "x.parquet").rename(path)
    papers = json.loads(manifest.read_text())
    papers["sha256"]["release"] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(papers))
    return {}


@pytest.mark.parametrize(
    "change", fast_of([_other_policy, _other_source, _other_release, _no_manifest, _other_rows], _other_rows)
)
def test_a_release_that_does_not_belong_is_an_error_with_a_cure(
    people: duckdb.DuckDBPyConnection, tmp_path: Path, change: Callable[..., dict[str, Any]]
) -> None:
    policy = sqlanon.Policy.from_dict(document(output={"file": str(tmp_path / "r.parquet")}), base_directory=tmp_path)
    sqlanon.anonymize(people, policy).close()
    changes = change(tmp_path, people)
    with pytest.raises((sqlanon.InputError, sqlanon.AuditError)) as caught:
        made(people, tmp_path, **changes)
    assert "if_exists: replace" in caught.value.hint and not (tmp_path / "pack").exists()


# -- kinds of policies -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_asked_for_decides_what_a_pack_says(people: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    columns = document()["columns"]
    diverse = {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}
    cases: dict[str, tuple[dict[str, Any], str]] = {
        "no output": ({"output": None}, "neither audited nor hashed"),
        "redacted": ({"suppressed": "redact"}, "redacted rows"),
        "basic": ({"nulls": "basic"}, "seldom at random"),
        "patterns": ({"transformation": {"type": "patterns"}}, "refinement"),
        "local": ({"transformation": {"type": "local_recoding"}, "suppression_limit": 1}, "refinement"),
        "accepted": ({"columns": columns | {"e": {"role": "keep"}}, "accept": ["e"]}, "is not anonymous"),
        "table": ({"output": {"table": "released"}}, "has no hash"),
        "one": ({"privacy": [], "columns": columns | {"c": diverse}}, "no k-anonymity"),
    }
    people.execute("ALTER TABLE t ADD COLUMN e VARCHAR")
    people.execute("UPDATE t SET e = 'e' || rowid")
    for name, (changes, words) in cases.items():
        folder = tmp_path / name
        folder.mkdir()
        keys = {"undeclared": "drop", **changes}
        if name == "patterns":
            free = {key: value for key, value in columns["a"].items() if key != "max_level"}
            keys["columns"] = columns | {"a": free}
        found, texts = made(people, folder, **keys)
        assert words in texts["limitations.md"], name
        assert set(found.outcomes.values()) <= {"no_finding", "needs_review", "not_applicable", "not_run"}
        assert (found.outcomes["class_sizes"] == "not_run") == (name == "no output"), name
        assert "\n\n\n\n" not in "".join(texts.values()), name


@pytest.mark.slow
def test_persons_are_counted_and_linked_records_are_reported(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    rows = [(f"a{i % 4}", f"b{i % 4}", f"c{i // 2}", f"p{i // 2}") for i in range(240)]
    text_table(connection, ["a", "b", "c", "d"], rows)
    changes = {"entity": "d", "accept": ["c"]}
    found, texts = made(connection, tmp_path, **changes)
    assert found.outcomes["linked_records"] != "not_applicable" and '"d"' not in texts["policy.json"]
    tried = {attack["key"]: attack for attack in json.loads(texts["attacks.json"])["tried"]}
    assert tried["linked_records"]["figures"]["apart"] in ("some", "none")
    assert "1 of 20 cases" in tried["class_sizes"]["result"] and "1 of 60" not in tried["class_sizes"]["result"]
    assert set(texts_of(tmp_path / "pack")) == set(texts)


def test_live_views_and_unknown_audiences_are_refused(people: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    with pytest.raises(sqlanon.UnsupportedError, match="live view"):
        made(people, tmp_path, output={"live_view": "v"})
    with pytest.raises(sqlanon.InputError, match="audience"):
        made(people, tmp_path, audience="press")
    assert left_in(tmp_path) == set()


@pytest.mark.slow
def test_names_cannot_break_out_of_a_table(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    odd = "a|b\n# <script>`x`"
    text_table(connection, [odd, "b", "c", "d"], records(alone=0))
    columns = {odd if name == "a" else name: keys for name, keys in document()["columns"].items()}
    _, texts = made(connection, tmp_path, columns=columns)
    for name, text in texts.items():
        if name.endswith(".md"):
            shown = "\n".join(line for line in text.splitlines() if not line.startswith("    "))  # but in code
            assert odd not in text and "\n# <" not in text and "<script>" not in shown.replace("\\<script\\>", ""), name


def test_the_verb_stays_the_verb() -> None:
    import sqlanon.report.evidence.papers

    assert callable(sqlanon.evidence) and sqlanon.evidence.__module__ == "sqlanon.report.evidence.pack"


# -- engines -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_sqlite_gives_the_pack_that_duckdb_gives(tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "s.sqlite") as database:
        database.execute("CREATE TABLE t (a TEXT, b TEXT, c TEXT, d TEXT)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", records())
    source = duckdb.connect()
    text_table(source, ["a", "b", "c", "d"], records())
    found = {}
    for name, given in (("sqlite", str(tmp_path / "s.sqlite")), ("duckdb", source)):
        (tmp_path / name).mkdir()
        found[name] = made(given, tmp_path / name)[1]
    one, other = (json.loads(found[name]["attacks.json"])["tried"] for name in ("sqlite", "duckdb"))
    lacking = {attack["key"] for attack, same in zip(one, other, strict=True) if attack != same}
    assert lacking <= {"null_wildcards"} and found["sqlite"].keys() == found["duckdb"].keys()


def test_postgres_gives_a_pack_of_a_file_and_of_a_table(postgres: Server, tmp_path: Path) -> None:
    uri = postgres.uri()
    values = ", ".join(f"({', '.join(map(repr, row))})" for row in records())
    execute(
        postgres,
        "DROP TABLE IF EXISTS t",
        "CREATE TABLE t (a TEXT, b TEXT, c TEXT, d TEXT)",
        f"INSERT INTO t VALUES {values}",
    )
    for name, output in (("file", {"file": str(tmp_path / "r.parquet")}), ("table", {"table": "evidenced"})):
        (tmp_path / name).mkdir()
        found, texts = made(uri, tmp_path / name, output=output)
        assert found.outcomes["class_sizes"] == "no_finding" and uri not in "".join(texts.values())
        assert (found.release_sha256 is None) == (name == "table")
