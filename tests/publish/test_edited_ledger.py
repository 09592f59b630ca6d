"""A ledger that was edited without its key: the next release is refused, or the one that it would have been."""

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import ledger_worlds as worlds
import pytest
from cohort_nights import Nights, Row
from effort import is_full, spread

import sqlanon
from sqlanon.errors import InputError
from sqlanon.ledger.cohorts.erasing import erase_records
from sqlanon.ledger.review import check_ledger_file
from sqlanon.ledger.seals import head_file, open_sealed

PERSONS = ("erased", "departed", "shown", "histories", "members", "sensitive")
NIGHTS = 4
NUMBERS = ("NULL", -1, *range(NIGHTS + 2), 77)
"""Of no release, of what is to be erased, of all releases, of the next one, and of none so soon."""
ANYBODY = f"(SELECT min(person) FROM shown WHERE number = {NIGHTS})"


def after_some_nights(folder: Path) -> Nights:
    """Records that left, that were erased, and that are to be erased by the next release."""
    nights = Nights(folder, 4, values=True, cohorts={"margin": 0})
    (policy := folder / "policy.json").write_text(json.dumps(nights.document()))
    for night in range(NIGHTS):
        nights.release()
        if night in (1, NIGHTS - 1):
            erase_records(sqlanon.Policy.from_file(policy), [min(nights.releases[-1])])
        nights.change()
    nights.sources.append({})  # the state of the source that the next release shows
    return nights


class Edited:
    """A ledger, edited and put back: what the next release of each shows."""

    def __init__(self, folder: Path) -> None:
        self.nights = after_some_nights(folder)
        self.ledger = folder / "private" / "ledger.duckdb"
        self.policy = sqlanon.Policy.from_dict(self.nights.document())
        originals = (self.ledger, head_file(self.ledger), folder / "out" / "released.parquet")
        self.kept = [(path, Path(shutil.copy2(path, folder / f"kept_{path.name}"))) for path in originals]
        self.expected = self.next_release()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return worlds.rows_of(self.kept[0][1], query)

    def next_release(self) -> dict[str, Row]:
        self.nights.release(accept=False)
        return self.nights.releases.pop()

    def put_back(self) -> None:
        for path, copy in self.kept:
            shutil.copy2(copy, path)

    def refused(self, edit: str) -> bool:
        """Whether the next release is refused after an edit; one that is not is the release of the unedited ledger."""
        self.put_back()
        with duckdb.connect(str(self.ledger)) as connection:
            connection.execute(edit)
        try:
            shown = self.next_release()
        except InputError as error:
            assert "The ledger" in str(error), edit
            try:
                assert check_ledger_file(self.ledger, self.policy).faults, edit
            except InputError as named:  # a person is twice in a release, whose cells cannot be counted
                assert "The ledger" in str(named), edit
            return True
        assert shown == self.expected, edit
        return False


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Edited:
    return Edited(tmp_path_factory.mktemp("edited"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PERSONS)
@pytest.mark.few(2)
def test_the_persons_that_a_night_reads_are_those_that_were_written(name: str, edited: Edited) -> None:
    """Rows of every table are inserted and moved under every number, and deleted and changed where there are some."""
    held = [number for (number,) in edited.rows(f"SELECT DISTINCT number FROM {name} ORDER BY 1")]
    assert held, "a table without rows shows nothing"
    passed = set()
    for number in NUMBERS if is_full() else spread(NUMBERS, 4):
        row = f"SELECT * REPLACE ({number} AS number, {ANYBODY} AS person) FROM {name} LIMIT 1"
        edits = [f"INSERT INTO {name} {row}"]
        if number in held:
            one = f"{name}.rowid = (SELECT min(rowid) FROM {name} WHERE number = {number})"
            edits += [f"DELETE FROM {name} WHERE {one}", f"UPDATE {name} SET person = uuid() WHERE {one}"]
        if number != held[-1]:
            last = f"{name}.rowid = (SELECT max(rowid) FROM {name} WHERE number = {held[-1]})"
            edits.append(f"UPDATE {name} SET number = {number} WHERE {last}")
        passed |= {number for edit in edits if not edited.refused(edit)}
    assert passed <= {*range(1, NIGHTS - 1)}, "what older releases showed is read by no night"


@pytest.mark.slow
def test_no_entry_is_edited_unnoticed(edited: Edited) -> None:
    for name in ("releases", "contents", "seals"):
        key = "write" if name == "seals" else "number"
        for edit in (
            f"INSERT INTO {name} SELECT * REPLACE (77 AS {key}) FROM {name} LIMIT 1",
            f"INSERT INTO {name} SELECT * FROM {name} LIMIT 1",
            f"DELETE FROM {name} WHERE {name}.rowid = (SELECT max(rowid) FROM {name})",
            f"DELETE FROM {name} WHERE {name}.rowid = (SELECT min(rowid) FROM {name})",
            f"UPDATE {name} SET {key} = {key} + 1",
        ):
            assert edited.refused(edit), edit
    edited.put_back()  # whoever writes the digest of the state anew, too, which has no key, lacks the seal
    with duckdb.connect(str(edited.ledger)) as connection:
        connection.execute("UPDATE releases SET recipient = 'others'")
    assert edited.policy.key is not None
    database, seals, _ = open_sealed(edited.ledger, edited.policy.key)
    state = seals._state()
    database.close()
    with duckdb.connect(str(edited.ledger)) as connection:
        connection.execute("UPDATE seals SET state = ? WHERE write = (SELECT max(write) FROM seals)", [state])
    with pytest.raises(InputError, match="another seal"):
        edited.next_release()


@pytest.mark.slow
def test_one_row_cannot_stand_for_two(tmp_path: Path) -> None:
    """A text that reads like the next row would hide that this row was deleted."""
    nights = Nights(tmp_path, 4, values=True, cohorts={"margin": 0})
    nights.release()
    (policy := tmp_path / "policy.json").write_text(json.dumps(nights.document()))
    for _ in range(2):
        erase_records(sqlanon.Policy.from_file(policy), [min(nights.releases[-1])])
    with duckdb.connect(str(tmp_path / "private" / "ledger.duckdb")) as connection:
        connection.execute("DELETE FROM erased WHERE rowid = (SELECT max(rowid) FROM erased)")
        connection.execute("UPDATE erased SET source = concat(source, ' true,e', person, ' ', source)")
        assert connection.execute("SELECT count(*) FROM erased").fetchall() == [(1,)]
    with pytest.raises(InputError, match="other persons of release 0"):
        nights.release()


@pytest.mark.slow
def test_a_number_that_became_empty_is_no_edit(edited: Edited) -> None:
    edited.put_back()
    assert edited.policy.key is not None
    database, seals, _ = open_sealed(edited.ledger, edited.policy.key)
    try:
        seals.check()
        with seals.writing("empty", [0]):
            database.delete(0, ("erased",))
        assert not seals.fault()
    finally:
        database.close()
