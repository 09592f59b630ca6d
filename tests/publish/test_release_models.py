"""Models of a whole release from end to end: certificates, engines, audits, what is refused, and bounds by hand."""

import itertools
import math
import random
from pathlib import Path
from typing import Any

import command_line
import duckdb
import numpy as np
import pytest
from brute_risk import pitman_equations, pitman_share, zayatz
from effort import Block, enough, fast_of, scaled, seeds
from random_worlds import document, load, random_release_world

import sqlanon
from sqlanon.core.evaluate.verified_sizes import least_removed, least_total, pitman_shares
from sqlanon.core.models.average_risk import AverageRisk
from sqlanon.core.models.population_uniqueness import PopulationUniqueness
from sqlanon.core.models.release import SizeCut, cut_of
from sqlanon.core.models.sample_uniqueness import SampleUniqueness
from sqlanon.core.sizes.histogram import SizeHistogram
from sqlanon.core.sizes.population import pitman


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
            sqlanon.anonymize(None, wanted).close()
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
            assert least_removed(model, sizes) == removed
            kept, one_more = left(sizes, removed), left(sizes, removed - 1) if removed else []
            assert not kept or figure(kept) <= threshold + 1e-12, (model, sizes)
            assert not one_more or figure(one_more) > threshold, (model, sizes)


@pytest.fixture
def twenty(tmp_path: Path) -> dict[str, Any]:
    """Eight records alone, classes of 2, 2 and 8: Pitman's equations lose their solution without six of them."""
    values = [f"alone {i}" for i in range(8)] + ["x", "x", "y", "y"] + ["z"] * 8
    source = tmp_path / "twenty.csv"
    source.write_text("q\n" + "".join(f"{value}\n" for value in values))
    model = {"type": "population_uniqueness", "threshold": 0.02, "population": 500, "estimator": "pitman"}
    columns = {"q": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    return {"source": str(source), "columns": columns, "privacy": [model], "suppression_count": 6}


def test_pitman_loses_its_solution_once_six_of_twenty_are_suppressed() -> None:
    sizes = [(1, 8), (2, 2), (8, 1)]
    expected = [0.1221, 0.0937, 0.0666, 0.0422, 0.0222, 0.00834, math.inf]
    assert pitman_shares(sizes, 500, np.arange(7.0)) == pytest.approx(expected, rel=2e-3)
    for removed, share in enumerate(expected[:-1]):
        model = pitman(SizeHistogram(((1, 8 - removed), (2, 2), (8, 1))))
        assert model is not None and model.uniques(500) / 500 == pytest.approx(share, rel=2e-3)
    assert pitman(SizeHistogram(((1, 2), (2, 2), (8, 1)))) is None


@pytest.mark.parametrize("where", fast_of(["local", "engine"], "engine"))
def test_every_number_is_tried_where_pitman_has_a_solution_for_some(
    twenty: dict[str, Any], where: str, tmp_path: Path
) -> None:
    policy = {**twenty, "search": {"where": where}, "output": {"file": str(tmp_path / "release.csv")}}
    with sqlanon.anonymize(None, policy) as release:
        assert release.ledger.suppressed == 5
        assert release.certificate.loss == 0.25
        assert release.certificate.optimal
    found = sqlanon.verify(f"{policy['output']['file']}.certificate.json", sqlanon.Policy.from_dict(policy))
    assert found.holds and found.optimal, found.faults


def test_a_verification_does_not_ask_the_function_that_chose(
    twenty: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that halves suppresses eight; the verification finds that fewer do."""
    policy = {**twenty, "suppression_count": 8, "output": {"file": str(tmp_path / "release.csv")}}
    monkeypatch.setattr(PopulationUniqueness, "removed", lambda self, sizes: sum(c for s, c in sizes if s == 1))
    with sqlanon.anonymize(None, policy) as release:
        assert release.ledger.suppressed == 8
    found = sqlanon.verify(f"{policy['output']['file']}.certificate.json", sqlanon.Policy.from_dict(policy))
    assert not found.holds


@pytest.mark.parametrize(
    "model",
    [
        {"type": "average_risk", "threshold": 0.4},
        {"type": "sample_uniqueness", "threshold": 0.05},
        {"type": "population_uniqueness", "threshold": 0.02, "population": 500, "estimator": "zayatz"},
    ],
    ids=lambda model: model["type"],
)
def test_a_verification_does_not_ask_for_the_bound_of_the_search(
    model: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that takes it that any node suppresses most records calls the topmost node optimal."""
    source = tmp_path / "source.csv"
    source.write_text("q\n" + "".join(f"{value}\n" for value in [*"abc", *"d" * 9, *"e" * 8]))
    hierarchy = {"levels": {value: ["early" if value < "d" else "late", "*"] for value in "abcde"}}
    policy = sqlanon.Policy.from_dict(
        {
            "source": str(source), "columns": {"q": {"role": "quasi_identifier", "hierarchy": hierarchy}},
            "privacy": [model], "suppression_limit": 0.3, "output": {"file": str(tmp_path / "release.csv")},
        }
    )  # fmt: skip

    def half(_: object, classes: list[tuple[int, int, int]]) -> int:
        return sum(n * count for n, _, count in classes) // 2

    monkeypatch.setattr(type(policy.models[0]), "least", half)
    with sqlanon.anonymize(None, policy) as release:
        assert release.certificate.loss == 1 and release.certificate.optimal
    assert not sqlanon.verify(f"{tmp_path}/release.csv.certificate.json", policy).holds


def test_both_bounds_are_those_of_the_definition() -> None:
    rng = random.Random(9)
    for _ in range(300):
        sizes = [rng.randint(1, 6) for _ in range(rng.randint(1, 6))]
        classes = [(n, rng.randint(0, n), rng.randint(1, 5)) for n in sizes]
        for threshold in (0.05, 0.1, 0.2, 0.35, 0.7, 1):
            for model in (AverageRisk(threshold), SampleUniqueness(threshold), SampleUniqueness(0)):
                assert least_total(model, classes) == model.least(classes), (model, classes)


def test_pitman_agrees_with_the_sums_of_the_definition() -> None:
    rng, lost = random.Random(11), 0
    for _ in range(2 + scaled(10)):
        alone = rng.randint(3, 10)
        sizes = [(1, alone), *sorted({rng.randint(2, 8): rng.randint(1, 2) for _ in range(rng.randint(1, 3))}.items())]
        population = rng.choice([40, 500, 100_000]) + sum(size * count for size, count in sizes)
        shares = [pitman_share(left(sizes, number), population) for number in range(alone)]
        known = sorted(share for share in shares if share is not None)
        lost += any(one is not None and other is None for one, other in itertools.pairwise(shares))
        for threshold in {0.01, *(share * 1.0001 for share in known[:1] + known[-1:])}:
            model = PopulationUniqueness(threshold, population, "pitman")
            holding = (number for number, share in enumerate(shares) if share is not None and share <= threshold)
            expected = next(holding, alone)
            assert (model.removed(sizes), least_removed(model, sizes)) == (expected, expected), (sizes, threshold)
    assert enough(lost > 3)


def test_pitman_is_solved_up_to_the_end_of_the_first_equation() -> None:
    """θ is near 0 there, between the last two of the α that are looked at."""
    model = pitman(SizeHistogram(((1, 10), (5, 1))))
    assert model is not None
    one, other, third, fourth = pitman_equations([1] * 10 + [5], model.theta, model.alpha)
    assert (one, third) == (pytest.approx(other, rel=1e-9), pytest.approx(fourth, rel=1e-9))


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
    with pytest.raises(sqlanon.PolicyError, match="average_risk"):
        sqlanon.Policy.from_dict(wanted)


def test_a_population_smaller_than_the_source_is_refused(people: dict[str, Any]) -> None:
    privacy = [{"type": "population_uniqueness", "threshold": 0.1, "population": 3, "estimator": "zayatz"}]
    with pytest.raises(sqlanon.InputError, match="population of 3"):
        sqlanon.plan(None, {**people, "privacy": privacy})


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
