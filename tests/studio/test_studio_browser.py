"""The studio in Debian's Chromium: a newcomer's way on three tables, keyboard alone, and what a screen reader finds."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import benches
import pyarrow.csv
import pytest
from command_line import sqlanon as run_command
from people import people

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
LONG = 120_000
"""Milliseconds that a step may take on a busy machine."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (the extra browser)")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with api.sync_playwright() as started:
        made = started.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield made
        made.close()


@contextmanager
def served(folder: Path, *words: str) -> Iterator[str]:
    """Serve the studio as a user starts it, and yield its address."""
    command = [sys.executable, "-m", "sqlanon.cli", "studio", *words, "--no-browser", "--folder", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def opened(browser: Any, url: str, width: int = 1280, **options: Any) -> Any:
    """Open the page and wait for its first outcome; what a browser complains of, or fetches elsewhere, fails."""
    page = browser.new_context(viewport={"width": width, "height": 900}, **options).new_page()
    page.set_default_timeout(LONG)
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: request.url.startswith((url.split("#", maxsplit=1)[0], "blob:"))
            or page.complaints.append(request.url))  # fmt: skip
    page.goto(url)
    page.wait_for_selector("#status.done, #status.failed")
    return page


def waited(page: Any) -> str:
    """Wait until the page has answered a change, and return how it ended."""
    page.wait_for_timeout(300)
    page.wait_for_selector("#status:not(.busy)")
    return str(page.get_attribute("#status", "class"))


def demo(folder: Path) -> list[str]:
    run_command("demo", folder / "demo", "--records", "3000")
    return [str(folder / "demo" / "hospital.duckdb"), "discharges"]


def omop(folder: Path) -> list[str]:
    script = folder / "make_omop.py"
    script.write_text((ROOT / "examples" / "omop" / "make_omop.py").read_text())
    subprocess.run([sys.executable, script], cwd=folder, check=True)
    return ["omop.duckdb", "person"]


def messy(folder: Path) -> list[str]:
    """A German export: a title, semicolons, Latin-1, and columns of all kinds."""
    table = people(1500)
    pyarrow.csv.write_csv(table, folder / "plain.csv", pyarrow.csv.WriteOptions(delimiter=";"))
    text = "Auszug der Klinik\n" + (folder / "plain.csv").read_text()
    (folder / "export.csv").write_bytes(text.encode("latin-1", "replace"))
    return ["export.csv"]


@pytest.mark.parametrize("table", [demo, omop, messy])
def test_a_newcomer_publishes_an_audited_release(browser: Any, tmp_path: Path, table: Any) -> None:
    """Without a line of YAML: open, look, decide, publish."""
    with served(tmp_path, *table(tmp_path)) as url:
        page = opened(browser, url)
        if page.query_selector("#lift"):
            page.click("#lift")
            assert waited(page) == "done"
        assert page.inner_text("#part-brief").startswith("Now: published")
        page.fill("#k", "6")
        page.press("#k", "Tab")
        if waited(page) == "failed":
            page.click("#lift")
            assert waited(page) == "done", page.inner_text("#part-failure")
        assert "k = 6" in page.inner_text("#part-figures").replace("\u00a0", " ")
        page.click("#price-1") if page.query_selector("#price-1") else None
        assert waited(page) == "done"
        page.click("#undo")
        assert waited(page) == "done"
        with page.expect_download() as download:
            page.click("#save")
        assert "version: 1" in Path(download.value.path()).read_text()
        page.fill("#name", "mine.csv")
        page.click("#publish")
        page.wait_for_selector("#part-released .released")
        assert "proven" in page.inner_text("#part-released").lower()
        assert not page.complaints
        page.context.close()
    done = run_command("verify", tmp_path / "mine.csv.certificate.json", tmp_path / "mine.policy.yaml")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mine.report.html").exists()


def test_a_value_that_was_refused_does_not_pass_for_the_policy_s(browser: Any, tmp_path: Path) -> None:
    with served(tmp_path, str(benches.visitors_file(tmp_path, records=400))) as url:
        page = opened(browser, url)
        page.fill("#k", "0")
        page.press("#k", "Tab")
        page.wait_for_selector("#k[aria-invalid]")
        page.click("#publish")
        page.wait_for_selector("#k:focus")
        assert "was refused" in page.inner_text("#fault")
        page.fill("#k", "5")
        page.press("#k", "Tab")
        page.wait_for_selector("#k:not([aria-invalid])")
        select = "select[data-action=role][data-column=age]"
        held = page.input_value(select)
        page.route("**/change", lambda route: route.fulfill(status=422, body='{"error": "No."}'))
        page.select_option(select, "sensitive")
        page.wait_for_selector("#fault:not([hidden])")
        page.wait_for_timeout(300)
        assert page.input_value(select) == held
        page.context.close()
    assert not (tmp_path / "released.csv").exists()


def tab_to(page: Any, name: str) -> None:
    """Press the tabulator until a control has the focus, and see that it is seen."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.locator(":focus").count() and page.locator(":focus").get_attribute("id") == name:
            assert page.locator(":focus").is_visible()
            return
    raise AssertionError(f"the keyboard does not reach {name}")


def test_a_keyboard_is_enough(browser: Any, tmp_path: Path) -> None:
    with served(tmp_path, str(benches.visitors_file(tmp_path))) as url:
        page = opened(browser, url)
        page.keyboard.press("Tab")
        assert page.inner_text(":focus") == "Skip to the outcome"
        tab_to(page, "role-2")
        page.keyboard.press("Control+Home")
        tab_to(page, "k")
        page.keyboard.press("Control+A")
        page.keyboard.type("8")
        page.keyboard.press("Enter")
        state = waited(page)
        assert page.locator(":focus").get_attribute("id") == "k", "the focus stays where it was"
        if state == "failed":
            tab_to(page, "lift")
            page.keyboard.press("Enter")
            assert waited(page) == "done"
        assert page.input_value("#k") == "8"
        assert "k = 8" in page.inner_text("#part-figures").replace("\u00a0", " ")
        tab_to(page, "publish")
        page.keyboard.press("Enter")
        page.wait_for_selector("#part-released .released")
        page.context.close()
    assert (tmp_path / "released.csv").exists()


@pytest.mark.parametrize("look", [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")], ids=str)
def test_a_screen_reader_and_small_screens_find_all(browser: Any, tmp_path: Path, look: tuple[int, str]) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed (the extra browser)"
    )
    with served(tmp_path, str(benches.visitors_file(tmp_path)), "--show-records") as url:
        page = opened(browser, url, look[0], color_scheme=look[1], bypass_csp=True)
        page.click("#compare")
        assert waited(page) == "done"
        for item in page.query_selector_all("details:not([open]) > summary"):
            item.click()
        found = axe.Axe().run(page)
        assert not found.violations_count, found.generate_report()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= look[0]
        headings = [int(each) for each in re.findall(r"<h(\d)", page.content())]
        assert headings[0] == 1 and all(b <= a + 1 for a, b in pairwise(headings))
        assert page.evaluate("() => document.querySelectorAll('img').length") == 0, "no value is markup"
        page.context.close()


def test_what_is_typed_stays_while_the_page_is_drawn_anew(browser: Any, tmp_path: Path) -> None:
    with served(tmp_path, str(benches.visitors_file(tmp_path))) as url:
        page = opened(browser, url)
        page.select_option("#role-3", "drop")
        page.fill("#limit", "3")  # while the search runs
        assert waited(page) in ("done", "failed")
        assert page.input_value("#limit") == "3"
        page.context.close()
