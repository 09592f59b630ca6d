"""What every plan has, whatever it does to the records: it is published, audited, described and replayed.

``Planned`` is a plan seen from its release; ``Release`` is what came of it.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.audit.models import ModelAudit
from sqlanon.audit.null_bias import NullBias, null_bias
from sqlanon.audit.nulls import NullAudit, audit_nulls
from sqlanon.engines.base import Engine
from sqlanon.errors import UnsupportedError
from sqlanon.evaluate.session import Closing, Session
from sqlanon.lattice.catalog import Catalog
from sqlanon.models import least_size
from sqlanon.plan.release import Release
from sqlanon.policy import Column, EngineOptions, Output, Policy
from sqlanon.policy.hierarchy.specs import HierarchySpec
from sqlanon.publish.ledger import Ledger
from sqlanon.publish.live.view import KIND, SNAPSHOT, WARNING
from sqlanon.publish.manifest import manifest, write_manifest
from sqlanon.publish.proof_file import write_proof
from sqlanon.publish.publication import Publication, publish
from sqlanon.publish.script import replayable_script
from sqlanon.publish.staging import staged_release
from sqlanon.publish.targets import CERTIFICATE, MANIFEST, Target
from sqlanon.search.certificate import Certificate
from sqlanon.source.columns import is_scalar
from sqlanon.source.opening import Source
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import column, named, table
from sqlanon.version import VERSION

COMPARED_CLASSES = 20_000
"""A release of more classes is not audited for what its NULLs give away, which may compare each with each."""


@dataclass(slots=True, kw_only=True)
class Planned(Closing):
    """An encoded source and what is to be published of it. A context manager.

    Attributes:
        policy: the policy it obeys.
        catalog: facts about the encoded source.
        certificate: what is proven about the loss.
        seconds: ``encode`` and ``search``.
        warnings: what the user should know.
    """

    policy: Policy
    catalog: Catalog
    certificate: Certificate
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    _session: Session

    def close(self) -> None:
        """Drop every temporary table and close the connection."""
        self._session.close()

    # -- what the kinds of plans differ in -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def ledger(self) -> Ledger:
        """Accounting of every record: records = published + suppressed + excluded."""

    @property
    @abstractmethod
    def levels(self) -> dict[str, int]:
        """The level of each quasi-identifier, where all records share one; otherwise empty."""

    @property
    @abstractmethod
    def published_levels(self) -> tuple[tuple[int, ...], ...]:
        """Per quasi-identifier, the levels at which records are published, ascending."""

    @abstractmethod
    def _release_query(self, *, entities: bool = False) -> exp.Query:
        """The released rows; with their ``entities``, where the plan counts them, for audits alone."""

    @contextmanager
    def _audited_rows(self) -> Iterator[tuple[exp.Query, list[ModelAudit]]]:
        """The released rows, and the audits of the models that are due once they are written.

        With an entity none is: the models were audited over the rows with their entities, which are staged.
        """
        if not self.catalog.has_entity:
            yield self._release_query(), self._audits()
            return
        with staged_release(
            self._session.engine,
            self._release_query(entities=True),
            columns=list(self._released()),
            quasi_identifiers=[a.name for a in self.catalog.attributes],
            models=self._audits(),
        ) as rows:
            yield rows, []

    @abstractmethod
    def _readable(self) -> list[tuple[str, exp.Query]]:
        """What ``readable`` gives; the script ends with it."""

    @abstractmethod
    def _audits(self) -> list[ModelAudit]:
        """The audits of the policy's models, with what they are judged against."""

    @property
    def suppressed_by_model(self) -> tuple[tuple[str, int], ...]:
        """Per privacy model, the records that it suppresses, were it alone; empty where that is not defined."""
        return ()

    @property
    def attribute_losses(self) -> dict[str, float] | None:
        """Per quasi-identifier, its own loss, before weights and folding; None where that is not defined."""
        return None

    @abstractmethod
    def class_sizes(self, *, published: bool = True) -> tuple[tuple[int, int, int, int], ...]:
        """How large the published classes are, or those that are suppressed.

        One ``(least, most, classes, records)`` a bucket that is not empty: the classes of ``least`` to ``most``
        records, which are a power of two and one less than the next.
        """

    @property
    def statistics(self) -> dict[str, float]:
        """What the strategy counts of its own work."""
        return {}

    def described_hierarchy(self, column: Column) -> HierarchySpec | None:
        """The hierarchy that a quasi-identifier was encoded with."""
        return column.hierarchy

    @property
    def verdict_sources(self) -> dict[str, int]:
        """How many nodes of the search were judged from which grain: ``base``, or ``snapshot`` with its levels."""
        return {}

    @property
    def snapshots(self) -> int:
        """Number of snapshots that were materialised so far."""
        return self._session.snapshots.materialised

    @property
    def proof_document(self) -> dict[str, Any] | None:
        """The certificate that anybody can run again (``sqlanon verify``); None when nothing is proven by boxes."""
        return None

    def _rules(self) -> list[dict[str, Any]] | None:
        """What the rules of the release do, for its manifest; None when one node publishes all records."""
        return None

    # -- what they share -----------------------------------------------------------------------------------------------

    @property
    def engine(self) -> Engine:
        """Where the source is."""
        return self._session.engine

    @property
    def source(self) -> Source:
        """The open source."""
        return self._session.source

    @property
    def released(self) -> dict[str, str]:
        """The columns of the release with their types, in the order of the policy."""
        return self._released()

    @property
    def statements(self) -> int:
        """Number of SQL statements so far."""
        return self._session.statements

    @property
    def source_name(self) -> str | None:
        """The name of the source's file, without its folder; None for an open connection."""
        path = self._session.source.path
        return path.name if path is not None else None

    @property
    def release_sql(self) -> str:
        """The statement that gives the released rows, for the operator."""
        return self._session.engine.render(self._release_query(), pretty=True)

    def null_audit(self) -> NullAudit | None:
        """What an attacker gains who takes the NULLs of the release for wildcards; None when it holds none, or so many
        classes that comparing them would take long, or the engine cannot tell."""
        if (
            not self.engine.has("null_audit")
            or self.policy.nulls == "basic"
            or not 0 < self.ledger.classes <= COMPARED_CLASSES
        ):
            return None
        release = self._release_query().subquery("release")
        attributes = [a.name for a in self.catalog.attributes]
        found = audit_nulls(self._session.engine, release, attributes, k=self._threshold)
        return found if found.records_with_null else None

    def null_bias(self) -> NullBias | None:
        """How the columns change because the records with a NULL are left out (basic match); None when none is, or for
        δ-presence, where the source holds the population too. Columns whose values cannot be compared (JSON) are not
        told of."""
        if not self.engine.has("null_audit") or not self.catalog.excluded or self.catalog.has_population:
            return None
        encoding = self._session.encoding
        attributes = [a.name for a in self.catalog.attributes]
        released = [column.name for column in self.policy.columns if column.role != "drop"]
        told = [name for name in released if is_scalar(encoding.types[name])]
        return null_bias(self._session.engine, encoding.source.relation, attributes, columns=told)

    @property
    def _threshold(self) -> int:
        """The least size of a class that the models allow; smaller counts do not travel."""
        return least_size(self.policy.models)

    def _released(self) -> dict[str, str]:
        """The columns of the release with their types, in the order of the policy."""
        positions = {a.name: position for position, a in enumerate(self.catalog.attributes)}
        types: dict[str, str] = {}
        for item in self.policy.columns:
            if item.role == "drop":
                continue
            type_name = self._session.encoding.types[item.name]
            if type_name.upper().startswith("ENUM"):
                type_name = "VARCHAR"
            position = positions.get(item.name)
            if position is not None:
                kept = self.catalog.attributes[position].keeps_type
                if not all(kept[level] for level in self.published_levels[position]):
                    type_name = "VARCHAR"
            types[item.name] = type_name
        return types

    def _lookups(self) -> dict[str, exp.Expr]:
        """Per quasi-identifier, the relation of the texts that its levels publish."""
        return {
            a.name: reduce(_or, [_texts(position, level) for level in levels]).subquery("lookup")
            for position, (a, levels) in enumerate(zip(self.catalog.attributes, self.published_levels, strict=True))
            if levels
        }

    def _publish_rows(self, output: Output, released: Mapping[str, str]) -> Publication:
        """Write, audit and put in place the released rows."""
        source = self._session.source
        with self._audited_rows() as (rows, audits):
            return publish(
                source.engine,
                Target.of(source, self.policy, output),
                query=rows,
                columns=list(released),
                types=list(released.values()),
                quasi_identifiers=[a.name for a in self.catalog.attributes],
                models=audits,
                copied=self.catalog.has_entity,
                nulls=self.policy.nulls,
                ledger=self.ledger,
                suppressed=self.policy.suppressed,
                lookups=self._lookups(),
                verify_source=source.verify,
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
        source = self._session.source
        if output is not None and output.kind == KIND:
            self._publish_live(output, released)
            target = {KIND: output.target}
        elif output is not None:
            publication = self._publish_rows(output, released)
            target, marker = dict(publication.output), publication.marker
        certified = self.proof_document
        document = manifest(
            policy_fingerprint=self.policy.fingerprint(),
            levels={
                a.name: list(levels) for a, levels in zip(self.catalog.attributes, self.published_levels, strict=True)
            },
            rules=self._rules(),
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
            versions=versions(source.engine),
        )
        if output is not None and output.kind == "file":
            write_manifest(document, Path(output.target + MANIFEST))
            if certified is not None:
                write_proof(certified, Path(output.target + CERTIFICATE))
        seconds = {**self.seconds, "publish": time.perf_counter() - start}
        return Release(
            levels=dict(self.levels),
            ledger=ledger,
            certificate=self.certificate,
            manifest=document,
            output=target,
            seconds=seconds,
            warnings=self.warnings + _access_warning(source.engine, output),
            verdict_sources=self.verdict_sources,
            plan=self,
            marker=marker,
            _kind=output.kind if output else None,
            _target=output.target if output else "",
        )

    def _publish_live(self, output: Output, released: Mapping[str, str]) -> None:
        """Put a live view in place of the release."""
        raise UnsupportedError("A live view publishes one node, no transformation.", hint=f"{SNAPSHOT}.")

    def _travelling(self, certified: Mapping[str, Any] | None) -> Certificate:
        """The certificate with the lower bound that the proof tells: that of a search that was stopped may rest on
        small counts."""
        if certified is None or certified["lower_bound"] is None:
            return self.certificate
        return replace(self.certificate, lower_bound=certified["lower_bound"], gap=certified["gap"])

    def readable(self) -> list[tuple[str, str]]:
        """Statements that a person can check the release by, with their names."""
        return [(name, self._session.engine.render(query, pretty=True)) for name, query in self._readable()]

    def script(self) -> str:
        """The replayable SQL of the run, for the operator: encoding, base, what the release rests on, and the rows."""
        engine = self._session.engine
        told = [(name, item if isinstance(item, exp.Expr) else item()) for name, item in engine.replay]
        statements = [("function of the session", text) for text in engine.preamble]
        statements += [(name, engine.render(statement)) for name, statement in told]
        statements += self.readable()
        statements.append(("release", self.release_sql))
        return replayable_script(statements)


def _texts(position: int, level: int) -> exp.Query:
    texts = exp.select(named(column(names.level(level)), "value"))
    return texts.distinct().from_(table(names.lookup(position)))


def _or(left: exp.Query, right: exp.Query) -> exp.Query:
    return exp.union(left, right, copy=False)


def versions(engine: Engine) -> dict[str, str]:
    """The versions of what made a release."""
    return {"sqlanon": VERSION, engine.capabilities.name.lower(): engine.version}


def ignored_options(source: Source, policy: Policy) -> tuple[str, ...]:
    """A warning when the policy sets an engine that is not ours."""
    if not source.borrowed or policy.engine == EngineOptions():
        return ()
    return ("The keys of engine do not apply to an open connection, which keeps its own settings.",)


def _access_warning(engine: Engine, output: Output | None) -> tuple[str, ...]:
    """Who can read a release in the database of its source."""
    if output is None or output.kind == "file":
        return ()
    live = (WARNING,) if output.kind == KIND else ()
    kind = output.kind.replace("_", " ")
    if not engine.has("roles"):
        return (
            *live,
            f"A {kind} in the source database protects nobody who can open that database; "
            "for hand-over publish a fresh file (output: {file: …}).",
        )
    if not output.readers:
        return (*live, f"Nobody but its owner may read the {kind}; name roles (output: {{…, readers: [role]}}).")
    return live
