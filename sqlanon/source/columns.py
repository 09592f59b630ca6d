"""Check that the columns of a policy are in the source and can be anonymized."""

from __future__ import annotations

from collections.abc import Iterable

from sqlanon.errors import InputError, SourceError, UnsupportedError
from sqlanon.policy import Policy
from sqlanon.sqltrees import names

SCALAR_TYPES = (
    "VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
    "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S",
    "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "UUID", "ENUM",
)  # fmt: skip


def check_columns(policy: Policy, types: dict[str, str]) -> None:
    """Raise unless every declared column exists and every column of the source is declared (or ``undeclared: drop``).

    Raises:
        SourceError: a declared column is not in the source.
        InputError: a column of the source has no role.
        UnsupportedError: a quasi-identifier has a type without a canonical text.
    """
    declared = dict.fromkeys(c.name for c in policy.columns)
    if policy.entity is not None:
        declared[policy.entity] = None
    missing = [name for name in declared if name not in types]
    if missing:
        hint = f"its columns are {', '.join(map(repr, types))}; names are matched exactly."
        if len(missing) >= len(policy.columns):  # its first line may be a record
            hint = "check the table or, of a file, the format and that its first line names the columns."
        raise SourceError(
            f"The source has no column{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing))}.", hint=hint
        )
    refuse_prefix(types)
    undeclared = [name for name in types if name not in declared]
    if undeclared and policy.undeclared == "error":
        raise InputError(
            f"The columns {', '.join(map(repr, undeclared))} of the source have no role in the policy.",
            hint="give each a role (quasi_identifier, keep, drop), or set undeclared: drop.",
        )
    for item in (*policy.quasi_identifiers, *policy.sensitive):
        if not is_scalar(types[item.name]):
            raise UnsupportedError(
                f"Column {item.name!r} has the type {_base_type(types[item.name])}, which cannot be "
                f"{_article(item.role)}.",
                hint="cast it to text in a view of the source, or give the column the role drop.",
            )
    if policy.entity is not None and not is_scalar(types[policy.entity]):
        raise UnsupportedError(
            f"Column {policy.entity!r} has the type {_base_type(types[policy.entity])}, which cannot identify "
            "entities.",
            hint="cast it to text in a view of the source.",
        )


def is_scalar(type_name: str) -> bool:
    """Return True for a type whose values have a canonical text, and can be compared."""
    return _base_type(type_name) in SCALAR_TYPES and not type_name.endswith("]")


def refuse_prefix(columns: Iterable[str]) -> None:
    """Raise UnsupportedError if a column of the source has the prefix of our own names."""
    ours = [name for name in columns if name.casefold().startswith(names.PREFIX)]
    if ours:
        raise UnsupportedError(
            f"The source has columns with the prefix that sqlanon keeps for itself: {', '.join(map(repr, ours))}.",
            hint="rename them in a view of the source.",
        )


def without_enum(type_name: str) -> str:
    """Return the type by which the values of a column are compared: of an ENUM, whose values are texts, VARCHAR."""
    return "VARCHAR" if type_name.upper().startswith("ENUM") else type_name


def _base_type(type_name: str) -> str:
    return type_name.split("(")[0].upper()


def _article(role: str) -> str:
    return "a quasi-identifier" if role == "quasi_identifier" else "sensitive"
