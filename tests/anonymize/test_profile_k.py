"""profile_k: persons with the same multiset of generalized rows, by a brute force and by planted faults.

``SQLANON_EFFORT=50 python -m pytest -m "" tests/anonymize/test_profile_k.py`` looks at more tables than the default.
"""

import itertools
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import brute
import brute_entities
import brute_models
import brute_profiles
import duckdb
import numpy as np
import pyarrow as pa
import pytest
from effort import Block, enough, seeds
from policies import document_of
from random_cases import random_tree
from random_worlds import document
from sqlglot import exp
from tables import store
from whole_runs import compare_persons

import sqlanon
from sqlanon.core.compiler import known_rows, profiles
from sqlanon.core.evaluate import held_grains, person_grains
from sqlanon.core.evaluate.person_grains import Rows
from sqlanon.core.models import profile_k
from sqlanon.core.publish.proof_file import write_proof
from sqlanon.errors import AuditError, NoSolutionError, PolicyError, UnsupportedError
from sqlanon.interop.scripts.warehouse import script_in

pytestmark = pytest.mark.slow

VALUES: list[brute.Text] = [None, "", "NULL", "flu", "cold", "é", "*"]
MEASURES = ("loss", "precision", "non_uniform_entropy", "weighted_information_loss", "height")


def random_owned(seed: int, *, bounded: bool = False) -> brute_entities.Owned:
    """A table whose persons have one to five records each; many of them have the rows of another."""
    rng = random.Random(seed)
    m, s = rng.randint(1, 3), rng.choice([0, 0, 1])
    s = 0 if bounded else s  # at_most stands alone
    pools = [rng.sample(VALUES, rng.randint(1, 4)) for _ in range(m)]
    values = [rng.sample(VALUES, rng.randint(2, 4)) for _ in range(s)]
    histories: list[list[tuple]] = []
    records: list[brute_models.Record] = []
    persons: list[Any] = []
    for person in range(rng.choice([1, 4, 12, 25, 40])):
        if histories and rng.random() < 0.6:
            history = [*rng.choice(histories)]
            if rng.random() < 0.3:
                history[0] = tuple(rng.choice(pool) for pool in pools)
        else:
            history = [tuple(rng.choice(pool) for pool in pools) for _ in range(rng.choice([1, 1, 2, 3, 5]))]
            if rng.random() < 0.4:
                history.append(history[0])
        histories.append(history)
        for quasi in history:
            records.append((quasi, tuple(rng.choice(pool) for pool in values), True))
            persons.append(person)
    trees = [random_tree(rng, pool, rng.choice(["error", "error", "top"])) for pool in pools]
    sensitive = [random_tree(rng, pool, "error") if rng.random() < 0.6 else None for pool in values]
    k = rng.choice([2, 2, 3, 4])
    models: list[tuple[int | None, dict]] = [(None, {"type": "profile_k", "k": k})]
    if rng.random() < 0.3:
        models.append((None, {"type": "k_anonymity", "k": rng.randint(1, k)}))
    for column in range(s):
        models.append((column, random_model(rng)))
        if rng.random() < 0.2:
            models.append((column, {"type": "distinct_l_diversity", "l": 2}))
    return brute_entities.Owned(
        brute_models.World(records, trees, sensitive, models, rng.choice(["extended", "basic"])), persons
    )


def random_model(rng: random.Random) -> dict[str, Any]:
    kinds: list[dict[str, Any]] = [
        {"type": "distinct_l_diversity", "l": rng.choice([1, 2, 3])},
        {"type": "entropy_l_diversity", "l": rng.choice([1.3, 2])},
        {"type": "recursive_l_diversity", "l": 2, "c": rng.choice([1, 3])},
        {"type": "t_closeness", "t": rng.choice([0.25, 0.5]), "distance": rng.choice(["equal", "ordered"])},
    ]
    return rng.choice(kinds)


def keys_of(owned: brute_entities.Owned, rng: random.Random) -> dict[str, Any]:
    keys = document(owned.world, rng) | {"entity": "person"}
    while keys["quality"]["measure"] not in MEASURES:
        keys |= {"quality": document(owned.world, rng)["quality"]}
    return keys


def load(connection: duckdb.DuckDBPyConnection, owned: brute_entities.Owned, seed: int) -> None:
    """The records in random order."""
    world, chance = owned.world, random.Random(seed)
    order = chance.sample(range(len(world.records)), len(world.records))
    records = [world.records[i] for i in order]
    columns = {f"q{i}": pa.array([r[0][i] for r in records], pa.string()) for i in range(len(world.trees))}
    columns |= {f"s{i}": pa.array([r[1][i] for r in records], pa.string()) for i in range(len(world.sensitive))}
    columns |= {"member": pa.array([True] * len(records)), "person": pa.array([f"p{owned.persons[i]}" for i in order])}
    store(connection, pa.table(columns))


def compare(seed: int, proof: Path, where: str, *, bounded: bool = False) -> tuple[bool, int]:
    """Hold one random table against the brute force; whether it has a solution, and how many bounds were compared."""
    owned, rng = random_owned(seed, bounded=bounded), random.Random(seed)
    if bounded:
        model = {"type": "profile_k", "k": rng.choice([2, 2, 3, 4]), "at_most": rng.choice([1, 2, 2, 3])}
        owned.world.models[:] = [(None, model)]
    keys = keys_of(owned, rng) | {"search": {"where": where}}

    def check_search(plan: sqlanon.Plan, best: float) -> None:
        exhaustive = sqlanon.Policy.from_dict({**keys, "search": {"strategy": "exhaustive", "where": where}})
        assert plan.with_policy(exhaustive).certificate.loss == pytest.approx(best, rel=1e-9, abs=1e-9), (seed, keys)

    loading = partial(load, owned=owned, seed=seed)
    return compare_persons(owned, keys, brute_profiles.judge, loading, check_search, proof if seed % 3 == 0 else None)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["engine", "auto"])
@seeds(40, 5)
def test_verdicts_optima_bounds_proofs_and_releases_are_of_persons(
    block: Block, tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"USES": 1, "SMALL": 0, "WORTH": 1.0}.items():  # a grain at every floor, where there are any
        monkeypatch.setattr(held_grains, name, value)
    results = [compare(seed, tmp_path / "proof.json", where) for seed in block]
    solved = sum(found for found, _ in results)
    assert enough(solved >= max(1, len(results) // 5))
    assert sum(bounds for _, bounds in results) >= solved


def few_persons(connection: duckdb.DuckDBPyConnection) -> None:
    """Four persons with the rows a and b, and one with the row a twice."""
    connection.execute("CREATE TABLE t (person INTEGER, region VARCHAR)")
    rows = [(person, region) for person in (1, 2, 3, 4) for region in "ab"] + [(5, "a"), (5, "a")]
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)


def regions(**keys: Any) -> dict[str, Any]:
    """A policy for ``few_persons``; its quasi-identifier has no second level."""
    columns = {"region": {"role": "quasi_identifier", "hierarchy": {"levels": {"a": [], "b": []}}}}
    privacy = [{"type": "profile_k", "k": 2}]
    return document_of(columns, keys, table="t", entity="person", privacy=privacy, suppression_limit=1)


@pytest.mark.parametrize("where", ["engine", "auto"])
def test_classes_of_rows_may_be_suppressed_in_part(connection: duckdb.DuckDBPyConnection, where: str) -> None:
    few_persons(connection)
    with sqlanon.anonymize(connection, regions(search={"where": where})) as release:
        assert Counter(release.to_arrow()["region"].to_pylist()) == {"a": 4, "b": 4}
        ledger = release.plan.ledger
        assert ledger.entities is not None
        assert (ledger.suppressed, ledger.entities.suppressed, ledger.smallest_class) == (2, 1, 4)


def test_how_often_a_row_stands_is_part_of_a_profile(connection: duckdb.DuckDBPyConnection) -> None:
    """k persons in every class of rows, and each alone with how many rows there are."""
    connection.execute("CREATE TABLE t AS SELECT p AS person, 'a' AS region FROM range(1, 6) r(p), range(p)")
    with pytest.raises(NoSolutionError):
        sqlanon.plan(connection, regions())
    with sqlanon.plan(connection, regions(privacy=[{"type": "k_anonymity", "k": 5}])) as plan:
        assert plan.ledger.suppressed == 0


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ({"entity": None}, "is about persons"),
        ({"privacy": [{"type": "profile_k", "k": 2}, {"type": "k_anonymity", "k": 3}]}, "asks for more persons"),
        ({"privacy": [{"type": "profile_k", "k": 2}] * 2}, "Another model of persons"),
        ({"privacy": [{"type": "profile_k", "k": 1}]}, "cannot use this k"),
        ({"quality": {"measure": "discernibility"}}, "sizes of classes"),
        ({"transformation": {"type": "local_recoding"}}, "at one node"),
    ],
)
def test_what_is_not_defined_is_refused(keys: dict[str, Any], fault: str) -> None:
    with pytest.raises(PolicyError, match=fault):
        sqlanon.Policy.from_dict(regions() | keys)


def test_live_views_scripts_frontiers_and_utility_are_refused(connection: duckdb.DuckDBPyConnection) -> None:
    few_persons(connection)
    policy = sqlanon.Policy.from_dict(regions())
    with pytest.raises(UnsupportedError, match="persons by all of their rows"):
        sqlanon.frontier(connection, policy, k=(2, 3), limit=(0, 1))
    with sqlanon.plan(connection, policy) as plan:
        with pytest.raises(UnsupportedError, match="whole persons"):
            plan.utility()
        with pytest.raises(UnsupportedError, match="persons by all of their rows"):
            script_in(plan, "postgres")
    with pytest.raises(UnsupportedError, match="persons by all of their rows"):
        sqlanon.anonymize(connection, regions(output={"live_view": "v"}))


def test_a_report_says_what_is_promised_of_persons(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    few_persons(connection)
    target = tmp_path / "out.csv"
    with sqlanon.anonymize(connection, regions(output={"file": str(target)})) as release:
        found = sqlanon.summarize(release)
    assert any("all records of a person" in sentence for sentence in found.promised)
    assert found.utility is None
    assert found.risk is not None
    assert any("single rows" in note for note in found.risk.after.notes)


def test_what_is_kept_beside_pseudonyms_is_a_warning(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    connection.execute("CREATE TABLE t AS SELECT p AS person, 'a' AS region, 'x' AS note FROM range(6) r(p)")
    (tmp_path / "secret.key").write_text("0123456789abcdef" * 4)
    (tmp_path / "secret.key").chmod(0o600)
    kept = {"person": {"role": "pseudonym"}, "note": {"role": "keep"}}
    keys = regions(key={"file": str(tmp_path / "secret.key")})
    with sqlanon.plan(connection, keys | {"columns": keys["columns"] | kept}) as plan:
        assert any("add up over them" in warning for warning in plan.all_warnings)


# -- planted faults ----------------------------------------------------------------------------------------------------


def mistaken(connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Number rows without how often they stand, so that persons who differ in that alone count as one."""
    few_persons(connection)
    connection.execute("INSERT INTO t VALUES (6, 'a')")
    right = profiles.bind

    def wrong(file: str, **given: Any) -> Any:
        query = right(file, **given)
        if file == "judge/first_numbers.sql":
            window = query.find(exp.Window)
            window.set("partition_by", [item for item in window.args["partition_by"] if item.name != "n"])
        return query

    monkeypatch.setattr(profiles, "bind", wrong)


@pytest.mark.parametrize("seed", range(20))
def test_sums_that_agree_by_chance_make_no_profile(seed: int) -> None:
    """Random numbers that are all the same: every profile of as many rows is likely, and few of them are equal."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 4, 60)
    starts = np.concatenate(([0], lengths.cumsum()))
    codes = np.concatenate([np.sort(rng.choice(4, length, replace=False)) for length in lengths]).astype(np.int64)
    counts = rng.integers(1, 3, len(codes))
    grains = object.__new__(person_grains.PersonGrains)
    grains._chance = np.ones(4, np.uint64)
    numbers = grains.numbers(Rows(starts, codes, counts)).tolist()
    rows = [tuple(zip(codes[a:b].tolist(), counts[a:b].tolist(), strict=True)) for a, b in itertools.pairwise(starts)]
    assert len(set(zip(numbers, rows, strict=True))) == len(set(rows)) == len(set(numbers))


# -- few rows of a person are known ------------------------------------------------------------------------------------

KNOWN = [{"type": "profile_k", "k": 2, "at_most": 2}]


@pytest.mark.slow
@seeds(24, 4)
def test_verdicts_optima_bounds_proofs_and_releases_where_few_rows_are_known(block: Block, tmp_path: Path) -> None:
    results = [compare(seed, tmp_path / "proof.json", ("engine", "auto")[seed % 2], bounded=True) for seed in block]
    solved = sum(found for found, _ in results)
    assert enough(solved >= max(1, len(results) // 5))
    assert sum(bounds for _, bounds in results) >= solved


def pairs(connection: duckdb.DuckDBPyConnection) -> None:
    """0 and 1 have a and b, 2 has a twice, 3 has b: nobody else has a twice."""
    rows = [(0, "a"), (0, "b"), (1, "a"), (1, "b"), (2, "a"), (2, "a"), (3, "b")]
    connection.execute("CREATE TABLE t (person INTEGER, region VARCHAR)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)


@pytest.mark.parametrize(("at_most", "lost"), [(1, 0), (2, 1), (3, 1)])
def test_copies_of_a_row_count(connection: duckdb.DuckDBPyConnection, at_most: int, lost: int) -> None:
    pairs(connection)
    privacy = [{"type": "profile_k", "k": 2, "at_most": at_most}]
    keys = regions(privacy=privacy, suppression_limit=0.5)
    with sqlanon.plan(connection, keys) as plan:
        verdict = plan.evaluate({"region": 0})
        assert verdict.suppressed_entities == lost


def test_a_round_may_fail_whom_the_one_before_left(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE t (person INTEGER, region VARCHAR)")
    rows = [(0, "a"), (0, "a"), (1, "a"), (1, "b"), (2, "b")]  # without 0 nobody but 1 has a; without 1 only 2 has b
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    keys = regions(privacy=KNOWN, suppression_limit=0.5)
    with pytest.raises(NoSolutionError, match="suppresses 3 entities"):
        sqlanon.plan(connection, keys)


def missing_rounds(connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no round drop anybody."""
    pairs(connection)
    monkeypatch.setattr(known_rows, "remaining", lambda known, *_: exp.select("*").from_(exp.to_table(known)))


MISTAKES: dict[str, tuple[Callable[..., None], dict[str, Any], int]] = {
    "persons with other rows count as one": (mistaken, {"search": {"where": "engine"}}, 2),
    "a round is missed": (missing_rounds, {"privacy": KNOWN}, 1),
}
"""Each with a policy that it concerns, and how many persons its release would show who are too few."""


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("ending", [None, ".csv", ".parquet"])
def test_nothing_is_published_after_a_mistake(
    connection: duckdb.DuckDBPyConnection,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    ending: str | None,
    mistake: str,
) -> None:
    make, keys, offending = MISTAKES[mistake]
    make(connection, monkeypatch)
    target = {"table": "out"} if ending is None else {"file": str(tmp_path / f"out{ending}")}
    with pytest.raises(AuditError, match=rf"profile_k \({offending} offending\)"):
        sqlanon.anonymize(connection, regions(output=target, **keys))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_proof_of_a_search_with_a_mistake_is_refused(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mistake: str
) -> None:
    make, keys, _ = MISTAKES[mistake]
    policy = sqlanon.Policy.from_dict(regions(suppression_limit=0, **keys))
    with monkeypatch.context() as patched:
        make(connection, patched)
        with sqlanon.plan(connection, policy) as plan:
            assert plan.proof_document is not None
            write_proof(plan.proof_document, tmp_path / "proof.json")
    faults = sqlanon.verify(tmp_path / "proof.json", policy, connection).faults
    assert "The chosen node does not meet the policy." in faults


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ({"privacy": [{"type": "profile_k", "k": 2, "at_most": 0}]}, "from 1 to 3"),
        ({"privacy": [{"type": "profile_k", "k": 2, "at_most": 4}]}, "from 1 to 3"),
        ({"privacy": [{"type": "profile_k", "k": 2, "at_most": True}]}, "from 1 to 3"),
        ({"privacy": [*KNOWN, {"type": "k_anonymity", "k": 2}]}, "is the only model under privacy"),
        ({"entity": None}, "is about persons"),
    ],
)
def test_what_is_not_defined_where_few_rows_are_known_is_refused(keys: dict[str, Any], fault: str) -> None:
    with pytest.raises(PolicyError, match=fault):
        sqlanon.Policy.from_dict(regions(privacy=KNOWN) | keys)


def test_models_of_sensitive_columns_are_refused() -> None:
    keys = regions(privacy=KNOWN)
    column = {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}
    with pytest.raises(PolicyError, match="has no classes"):
        sqlanon.Policy.from_dict(keys | {"columns": keys["columns"] | {"note": column}})


def test_too_many_sets_of_rows_are_refused(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs(connection)
    monkeypatch.setattr(profile_k, "MOST_SETS", 9)  # 3 persons with two rows and one with one: 3 * 3 + 1
    with pytest.raises(UnsupportedError, match="every set of at most 2 records"):
        sqlanon.plan(connection, regions(privacy=KNOWN))


def test_pseudonyms_are_warned_of_and_the_report_says_what_is_promised(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    connection.execute("CREATE TABLE t AS SELECT p AS person, 'a' AS region FROM range(6) r(p)")
    (tmp_path / "secret.key").write_text("0123456789abcdef" * 4)
    (tmp_path / "secret.key").chmod(0o600)
    target = {"file": str(tmp_path / "out.csv")}
    keys = regions(privacy=KNOWN, key={"file": str(tmp_path / "secret.key")}, output=target)
    keys |= {"columns": keys["columns"] | {"person": {"role": "pseudonym"}}}
    with sqlanon.anonymize(connection, keys) as release:
        assert any("anyone who knows more" in warning for warning in release.plan.all_warnings)
        found = sqlanon.summarize(release)
    assert any("at most 2 records of a person" in sentence for sentence in found.promised)
    assert any("more than 2 records" in sentence for sentence in found.not_promised)
