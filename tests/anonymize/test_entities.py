"""Entities: models, limits, bounds and audits count distinct persons, by a brute force and by seeded mistakes.

``SQLANON_EFFORT=50 python -m pytest -m "" tests/anonymize/test_entities.py`` looks at more tables than the default.
"""

import json
import random
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import brute
import brute_entities
import brute_models
import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner
from effort import Block, enough, scaled, seeds
from mistakes import classes_of_records
from random_cases import random_tree
from random_worlds import document, random_models
from sqlglot import exp
from tables import store
from whole_runs import compare_persons

import sqlanon
from sqlanon.cli import main
from sqlanon.core.audit.check import check_relation
from sqlanon.core.compiler import distinct_entities
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.policy import Output
from sqlanon.core.publish.proof_file import write_proof
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, named, table
from sqlanon.errors import (
    AuditError,
    InputError,
    NoSolutionError,
    PolicyError,
    SearchStoppedError,
    SourceError,
    UnsupportedError,
)

STRATEGIES = ("best_first", "flash", "flash_two_phase", "ola", "incognito")
VALUES: list[brute.Text] = [None, "", "NULL", "flu", "cold", "é", "*"]
NAMES = ("person", "n", "order", 'a"b', "entity", "key_0", "x; DROP TABLE t")


def random_owned(seed: int) -> brute_entities.Owned:
    """A table whose persons have one to five records each, some of them alike."""
    rng = random.Random(seed)
    m, s = rng.randint(1, 3), rng.choice([0, 0, 1, 1, 2])
    pools = [rng.sample(VALUES, rng.randint(1, 4)) for _ in range(m)]
    values = [rng.sample(VALUES, rng.randint(1, 4)) for _ in range(s)]
    subset = rng.random() < 0.3
    records: list[brute_models.Record] = []
    persons: list[Any] = []
    for person in range(rng.choice([1, 4, 12, 25])):
        own = tuple(rng.choice(pool) for pool in pools)
        for _ in range(rng.choice([1, 1, 2, 3, 5])):
            quasi = own if rng.random() < 0.6 else tuple(rng.choice(pool) for pool in pools)
            member = not subset or rng.random() < 0.5
            records.append((tuple(quasi), tuple(rng.choice(pool) for pool in values), member))
            persons.append(person)
    trees = [random_tree(rng, pool, rng.choice(["error", "error", "top"])) for pool in pools]
    sensitive = [random_tree(rng, pool, "error") if rng.random() < 0.6 else None for pool in values]
    models = random_models(rng, sensitive, subset)
    if not subset and rng.random() < 0.4:  # what is monotone has the sharpest bounds
        models = [(None, {"type": "k_anonymity", "k": rng.choice([1, 2, 3, 4])})]
        models += [(column, {"type": "distinct_l_diversity", "l": 2}) for column in range(s)]
    world = brute_models.World(records, trees, sensitive, models, rng.choice(["extended", "basic"]))
    return with_population(brute_entities.Owned(world, persons), subset, random.Random(~seed))


def with_population(owned: brute_entities.Owned, subset: bool, rng: random.Random) -> brute_entities.Owned:
    """Sometimes k-map: the source is the population of its subset, or a table beside it tells persons, or rows."""
    world = owned.world
    if rng.random() < 0.6:
        return owned
    k_map = {"type": "k_map", "k": rng.choice([1, 2, 4])}
    world.models.append((None, k_map if subset else {**k_map, "population": {"table": "people"}}))
    if subset:
        return owned
    rows = [record[0] for record in world.records if rng.random() < 0.8]
    rows += [tuple(rng.choice([None, *VALUES]) for _ in world.trees) for _ in range(rng.choice([0, 30]))]
    world.population = rng.sample(rows, len(rows))
    citizens = [rng.choice([None, *range(12)]) for _ in rows]
    return replace(owned, citizens=rng.choice([None, citizens]))


def load(connection: duckdb.DuckDBPyConnection, owned: brute_entities.Owned, entity: str, seed: int) -> None:
    """The records in random order; persons as numbers, or as texts that look like none."""
    world, chance = owned.world, random.Random(seed)
    order = chance.sample(range(len(world.records)), len(world.records))
    records = [world.records[i] for i in order]
    odd = ["", "NULL", "*", " ", "null"]
    persons: list[Any] = [owned.persons[i] for i in order]
    kind = chance.choice([pa.int64(), pa.float64(), pa.string()])
    if kind == pa.string():
        persons = [odd[p] if p < len(odd) else f"p{p}" for p in persons]
    columns = {f"q{i}": pa.array([r[0][i] for r in records], pa.string()) for i in range(len(world.trees))}
    columns |= {f"s{i}": pa.array([r[1][i] for r in records], pa.string()) for i in range(len(world.sensitive))}
    columns |= {"member": pa.array([r[2] for r in records], pa.bool_()), entity: pa.array(persons, kind)}
    store(connection, pa.table(columns))
    if world.population is not None:
        people = {f"q{i}": pa.array([r[i] for r in world.population], pa.string()) for i in range(len(world.trees))}
        people |= {"row": pa.array(range(len(world.population)))}
        people |= {} if owned.citizens is None else {entity: pa.array(owned.citizens, pa.int64())}
        store(connection, pa.table(people), "people")


def compare(seed: int, folder: Path) -> tuple[bool, int]:
    """Hold one random table against the brute force; whether it has a solution, and how many bounds were compared."""
    owned, rng = random_owned(seed), random.Random(seed)
    entity = rng.choice(NAMES)
    keys = document(owned.world, rng) | {"entity": entity}

    def check_search(plan: sqlanon.Plan, best: float) -> None:
        for strategy in ("exhaustive", rng.choice(STRATEGIES)):
            check_strategy(plan, keys, strategy, best, (seed, keys))

    loading = partial(load, owned=owned, entity=entity, seed=seed)
    proof = folder / "proof.json" if seed % 3 == 0 else None
    return compare_persons(owned, keys, brute_entities.judge, loading, check_search, proof)


def check_strategy(plan: sqlanon.Plan, keys: dict[str, Any], strategy: str, best: float, context: object) -> None:
    """What a strategy calls optimal is."""
    policy = sqlanon.Policy.from_dict({**keys, "search": {"strategy": strategy}})
    try:
        certificate = plan.with_policy(policy).certificate
    except SearchStoppedError:
        assert strategy in ("flash", "ola", "incognito"), (context, strategy)
        return
    lower = certificate.lower_bound
    assert lower is None or lower <= best + 1e-9 * max(1.0, best), (context, strategy)
    if certificate.optimal or strategy in ("exhaustive", "best_first", "flash_two_phase"):
        assert certificate.optimal, (context, strategy)
        assert certificate.loss == pytest.approx(best, rel=1e-9, abs=1e-9), (context, strategy)


@seeds(40, 5)
@pytest.mark.slow
def test_verdicts_optima_bounds_proofs_and_releases_count_persons(block: Block, tmp_path: Path) -> None:
    results = [compare(seed, tmp_path) for seed in block]
    solved = sum(found for found, _ in results)
    assert enough(solved >= max(1, len(results) // 5))
    assert sum(bounds for _, bounds in results) >= solved


# -- seeded mistakes ---------------------------------------------------------------------------------------------------


def few_people(connection: duckdb.DuckDBPyConnection, visits: int = 3) -> None:
    """Two persons of region a with some records each, and four of region b with one."""
    connection.execute("CREATE TABLE t (person_id INTEGER, region VARCHAR, illness VARCHAR)")
    rows = [(person, "a", f"i{visit}") for person in (1, 2) for visit in range(visits)]
    rows += [(person, "b", f"i{person % 2}") for person in (3, 4, 5, 6)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)


def regions(**keys: Any) -> dict[str, Any]:
    """A policy for ``few_people``: only the region is a quasi-identifier, and has no second level."""
    region = {"role": "quasi_identifier", "hierarchy": {"levels": {"a": [], "b": []}}}
    columns = {"region": region, "illness": {"role": "keep"}}
    privacy = [{"type": "k_anonymity", "k": 3}]
    accepted = {} if "columns" in keys else {"accept": ["illness"]}  # most of its values have two persons
    document = {"table": "t", "entity": "person_id", "columns": columns, "privacy": privacy, "suppression_limit": 1}
    return document | accepted | keys


@pytest.mark.slow
def test_the_brute_force_finds_a_search_that_counts_records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(distinct_entities, "classes", classes_of_records)
    failures = 0
    for seed in range(12):
        try:
            compare(seed, tmp_path)
        except (AssertionError, AuditError, NoSolutionError, pytest.fail.Exception):
            failures += 1
        if failures == 3:
            break
    assert failures == 3


@pytest.mark.parametrize("ending", [None, ".csv", ".duckdb"])
def test_nothing_is_published_when_the_search_counted_records(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str | None
) -> None:
    few_people(connection)
    monkeypatch.setattr(distinct_entities, "classes", classes_of_records)
    target = {"table": "out"} if ending is None else {"file": str(tmp_path / f"out{ending}")}
    with pytest.raises(AuditError, match=r"small_classes \(1 offending\)"):
        sqlanon.anonymize(connection, regions(output=target))
    assert not list(tmp_path.iterdir())
    assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("t",)]


def test_a_release_in_memory_is_audited_by_persons_too(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_people(connection)
    monkeypatch.setattr(distinct_entities, "classes", classes_of_records)
    release = sqlanon.anonymize(connection, regions())
    with release, pytest.raises(AuditError, match="small_classes"):
        release.to_arrow()


def test_a_proof_of_a_search_that_counted_records_is_refused(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few_people(connection)
    policy = sqlanon.Policy.from_dict(regions(suppression_limit=0))
    with monkeypatch.context() as mistaken:
        mistaken.setattr(distinct_entities, "classes", classes_of_records)
        with sqlanon.plan(connection, policy) as plan:
            assert plan.proof_document is not None
            write_proof(plan.proof_document, tmp_path / "proof.json")
    verified = sqlanon.verify(tmp_path / "proof.json", policy, connection)
    assert "The chosen node does not meet the policy." in verified.faults


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".duckdb", ".xml"])
def test_other_rows_than_were_audited_are_refused(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str
) -> None:
    """The written rows satisfy every audit but the one that compares them with the audited ones."""
    from sqlanon.core.publish import publication

    few_people(connection)
    right = publication.ordered

    def wrong(engine, released, types, claim):
        query = released.query.subquery("r")
        swapped = exp.select(column("region"), named(exp.Literal.string("i1"), "illness")).from_(query)
        return right(engine, replace(released, query=swapped), types, claim)

    policy = sqlanon.Policy.from_dict(regions(privacy=[{"type": "k_anonymity", "k": 2}]))
    with sqlanon.plan(connection, policy) as plan:
        monkeypatch.setattr(publication, "ordered", wrong)
        with pytest.raises(AuditError, match="other_rows"):
            plan.publish(Output("file", str(tmp_path / f"out{ending}")))
        assert not list(tmp_path.iterdir())


# -- what is counted ---------------------------------------------------------------------------------------------------


def test_persons_not_records_decide(connection: duckdb.DuckDBPyConnection) -> None:
    few_people(connection)
    with sqlanon.plan(connection, regions()) as plan:
        assert plan.ledger.suppressed == 6
        assert plan.ledger.entities is not None
        assert plan.ledger.entities.to_dict() == {
            "total": 6, "published": 4, "suppressed": 2, "excluded": 0, "smallest_class": 4,
        }  # fmt: skip
    with sqlanon.plan(connection, regions(entity=None, undeclared="drop")) as plan:
        assert (plan.ledger.suppressed, plan.ledger.entities) == (0, None)


@pytest.mark.parametrize(("limit", "fits"), [({"suppression_limit": 0.34}, True), ({"suppression_limit": 0.33}, False)])
def test_the_limit_is_a_share_of_persons(connection: duckdb.DuckDBPyConnection, limit: dict, fits: bool) -> None:
    few_people(connection, visits=30)
    if fits:
        with sqlanon.plan(connection, regions(**limit)) as plan:
            assert (plan.ledger.suppressed, plan.catalog.allowed) == (60, 2)
        return
    with pytest.raises(NoSolutionError, match=r"at most 1 of 6 entities .* suppresses 2 entities") as caught:
        sqlanon.plan(connection, regions(**limit))
    assert caught.value.nearest is not None
    assert caught.value.nearest["suppressed"] == 2


def test_a_suppression_count_is_of_persons(connection: duckdb.DuckDBPyConnection) -> None:
    few_people(connection, visits=30)
    keys = {key: value for key, value in regions().items() if key != "suppression_limit"}
    with sqlanon.plan(connection, keys | {"suppression_count": 2}) as plan:
        assert plan.ledger.suppressed == 60
    with pytest.raises(NoSolutionError):
        sqlanon.plan(connection, keys | {"suppression_count": 1})


def test_zero_and_minus_zero_are_one_person(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "CREATE TABLE t AS SELECT * FROM (VALUES (0.0::DOUBLE, 'a'), (-0.0, 'a'), (1, 'a')) v(person_id, region)"
    )
    keys = regions(columns={"region": regions()["columns"]["region"]}, privacy=[{"type": "k_anonymity", "k": 2}])
    with sqlanon.plan(connection, keys) as plan:
        assert plan.catalog.entities == 2


def test_without_an_entity_the_statements_stay_the_same(connection: duckdb.DuckDBPyConnection) -> None:
    few_people(connection)
    with sqlanon.plan(connection, regions(entity=None, undeclared="drop")) as plan:
        assert not {"entities", "count entities", "records of nobody"} & set(plan.engine.journal.counts())
        assert "entit" not in plan.script()


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_records_of_nobody_are_refused_before_any_work(connection: duckdb.DuckDBPyConnection) -> None:
    few_people(connection)
    connection.execute("INSERT INTO t VALUES (NULL, 'a', 'x'), (NULL, 'b', 'x')")
    with pytest.raises(InputError, match="NULL in 2 records") as caught:
        sqlanon.plan(connection, regions())
    assert "fill it in" in str(caught.value)


def test_the_column_of_entities_is_never_published(connection: duckdb.DuckDBPyConnection) -> None:
    few_people(connection)
    for role in ("keep", "quasi_identifier", "sensitive"):
        columns = regions()["columns"] | {"person_id": {"role": role}}
        with pytest.raises(PolicyError, match=f"has the role {role}"):
            sqlanon.Policy.from_dict(regions(columns=columns))
    for columns in (regions()["columns"], regions()["columns"] | {"person_id": {"role": "drop"}}):
        with sqlanon.anonymize(connection, regions(columns=columns)) as release:
            assert release.to_arrow().column_names == ["region", "illness"]
            assert "person_id" not in release.plan.release_sql
    with pytest.raises(SourceError, match="no column 'nobody'"):
        sqlanon.plan(connection, regions(entity="nobody", undeclared="drop"))
    for entity in ("", 7, ["person_id"]):
        with pytest.raises(PolicyError, match="entity"):
            sqlanon.Policy.from_dict(regions(entity=entity))


def test_an_entity_of_a_nested_type_is_refused(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE t AS SELECT [1, 2] AS person_id, 'a' AS region, 'x' AS illness")
    with pytest.raises(UnsupportedError, match="cannot identify entities"):
        sqlanon.plan(connection, regions())


def test_uncovered_values_are_refused_only_when_records_are_suppressed_for_them(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    few_people(connection)
    keys = regions(uncovered="suppress")
    sqlanon.plan(connection, keys).close()
    connection.execute("INSERT INTO t VALUES (7, 'c', 'x')")
    with pytest.raises(UnsupportedError, match="1 records hold values that no hierarchy lists") as caught:
        sqlanon.plan(connection, keys)
    assert "uncovered: top" in str(caught.value)


@pytest.mark.parametrize("kind", ["patterns", "local_recoding"])
def test_transformations_count_records_and_say_so(connection: duckdb.DuckDBPyConnection, kind: str) -> None:
    few_people(connection)
    policy = sqlanon.Policy.from_dict(regions(transformation={"type": kind}, suppression_limit=0.5))
    for work in (sqlanon.recode, sqlanon.anonymize):
        with pytest.raises(UnsupportedError, match="Patterns and local recoding count records") as caught:
            work(connection, policy)
        assert "leave out transformation" in str(caught.value)


# -- releases and what travels with them -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("suppressed", ["drop", "redact"])
@pytest.mark.parametrize("output", ["table", "view", ".csv", ".parquet", ".duckdb", ".xml"])
def test_every_target_holds_the_audited_rows(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, output: str, suppressed: str
) -> None:
    few_people(connection)
    connection.execute("INSERT INTO t VALUES (7, 'b', NULL), (7, 'b', ''), (7, 'b', 'NULL')")
    target = {output: "out"} if output in ("table", "view") else {"file": str(tmp_path / f"out{output}")}
    policy = sqlanon.Policy.from_dict(regions(output=target, suppressed=suppressed))
    with sqlanon.anonymize(connection, policy) as release:
        rows = Counter(zip(*release.to_arrow().to_pydict().values(), strict=True))
    texts = {("b", "i0"): 2, ("b", "i1"): 2, ("b", None): 1, ("b", ""): 1, ("b", "NULL"): 1}
    assert rows - Counter(texts) == ({("[suppressed]", "[suppressed]"): 6} if suppressed == "redact" else {})
    assert not Counter(texts) - rows
    left = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    assert left <= {"t", "out", "out_released"}


def test_the_manifest_tells_that_entities_were_counted_but_not_how_many(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    """Six records are suppressed, which is more than k, but they are of two persons, which is not."""
    few_people(connection)
    path = tmp_path / "out.csv"
    with sqlanon.anonymize(connection, regions(output={"file": str(path)})) as release:
        manifest = json.loads((tmp_path / "out.csv.manifest.json").read_text())
        assert release.ledger.hides(3)
    assert manifest["entity"] is True
    ledger = manifest["ledger"]
    assert ledger["suppressed"] == ledger["reasons"]["failing_class"] == "<3 entities"
    assert (ledger["records"], ledger["published"]) == (None, 4)
    assert "entities" not in ledger
    assert manifest["certificate"]["loss"] is None
    assert "person_id" not in json.dumps(manifest)


def test_exact_counts_travel_when_they_are_of_enough_entities(connection: duckdb.DuckDBPyConnection) -> None:
    few_people(connection)
    connection.execute("DELETE FROM t WHERE region = 'a'")
    with sqlanon.anonymize(connection, regions(suppression_limit=0)) as release:
        assert release.manifest["ledger"]["records"] == 4
        assert release.manifest["certificate"]["loss"] is not None


# -- the shell ---------------------------------------------------------------------------------------------------------


def shell(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)
    return result.exit_code, result.stdout


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A folder with a source and a policy file."""
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as database:
        few_people(database)
    policy = regions(source="visits.duckdb", output={"file": "out.csv"})
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    return tmp_path


@pytest.mark.slow
def test_run_check_and_verify_count_persons(visits: Path) -> None:
    code, out = shell("run", visits / "policy.json", "--json")
    written = json.loads(out)
    assert code == 0
    assert written["entities"] == {"total": 6, "published": 4, "suppressed": 2, "excluded": 0, "smallest_class": 4}
    assert (visits / "out.csv").read_text().splitlines()[0] == "region,illness"
    code, out = shell("verify", visits / "out.csv.certificate.json", visits / "policy.json")
    assert code == 0, out

    source = (visits / "visits.duckdb", "t", "--qi", "region", "--k", 3)
    assert shell("check", *source)[0] == 0
    code, out = shell("check", *source, "--entity", "person_id", "--json")
    written = json.loads(out)
    assert code == 1
    assert (written["entities"], written["smallest_class"], written["failing_classes"], written["failing_records"]) == (
        6,
        2,
        1,
        2,
    )
    code, out = shell("check", *source, "--entity", "person_id")
    assert "10 records of 6 entities" in out
    assert "1 class (2 entities) fails" in out


@pytest.mark.slow
def test_reports_and_readable_statements_tell_persons(visits: Path) -> None:
    for ending in ("txt", "html"):
        code, out = shell("run", visits / "policy.json", "--report", visits / f"report.{ending}")
        assert code == 0, out
        assert "6 entities = 4 published whole + 2 with a suppressed record" in out
        assert "entities" in (visits / f"report.{ending}").read_text()
        for left in visits.glob("out.csv*"):
            left.unlink()
    code, out = shell("explain", visits / "policy.json")
    assert code == 0
    assert 'COUNT(DISTINCT CAST("source"."person_id"' in out
    text = (visits / "report.txt").read_text()
    assert "Entities that lose a record: 2 of at most 6." in text
    assert "at least 4 records and 4 entities" in text
    assert "unique entities (alone in their class)" in text and "highest risk of an entity (prosecutor)" in text
    assert (
        "records at risk" not in text and "risk of a record" not in text and "k = 4" not in text.split("CLASSES BY")[1]
    )


def test_a_definition_names_the_entity(visits: Path) -> None:
    code, out = shell("convert", visits / "policy.json", visits / "policy.xml")
    assert code == 0, out
    assert 'entity="person_id"' in (visits / "policy.xml").read_text()
    assert sqlanon.Policy.from_file(visits / "policy.xml").entity == "person_id"


def test_the_fingerprint_tells_the_entity() -> None:
    with_it, without = regions(), regions(entity=None)
    assert sqlanon.Policy.from_dict(with_it).fingerprint() != sqlanon.Policy.from_dict(without).fingerprint()
    assert sqlanon.Policy.from_dict(sqlanon.Policy.from_dict(with_it).to_dict()) == sqlanon.Policy.from_dict(with_it)


# -- the data test of a relation ---------------------------------------------------------------------------------------


def relation(rows: list[tuple[Any, ...]]) -> tuple[DuckDBEngine, exp.Expr]:
    engine = DuckDBEngine()
    data = {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(("person", "zip", "ill"))}
    engine.load("rows", "rows", pa.table(data))
    return engine, table("rows")


def test_check_counts_each_person_once_a_class() -> None:
    engine, rows = relation([("1", "a", "x"), ("1", "a", "y"), ("2", "a", "x"), ("1", "b", "x"), ("2", "b", "x")])
    found = check_relation(
        engine, rows, quasi_identifiers=["zip"], models=[KAnonymity(2), KAnonymity(3)], entity="person"
    )
    assert [model.failing_classes for model in found.models] == [0, 2]
    assert (found.records, found.entities, found.smallest_class) == (5, 2, 2)


def test_check_counts_nobodys_records_for_nothing() -> None:
    """A class of nobody's records holds no person, so it is too small for any k."""
    engine, rows = relation([("1", "a", "x"), (None, "a", "x"), (None, "b", "x"), (None, "b", "y")])
    found = check_relation(
        engine, rows, quasi_identifiers=["zip"], models=[KAnonymity(1), KAnonymity(2)], entity="person"
    )
    assert [model.failing_classes for model in found.models] == [1, 2]
    assert (found.smallest_class, found.entities) == (0, 1)


@pytest.mark.parametrize("seed", range(scaled(6)))
def test_check_agrees_with_the_brute_force_about_every_model(seed: int, connection: duckdb.DuckDBPyConnection) -> None:
    """The audits of all models, over tables as they are: each judges the classes of one node as the definition does."""
    owned = next(o for o in map(random_owned, range(100 * seed, 100 * seed + 100)) if o.world.sensitive)
    world = owned.world
    world.records[:] = [record for record in world.records if record[2]]
    owned.persons[:] = [owned.owner[id(record)] for record in world.records]
    world.nulls = "extended"
    if not world.records:
        pytest.skip("no record of this table is in the subset")
    load(connection, owned, "person", seed)
    quasi = [f"q{i}" for i in range(len(world.trees))]
    engine = DuckDBEngine(connection=connection)
    classes: dict[tuple, list] = {}
    for record in world.records:
        classes.setdefault(record[0], []).append(record)
    models = [
        (0, {"type": "distinct_l_diversity", "l": 2}),
        (0, {"type": "entropy_l_diversity", "l": 1.5}),
        (0, {"type": "recursive_l_diversity", "l": 2, "c": 1.5}),
        (0, {"type": "t_closeness", "t": 0.3}),
        (0, {"type": "delta_disclosure", "delta": 1}),
        (0, {"type": "beta_likeness", "beta": 0.5}),
        (None, {"type": "k_anonymity", "k": 2}),
    ]
    world.sensitive[0] = None
    built = [
        sqlanon.Policy.from_dict(
            {"columns": {"s0": {"role": "sensitive", "models": [model]}}, "privacy": []}
            if place is not None
            else {"columns": {"s0": {"role": "keep"}}, "privacy": [model]}
        ).models[0]
        for place, model in models
    ]
    rows = engine.catalog.source_table("t")
    found = check_relation(
        engine, rows, quasi_identifiers=quasi, models=built, reference=rows, entity="person"
    )  # fmt: skip
    for (place, model), result in zip(models, found.models, strict=True):
        due = sum(not brute_entities.passes(owned, place, model, records, ()) for records in classes.values())
        assert result.failing_classes == due, (seed, model)


def test_the_script_makes_the_same_release_again(tmp_path: Path) -> None:
    """It numbers the entities anew, and gives the rows without them."""
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as database:
        few_people(database)
    with sqlanon.anonymize(path, regions()) as release:
        script, rows = release.sql, Counter(zip(*release.to_arrow().to_pydict().values(), strict=True))
    assert names.STAGED_RELEASE not in script
    with duckdb.connect() as connection:
        assert Counter(connection.execute(script).fetchall()) == rows


def test_another_entity_needs_another_plan(connection: duckdb.DuckDBPyConnection) -> None:
    few_people(connection)
    with (
        sqlanon.plan(connection, regions()) as plan,
        pytest.raises(InputError, match="make a new plan"),
    ):
        plan.with_policy(sqlanon.Policy.from_dict(regions(entity=None, undeclared="drop")))


# -- bounds where a person is in several parts of a class --------------------------------------------------------------


def wanderer(connection: duckdb.DuckDBPyConnection, model: dict[str, Any], limit: float) -> sqlanon.Plan:
    """Nine persons are ill with a in a place each; the tenth, ill with b, has a record in each of these places; eight
    more, ill with b, are elsewhere."""
    rows = [(person, f"y{person}", "a") for person in range(9)] + [(9, f"y{place}", "b") for place in range(9)]
    rows += [(person, "z", "b") for person in range(10, 18)]
    connection.execute("CREATE TABLE t (person_id INTEGER, place VARCHAR, illness VARCHAR)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    places = {place: ["z" if place == "z" else "y"] for place in {row[1] for row in rows}}
    columns = {
        "place": {"role": "quasi_identifier", "hierarchy": {"levels": places}},
        "illness": {"role": "sensitive", "models": [model]},
    }
    keys = regions(columns=columns, privacy=[], suppression_limit=limit)
    return sqlanon.plan(connection, keys)


MODELS_OF_SHARES = [
    {"type": "entropy_l_diversity", "l": 2},
    {"type": "recursive_l_diversity", "l": 2, "c": 1.5},
    {"type": "t_closeness", "t": 0.1},
    {"type": "t_closeness", "t": 0.1, "distance": "ordered"},
    {"type": "delta_disclosure", "delta": 0.5},
    {"type": "beta_likeness", "beta": 0.3},
]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS_OF_SHARES, ids=lambda model: "-".join(map(str, model.values())))
def test_a_class_may_fail_though_all_of_its_parts_pass(connection: duckdb.DuckDBPyConnection, model: dict) -> None:
    """The nine parts hold a person of each illness, the class of all y nine of one and one of the other."""
    with wanderer(connection, model, 0.5) as plan:
        assert plan.node == (0,)
        assert plan.certificate.optimal
        bottom, top = plan.evaluate_many([{"place": 0}, {"place": 1}])
        assert (bottom.suppressed, bottom.suppressed_entities) == (8, 8)
        assert (top.suppressed, top.suppressed_entities) == (26, 18)
        assert top.lower_bounds.suppressed <= 8
        assert top.lower_bounds.counted_against_limit <= 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        {"type": "t_closeness", "t": 0.1},
        {"type": "delta_disclosure", "delta": 0.5},
        {"type": "beta_likeness", "beta": 0.05},
    ],
    ids=lambda model: str(model["type"]),
)
def test_a_bound_that_knows_parts_counts_the_records_of_a_class(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, model: dict
) -> None:
    """Of z all is lost, of y nothing; the formula that takes a class for the sum of its parts is wrong."""
    with wanderer(connection, model, 0.5) as plan:
        lower_bounds = plan.evaluate({"place": 1}).lower_bounds
        assert (lower_bounds.suppressed, lower_bounds.counted_against_limit) == (8, 8)
    connection.execute("DROP TABLE t")
    keys_and_entities = distinct_entities.weights(0, ["node", "key_0"])
    monkeypatch.setattr(distinct_entities, "classes_of_records", lambda key_names: keys_and_entities)
    with wanderer(connection, model, 1) as plan:
        assert plan.evaluate({"place": 1}).lower_bounds.suppressed > plan.evaluate({"place": 0}).suppressed


@pytest.mark.parametrize("seed", range(scaled(8)))
def test_the_fewest_entities_of_some_records(seed: int) -> None:
    chance = random.Random(seed)
    sizes = sorted((chance.choice([1, 1, 2, 3, 9]) for _ in range(chance.randint(1, 12))), reverse=True)
    shares = tuple(sorted(Counter(sizes).items(), reverse=True))
    catalog = Catalog((), 1, sum(sizes), 0, 0, 1, 0, entities=len(sizes), shares_of_records=shares)
    for records in range(sum(sizes) + 1):
        due = next(count for count in range(len(sizes) + 1) if sum(sizes[:count]) >= records)
        assert catalog.fewest_entities(records) == due
