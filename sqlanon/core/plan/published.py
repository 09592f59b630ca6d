"""The published classes of a plan, as facts that questions of risk and utility are answered from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.compiler.released_types import published_values
from sqlanon.core.engines.base import Engine
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.sizes.histogram import PopulationClasses, SizeHistogram


@dataclass(frozen=True, slots=True)
class PublishedClasses:
    """The published classes, for the risk of a release.

    Attributes:
        classes: the published classes by size, and how many records are suppressed.
        population: the same classes in the population, where the plan knows it (δ-presence).
        rows: returns the released rows with columns of the source (name -> type) beside or in place of the released.
        types: of the released columns.
        node: the levels of all records; None where several rules publish them.
        by_chance: which of equal records a rule publishes is left to chance.
    """

    classes: SizeHistogram
    population: PopulationClasses | None
    rows: Callable[[Mapping[str, str]], exp.Query]
    types: Mapping[str, str]
    node: Node | None
    by_chance: bool = False


@dataclass(frozen=True, slots=True)
class PublishedTypes:
    """The row types of the source with what is published of them, for the utility of a release.

    Attributes:
        row_types: the query of the row types with their records and rule (``compiler.released_types``).
        rules: the node of each rule, by its number.
        split: rules share the records of a row type.
    """

    row_types: exp.Query
    rules: Mapping[int, Node]
    split: bool = False

    def count_values(self, engine: Engine, catalog: Catalog) -> dict[str, int]:
        """Return how many values are published of the quasi-identifiers that all rules publish at one level, NULL among
        them. A value whose records are all suppressed is none."""
        levels = {
            position: of_rules[0]
            for position, of_rules in enumerate(zip(*self.rules.values(), strict=True))
            if len({*of_rules}) == 1
        }
        if not levels:
            return {}
        [row] = engine.run("published values", published_values(catalog, self.row_types, levels))
        return {catalog.attributes[position].name: int(n) for position, n in zip(levels, row, strict=True)}
