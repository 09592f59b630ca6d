"""Models of a whole release from end to end: certificates, engines, audits, what is refused, and bounds by hand."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import command_line
import duckdb
import pytest
from brute_risk import zayatz
from effort import Block, enough, seeds
from random_worlds import document, load, random_release_world

import sqlanon
from sqlanon.models.average_risk import AverageRisk
from sqlanon.models.population_uniqueness import PopulationUniqueness
from sqlanon.models.release import SizeCut, cut_of
from sqlanon.models.sample_uniqueness import SampleUniqueness
from sqlanon.sizes.histogram import SizeHistogram
from sqlanon.sizes.population import pitman


@pytest.mark.slow
@seeds(40, 10, first=500)
def test_certificates_are_verified_from_the_original_values(block: Block, tmp_path: Path) -> None:
    verified = 0
    for seed in block:
        world, rng = random_release_world(seed), random.Random(seed)
        policy = document(world, rng)
        path, database = tmp_path / f"{seed}.csv", tmp_path / f"{seed}.duckdb"
        with duckdb.connect(str(database)) as connection:
            load(connection, world)
        wanted = {**policy, "source": str(database), "output": {"file": str(path)}}
        try:
            sqlanon.anonymize(None, sqlanon.Policy.from_dict(wanted)).close()
        except sqlanon.NoSolutionError:
            continue
        found = sqlanon.verify(f"{path}.certificate.json", sqlanon.Policy.from_dict(wanted))
        assert found.holds, (seed, found.faults)
        verified += 1
    assert enough(verified > 2)


def histogram(rng: random.Random) -> list[tuple[int, int]]:
    return sorted({rng.randint(1, 9): rng.randint(1, 30) for _ in range(rng.randint(1, 6))}.items())


def left(sizes: list[tuple[int, int]], removed: int) -> list[int]:
    return [size for size, count in sizes for _ in range(count)][removed:]


def test_no_class_more_than_needed_is_removed() -> None:
    rng = random.Random(5)
    for _ in range(400):
        sizes, threshold = histogram(rng), rng.choice([0.05, 0.1, 0.2, 0.35, 0.7])
        for model, figure in (
            (AverageRisk(threshold), lambda found: len(found) / sum(found)),
            (SampleUniqueness(threshold), lambda found: found.count(1) / sum(found)),
            (PopulationUniqueness(threshold, 2_000, "zayatz"), lambda found: zayatz(found, 2_000)),
        ):
            removed = model.removed(sizes)
            kept, one_more = left(sizes, removed), left(sizes, removed - 1) if removed else []
            assert not kept or figure(kept) <= threshold + 1e-12, (model, sizes)
            assert not one_more or figure(one_more) > threshold, (model, sizes)


def test_pitman_without_a_solution_does_not_hold() -> None:
    model = PopulationUniqueness(1, 1_000, "pitman")
    assert pitman(SizeHistogram(((1, 5),))) is None
    assert not model.holds([(1, 5)])
    assert model.holds([(2, 5)])
    assert model.removed([(1, 5)]) == 5


def test_a_threshold_is_the_decimal_fraction_that_was_written() -> None:
    assert AverageRisk(0.1).removed([(10, 3)]) == 0
    assert AverageRisk(0.1).removed([(9, 1), (10, 3)]) == 1
    huge = 10**17
    assert AverageRisk(0.3).removed([(3, huge)]) == huge
    assert AverageRisk(0.34).removed([(3, huge)]) == 0


def test_a_cut_counts_the_smallest_classes() -> None:
    assert cut_of([(1, 4), (3, 2)], 4) == SizeCut(1, 4)
    assert cut_of([(1, 4), (3, 2)], 6) == SizeCut(3, 2)


@pytest.fixture
def people(tmp_path: Path) -> dict[str, Any]:
    """Four classes of 1, 1, 2 and 6 records."""
    rows = [("a",), ("b",), ("c",), ("c",), *[("d",)] * 6]
    source = tmp_path / "people.csv"
    source.write_text("q,person\n" + "".join(f"{value},{number}\n" for number, (value,) in enumerate(rows)))
    columns = {"q": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "person": {"role": "drop"}}
    return {"source": str(source), "columns": columns, "suppression_limit": 0.2}


@pytest.mark.parametrize(
    "changes, key",
    [
        ({"entity": "person"}, "entity"),
        ({"transformation": {"type": "local_recoding", "nodes": 2}}, "transformation"),
        ({"output": {"live_view": "v"}}, "live view"),
    ],
)
def test_what_judges_classes_alone_is_refused_early(people: dict[str, Any], changes: dict[str, Any], key: str) -> None:
    columns = {"q": people["columns"]["q"]} if "entity" in changes else people["columns"]
    wanted = {**people, "columns": columns, "privacy": [{"type": "average_risk", "threshold": 0.2}], **changes}
    with pytest.raises(sqlanon.PolicyError) as caught:
        sqlanon.Policy.from_dict(wanted)
    assert "average_risk" in str(caught.value)


def test_a_population_smaller_than_the_source_is_refused(people: dict[str, Any]) -> None:
    privacy = [{"type": "population_uniqueness", "threshold": 0.1, "population": 3, "estimator": "zayatz"}]
    with pytest.raises(sqlanon.InputError, match="population of 3"):
        sqlanon.plan(None, sqlanon.Policy.from_dict({**people, "privacy": privacy}))


def test_check_judges_the_whole_relation(people: dict[str, Any]) -> None:
    for model, code in (
        ("average_risk:threshold=0.4", 0),
        ("average_risk:threshold=0.39", 1),
        ("sample_uniqueness:threshold=0.2", 0),
        ("sample_uniqueness:threshold=0.19", 1),
        ("population_uniqueness:threshold=0.2,population=10,estimator=zayatz", 0),
        ("population_uniqueness:threshold=0.01,population=10,estimator=zayatz", 1),
        ("average_risk:threshold=0", 2),
    ):
        result = command_line.sqlanon("check", people["source"], "--qi", "q", "--model", model)
        assert result.returncode == code, (model, result.stdout)
