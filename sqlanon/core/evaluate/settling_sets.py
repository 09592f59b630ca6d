"""Bounded knowledge by SQL: rounds over a table of judged classes, until no class falls any more.

The sets stand in tables of some each, so that a statement reads a bounded number of rows: classes times sets. The
rounds are driven from here, by how many classes fell; that the order of the sets changes nothing is shown in
``models.bounded_knowledge``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler import classes_on_sets as compiler
from sqlanon.core.engines.base import Engine
from sqlanon.core.models.bounded_knowledge import BoundedKnowledge
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import bigint, column, count_rows, equal, number, table

SEEN_ROWS = 2_000_000
"""Classes times sets of one statement, which holds some 50 bytes for each."""
MOST_SETS = 1_000
"""Most sets of one statement."""

Set = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JudgedTable:
    """A table of judged classes, whose next version can be put in its place.

    Attributes:
        key_names: the columns by which classes are known.
        columns: all its columns.
        attributes: the quasi-identifiers that sets are formed of.
        parts: gives what a table of sets holds of a set: a number each.
        on_set: what a set leaves of a class, over the columns of ``judged`` and ``known`` (``compiler.part_of_set``).
        current: gives the name of its present version.
        replace: puts the rows of a query in its place.
        monotone: it has no ``min_suppressed``: all that fails does so at every more specific node.
        replayed: the replayable script is to contain the statements.
    """

    engine: Engine
    key_names: Sequence[str]
    columns: Sequence[str]
    attributes: Sequence[int]
    parts: Callable[[Set], Sequence[int]]
    on_set: Sequence[exp.Expr]
    current: Callable[[], str]
    replace: Callable[[exp.Query], None]
    monotone: bool
    replayed: bool = False


def settle_known(judged: JudgedTable, model: BoundedKnowledge) -> bool:
    """Fail the classes outside of the greatest valid set, and return whether there are any that did not fail before.

    First those that fall whatever is suppressed for reasons that may not last: they are certain at every more specific
    node. Then those that fall with all that fails.
    """
    rows, before = _counted(judged)
    tables = list(_loaded(judged, model.at_most, rows))
    if not judged.monotone:
        _fall(judged, tables, model.k, lasting=True)
    _fall(judged, tables, model.k, lasting=False)
    for name in tables:
        judged.engine.drop(name)
    return _counted(judged)[1] > before


def _loaded(judged: JudgedTable, at_most: int, rows: int) -> Iterator[str]:
    """Yield the tables of the maximal sets, which are loaded."""
    attributes = judged.attributes
    sets = enumerate(combinations(attributes, min(at_most, len(attributes))))
    size = max(min(SEEN_ROWS // max(rows, 1), MOST_SETS), 1)
    number_of_table = 0
    while some := list(islice(sets, size)):
        parts = [judged.parts(known) for _, known in some]
        data = {compiler.KNOWN_SET: pa.array([place for place, _ in some], pa.int64())}
        data |= {
            compiler.part_of_set(place): pa.array([part[place] for part in parts], pa.int64())
            for place in range(len(parts[0]))
        }
        name = f"{names.KNOWN_SETS}_{number_of_table}"
        judged.engine.load("sets of attributes", name, pa.table(data), replayed=judged.replayed)
        yield name
        number_of_table += 1


def _fall(judged: JudgedTable, tables: Sequence[str], k: int, *, lasting: bool) -> None:
    """Let classes fall, by some sets after the others, until none of the sets makes any fall.

    Args:
        lasting: count out only the classes that fail at every more specific node, too; what falls does so, as well.
    """
    engine, quiet, place = judged.engine, 0, 0
    while quiet < len(tables):
        query = compiler.fallen(
            judged.current(), tables[place], key_names=judged.key_names, on_set=judged.on_set, lasting=lasting, k=k
        )
        fell = engine.create("fallen classes", names.FALLEN, query, replayed=judged.replayed)
        quiet = 0 if fell else quiet + 1
        if fell:
            judged.replace(
                compiler.without_fallen(
                    judged.current(),
                    names.FALLEN,
                    key_names=judged.key_names,
                    columns=judged.columns,
                    lasting=lasting,
                )
            )
        engine.drop(names.FALLEN)
        place = (place + 1) % len(tables)


def _counted(judged: JudgedTable) -> tuple[int, int]:
    """Return how many classes there are, and how many with records fail."""
    fails = equal(column("fails"), number(1))
    failing = exp.Sum(
        this=exp.Case(
            ifs=[exp.If(this=exp.and_(fails, exp.GT(this=column(names.COUNT), expression=number(0))), true=number(1))],
            default=number(0),
        )
    )
    query = exp.select(count_rows(), bigint(failing)).from_(table(judged.current()))
    [[rows, found]] = judged.engine.run("failing classes", query)
    return int(rows), int(found or 0)
