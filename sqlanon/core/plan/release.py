"""A release: what was published of a plan, or would be."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.audit.release import audit_release
from sqlanon.core.cards import WithCard
from sqlanon.core.engines.duckdb.engine import DuckDBEngine, Relation, relation_of
from sqlanon.core.engines.duckdb.files import partitions_relation
from sqlanon.core.plan.plan_facts import Closing
from sqlanon.core.plan.planned import Planned
from sqlanon.core.policy.output import LAKES, Output
from sqlanon.core.policy.paths import is_database
from sqlanon.core.publish.frames import Frames
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.publish.papers import DIGESTS
from sqlanon.core.publish.recipient_certificate import recipient_document, recipient_text
from sqlanon.core.publish.targets import place
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.source.files import read_file
from sqlanon.core.source.opening import open_source
from sqlanon.core.source.recorded import Recorded
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import table

if TYPE_CHECKING:  # loaded when the risk or the utility of a release is asked for
    from sqlanon import RiskComparison, Utility

RELEASED = names.PREFIX + "release"
"""The table of a release that has no target."""


@dataclass(frozen=True, slots=True, repr=False)
class Release(WithCard, Closing, Frames):
    """A published (or, without an output, a described) release. A context manager that closes its plan.

    Attributes:
        levels: column -> generalization level; empty when several rules publish the records.
        ledger: accounting of every record.
        certificate: what is proven about the loss.
        manifest: what travels with the release: no values, small counts coarsened.
        output: what was written, ``{"view" | "live_view" | "table" | "file": name}``.
        verdict_sources: how many nodes of the search were judged from the base, and how many from which snapshot.
        recorded: what was written down in the ledger of releases; None without one.
        proof: the operator's certificate, which ``sqlanon verify`` runs again; it must not travel with the release.
            None when nothing is proven by boxes.
    """

    levels: dict[str, int]
    ledger: Ledger
    certificate: Certificate
    manifest: dict[str, Any]
    output: dict[str, str]
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    verdict_sources: dict[str, int]
    plan: Planned
    marker: str | None = None
    recorded: Recorded | None = None
    proof: Mapping[str, Any] | None = None
    _kind: str | None = None
    _target: str = ""
    _cache: list[pa.Table] = field(default_factory=list)
    _reading: Lock = field(default_factory=Lock, compare=False)

    def close(self) -> None:
        self.plan.close()

    @property
    def recipient_certificate(self) -> str | None:
        """The text of the certificate that travels with the release: it commits to the proof and does not reveal it.

        None when there is no proof.
        """
        if self.proof is None:
            return None
        document = recipient_document(self.proof, self.manifest["certificate"])
        return recipient_text(document, self.manifest.get(DIGESTS, {}).get("release"))

    @property
    def sql(self) -> str:
        """The replayable SQL script of the run, for the operator: it holds hierarchies and paths, never records; of an
        exact solution also the row types with their counts, as numbers."""
        return self.plan.script()

    def risk(
        self,
        *,
        k: int | None = None,
        population: str | os.PathLike[str] | None = None,
        population_table: str | None = None,
        population_size: int | None = None,
        weights: str | None = None,
        column_sets: bool = False,
    ) -> RiskComparison:
        """Return the risk of the source's records and of the release, as ``Plan.risk`` does; the plan must be open."""
        return self.plan.risk(
            k=k,
            population=population,
            population_table=population_table,
            population_size=population_size,
            weights=weights,
            column_sets=column_sets,
        )

    def utility(self, target: str | None = None, *, queries: int = 1000, seed: int = 1, ml: bool = False) -> Utility:
        """Measure what the release is still good for, as ``Plan.utility`` does, while its plan is open."""
        return self.plan.utility(target, queries=queries, seed=seed, ml=ml)

    def to_arrow(self) -> pa.Table:
        """Return the released rows: read from the target, or, without one, shuffled and audited in the engine.

        They are read once: what other threads ask for meanwhile, and what is asked for later, is the same table.
        """
        with self._reading:
            if not self._cache:
                self._cache.append(self._read())
            return self._cache[0]

    @property
    def relation(self) -> Relation:
        """The released rows as a relation of DuckDB: of the connection that was the source, or of the default one.

        It holds the released rows alone, and stays when the plan is closed.
        """
        return relation_of(self.to_arrow(), self.plan.engine)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the released rows as a stream of Arrow, which pandas, polars, pyarrow and DuckDB read."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _read(self) -> pa.Table:
        engine = self.plan.engine
        if self._kind == "file":
            return self._read_file(Path(self._target))
        if self._kind in LAKES:
            from sqlanon.core.publish.lakes import open_lake  # loaded by need

            frame = open_lake(Output(self._kind, self._target)).frame
            with open_source(frame, None) as opened:
                return opened.engine.arrow("read release", exp.select("*").from_(opened.relation))
        if self._kind is not None:
            written = place(engine, self._target, self.plan.source.target_catalog)
            return engine.arrow("read release", exp.select("*").from_(written.table))
        released = table(RELEASED)
        with self.plan._audited_rows() as (rows, claim):
            query = exp.select("*").from_(rows.query.subquery("release"))
            engine.create("release", RELEASED, query.order_by(exp.Rand()))
        try:
            audit_release(engine, released, claim)
            return engine.arrow("read release", exp.select("*").from_(released))
        finally:
            engine.drop(RELEASED)

    def _read_file(self, path: Path) -> pa.Table:
        known = self.plan.policy.extensions.format_of(path.suffix)
        if known is not None:
            return read_file(known[1], path, {}).read_all()
        if path.is_dir():
            return self._read_folder(path)
        with open_source(path, "release" if is_database(path.name) else None) as written:
            return written.engine.arrow("read release", exp.select("*").from_(written.relation))

    def _read_folder(self, path: Path) -> pa.Table:
        with closing(DuckDBEngine()) as engine:
            columns = [exp.column(item["name"], quoted=True) for item in self.manifest["columns"]]
            return engine.arrow("read release", exp.select(*columns).from_(partitions_relation(path)))
