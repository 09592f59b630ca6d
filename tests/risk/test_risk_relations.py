"""The risk of relations agrees with a brute force on random tables with NULLs, on every engine."""

import random
from collections import Counter
from dataclasses import replace

import brute_risk as brute
import pyarrow as pa
import pytest
from effort import Block
from engine_kinds import KINDS, SOURCE, Kind

from sqlanon.assess.risk.measure import Sample
from sqlanon.assess.risk.population_table import population_sample
from sqlanon.assess.risk.question import RiskQuestion
from sqlanon.assess.risk.relation import measure_relation
from sqlanon.core.engines.base import Engine
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import InputError, SourceError

NAMES = ("sex", "Größe", 'quo"te')
TEXTS = (None, "", "a", "b", "A", " ", "é", "NULL", "0")
NUMBERS = (None, 0, 1, -1, 2**62)
POPULATION = "everybody"
ENGINES = [kind for kind in KINDS if kind.name != "spark"]
Row = tuple[str | int | None, ...]


@pytest.fixture(params=ENGINES, ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


def load(engine: Engine, name: str, rows: list[Row], owners: list[str | None], weights: list[float]) -> dict[str, str]:
    """Load rows into a table of the engine and return the types of its columns."""
    data: dict[str, pa.Array] = {}
    for place in range(len(rows[0])):
        values = [row[place] for row in rows]
        is_number = any(isinstance(value, int) for value in values)
        data[NAMES[place]] = pa.array(values, pa.int64() if is_number else pa.string())
    data["person"] = pa.array(owners, pa.string())
    data["w"] = pa.array(weights, pa.float64())
    engine.drop(name)
    engine.load("rows", name, pa.table(data), replayed=False)
    return dict(engine.catalog.columns(table(name)))


def random_rows(rng: random.Random, pools: list[list[str | int | None]], count: int) -> list[Row]:
    return [tuple(rng.choice(pool) for pool in pools) for _ in range(count)]


@pytest.mark.slow
def test_random_relations(kind: Kind, engine: Engine) -> None:
    for seed in Block(1, 3 * kind.cases):
        rng = random.Random(seed)
        pools = [rng.sample(rng.choice([TEXTS, NUMBERS]), rng.randint(1, 4)) for _ in range(rng.randint(1, 3))]
        rows = random_rows(rng, pools, rng.choice([1, 2, 9, 40, 90]))
        owners = [rng.choice(["p", "q", "r", "s", None]) for _ in rows]
        weights = [rng.choice([1.0, 1.5, 7.0, 300.0]) for _ in rows]
        types = load(engine, SOURCE, rows, owners, weights)
        columns, basic = NAMES[: len(pools)], rng.random() < 0.4
        with_entity = rng.random() < 0.4
        sizes = brute.classes(rows, owners if with_entity else None, basic=basic)
        question = RiskQuestion(columns, "entity" if with_entity else "record", "basic" if basic else "extended", 3)
        sample = Sample(engine, table(SOURCE), columns, types, "person" if with_entity else None, basic)
        if not sizes:
            with pytest.raises(InputError, match="no record"):
                measure_relation(sample, question)
            continue
        others = random_rows(rng, pools, 30)
        everybody, names = [*rows, *others], [*owners, *(f"x{i}" for i in range(30))]
        population_types = load(engine, POPULATION, everybody, names, [1.0] * len(names))
        population = population_sample(
            engine, (table(POPULATION), population_types), columns, entity=sample.entity, basic=basic
        )
        weighted = None if with_entity else "w"
        risk = measure_relation(sample, replace(question, population=population, weights=weighted))
        for key, (value, _) in brute.figures(list(sizes.values()), k=3).items():
            assert risk[key].value == (None if value is None else pytest.approx(value, rel=1e-12)), key
        everyone = brute.classes(everybody, names if with_entity else None, basic=basic)
        highest, average = brute.journalist(sizes, everyone)
        assert risk["journalist_highest"].value == pytest.approx(highest)
        assert risk["journalist_average"].value == pytest.approx(average)
        assert risk.excluded == (sum(None in row for row in rows) if basic else 0)
        if weighted:
            taking_part = [w for row, w in zip(rows, weights, strict=True) if row in sizes]
            alone = sum(count == 1 for count in Counter(taking_part).values())
            said = f"{alone} record{' has a weight' if alone == 1 else 's have weights'} that no other record has"
            assert [said in note for note in risk.notes if "no other record has" in note] == [True] * bool(alone)
            sums: dict[tuple[object, ...], float] = dict.fromkeys(sizes, 0.0)
            for row, weight in zip(rows, weights, strict=True):
                if row in sums:
                    sums[row] += weight
            risks = {key: brute.individual(size, sums[key]) for key, size in sizes.items() if sums[key] < 60 * size}
            expected = sum(risks[key] * size for key, size in sizes.items() if key in risks)
            if len(risks) == len(sizes):
                assert risk["expected_reidentifications"].value == pytest.approx(expected, rel=1e-7)
                assert risk["individual_highest"].value == pytest.approx(max(risks.values()), rel=1e-7)
    engine.drop(SOURCE)
    engine.drop(POPULATION)


def test_a_table_that_is_no_population_of_the_sample(engine: Engine) -> None:
    rows: list[Row] = [("a",), ("a",), ("b",), (None,)]
    types = load(engine, SOURCE, rows, [None] * 4, [1.0] * 4)
    sample = Sample(engine, table(SOURCE), ("sex",), types)
    for others, found in (
        ([("a",), ("a",), ("b",)], "1 class of the sample is missing in it"),
        ([("a",), ("b",), (None,), (None,)], "1 class of the sample has fewer members in it"),
        ([("c",)], "3 classes of the sample are missing in it"),
    ):
        kinds = load(engine, POPULATION, list(others), [None] * len(others), [1.0] * len(others))
        population = population_sample(engine, (table(POPULATION), kinds), ("sex",), entity=None, basic=False)
        with pytest.raises(InputError, match=found):
            measure_relation(sample, RiskQuestion(("sex",), population=population))
    with pytest.raises(SourceError, match="The population has no column 'nix'"):
        population_sample(engine, (table(POPULATION), kinds), ("nix",), entity=None, basic=False)


@pytest.mark.parametrize("weight", [0.0, -1.0, None, float("nan"), float("inf")], ids=str)
def test_weights_that_are_not_positive_numbers_are_refused(engine: Engine, weight: float | None) -> None:
    if engine.capabilities.name == "SQLite" and weight is not None and weight != weight:
        pytest.skip("SQLite has no NaN")
    types = load(engine, SOURCE, [("a",), ("a",), ("b",)], [None] * 3, [1.0, weight, 2.0])
    sample = Sample(engine, table(SOURCE), ("sex",), types)
    with pytest.raises(InputError, match=r"The weight 'w' of .* is missing, no number, or not positive"):
        measure_relation(sample, RiskQuestion(("sex",), weights="w"))


def test_weights_that_are_texts(engine: Engine) -> None:
    types = load(engine, SOURCE, [("2.5",), ("1",), ("x",)], ["2.5", "1", "7"], [1.0, 1.0, 1.0])
    sample = Sample(engine, table(SOURCE), ("w",), types)
    found = measure_relation(sample, RiskQuestion(("w",), weights="person"))
    assert found["expected_reidentifications"].value == pytest.approx(3 * brute.individual(3, 10.5))
    with pytest.raises(InputError, match="'sex'"):
        measure_relation(sample, RiskQuestion(("w",), weights="sex"))
    with pytest.raises(InputError, match="entities are counted"):
        measure_relation(Sample(engine, table(SOURCE), ("w",), types, "person"), RiskQuestion(("w",), weights="w"))


def test_without_quasi_identifiers_all_records_are_one_class(engine: Engine) -> None:
    types = load(engine, SOURCE, [("a",), ("b",), ("c",)], ["p", "p", "q"], [1.0, 1.0, 1.0])
    kinds = load(engine, POPULATION, [("a",)] * 5, [None] * 5, [1.0] * 5)
    population = population_sample(engine, (table(POPULATION), kinds), (), entity=None, basic=False)
    asked = RiskQuestion((), population=population, weights="w", column_sets=True)
    risk = measure_relation(Sample(engine, table(SOURCE), (), types), asked)
    assert (risk.classes, risk.records, risk.column_sets) == (1, 3, None)
    assert risk["journalist_highest"].value == 1 / 5
    entities = measure_relation(Sample(engine, table(SOURCE), (), types, "person"), RiskQuestion((), "entity"))
    assert (entities.classes, entities.records) == (1, 2)
