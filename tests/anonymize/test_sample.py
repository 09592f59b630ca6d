"""A sample drawn with a key: who is drawn, by a brute force on every engine; what is judged, published and said."""

import hashlib
import hmac
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from engine_kinds import KINDS, SOURCE, Kind
from tables import store

import sqlanon
from sqlanon import Policy, PolicyError
from sqlanon.cli import main
from sqlanon.core.source.opening import Source
from sqlanon.core.source.sampling import BITS, draw_sample
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import InputError, UnsupportedError

ENGINES = [kind for kind in KINDS if kind.name != "spark"]
SECRET = bytes(range(40, 90))
COLUMNS = ("person", "age", "ward")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "secret.key"
    path.write_bytes(SECRET)
    path.chmod(0o600)
    return path


def visits(persons: int = 400, seed: int = 3) -> list[tuple[Any, ...]]:
    """Persons with one to three visits; some visits are copies of each other, and some wards are not known."""
    draw = random.Random(seed)
    rows = []
    for person in range(persons):
        age = draw.randint(20, 69)
        rows += [(f"p{person}", age, draw.choice(["A", "B", None])) for _ in range(draw.randint(1, 3))]
    draw.shuffle(rows)
    return rows


def arrow(rows: list[tuple[Any, ...]]) -> pa.Table:
    """Records as a table."""
    types = (pa.string(), pa.int64(), pa.string())
    return pa.table({n: pa.array([r[i] for r in rows], t) for i, (n, t) in enumerate(zip(COLUMNS, types, strict=True))})


def document(key: Path | None, **changes: Any) -> dict[str, Any]:
    """A policy that draws a fifth."""
    return {
        **({} if key is None else {"key": {"file": str(key)}}),
        "sample": 0.2,
        "columns": {
            "person": {"role": "drop"},
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 5, "fanouts": [2, 5]}}},
            "ward": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
        },
        "privacy": [{"type": "k_anonymity", "k": 2}],
        "suppression_limit": 0.1,
        **changes,
    }


def is_drawn(text: str, share: float, context: str = "") -> bool:
    """What the docstring of the module says, in plain Python."""
    own = hmac.digest(hmac.digest(SECRET, f"sample\0{context}".encode(), "sha256"), b"sample", "sha256")
    return int(hmac.new(own, text.encode(), hashlib.sha256).hexdigest()[:15], 16) < int(share * 2**BITS)


def text_of(row: tuple[Any, ...]) -> str:
    """All columns of a record, each behind its length."""
    return "".join("-" if cell is None else f"{len(str(cell))}:{cell}" for cell in row)


def drawn(rows: list[tuple[Any, ...]], share: float, *, by_person: bool) -> Counter[tuple[Any, ...]]:
    """The records that are drawn, by a brute force."""
    if by_person:
        return Counter(row for row in rows if is_drawn(row[0], share))
    held = Counter(rows)
    found = {row: sum(is_drawn(f"{i + 1} {text_of(row)}", share) for i in range(n)) for row, n in held.items()}
    return Counter({row: n for row, n in found.items() if n})


@pytest.mark.parametrize("by_person", [True, False])
@pytest.mark.parametrize("kind", ENGINES, ids=str)
def test_who_is_drawn_follows_from_the_key_alone(
    kind: Kind, by_person: bool, key: Path, request: pytest.FixtureRequest
) -> None:
    policy = Policy.from_dict(document(key, table="t", **({"entity": "person"} if by_person else {})))
    rows = visits()
    expected = drawn(rows, 0.2, by_person=by_person)
    for given in (rows, sorted(rows, key=str)):
        engine = kind.open(request)
        try:
            engine.load("source", SOURCE, arrow(given))
            types = dict(engine.catalog.columns(table(SOURCE)))
            found = draw_sample(Source(engine, table(SOURCE), types, None, None), policy)
            assert list(engine.catalog.columns(found.relation)) == list(types.items())
            held = engine.run("sample", f"SELECT person, age, ward FROM {engine.render(found.relation)}")
            assert Counter(map(tuple, held)) == expected
            assert found.drawn is not None and found.drawn.records == len(rows)
            assert found.drawn.drawn == expected.total()
            persons = (400, len({row[0] for row in expected})) if by_person else (None, None)
            assert (found.drawn.persons, found.drawn.drawn_persons) == persons
            assert "sqlanon_release_key" not in str(engine.catalog.relations())
        finally:
            engine.drop(SOURCE)
            engine.close()


def test_copies_are_drawn_each_by_itself(key: Path, tmp_path: Path) -> None:
    pq.write_table(arrow([("same", 30, "A")] * 1000), tmp_path / "t.parquet")
    with sqlanon.plan(str(tmp_path / "t.parquet"), document(key)) as plan:
        assert 140 < plan.catalog.records < 260
        assert plan.source.drawn is not None and plan.source.drawn.records == 1000


@pytest.mark.slow
@pytest.mark.parametrize("by_person", [True, False])
def test_k_map_counts_the_whole_source_and_the_rest_the_sample(by_person: bool, key: Path, tmp_path: Path) -> None:
    rows = visits(3000)
    pq.write_table(arrow(rows), tmp_path / "t.parquet")
    entity = {"entity": "person"} if by_person else {}
    asked = document(key, privacy=[{"type": "k_map", "k": 60}], suppression_limit=0.02, **entity)
    asked["output"] = {"file": str(tmp_path / "out.parquet")}
    with sqlanon.anonymize(str(tmp_path / "t.parquet"), asked) as release:
        sample = drawn(rows, 0.2, by_person=by_person)
        assert release.ledger.records == sample.total() < len(rows) / 3
        width = 5 * (1, 2, 10)[release.levels["age"] - 1] if release.levels["age"] else 1

        def cell(row: tuple[Any, ...]) -> tuple[Any, ...]:
            return (row[1] // width if width < 50 else 0, row[2] if release.levels["ward"] == 0 else "*")

        people = Counter(who[1:] for who in {(row[0] if by_person else i, *cell(row)) for i, row in enumerate(rows)})
        seen = Counter(cell(row) for row in sample.elements())
        assert release.levels["age"] < 3  # the sample alone would need more
        assert min(seen.values()) < 60  # so that k-anonymity does not hold of the sample
        suppressed = sum(n for own, n in seen.items() if people[own] < 60)
        assert release.ledger.suppressed == suppressed
        found = release.manifest["sample"]
        assert (found["share"], found["records"]) == (0.2, len(rows))
        assert ("persons" in found) == by_person
        assert any("everything that follows is said of the sample" in warning for warning in release.warnings)


def test_a_run_says_it_and_its_proof_holds(key: Path, tmp_path: Path) -> None:
    pq.write_table(arrow(visits()), tmp_path / "t.parquet")
    asked = document(key, source="t.parquet", output={"file": "out.parquet"}, certificate="proof.json")
    (tmp_path / "p.json").write_text(json.dumps(asked))
    result = CliRunner().invoke(main, ["run", str(tmp_path / "p.json"), "--json"])
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["sample"]["drawn"] == said["records"] == drawn(visits(), 0.2, by_person=False).total()
    checked = CliRunner().invoke(main, ["verify", str(tmp_path / "proof.json"), str(tmp_path / "p.json")])
    assert checked.exit_code == 0, checked.output


def test_the_script_draws_the_same_sample_once_it_has_the_key(key: Path, tmp_path: Path) -> None:
    pq.write_table(arrow(visits()), tmp_path / "t.parquet")
    with sqlanon.plan(str(tmp_path / "t.parquet"), document(key)) as plan:
        script = plan.script()
    blocks, sample = script.index("load its blocks here"), script.index('"sqlanon_sampled"')
    assert blocks < sample and script.count("load its blocks here") == 1
    assert SECRET.hex()[:20] not in script


@pytest.mark.slow
def test_another_context_draws_others_and_the_same_one_the_same(key: Path, tmp_path: Path) -> None:
    rows = visits()
    pq.write_table(arrow(rows), tmp_path / "t.parquet")
    counts = []
    for context in ("one", "one", "two"):
        asked = document(key, entity="person") | {"key": {"file": str(key), "context": context}}
        with sqlanon.plan(str(tmp_path / "t.parquet"), asked) as plan:
            counts.append(plan.catalog.records)
            assert counts[-1] == sum(is_drawn(row[0], 0.2, context) for row in rows)
    assert counts[0] == counts[1] != counts[2]


@pytest.mark.parametrize("share", [0, 1, 1.5, -0.1, "a tenth", True])
def test_what_is_no_share_is_refused(share: Any, key: Path) -> None:
    with pytest.raises(PolicyError, match="sample"):
        Policy.from_dict(document(key, sample=share))


def test_a_sample_needs_a_key_and_a_source_that_no_subset_divides(key: Path) -> None:
    with pytest.raises(PolicyError, match="drawn with a key"):
        Policy.from_dict(document(None))
    presence = {"type": "delta_presence", "min": 0, "max": 0.5, "subset": {"column": "ward"}}
    with pytest.raises(PolicyError, match="population of the subset already"):
        Policy.from_dict(document(key, privacy=[presence]))
    with pytest.raises(PolicyError, match="a subset or a sample"):
        Policy.from_dict(document(key, sample=None, privacy=[{"type": "k_map", "k": 5}]))


def test_a_policy_without_a_sample_is_written_and_hashed_as_before(key: Path) -> None:
    without = {name: value for name, value in document(key).items() if name != "sample"}
    plain, sampled = Policy.from_dict(without), Policy.from_dict(document(key))
    assert "sample" not in plain.to_dict() and sampled.to_dict()["sample"] == 0.2
    assert plain.fingerprint() != sampled.fingerprint()
    assert Policy.from_dict(sampled.to_dict()) == sampled


def test_nobody_is_lost_in_silence(key: Path, tmp_path: Path) -> None:
    pq.write_table(arrow([*visits(30), (None, 30, "A"), (None, 31, "A")]), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="'person' is NULL in 2 records"):
        sqlanon.plan(str(tmp_path / "t.parquet"), document(key, entity="person"))
    with pytest.raises(InputError, match=r"No record is in the sample: a share of 1e-09 of"):
        sqlanon.plan(str(tmp_path / "t.parquet"), document(key, sample=1e-9))
    nested = arrow(visits(30)).append_column("more", pa.array([[1]] * len(visits(30))))
    pq.write_table(nested, tmp_path / "n.parquet")
    with pytest.raises(UnsupportedError, match="'more' cannot be compared"):
        sqlanon.plan(str(tmp_path / "n.parquet"), document(key, undeclared="drop"))


def test_views_that_follow_their_source_draw_no_sample(key: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        store(connection, arrow(visits(30)))
    asked = document(key, table="t", output={"live_view": "v"})
    with pytest.raises(UnsupportedError, match="key of the sample"):
        sqlanon.anonymize(str(tmp_path / "t.duckdb"), asked)
