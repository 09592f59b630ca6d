"""Keyed hashes on every engine that has them: HMAC-SHA-256 as Python computes it, of every canonical text."""

import datetime
import hashlib
import hmac
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from engine_kinds import KINDS, Kind
from sqlglot import exp

from sqlanon.core.compiler.encoded_source import EntityColumn
from sqlanon.core.compiler.keyed import DIGITS, PSEUDONYM, SHIFT, KeyedColumns, pseudonym, release_key, shift_days
from sqlanon.core.engines.base import Engine
from sqlanon.core.source.release_key import ReleaseKey
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import canonical, column, named, number, table
from sqlanon.errors import UnsupportedError

SECRET = bytes(range(7, 47))
TEXTS = [
    "", " ", "a", "A", "007", "Zoë", "Zoe\u0308", "名前", "😀", "it's", "\\x41", "a\tb\nc", "%s", "x" * 63, "y" * 64,
    "z" * 65, "ß" * 5000, None,
]  # fmt: skip
VALUES: dict[str, pa.Array] = {
    "texts": pa.array(TEXTS, pa.string()),
    "whole": pa.array([0, -1, 7, 2**62, -(2**63), None], pa.int64()),
    "floats": pa.array([0.5, -2.25, 1e300, None], pa.float64()),
    "dates": pa.array([datetime.date(2024, 2, 29), datetime.date(1900, 1, 1), None], pa.date32()),
    "moments": pa.array([datetime.datetime(2024, 2, 29, 23, 59, 59), None], pa.timestamp("us")),
    "decimals": pa.array([Decimal("1.50"), Decimal("-0.01"), None], pa.decimal128(10, 2)),
}


@pytest.fixture(params=KINDS, ids=str)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Every engine in turn that has keyed hashes."""
    kind: Kind = request.param
    with closing(kind.open(request)) as opened:
        if not opened.capabilities.has("keyed"):
            with pytest.raises(UnsupportedError, match="key"), ReleaseKey(SECRET).loaded(opened, [PSEUDONYM]):
                pass
            pytest.skip(opened.capabilities.lacks["keyed"].reason)
        yield opened


def expected(text: str | None, purpose: str, context: str = "study") -> str | None:
    """The keyed hash of a text, by Python's own HMAC."""
    release = hmac.new(SECRET, context.encode(), hashlib.sha256).digest()
    key = hmac.new(release, purpose.encode(), hashlib.sha256).digest()
    return None if text is None else hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def loaded(engine: Engine, data: pa.Array) -> dict[str, str]:
    """Load values into a table, and return the types of its columns as the engine knows them."""
    engine.load("values", "t", pa.table({"id": pa.array(range(len(data)), pa.int64()), "v": data}), replayed=False)
    return dict(engine.catalog.columns(table("t")))


@pytest.mark.parametrize("values", VALUES)
def test_the_hash_is_that_of_python(engine: Engine, values: str) -> None:
    types = loaded(engine, VALUES[values])
    text = canonical("v", types["v"])
    query = exp.select(named(text, "text"), named(pseudonym(text.copy(), "own"), "pseudonym"))
    query = query.from_(table("t")).join(release_key(PSEUDONYM, "own"), join_type="cross")
    with ReleaseKey(SECRET, "study").loaded(engine, [PSEUDONYM, SHIFT]):
        rows = engine.run("hashes", query)
    assert len(rows) == len(VALUES[values])
    assert len({text for text, _ in rows}) == len(rows)
    for own, found in rows:
        whole = expected(own, PSEUDONYM)
        assert found == (None if whole is None else whole[:DIGITS])


@pytest.mark.parametrize(("days", "keep_weekday"), [(1, False), (180, False), (180, True), (7, True), (36500, False)])
def test_days_are_those_of_the_hash(engine: Engine, days: int, keep_weekday: bool) -> None:
    data = pa.array([f"person {n}" for n in range(40)])
    types = loaded(engine, data)
    with ReleaseKey(SECRET, "study").loaded(engine, [PSEUDONYM, SHIFT]):
        keyed = KeyedColumns(EntityColumn("v", types["v"]), shift=(days, keep_weekday))
        engine.create("keyed", names.KEYED, keyed.persons(table("t")), replayed=False)
    rows = engine.run("read", exp.select("*").from_(table(names.KEYED)))
    assert len(rows) == len(data)
    step = 7 if keep_weekday else 1
    for value, own, moved in rows:
        assert own == (expected(value, PSEUDONYM) or "")[:DIGITS]
        hashed = int((expected(value, SHIFT) or "")[:15], 16)
        assert moved == (hashed % (2 * (days // step) + 1) - days // step) * step


def test_the_key_is_there_while_it_is_needed_and_no_longer(engine: Engine) -> None:
    key = ReleaseKey(SECRET)
    with key.loaded(engine, [PSEUDONYM]):
        assert len(engine.run("read", exp.select("*").from_(table(names.RELEASE_KEY)))) == 1
    with pytest.raises(Exception, match="refused"):
        engine.run("read", exp.select("*").from_(table(names.RELEASE_KEY)))
    with pytest.raises(ZeroDivisionError), key.loaded(engine, [PSEUDONYM]):
        raise ZeroDivisionError
    with pytest.raises(Exception, match="refused"):
        engine.run("read", exp.select("*").from_(table(names.RELEASE_KEY)))
    assert not any("release_key" in str(statement) for _, statement in engine.replay)


def test_releases_differ_unless_they_share_a_context() -> None:
    def key(*context: str) -> bytes:
        return ReleaseKey(SECRET, *context).key_for(PSEUDONYM)

    assert key() != key()
    assert key("a") == key("a") != key("b")
    assert ReleaseKey(SECRET, "a").key_for(SHIFT) != key("a")
    assert ReleaseKey(SECRET[::-1], "a").key_for(PSEUDONYM) != key("a")
    assert SECRET.hex() not in repr(ReleaseKey(SECRET))


def test_a_whole_number_and_its_text_have_one_pseudonym(engine: Engine) -> None:
    def found(name: str, data: pa.Array) -> list[Any]:
        engine.load("values", name, pa.table({"v": data}), replayed=False)
        kind = dict(engine.catalog.columns(table(name)))["v"]
        query = exp.select(named(pseudonym(canonical("v", kind), "own"), "p")).from_(table(name))
        query = query.join(release_key(PSEUDONYM, "own"), join_type="cross")
        return sorted(row[0] for row in engine.run("hashes", query))

    with ReleaseKey(SECRET, "study").loaded(engine, [PSEUDONYM]):
        assert found("a", pa.array([1, 2, 30], pa.int64())) == found("b", pa.array(["1", "2", "30"]))


def test_days_are_equally_likely() -> None:
    """The chances of 13 offsets among 20,000 persons: five standard deviations."""
    from sqlanon.core.engines.duckdb.engine import DuckDBEngine

    engine, persons = DuckDBEngine(), 20_000
    try:
        engine.load("values", "t", pa.table({"v": pa.array(range(persons), pa.int64())}), replayed=False)
        with ReleaseKey(SECRET, "study").loaded(engine, [SHIFT]):
            moved = shift_days(canonical("v", "BIGINT"), "own", days=6, keep_weekday=False)
            query = (
                exp.select(named(moved, "days")).from_(table("t")).join(release_key(SHIFT, "own"), join_type="cross")
            )
            counted = exp.select(column("days"), named(exp.Count(this=exp.Star()), "n")).from_(query.subquery("q"))
            rows = dict(engine.run("count", counted.group_by(column("days"))))
    finally:
        engine.close()
    assert sorted(rows) == list(range(-6, 7))
    mean, spread = persons / 13, (persons * 12 / 169) ** 0.5
    assert all(abs(count - mean) < 5 * spread for count in rows.values())


def test_dates_are_shifted(engine: Engine) -> None:
    moments = pa.array([datetime.datetime(2024, 2, 28, 23, 59, 59, 125000), None], pa.timestamp("us"))
    days = pa.array([datetime.date(2024, 2, 28), None], pa.date32())
    engine.load("values", "t", pa.table({"d": days, "m": moments}), replayed=False)
    for name, kind in (("d", "DATE"), ("m", "TIMESTAMP")):
        for moved in (-59, 0, 2):
            value = exp.cast(exp.Anonymous(this="SQLANON_SHIFTED", expressions=[column(name), number(moved)]), kind)
            query = exp.select(named(exp.cast(value, "VARCHAR"), "v")).from_(table("t"))
            [found] = [row[0] for row in engine.run("shift", query) if row[0] is not None]
            before = moments[0].as_py() if name == "m" else days[0].as_py()
            read = datetime.date if name == "d" else datetime.datetime
            assert read.fromisoformat(found) == before + datetime.timedelta(days=moved)
            assert len(engine.run("shift", query)) == 2
