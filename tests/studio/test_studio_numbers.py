"""What the page shows is what the commands print for the policy that it saves."""

import html
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import benches
import pytest
import yaml
from benches import after, settled
from command_line import sqlanon as run_command

import sqlanon
from sqlanon.core.words import probability, share
from sqlanon.errors import TargetError
from sqlanon.studio import workbench
from sqlanon.studio.workbench import Workbench

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    folder = tmp_path_factory.mktemp("studio")
    made = benches.bench_of(benches.visitors_file(folder), folder)
    after(made, "lift")  # the draft's limits on levels leave no room for other k
    yield made
    made.close()


def words(text: str) -> str:
    """What a person reads of HTML, numbers included."""
    text = re.sub(r"<(style|title|desc)\b.*?</\1>|<[^>]+>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(text).split())


def saved(bench: Workbench, name: str = "policy.yaml") -> Path:
    path = bench.folder / name
    path.write_text(bench.policy_text())
    return path


CHANGES: list[list[dict[str, str]]] = [
    [],
    [{"action": "k", "value": "11"}, {"action": "limit", "value": "2.5"}],
    [{"action": "role", "column": "disease", "value": "sensitive"},
     {"action": "parameter", "column": "disease", "place": "0", "name": "l", "value": "3"}],
    [{"action": "hierarchy", "column": "age", "value": "intervals"},
     {"action": "option", "column": "age", "name": "width", "value": "7"},
     {"action": "weight", "column": "age", "value": "2"}],
]  # fmt: skip


@pytest.mark.parametrize("changes", CHANGES, ids=["as drafted", "k and limit", "a model", "a hierarchy"])
def test_each_number_is_the_one_that_the_commands_print(bench: Workbench, changes: list[dict[str, str]]) -> None:
    for change in changes:
        bench.change(change)
    state = settled(bench)
    assert state["status"] == {"kind": "done", "text": "Done."}
    shown = {name: words(text) for name, text in state["fragments"].items()}
    path, report = saved(bench), bench.folder / "report.html"
    done = run_command("run", path, "--dry-run", "--report", report, "--json")
    assert done.returncode == 0, done.stderr
    ran = json.loads(done.stdout)
    page = report.read_text()
    for key, where in {"records": "figures", "attributes": "figures", "classes": "figures", "risk": "measured",
                       "utility": "measured", "models": "measured", "promised": "measured"}.items():  # fmt: skip
        section = re.search(rf'<section id="{key}".*?</section>', page, re.DOTALL)
        if section is not None:
            blocks = re.sub(r"<figure>\s*<figcaption.*?</figure>", "", section[0], flags=re.DOTALL)
            for part in re.findall(r"<(?:table|svg|p)\b.*?</(?:table|svg|p)>", blocks, re.DOTALL):
                if (
                    "distance" not in part and "share of the records by value" not in part
                ):  # six pictures there, all here
                    assert words(part) in shown[where], key
    assert f"loss {ran['loss']:.4g}" in shown["brief"].replace(",", "")
    utility = json.loads(run_command("utility", path, "--json").stdout)
    distances = [column["total_variation"] for column in utility["columns"] if not column["fully_suppressed"]]
    assert distances and all(share(round(distance, 6)) in shown["measured"] for distance in distances)
    printed = json.loads(run_command("frontier", path, "--k", "2,3,5,10,11,20", "--limit", "0,0.01,0.05,0.1,0.025",
                                     "--json").stdout)  # fmt: skip
    found = {(str(p["k"]), float(p["limit"])): p["loss"] for p in printed["points"] if p["found"]}
    rows = re.findall(r"<tr.*?</tr>", state["fragments"]["frontier"], re.DOTALL)[1:]
    for row in rows:
        k, limit, loss, *_ = [words(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
        assert f"{found[k, float(limit.removesuffix('%').strip()) / 100]:.6f}" == loss
    assert len(rows) >= 4
    assert state["fragments"]["frontier"].count('class="here"') == 1, "the present point is marked"


def test_a_point_of_the_frontier_that_is_not_proven_says_so(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    real = workbench.frontier

    def stopped(*given: Any, **options: Any) -> Any:
        found = real(*given, **options)
        points = [replace(each, certificate=each.certificate and replace(each.certificate, optimal=False))
                  for each in found.points]  # fmt: skip
        return replace(found, points=tuple(points))

    monkeypatch.setattr(workbench, "frontier", stopped)
    text = words(after(bench, "lift")["fragments"]["frontier"])
    assert "found in 2 seconds" in text and "or less (not proven)" in text
    monkeypatch.undo()
    assert "or less" not in words(after(bench, "undo")["fragments"]["frontier"])


def test_a_price_is_the_loss_of_the_policy_that_it_leads_to(bench: Workbench) -> None:
    state = settled(bench)
    prices = re.findall(r"<tr role=.*?</tr>", state["fragments"]["prices"], re.DOTALL)[1:]
    taken = 0
    for row in prices:
        button = re.search(r'data-lifts="(\w*)" data-column="(\w+)" data-value="(\d+)"', row)
        if button is None:
            assert "No release with it" in row or "None was found" in row
            continue
        loss, suppressed = re.search(r"([\d.]+) \(", words(row))[1], re.findall(r"([\d,]+) \([+-]", words(row))[-1]
        lifts, column, level = button.groups()
        settled_state = after(bench, "finer", column=column, max_level=level, lifts=lifts)
        plan = json.loads(run_command("run", saved(bench), "--dry-run", "--json").stdout)
        assert f"{plan['loss']:.4f}" == loss
        assert f"{plan['suppressed']:,}" == suppressed
        assert settled_state["status"]["kind"] == "done"
        after(bench, "undo")
        taken += 1
    assert taken >= 2


def test_what_is_saved_and_opened_again_is_the_same_page(bench: Workbench, tmp_path: Path) -> None:
    before = settled(bench)
    with closing(benches.bench_of(saved(bench, "again.yaml"), tmp_path)) as again:
        first, second = (yaml.safe_load(each.policy_text()) for each in (bench, again))
        assert first == second
        assert Path(first["source"]).is_absolute(), "what is downloaded may stand anywhere"
        for part in ("figures", "prices", "frontier"):
            assert words(before["fragments"][part]) == words(settled(again)["fragments"][part]), part
        assert again.folder == bench.folder, "beside the policy that was opened"


def test_what_is_published_is_what_was_shown(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSEWHERE", str(bench.folder.parent / "out"))
    shown = words(settled(bench)["fragments"]["figures"])
    state = after(bench, "publish", name="out.parquet")
    assert "out.parquet , the release" in words(state["fragments"]["released"])
    folder = bench.folder
    manifest = json.loads((folder / "out.parquet.manifest.json").read_text())
    assert f"{manifest['ledger']['published']:,}" in shown
    assert run_command("verify", folder / "out.parquet.certificate.json", folder / "out.policy.yaml").returncode == 0
    assert "Published:" in (folder / "out.report.html").read_text()
    assert run_command("check", folder / "out.parquet", "--k", "5", "--qi", "age,sex,district").returncode == 0
    risk = ("risk", folder / "out.parquet", "--qi", "age,sex,district", "--json")
    highest = {item["key"]: item["value"] for item in json.loads(run_command(*risk).stdout)["risk"]["figures"]}
    assert probability(highest["prosecutor_highest"]) in shown, "the command finds the risk that the page shows"
    text = (folder / "out.policy.yaml").read_text()
    assert "Decided in `sqlanon studio`" in text and benches.RARE not in text
    refused = words(after(bench, "publish", name="out.parquet")["fragments"]["released"])
    assert "is there already" in refused
    for name in ("../out.csv", "/tmp/out.csv", "", ".hidden.csv", "a/b.csv", "out.nothing", "${ELSEWHERE}.csv",
                 "a\nb.csv", "x" * 250 + ".csv"):  # fmt: skip
        state = after(bench, "publish", name=name)
        assert state["status"]["kind"] == "failed" and "the release, with" not in state["fragments"]["released"], name
        assert state["status"]["text"] == "Nothing was published." and state["fragments"]["figures"], name
    assert not any((folder.parent / name).exists() for name in ("out", "out.csv")), "nothing is outside the folder"


def test_a_double_click_publishes_once(bench: Workbench) -> None:
    settled(bench)
    for _ in range(2):
        bench.change({"action": "publish", "name": "twice.csv"})
    assert settled(bench)["status"] == {"kind": "done", "text": "Done."}
    assert "twice.csv , the release" in words(bench.state(0)["fragments"]["released"])


def test_what_was_published_is_never_said_to_be_not(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.folder / "folder.report.html").mkdir()
    assert after(bench, "publish", name="folder.csv", replace=True)["status"]["text"] == "Nothing was published."
    assert not (bench.folder / "folder.csv").exists(), "what cannot be written is found before"
    full = Mock(side_effect=TargetError("The disk is full.", hint="make room."))
    monkeypatch.setattr("sqlanon.studio.workbench.write_report", full)
    said = after(bench, "publish", name="full.csv")["status"]["text"]
    assert (bench.folder / "full.csv").exists() and said == "The release is published, but not all that goes with it."
    assert (bench.folder / "full.policy.yaml").exists()


def test_the_end_of_the_process_waits_for_what_is_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, real, begun = benches.bench_of(benches.visitors(400), tmp_path), workbench.write_report, threading.Event()

    def slow(*given: Any) -> None:
        begun.set()
        time.sleep(3)
        real(*given)

    monkeypatch.setattr(workbench, "write_report", slow)
    made.change({"action": "publish", "name": "late.csv"})
    assert begun.wait(60) and made.close(2)
    assert {"late.csv", "late.policy.yaml", "late.report.html"} <= {path.name for path in tmp_path.iterdir()}


def test_no_rare_value_and_no_name_is_shown(bench: Workbench) -> None:
    whole = "".join(settled(bench)["fragments"].values()) + bench.policy_text()
    assert benches.RARE not in whole
    assert benches.HOSTILE not in "".join(settled(bench)["fragments"].values()), "a name is text, no markup"
    assert "D01" in whole, "frequent values are shown"


def test_rules_stand_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbench, "COMPARED_SECONDS", 2)
    with closing(benches.bench_of(benches.visitors_file(tmp_path, records=300), tmp_path)) as bench:
        text = words(after(bench, "compare")["fragments"]["comparison"])
        assert "Take one rule for all records" in text and "Take several rules" in text and "Take patterns" in text
        state = after(bench, "method", value="local_recoding")
        assert state["status"]["kind"] == "done" and "Several rules publish" in words(state["fragments"]["prices"])
        ran = json.loads(run_command("run", saved(bench), "--dry-run", "--json").stdout)
        assert f"{ran['published']:,} of" in words(state["fragments"]["figures"])


@pytest.mark.parametrize("where", ["levels_in_numbers", "finer_levels"])
def test_no_part_of_an_earlier_policy_outlives_a_stop(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    after(bench, "lift")
    monkeypatch.setattr(workbench, "COMPARED_SECONDS", 1)
    before = after(bench, "compare")["fragments"]
    real = getattr(workbench, where)

    def stopped(*given: Any) -> Any:
        bench.change({"action": "stop"})
        return real(*given)

    monkeypatch.setattr(workbench, where, stopped)
    state = after(bench, "k", value="7")
    assert state["status"]["kind"] == "stopped"
    for part in ("frontier", "comparison", *(["prices"] if where == "levels_in_numbers" else [])):
        assert before[part] and not state["fragments"][part], part
    monkeypatch.undo()
    after(bench, "undo")
    after(bench, "undo")


def test_levels_of_an_earlier_policy_are_neither_chosen_nor_counted(bench: Workbench) -> None:
    assert "chosen" in settled(bench)["fragments"]["generalization"]
    for action, value in (("k", "100000"), ("method", "local_recoding")):
        shown = after(bench, action, value=value)["fragments"]["generalization"]
        assert "chosen" not in shown and 'class="values"' not in shown, "values of fewer than the new k among them"
        after(bench, "undo")


def test_groups_begin_with_no_value_of_fewer_records_than_k(bench: Workbench) -> None:
    settled(bench)
    after(bench, "k", value="100000")  # there is no release, and no level is counted for it
    bench.change({"action": "hierarchy", "column": "district", "value": "groups"})
    assert "D01" not in bench.policy_text()
    for _ in range(2):
        after(bench, "undo")
    bench.change({"action": "hierarchy", "column": "district", "value": "groups"})
    assert "D01" in bench.policy_text() and benches.RARE not in bench.policy_text()
    after(bench, "undo")


def test_a_change_while_levels_are_drawn_is_what_the_page_shows(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    after(bench, "lift")
    draw, other = bench.pages.of_policy, []

    def interrupted(*given: Any, **options: Any) -> dict[str, str]:
        if threading.current_thread() is bench._thread and not other:  # another person's change comes in between
            thread = threading.Thread(target=bench.change, args=({"action": "k", "value": "13"},))
            thread.start()
            other.append(thread)
            thread.join(0.5)
        return draw(*given, **options)

    monkeypatch.setattr(bench.pages, "of_policy", interrupted)
    bench.change({"action": "k", "value": "12"})
    other_is_there = time.monotonic() + 20
    while not other and time.monotonic() < other_is_there:
        time.sleep(0.01)
    other[0].join(20)
    assert 'value="13"' in settled(bench)["fragments"]["protection"] and "k: 13" in bench.policy_text()
    monkeypatch.undo()
    for _ in range(3):
        after(bench, "undo")


def test_records_are_shown_when_they_are_asked_for(bench: Workbench, tmp_path: Path) -> None:
    assert "rows" not in settled(bench)["fragments"] or not settled(bench)["fragments"]["rows"]
    with closing(benches.bench_of(benches.visitors(), tmp_path, show_records=True)) as shown:
        rows = re.findall(r"<tr>.*?</tr>", settled(shown)["fragments"]["rows"], re.DOTALL)[1:]
        assert rows and all("→" in words(row) for row in rows)


def test_a_frame_has_a_page_of_its_own(tmp_path: Path) -> None:
    with sqlanon.studio(benches.visitors(), folder=tmp_path) as page:
        card = page._repr_html_()
        assert "127.0.0.1" in page.url and "iframe" in card
        state = settled(page._bench)
        assert state["status"]["kind"] == "done"
        assert "source:" not in page._bench.policy_text()


def test_a_file_is_read_as_the_command_says(tmp_path: Path) -> None:
    path = benches.visitors_file(tmp_path, records=300)
    path.write_text("A title; of the export\n" + path.read_text())
    with closing(benches.bench_of(str(path), tmp_path, csv={"skip": 1})) as made:
        assert made.state(0)["status"]["kind"] in ("done", "failed")
        assert yaml.safe_load(made.policy_text())["csv"]["skip"] == 1 and "district" in made.policy_text()
