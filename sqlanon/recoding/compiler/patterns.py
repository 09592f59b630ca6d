"""The statements of pattern-guided k-anonymity: the greedy heuristic block by block, bounds, and what came of it.

A pattern is a node of the lattice whose levels are 0 or top, so that it is a mask like any other: a row type under a
pattern is ``key & mask``, and a group are the row types that agree in it.

**Algorithm 1 in waves.** Algorithm 1 of the paper (section 2.3) tries the patterns one after the other; each takes
the rows of its groups that hold at least k of the records that are left. ``block`` does the same for many patterns at
once. It holds pairs (row type r, pattern p), at first all whose group holds k of the records that are left when the
block begins, and repeats (``sql/patterns/wave.sql``):

1. A group with fewer than k records among its pairs is dropped, unless it is certain.
2. first(r) is the first pattern among the pairs of r.
3. A group of p is certain when its row types with first(r) = p hold k records, and stays so.
4. last(r) is the first pattern among the certain groups of r. Its pairs with later patterns are dropped.
5. r is settled, with pattern first(r), when first(r) = last(r).

Let a(r) be the pattern that Algorithm 1 gives to r, among those of the block. *Claim: the settled pairs are (r,
a(r)), and all of them.* These hold before and after each step:

- (A) Of each group that succeeds in Algorithm 1, every row type that is still there when its pattern is tried has its
  pair, or is settled with it. At first: such a group holds k records then, hence also before, when more were left.
- (B) A certain group succeeds, and each r with a pair in it has a(r) no later than its pattern.

Step 1 keeps A: the records of a group that succeeds are at least k, and by A they all have their pairs, or some are
settled, and then the group is certain. By A, (r, a(r)) is a pair, so a(r) is not before first(r). Step 3 keeps B: row
types with first(r) = p are not taken before p, so they are there when p is tried; they hold k records, so the group
succeeds and takes all its row types that are left, and others went before. Step 4 keeps A: by B, a(r) is not after
last(r), so r is gone when a later pattern is tried. Step 5: first(r) ≤ a(r) ≤ last(r), hence a(r).

*It ends.* Let p be the least first(r) among unsettled row types with pairs, and consider a group of p with one of
them: each of its row types has a pair with p, so first(r) is p for all of them; the group was not dropped, so they
hold k records, or it is certain: step 3 makes it certain, and step 5 settles them. So each wave drops the last pair
or settles a row type, and at the end every pair is settled. What is not settled is left to the next block, as it is
left by Algorithm 1 when it comes to the patterns of that block.

**Bounds.** A group of a pattern is part of a group of each pattern with more ☆, and rows are only ever taken away. So
a pattern none of whose groups holds k of the records that are left cannot succeed any more, nor can one whose ☆ are
among its own. ``fruitful`` tries patterns that keep one, two, … columns.

**Nothing left over.** Fewer than k records that no pattern took become k when the records of one output row type join
them under the pattern of ☆ alone (``Joining``). ``smallest`` finds which may cost least: the cost is the number of
records times what is a constant of the pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import (
    both,
    column,
    count_rows,
    cte,
    equal,
    equal_columns,
    is_null,
    keys,
    mask_columns,
    masked,
    masked_keys,
    named,
    number,
    rolled_up,
    row_number,
    table,
    total,
    union_all,
    when,
    with_ctes,
    with_id,
)

Pattern = tuple[int, ...]
REST, CROSSED, GROUPS, PAIRS = "rest", "crossed", "groups", "pairs"
WAVE = "patterns/wave.sql"

pairs_after = names.namer(names.PREFIX + PAIRS)
"""Name of the table of pairs after a wave, for an engine that runs waves one by one."""


@dataclass(frozen=True, slots=True)
class Joining:
    """An output row type whose records join those left over under another pattern.

    Attributes:
        number: of its pattern.
        pattern: the columns that this suppresses.
        key: what the pattern keeps of each word of the key.
        into: number of the pattern under which it joins.
    """

    number: int
    pattern: Pattern
    key: tuple[int, ...]
    into: int


def masks(catalog: Catalog, pattern: Pattern) -> tuple[int, ...]:
    """Return one mask per word: the columns of the pattern at the top of their hierarchies, the others as they are."""
    suppressed = set(pattern)
    return catalog.masks(tuple(a.height - 1 if i in suppressed else 0 for i, a in enumerate(catalog.attributes)))


def pattern_rows(catalog: Catalog, patterns: Sequence[Pattern], first: int = 0) -> dict[str, list[int]]:
    """Return the columns of a table of patterns, numbered from ``first``: ``pattern``, ``mask_<word>``, ``stars``."""
    everything = masks(catalog, ())
    removed = [[a.mask(0, w) - a.mask(a.height - 1, w) for a in catalog.attributes] for w in range(catalog.words)]
    return {
        names.PATTERN: list(range(first, first + len(patterns))),
        **{
            names.mask(w): [everything[w] - sum(removed[w][c] for c in pattern) for pattern in patterns]
            for w in range(catalog.words)
        },
        "stars": [len(pattern) for pattern in patterns],
    }


def row_types(catalog: Catalog) -> exp.Select:
    """Return the distinct rows of quasi-identifiers: ``id``, the key and ``n``."""
    if any(catalog.codes):
        parts = masked_keys(number(~codes) for codes in catalog.codes)
        query, records = rolled_up(table(names.BASE), parts), total(column(names.COUNT))
    else:
        query = exp.select(*keys(catalog.words), column(names.COUNT)).from_(table(names.BASE))
        records = column(names.COUNT)
    query = with_id(query)
    if not catalog.has_population:
        return query
    some = exp.GT(this=records, expression=number(0))
    return query.having(some) if any(catalog.codes) else query.where(some)


def nothing_decided() -> exp.Select:
    """Return the columns of ``names.DECIDED`` without a row."""
    return _no_rows({"id": "INTEGER", names.PATTERN: "INTEGER"})


def no_patterns(catalog: Catalog) -> exp.Select:
    """Return the columns of ``names.PATTERNS`` without a row."""
    words = {names.mask(word): "BIGINT" for word in range(catalog.words)}
    return _no_rows({names.PATTERN: "INTEGER", **words, "stars": "INTEGER"})


def _no_rows(types: Mapping[str, str]) -> exp.Select:
    return exp.select(*[named(exp.cast(number(0), kind), name) for name, kind in types.items()]).where(exp.false())


def block(catalog: Catalog, k: int) -> exp.Select:
    """Return the row types that the patterns of one block take: ``id`` and ``pattern``.

    Two parameters: the first and the last number of the block.
    """
    ctes, candidates = _candidates(catalog, k)
    waves = union_all([candidates, wave(PAIRS, k).subquery(copy=False)])
    query = settled(PAIRS)
    with_ctes(query, [*ctes, cte(PAIRS, waves)])
    query.args["with_"].set("recursive", True)
    return query


def candidates(catalog: Catalog, k: int) -> exp.Select:
    """Return the pairs that a block begins with, for an engine that runs its waves one by one (``wave``).

    Two parameters: the first and the last number of the block.
    """
    ctes, query = _candidates(catalog, k)
    with_ctes(query, ctes)
    return query


def wave(pairs: str, k: int) -> exp.Select:
    """Return the pairs after one wave over those of a relation."""
    return bind(WAVE, relations={PAIRS: table(pairs)}, values={"k": k})


def settled(pairs: str) -> exp.Select:
    """Return the row types of a relation of pairs that are settled: ``id`` and ``pattern``."""
    rows = exp.select(column("id"), column(names.PATTERN)).from_(table(pairs))
    return rows.where(equal(column("settled"), number(1)))


def settled_count(pairs: str) -> exp.Select:
    """Return how many pairs of a relation are settled."""
    return exp.select(total(column("settled"))).from_(table(pairs))


def _candidates(catalog: Catalog, k: int) -> tuple[list[exp.CTE], exp.Select]:
    """Return the pairs that a block begins with, with the parts of their statement."""
    between = exp.Between(this=column(names.PATTERN, names.PATTERNS), low=exp.Placeholder(), high=exp.Placeholder())
    words = range(catalog.words)
    masked_names = [f"masked_{w}" for w in words]
    group_columns = [names.PATTERN, *masked_names]
    groups = (
        exp.select(*[column(name) for name in group_columns])
        .select(named(exp.cast(row_number(), "INTEGER"), "grp"))
        .from_(table(CROSSED))
        .group_by(*[column(name) for name in group_columns])
        .having(exp.GTE(this=exp.Sum(this=column(names.COUNT)), expression=number(k)))
    )
    pairs = (
        exp.select(*[column(name, CROSSED) for name in ("id", names.COUNT, names.PATTERN)])
        .select(column("grp", GROUPS), named(number(0), "certain"), named(number(0), "settled"))
        .from_(table(CROSSED))
        .join(table(GROUPS), on=equal_columns(group_columns, CROSSED, GROUPS))
    )
    ctes = [
        cte(REST, _rest(), materialized=True),
        cte(CROSSED, _crossed(catalog, names.PATTERNS, masked_names).where(between)),
        cte(GROUPS, groups, materialized=True),
    ]
    return ctes, pairs


def fruitful(catalog: Catalog, k: int) -> exp.Select:
    """Return the numbers of the patterns in ``names.KEPT`` of which a group holds k of the records that are left."""
    masked_names = [f"masked_{w}" for w in range(catalog.words)]
    group_columns = [column(name) for name in (names.PATTERN, *masked_names)]
    groups = (
        exp.select(column(names.PATTERN))
        .from_(table(CROSSED))
        .group_by(*group_columns)
        .having(exp.GTE(this=exp.Sum(this=column(names.COUNT)), expression=number(k)))
    )
    query = exp.select(column(names.PATTERN)).distinct().from_(table(GROUPS))
    with_ctes(
        query,
        [cte(REST, _rest()), cte(CROSSED, _crossed(catalog, names.KEPT, masked_names)), cte(GROUPS, groups)],
    )
    return query


def records_left() -> exp.Select:
    """Return how many row types and records no pattern has taken."""
    return exp.select(count_rows(), total(column(names.COUNT))).from_(_rest().subquery(REST))


def assigned(catalog: Catalog, joining: Joining | None = None) -> exp.Select:
    """Return the row types with their records and pattern: the key, ``n``, ``rule`` (NULL: left over)."""
    rule: exp.Expr = column(names.PATTERN, names.DECIDED)
    if joining is not None:
        is_key = [
            equal(masked(key, number(mask)), number(value))
            for key, mask, value in zip(
                keys(catalog.words, names.ROW_TYPES), masks(catalog, joining.pattern), joining.key, strict=True
            )
        ]
        joins = both([equal(rule.copy(), number(joining.number)), *is_key])
        moved = exp.or_(is_null(rule.copy()), joins, copy=False)
        rule = when(moved, number(joining.into), rule)
    return (
        exp.select(*keys(catalog.words, names.ROW_TYPES), column(names.COUNT, names.ROW_TYPES))
        .select(named(rule, names.RULE))
        .from_(table(names.ROW_TYPES))
        .join(table(names.DECIDED), on=_same_id(names.ROW_TYPES, names.DECIDED), join_type="left")
    )


def nothing_assigned(catalog: Catalog) -> exp.Select:
    """Return the columns of ``names.ASSIGNED`` where patterns share the records of a row type, without a row."""
    words = {names.key(word): "BIGINT" for word in range(catalog.words)}
    stretch = {names.STRETCH_FIRST: "BIGINT", names.STRETCH_LAST: "BIGINT"}
    return _no_rows({**words, names.COUNT: "BIGINT", names.RULE: "INTEGER", **stretch})


def read_assigned(catalog: Catalog) -> exp.Select:
    """Return the rows of ``names.ASSIGNED`` in the order of their keys: the key, ``n``, ``rule``."""
    key = keys(catalog.words)
    return (
        exp.select(*key, column(names.COUNT), column(names.RULE))
        .from_(table(names.ASSIGNED))
        .order_by(*[item.copy() for item in key])
    )


def smallest(catalog: Catalog) -> exp.Select:
    """Return of each pattern that took row types, its smallest output row type (the first of several by its key):
    ``pattern``, ``n`` and the generalized key."""
    parts = masked_keys(mask_columns(catalog.words, names.PATTERNS), names.ROW_TYPES)
    types = (
        rolled_up(table(names.DECIDED), parts, column(names.PATTERN, names.DECIDED))
        .join(table(names.ROW_TYPES), on=_same_id(names.DECIDED, names.ROW_TYPES))
        .join(table(names.PATTERNS), on=equal_columns([names.PATTERN], names.DECIDED, names.PATTERNS))
    )
    shown = [column(names.PATTERN), column(names.COUNT), *keys(catalog.words)]
    place = row_number(*[item.copy() for item in shown[1:]], partition=[column(names.PATTERN)])
    ranked = exp.select(*[item.copy() for item in shown], named(place, "place")).from_(types.subquery("types"))
    first = equal(column("place"), number(1))
    return exp.select(*shown).from_(ranked.subquery("ranked")).where(first).order_by(column(names.PATTERN))


def row_type_count(catalog: Catalog) -> exp.Select:
    """Return how many row types there are."""
    return exp.select(count_rows()).from_(row_types(catalog).subquery("types"))


def _same_id(left: str, right: str) -> exp.Expr:
    return equal_columns(["id"], left, right)


def _rest() -> exp.Select:
    """Return the row types that no pattern has taken."""
    return (
        exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier(names.ROW_TYPES, quoted=True)))
        .from_(table(names.ROW_TYPES))
        .join(table(names.DECIDED), on=_same_id(names.ROW_TYPES, names.DECIDED), join_type="left")
        .where(is_null(column("id", names.DECIDED)))
    )


def _crossed(catalog: Catalog, patterns: str, masked_names: Sequence[str]) -> exp.Select:
    """Return each row type that is left under each pattern: ``id``, ``n``, ``pattern`` and what the pattern keeps."""
    parts = masked_keys(mask_columns(catalog.words, patterns), REST)
    return (
        exp.select(column("id", REST), column(names.COUNT, REST), column(names.PATTERN, patterns))
        .select(*[named(part, name) for part, name in zip(parts, masked_names, strict=True)])
        .from_(table(REST))
        .join(table(patterns), join_type="cross")
    )
