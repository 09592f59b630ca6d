"""The classes of one node as its release shows them: those that the models leave, and their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlanon.core.compiler.class_sizes import class_sizes
from sqlanon.core.compiler.question import Question
from sqlanon.core.engines.base import Engine, Row
from sqlanon.core.evaluate.session import Session
from sqlanon.core.evaluate.settling import settle
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models.base import is_of_release
from sqlanon.core.sqltrees import names


def settled_question(engine: Engine, question: Question, node: Node) -> Question:
    """Return the question about one node, with the table of its classes where release models judge them."""
    if not any(map(is_of_release, question.models)):
        return question
    stem = f"{names.SETTLED}_{len(engine.replay)}"
    return replace(question, settled=settle(engine, question, node, names.BASE, stem, replayed=True).table)


def sizes_at(
    session: Session, question: Question, node: Node, *, published: bool, by: Sequence[str] = (names.COUNT,)
) -> list[Row]:
    """Return the published or the suppressed classes of a node by the counters ``by``, and how many have them."""
    engine, snapshot = session.judging, session.snapshots.nearest(node)
    if not any(map(is_of_release, question.models)):
        return engine.run("class sizes", class_sizes(question, snapshot.table, node, published=published, by=by))
    found = settle(engine, question, node, snapshot.table, f"{names.SETTLED}_sizes")
    query = class_sizes(replace(question, settled=found.table), snapshot.table, node, published=published, by=by)
    rows = engine.run("class sizes", query)
    found.drop()
    return rows
