"""The histories of records: in which releases a record was shown, and in which class, as one number.

A joint audit over all releases in cohorts would read the members of each. Instead, a ledger holds of every record that
was ever shown the number of its history up to the last release, and up to the one before, which can be taken back to.
The next histories follow from the last ones and the members of the new release, and are proven before they are written
(``docs/design/ledger.md``).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, count_distinct, count_rows, equal, is_null, named, number
from sqlanon.errors import AuditError
from sqlanon.ledger.database import LedgerDatabase
from sqlanon.ledger.joint import numbered_persons

HISTORIES = names.PREFIX + "ledger_histories"
"""Table of an engine of a source: the histories that a ledger holds."""


def holds_histories(database: LedgerDatabase, last: int) -> bool:
    """Return whether a ledger holds the histories up to a release; builds before histories wrote none."""
    if not database.has("histories"):
        return False
    count = exp.select(named(count_rows(), "n")).from_(database.table("histories")).where(_of(last))
    return bool(database.engine.run("histories", count)[0][0])


def write_histories(database: LedgerDatabase, new: int, base: int | None, of: Sequence[int]) -> None:
    """Write the histories up to a new release, whose members are written, in the same transaction.

    Args:
        new: its number.
        base: the number of the release that it continues; None for the first.
        of: the numbers of all earlier releases of the source.

    Raises:
        AuditError: they would not be those of its records.
    """
    parts = [members_of(database, earlier) for earlier in of]
    if base is not None and holds_histories(database, base):
        parts = [members_of(database, base, "histories")]
    parts.append(members_of(database, new))
    query = exp.select(exp.convert(new), column("person"), column("history"))
    query = query.from_(numbered_persons(parts, "history").subquery("numbered"))
    database.engine.run("write ledger", exp.insert(query, database.table("histories")))
    if not all(distinguishes(database, new, part) for part in parts):
        raise AuditError(
            "The ledger would not tell the histories of records apart; nothing was published.",
            hint="report this as a defect.",
        )


def distinguishes(database: LedgerDatabase, last: int, part: exp.Expr) -> bool:
    """Return whether histories tell persons apart whose classes in a part of them differ, and the part holds nobody
    without one.

    Args:
        last: the number of the release up to which they go.
        part: ``person`` and ``class``: of one release, or as the number of a history up to a release.
    """
    known = members_of(database, last, "histories")
    both = exp.select(named(column("class", "known"), "history"), column("class", "part")).from_(known.as_("known"))
    met = equal(column("person", "part"), column("person", "known"))
    both = both.join(part.copy(), on=met, join_type="full")
    absent = exp.Coalesce(this=column("class"), expressions=[number(-1)])
    mixed = exp.select(column("history")).from_(both.subquery("both")).group_by(column("history"))
    mixed = mixed.having(exp.or_(is_null(column("history")), exp.GT(this=count_distinct(absent), expression=number(1))))
    count = exp.select(named(count_rows(), "n")).from_(mixed.subquery("mixed"))
    return not database.engine.run("histories", count)[0][0]


def members_of(database: LedgerDatabase, release: int, name: str = "members") -> exp.Subquery:
    """Return the members of a release, or all records by their ``histories`` up to it: ``person`` and ``class``."""
    query = exp.select(column("person"), column("class")).from_(database.table(name))
    return query.where(_of(release)).subquery("part")


def _of(release: int) -> exp.EQ:
    return equal(column("number"), exp.convert(release))
