"""A session: a policy and a source that was encoded for it, with the snapshots that its plans share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

from sqlanon.engines.base import Engine
from sqlanon.engines.duckdb.engine import DuckDBEngine
from sqlanon.evaluate.snapshots import SnapshotStore
from sqlanon.evaluate.transfer import Transferred, transfer
from sqlanon.policy import EngineOptions, Policy
from sqlanon.source.beside import BesideSource, judge_source, judged_for
from sqlanon.source.encoding import Encoding
from sqlanon.source.opening import Source


@dataclass(slots=True)
class _Lifetime:
    """Whether the connections of some sessions are closed."""

    closed: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """A policy and a source that was encoded for it. Sessions ``under`` other policies share the connections.

    Attributes:
        policy: the policy that the user gave.
        encoded_policy: the policy that the source was encoded with; another one where patterns are asked for.
        seconds: what was spent before the search, by phase.
        judging: the engine that judges nodes: the source's own, or an embedded one.
        transferred: what was copied to the judging engine, when it is another.
        beside: what the policy publishes beside its quasi-identifiers.
    """

    policy: Policy
    encoded_policy: Policy
    source: Source
    encoding: Encoding
    seconds: dict[str, float]
    snapshots: SnapshotStore
    judging: Engine
    transferred: tuple[Transferred, ...] = ()
    beside: BesideSource = field(default_factory=BesideSource)
    _lifetime: _Lifetime = field(default_factory=_Lifetime)

    @classmethod
    def begin(
        cls, policy: Policy, encoded_policy: Policy, source: Source, encoding: Encoding, seconds: dict[str, float]
    ) -> Self:
        """Begin a session whose nodes are judged where the policy says (``search.where``).

        ``auto`` stays with an engine that judges nodes side by side, and otherwise takes an embedded DuckDB, to which
        codes and counts are copied, no record and no text.

        Raises:
            IdentifyingColumnError: the policy publishes columns that identify persons, and does not accept them.
        """
        engine, where = source.engine, policy.search.where
        beside = judge_source(engine, encoding, policy)
        start = partial(cls, policy, encoded_policy, source, encoding, seconds, beside=beside)
        if isinstance(engine, DuckDBEngine) or where == "engine" or (where == "auto" and engine.has("side_by_side")):
            return start(snapshots=SnapshotStore(engine, encoding.catalog), judging=engine)
        embedded = DuckDBEngine(settings=policy.engine.embedded)
        embedded.journal.follow(engine.journal)
        try:
            transferred = transfer(engine, embedded, encoding.catalog)
            return start(snapshots=SnapshotStore(embedded, encoding.catalog), judging=embedded, transferred=transferred)
        except BaseException:
            embedded.close()
            raise

    def under(self, policy: Policy) -> Self:
        """Return a session under another policy that needs the same encoding; closing either closes both.

        Raises:
            IdentifyingColumnError: see ``begin``.
        """
        beside = self.beside
        if judged_for(policy) != judged_for(self.policy):
            beside = judge_source(self.engine, self.encoding, policy)
        return replace(self, policy=policy, encoded_policy=policy, seconds={"encode": 0.0}, beside=beside)

    @property
    def engine(self) -> Engine:
        """Where the source is: it was encoded there, and is published from there."""
        return self.source.engine

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know of the source, its encoding and the options of its engine."""
        of_source = (*self.source.warnings, *self.encoding.warnings)
        return (*of_source, *_ignored_options(self.source, self.policy), *self.beside.warnings)

    @property
    def statements(self) -> int:
        """Number of SQL statements so far, in either engine."""
        return sum(engine.journal.statements for engine in {id(e): e for e in (self.engine, self.judging)}.values())

    def close(self) -> None:
        """Drop every temporary table and close the connections."""
        if not self._lifetime.closed:
            self._lifetime.closed = True
            try:
                self.judging.close()
            finally:
                self.source.engine.close()


def _ignored_options(source: Source, policy: Policy) -> tuple[str, ...]:
    """Warn when the policy sets options of an engine whose connection the user opened."""
    if not source.borrowed or policy.engine == EngineOptions():
        return ()
    return ("The keys of engine do not apply to an open connection, which keeps its own settings.",)
