"""The entities of a source: their numbers, and how many there are with how many records."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.core.compiler import entities as compiler
from sqlanon.core.compiler.encoded_source import EncodedSource, EntityColumn
from sqlanon.core.engines.base import Engine
from sqlanon.core.policy import Policy
from sqlanon.core.sqltrees import names
from sqlanon.errors import InputError


def number_entities(engine: Engine, relation: exp.Expr, policy: Policy, types: dict[str, str]) -> EntityColumn | None:
    """Number the entities of the source and return their column; None for a policy without an entity.

    Raises:
        InputError: the entity of some records is NULL.
    """
    if policy.entity is None:
        return None
    entity = EntityColumn(policy.entity, types[policy.entity])
    missing = engine.run("records without an entity", compiler.records_without_entity(relation, entity))[0][0]
    if missing:
        raise InputError(
            f"The entity column {entity.name!r} is NULL in {missing} records, so that no entity is counted for them.",
            hint="fill it in, or leave such records out in a view of the source.",
        )
    engine.create("entities", names.ENTITIES, compiler.number_entities(relation, entity))
    return entity


def count_entities(engine: Engine, source: EncodedSource) -> tuple[int, int, tuple[tuple[int, int], ...]]:
    """Return the entities of the source, those that take part, and how many of them have how many records; zeros and
    nothing for a policy without an entity."""
    if source.entity is None:
        return 0, 0, ()
    counts = compiler.entity_counts(source.relation, source.entity, source.taking_part)
    entities, included = engine.run("count entities", counts)[0]
    shares = engine.run("records of entities", compiler.shares_of_records())
    return entities, included, tuple((int(records), int(persons)) for records, persons in shares)
