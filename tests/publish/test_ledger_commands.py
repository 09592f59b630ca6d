"""``sqlanon ledger``: show, check and forget, and the key ``ledger`` of ``run --json``."""

import json
from pathlib import Path
from typing import Any

import duckdb
import ledger_worlds as worlds
import pytest
from command_line import sqlanon as command
from effort import seeds
from policies import file_of

import sqlanon
from sqlanon.ledger.facts import EarlierRelease, ReleaseEntry
from sqlanon.ledger.review import groups_of


def publish(folder: Path, name: str = "released", **changes: Any) -> None:
    keys = worlds.document(folder, output={"file": str(folder / "out" / f"{name}.parquet")}, **changes)
    sqlanon.anonymize(None, keys).close()


def run(*arguments: object) -> dict[str, Any]:
    """Run a command with ``--json`` and return its document, with its exit code as ``code``."""
    done = command("ledger", *arguments, "--json")
    document: dict[str, Any] = json.loads(done.stdout)
    return document | {"code": done.returncode}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A ledger with two releases of the same records, to one recipient."""
    found = worlds.prepare(tmp_path)
    for name in ("one", "two"):
        publish(tmp_path, name)
    return found


def test_show_lists_the_releases(ledger: Path, tmp_path: Path) -> None:
    found = run("show", ledger)
    assert found["code"] == 0
    assert [(item["number"], item["state"], item["file"]) for item in found["releases"]] == [
        (1, "published", "same"),
        (2, "published", "same"),
    ]
    done = command("ledger", "show", ledger)
    assert done.returncode == 0
    assert f"file: {tmp_path}/out/one.parquet (same)" in done.stdout
    (tmp_path / "policy.json").write_text(json.dumps(worlds.document(tmp_path)))
    assert run("show", tmp_path / "policy.json") == found


@pytest.mark.slow
def test_releases_at_one_node_are_safe_together(ledger: Path) -> None:
    found = run("check", ledger)
    [group] = found["groups"]
    assert (found["code"], found["holds"], group["releases"], group["small_cells"]) == (0, True, [1, 2], 0)
    assert group["smallest_cell"] >= group["k"] == 3
    assert "The releases are safe together." in command("ledger", "check", ledger).stdout


@pytest.mark.slow
def test_a_changed_file_fails_and_a_missing_one_does_not(ledger: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "one.parquet").unlink()
    found = run("check", ledger)
    assert [(found["code"], item["file"]) for item in found["releases"]] == [(0, "missing"), (0, "same")]
    (tmp_path / "out" / "two.parquet").write_bytes(b"changed")
    found = run("check", ledger)
    assert [(found["code"], item["file"]) for item in found["releases"]] == [(1, "missing"), (1, "changed")]


@pytest.mark.slow
def test_releases_that_were_not_judged_together_fail(tmp_path: Path) -> None:
    """Two recipients who shared with nobody, until a third is said to share with both: brute force counts the cells."""
    found = worlds.prepare(tmp_path)
    own = {"file": str(found), "record": "case_id", "colludes": "none"}
    sexless = worlds.document(tmp_path)["columns"]
    sexless["sex"] = sexless["sex"] | {"min_level": 1}
    ageless = worlds.document(tmp_path)["columns"]
    ageless["age"] = ageless["age"] | {"min_level": 2}
    publish(tmp_path, "one", ledger=own | {"recipient": "a"}, columns=sexless)
    publish(tmp_path, "two", ledger=own | {"recipient": "b"}, columns=ageless)
    apart = run("check", found)
    assert (apart["code"], [group["releases"] for group in apart["groups"]]) == (0, [[1], [2]])
    with duckdb.connect(str(found)) as connection:  # as if a policy had said so; without it nobody checks the seals
        connection.execute('UPDATE releases SET facts = replace(facts, \'"colludes": "none"\', \'"colludes": "all"\')')
    together = run("check", found)
    [group] = together["groups"]
    one, two = (worlds.members_of(found, number) for number in (1, 2))
    cells: dict[Any, int] = {}
    for person in one.keys() | two.keys():
        cell = (frozenset(one.get(person, ())), frozenset(two.get(person, ())))
        cells[cell] = cells.get(cell, 0) + 1
    small = [size for size in cells.values() if size < 3]
    assert small, "the world has no small cell"
    assert (group["cells"], group["small_cells"], group["persons_in_small_cells"]) == (
        len(cells), len(small), sum(small),
    )  # fmt: skip
    assert (together["code"], together["holds"]) == (1, False)
    assert "NOT safe together" in command("ledger", "check", found).stdout


def test_forgetting_needs_a_yes_and_leaves_no_byte(ledger: Path) -> None:
    [first, second] = run("show", ledger)["releases"]
    before = ledger.read_bytes()
    policy = file_of(ledger.parents[1] / "policy.json", worlds.document(ledger.parents[1]))
    refused = run("forget", policy, "1")
    assert (refused["code"], refused["error"]) == (2, "InputError")
    assert run("forget", ledger, "1", "--yes")["error"] == "InputError", "its seals take the key"
    assert ledger.read_bytes() == before
    assert first["release"].encode() in before
    assert run("forget", policy, first["release"], "--yes")["forgotten"]["number"] == 1
    after = ledger.read_bytes()
    assert first["release"].encode() not in after
    assert second["release"].encode() in after
    assert ledger.stat().st_mode & 0o777 == 0o600
    assert worlds.rows_of(ledger, "SELECT DISTINCT number FROM members") == [(2,)]
    assert [item["number"] for item in run("show", ledger)["releases"]] == [2]
    unknown = run("forget", policy, "1", "--yes")
    assert (unknown["code"], unknown["error"]) == (2, "InputError")


@pytest.mark.slow
def test_forgetting_leaves_the_numbers_of_others(ledger: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text(json.dumps(worlds.document(tmp_path)))
    run("forget", tmp_path / "policy.json", "1", "--yes")
    publish(tmp_path, "three")
    assert [item["number"] for item in run("show", ledger)["releases"]] == [2, 3]


@pytest.mark.slow
def test_what_is_no_ledger(tmp_path: Path) -> None:
    worlds.prepare(tmp_path)
    (tmp_path / "policy.json").write_text(json.dumps(worlds.document(tmp_path)))
    keys = worlds.document(tmp_path)
    del keys["ledger"]
    (tmp_path / "none.json").write_text(json.dumps(keys))
    for place in (tmp_path / "policy.json", tmp_path / "none.json", tmp_path / "source.duckdb", tmp_path / "nothing"):
        for what in ("show", "check"):
            found = run(what, place)
            assert (found["code"], found["error"]) == (2, "InputError")


@pytest.mark.slow
def test_run_says_what_was_recorded(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    (tmp_path / "policy.json").write_text(json.dumps(worlds.document(tmp_path)))
    for options, earlier in ((["--dry-run"], 0), ([], 0), (["--dry-run"], 1)):
        done = command("run", tmp_path / "policy.json", "--json", *options)
        found = json.loads(done.stdout)["ledger"]
        assert (found["file"], found["earlier"]) == (str(ledger.resolve()), earlier)
        assert (found["release"] is None) == bool(options)
    assert worlds.states(ledger) == ["published"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [["explain", "--dialect", "snowflake"], ["dbt", "--to", "made"]])
def test_what_others_run_has_no_ledger(options: list[str], tmp_path: Path) -> None:
    worlds.prepare(tmp_path)
    (tmp_path / "policy.json").write_text(json.dumps(worlds.document(tmp_path)))
    name, *rest = options
    rest = [str(tmp_path / "made") if item == "made" else item for item in rest]
    done = command(name, tmp_path / "policy.json", *rest)
    assert done.returncode == 2
    assert "ledger" in done.stderr


# -- who may come together ---------------------------------------------------------------------------------------------


def release(number: int, recipient: str | None, colludes: str | tuple[str, ...], source: str = "s") -> EarlierRelease:
    entry = ReleaseEntry(
        release=str(number), time="", source=source, person_column="p", recipient=recipient, colludes=colludes,
        policy_fingerprint="", hierarchies={}, levels={}, models=(), columns=(), output={}, digest=None, k=2,
        classes=1, persons=2,
    )  # fmt: skip
    return EarlierRelease(number, "published", entry)


@seeds(100, 25)
def test_groups_are_the_largest_sets_that_somebody_may_have(block: range) -> None:
    import random

    for seed in block:
        draw = random.Random(seed)
        names = "abcd"
        made = [
            release(
                number,
                None if (to := draw.choice([*names, None])) is None else to,
                "all" if to is None else draw.choice(["all", "none", tuple(draw.sample(names, 2))]),
                draw.choice("st"),
            )
            for number in range(1, draw.randint(2, 7))
        ]

        def together(one: EarlierRelease, other: EarlierRelease) -> bool:
            def shares(mine: ReleaseEntry, yours: ReleaseEntry) -> bool:
                listed = isinstance(mine.colludes, tuple) and yours.recipient in mine.colludes
                return mine.recipient is None or mine.colludes == "all" or listed

            mine, yours = one.entry, other.entry
            same = mine.recipient is not None and mine.recipient == yours.recipient
            return mine.source == yours.source and (same or shares(mine, yours) or shares(yours, mine))

        held = [frozenset(o.number for o in made if o is one or together(one, o)) for one in made]
        largest = {one for one in held if not any(one < other for other in held)}
        assert {frozenset(item.number for item in group) for group in groups_of(made)} == largest
