"""The wiring: policy and source in, plan and release out. The only module that knows all rooms."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlanon import names
from sqlanon.accounting import Ledger
from sqlanon.audit.models import ModelAudit
from sqlanon.audit.null_bias import NullBias, null_bias
from sqlanon.audit.nulls import NullAudit, audit_nulls
from sqlanon.audit.release import audit_release
from sqlanon.catalog import Catalog
from sqlanon.certificate import Certificate
from sqlanon.compiler import release as compiler
from sqlanon.compiler.class_sizes import class_sizes
from sqlanon.compiler.evaluate import Question
from sqlanon.compiler.trees import column, table
from sqlanon.driver import Watcher, search
from sqlanon.encoding import Encoding, check_columns, encode_source
from sqlanon.engines.duckdb import VERSION as DUCKDB_VERSION
from sqlanon.engines.duckdb import file_relation
from sqlanon.errors import InputError
from sqlanon.evaluator import Evaluator
from sqlanon.files import read_file
from sqlanon.formulation import formulate
from sqlanon.lattice import Node
from sqlanon.measures.base import Measure
from sqlanon.models import least_size
from sqlanon.policy import EngineOptions, Model, Output, Policy
from sqlanon.policy_source import open_policy_source
from sqlanon.proof import Proof
from sqlanon.publication import check_target, publish
from sqlanon.references import plan_audits
from sqlanon.report.manifest import manifest, write_manifest
from sqlanon.report.proof_file import proof_document, write_proof
from sqlanon.report.script import replayable_script
from sqlanon.search.base import Problem, Progress, Request, Verdict, rank
from sqlanon.snapshots import SnapshotStore
from sqlanon.sources import Source, open_source
from sqlanon.targets import CERTIFICATE, MANIFEST

VERSION = "0.1.0"

COMPARED_CLASSES = 20_000
"""A release of more classes is not audited for what its NULLs give away, which may compare each with each."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A node that meets the policy: its levels, its loss and what it suppresses."""

    levels: dict[str, int]
    loss: float
    suppressed: int
    classes: int
    smallest_class: int | None


@dataclass(slots=True)
class _Session:
    """What a plan and its offspring (``with_privacy``) share; closed with the first of them."""

    source: Source
    encoding: Encoding
    snapshots: SnapshotStore
    closed: bool = False

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.source.engine.close()


@dataclass(slots=True)
class Plan:
    """An encoded source with the best node found; publishes nothing by itself. A context manager.

    Attributes:
        policy: the policy it obeys.
        catalog: facts about the encoded source.
        solution: the best node.
        certificate: what is proven about it.
        proof: why, as boxes that cover the lattice; None when nothing is proven.
        search: effort of the search (``evaluated``).
        seconds: ``encode`` and ``search``.
        warnings: what the user should know.
    """

    policy: Policy
    catalog: Catalog
    solution: Solution
    certificate: Certificate
    proof: Proof | None
    search: Progress
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    node: Node
    _verdict: Verdict
    _session: _Session
    _evaluator: Evaluator
    _problem: Problem

    def __enter__(self) -> Plan:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop every temporary table and close the connection."""
        self._session.close()

    @property
    def ledger(self) -> Ledger:
        """Accounting of every record: records = published + suppressed + excluded."""
        return self._ledger(self._verdict)

    @property
    def proof_document(self) -> dict[str, Any] | None:
        """The certificate that anybody can run again (``sqlanon verify``); None when nothing is proven."""
        if self.proof is None:
            return None
        return proof_document(
            self.certificate,
            self.proof,
            self._problem,
            chosen=self.node,
            judged={verdict.node: verdict for verdict in self._evaluator.judged},
            withheld=self.ledger.hides(self._threshold),
            fingerprint=self.policy.fingerprint(),
            versions={"sqlanon": VERSION, "duckdb": DUCKDB_VERSION},
        )

    @property
    def statements(self) -> int:
        """Number of SQL statements so far."""
        return self._session.source.engine.journal.statements

    @property
    def snapshots(self) -> int:
        """Number of snapshots that were materialised so far."""
        return self._session.snapshots.materialised

    def _travelling(self, certified: Mapping[str, Any] | None) -> Certificate:
        """The certificate with the lower bound that the proof tells: that of a search that was stopped may rest on
        small counts."""
        if certified is None or certified["lower_bound"] is None:
            return self.certificate
        return replace(self.certificate, lower_bound=certified["lower_bound"], gap=certified["gap"])

    @property
    def verdict_sources(self) -> dict[str, int]:
        """How many nodes of the search were judged from which grain: ``base``, or ``snapshot`` with its levels."""
        return dict(self._evaluator.origins.most_common())

    def _ledger(self, verdict: Verdict) -> Ledger:
        catalog = self.catalog
        return Ledger(
            records=catalog.records,
            published=catalog.population - verdict.suppressed,
            suppressed=verdict.suppressed,
            excluded=catalog.excluded,
            reasons={
                "failing_class": verdict.suppressed - catalog.uncovered,
                "uncovered": catalog.uncovered,
                "null": catalog.excluded,
            },
            classes=verdict.classes,
            smallest_class=verdict.smallest,
            largest_class=verdict.largest,
        )

    def evaluate(self, levels: Mapping[str, int]) -> Verdict:
        """The verdict of any node; columns that are not named stay at level 0.

        ``suppressed`` is what the models suppress together, ``by_model`` what each would alone.

        Raises:
            InputError: an unknown column, or a level that its hierarchy does not have.
        """
        node = self._node(levels)
        return self._evaluator.judge([Request(node, self.catalog.bottom)], exact=True)[0]

    @property
    def suppressed_by_model(self) -> tuple[tuple[str, int], ...]:
        """Per privacy model, the records that it suppresses at the chosen node, were it alone."""
        return self.evaluate(self.solution.levels).by_model

    @property
    def attribute_losses(self) -> dict[str, float] | None:
        """Per quasi-identifier, its own loss at the chosen node, before weights and folding; None for measures of
        classes."""
        if self.certificate.aggregate is None:
            return None
        losses = self.evaluate(self.solution.levels).by_attribute
        return dict(zip(self.solution.levels, losses, strict=True))

    @property
    def source_name(self) -> str | None:
        """The name of the source's file, without its folder; None for an open connection."""
        path = self._session.source.path
        return path.name if path is not None else None

    def evaluate_many(self, nodes: Sequence[Mapping[str, int]]) -> list[Verdict]:
        """The verdicts of several nodes, in as few statements as possible."""
        bottom = self.catalog.bottom
        return self._evaluator.judge([Request(self._node(levels), bottom) for levels in nodes], exact=True)

    def node_sql(self, levels: Mapping[str, int]) -> str:
        """A readable GROUP BY for a node: one row per class with its number of records."""
        encoding = self._session.encoding
        query = compiler.readable_grain(encoding.source, encoding.items, self._node(levels), self._basic)
        return query.sql(dialect="duckdb", identify=True, pretty=True)

    def classes(self, levels: Mapping[str, int]) -> pa.Table:
        """The classes of a node, as ``node_sql`` gives them. For the operator: it holds values."""
        return self._session.source.engine.arrow("classes", self.node_sql(levels))

    def class_sizes(
        self, levels: Mapping[str, int] | None = None, *, published: bool = True
    ) -> tuple[tuple[int, int, int, int], ...]:
        """How large the published classes of a node are (by default the chosen one), or those that are suppressed.

        One ``(least, most, classes, records)`` a bucket that is not empty: the classes of ``least`` to ``most``
        records, which are a power of two and one less than the next.

        Raises:
            InputError: as ``evaluate``.
        """
        node = self.node if levels is None else self._node(levels)
        snapshot = self._session.snapshots.nearest(node)
        query = class_sizes(self.question, snapshot.table, node, published=published)
        rows = self._session.source.engine.run("class sizes", query)
        return tuple((least, most, classes, records) for least, most, classes, records in rows)

    def null_audit(self) -> NullAudit | None:
        """What an attacker gains who takes the NULLs of the release for wildcards; None when it holds none, or so many
        classes that comparing them would take long."""
        if self._basic or not 0 < self.solution.classes <= COMPARED_CLASSES:
            return None
        release = self._release_query().subquery("release")
        attributes = [a.name for a in self.catalog.attributes]
        found = audit_nulls(self._session.source.engine, release, attributes, k=self._threshold)
        return found if found.records_with_null else None

    def null_bias(self) -> NullBias | None:
        """How the columns change because the records with a NULL are left out (basic match); None when none is, or for
        δ-presence, where the source holds the population too."""
        if not self.catalog.excluded or self.catalog.has_population:
            return None
        encoding = self._session.encoding
        attributes = [a.name for a in self.catalog.attributes]
        told = [column.name for column in self.policy.columns if column.role != "drop"]
        return null_bias(self._session.source.engine, encoding.source, attributes, columns=told)

    def solutions(self, limit: int = 20) -> list[Solution]:
        """The best feasible nodes that were judged, best first."""
        return [_solution(self.catalog, v) for v in sorted(self.search.solutions, key=rank)[:limit]]

    def with_privacy(self, *privacy: Model) -> Plan:
        """A new search for other privacy models over the same encoded source; snapshots are reused.

        The plans share one connection: closing either closes both.
        """
        return self.with_policy(replace(self.policy, privacy=tuple(privacy)))

    def with_policy(self, policy: Policy) -> Plan:
        """A new search under another policy over the same encoded source; snapshots are reused.

        Models, limits, levels, weights, quality and search may differ; quasi-identifiers, sensitive columns with their
        hierarchies, the subset, and the treatment of NULLs and uncovered values may not. The plans share one
        connection: closing either closes both.

        Raises:
            InputError: the policy needs another encoding.
        """
        if _encoded_for(policy) != _encoded_for(self.policy):
            raise InputError(
                "The other policy differs in what was encoded (source, quasi-identifiers, sensitive columns, "
                "hierarchies, subset, NULLs or uncovered values).",
                hint="make a new plan for it.",
            )
        return _search(self._session, policy, {"encode": 0.0}, None)

    @property
    def release_sql(self) -> str:
        """The statement that gives the released rows, for the operator."""
        return self._release_query().sql(dialect="duckdb", identify=True, pretty=True)

    @property
    def question(self) -> Question:
        """What ``evaluate`` asks of a node."""
        return self._evaluator.question

    @property
    def _threshold(self) -> int:
        """The least size of a class that the models allow; smaller counts do not travel."""
        return least_size(self.policy.models)

    @property
    def _basic(self) -> bool:
        return self.policy.nulls == "basic"

    def _node(self, levels: Mapping[str, int]) -> Node:
        heights = {a.name: a.height for a in self.catalog.attributes}
        for name, level in levels.items():
            if name not in heights:
                raise InputError(
                    f"{name!r} is not a quasi-identifier of the policy.",
                    hint=f"the quasi-identifiers are {', '.join(map(repr, heights))}.",
                )
            if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level < heights[name]:
                raise InputError(
                    f"Column {name!r} has no such level; its levels are 0 to {heights[name] - 1}.",
                    hint="give a whole number in that range.",
                )
        return tuple(levels.get(name, 0) for name in heights)

    def _released(self) -> dict[str, str]:
        """The columns of the release with their types, in the order of the policy."""
        attributes = dict(zip((a.name for a in self.catalog.attributes), range(len(self.node)), strict=True))
        types: dict[str, str] = {}
        for item in self.policy.columns:
            if item.role == "drop":
                continue
            type_name = self._session.encoding.types[item.name]
            if type_name.upper().startswith("ENUM"):
                type_name = "VARCHAR"
            position = attributes.get(item.name)
            if position is not None:
                attribute = self.catalog.attributes[position]
                if not attribute.keeps_type[self.node[position]]:
                    type_name = "VARCHAR"
            types[item.name] = type_name
        return types

    def _release_query(self) -> exp.Query:
        encoding = self._session.encoding
        return compiler.release(
            encoding.source,
            encoding.items,
            self.question,
            self.node,
            basic=self._basic,
            published=self._released(),
            snapshot=names.BASE,
        )

    def _lookups(self) -> dict[str, exp.Expr]:
        """Per quasi-identifier, the relation of the texts that its chosen level publishes."""
        return {
            a.name: exp.select(
                exp.Alias(this=column(names.level(level)), alias=exp.to_identifier("value", quoted=True))
            )
            .distinct()
            .from_(table(names.lookup(position)))
            .subquery("lookup")
            for position, (a, level) in enumerate(zip(self.catalog.attributes, self.node, strict=True))
        }

    def _audits(self) -> list[ModelAudit]:
        """The audits of the policy's models, with what they are judged against."""
        return plan_audits(
            self.policy.models, self._session.encoding, self.catalog, self.node, self._released(), basic=self._basic
        )

    def publish(self, output: Output | None = None) -> Release:
        """Write the release, audit what was written, and put it in place; without an output, only describe it.

        Raises:
            AuditError: what was written does not satisfy the policy; nothing was published.
            SourceChangedError, TargetError: see there; nothing was published.
        """
        output = output or self.policy.output
        start = time.perf_counter()
        released = self._released()
        ledger = self.ledger
        target: dict[str, str] = {}
        marker = None
        if output is not None:
            publication = publish(
                self._session.source.engine,
                query=self._release_query(),
                columns=list(released),
                types=list(released.values()),
                quasi_identifiers=[a.name for a in self.catalog.attributes],
                models=self._audits(),
                nulls=self.policy.nulls,
                ledger=ledger,
                output_kind=output.kind,
                target=output.target,
                if_exists=self.policy.if_exists,
                suppressed=self.policy.suppressed,
                target_catalog=self._session.source.target_catalog,
                source_path=self._session.source.path,
                read=self._session.source.read,
                read_files=self._session.source.files,
                extensions=self.policy.extensions,
                lookups=self._lookups(),
                verify_source=self._session.source.verify,
            )
            target, marker = dict(publication.output), publication.marker
        certified = self.proof_document
        document = manifest(
            policy_fingerprint=self.policy.fingerprint(),
            levels=self.solution.levels,
            heights={a.name: a.height for a in self.catalog.attributes},
            ledger=ledger,
            certificate=self._travelling(certified),
            k=self._threshold,
            models=[
                *({"type": m.type, **dict(m.parameters)} for m in self.policy.privacy),
                *({"type": m.type, "column": c.name, **m.parameters} for c in self.policy.columns for m in c.models),
            ],
            columns={c.name: c.role for c in self.policy.columns if c.role != "drop"},
            output=target,
            versions={"sqlanon": VERSION, "duckdb": DUCKDB_VERSION},
        )
        if output is not None and output.kind == "file":
            write_manifest(document, Path(output.target + MANIFEST))
            if certified is not None:
                write_proof(certified, Path(output.target + CERTIFICATE))
        seconds = {**self.seconds, "publish": time.perf_counter() - start}
        return Release(
            levels=dict(self.solution.levels),
            ledger=ledger,
            certificate=self.certificate,
            manifest=document,
            output=target,
            seconds=seconds,
            warnings=self.warnings + _view_warning(output),
            verdict_sources=self.verdict_sources,
            plan=self,
            marker=marker,
            _kind=output.kind if output else None,
            _target=output.target if output else "",
        )

    def script(self) -> str:
        """The replayable SQL of the run, for the operator: encoding, base, the chosen node, and the release."""
        encoding = self._session.encoding
        statements = [
            (name, text if isinstance(text, str) else text()) for name, text in self._session.source.engine.replay
        ]
        grain = compiler.readable_grain(encoding.source, encoding.items, self.node, self._basic)
        statements.append(("classes of the chosen node", grain.sql(dialect="duckdb", identify=True, pretty=True)))
        statements.append(("release", self.release_sql))
        return replayable_script(statements)


@dataclass(frozen=True, slots=True)
class Release:
    """A published (or, without an output, a described) release. A context manager that closes its plan.

    Attributes:
        levels: column -> generalization level.
        ledger: accounting of every record.
        certificate: what is proven about the loss.
        manifest: what travels with the release: no values, small counts coarsened.
        output: what was written, ``{"view" | "table" | "file": name}``.
        verdict_sources: how many nodes of the search were judged from the base, and how many from which snapshot.
    """

    levels: dict[str, int]
    ledger: Ledger
    certificate: Certificate
    manifest: dict[str, Any]
    output: dict[str, str]
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    verdict_sources: dict[str, int]
    plan: Plan
    marker: str | None = None
    _kind: str | None = None
    _target: str = ""
    _cache: list[pa.Table] = field(default_factory=list)

    def __enter__(self) -> Release:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop every temporary table and close the connection."""
        self.plan.close()

    @property
    def sql(self) -> str:
        """The replayable SQL script of the run, for the operator: it holds hierarchies and paths, never records."""
        return self.plan.script()

    def to_arrow(self) -> pa.Table:
        """The released rows: read from the target, or, without one, made, shuffled and audited in memory."""
        if not self._cache:
            self._cache.append(self._read())
        return self._cache[0]

    def _read(self) -> pa.Table:
        engine = self.plan._session.source.engine
        if self._kind in ("view", "table"):
            return engine.arrow("read release", exp.select("*").from_(engine.source_table(self._target)))
        path = Path(self._target)
        if self._kind == "file" and path.suffix.lower() != ".duckdb":
            found = self.plan.policy.extensions.format_of(path.suffix)
            if found is not None:
                return read_file(found[1], path, {}).read_all()
            return engine.arrow("read release", exp.select("*").from_(file_relation(path, {})))
        if self._kind == "file":
            with open_source(path, "release") as written:
                return written.engine.arrow("read release", exp.select("*").from_(written.relation))
        released = "sqlanon_release"
        query = exp.select("*").from_(self.plan._release_query().subquery("release"))
        engine.create("release", released, query.order_by(exp.Rand()))
        attributes = [a.name for a in self.plan.catalog.attributes]
        try:
            audit_release(
                engine,
                table(released),
                columns=list(self.plan._released()),
                quasi_identifiers=attributes,
                models=self.plan._audits(),
                published=self.ledger.published,
                redacted=0,
                marker=None,
                nulls=self.plan.policy.nulls,
                lookups=self.plan._lookups(),
            )
            return engine.arrow("read release", exp.select("*").from_(table(released)))
        finally:
            engine.drop(released)


def _ignored_options(source: Source, policy: Policy) -> tuple[str, ...]:
    if source.path is not None or policy.engine == EngineOptions():
        return ()
    return ("The keys of engine do not apply to an open connection, which keeps its own settings.",)


def _ignored_aggregate(policy: Policy, measure: Measure) -> tuple[str, ...]:
    asked = policy.quality.aggregate
    if asked is None or asked in measure.aggregates:
        return ()
    return (f"The aggregate {asked} does not apply to {measure.name}, which has its own definition.",)


def _view_warning(output: Output | None) -> tuple[str, ...]:
    if output is None or output.kind == "file":
        return ()
    return (
        f"A {output.kind} in the source database protects nobody who can open that database; "
        "for hand-over publish a fresh file (output: {file: …}).",
    )


def _solution(catalog: Catalog, verdict: Verdict) -> Solution:
    return Solution(
        levels=catalog.levels(verdict.node),
        loss=verdict.loss,
        suppressed=verdict.suppressed,
        classes=verdict.classes,
        smallest_class=verdict.smallest,
    )


def plan(source: object, policy: Policy, *, watch: Watcher | None = None, writable: bool | None = None) -> Plan:
    """Encode a source and search its lattice; publishes nothing.

    Args:
        source: a path to a DuckDB, Parquet or CSV file, or an open DuckDB connection; None takes the policy's.
        watch: called after every batch of verdicts.
        writable: open a database file for writing; by default only if the policy's output goes into it.

    Raises:
        InputError and its children: the policy, a hierarchy or the source is unusable.
        NoSolutionError: no node meets the policy.
        SearchStoppedError: a limit was reached before any solution was found.
    """
    return _plan(source, policy, watch=watch, writable=writable, publishing=False)


def _plan(
    source: object, policy: Policy, *, watch: Watcher | None, writable: bool | None = None, publishing: bool
) -> Plan:
    """A plan; one that is to be published looks at its target before any work."""
    start = time.perf_counter()
    if writable is None:
        writable = policy.output is not None and policy.output.kind in ("view", "table")
    opened = open_policy_source(source, policy, writable=writable)
    try:
        if publishing and policy.output is not None:
            check_target(
                opened.engine,
                output_kind=policy.output.kind,
                target=policy.output.target,
                if_exists=policy.if_exists,
                target_catalog=opened.target_catalog,
                source_path=opened.path,
                read=opened.read,
                read_files=opened.files,
                extensions=policy.extensions,
            )
        check_columns(policy, opened.types)
        encoding = encode_source(opened.engine, opened.relation, policy, opened.types)
        session = _Session(opened, encoding, SnapshotStore(opened.engine, encoding.catalog))
        return _search(session, policy, {"encode": time.perf_counter() - start}, watch)
    except BaseException:
        opened.engine.close()
        raise


def _encoded_for(policy: Policy) -> tuple[object, ...]:
    """What the encoding of a source depends on; policies that agree in it can share one."""
    columns = tuple(
        (c.name, c.role, c.hierarchy, c.uncovered)
        for c in policy.columns
        if c.role in ("quasi_identifier", "sensitive")
    )
    source = policy.resolve(policy.source) if policy.source is not None else None
    joined = tuple(replace(j, source=policy.resolve(j.source)) if j.source is not None else j for j in policy.join)
    origin = (source, policy.table, dict(policy.csv), policy.formats, joined)
    foreign = (dict(policy.extensions.hierarchies), dict(policy.extensions.formats))
    return (*origin, columns, policy.nulls, policy.uncovered, policy.subset, foreign)


def _search(session: _Session, policy: Policy, seconds: dict[str, float], watch: Watcher | None) -> Plan:
    start = time.perf_counter()
    engine = session.source.engine
    problem, models = formulate(engine, session.encoding, policy)
    evaluator = Evaluator(engine, problem.catalog, session.snapshots, problem, models)
    with engine.side_by_side():
        found = search(problem, evaluator, policy.search, extensions=policy.extensions, watch=watch)
    return Plan(
        policy=policy,
        catalog=problem.catalog,
        solution=_solution(problem.catalog, found.verdict),
        certificate=found.certificate,
        proof=found.proof,
        search=found.progress,
        seconds={**seconds, "search": time.perf_counter() - start},
        warnings=session.source.warnings
        + session.encoding.warnings
        + _ignored_options(session.source, policy)
        + _ignored_aggregate(policy, problem.measure),
        node=found.verdict.node,
        _verdict=found.verdict,
        _session=session,
        _evaluator=evaluator,
        _problem=problem,
    )


def anonymize(source: object, policy: Policy, *, watch: Watcher | None = None) -> Release:
    """Plan and publish: the main job, from a table to an audited release with a proof.

    Raises:
        SqlanonError: see ``plan`` and ``Plan.publish``; on any error nothing is left behind.
    """
    made = _plan(source, policy, watch=watch, publishing=True)
    try:
        return made.publish()
    except BaseException:
        made.close()
        raise
