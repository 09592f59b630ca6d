"""Base class of plans: the statements, the rows and the claims of a release."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce

from sqlglot import exp

from sqlanon.core.audit.models import ModelAudit
from sqlanon.core.audit.release import ReleaseClaim
from sqlanon.core.compiler.representatives import represented_texts
from sqlanon.core.engines.base import Engine, replayed
from sqlanon.core.engines.standalone import standalone
from sqlanon.core.plan.keyed import claim_of_keyed, keyed_persons, note_keyed
from sqlanon.core.plan.measured import STAGED, MeasuredPlan
from sqlanon.core.publish.order import ReleasedRows
from sqlanon.core.publish.references import plan_audits
from sqlanon.core.publish.staging import staged_release
from sqlanon.core.source.recorded import Recording
from sqlanon.core.source.release_key import dropping
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, lookup_rows, named, table
from sqlanon.errors import EngineError
from sqlanon.version import VERSION


class Planned(MeasuredPlan):
    """An encoded source and what is to be published of it. A context manager."""

    __slots__ = ()

    @abstractmethod
    def _readable(self) -> list[tuple[str, exp.Query]]:
        """Return the statements of ``readable``; the script ends with them."""

    @property
    def release_sql(self) -> str:
        """The statement that gives the released rows, for the operator."""
        return self.engine.render(self._release_query(), pretty=True)

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
        """Return the claims of the release, which its audits check once it is written."""
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
        of_all = {judged.name: judged.values for judged in self._session.beside.columns}
        values = {} if self.ledger.suppressed else of_all
        passed = [name for name in self.generalized if name not in self._quasi]
        most: int | None = max(1, self.ledger.classes)
        for name in passed:
            most = None if most is None or name not in values else most * (values[name] + 1)  # and NULL
        counted = self._counted_rows() if not passed and self.source.stamps and not self.catalog.has_entity else None
        return ReleasedRows(query, counted, max((values.get(name, 0) for name in passed), default=0), most)

    @contextmanager
    def _audited_rows(self, recording: Recording | None = None) -> Iterator[tuple[ReleasedRows, ReleaseClaim]]:
        """Yield the released rows, and what is to be audited of them once they are written.

        Where they are recorded, their persons and classes are read before.
        With an entity the models are audited here, over the rows with their entities, which are staged.
        """
        claim = self._claim()
        if recording is not None:  # staged rows lack the keys of their records
            self._drop_staged()
        staged: ReleasedRows | None = self._measured.pop(STAGED, None)
        if staged is not None and staged.table is not None:
            with dropping(self.engine, staged.table):
                yield staged, claim
            return
        if not self.catalog.has_entity:
            if recording is None:
                yield self._rows(self._rows_query()), claim
            else:
                with self._recorded_rows(claim, recording) as rows:
                    yield self._rows(rows), claim
            return
        rows_of_persons, made = self._release_query(entities=True), keyed_persons(self._session)
        with staged_release(self.engine, rows_of_persons, claim, made=made) as rows:
            if recording is not None:
                recording.read(self._session, table(names.STAGED_RELEASE), claim)
            yield self._rows(rows), claim.without_models()

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


HEADER = """\
-- sqlanon: the statements of one run, in order.
-- For the operator; does not travel with the release.
"""


def replayable_script(statements: Sequence[tuple[str, str]]) -> str:
    """Render (name, SQL) pairs as one script.

    >>> print(replayable_script([("base", "SELECT 1")]))
    -- sqlanon: the statements of one run, in order.
    -- For the operator; does not travel with the release.
    <BLANKLINE>
    -- 1. base
    SELECT 1;
    <BLANKLINE>
    """
    parts = [HEADER]
    for number, (name, sql) in enumerate(statements, start=1):
        title = " ".join(name.split())
        parts.append(f"-- {number}. {title}\n{sql.rstrip().rstrip(';')};\n")
    return "\n".join(parts)
