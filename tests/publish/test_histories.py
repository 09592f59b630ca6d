"""The histories that a ledger of releases in cohorts holds: by brute force, edited, and of older builds."""

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import ledger_worlds as worlds
import pytest
from cohort_nights import Kept, Nights, class_of, remove
from sqlglot import exp

import sqlanon
from sqlanon.core.engines.base import Engine
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import AuditError, InputError
from sqlanon.ledger.cohorts import continuing, histories
from sqlanon.ledger.cohorts.erasing import erase_records
from sqlanon.ledger.joint import numbered_persons
from sqlanon.ledger.releases import ReleaseLedger
from sqlanon.ledger.review import accept_release, accept_state, check_ledger_file, forget_release

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def night_after_night(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Nights]:
    """So many nights, in one folder for all tests, as they were when the last of them ended."""
    levels = {"sex": 1, "place": 1, "age": 1}
    nights = Nights(tmp_path_factory.mktemp("nights"), 3, values=False, cohorts={"margin": 0}, levels=levels)
    nights.arrive(60)
    kept = [Kept(nights)]

    def after(some: int) -> Nights:
        while len(kept) <= some:
            nights = kept[-1].again()
            nights.release()
            remove(nights, nights.draw.sample([row["tag"] for row in nights.rows], 6))
            nights.arrive(12)
            kept.append(Kept(nights))
        return kept[some].again()

    return after


def ledger_of(nights: Nights) -> tuple[Path, sqlanon.Policy]:
    (policy := nights.folder / "policy.json").write_text(json.dumps(nights.document()))
    return nights.folder / "private" / "ledger.duckdb", sqlanon.Policy.from_file(policy)


def edit(ledger: Path, change: str) -> None:
    with duckdb.connect(str(ledger)) as connection:
        connection.execute(change)


def assert_true(nights: Nights, releases: list[dict[str, Any]] | None = None, held: int = 2) -> None:
    """Assert that two records have one history in the ledger if and only if all releases show them alike."""
    every = nights.releases if releases is None else releases
    ledger, _ = ledger_of(nights)
    rows = worlds.rows_of(ledger, "SELECT number, replace(person::VARCHAR, '-', ''), class FROM histories")
    numbers = sorted({number for number, *_ in rows})
    assert numbers == [*range(max(1, len(every) - held + 1), len(every) + 1)]
    for number in numbers:
        known = {person: history for own, person, history in rows if own == number}
        shown = {tag for release in every[:number] for tag in release}
        assert known.keys() == {worlds.person(tag) for tag in shown}
        pairs = defaultdict(set)
        for tag in shown:
            pairs[known[worlds.person(tag)]].add(
                tuple(class_of(release[tag]) if tag in release else None for release in every[:number])
            )
        assert all(len(alike) == 1 for alike in pairs.values()), "one history, several pasts"
        assert len({past for alike in pairs.values() for past in alike}) == len(pairs), "one past, several histories"


def test_a_night_reads_the_last_release_alone_and_its_histories_are_those_of_all(
    night_after_night: Callable[[int], Nights], monkeypatch: pytest.MonkeyPatch
) -> None:
    nights = night_after_night(5)
    assert_true(nights)
    assert len({tag for release in nights.releases for tag in release}) > len(nights.releases[-1]), "somebody left"
    read, carry = [], ReleaseLedger._carry

    def noting(self: ReleaseLedger, engine: Engine, into: str, name: str, release: Any, columns: Any) -> exp.Expr:
        read.append((name, release.number))
        return carry(self, engine, into, name, release, columns)

    monkeypatch.setattr(ReleaseLedger, "_carry", noting)
    nights.release()
    assert {*read} == {("members", 5), ("histories", 5)}
    assert_true(nights)
    numbers = worlds.rows_of(ledger_of(nights)[0], "SELECT DISTINCT number FROM departed ORDER BY 1")
    assert numbers in ([(5,)], [(5,), (6,)]), "who left stands under the numbers that a run looks at"
    assert check_ledger_file(*ledger_of(nights)).holds


def test_a_ledger_without_histories_is_read_and_gets_them(night_after_night: Callable[[int], Nights]) -> None:
    nights = night_after_night(4)
    ledger, policy = ledger_of(nights)
    edit(ledger, "DROP TABLE histories")
    accept_state(ledger, policy)  # the seals of a build that wrote none
    nights.release()
    assert_true(nights, held=1)
    nights.release()
    assert_true(nights)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE histories SET class = 1 WHERE number = 4",
        "DELETE FROM histories WHERE number = 4",
        "UPDATE members SET class = class + 1 WHERE number = 4",
        "DELETE FROM departed",
    ],
)
def test_an_edit_of_what_a_night_goes_by_is_refused(change: str, night_after_night: Callable[[int], Nights]) -> None:
    nights = night_after_night(4)
    edit(ledger_of(nights)[0], change)
    with pytest.raises(InputError, match="not known for certain"):
        nights.release()


def test_an_edit_of_an_old_release_is_found_by_check_and_before_it_is_sealed_again(
    night_after_night: Callable[[int], Nights],
) -> None:
    nights = night_after_night(4)
    ledger, policy = ledger_of(nights)
    edit(ledger, "UPDATE members SET class = class + 1 WHERE number = 1")
    nights.release()
    assert_true(nights)
    assert any("persons of release 1" in fault for fault in check_ledger_file(ledger, policy).faults)
    erase_records(policy, [next(iter(nights.releases[-1]))])
    with pytest.raises(InputError, match="persons of release 1"):
        nights.release()


def test_histories_that_are_not_those_of_the_releases_are_found_by_check(
    night_after_night: Callable[[int], Nights], monkeypatch: pytest.MonkeyPatch
) -> None:
    nights = night_after_night(2)
    with monkeypatch.context() as patch:
        patch.setattr(histories, "distinguishes", lambda *_: True)
        patch.setattr(histories, "numbered_persons", lambda parts, name: numbered_persons(parts[-1:], name))
        nights.release()
    faults = check_ledger_file(*ledger_of(nights)).faults
    assert faults == ("does not tell the histories of records up to release 3 apart",)


def test_histories_that_forget_the_past_are_not_written(
    night_after_night: Callable[[int], Nights], monkeypatch: pytest.MonkeyPatch
) -> None:
    nights = night_after_night(2)
    for lost in (slice(None, -1), slice(1, None)):
        with monkeypatch.context() as patch, pytest.raises(AuditError, match="histories"):
            patch.setattr(histories, "numbered_persons", lambda parts, name, of=lost: numbered_persons(parts[of], name))
            nights.release()
    assert [*worlds.states(ledger_of(nights)[0])] == ["published"] * 2
    nights.release()
    assert_true(nights)


def test_the_joint_audit_finds_one_who_leaves_alone(
    night_after_night: Callable[[int], Nights], monkeypatch: pytest.MonkeyPatch
) -> None:
    nights = night_after_night(4)
    decide = continuing.decide

    def wrong(engine: Engine, *given: Any) -> None:
        decide(engine, *given)
        first = exp.select(exp.Min(this=exp.column(names.RECORD, quoted=True))).from_(table(names.REMAINING))
        one = exp.EQ(this=exp.column(names.RECORD, quoted=True), expression=first.subquery())
        engine.run("test", exp.Delete(this=table(names.REMAINING), where=exp.Where(this=one)))

    monkeypatch.setattr(continuing, "decide", wrong)
    monkeypatch.setattr(continuing, "audit_state", lambda *_: None)
    monkeypatch.setattr(continuing, "audit_changes", lambda *_: None)
    with pytest.raises(AuditError, match="joint classes offend"):
        nights.release()


def test_a_second_release_in_a_row_is_not_forgotten(night_after_night: Callable[[int], Nights]) -> None:
    nights = night_after_night(3)
    ledger, policy = ledger_of(nights)
    forget_release(ledger, policy, "3")
    with pytest.raises(InputError, match="rows of release 1") as refused:
        forget_release(ledger, policy, "2")
    assert "begin another ledger" in (refused.value.hint or "")
    for path in (nights.folder / "out").iterdir():
        path.unlink()
    del nights.releases[2], nights.sources[2]
    nights.release()
    assert_true(nights)


def test_a_release_that_lost_nearly_everybody_is_safe_once_that_is_accepted(
    night_after_night: Callable[[int], Nights],
) -> None:
    nights = night_after_night(1)
    ledger, policy = ledger_of(nights)
    present, shown = {row["tag"] for row in nights.rows}, nights.releases[0]
    of_class = defaultdict(list)
    for tag in shown.keys() & present:
        of_class[class_of(shown[tag])].append(tag)
    stay = sorted(max(of_class.values(), key=len))[:8]
    remove(nights, [tag for tag in present if tag not in stay])
    accept_release(ledger, policy, "1")
    nights.release()
    assert nights.releases[1].keys() == {*stay}
    assert len(stay) < 0.1 * len(shown)
    assert check_ledger_file(ledger, policy).holds
