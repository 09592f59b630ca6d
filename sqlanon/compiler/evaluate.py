"""The statements that judge nodes: batches of verdicts over a grain, roll-ups, and the readable form of a node.

Every statement here runs on any engine with BIGINT, a bitwise AND and common table expressions; the tests run the
same text on SQLite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from sqlglot import exp

from sqlanon import names
from sqlanon.catalog import Catalog
from sqlanon.compiler.encode import SOURCE, EncodedColumn, joined_lookups, packed, takes_part
from sqlanon.compiler.trees import (
    bigint,
    both,
    column,
    count_if,
    keys,
    masked,
    named,
    number,
    sum_if,
    table,
    total,
)
from sqlanon.lattice import Node

Form = Literal["cross", "union"]
TOTALS = -1
"""The ``attribute`` of the row that holds a node's counts; other rows hold an attribute's cost."""


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


def _cte(name: str, query: exp.Query, *, materialized: bool = False) -> exp.CTE:
    return exp.CTE(
        this=query,
        alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)),
        materialized=materialized or None,
    )


def _with(query: exp.Query, ctes: list[exp.CTE]) -> exp.Query:
    query.set("with_", exp.With(expressions=ctes))
    return query


def roll_up(grain: str, masks: Sequence[int]) -> exp.Select:
    """The grain of a more general node, from the grain of a more special one."""
    parts = [masked(column(names.key(w)), number(mask)) for w, mask in enumerate(masks)]
    return (
        exp.select(
            *[named(part, names.key(w)) for w, part in enumerate(parts)],
            named(total(column(names.COUNT)), names.COUNT),
        )
        .from_(table(grain))
        .group_by(*[part.copy() for part in parts])
    )


def batch(
    nodes: int,
    words: int,
    *,
    attributes: int,
    k: int,
    costs: bool,
    form: Form,
    limit: int | None = None,
) -> exp.Query:
    """One verdict row per node of a batch, and one row per node and attribute with the cost of suppression.

    Result columns: ``node`` (position in the batch), ``attribute`` (TOTALS or its position), ``classes``,
    ``failing`` (classes), ``suppressed`` (records), ``smallest`` and ``largest`` passing class, ``cost``.
    The text depends on sizes, never on the nodes: masks are bound by ``parameters``. With a ``limit``, nodes that
    suppress more records have no cost rows: a search needs none of a node that it must reject.
    """
    mask_names = [f"mask_{w}" for w in range(words)]
    ctes: list[exp.CTE] = []
    ctes.append(_values("nodes", ["node", *mask_names, "levels"], nodes))
    if form == "cross":
        parts = [masked(column(names.key(w), "grain"), column(mask_names[w], "nodes")) for w in range(words)]
        classes: exp.Query = (
            exp.select(
                column("node", "nodes"),
                *[named(part, names.key(w)) for w, part in enumerate(parts)],
                named(total(column(names.COUNT, "grain")), names.COUNT),
            )
            .from_(table(names.GRAIN, "grain"))
            .join(table("nodes"), join_type="cross")
            .group_by(column("node", "nodes"), *[part.copy() for part in parts])
        )
    else:
        selects = []
        for _ in range(nodes):
            positions = [exp.Literal.number(2 + w) for w in range(words)]
            selects.append(
                exp.select(
                    named(_placeholder(), "node"),
                    *[named(masked(column(names.key(w)), _placeholder()), names.key(w)) for w in range(words)],
                    named(total(column(names.COUNT)), names.COUNT),
                )
                .from_(table(names.GRAIN))
                .group_by(*positions)
            )
        classes = selects[0]
        for other in selects[1:]:
            classes = exp.union(classes, other, distinct=False, copy=False)
    ctes.append(_cte("classes", classes, materialized=True))

    size = column(names.COUNT)
    passes = exp.GTE(this=size, expression=number(k))
    fails = exp.LT(this=size, expression=number(k))
    none = bigint(exp.null())
    totals = (
        exp.select(
            column("node"),
            named(bigint(number(TOTALS)), "attribute"),
            named(bigint(exp.Count(this=exp.Star())), "classes"),
            named(count_if(fails.copy()), "failing"),
            named(sum_if(fails.copy(), size.copy()), "suppressed"),
            named(exp.Min(this=exp.Case(ifs=[exp.If(this=passes.copy(), true=size.copy())])), "smallest"),
            named(exp.Max(this=exp.Case(ifs=[exp.If(this=passes.copy(), true=size.copy())])), "largest"),
            named(none.copy(), "cost"),
        )
        .from_(table("classes"))
        .group_by(column("node"))
    )
    if not costs or not attributes:
        return _with(totals, ctes)
    ctes.append(_cte("totals", totals, materialized=True))
    levels = (
        exp.select(
            column("node", "nodes"),
            column("attribute", "m"),
            column("level", "m"),
            *[column(mask, "m") for mask in mask_names],
        )
        .from_(table("nodes"))
        .join(table(names.MASKS, "m"), on=exp.EQ(this=_digit(), expression=column("digit", "m")))
    )
    ctes.append(_cte("levels", levels))
    parts = [masked(column(names.key(w), "classes"), column(mask_names[w], "levels")) for w in range(words)]
    dimensions = [column("node", "levels"), column("attribute", "levels"), column("level", "levels")]
    failing = (
        exp.select(
            *[item.copy() for item in dimensions],
            *[named(part, names.key(w)) for w, part in enumerate(parts)],
            named(total(column(names.COUNT, "classes")), names.COUNT),
        )
        .from_(table("classes"))
        .join(table("levels"), on=exp.EQ(this=column("node", "classes"), expression=column("node", "levels")))
        .where(exp.LT(this=column(names.COUNT, "classes"), expression=number(k)))
        .group_by(*dimensions, *[part.copy() for part in parts])
    )
    leaf_keys = ["attribute", "level", *[names.key(w) for w in range(words)]]
    if limit is not None:
        failing = failing.join(
            table("totals"),
            on=exp.and_(
                exp.EQ(this=column("node", "totals"), expression=column("node", "levels")),
                exp.LTE(this=column("suppressed", "totals"), expression=number(limit)),
            ),
        )
    cost = (
        exp.select(
            column("node", "failing"),
            column("attribute", "failing"),
            *[none.copy() for _ in range(5)],
            total(exp.Mul(this=column(names.COUNT, "failing"), expression=column("cost", "leaf"))),
        )
        .from_(table("failing"))
        .join(
            table(names.LEAF, "leaf"),
            on=both(exp.EQ(this=column(c, "failing"), expression=column(c, "leaf")) for c in leaf_keys),
        )
        .group_by(column("node", "failing"), column("attribute", "failing"))
    )
    ctes.append(_cte("failing", failing))
    everything = exp.select("*").from_(table("totals"))
    return _with(exp.union(everything, cost, distinct=False, copy=False), ctes)


def _digit() -> exp.Expr:
    """The character of ``nodes.levels`` that stands for the attribute of ``m``: portable, and one value a node."""
    start = exp.Add(this=column("attribute", "m"), expression=number(1))
    return exp.Substring(this=column("levels", "nodes"), start=start, length=number(1))


def digits(node: Node) -> str:
    """The levels of a node, one character each."""
    return "".join(chr(ord("0") + level) for level in node)


def parameters(catalog: Catalog, nodes: Sequence[Node], *, form: Form) -> list[int | str]:
    """What ``batch`` binds for these nodes, in the order of its placeholders."""
    bound: list[int | str] = []
    for position, node in enumerate(nodes):
        bound += [position, *catalog.masks(node), digits(node)]
    if form == "union":
        for position, node in enumerate(nodes):
            bound += [position, *catalog.masks(node)]
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


def readable_grain(source: exp.Expr, items: Sequence[EncodedColumn], node: Node, basic: bool) -> exp.Select:
    """A node as a person would write it: the source joined with its lookups, grouped by the published texts."""
    texts = [column(names.level(level), names.lookup(position)) for position, level in enumerate(node)]
    counted = names.unused(names.COUNT, [item.name for item in items])
    query = joined_lookups(
        source,
        items,
        [
            *[named(text, item.name) for text, item in zip(texts, items, strict=True)],
            named(bigint(exp.Count(this=exp.Star())), counted),
        ],
    ).where(takes_part(items, basic), copy=False)
    return query.group_by(*[text.copy() for text in texts], copy=False) if texts else query


def release(
    source: exp.Expr,
    items: Sequence[EncodedColumn],
    catalog: Catalog,
    node: Node,
    *,
    k: int,
    basic: bool,
    published: Mapping[str, str],
    snapshot: str,
) -> exp.Query:
    """The rows of a release: every record whose class holds at least k, generalized; suppressed ones are absent.

    Args:
        published: the columns of the release and their types, in order; quasi-identifiers are generalized, the
            others pass unchanged (ENUMs as text).
        snapshot: the grain to read class sizes from.
    """
    masks = catalog.masks(node)
    position_of = {item.name: position for position, item in enumerate(items)}
    projections: list[exp.Expr] = []
    for index, (name, type_name) in enumerate(published.items()):
        if name in position_of:
            position = position_of[name]
            value: exp.Expr = column(names.level(node[position]), names.lookup(position))
        else:
            value = column(name, SOURCE)
        if name in position_of or type_name == "VARCHAR":
            value = exp.cast(value, exp.DataType.build(type_name, dialect="duckdb"))
        projections.append(named(value, f"column_{index}"))
    for word in range(catalog.words):
        key = masked(exp.paren(packed(items, word)), number(masks[word]))
        projections.append(named(key, names.key(word)))
    records = joined_lookups(source, items, projections).where(takes_part(items, basic), copy=False)
    classes = roll_up(snapshot, masks).having(
        exp.GTE(this=total(column(names.COUNT)), expression=number(k)), copy=False
    )
    query = (
        exp.select(*[named(column(f"column_{i}", "records"), name) for i, name in enumerate(published)])
        .from_(table("records"))
        .join(
            table("classes"),
            on=both(
                exp.EQ(this=left, expression=right)
                for left, right in zip(keys(catalog.words, "records"), keys(catalog.words, "classes"), strict=True)
            ),
        )
    )
    return _with(query, [_cte("records", records), _cte("classes", classes)])
