"""The sizes of maybe-classes without comparing every class with every class, as sqlglot trees.

``sql/audit/maybe_match.sql`` is the definition. With the bit strings of ``null_patterns``

    d matches c under right maybe match  iff  key_c & known_d = key_d
    d matches c under maybe match        iff  key_c & known_d = key_d & known_c

because in the first a column known in d must have the same number in c, never 0, and in the second the columns known
in both must agree. Two different classes with the same pattern never match. So only pairs of patterns matter:

- One pattern covers the other (``known_c & known_d = known_d``: d has more NULLs). Every class c that knows more is
  looked up by hash, under ``key_c & known_d``, among the classes with the pattern of d. This is all of right maybe
  match, and the only part in which the classes without NULL take part.
- Neither covers the other. With ``both = known_c & known_d``, the complement of the union of their NULLs, the classes
  are first summed by (both, key & both, pattern), and the pairs of these sums whose patterns meet in exactly ``both``
  are joined by hash.

Either goes in steps of bounded size, whose sums are added up. With very many patterns (sparse columns) nearly every
pair of patterns meets in a place of its own, and comparing each class with each class that has a NULL, on the bits, is
cheaper: ``direct``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from sqlanon.assess.relations.null_patterns import CLASSES, PATTERNS, Layout, has_null, known
from sqlanon.core.audit.trees import any_of, both_bits, value_if
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import bigint, column, named, number, table, total

MEETS = names.PREFIX + "null_meets"
SIZES = (names.PREFIX + "null_sizes_0", names.PREFIX + "null_sizes_1")
"""The sums so far, and the next ones."""


def meets(shape: Layout, budget: int) -> exp.Select:
    """Select what pairs of patterns, neither of which covers the other, both know.

    ``both_0, …`` with each pattern ``known_0, …`` that takes part, and the ``step`` in which it is joined: a step has
    about ``budget`` classes.
    """
    ours, theirs = "one", "other"
    both = [both_bits(column(known(w), ours), column(known(w), theirs)) for w in shape.words]
    taking_part = (
        exp.select(
            *[exp.alias_(both[w], _both(w)) for w in shape.words],
            *[column(known(w), ours) for w in shape.words],
            column("classes", ours),
        )
        .distinct()
        .from_(table(PATTERNS, ours))
        .join(
            table(PATTERNS, theirs),
            on=exp.and_(
                any_of(both[w].neq(column(known(w), ours)) for w in shape.words),
                any_of(both[w].neq(column(known(w), theirs)) for w in shape.words),
            ),
        )
    )
    running = exp.Window(
        this=exp.Sum(this=column("classes")),
        order=exp.Order(expressions=[exp.Ordered(this=column(_both(w)), nulls_first=False) for w in shape.words]),
    )
    number_of_step = exp.IntDiv(this=bigint(running), expression=number(budget))
    return exp.select("*", exp.alias_(number_of_step, "step")).from_(taking_part.subquery("taking_part"))


def steps() -> exp.Select:
    """Select one row per step of ``meets``: its number and its classes."""
    return (
        exp.select(column("step"), total(column("classes")))
        .from_(table(MEETS))
        .group_by(column("step"))
        .order_by(column("step"))
    )


def covering(shape: Layout, first: int, last: int) -> exp.Select:
    """Select what the patterns from ``first`` to ``last`` and those that they cover give each other: class and sums."""
    covers = exp.and_(
        column("pattern", "wild").between(first, last),
        *_meet_in(shape, "plain", "wild", in_both=known, of="wild"),
        any_of(column(known(w), "plain").neq(column(known(w), "wild")) for w in shape.words),
    )
    looked_up = (
        exp.select(
            column("class", "plain"),
            column("n", "plain"),
            *[column(known(w), "wild") for w in shape.words],
            *_masked_keys(shape, column_of=known, table_of="wild"),
        )
        .from_(table(CLASSES, "plain"))
        .join(table(PATTERNS, "wild"), on=covers)
    )
    same = _agree(_words(shape, known, names.key), "plain", "wild")
    pairs = (
        exp.select(
            exp.alias_(column("class", "plain"), "plain"),
            exp.alias_(column("n", "plain"), "plain_n"),
            exp.alias_(column("class", "wild"), "wild"),
            exp.alias_(column("n", "wild"), "wild_n"),
        )
        .from_(table("looked_up", "plain"))
        .join(table(CLASSES, "wild"), on=exp.and_(*same))
    )
    to_plain = _given(column("plain"), right_maybe=column("wild_n"), maybe=column("wild_n"))
    to_wild = _given(column("wild"), right_maybe=number(0), maybe=column("plain_n"))
    given = _summed(exp.union(to_plain.from_("pairs"), to_wild.from_("pairs"), distinct=False).subquery("given"))
    return given.with_("looked_up", as_=looked_up, materialized=True).with_("pairs", as_=pairs, materialized=True)


def meeting(shape: Layout, step: int) -> exp.Select:
    """Select what classes give each other whose patterns do not cover each other, for one step: class and sums."""
    members = (
        exp.select(
            column("class", "plain"),
            column("n", "plain"),
            *[column(_both(w), "meet") for w in shape.words],
            *[column(known(w), "meet") for w in shape.words],
            *_masked_keys(shape, column_of=_both, table_of="meet"),
        )
        .from_(table(MEETS, "meet"))
        .join(
            table(CLASSES, "plain"),
            on=exp.and_(*_agree(_words(shape, known), "meet", "plain")),
        )
        .where(column("step", "meet").eq(number(step)))
    )
    together, apart = _words(shape, _both, names.key), _words(shape, known)
    totals = (
        exp.select(*map(column, together + apart), exp.alias_(total(column("n")), "n"))
        .from_("members")
        .group_by(*map(column, together + apart))
    )
    matched = (
        exp.select(
            *[column(name, "one") for name in together + apart],
            exp.alias_(total(column("n", "other")), "n"),
        )
        .from_(table("totals", "one"))
        .join(
            table("totals", "other"),
            on=exp.and_(
                *_agree(together, "one", "other"),
                *_meet_in(shape, "one", "other", in_both=_both, of="one"),
            ),
        )
        .group_by(*[column(name, "one") for name in together + apart])
    )
    given = _given(column("class", "members"), right_maybe=number(0), maybe=column("n", "matched"))
    given = given.from_("members").join("matched", on=exp.and_(*_agree(together + apart, "members", "matched")))
    query = _summed(given.subquery("given")).with_("members", as_=members, materialized=True)
    return query.with_("totals", as_=totals, materialized=True).with_("matched", as_=matched)


def direct(shape: Layout) -> exp.Select:
    """Select what all classes give each other, each compared with each that has a NULL: class and sums."""
    to_all = _compared(shape, released=has_null(shape, "released"))
    to_wild = _compared(shape, released=exp.and_(has_null(shape, "known"), exp.not_(has_null(shape, "released"))))
    return _summed(exp.union(to_all, to_wild, distinct=False).subquery("given"))


def none_given() -> exp.Select:
    """Select no sums: what to begin with."""
    nothing = _given(column("class"), right_maybe=bigint(number(0)), maybe=bigint(number(0)))
    return nothing.from_(table(CLASSES)).where(exp.false())


def with_sums(sums: str, given: exp.Select) -> exp.Select:
    """Select the sums so far with those that a step gives."""
    so_far = exp.select("*").from_(table(sums))
    return _summed(exp.union(so_far, exp.select("*").from_(given.subquery("step")), distinct=False).subquery("given"))


def sizes(sums: str) -> exp.Select:
    """Select, per class, ``records``, ``right_maybe`` and ``maybe``, as ``sql/audit/maybe_match.sql`` has them."""

    def with_given(name: str) -> exp.Expr:
        given = exp.Coalesce(this=column(name, "given"), expressions=[number(0)])
        return exp.alias_(exp.Add(this=column("n", "classes"), expression=given), name)

    return (
        exp.select(exp.alias_(column("n", "classes"), "records"), with_given("right_maybe"), with_given("maybe"))
        .from_(table(CLASSES, "classes"))
        .join(table(sums, "given"), on=column("class", "classes").eq(column("class", "given")), join_type="left")
    )


def _compared(shape: Layout, *, released: exp.Expr) -> exp.Select:
    """Select each class with the other classes that match it under maybe match and meet a condition."""
    n = column("n", "released")
    covered = exp.and_(*_meet_in(shape, "known", "released", in_both=known, of="released"))
    agree = [
        both_bits(column(names.key(w), "known"), column(known(w), "released")).eq(
            both_bits(column(names.key(w), "released"), column(known(w), "known"))
        )
        for w in shape.words
    ]
    others = column("class", "known").neq(column("class", "released"))
    given = _given(column("class", "known"), right_maybe=value_if(covered, n), maybe=n.copy())
    return given.from_(table(CLASSES, "known")).join(table(CLASSES, "released"), on=exp.and_(released, *agree, others))


def _meet_in(shape: Layout, left: str, right: str, *, in_both: Callable[[int], str], of: str) -> list[exp.Expr]:
    """Return the conditions that two patterns know together what a family of columns of a relation names."""
    known_words = [(column(known(w), left), column(known(w), right), column(in_both(w), of)) for w in shape.words]
    return [both_bits(ours, theirs).eq(shared) for ours, theirs, shared in known_words]


def _given(cls: exp.Expr, *, right_maybe: exp.Expr, maybe: exp.Expr) -> exp.Select:
    return exp.select(exp.alias_(cls, "class"), exp.alias_(right_maybe, "right_maybe"), exp.alias_(maybe, "maybe"))


def _summed(given: exp.Subquery) -> exp.Select:
    return (
        exp.select(
            column("class"),
            exp.alias_(total(column("right_maybe")), "right_maybe"),
            exp.alias_(total(column("maybe")), "maybe"),
        )
        .from_(given)
        .group_by(column("class"))
    )


def _masked_keys(shape: Layout, *, column_of: Callable[[int], str], table_of: str) -> list[exp.Alias]:
    """Return the words of the key of ``plain``, each with the bits that a column has: ``key_0, …``."""
    keys = [(column(names.key(w), "plain"), column(column_of(w), table_of)) for w in shape.words]
    return [named(both_bits(*pair), names.key(w)) for w, pair in zip(shape.words, keys, strict=True)]


def _agree(columns: Sequence[str], left: str, right: str) -> list[exp.Expr]:
    """Return the conditions that two relations agree in some columns."""
    return [column(name, left).eq(column(name, right)) for name in columns]


def _words(shape: Layout, *families: Callable[[int], str]) -> list[str]:
    return [name(w) for name in families for w in shape.words]


def _both(word: int) -> str:
    return f"both_{word}"
