"""Papers and ledgers that earlier versions wrote are read: each folder of ``earlier`` was written by that version."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from command_line import sqlanon as command

import sqlanon

VERSIONS = sorted((Path(__file__).parent / "earlier").iterdir())


@pytest.fixture(params=VERSIONS, ids=lambda folder: folder.name)
def study(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a policy with its source, its release with papers, and its ledger."""
    folder = tmp_path / "study"
    shutil.copytree(request.param, folder)
    private = folder / "private"
    private.mkdir(mode=0o700)
    shutil.move(folder / "invented.key", private / "secret.key")
    (private / "secret.key").chmod(0o600)
    (private / "ledger.duckdb").touch(mode=0o600)
    (private / "ledger.duckdb").write_bytes(gzip.decompress((folder / "ledger.duckdb.gz").read_bytes()))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return folder


def test_certificates_hold(study: Path) -> None:
    """The recipient's beside the release, though the ledger holds that release by now; and the operator's."""
    for name in ("released.csv.certificate.json", "operator.json"):
        found = sqlanon.verify(study / name, study / "policy.yaml")
        assert found.holds and found.boxes, (name, found.faults)


def test_a_manifest_belongs_to_its_release_and_policy(study: Path) -> None:
    manifest = json.loads((study / "released.csv.manifest.json").read_text())
    assert manifest["policy_fingerprint"] == sqlanon.Policy.from_file(study / "policy.yaml").fingerprint()
    done = command("check", study / "released.csv", "--manifest", "--qi", "sex,age,region", "--k", "5")
    assert done.returncode == 0, done.stdout + done.stderr
    with (study / "released.csv").open("a") as file:
        file.write("f,*,*,I10\n")
    assert command("check", study / "released.csv", "--manifest", "--qi", "sex,age,region", "--k", "5").returncode == 1


def test_a_ledger_is_gone_on_with(study: Path) -> None:
    """A new release is judged together with the one that an earlier version recorded."""
    done = command("ledger", "check", study / "policy.yaml", "--json")
    assert done.returncode == 0, done.stderr
    assert [each["number"] for each in json.loads(done.stdout)["releases"]] == [1]
    done = command("run", study / "policy.yaml", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ledger"]["earlier"] == 1
