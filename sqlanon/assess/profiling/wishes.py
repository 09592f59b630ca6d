"""What most readers wish of a release, and the price of a wish that it does not meet."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlanon.assess.profiling.facts import ColumnProfile, percent
from sqlanon.assess.profiling.interest import FEW_YEARS
from sqlanon.core.facts import Facts
from sqlanon.core.hierarchies import specs
from sqlanon.core.lattice.catalog import Attribute

FLOOR = 0.55
"""Of the values of a column that still says something, the share that a value is told from, at least."""
FEWEST_LEFT = 3
"""Values that are left of a column that still says something, at least."""
BAND = 10
"""Years of a band of ages, at most, that a reader wishes for."""


@dataclass(frozen=True, slots=True)
class UnmetWish(Facts):
    """A wish that a proposal does not meet, and its price.

    Attributes:
        suppressed, share: what the release of least loss that was found with it suppresses, of the records or persons
            (``unit``), where none was found within the limit; None where one was, or none at all.
        before, after: what would be left of all columns without and with it, where that is why it is not met.
    """

    column: str
    wish: str
    unit: str | None = None
    suppressed: int | None = None
    share: float | None = None
    before: float | None = None
    after: float | None = None

    @property
    def sentence(self) -> str:
        """The wish and its price."""
        if self.before is not None and self.after is not None:
            price = f"would leave {percent(self.after)} of all columns, in place of {percent(self.before)}"
        elif self.share is not None:
            found = f"the best release with it suppresses {percent(self.share)} of the {self.unit}"
            price = f"was not found within the limit; {found}"
        else:
            price = "was not found, whatever is suppressed"
        return f"{self.column}: {self.wish} {price}."


def wishes_of(
    found: ColumnProfile, hierarchy: specs.HierarchySpec | None, height: int
) -> tuple[tuple[int, str, int], ...]:
    """Return the highest levels that most readers can live with, the best first, each in words and with its rank.

    Args:
        height: the number of levels, level 0 included.
    """
    if found.topic == "sex":
        return ((0, "sex as it is", 0),)
    if found.looks_like == "age" and isinstance(hierarchy, specs.Intervals) and not hierarchy.edges:
        widths = [hierarchy.width * math.prod(hierarchy.fanouts[:depth]) for depth in range(len(hierarchy.fanouts) + 1)]
        fitting = [depth + 1 for depth, width in enumerate(widths) if width <= BAND]
        return ((fitting[-1], f"ages in bands of {BAND} years at most", 1),) if fitting else ()
    if isinstance(hierarchy, specs.Dates) and "year" in hierarchy.levels:
        without_day = height - 2 < len(hierarchy.levels)
        periods = [name for name in hierarchy.levels if name != "day" or not without_day]
        year = periods.index("year") + 1
        if found.looks_like == "birth_date":
            wished = {"year": "the year", "five_years": "five years", "decade": "the decade"}
            return tuple((level, wished[name], 1) for level, name in enumerate(periods, 1) if name in wished)
        return ((year, "the year", 2),)
    return ((0, "the year", 2),) if found.looks_like == "year" else ()


def years_of(found: ColumnProfile, hierarchy: specs.HierarchySpec | None) -> int | None:
    """Return the level of years of a date whose records lie within ``FEW_YEARS``, beyond which it says nothing; None of
    other columns."""
    spread = found.spread
    if not isinstance(hierarchy, specs.Dates) or "year" not in hierarchy.levels or found.looks_like == "birth_date":
        return None
    if spread is None or spread.high - spread.low > FEW_YEARS:
        return None
    return hierarchy.levels.index("year") + 1


def floor_of(attribute: Attribute, *, with_rest: bool, coarsest: int | None = None) -> int | None:
    """Return the coarsest level of a column that still says something: most values are told from most others.

    Args:
        with_rest: above level 0, one of its values is what is left of the others.
        coarsest: the level above which it says nothing, whatever it tells apart: more than a year of an event.
    """
    whole = attribute.costs[0]
    saying = [level for level, width in enumerate(attribute.widths) if width > 1]
    told = [width - (with_rest and level > 0) for level, width in enumerate(attribute.widths)]
    if coarsest is not None:
        saying = [level for level in saying if level <= coarsest]
    enough = [level for level in saying if attribute.costs[level] >= FLOOR * whole and told[level] >= FEWEST_LEFT]
    return enough[-1] if enough else saying[0] if saying else None
