"""The next release in cohorts: the rows of the last one, without the records that go, and with those that come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlglot import exp

from sqlanon.core.audit.beside_release import BesideRelease
from sqlanon.core.compiler.class_sizes import count_by
from sqlanon.core.facts import Facts
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import AttributeMeasure, fold
from sqlanon.core.plan.beside import judge_release
from sqlanon.core.plan.published import PublishedClasses, PublishedTypes
from sqlanon.core.plan.publishing import PublishablePlan
from sqlanon.core.plan.represented import NO_VALUES
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.publish.order import ReleasedRows
from sqlanon.core.search.base import Problem
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.sizes.histogram import SizeHistogram, as_buckets
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import column, count_rows, named, table
from sqlanon.errors import UnsupportedError

STRATEGY = "cohorts"
"""What a certificate names as the strategy where records come and go, and nothing is searched."""


@dataclass(frozen=True, slots=True)
class CohortCounts(Facts):
    """The account of a release in cohorts. For the operator: its counts of records are exact.

    Attributes:
        joined: records that came, in cohorts.
        gone: records that went, with so many others of their cohort that they meet the models.
        withdrawn: records of cohorts of which too few were left.
        held: records that are shown as they were, though the source has changed or lost them.
        waiting: records of the source that may come later.
        erased: of those that went, records that were to be erased.
        along: of those that went, records that the source has as they were shown: others had to go, with enough.
    """

    joined: int
    gone: int
    withdrawn: int
    held: int
    waiting: int
    erased: int
    along: int


@dataclass(frozen=True, slots=True)
class CohortLedger(Ledger):
    """The account of a release in cohorts. What travels says nothing of the records that are not shown: from release to
    release, exact counts would say how many came and left.

    Attributes:
        counts: what the release did.
    """

    KEYS = f"{Ledger.KEYS} cohorts=moved"
    counts: CohortCounts | None = None

    @property
    def moved(self) -> Mapping[str, int]:
        return {} if self.counts is None else self.counts.to_dict()

    def coarsened(self, k: int) -> dict[str, Any]:
        document = Ledger.coarsened(self, k)
        withheld = dict.fromkeys(("suppressed", "excluded"), "withheld")
        return {**document, "records": None, **withheld, "reasons": dict.fromkeys(self.reasons, "withheld")}

    def hides(self, k: int) -> Literal[True]:
        return True


@dataclass(slots=True, kw_only=True, repr=False)
class CohortPlan(PublishablePlan):
    """The next state of releases in cohorts. A context manager.

    Attributes:
        chain: the nodes at which cohorts are published, each more general than the one before.
        records_at: how many records are published at each.
        state: its number, from 1.
        base: the number of the release in the ledger that it continues.
        counts: what it did.
        hold: in how many releases a row is shown at most that is true no longer.
    """

    chain: tuple[Node, ...]
    records_at: tuple[int, ...]
    state: int
    base: int
    counts: CohortCounts
    hold: int | None
    _account: Ledger

    @property
    def ledger(self) -> Ledger:
        return self._account

    @property
    def levels(self) -> dict[str, int]:
        return self.catalog.levels(self.chain[0]) if len(self.chain) == 1 else {}

    @property
    def published_levels(self) -> tuple[tuple[int, ...], ...]:
        return levels_of(self.chain)

    def published_types(self) -> PublishedTypes:
        raise UnsupportedError(
            "A release in cohorts shows records that the source has no longer, so its utility is not measured with it.",
            hint="measure it at the first release, or by a plan: sqlanon frontier.",
        )

    def _readable(self) -> list[tuple[str, exp.Query]]:
        raise UnsupportedError(
            "A release in cohorts follows from what its ledger holds; no script can repeat it.",
            hint="leave out --script.",
        )

    def published_classes(self) -> PublishedClasses:
        sizes = SizeHistogram.of(
            self.engine.run("class sizes", count_by(class_counts(self._quasi), [names.COUNT])),
            suppressed=self._account.suppressed,
            excluded=self._account.excluded,
        )
        return PublishedClasses(sizes, None, self.generalized_query, self.generalized, None)

    def class_sizes(self, *, published: bool = True) -> tuple[tuple[int, int, int, int], ...]:
        return as_buckets(self.published_classes().classes) if published else ()

    def generalized_query(
        self, published: Mapping[str, str], *, entities: bool = False, values: Mapping[str, str] = NO_VALUES
    ) -> exp.Query:
        cells = [
            named(column(name) if kind == "VARCHAR" else exp.cast(column(name), data_type(kind)), name)
            for name, kind in published.items()
        ]
        own = [named(column(names.RECORD), alias) for alias in values.values()]
        return exp.select(*cells, *own).from_(table(names.NEXT))

    def _judge_release(self) -> BesideRelease:
        session = self._session
        known = tuple(judged for judged in session.beside.columns if not judged.entity_like)  # others have no cells
        session = replace(session, beside=replace(session.beside, columns=known))

        return judge_release(session, self.generalized_query, self.generalized, self.ledger.published)

    def _rows(self, query: exp.Query) -> ReleasedRows:
        return ReleasedRows(query)

    def _records_by_levels(self) -> Sequence[tuple[Sequence[int], int]]:
        return list(zip(self.chain, self.records_at, strict=True))

    def _recoding(self) -> dict[str, Any]:
        """Return the facts of the cohorts that a recipient may see."""
        levels = [self.catalog.levels(node) for node in self.chain]
        return {"cohorts": {"levels": levels, "hold": self.hold, "rows": ROWS}}


ROWS = (
    "Records come and go in cohorts of at least k. Rows may be of records that have left the source or changed since: "
    "they are shown as they were until enough others of their cohort go with them."
)
"""What a recipient is told of the rows."""


def certificate_of(problem: Problem, chain: Sequence[Node], at: Mapping[int, int], records: int) -> Certificate:
    """Return a certificate that proves nothing; a record that is not shown has lost all.

    Args:
        at: how many records are shown at each place of the chain.
        records: all that could be shown.
    """
    measure, loss = problem.measure, 0.0
    if isinstance(measure, AttributeMeasure) and measure.ceiling == 1.0:
        own = [measure.floor(node) for node in chain]
        kept = [sum(n * (1 - own[place][i]) for place, n in at.items()) for i in range(len(problem.catalog.attributes))]
        weights = [attribute.weight for attribute in problem.catalog.attributes]
        loss = fold(measure.aggregate or "sum", [1 - each / records if records else 0.0 for each in kept], weights)
    return Certificate(measure.name, measure.aggregate, loss, None, None, False, STRATEGY, 0, problem.lattice.size)


def levels_of(chain: Sequence[Node]) -> tuple[tuple[int, ...], ...]:
    """Return, per quasi-identifier, the levels of the nodes of a chain, ascending."""
    return tuple(tuple(sorted(set(own))) for own in zip(*chain, strict=True))


def class_counts(quasi: Sequence[str]) -> exp.Expr:
    """Return the classes of the rows that are to be published, with how many records each has (``names.COUNT``)."""
    classes = exp.select(named(count_rows(), names.COUNT)).from_(table(names.NEXT))
    return (classes.group_by(*map(column, quasi)) if quasi else classes).subquery("classes")
