"""The statements that compare records before and after: by the categories of all their columns, and in pairs.

A category is a whole number: of a value before (``before_<i>``), and of what is published of it (``after_<i>``, -1 for
suppressed records). ``names.CATEGORIES`` holds which value counts as which, at which level.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import SOURCE, EncodedSource
from sqlanon.core.compiler.release import of_subset
from sqlanon.core.compiler.released_types import MISFIT, POSITION, place_of_date, place_of_number
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    as_keys,
    bigint,
    both,
    canonical,
    column,
    count_rows,
    cte,
    equal,
    is_null,
    keys,
    masked,
    named,
    not_null,
    number,
    or_zero,
    row_number,
    table,
    total,
    union_all,
    when,
    with_ctes,
)

before = names.namer("before")
"""Name of the column of a category before."""
after = names.namer("after")
"""Name of the column of a category after."""
value = names.namer("x")
"""Name of the column of the text of a column that is no quasi-identifier, marked so that NULL is a text too."""
CLASS = "class"
"""Column: the category that is predicted."""
TEST = "test"
"""Column: how many of the records a prediction is tested on."""
GONE = -1
"""The category of a suppressed record."""
OF_VALUE, OF_NULL = "v", "n"
"""What a marked text begins with."""
EVERY = 3
"""Every third record, in the order of the categories, is one of those that a prediction is tested on."""


def released_records(
    source: EncodedSource, catalog: Catalog, others: Sequence[tuple[str, str]], *, split: bool
) -> exp.Query:
    """Return the records that take part: the key of their row type, the rule that publishes them, other values.

    Args:
        others: the columns that are no quasi-identifiers, with their types.
        split: rules share the records of a row type; chance decides which of them.
    """
    quasi, types, records = source.quasi, names.RELEASED_TYPES, "records"
    words = range(catalog.words)
    projections: list[exp.Expr] = list(as_keys(exp.paren(quasi.packed(word)) for word in words))
    projections += [named(marked(name, kind), value(i)) for i, (name, kind) in enumerate(others)]
    if split:
        projections.append(named(exp.Rand(), "chance"))
    found: exp.Query = of_subset(source, quasi.encoded(projections))
    met: list[exp.Expr] = [equal(column(names.key(word), records), column(names.key(word), types)) for word in words]
    if split:  # a window cannot be ordered by a call of RANDOM()
        place = row_number(column("chance"), partition=keys(catalog.words))
        found = exp.select(exp.Star(), named(place, "place")).from_(found.subquery("drawn"))
        low, high = (column(name, types) for name in (names.STRETCH_FIRST, names.STRETCH_LAST))
        met.append(exp.Between(this=column("place", records), low=low, high=high))
    query = exp.select(*keys(catalog.words, records), column(names.RULE, types))
    query = query.select(*[column(value(i), records) for i in range(len(others))])
    query = query.from_(table(records)).join(table(types), on=both(met))
    return with_ctes(query, [cte(records, found, computed_first=True)])


def marked(name: str, type_name: str) -> exp.Expr:
    """Return the canonical text of a column with a mark before it, NULL being a mark alone."""
    text = exp.DPipe(this=exp.Literal.string(OF_VALUE), expression=canonical(name, type_name, SOURCE))
    return when(is_null(column(name, SOURCE)), exp.Literal.string(OF_NULL), text)


def other_values(kinds: Sequence[str | None]) -> exp.Query:
    """Return the values of the other columns: id, attribute, text, records, released ones (``kept``), place, misfit.

    Args:
        kinds: per column ``number``, ``date``, ``text`` or None: what its values are on a scale.
    """
    parts: list[exp.Query] = []
    kept = total(when(not_null(column(names.RULE)), number(1), number(0)))
    for i, kind in enumerate(kinds):
        text = column(value(i))
        plain = exp.Substring(this=column("text"), start=number(2))
        read = place_of_date(plain) if kind == "date" else place_of_number(plain, text=kind == "text")
        is_value = exp.NEQ(this=column("text"), expression=exp.Literal.string(OF_NULL))
        place = when(is_value, read) if kind is not None else exp.cast(exp.null(), "DOUBLE")
        grouped = exp.select(named(text, "text"), named(bigint(count_rows()), names.COUNT), named(kept.copy(), "kept"))
        grouped = grouped.from_(table(names.RELEASED_RECORDS)).group_by(text.copy())
        of_column = exp.select(
            named(number(i), "attribute"), column("text"), column(names.COUNT), column("kept"), named(place, POSITION)
        )
        parts.append(of_column.from_(grouped.subquery("g")))
    is_value = exp.NEQ(this=column("text"), expression=exp.Literal.string(OF_NULL))
    lacks_place = when(both([is_value, is_null(column(POSITION))]), number(1), number(0))
    order = [column("attribute"), exp.Neg(this=column(names.COUNT)), column("text")]
    query = exp.select(named(bigint(row_number(*order)), "id"), exp.Star(), named(lacks_place, MISFIT))
    return query.from_(union_all(parts).subquery("v"))


def counts_of_values() -> exp.Select:
    """Return the other values without their texts, in the order of their ids."""
    wanted = [column(name) for name in ("id", "attribute", names.COUNT, "kept", POSITION, MISFIT)]
    return exp.select(*wanted).from_(table(names.OTHER_VALUES)).order_by(column("id"))


def texts_of_values() -> exp.Select:
    """Return the texts of the other values whose ids are in ``names.SHOWN_VALUES``: id and text, NULL being NULL."""
    text = column("text", names.OTHER_VALUES)
    plain = exp.Substring(this=text, start=number(2))
    is_value = exp.NEQ(this=text.copy(), expression=exp.Literal.string(OF_NULL))
    query = exp.select(column("id", names.OTHER_VALUES), when(is_value, plain)).from_(table(names.OTHER_VALUES))
    met = equal(column("id", names.OTHER_VALUES), column("id", names.SHOWN_VALUES))
    return query.join(table(names.SHOWN_VALUES), on=met)


def compared(
    catalog: Catalog, positions: Sequence[int], levels: Sequence[int], others: Sequence[int], target: int | None
) -> exp.Query:
    """Return the records by their categories: ``before_<i>``, ``after_<i>``, ``class`` if there is a target, and ``n``.

    Args:
        positions: the quasi-identifiers that are compared.
        levels: per quasi-identifier, one at which its categories are known.
        others: the numbers of the other columns that are compared, behind the quasi-identifiers.
        target: the number of the compared column that is predicted.
    """
    records = names.RELEASED_RECORDS if others else names.RELEASED_TYPES
    joined = exp.Select().from_(table(records))
    same_rule = equal(column(names.RULE, records), column(names.RULE, names.RULE_LEVELS))
    joined = joined.join(table(names.RULE_LEVELS), on=same_rule, join_type="left")
    for i, (position, level) in enumerate(zip(positions, levels, strict=True)):
        own = f"category_{i}"
        published_at = column(names.level(position), names.RULE_LEVELS)
        at = exp.Coalesce(this=published_at, expressions=[number(level)])
        met: list[exp.Expr] = [equal(column("attribute", own), number(i)), equal(column("level", own), at)]
        met += [
            equal(masked(column(names.key(word), records), number(mask)), column(names.key(word), own))
            for word in range(catalog.words)
            if (mask := catalog.attributes[position].mask(0, word))
        ]
        joined = joined.join(table(names.CATEGORIES, own), on=both(met))
    for i, j in enumerate(others, start=len(positions)):
        own, texts = f"category_{i}", f"values_{i}"
        met = [equal(column("attribute", texts), number(j)), equal(column("text", texts), column(value(j), records))]
        joined = joined.join(table(names.OTHER_VALUES, texts), on=both(met))
        met = [equal(column("attribute", own), number(i)), equal(column(names.key(0), own), column("id", texts))]
        joined = joined.join(table(names.CATEGORIES, own), on=both(met))
    count = len(positions) + len(others)
    parts: list[exp.Expr] = [column("before", f"category_{i}") for i in range(count)]
    is_gone = is_null(column(names.RULE, records))
    parts += [when(is_gone.copy(), number(GONE), column("after", f"category_{i}")) for i in range(count)]
    shown = [*map(before, range(count)), *map(after, range(count))]
    if target is not None:
        parts.append(column(CLASS, f"category_{target}"))
        shown.append(CLASS)
    n = total(number(1)) if others else total(column(names.COUNT, records))
    query = joined.select(*[named(part, name) for part, name in zip(parts, shown, strict=True)], named(n, names.COUNT))
    return query.group_by(*[part.copy() for part in parts])


def pairs(found: Sequence[tuple[int, int]], *, released: bool) -> exp.Query:
    """Return the records by two categories: number of the pair, both categories, records.

    Args:
        found: the pairs of compared columns, by number.
        released: the released records by what is published of them; otherwise all by what they were.
    """
    name = after if released else before
    parts: list[exp.Query] = []
    for place, (first, second) in enumerate(found):
        both_columns = [column(name(first)), column(name(second))]
        query = exp.select(
            named(number(place), "pair"), named(both_columns[0], "first"), named(both_columns[1], "second")
        )
        query = query.select(named(total(column(names.COUNT)), names.COUNT)).from_(table(names.COMPARED))
        if released:
            query = query.where(exp.GT(this=column(name(first)), expression=number(GONE)))
        parts.append(query.group_by(*[item.copy() for item in both_columns]))
    return union_all(parts)


def parted(count: int) -> exp.Query:
    """Return ``names.COMPARED`` with ``test``: how many records of a row stand at a place that ``EVERY`` divides, where
    all records are numbered in the order of their categories."""
    shown = [*map(before, range(count)), *map(after, range(count)), CLASS]
    ordered = exp.Order(expressions=[exp.Ordered(this=column(name)) for name in shown])
    frame = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
    last = bigint(exp.Window(this=exp.Sum(this=column(names.COUNT)), order=ordered, spec=frame))
    numbered = exp.select(*map(column, [*shown, names.COUNT]), named(last, "last")).from_(table(names.COMPARED))

    def passed(place: exp.Expr) -> exp.Expr:
        """Return the greatest multiple of ``EVERY`` up to a place."""
        return exp.paren(exp.Sub(this=place, expression=exp.Mod(this=place.copy(), expression=number(EVERY))))

    first = exp.paren(exp.Sub(this=column("last"), expression=column(names.COUNT)))
    multiples = exp.paren(exp.Sub(this=passed(column("last")), expression=passed(first)))
    tests = named(bigint(exp.Div(this=multiples, expression=number(EVERY))), TEST)
    return exp.select(*map(column, [*shown, names.COUNT]), tests).from_(numbered.subquery("numbered"))


def parts(count: int) -> exp.Select:
    """Return the rows of ``names.PARTED``: the categories before and after, the class, the records, those to test."""
    shown = [*map(before, range(count)), *map(after, range(count)), CLASS, names.COUNT, TEST]
    return exp.select(*map(column, shown)).from_(table(names.PARTED)).order_by(*map(column, shown))


def part_counts() -> exp.Select:
    """Return per class: the class, its records for training, the released ones of them, those for the test, and the
    suppressed ones of these."""
    training = exp.paren(exp.Sub(this=column(names.COUNT), expression=column(TEST)))
    is_released = exp.GT(this=column(after(0)), expression=number(GONE))
    is_gone = equal(column(after(0)), number(GONE))
    sums = [
        total(training),
        total(when(is_released, training.copy(), number(0))),
        total(column(TEST)),
        total(when(is_gone, column(TEST), number(0))),
    ]
    query = exp.select(column(CLASS), *sums).from_(table(names.PARTED))
    return query.group_by(column(CLASS)).order_by(column(CLASS))


def likelihoods(features: Sequence[int], *, released: bool) -> exp.Query:
    """Return ln P(category | class) by feature, with Laplace smoothing: (n + 1) / (records of the class + categories).

    Args:
        features: the numbers of the compared columns that predict.
        released: learn from the released records, by what is published of them; otherwise from all.
    """
    name = after if released else before
    training = exp.paren(exp.Sub(this=column(names.COUNT), expression=column(TEST)))
    is_released = exp.GT(this=column(after(0)), expression=number(GONE))
    rows = exp.select("*").from_(table(names.PARTED))
    rows = rows.where(is_released) if released else rows
    counted: list[exp.Query] = []
    for feature in features:
        query = exp.select(named(number(feature), "feature"), named(column(name(feature)), "category"), column(CLASS))
        query = query.select(named(total(training.copy()), names.COUNT)).from_(table("rows"))
        counted.append(query.group_by(column(name(feature)), column(CLASS)))
    has_records = exp.GT(this=column(names.COUNT), expression=number(0))
    classes = (
        exp.select(column(CLASS), named(total(training.copy()), "size")).from_(table("rows")).group_by(column(CLASS))
    )
    known = exp.select(column("feature"), column("category")).distinct().from_(table("counted"))
    learnt = exp.select(
        column("feature"), named(exp.Count(this=exp.Distinct(expressions=[column("category")])), "categories")
    )
    learnt = learnt.from_(table("counted")).where(has_records).group_by(column("feature"))
    of_cell = [
        equal(column("feature", "known"), column("feature", "counted")),
        equal(column("category", "known"), column("category", "counted")),
        equal(column(CLASS, "classes"), column(CLASS, "counted")),
    ]
    seen = exp.Add(this=or_zero(column(names.COUNT, "counted")), expression=number(1))
    whole = exp.Add(this=column("size", "classes"), expression=column("categories", "learnt"))
    share = exp.Div(this=exp.cast(exp.paren(seen), "DOUBLE"), expression=exp.cast(exp.paren(whole), "DOUBLE"))
    query = exp.select(column("feature", "known"), column("category", "known"), column(CLASS, "classes"))
    query = query.select(named(exp.Ln(this=share), "likelihood")).from_(table("known"))
    query = query.join(table("classes"), on=exp.GT(this=column("size", "classes"), expression=number(0)))
    query = query.join(table("learnt"), on=equal(column("feature", "known"), column("feature", "learnt")))
    query = query.join(table("counted"), on=both(of_cell), join_type="left")
    ctes = [cte("rows", rows), cte("counted", union_all(counted), materialized=True), cte("classes", classes)]
    return with_ctes(query, [*ctes, cte("known", known), cte("learnt", learnt)])


def right_guesses(features: Sequence[int], priors: Sequence[tuple[int, int]], *, released: bool) -> exp.Query:
    """Return how many records of the test a naive Bayes guesses right, by ``names.LIKELIHOODS``.

    Args:
        priors: (class, records for training), each with some; of equal scores the first class is guessed.
        released: the records as they are published, suppressed ones left out; otherwise as they were.
    """
    name = after if released else before
    whole = sum(records for _, records in priors) + len(priors)
    tuples = []
    for place, records in priors:
        share = exp.Div(this=exp.cast(number(records + 1), "DOUBLE"), expression=exp.cast(number(whole), "DOUBLE"))
        tuples.append(exp.select(named(number(place), "guess"), named(exp.Ln(this=share), "prior")))
    asked = [column(name(feature)) for feature in features]
    tests = exp.select(named(bigint(row_number()), "id"), exp.Star())
    kinds = (
        exp.select(*asked).distinct().from_(table(names.PARTED)).where(exp.GT(this=column(TEST), expression=number(0)))
    )
    if released:
        kinds = kinds.where(exp.GT(this=column(after(0)), expression=number(GONE)))
    tests = tests.from_(kinds.subquery("kinds"))
    score: exp.Expr = column("prior", "guesses")
    scored = exp.select(column("id", "tests"), column("guess", "guesses")).from_(table("tests"))
    scored = scored.join(table("guesses"), join_type="cross")
    for feature in features:
        own = f"likelihood_{feature}"
        met = [
            equal(column("feature", own), number(feature)),
            equal(column("category", own), column(name(feature), "tests")),
            equal(column(CLASS, own), column("guess", "guesses")),
        ]
        scored = scored.join(table(names.LIKELIHOODS, own), on=both(met))
        score = exp.Add(this=score, expression=column("likelihood", own))
    scored = scored.select(named(score, "score"))
    order = exp.Order(expressions=[exp.Ordered(this=column("score"), desc=True), exp.Ordered(this=column("guess"))])
    best = exp.Window(this=exp.RowNumber(), partition_by=[column("id")], order=order)
    ranked = exp.select(column("id"), column("guess"), named(best, "place")).from_(table("scored"))
    same_kind = [equal(column(name(feature), "tests"), column(name(feature), names.PARTED)) for feature in features]
    query = exp.select(total(column(TEST, names.PARTED))).from_(table(names.PARTED))
    query = query.join(table("tests"), on=both(same_kind))
    query = query.join(table("ranked"), on=equal(column("id", "tests"), column("id", "ranked")))
    query = query.where(equal(column("place", "ranked"), number(1)))
    query = query.where(equal(column("guess", "ranked"), column(CLASS, names.PARTED)))
    if released:
        query = query.where(exp.GT(this=column(after(0), names.PARTED), expression=number(GONE)))
    ctes = [cte("guesses", union_all(tuples)), cte("tests", tests, materialized=True), cte("scored", scored)]
    return with_ctes(query, [*ctes, cte("ranked", ranked)])
