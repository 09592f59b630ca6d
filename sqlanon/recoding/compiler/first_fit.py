"""The statements that apply a known sequence of nodes: node by node over the rows that are left.

``ROWS`` holds the row types of the base with a number each, with their sensitive codes where a model counts values;
``FITTED`` holds which rule took which of them; ``rest_table`` holds those that were left when it was created.

Where records are held back, ``HELD`` holds how many of a row type begin at which later node (``START``). ``ROWS`` holds
them apart from those that begin at the first, and ``names.ASSIGNED`` which of the records of a type a rule publishes.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.compiler.judged import judged
from sqlanon.core.compiler.question import Question
from sqlanon.core.compiler.released_types import in_stretches
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.row_sets import ranked
from sqlanon.core.sqltrees.trees import (
    bigint,
    both,
    column,
    cte,
    equal,
    is_null,
    keys,
    mask_columns,
    masked,
    masked_keys,
    named,
    number,
    or_zero,
    rolled_up,
    table,
    total,
    union_all,
    with_ctes,
    with_id,
)
from sqlanon.recoding.compiler.recoded import ASSIGNED, RULES, Levels, text_column, with_texts
from sqlanon.recoding.compiler.recoding import chain, class_of, kept_sums, masked_name, value_ctes

ROWS = names.PREFIX + "rows"
FITTED = names.PREFIX + "fitted"
NODES = names.PREFIX + "sequence_nodes"
"""The nodes of the sequence by number, with masks and levels."""
HELD = names.PREFIX + "held"
"""The records that begin at a later node: the key of their row type, ``START`` and ``n``."""
START = "start"
"""Column of ``ROWS`` and ``HELD``: the number of the first node that may publish a row."""
LEVELS = names.PREFIX + "levels_of_nodes"
"""The levels of every node of the sequence, by its number as a rule."""
PASSING = names.PREFIX + "passing_rows"
"""The rows of ``FITTED`` whose published class passes every model: ``id`` and ``rule``."""
ID = "id"
"""Column of ``ROWS`` and ``FITTED``: the number of a row type."""


def rest_table(generation: int) -> str:
    """Return the name of the table of the rows that are left; generation 0 are all rows."""
    return f"{names.PREFIX}rest_{generation}" if generation else ROWS


def row_types(catalog: Catalog, *, coded: bool) -> exp.Select:
    """Return the row types of the base: the key and ``n``.

    Args:
        coded: records with different sensitive values are of different types.
    """
    masks = catalog.grain_masks(catalog.bottom) if coded else catalog.masks(catalog.bottom)
    return rolled_up(table(names.BASE), masked_keys(map(number, masks)))


def rows_to_fit(question: Question, *, coded: bool = False) -> exp.Select:
    """Return the row types of the base: ``id``, the key and ``n``."""
    return with_id(row_types(question.catalog, coded=coded or bool(question.histograms)))


def rows_with_starts(catalog: Catalog, *, coded: bool) -> exp.Select:
    """Return the row types of the base, those that begin later apart: ``id``, the key, ``n`` and ``start``."""
    words = range(catalog.words)
    held = rolled_up(table(HELD), keys(catalog.words)).subquery("held")
    left_over = exp.Sub(this=column(names.COUNT, "types"), expression=or_zero(column(names.COUNT, "held")))
    same_key = both(equal(column(names.key(w), "types"), column(names.key(w), "held")) for w in words)
    begins_first = named(exp.cast(number(0), "INTEGER"), START)
    first = exp.select(*keys(catalog.words, "types"), named(bigint(left_over), names.COUNT), begins_first)
    first = first.from_(row_types(catalog, coded=coded).subquery("types")).join(held, on=same_key, join_type="left")
    first = first.where(exp.GT(this=exp.paren(left_over.copy()), expression=number(0)))
    later = exp.select(*keys(catalog.words), column(names.COUNT), column(START)).from_(table(HELD))
    rows = exp.select(*keys(catalog.words), column(names.COUNT), column(START))
    return with_id(rows.from_(union_all([first, later]).subquery("rows")))


def nothing_fitted() -> exp.Select:
    """Return the columns of ``FITTED`` without a row."""
    columns = [named(exp.cast(number(0), "INTEGER"), name) for name in (ID, names.RULE)]
    return exp.select(*columns).where(exp.false())


def fitting(
    question: Question,
    rest: str,
    masks: Sequence[int] | None = None,
    rule: int | None = None,
    *,
    held: bool = False,
) -> exp.Query:
    """Return the rows that are left whose class passes under a node: ``id`` and ``rule``.

    Args:
        masks: of the node, one a word; None: a parameter each.
        rule: its number; None: the last parameter, and where records are held back the one before it, too.
        held: rows begin at different nodes; only those that begin at this one or before take part.
    """
    words = question.catalog.words
    kept = [exp.Placeholder() if masks is None else number(masks[w]) for w in range(words)]
    parts = enumerate(masked_keys(map(bigint, kept), rest))
    flow = left(question, rest).select(named(number(0), "node"), *[named(part, masked_name(w)) for w, part in parts])
    if held:
        reached = exp.Placeholder() if rule is None else number(rule)
        flow = flow.where(exp.LTE(this=column(START, rest), expression=reached))
    ctes = chain(question, flow, [])
    ctes[0].set("materialized", True)
    taker = exp.cast(exp.Placeholder() if rule is None else number(rule), "INTEGER")
    taken = exp.select(column(ID, "flow_0"), named(taker, names.RULE)).from_(table("flow_0"))
    return with_ctes(taken.where(exp.Exists(this=class_of(question, 0))), ctes)


def _left(rest: str) -> exp.Select:
    """Return the rows that no node has taken."""
    return (
        exp.Select()
        .from_(table(rest))
        .join(table(FITTED), on=equal(column(ID, rest), column(ID, FITTED)), join_type="left")
        .where(is_null(column(ID, FITTED)))
    )


def left(question: Question, rest: str, *, held: bool = False) -> exp.Select:
    """Return the rows that no node has taken: ``id``, the key and ``n``, and ``start`` where records are held back."""
    row = [column(ID, rest), *keys(question.catalog.words, rest), column(names.COUNT, rest)]
    return _left(rest).select(*row, *([column(START, rest)] if held else []))


def records_left(rest: str) -> exp.Select:
    """Return how many records no node has taken."""
    return _left(rest).select(total(column(names.COUNT, rest)))


def promising(question: Question, rest: str) -> exp.Select:
    """Return the numbers of the nodes with a class, of what is left, that is large enough for the models, in order.

    Two parameters: the first and the last number of the range.
    """
    catalog = question.catalog
    parts = without_codes(catalog, masked_keys(mask_columns(catalog.words, NODES), "rest"))
    between = exp.Between(this=column(names.RULE, NODES), low=exp.Placeholder(), high=exp.Placeholder())
    large = (
        exp.select(column(names.RULE, NODES))
        .from_(table("rest"))
        .join(table(NODES), join_type="cross")
        .where(between)
        .group_by(column(names.RULE, NODES), *parts)
        .having(exp.GTE(this=exp.Sum(this=column(names.COUNT, "rest")), expression=number(question.size)))
    )
    query = exp.select(column(names.RULE)).distinct().from_(table("large")).order_by(column(names.RULE))
    with_ctes(query, [cte("rest", left(question, rest), materialized=True), cte("large", large)])
    return query


def rows_by_texts(catalog: Catalog, levels: Levels, rules: str) -> list[exp.CTE]:
    """Return ``numbered``: the rows that rules took, with ``node``, the number of the class that a reader sees.

    Two rules may publish the same texts; their classes are one class of the release.

    Args:
        levels: per quasi-identifier, the levels at which some rule publishes it.
        rules: the table of the levels of every rule.
    """
    words = catalog.words
    rows = exp.select(column(ID, ROWS), *keys(words, ROWS), column(names.COUNT, ROWS), column(names.RULE, FITTED))
    rows = rows.from_(table(ROWS)).join(table(FITTED), on=equal(column(ID, ROWS), column(ID, FITTED)))
    read = with_texts(catalog, levels, rows.subquery(ASSIGNED), table(rules, RULES))
    read = read.select(column(ID, ASSIGNED), *keys(words, ASSIGNED), column(names.COUNT, ASSIGNED))
    place = ranked([text_column(i) for i in range(len(levels))])
    numbered = exp.select(column(ID), *keys(words), column(names.COUNT), named(bigint(place), "node"))
    return [cte("read", read), cte("numbered", numbered.from_(table("read")), materialized=True)]


def passing_rows(question: Question, levels: Levels, rules: str) -> exp.Query:
    """Return the rows that rules took and whose class, as a reader of the release sees it, passes every model of
    ``question``: ``id`` and ``rule``."""
    catalog = question.catalog
    codes = masked_keys([number(code) for code in catalog.codes])
    ctes = rows_by_texts(catalog, levels, rules)
    ctes += judged(question, rolled_up(table("numbered"), codes, column("node")))
    passing = exp.select(column(ID, "numbered"), column(names.RULE, FITTED)).from_(table("numbered"))
    passing = passing.join(table("judged"), on=equal(column("node", "numbered"), column("node", "judged")))
    passing = passing.join(table(FITTED), on=equal(column(ID, "numbered"), column(ID, FITTED)))
    return with_ctes(passing.where(equal(column("fails", "judged"), number(0))), ctes)


def assigned(question: Question, fitted: str = FITTED) -> exp.Select:
    """Return the row types of the quasi-identifiers with their records and rule (NULL: suppressed)."""
    catalog = question.catalog
    return _by_rule(without_codes(catalog, keys(catalog.words, ROWS)), fitted)


def assigned_in_parts(catalog: Catalog, fitted: str) -> exp.Select:
    """Return the row types with their records and rule where rules share the records of a row type: also which.

    The records of a row type are numbered from 1; a rule publishes those from ``first`` to ``last``.
    """
    return in_stretches(_by_rule(keys(catalog.words, ROWS), fitted), catalog.words)


def _by_rule(parts: Sequence[exp.Expr], fitted: str) -> exp.Select:
    rows = rolled_up(table(ROWS), parts, owner=ROWS).select(column(names.RULE, fitted))
    return rows.group_by(column(names.RULE, fitted)).join(
        table(fitted), on=equal(column(ID, ROWS), column(ID, fitted)), join_type="left"
    )


def without_codes(catalog: Catalog, parts: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Return the words of a key with the bits of the sensitive codes cleared."""
    return [masked(part, number(~codes)) if codes else part for part, codes in zip(parts, catalog.codes, strict=True)]


def _published(words: int) -> exp.Select:
    """Return the classes of every rule: ``rule``, the key and ``n``; suppressed records are one row without a key."""
    rule = column(names.RULE, names.ASSIGNED)
    classes = rolled_up(
        table(names.ASSIGNED), masked_keys(mask_columns(words, NODES), names.ASSIGNED), rule, owner=names.ASSIGNED
    )
    return classes.join(table(NODES), on=equal(rule.copy(), column(names.RULE, NODES)), join_type="left")


def published(question: Question) -> exp.Select:
    """Return per rule, in order, and last for the suppressed records: rule, records, classes, smallest and largest."""
    return bind("patterns/by_rule.sql", relations={"published": _published(question.catalog.words)})


def kept(question: Question) -> exp.Query:
    """Return per rule and attribute, the sum of D - leaves over its records."""
    used = exp.select(column(names.RULE), column("levels")).from_(table(NODES))
    ctes = [cte("published", _published(question.catalog.words), materialized=True), cte("used", used)]
    ctes += value_ctes(question.catalog, [names.RULE], "published")
    return with_ctes(kept_sums(question.catalog, [names.RULE]), ctes)
