"""Where releases of PostgreSQL go: its schemas, and files that an embedded DuckDB writes.

A column of a type that a file does not have becomes text there; a release with values that none holds is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.base import Place, Targets
from sqlanon.core.engines.postgres.catalog import NAMED_RELATION
from sqlanon.core.engines.postgres.dialect import check_names, quoted
from sqlanon.core.sqltrees.names import CARRIED
from sqlanon.core.sqltrees.trees import column, count_if, equal, table
from sqlanon.errors import TargetError, UnsupportedError

SAME = (
    "BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR", "DATE", "TIME", "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE", "UUID", "BYTEA", "INTERVAL",
)  # fmt: skip
"""The types that a file has too. (A DECIMAL may be too wide for it, and one without a scale has no bound.)"""
WIDEST = 38
"""The digits of the widest DECIMAL of a file."""
MOMENTS = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
LAST = "294246-01-01"
"""The first day whose microseconds, counted from 1970, do not fit 64 bits."""


@dataclass(frozen=True, slots=True)
class PostgresTargets(Targets):
    """The schemas of the session's database, in which releases are relations with an owner and readers."""

    def place(self, parts: Sequence[str], target_catalog: str | None) -> Place:
        if len(parts) > 2:
            raise TargetError(
                "A target of PostgreSQL names a schema and a relation, and no database.", hint="write schema.name."
            )
        if len(parts) == 1 and not self.engine.default_schema:
            raise TargetError(
                "The target names no schema, and the role has none by default.", hint="write schema.name."
            )
        check_names(parts)
        return Place("", *self.engine.default_schema[: 2 - len(parts)], *parts)

    def check_roles(self, where: Place, owner: str | None, readers: Sequence[str]) -> None:
        ask = self.engine.run
        for role in dict.fromkeys([*([owner] if owner is not None else []), *readers]):
            if not ask("role", "SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = $1", [role]):
                raise TargetError(
                    f"There is no role {role!r} on the server, which the output names.",
                    hint="check its name, or create it: CREATE ROLE.",
                )
        if owner is None:
            return
        # SET ROLE is a right of its own since PostgreSQL 16; before, every member had it
        query = (
            "SELECT pg_catalog.pg_has_role(CAST($1 AS name), "
            "CASE WHEN CAST(pg_catalog.current_setting('server_version_num') AS INTEGER) < 160000 THEN 'MEMBER' "
            "ELSE 'SET' END)"
        )
        if not ask("role", query, [owner])[0][0]:
            raise TargetError(
                f"The session's role may not give relations to the owner {owner!r}: it is no member of it.",
                hint=f"let a role that may do so run: GRANT {owner} TO the role that sqlanon connects as.",
            )
        query = (
            "SELECT pg_catalog.has_schema_privilege(CAST($1 AS name), oid, 'CREATE') FROM pg_catalog.pg_namespace "
            "WHERE nspname = $2"
        )
        if ask("role", query, [owner, where.schema]) == [(False,)]:
            raise TargetError(
                f"The owner {owner!r} may not have relations in the schema {where.schema!r}.",
                hint=f"let a role that may do so run: GRANT USAGE, CREATE ON SCHEMA {where.schema} TO {owner}.",
            )

    def make_schema(self, where: Place) -> None:
        # CREATE SCHEMA IF NOT EXISTS needs the right to create one, even if it exists
        if not self.engine.run("schema", "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", [where.schema]):
            self.engine.run("create schema", f"CREATE SCHEMA {quoted(where.schema)}")

    def create_view(self, where: Place, query: exp.Query) -> None:
        # behind security_barrier no function of a reader's sees the rows beneath
        render = self.engine.render
        text = f"CREATE VIEW {render(where.table)} WITH (security_barrier) AS {render(query)}"
        self.engine.run("create view", text)

    def hand_over(self, view: Place, beneath: Sequence[Place], owner: str | None, readers: Sequence[str]) -> None:
        # whoever has default privileges on the schema's new relations loses them
        run, render = self.engine.run, self.engine.render
        for place in (view, *beneath):
            name = render(place.table)
            for role in self._granted(place):
                run("revoke", f"REVOKE ALL ON {name} FROM {role}")
        for reader in readers:
            run("grant", f"GRANT USAGE ON SCHEMA {quoted(view.schema)} TO {quoted(reader)}")
            run("grant", f"GRANT SELECT ON {render(view.table)} TO {quoted(reader)}")
        if owner is not None:
            for place in (view, *beneath):
                run("owner", f"ALTER TABLE {render(place.table)} OWNER TO {quoted(owner)}")

    def _granted(self, place: Place) -> list[str]:
        """Return who has rights on a relation besides its owner, as REVOKE names them."""
        query = (
            f"SELECT DISTINCT rolname {NAMED_RELATION}, "
            "LATERAL aclexplode(relacl) AS rights LEFT JOIN pg_catalog.pg_roles r ON r.oid = rights.grantee "
            "WHERE rights.grantee <> relowner"
        )
        rows = self.engine.run("rights", query, [place.schema, place.name])
        return ["PUBLIC" if role is None else quoted(str(role)) for (role,) in rows]

    def file_type(self, type_name: str) -> str:
        # text, if a file has no such type or would round its values
        if type_name in SAME:
            return type_name
        digits = type_name.removeprefix("DECIMAL(").split(",")[0]
        return type_name if digits.isdigit() and int(digits) <= WIDEST else "VARCHAR"

    def fetch_release(self, query: exp.Query, types: Mapping[str, str]) -> pa.Table:
        engine = self.engine
        engine.create("carried rows", CARRIED, engine.render(query))
        try:
            names, counting = _count_unstorable(table(CARRIED), types)
            counts = engine.run("values of files", counting)[0] if names else ()
            found = [repr(name) for name, count in zip(names, counts, strict=True) if count]
            if found:
                raise UnsupportedError(
                    "The release has values that no file holds (infinite or far dates, or NaN in a NUMERIC) in "
                    f"{', '.join(found)}; nothing was written.",
                    hint="cast such a column to text in a view of the source, or publish a table or view.",
                )
            return engine.arrow("release", exp.select("*").from_(table(CARRIED)))
        finally:
            engine.drop(CARRIED)


def _count_unstorable(relation: exp.Expr, types: Mapping[str, str]) -> tuple[list[str], exp.Select]:
    """Return the columns of a relation that may hold values which a file cannot, and a query that counts these values.

    They are infinite dates and moments, moments far beyond the calendar, and NaN in a DECIMAL. The query returns one
    row, with a count a column.
    """
    found: dict[str, exp.Expr] = {}
    for name, kind in types.items():
        cell = column(name)
        if kind in MOMENTS:
            finite = exp.Anonymous(this="ISFINITE", expressions=[cell])
            late = exp.GTE(this=cell.copy(), expression=exp.cast(exp.Literal.string(LAST), "DATE"))
            found[name] = exp.or_(exp.Not(this=finite), late)
        elif kind.startswith("DECIMAL("):
            found[name] = equal(cell, exp.cast(exp.Literal.string("NaN"), "DECIMAL"))
    return list(found), exp.select(*map(count_if, found.values())).from_(relation)
