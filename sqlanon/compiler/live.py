"""The SELECT of a live view: level vector and lookups are frozen, the sizes of the classes are counted on every read.

It fails closed. A record is published only when each of its quasi-identifiers has exactly one row in its lookup and its
class, as it stands at the moment of reading, meets every model. A model that fails a class suppresses all its records.

    WITH records AS (   -- the source JOINed with its lookups: class_<i>, the published cells, what the models look at
    ), ranked AS (      -- DENSE_RANK of a value (a person) within its class; left out when no model asks for it
    ), judged AS (      -- per record: n of its class, the population, the number of values
    )
    SELECT … FROM judged WHERE n >= k AND … ORDER BY RANDOM()

Why it is right:

- A class is a partition by the *published* cells, so what is counted is what a reader could count.
- The largest DENSE_RANK in a partition is its number of distinct values; NULLs are peers, so NULL is a value.
- A JOIN loses the records without a row in a lookup; a value with several rows would multiply its records and so swell
  the class, which is why a lookup is read by value, ``HAVING COUNT(*) = 1``.
- δ-presence, above max: a record that stands in no class (no lookup row, an unclear flag) can only have lowered the
  share. Below min it could have lowered it too, so it is counted as if it stood in *every* class. With
  ``public_only: reject`` it could be a class of its own without a record of the subset: nothing is published.

Portable: no QUALIFY, no ENUM, no FILTER, no COUNT(DISTINCT …) OVER; keys that may be NULL meet by an equality, which
every engine can hash. It runs on DuckDB, PostgreSQL and SQLite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon import names
from sqlanon.compiler.encode import SOURCE
from sqlanon.compiler.release import typed
from sqlanon.compiler.trees import aliased, both, canonical, column, cte, named, number, table, with_ctes
from sqlanon.errors import UnsupportedError
from sqlanon.models.base import PrivacyModel, fraction
from sqlanon.models.delta_presence import DeltaPresence
from sqlanon.models.distinct_l_diversity import DistinctLDiversity
from sqlanon.models.k_anonymity import KAnonymity

PERSON, PERSON_RANK, PERSON_RANK_OF_ALL = "person", "person_rank", "person_rank_of_all"
UNPLACED, LEAST = "unplaced", "least"
VALUE, TEXT = "value", "text"
"""The columns of a lookup: the canonical text of the source, and what the frozen level publishes for it."""
FINEST = 10**9
"""Largest denominator of min and max of δ-presence: a product with it and a number of records fits a BIGINT."""


@dataclass(frozen=True, slots=True)
class FrozenColumn:
    """A quasi-identifier at its frozen level.

    Attributes:
        name, type: of the column of the source.
        lookup: a relation with the columns ``value`` and ``text``, NULL included; None publishes the value of the
            source as it is (level 0 of a hierarchy that does not list its values).
        signed: both columns of the lookup have a sign before their text, ``=``, and read ``-`` for NULL: so that a file
            can hold them that does not tell NULL from an empty text.
    """

    name: str
    type: str
    lookup: exp.Expr | None
    signed: bool = False


@dataclass(frozen=True, slots=True)
class LiveView:
    """What a live view publishes of a source.

    Attributes:
        source: its relation.
        quasi: the quasi-identifiers in the order of the policy; none: all records are one class.
        published: the columns of the view and their types, in order; those that are no quasi-identifiers pass unchanged
            (ENUMs as text).
        models: of the policy; all must hold.
        basic: records with a NULL in a quasi-identifier do not take part.
        entity: the column of the source that tells whose record it is: persons are counted, not records. A record
            whose person is NULL is nobody's; it is not published, and it counts for nobody.
        member, member_type: the column of the source that tells the records of the subset (δ-presence), and its type.
        shuffled: the rows come in random order, a sort on every read; without it they come in that of the source,
            which tells who stands where.
    """

    source: exp.Expr
    quasi: tuple[FrozenColumn, ...]
    published: Mapping[str, str]
    models: tuple[PrivacyModel, ...]
    basic: bool = False
    entity: str | None = None
    member: str | None = None
    member_type: str = "BOOLEAN"
    shuffled: bool = True


def refuse_models(models: Sequence[PrivacyModel]) -> None:
    """Refuse models that cannot be said as a predicate over windows.

    Raises:
        UnsupportedError: names them and the alternative.
    """
    others = [m.label for m in models if not isinstance(m, KAnonymity | DistinctLDiversity | DeltaPresence)]
    if others:
        diverse = any("l_diversity" in label for label in others)
        instead = ", or put distinct_l_diversity in its place" if diverse else ""
        raise UnsupportedError(
            f"A live view cannot judge {', '.join(others)}: the model looks at the whole distribution of a class.",
            hint=f"publish a snapshot (output: {{view: …}} or {{table: …}}){instead}.",
        )
    for model in models:
        if isinstance(model, DeltaPresence) and max(fraction(model.min)[1], fraction(model.max)[1]) > FINEST:
            raise UnsupportedError(
                f"A live view cannot judge {model.label}: min or max has more than nine decimals.",
                hint="round it, or publish a snapshot (output: {view: …} or {table: …}).",
            )


def live_view(view: LiveView) -> exp.Query:
    """The SELECT of a live view.

    Raises:
        UnsupportedError: see ``refuse_models`` and ``member_flag``.
    """
    refuse_models(view.models)
    ctes = [cte("records", _records(view))]
    before = "records"
    if ranks := _ranks(view):
        inner = [column(name) for name in _columns(view)]
        ctes.append(cte("ranked", exp.select(*inner, *ranks).from_(table(before))))
        before = "ranked"
    ctes.append(cte("judged", exp.select(*[column(name) for name in _columns(view)], *_counters(view, before))))
    ctes[-1].this.from_(table(before), copy=False)
    before = "judged"
    if _rejecting(view):
        least = named(_over(exp.Min(this=column(names.COUNT)), []), LEAST)
        ctes.append(cte("compared", exp.select(exp.Star(), least).from_(table(before))))
        before = "compared"
    cells = {item.name: _class(position) for position, item in enumerate(view.quasi)}
    rows = exp.select(*[named(column(cells.get(name, _cell(i))), name) for i, name in enumerate(view.published)])
    query = with_ctes(rows.from_(table(before)).where(_passes(view), copy=False), ctes)
    assert isinstance(query, exp.Select)
    return query.order_by(exp.Rand(), copy=False) if view.shuffled else query


def takes_part(view: LiveView) -> exp.Select:
    """One row about the source: all records (of the subset), and those of them that take part (not excluded)."""
    wanted = [] if view.member is None else [exp.EQ(this=_flag(view), expression=number(1))]
    included = exp.and_(*wanted, *_present(view), copy=False) if wanted or view.basic else exp.true()
    counts = []
    for name, condition in (("records", both(wanted)), ("included", included)):
        case = exp.Case(ifs=[exp.If(this=condition.copy(), true=number(1))], default=number(0))
        counts.append(named(exp.Coalesce(this=exp.Sum(this=case), expressions=[number(0)]), name))
    return exp.select(*counts).from_(aliased(view.source, SOURCE))


def member_flag(name: str, type_name: str, relation: str | None = None) -> exp.Expr:
    """1 for a record of the subset, 0 for another, NULL where the column does not say.

    Raises:
        UnsupportedError: the column is neither BOOLEAN nor a whole number.
    """
    kind = type_name.upper()
    flag: exp.Expr = column(name, relation)
    if kind not in ("BOOLEAN", "BOOL"):
        if "INT" not in kind:
            raise UnsupportedError(
                f"A live view cannot read the subset from column {name!r} of the type {type_name.split('(')[0]}.",
                hint="use a BOOLEAN column, or 0 and 1.",
            )
        flag = exp.NEQ(this=flag, expression=number(0))
    return exp.Case(
        ifs=[exp.If(this=exp.Is(this=column(name, relation), expression=exp.null()), true=exp.null())],
        default=exp.Case(ifs=[exp.If(this=flag, true=number(1))], default=number(0)),
    )


def _class(position: int) -> str:
    return f"class_{position}"


def _cell(position: int) -> str:
    return f"column_{position}"


def _watched(view: LiveView) -> list[str]:
    """The sensitive columns that a model counts the values of."""
    return list(dict.fromkeys(m.column for m in view.models if isinstance(m, DistinctLDiversity)))


def _value(position: int) -> str:
    return f"value_{position}"


def _rank(position: int) -> str:
    return f"rank_{position}"


def _values(position: int) -> str:
    return f"values_{position}"


def _columns(view: LiveView) -> list[str]:
    """What passes from one step to the next, besides ranks and counters."""
    quasi = {item.name for item in view.quasi}
    cells = [_cell(position) for position, name in enumerate(view.published) if name not in quasi]
    flags = [names.MEMBER] if view.member is not None else []
    return [*[_class(position) for position in range(len(view.quasi))], *cells, *flags]


def _flag(view: LiveView, relation: str | None = SOURCE) -> exp.Expr:
    assert view.member is not None
    return member_flag(view.member, view.member_type, relation)


def _given(name: str) -> exp.Expr:
    return exp.Not(this=exp.Is(this=column(name, SOURCE), expression=exp.null()))


def _present(view: LiveView) -> list[exp.Expr]:
    """Under the basic match, what is said of a record that takes part."""
    return [_given(item.name) for item in view.quasi] if view.basic else []


def _signed(text: exp.Expr) -> exp.Expr:
    """A text that is there for NULL too, so that an equality finds NULL, by a hash."""
    sign = exp.DPipe(this=exp.Literal.string("="), expression=text, safe=True)
    return exp.Coalesce(this=sign, expressions=[exp.Literal.string("-")])


def _plain(name: str, relation: str) -> exp.Expr:
    """What stands behind the sign."""
    is_null = exp.EQ(this=column(name, relation), expression=exp.Literal.string("-"))
    rest = exp.Substring(this=column(name, relation), start=number(2))
    return exp.Case(ifs=[exp.If(this=is_null, true=exp.null())], default=rest)


def _records(view: LiveView) -> exp.Select:
    """The records that take part and have a row in every lookup: class, published cells, what models look at."""
    cells: list[exp.Expr] = []
    joins: list[tuple[exp.Expr, exp.Expr]] = []
    position_of = {item.name: position for position, item in enumerate(view.quasi)}
    for position, item in enumerate(view.quasi):
        type_name = view.published.get(item.name, item.type)
        if item.lookup is None:
            value: exp.Expr = typed(column(item.name, SOURCE), type_name, generalized=False)
        else:
            alias = names.lookup(position)
            text = _plain(TEXT, alias) if item.signed else column(TEXT, alias)
            value = typed(text, type_name, generalized=True)
            meets = column(VALUE, alias) if item.signed else _signed(column(VALUE, alias))
            key = _signed(canonical(item.name, item.type, SOURCE))
            joins.append((_single(item.lookup).subquery(alias), exp.EQ(this=key, expression=meets)))
        cells.append(named(value, _class(position)))
    for index, (name, type_name) in enumerate(view.published.items()):
        if name not in position_of:
            cells.append(named(typed(column(name, SOURCE), type_name, generalized=False), _cell(index)))
    conditions = _present(view)
    if view.member is not None:
        cells.append(named(_flag(view), names.MEMBER))
        conditions.append(_given(view.member))
    cells += [named(column(name, SOURCE), _value(position)) for position, name in enumerate(_watched(view))]
    if view.entity is not None:
        cells.append(named(column(view.entity, SOURCE), PERSON))
        conditions.append(_given(view.entity))
    query = exp.select(*cells).from_(aliased(view.source, SOURCE))
    for relation, condition in joins:
        query = query.join(relation, on=condition, copy=False)
    return query.where(both(conditions), copy=False) if conditions else query


def _single(lookup: exp.Expr) -> exp.Select:
    """The rows of a lookup whose value has one row: a second one would multiply the records of the value."""
    one = exp.EQ(this=exp.Count(this=exp.Star()), expression=number(1))
    text = named(exp.Min(this=column(TEXT)), TEXT)
    return exp.select(column(VALUE), text).from_(aliased(lookup, "listed")).group_by(column(VALUE)).having(one)


def _over(function: exp.Expr, partition: Sequence[str], *, order: str | None = None) -> exp.Expr:
    window = exp.Window(this=function, partition_by=[column(name) for name in partition])
    if order is not None:
        window.set("order", exp.Order(expressions=[exp.Ordered(this=column(order), nulls_first=False)]))
    return window


def _classes(view: LiveView) -> list[str]:
    return [_class(position) for position in range(len(view.quasi))]


def _ranks(view: LiveView) -> list[exp.Expr]:
    """DENSE_RANKs within the class: of the sensitive values, and of the persons; with a subset, among its records."""
    among = [*_classes(view), *([names.MEMBER] if view.member is not None else [])]
    ranks: list[exp.Expr] = [
        named(_over(exp.DenseRank(), among, order=_value(position)), _rank(position))
        for position in range(len(_watched(view)))
    ]
    if view.entity is not None:
        ranks.append(named(_over(exp.DenseRank(), among, order=PERSON), PERSON_RANK))
        if view.member is not None:
            ranks.append(named(_over(exp.DenseRank(), _classes(view), order=PERSON), PERSON_RANK_OF_ALL))
    return ranks


def _among_members(view: LiveView, value: exp.Expr) -> exp.Expr:
    """``value`` for a record of the subset, 0 for another; without a subset ``value``."""
    if view.member is None:
        return value
    is_member = exp.EQ(this=column(names.MEMBER), expression=number(1))
    return exp.Case(ifs=[exp.If(this=is_member, true=value)], default=number(0))


def _counters(view: LiveView, before: str) -> list[exp.Expr]:
    """Per record, of its class: ``n`` records or persons, of the subset if there is one; its population; values."""
    classes = _classes(view)
    everyone: exp.Expr = exp.Count(this=exp.Star())
    if view.entity is not None:
        counted: exp.Expr = exp.Max(this=_among_members(view, column(PERSON_RANK)))
        everyone = exp.Max(this=column(PERSON_RANK_OF_ALL))
    else:
        counted = everyone.copy() if view.member is None else exp.Sum(this=_among_members(view, number(1)))
    counters: list[exp.Expr] = [named(_over(counted, classes), names.COUNT)]
    for position in range(len(_watched(view))):
        ranked = exp.Max(this=_among_members(view, column(_rank(position))))
        counters.append(named(_over(ranked, classes), _values(position)))
    if view.member is not None:
        counters.append(named(_over(everyone, classes), names.POPULATION))
        if _bounded_below(view):
            all_records = exp.select(exp.Count(this=exp.Star())).from_(aliased(view.source, SOURCE))
            if view.basic:
                all_records = all_records.where(both(_present(view)), copy=False)
            placed = _over(exp.Count(this=exp.Star()), [])
            counters.append(named(exp.Sub(this=all_records.subquery(), expression=placed), UNPLACED))
    return counters


def _presence(view: LiveView) -> list[DeltaPresence]:
    return [model for model in view.models if isinstance(model, DeltaPresence)]


def _bounded_below(view: LiveView) -> bool:
    return any(fraction(model.min)[0] > 0 for model in _presence(view))


def _rejecting(view: LiveView) -> bool:
    return any(model.needs_rejection for model in _presence(view))


def _passes(view: LiveView) -> exp.Expr:
    """The record is published: its class meets every model, and it belongs to the subset, if there is one."""
    conditions: list[exp.Expr] = []
    if view.member is not None:
        conditions.append(exp.EQ(this=column(names.MEMBER), expression=number(1)))
    watched = _watched(view)
    for model in view.models:
        if isinstance(model, KAnonymity):
            conditions.append(exp.GTE(this=column(names.COUNT), expression=number(model.k)))
        elif isinstance(model, DistinctLDiversity):
            counted = column(_values(watched.index(model.column)))
            conditions.append(exp.GTE(this=counted, expression=number(model.l)))
        elif isinstance(model, DeltaPresence):
            conditions += _share(model)
    if _rejecting(view):
        conditions.append(exp.EQ(this=column(UNPLACED), expression=number(0)))
        conditions.append(exp.GT(this=column(LEAST), expression=number(0)))
    return both(conditions)


def _share(model: DeltaPresence) -> list[exp.Expr]:
    """min ≤ n / population ≤ max in whole numbers; below min, those who stand in no class are counted too."""
    (low, low_parts), (high, high_parts) = fraction(model.min), fraction(model.max)
    population = column(names.POPULATION)

    def times(value: exp.Expr, factor: int) -> exp.Expr:
        return exp.Mul(this=value, expression=number(factor))

    conditions: list[exp.Expr] = [
        exp.LTE(this=times(column(names.COUNT), high_parts), expression=times(population, high))
    ]
    if low > 0:
        everybody = exp.paren(exp.Add(this=population.copy(), expression=column(UNPLACED)))
        conditions.append(exp.GTE(this=times(column(names.COUNT), low_parts), expression=times(everybody, low)))
    return conditions
