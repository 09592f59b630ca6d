"""A session of PostgreSQL: its connection, and the transaction in which a run reads one state of the source."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import adbc_driver_manager as adbc
from adbc_driver_postgresql import dbapi

from sqlanon.core.engines.postgres.errors import refused_session
from sqlanon.core.interrupts import held, interruptible
from sqlanon.errors import InputError

MARK = "sqlanon_mark"
"""The name of the savepoint behind all that was written."""

PATH = "-csearch_path=pg_catalog"
"""The option of a session that begins with PostgreSQL's own operators: the driver itself asks for types at once, and
an operator of a schema on the role's path could answer it, with the rights of the role."""


class PostgresSession:
    """A connection, on which calls of the driver run one after the other.

    Attributes:
        holds: a transaction reads one state of the source (``hold``).
        failed: an error ended that transaction, and all that was created in it is gone.
        guarded: the session began with ``PATH``, and not with the path of its role.

    Raises:
        InputError: the server cannot be reached, or refuses the session.
    """

    def __init__(self, uri: str) -> None:
        self.holds = self.failed = self._marked = False
        refusal: InputError | None = None
        safe = _guarded(uri)
        self.guarded = safe != uri
        try:
            self._connection = interruptible(lambda: dbapi.connect(safe, autocommit=True))
        except adbc.Error as error:
            refusal = refused_session(error)
        if refusal is not None:
            raise refusal

    def close(self) -> None:
        """End the session; the server rolls back what it has not committed."""
        self._connection.close()

    def call(self, work: Callable[[Any], Any], *, reads: bool) -> Any:
        """Call ``work`` with a cursor and return its answer. An interrupt cancels the statement on the server.

        Args:
            reads: it writes nothing, so that its failure can be undone by itself.

        Raises:
            adbc.Error: what the driver raises.
        """
        with self._protected(reads):
            return interruptible(lambda: self._with_cursor(work), self._connection.adbc_cancel)

    def _with_cursor(self, work: Callable[[Any], Any]) -> Any:
        with self._connection.cursor() as cursor:
            return work(cursor)

    def _command(self, text: str) -> None:
        """Run a short statement about transactions, which no interrupt ends half-way."""
        with held():
            interruptible(lambda: self._with_cursor(lambda cursor: cursor.execute(text)))

    # -- one state of the source ---------------------------------------------------------------------------------------

    def hold(self) -> None:
        """Begin the transaction that reads one state; what is created from now on is part of it."""
        self._command("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        self.holds, self.failed, self._marked = True, False, False

    def commit(self) -> None:
        """Commit the transaction: from now on, each statement reads the state that it finds.

        Raises:
            adbc.Error: it was not committed; or, if the connection is gone, perhaps.
        """
        self._unmark()
        self.holds = False
        try:
            self._command("COMMIT")
        except adbc.Error:
            self.failed = True
            raise

    @contextmanager
    def savepoint(self, name: str) -> Iterator[None]:
        """Undo what is written within, and nothing before it, if it fails."""
        self._unmark()
        self._command(f"SAVEPOINT {name}")
        try:
            yield
            self._unmark()
            self._command(f"RELEASE SAVEPOINT {name}")
        except BaseException:
            with suppress(adbc.Error):  # the connection may be gone
                self._command(f"ROLLBACK TO SAVEPOINT {name}")
                self._marked = self.failed = False
                self._command(f"RELEASE SAVEPOINT {name}")
            raise

    @contextmanager
    def _protected(self, reads: bool) -> Iterator[None]:
        """Undo what fails within, where a transaction is held, so that it does not take the transaction with it.

        Reading fails, and is undone, behind a savepoint. It is renewed only after something was written: what is
        written behind a savepoint is a subtransaction, and other sessions cannot follow more than 64 at full speed.
        """
        if not self.holds:
            yield
            return
        if reads and not self._marked:
            self._command(f"SAVEPOINT {MARK}")
            self._marked = True
        elif not reads:
            self._unmark()
        try:
            yield
        except BaseException:
            if reads:
                with suppress(adbc.Error):
                    self._command(f"ROLLBACK TO SAVEPOINT {MARK}")
            else:
                self.failed = True
            raise

    def _unmark(self) -> None:
        if self._marked:
            self._marked = False
            self._command(f"RELEASE SAVEPOINT {MARK}")


def _guarded(uri: str) -> str:
    """Return a URI with ``PATH``; unchanged where its options, PGOPTIONS or a service choose a path, or may."""
    asked = parse_qs(urlsplit(uri).query)
    options = " ".join(asked.get("options", [os.environ.get("PGOPTIONS", "")]))
    if "search_path" in options or "service" in asked or "PGSERVICE" in os.environ:
        return uri
    joint = "" if uri.endswith("?") else "&" if urlsplit(uri).query else "?"
    return f"{uri}{joint}options={quote(f'{options} {PATH}'.strip())}"
