"""The parts of the script of a plan, as trees, and the names of the tables that it makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import EncodedColumn
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.sqltrees import names

RELEASE = names.PREFIX + "release"
"""The table that a script publishes into; the operator renames it."""
STAGED = names.PREFIX + "released_entities"
"""The rows of a release with their entities, for the audits alone."""
NEIGHBOURS = 8
"""Most nodes that are judged beside the chosen one."""


def of_run(name: str, run: str) -> str:
    """Return the name that a table of ours has in the script of a run, so that no script drops or reads another's."""
    return f"{names.PREFIX}{run}_{name.removeprefix(names.PREFIX)}" if run else name


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptParts:
    """The parts of the script of a plan, as trees in DuckDB's types.

    Attributes:
        run: what the names of the script's tables hold, a word of its own for each script; empty: nothing.
        characters: how many the values of one scan have as text, of the columns that are read.
        records: those that were planned on.
        source: the relation that was planned on.
        source_name: the table that the policy names, as written; None for a file.
        entity: the column with the entity of a record; records without an entity (NULL) are no part of the source.
        types: the types of the encoded columns.
        items: the encoded columns, in their order.
        encoding: the names and statements that encoded the source.
        counts: a query of one row: the records of the source, and those that take part.
        batch: the statement that judges ``nodes``, its parameters as literals.
        nodes: the levels of each node of the batch, in words.
        release: the rows of the release.
        released: its columns.
        staged: the rows of the release with their entities, if the policy names an entity. The models are audited over
            them, and ``release`` selects from them.
        staged_audits: the names and statements of audits over the staged rows.
        audits: the names and statements of audits; each returns the offending rows.
        facts: lines about the plan for the head of the script.
    """

    run: str
    characters: int
    records: int
    source: exp.Expr
    source_name: str | None
    entity: str | None
    types: Mapping[str, str]
    items: Sequence[EncodedColumn]
    encoding: Sequence[tuple[str, exp.Expr]]
    counts: exp.Query
    batch: exp.Query
    nodes: Sequence[str]
    release: exp.Query
    released: Sequence[str]
    staged: exp.Query | None
    staged_audits: Sequence[tuple[str, exp.Query]]
    audits: Sequence[tuple[str, exp.Query]]
    facts: Sequence[str]


def neighbours(node: Node, heights: Sequence[int]) -> Iterator[Node]:
    """Yield the nodes that differ from ``node`` by one level of one attribute, the more specific one first."""
    for place, (level, height) in enumerate(zip(node, heights, strict=True)):
        for other in (level - 1, level + 1):
            if 0 <= other < height:
                yield (*node[:place], other, *node[place + 1 :])


def script_facts(catalog: Catalog, source: str | None) -> list[str]:
    """Describe the values on which the widths of the codes were measured, by counts only."""
    widths = [f"{a.name} {' > '.join(map(str, a.widths))}" for a in catalog.attributes]
    widths += [f"{s.name} {s.values}" for s in catalog.sensitive]
    return [
        f"The widths of the codes were measured on the {catalog.records} records of {source or 'a connection'}: "
        f"{catalog.excluded} of them excluded for a NULL, {catalog.uncovered} with a value that no hierarchy lists.",
        f"Distinct values by column, and by level of the quasi-identifiers: {'; '.join(widths)}.",
    ]
