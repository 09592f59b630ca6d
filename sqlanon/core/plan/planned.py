"""What every plan knows, whatever it does to the records: the facts of its release, its statements and its audits."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial, reduce
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeVar

from sqlglot import exp

from sqlanon.core.audit.beside_release import BesideRelease
from sqlanon.core.audit.models import ModelAudit
from sqlanon.core.audit.release import ReleaseClaim
from sqlanon.core.compiler.representatives import represented_texts
from sqlanon.core.doors import behind
from sqlanon.core.engines.base import Engine, replayed
from sqlanon.core.engines.standalone import standalone
from sqlanon.core.evaluate.session import Session
from sqlanon.core.hierarchies.specs import HierarchySpec
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models import for_source, least_count
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.plan.beside import judge_release, root_warnings, warnings_of
from sqlanon.core.plan.closing import Closing
from sqlanon.core.plan.keyed import claim_of_keyed, keyed_persons, keyed_warnings, note_keyed
from sqlanon.core.plan.published import PublishedClasses, PublishedTypes
from sqlanon.core.plan.represented import Representing, mean_warnings
from sqlanon.core.policy import Column, Policy
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.publish.order import ReleasedRows
from sqlanon.core.publish.references import plan_audits
from sqlanon.core.publish.script import replayable_script
from sqlanon.core.publish.staging import staged_release
from sqlanon.core.search.base import Verdict
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.sizes.histogram import SizeHistogram, in_buckets
from sqlanon.core.source.beside import BesideSource
from sqlanon.core.source.opening import Source
from sqlanon.core.source.recorded import Recording
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, lookup_rows, named, table
from sqlanon.errors import EngineError, UnsupportedError
from sqlanon.version import VERSION

if TYPE_CHECKING:  # what questions are answered with: their wing is loaded when one is asked
    from sqlanon import NullAudit, NullBias, RiskComparison, Utility

Measured = TypeVar("Measured")
STAGED = "staged rows"
"""The measurement of a plan that is the table of its released rows, as long as there is one."""


@dataclass(slots=True, kw_only=True)
class Planned(Representing, Closing):
    """An encoded source and what is to be published of it. A context manager.

    Attributes:
        catalog: facts about the encoded source.
        certificate: what is proven about the loss.
        seconds: ``encode`` and ``search``.
        warnings: what the user should know.
    """

    catalog: Catalog
    certificate: Certificate
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    _session: Session
    _measured: dict[str, Any] = field(default_factory=dict)

    def close(self) -> None:
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
    def published_types(self) -> PublishedTypes:
        """Return the row types of the source with what is published of them, for measurements alone."""

    @abstractmethod
    def _readable(self) -> list[tuple[str, exp.Query]]:
        """Return the statements of ``readable``; the script ends with them."""

    @abstractmethod
    def published_classes(self) -> PublishedClasses:
        """Return the published classes by size, and what else the risk of the release is measured from."""

    @abstractmethod
    def class_sizes(self, *, published: bool = True) -> tuple[tuple[int, int, int, int], ...]:
        """Return how large the published classes are, or those that are suppressed.

        One ``(least, most, classes, records)`` a bucket that is not empty: the classes of ``least`` to ``most``
        records, which are a power of two and one less than the next.
        """

    @property
    def suppressed_by_model(self) -> tuple[tuple[str, int], ...]:
        """Per privacy model, the records that it suppresses, were it alone; empty where that is not defined."""
        return ()

    @property
    def attribute_losses(self) -> dict[str, float] | None:
        """Per quasi-identifier, its own loss, before weights and folding; None where that is not defined."""
        return None

    @property
    def statistics(self) -> dict[str, float]:
        """Counts of the strategy's own work."""
        return {}

    @property
    def verdict_sources(self) -> dict[str, int]:
        """How many nodes of the search were judged from which grain: ``base``, or ``snapshot`` with its levels."""
        return {}

    @property
    def nothing_left(self) -> tuple[str, ...]:
        """The quasi-identifiers with several values in the source of which the release keeps none apart."""
        return tuple(
            a.name
            for a, levels in zip(self.catalog.attributes, self.published_levels, strict=True)
            if self.catalog.fully_suppressed(a, levels)
        )

    def cost_to_keep(self, name: str) -> Verdict | None:
        """Return the verdict of a node that keeps something of a column of ``nothing_left``; None when none is known.

        It shows what keeping the column costs at most, or what stands in the way; nothing is proven by it.
        """
        return None

    @property
    def proof_document(self) -> dict[str, Any] | None:
        """The certificate that anybody can run again (``sqlanon verify``); None when nothing is proven by boxes."""
        return None

    def _recoding(self) -> dict[str, Any]:
        """Return what the rules of the release do, for its manifest; nothing when one node publishes all records."""
        return {}

    # -- what they share -----------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The policy with its open source and the source's encoding, for questions about the plan."""
        return self._session

    @property
    def policy(self) -> Policy:
        """The policy that the plan obeys."""
        return self._session.policy

    @property
    def engine(self) -> Engine:
        """Where the source is."""
        return self._session.engine

    @property
    def source(self) -> Source:
        """The open source."""
        return self._session.source

    @property
    def source_name(self) -> str | None:
        """The name of the source's file, without its folder, or what a frame is called; None for an open connection."""
        return self._session.source.name

    @property
    def snapshots(self) -> int:
        """Number of snapshots that were materialised so far."""
        return self._session.grains_kept

    @property
    def statements(self) -> int:
        """Number of SQL statements so far."""
        return self._session.statements

    @property
    def generalized(self) -> dict[str, str]:
        """The columns of the source that are published, with the types of what they are generalized to."""
        positions = {a.name: position for position, a in enumerate(self.catalog.attributes)}
        types: dict[str, str] = {}
        for item in self.policy.columns:
            if item.role == "drop":
                continue
            type_name = self._session.encoding.types[item.name]
            if type_name.upper().startswith("ENUM") or item.role == "pseudonym":
                type_name = "VARCHAR"
            position = positions.get(item.name)
            if position is not None:
                kept = self.catalog.attributes[position].keeps_type
                if not all(kept[level] for level in self.published_levels[position]):
                    type_name = "VARCHAR"
            types[item.name] = type_name
        return types

    @property
    def release_sql(self) -> str:
        """The statement that gives the released rows, for the operator."""
        return self.engine.render(self._release_query(), pretty=True)

    def described_hierarchy(self, column: Column) -> HierarchySpec | None:
        """Return the hierarchy that a quasi-identifier was encoded with; patterns know one level above the values."""
        return {c.name: c.hierarchy for c in self._session.encoded_policy.columns}[column.name]

    def audit_source(self) -> None:
        """Measure ``null_audit`` and ``null_bias`` now, while the source is read as it was planned on.

        A publication in the source's database ends that.
        """
        with suppress(UnsupportedError):  # raised again by whoever asks
            self.null_audit()
        self.null_bias()

    def _once(self, name: str, measure: Callable[[], Measured]) -> Measured:
        """Return what a measurement of the plan gives, which is made when it is first asked for."""
        if name not in self._measured:
            self._measured[name] = measure()
        measured: Measured = self._measured[name]
        return measured

    def encoded_column(self, column: Column) -> Column:
        """Return a column as it was encoded: with the width of its texts, where the policy leaves that to the data."""
        return self._session.encoding.columns[column.name].spec

    def null_audit(self) -> NullAudit | None:
        """Measure what an attacker gains who takes the NULLs of the release for wildcards; None when it holds none, or
        so many classes that comparing them would take long, or the engine cannot measure it."""
        found: NullAudit | None = self._once("null audit", partial(behind("null audit"), self))
        return found

    @property
    def beside_source(self) -> BesideSource:
        """What was found beside the quasi-identifiers of the source."""
        return self._session.beside

    @property
    def beside_release(self) -> BesideRelease:
        """What the release gives away beside its quasi-identifiers, counted when it is first asked for."""
        return self._once("beside", self._judge_release)

    def _judge_release(self) -> BesideRelease:
        def rows(published: Mapping[str, str]) -> tuple[exp.Query, bool]:
            if not self.catalog.has_entity and published.keys() <= self.released.keys():
                return exp.select(*map(column, published)).from_(self._once(STAGED, self._stage)), True
            return self.generalized_query(published, entities=self.catalog.has_entity), False

        return judge_release(self._session, rows, self.generalized, self.ledger.published)

    def _stage(self) -> exp.Expr:
        """Write the released rows to a working table of this plan's own, from which they are published too."""
        staged = f"{names.STAGED_RELEASE}_{token_hex(4)}"
        self.engine.create("stage release", staged, self._release_query(), replayed=False)
        return table(staged)

    def _drop_staged(self) -> None:
        """Drop rows that were staged, so that the release is read from the source as it is."""
        if (staged := self._measured.pop(STAGED, None)) is not None:
            self.engine.drop(staged.name)

    @property
    def beside(self) -> dict[str, Any]:
        """What was found beside the quasi-identifiers, of the source and of the release: the key ``beside`` of
        ``run --json``. For the operator: its counts are exact."""
        return {**self.beside_source.to_dict(), **self.beside_release.to_dict()}

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """What the user should know, of the release too."""
        found = warnings_of(self.beside_release, self._session, self.catalog)
        found += self._blank_warnings + mean_warnings(self.policy) + root_warnings(self.catalog, self.certificate)
        return self.warnings + found + keyed_warnings(self.policy, self._session.encoding.types)

    def null_bias(self) -> NullBias | None:
        """Measure how the columns change because the records with a NULL are left out (basic match).

        None when none is, or for δ-presence, where the source holds the population too. Columns whose values cannot be
        compared (JSON) are passed over.
        """
        found: NullBias | None = self._once("null bias", partial(behind("null bias"), self))
        return found

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
        """Return the risk of the source's records that take part, and of the release: each figure with a sentence.

        Args:
            k: count the records in classes of fewer; None takes the least size that the models allow, or 5.
            population: a file, or a database file, of the population that the source is a sample of, with its
                quasi-identifiers as the source has them. They are generalized as the release is.
            population_table: its relation; without ``population``, one of the source's database.
            population_size: N, for the estimates of how many records are unique in the population.
            weights: the column of how many people each record stands for.
            column_sets: look at which sets of quasi-identifiers single records out, which may take some seconds.

        Raises:
            InputError: no record takes part, the population is smaller than the source or none of it, or a weight is
                missing or not positive.
            SourceError: the population cannot be read, or has no such column.
        """
        found: RiskComparison = behind("risk")(
            self,
            k=k,
            population=population,
            population_table=population_table,
            population_size=population_size,
            weights=weights,
            column_sets=column_sets,
        )
        return found

    def utility(self, target: str | None = None, *, queries: int = 1000, seed: int = 1, ml: bool = False) -> Utility:
        """Measure what the release is still good for, with the source; for the operator: counts are exact.

        Args:
            target: a column whose prediction by the others is measured.
            queries, seed: how many random COUNT queries are asked, and the seed that draws them.
            ml: predict by scikit-learn too (``sqlanon[ml]``), in this process, by codes of all records.

        Raises:
            InputError: the release has no such target, or a number is out of its range.
            UnsupportedError: whole persons are suppressed, or scikit-learn is asked for and cannot be had.
        """
        found: Utility = behind("utility")(self, target, queries=queries, seed=seed, ml=ml)
        return found

    def readable(self) -> list[tuple[str, str]]:
        """Return statements that a person can check the release by, with their names."""
        return [(name, self.engine.render(query, pretty=True)) for name, query in self._readable()]

    def standalone_sql(self) -> list[tuple[str, str]]:
        """Return the statements of ``readable`` and the release, each for another session of the source's database.

        The working tables that a statement reads are parts of itself, so that it can be pasted. For the operator: it
        holds the texts of hierarchies.
        """
        note_keyed(self._session)
        listed = [*self._readable(), ("the release", self._release_query())]
        return [(name, standalone(self.engine, query)) for name, query in listed]

    def script(self) -> str:
        """Return the SQL of the run, for the operator: encoding, base, what the release rests on, and the rows."""
        note_keyed(self._session)
        engine, release = self.engine, self.release_sql  # what the release reads may be loaded for it
        statements = [("function of the session", text) for text in engine.capabilities.preamble]
        statements += [(name, engine.render(statement)) for name, statement in replayed(engine)]
        return replayable_script([*statements, *self.readable(), ("release", release)])

    @property
    def threshold(self) -> int:
        """The least size of a class that the models allow; smaller counts do not travel."""
        return least_count(self.models)

    @property
    def models(self) -> tuple[PrivacyModel, ...]:
        """The privacy models of the policy, with what they take from the source."""
        return for_source(self.policy.models, self.catalog)

    def _audits(self) -> list[ModelAudit]:
        """Return the audits of the policy's models, with what they are judged against."""
        # the node matters to δ-presence alone, which one node for all records must meet: then each has one level
        node = tuple(
            levels[-1] if levels else attribute.height - 1
            for attribute, levels in zip(self.catalog.attributes, self.published_levels, strict=True)
        )
        return plan_audits(self.policy.models, self._session.encoding, self.catalog, node, self.generalized)

    def _lookups(self) -> dict[str, exp.Expr]:
        """Return, per quasi-identifier, the relation of the texts that its levels publish."""
        lookups: dict[str, exp.Expr] = {
            a.name: reduce(exp.union, [_texts(position, level) for level in levels]).subquery("lookup")
            for position, (a, levels) in enumerate(zip(self.catalog.attributes, self.published_levels, strict=True))
            if levels
        }
        for item in self.represented:
            if item.instead and item.name in lookups:
                lookups[item.name] = represented_texts(lookups[item.name], item).subquery("lookup")
        return lookups

    def _claim(self) -> ReleaseClaim:
        """Return what the release claims, and what its audits check once it is written."""
        return ReleaseClaim(
            types=self.released,
            quasi_identifiers=tuple(self._quasi),
            represented=self._claims_beside,
            models=tuple(self._audits()),
            published=self.ledger.published,
            nulls=self.policy.nulls,
            lookups=self._lookups(),
            keyed=claim_of_keyed(self._session),
        )

    def _rows(self, query: exp.Query) -> ReleasedRows:
        """Return the released rows with what is known of how often each stands.

        Counts of the plan stand for the records of files alone, which are compared by their stamps in the end: records
        of a database that are deleted meanwhile would be published otherwise. How many values a column has beside the
        quasi-identifiers is known of all records: where some are suppressed, the order must not reveal theirs.
        """
        of_all = {found.name: found.values for found in self._session.beside.columns}
        values = {} if self.ledger.suppressed else of_all
        passed = [name for name in self.generalized if name not in self._quasi]
        most: int | None = max(1, self.ledger.classes)
        for name in passed:
            most = None if most is None or name not in values else most * (values[name] + 1)  # and NULL
        counted = self._counted_rows() if not passed and self.source.stamps and not self.catalog.has_entity else None
        return ReleasedRows(query, counted, max((values.get(name, 0) for name in passed), default=0), most)

    @contextmanager
    def _audited_rows(self, recording: Recording | None = None) -> Iterator[tuple[exp.Query, ReleaseClaim]]:
        """Yield the released rows, and what is to be audited of them once they are written.

        Where they are recorded, their persons and classes are read before.
        With an entity the models are audited here, over the rows with their entities, which are staged.
        """
        claim = self._claim()
        if recording is not None:  # staged rows lack the keys of their records
            self._drop_staged()
        staged: exp.Expr | None = self._measured.pop(STAGED, None)
        if staged is not None:
            try:
                yield exp.select(*map(column, claim.columns)).from_(staged), claim
            except BaseException:
                with suppress(EngineError):  # the connection may be gone, and says why itself
                    self.engine.drop(staged.name)
                raise
            self.engine.drop(staged.name)
            return
        if not self.catalog.has_entity:
            if recording is None:
                yield self._release_query(), claim
            else:
                with self._recorded_rows(claim, recording) as rows:
                    yield rows, claim
            return
        rows_of_persons, made = self._release_query(entities=True), keyed_persons(self._session)
        with staged_release(self.engine, rows_of_persons, claim, made=made) as rows:
            if recording is not None:
                recording.read(self._session, table(names.STAGED_RELEASE), claim)
            yield rows, claim.without_models()

    @contextmanager
    def _recorded_rows(self, claim: ReleaseClaim, recording: Recording) -> Iterator[exp.Query]:
        """Yield the released rows of a policy without an entity from a table of them with their record keys.

        What is published and what is written down come from one table, whatever a statement leaves to chance.
        """
        engine, staged = self.engine, table(names.STAGED_RELEASE)
        query = self._release_query(persons=recording.person_column)
        engine.create("stage release", names.STAGED_RELEASE, query, replayed=False)
        try:
            recording.read(self._session, staged, claim)
            yield exp.select(*map(column, claim.columns)).from_(staged)
        finally:
            with suppress(EngineError):  # the connection may be gone, and says why itself
                engine.drop(names.STAGED_RELEASE)


def _texts(position: int, level: int) -> exp.Query:
    texts = exp.select(named(column(names.level(level)), "value"))
    return texts.distinct().from_(lookup_rows(position))


def versions(engine: Engine) -> dict[str, str]:
    """Return the versions of what wrote a release."""
    return {"sqlanon": VERSION, engine.capabilities.name.lower(): engine.version}


def as_buckets(sizes: SizeHistogram) -> tuple[tuple[int, int, int, int], ...]:
    """Return ``class_sizes`` of classes by size: least and most size, classes and records of what is not empty."""
    return tuple((b.least, b.most, b.classes, b.records) for b in in_buckets(sizes) if b.classes)
