"""What a plan publishes of columns that travel with a quasi-identifier (``with``), and what it claims of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlanon.core.audit.represented import RepresentedClaim
from sqlanon.core.compiler.travelling import NOWHERE, TravellingColumn, shared_texts
from sqlanon.core.evaluate.session import Session
from sqlanon.core.lattice.catalog import Catalog


def travelling_at(session: Session, published_levels: Sequence[Sequence[int]]) -> dict[str, TravellingColumn]:
    """Return the columns that travel with a quasi-identifier, for what rules publish of it.

    Two rules may publish one text at two levels. The column must not distinguish their records: its level is lowered
    until no text of the levels up to it stands on a published level above.
    """
    found = {}
    for item in session.encoding.travelling:
        levels, level = published_levels[item.position], item.level
        while level > NOWHERE:
            low, high = [used for used in levels if used <= level], [used for used in levels if used > level]
            if not low or not high:
                break
            if not session.engine.run("texts of two levels", shared_texts(item.position, low, high))[0][0]:
                break
            level = low[-1] - 1
        found[item.name] = replace(item, level=level)
    return found


def claims_of_travelling(
    travelling: Iterable[TravellingColumn], catalog: Catalog, types: Mapping[str, str]
) -> tuple[RepresentedClaim, ...]:
    """Return what a release claims: each text of the quasi-identifier determines the columns that travel with it."""
    by_attribute: dict[str, list[str]] = {}
    for item in travelling:
        by_attribute.setdefault(catalog.attributes[item.position].name, []).append(item.name)
    return tuple(
        RepresentedClaim(
            name=name, type=types[name], instead=False, companions=tuple(columns), of_class=(), ascending=()
        )
        for name, columns in by_attribute.items()
    )


def travelling_warnings(
    travelling: Iterable[TravellingColumn], catalog: Catalog, records: Iterable[tuple[Sequence[int], int]]
) -> tuple[str, ...]:
    """Return in how many rows each column is blank.

    Args:
        records: the levels of each rule, and the records that it publishes.
    """
    rules = list(records)
    published = sum(count for _, count in rules)
    return tuple(
        f"The column {item.name!r} travels with {catalog.attributes[item.position].name!r}: it is blank in {blank} of "
        f"{published} published records, where that is generalized beyond level {max(item.level, 0)}."
        for item in travelling
        if (blank := sum(count for levels, count in rules if levels[item.position] > item.level))
    )
