"""The command line as a user calls it: exit codes, one JSON document on standard output, everything else beside it."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from command_line import sqlanon
from policies import quasi

KEYS = {
    "strategy", "levels", "optimal", "gap", "lower_bound", "loss", "measure", "records", "published", "suppressed",
    "excluded", "classes", "smallest_class", "lattice_size", "evaluated", "snapshots", "statements", "seconds",
    "output",
}  # fmt: skip


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "d"
    done = sqlanon("demo", folder, "--records", 4000)
    assert done.returncode == 0, done.stderr
    (folder.parent / "printed.txt").write_text(done.stdout, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_the_commands_that_the_demo_proposes_run(demo: Path) -> None:
    printed = (demo.parent / "printed.txt").read_text(encoding="utf-8")
    proposed = dict(re.findall(r"^([A-Z][a-z ]+ it): +(.+)$", printed, re.MULTILINE))
    assert [*proposed] == ["Look at it", "Check it", "Prove it"]
    look = shlex.split(proposed["Look at it"])
    done = subprocess.run([sys.executable, *look[1:]], cwd=demo.parent, capture_output=True, text=True, check=False)
    assert look[0] == "python" and done.returncode == 0, done.stderr
    for name, shown in (("Check it", "k_anonymity(k=5) holds"), ("Prove it", "The certificate holds")):
        done = sqlanon(*shlex.split(proposed[name])[1:])
        assert done.returncode == 0 and shown in done.stdout, done.stderr


@pytest.mark.slow
def test_demo_refuses_to_overwrite(demo: Path) -> None:
    done = sqlanon("demo", demo)
    assert done.returncode == 2 and "hospital.duckdb" in done.stderr


@pytest.mark.slow
def test_run_prints_one_json_document(demo: Path) -> None:
    done = sqlanon("run", demo / "policy.yaml", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and set(answer) >= KEYS
    assert answer["optimal"] is True and answer["gap"] == 0
    assert answer["records"] == 4000 == answer["published"] + answer["suppressed"] + answer["excluded"]
    assert answer["smallest_class"] >= 5 and list(answer["output"]) == ["file"]
    assert set(answer["seconds"]) == {"encode", "search", "publish"}


def test_dry_run_writes_nothing_and_exhaustive_agrees(demo: Path, tmp_path: Path) -> None:
    before = sorted((p.name, p.stat().st_mtime_ns) for p in demo.iterdir())
    document = {"source": str(demo / "hospital.duckdb"), "table": "discharges", "undeclared": "drop"}
    document["columns"] = {name: quasi() for name in ("sex", "insurance", "marital_status", "department")}
    document |= {"privacy": [{"type": "k_anonymity", "k": 50}], "output": {"file": "never.csv"}}
    (tmp_path / "p.json").write_text(json.dumps(document))
    answers = [
        json.loads(sqlanon("run", tmp_path / "p.json", "--json", "--dry-run", "--strategy", s).stdout)
        for s in ("box", "exhaustive")
    ]
    assert answers[0]["loss"] == pytest.approx(answers[1]["loss"], rel=1e-12)
    assert answers[1]["evaluated"] == answers[1]["lattice_size"] == 16
    assert answers[0]["output"] == {} and not (tmp_path / "never.csv").exists()
    assert sorted((p.name, p.stat().st_mtime_ns) for p in demo.iterdir()) == before


@pytest.mark.parametrize("kind", ["view", "table"])
@pytest.mark.slow
def test_run_into_the_source_database_warns(kind: str, demo: Path, tmp_path: Path) -> None:
    policy = (demo / "policy.yaml").read_text().replace("file: released.parquet", f"{kind}: anon.discharges")
    (demo / f"{kind}.yaml").write_text(policy)
    done = sqlanon("run", demo / f"{kind}.yaml", "--json")
    assert done.returncode == 0, done.stderr
    assert "protects nobody" in done.stderr
    with duckdb.connect(str(demo / "hospital.duckdb")) as connection:
        published = connection.execute("SELECT COUNT(*) FROM anon.discharges").fetchone()[0]
        assert published == json.loads(done.stdout)["published"]
        connection.execute(f"DROP {kind} anon.discharges")
        connection.execute("DROP SCHEMA anon CASCADE")


@pytest.mark.slow
def test_policies_that_cannot_be_met_or_read(demo: Path) -> None:
    text = (demo / "policy.yaml").read_text()
    (demo / "k.yaml").write_text(text.replace("k: 5", "k: 5000"))
    done = sqlanon("run", demo / "k.yaml", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 1 and answer["error"] == "NoSolutionError"
    assert answer["nearest"]["suppressed"] == 4000
    (demo / "bad.yaml").write_text(text.replace("nulls: extended", "nulls: maybe"))
    done = sqlanon("run", demo / "bad.yaml", "--json")
    assert done.returncode == 2 and json.loads(done.stdout)["faults"][0]["key"] == "nulls"
    done = sqlanon("run", demo / "policy.yaml", "--json", "--time-limit", 0)
    assert done.returncode == 1 and json.loads(done.stdout)["error"] == "SearchStoppedError"
    assert sqlanon("run", demo / "missing.yaml").returncode == 2
    assert sqlanon("run").returncode == 2


@pytest.mark.slow
def test_check_holds_fails_or_cannot_say(demo: Path) -> None:
    columns = "sex,age,zip,marital_status,insurance,admission_date,diagnosis"
    sqlanon("run", demo / "policy.yaml")
    assert sqlanon("check", demo / "released.parquet", "--qi", columns, "--k", 5).returncode == 0
    done = sqlanon("check", demo / "hospital.duckdb", "discharges", "--qi", columns, "--k", 5, "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 1 and answer["holds"] is False and answer["failing_records"] > 0
    assert sqlanon("check", demo / "released.parquet", "--qi", "nothing", "--k", 5).returncode == 2
    assert sqlanon("check", demo / "nowhere.parquet", "--qi", "a", "--k", 5).returncode == 2


@pytest.mark.slow
def test_explain_prints_sql_and_writes_nothing(demo: Path) -> None:
    before = sorted(p.name for p in demo.iterdir())
    done = sqlanon("explain", demo / "policy.yaml", "--node", "0,3,5,0,0,3,2")
    assert done.returncode == 0 and "GROUP BY" in done.stdout and "level_3" in done.stdout
    assert sqlanon("explain", demo / "policy.yaml", "--node", "0,99").returncode == 2
    assert sqlanon("explain", demo / "policy.yaml", "--node", "0,99,0,0,0,0,0").returncode == 2
    assert sorted(p.name for p in demo.iterdir()) == before


def test_hierarchy_check(demo: Path, tmp_path: Path) -> None:
    done = sqlanon("hierarchy", "check", demo / "hierarchies" / "diagnosis.csv")
    assert done.returncode == 0 and "160 > 40 > 8 > 1" in done.stdout
    (tmp_path / "bad.csv").write_text("a;x;1\nb;x;2\n")
    assert sqlanon("hierarchy", "check", tmp_path / "bad.csv").returncode == 2


@pytest.mark.slow
def test_verify_runs_the_proof_again_and_finds_what_was_changed(demo: Path, tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    done = sqlanon("run", demo / "policy.yaml", "--json", "--dry-run", "--certificate", path)
    assert done.returncode == 0 and json.loads(done.stdout)["output"] == {}
    written = json.loads(path.read_text())
    held = sqlanon("verify", path, demo / "policy.yaml", "--json")
    answer = json.loads(held.stdout)
    assert held.returncode == 0 and answer["holds"] and answer["optimal"] and answer["faults"] == []
    assert (
        answer["boxes"] == len(written["boxes"])
        and "is optimal" in sqlanon("verify", path, demo / "policy.yaml").stdout
    )
    path.write_text(json.dumps({**written, "boxes": written["boxes"][1:]}))
    changed = sqlanon("verify", path, demo / "policy.yaml")
    assert changed.returncode == 1 and "was changed after it was written" in changed.stdout
    assert sqlanon("verify", tmp_path / "missing.json", demo / "policy.yaml").returncode == 2


@pytest.mark.slow
def test_a_heuristic_claims_nothing_and_has_no_certificate(demo: Path, tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    done = sqlanon("run", demo / "policy.yaml", "--json", "--dry-run", "--strategy", "datafly", "--certificate", path)
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and answer["strategy"] == "datafly"
    assert answer["optimal"] is False and answer["gap"] is None and answer["lower_bound"] is None
    assert "no certificate" in done.stderr and not path.exists()
