"""The statements that judge nodes: batches of verdicts over a grain, roll-ups, and the readable form of a node.

Every statement here runs on any engine with BIGINT, a bitwise AND and common table expressions; the tests run the
same text on SQLite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from sqlanon.compiler import distinct_entities
from sqlanon.compiler.encode import least_cost
from sqlanon.lattice.catalog import Catalog
from sqlanon.lattice.nodes import Node
from sqlanon.measures.base import Need
from sqlanon.models.base import PrivacyModel
from sqlanon.sqltrees import names
from sqlanon.sqltrees.binding import bind
from sqlanon.sqltrees.trees import (
    bigint,
    both,
    column,
    count_if,
    cte,
    greatest,
    masked,
    named,
    number,
    sum_if,
    table,
    total,
    wide_sum,
    with_ctes,
)

Form = Literal["cross", "union"]
TOTALS = -1
"""The ``attribute`` of the row that holds a node's counts; other rows hold an attribute's cost."""
NO_GRAIN = -1
"""The ``arm`` of a place in a batch that is not taken."""
COUNTS = ("grain", "classes", "suppressed", "smallest", "largest")
"""The counts of every totals row, after ``node`` and ``attribute``; ``Question.columns`` has the rest."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every node: the models, what the measure needs, and how far details are wanted.

    Attributes:
        models: the privacy models of the policy.
        size: the least number of records of a class that can pass them.
        needs: what the quality measure asks for.
        limit: nodes that certainly suppress more encoded records (or entities) have no cost rows; None: all have.
        by_model: also count what each model suppresses alone.
    """

    catalog: Catalog
    models: tuple[PrivacyModel, ...]
    size: int
    needs: Need | None
    limit: int | None = None
    by_model: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the result: ``node``, ``attribute``, counts and costs; a totals row has no costs, a cost row
        nothing else."""
        counts = list(COUNTS) if self.monotone else [*COUNTS, "lost"]
        if self.catalog.has_entity:
            counts += [distinct_entities.SMALLEST, distinct_entities.SUPPRESSED]
            counts += [] if self.monotone else [distinct_entities.LOST]
        if self.needs == "classes":
            counts += ["squares", "spread", "forced", "large", "small_records"]
        if self.rejects:
            counts.append("public_only")
        if self.by_model:
            counts += [f"model_{i}" for i in range(len(self.models))]
        return ("node", "attribute", *counts, *self.cost_columns)

    def masks(self, node: Node) -> tuple[int, ...]:
        """One mask per word: the node's, with the sensitive codes where a model counts values."""
        return self.catalog.grain_masks(node) if self.histograms else self.catalog.masks(node)

    @property
    def monotone(self) -> bool:
        """All records of a failing class are lost, so that nothing needs counting twice."""
        return all(model.monotone for model in self.models)

    @property
    def limited(self) -> str:
        """The count that the limit is held against, of what is certain."""
        if self.catalog.has_entity:
            return distinct_entities.SUPPRESSED if self.monotone else distinct_entities.LOST
        return "suppressed" if self.monotone else "lost"

    @property
    def cost_columns(self) -> tuple[str, ...]:
        """What suppressed records cost (``cost``), and what the lost ones cost at least, by level (``lost_<level>``).

        When all suppressed records are lost their cost is that of the node's own level. Surprisals do not ask for
        the level.
        """
        if not self.has_costs:
            return ()
        tallest = max(attribute.height for attribute in self.catalog.attributes)
        levels = 1 if self.needs == "surprisals" else tallest
        return (*(() if self.monotone else ("cost",)), *(f"lost_{level}" for level in range(levels)))

    @property
    def rejects(self) -> bool:
        """A class without records of the subset rules a node out."""
        return any(model.needs_rejection for model in self.models)

    @property
    def has_costs(self) -> bool:
        """There are cost rows."""
        return self.needs in ("costs", "surprisals") and bool(self.catalog.attributes)

    @property
    def histograms(self) -> tuple[str, ...]:
        """The sensitive columns whose values the models count, in the order of the catalog."""
        watched = {model.column for model in self.models}
        return tuple(s.name for s in self.catalog.sensitive if s.name in watched)


def _placeholder() -> exp.Expr:
    return bigint(exp.Placeholder())


def _values(name: str, columns: Sequence[str], rows: int) -> exp.CTE:
    tuples = [
        exp.Tuple(expressions=[exp.Placeholder() if c == "levels" else _placeholder() for c in columns])
        for _ in range(rows)
    ]
    alias = exp.TableAlias(
        this=exp.to_identifier(name, quoted=True),
        columns=[exp.to_identifier(item, quoted=True) for item in columns],
    )
    return exp.CTE(this=exp.Values(expressions=tuples), alias=alias)


def counters(has_population: bool, table_name: str | None = None) -> list[exp.Expr]:
    """The summed counters of a grain: ``n``, and ``population`` where there is one."""
    wanted = [names.COUNT, names.POPULATION] if has_population else [names.COUNT]
    return [named(total(column(name, table_name)), name) for name in wanted]


def roll_up(grain: str, masks: Sequence[int], has_population: bool = False, has_entity: bool = False) -> exp.Select:
    """The grain of a more general node, from the grain of a more special one."""
    parts = [masked(column(names.key(w)), number(mask)) for w, mask in enumerate(masks)]
    return (
        exp.select(
            *[named(part, names.key(w)) for w, part in enumerate(parts)],
            *_identity(has_entity),
            *counters(has_population),
        )
        .from_(table(grain))
        .group_by(*[part.copy() for part in parts], *_identity(has_entity))
    )


def _identity(has_entity: bool, table_name: str | None = None) -> list[exp.Expr]:
    """What a grain is grouped by beside its keys."""
    return [column(names.ENTITY, table_name)] if has_entity else []


def batch(question: Question, arms: Sequence[int], *, form: Form) -> exp.Query:
    """The verdicts of some nodes: one row of counts a node, one cost row a node and attribute.

    The text depends on the number of nodes and grains only, never on the nodes: masks are bound by ``parameters``.
    Columns are ``question.columns``.

    Args:
        arms: per place of a node the number of the grain (``names.grain``) that it is judged from. In the form
            ``cross`` a place is bound to any of the grains, or to no node at all, and only which grains occur matters.
    """
    return Batch(question).of(arms, form=form)


def literal_batch(question: Question, nodes: Sequence[Node], grain: str) -> exp.Query:
    """The verdicts of some nodes from one grain, with their masks as literals: what a script tells."""
    query = batch(question, [0] * len(nodes), form="cross").copy()
    columns = query.ctes[0].args["alias"].columns
    bound = parameters(question, nodes, [0] * len(nodes), form="cross")
    rows: exp.Query | None = None
    for start in range(0, len(bound), len(columns)):
        values: list[exp.Expr] = [
            exp.Literal.string(value) if isinstance(value, str) else bigint(number(value))
            for value in bound[start : start + len(columns)]
        ]
        row = exp.select(*[named(value, item.name) for value, item in zip(values, columns, strict=True)])
        rows = row if rows is None else exp.union(rows, row, distinct=False, copy=False)
    assert rows is not None
    query.ctes[0].replace(cte("nodes", rows))
    for relation in list(query.find_all(exp.Table)):
        if relation.name == names.grain(0):
            relation.set("this", exp.to_identifier(grain, quoted=True))
    return query


class Batch:
    """The statements of one question, which differ in the nodes and their grains alone: only these are made anew."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._masks = [f"mask_{w}" for w in range(question.catalog.words)]
        ctes = [self._nodes(1), *judged(question, self._grouped([0], "cross"))]
        self._grouping = ctes[1]
        if question.catalog.has_entity:
            ctes += distinct_entities.totals(question.catalog, _totals(question), question.columns, question.monotone)
        else:
            ctes.append(cte("totals", _totals(question), materialized=True))
        everything: exp.Query = exp.select("*").from_(table("totals"))
        if question.has_costs:
            ctes += _cost_ctes(question, self._masks)
            everything = exp.union(everything, _costs(question), distinct=False, copy=False)
        self._query = with_ctes(everything, ctes)

    def of(self, arms: Sequence[int], *, form: Form) -> exp.Query:
        """The statement for some places; the tree is changed by the next call."""
        self._query.ctes[0].replace(self._nodes(len(arms)))
        self._grouping.set("this", self._grouped(arms, form))
        return self._query

    def _nodes(self, places: int) -> exp.CTE:
        return _values("nodes", ["node", "arm", *self._masks, "levels"], places)

    def _grouped(self, arms: Sequence[int], form: Form) -> exp.Query:
        """The grains of all nodes, generalized and grouped."""
        catalog = self._question.catalog
        if form == "cross":
            selects = [_crossed(self._question, self._masks, arm) for arm in sorted(set(arms))]
        else:
            selects = [
                grouped_node(
                    names.grain(arm),
                    _placeholder(),
                    [_placeholder() for _ in self._masks],
                    catalog.has_population,
                    catalog.has_entity,
                )
                for arm in arms
            ]
        grouped: exp.Query = selects[0]
        for other in selects[1:]:
            grouped = exp.union(grouped, other, distinct=False, copy=False)
        return grouped


def _crossed(question: Question, mask_names: Sequence[str], arm: int) -> exp.Select:
    """The classes of all nodes that are judged from one grain."""
    parts = [masked(column(names.key(w), "grain"), column(mask, "nodes")) for w, mask in enumerate(mask_names)]
    identity = _identity(question.catalog.has_entity, "grain")
    return (
        exp.select(
            column("node", "nodes"),
            *[named(part, names.key(w)) for w, part in enumerate(parts)],
            *identity,
            *counters(question.catalog.has_population, "grain"),
        )
        .from_(table(names.grain(arm), "grain"))
        .join(table("nodes"), join_type="cross")
        .where(exp.EQ(this=column("arm", "nodes"), expression=number(arm)))
        .group_by(column("node", "nodes"), *[part.copy() for part in parts], *[item.copy() for item in identity])
    )


def grouped_node(
    grain: str, node: exp.Expr, masks: Sequence[exp.Expr], has_population: bool, has_entity: bool = False
) -> exp.Select:
    """The grain of one node, grouped from another grain."""
    return (
        exp.select(
            named(node, "node"),
            *[named(masked(column(names.key(w)), mask), names.key(w)) for w, mask in enumerate(masks)],
            *_identity(has_entity),
            *counters(has_population),
        )
        .from_(table(grain))
        .group_by(*[exp.Literal.number(2 + w) for w in range(len(masks) + has_entity)])
    )


def judged(question: Question, grouped: exp.Query) -> list[exp.CTE]:
    """From the grouped grain of some nodes to ``judged``: per node and class its counters, ``fails`` and ``lost``.

    ``grouped`` holds ``node``, the keys (with the sensitive codes where a model counts values), with an entity its
    number, and the counters. ``n`` is what the models see while they judge; in ``judged`` it is always records.
    The classes are folded from it, each model is bound to the histogram of its column or to the classes, and what they
    say is joined: a class fails when any model fails, and loses the most that any failing model says.
    """
    catalog = question.catalog
    key_names = ["node", *[names.key(w) for w in range(catalog.words)]]
    class_keys = [named(part, names.key(w)) for w, part in enumerate(_without_codes(catalog))]
    ctes: list[exp.CTE] = []
    if catalog.has_entity:
        ctes += distinct_entities.relations(catalog, question.histograms, grouped, _without_codes(catalog))
    elif question.histograms:
        ctes.append(cte("parts", grouped, materialized=True))
        classes: exp.Query = (
            exp.select(column("node"), *class_keys, *counters(catalog.has_population))
            .from_(table("parts"))
            .group_by(column("node"), *_without_codes(catalog))
        )
        ctes.append(cte("classes", classes, materialized=True))
        for position, name in enumerate(question.histograms):
            ctes.append(cte(f"histogram_{position}", _histogram(question, name)))
    else:
        ctes.append(cte("classes", grouped))

    query = exp.select(*[column(name, "classes") for name in key_names]).from_(table("classes"))
    if catalog.has_entity:
        query = query.select(named(column("records", "classes"), names.COUNT), copy=False)
        query = query.select(named(column(names.COUNT, "classes"), "entities"), copy=False)
    else:
        query = query.select(*[column(c, "classes") for c in _counter_names(catalog)], copy=False)
    fails: list[exp.Expr] = []
    lost: list[exp.Expr] = []
    for position, model in enumerate(question.models):
        says = _bound(question, model, key_names)
        if model.column is None:
            fails.append(_projection(says, "fails"))
            lost.append(_projection(says, "lost"))
            continue
        name = f"model_{position}"
        ctes.append(cte(name, says))
        matches = both(exp.EQ(this=column(k, "classes"), expression=column(k, name)) for k in key_names)
        query = query.join(table(name), on=matches, join_type="left", copy=False)
        fails.append(column("fails", name))
        lost.append(column("lost", name))
    failing: list[exp.Expr] = [exp.EQ(this=f, expression=number(1)) for f in fails]
    query = query.select(
        named(_case(exp.or_(*failing) if failing else exp.false(), number(1), number(0)), "fails"), copy=False
    )
    if not question.monotone:
        if catalog.has_entity:
            ctes += _lost_in_parts(question, key_names)
            query = distinct_entities.with_lost_in_parts(query, question.models, key_names)
            failing, lost = distinct_entities.lasting(question.models, failing)
        amounts: list[exp.Expr] = [_case(f.copy(), amount, number(0)) for f, amount in zip(failing, lost, strict=True)]
        query = query.select(named(_greatest(amounts), "lost"), copy=False)
    if question.by_model:
        query = query.select(*[named(f.copy(), f"fails_{i}") for i, f in enumerate(fails)], copy=False)
    ctes.append(cte("judged", query, materialized=True))
    return ctes


def _lost_in_parts(question: Question, key_names: Sequence[str]) -> list[exp.CTE]:
    """What models that know it say of ``lost`` where an entity may be in several parts of a class."""
    of_records = distinct_entities.classes_of_records(key_names)
    return [
        cte(distinct_entities.lost_name(position), _bound(question, model, key_names, classes=of_records))
        for position, model in enumerate(question.models)
        if distinct_entities.knows_parts(model)
    ]


def _without_codes(catalog: Catalog) -> list[exp.Expr]:
    """The keys of a class: the bits of the sensitive codes cleared."""
    return [
        masked(column(names.key(w)), number(~codes)) if codes else column(names.key(w))
        for w, codes in enumerate(catalog.codes)
    ]


def _counter_names(catalog: Catalog) -> list[str]:
    return [names.COUNT, names.POPULATION] if catalog.has_population else [names.COUNT]


def _histogram(question: Question, name: str) -> exp.Select:
    """Per class and value of a sensitive column, the number of records; classes and values without records are
    absent."""
    catalog = question.catalog
    attribute = catalog.sensitive_attribute(name)
    value = masked(column(names.key(attribute.word)), number(attribute.code))
    keys_ = [named(part, names.key(w)) for w, part in enumerate(_without_codes(catalog))]
    query = exp.select(column("node"), *keys_, named(value, "value")).from_(table("parts"))
    query = query.where(exp.GT(this=column(names.COUNT), expression=number(0)))
    if len(catalog.sensitive) == 1:
        return query.select(column(names.COUNT), copy=False)
    query = query.select(named(total(column(names.COUNT)), names.COUNT), copy=False)
    return query.group_by(column("node"), *_without_codes(catalog), value.copy(), copy=False)


def _bound(
    question: Question, model: PrivacyModel, key_names: Sequence[str], *, classes: exp.Expr | None = None
) -> exp.Select:
    """The meaning of a model (``sql/model``) about the classes of the batch, or about others."""
    relations: dict[str, exp.Expr] = {"classes": table("classes")}
    if model.column is not None:
        place = [s.name for s in question.catalog.sensitive].index(model.column)
        position = question.histograms.index(model.column)
        relations["histogram"] = table(f"histogram_{position}")
        if question.catalog.has_entity:
            relations["classes"] = classes or table(f"weights_{position}")
        relations["overall"] = table(names.overall(place))
        relations["ancestors"] = table(names.ancestors(place))
    return bind(
        model.file,
        relations=relations,
        columns={"class_key": key_names},
        values=dict(model.values(question.catalog)),
    )


def _projection(query: exp.Select, name: str) -> exp.Expr:
    """The expression that a model about classes alone gives for ``name``, to stand in a query over the classes."""
    expression: exp.Expr = next(item.this for item in query.expressions if item.alias == name).copy()
    for reference in list(expression.find_all(exp.Column)):
        reference.set("table", exp.to_identifier("classes", quoted=True))
    return expression


def _case(condition: exp.Expr, then: exp.Expr, otherwise: exp.Expr) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=condition, true=then)], default=otherwise)


def _greatest(items: list[exp.Expr]) -> exp.Expr:
    if len(items) == 1:
        return items[0]
    return greatest(*items) if items else number(0)


def _totals(question: Question) -> exp.Select:
    """One row a node: the counts of its classes."""
    catalog = question.catalog
    size = column(names.COUNT)
    counted = exp.GT(this=size, expression=number(0))
    passes: exp.Expr = exp.EQ(this=column("fails"), expression=number(0))
    fails: exp.Expr = exp.EQ(this=column("fails"), expression=number(1))
    if catalog.has_population:
        passes, fails = exp.and_(counted.copy(), passes), exp.and_(counted.copy(), fails)
    wide = exp.cast(size.copy(), "HUGEINT")
    rest = bigint(number(max(question.size, 1)))
    at_least = greatest(size.copy(), rest)
    large = exp.GTE(this=size.copy(), expression=rest.copy())
    small = exp.LT(this=size.copy(), expression=rest.copy())
    everything: dict[str, exp.Expr] = {
        "grain": bigint(exp.Count(this=exp.Star())),
        "classes": count_if(passes),
        "suppressed": sum_if(fails.copy(), size.copy()),
        "lost": sum_if(fails.copy(), column("lost")),
        "smallest": exp.Min(this=exp.Case(ifs=[exp.If(this=passes.copy(), true=size.copy())])),
        "largest": exp.Max(this=exp.Case(ifs=[exp.If(this=passes.copy(), true=size.copy())])),
        distinct_entities.SMALLEST: exp.Min(this=exp.Case(ifs=[exp.If(this=passes.copy(), true=column("entities"))])),
        "squares": wide_sum(_case(passes.copy(), exp.Mul(this=wide, expression=size.copy()), number(0))),
        "spread": wide_sum(exp.Mul(this=wide.copy(), expression=at_least)),
        "forced": wide_sum(
            _case(
                fails.copy(),
                exp.Mul(
                    this=exp.cast(_lost(question), "HUGEINT"),
                    expression=exp.paren(
                        greatest(exp.Sub(this=number(catalog.population), expression=at_least.copy()), number(0))
                    ),
                ),
                number(0),
            )
        ),
        "large": count_if(large),
        "small_records": sum_if(small, size.copy()),
        "public_only": count_if(exp.Not(this=exp.paren(counted.copy()))),
        **{
            f"model_{i}": sum_if(
                exp.and_(counted.copy(), exp.EQ(this=column(f"fails_{i}"), expression=number(1))), size.copy()
            )
            for i in range(len(question.models))
        },
        **dict.fromkeys(question.cost_columns, _no_cost(question)),
    }
    wanted = [named(everything[name].copy(), name) for name in question.columns[2:] if name in everything]
    attribute = named(bigint(number(TOTALS)), "attribute")
    return exp.select(column("node"), attribute, *wanted).from_(table("judged")).group_by(column("node"))


def _lost(question: Question, relation: str | None = None) -> exp.Expr:
    """The lost records of a failing class."""
    return column(names.COUNT if question.monotone else "lost", relation)


def _no_cost(question: Question) -> exp.Expr:
    return exp.cast(exp.null(), "DOUBLE" if question.needs == "surprisals" else "BIGINT")


def _cost_ctes(question: Question, mask_names: Sequence[str]) -> list[exp.CTE]:
    """``levels`` of the nodes by attribute, and per attribute the generalized values in failing classes
    (``values``)."""
    words = question.catalog.words
    levels = (
        exp.select(
            column("node", "nodes"),
            column("attribute", "m"),
            column("level", "m"),
            *[column(mask, "m") for mask in mask_names],
        )
        .from_(table("nodes"))
        .join(table(names.MASKS, "m"), on=exp.EQ(this=digit_of("nodes", "m"), expression=column("digit", "m")))
    )
    parts = [masked(column(names.key(w), "judged"), column(mask_names[w], "levels")) for w in range(words)]
    dimensions = [column("node", "levels"), column("attribute", "levels"), column("level", "levels")]
    failing = (
        exp.select(
            *[item.copy() for item in dimensions],
            *[named(part, names.key(w)) for w, part in enumerate(parts)],
            named(total(column(names.COUNT, "judged")), names.COUNT),
            *([] if question.monotone else [named(total(column("lost", "judged")), "lost")]),
        )
        .from_(table("judged"))
        .join(table("levels"), on=exp.EQ(this=column("node", "judged"), expression=column("node", "levels")))
        .where(exp.EQ(this=column("fails", "judged"), expression=number(1)))
        .group_by(*dimensions, *[part.copy() for part in parts])
    )
    if question.limit is not None:
        failing = failing.join(
            table("totals"),
            on=exp.and_(
                exp.EQ(this=column("node", "totals"), expression=column("node", "levels")),
                exp.LTE(
                    this=column(question.limited, "totals"),
                    expression=number(question.limit),
                ),
            ),
        )
    return [cte("levels", levels), cte("failing", failing)]


def _costs(question: Question) -> exp.Select:
    """One row a node and attribute: what suppressing costs there, and what the lost records cost at least."""
    words = question.catalog.words
    costs = question.cost_columns
    nothing = [exp.null() for _ in question.columns[2 : -len(costs)]]
    count, lost = column(names.COUNT, "failing"), _lost(question, "failing")
    query = exp.select(column("node", "failing"), column("attribute", "failing"), *nothing).from_(table("failing"))
    query = query.group_by(column("node", "failing"), column("attribute", "failing"))
    if question.needs == "surprisals":
        return query.select(*[_surprisal(count if name == "cost" else lost) for name in costs])
    leaf_keys = ["attribute", "level", *[names.key(w) for w in range(words)]]
    own = [] if question.monotone else [total(exp.Mul(this=count, expression=column("cost", "leaf")))]
    tallest = len(costs) - len(own)
    least = [total(exp.Mul(this=lost.copy(), expression=column(least_cost(level), "leaf"))) for level in range(tallest)]
    return query.join(
        table(names.LEAF, "leaf"),
        on=both(exp.EQ(this=column(c, "failing"), expression=column(c, "leaf")) for c in leaf_keys),
    ).select(*own, *least)


def _surprisal(count: exp.Expr) -> exp.Expr:
    """Sum of n ln n; 0 ln 0 = 0."""
    product = exp.Mul(this=count, expression=exp.Ln(this=count.copy()))
    return exp.Coalesce(
        this=exp.Sum(
            this=_case(exp.GT(this=count.copy(), expression=number(0)), product, exp.cast(number(0), "DOUBLE"))
        ),
        expressions=[number(0)],
    )


def digit_of(nodes: str, masks: str) -> exp.Expr:
    """The character of ``levels`` that stands for the attribute of ``masks``: portable, and one value a node."""
    start = exp.Add(this=column("attribute", masks), expression=number(1))
    return exp.Substring(this=column("levels", nodes), start=start, length=number(1))


def digits(node: Node) -> str:
    """The levels of a node, one character each."""
    return "".join(chr(ord("0") + level) for level in node)


def parameters(
    question: Question, nodes: Sequence[Node], arms: Sequence[int], *, form: Form, places: int | None = None
) -> list[int | str]:
    """What ``batch`` binds for these nodes and their grains, in the order of its placeholders.

    Args:
        places: of the statement; those that are left are bound to no grain.
    """
    catalog = question.catalog
    masks = [question.masks(node) for node in nodes]
    bound: list[int | str] = []
    for position, (node, arm, mask) in enumerate(zip(nodes, arms, masks, strict=True)):
        bound += [position, arm, *mask, digits(node)]
    bound += [NO_GRAIN, NO_GRAIN, *[0] * catalog.words, ""] * ((places or len(nodes)) - len(nodes))
    if form == "union":
        for position, mask in enumerate(masks):
            bound += [position, *mask]
    return bound


def mask_rows(catalog: Catalog) -> dict[str, list[int] | list[str]]:
    """The rows of the table of masks, by column: attribute, level, digit, and one mask a word."""
    pairs = [(i, a, level) for i, a in enumerate(catalog.attributes) for level in range(a.height)]
    rows: dict[str, list[int] | list[str]] = {
        "attribute": [i for i, _, _ in pairs],
        "level": [level for _, _, level in pairs],
        "digit": [digits((level,)) for _, _, level in pairs],
    }
    for word in range(catalog.words):
        rows[f"mask_{word}"] = [a.mask(level, word) for _, a, level in pairs]
    return rows
