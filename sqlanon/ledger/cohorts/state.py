"""The state of releases in cohorts, as their ledger holds it: the rows of the last release, and the records that left.

The state of the release before is kept too, until the next release is recorded: so a release that never took its place
can be taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, equal, is_null, named, normal_text, table
from sqlanon.errors import InputError
from sqlanon.ledger.cohorts.histories import write_histories
from sqlanon.ledger.database import OF_COHORTS, LedgerDatabase
from sqlanon.ledger.facts import EarlierRelease

OWN = {"person": names.RECORD, "cohort": names.COHORT, "place": names.NODE_PLACE, "since": names.SINCE}
"""The columns of a row that is shown, beside its cells: as the ledger calls them, and as a source's engine does."""
ERASED = 0
"""The number under which the records stand that are to be erased."""
SUPERSEDED = ("shown", "departed", "histories")
"""The tables of which a ledger holds what the last release leaves behind, and the one before."""
NEW_ROWS, NEW_DEPARTED = NEW_STATE = names.PREFIX + "new_rows", names.PREFIX + "new_departed"
"""Tables of the ledger's own engine from which a state is written."""


@dataclass(frozen=True, slots=True)
class CohortState:
    """The state that a release in cohorts leaves behind for the next one.

    Attributes:
        base: the number of the release that it continues; None for the first.
        rows: the rows that it shows, with the columns of ``OWN``; all others are cells, as texts.
        departed: the digests of the records that left with this release, or never will be shown (``person``).
    """

    base: int | None
    rows: pa.Table
    departed: pa.Table


def load_new_state(database: LedgerDatabase, state: CohortState, of: Sequence[int], source: str) -> list[int]:
    """Load a state into the ledger's engine, and return the numbers under which writing it changes rows.

    Args:
        of: the numbers of the releases of a source.
        source: its name.
    """
    for name, rows in ((NEW_ROWS, state.rows), (NEW_DEPARTED, state.departed)):
        database.engine.load("state of a release", name, rows, replayed=False)
    if not database.has("shown"):
        return [ERASED]
    outdated: set[int] = set() if state.base is None else {state.base}
    for name in [name for name in SUPERSEDED if database.has(name)]:
        numbers = exp.select(column("number")).distinct().from_(database.table(name)).where(_outdated(state, of))
        outdated |= {int(row[0]) for row in database.engine.run("states", numbers)}
    return [ERASED, *(of if _to_be_forgotten(database, source) else sorted(outdated))]


def _outdated(state: CohortState, of: Sequence[int]) -> exp.Expr:
    """Return the condition on rows that a new state makes superfluous."""
    others = [number for number in of if number != state.base]
    return column("number").isin(*others) if others else exp.false()


def write_state(database: LedgerDatabase, number: int, state: CohortState, of: Sequence[int], source: str) -> None:
    """Write the state of a release down, in a transaction that writes its entry; see ``load_new_state``."""
    engine = database.engine
    database.make_tables(name for name in OF_COHORTS if not database.has(name))
    if state.base is not None:  # who left before stands under the number of the base, which a run looks at
        held = exp.Where(this=_outdated(state, of))
        moved = exp.Update(
            this=database.table("departed"),
            expressions=[equal(column("number"), exp.convert(state.base))],
            where=held,
        )
        engine.run("write ledger", moved)
    write_histories(database, number, state.base, of)
    for name in ("shown", "histories"):
        superfluous = exp.Delete(this=database.table(name), where=exp.Where(this=_outdated(state, of)))
        engine.run("write ledger", superfluous)
    own = [exp.cast(column(kept), "UUID") if name == "person" else column(kept) for name, kept in OWN.items()]
    cells = [column(name) for name in state.rows.schema.names if name not in OWN.values()]
    packed = exp.cast(exp.Anonymous(this="TO_JSON", expressions=[exp.Array(expressions=cells)]), "VARCHAR")
    query = exp.select(exp.convert(number), *own, packed).from_(table(NEW_ROWS))
    engine.run("write ledger", exp.insert(query, database.table("shown")))
    left = exp.select(exp.convert(number), exp.cast(column("person"), "UUID")).distinct().from_(table(NEW_DEPARTED))
    engine.run("write ledger", exp.insert(left, database.table("departed")))
    _forget_erased(database, [*of, number], source)


def _to_be_forgotten(database: LedgerDatabase, source: str) -> list[str]:
    """Return the digests of erased records by which the releases of a source still know them."""
    known = exp.select(column("person")).distinct().from_(database.table("erased"))
    known = known.where(erased_of(source), equal(column("known"), exp.true()))
    return [str(row[0]) for row in database.engine.run("read ledger", known)]


def _forget_erased(database: LedgerDatabase, numbers: Sequence[int], source: str) -> None:
    """Give erased records random digests in all releases: they are counted as before, and nobody knows them again.

    The list of erased records alone keeps their digests, so that they stay away if the source has them again. It holds
    the random ones too (``known`` is NULL) while a state that may be taken back shows them.
    """
    erased, person = database.table("erased"), column("person")
    shown = exp.select(person).from_(database.table("shown")).where(column("number").isin(*numbers))
    outdated = exp.and_(erased_of(source), is_null(column("known")), exp.Not(this=person.isin(query=shown)))
    database.engine.run("write ledger", exp.Delete(this=erased, where=exp.Where(this=outdated)))
    for digest in _to_be_forgotten(database, source):
        old, new = (exp.cast(exp.Literal.string(text), "UUID") for text in (digest, str(uuid4())))
        for name in ("members", "sensitive", "shown", "departed", "histories", "erased"):
            within = column("number").isin(*numbers) if name != "erased" else erased_of(source)
            change = equal(person, new) if name != "erased" else equal(column("known"), exp.false())
            met = exp.and_(equal(person, old), within)
            changed = exp.Update(this=database.table(name), expressions=[change], where=exp.Where(this=met))
            database.engine.run("write ledger", changed)
        database.insert("erased", (ERASED, normal_text(source), new.this.this, None))


def load_state(
    database: LedgerDatabase, engine: Engine, last: EarlierRelease, cells: Sequence[str], of: Sequence[int]
) -> None:
    """Load the state of the last release into the engine of a source (``names.SHOWN``, ``LEFT`` and ``ERASED``).

    Args:
        cells: the published columns, in order.
        of: the numbers of the releases of the source.

    Raises:
        InputError: the ledger does not hold all rows of that release.
    """
    listed = exp.Anonymous(this="FROM_JSON", expressions=[column("cells"), exp.Literal.string('["VARCHAR"]')])
    own = [named(_digits("person") if name == "person" else column(name), kept) for name, kept in OWN.items()]
    unpacked = exp.select(*map(column, OWN), named(listed, "listed")).from_(database.table("shown"))
    unpacked = unpacked.where(equal(column("number"), exp.convert(last.number)))
    values = [
        named(exp.Anonymous(this="LIST_EXTRACT", expressions=[column("listed"), exp.convert(place)]), name)
        for place, name in enumerate(cells, 1)
    ]
    own.insert(1, named(_digits("person"), names.PERSON))
    rows = exp.select(*values, *own).from_(unpacked.subquery("unpacked"))
    data = database.engine.arrow("read ledger", rows) if database.has("shown") else None
    if data is None or data.num_rows != last.entry.persons:
        raise InputError(
            f"The ledger does not hold the rows of release {last.number}, which the next one has to continue.",
            hint="restore the newest copy of the ledger; or begin another one, if nobody has its releases.",
        )
    engine.drop(names.SHOWN)
    engine.load("rows of the last release", names.SHOWN, data, replayed=False)
    erased = exp.select(named(_digits("person"), names.RECORD)).from_(database.table("erased"))
    erased = erased.where(erased_of(last.entry.source))
    engine.drop(names.ERASED)
    engine.load("erased records", names.ERASED, database.engine.arrow("read ledger", erased), replayed=False)
    departed = exp.select(named(_digits("person"), names.RECORD)).from_(database.table("departed"))
    left = exp.union(departed.where(column("number").isin(*of)), erased)
    engine.drop(names.LEFT)
    engine.load("records that left", names.LEFT, database.engine.arrow("read ledger", left), replayed=False)


def erased_of(source: str) -> exp.Expr:
    """Return the condition on rows of ``erased`` that they are of a source, and stand where they are sealed."""
    of_source = equal(column("source"), exp.Literal.string(normal_text(source)))
    return exp.and_(equal(column("number"), exp.convert(ERASED)), of_source)


def shown_digests(database: LedgerDatabase, number: int) -> set[str]:
    """Return the digests of the records that a release in cohorts shows."""
    return persons_of(database, "shown", equal(column("number"), exp.convert(number)))


def persons_of(database: LedgerDatabase, name: str, *where: exp.Expr) -> set[str]:
    """Return the digests in a table of a ledger, of all rows or of some."""
    query = exp.select(_digits("person")).distinct().from_(database.table(name)).where(*where)
    return {str(row[0]) for row in database.engine.run("read ledger", query)}


def write_erased(database: LedgerDatabase, source: str, digests: Iterable[str]) -> None:
    """Write down, in a transaction, that records of a source are to be erased."""
    database.make_tables(name for name in OF_COHORTS if not database.has(name))
    for digest in digests:
        database.insert("erased", (ERASED, normal_text(source), digest, True))


def _digits(name: str) -> exp.Expr:
    """Return a digest as the engine of a source has it: 32 digits."""
    text = exp.cast(column(name), "VARCHAR")
    return exp.Replace(this=text, expression=exp.Literal.string("-"), replacement=exp.Literal.string(""))
