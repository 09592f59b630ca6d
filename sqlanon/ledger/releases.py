"""The ledger of releases of a run: who had which class in earlier releases, and what is written down of a new one.

A person is known by the first 32 digits of HMAC-SHA-256 of the canonical text of the entity or of the record key, under
a key of the ledger's own purpose, computed in the database of the source. A class has a number, and no value.

A release is written down before it takes its place, as ``pending``, and confirmed after. So a release that is out is
in the ledger, wherever its run was killed. One that is in the ledger may not be out: it counts all the same, until it
is seen at its place (``settle``) or forgotten by a person (``sqlanon ledger forget``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlanon.compiler.encoded_source import EntityColumn
from sqlanon.compiler.keyed import MEMBER, MEMBER_VALUE, persons_by_key, pseudonym, release_key
from sqlanon.engines.base import Engine
from sqlanon.errors import InputError
from sqlanon.ledger.database import FORMAT, LedgerDatabase
from sqlanon.ledger.facts import PENDING, PUBLISHED, EarlierRelease, ReleaseEntry, in_one_hand
from sqlanon.ledger.settling import NEVER_STOOD, STANDS, fates
from sqlanon.policy.key import Key
from sqlanon.source.release_key import ReleaseKey
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import column, count_distinct, count_if, count_rows, equal, is_null, named, table

CONTEXT = "sqlanon ledger of releases"
"""The keys of a ledger are derived with it, so that they are the same for every release, and those of no pseudonym."""
CHECK = "ledger check"
"""The purpose of the key whose digits a ledger holds, to know its key again."""
LOADED = names.PREFIX + "loaded_"
"""Tables of the ledger's own engine from which rows are written: this, and what the ledger calls them."""


@dataclass(slots=True)
class ReleaseLedger:
    """An open ledger, locked until ``close``.

    Attributes:
        database: its file; there may be none before the first release is recorded.
        source: the name of the source that is released of.
        person_column: the column by which its persons are known.
        recipient, colludes: of the new release.
    """

    database: LedgerDatabase
    source: str
    person_column: str
    recipient: str | None
    colludes: str | tuple[str, ...]
    _key: ReleaseKey
    _loaded: set[tuple[int, str]] = field(default_factory=set)

    @classmethod
    def open(
        cls,
        path: Path,
        key: Key,
        *,
        source: str,
        person_column: str,
        recipient: str | None = None,
        colludes: str | tuple[str, ...] = "all",
    ) -> ReleaseLedger:
        """Open and lock a ledger; a file that is not there is an empty ledger, and is created by the first release.

        Raises:
            InputError: the key cannot be read, the file is no ledger, others may read it, it was written with another
                key, another run works with it, or it knows the persons of this source by another column.
        """
        own = ReleaseKey(key.secret(), CONTEXT)
        database = LedgerDatabase.claim(path)
        try:
            found = cls(database, source, person_column, recipient, colludes, own)
            if database.exists:
                database.attach()
                found._check_key()
                found._check_column()
                found._settle()
            return found
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Free the ledger; what was recorded is on the disk."""
        self.database.close()

    def _digits_of_key(self) -> str:
        return self._key.key_for(CHECK).hex()

    def _check_key(self) -> None:
        if self.database.facts().get("key") != self._digits_of_key():
            raise InputError(
                f"The ledger {self.database.path.name!r} was written with another key, so that no person would be "
                "known again.",
                hint="give the key of its first release; a ledger whose key is lost cannot be continued.",
            )

    def _check_column(self) -> None:
        others = {item.entry.person_column for item in self.releases() if item.entry.source == self.source}
        if others - {self.person_column}:
            raise InputError(
                f"The ledger knows the persons of this source by the column {min(others)!r}, and the policy by "
                f"{self.person_column!r}: none would be known again.",
                hint="name the same column as before (ledger.record, or entity), or begin another ledger.",
            )

    def check_kind(self, kind: str) -> None:
        """Raise InputError if earlier releases of the source knew its persons by keys of another kind."""
        own = [item.entry.person_type for item in self.releases() if item.entry.source == self.source]
        if others := {before for before in own if before} - {kind}:
            raise InputError(
                f"The column {self.person_column!r} is of type {kind}, and was of type {min(others)} in an earlier "
                "release: equal keys would read differently, and nobody would be known again.",
                hint="cast it to the type that it had, in a view of the source; or begin another ledger.",
            )

    def _settle(self) -> None:
        """Confirm or take back the pending releases of which a file shows what became of them."""
        for number, fate in fates(self.releases()).items():
            if fate == STANDS:
                self.confirm(number)
            elif fate == NEVER_STOOD:
                self.withdraw(number)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know of the ledger."""
        releases, earlier = self.releases(), self.earlier()
        found = []
        if pending := [item for item in earlier if item.state == PENDING]:
            found.append(
                f"{len(pending)} releases in the ledger are pending: their runs ended before it was confirmed that "
                "they took their place. They count as published; `sqlanon ledger forget` drops what never was."
            )
        others = {item.entry.source for item in releases} - {self.source}
        if others:
            found.append(
                f"The ledger holds releases of {len(others)} other sources, which this one is not judged together "
                "with. Give a source that changes its path or table one name: ledger: {…, source: NAME}."
            )
        return tuple(found)

    # -- what was released ---------------------------------------------------------------------------------------------

    def releases(self) -> tuple[EarlierRelease, ...]:
        """Return all releases of the ledger, in the order in which they were recorded."""
        return read_releases(self.database)

    def earlier(self) -> tuple[EarlierRelease, ...]:
        """Return the releases of this source that somebody may have beside the new one; pending ones count."""
        own = [item for item in self.releases() if item.entry.source == self.source]
        return tuple(item for item in own if self._meets(item.entry, [other.entry for other in own]))

    def _meets(self, entry: ReleaseEntry, among: Iterable[ReleaseEntry]) -> bool:
        return in_one_hand(replace(entry, recipient=self.recipient, colludes=self.colludes), entry, among)

    def check_persons(self, engine: Engine, relation: exp.Expr, type_name: str, *, once: bool) -> None:
        """Check that every record of a source has a person; if ``once``, one of its own.

        Raises:
            InputError: some records have none, or two have one key.
        """
        name = self.person_column
        missing, text = count_if(is_null(column(name))), EntityColumn(name, type_name).text()
        counts = [named(item, f"count_{i}") for i, item in enumerate((missing, count_rows(), count_distinct(text)))]
        nobodys, records, different = engine.run("persons of records", exp.select(*counts).from_(relation.copy()))[0]
        if nobodys:
            raise InputError(
                f"The column {name!r}, by which a ledger knows persons, is NULL in {nobodys} records.",
                hint="fill it in, or leave such records out in a view of the source.",
            )
        if once and records != different:
            raise InputError(
                f"The column {name!r} is no record key: {records} records have {different} different values.",
                hint="name a column in which each record has a value of its own, or name persons: entity.",
            )

    def load_persons(self, engine: Engine, relation: exp.Expr, type_name: str) -> exp.Expr:
        """Load the persons of the source into its engine, and return the table: ``value`` and ``person``.

        ``value`` is what ``EntityColumn(person_column, type_name).text()`` is equal to.
        """
        query = persons_by_key(relation, EntityColumn(self.person_column, type_name), MEMBER)
        shown = exp.select(column("value"), named(column("pseudonym"), "person")).from_(query.subquery("keyed"))
        with self._key.loaded(engine, [MEMBER]):
            engine.create("persons of the ledger", names.LEDGER_PERSONS, shown, replayed=False)
        return table(names.LEDGER_PERSONS)

    def load_members(self, engine: Engine, release: EarlierRelease) -> exp.Expr:
        """Load the members of an earlier release into an engine, and return the table: ``person`` and ``class``.

        Who has no row was absent. With an entity a person has a row a class.
        """
        return self._carry(engine, names.ledger_members(release.number), "members", release, ["class"])

    def load_values(self, engine: Engine, release: EarlierRelease) -> exp.Expr:
        """Load the digests of the sensitive values of an earlier release, and return the table: ``person``,
        ``attribute`` and ``value`` (NULL is NULL)."""
        return self._carry(engine, names.ledger_sensitive(release.number), "sensitive", release, ["attribute", "value"])

    def _carry(self, engine: Engine, into: str, name: str, release: EarlierRelease, columns: Iterable[str]) -> exp.Expr:
        if (id(engine), into) not in self._loaded:
            texts = [_digits(item) if item in ("person", "value") else column(item) for item in ("person", *columns)]
            query = exp.select(*texts).from_(self.database.table(name))
            data = self.database.engine.arrow("read ledger", query.where(_of(release.number)))
            engine.load("members of a release", into, data, replayed=False)
            self._loaded.add((id(engine), into))
        return table(into)

    # -- a new one -----------------------------------------------------------------------------------------------------

    def load_value_digests(self, engine: Engine, texts: exp.Query) -> exp.Expr:
        """Load the digests of texts (a query with the columns ``attribute`` and ``text``), and return the table:
        ``attribute``, ``text``, ``value``."""
        query = (
            exp.select(
                column("attribute", "texts"),
                column("text", "texts"),
                named(pseudonym(column("text", "texts"), "own"), "value"),
            )
            .from_(texts.subquery("texts"))
            .join(release_key(MEMBER_VALUE, "own"), join_type="cross")
        )
        with self._key.loaded(engine, [MEMBER_VALUE]):
            engine.create("sensitive values of the ledger", names.LEDGER_VALUES, query, replayed=False)
        return table(names.LEDGER_VALUES)

    def begin(self, entry: ReleaseEntry, members: pa.Table, values: pa.Table | None = None) -> int:
        """Write down a release that is about to take its place, as pending, and return its number.

        Args:
            members: ``person`` (32 digits) and ``class``.
            values: ``person``, ``attribute`` and ``value``.

        Raises:
            InputError: the ledger cannot be written; then nothing may be published.
        """
        if not self.database.attached:
            self.database.create({"format": FORMAT, "key": self._digits_of_key()})
        number = 1 + max((item.number for item in self.releases()), default=0)
        shown = (entry.release, entry.time, entry.source, entry.recipient, entry.policy_fingerprint, entry.digest)
        tables = {"members": members} | ({} if values is None else {"sensitive": values})
        engine = self.database.engine
        for name, rows in tables.items():  # before: a transaction of DuckDB writes to one database
            engine.load("members of a release", LOADED + name, rows, replayed=False)
        try:
            with self.database.writing():
                self.database.insert("releases", (number, PENDING, *shown, json.dumps(entry.to_dict())))
                for name, rows in tables.items():
                    query = exp.select(exp.convert(number), *map(_stored, rows.schema.names)).from_(
                        table(LOADED + name)
                    )
                    engine.run("write ledger", exp.insert(query, self.database.table(name)))
        finally:
            for name in tables:
                engine.drop(LOADED + name)
        return number

    def confirm(self, number: int) -> None:
        """Write down that a pending release took its place.

        Raises:
            InputError: the ledger cannot be written; the release stays pending, and counts.
        """
        changed = exp.Update(
            this=self.database.table("releases"),
            expressions=[equal(column("state"), exp.Literal.string(PUBLISHED))],
            where=exp.Where(this=_of(number)),
        )
        with self.database.writing():
            self.database.engine.run("write ledger", changed)

    def withdraw(self, number: int) -> None:
        """Forget a pending release that certainly did not take its place."""
        with self.database.writing():
            self.database.delete(number)


def read_releases(database: LedgerDatabase) -> tuple[EarlierRelease, ...]:
    """Return all releases of a ledger, in the order in which they were recorded."""
    if not database.attached:
        return ()
    query = exp.select(*map(column, ("number", "state", "facts"))).from_(database.table("releases"))
    rows = database.engine.run("read ledger", query.order_by(column("number")))
    return tuple(EarlierRelease(int(number), str(state), _entry(json.loads(facts))) for number, state, facts in rows)


def _entry(facts: dict[str, Any]) -> ReleaseEntry:
    colludes = facts["colludes"]
    return ReleaseEntry(
        **{
            **facts,
            "colludes": colludes if isinstance(colludes, str) else tuple(colludes),
            "levels": {name: tuple(levels) for name, levels in facts["levels"].items()},
            "models": tuple(facts["models"]),
            "columns": tuple(facts["columns"]),
        }
    )


def _of(number: int) -> exp.EQ:
    return equal(column("number"), exp.convert(number))


def _stored(name: str) -> exp.Expr:
    """Return a column as the ledger stores it."""
    return exp.cast(column(name), "UUID") if name in ("person", "value") else column(name)


def _digits(name: str) -> exp.Expr:
    """Return a digest as it was loaded: 32 digits, without the dashes that DuckDB writes."""
    text = exp.cast(column(name), "VARCHAR")
    dashless = exp.Replace(this=text, expression=exp.Literal.string("-"), replacement=exp.Literal.string(""))
    return named(dashless, name)
