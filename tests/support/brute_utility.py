"""Utility by its definitions, record by record, in plain Python; nothing of the package is used.

A record is (its values at level 0, per column the level at which it is published, or None if it is suppressed).
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from brute import Text, Tree

Record = tuple[tuple[Text, ...], tuple[int, ...] | None]


def value_of(tree: Tree, value: Text) -> Text:
    """What counts as one value: the text of level 0."""
    return tree.generalize(value, 0)


def covered(tree: Tree, occurring: Sequence[Text], value: Text, level: int) -> list[Text]:
    """The values that the published value of a level stands for."""
    unlisted = value is not None and value not in tree.map
    if unlisted and level < tree.height - 1:
        return list(occurring)
    text = tree.generalize(value, level)
    return [other for other in occurring if _published(tree, other, level) == text]


def _published(tree: Tree, value: Text, level: int) -> object:
    """The text of a value of level 0; an unlisted one is apart from all others below the top."""
    unlisted = value is not None and value not in tree.map
    return ("unlisted",) if unlisted and level < tree.height - 1 else tree.generalize(value, level)


def spread(tree: Tree, records: Sequence[Record], column: int) -> tuple[Counter, dict[Text, Fraction]]:
    """The records by value, and the released ones in equal parts by what they cover."""
    before = Counter(value_of(tree, values[column]) for values, _ in records)
    occurring = list(before)
    after: dict[Text, Fraction] = dict.fromkeys(occurring, Fraction(0))
    for values, levels in records:
        if levels is not None:
            stands_for = covered(tree, occurring, value_of(tree, values[column]), levels[column])
            for value in stands_for:
                after[value] += Fraction(1, len(stands_for))
    return before, after


def total_variations(tree: Tree, records: Sequence[Record], column: int, uncovered: int) -> tuple[float, float | None]:
    """With the suppressed records as a value of their own, and of the released records alone."""
    before, after = spread(tree, records, column)
    size, published = len(records) + uncovered, sum(after.values())
    with_all = [Fraction(before[value], size) - after[value] / size for value in before]
    with_all += [Fraction(uncovered, size), -Fraction(size - published, size)]
    alone = None
    if published:
        alone = float(sum(abs(Fraction(before[v], len(records)) - after[v] / published) for v in before) / 2)
    return float(sum(map(abs, with_all)) / 2), alone


def moved(tree: Tree, records: Sequence[Record], column: int, place: Callable[[Text], float | None]) -> float | None:
    """The Wasserstein distance of the released records: the area between two distribution functions over the range."""
    before, after = spread(tree, records, column)
    placed = sorted((place(value), value) for value in before if place(value) is not None)
    first = sum(before[value] for _, value in placed)
    second = sum(after[value] for _, value in placed)
    if not first or not second:
        return None
    area, ahead = 0.0, Fraction(0)
    for (here, value), (there, _) in pairwise(placed):
        ahead += Fraction(before[value], first) - after[value] / second
        area += abs(ahead) * (there - here)
    length = placed[-1][0] - placed[0][0]
    return float(area / length) if length else 0.0


def loss(tree: Tree, records: Sequence[Record], column: int, uncovered: int) -> float:
    """The mean of (leaves - 1) / (D - 1), suppressed records counting 1."""
    seen = tree.seen(values[column] for values, _ in records)
    domain = tree.domain(seen)
    if domain <= 1:
        return 0.0
    lost = [
        Fraction(1) if levels is None else Fraction(tree.leaves(values[column], levels[column], seen) - 1, domain - 1)
        for values, levels in records
    ]
    return float((sum(lost) + uncovered) / (len(records) + uncovered))


def answers(trees: Sequence[Tree], records: Sequence[Record], wanted: dict[int, set[Text]]) -> tuple[int, list[float]]:
    """How many records meet a query, and how many seem to: surely, possibly, and on the mean."""
    occurring = {i: list(dict.fromkeys(value_of(trees[i], values[i]) for values, _ in records)) for i in wanted}
    truth, surely, possibly, mean = 0, 0, 0, 0.0
    for values, levels in records:
        own = {i: value_of(trees[i], values[i]) for i in wanted}
        truth += all(own[i] in marks for i, marks in wanted.items())
        if levels is None:
            continue
        shares = []
        for i, marks in wanted.items():
            stands_for = covered(trees[i], occurring[i], own[i], levels[i])
            shares.append(Fraction(sum(value in marks for value in stands_for), len(stands_for)))
        surely += all(share == 1 for share in shares)
        possibly += all(shares)
        mean += float(math.prod(shares))
    return truth, [float(surely), float(possibly), mean]


def cramers_v(pairs: Sequence[tuple[object, object]]) -> float:
    """Cramér's V without its bias, by the sum over all cells of the table (Bergsma 2013); 1 where one column determines
    the other."""
    n = len(pairs)
    rows, columns = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    cells = Counter(pairs)
    if len(rows) < 2 or len(columns) < 2:
        return 0.0
    determined = any(len(cells) == len(side) for side in (rows, columns))  # each category beside one of the other only
    if determined and n >= 2 * len(cells):
        return 1.0
    chi = 0.0
    for row in rows:
        for column in columns:
            expected = rows[row] * columns[column] / n
            chi += (cells[row, column] - expected) ** 2 / expected
    r, c = len(rows), len(columns)
    phi = max(0.0, chi / n - (r - 1) * (c - 1) / (n - 1))
    least = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return min(1.0, math.sqrt(phi / least)) if least > 0 else 0.0


def naive_bayes(
    training: Sequence[tuple[tuple[object, ...], int]], asked: Sequence[tuple[object, ...]]
) -> list[list[int]]:
    """Per row, the classes of the highest score (several where they tie): Laplace smoothing, the share of each class
    times those of its categories."""
    sizes = Counter(guess for _, guess in training)
    found = []
    seen = [{row[i] for row, _ in training} for i in range(len(asked[0]) if asked else 0)]
    for row in asked:
        scores = {}
        for guess, size in sizes.items():
            score = math.log((size + 1) / (len(training) + len(sizes)))
            for i, category in enumerate(row):
                same = sum(other[i] == category and other_guess == guess for other, other_guess in training)
                score += math.log((same + 1) / (size + len(seen[i])))
            scores[guess] = score
        best = max(scores.values())
        found.append(sorted(guess for guess, score in scores.items() if score > best - 1e-9))
    return found
