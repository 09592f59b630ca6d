"""Open the table of a population beside the source of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sqlanon.assess.risk.measure import Sample
from sqlanon.core.audit.check import exact_columns
from sqlanon.core.audit.trees import compared_as_read
from sqlanon.core.engines.base import Engine
from sqlanon.core.source.files import Reading
from sqlanon.core.source.opening import Source, other_records, tables_hint
from sqlanon.core.sqltrees.trees import column, named
from sqlanon.errors import EngineError, SourceError, SqlanonError, instead_of

POPULATION = "sqlanon_risk_population"
"""What the database of a population is attached as, or the table that its file is read into."""


@dataclass(frozen=True, slots=True)
class PopulationTable:
    """Where the records of a population are.

    Attributes:
        source: a file, or a database file; None is the database of the sample.
        table: its relation, if it is a database.
        reading: how files are read.
    """

    source: str | None
    table: str | None = None
    reading: Reading = field(default_factory=Reading)

    def records(self, opened: Source) -> tuple[exp.Expr, dict[str, str]]:
        """Return the records and the types of their columns, in the engine of an open source.

        Raises:
            SourceError: there is no such file or table, or it cannot be read.
            UnsupportedError: the engine reads no other source.
        """
        engine = opened.engine
        hint = "check its path, its table and its format."
        unread = "The population cannot be read"
        with instead_of(EngineError, lambda error: SourceError(f"{unread} ({error.kind}).", hint=hint)):
            if self.source is None:
                assert self.table is not None
                relation: exp.Expr = engine.catalog.source_table(self.table)
                hint = tables_hint(engine, self.table) or hint
            else:
                engine.capabilities.require("several_sources")
                relation = other_records(opened, self.source, self.table, self.reading, name=POPULATION).relation
            return relation, dict(engine.catalog.columns(relation))


def population_sample(
    engine: Engine,
    records: tuple[exp.Expr, dict[str, str]],
    quasi_identifiers: Sequence[str],
    *,
    entity: str | None,
    basic: bool,
) -> Sample:
    """Return the table of a population with the names that its columns have in the sample.

    Args:
        entity: of the sample. Where the population has no such column, each of its records is an entity of its own.

    Raises:
        SourceError: it lacks a quasi-identifier.
    """
    relation, types = records
    found = exact_columns(types, "The population", quasi_identifiers)
    owner = None
    if entity is not None:
        try:
            [owner] = exact_columns(types, "The population", [entity])
        except SqlanonError:
            owner = None
    relation = compared_as_read(relation, types, entity=owner, quasi_identifiers=found)
    shown = dict(zip(found, quasi_identifiers, strict=True))
    if owner is not None and entity is not None:
        shown[owner] = entity
    cells: list[exp.Expr] = [named(column(own), name) for own, name in shown.items()]
    renamed = exp.select(*(cells or [exp.Star()])).from_(relation).subquery("population")
    kinds = {name: types[own] for own, name in shown.items()}
    return Sample(engine, renamed, tuple(quasi_identifiers), kinds, entity if owner is not None else None, basic)
