"""What a reader of several rules can conclude, by enumeration on tiny tables; nothing of the package is imported.

A world: rows of quasi-identifiers with a sensitive value, hierarchies as rows of texts, rules in the order in which
they were tried, k and l. A record is published by the first rule whose class, among the records left, has k records
and l values.
"""

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass

Text = str | None
Key = tuple[Text, ...]
Rule = tuple[int, ...]


@dataclass
class Tiny:
    """A tiny world: ``trees`` are dictionaries from a value to its texts, level 0 first."""

    rows: list[tuple[Key, Text]]
    trees: list[dict[Text, tuple[Text, ...]]]
    rules: list[Rule]
    k: int
    l: int = 1

    def at(self, key: Key, rule: Rule) -> Key:
        """The branches of a key at a rule: all texts from that level up, because a branch is known by its parents."""
        return tuple(self.trees[i][v][level:] for i, (v, level) in enumerate(zip(key, rule)))  # type: ignore[misc]

    def published(self) -> tuple[list[int | None], dict[tuple[int, Key], list[int]]]:
        """The rule of each row, and the rows of each class."""
        of_row: list[int | None] = [None] * len(self.rows)
        classes: dict[tuple[int, Key], list[int]] = {}
        for place, rule in enumerate(self.rules):
            found = defaultdict(list)
            for number, (key, _) in enumerate(self.rows):
                if of_row[number] is None:
                    found[self.at(key, rule)].append(number)
            for at, members in found.items():
                if len(members) >= self.k and len({self.rows[i][1] for i in members}) >= self.l:
                    classes[place, at] = members
                    for i in members:
                        of_row[i] = place
        return of_row, classes

    def special(self, one: Rule, other: Rule) -> bool:
        return one != other and all(a <= b for a, b in zip(one, other))


def refined(world: Tiny) -> tuple[int, int, int, int]:
    """Records published; with a narrowed column; with one known strictly finer; with one whose original is known.

    Per rule: a value of a column is excluded if all its combinations with values of the others are published classes of
    one more specific rule.
    """
    _, classes = world.published()
    counts = [0, 0, 0, 0]
    for (place, at), members in classes.items():
        rule = world.rules[place]
        inside = [
            [v for v, row in tree.items() if row[level:] == at[i]]
            for i, (tree, level) in enumerate(zip(world.trees, rule))
        ]
        gone: list[set[Text]] = [set() for _ in rule]
        for other, special in enumerate(world.rules):
            if not world.special(special, rule):
                continue
            for i, values in enumerate(inside):
                for value in values:
                    others = [[value] if j == i else inside[j] for j in range(len(rule))]
                    if special[i] < rule[i] and all(
                        (other, world.at(key, special)) in classes for key in itertools.product(*others)
                    ):
                        gone[i].add(value)
        narrowed = finer = original = False
        for i, values in enumerate(inside):
            if not gone[i]:
                continue
            narrowed = True
            left = [v for v in values if v not in gone[i]]
            for level in range(rule[i]):
                texts, before = ({world.trees[i][v][level:] for v in some} for some in (left, values))
                if len(texts) == 1 and len(before) > 1:
                    finer = True
                    original |= level == 0
        for place_of, holds in enumerate((True, narrowed, finer, original)):
            counts[place_of] += len(members) if holds else 0
    return counts[0], counts[1], counts[2], counts[3]


def contradictions(world: Tiny) -> int:
    """Published records that have a value by which they belong to a class of a more specific rule; 0 if rules are tried
    in an order that puts more specific ones first."""
    of_row, classes = world.published()
    return sum(
        any(
            world.special(special, world.rules[place]) and (other, world.at(key, special)) in classes
            for other, special in enumerate(world.rules)
        )
        for (key, _), place in zip(world.rows, of_row)
        if place is not None
    )


def inferred(world: Tiny) -> dict[Key, set[Text]]:
    """Per key of a person, the sensitive values that are left for it, where the attack says anything.

    A person's possible classes are those of the most special rules that published a class of its key.
    """
    _, classes = world.published()
    keys = Counter(key for key, _ in world.rows)
    homes: dict[Key, list[tuple[int, Key]]] = {}
    for key in keys:
        found = [p for p, rule in enumerate(world.rules) if (p, world.at(key, rule)) in classes]
        least = [p for p in found if not any(world.special(world.rules[q], world.rules[p]) for q in found)]
        if least:
            homes[key] = [(p, world.at(key, world.rules[p])) for p in least]
    values = {c: Counter(world.rows[i][1] for i in members) for c, members in classes.items()}
    left: dict[Key, list[set[Text]]] = defaultdict(list)
    for rule in world.rules:
        groups = defaultdict(list)
        for key, own in homes.items():
            if all(world.special(rule, world.rules[p]) for p, _ in own):
                groups[world.at(key, rule)].append(key)
        for members in groups.values():
            if sum(keys[key] for key in members) < world.k:
                continue
            needed: Counter[tuple[int, Key]] = Counter()
            for key in members:
                if len(homes[key]) == 1:
                    needed[homes[key][0]] += keys[key]
            possible = possible_values(needed, values, world.l)
            for key in members:
                if possible:
                    left[key].append(possible)
    found_values = {key: set.intersection(*sets) for key, sets in left.items()}
    return {key: some for key, some in found_values.items() if some}


def possible_values(
    needed: Counter[tuple[int, Key]], values: dict[tuple[int, Key], Counter[Text]], l: int
) -> set[Text]:  # fmt: skip
    """The values of all sets of at most l - 1 values that account for the persons in each class.

    From l = 4 on, the most frequent values of a class stand for all but two of them, as the attack takes it.
    """
    known = {value for c in needed for value in values[c]}
    found: set[Text] = set()
    for pair in itertools.combinations_with_replacement(sorted(known, key=repr), 2 if l > 2 else 1):
        chosen = set(pair)
        if all(
            sum(values[c][v] for v in chosen) + sum(n for _, n in values[c].most_common(max(0, l - 3))) >= n_persons
            for c, n_persons in needed.items()
        ):
            found |= chosen
    return found


def downcoded(world: Tiny) -> int:
    """Records that can be written finer, by the bound on the parts of each class: at best of more specific rules."""
    _, classes = world.published()
    found = 0
    for (place, at), members in classes.items():
        rule, best = world.rules[place], 0
        inside = [
            [v for v, row in tree.items() if row[level:] == at[i]]
            for i, (tree, level) in enumerate(zip(world.trees, rule))
        ]
        for other, special in enumerate(world.rules):
            if world.special(special, rule):
                parts = {world.at(key, special) for key in itertools.product(*inside)}
                possible = [part for part in parts if (other, part) not in classes]
                least = len(members) - (len(possible) - 1) * (world.k - 1)
                if len(possible) >= 2 and least > 0:
                    sizes = Counter(world.at(world.rows[i][0], special) for i in members)
                    assert all(sizes[part] >= least for part in possible), "the bound does not hold"
                    best = max(best, len(possible) * least)
        found += best
    return found
