"""The ledger of releases of a run: who had which class in earlier releases, and what is written down of a new one.

A person is known by the first 32 digits of HMAC-SHA-256 of the canonical text of the entity or of the record key, by
a key of the ledger's own purpose, computed in the database of the source. Of texts it is of a normal form (``FORMS``),
unless two persons of a source have one. A class has a number, and no value.

A release is written down before it takes its place, as ``pending``, and confirmed after. So a release that is out is
in the ledger, wherever its run was killed. One that is in the ledger may not be out: it counts all the same, until it
is seen at its place (``settle``) or forgotten by a person (``sqlanon ledger forget``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler.encoded_source import EntityColumn
from sqlanon.core.compiler.keyed import MEMBER, MEMBER_VALUE, persons_by_key, pseudonym, release_key
from sqlanon.core.engines.base import Engine
from sqlanon.core.policy import Output
from sqlanon.core.policy.key import Key
from sqlanon.core.source.release_key import ReleaseKey
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    CASED,
    NORMAL,
    aliased,
    canonical,
    column,
    count_distinct,
    count_if,
    count_rows,
    equal,
    is_null,
    named,
    table,
)
from sqlanon.errors import InputError
from sqlanon.ledger.cohorts.histories import HISTORIES, holds_histories
from sqlanon.ledger.cohorts.state import ERASED, NEW_STATE, CohortState, load_new_state, write_erased, write_state
from sqlanon.ledger.database import LedgerDatabase
from sqlanon.ledger.entries import (
    NEVER_STOOD,
    STANDS,
    accepted_releases,
    fates,
    known_targets,
    read_releases,
    target_of,
)
from sqlanon.ledger.facts import PENDING, PUBLISHED, EarlierRelease, ReleaseEntry, in_one_hand, same_name
from sqlanon.ledger.identity import TEXT_KEYS, kind_of_key

if TYPE_CHECKING:
    from sqlanon.ledger.seals import Seals

IN_NORMAL_FORM, WITH_CAPITALS, AS_IT_STANDS = "normal", "cased", "exact"
"""What of a key is digested (``ReleaseEntry.person_form``)."""
FORMS = {
    IN_NORMAL_FORM: (NORMAL, "blanks, capitals or the width of letters"),
    WITH_CAPITALS: (CASED, "blanks or the width of letters"),
}
"""The functions that return these forms of texts, and what they take for the same; the first that merges no two persons
of a source is taken."""
RESPELLED = names.PREFIX + "respelled"
"""Table of the ledger's own engine: the digests of keys as they stand (``exact``) and in normal form (``person``)."""
KNOWN_AGAIN = 0.1
"""The least share of an earlier release's persons to be met again; with fewer, their keys may have changed."""
DIGESTS, HELD = ("person", "value"), "held"
"""Columns of a ledger that hold digests, and the alias of a table of it."""
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
        person_form: what of a key is digested, once the persons are loaded.
    """

    database: LedgerDatabase
    source: str
    person_column: str
    recipient: str | None
    colludes: str | tuple[str, ...]
    _key: ReleaseKey
    _seals: Seals
    person_form: str = AS_IT_STANDS
    _loaded: set[tuple[int, str]] = field(default_factory=set)
    _notes: list[str] = field(default_factory=list)
    _respelled: bool = False
    _read: tuple[EarlierRelease, ...] | None = None  # until this run writes: nobody else does

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
        from sqlanon.ledger.seals import open_sealed, refuse_missing

        database, seals, own = open_sealed(path, key)
        try:
            ledger = cls(database, source, person_column, recipient, colludes, own, seals)
            if database.attached:
                with database.reading():
                    numbers = ledger._looked_at()
                    seals.check(numbers)
                    ledger._check_counts(numbers)
                ledger._check_column()
                ledger._settle()
            else:
                refuse_missing(database.path)
            return ledger
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Free the ledger; what was recorded is on the disk."""
        self.database.close()

    def _looked_at(self) -> list[int] | None:
        """Return the numbers of the releases whose persons a run reads, or writes anew; None: all.

        In cohorts a run goes by what the last release left behind, so that it costs the same in any night.
        """
        own = [item.number for item in self.of_source()]
        if not own or not holds_histories(self.database, own[-1]):
            return None
        return [ERASED, *own[-2:]]

    def _check_counts(self, numbers: Sequence[int] | None) -> None:
        from sqlanon.ledger.seals import miscounted

        stated = {item.number: item.entry.persons for item in self.releases()}
        if wrong := miscounted(self.database, stated, numbers):
            raise InputError(
                f"The ledger holds more or fewer persons of release {wrong[0]} than its entry states.",
                hint="restore the newest copy of the ledger; or forget that release (sqlanon ledger forget), if nobody "
                "has it.",
            )

    def _check_column(self) -> None:
        others = {item.entry.person_column for item in self.of_source()}
        if others - {self.person_column}:
            raise InputError(
                f"The ledger knows the persons of this source by the column {min(others)!r}, and the policy by "
                f"{self.person_column!r}: none would be known again.",
                hint="name the same column as before (ledger.record, or entity), or begin another ledger.",
            )

    def _check_kind(self, kind: str) -> None:
        """Raise InputError if earlier releases of the source knew its persons by keys of another kind."""
        if others := {item.entry.person_type for item in self.of_source()} - {kind, ""}:
            raise InputError(
                f"The column {self.person_column!r} is of type {kind}, and was of type {min(others)} in an earlier "
                "release: equal keys would read differently, and no person would be known again.",
                hint="cast it to the type that it had, in a view of the source; or begin another ledger.",
            )

    def _settle(self) -> None:
        """Confirm or take back the pending releases of which a file shows what became of them."""
        for number, fate in fates(self.releases()).items():
            if fate == STANDS:
                self.confirm(number)
            elif fate == NEVER_STOOD:
                self.withdraw(number)

    def note(self, noticed: str) -> None:
        """Add to what was noticed of its keys."""
        self._notes.append(noticed)

    @property
    def notes(self) -> tuple[str, ...]:
        """The warnings of its keys and its seals."""
        return (*self._notes, *self._seals.notes)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the ledger."""
        releases, earlier = self.releases(), self.earlier()
        warnings = [*self.notes]
        if self.database.attached and not self._seals.sealed:
            warnings.append(
                "The ledger was written by a build without seals, so that an edit would not be noticed. The "
                "next release seals it."
            )
        if pending := [item for item in earlier if item.state == PENDING]:
            warnings.append(
                f"{len(pending)} releases in the ledger are pending: their runs ended before it was confirmed that "
                "they took their place. They count as published; `sqlanon ledger forget` drops what never was."
            )
        others = {item.entry.source for item in releases} - {item.entry.source for item in self.of_source()}
        if others:
            warnings.append(
                f"The ledger holds releases of {len(others)} other sources, which this one is not judged together "
                "with. Give a source that changes its path or table one name: ledger: {…, source: NAME}."
            )
        return tuple(warnings)

    @property
    def accepted(self) -> frozenset[str]:
        """The ids of releases whose persons are other ones than those of the source, as a person said."""
        return accepted_releases(self.database)

    def holds_target(self, output: Output, digest: str | None) -> bool:
        """Return whether a release that stands at a target is in the ledger, or was accepted.

        Args:
            digest: of the file that stands there; None for a table or a view, of which the name has to do.
        """
        known, entries = known_targets(self.database), [item.entry for item in self.releases()]
        if digest is not None:  # by whatever path: folders are moved
            return digest in {*known.values(), *(entry.digest for entry in entries)}
        targets = {target_of(Output(*pair)) for entry in entries for pair in entry.output.items()}
        return target_of(output) in {*targets, *known}

    # -- what was released ---------------------------------------------------------------------------------------------

    def releases(self) -> tuple[EarlierRelease, ...]:
        """Return all releases of the ledger, in the order in which they were recorded."""
        if self._read is None:
            self._read = read_releases(self.database)
        return self._read

    def of_source(self) -> tuple[EarlierRelease, ...]:
        """Return all releases of this source; pending ones count."""
        return tuple(item for item in self.releases() if same_name(item.entry.source, self.source))

    def earlier(self) -> tuple[EarlierRelease, ...]:
        """Return the releases of this source that somebody may have beside the new one; pending ones count."""
        own = self.of_source()
        return tuple(item for item in own if self._meets(item.entry, [other.entry for other in own]))

    def _meets(self, entry: ReleaseEntry, among: Iterable[ReleaseEntry]) -> bool:
        return in_one_hand(replace(entry, recipient=self.recipient, colludes=self.colludes), entry, among)

    def check_persons(self, engine: Engine, relation: exp.Expr, type_name: str, *, once: bool) -> None:
        """Check that every record of a source has a person; if ``once``, one of its own.

        Raises:
            InputError: some records have none, two have one key, or earlier releases knew keys of another kind.
        """
        self._check_kind(kind_of_key(type_name))
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
        entity = EntityColumn(self.person_column, type_name)
        self.person_form = self._form_of_keys(engine, relation, entity)
        normal = self.person_form in FORMS
        query = persons_by_key(relation, entity, MEMBER, form=FORMS[self.person_form][0] if normal else "")
        shown = exp.select(column("value"), named(column("pseudonym"), "person"))
        shown = (shown.select(column("exact")) if normal else shown).from_(query.subquery("keyed"))
        with self._key.loaded(engine, [MEMBER]):
            engine.create("persons of the ledger", names.LEDGER_PERSONS, shown, replayed=False)
        if normal and any(not item.entry.person_form for item in self.of_source()):
            both = exp.select(column("exact"), column("person")).from_(table(names.LEDGER_PERSONS))
            spelled = engine.arrow(
                "keys as they stand", both.where(exp.NEQ(this=column("exact"), expression=column("person")))
            )
            self.database.engine.load("keys as they stand", RESPELLED, spelled, replayed=False)
            self._respelled = True
        return table(names.LEDGER_PERSONS)

    def _form_of_keys(self, engine: Engine, relation: exp.Expr, entity: EntityColumn) -> str:
        """Return the digested form of a source's keys: of texts the first of ``FORMS`` that no two persons share.

        Raises:
            InputError: it is, and earlier releases know persons by it.
        """
        forms = {item.entry.person_form for item in self.of_source()}
        if kind_of_key(entity.type) != TEXT_KEYS or AS_IT_STANDS in forms:
            return AS_IT_STANDS
        own = canonical(entity.name, entity.type)
        texts = [
            entity.text(),
            *(exp.Anonymous(this=function, expressions=[own.copy()]) for function, _ in FORMS.values()),
        ]
        counts = [named(count_distinct(text), f"count_{i}") for i, text in enumerate(texts)]
        different, *persons = engine.run("forms of keys", exp.select(*counts).from_(relation.copy()))[0]
        for (form, (_, only)), left in zip(FORMS.items(), persons, strict=True):
            if (forms & FORMS.keys()) - {form}:
                continue
            if different <= left:
                return form
            merged = f"{different - left} values of the column {entity.name!r} differ from others only in {only}"
            if form in forms:
                raise InputError(
                    f"{merged}, and in earlier releases of the ledger these are one person.",
                    hint="correct these keys in a view of the source, or leave such records out; if they are persons "
                    "of their own, begin another ledger.",
                )
            self._notes = [
                f"{merged}: the ledger takes them for persons of their own, and tells all keys apart by that. If they "
                "are the same persons, correct their keys in a view of the source."
            ]
        return AS_IT_STANDS

    def load_members(self, engine: Engine, release: EarlierRelease, *, of_all: bool = False) -> exp.Expr:
        """Load the members of an earlier release into an engine, and return the table: ``person`` and ``class``.

        Who has no row was absent. With an entity a person has a row a class.

        Args:
            of_all: of this and all earlier releases; ``class`` is the number of a history (``cohorts/histories.py``).
        """
        if of_all:
            return self._carry(engine, HISTORIES, "histories", release, ["class"])
        return self._carry(engine, names.ledger_members(release.number), "members", release, ["class"])

    def load_values(self, engine: Engine, release: EarlierRelease) -> exp.Expr:
        """Load the digests of the sensitive values of an earlier release, and return the table: ``person``,
        ``attribute`` and ``value`` (NULL is NULL)."""
        return self._carry(engine, names.ledger_sensitive(release.number), "sensitive", release, ["attribute", "value"])

    def _carry(self, engine: Engine, into: str, name: str, release: EarlierRelease, columns: Sequence[str]) -> exp.Expr:
        if (id(engine), into) not in self._loaded:
            person, *others = (
                _digits(item) if item in DIGESTS else column(item, HELD) for item in ("person", *columns)
            )
            query = exp.select().from_(aliased(self.database.table(name), HELD))
            if self._respelled and not release.entry.person_form:
                person = exp.Coalesce(this=column("person", "known"), expressions=[person])
                query = query.join(table(RESPELLED, "known"), on=_as_it_stood(), join_type="left")
            query = query.select(named(person, "person"), *map(named, others, columns))
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

    def begin(
        self,
        entry: ReleaseEntry,
        members: pa.Table,
        values: pa.Table | None = None,
        state: CohortState | None = None,
    ) -> int:
        """Write down a release that is about to take its place, as pending, and return its number.

        Args:
            members: ``person`` (32 digits) and ``class``.
            values: ``person``, ``attribute`` and ``value``.
            state: of a release in cohorts, what the next one continues.

        Raises:
            InputError: the ledger cannot be written; then nothing may be published.
        """
        if not self.database.attached:
            self.database.create(self._seals.facts())
        number = 1 + max((item.number for item in self.releases()), default=0)
        shown = (entry.release, entry.time, entry.source, entry.recipient, entry.policy_fingerprint, entry.digest)
        tables = {"members": members} | ({} if values is None else {"sensitive": values})
        engine = self.database.engine
        for name, rows in tables.items():  # before: a transaction of DuckDB writes to one database
            engine.load("members of a release", LOADED + name, rows, replayed=False)
        own = [item.number for item in self.of_source()]
        changed = [] if state is None else load_new_state(self.database, state, own, entry.source)
        try:
            older = [item.number for item in self.of_source() if not item.entry.person_form] if self._respelled else []
            with self._seals.writing(f"begin {number}", [number, *older, *changed]):
                self.database.insert("releases", (number, PENDING, *shown, json.dumps(entry.to_dict())))
                for name, rows in tables.items():
                    every = [exp.cast(column(c), "UUID") if c in DIGESTS else column(c) for c in rows.schema.names]
                    query = exp.select(exp.convert(number), *every).from_(table(LOADED + name))
                    engine.run("write ledger", exp.insert(query, self.database.table(name)))
                self._respell(older)
                if state is not None:
                    write_state(self.database, number, state, own, entry.source)
        finally:
            self._read = None
            for name in (*(LOADED + name for name in tables), *NEW_STATE):
                engine.drop(name)
        return number

    def _respell(self, older: Sequence[int]) -> None:
        """Write the digests of normal forms where older releases have those of keys as they stood."""
        new = equal(column("person"), exp.cast(column("person", "known"), "UUID"))
        for name in ("members", "sensitive") if older else ():
            rows = aliased(self.database.table(name), HELD)
            met = exp.and_(_as_it_stood(), column("number", HELD).isin(*older))
            changed = exp.Update(this=rows, expressions=[new], where=exp.Where(this=met))
            changed.set("from_", exp.From(this=table(RESPELLED, "known")))
            self.database.engine.run("write ledger", changed)

    def erase(self, digests: Sequence[str]) -> None:
        """Write down that records are to be erased: they go with the next release in cohorts.

        Raises:
            InputError: the ledger cannot be written.
        """
        with self._seals.writing(f"erase {len(digests)}", [ERASED]):
            write_erased(self.database, self.of_source()[-1].entry.source, digests)

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
        self._read = None
        with self._seals.writing(f"confirm {number}"):
            self.database.engine.run("write ledger", changed)

    def withdraw(self, number: int) -> None:
        """Forget a pending release that certainly did not take its place."""
        self._read = None
        with self._seals.writing(f"withdraw {number}"):
            self.database.delete(number)


def _of(number: int) -> exp.EQ:
    return equal(column("number"), exp.convert(number))


def _as_it_stood() -> exp.EQ:
    """Return the condition that a row is of a person whose key stood there in another than its normal form."""
    return equal(column("person", HELD), exp.cast(column("exact", "known"), "UUID"))


def _digits(name: str) -> exp.Expr:
    """Return a digest as it was loaded: 32 digits, without the dashes that DuckDB writes."""
    text = exp.cast(column(name, HELD), "VARCHAR")
    return exp.Replace(this=text, expression=exp.Literal.string("-"), replacement=exp.Literal.string(""))
