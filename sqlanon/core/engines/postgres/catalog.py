"""Questions to PostgreSQL's catalogs about sessions and relations; names are qualified, whatever the search path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.base import DatabaseCatalog, Place
from sqlanon.core.engines.postgres.dialect import DIALECT, NAMED_TYPES
from sqlanon.core.engines.postgres.values import modifier, precision
from sqlanon.core.engines.relation_names import relation_parts, table_reference, unlisted, written_name
from sqlanon.errors import SourceError, UnsupportedError

KINDS = {
    "r": "table",
    "p": "table",
    "v": "view",
    "m": "materialized view",
    "f": "foreign table",
    "S": "sequence",
    "c": "composite type",
}
"""The words for the kinds of relations; an index is a relation too."""
READABLE = "'r', 'p', 'v', 'm', 'f'"
"""The kinds of relations that can be read."""

OWN_PATH = (
    "SELECT pg_catalog.set_config('search_path', COALESCE((SELECT pg_catalog.substr(entry, 13) "
    "FROM pg_catalog.pg_db_role_setting s, pg_catalog.unnest(setconfig) AS entry "
    "WHERE entry LIKE 'search\\_path=%' AND setrole IN (0, CAST(session_user AS pg_catalog.regrole)) "
    "AND setdatabase IN (0, (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())) "
    "ORDER BY setrole = 0, setdatabase = 0 LIMIT 1), boot_val), false) "
    "FROM pg_catalog.pg_settings WHERE name = 'search_path'"
)
"""Set the path of the role in the database, which the session began without (``session.PATH``)."""
SESSION = (
    "SELECT CAST(pg_catalog.current_setting('server_version_num') AS INTEGER), "
    "pg_catalog.current_setting('transaction_read_only'), pg_catalog.current_schemas(false)"
)
"""The server's version, whether the session only reads, and the schemas in which the role looks for relations."""
NAMED = (
    "SELECT pg_catalog.set_config(name, 'sqlanon', false) FROM pg_catalog.pg_settings "
    "WHERE name = 'application_name' AND setting = ''"
)
"""Whoever watches the server sees whose session it is, unless the user gave it a name."""
WATCHED = "SELECT pg_catalog.set_config('client_connection_check_interval', '2s', false)"
"""A client that is killed leaves no statement running; an error where the server's platform cannot notice that."""
PATIENT = (
    "SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings "
    "WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')"
)
"""A run is one transaction, which waits while nodes are judged elsewhere."""
ROOM = (
    "SELECT pg_catalog.set_config(name, '64MB', false) FROM pg_catalog.pg_settings "
    "WHERE name = 'work_mem' AND CAST(setting AS BIGINT) < 65536 AND source IN ('default', 'configuration file')"
)
"""Groups and joins of some hundred thousand rows stay in memory, unless the role or the database was given its own."""
TIMEOUT = "SELECT CAST(setting AS BIGINT) FROM pg_catalog.pg_settings WHERE name = 'statement_timeout'"


NAMED_RELATION = (
    "FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON n.nspname = $1 AND c.relname = $2 "
    "AND n.oid = c.relnamespace"
)
_COLUMNS = f"{NAMED_RELATION} JOIN pg_catalog.pg_attribute a ON c.oid = attrelid AND attnum > 0 AND NOT attisdropped"
_SECURED = (
    f"WITH RECURSIVE beneath(oid, reader) AS (SELECT c.oid, r.oid {NAMED_RELATION} "
    "JOIN pg_catalog.pg_roles r ON rolname = current_user "
    "UNION SELECT d.refobjid, CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_options_to_table(v.reloptions) "
    "WHERE option_name = 'security_invoker' AND CAST(option_value AS boolean)) THEN reader ELSE v.relowner END "
    "FROM beneath JOIN pg_catalog.pg_class v ON v.oid = beneath.oid AND v.relkind = 'v' "
    "JOIN pg_catalog.pg_rewrite w ON w.ev_class = v.oid "
    "JOIN pg_catalog.pg_depend d ON d.classid = CAST('pg_catalog.pg_rewrite' AS pg_catalog.regclass) "
    "AND d.objid = w.oid AND d.refclassid = CAST('pg_catalog.pg_class' AS pg_catalog.regclass)) "
    "SELECT 1 FROM beneath JOIN pg_catalog.pg_class c ON c.oid = beneath.oid "
    "JOIN pg_catalog.pg_roles r ON r.oid = reader WHERE c.relrowsecurity"
)
"""Of a relation, and of those beneath it as far as views show: the rows that have row-level security."""
_CODE = (
    "WITH RECURSIVE kind(name, oid) AS (SELECT relname, oid FROM pg_catalog.pg_class "
    "WHERE relnamespace = CAST('pg_catalog' AS pg_catalog.regnamespace)), beneath(kind, oid) AS ("
    f"SELECT CAST('pg_class' AS name), c.oid {NAMED_RELATION} "
    "UNION SELECT more.kind, more.oid FROM beneath b JOIN kind k ON k.name = b.kind, LATERAL ("
    "SELECT o.name AS kind, d.refobjid AS oid FROM pg_catalog.pg_depend d JOIN kind o ON o.oid = d.refclassid "
    "WHERE d.classid = k.oid AND d.objid = b.oid AND (o.name IN ('pg_proc', 'pg_type', 'pg_operator') "
    "OR o.name = 'pg_class' AND b.kind IN ('pg_rewrite', 'pg_policy')) "
    "UNION ALL SELECT o.name, d.objid FROM pg_catalog.pg_depend d JOIN kind o ON o.oid = d.classid "
    "LEFT JOIN pg_catalog.pg_class v ON o.name = 'pg_rewrite' AND v.oid = b.oid AND v.relkind = 'v' "
    "WHERE d.refclassid = k.oid AND d.refobjid = b.oid AND (o.name = 'pg_cast' OR d.deptype = 'i' AND v.oid > 0 "
    "OR d.deptype IN ('a', 'i') AND o.name IN ('pg_class', 'pg_constraint', 'pg_policy', 'pg_statistic_ext')) "
    "UNION ALL SELECT b.kind, inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = b.oid AND b.kind = 'pg_class'"
    ") AS more) SELECT DISTINCT rolname FROM beneath b "
    "JOIN pg_catalog.pg_proc p ON kind = 'pg_proc' AND p.oid = b.oid "
    "JOIN pg_catalog.pg_roles r ON r.oid = proowner WHERE NOT rolsuper "
    "AND NOT pg_catalog.pg_has_role(r.oid, session_user, 'MEMBER') AND EXISTS (SELECT 1 FROM pg_catalog.pg_roles "
    "WHERE rolname IN (session_user, current_user) AND (rolsuper OR rolcreaterole)) ORDER BY rolname"
)
"""Whose functions a SELECT from a relation may call with the rights of a session that has many: by views, policies,
casts, domains, expressions of indexes and statistics, constraints (which a plan computes), of children too. A
materialized view is read as it is stored."""


@dataclass(frozen=True, slots=True)
class PostgresCatalog(DatabaseCatalog):
    """The relations of the session's database.

    Attributes:
        fetch: runs a named statement with its parameters and returns its rows as the driver does, with their types.
    """

    fetch: Callable[[str, exp.Expr, Sequence[Any]], pa.Table]

    def columns(self, relation: exp.Expr) -> list[tuple[str, str]]:
        if (named := _named(relation)) is not None and (found := self._columns_of(named)):
            return found
        data = self.fetch("describe", exp.select("*").from_(relation).limit(0), ())
        own = [(field.metadata or {}).get(b"POSTGRESQL:type", b"unknown").decode() for field in data.schema]
        enums = self._enums({kind for kind in own if kind not in NAMED_TYPES and kind != "numeric"})
        kinds = [_word(kind, precision(modifier(f)), kind in enums) for kind, f in zip(own, data.schema, strict=True)]
        return list(zip(data.column_names, kinds, strict=True))

    def _columns_of(self, named: list[str]) -> list[tuple[str, str]]:
        """Return name and type of the columns that the catalog knows.

        No right on the relation is needed, where SELECT * needs one on every column. A domain is the type beneath it,
        as it is in results.
        """
        query = (
            "WITH RECURSIVE found(place, title, type, modifier) AS "
            f"(SELECT attnum, attname, atttypid, atttypmod {_COLUMNS} "
            "UNION ALL SELECT place, title, typbasetype, typtypmod FROM found "
            "JOIN pg_catalog.pg_type t ON t.oid = type AND typtype = 'd') "
            "SELECT title, typname, modifier, typtype = 'e' FROM found "
            "JOIN pg_catalog.pg_type t ON t.oid = type AND typtype <> 'd' ORDER BY place"
        )
        found = self.engine.run("describe", query, named)
        return [(str(title), _word(str(kind), precision(int(size)), bool(enum))) for title, kind, size, enum in found]

    def _enums(self, kinds: set[str]) -> set[str]:
        """Return those of some types that are ENUMs."""
        if not kinds:
            return set()
        marks = ", ".join(f"${i}" for i in range(1, len(kinds) + 1))
        query = f"SELECT typname FROM pg_catalog.pg_type WHERE typtype = 'e' AND typname IN ({marks})"
        return {row[0] for row in self.engine.run("describe", query, sorted(kinds))}

    def source_table(self, name: str, catalog: str | None = None) -> exp.Table:
        if catalog is not None:
            raise UnsupportedError(
                "A session of PostgreSQL sees one database only.", hint="copy the table into the source's database."
            )
        parts = relation_parts(name, DIALECT)
        if len(parts) == 1 and (schemas := self.engine.default_schema):
            found = self._schemas_with(name, schemas)
            parts = [next((schema for schema in schemas if schema in found), schemas[0]), name]
        # the server lists none of its own relations as somebody's data
        if len(parts) > 1 and (parts[-2] == "information_schema" or parts[-2].startswith("pg_")):
            raise unlisted("UndefinedTable")
        if len(parts) > 1:
            self._refuse_code(parts[-2:])
        return table_reference(parts)

    def _schemas_with(self, name: str, schemas: Sequence[str]) -> set[str]:
        """Return those of some schemas that have a relation of this name which can be read."""
        marks = ", ".join(f"${place}" for place in range(2, len(schemas) + 2))
        query = (
            "SELECT nspname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace "
            f"WHERE relname = $1 AND relkind IN ({READABLE}) AND nspname IN ({marks})"
        )
        return {str(row[0]) for row in self.engine.run("find table", query, [name, *schemas])}

    def _refuse_code(self, named: list[str]) -> None:
        """Raise SourceError if to read a relation may call functions of others with the rights of an administrator."""
        if roles := self.engine.run("code", _CODE, named):
            raise SourceError(
                f"Whoever reads {named[1]!r} calls functions of {', '.join(repr(role) for (role,) in roles)}, and the "
                "role of the session has the rights of an administrator.",
                hint="connect as a role that may read the source, and has no other right on the server.",
            )

    def existing(self, where: Place) -> str | None:
        named = [where.schema, where.name]
        if found := self.engine.run("existing", f"SELECT relkind {NAMED_RELATION}", named):
            kind = KINDS.get(str(found[0][0]), "relation of another kind")
            if kind == "view":
                self._refuse_code(named)
            return kind
        types = (  # a table is a type too, and cannot be created beside another of its name
            "SELECT 1 FROM pg_catalog.pg_type JOIN pg_catalog.pg_namespace n ON n.oid = typnamespace "
            "WHERE nspname = $1 AND typname = $2 AND typcategory <> 'A'"
        )
        return "type" if self.engine.run("existing", types, named) else None

    def view_text(self, where: Place) -> str:
        query = f"SELECT pg_catalog.pg_get_viewdef(c.oid) {NAMED_RELATION} AND relkind = 'v'"
        rows = self.engine.run("existing", query, [where.schema, where.name])
        return str(rows[0][0]) if rows else ""

    def relations(self) -> list[str]:
        # those that the role can read a column of; those of the server are left out
        query = (
            "SELECT nspname, relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace "
            f"WHERE relkind IN ({READABLE}) AND nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%' "
            "AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') "
            "AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')"
        )
        found = [tuple(map(str, row)) for row in self.engine.run("relations", query)]
        near = [row[1:] if row[0] in self.engine.default_schema else row for row in found]
        return sorted(written_name(row, DIALECT) for row in near)

    def unreadable(self, relation: exp.Expr) -> list[str]:
        if (named := _named(relation)) is None:
            return []
        missing = "NOT pg_catalog.has_column_privilege(c.oid, attnum, 'SELECT')"
        rows = self.engine.run("rights", f"SELECT attname {_COLUMNS} AND {missing} ORDER BY attnum", named)
        return [str(title) for (title,) in rows]

    def hides_rows(self, relation: exp.Expr) -> bool:
        # What stands beneath a view is read with the rights of the view's owner, unless the view is a security_invoker.
        # A materialized view is read as it is stored. (A setting of the session refuses what this query cannot see,
        # such as what a function reads.)
        if (named := _named(relation)) is None:
            return False
        query = (
            f"{_SECURED} AND NOT r.rolsuper AND NOT r.rolbypassrls "
            "AND (c.relforcerowsecurity OR NOT pg_catalog.pg_has_role(r.oid, c.relowner, 'USAGE')) LIMIT 1"
        )
        return bool(self.engine.run("row security", query, named))

    def accept_visible_rows(self) -> None:
        self.engine.run("session", "SET row_security = on")

    def differs_by_reader(self, where: Place) -> bool:
        # also by one beneath it, as far as views show; a materialized view is read as it is stored
        return bool(self.engine.run("row security", f"{_SECURED} LIMIT 1", [where.schema, where.name]))


def _named(relation: exp.Expr) -> list[str] | None:
    """Return the schema and the name of a relation of the database; None for a working table, or a query."""
    return [relation.db, relation.name] if isinstance(relation, exp.Table) and relation.db else None


def _word(kind: str, size: tuple[int, int] | None, enum: bool) -> str:
    """Return a type of PostgreSQL in the words of policies."""
    if kind == "numeric":
        return f"DECIMAL({size[0]},{size[1]})" if size else "DECIMAL"
    return "ENUM" if enum else NAMED_TYPES.get(kind, kind.upper())
