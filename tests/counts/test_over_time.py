"""Tables of counts in a ledger: nobody computes an unsafe cell from all that was released, and what changed is seen."""

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
from command_line import sqlanon as command
from counted_worlds import holds, range_of
from effort import Block, enough, seeds

import sqlanon
from sqlanon.counts import verb
from sqlanon.counts.reader import CellAudit

VALUES = {"a": ["p", "q"], "b": ["x", "y", "z"], "c": ["m", "n"]}
WAYS = (["a", "b"], ["b", "c"], ["a", "b", "c"], ["a", "c"], ["c"])
THRESHOLD = 3
Records = list[tuple[str, str, str]]


def drawn(seed: int, size: int = 40) -> Records:
    """Records of three columns."""
    pick = random.Random(seed)
    weights = {name: [pick.random() ** 2 + 0.02 for _ in own] for name, own in VALUES.items()}
    return [tuple(pick.choices(own, weights[name])[0] for name, own in VALUES.items()) for _ in range(size)]  # type: ignore[misc]


def write(folder: Path, records: Records) -> None:
    """Write records as a file, and a private folder with a key."""
    lines = ["id,a,b,c", *(",".join([f"i{number}", *record]) for number, record in enumerate(records))]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "private").mkdir(mode=0o700, exist_ok=True)
    key = folder / "private" / "secret.key"
    key.write_text("a key of a test, of thirty-two characters or more\n")
    key.chmod(0o600)


def document(folder: Path, dimensions: list[str], *, ledger: Any = True, **changes: Any) -> dict[str, Any]:
    """A document of one table, released to one recipient."""
    asked = {
        "source": str(folder / "people.csv"),
        "counts": {"t": {"dimensions": dimensions}},
        "threshold": THRESHOLD,
        "insiders": False,
        "output": {"file": str(folder / f"{''.join(dimensions)}.csv")},
        "if_exists": "replace",
    }
    if ledger:
        spec = {"file": str(folder / "private" / "ledger.duckdb"), "record": "id", "source": "people", "recipient": "r"}
        own = spec if ledger is True else ledger
        asked |= {"key": {"file": str(folder / "private" / "secret.key")}, "ledger": own}
    return asked | changes


def released(folder: Path, dimensions: list[str], **changes: Any) -> dict[tuple[str | None, ...], int | None]:
    """The counts of a release by the values of all columns, None for a total; a suppressed one is None."""
    found = sqlanon.counts(None, document(folder, dimensions, **changes)).to_arrow().to_pylist()
    cells = {}
    for row in found:
        place = tuple(None if row.get(name, "Total") == "Total" else row[name] for name in VALUES)
        cells[place] = row["count"]
    return cells


def computed(records: Records, releases: list[dict[tuple[str | None, ...], int | None]], *thresholds: int) -> int:
    """How many unsafe cells of some releases cannot be 0, or cannot be the threshold, to whoever has all of them.

    Args:
        thresholds: of each release; ``THRESHOLD`` of all.
    """
    shown = {place: value for release in releases for place, value in release.items() if value is not None}
    most: dict[tuple[str | None, ...], int] = {}
    for release, threshold in zip(releases, thresholds or itertools.repeat(THRESHOLD), strict=False):
        for place in release:
            truth = sum(holds(place, record) for record in records)
            if 0 < truth < threshold and place not in shown:
                most[place] = max(threshold, most.get(place, 0))
    found = 0
    for place, threshold in most.items():
        low, high = range_of(place, shown, [*itertools.product(*VALUES.values())], whole=True)
        found += low > 0.5 or high < threshold - 0.5
    small = {place: sum(holds(place, record) for record in records) for place in shown}
    return found + sum(0 < truth < min(thresholds, default=THRESHOLD) for truth in small.values())


@pytest.mark.slow
@seeds(24, 4)
def test_nobody_computes_an_unsafe_cell_from_all_releases(block: Block, tmp_path: Path) -> None:
    """With a ledger; without one, some would be computed."""
    leaks = refused = 0
    for seed in block:
        folder = tmp_path / str(seed)
        folder.mkdir()
        records = drawn(seed)
        write(folder, records)
        ways = random.Random(seed).sample(WAYS, 3)
        leaks += computed(records, [released(folder, way, ledger=False) for way in ways])
        having = []
        for way in ways:
            try:
                having.append(released(folder, way))
            except sqlanon.NoSolutionError as error:
                assert "earlier releases show" in str(error)
                refused += 1
        assert computed(records, having) == 0, seed
    assert enough(leaks > 0)
    assert refused < 3 * len(block) / 2


@pytest.mark.slow
@seeds(24, 4)
def test_what_was_suppressed_stays_safe_by_the_rules_of_then(block: Block, tmp_path: Path) -> None:
    """A later table with a lower threshold tells no cell that an earlier one suppressed."""
    joined = 0
    for seed in block:
        folder = tmp_path / str(seed)
        folder.mkdir()
        records, draw = drawn(seed), random.Random(seed)
        write(folder, records)
        having, thresholds = [], []
        for way, threshold in zip(draw.sample(WAYS, 3), draw.choice([(8, 3, 2), (6, 2, 5), (3, 9, 2)]), strict=True):
            try:
                having.append(released(folder, way, threshold=threshold))
                thresholds.append(threshold)
            except sqlanon.NoSolutionError as error:
                assert "earlier releases show" in str(error)
        assert computed(records, having, *thresholds) == 0, seed
        joined += len(having) > 1
    assert joined


def test_a_count_is_compared_with_all_that_were_shown(tmp_path: Path) -> None:
    """20, then 30, then 22: two more than at first; and a table by another column shows the total between them."""
    for number, ways in enumerate((["a"], ["a"], ["a"]), 1):
        write(tmp_path, [("p", "x", "m")] * (20, 30, 22)[number - 1] + [("q", "x", "m")] * 40)
        found = released(tmp_path, ways)
    assert found["p", None, None] is None and found[None, None, None] is None and found["q", None, None] == 40
    write(tmp_path, [("p", "x", "m")] * 25 + [("q", "x", "m")] * 40)
    assert released(tmp_path, ["c"])[None, None, None] == 65
    write(tmp_path, [("p", "x", "m")] * 45 + [("q", "x", "m")] * 21)
    found = released(tmp_path, ["a"])
    assert found[None, None, None] is None, "66 beside 65"


def test_groups_of_an_earlier_release_stay_hidden(tmp_path: Path) -> None:
    """All of ``p`` have ``x``: what hides that is not told by a later table of more columns."""
    write(tmp_path, [("p", "x", c) for c in "mn" for _ in range(10)] + [("q", b, c) for b in "xyz" for c in "mn"] * 9)
    first = released(tmp_path, ["a", "b"], groups=["b"])
    later = released(tmp_path, ["a", "b", "c"])
    assert first["p", "x", None] is None and later["p", "x", None] is None
    assert None in (later["p", "x", "m"], later["p", "x", "n"])


def test_who_was_an_insider_stays_one(tmp_path: Path) -> None:
    """The one of ``p, x`` was kept from ``p, y``; a later table without insiders does not tell it either."""
    sizes = {("p", "x"): 1, ("p", "y"): 2, ("p", "z"): 20, **{("q", b): 30 for b in "xyz"}}
    write(tmp_path, [(a, b, "m") for (a, b), size in sizes.items() for _ in range(size)])
    tables = {"t": {"dimensions": ["a", "b"], "margins": ["a"]}}
    first = released(tmp_path, ["a"], counts=tables, insiders=True)
    assert first["p", "x", None] is None and first["p", "y", None] is None
    later = released(tmp_path, ["a", "b"])
    assert later["p", None, None] is None and later["p", "z", None] == 20, "23 less 20 and 1 would be 2"


def test_what_an_entry_without_rules_hid_stays_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier builds wrote down none: by the threshold of now, two counts below that of then would be told."""
    sizes = {("p", "x"): 3, ("p", "y"): 3, ("q", "x"): 4, ("q", "y"): 4, ("r", "x"): 30, ("r", "y"): 30}
    write(tmp_path, [(a, b, "m") for (a, b), size in sizes.items() for _ in range(size)])
    with monkeypatch.context() as patch:
        whole = verb.described
        patch.setattr(verb, "described", lambda *asked: {k: v for k, v in whole(*asked).items() if k != "rules"})
        first = released(tmp_path, ["a"], threshold=10)
    assert first["p", None, None] is None and first["q", None, None] is None
    later = released(tmp_path, ["a", "b"])
    assert None in (later["p", "x", None], later["p", "y", None])
    assert None in (later["q", "x", None], later["q", "y", None])


def test_a_lower_threshold_shows_nothing_of_then_where_the_source_changed(tmp_path: Path) -> None:
    records = [*[("p", "x", "m")] * 6, *[("q", "x", "m")] * 30, *[("r", "x", "m")] * 40]
    write(tmp_path, records)
    assert released(tmp_path, ["a"], threshold=10)["p", None, None] is None
    write(tmp_path, [*records, *[("r", "x", "m")] * 9])
    later = released(tmp_path, ["a"])
    assert later["p", None, None] is None and later["r", None, None] == 49


def test_tables_that_leave_out_other_records_are_not_joined(tmp_path: Path) -> None:
    records = [(a, b, "m") for a in "pq" for b in "xyz" for _ in range(8)]
    write(tmp_path, [*records, ("p", "", "m"), ("q", "x", "")])
    released(tmp_path, ["a"], nulls="basic")
    with pytest.raises(sqlanon.InputError, match="leaves out other records"):
        released(tmp_path, ["a", "b"], nulls="basic")
    assert released(tmp_path, ["a"], nulls="basic")


def test_a_release_is_repeated_refused_or_joined(tmp_path: Path) -> None:
    """The same table again is the same; other categories, another match of NULLs and certificates are refused."""
    records = [("p", "x", "m")] * 20 + [("p", "y", "m")] * 9 + [("q", "x", "n")] * 8 + [("q", "y", "n")] * 2
    records += [("p", "z", "n")] * 7 + [("q", "z", "m")] * 2 + [("q", "x", "m")] * 6
    write(tmp_path, records)
    first = released(tmp_path, ["a", "b"])
    assert None in first.values() and released(tmp_path, ["a", "b"]) == first
    with pytest.raises(sqlanon.InputError, match="by other categories"):
        released(tmp_path, ["b"], columns={"b": {"hierarchy": {"groups": {"one": ["x", "y"], "other": ["z"]}}}})
    (tmp_path / "groups.csv").write_text("x;1\ny;1\nz;2\n")
    grouped: dict[str, Any] = {"columns": {"b": {"hierarchy": {"file": str(tmp_path / "groups.csv")}}}}
    spec = document(tmp_path, ["b"])["ledger"] | {"source": "others"}
    released(tmp_path, ["b"], **grouped, ledger=spec)
    (tmp_path / "groups.csv").write_text("x;1\ny;2\nz;2\n")  # of the same name
    with pytest.raises(sqlanon.InputError, match="by other categories"):
        released(tmp_path, ["b"], **grouped, ledger=spec)
    with pytest.raises(sqlanon.InputError, match="counts others"):
        released(tmp_path, ["b"], nulls="basic")
    with pytest.raises(sqlanon.PolicyError, match="ledger"):
        released(tmp_path, ["b"], round=5)
    with pytest.raises(sqlanon.UnsupportedError, match="no certificate"):
        sqlanon.counts(None, document(tmp_path, ["b"])).write_proof(tmp_path / "proof.json")
    found = command("ledger", "show", tmp_path / "private" / "ledger.duckdb")
    assert found.returncode == 0 and found.stdout.count("tables of counts of") == 4, found.stderr


def test_one_newcomer_is_not_told_by_two_nights(tmp_path: Path) -> None:
    """A count that was shown and differs by one is suppressed, its total too, unless changes are allowed."""
    records = [(a, b, "m") for a in "pq" for b in "xyz" for _ in range(20)]
    write(tmp_path, records)
    before = released(tmp_path, ["a", "b"])
    assert None not in before.values()
    write(tmp_path, [*records, ("p", "x", "m")])
    after = released(tmp_path, ["a", "b"])
    assert after["p", "x", None] is None and after[None, None, None] is None
    assert all(value is None or value == before[place] for place, value in after.items())
    allowed = released(tmp_path, ["a", "b"], changes="allow")
    assert allowed["p", "x", None] == 21


@pytest.mark.slow
def test_microdata_of_the_ledger_shows_its_cells(tmp_path: Path) -> None:
    """What a release of microdata tells cannot be suppressed any more: a table with unsafe cells there is refused."""
    records = [(a, b, c) for a in "pq" for b in "xyz" for c in "mn" for _ in range(6)]
    write(tmp_path, [*records, *[("q", "z", "n")] * 5, ("p", "y", "m")])
    own = document(tmp_path, ["a"])
    top = {"role": "quasi_identifier", "hierarchy": {"redact": {}}, "min_level": 1}
    policy: dict[str, Any] = {
        "source": own["source"],
        "columns": {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in VALUES},
        "undeclared": "drop",
        "privacy": [{"type": "k_anonymity", "k": 2}],
        "key": own["key"],
        "ledger": own["ledger"],
        "output": {"file": str(tmp_path / "out.csv")},
    }
    sqlanon.anonymize(None, policy).close()
    assert None not in released(tmp_path, ["a", "b"]).values()
    with pytest.raises(sqlanon.NoSolutionError, match="earlier releases show"):
        released(tmp_path, ["a", "b", "c"], threshold=8)
    sqlanon.anonymize(None, policy | {"columns": policy["columns"] | {"b": top}, "if_exists": "replace"}).close()
    with pytest.raises(sqlanon.InputError, match="'b' by other categories"):
        released(tmp_path, ["b"])


def test_a_release_that_fails_is_not_recorded_and_a_lost_ledger_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, drawn(1))
    monkeypatch.setattr(CellAudit, "faults", lambda *_, **__: {"small counts": 1})
    with pytest.raises(sqlanon.AuditError):
        released(tmp_path, ["a"])
    monkeypatch.undo()
    assert not (tmp_path / "a.csv").exists()
    released(tmp_path, ["a"])
    (tmp_path / "private" / "ledger.duckdb").unlink()
    with pytest.raises(sqlanon.InputError, match="is missing"):
        released(tmp_path, ["b"])
