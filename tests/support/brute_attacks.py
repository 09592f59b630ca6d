"""What attacks find in a release, counted one by one in plain Python."""

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import brute

Text = brute.Text
Values = tuple[Text, ...]
Row = tuple[Values, Values]
"""The texts of the quasi-identifiers of a row of a release, or the values of a record; and what stands beside them."""
IN, OUT = 0, 1


@dataclass
class Attacked:
    """A release beside the records that it was made of, and others.

    Attributes:
        records: each with its part: ``IN`` or ``OUT``.
        trees: a hierarchy a quasi-identifier.
        levels: the levels at which each may be published.
        kept: how many of the columns beside the quasi-identifiers are kept; they come first.
    """

    records: list[tuple[Values, Values, int]]
    rows: list[Row]
    trees: list[brute.Tree]
    levels: list[list[int]]
    kept: int

    def fits(self, texts: Values, values: Values) -> bool:
        return all(
            tree.covers(value) and any(tree.generalize(value, level) == text for level in levels)
            for text, value, tree, levels in zip(texts, values, self.trees, self.levels, strict=True)
        )

    def fitting(self, values: Values) -> list[Row]:
        return [row for row in self.rows if self.fits(row[0], values)]

    def of(self, part: int) -> list[tuple[Values, Values]]:
        return [(values, beside) for values, beside, own in self.records if own == part]

    def singled_out(self, places: Sequence[int], part: int) -> tuple[int, int]:
        """Rows, and those whose question has one record as its answer."""
        found = 0
        for texts, beside in self.rows:
            wanted = _at(beside, places)
            answers = [1 for values, own in self.of(part) if self.fits(texts, values) and _at(own, places) == wanted]
            found += len(answers) == 1
        return len(self.rows), found

    def register(self, part: int) -> tuple[int, int, int]:
        """Records, those that one row fits, and those whose row fits nobody else."""
        places, claims, sure = range(self.kept), 0, 0
        for values, beside in self.of(part):
            rows = [row for row in self.fitting(values) if _at(row[1], places) == _at(beside, places)]
            if len(rows) == 1:
                claims += 1
                people = [
                    1
                    for other, own in self.of(part)
                    if self.fits(rows[0][0], other) and _at(own, places) == _at(beside, places)
                ]
                sure += len(people) == 1
        return len(self.of(part)), claims, sure

    def parts(self, part: int) -> tuple[int, int]:
        """Records with a guess, and those that it joins."""
        tried = joined = 0
        for values, beside in self.of(part):
            rows = self.fitting(values)
            if rows:
                tried += 1
                guess = self._most_frequent([row[1] for row in rows], range(len(beside)))
                alone = sum(item == (values, beside) for item in self.of(part)) == 1
                joined += guess == beside and alone
        return tried, joined

    def inferred(self, secret: int, known: Sequence[int], part: int) -> tuple[int, int, int, int, int]:
        """Attempts, successes, those of the naive guess, certain guesses, and those that are right."""
        counts = [0] * 5
        naive = self._most_frequent([row[1] for row in self.rows], [secret]) if self.rows else None
        for values, beside in self.of(part):
            rows = self.fitting(values)
            if not rows:
                continue
            like = [row for row in rows if _at(row[1], known) == _at(beside, known)] or rows
            guess = self._most_frequent([row[1] for row in like], [secret])
            certain = len({row[1][secret] for row in like}) == 1
            right = guess == (beside[secret],)
            hits = (True, right, naive == (beside[secret],), certain, certain and right)
            counts = [count + hit for count, hit in zip(counts, hits, strict=True)]
        attempts, successes, baseline, certain_ones, certain_right = counts
        return attempts, successes, baseline, certain_ones, certain_right

    def by_confidence(self, secret: int, known: Sequence[int], part: int) -> list[tuple[float, int, int]]:
        """Least confidence, guesses that are at least so sure, and those that are right, the surest first."""
        sure = []
        for values, beside in self.of(part):
            rows = self.fitting(values)
            like = [row for row in rows if _at(row[1], known) == _at(beside, known)] or rows
            if rows:
                [guess] = self._most_frequent([row[1] for row in like], [secret])
                held = sum(row[1][secret] == guess for row in like)
                sure.append((1000 * held // len(like) / 1000, guess == beside[secret]))
        return _by_confidence(sure)

    def composed(self, secret: int, other: "Attacked") -> tuple[int, int, int, int, int, int]:
        """Attempts, successes, those of one release alone; certain guesses, right ones, and those of one alone."""
        counts = [0] * 6
        for values, beside in self.of(IN):
            mine, others = ([row[1][secret] for row in world.fitting(values)] for world in (self, other))
            counts[5] += len({*mine}) == 1
            left = {value: mine.count(value) / len(mine) * (others.count(value) / len(others) if others else 1)
                    for value in {*mine} if value in others or not others}  # fmt: skip
            if left:
                guess = min(left, key=lambda value: (-round(left[value], 12), _order(value)))
                alone = self._most_frequent([row[1] for row in self.fitting(values)], [secret])
                right, certain = guess == beside[secret], len(left) == 1
                hits = (True, right, alone == (beside[secret],), certain, certain and right, False)
                counts = [count + hit for count, hit in zip(counts, hits, strict=True)]
        attempts, successes, baseline, certain_ones, certain_right, certain_alone = counts
        return attempts, successes, baseline, certain_ones, certain_right, certain_alone

    def definetti(self, secret: int, part: int) -> tuple[int, int, int, list[tuple[float, int, int]]]:
        """Attempts, successes, those that leave the features out; and the guesses by confidence."""
        prior = Counter(beside[secret] for _, beside in self.rows)
        learnt = self._learnt(secret)
        domains = [len({v for values, _, _ in self.records if tree.covers(v := values[i])})
                   for i, tree in enumerate(self.trees)]  # fmt: skip
        domains += [len({beside[j] for _, beside in self.rows} - {None}) + any(b[j] is None for _, b in self.rows)
                    for j in range(self.kept)]  # fmt: skip
        tried = right = plain = 0
        sure = []
        for values, beside in self.of(part):
            candidates = {row[1][secret] for row in self.fitting(values)}
            if not candidates:
                continue
            features = [*values, *beside[: self.kept]]
            scores = {
                s: round(
                    math.log(prior[s])
                    + sum(
                        math.log((learnt.get((f, v, s), 0) + 1) / (prior[s] + domains[f]))
                        for f, v in enumerate(features)
                    ),
                    9,
                )
                for s in candidates
            }
            best = min(candidates, key=lambda s: (-scores[s], -prior[s], _order(s)))
            tried += 1
            right += best == beside[secret]
            plain += min(candidates, key=lambda s: (-prior[s], _order(s))) == beside[secret]
            odds = [math.exp(score - scores[best]) for score in scores.values()]
            sure.append((math.floor(round(1000 / sum(odds), 9)) / 1000, best == beside[secret]))
        return tried, right, plain, _by_confidence(sure)

    def membership(self, places: Sequence[int], halves: Sequence[int]) -> tuple[int, int, int, int]:
        """Members, those of whom it is claimed that they are, and the same of others.

        Args:
            halves: of each record, in which half of the types it is.
        """
        scores, fits = [], [[self.fits(texts, values) for values, _, _ in self.records] for texts in self._classes()]
        for number, (_, own, _) in enumerate(self.records):
            shares = []
            for texts, covered in zip(self._classes(), fits, strict=True):
                rows = sum(row[0] == texts and _at(row[1], places) == _at(own, places) for row in self.rows)
                if covered[number] and rows:
                    people = sum(covered[n] and _at(b, places) == _at(own, places)
                                 for n, (_, b, _) in enumerate(self.records))  # fmt: skip
                    shares.append(1000 * rows // people)
            scores.append(max(shares, default=-1))
        judged = [*zip(scores, halves, (part for *_, part in self.records), strict=True)]
        claimed = [0, 0]
        for half in (0, 1):
            learnt = [item for item in judged if item[1] != half]
            sizes = [sum(part == which for *_, part in learnt) for which in (IN, OUT)]
            best, threshold = 0.0, None
            for least in sorted({score for score, *_ in learnt}, reverse=True) if all(sizes) else []:
                right, wrong = (sum(s >= least and p == which for s, _, p in learnt) for which in (IN, OUT))
                if right / sizes[0] - wrong / sizes[1] > best:
                    best, threshold = right / sizes[0] - wrong / sizes[1], least
            for score, own_half, part in judged:
                claimed[part] += own_half == half and threshold is not None and score >= threshold
        return len(self.of(IN)), claimed[IN], len(self.of(OUT)), claimed[OUT]

    def predicates(self, seed: int, records: Sequence[Sequence[int]]) -> tuple[int, int, int]:
        """Classes, and those whose predicate holds for one record of the source, and of the control.

        Args:
            records: what the hash is taken of, a record each.
        """
        found = [0, 0]
        for texts in self._classes():
            rows, held = sum(row[0] == texts for row in self.rows), [0, 0]
            for (values, _, part), numbers in zip(self.records, records, strict=True):
                digest = hashlib.md5("/".join(map(str, (seed, *numbers))).encode()).hexdigest()
                held[part] += self.fits(texts, values) and int(digest[:8], 16) % rows == 0
            found = [count + (own == 1) for count, own in zip(found, held, strict=True)]
        return len(self._classes()), found[IN], found[OUT]

    def _classes(self) -> list[Values]:
        return sorted({row[0] for row in self.rows}, key=str)

    def _learnt(self, secret: int) -> dict[tuple[int, Text, Text], float]:
        found: dict[tuple[int, Text, Text], float] = {}
        for i, tree in enumerate(self.trees):
            known = {values[i] for values, _, _ in self.records if tree.covers(values[i])}
            for texts, beside in self.rows:
                like = [v for v in known if any(tree.generalize(v, level) == texts[i] for level in self.levels[i])]
                for v in like:
                    key = (i, v, beside[secret])
                    found[key] = found.get(key, 0) + 1 / len(like)
        for j in range(self.kept):
            for _, beside in self.rows:
                key = (len(self.trees) + j, beside[j], beside[secret])
                found[key] = found.get(key, 0) + 1
        return found

    def _most_frequent(self, among: Sequence[Values], places: Sequence[int]) -> Values:
        overall = Counter(_at(row[1], places) for row in self.rows)
        counts = Counter(_at(beside, places) for beside in among)
        return min(counts, key=lambda v: (-counts[v], -overall[v], [_order(x) for x in v]))


def _at(values: Values, places: Sequence[int]) -> Values:
    return tuple(values[place] for place in places)


def _order(value: Text) -> tuple[bool, str]:
    return value is None, value or ""


def _by_confidence(sure: Sequence[tuple[float, bool]]) -> list[tuple[float, int, int]]:
    return [
        (least, sum(own >= least for own, _ in sure), sum(own >= least and right for own, right in sure))
        for least in sorted({own for own, _ in sure}, reverse=True)
    ]
