"""A live view that is renewed keeps what it promised: by brute force over the records of all its states."""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from effort import Block, enough, is_full, seeds, spread

import sqlanon
from sqlanon.errors import InputError, NoSolutionError

Row = dict[str, Any]
OPTIONS: list[dict[str, int]] = [
    {"coarser_after": 2, "hold": 2, "margin": 1},
    {"margin": 1},
    {"hold": 1},
    {"coarser_after": 3},
    {},
    {"coarser_after": 2, "hold": 3},
]
CITIES = {"aa": ["a*", "*"], "ab": ["a*", "*"], "ba": ["b*", "*"], "bb": ["b*", "*"], "cc": ["c*", "*"]}


@dataclass
class Stream:
    """A source that changes, and all states of its view: record -> the row that was shown, and its group.

    Attributes:
        values: the policy asks for two values of ``s`` in each class.
        persons: persons are counted, each with one or two records.
        finest: the levels below which a plan may not go: they change from plan to plan.
    """

    random: Random
    connection: duckdb.DuckDBPyConnection
    options: dict[str, int]
    values: bool
    persons: bool
    k: int = 3
    rows: list[Row] = field(default_factory=list)
    made: int = 0
    finest: tuple[int, int] = (0, 0)
    states: list[dict[int, Row]] = field(default_factory=list)
    sources: list[dict[int, Row]] = field(default_factory=list)
    others: dict[str, Any] = field(default_factory=dict)

    def policy(self, **changes: Any) -> sqlanon.Policy:
        age, city = self.finest
        columns = {
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 10, "fanouts": [2]}}},
            "city": {"role": "quasi_identifier", "hierarchy": {"levels": CITIES}},
            "s": {
                "role": "sensitive",
                "hierarchy": {"suppress": {}},
                "models": [{"type": "distinct_l_diversity", "l": 2}],
            },
        }
        columns["age"]["min_level"], columns["city"]["min_level"] = age, city
        if not self.values:
            columns["s"] = {"role": "keep"}
        document = {
            "table": "t", "undeclared": "drop", "uncovered": "suppress", "columns": columns, "suppression_limit": 0.6,
            "privacy": [{"type": "k_anonymity", "k": self.k}], **({"entity": "person"} if self.persons else {}),
            "output": {"live_view": "anon.v", "epoch": "1 hour", "record": "id", **self.options},
        }  # fmt: skip
        return sqlanon.Policy.from_dict({**document, **self.others, **changes})

    def arrive(self, some: int) -> None:
        for _ in range(some):
            self.made += 1
            person = self.made - self.random.choice((0, 0, 1))
            age, city = self.random.choice((20, 21, 35, 36, 50, 71)), self.random.choice(list(CITIES))
            s = self.random.choice(("flu", "cold", "gout"))
            self.rows.append({"id": self.made, "age": age, "city": city, "s": s, "person": person})

    def change(self) -> None:
        share = self.random.choice((0.0, 0.05, 0.15, 0.3))
        self.rows = [row for row in self.rows if self.random.random() > share]
        for row in self.random.sample(self.rows, min(len(self.rows), self.random.choice((0, 0, 1, 3)))):
            row["age"] = self.random.choice((20, 35, 71))
        self.arrive(self.random.choice((0, 1, 5, 14)))

    def write(self) -> None:
        run = self.connection.execute
        run("CREATE TABLE IF NOT EXISTS t (id BIGINT, age INTEGER, city VARCHAR, s VARCHAR, person BIGINT)")
        run("DELETE FROM t")
        if self.rows:
            self.connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", [[*row.values()] for row in self.rows])

    def note(self) -> None:
        """Keep what is shown, and check that the view shows it and nothing else."""
        found = self.connection.execute(
            "SELECT age, city, s, sqlanon_record, sqlanon_person FROM anon.v_shown"
        ).fetchall()
        state = {key: {"age": str(age), "city": city, "s": s, "person": person} for age, city, s, key, person in found}
        assert len(state) == len(found)
        assert Counter(self.connection.execute("SELECT * FROM anon.v").fetchall()) == Counter(row[:3] for row in found)
        self.states.append(state)
        self.sources.append({row["id"]: dict(row) for row in self.rows})

    def next_state(self, *, renew: bool = False) -> sqlanon.Refresh:
        self.write()
        if not renew:
            moved = "UPDATE anon.v_frozen SET value = CAST(CAST(value AS BIGINT) - 1 AS VARCHAR) WHERE name = 'number'"
            self.connection.execute(moved)
        found = sqlanon.refresh(self.connection, self.policy(), renew=renew)
        self.note()
        assert found.epoch is not None and found.epoch.step is not None
        came = self.states[-1].keys() - self.states[-2].keys()
        never = self.sources[-1].keys() - {key for state in self.states for key in state}
        assert self.values or found.epoch.waiting == len(never), "who was never shown may come"
        assert (found.epoch.step.joined, found.published) == (len(came), len(self.states[-1]))
        return found


def generalizations(age: int, city: str) -> set[tuple[str, str]]:
    ages = {str(age)} | {f"[{age // w * w}, {age // w * w + w})" for w in (10, 20)} | {"*"}
    return {(one, other) for one in ages for other in (city, *CITIES[city])}


def class_of(row: Row) -> tuple[str, str]:
    return row["age"], row["city"]


def check(stream: Stream) -> None:
    """What is promised of all states together, and that rows were true when they came."""
    states = stream.states

    def enough_of(rows: list[Row]) -> bool:
        people = {row["person"] for row in rows} if stream.persons else rows
        return len(people) >= stream.k and (not stream.values or len({row["s"] for row in rows}) >= 2)

    first: dict[int, tuple[int, Row]] = {}
    for now, state in enumerate(states):
        classes: dict[Any, list[Row]] = defaultdict(list)
        for key, row in state.items():
            began, as_it_was = first.setdefault(key, (now, row))
            assert row == as_it_was, "a row that is shown does not change"
            assert all(key in states[between] for between in range(began, now)), "who left does not come back"
            source = stream.sources[began][key]
            assert source["s"] == row["s"] and class_of(row) in generalizations(source["age"], source["city"])
            hold = stream.options.get("hold")
            if hold is not None and now - began >= hold:
                assert any(true_at(stream, key, as_it_was, now - back) for back in range(hold + 1)), "held too long"
            classes[class_of(row)].append(row)
        assert all(map(enough_of, classes.values()))
    paths: dict[Any, list[Row]] = defaultdict(list)
    for key, (_, row) in first.items():
        paths[tuple(class_of(state[key]) if key in state else None for state in states)].append(row)
    assert all(map(enough_of, paths.values())), "a history singles somebody out"
    for one in range(len(states)):
        for other in range(one):
            for more, less in ((one, other), (other, one)):
                differ: dict[Any, list[Row]] = defaultdict(list)
                for key in states[more].keys() - states[less].keys():
                    differ[class_of(states[more][key])].append(states[more][key])
                assert all(map(enough_of, differ.values())), "a difference singles somebody out"


def true_at(stream: Stream, key: int, row: Row, now: int) -> bool:
    """Whether the source had a record as it is shown; the finest class that it had when it came tells."""
    source = stream.sources[now].get(key)
    return source is not None and class_of(row) in generalizations(source["age"], source["city"])


@pytest.mark.slow
@pytest.mark.parametrize("counted", ["records", "values", "persons"])
@seeds(9, size=3)
def test_whoever_has_all_states_singles_nobody_out_across_renewals(block: Block, counted: str) -> None:
    renewed = came = coarser = 0
    for seed in block:
        random = Random(seed)
        with duckdb.connect() as connection:
            options = OPTIONS[seed % len(OPTIONS)]
            stream = Stream(random, connection, options, counted == "values", counted == "persons")
            stream.finest = random.choice(((0, 0), (1, 0), (1, 1)))
            stream.arrive(50)
            stream.write()
            try:
                sqlanon.anonymize(connection, stream.policy()).close()
            except NoSolutionError:
                continue
            stream.note()
            for number in range(9):
                stream.change()
                if number in (3, 6):
                    stream.finest = random.choice(((0, 0), (2, 1), (1, 2), (0, 2)))
                    before = {class_of(row) for row in stream.states[-1].values()}
                    found = stream.next_state(renew=True)
                    assert found.refreshed and found.epoch is not None and found.epoch.step is not None
                    renewed += 1
                    came += found.epoch.step.joined
                    coarser += bool({class_of(row) for row in stream.states[-1].values()} - before)
                else:
                    stream.next_state()
            check(stream)
            nodes = connection.execute("SELECT value FROM anon.v_frozen WHERE name = 'nodes'").fetchone()
            used = {name for at in json.loads(nodes[0] if nodes else "[]") if at for name in at.values()}
            tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'anon'").fetchall()
            assert {name for (name,) in tables if "lookup" in name} == used, "lookups that nobody needs are gone"
    assert enough(renewed > 2 and came > 5 and coarser > 0)


def small(connection: duckdb.DuckDBPyConnection, **options: int) -> Stream:
    """A view of three records of one age and one town, k = 3."""
    stream = Stream(Random(1), connection, options, values=False, persons=False)
    stream.rows = [{"id": i, "age": 20, "city": "aa", "s": "flu", "person": i} for i in range(1, 4)]
    stream.write()
    sqlanon.anonymize(connection, stream.policy()).close()
    stream.note()
    return stream


@pytest.mark.slow
def test_who_is_shown_stays_at_the_old_levels_and_newcomers_come_at_the_new_ones(tmp_path: Any) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        stream = small(connection)
        assert {class_of(row) for row in stream.states[0].values()} == {("20", "aa")}
        new = [{"id": i, "age": 50 + i, "city": ("aa", "ab")[i % 2], "s": "flu", "person": i} for i in range(4, 9)]
        stream.rows += new
        assert stream.next_state().due, "five of eight are not shown"
    source = str(tmp_path / "t.duckdb")
    stream.finest, stream.others = (1, 1), {"source": source}
    with duckdb.connect(source) as connection:
        left = sqlanon.refresh(connection, stream.policy())
        assert left.reason == "policy" and not left.refreshed and "--renew" in left.warnings[0]
    found = sqlanon.refresh(None, stream.policy(), renew=True)
    assert found.refreshed and found.levels is not None and found.levels["city"] == 1 and not found.warnings
    with duckdb.connect(source) as stream.connection:
        stream.note()
        check(stream)
        assert {class_of(stream.states[-1][key]) for key in (1, 2, 3)} == {("20", "aa")}
        assert {stream.states[-1][row["id"]]["city"] for row in new} == {"a*"}
        stream.rows = stream.rows[3:]
        stream.write()
        stream.next_state()
        assert len(stream.states[-1]) == 5, "the old group has left, and its place is judged by its own lookups"
        again = sqlanon.refresh(stream.connection, stream.policy(), renew=True)
        assert again.refreshed and again.reason == "forced"
        stream.note()
        check(stream)


@pytest.mark.slow
@pytest.mark.parametrize("coarser_after", [None, 2])
def test_a_renewal_is_the_same_however_the_values_of_a_group_are_assigned(coarser_after: int | None) -> None:
    options = {} if coarser_after is None else {"coarser_after": coarser_after}
    states = set()
    assignments = [(0, *others) for others in combinations(range(1, 6), 2)]  # without 0: the two values changed over
    for flu in assignments if is_full() else spread(assignments, 4):
        with duckdb.connect() as connection:
            stream = Stream(Random(1), connection, options, values=True, persons=False)
            stream.others = {"suppression_limit": 0}
            values = ["flu" if i in flu else "gout" for i in range(6)]
            stream.rows = [
                {"id": i, "age": 20, "city": "aa" if i < 3 else "ab", "s": value, "person": i}
                for i, value in enumerate(values)
            ]
            stream.write()
            stream.finest = 0, 1
            sqlanon.anonymize(connection, stream.policy()).close()
            stream.note()
            new = [*zip(("ba", "ba", "ba", "ba", "cc"), ("flu", "gout", "flu", "gout", "flu"), strict=True)]
            stream.rows += [
                {"id": 10 + i, "age": 20, "city": city, "s": s, "person": i} for i, (city, s) in enumerate(new)
            ]
            stream.others, stream.finest = {"suppression_limit": 0.1}, (0, 0)
            stream.next_state(renew=True)
            shown = [Counter((row["age"], row["city"], row["s"]) for row in state.values()) for state in stream.states]
            states.add(tuple(frozenset(counted.items()) for counted in shown))
    assert len(states) == 1
    [(before, after)] = states
    assert {city for (_, city, _), _ in before} == {"a*"} and {city for (_, city, _), _ in after} == {"a*", "ba"}


@pytest.mark.slow
def test_newcomers_of_rare_classes_come_together_and_rows_are_held_no_longer_than_asked() -> None:
    with duckdb.connect() as connection:
        stream = small(connection, coarser_after=2, hold=1)
        cities = {4: "ba", 5: "bb", 6: "cc"}
        stream.rows += [{"id": i, "age": 20, "city": cities[i], "s": "flu", "person": i} for i in cities]
        stream.rows += [{"id": i, "age": 20, "city": "aa", "s": "flu", "person": i} for i in range(7, 10)]
        came = stream.next_state().epoch
        assert came is not None and came.step is not None and came.step.joined == 6
        assert {stream.states[-1][key]["city"] for key in cities} == {"*"}
        assert {stream.states[-1][key]["city"] for key in (7, 8, 9)} == {"aa"}
        del stream.rows[0]
        stream.next_state()
        stream.next_state()
        stream.next_state()
        assert 1 not in stream.states[-1]
        check(stream)


@pytest.mark.slow
@pytest.mark.parametrize("values", [False, True])
def test_a_renewal_may_have_the_columns_and_models_in_another_order(values: bool) -> None:
    with duckdb.connect() as connection:
        stream = Stream(Random(1), connection, {}, values, persons=False)
        stream.arrive(40)
        stream.write()
        given = dict(stream.policy().to_dict()["columns"])
        if values:
            given["person"] = {**given["s"], "models": [{"type": "distinct_l_diversity", "l": 3}]}
        stream.others = {"columns": given, "accept": ["person"] if values else []}
        sqlanon.anonymize(connection, stream.policy()).close()
        texts = "SELECT sqlanon_record, CAST(age AS VARCHAR), city, s FROM anon.v_shown"
        before = set(connection.execute(texts).fetchall())
        stream.others["columns"] = dict(reversed(given.items()))
        stream.arrive(20)
        stream.write()
        assert sqlanon.refresh(connection, stream.policy(), renew=True).refreshed
        assert [name for name, *_ in connection.execute("DESCRIBE anon.v").fetchall()] == [*reversed(given)]
        after = set(connection.execute(texts).fetchall())
        assert before < after and before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"privacy": [{"type": "k_anonymity", "k": 2}]}, "models"),
        ({"privacy": [{"type": "k_anonymity", "k": 4}]}, "models"),
        ({"entity": "person"}, "entity"),
        ({"table": "u"}, "source"),
        ({"columns": {"age": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}}, "columns"),
        ({"record": "person"}, "record"),
    ],
)
def test_a_renewal_that_could_not_keep_the_promise_is_refused(other: dict[str, Any], said: str) -> None:
    with duckdb.connect() as connection:
        stream = small(connection)
        connection.execute("CREATE TABLE u AS SELECT * FROM t")
        output = {"live_view": "anon.v", "epoch": "1 hour", "record": other.pop("record", "id")}
        with pytest.raises(InputError, match=f"other {said} than") as caught:
            sqlanon.refresh(connection, stream.policy(output=output, **other), renew=True)
        assert "--force" in (caught.value.hint or "")
        stream.note()
        assert stream.states[0] == stream.states[1]


def earlier(connection: duckdb.DuckDBPyConnection) -> Stream:
    """A view that an earlier build wrote, after two states: a group of four is shown, another has left."""
    connection.execute((Path(__file__).parent / "earlier_live_view.sql").read_text(encoding="utf-8"))
    stream = Stream(Random(1), connection, {"margin": 1}, values=False, persons=False, finest=(1, 0))
    rows = connection.execute("SELECT * FROM t ORDER BY id").fetchall()
    stream.rows = [dict(zip(("id", "age", "city", "s", "person"), row, strict=True)) for row in rows]
    left = {i: {"id": i, "age": 30 + i, "city": "ba", "s": "cold", "person": i} for i in range(5, 9)}
    stream.states.append({i: {"age": "[30, 40)", "city": "ba", "s": "cold", "person": i} for i in left})
    stream.sources.append(left)
    stream.note()
    for key, row in stream.states[1].items():
        stream.states[0][key], left[key] = row, stream.sources[1][key]
    return stream


@pytest.mark.slow
@pytest.mark.parametrize("renewing", [False, True])
def test_a_view_of_an_earlier_build_goes_on_and_keeps_what_it_promised(renewing: bool) -> None:
    with duckdb.connect() as connection:
        stream = earlier(connection)
        looked = sqlanon.refresh(connection, stream.policy(), dry_run=True)
        assert (looked.reason, looked.refreshed) == ("earlier", False) and "Refresh it once" in looked.warnings[0]
        again = [{"id": i, "age": 30 + i, "city": "ba", "s": "cold", "person": i} for i in range(5, 9)]
        stream.rows = [row for row in stream.rows if row["id"] != 2]  # one of four, who cannot go alone
        stream.rows += [*again, *({"id": i, "age": 21, "city": "bb", "s": "flu", "person": i} for i in range(20, 24))]
        step = stream.next_state(renew=renewing).epoch
        assert step is not None and step.step is not None and step.step.held == 1
        came = stream.states[2].keys() - stream.states[1].keys()
        assert came == {*range(20, 24), *(range(10, 14) if renewing else ())}, (
            "5 to 8 have left; 40 is in no old lookup"
        )
        assert {1, 2, 3, 4} <= stream.states[2].keys()
        stream.finest = (2, 1)
        stream.rows += [{"id": i, "age": 60, "city": "ab", "s": "flu", "person": i} for i in range(30, 35)]
        stream.next_state(renew=True)
        assert {row["city"] for row in stream.states[3].values()} > {"aa", "a*"}
        stream.rows = stream.rows[5:]
        stream.next_state()
        check(stream)


@pytest.mark.slow
def test_another_policy_does_not_bring_a_view_of_an_earlier_build_up_to_date() -> None:
    with duckdb.connect() as connection:
        stream = earlier(connection)
        facts = connection.execute("SELECT * FROM anon.v_frozen").fetchall()
        stream.k = 2
        found = sqlanon.refresh(connection, stream.policy())
        assert (found.reason, found.refreshed) == ("earlier", False) and "Refresh it once" in found.warnings[0]
        with pytest.raises(InputError, match="cannot be renewed by this policy yet"):
            sqlanon.refresh(connection, stream.policy(), renew=True)
        assert connection.execute("SELECT * FROM anon.v_frozen").fetchall() == facts
        assert sqlanon.refresh(connection, stream.policy(), force=True).refreshed


@pytest.mark.slow
def test_a_view_whose_facts_are_not_whole_is_planned_anew_by_force_alone() -> None:
    with duckdb.connect() as connection:
        stream = small(connection)
        connection.execute("DELETE FROM anon.v_frozen WHERE name = 'nodes'")
        found = sqlanon.refresh(connection, stream.policy())
        assert (found.reason, found.refreshed) == ("unreadable", False) and "--renew" not in found.warnings[0]
        with pytest.raises(InputError, match="no live view with an epoch that could be renewed"):
            sqlanon.refresh(connection, stream.policy(), renew=True)
        assert sqlanon.refresh(connection, stream.policy(), force=True).refreshed
        assert sqlanon.refresh(connection, stream.policy()).reason is None


@pytest.mark.slow
def test_what_cannot_be_renewed_says_what_to_do_instead() -> None:
    with duckdb.connect() as connection:
        stream = small(connection)
        plain = stream.policy(output={"live_view": "anon.v"})
        with pytest.raises(InputError, match="no promise to keep"):
            sqlanon.refresh(connection, plain, renew=True)
        with pytest.raises(InputError, match="to forget that"):
            sqlanon.refresh(connection, stream.policy(), renew=True, force=True)
        missing = stream.policy(output={"live_view": "anon.w", "epoch": "1 hour", "record": "id"})
        with pytest.raises(InputError, match="no live view with an epoch"):
            sqlanon.refresh(connection, missing, renew=True)
