"""Columns that travel with a quasi-identifier (``with``): blank where they would say more than it does."""

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import brute
import duckdb
import pytest
from effort import Block, enough, seeds
from random_cases import random_tree
from tables import text_table

import sqlanon
from sqlanon.core.compiler import travelling
from sqlanon.core.compiler.travelling import TravellingColumn

REGIONS = [f"r{i}" for i in range(8)]
TREE = {name: [f"g{i // 2}", f"h{i // 4}", "*"] for i, name in enumerate(REGIONS)}
ROWS = [
    (REGIONS[i % 8], str(i // 8 % 5), f"d{i % 8 // 2}", None if i % 8 >= 6 else "s", str(i % 3)) for i in range(400)
]
NAMES = ["region", "age", "district", "state", "note"]


def document(k: int, **keys: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "region": {"role": "quasi_identifier", "hierarchy": {"levels": TREE}},
        "age": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
        "district": {"role": "keep", "with": "region"},
        "state": {"role": "keep", "with": "region"},
        "note": {"role": "keep"},
    }
    return {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": k}], **keys}


def district(**travels: Any) -> dict[str, Any]:
    """The columns of ``document`` with another ``with`` of the district."""
    return {**document(5)["columns"], "district": {"role": "keep", "with": {"column": "region", **travels}}}


@pytest.fixture
def people(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    text_table(connection, NAMES, ROWS)
    return connection


def policy_of(k: int, **keys: Any) -> sqlanon.Policy:
    return sqlanon.Policy.from_dict(document(k, **keys))


@pytest.mark.slow
@pytest.mark.parametrize("k, level, shown", [(5, 0, True), (15, 1, True), (30, 2, False), (201, 3, False)])
def test_it_is_published_up_to_the_level_that_it_follows_from(
    people: duckdb.DuckDBPyConnection, k: int, level: int, shown: bool
) -> None:
    with sqlanon.anonymize(people, policy_of(k)) as release:
        rows = release.to_arrow().to_pylist()
        assert release.plan.levels["region"] == level
        assert release.plan.travelling["district"].level == 1
        wanted = {"d0", "d1", "d2", "d3"} if shown else {None}
        assert {row["district"] for row in rows} == wanted
        assert {row["state"] for row in rows} == ({"s", None} if shown else {None})
        said = [text for text in release.plan.all_warnings if "travels with" in text]
        assert len(said) == (0 if shown else 2)
        assert all("blank in 400 of 400 published records" in text for text in said)


def random_world(rng: random.Random) -> tuple[list[tuple[Any, ...]], brute.Tree, brute.Tree, str]:
    """Rows of two quasi-identifiers and a column that mostly follows from a level of the first."""
    pool: list[brute.Text] = rng.sample([None, "", "NULL", "*", "a", "b", "é", "c"], rng.randint(2, 6))
    nulls = rng.choice(["extended", "extended", "basic"])
    tree, other = random_tree(rng, pool, rng.choice(["error", "error", "top"])), brute.Tree([("x", "*"), ("y", "*")])
    level = rng.randrange(tree.height)
    value_of: dict[Any, Any] = defaultdict(lambda: rng.choice([None, "", "u", "v", "w"]))
    rows = []
    for _ in range(rng.choice([10, 40, 80])):
        value = rng.choice(pool)
        beside = value_of[tree.generalize(value, level)]
        rows.append((value, rng.choice("xy"), rng.choice(["z", beside]) if rng.random() < 0.01 else beside))
    return rows, tree, other, nulls


def highest_level(rows: list[tuple[Any, ...]], tree: brute.Tree) -> int:
    """The highest level of whose texts each holds one value; -1 where the values themselves do not."""
    found = -1
    for level in range(tree.height):
        held = defaultdict(set)
        for value, _, beside in rows:
            held[tree.generalize(value, level)].add(beside)
        if max(map(len, held.values()), default=1) > 1:
            return found
        found = level
    return found


TRANSFORMATIONS = [None, {"type": "local_recoding", "nodes": 4}, {"type": "patterns"}]


@pytest.mark.slow
@pytest.mark.parametrize("transformation", TRANSFORMATIONS, ids=["full_domain", "local_recoding", "patterns"])
@seeds(20, 20)
def test_no_class_is_split_and_nothing_is_blank_without_need(block: Block, transformation: dict[str, Any]) -> None:
    met = blank = shown = refused = 0
    for seed in block:
        rng = random.Random(seed)
        rows, tree, other, nulls = random_world(rng)
        taking_part = [row for row in rows if nulls == "extended" or row[0] is not None]
        levelled = {
            name: {"role": "quasi_identifier", "hierarchy": {"levels": {row[0]: list(row[1:]) for row in of.rows}}}
            for name, of in (("a", tree), ("b", other))
        }
        levelled["a"]["uncovered"] = tree.uncovered
        asked = {
            "table": "t",
            "columns": {**levelled, "c": {"role": "keep", "with": "a"}},
            "accept": ["c"],
            "privacy": [{"type": "k_anonymity", "k": rng.choice([2, 3, 5])}],
            "suppression_limit": 0.4,
            "nulls": nulls,
        } | ({} if transformation is None else {"transformation": transformation})
        with duckdb.connect() as connection:
            text_table(connection, ["a", "b", "c"], rows)
            level = highest_level(taking_part, tree)
            try:
                release = sqlanon.anonymize(connection, asked)
            except sqlanon.NoSolutionError:
                continue
            except sqlanon.InputError as error:
                assert level < 0 and "does not follow from 'a'" in error.message, seed
                refused += 1
                continue
            with release:
                assert level >= 0, seed
                released = list(zip(*release.to_arrow().to_pydict().values(), strict=True))
                met += 1
                held = defaultdict(set)
                for a, _, c in released:
                    held[a].add(c)
                assert max(map(len, held.values()), default=1) <= 1, seed  # so no class is split
                k = asked["privacy"][0]["k"]
                assert min(Counter(released).values(), default=k) >= k, seed
                blanks = sum(c is None for *_, c in released)
                blank, shown = blank + blanks, shown + len(released) - blanks
                if transformation is None:
                    originals = Counter(c if release.plan.node[0] <= level else None for *_, c in taking_part)
                    assert not Counter(c for *_, c in released) - originals, seed
    assert enough(met > 5 and blank and shown and refused)


def test_two_rules_with_one_text_tell_their_records_not_apart(connection: duckdb.DuckDBPyConnection) -> None:
    """Of 20 records of x each class is large enough at level 0, where x reads like level 1 of y and z."""
    rows = [("x", "1", "dx")] * 20 + [(v, str(i), "dyz") for i in range(2) for v in ("y", "z")] * 3
    text_table(connection, ["region", "age", "district"], rows)
    tree = {"x": ["w", "*"], "y": ["x", "*"], "z": ["x", "*"]}
    columns = {**{name: document(5)["columns"][name] for name in ("region", "age", "district")}}
    columns["region"] = {"role": "quasi_identifier", "hierarchy": {"levels": tree}}
    columns["district"] = {"role": "keep", "with": {"column": "region", "level": 0}}
    nodes = [{"region": 0, "age": 0}, {"region": 1, "age": 1}]
    recoding = {"type": "local_recoding", "nodes": nodes, "hold": 0}  # chance would suppress some
    asked = document(5, columns=columns, transformation=recoding, suppression_limit=1)
    with sqlanon.anonymize(connection, asked) as release:
        rows = release.to_arrow().to_pylist()
        assert {row["region"] for row in rows} == {"x"} and len(rows) == 32
        assert {row["district"] for row in rows} == {None}
        assert release.plan.travelling["district"].level == travelling.NOWHERE


@pytest.mark.parametrize("transformation", TRANSFORMATIONS[:2], ids=["full_domain", "local_recoding"])
@pytest.mark.slow
def test_the_audit_finds_a_column_that_splits_classes(
    people: duckdb.DuckDBPyConnection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    transformation: dict[str, Any] | None,
) -> None:
    monkeypatch.setattr(TravellingColumn, "value", lambda self, value, *_: value)
    keys: dict[str, Any] = {"output": {"file": str(tmp_path / "r.parquet")}}
    keys |= {} if transformation is None else {"transformation": transformation}
    with pytest.raises(sqlanon.AuditError, match="companions of region"):
        sqlanon.anonymize(people, policy_of(30, **keys)).close()


def test_what_does_not_follow_is_refused_with_counts_and_a_cure(connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, NAMES, [*ROWS, ("r0", "1", "d3", "s", "1"), ("r7", "1", None, None, "1")])
    with pytest.raises(sqlanon.InputError) as caught:
        sqlanon.anonymize(connection, policy_of(5))
    assert "'district' does not follow from 'region': 2 of its values, with 102 records" in caught.value.message
    assert "make 'district' a quasi-identifier" in caught.value.hint


def test_a_stated_level_is_checked(people: duckdb.DuckDBPyConnection) -> None:
    with sqlanon.plan(people, policy_of(15, columns=district(level=0))) as plan:
        assert plan.travelling["district"].level == 0
    with pytest.raises(sqlanon.InputError, match="at level 2: 2 of its values, with 400 records") as caught:
        sqlanon.plan(people, policy_of(15, columns=district(level=2)))
    assert "say level: 1" in caught.value.hint
    with pytest.raises(sqlanon.InputError, match="which has 4 levels"):
        sqlanon.plan(people, policy_of(15, columns=district(level=9)))


WRONG: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "This is no quasi-identifier": ({"role": "keep", "with": "note"}, {}),
    "role drop does not travel": ({"role": "drop", "with": "region"}, {}),
    "The quasi-identifier is missing": ({"role": "keep", "with": {"level": 1}}, {}),
    "names no quasi-identifier": ({"role": "keep", "with": {"column": 7}}, {}),
    "with.level": ({"role": "keep", "with": {"column": "region", "level": -1}}, {}),
    "Patterns keep or suppress a column": (
        {"role": "keep", "with": {"column": "region", "level": 0}}, {"transformation": {"type": "patterns"}},
    ),
    "take the place of 'region'": ({"role": "keep", "with": "region"}, {"publish": {"region": {"as": "low"}}}),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_faults_of_the_policy(message: str) -> None:
    column, keys = WRONG[message]
    with pytest.raises(sqlanon.PolicyError, match=message):
        policy_of(5, columns={**document(5)["columns"], "district": column}, **keys)


@pytest.mark.parametrize("travels", ["region", sqlanon.core.policy.facts.Travels("region", 1)])
def test_a_policy_of_constructors_is_that_of_a_file(travels: Any) -> None:
    read = policy_of(5, columns=district(level=1) if not isinstance(travels, str) else document(5)["columns"])
    columns = tuple(
        sqlanon.Column.keep("district", travels=travels) if item.name == "district" else item for item in read.columns
    )
    assert sqlanon.Policy(columns, read.privacy, table="t") == read
    assert sqlanon.Policy.from_dict(read.to_dict()) == read
    other = policy_of(5, columns={**document(5)["columns"], "district": {"role": "keep"}}, accept=["district"])
    assert other.fingerprint() != read.fingerprint()


def test_another_policy_over_the_same_encoding_travels_alike(people: duckdb.DuckDBPyConnection) -> None:
    with sqlanon.plan(people, policy_of(5)) as plan:
        assert plan.with_policy(policy_of(30)).travelling == plan.travelling
        with pytest.raises(sqlanon.InputError, match="make a new plan"):
            plan.with_policy(policy_of(5, columns=district(level=0)))


def test_what_is_redacted_has_the_marker_in_a_blank_column_too(
    people: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    people.execute("INSERT INTO t VALUES ('r1', '9', 'd0', 's', '1')")
    target = {"file": str(tmp_path / "r.csv")}
    asked = policy_of(30, suppressed="redact", suppression_limit=0.01, output=target, nulls="extended")
    with sqlanon.anonymize(people, asked):
        pass
    rows = duckdb.sql(f"SELECT district, COUNT(*) FROM read_csv('{tmp_path / 'r.csv'}') GROUP BY 1").fetchall()
    assert dict(rows) in ({None: 400, "[suppressed]": 1}, {None: 401})


def test_it_is_no_longer_refused_and_the_message_names_the_cure(people: duckdb.DuckDBPyConnection) -> None:
    people.execute("UPDATE t SET district = region")
    kept = {**document(5)["columns"], "district": {"role": "keep"}, "state": {"role": "keep"}}
    with pytest.raises(sqlanon.IdentifyingColumnError) as caught:
        sqlanon.plan(people, policy_of(5, columns=kept))
    assert "say district: {role: keep, with: region}" in caught.value.hint
    with sqlanon.plan(people, policy_of(5)) as plan:
        assert plan.travelling["district"].level == 0


def test_live_views_scripts_and_dbt_refuse_it(tmp_path: Path) -> None:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        text_table(connection, NAMES, ROWS)
    live = policy_of(5, output={"live_view": "released"})
    with pytest.raises(sqlanon.UnsupportedError, match="say more than the one it travels with"):
        sqlanon.anonymize(path, live)
    from sqlanon.interop.scripts.warehouse import script_in

    with (
        sqlanon.plan(path, policy_of(5)) as plan,
        pytest.raises(sqlanon.UnsupportedError, match="say more than the one it travels with"),
    ):
        script_in(plan, "duckdb")


def test_the_utility_of_a_release_leaves_it_out(people: duckdb.DuckDBPyConnection) -> None:
    with sqlanon.anonymize(people, policy_of(30)) as release:
        found = release.plan.utility(queries=5)
        assert "district" not in {column.name for column in found.columns}
        assert any("they travel with: district, state" in text for text in found.warnings)


def test_persons_are_counted_with_it(people: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    people.execute("ALTER TABLE t ADD COLUMN person VARCHAR")
    people.execute("UPDATE t SET person = 'p' || CAST(rowid // 2 AS VARCHAR)")
    columns = {**document(5)["columns"], "person": {"role": "drop"}}
    target = {"file": str(tmp_path / "r.parquet")}
    with sqlanon.anonymize(people, policy_of(30, columns=columns, entity="person", output=target)) as release:
        assert {row["district"] for row in release.to_arrow().to_pylist()} <= {None, "d0", "d1", "d2", "d3"}
        claim = release.plan._claim()
        assert claim.class_columns == ["region", "age", "district", "state"]
