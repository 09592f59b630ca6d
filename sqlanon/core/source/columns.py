"""Check that the columns of a policy are in the source and can be anonymized."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlanon.core.audit.check import refuse_reserved
from sqlanon.core.hierarchies.builders import levels
from sqlanon.core.hierarchies.specs import Ages, Dates, Intervals
from sqlanon.core.policy import Policy
from sqlanon.core.policy.ledger import person_column
from sqlanon.core.policy.suppression import encoded_policy
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import NUMBERS
from sqlanon.core.sqltrees.trees import column
from sqlanon.errors import InputError, SourceError, UnsupportedError, listing

SCALAR_TYPES = (
    "VARCHAR", "BOOLEAN", *NUMBERS, "DATE", "TIME", "TIME_NS", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS",
    "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "UUID", "ENUM",
)  # fmt: skip


def match_columns(source: Source, wanted: Sequence[str]) -> list[str]:
    """Return the exact names of columns of a source, matched in any case where no name is equal.

    Raises:
        SourceError: the source has no such column, or several that differ by case only.
    """
    matches = {name: names.matching(name, source.types) for name in wanted}
    missing = [name for name, found in matches.items() if not found]
    if missing:
        raise SourceError(
            f"The relation has no column{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing))}.",
            hint=_columns_hint(source, wanted),
        )
    several = [name for name, found in matches.items() if len(found) > 1]
    if several:
        raise SourceError(
            f"Several columns are called {', '.join(map(repr, several))}, in different cases.",
            hint="write the name as it stands in the relation.",
        )
    return [matches[name][0] for name in wanted]


def _columns_hint(source: Source, known: Iterable[str]) -> str:
    """Return a hint with the columns of a source. Those of a first line, which may be a record, are not repeated.

    Args:
        known: names that the user wrote.
    """
    if not source.header_line:
        return f"its columns are {listing(source.types)}."
    found = [name for name in dict.fromkeys(known) if name in source.types]
    named = f", of those that were named {', '.join(map(repr, found))}" if found else ""
    return (
        f"it has {len(source.types)} columns{named}; check csv: {{delimiter: …, skip: …}}, and that the first line "
        "of the file is a header that names the columns."
    )


def check_columns(policy: Policy, source: Source) -> None:
    """Raise unless every declared column exists and every column of the source is declared (or ``undeclared: drop``).

    Raises:
        SourceError: a declared column is not in the source.
        InputError: a column of the source has no role.
        UnsupportedError: columns have types that cannot be served; all of them are named.
    """
    types = source.types
    declared = dict.fromkeys(c.name for c in policy.columns)
    for name in _persons_of(policy):
        declared[name] = None
    missing = [name for name in declared if name not in types]
    if missing:
        raise SourceError(
            f"The source has no column{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing))}.",
            hint=f"{_columns_hint(source, declared)} Names are matched exactly.",
        )
    refuse_reserved(types, "source")
    undeclared = [name for name in types if name not in declared]
    if undeclared and policy.undeclared == "error":
        raise InputError(
            f"The columns {', '.join(map(repr, undeclared))} of the source have no role in the policy.",
            hint="give each a role (quasi_identifier, keep, drop), or set undeclared: drop.",
        )
    _refuse_unreadable(policy, source)
    _refuse_types(policy, types)


def _persons_of(policy: Policy) -> list[str]:
    """Return the columns that say whose a record is, or which: the entity, and the keys of a ledger and of epochs."""
    record = None if policy.output is None else policy.output.record
    return list(dict.fromkeys(name for name in (policy.entity, person_column(policy), record) if name is not None))


def _refuse_unreadable(policy: Policy, source: Source) -> None:
    """Raise SourceError if the session may not read a column that the policy needs."""
    needed = [c.name for c in policy.columns if c.role != "drop"]
    marks = (policy.subset or {}).get("column")
    needed += [*_persons_of(policy), *([] if marks is None else [marks])]
    withheld = [name for name in dict.fromkeys(needed) if name in source.unreadable]
    if withheld:
        raise SourceError(
            f"The role of the session may not read the column{'s' if len(withheld) > 1 else ''} "
            f"{', '.join(map(repr, withheld))} of the source.",
            hint="grant SELECT on them to the role, or give them the role drop in the policy.",
        )


def _refuse_types(policy: Policy, types: Mapping[str, str]) -> None:
    """Raise UnsupportedError with every column whose type cannot be served: by its role, or by its hierarchy."""
    faults: dict[str, str] = {}
    for item in (*policy.quasi_identifiers, *policy.sensitive):
        base = _base_type(types[item.name])
        if not is_scalar(types[item.name]):
            faults[f"Column {item.name!r} has the type {base}, which cannot be {_article(item.role)}."] = (
                "cast it to text in a view of the source, or give the column the role drop."
            )
    for name in _persons_of(policy):
        if not is_scalar(types[name]):
            what = "entities" if name == policy.entity else "records"
            faults[f"Column {name!r} has the type {_base_type(types[name])}, which cannot identify {what}."] = (
                "cast it to text in a view of the source."
            )
    encoded = encoded_policy(policy)  # where patterns are asked for, others than the policy's own
    for item in (*encoded.quasi_identifiers, *encoded.sensitive):
        if isinstance(item.hierarchy, Intervals | Dates | Ages) and is_scalar(types[item.name]):
            try:
                levels(item.hierarchy, column(item.name), without_enum(types[item.name]), longest=1)
            except InputError as error:
                faults[f"Column {item.name!r}: {error.message}"] = error.hint
    if faults:
        raise UnsupportedError(" ".join(faults), hint=" ".join(dict.fromkeys(faults.values())))


def is_scalar(type_name: str) -> bool:
    """Return True for a type whose values have a canonical text, and can be compared."""
    return _base_type(type_name) in SCALAR_TYPES and not type_name.endswith("]")


def without_enum(type_name: str) -> str:
    """Return the type by which the values of a column are compared: of an ENUM, whose values are texts, VARCHAR."""
    return "VARCHAR" if type_name.upper().startswith("ENUM") else type_name


def _base_type(type_name: str) -> str:
    return type_name.split("(", maxsplit=1)[0].upper()


def _article(role: str) -> str:
    return "a quasi-identifier" if role == "quasi_identifier" else "sensitive"
