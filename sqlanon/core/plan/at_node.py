"""A plan that publishes all records at one node of the lattice: its verdict, its statements, its classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler import release as compiler
from sqlanon.core.compiler.batch import literal_batch
from sqlanon.core.compiler.class_sizes import risk_counters
from sqlanon.core.compiler.encoded_source import SOURCE
from sqlanon.core.compiler.question import Question
from sqlanon.core.compiler.released_types import one_rule
from sqlanon.core.engines.standalone import standalone
from sqlanon.core.evaluate.evaluator import Evaluator
from sqlanon.core.evaluate.node_classes import settled_question, sizes_at
from sqlanon.core.lattice.nodes import Node, node_of
from sqlanon.core.plan.keyed import keyed_columns, keyed_source, refuse_scripts
from sqlanon.core.plan.published import PublishedClasses, PublishedTypes
from sqlanon.core.plan.publishing import PublishablePlan
from sqlanon.core.plan.represented import NO_VALUES
from sqlanon.core.publish.ledger import Ledger, ledger_of
from sqlanon.core.search.base import Request, Verdict
from sqlanon.core.sizes.histogram import SizeHistogram, as_buckets, read_sizes
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, named, table


@dataclass(slots=True, kw_only=True, repr=False)
class NodePlan(PublishablePlan):
    """An encoded source that is published at one node. A context manager.

    Attributes:
        node: the levels, in the order of the policy.
    """

    node: Node
    _verdict: Verdict
    _evaluator: Evaluator

    @property
    def ledger(self) -> Ledger:
        ledger: Ledger = self._once("ledger", partial(ledger_of, self.catalog, self._verdict))
        return ledger

    @property
    def levels(self) -> dict[str, int]:
        return self.catalog.levels(self.node)

    @property
    def published_levels(self) -> tuple[tuple[int, ...], ...]:
        return tuple((level,) for level in self.node)

    @property
    def verdict_sources(self) -> dict[str, int]:
        return dict(self._evaluator.origins.most_common())

    def evaluate(self, levels: Mapping[str, int]) -> Verdict:
        """Return the verdict of any node; columns that are not named stay at level 0.

        ``suppressed`` is what the models suppress together, ``by_model`` what each would alone.

        Raises:
            InputError: an unknown column, or a level that its hierarchy does not have.
        """
        node = self._node(levels)
        return self._evaluator.judge([Request(node, self.catalog.bottom)], exact=True)[0]

    @property
    def suppressed_by_model(self) -> tuple[tuple[str, int], ...]:
        return self.evaluate(self.levels).by_model

    @property
    def attribute_losses(self) -> dict[str, float] | None:
        if self.certificate.aggregate is None:
            return None
        losses = self.evaluate(self.levels).by_attribute
        return dict(zip(self.levels, losses, strict=True))

    def evaluate_many(self, nodes: Sequence[Mapping[str, int]]) -> list[Verdict]:
        """Return the verdicts of several nodes, in as few statements as possible."""
        bottom = self.catalog.bottom
        return self._evaluator.judge([Request(self._node(levels), bottom) for levels in nodes], exact=True)

    def node_sql(self, levels: Mapping[str, int]) -> str:
        """Return a readable GROUP BY for a node: per class its records, and with an entity its distinct entities.

        It runs in any session of the source's database: the lookups that it reads are parts of it, a line each. For the
        operator: it holds the texts of hierarchies.
        """
        refuse_scripts(self._session)
        return standalone(self.engine, self._classes(levels))

    def classes(self, levels: Mapping[str, int]) -> pa.Table:
        """Return the classes of a node, as ``node_sql`` gives them. For the operator: it holds values."""
        return self.engine.arrow("classes", self._classes(levels))

    def verdict_sql(self, levels: Mapping[str, int]) -> str:
        """Return the statement that judges a node, for any session of the source's database, as ``node_sql`` is."""
        refuse_scripts(self._session)
        node = self._node(levels)
        return standalone(
            self.engine, literal_batch(settled_question(self.engine, self.question, node), [node], names.BASE)
        )

    def _classes(self, levels: Mapping[str, int]) -> exp.Query:
        return compiler.readable_grain(self._session.encoding.source, self._node(levels))

    def class_sizes(
        self, levels: Mapping[str, int] | None = None, *, published: bool = True
    ) -> tuple[tuple[int, int, int, int], ...]:
        """Return how large the classes of a node are (by default the chosen one): the published or the suppressed ones.

        Raises:
            InputError: as ``evaluate``.
        """
        node = self.node if levels is None else self._node(levels)
        return as_buckets(SizeHistogram.of(sizes_at(self._session, self.question, node, published=published)))

    def published_classes(self) -> PublishedClasses:
        catalog, suppressed = self.catalog, self.ledger.suppressed
        sizes = partial(sizes_at, self._session, self.question, self.node, by=risk_counters(catalog))
        if catalog.has_entity:  # who is suppressed in several classes counts once in each, as who is published
            suppressed = SizeHistogram.of(sizes(published=False)).records + catalog.uncovered
        classes, population = read_sizes(sizes(published=True), suppressed=suppressed, excluded=catalog.excluded)
        read = partial(self.generalized_query, of_source=True)
        return PublishedClasses(classes, population, read, self.generalized, self.node)

    @property
    def _settled_question(self) -> Question:
        """The question with what is published of the chosen node: the classes that release models left over."""
        return self._once("settled", lambda: settled_question(self.engine, self.question, self.node))

    @property
    def question(self) -> Question:
        """The question that every node is judged by."""
        return self._evaluator.question

    def _node(self, levels: Mapping[str, int]) -> Node:
        return node_of(levels, {a.name: a.height for a in self.catalog.attributes})

    def generalized_query(
        self,
        published: Mapping[str, str],
        *,
        entities: bool = False,
        values: Mapping[str, str] = NO_VALUES,
        of_source: bool = False,
    ) -> exp.Query:
        source, held_by = keyed_source(self._session, {} if of_source else published)
        instead: dict[str, exp.Expr] = {name: column(held, SOURCE) for name, held in held_by.items()}
        for name, item in self.travelling.items():
            if name in published:
                instead[name] = item.value(column(name, SOURCE), published[name], [self.node[item.position]])
        question, node = self._settled_question, self.node
        return compiler.release(
            source, question, node, published=published, entities=entities, values=values, instead=instead
        )

    def _rows_query(self) -> exp.Query:
        source, published, records = self._session.encoding.source, self.generalized, table(names.CODED)
        computed = self.represented or self.travelling or keyed_columns(self._session) is not None
        held = source.coded if self.engine.publishes_codes and not computed else None
        if held is None or not published.keys() <= {*self._quasi, *held}:
            return self._release_query()
        question, node = self._settled_question, self.node
        return compiler.coded_release(source, question, node, published=published, records=records, held=held)

    def _records_by_levels(self) -> list[tuple[Node, int]]:
        return [(self.node, self.ledger.published)]

    def published_types(self) -> PublishedTypes:
        return PublishedTypes(one_rule(self._settled_question, self.node), {0: self.node})

    def _counted_query(self, published: Mapping[str, str], copies: str) -> exp.Query:
        source, question = self._session.encoding.source, self._settled_question
        also = [named(column(names.COUNT, "passing"), copies)]
        return compiler.released_classes(source, question, self.node, published=published, also=also)

    def _readable(self) -> list[tuple[str, exp.Query]]:
        return [("classes of the chosen node", compiler.readable_grain(self._session.encoding.source, self.node))]
