"""The columns that a run would refuse to publish as they are, and the roles that they have instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from sqlanon.assess.profiling.facts import DROPPED, ColumnProfile
from sqlanon.assess.profiling.roles import KNOWABLE, K, refused
from sqlanon.assess.profiling.topics import is_constant
from sqlanon.assess.profiling.vocabulary import KNOWN
from sqlanon.core.audit.judged_columns import JudgedColumn, SourceColumn, repeats
from sqlanon.core.engines.base import Engine
from sqlanon.core.source.beside import compared, kind_of
from sqlanon.core.source.columns import is_scalar
from sqlanon.core.source.known import judge_published


def publishable(
    engine: Engine, relation: exp.Expr, types: Mapping[str, str], columns: list[ColumnProfile]
) -> list[ColumnProfile]:
    """Return the columns, with other roles for those that a run would refuse to publish as they are.

    Those that stay know what gives them away: a draft that generalized them would be refused.
    """

    def of(item: ColumnProfile) -> SourceColumn:
        value = compared(item.name, types[item.name])
        role = item.role if item.role in ("quasi_identifier", "sensitive", "keep") else "drop"
        return SourceColumn(item.name, role, kind_of(types[item.name]), value, travels=item.leader)

    unclear = [replace(of(item), role="keep") for item in columns if _may_name_persons(item)]
    named = {item.name: item for item in judge_published(engine, relation, unclear, [], k=K) if item.known}
    columns = [refused(item, named[item.name]) if item.name in named else item for item in columns]
    for _ in columns:  # each turn takes a column away from those that are kept
        quasi = [of(item) for item in columns if item.role == "quasi_identifier"]
        kept = [of(item) for item in columns if item.role in ("sensitive", "keep")]
        found = judge_published(engine, relation, kept, quasi, k=K)
        judged = {name: item for item in found if item.identifies for name in item.names}
        wrong = set(judged)
        if not wrong:
            break
        following = {name: {c.name for c in columns if c.leader == name} for name in wrong}
        columns = [
            refused(item, judged[item.name], following[item.name]) if item.name in wrong else item for item in columns
        ]
    free = [c for c in columns if c.role == "sensitive" or (c.role == "keep" and c.leader is None)]
    published = [of(item) for item in free]
    others = [of(item) for item in columns if item.role == "keep" and item.leader is None]
    alike = [replace(item, role="quasi_identifier") for item in others]
    judged = {item.name: item for item in judge_published(engine, relation, published, alike, k=K)} if alike else {}
    columns = [replace(c, follows_from=_givers(c.name, judged)) if c.role == "keep" else c for c in columns]
    quasi = [of(item) for item in columns if item.role == "quasi_identifier"]
    gone = [c for c in columns if c.role in DROPPED and c.topic != "sampling"]
    dropped = [of(item) for item in gone if is_scalar(item.type) and not item.nulls]
    constant = [item for item in columns if item.role == "quasi_identifier" and is_constant(item)]
    births = {item.name for item in constant if item.topic is None}  # a first name tells the sex
    stays = births or {item.name for item in constant}
    judged = {item.name: item for item in judge_published(engine, relation, dropped, quasi, k=K)}
    keys = {
        name: item
        for name, item in judged.items()
        if (repeats(item.values, item.records) and stays <= item.determines.keys() if stays else item.entity_like)
    }
    of_keys = [item for item in dropped if item.name in keys]
    published = [replace(of(item), role="quasi_identifier") for item in columns if item.role in ("keep", "sensitive")]
    same = judge_published(engine, relation, of_keys, [*quasi, *published], k=K) if of_keys and published else ()
    linked = {item.name: tuple(key.name for key in same if item.name in key.determines) for item in columns}
    columns = [replace(item, follows_from=(*item.follows_from, *linked[item.name])) for item in columns]
    return [replace(c, names_persons=len(keys[c.name].determines)) if c.name in keys else c for c in columns]


def _may_name_persons(found: ColumnProfile) -> bool:
    """Return whether texts are generalized of which nothing says that others know them: a level may show them whole."""
    known = found.looks_like in KNOWABLE or found.topic in KNOWN
    return found.role == "quasi_identifier" and found.reads_as == "text" and not known


def _givers(name: str, judged: Mapping[str, JudgedColumn]) -> tuple[str, ...]:
    """Return the columns, published as they are, that give another one away."""
    return tuple(giver for giver, found in judged.items() if giver != name and name in found.gives_away)
