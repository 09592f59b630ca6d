"""Questions to PostgreSQL's catalogs about relations and roles; names are qualified, whatever the search path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlanon.errors import TargetError

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

SESSION = (
    "SELECT CAST(pg_catalog.current_setting('server_version_num') AS INTEGER), "
    "pg_catalog.current_setting('transaction_read_only'), pg_catalog.current_schemas(false)"
)
"""The server's version, whether the session only reads, and the schemas in which the role looks for relations."""
TIMEOUT = "SELECT CAST(setting AS BIGINT) FROM pg_catalog.pg_settings WHERE name = 'statement_timeout'"


def kind_of(ask: Ask, schema: str, name: str) -> str | None:
    """Return the kind of what has a name in a schema: one of ``KINDS``, ``type``, or None."""
    relations = (
        "SELECT relkind FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace "
        "WHERE nspname = $1 AND relname = $2"
    )
    found = ask("existing", relations, [schema, name])
    if found:
        return KINDS.get(str(found[0][0]), "relation of another kind")
    types = (  # a table is a type too, and cannot be created beside another of its name
        "SELECT 1 FROM pg_catalog.pg_type JOIN pg_catalog.pg_namespace n ON n.oid = typnamespace "
        "WHERE nspname = $1 AND typname = $2 AND typcategory <> 'A'"
    )
    return "type" if ask("existing", types, [schema, name]) else None


def schemas_with(ask: Ask, name: str, schemas: Sequence[str]) -> set[str]:
    """Return those of some schemas that have a relation of this name which can be read."""
    marks = ", ".join(f"${place}" for place in range(2, len(schemas) + 2))
    kinds = ", ".join(f"'{kind}'" for kind in READABLE)
    query = (
        "SELECT nspname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace "
        f"WHERE relname = $1 AND relkind IN ({kinds}) AND nspname IN ({marks})"
    )
    return {str(row[0]) for row in ask("find table", query, [name, *schemas])}


def has_row_security(ask: Ask, schema: str, name: str) -> bool:
    """Return True if a relation, or one beneath it as far as views show, has row-level security.

    A materialized view is read as it is stored.
    """
    query = (
        "WITH RECURSIVE beneath(oid) AS (SELECT c.oid FROM pg_catalog.pg_class c "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2 "
        "UNION SELECT d.refobjid FROM beneath "
        "JOIN pg_catalog.pg_class v ON v.oid = beneath.oid AND v.relkind = 'v' "
        "JOIN pg_catalog.pg_rewrite r ON r.ev_class = v.oid "
        "JOIN pg_catalog.pg_depend d ON d.classid = CAST('pg_catalog.pg_rewrite' AS pg_catalog.regclass) "
        "AND d.objid = r.oid AND d.refclassid = CAST('pg_catalog.pg_class' AS pg_catalog.regclass)) "
        "SELECT 1 FROM beneath JOIN pg_catalog.pg_class c ON c.oid = beneath.oid WHERE c.relrowsecurity LIMIT 1"
    )
    return bool(ask("row security", query, [schema, name]))


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
