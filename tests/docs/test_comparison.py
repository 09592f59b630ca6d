"""The page that compares sqlanon with others says what was recorded, and how to run it again."""

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPRODUCE = ROOT / "benchmarks" / "reproduce"
RESULTS = sorted((REPRODUCE / "results").glob("*.json"))


def test_the_page_is_made_from_the_results() -> None:
    done = subprocess.run([sys.executable, str(REPRODUCE / "page.py"), "--check"], check=False)
    assert done.returncode == 0, "run python benchmarks/reproduce/page.py"


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.stem)
def test_a_result_says_how_it_came_about(file: Path) -> None:
    found = json.loads(file.read_text())
    assert found["rows"] and date.fromisoformat(found["date"])
    assert found["commit"].split()[0].isalnum() and {"sqlanon", "duckdb", "python"} <= found["versions"].keys()
    script = ROOT / found["command"].split()[1]
    assert script.is_file() and script.stem == found["table"] == file.stem
    assert f"`{found['command']}`" in (ROOT / "docs" / "comparison.md").read_text()
    assert str(ROOT) not in file.read_text()
