"""A live view with an epoch shows what a brute force does, and no two of its states single anybody out."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from effort import Block, enough, seeds
from epoch_worlds import VALUES, EpochBrute, EpochWorld, State, differences, histories, singled_out
from sqlglot import exp

import sqlanon
from sqlanon.cli import main
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.errors import AuditError, InputError, NoSolutionError, PolicyError, UnsupportedError
from sqlanon.interop.scripts.dbt.release import refuse_release
from sqlanon.live import epochs
from sqlanon.live.compiler.cohorts import Cohorts
from sqlanon.live.output import live_view_sql


def random_world(random: Random) -> EpochWorld:
    listed = random.sample(VALUES, random.randint(4, len(VALUES)))
    texts = random.choice((("*",), ("x", "y"), ("x", "")))
    world = EpochWorld(
        {value: random.choice(texts) for value in listed},
        k=random.choice((2, 3, 4)),
        margin=random.choice((0, 0, 1, 2)),
        distinct=random.choice((0, 0, 2, 3)),
        basic=random.random() < 0.3,
        persons=random.random() < 0.3,
    )
    world.lookup.setdefault(None, None)  # a hierarchy that does not list NULL leaves it as it is
    world.rows = [world.new_row(random) for _ in range(random.randint(15, 50))]
    for row in world.rows:  # who is nobody is refused when it is planned
        row["person"] = row["person"] or 1
        row["q0"] = random.choice(listed) if world.persons else row["q0"]
    return world


def policy_of(world: EpochWorld, **changes: Any) -> dict[str, Any]:
    levels = {value: [text, "**"] for value, text in world.lookup.items() if value is not None or text is not None}
    quasi = {
        "q0": {"role": "quasi_identifier", "hierarchy": {"levels": levels}, "min_level": 1, "max_level": 1},
        "q1": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}, "max_level": 0},
    }
    models = [{"type": "distinct_l_diversity", "l": world.distinct}]
    columns = {**quasi, "s": {"role": "sensitive", "models": models} if world.distinct else {"role": "keep"}}
    output = {"live_view": "anon.v", "epoch": "1 hour", "margin": world.margin, "record": "id"}
    return {
        "table": "t", "undeclared": "drop", "uncovered": "suppress", "columns": columns, "suppression_limit": 1,
        "privacy": [{"type": "k_anonymity", "k": world.k}], "nulls": "basic" if world.basic else "extended",
        **({"entity": "person"} if world.persons else {}), "output": output, **changes,
    }  # fmt: skip


def write(connection: duckdb.DuckDBPyConnection, world: EpochWorld) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS t (id BIGINT, q0 VARCHAR, q1 INTEGER, s VARCHAR, person BIGINT)")
    connection.execute("DELETE FROM t")
    if world.rows:
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", [list(row.values()) for row in world.rows])


def pass_time(connection: duckdb.DuckDBPyConnection, epochs: int = 1) -> None:
    """The epoch that is shown was so many epochs ago."""
    connection.execute(
        "UPDATE anon.v_frozen SET value = CAST(CAST(value AS BIGINT) - ? AS VARCHAR) WHERE name = 'number'", [epochs]
    )


def shown(connection: duckdb.DuckDBPyConnection) -> Counter[tuple[Any, ...]]:
    return Counter(connection.execute("SELECT * FROM anon.v").fetchall())


def rows_of(state: State) -> Counter[tuple[Any, ...]]:
    return Counter(row for _, row in state.values())


def follow(random: Random, changes: int) -> tuple[EpochBrute, list[State], int] | None:
    """Publish a random world, let it change, compare each state; the brute force, the states, how many differ."""
    world = random_world(random)
    brute = EpochBrute(world)
    with duckdb.connect() as connection:
        write(connection, world)
        policy = sqlanon.Policy.from_dict(policy_of(world))
        try:
            sqlanon.anonymize(connection, policy).close()
        except NoSolutionError:
            return None
        brute.begin()
        states = [brute.state()]
        assert shown(connection) == rows_of(states[0])
        for _ in range(changes):
            world.change(random)
            write(connection, world)
            assert shown(connection) == rows_of(states[-1]), "nothing changes before the epoch ends"
            pass_time(connection)
            found = sqlanon.refresh(connection, policy)
            brute.advance()
            states.append(brute.state())
            assert shown(connection) == rows_of(states[-1])
            check_step(found, brute, states)
    return brute, states, sum(one != other for one, other in pairwise(states))


def check_step(found: sqlanon.Refresh, brute: EpochBrute, states: list[State]) -> None:
    """The counts of a refresh are those of the brute force."""
    assert found.epoch is not None and found.epoch.step is not None
    step, present = found.epoch.step, brute.world.present()
    assert step.held == brute.held()
    assert step.joined == len(states[-1].keys() - states[-2].keys())
    assert step.gone + step.withdrawn == len(states[-2].keys() - states[-1].keys())
    assert found.published == len(states[-1]) and found.records == len(brute.world.rows)
    assert found.suppressed >= len(present.keys() - states[-1].keys())


def check_nobody(brute: EpochBrute, states: list[State]) -> None:
    """Whoever follows every row finds for each history as many as the models ask for; so does a plain subtraction."""
    for keys in histories(states):
        assert brute.world.enough(brute.rows[key] for key in keys)
    for one, other in pairwise(states):
        if not brute.world.persons:  # rows are counted
            assert differences(one, other, brute.world.k) == 0


@pytest.mark.slow
def test_a_few_epochs_show_what_a_brute_force_shows() -> None:
    found = follow(Random(3), 1)
    assert found is not None
    check_nobody(*found[:2])


@pytest.mark.slow
@seeds(40, 8)
def test_a_stream_of_changes_is_shown_as_by_brute_force_and_singles_nobody_out(block: Block) -> None:
    moves = 0
    for seed in block:
        found = follow(Random(seed), 6)
        if found is not None:
            check_nobody(*found[:2])
            moves += found[2]
    assert enough(moves > 5)


@seeds(100, 50)
def test_long_streams_single_nobody_out_and_without_epochs_they_do(block: Block) -> None:
    """The brute force alone, so that streams can be long: what it shows is compared with the view above."""
    alone = moves = 0
    for seed in block:
        random = Random(seed)
        world = random_world(random)
        brute = EpochBrute(world)
        brute.begin()
        states, live = [brute.state()], [world.live()]
        for _ in range(40):
            world.change(random)
            live.append(world.live())
            brute.advance()
            states.append(brute.state())
            moves += states[-1] != states[-2]
        check_nobody(brute, states)
        alone += singled_out(live, world.k)
    assert alone > 100 * len(block) / 10 and moves > len(block)


def observed(steps: list[set[int]], values: dict[int, str], **asked: int) -> tuple[list[set[int]], Any]:
    """The groups, and what an observer sees of a class whose records come and go: his histories with their values."""
    world = EpochWorld({"a": "x"}, k=2, distinct=2, **asked)

    def rows(keys: set[int]) -> list[dict[str, Any]]:
        return [{"id": key, "q0": "a", "q1": 1, "s": values[key], "person": key} for key in sorted(keys)]

    world.rows = rows(steps[0])
    brute = EpochBrute(world)
    brute.begin()
    states, groups = [brute.state()], list(brute.groups)
    for keys in steps[1:]:
        world.rows = rows(keys)
        brute.advance()
        states.append(brute.state())
        groups += brute.groups
    seen: Counter[Any] = Counter()
    for key in {key for state in states for key in state}:
        seen[tuple(key in state for state in states), values[key]] += 1
    return [set(group) for group in groups], seen


@seeds(30, 10)
def test_values_of_a_group_may_be_anybodys_for_who_knows_who_came_and_left(block: Block) -> None:
    """The odds of two ways to assign the values of a group to its records stay what they were: both show the same."""
    looked = 0
    for seed in block:
        random = Random(seed)
        keys = range(random.randint(4, 7))
        steps = [{key for key in keys if random.random() < share} for share in (0.6, 0.8, 0.6, 0.9, 0.5)]
        asked = {"margin": random.choice((0, 1))}
        for listed in product("fc", repeat=len(keys)):
            values = dict(zip(keys, listed, strict=True))
            groups, seen = observed(steps, values, **asked)
            for group in groups:
                for one, other in combinations(sorted(group), 2):
                    swapped = values | {one: values[other], other: values[one]}
                    assert observed(steps, swapped, **asked)[1] == seen
                    looked += values[one] != values[other]
    assert enough(looked > 100)


@pytest.mark.slow
def test_newcomers_that_were_enough_and_not_diverse_never_come() -> None:
    """Two with one value, then one with another: were they shown, who came last would have the value that is alone."""
    world = EpochWorld({"a": "x"}, k=2, distinct=2)
    world.rows = [
        {"id": i, "q0": "a", "q1": i // 4, "s": s, "person": i} for i, s in enumerate(("f", "c", "f", "f"), 1)
    ]
    world.rows[3]["q1"] = 1
    world.rows[2]["q1"] = 1
    with duckdb.connect() as connection:
        write(connection, world)
        policy = sqlanon.Policy.from_dict(policy_of(world))
        sqlanon.anonymize(connection, policy).close()
        assert sum(shown(connection).values()) == 2
        world.rows.append({"id": 5, "q0": "a", "q1": 1, "s": "c", "person": 5})
        write(connection, world)
        pass_time(connection)
        sqlanon.refresh(connection, policy)
        assert (
            sum(shown(connection).values()) == 2
        )  # the two that failed in the first state stay away, and one is alone
        write(connection, replace(world, rows=world.rows[1:]))
        pass_time(connection)
        sqlanon.refresh(connection, policy)
        assert not shown(connection)  # one of the group is left, whatever it has


@pytest.mark.slow
@pytest.mark.parametrize("distinct", [0, 2])
def test_a_view_in_a_file_has_an_epoch_whatever_the_models_judge(tmp_path: Path, distinct: int) -> None:
    """DuckDB writes to one database in a transaction: nothing is decided in that of the view."""
    world = EpochWorld({"a": "x", "b": "x"}, k=3, distinct=distinct)
    world.rows = [{"id": i, "q0": "ab"[i % 2], "q1": 1, "s": "fc"[i % 2], "person": i} for i in range(1, 7)]
    path = tmp_path / "clinic.duckdb"
    policy = sqlanon.Policy.from_dict(policy_of(world, source=str(path)))
    with duckdb.connect(str(path)) as connection:
        write(connection, world)
    sqlanon.anonymize(None, policy).close()
    with duckdb.connect(str(path)) as connection:
        assert sum(shown(connection).values()) == 6
        world.rows += [row | {"id": row["id"] + 6} for row in world.rows]
        write(connection, world)
        pass_time(connection)
    found = sqlanon.refresh(None, policy)
    assert found.epoch is not None and found.epoch.step is not None and found.epoch.step.joined == 6


# -- the clock ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def clinic() -> Iterator[tuple[duckdb.DuckDBPyConnection, EpochWorld, sqlanon.Policy]]:
    """A view of one class of six records, k = 3."""
    world = EpochWorld({"a": "x", "b": "x"}, k=3)
    world.rows = [{"id": i, "q0": "a", "q1": 1, "s": "flu", "person": i} for i in range(1, 7)]
    with duckdb.connect() as connection:
        write(connection, world)
        policy = sqlanon.Policy.from_dict(policy_of(world))
        sqlanon.anonymize(connection, policy).close()
        yield connection, world, policy


Clinic = tuple[duckdb.DuckDBPyConnection, EpochWorld, sqlanon.Policy]


def test_within_an_epoch_a_refresh_leaves_the_view_as_it_is(clinic: Clinic) -> None:
    connection, world, policy = clinic
    world.rows = world.rows[:1]
    write(connection, world)
    found = sqlanon.refresh(connection, policy)
    assert found.epoch is not None and not found.epoch.over and not found.epoch.advanced
    assert found.published == sum(shown(connection).values()) == 6


@pytest.mark.slow
def test_a_dry_run_says_that_an_epoch_is_over_and_leaves_it(clinic: Clinic) -> None:
    connection, world, policy = clinic
    write(connection, replace(world, rows=[]))
    pass_time(connection)
    found = sqlanon.refresh(connection, policy, dry_run=True)
    assert found.epoch is not None and found.epoch.over and not found.epoch.advanced
    assert sum(shown(connection).values()) == 6
    found = sqlanon.refresh(connection, policy)
    assert found.epoch is not None and found.epoch.step is not None and found.epoch.step.withdrawn == 6
    assert not shown(connection)


@pytest.mark.slow
def test_epochs_that_nobody_refreshed_end_together(clinic: Clinic) -> None:
    connection, world, policy = clinic
    write(connection, replace(world, rows=[row | {"id": row["id"] + 6} for row in world.rows] + world.rows))
    pass_time(connection, 100)
    before = sqlanon.refresh(connection, policy).epoch
    again = sqlanon.refresh(connection, policy).epoch
    assert before is not None and again is not None
    assert before.advanced and not again.advanced and again.number == before.number
    assert sum(shown(connection).values()) == 12


@pytest.mark.slow
def test_of_two_sessions_at_once_one_ends_the_epoch(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    connection, world, policy = clinic
    write(connection, replace(world, rows=[row | {"id": row["id"] + 6} for row in world.rows] + world.rows))
    pass_time(connection)
    decide = epochs.decide
    others: list[sqlanon.Refresh] = []

    def slow(*given: Any, **options: Any) -> None:
        decide(*given, **options)
        monkeypatch.undo()
        others.append(sqlanon.refresh(connection, policy))

    monkeypatch.setattr(epochs, "decide", slow)
    found = sqlanon.refresh(connection, policy)
    assert [item.epoch.advanced for item in (found, *others) if item.epoch is not None] == [False, True]
    assert sum(shown(connection).values()) == 12


@pytest.mark.slow
def test_a_clock_that_went_back_holds_the_view_and_warns(clinic: Clinic) -> None:
    connection, world, policy = clinic
    write(connection, replace(world, rows=[]))
    pass_time(connection, -3)
    found = sqlanon.refresh(connection, policy)
    assert found.epoch is not None and found.epoch.back and not found.epoch.advanced
    assert sum(shown(connection).values()) == 6 and "clock" in found.warnings[0]


# -- the files of sql/epoch --------------------------------------------------------------------------------------------


def values(connection: duckdb.DuckDBPyConnection, name: str, columns: str, rows: str) -> None:
    named = ", ".join("stays" if c == "stays" else f"sqlanon_{c}" for c in columns.split())
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM (VALUES {rows}) AS listed ({named})")


def test_the_tables_of_their_heads_are_what_the_files_do() -> None:
    with duckdb.connect() as connection:
        values(connection, "fates", "record cohort stays part", "(1,1,1,3), (2,1,1,3), (3,1,0,2), (4,2,1,5), (5,2,0,4)")
        values(connection, "passing", "part", "(3)")
        query = bind("epoch/remaining.sql").sql("duckdb")
        assert sorted(connection.execute(query).fetchall()) == [(1,), (2,), (3,)]
    with duckdb.connect() as connection:
        values(connection, "fates", "record cohort stays", "(1,1,1), (2,1,0), (3,2,0)")
        values(connection, "shown", "record cohort", "(1,1), (4,3)")
        assert connection.execute(bind("epoch/counts.sql").sql("duckdb")).fetchall() == [(1, 1, 1, 0)]
    with duckdb.connect() as connection:
        values(connection, "was", "record person cohort", "(1,1,1), (2,2,1), (3,3,1)")
        values(connection, "shown", "record person cohort", "(1,1,7), (2,2,7)")
        query = bind("epoch/alone.sql", values={"k": 2}).sql("duckdb")
        assert connection.execute(query).fetchall() == [(1, 3)]


# -- planned faults, what is refused ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_view_that_lets_single_records_go_is_not_put_in_place(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, world, policy = clinic
    write(connection, replace(world, rows=world.rows[1:]))
    pass_time(connection)
    only = exp.select(exp.column(names.RECORD)).from_(names.FATES).where("stays = 1")
    monkeypatch.setattr(Cohorts, "remaining", lambda self: only)
    with pytest.raises(AuditError, match="small_classes"):
        sqlanon.refresh(connection, policy)
    assert sum(shown(connection).values()) == 6
    monkeypatch.undo()
    found = sqlanon.refresh(connection, policy)
    assert found.epoch is not None and found.epoch.step is not None and found.epoch.step.held == 1


@pytest.mark.slow
def test_a_view_that_admits_single_records_is_not_put_in_place(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    connection, world, policy = clinic
    write(connection, replace(world, rows=[*world.rows, world.rows[0] | {"id": 7, "person": 7}]))
    pass_time(connection)
    everybody = exp.select(exp.column(names.PART)).distinct().from_(names.NEWCOMERS)
    asked = Cohorts.passing
    monkeypatch.setattr(
        Cohorts,
        "passing",
        lambda self, relation, *, margin=0: everybody if relation.name == names.NEWCOMERS else asked(self, relation),
    )
    with pytest.raises(AuditError, match="small_classes"):
        sqlanon.refresh(connection, policy)
    assert sum(shown(connection).values()) == 6


@pytest.mark.slow
def test_a_refresh_does_not_plan_a_view_with_an_epoch_anew_by_itself(clinic: Clinic) -> None:
    connection, world, _ = clinic
    other = sqlanon.Policy.from_dict(policy_of(replace(world, k=2)))
    pass_time(connection)
    found = sqlanon.refresh(connection, other)
    assert found.due and found.reason == "policy" and not found.refreshed
    assert found.epoch is not None and not found.epoch.advanced and "--force" in found.warnings[0]
    assert sqlanon.refresh(connection, other, force=True).refreshed
    assert sqlanon.refresh(connection, other).reason is None


@pytest.mark.slow
def test_an_epoch_is_added_to_a_view_and_taken_from_it(clinic: Clinic) -> None:
    connection, world, policy = clinic
    plain = sqlanon.Policy.from_dict(policy_of(world, output={"live_view": "anon.v"}))
    found = sqlanon.refresh(connection, plain)
    assert found.refreshed and found.reason == "policy" and found.epoch is None
    tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'anon' ORDER BY 1"
    assert [name for (name,) in connection.execute(tables).fetchall()] == ["v", "v_frozen", "v_lookup_0"]
    found = sqlanon.refresh(connection, policy)
    assert found.refreshed and found.epoch is not None and not found.epoch.over
    assert len(connection.execute(tables).fetchall()) == 5


def test_a_model_of_dbt_has_no_epoch() -> None:
    policy = sqlanon.Policy.from_dict(policy_of(EpochWorld({"a": "x"}, k=3)))
    with pytest.raises(UnsupportedError, match="knows nothing of what it showed before"):
        refuse_release(policy)


@pytest.mark.slow
def test_a_new_plan_counts_whom_it_singles_out_beside_what_was_shown(clinic: Clinic) -> None:
    """Of six records one goes and one comes: both stand alone, and the five are a crowd."""
    connection, world, policy = clinic
    write(connection, replace(world, rows=[*world.rows[1:], world.rows[0] | {"id": 7, "person": 7}]))
    found = sqlanon.refresh(connection, policy, force=True)
    assert found.refreshed and any("single out 2 of 7 records" in warning for warning in found.warnings)
    again = sqlanon.refresh(connection, policy, force=True)
    assert not any("single out" in warning for warning in again.warnings)


@pytest.mark.slow
def test_the_command_ends_an_epoch_and_says_what_it_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = EpochWorld({"a": "x"}, k=3)
    world.rows = [{"id": i, "q0": "a", "q1": 1, "s": "flu", "person": i} for i in range(1, 7)]
    document = policy_of(world, source="clinic.duckdb")
    (tmp_path / "policy.json").write_text(json.dumps(document))
    monkeypatch.chdir(tmp_path)

    def state(rows: list[dict[str, Any]]) -> None:
        with duckdb.connect("clinic.duckdb") as connection:
            write(connection, replace(world, rows=rows))
            if rows != world.rows:
                pass_time(connection)

    def refresh(*options: str) -> Any:
        done = CliRunner().invoke(main, ["refresh", "policy.json", *options])
        assert done.exit_code == 0, done.output
        return done

    state(world.rows)
    ran = CliRunner().invoke(main, ["run", "policy.json"])
    assert ran.exit_code == 0 and "does not change by itself" in ran.stderr
    assert json.loads(refresh("--json").stdout)["epoch"]["over"] is False
    assert "It is left as it is." in refresh().stdout
    state(world.rows[1:])
    found = json.loads(refresh("--json", "--dry-run").stdout)
    assert found["epoch"]["over"] and not found["epoch"]["advanced"] and "held" not in found["epoch"]
    found = json.loads(refresh("--json").stdout)
    assert {key: found["epoch"][key] for key in ("length", "advanced", "joined", "gone", "withdrawn", "held")} == {
        "length": "1 hour", "advanced": True, "joined": 0, "gone": 0, "withdrawn": 0, "held": 1,
    }  # fmt: skip
    assert (found["published"], found["records"], found["suppressed"]) == (6, 5, 0)
    state(world.rows[4:])
    printed = refresh().stdout
    assert "Its epoch has ended: 0 records came, 0 went, 6 were withdrawn with their groups, 0 are shown" in printed
    assert "0 records published; of the 2 records of the source 2 are not shown" in printed


@pytest.mark.slow
def test_explain_shows_what_is_stored(clinic: Clinic) -> None:
    connection, _, policy = clinic
    with sqlanon.plan(connection, replace(policy, if_exists="replace")) as plan:
        assert policy.output is not None
        text = live_view_sql(plan, policy.output)
    assert names.COHORT in text and "DENSE_RANK" in text


@pytest.mark.slow
def test_records_need_a_key(clinic: Clinic) -> None:
    connection, world, policy = clinic
    connection.execute("DROP VIEW anon.v; DROP SCHEMA anon CASCADE")
    write(connection, replace(world, rows=[*world.rows, world.rows[0]]))
    with pytest.raises(InputError, match="'id' is no key of the records: 1 of 7"):
        sqlanon.anonymize(connection, policy)


@pytest.mark.slow
def test_a_key_that_is_given_twice_later_is_nobody(clinic: Clinic) -> None:
    connection, world, policy = clinic
    write(connection, replace(world, rows=[*world.rows, world.rows[0]]))
    pass_time(connection)
    found = sqlanon.refresh(connection, policy)
    assert found.epoch is not None and found.epoch.step is not None and found.epoch.step.held == 1


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"output": {"table": "anon.v", "epoch": "1 hour"}}, "output.epoch"),
        ({"output": {"file": "x.parquet", "margin": 2}}, "output.margin"),
        ({"output": {"live_view": "anon.v", "margin": 2}}, "output.margin"),
        ({"output": {"live_view": "anon.v", "record": "id"}}, "output.record"),
        ({"output": {"live_view": "anon.v", "epoch": "1 hour"}}, "output.record"),
        ({"output": {"live_view": "anon.v", "epoch": "an hour", "record": "id"}}, "output.epoch"),
        ({"output": {"live_view": "anon.v", "epoch": "0 hours", "record": "id"}}, "output.epoch"),
        ({"output": {"live_view": "anon.v", "epoch": 3600, "record": "id"}}, "output.epoch"),
        ({"output": {"live_view": "anon.v", "epoch": "1 hour", "record": "q0"}}, "output.record"),
        ({"output": {"live_view": "anon.v", "epoch": "1 hour", "record": "id", "margin": -1}}, "output.margin"),
        ({"privacy": [{"type": "delta_presence", "min": 0, "max": 1, "subset": {"column": "f"}}]}, "privacy[0].type"),
        ({"columns": {"s": {"role": "sensitive", "models": [{"type": "t_closeness", "t": 0.5}]}}}, "models[0].type"),
        ({"privacy": [{"type": "k_map", "k": 2, "population": 100}]}, "privacy"),
    ],
)
def test_what_cannot_be_had_with_an_epoch_is_refused_before_any_work(changes: dict[str, Any], key: str) -> None:
    document = policy_of(EpochWorld({"a": "x"}, k=3))
    columns = document["columns"] | changes.pop("columns", {})
    with pytest.raises(PolicyError) as caught:
        sqlanon.Policy.from_dict({**document, "columns": columns, **changes})
    assert any(fault.key.endswith(key) for fault in caught.value.faults), caught.value.faults


def test_a_policy_with_an_epoch_is_written_as_it_was_read() -> None:
    policy = sqlanon.Policy.from_dict(policy_of(EpochWorld({"a": "x"}, k=3, margin=2)))
    assert sqlanon.Policy.from_dict(policy.to_dict()) == policy
    assert policy.output == sqlanon.Output.live_view("anon.v", epoch="1 hour", margin=2, record="id")
