"""The statements that judge nodes: batches of verdicts over a grain, roll-ups, and the readable form of a node.

Every statement here runs on any engine with BIGINT, a bitwise AND and common table expressions; the tests run the
same text on SQLite.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Literal

from sqlglot import exp

from sqlanon.core.compiler.judged import counters, grouped_node, identity, judged
from sqlanon.core.compiler.question import Question
from sqlanon.core.compiler.tallies import costs, digits, totals
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    bigint,
    column,
    count_if,
    count_rows,
    cte,
    equal,
    keys,
    masked,
    named,
    number,
    table,
    total,
    union_all,
    with_ctes,
)

Form = Literal["cross", "union"]


PRIME = 1_000_003
"""The remainders of keys by this number are as good as drawn."""
NO_GRAIN = -1
"""The ``arm`` of a place in a batch that is not taken."""


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


def roll_up(grain: str, masks: Sequence[int], has_population: bool = False, has_entity: bool = False) -> exp.Select:
    """Return the grain of a more general node, from the grain of a more specific one."""
    parts = [masked(column(names.key(w)), number(mask)) for w, mask in enumerate(masks)]
    return (
        exp.select(
            *[named(part, names.key(w)) for w, part in enumerate(parts)],
            *identity(has_entity),
            *counters(has_population),
        )
        .from_(table(grain))
        .group_by(*[part.copy() for part in parts], *identity(has_entity))
    )


def sample(words: int, step: int, has_entity: bool) -> exp.Select:
    """Return about one row of the base in ``step``: by the remainder of its key, the same ones in every run."""
    remainders: list[exp.Expr] = [exp.Mod(this=key, expression=number(PRIME)) for key in keys(words)]
    spread = exp.Mod(this=exp.Paren(this=reduce(_plus, remainders)), expression=number(step))
    return exp.select(*keys(words), *identity(has_entity)).from_(table(names.BASE)).where(equal(spread, number(0)))


def sampled_grains(masks: Sequence[Sequence[int]], has_entity: bool) -> exp.Query:
    """Return per node, given by its masks, its place, the rows of the sample, their groups, and those of one row."""
    rows = []
    for place, own in enumerate(masks):
        parts = [masked(key, number(mask)) for key, mask in zip(keys(len(own)), own, strict=True)]
        groups = exp.select(named(bigint(count_rows()), names.COUNT)).from_(table(names.BASE_SAMPLE))
        groups = groups.group_by(*parts, *identity(has_entity))
        single = count_if(equal(column(names.COUNT), number(1)))
        counts = [bigint(number(place)), total(column(names.COUNT)), bigint(count_rows()), single]
        rows.append(exp.select(*counts).from_(groups.subquery("groups")))
    return union_all(rows)


def _plus(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Add(this=left, expression=right)


def batch(question: Question, arms: Sequence[int], *, form: Form) -> exp.Query:
    """Return the statement that judges some nodes: one row of counts a node, one row of costs a node and attribute.

    The text depends on the number of nodes and grains only, never on the nodes: masks are bound by ``parameters``.
    Columns are ``question.columns``.

    Args:
        arms: per place of a node the number of the grain (``names.grain``) that it is judged from. In the form
            ``cross`` a place is bound to any of the grains, or to no node at all, and only which grains occur matters.
    """
    return Batch(question).of(arms, form=form)


def literal_batch(question: Question, nodes: Sequence[Node], grain: str) -> exp.Query:
    """Return the statement of some nodes, judged from one grain, with their masks as literals: for scripts."""
    query = batch(question, [0] * len(nodes), form="cross").copy()
    columns = query.ctes[0].args["alias"].columns
    bound = parameters(question, nodes, [0] * len(nodes), form="cross")
    literals = [exp.Literal.string(value) if isinstance(value, str) else bigint(number(value)) for value in bound]
    width = len(columns)
    rows = [
        exp.select(*[named(value, item.name) for value, item in zip(literals[start:], columns)])  # noqa: B905
        for start in range(0, len(literals), width)
    ]
    query.ctes[0].replace(cte("nodes", union_all(rows)))
    for relation in list(query.find_all(exp.Table)):
        if relation.name == names.grain(0):
            relation.set("this", exp.to_identifier(grain, quoted=True))
    return query


class Batch:
    """The statements of one question: they differ only in the nodes and grains, which are replaced in one tree."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._masks = [names.mask(w) for w in range(question.catalog.words)]
        ctes = [self._nodes(1), *judged(question, self._grouped([0], "cross"))]
        self._grouping = ctes[1]
        ctes += totals(question)
        rows: list[exp.Query] = [exp.select("*").from_(table("totals"))]
        if question.has_costs:
            sums, of_attributes = costs(question)
            ctes += sums
            rows.append(of_attributes)
        self._query = with_ctes(union_all(rows), ctes)

    def of(self, arms: Sequence[int], *, form: Form) -> exp.Query:
        """Return the statement for some places; the next call changes its tree."""
        self._query.ctes[0].replace(self._nodes(len(arms)))
        self._grouping.set("this", self._grouped(arms, form))
        return self._query

    def _nodes(self, places: int) -> exp.CTE:
        return _values("nodes", ["node", "arm", *self._masks, "levels"], places)

    def _grouped(self, arms: Sequence[int], form: Form) -> exp.Query:
        """Return the grains of all nodes, generalized and grouped."""
        catalog = self._question.catalog
        if form == "cross":
            return union_all(_crossed(self._question, self._masks, arm) for arm in sorted(set(arms)))
        return union_all(
            grouped_node(
                names.grain(arm),
                _placeholder(),
                [_placeholder() for _ in self._masks],
                catalog.has_population,
                catalog.has_entity,
            )
            for arm in arms
        )


def _crossed(question: Question, mask_names: Sequence[str], arm: int) -> exp.Select:
    """Return the classes of all nodes that are judged from one grain."""
    parts = [masked(column(names.key(w), "grain"), column(mask, "nodes")) for w, mask in enumerate(mask_names)]
    entity = identity(question.catalog.has_entity, "grain")
    query = (
        exp.select(
            column("node", "nodes"),
            *[named(part, names.key(w)) for w, part in enumerate(parts)],
            *entity,
            *counters(question.catalog.has_population, "grain"),
        )
        .from_(table(names.grain(arm), "grain"), copy=False)
        .join(table("nodes"), join_type="cross", copy=False)
        .where(equal(column("arm", "nodes"), number(arm)), copy=False)
        .group_by(column("node", "nodes"), *[part.copy() for part in [*parts, *entity]], copy=False)
    )
    query.add_comments(["The grain under every node: what the node's masks keep of a key is the key of a class."])
    return query


def parameters(
    question: Question, nodes: Sequence[Node], arms: Sequence[int], *, form: Form, places: int | None = None
) -> list[int | str]:
    """Return the parameters of ``batch`` for these nodes and their grains, in the order of its placeholders.

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
