"""The name of a relation as people write it: a word, or some with dots between, quoted where that is needed."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlanon.errors import InputError


def relation_parts(name: str, dialect: str, *, alone: bool = True) -> list[str]:
    """The parts of a name: ``name``, ``schema.name`` or ``database.schema.name``.

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
    except SqlglotError:
        read = None
    # a function, an alias or a sample is no part of a name, and would be left out silently
    # what cannot be parsed is taken apart at its dots
    told = {key for key, value in read.args.items() if value} if isinstance(read, exp.Table) else set()
    gaps = name.startswith(".") or ("catalog" in told and "db" not in told)
    if isinstance(read, exp.Table) and told <= {"this", "db", "catalog"} and not gaps:
        parts = list(read.parts)
        if len(parts) <= 3 and all(isinstance(part, exp.Identifier) and part.name.strip() for part in parts):
            return [part.name for part in parts]
    mark = exp.to_identifier("my table", quoted=True).sql(dialect=dialect)
    raise InputError(
        f"{name!r} is no name of a relation.",
        hint=f"write name or schema.name, and a part with other characters in quotes: schema.{mark}.",
    )
