"""Questions to PostgreSQL's catalogs about relations and roles; names are qualified, whatever the search path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlanon.errors import SourceError, TargetError

Ask = Callable[[str, str, Sequence[Any]], list[tuple[Any, ...]]]
"""A function that runs a named statement with its parameters and returns its rows."""

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
READABLE = ("r", "p", "v", "m", "f")
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


def is_of_the_server(schema: str) -> bool:
    """Return whether a schema belongs to the server, which lists none of its relations as somebody's data."""
    return schema == "information_schema" or schema.startswith("pg_")


def kind_of(ask: Ask, schema: str, name: str) -> str | None:
    """Return the kind of what has a name in a schema: one of ``KINDS``, ``type``, or None."""
    if found := ask("existing", f"SELECT relkind {NAMED_RELATION}", [schema, name]):
        return KINDS.get(str(found[0][0]), "relation of another kind")
    types = (  # a table is a type too, and cannot be created beside another of its name
        "SELECT 1 FROM pg_catalog.pg_type JOIN pg_catalog.pg_namespace n ON n.oid = typnamespace "
        "WHERE nspname = $1 AND typname = $2 AND typcategory <> 'A'"
    )
    return "type" if ask("existing", types, [schema, name]) else None


def readable_relations(ask: Ask) -> list[tuple[str, str]]:
    """Return schema and name of the relations that the role can read a column of, those of the server left out."""
    kinds = ", ".join(f"'{kind}'" for kind in READABLE)
    query = (
        "SELECT nspname, relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace "
        f"WHERE relkind IN ({kinds}) AND nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%' "
        "AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') "
        "AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')"
    )
    return [(str(schema), str(name)) for schema, name in ask("relations", query, [])]


def schemas_with(ask: Ask, name: str, schemas: Sequence[str]) -> set[str]:
    """Return those of some schemas that have a relation of this name which can be read."""
    marks = ", ".join(f"${place}" for place in range(2, len(schemas) + 2))
    kinds = ", ".join(f"'{kind}'" for kind in READABLE)
    query = (
        "SELECT nspname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace "
        f"WHERE relname = $1 AND relkind IN ({kinds}) AND nspname IN ({marks})"
    )
    return {str(row[0]) for row in ask("find table", query, [name, *schemas])}


def columns_of(ask: Ask, schema: str, name: str) -> list[tuple[str, str, int, bool]]:
    """Return name, type, modifier of the type and whether it is an ENUM, for each column of a relation, in order.

    No right on the relation is needed. A domain is the type beneath it, as it is in results.
    """
    query = (
        "WITH RECURSIVE found(place, title, type, modifier) AS "
        f"(SELECT attnum, attname, atttypid, atttypmod {_COLUMNS} "
        "UNION ALL SELECT place, title, typbasetype, typtypmod FROM found "
        "JOIN pg_catalog.pg_type t ON t.oid = type AND typtype = 'd') "
        "SELECT title, typname, modifier, typtype = 'e' FROM found "
        "JOIN pg_catalog.pg_type t ON t.oid = type AND typtype <> 'd' ORDER BY place"
    )
    return [(str(title), str(kind), int(modifier), bool(enum)) for title, kind, modifier, enum in ask(
        "describe", query, [schema, name]
    )]  # fmt: skip


def unreadable_columns(ask: Ask, schema: str, name: str) -> list[str]:
    """Return the columns of a relation that the session's role has no right to read."""
    query = (
        f"SELECT attname {_COLUMNS} AND NOT pg_catalog.has_column_privilege(c.oid, attnum, 'SELECT') ORDER BY attnum"
    )
    return [str(title) for (title,) in ask("rights", query, [schema, name])]


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


def hides_rows(ask: Ask, schema: str, name: str) -> bool:
    """Return True if row-level security, of a relation or of one beneath it as far as views show, applies to the role.

    What stands beneath a view is read with the rights of the view's owner, unless the view is a security_invoker. A
    materialized view is read as it is stored. (A setting of the session refuses what this query cannot see, such as
    what a function reads.)
    """
    query = (
        f"{_SECURED} AND NOT r.rolsuper AND NOT r.rolbypassrls "
        "AND (c.relforcerowsecurity OR NOT pg_catalog.pg_has_role(r.oid, c.relowner, 'USAGE')) LIMIT 1"
    )
    return bool(ask("row security", query, [schema, name]))


def has_row_security(ask: Ask, schema: str, name: str) -> bool:
    """Return True if a relation, or one beneath it as far as views show, has row-level security.

    A materialized view is read as it is stored.
    """
    return bool(ask("row security", f"{_SECURED} LIMIT 1", [schema, name]))


def refuse_code(ask: Ask, schema: str, name: str) -> None:
    """Raise SourceError if to read a relation may call functions of others with the rights of an administrator."""
    if roles := ask("code", _CODE, [schema, name]):
        raise SourceError(
            f"Whoever reads {name!r} calls functions of {', '.join(repr(role) for (role,) in roles)}, and the role of "
            "the session has the rights of an administrator.",
            hint="connect as a role that may read the source, and has no other right on the server.",
        )


def check_roles(ask: Ask, schema: str, owner: str | None, readers: Sequence[str]) -> None:
    """Raise TargetError if a role does not exist, or cannot be given a release in ``schema``."""
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
    if ask("role", query, [owner, schema]) == [(False,)]:
        raise TargetError(
            f"The owner {owner!r} may not have relations in the schema {schema!r}.",
            hint=f"let a role that may do so run: GRANT USAGE, CREATE ON SCHEMA {schema} TO {owner}.",
        )
