"""The statements of a release whose records several rules publish: its rows, and its classes.

A rule is a node; the relation ``rules`` holds its levels, and ``assigned`` which rule publishes a row type (or, of
a row type that is split among rules, which of its records). What is published of a value is the text of its lookup at
the level of the rule::

    CASE rules.level_0 WHEN 0 THEN lookup_0.level_0 WHEN 3 THEN lookup_0.level_3 END
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.compiler.encoded_source import COVERED, SOURCE, EncodedSource
from sqlanon.compiler.release import typed
from sqlanon.lattice.catalog import Catalog
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import (
    as_keys,
    both,
    column,
    count_rows,
    cte,
    equal,
    keys,
    lookup_rows,
    masked,
    named,
    number,
    table,
    total,
    with_ctes,
)

Levels = Sequence[Sequence[int]]
"""Per quasi-identifier, the levels at which some rule publishes it."""
_lookup = names.namer("texts")
"""Name of the relation of the published texts of the quasi-identifier at a position."""
RECORDS, ASSIGNED, RULES, CHANCE, PLACE = "records", "assigned", "rules", "chance", "place"


def recoded_release(
    source: EncodedSource,
    catalog: Catalog,
    levels: Levels,
    *,
    published: Mapping[str, str],
    split: bool,
) -> exp.Query:
    """Return the rows of a release: every record that a rule publishes, at the levels of the rule.

    Args:
        published: the columns of the release and their types, in order.
        split: records of one row type may be published by different rules; which of them is left to chance.
    """
    quasi = source.quasi
    words = range(catalog.words)
    projections = [
        named(column(names.level(level), names.lookup(position)), _text(position, level))
        for position, used in enumerate(levels)
        for level in used
    ]
    projections += as_keys(exp.paren(quasi.packed(word)) for word in words)
    passed = [name for name in published if name not in {item.name for item in quasi.items}]
    projections += [named(column(name, SOURCE), f"column_{index}") for index, name in enumerate(passed)]
    if split:
        projections.append(named(exp.Rand(), CHANCE))
    records: exp.Query = quasi.encoded(projections)
    if split:  # a window cannot be ordered by a call of RANDOM()
        order = exp.Order(expressions=[exp.Ordered(this=column(CHANCE))])
        place = exp.Window(this=exp.RowNumber(), partition_by=keys(catalog.words), order=order)
        records = exp.select(exp.Star(), named(place, PLACE)).from_(records.subquery("drawn"))
    values: dict[str, exp.Expr] = {
        item.name: _published(position, levels[position], RECORDS) for position, item in enumerate(quasi.items)
    }
    values |= {name: column(f"column_{index}", RECORDS) for index, name in enumerate(passed)}
    same_key: list[exp.Expr] = [
        equal(column(names.key(word), RECORDS), column(names.key(word), ASSIGNED)) for word in words
    ]
    if split:
        low, high = (column(name, ASSIGNED) for name in (names.STRETCH_FIRST, names.STRETCH_LAST))
        same_key.append(exp.Between(this=column(PLACE, RECORDS), low=low, high=high))
    shown = [
        named(typed(values[name], type_name, generalized=name not in passed), name)
        for name, type_name in published.items()
    ]
    query = (
        exp.select(*shown)
        .from_(table(RECORDS))
        .join(table(names.ASSIGNED, ASSIGNED), on=both(same_key))
        .join(table(names.RULES, RULES), on=_same_rule())
    )
    return with_ctes(query, [cte(RECORDS, records)])


def published_classes(catalog: Catalog, levels: Levels) -> exp.Query:
    """Return the classes of the release: the published texts (``text_<i>``) and ``n``, from the assigned row types.

    Classes of two rules that read alike are one.
    """
    query = exp.select(*[named(_published(i, used, _lookup(i)), f"text_{i}") for i, used in enumerate(levels)])
    query = query.select(column(names.COUNT, ASSIGNED)).from_(table(names.ASSIGNED, ASSIGNED))
    query = query.join(table(names.RULES, RULES), on=_same_rule())
    for position, used in enumerate(levels):
        bits = [(w, mask) for w in range(catalog.words) if (mask := catalog.attributes[position].mask(0, w))]
        lookup = (
            exp.select(*[column(names.key(w)) for w, _ in bits])
            .select(*[named(column(names.level(level)), _text(position, level)) for level in used])
            .distinct()
            .from_(lookup_rows(position))
            .where(equal(column(COVERED), number(1)))
        )
        met = [
            equal(masked(column(names.key(w), ASSIGNED), number(mask)), column(names.key(w), _lookup(position)))
            for w, mask in bits
        ]
        query = query.join(lookup.subquery(_lookup(position)), on=both(met))
    texts = [column(f"text_{i}") for i in range(len(levels))]
    grouped = exp.select(*texts, named(total(column(names.COUNT)), names.COUNT)).from_(query.subquery("rows"))
    return grouped.group_by(*[text.copy() for text in texts]) if texts else grouped


def class_facts(catalog: Catalog, levels: Levels) -> exp.Select:
    """Return one row about the classes of the release: how many, records, the smallest and the largest."""
    size = column(names.COUNT)
    facts = exp.select(count_rows(), total(size), exp.Min(this=size.copy()), exp.Max(this=size.copy()))
    classes = published_classes(catalog, levels).subquery("classes")
    return facts.from_(classes).where(exp.GT(this=size.copy(), expression=number(0)))


def _published(position: int, levels: Sequence[int], owner: str) -> exp.Expr:
    """Return what is published of a value, by the level of its rule."""
    if len(levels) == 1:
        return column(_text(position, levels[0]), owner)
    cases = [exp.If(this=number(level), true=column(_text(position, level), owner)) for level in levels]
    return exp.Case(this=column(names.level(position), RULES), ifs=cases)


def _same_rule() -> exp.Expr:
    return equal(column(names.RULE, ASSIGNED), column(names.RULE, RULES))


def _text(position: int, level: int) -> str:
    return f"text_{position}_{level}"
