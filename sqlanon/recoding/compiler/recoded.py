"""The statements of a release whose records several rules publish: its rows, and its classes.

A rule is a node; the relation ``rules`` holds its levels, and ``assigned`` which rule publishes a row type (or, of
a row type that is split among rules, which of its records). What is published of a value is the text of its lookup at
the level of the rule::

    CASE rules.level_0 WHEN 0 THEN lookup_0.level_0 WHEN 3 THEN lookup_0.level_3 END
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import COVERED, SOURCE, EncodedSource
from sqlanon.core.compiler.release import typed
from sqlanon.core.compiler.travelling import NO_TRAVELLING, TravellingColumn
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
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

text_column = names.namer("text")
"""Name of the column of the published text of the quasi-identifier at a position."""
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
    coded: bool = False,
    travelling: Mapping[str, TravellingColumn] = NO_TRAVELLING,
    values: Mapping[str, str] = MappingProxyType({}),
) -> exp.Query:
    """Return the rows of a release: every record that a rule publishes, at the levels of the rule.

    Args:
        published: the columns of the release and their types, in order.
        travelling: published columns that are blank where another is generalized further.
        split: records of one row type may be published by different rules; which of them is left to chance.
        coded: records with different sensitive values are of different row types.
        values: columns of the source whose own values the rows hold besides, under other names.
    """
    quasi, words = source.quasi, range(catalog.words)
    passed = [name for name in published if name not in {item.name for item in quasi.items}]
    cells: dict[str, exp.Expr] = {
        item.name: _published(position, levels[position], RECORDS) for position, item in enumerate(quasi.items)
    }
    for index, name in enumerate(passed):
        cells[name] = column(f"column_{index}", RECORDS)
        if (item := travelling.get(name)) is not None:
            level = column(names.level(item.position), RULES)
            cells[name] = item.value(cells[name], published[name], levels[item.position], level)
    same_key: list[exp.Expr] = [
        equal(column(names.key(word), RECORDS), column(names.key(word), ASSIGNED)) for word in words
    ]
    if split:
        low, high = (column(name, ASSIGNED) for name in (names.STRETCH_FIRST, names.STRETCH_LAST))
        same_key.append(exp.Between(this=column(PLACE, RECORDS), low=low, high=high))
    shown: list[exp.Expr] = [
        named(typed(cells[name], type_name, generalized=name not in passed), name)
        for name, type_name in published.items()
    ]
    shown += [column(alias, RECORDS) for alias in values.values()]
    query = (
        exp.select(*shown)
        .from_(table(RECORDS))
        .join(table(names.ASSIGNED, ASSIGNED), on=both(same_key))
        .join(table(names.RULES, RULES), on=_same_rule())
    )
    own = [named(column(name, SOURCE), f"column_{index}") for index, name in enumerate(passed)]
    own += [named(column(name, SOURCE), alias) for name, alias in values.items()]
    records = _keyed_records(source if coded else quasi, catalog, levels, own, split=split)
    return with_ctes(query, [cte(RECORDS, records)])


def _keyed_records(
    keyed: EncodedSource, catalog: Catalog, levels: Levels, own: Sequence[exp.Expr], *, split: bool
) -> exp.Query:
    """Return ``records``: the texts of each record at the levels of all rules, its key, and columns of its ``own``.

    Where row types are ``split`` among rules, the records of each have a place, which chance draws.
    """
    projections: list[exp.Expr] = [
        named(column(names.level(level), names.lookup(position)), _text(position, level))
        for position, used in enumerate(levels)
        for level in used
    ]
    projections += [*as_keys(exp.paren(keyed.packed(word)) for word in range(catalog.words)), *own]
    if not split:
        return keyed.encoded(projections)
    records = keyed.encoded([*projections, named(exp.Rand(), CHANCE)])
    order = exp.Order(expressions=[exp.Ordered(this=column(CHANCE))])  # a window takes no call of RANDOM()
    place = exp.Window(this=exp.RowNumber(), partition_by=keys(catalog.words), order=order)
    return exp.select(exp.Star(), named(place, PLACE)).from_(records.subquery("drawn"))


def published_classes(catalog: Catalog, levels: Levels) -> exp.Query:
    """Return the classes of the release: the published texts (``text_<i>``) and ``n``, from the assigned row types.

    Classes of two rules that read alike are one.
    """
    query = with_texts(catalog, levels, table(names.ASSIGNED, ASSIGNED), table(names.RULES, RULES))
    query = query.select(column(names.COUNT, ASSIGNED))
    texts = [column(text_column(i)) for i in range(len(levels))]
    grouped = exp.select(*texts, named(total(column(names.COUNT)), names.COUNT)).from_(query.subquery("rows"))
    return grouped.group_by(*[text.copy() for text in texts]) if texts else grouped


def with_texts(catalog: Catalog, levels: Levels, assigned: exp.Expr, rules: exp.Expr) -> exp.Select:
    """Return the published texts of row types: ``text_<i>`` of every quasi-identifier.

    Args:
        assigned: row types under the name ``ASSIGNED``, each with its key and rule.
        rules: the levels of the rules, under the name ``RULES``.
    """
    query = exp.select(*[named(_published(i, used, _lookup(i)), text_column(i)) for i, used in enumerate(levels)])
    query = query.from_(assigned).join(rules, on=_same_rule())
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
    return query


def class_facts(catalog: Catalog, levels: Levels) -> exp.Select:
    """Return one row about the classes of the release: how many, records, the smallest and the largest."""
    size = column(names.COUNT)
    facts = exp.select(count_rows(), total(size), exp.Min(this=size.copy()), exp.Max(this=size.copy()))
    classes = published_classes(catalog, levels).subquery("classes")
    return facts.from_(classes).where(exp.GT(this=size.copy(), expression=number(0)))


def _published(position: int, levels: Sequence[int], owner: str) -> exp.Expr:
    """Return the published text of a value, by the level of its rule."""
    if len(levels) == 1:
        return column(_text(position, levels[0]), owner)
    cases = [exp.If(this=number(level), true=column(_text(position, level), owner)) for level in levels]
    return exp.Case(this=column(names.level(position), RULES), ifs=cases)


def _same_rule() -> exp.Expr:
    return equal(column(names.RULE, ASSIGNED), column(names.RULE, RULES))


def _text(position: int, level: int) -> str:
    return f"text_{position}_{level}"
