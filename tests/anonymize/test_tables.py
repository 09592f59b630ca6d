"""Several tables that are published together, against trees of rows in plain Python."""

import hmac
import random
from pathlib import Path
from typing import Any

import duckdb
import effort
import numpy as np
import pyarrow as pa
import pytest
from brute_tables import Judged, World, best, judge, published_profiles, random_world
from policies import quasi
from tables import store

from sqlanon.core.search import STRATEGIES
from sqlanon.errors import NoSolutionError
from sqlanon.tables.anonymizing import anonymize_tables
from sqlanon.tables.forest import CodedTable, Forest, LevelCodes


def forest(world: World) -> Forest:
    """The trees of a world as arrays, built without a database."""
    tables: list[CodedTable] = []
    place = {name: number for number, name in enumerate(world.shape)}
    for name, (_, parent, link) in world.shape.items():
        rows = world.rows[name]
        parents = np.zeros(len(rows), np.int64)
        persons = np.arange(len(rows))
        if parent is not None and link is not None:
            keys = [row[world.shape[parent][0]] for row in world.rows[parent]]
            parents = np.array([keys.index(row[link]) for row in rows], np.int64)
            persons = tables[place[parent]].persons[parents]
        values, codes = [], []
        for attribute in world.attributes:
            if attribute[0] != name:
                continue
            known: list[str | None] = [*world.hierarchies[attribute], None]
            values.append(np.array([known.index(row[attribute[1]]) for row in rows], np.int64))
            groups, costs = [], []
            for level in range(world.height(attribute)):
                texts = [world.text(attribute, value, level) for value in known]
                groups.append(np.array([texts.index(text) for text in texts], np.int64))
                domain = len(known)
                costs.append(np.array([domain - world.leaves(attribute, v, level, domain) for v in known], np.int64))
            codes.append(LevelCodes(tuple(groups), tuple(costs)))
        tables.append(
            CodedTable(None if parent is None else place[parent], parents, persons, tuple(values), tuple(codes))
        )
    return Forest(tables)


@effort.seeds(400, 20)
def test_classes_of_persons_are_equal_nested_multisets(block: effort.Block) -> None:
    """At every node, from all persons and from those that stand for them; and what fails goes on failing below."""
    for seed in block:
        world = random_world(random.Random(seed))
        world.nulls = "extended"
        trees = forest(world)
        merged, stands_for = trees.merged()
        assert merged.persons == trees.persons
        whole, parts = trees.costs(), merged.costs()
        assert all(np.array_equal(a.sum(axis=1), b.sum(axis=1)) for a, b in zip(whole, parts, strict=True))
        failing = {}
        for node in world.nodes():
            expected = judge(world, node, 2)
            found, again = trees.classes(node), merged.classes(node)
            assert sorted(found.sizes.tolist()) == sorted(again.sizes.tolist())
            assert sorted(size for size in found.sizes.tolist() if size > 1) == sorted(expected.published.values())
            assert np.array_equal(found.sizes[found.of_person], again.sizes[again.of_person][stands_for])
            failing[node] = found.sizes[found.of_person] < 2
        for node, fails in failing.items():
            for place, level in enumerate(node):
                if level:
                    below = failing[(*node[:place], level - 1, *node[place + 1 :])]
                    assert not (fails & ~below).any()


def document(world: World, k: int, limit: float, **changes: Any) -> dict[str, Any]:
    """The policy of a world, whose tables are read from an open connection."""
    tables: dict[str, Any] = {}
    for name, (key, parent, link) in world.shape.items():
        columns: dict[str, Any] = {
            column: quasi({"levels": {value: [*texts[1:]] for value, texts in world.hierarchies[name, column].items()}})
            for column in world.quasi[name]
        }
        columns["kept"] = {"role": "keep"}
        tables[name] = {
            "columns": columns,
            **({} if key is None else {"key": key}),
            **({} if parent is None else {"parent": {parent: link}}),
        }
    return {
        "tables": tables,
        "privacy": [{"type": "profile_k", "k": k}],
        "suppression_limit": limit,
        "nulls": world.nulls,
        **changes,
    }


def connected(world: World) -> duckdb.DuckDBPyConnection:
    """A connection that holds the tables of a world."""
    connection = duckdb.connect()
    for name, rows in world.rows.items():
        key, _, link = world.shape[name]
        columns = [c for c in (key, link, *world.quasi[name], "kept") if c is not None]
        kinds = {c: pa.int64() if c in ("pid", "patient", "person") else pa.string() for c in columns}
        data = pa.table({c: pa.array([row[c] for row in rows], kinds[c]) for c in columns})
        store(connection, data, name)
    return connection


def released(path: Path, world: World) -> dict[str, list[dict[str, Any]]]:
    """The rows of a release, by table."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return {name: connection.sql(f'FROM "{name}"').to_arrow_table().to_pylist() for name in world.shape}


def check_release(world: World, expected: Judged, path: Path) -> None:
    """Compare a release with what its node gives by the definition."""
    rows = released(path, world)
    keys = {name: key for name, (key, _, _) in world.shape.items()}
    assert published_profiles(world, rows, keys) == expected.published
    assert {name: len(found) for name, found in rows.items()} == expected.rows
    for name, (key, _, link) in world.shape.items():
        originals = {str(row[c]) for row in world.rows[name] for c in (key, link) if c is not None}
        shown = {row[c] for row in rows[name] for c in (key, link) if c in row}
        assert all(len(value) == 32 for value in shown) and not originals & shown


@pytest.mark.slow
@effort.seeds(40, 20)
def test_optimum_ledger_and_release_agree_with_brute_force(block: effort.Block, tmp_path: Path) -> None:
    for seed in block:
        draw = random.Random(seed)
        world = random_world(draw, three=draw.random() < 0.8)
        k, limit = draw.choice([2, 2, 3]), draw.choice([0.0, 0.3, 0.6, 1.0])
        taking_part = len(world.taking_part())
        expected = best(world, k, int(limit * taking_part + 1e-9))
        path = tmp_path / f"{seed}.duckdb"
        policy = document(world, k, limit, output={"file": str(path)})
        with connected(world) as connection:
            if expected is None:
                with pytest.raises(NoSolutionError):
                    anonymize_tables(policy, source=connection)
                assert not path.exists()
                continue
            release = anonymize_tables(policy, source=connection)
        assert release.certificate.optimal
        assert release.certificate.loss == pytest.approx(expected.loss, abs=1e-9)
        node = tuple(release.levels[f"{name}.{column}"] for name, column in world.attributes)
        chosen = judge(world, node, k)
        assert chosen.loss == pytest.approx(expected.loss, abs=1e-9)
        of_attributes = {f"{name}.{column}": loss for (name, column), loss in zip(world.attributes, chosen.losses)}
        assert release.losses == pytest.approx(of_attributes, abs=1e-9)
        assert release.persons.published == sum(chosen.published.values())
        assert release.persons.suppressed == chosen.suppressed
        assert release.persons.excluded == len(world.rows["patients"]) - taking_part
        assert release.persons.smallest_class == min(chosen.published.values())
        assert {name: item.published for name, item in release.tables.items()} == chosen.rows
        assert {name: item.records for name, item in release.tables.items()} == {
            name: len(rows) for name, rows in world.rows.items()
        }
        check_release(world, chosen, path)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [name for name, _ in STRATEGIES if name != "box"])
@pytest.mark.few(4)
def test_every_strategy_finds_what_is_there(strategy: str) -> None:
    for seed in range(max(2, effort.scaled(4))):
        draw = random.Random(seed)
        world = random_world(draw)
        expected = best(world, 2, len(world.taking_part()))
        assert expected is not None
        policy = document(world, 2, 1.0, search={"strategy": strategy})
        with connected(world) as connection:
            certificate = anonymize_tables(policy, source=connection).certificate
        assert certificate.loss >= expected.loss - 1e-9
        if certificate.optimal or strategy == "exhaustive":
            assert certificate.loss == pytest.approx(expected.loss, abs=1e-9)


def test_no_table_has_the_key_of_another_purpose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first digits of the hash for ``shift`` follows by how many days the dates of a person are shifted."""
    secret = "0123456789abcdef" * 4
    monkeypatch.setenv("CLINIC_KEY", secret)
    suppress = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    policy = {
        "tables": {
            "shift": {"key": "person", "columns": {"sex": suppress}},
            "pseudonym": {"key": "visit", "parent": {"shift": "person"}, "columns": {"year": suppress}},
            "rest": {"parent": {"pseudonym": "visit"}, "columns": {"ward": {"role": "keep"}}},
        },
        "key": {"env": "CLINIC_KEY", "context": "study"},
        "privacy": [{"type": "profile_k", "k": 2}],
        "output": {"file": str(tmp_path / "out.duckdb")},
    }
    with duckdb.connect() as connection:
        connection.execute("""
            CREATE TABLE shift AS SELECT i AS person, 'f' AS sex FROM range(6) AS t(i);
            CREATE TABLE pseudonym AS SELECT i AS visit, i AS person, 2020 AS year FROM range(6) AS t(i);
            CREATE TABLE rest AS SELECT i AS visit, 'a' AS ward FROM range(6) AS t(i);
        """)
        release = anonymize_tables(policy, source=connection)
    assert any("'rest.ward' add up" in text for text in release.warnings)  # what is kept beside pseudonyms
    of_context = hmac.digest(secret.encode(), b"study", "sha256")
    with duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True) as connection:
        for name, key in (("shift", "person"), ("pseudonym", "visit")):
            own = hmac.digest(of_context, name.encode(), "sha256")
            hashes = {hmac.new(own, str(i).encode(), "sha256").hexdigest()[:32] for i in range(6)}
            found = {row[0] for row in connection.table(name).select(key).fetchall()}
            assert len(found) == 6 and not found & hashes, name
