"""What models of distributions read in a live view: the histogram of each class, by windows over its records.

The first record of a value in its class stands for the value there: it alone carries the value's count (``held``), the
others carry 0. So a SUM over a class adds each value once, as over ``histogram`` in ``sql/model``, and as precisely.

    records   | class | value    ranked  | first    counted | held | total    judged | spread
    20-29     | flu   |                  | 1                | 2    | 3               | 2 ln 2 + 1 ln 1
    20-29     | flu   |                  | 2                | 2    | 3               |
    20-29     | cold  |                  | 1                | 1    | 1               |

t-closeness compares with the distribution among all records that take part, as they are when the view is read
(``total``): those in no class too, which is why they are kept until the end (``PLACED``). Where the distance needs an
order or a tree that a hierarchy lists, its rows are frozen beneath the view:

- A record whose value has no row there is left out. In a tree its value counts as a branch of its own below the root,
  which is as far from all others as can be: the distances of the classes are no smaller than with any place for it.
- In an order no place is as far from all others, and the distance is not defined: nothing is published.

The ordered distance finds where the shares of a class cross those of all records (``sql/model/t_closeness_ordered``)
by one more sort: every record twice, once by its class's share up to its value, once by that among all records; the
place of the crossing is the last of the second kind before the first. A join would show in its plan how many values the
suppressed classes hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.models.t_closeness import TCloseness
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    bigint,
    canonical,
    column,
    count_rows,
    cte,
    equal,
    is_null,
    named,
    not_null,
    number,
    table,
    union_all,
    when,
)
from sqlanon.live.compiler.live_models import (
    ENTITY,
    LiveView,
    SensitiveColumn,
    among_counted,
    classes_of,
    compares,
    counted_columns,
    in_source,
    is_exact,
    reads_histogram,
    window,
)

PLACE = "place"
"""Column of a sensitive lookup: the place of a value in the order of its hierarchy."""
lookup_alias = names.namer("sensitive")
"""Name of the lookup of the sensitive column at a position of ``counted_columns``."""


@dataclass(frozen=True, slots=True)
class ColumnHistogram:
    """A sensitive column whose values are counted, with the names of what is known of a record's value."""

    view: LiveView
    position: int
    item: SensitiveColumn

    @property
    def models(self) -> list[tuple[int, PrivacyModel]]:
        return [(i, m) for i, m in enumerate(self.view.models) if m.column == self.item.name and reads_histogram(m)]

    def asks(self, kind: str) -> bool:
        """Return whether a model of a type looks at the values."""
        return any(model.type == kind for _, model in self.models)

    @property
    def distances(self) -> set[str]:
        """The distances of t-closeness that are asked for."""
        return {model.distance for _, model in self.models if isinstance(model, TCloseness)}

    @property
    def compared(self) -> bool:
        """Whether a model compares the classes with all records."""
        return any(compares(model) for _, model in self.models)

    def name(self, what: str, level: int = 0) -> str:
        return f"s{self.position}_{what}" + (f"_{level}" if level else "")

    def get(self, what: str, level: int = 0) -> exp.Expr:
        return column(self.name(what, level))

    def text(self, what: str, level: int = 0) -> exp.Expr:
        """Return a column that holds texts, in the collation in which each equals itself alone."""
        value = self.get(what, level)
        is_plain = what == "value" and is_exact(self.item.type)
        if self.view.collation is None or is_plain:
            return value
        return exp.Collate(this=value, expression=exp.to_identifier(self.view.collation, quoted=True))

    def in_class(self) -> list[exp.Expr]:
        return [*classes_of(self.view), *among_counted(self.view)]

    def held_by(self, level: int) -> list[exp.Expr]:
        """Return the columns that the records of a value, or of an ancestor, share: its path up to the root."""
        if not level:
            return [self.text("value")]
        return [self.text("ancestor", upper) for upper in range(level, self.item.levels)]

    def once(self, what: str, first: str, level: int = 0) -> exp.Expr:
        """Return a column of the first record of a value, 0 for the others."""
        return when(equal(self.get(first, level), number(1)), self.get(what, level), number(0))

    def order(self) -> list[exp.Expr]:
        """Return the order of the values of the column, as the search orders them: NULL comes last."""
        by = self.get(PLACE) if self.item.placed else self.get("order")
        return [is_null(self.get("value")), by, self.text("value")]


def counted_items(view: LiveView) -> list[SensitiveColumn]:
    """Return the columns whose histograms the models look at."""
    items = {item.name: item for item in view.sensitive}
    return [items[name] for name in counted_columns(view.models)]


def histograms_of(view: LiveView) -> list[ColumnHistogram]:
    """Return the histograms that the models of a view look at."""
    return [ColumnHistogram(view, place, item) for place, item in enumerate(counted_items(view))]


def value_cells(view: LiveView, zeroed: Callable[[str, str], exp.Expr]) -> list[exp.Expr]:
    """Return the columns of a record for the models: the value, its order, and its ancestors.

    Args:
        zeroed: returns the value of a column of the source by its name and type, a float without the sign of its zero.
    """
    cells: list[exp.Expr] = []
    for counted in histograms_of(view):
        item = counted.item
        text = zeroed(item.name, item.type) if is_exact(item.type) else canonical(item.name, item.type, "source")
        cells.append(named(text, counted.name("value")))
        alias = lookup_alias(counted.position)
        if item.lookup is not None:
            known = when(not_null(column("value", alias)), number(1), number(0))
            cells.append(named(known, counted.name("known")))
        if item.placed:
            cells.append(named(column(PLACE, alias), counted.name(PLACE)))
        elif "ordered" in counted.distances:
            cells.append(named(in_source(item.name) if item.type != "VARCHAR" else text.copy(), counted.name("order")))
        cells += [
            named(column(names.level(level), alias), counted.name("ancestor", level)) for level in range(1, item.levels)
        ]
    return cells


def with_values(view: LiveView, ctes: list[exp.CTE], before: str) -> str:
    """Add the steps that count values to those of a view, and return the name of the last.

    Args:
        ctes: the steps so far, in which the records are ranked (``value_ranks``); they are added to.
        before: the name of the last of them.
    """
    if not (columns := histograms_of(view)):
        return before
    for step, cells in (
        ("counted", [cell for counted in columns for cell in _counts(counted)]),
        ("weighed", [cell for counted in columns for cell in _weights(counted)]),
    ):
        ctes.append(cte(step, exp.select(exp.Star(), *cells).from_(table(before))))
        before = step
    for counted in columns:
        if "ordered" in counted.distances:
            before = _crossed(counted, ctes, before)
    return before


def value_ranks(view: LiveView) -> list[exp.Expr]:
    """Return the number of a record among those of its value in its class, and among all; of its person likewise."""
    ranks: list[exp.Expr] = []
    for counted in histograms_of(view):
        inside, outside = [*counted.in_class(), counted.text("value")], [*among_counted(view), counted.text("value")]
        scopes = [("first", "person", inside)]
        if counted.compared:
            scopes.append(("first_of_all", "person_of_all", outside))
        for first, person, partition in scopes:
            ranks.append(named(window(exp.RowNumber(), partition), counted.name(first)))
            if view.entity is not None:
                ranks.append(named(window(exp.DenseRank(), partition, order=ENTITY), counted.name(person)))
        for level in _upper_levels(counted):
            for first, scope in (("first", counted.in_class()), ("first_of_all", among_counted(view))):
                rank = window(exp.RowNumber(), [*scope, *counted.held_by(level)])
                ranks.append(named(rank, counted.name(first, level)))
    return ranks


def _upper_levels(counted: ColumnHistogram) -> range:
    return range(1, counted.item.levels if "hierarchical" in counted.distances else 1)


def _counts(counted: ColumnHistogram) -> list[exp.Expr]:
    """Return the records, or persons, of a value in the class (``held``) and among all (``total``)."""
    scopes = [("held", "person", counted.in_class())]
    if counted.compared:
        scopes.append(("total", "person_of_all", among_counted(counted.view)))
    cells: list[exp.Expr] = []
    for name, person, scope in scopes:
        counts = count_rows() if counted.view.entity is None else exp.Max(this=counted.get(person))
        cells.append(named(window(counts, [*scope, counted.text("value")]), counted.name(name)))
    return cells


def sum_over(value: exp.Expr, partition: Sequence[exp.Expr], order: Sequence[exp.Expr] = ()) -> exp.Expr:
    """Return a whole sum over a window; with an order, up to the value of the record and those that equal it."""
    over = exp.Window(this=exp.Sum(this=value), partition_by=[item.copy() for item in partition])
    if order:
        over.set("order", _ordering(order))
    return bigint(over)


def _ordering(order: Sequence[exp.Expr]) -> exp.Order:
    return exp.Order(expressions=[exp.Ordered(this=item.copy(), nulls_first=False) for item in order])


def _weights(counted: ColumnHistogram) -> list[exp.Expr]:
    """Return the totals that shares are taken of: all values of the class, and of all; orders and trees add theirs."""
    inside, outside = counted.in_class(), among_counted(counted.view)
    once, once_of_all = counted.once("held", "first"), counted.once("total", "first_of_all")
    cells: list[exp.Expr] = [named(sum_over(once, inside), counted.name("weight"))]
    if counted.compared:
        cells.append(named(sum_over(once_of_all, outside), counted.name("everything")))
    if counted.asks("recursive_l_diversity"):
        is_first = when(equal(counted.get("first"), number(1)), number(1), number(0))
        descending = exp.Order(expressions=[exp.Ordered(this=counted.get("held"), desc=True, nulls_first=False)])
        rank = exp.Window(this=exp.RowNumber(), partition_by=[*inside, is_first], order=descending)
        cells.append(named(rank, counted.name("largest")))
    for level in _upper_levels(counted):
        path = counted.held_by(level)
        cells.append(named(sum_over(once, [*inside, *path]), counted.name("held", level)))
        cells.append(named(sum_over(once_of_all, [*outside, *path]), counted.name("total", level)))
    if "ordered" in counted.distances:
        order = counted.order()
        rank = exp.Window(this=exp.DenseRank(), partition_by=outside, order=_ordering(order))
        cells.append(named(rank, counted.name("rank")))
        cells.append(named(sum_over(once, inside, order), counted.name("held_so_far")))
        cells.append(named(sum_over(once_of_all, outside, order), counted.name("total_so_far")))
        if counted.item.placed:
            unknown = when(equal(counted.get("known"), number(1)), number(0), number(1))
            cells.append(named(sum_over(unknown, outside), counted.name("unknown")))
    return cells


def share_of(part: exp.Expr, whole: exp.Expr) -> exp.Expr:
    """Return the quotient of two whole numbers, as a floating-point number."""
    return exp.Div(this=exp.cast(part, "DOUBLE"), expression=whole, typed=True)


def _crossed(counted: ColumnHistogram, ctes: list[exp.CTE], before: str) -> str:
    """Add the steps of the ordered distance: shares up to a value, what lies before it, and where they cross."""
    inside, outside = counted.in_class(), among_counted(counted.view)
    get, name = counted.get, counted.name
    shares = [
        named(share_of(get("held_so_far"), get("weight")), name("held_share")),
        named(share_of(get("total_so_far"), get("everything")), name("through")),
        named(window(exp.Max(this=get("rank")), outside), name("places")),
    ]
    ctes.append(cte(name("shares"), exp.select(exp.Star(), *shares).from_(table(before))))
    area = exp.Window(
        this=exp.Sum(this=counted.once("through", "first_of_all")),
        partition_by=outside,
        order=_ordering([get("rank")]),
    )
    ctes.append(cte(name("areas"), exp.select(exp.Star(), named(area, name("area"))).from_(table(name("shares")))))
    is_first = when(equal(get("first"), number(1)), number(1), number(0))
    before_it = exp.paren(exp.Sub(this=get("area"), expression=get("through")))
    nexts: list[exp.Expr] = [named(window(exp.Max(this=get("area")), outside), name("whole_area"))]
    for value, called in ((get("rank"), "next_rank"), (before_it, "next_area")):
        lead = exp.Lead(this=value, offset=number(1))
        over = exp.Window(this=lead, partition_by=[*inside, is_first], order=_ordering([get("rank")]))
        nexts.append(named(over, name(called)))
    is_least = exp.Window(this=exp.Min(this=get("rank")), partition_by=inside)
    nexts.append(named(is_least, name("least_rank")))
    following = exp.select(exp.Star(), *nexts).from_(table(name("areas")))
    ctes.append(cte(name("following"), following, materialized=True))
    twice = [
        exp.select(exp.Star(), named(number(asked), name("asked")), named(get(key), name("key"))).from_(
            table(name("following"))
        )
        for asked, key in ((1, "held_share"), (0, "through"))
    ]
    ctes.append(cte(name("twice"), union_all(twice)))
    met: list[exp.Expr] = []
    for what in ("rank", "area"):
        found = exp.Max(this=when(equal(get("asked"), number(0)), get(what)))
        over = exp.Window(this=found, partition_by=outside, order=_ordering([get("key")]))
        met.append(named(over, name(f"crossing_{what}")))
    ctes.append(cte(name("crossed"), exp.select(exp.Star(), *met).from_(table(name("twice")))))
    rows = exp.select(exp.Star()).from_(table(name("crossed"))).where(equal(get("asked"), number(1)))
    ctes.append(cte(name("turned"), rows))
    return name("turned")


def stretch(counted: ColumnHistogram) -> exp.Expr:
    """Return the terms of the places from a value up to the next one of its class: see ``t_closeness_ordered``."""
    get = counted.get

    def minus(left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return exp.paren(exp.Sub(this=left, expression=right))

    def times(left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return exp.Mul(this=left, expression=right)

    place, held = get("rank"), get("held_share")
    next_place = exp.Coalesce(
        this=get("next_rank"), expressions=[exp.paren(exp.Add(this=get("places"), expression=number(1)))]
    )
    area_before = minus(get("area"), get("through"))
    next_area = exp.Coalesce(this=get("next_area"), expressions=[get("whole_area")])
    crossing = get("crossing_rank")
    early = exp.or_(is_null(crossing.copy()), exp.LT(this=crossing.copy(), expression=place.copy()))
    late = exp.GTE(this=crossing.copy(), expression=next_place.copy())

    def turning(before: exp.Expr, after: exp.Expr, at: exp.Expr) -> exp.Expr:
        arms = [exp.If(this=early.copy(), true=before), exp.If(this=late.copy(), true=after)]
        return exp.Case(ifs=arms, default=at)

    last = minus(next_place.copy(), number(1))
    turn = turning(minus(place.copy(), number(1)), last.copy(), crossing.copy())
    turn_area = turning(area_before.copy(), next_area.copy(), get("crossing_area"))
    lead_in = when(equal(place.copy(), get("least_rank")), area_before.copy(), number(0))
    more = times(exp.paren(exp.Add(this=minus(turn.copy(), place.copy()), expression=number(1))), held.copy())
    less = minus(minus(next_area.copy(), turn_area.copy()), times(minus(last.copy(), turn.copy()), held.copy()))
    rising = minus(more, minus(turn_area.copy(), area_before.copy()))
    return exp.Add(this=exp.Add(this=lead_in, expression=rising), expression=less)
