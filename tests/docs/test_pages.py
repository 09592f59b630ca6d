"""Every page of documentation runs as it is printed: its files, commands and programs, in the order of the page."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import command_line
import duckdb
import forks
import pages
import pytest
import yaml
from dbt_projects import needs
from pages import ROOT, Block, list_pages, read_blocks
from postgres_server import Server, binaries
from spark_cluster import SETTINGS

from sqlanon.cli import main
from sqlanon.commands import demo_world

ELSEWHERE = {
    "docs/extending.md": "tests/interop/test_extending.py",
    "docs/tutorial.md": "tests/docs/test_pages.py",  # test_tutorials_print_what_they_show
    "docs/counts-tutorial.md": "tests/docs/test_pages.py",
}
"""Pages that are followed by tests of their own."""
WITH_SERVERS = {("docs/warehouse.md", "PostgreSQL"), ("docs/warehouse.md", "Spark")}
"""Sections that have tests of their own, because they need a server."""
WITH_DBT = "docs/dbt.md"
MARKS = {WITH_DBT: pytest.mark.dbt, "README.md": pytest.mark.nightly("its commands are a part of .ci/run")}
RECORDS = 5_000
"""How many records the demo has here. Readers have 50,000: the way is the same."""
PREAMBLE = f"""set -eu
sqlanon() {{
  if [ "$1" = demo ]; then set -- "$@" --records "${{RECORDS:-{RECORDS}}}"; fi
  $SQLANON "$@"
}}
python() {{ {shlex.quote(sys.executable)} "$@"; }}
dbt() {{ DBT_SEND_ANONYMOUS_USAGE_STATS=false python -m dbt.cli.main "$@"; }}
"""


def step(block: Block, folder: Path) -> str:
    """Return what a reader types for a block; nothing for output and for what is not to be run."""
    if not runs(block):
        return ":"
    if block.language == "sh":
        return block.text
    kept = folder / ".blocks" / str(block.line)
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(block.text, encoding="utf-8")
    if block.merged_into is not None:
        return f"python {pages.__file__} {kept} {block.merged_into}\nsqlanon run {block.merged_into}"
    if block.file is not None:
        return f"mkdir -p {Path(block.file).parent}\ncp {kept} {block.file}"
    return f"python {kept}"


def follow(blocks: list[Block], folder: Path, environment: dict[str, str] | None = None) -> list[str]:
    """Do in one shell what blocks say, and return what each of them printed."""
    environment = (os.environ if environment is None else environment) | {"SQLANON": forks.started()}
    script = PREAMBLE + "".join(f"echo '--- {block}'\n{step(block, folder)}\n" for block in blocks)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-3000:])
    printed = re.split(r"^--- \S+:\d+\n", done.stdout, flags=re.MULTILINE)
    assert printed.pop(0) == "" and len(printed) == len(blocks)
    return printed


def section(page: str, title: str) -> list[Block]:
    """Return the blocks of one section of a page."""
    found = [block for block in read_blocks(page) if block.section == title]
    assert found, f"{page} has no section {title!r} with blocks of code"
    return found


def runs(block: Block) -> bool:
    return block.not_run is None and block.language != "text"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the demo, with the policy of the README and its release."""
    folder = tmp_path_factory.mktemp("docs")
    follow([Block("demo", 1, "", "sh", "sqlanon demo\n")], folder)
    printed = "".join(follow(section("README.md", "A policy"), folder / "sqlanon-demo"))
    assert "proven optimal" in printed and "k_anonymity(k=5) holds" in printed and "The certificate holds" in printed
    return folder / "sqlanon-demo"


def test_every_block_says_what_it_is() -> None:
    for page in list_pages():
        for block in read_blocks(page):
            assert block.language in ("sh", "python", "text") or block.file or block.merged_into or block.not_run, block


def test_every_command_in_a_sentence_has_the_options_that_it_names() -> None:
    seen = set()
    for page in list_pages():
        for text in re.findall(r"`sqlanon ([a-z]+\b(?! \d)[^`]*)`", (ROOT / page).read_text(encoding="utf-8")):
            words = text.split(";")[0].split()
            command = main.commands.get(words[0])
            assert command is not None, (page, text)
            if isinstance(command, click.Group):
                command = command.commands[words[1]]
            options = {name for parameter in command.get_params(click.Context(command)) for name in parameter.opts} | {
                "--help"
            }
            assert {word.split("=")[0] for word in words if re.match("--[a-z]", word)} <= options, (page, text)
            seen.add(words[0])
    assert len(seen) >= 6


def test_every_check_names_all_quasi_identifiers() -> None:
    [policy] = [block for block in section("README.md", "A policy") if block.language == "yaml"]
    for text, those in (
        (policy.text, ("README.md", "docs/commands.md")),
        (demo_world.POLICY, ("docs/warehouse.md",)),
    ):
        columns = yaml.safe_load(text)["columns"]
        names = ",".join(name for name, column in columns.items() if column["role"] == "quasi_identifier")
        texts = [re.sub("sqlanon attack .*", "", block.text) for page in those for block in read_blocks(page)]
        options = [option for block in texts for option in re.findall(r"--qi (\S+)", block)]
        assert len(options) > 2 and set(options) == {names}


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=MARKS.get(page, ())) for page in list_pages() if any(map(runs, read_blocks(page)))],
)
def test_the_page_runs(page: str, demo: Path, tmp_path: Path) -> None:
    if page in ELSEWHERE:
        assert (ROOT / ELSEWHERE[page]).exists()
        return
    if page == WITH_DBT:
        needs("duckdb")
    blocks = [block for block in read_blocks(page) if (page, block.section) not in WITH_SERVERS]
    folder = Path(shutil.copytree(demo, tmp_path / "demo"))
    follow(blocks, folder)
    policies = [block.file for block in blocks if block.file and re.search("^columns:|<attributes", block.text, re.M)]
    commands = "".join(block.text for block in blocks if block.language == "sh")
    used = set(re.findall(r"sqlanon (?:run|dbt|counts) (\S+)", commands))
    assert {name for name in policies if name} <= used, "a policy of the page is never run"


@pytest.mark.slow
def test_the_way_to_a_granted_view(postgres: Server, tmp_path: Path) -> None:
    pytest.importorskip("sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed")
    programs = binaries()
    assert programs is not None
    if shutil.which("psql", path=str(programs)) is None:
        pytest.skip("psql is not installed")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]), "PGHOST": str(postgres.folder),
        "PGUSER": postgres.user, "PGDATABASE": postgres.database,
    }  # fmt: skip
    _, _, _, _, release, analyst, refused = follow(section("docs/warehouse.md", "PostgreSQL"), tmp_path, environment)
    assert "proven optimal" in release and "The certificate holds" in release
    assert "k_anonymity(k=5) holds" in analyst
    assert refused.count("permission denied") == 2


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.nightly("a cluster of its own for one run; tests/engines publish with Spark in every run")
def test_the_way_through_spark(tmp_path: Path) -> None:
    pytest.importorskip("sqlanon.core.engines.spark.engine", reason="PySpark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    defaults = tmp_path / "conf" / "spark-defaults.conf"  # of a cluster that warms up quickly
    defaults.parent.mkdir()
    defaults.write_text("".join(f"{name} {value}\n" for name, value in SETTINGS.items()), encoding="utf-8")
    environment = os.environ | {"SPARK_CONF_DIR": str(defaults.parent)}
    printed = follow(section("docs/warehouse.md", "Spark"), tmp_path, environment)
    assert "proven optimal" in printed[-1] and "k_anonymity(k=5) holds" in printed[-1]
    released = tmp_path / "released.parquet"
    assert released.is_dir() and all(file.suffix == ".parquet" for file in released.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("page", ["docs/tutorial.md", "docs/counts-tutorial.md"])
def test_tutorials_print_what_they_show(page: str, tmp_path: Path) -> None:
    blocks = read_blocks(page)
    printed = follow(blocks, tmp_path, os.environ | {"RECORDS": "50000"})
    shown = 0
    for block, before in zip(blocks[1:], printed, strict=False):
        if block.language == "text":
            lines = [line.strip() for line in block.text.splitlines()]
            assert [line for line in lines if line not in before and "statements" not in line] == [], block
            shown += 1
    assert shown >= 5


@pytest.mark.slow
def test_readme_prints_what_the_demo_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line and figure but the seconds; ``…`` stands for what README leaves out. The release of its policy is one
    that researchers would want: ages in bands of ten years, the first digit of the ZIP code."""
    monkeypatch.chdir(tmp_path)
    [shown] = [block.text for block in section("README.md", "Two commands") if block.language == "text"]
    done = command_line.sqlanon("demo")
    printed, wanted = (
        re.sub(r"\d+\.\d+ s\b", "0 s", text)
        for text in (done.stderr + done.stdout, shown.removeprefix("$ ./run demo\n"))
    )
    pattern = r"\s+".join(".*?".join(map(re.escape, word.split("…"))) for word in wanted.split())
    assert re.fullmatch(pattern, printed.strip(), re.DOTALL), printed
    [policy] = [block.text for block in section("README.md", "A policy") if block.language == "yaml"]
    Path("sqlanon-demo/research.yaml").write_text(policy, encoding="utf-8")
    assert command_line.sqlanon("run", "sqlanon-demo/research.yaml").returncode == 0
    released = duckdb.read_parquet("sqlanon-demo/research.parquet")
    ages, zips = ({row[0] for row in released.unique(name).fetchall()} for name in ("age", "zip"))
    assert {"[30, 40)", "[60, 70)"} <= ages and {"1****", "9****"} <= zips and "*" not in ages | zips


def test_the_table_of_what_engines_lack_is_what_they_declare() -> None:
    from sqlanon.core.engines.described import capability_table
    from sqlanon.core.engines.duckdb.engine import DuckDBEngine
    from sqlanon.core.engines.spark.facts import CAPABILITIES
    from sqlanon.core.engines.sqlite.engine import SQLiteEngine

    module = pytest.importorskip(
        "sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed"
    )
    engines = [DuckDBEngine.capabilities, module.PostgresEngine.capabilities, SQLiteEngine.capabilities, CAPABILITIES]
    text = (ROOT / "docs" / "warehouse.md").read_text(encoding="utf-8")
    assert text.split("<!-- capabilities -->\n")[1].split("<!-- end -->")[0] == capability_table(engines)
