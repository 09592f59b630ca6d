"""The counters that the models of a live view read, as windows over the classes, and the predicate of a class.

- The largest DENSE_RANK in a partition is its number of distinct values; NULLs are peers, so NULL is a value.
- δ-presence, above max: a record that stands in no class (no lookup row, an unclear flag) can only have lowered the
  share. Below min it could have lowered it too, so it is counted as if it stood in *every* class. With
  ``public_only: reject`` it could be a class of its own without a record of the subset: nothing is published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import SOURCE, TakingPart
from sqlanon.core.models.base import PrivacyModel, fraction, is_of_release, judges_persons
from sqlanon.core.models.checked import EVERYTHING, TOTAL, live_condition
from sqlanon.core.models.delta_presence import DeltaPresence
from sqlanon.core.models.k_map import KMap
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import aliased, both, column, count_rows, equal, named, number, when
from sqlanon.errors import UnsupportedError

ENTITY, ENTITY_RANK, ENTITY_RANK_OF_ALL = "entity", "entity_rank", "entity_rank_of_all"
UNPLACED, LEAST, PLACED = "unplaced", "least", "placed"
FINEST = 10**9
"""Largest denominator of min and max of δ-presence: a product with it and a number of records fits a BIGINT."""
COMPARED = ("t_closeness", "delta_disclosure", "beta_likeness")
"""The models that compare the histogram of a class with that of all records."""
COUNTED = ("entropy_l_diversity", "recursive_l_diversity", *COMPARED)
"""The models that look at the histogram of a class."""
SNAPSHOT = "publish a snapshot (output: {view: …} or {table: …})"
FLAGS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
"""Types, besides BOOLEAN, of a column that marks the records of the subset: 0 is another record."""
FLOATS = ("FLOAT", "DOUBLE", "REAL")
EXACT = (
    *FLAGS,
    *FLOATS,
    "HUGEINT",
    "UHUGEINT",
    "BOOLEAN",
    "UUID",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE",
)
"""Types whose values, zero apart from its sign, are equal only when they read the same; a DECIMAL with a scale too."""

class_of = names.namer("class")
"""Name of the column that holds the published cell of the quasi-identifier at a position."""
value_of = names.namer("value")
"""Name of the column that holds the value of the sensitive column at a position of ``watched``."""
rank_of = names.namer("rank")
"""Name of the column that ranks these values within their class."""
values_of = names.namer("values")
"""Name of the column that counts these values in their class."""


@dataclass(frozen=True, slots=True)
class FrozenColumn:
    """A quasi-identifier at its frozen level.

    Attributes:
        name, type: of the column of the source.
        lookup: a relation with the columns ``value`` and ``text``, NULL included; None publishes the value of the
            source as it is (level 0 of a hierarchy that does not list its values).
        signed: both columns of the lookup have a sign before their text, ``=``, and read ``-`` for NULL: so that a file
            can hold them that does not distinguish NULL from an empty text.
        by_value: the text of the source depends on settings of the session that reads, so the lookup is met by the
            value: it has a column ``key`` of the source's type, or is ``signed``, and its texts are read as that type.
    """

    name: str
    type: str
    lookup: exp.Expr | None
    signed: bool = False
    by_value: bool = False


@dataclass(frozen=True, slots=True)
class SensitiveColumn:
    """A sensitive column whose histogram a model looks at.

    Attributes:
        name, type: of the column of the source.
        lookup: the values of its hierarchy, where a distance needs them: ``value``, with ``by_value`` also
            ``key``, per level from 1 to the last below the root the text, and ``place`` where the hierarchy lists them.
        levels: how many levels lie below the root; 0: no distance is hierarchical.
        placed: the lookup has the places of an order.
        by_value: see ``FrozenColumn``.
    """

    name: str
    type: str
    lookup: exp.Expr | None = None
    levels: int = 0
    placed: bool = False
    by_value: bool = False


@dataclass(frozen=True, slots=True)
class LiveView:
    """A live view: its source, and the columns, levels and models of what it publishes.

    Attributes:
        source: its relation.
        quasi: the quasi-identifiers in the order of the policy; none: all records are one class.
        published: the columns of the view and their types, in order; those that are no quasi-identifiers pass unchanged
            (ENUMs as text).
        models: of the policy; all must hold.
        basic: records with a NULL in a quasi-identifier do not take part.
        entity: the column of the source that identifies the person of a record: persons are counted, not records. A
            record whose person is NULL is not published, and it counts for no person.
        member, member_type: the column of the source that marks the records of the subset (δ-presence), and its type.
        with_entities: the rows hold their persons too, as the column ``names.ENTITY``: for audits, never for readers.
        shuffled: the rows come in random order, a sort on every read; without it they come in that of the source,
            which reveals who stands where.
        collation: that of the classes, in which a text equals itself alone; None: those of the columns.
        sensitive: the columns that ``counted_columns`` names.
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
    with_entities: bool = False
    collation: str | None = None
    sensitive: tuple[SensitiveColumn, ...] = ()


def refuse_models(models: Sequence[PrivacyModel]) -> None:
    """Refuse models that cannot be written as a predicate over windows.

    Raises:
        UnsupportedError: names them and the alternative.
    """
    if judges_persons(models):
        raise UnsupportedError(
            "A live view cannot judge persons by all of their rows: whose rows are alike changes with each record.",
            hint=f"{SNAPSHOT}.",
        )
    refuse_populations(models)
    if together := [model for model in models if is_of_release(model)]:
        why = "which class is suppressed depends on all others, in rounds that one query does not have."
        raise _cannot_judge(together, why)
    others = [model for model in models if model.type not in (*OF_CLASS, *COUNTED) and live_condition(model) is None]
    if others:
        raise _cannot_judge(others, "no window over the records of a class says what it needs.")
    for model in models:
        if isinstance(model, DeltaPresence) and max(fraction(model.min)[1], fraction(model.max)[1]) > FINEST:
            raise _cannot_judge([model], "min or max has more than nine decimals.", f"round it, or {SNAPSHOT}.")
        if model.type == "recursive_l_diversity" and max(fraction(getattr(model, "c", 0))) > FINEST:
            raise _cannot_judge([model], "c has more than nine digits.", f"round it, or {SNAPSHOT}.")


def _cannot_judge(models: Sequence[PrivacyModel], why: str, hint: str = f"{SNAPSHOT}.") -> UnsupportedError:
    labels = ", ".join(model.label for model in models)
    return UnsupportedError(f"A live view cannot judge {labels}: {why}", hint=hint)


def counted_columns(models: Sequence[PrivacyModel]) -> list[str]:
    """Return the sensitive columns whose histograms the models look at."""
    return list(dict.fromkeys(m.column for m in models if m.column is not None and reads_histogram(m)))


def reads_histogram(model: PrivacyModel) -> bool:
    """Return whether a model reads how many records of a class have each sensitive value."""
    return model.type in COUNTED or (model.column is not None and live_condition(model) is not None)


def compares(model: PrivacyModel) -> bool:
    """Return whether a model compares the histogram of a class with that of all records."""
    condition = live_condition(model)
    return model.type in COMPARED or (
        condition is not None and any(cell.name in (TOTAL, EVERYTHING) for cell in condition.find_all(exp.Column))
    )


def keeps_all(view: LiveView) -> bool:
    """Return True if records in no class are kept until the end: a model compares with all that take part."""
    return any(map(compares, view.models))


def among_counted(view: LiveView) -> list[exp.Expr]:
    """Return the condition that models count a record: it belongs to the subset, if there is one."""
    return [column(names.MEMBER)] if view.member is not None else []


def refuse_populations(models: Sequence[PrivacyModel]) -> None:
    """Refuse k-map unless the source is the population, whose records the windows count.

    Raises:
        UnsupportedError: says why, and the alternative.
    """
    has_subset = any(isinstance(model, DeltaPresence) for model in models)
    for model in models:
        if isinstance(model, KMap) and model.estimates:
            why = "the estimate rests on how many records there are now."
            raise _cannot_judge([model], why, f"say k_anonymity with the k that explain gives for it, or {SNAPSHOT}.")
        if isinstance(model, KMap) and model.population is None and not has_subset:
            raise _cannot_judge(
                [model],
                "its windows see the source, and no table of a population.",
                "make one view of both, name it as the source and the sample as its subset (delta_presence with "
                f"subset: {{column: …}}), or {SNAPSHOT}.",
            )


def watched(view: LiveView) -> list[str]:
    """Return the sensitive columns that a model counts the values of."""
    return list(dict.fromkeys(m.column for m in view.models if m.type == "distinct_l_diversity" and m.column))


def in_source(name: str) -> exp.Column:
    """Return a column of the source."""
    return column(name, SOURCE)


def taking_part(view: LiveView) -> list[exp.Expr]:
    """Return the conditions that a record of the source takes part, whether it belongs to the subset or not."""
    return TakingPart(tuple(item.name for item in view.quasi), view.basic).conditions(SOURCE)


def window(function: exp.Expr, partition: Sequence[exp.Expr], *, order: str | None = None) -> exp.Expr:
    """Return a function over the rows that agree in some expressions; ``order`` is a column of ours."""
    over = exp.Window(this=function, partition_by=[item.copy() for item in partition])
    if order is not None:
        over.set("order", exp.Order(expressions=[exp.Ordered(this=column(order), nulls_first=False)]))
    return over


def is_exact(type_name: str) -> bool:
    """Return whether values of a type are equal only when they read the same (``EXACT``)."""
    return type_name.upper() in EXACT or type_name.upper().startswith("DECIMAL(")


def is_text(item: FrozenColumn) -> bool:
    """Return True where a text identifies the class, false where the value of the source does."""
    return item.lookup is not None or not is_exact(item.type)


def classes_of(view: LiveView) -> list[exp.Expr]:
    """Return the expressions whose values make a class.

    A text equals itself alone, whatever the collation of its column.
    """
    classes: list[exp.Expr] = []
    for position, item in enumerate(view.quasi):
        cell: exp.Expr = column(class_of(position))
        if view.collation is not None and is_text(item):
            cell = exp.Collate(this=cell, expression=exp.to_identifier(view.collation, quoted=True))
        classes.append(cell)
    return [*classes, column(PLACED)] if keeps_all(view) else classes


def ranks(view: LiveView) -> list[exp.Expr]:
    """Return DENSE_RANKs within the class: of sensitive values, and of persons; with a subset, among its records."""
    among = [*classes_of(view), *among_counted(view)]
    ranks: list[exp.Expr] = [
        named(window(exp.DenseRank(), among, order=value_of(position)), rank_of(position))
        for position in range(len(watched(view)))
    ]
    if view.entity is not None:
        ranks.append(named(window(exp.DenseRank(), among, order=ENTITY), ENTITY_RANK))
        if view.member is not None:
            ranks.append(named(window(exp.DenseRank(), classes_of(view), order=ENTITY), ENTITY_RANK_OF_ALL))
    return ranks


def _among_members(view: LiveView, value: exp.Expr) -> exp.Expr:
    """Return ``value`` for a record of the subset, 0 for another; without a subset ``value``."""
    if view.member is None:
        return value
    return when(equal(column(names.MEMBER), number(1)), value, number(0))


def counters(view: LiveView) -> list[exp.Expr]:
    """Return per record, of its class: ``n`` records or persons (of the subset, if any); its population; values."""
    classes = classes_of(view)
    everyone: exp.Expr = count_rows()
    if view.entity is not None:
        counted: exp.Expr = exp.Max(this=_among_members(view, column(ENTITY_RANK)))
        everyone = exp.Max(this=column(ENTITY_RANK_OF_ALL))
    else:
        counted = everyone.copy() if view.member is None else exp.Sum(this=_among_members(view, number(1)))
    counters: list[exp.Expr] = [named(window(counted, classes), names.COUNT)]
    for position in range(len(watched(view))):
        ranked = exp.Max(this=_among_members(view, column(rank_of(position))))
        counters.append(named(window(ranked, classes), values_of(position)))
    if view.member is not None:
        counters.append(named(window(everyone, classes), names.POPULATION))
        if any(fraction(model.min)[0] > 0 for model in _presence(view)):
            all_records = exp.select(count_rows()).from_(aliased(view.source, SOURCE))
            if view.basic:
                all_records = all_records.where(both(taking_part(view)), copy=False)
            placed = window(exp.Sum(this=column(PLACED)) if keeps_all(view) else count_rows(), [])
            counters.append(named(exp.Sub(this=all_records.subquery(), expression=placed), UNPLACED))
    return counters


def _presence(view: LiveView) -> list[DeltaPresence]:
    return [model for model in view.models if isinstance(model, DeltaPresence)]


def rejecting(view: LiveView) -> bool:
    """Return a class without records of the subset forbids the release."""
    return any(model.needs_rejection for model in _presence(view))


def passes(view: LiveView) -> exp.Expr:
    """Return the record is published: its class meets every model, and it belongs to the subset, if there is one."""
    conditions: list[exp.Expr] = [equal(column(PLACED), number(1))] if keeps_all(view) else []
    if view.member is not None:
        conditions.append(equal(column(names.MEMBER), number(1)))
    for model in view.models:
        if of_class := OF_CLASS.get(model.type):
            conditions += of_class(view, model)
        elif model.column is None and (condition := live_condition(model)) is not None:
            conditions.append(condition.transform(_as_count))
    if rejecting(view):
        conditions.append(equal(column(UNPLACED), number(0)))
        conditions.append(exp.GT(this=column(LEAST), expression=number(0)))
    return both(conditions)


def _as_count(node: exp.Expr) -> exp.Expr:
    """Return the column of a condition over ``classes`` as the records or persons that a view counts."""
    return column(names.COUNT) if isinstance(node, exp.Column) else node


def _at_least(counted: exp.Expr, parameter: str, model: PrivacyModel) -> list[exp.Expr]:
    return [exp.GTE(this=counted, expression=number(getattr(model, parameter)))]


def _share(model: DeltaPresence) -> list[exp.Expr]:
    """Return the conditions min ≤ n / population ≤ max in whole numbers; below min, records in no class count too."""
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


OF_CLASS: Mapping[str, Callable[[LiveView, Any], list[exp.Expr]]] = {
    "k_anonymity": lambda view, model: _at_least(column(names.COUNT), "k", model),
    "distinct_l_diversity": lambda view, model: _at_least(
        column(values_of(watched(view).index(model.column))), "l", model
    ),
    "delta_presence": lambda view, model: _share(model),
    "k_map": lambda view, model: _at_least(column(names.POPULATION), "k", model),
}
"""What a class must meet by the models that windows judge without a histogram."""
