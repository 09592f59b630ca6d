"""Figures of risk from the sizes of classes: against sums of all terms, against figures of ADULT, at the edges."""

import json
import math
import random
from pathlib import Path

import brute_risk as brute
import numpy as np
import pytest
from effort import enough, scaled
from policies import quasi

import sqlanon
from sqlanon.assess.risk.figures import assess
from sqlanon.assess.risk.individual import WeightedRisk, individual_risks, weighted_risk
from sqlanon.assess.risk.question import RiskQuestion
from sqlanon.core.sizes.histogram import PopulationClasses, SizeHistogram, in_buckets
from sqlanon.core.sizes.population import pitman, zayatz
from sqlanon.core.sizes.special import (
    harmonic_sum,
    harmonic_sums,
    log_falling_ratio,
    log_gamma_ratio,
    weighted_harmonic_sum,
)
from sqlanon.errors import InputError

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult"
QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]
PEOPLE = 317_238_626


def sizes_of(*sizes: int) -> SizeHistogram:
    return SizeHistogram.of((size, 1) for size in sizes)


def drawn(rng: random.Random) -> list[int]:
    """Random sizes of classes: many small ones, and a few large ones."""
    return [min(int(rng.paretovariate(rng.choice([0.7, 1.2, 2.0]))), 400) for _ in range(rng.choice([1, 2, 9, 60]))]


@pytest.mark.parametrize("seed", range(scaled(60)))
def test_figures_are_those_of_all_records_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    sizes, suppressed, k = drawn(rng), rng.choice([0, 1, 30]), rng.choice([1, 2, 5, 7])
    histogram = SizeHistogram.of(((size, 1) for size in sizes), suppressed=suppressed)
    risk = assess(histogram, RiskQuestion(("a", "b"), k=k))
    for key, (value, of_all) in brute.figures(sizes, suppressed, k).items():
        if value is None or of_all is None:
            assert risk[key].value is risk[key].of_all is None, key
            continue
        assert (risk[key].value, risk[key].of_all) == pytest.approx((value, of_all), rel=1e-12), key
    assert (risk.smallest_class, risk.largest_class) == (min(sizes), max(sizes))
    assert sum(bucket.records for bucket in risk.sizes) == sum(sizes) == risk.records
    assert sum(bucket.classes for bucket in risk.sizes) == len(sizes) == risk.classes
    assert risk["journalist_highest"].bound and risk["journalist_highest"].value == risk["prosecutor_highest"].value
    json.dumps(risk.to_dict(), allow_nan=False)


@pytest.mark.parametrize("seed", range(scaled(40)))
def test_zayatz_is_the_formula_with_whole_numbers(seed: int) -> None:
    rng = random.Random(seed)
    sizes = drawn(rng)
    n = sum(sizes)
    population = n + rng.choice([0, 1, 5, n, 50 * n])
    assert zayatz(sizes_of(*sizes), population) == pytest.approx(brute.zayatz(sizes, population), rel=1e-9, abs=1e-300)


def test_pitman_solves_both_equations() -> None:
    solved = 0
    for seed in range(scaled(40)):
        rng = random.Random(seed)
        sizes = drawn(rng)
        model = pitman(sizes_of(*sizes))
        if model is None:
            continue
        solved += 1
        first, second, third, fourth = brute.pitman_equations(sizes, model.theta, model.alpha)
        assert first == pytest.approx(second, rel=1e-8) and third == pytest.approx(fourth, rel=1e-8)
        n = 10 * sum(sizes)
        assert model.uniques(n) == pytest.approx(min(n, brute.pitman_uniques(model.theta, model.alpha, n)), rel=1e-8)
    assert enough(solved >= 5)


@pytest.mark.parametrize("sizes", [(1,), (7,), (1, 1, 1), (3, 3, 3), (100, 100)])
def test_pitman_has_no_solution_and_prints_none(sizes: tuple[int, ...]) -> None:
    assert pitman(sizes_of(*sizes)) is None
    figure = assess(sizes_of(*sizes), RiskQuestion(("a",), population_size=1000))["population_uniques_pitman"]
    if 1 in sizes:
        assert figure.value is None and figure.of_all is None and "no estimate" in figure.sentence
    else:  # who is unique in the population is unique in the sample
        assert figure.value == 0


@pytest.mark.parametrize("start", [1e-3, 0.3, 1.0, 15.5, 16.0, 2e5])
def test_differences_of_special_functions_are_sums_of_all_terms(start: float) -> None:
    for terms in (0, 1, 5, 16, 40, 3000):
        expected = math.fsum(1 / (start + i) for i in range(terms))
        assert harmonic_sum(start, terms) == pytest.approx(expected, rel=1e-13)
        assert harmonic_sums(start, np.asarray([float(terms)]))[0] == pytest.approx(expected, rel=1e-13)
        weighted = math.fsum(i / (start + i) for i in range(1, terms + 1))
        assert weighted_harmonic_sum(start, terms) == pytest.approx(weighted, rel=1e-10)
        # Γ(x + terms)/Γ(x) is a product
        product = math.fsum(math.log(start + i) for i in range(terms))
        assert log_gamma_ratio(start, terms) == pytest.approx(product, rel=1e-12, abs=1e-12)


def test_falling_ratios_are_products() -> None:
    left, whole = 5000, 900_000
    steps = np.asarray([0.0, 1, 2, 100, 4990, 5000])
    for step, found in zip(steps, log_falling_ratio(left, whole, steps), strict=True):
        expected = math.fsum(math.log((left - j) / (whole - j)) for j in range(int(step)))
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-13)
    assert log_falling_ratio(10**9 - 10**8, 10**9, np.asarray([1.0]))[0] == pytest.approx(math.log(0.9), rel=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 31, 32, 33, 34, 120])
def test_individual_risk_is_the_closed_form_or_the_integral(size: int) -> None:
    for share in (0.02, 0.1, 0.3, 0.499, 0.5, 0.51, 0.8, 0.95, 1.0):
        weight = size / share
        [found] = individual_risks(np.asarray([float(size)]), np.asarray([weight]))
        assert found == pytest.approx(brute.individual(size, weight), rel=1e-9)


def test_individual_risk_at_its_limits() -> None:
    """Near p = 1 the closed forms are 0/0; of a tiny p, the risk of a unique is about p ln(1/p)."""
    near = individual_risks(np.asarray([1.0, 2.0, 5.0]), np.asarray([1 + 1e-12, 2 + 1e-12, 5 + 1e-12]))
    assert near == pytest.approx([1, 1 / 2, 1 / 5], rel=1e-9)
    tiny = individual_risks(np.asarray([1.0, 2.0, 10.0]), np.asarray([1e12, 1e12, 1e12]))
    assert tiny[0] == pytest.approx(1e-12 * math.log(1e12), rel=1e-9)
    assert tiny[1] == pytest.approx(2e-12, rel=1e-9) and tiny[2] == pytest.approx(10 / 9 * 1e-12, rel=1e-9)
    light = individual_risks(np.asarray([4.0]), np.asarray([2.0]))  # fewer people than records
    assert light == pytest.approx([1 / 4])


def test_a_hundred_million_records_need_no_loop() -> None:
    """Ten thousand sizes of classes: the estimates take tenths of a second."""
    histogram = SizeHistogram.of((size, max(1, 30_000_000 // size**2)) for size in range(1, 10_001))
    assert histogram.records > 10**8
    model = pitman(histogram)
    assert model is not None and 0 < model.alpha < 1
    risk = assess(histogram, RiskQuestion(("a",), population_size=8_000_000_000))
    assert 0 < risk["population_uniques_pitman"].value < risk["sample_uniques"].value
    assert 0 < risk["population_uniques_zayatz"].value < risk["sample_uniques"].value


def test_a_billion_records_in_one_class() -> None:
    risk = assess(sizes_of(10**9), RiskQuestion(("a",), population_size=10**10))
    assert risk["prosecutor_highest"].value == 1e-9 and risk["separation"].value == 0
    assert risk["population_uniques_zayatz"].value == 0
    assert risk.sizes[0].least <= 10**9 <= risk.sizes[0].most
    both = assess(sizes_of(10**9, 10**9), RiskQuestion(("a",)))
    assert both["separation"].value == pytest.approx(0.5)
    assert assess(sizes_of(1, 10**9), RiskQuestion(("a",), population_size=10**10))["sample_uniques"].records == 1


def test_small_tables() -> None:
    one = assess(sizes_of(1), RiskQuestion(("a",)))
    assert one["prosecutor_highest"].value == 1 and one["separation"].value is None
    assert "certainty" in one["prosecutor_highest"].sentence and "the one record that is" in one.figures[0].sentence
    nothing = assess(SizeHistogram(), RiskQuestion(("a",)))
    assert nothing.figures == () and nothing.sizes == () and nothing.smallest_class is None
    assert {threshold.met for threshold in nothing.thresholds} == {None}
    large_k = assess(sizes_of(2, 3), RiskQuestion(("a",), k=100))
    assert large_k["sample_below_k"].value == 1 and "All 5 records are" in large_k["sample_below_k"].sentence
    assert large_k.get("records_at_risk_over_0.01") is not None and large_k.get("nowhere") is None


def test_a_population_that_is_smaller_than_the_sample_is_refused() -> None:
    with pytest.raises(InputError, match="smaller than the sample"):
        assess(sizes_of(3, 4), RiskQuestion(("a",), population_size=6))
    with pytest.raises(InputError):  # the suppressed records belong to the sample
        assess(SizeHistogram(((3, 1),), suppressed=4), RiskQuestion(("a",), population_size=6))
    assert assess(sizes_of(3, 4), RiskQuestion(("a",), population_size=7)).records == 7


def test_sentences_agree_with_their_numbers() -> None:
    risk = assess(sizes_of(5, 5), RiskQuestion(tuple("abcdefg")))
    assert risk["prosecutor_highest"].sentence == (
        "An attacker who knows a target's seven attributes and that they are in the table finds them with a "
        "probability of 1 in 5 at most."
    )
    assert "one attribute and" in assess(sizes_of(5), RiskQuestion(("a",)))["prosecutor_highest"].sentence
    assert "this attribute" in assess(sizes_of(5, 1), RiskQuestion(("a",)))["sample_uniques"].sentence
    nobody = assess(sizes_of(5), RiskQuestion(()))["prosecutor_highest"].sentence
    assert nobody.startswith("An attacker who knows nothing but that a target is in the table finds them")
    entities = assess(sizes_of(1, 1, 3), RiskQuestion(("a", "b"), unit="entity"))
    assert entities["sample_uniques"].sentence.startswith("2 entities (40 %) are alone: no other entity")
    assert "1 record (" in assess(sizes_of(1, 3), RiskQuestion(("a", "b")))["sample_uniques"].sentence


def test_thresholds_are_met_or_not_and_prove_nothing() -> None:
    met = {t.key: t.met for t in assess(sizes_of(12, 40), RiskQuestion(("a",))).thresholds}
    assert met == {"pdpc_3": True, "pdpc_5": True, "cihi_0.05": False, "ema_0.09": True, "hipaa_20000": None,
                   "opensafely_7": True}  # fmt: skip
    of_seven = {t.key: t.met for t in assess(sizes_of(7), RiskQuestion(("a",))).thresholds}
    assert not of_seven["opensafely_7"] and not of_seven["ema_0.09"] and of_seven["pdpc_5"]
    of_eleven = {t.key: t.met for t in assess(sizes_of(11), RiskQuestion(("a",))).thresholds}
    assert of_eleven["ema_0.09"] is False  # 1/11 > .09


def test_a_population_table_gives_the_journalist() -> None:
    risk = assess(sizes_of(1, 3), RiskQuestion(("a",)), population=PopulationClasses(((1, 4, 1), (3, 5, 1))))
    assert risk["journalist_highest"].value == 1 / 4 and not risk["journalist_highest"].bound
    assert risk["journalist_average"].value == pytest.approx((1 / 4 + 3 / 5) / 4)
    assert risk["marketer"].value == risk["journalist_average"].value


def test_weights_of_classes_add_up() -> None:
    found = weighted_risk(np.asarray([1.0, 2.0]), np.asarray([10.0, 1.5]), np.asarray([3.0, 1.0]))
    assert found.light == 1 and found.population == pytest.approx(31.5)
    assert found.expected == pytest.approx(3 * brute.individual(1, 10) + 2 * 0.5)
    risk = assess(SizeHistogram(((1, 3), (2, 1))), RiskQuestion(("a",)), weighted=found)
    assert risk["expected_reidentifications"].value == found.expected
    assert risk["individual_average"].value == pytest.approx(found.expected / 5)
    assert risk.notes == (
        "The weights of 1 class add up to less than its records: it was taken to be all of its population.",
    )
    assert weighted_risk(*[np.asarray([], dtype=float)] * 3) == WeightedRisk(0, 0, 0)


def test_buckets_are_powers_of_two_without_gaps() -> None:
    found = in_buckets(SizeHistogram.of([(1, 2), (9, 1)]), SizeHistogram.of([(3, 1)]))
    assert [(b.least, b.most, b.classes, b.suppressed_records) for b in found] == [
        (1, 1, 2, 0), (2, 3, 0, 3), (4, 7, 0, 0), (8, 15, 1, 0),
    ]  # fmt: skip


@pytest.mark.shared
def test_the_figures_of_adult_are_those_that_are_known() -> None:
    columns = {
        name: quasi({"file": str(ADULT / f"adult_hierarchy_{name}.csv"), "delimiter": ";"})
        for name in QUASI
    }  # fmt: skip
    document = {
        "source": str(ADULT / "adult.csv"), "csv": {"delimiter": ";"}, "undeclared": "drop", "columns": columns,
        "privacy": [{"type": "k_anonymity", "k": 5}], "suppression_limit": 0.05,
        "quality": {"measure": "loss", "aggregate": "geometric_mean"},
    }  # fmt: skip
    with sqlanon.plan(None, document) as plan:
        found = plan.risk(population_size=PEOPLE)
        before, after = found.before, found.after
        assert (before.classes, before["sample_uniques"].records, before.k) == (12_458, 8_841, 5)
        assert before["sample_uniques"].value == pytest.approx(0.2931, abs=5e-5)
        assert before["prosecutor_average"].value == pytest.approx(0.41304, abs=5e-6)
        assert before["records_at_risk_over_0.2"].value == pytest.approx(0.50902, abs=5e-6)
        assert before["population_uniques_pitman"].value == pytest.approx(0.0145458, abs=5e-8)
        assert before["population_uniques_zayatz"].value == pytest.approx(0.0860409, abs=5e-8)
        assert after["prosecutor_highest"].value == 0.2
        assert after["prosecutor_average"].value == pytest.approx(0.0137771, abs=5e-8)
        assert after.suppressed == plan.ledger.suppressed and after.records == plan.ledger.published


def test_a_sum_over_classes_is_no_number_of_entities() -> None:
    """Seven entities, alone in two or three classes each: nobody may read that there are 19 of them."""
    question = RiskQuestion(("a", "b"), unit="entity", entities=7)
    alone = assess(sizes_of(*[1] * 19), question)
    assert alone["sample_uniques"].sentence.startswith(
        "Of the 19 entities, each once in every class of theirs, all are alone"
    )
    assert "alone in each of its classes" in alone["prosecutor_highest"].sentence
    some = assess(sizes_of(*[1] * 3, 8, 8), question)
    assert "one of those that are alone in a class" in some["prosecutor_highest"].sentence
    assert all("19 entities" not in figure.sentence or "each once" in figure.sentence for figure in (*alone, *some))
    once = assess(sizes_of(1, 3, 3), question)  # each of the seven stands in one class
    assert not any("each once" in figure.sentence for figure in once)
