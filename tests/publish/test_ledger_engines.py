"""A ledger of releases beside every engine that has keyed hashes, and every kind of plan that can be recorded first."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import brute_joint
import ledger_worlds as worlds
import pyarrow as pa
import pytest
from effort import scaled
from postgres_server import Server, execute

import sqlanon
from sqlanon.ledger.review import accept_release, check_ledger_file


def publish(folder: Path, **changes: Any) -> tuple[list[dict[str, Any]], int]:
    """Publish a release and return its rows, and with how many earlier ones it was judged."""
    with sqlanon.anonymize(None, worlds.document(folder, **changes)) as release:
        assert release.recorded is not None
        return release.to_arrow().to_pylist(), release.recorded.earlier


def check(ledger: Path, number: int, found: tuple[list[dict[str, Any]], int]) -> None:
    released, earlier = found
    assert earlier == number - 1
    worlds.check_members(ledger, number, released)
    worlds.check_values(ledger, number, released)


def write_postgres(server: Server, data: pa.Table) -> None:
    def literal(value: Any) -> str:
        return "NULL" if value is None else str(value) if isinstance(value, int) else f"'{value}'"

    rows = [f"({', '.join(map(literal, row.values()))})" for row in data.to_pylist()]
    execute(server, "DROP TABLE IF EXISTS t", "DROP TABLE IF EXISTS released", f"CREATE TABLE t({worlds.COLUMNS})")
    execute(server, f"INSERT INTO t VALUES {', '.join(rows)}")


Recorded = tuple[Path, Path, Callable[[pa.Table], None], dict[str, Any]]
"""A folder, the ledger in it, what writes records to a source, and the keys of a policy that name this source."""
SQLITE = pytest.param("sqlite", marks=pytest.mark.slow)
POSTGRES = pytest.param("postgres", marks=pytest.mark.postgres)


@pytest.fixture(params=[pytest.param("duckdb", marks=pytest.mark.slow), SQLITE, POSTGRES])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Recorded:
    """A ledger beside a source of every kind."""
    ledger, source = worlds.prepare(tmp_path), tmp_path / "source.sqlite"
    if request.param == "duckdb":
        return tmp_path, ledger, lambda data: worlds.write_source(tmp_path, data), {}
    if request.param == "sqlite":
        return tmp_path, ledger, lambda data: worlds.write_sqlite(source, data), {"source": str(source)}
    server = request.getfixturevalue("postgres")
    return tmp_path, ledger, lambda data: write_postgres(server, data), {"source": server.uri()}


def test_a_person_is_known_again(place: Recorded) -> None:
    """Publish, write every key in another way, and publish again, for the same recipient under another spelling; then
    give keys anew, and give everybody the key of somebody else."""
    folder, ledger, write, changes = place
    data = worlds.records(1, 300)
    keys = data.column("case_id").to_pylist()

    def publish_with(case_ids: list[str], recipient: str, source: str) -> int:
        write(data.set_column(0, "case_id", [case_ids]))
        own = {"file": str(ledger), "record": "case_id", "source": source, "recipient": recipient, "colludes": "none"}
        return publish(folder, ledger=own, **changes)[1]

    publish_with(keys, "ministry", "Cases")
    respelled = [f"Ｋ{key[1:]}" + " \t\xa0"[number % 3] for number, key in enumerate(keys)]
    assert publish_with(respelled, "Ｍinistry ", " cases") == 1
    assert worlds.members_of(ledger, 1).keys() == worlds.members_of(ledger, 2).keys()
    with pytest.raises(sqlanon.InputError, match=r"fewer than a tenth of the .* persons of release 1 are in it"):
        publish_with([f"new{key}" for key in keys], "ministry", "cases")
    with pytest.raises(sqlanon.InputError, match="no more to do with its classes than by chance"):
        publish_with([*keys[150:], *keys[:150]], "ministry", "cases")
    halved = [f"new{key}" if number % 2 else key for number, key in enumerate(keys)]
    write(data.set_column(0, "case_id", [halved]))
    own = {"file": str(ledger), "record": "case_id", "source": "cases", "recipient": "ministry", "colludes": "none"}
    with sqlanon.plan(None, worlds.document(folder, ledger=own, **changes)) as plan:
        assert any("At most half of the" in warning for warning in plan.warnings)
    publish_with([f"new{key}" for key in keys], "press", "cases")
    policy = sqlanon.Policy.from_dict(worlds.document(folder))
    for number in ("1", "2"):
        accept_release(ledger, policy, number)
    assert publish_with([f"new{key}" for key in keys], "ministry", "cases") == 2
    assert check_ledger_file(ledger, policy).holds


def test_keys_that_differ_in_capitals_alone_are_told_apart(place: Recorded) -> None:
    """Publish records of which two keys differ in capitals alone, and publish again with blanks and what no font shows
    around every key; then with two keys that differ in a blank alone."""
    folder, ledger, write, changes = place
    data = worlds.records(1)
    keys = data.column("case_id").to_pylist()
    keys[0] = keys[1].upper()
    for number, written in enumerate((keys, keys, [f"\ufe0f{key}\u200b " for key in keys]), 1):
        write(data.set_column(0, "case_id", [written]))
        with sqlanon.anonymize(None, worlds.document(folder, **changes)) as release:
            assert any("persons of their own" in warning for warning in release.warnings) == (number == 1)
        assert worlds.members_of(ledger, number).keys() == worlds.members_of(ledger, 1).keys()
        assert len(worlds.members_of(ledger, number)) == len(release.to_arrow())
    write(data.set_column(0, "case_id", [[f"{keys[1]} ", *keys[1:]]]))
    with pytest.raises(sqlanon.InputError, match="only in blanks or the width"):
        publish(folder, **changes)


@pytest.mark.slow
@pytest.mark.parametrize("ages", [range(300), [0] * 294 + [90] * 6], ids=["all differ", "nearly all agree"])
def test_values_that_tell_nothing_of_persons_accuse_no_keys(ages: Sequence[int], tmp_path: Path) -> None:
    data = worlds.records(1, 300)
    worlds.prepare(tmp_path, data.set_column(3, "age", [ages]))
    columns = worlds.document(tmp_path)["columns"]
    hierarchy = {"intervals": {"width": 30, "lower": 0, "upper": 300}}
    columns |= {"age": {"role": "quasi_identifier", "hierarchy": hierarchy}, "ill": {"role": "drop"}}
    columns |= {name: {**columns[name], "min_level": 1} for name in ("sex", "place")}
    assert [publish(tmp_path, columns=columns)[1] for _ in range(2)] == [0, 1]


@pytest.mark.slow
def test_keys_that_become_one_person_are_refused(tmp_path: Path) -> None:
    worlds.prepare(tmp_path)
    data = worlds.records(1)
    keys = data.column("case_id").to_pylist()
    twins = data.set_column(0, "case_id", [[keys[1].upper(), *keys[1:]]])
    publish(tmp_path)
    worlds.write_source(tmp_path, twins)
    with pytest.raises(sqlanon.InputError, match="1 values of the column 'case_id' differ from others only in blanks"):
        publish(tmp_path)


@pytest.mark.slow
def test_keys_that_an_older_ledger_digested_as_they_stood_are_known_again(tmp_path: Path) -> None:
    data = worlds.records(1)
    keys = data.column("case_id").to_pylist()
    ledger = worlds.prepare(tmp_path, data.set_column(0, "case_id", [[f" {key.upper()}" for key in keys]]))
    publish(tmp_path)
    worlds.make_older(ledger, {key: f" {key.upper()}" for key in keys})
    old = worlds.members_of(ledger, 1)
    assert publish(tmp_path)[1] == 1
    assert not old.keys() & worlds.members_of(ledger, 1).keys()
    assert worlds.members_of(ledger, 1) == worlds.members_of(ledger, 2)
    worlds.write_source(tmp_path, data)
    assert publish(tmp_path)[1] == 2
    assert worlds.members_of(ledger, 3).keys() == worlds.members_of(ledger, 1).keys()


@pytest.mark.slow
def test_sqlite(tmp_path: Path) -> None:
    ledger, source = worlds.prepare(tmp_path), tmp_path / "source.sqlite"
    worlds.write_sqlite(source, worlds.records(1))
    outputs = [{"file": str(tmp_path / "out" / "released.csv")}, {"table": "released"}]
    for number, output in enumerate(outputs, 1):
        check(ledger, number, publish(tmp_path, source=str(source), output=output))


def test_sqlite_with_cells_that_no_model_watches(tmp_path: Path) -> None:
    """The release is staged for the warnings before it is recorded, and has no persons there."""
    ledger, source = worlds.prepare(tmp_path), tmp_path / "source.sqlite"
    worlds.write_sqlite(source, worlds.records(1))
    columns = worlds.document(tmp_path)["columns"] | {"ill": {"role": "keep"}}
    publish(tmp_path, source=str(source), columns=columns, output={"file": str(tmp_path / "out" / "released.csv")})
    assert worlds.states(ledger) == ["published"]


def test_postgres(tmp_path: Path, postgres: Server) -> None:
    ledger = worlds.prepare(tmp_path)
    write_postgres(postgres, worlds.records(1))
    outputs = [{"file": str(tmp_path / "out" / "released.parquet")}, {"table": "released"}, {"table": "released"}]
    for number, output in enumerate(outputs, 1):
        check(ledger, number, publish(tmp_path, source=postgres.uri(), output=output))
    assert worlds.states(ledger) == ["published"] * 3
    on_server = {"schema": "ledgers", "record": "case_id"}
    with pytest.raises(sqlanon.UnsupportedError, match="for a source on a server too"):
        publish(tmp_path, source=postgres.uri(), ledger=on_server)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(scaled(5)))
def test_local_recoding_is_recorded_as_it_was_drawn(seed: int, tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path, worlds.records(seed, 200))
    columns = worlds.document(tmp_path)["columns"] | {"ill": {"role": "drop"}}
    released, _ = publish(tmp_path, transformation={"type": "local_recoding"}, columns=columns)
    worlds.check_members(ledger, 1, released)


@pytest.mark.slow
def test_persons_of_an_entity_are_known_by_it(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    check(ledger, 1, publish(tmp_path, entity="case_id", ledger=str(ledger)))


@pytest.mark.parametrize("place", [SQLITE, POSTGRES], indirect=True)
def test_cohorts_last(place: Recorded) -> None:
    """Publish five states in cohorts; nobody is singled out by the classes that whoever has all of them sees."""
    folder, ledger, write, changes = place
    data = worlds.records(3, 120)
    own = {"file": str(ledger), "record": "case_id", "cohorts": {"margin": 0, "coarser_after": 2, "hold": 2}}
    quasi = ("sex", "place", "age")
    releases = []
    for night in range(5):
        write(data)
        released, _ = publish(folder, ledger=own, **changes)
        releases.append({row["tag"]: tuple(row[name] for name in quasi) for row in released})
        fresh = worlds.records(50 + night, 30)
        keys = pa.array([f"n{night}_{number}" for number in range(30)])
        fresh = fresh.set_column(0, "case_id", keys).set_column(5, "tag", keys)
        data = pa.concat_tables([data.slice(15), fresh])
    assert brute_joint.smallest_cell(releases) >= 3  # type: ignore[operator]
    assert releases[1].keys() - releases[0].keys() and releases[0].keys() - releases[4].keys()
    assert check_ledger_file(ledger, sqlanon.Policy.from_dict(worlds.document(folder))).holds
