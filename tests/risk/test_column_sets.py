"""Sets of columns agree with a brute force on random tables with NULLs, on every engine, and with figures of ADULT."""

import random
from collections import Counter
from pathlib import Path

import brute_column_sets as brute
import pyarrow as pa
import pytest
from effort import Block, scaled
from engine_kinds import KINDS, SOURCE, Kind, duckdb

from sqlanon.assess.risk.column_sets import ColumnSet, ColumnSets, measure_column_sets, rank_sets, singling_out
from sqlanon.core.engines.base import Engine
from sqlanon.core.source.files import Reading
from sqlanon.core.source.opening import open_source
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import InputError, SourceError, UnsupportedError

NAMES = ("sex", "Größe", 'quo"te', "two words", "e")
TEXTS = (None, "", "a", "b", "A", " ", "é", "NULL", "0")
NUMBERS = (None, 0, 1, -1, 2**62, 3)
ENGINES = [kind for kind in KINDS if kind.name != "spark"]


def random_records(rng: random.Random, columns: int) -> list[brute.Record]:
    pools = [rng.sample(rng.choice([TEXTS, NUMBERS]), rng.randint(1, 5)) for _ in range(columns)]
    return [tuple(rng.choice(pool) for pool in pools) for _ in range(rng.choice([0, 1, 2, 7, 20, 40]))]


def loaded(engine: Engine, records: list[brute.Record], columns: int) -> list[str]:
    """Load the records into the engine's table and return the names of their columns."""
    data: dict[str, pa.Array] = {}
    for place in range(columns):
        values = [record[place] for record in records]
        kind = pa.int64() if any(isinstance(value, int) for value in values) else pa.string()
        data[NAMES[place]] = pa.array(values, kind)
    engine.drop(SOURCE)
    engine.load("source", SOURCE, pa.table(data), replayed=False)
    return list(NAMES[:columns])


def agrees(found: ColumnSets, records: list[brute.Record], largest: int) -> None:
    """Compare all that was found with the brute force."""
    columns = len(found.columns)
    places = {name: place for place, name in enumerate(found.columns)}
    minimal = brute.minimal_uniques(records, columns, largest)
    of_set = Counter(places for sets in minimal for places in sets)
    assert found.records == len(records)
    for item in found.sets:
        chosen = tuple(places[name] for name in item.columns)
        combined, uniques, apart = brute.figures(records, chosen)
        assert (item.combinations, item.uniques) == (combined, uniques), item
        assert item.separation == (None if apart is None else pytest.approx(float(apart), abs=1e-12)), item
        if item.minimal_uniques is not None:
            assert item.minimal_uniques == of_set[chosen], item
    if not records:
        assert found.minimal is None
        return
    assert found.minimal is not None and found.minimal.largest == largest
    scores = [brute.score(sets, columns, largest) for sets in minimal]
    assert found.minimal.records == sum(map(bool, minimal))
    assert found.minimal.by_smallest == Counter(min(map(len, sets)) for sets in minimal if sets)
    assert (found.minimal.total, found.minimal.highest) == (sum(scores), max(scores))
    assert found.minimal.mean == pytest.approx(sum(scores) / len(records))
    for name, place in places.items():
        own = sum(brute.score([sets], columns, largest) for sets in of_set.elements() if place in sets)
        assert found.minimal.contributions[name] == pytest.approx(own / sum(scores) if sum(scores) else 0.0)


@pytest.mark.parametrize("kind", ENGINES, ids=str)
def test_sets_agree_with_the_brute_force_on_every_engine(kind: Kind, request: pytest.FixtureRequest) -> None:
    engine = kind.open(request)
    try:
        for seed in Block(0, scaled(30)):
            rng = random.Random(seed)
            columns = rng.randint(1, 5)
            records = random_records(rng, columns)
            named = loaded(engine, records, columns)
            nulls = rng.choice(["extended", "basic"])
            found = measure_column_sets(engine, table(SOURCE), named, nulls=nulls, largest_minimal=rng.choice([3, 4]))
            taking = [record for record in records if nulls == "extended" or None not in record]
            assert found.left_out == len(records) - len(taking)
            assert found.complete_to == columns and len(found.sets) == found.possible
            agrees(found, taking, min(found.minimal.largest if found.minimal else 0, max(columns - 1, 1)))
    finally:
        engine.drop(SOURCE)
        engine.close()


def test_limits_leave_out_whole_sizes_and_the_result_says_so() -> None:
    with duckdb() as engine:
        records = random_records(random.Random(5), 5) or [(1, 2, 3, 4, 5)]
        named = loaded(engine, records, 5)
        few = measure_column_sets(engine, table(SOURCE), named, most_sets=15)
        work = measure_column_sets(engine, table(SOURCE), named, most_work=0)
        nothing = measure_column_sets(engine, table(SOURCE), named, largest_minimal=0)
    assert few.complete_to == 2 and [len(item.columns) for item in few.sets] == [1] * 5 + [2] * 10 + [5]
    assert few.scope() == (
        "16 of 31 sets of the 5 columns were looked at: all of at most 2 columns, and all columns together."
    )
    assert few.minimal is not None and few.minimal.largest == 2
    assert work.complete_to == 1 and len(work.sets) == 6
    assert nothing.minimal is None and nothing.sets[0].minimal_uniques is None


def test_supersets_of_a_key_are_not_counted_again() -> None:
    with duckdb() as engine:
        records = [(str(place), "a", place % 3, None) for place in range(30)]
        named = loaded(engine, records, 4)
        found = measure_column_sets(engine, table(SOURCE), named)
        statements = [entry.name for entry in engine.journal.entries]
    assert all(item.uniques == 30 for item in found.sets if named[0] in item.columns)
    assert found.minimal is not None and found.minimal.by_smallest == {1: 30}
    assert found.minimal.contributions[named[0]] == 1.0
    assert statements.count("group sets") == 3, "of size 4 there is the set of all columns alone"
    agrees(found, records, 3)


def test_no_working_table_is_left() -> None:
    with duckdb() as engine:
        named = loaded(engine, [("a", "b")], 2)
        measure_column_sets(engine, table(SOURCE), named)
        left = [row[0] for row in engine.run("tables", "SELECT table_name FROM duckdb_tables()")]
    assert left == [SOURCE]


def test_what_cannot_be_measured_is_refused() -> None:
    with duckdb() as engine:
        named = loaded(engine, [("a", "b")], 2)
        with pytest.raises(InputError, match="No column is named"):
            measure_column_sets(engine, table(SOURCE), [])
        with pytest.raises(SourceError, match="no column 'absent'"):
            measure_column_sets(engine, table(SOURCE), ["absent"])
        with pytest.raises(InputError, match="below 0"):
            measure_column_sets(engine, table(SOURCE), named, most_sets=-1)
        wide = pa.table({f"c{i}": ["a"] for i in range(63)})
        engine.load("wide", "wide", wide, replayed=False)
        with pytest.raises(UnsupportedError, match="63 columns"):
            measure_column_sets(engine, table("wide"), wide.column_names)


def test_the_ranking_names_a_set_for_what_it_adds() -> None:
    def one(columns: str, uniques: int) -> ColumnSet:
        return ColumnSet(tuple(columns), 100, uniques + 1, uniques, 0.5)

    sets = (one("a", 40), one("b", 0), one("c", 1), one("ab", 43), one("ac", 60), one("bc", 1), one("abc", 90))
    found = ColumnSets(("a", "b", "c"), 100, 0, sets, 3, None)
    assert ["".join(item.columns) for item in rank_sets(found)] == ["a", "c", "ac", "abc"]
    assert singling_out(sets[0]) == "a singles out 40 % of the records (40 of 100)."
    assert singling_out(sets[-1]) == "a, b and c together single out 90 % of the records (90 of 100)."


def test_the_figures_of_adult(shared: Path) -> None:
    with open_source(shared / "data/adult/adult.csv", None, reading=Reading({"delimiter": ";"})) as opened:
        columns = [name for name in opened.types if name != "occupation"]
        found = measure_column_sets(opened.engine, opened.relation, columns)
    assert (found.whole.combinations, found.whole.uniques, found.records) == (12_458, 8_841, 30_162)
    assert found.whole.share_of_uniques == pytest.approx(0.2931, abs=5e-5) and len(found.sets) == 255


def test_pairs_of_many_records_are_counted_exactly() -> None:
    """Of two million records with one value the pairs are beyond 32 bits; of three billion they are within 64."""
    with duckdb() as engine:
        engine.run("many", "CREATE TABLE many AS SELECT i % 2 AS a, 1 AS b FROM range(4_000_000) r(i)")
        found = measure_column_sets(engine, table("many"), ["a", "b"])
    pairs = 4_000_000 * 3_999_999 // 2
    assert found.whole.separation == (pairs - 2 * (2_000_000 * 1_999_999 // 2)) / pairs
