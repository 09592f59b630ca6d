"""A release and its papers are one thing: at every kill, for two runs at once, and with the permissions they had."""

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from command_line import sqlanon as command
from killed_publications import SCENARIOS, publish, seen
from policies import document_of, file_of, quasi

import sqlanon
from sqlanon.core.disk import renames
from sqlanon.core.disk.digests import digest_of
from sqlanon.core.disk.folders import LOCK, PrivateFolder
from sqlanon.core.disk.writing import whole_file, workplace_of, write_text
from sqlanon.core.publish.leftovers import clean
from sqlanon.core.publish.papers import CERTIFICATE, MANIFEST, check_papers
from sqlanon.core.publish.workplace import RECORD, Workplace
from sqlanon.errors import InputError, TargetError

SUPPORT = Path(__file__).parents[1] / "support"
RECORDS = "a,b\n" + "".join(f"{i % 3},{i}\n" for i in range(60))
POLICY: dict[str, Any] = document_of(
    {"a": quasi({"file": "h.csv"}), "b": "drop"}, k=5, source="s.csv", output={"file": "out.csv"}
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.csv").write_text(RECORDS)
    (tmp_path / "h.csv").write_text("0;*\n1;*\n2;*\n")
    write_policy(tmp_path)
    return tmp_path


def write_policy(folder: Path, **changes: Any) -> Path:
    return file_of(folder / "p.json", {**POLICY, **changes})


def mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):04o}"


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


# -- kills ------------------------------------------------------------------------------------------------------------


def kills(directory: Path, scenario: str, *options: str) -> list[Any]:
    script = [sys.executable, str(SUPPORT / "killed_publications.py"), str(directory), scenario, *options]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(script, check=True, capture_output=True, text=True, env=env)
    return [json.loads(line) for line in done.stdout.splitlines()]


def whole(state: dict[str, Any], scenario: dict[str, Any]) -> bool:
    """Whether the old release stands with its papers, and no others, or the new one does."""
    old, new = scenario["old"], scenario["certificate"]
    papers = {"old": old, "new": new, None: False}[state["release"]]
    release = state["release"]
    if release is None and old is not None:
        return False
    return state[MANIFEST] == release and state[CERTIFICATE] == (release if papers else None)


CASES = [
    pytest.param("replace", (), id="replace"),
    *[
        pytest.param(name, options, marks=pytest.mark.slow, id="-".join([name, *options]))
        for name in SCENARIOS
        for options in ((), ("folder",), ("twice",))
        if (name, options) != ("replace", ())
        and (not options or name in ("first", "replace", "without exchange"))
        and (name != "without exchange" or options == ("folder",))
    ],
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked to be killed")
@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.slow
@pytest.mark.few(4)
def test_wherever_a_publication_is_killed_papers_are_never_beside_another_release_and_it_is_settled(
    tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    scenario, found = SCENARIOS[name], kills(tmp_path, name, *options)
    releases = {settled["release"] for _, _, settled, _ in found}
    assert releases == {"new", "old" if scenario["old"] is not None else None} and len(found) > 20
    for after, between, settled, names in found:
        for state in (after, between):
            for ending in (MANIFEST, CERTIFICATE):
                assert state[ending] in (None, state["release"]), "a paper of another release stands beside it"
        assert whole(settled, scenario), (after, settled)
        assert not [entry for entry in names if entry.startswith(".")], "something was left behind"
    assert any(not whole(after, scenario) for after, *_ in found), "no kill fell between the steps"


KILLED_RUN = """
import os, signal, sys
import sqlanon
left = [int(sys.argv[2])]
def watch(event, arguments):
    if event == "os.rename" and ".sqlanon" in str(arguments[0]) + str(arguments[1]):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
with sqlanon.anonymize(None, sqlanon.Policy.from_file(sys.argv[1])):
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "duckdb"])
@pytest.mark.few(1)
def test_a_run_that_is_killed_between_two_renames_is_settled_by_check_and_clean(folder: Path, ending: str) -> None:
    release = folder / f"out.{ending}"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for point in range(20):
        policy = write_policy(folder, output={"file": release.name}, if_exists="replace", repeats="accept")
        (folder / "s.csv").write_text(RECORDS)
        assert command("run", policy).returncode == 0
        old = digest_of(release)
        (folder / "s.csv").write_text(RECORDS + "0,60\n")  # another release: equal rows make equal files
        done = subprocess.run([sys.executable, "-c", KILLED_RUN, str(policy), str(point)], check=False, env=env)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL and hidden(folder)
        assert command("check", release, "--manifest").returncode == 0
        assert command("clean", folder).returncode == 0
        assert not hidden(folder)
        assert (digest_of(release) == old) == (point <= 3)  # the record, two papers, then the release
    assert point > 5


# -- two at once ------------------------------------------------------------------------------------------------------


def test_a_second_run_for_a_target_is_refused_at_once_and_does_no_work(folder: Path) -> None:
    running = Workplace.claim(folder / "out.csv")
    before = sorted(folder.rglob("*"))
    done = command("run", folder / "p.json", "--json")
    assert done.returncode == 2 and json.loads(done.stdout)["error"] == "TargetError"
    assert f"Another run is publishing to 'out.csv' (process {os.getpid()})" in json.loads(done.stdout)["message"]
    assert sorted(folder.rglob("*")) == before
    running.close()
    assert command("run", folder / "p.json").returncode == 0 and not hidden(folder)


def test_a_run_holds_its_target_while_it_searches(folder: Path) -> None:
    policy = sqlanon.Policy.from_file(folder / "p.json")
    seen_names: list[list[str]] = []

    def watch(step: Any) -> None:
        if step.phase != "searching":
            return
        seen_names.append(hidden(folder))
        with pytest.raises(TargetError, match="Another run"):
            Workplace.claim(folder / "out.csv")

    with sqlanon.anonymize(None, policy, watch=watch) as release:
        assert seen_names[0] == [".out.csv.sqlanon"] and not hidden(folder)
        assert release.manifest == json.loads((folder / "out.csv.manifest.json").read_text())


def test_of_runs_at_one_time_every_one_publishes_all_or_is_refused(tmp_path: Path) -> None:
    target, done = tmp_path / "r.parquet", []

    def work(name: str) -> None:
        for _ in range(20):
            try:
                publish(target, name, certificate=name == "a", if_exists="replace", folder=False)
                done.append(name)
            except TargetError:
                pass

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = seen(target)
    assert done and state["release"] == done[-1] == state[MANIFEST] and state["fits"]
    assert state[CERTIFICATE] == ("a" if done[-1] == "a" else None) and not hidden(tmp_path)


@pytest.mark.parametrize("folder_release", [False, True])
@pytest.mark.parametrize("linux", [True, False])
def test_a_target_that_appears_at_the_last_moment_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder_release: bool, linux: bool
) -> None:
    target = tmp_path / "r.parquet"
    original, renamed = renames._rename, []

    def appearing(old: Path, new: Path, flag: int) -> bool:
        if not renamed:
            renamed.append(new)
            target.mkdir() if folder_release else target.write_text("another's")
        return original(old, new, flag) if linux else False

    monkeypatch.setattr(renames, "_rename", appearing)
    with pytest.raises(TargetError, match="appeared meanwhile"):
        publish(target, "new", certificate=True, if_exists="error", folder=folder_release)
    assert renamed and [path.name for path in tmp_path.iterdir()] == ["r.parquet"]
    assert list(target.iterdir()) == [] if folder_release else target.read_text() == "another's"


def test_an_interrupt_while_a_release_is_put_in_place_comes_too_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, swap = tmp_path / "r.parquet", Workplace._swap

    def interrupted(workplace: Workplace, if_exists: str) -> None:
        signal.raise_signal(signal.SIGINT)
        swap(workplace, if_exists)

    monkeypatch.setattr(Workplace, "_swap", interrupted)
    with pytest.raises(KeyboardInterrupt):  # it waits; ``sqlanon.Interrupted`` says of a whole run what stands
        publish(target, "new", certificate=True, if_exists="error", folder=False)
    assert seen(target) == {"release": "new", MANIFEST: "new", CERTIFICATE: "new", "fits": True}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_before_that_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workplace, "put_in_place", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        publish(tmp_path / "r.parquet", "new", certificate=True, if_exists="error", folder=False)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_put_in_place_leaves_the_old_release_with_its_papers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "r.parquet"
    publish(target, "old", certificate=True, if_exists="error", folder=False)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(TargetError, match="No space left"):
        publish(target, "new", certificate=True, if_exists="replace", folder=False)
    assert seen(target) == {"release": "old", MANIFEST: "old", CERTIFICATE: "old", "fits": True}
    assert not hidden(tmp_path)


# -- whether they belong together -------------------------------------------------------------------------------------


def test_check_says_whether_release_and_papers_belong_together(folder: Path) -> None:
    assert command("run", folder / "p.json").returncode == 0
    release, manifest = folder / "out.csv", folder / "out.csv.manifest.json"
    digests = json.loads(manifest.read_text())["sha256"]
    assert digests["release"] == hashlib.sha256(release.read_bytes()).hexdigest()
    done = command("check", release, "--manifest", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["manifest"]["sha256"] == digests["release"]
    certificate = (folder / "out.csv.certificate.json").read_bytes()
    (folder / "out.csv.certificate.json").write_bytes(certificate + b"\n")
    done = command("check", release, "--manifest")
    assert done.returncode == 1 and "certificate" in done.stdout
    (folder / "out.csv.certificate.json").unlink()
    assert command("check", release, "--manifest").returncode == 1
    (folder / "out.csv.certificate.json").write_bytes(certificate)
    with release.open("a") as file:
        file.write("1\n")
    done = command("check", release, "--manifest", manifest, "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["holds"] is False
    assert command("check", release, "--manifest", "--qi", "a", "--k", 5).returncode == 1  # though it is 5-anonymous
    done = command("check", release, "--manifest", folder / "absent.json")
    assert done.returncode == 2
    document = json.loads(manifest.read_text())
    del document["sha256"]
    manifest.write_text(json.dumps(document))
    done = command("check", release, "--manifest")
    assert done.returncode == 2 and "older version" in done.stderr


def test_the_digest_of_a_folder_is_that_of_the_list_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "r.parquet").mkdir()
    for name in ("b", "a"):
        (tmp_path / "r.parquet" / name).write_text(name)
    listed = "".join(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in ("a", "b"))
    assert digest_of(tmp_path / "r.parquet") == hashlib.sha256(listed.encode()).hexdigest()


def test_papers_are_completed_only_for_the_release_that_they_describe(tmp_path: Path) -> None:
    target = tmp_path / "r.parquet"
    workplace = Workplace.claim(target)
    publish(tmp_path / "new.parquet", "new", certificate=False, if_exists="error", folder=False)
    place = workplace.folder.path
    (place / "new" / f"r.parquet{MANIFEST}").write_text("{}")
    (place / RECORD).write_text(json.dumps({"name": "r.parquet", "sha256": digest_of(tmp_path / "new.parquet")}))
    target.write_text("changed since by somebody")
    workplace.close()
    with pytest.raises(InputError, match="cannot be read"):
        check_papers(target)


# -- permissions ------------------------------------------------------------------------------------------------------


@pytest.fixture
def open_umask() -> Any:
    before = os.umask(0o002)
    yield
    os.umask(before)


FILES = ("out.csv", "out.csv.manifest.json", "out.csv.certificate.json", "s.sql", "c.json", "r.html")


@pytest.mark.slow
@pytest.mark.usefixtures("open_umask")
def test_new_files_are_their_owners_alone_and_replaced_ones_keep_their_permissions(folder: Path) -> None:
    beside = ("--script", folder / "s.sql", "--certificate", folder / "c.json", "--report", folder / "r.html")
    assert command("run", folder / "p.json", *beside).returncode == 0
    assert {name: mode(folder / name) for name in FILES} == dict.fromkeys(FILES, "0600")
    wanted = dict(zip(FILES, ("0640", "0644", "0600", "0660", "0604", "0640")))
    for name, permissions in wanted.items():
        (folder / name).chmod(int(permissions, 8))
    write_policy(folder, if_exists="replace")
    assert command("run", folder / "p.json", *beside).returncode == 0
    assert {name: mode(folder / name) for name in FILES} == wanted


@pytest.mark.usefixtures("open_umask")
def test_the_policy_can_name_the_permissions_of_a_release_and_its_papers(folder: Path) -> None:
    policy = write_policy(folder, output={"file": "out.csv", "mode": "0644"})
    assert command("run", policy, "--script", folder / "s.sql").returncode == 0
    assert [mode(folder / name) for name in FILES[:4]] == ["0644", "0644", "0644", "0600"]


@pytest.mark.parametrize("wrong", [640, 0o640, "640x", "0040", "999", "00640", ""])
def test_permissions_that_are_none_are_refused(folder: Path, wrong: Any) -> None:
    with pytest.raises(sqlanon.PolicyError, match=r"output\.mode"):
        sqlanon.Policy.from_file(write_policy(folder, output={"file": "out.csv", "mode": wrong}))
    with pytest.raises(sqlanon.PolicyError, match="Only a file"):
        sqlanon.Policy.from_dict({**POLICY, "output": {"table": "t", "mode": "0600"}})


@pytest.mark.slow
@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("ending", ["csv", "parquet", "duckdb", "xml"])
def test_nobody_else_can_read_a_release_before_it_is_in_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    looked: list[str] = []
    prepare = Workplace.prepare

    def looking(workplace: Workplace, *arguments: Any) -> Any:
        looked.append(mode(workplace.folder.path))
        return prepare(workplace, *arguments)

    monkeypatch.setattr(Workplace, "prepare", looking)
    policy = write_policy(folder, output={"file": f"out.{ending}"})
    with sqlanon.anonymize(None, sqlanon.Policy.from_file(policy)):
        pass
    assert looked == ["0700"]


@pytest.mark.usefixtures("open_umask")
def test_texts_and_conversions_are_created_for_their_owner_alone_and_keep_what_they_replace(folder: Path) -> None:
    for permissions in ("0600", "0644"):
        write_text(folder / "model.sql", "SELECT 1")
        assert command("convert", folder / "p.json", folder / "p.xml", "--replace").returncode == 0
        assert [mode(folder / "model.sql"), mode(folder / "p.xml")] == [permissions] * 2
        for name in ("model.sql", "p.xml"):
            (folder / name).chmod(0o644)


def test_a_folder_can_be_entered_by_those_who_can_read_it(tmp_path: Path) -> None:
    target = tmp_path / "r.parquet"
    listed = (target, target / "year=1", target / "year=1" / "data_0.parquet")
    publish(target, "a", certificate=False, if_exists="error", folder=True)
    assert [mode(path) for path in listed] == ["0700", "0700", "0600"]
    target.chmod(0o750)
    publish(target, "b", certificate=False, if_exists="replace", folder=True)
    assert [mode(path) for path in listed] == ["0750", "0750", "0640"]


def test_a_workplace_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = workplace_of(tmp_path / "r.csv")
    place.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(TargetError, match="another user"):
        Workplace.claim(tmp_path / "r.csv")
    place.rmdir()
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere")
    monkeypatch.undo()
    with pytest.raises(TargetError, match="another user"):
        Workplace.claim(tmp_path / "r.csv")


# -- what was left behind ---------------------------------------------------------------------------------------------


def left_behind(path: Path, content: str = "values") -> Path:
    """A workplace whose process is dead."""
    folder = PrivateFolder.claim(workplace_of(path))
    assert folder is not None
    (folder.path / "new").mkdir()
    (folder.path / "new" / path.name).write_text(content)
    folder.abandon()
    return folder.path


def test_clean_lists_and_removes_what_dead_runs_left_and_nothing_else(tmp_path: Path) -> None:
    dead = left_behind(tmp_path / "a.csv")
    empty = workplace_of(tmp_path / "b.csv")
    empty.mkdir()
    old = tmp_path / f".c.csv.sqlanon-{2**22 + 1}-0a1b2c3d.partial.csv"
    old.touch()
    living = Workplace.claim(tmp_path / "d.csv")
    of_living = tmp_path / f".e.csv.sqlanon-{os.getppid()}-0a1b2c3d.partial.csv"
    of_living.touch()
    foreign = workplace_of(tmp_path / "f.csv")
    foreign.mkdir()
    (foreign / "notes.txt").touch()
    paths = {dead, empty, old, living.folder.path, of_living, foreign}

    def states(*arguments: object) -> dict[str, str]:
        done = command("clean", *arguments, "--json")
        assert done.returncode == 0
        found = {Path(item["path"]): item["state"] for item in json.loads(done.stdout)["found"]}
        return {path.name: state for path, state in found.items() if path.parent == tmp_path}

    in_use = {living.folder.path.name: "in use", of_living.name: "in use"}
    gone = [dead.name, empty.name, old.name]
    assert states(tmp_path, "--dry-run") == {**dict.fromkeys(gone, "left behind"), **in_use}
    assert all(path.exists() for path in paths)
    assert states(tmp_path / "a.csv") == {dead.name: "removed"}
    assert states(tmp_path) == {**dict.fromkeys(gone[1:], "removed"), **in_use}
    assert {path for path in paths if path.exists()} == {living.folder.path, of_living, foreign}
    living.close()


def test_clean_refuses_a_place_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no directory"):
        clean(tmp_path / "absent" / "x")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text("old")
    with pytest.raises(ValueError, match="stop"), whole_file(path) as partial:
        partial.write_text("half")
        raise ValueError("stop")
    assert path.read_text() == "old" and [entry.name for entry in tmp_path.iterdir()] == ["report.txt"]
    with whole_file(path) as partial:
        assert mode(partial.parent) == "0700" and (partial.parent / LOCK).exists()
        partial.write_text("new")
    assert path.read_text() == "new" and [entry.name for entry in tmp_path.iterdir()] == ["report.txt"]
