"""A session: a policy and a source that was encoded for it, with the snapshots that its plans share."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from sqlanon.core.compiler.encode import value_places
from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.evaluate.snapshots import SnapshotStore
from sqlanon.core.evaluate.transfer import Transferred, carry, transfer
from sqlanon.core.models import least_size
from sqlanon.core.models.release import SizeModel
from sqlanon.core.policy import EngineOptions, Model, Policy
from sqlanon.core.source.beside import BesideSource, judge_source, judged_for, rewarned
from sqlanon.core.source.encoding import Encoding
from sqlanon.core.source.opening import Source
from sqlanon.core.source.recorded import OpenLedger
from sqlanon.core.source.shifting import check_shifted
from sqlanon.core.sqltrees import names
from sqlanon.errors import UnsupportedError

if TYPE_CHECKING:  # arrays are imported where they are used
    from sqlanon.core.evaluate.in_process import InProcess
    from sqlanon.core.evaluate.person_judging import PersonsInProcess

LOCAL_LANES = 2
"""The lanes assumed where nodes are judged in the process, so that a search takes the same way on any machine."""


@dataclass(slots=True)
class _Shared:
    """What sessions over one encoded source share: whether it is closed, the embedded engines, the arrays, and the
    engines that have ``names.VALUE_PLACES``."""

    closed: bool = False
    embedded: list[Engine] = field(default_factory=list)
    local: InProcess | PersonsInProcess | None = None
    ordered: list[Engine] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Session:
    """A policy and a source that was encoded for it. Sessions ``under`` other policies share the connections.

    Attributes:
        policy: the policy that the user gave.
        encoded_policy: the policy that the source was encoded with; another one where patterns are asked for.
        seconds: what was spent before the search, by phase.
        judging: the engine that judges nodes by SQL: the source's own, or an embedded one.
        copied: what was copied to the judging engine, when it is another.
        beside: what the policy publishes beside its quasi-identifiers.
        releases: the ledger of the policy, open and locked as long as the session.
        bounded: plans of several rules say what no others lose less than, which takes as long as to choose them.
    """

    policy: Policy
    encoded_policy: Policy
    source: Source
    encoding: Encoding
    seconds: dict[str, float]
    snapshots: SnapshotStore
    judging: Engine
    copied: tuple[Transferred, ...] = ()
    beside: BesideSource = field(default_factory=BesideSource)
    releases: OpenLedger | None = None
    bounded: bool = True
    _shared: _Shared = field(default_factory=_Shared)

    @classmethod
    def begin(
        cls,
        policy: Policy,
        encoded_policy: Policy,
        source: Source,
        encoding: Encoding,
        seconds: dict[str, float],
        releases: OpenLedger | None = None,
    ) -> Self:
        """Begin a session whose nodes are judged where the policy says (``search.where``).

        Unless it says ``engine``, that is in this process, if the base fits and all models are built in. Otherwise
        ``auto`` stays with an engine that judges nodes side by side, or that carries no base of so many rows, or takes
        an embedded DuckDB, to which codes and counts are copied, no record and no text.

        Raises:
            IdentifyingColumnError: the policy publishes columns that identify persons, and does not accept them.
        """
        engine = source.engine
        beside = judge_source(engine, encoding, policy)
        snapshots = SnapshotStore(engine, encoding.catalog)
        session = cls(policy, encoded_policy, source, encoding, seconds, snapshots, engine, (), beside, releases)
        return session._with_engine()._with_order()

    def under(self, policy: Policy) -> Self:
        """Return a session under another policy that needs the same encoding; closing either closes both.

        Raises:
            IdentifyingColumnError: see ``begin``.
            InputError, UnsupportedError: see ``check_shifted``; there are earlier releases.
        """
        if self.encoding.catalog.earlier is not None:
            raise UnsupportedError(
                "What is judged together with earlier releases is planned for one policy at a time.",
                hint="make a new plan for the other policy.",
            )
        if any(item.role == "shift" and item not in self.policy.columns for item in policy.columns):
            check_shifted(self.engine, self.encoding.source.relation, policy, self.encoding.types)
        if judged_for(policy, self.policy):
            beside = rewarned(self.beside, policy, self.encoding.catalog)
        else:
            beside = judge_source(self.engine, self.encoding, policy)
        session = replace(self, policy=policy, encoded_policy=policy, seconds={"encode": 0.0}, beside=beside)
        return session._with_engine()._with_order()

    def by_sizes(self) -> Self:
        """Return a session that searches as if the policy asked for the least size of a class and for nothing else.

        So what it finds does not depend on sensitive values.
        """
        policy = self.encoded_policy
        size = Model("k_anonymity", {"k": least_size(policy.models)})
        columns = tuple(
            replace(item, role="keep", models=(), hierarchy=None) if item.role == "sensitive" else item
            for item in policy.columns
        )
        return replace(self, encoded_policy=replace(policy, privacy=(size,), columns=columns))

    def _with_engine(self) -> Self:
        """Return the session with an embedded engine if its nodes are to be judged there, and it has none yet."""
        engine, where = self.engine, self.encoded_policy.search.where
        if self.judging is not engine or isinstance(engine, DuckDBEngine) or where == "engine":
            return self
        stays = engine.capabilities.has("side_by_side") or self.encoding.catalog.base_rows > engine.capabilities.carries
        if self.judged_in_process or (where == "auto" and stays):
            return self
        embedded = DuckDBEngine(settings=self.policy.engine.embedded)
        embedded.journal.follow(engine.journal)
        try:
            copied = transfer(engine, embedded, self.encoding.catalog)
            snapshots = SnapshotStore(embedded, self.encoding.catalog)
        except BaseException:
            embedded.close()
            raise
        self._shared.embedded.append(embedded)
        return replace(self, snapshots=snapshots, judging=embedded, copied=copied)

    def _with_order(self) -> Self:
        """Return the session with the order of the values where models suppress classes by it."""
        catalog, has = self.encoding.catalog, self._shared.ordered
        if not catalog.attributes or not any(isinstance(model, SizeModel) for model in self.encoded_policy.models):
            return self
        if self.engine not in has:
            if not catalog.ordered:  # the source was encoded for a policy without such models
                query = value_places([a.domain for a in catalog.attributes], max(catalog.top) + 1, catalog.words)
                self.engine.create("order of values", names.VALUE_PLACES, query)
            has.append(self.engine)
        if self.judging in has:
            return self
        has.append(self.judging)
        return replace(self, copied=(*self.copied, carry(self.engine, self.judging, names.VALUE_PLACES)))

    @property
    def judged_in_process(self) -> bool:
        """Whether nodes are judged from arrays, not by SQL."""
        if self.encoded_policy.search.where == "engine":
            return False
        from sqlanon.core.evaluate.in_process import can_judge
        from sqlanon.core.evaluate.person_judging import can_judge_persons

        catalog, models = self.encoding.catalog, self.encoded_policy.models
        return can_judge_persons(catalog, models) if catalog.has_entity else can_judge(catalog, models)

    def local(self) -> InProcess | PersonsInProcess | None:
        """Return what judges nodes in the process, fetched once for all sessions over the source; None: SQL does."""
        if not self.judged_in_process:
            return None
        from sqlanon.core.evaluate.in_process import InProcess

        if self._shared.local is None:
            from sqlanon.core.evaluate.arrays import fetch
            from sqlanon.core.evaluate.person_judging import PersonsInProcess

            arrays, threads = fetch(self.engine, self.encoding.catalog), self.policy.engine.threads
            kind = PersonsInProcess if self.encoding.catalog.has_entity else InProcess
            self._shared.local = kind(arrays, threads=threads)
        if self.engine in self._shared.ordered and isinstance(self._shared.local, InProcess):
            self._shared.local.with_orders(self.engine)
        return self._shared.local

    @property
    def transferred(self) -> tuple[Transferred, ...]:
        """What left the engine of the source so far, for nodes to be judged elsewhere."""
        local = self._shared.local
        return self.copied + (() if local is None else local.fetched)

    @property
    def grains_kept(self) -> int:
        """How many grains were kept so far, beside the base: as tables, or in memory."""
        local = self._shared.local
        return self.snapshots.materialised + (0 if local is None else local.built)

    @property
    def engine(self) -> Engine:
        """Where the source is: it was encoded there, and is published from there."""
        return self.source.engine

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know of the source, its encoding and the options of its engine."""
        of_source = (*self.source.warnings, *self.encoding.warnings)
        of_ledger = () if self.releases is None else self.releases.warnings
        return (*of_source, *_ignored_options(self.source, self.policy), *self.beside.warnings, *of_ledger)

    @property
    def statements(self) -> int:
        """Number of SQL statements so far, in either engine."""
        return sum(engine.journal.statements for engine in (self.engine, *self._shared.embedded))

    def close(self) -> None:
        """Drop every temporary table and close the connections."""
        shared = self._shared
        if shared.closed:
            return
        shared.closed = True
        if shared.local is not None:
            shared.local.close()
        with ExitStack() as closing:
            if self.releases is not None:
                closing.callback(self.releases.close)
            for engine in (self.source.engine, *shared.embedded):
                closing.callback(engine.close)


def _ignored_options(source: Source, policy: Policy) -> tuple[str, ...]:
    """Warn when the policy sets options of an engine whose connection the user opened."""
    if not source.borrowed or policy.engine == EngineOptions():
        return ()
    return ("The keys of engine do not apply to an open connection, which keeps its own settings.",)
