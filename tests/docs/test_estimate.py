"""``sqlanon estimate``: figures that samples let expect, and no release, no file and no value left behind."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner
from policies import document_of, intervals

from sqlanon.cli import main
from sqlanon.commands.estimate import SampleRun, carried_on

POLICY = document_of(
    {"a": intervals(10, 5), "b": "suppress", "p": "keep"}, k=5, source="t.duckdb", table="t", suppression_limit=0.1
)
OF_PERSONS = {**POLICY["columns"], "p": {"role": "drop"}}


def run(tmp_path: Path, *words: str, **keys: object) -> tuple[int, str]:
    """The exit code of the command over 20,000 records of 5,000 persons, and all that it printed."""
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS t AS "
            "SELECT i % 100 AS a, 'secret' || i % 3 AS b, i // 4 AS p FROM range(20000) r(i)"
        )
    (tmp_path / "policy.json").write_text(json.dumps({**POLICY, **keys}))
    found = CliRunner().invoke(main, ["estimate", str(tmp_path / "policy.json"), *words])
    assert isinstance(found.exception, SystemExit | None), found.exc_info
    return found.exit_code, found.output


@pytest.mark.slow
@pytest.mark.parametrize("keys", [{}, {"entity": "p", "columns": OF_PERSONS}], ids=["records", "persons"])
def test_a_run_is_estimated_from_two_samples(tmp_path: Path, keys: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    code, printed = run(tmp_path, "--records", "8000", "--json", **keys)
    assert code == 0, printed
    found = json.loads(printed)
    few, more = found["samples"]
    assert found["records"] == 20000 and 1500 < few["records"] < 2500 and 7200 < more["records"] < 8800
    if keys:  # all records of a person are drawn, or none
        assert few["records"] % 4 == more["records"] % 4 == 0
        assert few["distinct"] == few["records"]
    else:
        assert few["distinct"] == more["distinct"] == 300
    for pair in (found["distinct"], found["memory"], found["temporary"], *found["seconds"].values()):
        assert 0 <= pair[0] <= pair[1]
    assert set(found["seconds"]) == {"encode", "search", "publish", "whole"}
    assert {path.name for path in tmp_path.iterdir()} == {"t.duckdb", "policy.json", "scratch"}
    assert list(scratch.iterdir()) == []
    code, printed = run(tmp_path, "--records", "8000", **keys)
    assert code == 0 and "20,000 records" in printed and "secret" not in printed


@pytest.mark.parametrize(
    "words, keys, told",
    [
        (["--records", "15000"], {}, "too few"),
        (["--records", "8000"], {"like": "r.manifest.json"}, "leave like out"),
        (["--records", "8000"], {"suppression_limit": 0, "privacy": [{"type": "k_anonymity", "k": 9000}]}, "--records"),
    ],
)
def test_what_samples_say_nothing_of_is_refused(tmp_path: Path, words: list, keys: dict, told: str) -> None:
    code, printed = run(tmp_path, *words, **keys)
    assert code == 2 and told in printed and "secret" not in printed


@pytest.mark.parametrize("drawn", [0, 20_000])
def test_samples_that_do_not_differ_are_refused(tmp_path: Path, drawn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person of all records is in both samples, or in neither."""
    same = SampleRun(drawn, 1, 1, {"encode": 0.1}, 1, 1)
    monkeypatch.setattr("sqlanon.commands.estimate._run", lambda *_: same)
    code, printed = run(tmp_path, "--records", "8000", **{"entity": "p", "columns": OF_PERSONS})
    assert code == 2 and "few persons" in printed


def test_growth_is_carried_on() -> None:
    """At least as a power of the records, at most in proportion; more nodes may be judged."""
    seconds = {"encode": 1.0, "search": 0.5, "publish": 0.2}, {"encode": 1.0, "search": 2.0, "publish": 0.4}
    few = SampleRun(1_000, 100, 50, seconds[0], 2_000_000, 3_000_000)
    more = SampleRun(4_000, 200, 100, seconds[1], 2_300_000, 3_000_000)
    found = carried_on(64_000, few, more)
    assert found.distinct == (800, 3200)
    assert found.seconds["encode"] == pytest.approx((1.0, 16.0))
    assert found.seconds["search"] == pytest.approx((2.0 * 4, 2.0 * 16 * 2**2)), "a search grows as distinct records"
    assert found.seconds["publish"] == pytest.approx((0.4 * 4, 0.4 * 16))
    fewer = carried_on(64_000, replace(few, judged=100), replace(more, judged=50))
    assert fewer.seconds["search"] == pytest.approx((2.0 * 4 / 4, 2.0 * 16)), "fewer nodes may be judged"
    assert found.seconds["whole"] == pytest.approx([sum(ends) for ends in zip(*list(found.seconds.values())[:3])])
    assert found.memory == (2_300_000, 2_300_000 + 100 * 60_000) and found.temporary == (0, 5_300_000)
