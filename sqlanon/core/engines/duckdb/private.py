"""Relations that one connection alone sees: its temporary tables and views, and the frames that are registered with it.

The engine works on a cursor of the user's connection, which sees none of them. Each that a policy names is read once in
the user's connection, batch by batch, and copied to a temporary table of the cursor with the same name. Nothing is
written in the user's connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.duckdb.dialect import DIALECT, quoted, render
from sqlanon.core.engines.relation_names import table_reference
from sqlanon.core.sqltrees.data_types import as_texts
from sqlanon.core.sqltrees.trees import column, named, union_all

TEMPORARY = ("temp", "main")
"""Where DuckDB keeps them: database and schema."""
BATCH_ROWS = 50_000
AGAIN = 20
"""How often relations are listed anew when a database is attached or detached at the same moment."""
AS_TEXT = ("HUGEINT", "UHUGEINT", "UUID", "BIT", "TIME WITH TIME ZONE", "ENUM")
"""Types that do not come back from Arrow as they were, and are carried as texts, also in lists and structs."""


class PrivateRelations:
    """Those of a connection, and which of them were copied.

    Args:
        connection: of the user's.
        cursor: of ours, that receives the copies.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, cursor: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self._cursor = cursor
        self._copied: set[str] = set()

    def find(self, parts: Sequence[str]) -> str | None:
        """Return the name of the private relation that a name of one to three parts means; None if there is none.

        It comes before a table of the database that has the same name, as it does for the user.
        """
        if [part.casefold() for part in parts[:-1]] not in ([], ["temp"], [*TEMPORARY]):
            return None
        listed = union_all(
            exp.select(column(f"{kind}_name"))
            .from_(exp.Anonymous(this=f"duckdb_{kind}s"))
            .where(column("temporary"), exp.Not(this=column("internal")))
            for kind in ("table", "view")
        )
        names = self._names(render(listed))
        return next((name for name in names if name.casefold() == parts[-1].casefold()), None)

    def _names(self, statement: str) -> list[str]:
        """Return the names that a statement lists. It looks at all databases, which other threads attach and detach."""
        for _ in range(AGAIN):
            with suppress(duckdb.TransactionException):
                return [str(row[0]) for row in self.connection.sql(statement).fetchall()]
        return [str(row[0]) for row in self.connection.sql(statement).fetchall()]

    def copy(self, name: str, ingest: Callable[[Callable[[], Any]], Any]) -> exp.Table:
        """Return the copy of a private relation, which is made at the first time.

        Args:
            ingest: runs a step, and reports its errors.
        """
        if name not in self._copied:
            ingest(lambda: self._copy(name))
            self._copied.add(name)
        return table_reference([*TEMPORARY, name])

    def _copy(self, name: str) -> None:
        source = exp.select("*").from_(table_reference([*TEMPORARY, name]))
        described = self.connection.sql(render(exp.Describe(this=source))).fetchall()
        types = {str(row[0]): str(row[1]) for row in described}
        carried, casts = as_carried(types)
        query = exp.select(*carried).from_(table_reference([*TEMPORARY, name]))
        reader = self.connection.sql(render(query)).to_arrow_reader(BATCH_ROWS)
        batch_name = f"sqlanon_{name}_batch"
        rows = render(exp.select(*as_before(types, casts)).from_(exp.to_table(batch_name, quoted=True)))
        try:
            empty = pa.Table.from_batches([], reader.schema)
            self._ingest(batch_name, empty, f"CREATE TEMPORARY TABLE {quoted(name)} AS {rows}")
            for batch in reader:
                self._ingest(batch_name, pa.Table.from_batches([batch]), f"INSERT INTO {quoted(name)} {rows}")
        finally:
            reader.close()

    def _ingest(self, name: str, data: pa.Table, statement: str) -> None:
        self._cursor.register(name, data)
        try:
            self._cursor.execute(statement)
        finally:
            self._cursor.unregister(name)


def as_carried(types: Mapping[str, str]) -> tuple[list[exp.Expr], dict[str, str]]:
    """Return columns as Arrow carries them unchanged, some as texts; and the types that these had before."""
    carried = {name: as_texts(kind, AS_TEXT) for name, kind in types.items()}
    casts = {name: kind for name, kind in types.items() if carried[name] != kind}
    return as_before(types, {name: carried[name] for name in casts}), casts


def as_before(columns: Iterable[str], casts: Mapping[str, str]) -> list[exp.Expr]:
    """Return carried columns with the types that they had before."""
    kinds = {name: exp.DataType.build(kind, dialect=DIALECT) for name, kind in casts.items()}
    return [named(exp.cast(column(name), kinds[name]), name) if name in kinds else column(name) for name in columns]
