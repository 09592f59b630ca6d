"""Live views with an epoch of the build before renewals: what they lack is added, and no row of theirs changes.

Such a view showed all groups at one node, noted everybody who left, and held rows for any number of states. So its
groups stand at the first place, no row is known to be outdated since an earlier state, and states are counted from now.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.base import Engine, Place
from sqlanon.core.engines.replay import rows_of
from sqlanon.core.publish.targets import FACT_COLUMNS, FROZEN, SHOWN
from sqlanon.core.sqltrees import names
from sqlanon.live.epochs import EPOCH, NUMBER, STATE, facts_of_epoch, read_state, same_state
from sqlanon.live.facts import Fact, levels_of


def is_earlier(facts: Sequence[Fact]) -> bool:
    """Return whether the facts are those of a view with an epoch that the build before renewals wrote."""
    return {name for kind, name, _ in facts if kind == EPOCH} == {NUMBER, STATE}


def bring_up(engine: Engine, where: Place, facts: Sequence[Fact], question: Sequence[Fact]) -> None:
    """Add to an earlier view what this build reads, in one transaction; nothing, if another session was faster.

    Args:
        question: of the policy that the view was created with.
    """
    found = read_state(engine, where)
    attributes = levels_of(facts)
    lookups = {
        name: where.named(lookup).table for kind, lookup, name in facts if kind == "lookup" and name in attributes
    }
    state = facts_of_epoch(where, number=int(found[NUMBER]), places=(lookups,))
    added = [fact for fact in state if fact[0] == EPOCH and fact[1] not in found]
    columns = zip(FACT_COLUMNS, zip(*added, *question, strict=True), strict=True)
    rows = rows_of(pa.table({name: pa.array(texts, pa.string()) for name, texts in columns}))
    with engine.transaction():
        if not same_state(engine, where, found):
            return
        for name, kind, value in (
            (names.NODE_PLACE, "INT", exp.Literal.number(0)),
            (names.SINCE, "BIGINT", exp.null()),
        ):
            default = exp.ColumnConstraint(kind=exp.DefaultColumnConstraint(this=value))
            defined = exp.ColumnDef(
                this=exp.to_identifier(name, quoted=True), kind=exp.DataType.build(kind), constraints=[default]
            )
            shown = where.named(where.name + SHOWN).table
            engine.run("bring up", exp.Alter(this=shown, kind="TABLE", actions=[defined]))
        engine.run("bring up", exp.Insert(this=where.named(where.name + FROZEN).table, expression=rows))
