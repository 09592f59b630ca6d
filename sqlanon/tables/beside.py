"""Refuse tables that publish columns which identify persons, beside the quasi-identifiers of all tables.

A column of one table can give away what another generalizes: the ward of a visit the age of the patient. So each table
is judged joined with those above it, in which every row belongs to one person, and values are counted by persons.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.core.audit.judged_columns import JudgedColumn, SourceColumn
from sqlanon.core.engines.base import Engine
from sqlanon.core.source.beside import compared, kind_of
from sqlanon.core.source.known import in_words, judge_published
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, equal, named, table
from sqlanon.errors import IdentifyingColumnError
from sqlanon.tables.policy import TablesPolicy


def judge_beside(engine: Engine, policy: TablesPolicy, types: Sequence[Mapping[str, str]]) -> list[str]:
    """Judge what the tables publish as it is, and return what the user should know of it.

    Args:
        types: per table, column -> type.

    Raises:
        IdentifyingColumnError: a column identifies persons, and its table does not accept it.
    """
    warnings: list[str] = []
    for position in range(len(policy.tables)):
        found = _judge(engine, policy, position, types)
        _refuse(policy, [item for item in found if item.identifies])
        for item in found:
            if item.identifies:
                warnings.append(
                    f"Published because the policy accepts it, though it identifies persons: {in_words([item])}."
                )
                continue
            warnings += [
                f"The column {item.name!r} is published, and from it follows what {name!r} was before it was "
                f"generalized: it spares {share:.1%} of the errors in guessing it."
                for name, share in item.determines.items()
            ]
    kept = [f"{t.name}.{c.name}" for t in policy.tables for c in t.policy.columns if c.role == "keep"]
    if kept and any(policy.published_keys):
        warnings.append(
            f"The rows of a person are linked by pseudonyms, so that {', '.join(map(repr, kept))} add up over them: "
            "anyone who knows some of these values of a person may find all of their rows, however many persons have "
            "the same tree of rows. Drop them, or declare them as quasi-identifiers."
        )
    return list(dict.fromkeys(warnings))


def _judge(
    engine: Engine, policy: TablesPolicy, position: int, types: Sequence[Mapping[str, str]]
) -> tuple[JudgedColumn, ...]:
    """Judge the columns that a table and those above it publish as they are, over the rows of the table."""
    chain = [position]
    while (parent := policy.tables[chain[-1]].parent) is not None:
        chain.append(parent)
    kept: list[SourceColumn] = []
    quasi: list[SourceColumn] = []
    shown: list[exp.Expr] = [column(names.PERSON, _alias(position))]
    for place in chain:
        item = policy.tables[place]
        for wanted in item.policy.columns:
            name = f"{item.name}.{wanted.name}"
            kind = types[place].get(wanted.name, "")
            if wanted.role == "quasi_identifier":
                quasi.append(
                    SourceColumn(name, wanted.role, value=compared(name, kind), generalized=wanted.max_level != 0)
                )
            elif wanted.role == "keep":
                kept.append(SourceColumn(name, "keep", kind_of(kind), compared(name, kind)))
            else:
                continue
            shown.append(named(column(wanted.name, _alias(place)), name))
    if not kept:
        return ()
    rows = exp.select(*shown).from_(table(names.linked(position), _alias(position)))
    for place, above in itertools.pairwise(chain):
        met = equal(column(names.PARENT_ROW, _alias(place)), column(names.OWN_ROW, _alias(above)))
        rows = rows.join(table(names.linked(above), _alias(above)), on=met)
    return judge_published(engine, rows.subquery("source"), kept, quasi, entity=column(names.PERSON), k=policy.k)


def _alias(position: int) -> str:
    return f"rows_{position}"


def _refuse(policy: TablesPolicy, identifying: Sequence[JudgedColumn]) -> None:
    """Raise IdentifyingColumnError for columns that are not accepted."""
    accepted = {f"{item.name}.{name}" for item in policy.tables for name in item.policy.accept}
    refused = [item for item in identifying if not {*item.names} <= accepted]
    if not refused:
        return
    raise IdentifyingColumnError(
        f"The policy publishes what identifies persons, beside its quasi-identifiers: {in_words(refused)}.",
        hint="give each the role drop, or make it a quasi-identifier with a hierarchy; where persons may be identified "
        "by it, list it under accept of its table.",
        columns={item.name: item.to_dict() for item in refused},
    )
