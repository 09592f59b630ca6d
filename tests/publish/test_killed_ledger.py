"""Runs with a ledger that are killed (kill -9) before any of their statements or changes of files."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from effort import is_full, widened

SCRIPT = Path(__file__).parents[1] / "support" / "killed_ledgers.py"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")]


def entries(look: dict[str, Any]) -> list[tuple[str, str | None]]:
    """The states and digests of the releases of a ledger; each has members."""
    assert all(members > 0 for *_, members in look["entries"])
    return [(state, digest) for state, digest, _ in look["entries"]]


@pytest.mark.parametrize(
    ("kind", "words", "first", "finest"),
    [
        ("file", "old", 80, 2),
        ("file", "", 60, 10),
        ("table", "old", 60, 8),
        ("table", "", 60, 12),
        ("file", "old cohorts", 80, 8),
        ("table", "old cohorts", 80, 12),
    ],
)
@pytest.mark.few(2)
def test_a_killed_run_leaves_no_release_without_an_entry(
    kind: str, words: str, first: int, finest: int, tmp_path: Path
) -> None:
    """With less effort, only stretches where what stands there stays the same are looked at less closely."""
    points = map(str, (first, widened(finest), finest if is_full() else max(4, finest)))
    command = [sys.executable, str(SCRIPT), str(tmp_path), kind, *points, *words.split()]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    looked = [json.loads(line) for line in run.stdout.splitlines()]
    assert looked[-1]["ended"]
    seen = set()
    for found in looked:
        before, after, settled, *again = found["looks"]
        own = len(before["entries"])
        new = entries(after)[own:]
        assert entries(after)[:own] == entries(settled)[:own] == entries(before)
        stands = after["stands"] != before["stands"]
        assert len(new) <= 1
        assert not stands or new, "a release is out, and the ledger does not know of it"
        assert stands or new in ([], [("pending", *(digest for _, digest in new))])
        if kind == "file":
            assert not stands or new[0][1] == after["stands"]
            assert [state for state, _ in entries(settled)[own:]] == (["published"] if stands else [])
        assert settled["stands"] == after["stands"]
        assert all(entries(look)[-1][0] == "published" for look in again)
        seen.add((stands, *(state for state, _ in new)))
    assert {(False,), (True, "published")} <= seen
    if finest <= 4:
        assert (True, "pending") in seen
        assert (False, "pending") in seen
