"""The name of a relation as people write it: a word, or several with dots between, each quoted if need be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlanon.errors import EngineError, InputError


def relation_parts(name: str, dialect: str, *, alone: bool = True) -> list[str]:
    """Return the parts of a name: ``name``, ``schema.name`` or ``database.schema.name``.

    Args:
        dialect: sqlglot's name of the SQL whose quotes may be used.
        alone: a name without a dot is taken as it is, whatever its characters.

    Raises:
        InputError: it is no name, but another expression, or the beginning of one.
    """
    if alone and "." not in name:
        return [name]
    read: exp.Expr | None = None
    try:
        read = exp.to_table(name, dialect=dialect)
    except (SqlglotError, ValueError):  # sqlglot unpacks three parts, and there may be more
        read = None
    # a function, an alias or a sample is no part of a name, and would be left out silently
    # what cannot be parsed is taken apart at its dots
    given = {key for key, value in read.args.items() if value} if isinstance(read, exp.Table) else set()
    gaps = name.startswith(".") or ("catalog" in given and "db" not in given)
    if isinstance(read, exp.Table) and given <= {"this", "db", "catalog"} and not gaps:
        parts = list(read.parts)
        if len(parts) <= 3 and all(isinstance(part, exp.Identifier) and part.name.strip() for part in parts):
            return [part.name for part in parts]
    mark = exp.to_identifier("my table", quoted=True).sql(dialect=dialect)
    raise InputError(
        f"{name!r} is no name of a relation.",
        hint=f"write name or schema.name, and a part with other characters in quotes: schema.{mark}; a file is named "
        "as a source, not as a table.",
    )


def table_reference(parts: Iterable[str]) -> exp.Table:
    """Return the reference to a relation by the parts of its name, from the outermost."""
    identifiers = [exp.to_identifier(part, quoted=True) for part in parts]
    return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(identifiers), strict=False)))


def written_name(parts: Sequence[str], dialect: str) -> str:
    """Return a name as ``relation_parts`` reads it: a word alone as it is, of several each in quotes if need be."""
    if len(parts) == 1 and "." not in parts[0]:
        return parts[0]
    bare = [part.isidentifier() and part == part.lower() for part in parts]
    quotes = [exp.to_identifier(part, quoted=not plain) for part, plain in zip(parts, bare, strict=True)]
    return ".".join(part.sql(dialect=dialect) for part in quotes)


def unlisted(kind: str) -> EngineError:
    """Return the error of a name that the database does not list, whatever files there are.

    Args:
        kind: what the database calls it.
    """
    return EngineError(
        "The database lists no table or view of this name; a file is named as a source, not as a table.",
        hint="name a table or view that the database lists.",
        statement="relations",
        kind=kind,
    )
