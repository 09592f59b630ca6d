"""Refuse a policy that publishes columns which identify persons, and warn of what else protects nobody.

``core/audit/beside.py`` and ``core/source/known.py`` judge the columns; here are the policy's own facts, and what
follows from the figures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sqlanon.core.audit.judged_columns import JudgedColumn, SourceColumn
from sqlanon.core.engines.base import Engine
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models import for_source, least_count, least_size
from sqlanon.core.policy import Policy
from sqlanon.core.source.columns import is_scalar
from sqlanon.core.source.encoding import Encoding
from sqlanon.core.source.known import in_words, judge_published
from sqlanon.core.sqltrees.data_types import NUMBERS
from sqlanon.core.sqltrees.trees import canonical, column, lookup_rows, own_text
from sqlanon.errors import IdentifyingColumnError

MOMENTS = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")
BYTES = ("BLOB", "BYTEA", "BINARY")
NO_QUASI_IDENTIFIER = (
    "No column is a quasi-identifier: all records are one class, and the privacy models protect nobody against anyone "
    "who knows a column that is published."
)
CLASSES_OF_ONE = (
    "A class may hold a single record (k is 1, or no model asks for more): anyone who knows the quasi-identifiers of a "
    "person finds the record."
)


@dataclass(frozen=True, slots=True)
class BesideSource:
    """What was found beside the quasi-identifiers before any node was judged.

    Attributes:
        columns: those that are published as they are, or not at all.
        warnings: what the user should know of them.
    """

    columns: tuple[JudgedColumn, ...] = ()
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the findings for JSON; of what is not published, only what looks like an entity."""
        return {"columns": [item.to_dict() for item in self.columns if item.role != "drop" or item.entity_like]}


def judged_for(policy: Policy, other: Policy) -> bool:
    """Return whether the judgement of a source for another policy holds for a policy too, but for its warnings.

    It does where what the policy generalizes is generalized by the other too: less is given away, and nothing else.
    """
    return _judged_by(policy) == _judged_by(other) and _generalized(policy) <= _generalized(other)


def _judged_by(policy: Policy) -> tuple[object, ...]:
    columns = tuple((c.name, c.role, c.travels) for c in policy.columns)
    return (columns, policy.accept, policy.entity, policy.undeclared, least_count(policy.models))


def _generalized(policy: Policy) -> set[str]:
    return {item.name for item in policy.columns if item.max_level != 0}


def judge_source(engine: Engine, encoding: Encoding, policy: Policy) -> BesideSource:
    """Judge what a policy publishes beside its quasi-identifiers.

    Raises:
        IdentifyingColumnError: a column identifies persons, and the policy does not accept it.
    """
    types, source, generalized = encoding.types, encoding.source, _generalized(policy)
    roles = {item.name: item.role for item in policy.columns}
    travels = {item.name: item.travels.column for item in policy.columns if item.travels is not None}
    people = source.taking_part.members or source.population is not None
    lookups = {} if people else {item.name: lookup_rows(place) for place, item in enumerate(source.quasi.items)}
    quasi = [
        SourceColumn(
            name, "quasi_identifier", "text", compared(name, types[name]), name in generalized, counted=counted
        )
        for name, counted in ((item.name, lookups.get(item.name)) for item in policy.quasi_identifiers)
    ]
    beside = [
        SourceColumn(name, roles[name], kind_of(kind), compared(name, kind), travels=travels.get(name))
        for name, kind in types.items()
        if roles.get(name) in ("keep", "sensitive") and name != policy.entity
    ]
    beside += [  # as they are: a value that has no text, or cannot be compared, must not stop what does not publish it
        SourceColumn(name, "drop", kind_of(kind))
        for name, kind in types.items()
        if roles.get(name, "drop") == "drop" and name != policy.entity and is_scalar(kind)
    ]
    relation = exp.select("*").from_(source.relation.copy()).where(source.taking_part.condition()).subquery("source")
    entity = None if policy.entity is None else own_text(policy.entity, types[policy.entity])
    k, records = least_count(policy.models), encoding.catalog.records
    found = judge_published(engine, relation, beside, quasi, entity=entity, k=k, records=records)
    _refuse([item for item in found if item.identifies and not {*item.names} <= {*policy.accept}])
    return BesideSource(found, tuple(_warnings(policy, encoding.catalog, found)))


def rewarned(beside: BesideSource, policy: Policy, catalog: Catalog) -> BesideSource:
    """Return the findings for a policy that they were ``judged_for`` too, with its warnings."""
    generalized = _generalized(policy)
    columns = tuple(
        replace(item, determines={name: share for name, share in item.determines.items() if name in generalized})
        for item in beside.columns
    )
    return BesideSource(columns, tuple(_warnings(policy, catalog, columns)))


def _refuse(identifying: list[JudgedColumn]) -> None:
    if not identifying:
        return
    names = ", ".join(dict.fromkeys(name for item in identifying for name in item.names))
    raise IdentifyingColumnError(
        f"The policy publishes what identifies persons, beside its quasi-identifiers: {in_words(identifying)}.",
        hint="give each the role drop, or make it a quasi-identifier with a hierarchy; "
        f"{_travelling_cure(identifying)}{_entity_cure(identifying)}where persons may be identified by it, say "
        f"accept: [{names}].",
        columns={item.name: item.to_dict() for item in identifying},
    )


def _travelling_cure(identifying: list[JudgedColumn]) -> str:
    """Return, for columns that give a quasi-identifier away and could travel with it, how to say so."""
    pairs = [(item, name) for item in identifying if item.role == "keep" for name in item.gives_away]
    if not pairs:
        return ""
    item, name = pairs[0]
    return f"if {item.name!r} follows from {name!r} too, say {item.name}: {{role: keep, with: {name}}}; "


def _entity_cure(identifying: list[JudgedColumn]) -> str:
    """Return, for a column that repeats like the key of persons, how persons are counted instead of records."""
    keys = [item.name for item in identifying if item.repeats_like_a_key]
    return f"if it says whose record it is, drop it from columns and say entity: {keys[0]}; " if keys else ""


def _warnings(policy: Policy, catalog: Catalog, found: tuple[JudgedColumn, ...]) -> list[str]:
    warnings = [] if policy.quasi_identifiers else [NO_QUASI_IDENTIFIER]
    if least_size(for_source(policy.models, catalog)) == 1:
        warnings.append(CLASSES_OF_ONE)
    if accepted := [item for item in found if item.identifies]:
        warnings.append(f"Published because the policy accepts it, though it identifies persons: {in_words(accepted)}.")
    for item in found:
        if item.role == "drop" or item.identifies:
            continue
        for name, share in item.determines.items():
            warnings.append(
                f"The column {item.name!r} is published, and from it follows what {name!r} was before it was "
                f"generalized: it spares {share:.1%} of the errors in guessing it. If it follows from {name!r}, say "
                f"with: {name}, and it is blank where {name!r} is generalized further; else drop it, or make it a "
                "quasi-identifier."
            )
    return warnings


def compared(name: str, type_name: str) -> exp.Expr:
    """Return what the values of a column are compared by: themselves, or their text where that is what differs."""
    return canonical(name, type_name) if kind_of(type_name) == "text" else column(name)


def kind_of(type_name: str) -> str:
    """Return ``number``, ``moment``, ``bytes`` or ``text`` for the type of a column."""
    base = type_name.split("(", maxsplit=1)[0].upper()
    if not is_scalar(type_name):
        return "bytes" if base in BYTES and not type_name.endswith("]") else "text"
    return "number" if base in NUMBERS else "moment" if base in MOMENTS else "text"
