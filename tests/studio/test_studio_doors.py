"""The server of the studio answers this machine's page alone, and a page with its token alone."""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import benches
import pytest

import sqlanon
from sqlanon.commands.studio import _opened as leading_to
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.studio.server import HEADER, MOST_BYTES, STATIC
from sqlanon.studio.verb import Studio

pytestmark = pytest.mark.slow
PRIVATE = (("GET", "/state?since=0"), ("GET", "/policy"), ("POST", "/change"))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    folder = tmp_path_factory.mktemp("doors")
    with sqlanon.studio(str(benches.visitors_file(folder, records=400)), folder=folder) as made:
        benches.settled(made._bench)
        yield made


def ask(page: Studio, method: str, path: str, *, token: str | None = "own", body: bytes | None = None,
        **headers: str) -> tuple[int, dict[str, str], bytes]:  # fmt: skip
    """Send a request as it stands, and return status, headers and body of the answer."""
    place, own = page.url.removeprefix("http://").split("/#")
    given = {"Host": place, "Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    given |= {} if token is None else {HEADER: own if token == "own" else token}
    with closing(http.client.HTTPConnection(place, timeout=20)) as connection:
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()


def change(page: Studio, what: Any, **headers: str) -> tuple[int, dict[str, Any]]:
    status, _, body = ask(page, "POST", "/change", body=json.dumps(what).encode(), **headers)
    return status, json.loads(body)


def test_nobody_is_answered_without_the_token(page: Studio) -> None:
    port = page.url.split("/#")[0].rpartition(":")[2]
    for method, path in PRIVATE:
        for token in (None, "", "x", page.url.split("#")[1][:-1], "\u00fc".encode().decode("latin-1")):
            status, _, body = ask(page, method, path, token=token, body=b"{}")
            assert status == 403 and b"D01" not in body and b"columns" not in body, path
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.2:{port}", ""):
            assert ask(page, method, path, Host=host)[0] in (400, 421), host
        for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", "http://127.0.0.1:1"):
            assert ask(page, method, path, Origin=origin)[0] == 403, origin
        assert ask(page, "GET" if method == "POST" else "POST", path)[0] == 405
    assert ask(page, "GET", "/state?since=0", Origin=f"http://localhost:{port}")[0] == 200


def test_what_is_open_to_all_holds_nothing_of_the_table(page: Studio) -> None:
    for path in ("/", *STATIC):
        status, headers, body = ask(page, "GET", path, token=None)
        assert status == 200 and not any(word in body for word in (b"district", b"visitors", b"D01"))
        assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"
        rules = headers["content-security-policy"]
        assert "default-src 'none'" in rules and "script-src 'self';" in rules and "unsafe" not in rules
        assert not {"set-cookie", "access-control-allow-origin", "server"} & headers.keys()
    shell = ask(page, "GET", "/", token=None)[2]
    assert b"http:" not in shell and b"https:" not in shell and b"<script>" not in shell and b"style=" not in shell
    for path in ("/static/../server.py", "/..%2f..%2fetc/passwd", "/studio.js/../../server.py", "/docs"):
        assert ask(page, "GET", path)[0] == 404


def test_a_page_of_a_command_is_in_no_frame(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sqlanon.cli", "studio", str(benches.visitors_file(tmp_path, records=200)),
               "--no-browser", "--folder", str(tmp_path)]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        url = process.stdout.readline().split()[-1]
        place = url.removeprefix("http://").split("/#")[0]
        for _ in range(100):
            try:
                connection = http.client.HTTPConnection(place, timeout=5)
                connection.request("GET", "/")
                headers = dict(connection.getresponse().getheaders())
                break
            except OSError:
                time.sleep(0.05)
        process.send_signal(2)
        assert process.wait(20) == 130
        told = process.stderr.read()
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "Traceback" not in told and "leaked" not in told
    assert [path.name for path in tmp_path.iterdir()] == ["visitors.csv"]


def test_no_command_line_of_the_browser_has_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Mock()
    monkeypatch.setattr("webbrowser.open", opened)
    with leading_to("http://127.0.0.1:1/#secret"):
        [address] = opened.call_args.args
        path = Path(address.removeprefix("file://"))
        assert "secret" not in address and "#secret" in path.read_text()
        assert path.parent.stat().st_mode & 0o077 == 0
    assert not path.exists()


def test_the_end_of_a_command_says_what_was_published(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sqlanon.cli", "studio", str(benches.visitors_file(tmp_path, records=400)),
               "--no-browser", "--folder", str(tmp_path)]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        page = Mock(url=process.stdout.readline().split()[-1])
        for what in ({"action": "lift"}, {"action": "publish", "name": "mine.csv"}):
            for _ in range(600):
                try:
                    if change(page, what)[0] == 200:
                        break
                except OSError:
                    pass
                time.sleep(0.05)
        for _ in range(600):
            if (tmp_path / "mine.report.html").exists():
                break
            time.sleep(0.05)
        process.send_signal(2)
        assert process.wait(20) == 130
        told = process.stderr.read()
    assert "Published: mine.csv" in told and "Nothing was published" not in told


def test_what_is_no_change_is_refused(page: Studio) -> None:
    before = page._bench.policy_text()
    bodies = (b"", b"{", b"[]", b"1", b'{"action": {"a": 1}}', b'{"action": null}', b"[" * 100_000, b"\xff\xfe",
              b'{"action": "role", "column": "nobody", "value": "drop"}', b'{"action": "levels"}',
              b'{"action": "_role"}', b'{"action": "drop_model", "place": 99}', b'{"action": "undo"}',
              b'{"action": "k", "value": 1e999}', b'{"action": "proposal", "value": "none"}')  # fmt: skip
    for body in bodies:
        status, _, said = ask(page, "POST", "/change", body=body)
        assert status in (400, 422), body
        assert json.loads(said)["error"] and b"Traceback" not in said
    assert ask(page, "POST", "/change", body=b" " * (MOST_BYTES + 1))[0] == 413
    assert ask(page, "POST", "/change", body=b"{}", Content_Type="text/plain")[0] == 415
    assert page._bench.policy_text() == before


def test_what_was_not_foreseen_is_an_answer_and_ends_no_thread(
    page: Studio, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert {ask(page, "GET", f"/state?since={since}")[0] for since in ("-1", "%C2%B2", "%D9%A1", "9" * 99)} == {200}
    for what in ({"action": "option", "column": "district", "name": "groups", "value": "\ud800: D01"}, {"\ud800": []}):
        assert change(page, what)[0] in (400, 422)
    assert ask(page, "GET", "/state?since=0")[0] == 200
    failing = Mock(side_effect=AssertionError("a value"))
    monkeypatch.setattr(page._bench, "change", failing)
    status, said = change(page, {"action": "lift"})
    assert status == 500 and "AssertionError" in said["error"] and "a value" not in said["error"]
    monkeypatch.undo()

    class Panic(BaseException):
        """As libraries in Rust raise it."""

    monkeypatch.setattr("sqlanon.studio.workbench.levels_in_numbers", Mock(side_effect=Panic("a value")))
    change(page, {"action": "k", "value": "6"})
    assert "(Panic)" in benches.settled(page._bench, 10)["status"]["text"]
    monkeypatch.undo()
    change(page, {"action": "undo"})
    assert benches.settled(page._bench)["status"]["kind"] == "done"
    assert "Traceback" not in capfd.readouterr().err


def test_what_a_page_asks_for_is_of_the_policy_that_it_shows(page: Studio) -> None:
    seen = benches.settled(page._bench)["revision"]
    assert change(page, {"action": "k", "value": "6"})[0] == 200, "in another tab"
    for what in ({"action": "publish", "name": "stale.csv"}, {"action": "drop_model", "place": "0"}):
        status, said = change(page, {**what, "seen": seen})
        assert status == 422 and "has changed" in said["error"], "a double click removes one model, not two"
    assert benches.settled(page._bench)["status"]["kind"] != "busy" and "privacy:" in page._bench.policy_text()
    assert not (page._bench.folder / "stale.csv").exists()
    assert change(page, {"action": "undo", "seen": page._bench.state(0)["revision"]})[0] == 200
    benches.settled(page._bench)


def test_an_error_names_the_cure_and_changes_nothing(page: Studio) -> None:
    before = page._bench.policy_text()
    status, said = change(page, {"action": "option", "column": "age", "name": "width", "value": "-5"})
    assert status == 422 and "Hint: give a finite number (width above 0)." in said["error"]
    assert page._bench.policy_text() == before
    assert change(page, {"action": "k", "value": "100000"})[0] == 200
    state = benches.settled(page._bench)
    assert state["status"] == {"kind": "failed", "text": "There is no such release."}
    assert "figures" not in state["fragments"] or state["fragments"]["figures"] == "", "no figure of another policy"
    assert "100000 records" in state["fragments"]["failure"]
    assert change(page, {"action": "undo"})[0] == 200
    assert benches.settled(page._bench)["status"]["kind"] == "done"


def test_the_last_of_many_changes_is_answered(page: Studio) -> None:
    change(page, {"action": "lift"})
    for k in (2, 3, 4, 6, 7, 8, 9):
        assert change(page, {"action": "k", "value": str(k)})[0] == 200
    state = benches.settled(page._bench)
    assert "k&nbsp;=&nbsp;9" in state["fragments"]["figures"].replace("\u00a0", "&nbsp;")
    change(page, {"action": "k", "value": "5"})
    assert change(page, {"action": "stop"})[0] == 200
    assert benches.settled(page._bench)["status"]["kind"] in ("stopped", "done")
    change(page, {"action": "k", "value": "6"})
    assert benches.settled(page._bench)["status"]["kind"] == "done", "the thread works on"


def test_a_table_that_cannot_be_read_is_said_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_text("no parquet")
    with closing(benches.bench_of(str(tmp_path / "broken.parquet"), tmp_path)) as bench:
        state = bench.state(0)
        assert state["status"]["kind"] == "failed" and "failure" in state["fragments"]
        with pytest.raises(InputError, match="could not be read"):
            bench.change({"action": "lift"})


def test_a_port_that_is_taken_is_refused(page: Studio) -> None:
    port = int(page.url.split("/#")[0].rpartition(":")[2])
    with pytest.raises(UnsupportedError, match="taken"):
        sqlanon.studio("visitors.csv", port=port)
