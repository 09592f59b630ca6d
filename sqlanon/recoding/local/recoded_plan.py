"""Several rules for the records: patterns, or local recoding. A plan of what each of them publishes.

``names.ASSIGNED`` holds the rule that publishes a row type, ``names.RULES`` the levels of each rule; the release is one
statement over both (``recoding.compiler.recoded``), however the rules were chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler.class_sizes import count_by
from sqlanon.core.evaluate.session import Session
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.plan.full_domain import Solution
from sqlanon.core.plan.published import PublishedClasses, PublishedTypes
from sqlanon.core.plan.publishing import PublishablePlan
from sqlanon.core.plan.represented import NO_VALUES
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.sizes.histogram import SizeHistogram, as_buckets
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import NUMBERS
from sqlanon.errors import NoSolutionError
from sqlanon.recoding.compiler import recoded as compiler
from sqlanon.recoding.local.rules import Rule
from sqlanon.recoding.patterns.quality import PatternQuality, quality


@dataclass(slots=True, kw_only=True, repr=False)
class RecodedPlan(PublishablePlan):
    """An encoded source with the rules that publish its records. A context manager.

    Attributes:
        kind: ``patterns`` or ``local_recoding``.
        rules: the rules that publish records, in order.
        full_domain: the best single node, which local recoding began with; None for patterns and given nodes.
        full_domain_certificate: what is proven about that node.
        gains: the loss after each node that was chosen, in the order of choice.
        candidates: sets of nodes that were judged to choose them.
        seed: of what was left to chance; for the operator, since it makes the order of the rules known, and what was
            held back. None when nothing was.
        hold: the share of the records that chance held back (``holding``); 0: none.
        size: the least number of records of a class that a node takes; None for patterns of k-anonymity alone.
    """

    kind: str
    rules: tuple[Rule, ...]
    full_domain: Solution | None = None
    full_domain_certificate: Certificate | None = None
    gains: tuple[tuple[dict[str, int], float], ...] = ()
    candidates: int = 0
    seed: int | None = None
    hold: float = 0.0
    size: int | None = None
    _ledger: Ledger
    _split: bool = False
    _coded: bool = False
    _quality: list[PatternQuality] = field(default_factory=list)

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    @property
    def levels(self) -> dict[str, int]:
        return {}

    @property
    def published_levels(self) -> tuple[tuple[int, ...], ...]:
        return levels_of(self.catalog, self.rules)

    @property
    def statistics(self) -> dict[str, float]:
        return {"candidates": self.candidates} if self.candidates else {}

    @property
    def quality(self) -> PatternQuality | None:
        """Suppressions, usefulness and row types (the paper on patterns, section 3.3); None for local recoding."""
        if self.kind == "patterns" and not self._quality:
            types = self._session.encoding.types
            numeric = [a.name for a in self.catalog.attributes if types[a.name].split("(")[0].upper() in NUMBERS]
            self._quality.append(quality(self.engine, self.catalog, numeric=numeric))
        return self._quality[0] if self._quality else None

    def class_sizes(self, *, published: bool = True) -> tuple[tuple[int, int, int, int], ...]:
        """Return how large the published classes are; records that no rule publishes form none."""
        return as_buckets(self.published_classes().classes) if published else ()

    def published_classes(self) -> PublishedClasses:
        classes = compiler.published_classes(self.catalog, self.published_levels).subquery("classes")
        rows = self.engine.run("class sizes", count_by(classes, [names.COUNT]))
        ledger = self.ledger
        sizes = SizeHistogram.of(rows, suppressed=ledger.suppressed, excluded=ledger.excluded)
        return PublishedClasses(sizes, None, self._rows_with, self.generalized, None, by_chance=self._split)

    def _rows_with(self, published: Mapping[str, str]) -> exp.Query:
        return self.generalized_query(published)

    def suppressed_columns(self, rule: Rule) -> tuple[str, ...]:
        """Return the columns that a pattern suppresses."""
        return tuple(a.name for a, level in zip(self.catalog.attributes, rule.node, strict=True) if level)

    def describe(self, rule: Rule) -> str:
        """Return a rule in words: names of columns and numbers of levels."""
        if self.kind == "patterns":
            suppressed = self.suppressed_columns(rule)
            return f"suppresses {', '.join(suppressed)}" if suppressed else "keeps every column"
        levels = [f"{name} {level}" for name, level in self.catalog.levels(rule.node).items() if level]
        return ", ".join(levels) or "level 0 everywhere"

    def generalized_query(
        self, published: Mapping[str, str], *, entities: bool = False, values: Mapping[str, str] = NO_VALUES
    ) -> exp.Query:
        encoding = self._session.encoding
        return compiler.recoded_release(
            encoding.source,
            self.catalog,
            self.published_levels,
            published=published,
            split=self._split,
            coded=self._coded,
            travelling=self.travelling,
            values=values,
        )

    def _records_by_levels(self) -> list[tuple[Sequence[int], int]]:
        return [(rule.node, rule.records) for rule in self.rules]

    def published_types(self) -> PublishedTypes:
        from sqlanon.core.compiler.released_types import several_rules

        row_types = several_rules(self.catalog, split=self._split, coded=self._coded)
        return PublishedTypes(row_types, {rule.number: rule.node for rule in self.rules}, split=self._split)

    def _readable(self) -> list[tuple[str, exp.Query]]:
        return [("classes of the release", compiler.published_classes(self.catalog, self.published_levels))]

    def _recoding(self) -> dict[str, Any]:
        """Return the rules without their order, which only the operator may know, and the share that was held back.

        Each of their classes, and so each count, holds at least as many records as the models demand. What ``hold``
        promises is proven against who knows it.
        """
        rules = [
            {"levels": self.catalog.levels(rule.node), "records": rule.records, "classes": rule.classes}
            for rule in sorted(self.rules, key=lambda rule: rule.node)
        ]
        return {"rules": rules} | ({"hold": self.hold} if self.kind == "local_recoding" else {})


def levels_of(catalog: Catalog, rules: Sequence[Rule]) -> tuple[tuple[int, ...], ...]:
    """Return, per quasi-identifier, the levels of the rules, ascending."""
    return tuple(tuple(sorted({rule.node[i] for rule in rules})) for i in range(len(catalog.attributes)))


def load_rules(session: Session, catalog: Catalog, rules: Sequence[Rule]) -> None:
    """Load ``names.RULES``: the number of each rule and its levels."""
    columns: dict[str, Any] = {names.RULE: [rule.number for rule in rules]}
    for position in range(len(catalog.attributes)):
        columns[names.level(position)] = [rule.node[position] for rule in rules]
    data = pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})
    session.engine.drop(names.RULES)
    session.engine.load("rules", names.RULES, data)


def accounted(session: Session, catalog: Catalog, rules: Sequence[Rule]) -> Ledger:
    """Return the ledger of what the rules publish, counted in the classes that a reader of the release will see.

    Raises:
        NoSolutionError: nothing is published, or more records are suppressed than the policy allows.
    """
    classes = published = 0
    smallest = largest = None
    if rules:
        query = compiler.class_facts(catalog, levels_of(catalog, rules))
        classes, published, smallest, largest = session.engine.run("published classes", query)[0]
    suppressed = catalog.population - published
    if suppressed > catalog.allowed or not published:
        raise NoSolutionError(
            f"The rules would suppress {suppressed} of {catalog.population} records, and {catalog.allowed} may be.",
            hint="raise suppression_limit; for patterns say outliers: true, or allow more of them (where the greedy "
            "solver finds no solution, solver: exact may); for local recoding give more general nodes.",
            nearest={"levels": {}, "suppressed": suppressed, "allowed": catalog.allowed},
        )
    return Ledger.of(catalog, suppressed, classes=classes, smallest=smallest, largest=largest)
