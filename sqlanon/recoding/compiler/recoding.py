"""The statements of local recoding: candidates for a place in a sequence of nodes, and the first node that fits.

Each record is published by the first node of a sequence whose class, among the records that no earlier node took,
passes every privacy model. One step of that is: group what is left by ``key & mask``, judge the classes, and let the
rows of classes that fail flow on to the next node. ``chain`` writes such steps one after the other as common table
expressions: ``flow_<step>`` holds the rows, ``passing_<step>`` the classes that pass.

``STATE`` holds the rows at the grain that all nodes share, each with ``place``: that of the node of the present
sequence that publishes it, or the length of the sequence when none does. A node that is inserted at place p changes
nothing for rows whose place is before p, so that only the others flow: through the new node, then through the nodes
that stood at p, p + 1, …
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from sqlglot import exp

from sqlanon.core.compiler.judged import judged
from sqlanon.core.compiler.question import Question
from sqlanon.core.compiler.tallies import digit_of, digits
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    aliased,
    bigint,
    both,
    column,
    count_rows,
    cte,
    equal,
    equal_columns,
    keys,
    mask_columns,
    masked,
    masked_keys,
    named,
    number,
    rolled_up,
    table,
    total,
    union_all,
    with_ctes,
)

STATE = names.PREFIX + "state"
"""What a batch of candidates is judged from: a view of the table of the present state."""
SEQUENCE = names.PREFIX + "sequence"
"""The nodes of the present sequence by place, with their masks and levels."""
CANDIDATES = names.PREFIX + "candidates"
"""The nodes that are tried, numbered, each with the place it would take."""
PLACE = "place"
state_table = names.namer(STATE)
"""Name of the table of a state by its generation; each is computed from the one before."""
masked_name = names.namer("masked")
"""Name of the column of a flow that holds what its nodes keep of a word of the key."""
TOTALS = -1
"""The ``attribute`` of the row that counts the records; other rows hold what an attribute keeps."""


def node_rows(question: Question, nodes: Sequence[Node]) -> dict[str, list[int] | list[str]]:
    """Return the columns of a table of nodes: a mask a word, and their levels."""
    masks = [question.masks(node) for node in nodes]
    return {
        **{names.mask(w): [mask[w] for mask in masks] for w in range(question.catalog.words)},
        "levels": [digits(node) for node in nodes],
    }


def rows_of_base(question: Question, bottom: Node) -> exp.Select:
    """Return the base at the grain of ``bottom``, below which no node lies; the rows stand at place 0."""
    parts = masked_keys(map(number, question.masks(bottom)))
    return rolled_up(table(names.BASE), parts).select(_place(0), copy=False)


def places(state: str) -> exp.Select:
    """Return the number of rows of a state at each place."""
    return (
        exp.select(column(PLACE), bigint(count_rows()))
        .from_(table(state))
        .group_by(column(PLACE))
        .order_by(column(PLACE))
    )


def batch(question: Question, steps: int, *, costs: bool) -> exp.Query:
    """Return the records that sequences of one node more would publish: ``node``, ``step``, ``attribute`` and ``kept``.

    Step 0 is the candidate, step t what stands at its place + t - 1 now. A row with attribute ``TOTALS`` holds the
    published records; with ``costs`` the others hold the sum of D - leaves over them.

    Three parameters: the first and the last number of the candidates, and the least place among them.

    Args:
        steps: at least one more than the nodes that stand at or after that place.
    """
    between = exp.Between(this=column("node"), low=exp.Placeholder(), high=exp.Placeholder())
    ctes = [cte("candidates", exp.select("*").from_(table(CANDIDATES)).where(between), materialized=True)]
    ctes += chain(question, _first_flow(question), [partial(_from_sequence, question)] * (steps - 1))
    row = [column("node"), *keys(question.catalog.words), column(names.COUNT)]
    passing = [
        exp.select(named(number(step), "step"), *[item.copy() for item in row]).from_(table(f"passing_{step}"))
        for step in range(steps)
    ]
    ctes.append(cte("published", union_all(passing), materialized=True))
    dimensions = [column("node"), column("step")]
    sums: list[exp.Query] = [
        exp.select(*dimensions, named(number(TOTALS), "attribute"), named(total(column(names.COUNT)), "kept"))
        .from_(table("published"))
        .group_by(*[item.copy() for item in dimensions])
    ]
    if costs:
        ctes.append(cte("used", _used()))
        ctes += value_ctes(question.catalog, ["node", "step"], "published")
        sums.append(kept_sums(question.catalog, ["node", "step"]))
    return with_ctes(union_all(sums), ctes)


def advanced(question: Question, state: str, place: int, nodes: Sequence[Node]) -> exp.Query:
    """Return the rows of ``state`` with their places when ``nodes`` are those at ``place`` and after it."""
    row = [*keys(question.catalog.words), column(names.COUNT)]
    earlier = exp.LT(this=column(PLACE), expression=number(place))
    parts = [exp.select(*row, column(PLACE)).from_(table(state)).where(earlier)]
    first = exp.select(named(number(0), "node"), *row).from_(table(state)).where(exp.Not(this=earlier.copy()))
    if not nodes:
        rest = exp.select(*row, _place(place)).from_(first.subquery("rest"))
        return union_all([*parts, rest])
    masks = [question.masks(node) for node in nodes]
    first = first.select(*_masked(map(number, masks[0])))
    ctes = chain(question, first, [partial(_under, mask) for mask in masks[1:]])
    for step in range(len(nodes)):
        taken = exp.Exists(this=class_of(question, step))
        parts.append(exp.select(*row, _place(place + step)).from_(table(f"flow_{step}")).where(taken))
    last = len(nodes) - 1
    rest = exp.select(*row, _place(place + len(nodes))).from_(table(f"flow_{last}"))
    parts.append(rest.where(exp.Not(this=exp.Exists(this=class_of(question, last)))))
    return with_ctes(union_all(parts), ctes)


def _place(place: int) -> exp.Expr:
    return named(exp.cast(number(place), "INTEGER"), PLACE)


def _masked(masks: Iterable[exp.Expr], relation: str | None = None) -> list[exp.Alias]:
    """Return the parts of the key that masks keep: ``masked_<word>``."""
    return [named(part, masked_name(w)) for w, part in enumerate(masked_keys(masks, relation))]


def _first_flow(question: Question) -> exp.Select:
    """Return each candidate with the rows that earlier nodes do not take.

    The two places are subtracted, because DuckDB would sort both sides for a comparison of columns of both.
    """
    words = question.catalog.words
    distance = exp.Sub(this=column(PLACE, STATE), expression=column(PLACE, "candidates"))
    return (
        exp.select(column("node", "candidates"), *keys(words, STATE), column(names.COUNT, STATE))
        .select(*_masked(mask_columns(words, "candidates"), STATE))
        .from_(table(STATE))
        .join(table("candidates"), join_type="cross")
        .where(exp.GTE(this=column(PLACE, STATE), expression=exp.Placeholder()))
        .where(exp.GTE(this=distance, expression=number(0)))
    )


def _from_sequence(question: Question, step: int, flow: exp.Select) -> exp.Select:
    """Return ``flow`` under the node of the present sequence that a candidate's step reaches.

    The flow ends with the sequence.
    """
    words = question.catalog.words
    place = exp.Add(this=column(PLACE, "candidates"), expression=number(step - 1))
    masks = (
        exp.select(column("node", "candidates"), *mask_columns(words, SEQUENCE))
        .from_(table("candidates"))
        .join(table(SEQUENCE), on=equal(column(PLACE, SEQUENCE), place))
    )
    before = f"flow_{step - 1}"
    flow = flow.join(masks.subquery("steps"), on=equal(column("node", "steps"), column("node", before)))
    return flow.select(*_masked(mask_columns(words, "steps"), before), copy=False)


def _under(masks: Sequence[int], step: int, flow: exp.Select) -> exp.Select:
    """Return ``flow`` under a known node."""
    return flow.select(*_masked(map(number, masks), f"flow_{step - 1}"), copy=False)


Onward = Callable[[int, exp.Select], exp.Select]
"""Adds to the rows that flow on to a step what its nodes keep of their keys."""


def chain(question: Question, first: exp.Select, onward: Sequence[Onward]) -> list[exp.CTE]:
    """Return ``flow_<step>`` and ``passing_<step>`` of every step; ``first`` are the rows of the first, with ``node``,
    the key, ``n`` and what its nodes keep of the key."""
    words = question.catalog.words
    flow = cte("flow_0", first)
    flow.set("materialized", False)
    ctes = [flow, *_passing(question, 0)]
    for step, on in enumerate(onward, start=1):
        before = f"flow_{step - 1}"
        row = [column("node", before), *keys(words, before), column(names.COUNT, before)]
        passes = exp.Exists(this=class_of(question, step - 1))
        failing = exp.select(*row).from_(table(before)).where(exp.Not(this=passes))
        ctes += [cte(f"flow_{step}", on(step, failing), materialized=True), *_passing(question, step)]
    return ctes


def _passing(question: Question, step: int) -> list[exp.CTE]:
    """Return ``passing_<step>``: ``node``, the key and ``n`` of the classes that pass every model."""
    words = question.catalog.words
    grouped = rolled_up(table(f"flow_{step}"), [column(masked_name(w)) for w in range(words)], column("node"))
    name = f"passing_{step}"
    if all(isinstance(model, KAnonymity) for model in question.models):
        large = exp.GTE(this=exp.Sum(this=column(names.COUNT)), expression=number(question.size))
        return [cte(name, grouped.having(large), materialized=True)]
    ctes = _renamed(judged(question, grouped), f"_{step}")
    passing = exp.select(column("node"), *keys(words), column(names.COUNT)).from_(table(f"judged_{step}"))
    passes = equal(column("fails"), number(0))
    return [*ctes, cte(name, passing.where(passes), materialized=True)]


def _renamed(ctes: list[exp.CTE], suffix: str) -> list[exp.CTE]:
    """Return the expressions with ``suffix`` behind their names, where they are defined and where they are read."""
    own = {item.alias for item in ctes}
    for item in ctes:
        item.set("alias", exp.TableAlias(this=exp.to_identifier(item.alias + suffix, quoted=True)))
        for relation in list(item.this.find_all(exp.Table)):
            if relation.name in own and not relation.db:
                relation.replace(aliased(table(relation.name + suffix), relation.alias or relation.name))
    return ctes


def class_of(question: Question, step: int) -> exp.Select:
    """Return the class of a row of ``flow_<step>``, if it passes."""
    flow, passing = f"flow_{step}", f"passing_{step}"
    same = [equal(column("node", passing), column("node", flow))]
    for word, codes in enumerate(question.catalog.codes):
        kept: exp.Expr = column(masked_name(word), flow)
        if codes and question.histograms:
            kept = exp.paren(masked(kept, number(~codes)))
        same.append(equal(column(names.key(word), passing), kept))
    return exp.select(number(1)).from_(table(passing)).where(both(same))


def _used() -> exp.Query:
    """Return ``node``, ``step`` and ``levels`` of every step of every candidate."""
    step = exp.Add(
        this=exp.Sub(this=column(PLACE, SEQUENCE), expression=column(PLACE, "candidates")), expression=number(1)
    )
    own = exp.select(column("node"), named(number(0), "step"), column("levels")).from_(table("candidates"))
    follows = exp.GTE(this=column(PLACE, SEQUENCE), expression=column(PLACE, "candidates"))
    later = (
        exp.select(column("node", "candidates"), named(step, "step"), column("levels", SEQUENCE))
        .from_(table("candidates"))
        .join(table(SEQUENCE), on=follows)
    )
    return union_all([own, later])


def value_ctes(catalog: Catalog, dimensions: Sequence[str], published: str) -> list[exp.CTE]:
    """Return ``generalized``: how many records are published with a value of an attribute, by the dimensions.

    ``used`` holds the levels of the nodes by the dimensions; ``published`` holds the dimensions, the key and ``n``.
    """
    digit = equal(digit_of("used", names.MASKS), column("digit", names.MASKS))
    levels = (
        exp.select(*[column(name, "used") for name in dimensions])
        .select(*[column(name, names.MASKS) for name in ("attribute", "level")])
        .select(*mask_columns(catalog.words, names.MASKS))
        .from_(table("used"))
        .join(table(names.MASKS), on=digit)
    )
    parts = masked_keys(mask_columns(catalog.words, "levels"), published)
    by = [column(name, "levels") for name in (*dimensions, "attribute", "level")]
    generalized = rolled_up(table(published), parts, *by, owner=published)
    generalized = generalized.join(table("levels"), on=equal_columns(dimensions, published, "levels"))
    return [cte("levels", levels, materialized=True), cte("generalized", generalized)]


def kept_sums(catalog: Catalog, dimensions: Sequence[str]) -> exp.Select:
    """Return by the dimensions and attribute, the sum of D - leaves over the published records."""
    leaf = ["attribute", "level", *map(names.key, range(catalog.words))]
    amount = exp.Mul(this=column(names.COUNT, "generalized"), expression=column("cost", names.LEAF))
    by = [column(name, "generalized") for name in (*dimensions, "attribute")]
    return (
        exp.select(*by, named(total(amount), "kept"))
        .from_(table("generalized"))
        .join(table(names.LEAF), on=equal_columns(leaf, "generalized", names.LEAF))
        .group_by(*[item.copy() for item in by])
    )
