"""The statements of a release whose records are published by several rules: its rows, and its classes.

A rule is a node; the relation ``rules`` holds its levels, and ``assigned`` says which rule publishes a row type (or, of
a row type that is split among rules, which of its records). What is published of a value is the text of its lookup at
the level of the rule::

    CASE rules.level_0 WHEN 0 THEN lookup_0.level_0 WHEN 3 THEN lookup_0.level_3 END
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.compiler.encode import COVERED, SOURCE, EncodedColumn, joined_lookups, packed, takes_part
from sqlanon.compiler.release import typed
from sqlanon.lattice.catalog import Catalog
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import both, column, cte, equal, keys, masked, named, number, table, total, with_ctes

Levels = Sequence[Sequence[int]]
"""Per quasi-identifier, the levels at which some rule publishes it."""
RECORDS, ASSIGNED, RULES, CHANCE, PLACE = "records", "assigned", "rules", "chance", "place"


def recoded_release(
    source: exp.Expr,
    items: Sequence[EncodedColumn],
    catalog: Catalog,
    levels: Levels,
    *,
    basic: bool,
    published: Mapping[str, str],
    split: bool,
) -> exp.Query:
    """The rows of a release: every record that a rule publishes, at the levels of the rule.

    Args:
        published: the columns of the release and their types, in order.
        split: records of one row type may be published by different rules; which of them is left to chance.
    """
    quasi = [item for item in items if not item.sensitive]
    words = range(catalog.words)
    texts = [
        [named(column(names.level(level), names.lookup(position)), _text(position, level)) for level in used]
        for position, used in enumerate(levels)
    ]
    key = [named(exp.paren(packed(quasi, word)), names.key(word)) for word in words]
    projections = [item for column_texts in texts for item in column_texts] + key
    passed = [name for name in published if name not in {item.name for item in quasi}]
    projections += [named(column(name, SOURCE), f"column_{index}") for index, name in enumerate(passed)]
    if split:
        projections.append(named(exp.Rand(), CHANCE))
    records: exp.Query = joined_lookups(source, quasi, projections).where(takes_part(quasi, basic), copy=False)
    if split:  # a window cannot be ordered by a call of RANDOM()
        order = exp.Order(expressions=[exp.Ordered(this=column(CHANCE))])
        place = exp.Window(this=exp.RowNumber(), partition_by=keys(catalog.words), order=order)
        records = exp.select(exp.Star(), named(place, PLACE)).from_(records.subquery("drawn"))
    values: dict[str, exp.Expr] = {
        item.name: _published(position, levels[position], RECORDS) for position, item in enumerate(quasi)
    }
    values |= {name: column(f"column_{index}", RECORDS) for index, name in enumerate(passed)}
    same_key: list[exp.Expr] = [
        equal(left, right)
        for left, right in zip(keys(catalog.words, RECORDS), keys(catalog.words, ASSIGNED), strict=True)
    ]
    if split:
        low, high = (column(name, ASSIGNED) for name in (names.STRETCH_FIRST, names.STRETCH_LAST))
        same_key.append(exp.Between(this=column(PLACE, RECORDS), low=low, high=high))
    query = (
        exp.select(
            *[
                named(typed(values[name], type_name, generalized=name not in passed), name)
                for name, type_name in published.items()
            ]
        )
        .from_(table(RECORDS))
        .join(table(names.ASSIGNED, ASSIGNED), on=both(same_key))
        .join(table(names.RULES, RULES), on=_same_rule())
    )
    return with_ctes(query, [cte(RECORDS, records)])


def published_classes(catalog: Catalog, levels: Levels) -> exp.Query:
    """The classes of the release: the published texts (``text_<i>``) and ``n``, from the assigned row types.

    Classes of two rules that read alike are one.
    """
    query = exp.select(*[named(_published(i, used, _lookup(i)), f"text_{i}") for i, used in enumerate(levels)])
    query = query.select(column(names.COUNT, ASSIGNED)).from_(table(names.ASSIGNED, ASSIGNED))
    query = query.join(table(names.RULES, RULES), on=_same_rule())
    for position, used in enumerate(levels):
        bits = [(w, mask) for w in range(catalog.words) if (mask := catalog.attributes[position].mask(0, w))]
        texts = (
            exp.select(*[column(names.key(w)) for w, _ in bits])
            .select(*[named(column(names.level(level)), _text(position, level)) for level in used])
            .distinct()
            .from_(table(names.lookup(position)))
            .where(equal(column(COVERED), number(1)))
        )
        met = [
            equal(masked(column(names.key(w), ASSIGNED), number(mask)), column(names.key(w), _lookup(position)))
            for w, mask in bits
        ]
        query = query.join(texts.subquery(_lookup(position)), on=both(met))
    grouped = exp.select(*[column(f"text_{i}") for i in range(len(levels))])
    grouped = grouped.select(named(total(column(names.COUNT)), names.COUNT)).from_(query.subquery("rows"))
    return grouped.group_by(*[column(f"text_{i}") for i in range(len(levels))]) if levels else grouped


def class_facts(catalog: Catalog, levels: Levels) -> exp.Select:
    """One row about the classes of the release: how many, records, the smallest and the largest."""
    n = column(names.COUNT)
    some = exp.GT(this=n.copy(), expression=number(0))
    return (
        exp.select(exp.Count(this=exp.Star()), total(n), exp.Min(this=n.copy()), exp.Max(this=n.copy()))
        .from_(published_classes(catalog, levels).subquery("classes"))
        .where(some)
    )


def _published(position: int, levels: Sequence[int], owner: str) -> exp.Expr:
    """What is published of a value, by the level of its rule."""
    if len(levels) == 1:
        return column(_text(position, levels[0]), owner)
    cases = [exp.If(this=number(level), true=column(_text(position, level), owner)) for level in levels]
    return exp.Case(this=column(names.level(position), RULES), ifs=cases)


def _same_rule() -> exp.Expr:
    return equal(column(names.RULE, ASSIGNED), column(names.RULE, RULES))


def _text(position: int, level: int) -> str:
    return f"text_{position}_{level}"


def _lookup(position: int) -> str:
    return f"texts_{position}"
