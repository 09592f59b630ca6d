"""Releases judged together, in plain Python over persons and their classes. It shares nothing with the package.

A release is a dictionary: person -> class, of those whom it shows. The source now is person -> record.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import brute

Release = Mapping[str, Hashable]
Cell = tuple[Hashable, ...]


def joint_cells(releases: Sequence[Release]) -> dict[Cell, set[str]]:
    """The persons by their classes in all releases, None where they are absent; who is nowhere is in no cell."""
    cells: dict[Cell, set[str]] = defaultdict(set)
    for person in {person for release in releases for person in release}:
        cells[tuple(release.get(person) for release in releases)].add(person)
    return cells


def colluding(releases: Sequence[Release]) -> Iterator[tuple[Release, ...]]:
    """Every set of releases that may be put side by side."""
    for size in range(1, len(releases) + 1):
        yield from itertools.combinations(releases, size)


def smallest_cell(releases: Sequence[Release]) -> int | None:
    """The least number of persons of a joint cell of any of the releases."""
    sizes = [len(persons) for some in colluding(releases) for persons in joint_cells(some).values()]
    return min(sizes, default=None)


@dataclass
class Judged:
    """What a node publishes beside earlier releases.

    ``published`` is one of the ways to choose between cells of one size; ``tied`` says that there are several.
    """

    published: dict[str, Hashable]
    tied: bool


def judge(
    classes: Release,
    earlier: Sequence[Release],
    passes: Callable[[set[str]], bool],
    k: int,
    *,
    whole: bool = False,
) -> Judged:
    """Judge a node.

    Args:
        classes: the class of every record that takes part, by its person.
        passes: whether persons meet all models, in the values that they have now.
        whole: a sensitive column is watched: of the persons of one earlier cell all are published, or none.
    """
    members = Counter(joint for joint, persons in joint_cells(earlier).items() for _ in persons)
    cells: dict[tuple[Cell, Hashable], set[str]] = defaultdict(set)
    for person, own in classes.items():
        cells[tuple(release.get(person) for release in earlier), own].add(person)
    kept = {cell: persons for cell, persons in cells.items() if passes(persons)}
    tied = False
    for before, size in members.items():
        own = sorted(((len(p), cell) for cell, p in kept.items() if cell[0] == before), key=lambda item: item[0])
        absent = size - sum(n for n, _ in own)
        while own and absent > 0 and (whole or absent < k):
            n, cell = own.pop(0)
            tied |= not whole and bool(own) and own[0][0] == n
            absent += n
            del kept[cell]
    return Judged({person: cell[1] for cell, persons in kept.items() for person in persons}, tied)


def loss(
    rows: Mapping[str, Sequence[brute.Text]],
    trees: Sequence[brute.Tree],
    node: Sequence[int],
    published: Mapping[str, Hashable],
    weights: Sequence[float],
    measure: str,
) -> float:
    """The weighted mean over the columns of ``loss`` or ``precision``, of all records that take part (``rows``)."""
    n, losses = len(rows), []
    for i, tree in enumerate(trees):
        if measure == "precision":
            share = node[i] / (tree.height - 1) if tree.height > 1 else 0.0
            losses.append((len(published) * share + n - len(published)) / n if tree.height > 1 else 0.0)
            continue
        seen = tree.seen(row[i] for row in rows.values())
        domain = tree.domain(seen)
        if domain <= 1:
            losses.append(0.0)
            continue
        shown = sum(tree.leaves(rows[person][i], node[i], seen) / domain for person in published)
        losses.append(max(0.0, (shown + n - len(published) - n / domain) / (n - n / domain)))
    return sum(w * own for w, own in zip(weights, losses)) / sum(weights)
