"""Figures of risk by their definitions, record by record, in plain Python that shares nothing with the package."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction

Key = tuple[Hashable, ...]


def classes(keys: Sequence[Key], entities: Sequence[Hashable] | None = None, *, basic: bool = False) -> dict[Key, int]:
    """The size of every class: its records, or the distinct entities (None is nobody) of its records."""
    found: dict[Key, set[Hashable]] = defaultdict(set)
    owners: Sequence[Hashable] = range(len(keys)) if entities is None else entities
    for key, owner in zip(keys, owners, strict=True):
        if owner is not None and not (basic and None in key):
            found[key].add(owner)
    return {key: len(members) for key, members in found.items()}


def figures(sizes: Sequence[int], suppressed: int = 0, k: int = 5) -> dict[str, tuple[float | None, float | None]]:
    """Each figure of the classes alone, over the records and with suppressed records counted as risk 0."""
    records = [size for size in sizes for _ in range(size)]  # the size of the class of each record
    n, whole = len(records), len(records) + suppressed
    risks = [Fraction(1, size) for size in records]

    def mean(values: Sequence[Fraction | int]) -> tuple[float, float]:
        return float(Fraction(sum(values)) / n), float(Fraction(sum(values)) / whole)

    found: dict[str, tuple[float | None, float | None]] = {
        "prosecutor_highest": (float(max(risks)), float(max(risks))),
        "prosecutor_average": mean(risks),
        "prosecutor_lowest": (float(min(risks)), 0.0 if suppressed else float(min(risks))),
        "sample_uniques": mean([int(size == 1) for size in records]),
        "sample_pairs": mean([int(size == 2) for size in records]),
        "sample_below_k": mean([int(size < k) for size in records]),
        "distinction": (len(sizes) / n, len(sizes) / whole),
    }
    thresholds = {"0.05": Fraction(1, 20), "0.09": Fraction(9, 100), "0.2": Fraction(1, 5), "0.333": Fraction(1, 3)}
    for text, threshold in thresholds.items():
        found[f"records_at_risk_over_{text}"] = mean([int(risk > threshold) for risk in risks])
    labels = [number for number, size in enumerate(sizes) for _ in range(size)]
    apart = sum(1 for one, other in itertools.combinations(labels, 2) if one != other)
    pairs = [apart / math.comb(count, 2) if count > 1 else None for count in (n, whole)]
    found["separation"] = (pairs[0], pairs[1] if pairs[0] is not None else None)
    return found


def journalist(sizes: dict[Key, int], population: dict[Key, int]) -> tuple[float, float]:
    """The highest and the average risk, class by class."""
    shares = [Fraction(1, population[key]) for key, size in sizes.items() for _ in range(size)]
    return float(max(shares)), float(sum(shares) / len(shares))


def zayatz(sizes: Sequence[int], population: int) -> float:
    """The share of the population that is unique in it, with binomial coefficients as whole numbers."""
    n, of_size = sum(sizes), Counter(sizes)
    if 1 not in of_size:
        return 0.0

    def drawn_once(i: int) -> Fraction:
        return Fraction(i * math.comb(population - i, n - 1), math.comb(population, n))

    weights = {i: Fraction(count, len(sizes)) * drawn_once(i) for i, count in of_size.items()}
    chance = weights.get(1, Fraction(0)) / sum(weights.values())
    return float(of_size[1] * chance * Fraction(population, n) / population)


def first_equation(c: int, n: int, theta: float, alpha: float) -> tuple[float, float]:
    """Both sides of the first equation of the likelihood of ``n`` records in ``c`` classes."""
    return (
        math.fsum([1 / (theta + i * alpha) for i in range(1, c)]),
        math.fsum([1 / (theta + i) for i in range(1, n)]),
    )


def pitman_equations(sizes: Sequence[int], theta: float, alpha: float) -> tuple[float, float, float, float]:
    """Both sides of both equations of the likelihood, as sums of all their terms."""
    c, n = len(sizes), sum(sizes)
    return (
        *first_equation(c, n, theta, alpha),
        math.fsum(i / (theta + i * alpha) for i in range(1, c)),
        math.fsum(1 / (i - alpha) for size in sizes for i in range(1, size)),
    )


def pitman_share(sizes: Sequence[int], population: int) -> float | None:
    """The share of the population that is unique in it; None where the equations have no solution.

    By α in small steps, with the θ that solves the first equation, until the second changes its sign.
    """
    c, n = len(sizes), sum(sizes)
    if c < 2 or c == n:
        return None

    def theta_of(alpha: float) -> float:
        low, high = -9.0, 6.0
        for _ in range(55):
            middle = (low + high) / 2
            one, other = first_equation(c, n, 10**middle, alpha)
            low, high = (middle, high) if one > other else (low, middle)
        return 10**low

    def is_positive(alpha: float) -> bool:
        """Whether the left side of the second equation is the larger."""
        _, _, third, fourth = pitman_equations(sizes, theta_of(alpha), alpha)
        return third > fourth

    end = sum(1 / i for i in range(1, c)) / sum(1 / i for i in range(1, n))  # beyond, the first has no θ
    places = [1e-4 + (end - 1e-9 - 1e-4) * (i / 60) ** 2 for i in range(61)]
    for (low, begins), (high, ends) in itertools.pairwise((place, is_positive(place)) for place in places):
        if begins != ends:
            for _ in range(45):
                middle = (low + high) / 2
                low, high = (middle, high) if is_positive(middle) == begins else (low, middle)
            return min(pitman_uniques(theta_of(low), low, population) / population, 1.0)
    return None


def pitman_uniques(theta: float, alpha: float, population: int) -> float:
    return math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(population))


def individual(size: int, weight: float) -> float:
    """The risk of a record of a class by its closed form, or the power series of ₂F₁(f, f; f+1; 1-p)."""
    p = size / weight
    if p >= 1:
        return 1 / size
    if size == 1:
        return p / (1 - p) * math.log(1 / p)
    if size == 2:
        return p / (1 - p) ** 2 * (p * math.log(p) + 1 - p)
    terms, term, j = [], 1.0, 0
    while term > 1e-18 * math.fsum(terms[:1] or [1.0]) or j < 10 * size:
        terms.append(term)
        term *= (size + j) ** 2 / ((size + 1 + j) * (j + 1)) * (1 - p)
        j += 1
    return p**size / size * math.fsum(terms)
