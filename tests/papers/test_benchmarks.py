"""The benchmarks check themselves; here is checked that their comparison tells better from worse."""

import json
from pathlib import Path

import compare
import pytest
from policies import file_of


def results(tmp_path: Path, name: str, evaluated: int, seconds: float, faults: list[str]) -> Path:
    case = {"counters": {"evaluated": evaluated}, "median": {"search": seconds}, "faults": faults}
    return file_of(tmp_path / f"{name}.json", {"versions": {}, "machine": {}, "cases": {"adult": case}})


@pytest.mark.parametrize(
    ("evaluated", "seconds", "faults", "worse"),
    [
        (100, 9.0, [], False),  # seconds are information
        (90, 1.0, [], False),
        (101, 1.0, [], False),  # within the tolerance
        (103, 1.0, [], True),
        (100, 1.0, ["no proof"], True),
    ],
)
def test_a_comparison_tells_what_got_worse(tmp_path, monkeypatch, capsys, evaluated, seconds, faults, worse) -> None:
    before = results(tmp_path, "before", 100, 1.0, [])
    after = results(tmp_path, "after", evaluated, seconds, faults)
    monkeypatch.setattr("sys.argv", ["compare.py", str(before), str(after)])
    with pytest.raises(SystemExit) as ended:
        compare.main()
    assert ended.value.code == (1 if worse else 0)
    output = capsys.readouterr().out
    assert "search 1.000" in output and ("Worse" in output) == worse


def test_a_missing_case_is_worse(tmp_path) -> None:
    before = json.loads(results(tmp_path, "before", 100, 1.0, []).read_text())
    assert compare.compared(before, {"cases": {}}, 0.0)[1] == ["adult: missing"]
