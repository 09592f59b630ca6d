"""What each privacy model makes of the histogram of its column in a live view: what it counts, and its condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from sqlanon.core.models.base import PrivacyModel, fraction
from sqlanon.core.models.beta_likeness import BetaLikeness
from sqlanon.core.models.checked import EVERYTHING, TOTAL, live_condition
from sqlanon.core.models.delta_disclosure import WIDEST, DeltaDisclosure
from sqlanon.core.models.entropy_l_diversity import EntropyLDiversity
from sqlanon.core.models.recursive_l_diversity import RecursiveLDiversity
from sqlanon.core.models.t_closeness import TCloseness
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, equal, greatest, named, number, when
from sqlanon.live.compiler.live_models import LiveView, window
from sqlanon.live.compiler.live_values import ColumnHistogram, histograms_of, share_of, stretch, sum_over

distance_of = names.namer("distance")
"""Name of the column with the distance of a class by the model at a position of the view's models."""
faults_of = names.namer("faults")
"""Name of the column that says, by the model at a position, whether a value of the class breaks it."""
fact_of = names.namer("fact")
"""Name of the columns with what a model from outside sums up of a class: of the model at a position, and which."""
tail_of = names.namer("tail")
"""Name of the column with the tail of a class by the model at a position of the view's models."""


def value_counters(view: LiveView) -> list[exp.Expr]:
    """Return per record, of its class: what the predicates of the models compare."""
    counters: list[exp.Expr] = []
    for counted in histograms_of(view):
        for kind, shared in SHARED.items():
            if counted.asks(kind):
                counters += shared(counted)
        for place, model in counted.models:
            counters += OWN.get(model.type, _facts)(counted, place, model)
        passed = ["weight"]
        if counted.item.placed and "ordered" in counted.distances:
            passed.append("unknown")
        if any(EVERYTHING in _bare_columns(model) for _, model in counted.models):
            passed.append("everything")
        counters += [counted.get(name) for name in passed]
    return counters


def _spread(counted: ColumnHistogram) -> list[exp.Expr]:
    """Return the sum of m ln m over the values of a class."""
    logarithm = exp.Mul(this=counted.get("held"), expression=exp.Ln(this=counted.get("held")))
    spread = exp.Sum(this=when(equal(counted.get("first"), number(1)), logarithm, number(0)))
    return [named(window(spread, counted.in_class()), counted.name("spread"))]


def _most_and_distinct(counted: ColumnHistogram) -> list[exp.Expr]:
    """Return the records of the most frequent value of a class, and how many values it has."""
    inside = counted.in_class()
    is_value = when(equal(counted.get("first"), number(1)), number(1), number(0))
    return [
        named(window(exp.Max(this=counted.get("held")), inside), counted.name("most")),
        named(sum_over(is_value, inside), counted.name("distinct")),
    ]


def _tail(counted: ColumnHistogram, place: int, model: RecursiveLDiversity) -> list[exp.Expr]:
    """Return the records of all but the l - 1 most frequent values of a class."""
    in_tail = exp.GTE(this=counted.get("largest"), expression=number(model.l))
    tail = when(in_tail, counted.once("held", "first"), number(0))
    return [named(sum_over(tail, counted.in_class()), tail_of(place))]


def _fault(counted: ColumnHistogram, place: int, model: DeltaDisclosure | BetaLikeness) -> list[exp.Expr]:
    """Return 1 for a class in which a value breaks a model that caps shares."""
    breaks = exp.and_(equal(counted.get("first"), number(1)), _breaks(counted, model))
    worst = exp.Max(this=when(breaks, number(1), number(0)))
    return [named(window(worst, counted.in_class()), faults_of(place))]


def _facts(counted: ColumnHistogram, place: int, model: PrivacyModel) -> list[exp.Expr]:
    """Return the aggregates of a model from outside (``live_file``) as windows: each value of a class counts once."""
    facts: list[exp.Expr] = []
    for aggregate in _aggregates(model):
        is_first = equal(counted.get("first"), number(1))
        value: exp.Expr = number(1)
        if not isinstance(aggregate.this, exp.Star):
            value = aggregate.this.transform(lambda node: _in_histogram(counted, node))
        once = type(aggregate)(this=when(is_first, value))
        facts.append(named(window(once, counted.in_class()), _fact(place, len(facts))))
    return facts


def _in_histogram(counted: ColumnHistogram, node: exp.Expr) -> exp.Expr:
    """Return a column of the histogram that a condition from outside names as that of the view."""
    names_of = {"n": "held", TOTAL: "total", EVERYTHING: "everything"}
    return counted.get(names_of[node.name]) if isinstance(node, exp.Column) else node


def _meets(counted: ColumnHistogram, place: int, model: PrivacyModel) -> list[exp.Expr]:
    """Return the condition of a model from outside over its facts."""
    condition = live_condition(model)
    assert condition is not None  # see ``reads_histogram``
    for number_of, aggregate in enumerate(_aggregates_of(condition)):
        fact = column(_fact(place, number_of))
        if aggregate is condition:
            return [fact]
        aggregate.replace(fact)
    for cell in list(condition.find_all(exp.Column)):
        if cell.name == EVERYTHING:
            cell.replace(counted.get("everything"))
    return [exp.paren(condition)]


def _fact(place: int, position: int) -> str:
    return f"{fact_of(place)}_{position}"


def _aggregates(model: PrivacyModel) -> list[exp.AggFunc]:
    condition = live_condition(model)
    return [] if condition is None else _aggregates_of(condition)


def _aggregates_of(condition: exp.Expr) -> list[exp.AggFunc]:
    return list(condition.find_all(exp.AggFunc))


def _bare_columns(model: PrivacyModel) -> set[str]:
    """Return the columns of a condition from outside that stand beside its aggregates."""
    condition = live_condition(model)
    cells = [] if condition is None else condition.find_all(exp.Column)
    return {cell.name for cell in cells if cell.find_ancestor(exp.AggFunc) is None}


def _distance(counted: ColumnHistogram, distance: str) -> exp.Expr:
    """Return the distance between a class and all records."""
    inside, get = counted.in_class(), counted.get
    is_first = equal(get("first"), number(1))
    if distance == "ordered":
        work = window(exp.Sum(this=when(is_first, stretch(counted), number(0))), inside)
        most = exp.Nullif(this=exp.paren(exp.Sub(this=get("places"), expression=number(1))), expression=number(0))
        return exp.Coalesce(this=share_of(work, most), expressions=[exp.cast(number(0), "DOUBLE")])
    levels = range(counted.item.levels) if distance == "hierarchical" else range(1)
    parts: list[exp.Expr] = []
    for level in levels:
        more = exp.Sub(
            this=share_of(get("held", level), get("weight")),
            expression=share_of(get("total", level), get("everything")),
        )
        own = when(equal(get("first", level), number(1)), greatest(more, exp.cast(number(0), "DOUBLE")), number(0))
        parts.append(window(exp.Sum(this=own), inside))
    whole = parts[0]
    for part in parts[1:]:
        whole = exp.Add(this=whole, expression=part)
    return whole if len(parts) == 1 else share_of(exp.paren(whole), number(len(parts)))


def _breaks(counted: ColumnHistogram, model: DeltaDisclosure | BetaLikeness) -> exp.Expr:
    """Return the condition that the share of a value in its class is too large, or too small, beside that among all."""
    share = share_of(counted.get("held"), counted.get("weight"))
    overall = share_of(counted.get("total"), counted.get("everything"))
    if isinstance(model, BetaLikeness):
        beta = _double(float(model.beta))
        if model.enhanced:
            beta = exp.Least(this=beta, expressions=[exp.Neg(this=exp.Ln(this=overall.copy()))])
        cap = exp.Mul(this=exp.paren(exp.Add(this=number(1), expression=beta)), expression=overall)
        return exp.GT(this=share, expression=exp.Mul(this=cap, expression=_double(1 + 1e-12)))
    factor = _double(2.0 ** min(float(model.delta), WIDEST))
    most = exp.Mul(this=exp.Mul(this=factor, expression=overall.copy()), expression=_double(1 - 1e-12))
    least = exp.Mul(this=overall, expression=_double(1 + 1e-12))
    return exp.or_(
        exp.GTE(this=share.copy(), expression=most),
        exp.LTE(this=exp.Mul(this=share, expression=factor.copy()), expression=least),
    )


def value_predicates(view: LiveView) -> list[exp.Expr]:
    """Return the conditions that a class meets the models, with the tolerances of ``sql/model``."""
    conditions: list[exp.Expr] = []
    for counted in histograms_of(view):
        for place, model in counted.models:
            conditions += MET.get(model.type, _meets)(counted, place, model)
        if counted.item.placed and "ordered" in counted.distances:
            conditions.append(equal(counted.get("unknown"), number(0)))
    return conditions


def _is_spread(counted: ColumnHistogram, place: int, model: EntropyLDiversity) -> list[exp.Expr]:
    mean = share_of(counted.get("spread"), counted.get("weight"))
    entropy = exp.Sub(this=exp.Ln(this=counted.get("weight")), expression=mean)
    least = exp.Sub(this=exp.Ln(this=_double(float(model.l))), expression=_double(1e-12))
    return [exp.GTE(this=entropy, expression=exp.paren(least))]


def _has_tail(counted: ColumnHistogram, place: int, model: RecursiveLDiversity) -> list[exp.Expr]:
    above, below = fraction(model.c)
    largest = exp.Mul(this=counted.get("most"), expression=number(below))
    tail = exp.Mul(this=column(tail_of(place)), expression=number(above))
    enough = exp.GTE(this=counted.get("distinct"), expression=number(model.l))
    return [enough, exp.LT(this=largest, expression=tail)]


def _is_near(counted: ColumnHistogram, place: int, model: TCloseness) -> list[exp.Expr]:
    most = exp.Add(this=_double(float(model.t)), expression=_double(1e-12))
    return [exp.LTE(this=column(distance_of(place)), expression=exp.paren(most))]


def _has_no_fault(counted: ColumnHistogram, place: int, model: PrivacyModel) -> list[exp.Expr]:
    return [equal(column(faults_of(place)), number(0))]


def _double(value: float) -> exp.Expr:
    return exp.cast(exp.Literal.number(repr(value)), "DOUBLE")


Rendition = Callable[[ColumnHistogram, int, Any], list[exp.Expr]]
"""What a model makes of the histogram of its column; with its place among the models of the view."""
SHARED: Mapping[str, Callable[[ColumnHistogram], list[exp.Expr]]] = {
    "entropy_l_diversity": _spread,
    "recursive_l_diversity": _most_and_distinct,
}
"""What all models of a type that watch a column read, once."""
OWN: Mapping[str, Rendition] = {
    "entropy_l_diversity": lambda counted, place, model: [],
    "recursive_l_diversity": _tail,
    "t_closeness": lambda counted, place, model: [named(_distance(counted, model.distance), distance_of(place))],
    "delta_disclosure": _fault,
    "beta_likeness": _fault,
}
"""What each model reads by itself; one from outside, the aggregates of its ``live_file``."""
MET: Mapping[str, Rendition] = {
    "entropy_l_diversity": _is_spread,
    "recursive_l_diversity": _has_tail,
    "t_closeness": _is_near,
    "delta_disclosure": _has_no_fault,
    "beta_likeness": _has_no_fault,
}
"""What a class must meet; by a model from outside, the condition of its ``live_file``."""
