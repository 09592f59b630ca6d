"""The file of a ledger: private, locked by the run that works with it, and written without a second file beside it.

DuckDB would keep what was committed last in a file ``.wal`` with permissions of its own. So the ledger is attached
without one (``unlogged``), and what was committed is on the disk when ``checkpoint`` returns; a process that is killed
before leaves the ledger as it was.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.core.disk.folders import LOCK, PrivateFolder, discard
from sqlanon.core.disk.locks import holder_of
from sqlanon.core.disk.modes import PRIVATE
from sqlanon.core.disk.renames import rename_new, sync
from sqlanon.core.disk.writing import PATIENCE, workplace_of
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.relation_names import table_reference
from sqlanon.core.interrupts import held
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, equal
from sqlanon.errors import EngineError, InputError, instead_of, system_refusals

ALIAS = names.PREFIX + "ledger"
"""The name under which the file is attached."""
FORMS = "sqlanon ledger "
"""What the table ``ledger`` says that a file is, before the number of its form."""
FORMAT, UNSEALED = FORMS + "2", FORMS + "1"
"""The form that is written, and that of builds before seals, which is read, and becomes this one with a write."""
OTHERS = 0o077
"""Permissions of those who do not own the file."""
TABLES: Mapping[str, Mapping[str, str]] = {
    "ledger": {"name": "VARCHAR", "value": "VARCHAR"},
    "releases": {
        "number": "BIGINT", "state": "VARCHAR", "release": "VARCHAR", "time": "VARCHAR", "source": "VARCHAR",
        "recipient": "VARCHAR", "policy_fingerprint": "VARCHAR", "digest": "VARCHAR", "facts": "VARCHAR",
    },
    "members": {"number": "BIGINT", "person": "UUID", "class": "BIGINT"},
    "sensitive": {"number": "BIGINT", "person": "UUID", "attribute": "VARCHAR", "value": "UUID"},
    "contents": {"number": "BIGINT", "digest": "VARCHAR"},
    "shown": {
        "number": "BIGINT", "person": "UUID", "cohort": "BIGINT", "place": "BIGINT", "since": "BIGINT",
        "cells": "VARCHAR",
    },
    "departed": {"number": "BIGINT", "person": "UUID"},
    "histories": {"number": "BIGINT", "person": "UUID", "class": "BIGINT"},
    "erased": {"number": "BIGINT", "source": "VARCHAR", "person": "UUID", "known": "BOOLEAN"},
    "seals": {"write": "BIGINT", "what": "VARCHAR", "state": "VARCHAR", "seal": "VARCHAR"},
}  # fmt: skip
"""The tables of a ledger and their columns. ``facts`` is all of a ``ReleaseEntry`` as JSON."""
OF_COHORTS = ("shown", "departed", "histories", "erased")
"""Tables that a ledger has once a release in cohorts is recorded: the rows of the last one, their cells as JSON, the
records that left, the histories of all records up to it (``cohorts/histories.py``), and those to be erased (``number``
is 0, ``known`` whether releases know them by their keys; NULL: a random digest)."""


class LedgerDatabase:
    """A ledger that this process has locked. ``close`` frees it.

    Attributes:
        path: the file, through links.
        engine: an engine of its own, to which the file is attached once there is one.
    """

    def __init__(self, path: Path, folder: PrivateFolder) -> None:
        self.path = path
        self._folder = folder
        self.engine = DuckDBEngine()
        self.attached = False
        self._known: dict[str, Any] = {}
        """Its tables and facts, once they were asked for and until it is written: nobody else does, it is locked."""

    @classmethod
    def claim(cls, path: Path) -> LedgerDatabase:
        """Lock a ledger, whether its file is there or not; wait for another run a little.

        Raises:
            InputError: its folder is not there or cannot be written, or another run works with the ledger.
        """
        path = path.resolve()
        if not path.parent.is_dir():
            raise InputError(
                f"The folder of the ledger {path.name!r} is not there.", hint="create it, readable by you alone."
            )
        folder, until = None, time.monotonic() + PATIENCE
        hint = "check the permissions of its folder."
        with system_refusals(InputError, f"The ledger {path.name!r} cannot be locked", hint=hint):
            while (folder := _claimed(workplace_of(path))) is None and time.monotonic() < until:
                time.sleep(0.05)
        if folder is None:
            holder = holder_of(workplace_of(path) / LOCK)
            raise InputError(
                f"Another run works with the ledger {path.name!r}{f' (process {holder})' if holder else ''}.",
                hint="wait until it has ended: two releases that do not know of each other cannot be judged together.",
            )
        try:
            for entry in folder.path.iterdir():
                if entry.name != LOCK:
                    discard(entry)
            return cls(path, folder)
        except BaseException:
            folder.remove()
            raise

    def close(self) -> None:
        """Free the ledger."""
        with held():
            try:
                self.engine.close()
            finally:
                self._folder.remove()

    # -- the file ------------------------------------------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return os.path.lexists(self.path)

    def attach(self) -> None:
        """Attach the file.

        Raises:
            InputError: others may read it, or it is no ledger.
        """
        self._check_file()
        with instead_of(EngineError, lambda error: self._foreign(f"DuckDB does not open it: {error.kind}")):
            self.engine.attach(self.path, ALIAS, read_only=False, replayed=False, unlogged=True)
        self.attached, self._known = True, {}
        form = self.facts().get("format", "")
        if form in (FORMAT, UNSEALED):
            return
        if form.startswith(FORMS) and form.removeprefix(FORMS).isdigit():
            raise InputError(
                f"The ledger {self.path.name!r} was written by a newer sqlanon: its form is {form!r}, and this version "
                f"knows forms up to {FORMAT!r}.",
                hint="use that version, or a newer one: pip install --upgrade sqlanon.",
            )
        raise self._foreign("it has another content")

    def _check_file(self) -> None:
        unread = f"The ledger {self.path.name!r} cannot be read"
        with system_refusals(InputError, unread, hint="check the path."):
            mode = self.path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise InputError(f"{unread} (it is no file).", hint="check the path.")
        if sys.platform != "win32" and mode & OTHERS:
            raise InputError(
                f"The ledger {self.path.name!r} may be read or written by others (its permissions are "
                f"{stat.S_IMODE(mode):04o}), and it links the releases of every person.",
                hint="let its owner alone read it: chmod 600.",
            )

    def _foreign(self, reason: str) -> InputError:
        return InputError(
            f"The file {self.path.name!r} is no ledger of this version of sqlanon, or damaged ({reason}).",
            hint="check the path; restore a damaged ledger from a copy, because without it nothing is known of earlier "
            "releases.",
        )

    @contextmanager
    def reading(self, *faults: type[Exception]) -> Iterator[None]:
        """Raise InputError where the file cannot be read as a ledger; no message of the database is kept.

        Args:
            faults: what reading an entry raises that another hand wrote.
        """
        with (
            instead_of(EngineError, lambda error: self._foreign(f"DuckDB does not read it: {error.kind}")),
            instead_of(faults, lambda _: self._foreign("an entry in it cannot be read")),
        ):
            yield

    def create(self, facts: Mapping[str, str]) -> None:
        """Create the file with its tables, which hold these ``facts`` of the ledger alone, and attach it.

        Raises:
            InputError: it cannot be created.
        """
        partial = self._folder.path / self.path.name
        with self._as_unwritable():
            self._write(partial, facts, [])
            rename_new(partial, self.path)
            sync(self.path.parent)
        self.attach()

    def rewrite(self, without: int, facts: Mapping[str, str], seal: Sequence[Any]) -> None:
        """Write the file anew without a release, so that no byte of it stays in the file.

        Args:
            facts: of the ledger, from now on.
            seal: a row that is added to its seals.

        Raises:
            InputError: it cannot be written; the old file stands.
        """
        partial = self._folder.path / self.path.name
        with self._as_unwritable():
            self._write(partial, facts, [exp.NEQ(this=column("number"), expression=exp.convert(without))], seal)
            self.engine.detach(ALIAS)
            self.attached = False
            os.replace(partial, self.path)
            sync(self.path.parent)
        self.attach()

    @contextmanager
    def _as_unwritable(self) -> Iterator[None]:
        """Raise InputError where the file cannot be written; no message of the database is kept."""
        with (
            instead_of(EngineError, lambda error: self._unwritable(error.kind)),
            instead_of(OSError, lambda error: self._unwritable(error.strerror or str(error))),
        ):
            yield

    def _write(
        self, path: Path, facts: Mapping[str, str], copied: Sequence[exp.Expr], seal: Sequence[Any] = ()
    ) -> None:
        """Write a new file with the tables; where there are conditions, with the rows of the old that meet them, and
        with all its seals and one more."""
        new = names.PREFIX + "new_ledger"
        discard(path)
        self.engine.attach(path, new, read_only=False, replayed=False, unlogged=True)
        try:
            for name, columns in TABLES.items():
                if name in OF_COHORTS and not self.has(name):
                    continue
                self._make_table(new, name)
                if copied and name != "ledger":
                    rows = exp.select(*map(column, columns)).from_(self.table(name))
                    rows = rows if name == "seals" else rows.where(*copied)
                    self.engine.run("copy ledger", exp.insert(rows, table_reference([new, "main", name])))
            if seal:
                self._insert(table_reference([new, "main", "seals"]), seal)
            for item in facts.items():
                self._insert(table_reference([new, "main", "ledger"]), item)
            self.engine.checkpoint(new)
        finally:
            with suppress(EngineError):
                self.engine.detach(new)
        if sys.platform != "win32":
            path.chmod(PRIVATE)
        sync(path)

    def _make_table(self, catalog: str, name: str) -> None:
        kinds = [
            exp.ColumnDef(this=exp.to_identifier(item, quoted=True), kind=exp.DataType.build(kind))
            for item, kind in TABLES[name].items()
        ]
        schema = exp.Schema(this=table_reference([catalog, "main", name]), expressions=kinds)
        self.engine.run("create ledger", exp.Create(this=schema, kind="TABLE"))

    def make_tables(self, new: Iterable[str]) -> None:
        """Create tables that a ledger of an older form lacks."""
        for name in new:
            self._make_table(ALIAS, name)
        self._known = {}

    def _unwritable(self, failure: str) -> InputError:
        return InputError(
            f"The ledger {self.path.name!r} cannot be written ({failure}).",
            hint="check the permissions of its folder, and the room on the disk.",
        )

    # -- what is in it -------------------------------------------------------------------------------------------------

    def table(self, name: str) -> exp.Table:
        """Return the reference to one of ``TABLES``."""
        return table_reference([ALIAS, "main", name])

    def has(self, name: str) -> bool:
        """Return whether the ledger has one of ``OF_COHORTS``."""
        if self.attached and "tables" not in self._known:
            known = exp.select(column("table_name")).from_(table_reference(["information_schema", "tables"]))
            known = known.where(equal(column("table_catalog"), exp.Literal.string(ALIAS)))
            self._known["tables"] = [row[0] for row in self.engine.run("tables of the ledger", known)]
        return self.attached and name in self._known["tables"]

    def facts(self) -> dict[str, str]:
        """Return the facts that the ledger records about itself; none if the file is no ledger."""
        rows = exp.select(column("name"), column("value")).from_(self.table("ledger"))
        with suppress(EngineError):
            if "facts" not in self._known:
                self._known["facts"] = {str(name): str(value) for name, value in self.engine.run("read ledger", rows)}
        return {**self._known.get("facts", {})}

    def set_fact(self, name: str, value: str) -> None:
        """Write a fact of the ledger about itself, in place of what it was."""
        old = exp.Where(this=equal(column("name"), exp.Literal.string(name)))
        self.engine.run("write ledger", exp.Delete(this=self.table("ledger"), where=old))
        self.insert("ledger", (name, value))
        self._known = {}

    def insert(self, name: str, values: Sequence[Any]) -> None:
        """Add a row to a table."""
        self._insert(self.table(name), values)

    def _insert(self, where: exp.Table, values: Sequence[Any]) -> None:
        row = exp.Values(expressions=[exp.Tuple(expressions=[exp.Placeholder() for _ in values])])
        self.engine.run("write ledger", exp.Insert(this=where, expression=row), list(values))

    def delete(
        self, number: int, of: Iterable[str] = ("releases", "members", "sensitive", "contents", *OF_COHORTS)
    ) -> None:
        """Delete a release and its members."""
        for name in [known for known in of if known not in OF_COHORTS or self.has(known)]:
            condition = equal(column("number"), exp.convert(number))
            self.engine.run("write ledger", exp.Delete(this=self.table(name), where=exp.Where(this=condition)))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write the changes of the block as a whole: they are on the disk when the context ends, or not at all.

        Raises:
            InputError: the disk refused.
        """
        try:
            with instead_of(EngineError, lambda error: self._unwritable(error.kind)):
                with self.engine.transaction():
                    yield
                self.engine.checkpoint(ALIAS)
        finally:
            self._known = {}


def _claimed(place: Path) -> PrivateFolder | None:
    with held():
        return PrivateFolder.claim(place)
