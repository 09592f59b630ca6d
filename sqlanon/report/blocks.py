"""The parts of a report: sections of sentences, lists, tables and pictures, as data that each form draws."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlanon.core.sizes.histogram import ClassSizes
from sqlanon.report.summary import FailureSummary
from sqlanon.report.wording import share

FULL_BAR = 30
"""Characters of a full bar in plain text."""
SHORT_BAR = 10
"""Characters of a full bar beside many other columns."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence or a few; a soft one explains and stands back."""

    text: str
    soft: bool = True


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar; a full one is ``scale``. ``mark`` is a value to compare with, on the same scale."""

    value: float
    scale: float
    mark: float | None = None


@dataclass(frozen=True, slots=True)
class Noted:
    """A name with a note beside it."""

    name: str
    note: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A value before and after on one scale, drawn as a dumbbell; None is no value. Plain text leaves it out."""

    before: float | None
    after: float | None
    scale: float


Cell = str | Noted | Bar | Pair


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a table.

    Attributes:
        title: its header; plain text has it in lower case.
        kind: ``words``, ``number`` (flush right), ``bar`` or ``pair``.
        width: the most characters in plain text; of bars, those of a full one, where 0 leaves the bars out.
        style: a class of the style sheet: the width of the column, or the colour of its bars.
        plain: the header in plain text, where it is another.
    """

    title: str = ""
    kind: str = "words"
    width: int | None = None
    style: str = ""
    plain: str | None = None

    @property
    def plain_title(self) -> str:
        """Return the header in plain text."""
        return self.title.lower() if self.plain is None else self.plain


@dataclass(frozen=True, slots=True)
class Listing:
    """Sentences, each an item of a list, under a title of their own."""

    items: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows whose first cell names them.

    Attributes:
        style: classes of the style sheet.
        total: a last row.
        legend: what its drawings mean, where they are drawn.
    """

    fields: tuple[Field, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    style: str = ""
    total: tuple[Cell, ...] = ()
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a whole; ``kind`` is its colour, ``text`` its value in words or digits."""

    kind: str
    name: str
    value: float
    text: str
    share: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a whole, side by side in one bar. Those with a header are listed in a table."""

    title: str
    parts: tuple[Part, ...]
    header: tuple[str, ...] = ()
    total: tuple[str, ...] = ()

    @property
    def whole(self) -> float:
        """Return the sum of the parts."""
        return sum(part.value for part in self.parts)


@dataclass(frozen=True, slots=True)
class Sizes:
    """A histogram of records by the size of their class.

    Attributes:
        unit: what is counted.
        apart: what is suppressed is shown beside what is not.
        classes: the number of classes of each bucket is listed too.
    """

    buckets: tuple[ClassSizes, ...]
    k: int | None
    apart: bool
    caption: str
    classes: bool = True
    unit: str = "records"


@dataclass(frozen=True, slots=True)
class ComparedSizes:
    """Records by the size of their class before and after, side by side; ``unit`` is what is counted."""

    before: tuple[ClassSizes, ...]
    after: tuple[ClassSizes, ...]
    k: int | None
    caption: str
    unit: str = "records"

    @property
    def rows(self) -> tuple[tuple[ClassSizes, ClassSizes], ...]:
        """Return a bucket per power of two from the smallest to the largest, before and after."""
        sides = [{bucket.least.bit_length(): bucket for bucket in side} for side in (self.before, self.after)]
        places = sides[0].keys() | sides[1].keys()
        if not places:
            return ()
        pairs = []
        for bits in range(min(places), max(places) + 1):
            nothing = ClassSizes(1 << bits - 1, (1 << bits) - 1, 0, 0)
            pairs.append((sides[0].get(bits, nothing), sides[1].get(bits, nothing)))
        return tuple(pairs)


@dataclass(frozen=True, slots=True)
class PictureBar:
    """The share of the records with one value (or range of them), before and after.

    ``kind`` is ``value``, ``range``, ``null``, ``other`` or ``suppressed``.
    """

    kind: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Picture:
    """The distribution of one column before and after, without its values."""

    name: str
    note: str
    bars: tuple[PictureBar, ...]


@dataclass(frozen=True, slots=True)
class Pictures:
    """Small pictures side by side. Forms without pictures leave them out."""

    pictures: tuple[Picture, ...]
    caption: str


Block = Sentence | Listing | Table | Parts | Sizes | ComparedSizes | Pictures


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a report; two ``narrow`` ones may stand side by side, a ``folded`` one shows its title first."""

    key: str
    title: str
    blocks: tuple[Block, ...]
    narrow: bool = False
    folded: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """The content of a report, the same in every form.

    Attributes:
        notice: for whom it is.
        about: what was read, beside the title; empty if nothing is said of it.
        proof: what is proven, in one sentence; empty after a failed run.
        lost: the columns that are fully suppressed, in one sentence; empty if there are none.
        origin: where it comes from, as names with values.
        figures: what most readers look for first: names, values and a remark on each.
        facts: the same as data, for JSON.
        of: what it is a report of.
    """

    audience: str
    notice: str
    title: str
    about: str
    when: str
    headline: str
    proof: str
    failure: FailureSummary | None
    origin: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    figures: tuple[tuple[str, str, str], ...]
    sections: tuple[Section, ...]
    facts: dict[str, Any]
    lost: str = ""
    of: str = "a run"


def facts(rows: Iterable[tuple[str, str]], *, width: int | None = None) -> tuple[Table, ...]:
    """Return names with their values as a table without a header; none if there is no row."""
    listed = tuple(rows)
    return (Table((Field(width=width), Field()), listed, style="plain"),) if listed else ()


def share_of(part: float, whole: float) -> str:
    """Return a part of a whole as a percentage; empty when there is no whole."""
    return share(part / whole) if whole else ""
