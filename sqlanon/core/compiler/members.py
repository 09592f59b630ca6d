"""Who is in which class of a release: the rows with their persons, as a ledger of releases knows both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import EntityColumn
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import bigint, both, canonical, column, equal, named, number, same, table, union_all

ROWS, PERSONS = "rows", "persons"


def numbered_rows(rows: exp.Expr, quasi: Sequence[str], types: Mapping[str, str]) -> exp.Select:
    """Return released rows with ``names.LEDGER_CLASS``: rows that agree in all published quasi-identifiers have one
    number, and no others.

    Args:
        types: of the published columns.
    """
    texts = [exp.Ordered(this=canonical(name, types[name])) for name in quasi]
    rank = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=texts)) if texts else number(1)
    return exp.select(exp.Star(), named(bigint(rank), names.LEDGER_CLASS)).from_(rows.copy())


def members(rows: exp.Expr, entity: EntityColumn) -> exp.Select:
    """Return ``person`` and ``class`` of rows that were numbered, each pair once."""
    query = exp.select(column("person", PERSONS), named(column(names.LEDGER_CLASS, ROWS), "class")).distinct()
    return _with_persons(query, rows, entity)


def rows_of_members(rows: exp.Expr, entity: EntityColumn) -> exp.Select:
    """Return rows that were numbered, with their persons as ``names.PERSON``."""
    every = exp.Column(this=exp.Star(), table=exp.to_identifier(ROWS, quoted=True))
    return _with_persons(exp.select(every, named(column("person", PERSONS), names.PERSON)), rows, entity)


def _with_persons(query: exp.Select, rows: exp.Expr, entity: EntityColumn) -> exp.Select:
    own = EntityColumn(names.ENTITY, entity.type).text(ROWS)
    return query.from_(_aliased(rows)).join(
        table(names.LEDGER_PERSONS, PERSONS), on=equal(own, column("value", PERSONS)), copy=False
    )


def _aliased(rows: exp.Expr) -> exp.Expr:
    return exp.select(exp.Star()).from_(rows.copy()).subquery(ROWS)


def sensitive_texts(rows: exp.Expr, sensitive: Mapping[str, str]) -> exp.Query:
    """Return the distinct values of sensitive columns: ``attribute`` and the canonical ``text``.

    Args:
        sensitive: the columns with their types.
    """
    return union_all(
        [
            exp.select(named(_name(name), "attribute"), named(canonical(name, kind), "text"))
            .distinct()
            .from_(rows.copy())
            for name, kind in sensitive.items()
        ]
    )


def member_values(rows: exp.Expr, entity: EntityColumn, sensitive: Mapping[str, str]) -> exp.Query:
    """Return ``person``, ``attribute`` and the digest ``value`` of their sensitive values, each once."""
    found = []
    for name, kind in sensitive.items():
        of_text = same(canonical(name, kind, ROWS), column("text", "digests"))
        met = both([equal(column("attribute", "digests"), _name(name)), of_text])
        query = exp.select(
            column("person", PERSONS), named(_name(name), "attribute"), column("value", "digests")
        ).distinct()
        query = _with_persons(query, rows, entity)
        found.append(query.join(table(names.LEDGER_VALUES, "digests"), on=met))
    return union_all(found)


def _name(name: str) -> exp.Expr:
    return exp.cast(exp.Literal.string(name), "VARCHAR")
