"""A first fit whose records begin at random nodes, in plain Python: what it publishes, and with which probability.

It imports nothing from the package. A world is a source table: per record its quasi-identifiers. What it publishes is
shown record by record, which is more than a release shows: the rule and the texts of each record, None for a suppressed
one, and of each class its sensitive values.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

Record = tuple[str, ...]
Node = tuple[int, ...]
Texts = tuple[str, ...]
Release = tuple[tuple[tuple[int, Texts] | None, ...], tuple[tuple[Texts, tuple[str, ...]], ...]]
Generalize = Callable[[Record, Node], Texts]
Passes = Callable[[Sequence[str]], bool]


def first_fit(
    world: Sequence[Record], starts: Sequence[int], nodes: Sequence[Node], size: int, generalize: Generalize
) -> list[int | None]:
    """Each record by the first node, from that on where it begins, whose class of what is left is large enough."""
    rules: list[int | None] = [None] * len(world)
    for number, node in enumerate(nodes):
        classes: dict[Texts, list[int]] = defaultdict(list)
        for place, record in enumerate(world):
            if rules[place] is None and starts[place] <= number:
                classes[generalize(record, node)].append(place)
        for places in classes.values():
            if len(places) >= size:
                for place in places:
                    rules[place] = number
    return rules


def published(
    world: Sequence[Record],
    values: Sequence[str],
    rules: Sequence[int | None],
    nodes: Sequence[Node],
    generalize: Generalize,
    passes: Passes,
) -> Release:
    """What is left when classes that fail are suppressed; records whose texts agree are one class."""
    read = [None if rule is None else (rule, generalize(world[i], nodes[rule])) for i, rule in enumerate(rules)]
    classes: dict[Texts, list[str]] = defaultdict(list)
    for shown, value in zip(read, values, strict=True):
        if shown is not None:
            classes[shown[1]].append(value)
    kept = {texts: tuple(sorted(own)) for texts, own in classes.items() if passes(own)}
    shown_all = tuple(shown if shown is not None and shown[1] in kept else None for shown in read)
    return shown_all, tuple(sorted(kept.items()))


def chances(hold: Fraction, nodes: int, none: Fraction) -> list[Fraction]:
    """How likely a record begins at each node, and last at none."""
    return [1 - hold, *[(hold - none) / (nodes - 1)] * (nodes - 1), none]


def releases(
    world: Sequence[Record],
    values: Sequence[str],
    nodes: Sequence[Node],
    size: int,
    generalize: Generalize,
    passes: Passes,
    weights: Sequence[Fraction],
) -> dict[Release, Fraction]:
    """Every release that a world can have, with its probability, over all draws."""
    found: dict[Release, Fraction] = Counter()
    for starts in product(range(len(nodes) + 1), repeat=len(world)):
        weight = Fraction(1)
        for start in starts:
            weight *= weights[start]
        if weight:
            rules = first_fit(world, starts, nodes, size, generalize)
            found[published(world, values, rules, nodes, generalize, passes)] += weight
    return found


def consistent(world: Sequence[Record], release: Release, nodes: Sequence[Node], generalize: Generalize) -> bool:
    """Whether each published record of a world generalizes to what is shown of it."""
    return all(
        shown is None or generalize(record, nodes[shown[0]]) == shown[1]
        for record, shown in zip(world, release[0], strict=True)
    )


def decoded(tables: Sequence[dict[Any, Any]], codes: Sequence[Any]) -> tuple[Any, ...]:
    """The values of some codes."""
    return tuple(table[code] for table, code in zip(tables, codes, strict=True))
