"""The width of ``redact``: how many characters its texts have, and so how many levels.

Every published text, the number of levels in the manifest, the certificate and the size of the lattice show the width.
If it were the length of the longest value, they would show the length of one record's value, also of a record that is
suppressed. So it is a length that as many records reach as a class must hold, which singles nobody out; longer values
are cut. ``redact: {width: 5}`` sets it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlanon.core.compiler import hierarchies
from sqlanon.core.compiler.encoded_source import EncodedSource
from sqlanon.core.engines.base import Engine
from sqlanon.core.hierarchies.specs import ExtensionHierarchy, Redact
from sqlanon.core.models import least_count
from sqlanon.core.policy import Column, Policy
from sqlanon.core.sqltrees.trees import canonical

Lengths = tuple[tuple[int, int], ...]
"""Pairs of a length in characters, and the records (or entities) whose (longest) value has it."""


def is_open(spec: Column) -> bool:
    """Return whether the width of a column follows from its values."""
    return spec.role == "quasi_identifier" and isinstance(spec.hierarchy, Redact) and spec.hierarchy.width is None


def with_widths(
    engine: Engine, source: EncodedSource, specs: Sequence[Column], types: Mapping[str, str], policy: Policy
) -> tuple[list[Column], dict[int, Lengths]]:
    """Return the columns, each hierarchy with a width, and by position the lengths that some of them follow from."""
    is_sought = {position: is_open(spec) for position, spec in enumerate(specs) if _by_length(spec)}
    if not is_sought:
        return list(specs), {}
    found: dict[int, list[tuple[int, int]]] = {position: [] for position in is_sought}
    positions = list(is_sought)
    queries: list[exp.Query] = []
    if source.entity is None:
        queries.append(hierarchies.lengths(positions))
    elif opened := [position for position in positions if is_sought[position]]:
        texts = {position: canonical(specs[position].name, types[specs[position].name]) for position in opened}
        queries.append(hierarchies.lengths_of_entities(source.relation, texts, source.entity, source.taking_part))
    if source.entity is not None and (others := [position for position in positions if not is_sought[position]]):
        queries.append(hierarchies.lengths(others))
    for position, length, held in (row for query in queries for row in engine.run("lengths", query)):
        found[int(position)].append((int(length), int(held)))
    widened, lengths = list(specs), {}
    for position, opened_one in is_sought.items():
        lengths[position] = tuple(found[position])
        spec = specs[position]
        if opened_one:
            assert isinstance(spec.hierarchy, Redact)
            width = shared_width(lengths[position], policy)
            widened[position] = replace(spec, hierarchy=replace(spec.hierarchy, width=width))
    return widened, lengths


def _by_length(spec: Column) -> bool:
    """Return whether the levels of a column depend on the lengths of its values."""
    if isinstance(spec.hierarchy, Redact):
        return spec.hierarchy.width is None
    return isinstance(spec.hierarchy, ExtensionHierarchy)


def shared_width(lengths: Lengths, policy: Policy) -> int:
    """Return the greatest length that as many records (or entities) reach as a class must hold; at least 1.

    Where there are fewer than that at all, none is published, and the least length is returned.

    >>> from sqlanon import Column, Model, Policy
    >>> policy = Policy((Column.quasi_identifier("zip", Redact()),), (Model("k_anonymity", {"k": 5}),))
    >>> shared_width(((4, 90), (5, 7), (9, 1)), policy)
    5
    """
    needed, reached = max(2, least_count(policy.models)), 0
    ordered: Sequence[tuple[int, int]] = sorted(lengths, reverse=True)
    for length, held in ordered:
        reached += held
        if reached >= needed:
            return max(1, length)
    return max(1, ordered[-1][0]) if ordered else 1
