"""Numbers and dates beside, or instead of, the generalized texts of a release.

They are joined to the released rows by the text, from a table that holds each text once with its bounds
(``source.representatives``). So they are functions of the column and the published text, whatever the records hold, and
two rows that agree in the text agree in them: classes stay what they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import both, column, count_rows, equal, named, not_null, number, table, when

GENERALIZED = "generalized"
"""The released rows as texts, within the statement that adds to them."""
CLASS_MEAN = "class_mean"
MEAN_UNIT = 10**6
"""Means that are no whole numbers are rounded to so many parts of one."""
FARTHEST = 1e140
"""Beyond it the squares that databases compute beside an AVG overflow; NaN and infinities are not within."""
_bounds = names.namer("bounds")
"""Name under which a statement reads the bounds of the quasi-identifier at a position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepresentedColumn:
    """A quasi-identifier with what is published beside its text, or instead of it.

    Attributes:
        position: among the quasi-identifiers.
        columns: the published columns, in order: name -> ``low``, ``high``, ``midpoint`` or ``class_mean``.
        type: of these columns.
        mean_type: of the mean of its class.
        bounds: the table of its bounds; None where every text is a value (level 0).
        reads_values: a text without a row there is a value (level 0), and its own bounds.
    """

    name: str
    position: int
    columns: Mapping[str, str]
    type: str
    mean_type: str
    bounds: str | None
    reads_values: bool

    def type_of(self, published: str) -> str:
        """Return the type of one of its columns."""
        return self.mean_type if self.columns[published] == CLASS_MEAN else self.type

    @property
    def instead(self) -> bool:
        """Return whether the column holds one of these in the place of its text."""
        return self.name in self.columns

    @property
    def needs_mean(self) -> bool:
        """Return whether the mean of a class is published."""
        return CLASS_MEAN in self.columns.values()

    @property
    def raw(self) -> str:
        """Name of the column of the rows that holds the record's own value, where a mean is published."""
        return f"{names.PREFIX}value_{self.position}"

    def value(self, published: str) -> exp.Expr:
        """Return what one of its columns holds of a row of ``GENERALIZED``."""
        what, kind = self.columns[published], data_type(self.type_of(published))
        if what == CLASS_MEAN:
            return column(f"{self.raw}_mean", GENERALIZED)
        text, own = column(self.name, GENERALIZED), _bounds(self.position)
        value = exp.TryCast(this=text, to=kind.copy())  # SQLite's columns hold what is none of their type
        if self.bounds is None:
            return value
        bound = exp.cast(column(what, own), kind)
        return when(not_null(column("value", own)), bound, value) if self.reads_values else bound


def represented_rows(
    rows: exp.Query,
    published: Mapping[str, str],
    texts: Mapping[str, str],
    represented: Sequence[RepresentedColumn],
    *,
    quasi: Sequence[str],
    also: Sequence[str] = (),
) -> exp.Select:
    """Return the released rows with their numbers and dates.

    Args:
        rows: the released rows, the represented columns as texts; where a mean is published, with the records' values
            (``RepresentedColumn.raw``).
        published: the columns of the release and their types, in order.
        texts: the columns of ``rows`` and the types in which they are published, were they not replaced.
        quasi: the quasi-identifiers, by which rows are of one class.
        also: further columns of ``rows``, which stay.
    """
    holders = {name: item for item in represented for name in item.columns}
    as_text = {item.name for item in represented}
    means = [item for item in represented if item.needs_mean]
    if means:
        rows = _with_means(rows, [*texts, *also], quasi, means)
    cells: list[exp.Expr] = []
    for name in published:
        if name in holders:
            value = holders[name].value(name)
        elif name in as_text and texts[name] != "VARCHAR":
            value = exp.cast(column(name, GENERALIZED), data_type(texts[name]))
        else:
            value = column(name, GENERALIZED)
        cells.append(named(value, name))
    query = exp.select(*cells, *[column(name, GENERALIZED) for name in also]).from_(rows.subquery(GENERALIZED))
    for item in represented:
        if item.bounds is not None:
            own = _bounds(item.position)
            of_column = equal(column("attribute", own), number(item.position))
            met = both([of_column, equal(column("value", own), column(item.name, GENERALIZED))])
            query = query.join(table(item.bounds, own), on=met, join_type="left", copy=False)
    return query


def represented_texts(texts: exp.Expr, item: RepresentedColumn) -> exp.Query:
    """Return what stands in the place of texts, as texts.

    Args:
        texts: a relation with the column ``value``.
    """
    rows = exp.select(named(column("value"), item.name)).from_(texts.copy())
    found = represented_rows(rows, {item.name: item.type}, {item.name: "VARCHAR"}, [item], quasi=[])
    value = exp.cast(column(item.name), "VARCHAR")
    return exp.select(named(value, "value")).distinct().from_(found.subquery("represented"))


def _with_means(
    rows: exp.Query, kept: Sequence[str], quasi: Sequence[str], represented: Sequence[RepresentedColumn]
) -> exp.Select:
    """Return rows with the mean of their class: NULL where the value of a record is NULL, no number, or too far."""

    def of_class(counted: exp.Expr) -> exp.Window:
        return exp.Window(this=counted, partition_by=[column(name) for name in quasi])

    means = []
    for item in represented:
        read = exp.TryCast(this=column(item.raw), to=data_type("DOUBLE"))
        own = when(exp.Between(this=read, low=exp.convert(-FARTHEST), high=exp.convert(FARTHEST)), read.copy())
        unit = number(1 if item.mean_type != "DOUBLE" else MEAN_UNIT)
        scaled = exp.Mul(this=exp.paren(of_class(exp.Avg(this=own))), expression=exp.cast(unit, "DOUBLE"))
        mean = exp.Div(this=exp.Round(this=scaled), expression=exp.cast(unit.copy(), "DOUBLE"))
        whole = equal(of_class(exp.Count(this=own.copy())), of_class(count_rows()))
        value = exp.cast(mean, data_type(item.mean_type))
        means.append(named(when(whole, value), f"{item.raw}_mean"))
    return exp.select(*map(column, kept), *means).from_(rows.subquery("records"))
