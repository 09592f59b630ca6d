"""Persons of whom few rows are known: rounds by SQL until every sub-multiset of rows has k published persons."""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.core.compiler import known_rows as compiler
from sqlanon.core.compiler.question import Question
from sqlanon.core.engines.base import Engine
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models.profile_k import ProfileK


@dataclass(frozen=True, slots=True)
class SettledPersons:
    """The persons of one node, in a table with who fails (``compiler.profiles.settled``).

    Attributes:
        total: nothing beyond the counts of the table: whoever fails does so at every more special node.
    """

    engine: Engine
    table: str
    total: int = 0

    def drop(self) -> None:
        """Drop the table."""
        self.engine.drop(self.table)


def settle_persons(
    engine: Engine, question: Question, node: Node, grain: str, stem: str, *, replayed: bool
) -> SettledPersons:
    """Return the persons of a node, of whom those outside of the greatest valid set fail (``models.profile_k``)."""
    [model] = question.models  # a policy has no other beside it
    assert isinstance(model, ProfileK) and model.at_most is not None
    held, known, result = f"{stem}_units", f"{stem}_known", f"{stem}_persons"
    title = "settle persons"
    engine.create(title, held, compiler.units(question, node, grain, model.at_most), replayed=replayed)
    version = 0
    before = engine.create(title, f"{known}_0", compiler.chains(held, model.at_most), replayed=replayed)
    engine.drop(held)
    while True:
        query = compiler.remaining(f"{known}_{version}", model.at_most, model.k)
        left = engine.create(title, f"{known}_{version + 1}", query, replayed=replayed)
        engine.drop(f"{known}_{version}")
        version += 1
        if left == before:
            break
        before = left
    query = compiler.settled_persons(question, node, grain, f"{known}_{version}")
    engine.create(title, result, query, replayed=replayed)
    engine.drop(f"{known}_{version}")
    return SettledPersons(engine, result)
