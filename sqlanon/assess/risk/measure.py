"""Count the classes of a relation: one GROUP BY by the quasi-identifiers, grouped again by the size.

No record and no value of a quasi-identifier leaves the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlglot import exp

from sqlanon.assess.risk.individual import WeightedRisk, weighted_risk
from sqlanon.core.audit.models import seen_once
from sqlanon.core.audit.trees import any_of, compared_as_read
from sqlanon.core.engines.base import Engine
from sqlanon.core.sizes.histogram import PopulationClasses, SizeHistogram
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import both, canonical, column, count_if, count_rows, equal, is_null, named, not_null
from sqlanon.core.words import counted
from sqlanon.errors import EngineError, InputError

WEIGHT = names.PREFIX + "weight"
"""Our column of what a record stands for, beside the quasi-identifiers of a relation."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A relation whose classes are counted.

    Attributes:
        columns: its quasi-identifiers, by their exact names; without any, all records are one class.
        types: of all its columns.
        entity: the column whose distinct values are counted instead of records; records without one do not count.
        basic: records with a NULL in a quasi-identifier take no part.
    """

    engine: Engine
    relation: exp.Expr
    columns: tuple[str, ...]
    types: Mapping[str, str]
    entity: str | None = None
    basic: bool = False

    def histogram(self) -> SizeHistogram:
        """Return the classes by size."""
        columns: dict[str, Sequence[str]] = {"quasi_identifier": self.columns}
        file = "risk/class_sizes.sql"
        if self.entity is not None:
            file, columns["entity"] = "risk/class_sizes_of_entities.sql", [self.entity]
        query = bind(file, relations={"relation": self._as_read()}, columns=columns)
        return SizeHistogram.of(self.engine.run("class sizes", query), excluded=self.excluded())

    def count(self) -> int:
        """Return the number of records that take part, whatever is counted in classes."""
        query = exp.select(count_rows()).from_(self._as_read())
        return int(self.engine.run("records", query)[0][0])

    def entities(self, k: int) -> tuple[int, int]:
        """Return the number of distinct entities, and of those that stand in a class of fewer than k of them."""
        assert self.entity is not None
        query = bind(
            "risk/entities_in_small_classes.sql",
            relations={"relation": self._as_read()},
            columns={"quasi_identifier": self.columns, "entity": [self.entity]},
            values={"k": k},
        )
        entities, below = self.engine.run("entities in small classes", query)[0]
        return int(entities), int(below)

    def excluded(self) -> int:
        """Return the number of records that take no part because of a NULL (basic match)."""
        if not self.basic or not self.columns:
            return 0
        nulls = any_of(is_null(column(name)) for name in self.columns)
        query = exp.select(count_rows()).from_(self.relation.copy()).where(nulls)
        return int(self.engine.run("records with NULL", query)[0][0])

    def in_population(self, population: exp.Query | exp.Subquery) -> PopulationClasses:
        """Return the classes of the sample with their sizes in a population.

        Args:
            population: its members, as ``members`` gives them of a sample.

        Raises:
            InputError: a class of the sample has fewer members in the population, so that it is none of the sample.
        """
        query = bind(
            "risk/population_sizes.sql",
            relations={"sample": self.members(), "population": population},
            columns={"quasi_identifier": [member_key(i) for i in range(max(len(self.columns), 1))]},
        )
        rows = self.engine.run("population sizes", query)
        sizes = tuple(sorted((int(size), int(members), int(classes)) for size, members, classes in rows))
        return checked_population(sizes, "record" if self.entity is None else "entity")

    def weighted(self, weight: str) -> WeightedRisk:
        """Estimate the risk of the classes by the weights of their records.

        Of each class come back its size and the sum of its weights.

        Raises:
            InputError: a weight is missing, no number or not positive, or entities are counted.
        """
        if self.entity is not None:
            raise InputError(
                "Weights belong to records, and entities are counted.",
                hint="leave the entity or the weights out, or make a table of one record a person.",
            )
        value = column(weight)
        is_text = self.types[weight].split("(")[0].upper() in ("VARCHAR", "TEXT")
        number = exp.TryCast(this=value, to=exp.DataType.build("DOUBLE")) if is_text else exp.cast(value, "DOUBLE")
        relation = exp.select("*", named(number, WEIGHT)).from_(self._as_read()).subquery("weighted")
        query = bind(
            "risk/weighted_sizes.sql",
            relations={"relation": relation},
            columns={"quasi_identifier": self.columns, "record_weight": [WEIGHT]},
        )
        try:
            found = self.engine.arrow("weighted sizes", query)
        except EngineError:
            found = None
        if found is None:
            raise InputError(f"The column {weight!r} holds no numbers.", hint="name the column of survey weights.")
        size, total, unusable, classes = (np.asarray(part, dtype=np.float64) for part in found.itercolumns())
        bad = int(unusable @ classes) if len(unusable) else 0
        if bad or not np.isfinite(total).all():
            raise InputError(
                f"The weight {weight!r} of {bad or 'some'} records is missing, no number, or not positive.",
                hint="leave such records out in a view, or repair their weights: each is the number of people that a "
                "record stands for.",
            )
        held = (
            exp.select(named(count_rows(), names.COUNT))
            .from_(relation.copy())
            .group_by(column(WEIGHT))
            .subquery("weights")
        )
        one = equal(column(names.COUNT), exp.Literal.number(1))
        [(alone,)] = self.engine.run("weights alone", exp.select(count_if(one)).from_(held))
        return replace(weighted_risk(size, total, classes), alone=int(alone))

    def _as_read(self) -> exp.Expr:
        """Return the records that take part, whose values differ wherever a reader sees a difference."""
        relation = self.relation
        if self.basic and self.columns:
            complete = both(not_null(column(name)) for name in self.columns)
            relation = exp.select("*").from_(relation.copy()).where(complete).subquery("complete")
        return compared_as_read(relation, self.types, entity=self.entity, quasi_identifiers=self.columns)

    def members(self) -> exp.Subquery:
        """Return a row a member of each class: the texts of its quasi-identifiers, by ``member_key``."""
        relation = self._as_read()
        if self.entity is not None:
            relation = seen_once(relation, self.columns, self.entity)
        texts = [named(canonical(name, self.types[name]), member_key(i)) for i, name in enumerate(self.columns)]
        # of a relation without quasi-identifiers something has to be selected
        return exp.select(*(texts or [named(exp.null(), member_key(0))])).from_(relation).subquery("members")


def member_key(position: int) -> str:
    """Return the name of the text of the quasi-identifier at a position."""
    return f"{names.PREFIX}text_{position}"


def checked_population(sizes: Sequence[tuple[int, int, int]], unit: str) -> PopulationClasses:
    """Return the classes of a sample in its population.

    Raises:
        InputError: some class has fewer members in the population than in the sample.
    """
    absent = [(size, classes) for size, members, classes in sizes if members == 0]
    small = [(size, classes) for size, members, classes in sizes if 0 < members < size]
    if absent or small:
        missing, fewer = (sum(classes for _, classes in found) for found in (absent, small))
        parts = [
            f"{counted(missing, 'class')} of the sample {'is' if missing == 1 else 'are'} missing in it",
            f"{counted(fewer, 'class')} of the sample {'has' if fewer == 1 else 'have'} fewer members in it",
        ]
        listed = " and ".join(part for part, classes in zip(parts, (missing, fewer), strict=True) if classes)
        raise InputError(
            f"The table is no population of this sample: {listed}.",
            hint=f"name a table that holds every {unit} of the sample, with the quasi-identifiers written and "
            "generalized in the same way.",
        )
    return PopulationClasses(tuple(sizes))
