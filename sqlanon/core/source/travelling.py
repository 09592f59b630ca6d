"""The levels up to which columns may travel with a quasi-identifier (``with``), measured over the records."""

from __future__ import annotations

from collections.abc import Mapping

from sqlanon.core.compiler.encoded_source import EncodedSource
from sqlanon.core.compiler.travelling import TravellingColumn, several_values
from sqlanon.core.engines.base import Engine
from sqlanon.core.lattice.catalog import Attribute
from sqlanon.core.policy import Policy
from sqlanon.core.policy.facts import Travels
from sqlanon.core.source.columns import is_scalar
from sqlanon.errors import InputError, UnsupportedError


def travelling_columns(
    engine: Engine, source: EncodedSource, policy: Policy, types: Mapping[str, str], attributes: tuple[Attribute, ...]
) -> tuple[TravellingColumn, ...]:
    """Return the columns that travel with a quasi-identifier, with the highest level at which each is published.

    Raises:
        InputError: a column does not follow from its quasi-identifier, or not from the stated level.
        UnsupportedError: it holds lists or the like.
    """
    places = {attribute.name: place for place, attribute in enumerate(attributes)}
    found = []
    for item in policy.columns:
        if item.travels is None:
            continue
        if not is_scalar(types[item.name]):
            raise UnsupportedError(
                f"Column {item.name!r} holds lists or the like, and travels with {item.travels.column!r}.",
                hint="give it the role drop, or make columns of its parts in a view of the source.",
            )
        position = places[item.travels.column]
        height = attributes[position].height
        query = several_values(source, position, height, item.name, types[item.name])
        counts = {int(level): (int(texts), int(held)) for level, texts, held in engine.run("travelling", query)}
        found.append(TravellingColumn(item.name, position, _level(item.name, item.travels, counts)))
    return tuple(found)


def _level(name: str, travels: Travels, counts: Mapping[int, tuple[int, int]]) -> int:
    """Return the level up to which a column is published.

    Args:
        counts: per level, the texts that hold several values of the column, and their records.
    """
    wanted = 0 if travels.level is None else travels.level
    if wanted not in counts:
        raise InputError(
            f"Column {name!r} is to travel with level {wanted} of {travels.column!r}, which has {len(counts)} levels, "
            "from 0.",
            hint="name a lower one, or none: then it is found.",
        )
    texts, records = counts[wanted]
    if texts:
        at = "" if wanted == 0 else f" at level {wanted}"
        lower = max((level for level, (several, _) in counts.items() if not several), default=None)
        raise InputError(
            f"Column {name!r} does not follow from {travels.column!r}{at}: {texts} of its values, with {records} "
            "records, hold several values of the column, and would be split by it.",
            hint=f"make {name!r} a quasi-identifier with a hierarchy, or drop it."
            if lower is None
            else f"say level: {lower}, or leave the level out.",
        )
    return wanted if travels.level is not None else max(level for level, (several, _) in counts.items() if not several)
