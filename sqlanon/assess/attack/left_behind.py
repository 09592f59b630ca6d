"""What a reader concludes of sensitive values from the classes that were not published (the minimality attack).

Wong, Fu, Wang and Pei, "Minimality Attack in Privacy Preserving Data Publishing" (VLDB 2007). The attacker knows the
quasi-identifiers of everybody, as k-anonymity assumes. Persons who agree on a more specific rule, and whom no rule but
a more general one published, were left together when that rule was tried, and their class failed. Where they are k or
more, it failed for their sensitive values: under distinct ℓ-diversity they have at most ℓ - 1 of them. What the classes
that they were published in hold then leaves few values for each, or one.

With one rule for all records, the optimum, a rule that is more specific by one level suppresses at least one record
more, or it would have been better. Where none of its classes is too small, and one alone can have as few as ℓ - 1
values, that one has.

The tables, beside those of ``first_fit``::

    VALUES      class | value | n            the sensitive values of each class of the release, by their codes
    HOMES       key_0 | … | n | class | rule | homes    persons by quasi-identifiers, with classes that can be theirs
    LEFT        part | key_0 | … | n | class | many     persons who were left together, and the class of each where it
                                             is known; ``many``: how many they are
    POSSIBLE    part | value                 the values that some of them may have
    INFERRED    key_0 | … | value | values   the values that persons may have, and how many there are
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.assess.attack.first_fit import CLASS, CLASSES, GENERAL, PAIRS, RULES, SPECIAL, create_anew
from sqlanon.core.engines.base import Engine
from sqlanon.core.facts import Facts
from sqlanon.core.lattice.catalog import Catalog, SensitiveAttribute
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    as_keys,
    both,
    column,
    count_rows,
    cte,
    equal,
    equal_columns,
    keys,
    masked,
    named,
    number,
    or_zero,
    sum_if,
    table,
    total,
    union_all,
    when,
    with_ctes,
)

VALUES, HOMES, LEFT, GRID, POSSIBLE, INFERRED = (
    f"{names.PREFIX}reasoned_{stem}" for stem in ("values", "homes", "left", "grid", "possible", "inferred")
)
"""Names of the tables of this module."""
PART, VALUE, MANY, HOMES_OF = "part", "value", "many", "homes"


@dataclass(frozen=True, slots=True)
class Inferred(Facts):
    """What is concluded of a sensitive column; persons are counted against the source.

    Attributes:
        persons: those who can be in a published class.
        certain, certain_right: persons of whom one value is left, and those who have it.
        few, few_right: persons of whom fewer values are left than the model promises, and those who have one of them.
    """

    persons: int
    certain: int = 0
    certain_right: int = 0
    few: int = 0
    few_right: int = 0


def infer(engine: Engine, catalog: Catalog, sensitive: SensitiveAttribute, *, k: int, l: int) -> Inferred:  # noqa: E741
    """Return what follows for a sensitive column under distinct ℓ-diversity, after ``first_fit.load_rules``.

    Args:
        k: persons who are fewer may have failed for their number.
    """
    find_homes(engine, catalog)
    create_anew(engine, "persons left", LEFT, _left(catalog, k))
    return _conclude(engine, catalog, sensitive, l)


def infer_single(engine: Engine, catalog: Catalog, sensitive: SensitiveAttribute, *, k: int, l: int) -> Inferred:  # noqa: E741
    """Return what follows for a sensitive column of the classes of one minimal rule, after ``first_fit.load_rules`` of
    those one level below it and of itself."""
    find_homes(engine, catalog)
    create_anew(engine, "persons left", LEFT, _left_by_one(catalog, k, l))
    return _conclude(engine, catalog, sensitive, l)


def _left_by_one(catalog: Catalog, k: int, l: int) -> exp.Query:  # noqa: E741
    """Return the persons of the one class, at a rule one level below, that may have failed for its values."""
    words = range(catalog.words)
    at = [masked(column(names.key(w), "home"), column(names.mask(w), "rule")) for w in words]
    persons = exp.select(*keys(catalog.words, "home"), column(names.COUNT, "home"), column(CLASS, "home"))
    persons = persons.select(column(SPECIAL, "pair"), *[named(bits, f"at_{w}") for w, bits in enumerate(at)])
    persons = persons.from_(table(HOMES, "home"))
    persons = persons.join(table(PAIRS, "pair"), on=equal(column(GENERAL, "pair"), column("rule", "home")))
    persons = persons.join(table(RULES, "rule"), on=equal(column("rule", "rule"), column(SPECIAL, "pair")))
    place = [SPECIAL, *(f"at_{w}" for w in words)]
    groups = exp.select(*map(column, place), column(CLASS), named(total(column(names.COUNT)), MANY))
    groups = groups.from_(table("persons")).group_by(*map(column, place), column(CLASS))
    frequent = _frequent(l - 1).subquery("frequent")
    of_rule = [column(SPECIAL, "groups")]
    fits = when(exp.LTE(this=column(MANY, "groups"), expression=column("frequent", "frequent")), number(1), number(0))
    shown = [*(column(name, "groups") for name in place), named(fits, "fits")]
    shown.append(named(exp.Window(this=exp.Sum(this=fits.copy()), partition_by=of_rule), "fitting"))
    least = exp.Window(this=exp.Min(this=column(MANY, "groups")), partition_by=[of_rule[0].copy()])
    judged = exp.select(*shown, named(least, "least")).from_(table("groups"))
    judged = judged.join(frequent, on=equal(column(CLASS, "groups"), column(CLASS, "frequent")))
    wanted = [
        exp.GTE(this=column("least"), expression=number(k)),
        *(equal(column(name), number(1)) for name in ("fits", "fitting")),
    ]
    only = exp.select(*map(column, place)).from_(judged.subquery("judged")).where(both(wanted))
    query = exp.select(*[column(name, "persons") for name in (*map(names.key, words), names.COUNT, CLASS, *place)])
    query = query.from_(table("persons")).join(only.subquery("only"), on=equal_columns(place, "persons", "only"))
    left = together(catalog, query, exp.true())
    return with_ctes(left, [cte("persons", persons), cte("groups", groups)])


def find_homes(engine: Engine, catalog: Catalog) -> None:
    """Create ``HOMES``: for each combination of quasi-identifiers, the published classes of the most special rules that
    it belongs to."""
    create_anew(engine, "possible classes", HOMES, _homes(catalog))


def _conclude(engine: Engine, catalog: Catalog, sensitive: SensitiveAttribute, l: int) -> Inferred:  # noqa: E741
    """Return what follows of ``LEFT``, whose parts have at most l - 1 values each."""
    create_anew(engine, "values and classes", GRID, _grid(l))
    create_anew(engine, "possible values", POSSIBLE, _possible(l))
    create_anew(engine, "values inferred", INFERRED, _inferred(catalog))
    everybody = exp.select(column(names.COUNT), *keys(catalog.words)).distinct().from_(table(HOMES))
    persons = exp.select(total(column(names.COUNT))).from_(everybody.subquery("persons"))
    everyone = int(engine.run("persons", persons)[0][0])
    return Inferred(everyone, *map(int, engine.run("values inferred", _counts(catalog, sensitive, l))[0]))


def types_of(catalog: Catalog) -> exp.Select:
    """Return the combinations of quasi-identifiers of the source with their records."""
    own = [masked(key, number(~code)) for key, code in zip(keys(catalog.words), catalog.codes, strict=True)]
    query = exp.select(*as_keys(own), named(total(column(names.COUNT)), names.COUNT)).from_(table(names.BASE))
    return query.group_by(*[item.copy() for item in own])


def _homes(catalog: Catalog) -> exp.Query:
    words = range(catalog.words)
    at_rule = [
        equal(masked(column(names.key(w), "person"), column(names.mask(w), "rule")), column(names.key(w), "class"))
        for w in words
    ]
    candidates = exp.select(*keys(catalog.words, "person"), column(names.COUNT, "person"))
    candidates = candidates.select(column(CLASS, "class"), column("rule", "class"))
    candidates = candidates.from_(types_of(catalog).subquery("person")).join(table(RULES, "rule"), join_type="cross")
    same_rule = equal(column("rule", "class"), column("rule", "rule"))
    candidates = candidates.join(table(CLASSES, "class"), on=both([same_rule, *at_rule]))
    every = [exp.Window(this=exp.Count(this=exp.Star()), partition_by=[*keys(catalog.words, "one")])]
    other = exp.select(number(1)).from_(table("candidates", "other"))
    met = [
        equal(column(SPECIAL, "pair"), column("rule", "other")),
        equal(column(GENERAL, "pair"), column("rule", "one")),
    ]
    other = other.join(table(PAIRS, "pair"), on=both(met))
    other = other.where(equal_columns([names.key(w) for w in words], "other", "one"))
    shown = [column(name, "one") for name in (*map(names.key, words), names.COUNT, CLASS, "rule")]
    query = exp.select(*shown, named(every[0], HOMES_OF)).from_(table("candidates", "one"))
    query = query.where(exp.not_(exp.Exists(this=other)))
    return with_ctes(query, [cte("candidates", candidates, materialized=True)])


def _left(catalog: Catalog, k: int) -> exp.Select:
    """Return the persons whose homes are all more general than a rule, by what they are at it, where k or more are."""
    words = range(catalog.words)
    by = [*keys(catalog.words, "home"), column(names.COUNT, "home"), column(HOMES_OF, "home"), column(SPECIAL, "pair")]
    passed = exp.select(*by, named(exp.Min(this=column(CLASS, "home")), CLASS)).from_(table(HOMES, "home"))
    passed = passed.join(table(PAIRS, "pair"), on=equal(column(GENERAL, "pair"), column("rule", "home")))
    passed = passed.group_by(*[item.copy() for item in by]).having(equal(count_rows(), column(HOMES_OF, "home")))
    shown: list[exp.Expr] = [*keys(catalog.words, "passed"), column(names.COUNT, "passed"), column(SPECIAL, "passed")]
    shown.append(named(when(equal(column(HOMES_OF, "passed"), number(1)), column(CLASS, "passed")), CLASS))
    shown += [named(masked(column(names.key(w), "passed"), column(names.mask(w), "rule")), f"at_{w}") for w in words]
    query = exp.select(*shown).from_(passed.subquery("passed"))
    query = query.join(table(RULES, "rule"), on=equal(column("rule", "rule"), column(SPECIAL, "passed")))
    return together(catalog, query, exp.GTE(this=column(MANY), expression=number(k)))


def together(catalog: Catalog, persons: exp.Select, condition: exp.Expr) -> exp.Select:
    """Return ``LEFT`` of persons with a rule (``special``) and what they are at it (``at_<w>``).

    Args:
        condition: which of those who agree at a rule failed for their values; ``many`` is their number.
    """
    at = [column(SPECIAL), *(column(f"at_{w}") for w in range(catalog.words))]
    rank = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=[exp.Ordered(this=item) for item in at]))
    many = exp.Window(this=exp.Sum(this=column(names.COUNT)), partition_by=[item.copy() for item in at])
    numbered = exp.select(exp.Star(), named(rank, PART), named(many, MANY)).from_(persons.subquery("persons"))
    shown = [column(PART), *keys(catalog.words), column(names.COUNT), column(CLASS), column(MANY)]
    return exp.select(*shown).from_(numbered.subquery("numbered")).where(condition)


def _grid(l: int) -> exp.Query:  # noqa: E741
    """Return, per part, class of its persons and value: how many records of the class have it, and ``missing``: how
    many persons of the part are in the class, less what the l - 3 most frequent values of the class can account for."""
    placed = exp.select(column(PART), column(CLASS), named(total(column(names.COUNT)), MANY)).from_(table(LEFT))
    placed = placed.where(exp.not_(exp.Is(this=column(CLASS), expression=exp.null())))
    placed = placed.group_by(column(PART), column(CLASS))
    values = exp.select(column(PART, "placed"), column(VALUE, "held")).distinct().from_(table("placed"))
    values = values.join(table(VALUES, "held"), on=equal(column(CLASS, "placed"), column(CLASS, "held")))
    frequent = _frequent(l - 3)
    query = exp.select(column(PART, "placed"), column(CLASS, "placed"), column(VALUE, "some"))
    query = query.select(named(or_zero(column(names.COUNT, "held")), names.COUNT))
    missing = exp.Sub(this=column(MANY, "placed"), expression=column("frequent", "frequent"))
    query = query.select(named(missing, "missing")).from_(table("placed"))
    query = query.join(values.subquery("some"), on=equal(column(PART, "placed"), column(PART, "some")))
    query = query.join(frequent.subquery("frequent"), on=equal(column(CLASS, "placed"), column(CLASS, "frequent")))
    same = [equal(column(CLASS, "placed"), column(CLASS, "held")), equal(column(VALUE, "some"), column(VALUE, "held"))]
    query = query.join(table(VALUES, "held"), on=both(same), join_type="left")
    return with_ctes(query, [cte("placed", placed)])


def _frequent(most: int) -> exp.Select:
    """Return, per class, the records that have one of its most frequent values."""
    order = exp.Order(expressions=[exp.Ordered(this=column(names.COUNT), desc=True)])
    rank = exp.Window(this=exp.RowNumber(), partition_by=[column(CLASS)], order=order)
    ranked = exp.select(column(CLASS), column(names.COUNT), named(rank, "place")).from_(table(VALUES))
    among = exp.LTE(this=column("place"), expression=number(max(0, most)))
    query = exp.select(column(CLASS), named(sum_if(among, column(names.COUNT)), "frequent"))
    return query.from_(ranked.subquery("ranked")).group_by(column(CLASS))


def _possible(l: int) -> exp.Query:  # noqa: E741
    """Return the values that a part of at most l - 1 values may have: one that all its persons can have; or two that
    account for all of them together, with the l - 3 most frequent values of each class."""
    if l == 2:
        enough = exp.LTE(
            this=exp.Max(this=exp.Sub(this=column("missing"), expression=column(names.COUNT))), expression=number(0)
        )
        query = exp.select(column(PART), column(VALUE)).from_(table(GRID))
        return query.group_by(column(PART), column(VALUE)).having(enough)
    met: list[exp.Expr] = [equal(column(name, "one"), column(name, "two")) for name in (PART, CLASS)]
    met.append(exp.LTE(this=column(VALUE, "one"), expression=column(VALUE, "two")))
    held = when(
        equal(column(VALUE, "one"), column(VALUE, "two")),
        column(names.COUNT, "one"),
        exp.Add(this=column(names.COUNT, "one"), expression=column(names.COUNT, "two")),
    )
    short = exp.Sub(this=column("missing", "one"), expression=exp.paren(held))
    by = [column(PART, "one"), named(column(VALUE, "one"), "first"), named(column(VALUE, "two"), "second")]
    pairs = exp.select(*by).from_(table(GRID, "one")).join(table(GRID, "two"), on=both(met))
    pairs = pairs.group_by(*[item.unalias().copy() for item in by])
    pairs = pairs.having(exp.LTE(this=exp.Max(this=short), expression=number(0)))
    either = [
        exp.select(column(PART), named(column(name), VALUE)).from_(table("pairs")) for name in ("first", "second")
    ]
    query = exp.select(column(PART), column(VALUE)).distinct().from_(union_all(either).subquery("values"))
    return with_ctes(query, [cte("pairs", pairs, materialized=True)])


def _inferred(catalog: Catalog) -> exp.Select:
    """Return the values that are possible in every part that a person is in; a part without any is left aside."""
    own = keys(catalog.words)
    some = exp.select(column(PART)).distinct().from_(table(POSSIBLE)).subquery("some")
    members = exp.select(*keys(catalog.words, "member"), column(PART, "member")).from_(table(LEFT, "member"))
    members = members.join(some, on=equal(column(PART, "member"), column(PART, "some")))
    parts = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[item.copy() for item in own])
    counted = exp.select(*own, column(PART), named(parts, "parts")).from_(members.subquery("member"))
    by = [*keys(catalog.words, "counted"), column("parts", "counted"), column(VALUE, "may")]
    shared = exp.select(*by).from_(counted.subquery("counted"))
    shared = shared.join(table(POSSIBLE, "may"), on=equal(column(PART, "counted"), column(PART, "may")))
    shared = shared.group_by(*[item.copy() for item in by]).having(equal(count_rows(), column("parts", "counted")))
    values = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[item.copy() for item in own])
    return exp.select(*keys(catalog.words), column(VALUE), named(values, "values")).from_(shared.subquery("shared"))


def _counts(catalog: Catalog, sensitive: SensitiveAttribute, l: int) -> exp.Select:  # noqa: E741
    """Return persons of whom one value is left, those who have it, and the same for fewer than l values."""
    words = range(catalog.words)
    own = [masked(column(names.key(w), "record"), number(~catalog.codes[w])) for w in words]
    code = masked(column(names.key(sensitive.word), "record"), number(sensitive.code))
    met = [equal(bits, column(names.key(w), "claim")) for w, bits in enumerate(own)]
    right = exp.select(number(1)).from_(table(INFERRED, "held")).where(
        both([*(equal(bits.copy(), column(names.key(w), "held")) for w, bits in enumerate(own)),
              equal(code, column(VALUE, "held"))])
    )  # fmt: skip
    claims = exp.select(*keys(catalog.words), column("values")).distinct().from_(table(INFERRED))
    shown = [
        column(names.COUNT, "record"),
        column("values", "claim"),
        named(when(exp.Exists(this=right), number(1), number(0)), "holds"),
    ]
    found = exp.select(*shown).from_(table(names.BASE, "record")).join(claims.subquery("claim"), on=both(met))
    one = equal(column("values"), number(1))
    few = exp.LT(this=column("values"), expression=number(l))
    holds = equal(column("holds"), number(1))
    n = column(names.COUNT)
    return exp.select(
        sum_if(one, n), sum_if(exp.and_(one.copy(), holds), n.copy()),
        sum_if(few, n.copy()), sum_if(exp.and_(few.copy(), holds.copy()), n.copy()),
    ).from_(found.subquery("found"))  # fmt: skip


def minimal_nodes(node: Sequence[int], bottom: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the nodes that are more specific than a node by one level of one column."""
    return [(*node[:i], level - 1, *node[i + 1 :]) for i, level in enumerate(node) if level > bottom[i]]
